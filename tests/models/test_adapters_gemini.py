"""Gemini: what is sent, and what is read of odd answers."""

from __future__ import annotations

import base64
import json
from typing import Any

import anyio
import pytest

from tests.fake_vendors import FakeGemini
from tests.fake_vendors.server import Reply
from tests.models.adapter_kit import JSON, ask, sent, serving
from touba_sdk.models import (
    FilePart,
    FinishReason,
    ImagePart,
    MediaSource,
    Message,
    ReasoningConfig,
    ReasoningMode,
    ReasoningPart,
    Request,
    ResponseFormat,
    Role,
    TextPart,
    ToolCallPart,
    ToolChoice,
    ToolChoiceMode,
    ToolDeclaration,
    ToolKind,
    UnsupportedError,
    Usage,
    assistant_text,
    structured_content,
    system_text,
    tool_result,
    tool_results,
    user_text,
)
from touba_sdk.models.adapters import GeminiModel
from touba_sdk.testing.model_contract import Answer

server = serving(FakeGemini)


def test_settings(server: FakeGemini) -> None:
    request = Request([system_text("Be brief."), user_text("hi")], temperature=0.0, top_k=3, seed=1, stop=["x"], max_tokens=7,
                      reasoning=ReasoningConfig(budget_tokens=100, include_summary=True),
                      provider_options={"gemini": {"cached_content": "cachedContents/1"}})  # fmt: skip
    body = sent(server, request)
    config = body["generationConfig"]
    assert (config["temperature"], config["topK"], config["seed"], config["maxOutputTokens"]) == (0.0, 3, 1, 7)
    assert config["stopSequences"] == ["x"]
    assert config["thinkingConfig"] == {"includeThoughts": True, "thinkingBudget": 100}
    assert body["systemInstruction"]["parts"][0]["text"] == "Be brief."
    assert body["cachedContent"] == "cachedContents/1"


def test_thinking_levels(server: FakeGemini) -> None:
    def thinking(wanted: ReasoningConfig) -> Any:
        return sent(server, Request([user_text("hi")], reasoning=wanted))["generationConfig"]["thinkingConfig"]

    assert thinking(ReasoningConfig(effort="high")) == {"thinkingLevel": "HIGH"}
    assert thinking(ReasoningConfig(ReasoningMode.DISABLED)) == {"thinkingBudget": 0}
    assert thinking(ReasoningConfig(ReasoningMode.ADAPTIVE)) == {"thinkingBudget": -1}


def test_tools_are_always_in_the_dialect_and_choices_are_named(server: FakeGemini) -> None:
    schema = {"type": "object", "properties": {"a": {"const": True}, "b": {"type": "string", "minLength": 1}, "c": {}}}
    tools = [
        ToolDeclaration("f", "F.", schema),
        ToolDeclaration("search", kind=ToolKind.PROVIDER_EXECUTED, provider_type="google_search"),
    ]
    server.answer(Answer())
    response = ask(
        server.model(), Request([user_text("hi")], tools=tools, tool_choice=ToolChoice(ToolChoiceMode.TOOL, "f"))
    )
    declared = next(tool for tool in server.last["tools"] if "functionDeclarations" in tool)["functionDeclarations"][0]
    assert "const" not in json.dumps(declared["parametersJsonSchema"])
    assert any("googleSearch" in tool for tool in server.last["tools"])
    assert server.last["toolConfig"]["functionCallingConfig"] == {"mode": "ANY", "allowedFunctionNames": ["f"]}
    (warning,) = response.warnings
    assert warning.feature == "tool_schema:f"
    with pytest.raises(UnsupportedError, match="without a type"):
        ask(server.model(), Request([user_text("hi")], tools=[ToolDeclaration("f", "", schema, strict=True)]))


def test_results_are_objects(server: FakeGemini) -> None:
    calls = tuple(ToolCallPart(f"touba_call_{n}", "f", "{}") for n in range(4))
    image = ImagePart(MediaSource(data=b"PNG", mime_type="image/png"))
    results = tool_results(
        tool_result(calls[0], "text"),
        tool_result(calls[1].id, [structured_content({"x": 1})]),
        tool_result(calls[2], "bad", is_error=True),
        tool_result(calls[3], ["see", image]),
    )
    contents = sent(server, Request([user_text("hi"), Message(Role.ASSISTANT, calls), results]))["contents"]
    parts = contents[2]["parts"]
    assert [part["functionResponse"]["response"] for part in parts if "functionResponse" in part] == [
        {"output": "text"},
        {"x": 1},
        {"error": "bad"},
        {"output": "see"},
    ]
    assert all("id" not in part["functionResponse"] for part in parts if "functionResponse" in part)
    assert parts[-1]["inlineData"]["mimeType"] == "image/png"


def test_ids_of_the_vendor_go_back(server: FakeGemini) -> None:
    call = ToolCallPart("vendor-7", "f", '{"a": 1}')
    contents = sent(
        server, Request([user_text("hi"), Message(Role.ASSISTANT, (call,)), tool_results(tool_result(call, "x"))])
    )["contents"]
    assert contents[1]["parts"][0]["functionCall"]["id"] == "vendor-7"
    assert contents[2]["parts"][0]["functionResponse"]["id"] == "vendor-7"


