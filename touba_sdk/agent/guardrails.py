"""Guardrails: named checks of what goes into a run and of what comes out of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

from touba_sdk.models import Message

from .errors import InvalidAgentError
from .run import RunInfo, RunMetadata

__all__ = ["Guardrail", "InputGuardrailInfo", "OutputGuardrailInfo", "guardrails"]


@dataclass(frozen=True, slots=True)
class Guardrail:
    """A check with a name. ``check`` gets one argument, may be async, and rejects by raising.

    >>> def no_secrets(info: InputGuardrailInfo) -> None:
    ...     if any("sk-" in message.text for message in info.input):
    ...         raise ValueError("a key is in the message")
    >>> Guardrail("no secrets", no_secrets).name
    'no secrets'
    """

    name: str
    check: Callable[[Any], Awaitable[None] | None]


@dataclass(frozen=True, slots=True)
class InputGuardrailInfo:
    """What an input guardrail sees: the conversation so far, and the messages that the run was given."""

    metadata: RunMetadata
    session_messages: tuple[Message, ...]
    input: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class OutputGuardrailInfo:
    """What an output guardrail sees: the run so far, and the answer that is not in the session yet."""

    run: RunInfo
    message: Message


def guardrails(given: Iterable[Guardrail]) -> tuple[Guardrail, ...]:
    """The guardrails, checked.

    Raises:
        InvalidAgentError: for one without a name or a function.
    """
    checked = tuple(given)
    for each in checked:
        if not isinstance(each, Guardrail):
            raise InvalidAgentError(f"{type(each).__name__} is no guardrail")
        if not each.name:
            raise InvalidAgentError("a guardrail has a name")
        if not callable(each.check):
            raise InvalidAgentError(f"the guardrail {each.name} has no function")
    return checked
