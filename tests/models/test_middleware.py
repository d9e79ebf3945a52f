"""Rate limits, fallback, cache, time-outs, hooks, usage and capabilities: cases 189 to 191, and each for streams."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from touba_sdk.models import (
    Capabilities,
    FinishReason,
    InvalidRequestError,
    LanguageModel,
    Message,
    MessageEnd,
    MessageStart,
    ModelError,
    ModelTimeoutError,
    OverloadedError,
    ReasoningDelta,
    ReasoningPart,
    Request,
    Response,
    RetryNotice,
    Role,
    StreamEvent,
    StreamIdleError,
    TextDelta,
    TextPart,
    ToolCallPart,
    Usage,
    assistant_text,
    chain,
    collect,
    tool_result,
    tool_results,
    user_text,
)
from touba_sdk.models.middleware import (
    MemoryCacheStore,
    ModelCall,
    ModelUsage,
    TimeoutPlan,
    Timeouts,
    TokenBucket,
    UsageLedger,
    WrappedModel,
    account_usage,
    cache,
    fallback,
    half_finished,
    observe,
    override_capabilities,
    rate_limit,
    retry,
    timeouts,
)
from touba_sdk.testing.models import FunctionModel, ScriptedModel

from .kit import Clock, ask, events_of

pytestmark = pytest.mark.anyio

END = MessageEnd(FinishReason.STOP, Usage(3, 2))


def busy() -> OverloadedError:
    return OverloadedError("busy")


# -- chains ------------------------------------------------------------------------------------------------------


class Tagged(WrappedModel):
    def __init__(self, inner: LanguageModel, tag: str):
        super().__init__(inner)
        self.tag = tag

    async def generate(self, request: Request) -> Response:
        response = await self.inner.generate(request)
        return response.replace(id=f"{self.tag}({response.id})")


async def test_the_first_of_a_chain_is_the_outermost() -> None:
    model = chain(lambda inner: Tagged(inner, "a"), lambda inner: Tagged(inner, "b"))(ScriptedModel("hi"))
    assert (await model.generate(ask())).id == "a(b())"
    inner = ScriptedModel("hi", "hi", provider="p", model_id="m", capabilities=Capabilities(vision=True))
    everything: list[Any] = [
        retry(), rate_limit(requests_per_minute=1e6), fallback(ScriptedModel()), cache(MemoryCacheStore()),
        timeouts(total=9), observe(), account_usage(UsageLedger()), override_capabilities(tools=True),
    ]  # fmt: skip
    wrapped = chain(*everything)(inner)
    assert isinstance(wrapped, LanguageModel)
    assert (wrapped.provider, wrapped.model_id) == ("p", "m")
    assert wrapped.capabilities == Capabilities(vision=True, tools=True)
    assert (await wrapped.generate(ask())).text == "hi"
    assert (await collect(wrapped.stream(ask("other")))).text == "hi"


# -- rate limit --------------------------------------------------------------------------------------------------


async def test_case_189_the_second_of_two_calls_waits_a_second() -> None:
    clock = Clock()
    model = rate_limit(requests_per_minute=60, request_burst=1, clock=clock, sleep=clock.sleep)(ScriptedModel("a", "b"))
    await model.generate(ask())
    assert clock.slept == []
    await model.generate(ask())
    assert clock.slept == [1.0]


async def test_case_189_a_stream_waits_at_its_first_event() -> None:
    clock = Clock()
    model = rate_limit(requests_per_minute=60, request_burst=1, clock=clock, sleep=clock.sleep)(ScriptedModel("a", "b"))
    first, second = model.stream(ask()), model.stream(ask())
    await collect(first)
    assert clock.slept == []
    await collect(second)
    assert clock.slept == [1.0]


async def test_case_190_a_need_above_the_burst_is_clamped() -> None:
    clock = Clock()
    model = rate_limit(tokens_per_minute=60, token_burst=10, clock=clock, sleep=clock.sleep)(ScriptedModel("a", "b"))
    long = ask("x" * 4_000)
    await model.generate(long)
    await model.generate(long)
    assert clock.slept == [10.0]


class Counting(ScriptedModel):
    async def count_tokens(self, request: Request) -> int:
        return 5


async def test_the_models_own_counter_is_asked_below_other_middleware() -> None:
    clock = Clock()
    limit = rate_limit(tokens_per_minute=60, token_burst=10, clock=clock, sleep=clock.sleep)
    model = chain(limit, retry())(Counting("a", "b", "c"))
    for _ in range(3):
        await model.generate(ask("x" * 4_000))
    assert clock.slept == [5.0]


async def test_a_cancelled_wait_gives_back_what_it_took() -> None:
    clock = Clock()
    forever = rate_limit(requests_per_minute=60, request_burst=1, clock=clock)
    model = forever(ScriptedModel("a", "b"))
    await model.generate(ask())
    for _ in range(3):
        with anyio.move_on_after(0.01) as scope:
            await model.generate(ask())
        assert scope.cancelled_caught
    clock.now = 1.0
    with anyio.fail_after(5):
        await model.generate(ask())


async def test_models_with_one_limit_share_it() -> None:
    clock = Clock()
    limit = rate_limit(requests_per_minute=60, request_burst=1, clock=clock, sleep=clock.sleep)
    await limit(ScriptedModel("a")).generate(ask())
    await limit(ScriptedModel("b")).generate(ask())
    assert clock.slept == [1.0]


@given(st.lists(st.tuples(st.floats(0, 30), st.integers(1, 20)), min_size=1, max_size=20))
def test_a_bucket_never_lets_more_through_than_its_rate(takes: list[tuple[float, int]]) -> None:
    bucket = TokenBucket(60, 10)
    now, passed, served = 0.0, 0.0, 0.0
    for pause, amount in takes:
        now += pause
        served = max(served, now + bucket.take(amount, now))
        passed += bucket.clamp(amount)
        assert passed <= 10 + served * 1.0 + 1e-6


def test_a_bucket_needs_a_rate() -> None:
    with pytest.raises(ValueError, match="above 0"):
        TokenBucket(0, 1)


# -- fallback ----------------------------------------------------------------------------------------------------


async def test_the_next_model_is_asked_in_order() -> None:
    model = fallback(ScriptedModel(busy(), busy()), ScriptedModel("third", "third"))(ScriptedModel(busy(), [busy()]))
    assert (await model.generate(ask())).text == "third"
    assert (await collect(model.stream(ask()))).text == "third"


async def test_the_last_failure_stands_and_a_refusal_does_not_fall_back() -> None:
    last = OverloadedError("last")
    with pytest.raises(OverloadedError) as caught:
        await fallback(ScriptedModel(last))(ScriptedModel(busy())).generate(ask())
    assert caught.value is last
    other = ScriptedModel("not asked")
    with pytest.raises(InvalidRequestError):
        await fallback(other)(ScriptedModel(InvalidRequestError())).generate(ask())
    assert other.remaining == 1


async def test_after_output_a_stream_does_not_fall_back() -> None:
    other = ScriptedModel("not asked")
    model = fallback(other)(ScriptedModel([TextDelta("par"), busy()]))
    with pytest.raises(OverloadedError):
        await events_of(model)
    assert other.remaining == 1


async def test_a_retry_notice_is_no_output() -> None:
    clock = Clock()
    primary = retry(2, clock=clock, sleep=clock.sleep)(ScriptedModel(busy(), busy()))
    events = await events_of(fallback(ScriptedModel("ok"))(primary))
    assert isinstance(events[0], RetryNotice)
    assert TextDelta("ok") in events


CALL = ToolCallPart("c1", "add", "{}")
EXCHANGE = [user_text("go"), Message(Role.ASSISTANT, (CALL,)), tool_results(tool_result(CALL, "5"))]


async def test_a_half_finished_exchange_stays_where_it_began() -> None:
    assert half_finished(EXCHANGE) == (CALL,)
    assert half_finished(EXCHANGE[:2]) == ()
    assert half_finished([*EXCHANGE, assistant_text("5")]) == ()
    assert half_finished(EXCHANGE[2:]) == ()
    other = ScriptedModel("not asked")
    model = fallback(other)(ScriptedModel(busy(), busy()))
    with pytest.raises(OverloadedError):
        await model.generate(Request(list(EXCHANGE)))
    with pytest.raises(OverloadedError):
        await collect(model.stream(Request(list(EXCHANGE))))
    assert other.remaining == 1


@pytest.mark.parametrize("streaming", [False, True])
async def test_the_model_that_began_an_exchange_goes_on_with_it(streaming: bool) -> None:
    primary, other = ScriptedModel(busy(), "back again"), ScriptedModel(CALL, "5", provider="other")
    model = fallback(other)(primary)

    async def answer(request: Request) -> Response:
        return await (collect(model.stream(request)) if streaming else model.generate(request))

    assert (await answer(ask("go"))).tool_calls == (CALL,)
    assert (await answer(Request(list(EXCHANGE)))).text == "5"
    assert (await answer(Request([*EXCHANGE, assistant_text("5"), user_text("and?")]))).text == "back again"
    assert len(primary.requests) == 2


@pytest.mark.parametrize("streaming", [False, True])
async def test_reasoning_goes_only_to_the_provider_that_made_it(streaming: bool) -> None:
    thought = [ReasoningDelta("mine", "sig"), TextDelta("a"), MessageEnd(FinishReason.STOP)]
    primary, other = ScriptedModel(thought, busy(), "c"), ScriptedModel("b", provider="other")
    model = fallback(other)(primary)

    async def answer(request: Request) -> Response:
        return await (collect(model.stream(request)) if streaming else model.generate(request))

    first = await answer(ask("1"))
    history = [user_text("1"), first.message, user_text("2")]
    await answer(Request(list(history)))
    assert other.requests[0].messages[1].parts == (TextPart("a"),)
    await answer(Request(list(history)))
    assert primary.requests[-1].messages[1].parts == (ReasoningPart("mine", "sig"), TextPart("a"))


# -- cache -------------------------------------------------------------------------------------------------------


async def test_an_equal_request_is_answered_from_the_store() -> None:
    inner = ScriptedModel([TextDelta("one"), END], "two", "three")
    model = cache(MemoryCacheStore())(inner)
    assert (await model.generate(ask())).usage == Usage(3, 2)
    again = await model.generate(ask())
    assert (again.text, again.usage) == ("one", Usage())
    assert await events_of(model) == [
        MessageStart(), TextDelta("one"), MessageEnd(FinishReason.STOP, Usage())
    ]  # fmt: skip
    assert (await model.generate(ask(temperature=0.5))).text == "two"
    assert inner.remaining == 1


async def test_a_stream_is_kept_once_it_was_read_to_its_end() -> None:
    inner = ScriptedModel("one", "two")
    model = cache(MemoryCacheStore())(inner)
    async with model.stream(ask()) as stream:
        assert isinstance(await stream.__anext__(), MessageStart)
    assert (await collect(model.stream(ask()))).text == "two"
    assert (await model.generate(ask())).text == "two"


@pytest.mark.parametrize(
    "step",
    [
        [TextDelta("cut"), MessageEnd(FinishReason.LENGTH)],
        [TextDelta("?"), MessageEnd()],
        [TextDelta("no"), MessageEnd(FinishReason.CONTENT_FILTER)],
        [MessageEnd(FinishReason.STOP)],
        Response(assistant_text("so f"), FinishReason.STOP, partial=True),
        OverloadedError("busy"),
    ],
    ids=["cut", "unknown", "filtered", "empty", "partial", "failed"],
)
async def test_what_did_not_end_by_itself_is_not_kept(step: Any) -> None:
    store = MemoryCacheStore()
    model = cache(store)(ScriptedModel(step, "again"))
    try:
        await model.generate(ask())
    except ModelError:
        assert isinstance(step, ModelError)
    assert len(store) == 0
    assert (await model.generate(ask())).text == "again"


async def test_the_store_forgets_what_is_old_and_what_was_not_used() -> None:
    clock = Clock()
    store = MemoryCacheStore(2, ttl=10, clock=clock)
    await store.set("a", "1")
    await store.set("b", "2")
    assert await store.get("a") == "1"
    await store.set("c", "3")
    assert [await store.get(key) for key in "abc"] == ["1", None, "3"]
    clock.now = 10
    assert await store.get("a") is None
    with pytest.raises(ValueError, match="at least 1"):
        MemoryCacheStore(0)


async def test_a_request_without_a_key_is_not_kept() -> None:
    model = cache(MemoryCacheStore(), key=lambda model, request: None)(ScriptedModel("one", "two"))
    assert [(await model.generate(ask())).text for _ in range(2)] == ["one", "two"]


# -- time-outs ---------------------------------------------------------------------------------------------------


def slow(*steps: StreamEvent | float) -> FunctionModel:
    """A model that pauses for the numbers among its events."""

    async def stream(request: Request) -> AsyncGenerator[StreamEvent, None]:
        for step in steps:
            if isinstance(step, float):
                await anyio.sleep(step)
            else:
                yield step

    return FunctionModel(stream=stream)


LONG = 30.0


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(
    ("limits", "steps", "phase"),
    [
        ({"connect": 0.02}, [LONG, MessageStart(), END], "connect"),
        ({"connect": 5, "first_token": 0.02}, [MessageStart(), LONG, TextDelta("a"), END], "first_token"),
        ({"idle": 0.02}, [MessageStart(), TextDelta("a"), LONG, END], "idle"),
        ({"idle": 5, "total": 0.02}, [MessageStart(), LONG, END], "total"),
        ({"total": 0.02}, [MessageStart(), LONG, END], "total"),
    ],
)
async def test_what_takes_too_long_is_ended(
    limits: dict[str, float], steps: list[StreamEvent | float], phase: str, streaming: bool
) -> None:
    model = timeouts(**limits)(slow(*steps))
    with pytest.raises(ModelError) as caught, anyio.fail_after(10):
        await (collect(model.stream(ask())) if streaming else model.generate(ask()))
    if phase == "idle":
        assert isinstance(caught.value, StreamIdleError)
        assert caught.value.response is not None
        assert caught.value.response.text == "a"
    else:
        assert isinstance(caught.value, ModelTimeoutError)
        assert (caught.value.phase, caught.value.retryable) == (phase, phase != "total")


async def test_what_is_quick_enough_passes() -> None:
    model = timeouts(connect=5, first_token=5, idle=5, total=5)(ScriptedModel("a", "b"))
    assert (await collect(model.stream(ask()))).text == "a"
    assert (await model.generate(ask())).text == "b"
    assert (await timeouts()(ScriptedModel("c")).generate(ask())).text == "c"


async def test_a_cancellation_from_outside_is_no_time_out() -> None:
    model = timeouts(idle=LONG, total=LONG)(slow(MessageStart(), LONG, END))
    with anyio.move_on_after(0.02) as scope:
        await collect(model.stream(ask()))
    assert scope.cancelled_caught


def test_the_time_out_that_ends_first_counts() -> None:
    plan = TimeoutPlan(Timeouts(connect=2, first_token=5, idle=3, total=10), 100.0)
    assert plan.next(100.0) == (2, "connect")
    plan.saw(RetryNotice(1, 2, 0.5, "busy"))
    assert plan.next(101.0) == (1, "connect")
    plan.saw(MessageStart())
    assert plan.next(101.0) == (3, "idle")
    assert plan.next(103.5) == (1.5, "first_token")
    plan.saw(TextDelta("a"))
    assert plan.next(103.5) == (3, "idle")
    assert plan.next(109.0) == (1, "total")
    assert plan.next(111.0) == (0, "total")
    assert TimeoutPlan(Timeouts(), 0.0).next(99.0) == (None, "")
    with pytest.raises(ValueError, match="above 0"):
        Timeouts(idle=0)


async def test_retry_outside_makes_good_what_a_time_out_ended() -> None:
    calls: list[int] = []

    async def stream(request: Request) -> AsyncGenerator[StreamEvent, None]:
        calls.append(1)
        if len(calls) == 1:
            await anyio.sleep(LONG)
        yield TextDelta("ok")
        yield END

    model = chain(retry(base_delay=0), timeouts(first_token=0.02))(FunctionModel(stream=stream))
    assert (await model.generate(ask())).text == "ok"


# -- hooks -------------------------------------------------------------------------------------------------------


class Log:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.clock = Clock()

    def start(self, call: ModelCall) -> str:
        self.lines.append(f"start {call.provider} {'stream' if call.streaming else 'generate'}")
        self.clock.now += 2
        return "span"

    def event(self, call: ModelCall, event: StreamEvent) -> None:
        self.lines.append(f"event {type(event).__name__}")

    def finish(self, call: ModelCall, response: Response) -> None:
        self.lines.append(f"finish {call.state} {call.duration} {response.usage.total_tokens} {response.finish_reason}")

    def error(self, call: ModelCall, error: Exception) -> None:
        self.lines.append(f"error {type(error).__name__} {call.duration}")

    def abandon(self, call: ModelCall) -> None:
        self.lines.append(f"abandon {call.duration}")

    def around(self, model: LanguageModel) -> LanguageModel:
        return observe(
            on_start=self.start,
            on_stream_event=self.event,
            on_finish=self.finish,
            on_error=self.error,
            on_abandon=self.abandon,
            clock=self.clock,
        )(model)


async def test_hooks_see_start_and_finish() -> None:
    log = Log()
    model = log.around(ScriptedModel([TextDelta("a"), END], [TextDelta("a"), END]))
    await model.generate(ask())
    await collect(model.stream(ask()))
    assert log.lines == [
        "start scripted generate", "finish span 2.0 5 stop",
        "start scripted stream", "event TextDelta", "event MessageEnd", "finish span 2.0 5 stop",
    ]  # fmt: skip


async def test_hooks_see_errors_and_streams_without_end() -> None:
    log = Log()
    model = log.around(ScriptedModel(busy(), [TextDelta("a"), busy()], [TextDelta("a")]))
    with pytest.raises(OverloadedError):
        await model.generate(ask())
    with pytest.raises(OverloadedError):
        await events_of(model)
    assert await events_of(model) == [TextDelta("a")]
    assert [line for line in log.lines if line.startswith(("error", "finish", "abandon"))] == [
        "error OverloadedError 2.0", "error OverloadedError 2.0", "error IncompleteStreamError 2.0"
    ]  # fmt: skip


async def test_case_191_an_abandoned_stream_is_neither_finished_nor_failed() -> None:
    log = Log()
    async with log.around(ScriptedModel([TextDelta("a"), TextDelta("b"), END])).stream(ask()) as stream:
        await stream.__anext__()
    assert log.lines == ["start scripted stream", "event TextDelta", "abandon 2.0"]


async def test_case_191_a_cancelled_call_is_abandoned() -> None:
    log = Log()
    model = log.around(slow(TextDelta("a"), LONG, END))
    for call in (lambda: collect(model.stream(ask())), lambda: model.generate(ask())):
        with anyio.move_on_after(0.02):
            await call()
    assert [line for line in log.lines if line.startswith("abandon")] == ["abandon 2.0"] * 2


async def test_case_191_a_stream_that_never_began_and_one_left_at_its_end() -> None:
    log = Log()
    model = log.around(ScriptedModel([TextDelta("a"), END]))
    async with model.stream(ask()):
        pass
    assert log.lines == []
    async with model.stream(ask()) as stream:
        while not isinstance(await stream.__anext__(), MessageEnd):
            pass
    assert [line.split()[0] for line in log.lines] == ["start", "event", "event", "finish"]


async def test_hooks_pass_on_what_is_no_event() -> None:
    model = Log().around(ScriptedModel(["odd"]))  # type: ignore[list-item]
    assert await events_of(model) == ["odd"]


# -- usage -------------------------------------------------------------------------------------------------------


async def test_every_call_is_counted_once() -> None:
    ledger = UsageLedger()
    script = [MessageStart(usage=Usage(3)), TextDelta("a"), MessageEnd(FinishReason.STOP, Usage(0, 2))]
    model = account_usage(ledger)(ScriptedModel(script, script, [MessageStart(usage=Usage(7)), busy()], busy()))
    await model.generate(ask())
    await collect(model.stream(ask()))
    assert ledger.total == Usage(6, 4)
    for call in (lambda: collect(model.stream(ask())), lambda: model.generate(ask())):
        with pytest.raises(OverloadedError):
            await call()
    assert ledger.by_model == {
        ("scripted", "scripted-1"): ModelUsage(answered=2, failed=2, usage=Usage(13, 4, partial=True))
    }


async def test_an_abandoned_stream_counts_with_what_it_had_reported() -> None:
    ledger = UsageLedger()
    model = account_usage(ledger)(ScriptedModel([MessageStart(usage=Usage(3)), TextDelta("a"), END], [TextDelta("a")]))
    async with model.stream(ask()) as stream:
        await stream.__anext__()
    assert ledger.by_model[("scripted", "scripted-1")] == ModelUsage(abandoned=1, usage=Usage(3, partial=True))
    await events_of(model)
    assert ledger.by_model[("scripted", "scripted-1")].failed == 1


async def test_a_partial_answer_in_one_piece_is_counted() -> None:
    ledger = UsageLedger()
    model = account_usage(ledger)(ScriptedModel([MessageStart(usage=Usage(3)), TextDelta("a")]))
    with pytest.raises(ModelError):
        await model.generate(ask())
    assert ledger.total == Usage(3, partial=True)


# -- capabilities ------------------------------------------------------------------------------------------------


def test_features_are_overridden_one_by_one() -> None:
    model = ScriptedModel(capabilities=Capabilities(vision=True, tools=True))
    assert override_capabilities(vision=None)(model) is model
    assert override_capabilities()(model) is model
    changed = override_capabilities(vision=False, reasoning=True, tools=None)(model).capabilities
    assert changed == Capabilities(vision=False, reasoning=True, tools=True)
    with pytest.raises(ValueError, match="telepathy"):
        override_capabilities(telepathy=True)
    assert len(Capabilities.__slots__) == 15
