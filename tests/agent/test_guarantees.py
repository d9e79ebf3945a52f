"""What the loop promises, each with a test: through every door, and with runs that end at every one of their events."""

from __future__ import annotations

from concurrent.futures import CancelledError
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from touba_sdk.agent import (
    Agent,
    Deny,
    RunCancelled,
    RunCompleted,
    Session,
    Terminate,
    ToolCall,
    ToolError,
    current_context,
)
from touba_sdk.models import Message, ModelResponseError, Request, Role
from touba_sdk.testing.models import ScriptedModel

from .kit import (
    ADD,
    Door,
    FakeTool,
    Model,
    Played,
    ask,
    call,
    endless,
    function_model,
    raising,
    results,
    say,
    text_tool,
)


class Broken(BaseException):
    """Not even an `Exception`."""


@pytest.mark.parametrize(
    "error",
    [
        ToolError("no"),
        ValueError(),
        KeyError("k"),
        RecursionError("deep"),
        TimeoutError("own"),
        ExceptionGroup("g", [ValueError("x")]),
    ],
)
@pytest.mark.parametrize("place", ["async", "thread", "concurrent"])
def test_a_tool_failure_never_ends_a_run(door: Door, error: Exception, place: str) -> None:
    def execute(call: ToolCall) -> Any:
        raise error

    tool = FakeTool("t", execute) if place == "thread" else raising("t", error, concurrent=place == "concurrent")
    played = door.play(Agent(Model(ask(call("c1", "t"), call("c2", "add", a=1, b=1)), say("done")), tools=[tool, ADD]))
    assert played.ok.text == "done"
    assert [is_error for _, is_error in results(played.session)] == [True, False]


def test_not_even_what_is_no_exception_ends_a_run_from_a_thread(door: Door) -> None:
    def execute(call: ToolCall) -> Any:
        raise Broken

    played = door.play(Agent(Model(ask(call("c1", "t")), say("done")), tools=[FakeTool("t", execute)]))
    assert results(played.session) == [("Broken", True)]


def rich_agent() -> Agent:
    """Two turns with concurrent, serial, denied, unknown, failing and blocking tools, and an answer."""

    async def slow(call: ToolCall) -> str:
        context = current_context()
        assert context is not None
        context.report_progress("begun")
        await anyio.sleep(0.002)
        return "slow"

    tools = [
        FakeTool("slow", slow, concurrent=True),
        text_tool("serial", "serial"),
        FakeTool("blocking", lambda call: "blocking"),
        raising("fails", ToolError("no")),
    ]
    first = ask(*(call(f"a{n}", name) for n, name in enumerate(["slow", "slow", "serial", "gone", "fails", "slow"])))
    second = ask(*(call(f"b{n}", name) for n, name in enumerate(["blocking", "slow", "serial"])))

    def gate(info: Any) -> Deny | None:
        return Deny("denied") if info.call.id == "b2" else None

    return Agent(Model(first, second, say("done"), say("more")), tools=tools, before_tool=gate)


def check(played: Played, session: Session) -> None:
    """The conversation is one that a provider takes, as soon as what is pending is resolved, and it goes on."""
    for place, message in enumerate(session.messages):
        if message.tool_calls and place + 1 < len(session.messages):
            follower = session.messages[place + 1]
            assert follower.role is Role.TOOL
            asked = [each.id for each in message.tool_calls]
            assert [each.tool_call_id for each in follower.tool_results] == asked, "in the order of the calls"
    session.resolve_pending(lambda each: "resolved")
    assert played.door.play(Agent(Model(say("on"))), session, "again").ok.text == "on"


LENGTH = len(Door("run-asyncio").play(rich_agent()).events)


@pytest.mark.parametrize("place", range(LENGTH))
def test_a_run_that_is_cancelled_at_any_event_answers_its_calls(place: int) -> None:
    for name in ("run-asyncio", "run-trio", "stream-trio"):
        door = Door(name)
        count = iter(range(1000))

        async def observer(event: Any, door: Door = door, count: Any = count) -> None:
            if next(count) == place:
                door.cancel()
                await anyio.lowlevel.checkpoint()

        session = Session()
        played = door.play(rich_agent().replace(on_event=observer), session, "go")
        assert session.pending == ()
        if played.error is None:
            assert isinstance(played.events[-1].payload, RunCompleted)
        else:
            assert isinstance(played.error, CancelledError)
            assert isinstance(played.events[-1].payload, RunCancelled)
        check(played, session)


