"""What the code of a program costs, over the same in plain Python; end to end, so that warming up counts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from measure import Row, interleaved

from touba_cli.air.program import load_program
from touba_cli.language.compiler import compile_program
from touba_cli.project.sources import ProjectSources
from touba_cli.runtime.machine import Machine, RunLimits
from touba_cli.values.check import TypeTable
from touba_cli.values.model import Meter

REPETITIONS = 7
TURNS = 1_000_000

SOURCE = """module bench

function Loop
    takes n as Int
    gives Int
    do
        var total = 0
        var i = 0
        repeat up to n times
            set i = i + 1
            if i mod 3 is 0
                set total = total + i
        give total

function Fib
    takes n as Int
    gives Int
    do
        if n < 2
            give n
        give Fib(n - 1) + Fib(n - 2)

function Chosen
    takes n as Int
    gives Int
    do
        give length([x * 2 for x in range(n) if x mod 3 is 0])

strategy Turns
    takes n as Int
    gives Int
    do
        var total = 0
        var i = 0
        repeat up to n times
            set i = i + 1
            if i mod 3 is 0
                set total = total + i
        give total

skill Half
    takes n as Int
    gives Int
    do
        give n div 2

strategy Calls
    takes n as Int
    gives Int
    do
        var total = 0
        for each i in range(n)
            let half = call Half(i)
            set total = total + half
        give total
"""


def plain_loop(size: int) -> int:
    total = i = 0
    for _ in range(size):
        i = i + 1
        if i % 3 == 0:
            total = total + i
    return total


def plain_fib(n: int) -> int:
    return n if n < 2 else plain_fib(n - 1) + plain_fib(n - 2)


def plain_chosen(n: int) -> int:
    return len([x * 2 for x in range(n) if x % 3 == 0])


def plain_half(n: int) -> int:
    return n // 2


def plain_calls(n: int) -> int:
    total = 0
    for i in range(n):
        half = plain_half(i)
        total = total + half
    return total


def execution(folder: Path) -> list[Row]:
    (folder / "bench.tb").write_text(SOURCE, "utf-8")
    air = compile_program(ProjectSources(str(folder)), "bench.tb").air
    assert air is not None
    program = load_program(air)

    def run(entry: str, n: int, *, reference: bool = False) -> Callable[[], object]:
        def case() -> object:
            table = TypeTable(program.types)
            arguments = [table.decode("Int", n, "n", Meter(1 << 62, 1 << 25), edge=True)]
            machine = Machine(program, table, entry, arguments, RunLimits(max_steps=10**9), {}, reference=reference)
            while True:
                progress = machine.advance(20_000, lambda: None)
                if progress.outcome is not None:
                    assert progress.outcome.kind == "finished", progress.outcome.failure
                    return progress.outcome.result

        return case

    found = interleaved(
        {
            "plain loop": lambda: plain_loop(TURNS),
            "loop": run("function:bench/Loop", TURNS),
            "short loop": run("function:bench/Loop", TURNS // 10),
            "interpreted": run("function:bench/Loop", TURNS // 10, reference=True),
            "turns": run("strategy:bench/Turns", TURNS),
            "plain fib": lambda: plain_fib(24),
            "fib": run("function:bench/Fib", 24),
            "plain chosen": lambda: plain_chosen(200_000),
            "chosen": run("function:bench/Chosen", 200_000),
            "plain calls": lambda: plain_calls(3_000),
            "calls": run("strategy:bench/Calls", 3_000),
        },
        REPETITIONS,
    )
    loop = found["loop"] / found["plain loop"]
    return [
        Row("a pure loop of a million turns, over plain Python", loop, "x", 3.0),
        Row("the same in the reference interpreter alone", found["interpreted"] * 10 / found["plain loop"], "x"),
        Row("`Fib(24)` in functions, over plain Python", found["fib"] / found["plain fib"], "x", 4.0),
        Row("a comprehension over 200,000 elements, over plain Python", found["chosen"] / found["plain chosen"], "x"),
        Row("a loop in a strategy without calls, over plain Python", found["turns"] / found["plain loop"], "x"),
        Row("a loop in a strategy that calls a skill, over plain Python", found["calls"] / found["plain calls"], "x"),
        Row("a loop: time a turn, 1,000,000 over 100,000 turns", found["loop"] / found["short loop"] / 10, "x", 1.3),
    ]
