"""Collecting streams: group N of the acceptance cases, and the rows C4 C10 C11 C20 D4 D5 D13 D14 of the study."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touba_sdk import models
from touba_sdk.models import (
    TRUNCATION_UNKNOWN,
    Citation,
    CitationDelta,
    Collector,
    EventStream,
    FinishReason,
    IncompleteStreamError,
    InvalidRequestError,
    MessageEnd,
    MessageStart,
    ModelResponseError,
    OverloadedError,
    ReasoningDelta,
    ReasoningPart,
    Response,
    RetryNotice,
    StreamEvent,
    TextDelta,
    TextPart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallPart,
    ToolCallStart,
    Usage,
    collect,
    from_json,
    is_retryable,
    model_error,
    response_events,
    to_json,
)
from touba_sdk.models.middleware import retry
from touba_sdk.testing.models import ScriptedModel

from .kit import RESPONSE, Clock, ask, events_of

END = MessageEnd(FinishReason.STOP)


def collected(*events: StreamEvent) -> Response:
    collector = Collector()
    for event in events:
        collector.add(event)
    return collector.response()


def test_case_175_deltas_merge_until_another_kind_comes() -> None:
    events = (TextDelta("a"), TextDelta("b"), ReasoningDelta("r", "sig"), TextDelta("c"), END)
    assert collected(*events).message.parts == (TextPart("ab"), ReasoningPart("r", "sig"), TextPart("c"))


def test_case_175_calls_interleave_and_keep_their_order() -> None:
    response = collected(
        ToolCallStart(1, "b", "second"),
        ToolCallStart(0, "a", "first"),
        ToolCallDelta(0, '{"x"'),
        ToolCallDelta(1, "{}"),
        TextDelta("and"),
        ToolCallDelta(0, ":1}"),
        ToolCallEnd(1),
        MessageEnd(FinishReason.TOOL_CALLS),
    )
    assert response.message.parts == (
        ToolCallPart("b", "second", "{}"),
        ToolCallPart("a", "first", '{"x":1}'),
        TextPart("and"),
    )


def test_case_175_every_signature_stays_with_what_it_signs() -> None:
    response = collected(
        ReasoningDelta("one"),
        ReasoningDelta(signature="s1"),
        ReasoningDelta("two", "s2"),
        ReasoningDelta(signature="s3"),
        ReasoningDelta(signature="data", redacted=True),
        END,
    )
    assert response.message.parts == (
        ReasoningPart("one", "s1"),
        ReasoningPart("two", "s3"),
        ReasoningPart("", "data", True),
    )


def test_case_175_a_delta_for_a_call_that_never_began_is_a_warning() -> None:
    response = collected(ToolCallStart(0, "a", "f"), ToolCallEnd(0), ToolCallDelta(0, "x"), ToolCallDelta(7, "y"), END)
    assert response.tool_calls == (ToolCallPart("a", "f"),)
    assert [(warning.type, warning.feature) for warning in response.warnings] == [("compatibility", "tool_call_delta")]


def test_case_175_what_is_no_stream_is_refused() -> None:
    with pytest.raises(ModelResponseError, match="follows the end"):
        collected(END, TextDelta("late"))
    with pytest.raises(ModelResponseError, match="no event"):
        collected("text")  # type: ignore[arg-type]
    assert collected(RetryNotice(1, 2, 0.5, "rate limited"), TextDelta("a"), END).text == "a"


@pytest.mark.anyio
async def test_case_177_an_error_brings_the_partial_response() -> None:
    failure = OverloadedError("busy", provider="scripted", status=529)
    script = [MessageStart("scripted", "r1", "m"), TextDelta("he"), ToolCallStart(0, "c", "f"), failure]
    with pytest.raises(OverloadedError) as caught:
        await ScriptedModel(script).generate(ask())
    assert caught.value is failure
    partial = caught.value.response
    assert partial is not None
    assert (partial.text, partial.id, partial.partial) == ("he", "r1", True)
    assert partial.tool_calls == (ToolCallPart("c", "f"),)


@pytest.mark.anyio
async def test_case_177_an_error_that_is_not_the_models_leaves_unchanged() -> None:
    failure = KeyError("mistake")
    with pytest.raises(KeyError) as caught:
        await ScriptedModel([TextDelta("he"), failure]).generate(ask())
    assert caught.value is failure


@pytest.mark.anyio
async def test_case_178_a_stream_without_its_end_is_a_retryable_failure() -> None:
    with pytest.raises(IncompleteStreamError) as caught:
        await ScriptedModel([MessageStart(), TextDelta("he")]).generate(ask())
    assert is_retryable(caught.value)
    assert caught.value.reason == "stream ended early"
    assert caught.value.response is not None
    assert caught.value.response.text == "he"
    with pytest.raises(IncompleteStreamError):
        Collector().response()


def test_case_179_usage_is_that_of_the_end_and_adds_member_by_member() -> None:
    usage = Usage(10, 5, 2, 3, 1)
    assert collected(TextDelta("a"), MessageEnd(FinishReason.STOP, usage)).usage == usage
    assert usage + Usage(1, 2, 3, 4, 5) == Usage(11, 7, 5, 7, 6)
    assert (usage + Usage(partial=True)).partial
    assert sum([usage, usage], Usage()) == Usage(20, 10, 4, 6, 2)
    with pytest.raises(TypeError):
        usage + 1  # type: ignore[operator]


@pytest.mark.parametrize("reason", [None, "max_output_tokens"])
def test_the_providers_word_for_an_unfinished_answer_goes_through(reason: str | None) -> None:
    response = collected(TextDelta("a"), MessageEnd(FinishReason.LENGTH, incomplete_reason=reason))
    assert response.incomplete_reason == reason
    assert collected(*response_events(response)) == response
    assert from_json(Response, to_json(response)) == response
    [*_, end] = response_events(response)
    assert from_json(MessageEnd, to_json(end)) == end
    assert ("incomplete_reason" in to_json(response)) is (reason is not None)


# -- rows of the study -------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_row_c4_truncated_arguments_are_their_own_error_and_are_not_retried() -> None:
    cut = [ToolCallStart(0, "c1", "add"), ToolCallDelta(0, '{"a": "xx'), MessageEnd(FinishReason.LENGTH, Usage(5, 4))]
    inner = ScriptedModel(cut, "never asked for")
    response = await retry(clock=Clock(), sleep=Clock().sleep)(inner).generate(ask())
    assert response.truncated
    assert response.tool_calls[0].args == '{"a": "xx'
    with pytest.raises(ModelResponseError) as caught:
        response.arguments_of(response.tool_calls[0])
    assert (caught.value.code, is_retryable(caught.value)) == ("truncated", False)
    assert inner.remaining == 1


def test_row_c4_even_whole_arguments_of_a_cut_answer_are_not_trusted() -> None:
    call = ToolCallPart("c1", "add", '{"a": 1}')
    cut = collected(*_call_events(call), MessageEnd(FinishReason.LENGTH))
    with pytest.raises(ModelResponseError, match="truncated"):
        cut.arguments_of(call)
    whole = collected(*_call_events(call), MessageEnd(FinishReason.TOOL_CALLS))
    assert whole.arguments_of(call) == {"a": 1}
    with pytest.raises(ModelResponseError, match="invalid_arguments"):
        whole.arguments_of(ToolCallPart("c1", "add", '{"a": "xx'))


def _call_events(call: ToolCallPart) -> list[StreamEvent]:
    return [ToolCallStart(0, call.id, call.name), ToolCallDelta(0, call.args), ToolCallEnd(0)]


@pytest.mark.anyio
async def test_row_c10_a_cut_stream_keeps_its_text_and_marks_its_usage() -> None:
    script = [MessageStart("p", "id", "m", Usage(25, 1)), TextDelta("a"), TextDelta("b"), TextDelta("c")]
    with pytest.raises(IncompleteStreamError) as caught:
        await collect(ScriptedModel(script).stream(ask()))
    partial = caught.value.response
    assert partial is not None
    assert (partial.text, partial.usage, partial.partial) == ("abc", Usage(25, 1, partial=True), True)


@pytest.mark.anyio
async def test_row_c11_an_error_object_inside_a_stream_is_a_failure_with_its_message() -> None:
    failure = model_error(
        provider="ollama", status=200, detail="llama runner process has terminated", body={"error": "…"}
    )
    model = ScriptedModel([TextDelta("a"), TextDelta("b"), failure])
    with pytest.raises(ModelResponseError) as caught:
        await model.generate(ask())
    assert caught.value.detail == "llama runner process has terminated"
    assert "runner" not in str(caught.value)
    assert caught.value.response is not None
    assert caught.value.response.text == "ab"


@pytest.mark.anyio
async def test_row_c20_an_error_inside_a_stream_is_classed_by_its_type() -> None:
    failure = model_error(provider="anthropic", status=200, type="invalid_request_error", detail="schema …")
    with pytest.raises(InvalidRequestError) as caught:
        await ScriptedModel([TextDelta("par"), TextDelta("tial"), failure]).generate(ask())
    assert not is_retryable(caught.value)
    assert caught.value.response is not None
    assert caught.value.response.text == "partial"


def test_row_d4_counts_of_start_and_end_are_not_added() -> None:
    start = MessageStart(usage=Usage(25, 1, cached_input_tokens=20))
    assert collected(start, TextDelta("a"), MessageEnd(FinishReason.STOP, Usage(25, 15))).usage == Usage(
        25, 15, cached_input_tokens=20
    )
    assert collected(start, MessageEnd(FinishReason.STOP, Usage(0, 15))).usage.input_tokens == 25


def test_row_d5_reasoning_is_a_part_of_the_output() -> None:
    usage = Usage(10, 100, reasoning_tokens=60)
    assert (usage.output_tokens, usage.reasoning_tokens, usage.total_tokens) == (100, 60, 110)
    assert (usage + usage).total_tokens == 220


def test_row_d13_the_last_cumulative_count_stands() -> None:
    usage = Usage()
    for output in (1, 2, 3, 5, 8):
        usage = usage.updated(Usage(30, output))
    assert usage == Usage(30, 8)
    assert usage.updated(None) == usage
    assert usage.updated(Usage(29, 7)) == Usage(29, 7)


def test_row_d14_a_provider_that_hides_truncation_is_marked() -> None:
    silent = collected(TextDelta("cut he"), MessageEnd(FinishReason.STOP, warnings=(TRUNCATION_UNKNOWN,)))
    assert (silent.truncated, silent.truncation_known) == (False, False)
    told = collected(TextDelta("cut he"), MessageEnd(FinishReason.LENGTH))
    assert (told.truncated, told.truncation_known) == (True, True)
    assert not collected(MessageEnd()).truncation_known


# -- properties --------------------------------------------------------------------------------------------------


def _pieces(data: st.DataObject, text: str) -> list[str]:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4)))
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def _split(data: st.DataObject, event: StreamEvent) -> list[StreamEvent]:
    """The event cut into smaller ones that say the same."""
    if isinstance(event, TextDelta):
        return [TextDelta(piece) for piece in _pieces(data, event.text)]
    if isinstance(event, ToolCallDelta):
        return [ToolCallDelta(event.index, piece) for piece in _pieces(data, event.args)]
    if isinstance(event, ReasoningDelta) and not event.redacted:
        *first, last = _pieces(data, event.text)
        return [*(ReasoningDelta(piece) for piece in first), ReasoningDelta(last, event.signature)]
    return [event]


@given(RESPONSE, st.data())
def test_any_cut_of_the_deltas_gives_the_same_response(response: Response, data: st.DataObject) -> None:
    events = response_events(response)
    whole = collected(*events)
    assert collected(*(piece for event in events for piece in _split(data, event))) == whole
    assert whole.usage == response.usage
    assert (whole.text, whole.reasoning, whole.tool_calls) == (response.text, response.reasoning, response.tool_calls)
    assert (whole.finish_reason, whole.citations, whole.grounding) == (
        response.finish_reason, response.citations, response.grounding
    )  # fmt: skip


def test_citations_are_collected() -> None:
    citation = Citation("https://example.org", "t", text_range=[0, 3])  # type: ignore[arg-type]
    response = collected(TextDelta("abc"), CitationDelta(citation), MessageEnd(grounding={"q": 1}))
    assert (response.citations[0].text_range, response.grounding) == ((0, 3), {"q": 1})


# -- the stream itself -------------------------------------------------------------------------------------------


class Source:
    """Notes what happens to a generator."""

    def __init__(self) -> None:
        self.begun = self.closed = False

    async def events(self) -> AsyncGenerator[StreamEvent, None]:
        self.begun = True
        try:
            yield TextDelta("a")
            yield TextDelta("b")
        finally:
            self.closed = True


@pytest.mark.anyio
async def test_a_stream_is_lazy_and_ends_when_it_is_left() -> None:
    source = Source()
    stream = EventStream(source.events)
    async with stream:
        assert not source.begun
        assert await stream.__anext__() == TextDelta("a")
        assert not source.closed
    assert source.closed
    with pytest.raises(StopAsyncIteration):
        await stream.__anext__()
    await stream.aclose()


@pytest.mark.anyio
async def test_a_stream_that_never_began_needs_nothing() -> None:
    source = Source()
    async with EventStream(source.events):
        pass
    assert not source.begun


@pytest.mark.anyio
async def test_an_error_of_the_start_appears_at_the_first_step() -> None:
    model = ScriptedModel(OverloadedError("busy"))
    stream = model.stream(ask())
    assert model.requests == []
    with pytest.raises(OverloadedError):
        await stream.__anext__()


@pytest.mark.anyio
async def test_stream_and_generate_give_the_same() -> None:
    answer = [TextDelta("4"), TextDelta("2"), MessageEnd(FinishReason.STOP, Usage(1, 2))]
    model: Any = ScriptedModel(answer, answer)
    whole = await model.generate(ask())
    assert collected(*await events_of(model)) == whole


def test_importing_the_package_loads_neither_pydantic_nor_anyio(repository: Any) -> None:
    program = (
        "import sys, touba_sdk.models as m\n"
        "print(sorted({'pydantic', 'anyio', 'asyncio', 'ssl', 'trio'} & set(sys.modules)))\n"
        "assert all(getattr(m, name) is not None for name in m.__all__)\n"
        "assert set(m.__all__) <= set(dir(m))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=repository, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = models.nothing
