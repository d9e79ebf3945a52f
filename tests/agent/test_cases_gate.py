"""Cases 50–79: gates, after-tool hooks, and tools that ask the run to stop."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest

from touba_sdk.agent import (
    Agent,
    Allow,
    Deny,
    Pause,
    PendingToolCallsError,
    Rejected,
    Session,
    StopReason,
    Terminate,
    ToolCall,
    ToolCallInfo,
    ToolDecision,
    ToolResultInfo,
    ToolResultOverride,
)
from touba_sdk.models import InvalidMessageError

from .kit import ADD, Door, FakeTool, Model, Played, add_call, ask, call, raising, results, roles, say, text_tool


def three() -> Any:
    return ask(*(call(f"c{n}", "add", a=n, b=n) for n in (1, 2, 3)))


def at(decisions: dict[int, ToolDecision], asked: list[ToolCallInfo] | None = None) -> Any:
    def gate(info: ToolCallInfo) -> ToolDecision | None:
        if asked is not None:
            asked.append(info)
        return decisions.get(info.batch_index)

    return gate


def calc(model: Model, *tools: Any, **options: Any) -> Agent:
    return Agent(model, tools=tools or [ADD], **options)


# -- gates -----------------------------------------------------------------------------------------------------------


def test_case_050_a_denial_with_a_reason(door: Door) -> None:
    played = door.play(calc(Model(add_call(), say("pity")), before_tool=at({0: Deny("no arithmetic")})))
    assert results(played.session) == [("no arithmetic", True)]
    assert (played.ok.stop, played.ok.turns) == ("end_turn", 2)


def test_case_051_a_denial_without_a_reason(door: Door) -> None:
    played = door.play(calc(Model(add_call(), say("pity")), before_tool=at({0: Deny()})))
    assert results(played.session) == [("tool call denied", True)]


def paused_at_second(door: Door) -> Played:
    return door.play(calc(Model(three()), before_tool=at({1: Pause()})))


def test_case_052_a_pause_in_the_middle(door: Door) -> None:
    played = paused_at_second(door)
    assert played.ok.stop is StopReason.PAUSED
    assert [c.id for c in played.ok.pending] == ["c2", "c3"]
    assert played.ok.pending == played.session.pending
    assert roles(played.session) == ["user", "assistant", "tool"]
    assert results(played.session) == [("2", False)]


def test_case_053_a_paused_session_is_not_run(door: Door) -> None:
    session = paused_at_second(door).session
    before = session.to_json(), session.last_result
    played = door.play(calc(Model(say("no"))), session, "hello")
    assert isinstance(played.error, PendingToolCallsError)
    assert [c.id for c in played.error.pending] == ["c2", "c3"]
    assert (played.events, played.result) == ([], None)
    assert (session.to_json(), session.last_result) == before


def test_case_054_resolved_and_gone_on(door: Door) -> None:
    session = paused_at_second(door).session
    session.resolve({"c3": Rejected("too risky"), "c2": "4"})
    assert roles(session) == ["user", "assistant", "tool", "tool"]
    assert results(session) == [("2", False), ("4", False), ("too risky", True)]
    played = door.play(calc(Model(say("done"))), session)
    assert (played.ok.stop, played.ok.text) == ("end_turn", "done")


def test_case_055_a_pause_at_the_first_call(door: Door) -> None:
    played = door.play(calc(Model(add_call()), before_tool=at({0: Pause()})))
    assert roles(played.session) == ["user", "assistant"]
    assert [c.id for c in played.session.pending] == ["c1"]
    assert played.ok.pending == played.session.pending


def test_case_057_the_gate_is_asked_until_it_pauses(door: Door) -> None:
    asked: list[ToolCallInfo] = []
    door.play(calc(Model(three()), before_tool=at({1: Pause()}, asked)))
    assert [(info.call.id, info.batch_index, info.batch_size, info.turn) for info in asked] == [
        ("c1", 0, 3, 1), ("c2", 1, 3, 1),
    ]  # fmt: skip


def test_case_058_gates_before_the_first_tool(door: Door) -> None:
    order: list[str] = []

    async def gate(info: ToolCallInfo) -> None:
        await anyio.lowlevel.checkpoint()
        order.append(f"gate {info.call.id}")

    def watch(event: Any) -> None:
        if event.type == "tool_started":
            order.append(f"start {event.payload.call.id}")

    door.play(calc(Model(three(), say("done")), before_tool=gate, on_event=watch))
    assert order == ["gate c1", "gate c2", "gate c3", "start c1", "start c2", "start c3"]


def test_case_059_a_denial_before_a_pause(door: Door) -> None:
    played = door.play(calc(Model(three()), before_tool=at({0: Deny("no"), 1: Pause()})))
    assert results(played.session) == [("no", True)]
    assert [c.id for c in played.session.pending] == ["c2", "c3"]


def test_case_061_a_pause_with_other_arguments(door: Door) -> None:
    played = door.play(calc(Model(add_call()), before_tool=at({0: Pause(updated_input={"a": 20, "b": 30})})))
    assert played.ok.pending[0].arguments == {"a": 20, "b": 30}
    [pending] = played.session.pending
    assert pending.arguments == {"a": 2, "b": 3}
    assert pending.rewritten is not None
    assert pending.effective == played.ok.pending[0]
    restored = Session.from_json(played.session.to_json())
    assert restored.pending[0].effective == pending.effective
    restored.resolve({"c1": "50"})
    assert "rewritten" not in restored.to_json()


def test_updated_input_is_what_runs_and_what_is_told(door: Door) -> None:
    seen: list[ToolResultInfo] = []
    gate = at({0: Allow(updated_input='{"a":20,"b":30}')})
    played = door.play(calc(Model(add_call(), say("done")), before_tool=gate, after_tool=seen.append))
    assert results(played.session) == [("50", False)]
    assert played.session.messages[1].tool_calls[0].arguments == {"a": 2, "b": 3}
    told = [e.payload.call.arguments for e in played.events if e.type in ("tool_started", "tool_completed")]
    assert told == [{"a": 20, "b": 30}] * 2
    assert seen[0].call.arguments == {"a": 20, "b": 30}
    with pytest.raises(InvalidMessageError):
        Allow(updated_input="[1]")


def test_updated_input_makes_undecodable_arguments_good(door: Door) -> None:
    gate = at({0: Allow(updated_input={"a": 1, "b": 1})})
    played = door.play(calc(Model(ask(call("c1", "add", "{")), say("done")), before_tool=gate))
    assert results(played.session) == [("2", False)]


def test_gates_stop_at_the_first_that_does_not_allow(door: Door) -> None:
    seen: list[str] = []

    def first(info: ToolCallInfo) -> ToolDecision:
        seen.append(info.call.args)
        return Allow(updated_input={"a": 7})

    def second(info: ToolCallInfo) -> ToolDecision:
        seen.append(info.call.args)
        return Deny("no", updated_input={"a": 8})

    def third(info: ToolCallInfo) -> None:
        seen.append("never")

    played = door.play(calc(Model(add_call(), say("done")), before_tool=[first, second, third]))
    assert seen == ['{"a": 2, "b": 3}', '{"a":7}']
    assert results(played.session) == [("no", True)]
    assert [e.payload.call.args for e in played.events if e.type == "tool_started"] == ['{"a":8}']


def test_case_062_what_a_pause_leaves_out(door: Door) -> None:
    prepared: list[object] = []
    played = door.play(calc(Model(add_call()), before_tool=at({0: Pause()}), prepare_turn=prepared.append))
    assert prepared == []
    assert played.types[-2:] == ["turn_completed", "run_completed"]
    assert played.events[-1].payload.stop == "paused"


def test_case_063_a_pause_keeps_steering(door: Door) -> None:
    session = Session()

    def gate(info: ToolCallInfo) -> ToolDecision:
        session.steer("hurry")
        return Pause()

    door.play(calc(Model(add_call()), before_tool=gate), session, "go")
    assert session.has_queued
    session.resolve({"c1": "5"})
    model = Model(say("done"))
    door.play(calc(model), session)
    assert model.requests[0].messages[-1].text == "hurry"
    assert not session.has_queued


def test_what_a_gate_raises_ends_the_run_and_the_session_can_go_on(door: Door) -> None:
    failure = RuntimeError("gate is broken")

    def gate(info: ToolCallInfo) -> None:
        if info.batch_index == 1:
            raise failure

    played = door.play(calc(Model(three()), before_tool=gate))
    assert played.error is failure
    assert "in hook before_tool, turn 1" in failure.__notes__
    assert results(played.session) == [("tool execution cancelled", True)] * 3
    assert played.types[-2:] == ["message_committed", "turn_completed"]
    assert door.play(calc(Model(say("on"))), played.session).ok.text == "on"


def test_a_gate_that_gives_no_decision_is_an_error(door: Door) -> None:
    played = door.play(calc(Model(add_call()), before_tool=lambda info: True))
    assert isinstance(played.error, TypeError)


# -- after-tool hooks ------------------------------------------------------------------------------------------------


def test_case_065_other_content(door: Door) -> None:
    override = ToolResultOverride(content="redacted")
    played = door.play(calc(Model(add_call(), say("done")), after_tool=lambda info: override))
    assert results(played.session) == [("redacted", False)]
    assert [e.payload.result.text for e in played.events if e.type == "tool_completed"] == ["redacted"]


def test_case_066_an_error_after_all(door: Door) -> None:
    played = door.play(calc(Model(add_call(), say("done")), after_tool=lambda info: ToolResultOverride(is_error=True)))
    assert results(played.session) == [("5", True)]


def test_case_067_no_override(door: Door) -> None:
    played = door.play(calc(Model(add_call(), say("done")), after_tool=lambda info: None))
    assert results(played.session) == [("5", False)]


def test_case_069_an_after_tool_hook_that_raises(door: Door) -> None:
    def broken(info: ToolResultInfo) -> None:
        raise LookupError("no such rule")

    tools = [raising("stop", Terminate("bye"))]
    played = door.play(calc(Model(ask(call("c1", "stop")), say("done")), *tools, after_tool=broken))
    assert results(played.session) == [("after-tool hook raised: no such rule", True)]
    assert (played.ok.stop, played.ok.turns) == ("end_turn", 2)
    wrong = door.play(calc(Model(add_call(), say("done")), after_tool=lambda info: "text"))
    assert results(wrong.session) == [("after-tool hook raised: it gave str, which is no override", True)]


def test_case_070_after_tool_hooks_never_overlap(door: Door) -> None:
    now = [0]
    most = [0]

    async def slow(info: ToolResultInfo) -> None:
        now[0] += 1
        most[0] = max(most[0], now[0])
        await anyio.sleep(0.002)
        now[0] -= 1

    tools = [text_tool(name, name, concurrent=True) for name in "abc"]
    door.play(calc(Model(ask(*(call(f"c{n}", n) for n in "abc")), say("done")), *tools, after_tool=slow))
    assert most == [1]


def test_case_071_a_failure_turned_into_success(door: Door) -> None:
    seen: list[bool] = []

    def forgive(info: ToolResultInfo) -> ToolResultOverride:
        seen.append(info.result.is_error)
        return ToolResultOverride(content="nothing found", is_error=False)

    tools = [raising("find", FileNotFoundError("no file"))]
    played = door.play(calc(Model(ask(call("c1", "find")), say("done")), *tools, after_tool=forgive))
    assert seen == [True]
    assert results(played.session) == [("nothing found", False)]


def test_after_tool_hooks_are_a_pipeline(door: Door) -> None:
    hooks = [
        lambda info: ToolResultOverride(content=info.result.text + "!"),
        lambda info: ToolResultOverride(content=info.result.text + "?"),
    ]
    played = door.play(calc(Model(add_call(), say("done")), after_tool=hooks))
    assert results(played.session) == [("5!?", False)]


def test_after_tool_hooks_do_not_see_what_did_not_run(door: Door) -> None:
    seen: list[str] = []
    calls = [call("c1", "add", a=1, b=1), call("c2", "gone"), call("c3", "add", a=1, b=1), call("c4", "add", "{")]
    door.play(
        calc(
            Model(ask(*calls), say("done")),
            before_tool=at({2: Deny()}),
            after_tool=lambda info: seen.append(info.call.id),
        )
    )
    assert seen == ["c1"]


# -- terminate -------------------------------------------------------------------------------------------------------


class Final(Terminate):
    """A tool's own way to say it."""


