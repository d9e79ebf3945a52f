"""What every adapter does with a request before it is sent, and with events before they are handed on. Without I/O."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from touba_cli import vendors
from touba_cli.vendors import Printed, SchemaUnsupported

from .. import _json
from ..errors import InvalidMessageError, ModelResponseError, UnsupportedError
from ..messages import MediaSource, ToolCallPart
from ..requests import Request, ResponseFormat, ToolDeclaration
from ..responses import UNFINISHED, FinishReason, ModelWarning, WarningType
from ..streams import MessageEnd, MessageStart, StreamEvent, TextDelta, ToolCallDelta, ToolCallEnd, ToolCallStart

#: where the text of arguments that are no JSON object goes, for vendors that take only objects
UNDECODABLE = "undecodable_arguments"
#: how many bytes of that text are kept
UNDECODABLE_BYTES = 2_000


@dataclass(slots=True)
class Prepared:
    """A request as the vendor takes it.

    ``restores`` has, by the name of the tool, the schemas whose printed form changed the shape of the arguments;
    ``output`` is the printed schema of the answer where the same is true of it.
    """

    body: dict[str, Any] = field(default_factory=dict)
    warnings: list[ModelWarning] = field(default_factory=list)
    restores: dict[str, Printed] = field(default_factory=dict)
    output: Printed | None = None
    headers: dict[str, str] = field(default_factory=dict)

    def warn(self, feature: str, details: str = "", kind: WarningType = WarningType.UNSUPPORTED) -> None:
        """Note that something of the request means less than it seems."""
        self.warnings.append(ModelWarning(kind, feature, details))

    def ignore(self, request: Request, *names: str) -> None:
        """Note the settings that were given and that this vendor does not have."""
        for name in names:
            if getattr(request, name) is not None:
                self.warn(name, "this provider has no such setting; it was not sent")


class Reader(Protocol):
    """Reads a vendor's answer: event by event, or whole. One reader for each call."""

    def feed(self, item: Mapping[str, Any]) -> Iterable[StreamEvent]:
        """The events of one item of a stream."""
        ...

    def finish(self) -> Iterable[StreamEvent]:
        """What the end of a stream means; no `MessageEnd` where it ended too early."""
        ...

    def whole(self, body: Mapping[str, Any]) -> Iterable[StreamEvent]:
        """The events of an answer that came in one piece."""
        ...


class Shaper:
    """Brings a reader's events into the form that all adapters promise.

    The first event is `MessageStart`; empty deltas are left out; a second call with the id of another one is refused;
    arguments and answers whose schema was printed in another shape come back in the shape of their source, in one
    piece; the warnings about the request stand on `MessageEnd`.
    """

    def __init__(self, prepared: Prepared, provider: str, model: str):
        self._prepared = prepared
        self._start = MessageStart(provider, "", model)
        self._started = False
        self._ids: set[str] = set()
        self._held: dict[int, tuple[Printed, list[str]]] = {}
        self._texts: list[str] = []

    def shape(self, events: Iterable[StreamEvent]) -> Iterator[StreamEvent]:
        """The shaped events.

        Raises:
            ModelResponseError: code ``duplicate_call``.
        """
        for event in events:
            if not self._started:
                self._started = True
                if not isinstance(event, MessageStart):
                    yield self._start
            yield from self._one(event)

    def _one(self, event: StreamEvent) -> Iterator[StreamEvent]:
        output = self._prepared.output
        if isinstance(event, TextDelta):
            if output is not None:
                self._texts.append(event.text)
            elif event.text:
                yield event
        elif isinstance(event, ToolCallStart):
            if event.id in self._ids:
                raise ModelResponseError(
                    "two calls of one answer have the same id", code="duplicate_call", provider=self._start.provider
                )
            self._ids.add(event.id)
            if event.name in self._prepared.restores:
                self._held[event.index] = (self._prepared.restores[event.name], [])
            yield event
        elif isinstance(event, ToolCallDelta):
            if event.index in self._held:
                self._held[event.index][1].append(event.args)
            elif event.args:
                yield event
        elif isinstance(event, ToolCallEnd):
            if event.index in self._held:
                printed, pieces = self._held.pop(event.index)
                yield ToolCallDelta(event.index, restored(printed, "".join(pieces)))
            yield event
        elif isinstance(event, MessageEnd):
            if output is not None and self._texts:
                yield TextDelta(restored(output, "".join(self._texts)))
            yield replace(event, warnings=(*self._prepared.warnings, *event.warnings))
        else:
            yield event

    def leftovers(self) -> list[StreamEvent]:
        """What was held back when the stream broke, as it came."""
        events: list[StreamEvent] = [TextDelta("".join(self._texts))] if self._texts else []
        events += [ToolCallDelta(index, "".join(pieces)) for index, (_, pieces) in self._held.items()]
        return events


def restored(printed: Printed, text: str) -> str:
    """The JSON text in the shape of the source's schema; a text that is no JSON stays as it is."""
    try:
        return _json.dump(printed.restore(_json.load(text)))
    except InvalidMessageError:
        return text


# --- schemas --------------------------------------------------------------------------------------------------------


def tool_schema(prepared: Prepared, vendor: str, tool: ToolDeclaration, *, strict: bool) -> dict[str, Any]:
    """The input schema of a tool in the vendor's dialect; losses become one warning.

    Raises:
        UnsupportedError: when the vendor cannot be given the schema.
    """
    printed = print_tool(vendor, tool, strict=strict)
    note(prepared, f"tool_schema:{tool.name}", printed)
    if printed.restores:
        prepared.restores[tool.name] = printed
    return printed.schema


