"""Lists of wrong programs whose guilty lines say in a mark what the compiler reports of them.

A file of `wrong/` holds programs separated by lines `--- what the program shows`:

    --- a name that nobody gave
    function Run
        gives Int
        do
            give nothing_here #! TB3001 "is not known"

A mark is `#! CODE`, `#! CODE:COLUMN`, and perhaps a part of the message in quotes; several marks may end one line, in the
order of their places. Marks are cut off before anything is compiled, with the blanks before them. Every problem needs its
mark and every mark its problem, so a second message for the same cause fails as well as a missing one.

The text below the title is `main.tb`; `module app` is put before it where it begins with no module line. A line
`--- file NAME` begins one more file of the same program, which is taken exactly as it stands (so may be `main.tb`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from tests.language.programs import Texts
from touba_cli.language.compiler import compile_program
from touba_cli.language.diagnostics import Diagnostic

FOLDER = Path(__file__).resolve().parent / "wrong"
ENTRY = "main.tb"
HEAD = "module app\n"
MARK = re.compile(r'\s*#! (TB\d{4})(?::(\d+))?(?: "((?:(?!#! TB).)*)")?\s*$')


@dataclass(frozen=True)
class Mark:
    """What is expected: ``column`` and ``text`` are None where they are not said. ``line`` counts from 1."""

    path: str
    line: int
    code: str
    column: int | None
    text: str | None

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" + (f":{self.column}" if self.column else "")
        return f"{place} {self.code}" + (f' "{self.text}"' if self.text else "")


@dataclass
class Chunk:
    """One program: its files without marks, and its marks. ``id`` is for pytest."""

    id: str
    title: str
    files: dict[str, str] = field(default_factory=dict)
    marks: list[Mark] = field(default_factory=list)

    def problems(self) -> list[Diagnostic]:
        """What the compiler says of the program, warnings included."""
        return compile_program(Texts(self.files), ENTRY).diagnostics


def cut_marks(line: str) -> tuple[str, list[tuple[str, int | None, str | None]]]:
    """The line without its marks, and the marks as code, column and text.

    >>> cut_marks('give n #! TB3001:6 "known" #! TB4001')
    ('give n', [('TB3001', 6, 'known'), ('TB4001', None, None)])
    """
    found: list[tuple[str, int | None, str | None]] = []
    while match := MARK.search(line):
        found.insert(0, (match[1], int(match[2]) if match[2] else None, match[3]))
        line = line[: match.start()]
    return line, found


def read_chunks(path: Path) -> list[Chunk]:
    """The programs of one file.

    Raises:
        ValueError: the file does not have the form that this module describes.
    """
    chunks: list[Chunk] = []
    name, exact = ENTRY, False
    for number, line in enumerate(path.read_text("utf-8").split("\n")[:-1], 1):
        if line.startswith("--- file "):
            name, exact = line.removeprefix("--- file ").strip(), True
            chunks[-1].files.setdefault(name, "")
        elif line.startswith("--- "):
            title = line.removeprefix("--- ").strip()
            slug = re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_")
            chunks.append(Chunk(f"{path.stem}-{slug}", title))
            name, exact = ENTRY, False
        elif not chunks:
            if line.strip():
                raise ValueError(f"{path.name}:{number}: a file begins with `--- what the program shows`")
        else:
            chunk = chunks[-1]
            if name not in chunk.files:
                if not line.strip():
                    continue
                chunk.files[name] = "" if exact or line.startswith("module") else HEAD
            text, marks = cut_marks(line)
            if "#!" in text:
                raise ValueError(f"{path.name}:{number}: this is no mark")
            chunk.files[name] += text + "\n"
            at = chunk.files[name].count("\n")
            chunk.marks += [Mark(name, at, *mark) for mark in marks]
    return chunks


def all_chunks() -> list[Chunk]:
    return [chunk for path in sorted(FOLDER.glob("*.tb")) for chunk in read_chunks(path)]


def differences(chunk: Chunk) -> list[str]:
    """What was expected and did not come, and what came and was not expected; empty where all is as marked."""
    waiting: dict[tuple[str, int, str], list[Mark]] = {}
    for mark in chunk.marks:
        waiting.setdefault((mark.path, mark.line, mark.code), []).append(mark)
    said = []
    for each in chunk.problems():
        line, column = each.source.position(each.span.start)
        words = [each.title, each.label, each.help or "", *(f"({place.label})" for place in each.related)]
        shown = f"{each.source.path}:{line}:{column} {each.code} " + " | ".join(word for word in words if word)
        marks = waiting.get((each.source.path, line, each.code))
        if not marks:
            said.append(f"unexpected: {shown}")
            continue
        mark = marks.pop(0)
        if mark.column not in (None, column):
            said.append(f"at another column than {mark}: {shown}")
        if mark.text is not None and mark.text not in shown:
            said.append(f"without the words of {mark}: {shown}")
    return said + [f"missing: {mark}" for marks in waiting.values() for mark in marks]
