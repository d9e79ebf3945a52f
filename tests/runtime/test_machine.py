"""Tasks, calls, failures, budgets and ends: the machine seen from its driver."""

from __future__ import annotations

from typing import Any

import pytest

from tests.runtime.machine_kit import (
    Ran,
    callable_,
    drive,
    machine,
    meter,
    no_pulse,
    plain,
    program,
    tool,
)
from touba_cli.air.program import Program
from touba_cli.errors import ToubaFailure
from touba_cli.runtime.events import TraceLog, verify_trace
from touba_cli.runtime.machine import Machine, Need, Settled
from touba_cli.values.model import make_list

MAIN = "strategy:app/Main"


def one(code: list[Any], **more: Any) -> Program:
    """A program whose entry has this code; `others` are its other callables."""
    others = more.pop("others", {})
    return program({MAIN: callable_(code, **more), **others})


def verified(ran: Ran) -> None:
    log = TraceLog()
    for event in ran.events:
        log.add(event, 0)
    verify_trace(log.document("r", "sha256:0", MAIN, 0, 0))


# Calls


def test_a_tool_call_parks_until_it_is_settled() -> None:
    found = one(
        [["call", 1, 1, "tool:app/Find", [["slot", 0], ["text", "x"]]], ["give", ["slot", 1]]],
        takes=["Int"],
        slots=["Int"],
        others={"tool:app/Find": tool("read", takes=["Int", "Text"], requires=["network"], timeout_ms=500)},
    )
    made = machine(found, MAIN, [4], {"tool:app/Find": frozenset({"network", "process"})})
    first = made.advance(1_000, no_pulse)
    (need,) = first.needs
    assert (need.occurrence, need.ref, need.arguments) == ("1", "tool:app/Find", {"a0": 4, "a1": "x"})
    assert (need.effect, need.timeout_ms, need.call_id) == ("read", 500, "0.2")
    assert first.outcome is None
    again = made.advance(1_000, no_pulse)
    assert (again.needs, again.events, again.outcome) == ([], [], None)
    made.settle("1", Settled.given(41))
    last = made.advance(1_000, no_pulse)
    assert last.outcome is not None
    assert (last.outcome.kind, last.outcome.result) == ("finished", 41)
    assert [plain(each) for each in first.events + last.events] == [
        ("run_started", MAIN, "0.1", None, None, {}, "0"),
        ("tool_invoked", "tool:app/Find", "0.2", "0.1", "1", {"effect": "read", "grants": ["network"]}, "0"),
        ("tool_completed", "tool:app/Find", "0.2", "0.1", "1", {"outcome": "committed"}, "0"),
        ("run_completed", MAIN, "0.1", None, None, {"steps": made.usage.steps, "external_calls": 1}, "0"),
    ]
    after = made.advance(1_000, no_pulse)
    assert after.outcome is last.outcome
    assert after.events == []


def test_settling_what_is_not_waited_for_is_an_error_of_the_driver() -> None:
    found = one(
        [["call", 1, None, "tool:app/T", []], ["give", ["int", 1]]],
        others={"tool:app/T": tool()},
    )
    made = machine(found)
    with pytest.raises(ValueError, match="`1`"):
        made.settle("1", Settled.given(1))
    made.advance(100, no_pulse)
    with pytest.raises(ValueError, match="`2`"):
        made.settle("2", Settled.given(1))
    made.settle("1", Settled.given(1))
    with pytest.raises(ValueError, match="`1`"):
        made.settle("1", Settled.given(1))
    assert made.advance(100, no_pulse).outcome is not None
    with pytest.raises(ValueError, match="`1`"):
        made.settle("1", Settled.given(1))


def nested() -> Program:
    """An entry that calls a skill twice, in a loop, which shows a message and calls a tool."""
    return one(
        [
            ["set", 0, ["int", 2]],
            ["set", 1, ["int", -1]],
            ["times", 0, 5],
            ["call", 1, 1, "skill:app/Inner", [["slot", 0]]],
            ["again", 2, 0],
            ["give", ["slot", 1]],
        ],
        slots=["Int", "Int"],
        others={
            "skill:app/Inner": callable_(
                [
                    ["show", 1, "show:app/Inner/1", ["concat", ["text", "n="], ["text.int", ["slot", 0]]]],
                    ["call", 2, 1, "tool:app/T", [["slot", 0]]],
                    ["give", ["add.int", ["slot", 1], ["slot", 0]]],
                ],
                takes=["Int"],
                slots=["Int"],
            ),
            "tool:app/T": tool("write", takes=["Int"]),
        },
    )


