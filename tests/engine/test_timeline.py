"""The order of stopping, on a clock that the test turns."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from touba_cli.limits import (
    DEADLINE_SLACK_MS,
    LINGER_MS,
    REAP_MS,
    RUNTIME_CANCEL_MS,
    RUNTIME_TERMINATE_MS,
)
from touba_sdk.engine.process import Timeline

CANCEL, TERMINATE, REAP, LINGER, SLACK = (
    each / 1000 for each in (RUNTIME_CANCEL_MS, RUNTIME_TERMINATE_MS, REAP_MS, LINGER_MS, DEADLINE_SLACK_MS)
)


def step(timeline: Timeline, now: float, exited: bool = False, output_open: bool = True) -> tuple[Any, Any]:
    action, pause = timeline.step(now, exited=exited, output_open=output_open)
    return action, None if pause is None else round(pause, 6)


def test_without_deadline_it_waits_as_long_as_it_takes() -> None:
    timeline = Timeline(0)
    assert step(timeline, 0) == (None, None)
    assert step(timeline, 1e6) == (None, None)
    assert not timeline.finished


def test_the_order_of_stopping() -> None:
    timeline = Timeline(0)
    timeline.stop()
    assert step(timeline, 10) == ("end_input", CANCEL)
    assert step(timeline, 10 + CANCEL / 2) == (None, CANCEL / 2)
    assert step(timeline, 10 + CANCEL) == ("terminate", TERMINATE)
    timeline.stop()  # asking again begins nothing anew
    assert step(timeline, 10 + CANCEL + TERMINATE - 1) == (None, 1)
    assert step(timeline, 10 + CANCEL + TERMINATE) == ("kill", REAP)
    assert step(timeline, 10 + CANCEL + TERMINATE + REAP - 1) == (None, 1)
    assert not timeline.finished
    step(timeline, 10 + CANCEL + TERMINATE + REAP)
    assert timeline.finished


def test_force_kills_at_the_next_step_and_once() -> None:
    timeline = Timeline(0)
    timeline.force()
    assert step(timeline, 0) == ("kill", REAP)
    assert step(timeline, 1) == (None, REAP - 1)


def test_past_deadline_and_slack_it_is_killed() -> None:
    timeline = Timeline(100, deadline_ms=5000)
    assert step(timeline, 100) == (None, 5 + SLACK)
    assert step(timeline, 105 + SLACK) == ("kill", REAP)


def test_after_the_end_pipes_are_read_for_a_short_time() -> None:
    timeline = Timeline(0)
    assert step(timeline, 5, exited=True) == (None, LINGER)
    assert not timeline.finished
    step(timeline, 5 + LINGER, exited=True)
    assert timeline.finished


def test_after_the_end_and_the_end_of_output_it_is_finished() -> None:
    timeline = Timeline(0)
    step(timeline, 5, exited=True, output_open=False)
    assert timeline.finished


def test_a_process_that_closes_its_output_and_stays_is_terminated() -> None:
    timeline = Timeline(0)
    assert step(timeline, 5, output_open=False) == (None, CANCEL)
    assert step(timeline, 5 + CANCEL, output_open=False) == ("terminate", TERMINATE)


@given(st.data())
def test_whatever_happens_it_finishes_in_time_and_never_goes_back(data: st.DataObject) -> None:
    stages = ["running", "asked", "terminated", "killed"]
    timeline = Timeline(0, deadline_ms=data.draw(st.none() | st.integers(1, 10_000)))
    stop_at = data.draw(st.floats(0, 20))
    exit_at = data.draw(st.floats(0, 60))
    now, reached, steps = 0.0, 0, 0
    while not timeline.finished:
        if now >= stop_at:
            timeline.stop()
        _, pause = timeline.step(now, exited=now >= exit_at, output_open=data.draw(st.booleans()))
        assert stages.index(timeline.stage) >= reached
        reached = stages.index(timeline.stage)
        waits = [each for each in (pause, stop_at - now if now < stop_at else None) if each is not None]
        now += max(min(waits, default=1.0), 0.01)
        steps += 1
        assert steps < 20_000
    assert now <= stop_at + CANCEL + TERMINATE + REAP + LINGER + 1
