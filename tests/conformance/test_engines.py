"""The cases of this folder once more, in this process: generated code does in all of them what the interpreter does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conformance.cases import CASES, HERE, Case
from tests.runtime.machine_kit import Ran
from touba_cli.air.program import Program, load_program
from touba_cli.codec import decode
from touba_cli.errors import CODES, ToubaFailure
from touba_cli.language.compiler import compile_program
from touba_cli.project.sources import ProjectSources
from touba_cli.runtime.admission import check_features, choose_entry, decode_inputs
from touba_cli.runtime.budget import allow_recursion
from touba_cli.runtime.execution import GeneratedCode
from touba_cli.runtime.machine import Machine, RunLimits, Settled
from touba_cli.values.check import TypeTable
from touba_cli.values.model import Meter

allow_recursion()


def in_process(case: Case) -> bool:
    """Whether a case can run here: its handlers are answers, and its options can be read."""
    reason = (case.lines("expect outcome") or ["success completed"])[0].split(" ")[1]
    refused = reason in CODES and CODES[reason].phase == "usage" and reason != "UsageError"
    return case.runs and not refused and not {"manifest", "air"} & decode_options(case).keys()


def decode_options(case: Case) -> dict[str, Any]:
    # Not read by `json`, which would lose the spelling of numbers.
    found: dict[str, Any] = decode(case.sections.get("options", "{}").encode())
    return found


RUN = [path for path in CASES if in_process(Case(path))]


def story(program: Program, case: Case, engine: str, slice_steps: int) -> Any:
    """Everything that one run tells, or the failure that kept it from starting."""
    options = decode_options(case)
    limits = {name: value for name, value in options.get("run_limits", {}).items() if name != "deadline_ms"}
    table = TypeTable(program.types)
    try:
        check_features(program)
        entry = choose_entry(program, options.get("entry_ref"))
        inputs = options.get("inputs") or decode(case.sections.get("inputs", "{}").encode())
        meter = Meter(2**62, limits.get("max_value_bytes", 2**25))
        arguments = decode_inputs(
            program.callables[entry], table, inputs, meter, strict=options.get("strict_inputs", False)
        )
    except ToubaFailure as failure:
        return failure.code, failure.message
    code = GeneratedCode(program.callables, table, at_once=engine == "generated")
    granted = {ref: frozenset(each.requires) for ref, each in program.callables.items()}
    machine = Machine(
        program, table, entry, arguments, RunLimits(**limits), granted, code, reference=engine == "reference"
    )
    answers = {ref: iter(each) for ref, each in case.document("tools").items()}
    ran = Ran()
    pulses: list[int] = []
    while ran.outcome is None:
        progress = machine.advance(slice_steps, lambda: pulses.append(machine.usage.steps))
        ran.take(progress)
        for need in progress.needs:
            answer = next(answers.get(need.ref, iter(())), {"failed": "ToolUnbound"})
            settled = Settled.given(answer.get("given"))
            if "failed" in answer:
                settled = Settled.failed(
                    answer["failed"], answer.get("message", ""), effect=answer.get("effect", "none")
                )
            machine.settle(need.occurrence, settled)
    ran.steps = machine.usage.steps
    return *ran.story(), pulses


@pytest.mark.parametrize("path", RUN, ids=lambda path: str(path.relative_to(HERE).with_suffix("")))
def test_the_engines_agree(path: Path, tmp_path: Path) -> None:
    case = Case(path)
    case.write(tmp_path)
    compiled = compile_program(ProjectSources(str(tmp_path)), case.entry)
    if compiled.air is None:
        assert "CompileFailed" in case.sections["expect outcome"]
        return
    program = load_program(compiled.air)
    for slice_steps in (20_000, 25):
        expected = story(program, case, "reference", slice_steps)
        assert story(program, case, "generated", slice_steps) == expected
        assert story(program, case, "as it comes", slice_steps) == expected
    if "expect result" in case.sections:
        assert expected[1] == case.document("expect result")


def test_most_cases_run() -> None:
    assert len(RUN) >= 200
