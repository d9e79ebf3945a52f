"""The machine: runs a program and does nothing else. It opens no file, starts no process, reads no clock.

A driver owns it::

    machine = Machine(program, table, "strategy:app/Review", [invoice], RunLimits(), grants)
    while True:
        progress = machine.advance(SLICE_STEPS, pulse)
        ...                                   # show messages, keep events
        if progress.outcome is not None:
            break
        for need in progress.needs:           # start handlers; when one has answered:
            machine.settle(need.occurrence, Settled.given(wire))

Between two calls nothing is hidden: whatever the machine waits for was told as a `Need`. What crosses are wire values
(plain JSON), exactly what a journal keeps; the machine alone decodes, checks types and grants, and counts.
"""

from __future__ import annotations

from ..errors import CODES, ToubaFailure
from ..limits import MAX_DEPTH, MAX_EXTERNAL_CALLS, MAX_STEPS, MAX_VALUE_BYTES
from ..values.check import ValueInvalid
from ..values.model import text_size
from .budget import Budget, TooDeep, allow_recursion
from .events import occurrence_of
from .execution import GeneratedCode, GeneratingState, OwnFailure, catchable, forget_frames, problem_of
from .functions import FunctionTally
from .interpreter import State, unsound
from .tasks import ENDED, RUNNABLE, Frame, Park, Task
from .teller import Teller

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..air.program import Callable as Declared
    from ..air.program import Program
    from ..values.check import TypeTable
    from ..values.model import Value
    from .events import Event
    from .teller import Message


class RunLimits:
    """What a run may use; the figures are those of `touba_cli/limits.py`."""

    __slots__ = ("max_depth", "max_external_calls", "max_steps", "max_value_bytes")

    def __init__(
        self,
        max_steps: int = MAX_STEPS,
        max_depth: int = MAX_DEPTH,
        max_external_calls: int = MAX_EXTERNAL_CALLS,
        max_value_bytes: int = MAX_VALUE_BYTES,
    ):
        self.max_steps = max_steps
        self.max_depth = max_depth
        self.max_external_calls = max_external_calls
        self.max_value_bytes = max_value_bytes


class Need:
    """A tool call that the driver is to make.

    ``arguments`` are wire values by input name; ``effect`` is "none", "read" or "write"; ``timeout_ms`` is None where
    the program names none; ``call_id`` is the span of the call, so that a handler's log and the trace meet.
    """

    __slots__ = ("arguments", "call_id", "effect", "occurrence", "ref", "timeout_ms")

    def __init__(
        self, occurrence: str, ref: str, arguments: dict[str, Any], effect: str, timeout_ms: int | None, call_id: str
    ):
        self.occurrence = occurrence
        self.ref = ref
        self.arguments = arguments
        self.effect = effect
        self.timeout_ms = timeout_ms
        self.call_id = call_id

    def __repr__(self) -> str:
        return f"Need({self.occurrence!r}, {self.ref!r})"


class Settled:
    """How a tool call went: made by `given` or `failed`."""

    __slots__ = ("code", "effect", "memories", "message", "own", "retryable", "value")

    def __init__(self, value: Any, code: str | None, message: str, retryable: bool, effect: str, own: bool):
        self.value = value
        self.code = code
        self.message = message
        self.retryable = retryable
        self.effect = effect
        self.own = own
        #: what was read and written of which memory, as the trace says it
        self.memories: list[dict[str, str]] = []

    @classmethod
    def given(cls, wire: Any, memories: list[dict[str, str]] | None = None) -> Settled:
        """The handler succeeded and gave this wire value, for which it has used these memories."""
        settled = cls(wire, None, "", False, "done", False)
        settled.memories = memories or []
        return settled

    @classmethod
    def failed(
        cls, code: str, message: str, retryable: bool = False, effect: str = "none", own: bool = False
    ) -> Settled:
        """The call failed.

        Parameters:
            code: a code of `touba_cli/errors.py`, or the handler's own.
            message: what may be shown of it.
            retryable: whether the handler says that trying again may help.
            effect: "none", "done" (it is committed, with this error as its outcome) or "unknown"; "unknown" counts
                only for a tool whose effect is "write", and ends the run there.
            own: whether the code is the handler's own although Touba has one of that name. A program's ``attempt``
                always sees a handler's own code.
        """
        return cls(None, code, message, retryable, effect, own or code not in CODES)


