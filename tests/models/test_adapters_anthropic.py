"""Anthropic: what is sent to Messages, and what is read of odd answers."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest

from tests.fake_vendors import FakeAnthropic
from tests.fake_vendors.server import Reply, sse
from tests.models.adapter_kit import JSON, ask, sent, serving
from touba_sdk.models import (
    FilePart,
    FinishReason,
    ImagePart,
    InvalidRequestError,
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
    system_text,
    tool_result,
    tool_results,
    user_text,
)
from touba_sdk.models.adapters import AnthropicModel
from touba_sdk.testing.model_contract import Answer

server = serving(FakeAnthropic)


def test_what_is_not_set_is_not_sent(server: FakeAnthropic) -> None:
    assert sent(server, Request([user_text("hi")])) == {
        "model": "claude-sonnet-5",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
        "max_tokens": 4096,
    }


def test_settings(server: FakeAnthropic) -> None:
    request = Request([system_text("Be brief."), user_text("hi")], temperature=0.0, top_k=3, stop=["x"], max_tokens=7,
                      provider_options={"anthropic": {"service_tier": "auto"}})  # fmt: skip
    body = sent(server, request)
    assert (body["system"], body["temperature"], body["top_k"]) == ("Be brief.", 0.0, 3)
    assert (body["stop_sequences"], body["max_tokens"], body["service_tier"]) == (["x"], 7, "auto")
    server.answer(Answer())
    response = ask(server.model(), Request([user_text("hi")], seed=1, presence_penalty=0.5))
    assert {warning.feature for warning in response.warnings} == {"seed", "presence_penalty"}


def test_results_come_first_in_one_turn(server: FakeAnthropic) -> None:
    calls = Message(
        Role.ASSISTANT, (TextPart(""), ToolCallPart("c1", "f", '{"a": 1}'), ToolCallPart("c2", "f", "{bro"))
    )
    results = tool_results(tool_result("c1", "one"), tool_result("c2", "", is_error=True))
    messages = sent(server, Request([user_text("hi"), calls, results, user_text("and?")]))["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert messages[1]["content"][1]["input"] == {"undecodable_arguments": "{bro"}
    assert messages[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "one"}]},
        {"type": "tool_result", "tool_use_id": "c2", "is_error": True},
        {"type": "text", "text": "and?"},
    ]


def test_a_conversation_never_ends_with_an_answer(server: FakeAnthropic) -> None:
    messages = sent(server, Request([user_text("hi"), assistant_text("Once upon")]))["messages"]
    assert messages[-1] == {"role": "user", "content": [{"type": "text", "text": "Continue."}]}


def test_thinking(server: FakeAnthropic) -> None:
    def body(wanted: ReasoningConfig, **options: Any) -> Any:
        return sent(server, Request([user_text("hi")], reasoning=wanted, **options))

    on = body(ReasoningConfig(ReasoningMode.ENABLED, "low"))
    assert (on["thinking"], on["max_tokens"]) == ({"type": "enabled", "budget_tokens": 2048}, 2048 + 4096)
    given = body(ReasoningConfig(budget_tokens=1024), max_tokens=2000)
    assert (given["thinking"]["budget_tokens"], given["max_tokens"]) == (1024, 2000)
    adaptive = body(ReasoningConfig(ReasoningMode.ADAPTIVE, "high"))
    assert (adaptive["thinking"], adaptive["output_config"]) == ({"type": "adaptive"}, {"effort": "high"})
    assert body(ReasoningConfig(ReasoningMode.DISABLED))["thinking"] == {"type": "disabled"}
    with pytest.raises(UnsupportedError, match="do not fit"):
        body(ReasoningConfig(budget_tokens=3000), max_tokens=2000)


def test_choices(server: FakeAnthropic) -> None:
    tools = [
        ToolDeclaration("f"),
        ToolDeclaration("web", kind=ToolKind.PROVIDER_EXECUTED, provider_type="web_search_1"),
    ]
    for mode, written in (("auto", "auto"), ("none", "none"), ("required", "any")):
        body = sent(server, Request([user_text("hi")], tools=tools, tool_choice=ToolChoice(ToolChoiceMode(mode))))
        assert body["tool_choice"] == {"type": written}
        assert body["tools"][1] == {"type": "web_search_1", "name": "web"}
    named = Request([user_text("hi")], tools=tools, tool_choice=ToolChoice(ToolChoiceMode.TOOL, "f"))
    assert sent(server, named)["tool_choice"] == {"type": "tool", "name": "f"}


def test_e4_strict_tools_beyond_the_limits_are_sent_plain(server: FakeAnthropic) -> None:
    def tool(name: str, unions: int) -> ToolDeclaration:
        members = {f"m{n}": {"type": ["string", "null"]} for n in range(unions)}
        schema = {"type": "object", "properties": members, "required": list(members), "additionalProperties": False}
        return ToolDeclaration(name, "", schema, strict=True)

    server.answer(Answer())
    response = ask(server.model(), Request([user_text("hi")], tools=[tool("a", 9), tool("b", 8), tool("c", 7)]))
    assert [each.get("strict") for each in server.last["tools"]] == [True, None, True]
    assert ("strict", "more than 16 union parameters in one request: later tools are not strict") in [
        (warning.feature, warning.details) for warning in response.warnings
    ]


def test_schemas_that_the_vendor_refuses_do_not_leave(server: FakeAnthropic) -> None:
    before = server.received
    union = {"anyOf": [{"type": "object", "properties": {}}, {"type": "object", "properties": {}}]}
    tree = {"type": "object", "properties": {"next": {"$ref": "#"}}}
    for tool in (ToolDeclaration("f", "", union), ToolDeclaration("g", "", tree, strict=True)):
        with pytest.raises(UnsupportedError, match="the schema of tool"):
            ask(server.model(), Request([user_text("hi")], tools=[tool]))
    assert server.received == before
    assert (
        sent(server, Request([user_text("hi")], tools=[ToolDeclaration("g", "", tree)]))["tools"][0]["input_schema"]
        == tree
    )


@pytest.mark.parametrize("how", ["generate", "stream"])
def test_formats_of_the_answer(server: FakeAnthropic, how: str) -> None:
    server.answer(Answer((TextPart('{"value": [1]}'),)))
    wanted = ResponseFormat(schema={"type": "array", "items": {"type": "integer", "minimum": 0}})
    response = ask(server.model(), Request([user_text("hi")], response_format=wanted), how)
    assert response.text == "[1]"
    assert server.last["output_config"]["format"]["type"] == "json_schema"
    assert [warning.feature for warning in response.warnings] == ["response_format"]
    with pytest.raises(UnsupportedError):
        ask(server.model(), Request([user_text("hi")], response_format=ResponseFormat()))


def test_images_and_files(server: FakeAnthropic) -> None:
    parts = (
        ImagePart(MediaSource(url="https://x.example/a.png")),
        ImagePart(MediaSource(data=b"PNG", mime_type="image/png")),
        FilePart(MediaSource(data=b"PDF", mime_type="application/pdf"), "a.pdf"),
        FilePart(MediaSource(data="größe".encode(), mime_type="text/markdown")),
        FilePart(MediaSource(id="file_1")),
    )
    content = sent(server, Request([Message(Role.USER, parts)]))["messages"][0]["content"]
    assert [block["type"] for block in content] == ["image", "image", *["document"] * 3]
    assert content[1]["source"] == {"type": "base64", "media_type": "image/png", "data": "UE5H"}
    assert content[2]["title"] == "a.pdf"
    assert content[3]["source"]["data"] == "größe"
    assert "files-api" in server.requests[-1].headers["anthropic-beta"]
    for odd in ("audio/wav", "application/zip"):
        with pytest.raises(UnsupportedError, match=odd):
            ask(server.model(), Request([Message(Role.USER, (FilePart(MediaSource(data=b"", mime_type=odd)),))]))


@pytest.mark.parametrize("how", ["generate", "stream"])
def test_redacted_thinking_goes_back_untouched(server: FakeAnthropic, how: str) -> None:
    thoughts = (ReasoningPart("hm", "sig"), ReasoningPart("", "opaque", True), TextPart("five"))
    server.answer(Answer(thoughts), Answer())
    first = ask(server.model(), Request([user_text("hi")]), how)
    assert [type(part) for part in first.message.parts] == [ReasoningPart, ReasoningPart, TextPart]
    again = sent(server, Request([user_text("hi"), first.message, user_text("and?")]))["messages"][1]["content"]
    assert again == [
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "redacted_thinking", "data": "opaque"},
        {"type": "text", "text": "five"},
    ]


def whole(content: list[Any], stop: str, **usage: Any) -> Reply:
    body = {"id": "m", "type": "message", "role": "assistant", "model": "c", "content": content, "stop_reason": stop,
            "stop_sequence": None, "usage": {"input_tokens": 3, "output_tokens": 5, **usage}}  # fmt: skip
    return Reply(headers=dict(JSON), body=json.dumps(body).encode())


def test_a_paused_turn_goes_back_as_it_came(server: FakeAnthropic) -> None:
    block = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "q"}}
    server.answer(whole([{"type": "text", "text": "let me look"}, block], "pause_turn"), Answer())
    first = ask(server.model(), Request([user_text("hi")]))
    assert first.finish_reason is FinishReason.OTHER
    assert (first.incomplete_reason, first.warnings) == ("pause_turn", ())
    with pytest.raises(InvalidRequestError):  # this fake knows no tools of the vendor's; what counts is what was sent
        sent(server, Request([user_text("hi"), first.message]))
    assert server.last["messages"][-1] == {
        "role": "assistant",
        "content": [{"type": "text", "text": "let me look"}, block],
    }


def test_other_ends(server: FakeAnthropic) -> None:
    text = [{"type": "text", "text": "x"}]
    for stop, finish in (
        ("stop_sequence", FinishReason.STOP),
        ("model_context_window_exceeded", FinishReason.LENGTH),
        ("brand_new_reason", FinishReason.OTHER),
    ):
        server.answer(whole(text, stop))
        assert ask(server.model(), Request([user_text("hi")])).finish_reason is finish


@pytest.mark.parametrize("how", ["generate", "stream"])
def test_d1_input_is_the_sum_of_what_the_vendor_counts_apart(server: FakeAnthropic, how: str) -> None:
    server.answer(Answer(usage=Usage(12_307, 550, cache_write_tokens=12_304)))
    usage = ask(server.model(), Request([user_text("hi")]), how).usage
    assert (usage.input_tokens, usage.cache_write_tokens, usage.uncached_input_tokens) == (12_307, 12_304, 3)


def test_d4_input_that_comes_twice_in_a_stream_is_counted_once(server: FakeAnthropic) -> None:
    server.answer(Answer(usage=Usage(2_000, 45)))
    usage = ask(server.model(), Request([user_text("hi")]), "stream").usage
    assert (usage.input_tokens, usage.output_tokens) == (2_000, 45)


def test_c20_an_error_of_the_request_in_the_middle_of_a_stream_keeps_its_kind(server: FakeAnthropic) -> None:
    message = {"id": "m", "type": "message", "role": "assistant", "model": "c", "content": [], "stop_reason": None,
               "stop_sequence": None, "usage": {"input_tokens": 3, "output_tokens": 1}}  # fmt: skip
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": '{"a": '}},
        {"type": "error", "error": {"type": "invalid_request_error", "message": "grammar"}},
    ]
    frames = [sse(event, event["type"]) for event in events]
    server.answer(Reply(headers={"content-type": "text/event-stream"}, frames=frames))
    with pytest.raises(InvalidRequestError) as caught:
        ask(server.model(), Request([user_text("hi")]), "stream")
    error = caught.value
    assert (error.status, error.type, error.retryable) == (200, "invalid_request_error", False)
    assert error.response is not None
    assert error.response.text == '{"a": '
    assert error.response.usage.input_tokens == 3
    assert error.response.usage.partial


def test_citations(server: FakeAnthropic) -> None:
    cited = {"type": "char_location", "cited_text": "sky", "document_index": 0, "document_title": "T",
             "start_char_index": 0, "end_char_index": 3}  # fmt: skip
    server.answer(whole([{"type": "text", "text": "blue", "citations": [cited]}], "end_turn"))
    citation = ask(server.model(), Request([user_text("hi")])).citations[0]
    assert (citation.title, citation.snippet, citation.index) == ("T", "sky", 0)


def test_tokens_are_counted_by_the_vendor(server: FakeAnthropic) -> None:
    server.answer(Reply(headers=dict(JSON), body=b'{"input_tokens": 42}'))

    async def count() -> int:
        model = server.model()
        async with model:
            return int(await model.count_tokens(Request([system_text("s"), user_text("hi")], max_tokens=5)))

    assert anyio.run(count) == 42
    assert set(server.last) == {"model", "messages", "system"}


def test_names() -> None:
    model = AnthropicModel("claude-sonnet-5")
    assert (model.provider, model.model_id) == ("anthropic", "claude-sonnet-5")
    assert model.capabilities.token_counting
