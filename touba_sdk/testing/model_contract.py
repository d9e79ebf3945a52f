"""What every model adapter promises, as a suite that runs against a vendor's server that you script.

The suite knows no vendor. You give it a `Vendor`: something that speaks the vendor's wire format on this machine,
answers what it is told to, and makes models that talk to it. The adapters of `touba_sdk.models.adapters` pass it
against the servers in ``tests/fake_vendors`` of the source distribution.

    @pytest.mark.parametrize("backend", ["asyncio", "trio"])
    @pytest.mark.parametrize("case", CASES, ids=str)
    def test_contract(case, backend):
        with MyVendor() as vendor:
            run_case(case, vendor, backend=backend)

With ``pytest.register_assert_rewrite("touba_sdk.testing.model_contract")`` in a ``conftest.py``, a failing case shows
the values that it compares.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, Protocol, TypeAlias

import anyio

from ..models import (
    AuthError,
    ConnectionFailedError,
    FinishReason,
    IncompleteStreamError,
    InvalidRequestError,
    LanguageModel,
    Message,
    MessageEnd,
    MessageStart,
    ModelError,
    ModelResponseError,
    OverloadedError,
    RateLimitedError,
    ReasoningPart,
    Request,
    Response,
    Role,
    StreamIdleError,
    TextDelta,
    TextPart,
    ToolCallPart,
    ToolDeclaration,
    Usage,
    collect,
    tool_result,
    tool_results,
    user_text,
)

__all__ = ["CASES", "Answer", "Case", "Vendor", "run_case"]

#: how long one case may take, in seconds
CASE_TIMEOUT = 30.0
#: a text that a server writes into its errors; no error of ours may show it
PRIVATE = "the vendor repeats: my private question"

Part: TypeAlias = TextPart | ReasoningPart | ToolCallPart
Fault: TypeAlias = Literal["cut", "error", "hang", "not_json", "unknown_fields"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the vendor's server answers to the next request, in words of no vendor.

    ``parts`` come in this order; the signature of a reasoning part is the vendor's raw one, and two calls with one id
    are sent as they are. ``refusal``: the text is sent as the vendor sends a refusal, where it has a way of its own.
    ``status`` other than 200: an error of that status, with `PRIVATE` as its text and ``retry_after`` (seconds) as
    its hint. ``fault``, in a stream: ``cut`` closes the connection after the first text, ``error`` sends the vendor's
    "overloaded" error there, ``hang`` sends nothing more; ``not_json`` answers with something else, and
    ``unknown_fields`` adds members and events that no vendor has yet.
    """

    parts: tuple[Part, ...] = (TextPart("Hello, wörld – 你好."),)
    finish: FinishReason = FinishReason.STOP
    usage: Usage = field(default_factory=lambda: Usage(12, 5))
    refusal: bool = False
    status: int = 200
    retry_after: float | None = None
    fault: Fault | None = None


class Vendor(Protocol):
    """A vendor's server on this machine, and models that talk to it.

    ``lacks`` names what the vendor cannot say, of: ``call ids``, ``refusal``, ``reasoning``, ``signatures``,
    ``cached tokens``, ``cache writes``, ``reasoning tokens``, ``retry hints``, ``truncation``, ``timeouts`` (of the
    adapter), ``stream ends`` (a stream that was cut looks complete), ``event loops`` (a model serves only one),
    ``unknown items`` (a layer between refuses what it does not know). The cases that need it do not apply.
    """

    lacks: Collection[str]

    def model(self, *, timeout: float = 10.0) -> LanguageModel:
        """A new model that talks to the server; ``timeout`` bounds each of its steps, in seconds."""
        ...

    def unreachable(self) -> LanguageModel:
        """A model of a server that does not exist."""
        ...

    def answer(self, *answers: Answer) -> None:
        """Set what the next requests are answered; the last answer goes on for ever."""
        ...

    @property
    def received(self) -> int:
        """How many requests have come."""
        ...

    @property
    def open_streams(self) -> int:
        """How many streams are being sent."""
        ...

    def last_had(self, text: str) -> bool:
        """Whether the last request had this text, however the vendor encodes it."""
        ...


