"""Gates and after-tool hooks: what may be decided about a call before it runs, and about its result afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from touba_sdk.models import InvalidMessageError, ToolResultPart, wire

from .types import ToolCall, ToolOutput, tool_content

__all__ = [
    "DENIED",
    "Allow",
    "Deny",
    "Pause",
    "ToolCallInfo",
    "ToolDecision",
    "ToolResultInfo",
    "ToolResultOverride",
]

#: what the model reads where a gate denies without a reason
DENIED = "tool call denied"


@dataclass(frozen=True, slots=True)
class ToolCallInfo:
    """A call that a gate is asked about. ``turn`` counts from 1, ``batch_index`` from 0 within the turn's calls."""

    call: ToolCall
    turn: int
    batch_index: int
    batch_size: int


class _Decision:
    __slots__ = ()

    updated_input: str | Mapping[str, Any] | None

    def __post_init__(self) -> None:
        given = self.updated_input
        if given is None:
            return
        text = given if isinstance(given, str) else wire.dump_object(dict(given))
        if not isinstance(wire.load_object(text), dict):
            raise InvalidMessageError("updated input is a JSON object")
        object.__setattr__(self, "updated_input", text)

    @property
    def updated_args(self) -> str | None:
        """``updated_input`` as JSON text."""
        found = self.updated_input
        return found if found is None or isinstance(found, str) else wire.dump_object(dict(found))


@dataclass(frozen=True, slots=True)
class Allow(_Decision):
    """The call may run. ``updated_input``: with these arguments, as JSON text of an object or as a mapping."""

    updated_input: str | Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Deny(_Decision):
    """The call does not run; the model reads the reason and goes on."""

    reason: str = ""
    updated_input: str | Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Pause(_Decision):
    """The run stops before this call; it and the later ones of the turn wait to be resolved."""

    updated_input: str | Mapping[str, Any] | None = None


ToolDecision: TypeAlias = Allow | Deny | Pause


@dataclass(frozen=True, slots=True)
class ToolResultInfo:
    """A call that ran, with the arguments that it ran with, and its result."""

    call: ToolCall
    turn: int
    result: ToolResultPart


@dataclass(frozen=True, slots=True)
class ToolResultOverride:
    """What takes the place of parts of a result; None keeps a part.

    Attributes:
        content: the whole content.
        is_error: whether the model is told that the tool failed.
        terminate: whether the tool asks the run to stop; see `Terminate`.
    """

    content: ToolOutput = None
    is_error: bool | None = None
    terminate: bool | None = None

    def __post_init__(self) -> None:
        if self.content is not None:
            object.__setattr__(self, "content", tool_content(self.content))