class Outcome:
    """How a run ended.

    ``kind`` is "finished" (``result`` is a wire value), "stopped", "failed" (``failure`` says how) or "cancelled";
    ``explanation`` is ``{"ref", "text"}`` where the program gave its own words.
    """

    __slots__ = ("explanation", "failure", "kind", "result")

    def __init__(
        self,
        kind: str,
        result: Any = None,
        explanation: dict[str, str] | None = None,
        failure: ToubaFailure | None = None,
    ):
        self.kind = kind
        self.result = result
        self.explanation = explanation
        self.failure = failure

    def __repr__(self) -> str:
        return f"Outcome({self.kind!r})"


class Progress:
    """What is new since the last call; ``outcome`` is None while the run goes on."""

    __slots__ = ("events", "messages", "needs", "outcome")

    def __init__(self, needs: list[Need], messages: list[Message], events: list[Event], outcome: Outcome | None):
        self.needs = needs
        self.messages = messages
        self.events = events
        self.outcome = outcome


class Usage:
    """What a run has used so far: exact at any moment between two calls."""

    __slots__ = ("external_calls", "steps")

    def __init__(self, steps: int, external_calls: int):
        self.steps = steps
        self.external_calls = external_calls


#: how a run ended → the event that says so, and the outcome of the calls that were open
_ENDS = {
    "finished": ("run_completed", "completed"),
    "stopped": ("run_stopped", "stopped"),
    "failed": ("run_failed", "failed"),
    "cancelled": ("run_cancelled", "cancelled"),
}