def print_tool(vendor: str, tool: ToolDeclaration, *, strict: bool) -> Printed:
    """The printed input schema of a tool.

    Raises:
        UnsupportedError: when the vendor cannot be given the schema.
    """
    try:
        return vendors.print_schema(vendor, tool.wire_schema, use="tool", strict=strict)
    except SchemaUnsupported as fault:
        raise UnsupportedError(f"the schema of tool {tool.name!r}: {fault}", provider=vendor) from None


def plain_schema(vendor: str, tool: ToolDeclaration) -> dict[str, Any]:
    """The input schema of a tool as it is, after the look that no vendor spares.

    Raises:
        UnsupportedError: for a reference that leads nowhere, or a root that is no plain object.
    """
    schema = tool.wire_schema
    for problem in vendors.lint_schema(vendor, schema, use="tool", strict=False):
        raise UnsupportedError(f"the schema of tool {tool.name!r}: {problem}", provider=vendor)
    return schema


def output_schema(prepared: Prepared, vendor: str, wanted: ResponseFormat) -> Printed:
    """The schema of the answer in the vendor's dialect.

    Raises:
        UnsupportedError: when the vendor cannot be given the schema.
    """
    try:
        printed = vendors.print_schema(vendor, dict(wanted.schema or {}), use="output", strict=bool(wanted.strict))
        problems = vendors.lint_schema(vendor, printed.schema, use="output", strict=bool(wanted.strict))
    except SchemaUnsupported as fault:
        raise UnsupportedError(f"the schema of the answer: {fault}", provider=vendor) from None
    for problem in problems:
        raise UnsupportedError(f"the schema of the answer: {problem}", provider=vendor)
    note(prepared, "response_format", printed)
    if printed.restores:
        prepared.output = printed
    return printed


def note(prepared: Prepared, feature: str, printed: Printed) -> None:
    """One warning for all that a printed schema lost."""
    lost = [
        f"{loss.keyword} at {loss.path or 'the root'} {loss.effect}"
        for loss in printed.losses
        if loss.effect != "nullable"
    ]
    if lost:
        more = f" and {len(lost) - 5} more" if len(lost) > 5 else ""
        prepared.warn(feature, f"not enforced by the provider: {', '.join(lost[:5])}{more}", WarningType.COMPATIBILITY)


# --- parts ----------------------------------------------------------------------------------------------------------


def seal(provider: str, kind: str, value: str) -> str:
    """A signature that says whose it is, so that no other provider is sent it after a change of models."""
    return f"{provider}/{kind}:{value}"


def unseal(provider: str, signature: str | None) -> tuple[str, str] | None:
    """Kind and value of a signature of this provider; None for one of another."""
    if not signature or not signature.startswith(f"{provider}/"):
        return None
    kind, colon, value = signature.removeprefix(f"{provider}/").partition(":")
    return (kind, value) if colon else None


def arguments_object(call: ToolCallPart) -> dict[str, Any]:
    """The arguments of a call of the past, for vendors that take only objects.

    A text that is no JSON object is kept under `UNDECODABLE`, cut to 2,000 bytes.
    """
    try:
        return call.arguments
    except InvalidMessageError:
        return {UNDECODABLE: call.args.encode("utf-8", "replace")[:UNDECODABLE_BYTES].decode("utf-8", "ignore")}


def data_url(source: MediaSource) -> str:
    """Bytes as a data URL."""
    import base64

    data = base64.b64encode(source.data or b"").decode("ascii")
    return f"data:{source.mime_type or 'application/octet-stream'};base64,{data}"


def base64_text(source: MediaSource) -> str:
    """Bytes as base64."""
    import base64

    return base64.b64encode(source.data or b"").decode("ascii")


def merged(body: dict[str, Any], options: Mapping[str, Any] | None) -> dict[str, Any]:
    """The body with the provider's own settings: they win, and objects are merged one level deep."""
    result = dict(body)
    for name, value in (options or {}).items():
        if isinstance(value, Mapping) and isinstance(result.get(name), dict):
            result[name] = {**result[name], **value}
        else:
            result[name] = dict(value) if isinstance(value, Mapping) else value
    return result


def names_of_calls(messages: Sequence[Any]) -> dict[str, str]:
    """Id of a call → name of its tool, over a conversation."""
    return {call.id: call.name for message in messages for call in message.tool_calls}


# --- answers --------------------------------------------------------------------------------------------------------


def plain(thing: Any, provider: str) -> dict[str, Any]:
    """An object of a vendor's SDK as plain data, with the members that the SDK does not know.

    Raises:
        ModelResponseError: code ``invalid_response``, where it is no such object.
    """
    if not hasattr(thing, "model_dump"):
        raise ModelResponseError("the answer of the provider is no JSON", code="invalid_response", provider=provider)
    body: dict[str, Any] = thing.model_dump(mode="python", by_alias=True, exclude_unset=True, warnings=False)
    return body


def compact(value: Any, default: Callable[[Any], Any] | None = None) -> str:
    """What a vendor's SDK has decoded, as JSON text again; ``default`` gives what has no JSON form of its own."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=default)


def ending(known: Mapping[str, FinishReason], word: str) -> tuple[FinishReason, str | None]:
    """What a vendor's word for the end means, and the word itself where the answer is not whole."""
    reason = known.get(word, FinishReason.OTHER if word else FinishReason.UNKNOWN)
    return reason, word if reason in UNFINISHED else None
