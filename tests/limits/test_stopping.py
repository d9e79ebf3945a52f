"""Times after which something is ended, on clocks that the test turns: a millisecond before, at, and after."""

from __future__ import annotations

import signal
from typing import Any, cast

import pytest

from tests.limits.kit import accepted, three_cases
from tests.shell_kit import Project, calling
from touba_cli.documents import check_document
from touba_cli.limits import (
    DEADLINE_SLACK_MS,
    HANDLER_GRACE_MS,
    HANDLER_TIMEOUT_MS,
    LIMITS,
    LINGER_MS,
    REAP_MS,
    RUNTIME_CANCEL_MS,
    RUNTIME_TERMINATE_MS,
)
from touba_cli.project.manifest import Binding
from touba_cli.runtime.calls import HandlerCall
from touba_cli.runtime.machine import Need
from touba_sdk.engine.process import Timeline

#: any moment; half a millisecond keeps the sums of binary fractions on their side of a limit
START = 1_000.0
HALF = 0.0005


def moment(milliseconds: int, by: int) -> float:
    """Seconds after `START`: a millisecond before a time is over, when it is, and a millisecond later."""
    return START + (milliseconds + by) / 1000 + (HALF if by >= 0 else -HALF)


def step(timeline: Timeline, now: float, *, exited: bool = False, output_open: bool = True) -> str | None:
    return timeline.step(now, exited=exited, output_open=output_open)[0]


# --- the engine and its runtime ---------------------------------------------------------------------------------------


@three_cases("runtime_cancel_ms")
def test_a_cancelled_runtime_is_terminated(by: int) -> None:
    timeline = Timeline(START)
    timeline.stop()
    assert step(timeline, START) == "end_input"
    assert step(timeline, moment(RUNTIME_CANCEL_MS, by)) == (None if by < 0 else "terminate")


@three_cases("runtime_terminate_ms")
def test_a_terminated_runtime_is_killed(by: int) -> None:
    timeline = Timeline(START - RUNTIME_CANCEL_MS / 1000)
    timeline.stop()
    step(timeline, START - RUNTIME_CANCEL_MS / 1000)
    assert step(timeline, START) == "terminate"
    assert step(timeline, moment(RUNTIME_TERMINATE_MS, by)) == (None if by < 0 else "kill")


@three_cases("reap_ms")
def test_a_killed_runtime_is_waited_for(by: int) -> None:
    timeline = Timeline(START)
    timeline.force()
    assert step(timeline, START) == "kill"
    assert step(timeline, moment(REAP_MS, by)) is None
    assert timeline.finished == (by >= 0)


@three_cases("linger_ms")
def test_pipes_are_read_after_the_end_of_a_runtime(by: int) -> None:
    timeline = Timeline(START)
    step(timeline, START, exited=True)
    step(timeline, moment(LINGER_MS, by), exited=True)
    assert timeline.finished == (by >= 0)


@pytest.mark.parametrize("deadline_ms", [LIMITS["deadline_ms"].lowest, 5_000, LIMITS["deadline_ms"].highest])
@three_cases("deadline_slack_ms")
def test_a_silent_runtime_is_killed_after_its_deadline(by: int, deadline_ms: int) -> None:
    timeline = Timeline(START, deadline_ms=deadline_ms)
    assert step(timeline, moment(deadline_ms + DEADLINE_SLACK_MS, by)) == (None if by < 0 else "kill")


# --- the runtime and its handlers -------------------------------------------------------------------------------------


class Child:
    """A handler process that does nothing: what a `HandlerCall` asks of one."""

    def __init__(self) -> None:
        self.stdin = self.stderr = self.exit_fd = -1
        self.stdout = 1_000_000
        self.status: int | None = None
        self.pid = 0
        self.over = False
        self.signals: list[int] = []

    def ended(self) -> bool:
        return self.over

    def signal_group(self, number: int) -> None:
        self.signals.append(number)

    def collect(self) -> bool:
        self.stdout = -1
        return True

    def release(self) -> None:
        self.over = True

    def describe_end(self) -> str:
        return "it was ended"


