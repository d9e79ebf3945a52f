"""assert_trace_events and trace_tree."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from touba_sdk.testing import assert_trace_events, trace_tree


def event(kind: str, span: str, parent: str | None, ref: str = "", **members: Any) -> dict[str, Any]:
    return {"kind": kind, "ref": ref, "span": span, "parent": parent, "occurrence": None, "data": {}, **members}


EVENTS = [
    event("run_started", "0.1", None, "strategy:app/Review"),
    event("call_started", "0.2", "0.1", "skill:app/Pay", occurrence="1"),
    event(
        "tool_invoked", "0.3", "0.2", "tool:app/Pay", occurrence="1/1", data={"effect": "write", "grants": ["network"]}
    ),
    event(
        "tool_completed", "0.3", "0.2", "tool:app/Pay", occurrence="1/1", data={"outcome": "failed", "code": "NoStock"}
    ),
    event("failure_caught", "0.4", "0.2", "tool:app/Pay", data={"code": "NoStock"}),
    event("call_completed", "0.2", "0.1", "skill:app/Pay", occurrence="1", data={"outcome": "completed"}),
    event("message_shown", "0.5", "0.1", "show:app/Review/1"),
    event("run_completed", "0.1", None, "strategy:app/Review", data={"steps": 12, "external_calls": 1}),
]

TREE = """\
run strategy:app/Review: completed (steps=12, external_calls=1)
├─ call skill:app/Pay [1]: completed
│  ├─ tool tool:app/Pay [1/1]: failed (code=NoStock)
│  └─ failure_caught tool:app/Pay (code=NoStock)
└─ message_shown show:app/Review/1"""


def test_the_tree() -> None:
    assert trace_tree(EVENTS) == TREE
    assert trace_tree([SimpleNamespace(**each) for each in EVENTS]) == TREE
    assert trace_tree([]) == "(no events)"
    assert trace_tree(EVENTS[:3]).splitlines()[-1] == "   └─ tool tool:app/Pay [1/1]: not ended"


@pytest.mark.parametrize(
    "holder",
    [
        EVENTS,
        {"protocol": "touba-trace-v1", "events": EVENTS},
        SimpleNamespace(trace={"events": EVENTS}),
        SimpleNamespace(events=tuple(EVENTS), done=True, next=None),
        SimpleNamespace(details=SimpleNamespace(trace={"events": EVENTS})),
    ],
    ids=["list", "document", "result", "page", "error"],
)
def test_whatever_holds_a_trace(holder: Any) -> None:
    assert assert_trace_events(holder, kind="tool_invoked", count=1) == [EVENTS[2]]


@pytest.mark.parametrize("holder", [None, SimpleNamespace(trace=None), "trace", 5, {}])
def test_what_holds_none(holder: Any) -> None:
    with pytest.raises(AssertionError, match="trace"):
        assert_trace_events(holder, kind="tool_invoked")


def test_counting() -> None:
    assert len(assert_trace_events(EVENTS)) == 8
    assert assert_trace_events(EVENTS, kind="run_failed", count=0) == []
    found = assert_trace_events(EVENTS, where=lambda each: each["ref"] == "tool:app/Pay", count=3)
    assert [each["kind"] for each in found] == ["tool_invoked", "tool_completed", "failure_caught"]


@pytest.mark.parametrize(
    ("options", "expected", "actual"),
    [
        ({"kind": "tool_invoked", "count": 2}, "exactly 2 events of kind tool_invoked", "actual: 1 "),
        ({"kind": "run_failed"}, "at least one event of kind run_failed", "actual: 0 "),
        ({"where": lambda each: False}, "at least one event for which `where` is true", "tool_invoked 1"),
    ],
)
def test_failures_print_what_there_is(options: dict[str, Any], expected: str, actual: str) -> None:
    with pytest.raises(AssertionError) as failed:
        assert_trace_events(EVENTS, **options)
    text = str(failed.value)
    assert expected in text
    assert actual in text
    assert TREE in text


def test_where_must_be_boolean_and_synchronous() -> None:
    async def later(each: Any) -> bool:
        return True

    for where in (lambda each: each["ref"], lambda each: None, later):
        with pytest.raises(TypeError, match="True or False"):
            assert_trace_events(EVENTS, where=where)
