"""Cases 1–29: the basic loop, what stops it, and what goes before what."""

from __future__ import annotations

import inspect

import anyio
import pytest

import touba_sdk.agent as agent_package
from touba_sdk.agent import Agent, AgentOptions, InvalidAgentError, Session, StopReason
from touba_sdk.models import OverloadedError, Request, Role, Usage, tool_result, tool_results, user_text

from .kit import (
    ADD,
    COST,
    Door,
    FakeTool,
    Model,
    Played,
    add_call,
    ask,
    call,
    endless,
    function_model,
    results,
    roles,
    say,
)


def calc(model: object, **options: object) -> Agent:
    return Agent(model, tools=[ADD], **options)


def test_case_001_a_plain_answer(door: Door) -> None:
    played = door.play(calc(Model(say("hello"))))
    assert (played.ok.stop, played.ok.turns, played.ok.text) == (StopReason.END_TURN, 1, "hello")
    assert roles(played.session) == ["user", "assistant"]


def test_case_002_a_tool_and_an_answer(door: Door) -> None:
    played = door.play(calc(Model(add_call(), say("five"))))
    assert (played.ok.stop, played.ok.turns) == ("end_turn", 2)
    assert roles(played.session) == ["user", "assistant", "tool", "assistant"]
    assert results(played.session) == [("5", False)]


def test_case_003_usage_of_result_and_session(door: Door) -> None:
    played = door.play(calc(Model(add_call(), say("five"))))
    assert played.ok.usage == Usage(20, 10) == played.session.usage


def test_case_005_a_second_run_counts_for_itself(door: Door) -> None:
    session = Session()
    door.play(calc(Model(say("one"))), session, "first")
    played = door.play(calc(Model(say("two"))), session, "second")
    assert played.ok.usage == COST
    assert session.usage == Usage(20, 10)


def test_case_006_the_events_of_a_tool_run(door: Door) -> None:
    played = door.play(calc(Model(add_call(), say("five"))))
    assert played.types == [
        "run_started", "turn_started", "message_committed", "tool_started", "tool_completed", "message_committed",
        "turn_completed", "turn_started", "message_committed", "turn_completed", "run_completed",
    ]  # fmt: skip
    assert len(played.types) == len([e for e in played.events if e.type != "model_stream"])


def test_case_007_a_stream_has_the_models_events(stream_door: Door) -> None:
    streamed = stream_door.play(calc(Model(add_call(), say("five"))))
    ran = Door("run-asyncio").play(calc(Model(add_call(), say("five"))))
    assert any(event.type == "model_stream" for event in streamed.seen)
    assert streamed.session.to_json() == ran.session.to_json()


def test_case_009_input_is_not_announced(door: Door) -> None:
    played = door.play(calc(Model(say("hello"))))
    committed = [event.payload.message.role for event in played.events if event.type == "message_committed"]
    assert committed == [Role.ASSISTANT]


def test_case_010_a_model_error_at_once(door: Door) -> None:
    failure = OverloadedError("busy")
    played = door.play(calc(Model(failure)))
    assert played.error is failure
    result = played.result
    assert result is not None
    assert (result.turns, result.stop, result.response) == (0, None, None)
    assert roles(played.session) == ["user"]
    assert played.events[-1].payload.error_class == "OverloadedError"


def test_case_011_a_model_error_after_a_tool(door: Door) -> None:
    played = door.play(calc(Model(add_call(), OverloadedError("busy"))))
    assert isinstance(played.error, OverloadedError)
    assert played.result is not None
    assert played.result.turns == 1
    assert played.result.response is not None
    assert roles(played.session) == ["user", "assistant", "tool"]
    assert played.session.pending == ()
    assert door.play(calc(Model(say("now"))), played.session).ok.text == "now"


def test_case_013_a_request_hook(door: Door) -> None:
    model = Model(say("a"))

    def cooler(request: Request) -> None:
        request.temperature = 0.2

    door.play(calc(model, request=cooler))
    assert model.requests[0].temperature == 0.2


def test_case_014_going_on_without_input(door: Door) -> None:
    asked = call("c1", "add", a=1, b=1)
    history = [user_text("q"), ask(asked).message, tool_results(tool_result(asked, "2"))]
    model = Model(say("done"))
    played = door.play(calc(model), Session(history))
    assert played.ok.text == "done"
    assert model.requests[0].messages == history


def test_case_015_an_agent_without_a_model() -> None:
    with pytest.raises(InvalidAgentError):
        Agent(None)


def test_tools_need_names_of_their_own() -> None:
    with pytest.raises(InvalidAgentError, match="two tools have the name add"):
        Agent(Model(), tools=[ADD, ADD])
    with pytest.raises(InvalidAgentError, match="has a name"):
        Agent(Model(), tools=[FakeTool("", lambda call: "")])
    with pytest.raises(InvalidAgentError, match="`len` is no tool: mark the function with `@tool`"):
        Agent(Model(), tools=[len])
    with pytest.raises(InvalidAgentError, match="str is no tool: it has no declaration"):
        Agent(Model(), tools="add")
    with pytest.raises(InvalidAgentError, match="hook stop_when"):
        Agent(Model(), stop_when=[3])
    with pytest.raises(InvalidAgentError, match="one"):
        Agent(Model(), steering_mode="some")


