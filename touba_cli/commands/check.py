"""`touba check`: the problems of a program, without running it."""

from __future__ import annotations

from ..codec import encode
from ..outcomes import PHASES
from ..runtime.envelope import error_object, exit_code
from . import inputs
from .output import error_text, note, print_document, print_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..runtime.interrupts import Interrupts

CHECK_PROTOCOL = "touba-check-v1"


def command(words: list[str], interrupts: Interrupts) -> int:
    """Run the command and print its document or text; gives the exit code.

    Raises:
        Cancelled: the end was asked for meanwhile.
    """
    as_json = inputs.wants_json(words)
    document: dict[str, Any] = {"protocol": CHECK_PROTOCOL, "diagnostics": [], "not_run": [], "error": None}
    try:
        code = _check(words, document, as_json, interrupts)
    except Exception as fault:
        failure = inputs.as_failure(fault)
        document["error"] = error_object(failure)
        code = exit_code(failure)
        if not as_json:
            note(error_text(document["error"]))
    if as_json and not print_document(encode(document)):
        code = PHASES["internal"]
    return code


def _check(words: list[str], document: dict[str, Any], as_json: bool, interrupts: Interrupts) -> int:
    options = inputs.read_options("check", words, interrupts)
    compiled = inputs.compile_options(options)
    found = compiled.diagnostics
    errors = sum(each.severity == "error" for each in found)
    warnings = len(found) - errors
    document["diagnostics"] = [each.as_json() for each in found]
    document["not_run"] = [] if compiled.air is None else _not_run(compiled.air)
    if not as_json:
        note(inputs.render_diagnostics(found))
        if found:
            note(f"{_count(errors, 'error')}, {_count(warnings, 'warning')}\n")
        elif not print_text("no problems found"):
            return PHASES["internal"]
        if document["not_run"]:
            note(f"note: this version checks and compiles, and cannot run yet: {', '.join(document['not_run'])}\n")
    if compiled.failed:
        failure = inputs.compile_failure(compiled)
        document["error"] = {**error_object(failure), "diagnostics": []}  # they stand beside it already
        return exit_code(failure)
    return 1 if warnings and options.get("warnings_as_errors") else 0


def _not_run(air: dict[str, Any]) -> list[str]:
    """What the program has that this version does not run: a run would be refused, or pass it over."""
    from ..runtime.unavailable import not_run, tests

    return [*not_run(air), *tests(air)]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