def tenfold(need: Need) -> Settled:
    return Settled.given(need.arguments["a0"] * 10)


def test_calls_nest_with_occurrences_and_spans() -> None:
    ran = drive(machine(nested()), tenfold)
    assert ran.result == 0
    assert ran.messages == [("show:app/Inner/1", "n=1"), ("show:app/Inner/1", "n=0")]
    assert [(each.kind, each.span, each.parent, each.occurrence) for each in ran.events] == [
        ("run_started", "0.1", None, None),
        ("call_started", "0.2", "0.1", "1"),
        ("message_shown", "0.3", "0.2", "1/1"),
        ("tool_invoked", "0.4", "0.2", "1/2"),
        ("tool_completed", "0.4", "0.2", "1/2"),
        ("call_completed", "0.2", "0.1", "1"),
        ("call_started", "0.5", "0.1", "1#2"),
        ("message_shown", "0.6", "0.5", "1#2/1"),
        ("tool_invoked", "0.7", "0.5", "1#2/2"),
        ("tool_completed", "0.7", "0.5", "1#2/2"),
        ("call_completed", "0.5", "0.1", "1#2"),
        ("run_completed", "0.1", None, None),
    ]
    assert all(each.data == {"outcome": "completed"} for each in ran.events if each.kind == "call_completed")
    verified(ran)


def test_events_hold_no_values() -> None:
    found = one(
        [
            ["show", 1, "show:app/Main/1", ["text", "marker-1"]],
            ["call", 2, None, "tool:app/T", [["text", "marker-2"]]],
            ["fail", ["concat", ["text", "because "], ["slot", 0]]],
        ],
        takes=["Text"],
        others={"tool:app/T": tool(gives="Text", takes=["Text"])},
    )
    ran = drive(machine(found, MAIN, ["marker-3"]), lambda need: Settled.given("marker-4"))
    assert ran.code == "BusinessFailure"
    assert "marker" not in repr([plain(each) for each in ran.events])
    assert "marker" not in str(ran.ended.failure)
    assert ran.ended.explanation == {"ref": MAIN, "text": "because marker-3"}


@pytest.mark.parametrize("kind", ["function", "skill", "strategy"])
def test_any_callable_with_code_can_be_the_entry(kind: str) -> None:
    ref = f"{kind}:app/Main"
    found = program({ref: callable_([["give", ["int", 3]]])})
    ran = drive(machine(found, ref))
    assert ran.result == 3
    assert ran.kinds == ["run_started", "run_completed"]
    assert ran.events[0].ref == ref


def test_arguments_are_evaluated_from_left_to_right_and_cost_nothing_where_one_fails() -> None:
    division = ["div.int", ["int", 1], ["int", 0]]
    found = one(
        [["call", 1, None, "tool:app/T", [division, ["int", 1]]], ["give", ["int", 1]]],
        others={"tool:app/T": tool(takes=["Int", "Int"])},
    )
    made = machine(found)
    ran = drive(made)
    assert ran.code == "DivisionByZero"
    assert ran.kinds == ["run_started", "run_failed"]
    assert made.usage.external_calls == 0


# Refused calls


def test_a_missing_grant_is_refused_at_the_call() -> None:
    found = one(
        [["call", 1, None, "tool:app/T", []], ["give", ["int", 1]]],
        others={"tool:app/T": tool(requires=["network", "process"])},
    )
    ran = drive(machine(found, granted={"tool:app/T": frozenset({"process"})}))
    failure = ran.ended.failure
    assert failure is not None
    assert (failure.code, failure.ref, failure.place) == ("GrantMissing", "tool:app/T", (MAIN, 0))
    assert "network" in failure.message
    assert "process" not in failure.message
    assert ran.needs == []


