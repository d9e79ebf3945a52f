"""Messages and their parts: what is said in a conversation with a model.

A message has a role and parts; which parts a role may have is a closed table. Everything here is frozen and holds
tuples, so messages may be shared between conversations, tasks and threads. `touba_sdk.models.wire` has the stored form.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, TypeAlias

from . import _json
from .errors import InvalidMessageError

__all__ = [
    "ContentPart",
    "EmbeddedResourcePart",
    "FilePart",
    "ImagePart",
    "MediaSource",
    "Message",
    "Part",
    "ReasoningPart",
    "ResourceLinkPart",
    "Role",
    "StructuredContentPart",
    "TextPart",
    "ToolCallPart",
    "ToolResultPart",
    "assistant_text",
    "project_content",
    "split_system",
    "structured_content",
    "system_text",
    "text_content",
    "tool_result",
    "tool_results",
    "user_text",
]


class Role(StrEnum):
    """Who says a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class MediaSource:
    """Where an image or a file comes from: exactly one of a provider's file id, a URL and the bytes themselves.

    Raises:
        InvalidMessageError: when none or more than one is given.
    """

    id: str | None = None
    url: str | None = None
    data: bytes | None = None
    mime_type: str | None = None

    def __post_init__(self) -> None:
        given = [name for name in ("id", "url", "data") if getattr(self, name) is not None]
        if len(given) != 1:
            raise InvalidMessageError(f"a media source has exactly one of id, url and data, not {len(given)}")
        if isinstance(self.data, (bytearray, memoryview)):
            object.__setattr__(self, "data", bytes(self.data))


@dataclass(frozen=True, slots=True)
class TextPart:
    """Text."""

    text: str


@dataclass(frozen=True, slots=True)
class ImagePart:
    """An image."""

    source: MediaSource


@dataclass(frozen=True, slots=True)
class FilePart:
    """A document, a recording or any other file."""

    source: MediaSource
    name: str | None = None


@dataclass(frozen=True, slots=True)
class ReasoningPart:
    """What the model thought before it answered.

    ``signature`` is the provider's own token: it goes back untouched, or the provider refuses the conversation. In a
    redacted part it holds everything, and ``text`` is empty.
    """

    text: str = ""
    signature: str | None = None
    redacted: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ToolCallPart:
    """The model asks for a tool. ``args`` is the raw JSON text that the model wrote, which may be empty or broken.

    Two calls are equal when their ids and names are, and their arguments have the same JSON value.
    """

    id: str
    name: str
    args: str = ""

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments, decoded; no text at all stands for no arguments.

        Raises:
            InvalidMessageError: when the text is not a JSON object.

        >>> ToolCallPart("c1", "add", '{"a": 2, "b": 3}').arguments
        {'a': 2, 'b': 3}
        """
        value = _json.load(self.args) if self.args.strip() else {}
        if not isinstance(value, dict):
            raise InvalidMessageError("the arguments of a tool call are not a JSON object")
        decoded: dict[str, Any] = _json.plain(value)
        return decoded

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ToolCallPart):
            return NotImplemented
        if (self.id, self.name) != (other.id, other.name):
            return False
        return self.args == other.args or _same_text(self.args, other.args)

    def __hash__(self) -> int:
        return hash((self.id, self.name))


@dataclass(frozen=True, slots=True, eq=False)
class StructuredContentPart:
    """A JSON object as a tool's answer, kept as its text so that no number changes: see `structured_content`."""

    data: str

    def __post_init__(self) -> None:
        if not isinstance(self.data, str) or not isinstance(_json.load(self.data), dict):
            raise InvalidMessageError("structured content is the text of a JSON object")

    @property
    def value(self) -> dict[str, Any]:
        """The object, decoded."""
        decoded: dict[str, Any] = _json.plain(_json.load(self.data))
        return decoded

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StructuredContentPart):
            return NotImplemented
        return self.data == other.data or _same_text(self.data, other.data)

    def __hash__(self) -> int:
        return hash(StructuredContentPart)


@dataclass(frozen=True, slots=True)
class ResourceLinkPart:
    """A resource that a tool names. It is described to the model, never fetched."""

    uri: str
    name: str | None = None
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None

    def __post_init__(self) -> None:
        if not self.uri:
            raise InvalidMessageError("a resource link has a uri")


@dataclass(frozen=True, slots=True)
class EmbeddedResourcePart:
    """A resource with its content: text, or bytes of a stated type."""

    uri: str
    mime_type: str | None = None
    text: str | None = None
    blob: bytes | None = None

    def __post_init__(self) -> None:
        if not self.uri:
            raise InvalidMessageError("an embedded resource has a uri")
        if (self.text is None) == (self.blob is None):
            raise InvalidMessageError("an embedded resource has either text or a blob")
        if self.blob is not None and not self.mime_type:
            raise InvalidMessageError("an embedded resource with a blob has a mime type")


ContentPart: TypeAlias = (
    TextPart | ImagePart | FilePart | StructuredContentPart | ResourceLinkPart | EmbeddedResourcePart
)
_CONTENT = (TextPart, ImagePart, FilePart, StructuredContentPart, ResourceLinkPart, EmbeddedResourcePart)


@dataclass(frozen=True, slots=True)
class ToolResultPart:
    """What a tool answered to one call. A text in the place of the parts stands for one text part."""

    tool_call_id: str
    name: str = ""
    content: tuple[ContentPart, ...] = ()
    is_error: bool = False

    def __post_init__(self) -> None:
        content = _parts(self.content)
        for part in content:
            if not isinstance(part, _CONTENT):
                raise InvalidMessageError(f"a tool result cannot hold {_kind(part)}")
        object.__setattr__(self, "content", content)

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return "".join(part.text for part in self.content if isinstance(part, TextPart))


