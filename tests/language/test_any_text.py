"""Whatever a file holds, every pass ends, and what it says stands where it says: lexer, layout, parser, compiler,
formatter, on any text, on the language's own words in any order, and on programs with a few places changed."""

from __future__ import annotations

from pathlib import Path
from random import Random

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.language.pages import Files, case_files
from tests.language.parsing import nodes
from touba_cli.air.program import read_program, write_program
from touba_cli.language import words
from touba_cli.language.compiler import compile_program
from touba_cli.language.diagnostics import CODES, Problems
from touba_cli.language.format import format_source
from touba_cli.language.layout import lay_out
from touba_cli.language.lexer import read_source, tokenize
from touba_cli.language.parse_lines import parse_module
from touba_cli.language.render import render_all
from touba_cli.language.source import Source
from touba_cli.limits import BLOCK_DEPTH

CASES = sorted((Path(__file__).resolve().parent.parent / "conformance").rglob("*.case"))
PROGRAMS = [text for path in CASES for text in case_files(path).values()]
SIGNS = [
    "(", ")", "[", "]", "{", "}", ",", ":", ".", "+", "-", "*", "/", "<", ">", "<=", ">=", "=", "|", '"', '"""', "\\", "#",
    "##", "_", "'", "\t", "\r\n", "\u00a0", "\u201c", "==", "&&", "!", ";", "é", "\u202e", "\0", "\u2028", "😀",
]  # fmt: skip
#: every word of the tables of the compiler
KEYWORDS = {
    word
    for table in vars(words).values()
    if isinstance(table, tuple | frozenset | dict)
    for word in table
    if isinstance(word, str)
}
WORDS = [
    *sorted(KEYWORDS), *SIGNS, "n", "Foo", "x1", "0", "12", "1.50", "007", "1e5", "9" * 30, "date", "days", "text", "length",
    "Int", "List of", "Text", "human.approve", "is present", "elif", "def", "None",
]  # fmt: skip


def check(text: str) -> None:
    """Send a text through every pass."""
    problems = Problems()
    source = read_source("a.tb", text.encode(), problems)
    assert source is not None
    text = source.text  # without a mark of byte order

    tokens = tokenize(source, problems)
    assert tokens.tokens[-1].kind == "end"
    at = 0
    for token in tokens.tokens:
        assert at <= token.start <= token.end <= len(text)
        at = token.start

    lines = lay_out(source, tokens, problems)
    level = 0
    for line in lines:
        assert line.tokens
        assert 0 <= line.level <= min(level + 1, BLOCK_DEPTH + 1)
        level = line.level

    read = Problems()
    module = parse_module(source, read)
    for node in nodes(module):
        assert 0 <= node.span.start <= node.span.end <= len(text)

    found = compile_program(Files({"a.tb": text}), "a.tb")
    for each in found.diagnostics:
        assert each.code in CODES
        assert 0 <= each.span.start <= each.span.end <= len(each.source.text)
        for related in each.related:
            there = related.source or each.source
            assert 0 <= related.span.start <= related.span.end <= len(there.text)
    assert {each.code for each in read.found if each.severity == "error"} <= {each.code for each in found.diagnostics}
    shown = render_all(found.diagnostics)
    assert "\u202e" not in shown
    assert "\0" not in shown
    if found.air is None:
        assert found.failed
    else:
        read_program(write_program(found.air))

    unread = Problems()
    made = format_source(source, unread)
    assert (made is None) == unread.failed
    if made is not None:
        assert format_source(Source("a.tb", made), Problems()) == made
        after = compile_program(Files({"a.tb": made}), "a.tb").air
        assert (after and after["digest"]) == (found.air and found.air["digest"])


@settings(max_examples=150)
@given(st.text(max_size=120))
@example("\ufeff")
@example("module a\n\\")
@example('"{"')
@example('module a\nfunction F\n    do\n        give """')
def test_any_text(text: str) -> None:
    check(text)
    check("module a\nfunction F\n    gives Int\n    do\n        " + text)


@settings(max_examples=100)
@given(st.binary(max_size=80))
def test_any_bytes(data: bytes) -> None:
    problems = Problems()
    source = read_source("a.tb", b"module a\n" + data, problems)
    if source is None:
        (only,) = problems.found
        assert only.code == "TB1001"
        assert compile_program(Files({"a.tb": b"module a\n" + data}), "a.tb").air is None
    else:
        check(source.text)


@settings(max_examples=200)
@given(st.integers(0, 2**48))
def test_any_words(seed: int) -> None:
    """The language's own words and signs, laid out in blocks of any depth."""
    random = Random(seed)
    lines = [
        " " * random.choice([0, 0, 4, 4, 8, 12, 3]) + " ".join(random.choices(WORDS, k=random.randint(0, 7)))
        for _ in range(random.randint(1, 12))
    ]
    check("module a\n" + "\n".join(lines))


@settings(max_examples=400)
@given(st.integers(0, 2**48))
def test_programs_with_a_few_places_changed(seed: int) -> None:
    random = Random(seed)
    text = random.choice(PROGRAMS)
    for _ in range(random.choice([1, 1, 2, 4])):
        text = damaged(random, text)
    check(text)


def damaged(random: Random, text: str) -> str:
    """A program with one place changed: a line, a word, a sign, a margin."""
    kind = random.choice(["line", "word", "sign", "margin", "cut", "join", "lines of others"])
    lines = text.split("\n")
    at = random.randrange(len(lines))
    if kind == "line":
        other = random.randrange(len(lines))
        what = random.choice(["drop", "double", "swap"])
        if what == "drop":
            del lines[at]
        elif what == "double":
            lines.insert(other, lines[at])
        else:
            lines[at], lines[other] = lines[other], lines[at]
    elif kind == "margin":
        lines[at] = " " * random.choice([0, 2, 4, 8, 12]) + lines[at].lstrip()
    elif kind == "lines of others":
        others = random.choice(PROGRAMS).split("\n")
        begin = random.randrange(len(others))
        lines[at:at] = others[begin : begin + random.randint(1, 4)]
    elif kind == "word":
        parts = lines[at].split(" ")
        parts[random.randrange(len(parts))] = random.choice(WORDS)
        lines[at] = " ".join(parts)
    text = "\n".join(lines)
    place = random.randint(0, len(text))
    if kind == "sign":
        return text[:place] + random.choice(SIGNS) + text[place:]
    if kind == "cut":
        return text[:place] + text[place + random.randint(1, 12) :]
    if kind == "join":
        return text[:place] + text[place:].replace("\n", " ", 1)
    return text
