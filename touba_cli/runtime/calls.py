"""One call of a handler process: what is sent, what came back, and what that means for the program.

The request is all of the handler's standard input, the response all of its standard output. Whatever else happens —
exit without answer, a signal, too much, nonsense, time-out — has one code each. For a tool with effect `write` an
outcome that the handler did not state is *unknown*; for the others the call has failed and did nothing.
"""

from __future__ import annotations

import errno
import os
import select

from ..codec import ExactNumber, JsonInvalid, decode, encode, key_digest
from ..documents import read_document
from ..errors import ToubaFailure
from ..limits import (
    ERROR_MESSAGE_CHARACTERS,
    HANDLER_GRACE_MS,
    LINGER_MS,
    SECRET_CHARACTERS,
    STDERR_FORWARDED_BYTES,
    STDERR_TAIL_BYTES,
)
from ..project.files import cause
from . import signals
from .answers import SDK_CODES, code_fault, decoded, leaks, told
from .machine import Settled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .admission import Handler
    from .machine import Need
    from .spawn import Child

_CHUNK = 256 * 1024
_RELAY_BYTES = 64 * 1024
_READABLE = select.POLLIN | select.POLLHUP | select.POLLERR
_WRITABLE = select.POLLOUT | select.POLLHUP | select.POLLERR


def build_request(need: Need, handler: Handler, run_id: str, timeout_ms: int) -> bytes:
    """The bytes of a tool request. The handler gets what its tool requires and nothing else."""
    operation_id = key_digest(run_id, need.occurrence)
    return encode({
        "protocol": "touba-tool-request-v1",
        "tool_ref": need.ref,
        "arguments": need.arguments,
        "call_id": need.call_id,
        "run_id": run_id,
        "occurrence": need.occurrence,
        "grants": sorted(handler.grants),
        "secret_handles": {handle: {"value": value} for handle, value in handler.secrets.items()},
        "limits": {
            "timeout_ms": timeout_ms,
            "max_request_bytes": handler.max_request_bytes,
            "max_response_bytes": handler.max_response_bytes,
        },
        "resources": handler.memories.resources() if handler.memories is not None else {},
        "deadline_ms": timeout_ms,
        "effect": {
            "kind": need.effect,
            "operation_id": operation_id,
            "idempotency_key": operation_id,
            "attempt": 1,
        },
    })  # fmt: skip


