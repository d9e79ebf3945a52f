"""Sessions: one conversation with its usage, its queues, and the tool calls in it that wait for a result.

Invariant: an unanswered tool call stands at the end of the conversation, where `Session.pending` finds it, or nowhere.
What would put a message behind one is refused, or held back until the call is answered.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from touba_sdk.models import InvalidMessageError, Message, Role, ToolCallPart, ToolResultPart, Usage, tool_results, wire

from .errors import InvalidToolResolutionError, PendingToolCallsError, RunActiveError, ToolCallNotPendingError
from .queues import MessageQueue, QueueMode, as_messages
from .run import AgentResult
from .types import ToolOutput, tool_content

__all__ = ["PendingToolCall", "Rejected", "Session", "ToolResolution", "error_text"]


@dataclass(frozen=True, slots=True, eq=False)
class PendingToolCall(ToolCallPart):
    """A call that waits to be resolved. ``args`` is what the model wrote.

    Attributes:
        rewritten: the arguments that a gate put in their place when it paused the run; None where it did not.
    """

    rewritten: str | None = None

    @property
    def effective(self) -> ToolCallPart:
        """The call with the arguments that are to be used."""
        return ToolCallPart(self.id, self.name, self.args if self.rewritten is None else self.rewritten)


@dataclass(frozen=True, slots=True)
class ToolResolution:
    """The result of one pending call, given from outside. ``is_error`` tells the model that it was not done."""

    tool_call_id: str
    content: ToolOutput = None
    is_error: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "content", tool_content(self.content))


@dataclass(frozen=True, slots=True)
class Rejected:
    """In the place of a result: the call is not done, for this reason."""

    reason: str = "tool call rejected"


#: what answers a pending call from outside: content of a result, any JSON value, or a rejection
Resolver: TypeAlias = Callable[[PendingToolCall], Any]


class Session:
    """A conversation, with the tokens that it has cost. Every method may be called from any thread.

    At most one run uses it at a time. Between runs, and while one is going on, messages can be added and queued:
    ``steer`` before the model is called the next time, ``follow_up`` when the agent would otherwise be done.

    Parameters:
        messages: what was said before, oldest first; a text is a message of the user.

    Raises:
        PendingToolCallsError: when a tool call without a result is followed by other messages.

    >>> session = Session(["What is 2+3?"])
    >>> session.messages[0].text
    'What is 2+3?'
    """

    def __init__(self, messages: Iterable[Message | str] = ()):
        self._lock = threading.RLock()
        self._messages: list[Message] = []
        self._held: list[Message] = []
        self._usage = Usage()
        self._running = False
        self._steering = MessageQueue()
        self._follow_ups = MessageQueue()
        self._rewritten: dict[str, str] = {}
        self._children: dict[str, Session] = {}
        self._last_result: AgentResult | None = None
        self.append(*([messages] if isinstance(messages, (str, Message)) else messages))

    # -- the conversation ------------------------------------------------------------------------------------------

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation so far, oldest first."""
        with self._lock:
            return tuple(self._messages)

    @property
    def usage(self) -> Usage:
        """The tokens of all runs of this session."""
        with self._lock:
            return self._usage

    @property
    def last_result(self) -> AgentResult | None:
        """What the last run came to, however it ended; None before the first one has ended."""
        with self._lock:
            return self._last_result

    def append(self, *messages: Message | str) -> None:
        """Add messages; the next call of the model sees them.

        While a run is executing tools they are held back, and placed behind the tools' results.

        Raises:
            PendingToolCallsError: when there is no run and the messages would stand behind unanswered calls.
        """
        added = as_messages(messages)
        with self._lock:
            if self._running and added and self._open_calls():
                self._held.extend(added)
                return
            hidden = _hidden([*self._tail(), *added])
            if hidden:
                raise PendingToolCallsError(hidden)
            self._messages.extend(added)
            self._settle()

    def replace(self, *messages: Message | str) -> None:
        """Put another conversation in the place of this one, as for compaction. Usage and queues stay.

        Raises:
            PendingToolCallsError: when that would lose an unanswered call, or has one in its middle.
        """
        new = as_messages(messages)
        with self._lock:
            kept = {call.id for message in new for call in message.tool_calls}
            lost = tuple(call for call in self._open_calls() if call.id not in kept) or _hidden(new)
            if lost:
                raise PendingToolCallsError(lost)
            self._messages = list(new)
            self._settle()

    def _tail(self) -> list[Message]:
        """The last message that is not of tools, and what follows it."""
        for place in range(len(self._messages) - 1, -1, -1):
            if self._messages[place].role is not Role.TOOL:
                return self._messages[place:]
        return list(self._messages)

    def _open_calls(self) -> tuple[ToolCallPart, ...]:
        tail = self._tail()
        if not tail or tail[0].role is not Role.ASSISTANT:
            return ()
        answered = {result.tool_call_id for message in tail[1:] for result in message.tool_results}
        return tuple(call for call in tail[0].tool_calls if call.id not in answered)

    def _settle(self) -> None:
        """After a change: place what was held back when nothing is unanswered, and forget what is no longer pending."""
        pending = {call.id for call in self._open_calls()}
        if not pending and self._held:
            self._messages.extend(self._held)
            self._held.clear()
        for known in (self._rewritten, self._children):
            for call_id in [each for each in known if each not in pending]:
                del known[call_id]

    # -- queues ----------------------------------------------------------------------------------------------------

    def steer(self, *messages: Message | str) -> None:
        """Queue messages for the next call of the model, whether a run is going on or not."""
        added = as_messages(messages)
        with self._lock:
            self._steering.add(added)

    def follow_up(self, *messages: Message | str) -> None:
        """Queue messages for when the agent would otherwise be done; the run then goes on."""
        added = as_messages(messages)
        with self._lock:
            self._follow_ups.add(added)

    def clear_steering(self) -> None:
        """Forget the queued steering messages."""
        with self._lock:
            self._steering.clear()

    def clear_follow_ups(self) -> None:
        """Forget the queued follow-ups."""
        with self._lock:
            self._follow_ups.clear()

    @property
    def has_queued(self) -> bool:
        """Whether steering messages or follow-ups wait."""
        with self._lock:
            return bool(self._steering) or bool(self._follow_ups)

    # -- pending calls ---------------------------------------------------------------------------------------------

    @property
    def pending(self) -> tuple[PendingToolCall, ...]:
        """The tool calls without a result, in the order in which the model made them."""
        with self._lock:
            return tuple(
                PendingToolCall(call.id, call.name, call.args, self._rewritten.get(call.id))
                for call in self._open_calls()
            )

    @property
    def children(self) -> Mapping[str, Session]:
        """The sessions of agents that paused inside a pending call (``as_tool(on_pause="bubble")``), by call id.

        Resolve what they wait for, and run the agent again: it takes the sub-agents up where they paused.
        """
        with self._lock:
            return dict(self._children)

    def resolve_tool_calls(self, *resolutions: ToolResolution) -> None:
        """Answer some of the pending calls: all of the given ones, or none. The order does not matter.

        Raises:
            RunActiveError: while a run is going on.
            InvalidToolResolutionError: for an empty id, or two resolutions of one call.
            ToolCallNotPendingError: for a call that does not wait.
        """
        with self._lock:
            if self._running:
                raise RunActiveError
            by_id: dict[str, ToolResolution] = {}
            for each in resolutions:
                if not each.tool_call_id or each.tool_call_id in by_id:
                    raise InvalidToolResolutionError("every resolution has the id of another call")
                by_id[each.tool_call_id] = each
            pending = self._open_calls()
            for call_id in by_id:
                if call_id not in {call.id for call in pending}:
                    raise ToolCallNotPendingError(call_id)
            results = [
                ToolResultPart(call.id, call.name, tool_content(by_id[call.id].content), by_id[call.id].is_error)
                for call in pending
                if call.id in by_id
            ]
            if results:
                self._messages.append(tool_results(*results))
                self._settle()

    def resolve(self, answers: Mapping[str, Any]) -> None:
        """Answer pending calls by their ids: with a text, parts, a JSON value, or `Rejected`.

        Raises as `resolve_tool_calls` does.

        >>> session.resolve({"c2": "deployed", "c3": Rejected("not on a Friday")})  # doctest: +SKIP
        """
        self.resolve_tool_calls(*(_resolution(call_id, answer) for call_id, answer in answers.items()))

    def resolve_pending(self, answer: Resolver) -> None:
        """Answer every pending call with what a function of it gives; an exception of it becomes an error result.

        The function is called for one call after the other, and may take its time.

        Raises:
            RunActiveError: while a run is going on.
        """
        resolutions = []
        for call in self._resolvable():
            try:
                resolutions.append(_resolution(call.id, answer(call)))
            except Exception as error:
                resolutions.append(ToolResolution(call.id, error_text(error), True))
        self.resolve_tool_calls(*resolutions)

    async def resolve_pending_async(self, answer: Callable[[PendingToolCall], Awaitable[Any]]) -> None:
        """`resolve_pending` with an async function."""
        resolutions = []
        for call in self._resolvable():
            try:
                resolutions.append(_resolution(call.id, await answer(call)))
            except Exception as error:
                resolutions.append(ToolResolution(call.id, error_text(error), True))
        self.resolve_tool_calls(*resolutions)

    def _resolvable(self) -> tuple[PendingToolCall, ...]:
        with self._lock:
            if self._running:
                raise RunActiveError
            return self.pending

    # -- the stored form -------------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """The session as JSON text. Queues are not part of it."""
        return wire.dump_object(self._document())

    def _document(self) -> dict[str, Any]:
        with self._lock:
            document: dict[str, Any] = {
                "version": wire.VERSION,
                "messages": [wire.to_object(message) for message in self._messages],
                "usage": wire.to_object(self._usage),
            }
            rewritten = [
                wire.to_object(ToolCallPart(call.id, call.name, self._rewritten[call.id]))
                for call in self._open_calls()
                if call.id in self._rewritten
            ]
            if rewritten:
                document["rewritten"] = rewritten
            if self._children:
                document["children"] = {call_id: child._document() for call_id, child in self._children.items()}
            return document

    @classmethod
    def from_json(cls, data: str | bytes | Mapping[str, Any]) -> Session:
        """The session of `to_json`, from its text or its object.

        Raises:
            InvalidMessageError: for what is not JSON, an unknown version or member, or a fault with its path.
            PendingToolCallsError: when an unanswered call is followed by other messages.
        """
        session = cls()
        session.restore(data)
        return session

    def restore(self, data: str | bytes | Mapping[str, Any]) -> None:
        """Take over messages and usage of a stored session; what is queued here stays. Raises as `from_json` does.

        Raises:
            RunActiveError: while a run is going on.
        """
        found = _read(data)
        with self._lock:
            if self._running:
                raise RunActiveError
            self._messages = list(found.messages)
            self._held.clear()
            self._usage = found.usage
            self._rewritten = found.rewritten
            self._children = found.children
            self._settle()

    # -- for the loop ----------------------------------------------------------------------------------------------

    def _claim(self) -> None:
        """Begin a run. Calls whose sub-agents have what they waited for do not stand in its way."""
        with self._lock:
            if self._running:
                raise RunActiveError
            waiting = self._waiting()
            if waiting:
                raise PendingToolCallsError(waiting)
            self._running = True

    def _waiting(self) -> tuple[ToolCallPart, ...]:
        """The calls that somebody has to resolve, here and in the sub-agents that paused."""
        with self._lock:
            waiting: list[ToolCallPart] = []
            for call in self.pending:
                child = self._children.get(call.id)
                waiting.extend((call,) if child is None else child._waiting())
            return tuple(waiting)

    def _release(self, result: AgentResult) -> None:
        with self._lock:
            self._last_result = result
            self._running = False

    def _spend(self, usage: Usage) -> None:
        with self._lock:
            self._usage = self._usage + usage

    def _commit(self, *messages: Message) -> None:
        """Add messages of the run itself."""
        with self._lock:
            self._messages.extend(messages)
            self._settle()

    def _pause(self, rewritten: Mapping[str, str], children: Mapping[str, Session]) -> None:
        """Keep what belongs to calls that stay pending."""
        with self._lock:
            self._rewritten.update(rewritten)
            self._children.update(children)

    def _take_steering(self, mode: QueueMode) -> tuple[Message, ...]:
        with self._lock:
            return self._steering.take(mode)

    def _take_follow_ups(self, mode: QueueMode) -> tuple[Message, ...]:
        with self._lock:
            return self._follow_ups.take(mode)

    def _give_back(self, messages: Sequence[Message], *, follow_ups: bool) -> None:
        """Queue messages again that were taken, but are not in the conversation."""
        with self._lock:
            (self._follow_ups if follow_ups else self._steering).give_back(messages)

    def __repr__(self) -> str:
        with self._lock:
            return f"<Session of {len(self._messages)} messages{', running' if self._running else ''}>"


