"""The wrong programs of `wrong/`: each is reported exactly as the marks at its guilty lines say."""

from __future__ import annotations

import pytest

from tests.language.wrong_kit import Chunk, all_chunks, cut_marks, differences
from touba_cli.language.diagnostics import CODES

CHUNKS = all_chunks()

#: codes that no text of a list provokes, and why; `tests/language/pages.py` builds a program for each
BUILT_ELSEWHERE = {
    "TB1001": "the lists are UTF-8 themselves",
    "TB9001": "a file of more than 1 MiB",
    "TB9005": "a program of very many files",
    "TB9007": "a type of very many fields",
    "TB9008": "a program that leaves out very many fields",
    "TB9009": "a callable of very many names",
    "TB9010": "very many patterns",
}


@pytest.mark.parametrize("chunk", CHUNKS, ids=lambda chunk: chunk.id)
def test_a_wrong_program_is_reported_as_its_marks_say(chunk: Chunk) -> None:
    found = differences(chunk)
    program = "\n".join(
        f"--- {name}\n" + "\n".join(f"{number:3} {line}" for number, line in enumerate(text.split("\n"), 1))
        for name, text in chunk.files.items()
    )
    assert not found, "\n".join(["", f"{chunk.id}: {chunk.title}", *found, program])


def test_there_are_enough_programs_and_each_is_wrong() -> None:
    assert len(CHUNKS) >= 150
    assert [chunk.id for chunk in CHUNKS if not chunk.marks] == []
    ids = [chunk.id for chunk in CHUNKS]
    assert sorted({name for name in ids if ids.count(name) > 1}) == []


def test_every_code_stands_in_a_mark() -> None:
    marked = {mark.code for chunk in CHUNKS for mark in chunk.marks}
    assert sorted(set(CODES) - marked) == sorted(BUILT_ELSEWHERE)


def test_many_programs_have_several_mistakes() -> None:
    assert sum(len(chunk.marks) > 1 for chunk in CHUNKS) >= 40


@pytest.mark.parametrize(
    ("line", "text", "marks"),
    [
        ("give n", "give n", []),
        ('give n #! TB3001 "a `b` c"', "give n", [("TB3001", None, "a `b` c")]),
        (
            'give n  #! TB3001:9 #! TB4001 "say "x" now"',
            "give n",
            [("TB3001", 9, None), ("TB4001", None, 'say "x" now')],
        ),
        ('show "a #! b', 'show "a #! b', []),
    ],
)
def test_marks_are_cut_off(line: str, text: str, marks: list[tuple[str, int | None, str | None]]) -> None:
    assert cut_marks(line) == (text, marks)
