"""Cases 113–121: runs that are cancelled, abandoned or failing, and what they leave behind."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from concurrent.futures import CancelledError
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from touba_sdk.agent import (
    Agent,
    Deny,
    MessageCommitted,
    ModelStreamEvent,
    Pause,
    PendingToolCallsError,
    RunActiveError,
    RunCancelled,
    RunCompleted,
    RunInfo,
    Session,
    Terminate,
    ToolCall,
    ToolCallInfo,
    ToolCompleted,
    ToolResultOverride,
    ToolStarted,
    TurnCompleted,
    current_context,
    execution,
)
from touba_sdk.models import OverloadedError, Request, RunSyncInLoopError, TextDelta

from .kit import (
    ADD,
    Door,
    FakeTool,
    Model,
    add_call,
    ask,
    call,
    function_model,
    raising,
    results,
    roles,
    say,
    text_tool,
    until_cancelled,
)


def agent(model: Any, *tools: Any, **options: Any) -> Agent:
    return Agent(model, tools=tools or [ADD], **options)


def cancelling(door: Door, name: str = "cancels", **options: Any) -> FakeTool:
    """A tool that cancels its run and waits for that."""

    async def execute(call: ToolCall) -> str:
        door.cancel()
        await until_cancelled()
        return "never"

    return FakeTool(name, execute, **options)


def test_case_113_a_committed_answer_beats_a_cancellation(cancel_door: Door) -> None:
    async def prepare(info: RunInfo) -> None:
        cancel_door.cancel()
        await until_cancelled()

    played = cancel_door.play(agent(Model(say("done")), prepare_turn=prepare))
    assert played.result is not None
    assert (played.result.stop, played.result.text) == ("end_turn", "done")
    assert played.types[-2:] == ["turn_completed", "run_completed"]
    assert played.seen[-1].type == "run_completed"


def test_a_terminated_turn_beats_a_cancellation(cancel_door: Door) -> None:
    async def prepare(info: RunInfo) -> None:
        cancel_door.cancel()
        await until_cancelled()

    stop = raising("stop", Terminate("the end"))
    played = cancel_door.play(agent(Model(ask(call("c1", "stop"))), stop, prepare_turn=prepare))
    assert played.result is not None
    assert (played.result.stop, played.error) == ("terminated", None)
    assert results(played.session) == [("the end", False)]
    assert played.events[-1].type == "run_completed"


@pytest.mark.parametrize("limit", [{"max_turns": 1}, {"max_tokens": 1}, {"stop_when": lambda info: True}])
@pytest.mark.parametrize("name", ["run-asyncio", "run-trio", "stream-asyncio", "stream-trio"])
def test_a_cancellation_is_seen_before_the_limits(name: str, limit: dict[str, Any]) -> None:
    door = Door(name)
    played = door.play(agent(Model(add_call()), prepare_turn=lambda info: door.cancel(), **limit))
    assert isinstance(played.error, CancelledError)
    assert played.result is not None
    assert (played.result.stop, played.result.turns) == (None, 1)
    assert results(played.session) == [("5", False)]
    assert played.events[-1].type == "run_cancelled"


def test_a_committed_answer_does_not_beat_a_cancellation_when_more_is_queued(cancel_door: Door) -> None:
    session = Session()

    async def prepare(info: RunInfo) -> None:
        session.steer("more")
        cancel_door.cancel()
        await until_cancelled()

    played = cancel_door.play(agent(Model(say("done")), prepare_turn=prepare), session, "go")
    assert isinstance(played.error, CancelledError)
    assert played.result is not None
    assert (played.result.stop, played.result.turns) == (None, 1)
    assert played.events[-1].type == "run_cancelled"
    assert session.has_queued


def test_case_114_cancelled_before_the_second_call(cancel_door: Door) -> None:
    model = Model(add_call())

    async def watch(event: Any) -> None:
        if isinstance(event.payload, TurnCompleted):
            cancel_door.cancel()
            if not cancel_door.backend:  # the wish comes from another thread, which looks every now and then
                await until_cancelled()

    played = cancel_door.play(agent(model, on_event=watch))
    assert isinstance(played.error, CancelledError)
    assert played.result is not None
    assert played.result.turns == 1
    assert len(model.requests) == 1
    assert roles(played.session) == ["user", "assistant", "tool"]


def test_cancelled_during_the_models_answer(cancel_door: Door) -> None:
    async def hang(request: Request) -> Any:
        cancel_door.cancel()
        await until_cancelled()

    played = cancel_door.play(agent(function_model(hang)))
    assert isinstance(played.error, CancelledError)
    assert played.result is not None
    assert (played.result.turns, played.result.response) == (0, None)
    assert roles(played.session) == ["user"]
    assert [event.type.value for event in played.events][-1] == "run_cancelled"
    assert cancel_door.play(agent(Model(say("on"))), played.session).ok.text == "on"


def test_case_115_a_denial_keeps_its_text(cancel_door: Door) -> None:
    def gate(info: ToolCallInfo) -> Deny | None:
        return Deny("not that") if info.batch_index == 1 else None

    calls = [call("c1", "cancels"), call("c2", "add", a=1, b=1), call("c3", "add", a=1, b=1)]
    played = cancel_door.play(agent(Model(ask(*calls)), cancelling(cancel_door), ADD, before_tool=gate))
    assert isinstance(played.error, CancelledError)
    assert results(played.session) == [
        ("tool execution cancelled", True), ("not that", True), ("tool execution cancelled", True),
    ]  # fmt: skip
    assert played.session.pending == ()
    tail = [type(event.payload) for event in played.events[-8:]]
    assert tail == [
        ToolCompleted, ToolStarted, ToolCompleted, ToolStarted, ToolCompleted, MessageCommitted, TurnCompleted, RunCancelled,
    ]  # fmt: skip
    assert played.result is not None
    assert (played.result.turns, played.result.stop) == (1, None)


def test_what_ran_before_a_cancellation_keeps_its_result(cancel_door: Door) -> None:
    after: list[str] = []

    async def shielded(call: ToolCall) -> str:
        with anyio.CancelScope(shield=True):
            await anyio.sleep(0.01)
        return "finished all the same"

    tools = [FakeTool("shielded", shielded, concurrent=True), cancelling(cancel_door, concurrent=True)]
    played = cancel_door.play(
        agent(
            Model(ask(call("c1", "shielded"), call("c2", "cancels"))),
            *tools,
            after_tool=lambda info: after.append(info.call.id),
        )
    )
    assert isinstance(played.error, CancelledError)
    assert results(played.session) == [("finished all the same", False), ("tool execution cancelled", True)]
    assert after == ["c1"]


def test_an_after_tool_hook_that_is_interrupted_is_asked_again(cancel_door: Door) -> None:
    asked: list[str] = []

    async def redact(info: Any) -> ToolResultOverride:
        asked.append(info.call.id)
        if len(asked) == 1:
            cancel_door.cancel()
            await until_cancelled()
        await anyio.lowlevel.checkpoint()
        return ToolResultOverride(content="redacted")

    played = cancel_door.play(agent(Model(add_call()), after_tool=redact))
    assert isinstance(played.error, CancelledError)
    assert asked == ["c1", "c1"]
    assert results(played.session) == [("redacted", False)]


def test_a_gate_that_is_interrupted_leaves_no_call_open(cancel_door: Door) -> None:
    async def gate(info: ToolCallInfo) -> None:
        cancel_door.cancel()
        await until_cancelled()

    played = cancel_door.play(agent(Model(add_call()), before_tool=gate))
    assert isinstance(played.error, CancelledError)
    assert results(played.session) == [("tool execution cancelled", True)]


def test_what_a_gate_paused_stays_paused(cancel_door: Door) -> None:
    def gate(info: ToolCallInfo) -> Pause | None:
        return Pause() if info.batch_index == 1 else None

    calls = [call("c1", "cancels"), call("c2", "add", a=1, b=1)]
    played = cancel_door.play(agent(Model(ask(*calls)), cancelling(cancel_door), ADD, before_tool=gate))
    assert isinstance(played.error, CancelledError)
    assert [pending.id for pending in played.session.pending] == ["c2"]


# -- leaving a stream ------------------------------------------------------------------------------------------------


def test_case_117_left_at_the_calls(stream_door: Door) -> None:
    ran: list[str] = []

    async def note(call: ToolCall) -> str:
        ran.append(call.id)
        return "ran"

    model = Model(ask(call("c1", "note"), call("c2", "note")))
    played = stream_door.play(
        agent(model, FakeTool("note", note)), leave=lambda event: event.type == "message_committed"
    )
    assert ran == []
    assert [pending.id for pending in played.session.pending] == ["c1", "c2"]
    assert [event.type.value for event in played.events[-2:]] == ["message_committed", "run_cancelled"]
    assert isinstance(stream_door.play(agent(Model()), played.session).error, PendingToolCallsError)
    played.session.resolve({"c1": "x", "c2": "y"})
    assert stream_door.play(agent(Model(say("on"))), played.session).ok.text == "on"


def test_case_118_left_at_the_first_tool(stream_door: Door) -> None:
    calls = [call("c1", "add", a=1, b=1), call("c2", "add", a=2, b=2)]
    played = stream_door.play(agent(Model(ask(*calls))), leave=lambda event: event.type == "tool_started")
    assert results(played.session) == [("tool execution cancelled", True)] * 2
    assert played.seen[-1].type == "tool_started"
    assert played.events[-1].type == "run_cancelled"
    assert len(played.seen) < len(played.events)


def test_case_119_leaving_joins_running_tools(stream_door: Door) -> None:
    ended: list[str] = []

    async def careful(call: ToolCall) -> str:
        try:
            await anyio.sleep(20)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.02)
            ended.append(call.id)
        return "never"

    started = []

    def second(event: Any) -> bool:
        started.extend([event] if event.type == "tool_started" else [])
        return len(started) == 2

    calls = [call("c1", "careful"), call("c2", "careful")]
    played = stream_door.play(agent(Model(ask(*calls)), FakeTool("careful", careful, concurrent=True)), leave=second)
    # The second one had not begun when the consumer left.
    assert ended == ["c1"]
    assert results(played.session) == [("tool execution cancelled", True)] * 2


def test_leaving_waits_for_a_thread_that_heeds_it(stream_door: Door) -> None:
    ended: list[str] = []

    def loops(call: ToolCall) -> str:
        context = current_context()
        assert context is not None
        context.report_progress("begun")
        for _ in range(2000):
            if context.cancelled:
                ended.append("saw it")
                return "stopped early"
            time.sleep(0.005)
        return "never"

    played = stream_door.play(
        agent(Model(ask(call("c1", "loops"))), FakeTool("loops", loops)),
        leave=lambda event: event.type == "tool_updated",
    )
    assert ended == ["saw it"]
    assert results(played.session) == [("stopped early", False)]


def test_leaving_leaves_a_stubborn_thread_behind(
    stream_door: Door, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "GRACE", 0.05)
    release = threading.Event()

    def stubborn(call: ToolCall) -> str:
        context = current_context()
        assert context is not None
        context.report_progress("begun")
        release.wait(20)
        return "too late"

    with caplog.at_level(logging.WARNING, "touba_sdk.agent"):
        begun = time.monotonic()
        played = stream_door.play(
            agent(Model(ask(call("c1", "stubborn"))), FakeTool("stubborn", stubborn)),
            leave=lambda event: event.type == "tool_updated",
        )
        took = time.monotonic() - begun
    release.set()
    assert took < 5
    assert results(played.session) == [("tool execution cancelled", True)]
    assert "stubborn" in caplog.text


def test_left_within_the_models_answer_nothing_of_it_is_kept(stream_door: Door) -> None:
    played = stream_door.play(
        agent(Model(say("a long answer"))),
        leave=lambda event: isinstance(event.payload, ModelStreamEvent) and isinstance(event.payload.event, TextDelta),
    )
    assert roles(played.session) == ["user"]
    assert played.result is not None
    assert (played.result.stop, played.result.turns) == (None, 0)


def test_left_at_a_committed_answer_the_run_is_complete(stream_door: Door) -> None:
    played = stream_door.play(agent(Model(say("done"))), leave=lambda event: event.type == "message_committed")
    assert played.result is not None
    assert played.result.stop == "end_turn"
    assert isinstance(played.events[-1].payload, RunCompleted)
    assert played.types[-2:] == ["turn_completed", "run_completed"]


def test_a_stream_that_is_never_asked_does_nothing(anyio_backend: str) -> None:
    session, model = Session(), Model(say("never"))

    async def main() -> None:
        async with agent(model).stream(session, "go") as stream:
            assert stream.result is None
        with pytest.raises(RuntimeError, match="async with"):
            await agent(model).stream(session, "go").__anext__()

    anyio.run(main, backend=anyio_backend)
    assert (session.messages, model.requests, session.last_result) == ((), [], None)


def test_what_the_block_raises_stays_as_it_is(anyio_backend: str) -> None:
    session = Session()

    async def main() -> None:
        async with agent(Model(add_call(), say("x"))).stream(session, "go") as stream:
            async for event in stream:
                if event.type == "tool_started":
                    raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        anyio.run(main, backend=anyio_backend)
    assert results(session) == [("tool execution cancelled", True)]


def test_a_stream_goes_on_only_when_it_is_asked(anyio_backend: str) -> None:
    done: list[str] = []

    async def main() -> None:
        model = Model(lambda request: done.append("model") or add_call(), say("five"))
        async with agent(model, before_tool=lambda info: done.append("gate")).stream(Session(), "go") as stream:
            async for event in stream:
                before = list(done)
                for _ in range(5):
                    await anyio.lowlevel.checkpoint()
                assert done == before, f"something happened behind {event.type}"

    anyio.run(main, backend=anyio_backend)
    assert done == ["model", "gate"]


def test_scopes_of_the_consumer_may_end_between_events(anyio_backend: str) -> None:
    """Nothing of the run is left open that a scope around one step would close with it."""
    session = Session()

    async def main() -> int:
        count = 0
        async with agent(Model(add_call(), say("five"))).stream(session, "go") as stream:
            while True:
                with anyio.move_on_after(10):
                    try:
                        await stream.__anext__()
                    except StopAsyncIteration:
                        return count
                async with anyio.create_task_group():
                    count += 1

    assert anyio.run(main, backend=anyio_backend) > 10
    assert results(session) == [("5", False)]


def test_a_time_out_around_one_step_cancels_the_run(anyio_backend: str) -> None:
    session = Session()

    async def slow(call: ToolCall) -> str:
        await anyio.sleep(20)
        return "never"

    async def main() -> None:
        async with agent(Model(ask(call("c1", "slow"))), FakeTool("slow", slow)).stream(session, "go") as stream:
            while True:
                with anyio.move_on_after(0.05) as scope:
                    event = await stream.__anext__()
                if scope.cancelled_caught:
                    break
                assert event.type != "run_cancelled"
            with pytest.raises(StopAsyncIteration):
                await stream.__anext__()

    anyio.run(main, backend=anyio_backend)
    assert results(session) == [("tool execution cancelled", True)]
    assert session.last_result is not None
    assert session.last_result.stop is None


def test_two_tasks_may_not_ask_one_run_at_once(anyio_backend: str) -> None:
    async def main() -> None:
        async def slow(request: Request) -> Any:
            await anyio.sleep(0.01)
            return say("x")

        async with agent(function_model(slow)).stream(Session(), "go") as stream:
            await stream.__anext__()
            await stream.__anext__()
            async with anyio.create_task_group() as group:
                group.start_soon(stream.__anext__)
                await anyio.sleep(0.001)
                with pytest.raises(RuntimeError, match="on its way already"):
                    await stream.__anext__()

    anyio.run(main, backend=anyio_backend)


# -- cancellations of asyncio itself, of threads, and interrupts -----------------------------------------------------


def test_a_plain_asyncio_cancellation_is_let_through() -> None:
    session = Session()

    async def main() -> None:
        started = asyncio.Event()

        async def hang(call: ToolCall) -> str:
            started.set()
            await asyncio.sleep(20)
            return "never"

        running = asyncio.create_task(agent(Model(ask(call("c1", "hang"))), FakeTool("hang", hang)).run(session, "go"))
        await started.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(main())
    assert results(session) == [("tool execution cancelled", True)]
    assert roles(session) == ["user", "assistant", "tool"]


def test_a_second_cancellation_cuts_the_settling_short() -> None:
    session = Session()

    async def main() -> None:
        settling = asyncio.Event()
        never = asyncio.Event()

        async def stubborn(call: ToolCall) -> str:
            try:
                await never.wait()
            finally:
                settling.set()
                with anyio.CancelScope(shield=True):
                    await asyncio.sleep(0.05)
            return "never"

        model = Model(ask(call("c1", "stubborn")))
        running = asyncio.create_task(agent(model, FakeTool("stubborn", stubborn)).run(session, "go"))
        await asyncio.sleep(0.01)
        running.cancel()
        await settling.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(main())
    assert results(session) == [("tool execution cancelled", True)]


def test_asyncio_time_outs_work_around_a_run() -> None:
    session = Session()

    async def main() -> None:
        async def hang(request: Request) -> Any:
            await asyncio.sleep(20)

        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await agent(function_model(hang)).run(session, "go")

    asyncio.run(main())
    assert session.last_result is not None
    assert roles(session) == ["user"]


def test_a_synchronous_run_is_cancelled_from_another_thread() -> None:
    session, cancel = Session(), threading.Event()
    started = threading.Event()

    async def hang(call: ToolCall) -> str:
        started.set()
        await anyio.sleep(20)
        return "never"

    def later() -> None:
        started.wait(10)
        cancel.set()

    threading.Thread(target=later).start()
    with pytest.raises(CancelledError):
        agent(Model(ask(call("c1", "hang"))), FakeTool("hang", hang)).run_sync(session, "go", cancel=cancel)
    assert results(session) == [("tool execution cancelled", True)]


def test_a_synchronous_run_from_inside_of_one_is_refused() -> None:
    inner = agent(Model(say("never")))

    def gate(info: ToolCallInfo) -> None:
        inner.run_sync(Session(), "go")

    with pytest.raises(RunSyncInLoopError):
        agent(Model(add_call()), before_tool=gate).run_sync(Session(), "go")


def test_a_tool_in_a_thread_may_run_an_agent_synchronously() -> None:
    inner = agent(Model(say("from inside")))
    tool = FakeTool("nested", lambda call: inner.run_sync(Session(), "go").text)
    session = Session()
    agent(Model(ask(call("c1", "nested")), say("done")), tool).run_sync(session, "go")
    assert results(session) == [("from inside", False)]


def test_an_interrupt_settles_the_run(run_python: Any) -> None:
    program = """
