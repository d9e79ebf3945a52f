"""The in-process agent loop: a model that is called, and whose tools run, in turns, until it is done.

An `Agent` is a model with tools, hooks and limits; a `Session` is one conversation. A run works on a session and ends
with a `StopReason`, or with an exception:

* what the loop itself refuses is an `AgentError`, with the partial result as its ``result``;
* what a model or a hook raises leaves the run as it is, with a note that names the hook;
* a cancellation is that of the event loop.

Whatever ended it, the session is whole: every tool call has a result or is found by ``session.pending``, and
``session.last_result`` tells how far the run came. Tools never end a run: what they raise, the model reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _lazy
from .errors import (
    AgentError,
    EventWireFormatError,
    GuardrailError,
    GuardrailPhase,
    InvalidAgentError,
    InvalidArgumentsError,
    InvalidEventError,
    InvalidToolResolutionError,
    NextRequestError,
    PendingToolCallsError,
    RunActiveError,
    SubagentPausedError,
    ToolCallNotPendingError,
    ToolDefinitionError,
    ToolError,
)
from .events import (
    CandidateDiscarded,
    CandidateIncomplete,
    Event,
    EventPayload,
    EventType,
    MessageCommitted,
    ModelStreamEvent,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunStarted,
    ToolCompleted,
    ToolStarted,
    ToolUpdated,
    TurnCompleted,
    TurnStarted,
    new_event,
)
from .gates import (
    Allow,
    Deny,
    Pause,
    ToolCallInfo,
    ToolDecision,
    ToolResultInfo,
    ToolResultOverride,
)
from .guardrails import (
    Guardrail,
    InputGuardrailInfo,
    OutputGuardrailInfo,
)
from .hooks import (
    CandidateAnswerDecision,
    CandidateAnswerInfo,
    ModelRequestUpdate,
    TurnUpdate,
)
from .queues import (
    QueueMode,
)
from .run import (
    AgentResult,
    RunInfo,
    RunMetadata,
    StopReason,
    current_run,
)
from .session import (
    PendingToolCall,
    Rejected,
    Session,
    ToolResolution,
)
from .settings import (
    DEFAULT_LENGTH_SALVAGE,
    DEFAULT_MAX_TURNS,
    DEFAULT_PARALLEL_TOOLS,
)
from .types import (
    UNDECODABLE_ARGUMENTS,
    RunContext,
    Terminate,
    Tool,
    ToolCall,
    ToolOutput,
    current_context,
    report_progress,
    undecodable_arguments,
)

if TYPE_CHECKING:
    from .agent import Agent, AgentOptions
    from .driver import AgentStream, SyncAgentStream
    from .tools import parallel, provider_tool, text_result, tool

#: names that need an event loop or pydantic, loaded when they are first used → module
_PLACES = {
    "Agent": "agent",
    "AgentOptions": "agent",
    "AgentStream": "driver",
    "SyncAgentStream": "driver",
    "parallel": "tools",
    "provider_tool": "tools",
    "text_result": "tools",
    "tool": "tools",
}

__all__ = [
    "DEFAULT_LENGTH_SALVAGE",
    "DEFAULT_MAX_TURNS",
    "DEFAULT_PARALLEL_TOOLS",
    "UNDECODABLE_ARGUMENTS",
    "Agent",
    "AgentError",
    "AgentOptions",
    "AgentResult",
    "AgentStream",
    "Allow",
    "CandidateAnswerDecision",
    "CandidateAnswerInfo",
    "CandidateDiscarded",
    "CandidateIncomplete",
    "Deny",
    "Event",
    "EventPayload",
    "EventType",
    "EventWireFormatError",
    "Guardrail",
    "GuardrailError",
    "GuardrailPhase",
    "InputGuardrailInfo",
    "InvalidAgentError",
    "InvalidArgumentsError",
    "InvalidEventError",
    "InvalidToolResolutionError",
    "MessageCommitted",
    "ModelRequestUpdate",
    "ModelStreamEvent",
    "NextRequestError",
    "OutputGuardrailInfo",
    "Pause",
    "PendingToolCall",
    "PendingToolCallsError",
    "QueueMode",
    "Rejected",
    "RunActiveError",
    "RunCancelled",
    "RunCompleted",
    "RunContext",
    "RunFailed",
    "RunInfo",
    "RunMetadata",
    "RunStarted",
    "Session",
    "StopReason",
    "SubagentPausedError",
    "SyncAgentStream",
    "Terminate",
    "Tool",
    "ToolCall",
    "ToolCallInfo",
    "ToolCallNotPendingError",
    "ToolCompleted",
    "ToolDecision",
    "ToolDefinitionError",
    "ToolError",
    "ToolOutput",
    "ToolResolution",
    "ToolResultInfo",
    "ToolResultOverride",
    "ToolStarted",
    "ToolUpdated",
    "TurnCompleted",
    "TurnStarted",
    "TurnUpdate",
    "current_context",
    "current_run",
    "new_event",
    "parallel",
    "provider_tool",
    "report_progress",
    "text_result",
    "tool",
    "undecodable_arguments",
]

__getattr__, __dir__ = _lazy(__name__, _PLACES)