class Served:
    """What a `HandlerCall` reads of a handler."""

    def __init__(self, timeout_ms: int) -> None:
        self.ref = "tool:app/Tool"
        self.secrets: dict[str, str] = {}
        self.timeout_ms = timeout_ms
        self.timeout_from = "the test"
        self.max_response_bytes = 1_024
        self.memories = None


def at_work(timeout_ms: int) -> tuple[HandlerCall, Child]:
    need = Need("0/1", "tool:app/Tool", {}, "read", None, "0.1")
    child = Child()
    call = HandlerCall(need, cast(Any, Served(timeout_ms)), cast(Any, child), b"", timeout_ms, START, lambda data: None)
    return call, child


@pytest.mark.parametrize("timeout_ms", [1, HANDLER_TIMEOUT_MS, LIMITS["handler_timeout_ms"].highest])
@three_cases("handler_timeout_ms")
def test_a_handler_without_answer_is_asked_to_end(by: int, timeout_ms: int) -> None:
    call, child = at_work(timeout_ms)
    call.tick(moment(timeout_ms, by))
    assert child.signals == ([] if by < 0 else [signal.SIGTERM])
    assert call.stopped == (by >= 0)
    assert call.settled is None  # it has its grace


@three_cases("handler_grace_ms")
def test_a_handler_that_was_asked_to_end_is_killed(by: int) -> None:
    call, _ = at_work(60_000)
    call.stop(START, "ToolTimeout", "it took longer than it may")
    call.tick(moment(HANDLER_GRACE_MS, by))
    if by < 0:
        assert call.settled is None
    else:
        assert call.settled is not None
        assert call.settled.code == "ToolTimeout"


@three_cases("linger_ms")
def test_a_pipe_that_a_grandchild_holds_is_let_go(by: int) -> None:
    call, child = at_work(60_000)
    child.stdout = -1  # it closed its answer, and stays
    call.tick(START)
    call.tick(moment(LINGER_MS, by))
    assert (call.settled is not None) == (by >= 0)


# --- what may be set --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", ["handler_timeout_ms", "tool_request_bytes", "tool_response_bytes"])
@three_cases("manifest_limits")
def test_bounds_of_what_a_manifest_may_set(limit: str, by: int) -> None:
    member = {"handler_timeout_ms": "timeout_ms"}.get(limit, limit.replace("tool_", "max_"))
    row = LIMITS[limit]
    for value in (row.highest + by, row.lowest - by):
        entry = {"handler": {"kind": "process", "command": ["x"]}, "limits": {member: value}}
        fault = check_document(
            "touba-manifest-v1", {"protocol": "touba-manifest-v1", "tools": {"tool:app/Tool": entry}}
        )
        if by <= 0:
            assert fault is None
            binding = Binding("tool:app/Tool", entry)
            found = binding.timeout(None) if member == "timeout_ms" else getattr(binding, member)
            assert found == value
        else:
            assert fault is not None
            assert f"limits.{member}" in str(fault)
            assert f"{row.lowest} and {row.highest}" in str(fault)


def test_the_smaller_time_counts() -> None:
    binding = Binding("tool:app/Tool", {"handler": {"kind": "process", "command": ["x"]}})
    assert binding.timeout(None) == HANDLER_TIMEOUT_MS
    assert [binding.timeout(each) for each in (1, 86_400_000)] == [1, 86_400_000]
    air = accepted("module app\ntool Tool\n    gives Int\n    timeout 2 seconds\n")
    limited = Binding(
        "tool:app/Tool", {"handler": {"kind": "process", "command": ["x"]}, "limits": {"timeout_ms": 1_999}}
    )
    assert limited.timeout(air["callables"]["tool:app/Tool"]["timeout_ms"]) == 1_999


def test_a_manifest_past_a_bound_is_refused_with_the_place(tmp_path: Any) -> None:
    project = Project(tmp_path)
    project.handler("", answer="ok(1)", limits={"timeout_ms": LIMITS["handler_timeout_ms"].highest + 1})
    message = project.call(program=calling()).refused("DocumentInvalid", 2)
    assert "limits.timeout_ms: the number is not within 1 and 86400000" in message