import os, signal, anyio
from touba_sdk.agent import Agent, Session
from touba_sdk.models import ToolCallPart, ToolDeclaration
from touba_sdk.testing.models import ScriptedModel

class Hang:
    declaration = ToolDeclaration("hang")
    async def execute(self, call):
        os.kill(os.getpid(), signal.SIGINT)
        await anyio.sleep(20)

def agent():
    return Agent(ScriptedModel(ToolCallPart("c1", "hang")), tools=[Hang()])

def show(session):
    print([part.text for message in session.messages for part in message.tool_results], session.last_result.stop)

session = Session()
try:
    agent().run_sync(session, "go")
except KeyboardInterrupt:
    show(session)
session = Session()
try:
    with agent().stream_sync(session, "go") as stream:
        list(stream)
except KeyboardInterrupt:
    show(session)
for backend in ("asyncio", "trio"):
    session = Session()
    try:
        anyio.run(agent().run, session, "go", backend=backend)
    except KeyboardInterrupt:
        show(session)
"""
    done = run_python(program)
    assert done.stderr == ""
    assert done.stdout == "['tool execution cancelled'] None\n" * 4


def test_a_run_whose_task_is_dropped_leaves_a_whole_session() -> None:
    session = Session()
    started: list[str] = []

    async def hang(call: ToolCall) -> str:
        started.append(call.id)
        await asyncio.sleep(20)
        return "never"

    running = agent(Model(ask(call("c1", "hang"), call("c2", "hang"))), FakeTool("hang", hang)).run(session, "go")

    class Drop:
        """Awaits the run, and gives it up as soon as its first tool has started."""

        def __await__(self) -> Any:
            trap: Any = None
            while not started:
                if trap is None or trap.done():
                    trap = running.send(None)
                yield None
            running.close()

    async def main() -> None:
        await Drop()

    asyncio.run(main())
    assert results(session) == [("tool execution cancelled", True)] * 2
    assert not session._running


def test_a_stream_whose_task_is_dropped_between_events_leaves_a_whole_session() -> None:
    session = Session()

    async def consume() -> None:
        async with agent(Model(add_call())).stream(session, "go") as stream:
            async for event in stream:
                if event.type == "tool_started":
                    await asyncio.get_running_loop().create_future()

    class Drop:
        """Awaits the consumer until it waits for what never comes, and gives it up."""

        def __await__(self) -> Any:
            running = consume()
            while not session._running or not session.pending:
                running.send(None)
                yield None
            running.close()

    async def main() -> None:
        await Drop()

    asyncio.run(main())
    assert not session._running
    assert results(session) == [("tool execution cancelled", True)]


def test_a_run_needs_a_session() -> None:
    with pytest.raises(TypeError, match="with a session first, not with str"):
        agent(Model()).run_sync("What is 2+3?")


# -- failures --------------------------------------------------------------------------------------------------------


def test_case_121_a_failing_run_releases_its_session(door: Door) -> None:
    played = door.play(agent(Model(OverloadedError("busy"))))
    assert isinstance(played.error, OverloadedError)
    assert door.play(agent(Model(say("on"))), played.session, "again").ok.text == "on"


def test_an_active_session_is_not_run_twice(door: Door) -> None:
    session = Session()
    errors: list[BaseException] = []

    async def again(call: ToolCall) -> str:
        try:
            await agent(Model(say("no"))).run(session, "hello")
        except RunActiveError as error:
            errors.append(error)
        return "tried"

    played = door.play(agent(Model(ask(call("c1", "again")), say("done")), FakeTool("again", again)), session, "go")
    assert len(errors) == 1
    assert played.ok.turns == 2
    assert roles(session) == ["user", "assistant", "tool", "assistant"]


def test_an_observer_that_raises_ends_the_run_and_settles_the_tools(door: Door) -> None:
    failure = OSError("disk full")
    calls = [call(f"c{n}", "text") for n in (1, 2)]

    def observer(event: Any) -> None:
        if event.type == "tool_completed":
            raise failure

    seen: list[str] = []
    played = door.play(
        agent(
            Model(ask(*calls)),
            text_tool("text", "fine"),
            on_event=[observer, lambda event: seen.append(event.type.value)],
        )
    )
    assert played.error is failure
    assert failure.__notes__[0] == "in hook on_event, turn 1"
    assert results(played.session) == [("fine", False), ("tool execution cancelled", True)]
    assert seen[-1] == "run_failed"
    assert seen == [event.type.value for event in played.events], "every observer sees every event"


def test_an_observer_that_raises_after_the_consumer_left_is_heard(stream_door: Door) -> None:
    def observer(event: Any) -> None:
        if isinstance(event.payload, RunCancelled):
            raise OSError("disk full")

    played = stream_door.play(
        agent(Model(add_call()), on_event=observer), leave=lambda event: event.type == "tool_started"
    )
    assert isinstance(played.error, OSError)
    assert results(played.session) == [("tool execution cancelled", True)]


def test_a_failure_is_raised_even_where_the_consumer_leaves_on_its_event(stream_door: Door) -> None:
    failure = OverloadedError("busy")
    played = stream_door.play(agent(Model(failure)), leave=lambda event: event.type == "run_failed")
    assert played.error is failure
    assert not played.session._running


def test_an_observer_that_raises_at_the_end_keeps_the_result(door: Door) -> None:
    def observer(event: Any) -> None:
        if isinstance(event.payload, RunCompleted):
            raise OSError("disk full")

    played = door.play(agent(Model(say("done")), on_event=observer))
    assert isinstance(played.error, OSError)
    assert played.result is not None
    assert played.result.stop == "end_turn"


def test_a_stream_whose_connection_breaks_is_closed(stream_door: Door) -> None:
    broken = OverloadedError("gone")
    played = stream_door.play(agent(Model([TextDelta("half"), broken])))
    assert played.error is broken
    assert broken.response is not None
    assert broken.response.text == "half"
    assert roles(played.session) == ["user"]
    assert played.seen[-1].type == "run_failed"
