"""What a run is and how it ends: its identity, the reasons to stop, and its result."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum

from touba_sdk.models import Response, ToolCallPart, Usage

__all__ = ["AgentResult", "RunInfo", "RunMetadata", "StopReason", "current_run"]


@dataclass(frozen=True, slots=True)
class RunMetadata:
    """Which run this is. ``parent_run_id`` is the run whose tool or hook started it; None at the root."""

    run_id: str
    parent_run_id: str | None = None
    agent: str = ""


class StopReason(StrEnum):
    """Why a run ended without an error.

    ``END_TURN``: the model answered and asked for no tool. ``TRUNCATED``: so it did, but the answer is cut by the
    token limit. ``TERMINATED``: every tool of the last turn raised `Terminate`. ``MAX_TURNS``, ``BUDGET`` and
    ``STOP_WHEN``: a limit forbade another turn. ``PAUSED``: calls wait to be resolved.
    """

    END_TURN = "end_turn"
    MAX_TURNS = "max_turns"
    BUDGET = "budget"
    PAUSED = "paused"
    STOP_WHEN = "stop_when"
    TERMINATED = "terminated"
    TRUNCATED = "truncated"


class _OfRun:
    """Shorthands for the members of ``metadata``."""

    __slots__ = ()

    metadata: RunMetadata

    @property
    def run_id(self) -> str:
        """The id of the run."""
        return self.metadata.run_id

    @property
    def parent_run_id(self) -> str | None:
        """The id of the run that started this one."""
        return self.metadata.parent_run_id

    @property
    def agent(self) -> str:
        """The name of the agent."""
        return self.metadata.agent


@dataclass(frozen=True, slots=True)
class RunInfo(_OfRun):
    """How far a run is, as hooks see it.

    Attributes:
        metadata: which run it is.
        turns: how many times the model has answered in this run.
        usage: the tokens of this run so far.
        response: the latest answer of the model; None before the first.
    """

    metadata: RunMetadata
    turns: int = 0
    usage: Usage = field(default_factory=Usage)
    response: Response | None = None


@dataclass(frozen=True, slots=True)
class AgentResult(_OfRun):
    """How a run ended.

    Attributes:
        metadata: which run it was.
        stop: why it ended; None for a run that failed or was cancelled.
        turns: how many times the model answered.
        usage: the tokens of this run; the session adds up those of all its runs.
        response: the last answer of the model; None when there was none.
        pending: the calls that wait to be resolved, where ``stop`` is ``paused``; with the arguments that a gate
            put in place of the model's.
        nested_usage: what of ``usage`` belongs to agents that ran as tools with ``usage="roll_up"``, by tool name.
    """

    metadata: RunMetadata
    stop: StopReason | None = None
    turns: int = 0
    usage: Usage = field(default_factory=Usage)
    response: Response | None = None
    pending: tuple[ToolCallPart, ...] = ()
    nested_usage: Mapping[str, Usage] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The text of the last answer; empty when there is none."""
        return self.response.text if self.response is not None else ""


#: the run in whose task this code is
RUN: ContextVar[RunMetadata | None] = ContextVar("touba_agent_run", default=None)


def current_run() -> RunMetadata | None:
    """The run on whose behalf this code is called: inside hooks, tools and model calls; None outside of a run.

    >>> current_run() is None
    True
    """
    return RUN.get()
