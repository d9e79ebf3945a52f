"""Large programs and values: time and memory grow with their size, and not faster.

The sizes are small enough for every day; under ``HYPOTHESIS_PROFILE=soak`` they are those that Touba promises: a
program of 10 MB in twelve modules, 100,000 declarations, Lists of 100,000 elements, results of 28 MiB.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from touba_cli.air.program import load_program, read_program, write_program
from touba_cli.codec import decode, encode
from touba_cli.language.compiler import compile_program
from touba_cli.limits import SOURCE_BYTES
from touba_cli.runtime.machine import Machine, RunLimits
from touba_cli.values.check import TypeTable
from touba_cli.values.model import Meter

ROOT = Path(__file__).resolve().parent.parent
SOAK = os.environ.get("HYPOTHESIS_PROFILE") == "soak"
#: how much smaller the large inputs are by default
SMALLER = 1 if SOAK else 80
#: what is compared: one size, and this many times as much
TIMES = 4


@pytest.fixture(autouse=True)
def _without_collector() -> Iterator[None]:
    """As the runtime works while it reads a program."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def seconds(work: Callable[[], object], repetitions: int = 1 if SOAK else 3) -> float:
    """The least processor time of some tries."""
    taken = []
    for _ in range(repetitions):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return max(min(taken), 1e-4)


def peak(work: Callable[[], object]) -> int:
    """The most memory that Python objects took at once, in bytes."""
    gc.collect()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


class Modules:
    """Sources in memory: twelve modules, with so many functions in all, each of some lines."""

    def __init__(self, functions: int, lines: int = 8):
        self.files: dict[str, bytes] = {}
        each = -(-functions // 12)
        body = "".join(f"        set sum = sum + a * {n}\n" for n in range(lines))
        for number in range(12):
            names = range(number * each, min((number + 1) * each, functions))
            parts = [
                f"\nfunction F{n}\n    takes a as Int, b as Int\n    gives Int\n    do\n        var sum = b\n{body}        give sum\n"
                for n in names
            ]
            self.files[f"part{number}.tb"] = f"module part{number}\n{''.join(parts)}".encode()
        uses = "".join(
            f"        set sum = sum + part{n}.F{n * each}(a: {n}, b: 1)\n" for n in range(12) if n * each < functions
        )
        imports = "".join(f"import part{n}\n" for n in range(12) if n * each < functions)
        main = f"module main\n{imports}\nstrategy Run\n    gives Int\n    do\n        var sum = 0\n{uses}        give sum\n"
        self.files["main.tb"] = main.encode()
        self.size = sum(map(len, self.files.values()))
        assert max(map(len, self.files.values())) <= SOURCE_BYTES

    def find(self, module: str) -> list[str]:
        return [path for path in self.places(module) if path in self.files]

    def places(self, module: str) -> list[str]:
        return [f"{module}.tb"]

    def near(self, module: str) -> list[str]:
        return []

    def read(self, path: str) -> bytes:
        return self.files[path]

    def compile(self) -> dict[str, Any]:
        found = compile_program(self, "main.tb")
        assert found.air is not None, found.diagnostics[:3]
        return found.air


def test_a_program_of_ten_megabytes_in_twelve_modules() -> None:
    large = Modules(29_500 // SMALLER)
    small = Modules(29_500 // SMALLER // TIMES)
    if SOAK:
        assert large.size > 10_000_000
    growth = seconds(large.compile) / seconds(small.compile) / (large.size / small.size)
    assert growth < 1.8
    # A tree, tokens and instructions are larger than the text that they come from; the factor is part of the promise.
    assert peak(large.compile) < 250 * large.size + 5_000_000


def test_a_hundred_thousand_declarations() -> None:
    large, small = (Modules(100_000 // SMALLER // part, lines=0) for part in (1, TIMES))
    growth = seconds(large.compile) / seconds(small.compile) / TIMES
    assert growth < 1.8
    air = write_program(large.compile())
    part = write_program(small.compile())
    if len(air) < 32 * 1024 * 1024:
        growth = seconds(lambda: read_program(air)) / seconds(lambda: read_program(part)) / (len(air) / len(part))
        assert growth < 1.8


def test_a_large_program_runs_at_once() -> None:
    program = load_program(Modules(29_500 // SMALLER).compile())
    machine = Machine(program, TypeTable(program.types), "strategy:main/Run", [], RunLimits(), {})
    outcome = machine.advance(20_000, lambda: None).outcome
    assert outcome is not None
    assert outcome.result == 12 + sum(range(8)) * sum(range(12)) == 1_860


LISTS = """module lists

type Line
    name as Text
    amount as Decimal

function Names
    takes lines as List of Line
    gives List of Text
    do
        give [line.name for line in sorted(lines by .amount) if line.amount > 10]

function Grown
    takes lines as List of Line
    gives Int
    do
        var seen = 0
        for each line in lines
            if line.name is not "n7"
                set seen = seen + 1
        give seen + length(unique([line.name for line in lines])) + length(join([line.name for line in lines], ","))
"""


class Lists:
    """Runs a function of `LISTS` with so many lines, from JSON to JSON."""

    def __init__(self) -> None:
        class Only(Modules):
            def __init__(self) -> None:
                self.files = {"main.tb": LISTS.encode()}

        self.program = load_program(Only().compile())
        self.table = TypeTable(self.program.types)

    def run(self, entry: str, size: int) -> Any:
        data = json.dumps([{"name": f"n{n}", "amount": str(n % 1_000)} for n in range(size)]).encode()

        def work() -> Any:
            form = self.program.callables[entry].takes[0][1]
            lines = self.table.decode(form, decode(data), "lines", Meter(1 << 62, 1 << 25), edge=True)
            machine = Machine(self.program, self.table, entry, [lines], RunLimits(max_steps=10**9), {})
            while True:
                outcome = machine.advance(20_000, lambda: None).outcome
                if outcome is not None:
                    assert outcome.kind == "finished", outcome.failure
                    return outcome.result, len(encode(outcome.result))

        return work


@pytest.mark.parametrize("entry", ["function:lists/Names", "function:lists/Grown"])
def test_lists_of_a_hundred_thousand_elements(entry: str) -> None:
    lists = Lists()
    large, small = (lists.run(entry, 100_000 // (1 if SOAK else 8) // part) for part in (1, TIMES))
    large()  # what is generated is not what grows
    growth = seconds(large) / seconds(small) / TIMES
    assert growth < 1.8
    assert peak(large) < (150 if SOAK else 25) * 1024 * 1024


def test_a_result_of_28_mebibytes(tmp_path: Path) -> None:
    elements = 440_000 // (1 if SOAK else 8)
    (tmp_path / "large.tb").write_text(
        "module large\n\nfunction Run\n    takes n as Int\n    gives List of Text\n    do\n"
        f'        let word = "{"0123456789abcdef" * 4}"\n        give [word for x in range(n)]\n',
        "utf-8",
    )
    command = [sys.executable, "-m", "touba_cli", "run", "large.tb", "--json", "--no-cache"]
    done = subprocess.run(
        [*command, f'--inputs={{"n": {elements}}}', '--run-limits={"max_steps": 100000000}'],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdin=subprocess.DEVNULL, capture_output=True, timeout=120,
        check=True,
    )  # fmt: skip
    assert len(done.stdout) > elements * 66
    assert len(json.loads(done.stdout)["result"]) == elements