def test_external_calls_are_limited() -> None:
    found = one(
        [
            ["set", 0, ["int", 5]],
            ["times", 0, 4],
            ["call", 1, None, "tool:app/T", []],
            ["again", 1, 0],
            ["give", ["int", 1]],
        ],
        slots=["Int"],
        others={"tool:app/T": tool()},
    )
    made = machine(found, max_external_calls=3)
    ran = drive(made, lambda need: Settled.given(0))
    assert ran.code == "ExternalCallLimitExceeded"
    assert [need.occurrence for need in ran.needs] == ["1", "1#2", "1#3"]
    assert made.usage.external_calls == 3
    assert drive(machine(found, max_external_calls=5), lambda need: Settled.given(0)).result == 1


def test_depth_counts_skills_and_functions_together() -> None:
    recursive = callable_([["call", 1, 0, "skill:app/S", []], ["give", ["slot", 0]]], slots=["Int"])
    found = one(
        [["call", 1, 0, "skill:app/S", []], ["give", ["slot", 0]]], slots=["Int"], others={"skill:app/S": recursive}
    )
    ran = drive(machine(found, max_depth=1_000))
    failure = ran.ended.failure
    assert failure is not None
    assert failure.code == "DepthLimitExceeded"
    assert failure.message.endswith(
        "strategy:app/Main > " + "skill:app/S > " * 4 + "… > " + " > ".join(["skill:app/S"] * 5)
    )
    assert ran.kinds.count("call_started") == ran.kinds.count("call_completed") == 999
    verified(ran)
    helper = callable_([["give", ["apply", "function:app/G", []]]])
    mixed = one(
        [["call", 1, 0, "skill:app/S", []], ["give", ["slot", 0]]],
        slots=["Int"],
        others={
            "skill:app/S": callable_([["give", ["apply", "function:app/F", []]]]),
            "function:app/F": helper,
            "function:app/G": callable_([["give", ["int", 1]]]),
        },
    )
    assert drive(machine(mixed, max_depth=4)).result == 1
    assert drive(machine(mixed, max_depth=3)).code == "DepthLimitExceeded"


# What became of a tool call


def attempted(effect: str) -> Program:
    """Gives code, message and reference of the problem that the call of a tool met."""

    def part(name: str) -> list[Any]:
        return ["field", ["slot", 0], name]

    return one(
        [
            ["attempt", 4, 0],
            ["call", 1, None, "tool:app/T", []],
            ["leave"],
            ["give", ["text", "fine"]],
            ["give", ["concat", part("code"), ["text", "|"], part("message"), ["text", "|"], part("ref")]],
        ],
        gives="Text",
        slots=["type:touba/Problem"],
        others={"tool:app/T": tool(effect)},
    )  # fmt: skip


@pytest.mark.parametrize("effect", ["none", "read", "write"])
@pytest.mark.parametrize(
    ("settled", "outcome"),
    [
        (Settled.failed("CardDeclined", "no"), "failed"),
        (Settled.failed("CardDeclined", "no", effect="done"), "committed"),
        (Settled.failed("CardDeclined", "no", effect="unknown"), "unknown"),
        (Settled.failed("ToolTimeout", "late", effect="unknown"), "unknown"),
        (Settled.given("no number"), "unknown"),
        (Settled.given(3), "committed"),
    ],
)
def test_outcomes_of_a_tool_call(effect: str, settled: Settled, outcome: str) -> None:
    if effect != "write":
        outcome = "committed" if settled.code is None and settled.value == 3 else "failed"
    ran = drive(machine(attempted(effect)), lambda need: settled)
    (completed,) = [each for each in ran.events if each.kind == "tool_completed"]
    assert completed.data["outcome"] == outcome
    code = settled.code or ("ToolResultInvalid" if settled.value != 3 else None)
    assert completed.data.get("code") == code
    if outcome == "unknown":
        failure = ran.ended.failure
        assert failure is not None
        assert (failure.code, failure.effect, failure.ref) == (code, "unknown", "tool:app/T")
        assert failure.place == (MAIN, 1)
        assert "failure_caught" not in ran.kinds
    elif code is None:
        assert ran.result == "fine"
    else:
        assert ran.result.split("|")[::2] == [code, "tool:app/T"]
        assert ran.kinds[-2:] == ["failure_caught", "run_completed"]
        caught = ran.events[-2]
        assert (caught.ref, caught.data) == ("tool:app/T", {"code": code})
    verified(ran)


