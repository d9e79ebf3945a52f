"""The driver: one poll loop around the machine. It owns processes, pipes, signals and clocks, and touches no value.

What ends a run from outside is the same thing three times: the end of the life line (the caller is gone or gives up),
SIGTERM and SIGINT. Handlers are then asked to end, killed after a second, and the run ends as cancelled.
"""

from __future__ import annotations

import select
import time

from ..errors import ToubaFailure
from ..limits import SLICE_STEPS, TRACE_EVENTS
from .events import TraceLog
from .interrupts import READABLE, Cancelled
from .machine import Settled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .admission import Handler
    from .calls import HandlerCall
    from .interrupts import Interrupts
    from .machine import Machine, Need, Outcome, Progress
    from .orphans import Strays
    from .spawn import Spawner
    from .teller import Message


class Host:
    """What the driver tells while a run goes on: ``message`` gets shown texts, ``stderr`` lines of handlers."""

    __slots__ = ("message", "stderr")

    def __init__(self, message: Callable[[str], None], stderr: Callable[[bytes], None]):
        self.message = message
        self.stderr = stderr


class Ended:
    """What is known of a run that has ended."""

    __slots__ = ("messages", "outcome", "trace", "usage", "warnings")

    def __init__(
        self,
        outcome: Outcome,
        messages: list[Message],
        warnings: list[dict[str, str]],
        trace: dict[str, Any],
        usage: dict[str, int],
    ):
        self.outcome = outcome
        self.messages = messages
        self.warnings = warnings
        self.trace = trace
        self.usage = usage


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def overdue(deadline_ms: int | None) -> ToubaFailure:
    """The failure of a run that has passed its deadline; ``deadline_ms`` is what was set, where that is known."""
    allowed = "" if deadline_ms is None else f" of {deadline_ms} ms (`deadline_ms` of `run_limits`)"
    return ToubaFailure("DeadlineExceeded", f"the run took longer than its deadline{allowed}")


class Identity:
    """What names a run: its id, the digest of its program and the reference of its entry."""

    __slots__ = ("entry", "program", "run_id")

    def __init__(self, run_id: str, program: str, entry: str):
        self.run_id = run_id
        self.program = program
        self.entry = entry


