"""What runs did, in memory and bounded: a trace of each of the latest runs, and totals of all of them."""

from __future__ import annotations

import datetime
import threading
from bisect import bisect_left
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from touba_sdk.agent.events import (
    Event,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunStarted,
    ToolCompleted,
    ToolStarted,
    TurnCompleted,
)
from touba_sdk.agent.run import StopReason
from touba_sdk.models import Usage

from ._spent import spent_since

__all__ = ["Latency", "Outcome", "Recorder", "RunTrace", "ToolTrace", "Totals"]

#: how a run ended; None while it goes on
Outcome: TypeAlias = Literal["completed", "failed", "cancelled"] | None

#: upper bounds of the classes of durations, in seconds; one class more is for what took longer
BOUNDS = (0.001, 0.01, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0, 300.0)
#: how long a tool's name may be in a trace: the model makes names up
_MOST_NAME = 128


@dataclass(frozen=True, slots=True)
class ToolTrace:
    """One call of a tool.

    Attributes:
        name: the tool's name, as the model called it; a very long one is cut.
        call_id: the id of the call.
        turn: the turn, from 1.
        started, ended: in UTC; ``ended`` is None while it runs.
        failed: whether the result is an error; None while it runs.
        ran: whether the tool ran to its end; not where it was denied, unknown, cut, cancelled or got wrong arguments.
        paused: whether the call was left to be resolved later.
    """

    name: str
    call_id: str
    turn: int
    started: datetime.datetime
    ended: datetime.datetime | None = None
    failed: bool | None = None
    ran: bool | None = None
    paused: bool = False


@dataclass(frozen=True, slots=True)
class RunTrace:
    """One run, without anything that was said in it.

    Attributes:
        run_id, parent_run_id, agent: which run it is.
        started, ended: in UTC; ``ended`` is None while it goes on.
        outcome: how it ended.
        stop: why it stopped; None unless it completed.
        error_class: the class of the exception that it failed with.
        turns, usage: as far as it came.
        tools: the calls, in the order in which they started.
        tools_left_out: how many calls the trace had no room for; the totals count them.
    """

    run_id: str
    parent_run_id: str | None
    agent: str
    started: datetime.datetime
    ended: datetime.datetime | None = None
    outcome: Outcome = None
    stop: StopReason | None = None
    error_class: str | None = None
    turns: int = 0
    usage: Usage = field(default_factory=Usage)
    tools: tuple[ToolTrace, ...] = ()
    tools_left_out: int = 0


