"""Ollama's own interface: what is sent, and what is read of odd answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.fake_vendors import FakeOllama
from tests.fake_vendors.server import Reply
from tests.models.adapter_kit import ask, sent, serving
from touba_sdk.models import (
    FilePart,
    FinishReason,
    ImagePart,
    MediaSource,
    Message,
    ModelResponseError,
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
    system_text,
    tool_result,
    tool_results,
    user_text,
)
from touba_sdk.models.adapters import OllamaModel
from touba_sdk.testing.model_contract import Answer

server = serving(FakeOllama)


def test_what_is_not_set_is_not_sent_but_the_history_is_never_cut(server: FakeOllama) -> None:
    assert sent(server, Request([user_text("hi")])) == {
        "model": "qwen3",
        "messages": [{"role": "user", "content": "hi"}],
        "truncate": False,
        "stream": False,
    }


def test_settings(server: FakeOllama) -> None:
    request = Request([user_text("hi")], temperature=0.0, seed=1, max_tokens=7, stop=["x"],
                      reasoning=ReasoningConfig(effort="low"),
                      provider_options={"ollama": {"options": {"num_ctx": 8192}, "keep_alive": "5m"}})  # fmt: skip
    body = sent(server, request)
    assert body["options"] == {"temperature": 0.0, "seed": 1, "num_predict": 7, "stop": ["x"], "num_ctx": 8192}
    assert (body["think"], body["keep_alive"]) == ("low", "5m")
    off = sent(server, Request([user_text("hi")], reasoning=ReasoningConfig(ReasoningMode.DISABLED)))
    assert off["think"] is False


def test_e5_nested_schemas_arrive_whole(server: FakeOllama) -> None:
    schema = {
        "type": "object",
        "properties": {"place": {"$ref": "#/$defs/P"}, "code": {"type": "string", "pattern": "^[A-Z]+$"}},
        "required": ["place"],
        "$defs": {"P": {"type": "object", "properties": {"lat": {"type": "number"}}, "required": ["lat"]}},
    }
    server.answer(Answer())
    response = ask(server.model(), Request([user_text("hi")], tools=[ToolDeclaration("f", "", schema)]))
    parameters = server.last["tools"][0]["function"]["parameters"]
    assert parameters["properties"]["place"]["properties"]["lat"] == {"type": "number"}
    assert parameters["properties"]["code"]["description"] == "Rules: pattern ^[A-Z]+$."
    (warning,) = response.warnings
    assert warning.feature == "tool_schema:f"
    assert "pattern at /properties/code described" in warning.details


def test_a_forced_call_cannot_be_had(server: FakeOllama) -> None:
    before = server.received
    tools = [ToolDeclaration("f")]
    for choice in (ToolChoice(ToolChoiceMode.REQUIRED), ToolChoice(ToolChoiceMode.TOOL, "f")):
        with pytest.raises(UnsupportedError, match="force"):
            ask(server.model(), Request([user_text("hi")], tools=tools, tool_choice=choice))
    hosted = ToolDeclaration("web", kind=ToolKind.PROVIDER_EXECUTED, provider_type="web")
    with pytest.raises(UnsupportedError):
        ask(server.model(), Request([user_text("hi")], tools=[hosted]))
    assert server.received == before
    none = Request([user_text("hi")], tools=tools, tool_choice=ToolChoice(ToolChoiceMode.NONE))
    assert "tools" not in sent(server, none)


@pytest.mark.parametrize("how", ["generate", "stream"])
def test_formats_of_the_answer(server: FakeOllama, how: str) -> None:
    server.answer(Answer((TextPart('{"value": 3}'),)))
    request = Request([user_text("hi")], response_format=ResponseFormat(schema={"type": "integer", "minimum": 1}))
    assert ask(server.model(), request, how).text == "3"
    assert server.last["format"]["properties"]["value"] == {"type": "integer", "minimum": 1}
    assert sent(server, Request([user_text("hi")], response_format=ResponseFormat()))["format"] == "json"


def test_messages(server: FakeOllama) -> None:
    call = ToolCallPart("c1", "f", '{"a": 1}')
    answer = Message(Role.ASSISTANT, (ReasoningPart("hm"), ReasoningPart("secret", "openai/item:{}"), call))
    image = ImagePart(MediaSource(data=b"PNG", mime_type="image/png"))
    note = FilePart(MediaSource(data=b"notes", mime_type="text/plain"))
    messages = sent(
        server,
        Request([
            system_text("Be brief."), Message(Role.USER, (TextPart("hi"), image, note)), answer,
            tool_results(tool_result("c1", "five")),
        ]),
    )["messages"]  # fmt: skip
    assert messages == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "hi\nnotes", "images": ["UE5H"]},
        {"role": "assistant", "content": "", "thinking": "hm",
         "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": {"a": 1}}}]},
        {"role": "tool", "tool_name": "f", "tool_call_id": "c1", "content": "five"},
    ]  # fmt: skip
    for part in (ImagePart(MediaSource(url="https://x.example/a")), FilePart(MediaSource(data=b"", mime_type="a/b"))):
        with pytest.raises(UnsupportedError):
            ask(server.model(), Request([Message(Role.USER, (part,))]))


def lines(*items: dict[str, Any]) -> Reply:
    frames = [(json.dumps({"model": "m", **item}) + "\n").encode() for item in items]
    return Reply(headers={"content-type": "application/x-ndjson"}, frames=frames)


def test_calls_without_ids_get_ids_of_their_own(server: FakeOllama) -> None:
    call = {"function": {"name": "f", "arguments": {"a": 1}}}
    server.answer(
        lines({"message": {"content": "", "tool_calls": [call, call]}}, {"done": True, "done_reason": "stop"})
    )
    response = ask(server.model(), Request([user_text("hi")]), "stream")
    assert len({part.id for part in response.tool_calls}) == 2
    assert response.finish_reason is FinishReason.TOOL_CALLS


def test_c11_an_error_in_the_middle_of_a_stream_is_a_failure_with_its_words(server: FakeOllama) -> None:
    server.answer(
        lines({"message": {"content": "one"}}, {"message": {"content": " two"}}, {"error": "the runner died"})
    )
    with pytest.raises(ModelResponseError) as caught:
        ask(server.model(), Request([user_text("hi")]), "stream")
    assert caught.value.detail == "the runner died"
    assert "runner" not in str(caught.value)
    assert caught.value.response is not None
    assert caught.value.response.text == "one two"


@pytest.mark.parametrize("how", ["generate", "stream"])
def test_d14_an_answer_cut_by_num_predict_says_so(server: FakeOllama, how: str) -> None:
    server.answer(Answer((TextPart("once upon a"),), FinishReason.LENGTH, Usage(10, 3)))
    response = ask(server.model(), Request([user_text("hi")], max_tokens=3), how)
    assert response.finish_reason is FinishReason.LENGTH
    assert response.truncation_known
    assert response.usage == Usage(10, 3)


def test_counts_that_are_left_out_are_zero(server: FakeOllama) -> None:
    server.answer(lines({"message": {"content": ""}, "done": True, "done_reason": "load"}))
    response = ask(server.model(), Request([user_text("hi")]), "stream")
    assert response.usage == Usage()
    assert response.finish_reason is FinishReason.OTHER


def test_an_answer_without_a_message(server: FakeOllama) -> None:
    server.answer(Reply(headers={"content-type": "application/json"}, body=b'{"model": "m"}'))
    with pytest.raises(ModelResponseError):
        ask(server.model(), Request([user_text("hi")]))


def test_a_key_is_sent_where_there_is_one(server: FakeOllama) -> None:
    sent(server, Request([user_text("hi")]), api_key="cloud")
    assert server.requests[-1].headers["authorization"] == "Bearer cloud"


def test_names() -> None:
    model = OllamaModel("qwen3")
    assert (model.provider, model.model_id) == ("ollama", "qwen3")
    assert not model.capabilities.documents
