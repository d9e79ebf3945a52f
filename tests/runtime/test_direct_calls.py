"""Skills and strategies that generated code calls directly: whatever happens inside is what frames of the machine do."""

from __future__ import annotations

import pytest

from tests.runtime.machine_kit import drive, plain
from tests.runtime.stories import Story, compiled
from touba_cli.air.program import Program
from touba_cli.limits import LIMITS
from touba_cli.runtime import execution
from touba_cli.runtime.execution import GeneratedCode
from touba_cli.runtime.machine import Machine, RunLimits
from touba_cli.runtime.tasks import Frame, Task
from touba_cli.values.check import TypeTable

SOURCE = """module app

tool Ask
    takes n as Int
    gives Int
    effect write

function Half
    takes n as Int
    gives Int
    do
        give n div 2

function Long
    takes n as Int
    gives Int
    do
        var total = 0
        repeat up to 12 times
            set total = total + Half(n)
        give total

skill Leaf
    takes n as Int, word as Text
    gives Int
    do
        let half = Half(n) + Half(n + 1)
        if n mod 7 is 3
            show "{word} {n}"
        require n mod 11 is not 8 else "never {n}"
        if n mod 5 is 4
            let asked = call Ask(n)
            give asked + Long(n)
        give half

skill Careful
    takes n as Int
    gives Int
    do
        attempt
            let found = call Leaf(n: n, word: "careful")
            give found
        on failure as problem
            give length(problem.code)

strategy Middle
    takes n as Int
    gives Int
    do
        var total = 0
        repeat up to 2 times
            let one = call Leaf(n: n, word: "middle")
            let two = call Deep(n mod 4)
            set total = total + one + two + Half(two)
        call Quiet()
        give total

skill Quiet
    do
        let _unused = 1

skill Deep
    takes n as Int
    gives Int
    do
        if n <= 0
            give Long(n)
        let below = call Deep(n - 1)
        if below > 1_000_000
            stop "too much"
        give below + n

strategy Main
    takes n as Int
    gives Int
    do
        var total = 0
        for each i in range(n)
            attempt
                let found = call Middle(i)
                set total = total + found
            on failure as problem
                set total = total + length(problem.message)
            if i mod 3 is 0
                let found = call Careful(i)
                set total = total + found
        give total

strategy Fails
    takes n as Int
    gives Int
    do
        var total = 0
        for each i in range(n)
            let found = call Middle(i)
            set total = total + found
        give total

strategy Stops
    takes n as Int
    gives Int
    do
        let found = call Deep(n)
        let more = call Stopping(found)
        give more

skill Stopping
    takes n as Int
    gives Int
    do
        if n > 0
            stop "at {n}"
        give n
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return compiled(tmp_path_factory, SOURCE)


MAIN, FAILS, STOPS = "strategy:app/Main", "strategy:app/Fails", "strategy:app/Stops"


@pytest.fixture(scope="module")
def reference(program: Program) -> Story:
    return Story(program, "reference")


@pytest.fixture(scope="module")
def generated(program: Program) -> Story:
    return Story(program, "generated")


def test_they_are_called_directly(generated: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    entered: list[str] = []
    call = Machine._call

    def told_call(self: Machine, task: Task, frame: Frame) -> None:
        entered.append(frame.callable.code[frame.pc][3])
        call(self, task, frame)

    monkeypatch.setattr(Machine, "_call", told_call)
    generated.run("strategy:app/Middle", 2)
    assert entered == []
    generated.run(MAIN, 5)
    assert set(entered) == {"tool:app/Ask"}


@pytest.mark.parametrize("entry", [MAIN, FAILS, STOPS])
@pytest.mark.parametrize("functions", [True, False])
def test_slices_end_inside(reference: Story, generated: Story, entry: str, functions: bool) -> None:
    for slice_steps in (1, 2, 7, 20, 60, 333, 20_000):
        expected = reference.run(entry, 9, slice_steps, functions=functions)
        assert generated.run(entry, 9, slice_steps, functions=functions) == expected


def test_budgets_end_inside(reference: Story, generated: Story) -> None:
    steps = reference.run(MAIN, 6)[7]
    for budget in range(1, steps, 5):
        expected = reference.run(MAIN, 6, 40, max_steps=budget)
        assert expected[3][0] == "StepLimitExceeded"
        assert generated.run(MAIN, 6, 40, max_steps=budget) == expected


@pytest.mark.parametrize("entry", [MAIN, FAILS, STOPS])
def test_depth_is_exceeded_inside(reference: Story, generated: Story, entry: str) -> None:
    ends = set()
    for depth in range(1, 12):
        expected = reference.run(entry, 5, max_depth=depth)
        assert generated.run(entry, 5, max_depth=depth) == expected
        ends.add(expected[3] and expected[3][0])
    assert "DepthLimitExceeded" in ends
    assert len(ends) > 1


def test_the_trace_is_full_inside(reference: Story, generated: Story) -> None:
    for room in range(40):
        expected = reference.run(MAIN, 7, 50, room=room, rows=room * 3 // 4)
        assert expected[-2] > 0
        assert expected[-1] > 0
        assert generated.run(MAIN, 7, 50, room=room, rows=room * 3 // 4) == expected


@pytest.mark.parametrize("how", ["cancel", "abort", "deadline"])
@pytest.mark.parametrize("slice_steps", [5, 30, 70, 97])
def test_a_run_is_ended_from_outside_inside(reference: Story, generated: Story, how: str, slice_steps: int) -> None:
    at, depths = 1, set()
    while (expected := reference.cut(MAIN, 5, slice_steps, at, how)) is not None:
        assert generated.cut(MAIN, 5, slice_steps, at, how) == expected
        depths.add(len(expected[0]))
        at += 1
    assert generated.cut(MAIN, 5, slice_steps, at, how) is None
    assert how == "deadline" or max(depths) >= 4


def test_failures_go_through_to_an_attempt_or_the_end(reference: Story, generated: Story) -> None:
    caught, failed = reference.run(MAIN, 20), reference.run(FAILS, 20)
    assert {each[0] for each in caught[4]} >= {"failure_caught", "message_shown", "tool_invoked", "function_started"}
    assert failed[3][3] == ("skill:app/Leaf", failed[3][3][1])
    assert generated.run(MAIN, 20) == caught
    assert generated.run(FAILS, 20) == failed


def test_engines_change_in_the_middle(program: Program, reference: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    mixed = Story(program, "mixed")
    for threshold in (0, 30, 200):
        monkeypatch.setattr(execution, "FIRST_STEPS", threshold)
        monkeypatch.setattr(execution, "STEPS", threshold)
        for slice_steps in (17, 20_000):
            assert mixed.run(MAIN, 12, slice_steps) == reference.run(MAIN, 12, slice_steps)


def test_what_is_not_generated_is_left_to_the_machine(
    program: Program, reference: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("touba_cli.runtime.generate_code.MOST_SLOTS", 0)
    assert Story(program, "generated").run(MAIN, 6, 25) == reference.run(MAIN, 6, 25)
    monkeypatch.undo()
    monkeypatch.setattr("touba_cli.runtime.generate_code.MOST_LINES", 20)
    assert Story(program, "generated").run(MAIN, 6, 25) == reference.run(MAIN, 6, 25)


def test_the_code_of_one_run_serves_another_that_counts_no_functions(program: Program, reference: Story) -> None:
    shared = Story(program, "generated")
    for functions in (True, False, True):
        assert shared.run(MAIN, 6, functions=functions) == reference.run(MAIN, 6, functions=functions)


def test_no_directly_called_skill_is_told_twice(generated: Story) -> None:
    machine = generated.made(FAILS, 2)
    events = [plain(each) for each in machine.advance(20_000, lambda: None).events]
    begun = [each[2] for each in events if each[0] == "call_started"]
    assert len(begun) == len(set(begun)) > 5
    assert sorted(begun) == sorted(each[2] for each in events if each[0] == "call_completed")


def test_the_deepest_recursion_of_skills(reference: Story, generated: Story) -> None:
    limit = LIMITS["max_depth"].highest
    for depth in (100, limit):
        expected = reference.run(STOPS, 2_000, max_depth=depth)
        assert expected[3][0] == "DepthLimitExceeded"
        assert generated.run(STOPS, 2_000, max_depth=depth) == expected
    assert generated.run(STOPS, limit - 4, max_depth=limit) == reference.run(STOPS, limit - 4, max_depth=limit)


SELDOM = """module seldom

skill Often
    takes n as Int
    gives Int
    do
        give n + 1

skill Seldom
    takes n as Int
    gives Int
    do
        give n + 2

strategy Run
    takes n as Int
    gives Int
    do
        var total = 0
        for each i in range(n)
            let more = call Often(i)
            set total = total + more
            if i mod 1_000 is 999
                let rest = call Seldom(i)
                set total = total + rest
        give total
"""


def test_what_is_called_seldom_is_not_generated(tmp_path_factory: pytest.TempPathFactory) -> None:
    found = compiled(tmp_path_factory, SELDOM)
    table = TypeTable(found.types)
    code = GeneratedCode(found.callables, table)
    results = []
    for reference in (False, True):
        machine = Machine(found, table, "strategy:seldom/Run", [5_000], RunLimits(), {}, code, reference=reference)
        ran = drive(machine)
        results.append((ran.result, ran.steps, [plain(each) for each in ran.events]))
    assert results[0] == results[1]
    assert code.directs[("skill:seldom/Often", True)] is not None
    assert ("skill:seldom/Seldom", True) not in code.directs
