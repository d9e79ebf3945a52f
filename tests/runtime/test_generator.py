"""Generated code does what the interpreter does: the same values, failures, places, steps, events and pulses."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.runtime.machine_kit import Ran, callable_, plain, program
from tests.runtime.program_strategy import programs
from touba_cli.air.operations import OPERATIONS
from touba_cli.air.program import Program
from touba_cli.errors import ToubaFailure
from touba_cli.limits import LIMITS
from touba_cli.runtime import execution, interpreter
from touba_cli.runtime.budget import allow_recursion
from touba_cli.runtime.execution import GeneratedCode
from touba_cli.runtime.generate_code import Writer
from touba_cli.runtime.generate_expr import RULES
from touba_cli.runtime.generate_facts import CodeFacts
from touba_cli.runtime.generate_text import Refused
from touba_cli.runtime.generator import Generator
from touba_cli.runtime.interpreter import EXPRESSIONS
from touba_cli.runtime.machine import Machine, Need, RunLimits, Settled
from touba_cli.values.check import TypeTable

# The machine raises Python's recursion limit when it is first made, which hypothesis takes amiss inside a test.
allow_recursion()

MAIN = "strategy:app/Main"


class Runner:
    """Runs one program again and again; what was generated for it is kept from run to run."""

    def __init__(self, program: Program, entry: str = MAIN):
        self.program = program
        self.entry = entry
        self.table = TypeTable(program.types)
        self.code = GeneratedCode(program.callables, self.table, at_once=True)

    def run(self, how: str, slice_steps: int, arguments: list[Any] | None = None, **limits: int) -> tuple[Any, ...]:
        """Everything that can be told from outside, with the steps at each pulse and each end of a slice."""
        code = {"generated": self.code, "reference": None, "mixed": GeneratedCode(self.program.callables, self.table)}[
            how
        ]
        machine = Machine(
            self.program, self.table, self.entry, arguments or [], RunLimits(**limits), {}, code,
            reference=how == "reference",
        )  # fmt: skip
        ran = Ran()
        clock: list[tuple[str, int]] = []
        while ran.outcome is None:
            progress = machine.advance(slice_steps, lambda: clock.append(("pulse", machine.usage.steps)))
            clock.append(("slice", machine.usage.steps))
            frames = [(each.callable.ref, each.pc, repr(each.slots), each.attempts) for each in machine._task.frames]
            clock.append((repr(frames), len(progress.needs)))
            ran.take(progress)
            for need in progress.needs:
                machine.settle(need.occurrence, answer(need))
        ran.steps = machine.usage.steps
        return (*ran.story(), clock)


def answer(need: Need) -> Settled:
    given = need.arguments["a0"]
    return Settled.failed("Refused", "no") if given % 3 == 1 else Settled.given(given % 7)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(programs())
def test_generated_code_agrees_for_every_budget(program: Program) -> None:
    runner = Runner(program)
    steps = runner.run("reference", 20_000)[-2]
    assert runner.run("generated", 20_000) == runner.run("reference", 20_000)
    budgets = range(1, steps + 1) if steps <= 300 else range(1, steps + 1, steps // 60)
    for budget in budgets:
        expected = runner.run("reference", 20_000, max_steps=budget)
        assert runner.run("generated", 20_000, max_steps=budget) == expected, budget


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(programs(), st.integers(1, 60), st.integers(1, 60))
def test_slices_and_pulses_fall_in_the_same_places(program: Program, slice_steps: int, depth: int) -> None:
    runner = Runner(program)
    limits = {"max_depth": depth % 7 + 1, "max_value_bytes": 1024}
    for each in (slice_steps, 1):
        assert runner.run("generated", each, **limits) == runner.run("reference", each, **limits)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(programs(), st.integers(1, 40))
def test_the_engines_hand_over_anywhere(program: Program, slice_steps: int) -> None:
    runner = Runner(program)
    expected = runner.run("reference", slice_steps)
    with pytest.MonkeyPatch.context() as patch:
        for threshold in (0, 7, 40):
            patch.setattr(interpreter, "LONG_LIST", threshold % 3 + 1)
            patch.setattr(execution, "FIRST_STEPS", threshold)
            patch.setattr(execution, "STEPS", threshold)
            assert runner.run("mixed", slice_steps) == expected


# What a random program seldom meets.

EDGES = [0, 1, -1, 2, 7, 2**31, 2**62, 2**63 - 1, -(2**63) + 1, -(2**63)]


def whole(number: int) -> list[Any]:
    return ["int", number if abs(number) < 2**53 else str(number)]


@pytest.mark.parametrize(
    "name", ["add.int", "sub.int", "mul.int", "div.int", "mod.int", "eq", "ne", "lt.int", "ge.int"]
)
def test_whole_numbers_at_their_limits(name: str) -> None:
    gives = "Bool" if name in ("eq", "ne", "lt.int", "ge.int") else "Int"
    functions = {
        "function:app/Both": callable_([["give", [name, ["slot", 0], ["slot", 1]]]], gives=gives, takes=["Int", "Int"])
    }
    for at, edge in enumerate(EDGES):
        right = [["set", 1, [name, ["slot", 0], whole(edge)]], ["give", ["slot", 1]]]
        functions[f"function:app/Right{at}"] = callable_(right, gives=gives, takes=["Int"], slots=[gives])
        functions[f"function:app/Left{at}"] = callable_(
            [["give", [name, whole(edge), ["slot", 0]]]], gives=gives, takes=["Int"]
        )
    found = program(functions)
    for ref in functions:
        runner = Runner(found, ref)
        for a in EDGES:
            for b in EDGES if ref.endswith("Both") else [0]:
                arguments = [a, b][: len(found.callables[ref].takes)]
                assert runner.run("generated", 50, arguments) == runner.run("reference", 50, arguments), (ref, a, b)


@pytest.mark.parametrize("name", ["neg.int", "abs.int"])
def test_signs_at_their_limits(name: str) -> None:
    for edge in EDGES:
        agree([["give", [name, ["slot", 0]]]], takes=["Int"], arguments=[edge])


def test_a_slot_is_read_before_a_comprehension_takes_it() -> None:
    taken = ["sum.int", ["collect", 0, ["list", "Int", [["int", 5], ["int", 6]]], None, ["slot", 0]]]
    slot = ["slot", 0]
    for node in (
        ["add.int", slot, taken],
        ["chain", slot, "sub.int", taken, "mul.int", slot],
        ["index.list", ["list", "Int", [slot, taken, slot]], ["int", 0]],
        ["sum.int", ["list", "Int", [slot, taken, slot]]],
        ["div.int", slot, taken],
        ["if", ["eq", slot, taken], ["int", 1], slot],
        ["otherwise", ["some", slot], taken],
        ["field", ["with", ["record", "type:app/Line", [["text", "a"], slot]], [["amount", taken]]], "amount"],
        ["length.text", ["concat", ["text.int", slot], ["text.int", taken]]],
    ):
        agree([["set", 0, ["int", 40]], ["give", node]], slots=["Int"])


def test_texts_that_are_compared_are_charged() -> None:
    for text in ("", "short", "x" * 13, "x" * 14, "é" * 3, "é" * 4, "y" * 100):
        for other in ("short", "x" * 13, "x" * 14, "é" * 4):
            agree([["give", ["eq", ["slot", 0], ["text", other]]]], gives="Bool", takes=["Text"], arguments=[text])


# What Python itself cannot take is left to the interpreter.


def agree(
    code: list[Any], gives: Any = "Int", slots: list[Any] | None = None, entry: str = "function:app/Main", **more: Any
) -> Runner:
    """Both engines run the code in the same way; gives what ran it."""
    others = more.pop("others", {})
    takes = more.pop("takes", [])
    arguments = more.pop("arguments", [])
    main = callable_(code, gives=gives, slots=slots, takes=takes)
    found = program({entry: main, "strategy:app/Outer": callable_([["give", ["int", 1]]]), **others})
    runner = Runner(found, entry)
    assert runner.run("generated", 50, arguments, **more) == runner.run("reference", 50, arguments, **more)
    return runner


def made(runner: Runner) -> int:
    """How many pieces were generated."""
    return len(runner.code.pieces)


def nested(levels: int, inner: Any, around: Any) -> Any:
    for _ in range(levels):
        inner = around(inner)
    return inner


@pytest.mark.parametrize("levels", [3, 60, 180])
def test_deep_expressions(levels: int) -> None:
    deep = nested(
        levels,
        ["slot", 0],
        lambda inner: (
            ["if", ["gt.int", inner, ["int", 0]], ["int", 1], ["int", -1]] if levels < 20 else ["neg.int", inner]
        ),
    )
    assert made(agree([["give", deep]], takes=["Int"], arguments=[5])) == 1
    lists = nested(min(levels, 90), ["int", 1], lambda inner: ["list", "Int", [inner]])
    forms = nested(min(levels, 90), "Int", lambda inner: ["List", inner])
    position, node = 0, lists
    while node[0] == "list":
        node[1] = nested(min(levels, 90) - position - 1, "Int", lambda inner: ["List", inner])
        position, node = position + 1, node[2][0]
    assert made(agree([["give", lists]], gives=forms)) == 1


def test_expressions_that_are_too_large_are_interpreted() -> None:
    small = [["set", 0, ["sum.int", ["list", "Int", [["int", 1]] * 3_000]]], ["give", ["slot", 0]]]
    assert made(agree(small, slots=["Int"])) == 1
    large = [["set", 0, ["sum.int", ["list", "Int", [["int", 1]] * 5_000]]], ["give", ["slot", 0]]]
    assert made(agree(large, slots=["Int"])) == 0
    # in the middle of other code, and in a loop around it
    around = [
        ["set", 0, ["int", 0]],
        ["set", 1, ["int", 4]],
        ["times", 1, 6],
        ["set", 0, ["add.int", ["slot", 0], ["sum.int", ["list", "Int", [["int", 1]] * 5_000]]]],
        ["set", 0, ["add.int", ["slot", 0], ["int", 1]]],
        ["again", 2, 0],
        ["give", ["slot", 0]],
    ]
    assert made(agree(around, slots=["Int", "Int"])) > 1


def test_a_long_chain() -> None:
    chain: list[Any] = ["chain", ["int", 0]]
    for number in range(1_500):
        chain += ["add.int", ["int", number]]
    assert made(agree([["give", chain]])) == 1


@pytest.mark.parametrize("levels", [2, 14, 40])
def test_loops_inside_each_other(levels: int) -> None:
    code: list[Any] = [["set", 0, ["int", 0]]]
    heads = []
    for level in range(levels):
        code.append(["set", level + 1, ["int", 1]])
        heads.append(len(code))
        code.append(["times", level + 1, -1])
    code.append(["set", 0, ["add.int", ["slot", 0], ["int", 1]]])
    for head in reversed(heads):
        code.append(["again", head, 0])
        code[head][2] = len(code)
    code.append(["give", ["slot", 0]])
    assert made(agree(code, slots=["Int"] * (levels + 1))) >= 1


@pytest.mark.parametrize("levels", [2, 14, 25])
def test_collects_inside_each_other(levels: int) -> None:
    form: Any = "Int"
    node: Any = ["int", 7]
    for level in range(levels):
        node = ["collect", level, ["list", "Int", [["int", 1]]], None, node]
        form = ["List", form]
    assert made(agree([["give", node]], gives=form, slots=["Int"] * levels)) == (levels < 20)


@pytest.mark.parametrize("levels", [10, 55, 150])
def test_branches_inside_each_other(levels: int) -> None:
    code: list[Any] = [["unless", ["gt.int", ["slot", 0], ["int", level]], -1] for level in range(levels)]
    code.append(["set", 1, ["int", 1]])
    joins = []
    for level in reversed(range(levels)):
        joins.append(len(code))
        code.append(["jump", -1])
        code[level][2] = len(code)
        code.append(["set", 1, ["int", level]])
    for join in joins:
        code[join][1] = join + 2
    code.append(["give", ["slot", 1]])
    for value in (0, 7, 1_000):
        assert made(agree(code, slots=["Int"], takes=["Int"], arguments=[value])) >= 1


def test_many_branches_one_after_the_other() -> None:
    code: list[Any] = []
    for arm in range(200):
        code.append(["unless", ["eq", ["slot", 0], ["int", arm]], len(code) + 2])
        code.append(["give", ["int", arm * 2]])
    code.append(["give", ["int", -1]])
    for value in (0, 150, 500):
        assert made(agree(code, takes=["Int"], arguments=[value])) == 1


def test_a_very_long_callable_is_made_in_pieces() -> None:
    code: list[Any] = [["set", 0, ["int", 0]]]
    code += [["set", 0, ["add.int", ["slot", 0], ["int", number]]] for number in range(5_000)]
    code.append(["give", ["slot", 0]])
    assert made(agree(code, slots=["Int"])) > 3


def test_jumps_that_no_compiler_of_ours_makes() -> None:
    # out of two loops at once, and from one branch into the middle of the other
    code = [
        ["set", 1, ["int", 3]],
        ["times", 1, 10],
        ["set", 2, ["int", 3]],
        ["times", 2, 8],
        ["unless", ["eq", ["slot", 0], ["int", 1]], 7],
        ["set", 0, ["int", 9]],
        ["jump", 10],
        ["again", 3, 0],
        ["set", 0, ["int", 1]],
        ["again", 1, 0],
        ["unless", ["gt.int", ["slot", 0], ["int", 3]], 14],
        ["unless", ["gt.int", ["slot", 0], ["int", 8]], 15],
        ["set", 0, ["int", 5]],
        ["jump", 16],
        ["set", 0, ["add.int", ["slot", 0], ["int", 2]]],
        ["set", 0, ["add.int", ["slot", 0], ["int", 1]]],
        ["give", ["slot", 0]],
    ]
    for value in (0, 1, 4, 9):
        agree(code, slots=["Int", "Int"], takes=["Int"], arguments=[value])
        for entry in (MAIN, "function:app/F"):
            outer = callable_([["give", ["apply", entry, [["slot", 0]]]]], takes=["Int"])
            if entry != MAIN:
                inner = callable_(code, slots=["Int", "Int"], takes=["Int"])
                runner = Runner(program({"strategy:app/Main": outer, entry: inner}))
                for steps in range(1, 120):
                    given = runner.run("generated", 9, [value], max_steps=steps)
                    assert given == runner.run("reference", 9, [value], max_steps=steps)


def test_a_deep_recursion_names_the_same_callables() -> None:
    down = callable_([["give", ["apply", "function:app/Down", [["add.int", ["slot", 0], ["int", 1]]]]]], takes=["Int"])
    found = program(
        {MAIN: callable_([["give", ["apply", "function:app/Down", [["int", 1]]]]]), "function:app/Down": down}
    )
    runner = Runner(found)
    for depth in (1, 2, 12, 200):
        expected = runner.run("reference", 50, max_depth=depth)
        assert runner.run("generated", 50, max_depth=depth) == expected
        assert expected[3][0] == "DepthLimitExceeded"
        assert expected[3][1].count("Down") == min(depth, 9)


def test_the_deepest_recursion_of_all() -> None:
    limit = LIMITS["max_depth"].highest
    deep: Any = nested(60, ["apply", "function:app/Down", [["slot", 0]]], lambda inner: ["neg.int", inner])
    down = callable_([["give", deep]], takes=["Int"])
    found = program(
        {MAIN: callable_([["give", ["apply", "function:app/Down", [["int", 1]]]]]), "function:app/Down": down}
    )
    assert Runner(found).run("generated", 20_000, max_depth=limit)[3][0] == "DepthLimitExceeded"


# Comprehensions that the interpreter hands over.


@pytest.mark.parametrize("budget", [40, 400, 4_000, 9_000, 100_000])
def test_long_lists_of_the_interpreter(budget: int) -> None:
    inner = callable_([["give", ["add.int", ["slot", 0], ["int", 1]]]], takes=["Int"])
    node = ["collect", 1, ["range.to", ["slot", 0]], ["ne", ["slot", 1], ["int", 7]],
            ["div.int", ["apply", "function:app/Inner", [["slot", 1]]], ["sub.int", ["slot", 2], ["slot", 1]]]]  # fmt: skip
    code = [["set", 2, ["int", 0]], ["set", 1, ["int", 5]], ["set", 2, ["int", 650]], ["attempt", 8, 3],
            ["set", 1, ["sum.int", node]], ["leave"], ["give", ["slot", 1]], ["give", ["int", 0]],
            ["give", ["add.int", ["slot", 1], ["length.text", ["field", ["slot", 3], "code"]]]]]  # fmt: skip
    main = callable_(code, takes=["Int"], slots=["Int", "Int", "type:touba/Problem"])
    found = program({MAIN: main, "function:app/Inner": inner})
    runner = Runner(found)
    for size in (100, 499, 500, 640, 700):
        expected = runner.run("reference", 90, [size], max_steps=budget)
        for how in ("mixed", "generated"):
            assert runner.run(how, 90, [size], max_steps=budget) == expected


def test_a_function_that_fails_for_an_element_is_the_place() -> None:
    inner = callable_(
        [["set", 1, ["int", 3]], ["give", ["div.int", ["slot", 1], ["sub.int", ["slot", 0], ["int", 600]]]]],
        takes=["Int"],
        slots=["Int"],
    )
    node = ["collect", 1, ["range.to", ["slot", 0]], None, ["apply", "function:app/Inner", [["slot", 1]]]]
    found = program(
        {MAIN: callable_([["give", ["sum.int", node]]], takes=["Int"], slots=["Int"]), "function:app/Inner": inner}
    )
    runner = Runner(found)
    expected = runner.run("reference", 90, [700])
    assert expected[3][3] == ("function:app/Inner", 1)
    for how in ("mixed", "generated"):
        assert runner.run(how, 90, [700]) == expected


def test_a_long_list_is_handed_over() -> None:
    main = callable_(
        [["give", ["sum.int", ["collect", 1, ["range.to", ["slot", 0]], None, ["slot", 1]]]]],
        takes=["Int"],
        slots=["Int"],
    )
    found = program({MAIN: main})
    table = TypeTable(found.types)
    for size, pieces in ((499, 0), (500, 1)):
        code = GeneratedCode(found.callables, table)
        machine = Machine(found, table, MAIN, [size], RunLimits(), {}, code)
        assert machine.advance(20_000, lambda: None).outcome is not None
        assert len(code.pieces) == pieces


# What the engines know of each other.


def test_calls_of_interpreted_functions_are_counted_as_theirs() -> None:
    large = ["sum.int", ["list", "Int", [["int", 1]] * 5_000]]
    inner = callable_([["give", ["add.int", ["slot", 0], ["int", 1]]]], takes=["Int"])
    outer = callable_(
        [["set", 1, large], ["give", ["add.int", ["slot", 1], ["apply", "function:app/Inner", [["slot", 0]]]]]],
        takes=["Int"],
        slots=["Int"],
    )
    code = [
        ["set", 0, ["int", 3]],
        ["times", 0, 4],
        ["set", 1, ["apply", "function:app/Outer", [["slot", 0]]]],
        ["again", 1, 0],
        ["set", 1, ["apply", "function:app/Outer", [["apply", "function:app/Inner", [["slot", 0]]]]]],
        ["give", ["slot", 1]],
    ]
    functions = {"function:app/Inner": inner, "function:app/Outer": outer}
    runner = agree(code, slots=["Int", "Int"], entry=MAIN, others=functions)
    told = [each for each in runner.run("generated", 50)[4] if each[0] == "function_completed"]
    assert [(each[1], each[5]["times"]) for each in told] == [("function:app/Outer", 1)] * 3 + [
        ("function:app/Inner", 1),
        ("function:app/Outer", 1),
    ]


LARGE = ["sum.int", ["list", "Int", [["int", 1]] * 5_000]]


def test_functions_that_are_interpreted_inside_generated_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "FIRST_STEPS", 7)
    inner = callable_([["give", ["add.int", ["slot", 0], ["int", 1]]]], takes=["Int"])
    calls_inner = ["add.int", ["slot", 1], ["apply", "function:app/Inner", [["slot", 0]]]]
    outer = callable_([["set", 1, LARGE], ["give", calls_inner]], takes=["Int"], slots=["Int"])
    calls_outer = ["apply", "function:app/Outer", [["slot", 1]]]
    code = [
        ["set", 0, ["int", 9]],
        ["times", 0, 5],
        ["set", 1, ["int", 4]],
        ["set", 1, calls_outer],
        ["again", 1, 0],
        [
            "set",
            1,
            ["sum.int", ["collect", 1, ["range.to", ["int", 510]], ["lt.int", ["slot", 1], ["int", 3]], calls_outer]],
        ],
        ["give", ["slot", 1]],
    ]
    main = callable_(code, slots=["Int", "Int"])
    runner = Runner(program({MAIN: main, "function:app/Inner": inner, "function:app/Outer": outer}))
    expected = runner.run("reference", 20_000)
    assert runner.run("mixed", 20_000) == runner.run("generated", 20_000) == expected
    monkeypatch.undo()
    once = callable_([["set", 1, ["int", 4]], *code[5:]], slots=["Int", "Int"])
    runner = Runner(program({MAIN: once, "function:app/Inner": inner, "function:app/Outer": outer}))
    assert runner.run("mixed", 20_000) == runner.run("reference", 20_000)


def test_depth_is_counted_through_both_engines() -> None:
    one = callable_(
        [["set", 1, LARGE], ["give", ["apply", "function:app/Two", [["slot", 0]]]]], takes=["Int"], slots=["Int"]
    )
    two = callable_([["give", ["apply", "function:app/One", [["slot", 0]]]]], takes=["Int"])
    main = callable_([["give", ["apply", "function:app/Two", [["int", 1]]]]])
    runner = Runner(program({MAIN: main, "function:app/One": one, "function:app/Two": two}))
    for depth in (3, 8, 31):
        expected = runner.run("reference", 20_000, max_depth=depth)
        assert runner.run("generated", 20_000, max_depth=depth) == expected
        assert expected[3][0] == "DepthLimitExceeded"


class Stop(BaseException):
    """What a driver's pulse raises to cancel a run."""


