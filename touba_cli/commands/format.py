"""`touba format`: programs in their one layout."""

from __future__ import annotations

import os

from ..codec import encode
from ..errors import ToubaFailure
from ..outcomes import PHASES
from ..project.files import OutputFile, cause, inside, shown
from . import inputs
from .output import STDOUT, ClosedPipe, note, print_document, print_text, visible_bytes, write_all
from .tell import tell_failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..language.diagnostics import Diagnostic
    from ..project.sources import ProjectSources
    from ..runtime.interrupts import Interrupts

FORMAT_PROTOCOL = "touba-format-v1"

#: how standard input is called where a file would be named
STDIN_NAME = "<stdin>"


def command(words: list[str], interrupts: Interrupts) -> int:
    """Run the command and print its document or text; gives the exit code.

    Raises:
        Cancelled: the end was asked for meanwhile. Files are in the old layout or in the new one.
    """
    as_json = inputs.wants_json(words)
    document: dict[str, Any] = {
        "protocol": FORMAT_PROTOCOL, "files": [], "text": None, "diagnostics": [], "error": None,
    }  # fmt: skip
    try:
        code = _format(words, document, as_json, interrupts)
    except Exception as fault:
        code = tell_failure(fault, document, as_json)
    if as_json and not print_document(encode(document)):
        code = PHASES["internal"]
    return code


def _format(words: list[str], document: dict[str, Any], as_json: bool, interrupts: Interrupts) -> int:
    options = inputs.read_options("format", words)
    only_check = options.get("check", False)
    paths: list[str] = options.get("files", [])
    if options.get("stdin", False) == bool(paths):
        hint = "Name files or folders, such as `touba format .`, or use --stdin."
        raise ToubaFailure("UsageError", "exactly one of files and --stdin must be given", hint=hint)
    root, started_in = inputs.enter_project(options)
    if not paths:
        return _format_stdin(root, document, as_json, only_check)
    files = _find(root, paths, started_in)
    refused: list[Diagnostic] = []
    written = True
    for path in files:
        text, problems, data = _formatted(root, path, None)
        refused += problems
        status = "refused" if text is None else "unchanged" if text == data else "changed"
        if status == "changed" and text is not None:
            if not only_check:
                interrupts.attend()  # a request to end waits until the file is in its place
                try:
                    _replace(os.path.join(root, path), path, text)
                finally:
                    interrupts.raise_at_end()
            if not as_json:
                written = print_text(shown(path)) and written
        document["files"].append({"file": path, "status": status})
    _refuse(refused, document, as_json)
    changed = sum(each["status"] == "changed" for each in document["files"])
    if not as_json and not only_check and not changed:
        written = print_text("nothing to format") and written
    if not written:
        return PHASES["internal"]
    return 1 if changed and only_check else 0


def _format_stdin(root: str, document: dict[str, Any], as_json: bool, only_check: bool) -> int:
    text, problems, data = _formatted(root, STDIN_NAME, inputs.read_stdin(None))
    status = "refused" if text is None else "unchanged" if text == data else "changed"
    document["files"].append({"file": STDIN_NAME, "status": status})
    _refuse(problems, document, as_json)
    assert text is not None
    document["text"] = text.decode("utf-8")
    if not as_json and not only_check and not _print_program(text):
        return PHASES["internal"]
    return 1 if only_check and status == "changed" else 0


def _print_program(data: bytes) -> bool:
    """Write a program to standard output: byte for byte, but to a terminal only what cannot change how it looks."""
    if os.isatty(STDOUT):
        data = visible_bytes(data)
    try:
        return write_all(STDOUT, data)
    except ClosedPipe:
        return False


def _refuse(problems: list[Diagnostic], document: dict[str, Any], as_json: bool) -> None:
    """Raise ToubaFailure (CompileFailed) where files cannot be read; the others have been written."""
    document["diagnostics"] = [each.as_json() for each in problems]
    if not problems:
        return
    if not as_json:
        note(inputs.render_diagnostics(problems))
    raise inputs.errors_failure(problems, "what was to be formatted")


