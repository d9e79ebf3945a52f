"""Cases 30–49: how calls are executed, in which order, and what becomes of those that cannot be."""

from __future__ import annotations

import json
import logging
import threading
import time
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from touba_sdk.agent import Agent, Session, ToolCall, ToolError, current_context, undecodable_arguments
from touba_sdk.models import (
    FinishReason,
    InvalidMessageError,
    ModelResponseError,
    StructuredContentPart,
    ToolDeclaration,
    ToolKind,
)

from .kit import ADD, Door, FakeTool, Model, ask, call, raising, results, roles, say, text_tool


def agent(model: object, *tools: object, **options: object) -> Agent:
    return Agent(model, tools=tools, **options)


class Meter:
    """Counts how many tools run at the same time, and lets them end in a chosen order."""

    def __init__(self) -> None:
        self.now = 0
        self.most = 0
        self.order: list[str] = []
        self.ended: dict[str, anyio.Event] = {}

    def tool(self, name: str, *, after: str | None = None, concurrent: bool = True) -> FakeTool:
        self.ended[name] = anyio.Event()

        async def execute(call: ToolCall) -> str:
            self.now += 1
            self.most = max(self.most, self.now)
            self.order.append(f"{name} starts")
            for _ in range(3):
                await anyio.sleep(0.001)
            if after is not None:
                await self.ended[after].wait()
            self.now -= 1
            self.order.append(f"{name} ends")
            self.ended[name].set()
            return name

        return FakeTool(name, execute, concurrent=concurrent)


def test_case_030_failures_become_results(door: Door) -> None:
    calls = [call("c1", "fails"), call("c2", "breaks"), call("c3", "nowhere"), call("c4", "add", '{"a": 1')]
    tools = [raising("fails", ToolError("no luck")), raising("breaks", ZeroDivisionError("by zero")), ADD]
    played = door.play(agent(Model(ask(*calls), say("done")), *tools))
    assert played.ok.stop == "end_turn"
    assert roles(played.session) == ["user", "assistant", "tool", "assistant"]
    found = results(played.session)
    assert [is_error for _, is_error in found] == [True] * 4
    assert [text for text, _ in found[:3]] == ["no luck", "by zero", "unknown tool: nowhere"]
    assert found[3][0].startswith("invalid arguments")


def test_a_tool_that_raises_without_a_text_is_named_by_its_class(door: Door) -> None:
    played = door.play(agent(Model(ask(call("c1", "odd")), say("done")), raising("odd", LookupError())))
    assert results(played.session) == [("LookupError", True)]


def test_case_031_an_unknown_tool_has_its_events(door: Door) -> None:
    played = door.play(agent(Model(ask(call("c1", "nowhere")), say("done"))))
    assert played.types[3:5] == ["tool_started", "tool_completed"]
    assert [event.payload.result.is_error for event in played.events if event.type == "tool_completed"] == [True]


def test_case_033_completion_order_and_call_order(door: Door) -> None:
    meter = Meter()
    tools = [meter.tool("a", after="b"), meter.tool("b", after="c"), meter.tool("c")]
    calls = [call(f"c{name}", name) for name in "abc"]
    played = door.play(agent(Model(ask(*calls), say("done")), *tools))
    assert [e.payload.call.name for e in played.events if e.type == "tool_completed"] == ["c", "b", "a"]
    assert [text for text, _ in results(played.session)] == ["a", "b", "c"]


def test_case_034_one_at_a_time(door: Door) -> None:
    meter = Meter()
    tools = [meter.tool(name) for name in "abc"]
    door.play(agent(Model(ask(*(call(f"c{n}", n) for n in "abc")), say("done")), *tools, parallel_tools=1))
    assert meter.most == 1
    assert len(meter.order) == 6


