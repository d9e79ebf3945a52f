"""The parser against the grammar of docs/grammar.md: it reads every sentence, and agrees about everything near one."""

from __future__ import annotations

import logging
import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lark import Lark, logger

from tests.grammar import oracle
from tests.grammar.oracle import Row, Sentences, is_sentence, mutate, parser, written
from tests.language.study import MODULES, PROGRAMS
from touba_cli.language.diagnostics import Diagnostic, Problems
from touba_cli.language.lexer import read_source
from touba_cli.language.parse_lines import parse_module

ROOT = Path(__file__).resolve().parent.parent.parent

#: what the grammar does not say (docs/grammar.md): of a text with nothing but such problems there is no verdict
BESIDES = {"TB2009", "TB2010", "TB2014"}

#: problems inside of texts and comments, which the grammar takes as they are
INSIDE_TEXTS = {"TB1002", "TB1008", "TB1009"}


def refusals(text: str) -> list[Diagnostic] | None:
    """What the parser has against a text; None where it is only what the grammar does not say, or a limit."""
    problems = Problems()
    source = read_source("a.tb", text.encode(), problems)
    assert source is not None
    parse_module(source, problems)
    found = [each for each in problems.found if each.severity == "error" and each.code[:3] in ("TB1", "TB2", "TB9")]
    hard = [each for each in found if each.code not in BESIDES]
    if (found and not hard) or any(each.code.startswith("TB9") for each in found):
        return None
    return hard


def sentence(seed: int) -> tuple[random.Random, list[Row]]:
    source = random.Random(seed)
    return source, Sentences(source, source.choice((15, 40, 120))).file()


def agrees(rows: list[Row]) -> bool:
    found = refusals(written(rows))
    return found is None or is_sentence(rows) != bool(found)


def test_the_page_has_this_grammar() -> None:
    page = (ROOT / "docs" / "grammar.md").read_text("utf-8")
    (block,) = re.findall(r"^```ebnf\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert block.strip() == oracle.GRAMMAR.read_text("utf-8").strip()


def test_the_grammar_has_no_conflicts(caplog: pytest.LogCaptureFixture) -> None:
    before = logger.level
    logger.setLevel(logging.DEBUG)
    logger.addHandler(caplog.handler)
    try:
        Lark(oracle._grammar(), parser="lalr", start=["file", "expr"], postlex=oracle.Layout(), debug=True)
    finally:
        logger.removeHandler(caplog.handler)
        logger.setLevel(before)
    assert [each for each in caplog.messages if "conflict" in each.lower()] == []


@pytest.mark.parametrize("text", [*(text for text, _ in PROGRAMS.values()), *MODULES.values()])
def test_the_programs_of_the_study_are_sentences(text: str) -> None:
    parser().parse(text, start="file")
    assert refusals(text) == []


@settings(max_examples=300)
@given(st.integers(0, 2**64))
def test_every_sentence_is_read(seed: int) -> None:
    _, rows = sentence(seed)
    if is_sentence(rows):
        assert not refusals(written(rows)), written(rows)


@settings(max_examples=500)
@given(st.integers(0, 2**64))
def test_there_is_agreement_about_what_is_near_a_sentence(seed: int) -> None:
    source, rows = sentence(seed)
    for _ in range(source.choice((1, 1, 2))):
        if rows:
            mutate(source, rows)
    assert agrees(rows), written(rows)


def test_most_sentences_are_sentences_and_most_mutations_are_not() -> None:
    sound = sum(is_sentence(sentence(seed)[1]) for seed in range(100))
    broken = 0
    for seed in range(100):
        source, rows = sentence(seed)
        mutate(source, rows)
        broken += not is_sentence(rows)
    assert sound > 80
    assert 50 < broken < 98


def test_sentences_have_every_construct() -> None:
    words: set[str] = set()
    for seed in range(1500):
        words.update(piece.text for row in sentence(seed)[1] for piece in row.pieces)
    assert set(oracle.KEYWORDS.values()) <= words


#: without the lists of wrong programs
PROGRAM_FILES = sorted(
    [
        *(ROOT / "examples").rglob("*.tb"),
        *(path for path in (ROOT / "tests").rglob("*.tb") if path.parent != ROOT / "tests" / "language" / "wrong"),
    ],
    key=lambda path: str(path.relative_to(ROOT)),
)


@pytest.mark.parametrize("path", PROGRAM_FILES, ids=lambda path: path.name)
def test_programs_of_the_repository_are_sentences(path: Path) -> None:
    text = path.read_text("utf-8")
    parser().parse(text, start="file")
    assert refusals(text) == []


def test_there_is_agreement_about_every_conformance_case() -> None:
    disagree = []
    verdicts = {True: 0, False: 0}
    for case in sorted((ROOT / "tests" / "conformance").rglob("*.case")):
        for part in re.split(r"^--- ", case.read_text("utf-8"), flags=re.MULTILINE):
            head, _, text = part.partition("\n")
            found = refusals(text) if head.startswith("file ") and "\t" not in text and "\r" not in text else None
            if found is None or any(each.code in INSIDE_TEXTS for each in found):
                continue
            sound = oracle._parses("\n" + text, "file")
            verdicts[sound] += 1
            if sound == bool(found):
                disagree.append(f"{case.name}: {head} {[each.code for each in found]}")
    assert disagree == []
    assert verdicts[True] > 200
    assert verdicts[False] > 30
