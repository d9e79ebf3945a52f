"""Events: what a run tells while it goes on. They belong to this process and have no stored form."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NoReturn, TypeAlias

from touba_sdk.models import ContentPart, Message, StreamEvent, ToolCallPart, ToolResultPart, Usage
from touba_sdk.models.streams import STREAM_EVENTS

from .errors import EventWireFormatError, InvalidEventError
from .run import RunMetadata, StopReason

__all__ = [
    "CandidateDiscarded",
    "CandidateIncomplete",
    "Event",
    "EventPayload",
    "EventType",
    "MessageCommitted",
    "ModelStreamEvent",
    "RunCancelled",
    "RunCompleted",
    "RunFailed",
    "RunStarted",
    "ToolCompleted",
    "ToolStarted",
    "ToolUpdated",
    "TurnCompleted",
    "TurnStarted",
    "new_event",
]


class EventType(StrEnum):
    """What an event tells. Every run that started has exactly one of the last three, as its last event."""

    RUN_STARTED = "run_started"
    TURN_STARTED = "turn_started"
    MODEL_STREAM = "model_stream"
    MESSAGE_COMMITTED = "message_committed"
    CANDIDATE_DISCARDED = "candidate_discarded"
    CANDIDATE_INCOMPLETE = "candidate_incomplete"
    TOOL_STARTED = "tool_started"
    TOOL_UPDATED = "tool_updated"
    TOOL_COMPLETED = "tool_completed"
    TURN_COMPLETED = "turn_completed"
    RUN_COMPLETED = "run_completed"
    RUN_FAILED = "run_failed"
    RUN_CANCELLED = "run_cancelled"


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run begins."""


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A turn begins: one call of the model, and the tools that it asks for. Turns count from 1."""

    turn: int


@dataclass(frozen=True, slots=True)
class ModelStreamEvent:
    """A piece of the model's answer; provisional until `MessageCommitted`. Only where the run is streamed."""

    turn: int
    event: StreamEvent


@dataclass(frozen=True, slots=True)
class MessageCommitted:
    """A message was added to the session: an answer, the results of tools, or a queued message."""

    turn: int
    message: Message


@dataclass(frozen=True, slots=True)
class CandidateDiscarded:
    """An answer was rejected and is in no session; what was shown of it should be taken back."""

    turn: int