How = Literal["generate", "stream"]
Check = Callable[[Vendor, LanguageModel, How], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Case:
    """One promise. ``needs``: what the vendor must be able to say; ``hows``: the ways of asking that it holds for."""

    name: str
    check: Check
    needs: tuple[str, ...] = ()
    hows: tuple[How, ...] = ("generate", "stream")
    loops: int = 1
    timeout: float = 10.0

    def __str__(self) -> str:
        return self.name


CASES: list[Case] = []


def case(*needs: str, how: How | None = None, loops: int = 1, timeout: float = 10.0) -> Callable[[Check], Check]:
    def register(check: Check) -> Check:
        hows: tuple[How, ...] = ("generate", "stream") if how is None else (how,)
        name = getattr(check, "__name__", "case")
        CASES.append(Case(name, check, needs, hows, loops, timeout))
        return check

    return register


def run_case(case: Case, vendor: Vendor, *, backend: str = "asyncio") -> str | None:
    """Run one case, once for each way of asking.

    Parameters:
        backend: ``asyncio`` or ``trio``.

    Returns:
        None when it holds; a sentence when it does not apply, because the vendor lacks what it is about.

    Raises:
        AssertionError: when the adapter does not keep the promise.
    """
    missing = [need for need in case.needs if need in vendor.lacks]
    if missing:
        return f"the vendor has no {', no '.join(missing)}"
    for how in case.hows:
        model = vendor.model(timeout=case.timeout)
        for _ in range(case.loops):
            anyio.run(partial(_run, case, vendor, model, how), backend=backend)
    return None


async def _run(case: Case, vendor: Vendor, model: LanguageModel, how: How) -> None:
    with anyio.fail_after(CASE_TIMEOUT):
        async with _closing(model):
            await case.check(vendor, model, how)


@asynccontextmanager
async def _closing(model: LanguageModel) -> AsyncIterator[None]:
    try:
        yield
    finally:
        close = getattr(model, "aclose", None)
        if close is not None:
            done = close()
            if inspect.isawaitable(done):
                await done


async def ask(model: LanguageModel, request: Request, how: How) -> Response:
    """The response, asked for in one piece or as a stream."""
    return await model.generate(request) if how == "generate" else await collect(model.stream(request))


async def failure(model: LanguageModel, request: Request, how: How) -> ModelError:
    """The error that asking raises.

    Raises:
        AssertionError: when it raises none, or one that is no `ModelError`.
    """
    raised: ModelError | None = None
    try:
        await ask(model, request, how)
    except ModelError as error:
        raised = error
    assert raised is not None, "no error, but a response"
    link: BaseException | None = raised
    while link is not None:
        assert PRIVATE not in str(link), "the text of an error, or of its cause, repeats what the vendor wrote"
        link = link.__cause__
    return raised


def hello() -> Request:
    return Request([user_text("my private question")])


TOOLS = [
    ToolDeclaration(
        "add",
        "Add two numbers.",
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
            "additionalProperties": False,
        },
    ),
    ToolDeclaration("now", "The time.", None),
]


def with_tools() -> Request:
    return Request([user_text("2 + 3?")], tools=list(TOOLS))


# --- answers --------------------------------------------------------------------------------------------------------


@case()
async def test_it_is_a_language_model(vendor: Vendor, model: LanguageModel, how: How) -> None:
    assert isinstance(model, LanguageModel)
    assert model.provider
    assert model.model_id
    vendor.answer(Answer())
    response = await ask(model, hello(), how)
    assert response.provider == model.provider
    assert response.model


@case()
async def test_text(vendor: Vendor, model: LanguageModel, how: How) -> None:
    vendor.answer(Answer((TextPart("Hello, wörld – 你好."),)))
    response = await ask(model, hello(), how)
    assert response.text == "Hello, wörld – 你好."
    assert response.finish_reason is FinishReason.STOP
    assert not response.partial


