"""Cases 122–137: metadata, events, progress, and agents that are tools of others."""

from __future__ import annotations

import copy
import dataclasses
import datetime
import json
import pickle
import threading
from typing import Any

import anyio
import anyio.lowlevel
import orjson
import pytest
from pydantic import TypeAdapter

from touba_sdk.agent import (
    Agent,
    AgentError,
    CandidateIncomplete,
    Event,
    EventType,
    EventWireFormatError,
    Guardrail,
    InvalidEventError,
    MessageCommitted,
    ModelStreamEvent,
    Pause,
    PendingToolCallsError,
    Rejected,
    RunCompleted,
    RunFailed,
    RunMetadata,
    RunStarted,
    Session,
    StopReason,
    SubagentPausedError,
    ToolCall,
    ToolStarted,
    ToolUpdated,
    TurnCompleted,
    TurnStarted,
    current_context,
    current_run,
    driver,
    new_event,
    report_progress,
)
from touba_sdk.models import (
    EventStream,
    MessageEnd,
    MessageStart,
    OverloadedError,
    Request,
    TextDelta,
    TextPart,
    ToolCallPart,
    Usage,
    user_text,
)
from touba_sdk.testing.models import FunctionModel, ScriptedModel

from .kit import ADD, COST, Door, FakeTool, Model, add_call, ask, call, endless, results, roles, say, text_tool

NOW = datetime.datetime(2030, 1, 2, 3, 4, tzinfo=datetime.UTC)
META = RunMetadata("r1")


def agent(model: Any, *tools: Any, **options: Any) -> Agent:
    return Agent(model, tools=tools or [ADD], **options)


# -- metadata --------------------------------------------------------------------------------------------------------


def test_case_122_metadata_everywhere(door: Door) -> None:
    seen: list[RunMetadata | None] = []

    def note(info: Any) -> None:
        seen.append(current_run())

    async def execute(call: ToolCall) -> str:
        context = current_context()
        assert context is not None
        seen.extend([current_run(), context.metadata])
        return "ok"

    hooks: dict[str, Any] = dict.fromkeys(
        ("before_tool", "after_tool", "prepare_turn", "request", "candidate_answer", "stop_when", "on_event"), note
    )
    guards = [Guardrail("g", note)]
    model = Model(lambda request: note(request) or ask(call("c1", "t")), say("done"))
    played = door.play(
        agent(
            model, FakeTool("t", execute), name="calc", input_guardrails=guards, output_guardrails=guards,
            transform_context=lambda messages: note(messages) or messages, **hooks,
        )
    )  # fmt: skip
    metadata = played.ok.metadata
    assert set(seen) == {metadata}
    assert len(seen) > 20
    assert {(e.run_id, e.parent_run_id, e.agent) for e in played.events} == {(metadata.run_id, None, "calc")}
    assert all(event.time.tzinfo is datetime.UTC for event in played.events)
    assert {event.metadata for event in played.events} == {metadata}
    assert (played.ok.run_id, played.ok.parent_run_id, played.ok.agent) == (metadata.run_id, None, "calc")
    assert current_run() is None


def test_case_123_run_ids_differ(door: Door) -> None:
    first, second = (door.play(agent(Model(say("a")))) for _ in range(2))
    assert first.ok.run_id != second.ok.run_id


def test_what_a_hook_sets_is_seen_in_the_run_only(anyio_backend: str) -> None:
    import contextvars

    span: contextvars.ContextVar[str] = contextvars.ContextVar("span", default="none")
    seen: list[str] = []

    def observer(event: Any) -> None:
        span.set(event.type.value)

    async def execute(call: ToolCall) -> str:
        seen.append(span.get())
        return "ok"

    def blocking(call: ToolCall) -> str:
        seen.append(span.get())
        return "ok"

    async def main() -> None:
        span.set("outside")
        model = Model(ask(call("c1", "t"), call("c2", "b")), lambda request: seen.append(span.get()) or say("done"))
        a = agent(model, FakeTool("t", execute), FakeTool("b", blocking), on_event=observer)
        async with a.stream(Session(), "go") as stream:
            async for _ in stream:
                assert span.get() == "outside"
        assert span.get() == "outside"

    anyio.run(main, backend=anyio_backend)
    assert seen == ["tool_started", "tool_started", "turn_started"]