STOP = raising("stop", Terminate("the end"))


def test_case_073_one_of_two_terminates(door: Door) -> None:
    played = door.play(calc(Model(ask(call("c1", "stop"), call("c2", "add", a=1, b=1)), say("done")), STOP, ADD))
    assert (played.ok.stop, played.ok.turns) == ("end_turn", 2)
    assert results(played.session)[0] == ("the end", False)


def test_case_074_both_terminate(door: Door) -> None:
    prepared: list[object] = []
    model = Model(ask(call("c1", "stop"), call("c2", "stop")))
    played = door.play(calc(model, STOP, prepare_turn=prepared.append))
    assert (played.ok.stop, played.ok.turns) == (StopReason.TERMINATED, 1)
    assert results(played.session) == [("the end", False)] * 2
    assert played.types[-3:] == ["message_committed", "turn_completed", "run_completed"]
    assert len(prepared) == 1


def test_case_075_terminate_in_other_clothes(door: Door) -> None:
    async def wrapped(call: ToolCall) -> str:
        try:
            raise Final("inside")
        except Final as error:
            raise RuntimeError("outside") from error

    tools = [FakeTool("wrapped", wrapped), raising("final", Final(["a", "b"]))]
    played = door.play(calc(Model(ask(call("c1", "wrapped"), call("c2", "final"))), *tools))
    assert played.ok.stop == "terminated"
    assert results(played.session) == [("inside", False), ("ab", False)]