class Machine:
    """One run of one program.

    Parameters:
        program: a sound program (`read_program`, or the compiler's own through `load_program`).
        table: its types.
        entry: reference of a strategy, skill or function.
        arguments: the inputs of the entry, decoded, in their order.
        limits: what the run may use.
        granted: reference of a tool → the grants that its handler gets.
        code: what was generated for the same program and table in earlier runs.
        reference: whether the interpreter alone runs the code; for tests.
        trace_functions: whether the functions that statements call are told as events.
    """

    def __init__(
        self,
        program: Program,
        table: TypeTable,
        entry: str,
        arguments: list[Value],
        limits: RunLimits,
        granted: dict[str, frozenset[str]],
        code: GeneratedCode | None = None,
        reference: bool = False,
        trace_functions: bool = True,
    ):
        allow_recursion()
        self._table = table
        self._callables = program.callables
        self._entry = program.callables[entry]
        self._arguments = list(arguments)
        self._limits = limits
        self._granted = granted
        self._budget = Budget(limits.max_steps, limits.max_value_bytes)
        if reference:
            self._state = State(program.callables, table, self._budget)
        else:
            code = code or GeneratedCode(program.callables, table)
            self._state = GeneratingState(program.callables, table, self._budget, code)
        self._task = Task("0")
        self._functions = self._state.functions = FunctionTally() if trace_functions else None
        self._teller = self._state.teller = Teller(self._task, self._functions)
        self._external_calls = 0
        self._run_span = ""
        self._pending: dict[str, Park] = {}
        self._outcome: Outcome | None = None
        self._needs: list[Need] = []

    # The driver's side

    @property
    def usage(self) -> Usage:
        """Steps and tool calls so far."""
        return Usage(self._budget.steps, self._external_calls)

    @property
    def events_left_out(self) -> int:
        """How many calls, messages and caught failures the trace was not told of."""
        return self._teller.left_out

    @property
    def functions_left_out(self) -> int:
        """How many pairs of events about functions were left out, because a trace holds only so many."""
        return 0 if self._functions is None else self._functions.left_out

    def advance(self, max_steps: int, pulse: Callable[[], None]) -> Progress:
        """Run until something is needed, the run has ended, or the slice is used up.

        Parameters:
            max_steps: the slice, in steps. The last charge may go past it.
            pulse: called at the end of every slice inside a function, where the machine cannot return. It returns, or
                raises: a `ToubaFailure` fails the run, anything else leaves `advance` and only `cancel` or `abort`
                may follow.
        """
        self._budget.begin_slice(max_steps, pulse)
        task = self._task
        while self._outcome is None and not self._budget.spent:
            if task.park is not RUNNABLE and task.park.settled is None:
                break
            try:
                self._work(task)
            except ToubaFailure as failure:
                self._catch(task, failure)
        return self._progress()

    def settle(self, occurrence: str, settled: Settled) -> None:
        """Say how a needed call went; the next `advance` goes on with it.

        Raises:
            ValueError: where no call of that occurrence is waited for, or it is settled already.
        """
        park = self._pending.pop(occurrence, None)
        if park is None:
            raise ValueError(f"no call is waited for at `{occurrence}`")
        park.settled = settled

    def cancel(self) -> Progress:
        """End the run as cancelled. An unsettled call counts as unknown for a write, as failed for the rest."""
        return self._end_early("cancelled", None)

    def abort(self, failure: ToubaFailure) -> Progress:
        """End the run with a failure that comes from outside the program, such as `DeadlineExceeded`."""
        return self._end_early("failed", failure)

    def _progress(self) -> Progress:
        teller = self._teller
        progress = Progress(self._needs, teller.messages, teller.events, self._outcome)
        self._needs, teller.messages, teller.events = [], [], []
        return progress

    # One step of a task: up to the next instruction that needs the machine

    def _work(self, task: Task) -> None:
        state = self._state
        state.room = self._limits.max_depth - len(task.frames)
        state.effects = task.effects
        state.frames = task.frames
        if task.park is not RUNNABLE:
            self._take_up(task)
            return
        if not self._run_span:
            self._begin(task)
            return
        why = state.run(task.frames[-1], True)
        # Generated code may have opened more.
        frame = task.frames[-1]
        self._teller.tell_functions(frame.span)
        if why == "give":
            self._give(task, frame)
        elif why == "call":
            self._call(task, frame)
        elif why == "show":
            self._show(task, frame)
        elif why == "stop":
            ref = frame.callable.ref
            self._end(task, "stopped", Outcome("stopped", explanation={"ref": ref, "text": state.result}))

    def _start(self, task: Task) -> None:
        self._run_span = task.new_span()
        self._teller.tell("run_started", self._entry.ref, self._run_span, None, None, {})

    def _begin(self, task: Task) -> None:
        self._start(task)
        if self._entry.kind == "tool":
            raise unsound("a tool is the entry")
        self._check_depth(self._entry.ref)
        self._budget.spend(self._entry.cost)
        task.frames.append(Frame(self._entry, self._arguments, self._run_span))

    def _check_depth(self, ref: str) -> None:
        if self._state.room <= 0:
            raise TooDeep(ref)

    def _give(self, task: Task, frame: Frame) -> None:
        value = self._state.result
        if len(task.frames) == 1:
            result = self._table.encode(frame.callable.gives, value)
            self._end(task, "finished", Outcome("finished", result=result))
            return
        self._close(task, {"outcome": "completed"})
        _store(task.frames[-1], value)

    def _show(self, task: Task, frame: Frame) -> None:
        _, site, ref, _ = frame.callable.code[frame.pc]
        text: str = self._state.result
        self._budget.spend(len(text) >> 4)
        self._teller.show(frame, ref, site, frame.count(site), text, text_size(text))
        frame.pc += 1

    # Calls

    def _call(self, task: Task, frame: Frame) -> None:
        _, site, _, ref, _ = frame.callable.code[frame.pc]
        arguments = self._state.result
        callee = self._callables[ref]
        if callee.kind == "tool":
            self._invoke(task, frame, callee, frame.reach(site), arguments)
            return
        if callee.kind == "function":
            raise unsound("a function is called like a skill")
        self._check_depth(ref)
        self._budget.spend(callee.cost)
        count = frame.count(site)
        began = self._teller.begin_call(frame, ref, site, count)
        told = began is not frame
        occurrence = began.occurrence if told else occurrence_of(frame.occurrence, site, count)
        task.frames.append(Frame(callee, arguments, began.span, occurrence, told))

    def _close(self, task: Task, data: dict[str, Any]) -> None:
        """Take the innermost frame away; the entry's has no event of its own."""
        frame = task.frames.pop()
        if task.frames and frame.told:
            parent = task.frames[-1].span
            self._teller.tell("call_completed", frame.callable.ref, frame.span, parent, frame.occurrence, data)

    def _invoke(self, task: Task, frame: Frame, tool: Declared, occurrence: str, arguments: list[Value]) -> None:
        if self._external_calls >= self._limits.max_external_calls:
            raise ToubaFailure(
                "ExternalCallLimitExceeded",
                f"the run would make more than {self._limits.max_external_calls} tool calls",
            )
        granted = self._granted.get(tool.ref, frozenset())
        missing = [grant for grant in tool.requires if grant not in granted]
        if missing:
            raise ToubaFailure("GrantMissing", f"`{tool.ref}` requires {', '.join(missing)}", ref=tool.ref)
        wire = {
            name: self._table.encode(form, value) for (name, form), value in zip(tool.takes, arguments, strict=True)
        }
        self._external_calls += 1
        span = task.new_span()
        need = Need(occurrence, tool.ref, wire, tool.effect, tool.timeout_ms, span)
        data = {"effect": tool.effect, "grants": sorted(tool.requires)}
        self._teller.tell("tool_invoked", tool.ref, span, frame.span, occurrence, data)
        task.park = self._pending[occurrence] = Park("call", tool, need, span)
        self._needs.append(need)

    def _take_up(self, task: Task) -> None:
        """Go on after a settled call: with its value, or raising its failure."""
        park = task.park
        value, failure, outcome = self._conclude(park)
        task.park = RUNNABLE
        self._tell_tool(task, park, outcome, failure)
        if failure is not None:
            raise failure
        _store(task.frames[-1], value)

    def _conclude(self, park: Park) -> tuple[Value, ToubaFailure | None, str]:
        """The value or the failure of a settled call, and what became of its effect: committed, failed or unknown."""
        tool, settled = park.callee, park.settled
        assert tool is not None
        assert settled is not None
        if settled.code is not None:
            return _conclude_failed(tool, settled, settled.code)
        writes = tool.effect == "write"
        try:
            value = self._table.decode(tool.gives, settled.value, "$", self._budget, edge=True)
        except ValueInvalid as fault:
            outcome, effect = ("unknown", "unknown") if writes else ("failed", "none")
            message = f"{fault.path}: {fault.message}"
            return None, ToubaFailure("ToolResultInvalid", message, ref=tool.ref, effect=effect), outcome
        except ToubaFailure as limit:
            # A limit of the run, met while reading; the handler has said that the call succeeded.
            limit.ref, limit.effect = tool.ref, "done" if writes else "none"
            return None, limit, "committed"
        return value, None, "committed"

    def _tell_tool(self, task: Task, park: Park, outcome: str, failure: ToubaFailure | None) -> None:
        tool, need = park.callee, park.need
        assert tool is not None
        assert need is not None
        data: dict[str, Any] = {"outcome": outcome}
        if failure is not None:
            data["code"] = failure.code
        if park.settled is not None and park.settled.memories:
            data["memories"] = park.settled.memories
        self._teller.tell("tool_completed", tool.ref, park.span, task.frames[-1].span, need.occurrence, data)

    def _tell_functions(self, task: Task) -> None:
        if task.frames:
            self._teller.tell_functions(task.frames[-1].span)

    # Failures

    def _catch(self, task: Task, failure: ToubaFailure) -> None:
        """Go on at the handler of the innermost attempt that may see the failure; else the run fails with it."""
        frames = task.frames
        if isinstance(failure, TooDeep):
            failure.tell([each.callable.ref for each in frames] + self._state.open_functions(failure.__traceback__))
        forget_frames(failure)
        if self._functions is not None:
            self._functions.fail_call(self._budget.remaining, failure.code)
        self._tell_functions(task)
        place = (frames[-1].callable.ref, frames[-1].pc) if frames else (self._entry.ref, 0)
        if failure.place is None:
            failure.place = place
        if failure.ref is None:
            failure.ref = place[0]
        catching = len(frames)
        while catching and not frames[catching - 1].attempts:
            catching -= 1
        if not catching or not catchable(failure):
            self._fail(task, failure)
            return
        while len(frames) > catching:
            self._close(task, {"outcome": "failed", "code": failure.code})
        frame = frames[-1]
        handler, slot, _ = frame.attempts.pop()
        try:
            frame.slots[slot] = problem_of(self._budget, failure)
        except ToubaFailure as larger:
            self._fail(task, larger)
            return
        frame.pc = handler
        self._teller.caught(failure, frame.span)

    def _fail(self, task: Task, failure: ToubaFailure) -> None:
        explanation = None
        if failure.explanation is not None:
            explanation = {"ref": failure.ref or self._entry.ref, "text": failure.explanation}
        self._end(task, "failed", Outcome("failed", explanation=explanation, failure=failure))

    # The end

    def _end(self, task: Task, kind: str, outcome: Outcome) -> None:
        event, calls = _ENDS[kind]
        code = {"code": outcome.failure.code} if outcome.failure is not None else {}
        while task.frames:
            self._close(task, {"outcome": calls, **code})
        task.park = ENDED
        self._outcome = outcome
        used = {"steps": self._budget.steps, "external_calls": self._external_calls}
        self._teller.tell(event, self._entry.ref, self._run_span, None, None, {**code, **used})

    def _end_early(self, kind: str, failure: ToubaFailure | None) -> Progress:
        if self._outcome is not None:
            return self._progress()
        task = self._task
        self._budget.pulse = None  # the driver has decided already
        if not self._run_span:
            self._start(task)
        self._tell_functions(task)
        park = task.park
        self._pending.clear()
        self._needs.clear()
        if park is not RUNNABLE:
            if park.settled is not None:
                _, failed, outcome = self._conclude(park)
            else:
                writes = park.callee is not None and park.callee.effect == "write"
                failed, outcome = None, "unknown" if writes else "failed"
            self._tell_tool(task, park, outcome, failed)
        if failure is None:
            self._end(task, kind, Outcome(kind))
        else:
            if task.frames and failure.place is None:
                failure.place = (task.frames[-1].callable.ref, task.frames[-1].pc)
            self._end(task, kind, Outcome(kind, failure=failure))
        return self._progress()


def _store(frame: Frame, value: Value) -> None:
    """Put the result of the call at which a frame stands into its slot, and go on behind it."""
    slot = frame.callable.code[frame.pc][2]
    if slot is not None:
        frame.slots[slot] = value
    frame.pc += 1


def _conclude_failed(tool: Declared, settled: Settled, code: str) -> tuple[Value, ToubaFailure, str]:
    # What only reads has no effect that could stand or be in doubt.
    effect = settled.effect if tool.effect == "write" else "none"
    outcome = {"none": "failed", "done": "committed", "unknown": "unknown"}[effect]
    if not settled.own:
        return None, ToubaFailure(code, settled.message, ref=tool.ref, effect=effect), outcome
    failure = OwnFailure(code, settled.message, ref=tool.ref, phase="runtime", effect=effect)
    failure.hint = None
    return None, failure, outcome