# -- sub-agents ------------------------------------------------------------------------------------------------------


def outer(child: Agent, model: Any, **options: Any) -> Agent:
    return agent(model, child.as_tool("helper", "Helps.", **options), name="outer")


def help_call(id: str = "h1", prompt: str = "help") -> Any:
    return ask(call(id, "helper", prompt=prompt))


def test_case_125_a_child_that_fails(door: Door) -> None:
    child = agent(Model(OverloadedError("the child is busy")))
    played = door.play(outer(child, Model(help_call(), say("pity"))))
    assert results(played.session) == [("the child is busy", True)]
    assert played.ok.stop == "end_turn"


def test_case_126_a_child_that_pauses(door: Door) -> None:
    child = agent(Model(add_call()), before_tool=lambda info: Pause())
    played = door.play(outer(child, Model(help_call(), say("pity"))))
    assert results(played.session) == [("the sub-agent paused with 1 pending tool calls", True)]
    assert played.ok.stop == "end_turn"
    tool = agent(Model(add_call()), before_tool=lambda info: Pause()).as_tool("helper", "Helps.")
    with pytest.raises(SubagentPausedError) as caught:
        anyio.run(tool.execute, ToolCall("h1", "helper", '{"prompt":"help"}'))
    assert [pending.id for pending in caught.value.pending] == ["c1"]


def test_case_127_every_call_has_a_session_of_its_own(door: Door) -> None:
    model = Model(say("one"), say("two"))
    child = agent(model, name="child")
    seen: list[Event] = []
    watched = child.replace(on_event=seen.append)
    calls = Model(help_call("h1", "first"), help_call("h2", "second"), say("done"))
    played = door.play(outer(watched, calls))
    assert [[m.text for m in request.messages] for request in model.requests] == [["first"], ["second"]]
    assert results(played.session) == [("one", False), ("two", False)]
    assert {event.parent_run_id for event in seen} == {played.ok.run_id}
    assert len({event.run_id for event in seen}) == 2
    assert {event.agent for event in played.events} == {"outer"}
    assert played.ok.usage == COST + COST + COST


def test_case_129_a_child_without_an_answer(door: Door) -> None:
    child = agent(endless(), max_turns=1)
    played = door.play(outer(child, Model(help_call(), say("done"))))
    assert results(played.session) == [("", False)]
    assert played.ok.text == "done"


def test_a_call_without_a_prompt_is_refused(door: Door) -> None:
    child = agent(Model())
    calls = [call("h1", "helper"), call("h2", "helper", prompt=3)]
    played = door.play(outer(child, Model(ask(*calls), say("done"))))
    assert results(played.session) == [("invalid arguments: prompt: a text is required", True)] * 2
    with pytest.raises(ValueError, match="roll_up"):
        child.as_tool("x", "y", usage="all")
    with pytest.raises(ValueError, match="bubble"):
        child.as_tool("x", "y", on_pause="wait")


def test_usage_that_rolls_up(door: Door) -> None:
    grandchild = agent(Model(say("deep")))
    child = outer(grandchild, Model(help_call("g1"), OverloadedError("late")), usage="roll_up")
    top = agent(
        Model(help_call("h1"), add_call(), say("done")),
        child.as_tool("helper", "Helps.", usage="roll_up"),
        ADD,
        max_tokens=60,
    )
    played = door.play(top)
    # The child's call that failed, and its own child, are counted once: 1 + 1 calls, and 2 of the run itself.
    assert (played.ok.stop, played.ok.usage) == ("budget", Usage(40, 20))
    assert dict(played.ok.nested_usage) == {"helper": Usage(20, 10)}
    assert played.session.usage == Usage(40, 20)
    assert played.payloads(TurnCompleted)[0].usage == Usage(30, 15)