@case()
async def test_usage_is_counted_once(vendor: Vendor, model: LanguageModel, how: How) -> None:
    vendor.answer(Answer(usage=Usage(120, 45)))
    usage = (await ask(model, hello(), how)).usage
    assert (usage.input_tokens, usage.output_tokens, usage.partial) == (120, 45, False)


@case("reasoning tokens")
async def test_reasoning_tokens_are_a_part_of_the_output(vendor: Vendor, model: LanguageModel, how: How) -> None:
    vendor.answer(Answer(usage=Usage(10, 100, reasoning_tokens=60)))
    usage = (await ask(model, hello(), how)).usage
    assert (usage.output_tokens, usage.reasoning_tokens) == (100, 60)


@case("cached tokens")
async def test_cached_tokens_are_a_part_of_the_input(vendor: Vendor, model: LanguageModel, how: How) -> None:
    vendor.answer(Answer(usage=Usage(172, 5, cached_input_tokens=155)))
    usage = (await ask(model, hello(), how)).usage
    assert (usage.input_tokens, usage.cached_input_tokens, usage.uncached_input_tokens) == (172, 155, 17)


@case("cache writes")
async def test_written_tokens_are_a_part_of_the_input(vendor: Vendor, model: LanguageModel, how: How) -> None:
    vendor.answer(Answer(usage=Usage(172, 5, cached_input_tokens=155, cache_write_tokens=3)))
    usage = (await ask(model, hello(), how)).usage
    assert (usage.input_tokens, usage.cached_input_tokens, usage.cache_write_tokens) == (172, 155, 3)


@case()
async def test_a_call(vendor: Vendor, model: LanguageModel, how: How) -> None:
    vendor.answer(Answer((ToolCallPart("call_1", "add", '{"a": 2, "b": 3}'),), FinishReason.TOOL_CALLS))
    response = await ask(model, with_tools(), how)
    assert response.finish_reason is FinishReason.TOOL_CALLS
    (call,) = response.tool_calls
    assert (call.name, call.arguments) == ("add", {"a": 2, "b": 3})
    assert call.id
    if "call ids" not in vendor.lacks:
        assert call.id == "call_1"


@case()
async def test_several_calls_keep_their_order_and_have_ids(vendor: Vendor, model: LanguageModel, how: How) -> None:
    calls = [ToolCallPart(f"call_{n}", "add", f'{{"a": {n}, "b": 0}}') for n in range(3)]
    vendor.answer(Answer((TextPart("Let me see."), *calls), FinishReason.TOOL_CALLS))
    response = await ask(model, with_tools(), how)
    assert response.text == "Let me see."
    assert [call.arguments["a"] for call in response.tool_calls] == [0, 1, 2]
    assert len({call.id for call in response.tool_calls}) == 3


@case()
async def test_a_call_without_arguments_has_an_empty_object(vendor: Vendor, model: LanguageModel, how: How) -> None:
    vendor.answer(Answer((ToolCallPart("call_1", "now", ""),), FinishReason.TOOL_CALLS))
    (call,) = (await ask(model, with_tools(), how)).tool_calls
    assert call.arguments == {}


@case()
async def test_results_go_back(vendor: Vendor, model: LanguageModel, how: How) -> None:
    calls = (ToolCallPart("call_1", "add", '{"a": 2, "b": 3}'), ToolCallPart("call_2", "now", ""))
    vendor.answer(Answer(calls, FinishReason.TOOL_CALLS), Answer((TextPart("It is 5."),)))
    request = with_tools()
    first = await ask(model, request, how)
    one, other = first.tool_calls
    answers = tool_results(tool_result(one, "five it is"), tool_result(other, "no clock here", is_error=True))
    later = request.copy(messages=[*request.messages, first.message, answers, user_text("And?")])
    second = await ask(model, later, how)
    assert second.text == "It is 5."
    assert vendor.last_had("five it is")
    assert vendor.last_had("no clock here")


