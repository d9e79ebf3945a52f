"""The operating system's signals, without the module ``signal``: it loads ``enum``, which costs a tenth of a start."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from signal import (
        ITIMER_REAL,
        SIG_BLOCK,
        SIG_DFL,
        SIG_UNBLOCK,
        SIGALRM,
        SIGCHLD,
        SIGINT,
        SIGKILL,
        SIGPIPE,
        SIGTERM,
        SIGXFSZ,
        pthread_sigmask,
        set_wakeup_fd,
        setitimer,
        signal,
    )
else:
    try:
        import _signal as _signals
    except ImportError:
        import signal as _signals
    ITIMER_REAL, SIG_BLOCK, SIG_DFL = _signals.ITIMER_REAL, _signals.SIG_BLOCK, _signals.SIG_DFL
    SIG_UNBLOCK, SIGALRM, SIGCHLD = _signals.SIG_UNBLOCK, _signals.SIGALRM, _signals.SIGCHLD
    SIGINT, SIGKILL, SIGPIPE, SIGTERM = _signals.SIGINT, _signals.SIGKILL, _signals.SIGPIPE, _signals.SIGTERM
    SIGXFSZ = _signals.SIGXFSZ
    pthread_sigmask, set_wakeup_fd = _signals.pthread_sigmask, _signals.set_wakeup_fd
    setitimer, signal = _signals.setitimer, _signals.signal

__all__ = [
    "ITIMER_REAL",
    "SIGALRM",
    "SIGCHLD",
    "SIGINT",
    "SIGKILL",
    "SIGPIPE",
    "SIGTERM",
    "SIGXFSZ",
    "SIG_BLOCK",
    "SIG_DFL",
    "SIG_UNBLOCK",
    "hold",
    "name_of",
    "pthread_sigmask",
    "set_wakeup_fd",
    "setitimer",
    "signal",
]


def hold() -> None:
    """Let the signals that ask for an end wait until `interrupts` can take them: Python would die of them, or raise."""
    pthread_sigmask(SIG_BLOCK, (SIGINT, SIGTERM))


def name_of(number: int) -> str:
    """The name of a signal, ``SIGKILL``; for messages, when a process has ended by it."""
    from signal import Signals

    try:
        return Signals(number).name
    except ValueError:
        return f"number {number}"
