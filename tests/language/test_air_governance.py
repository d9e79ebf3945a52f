"""The AIR of what governs a program: gates, groups, compensations, agents, memories, triggers, tests."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.language.programs import air, body

BEFORE = """\
type Seat
    id as Text
tool T
    takes n as Int
    gives Int
    effect read
tool Hold
    takes n as Int
    gives Seat
    effect write
    compensate with Release
tool Release
    takes seat as Seat
    effect write"""

#: name → body of a strategy `F`, its inputs, its result, and its code; lines `REF:` begin the code of a branch
GOLDEN: dict[str, tuple[str, str, str, str]] = {
    "approvals": (
        """
human.approve "Pay {n}?" named payment expires after 3 days
human.approve "Sure?"
human.approve "Really?" expires after 90 minutes
""",
        "n as Int",
        "",
        """
["approve", 1, "approval:app/F/payment", ["concat", ["text", "Pay "], ["text.int", ["slot", 0]], ["text", "?"]]]
["approve", 2, "approval:app/F/2", ["text", "Sure?"]]
["approve", 3, "approval:app/F/3", ["text", "Really?"]]
["give", ["nothing"]]
""",
    ),
    "questions and reviews": (
        """
let a = ask "a" as Int min 0 named age
var b as Int max 9 = ask "b" as Int
set b = human.review a "c" named again
show "d"
human.review b "e"
give human.review n "f"
""",
        "n as Int",
        "Int",
        """
["ask", 1, 1, "ask:app/F/age", ["text", "a"]]
["ask", 2, 3, "ask:app/F/2", ["text", "b"]]
["set", 2, ["constrain", ["is", "Int", [["max", ["int", 9]]]], "b", ["slot", 3]]]
["review", 3, 4, "review:app/F/again", ["slot", 1], ["text", "c"]]
["set", 2, ["constrain", ["is", "Int", [["max", ["int", 9]]]], "b", ["slot", 4]]]
["show", 4, "show:app/F/1", ["text", "d"]]
["review", 5, null, "review:app/F/2", ["slot", 2], ["text", "e"]]
["review", 6, 5, "review:app/F/3", ["slot", 0], ["text", "f"]]
["give", ["slot", 5]]
""",
    ),
    "branches with names": (
        """
var m = n + 1
parallel as both
    branch one
        show "one"
        give call T(m)
    branch two
        show "two"
show "three"
give both.one
""",
        "n as Int",
        "Int",
        """
["set", 1, ["add.int", ["slot", 0], ["int", 1]]]
["parallel", 1, 2, false, [["one", "branch:app/F/1.one", [["slot", 1]]], ["two", "branch:app/F/1.two", []]]]
["show", 2, "show:app/F/3", ["text", "three"]]
["give", ["field", ["slot", 2], "one"]]
branch:app/F/1.one:
["show", 1, "show:app/F/1", ["text", "one"]]
["call", 2, 1, "tool:app/T", [["slot", 0]]]
["give", ["slot", 1]]
branch:app/F/1.two:
["show", 1, "show:app/F/2", ["text", "two"]]
["give", ["nothing"]]
""",
    ),
    "a branch for each": (
        """
let all = parallel collecting failures for each x in xs at most 3 at once
    if x > n
        give 1.5
    give call T(x)
parallel for each x in xs
    call T(x)
give length(all)
""",
        "n as Int, xs as List of Int",
        "Int",
        """
["parallel_each", 1, 2, true, 3, ["slot", 1], "branch:app/F/1", [["slot", 0]]]
["parallel_each", 2, null, false, null, ["slot", 1], "branch:app/F/2", []]
["give", ["length.list", ["slot", 2]]]
branch:app/F/1:
["unless", ["gt.int", ["slot", 0], ["slot", 1]], 2]
["give", ["dec", "1.5"]]
["call", 1, 2, "tool:app/T", [["slot", 0]]]
["give", ["widen", ["slot", 2]]]
branch:app/F/2:
["call", 1, null, "tool:app/T", [["slot", 0]]]
["give", ["nothing"]]
""",
    ),
    "groups in groups are numbered in source order": (
        """
