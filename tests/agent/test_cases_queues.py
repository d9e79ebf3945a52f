"""Cases 81–89: steering and follow-ups."""

from __future__ import annotations

import json
from typing import Any

from touba_sdk.agent import Agent, RunInfo, Session, ToolCall
from touba_sdk.models import Request

from .kit import ADD, Door, FakeTool, Model, add_call, ask, call, say


def calc(model: Model, *tools: Any, **options: Any) -> Agent:
    return Agent(model, tools=tools or [ADD], **options)


def said(session: Session) -> list[str]:
    return [message.text for message in session.messages if message.text]


def test_case_081_steering_during_a_tool(door: Door) -> None:
    session = Session()

    async def talk(call: ToolCall) -> str:
        session.steer("faster")
        return "ok"

    model = Model(ask(call("c1", "talk")), say("done"))
    played = door.play(calc(model, FakeTool("talk", talk)), session, "go")
    assert [m.role.value for m in model.requests[1].messages] == ["user", "assistant", "tool", "user"]
    assert model.requests[1].messages[-1].text == "faster"
    committed = [e.payload.message.text for e in played.events if e.type == "message_committed"]
    assert committed == ["", "", "faster", "done"]


def test_case_082_steering_during_the_last_answer(door: Door) -> None:
    session = Session()

    def late(request: Request) -> Any:
        session.steer("wait")
        return say("one")

    played = door.play(calc(Model(late, say("two"))), session, "go")
    assert played.ok.turns == 2
    assert said(session) == ["go", "one", "wait", "two"]


def test_case_083_one_at_a_time_or_all(door: Door) -> None:
    session = Session()
    session.steer("s1", "s2")
    door.play(calc(Model(say("one"), say("two"))), session, "go")
    assert said(session) == ["go", "s1", "one", "s2", "two"]
    session = Session()
    session.steer("s1", "s2")
    door.play(calc(Model(say("one")), steering_mode="all"), session, "go")
    assert said(session) == ["go", "s1", "s2", "one"]


def test_follow_ups_one_at_a_time_or_all(door: Door) -> None:
    for mode, expected in (
        ("one", ["go", "one", "f1", "two", "f2", "three"]),
        ("all", ["go", "one", "f1", "f2", "two"]),
    ):
        session = Session()
        session.follow_up("f1", "f2")
        steps = [say("one"), say("two"), say("three")][: 3 if mode == "one" else 2]
        door.play(calc(Model(*steps), follow_up_mode=mode), session, "go")
        assert said(session) == expected


def test_case_085_steering_goes_first(door: Door) -> None:
    session = Session()

    def both(request: Request) -> Any:
        session.follow_up("follow")
        session.steer("steer")
        return say("one")

    door.play(calc(Model(both, say("two"), say("three"))), session, "go")
    assert said(session) == ["go", "one", "steer", "two", "follow", "three"]


def test_case_086_no_follow_up_after_tools(door: Door) -> None:
    session = Session()
    session.follow_up("later")
    model = Model(add_call(), say("five"), say("bye"))
    door.play(calc(model), session, "go")
    assert [len(request.messages) for request in model.requests] == [1, 3, 5]
    assert said(session) == ["go", "five", "later", "bye"]


def test_case_087_cleared_follow_ups(door: Door) -> None:
    session = Session()
    session.follow_up("later")

    def clear(info: RunInfo) -> None:
        session.clear_follow_ups()

    played = door.play(calc(Model(say("one")), prepare_turn=clear), session, "go")
    assert (played.ok.stop, played.ok.turns) == ("end_turn", 1)
    session.steer("a")
    session.clear_steering()
    assert not session.has_queued


def test_case_089_queues_are_not_stored() -> None:
    session = Session(["hi"])
    session.steer("s")
    session.follow_up("f")
    restored = Session.from_json(session.to_json())
    assert restored.messages == session.messages
    assert not restored.has_queued
    assert set(json.loads(session.to_json())) == {"version", "messages", "usage"}


def test_taken_but_unused_messages_are_queued_again(door: Door) -> None:
    session = Session()
    session.steer("s1", "s2")

    def broken(event: Any) -> None:
        if event.type == "turn_started":
            raise OSError("disk full")

    played = door.play(calc(Model(), steering_mode="all", on_event=broken), session, "go")
    assert isinstance(played.error, OSError)
    assert said(session) == ["go"]
    door.play(calc(Model(say("one")), steering_mode="all"), session)
    assert said(session) == ["go", "s1", "s2", "one"]