@pytest.mark.parametrize("how", ["generate", "stream"])
def test_a_signature_goes_back_with_the_part_that_it_came_with(server: FakeGemini, how: str) -> None:
    parts = (ReasoningPart("hm", "sig-a"), ToolCallPart("", "f", "{}"), ReasoningPart("", "sig-b"), TextPart("five"))
    server.answer(Answer(parts), Answer())
    first = ask(server.model(), Request([user_text("hi")]), how)
    (call,) = first.tool_calls
    assert call.id.startswith("touba_call_")
    assert [part.redacted for part in first.message.parts if isinstance(part, ReasoningPart)] == [False, True, True]
    again = sent(server, Request([user_text("hi"), first.message, tool_results(tool_result(call, "x"))]))["contents"][1]
    signed = [(sorted(part)[0], part.get("thoughtSignature")) for part in again["parts"]]
    assert signed == [
        ("functionCall", base64.b64encode(b"sig-a").decode()),
        ("text", base64.b64encode(b"sig-b").decode()),
    ]


def test_a_conversation_ends_with_the_user(server: FakeGemini) -> None:
    contents = sent(server, Request([user_text("hi"), assistant_text("Once upon")]))["contents"]
    assert contents[-1] == {"role": "user", "parts": [{"text": "Continue."}]}


@pytest.mark.parametrize("how", ["generate", "stream"])
def test_formats_of_the_answer(server: FakeGemini, how: str) -> None:
    server.answer(Answer((TextPart('{"value": "x"}'),)))
    request = Request([user_text("hi")], response_format=ResponseFormat(schema={"type": "string"}))
    assert ask(server.model(), request, how).text == '"x"'
    config = server.last["generationConfig"]
    assert config["responseMimeType"] == "application/json"
    assert config["responseJsonSchema"]["required"] == ["value"]
    plain = sent(server, Request([user_text("hi")], response_format=ResponseFormat()))["generationConfig"]
    assert "responseJsonSchema" not in plain


def test_images_and_files(server: FakeGemini) -> None:
    parts = (
        ImagePart(MediaSource(data=b"PNG")),
        FilePart(MediaSource(data=b"WAV", mime_type="audio/wav")),
        FilePart(MediaSource(url="gs://bucket/a.pdf", mime_type="application/pdf")),
    )
    written = sent(server, Request([Message(Role.USER, parts)]))["contents"][0]["parts"]
    assert written[0]["inlineData"] == {"data": "UE5H", "mimeType": "image/png"}
    assert written[1]["inlineData"]["mimeType"] == "audio/wav"
    assert written[2]["fileData"] == {"fileUri": "gs://bucket/a.pdf", "mimeType": "application/pdf"}


def whole(**body: Any) -> Reply:
    return Reply(headers=dict(JSON), body=json.dumps(body).encode())


def test_a_blocked_prompt_is_a_filtered_answer(server: FakeGemini) -> None:
    server.answer(whole(promptFeedback={"blockReason": "SAFETY"}, usageMetadata={"promptTokenCount": 4}))
    response = ask(server.model(), Request([user_text("hi")]))
    assert response.finish_reason is FinishReason.CONTENT_FILTER
    assert (response.text, response.usage) == ("", Usage(4))
    assert response.incomplete_reason == "SAFETY"


def test_a_call_that_is_malformed_is_an_end_of_its_own(server: FakeGemini) -> None:
    server.answer(whole(candidates=[{"content": {"parts": []}, "finishReason": "MALFORMED_FUNCTION_CALL"}]))
    response = ask(server.model(), Request([user_text("hi")]))
    assert response.finish_reason is FinishReason.OTHER
    assert response.incomplete_reason == "MALFORMED_FUNCTION_CALL"


def test_parts_of_the_vendor_and_sources(server: FakeGemini) -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "1+1"}, "thoughtSignature": "c2ln"}
    del code["thoughtSignature"]
    grounding = {"groundingChunks": [{"web": {"uri": "https://x.example", "title": "X"}}]}
    candidate = {"content": {"role": "model", "parts": [code, {"text": "two"}]}, "finishReason": "STOP",
                 "groundingMetadata": grounding}  # fmt: skip
    server.answer(whole(candidates=[candidate]), Answer())
    first = ask(server.model(), Request([user_text("hi")]))
    assert first.citations[0].url == "https://x.example"
    assert first.grounding is not None
    again = sent(server, Request([user_text("hi"), first.message, user_text("?")]))["contents"][1]["parts"]
    assert again[0]["executableCode"]["code"] == "1+1"


def test_d13_counts_in_every_chunk_are_not_added_up(server: FakeGemini) -> None:
    server.answer(Answer((TextPart("one two three four"),), usage=Usage(100, 40)))
    usage = ask(server.model(), Request([user_text("hi")]), "stream").usage
    assert (usage.input_tokens, usage.output_tokens) == (100, 40)


def test_thoughts_are_a_part_of_the_output(server: FakeGemini) -> None:
    server.answer(Answer(usage=Usage(10, 100, reasoning_tokens=60, cached_input_tokens=4)))
    usage = ask(server.model(), Request([user_text("hi")]), "stream").usage
    assert usage == Usage(10, 100, 60, 4)


def test_tokens_are_counted_by_the_vendor(server: FakeGemini) -> None:
    server.answer(whole(totalTokens=42))

    async def count() -> int:
        model = server.model()
        async with model:
            return int(await model.count_tokens(Request([system_text("s"), user_text("hi")])))

    assert anyio.run(count) == 42
    assert ":countTokens" in server.requests[-1].path


def test_names() -> None:
    model = GeminiModel("gemini-2.5-pro")
    assert (model.provider, model.model_id) == ("gemini", "gemini-2.5-pro")
    assert model.capabilities.video_input