class HandlerCall:
    """A handler at work. The poll loop asks for `interests`, calls `on_ready` and `tick`, and reads ``settled``.

    Parameters:
        need: what the program asked for.
        handler: how the tool is served.
        child: the process, just started.
        request: all of its standard input.
        timeout_ms: how long it may take.
        now: the monotonic time in seconds.
        forward: takes the handler's standard error, secrets withheld.
    """

    __slots__ = (
        "_child", "_complete", "_failure", "_handler", "_kill_at", "_linger_at", "_relay", "_response", "_size",
        "_stop_at", "_unsent", "need", "settled",
    )  # fmt: skip

    def __init__(
        self,
        need: Need,
        handler: Handler,
        child: Child,
        request: bytes,
        timeout_ms: int,
        now: float,
        forward: Callable[[bytes], None],
    ):
        self.need = need
        self.settled: Settled | None = None
        self._handler = handler
        self._child = child
        self._unsent = memoryview(request)
        self._response: list[bytes] = []
        self._size = 0
        #: the response document, once it was found to be whole
        self._complete: dict[str, Any] | None = None
        #: why the runtime ended the handler: code and message
        self._failure: tuple[str, str] | None = None
        self._stop_at = now + timeout_ms / 1000
        self._linger_at: float | None = None
        self._kill_at: float | None = None
        self._relay = Relay(list(handler.secrets.values()), forward, handler.ref.removeprefix("tool:"))

    # --- what the poll loop needs -------------------------------------------------------------------------------------

    def interests(self) -> list[tuple[int, int]]:
        """The descriptors to watch, each with its events."""
        child = self._child
        found = []
        if child.stdin >= 0:
            found.append((child.stdin, _WRITABLE))
        if child.stdout >= 0:
            found.append((child.stdout, _READABLE))
        if child.stderr >= 0:
            found.append((child.stderr, _READABLE))
        if child.exit_fd >= 0 and child.status is None:
            found.append((child.exit_fd, select.POLLIN))
        return found

    @property
    def stopped(self) -> bool:
        """Whether the runtime ended the handler."""
        return self._failure is not None

    def next_look(self, now: float) -> float:
        """When `tick` is due at the latest, as monotonic seconds."""
        due = [self._stop_at if self._failure is None else self._kill_at, self._linger_at]
        if self._child.exit_fd < 0 and self._child.status is None:
            due.append(now + 0.02)
        return min(each for each in due if each is not None)

    def on_ready(self, descriptor: int) -> None:
        """Move bytes on a descriptor that is ready."""
        if descriptor == self._child.stdin:
            self._write()
        elif descriptor == self._child.stdout:
            self._read_response()
        elif descriptor == self._child.stderr:
            self._read_errors()

    def tick(self, now: float) -> None:
        """Look at exit and time; sets ``settled`` when the call is over."""
        child = self._child
        if child.ended():
            while child.stdout >= 0 and self._read_response():
                pass  # what the process wrote before it ended
            if child.stdout < 0 or self._failure is not None or self._is_whole():
                self._finish()
                return
            # Something that the handler started holds its output open. It gets a moment, then the answer counts.
            if self._linger_at is None:
                self._linger_at = now + LINGER_MS / 1000
        elif child.stdout < 0 and self._failure is None and self._linger_at is None:
            self._linger_at = now + LINGER_MS / 1000  # answered: a moment to tidy up
        if self._linger_at is not None and now >= self._linger_at:
            self._finish()
        elif self._kill_at is not None:
            if now >= self._kill_at:
                self._finish()
        elif now >= self._stop_at:
            allowed = f"{self._handler.timeout_ms} ms, {self._handler.timeout_from}"
            self.stop(now, "ToolTimeout", f"the handler of {self.need.ref} took longer than it may: {allowed}")

    def stop(self, now: float, code: str, message: str, *, at_once: bool = False) -> None:
        """Ask the handler to end; it is killed when the grace is over. The first reason counts."""
        if self._failure is None:
            if self._is_whole():
                self._finish()  # it has answered: what it stated counts
                return
            self._failure = (code, message)
            self._child.signal_group(signals.SIGTERM)
            self._kill_at = now + HANDLER_GRACE_MS / 1000
        if at_once:
            self._kill_at = now

    # --- bytes --------------------------------------------------------------------------------------------------------

    def _write(self) -> None:
        child = self._child
        while self._unsent:
            try:
                sent = os.write(child.stdin, self._unsent[:_CHUNK])
            except BlockingIOError:
                return
            except OSError as fault:
                if fault.errno not in (errno.EPIPE, errno.ECONNRESET):
                    raise
                break  # it does not read its request; what it answers, or how it ends, is what counts
            self._unsent = self._unsent[sent:]
        self._unsent = memoryview(b"")
        child.close("stdin")

    def _read_response(self) -> bool:
        child = self._child
        try:
            part = os.read(child.stdout, _CHUNK)
        except BlockingIOError:
            return False
        if not part:
            child.close("stdout")
            return False
        self._size += len(part)
        if self._size <= self._handler.max_response_bytes:
            self._response.append(part)
        elif self._failure is None:
            limit = self._handler.max_response_bytes
            self._failure = ("ToolResponseTooLarge", f"the handler of {self.need.ref} answered more than {limit} bytes")
            child.signal_group(signals.SIGKILL)
            self._kill_at = 0.0
        return True

    def _read_errors(self) -> bool:
        child = self._child
        try:
            part = os.read(child.stderr, _CHUNK)
        except BlockingIOError:
            return False
        if not part:
            child.close("stderr")
            return False
        self._relay.feed(part)
        return True

    def _is_whole(self) -> bool:
        """Whether what has arrived so far is a whole response."""
        if self._complete is None and self._response and self._failure is None:
            try:
                self._complete = read_document(
                    "touba-tool-response-v1", b"".join(self._response), self._handler.max_response_bytes
                )
            except ToubaFailure:
                return False
        return self._complete is not None

    # --- what it means ------------------------------------------------------------------------------------------------

    def _finish(self) -> None:
        """The handler is over: nothing of its group stays, its last words are forwarded, the outcome is stated."""
        child = self._child
        collected = child.collect()
        for _ in range(_RELAY_BYTES // 1024):
            if child.stderr < 0 or not self._read_errors():
                break
        self._relay.close()
        child.release()
        self.settled = self._outcome()
        if not collected:
            self._relay.note(f"the handler of {self.need.ref} could not be killed; process {child.pid} remains\n")

    def _outcome(self) -> Settled:
        ref = self.need.ref
        if self._failure is not None:
            return self._unstated(*self._failure)
        data = b"".join(self._response)
        if not data.strip():
            end = self._child.describe_end()
            message = f"the handler of {ref} ended without an answer ({end})"
            if self._child.status == 0:
                message += (
                    "; a script serves its tool when it calls `define_tool(..., run=...)`, or `NAME.main()` of a "
                    "function that `define_tool` decorates, as it is run"
                )
            return self._unstated("ToolExited", message)
        secrets = list(self._handler.secrets.values())
        document = self._complete
        if document is None:
            try:
                document = read_document("touba-tool-response-v1", data, self._handler.max_response_bytes)
            except ToubaFailure as failure:
                said = decoded(data)
                if leaks(data, said, secrets):
                    return self._unstated("SecretLeak", f"the answer of {ref} holds a secret; it was withheld")
                if (self._child.status or 0) < 0:
                    end = self._child.describe_end()
                    return self._unstated("ToolExited", f"the handler of {ref} ended within its answer ({end})")
                why = told(failure.message, said)
                return self._unstated("ToolResponseInvalid", f"the answer of {ref} is no tool response: {why}")
        if leaks(data, document, secrets):
            stated = "done" if document["ok"] else document["error"].get("effect")
            message = f"the answer of {ref} holds a secret; it was withheld"
            return Settled.failed("SecretLeak", message, effect=self._effect(stated))
        if document["ok"]:
            return self._given(document.get("value"), document.get("memory_metadata") or [])
        error = document["error"]
        why_not = code_fault(error["code"])
        if why_not is not None:
            message = f"the answer of {ref} is no tool response: {why_not}"
            return Settled.failed("ToolResponseInvalid", message, effect=self._effect(error.get("effect")))
        return Settled.failed(
            error["code"],
            error["message"][:ERROR_MESSAGE_CHARACTERS],
            retryable=error.get("retryable") or False,
            effect=self._effect(error.get("effect")),
            own=error["code"] not in SDK_CODES,
        )

    def _given(self, value: Any, statements: list[dict[str, Any]]) -> Settled:
        """The value, where what the answer says of memories is as the tool declares it."""
        if not statements:
            return Settled.given(value)
        from .memories import undeclared, used

        memories = self._handler.memories
        for position, each in enumerate(statements):
            why = undeclared(()) if memories is None else memories.fault(each)
            if why is not None:
                message = f"the answer of {self.need.ref} is not as declared: memory_metadata[{position}]: {why}"
                return Settled.failed("MemoryNotDeclared", message, effect=self._effect("done"))
        return Settled.given(value, used(statements))

    def _unstated(self, code: str, message: str) -> Settled:
        return Settled.failed(code, message, effect=self._effect(None))

    def _effect(self, stated: str | None) -> str:
        if self.need.effect != "write":
            return "none"
        return stated if stated is not None else "unknown"


def not_started(ref: str, fault: OSError) -> Settled:
    """The outcome of a call whose handler could not be started: nothing happened."""
    return Settled.failed("HandlerNotStarted", f"the handler of {ref} could not be started: {cause(fault)}")


#: how a line of `touba-progress-v1` begins
_PROGRESS = b'{"protocol":"touba-progress-v1"'


def _progress_text(line: bytes) -> bytes:
    """What a line of `context.log` or `context.progress` says, as text; any other line as it is."""
    try:
        said = decode(line)
    except JsonInvalid:
        return line
    if not isinstance(said, dict) or not isinstance(said.get("message"), str):
        return line
    done, total = (_figure(said.get(name)) for name in ("done", "total"))
    far = f" ({done} of {total})" if done and total else f" ({done})" if done else ""
    kind = said.get("level") if said.get("kind") == "log" else "progress"
    return f"{kind}: {said['message']}{far}\n".encode()


def _figure(value: Any) -> str:
    return value.text if isinstance(value, ExactNumber) else str(value) if isinstance(value, int) else ""


class Relay:
    """Forwards a handler's standard error line by line, with its secrets (and their lines) replaced.

    Each line gets the tool's name in front, because several handlers share one standard error. A line that
    `context.log` or `context.progress` wrote is forwarded as the text that it holds. Of what comes after the first
    `STDERR_FORWARDED_BYTES` the end is forwarded when the handler is over, with the count of what was left out.

    Parameters:
        secrets: what is withheld.
        forward: takes the lines.
        name: the tool's name in front of each line; empty for none.
    """

    __slots__ = ("_forward", "_held", "_inside", "_left_out", "_mark", "_room", "_secrets", "_tail")

    def __init__(self, secrets: list[str], forward: Callable[[bytes], None], name: str = ""):
        self._mark = f"[{name}] ".encode() if name else b""
        #: whether the last line that was forwarded goes on
        self._inside = False
        parts = {part.strip() for secret in secrets for part in (secret, *secret.splitlines())}
        long_enough = [part.encode("utf-8") for part in parts if len(part) >= SECRET_CHARACTERS]
        self._secrets = sorted(long_enough, key=len, reverse=True)
        self._forward = forward
        self._held = b""
        self._room = STDERR_FORWARDED_BYTES
        #: the end of what came after there was no room any more, and the number of bytes before it
        self._tail = b""
        self._left_out = 0

    def feed(self, data: bytes) -> None:
        """Take more bytes; whole lines are forwarded."""
        held = self._withhold(self._held + data)
        end = held.rfind(b"\n") + 1
        if end == 0 and len(held) > _RELAY_BYTES:
            # A secret may have arrived in part: so much stays back that it is still recognised.
            end = len(held) - (len(self._secrets[0]) if self._secrets else 0)
        self._held = held[end:]
        if end > 0:
            self._send(held[:end])

    def note(self, text: str) -> None:
        """Forward a line of the runtime's own."""
        self._forward(text.encode("utf-8"))

    def close(self) -> None:
        """Forward what has no line end."""
        if self._held or self._inside:
            self._send(self._held + b"\n")
            self._held = b""
        if self._left_out:
            self.note(f"{self._mark.decode()}… {self._left_out} bytes were left out\n")
        if self._tail:
            self._forward(self._tail)
            self._tail = b""

    def _send(self, data: bytes) -> None:
        whole, _, rest = data.rpartition(b"\n")
        lines = [each + b"\n" for each in whole.split(b"\n")] if len(rest) < len(data) else []
        sent: list[bytes] = []
        for line in [*lines, rest] if rest else lines:
            if not self._inside:
                sent.append(self._mark)
                # A secret may have been spelt with escapes.
                line = self._withhold(_progress_text(line)) if line.startswith(_PROGRESS) else line
            sent.append(line)
            self._inside = not line.endswith(b"\n")
        self._pass_on(b"".join(sent))

    def _pass_on(self, data: bytes) -> None:
        """Forward text, or keep its end where enough was forwarded."""
        if len(data) <= self._room:
            self._room -= len(data)
            self._forward(data)
            return
        self._room = 0
        kept = self._tail + data
        over = len(kept) - STDERR_TAIL_BYTES
        if over > 0:
            # From the begin of a line, where there is one.
            over = kept.find(b"\n", over) + 1 or over
            self._left_out += over
        self._tail = kept[max(over, 0) :]

    def _withhold(self, data: bytes) -> bytes:
        for secret in self._secrets:
            data = data.replace(secret, b"[secret]")
        return data
