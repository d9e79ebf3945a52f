"""Programs that would build something huge within a small budget are refused before it is built.

Peak memory is measured: by `tracemalloc` for the machine alone, and as the resident set of a whole process.
"""

from __future__ import annotations

import os
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.machine_kit import Ran, callable_, drive, program
from touba_cli.limits import VALUE_DEPTH
from touba_cli.runtime.execution import GeneratedCode
from touba_cli.runtime.machine import Machine, RunLimits
from touba_cli.values.check import TypeTable

MAIN = "function:app/Main"
MIB = 1024 * 1024
BILLION = ["int", 10**12]


def doubled(form: Any, start: Any, again: Any, turns: int = 40) -> list[Any]:
    """`x = again(x)` in a loop."""
    code = [["set", 0, start], ["set", 1, ["int", turns]], ["times", 1, 5], ["set", 0, again], ["again", 2, 0]]
    return [*code, ["give", ["bool", True]]]


SLOT = ["slot", 0]
WORD = ["text", "0123456789abcdef"]
STRETCHED = ["text", "ΐ" * 1_000]  # three letters in capitals
TEXTS = ["List", "Text"]

ATTACKS: dict[str, tuple[Any, list[Any]]] = {
    "text doubled": ("Text", doubled("Text", WORD, ["add.text", SLOT, SLOT])),
    "text interpolated": ("Text", doubled("Text", WORD, ["concat", SLOT, ["text", "-"], SLOT])),
    "text joined": ("Text", doubled("Text", WORD, ["join", ["list", "Text", [SLOT, SLOT, SLOT]], SLOT])),
    "text replaced": ("Text", doubled("Text", WORD, ["replace", SLOT, ["text", "0"], SLOT])),
    "text in capitals": (
        "Text",
        doubled("Text", STRETCHED, ["upper", ["concat", *[STRETCHED] * 200]], 2),
    ),
    "text split": (
        "Text",
        [
            *doubled("Text", ["text", ",,,,"], ["add.text", SLOT, SLOT], 17)[:-1],
            ["set", 1, ["length.list", ["split.text", SLOT, ["text", ","]]]],
            ["give", ["bool", True]],
        ],
    ),
    "list added": (["List", "Int"], doubled(["List", "Int"], ["list", "Int", [["int", 1]]], ["add.list", SLOT, SLOT])),
    "range": (["List", "Int"], doubled(["List", "Int"], ["list", "Int", []], ["range.to", BILLION])),
    "range between": (
        ["List", "Int"],
        doubled(["List", "Int"], ["list", "Int", []], ["range.between", ["int", str(-(2**63))], ["int", str(2**63 - 1)]]),
    ),
    "product of ranges": (
        ["List", ["List", "Int"]],
        [
            ["set", 0, ["collect", 1, ["range.to", ["int", 20_000]], None, ["range.to", ["int", 2_000]]]],
            ["give", ["bool", True]],
        ],
    ),
    "maps merged": (
        ["Map", "Text"],
        doubled(["Map", "Text"], ["map", "Text", [[["text", "k"], WORD]]],
                ["merge", SLOT, ["map", "Text", [[["concat", ["text", "k"], ["text.int", ["slot", 1]]], ["join", ["list", "Text", [WORD] * 3_000], ["text", ""]]]]]]),
    ),
}  # fmt: skip


def attack(name: str, generated: bool) -> tuple[Ran, int]:
    """How the run went, and the most memory that it had at once."""
    form, code = ATTACKS[name]
    found = program({MAIN: callable_(code, gives="Bool", slots=[form, "Int"])})
    table = TypeTable(found.types)
    made = GeneratedCode(found.callables, table, at_once=generated)
    # What is loaded or generated once is not what the attack takes.
    drive(Machine(found, table, MAIN, [], RunLimits(max_value_bytes=1024), {}, made, reference=not generated))
    machine = Machine(found, table, MAIN, [], RunLimits(max_value_bytes=MIB), {}, made, reference=not generated)
    tracemalloc.start()
    try:
        ran = drive(machine)
        return ran, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("generated", [False, True], ids=["interpreted", "generated"])
@pytest.mark.parametrize("name", ATTACKS)
def test_what_would_be_huge_is_not_built(name: str, generated: bool) -> None:
    ran, peak = attack(name, generated)
    assert ran.code == "ValueTooLarge"
    assert peak < 6 * MIB


@pytest.mark.parametrize("generated", [False, True], ids=["interpreted", "generated"])
def test_nesting_ends_at_its_limit(generated: bool) -> None:
    # Types say how deep a value is, so it takes a type that holds itself.
    types = {"type:app/Tree": {"kind": "record", "fields": [{"name": "parts", "type": ["List", "type:app/Tree"]}]}}
    for parts in ([SLOT], [SLOT, SLOT]):
        code = doubled("type:app/Tree", ["record", "type:app/Tree", [["list", "type:app/Tree", []]]],
                       ["record", "type:app/Tree", [["list", "type:app/Tree", parts]]], 200)  # fmt: skip
        found = program({MAIN: callable_(code, gives="Bool", slots=["type:app/Tree", "Int"])}, types=types)
        table = TypeTable(found.types)
        made = GeneratedCode(found.callables, table, at_once=generated)
        machine = Machine(found, table, MAIN, [], RunLimits(), {}, made, reference=not generated)
        tracemalloc.start()
        try:
            ran = drive(machine)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert ran.code == "ValueTooLarge"
        assert ran.steps < 100 * VALUE_DEPTH
        assert peak < MIB


SOURCES = {
    "doubled": 'var x = "0123456789abcdef"\n        repeat up to 40 times\n            set x = x + x\n        give length(x)',
    "nested": "var x = Tree(parts: [])\n        repeat up to 60 times\n            set x = Tree(parts: [x, x])\n        give 1",
    "range": "give length(range(1_000_000_000_000))",
    "harmless": "give 1",
}


def resident(folder: Path, name: str) -> tuple[int, bytes]:
    """The most memory (bytes) that a whole run of a program had, and what it answered."""
    (folder / f"{name}.tb").write_text(
        f"module {name}\n\ntype Tree\n    parts as List of Tree\n\nfunction Run\n    gives Int\n    do\n        {SOURCES[name]}\n",
        "utf-8",
    )
    read, write = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, write, 1), (os.POSIX_SPAWN_CLOSE, read)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    command = [sys.executable, "-m", "touba_cli", "run", f"{name}.tb", "--json", f"--project-root={folder}"]
    child = os.posix_spawn(sys.executable, command, environment, file_actions=actions)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        answer = pipe.read()
    _, _, usage = os.wait4(child, 0)
    return usage.ru_maxrss * 1024, answer


def test_the_process_stays_small(tmp_path: Path) -> None:
    harmless, _ = resident(tmp_path, "harmless")
    # A text of 16 MiB has cost all the steps that there are by default.
    codes = {"doubled": b'"StepLimitExceeded"', "nested": b'"ValueTooLarge"', "range": b'"ValueTooLarge"'}
    for name, code in codes.items():
        memory, answer = resident(tmp_path, name)
        assert code in answer
        # The largest value that is allowed, and the one before it.
        assert memory < harmless + 100 * MIB
    assert resident(tmp_path, "range")[0] < harmless + 4 * MIB
