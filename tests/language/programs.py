"""Programs for tests of the compiler, from texts instead of files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from touba_cli.air.program import read_program, write_program
from touba_cli.language.compiler import Compiled, compile_program


class Texts:
    """Source files by path; the roots are the folder itself and `src`."""

    def __init__(self, files: dict[str, str]):
        self.files = files

    def find(self, module: str) -> list[str]:
        path = module.replace(".", "/") + ".tb"
        return [each for each in (path, "src/" + path) if each in self.files]

    def places(self, module: str) -> list[str]:
        return [module.replace(".", "/") + ".tb"]

    def near(self, module: str) -> list[str]:
        return sorted(path.removeprefix("src/").removesuffix(".tb").replace("/", ".") for path in self.files)

    def read(self, path: str) -> bytes:
        if path not in self.files:
            raise FileNotFoundError(path)
        return self.files[path].encode()


def compiled(text: str, others: dict[str, str] | None = None, entry: str = "main.tb") -> Compiled:
    """Compile a program; its entry begins with `module app` where it names no module."""
    if not text.lstrip().startswith("module"):
        text = "module app\n" + text
    return compile_program(Texts({entry: text, **(others or {})}), entry)


def problems(found: Compiled) -> list[str]:
    """`TB4001 7:14` for each problem of the entry file, `other.tb TB4001 7:14` for those of others."""
    shown = []
    for each in found.diagnostics:
        line, column = each.source.position(each.span.start)
        prefix = "" if each.source.path == "main.tb" else each.source.path + " "
        shown.append(f"{prefix}{each.code} {line}:{column}")
    return shown


def air(text: str, others: dict[str, str] | None = None) -> dict[str, Any]:
    """The AIR of a program that has no errors, verified."""
    found = compiled(text, others)
    errors = [each.title for each in found.diagnostics if each.severity == "error"]
    assert found.air is not None, errors
    assert errors == []
    read_program(write_program(found.air))
    return found.air


def body(lines: str, kind: str = "function", takes: str = "", gives: str = "Int", before: str = "") -> str:
    """A module with one callable `F` whose body is the lines."""
    head = [f"    takes {takes}"] if takes else []
    if gives:
        head.append(f"    gives {gives}")
    above = [before.rstrip("\n")] if before else []
    return "\n".join([*above, f"{kind} F", *head, "    do", *_indented(lines.strip("\n").split("\n")), ""])


def _indented(lines: Iterable[str]) -> list[str]:
    return ["        " + line if line else line for line in lines]


def code(lines: str, kind: str = "function", takes: str = "", gives: str = "Int", before: str = "") -> list[Any]:
    """The instructions of `F`, verified."""
    found: list[Any] = air(body(lines, kind, takes, gives, before))["callables"][f"{kind}:app/F"]["code"]
    return found


def value(expression: str, takes: str = "", gives: str = "Int", before: str = "") -> Any:
    """The AIR of one expression in the place of a function's result."""
    found = code(f"give {expression}", takes=takes, gives=gives, before=before)
    assert len(found) == 1
    return found[0][1]
