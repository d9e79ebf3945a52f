"""Attempts, messages, counted functions and look-ups of generated code: they do what the interpreter does."""

from __future__ import annotations

from itertools import product

import pytest

from tests.runtime.stories import Story, agree, compiled
from touba_cli.air.program import Program
from touba_cli.runtime import execution
from touba_cli.runtime.execution import GeneratedCode
from touba_cli.runtime.machine import Machine, RunLimits
from touba_cli.values.check import TypeTable

SMALL = """module small

choice Level is Low, High

choice State
    Done with m as Int
    Waiting

function Looked
    takes n as Int
    gives Int
    do
        let numbers = {"a": 3, "b": n}
        let texts = {"a": "x", "b": "{n}"}
        let lists = [[n], [1, 2]]
        let none_at_all = [x for x in range(n) if x > 3]
        var level = Level.Low
        if n > 2
            set level = High
        var state = State.Waiting
        if level is High
            set state = State.Done(m: n)
        var total = (numbers["b"] otherwise 1) + (numbers["c"] otherwise 7)
        set total = total + length(texts["b"] otherwise "none") + length(first(lists) otherwise [0])
        set total = total + (first(none_at_all) otherwise 9) * (last(none_at_all) otherwise n)
        when state
            is Done with m
                set total = total + m
            is Waiting
                set total = total + 100
        give total

strategy Counts
    takes n as Int
    gives Int
    do
        var total = 0
        repeat up to 3 times while Looked(n) > total and Looked(total) > 0
            set total = total + 1 + (Looked(n) if Looked(n) > 50 or Looked(n) < 0 else Looked(n + 1))
            attempt
                require Half(total) < 60 else "too much: {Half(Half(total))}"
            on failure as problem
                show "{problem.message} {Half(n)}"
        give total

function Half
    takes n as Int
    gives Int
    do
        require n is not 33 else "never {n}"
        give n div 2

strategy Tells
    takes n as Int
    gives Int
    do
        for each i in range(n)
            show "{i}: a text that is long enough to be charged for, which is more than sixteen code points"
            call Tell(i)
        give n

skill Tell
    takes n as Int
    do
        show "{n}"
        let half = Half(n)
        show "a half of it is {half}, which is nothing that anybody would have asked for"
        call Deeper(half)

skill Deeper
    takes n as Int
    do
        if n mod 2 is 1
            show "odd: {n}"

strategy Fails
    takes n as Int
    gives Int
    do
        var total = 0
        for each i in range(n)
            attempt
                require i < 0 else "no"
            on failure as problem
                set total = total + length(problem.message)
        give total
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return compiled(tmp_path_factory, SMALL)


@pytest.mark.parametrize("entry", ["function:small/Looked", "strategy:small/Counts"])
def test_optionals_choices_and_counted_functions(small: Program, entry: str) -> None:
    assert agree(small, entry, range(0, 70, 3)) <= {"", "RequirementFailed"}


def test_messages(small: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    assert agree(small, "strategy:small/Tells", range(0, 70, 23)) == {"", "RequirementFailed"}
    for budget in range(5, 400, 7):
        agree(small, "strategy:small/Tells", range(7, 8), max_steps=budget)
    for room in range(12):
        expected = Story(small, "reference").run("strategy:small/Tells", 7, room=room)
        assert Story(small, "generated").run("strategy:small/Tells", 7, room=room) == expected
    monkeypatch.setattr("touba_cli.runtime.teller.MESSAGES_BYTES", 1_500)
    assert agree(small, "strategy:small/Tells", range(20, 21)) == {"MessagesTooLarge"}


def test_a_statement_that_always_fails_is_generated_too(small: Program) -> None:
    table = TypeTable(small.types)
    code = GeneratedCode(small.callables, table)
    machine = Machine(small, table, "strategy:small/Fails", [1_500], RunLimits(), {}, code)
    while machine.advance(20_000, lambda: None).outcome is None:
        pass
    assert any(piece.ref == "strategy:small/Fails" for piece in code.pieces.values())


ATTEMPTS = """module att

tool Ask
    takes n as Int
    gives Int
    effect write

function Even
    takes n as Int
    gives Int
    do
        require n mod 2 is 0 else "{n} is odd"
        give n div 2