def test_case_077_a_terminated_batch_with_a_follow_up(door: Door) -> None:
    session = Session()
    session.follow_up("one more")
    model = Model(ask(call("c1", "stop")), say("done"))
    played = door.play(calc(model, STOP), session, "go")
    assert (played.ok.stop, played.ok.turns) == ("end_turn", 2)
    assert model.requests[1].messages[-1].text == "one more"


def test_case_078_terminate_and_a_pause(door: Door) -> None:
    played = door.play(calc(Model(ask(call("c1", "stop"), call("c2", "stop"))), STOP, before_tool=at({1: Pause()})))
    assert played.ok.stop == "paused"


def test_case_079_terminate_beats_the_limit(door: Door) -> None:
    played = door.play(calc(Model(ask(call("c1", "stop"))), STOP, max_turns=1))
    assert played.ok.stop == "terminated"


def test_after_tool_sets_and_clears_terminate(door: Door) -> None:
    setting = door.play(calc(Model(add_call()), after_tool=lambda info: ToolResultOverride(terminate=True)))
    assert setting.ok.stop == "terminated"
    clearing = door.play(
        calc(
            Model(ask(call("c1", "stop")), say("done")),
            STOP,
            after_tool=lambda info: ToolResultOverride(terminate=False),
        )
    )
    assert clearing.ok.stop == "end_turn"
