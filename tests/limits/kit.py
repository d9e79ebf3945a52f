"""What the tests of limits share: three cases a limit, and the text of programs at a limit."""

from __future__ import annotations

from typing import Any

import pytest

from tests.language.pages import Files
from tests.runtime.machine_kit import drive
from touba_cli.air.program import load_program
from touba_cli.errors import ToubaFailure
from touba_cli.language.compiler import Compiled, compile_program
from touba_cli.limits import MAX_VALUE_BYTES
from touba_cli.runtime.admission import decode_inputs
from touba_cli.runtime.execution import GeneratedCode
from touba_cli.runtime.machine import Machine, RunLimits
from touba_cli.values.check import TypeTable
from touba_cli.values.model import Meter


def three_cases(limit: str) -> pytest.MarkDecorator:
    """Run a test one below a limit, at it and one above it: ``by`` is -1, 0 and 1.

    ``limit`` is a name of `touba_cli/limits.py`, or of the table `OTHERS` of `test_all_limits.py`, which looks for
    these words to know which limits have their three cases.
    """
    assert limit
    return pytest.mark.parametrize("by", [-1, 0, 1], ids=["below", "at", "above"])


def compiled(program: str | bytes, **others: str) -> Compiled:
    """Compile `app.tb`, beside modules by name."""
    files: dict[str, str | bytes] = {"app.tb": program}
    files.update({f"{name}.tb": text for name, text in others.items()})
    return compile_program(Files(files), "app.tb")


def accepted(program: str | bytes, **others: str) -> dict[str, Any]:
    """The AIR of a program without errors."""
    found = compiled(program, **others)
    assert [each.code for each in found.diagnostics if each.severity == "error"] == []
    assert found.air is not None
    return found.air


def refused(program: str | bytes, code: str, place: str, says: str, **others: str) -> None:
    """A program has one error, at ``line:column`` (``FILE line:column`` for another file), whose text names a figure."""
    found = compiled(program, **others)
    errors = [each for each in found.diagnostics if each.severity == "error"]
    assert [each.code for each in errors] == [code]
    line, column = errors[0].source.position(errors[0].span.start)
    prefix = "" if errors[0].source.path == "app.tb" else errors[0].source.path + " "
    assert f"{prefix}{line}:{column}" == place
    assert says in errors[0].title
    assert found.air is None


def judged(program: str | bytes, by: int, code: str, place: str, says: str, **others: str) -> None:
    """A program is accepted up to a limit and refused above it."""
    if by <= 0:
        accepted(program, **others)
    else:
        refused(program, code, place, says, **others)


def function(
    lines: str, *, takes: str = "n as Int", gives: str = "Int", before: str = "", kind: str = "function"
) -> str:
    """A program with one callable whose statements begin in line 6 at column 9, where nothing stands ``before`` it."""
    body = "".join(f"        {line}\n" for line in lines.split("\n"))
    head = f"    takes {takes}\n" if takes else ""
    return f"module app\n{before}{kind} Main\n{head}    gives {gives}\n    do\n{body}"


def ran(program: str, inputs: dict[str, Any] | None = None, **limits: int) -> Any:
    """Run `Main` of a program by both engines, which must tell the same.

    ``inputs`` are decoded JSON. Returns what it gave, on the wire, or the code and the message of its failure.
    """
    found = load_program(accepted(program))
    entry = next(ref for ref in found.callables if ref.endswith("/Main"))
    table = TypeTable(found.types)
    meter = Meter(1 << 62, limits.get("max_value_bytes", MAX_VALUE_BYTES))
    try:
        arguments = decode_inputs(found.callables[entry], table, inputs or {}, meter, strict=False)
    except ToubaFailure as refusal:
        return refusal.code, refusal.message
    told = []
    for engine in ("reference", "generated"):
        code = GeneratedCode(found.callables, table, at_once=True)
        made = Machine(found, table, entry, arguments, RunLimits(**limits), {}, code, reference=engine == "reference")
        told.append(drive(made).story())
    assert told[0] == told[1]
    kind, result, _, failure = told[0][:4]
    return result if kind == "finished" else (failure[0], failure[1])
