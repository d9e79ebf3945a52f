"""What ends a run from outside. Loaded before everything else of a run, so that a signal is never too early.

The end is asked for by SIGTERM, by SIGINT, and by the end of the life line. How that is noticed depends on what the
main thread does:

* while it reads the request and while it drives the machine it polls, and `look` tells;
* while it compiles and admits a program, and in all commands but `run`, it is busy with nothing but Python: between
  `raise_at_end` and `attend` a request raises `Cancelled` in the middle of that, and a timer looks at the life line and
  at the run's deadline;
* while it writes the result document it may be stuck in a pipe that nobody reads: after `leave_when_stuck` the timer
  ends the process when the end was asked for and nothing moves.
"""

from __future__ import annotations

import os
import select
import sys
import time

from . import signals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sys import UnraisableHookArgs
    from typing import Literal

READABLE = select.POLLIN | select.POLLHUP | select.POLLERR

#: seconds between two looks of the timer, and looks without progress after which a stuck process leaves
_TICK = 0.25
#: seconds after which what was raised in vain is raised again
_AGAIN = 0.001
_STUCK = 6
#: the exit code of a run that was cancelled
_CANCELLED = 130

#: signals that the runtime needs to get, whatever the one who started it had blocked
_NEEDED = (signals.SIGTERM, signals.SIGINT, signals.SIGALRM, signals.SIGCHLD)


class Cancelled(BaseException):
    """The end was asked for. No `Exception`, so that nothing on the way takes it for a fault of its own."""


class Overdue(BaseException):
    """The run's deadline has passed before it began. No `Exception`, for the same reason."""


class Interrupts:
    """What asks a run to end: signals, and the end of the life line once there is one."""

    __slots__ = ("_due", "_life_line", "_mode", "_stuck", "_wake_read", "_wake_write", "requests")

    def __init__(self) -> None:
        self._life_line: int | None = None
        self._wake_read = self._wake_write = -1
        self._mode: Literal["look", "raise", "leave"] = "look"
        self._stuck = 0
        #: monotonic seconds at which `Overdue` is raised while a program is compiled and admitted
        self._due: float | None = None
        #: how often the end was asked for; from the second time on nothing is waited for
        self.requests = 0

    def attach(self, descriptor: int) -> None:
        """From now on the end of this descriptor counts: standard input of an attached runtime."""
        self._life_line = descriptor
        if self._mode == "raise":
            self._set_timer()

    def watch_signals(self) -> None:
        """Take SIGTERM and SIGINT: a first one never kills the process. For the main thread only."""
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        # Python restarts an interrupted poll; a byte in this pipe makes it return.
        signals.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        for number in (signals.SIGTERM, signals.SIGINT):
            signals.signal(number, self._on_signal)
        # Where an application ignores this one, so would we, and the system would not tell how handlers end.
        signals.signal(signals.SIGCHLD, signals.SIG_DFL)
        # Those that an engine or we ourselves have held back come now.
        signals.pthread_sigmask(signals.SIG_UNBLOCK, _NEEDED)

    def _on_signal(self, number: int, frame: object) -> None:
        self.requests += 1
        self._raise()

    def _on_timer(self, number: int, frame: object) -> None:
        asked = self.look()
        if self._mode == "leave" and asked:
            self._stuck += 1
            if self._stuck > _STUCK:
                os._exit(_CANCELLED)
        self._raise()

    def _raise(self) -> None:
        if self._mode == "raise" and self.requests:
            self._mode = "look"  # once: what comes now is the way out
            raise Cancelled
        if self._mode == "raise" and self._due is not None and time.monotonic() >= self._due:
            self._mode = "look"
            raise Overdue

    def _on_unraisable(self, unraisable: UnraisableHookArgs) -> None:
        """What is raised where nothing can be raised (in a callback of the import system, for example) comes again."""
        if unraisable.exc_type not in (Cancelled, Overdue):
            sys.__unraisablehook__(unraisable)
            return
        self._mode = "raise"
        self._set_timer(_AGAIN)

    def raise_at_end(self, due: float | None = None) -> None:
        """From here to `attend` a request to end raises `Cancelled` wherever the main thread is just then.

        Parameters:
            due: monotonic seconds from which on `Overdue` is raised.
        """
        self._mode = "raise"
        self._due = due
        sys.unraisablehook = self._on_unraisable
        if due is not None or self._life_line is not None:
            self._set_timer()
        self.look()
        self._raise()

    def attend(self) -> None:
        """Requests to end are to be looked for again, with `look`."""
        self._mode = "look"
        signals.setitimer(signals.ITIMER_REAL, 0)

    def leave_when_stuck(self) -> None:
        """From here on the process ends when the end was asked for and `progress` is not called for a while."""
        self._mode = "leave"
        self._set_timer()

    def progress(self) -> None:
        """Something was written."""
        self._stuck = 0

    def _set_timer(self, first: float = _TICK) -> None:
        signals.signal(signals.SIGALRM, self._on_timer)
        signals.setitimer(signals.ITIMER_REAL, first, _TICK)

    def descriptors(self) -> list[int]:
        """What to poll for reading."""
        found = [self._life_line] if self._life_line is not None else []
        if self._wake_read >= 0:
            found.append(self._wake_read)
        return found

    def on_ready(self, descriptor: int) -> None:
        """Read what made a descriptor ready. Nothing is ever said on a life line; only its end counts."""
        try:
            data = os.read(descriptor, 4096)
        except BlockingIOError:
            return
        except OSError:
            data = b""  # a terminal that was hung up, for example: nobody is there any more
        if descriptor == self._life_line and not data:
            self._life_line = None
            self.requests += 1

    def look(self) -> bool:
        """Whether the end was asked for, without waiting."""
        descriptors = self.descriptors()
        if descriptors:
            poll = select.poll()
            for descriptor in descriptors:
                poll.register(descriptor, READABLE)
            for descriptor, _ in poll.poll(0):
                self.on_ready(descriptor)
        return self.requests > 0
