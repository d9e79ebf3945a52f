"""Limits of a run: through `touba run` where a process shows them, through both engines where it needs many runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.limits.kit import function, ran, three_cases
from tests.runtime.machine_kit import Ran, callable_, drive, machine, program, tool
from tests.shell_kit import Ended, Project, request
from touba_cli.commands.arguments import from_request, parse
from touba_cli.documents import read_document
from touba_cli.errors import ToubaFailure
from touba_cli.limits import (
    LIMITS,
    MAX_DEPTH,
    MAX_EXTERNAL_CALLS,
    MAX_STEPS,
    MAX_VALUE_BYTES,
    MESSAGES_BYTES,
    PURE_FUNCTION_PAIRS,
    TRACE_EVENTS,
)
from touba_cli.options import MEMBERS
from touba_cli.runtime.machine import Settled
from touba_sdk import ToubaEngine
from touba_sdk.errors import UsageError


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def run(project: Project, text: str, *words: str, **limits: int) -> Ended:
    project.write("app.tb", text)
    given = "{" + ",".join(f'"{name}":{value}' for name, value in limits.items()) + "}"
    return project.touba("run", "app.tb", f"--run-limits={given}", *words, "--json")


def place(done: Ended) -> str:
    """Where the failure of a run stands: `app.tb:7:9`, the end of its message."""
    return str(done.error["message"]).rpartition(" (")[2].rstrip(")")


# --- what may be set --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("member", MEMBERS["run_limits"])
@three_cases("run_limits")
def test_bounds_of_what_a_caller_may_set(project: Project, member: str, by: int) -> None:
    """At both ends, and through every door: command line, request document, its shape, and the engine."""
    row = LIMITS[member]
    for value in (row.highest + by, row.lowest - by):
        limits: Any = {member: value}
        doors: list[Any] = [
            lambda limits=limits: parse("run", [f"--run-limits={{{_json(limits)}}}"], lambda: b"")["run_limits"],
            lambda limits=limits: from_request("run", {"run_limits": limits})["run_limits"],
            lambda limits=limits: read_document("touba-run-request-v1", request({"run_limits": limits}), 1 << 20)[
                "options"
            ]["run_limits"],
        ]
        for door in doors:
            if by <= 0:
                assert door() == limits
                continue
            with pytest.raises(ToubaFailure) as caught:
                door()
            assert caught.value.code == "OptionInvalid"
            assert member in caught.value.message
            assert str(row.lowest) in caught.value.message
        if by > 0:
            with ToubaEngine(project_root=project.folder) as engine, pytest.raises(UsageError) as refused:
                engine.run("app.tb", run_limits=limits)
            assert refused.value.code == "OptionInvalid"
            assert f"run_limits.{member}" in refused.value.message


def _json(limits: dict[str, int]) -> str:
    return ",".join(f'"{name}":{value}' for name, value in limits.items())


def test_a_limit_past_its_bound_is_refused_before_anything_runs(project: Project) -> None:
    done = run(
        project, function('show "a"\ngive 1', takes="", kind="strategy"), max_steps=LIMITS["max_steps"].highest + 1
    )
    assert "`max_steps` of --run-limits takes 1 to 1000000000 steps" in done.refused("OptionInvalid", 2)
    assert done.document["messages"] == []


# --- steps, depth, calls ----------------------------------------------------------------------------------------------

LOOP = function("var a = 0\nrepeat up to n times\n    set a = a + 1\ngive a", kind="strategy")


@three_cases("max_steps")
def test_steps_of_a_run(project: Project, by: int) -> None:
    steps = run(project, LOOP, '--inputs={"n":10}').document["usage"]["steps"]
    done = run(project, LOOP, '--inputs={"n":10}', max_steps=steps - by)
    if by <= 0:
        assert (done.document["result"], done.document["usage"]["steps"]) == (10, steps)
    else:
        assert f"more than {steps - 1} steps" in done.refused("StepLimitExceeded", 5)
        assert done.document["usage"]["steps"] < steps
        assert place(done) == "app.tb:7:9"


DEEP = function(
    "give Down(n - 1)",
    kind="strategy",
    before="function Down\n    takes n as Int\n    gives Int\n    do\n"
    "        if n <= 1\n            give 0\n        give Down(n - 1) + 1\n",
)


@pytest.mark.parametrize("limit", [1, 2, 7, 12, MAX_DEPTH, LIMITS["max_depth"].highest])
@three_cases("max_depth")
def test_calls_inside_each_other(by: int, limit: int) -> None:
    depth = limit + by
    if depth < 2:
        return  # `Main` and one `Down` are the fewest
    found = ran(DEEP, {"n": depth}, max_depth=limit)
    if by <= 0:
        assert found == depth - 2
    else:
        assert found[0] == "DepthLimitExceeded"
        assert f"more than {limit} callables" in found[1]
        names = found[1].partition(": ")[2].split(" > ")
        assert names[:2] == ["strategy:app/Main", "function:app/Down"]
        assert len(names) == min(limit + 1, 11)


@three_cases("max_depth")
def test_the_depth_that_holds_where_none_is_set(project: Project, by: int) -> None:
    done = run(project, DEEP, f'--inputs={{"n":{MAX_DEPTH + by}}}')
    if by <= 0:
        assert done.document["result"] == MAX_DEPTH + by - 2
    else:
        assert f"more than {MAX_DEPTH} callables" in done.refused("DepthLimitExceeded", 5)
        assert place(done) == "app.tb:8:9"


CALLS = (
    "module app\ntool Tool\n    takes value as Int\n    gives Int\nstrategy Main\n    takes value as Int\n    gives Int\n"
    "    do\n        var sum = 0\n        repeat up to value times\n            let one = call Tool(value)\n"
    "            set sum = sum + one\n        give sum\n"
)


@three_cases("max_external_calls")
def test_tool_calls_of_a_run(project: Project, by: int) -> None:
    project.handler("open('calls', 'a').write('x')", answer="ok(1)")
    done = run(project, CALLS, f'--inputs={{"value":{2 + by}}}', "--manifest=manifest.json", max_external_calls=2)
    assert (project.folder / "calls").read_text() == "x" * min(2 + by, 2)
    if by <= 0:
        assert done.document["result"] == 2 + by
    else:
        assert "more than 2 tool calls" in done.refused("ExternalCallLimitExceeded", 5)
        assert place(done) == "app.tb:11:23"
    assert done.document["usage"]["external_calls"] == min(2 + by, 2)


def test_a_run_may_be_allowed_no_tool_call_at_all(project: Project) -> None:
    project.handler("open('calls', 'a').write('x')", answer="ok(1)")
    words = ['--inputs={"value":1}', "--manifest=manifest.json"]
    assert "more than 0 tool calls" in run(project, CALLS, *words, max_external_calls=0).refused(
        "ExternalCallLimitExceeded", 5
    )
    assert not (project.folder / "calls").exists()


def looping(times: int, *instructions: list[Any], slots: list[Any] | None = None) -> dict[str, Any]:
    """A strategy that carries out instructions so often, its last slot counting."""
    more = slots or []
    counter, end = len(more), 3 + len(instructions)
    code = [
        ["set", counter, ["int", times]],
        ["times", counter, end],
        *instructions,
        ["again", 1, 0],
        ["give", ["int", 1]],
    ]
    return callable_(code, slots=[*more, "Int"])


@three_cases("max_external_calls")
def test_the_tool_calls_that_hold_where_none_are_set(by: int) -> None:
    call = ["call", 1, None, "tool:app/T", []]
    found = program({"strategy:app/Main": looping(MAX_EXTERNAL_CALLS + by, call), "tool:app/T": tool()})
    ran_ = drive(machine(found), lambda need: Settled.given(1))
    assert len(ran_.needs) == min(MAX_EXTERNAL_CALLS + by, MAX_EXTERNAL_CALLS)
    assert ran_.result == 1 if by <= 0 else ran_.code == "ExternalCallLimitExceeded"


def test_the_steps_that_hold_where_none_are_set(project: Project) -> None:
    endless = program({"strategy:app/Main": callable_([["set", 0, ["int", 1]], ["again", 0, 0]], slots=["Int"])})
    ran_ = drive(machine(endless))
    assert ran_.code == "StepLimitExceeded"
    assert MAX_STEPS - 4 < ran_.steps <= MAX_STEPS


# --- sizes ------------------------------------------------------------------------------------------------------------


@three_cases("max_value_bytes")
def test_the_size_of_a_value(project: Project, by: int) -> None:
    """A Text of ASCII has the size of its length and 2; built, given by a caller, and given by a handler."""
    join = function('give length(v + "y")', takes="v as Text")
    found = ran(join, {"v": "x" * (1_021 + by)}, max_value_bytes=1_024)
    assert found == 1_022 + by if by <= 0 else found == (
        "ValueTooLarge", "a value of 1025 bytes would be built; 1024 are allowed"
    )  # fmt: skip
    found = ran(function("give length(v)", takes="v as Text"), {"v": "x" * (1_022 + by)}, max_value_bytes=1_024)
    assert found == 1_022 + by if by <= 0 else found == (
        "InputInvalid", "v: the value would have more than the 1024 bytes that are allowed"
    )  # fmt: skip
    project.handler("", answer=f"ok('x' * {1_022 + by})")
    text = CALLS.replace("gives Int\nstrategy", "gives Text\nstrategy").replace("sum + one", "sum + length(one)")
    done = run(project, text, '--inputs={"value":1}', "--manifest=manifest.json", max_value_bytes=1_024)
    if by <= 0:
        assert done.document["result"] == 1_022 + by
    else:
        assert "1024 bytes" in done.refused("ToolResultInvalid", 5)


@three_cases("max_value_bytes")
def test_the_size_that_holds_where_none_is_set(by: int) -> None:
    half = MAX_VALUE_BYTES // 2
    lines = (
        'var word = "0123456789abcdef"\nrepeat up to 20 times\n    set word = word + word\n'
        f"give length(word + slice(word, 0, {half - 2 + by}))"
    )
    found = ran(function(lines, takes=""), max_steps=10**8)
    assert found == MAX_VALUE_BYTES - 2 + by if by <= 0 else found[0] == "ValueTooLarge"


@three_cases("messages_bytes")
def test_the_texts_that_a_run_shows(by: int) -> None:
    ref = "show:app/Main/1"
    size = MESSAGES_BYTES // 4 - 2 - 64 - len(ref)  # of a text that may be shown four times
    shown = "x" * size
    last = "x" * (size + by)
    code = [["show", 1, ref, ["text", shown]]] * 1
    rest = [
        ["show", number, f"show:app/Main/{number}", ["text", shown if number < 4 else last]] for number in (2, 3, 4)
    ]
    found = program({"strategy:app/Main": callable_([*code, *rest, ["give", ["int", 1]]])})
    ran_ = drive(machine(found, max_steps=10**8))
    assert len(ran_.messages) == (4 if by <= 0 else 3)
    assert (
        ran_.result == 1 if by <= 0 else (ran_.code, str(MESSAGES_BYTES) in failure(ran_)) == ("MessagesTooLarge", True)
    )


def failure(ran_: Ran) -> str:
    assert ran_.ended.failure is not None
    return ran_.ended.failure.message


# --- what a trace holds -----------------------------------------------------------------------------------------------

DOUBLE = callable_([["give", ["slot", 0]]], takes=["Int"])


@three_cases("pure_function_pairs")
def test_pairs_of_functions_in_a_trace(by: int) -> None:
    called = ["set", 0, ["apply", "function:app/Same", [["int", 1]]]]
    count = PURE_FUNCTION_PAIRS + by
    found = program({"strategy:app/Main": looping(count, called, slots=["Int"]), "function:app/Same": DOUBLE})
    made = machine(found, max_steps=10**8)
    assert drive(made).kinds.count("function_completed") == min(count, PURE_FUNCTION_PAIRS)
    assert made.functions_left_out == max(by, 0)


@three_cases("trace_events")
def test_events_of_a_trace(by: int) -> None:
    """Each shown text is one event; a call would be two."""
    count = TRACE_EVENTS + by
    found = program({"strategy:app/Main": looping(count, ["show", 1, "show:app/Main/1", ["text", ""]])})
    made = machine(found, max_steps=10**8)
    ran_ = drive(made)
    assert ran_.kinds.count("message_shown") == min(count, TRACE_EVENTS)
    assert made.events_left_out == max(by, 0)
    assert len(ran_.messages) == count
