"""Options → command line and request document. Pure: nothing is read, nothing is started.

The command line holds flags, paths, references and switches, always as ``--flag=value``. Values and texts travel in the
request document on standard input, so they never show in a list of processes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from touba_cli.limits import REQUEST_BYTES
from touba_cli.options import options_of

from ..errors import UsageError
from .locate import Runtime

PROTOCOL = "touba-run-request-v1"
#: variables that mark a process as part of an outer run; a runtime that is started inside one must not inherit them
MARKERS = ("TOUBA_HANDLER",)
#: options that decide how the runtime is started; it never hears of them
_OWN = ("env", "cancel", "cli_path", "python_executable", "result_type")


@dataclass(frozen=True, slots=True)
class Invocation:
    """Everything that starting one runtime takes.

    Attributes:
        argv: the command line; its first element is an absolute path.
        request: the first line of standard input, which stays open: its end asks for the end of the runtime.
        folder: the working folder.
        env: the environment.
        deadline_ms: the run's deadline, after which a silent runtime is stopped by force; None without one.
        bundled: the runtime is our own: it takes the signals that are blocked while it is started.
    """

    argv: tuple[str, ...]
    request: bytes = field(repr=False)
    folder: str
    env: Mapping[str, str] = field(repr=False)
    deadline_ms: int | None
    bundled: bool


def build(
    command: str,
    options: Mapping[str, Any],
    *,
    runtime: Runtime,
    version: str,
    environ: Mapping[str, str],
    result_out: str | None = None,
    cache: str | None = None,
) -> Invocation:
    """Turn checked options into an invocation.

    Parameters:
        command: ``check``, ``compile`` or ``run``.
        options: as `check_options` gives them, with an absolute `project_root`.
        runtime: the runtime to start.
        version: the version of the SDK, for the handshake.
        environ: the environment of the application.
        result_out: a file that does not exist, for a result document that is too large for the pipe.
        cache: the folder of the compile cache.

    Raises:
        UsageError: `RequestTooLarge`.
    """
    argv = [*runtime.command, command, "--attached", "--json", "--request=-"]
    sent: dict[str, Any] = {}
    for row in options_of(command, "sdk"):
        if row.name in _OWN or row.name not in options:
            continue
        value = options[row.name]
        if not row.carried:
            sent[row.name] = value
        elif row.kind == "switch":
            argv.append(row.flag if value else "--no-" + row.flag[2:])
        else:
            argv.append(f"{row.flag}={value}")
    if cache is not None:
        argv.append(f"--cache-folder={cache}")
    if result_out is not None:
        argv.append(f"--result-out={result_out}")
    if runtime.python is not None and command == "run":
        sent["python_executable"] = runtime.python
    limits = options.get("run_limits", {})
    return Invocation(
        argv=tuple(argv),
        request=_request(sent, version),
        folder=options["project_root"],
        env=options["env"] if "env" in options else clean_environment(environ),
        deadline_ms=limits.get("deadline_ms"),
        bundled=runtime.bundled,
    )


def clean_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The application's environment without the marks of an outer run.

    >>> clean_environment({"PATH": "/bin", "TOUBA_HANDLER": "7", "TOUBA_CACHE_DIR": "/c"})
    {'PATH': '/bin', 'TOUBA_CACHE_DIR': '/c'}
    """
    return {name: value for name, value in environ.items() if not name.startswith(MARKERS)}


def absolute_root(project_root: str | None, default: str) -> str:
    """The project's folder as an absolute path; checked, because a missing folder looks like a missing program.

    Raises:
        UsageError: `FileUnreadable`.
    """
    root = os.path.abspath(project_root) if project_root is not None else default
    if not os.path.isdir(root):
        kind = "is no folder" if os.path.exists(root) else "does not exist"
        raise UsageError("FileUnreadable", f"`project_root` is `{root}`, which {kind}.")
    return root


def _request(sent: Mapping[str, Any], version: str) -> bytes:
    # The values were encoded by the table of `_encode.py`: plain dicts, lists, texts and numbers, nothing else.
    data = orjson.dumps({"protocol": PROTOCOL, "sdk_version": version, "options": sent}) + b"\n"
    if len(data) > REQUEST_BYTES:
        raise UsageError("RequestTooLarge", f"The request has {len(data)} bytes; {REQUEST_BYTES} are allowed.")
    return data
