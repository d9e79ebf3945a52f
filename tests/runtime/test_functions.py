"""`trace_pure_functions`: what a trace tells of the functions that statements call, whichever engine runs them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runtime.machine_kit import Ran, callable_, drive, program, tool
from touba_cli.errors import ToubaFailure
from touba_cli.runtime.budget import allow_recursion
from touba_cli.runtime.events import TraceLog, verify_trace
from touba_cli.runtime.execution import GeneratedCode
from touba_cli.runtime.functions import FunctionTally
from touba_cli.runtime.machine import Machine, Need, RunLimits, Settled
from touba_cli.values.check import TypeTable
from touba_sdk import ToubaEngine
from touba_sdk.testing import assert_trace_events

# The machine raises Python's recursion limit when it is first made, which hypothesis takes amiss inside a test.
allow_recursion()

ENGINES = ["reference", "generated", "mixed"]

DOUBLE = callable_([["give", ["add.int", ["slot", 0], ["slot", 0]]]], takes=["Int"])
FOUR = callable_(
    [["give", ["apply", "function:app/Double", [["apply", "function:app/Double", [["slot", 0]]]]]]], takes=["Int"]
)
INVERSE = callable_([["give", ["div.int", ["int", 100], ["slot", 0]]]], takes=["Int"])
OTHERS = {"function:app/Double": DOUBLE, "function:app/Four": FOUR, "function:app/Inverse": INVERSE}


def double(node: Any) -> list[Any]:
    return ["apply", "function:app/Double", [node]]


def made(
    code: list[Any],
    engine: str,
    others: dict[str, Any] | None = None,
    *,
    slots: tuple[str, ...] = ("Int",) * 4,
    detailed: bool = True,
    entry: str = "strategy:app/Main",
) -> Machine:
    """A machine that the interpreter alone, generated code from the start, or both in turn run."""
    found = program({"strategy:app/Main": callable_(code, slots=list(slots)), **OTHERS, **(others or {})})
    table = TypeTable(found.types)
    generated = GeneratedCode(found.callables, table, at_once=engine == "generated")
    return Machine(
        found, table, entry, [], RunLimits(), {}, generated, reference=engine == "reference", trace_functions=detailed
    )


def told(ran: Ran) -> list[tuple[str, str, int]]:
    """Function, outcome and times of each pair, after checking that they are pairs."""
    begun = [each for each in ran.events if each.kind == "function_started"]
    ended = [each for each in ran.events if each.kind == "function_completed"]
    assert [each.span for each in begun] == [each.span for each in ended]
    assert all(each.data == {} and each.occurrence is None for each in begun)
    log = TraceLog()
    for event in ran.events:
        log.add(event, 0)
    verify_trace(log.document("r", "sha256:" + "0" * 64, "strategy:app/Main", 0, 0))
    return [(each.ref.rpartition("/")[2], each.data["outcome"], each.data["times"]) for each in ended]


@pytest.mark.parametrize("engine", ENGINES)
def test_one_pair_for_each_function_that_a_statement_names(engine: str) -> None:
    code = [
        ["set", 0, ["add.int", double(["int", 1]), ["apply", "function:app/Four", [double(["int", 2])]]]],
        ["set", 1, double(["slot", 0])],
        ["give", ["slot", 1]],
    ]
    ran = drive(made(code, engine))
    assert ran.result == 36
    assert told(ran) == [("Double", "completed", 2), ("Four", "completed", 1), ("Double", "completed", 1)]
    steps = [each.data["steps"] for each in ran.events if each.kind == "function_completed"]
    # `Four` calls `Double` twice: its steps hold theirs.
    assert steps[0] == 2 * steps[2]
    assert steps[1] > 2 * steps[2]
    assert sum(steps) < ran.steps


@pytest.mark.parametrize("engine", ENGINES)
def test_one_pair_for_each_execution_of_the_statement(engine: str) -> None:
    code = [
        ["set", 0, ["int", 3]],
        ["times", 0, 4],
        ["set", 1, double(["slot", 0])],
        ["again", 1, 0],
        ["give", ["int", 0]],
    ]
    assert told(drive(made(code, engine))) == [("Double", "completed", 1)] * 3


@pytest.mark.parametrize("engine", ENGINES)
def test_conditions_arguments_and_reasons_are_statements_too(engine: str) -> None:
    code = [
        ["unless", ["eq", double(["int", 1]), ["int", 2]], 3],
        ["call", 1, 0, "tool:app/Ask", [double(["int", 3])]],
        ["require", ["eq", ["slot", 0], ["int", 6]], ["concat", ["text", "no "], ["text.int", double(["int", 9])]]],
        ["show", 2, "show:app/Main/1", ["text.int", double(["int", 4])]],
        ["give", double(["int", 5])],
    ]
    found = made(code, engine, {"tool:app/Ask": tool(takes=["Int"])})

    def answer(need: Need) -> Settled:
        return Settled.given(need.arguments["a0"])

    ran = drive(found, answer)
    kinds = [each.kind for each in ran.events if each.kind not in ("function_started", "run_started", "run_completed")]
    assert kinds == [
        "function_completed", "function_completed", "tool_invoked", "tool_completed", "function_completed",
        "message_shown", "function_completed",
    ]  # fmt: skip
    assert len(told(ran)) == 4


@pytest.mark.parametrize("engine", ENGINES)
def test_a_call_that_fails_is_told_with_its_code(engine: str) -> None:
    inverse = ["apply", "function:app/Inverse", [["slot", 0]]]
    code = [
        ["attempt", 4, 1],
        ["set", 0, ["int", 0]],
        ["set", 0, ["add.int", double(["int", 1]), inverse]],
        ["leave"],
        ["give", double(["int", 2])],
    ]
    ran = drive(made(code, engine, slots=("Int", "type:touba/Problem")))
    assert told(ran) == [("Double", "completed", 1), ("Inverse", "failed", 1), ("Double", "completed", 1)]
    failed = next(each for each in ran.events if each.data.get("outcome") == "failed")
    assert failed.data["code"] == "DivisionByZero"
    assert [each.kind for each in ran.events][5:7] == ["failure_caught", "function_started"]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_call_that_is_cut_off_is_told_too(engine: str) -> None:
    endless = callable_([["unless", ["bool", True], 2], ["again", 0, 0], ["give", ["int", 1]]])
    code = [["set", 0, double(["int", 1])], ["give", ["apply", "function:app/Endless", []]]]

    class GiveUpError(Exception):
        """The driver's own."""

    def give_up() -> None:
        raise GiveUpError

    def too_late() -> None:
        raise ToubaFailure("DeadlineExceeded", "late")

    found = made(code, engine, {"function:app/Endless": endless})
    with pytest.raises(GiveUpError):
        found.advance(100, give_up)
    ran = Ran()
    ran.take(found.cancel())
    assert told(ran) == [("Double", "completed", 1), ("Endless", "cancelled", 1)]
    ran = Ran()
    ran.take(made(code, engine, {"function:app/Endless": endless}).advance(100, too_late))
    assert told(ran) == [("Double", "completed", 1), ("Endless", "failed", 1)]


