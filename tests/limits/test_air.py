"""Limits of compiled programs, which need not come from our compiler: one below, at, and one above, by JSON path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.air.samples import Document, seal, single
from tests.limits.kit import accepted, three_cases
from tests.limits.test_source import AGENT, EACH, TRIGGER, states
from touba_cli.air.program import read_program, write_program
from touba_cli.errors import ToubaFailure
from touba_cli.limits import (
    ALL_PATTERN_STATES,
    BLOCK_DEPTH,
    CALLABLE_SLOTS,
    LIMITS,
    PATTERN_CHARACTERS,
    PATTERN_DEPTH,
    PATTERN_STATES,
    TYPE_MEMBERS,
    VALUE_DEPTH,
)

GIVE = ["give", ["int", 1]]


def judged(document: Document, by: int, path: str, says: str) -> None:
    """A document is read up to a limit, and refused above it with a path and a figure."""
    data = write_program(seal(document))
    if by <= 0:
        assert read_program(data).callables
        return
    with pytest.raises(ToubaFailure) as caught:
        read_program(data)
    assert caught.value.code == "AirInvalid"
    assert caught.value.message.startswith(f"{path}: ")
    assert says in caught.value.message


def typed(declared: Any) -> Document:
    return single([GIVE], types={"type:app/T": declared})


# --- types ------------------------------------------------------------------------------------------------------------


def record(count: int) -> Any:
    return {"kind": "record", "fields": [{"name": f"f{number}", "type": "Int"} for number in range(count)]}


def choice(count: int) -> Any:
    return {"kind": "choice", "variants": [{"name": f"V{number}", "fields": []} for number in range(count)]}


def variant(count: int) -> Any:
    return {"kind": "choice", "variants": [{"name": "V", "fields": record(count)["fields"]}]}


@pytest.mark.parametrize(
    ("make", "place"), [(record, ".fields"), (choice, ".variants"), (variant, ".variants[0].fields")]
)
@three_cases("type_members")
def test_members_of_a_type(by: int, make: Callable[[int], Any], place: str) -> None:
    judged(typed(make(TYPE_MEMBERS + by)), by, f'$.types["type:app/T"]{place}', f"more than {TYPE_MEMBERS}")


@three_cases("value_depth")
def test_levels_of_a_type(by: int) -> None:
    form: Any = "Int"
    for _ in range(VALUE_DEPTH + by):
        form = ["List", form]
    document = single([["give", ["length.list", ["list", form[1], []]]]])
    path = '$.callables["strategy:app/Run"].code[0][1][1][1]' + "[1]" * VALUE_DEPTH
    if by > 0:
        document = single([["give", ["length.list", ["list", form, []]]]])
    judged(document, by, path, f"{VALUE_DEPTH} levels")


@three_cases("value_depth")
def test_levels_of_aliases(by: int) -> None:
    """Each alias is a level, and so is each List in it."""
    types: Document = {"type:app/A0": {"kind": "alias", "of": ["List", "Int"]}}
    for number in range(1, VALUE_DEPTH // 2 - 1):
        types[f"type:app/A{number}"] = {"kind": "alias", "of": ["List", f"type:app/A{number - 1}"]}
    last: Any = f"type:app/A{VALUE_DEPTH // 2 - 2}"
    types["type:app/B"] = {"kind": "alias", "of": {-1: last, 0: ["List", last], 1: ["List", ["List", last]]}[by]}
    judged(single([GIVE], types=types), by, '$.types["type:app/B"]', f"deeper than {VALUE_DEPTH} levels")


def matching(*patterns: str) -> Document:
    fields = [
        {"name": f"f{number}", "type": ["is", "Text", [["matching", text]]]} for number, text in enumerate(patterns)
    ]
    return typed({"kind": "record", "fields": fields})


FIELD = '$.types["type:app/T"].fields[0].type[2][0][1]'


@three_cases("pattern_characters")
def test_characters_of_a_pattern(by: int) -> None:
    judged(matching("[" + "a" * (PATTERN_CHARACTERS + by - 2) + "]"), by, FIELD, str(PATTERN_CHARACTERS))


@three_cases("pattern_depth")
def test_groups_of_a_pattern(by: int) -> None:
    depth = PATTERN_DEPTH + by - 1
    judged(matching("(" * depth + "a" + ")" * depth), by, FIELD, str(PATTERN_DEPTH))


@three_cases("pattern_states")
def test_states_of_a_pattern(by: int) -> None:
    judged(matching(states(PATTERN_STATES + by)), by, FIELD, str(PATTERN_STATES))


@three_cases("all_pattern_states")
def test_states_of_all_patterns(by: int) -> None:
    count = ALL_PATTERN_STATES // PATTERN_STATES - 1
    patterns = [states(PATTERN_STATES).replace("a", chr(ord("a") + number)) for number in range(count)]
    patterns += [states(PATTERN_STATES - 10).replace("a", "A"), states(10 + by).replace("a", "B")]
    path = FIELD.replace("fields[0]", f"fields[{len(patterns) - 1}]")
    judged(matching(*patterns), by, path, str(ALL_PATTERN_STATES))


# --- callables --------------------------------------------------------------------------------------------------------


@three_cases("callable_slots")
def test_slots_of_a_callable(by: int) -> None:
    document = single([GIVE], slots=[(f"s{number}", "Int") for number in range(CALLABLE_SLOTS + by)])
    judged(document, by, '$.callables["strategy:app/Run"].slots', f"at most {CALLABLE_SLOTS} slots")


def figure(program: str, put: Callable[[Document, int], None], limit: str, by: int, path: str) -> None:
    row = LIMITS[limit]
    for value in (row.highest + by, row.lowest - by):
        document = accepted(program)
        put(document, value)
        judged(document, by, path, "")


@pytest.mark.parametrize(("limit", "member"), [("agent_steps", "steps"), ("agent_provider_calls", "provider_calls")])
@three_cases("agent_steps")
def test_figures_of_an_agent(by: int, limit: str, member: str) -> None:
    def put(document: Document, value: int) -> None:
        document["callables"]["agent:app/Clerk"][member] = value

    figure(AGENT, put, limit, by, f'$.callables["agent:app/Clerk"].{member}')


@three_cases("trigger_quota")
def test_events_of_a_quota(by: int) -> None:
    def put(document: Document, value: int) -> None:
        document["triggers"]["trigger:app/T"]["quota"]["count"] = value

    figure(TRIGGER.format(1), put, "trigger_quota", by, '$.triggers["trigger:app/T"].quota.count')


@three_cases("group_limit")
def test_branches_at_once(by: int) -> None:
    def put(document: Document, value: int) -> None:
        (instruction,) = (
            each for each in document["callables"]["strategy:app/S"]["code"] if each[0] == "parallel_each"
        )
        instruction[4] = value

    document = accepted(EACH.format(1))
    pc = [each[0] for each in document["callables"]["strategy:app/S"]["code"]].index("parallel_each")
    figure(EACH.format(1), put, "group_limit", by, f'$.callables["strategy:app/S"].code[{pc}][4]')


@three_cases("handler_timeout_ms")
def test_the_time_out_of_a_tool(by: int) -> None:
    def put(document: Document, value: int) -> None:
        document["callables"]["tool:app/T"]["timeout_ms"] = value

    program = "module app\ntool T\n    gives Int\n    timeout 1 seconds\n"
    figure(program, put, "handler_timeout_ms", by, '$.callables["tool:app/T"].timeout_ms')


def groups(depth: int) -> Document:
    """A strategy with groups so deep inside each other."""
    callables: Document = {}
    for level in range(depth + 1):
        ref = "strategy:app/Run" if not level else f"branch:app/Run/{level}"
        inner = f"branch:app/Run/{level + 1}"
        code: list[Any] = [GIVE]
        if level < depth:
            code.insert(0, ["parallel_each", 1, None, False, None, ["list", "Int", []], inner, []])
        takes = [{"name": "n", "type": "Int"}] if level else []
        slots = [["n", "Int"]] if level else []
        callables[ref] = {"takes": takes, "gives": "Int", "slots": slots, "cost": 0, "code": code}
    document = single([GIVE])
    document["callables"] = callables
    document["requires"] = ["parallel"]
    document["source_map"]["callables"] = {
        ref: [[0, 1, 1, 1, 2]] * len(each["code"]) for ref, each in callables.items()
    }
    return document


@three_cases("block_depth")
def test_groups_inside_each_other(by: int) -> None:
    depth = BLOCK_DEPTH + by
    path = f'$.callables["branch:app/Run/{BLOCK_DEPTH}"].code[0][6]'
    judged(groups(depth), by, path, f"deeper than {BLOCK_DEPTH} levels")
