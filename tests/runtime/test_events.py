"""The trace: one table of kinds, a log that numbers and chains, and a check that finds what was changed."""

from __future__ import annotations

import copy
import datetime
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runtime.machine_kit import callable_, drive, machine, program, tool
from touba_cli.codec import decode, encode
from touba_cli.documents import check_document
from touba_cli.runtime.events import EVENTS, TraceInvalid, TraceLog, moment, task_of, tree, verify_trace
from touba_cli.runtime.machine import Settled

MAIN = "strategy:app/Main"


def trace(run_id: str = "r1", start: int = 1_700_000_000_000) -> dict[str, Any]:
    found = program(
        {
            MAIN: callable_(
                [
                    ["attempt", 3, 0],
                    ["call", 1, 1, "skill:app/S", []],
                    ["leave"],
                    ["show", 2, "show:app/Main/1", ["text", "hello"]],
                    ["call", 3, 1, "tool:app/T", []],
                    ["give", ["slot", 1]],
                ],
                slots=["type:touba/Problem", "Int"],
            ),
            "skill:app/S": callable_([["call", 1, None, "tool:app/T", []], ["fail", ["text", "no"]]]),
            "tool:app/T": tool("write"),
        }
    )
    ran = drive(machine(found), lambda need: Settled.given(1))
    log = TraceLog()
    for number, event in enumerate(ran.events):
        log.add(event, start + number)
    return log.document(run_id, found.digest, MAIN, start, start + 100)


def test_a_trace_is_numbered_chained_and_consistent() -> None:
    document = trace()
    verify_trace(document)
    assert [each["seq"] for each in document["events"]] == list(range(1, len(document["events"]) + 1))
    assert list(document) == [
        "protocol", "run_id", "segment", "program", "entry", "started_at", "ended_at", "events", "chains", "digest",
    ]  # fmt: skip
    assert list(document["chains"]) == ["0"]
    assert document["started_at"] == "2023-11-14T22:13:20.000Z"
    assert document["events"][3]["at"] == "2023-11-14T22:13:20.003Z"
    assert check_document("touba-trace-v1", document) is None
    verify_trace(decode(encode(document)))


def test_the_chain_counts_neither_times_nor_run_ids_and_the_digest_does() -> None:
    first, second = trace(), trace("r2", 5)
    assert first["chains"] == second["chains"]
    assert first["digest"] != second["digest"]
    assert first == trace()


def test_the_tree_nests_the_spans() -> None:
    root = tree(trace())
    assert (root["kind"], root["ref"], root["span"]) == ("run_started", MAIN, "0.1")
    assert set(root["data"]) == {"steps", "external_calls"}
    assert [each["kind"] for each in root["children"]] == [
        "call_started",
        "failure_caught",
        "message_shown",
        "tool_invoked",
    ]
    call = root["children"][0]
    assert call["data"] == {"outcome": "failed", "code": "BusinessFailure"}
    (inner,) = call["children"]
    assert (inner["ref"], inner["occurrence"]) == ("tool:app/T", "1/1")
    assert inner["data"] == {"effect": "write", "grants": [], "outcome": "committed"}
    assert inner["started_at"] < inner["ended_at"]


def drop(document: dict[str, Any]) -> int:
    del document["events"][3]
    for number, event in enumerate(document["events"], 1):
        event["seq"] = number
    return 4


def renumber(document: dict[str, Any]) -> int:
    document["events"][2]["seq"] = 9
    return 3


def other_kind(document: dict[str, Any]) -> int:
    document["events"][1]["kind"] = "call_begun"
    return 2


def other_member(document: dict[str, Any]) -> int:
    document["events"][2]["data"]["value"] = 1
    return 3


def lost_member(document: dict[str, Any]) -> int:
    del document["events"][2]["data"]["effect"]
    return 3


def other_parent(document: dict[str, Any]) -> int:
    document["events"][2]["parent"] = "0.1"
    return 3


def same_span(document: dict[str, Any]) -> int:
    document["events"][2]["span"] = "0.1"
    return 3


def other_end(document: dict[str, Any]) -> int:
    document["events"][3]["ref"] = "tool:app/U"
    return 4


def exchanged_end(document: dict[str, Any]) -> int:
    document["events"][3].update(kind="call_completed", data={"outcome": "completed"})
    return 4


def no_end(document: dict[str, Any]) -> int:
    del document["events"][-1]
    return len(document["events"])


def after_the_end(document: dict[str, Any]) -> int:
    document["events"].append({**document["events"][-1], "seq": len(document["events"]) + 1})
    return len(document["events"])


@pytest.mark.parametrize(
    "change",
    [
        drop, renumber, other_kind, other_member, lost_member, other_parent, same_span, other_end, exchanged_end,
        no_end, after_the_end,
    ],
)  # fmt: skip
def test_the_first_event_that_does_not_fit_is_named(change: Callable[[dict[str, Any]], int]) -> None:
    document = copy.deepcopy(trace())
    seq = change(document)
    with pytest.raises(TraceInvalid) as caught:
        verify_trace(document)
    assert caught.value.seq == seq
    assert f"event {seq}" in str(caught.value)


@pytest.mark.parametrize("name", ["ref", "occurrence"])
def test_a_changed_single_event_breaks_the_chain(name: str) -> None:
    document = copy.deepcopy(trace())
    (shown,) = [each for each in document["events"] if each["kind"] == "message_shown"]
    shown[name] = "9"
    with pytest.raises(TraceInvalid, match="task `0`"):
        verify_trace(document)


@pytest.mark.parametrize("name", ["run_id", "program", "entry", "started_at", "ended_at", "digest"])
def test_changed_ids_and_times_break_the_digest(name: str) -> None:
    document = copy.deepcopy(trace())
    document[name] = "x"
    with pytest.raises(TraceInvalid, match="digest"):
        verify_trace(document)
    document = copy.deepcopy(trace())
    document["events"][4]["at"] = "2023-11-14T22:13:20.999Z"
    with pytest.raises(TraceInvalid, match="digest"):
        verify_trace(document)


def test_a_task_that_is_not_there_is_named() -> None:
    document = copy.deepcopy(trace())
    document["chains"]["0.left"] = "0" * 64
    with pytest.raises(TraceInvalid, match=r"`0\.left`"):
        verify_trace(document)
    assert task_of("0.left.12") == "0.left"


def test_the_table_pairs_every_beginning_with_its_ends() -> None:
    for name, kind in EVENTS.items():
        for end in kind.ends:
            assert EVENTS[end].begun_by == name
        if kind.begun_by is not None:
            assert name in EVENTS[kind.begun_by].ends
        assert kind.sentence.endswith(".")
        assert all(sentence.endswith(".") for _, sentence in kind.members.values())


@given(st.integers(0, 253_402_300_799_999))
def test_moments_are_written_like_datetime_does(ms: int) -> None:
    expected = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(milliseconds=ms)
    assert moment(ms) == expected.isoformat(timespec="milliseconds").replace("+00:00", "Z")