parallel for each x in xs
    parallel as inner
        branch a
            give x + n
    show "{inner.a}"
parallel for each x in xs
    human.approve "{x}"
human.approve "end"
""",
        "n as Int, xs as List of Int",
        "",
        """
["parallel_each", 1, null, false, null, ["slot", 1], "branch:app/F/1", [["slot", 0]]]
["parallel_each", 2, null, false, null, ["slot", 1], "branch:app/F/3", []]
["approve", 3, "approval:app/F/2", ["text", "end"]]
["give", ["nothing"]]
branch:app/F/2.a:
["give", ["add.int", ["slot", 0], ["slot", 1]]]
branch:app/F/1:
["parallel", 1, 2, false, [["a", "branch:app/F/2.a", [["slot", 0], ["slot", 1]]]]]
["show", 2, "show:app/F/1", ["concat", ["text.int", ["field", ["slot", 2], "a"]]]]
["give", ["nothing"]]
branch:app/F/3:
["approve", 1, "approval:app/F/1", ["concat", ["text.int", ["slot", 0]]]]
["give", ["nothing"]]
""",
    ),
    "compensation": (
        """
attempt
    call Hold(n)
    attempt
        call Hold(2)
    on failure
        compensate
on failure as problem
    compensate
    fail "{problem.code}"
attempt
    call Hold(3)
on failure
    show "a"
""",
        "n as Int",
        "",
        """
["mark", 1]
["attempt", 11, 4]
["call", 1, null, "tool:app/Hold", [["slot", 0]]]
["mark", 2]
["attempt", 8, 3]
["call", 2, null, "tool:app/Hold", [["int", 2]]]
["leave"]
["jump", 9]
["compensate", 2]
["leave"]
["jump", 13]
["compensate", 1]
["fail", ["concat", ["field", ["slot", 4], "code"]]]
["attempt", 17, 5]
["call", 3, null, "tool:app/Hold", [["int", 3]]]
["leave"]
["jump", 18]
["show", 4, "show:app/F/1", ["text", "a"]]
["give", ["nothing"]]
""",
    ),
    "outcomes": (
        """
let all = parallel collecting failures for each x in xs
    give x
for each one in all
    when one
        is Done with value
            give value
        is Failed with problem
            show "{problem.code}"
let done as Outcome of Int = Done(value: 1)
give 1 if done is Done else 2
""",
        "xs as List of Int",
        "Int",
        """
["parallel_each", 1, 1, true, null, ["slot", 0], "branch:app/F/1", []]
["set", 2, ["slot", 1]]
["set", 3, ["int", 0]]
["each", 2, 3, 4, 10]
["unless", ["variant", ["slot", 4], "Done"], 7]
["set", 5, ["payload", ["slot", 4], "Done", "value"]]
["give", ["slot", 5]]
["set", 6, ["payload", ["slot", 4], "Failed", "problem"]]
["show", 2, "show:app/F/1", ["concat", ["field", ["slot", 6], "code"]]]
["again", 3, 17]
["set", 7, ["make", ["Outcome", "Int"], "Done", [["int", 1]]]]
["give", ["if", ["variant", ["slot", 7], "Done"], ["int", 1], ["int", 2]]]
branch:app/F/1:
["give", ["slot", 0]]
""",
    ),
}


def codes(document: dict[str, Any]) -> dict[str, list[Any]]:
    return {
        ref: each["code"] for ref, each in document["callables"].items() if ref.startswith(("strategy:", "branch:"))
    }


@pytest.mark.parametrize("name", GOLDEN)
def test_code(name: str) -> None:
    lines, takes, gives, expected = GOLDEN[name]
    found = codes(air(body(lines, kind="strategy", takes=takes, gives=gives, before=BEFORE)))
    wanted: dict[str, list[Any]] = {"strategy:app/F": []}
    ref = "strategy:app/F"
    for line in expected.strip().split("\n"):
        if line.startswith("branch:"):
            ref = line.removesuffix(":")
            wanted[ref] = []
        else:
            wanted[ref].append(json.loads(line))
    assert found == wanted


DECLARED = """\
choice Kind is A, B
type Note
    id as Text
    kind as Kind