def pausing_child(*steps: Any) -> Agent:
    def gate(info: Any) -> Pause | None:
        return Pause() if info.call.name == "add" else None

    return agent(Model(*steps), before_tool=gate, name="child")


def test_a_pause_that_bubbles_up_is_resumed(door: Door) -> None:
    child = pausing_child(add_call("k1"), say("the child is done"))
    calls = ask(call("x1", "text"), call("h1", "helper", prompt="help"), call("x2", "text"))
    top = agent(
        Model(calls, say("all done")),
        text_tool("text", "fine"),
        child.as_tool("helper", "Helps.", on_pause="bubble", usage="roll_up"),
    )
    session = Session()
    played = door.play(top, session, "go")
    assert played.ok.stop is StopReason.PAUSED
    assert [pending.id for pending in played.ok.pending] == ["h1"]
    assert results(session) == [("fine", False), ("fine", False)]

    blocked = door.play(top, session)
    assert isinstance(blocked.error, PendingToolCallsError)
    assert [pending.id for pending in blocked.error.pending] == ["k1"]

    restored = Session.from_json(session.to_json())
    assert roles(restored.children["h1"]) == ["user", "assistant"]
    restored.children["h1"].resolve({"k1": "5"})
    resumed = door.play(top, restored, "thanks")
    assert resumed.ok.text == "all done"
    assert resumed.types[:5] == ["run_started", "turn_started", "tool_started", "tool_completed", "message_committed"]
    assert roles(restored) == ["user", "assistant", "tool", "tool", "user", "assistant"]
    assert results(restored)[-1] == ("the child is done", False)
    assert restored.children == {}
    assert played.ok.usage + resumed.ok.usage == COST + COST + COST + COST


def test_a_child_that_pauses_again_pauses_again(door: Door) -> None:
    child = pausing_child(add_call("k1"), add_call("k2"), say("at last"))
    top = outer(child, Model(help_call(), say("all done")), on_pause="bubble")
    session = Session()
    door.play(top, session, "go")
    for id in ("k1", "k2"):
        assert [pending.id for pending in session.children["h1"].pending] == [id]
        session.children["h1"].resolve({id: "5"})
        played = door.play(top, session)
    assert played.ok.text == "all done"
    again = door.play(top.replace(model=Model(say("x"))), session, "more")
    assert again.ok.turns == 1


def test_a_paused_child_can_be_rejected_as_a_whole(door: Door) -> None:
    top = outer(pausing_child(add_call("k1")), Model(help_call(), say("all done")), on_pause="bubble")
    session = Session()
    door.play(top, session, "go")
    session.resolve({"h1": Rejected("forget it")})
    assert session.children == {}
    assert door.play(top, session).ok.text == "all done"
    assert results(session) == [("forget it", True)]


def test_a_pause_bubbles_through_two_agents(door: Door) -> None:
    middle = outer(pausing_child(add_call("k1"), say("deep")), Model(help_call("m1"), say("middle")), on_pause="bubble")
    top = outer(middle, Model(help_call("h1"), say("top")), on_pause="bubble")
    session = Session()
    assert door.play(top, session, "go").ok.stop == "paused"
    assert isinstance(door.play(top, session).error, PendingToolCallsError)
    restored = Session.from_json(session.to_json())
    restored.children["h1"].children["m1"].resolve({"k1": "5"})
    assert door.play(top, restored).ok.text == "top"
    assert results(restored) == [("middle", False)]


def test_a_cancelled_outer_run_cancels_its_child(cancel_door: Door) -> None:
    async def hang(request: Request) -> Any:
        cancel_door.cancel()
        await anyio.sleep(20)

    child_session: list[str] = []
    child = agent(FunctionModel(hang), on_event=lambda event: child_session.append(event.type.value))
    played = cancel_door.play(outer(child, Model(help_call())))
    assert results(played.session) == [("tool execution cancelled", True)]
    assert child_session[-1] == "run_cancelled"


# -- progress --------------------------------------------------------------------------------------------------------


