"""What a handler is told about its call, besides the request."""

from __future__ import annotations

import sys
from time import monotonic

from . import _json
from .definition import is_name
from .errors import ArgumentInvalid, ToubaHandlerError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PROGRESS_PROTOCOL = "touba-progress-v1"
#: progress and log lines of one call; one more says that there were others
MAX_LINES = 1_000
#: longest message of one line
MAX_LINE_CHARACTERS = 2_000
#: longest name of a secret handle that a message repeats
MAX_NAME_CHARACTERS = 60

LEVELS = ("debug", "info", "warning", "error")


class SecretHandle:
    """One secret. ``value`` is its text; it never shows in `repr`, so that logging a context gives nothing away."""

    __slots__ = ("value",)

    def __init__(self, value: str):
        self.value = value

    def __getitem__(self, key: str) -> str:
        if key == "value":
            return self.value
        raise KeyError(key)

    def __repr__(self) -> str:
        return "SecretHandle(…)"


class HandlerContext:
    """The second argument of a handler's function.

    Attributes:
        arguments: all arguments by name, in wire form, also where the request is the value of the only one.
        grants: names of the grants that the call has.
        secret_handles: handle → `SecretHandle`.
        limits: limits of this call, for example `timeout_ms`.
        resources: the memories that the call may use: reference → `operations`, `scope` and perhaps `owner`; empty
            where the request names none.
        call_id, run_id, occurrence: which call this is; None where the runtime did not say.
        deadline: moment of `time.monotonic()` by which the runtime stops waiting; None where there is none.
        effect: kind, operation id, idempotency key and attempt of a call that reads or writes; empty without.
    """

    __slots__ = (
        "_lines",
        "arguments",
        "call_id",
        "deadline",
        "effect",
        "grants",
        "limits",
        "occurrence",
        "resources",
        "run_id",
        "secret_handles",
    )

    def __init__(self, request: dict[str, Any]):
        self.arguments: dict[str, Any] = request["arguments"]
        self.grants: tuple[str, ...] = tuple(request.get("grants") or ())
        self.secret_handles: dict[str, SecretHandle] = {
            name: SecretHandle(held["value"]) for name, held in (request.get("secret_handles") or {}).items()
        }
        self.limits: dict[str, Any] = request.get("limits") or {}
        self.resources: Any = request.get("resources") or {}
        self.call_id: str | None = request.get("call_id")
        self.run_id: str | None = request.get("run_id")
        self.occurrence: str | None = request.get("occurrence")
        left = request.get("deadline_ms")
        self.deadline: float | None = None if left is None else monotonic() + left / 1000
        self.effect: dict[str, Any] = request.get("effect") or {}
        self._lines = 0

    def __repr__(self) -> str:
        return f"HandlerContext(call_id={self.call_id!r}, occurrence={self.occurrence!r})"

    def secret(self, name: str) -> str:
        """The text of a secret.

        Raises:
            ToubaHandlerError: `HandlerRefused` where the call does not hold that handle.
        """
        held = self.secret_handles.get(name)
        if held is None:
            known = ", ".join(sorted(self.secret_handles)) or "none"
            # What is no name may be anything, a secret too.
            handle = f"`{name}`" if is_name(name) and len(name) <= MAX_NAME_CHARACTERS else "of that name"
            raise ToubaHandlerError("HandlerRefused", f"the call holds no secret handle {handle}; it holds: {known}")
        return held.value

    @property
    def cancelled(self) -> bool:
        """Whether the runtime has asked this call to end.

        A handler is ended at once when its run is cancelled, unless it reads this: from the first time on, the
        request to end only turns this true, and the handler has one second to leave tidily. Read it first in the main
        thread.
        """
        return _politeness.asked()

    def progress(self, message: str, done: float | None = None, total: float | None = None) -> None:
        """Tell how far the work is: a line on standard error that the runtime passes on while the handler works.

        Parameters:
            message: a sentence without secrets; cut at 2,000 characters.
            done, total: how much of how much, in any unit.
        """
        self._line({"kind": "progress", "message": message, "done": done, "total": total})

    def log(self, message: str, level: str = "info") -> None:
        """Write a line for whoever operates the program. ``level`` is debug, info, warning or error."""
        if level not in LEVELS:
            raise ArgumentInvalid("level of context.log is debug, info, warning or error")
        self._line({"kind": "log", "level": level, "message": message})

    def _line(self, members: dict[str, Any]) -> None:
        self._lines += 1
        if self._lines > MAX_LINES + 1:
            return
        if self._lines > MAX_LINES:
            members = {"kind": "log", "level": "warning", "message": "further lines of this call are left out"}
        line: dict[str, Any] = {"protocol": PROGRESS_PROTOCOL, "call_id": self.call_id}
        for key, value in members.items():
            if isinstance(value, str):
                line[key] = value.encode("utf-8", "backslashreplace").decode("utf-8")[:MAX_LINE_CHARACTERS]
            elif value is not None:
                line[key] = value
        sys.stderr.write(_json.write(line).decode("utf-8") + "\n")
        sys.stderr.flush()


class _Politeness:
    """Turns SIGTERM into a flag, from the first look at the flag on."""

    def __init__(self) -> None:
        self.listening = False
        self.flag = False

    def asked(self) -> bool:
        if not self.listening:
            self.listening = True
            from . import _wire

            if _wire.attached():
                _wire.listen_for_end(self.note)
        return self.flag

    def note(self) -> None:
        self.flag = True


_politeness = _Politeness()