## What is noted.
memory Notes
    holds Note
    key id
    scope owner

memory Last
    holds Optional Text
    scope run

tool Save
    takes note as Note, times as Int
    gives Int
    reads memory Notes
    writes memory Notes, Last
    effect write key "{note.id}/{times}"
    compensate with Forget

tool Forget
    takes note as Note, times as Int
    effect write key note.kind

skill Sign
    callable_by strategy Run, agent Clerk
    do
        show "signed"

## Signs.
agent Clerk
    ## What to sign.
    takes note as Note
    responsibility "Sign."
    uses skill Sign, tool Save
    callable_by strategy Run
    allows human review

strategy Run
    takes note as Note, limit as Optional Int
    gives Text
    do
        human.approve "Go?" named go expires after 2 hours
        let more = ask "More?" as Text length max 9
        let text = call Clerk(note)
        give human.review (more + text) "Good?"

## Every hour.
trigger Hourly
    on schedule "0 * * * *"
    starts strategy Run
    payload
        note from body.note
        limit is 3
    quota 24 per day

trigger Hook
    on webhook "/run"
    starts strategy Run
    payload
        note from body
"""


def test_declarations() -> None:
    found = air(DECLARED)
    assert found["requires"] == [
        "agents", "approve", "ask", "compensate", "keys", "memory", "review", "tools", "triggers",
    ]  # fmt: skip
    assert found["memories"] == {
        "memory:app/Notes": {"holds": "type:app/Note", "key": ["id"], "scope": "owner", "doc": "What is noted."},
        "memory:app/Last": {"holds": ["Optional", "Text"], "scope": "run"},
    }
    assert found["gates"] == {
        "approval:app/Run/go": {"expires": "PT2H"},
        "ask:app/Run/1": {"type": ["is", "Text", [["length", None, 9]]]},
        "review:app/Run/1": {"type": "Text"},
    }
    note = {"name": "note", "type": "type:app/Note"}
    assert found["callables"]["tool:app/Save"] == {
        "takes": [note, {"name": "times", "type": "Int"}],
        "gives": "Int",
        "requires": [],
        "secrets": [],
        "reads": ["memory:app/Notes"],
        "writes": ["memory:app/Last", "memory:app/Notes"],
        "effect": "write",
        "key": {
            "slots": [["note", "type:app/Note"], ["times", "Int"]],
            "cost": 6,
            "value": ["concat", ["field", ["slot", 0], "id"], ["text", "/"], ["text.int", ["slot", 1]]],
        },
        "compensation": {"ref": "tool:app/Forget", "takes": "inputs"},
    }
    assert found["callables"]["skill:app/Sign"]["callable_by"] == ["agent:app/Clerk", "strategy:app/Run"]
    assert found["callables"]["agent:app/Clerk"] == {
        "takes": [{**note, "doc": "What to sign."}],
        "gives": "Text",
        "doc": "Signs.",
        "responsibility": "Sign.",
        "uses": ["skill:app/Sign", "tool:app/Save"],
        "callable_by": ["strategy:app/Run"],
        "reviews": True,
        "steps": 8,
        "provider_calls": 17,
    }
    assert found["triggers"] == {
        "trigger:app/Hourly": {
            "on": {"kind": "schedule", "cron": "0 * * * *"},
            "starts": "strategy:app/Run",
            "payload": {"note": {"from": ["body", "note"]}, "limit": {"is": ["some", ["int", 3]]}},
            "quota": {"count": 24, "per": "day"},
            "doc": "Every hour.",
        },
        "trigger:app/Hook": {
            "on": {"kind": "webhook", "path": "/run"},
            "starts": "strategy:app/Run",
            "payload": {"note": {"from": ["body"]}},
        },
    }
    line = 1 + DECLARED[: DECLARED.index('"{note.id}')].count("\n") + 1  # `module app` stands above
    assert found["source_map"]["callables"]["tool:app/Save"] == [[0, line, 22, line, 41]]


TESTED = """\
tool Pay
    takes n as Int
    gives Text
    effect write

