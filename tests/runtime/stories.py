"""Everything that runs of a program tell, in both engines: for the tests that compare them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.runtime.machine_kit import Ran
from touba_cli.air.program import Program, load_program
from touba_cli.errors import ToubaFailure
from touba_cli.language.compiler import compile_program
from touba_cli.project.sources import ProjectSources
from touba_cli.runtime.budget import allow_recursion
from touba_cli.runtime.execution import GeneratedCode
from touba_cli.runtime.machine import Machine, Need, RunLimits, Settled
from touba_cli.values.check import TypeTable

allow_recursion()


def compiled(tmp_path_factory: pytest.TempPathFactory, source: str) -> Program:
    folder = tmp_path_factory.mktemp("direct")
    name = source.split()[1] + ".tb"
    (folder / name).write_text(source, "utf-8")
    found = compile_program(ProjectSources(str(folder)), name)
    assert found.air is not None, [(each.title, each.span) for each in found.diagnostics]
    return load_program(found.air)


class Stop(BaseException):
    """What a driver raises out of a pulse."""


class Story:
    """Runs of one program in one engine, each as everything that can be told from outside."""

    def __init__(self, program: Program, engine: str):
        self.program = program
        self.engine = engine
        self.table = TypeTable(program.types)
        self.code = GeneratedCode(program.callables, self.table, at_once=True)

    def made(
        self,
        entry: str,
        n: int,
        room: int | None = None,
        rows: int | None = None,
        functions: bool = True,
        **limits: int,
    ) -> Machine:
        code = self.code if self.engine == "generated" else GeneratedCode(self.program.callables, self.table)
        machine = Machine(
            self.program, self.table, entry, [n], RunLimits(**limits), {}, code,
            reference=self.engine == "reference", trace_functions=functions,
        )  # fmt: skip
        if room is not None:
            machine._teller.room = room
        if rows is not None and machine._functions is not None:
            machine._functions._most = rows
        return machine

    def run(self, entry: str, n: int, slice_steps: int = 20_000, **more: Any) -> Any:
        machine = self.made(entry, n, **more)
        ran = Ran()
        clock: list[Any] = []
        while ran.outcome is None:
            progress = machine.advance(slice_steps, lambda: clock.append(("pulse", machine.usage.steps)))
            held = [(repr(each.slots), list(each.attempts)) for each in machine._task.frames]
            clock.append((machine.usage.steps, standing(machine), held, len(progress.events), len(progress.needs)))
            ran.take(progress)
            for need in progress.needs:
                machine.settle(need.occurrence, answer(need))
        ran.steps = machine.usage.steps
        return *ran.story(), clock, machine.events_left_out, machine.functions_left_out

    def cut(self, entry: str, n: int, slice_steps: int, at: int, how: str) -> Any:
        """A run that is ended from outside at its ``at``-th event: an answer, a slice or a pulse; None at its own end."""
        machine = self.made(entry, n)
        left = [at]

        def pulse() -> None:
            left[0] -= 1
            if left[0] == 0:
                raise Stop if how != "deadline" else ToubaFailure("DeadlineExceeded", "late")

        ran = Ran()
        try:
            while ran.outcome is None:
                progress = machine.advance(slice_steps, pulse)
                ran.take(progress)
                if ran.outcome is None:
                    pulse()
                for need in progress.needs:
                    machine.settle(need.occurrence, answer(need))
                    pulse()
        except Stop:
            stands = standing(machine)
            early = machine.cancel() if how == "cancel" else machine.abort(ToubaFailure("DeadlineExceeded", "late"))
            ran.take(early)
            ran.steps = machine.usage.steps
            return stands, ran.story()
        except ToubaFailure:  # between two slices, where it is the driver's
            return [], None
        ran.steps = machine.usage.steps
        return ([], ran.story()) if ran.ended.kind == "failed" else None


def answer(need: Need) -> Settled:
    given = need.arguments["n"]
    return Settled.failed("Refused", "no") if given % 3 == 1 else Settled.given(given % 7)


def standing(machine: Machine) -> list[Any]:
    """Where every frame is; the slots and attempts of one that has failed are lost."""
    return [(each.callable.ref, each.pc, each.span, each.occurrence, each.told) for each in machine._task.frames]


def agree(program: Program, entry: str, arguments: range, **limits: int) -> set[str]:
    """Compare the engines for some arguments; gives how the runs ended."""
    reference, generated = Story(program, "reference"), Story(program, "generated")
    ends = set()
    for n in arguments:
        for slice_steps in (3, 20_000):
            expected = reference.run(entry, n, slice_steps, **limits)
            assert generated.run(entry, n, slice_steps, **limits) == expected
            ends.add(expected[3][0] if expected[3] else "")
    return ends
