"""Cases 90–99: guardrails and candidate answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from touba_sdk.agent import (
    Agent,
    CandidateAnswerDecision,
    CandidateAnswerInfo,
    Guardrail,
    GuardrailError,
    GuardrailPhase,
    InputGuardrailInfo,
    InvalidAgentError,
    ModelRequestUpdate,
    OutputGuardrailInfo,
    RunInfo,
    Session,
)
from touba_sdk.models import Usage

from .kit import ADD, COST, Door, Model, add_call, roles, say


def calc(model: Model, **options: Any) -> Agent:
    return Agent(model, tools=[ADD], **options)


class Reject(Exception):
    pass


def guardrail(name: str, seen: list[Any], error: Exception | None = None) -> Guardrail:
    async def check(info: Any) -> None:
        seen.append((name, info))
        if error is not None:
            raise error

    return Guardrail(name, check)


def retry_until(accepted: Callable[[CandidateAnswerInfo], bool], suffix: str = "") -> Any:
    def judge(info: CandidateAnswerInfo) -> CandidateAnswerDecision | None:
        return None if accepted(info) else CandidateAnswerDecision(retry=ModelRequestUpdate(system_suffix=suffix))

    return judge


def test_case_090_input_is_rejected(door: Door) -> None:
    seen: list[Any] = []
    cause = Reject("not this")
    model = Model()
    guards = [guardrail("first", seen), guardrail("second", seen, cause), guardrail("third", seen)]
    session = Session(["before"])
    session.steer("queued")
    played = door.play(calc(model, input_guardrails=guards), session, "go")
    error = played.error
    assert isinstance(error, GuardrailError)
    assert (error.phase, error.name, error.cause) == (GuardrailPhase.INPUT, "second", cause)
    assert error.__cause__ is cause
    assert [name for name, _ in seen] == ["first", "second"]
    info: InputGuardrailInfo = seen[0][1]
    assert ([m.text for m in info.session_messages], [m.text for m in info.input]) == (["before"], ["go"])
    assert model.requests == []
    assert [m.text for m in session.messages] == ["before"]
    assert session.has_queued
    assert error.result is played.result
    assert played.result is not None
    assert played.result.turns == 0
    assert played.result.run_id == played.events[0].run_id
    assert played.types == ["run_started"]


def test_case_091_an_answer_is_rejected(door: Door) -> None:
    guards = [guardrail("clean", [], Reject("rude"))]
    played = door.play(calc(Model(say("rude words")), output_guardrails=guards))
    assert isinstance(played.error, GuardrailError)
    assert played.error.phase is GuardrailPhase.OUTPUT
    assert played.result is not None
    assert (played.result.text, played.result.turns, played.result.usage) == ("rude words", 1, COST)
    assert played.session.usage == COST
    assert roles(played.session) == ["user"]
    assert played.types == ["run_started", "turn_started"]
    assert played.events[-1].type == "run_failed"


def test_case_093_every_answer_is_checked(door: Door) -> None:
    seen: list[Any] = []
    session = Session()
    session.follow_up("more")
    door.play(calc(Model(say("one"), say("two")), output_guardrails=[guardrail("all", seen)]), session, "go")
    infos: list[OutputGuardrailInfo] = [info for _, info in seen]
    assert [(info.message.text, info.run.turns) for info in infos] == [("one", 1), ("two", 2)]


def test_case_094_turns_with_tools_are_not_checked(door: Door) -> None:
    seen: list[Any] = []
    door.play(calc(Model(add_call(), say("five")), output_guardrails=[guardrail("all", seen)]))
    assert [info.message.text for _, info in seen] == ["five"]


def test_case_095_guardrails_that_cannot_be() -> None:
    for broken in (Guardrail("", lambda info: None), Guardrail("x", None), "text"):
        with pytest.raises(InvalidAgentError):
            calc(Model(), input_guardrails=[broken])
        with pytest.raises(InvalidAgentError):
            calc(Model(), output_guardrails=[broken])


def test_case_097_a_retry_behind_the_limit(door: Door) -> None:
    played = door.play(calc(Model(say("draft")), candidate_answer=retry_until(lambda info: False), max_turns=1))
    assert played.ok.stop == "max_turns"
    assert roles(played.session) == ["user"]
    assert played.ok.response is None
    assert played.types == ["run_started", "turn_started", "candidate_discarded", "turn_completed", "run_completed"]


def test_case_098_a_candidate_hook_that_raises(door: Door) -> None:
    failure = Reject("no")

    def judge(info: CandidateAnswerInfo) -> None:
        raise failure

    played = door.play(calc(Model(say("draft")), candidate_answer=judge))
    assert played.error is failure
    assert failure.__notes__ == ["in hook candidate_answer, turn 1"]
    assert roles(played.session) == ["user"]
    assert played.result is not None
    assert played.result.text == "draft"


def test_case_099_a_draft_costs_its_tokens(door: Door) -> None:
    model = Model(say("draft"), say("final"))
    judge = retry_until(lambda info: info.message.text == "final", suffix="Be better.")
    seen: list[str] = []

    def prepare(info: RunInfo) -> None:
        assert info.response is not None
        seen.append(info.response.text)

    agent = calc(model, system="Base.", candidate_answer=judge, prepare_turn=prepare)
    played = door.play(agent)
    assert played.ok.usage == Usage(20, 10) == played.session.usage
    assert [m.text for m in played.session.messages] == ["go", "final"]
    assert [m.text for m in model.requests[1].messages] == ["Base.", "\nBe better.", "go"]
    assert seen == ["draft", "final"]


def test_candidate_hooks_come_after_guardrails_and_see_the_conversation(door: Door) -> None:
    order: list[str] = []

    def judge(info: CandidateAnswerInfo) -> None:
        order.append(f"hook {info.message.text} after {len(info.session_messages)} in turn {info.run.turns}")

    guards = [Guardrail("g", lambda info: order.append("guardrail"))]
    door.play(calc(Model(say("a")), candidate_answer=[judge, judge], output_guardrails=guards))
    assert order == ["guardrail", "hook a after 1 in turn 1", "hook a after 1 in turn 1"]


def test_a_candidate_hook_that_gives_no_decision_is_an_error(door: Door) -> None:
    assert isinstance(door.play(calc(Model(say("a")), candidate_answer=lambda info: "yes")).error, TypeError)
