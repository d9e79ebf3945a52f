"""Models for tests: scripts, functions, cassettes, and the check of requests."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touba_sdk.models import (
    Capabilities,
    FilePart,
    FinishReason,
    ImagePart,
    InvalidMessageError,
    InvalidRequestError,
    LanguageModel,
    MediaSource,
    Message,
    MessageEnd,
    MessageStart,
    ModelTimeoutError,
    RateLimitedError,
    ReasoningConfig,
    ReasoningDelta,
    ReasoningPart,
    Request,
    Response,
    ResponseFormat,
    Role,
    StreamEvent,
    TextDelta,
    TextPart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallPart,
    ToolCallStart,
    ToolChoice,
    ToolDeclaration,
    Usage,
    assistant_text,
    collect,
    generate_sync,
    system_text,
    tool_result,
    tool_results,
    user_text,
)
from touba_sdk.testing.models import (
    CassetteMissError,
    FunctionModel,
    RecordingModel,
    ReplayModel,
    ScriptedModel,
    ScriptExhaustedError,
    ValidatingModel,
    redact_secrets,
    request_problems,
    validate_request,
)

pytestmark = pytest.mark.anyio

END = MessageEnd(FinishReason.STOP, Usage(3, 2))
CALL = ToolCallPart("c1", "add", '{"a":1}')
ASK = user_text("go")


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> Any:
    return request.param


def ask(text: str = "hi", **settings: Any) -> Request:
    return Request([user_text(text)], **settings)


async def events_of(model: LanguageModel, request: Request) -> list[StreamEvent]:
    async with model.stream(request) as stream:
        return [event async for event in stream]


# -- scripts and functions ---------------------------------------------------------------------------------------


async def late(request: Request) -> str:
    return f"late {request.messages[-1].text}"


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(
    ("step", "parts", "reason"),
    [
        ("hi", (TextPart("hi"),), "stop"),
        (assistant_text("hi"), (TextPart("hi"),), "stop"),
        (CALL, (CALL,), "tool_calls"),
        ([CALL, ToolCallPart("c2", "now")], (CALL, ToolCallPart("c2", "now")), "tool_calls"),
        (Response(assistant_text("hi"), FinishReason.LENGTH), (TextPart("hi"),), "length"),
        ([TextDelta("h"), TextDelta("i"), END], (TextPart("hi"),), "stop"),
        (lambda request: "called", (TextPart("called"),), "stop"),
        (late, (TextPart("late hi"),), "stop"),
    ],
)
async def test_a_script_answers_step_by_step(step: Any, parts: tuple[Any, ...], reason: str, streaming: bool) -> None:
    model = ScriptedModel(step)
    response = await (collect(model.stream(ask())) if streaming else model.generate(ask()))
    assert (response.message.parts, response.finish_reason) == (parts, reason)
    assert model.remaining == 0
    with pytest.raises(ScriptExhaustedError, match="1 answers; the model was called 2 times"):
        await model.generate(ask())


async def test_a_script_notes_copies_of_requests() -> None:
    model = ScriptedModel("a", provider="p", model_id="m", capabilities=Capabilities(tools=True))
    request = ask()
    response = await model.generate(request)
    request.messages.append(user_text("more"))
    assert model.requests == [ask()]
    assert (response.provider, response.model, model.capabilities) == ("p", "m", Capabilities(tools=True))
    with pytest.raises(TypeError, match="int is no answer"):
        await ScriptedModel(lambda request: 5).generate(ask())


async def test_test_models_refuse_what_real_ones_refuse() -> None:
    dangling = Request([ASK, Message(Role.ASSISTANT, (CALL,))])
    model = ScriptedModel("a", "b")
    with pytest.raises(InvalidRequestError):
        await model.generate(dangling)
    assert (model.remaining, model.requests) == (2, [])
    assert (await ScriptedModel("a", validate=False).generate(dangling)).text == "a"
    with pytest.raises(InvalidRequestError):
        await events_of(FunctionModel(lambda request: "a"), dangling)


async def test_a_function_answers() -> None:
    echo = FunctionModel(lambda request: request.messages[-1].text.upper())
    assert (await echo.generate(ask("hi"))).text == "HI"
    assert await events_of(echo, ask("hi")) == [
        MessageStart("function", "", "function-1"), TextDelta("HI"), MessageEnd(FinishReason.STOP, Usage())
    ]  # fmt: skip
    assert (await FunctionModel(lambda request: [TextDelta("a"), END]).generate(ask())).usage == Usage(3, 2)
    with pytest.raises(RateLimitedError):
        await FunctionModel(lambda request: RateLimitedError()).generate(ask())
    with pytest.raises(ValueError, match="a function, a stream or both"):
        FunctionModel()


async def test_a_function_of_events_is_closed_with_its_stream() -> None:
    closed: list[bool] = []

    async def stream(request: Request) -> AsyncGenerator[StreamEvent, None]:
        try:
            yield TextDelta("a")
            yield END
        finally:
            closed.append(True)

    model = FunctionModel(stream=stream)
    assert (await model.generate(ask())).text == "a"
    async with model.stream(ask()) as events:
        await events.__anext__()
    assert closed == [True, True]


def test_test_models_work_without_a_loop() -> None:
    assert generate_sync(ScriptedModel("hi"), ask()).text == "hi"


# -- cassettes ---------------------------------------------------------------------------------------------------

KEY = "sk-proj-abcdefghijklmnop1234567890"


async def test_a_recording_is_replayed_in_order(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    script = [MessageStart("p", "r1", "m"), ReasoningDelta("t", "s"), TextDelta("b"), END]
    recorder = RecordingModel(ScriptedModel("a", script, CALL, "c", provider="p", model_id="m"), path)
    first = await recorder.generate(ask())
    second = await events_of(recorder, ask())
    third = await recorder.generate(ask(temperature=0.5))
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert os.listdir(tmp_path) == ["talk.json"]

    replay = ReplayModel(path)
    assert (replay.provider, replay.model_id, replay.capabilities) == ("p", "m", Capabilities.all())
    assert await replay.generate(ask(temperature=0.5)) == third
    assert await replay.generate(ask()) == first
    assert await events_of(replay, ask()) == second
    assert replay.remaining == 0
    with pytest.raises(CassetteMissError, match="less often"):
        await replay.generate(ask())
    with pytest.raises(CassetteMissError, match="not on the cassette"):
        await events_of(replay, ask("other"))


async def test_either_way_of_calling_replays_the_other(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    recorder = RecordingModel(ScriptedModel("a", [TextDelta("b"), END]), path)
    await recorder.generate(ask())
    await collect(recorder.stream(ask()))
    replay = ReplayModel(path)
    assert (await collect(replay.stream(ask()))).text == "a"
    assert (await replay.generate(ask())).text == "b"


async def test_failures_are_recorded_and_replayed(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    limited = RateLimitedError("slow", provider="p", status=429, retry_after=1.5, detail="wait")
    late = ModelTimeoutError("late", phase="idle_not", provider="p")
    recorder = RecordingModel(ScriptedModel(limited, [TextDelta("a"), late], KeyError("mistake")), path)
    for call in (recorder.generate, lambda request: events_of(recorder, request), recorder.generate):
        with pytest.raises((RateLimitedError, ModelTimeoutError, KeyError)):
            await call(ask())
    replay = ReplayModel(path)
    assert replay.remaining == 2
    with pytest.raises(RateLimitedError) as caught:
        await replay.generate(ask())
    assert (caught.value.status, caught.value.retry_after, caught.value.detail) == (429, 1.5, "wait")
    with pytest.raises(ModelTimeoutError) as late_again:
        await replay.generate(ask())
    assert late_again.value.phase == "idle_not"
    assert late_again.value.response is not None
    assert late_again.value.response.text == "a"


async def test_a_stream_that_was_left_is_recorded_as_far_as_it_went(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    async with RecordingModel(ScriptedModel([TextDelta("a"), TextDelta("b"), END]), path).stream(ask()) as stream:
        await stream.__anext__()
    async with ReplayModel(path).stream(ask()) as again:
        assert await again.__anext__() == TextDelta("a")
        with pytest.raises(CassetteMissError, match="the recording of this stream ends here"):
            await again.__anext__()


async def test_secrets_never_reach_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    leaking = [
        TextDelta(f"it is {KEY[:12]}"), TextDelta(KEY[12:] + " indeed"),
        ToolCallStart(0, "c1", "login"), ToolCallDelta(0, '{"user":"x","pass'), ToolCallDelta(0, 'word":"hunter2"}'),
        ToolCallEnd(0), TextDelta("done"), END,
    ]  # fmt: skip
    picture = MediaSource(data=b"private picture", mime_type="image/png")
    request = Request(
        [
            system_text(f"use {KEY}"),
            Message(Role.USER, (TextPart("Authorization: Bearer abcdefgh.ijkl"), ImagePart(picture))),
        ],
        provider_options={"p": {"api_key": "short", "nested": [{"client_secret": "s"}]}},
    )
    recorder = RecordingModel(ScriptedModel(leaking, f"again {KEY}"), path)
    streamed = await collect(recorder.stream(request))
    await recorder.generate(request)
    assert KEY in streamed.text

    written = path.read_text("utf-8")
    for secret in (KEY, KEY[:12], KEY[12:], "hunter2", "abcdefgh.ijkl", "short", '"s"', "cHJpdmF0ZSBwaWN0dXJl"):
        assert secret not in written
    replay = ReplayModel(path)
    response = await collect(replay.stream(request))
    assert [type(part).__name__ for part in response.message.parts] == ["TextPart", "ToolCallPart", "TextPart"]
    assert response.text == "it is [redacted] indeeddone"
    assert response.tool_calls[0].arguments == {"user": "x", "password": "[redacted]"}
    assert (await replay.generate(request)).text == "again [redacted]"


async def test_redaction_can_be_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"

    def hide(text: str) -> str:
        return text.replace("Alice", "NAME")

    await RecordingModel(ScriptedModel("Dear Alice"), path, redact=hide).generate(ask("from Alice"))
    assert "Alice" not in path.read_text("utf-8")
    assert (await ReplayModel(path, redact=hide).generate(ask("from Alice"))).text == "Dear NAME"


def test_plain_words_are_not_redacted() -> None:
    text = "The keyboard shortcut task-description-generator, basic training and risk-assessment-for-beginners."
    assert redact_secrets(text) == text.replace("basic training", "[redacted]")
    assert redact_secrets("ghp_abcdefghijklmnop") == "[redacted]"


def test_a_file_that_is_no_cassette_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    for text in ("{}", "[", json.dumps({"version": 9})):
        path.write_text(text)
        with pytest.raises(InvalidMessageError):
            ReplayModel(path)


# -- the check of requests ---------------------------------------------------------------------------------------


def call(id: str = "c1", name: str = "add", args: str = "{}") -> Message:
    return Message(Role.ASSISTANT, (ToolCallPart(id, name, args),))


def answer(id: str = "c1", name: str = "") -> Message:
    return tool_results(tool_result(id, "5", name=name))


GOOD: list[Request] = [
    ask(),
    Request([system_text("a"), system_text("b"), ASK]),
    Request([ASK, call(), answer()]),
    Request([ASK, call(), answer(), assistant_text("5"), user_text("and?")]),
    Request([ASK, Message(Role.ASSISTANT, (CALL, ToolCallPart("c2", "add"))), answer("c2"), answer("c1", "add")]),
    Request([ASK, assistant_text("a trailing text is allowed")]),
    Request([ASK, ASK]),
    Request([ASK, Message(Role.ASSISTANT, (ReasoningPart("t", "s"), TextPart("a"))), ASK]),
    Request([Message(Role.USER, (FilePart(MediaSource(url="https://example.org/a.pdf")),))]),
    ask(tools=[ToolDeclaration("add")], tool_choice=ToolChoice("tool", "add")),  # type: ignore[arg-type]
    ask(tools=[ToolDeclaration("a"), ToolDeclaration("a", disabled=True)], temperature=0, max_tokens=1, stop=["x"]),
    ask(tools=[ToolDeclaration("w", kind="provider_executed", provider_type="web_search")]),  # type: ignore[arg-type]
    ask(
        tools=[
            ToolDeclaration(
                "t",
                input_schema={"type": "object", "properties": {"x": {"$ref": "#/$defs/X"}}, "$defs": {"X": {"type": "string"}}},
            )
        ]
    ),
]  # fmt: skip

BAD: list[tuple[str, Request]] = [
    ("no message besides system", Request([])),
    ("no message besides system", Request([system_text("s")])),
    ("message 0 begins the conversation, but is not the user's", Request([assistant_text("a"), ASK])),
    ("message 1 is a system message that follows", Request([ASK, system_text("late")])),
    ("message 0 is empty", Request([Message(Role.USER)])),
    ("message 1 is empty", Request([ASK, Message(Role.ASSISTANT), ASK])),
    ("message 0 has a blank text part", Request([user_text(" \n")])),
    ("message 0 has bytes without a mime type", Request([Message(Role.USER, (ImagePart(MediaSource(data=b"x")),))])),
    ("media of no bytes", Request([Message(Role.USER, (ImagePart(MediaSource(data=b"", mime_type="a/b")),))])),
    ("without a scheme", Request([Message(Role.USER, (ImagePart(MediaSource(url="a.png")),))])),
    ("without a mime type", Request([ASK, call(), tool_results(tool_result("c1", [ImagePart(MediaSource(data=b"x"))]))])),
    ("message 1 ends with reasoning", Request([ASK, Message(Role.ASSISTANT, (ReasoningPart("t", "s"),)), ASK])),
    ("an empty reasoning part", Request([ASK, Message(Role.ASSISTANT, (ReasoningPart(), TextPart("a"))), ASK])),
    ("ends with 1 tool calls without results", Request([ASK, call()])),
    ("message 2 follows 1 tool calls without results", Request([ASK, call(), ASK])),
    ("message 2 follows 1 tool calls without results", Request([ASK, call(), assistant_text("a")])),
    ("message 1 has a result without a call", Request([ASK, answer()])),
    ("message 3 has a result without a call", Request([ASK, call(), answer(), answer("c9")])),
    ("message 4 has a result without a call", Request([ASK, call(), answer(), ASK, answer()])),
    ("message 3 has a second result", Request([ASK, call(), answer(), answer()])),
    ("message 3 has a tool call whose id was used", Request([ASK, call(), answer(), call(), answer()])),
    ("message 1 has a tool call whose id was used", Request([ASK, Message(Role.ASSISTANT, (CALL, CALL)), answer()])),
    ("without an id", Request([ASK, call(""), answer("")])),
    ("whose name is not", Request([ASK, call(name="add numbers"), answer()])),
    ("are not a JSON object", Request([ASK, call(args='{"a": "xx'), answer()])),
    ("name is not that of its call", Request([ASK, call(), answer(name="subtract")])),
    ("two tools have the name a", ask(tools=[ToolDeclaration("a"), ToolDeclaration("a")])),
    ("a tool's name is not", ask(tools=[ToolDeclaration("")])),
    ("has no provider type", ask(tools=[ToolDeclaration("w", kind="provider_executed")])),  # type: ignore[arg-type]
    ("is not that of an object", ask(tools=[ToolDeclaration("a", input_schema={"type": "string"})])),
    ("has anyOf at its root", ask(tools=[ToolDeclaration("a", input_schema={"type": "object", "anyOf": []})])),
    ("a definition that it does not have", ask(tools=[ToolDeclaration("a", input_schema={"type": "object", "properties": {"x": {"$ref": "#/$defs/X"}}})])),
    ("a definition that it does not have", ask(tools=[ToolDeclaration("a", input_schema={"type": "object", "properties": {"x": {"$ref": "https://x"}}})])),
    ("names a tool that is not declared", ask(tools=[ToolDeclaration("a", disabled=True)], tool_choice=ToolChoice("tool", "a"))),  # type: ignore[arg-type]
    ("a tool is required", ask(tool_choice=ToolChoice("required"))),  # type: ignore[arg-type]
    ("temperature is not between 0 and 2", ask(temperature=2.1)),
    ("top_p is not between", ask(top_p=-0.1)),
    ("max_tokens is below 1", ask(max_tokens=0)),
    ("a stop text is empty", ask(stop=[""])),
    ("name of the response format", ask(response_format=ResponseFormat("my format"))),
    ("schema of the response format is not", ask(response_format=ResponseFormat(schema={"type": "array"}))),
    ("budget is below 1", ask(reasoning=ReasoningConfig(budget_tokens=0))),
    ("budget is not below max_tokens", ask(max_tokens=10, reasoning=ReasoningConfig(budget_tokens=10))),
]  # fmt: skip


@pytest.mark.parametrize("request_", GOOD)
def test_what_providers_accept_passes(request_: Request) -> None:
    assert request_problems(request_) == []


@pytest.mark.parametrize(("problem", "request_"), BAD, ids=[each[0] for each in BAD])
async def test_what_providers_refuse_is_refused(problem: str, request_: Request) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        validate_request(request_)
    assert problem in str(caught.value)
    assert caught.value.code == "validation"
    inner = ScriptedModel("a", validate=False)
    model = ValidatingModel(inner)
    stream = model.stream(request_)
    for started in (model.generate(request_), stream.__anext__()):
        with pytest.raises(InvalidRequestError):
            await started
    assert inner.remaining == 1


async def test_the_validating_model_passes_on_the_rest() -> None:
    model = ValidatingModel(ScriptedModel("a", "b"))
    assert (await model.generate(ask())).text == "a"
    assert (await collect(model.stream(ask()))).text == "b"


@given(st.lists(st.sampled_from(["user", "say", "call", "answer"]), max_size=8))
def test_pairing_agrees_with_a_simple_model(script: list[str]) -> None:
    """Built so that calls have fresh ids and an answer answers the last call: valid exactly if each call is followed
    by its answer, each answer follows a call, and the user begins."""
    messages, calls = [ASK], 0
    fine = True
    for place, step in enumerate(script):
        if step == "call":
            calls += 1
            messages.append(call(f"c{calls}"))
            fine = fine and script[place + 1 : place + 2] == ["answer"]
        elif step == "answer":
            messages.append(answer(f"c{calls}"))
            fine = fine and place > 0 and script[place - 1] == "call"
        else:
            messages.append(ASK if step == "user" else assistant_text("a"))
    assert (request_problems(Request(messages)) == []) is fine
