"""Every published limit is tested one below, at and one above, or stands in `ELSEWHERE` with where it is tested."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import pytest

from touba_cli.limits import LIMITS

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent

#: limit → tests that show it, as `file::test`, and why it has no three cases
ELSEWHERE: dict[str, tuple[tuple[str, ...], str]] = {
    "slice_steps": (
        (
            "runtime/test_machine.py::test_a_long_pure_function_pulses_and_a_pulse_can_end_the_run",
            "runtime/test_machine.py::test_slices_change_nothing",
            "runtime/test_driver.py::test_a_computation_is_cancelled_too",
        ),
        "nothing is refused past it: it says how often a run is looked at, and no result depends on it",
    ),
    "deadline_ms": (
        (
            "runtime/test_driver.py::test_a_deadline_ends_a_computation",
            "runtime/test_driver.py::test_a_deadline_ends_a_handler",
            "limits/test_run.py::test_bounds_of_what_a_caller_may_set",
            "limits/test_stopping.py::test_a_silent_runtime_is_killed_after_its_deadline",
        ),
        "it is a time of the real clock: what may be set has its three cases, and so has the slack behind it",
    ),
}

#: bounds that stand in no row of `touba_cli/limits.py` → where they are published, and a word of that page
OTHERS: dict[str, tuple[str, str]] = {
    "int": ("docs/language.md", "64 bits"),
    "decimal_digits": ("docs/language.md", "up to 34 digits"),
    "decimal_characters": ("touba_cli/values/numbers.py", "6,179 characters"),
    "decimal_places": ("touba_cli/values/numbers.py", "6_176"),
    "decimal_exponent": ("touba_cli/values/numbers.py", "exponent from -34 to 34"),
    "decimal_range": ("touba_cli/values/numbers.py", "6144"),
    "round_places": ("docs/errors.md", "more than 34 places"),
    "dates": ("touba_cli/values/times.py", "years 0001 to 9999"),
    "offsets": ("touba_cli/values/times.py", "at\n            most 14:00"),
    "moments": ("touba_cli/values/times.py", "outside the years 1 to 9999"),
    "fractions": ("touba_cli/values/times.py", "at most 6 digits of a fraction"),
    "durations": ("docs/errors.md", "longer than 999,999,999 days"),
    "host_characters": ("docs/language.md", "253 characters at most"),
    "email_characters": ("docs/language.md", "254 characters at most"),
    "run_limits": ("docs/limits.md", "may be set"),
    "manifest_limits": ("docs/limits.md", "may be set"),
    "run_id_characters": ("touba_cli/documents.py", "1 to 128 letters"),
    "label_characters": ("touba_cli/options.py", "LABEL_CHARACTERS = 200"),
    "progress_lines": ("touba_sdk/handlers/context.py", "MAX_LINES = 1_000"),
    "progress_characters": ("touba_sdk/handlers/context.py", "cut at 2,000 characters"),
    "error_code_characters": ("docs/handlers.md", "at most 100 ASCII letters"),
    "memory_statements": ("touba_cli/documents.py", "MEMORY_STATEMENTS = 1_000"),
}


@functools.cache
def three_cases() -> dict[str, list[str]]:
    """Limit → the tests of this folder that go one below, at and one above it."""
    found: dict[str, list[str]] = {}
    for path in sorted(HERE.glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.FunctionDef):
                continue
            for each in node.decorator_list:
                if isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id == "three_cases":
                    (limit,) = each.args
                    assert isinstance(limit, ast.Constant)
                    assert isinstance(limit.value, str)
                    assert any(argument.arg == "by" for argument in node.args.args)
                    found.setdefault(limit.value, []).append(f"{path.name}::{node.name}")
    return found


@pytest.mark.parametrize("limit", LIMITS)
def test_every_limit_is_tested_at_below_and_above(limit: str) -> None:
    has = bool(three_cases().get(limit))
    assert has != (limit in ELSEWHERE), "three cases, or a row in `ELSEWHERE`, and not both"


@pytest.mark.parametrize("bound", OTHERS)
def test_every_other_bound_is_published_and_tested(bound: str) -> None:
    page, words = OTHERS[bound]
    assert words in (TESTS.parent / page).read_text("utf-8")
    assert three_cases()[bound]


def test_no_other_limit_is_named() -> None:
    assert set(three_cases()) == (set(LIMITS) - set(ELSEWHERE)) | set(OTHERS)
    assert set(ELSEWHERE) <= set(LIMITS)


@pytest.mark.parametrize("limit", ELSEWHERE)
def test_what_is_tested_elsewhere_is_there(limit: str) -> None:
    tests, why = ELSEWHERE[limit]
    assert why
    for each in tests:
        file, _, name = each.partition("::")
        assert f"\ndef {name}(" in (TESTS / file).read_text("utf-8")
