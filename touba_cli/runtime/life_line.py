"""A pipe whose end tells a handler that the runtime is gone, and on Linux lets the system kill the handler's group.

A pipe can signal that something happens to it (`O_ASYNC`), and the end of its writer is all that ever happens to a life
line. So the handler need not look at it: whatever it is and does, SIGKILL reaches its group when the runtime is killed.
"""

from __future__ import annotations

import os
import sys

from .signals import SIGKILL


class LifeLine:
    """Both ends of the pipe; ``read`` is what a handler gets. Its end comes with `close`, or with this process.

    Raises:
        OSError: there is no descriptor left.
    """

    __slots__ = ("_write", "read", "signals")

    def __init__(self) -> None:
        # When this process is killed its descriptors are closed, the higher number first. The system thus sees the
        # writer go while there is a reader, also where the handler has closed its own.
        self.read, self._write = os.pipe()
        #: whether the system signals its end
        self.signals = False
        if sys.platform == "linux":
            from fcntl import F_GETFL, F_SETFL, F_SETSIG, fcntl

            try:
                fcntl(self.read, F_SETSIG, SIGKILL)
                fcntl(self.read, F_SETFL, fcntl(self.read, F_GETFL) | os.O_ASYNC)
                self.signals = True
            except OSError:
                return  # this is no full Linux: handlers of the SDK look at the pipe themselves

    def kill_at_end(self, group: int) -> bool:
        """Let the system kill a process group at the end; False where it cannot."""
        if not self.signals:
            return False
        from fcntl import F_SETOWN, fcntl

        try:
            fcntl(self.read, F_SETOWN, -group)
        except OSError:
            return False  # the group is gone already
        return True

    def close(self) -> None:
        """End it: whoever has it takes that as the end of the runtime. Closing twice does nothing."""
        for descriptor in (self._write, self.read):
            if descriptor >= 0:
                os.close(descriptor)
        self.read = self._write = -1
