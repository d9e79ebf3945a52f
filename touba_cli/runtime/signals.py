"""The operating system's signals, without the module ``signal``: it loads ``enum``, which costs a tenth of a start."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from signal import SIGCHLD, SIGINT, SIGKILL, SIGPIPE, SIGTERM, set_wakeup_fd, signal
else:
    try:
        from _signal import SIGCHLD, SIGINT, SIGKILL, SIGPIPE, SIGTERM, set_wakeup_fd, signal
    except ImportError:
        from signal import SIGCHLD, SIGINT, SIGKILL, SIGPIPE, SIGTERM, set_wakeup_fd, signal

__all__ = ["SIGCHLD", "SIGINT", "SIGKILL", "SIGPIPE", "SIGTERM", "name_of", "set_wakeup_fd", "signal"]


def name_of(number: int) -> str:
    """The name of a signal, ``SIGKILL``; for messages, when a process has ended by it."""
    from signal import Signals

    try:
        return Signals(number).name
    except ValueError:
        return f"number {number}"
