"""The settings of an agent, in the form in which the loop uses them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from touba_sdk.models import LanguageModel

from .guardrails import Guardrail
from .queues import QueueMode
from .types import Tool

__all__ = ["DEFAULT_LENGTH_SALVAGE", "DEFAULT_MAX_TURNS", "DEFAULT_PARALLEL_TOOLS", "Settings"]

#: an agent without a limit is the classic failure, so the limit is there unless it is switched off
DEFAULT_MAX_TURNS = 25
#: how many tools of one turn that are marked for it run at the same time
DEFAULT_PARALLEL_TOOLS = 4
#: how often in one run an answer that the token limit cut is asked to go on
DEFAULT_LENGTH_SALVAGE = 2

_Functions = tuple[Callable[[Any], Any], ...]


@dataclass(frozen=True, slots=True)
class Settings:
    """What an agent was made with. Limits that are off are None; hooks are tuples of functions."""

    model: LanguageModel
    name: str
    system: str
    tools: dict[str, Tool]
    max_turns: int | None
    max_tokens: int | None
    parallel_tools: int
    tool_timeout: float | None
    steering_mode: QueueMode
    follow_up_mode: QueueMode
    length_salvage: int
    stop_when: _Functions
    before_tool: _Functions
    after_tool: _Functions
    candidate_answer: _Functions
    prepare_turn: _Functions
    transform_context: _Functions
    request: _Functions
    on_event: _Functions
    input_guardrails: tuple[Guardrail, ...]
    output_guardrails: tuple[Guardrail, ...]