@pytest.mark.parametrize("at", range(1, 12))
def test_a_run_that_is_cancelled_inside_a_function_stands_where_it_was(at: int) -> None:
    down = callable_(
        [
            ["set", 1, ["sum.int", ["collect", 2, ["range.to", ["int", 9]], None, ["slot", 2]]]],
            ["unless", ["gt.int", ["slot", 0], ["int", 0]], 3],
            ["give", ["apply", "function:app/Down", [["sub.int", ["slot", 0], ["int", 1]]]]],
            ["give", ["slot", 1]],
        ],
        takes=["Int"],
        slots=["Int", "Int"],
    )
    code = [["set", 0, ["int", 7]], ["set", 1, ["apply", "function:app/Down", [["int", 3]]]], ["give", ["slot", 1]]]
    found = program({MAIN: callable_(code, slots=["Int", "Int"]), "function:app/Down": down})
    table = TypeTable(found.types)
    ends = []
    for reference in (True, False):
        made_at_once = GeneratedCode(found.callables, table, at_once=True)
        machine = Machine(found, table, MAIN, [], RunLimits(), {}, made_at_once, reference=reference)
        pulses = 0

        def pulse() -> None:
            nonlocal pulses
            pulses += 1
            if pulses == at:
                raise Stop

        stopped = False
        while not stopped:
            try:
                assert machine.advance(9, pulse).outcome is None
            except Stop:
                stopped = True
        frame = machine._task.frames[-1]
        stands = (frame.callable.ref, frame.pc, machine.usage.steps)
        progress = machine.abort(ToubaFailure("DeadlineExceeded", "too late"))
        assert progress.outcome is not None
        assert progress.outcome.failure is not None
        ends.append(
            (stands, progress.outcome.failure.place, machine.usage.steps, [plain(each) for each in progress.events])
        )
    assert ends[0] == ends[1]


