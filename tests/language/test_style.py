"""The style of messages, over the table of codes and over every text that the wrong programs of all tests produce.

A title states the fact and a label says what to do, each in one sentence: lower case, no full stop at its end, what the
user wrote in backticks, no names of classes, no line breaks. Both fit a line; a help may list what there is.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.language.pages import CASES, case_files, problems, wrong_problems
from tests.language.parsing import Parsed, body
from tests.language.programs import compiled
from tests.language.test_parser import WRONG_DECLARATIONS, WRONG_STATEMENTS
from tests.language.test_python_people import PROGRAMS
from touba_cli.language import diagnostics
from touba_cli.language.diagnostics import CODES, Diagnostic

COMPILER = Path(diagnostics.__file__).parent

LONGEST = {"title": 120, "label": 120, "related": 120, "help": 200}

#: words with a capital letter that are the language's own, or everybody's
OWN_WORDS = {
    "Text", "Int", "Decimal", "Float", "Bool", "Date", "DateTime", "Duration", "Json", "List", "Map", "Optional",
    "Nothing", "UTF", "ASCII", "UTC", "A", "ISO", "RFC", "JSON", "Unicode", "Touba",
}  # fmt: skip

QUOTED = re.compile(r"`+[^`]*`+")
WORD = re.compile(r"[A-Za-z_]\w*")
CODE_POINT = re.compile(r"\bU\+[0-9A-F]{4,6}\b|\b0x[0-9A-F]{2}\b")


def faults(text: str, longest: int) -> list[str]:
    """The rules that a text breaks."""
    found = []
    bare = CODE_POINT.sub("", QUOTED.sub("", text))
    own = (word in OWN_WORDS or word.removesuffix("s") in OWN_WORDS for word in WORD.findall(bare))
    strange = [word for word, is_own in zip(WORD.findall(bare), own, strict=True) if not is_own]
    if not re.match(r"[a-z`]", text):
        found.append("it begins with a small letter or a backtick")
    if text.endswith(".") and not text.endswith("...") and ". " not in text:
        found.append("one sentence has no full stop")
    if "\n" in text or "\r" in text:
        found.append("it is one line")
    if len(text) > longest:
        found.append(f"it has at most {longest} characters")
    if any(word[0].isupper() or "_" in word for word in strange):
        found.append("what a program says, and no name of a class, stands in backticks")
    if any(sign in bare for sign in ("{", "}", '"', "'", "None", "True", "False")) and not re.search(
        "[a-z]'s?( |$)", bare
    ):
        found.append("code stands in backticks")
    return found


def texts(diagnostic: Diagnostic) -> Iterator[tuple[str, str]]:
    yield "title", diagnostic.title
    if diagnostic.label:
        yield "label", diagnostic.label
    if diagnostic.help is not None:
        yield "help", diagnostic.help
    for place in diagnostic.related:
        yield "related", place.label


def broken(diagnostics: list[Diagnostic]) -> list[str]:
    return [
        f"{each.code} {kind}: {text!r}: {fault}"
        for each in diagnostics
        for kind, text in texts(each)
        for fault in faults(text, LONGEST[kind])
    ]


@pytest.mark.parametrize("code", CODES)
def test_the_table(code: str) -> None:
    assert re.fullmatch(r"TB[1-9]\d{3}", code)
    assert faults(CODES[code], 80) == []


def test_the_table_says_each_thing_once() -> None:
    assert len(set(CODES.values())) == len(CODES)
    assert list(CODES) == sorted(CODES)


@pytest.mark.parametrize("code", CODES)
def test_what_the_pages_show(code: str) -> None:
    found = wrong_problems(code)
    assert found != []
    assert broken(found) == []
    assert all(each.label for each in found), "a label says what to do"


def test_what_the_conformance_cases_show() -> None:
    found = [each for path in sorted(CASES.rglob("*.case")) for each in problems(case_files(path))]
    assert len({each.code for each in found}) > 40
    assert broken(found) == []


def test_what_wrong_lines_show() -> None:
    found = [each for row in PROGRAMS for each in compiled(row[1]).diagnostics]
    found += [each for row in WRONG_STATEMENTS for each in Parsed(body(row[0])).diagnostics]
    found += [each for row in WRONG_DECLARATIONS for each in Parsed("module a\n" + row[0]).diagnostics]
    assert len(found) > 200
    assert broken(found) == []


def written_texts() -> Iterator[tuple[str, str]]:
    """Every title, label and help that stands beside a code in the compiler, with `x` for what is put in: place, text."""
    for path in sorted(COMPILER.glob("*.py")):
        for call in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(call, ast.Call) or not any(
                isinstance(each, ast.Constant) and each.value in CODES for each in call.args
            ):
                continue
            for node in (*call.args, *(each.value for each in call.keywords if each.arg in ("label", "help"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value not in CODES:
                    yield f"{path.name}:{node.lineno}", node.value
                elif isinstance(node, ast.JoinedStr):
                    parts = (str(each.value) if isinstance(each, ast.Constant) else "x" for each in node.values)
                    yield f"{path.name}:{node.lineno}", "".join(parts)


def test_what_no_program_of_the_tests_shows() -> None:
    found = list(written_texts())
    assert len(found) > 300
    assert [f"{place} {text!r}: {fault}" for place, text in found if text for fault in faults(text, 120)] == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Text is expected", "it begins with a small letter or a backtick"),
        ("expected a type.", "one sentence has no full stop"),
        ("expected\na type", "it is one line"),
        ("expected " + "a type " * 20, "it has at most 120 characters"),
        ("expected TypeNode here", "what a program says, and no name of a class, stands in backticks"),
        ("the field due_on is missing", "what a program says, and no name of a class, stands in backticks"),
        ('write it like "2026-01-31"', "code stands in backticks"),
    ],
)
def test_the_rules_notice(text: str, fault: str) -> None:
    assert faults(text, 120) == [fault]


def test_the_rules_let_pass() -> None:
    for text in (
        "`due_on` is a Date",
        "a Float and an Int do not mix",
        "`“` (U+201C) is only allowed in texts",
        "it takes Ints",
    ):
        assert faults(text, 120) == []
