"""What the agent loop itself raises.

Exceptions of models and of hooks leave a run as they are, with a note that names the hook; see the package's text.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from touba_sdk.models import ToolCallPart

    from .run import AgentResult

__all__ = [
    "AgentError",
    "EventWireFormatError",
    "GuardrailError",
    "GuardrailPhase",
    "InvalidAgentError",
    "InvalidArgumentsError",
    "InvalidEventError",
    "InvalidToolResolutionError",
    "NextRequestError",
    "PendingToolCallsError",
    "RunActiveError",
    "SubagentPausedError",
    "ToolCallNotPendingError",
    "ToolDefinitionError",
    "ToolError",
]


class AgentError(Exception):
    """Base of everything that the agent loop raises itself.

    Attributes:
        result: what the run had done when it failed; None where no run was started.
    """

    result: AgentResult | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # The constructors take facts and not the text, so a copy is made without them.
        return _remade, (type(self), self.args), self.__dict__


def _remade(kind: type[AgentError], args: tuple[Any, ...]) -> AgentError:
    return kind.__new__(kind, *args)


class InvalidAgentError(AgentError, ValueError):
    """An agent that cannot be: without a model, with an unnamed tool, two tools of one name, or a broken guardrail."""


class RunActiveError(AgentError):
    """The session has a run that has not ended. Nothing was changed."""

    def __init__(self, message: str = "the session already has an active run"):
        super().__init__(message)


class PendingToolCallsError(AgentError):
    """Tool calls of the session have no result yet, so the conversation cannot go on: resolve them first.

    Attributes:
        pending: these calls.
    """

    def __init__(self, pending: tuple[ToolCallPart, ...] = (), message: str | None = None):
        super().__init__(message or f"the session has {len(pending)} unresolved tool calls")
        self.pending = tuple(pending)


class ToolCallNotPendingError(AgentError, LookupError):
    """A resolution names a call that does not wait for one.

    Attributes:
        tool_call_id: the id of the call.
    """

    def __init__(self, tool_call_id: str):
        super().__init__("the tool call is not pending")
        self.tool_call_id = tool_call_id


class InvalidToolResolutionError(AgentError, ValueError):
    """A resolution without a call id, or two of one id."""


class InvalidEventError(AgentError, ValueError):
    """An event that cannot be, or a model stream that yields something which is no stream event."""


class EventWireFormatError(AgentError, TypeError):
    """Somebody tried to store or send an event. Events belong to one process: make a projection of your own."""

    def __init__(self, message: str = "agent events have no stored form; store a projection of your own"):
        super().__init__(message)


class NextRequestError(AgentError, ValueError):
    """The update of the next request does not fit the tools: its text begins with ``next model request:``."""

    def __init__(self, message: str):
        super().__init__(f"next model request: {message}")


class GuardrailPhase(StrEnum):
    """What a guardrail looks at: the messages that go in, or the answer that comes out."""

    INPUT = "input"
    OUTPUT = "output"


class GuardrailError(AgentError):
    """A guardrail rejected the run; the exception that it raised is the ``cause``.

    Attributes:
        phase: which side it guards.
        name: the guardrail's name.
        cause: what it raised.
    """

    def __init__(self, phase: GuardrailPhase, name: str, cause: BaseException | None = None):
        self.phase = GuardrailPhase(phase)
        super().__init__(f"the {self.phase.value} guardrail {name} rejected the run")
        self.name = name
        self.cause = cause
        self.__cause__ = cause

    def __setstate__(self, state: dict[str, Any] | None) -> None:
        super().__setstate__(state)
        self.__cause__ = self.cause


class ToolDefinitionError(AgentError, TypeError):
    """A function of which no tool can be made."""


class ToolError(AgentError):
    """A tool could not do what it was asked; the text goes to the model. Tools may raise any exception instead."""


class InvalidArgumentsError(ToolError):
    """The arguments of a call do not fit the tool; the tool was not run, so no after-tool hook is asked.

    Its text begins with ``invalid arguments:``.
    """

    def __init__(self, message: str):
        super().__init__(f"invalid arguments: {message}")


class SubagentPausedError(ToolError):
    """An agent that runs as a tool wants calls resolved, which it cannot get there.

    Attributes:
        pending: these calls.
    """

    def __init__(self, pending: tuple[ToolCallPart, ...] = ()):
        super().__init__(f"the sub-agent paused with {len(pending)} pending tool calls")
        self.pending = tuple(pending)
