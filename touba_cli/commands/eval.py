"""`touba eval`: the value of one pure expression."""

from __future__ import annotations

import time

from ..codec import encode
from ..errors import ToubaFailure
from ..outcomes import PHASES
from ..runtime.envelope import error_object, exit_code
from . import inputs
from .output import error_text, note, pretty, print_document, print_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..air.program import Program
    from ..runtime.machine import Machine

EVAL_PROTOCOL = "touba-eval-v1"


class _Evaluation:
    """What is known so far, so that every failure finds its document."""

    __slots__ = ("document", "is_shown", "program")

    def __init__(self) -> None:
        self.document: dict[str, Any] = {
            "protocol": EVAL_PROTOCOL,
            "type": None,
            "value": None,
            "steps": 0,
            "diagnostics": [],
            "error": None,
        }
        self.program: Program | None = None
        #: whether a terminal has been shown the problems
        self.is_shown = False


def command(words: list[str]) -> int:
    """Run the command and print its document or text; gives the exit code."""
    as_json = inputs.wants_json(words)
    evaluation = _Evaluation()
    document = evaluation.document
    code = 0
    try:
        _evaluate(words, evaluation, as_json)
    except Exception as fault:
        failure = inputs.as_failure(fault)
        error = error_object(failure, evaluation.program)
        document["error"] = {**error, "diagnostics": []}  # they stand beside it
        code = exit_code(failure)
        if not as_json:
            note(error_text({**error, "hint": None} if evaluation.is_shown else error))
    if as_json:
        is_told = print_document(encode(document))
    elif code == 0:
        value = document["value"]
        is_told = print_text(value if isinstance(value, str) else pretty(value))
    else:
        is_told = True
    return code if is_told else PHASES["internal"]


def _evaluate(words: list[str], evaluation: _Evaluation, as_json: bool) -> None:
    from ..air.program import load_program
    from ..language.evaluate import ENTRY_REF, compile_expression
    from ..runtime.machine import Machine, RunLimits
    from ..values.check import TypeTable

    document = evaluation.document
    options = inputs.read_options("eval", words)
    if "expression" not in options:
        raise ToubaFailure("UsageError", "no expression is given", hint="Write it in quotes: touba eval '1 + 1'.")
    compiled = compile_expression(options["expression"])
    document["diagnostics"] = [each.as_json() for each in compiled.diagnostics]
    if compiled.diagnostics and not as_json:
        note(inputs.render_diagnostics(compiled.diagnostics))
        evaluation.is_shown = True
    if compiled.air is None:
        raise inputs.errors_failure(compiled.diagnostics, "the expression")
    limits: dict[str, int] = options.get("run_limits", {})
    run_limits = RunLimits(**{name: value for name, value in limits.items() if name != "deadline_ms"})
    program = load_program(compiled.air)
    evaluation.program = program
    table = TypeTable(program.types)
    machine = Machine(program, table, ENTRY_REF, [], run_limits, {})
    try:
        value = _run(machine, limits.get("deadline_ms"))
    finally:
        document["steps"] = machine.usage.steps
    document["type"] = compiled.type
    document["value"] = value


def _run(machine: Machine, deadline_ms: int | None) -> Any:
    """The value that a machine comes to. A pure function needs nothing from outside."""
    from ..limits import SLICE_STEPS
    from ..runtime.driver import overdue

    due = None if deadline_ms is None else time.monotonic() + deadline_ms / 1000

    def look() -> None:
        if due is not None and time.monotonic() >= due:
            raise overdue(deadline_ms)

    while True:
        look()
        outcome = machine.advance(SLICE_STEPS, look).outcome
        if outcome is not None:
            break
    if outcome.failure is not None:
        raise outcome.failure
    return outcome.result
