"""What verifies can run: a verified program ends in an outcome, never in a Python exception."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.air.samples import Document, compiled, every_expression, review, seal
from tests.air.test_mutations import mutate
from touba_cli.air.program import Program, load_program
from touba_cli.air.verifier import verify
from touba_cli.errors import ToubaFailure
from touba_cli.runtime.interpreter import allow_recursion
from touba_cli.runtime.machine import Machine, Outcome, RunLimits, Settled
from touba_cli.values.check import TypeTable, ValueInvalid
from touba_cli.values.model import Meter

# The machine raises Python's recursion limit when it is first made, which hypothesis takes amiss inside a test.
allow_recursion()

DOCUMENTS = [review(), every_expression(), compiled()]

LINE = {"name": "Tea", "Amount": "12.50", "level": "High"}
INPUTS: dict[str, Any] = {
    "invoice": {"id": "A", "lines": [LINE, {**LINE, "name": "free"}], "note": "Hello", "due": "2026-01-31"},
    "lines": [LINE],
    "text": "x",
    "message": "x",
    "level": "Low",
    "x": 5,
}


def run(program: Program, entry: str) -> Outcome | None:
    """Run an entry with the inputs above; None where they do not fit its types."""
    table = TypeTable(program.types)
    meter = Meter(10**6, 2**20)
    try:
        arguments = [
            table.decode(form, INPUTS[name], "$", meter, edge=True) for name, form in program.callables[entry].takes
        ]
    except (KeyError, ValueInvalid, ToubaFailure):
        return None
    granted = dict.fromkeys(("tool:app/Pay", "tool:everything/Pay"), frozenset(["network"]))
    machine = Machine(program, table, entry, arguments, RunLimits(max_steps=3_000), granted)
    while True:
        progress = machine.advance(1_000, lambda: None)
        if progress.outcome is not None:
            return progress.outcome
        for need in progress.needs:
            answer = Settled.failed("CardDeclined", "no") if len(need.occurrence) % 2 else Settled.given("R-1")
            machine.settle(need.occurrence, answer)


def entries(program: Program) -> list[str]:
    return [ref for ref, declared in program.callables.items() if declared.kind != "tool"]


def test_the_samples_run() -> None:
    for document, entry in ((review(), "strategy:app/Review"), (compiled(), "strategy:everything/Review")):
        outcome = run(load_program(document), entry)
        assert outcome is not None
        assert (outcome.failure, outcome.kind) == (None, "finished")
    outcome = run(load_program(every_expression()), "function:app/Every")
    assert outcome is not None
    assert (outcome.failure, outcome.result) == (None, 5)


def sound(document: Document) -> bool:
    try:
        verify(seal(document))
    except (ToubaFailure, KeyError, AttributeError, TypeError, RecursionError):
        return False
    return True


@settings(max_examples=800)
@given(st.data())
def test_mutated_programs_that_verify_end_in_an_outcome(data: st.DataObject) -> None:
    document = copy.deepcopy(data.draw(st.sampled_from(DOCUMENTS)))
    for _ in range(data.draw(st.integers(1, 2))):
        mutate(data, document)
    if not sound(document):
        return
    program = load_program(document)
    for entry in entries(program):
        outcome = run(program, entry)
        assert outcome is None or outcome.kind in ("finished", "stopped", "failed")
