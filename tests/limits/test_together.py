"""One program that goes up to every limit at once: what each allows alone, they allow together."""

from __future__ import annotations

from typing import Any

from tests.language.pages import Files
from tests.limits.test_source import states
from tests.runtime.machine_kit import Ran, drive
from touba_cli.air.program import Program, read_program, write_program
from touba_cli.language.compiler import compile_program
from touba_cli.limits import (
    ALL_PATTERN_STATES,
    BLOCK_DEPTH,
    BRACKET_DEPTH,
    CALLABLE_SLOTS,
    EXPRESSION_DEPTH,
    INTERPOLATION_DEPTH,
    LEFT_OUT_FIELDS,
    MAX_DEPTH,
    MAX_EXTERNAL_CALLS,
    MAX_VALUE_BYTES,
    MESSAGES_BYTES,
    PATTERN_CHARACTERS,
    PATTERN_DEPTH,
    PATTERN_STATES,
    SOURCE_BYTES,
    SOURCE_FILES,
    TYPE_DEPTH,
    TYPE_MEMBERS,
    VALUE_DEPTH,
)
from touba_cli.runtime.execution import GeneratedCode
from touba_cli.runtime.machine import Machine, RunLimits, Settled
from touba_cli.values.check import TypeTable

MAIN = "strategy:app/Main"


def declarations() -> str:
    imported = SOURCE_FILES - 1
    fields = "".join(f"    f{number} as Optional m{number % imported}.T\n" for number in range(TYPE_MEMBERS))
    variants = "".join(f"    V{number}\n" for number in range(TYPE_MEMBERS))
    letters = [chr(code) for code in range(ord("a"), ord("a") + ALL_PATTERN_STATES // PATTERN_STATES)]
    patterns = [states(PATTERN_STATES).replace("a", letter) for letter in letters[:-1]]
    deepest = "(" * (PATTERN_DEPTH - 1) + "A" + ")" * (PATTERN_DEPTH - 1)  # two states, as the next
    longest = "[" + "B" * (PATTERN_CHARACTERS - 2) + "]"
    patterns += [deepest, longest, states(PATTERN_STATES - 4).replace("a", "C")]
    return (
        "".join(f"import m{number}\n" for number in range(imported))
        + f"type Wide\n{fields}choice Many\n{variants}type Node\n    next as List of Node\n"
        + f"type Deep\n    a as {'List of ' * TYPE_DEPTH}Int\n"
        + "".join(f'type P{number} is Text matching "{text}"\n' for number, text in enumerate(patterns))
        + "tool Ask\n    gives Int\n"
    )


def callables() -> str:
    # The call, the sum in it and its operands are three of the levels.
    nots = "not " * (EXPRESSION_DEPTH - 3)
    down = (
        "function Down\n    takes n as Int\n    gives Bool\n    do\n        if n <= 1\n            give true\n"
        f"        give {nots}Down(n - 1)\n"
    )
    left_out = [f"        let _r{number} = Wide()\n" for number in range(LEFT_OUT_FIELDS // TYPE_MEMBERS)]
    wide = f"function Empty\n    gives Int\n    do\n{''.join(left_out)}        give {len(left_out)}\n"
    names = "".join(f"        let _a{number} = 1\n" for number in range(CALLABLE_SLOTS))
    many = f"function Names\n    gives Int\n    do\n{names}        give {CALLABLE_SLOTS}\n"
    levels = BLOCK_DEPTH - 2  # the function and its `do` are two
    blocks = "".join(f"{'    ' * (2 + level)}if n > {level}\n" for level in range(levels))
    brackets = "(" * BRACKET_DEPTH + "n" + ")" * BRACKET_DEPTH
    nested = (
        f"function Nested\n    takes n as Int\n    gives Int\n    do\n{blocks}{'    ' * (2 + levels)}give {brackets}\n"
        "        give 0\n"
    )
    return down + wide + many + nested


def main() -> str:
    text = "word"
    for _ in range(INTERPOLATION_DEPTH):
        text = f'"{{{text}}}"'
    half = MAX_VALUE_BYTES // 2
    shown = MESSAGES_BYTES // 4 - 2 - 64 - len("show:app/Main/1")
    lines = [
        "var node = Node(next: [])",
        f"repeat up to {VALUE_DEPTH // 2 - 1} times",
        "    set node = Node(next: [node])",
        "var sum = 0",
        f"repeat up to {MAX_EXTERNAL_CALLS} times",
        "    let one = call Ask()",
        "    set sum = sum + one",
        'var word = "0123456789abcdef"',
        f"let same = {text}",
        "repeat up to 20 times",
        "    set word = word + word",
        f"let largest = word + slice(word, 0, {half - 2})",
        f"let part = slice(word, 0, {shown})",
        *['show "{part}"'] * 4,
        f'require Down({MAX_DEPTH - 1}) else "the depth"',
        "give [sum, length(node.next), length(largest), length(same), Empty(), Names(), Nested(99)]",
    ]
    return "strategy Main\n    gives List of Int\n    do\n" + "".join(f"        {line}\n" for line in lines)


def program() -> Program:
    text = "module app\n" + declarations() + callables() + main()
    files: dict[str, str | bytes] = {"app.tb": text + "# " + "x" * (SOURCE_BYTES - len(text) - 3) + "\n"}
    files |= {f"m{number}.tb": f"module m{number}\ntype T\n    a as Int\n" for number in range(SOURCE_FILES - 1)}
    assert len(files["app.tb"]) == SOURCE_BYTES
    found = compile_program(Files(files), "app.tb")
    assert [(each.code, each.title) for each in found.diagnostics if each.severity == "error"] == []
    assert found.air is not None
    return read_program(write_program(found.air))


def test_a_program_may_use_all_limits_together() -> None:
    found = program()
    assert len(found.modules) == SOURCE_FILES
    table = TypeTable(found.types)

    def run(engine: str, max_steps: int) -> Ran:
        code = GeneratedCode(found.callables, table)
        limits = RunLimits(max_steps=max_steps)
        made = Machine(found, table, MAIN, [], limits, {}, code, reference=engine == "reference")
        return drive(made, lambda need: Settled.given(1))

    told: dict[str, Any] = {engine: run(engine, 10**8) for engine in ("reference", "as it comes")}
    ran = told["reference"]
    assert ran.result == [
        MAX_EXTERNAL_CALLS, 1, MAX_VALUE_BYTES - 2, 16, LEFT_OUT_FIELDS // TYPE_MEMBERS, CALLABLE_SLOTS, 99,
    ]  # fmt: skip
    assert len(ran.messages) == 4
    assert sum(2 + 64 + len(ref) + len(text) for ref, text in ran.messages) == MESSAGES_BYTES
    assert told["as it comes"].story() == ran.story()
    for engine in told:  # and the budget is as exact as ever
        assert run(engine, ran.steps).steps == ran.steps
        assert run(engine, ran.steps - 1).code == "StepLimitExceeded"