def test_an_uncaught_failure_of_a_tool_says_what_became_of_the_effect() -> None:
    found = one([["call", 1, None, "tool:app/T", []], ["give", ["int", 1]]], others={"tool:app/T": tool("write")})
    for effect in ("none", "done", "unknown"):
        ran = drive(machine(found), lambda need, effect=effect: Settled.failed("Refused", "no", effect=effect))  # type: ignore[misc]
        failure = ran.ended.failure
        assert failure is not None
        assert (failure.code, failure.effect, failure.phase) == ("Refused", effect, "runtime")


def test_only_catchable_codes_are_caught_and_a_handlers_own_always() -> None:
    found = attempted("read")
    assert drive(machine(found), lambda need: Settled.failed("HandlerNotStarted", "no")).code == "HandlerNotStarted"
    assert drive(machine(found), lambda need: Settled.failed("StepLimitExceeded", "no")).code == "StepLimitExceeded"
    own = drive(machine(found), lambda need: Settled.failed("StepLimitExceeded", "no", own=True))
    assert own.result == "StepLimitExceeded|no|tool:app/T"


def test_a_handlers_own_code_never_changes_the_phase() -> None:
    found = one([["call", 1, None, "tool:app/T", []], ["give", ["int", 1]]], others={"tool:app/T": tool()})
    ran = drive(machine(found), lambda need: Settled.failed("UsageError", "no", own=True))
    failure = ran.ended.failure
    assert failure is not None
    assert (failure.phase, failure.hint) == ("runtime", None)


def test_a_result_is_read_like_any_value_at_the_edge() -> None:
    found = one(
        [["call", 1, 0, "tool:app/T", []], ["give", ["otherwise", ["slot", 0], ["int", -1]]]],
        slots=[["Optional", "Int"]],
        others={"tool:app/T": tool(gives=["Optional", "Int"])},
    )
    assert drive(machine(found), lambda need: Settled.given(None)).result == -1
    assert drive(machine(found), lambda need: Settled.given(6)).result == 6
    wrong = drive(machine(found), lambda need: Settled.given("secret-value"))
    assert wrong.code == "ToolResultInvalid"
    assert str(wrong.ended.failure).startswith("$")
    assert "secret-value" not in str(wrong.ended.failure)
    constrained = one(
        [["call", 1, 0, "tool:app/T", []], ["give", ["slot", 0]]],
        slots=["Int"],
        others={"tool:app/T": tool("write", gives="type:app/Small")},
    )
    over = drive(machine(constrained), lambda need: Settled.given(10))
    assert over.code == "ToolResultInvalid"
    assert over.ended.failure is not None
    assert over.ended.failure.effect == "unknown"


# attempt


def problem_text() -> Any:
    return ["concat", ["field", ["slot", 0], "code"], ["text", ": "], ["field", ["slot", 0], "message"]]


@pytest.mark.parametrize(
    ("instruction", "text"),
    [
        (["fail", ["concat", ["text", "no "], ["text.int", ["int", 5]]]], "BusinessFailure: no 5"),
        (["require", ["bool", False], ["text", "must"]], "RequirementFailed: must"),
        (["set", 1, ["div.int", ["int", 1], ["int", 0]]], "DivisionByZero: "),
        (["set", 1, ["index.list", ["list", "Int", []], ["int", 0]]], "IndexOutOfRange: "),
        (["set", 1, ["constrain", "type:app/Small", "x", ["int", 10]]], "ConstraintViolated: "),
        (["set", 1, ["add.int", ["int", str(2**63 - 1)], ["int", 1]]], "IntegerOverflow: "),
    ],
)
def test_attempt_catches_the_failures_of_a_program(instruction: Any, text: str) -> None:
    body = [["attempt", 3, 0], instruction, ["jump", 4], ["give", problem_text()], ["leave"], ["give", ["text", "-"]]]
    if instruction[0] == "fail":
        body = [["attempt", 2, 0], instruction, ["give", problem_text()]]
    ran = drive(machine(one(body, gives="Text", slots=["type:touba/Problem", "Int"])))
    assert ran.result.startswith(text)
    assert ran.kinds == ["run_started", "failure_caught", "run_completed"]