agent Reader
    takes question as Text
    responsibility "Read."
    uses tool Pay

strategy Run
    takes n as Int
    gives Text
    do
        human.approve "Go?" named go
        let name = ask "Name?" as Text
        give call Reader(name)
"""

TEST = """
test "it reads"
    given agent Reader decides
        call Pay(n: 1 + 1)
        answer "read"
    given tool Pay fails with "Declined"
    given tool Pay gives "paid"
    given human.approve named go answers reject
    given ask answers "Ada"
    run Run(n: length([x for x in [1, 2]]))
    expect status is success
    expect result is "read"
    expect calls Pay 1 times
    expect no effects
"""


def test_tests_stand_outside_of_the_digest() -> None:
    plain = air(TESTED)
    found = air(TESTED + TEST)
    assert found["digest"] == plain["digest"]
    assert found["requires"] == plain["requires"]
    assert "tests" not in plain
    (test,) = found["tests"]
    assert test == {
        "name": "it reads",
        "module": "app",
        "slots": [["x", "Int"]],
        "given": [
            {
                "kind": "agent",
                "ref": "agent:app/Reader",
                "decides": [
                    {"call": "tool:app/Pay", "arguments": [["add.int", ["int", 1], ["int", 1]]]},
                    {"answer": ["text", "read"]},
                ],
            },
            {"kind": "tool", "ref": "tool:app/Pay", "fails": "Declined"},
            {"kind": "tool", "ref": "tool:app/Pay", "gives": ["text", "paid"]},
            {"kind": "approve", "name": "go", "answers": "reject"},
            {"kind": "ask", "gives": ["text", "Ada"]},
        ],
        "run": {
            "ref": "strategy:app/Run",
            "arguments": [
                ["length.list", ["collect", 0, ["list", "Int", [["int", 1], ["int", 2]]], None, ["slot", 0]]]
            ],
        },
        "expect": [
            {"kind": "status", "is": "success"},
            {"kind": "result", "is": ["text", "read"]},
            {"kind": "calls", "ref": "tool:app/Pay", "times": 1},
            {"kind": "effects", "times": 0},
        ],
    }
    (places,) = found["source_map"]["tests"]
    first = TESTED.count("\n") + 3
    assert [place[1] for place in places] == [first, *(first + offset for offset in (1, 4, 5, 6, 7, 8, 9, 10, 11, 12))]


def test_what_is_never_reached_leaves_nothing_behind() -> None:
    text = """
if n > 1
    give n
    human.approve "never" named go
    parallel as both
        branch one
            give ask "never" as Int
    attempt
        call Hold(n)
    on failure
        compensate
human.approve "now" named go
parallel as both
    branch one
        give 1
give both.one
"""
    found = air(body(text, kind="strategy", takes="n as Int", before=BEFORE))
    assert found["gates"] == {"approval:app/F/go": {}}
    assert [ref for ref in found["callables"] if ref.startswith("branch:")] == ["branch:app/F/1.one"]
    assert [ref for ref in found["types"] if ref.count("/") == 2] == ["type:app/F/both"]
    assert found["requires"] == ["approve", "compensate", "parallel", "tools"]


def test_records_of_groups_are_told_apart() -> None:
    text = """
if n > 1
    parallel as both
        branch one
            give 1
    give both.one
parallel collecting failures as both
    branch two
        give "x"
when both.two
    is Done with value
        give length(value)
    is Failed with problem
        fail "{problem.message}"
"""
    found = air(body(text, kind="strategy", takes="n as Int", before=BEFORE))
    assert found["types"]["type:app/F/both"]["fields"] == [{"name": "one", "type": "Int"}]
    assert found["types"]["type:app/F/both.2"]["fields"] == [{"name": "two", "type": ["Outcome", "Text"]}]
