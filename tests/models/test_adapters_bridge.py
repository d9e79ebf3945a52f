"""The bridge to pydantic-ai, over its models that run in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
from pydantic_ai import messages as theirs
from pydantic_ai.exceptions import ContentFilterError, ModelHTTPError, UnexpectedModelBehavior, UserError
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.models.test import TestModel

from touba_sdk.models import (
    FilePart,
    FinishReason,
    ImagePart,
    IncompleteStreamError,
    InvalidRequestError,
    MediaSource,
    Message,
    ModelResponseError,
    Request,
    Response,
    ResponseFormat,
    Role,
    TextPart,
    ToolCallPart,
    ToolChoice,
    ToolChoiceMode,
    ToolDeclaration,
    ToolKind,
    UnsupportedError,
    collect,
    system_text,
    tool_result,
    tool_results,
    user_text,
)
from touba_sdk.models.adapters import PydanticAIModel

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}


class Asked:
    """A function model that notes what it was asked and answers one text."""

    def __init__(self, *parts: Any):
        self.parts = parts or (theirs.TextPart("five"),)
        self.messages: list[Any] = []
        self.info: AgentInfo | None = None

    def __call__(self, messages: list[Any], info: AgentInfo) -> theirs.ModelResponse:
        self.messages, self.info = messages, info
        return theirs.ModelResponse(parts=list(self.parts))


def ask(model: PydanticAIModel, request: Request, how: str = "generate") -> Response:
    async def call() -> Response:
        return await (model.generate(request) if how == "generate" else collect(model.stream(request)))

    return anyio.run(call)


def test_a_conversation_is_handed_over_whole() -> None:
    asked = Asked()
    calls = Message(Role.ASSISTANT, (TextPart("see"), ToolCallPart("c1", "f", '{"a":1}')))
    picture = ImagePart(MediaSource(data=b"PNG", mime_type="image/png"))
    link = FilePart(MediaSource(url="https://x.example/a.pdf", mime_type="application/pdf"))
    request = Request(
        [
            system_text("Be brief."),
            Message(Role.USER, (TextPart("hi"), picture, link)),
            calls,
            tool_results(tool_result("c1", "no", is_error=True)),
            user_text("and?"),
        ]
    )
    assert ask(PydanticAIModel(FunctionModel(asked)), request).text == "five"
    first, answer, last = asked.messages
    assert [part.part_kind for part in first.parts] == ["system-prompt", "user-prompt"]
    assert [type(each).__name__ for each in first.parts[1].content] == ["str", "BinaryContent", "DocumentUrl"]
    assert [part.part_kind for part in answer.parts] == ["text", "tool-call"]
    assert answer.parts[1].args_as_dict() == {"a": 1}
    result, prompt = last.parts
    assert (result.tool_name, result.tool_call_id, result.content, result.outcome) == ("f", "c1", "no", "failed")
    assert prompt.content == ["and?"]


def test_settings_tools_and_formats() -> None:
    asked = Asked(theirs.TextPart('{"a": 1}'))
    request = Request(
        [user_text("hi")],
        tools=[ToolDeclaration("f", "F.", SCHEMA, strict=True), ToolDeclaration("off", disabled=True)],
        temperature=0.0,
        max_tokens=9,
        stop=["x"],
        tool_choice=ToolChoice(ToolChoiceMode.TOOL, "f"),
        provider_options={"pydantic_ai": {"parallel_tool_calls": False}},
    )
    ask(PydanticAIModel(FunctionModel(asked)), request)
    assert asked.info is not None
    assert asked.info.model_settings == {
        "max_retries": 0,
        "temperature": 0.0,
        "max_tokens": 9,
        "stop_sequences": ["x"],
        "tool_choice": ["f"],
        "parallel_tool_calls": False,
    }
    (tool,) = asked.info.function_tools
    assert (tool.name, tool.description, tool.parameters_json_schema, tool.strict) == ("f", "F.", SCHEMA, True)
    wanted = Request([user_text("hi")], response_format=ResponseFormat("out", None, SCHEMA))
    ask(PydanticAIModel(FunctionModel(asked)), wanted)
    parameters = asked.info.model_request_parameters
    assert parameters.output_mode == "native"
    assert parameters.output_object is not None
    assert parameters.output_object.json_schema == SCHEMA


@pytest.mark.parametrize("how", ["generate", "stream"])
def test_what_belongs_to_a_part_goes_back_with_it(how: str) -> None:
    thought = theirs.ThinkingPart("hm", id="r1", signature="sig", provider_name="x")
    text = theirs.TextPart("five", id="m1", provider_name="x", provider_details={"phase": "final"})
    asked = Asked(thought, text, theirs.ToolCallPart("f", {"a": 1}, "c1"))

    async def stream(messages: list[Any], info: AgentInfo) -> AsyncIterator[Any]:
        yield "five"
        yield {1: DeltaToolCall("f", '{"a":', tool_call_id="c1")}
        yield {1: DeltaToolCall(json_args="1}")}

    model = PydanticAIModel(FunctionModel(asked, stream_function=stream))
    first = ask(model, Request([user_text("hi")]), how)
    assert first.finish_reason is FinishReason.TOOL_CALLS
    assert first.tool_calls[0].arguments == {"a": 1}
    if how == "stream":
        return
    assert first.reasoning == "hm"
    results = tool_results(tool_result(first.tool_calls[0], "x"))
    ask(model, Request([user_text("hi"), first.message, results]))
    again = asked.messages[1].parts
    assert (again[0].content, again[0].id, again[0].signature, again[0].provider_name) == ("hm", "r1", "sig", "x")
    assert (again[1].id, again[1].provider_details) == ("m1", {"phase": "final"})


def test_a_stream_without_a_reason_has_been_cut_unless_the_model_is_local() -> None:
    model = TestModel(custom_output_text="one two three")
    assert ask(PydanticAIModel(model), Request([user_text("hi")]), "stream").text == "one two three"
    with pytest.raises(IncompleteStreamError) as caught:
        ask(PydanticAIModel(model, ends_with_reason=True), Request([user_text("hi")]), "stream")
    assert caught.value.response is not None
    assert caught.value.response.text == "one two three"


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [
        (ModelHTTPError(422, "m", {"a": "my question"}), InvalidRequestError, None),
        (ContentFilterError("my question"), ModelResponseError, "refused"),
        (UnexpectedModelBehavior("my question"), ModelResponseError, "invalid_response"),
        (UserError("my question"), UnsupportedError, None),
    ],
)
def test_errors(error: Exception, kind: type[Exception], code: str | None) -> None:
    def fail(messages: list[Any], info: AgentInfo) -> theirs.ModelResponse:
        raise error

    with pytest.raises(kind) as caught:
        ask(PydanticAIModel(FunctionModel(fail)), Request([user_text("hi")]))
    assert "my question" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.code == code  # type: ignore[attr-defined]


def test_a_mistake_in_a_function_leaves_as_it_is() -> None:
    def fail(messages: list[Any], info: AgentInfo) -> theirs.ModelResponse:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ask(PydanticAIModel(FunctionModel(fail)), Request([user_text("hi")]))


def test_what_the_bridge_cannot_say() -> None:
    model = PydanticAIModel(FunctionModel(Asked()))
    hosted = ToolDeclaration("web", kind=ToolKind.PROVIDER_EXECUTED, provider_type="web")
    for request in (
        Request([user_text("hi")], tools=[hosted]),
        Request([user_text("hi")], response_format=ResponseFormat()),
        Request([Message(Role.USER, (FilePart(MediaSource(id="file_1")),))]),
    ):
        with pytest.raises(UnsupportedError):
            ask(model, request)


def test_a_function_makes_one_model_for_each_event_loop() -> None:
    made: list[TestModel] = []

    def make() -> TestModel:
        made.append(TestModel())
        return made[-1]

    model = PydanticAIModel(make)
    assert (model.provider, model.model_id) == ("test", "test")

    async def use() -> None:
        async with model:
            await model.generate(Request([user_text("hi")]))
            await model.generate(Request([user_text("hi")]))

    anyio.run(use)
    anyio.run(use)
    assert len(made) == 2
    assert PydanticAIModel("test").provider == "test"
