"""What commands print: one JSON document, or readable text at a terminal."""

from __future__ import annotations

import errno
import os
import select
import time

from ..codec import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from ..runtime.interrupts import Interrupts

STDOUT = 1
STDERR = 2

#: a pipe with room takes so much at once without blocking
_PIPE_BYTES = 4096
#: how long somebody who reads our standard error may be busy before lines are dropped
_RELAY_WAIT_MS = 1_000
_WRITABLE = select.POLLOUT | select.POLLHUP | select.POLLERR
_READABLE = select.POLLIN | select.POLLHUP | select.POLLERR

#: control characters but tab and line feed, and how people see them
_CONTROLS = {code: f"\\u{{{code:x}}}" for code in (*range(0x20), *range(0x7F, 0xA0)) if code not in (0x09, 0x0A)}
_CONTROL_BYTES = bytes(code for code in _CONTROLS if code < 0x80)


def visible(text: str) -> str:
    """Text as it may stand at a terminal: control characters but tab and line feed become visible.

    >>> visible("a\x1b[2Jb")
    'a\\\\u{1b}[2Jb'
    """
    return text.translate(_CONTROLS)


def visible_bytes(data: bytes) -> bytes:
    """The same for bytes of another process, in which a line may end with a carriage return and a line feed."""
    if len(data.translate(None, _CONTROL_BYTES)) == len(data) and b"\xc2" not in data:
        return data
    data = data.replace(b"\r\n", b"\n")
    for code, shown in _CONTROLS.items():
        data = data.replace(chr(code).encode("utf-8"), shown.encode("ascii"))
    return data


def write_all(
    descriptor: int,
    data: bytes,
    progress: Callable[[], None] | None = None,
    *,
    interrupts: Interrupts | None = None,
    due: float | None = None,
) -> bool:
    """Write bytes whatever kind of descriptor it is, without ever being stuck in a write. False where some are lost.

    Who closes a pipe before its end wants no more of it: see `print_document` for what must be delivered whole.

    Parameters:
        descriptor: where to.
        data: the bytes.
        progress: is called whenever some of them were taken.
        interrupts: a request to end gives up what nobody takes.
        due: so does this moment, in monotonic seconds.
    """
    view = memoryview(data)
    poll = select.poll()
    poll.register(descriptor, _WRITABLE)
    for watched in interrupts.descriptors() if interrupts is not None else ():
        poll.register(watched, _READABLE)
    while view:
        wait = None if due is None else max(0, int((due - time.monotonic()) * 1000) + 1)
        ready = [found for found, _ in poll.poll(0 if interrupts is not None and interrupts.requests else wait)]
        if descriptor not in ready:
            if not ready:
                return False
            for found in ready:
                if interrupts is not None:
                    interrupts.on_ready(found)
                    if found not in interrupts.descriptors():
                        poll.unregister(found)
            continue
        try:
            view = view[os.write(descriptor, view[:_PIPE_BYTES]) :]
            if progress is not None:
                progress()
        except BlockingIOError:
            continue
        except OSError as fault:
            if fault.errno == errno.EPIPE:
                raise ClosedPipe from None
            note(f"touba: the output could not be written: {(fault.strerror or 'input/output error').lower()}\n")
            return False
    return True


class ClosedPipe(Exception):
    """Whoever was to read the output has gone."""


def note(text: str) -> None:
    """Write text to standard error, as far as somebody reads it."""
    relay(visible(text).encode("utf-8", "backslashreplace"))


def relay(data: bytes) -> None:
    """Write lines to standard error without ever waiting long: what nobody takes within a second is dropped."""
    view = memoryview(data)
    poll = select.poll()
    poll.register(STDERR, select.POLLOUT)
    while view:
        if not poll.poll(_RELAY_WAIT_MS):
            return
        try:
            view = view[os.write(STDERR, view[:_PIPE_BYTES]) :]
        except BlockingIOError:
            continue
        except OSError:
            return  # standard error is closed: there is nowhere to say so


def relay_visible(data: bytes) -> None:
    """As `relay`, for a terminal: control characters become visible."""
    relay(visible_bytes(data))


def print_text(
    text: str,
    progress: Callable[[], None] | None = None,
    *,
    interrupts: Interrupts | None = None,
    due: float | None = None,
) -> bool:
    """Write text and a line end to standard output, as a terminal may show it; as `write_all`.

    True also where the reader has closed the pipe: it wants no more.
    """
    data = visible(text).encode("utf-8", "backslashreplace") + b"\n"
    try:
        return write_all(STDOUT, data, progress, interrupts=interrupts, due=due)
    except ClosedPipe:
        return True


def print_document(data: bytes, progress: Callable[[], None] | None = None) -> bool:
    """Write a JSON document and a line end to standard output. False where not all of it has arrived."""
    try:
        return write_all(STDOUT, data + b"\n", progress)
    except ClosedPipe:
        return False


def pretty(value: Any, margin: str = "") -> str:
    """JSON with indentation, for people."""
    inner = margin + "  "
    if isinstance(value, dict) and value:
        lines = [f"{inner}{_plain(key)}: {pretty(part, inner)}" for key, part in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{margin}}}"
    if isinstance(value, list) and value:
        if len(value) <= 8 and not any(isinstance(part, dict | list) for part in value):
            line = "[" + ", ".join(_plain(part) for part in value) + "]"
            if len(line) <= 80:
                return line
        return "[\n" + ",\n".join(inner + pretty(part, inner) for part in value) + f"\n{margin}]"
    return _plain(value)


def _plain(value: Any) -> str:
    return encode(value).decode("utf-8")


def error_text(error: dict[str, Any], explanation: str | None = None) -> str:
    """An error as a terminal shows it: code and message with the place, the program's own words, what to do."""
    lines = [f"error: {error['code']}: {error['message']}"]
    if explanation is not None:
        lines.append(_indented(explanation))
    if error["hint"] and explanation is None:  # else it says no more than where the explanation is
        lines.append(f"  hint: {error['hint']}")
    if error["effect"] == "unknown":
        lines.append("  the effect of the call is unknown: find out whether it happened before you run it again")
    return "\n".join(lines) + "\n"


def warning_text(warnings: Iterable[dict[str, str]]) -> str:
    """Warnings as a terminal shows them."""
    return "".join(f"warning: {each['code']}: {each['message']}\n" for each in warnings)


def _indented(text: str) -> str:
    return "\n".join("  " + line for line in text.split("\n"))
