"""Agents: a model with a system prompt, tools, hooks and limits. An agent has no conversation; sessions have."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Literal, NoReturn, TypedDict

from touba_sdk.models import LanguageModel, Message

from . import hooks as hook
from .driver import AgentStream, SyncAgentStream
from .errors import InvalidAgentError
from .execution import seconds
from .guardrails import Guardrail, guardrails
from .hooks import Hooks
from .queues import QueueMode, QueueModeName, as_messages
from .run import AgentResult
from .session import Session
from .settings import DEFAULT_LENGTH_SALVAGE, DEFAULT_MAX_TURNS, DEFAULT_PARALLEL_TOOLS, Settings
from .subagents import AgentTool
from .types import Tool

__all__ = ["Agent", "AgentOptions"]


class AgentOptions(TypedDict, total=False):
    """The keyword arguments of `Agent`, for code that puts them together: ``Agent(model, **options)``."""

    name: str
    system: str
    tools: Iterable[Tool]
    max_turns: int | None
    max_tokens: int | None
    parallel_tools: int
    tool_timeout: float | timedelta | None
    steering_mode: QueueModeName
    follow_up_mode: QueueModeName
    length_salvage: int
    stop_when: Hooks[hook.StopWhen]
    before_tool: Hooks[hook.BeforeTool]
    after_tool: Hooks[hook.AfterTool]
    candidate_answer: Hooks[hook.CandidateAnswer]
    prepare_turn: Hooks[hook.PrepareTurn]
    transform_context: Hooks[hook.TransformContext]
    request: Hooks[hook.RequestHook]
    on_event: Hooks[hook.OnEvent]
    input_guardrails: Iterable[Guardrail]
    output_guardrails: Iterable[Guardrail]


class Agent:
    """A model that works in turns: it is called, the tools that it asks for run, and it is called again.

    An agent never changes and may be used by many tasks and threads at once. A run works on a `Session`.

    Parameters:
        model: any language model; put middleware around it for retries and time-outs.
        name: who this is, in events and results. The model does not see it.
        system: the system prompt of every request.
        tools: what the model may call.
        max_turns: how often the model may be called in one run; None or below 1 for no limit.
        max_tokens: how many tokens, input and output, a run may cost before it starts no further turn; None or below 1
            for no limit. This is not the ``max_tokens`` of a request, which bounds one answer.
        parallel_tools: how many tools of one turn may run at once, among those that are marked for it.
        tool_timeout: how long a tool may take, in seconds; a tool's own ``timeout`` takes its place.
        steering_mode, follow_up_mode: whether one or all of the queued messages are taken at once.
        length_salvage: how often in a run an answer that was cut by the token limit is asked to go on; 0 for never.
        stop_when: asked after every turn that would be followed by another one; true stops the run.
        before_tool: the gate: asked about every call of a turn before any of them runs.
        after_tool: asked about every result of a tool that ran; may change it.
        candidate_answer: asked about every answer without tool calls before it is in the session.
        prepare_turn: asked after every turn for changes: another model, other tools, another conversation.
        transform_context: what the model sees in the place of the session's messages.
        request: may change each request right before it is sent.
        on_event: gets every event of the run before anybody else.
        input_guardrails, output_guardrails: named checks of what goes in and of every answer that comes out.

    Every hook takes one argument, may be async, and may be given as several functions. What a hook raises ends the run
    and reaches the caller as it is, with a note that names the hook and the turn.

    Raises:
        InvalidAgentError: without a model, for an unnamed tool, two tools of one name, or a broken guardrail.

    >>> agent = Agent(model, name="calc", system="Be brief.", tools=[add])  # doctest: +SKIP
    >>> agent.run_sync(Session(), "What is 2+3?").text  # doctest: +SKIP
    '5'
    """

    __slots__ = ("_options", "_settings")

    _settings: Settings
    _options: dict[str, Any]

    def __init__(
        self,
        model: LanguageModel,
        *,
        name: str = "",
        system: str = "",
        tools: Iterable[Tool] = (),
        max_turns: int | None = DEFAULT_MAX_TURNS,
        max_tokens: int | None = None,
        parallel_tools: int = DEFAULT_PARALLEL_TOOLS,
        tool_timeout: float | timedelta | None = None,
        steering_mode: QueueModeName = QueueMode.ONE,
        follow_up_mode: QueueModeName = QueueMode.ONE,
        length_salvage: int = DEFAULT_LENGTH_SALVAGE,
        stop_when: Hooks[hook.StopWhen] = None,
        before_tool: Hooks[hook.BeforeTool] = None,
        after_tool: Hooks[hook.AfterTool] = None,
        candidate_answer: Hooks[hook.CandidateAnswer] = None,
        prepare_turn: Hooks[hook.PrepareTurn] = None,
        transform_context: Hooks[hook.TransformContext] = None,
        request: Hooks[hook.RequestHook] = None,
        on_event: Hooks[hook.OnEvent] = None,
        input_guardrails: Iterable[Guardrail] = (),
        output_guardrails: Iterable[Guardrail] = (),
    ):
        if not isinstance(model, LanguageModel):
            raise InvalidAgentError(f"an agent has a language model, not {type(model).__name__}")
        settings = Settings(
            model=model,
            name=name,
            system=system,
            tools=hook.toolset(tools),
            max_turns=_limit(max_turns),
            max_tokens=_limit(max_tokens),
            parallel_tools=max(1, parallel_tools),
            tool_timeout=seconds(tool_timeout),
            steering_mode=_mode("steering_mode", steering_mode),
            follow_up_mode=_mode("follow_up_mode", follow_up_mode),
            length_salvage=max(0, length_salvage),
            stop_when=hook.hooks("stop_when", stop_when),
            before_tool=hook.hooks("before_tool", before_tool),
            after_tool=hook.hooks("after_tool", after_tool),
            candidate_answer=hook.hooks("candidate_answer", candidate_answer),
            prepare_turn=hook.hooks("prepare_turn", prepare_turn),
            transform_context=hook.hooks("transform_context", transform_context),
            request=hook.hooks("request", request),
            on_event=hook.hooks("on_event", on_event),
            input_guardrails=guardrails(input_guardrails),
            output_guardrails=guardrails(output_guardrails),
        )
        options = {each: getattr(settings, each) for each in Settings.__slots__}
        object.__setattr__(self, "_settings", settings)
        object.__setattr__(self, "_options", {**options, "tools": tuple(settings.tools.values())})

    @property
    def name(self) -> str:
        """The agent's name; empty when it has none."""
        return self._settings.name

    @property
    def model(self) -> LanguageModel:
        """The model that runs begin with."""
        return self._settings.model

    @property
    def system(self) -> str:
        """The system prompt."""
        return self._settings.system

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that runs begin with, in order."""
        return tuple(self._settings.tools.values())

    def replace(self, **changes: Any) -> Agent:
        """A copy with other options, or another ``model``.

        >>> agent.replace(tools=[*agent.tools, search])  # doctest: +SKIP
        """
        return Agent(**{**self._options, **changes})

    __replace__ = replace

    async def run(self, session: Session, *messages: Message | str) -> AgentResult:
        """Add messages to the session and work until the run stops; a text is a message of the user.

        Without messages the run goes on with the session as it is, as after resolving pending calls.

        Raises:
            RunActiveError: the session has a run already.
            PendingToolCallsError: calls of the session wait to be resolved.
            GuardrailError: a guardrail rejected the input or the answer.
            ModelError: as the model raised it.

        Whatever ends the run, ``session.last_result`` has what it came to.
        """
        async with AgentStream(self._settings, session, as_messages(messages), streaming=False) as stream:
            return await stream.finish()

    def run_sync(
        self, session: Session, *messages: Message | str, cancel: threading.Event | None = None
    ) -> AgentResult:
        """`run`, for code without an event loop. It works on one lasting thread that all synchronous calls share.

        Parameters:
            cancel: set it, from any thread, to cancel the run.

        Raises:
            concurrent.futures.CancelledError: the run was cancelled.
            RunSyncInLoopError: when called on that thread itself, as by a hook.
        """
        from touba_sdk.models.portal import call

        given = as_messages(messages)
        return call(self.run, session, *given, cancel=cancel)

    def stream(self, session: Session, *messages: Message | str) -> AgentStream:
        """`run` as a sequence of events, with the model's answers piece by piece.

        >>> async with agent.stream(session, "hi") as stream:  # doctest: +SKIP
        ...     async for event in stream:
        ...         print(event.type)

        Nothing happens before the first event is asked for. Leaving the block cancels the run.
        """
        return AgentStream(self._settings, session, as_messages(messages))

    def stream_sync(self, session: Session, *messages: Message | str) -> SyncAgentStream:
        """`stream`, for code without an event loop.

        >>> with agent.stream_sync(session, "hi") as stream:  # doctest: +SKIP
        ...     for event in stream:
        ...         print(event.type)
        """
        return SyncAgentStream(self.stream(session, *messages))

    def as_tool(
        self,
        name: str,
        description: str,
        *,
        usage: Literal["own", "roll_up"] = "own",
        on_pause: Literal["error", "bubble"] = "error",
    ) -> AgentTool:
        """This agent as a tool of another one. Every call has a session of its own; its final text is the result.

        Parameters:
            name, description: the tool, as the other agent's model sees it.
            usage: ``own`` leaves the tokens with this agent's run; ``roll_up`` counts them in the other run as well,
                and names them in its ``nested_usage``.
            on_pause: what becomes of the call when this agent's gate pauses: ``error`` answers it with an error;
                ``bubble`` pauses the other run too. Then ``session.children`` has the session that waits; when its
                calls are resolved, running the other agent again goes on where this one paused.
        """
        return AgentTool(self, name, description, usage, on_pause)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"agents do not change; use `replace({name}=…)`")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("agents do not change")

    def __repr__(self) -> str:
        settings = self._settings
        return f"<Agent {settings.name!r} with {settings.model.model_id} and {len(settings.tools)} tools>"


def _limit(given: int | None) -> int | None:
    return None if given is None or given <= 0 else given


def _mode(option: str, given: QueueModeName) -> QueueMode:
    try:
        return QueueMode(given)
    except ValueError:
        raise InvalidAgentError(f"{option} is `one` or `all`") from None
