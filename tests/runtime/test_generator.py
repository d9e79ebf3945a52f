"""Generated code does what the interpreter does: the same values, failures, places, steps, events and pulses."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.runtime.machine_kit import Ran
from tests.runtime.program_strategy import programs
from touba_cli.air.program import Program
from touba_cli.runtime import execution
from touba_cli.runtime.execution import GeneratedCode
from touba_cli.runtime.interpreter import allow_recursion
from touba_cli.runtime.machine import Machine, Need, RunLimits, Settled
from touba_cli.values.check import TypeTable

# The machine raises Python's recursion limit when it is first made, which hypothesis takes amiss inside a test.
allow_recursion()

MAIN = "strategy:app/Main"


class Runner:
    """Runs one program again and again; what was generated for it is kept from run to run."""

    def __init__(self, program: Program, entry: str = MAIN):
        self.program = program
        self.entry = entry
        self.table = TypeTable(program.types)
        self.code = GeneratedCode(program.callables, self.table, at_once=True)

    def run(self, how: str, slice_steps: int, arguments: list[Any] | None = None, **limits: int) -> tuple[Any, ...]:
        """Everything that can be told from outside, with the steps at each pulse and each end of a slice."""
        code = {"generated": self.code, "reference": None, "mixed": GeneratedCode(self.program.callables, self.table)}[
            how
        ]
        machine = Machine(
            self.program, self.table, self.entry, arguments or [], RunLimits(**limits), {}, code,
            reference=how == "reference",
        )  # fmt: skip
        ran = Ran()
        clock: list[tuple[str, int]] = []
        while ran.outcome is None:
            progress = machine.advance(slice_steps, lambda: clock.append(("pulse", machine.usage.steps)))
            clock.append(("slice", machine.usage.steps))
            frames = [(each.callable.ref, each.pc, repr(each.slots), each.attempts) for each in machine._task.frames]
            clock.append((repr(frames), len(progress.needs)))
            ran.take(progress)
            for need in progress.needs:
                machine.settle(need.occurrence, answer(need))
        ran.steps = machine.usage.steps
        return (*ran.story(), clock)


def answer(need: Need) -> Settled:
    given = need.arguments["a0"]
    return Settled.failed("Refused", "no") if given % 3 == 1 else Settled.given(given % 7)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(programs())
def test_generated_code_agrees_for_every_budget(program: Program) -> None:
    runner = Runner(program)
    steps = runner.run("reference", 20_000)[-2]
    assert runner.run("generated", 20_000) == runner.run("reference", 20_000)
    budgets = range(1, steps + 1) if steps <= 300 else range(1, steps + 1, steps // 60)
    for budget in budgets:
        expected = runner.run("reference", 20_000, max_steps=budget)
        assert runner.run("generated", 20_000, max_steps=budget) == expected, budget


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(programs(), st.integers(1, 60), st.integers(1, 60))
def test_slices_and_pulses_fall_in_the_same_places(program: Program, slice_steps: int, depth: int) -> None:
    runner = Runner(program)
    limits = {"max_depth": depth % 7 + 1, "max_value_bytes": 1024}
    for each in (slice_steps, 1):
        assert runner.run("generated", each, **limits) == runner.run("reference", each, **limits)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(programs(), st.integers(1, 40))
def test_the_engines_hand_over_anywhere(program: Program, slice_steps: int) -> None:
    runner = Runner(program)
    expected = runner.run("reference", slice_steps)
    with pytest.MonkeyPatch.context() as patch:
        for threshold in (0, 7, 40):
            patch.setattr(execution, "FIRST_STEPS", threshold)
            patch.setattr(execution, "STEPS", threshold)
            assert runner.run("mixed", slice_steps) == expected