# What the source is made of.

WORDS = {
    "as", "catch", "text_of", "except", "try", "x", "ABSENT", "add", "and", "append", "attempts", "before", "begin_call", "break", "BusinessFailure", "charge",
    "check_size", "close", "complete_call", "concat", "constrain", "continue", "counts", "d", "def",
    "division_by_zero", "e", "effects", "else", "entries", "explanation", "F", "Failure", "False", "fields", "for",
    "functions", "get", "hand_over", "HANDED", "if", "in", "integer_overflow", "is", "items", "left", "left_out",
    "length", "ListValue", "m", "made", "make_changed", "make_choice", "make_list", "make_map", "make_present",
    "make_record", "max_value_bytes", "n", "None", "not", "nothing_inside", "open", "or", "ordinal", "out_of_range",
    "pass", "pc", "pop", "r", "raise", "RequirementFailed", "reserve", "result", "return", "room", "rows", "S",
    "show", "size_of", "slots", "sort_by", "span", "spend", "spent", "steps", "tell_functions", "teller", "text_size",
    "times", "TooDeep", "True", "tuple", "type", "U", "UNSET", "value", "variant", "W", "w", "while", "wrong_variant",
    "X", "Y",
}  # fmt: skip


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(programs())
def test_nothing_of_a_program_enters_the_source(found: Program) -> None:
    table = TypeTable(found.types)
    for declared in found.callables.values():
        if declared.kind == "tool":
            continue
        may_stop = declared.kind != "function"
        for start in (0, None, len(declared.code) // 2):
            try:
                source = Writer(
                    table, found.callables, declared, CodeFacts(declared), start, may_stop, may_stop
                ).write()
            except Refused:
                continue
            for word in re.findall(r"[^\W\d]\w*", source):
                assert word in WORDS or re.fullmatch(r"[sctkfgq]\d+|o_[a-z_]+", word), word
            assert not re.findall(r"[\"']", source.replace('"BusinessFailure"', "").replace('"RequirementFailed"', ""))


def test_every_expression_is_known_to_both_engines() -> None:
    assert set(EXPRESSIONS) == set(RULES) | set(OPERATIONS)


def test_what_is_not_known_is_left_to_the_interpreter() -> None:
    one = callable_([["give", ["int", 1]]])
    for code in ([["set", 0, ["unheard", ["int", 1]]], ["give", ["slot", 0]]], [["unheard", 1], ["give", ["int", 1]]]):
        one["code"] = code
        one["slots"] = [["a", "Int"]]
        found = program({MAIN: one}, sound=False)
        assert Generator(TypeTable({}), {}).region(found.callables[MAIN], 0, True, False) is None


def test_generated_code_has_no_built_ins() -> None:
    found = Generator(TypeTable({}), {}).function(
        program({"function:app/Main": callable_([["give", ["int", 1]]])}).callables["function:app/Main"]
    )
    assert found is not None
    assert found.space["__builtins__"] == {}
    assert not {"eval", "exec", "open", "getattr", "__import__"} & set(found.space)
