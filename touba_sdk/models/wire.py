"""The stored form of messages, requests, responses and stream events: JSON that loses nothing.

A message is ``{"role": "user", "parts": [{"type": "text", "text": "hi"}]}``; members that are empty are left out, and
bytes are base64. The arguments of a tool call are stored as the JSON value that they are (``args``), with every number
as it was written; text that is no JSON value is stored as text (``args_text``). Documents have a ``version``. Members,
roles and types that are unknown are refused, because dropping them would lose something.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from touba_cli.codec import sha256
from touba_cli.limits import JSON_DEPTH

from . import _json, messages, requests, responses, streams
from .errors import InvalidMessageError

__all__ = [
    "VERSION",
    "dump_object",
    "event_from_object",
    "from_json",
    "from_object",
    "load_object",
    "messages_from_json",
    "messages_to_json",
    "part_from_object",
    "request_digest",
    "to_json",
    "to_object",
]

#: of documents: lists of messages, requests, responses
VERSION = 1
#: embedded JSON values nested deeper than this are stored as text, so that the document around them can be read again
_EMBEDDED_DEPTH = JSON_DEPTH - 24

_T = TypeVar("_T")
dump_object = _json.dump
load_object = _json.load


class _Member:
    """How one kind of member is written and read. ``read`` gets the value and its path."""

    __slots__ = ("read", "write")

    def __init__(self, write: Callable[[Any], Any], read: Callable[[Any, str], Any]):
        self.write = write
        self.read = read


class _Shape:
    """The members of one class; the ones that are equal to their default are not written."""

    __slots__ = ("cls", "defaults", "members")

    def __init__(self, cls: type, **members: _Member):
        self.cls = cls
        self.members = members
        self.defaults: dict[str, Any] = {}
        for each in fields(cls):
            if each.default is not MISSING:
                self.defaults[each.name] = each.default
            elif each.default_factory is not MISSING:
                self.defaults[each.name] = each.default_factory()
            elif members.get(each.name) is TEXT:
                self.defaults[each.name] = ""

    def write(self, value: Any) -> dict[str, Any]:
        written: dict[str, Any] = {}
        for name, member in self.members.items():
            item = getattr(value, name)
            if name not in self.defaults or item != self.defaults[name] or type(item) is not type(self.defaults[name]):
                written[name] = member.write(item)
        return written

    def read(self, value: Any, path: str) -> Any:
        members = _object(value, path)
        unknown = sorted(members.keys() - self.members.keys())
        if unknown:
            raise InvalidMessageError(f"{path}: {self.cls.__name__} has no member `{unknown[0]}`")
        given = {name: self.members[name].read(item, f"{path}.{name}") for name, item in members.items()}
        for name in self.members:
            if name not in given and name not in self.defaults:
                raise InvalidMessageError(f"{path}: the member `{name}` is missing")
        return _make(self.cls, {**{n: d for n, d in self.defaults.items() if n in self.members}, **given}, path)


def _make(cls: type, members: dict[str, Any], path: str) -> Any:
    try:
        return cls(**members)
    except InvalidMessageError as fault:
        raise InvalidMessageError(f"{path}: {fault.message}") from None
    except ValueError:
        raise InvalidMessageError(f"{path}: not a {cls.__name__}") from None


def _object(value: Any, path: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidMessageError(f"{path}: an object was expected, found {type(value).__name__}")
    return dict(value)


def _same(value: Any) -> Any:
    return value


def _scalar(name: str, *types: type) -> _Member:
    def read(value: Any, path: str) -> Any:
        value = _json.plain(value)
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise InvalidMessageError(f"{path}: {name} was expected, found {type(value).__name__}")
        return value

    return _Member(_same, read)


TEXT = _scalar("text", str)
_BOOL = _scalar("true or false", bool)
_INT = _scalar("a whole number", int)
_NUMBER = _scalar("a number", int, float)


def _write_bytes(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")


def _read_bytes(value: Any, path: str) -> bytes:
    try:
        return base64.b64decode(TEXT.read(value, path), validate=True)
    except (binascii.Error, ValueError):
        raise InvalidMessageError(f"{path}: not base64") from None


_BYTES = _Member(_write_bytes, _read_bytes)


def _nested(shape: _Shape) -> _Member:
    return _Member(shape.write, shape.read)


def _list(item: _Member, make: Callable[[Iterable[Any]], Any] = tuple) -> _Member:
    def read(value: Any, path: str) -> Any:
        if not isinstance(value, (list, tuple)):
            raise InvalidMessageError(f"{path}: a list was expected, found {type(value).__name__}")
        return make(item.read(each, f"{path}[{place}]") for place, each in enumerate(value))

    return _Member(lambda value: [item.write(each) for each in value], read)


def _read_free(value: Any, path: str) -> Any:
    return _json.plain(_object(value, path))


#: an object of the provider's or the user's own, such as a schema
_FREE = _Member(dict, _read_free)
_SCHEMA = _Member(
    lambda value: value if isinstance(value, bool) else dict(value),
    lambda value, path: value if isinstance(value, bool) else _read_free(value, path),
)


# -- parts and messages ------------------------------------------------------------------------------------------


def _depth(value: Any) -> int:
    deepest, level = 0, [value]
    while level:
        deepest += 1
        level = [
            inner
            for each in level
            if isinstance(each, (dict, list))
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
    return deepest


def _embed(name: str, text: str) -> dict[str, Any]:
    """Raw JSON text as the member ``name``; as ``name_text`` where it is no JSON value of reasonable depth."""
    if not text:
        return {}
    try:
        value = _json.load(text)
    except InvalidMessageError:
        return {f"{name}_text": text}
    return {f"{name}_text": text} if _depth(value) > _EMBEDDED_DEPTH else {name: value}


def _embedded(name: str, members: dict[str, Any], path: str) -> str:
    if name in members:
        if f"{name}_text" in members:
            raise InvalidMessageError(f"{path}: `{name}` and `{name}_text` exclude each other")
        return _json.dump(members.pop(name))
    text: str = TEXT.read(members.pop(f"{name}_text", ""), f"{path}.{name}_text")
    return text


class _RawShape(_Shape):
    """A shape with one member of raw JSON text."""

    __slots__ = ("raw",)

    def __init__(self, cls: type, raw: str, **members: _Member):
        super().__init__(cls, **members)
        self.raw = raw

    def write(self, value: Any) -> dict[str, Any]:
        return {**super().write(value), **_embed(self.raw, getattr(value, self.raw))}

    def read(self, value: Any, path: str) -> Any:
        members = _object(value, path)
        text = _embedded(self.raw, members, path)
        plain = {
            name: each.read(members[name], f"{path}.{name}") for name, each in self.members.items() if name in members
        }
        unknown = sorted(members.keys() - self.members.keys())
        if unknown:
            raise InvalidMessageError(f"{path}: {self.cls.__name__} has no member `{unknown[0]}`")
        return _make(self.cls, {**dict.fromkeys(self.members, ""), **plain, self.raw: text}, path)


class _Union:
    """Classes that are told apart by their ``type``."""

    __slots__ = ("by_class", "by_name", "what")

    def __init__(self, what: str, **shapes: _Shape):
        self.what = what
        self.by_name = shapes
        self.by_class = {shape.cls: name for name, shape in shapes.items()}

    def write(self, value: Any) -> dict[str, Any]:
        name = self.by_class.get(type(value))
        if name is None:
            raise InvalidMessageError(f"{type(value).__name__} is no {self.what}")
        return {"type": name, **self.by_name[name].write(value)}

    def read(self, value: Any, path: str) -> Any:
        members = _object(value, path)
        name = members.pop("type", None)
        shape = self.by_name.get(name) if isinstance(name, str) else None
        if shape is None:
            raise InvalidMessageError(f"{path}: the type of the {self.what} is unknown")
        return shape.read(members, path)


_SOURCE = _nested(_Shape(messages.MediaSource, id=TEXT, url=TEXT, data=_BYTES, mime_type=TEXT))
_CONTENT_SHAPES: dict[str, _Shape] = {
    "text": _Shape(messages.TextPart, text=TEXT),
    "image": _Shape(messages.ImagePart, source=_SOURCE),
    "file": _Shape(messages.FilePart, source=_SOURCE, name=TEXT),
    "structured_content": _RawShape(messages.StructuredContentPart, "data"),
    "resource_link": _Shape(
        messages.ResourceLinkPart, uri=TEXT, name=TEXT, title=TEXT, description=TEXT, mime_type=TEXT
    ),
    "embedded_resource": _Shape(messages.EmbeddedResourcePart, uri=TEXT, mime_type=TEXT, text=TEXT, blob=_BYTES),
}
_CONTENT = _Union("part of a tool result", **_CONTENT_SHAPES)
_PART = _Union(
    "part",
    **_CONTENT_SHAPES,
    reasoning=_Shape(messages.ReasoningPart, text=TEXT, signature=TEXT, redacted=_BOOL),
    tool_call=_RawShape(messages.ToolCallPart, "args", id=TEXT, name=TEXT),
    tool_result=_Shape(
        messages.ToolResultPart,
        tool_call_id=TEXT,
        name=TEXT,
        content=_list(_Member(_CONTENT.write, _CONTENT.read)),
        is_error=_BOOL,
    ),
)
_MESSAGE = _Shape(messages.Message, role=_Member(str, TEXT.read), parts=_list(_Member(_PART.write, _PART.read)))
_MESSAGES = _list(_nested(_MESSAGE), list)

# -- responses ---------------------------------------------------------------------------------------------------


class _UsageShape(_Shape):
    """Reads the names of the Go form too: ``InputTokens`` for ``input_tokens``."""

    __slots__ = ()

    def read(self, value: Any, path: str) -> Any:
        names = {"".join(word.title() for word in name.split("_")): name for name in self.members}
        return super().read({names.get(name, name): item for name, item in _object(value, path).items()}, path)


_USAGE = _UsageShape(responses.Usage, **dict.fromkeys(responses.COUNTS, _INT), partial=_BOOL)
_WARNING = _Shape(responses.ModelWarning, type=_Member(str, TEXT.read), feature=TEXT, details=TEXT)
_CITATION = _Shape(responses.Citation, url=TEXT, title=TEXT, snippet=TEXT, index=_INT, text_range=_list(_INT))
_FINISH = _Member(str, TEXT.read)
_RESPONSE = _Shape(
    responses.Response,
    id=TEXT,
    model=TEXT,
    provider=TEXT,
    message=_nested(_MESSAGE),
    finish_reason=_FINISH,
    usage=_nested(_USAGE),
    citations=_list(_nested(_CITATION)),
    grounding=_FREE,
    warnings=_list(_nested(_WARNING)),
    partial=_BOOL,
    incomplete_reason=TEXT,
)

# -- requests ----------------------------------------------------------------------------------------------------

_ENUM = _Member(str, TEXT.read)
_TOOL = _Shape(
    requests.ToolDeclaration,
    name=TEXT,
    description=TEXT,
    input_schema=_SCHEMA,
    kind=_ENUM,
    provider_type=TEXT,
    provider_data=_FREE,
    strict=_BOOL,
    disabled=_BOOL,
)
_REQUEST = _Shape(
    requests.Request,
    messages=_MESSAGES,
    tools=_list(_nested(_TOOL), list),
    tool_choice=_nested(_Shape(requests.ToolChoice, mode=_ENUM, name=TEXT)),
    temperature=_NUMBER,
    top_p=_NUMBER,
    top_k=_INT,
    seed=_INT,
    frequency_penalty=_NUMBER,
    presence_penalty=_NUMBER,
    logprobs=_nested(_Shape(requests.Logprobs, enabled=_BOOL, top=_INT)),
    max_tokens=_INT,
    stop=_list(TEXT),
    response_format=_nested(_Shape(requests.ResponseFormat, name=TEXT, description=TEXT, schema=_FREE, strict=_BOOL)),
    reasoning=_nested(
        _Shape(requests.ReasoningConfig, mode=_ENUM, effort=TEXT, budget_tokens=_INT, include_summary=_BOOL)
    ),
    provider_options=_FREE,
)

# -- events ------------------------------------------------------------------------------------------------------

_EVENT = _Union(
    "stream event",
    message_start=_Shape(streams.MessageStart, provider=TEXT, id=TEXT, model=TEXT, usage=_nested(_USAGE)),
    text_delta=_Shape(streams.TextDelta, text=TEXT),
    reasoning_delta=_Shape(streams.ReasoningDelta, text=TEXT, signature=TEXT, redacted=_BOOL),
    tool_call_start=_Shape(streams.ToolCallStart, index=_INT, id=TEXT, name=TEXT),
    tool_call_delta=_Shape(streams.ToolCallDelta, index=_INT, args=TEXT),
    tool_call_end=_Shape(streams.ToolCallEnd, index=_INT),
    citation=_Shape(streams.CitationDelta, citation=_nested(_CITATION)),
    retry=_Shape(streams.RetryNotice, attempt=_INT, max_retries=_INT, delay=_NUMBER, reason=TEXT),
    message_end=_Shape(
        streams.MessageEnd,
        finish_reason=_FINISH,
        usage=_nested(_USAGE),
        grounding=_FREE,
        warnings=_list(_nested(_WARNING)),
        incomplete_reason=TEXT,
    ),
)

# -- doors -------------------------------------------------------------------------------------------------------

_SHAPES: dict[type, _Shape] = {
    shape.cls: shape for shape in (_MESSAGE, _USAGE, _RESPONSE, _REQUEST, _TOOL, _CITATION, _WARNING)
}
_UNIONS: dict[type, _Union] = {**dict.fromkeys(_PART.by_class, _PART), **dict.fromkeys(_EVENT.by_class, _EVENT)}
_DOCUMENTS = (requests.Request, responses.Response)


def to_object(value: Any) -> dict[str, Any]:
    """A message, part, usage, request, response, tool declaration or stream event as an object for `dump_object`.

    Raises:
        InvalidMessageError: for content without a JSON form.
    """
    shape = _SHAPES.get(type(value)) or _UNIONS.get(type(value))
    if shape is None:
        raise InvalidMessageError(f"{type(value).__name__} has no stored form")
    return shape.write(value)


def from_object(kind: type[_T], value: Any, path: str = "$") -> _T:
    """What `to_object` wrote, read again: ``from_object(Message, {"role": "user"})``.

    Raises:
        InvalidMessageError: with the path of the fault.
    """
    shape = _SHAPES.get(kind) or _UNIONS.get(kind)
    if shape is None:
        raise InvalidMessageError(f"{kind.__name__} has no stored form")
    read = shape.read(value, path)
    if not isinstance(read, kind):
        raise InvalidMessageError(f"{path}: a {kind.__name__} was expected, found a {type(read).__name__}")
    return read


def event_from_object(value: Any, path: str = "$") -> streams.StreamEvent:
    """Any stream event that `to_object` wrote; raises as `from_object` does."""
    event: streams.StreamEvent = _EVENT.read(value, path)
    return event


def part_from_object(value: Any, path: str = "$") -> messages.Part:
    """Any part that `to_object` wrote; raises as `from_object` does."""
    part: messages.Part = _PART.read(value, path)
    return part


def to_json(value: Any) -> str:
    """JSON text of what `to_object` takes. Requests and responses are documents, with their version.

    >>> to_json(messages.user_text("hi"))
    '{"role":"user","parts":[{"type":"text","text":"hi"}]}'
    """
    written = to_object(value)
    return _json.dump({"version": VERSION, **written} if isinstance(value, _DOCUMENTS) else written)


def from_json(kind: type[_T], data: str | bytes | Mapping[str, Any]) -> _T:
    """The value of `to_json`, from its text or its object.

    Raises:
        InvalidMessageError: for what is not JSON, an unknown version, or a fault with its path.
    """
    found = _object(_json.load(data) if isinstance(data, (str, bytes)) else data, "$")
    _check_version(found)
    return from_object(kind, found)


def messages_to_json(conversation: Iterable[messages.Message]) -> str:
    """A conversation as a document: ``{"version": 1, "messages": […]}``."""
    return _json.dump({"version": VERSION, "messages": [_MESSAGE.write(each) for each in conversation]})


def messages_from_json(data: str | bytes | Mapping[str, Any]) -> tuple[messages.Message, ...]:
    """The conversation of `messages_to_json`; a document without a version is read as version 1."""
    found = _object(_json.load(data) if isinstance(data, (str, bytes)) else data, "$")
    _check_version(found)
    unknown = sorted(found.keys() - {"messages"})
    if unknown:
        raise InvalidMessageError(f"$: a conversation has no member `{unknown[0]}`")
    return tuple(_MESSAGES.read(found.get("messages", []), "$.messages"))


def _check_version(found: dict[str, Any]) -> None:
    version = found.pop("version", VERSION)
    if version != VERSION or isinstance(version, bool):
        raise InvalidMessageError("the version of the document is unknown")


def request_digest(request: requests.Request) -> str:
    """``sha256:`` and 64 hex digits over the stored form of a request: equal requests have equal digests."""
    return "sha256:" + sha256(_json.dump(_sorted(to_object(request))).encode("utf-8"))


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, (list, tuple)):
        return [_sorted(each) for each in value]
    return value
