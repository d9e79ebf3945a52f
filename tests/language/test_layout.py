"""Tokens → lines with levels."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.language.parsing import Parsed, body, lines
from touba_cli.limits import BLOCK_DEPTH, BRACKET_DEPTH


def levels(text: str) -> list[tuple[int, str]]:
    return [(line.level, line.tokens[0].text) for line in lines(text)[0]]


def test_columns_become_levels() -> None:
    assert levels("a\n  b\n     c\n     d\n  e\nf") == [(0, "a"), (1, "b"), (2, "c"), (2, "d"), (1, "e"), (0, "f")]


def test_blank_lines_and_comments_never_count() -> None:
    assert levels("a\n\n        # x\n  b\n# y\n   \n  c") == [(0, "a"), (1, "b"), (1, "c")]


def test_brackets_hold_lines_together() -> None:
    found, problems = lines("let x = f(\n1,\n        2) # c\nlet y = [\n]\n")
    assert problems == []
    assert [[token.text for token in line.tokens[:-1]] for line in found] == [
        ["let", "x", "=", "f", "(", "1", ",", "2", ")"],
        ["let", "y", "=", "[", "]"],
    ]


def test_a_line_may_begin_in_a_bracket_with_a_word_of_statements() -> None:
    assert lines("let x = (\nset\nand show)\nlet y = (a\nif c else d)\n")[1] == []


def test_documentation_belongs_to_the_next_line() -> None:
    found, problems = lines("## one\n##two\n\n# no\na\n## three\n  b")
    assert problems == []
    assert [[token.text for token in line.doc] for line in found] == [["## one", "##two"], ["## three"]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\n    b\n  c", ["TB2002 3:3"]), ("a\n    b\n        c\n      d\n      e", ["TB2002 4:7"]),
        ("a\n    b\n        c\n      d\n   e\n    f", ["TB2002 4:7", "TB2002 5:4"]),
        ("x = (1", ["TB2004 1:5"]), ("x = (1\nlet y = 2", ["TB2004 1:5"]), ("f(1\n\ntype X", ["TB2004 1:2"]),
        ("f(1\nstrategy X", ["TB2004 1:2"]), ("    f([1\n    show \"a\"", ["TB2004 1:7"]), ("f(1]", ["TB2004 1:4"]), ("f)", ["TB2004 1:2"]),
        ("f(1\n    attempt\n    x)", []), ("    f(1\n    attempt\n    x", ["TB2004 1:6"]), ('f("a)\ng(', ["TB1005 1:3", "TB2004 2:2"]),
        ('f(\n"a,\n"b")', ["TB1005 2:1"]), ("a ## b\nc", ["TB2013 1:3"]), ("a\n## b", ["TB2013 2:1"]), ("f(\n## b\n1)", ["TB2013 2:1"]),
        ("\ta\n b\n\t\tc\n  d", ["TB1004 1:1"]), ("f(1]\n)", ["TB2004 1:4", "TB2004 2:1"]),
    ],
)  # fmt: skip
def test_wrong_layout(text: str, expected: list[str]) -> None:
    assert lines(text)[1] == expected


def test_brackets_nest_up_to_the_limit() -> None:
    most = "(" * BRACKET_DEPTH + "1" + ")" * BRACKET_DEPTH
    assert Parsed(body(f"give {most}")).problems == []
    assert Parsed(body(f"give ({most})")).problems == [f"TB9002 5:{14 + BRACKET_DEPTH}"]
    found = Parsed("module a\n" + "(" * 100_000)
    assert found.problems == [f"TB9002 2:{BRACKET_DEPTH + 1}"]


def test_blocks_nest_up_to_the_limit() -> None:
    def nested(count: int) -> str:
        return body("\n".join([*("  " * each + "if true" for each in range(count)), "  " * count + "break"]))

    assert Parsed(nested(BLOCK_DEPTH - 2)).problems == []  # the strategy and its `do` are blocks too
    assert Parsed(nested(BLOCK_DEPTH - 1)).problems == [f"TB9003 {4 + BLOCK_DEPTH}:{9 + 2 * (BLOCK_DEPTH - 1)}"]
    # in a file of full size the lines go back between runs, so every run is reported once
    text = "module a\nstrategy S\n    do\n" + "".join(" " * (8 + each) + "if true\n" for each in range(900))
    assert Parsed(text).problems == [f"TB9003 {3 + BLOCK_DEPTH}:{8 + BLOCK_DEPTH}"]


def test_a_column_that_was_never_open_lists_the_open_ones() -> None:
    found = Parsed("module a\ntype X\n        a as Int\n    b as Int\n")
    assert found.problems == ["TB2002 4:5"]
    assert found.diagnostics[0].label == "begin it at the column of an open block: 1, 9"


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 12), st.sampled_from(["a", "let x = (", ")", "## d", "", "type X", "if y"])),
        max_size=30,
    )
)
def test_levels_of_any_columns(parts: list[tuple[int, str]]) -> None:
    found, _ = lines("\n".join(" " * column + text for column, text in parts))
    before = 0
    for line in found:
        assert line.level <= before + 1
        assert (line.level == 0) <= (line.column == 0 or line.bad)
        before = line.level
