"""`touba eval`: values of expressions, and problems that point into them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.shell_kit import Project
from touba_cli.language.evaluate import compile_expression


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.mark.parametrize(
    ("expression", "kind", "value"),
    [
        ("sum([1, 2]) * 2", "Int", 6),
        ("-1 + 3", "Int", 2),
        ("1.50 + 1", "Decimal", "2.50"),
        ('"a{1 + 1}"', "Text", "a2"),
        ('date "2026-01-31" + 3 days', "Date", "2026-02-03"),
        ("first([1])", "Optional Int", {"present": True, "value": 1}),
        ('{"a": [true]}', "Map of List of Bool", {"a": [True]}),
        ("[x for x in [1, 2]]", "List of Int", [1, 2]),
        ('{"a": reversed([text(x) for x in range(2) if x >= 0])}', "Map of List of Text", {"a": ["1", "0"]}),
        (" (1 +\n2)  # three", "Int", 3),
    ],
)
def test_an_expression_has_a_type_and_a_value(project: Project, expression: str, kind: str, value: Any) -> None:
    done = project.touba("eval", expression, "--json")
    assert done.code == 0
    document = done.document
    assert (document["type"], document["value"], document["diagnostics"]) == (kind, value, [])
    assert document["steps"] > 0


def test_people_see_the_value(project: Project) -> None:
    assert project.touba("eval", "sum([1, 2]) * 2").stdout == b"6\n"
    assert project.touba("eval", '"a\\u{1b}b"').stdout == b"a\\u{1b}b\n"


@pytest.mark.parametrize(
    ("expression", "code", "line", "column"),
    [
        ("1 +", "TB2006", 1, 4),
        ('1 + "a"', "TB4002", 1, 3),
        ("  nobody + 1", "TB3001", 1, 3),
        ("1 == 1", "TB2008", 1, 3),
        ('ask "x" as Text', "TB5001", 1, 1),
        ("  call F(1)", "TB5001", 1, 3),
        ("none", "TB4005", 1, 1),
        ('items({"a": 1})', "TB4001", 1, 1),
        ("1\n        set x = 2", "TB2007", 2, 9),
        ("1\ntype X is Int", "TB2007", 2, 1),
        ("[1,\n2", "TB2004", 1, 1),
        (" ", "TB2006", 1, 1),
    ],
)
def test_problems_point_into_the_expression(
    project: Project, expression: str, code: str, line: int, column: int
) -> None:
    done = project.touba("eval", expression, "--json")
    assert done.refused("CompileFailed", 3)
    found = done.document["diagnostics"][0]
    assert (found["code"], found["file"], found["line"], found["column"]) == (code, "<expression>", line, column)


@pytest.mark.parametrize(
    ("expression", "label"),
    [
        ("call F(1)", "run a program for this: `touba run`"),
        ("nobody + 1", "write the value itself: no names are known here"),
        ("[]", "write it where its type is known"),
        ("Nobody(1)", "nothing is declared here: put it into a program"),
    ],
)
def test_what_is_said_fits_an_expression(expression: str, label: str) -> None:
    assert [each.label for each in compile_expression(expression).diagnostics] == [label]


def test_limits_apply(project: Project) -> None:
    done = project.touba("eval", "sum(range(100))", '--run-limits={"max_steps": 50}', "--json")
    assert "<expression>:1:1" in done.refused("StepLimitExceeded", 5)
    assert project.touba("eval", "range(1_000_000_000)", "--json").code == 5
    assert (
        project.touba("eval", "sum(range(100))", '--run-limits={"max_steps": 5000}', "--json").document["value"] == 4950
    )


def test_an_error_of_the_values_names_its_place(project: Project) -> None:
    assert "<expression>:1:" in project.touba("eval", "[1][3]", "--json").refused("IndexOutOfRange", 5)


@pytest.mark.parametrize("words", [[], ["1", "2"], ["1", "--inputs={}"]])
def test_other_words_are_refused(project: Project, words: list[str]) -> None:
    done = project.touba("eval", *words, "--json")
    assert done.document["error"]["phase"] == "usage"
    assert done.code == 2