# --- one file ---------------------------------------------------------------------------------------------------------


def _formatted(root: str, path: str, data: bytes | None) -> tuple[bytes | None, list[Diagnostic], bytes]:
    """A file in its layout, or what is wrong with it; and its bytes. Raises ToubaFailure (FileUnreadable …)."""
    from ..language.diagnostics import Problems
    from ..language.format import FormatUnproven, format_source
    from ..language.lexer import read_source
    from ..project.sources import ProjectSources

    sources = ProjectSources(root)
    if data is None:
        try:
            data = sources.read(path)
        except OSError as fault:
            raise ToubaFailure("FileUnreadable", f"`{shown(path)}` cannot be read: {cause(fault)}") from None
    problems = Problems()
    source = read_source(path, data, problems)
    try:
        text = None if source is None else format_source(source, problems)
        if text is None:
            return None, problems.sorted(), data
        made = text.encode("utf-8")
        if made != data:
            _prove_digest(sources, path, data, made)
    except FormatUnproven as fault:
        message = f"the formatter failed on `{shown(path)}`, which is as it was: {fault.args[0]}"
        raise ToubaFailure("InternalError", message) from None
    return made, [], data


def _prove_digest(sources: ProjectSources, path: str, old: bytes, new: bytes) -> None:
    """Where the file compiles as a program, its new text must have the same digest. Raises FormatUnproven."""
    from ..language.compiler import compile_program
    from ..language.format import FormatUnproven

    before = compile_program(_Replaced(sources, path, old), path).air
    if before is None:
        return
    after = compile_program(_Replaced(sources, path, new), path).air
    if after is None or after["digest"] != before["digest"]:
        raise FormatUnproven("the new text compiles to another program")


class _Replaced:
    """The sources of the project, with other bytes in the place of one file."""

    __slots__ = ("_data", "_path", "_sources", "find", "near", "places")

    def __init__(self, sources: ProjectSources, path: str, data: bytes):
        self._sources = sources
        self._path = path
        self._data = data
        self.find = sources.find
        self.near = sources.near
        self.places = sources.places

    def read(self, path: str) -> bytes:
        return self._data if path == self._path else self._sources.read(path)


def _replace(real: str, path: str, data: bytes) -> None:
    """Put a file's new text in its place in one step; the file keeps its permissions."""
    try:
        mode = os.stat(real).st_mode & 0o7777
        if not os.access(real, os.W_OK):
            raise ToubaFailure("FileUnwritable", f"`{shown(path)}` cannot be written: permission is denied")
        file = OutputFile(real, "the program")
        file.write(data)
        os.chmod(real, mode)
    except OSError as fault:
        raise ToubaFailure("FileUnwritable", f"`{shown(path)}` cannot be written: {cause(fault)}") from None


# --- which files ------------------------------------------------------------------------------------------------------


def _find(root: str, paths: list[str], started_in: str) -> list[str]:
    """The files that were named, and the programs in the folders that were, each once, in their order."""
    found: dict[str, None] = {}
    for path in paths:
        if os.path.isdir(os.path.join(root, path)):
            inside(root, path, "the folder")
            for each in _programs(root, path):
                found[inputs.find_source(root, each, started_in)] = None
        else:
            found[inputs.find_source(root, path, started_in)] = None
    return list(found)


def _programs(root: str, folder: str) -> list[str]:
    """The programs below a folder, sorted; hidden folders and links to folders are left out."""
    found: list[str] = []

    def refuse(fault: OSError) -> None:
        name = shown(os.path.relpath(fault.filename, root))
        raise ToubaFailure("FileUnreadable", f"the folder `{name}` cannot be read: {cause(fault)}")

    for place, folders, names in os.walk(os.path.join(root, folder), onerror=refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [os.path.join(place, name) for name in sorted(names) if name.endswith(".tb")]
    return found
