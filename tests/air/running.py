"""Runs any sound program: inputs and answers are made up from its types, and both engines tell everything they do."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.runtime.machine_kit import Ran
from touba_cli.air.program import Program
from touba_cli.errors import ToubaFailure
from touba_cli.runtime.budget import allow_recursion
from touba_cli.runtime.execution import GeneratedCode
from touba_cli.runtime.machine import Machine, Need, RunLimits, Settled
from touba_cli.values.check import TypeTable, ValueInvalid
from touba_cli.values.model import Meter

# The machine raises Python's recursion limit when it is first made, which hypothesis takes amiss inside a test.
allow_recursion()

LIMITS = {"max_steps": 3_000, "max_depth": 30, "max_external_calls": 12, "max_value_bytes": 4_096}

_PLAIN: dict[str, tuple[Any, ...]] = {
    "Text": ("", "x", "12.50", "A", "é" * 40, "x" * 1_005, "y" * 990),
    "Int": (0, 1, 3, -1, 7, 2**63 - 1, -(2**63)),
    "Decimal": ("0", "12.50", "-1", "9" * 34, "99999"),
    "Float": (0.0, 1.5, -2.25, 1e300),
    "Bool": (True, False),
    "Date": ("2026-01-31", "0001-01-01", "9999-12-31"),
    "DateTime": ("2026-01-31T12:00:00Z", "2026-01-31T12:00:00+14:00"),
    "Duration": ("PT30S", "P3D", "-PT1H"),
    "Json": (None, {"a": [1, "x"]}, 5),
    "Nothing": (None,),
}


def example(random: Random, table: TypeTable, form: Any, depth: int = 0) -> Any:
    """Some wire value of a type; it need not keep to the type's constraints."""
    if isinstance(form, str) and form in _PLAIN:
        return random.choice(_PLAIN[form])
    if isinstance(form, str):
        declared = table.declared[form]
        if declared["kind"] == "alias":
            return example(random, table, _frozen(declared["of"]), depth + 1)
        if declared["kind"] == "record":
            return {wire: example(random, table, inner, depth + 1) for _, inner, wire in table.fields(form)}
        name, fields = random.choice(sorted(table.variants(form).items()))
        parts = {wire: example(random, table, inner, depth + 1) for _, inner, wire in fields}
        return {"choice": name, **parts} if fields else name
    head, inner = form[0], form[1]
    if head == "is":
        return example(random, table, inner, depth)
    count = 0 if depth > 6 else random.choice((0, 1, 2, 3))
    if head == "List":
        return [example(random, table, inner, depth + 1) for _ in range(count)]
    if head == "Map":
        return {f"k{number}": example(random, table, inner, depth + 1) for number in range(count)}
    if head == "Optional":
        present = count > 1
        return {"present": True, "value": example(random, table, inner, depth + 1)} if present else {"present": False}
    if head == "Entry":
        return {"key": "k", "value": example(random, table, inner, depth + 1)}
    raise ValueError(f"no value can be made up for {head}")


def _frozen(form: Any) -> Any:
    from touba_cli.air.types import freeze

    return freeze(form)


def inputs(random: Random, program: Program, entry: str) -> list[Any] | None:
    """Values for the inputs of an entry; None where none could be made up that keep to their types."""
    table = TypeTable(program.types)
    meter = Meter(10**6, LIMITS["max_value_bytes"])
    try:
        return [
            table.decode(form, example(random, table, form), "$", meter, edge=False)
            for _, form in program.callables[entry].takes
        ]
    except (ValueInvalid, ToubaFailure, ValueError, RecursionError):
        return None


def answer(program: Program, table: TypeTable, seed: int, need: Need) -> Settled:
    """What a handler would answer: the same to the same call, often wrong."""
    random = Random(f"{seed}/{need.occurrence}")
    if random.random() < 0.3:
        return Settled.failed("CardDeclined", "no", effect=random.choice(("none", "unknown")))
    try:
        return Settled.given(example(random, table, program.callables[need.ref].gives))
    except (ValueError, RecursionError):
        return Settled.given(None)


def tight(seed: int) -> dict[str, int]:
    """Limits that many a run meets."""
    random = Random(seed)
    return {
        "max_steps": random.randint(1, 200),
        "max_depth": random.randint(1, 6),
        "max_external_calls": random.randint(0, 2),
        "max_value_bytes": random.choice((1_024, 1_060, 4_096)),  # engines need not agree below what may be set
    }


def story(
    program: Program,
    entry: str,
    arguments: list[Any],
    seed: int,
    engine: str,
    slice_steps: int,
    limits: dict[str, int] = LIMITS,
) -> Any:
    """Everything that a run tells; ``engine`` is "reference", "generated" or "as it comes"."""
    table = TypeTable(program.types)
    code = GeneratedCode(program.callables, table, at_once=engine == "generated")
    granted = {ref: frozenset(each.requires) for ref, each in program.callables.items()}
    machine = Machine(
        program, table, entry, arguments, RunLimits(**limits), granted, code, reference=engine == "reference"
    )
    ran = Ran()
    while ran.outcome is None:
        progress = machine.advance(slice_steps, lambda: None)
        ran.take(progress)
        for need in progress.needs:
            machine.settle(need.occurrence, answer(program, table, seed, need))
    ran.steps = machine.usage.steps
    assert ran.steps <= limits["max_steps"]
    assert machine.usage.external_calls <= limits["max_external_calls"]
    return ran.story()
