"""Hooks: the functions with which an application looks into a run and steers it.

Every hook takes one argument, may be async, and runs on the run's own task, one after another. Where a hook may be
given as several functions they are asked in order: gates until one does not allow, after-tool hooks as a pipeline,
``prepare_turn`` with the last word for each member, transforms and request hooks as a pipeline, ``stop_when`` until one
says yes, ``candidate_answer`` until one rejects, ``on_event`` all.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from touba_sdk.models import LanguageModel, Message, Request, ToolChoice, ToolChoiceMode

from .errors import InvalidAgentError, NextRequestError
from .events import Event
from .gates import ToolCallInfo, ToolDecision, ToolResultInfo, ToolResultOverride
from .queues import as_messages
from .run import RunInfo
from .types import Tool

__all__ = [
    "AfterTool",
    "BeforeTool",
    "CandidateAnswer",
    "CandidateAnswerDecision",
    "CandidateAnswerInfo",
    "Hook",
    "Hooks",
    "ModelRequestUpdate",
    "OnEvent",
    "PrepareTurn",
    "RequestHook",
    "StopWhen",
    "TransformContext",
    "TurnUpdate",
    "hooks",
    "toolset",
]


@dataclass(frozen=True, slots=True)
class ModelRequestUpdate:
    """What holds for the next request only.

    Attributes:
        tools: the tools that are declared, and run if called, in that turn; None for the agent's, empty for none.
        tool_choice: which tools the model may or must call; a text is the mode.
        system_suffix: what is added to the system prompt, after an empty line.
    """

    tools: Sequence[Tool] | None = None
    tool_choice: ToolChoice | str | None = None
    system_suffix: str = ""

    def __post_init__(self) -> None:
        if self.tools is not None:
            object.__setattr__(self, "tools", tuple(self.tools))


@dataclass(frozen=True, slots=True)
class TurnUpdate:
    """What changes between two turns of a run; None keeps what is. The agent itself never changes.

    Attributes:
        model: the model of the run from now on.
        replace_messages: the whole conversation of the session from now on, as for compaction.
        tools: the tools of the run from now on; empty for none.
        next_request: what holds for the next request only.
    """

    model: LanguageModel | None = None
    replace_messages: Sequence[Message | str] | None = None
    tools: Sequence[Tool] | None = None
    next_request: ModelRequestUpdate | None = None

    def __post_init__(self) -> None:
        if self.tools is not None:
            object.__setattr__(self, "tools", tuple(self.tools))
        if self.replace_messages is not None:
            object.__setattr__(self, "replace_messages", as_messages(self.replace_messages))


@dataclass(frozen=True, slots=True)
class CandidateAnswerInfo:
    """An answer without tool calls that is not in the session yet, the conversation before it, and the run so far."""

    run: RunInfo
    session_messages: tuple[Message, ...]
    message: Message


@dataclass(frozen=True, slots=True)
class CandidateAnswerDecision:
    """What is to happen with an answer: it is accepted, or, with ``retry``, discarded and asked for again.

    The model does not see its discarded answer; what it is to do differently goes into the update.
    """

    retry: ModelRequestUpdate | None = None


_Info = TypeVar("_Info", contravariant=True)
_Answer = TypeVar("_Answer")
#: a hook: one function, or several
Hook: TypeAlias = Callable[[_Info], Awaitable[_Answer] | _Answer]
StopWhen: TypeAlias = Hook[RunInfo, bool]
BeforeTool: TypeAlias = Hook[ToolCallInfo, ToolDecision | None]
AfterTool: TypeAlias = Hook[ToolResultInfo, ToolResultOverride | None]
CandidateAnswer: TypeAlias = Hook[CandidateAnswerInfo, CandidateAnswerDecision | None]
PrepareTurn: TypeAlias = Hook[RunInfo, TurnUpdate | None]
TransformContext: TypeAlias = Hook[Sequence[Message], Sequence[Message]]
RequestHook: TypeAlias = Hook[Request, Request | None]
OnEvent: TypeAlias = Hook[Event, None]

_Function = TypeVar("_Function", bound=Callable[..., Any])
Hooks: TypeAlias = _Function | Iterable[_Function] | None


def hooks(name: str, given: Hooks[_Function]) -> tuple[_Function, ...]:
    """The functions of a hook.

    Raises:
        InvalidAgentError: for something that cannot be called.
    """
    if given is None:
        return ()
    functions: tuple[Any, ...] = (given,) if callable(given) else tuple(given)
    for each in functions:
        if not callable(each):
            raise InvalidAgentError(f"the hook {name} is {type(each).__name__}, not a function")
    return functions


def toolset(tools: Iterable[Tool]) -> dict[str, Tool]:
    """Tools by their names, in order.

    Raises:
        InvalidAgentError: for what is no tool, an empty name, or two tools of one name.
    """
    by_name: dict[str, Tool] = {}
    for tool in tools:
        if not isinstance(tool, Tool):
            if callable(tool):
                called = getattr(tool, "__name__", type(tool).__name__)
                raise InvalidAgentError(f"`{called}` is no tool: mark the function with `@tool`")
            raise InvalidAgentError(f"{type(tool).__name__} is no tool: it has no declaration or cannot be executed")
        name = tool.declaration.name
        if not name:
            raise InvalidAgentError("a tool has a name")
        if name in by_name:
            raise InvalidAgentError(f"two tools have the name {name}")
        by_name[name] = tool
    return by_name


def checked_choice(given: ToolChoice | str | None, tools: dict[str, Tool]) -> ToolChoice | None:
    """The tool choice of a request update, checked against the tools that it is for.

    Raises:
        NextRequestError: for a mode that does not exist, a name where none belongs, or a tool that is not there.
    """
    if given is None:
        return None
    mode, name = (given, None) if isinstance(given, str) else (given.mode, given.name)
    if mode not in set(ToolChoiceMode):
        raise NextRequestError("the mode of the tool choice is unknown")
    if mode == ToolChoiceMode.TOOL:
        if name not in tools:
            raise NextRequestError("the tool choice names no tool of the request")
    elif name:
        raise NextRequestError(f"a tool choice of mode {mode} names no tool")
    elif mode == ToolChoiceMode.REQUIRED and not tools:
        raise NextRequestError("a tool is required, but there is none")
    return ToolChoice(ToolChoiceMode(mode), name)