def test_case_035_two_at_a_time(door: Door) -> None:
    meter = Meter()
    tools = [meter.tool(name) for name in "abcd"]
    played = door.play(agent(Model(ask(*(call(f"c{n}", n) for n in "abcd")), say("done")), *tools, parallel_tools=2))
    assert meter.most == 2
    assert [text for text, _ in results(played.session)] == list("abcd")


def test_a_serial_tool_is_alone(door: Door) -> None:
    meter = Meter()
    tools = [meter.tool("a"), meter.tool("b"), meter.tool("s", concurrent=False), meter.tool("c")]
    door.play(agent(Model(ask(*(call(f"c{n}", n) for n in "absc")), say("done")), *tools))
    place = meter.order.index("s starts")
    assert sorted(meter.order[:place]) == ["a ends", "a starts", "b ends", "b starts"]
    assert meter.order[place:] == ["s starts", "s ends", "c starts", "c ends"]
    assert meter.most == 2


def test_case_037_an_unknown_name_is_a_barrier(door: Door) -> None:
    meter = Meter()
    tools = [meter.tool("a"), meter.tool("b")]
    played = door.play(agent(Model(ask(call("c1", "a"), call("c2", "gone"), call("c3", "b")), say("done")), *tools))
    assert meter.order == ["a starts", "a ends", "b starts", "b ends"]
    assert meter.most == 1
    assert [text for text, _ in results(played.session)] == ["a", "unknown tool: gone", "b"]


def test_case_038_a_time_out(door: Door) -> None:
    ended: list[str] = []

    async def slow(call: ToolCall) -> str:
        context = current_context()
        assert context is not None
        assert context.deadline is not None
        try:
            await anyio.sleep(20)
        finally:
            ended.append("cleaned up")
        return "never"

    played = door.play(agent(Model(ask(call("c1", "slow")), say("done")), FakeTool("slow", slow), tool_timeout=0.01))
    assert played.ok.stop == "end_turn"
    [(text, is_error)] = results(played.session)
    assert is_error
    assert "deadline of 0.01 s" in text
    assert ended == ["cleaned up"]


def test_a_tools_own_time_out_takes_the_place_of_the_agents(door: Door) -> None:
    async def slow(call: ToolCall) -> str:
        await anyio.sleep(0.03)
        return "ready"

    tools = [FakeTool("own", slow, timeout=5.0), FakeTool("general", slow)]
    calls = [call("c1", "own"), call("c2", "general")]
    played = door.play(agent(Model(ask(*calls), say("done")), *tools, tool_timeout=0.005))
    assert [is_error for _, is_error in results(played.session)] == [False, True]


def test_a_tool_in_a_thread_is_left_behind_at_its_time_out(door: Door, caplog: pytest.LogCaptureFixture) -> None:
    release = threading.Event()
    seen: list[bool] = []

    def stubborn(call: ToolCall) -> str:
        context = current_context()
        assert context is not None
        release.wait(20)
        seen.append(context.cancelled)
        context.report_progress("too late")
        return "too late"

    with caplog.at_level(logging.WARNING, "touba_sdk.agent"):
        played = door.play(
            agent(Model(ask(call("c1", "stubborn")), say("done")), FakeTool("stubborn", stubborn), tool_timeout=0.02)
        )
    release.set()
    assert played.ok.text == "done"
    assert results(played.session)[0][1]
    assert "stubborn" in caplog.text
    assert "tool_updated" not in played.types
    for _ in range(500):
        if seen:
            break
        time.sleep(0.01)
    assert seen == [True]


def test_a_tool_in_a_thread_sees_the_callers_context_and_no_event_loop(door: Door) -> None:
    threads: list[threading.Thread] = []

    def blocking(call: ToolCall) -> str:
        threads.append(threading.current_thread())

        async def inner() -> str:
            return current_context().call.id

        return anyio.run(inner)

    played = door.play(agent(Model(ask(call("c1", "blocking")), say("done")), FakeTool("blocking", blocking)))
    assert results(played.session) == [("c1", False)]
    assert threads[0].daemon
    assert threads[0].name == "touba-tool-blocking"


