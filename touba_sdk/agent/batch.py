"""The tool calls of one turn: asked about, started in order, judged, and all of them answered.

Gates are asked about the whole batch before anything runs. Then one walk goes through the calls in order: a tool that
is marked concurrent starts beside others, every other one (and an unknown name) waits until it is alone. Results keep
the order of the calls; events come in the order in which things happen. Whatever interrupts the walk, `settle` leaves
no call without a result, except those that a gate or a sub-agent paused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from touba_sdk.models import Message, ToolCallPart, ToolResultPart, Usage, tool_results

from .events import EventPayload, ToolCompleted, ToolStarted, ToolUpdated
from .gates import DENIED, Allow, Deny, Pause, ToolCallInfo, ToolResultInfo, ToolResultOverride
from .settings import Settings
from .steps import (
    CANCELLED,
    AskHook,
    AwaitNews,
    Emit,
    Finished,
    Interrupted,
    Outcome,
    Progressed,
    StartTool,
    Steps,
    StopTools,
)
from .types import Tool, ToolCall, decodable, tool_content

if TYPE_CHECKING:
    from .session import Session

__all__ = ["CUT_CALL", "Batch"]

#: what the model reads of a call in an answer that was cut: even arguments that decode may lack their end
CUT_CALL = (
    "the answer hit the output token limit, so the arguments of this call may be incomplete; the tool was not run; "
    "issue the call again"
)
_UNDECODABLE = "invalid arguments: they are not a JSON object"


class _Entry:
    """One call on its way to a result."""

    __slots__ = (
        "call", "child", "completed", "denial", "index", "outcome", "pending", "ran", "result", "rewritten", "started",
        "terminate", "tool", "undecodable",
    )  # fmt: skip

    def __init__(self, index: int, call: ToolCallPart, tool: Tool | None, undecodable: bool, child: Session | None):
        self.index = index
        self.call = call
        self.tool = tool
        self.undecodable = undecodable
        self.child = child
        self.denial: str | None = None
        self.pending = False
        self.rewritten = False
        self.started = False
        self.completed = False
        self.outcome: Outcome | None = None
        self.result: ToolResultPart | None = None
        self.terminate = False
        self.ran = False

    @property
    def concurrent(self) -> bool:
        return self.tool is not None and bool(getattr(self.tool, "concurrent", False))

    @property
    def refusal(self) -> str | None:
        """Why the tool cannot run at all."""
        if self.tool is None:
            return f"unknown tool: {self.call.name}"
        return _UNDECODABLE if self.undecodable else None

    def rewrite(self, args: str) -> None:
        self.call = ToolCallPart(self.call.id, self.call.name, args)
        self.rewritten = True
        self.undecodable = False

    def answer(self, text: str) -> None:
        self.put(Outcome.failure(text, ran=False))

    def put(self, outcome: Outcome) -> None:
        self.result = ToolResultPart(self.call.id, self.call.name, outcome.content, outcome.is_error)
        self.terminate = outcome.terminate
        self.ran = outcome.ran


class Batch:
    """The calls of one turn, or those of paused sub-agents that a run takes up again.

    Parameters:
        settings: the agent's settings.
        turn: the turn, from 1.
        tools: the tools of this turn by name.
        calls: the calls as the model made them.
        spent: told the usage of agents that ran as tools, with the name of the tool.
        children: the sessions of the sub-agents that are taken up, by call id.
    """

    def __init__(
        self,
        settings: Settings,
        turn: int,
        tools: dict[str, Tool],
        calls: Iterable[ToolCallPart],
        spent: Callable[[str, Usage], None],
        children: dict[str, Session] | None = None,
    ):
        self._settings = settings
        self._turn = turn
        self._spent = spent
        self._running: set[int] = set()
        self._entries: list[_Entry] = []
        for index, call in enumerate(calls):
            sound = decodable(call)
            child = (children or {}).get(call.id)
            self._entries.append(_Entry(index, sound, tools.get(call.name), sound is not call, child))

    @property
    def calls(self) -> tuple[ToolCallPart, ...]:
        """The calls, with arguments that can be stored."""
        return tuple(entry.call for entry in self._entries)

    @property
    def paused(self) -> tuple[ToolCallPart, ...]:
        """The calls that wait to be resolved, with the arguments that are to be used."""
        return tuple(entry.call for entry in self._entries if entry.pending)

    @property
    def terminated(self) -> bool:
        """Whether every call of the batch was answered and asked the run to stop."""
        return all(entry.result is not None and entry.terminate for entry in self._entries)

    def rewritten(self) -> dict[str, str]:
        """The arguments that gates put in the place of those of paused calls, by call id."""
        return {entry.call.id: entry.call.args for entry in self._entries if entry.pending and entry.rewritten}

    def children(self) -> dict[str, Session]:
        """The sessions of sub-agents that paused, by call id."""
        return {e.call.id: e.child for e in self._entries if e.pending and e.child is not None}

    def message(self) -> Message | None:
        """The one tool message with the results, in the order of the calls; None where nothing was answered."""
        results = [entry.result for entry in self._entries if entry.result is not None]
        return tool_results(*results) if results else None

    # -- the normal course -----------------------------------------------------------------------------------------

    def refuse(self, text: str) -> Steps[None]:
        """Answer every call with an error; neither gates nor tools get to see them."""
        for entry in self._entries:
            yield from self._answer(entry, text)

    def gates(self) -> Steps[None]:
        """Ask the gates about every call, until one pauses."""
        for entry in self._entries:
            decision = yield from self._ask_gates(entry)
            if isinstance(decision, Deny):
                entry.denial = decision.reason or DENIED
            elif isinstance(decision, Pause):
                for later in self._entries[entry.index :]:
                    later.pending = True
                return

    def _ask_gates(self, entry: _Entry) -> Steps[Allow | Deny | Pause | None]:
        for gate in self._settings.before_tool:
            info = ToolCallInfo(ToolCall.of(entry.call), self._turn, entry.index, len(self._entries))
            decision = yield AskHook("before_tool", gate, info)
            if decision is None:
                continue
            if not isinstance(decision, (Allow, Deny, Pause)):
                raise TypeError(f"a before_tool hook gave {type(decision).__name__}, which is no decision")
            if decision.updated_args is not None:
                entry.rewrite(decision.updated_args)
            if not isinstance(decision, Allow):
                return decision
        return None

    def walk(self) -> Steps[None]:
        """Deal with every call that is not paused, in order."""
        for entry in self._entries:
            if entry.pending:
                continue
            if entry.denial is not None:
                yield from self._answer(entry, entry.denial)
                continue
            most = self._settings.parallel_tools if entry.concurrent else 1
            while len(self._running) >= most:
                yield from self._news()
            refusal = entry.refusal
            if refusal is not None or entry.tool is None:
                yield from self._answer(entry, refusal or CANCELLED)
                continue
            yield from self._begin(entry)
            yield StartTool(entry.index, entry.tool, entry.call, entry.child)
            self._running.add(entry.index)
            while self._running and not entry.concurrent:
                yield from self._news()
        while self._running:
            yield from self._news()

    def _begin(self, entry: _Entry) -> Steps[None]:
        entry.started = True
        yield Emit(ToolStarted(self._turn, entry.call))

    def _complete(self, entry: _Entry) -> Steps[None]:
        if entry.result is not None and not entry.completed:
            entry.completed = True
            yield Emit(ToolCompleted(self._turn, entry.call, entry.result, entry.ran))

    def _answer(self, entry: _Entry, text: str) -> Steps[None]:
        yield from self._begin(entry)
        entry.answer(text)
        yield from self._complete(entry)

    def _news(self) -> Steps[None]:
        news = yield AwaitNews()
        if isinstance(news, Progressed):
            entry = self._entries[news.index]
            if news.index in self._running:
                yield Emit(ToolUpdated(self._turn, entry.call, news.content))
        elif isinstance(news, Finished):
            entry = self._take(news)
            yield from self._judge(entry)
            yield from self._complete(entry)

    def _take(self, news: Finished) -> _Entry:
        self._running.discard(news.index)
        entry = self._entries[news.index]
        if news.outcome.usage is not None:
            self._spent(entry.call.name, news.outcome.usage)
        if news.outcome.child is not None:
            entry.child = news.outcome.child
            entry.pending = True
        else:
            entry.outcome = news.outcome
        return entry

    def _judge(self, entry: _Entry) -> Steps[None]:
        """Ask the after-tool hooks about an outcome, and make it the result."""
        outcome = entry.outcome
        if outcome is None:
            return
        if outcome.ran:
            for hook in self._settings.after_tool:
                outcome = yield from self._override(entry, hook, outcome)
        entry.put(outcome)
        entry.outcome = None

    def _override(self, entry: _Entry, hook: Callable[[ToolResultInfo], object], outcome: Outcome) -> Steps[Outcome]:
        call = entry.call
        result = ToolResultPart(call.id, call.name, outcome.content, outcome.is_error)
        try:
            override = yield AskHook("after_tool", hook, ToolResultInfo(ToolCall.of(call), self._turn, result))
            if override is None:
                return outcome
            if not isinstance(override, ToolResultOverride):
                raise TypeError(f"it gave {type(override).__name__}, which is no override")
        except Exception as error:
            return Outcome.failure(f"after-tool hook raised: {str(error) or type(error).__name__}")
        return Outcome(
            outcome.content if override.content is None else tool_content(override.content),
            outcome.is_error if override.is_error is None else override.is_error,
            outcome.terminate if override.terminate is None else override.terminate,
        )

    # -- when the run ends in between ------------------------------------------------------------------------------

    def settle(self, tell: Callable[[EventPayload], Steps[None]]) -> Steps[None]:
        """Stop what runs, keep what came of it, and answer everything else; ``tell`` never raises."""
        yield StopTools()
        while self._running:
            try:
                news = yield AwaitNews()
            except Interrupted:
                news = None  # whoever interrupts the settling too does not want to wait for it
            if news is None:
                break
            if isinstance(news, Finished):
                self._take(news)
        for entry in self._entries:
            if entry.pending:
                continue
            try:
                yield from self._judge(entry)
            except Interrupted:
                entry.answer(CANCELLED)
            self._answer_silently(entry)
            if not entry.started:
                entry.started = True
                yield from tell(ToolStarted(self._turn, entry.call))
            if entry.result is not None and not entry.completed:
                entry.completed = True
                yield from tell(ToolCompleted(self._turn, entry.call, entry.result, entry.ran))

    def give_up(self) -> None:
        """Answer everything at once, without a step: for when the generator itself is closed."""
        for entry in self._entries:
            self._answer_silently(entry)

    def _answer_silently(self, entry: _Entry) -> None:
        if entry.result is not None or entry.pending:
            return
        if entry.outcome is not None and not self._settings.after_tool:
            entry.put(entry.outcome)
        else:
            entry.answer(entry.denial or CANCELLED)
