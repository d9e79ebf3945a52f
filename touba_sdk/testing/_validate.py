"""What every real provider refuses in a request, found without sending it."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from typing import Any

from touba_sdk.models import (
    EventStream,
    FilePart,
    ImagePart,
    InvalidMessageError,
    InvalidRequestError,
    MediaSource,
    Message,
    ModelStream,
    ReasoningPart,
    Request,
    Response,
    Role,
    StreamEvent,
    TextPart,
    ToolCallPart,
    ToolChoiceMode,
    ToolKind,
)
from touba_sdk.models.middleware import WrappedModel

__all__ = ["ValidatingModel", "request_problems", "validate_request"]

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def request_problems(request: Request) -> list[str]:
    """What is wrong with a request, in plain sentences without any content of it; empty when nothing is.

    The rules are those that at least one of the great providers enforces, so that a conversation which passes can go
    to any of them.
    """
    return [
        *_order(request.messages),
        *_contents(request.messages),
        *_pairing(request.messages),
        *_tools(request),
        *_settings(request),
    ]


def validate_request(request: Request) -> None:
    """Refuse a request that a real provider would refuse.

    Raises:
        InvalidRequestError: with code ``validation`` and every problem in its text.
    """
    problems = request_problems(request)
    if problems:
        raise InvalidRequestError("; ".join(problems), provider="validator", code="validation")


class ValidatingModel(WrappedModel):
    """A model that refuses what real providers refuse, and passes everything else on to the model inside.

    A stream is refused when its first event is asked for, like any failure of a stream.
    """

    async def generate(self, request: Request) -> Response:
        """Answer as the model inside does.

        Raises:
            InvalidRequestError: for what no real provider takes.
        """
        validate_request(request)
        return await self.inner.generate(request)

    def stream(self, request: Request) -> ModelStream:
        """Stream as the model inside does; what is refused is raised at the first event."""
        return EventStream(lambda: self._events(request))

    async def _events(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        validate_request(request)
        async with self.inner.stream(request) as stream:
            async for event in stream:
                yield event


def _order(messages: Sequence[Message]) -> Iterator[str]:
    first = next((place for place, message in enumerate(messages) if message.role is not Role.SYSTEM), None)
    if first is None:
        yield "there is no message besides system messages: the model is asked nothing"
        return
    if messages[first].role is not Role.USER:
        yield f"message {first} begins the conversation, but is not the user's"
    for place, message in enumerate(messages[first:], first):
        if message.role is Role.SYSTEM:
            yield f"message {place} is a system message that follows other messages"


def _contents(messages: Sequence[Message]) -> Iterator[str]:
    for place, message in enumerate(messages):
        if not message.parts:
            yield f"message {place} is empty"
            continue
        for part in message.parts:
            if isinstance(part, TextPart) and not part.text.strip():
                yield f"message {place} has a blank text part"
            elif isinstance(part, (ImagePart, FilePart)):
                yield from _media(place, part.source)
            elif isinstance(part, ReasoningPart) and not (part.text or part.signature):
                yield f"message {place} has an empty reasoning part"
        for result in message.tool_results:
            for content in result.content:
                if isinstance(content, (ImagePart, FilePart)):
                    yield from _media(place, content.source)
        if isinstance(message.parts[-1], ReasoningPart):
            yield f"message {place} ends with reasoning, without what followed it"


def _media(place: int, source: MediaSource) -> Iterator[str]:
    if source.data is not None and not source.mime_type:
        yield f"message {place} has bytes without a mime type"
    if source.data == b"":
        yield f"message {place} has media of no bytes"
    if source.url is not None and not source.url.startswith(("https://", "http://", "data:", "gs://", "file://")):
        yield f"message {place} has a media URL without a scheme"


def _pairing(messages: Sequence[Message]) -> Iterator[str]:
    """Calls and results: every call answered once, right behind its message, and nothing else answered."""
    seen: set[str] = set()
    open_calls: dict[str, str] = {}
    answered: set[str] = set()
    for place, message in enumerate(messages):
        if message.role is not Role.TOOL and open_calls:
            yield f"message {place} follows {len(open_calls)} tool calls without results"
            open_calls = {}
        if message.role is Role.ASSISTANT:
            answered = set()
            for call in message.tool_calls:
                yield from _call(place, call)
                if call.id in seen:
                    yield f"message {place} has a tool call whose id was used before"
                seen.add(call.id)
                open_calls[call.id] = call.name
        elif message.role is Role.TOOL:
            for result in message.tool_results:
                name = open_calls.pop(result.tool_call_id, None)
                if name is not None:
                    answered.add(result.tool_call_id)
                    if result.name and result.name != name:
                        yield f"message {place} has a result whose name is not that of its call"
                elif result.tool_call_id in answered:
                    yield f"message {place} has a second result for one call"
                else:
                    yield f"message {place} has a result without a call in the assistant message before it"
        else:
            answered = set()
    if open_calls:
        yield f"the conversation ends with {len(open_calls)} tool calls without results"


def _call(place: int, call: ToolCallPart) -> Iterator[str]:
    if not call.id:
        yield f"message {place} has a tool call without an id"
    if not _NAME.fullmatch(call.name):
        yield f"message {place} has a tool call whose name is not 1 to 64 of A-Z a-z 0-9 _ -"
    try:
        _ = call.arguments
    except InvalidMessageError:
        yield f"message {place} has a tool call whose arguments are not a JSON object"


def _tools(request: Request) -> Iterator[str]:
    names: set[str] = set()
    for tool in request.enabled_tools:
        if not _NAME.fullmatch(tool.name):
            yield "a tool's name is not 1 to 64 of A-Z a-z 0-9 _ -"
        if tool.name in names:
            yield f"two tools have the name {tool.name}"
        names.add(tool.name)
        if tool.kind is ToolKind.PROVIDER_EXECUTED:
            if not tool.provider_type:
                yield f"the provider's tool {tool.name} has no provider type"
        else:
            yield from _schema(f"the schema of the tool {tool.name}", tool.wire_schema)
    choice = request.tool_choice
    if choice is not None:
        if choice.mode is ToolChoiceMode.TOOL and choice.name not in names:
            yield "the tool choice names a tool that is not declared"
        if choice.mode is ToolChoiceMode.REQUIRED and not names:
            yield "a tool is required, but none is declared"


def _schema(what: str, schema: Mapping[str, Any]) -> Iterator[str]:
    if schema.get("type") != "object":
        yield f"{what} is not that of an object"
    combinators = sorted({"anyOf", "oneOf", "allOf"} & schema.keys())
    if combinators:
        yield f"{what} has {combinators[0]} at its root"
    stack: list[Any] = [schema]
    while stack:
        node = stack.pop()
        if isinstance(node, Mapping):
            reference = node.get("$ref")
            if isinstance(reference, str) and not _resolves(schema, reference):
                yield f"{what} refers to a definition that it does not have"
            stack.extend(node.values())
        elif isinstance(node, (list, tuple)):
            stack.extend(node)


def _resolves(root: Mapping[str, Any], reference: str) -> bool:
    if not reference.startswith("#"):
        return False
    node: Any = root
    for step in reference[1:].split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(node, Mapping) or name not in node:
            return False
        node = node[name]
    return True


def _settings(request: Request) -> Iterator[str]:
    for name, low, high in (
        ("temperature", 0.0, 2.0),
        ("top_p", 0.0, 1.0),
        ("frequency_penalty", -2.0, 2.0),
        ("presence_penalty", -2.0, 2.0),
    ):
        value = getattr(request, name)
        if value is not None and not low <= value <= high:
            yield f"{name} is not between {low:g} and {high:g}"
    for name in ("max_tokens", "top_k"):
        value = getattr(request, name)
        if value is not None and value < 1:
            yield f"{name} is below 1"
    if request.stop is not None and not all(request.stop):
        yield "a stop text is empty"
    form = request.response_format
    if form is not None:
        if not _NAME.fullmatch(form.name):
            yield "the name of the response format is not 1 to 64 of A-Z a-z 0-9 _ -"
        if form.schema is not None:
            yield from _schema("the schema of the response format", form.schema)
    reasoning = request.reasoning
    if reasoning is not None and reasoning.budget_tokens is not None:
        if reasoning.budget_tokens < 1:
            yield "the reasoning budget is below 1"
        if request.max_tokens is not None and reasoning.budget_tokens >= request.max_tokens:
            yield "the reasoning budget is not below max_tokens"
