"""What ends a run from outside. Loaded before everything else of a run, so that a signal is never too early."""

from __future__ import annotations

import os
import select

from . import signals

READABLE = select.POLLIN | select.POLLHUP | select.POLLERR


class Interrupts:
    """What asks a run to end: signals, and the end of the life line once there is one."""

    __slots__ = ("_life_line", "_wake_read", "_wake_write", "requests")

    def __init__(self) -> None:
        self._life_line: int | None = None
        self._wake_read = self._wake_write = -1
        #: how often the end was asked for; from the second time on nothing is waited for
        self.requests = 0

    def attach(self, descriptor: int) -> None:
        """From now on the end of this descriptor counts: standard input of an attached runtime."""
        self._life_line = descriptor

    def watch_signals(self) -> None:
        """Take SIGTERM and SIGINT: a first one never kills the process. For the main thread only."""
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        # Python restarts an interrupted poll; a byte in this pipe makes it return.
        signals.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        for number in (signals.SIGTERM, signals.SIGINT):
            signals.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: object) -> None:
        self.requests += 1

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
