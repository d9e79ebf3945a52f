"""OpenAI: what is sent to Responses and to Chat Completions, and what is read of odd answers."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest

from tests.fake_vendors import FakeOpenAI, FakeOpenAIChat
from tests.fake_vendors.server import Reply, sse
from tests.models.adapter_kit import ask, sent, serving
from touba_sdk.models import (
    TRUNCATION_UNKNOWN,
    FilePart,
    FinishReason,
    ImagePart,
    IncompleteStreamError,
    InvalidRequestError,
    Logprobs,
    MediaSource,
    Message,
    ModelResponseError,
    OverloadedError,
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
    structured_content,
    system_text,
    tool_result,
    tool_results,
    user_text,
)
from touba_sdk.models.adapters import PROFILES, OpenAIChatModel, OpenAIModel
from touba_sdk.testing.model_contract import Answer

SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "note": {"type": "string"}},
    "required": ["n"],
    "additionalProperties": False,
}


responses = serving(FakeOpenAI)
chat = serving(FakeOpenAIChat)


# --- Responses: requests --------------------------------------------------------------------------------------------


def test_what_is_not_set_is_not_sent(responses: FakeOpenAI) -> None:
    body = sent(responses, Request([user_text("hi")]), model="gpt-4.1")
    assert body == {
        "model": "gpt-4.1",
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "hi"}]}],
        "store": False,
    }


def test_settings(responses: FakeOpenAI) -> None:
    request = Request(
        [system_text("Be brief."), system_text("Be kind."), user_text("hi")],
        temperature=0.0,
        top_p=0.5,
        max_tokens=100,
        logprobs=Logprobs(top=2),
        provider_options={"openai": {"store": True, "metadata": {"a": "b"}}, "anthropic": {"x": 1}},
    )
    body = sent(responses, request, model="gpt-4.1")
    assert body["instructions"] == "Be brief.\nBe kind."
    assert (body["temperature"], body["top_p"], body["max_output_tokens"]) == (0.0, 0.5, 100)
    assert (body["include"], body["top_logprobs"]) == (["message.output_text.logprobs"], 2)
    assert (body["store"], body["metadata"]) == (True, {"a": "b"})
    assert "x" not in body


def test_settings_that_do_not_exist_are_a_warning(responses: FakeOpenAI) -> None:
    responses.answer(Answer())
    request = Request([user_text("hi")], seed=1, top_k=2, stop=["x"], temperature=0.0)
    response = ask(responses.model(), request)
    assert {warning.feature for warning in response.warnings} == {"seed", "top_k", "stop", "temperature"}
    assert not {"seed", "top_k", "stop", "temperature"} & set(responses.last)


def test_reasoning_is_asked_for_encrypted(responses: FakeOpenAI) -> None:
    wanted = ReasoningConfig(effort="high", include_summary=True)
    body = sent(responses, Request([user_text("hi")], reasoning=wanted))
    assert body["include"] == ["reasoning.encrypted_content"]
    assert body["reasoning"] == {"effort": "high", "summary": "auto"}
    off = sent(responses, Request([user_text("hi")], reasoning=ReasoningConfig(ReasoningMode.DISABLED)))
    assert off["reasoning"] == {"effort": "none"}


def test_tools_and_choices(responses: FakeOpenAI) -> None:
    tools = [
        ToolDeclaration("plain", "Plain.", SCHEMA),
        ToolDeclaration("held", "", SCHEMA, strict=True),
        ToolDeclaration("empty"),
        ToolDeclaration("off", disabled=True),
        ToolDeclaration(
            "search", kind=ToolKind.PROVIDER_EXECUTED, provider_type="web_search", provider_data={"size": 1}
        ),
    ]
    body = sent(
        responses, Request([user_text("hi")], tools=tools, tool_choice=ToolChoice(ToolChoiceMode.TOOL, "plain"))
    )
    plain, held, empty, search = body["tools"]
    assert plain == {
        "type": "function",
        "name": "plain",
        "description": "Plain.",
        "parameters": SCHEMA,
        "strict": False,
    }
    assert held["strict"] is True
    assert held["parameters"]["required"] == ["n", "note"]
    assert empty["parameters"] == {"type": "object", "properties": {}}
    assert search == {"type": "web_search", "size": 1}
    assert body["tool_choice"] == {"type": "function", "name": "plain"}
    for mode in ("auto", "none", "required"):
        choice = ToolChoice(ToolChoiceMode(mode))
        assert sent(responses, Request([user_text("hi")], tools=tools[:1], tool_choice=choice))["tool_choice"] == mode


@pytest.mark.parametrize("how", ["generate", "stream"])
def test_nulls_of_a_strict_tool_come_back_as_absent(responses: FakeOpenAI, how: str) -> None:
    call = ToolCallPart("c1", "held", '{"n": 1, "note": null}')
    responses.answer(Answer((call,), FinishReason.TOOL_CALLS))
    request = Request([user_text("hi")], tools=[ToolDeclaration("held", "", SCHEMA, strict=True)])
    assert ask(responses.model(), request, how).tool_calls[0].arguments == {"n": 1}


def test_a_schema_that_cannot_be_strict_is_refused_before_it_is_sent(responses: FakeOpenAI) -> None:
    before = responses.received
    free = {"type": "object", "additionalProperties": {"type": "integer"}}
    dangling = {"type": "object", "properties": {"a": {"$ref": "#/$defs/Gone"}}}
    for tool in (ToolDeclaration("f", "", free, strict=True), ToolDeclaration("g", "", dangling)):
        with pytest.raises(UnsupportedError, match="the schema of tool"):
            ask(responses.model(), Request([user_text("hi")], tools=[tool]))
    assert responses.received == before


def test_formats_of_the_answer(responses: FakeOpenAI) -> None:
    def form(wanted: ResponseFormat) -> Any:
        return sent(responses, Request([user_text("hi")], response_format=wanted))["text"]["format"]

    assert form(ResponseFormat()) == {"type": "json_object"}
    whole = {**SCHEMA, "required": ["n", "note"]}
    assert form(ResponseFormat(schema=whole)) == {
        "type": "json_schema",
        "name": "output",
        "schema": whole,
        "strict": True,
    }
    assert form(ResponseFormat(schema=SCHEMA))["strict"] is False, "it would change shape, and nobody asked for strict"
    assert form(ResponseFormat("answer", "An answer.", SCHEMA, True))["strict"] is True
    assert form(ResponseFormat(schema=whole, strict=False))["strict"] is False


@pytest.mark.parametrize("how", ["generate", "stream"])
def test_an_answer_that_is_no_object_is_taken_out_of_its_envelope(responses: FakeOpenAI, how: str) -> None:
    responses.answer(Answer((TextPart('{"value": [1, 2.50]}'),)))
    wanted = ResponseFormat(schema={"type": "array", "items": {"type": "number"}}, strict=True)
    response = ask(responses.model(), Request([user_text("hi")], response_format=wanted), how)
    assert response.text == "[1,2.50]"
    assert responses.last["text"]["format"]["schema"]["required"] == ["value"]


def test_images_and_files(responses: FakeOpenAI) -> None:
    parts = (
        TextPart("look"),
        ImagePart(MediaSource(url="https://x.example/a.png")),
        ImagePart(MediaSource(data=b"PNG", mime_type="image/png")),
        ImagePart(MediaSource(id="file-1")),
        FilePart(MediaSource(data=b"PDF", mime_type="application/pdf"), "a.pdf"),
        FilePart(MediaSource(url="https://x.example/a.pdf")),
        FilePart(MediaSource(id="file-2")),
    )
    content = sent(responses, Request([Message(Role.USER, parts)]))["input"][0]["content"]
    assert [part["type"] for part in content] == ["input_text", *["input_image"] * 3, *["input_file"] * 3]
    assert content[2]["image_url"] == "data:image/png;base64,UE5H"
    assert content[4] == {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,UERG"}
    with pytest.raises(UnsupportedError, match="audio/wav"):
        ask(responses.model(), Request([Message(Role.USER, (FilePart(MediaSource(data=b"", mime_type="audio/wav")),))]))


def test_results_of_tools(responses: FakeOpenAI) -> None:
    calls = Message(Role.ASSISTANT, (ToolCallPart("c1", "f", '{"a":1.0}'), ToolCallPart("c2", "f")))
    image = ImagePart(MediaSource(data=b"PNG", mime_type="image/png"))
    results = tool_results(tool_result("c1", [structured_content({"x": 1})]), tool_result("c2", ["see", image]))
    items = sent(responses, Request([user_text("hi"), calls, results]))["input"]
    assert items[1] == {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a":1.0}'}
    assert items[2]["arguments"] == "{}"
    assert items[3] == {"type": "function_call_output", "call_id": "c1", "output": '{"x":1}'}
    assert [part["type"] for part in items[4]["output"]] == ["input_text", "input_image"]


# --- Responses: reasoning and items of the vendor's own -------------------------------------------------------------


def test_reasoning_goes_back_before_what_it_led_to_and_never_alone(responses: FakeOpenAI) -> None:
    responses.answer(Answer((ReasoningPart("hm", "enc"), TextPart("five"))))
    first = ask(responses.model(), Request([user_text("hi")]))
    thought = first.message.parts[0]
    assert isinstance(thought, ReasoningPart)
    items = sent(responses, Request([user_text("hi"), first.message, user_text("and?")]))["input"]
    assert items[1] == {
        "type": "reasoning",
        "id": "rs_0",
        "summary": [{"type": "summary_text", "text": "hm"}],
        "encrypted_content": "enc",
    }
    assert items[2]["role"] == "assistant"
    alone = Message(Role.ASSISTANT, (TextPart("five"), thought))
    assert [
        item.get("type") for item in sent(responses, Request([user_text("hi"), alone, user_text("?")]))["input"]
    ] == [
        None,
        None,
        None,
    ]


def _item(item: dict[str, Any]) -> Reply:
    body = {
        "id": "r",
        "object": "response",
        "model": "m",
        "status": "completed",
        "output": [item, MESSAGE],
        "usage": None,
    }
    return Reply(headers={"content-type": "application/json"}, body=json.dumps(body).encode())


MESSAGE = {
    "type": "message",
    "id": "msg",
    "role": "assistant",
    "status": "completed",
    "phase": "commentary",
    "content": [
        {
            "type": "output_text",
            "text": "found",
            "annotations": [
                {"type": "url_citation", "url": "https://x.example", "title": "X", "start_index": 0, "end_index": 5}
            ],
        }
    ],
}


def test_items_and_phases_of_the_vendor_go_back_as_they_came(responses: FakeOpenAI) -> None:
    search = {
        "type": "web_search_call",
        "id": "ws_1",
        "status": "completed",
        "action": {"type": "search", "query": "q"},
    }
    responses.answer(_item(search), Answer())
    first = ask(responses.model(), Request([user_text("hi")]))
    assert first.text == "found"
    assert first.citations[0].url == "https://x.example"
    assert first.citations[0].text_range == (0, 5)
    assert first.usage == Usage()
    items = sent(responses, Request([user_text("hi"), first.message, user_text("and?")]))["input"]
    assert items[1] == search
    assert items[2]["phase"] == "commentary"


# --- Responses: odd answers -----------------------------------------------------------------------------------------


def stream_of(*events: dict[str, Any]) -> Reply:
    return Reply(headers={"content-type": "text/event-stream"}, frames=[sse(event, event["type"]) for event in events])


def test_items_that_come_only_with_the_end_are_not_lost(responses: FakeOpenAI) -> None:
    body = {"id": "r", "model": "m", "status": "completed", "usage": None, "output": [
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a":1}'}]}  # fmt: skip
    responses.answer(stream_of({"type": "response.completed", "response": body}))
    response = ask(responses.model(), Request([user_text("hi")]), "stream")
    assert response.tool_calls == (ToolCallPart("c1", "f", '{"a":1}'),)
    assert response.finish_reason is FinishReason.TOOL_CALLS


def test_a_failed_response_is_an_error_of_its_kind(responses: FakeOpenAI) -> None:
    failed = {
        "id": "r",
        "model": "m",
        "status": "failed",
        "output": [],
        "error": {"code": "server_error", "message": "x"},
    }
    responses.answer(stream_of({"type": "response.failed", "response": failed}))
    with pytest.raises(OverloadedError):
        ask(responses.model(), Request([user_text("hi")]), "stream")
    responses.answer(Reply(headers={"content-type": "application/json"}, body=json.dumps(failed).encode()))
    with pytest.raises(OverloadedError):
        ask(responses.model(), Request([user_text("hi")]))
    prompt = {**failed, "error": {"code": "invalid_prompt", "message": "x"}}
    responses.answer(Reply(headers={"content-type": "application/json"}, body=json.dumps(prompt).encode()))
    with pytest.raises(InvalidRequestError):
        ask(responses.model(), Request([user_text("hi")]))
    waiting = {**failed, "status": "queued", "error": None}
    responses.answer(Reply(headers={"content-type": "application/json"}, body=json.dumps(waiting).encode()))
    with pytest.raises(ModelResponseError) as caught:
        ask(responses.model(), Request([user_text("hi")]))
    assert caught.value.code == "unfinished"


def test_an_answer_of_another_form_is_a_response_error(responses: FakeOpenAI) -> None:
    for body in ({"output": [{"type": "function_call"}], "status": "completed"}, {"output": 3, "status": "completed"}):
        responses.answer(Reply(headers={"content-type": "application/json"}, body=json.dumps(body).encode()))
        with pytest.raises(ModelResponseError) as caught:
            ask(responses.model(), Request([user_text("hi")]))
        assert caught.value.code == "invalid_response"


def test_d14_a_server_that_calls_cut_answers_complete_is_flagged(responses: FakeOpenAI) -> None:
    responses.answer(Answer())
    model = responses.model(profile="ollama", base_url=f"{responses.url}/v1", model="qwen3")
    response = ask(model, Request([user_text("hi")]))
    assert response.provider == "ollama"
    assert TRUNCATION_UNKNOWN in response.warnings
    assert not response.truncation_known
    assert ask(responses.model(), Request([user_text("hi")])).truncation_known
    forced = Request([user_text("hi")], tool_choice=ToolChoice(ToolChoiceMode.REQUIRED))
    with pytest.raises(UnsupportedError):
        ask(responses.model(profile="ollama", base_url=f"{responses.url}/v1"), forced)


@pytest.mark.parametrize("how", ["generate", "stream"])
@pytest.mark.parametrize(
    ("details", "finish"),
    [
        ({"reason": "max_output_tokens"}, FinishReason.LENGTH),
        ({"reason": "content_filter"}, FinishReason.CONTENT_FILTER),
        ({"reason": "something new"}, FinishReason.OTHER),
        (None, FinishReason.OTHER),
    ],
)
def test_an_incomplete_answer_keeps_the_vendors_word(
    responses: FakeOpenAI, details: Any, finish: FinishReason, how: str
) -> None:
    body = {"id": "r1", "object": "response", "created_at": 1, "model": "m", "status": "incomplete", "output": [],
            "incomplete_details": details, "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}  # fmt: skip
    events = [{"type": "response.incomplete", "sequence_number": 1, "response": body}]
    plain_reply = Reply(headers={"content-type": "application/json"}, body=json.dumps(body).encode())
    responses.answer(stream_of(*events) if how == "stream" else plain_reply)
    response = ask(responses.model(), Request([user_text("hi")]), how)
    assert (response.finish_reason, response.incomplete_reason) == (finish, details and details["reason"])
    assert response.warnings == ()


@pytest.mark.parametrize("how", ["generate", "stream"])
def test_d5_reasoning_is_counted_once(responses: FakeOpenAI, how: str) -> None:
    responses.answer(Answer(usage=Usage(10, 100, reasoning_tokens=60)))
    usage = ask(responses.model(), Request([user_text("hi")]), how).usage
    assert (usage.output_tokens, usage.reasoning_tokens, usage.total_tokens) == (100, 60, 110)


def test_c10_a_stream_that_stops_after_some_deltas_is_incomplete(responses: FakeOpenAI) -> None:
    responses.answer(Answer((TextPart("one two three four"),), fault="cut"))
    with pytest.raises(IncompleteStreamError) as caught:
        ask(responses.model(), Request([user_text("hi")]), "stream")
    assert caught.value.response is not None
    assert caught.value.response.text.startswith("one")
    assert caught.value.response.usage.partial


def test_tokens_are_counted_by_the_vendor(responses: FakeOpenAI) -> None:
    responses.answer(Reply(headers={"content-type": "application/json"},
                           body=b'{"object": "response.input_tokens", "input_tokens": 42}'))  # fmt: skip

    async def count(model: Any) -> int:
        async with model:
            return int(await model.count_tokens(Request([system_text("s"), user_text("hi")], max_tokens=5)))

    assert anyio.run(count, responses.model()) == 42
    assert responses.requests[-1].path == "/v1/responses/input_tokens"
    assert set(responses.last) == {"model", "input", "instructions"}
    with pytest.raises(UnsupportedError):
        anyio.run(count, responses.model(profile="groq", base_url=responses.url))


# --- Chat Completions -----------------------------------------------------------------------------------------------


def test_chat_messages(chat: FakeOpenAIChat) -> None:
    calls = Message(Role.ASSISTANT, (TextPart("see"), ToolCallPart("c1", "f", "{}"), ToolCallPart("c2", "f")))
    results = tool_results(tool_result("c1", "one"), tool_result("c2", "two"))
    messages = sent(chat, Request([system_text("Be brief."), user_text("hi"), calls, results]))["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "tool", "tool"]
    assert messages[2]["tool_calls"][1]["function"] == {"name": "f", "arguments": "{}"}
    assert messages[4] == {"role": "tool", "tool_call_id": "c2", "content": "two"}


def test_chat_settings(chat: FakeOpenAIChat) -> None:
    request = Request([user_text("hi")], temperature=0.0, seed=7, stop=["x"], max_tokens=9, frequency_penalty=0.1,
                      logprobs=Logprobs(top=1), tools=[ToolDeclaration("f", "", SCHEMA, strict=True)],
                      tool_choice=ToolChoice(ToolChoiceMode.TOOL, "f"))  # fmt: skip
    body = sent(chat, request)
    assert (body["temperature"], body["seed"], body["stop"], body["max_completion_tokens"]) == (0.0, 7, ["x"], 9)
    assert (body["logprobs"], body["top_logprobs"], body["frequency_penalty"]) == (True, 1, 0.1)
    assert body["tools"][0]["function"]["strict"] is True
    assert body["tool_choice"] == {"type": "function", "function": {"name": "f"}}


def test_profiles_are_data(chat: FakeOpenAIChat) -> None:
    local = {"base_url": f"{chat.url}/v1", "model": "m"}
    request = Request([user_text("hi")], max_tokens=9, tools=[ToolDeclaration("f", "", SCHEMA, strict=True)],
                      response_format=ResponseFormat(schema=SCHEMA))  # fmt: skip
    body = sent(chat, request, profile="deepseek", **local)
    assert body["max_tokens"] == 9
    assert body["response_format"] == {"type": "json_object"}
    assert "strict" not in body["tools"][0]["function"]
    chat.answer(Answer())
    ask(chat.model(profile="mistral", **local), Request([user_text("hi")]), "stream")
    assert "stream_options" not in chat.last
    ask(chat.model(profile="groq", **local), Request([user_text("hi")]), "stream")
    assert chat.last["stream_options"] == {"include_usage": True}
    assert set(PROFILES) >= {"openai", "ollama", "groq", "deepseek", "openrouter", "local"}


def chunks(*deltas: dict[str, Any], finish: str | None = "stop") -> Reply:
    frames = [
        sse({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
             "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        for delta in deltas
    ]  # fmt: skip
    if finish is not None:
        end = {"index": 0, "delta": {}, "finish_reason": finish}
        frames.append(sse({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [end]}))
    return Reply(headers={"content-type": "text/event-stream"}, frames=[*frames, b"data: [DONE]\n\n"])


def test_calls_of_servers_that_copy_the_interface_loosely(chat: FakeOpenAIChat) -> None:
    def call(index: int | None, id: str | None, name: str | None, arguments: str) -> dict[str, Any]:
        named = {"name": name} if name else {}
        spot = {} if index is None else {"index": index}
        return {"tool_calls": [{**spot, **({"id": id} if id else {}), "function": {**named, "arguments": arguments}}]}

    loose = (
        (call(0, "a", "f", '{"x":'), call(0, "a", "f", "1}"), call(1, "b", "g", "{}")),  # the id in every piece
        (call(0, "a", "f", '{"x":1}'), call(0, "b", "g", "{}")),  # one index for all
        (call(None, "a", "f", '{"x":1}'), call(None, "b", "g", "{}")),  # no index
    )
    for deltas in loose:
        chat.answer(chunks(*deltas, finish="tool_calls"))
        response = ask(chat.model(), Request([user_text("hi")]), "stream")
        assert [(part.id, part.name, part.arguments) for part in response.tool_calls] == [
            ("a", "f", {"x": 1}),
            ("b", "g", {}),
        ]
    chat.answer(chunks(call(0, None, "f", "{}"), finish="stop"))
    response = ask(chat.model(), Request([user_text("hi")]), "stream")
    assert response.tool_calls[0].id.startswith("call_")
    assert response.finish_reason is FinishReason.TOOL_CALLS


def test_reasoning_of_other_servers_is_kept_apart(chat: FakeOpenAIChat) -> None:
    chat.answer(chunks({"reasoning_content": "h"}, {"reasoning_content": "m"}, {"content": "five"}))
    local = {"base_url": f"{chat.url}/v1", "model": "m"}
    response = ask(chat.model(profile="local", **local), Request([user_text("hi")]), "stream")
    assert (response.reasoning, response.text) == ("hm", "five")
    chat.answer(Answer())
    ask(chat.model(profile="local", **local), Request([user_text("hi"), response.message, user_text("?")]))
    assert not chat.last_had("hm")
    ask(chat.model(profile="openrouter", **local), Request([user_text("hi"), response.message, user_text("?")]))
    assert chat.last["messages"][1]["reasoning"] == "hm"


def test_a_chat_stream_without_a_reason_is_cut(chat: FakeOpenAIChat) -> None:
    chat.answer(chunks({"content": "five"}, finish=None))
    with pytest.raises(Exception, match="ended before the answer") as caught:
        ask(chat.model(), Request([user_text("hi")]), "stream")
    assert caught.value.response.text == "five"  # type: ignore[attr-defined]


def test_a_chat_answer_without_a_choice(chat: FakeOpenAIChat) -> None:
    chat.answer(Reply(headers={"content-type": "application/json"}, body=b'{"id": "c", "choices": []}'))
    with pytest.raises(ModelResponseError):
        ask(chat.model(), Request([user_text("hi")]))


def test_names_and_capabilities() -> None:
    assert OpenAIModel("o3").capabilities.reasoning
    assert not OpenAIModel("gpt-4.1").capabilities.reasoning
    assert OpenAIModel("gpt-4.1").capabilities.token_counting
    assert OpenAIChatModel("m", profile="groq").provider == "groq"
    assert not OpenAIChatModel("m", profile="deepseek").capabilities.structured_output