@dataclass(frozen=True, slots=True)
class Latency:
    """Durations by class: ``counts[i]`` of them were at most ``bounds[i]`` seconds, and the last of them longer."""

    counts: tuple[int, ...] = (0,) * (len(BOUNDS) + 1)
    seconds: float = 0.0
    bounds: tuple[float, ...] = BOUNDS

    @property
    def count(self) -> int:
        """How many there were."""
        return sum(self.counts)

    def _with(self, seconds: float) -> Latency:
        counts = list(self.counts)
        counts[bisect_left(self.bounds, seconds)] += 1
        return Latency(tuple(counts), self.seconds + seconds, self.bounds)


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts over all runs, also those whose traces are gone.

    ``tool_failures`` are results of tools that ran and failed. ``tool_refusals`` are calls that were answered without
    it: denied, unknown, cut or cancelled, or with arguments that do not fit. ``usage`` grows turn by turn, so it has
    the tokens of runs that fail, too.
    """

    runs_started: int = 0
    runs_completed: int = 0
    runs_failed: int = 0
    runs_cancelled: int = 0
    runs_active: int = 0
    turns: int = 0
    tool_calls: int = 0
    tool_failures: int = 0
    tool_refusals: int = 0
    usage: Usage = field(default_factory=Usage)
    run_latency: Latency = field(default_factory=Latency)
    tool_latency: Latency = field(default_factory=Latency)


class _Run:
    """A run on its way. ``counted`` is the usage that is in the totals; None where the beginning was not seen."""

    __slots__ = ("counted", "left_out", "open", "tools", "trace")

    def __init__(self, trace: RunTrace, counted: Usage | None):
        self.trace = trace
        self.counted = counted
        self.tools: list[ToolTrace] = []
        #: places in ``tools`` of the calls that run, by call id; an id that is used twice has two
        self.open: dict[str, list[int]] = {}
        self.left_out = 0


class Recorder:
    """Keeps traces of the latest runs and totals of all; give it to agents as ``on_event``.

    One recorder serves many agents, tasks and threads. It keeps no message, argument or result.

    Parameters:
        most_runs: how many traces are kept; the oldest run that has ended gives way first.
        most_tools: how many calls one trace holds.

    >>> recorder = Recorder(most_runs=100)
    >>> agent = Agent(model, on_event=recorder)  # doctest: +SKIP
    """

    def __init__(self, *, most_runs: int = 1_000, most_tools: int = 1_000):
        if most_runs < 1 or most_tools < 0:
            raise ValueError("a recorder keeps at least one run, and no negative number of calls")
        self._most_runs = most_runs
        self._most_tools = most_tools
        self._lock = threading.Lock()
        #: by run id, in the order in which they started
        self._active: OrderedDict[str, _Run] = OrderedDict()
        self._ended: OrderedDict[str, RunTrace] = OrderedDict()
        self._totals = Totals()

    # -- asking ------------------------------------------------------------------------------------------------------

    @property
    def totals(self) -> Totals:
        """The counts of this moment."""
        with self._lock:
            return self._totals

    @property
    def runs(self) -> tuple[RunTrace, ...]:
        """The traces that are kept, in the order in which the runs started."""
        with self._lock:
            traces = [*self._ended.values(), *(self._seen(run) for run in self._active.values())]
        return tuple(sorted(traces, key=lambda trace: trace.started))

    def run(self, run_id: str) -> RunTrace | None:
        """The trace of a run; None where it is not known, or not any more."""
        with self._lock:
            run = self._active.get(run_id)
            return self._ended.get(run_id) if run is None else self._seen(run)

    def _seen(self, run: _Run) -> RunTrace:
        return replace(run.trace, tools=tuple(run.tools), tools_left_out=run.left_out)

    # -- being told --------------------------------------------------------------------------------------------------

    def __call__(self, event: Event) -> None:
        """Take up one event. Never raises and never waits for anything but the lock."""
        payload = event.payload
        if not event.run_id:
            return
        with self._lock:
            if event.run_id in self._ended:
                return
            if isinstance(payload, RunStarted):
                self._start(event, Usage())
                self._count(runs_started=1)
            elif isinstance(payload, ToolStarted):
                self._tool_started(self._run(event), event, payload)
            elif isinstance(payload, ToolCompleted):
                self._tool_completed(self._run(event), event, payload)
            elif isinstance(payload, TurnCompleted):
                run = self._run(event)
                self._spend(run, payload.usage)
                self._close_tools(run, event)
                run.trace = replace(run.trace, turns=max(run.trace.turns, payload.turn), usage=payload.usage)
                self._count(turns=1)
            elif isinstance(payload, (RunCompleted, RunFailed, RunCancelled)):
                self._end(self._run(event), event, payload)

    def _run(self, event: Event) -> _Run:
        run = self._active.get(event.run_id)
        # Of a run whose beginning was not seen it is not known what its earlier turns cost, or whether they counted.
        return self._start(event, None) if run is None else run

    def _start(self, event: Event, counted: Usage | None) -> _Run:
        run = _Run(RunTrace(event.run_id, event.parent_run_id, event.agent, event.time), counted)
        if self._active.pop(event.run_id, None) is None:
            self._count(runs_active=1)
        self._active[event.run_id] = run
        self._make_room()
        return run

    def _make_room(self) -> None:
        while len(self._active) + len(self._ended) > self._most_runs:
            if self._ended:
                self._ended.popitem(last=False)
            else:
                self._active.popitem(last=False)
                self._count(runs_active=-1)

    def _tool_started(self, run: _Run, event: Event, payload: ToolStarted) -> None:
        self._count(tool_calls=1)
        if len(run.tools) >= self._most_tools:
            run.left_out += 1
            return
        call = payload.call
        run.open.setdefault(call.id, []).append(len(run.tools))
        run.tools.append(ToolTrace(call.name[:_MOST_NAME], call.id, payload.turn, event.time))

    def _tool_completed(self, run: _Run, event: Event, payload: ToolCompleted) -> None:
        failed = payload.result.is_error
        self._count(tool_failures=int(failed and payload.ran), tool_refusals=int(failed and not payload.ran))
        places = run.open.get(payload.call.id)
        if not places:
            return
        place = places.pop(0)
        if not places:
            del run.open[payload.call.id]
        tool = replace(run.tools[place], ended=event.time, failed=failed, ran=payload.ran)
        run.tools[place] = tool
        if payload.ran:
            latency = self._totals.tool_latency._with(_seconds(tool.started, event.time))
            self._totals = replace(self._totals, tool_latency=latency)

    def _close_tools(self, run: _Run, event: Event) -> None:
        """Calls that have no result at the end of their turn are paused."""
        for places in run.open.values():
            for place in places:
                run.tools[place] = replace(run.tools[place], ended=event.time, paused=True)
        run.open.clear()

    def _spend(self, run: _Run, usage: Usage) -> None:
        if run.counted is not None:
            self._totals = replace(self._totals, usage=self._totals.usage + spent_since(run.counted, usage))
        run.counted = usage

    def _end(self, run: _Run, event: Event, payload: RunCompleted | RunFailed | RunCancelled) -> None:
        self._spend(run, payload.usage)
        self._close_tools(run, event)
        outcome: Outcome = "cancelled"
        stop: StopReason | None = None
        error_class: str | None = None
        if isinstance(payload, RunCompleted):
            outcome, stop = "completed", payload.stop
            self._count(runs_completed=1)
        elif isinstance(payload, RunFailed):
            outcome, error_class = "failed", payload.error_class
            self._count(runs_failed=1)
        else:
            self._count(runs_cancelled=1)
        run.trace = replace(
            run.trace,
            ended=event.time,
            outcome=outcome,
            stop=stop,
            error_class=error_class,
            turns=payload.turns,
            usage=payload.usage,
        )
        latency = self._totals.run_latency._with(_seconds(run.trace.started, event.time))
        self._totals = replace(self._totals, run_latency=latency)
        self._active.pop(event.run_id, None)
        self._count(runs_active=-1)
        self._ended[event.run_id] = self._seen(run)
        self._make_room()

    def _count(self, **added: int) -> None:
        counts = {name: getattr(self._totals, name) + number for name, number in added.items()}
        self._totals = replace(self._totals, **counts)


def _seconds(started: datetime.datetime, ended: datetime.datetime) -> float:
    return max(0.0, (ended - started).total_seconds())
