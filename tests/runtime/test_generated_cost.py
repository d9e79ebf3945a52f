"""What generating costs stays small whatever the program is: each piece, and all of them together."""

from __future__ import annotations

from typing import Any

import pytest

from tests.runtime.stories import Story, compiled
from touba_cli.air.program import Callable, Program
from touba_cli.runtime import generator
from touba_cli.runtime.generate_code import MOST_STORES
from touba_cli.runtime.generate_facts import CodeFacts
from touba_cli.runtime.generate_text import Source
from touba_cli.runtime.generator import MOST_LINES_IN_ALL, Generator, Piece

MAIN = "strategy:app/Main"
HEAD = "module app\n\nstrategy Main\n    takes n as Int\n    gives Int\n    do\n"
ASK = "tool Ask\n    takes n as Int\n    gives Int\n    effect none\n"


def strategy(*lines: str) -> str:
    return HEAD + "".join(f"        {line}\n" for line in lines)


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The characters of each piece that is made."""
    found: list[int] = []
    compile_piece = Generator._compile

    def measured(self: Generator, ref: str, text: str, source: Source, functions: dict[str, str]) -> Piece:
        found.append(len(text))
        return compile_piece(self, ref, text, source, functions)

    monkeypatch.setattr(Generator, "_compile", measured)
    return found


def alike(program: Program, n: int, **limits: int) -> Any:
    """What both engines tell."""
    expected = Story(program, "reference").run(MAIN, n, **limits)
    assert Story(program, "generated").run(MAIN, n, **limits) == expected
    return expected


def test_many_exits_that_store_many_slots(tmp_path_factory: pytest.TempPathFactory, sizes: list[int]) -> None:
    slots, exits = 200, 200
    lines = [f"var b{number} = false" for number in range(slots)]
    lines += ["repeat up to 3 times", *(f"    set b{number} = n > 3" for number in range(slots))]
    for number in range(exits):
        lines += ["    repeat up to 2 times", f"        set b{number % slots} = true"]
    found = compiled(tmp_path_factory, strategy(*lines, "if b0", "    give 1", "give n"))
    assert alike(found, 3)[1] == 1
    # All slots at all exits would be 1,000,000 characters at least.
    assert 100_000 < max(sizes) < MOST_STORES * len("S[100] = s100; ") * 2


def test_a_callable_of_many_pieces_is_looked_through_once(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = [f"let a{number} = call Ask(n)" for number in range(120)]
    found = compiled(tmp_path_factory, strategy(*calls, "give a7") + "\n" + ASK)
    seen: list[str] = []

    def facts(declared: Callable) -> CodeFacts:
        seen.append(declared.ref)
        return CodeFacts(declared)

    monkeypatch.setattr(generator, "CodeFacts", facts)
    assert alike(found, 5, max_external_calls=200)[1] == 5
    assert len(sizes) > 100
    assert seen == [MAIN]


@pytest.mark.parametrize("lines_in_all", [0, 40, MOST_LINES_IN_ALL])
def test_long_lines_and_what_was_written_in_vain_count(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], monkeypatch: pytest.MonkeyPatch, lines_in_all: int
) -> None:
    monkeypatch.setattr(generator, "MOST_LINES_IN_ALL", lines_in_all)
    wide = " + ".join(["n"] * 150)
    lines = ["var t = 0"]
    for number in range(6):
        lines += [f"let _a{number} = call Ask(n)", f"set t = ({wide} + t) mod 7"]
    found = compiled(tmp_path_factory, strategy(*lines, "give t") + "\n" + ASK)
    alike(found, 5)
    # A piece is begun while there is room, so one goes past it.
    assert sum(sizes) <= lines_in_all * generator._LINE + (max(sizes) if sizes else 0)
    assert bool(sizes) == bool(lines_in_all)
