"""The verifier against the compiler: whatever compiles is canonical and sound."""

from __future__ import annotations

from pathlib import Path

import pytest

from touba_cli.air.program import load_program, place, read_program, write_program
from touba_cli.air.verifier import verify
from touba_cli.language.compiler import compile_program

TESTS = Path(__file__).resolve().parent.parent
EXAMPLES = TESTS.parent / "examples"


class Files:
    """Sources in memory; modules are searched as in a project."""

    def __init__(self, files: dict[str, bytes]):
        self.files = files

    def find(self, module: str) -> list[str]:
        path = module.replace(".", "/") + ".tb"
        return [each for each in (path, f"src/{path}") if each in self.files]

    def places(self, module: str) -> list[str]:
        return [module.replace(".", "/") + ".tb"]

    def near(self, module: str) -> list[str]:
        return []

    def read(self, path: str) -> bytes:
        if path not in self.files:
            raise FileNotFoundError(path)
        return self.files[path]


def case_files(case: Path) -> dict[str, bytes]:
    """The files of a conformance case; the first one is the entry."""
    files: dict[str, list[str]] = {}
    lines: list[str] | None = None
    for line in case.read_text("utf-8").split("\n"):
        if line.startswith("--- "):
            kind, _, name = line[4:].partition(" ")
            lines = files.setdefault(name, []) if kind == "file" else None
        elif lines is not None:
            lines.append(line)
    return {name: "\n".join(text).encode() for name, text in files.items()}


def folder_files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.tb"))}


def programs() -> dict[str, tuple[dict[str, bytes], str]]:
    found = {}
    for case in sorted((TESTS / "conformance").rglob("*.case")):
        files = case_files(case)
        found[str(case.relative_to(TESTS))] = (files, next(iter(files)))
    for folder in (TESTS / "air" / "programs", *sorted(each for each in EXAMPLES.iterdir() if each.is_dir())):
        files = folder_files(folder)
        for name in files:
            found[f"{folder.name}/{name}"] = (files, name)
    return found


PROGRAMS = programs()


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_compiles_is_canonical_and_sound(name: str) -> None:
    files, entry = PROGRAMS[name]
    air = compile_program(Files(files), entry).air
    if air is None:
        # A program with errors has no AIR; what is reported of it is tested with the compiler.
        assert compile_program(Files(files), entry).failed
        return
    verify(air)
    program = read_program(write_program(air))
    assert program.digest == load_program(air).digest
    for ref, declared in program.callables.items():
        for pc in range(len(declared.code)):
            found = place(program, ref, pc)
            assert found is not None
            assert found["file"] in files


def test_the_program_with_everything_compiles() -> None:
    compiled = compile_program(Files(folder_files(TESTS / "air" / "programs")), "everything.tb")
    assert [(each.code, each.title) for each in compiled.diagnostics] == []
    assert compiled.air is not None
    assert compiled.air["requires"] == ["attempt", "tools"]