def test_attempt_sees_no_limits_and_no_stop() -> None:
    endless = [
        ["attempt", 5, 0],
        ["unless", ["bool", True], 3],
        ["again", 1, 0],
        ["leave"],
        ["give", ["int", 1]],
        ["give", ["int", 2]],
    ]
    found = one(endless, slots=["type:touba/Problem"])
    assert drive(machine(found, max_steps=500)).code == "StepLimitExceeded"
    stopped = drive(
        machine(
            one([["attempt", 2, 0], ["stop", ["text", "enough"]], ["give", ["int", 2]]], slots=["type:touba/Problem"])
        )
    )
    assert (stopped.ended.kind, stopped.ended.explanation) == ("stopped", {"ref": MAIN, "text": "enough"})
    assert stopped.kinds == ["run_started", "run_stopped"]
    large = [
        ["attempt", 3, 0],
        ["set", 1, ["range.to", ["int", 100_000]]],
        ["give", ["int", 1]],
        ["give", ["int", 2]],
    ]
    ran = drive(machine(one(large, slots=["type:touba/Problem", ["List", "Int"]]), max_value_bytes=1_024))
    assert ran.code == "ValueTooLarge"


def test_a_failure_unwinds_through_called_strategies() -> None:
    """Main attempts; Outer calls Inner without an attempt that is open; a function inside Inner fails."""
    found = one(
        [
            ["attempt", 4, 0],
            ["call", 1, 1, "strategy:app/Outer", [["int", 0]]],
            ["leave"],
            ["give", ["text", "fine"]],
            ["call", 2, 1, "strategy:app/Outer", [["int", 1]]],
            ["give", ["concat", ["field", ["slot", 0], "ref"], ["text.int", ["slot", 1]]]],
        ],
        gives="Text",
        slots=["type:touba/Problem", "Int"],
        others={
            "strategy:app/Outer": callable_(
                [
                    ["attempt", 4, 1],
                    ["leave"],
                    ["call", 1, 2, "skill:app/Inner", [["slot", 0]]],
                    ["give", ["slot", 2]],
                    ["give", ["int", -1]],
                ],
                takes=["Int"],
                slots=["type:touba/Problem", "Int"],
            ),
            "skill:app/Inner": callable_([["give", ["apply", "function:app/F", [["slot", 0]]]]], takes=["Int"]),
            "function:app/F": callable_([["give", ["div.int", ["int", 6], ["slot", 0]]]], takes=["Int"]),
        },
    )
    ran = drive(machine(found))
    assert ran.result == "function:app/F6"
    assert [(each.kind, each.occurrence) for each in ran.events] == [
        ("run_started", None),
        ("call_started", "1"),
        ("call_started", "1/1"),
        ("function_started", None),
        ("function_completed", None),
        ("call_completed", "1/1"),
        ("call_completed", "1"),
        ("failure_caught", None),
        ("call_started", "2"),
        ("call_started", "2/1"),
        ("function_started", None),
        ("function_completed", None),
        ("call_completed", "2/1"),
        ("call_completed", "2"),
        ("run_completed", None),
    ]
    assert ran.events[5].data == ran.events[6].data == {"outcome": "failed", "code": "DivisionByZero"}
    verified(ran)


def test_depth_is_right_again_after_a_failure_deep_inside_functions() -> None:
    failing = callable_([["give", ["apply", "function:app/G", []]]])
    found = one(
        [
            ["set", 1, ["int", 50]],
            ["times", 1, 8],
            ["attempt", 6, 0],
            ["set", 2, ["apply", "function:app/F", []]],
            ["leave"],
            ["jump", 7],
            ["jump", 7],
            ["again", 1, 0],
            ["give", ["slot", 1]],
        ],
        slots=["type:touba/Problem", "Int", "Int"],
        others={
            "function:app/F": failing,
            "function:app/G": callable_([["give", ["div.int", ["int", 1], ["int", 0]]]]),
        },
    )
    ran = drive(machine(found, max_depth=3))
    assert ran.result == 0
    assert ran.kinds.count("failure_caught") == 50


