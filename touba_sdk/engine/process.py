"""When to do what with a runtime process: the timeline (pure), and the call that both engines drive.

The order of stopping is always the same: end of input, two seconds, terminate the group, three seconds, kill the group,
two seconds to collect it. Both output pipes are read all the while, so a runtime that still has something to say is
never blocked by the one who stops it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final, Literal

from touba_cli.limits import (
    DEADLINE_SLACK_MS,
    ENVELOPE_BYTES,
    LINGER_MS,
    REAP_MS,
    RUNTIME_CANCEL_MS,
    RUNTIME_TERMINATE_MS,
)

from .child import Child
from .envelope import Ending

#: what a process may write to standard output before it is stopped: a document, and more than one may have
OUTPUT_CAP: Final = ENVELOPE_BYTES + 64 * 1024
#: how often a `cancel` event is looked at
CANCEL_POLL: Final = 0.02

Action = Literal["end_input", "terminate", "kill"]


class Timeline:
    """The stages of one process, over a clock that is handed in. Seconds throughout.

    Stages: ``running`` → ``asked`` (end of input) → ``terminated`` → ``killed``; ``finished`` says that there is
    nothing more to wait for.
    """

    def __init__(self, started: float, *, deadline_ms: int | None = None):
        self.stage: Literal["running", "asked", "terminated", "killed"] = "running"
        self.finished = False
        self._due: float | None = None
        self._deadline = None if deadline_ms is None else started + (deadline_ms + DEADLINE_SLACK_MS) / 1000
        self._exited_at: float | None = None
        self._silent_since: float | None = None
        self._stop_wanted = False
        self._kill_wanted = False

    def stop(self) -> None:
        """Begin the order of stopping, where it has not begun."""
        self._stop_wanted = True

    def force(self) -> None:
        """Kill at the next step."""
        self._kill_wanted = True

    def step(self, now: float, *, exited: bool, output_open: bool) -> tuple[Action | None, float | None]:
        """What to do now, and how long to wait for events at most (None: as long as it takes).

        Parameters:
            now: the time.
            exited: the process has ended.
            output_open: its standard output has not ended.
        """
        if exited:
            return self._linger(now, output_open)
        if self._kill_wanted and self.stage != "killed":
            return self._kill(now)
        if self.stage == "running":
            return self._running(now, output_open)
        if self._due is not None and now >= self._due:
            if self.stage == "asked":
                return self._terminate(now)
            if self.stage == "terminated":
                return self._kill(now)
            self.finished = True  # killed, and not even that ended it: it hangs in the kernel
            return None, 0.0
        return None, self._until(now, self._due)

    def _linger(self, now: float, output_open: bool) -> tuple[None, float | None]:
        """After the end: what is in the pipe is read; a grandchild that holds it open is not waited for."""
        if self._exited_at is None:
            self._exited_at = now
        end = self._exited_at + LINGER_MS / 1000
        if not output_open or now >= end:
            self.finished = True
        return None, self._until(now, end)

    def _running(self, now: float, output_open: bool) -> tuple[Action | None, float | None]:
        if self._stop_wanted:
            self.stage = "asked"
            self._due = now + RUNTIME_CANCEL_MS / 1000
            return "end_input", self._until(now, self._due)
        if self._deadline is not None and now >= self._deadline:
            return self._kill(now)
        waits = [] if self._deadline is None else [self._deadline]
        if not output_open:
            # Nothing can come any more, so the process is about to end; one that is not hangs.
            if self._silent_since is None:
                self._silent_since = now
            patience = self._silent_since + RUNTIME_CANCEL_MS / 1000
            if now >= patience:
                return self._terminate(now)
            waits.append(patience)
        return None, self._until(now, min(waits, default=None))

    def _terminate(self, now: float) -> tuple[Action, float | None]:
        self.stage = "terminated"
        self._due = now + RUNTIME_TERMINATE_MS / 1000
        return "terminate", self._until(now, self._due)

    def _kill(self, now: float) -> tuple[Action, float | None]:
        self.stage = "killed"
        self._due = now + REAP_MS / 1000
        return "kill", self._until(now, self._due)

    @staticmethod
    def _until(now: float, moment: float | None) -> float | None:
        return None if moment is None else max(0.0, moment - now)


class Call:
    """One started runtime, from the line after the spawn to its end.

    Whoever drives it calls `advance` and waits as long as it says for the child to have something, until it is
    `finished`; that is all in which the two engines differ.
    """

    def __init__(
        self,
        child: Child,
        *,
        deadline_ms: int | None,
        cancel: threading.Event | None,
        clock: Callable[[], float] = time.monotonic,
    ):
        self.child = child
        self._cancel = cancel
        self._clock = clock
        self._timeline = Timeline(clock(), deadline_ms=deadline_ms)

    @property
    def finished(self) -> bool:
        return self._timeline.finished

    def stop(self) -> None:
        """Begin the order of stopping."""
        self._timeline.stop()

    def advance(self) -> float | None:
        """Move what can be moved, do what is due. Gives the seconds to wait at most; None: as long as it takes."""
        child = self.child
        child.pump()
        if child.overflow:
            self._timeline.force()
        watching = self._cancel is not None and self._timeline.stage == "running"
        if watching and self._cancel is not None and self._cancel.is_set():
            self._timeline.stop()
            watching = False
        action, pause = self._timeline.step(self._clock(), exited=child.exited, output_open=child.output_open)
        if action == "end_input":
            child.end_input()
        elif action == "terminate":
            child.end_input()
            child.terminate()
        elif action == "kill":
            child.kill()
        if watching:
            return CANCEL_POLL if pause is None else min(pause, CANCEL_POLL)
        return pause

    def ending(self) -> Ending:
        """How the process ended; collects it. Call it once, when finished."""
        child = self.child
        child.close()
        status = child.status
        ended_by_signal = status is not None and status < 0
        return Ending(
            output=child.output,
            stderr=bytes(child.errors),
            exit_code=None if status is None or ended_by_signal else status,
            signal=-status if status is not None and ended_by_signal else None,
            killed=self._timeline.stage == "killed" and not child.overflow,
            overflow=child.overflow,
        )
