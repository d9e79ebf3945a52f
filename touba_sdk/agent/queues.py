"""Messages that wait for their moment in a conversation, and how many of them a moment takes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from enum import StrEnum
from typing import Literal, TypeAlias

from touba_sdk.models import Message, user_text

__all__ = ["MessageQueue", "QueueMode", "QueueModeName", "as_messages"]


class QueueMode(StrEnum):
    """How many queued messages are put into the conversation at once: the oldest one, or all."""

    ONE = "one"
    ALL = "all"


QueueModeName: TypeAlias = QueueMode | Literal["one", "all"]


def as_messages(given: Iterable[Message | str]) -> tuple[Message, ...]:
    """The messages; a text stands for a message of the user.

    Raises:
        TypeError: for anything else.
    """
    messages = []
    for each in given:
        if isinstance(each, str):
            messages.append(user_text(each))
        elif isinstance(each, Message):
            messages.append(each)
        else:
            raise TypeError(f"{type(each).__name__} is no message; give a Message, or a text for one of the user")
    return tuple(messages)


class MessageQueue:
    """Messages in the order in which they are to be taken. The session that owns it has the lock."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: deque[Message] = deque()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, messages: Iterable[Message]) -> None:
        """Put messages at the end."""
        self._waiting.extend(messages)

    def give_back(self, messages: Iterable[Message]) -> None:
        """Put messages to the front again, in their order: they were taken, but not used."""
        self._waiting.extendleft(reversed(list(messages)))

    def take(self, mode: QueueMode) -> tuple[Message, ...]:
        """The messages of one moment; none when nothing waits."""
        if not self._waiting:
            return ()
        if mode is QueueMode.ONE:
            return (self._waiting.popleft(),)
        taken = tuple(self._waiting)
        self._waiting.clear()
        return taken

    def clear(self) -> None:
        """Forget everything that waits."""
        self._waiting.clear()
