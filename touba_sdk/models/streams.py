"""Streams: the events of an answer that is being written, and the collector that makes a response of them.

A stream is lazy: nothing is sent before the first event is asked for. Leaving it early ends the call. Its shape is
`MessageStart`, then deltas, then exactly one `MessageEnd`; a stream without its end is a failure.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, TypeAlias

from .errors import IncompleteStreamError, ModelError, ModelResponseError
from .messages import Message, Part, ReasoningPart, Role, TextPart, ToolCallPart
from .responses import Citation, FinishReason, ModelWarning, Response, Usage, WarningType

__all__ = [
    "STREAM_EVENTS",
    "CitationDelta",
    "Collector",
    "EventStream",
    "MessageEnd",
    "MessageStart",
    "ModelStream",
    "ReasoningDelta",
    "RetryNotice",
    "StreamEvent",
    "TextDelta",
    "ToolCallDelta",
    "ToolCallEnd",
    "ToolCallStart",
    "collect",
    "response_events",
]

#: how long leaving a stream may take to close the connection behind it, in seconds
CLOSE_GRACE = 5.0


@dataclass(frozen=True, slots=True)
class MessageStart:
    """The provider has begun to answer. ``usage``: what it already reports, such as the input."""

    provider: str = ""
    id: str = ""
    model: str = ""
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More text."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More reasoning; ``signature`` completes the part. A redacted part comes as one event with its signature."""

    text: str = ""
    signature: str | None = None
    redacted: bool = False


@dataclass(frozen=True, slots=True)
class ToolCallStart:
    """A tool call begins. ``index`` tells calls apart that are written at the same time."""

    index: int
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """More of the raw arguments of a call."""

    index: int
    args: str


@dataclass(frozen=True, slots=True)
class ToolCallEnd:
    """The call is complete."""

    index: int


@dataclass(frozen=True, slots=True)
class CitationDelta:
    """A source of the answer."""

    citation: Citation


@dataclass(frozen=True, slots=True)
class RetryNotice:
    """An attempt failed before it gave anything; the next one starts in ``delay`` seconds.

    ``attempt`` counts retries from 1, up to ``max_retries``. Not part of the answer: nothing was delivered yet.
    """

    attempt: int
    max_retries: int
    delay: float
    reason: str


@dataclass(frozen=True, slots=True)
class MessageEnd:
    """Nothing follows. ``usage`` is the last cumulative count; members of 0 leave what `MessageStart` said.

    ``incomplete_reason`` is the provider's own word for why the answer is not whole.
    """

    finish_reason: FinishReason = FinishReason.UNKNOWN
    usage: Usage | None = None
    grounding: Mapping[str, Any] | None = None
    warnings: tuple[ModelWarning, ...] = ()
    raw: Any = None
    incomplete_reason: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "finish_reason", FinishReason(self.finish_reason))
        object.__setattr__(self, "warnings", tuple(self.warnings))


StreamEvent: TypeAlias = (
    MessageStart
    | TextDelta
    | ReasoningDelta
    | ToolCallStart
    | ToolCallDelta
    | ToolCallEnd
    | CitationDelta
    | RetryNotice
    | MessageEnd
)
#: the classes of the union, for `isinstance`
STREAM_EVENTS: tuple[type, ...] = (
    MessageStart, TextDelta, ReasoningDelta, ToolCallStart, ToolCallDelta, ToolCallEnd, CitationDelta, RetryNotice,
    MessageEnd,
)  # fmt: skip