def test_the_innermost_attempt_catches_and_is_then_over() -> None:
    found = one(
        [
            ["attempt", 6, 0],
            ["attempt", 3, 0],
            ["fail", ["text", "first"]],
            ["require", ["bool", False], problem_text()],
            ["leave"],
            ["give", ["text", "not reached"]],
            ["give", problem_text()],
        ],
        gives="Text",
        slots=["type:touba/Problem"],
    )
    ran = drive(machine(found))
    assert ran.result == "RequirementFailed: BusinessFailure: first"
    assert ran.kinds.count("failure_caught") == 2


def test_a_failure_in_a_handler_without_outer_attempt_fails_the_run() -> None:
    found = one(
        [["attempt", 2, 0], ["fail", ["text", "first"]], ["fail", ["text", "second"]]], slots=["type:touba/Problem"]
    )
    ran = drive(machine(found))
    assert ran.ended.explanation == {"ref": MAIN, "text": "second"}
    failure = ran.ended.failure
    assert failure is not None
    assert failure.place == (MAIN, 2)


def test_attempts_in_loops_with_break_and_continue() -> None:
    """for each x in xs: attempt (x is 0: continue; x is 9: break; total += 12 div (x - 5)) on failure: caught += 1."""
    item, total, caught = ["slot", 2], ["slot", 3], ["slot", 4]
    found = one(
        [
            ["set", 1, ["int", 0]],
            ["set", 3, ["int", 0]],
            ["set", 4, ["int", 0]],
            ["each", 0, 1, 2, 16],
            ["attempt", 14, 5],
            ["unless", ["eq", item, ["int", 0]], 8],
            ["leave"],
            ["jump", 15],  # continue
            ["unless", ["eq", item, ["int", 9]], 11],
            ["leave"],
            ["jump", 16],  # break
            ["set", 3, ["add.int", total, ["div.int", ["int", 12], ["sub.int", item, ["int", 5]]]]],
            ["leave"],
            ["jump", 15],
            ["set", 4, ["add.int", caught, ["int", 1]]],
            ["again", 3, 0],
            ["require", ["bool", True], ["text", "-"]],
            ["give", ["list", "Int", [total, caught]]],
        ],
        gives=["List", "Int"],
        takes=[["List", "Int"]],
        slots=["Int", "Int", "Int", "Int", "type:touba/Problem"],
    )
    items = make_list(meter(), (6, 0, 5, 5, 0, 7, 9, 5))
    ran = drive(machine(found, MAIN, [items]))
    assert ran.result == [18, 2]


def test_a_problem_too_large_for_a_value_ends_the_run() -> None:
    found = attempted("read")
    ran = drive(machine(found, max_value_bytes=1_024), lambda need: Settled.failed("Own", "x" * 2_000))
    assert ran.code == "ValueTooLarge"


# stop


def test_stop_in_a_called_skill_ends_the_run() -> None:
    found = one(
        [["call", 1, 0, "skill:app/S", []], ["give", ["slot", 0]]],
        slots=["Int"],
        others={"skill:app/S": callable_([["stop", ["text", "enough"]]])},
    )
    ran = drive(machine(found))
    assert (ran.ended.kind, ran.ended.explanation) == ("stopped", {"ref": "skill:app/S", "text": "enough"})
    assert ran.kinds == ["run_started", "call_started", "call_completed", "run_stopped"]
    assert ran.events[2].data == {"outcome": "stopped"}


# Budgets and slices


