"""The two descriptors that a handler speaks over, and its life line.

A runtime starts a handler with the request as all of its standard input, takes all of its standard output as the
response, and names in TOUBA_HANDLER the descriptor of the life line: a pipe on which nothing is ever written and whose
end means that the runtime is gone.

`take_over` runs when ``touba_sdk.handlers`` is imported in such a process, before any code of the user's: it moves
both wires to descriptors that nobody else knows, so that a stray `print`, or a child process that writes, harms
nothing. In every other process importing changes nothing.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

MARKER = "TOUBA_HANDLER"
#: exit code of a handler whose runtime is gone
ABANDONED = 75


class Wire:
    """Where the request is read from and the response written to. ``process`` is the one that may answer."""

    __slots__ = ("process", "request", "response")

    def __init__(self, request: int, response: int):
        self.request = request
        self.response = response
        self.process = os.getpid()


_taken: Wire | None = None
_attached = False


def take_over() -> None:
    """Where a runtime started this process: move the wire away and watch the life line. Else nothing."""
    global _attached
    marker = os.environ.pop(MARKER, None)
    if marker is None:
        return
    life_line = _life_line(marker)
    move_wire()
    _attached = True
    from _thread import start_new_thread

    start_new_thread(_watch, (life_line,))


def attached() -> bool:
    """Whether a runtime started this process as a handler."""
    return _attached


def by_hand() -> bool:
    """Whether this process serves a call that a person gave it: it has moved its wire, and no runtime started it."""
    return _taken is not None and not _attached


def move_wire() -> Wire:
    """Take standard input and output as the wire; in their place come the null device and standard error."""
    global _taken
    if _taken is None:
        wire = Wire(_above_standard(0), _above_standard(1))
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        os.dup2(2, 1)
        # What the user's code prints comes out line by line, in its order among the lines of standard error.
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(line_buffering=True)
        _taken = wire
    return _taken


def read_request(wire: Wire, limit: int) -> bytes | None:
    """All bytes of the request; None where there are more than the limit."""
    parts: list[bytes] = []
    size = 0
    while True:
        part = os.read(wire.request, 1 << 16)
        if not part:
            os.close(wire.request)
            return b"".join(parts)
        size += len(part)
        if size > limit:
            os.close(wire.request)
            return None
        parts.append(part)


def answer(wire: Wire, response: bytes) -> None:
    """Write the one response and end the process without waiting for threads that are still at work."""
    if os.getpid() != wire.process:
        # A process that the handler forked has come all the way here: the answer is its parent's to give.
        leave(1)
    try:
        if by_hand() and os.isatty(wire.response):
            response += b"\n"  # the prompt of a terminal begins on a line of its own
        view = memoryview(response)
        while view:
            view = view[os.write(wire.response, view) :]
        os.close(wire.response)
    except OSError as fault:
        sys.stderr.write(f"touba: the response could not be written ({type(fault).__name__})\n")
        leave(1)
    leave(0)


def leave(code: int) -> None:
    """End the process: exit functions run and streams are flushed, threads are not waited for."""
    import atexit

    try:
        atexit._run_exitfuncs()
    except BaseException as fault:
        sys.stderr.write(f"touba: an exit function failed ({type(fault).__name__})\n")
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            # The handler closed or replaced it: there is nothing to flush, and nowhere to say so.
            code = code or 0
    os._exit(code)


def listen_for_end(note: Callable[[], None]) -> None:
    """Call ``note`` on SIGTERM instead of ending. Only the main thread can ask for that; elsewhere nothing changes."""
    try:
        from _signal import SIGTERM, signal  # type: ignore[import-not-found]

        signal(SIGTERM, lambda number, frame: note())
    except (ImportError, ValueError):
        sys.stderr.write("touba: `cancelled` was first read outside the main thread; it stays False\n")


def _life_line(marker: str) -> int:
    try:
        descriptor = int(marker) if marker.isascii() and marker.isdigit() else -1
        os.fstat(descriptor)
        os.set_inheritable(descriptor, False)
    except OSError:
        raise RuntimeError(f"{MARKER} is set by the Touba runtime to an open descriptor; unset it elsewhere") from None
    if descriptor <= 2:
        raise RuntimeError(f"{MARKER} is set by the Touba runtime to a descriptor above 2; unset it elsewhere")
    return descriptor


def _above_standard(descriptor: int) -> int:
    """A private copy of a descriptor, above the standard ones and not inherited by children."""
    low: list[int] = []
    copy = os.dup(descriptor)
    while copy <= 2:
        low.append(copy)
        copy = os.dup(descriptor)
    for taken in low:
        os.close(taken)
    return copy


def _watch(life_line: int) -> None:
    try:
        while os.read(life_line, 64):
            continue
    except OSError:
        # Reading failed for good: as sure a sign as the end that nobody is there.
        life_line = -1
    _end_group()


def _end_group() -> None:
    """End this process and all that it started: a handler is a session of its own."""
    try:
        if os.getpgrp() == os.getpid():
            from _signal import SIGKILL

            os.killpg(0, SIGKILL)
    finally:
        os._exit(ABANDONED)
