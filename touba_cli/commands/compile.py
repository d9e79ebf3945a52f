"""`touba compile`: a program as AIR."""

from __future__ import annotations

from ..codec import encode
from ..errors import ToubaFailure
from ..outcomes import PHASES
from . import inputs
from .output import note, print_document, print_text
from .tell import tell_failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..runtime.interrupts import Interrupts

COMPILE_PROTOCOL = "touba-compile-v1"


def command(words: list[str], interrupts: Interrupts) -> int:
    """Run the command and print its document or text; gives the exit code.

    Raises:
        Cancelled: the end was asked for meanwhile.
    """
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
        if not _compile(words, document, as_json, interrupts):
            code = PHASES["internal"]
    except Exception as fault:
        document["air"] = document["digest"] = None
        code = tell_failure(fault, document, as_json)
    if as_json and not print_document(encode(document)):
        code = PHASES["internal"]
    return code


def _compile(words: list[str], document: dict[str, Any], as_json: bool, interrupts: Interrupts) -> bool:
    """Without ``--out`` and ``--json`` the AIR itself goes to standard output, so it can be piped on.

    False where it could not be written.
    """
    from ..air.program import write_program
    from ..project.files import OutputFile, cause, shown

    options = inputs.read_options("compile", words, interrupts)
    compiled = inputs.compile_options(options)
    document["diagnostics"] = [each.as_json() for each in compiled.diagnostics]
    if not as_json:
        note(inputs.render_diagnostics(compiled.diagnostics))
    if compiled.failed or compiled.air is None:
        raise inputs.compile_failure(compiled)
    air: dict[str, Any] = compiled.air
    out: str | None = options.get("out")
    if out is not None:
        data = write_program(air) + b"\n"
        interrupts.attend()  # a request to end waits until the file is there, and nothing beside it
        try:
            OutputFile(out, "the output file").write(data)
        except OSError as fault:
            message = f"the output file `{shown(out)}` cannot be written: {cause(fault)}"
            raise ToubaFailure("FileUnwritable", message) from None
        finally:
            interrupts.raise_at_end()
    document["air"] = air
    document["digest"] = air["digest"]
    if as_json:
        return True
    if out is not None:
        return print_text(f"{shown(out)}: {air['digest']}")
    return print_document(write_program(air))