@case("reasoning")
async def test_reasoning_is_no_text(vendor: Vendor, model: LanguageModel, how: How) -> None:
    vendor.answer(Answer((ReasoningPart("two and three", "sig-one"), TextPart("five"))))
    response = await ask(model, hello(), how)
    assert response.text == "five"
    assert response.reasoning == "two and three"


@case("signatures")
async def test_signatures_go_back_untouched(vendor: Vendor, model: LanguageModel, how: How) -> None:
    thought = ReasoningPart("two and three", "sig-one")
    vendor.answer(Answer((thought, ToolCallPart("call_1", "now", "")), FinishReason.TOOL_CALLS), Answer())
    request = with_tools()
    first = await ask(model, request, how)
    (call,) = first.tool_calls
    messages = [*request.messages, first.message, tool_results(tool_result(call, "noon"))]
    await ask(model, request.copy(messages=messages), how)
    assert vendor.last_had("sig-one")


@case("signatures")
async def test_reasoning_of_another_provider_is_not_sent(vendor: Vendor, model: LanguageModel, how: How) -> None:
    vendor.answer(Answer())
    parts = (ReasoningPart("secret thoughts", "elsewhere/thinking:other-signature"), TextPart("five"))
    messages = [user_text("2 + 3?"), Message(Role.ASSISTANT, parts), user_text("And?")]
    await ask(model, Request(messages), how)
    assert not vendor.last_had("other-signature")
    assert not vendor.last_had("secret thoughts")


@case()
async def test_both_ways_of_asking_give_the_same(vendor: Vendor, model: LanguageModel, how: How) -> None:
    parts: tuple[Part, ...] = (TextPart("Let me see."), ToolCallPart("call_1", "add", '{"a": 2, "b": 3}'))
    if "signatures" not in vendor.lacks:
        parts = (ReasoningPart("hm", "sig-one"), *parts)
    vendor.answer(Answer(parts, FinishReason.TOOL_CALLS, Usage(40, 9)))
    one, other = await ask(model, with_tools(), "generate"), await ask(model, with_tools(), "stream")

    def facts(response: Response) -> Any:
        known = [
            (part.name, part.arguments) if isinstance(part, ToolCallPart) else part for part in response.message.parts
        ]
        end = response.finish_reason, response.incomplete_reason
        return known, end, response.usage, response.model, response.warnings

    assert facts(one) == facts(other)


@case()
async def test_the_request_is_left_as_it_was(vendor: Vendor, model: LanguageModel, how: How) -> None:
    vendor.answer(Answer())
    request = with_tools()
    before = repr(request)
    await ask(model, request, how)
    assert repr(request) == before


# --- ends -----------------------------------------------------------------------------------------------------------


@case("truncation")
async def test_a_cut_answer_says_so(vendor: Vendor, model: LanguageModel, how: How) -> None:
    vendor.answer(Answer((TextPart("once upon a"),), FinishReason.LENGTH))
    response = await ask(model, hello(), how)
    assert response.finish_reason is FinishReason.LENGTH
    assert response.truncated
    assert response.text == "once upon a"
    assert response.incomplete_reason, "the vendor's own word for it is lost"


@case("truncation")
async def test_a_cut_call_is_not_to_be_trusted(vendor: Vendor, model: LanguageModel, how: How) -> None:
    vendor.answer(Answer((ToolCallPart("call_1", "add", '{"a": 2, "b": 3}'),), FinishReason.LENGTH))
    response = await ask(model, with_tools(), how)
    assert response.finish_reason is FinishReason.LENGTH
    for call in response.tool_calls:
        code = None
        try:
            response.arguments_of(call)
        except ModelResponseError as error:
            code = error.code
        assert code == "truncated", "the arguments of a cut call are given"


@case("refusal")
async def test_a_refusal_is_an_answer(vendor: Vendor, model: LanguageModel, how: How) -> None:
    vendor.answer(Answer((TextPart("I cannot help."),), FinishReason.CONTENT_FILTER, refusal=True))
    response = await ask(model, hello(), how)
    assert response.finish_reason is FinishReason.CONTENT_FILTER
    assert not response.tool_calls