def busy() -> Program:
    """Loops, functions, collects, calls, messages, a caught and a final failure or result."""
    return one(
        [
            ["set", 1, ["int", 3]],
            ["set", 2, ["int", 0]],
            ["times", 1, 13],
            ["attempt", 10, 0],
            ["call", 1, 2, "skill:app/Work", [["slot", 1]]],
            ["show", 2, "show:app/Main/1", ["text.int", ["slot", 2]]],
            ["require", ["ne", ["slot", 1], ["int", 1]], ["text", "not one"]],
            ["call", 3, 2, "tool:app/T", [["slot", 2]]],
            ["leave"],
            ["jump", 12],
            ["show", 4, "show:app/Main/2", ["field", ["slot", 0], "code"]],
            ["jump", 12],
            ["again", 2, 0],
            ["give", ["slot", 2]],
        ],
        slots=["type:touba/Problem", "Int", "Int"],
        others={
            "skill:app/Work": callable_(
                [
                    ["set", 1, ["collect", 2, ["range.to", ["int", 4]], None, ["mul.int", ["slot", 2], ["slot", 0]]]],
                    ["give", ["apply", "function:app/Sum", [["slot", 1]]]],
                ],
                takes=["Int"],
                slots=[["List", "Int"], "Int"],
            ),
            "function:app/Sum": callable_(
                [
                    ["set", 1, ["int", 0]],
                    ["set", 3, ["int", 0]],
                    ["each", 0, 1, 2, 5],
                    ["set", 3, ["add.int", ["slot", 3], ["slot", 2]]],
                    ["again", 2, 0],
                    ["give", ["slot", 3]],
                ],
                takes=[["List", "Int"]],
                slots=["Int", "Int", "Int"],
            ),
            "tool:app/T": tool("write", takes=["Int"]),
        },
    )


def test_slices_change_nothing() -> None:
    found = busy()
    whole = drive(machine(found), tenfold)
    assert whole.messages[-1][0] == "show:app/Main/1"
    assert whole.kinds.count("failure_caught") == 1
    for size in (1, 2, 7, 50, 20_000):
        ran = drive(machine(found), tenfold, size)
        assert ran.story() == whole.story()
        assert (ran.pulses > 0) == (size <= 50)


def test_a_budget_ends_a_run_exactly_where_its_total_would_pass_it() -> None:
    found = busy()
    whole = drive(machine(found), tenfold)
    reached = set()
    for limit in range(1, whole.steps + 1):
        ran = drive(machine(found, max_steps=limit), tenfold, 7)
        if limit == whole.steps:
            assert ran.story() == whole.story()
            continue
        assert ran.code == "StepLimitExceeded"
        assert ran.steps <= limit
        reached.add(ran.steps)
        told = [plain(each) for each in ran.events if each.data.get("code") != "StepLimitExceeded"]
        told = [each for each in told if each[0] != "run_failed"]
        assert told == [plain(each) for each in whole.events][: len(told)]
        assert whole.messages[: len(ran.messages)] == ran.messages
        assert ran.story() == drive(machine(found, max_steps=limit), tenfold).story()
        verified(ran)
    assert len(reached) > 10


def test_a_long_pure_function_pulses_and_a_pulse_can_end_the_run() -> None:
    endless = callable_([["unless", ["bool", True], 2], ["again", 0, 0], ["give", ["int", 1]]])
    found = one([["give", ["apply", "function:app/F", []]]], others={"function:app/F": endless})
    seen = 0

    def late() -> None:
        nonlocal seen
        seen += 1
        if seen == 5:
            raise ToubaFailure("DeadlineExceeded", "late")

    progress = machine(found).advance(100, late)
    assert progress.outcome is not None
    failure = progress.outcome.failure
    assert failure is not None
    assert (failure.code, failure.place) == ("DeadlineExceeded", ("function:app/F", 1))
    told = ["run_started", "function_started", "function_completed", "run_failed"]
    assert [each.kind for each in progress.events] == told
    assert progress.events[2].data["code"] == "DeadlineExceeded"

    class StopError(Exception):
        """The driver's own."""

    def cancel() -> None:
        raise StopError

    made = machine(found)
    with pytest.raises(StopError):
        made.advance(100, cancel)
    ended = made.cancel()
    assert ended.outcome is not None
    assert ended.outcome.kind == "cancelled"
    assert [each.kind for each in ended.events] == [*told[:3], "run_cancelled"]
    assert ended.events[2].data["outcome"] == "cancelled"