def test_case_130_progress_of_a_serial_tool(door: Door) -> None:
    async def execute(call: ToolCall) -> str:
        for part in "abcd":
            report_progress(part)
        return "ok"

    played = door.play(agent(Model(ask(call("c1", "t")), say("done")), FakeTool("t", execute)))
    assert played.types[3:9] == ["tool_started", *["tool_updated"] * 4, "tool_completed"]
    assert [u.update for u in played.payloads(ToolUpdated)] == [(TextPart(part),) for part in "abcd"]
    assert results(played.session) == [("ok", False)]


def test_progress_is_delivered_while_the_tool_runs(stream_door: Door) -> None:
    seen = threading.Event()

    async def execute(call: ToolCall) -> str:
        report_progress("halfway")
        for _ in range(2000):
            if seen.is_set():
                return "the consumer saw it"
            await anyio.sleep(0.001)
        return "nobody saw it"

    a = agent(Model(ask(call("c1", "t")), say("done")), FakeTool("t", execute))
    played = stream_door.play(a.replace(on_event=lambda event: event.type == "tool_updated" and seen.set()))
    assert results(played.session) == [("the consumer saw it", False)]


def test_progress_beyond_the_buffer_is_left_out(door: Door) -> None:
    async def execute(call: ToolCall) -> str:
        for number in range(100):
            report_progress(str(number))
        return "ok"

    played = door.play(agent(Model(ask(call("c1", "t")), say("done")), FakeTool("t", execute)))
    assert [u.update[0].text for u in played.payloads(ToolUpdated)] == [str(n) for n in range(driver.MOST_UPDATES)]


def test_progress_of_a_thread(door: Door) -> None:
    def execute(call: ToolCall) -> str:
        context = current_context()
        assert context is not None
        context.report_progress("from a thread", TextPart("!"))
        report_progress()
        return "ok"

    played = door.play(agent(Model(ask(call("c1", "t")), say("done")), FakeTool("t", execute)))
    assert [u.update for u in played.payloads(ToolUpdated)] == [(TextPart("from a thread"), TextPart("!"))]


def test_case_131_progress_outside_of_a_run() -> None:
    report_progress("nobody is there")
    report_progress()
    assert current_context() is None


def test_case_133_what_was_reported_does_not_change(door: Door) -> None:
    async def execute(call: ToolCall) -> str:
        parts: list[Any] = ["first"]
        report_progress(*parts)
        parts[0] = "changed"
        return "ok"

    played = door.play(agent(Model(ask(call("c1", "t")), say("done")), FakeTool("t", execute)))
    assert played.payloads(ToolUpdated)[0].update == (TextPart("first"),)


# -- events ----------------------------------------------------------------------------------------------------------


def test_case_134_a_consumer_cannot_change_the_run(door: Door) -> None:
    refused: list[type[Exception]] = []

    def meddle(event: Event) -> None:
        if isinstance(event.payload, MessageCommitted):
            for change in (
                lambda: setattr(event.payload.message, "parts", ()),
                lambda: event.payload.message.parts.append(TextPart("x")),
                lambda: setattr(event, "payload", RunStarted()),
                lambda: delattr(event, "run_id"),
            ):
                try:
                    change()
                except (AttributeError, dataclasses.FrozenInstanceError) as error:
                    refused.append(type(error))

    played = door.play(agent(Model(add_call(), say("five")), on_event=meddle))
    assert len(refused) == 12
    assert played.ok.text == "five"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_case_135_events_have_no_stored_form() -> None:
    event = new_event(META, NOW, RunStarted())
    for refused in (
        event.to_json,
        lambda: Event.from_json("{}"),
        lambda: pickle.dumps(event),
        lambda: TypeAdapter(Event),
        lambda: TypeAdapter(Event).dump_json(event),
    ):
        with pytest.raises(EventWireFormatError):
            refused()
    for writer in (json.dumps, orjson.dumps):
        with pytest.raises(TypeError):
            writer(event)
    assert issubclass(EventWireFormatError, AgentError)
    assert copy.deepcopy(event) is event
    assert copy.copy(event) is event


