"""What the generator draws compiles, verifies, formats, runs alike in both engines, and ends with no error of types."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.generated.coverage import LEFT_OUT, cover
from tests.generated.governed import governed_program
from tests.generated.mutants import mutated
from tests.generated.programs import Source, program
from tests.generated.running import DYNAMIC_CODES, Entry, compiled, entries, errors, refused, verified
from tests.generated.shrink import Files, shrink
from touba_cli.errors import CODES
from touba_cli.language.diagnostics import Problems
from touba_cli.language.format import format_source, read_module, same_tree
from touba_cli.language.source import Source as File
from touba_cli.runtime import execution, interpreter
from touba_cli.runtime.admission import AVAILABLE_FEATURES
from touba_cli.runtime.unavailable import WORDS

#: `make soak` draws other programs every time, and prints where it began
SOAK = os.environ.get("HYPOTHESIS_PROFILE") == "soak"
FIRST = int(os.environ.get("TOUBA_FIRST_SEED", time.time_ns() // 1_000_000_000 * 1_000)) if SOAK else 0


def seeds(count: int) -> Iterator[int]:
    """The seeds of a test: so many, and 40 times as many for `make soak`."""
    if SOAK:
        print(f"TOUBA_FIRST_SEED={FIRST}, {40 * count} programs")
    yield from range(FIRST, FIRST + count * (40 if SOAK else 1))


def hold(files: Files, seed: int, check: Callable[[Files], Any]) -> Any:
    """Check a program; what the check gives. Where it fails, the error shows the seed and the smallest program that fails in the same way."""
    try:
        return check(files)
    except Exception as fault:
        kind, words = type(fault), str(fault)[:25]

        def fails(smaller: Files) -> bool:
            try:
                check(smaller)
            except kind as other:
                return str(other)[:25] == words
            return False

        small = shrink(files, fails)
        shown = "\n".join(f"# --- {path}\n{text}" for path, text in small.items())
        raise AssertionError(f"seed {seed}: {kind.__name__}: {fault}\n{shown}") from fault


def compile_it(files: Files) -> None:
    assert errors(compiled(files)) == []


def run_it(source: Source, seed: int, budgets: bool = False) -> Callable[[Files], list[Any]]:
    """What runs all entries of a program; the stories that they tell."""

    def check(files: Files) -> list[Any]:
        found = compiled(files)
        if found.air is None:
            return []  # only while a failing program shrinks
        runs = verified(found)
        stories: list[Any] = []
        for ref in entries(runs):
            entry = Entry(runs, ref, seed * 31 + len(stories), source if files is source.files else None)
            story = entry.check("mixed" if seed % 2 else "generated")
            stories.append(story)
            if budgets and story:
                every_budget(entry, story)
        return stories

    return check


def every_budget(entry: Entry, story: Any) -> None:
    """With all steps that a run took it ends alike; with one less it ends for that, in both engines at one place."""
    steps = story[-2]
    if story[0] == "finished" and steps > 1:
        assert entry.run("reference", max_steps=steps) == story
        short = entry.run("reference", max_steps=steps - 1)
        assert short[3][0] == "StepLimitExceeded"
        assert entry.run("generated", max_steps=steps - 1) == short
    if steps <= 60:
        for budget in range(1, steps):
            short = entry.run("reference", max_steps=budget)
            assert entry.run("generated", max_steps=budget) == short, budget


# --- the directed share -----------------------------------------------------------------------------------------------


def test_drawn_programs_compile_and_run_alike() -> None:
    outcomes: set[str] = set()
    for seed in seeds(130):
        source = program(seed)
        hold(source.files, seed, compile_it)
        stories = hold(source.files, seed, run_it(source, seed))
        outcomes.update(story[3][0] if story[3] is not None else story[0] for story in stories)
    # Enough of what can happen does: the programs are neither all trivial nor all broken in their first line.
    assert {"finished", "stopped", "IndexOutOfRange", "ConstraintViolated", "RequirementFailed"} <= outcomes


def test_every_budget_ends_alike() -> None:
    for seed in seeds(30):
        source = program(seed + 500_000)
        hold(source.files, seed + 500_000, run_it(source, seed, budgets=True))


def test_the_engines_hand_over_anywhere() -> None:
    with pytest.MonkeyPatch.context() as patch:
        for seed in seeds(24):
            threshold = (0, 7, 40)[seed % 3]
            patch.setattr(interpreter, "LONG_LIST", threshold % 3 + 1)
            patch.setattr(execution, "FIRST_STEPS", threshold)
            patch.setattr(execution, "STEPS", threshold)
            source = program(seed + 700_000)
            # An odd number: the second engine is the one that makes its code while it runs.
            hold(source.files, seed + 700_000, run_it(source, 2 * seed + 1))


def test_drawn_programs_have_one_layout() -> None:
    for seed in seeds(32):
        hold((program if seed % 2 else governed_program)(seed).files, seed, one_layout)


def one_layout(files: Files) -> None:
    laid_out = {}
    for path, text in files.items():
        source = File(path, text)
        formatted = format_source(source, Problems())
        if formatted is None:
            return  # only while a failing program shrinks
        assert format_source(File(path, formatted), Problems()) == formatted, "another layout the second time"
        before, after = read_module(source, Problems()), read_module(File(path, formatted), Problems())
        assert same_tree(before.module, after.module)
        laid_out[path] = formatted
    before_air, after_air = compiled(files).air, compiled(laid_out).air
    assert before_air is None or (after_air is not None and after_air["digest"] == before_air["digest"])


def test_governed_programs_are_refused_by_what_they_need() -> None:
    for seed in seeds(50):
        source = governed_program(seed)
        hold(source.files, seed, compile_it)
        needed = verified(compiled(source.files))
        assert set(needed.requires) - {"attempt", "tools"} == source.required(), seed
        missing = set(needed.requires) - AVAILABLE_FEATURES
        message = refused(needed)
        assert (message is None) == (not missing), seed
        assert all(f"{WORDS[feature]} (" in (message or "") for feature in missing), seed


# --- the undirected share ---------------------------------------------------------------------------------------------


def look_at(files: Files) -> bool:
    """Compile anything: an answer in time, either a sound document or problems with places. Whether it compiled."""
    start = time.process_time()
    found = compiled(files)
    assert time.process_time() - start < 5
    for each in found.diagnostics:
        assert 0 <= each.span.start <= each.span.end <= len(each.source.text)
        each.as_json()
    assert (found.air is None) == any(each.severity == "error" for each in found.diagnostics)
    if found.air is not None:
        verified(found)
    return found.air is not None


def test_changed_programs_are_refused_or_sound() -> None:
    alive = total = 0
    for seed in seeds(50):
        governed = seed % 3 == 0
        source = (governed_program if governed else program)(seed)
        for number in range(5):
            total += 1
            changed = mutated(source.files, seed * 1_000 + number)
            hold(changed, seed * 1_000 + number, look_at)
            found = compiled(changed)
            if found.air is None:
                continue
            alive += 1
            if refused(verified(found)) is None:
                hold(changed, seed * 1_000 + number, run_it(source, seed))
    print(f"{alive} of {total} mutants compile ({100 * alive // total} %)")
    assert total // 10 < alive < total * 6 // 10


# --- the generator itself ---------------------------------------------------------------------------------------------


def test_the_generator_uses_the_whole_language() -> None:
    found = cover(70, 70)
    print(found.report())
    assert found.missing() == []
    assert not set(LEFT_OUT) & (set(found.nodes) | set(found.operations)), "no longer left out"
    assert {"attempt", "tools", "memory"} | {
        "agents", "approve", "ask", "compensate", "keys", "outcomes", "parallel", "review", "triggers",
    } <= set(found.features)  # fmt: skip


def test_a_seed_is_one_program() -> None:
    for make in (program, governed_program):
        assert make(7).files == make(7).files
        assert make(7).files != make(8).files


def test_the_listed_codes_are_outcomes_that_programs_can_expect() -> None:
    own = {"CardDeclined"}
    assert all(CODES[code].phase == "runtime" for code in set(DYNAMIC_CODES) - own)
    assert not {"AirUnsound", "InternalError", "GrantMissing", "AirInvalid"} & set(DYNAMIC_CODES)


def test_a_failing_program_shrinks_to_what_fails() -> None:
    drawn = [each.files for each in map(program, range(60)) if "sorted(" in each.files["app.tb"]]
    files = min(drawn, key=lambda each: sum(map(len, each.values())))

    def fails(files: Files) -> bool:
        return compiled(files).air is not None and "sorted(" in files["app.tb"]

    small = shrink(files, fails)
    assert fails(small)
    assert 3 * len(small["app.tb"]) < sum(map(len, files.values())), small["app.tb"]
    with pytest.raises(AssertionError, match="seed 3: AssertionError: too many sorts"):
        hold(small, 3, lambda files: _refuse(fails(files)))


def _refuse(found: bool) -> None:
    assert not found, "too many sorts"
