"""Tells what happens in a run while it happens: events for the trace, and the messages that the program shows."""

from __future__ import annotations

from ..errors import ToubaFailure
from ..limits import MESSAGES_BYTES, TRACE_EVENTS
from .events import Event, occurrence_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from .functions import FunctionTally
    from .tasks import Frame, Task

    #: what knows the span and the occurrence of an open callable: its frame, or the event that began it
    Around: TypeAlias = "Frame | Event"


class Message:
    """A text that the program shows. It is a business value: never put it into a log."""

    __slots__ = ("interaction_ref", "text")

    def __init__(self, interaction_ref: str, text: str):
        self.interaction_ref = interaction_ref
        self.text = text


#: what a message counts besides its text and its reference
_MESSAGE_SIZE = 64

#: the data of most events; nobody changes it
_NOTHING: dict[str, Any] = {}
_COMPLETED: dict[str, Any] = {"outcome": "completed"}


class Teller:
    """Tells what happens in a run, while it happens, as events.

    Parameters:
        task: the task at work.
        functions: what counts the functions that statements call; None where nobody wants to know.

    ``events`` and ``messages`` are those that nobody has taken yet. A trace holds only so many events about calls of
    skills and strategies, messages and caught failures: ``room`` is how many more, ``left_out`` how many things it was
    not told.
    """

    __slots__ = ("_messages_size", "events", "functions", "left_out", "messages", "room", "task")

    def __init__(self, task: Task, functions: FunctionTally | None):
        self.events: list[Event] = []
        self.messages: list[Message] = []
        self._messages_size = 0
        self.functions = functions
        self.room = TRACE_EVENTS
        self.left_out = 0
        self.task = task

    def tell(
        self, kind: str, ref: str, span: str, parent: str | None, occurrence: str | None, data: dict[str, Any]
    ) -> None:
        """Tell one event."""
        self.events.append(Event(kind, ref, span, parent, occurrence, data, self.task.name))

    def has_room(self, events: int) -> bool:
        """Whether the trace takes so many more events about a call, a message or a caught failure."""
        if self.room < events:
            self.room = 0  # what comes later is left out too, however small
            self.left_out += 1
            return False
        self.room -= events
        return True

    def begin_call(self, around: Around, ref: str, site: int, count: int) -> Around:
        """A skill or strategy is called.

        Parameters:
            around: the callable that calls it.
            ref: what is called.
            site: the effect site of the call, which is reached for the ``count``-th time.

        Returns:
            the event of the call, or what is around it where the trace is not told.
        """
        if self.room < 2:
            self.room = 0
            self.left_out += 1
            return around
        self.room -= 2
        task = self.task
        name = task.name
        number = task.spans = task.spans + 1
        step = f"{site}#{count}" if count > 1 else str(site)
        before = around.occurrence
        occurrence = step if before is None else f"{before}/{step}"
        event = Event("call_started", ref, f"{name}.{number}", around.span, occurrence, _NOTHING, name)
        self.events.append(event)
        return event

    def complete_call(self, began: Event) -> None:
        """What began with an event has given its result."""
        self.events.append(
            Event("call_completed", began.ref, began.span, began.parent, began.occurrence, _COMPLETED, began.task)
        )

    def end_call(self, began: Event, data: dict[str, Any]) -> None:
        """What began with an event has ended."""
        self.events.append(
            Event("call_completed", began.ref, began.span, began.parent, began.occurrence, data, began.task)
        )

    def caught(self, failure: ToubaFailure, around: str) -> None:
        """An attempt has caught a failure; ``around`` is the span of its callable."""
        if self.has_room(1):
            ref = str(failure.ref)
            self.tell("failure_caught", ref, self.task.new_span(), around, None, {"code": failure.code})

    def show(self, around: Around, ref: str, site: int, count: int, text: str, size: int) -> None:
        """A callable shows a message.

        Parameters:
            around: the callable.
            ref: the interaction.
            site: its effect site, which is reached for the ``count``-th time.
            text: the message.
            size: that of the text.

        Raises:
            ToubaFailure: MessagesTooLarge.
        """
        self._messages_size += size + len(ref) + _MESSAGE_SIZE
        if self._messages_size > MESSAGES_BYTES:
            raise ToubaFailure("MessagesTooLarge", f"the run would show more than {MESSAGES_BYTES} bytes of messages")
        self.messages.append(Message(ref, text))
        if self.has_room(1):
            occurrence = occurrence_of(around.occurrence, site, count)
            self.tell("message_shown", ref, self.task.new_span(), around.span, occurrence, _NOTHING)

    def tell_functions(self, around: str) -> None:
        """Tell which functions the statements of a callable have called since this was asked last.

        Parameters:
            around: the span of the callable.
        """
        if self.functions is None:
            return
        for row in self.functions.take():
            span = self.task.new_span()
            data: dict[str, Any] = {"outcome": "completed", "times": row.times, "steps": row.steps}
            if row.open:
                data["outcome"] = "cancelled"
            elif row.code is not None:
                data["outcome"], data["code"] = "failed", row.code
            self.tell("function_started", row.ref, span, around, None, _NOTHING)
            self.tell("function_completed", row.ref, span, around, None, data)