@pytest.mark.parametrize("kind", ["stream-asyncio", "stream-trio", "stream_sync"])
def test_case_137_an_unknown_stream_event(kind: str) -> None:
    class Odd:
        pass

    class OddModel(ScriptedModel):
        def stream(self, request: Request) -> EventStream:
            async def events() -> Any:
                yield MessageStart()
                yield Odd()

            return EventStream(events)

    played = Door(kind).play(agent(OddModel()))
    assert isinstance(played.error, InvalidEventError)
    assert "Odd" in str(played.error)
    assert roles(played.session) == ["user"]


@pytest.mark.parametrize(
    ("metadata", "time", "payload"),
    [
        (RunMetadata(""), NOW, RunStarted()),
        (META, NOW.replace(tzinfo=None), RunStarted()),
        (META, None, RunStarted()),
        (META, NOW, None),
        (META, NOW, TurnStarted(0)),
        (META, NOW, TurnStarted(True)),
        (META, NOW, RunCompleted(-1, StopReason.END_TURN)),
        (META, NOW, RunCompleted(1, "nonsense")),
        (META, NOW, RunFailed("E", 1, None)),
        (META, NOW, MessageCommitted(1, "text")),
        (META, NOW, ToolStarted(1, None)),
        (META, NOW, ModelStreamEvent(1, "delta")),
        (META, NOW, CandidateIncomplete(1, "é", 1, "cut")),
        (META, NOW, CandidateIncomplete(1, "x" * 65_537, 65_537, "cut")),
    ],
)
def test_events_that_cannot_be(metadata: Any, time: Any, payload: Any) -> None:
    with pytest.raises(InvalidEventError):
        new_event(metadata, time, payload)


def test_events_that_can_be() -> None:
    elsewhere = NOW.astimezone(datetime.timezone(datetime.timedelta(hours=5)))
    event = new_event(RunMetadata("r", "p", "a"), elsewhere, CandidateIncomplete(1, "é", 5, "cut"))
    assert (event.time, event.time.tzinfo, event.type) == (NOW, datetime.UTC, EventType.CANDIDATE_INCOMPLETE)
    assert event == new_event(RunMetadata("r", "p", "a"), NOW, CandidateIncomplete(1, "é", 5, "cut"))
    assert event != new_event(META, NOW, RunStarted())
    assert len({event, copy.copy(event)}) == 1
    assert "r" in repr(event)
    with pytest.raises(InvalidEventError):
        Event("r", None, "", NOW.astimezone(datetime.timezone(datetime.timedelta(hours=1))), RunStarted()).validate()
    new_event(META, NOW, ModelStreamEvent(1, MessageEnd()))
    new_event(META, NOW, ToolStarted(1, ToolCallPart("c", "t")))
    new_event(META, NOW, MessageCommitted(1, user_text("x")))


def test_every_event_of_a_run_is_valid_and_of_its_own_kind(stream_door: Door) -> None:
    played = stream_door.play(agent(Model(add_call(), [TextDelta("a"), MessageEnd(usage=COST)])))
    for event in played.seen:
        event.validate()
    assert {event.type for event in played.seen} <= set(EventType)


def test_async_observers_are_awaited_in_order(door: Door) -> None:
    order: list[str] = []

    async def slow(event: Event) -> None:
        await anyio.lowlevel.checkpoint()
        order.append(f"slow {event.type}")

    played = door.play(agent(Model(say("a")), on_event=[slow, lambda event: order.append(f"fast {event.type}")]))
    expected = [f"{speed} {event.type}" for event in played.events for speed in ("slow", "fast")]
    assert order == expected


def test_event_times_never_go_back(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock(datetime.datetime):
        ticks = iter(range(1000, 0, -1))

        @classmethod
        def now(cls, tz: Any = None) -> datetime.datetime:
            return NOW + datetime.timedelta(seconds=next(cls.ticks))

    monkeypatch.setattr(driver.datetime, "datetime", Clock)
    played = door.play(agent(Model(say("a"))))
    assert len({event.time for event in played.events}) == 1