@dataclass(frozen=True, slots=True)
class CandidateIncomplete:
    """An answer broke off for good. ``text`` is what there was of it, cut where it is long; ``bytes`` its full size."""

    turn: int
    text: str
    bytes: int
    reason: str


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A call is dealt with: the tool runs, or the call is answered without it. `ToolCompleted` follows.

    A call whose agent pauses with ``on_pause="bubble"`` starts again when the run is resumed.
    """

    turn: int
    call: ToolCallPart


@dataclass(frozen=True, slots=True)
class ToolUpdated:
    """A running tool reports what it already has."""

    turn: int
    call: ToolCallPart
    update: tuple[ContentPart, ...]


@dataclass(frozen=True, slots=True)
class ToolCompleted:
    """A call is answered; denials and failures are answers with ``result.is_error``.

    ``ran`` tells whether the tool came to an end of its own. It did not where the call was denied, names no tool, has
    arguments that do not fit, or was cut or cancelled.
    """

    turn: int
    call: ToolCallPart
    result: ToolResultPart
    ran: bool = True


@dataclass(frozen=True, slots=True)
class TurnCompleted:
    """A turn ends. ``usage`` is that of the whole run so far."""

    turn: int
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class RunCompleted:
    """The run ended without an error. ``turns`` counts the answers of the model."""

    turns: int
    stop: StopReason
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class RunFailed:
    """The run ended with an exception of the class ``error_class``, which follows this event."""

    error_class: str
    turns: int = 0
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class RunCancelled:
    """The run was cancelled, or nobody wants its events any more: only `on_event` gets to know."""

    turns: int = 0
    usage: Usage = field(default_factory=Usage)


EventPayload: TypeAlias = (
    RunStarted
    | TurnStarted
    | ModelStreamEvent
    | MessageCommitted
    | CandidateDiscarded
    | CandidateIncomplete
    | ToolStarted
    | ToolUpdated
    | ToolCompleted
    | TurnCompleted
    | RunCompleted
    | RunFailed
    | RunCancelled
)
_TYPES: dict[type, EventType] = {
    RunStarted: EventType.RUN_STARTED,
    TurnStarted: EventType.TURN_STARTED,
    ModelStreamEvent: EventType.MODEL_STREAM,
    MessageCommitted: EventType.MESSAGE_COMMITTED,
    CandidateDiscarded: EventType.CANDIDATE_DISCARDED,
    CandidateIncomplete: EventType.CANDIDATE_INCOMPLETE,
    ToolStarted: EventType.TOOL_STARTED,
    ToolUpdated: EventType.TOOL_UPDATED,
    ToolCompleted: EventType.TOOL_COMPLETED,
    TurnCompleted: EventType.TURN_COMPLETED,
    RunCompleted: EventType.RUN_COMPLETED,
    RunFailed: EventType.RUN_FAILED,
    RunCancelled: EventType.RUN_CANCELLED,
}
_MOST_TEXT = 65_536


class Event:
    """One thing that a run tells: which run, when, and what. Frozen, and safe to keep.

    Attributes:
        run_id: the run.
        parent_run_id: the run that started it; None at the root.
        agent: the agent's name.
        time: when it was told, in UTC; never before the event that came before it.
        payload: what it tells; match on its class.
    """

    __slots__ = ("agent", "parent_run_id", "payload", "run_id", "time")
    __match_args__ = ("payload",)

    run_id: str
    parent_run_id: str | None
    agent: str
    time: datetime.datetime
    payload: EventPayload

    def __init__(
        self, run_id: str, parent_run_id: str | None, agent: str, time: datetime.datetime, payload: EventPayload
    ):
        put = object.__setattr__
        put(self, "run_id", run_id)
        put(self, "parent_run_id", parent_run_id)
        put(self, "agent", agent)
        put(self, "time", time)
        put(self, "payload", payload)

    @property
    def type(self) -> EventType:
        """The kind of the payload."""
        return _TYPES[type(self.payload)]

    @property
    def metadata(self) -> RunMetadata:
        """The run that tells it."""
        return RunMetadata(self.run_id, self.parent_run_id, self.agent)

    def validate(self) -> None:
        """Check that the event can be.

        Raises:
            InvalidEventError: without a run id, with a time that is not in UTC, or with a broken payload.
        """
        if not isinstance(self.run_id, str) or not self.run_id:
            raise InvalidEventError("an event has a run id")
        if not isinstance(self.time, datetime.datetime) or self.time.utcoffset() != datetime.timedelta(0):
            raise InvalidEventError("an event has a time in UTC")
        _check(self.payload)

    def to_json(self) -> NoReturn:
        """Events have no stored form: always raises `EventWireFormatError`."""
        raise EventWireFormatError()

    @classmethod
    def from_json(cls, data: object) -> NoReturn:
        """Events have no stored form: always raises `EventWireFormatError`."""
        raise EventWireFormatError()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> NoReturn:
        raise EventWireFormatError()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise EventWireFormatError()

    def __copy__(self) -> Event:
        return self

    def __deepcopy__(self, memo: object) -> Event:
        return self

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"events are frozen; `{name}` cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"events are frozen; `{name}` cannot be deleted")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Event):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __hash__(self) -> int:
        return hash((self.run_id, self.time, type(self.payload)))

    def __repr__(self) -> str:
        return f"<Event {self.type} of run {self.run_id}>"


def new_event(metadata: RunMetadata, time: datetime.datetime, payload: EventPayload) -> Event:
    """An event that is checked; its time is put into UTC.

    Raises:
        InvalidEventError: when there is no run id, no time with a zone, or the payload is broken.
    """
    if not isinstance(time, datetime.datetime) or time.tzinfo is None:
        raise InvalidEventError("an event has a time with a time zone")
    event = Event(metadata.run_id, metadata.parent_run_id, metadata.agent, time.astimezone(datetime.UTC), payload)
    event.validate()
    return event


def _check(payload: EventPayload) -> None:
    if type(payload) not in _TYPES:
        raise InvalidEventError(f"{type(payload).__name__} is no payload of an event")
    turn = getattr(payload, "turn", 1)
    if not _is_count(turn) or turn < 1:
        raise InvalidEventError("turns count from 1")
    turns = getattr(payload, "turns", 0)
    if not _is_count(turns) or turns < 0:
        raise InvalidEventError("the number of turns is 0 or more")
    members: tuple[tuple[str, type | tuple[type, ...]], ...] = (
        ("message", Message),
        ("call", ToolCallPart),
        ("result", ToolResultPart),
        ("usage", Usage),
        ("stop", StopReason),
        ("event", STREAM_EVENTS),
    )
    for name, kind in members:
        if hasattr(payload, name) and not isinstance(getattr(payload, name), kind):
            raise InvalidEventError(f"the member `{name}` of an event is of the wrong kind")
    if isinstance(payload, CandidateIncomplete):
        size = len(payload.text.encode("utf-8", "surrogatepass"))
        if size > _MOST_TEXT or not _is_count(payload.bytes) or payload.bytes < size:
            raise InvalidEventError("the size of an incomplete answer does not fit its text")


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