def error_text(error: BaseException) -> str:
    """The text of an exception, as a result shows it to the model; its class where it has none."""
    return str(error) or type(error).__name__


def _hidden(messages: Iterable[Message]) -> tuple[ToolCallPart, ...]:
    """The calls without a result that other messages follow."""
    unanswered: dict[str, ToolCallPart] = {}
    for message in messages:
        if message.role is Role.TOOL:
            for result in message.tool_results:
                unanswered.pop(result.tool_call_id, None)
        elif unanswered:
            break
        else:
            unanswered = {call.id: call for call in message.tool_calls}
    else:
        return ()
    return tuple(unanswered.values())


def _resolution(call_id: str, answer: Any) -> ToolResolution:
    if isinstance(answer, Rejected):
        return ToolResolution(call_id, answer.reason, True)
    try:
        return ToolResolution(call_id, answer)
    except TypeError:
        return ToolResolution(call_id, wire.dump_object(answer))


@dataclass(frozen=True, slots=True)
class _Stored:
    messages: tuple[Message, ...]
    usage: Usage
    rewritten: dict[str, str]
    children: dict[str, Session]


def _read(data: str | bytes | Mapping[str, Any]) -> _Stored:
    found = _object(wire.load_object(data) if isinstance(data, (str, bytes)) else data, "$")
    version = found.pop("version", wire.VERSION)
    if version != wire.VERSION or isinstance(version, bool):
        raise InvalidMessageError("the version of the session is unknown")
    messages, rewritten = (_list(found.pop(name, None), f"$.{name}") for name in ("messages", "rewritten"))
    usage = found.pop("usage", None)
    children = _object(found.pop("children", {}), "$.children")
    if found:
        raise InvalidMessageError(f"$: a session has no member `{min(found)}`")
    conversation = tuple(wire.from_object(Message, each, f"$.messages[{place}]") for place, each in enumerate(messages))
    hidden = _hidden(conversation)
    if hidden:
        raise PendingToolCallsError(hidden)
    calls = [wire.from_object(ToolCallPart, each, f"$.rewritten[{place}]") for place, each in enumerate(rewritten)]
    return _Stored(
        conversation,
        wire.from_object(Usage, usage, "$.usage") if usage is not None else Usage(),
        {call.id: call.args for call in calls},
        {call_id: Session.from_json(child) for call_id, child in children.items()},
    )


def _object(value: Any, path: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidMessageError(f"{path}: an object was expected, found {type(value).__name__}")
    return dict(value)


def _list(value: Any, path: str) -> list[Any]:
    if value is None:  # what Go writes for an empty list
        return []
    if not isinstance(value, (list, tuple)):
        raise InvalidMessageError(f"{path}: a list was expected, found {type(value).__name__}")
    return list(value)
