"""Trying again: cases 183 to 187 of the acceptance cases."""

from __future__ import annotations

import anyio
import pytest

from touba_sdk.models import (
    FinishReason,
    IncompleteStreamError,
    InvalidRequestError,
    MessageEnd,
    MessageStart,
    OverloadedError,
    RateLimitedError,
    RetryNotice,
    TextDelta,
    chain,
    collect,
)
from touba_sdk.models.middleware import RetryPolicy, RetryState, retry
from touba_sdk.testing.models import ScriptedModel

from .kit import Clock, ask, events_of

pytestmark = pytest.mark.anyio

END = MessageEnd(FinishReason.STOP)


def limited(**facts: float) -> RateLimitedError:
    return RateLimitedError("slow down", status=429, retry_after=facts.get("retry_after"))


async def test_case_183_the_third_attempt_succeeds() -> None:
    clock = Clock()
    model = retry(clock=clock, sleep=clock.sleep, random=lambda: 1.0)(ScriptedModel(limited(), limited(), "ok"))
    assert (await model.generate(ask())).text == "ok"
    assert clock.slept == [0.5, 1.0]


async def test_case_183_three_failures_give_the_last_error() -> None:
    clock = Clock()
    last = OverloadedError("busy")
    inner = ScriptedModel(limited(), limited(), last, "not reached")
    with pytest.raises(OverloadedError) as caught:
        await retry(clock=clock, sleep=clock.sleep)(inner).generate(ask())
    assert caught.value is last
    assert inner.remaining == 1


@pytest.mark.parametrize("error", [InvalidRequestError("no"), ValueError("a mistake")], ids=["refused", "mistake"])
async def test_case_183_what_will_not_pass_is_not_tried_again(error: Exception) -> None:
    inner = ScriptedModel(error, "not reached")
    with pytest.raises(type(error)):
        await retry(sleep=Clock().sleep)(inner).generate(ask())
    assert inner.remaining == 1


async def test_case_183_the_servers_hint_wins_when_it_is_longer() -> None:
    clock = Clock()
    model = retry(clock=clock, sleep=clock.sleep, random=lambda: 1.0)(
        ScriptedModel(limited(retry_after=7.0), limited(retry_after=0.1), "ok")
    )
    await model.generate(ask())
    assert clock.slept == [7.0, 1.0]


def test_delays_double_up_to_the_cap_and_are_jittered_fully() -> None:
    policy = RetryPolicy(max_attempts=9)
    for part, expected in (
        (1.0, [0.5, 1, 2, 4, 8, 16, 30, 30]),
        (0.5, [0.25, 0.5, 1, 2, 4, 8, 15, 15]),
        (0.0, [0] * 8),
    ):
        state = RetryState(policy, 0.0, lambda part=part: part)  # type: ignore[misc]
        notices = [state.failed(OverloadedError(), 0.0) for _ in range(9)]
        assert [notice.delay for notice in notices if notice is not None] == expected
        assert notices[-1] is None
        assert state.retries == 8


def test_policies_that_make_no_sense_are_refused() -> None:
    for settings in ({"max_attempts": 0}, {"base_delay": -1.0}, {"max_delay": -1.0}):
        with pytest.raises(ValueError, match=r"at least 1|not negative"):
            RetryPolicy(**settings)  # type: ignore[arg-type]


async def test_case_185_a_stream_that_fails_before_its_first_event_is_tried_again() -> None:
    clock = Clock()
    notices: list[RetryNotice] = []
    inner = ScriptedModel(limited(), [OverloadedError("busy")], [MessageStart(), TextDelta("ok"), END])
    model = retry(clock=clock, sleep=clock.sleep, random=lambda: 1.0, on_retry=notices.append)(inner)
    events = await events_of(model)
    assert events == [
        RetryNotice(1, 2, 0.5, "rate limited"),
        RetryNotice(2, 2, 1.0, "provider overloaded"),
        MessageStart(),
        TextDelta("ok"),
        END,
    ]
    assert notices == events[:2]
    assert clock.slept == [0.5, 1.0]


async def test_case_185_the_notice_comes_before_the_wait() -> None:
    clock = Clock()
    async with retry(clock=clock, sleep=clock.sleep)(ScriptedModel(limited(), "ok")).stream(ask()) as stream:
        assert isinstance(await stream.__anext__(), RetryNotice)
        assert clock.slept == []


async def test_case_185_after_its_first_event_a_stream_is_not_tried_again() -> None:
    inner = ScriptedModel([MessageStart(), OverloadedError("busy")], "not reached")
    model = retry(sleep=Clock().sleep)(inner)
    with pytest.raises(OverloadedError):
        await events_of(model)
    assert inner.remaining == 1


async def test_case_185_a_notice_from_inside_is_no_output() -> None:
    clock = Clock()
    inner = ScriptedModel(limited(), limited(), "ok")
    model = chain(*[retry(2, clock=clock, sleep=clock.sleep)] * 2)(inner)
    assert (await collect(model.stream(ask()))).text == "ok"


async def test_a_broken_answer_in_one_piece_is_tried_again() -> None:
    clock = Clock()
    model = retry(clock=clock, sleep=clock.sleep)(ScriptedModel([TextDelta("par")], "whole"))
    assert (await model.generate(ask())).text == "whole"
    with pytest.raises(IncompleteStreamError):
        await collect(retry(sleep=clock.sleep)(ScriptedModel([TextDelta("par")], "whole")).stream(ask()))


@pytest.mark.parametrize("streaming", [False, True])
async def test_case_186_cancellation_ends_a_wait_at_once(streaming: bool) -> None:
    inner = ScriptedModel(limited(retry_after=3600), "not reached")
    model = retry()(inner)
    with anyio.move_on_after(0.05) as scope:
        await (collect(model.stream(ask())) if streaming else model.generate(ask()))
    assert scope.cancelled_caught
    assert inner.remaining == 1


async def test_case_187_no_attempt_begins_after_the_total() -> None:
    clock = Clock()
    inner = ScriptedModel(limited(), limited(), limited(), "not reached")
    model = retry(10, max_elapsed=2.0, clock=clock, sleep=clock.sleep, random=lambda: 1.0)(inner)
    with pytest.raises(RateLimitedError):
        await model.generate(ask())
    assert clock.slept == [0.5, 1.0]
    assert inner.remaining == 1


async def test_case_187_a_hint_beyond_the_total_is_not_waited_for() -> None:
    clock = Clock()
    model = retry(max_elapsed=60, clock=clock, sleep=clock.sleep)(ScriptedModel(limited(retry_after=61), "not reached"))
    with pytest.raises(RateLimitedError) as caught:
        await collect(model.stream(ask()))
    assert (caught.value.retry_after, clock.slept) == (61, [])