class ModelStream(Protocol):
    """What `LanguageModel.stream` gives: an async iterator of events that is its own context manager.

    Use it with ``async with``, so that leaving the block ends the call at once. Iterating it to the end or to an
    error ends it too; a bare ``async for`` that is left early does not.
    """

    def __aiter__(self) -> AsyncIterator[StreamEvent]: ...
    async def __anext__(self) -> StreamEvent: ...
    async def aclose(self) -> None:
        """End the call; what was not read is given up."""
        ...

    async def __aenter__(self) -> ModelStream: ...
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class EventStream:
    """The `ModelStream` of an async generator function, for adapters and middleware.

    Parameters:
        source: makes the generator; called when the first event is asked for, so nothing happens before.

    The generator may hold a connection open from event to event, but no cancel scope and no task group: both must be
    left by the task that entered them, and every event may be asked for by another task.

    >>> EventStream(lambda: events(request))  # doctest: +SKIP
    """

    __slots__ = ("_closed", "_generator", "_source")

    def __init__(self, source: Callable[[], AsyncGenerator[StreamEvent, None]]):
        self._source = source
        self._generator: AsyncGenerator[StreamEvent, None] | None = None
        self._closed = False

    def __aiter__(self) -> EventStream:
        return self

    async def __anext__(self) -> StreamEvent:
        if self._closed:
            raise StopAsyncIteration
        if self._generator is None:
            self._generator = self._source()
        try:
            return await self._generator.__anext__()
        except BaseException:
            self._closed = True  # the generator is finished, whatever ended it
            raise

    async def aclose(self) -> None:
        """End the call. Does nothing when the stream has ended or was never begun. Waits at most five seconds."""
        was_closed, self._closed = self._closed, True
        generator = self._generator
        if was_closed or generator is None:
            return
        import anyio

        with anyio.CancelScope(shield=True, deadline=anyio.current_time() + CLOSE_GRACE):
            await generator.aclose()

    async def __aenter__(self) -> EventStream:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class _Open:
    """A part that is still being written; its place among the parts is where it began."""

    __slots__ = ("id", "kind", "name", "pieces", "redacted", "sealed", "signature")

    def __init__(self, kind: str, id: str = "", name: str = ""):
        self.kind = kind
        self.id = id
        self.name = name
        self.pieces: list[str] = []
        self.signature: str | None = None
        self.redacted = False
        self.sealed = False

    def part(self) -> Part:
        text = "".join(self.pieces)
        if self.kind == "text":
            return TextPart(text)
        if self.kind == "reasoning":
            return ReasoningPart(text, self.signature, self.redacted)
        return ToolCallPart(self.id, self.name, text)


