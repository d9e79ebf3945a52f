"""An agent as a tool of another agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from touba_sdk.models import InvalidMessageError, ToolDeclaration

from .errors import InvalidArgumentsError, SubagentPausedError
from .run import StopReason
from .session import Session
from .steps import ChildPaused
from .types import ToolCall, ToolOutput, current_context, undecodable_arguments

if TYPE_CHECKING:
    from .agent import Agent

__all__ = ["AgentTool"]


class AgentTool:
    """A tool that has an agent do something; see `Agent.as_tool`."""

    #: whether it may run beside other tools of the same turn; mark it with `parallel` for that
    concurrent = False

    def __init__(
        self,
        agent: Agent,
        name: str,
        description: str,
        usage: Literal["own", "roll_up"],
        on_pause: Literal["error", "bubble"],
    ):
        if usage not in ("own", "roll_up"):
            raise ValueError("usage is `own` or `roll_up`")
        if on_pause not in ("error", "bubble"):
            raise ValueError("on_pause is `error` or `bubble`")
        self._agent = agent
        self._rolls_up = usage == "roll_up"
        self._bubbles = on_pause == "bubble"
        self.declaration = ToolDeclaration(
            name,
            description,
            {
                "type": "object",
                "properties": {"prompt": {"type": "string", "description": "What the agent is to do."}},
                "required": ["prompt"],
                "additionalProperties": False,
            },
        )

    async def execute(self, call: ToolCall) -> ToolOutput:
        """Run the agent in a session of its own and give its final text."""
        context = current_context()
        resumed = context._resumed if context is not None else None
        session = resumed if resumed is not None else Session()
        before = session.last_result
        try:
            result = await self._agent.run(session, *(() if resumed is not None else (_prompt(call),)))
        finally:
            after = session.last_result
            if self._rolls_up and context is not None and after is not None and after is not before:
                context._add_usage(after.usage)
        if result.stop is not StopReason.PAUSED:
            return result.text
        if self._bubbles:
            raise ChildPaused(session)
        raise SubagentPausedError(result.pending)


def _prompt(call: ToolCall) -> str:
    if undecodable_arguments(call) is not None:
        raise InvalidArgumentsError("they are not a JSON object")
    try:
        prompt = call.arguments.get("prompt")
    except InvalidMessageError:
        raise InvalidArgumentsError("they are not a JSON object") from None
    if not isinstance(prompt, str):
        raise InvalidArgumentsError("prompt: a text is required")
    return prompt
