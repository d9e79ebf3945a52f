"""The wrong program of every page of `touba explain`, and what the compiler says of a program."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.language.programs import Texts
from touba_cli.language.compiler import compile_program
from touba_cli.language.diagnostics import CODES, Diagnostic
from touba_cli.language.pages import ENTRY, Page, read_page
from touba_cli.limits import (
    BLOCK_DEPTH,
    BRACKET_DEPTH,
    CALLABLE_SLOTS,
    LEFT_OUT_FIELDS,
    SOURCE_BYTES,
    SOURCE_FILES,
    TYPE_MEMBERS,
)

CASES = Path(__file__).resolve().parent.parent / "conformance"
PAGES: dict[str, Page] = {code: read_page(code) for code in CODES}


class Files(Texts):
    """Source files by path, as texts or as bytes."""

    def __init__(self, files: Mapping[str, str | bytes]):
        super().__init__(dict.fromkeys(files, ""))
        self._files = files

    def read(self, path: str) -> bytes:
        content = self._files[path]
        return content.encode() if isinstance(content, str) else content


def problems(files: Mapping[str, str | bytes]) -> list[Diagnostic]:
    """What is reported of a program; its first file is the entry."""
    return compile_program(Files(files), next(iter(files))).diagnostics


def wrong_program(code: str) -> Mapping[str, str | bytes]:
    """The wrong program of a page, built where it cannot be shown."""
    return BUILT[code]() if code in BUILT else PAGES[code].wrong


@functools.cache
def wrong_problems(code: str) -> list[Diagnostic]:
    """What is reported of the wrong program of a page."""
    return problems(wrong_program(code))


def function(value: str, gives: str = "Int") -> str:
    return f"module app\n\nfunction Run\n    takes n as Int\n    gives {gives}\n    do\n        give {value}\n"


def _nested_blocks() -> dict[str, str | bytes]:
    lines = [f"{'    ' * (depth + 2)}if n > {depth}" for depth in range(BLOCK_DEPTH + 1)]
    lines.append("    " * (BLOCK_DEPTH + 3) + "give 1")
    return {
        ENTRY: "module app\n\nfunction Run\n    takes n as Int\n    gives Int\n    do\n"
        + "\n".join(lines)
        + "\n        give 0\n"
    }


def _row_of_modules() -> dict[str, str | bytes]:
    files: dict[str, str | bytes] = {ENTRY: "module app\n\nfrom m0 import T\n\ntype U\n    a as T\n"}
    for number in range(SOURCE_FILES):
        files[f"m{number}.tb"] = f"module m{number}\n\nimport m{number + 1}\n\ntype T\n    a as m{number + 1}.T\n"
    return files


def _record(fields: int) -> str:
    return "type Wide\n" + "".join(f"    field_{number} as Optional Int\n" for number in range(fields))


def _records_left_empty() -> dict[str, str | bytes]:
    fields = TYPE_MEMBERS
    lines = [f"        let _r{number} = Wide()\n" for number in range(LEFT_OUT_FIELDS // fields + 1)]
    head = "\nfunction Run\n    gives Int\n    do\n"
    return {ENTRY: "module app\n\n" + _record(fields) + head + "".join(lines) + "        give 1\n"}


def _many_names() -> dict[str, str | bytes]:
    lines = [f"        let _a{number} = {number}\n" for number in range(CALLABLE_SLOTS + 1)]
    return {ENTRY: "module app\n\nfunction Run\n    gives Int\n    do\n" + "".join(lines) + "        give 1\n"}


def _large_patterns() -> dict[str, str | bytes]:
    fields = [f'    field_{number} as Text matching "[a-z]{{1,400}}{number}"\n' for number in range(25)]
    return {ENTRY: "module app\n\ntype Notes\n" + "".join(fields)}


#: programs that cannot be shown as text
BUILT: dict[str, Callable[[], Mapping[str, str | bytes]]] = {
    "TB1001": lambda: {ENTRY: function('"café"', "Text").encode("latin-1")},
    "TB1002": lambda: {ENTRY: function('"a\u202eb"', "Text")},
    "TB9001": lambda: {ENTRY: "module app\n" + "#" * SOURCE_BYTES},
    "TB9002": lambda: {ENTRY: function("(" * (BRACKET_DEPTH + 1) + "n" + ")" * (BRACKET_DEPTH + 1))},
    "TB9003": _nested_blocks,
    "TB9005": _row_of_modules,
    "TB9006": lambda: {ENTRY: "module app\n\ntype Table\n    rows as " + "List of " * 33 + "Text\n"},
    "TB9007": lambda: {ENTRY: "module app\n\n" + _record(TYPE_MEMBERS + 1)},
    "TB9008": _records_left_empty,
    "TB9009": _many_names,
    "TB9010": _large_patterns,
}


def case_files(path: Path) -> dict[str, str]:
    """The source files of a conformance case."""
    found: dict[str, str] = {}
    for part in ("\n" + path.read_text("utf-8")).split("\n--- ")[1:]:
        head, _, text = part.partition("\n")
        if head.startswith("file "):
            found[head.removeprefix("file ")] = text + "\n" if text else ""
    return found