def test_threads_run_beside_each_other_and_their_failures_are_results(door: Door) -> None:
    both = threading.Barrier(2, timeout=10)

    def meet(call: ToolCall) -> str:
        both.wait()
        if call.id == "c2":
            raise SystemExit(3)
        return "met"

    tool = FakeTool("meet", meet, concurrent=True)
    played = door.play(agent(Model(ask(call("c1", "meet"), call("c2", "meet")), say("done")), tool))
    assert results(played.session) == [("met", False), ("SystemExit", True)]


def test_a_plain_function_may_give_an_awaitable(door: Door) -> None:
    async def later() -> str:
        await anyio.lowlevel.checkpoint()
        return "later"

    played = door.play(agent(Model(ask(call("c1", "lazy")), say("done")), FakeTool("lazy", lambda call: later())))
    assert results(played.session) == [("later", False)]


def test_case_039_no_content(door: Door) -> None:
    async def nothing(call: ToolCall) -> None:
        return None

    played = door.play(agent(Model(ask(call("c1", "nothing")), say("done")), FakeTool("nothing", nothing)))
    [message] = [m for m in played.session.messages if m.tool_results]
    assert message.tool_results[0].content == ()
    assert not message.tool_results[0].is_error


def test_what_is_no_content_is_an_error_result(door: Door) -> None:
    async def wrong(call: ToolCall) -> Any:
        return 3.5

    async def surrogate(call: ToolCall) -> Any:
        return ["a\ud800b", StructuredContentPart('{"a":1}')]

    tools = [FakeTool("wrong", wrong), FakeTool("odd", surrogate)]
    played = door.play(agent(Model(ask(call("c1", "wrong"), call("c2", "odd")), say("done")), *tools))
    assert results(played.session) == [
        ("a tool gave float, which is no content of a result", True),
        ("a\ufffdb", False),
    ]
    assert Session.from_json(played.session.to_json()).messages == played.session.messages


def test_case_041_an_unknown_argument(door: Door) -> None:
    from touba_sdk.agent import tool

    @tool
    def double(a: int) -> int:
        "Double a number."
        return 2 * a

    played = door.play(agent(Model(ask(call("c1", "double", a=4, b=5)), say("done")), double))
    assert results(played.session) == [("8", False)]


def test_case_042_a_missing_argument(door: Door) -> None:
    from touba_sdk.agent import tool

    ran: list[int] = []
    asked: list[object] = []

    @tool
    def double(a: int) -> int:
        "Double a number."
        ran.append(a)
        return 2 * a

    played = door.play(agent(Model(ask(call("c1", "double", b=5)), say("done")), double, after_tool=asked.append))
    [(text, is_error)] = results(played.session)
    assert is_error
    assert text.startswith("invalid arguments: ")
    assert "a" in text.removeprefix("invalid arguments: ")
    assert ran == []
    assert asked == [], "after-tool hooks see only tools that ran"


def test_case_043_what_a_tool_appends_comes_behind_the_results(door: Door) -> None:
    session = Session()

    async def talk(call: ToolCall) -> str:
        session.append("by the way")
        assert roles(session) == ["user", "assistant"]
        return "ok"

    model = Model(ask(call("c1", "talk")), say("done"))
    door.play(agent(model, FakeTool("talk", talk)), session, "go")
    assert roles(session) == ["user", "assistant", "tool", "user", "assistant"]
    assert model.requests[1].messages[-1].text == "by the way"


def test_case_044_calls_of_a_cut_answer_do_not_run(door: Door) -> None:
    asked: list[object] = []
    cut = ask(call("c1", "add", a=1, b=2), reason=FinishReason.LENGTH)
    options: dict[str, Any] = {"before_tool": asked.append, "after_tool": asked.append}
    played = door.play(agent(Model(cut, say("done")), ADD, **options))
    assert asked == []
    [(text, is_error)] = results(played.session)
    assert is_error
    assert "token limit" in text
    assert "issue the call again" in text
    assert played.types[3:5] == ["tool_started", "tool_completed"]
    assert played.ok.turns == 2


