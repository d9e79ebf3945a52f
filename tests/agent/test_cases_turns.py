"""Cases 101–110 and 150–155: what changes between turns, and answers that the token limit cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from touba_sdk.agent import (
    Agent,
    CandidateAnswerDecision,
    InvalidAgentError,
    ModelRequestUpdate,
    NextRequestError,
    PendingToolCallsError,
    RunInfo,
    Session,
    StopReason,
    TurnUpdate,
)
from touba_sdk.agent.loop import CONTINUE
from touba_sdk.models import (
    FinishReason,
    Message,
    ReasoningPart,
    Request,
    Response,
    Role,
    TextPart,
    ToolChoice,
    system_text,
    user_text,
)

from .kit import ADD, COST, Door, Model, add_call, ask, call, endless, results, roles, say, text_tool, texts

CUT = FinishReason.LENGTH


def calc(model: Any, **options: Any) -> Agent:
    return Agent(model, **{"tools": [ADD], **options})


def after_turn(turn: int, update: TurnUpdate) -> Any:
    return lambda info: update if info.turns == turn else None


# -- prepare_turn ----------------------------------------------------------------------------------------------------


def test_case_101_another_model(door: Door) -> None:
    first, second = Model(add_call(), say("first again")), Model(say("second"))
    agent = calc(first, prepare_turn=after_turn(1, TurnUpdate(model=second)))
    assert door.play(agent).ok.text == "second"
    assert door.play(agent).ok.text == "first again"


def test_case_102_another_conversation(door: Door) -> None:
    model = Model(add_call(), say("done"))
    short = [user_text("summary")]
    session = Session()
    agent = calc(model, prepare_turn=after_turn(1, TurnUpdate(replace_messages=short)))
    played = door.play(agent, session, "go")
    assert model.requests[1].messages == short
    assert [m.text for m in session.messages] == ["summary", "done"]
    assert session.usage == COST + COST == played.ok.usage


def test_case_103_prepare_turn_raises(door: Door) -> None:
    failure = RuntimeError("no compaction")

    async def prepare(info: RunInfo) -> None:
        raise failure

    model = Model(add_call())
    played = door.play(calc(model, prepare_turn=prepare))
    assert played.error is failure
    assert failure.__notes__ == ["in hook prepare_turn, turn 1"]
    assert played.result is not None
    assert played.result.turns == 1
    assert len(model.requests) == 1


def test_case_105_other_tools(door: Door) -> None:
    model = Model(add_call(), ask(call("c2", "add", a=1, b=1), call("c3", "fresh")), say("done"))
    agent = calc(model, prepare_turn=after_turn(1, TurnUpdate(tools=[text_tool("fresh", "new")])))
    played = door.play(agent)
    assert [[tool.name for tool in request.tools] for request in model.requests] == [["add"], ["fresh"], ["fresh"]]
    assert results(played.session)[1:] == [("unknown tool: add", True), ("new", False)]


def test_no_tools_are_not_the_same_as_none(door: Door) -> None:
    model = Model(add_call(), say("done"))
    door.play(calc(model, prepare_turn=after_turn(1, TurnUpdate(tools=[]))))
    assert model.requests[1].tools == []


def forced(mode: Any, name: str | None) -> ToolChoice:
    choice = ToolChoice()
    object.__setattr__(choice, "mode", mode)
    object.__setattr__(choice, "name", name)
    return choice


@pytest.mark.parametrize(
    "update",
    [
        ModelRequestUpdate(tools=[], tool_choice=ToolChoice("required")),
        ModelRequestUpdate(tool_choice=ToolChoice("tool", "gone")),
        ModelRequestUpdate(tool_choice=forced("auto", "add")),
        ModelRequestUpdate(tool_choice=forced("none", "add")),
        ModelRequestUpdate(tool_choice="sometimes"),
    ],
)
def test_case_106_a_next_request_that_does_not_fit(update: ModelRequestUpdate) -> None:
    door = Door("run-asyncio")
    played = door.play(calc(Model(add_call()), prepare_turn=after_turn(1, TurnUpdate(next_request=update))))
    assert isinstance(played.error, NextRequestError)
    assert str(played.error).startswith("next model request: ")
    assert played.result is not None
    assert played.result.turns == 1
    decision = CandidateAnswerDecision(retry=update)
    retried = door.play(calc(Model(say("a")), candidate_answer=lambda info: decision))
    assert isinstance(retried.error, NextRequestError)


def test_case_107_tools_for_one_request(door: Door) -> None:
    model = Model(add_call(), ask(call("c2", "once"), call("c3", "add", a=1, b=1)), say("done"))
    update = ModelRequestUpdate(
        tools=[text_tool("once", "just now")], tool_choice=ToolChoice("tool", "once"), system_suffix="Only once."
    )  # fmt: skip
    played = door.play(calc(model, prepare_turn=after_turn(1, TurnUpdate(next_request=update))))
    assert [[tool.name for tool in request.tools] for request in model.requests] == [["add"], ["once"], ["add"]]
    assert [request.tool_choice for request in model.requests] == [None, ToolChoice("tool", "once"), None]
    assert [texts(request)[0] for request in model.requests] == ["go", "Only once.", "go"]
    assert results(played.session)[1:] == [("just now", False), ("unknown tool: add", True)]


def test_case_109_a_shorter_context(door: Door) -> None:
    model = Model(say("done"))

    def last(messages: Sequence[Message]) -> Sequence[Message]:
        return messages[-1:]

    played = door.play(calc(model, transform_context=last), Session(["one", "two"]), "three")
    assert texts(model.requests[0]) == ["three"]
    assert len(played.session.messages) == 4


def test_case_110_transform_raises_in_turn_two(door: Door) -> None:
    failure = OSError("no store")

    def transform(messages: Sequence[Message]) -> Sequence[Message]:
        if len(messages) > 1:
            raise failure
        return messages

    played = door.play(calc(Model(add_call()), transform_context=transform))
    assert played.error is failure
    assert failure.__notes__ == ["in hook transform_context, turn 2"]
    assert played.result is not None
    assert played.result.turns == 1
    assert roles(played.session) == ["user", "assistant", "tool"]


def test_updates_of_several_hooks_are_merged(door: Door) -> None:
    other = Model(say("other"))
    hooks = [
        after_turn(1, TurnUpdate(tools=[], replace_messages=["first"])),
        lambda info: None,
        after_turn(1, TurnUpdate(model=other, replace_messages=["second"])),
    ]
    door.play(calc(Model(add_call()), prepare_turn=hooks))
    assert (texts(other.requests[0]), other.requests[0].tools) == (["second"], [])


def test_an_update_that_cannot_be_is_an_error(door: Door) -> None:
    two = TurnUpdate(tools=[ADD, ADD])
    assert isinstance(door.play(calc(endless(), prepare_turn=lambda info: two)).error, InvalidAgentError)
    hiding = TurnUpdate(replace_messages=["q", ask(call("c1", "add")).message, "r"])
    assert isinstance(door.play(calc(endless(), prepare_turn=lambda info: hiding)).error, PendingToolCallsError)
    assert isinstance(door.play(calc(endless(), prepare_turn=lambda info: "x")).error, TypeError)


def test_transforms_and_request_hooks_are_pipelines(door: Door) -> None:
    model = Model(say("done"))

    def add(text: str) -> Any:
        return lambda messages: [*messages, user_text(text)]

    def cold(request: Request) -> Request:
        return request.copy(temperature=0.0)

    def bounded(request: Request) -> None:
        request.max_tokens = 9

    door.play(calc(model, transform_context=[add("a"), add("b")], request=[cold, bounded]))
    [request] = model.requests
    assert texts(request) == ["go", "a", "b"]
    assert (request.temperature, request.max_tokens) == (0.0, 9)


def test_a_suffix_stands_behind_every_leading_system_message(door: Door) -> None:
    model = Model(add_call(), say("done"))
    update = TurnUpdate(next_request=ModelRequestUpdate(system_suffix="Now hurry."))
    agent = calc(model, system="Base.", prepare_turn=after_turn(1, update))
    door.play(agent, Session([system_text("Own.")]), "go")
    assert texts(model.requests[0])[:3] == ["Base.", "Own.", "go"]
    assert texts(model.requests[1])[:4] == ["Base.", "Own.", "\nNow hurry.", "go"]


# -- answers that were cut -------------------------------------------------------------------------------------------


def test_case_150_a_cut_answer_goes_on(door: Door) -> None:
    model = Model(say("first half", CUT), say("second half"))
    played = door.play(calc(model, system="Base."))
    assert (played.ok.stop, played.ok.turns) == ("end_turn", 2)
    assert texts(model.requests[1]) == ["Base.", f"\n{CONTINUE}", "go", "first half"]
    assert [m.text for m in played.session.messages] == ["go", "first half", "second half"]


def test_case_151_cut_three_times(door: Door) -> None:
    model = Model(say("a", CUT), say("b", CUT), say("c", CUT))
    played = door.play(calc(model))
    assert (played.ok.stop, played.ok.turns) == (StopReason.TRUNCATED, 3)
    assert played.ok.stop == "truncated"
    assert [m.text for m in played.session.messages] == ["go", "a", "b", "c"]
    assert [CONTINUE in texts(request) for request in model.requests] == [False, True, True]


def test_case_153_cut_calls_are_not_salvaged(door: Door) -> None:
    model = Model(ask(call("c1", "add", a=1, b=1), text="so", reason=CUT), say("done"))
    door.play(calc(model))
    assert texts(model.requests[1]) == ["go", "so"]


def test_case_154_nothing_to_go_on_from(door: Door) -> None:
    model = Model(say("  \n", CUT))
    played = door.play(calc(model))
    assert (played.ok.stop, played.ok.turns) == ("truncated", 1)


def test_case_155_salvage_behind_the_limit(door: Door) -> None:
    session = Session()
    played = door.play(calc(Model(say("half", CUT)), max_turns=1), session, "go")
    assert played.ok.stop == "max_turns"
    assert [m.text for m in session.messages] == ["go", "half"]


def test_salvage_can_be_switched_off(door: Door) -> None:
    played = door.play(calc(Model(say("half", CUT)), length_salvage=0))
    assert (played.ok.stop, played.ok.turns) == ("truncated", 1)


def test_salvage_keeps_what_prepare_turn_asked_for(door: Door) -> None:
    model = Model(say("half", CUT), say("rest"))
    update = TurnUpdate(next_request=ModelRequestUpdate(tools=[], system_suffix="No tools."))
    door.play(calc(model, prepare_turn=after_turn(1, update)))
    assert model.requests[1].tools == []
    assert texts(model.requests[1])[0] == f"No tools.\n\n{CONTINUE}"


def test_steering_is_taken_along_with_a_salvage(door: Door) -> None:
    session = Session()

    def cut(request: Request) -> Any:
        session.steer("shorter")
        return say("half", CUT)

    model = Model(cut, say("rest"))
    door.play(calc(model), session, "go")
    assert texts(model.requests[1]) == [CONTINUE, "go", "half", "shorter"]


def test_an_empty_answer_is_kept_but_not_sent_again(door: Door) -> None:
    session = Session()
    session.follow_up("are you there?")
    model = Model(say(""), say("yes"))
    door.play(calc(model), session, "go")
    assert roles(session) == ["user", "assistant", "user", "assistant"]
    assert texts(model.requests[1]) == ["go", "are you there?"]
    assert len(model.requests[1].messages) == 2


def test_neighbouring_texts_are_one_however_the_run_is_driven(door: Door) -> None:
    parts = (TextPart("a"), TextPart(""), TextPart("b"), ReasoningPart("c"), ReasoningPart("d"), TextPart("e"))
    played = door.play(calc(Model(Response(Message(Role.ASSISTANT, parts), FinishReason.STOP, COST))))
    assert played.session.messages[1].parts == (TextPart("ab"), ReasoningPart("cd"), TextPart("e"))
    assert played.ok.response is not None
    assert played.ok.response.message == played.session.messages[1]