class Collector:
    """Makes a response of the events of a stream, however its deltas were cut. Without I/O.

    Text deltas that follow each other become one text part, reasoning deltas one reasoning part; another kind begins a
    new part. A reasoning part is complete with its signature: text after it begins the next part, so that every
    signature stays with what it signs. Tool calls are told apart by their index and may be interleaved. A delta for a
    call that never began is left out, with a warning on the response.

    >>> collector = Collector()
    >>> for event in (TextDelta("he"), TextDelta("llo"), MessageEnd(FinishReason.STOP)):
    ...     collector.add(event)
    >>> collector.response().text
    'hello'
    """

    def __init__(self) -> None:
        self.ended = False
        self._start = MessageStart()
        self._end = MessageEnd()
        self._parts: list[_Open] = []
        self._current: _Open | None = None
        self._calls: dict[int, _Open] = {}
        self._citations: list[Citation] = []
        self._lost = 0

    @property
    def has_output(self) -> bool:
        """Whether anything of the answer itself has arrived."""
        return bool(self._parts or self._citations)

    def add(self, event: StreamEvent) -> None:
        """Take in the next event.

        Raises:
            ModelResponseError: for something that is no event of a stream, or that follows the end.
        """
        if isinstance(event, RetryNotice):
            return
        if self.ended:
            raise self._invalid("an event follows the end of the stream")
        if isinstance(event, TextDelta):
            if event.text:
                self._written("text").pieces.append(event.text)
        elif isinstance(event, ReasoningDelta):
            self._reasoning(event)
        elif isinstance(event, ToolCallStart):
            self._current = None
            self._calls[event.index] = call = _Open("call", event.id, event.name)
            self._parts.append(call)
        elif isinstance(event, ToolCallDelta):
            known = self._calls.get(event.index)
            if known is None:
                self._lost += 1
            else:
                known.pieces.append(event.args)
        elif isinstance(event, ToolCallEnd):
            self._calls.pop(event.index, None)
        elif isinstance(event, CitationDelta):
            self._citations.append(event.citation)
        elif isinstance(event, MessageStart):
            self._start = event
        elif isinstance(event, MessageEnd):
            self._end = event
            self.ended = True
        else:
            raise self._invalid("something that is no event of a stream")

    def _written(self, kind: str) -> _Open:
        if self._current is None or self._current.kind != kind or self._current.sealed:
            self._current = _Open(kind)
            self._parts.append(self._current)
        return self._current

    def _reasoning(self, event: ReasoningDelta) -> None:
        if not (event.text or event.signature or event.redacted):
            return
        current = self._current
        if (
            current is not None
            and current.kind == "reasoning"
            and current.sealed
            and not (event.text or event.redacted)
        ):
            current.signature = event.signature  # the last signature of a part stands
            return
        if event.redacted:
            self._current = None
        part = self._written("reasoning")
        part.pieces.append(event.text)
        part.redacted = part.redacted or event.redacted
        if event.signature:  # an empty one is what some providers send before they have any
            part.signature = event.signature
        part.sealed = part.signature is not None or part.redacted

    def _invalid(self, what: str) -> ModelResponseError:
        return ModelResponseError(
            f"the model's stream is not one: {what}", code="invalid_stream", provider=self._start.provider or None
        )

    def partial(self) -> Response:
        """What has arrived so far; marked partial, and so is its usage, unless the stream has ended."""
        usage = (self._start.usage or Usage()).updated(self._end.usage)
        if not self.ended:
            usage = Usage(**{**{name: getattr(usage, name) for name in _COUNTS}, "partial": True})
        warnings = self._end.warnings
        if self._lost:
            lost = f"{self._lost} pieces of arguments belong to a call that never began"
            warnings = (*warnings, ModelWarning(WarningType.COMPATIBILITY, "tool_call_delta", lost))
        return Response(
            message=Message(Role.ASSISTANT, tuple(part.part() for part in self._parts)),
            finish_reason=self._end.finish_reason,
            usage=usage,
            id=self._start.id,
            model=self._start.model,
            provider=self._start.provider,
            citations=tuple(self._citations),
            grounding=self._end.grounding,
            warnings=warnings,
            partial=not self.ended,
            incomplete_reason=self._end.incomplete_reason,
            raw=self._end.raw,
        )

    def response(self) -> Response:
        """The response of the whole stream.

        Raises:
            IncompleteStreamError: when `MessageEnd` has not come; its ``response`` has what arrived.
        """
        response = self.partial()
        if not self.ended:
            raise IncompleteStreamError(
                "the stream ended before the answer did", provider=self._start.provider or None, response=response
            )
        return response


_COUNTS = ("input_tokens", "output_tokens", "reasoning_tokens", "cached_input_tokens", "cache_write_tokens")


async def collect(stream: ModelStream) -> Response:
    """Read a stream to its end and give the response; the stream is closed in every case.

    Raises:
        IncompleteStreamError: when the stream stops without `MessageEnd`.
        ModelError: what the stream raised, with what had arrived as its ``response``.
    """
    collector = Collector()
    async with stream:
        try:
            async for event in stream:
                collector.add(event)
        except ModelError as error:
            error.response = collector.partial()
            raise
    return collector.response()


def response_events(response: Response) -> list[StreamEvent]:
    """The events of a stream that would give this response: for models that can only answer in one piece."""
    events: list[StreamEvent] = [MessageStart(response.provider, response.id, response.model)]
    index = 0
    for part in response.message.parts:
        if isinstance(part, TextPart):
            events.append(TextDelta(part.text))
        elif isinstance(part, ReasoningPart):
            events.append(ReasoningDelta(part.text, part.signature, part.redacted))
        elif isinstance(part, ToolCallPart):
            events.append(ToolCallStart(index, part.id, part.name))
            if part.args:
                events.append(ToolCallDelta(index, part.args))
            events.append(ToolCallEnd(index))
            index += 1
    events.extend(CitationDelta(citation) for citation in response.citations)
    events.append(
        MessageEnd(
            response.finish_reason,
            response.usage,
            response.grounding,
            response.warnings,
            response.raw,
            response.incomplete_reason,
        )
    )
    return events
