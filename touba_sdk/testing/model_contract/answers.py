"""What is promised of answers: texts, calls, reasoning, usage, and how they end."""

from __future__ import annotations

from functools import partial
from typing import Any

from ...models import (
    FinishReason,
    LanguageModel,
    Message,
    ModelResponseError,
    ReasoningPart,
    Request,
    Response,
    Role,
    TextPart,
    ToolCallPart,
    Usage,
    tool_result,
    tool_results,
    user_text,
)
from .case import Case, How, ask, case_of, failure, hello, with_tools
from .vendor import Answer, Part, Vendor

CASES: list[Case] = []
case = partial(case_of, CASES)


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