@case("call ids")
async def test_two_calls_with_one_id_are_refused(vendor: Vendor, model: LanguageModel, how: How) -> None:
    calls = (ToolCallPart("call_1", "add", '{"a": 1, "b": 1}'), ToolCallPart("call_1", "now", ""))
    vendor.answer(Answer(calls, FinishReason.TOOL_CALLS))
    error = await failure(model, with_tools(), how)
    assert isinstance(error, ModelResponseError)
    assert error.code == "duplicate_call"
    assert not error.retryable


@case("unknown items")
async def test_what_is_unknown_does_no_harm(vendor: Vendor, model: LanguageModel, how: How) -> None:
    call = ToolCallPart("call_1", "add", '{"a": 2, "b": 3}')
    vendor.answer(Answer((TextPart("Let me see."), call), FinishReason.TOOL_CALLS, fault="unknown_fields"))
    response = await ask(model, with_tools(), how)
    assert response.text == "Let me see."
    assert response.tool_calls[0].arguments == {"a": 2, "b": 3}


# --- failures -------------------------------------------------------------------------------------------------------


async def _refused(
    vendor: Vendor, model: LanguageModel, how: How, answer: Answer, kind: type[ModelError], retryable: bool
) -> ModelError:
    vendor.answer(answer)
    before = vendor.received
    error = await failure(model, hello(), how)
    assert type(error) is kind, f"{type(error).__name__}, not {kind.__name__}"
    assert error.retryable is retryable
    assert error.status == answer.status
    assert error.provider == model.provider
    assert vendor.received == before + 1, "a bare model tries once"
    return error


@case("retry hints")
async def test_too_many_requests_with_a_hint(vendor: Vendor, model: LanguageModel, how: How) -> None:
    error = await _refused(vendor, model, how, Answer(status=429, retry_after=7), RateLimitedError, True)
    assert error.retry_after == 7


@case()
async def test_too_many_requests_without_a_hint(vendor: Vendor, model: LanguageModel, how: How) -> None:
    error = await _refused(vendor, model, how, Answer(status=429), RateLimitedError, True)
    assert error.retry_after is None


@case()
async def test_server_errors(vendor: Vendor, model: LanguageModel, how: How) -> None:
    for status in (500, 503):
        await _refused(vendor, model, how, Answer(status=status), OverloadedError, True)


@case()
async def test_a_wrong_key(vendor: Vendor, model: LanguageModel, how: How) -> None:
    await _refused(vendor, model, how, Answer(status=401), AuthError, False)


@case()
async def test_a_request_that_is_refused(vendor: Vendor, model: LanguageModel, how: How) -> None:
    error = await _refused(vendor, model, how, Answer(status=400), InvalidRequestError, False)
    assert PRIVATE in error.detail, "the vendor's words are kept for those who look for them"


@case()
async def test_an_answer_that_is_no_json(vendor: Vendor, model: LanguageModel, how: How) -> None:
    vendor.answer(Answer(fault="not_json"))
    error = await failure(model, hello(), how)
    assert isinstance(error, ModelResponseError | IncompleteStreamError)


@case()
async def test_a_server_that_is_not_there(vendor: Vendor, model: LanguageModel, how: How) -> None:
    nowhere = vendor.unreachable()
    async with _closing(nowhere):
        error = await failure(nowhere, hello(), how)
    assert type(error) is ConnectionFailedError
    assert error.retryable


# --- streams --------------------------------------------------------------------------------------------------------


@case(how="stream")
async def test_a_stream_has_a_start_and_one_end(vendor: Vendor, model: LanguageModel, how: How) -> None:
    vendor.answer(Answer((TextPart("one two three four five six"),)))
    async with model.stream(hello()) as stream:
        events = [event async for event in stream]
    assert isinstance(events[0], MessageStart)
    assert isinstance(events[-1], MessageEnd)
    assert sum(isinstance(event, MessageStart | MessageEnd) for event in events) == 2
    deltas = [event.text for event in events if isinstance(event, TextDelta)]
    assert "".join(deltas) == "one two three four five six"
    assert "" not in deltas
    assert len(deltas) > 1, "the text comes as it is written"