@pytest.mark.parametrize("engine", ENGINES)
def test_functions_among_themselves_make_no_events(engine: str) -> None:
    entry = {"function:app/Main": callable_([["give", double(["int", 4])]])}
    ran = drive(made([["give", ["int", 1]]], engine, entry, entry="function:app/Main"))
    assert (ran.result, told(ran)) == (8, [])


@pytest.mark.parametrize("engine", ENGINES)
def test_calls_leaves_them_all_out_and_changes_nothing_else(engine: str) -> None:
    code = [
        ["set", 0, double(["int", 1])],
        ["show", 1, "show:app/Main/1", ["text.int", double(["slot", 0])]],
        ["give", double(["slot", 0])],
    ]
    full, calls = drive(made(code, engine)), drive(made(code, engine, detailed=False))
    assert (full.result, full.steps, full.messages) == (calls.result, calls.steps, calls.messages)
    assert calls.kinds == ["run_started", "message_shown", "run_completed"]
    assert [kind for kind in full.kinds if not kind.startswith("function")] == calls.kinds


@given(st.integers(0, 12), st.integers(1, 40))
def test_slices_and_engines_tell_the_same(times: int, slice_steps: int) -> None:
    code = [
        ["set", 0, ["int", times]],
        ["times", 0, 4],
        ["set", 1, ["add.int", double(["slot", 0]), ["apply", "function:app/Four", [["slot", 0]]]]],
        ["again", 1, 0],
        ["give", double(["int", 1])],
    ]
    stories = [
        drive(made(code, engine), slice_steps=size).story() for engine in ENGINES for size in (slice_steps, 20_000)
    ]
    assert all(story == stories[0] for story in stories)


def test_there_is_an_end_to_what_a_trace_holds() -> None:
    tally = FunctionTally(most=3)
    for _ in range(5):
        tally.begin_statement()
        for ref in ("function:app/A", "function:app/B"):
            tally.begin_call(ref)
            tally.end_call(ref, 2)
    assert [row.ref[-1] for row in tally.take()] == ["A", "B", "A"]
    assert tally.left_out == 7
    assert tally.take() == []


# Through the engine

PROGRAM = """\
module app

function Double
    takes n as Int
    gives Int
    do
        give n + n

strategy Run
    takes times as Int
    gives Int
    do
        var sum = 0
        for each n in range(0, times)
            set sum = sum + Double(n)
        give sum
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("functions")
    (folder / "app.tb").write_text(PROGRAM, "utf-8")
    return folder


def test_the_option_is_the_runs(project: Path) -> None:
    with ToubaEngine(project_root=project) as engine:
        full = engine.run("app.tb", inputs={"times": 3})
        assert_trace_events(full.trace, kind="function_completed", count=3)
        same = engine.run("app.tb", inputs={"times": 3}, trace_pure_functions="full")
        calls = engine.run("app.tb", inputs={"times": 3}, trace_pure_functions="calls", trace_out="trace.json")
    assert full.trace is not None
    assert same.trace is not None
    assert calls.trace is not None
    assert same.trace["chains"] == full.trace["chains"]
    assert [event["kind"] for event in calls.trace["events"]] == ["run_started", "run_completed"]
    assert json.loads((project / "trace.json").read_text("utf-8"))["chains"] == calls.trace["chains"]
    assert (full.result, full.usage) == (calls.result, calls.usage)


def test_a_loop_does_not_fill_the_trace_without_end(project: Path) -> None:
    with ToubaEngine(project_root=project) as engine:
        run = engine.run("app.tb", inputs={"times": 10_005})
    assert_trace_events(run.trace, kind="function_completed", count=10_000)
    assert [(each.code, "does not tell of 5 more" in each.message) for each in run.warnings] == [
        ("TraceShortened", True)
    ]
