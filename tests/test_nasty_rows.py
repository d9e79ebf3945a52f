"""The list of nasty inputs that the language was designed against: each row has its tests, or why it has none yet."""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent

LANGUAGE, RUNS, AIR = "language/test_nasty.py", "runtime/test_nasty_runs.py", "air/test_nasty_air.py"

#: row → what it is about, and `file::test`; a name ends with `*` where it begins several tests; a case is named by its
#: file. 9, 12, 18, 23, 26 and 31 are about things that the language does not have.
ROWS: dict[int, tuple[str, tuple[str, ...]]] = {
    1: ("a file of 10 MB", (f"{LANGUAGE}::test_1_*", "limits/test_source.py::test_bytes_of_a_file")),
    2: (
        "brackets and blocks without end",
        (f"{LANGUAGE}::test_2_*", "limits/test_source.py::test_b*", "runtime/test_generator.py::test_branches_inside_each_other"),
    ),
    3: ("long chains, lists and callables", (f"{LANGUAGE}::test_3_*", "runtime/test_generator.py::test_a_long_chain")),
    4: ("whole numbers beyond 64 bits", (f"{LANGUAGE}::test_4_*", "limits/test_values.py::test_whole_numbers")),
    5: (
        "Decimals that are too long, and texts that are none",
        (f"{LANGUAGE}::test_5_*", f"{RUNS}::test_5_*", "limits/test_values.py::test_digits_of_a_decimal"),
    ),
    6: ("tabs", (f"{LANGUAGE}::test_6_*",)),
    7: ("columns that were never open", (f"{LANGUAGE}::test_7_*",)),
    8: ("what is left open", (f"{LANGUAGE}::test_8_*",)),
    10: ("bytes and characters that no program has", (f"{LANGUAGE}::test_10_*",)),
    11: ("marks of direction", (f"{LANGUAGE}::test_11_*",)),
    13: ("400,000 combining marks", (f"{LANGUAGE}::test_13_*", f"{RUNS}::test_13_*")),
    14: ("names that stand twice", (f"{LANGUAGE}::test_14_*",)),
    15: ("shadowing", (f"{LANGUAGE}::test_15_*",)),
    16: ("what is never used", (f"{LANGUAGE}::test_16_*",)),
    17: ("circles of modules", (f"{LANGUAGE}::test_17_*",)),
    19: (
        "recursion without end, and circles of compensation",
        # An agent that calls itself through a strategy runs with the agents; until then it is refused by its feature.
        (f"{LANGUAGE}::test_19_*", f"{RUNS}::test_19_*", "conformance/limits/depth.case", "conformance/features/agents.case"),
    ),
    20: ("cases and paths", (f"{LANGUAGE}::test_20_*",)),
    21: ("the spelling of other languages", (f"{LANGUAGE}::test_21_*",)),
    22: ("first words", (f"{LANGUAGE}::test_22_*",)),
    24: ("thousands of mistakes, and a line of a megabyte", (f"{LANGUAGE}::test_24_*",)),
    25: (
        "patterns that explode elsewhere",
        (f"{LANGUAGE}::test_25_*", "values/test_patterns.py::test_matching_takes_time_in_proportion"),
    ),
    27: (
        "a budget of exactly N, and one less",
        # Branches of a group end with the run when groups run; until then they are refused by their feature.
        (f"{RUNS}::test_27_*", "runtime/test_generator.py::test_generated_code_agrees_for_every_budget", "conformance/features/parallel.case"),
    ),
    28: ("odd JSON", (f"{RUNS}::test_28_*", "conformance/inputs/strict_inputs.case")),
    29: ("wrong AIR", (f"{AIR}::test_29_*", "air/test_verifier.py::test_faults_of_code")),
    32: ("files and names of modules", (f"{LANGUAGE}::test_32_*",)),
}  # fmt: skip

#: row → what it waits for
WAITING = {30: "checkpoints, which this runtime does not write yet"}

#: the rows of the list
LIST = (*range(1, 9), 10, 11, *range(13, 18), *range(19, 23), 24, 25, *range(27, 31), 32)


def test_every_row_has_its_tests_or_its_reason() -> None:
    assert sorted([*ROWS, *WAITING]) == list(LIST)


@pytest.mark.parametrize("row", ROWS)
def test_the_tests_of_a_row_are_there(row: int) -> None:
    about, tests = ROWS[row]
    assert about
    for each in tests:
        file, _, name = each.partition("::")
        assert (TESTS / file).is_file(), each
        if name:
            text = (TESTS / file).read_text("utf-8")
            assert f"\ndef {name.rstrip('*')}{'' if name.endswith('*') else '('}" in text, each


def test_a_row_that_waits_is_not_tested_by_something_else_meanwhile() -> None:
    for row in WAITING:
        for file in (LANGUAGE, RUNS, AIR):
            assert f"def test_{row}_" not in (TESTS / file).read_text("utf-8")