@case(how="stream")
async def test_nothing_is_sent_before_the_first_event_is_asked_for(
    vendor: Vendor, model: LanguageModel, how: How
) -> None:
    vendor.answer(Answer())
    before = vendor.received
    stream = model.stream(hello())
    await anyio.sleep(0.02)
    assert vendor.received == before
    await stream.aclose()
    await anyio.sleep(0.02)
    assert vendor.received == before


@case(how="stream")
async def test_an_error_in_the_middle_keeps_what_arrived(vendor: Vendor, model: LanguageModel, how: How) -> None:
    vendor.answer(Answer((TextPart("one two three four five six"),), fault="error"))
    error = await failure(model, hello(), how)
    assert isinstance(error, OverloadedError | ModelResponseError)
    assert error.response is not None
    assert error.response.partial
    assert error.response.text
    assert "one two three four five six".startswith(error.response.text)


@case("stream ends", how="stream")
async def test_a_stream_that_is_cut_is_incomplete(vendor: Vendor, model: LanguageModel, how: How) -> None:
    vendor.answer(Answer((TextPart("one two three four five six"),), fault="cut"))
    error = await failure(model, hello(), how)
    assert type(error) is IncompleteStreamError
    assert error.retryable
    assert error.response is not None
    assert error.response.text.startswith("one")
    assert error.response.usage.partial


@case("timeouts", how="stream", timeout=0.3)
async def test_a_silent_stream_is_ended(vendor: Vendor, model: LanguageModel, how: How) -> None:
    vendor.answer(Answer((TextPart("one two three four five six"),), fault="hang"))
    error = await failure(model, hello(), how)
    assert type(error) is StreamIdleError
    assert error.response is not None
    assert error.response.text


async def _no_stream(vendor: Vendor) -> None:
    for _ in range(500):
        if not vendor.open_streams:
            return
        await anyio.sleep(0.01)
    raise AssertionError("the connection is still open")


@case(how="stream")
async def test_leaving_a_stream_ends_the_call(vendor: Vendor, model: LanguageModel, how: How) -> None:
    vendor.answer(Answer((TextPart("one two three four five six"),), fault="hang"), Answer())
    async with model.stream(hello()) as stream:
        async for event in stream:
            if isinstance(event, TextDelta):
                break
        assert vendor.open_streams == 1
    await _no_stream(vendor)
    assert (await ask(model, hello(), how)).text


@case(how="stream")
async def test_a_cancelled_stream_ends_the_call(vendor: Vendor, model: LanguageModel, how: How) -> None:
    vendor.answer(Answer((TextPart("one two three four five six"),), fault="hang"), Answer())
    begun = anyio.Event()

    async def read() -> None:
        async with model.stream(hello()) as stream:
            async for event in stream:
                if isinstance(event, TextDelta):
                    begun.set()
        raise AssertionError("a stream that hangs has ended")

    async with anyio.create_task_group() as group:
        group.start_soon(read)
        await begun.wait()
        group.cancel_scope.cancel()
    await _no_stream(vendor)
    assert (await ask(model, hello(), how)).text


# --- many at once ---------------------------------------------------------------------------------------------------


@case()
async def test_many_calls_at_once(vendor: Vendor, model: LanguageModel, how: How) -> None:
    vendor.answer(Answer((TextPart("one two three"),)))
    texts: list[str] = []

    async def one() -> None:
        texts.append((await ask(model, hello(), how)).text)

    async with anyio.create_task_group() as group:
        for _ in range(8):
            group.start_soon(one)
    assert texts == ["one two three"] * 8


@case("event loops", loops=2)
async def test_a_model_serves_one_event_loop_after_the_other(vendor: Vendor, model: LanguageModel, how: How) -> None:
    vendor.answer(Answer((TextPart("one two three"),)))
    assert (await ask(model, hello(), how)).text == "one two three"