@pytest.mark.parametrize("broken", ['{"a": "é' + "x" * 3000, "not json", '["a list"]', '{"a":1,"a":2}', '"\ud800"'])
def test_case_045_undecodable_arguments_can_be_stored(broken: str) -> None:
    door = Door("stream-asyncio")
    model = Model(ask(call("c1", "add", broken)), say("done"))
    played = door.play(agent(model, ADD))
    restored = Session.from_json(played.session.to_json())
    assert restored.messages == played.session.messages
    [asked] = restored.messages[1].tool_calls
    kept = undecodable_arguments(asked)
    assert kept is not None
    assert len(kept.encode()) <= 2000
    assert broken.encode("utf-8", "replace").decode().startswith(kept)
    assert results(restored) == [("invalid arguments: they are not a JSON object", True)]
    assert played.ok.text == "done"


def test_no_arguments_at_all_are_left_alone(door: Door) -> None:
    played = door.play(agent(Model(ask(call("c1", "t", "")), say("done")), text_tool("t", "fine")))
    assert played.session.messages[1].tool_calls[0].args == ""
    assert results(played.session) == [("fine", False)]


@pytest.mark.parametrize("member", ["undecodable_arguments", "pips_undecodable_arguments"])
def test_case_046_the_marker_from_the_model_is_refused(member: str) -> None:
    from touba_sdk.agent import tool

    @tool
    def anything(undecodable_arguments: str = "", pips_undecodable_arguments: str = "") -> str:
        "Take anything."
        return "ran"

    model = Model(ask(call("c1", "anything", json.dumps({member: "x"}))), say("done"))
    played = Door("run-asyncio").play(agent(model, anything))
    [(text, is_error)] = results(played.session)
    assert is_error
    assert text.startswith("invalid arguments")


def test_case_047_a_providers_tool(door: Door) -> None:
    from touba_sdk.agent import provider_tool

    declaration = ToolDeclaration(
        "search", kind=ToolKind.PROVIDER_EXECUTED, provider_type="web_search", provider_data={"max_uses": 3}
    )
    model = Model(ask(call("c1", "search")), say("done"))
    played = door.play(agent(model, provider_tool(declaration)))
    assert model.requests[0].tools == [declaration]
    assert results(played.session) == [("", False)]


def test_case_049_two_calls_of_one_id(door: Door) -> None:
    asked: list[object] = []
    model = Model(ask(call("c1", "add", a=1, b=1), call("c1", "add", a=2, b=2)))
    played = door.play(agent(model, ADD, before_tool=asked.append))
    assert isinstance(played.error, ModelResponseError)
    assert played.error.code == "duplicate_call"
    assert asked == []
    assert roles(played.session) == ["user"]
    assert played.result is not None
    assert (played.result.turns, played.session.usage.total_tokens) == (1, 15)


def test_a_call_decodes_its_arguments() -> None:
    assert ToolCall("c1", "add", '{"a": 1}').arguments == {"a": 1}
    assert ToolCall("c1", "add").arguments == {}
    with pytest.raises(InvalidMessageError):
        _ = ToolCall("c1", "add", "[1]").arguments


def test_a_cancellation_from_inside_of_a_tool_is_an_error_result() -> None:
    import asyncio

    async def confused(call: ToolCall) -> str:
        raise asyncio.CancelledError

    for name in ("run-asyncio", "stream_sync"):
        played = Door(name).play(agent(Model(ask(call("c1", "odd")), say("done")), FakeTool("odd", confused)))
        assert results(played.session) == [("the tool was cancelled from within", True)]
        assert played.ok.stop == "end_turn"