skill Inner
    takes n as Int
    gives Text
    do
        var said = "-"
        for each i in range(n)
            attempt
                attempt
                    if i mod 5 is 4
                        break
                    set said = "{said}{Even(i)}"
                    if i mod 4 is 2
                        continue
                    let asked = call Ask(i)
                    set said = "{said}a{asked}"
                on failure as problem
                    set said = "{said}({problem.code})"
                    if i mod 3 is 0
                        fail "again {i}: {said}"
                    set said = "{said}{Even(i + 1)}"
            on failure as outer
                set said = "{said}[{outer.message} {outer.ref}]"
                if length(said) > 60
                    give said
                require i < 9 else "nobody sees {i}"
        give said

skill Gives
    takes n as Int
    gives Text
    do
        attempt
            let found = call Inner(n)
            give found
        on failure as problem
            call Quiet()
            give "{problem.code} of {problem.ref}: {problem.message}"

skill Quiet
    do
        attempt
            let _unused = Even(3)
        on failure as problem
            let _more = Even(2)

strategy Run
    takes n as Int
    gives Text
    do
        var all = ""
        repeat up to 3 times
            attempt
                let one = call Gives(n)
                let two = call Inner(n + 1)
                set all = "{all}{one}{two}"
            on failure as problem
                set all = "{all}!{problem.message}"
        give all

skill Long
    takes n as Int
    gives Text
    do
        var word = "31 code points, neither less nor more"
        set word = slice(word, 0, 31)
        repeat up to 9 times while length(word) < n
            set word = word + word
        attempt
            fail "{word}"
        on failure as problem
            give problem.code

skill Grows
    takes n as Int
    gives Int
    do
        var total = 9_223_372_036_854_775_000
        var share = 1.7e308f
        repeat up to 3 times
            attempt
                set total = total + n * 100
                set share = share * 10.0f - share * 9.0f
            on failure as problem
                set total = total - length(problem.code)
                attempt
                    set total = total * 2
                on failure as other
                    set total = total - length(other.code)
        require share > 0.0f else "{share}"
        give total

strategy Longer
    takes n as Int
    gives Text
    do
        attempt
            let found = call Long(n)
            give found
        on failure as problem
            give "seen {problem.code}"
"""


@pytest.fixture(scope="module")
def attempts(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return compiled(tmp_path_factory, ATTEMPTS)


def test_attempts_of_callees(attempts: Program) -> None:
    assert agree(attempts, "strategy:att/Run", range(14)) == {""}


def test_attempts_of_callees_end_with_the_run(attempts: Program) -> None:
    reference, generated = Story(attempts, "reference"), Story(attempts, "generated")
    steps = reference.run("strategy:att/Run", 9)[7]
    for budget in range(1, steps, 9):
        assert generated.run("strategy:att/Run", 9, 60, max_steps=budget) == reference.run(
            "strategy:att/Run", 9, 60, max_steps=budget
        )
    for room in range(0, 30, 2):
        assert generated.run("strategy:att/Run", 9, room=room) == reference.run("strategy:att/Run", 9, room=room)
    for depth in range(1, 6):
        expected = reference.run("strategy:att/Run", 9, max_depth=depth)
        assert generated.run("strategy:att/Run", 9, max_depth=depth) == expected
    for at, how in product(range(1, 60, 3), ("cancel", "deadline")):
        expected = reference.cut("strategy:att/Run", 9, 90, at, how)
        assert generated.cut("strategy:att/Run", 9, 90, at, how) == expected


def test_what_fails_changes_nothing(attempts: Program) -> None:
    assert agree(attempts, "skill:att/Grows", range(12)) == {""}


def test_a_problem_that_is_too_large_is_seen_by_no_attempt(attempts: Program) -> None:
    ends = agree(attempts, "strategy:att/Longer", range(10, 990, 70), max_value_bytes=1_024)
    assert ends == {"", "ValueTooLarge"}


def test_attempts_change_engines(attempts: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    reference, mixed = Story(attempts, "reference"), Story(attempts, "mixed")
    for threshold in (0, 30, 200):
        monkeypatch.setattr(execution, "FIRST_STEPS", threshold)
        monkeypatch.setattr(execution, "STEPS", threshold)
        assert mixed.run("strategy:att/Run", 12, 33) == reference.run("strategy:att/Run", 12, 33)
