"""Diagnostics as text and as data."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.language.parsing import Parsed, body
from tests.language.test_parser import WRONG_DECLARATIONS, WRONG_STATEMENTS
from touba_cli.language.diagnostics import CODES, Diagnostic, Fix, Problems, Related
from touba_cli.language.render import columns, escape, render, render_all
from touba_cli.language.source import Source
from touba_cli.language.tree import Span

TEXT = """module billing.review
type Invoice
    amount as Decimal min 0
    due as Date
strategy Review
    takes invoice as Invoice, limit as Decimal
    do
        if invoice.ammount > limit
            break
"""


def at(source: Source, word: str) -> Span:
    start = source.text.index(word)
    return Span(start, start + len(word))


def test_a_diagnostic_with_related_places() -> None:
    source = Source("billing/review.tb", TEXT)
    other = Source("billing/types.tb", "module billing.types\ntype Amount is Decimal\n")
    found = Diagnostic(
        "TB3003", "`Invoice` has no field `ammount`", source, at(source, "ammount"), "did you mean `amount`?",
        related=(
            Related(at(source, "amount"), "declared here"), Related(at(other, "Amount"), "its type", other),
            Related(at(source, "type Invoice"), "the record"),
        ),
        help="fields are `amount` and `due`",
    )  # fmt: skip
    assert render(found) == (
        "error[TB3003]: `Invoice` has no field `ammount`\n"
        " --> billing/review.tb:8:20\n"
        "  |\n"
        "2 | type Invoice\n"
        "  | ------------ the record\n"
        "3 |     amount as Decimal min 0\n"
        "  |     ------ declared here\n"
        "  :\n"
        "8 |         if invoice.ammount > limit\n"
        "  |                    ^^^^^^^ did you mean `amount`?\n"
        " --> billing/types.tb:2:6\n"
        "  |\n"
        "2 | type Amount is Decimal\n"
        "  |      ------ its type\n"
        "  = help: fields are `amount` and `due`"
    )


def test_two_places_in_one_line_share_it() -> None:
    found = Parsed(body("let x = f(1]")).diagnostics[0]
    assert render(found) == (
        "error[TB2004]: `(` is closed by `]`\n --> a.tb:5:20\n  |\n5 |         let x = f(1]\n"
        "  |                  - opened here\n  |                    ^ write `)`"
    )


def test_places_without_width_and_of_many_lines() -> None:
    empty = Parsed(b"").diagnostics[0]
    assert render(empty) == (
        "error[TB2009]: the `module` line is missing\n --> a.tb:1:1\n  = begin the file with `module name`"
    )
    source = Source("a.tb", "ab\ncd\n")
    assert (
        render(Diagnostic("TB2006", "t", source, Span(1, 5))) == "error[TB2006]: t\n --> a.tb:1:2\n  |\n1 | ab\n  |  ^"
    )
    assert render(Diagnostic("TB2006", "t", source, Span(2, 2), "l")).endswith("1 | ab\n  |   ^ l")
    assert render(Diagnostic("TB2006", "t", source, Span(6, 6), "l")).endswith("3 |\n  | ^ l")
    warning = Diagnostic("TB8001", "t", source, Span(0, 1), severity="warning")
    assert render(warning).startswith("warning[TB8001]: t\n")


def test_long_lines_are_cut_around_the_place() -> None:
    line = "let x = " + "a + " * 50_000 + "+ " + "b" * 100_000
    found = Parsed(body(line)).diagnostics[0]
    shown = render(found).split("\n")
    assert all(len(each) < 140 for each in shown)
    excerpt, underline = shown[3], shown[4]
    assert excerpt.startswith("5 | …")
    assert excerpt.endswith("b…")
    assert excerpt[underline.index("^")] == "+"


def test_wide_and_combining_characters_are_counted_as_they_are_shown() -> None:
    found = Parsed(body('let x = "日本e\u0301" y')).diagnostics[0]
    excerpt, underline = render(found).split("\n")[3:5]
    before = excerpt[: excerpt.index("y", 10)]
    width = sum(2 if unicodedata.east_asian_width(each) == "W" else not unicodedata.combining(each) for each in before)
    assert underline.index("^") == width
    assert (columns("abc"), columns("日本"), columns("e\u0301"), columns("\u200d")) == (3, 4, 1, 0)


def test_characters_that_change_what_is_seen_are_escaped() -> None:
    found = Parsed("module a\n# \u202e evil \x1b[31m\tx\n").diagnostics
    shown = render_all(found)
    assert "\\u{202E} evil \\u{1B}[31m\\tx" in shown
    assert shown.isascii()
    source = Source("\u202ea.tb", "x")
    evil = Diagnostic("TB3001", "`\u202e` is not known", source, Span(0, 1), "\x1b[2J", help="\x07")
    assert not set(render(evil)) & set("\u202e\x1b\x07")


@given(st.text(max_size=30))
def test_escaped_texts_show_themselves(text: str) -> None:
    assert not [
        each for each in escape(text) if unicodedata.category(each) in ("Cc", "Zl", "Zp", "Cs") or each == "\u202e"
    ]
    assert escape(text) == text or "\\" in escape(text)


@given(st.text(max_size=60), st.integers(0, 70), st.integers(0, 70))
def test_any_place_of_any_text_is_shown(text: str, start: int, width: int) -> None:
    source = Source("a.tb", text)
    start = min(start, len(text))
    span = Span(start, min(len(text), start + width))
    found = Diagnostic("TB2006", "t", source, span, "l")
    assert render(found).startswith("error[TB2006]: t\n")
    assert found.as_json()["line"] == source.position(start)[0]


def test_fifty_are_shown_and_the_rest_is_counted() -> None:
    one, two = Source("a.tb", "x\n" * 100), Source("b.tb", "x\n" * 100)
    found = [Diagnostic("TB2006", "t", source, Span(2 * at, 2 * at + 1)) for source in (one, two) for at in range(60)]
    shown = render_all(found)
    assert shown.count("error[") == 50
    assert shown.endswith("\n\nand 70 more: 10 in a.tb, 60 in b.tb\n")
    assert render_all(found, shown=120).count("error[") == 120
    assert render_all([]) == ""
    assert render_all(found[:1]) == render(found[0]) + "\n"


def test_three_thousand_mistakes() -> None:
    found = Parsed("module a\n" + "nonsense here\n" * 3000)
    assert len(found.diagnostics) == 3000
    assert render_all(found.diagnostics).endswith("and 2950 more: 2950 in a.tb\n")


# --- the object -------------------------------------------------------------------------------------------------------


def test_diagnostics_as_data() -> None:
    source = Source("a.tb", "ab\ncd")
    found = Diagnostic(
        "TB2006", "t", source, Span(1, 4), "l", related=(Related(Span(0, 1), "r"),), help="h", candidates=("x",),
        fix=Fix(Span(3, 5), "y"),
    )  # fmt: skip
    assert found.as_json() == {
        "code": "TB2006", "severity": "error", "title": "t", "file": "a.tb", "line": 1, "column": 2, "end_line": 2,
        "end_column": 2, "label": "l", "help": "h", "candidates": ["x"],
        "fix": {"line": 2, "column": 1, "end_line": 2, "end_column": 3, "text": "y"},
        "related": [{"file": "a.tb", "line": 1, "column": 1, "end_line": 1, "end_column": 2, "label": "r"}],
    }  # fmt: skip


def test_problems_keep_one_for_each_cause_and_place() -> None:
    problems = Problems()
    source = Source("a.tb", "abc")
    problems.add("TB8001", "warned", source, Span(0, 1))
    assert not problems.failed
    problems.add("TB3001", "first", source, Span(0, 1))
    problems.add("TB3001", "second", source, Span(0, 1))
    problems.add("TB3001", "elsewhere", Source("a.tb", "abc"), Span(0, 1))
    assert problems.failed
    assert [each.title for each in problems.found] == ["warned", "first", "elsewhere"]
    with pytest.raises(KeyError):
        problems.add("TB9999", "t", source, Span(0, 1))


def test_problems_do_not_fill_the_memory() -> None:
    problems = Problems()
    source = Source("a.tb", "")
    for at in range(Problems.MOST):
        problems.add("TB8001", "t", source, Span(at, at))
    problems.add("TB3001", "t", source, Span(0, 0))
    assert len(problems.found) == Problems.MOST
    assert problems.failed


def test_problems_are_sorted_by_file_and_place() -> None:
    problems = Problems()
    one, two = Source("a.tb", "abc"), Source("b.tb", "abc")
    problems.add("TB3001", "3", two, Span(0, 1))
    problems.add("TB3002", "2", one, Span(1, 2))
    problems.add("TB3001", "1", one, Span(1, 2))
    assert [each.title for each in problems.sorted()] == ["1", "2", "3"]


def styled(text: str) -> bool:
    """Lower case at the beginning, no full stop at the end, backticks in pairs, one line."""
    first = text[:1]
    return (not first.isupper() or text.startswith(("Int", "Optional"))) and not text.endswith(".") and "\n" not in text


def test_the_style_of_the_code_table() -> None:
    for code, sentence in CODES.items():
        assert styled(sentence.removeprefix("an ").removeprefix("a ")), code
        assert sentence.count("`") % 2 == 0, code


@pytest.mark.parametrize(
    "text", [*(body(row[0]) for row in WRONG_STATEMENTS), *(f"module a\n{row[0]}" for row in WRONG_DECLARATIONS)]
)
def test_the_style_of_messages(text: str) -> None:
    for problem in Parsed(text).diagnostics:
        for part in (problem.title, problem.label, problem.help or "x", *(each.label for each in problem.related)):
            assert part
            assert styled(part.removeprefix("an ").removeprefix("a ")), part
            assert "token" not in part.lower()
        assert len(problem.title) <= 120
        assert len(problem.label) <= 120
        assert len(problem.candidates) < 25
