"""One handler script as a process: what the runtime sends and takes, without a program around it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from touba_cli.limits import HANDLER_TIMEOUT_MS, TOOL_REQUEST_BYTES, TOOL_RESPONSE_BYTES

from .._encode import encode
from ..handlers import ToubaHandlerError
from ..handlers.handle import REQUEST_PROTOCOL, RESPONSE_PROTOCOL

#: what a handler sees of the environment, as in ``touba_cli/runtime/spawn.py``
INHERITED = ("PATH", "LANG", "TZ", "TMPDIR")


class HandlerAnswer:
    """What a handler answered.

    Attributes:
        response: the response document.
        stderr: what the process wrote to standard error.
    """

    def __init__(self, response: dict[str, Any], stderr: str):
        self.response = response
        self.stderr = stderr

    def __repr__(self) -> str:
        return f"HandlerAnswer({'ok' if self.ok else self.code})"

    @property
    def ok(self) -> bool:
        """Whether the handler gave a value."""
        return bool(self.response["ok"])

    @property
    def code(self) -> str | None:
        """The code of the failure; None where there is none."""
        return None if self.ok else str(self.response["error"]["code"])

    @property
    def memory_metadata(self) -> list[dict[str, Any]]:
        """What the handler says of memories, as it stands in the response."""
        found: list[dict[str, Any]] = self.response.get("memory_metadata") or []
        return found

    @property
    def value(self) -> Any:
        """The value, in wire form. Raises ToubaHandlerError where the handler failed."""
        if self.ok:
            return self.response["value"]
        error = self.response["error"]
        raise ToubaHandlerError(error["code"], error["message"], error["retryable"], error["effect"])


def call_handler(
    script: str | os.PathLike[str],
    tool_ref: str,
    *,
    arguments: Mapping[str, Any] | None = None,
    grants: Iterable[str] = (),
    secrets: Mapping[str, str] | None = None,
    effect: str = "none",
    resources: Mapping[str, Mapping[str, Any]] | None = None,
    environment: Iterable[str] = (),
    timeout_ms: int = HANDLER_TIMEOUT_MS,
    project_root: str | os.PathLike[str] = ".",
) -> HandlerAnswer:
    """Start a handler script as the runtime does, send one request and give its answer.

    Parameters:
        script: the script; a relative path is taken from the project root.
        tool_ref: the tool that is called.
        arguments: its inputs by name: any values that inputs of a run can have.
        grants, secrets, effect: what the call has and is.
        resources: the memories that it may use: reference → `operations`, `scope` and perhaps `owner`.
        environment: variables that are handed on.
        timeout_ms: how long it may take.
        project_root: the project's folder, in which it works.

    Raises:
        AssertionError: where it gives no answer, or something else than one.

    Example::

        answer = call_handler("handlers/price.py", "tool:shop/Price", arguments={"article": "A1"}, grants=["network"])
        assert answer.value == "12.50"
    """
    __tracebackhide__ = True
    operation = "0" * 64
    request = {
        "protocol": REQUEST_PROTOCOL,
        "tool_ref": tool_ref,
        "arguments": encode(dict(arguments or {})),
        "call_id": "0.2",
        "run_id": "test",
        "occurrence": "1",
        "grants": sorted(grants),
        "secret_handles": {handle: {"value": value} for handle, value in (secrets or {}).items()},
        "limits": {
            "timeout_ms": timeout_ms,
            "max_request_bytes": TOOL_REQUEST_BYTES,
            "max_response_bytes": TOOL_RESPONSE_BYTES,
        },
        "resources": encode(dict(resources or {})),
        "deadline_ms": timeout_ms,
        "effect": {"kind": effect, "operation_id": operation, "idempotency_key": operation, "attempt": 1},
    }
    root = os.path.abspath(project_root)
    command = [sys.executable, "-s", "-X", "utf8", os.path.join(root, script)]
    names = (*INHERITED, *environment)
    variables = {name: os.environ[name] for name in names if name in os.environ}
    output, errors, status = _run(command, root, variables, json.dumps(request).encode(), timeout_ms / 1000)
    try:
        response = json.loads(output)
    except ValueError:
        response = None
    if not isinstance(response, dict) or response.get("protocol") != RESPONSE_PROTOCOL:
        said = f"{len(output)} bytes that are no tool response" if output else "nothing"
        raise AssertionError(f"{os.fspath(script)} answered {said} and ended with {status}\n{errors}")
    return HandlerAnswer(response, errors)


def _run(
    command: list[str], folder: str, variables: dict[str, str], request: bytes, seconds: float
) -> tuple[bytes, str, int]:
    """Run a process with a life line, in a session of its own that does not outlive the call."""
    __tracebackhide__ = True
    life_line, held = os.pipe()
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**variables, "PYTHONPATH": folder, "TOUBA_HANDLER": str(life_line)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(life_line,),
            start_new_session=True,
        )
        try:
            output, errors = process.communicate(request, seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{command[-1]} took longer than {seconds} s") from None
        finally:
            _end_group(process)
    finally:
        os.close(life_line)
        os.close(held)
    return output, errors.decode("utf-8", "replace"), process.returncode


def _end_group(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        # Nothing of it is left, or (macOS) nothing but what is collected below.
        process.poll()
    process.communicate()
