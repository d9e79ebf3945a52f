"""`touba compile`: a program as AIR."""

from __future__ import annotations

from ..codec import encode
from ..errors import ToubaFailure
from ..outcomes import PHASES
from ..runtime.envelope import error_object, exit_code
from . import inputs
from .output import error_text, note, print_document, print_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

COMPILE_PROTOCOL = "touba-compile-v1"


def command(words: list[str]) -> int:
    """Run the command and print its document or text; gives the exit code."""
    as_json = inputs.wants_json(words)
    document: dict[str, Any] = {
        "protocol": COMPILE_PROTOCOL,
        "air": None,
        "digest": None,
        "diagnostics": [],
        "error": None,
    }
    code = 0
    try:
        if not _compile(words, document, as_json):
            code = PHASES["internal"]
    except Exception as fault:
        failure = inputs.as_failure(fault)
        document["air"] = document["digest"] = None
        document["error"] = {**error_object(failure), "diagnostics": []}  # they stand beside it already
        code = exit_code(failure)
        if not as_json:
            note(error_text({**document["error"], "hint": None} if document["diagnostics"] else document["error"]))
    if as_json and not print_document(encode(document)):
        code = PHASES["internal"]
    return code


def _compile(words: list[str], document: dict[str, Any], as_json: bool) -> bool:
    """Without ``--out`` and ``--json`` the AIR itself goes to standard output, so it can be piped on.

    False where it could not be written.
    """
    from ..air.program import write_program
    from ..project.files import OutputFile, cause, shown

    options = inputs.read_options("compile", words)
    compiled = inputs.compile_options(options)
    document["diagnostics"] = [each.as_json() for each in compiled.diagnostics]
    if not as_json:
        note(inputs.render_diagnostics(compiled.diagnostics))
    if compiled.failed or compiled.air is None:
        raise inputs.compile_failure(compiled)
    air: dict[str, Any] = compiled.air
    out: str | None = options.get("out")
    if out is not None:
        file = OutputFile(out, "the output file")
        try:
            file.write(write_program(air) + b"\n")
        except OSError as fault:
            message = f"the output file `{shown(out)}` cannot be written: {cause(fault)}"
            raise ToubaFailure("FileUnwritable", message) from None
    document["air"] = air
    document["digest"] = air["digest"]
    if as_json:
        return True
    if out is not None:
        return print_text(f"{shown(out)}: {air['digest']}")
    return print_document(write_program(air))