@pytest.mark.parametrize("place", range(LENGTH))
def test_a_stream_that_is_left_at_any_event_leaves_a_whole_session(place: int) -> None:
    for name in ("stream-asyncio", "stream-trio", "stream_sync"):
        count = iter(range(1000))
        session = Session()
        played = Door(name).play(
            rich_agent(), session, "go", leave=lambda event, count=count: event.type != "model_stream" and next(count) == place
        )  # fmt: skip
        assert played.error is None
        check(played, session)


def test_every_call_is_answered_before_the_model_is_called_again(door: Door) -> None:
    unanswered: list[int] = []

    def watch(request: Request) -> None:
        asked = [each.id for message in request.messages for each in message.tool_calls]
        answered = [each.tool_call_id for message in request.messages for each in message.tool_results]
        unanswered.append(len(asked) - len(answered))

    door.play(rich_agent().replace(request=watch))
    assert unanswered == [0, 0, 0]


@pytest.mark.parametrize("limit", [{"max_turns": 1}, {"max_tokens": 1}, {"stop_when": lambda info: True}])
def test_a_natural_stop_beats_every_limit(door: Door, limit: dict[str, Any]) -> None:
    assert door.play(Agent(Model(say("done")), **limit)).ok.stop == "end_turn"
    stopping = Agent(Model(ask(call("c1", "t"))), tools=[raising("t", Terminate("end"))], **limit)
    assert door.play(stopping).ok.stop == "terminated"
    assert door.play(Agent(endless(), tools=[ADD], **limit)).ok.turns == 1


def test_results_keep_the_order_of_the_calls(door: Door) -> None:
    async def execute(call: ToolCall) -> str:
        await anyio.sleep(call.arguments["wait"])
        return call.id

    waits = [0.004, 0.0, 0.002, 0.001, 0.003]
    calls = [call(f"c{n}", "t", wait=wait) for n, wait in enumerate(waits)]
    tool = FakeTool("t", execute, concurrent=True)
    played = door.play(Agent(Model(ask(*calls), say("done")), tools=[tool], parallel_tools=5))
    assert [text for text, _ in results(played.session)] == [f"c{n}" for n in range(5)]


def test_gates_finish_before_the_first_effect_of_a_batch(door: Door) -> None:
    order: list[str] = []

    async def execute(call: ToolCall) -> str:
        order.append("effect")
        return "ok"

    async def gate(info: Any) -> None:
        await anyio.sleep(0.001)
        order.append("gate")

    tools = [FakeTool("t", execute, concurrent=True)]
    calls = [call(f"c{n}", "t") for n in range(3)]
    door.play(Agent(Model(ask(*calls), say("done")), tools=tools, before_tool=gate))
    assert order == ["gate"] * 3 + ["effect"] * 3


def test_an_answer_whose_calls_have_no_ids_is_refused(door: Door) -> None:
    played = door.play(Agent(ScriptedModel(ask(call("", "add", a=1, b=1))), tools=[ADD]))
    assert isinstance(played.error, ModelResponseError)
    assert [message.role for message in played.session.messages] == [Role.USER]


def test_a_long_run_lets_others_work_in_between(anyio_backend: str) -> None:
    beats: list[int] = []

    async def main() -> None:
        async def beat() -> None:
            while True:
                beats.append(1)
                await anyio.lowlevel.checkpoint()

        async with anyio.create_task_group() as group:
            group.start_soon(beat)
            await Agent(endless("nowhere"), max_turns=30).run(Session(), "go")
            group.cancel_scope.cancel()

    anyio.run(main, backend=anyio_backend)
    assert len(beats) >= 20


def test_a_model_that_never_waits_can_be_cancelled(anyio_backend: str) -> None:
    session = Session()

    async def main() -> None:
        with anyio.move_on_after(0.05):
            count = iter(range(10**9))
            model = function_model(lambda request: ask(call(f"c{next(count)}", "nowhere")))
            short = Agent(model, max_turns=None, transform_context=lambda messages: messages[:1])
            await short.run(session, "go")

    anyio.run(main, backend=anyio_backend)
    assert session.last_result is not None
    assert session.last_result.stop is None
    assert isinstance(session.messages[-1], Message)
    assert session.pending == ()