Part: TypeAlias = ContentPart | ReasoningPart | ToolCallPart | ToolResultPart

#: which parts each role may have: the closed table
ALLOWED_PARTS: Mapping[Role, tuple[type, ...]] = {
    Role.SYSTEM: (TextPart,),
    Role.USER: (TextPart, ImagePart, FilePart),
    Role.ASSISTANT: (TextPart, ReasoningPart, ToolCallPart),
    Role.TOOL: (ToolResultPart,),
}


@dataclass(frozen=True, slots=True)
class Message:
    """One message: a role and its parts. Texts among the parts stand for text parts.

    Raises:
        InvalidMessageError: for an unknown role, a part that the role may not have, or a tool message without results.

    >>> Message(Role.USER, (TextPart("hi"),)).text
    'hi'
    """

    role: Role
    parts: tuple[Part, ...] = ()

    def __post_init__(self) -> None:
        try:
            role = Role(self.role)
        except ValueError:
            raise InvalidMessageError("a message has an unknown role") from None
        parts = _parts(self.parts)
        for part in parts:
            if not isinstance(part, ALLOWED_PARTS[role]):
                raise InvalidMessageError(f"a {role.value} message cannot hold {_kind(part)}")
        if role is Role.TOOL and not parts:
            raise InvalidMessageError("a tool message holds one or more results")
        object.__setattr__(self, "role", role)
        object.__setattr__(self, "parts", parts)

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def reasoning(self) -> str:
        """The texts of the reasoning parts, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, ReasoningPart))

    @property
    def tool_calls(self) -> tuple[ToolCallPart, ...]:
        """The tool calls, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCallPart))

    @property
    def tool_results(self) -> tuple[ToolResultPart, ...]:
        """The tool results, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolResultPart))

    def replace(self, **changes: Any) -> Message:
        """A copy with other members."""
        return replace(self, **changes)


def _parts(given: Any) -> tuple[Any, ...]:
    if isinstance(given, str):
        return (TextPart(given),)
    return tuple(TextPart(part) if isinstance(part, str) else part for part in given)


def _kind(part: object) -> str:
    return f"a {type(part).__name__}"


def _same_text(left: str, right: str) -> bool:
    """Whether two JSON texts have one value; texts that are no JSON are equal only to themselves."""
    try:
        return _json.same(_json.load(left), _json.load(right))
    except InvalidMessageError:
        return left == right


def user_text(text: str) -> Message:
    """A user message of one text."""
    return Message(Role.USER, (TextPart(text),))


def system_text(text: str) -> Message:
    """A system message of one text."""
    return Message(Role.SYSTEM, (TextPart(text),))


def assistant_text(text: str) -> Message:
    """An assistant message of one text."""
    return Message(Role.ASSISTANT, (TextPart(text),))


def text_content(text: str) -> tuple[ContentPart, ...]:
    """The content of a tool result that is one text."""
    return (TextPart(text),)


def structured_content(value: Mapping[str, Any]) -> StructuredContentPart:
    """A JSON object as content of a tool result.

    Raises:
        InvalidMessageError: when the value contains itself or has no JSON form.
    """
    return StructuredContentPart(_json.dump(dict(value)))


def tool_result(
    call: ToolCallPart | str, content: str | Iterable[ContentPart | str] = (), *, name: str = "", is_error: bool = False
) -> ToolResultPart:
    """The result of a call, given as the call itself or as its id."""
    if isinstance(call, ToolCallPart):
        return ToolResultPart(call.id, name or call.name, _parts(content), is_error)
    return ToolResultPart(call, name, _parts(content), is_error)


def tool_results(*results: ToolResultPart) -> Message:
    """The one tool message that answers the calls of an assistant message."""
    return Message(Role.TOOL, results)


def split_system(messages: Sequence[Message]) -> tuple[str | None, tuple[Message, ...]]:
    """The joined text of the leading system messages (None where there are none), and the other messages.

    For providers with one place for a system prompt; several messages are joined with a newline.

    Raises:
        InvalidMessageError: when a system message follows another message.
    """
    first = next((place for place, message in enumerate(messages) if message.role is not Role.SYSTEM), len(messages))
    rest = tuple(messages[first:])
    if any(message.role is Role.SYSTEM for message in rest):
        raise InvalidMessageError("a system message follows another message; system messages come first")
    return ("\n".join(message.text for message in messages[:first]) if first else None), rest


def project_content(part: ContentPart) -> TextPart | ImagePart | FilePart:
    """What a provider that knows only text, images and files is sent for a part of a tool result.

    Structured content is its JSON text, a link its description as a JSON object, an embedded resource its text, image
    or file.
    """
    if isinstance(part, StructuredContentPart):
        return TextPart(part.data)
    if isinstance(part, ResourceLinkPart):
        members = {name: getattr(part, name) for name in ("uri", "name", "title", "description", "mime_type")}
        return TextPart(_json.dump({name: value for name, value in members.items() if value is not None}))
    if isinstance(part, EmbeddedResourcePart):
        if part.text is not None:
            return TextPart(part.text)
        source = MediaSource(data=part.blob, mime_type=part.mime_type)
        return ImagePart(source) if (part.mime_type or "").startswith("image/") else FilePart(source, part.uri)
    return part
