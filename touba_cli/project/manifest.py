"""The manifest: which handler serves a tool, what it is granted, and where its secrets come from."""

from __future__ import annotations

import os

from ..documents import read_document
from ..errors import ToubaFailure
from ..limits import DOCUMENT_BYTES, HANDLER_TIMEOUT_MS, TOOL_REQUEST_BYTES, TOOL_RESPONSE_BYTES
from .files import inside, read_file, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: the first word of a command that stands for the Python interpreter of handlers: the first, or what people write too
PYTHON_WORDS = ("python", "python3")

#: variables that a manifest may not hand on: the runtime sets them itself
_OWN_VARIABLES = ("PYTHON", "TOUBA_", "LD_", "DYLD_")


class Binding:
    """What the manifest says about one tool."""

    __slots__ = (
        "command",
        "environment",
        "grants",
        "kind",
        "max_request_bytes",
        "max_response_bytes",
        "ref",
        "secrets",
        "timeout_ms",
    )

    def __init__(self, ref: str, entry: dict[str, Any]):
        handler = entry["handler"]
        limits = entry.get("limits") or {}
        self.ref = ref
        self.kind: str = handler["kind"]
        self.command: tuple[str, ...] = tuple(handler.get("command") or ())
        self.grants: frozenset[str] = frozenset(entry.get("grants") or ())
        #: the program's handle → handle of the secrets file
        self.secrets: dict[str, str] = dict(entry.get("secrets") or {})
        self.environment: tuple[str, ...] = tuple(entry.get("environment") or ())
        #: None: the manifest sets no time-out
        self.timeout_ms: int | None = limits.get("timeout_ms")
        self.max_request_bytes: int = limits.get("max_request_bytes") or TOOL_REQUEST_BYTES
        self.max_response_bytes: int = limits.get("max_response_bytes") or TOOL_RESPONSE_BYTES

    def timeout(self, declared: int | None) -> int:
        """Milliseconds that a call may take: the smaller of manifest and program, else the default."""
        given = [each for each in (self.timeout_ms, declared) if each is not None]
        return min(given) if given else HANDLER_TIMEOUT_MS

    def timeout_from(self, declared: int | None) -> str:
        """Where the time that a call may take is set, in words."""
        if self.timeout_ms is None and declared is None:
            return "the default; `limits.timeout_ms` in the manifest sets another"
        if declared is None or self.timeout(declared) == self.timeout_ms:
            return "`limits.timeout_ms` in the manifest"
        return "`timeout` in the program"


class Manifest:
    """A manifest that was read: ``python`` is the interpreter of handlers or None, ``tools`` the bindings by ref."""

    __slots__ = ("path", "python", "tools")

    def __init__(self, path: str | None, python: str | None, tools: dict[str, Binding]):
        self.path = path
        self.python = python
        self.tools = tools


def read_manifest(path: str) -> Manifest:
    """Read a manifest file.

    Raises:
        ToubaFailure: FileUnreadable, JsonInvalid, DocumentInvalid.
    """
    data = read_file(path, DOCUMENT_BYTES, "the manifest")
    document = read_document("touba-manifest-v1", data, DOCUMENT_BYTES, shown(path))
    tools = {}
    for ref, entry in (document.get("tools") or {}).items():
        binding = Binding(ref, entry)
        for name in binding.environment:
            if name.startswith(_OWN_VARIABLES):
                raise ToubaFailure(
                    "DocumentInvalid",
                    f"the manifest `{shown(path)}` grants the variable `{name}` to {ref}; "
                    "such variables are set by the runtime alone",
                    ref=ref,
                )
        tools[ref] = binding
    return Manifest(path, document.get("python"), tools)


class Launcher:
    """Turns a manifest's commands into argument lists that can be started.

    Parameters:
        root: the project root, absolute.
        python: the interpreter that the manifest names, or None.
        default_python: the interpreter where it names none.
    """

    __slots__ = ("_python", "_root")

    def __init__(self, root: str, python: str | None, default_python: str):
        self._root = root
        self._python = python if python is not None else default_python

    def command(self, binding: Binding) -> list[str]:
        """The argument list of a tool's handler; the first word is absolute.

        Raises:
            ToubaFailure: HandlerMissing, PathOutsideProject.
        """
        words = list(binding.command)
        ref = binding.ref
        if not words or not words[0]:
            raise ToubaFailure("HandlerMissing", f"the manifest gives {ref} no command", ref=ref)
        if any("\0" in word for word in words):
            raise ToubaFailure("HandlerMissing", f"a word of the command of {ref} has a NUL character", ref=ref)
        if words[0] not in PYTHON_WORDS:
            words[0] = self._program(words[0], ref, "the program")
            return words
        if len(words) < 2 or words[1].startswith("-"):
            raise ToubaFailure(
                "HandlerMissing",
                f"the command of {ref} names no script after `{words[0]}`",
                ref=ref,
                hint='Write `["python", "handlers/NAME.py"]`; scripts are files of the project.',
            )
        try:
            script = inside(self._root, words[1], "the handler script")
        except ToubaFailure as failure:
            failure.ref = ref
            raise
        if not os.path.isfile(script):
            kind = "is a folder" if os.path.isdir(script) else "does not exist"
            raise ToubaFailure("HandlerMissing", f"the handler script `{shown(words[1])}` of {ref} {kind}", ref=ref)
        interpreter = self._program(self._python, ref, "the Python interpreter")
        # -s: nothing from the user's own site folder. The script stays as written, so its tracebacks read well.
        return [interpreter, "-s", "-X", "utf8", os.path.join(self._root, words[1]), *words[2:]]

    def _program(self, name: str, ref: str, what: str) -> str:
        if "/" in name:
            path = os.path.join(self._root, name)
            if not os.path.isfile(path):
                raise ToubaFailure("HandlerMissing", f"{what} `{shown(name)}` of {ref} does not exist", ref=ref)
            if not os.access(path, os.X_OK):
                script = name.endswith(".py")
                raise ToubaFailure(
                    "HandlerMissing",
                    f"{what} `{shown(name)}` of {ref} cannot be executed",
                    ref=ref,
                    hint=f'Write `["python", "{shown(name)}"]` as its command.' if script else None,
                )
            return path
        for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
            path = os.path.join(folder, name)
            if os.path.isabs(folder) and os.path.isfile(path) and os.access(path, os.X_OK):
                return path
        raise ToubaFailure("HandlerMissing", f"{what} `{shown(name)}` of {ref} is not found on PATH", ref=ref)