def test_case_017_parallel_tools_below_one(door: Door) -> None:
    played = door.play(calc(Model(add_call(), say("five")), parallel_tools=0))
    assert played.ok.stop == "end_turn"
    assert calc(Model(), parallel_tools=0)._settings.parallel_tools == 1


@pytest.mark.anyio
async def test_case_018_one_agent_and_two_sessions_at_once() -> None:
    def echo(request: Request) -> object:
        last = request.messages[-1]
        return say(f"re: {last.text}") if last.role is Role.TOOL or last.text == "plain" else say(last.text)

    agent = calc(function_model(echo))
    one, other = Session(), Session()
    async with anyio.create_task_group() as group:
        group.start_soon(agent.run, one, "alpha")
        group.start_soon(agent.run, other, "beta")
    assert [m.text for m in one.messages] == ["alpha", "alpha"]
    assert [m.text for m in other.messages] == ["beta", "beta"]


# -- stop conditions ---------------------------------------------------------------------------------------------------


def test_case_019_max_turns(door: Door) -> None:
    played = door.play(calc(endless(), max_turns=2))
    assert (played.ok.stop, played.ok.turns) == (StopReason.MAX_TURNS, 2)
    assert len(results(played.session)) == 2
    assert played.session.pending == ()


@pytest.mark.parametrize("limit", [0, -1, None])
def test_case_021_no_limit_of_turns(limit: int | None) -> None:
    steps = [add_call(f"c{n}") for n in range(30)]
    played = Door("run-asyncio").play(calc(Model(*steps, say("done")), max_turns=limit))
    assert (played.ok.stop, played.ok.turns) == ("end_turn", 31)


def test_case_022_the_limit_that_is_there_by_itself(door: Door) -> None:
    played = door.play(calc(endless()))
    assert (played.ok.stop, played.ok.turns) == ("max_turns", 25)


def test_case_023_the_budget(door: Door) -> None:
    played = door.play(calc(endless(), max_tokens=15))
    assert (played.ok.stop, played.ok.turns) == (StopReason.BUDGET, 1)
    assert results(played.session) == [("2", False)]


def test_a_budget_of_one_token_more_allows_a_second_turn(door: Door) -> None:
    assert door.play(calc(endless(), max_tokens=16)).ok.turns == 2
    assert door.play(calc(endless(), max_tokens=0, max_turns=3)).ok.stop == "max_turns"


def test_case_025_stop_when(door: Door) -> None:
    played = door.play(calc(endless(), stop_when=lambda info: info.turns >= 1))
    assert (played.ok.stop, played.ok.turns) == (StopReason.STOP_WHEN, 1)


def test_case_026_which_limit_goes_first(door: Door) -> None:
    limits = {"max_tokens": 1, "stop_when": lambda info: True}
    assert door.play(calc(endless(), max_turns=1, **limits)).ok.stop == "max_turns"
    assert door.play(calc(endless(), **limits)).ok.stop == "budget"


def test_case_027_a_natural_stop_beats_limits(door: Door) -> None:
    asked: list[object] = []

    def condition(info: object) -> bool:
        asked.append(info)
        return True

    played = door.play(calc(Model(say("done")), stop_when=condition, max_turns=1, max_tokens=1))
    assert played.ok.stop == "end_turn"
    assert asked == []


def follow_up_behind_a_limit(door: Door) -> Played:
    session = Session()
    session.follow_up("and then?")
    return door.play(calc(Model(say("one")), max_turns=1), session, "go")


def test_case_028_a_limit_keeps_follow_ups_queued(door: Door) -> None:
    played = follow_up_behind_a_limit(door)
    assert played.ok.stop == "max_turns"
    assert played.session.has_queued
    assert roles(played.session) == ["user", "assistant"]


def test_case_029_a_queued_follow_up_waits_for_a_natural_stop(door: Door) -> None:
    session = follow_up_behind_a_limit(door).session
    model = Model(say("two"), say("three"))
    played = door.play(calc(model), session, "again")
    assert [m.text for m in session.messages] == ["go", "one", "again", "two", "and then?", "three"]
    assert played.ok.turns == 2
    assert "and then?" not in [m.text for m in model.requests[0].messages]


def test_a_replaced_agent_is_another_one() -> None:
    agent = calc(Model(say("a")), name="one", max_turns=3)
    other = agent.replace(name="other", tools=[])
    assert (agent.name, other.name, agent.tools, other.tools) == ("one", "other", (ADD,), ())
    assert other._settings.max_turns == 3
    with pytest.raises(AttributeError, match="replace"):
        agent.name = "x"
    with pytest.raises(TypeError):
        agent.replace(max_turn=3)


def test_options_have_one_list_of_names() -> None:
    parameters = inspect.signature(Agent.__init__).parameters.values()
    assert set(AgentOptions.__annotations__) == {each.name for each in parameters if each.kind is each.KEYWORD_ONLY}
    options: AgentOptions = {"name": "x", "max_turns": 2}
    assert calc(Model(), **options)._settings.max_turns == 2


def test_every_public_name_exists() -> None:
    for name in agent_package.__all__:
        assert getattr(agent_package, name) is not None, name
    assert set(agent_package.__all__) <= set(dir(agent_package))
    with pytest.raises(AttributeError):
        _ = agent_package.nothing
