"""Group N of the acceptance cases: messages, their stored form, and requests."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from hypothesis import given

from touba_sdk.models import (
    EmbeddedResourcePart,
    FilePart,
    ImagePart,
    InvalidMessageError,
    Logprobs,
    MediaSource,
    Message,
    ReasoningConfig,
    ReasoningPart,
    Request,
    ResourceLinkPart,
    Response,
    ResponseFormat,
    Role,
    StructuredContentPart,
    TextPart,
    ToolCallPart,
    ToolChoice,
    ToolDeclaration,
    ToolResultPart,
    Usage,
    assistant_text,
    from_json,
    messages_from_json,
    messages_to_json,
    project_content,
    request_digest,
    split_system,
    structured_content,
    system_text,
    to_json,
    tool_result,
    tool_results,
    user_text,
)
from touba_sdk.models.messages import ALLOWED_PARTS
from touba_sdk.models.wire import from_object, load_object, part_from_object, to_object

from .kit import MESSAGE, RESPONSE

PNG = MediaSource(data=b"\x89PNG", mime_type="image/png")
ONE_OF_EACH: list[Any] = [
    TextPart("hi"),
    ImagePart(PNG),
    FilePart(MediaSource(url="https://example.org/a.pdf"), "a.pdf"),
    ReasoningPart("because", "c2ln", False),
    ToolCallPart("c1", "add", '{"a": 12.50}'),
    ToolResultPart("c1", "add", (TextPart("5"),)),
]


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("part", ONE_OF_EACH, ids=lambda part: type(part).__name__)
def test_case_167_each_role_takes_only_its_parts(role: Role, part: Any) -> None:
    if isinstance(part, ALLOWED_PARTS[role]):
        assert Message(role, (part,)).parts == (part,)
    else:
        with pytest.raises(InvalidMessageError, match=f"a {role.value} message cannot hold a {type(part).__name__}"):
            Message(role, (part,))


def test_case_167_the_table_is_that_of_the_specification() -> None:
    names = {role.value: {kind.__name__ for kind in kinds} for role, kinds in ALLOWED_PARTS.items()}
    assert names == {
        "system": {"TextPart"},
        "user": {"TextPart", "ImagePart", "FilePart"},
        "assistant": {"TextPart", "ReasoningPart", "ToolCallPart"},
        "tool": {"ToolResultPart"},
    }
    with pytest.raises(InvalidMessageError, match="one or more results"):
        Message(Role.TOOL)
    with pytest.raises(InvalidMessageError, match="cannot hold a ToolCallPart"):
        ToolResultPart("c1", "add", (ToolCallPart("c2", "add"),))  # type: ignore[arg-type]


def test_case_169_the_shape_of_each_part() -> None:
    assert json.loads(to_json(user_text("hi"))) == {"role": "user", "parts": [{"type": "text", "text": "hi"}]}
    assert to_object(ImagePart(PNG)) == {"type": "image", "source": {"data": "iVBORw==", "mime_type": "image/png"}}
    assert to_object(ReasoningPart("t", "s")) == {"type": "reasoning", "text": "t", "signature": "s"}
    assert to_object(ToolResultPart("c1")) == {"type": "tool_result", "tool_call_id": "c1"}
    call = to_json(Message(Role.ASSISTANT, (ToolCallPart("c1", "add", '{ "a": 12.50, "b": 1e3 }'),)))
    assert '"args":{"a":12.50,"b":1e3}' in call
    assert "args" not in to_object(ToolCallPart("c1", "add"))
    assert to_object(ToolCallPart("c1", "add", '{"a": "xx')) == {
        "type": "tool_call", "id": "c1", "name": "add", "args_text": '{"a": "xx'
    }  # fmt: skip
    assert to_object(structured_content({"n": 1})) == {"type": "structured_content", "data": {"n": 1}}


@given(MESSAGE)
def test_case_169_encoding_and_decoding_a_message_is_identical(message: Message) -> None:
    text = to_json(message)
    assert from_json(Message, text) == message
    assert from_json(Message, text.encode()) == message
    assert from_json(Message, load_object(text)) == message
    assert to_json(from_json(Message, text)) == text
    for written, part in zip(to_object(message)["parts"] if message.parts else [], message.parts, strict=True):
        assert part_from_object(written) == part


@given(MESSAGE, MESSAGE)
def test_case_169_a_conversation_is_a_versioned_document(first: Message, second: Message) -> None:
    text = messages_to_json([first, second])
    assert json.loads(text)["version"] == 1
    assert messages_from_json(text) == (first, second)
    with pytest.raises(InvalidMessageError, match="version"):
        messages_from_json(text.replace('"version":1', '"version":2', 1))


@given(RESPONSE)
def test_case_169_responses_come_back_as_they_were(response: Response) -> None:
    assert from_json(Response, to_json(response)) == response


def test_case_169_requests_come_back_as_they_were() -> None:
    request = Request(
        [system_text("s"), user_text("u")],
        [ToolDeclaration("add", "adds", {"type": "object"}), ToolDeclaration("search", kind="provider_executed", provider_type="web")],  # type: ignore[arg-type]
        ToolChoice("tool", "add"),  # type: ignore[arg-type]
        temperature=0,
        top_p=0.25,
        top_k=3,
        seed=7,
        frequency_penalty=-1.5,
        logprobs=Logprobs(top=2),
        max_tokens=9,
        stop=("END",),
        response_format=ResponseFormat(schema={"type": "object"}, strict=False),
        reasoning=ReasoningConfig("enabled", "low", 100, True),  # type: ignore[arg-type]
        provider_options={"openai": {"store": False, "ratio": 0.5}},
    )  # fmt: skip
    again = from_json(Request, to_json(request))
    assert again == request
    assert request_digest(again) == request_digest(request)
    assert request_digest(again.copy(temperature=0.5)) != request_digest(request)
    assert "presence_penalty" not in to_json(request)
    assert json.loads(to_json(request))["temperature"] == 0


def test_case_169_arguments_are_equal_by_their_exact_value() -> None:
    assert ToolCallPart("c", "f", '{"a": 1, "b": 12.50}') == ToolCallPart("c", "f", '{"b":12.5,"a":1}')
    assert ToolCallPart("c", "f", "9007199254740993.0") != ToolCallPart("c", "f", "9007199254740992.0")
    assert ToolCallPart("c", "f", "[true]") != ToolCallPart("c", "f", "[1]")
    assert ToolCallPart("c", "f", '{"a"') != ToolCallPart("c", "f", "{}")
    assert ToolCallPart("c", "f", '{"n": 18446744073709551616}').arguments == {"n": 18446744073709551616}
    assert ToolCallPart("c", "f").arguments == {}
    for args in ("[1]", '{"a"'):
        with pytest.raises(InvalidMessageError):
            _ = ToolCallPart("c", "f", args).arguments


@pytest.mark.parametrize(
    ("document", "place"),
    [
        ({"role": "owner", "parts": []}, "role"),
        ({"role": "user", "parts": [{"type": "video"}]}, r"\$.parts\[0\]: the type of the part is unknown"),
        ({"role": "user", "parts": [{"text": "hi"}]}, r"\$.parts\[0\]: the type of the part is unknown"),
        ({"role": "user", "parts": [{"type": "text", "text": 5}]}, r"\$.parts\[0\].text: text was expected, found int"),
        ({"role": "user", "parts": [{"type": "tool_call", "id": "c", "name": "f"}]}, "cannot hold a ToolCallPart"),
        ({"role": "user", "parts": [{"type": "text", "text": "hi", "colour": 1}]}, "has no member `colour`"),
        ({"role": "user", "parts": [{"type": "image"}]}, "the member `source` is missing"),
        ({"role": "user", "parts": [{"type": "image", "source": {}}]}, "exactly one of id, url and data"),
        ({"role": "user", "parts": [{"type": "image", "source": {"data": "*"}}]}, "not base64"),
        ({"role": "tool", "parts": [{"type": "tool_result", "content": [{"type": "reasoning"}]}]}, "unknown"),
        ({"parts": []}, "the member `role` is missing"),
    ],
)
def test_case_170_what_is_unknown_is_refused(document: dict[str, Any], place: str) -> None:
    with pytest.raises(InvalidMessageError, match=place):
        from_json(Message, document)
    with pytest.raises(InvalidMessageError, match=place):
        from_json(Message, json.dumps(document))


def test_case_170_other_kinds_than_asked_for_are_refused() -> None:
    with pytest.raises(InvalidMessageError, match="a TextPart was expected"):
        from_object(TextPart, {"type": "reasoning", "text": "t"})
    with pytest.raises(InvalidMessageError, match="no stored form"):
        to_json(object())
    with pytest.raises(InvalidMessageError, match="not JSON"):
        from_json(Message, "{")


def test_case_171_content_that_contains_itself_is_refused() -> None:
    value: dict[str, Any] = {"list": []}
    value["list"].append(value)
    with pytest.raises(InvalidMessageError, match="contains itself"):
        structured_content(value)
    result = ToolResultPart("c1", "add", (TextPart("5"),))
    message = tool_results(result)
    object.__setattr__(result, "content", (result,))
    with pytest.raises(InvalidMessageError, match="ToolResultPart is no part of a tool result"):
        to_json(message)
    assert copy.deepcopy(message).role is Role.TOOL
    assert pickle.loads(pickle.dumps(message)).role is Role.TOOL


def test_case_171_texts_that_are_not_unicode_are_refused() -> None:
    with pytest.raises(InvalidMessageError, match="surrogate"):
        to_json(user_text("\ud800"))


def test_case_173_a_tool_without_schema_has_an_explicit_empty_one() -> None:
    assert ToolDeclaration("now").wire_schema == {"type": "object", "properties": {}}
    foreign = {"type": "object", "x-vendor": [1], "$defs": {}}
    assert ToolDeclaration("f", input_schema=foreign).wire_schema == foreign
    assert Request(tools=[ToolDeclaration("a"), ToolDeclaration("b", disabled=True)]).enabled_tools == (
        ToolDeclaration("a"),
    )


def test_usage_reads_the_names_of_the_go_form() -> None:
    written = {
        "InputTokens": 10,
        "OutputTokens": 5,
        "CachedInputTokens": 3,
        "CacheWriteTokens": 0,
        "ReasoningTokens": 1,
    }
    assert from_json(Usage, written) == Usage(10, 5, 1, 3)
    with pytest.raises(InvalidMessageError, match="a whole number"):
        from_json(Usage, {"input_tokens": True})


def test_the_helpers_make_messages() -> None:
    call = ToolCallPart("c1", "add", "{}")
    assert assistant_text("a") == Message("assistant", ["a"])  # type: ignore[arg-type]
    assert tool_results(tool_result(call, "5")) == Message(Role.TOOL, (ToolResultPart("c1", "add", (TextPart("5"),)),))
    assert tool_result("c1", ["a", PNG and TextPart("b")], is_error=True).text == "ab"
    with pytest.raises(AttributeError):
        user_text("hi").role = Role.TOOL  # type: ignore[misc]


def test_system_messages_are_a_prefix() -> None:
    system, rest = split_system([system_text("a"), system_text("b"), user_text("u")])
    assert (system, rest) == ("a\nb", (user_text("u"),))
    assert split_system([user_text("u")])[0] is None
    with pytest.raises(InvalidMessageError, match="system messages come first"):
        split_system([user_text("u"), system_text("late")])


def test_the_other_contents_are_projected() -> None:
    assert project_content(structured_content({"a": 1})) == TextPart('{"a":1}')
    link = project_content(ResourceLinkPart("file:///a", "a", description="d"))
    assert link == TextPart('{"uri":"file:///a","name":"a","description":"d"}')
    assert project_content(EmbeddedResourcePart("r:1", text="t")) == TextPart("t")
    assert isinstance(project_content(EmbeddedResourcePart("r:1", "image/png", blob=b"1")), ImagePart)
    assert isinstance(project_content(EmbeddedResourcePart("r:1", "text/csv", blob=b"1")), FilePart)
    assert project_content(TextPart("t")) == TextPart("t")


@pytest.mark.parametrize(
    "make",
    [
        lambda: MediaSource(),
        lambda: MediaSource(id="a", url="b"),
        lambda: ResourceLinkPart(""),
        lambda: EmbeddedResourcePart("r:1"),
        lambda: EmbeddedResourcePart("r:1", text="t", blob=b"b", mime_type="a/b"),
        lambda: EmbeddedResourcePart("r:1", blob=b"b"),
        lambda: StructuredContentPart("[1]"),
        lambda: Response(user_text("hi")),
    ],
)
def test_parts_that_cannot_be_are_refused(make: Any) -> None:
    with pytest.raises(InvalidMessageError):
        make()


def test_settings_that_contradict_are_refused() -> None:
    for mode, name in (("tool", None), ("auto", "add")):
        with pytest.raises(ValueError, match="tool choice"):
            ToolChoice(mode, name)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="sometimes"):
        ToolChoice("sometimes")  # type: ignore[arg-type]


def test_a_copy_of_a_request_has_its_own_lists() -> None:
    request = Request("hi")  # type: ignore[arg-type]
    other = request.copy(max_tokens=5)
    other.messages.append(assistant_text("a"))
    assert request.messages == [user_text("hi")]
    assert request.max_tokens is None
