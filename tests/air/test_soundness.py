"""What verifies can run: a verified program ends in an outcome within its limits, and both engines tell the same."""

from __future__ import annotations

import copy
from pathlib import Path
from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.air.mutations import change, repair
from tests.air.running import inputs, story, tight
from tests.air.samples import Document, compiled, every_expression, governed, review
from tests.air.test_compiled import Files, case_files
from tests.runtime.program_strategy import programs
from touba_cli.air.program import Program, load_program
from touba_cli.air.verifier import verify
from touba_cli.errors import CODES, ToubaFailure
from touba_cli.language.compiler import compile_program
from touba_cli.runtime.admission import ENTRY_KINDS, check_features

HERE = Path(__file__).resolve().parent

#: an outcome of a run that nothing but a fault of the runtime brings about
FAULTS = ("InternalError",)


def cases() -> list[Document]:
    """Some conformance cases of every folder whose programs run."""
    found: list[Document] = []
    for folder in ("calls", "expressions", "flow", "statements", "tools", "limits", "inputs"):
        paths = sorted((HERE.parent / "conformance" / folder).glob("*.case"))
        for path in paths[:: max(1, len(paths) // 6)]:
            files = case_files(path)
            air = compile_program(Files(files), next(iter(files))).air
            if air is not None:
                found.append(air)
    return found


DOCUMENTS = [review(), every_expression(), compiled(), governed(), *cases()]


def mutant(random: Random, document: Document) -> Program | None:
    """A changed program that may run; None where it may not."""
    document = copy.deepcopy(document)
    for _ in range(random.choice([1, 1, 2, 3])):
        change(random, document)
    repair(document)
    try:
        verify(document)
        program = load_program(document)
        check_features(program)
    except ToubaFailure:
        return None  # which codes these may be is what `test_mutations.py` is about
    return program


def check(program: Program, random: Random) -> int:
    """Run every entry; how many runs there were."""
    runs = 0
    for entry in [ref for ref, each in program.callables.items() if each.kind in ENTRY_KINDS]:
        arguments = inputs(random, program, entry)
        if arguments is None:
            continue
        seed = random.randrange(1_000)
        expected = story(program, entry, arguments, seed, "reference", 100_000)
        assert story(program, entry, arguments, seed, "generated", 100_000) == expected
        assert story(program, entry, arguments, seed, "as it comes", 7) == expected
        limits = tight(seed)
        ended = story(program, entry, arguments, seed, "reference", 100_000, limits)
        assert story(program, entry, arguments, seed, "generated", 100_000, limits) == ended
        kind, failure = expected[0], expected[3]
        assert kind in ("finished", "stopped", "failed")
        if failure is not None:
            assert failure[0] in CODES or failure[0] == "CardDeclined"
            assert failure[0] not in FAULTS
        runs += 1
    return runs


def test_the_samples_run() -> None:
    for document, entry in (
        (review(), "strategy:app/Review"), (compiled(), "strategy:everything/Review"),
        (every_expression(), "function:app/Every"),
    ):  # fmt: skip
        program = load_program(document)
        kinds = set()
        for seed in range(30):
            arguments = inputs(Random(seed), program, entry)
            if arguments is not None:
                kinds.add(story(program, entry, arguments, seed, "reference", 1_000)[0])
        assert "finished" in kinds


@settings(max_examples=900)
@given(st.integers(0, 2**64))
def test_mutated_programs_that_verify_end_in_an_outcome(seed: int) -> None:
    random = Random(seed)
    program = mutant(random, random.choice(DOCUMENTS))
    if program is not None:
        check(program, random)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(programs(), st.integers(0, 2**32))
def test_mutated_programs_of_every_shape(program: Program, seed: int) -> None:
    for number in range(6):
        random = Random(seed + number)
        changed = mutant(random, program.document)
        if changed is not None:
            check(changed, random)


def test_many_mutants_run() -> None:
    """The tests above are worth little where hardly a changed program may run."""
    runs = 0
    for seed in range(400):
        random = Random(seed)
        program = mutant(random, random.choice(DOCUMENTS))
        runs += 0 if program is None else check(program, random)
    assert runs >= 60
