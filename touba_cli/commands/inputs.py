"""What the commands take in: standard input, options, the project's folder and the program's source."""

from __future__ import annotations

import os
import select
import sys

from .. import __version__
from ..documents import read_document
from ..errors import ToubaFailure
from ..limits import REQUEST_BYTES
from ..options import nearest
from ..project.files import cause, check_readable, inside, shown
from ..runtime.interrupts import Cancelled
from .arguments import from_request, merge, parse
from .output import relay

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..language.compiler import Compiled
    from ..language.diagnostics import Diagnostic
    from ..project.cache import ProgramCache
    from ..runtime.interrupts import Interrupts

STDIN = 0
REQUEST_PROTOCOL = "touba-run-request-v1"
_CHUNK = 1024 * 1024
#: files beside a program that is not there of which a hint may name one
_MOST_NAMES = 2_000


def wants_json(words: list[str]) -> bool:
    """Whether a command line asks for a JSON document, also where the rest of it is wrong."""
    return any(word == "--json" or word == "--request" or word.startswith("--request=") for word in words)


def read_stdin(interrupts: Interrupts | None, *, first_line: bool = False) -> bytes:
    """Standard input to its end, or its first line.

    Parameters:
        interrupts: what may end the wait, or None.
        first_line: read one line only; what follows stays unread as far as the system allows it.

    Raises:
        ToubaFailure: RequestTooLarge, FileUnreadable.
        Cancelled: the end was asked for meanwhile.
    """
    parts: list[bytes] = []
    size = 0
    while True:
        if interrupts is not None:
            poll = select.poll()
            for descriptor in (STDIN, *interrupts.descriptors()):
                poll.register(descriptor, select.POLLIN)
            poll.poll()
            if interrupts.look():
                raise Cancelled
        try:
            part = os.read(STDIN, _CHUNK)
        except BlockingIOError:
            continue
        except OSError as fault:
            raise ToubaFailure("FileUnreadable", f"standard input cannot be read: {cause(fault)}") from None
        parts.append(part)
        size += len(part)
        ended = not part
        if first_line and b"\n" in part:
            parts = [b"".join(parts).partition(b"\n")[0]]
            size = len(parts[0])
            ended = True
        if size > REQUEST_BYTES:
            raise ToubaFailure("RequestTooLarge", f"the request has more than {REQUEST_BYTES} bytes")
        if ended:
            return b"".join(parts)


def read_options(command: str, words: list[str], interrupts: Interrupts | None = None) -> dict[str, Any]:
    """The options of a command: those of its command line and those of the request that it names.

    From here on the end of the standard input of an attached command asks for its end.

    Raises:
        ToubaFailure: whatever is wrong with them.
        Cancelled: the end was asked for meanwhile.
    """
    options = parse(command, words, lambda: read_stdin(interrupts))
    attached = options.get("attached", False)
    if "request" not in options:
        if attached:
            raise ToubaFailure("UsageError", "--attached is for --request=- only: the request is the first line")
        return options
    del options["request"]
    data = read_stdin(interrupts, first_line=attached)
    if attached and interrupts is not None:
        interrupts.attach(STDIN)
    return merge(options, from_request(command, _read_request(data)))


def _read_request(data: bytes) -> dict[str, Any]:
    """The options of a request document. One of another protocol is refused with both versions: the handshake."""
    try:
        document = read_document(REQUEST_PROTOCOL, data, REQUEST_BYTES)
    except ToubaFailure as failure:
        if failure.code == "IncompatibleRuntime":
            failure.message += f" (touba {__version__})"
        raise
    options: dict[str, Any] = document["options"]
    return options


def enter_project(options: dict[str, Any]) -> tuple[str, str]:
    """Make the project's folder the current one: every relative path is taken from it.

    Gives its absolute path, and that of the folder that was current before.
    """
    given: str = options.get("project_root", ".")
    try:
        started_in = os.getcwd()
        root = os.path.abspath(given)
        os.chdir(root)
    except OSError as fault:
        raise ToubaFailure(
            "FileUnreadable", f"the project root `{shown(given)}` cannot be entered: {cause(fault)}"
        ) from None
    return root, started_in


