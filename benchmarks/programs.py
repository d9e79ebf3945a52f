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
#: the default of `max_steps` allows so many calls of a small skill; the trace tells of a fifth of them
CALLS = 100_000

#: a loop, for a function and for a strategy
TURNING = """\
        var total = 0
        var i = 0
        repeat up to n times
            set i = i + 1
            if i mod 3 is 0
                set total = total + i
        give total
"""

SOURCE = f"""module bench

function Loop
    takes n as Int
    gives Int
    do
{TURNING}
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
{TURNING}
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

skill Deep
    takes n as Int
    gives Int
    do
        if n < 2
            give n
        let one = call Deep(n - 1)
        let two = call Deep(n - 2)
        give one + two

strategy Applies
    takes n as Int
    gives Int
    do
        var total = 0
        for each i in range(n)
            set total = total + Fib(i mod 2)
        give total

strategy Shows
    takes n as Int
    gives Int
    do
        var total = 0
        for each i in range(n)
            show "turn {{i}}"
            set total = total + i
        give total

strategy Catches
    takes n as Int
    gives Int
    do
        var total = 0
        for each i in range(n)
            attempt
                require i < 0 else "no"
                set total = total + i
            on failure as problem
                set total = total + length(problem.message)
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


def plain_applies(n: int) -> int:
    total = 0
    for i in range(n):
        total = total + plain_fib(i % 2)
    return total


def plain_shows(n: int) -> int:
    messages = []
    total = 0
    for i in range(n):
        messages.append(f"turn {i}")
        total = total + i
    return total


def plain_catches(n: int) -> int:
    total = 0
    for i in range(n):
        try:
            if not i < 0:
                raise ValueError("no")
            total = total + i
        except ValueError as problem:
            total = total + len(problem.args[0])
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
            "plain calls": lambda: plain_calls(CALLS),
            "calls": run("strategy:bench/Calls", CALLS),
            "plain few calls": lambda: plain_calls(3_000),
            "few calls": run("strategy:bench/Calls", 3_000),
            "plain deep": lambda: plain_fib(22),
            "deep": run("skill:bench/Deep", 22),
            "plain applies": lambda: plain_applies(CALLS),
            "applies": run("strategy:bench/Applies", CALLS),
            "plain shows": lambda: plain_shows(CALLS),
            "shows": run("strategy:bench/Shows", CALLS),
            "plain catches": lambda: plain_catches(30_000),
            "catches": run("strategy:bench/Catches", 30_000),
        },
        REPETITIONS,
    )

    def over(what: str, name: str, target: float | None = None) -> Row:
        return Row(what, found[name] / found[f"plain {name}"], "x", target)

    loop = found["loop"] / found["plain loop"]
    return [
        Row("a pure loop of a million turns, over plain Python", loop, "x", 3.0),
        Row("the same in the reference interpreter alone", found["interpreted"] * 10 / found["plain loop"], "x"),
        Row("`Fib(24)` in functions, over plain Python", found["fib"] / found["plain fib"], "x", 4.0),
        Row("a comprehension over 200,000 elements, over plain Python", found["chosen"] / found["plain chosen"], "x"),
        Row("a loop in a strategy without calls, over plain Python", found["turns"] / found["plain loop"], "x"),
        over("a loop in a strategy that calls a skill 100,000 times, over plain Python", "calls", 12.0),
        over("the same with 3,000 calls, which are interpreted at first and all told in the trace", "few calls"),
        over("`Fib(22)` in skills, over plain Python", "deep", 20.0),
        over("a loop in a strategy that calls a function 100,000 times, over plain Python", "applies", 20.0),
        over("a loop that shows 100,000 messages, over making these texts in plain Python", "shows"),
        over("a loop that catches 30,000 failures, over exceptions in plain Python", "catches"),
        Row("a loop: time a turn, 1,000,000 over 100,000 turns", found["loop"] / found["short loop"] / 10, "x", 1.3),
    ]
