"""What commands print: one JSON document, or readable text at a terminal."""

from __future__ import annotations

import errno
import os
import select

from ..codec import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

STDOUT = 1
STDERR = 2

#: a pipe with room takes so much at once without blocking
_PIPE_BYTES = 4096
#: how long somebody who reads our standard error may be busy before lines are dropped
_RELAY_WAIT_MS = 1_000


def write_all(descriptor: int, data: bytes, progress: Callable[[], None] | None = None) -> bool:
    """Write bytes whatever kind of descriptor it is. False where they are lost though somebody may want them.

    Who closes a pipe before its end wants no more of it; a full disk is another matter.

    Parameters:
        descriptor: where to.
        data: the bytes.
        progress: is called whenever some of them were taken.
    """
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
            if progress is not None:
                progress()
        except BlockingIOError:
            poll = select.poll()
            poll.register(descriptor, select.POLLOUT)
            poll.poll()
        except OSError as fault:
            if fault.errno == errno.EPIPE:
                return True
            note(f"touba: the output could not be written: {(fault.strerror or 'input/output error').lower()}\n")
            return False
    return True


def note(text: str) -> None:
    """Write text to standard error, as far as somebody reads it."""
    relay(text.encode("utf-8", "backslashreplace"))


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


def print_text(text: str) -> None:
    """Write text and a line end to standard output."""
    write_all(STDOUT, text.encode("utf-8", "backslashreplace") + b"\n")


def print_document(data: bytes, progress: Callable[[], None] | None = None) -> bool:
    """Write a JSON document and a line end to standard output; as `write_all`."""
    return write_all(STDOUT, data + b"\n", progress)


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
    if error["hint"]:
        lines.append(f"  hint: {error['hint']}")
    if error["effect"] == "unknown":
        lines.append("  the effect of the call is unknown: find out whether it happened before you run it again")
    return "\n".join(lines) + "\n"


def warning_text(warnings: Iterable[dict[str, str]]) -> str:
    """Warnings as a terminal shows them."""
    return "".join(f"warning: {each['code']}: {each['message']}\n" for each in warnings)


def _indented(text: str) -> str:
    return "\n".join("  " + line for line in text.split("\n"))