def find_source(root: str, source: str, started_in: str) -> str:
    """The path of a program's file, from the project root.

    Raises:
        ToubaFailure: FileUnreadable, PathOutsideProject.
    """
    real = inside(root, source, "the program")
    try:
        check_readable(real, source, "the program")
    except ToubaFailure as failure:
        if not os.path.isabs(source) and os.path.isfile(os.path.join(started_in, source)):
            failure.hint = "Paths are taken from the project root; name it from there."
        elif not os.path.lexists(real):
            near = _near_program(real, source)
            place = f"It was looked for in the project root, `{shown(os.path.abspath(root))}`."
            failure.hint = f"Did you mean `{shown(near)}`? {place}" if near else place
        raise
    written = os.path.relpath(os.path.join(root, source), root)
    if written == ".." or written.startswith("../"):
        written = os.path.relpath(real, os.path.realpath(root))
    try:
        written.encode("utf-8")
    except UnicodeEncodeError:
        raise ToubaFailure("OptionInvalid", f"the program's path `{shown(written)}` is not UTF-8 text") from None
    return written


def _near_program(real: str, written: str) -> str | None:
    """The program beside a path that is not there which was probably meant, as it would have been written."""
    folder, name = os.path.split(real)
    try:
        names = sorted(each for each in os.listdir(folder)[:_MOST_NAMES] if each.endswith(".tb"))
    except OSError:
        return None  # the folder is not there either
    stem = name.removesuffix(".tb")
    near = nearest(stem, [each[:-3] for each in names])
    return None if near is None else os.path.join(os.path.dirname(written), near + ".tb")


def compile_source(root: str, path: str) -> Compiled:
    """Compile a program of the project. Loads the compiler, which nothing else does."""
    from ..language.compiler import compile_program
    from ..project.sources import ProjectSources

    return compile_program(ProjectSources(root), path)


def load_source(options: dict[str, Any], root: str, path: str) -> tuple[dict[str, Any] | None, Compiled | None]:
    """The AIR of a program of the project: from the compile cache, or compiled.

    Gives None in its place where the program has errors, and what the compiler said where it was asked.
    """
    from ..project.cache import RecordedSources
    from ..project.sources import ProjectSources

    cache = _open_cache(options)
    sources = ProjectSources(root)
    if cache is None:
        compiled = compile_source(root, path)
        return compiled.air, compiled
    air = cache.find(sources, path)
    if air is not None:
        return air, None
    from ..language.compiler import compile_program

    recorded = RecordedSources(sources)
    compiled = compile_program(recorded, path)
    if compiled.air is not None:
        cache.keep(recorded, path, compiled.air)
    return compiled.air, compiled


def _open_cache(options: dict[str, Any]) -> ProgramCache | None:
    from ..project.cache import default_folder, open_cache

    if not options.get("cache", True):
        return None
    folder = options.get("cache_folder")
    if folder is None:
        base = default_folder(dict(os.environ), sys.platform)
        folder = None if base is None else os.path.join(base, "programs")
    return None if folder is None else open_cache(os.path.abspath(folder))


def compile_options(options: dict[str, Any]) -> Compiled:
    """Enter the project and compile the program that the options of `check` or `compile` name."""
    if "source" not in options:
        raise ToubaFailure("UsageError", "no program is given", hint="Name its file: PROGRAM.tb.")
    root, started_in = enter_project(options)
    return compile_source(root, find_source(root, options["source"], started_in))


def as_failure(fault: Exception) -> ToubaFailure:
    """An exception as the failure that it is. One that nobody expected is an `InternalError`.

    Its traceback goes to standard error and nowhere else.
    """
    if isinstance(fault, ToubaFailure):
        return fault
    import traceback

    relay("".join(traceback.format_exception(fault)).encode("utf-8", "backslashreplace"))
    return ToubaFailure("InternalError", f"Touba itself failed ({type(fault).__name__})")


def compile_failure(compiled: Compiled) -> ToubaFailure:
    """The failure of a program that has errors."""
    return errors_failure(compiled.diagnostics, "the program")


def errors_failure(diagnostics: list[Diagnostic], what: str) -> ToubaFailure:
    """The failure of something that has errors, called ``what``."""
    errors = [each for each in diagnostics if each.severity == "error"]
    first = errors[0]
    line, column = first.source.position(first.span.start)
    count = "one error" if len(errors) == 1 else f"{len(errors)} errors"
    return ToubaFailure(
        "CompileFailed",
        f"{what} has {count}; the first is {first.code} at {first.source.path}:{line}:{column}",
        diagnostics=[each.as_json() for each in diagnostics],
    )


def render_diagnostics(diagnostics: list[Diagnostic]) -> str:
    """Problems as a terminal shows them, with an empty line after the last; many are counted."""
    from ..language.render import render_all

    text = render_all(diagnostics)
    return text + "\n" if text else text