class Driver:
    """Runs one machine to its end. The current folder is the project root.

    Parameters:
        machine: the run.
        handlers: reference of a tool → how it is served.
        identity: what names the run.
        interrupts: what may end the run from outside.
        host: what is told meanwhile.
        deadline: monotonic seconds at which the run fails, or None.
        deadline_ms: what was set, for the message.
    """

    __slots__ = (
        "_calls", "_deadline", "_deadline_ms", "_handlers", "_host", "_identity", "_interrupts", "_machine",
        "_messages", "_spawner", "_strays", "_trace", "_warnings",
    )  # fmt: skip

    def __init__(
        self,
        machine: Machine,
        handlers: dict[str, Handler],
        identity: Identity,
        interrupts: Interrupts,
        host: Host,
        deadline: float | None = None,
        deadline_ms: int | None = None,
    ):
        self._machine = machine
        self._handlers = handlers
        self._trace = TraceLog()
        self._identity = identity
        self._interrupts = interrupts
        self._host = host
        self._deadline = deadline
        self._deadline_ms = deadline_ms
        self._calls: list[HandlerCall] = []
        self._messages: list[Message] = []
        self._warnings: list[dict[str, str]] = []
        self._spawner: Spawner | None = None
        self._strays: Strays | None = None

    def run(self) -> Ended:
        """Drive the machine to its outcome. Afterwards no process and no descriptor of the run is left."""
        started = _now_ms()
        try:
            outcome = self._drive()
        finally:
            self._end_calls("ToolExited", "the run ended", at_once=True)
            if self._spawner is not None:
                from .orphans import end_orphans

                self._spawner.close()
                end_orphans()
            if self._strays is not None:
                self._strays.close()
        if self._machine.events_left_out:
            text = (
                f"the trace does not tell of {self._machine.events_left_out} more calls, messages and caught failures; "
                f"it holds {TRACE_EVENTS} events about these"
            )
            self._warnings.append({"code": "TraceShortened", "message": text})
        left_out = self._machine.functions_left_out
        if left_out:
            text = (
                f"the trace does not tell of {left_out} more calls of functions; `trace_pure_functions` leaves all out"
            )
            self._warnings.append({"code": "TraceShortened", "message": text})
        used = self._machine.usage
        usage = {"steps": used.steps, "external_calls": used.external_calls}
        identity = self._identity
        trace = self._trace.document(identity.run_id, identity.program, identity.entry, started, _now_ms())
        return Ended(outcome, self._messages, self._warnings, trace, usage)

    def _drive(self) -> Outcome:
        machine = self._machine
        try:
            while True:
                self._look()
                outcome = self._take(machine.advance(SLICE_STEPS, self._look))
                if outcome is not None:
                    return outcome
                if self._calls:
                    self._wait()
        except Cancelled:
            self._stop_calls("the run was cancelled")
            ended = self._take(machine.cancel())
        except ToubaFailure as failure:  # the deadline
            unknown = self._stop_calls("the run's deadline has passed")
            failure.effect = "unknown" if unknown else None
            ended = self._take(machine.abort(failure))
        assert ended is not None
        return ended

    def _look(self) -> None:
        """Between slices: has somebody asked for the end, has the deadline passed?"""
        if self._interrupts.look():
            raise Cancelled
        if self._deadline is not None and time.monotonic() >= self._deadline:
            raise overdue(self._deadline_ms)

    def _take(self, progress: Progress) -> Outcome | None:
        """Keep and tell what is new, and start the handlers that are needed."""
        if progress.events:
            now = _now_ms()
            for event in progress.events:
                self._trace.add(event, now)
        for message in progress.messages:
            self._messages.append(message)
            self._host.message(message.text)
        if progress.outcome is None:
            for need in progress.needs:
                self._start(need)
        return progress.outcome

    # --- handlers -----------------------------------------------------------------------------------------------------

    def _start(self, need: Need) -> None:
        # A run that calls no handler does not need them.
        from .calls import HandlerCall, build_request, not_started
        from .orphans import Strays, adopt_orphans
        from .spawn import Spawner

        handler = self._handlers[need.ref]
        timeout_ms = handler.timeout_ms
        now = time.monotonic()
        deadline_ms = timeout_ms
        if self._deadline is not None:
            deadline_ms = min(timeout_ms, max(1, int((self._deadline - now) * 1000)))
        request = build_request(need, handler, self._identity.run_id, deadline_ms)
        if len(request) > handler.max_request_bytes:
            self._machine.settle(
                need.occurrence,
                Settled.failed(
                    "ToolRequestTooLarge",
                    f"the request to {need.ref} has {len(request)} bytes; {handler.max_request_bytes} are allowed",
                ),
            )
            return
        displaced = handler.displaced()
        if displaced is not None:
            message = f"the handler of {need.ref} was not started: {displaced}"
            self._machine.settle(need.occurrence, Settled.failed("HandlerNotStarted", message))
            return
        first = self._spawner is None
        if first and handler.foreign:
            adopt_orphans()  # a foreign command may leave processes behind sooner than a Python script can
        try:
            if self._spawner is None:
                self._spawner = Spawner()
            child = self._spawner.start(handler.argv, handler.environment)
        except OSError as fault:
            self._machine.settle(need.occurrence, not_started(need.ref, fault))
            return
        self._calls.append(HandlerCall(need, handler, child, request, timeout_ms, now, self._host.stderr))
        if first and not handler.foreign:
            adopt_orphans()
        if self._strays is None:
            self._strays = Strays()
        self._strays.expect(child.pid)

    def _wait(self) -> None:
        """Until a handler has answered. Raises as `_look` does."""
        while not self._settle():
            self._poll(self._deadline)
            self._look()

    def _poll(self, due: float | None) -> None:
        """Wait until something happens or falls due, and let every call look at it."""
        now = time.monotonic()
        poll = select.poll()
        owners: dict[int, HandlerCall] = {}
        for call in self._calls:
            for descriptor, events in call.interests():
                poll.register(descriptor, events)
                owners[descriptor] = call
            look = call.next_look(now)
            due = look if due is None else min(due, look)
        if self._strays is not None:
            due = self._strays.due if due is None else min(due, self._strays.due)
        for descriptor in self._interrupts.descriptors():
            poll.register(descriptor, READABLE)
        wait = -1 if due is None else max(0, int((due - now) * 1000) + 1)
        for descriptor, _ in poll.poll(wait):
            owner = owners.get(descriptor)
            if owner is None:
                self._interrupts.on_ready(descriptor)
            else:
                owner.on_ready(descriptor)
        now = time.monotonic()
        for call in self._calls:
            call.tick(now)
        if self._strays is not None and now >= self._strays.due:
            self._strays.look()

    def _settle(self) -> bool:
        """Hand the outcomes of finished calls to the machine; whether there were any."""
        found = False
        for call in list(self._calls):
            if call.settled is not None:
                self._calls.remove(call)
                self._machine.settle(call.need.occurrence, call.settled)
                found = True
        if found and self._strays is not None:
            self._strays.look()  # what these have left behind
        return found

    def _stop_calls(self, message: str) -> bool:
        """End all handlers, with their grace. True where one leaves an unknown effect, which is also a warning."""
        unknown = False
        for call in self._end_calls("ToolExited", message):
            if call.settled is not None and call.settled.effect == "unknown":
                unknown = True
                text = f"{call.need.ref} was stopped at work (occurrence {call.need.occurrence}): its effect is unknown"
                self._warnings.append({"code": "EffectUnknown", "message": text})
            if call.settled is not None and not call.stopped:
                self._machine.settle(call.need.occurrence, call.settled)
        return unknown

    def _end_calls(self, code: str, message: str, *, at_once: bool = False) -> list[HandlerCall]:
        """Stop the handlers that are at work and wait until they are gone. A second request to end cuts the grace."""
        asked = self._interrupts.requests
        calls, now = self._calls, time.monotonic()
        for call in calls:
            if call.settled is None:
                call.stop(now, code, message, at_once=at_once)
        while any(call.settled is None for call in calls):
            self._calls = [call for call in calls if call.settled is None]
            self._poll(None)
            if self._interrupts.requests > max(asked, 1):
                for call in self._calls:
                    call.stop(time.monotonic(), code, message, at_once=True)
        self._calls = []
        return calls
