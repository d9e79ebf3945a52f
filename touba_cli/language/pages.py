"""The pages of `touba explain`: for each code of the compiler why it exists, a wrong and a right program.

A page is `explain/CODE.md`: its title, why, and programs as blocks of the kinds `touba wrong` and `touba right`. A
block without a title is the entry, `app.tb`; a module beside it names its file: `touba right title="shop.tb"`. Where a
program cannot be shown as text, words describe it. The tests execute every program.
"""

from __future__ import annotations

import os
import re

from .records import dataclass

#: the file of a block that names none
ENTRY = "app.tb"

_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "explain")
_BLOCK = re.compile(r'^```touba (wrong|right)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
_INDENT = " " * 4
_COLUMNS = 100


@dataclass(frozen=True, slots=True)
class Page:
    """What is said about one code: ``why`` in paragraphs, programs as files by name. ``wrong`` may be empty."""

    code: str
    title: str
    why: str
    wrong: dict[str, str]
    right: dict[str, str]

    def as_text(self) -> str:
        """The page for a terminal, without a line end behind it: programs are indented, and nothing is marked up."""
        parts = [f"{self.code}: {self.title}", *(_filled(each) for each in self.why.split("\n\n"))]
        for head, files in (("Wrong:", self.wrong), ("Right:", self.right)):
            for name, text in files.items():
                shown = head if name == ENTRY else f"with {name}:"
                parts.append("\n".join([shown, "", *(f"{_INDENT}{line}".rstrip() for line in text.splitlines())]))
        return "\n\n".join(parts)


def read_page(code: str) -> Page:
    """The page of a code of `diagnostics.CODES`.

    Raises:
        OSError: there is no such page.
    """
    with open(os.path.join(_FOLDER, f"{code}.md"), encoding="utf-8", newline="") as file:
        text = file.read()
    head, _, rest = text.partition("\n")
    programs: dict[str, dict[str, str]] = {"wrong": {}, "right": {}}
    for kind, name, program in _BLOCK.findall(rest):
        programs[kind][name or ENTRY] = program
    why = re.split(r"^(?:Wrong|Right):$", rest, maxsplit=1, flags=re.MULTILINE)[0].strip()
    why = re.sub(r"(?<!\n)\n(?!\n)", " ", why)
    return Page(code, head.partition(": ")[2], why, programs["wrong"], programs["right"])


def _filled(paragraph: str) -> str:
    """A paragraph in lines of at most 100 columns."""
    lines = [""]
    for word in paragraph.split(" "):
        if lines[-1] and len(lines[-1]) + len(word) >= _COLUMNS:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return "\n".join(lines)