def test_a_slice_of_straight_code_returns_at_back_edges() -> None:
    counting = one([["set", 0, ["int", 1_000]], ["times", 0, 3], ["again", 1, 0], ["give", ["slot", 0]]], slots=["Int"])
    made = machine(counting)
    rounds = 0
    while made.advance(100, no_pulse).outcome is None:
        rounds += 1
        assert made.usage.steps <= 102 * (rounds + 1)
    assert rounds >= 15
    assert made.usage.steps == 4 + 1_000 * 2


# Ends from outside


def points(found: Program) -> list[Machine]:
    """A machine at every point between two calls of its driver, in slices of one step."""
    made = []
    total = 0
    while True:
        current = machine(found)
        outcome = None
        for _ in range(total):
            progress = current.advance(1, no_pulse)
            outcome = progress.outcome
            for need in progress.needs:
                current.settle(need.occurrence, tenfold(need))
        made.append(current)
        if outcome is not None:
            return made
        total += 1


def test_a_run_can_be_cancelled_at_every_point() -> None:
    found = busy()
    everything = drive(machine(found), tenfold, 1)
    kinds = set()
    count = len(points(found))
    for total in range(count):
        current = machine(found)
        ran = Ran()
        for step in range(total):
            progress = current.advance(1, no_pulse)
            ran.take(progress)
            for need in progress.needs:
                if step < total - 1:
                    current.settle(need.occurrence, tenfold(need))
        last = current.cancel()
        ran.take(last)
        ran.steps = current.usage.steps
        kinds.add(ran.ended.kind)
        if ran.ended.kind == "finished":
            assert last.events == []
            assert ran.story() == everything.story()
        else:
            assert ran.kinds[-1] == "run_cancelled"
            for each in last.events:
                if each.kind == "tool_completed":
                    assert each.data == {"outcome": "unknown"}
                if each.kind == "call_completed":
                    assert each.data == {"outcome": "cancelled"}
        verified(ran)
        after = current.advance(100, no_pulse)
        assert (after.events, after.needs) == ([], [])
        assert after.outcome is ran.outcome
    assert kinds == {"finished", "cancelled"}
    assert count > 10


def test_a_call_that_was_settled_before_the_end_is_told_as_it_went() -> None:
    found = one([["call", 1, None, "tool:app/T", []], ["give", ["int", 1]]], others={"tool:app/T": tool("write")})
    for settled, data in (
        (Settled.given(1), {"outcome": "committed"}),
        (Settled.failed("ToolExited", "killed", effect="unknown"), {"outcome": "unknown", "code": "ToolExited"}),
        (Settled.failed("HandlerNotStarted", "gone"), {"outcome": "failed", "code": "HandlerNotStarted"}),
    ):
        made = machine(found)
        made.advance(100, no_pulse)
        made.settle("1", settled)
        progress = made.cancel()
        assert [each.data for each in progress.events if each.kind == "tool_completed"] == [data]
        assert progress.outcome is not None
        assert progress.outcome.kind == "cancelled"


def test_abort_fails_the_run_from_outside() -> None:
    made = machine(nested())
    first = made.advance(1_000, no_pulse)
    progress = made.abort(ToubaFailure("DeadlineExceeded", "late"))
    assert progress.outcome is not None
    failure = progress.outcome.failure
    assert failure is not None
    assert (failure.code, failure.place) == ("DeadlineExceeded", ("skill:app/Inner", 1))
    told = [each.kind for each in first.events + progress.events]
    assert told[-3:] == ["tool_completed", "call_completed", "run_failed"]
    assert made.cancel().outcome is progress.outcome


def test_cancel_before_the_first_step() -> None:
    made = machine(nested())
    progress = made.cancel()
    assert [each.kind for each in progress.events] == ["run_started", "run_cancelled"]
    assert made.usage.steps == 0


def test_equal_runs_are_equal() -> None:
    found = busy()
    assert drive(machine(found), tenfold).story() == drive(machine(busy()), tenfold, 13).story()


def test_no_failure_keeps_the_frames_it_came_through() -> None:
    found = one([["fail", ["text", "x"]]])
    failure = drive(machine(found)).ended.failure
    assert failure is not None
    assert (failure.__traceback__, failure.__context__, failure.__cause__) == (None, None, None)
