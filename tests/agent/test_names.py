"""The public names: those of the table that leads from the reference text to Python, what they are, and that errors can
be copied and sent to another process."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import touba_sdk.agent as agent_package
import touba_sdk.models as models_package
from touba_sdk import agent, models
from touba_sdk.agent import Agent, AgentError, GuardrailError, GuardrailPhase, Session
from touba_sdk.models import Response, ToolCallPart, Usage, assistant_text

from .kit import Door, Model, add_call, say

#: the right side of the table, as one name is written there
AGENT = """
    Agent AgentError AgentOptions AgentResult DEFAULT_MAX_TURNS DEFAULT_PARALLEL_TOOLS InvalidAgentError QueueMode StopReason
    RunMetadata RunInfo current_run
    Allow Deny Pause ToolDecision ToolCallInfo ToolResultInfo ToolResultOverride
    Guardrail GuardrailError GuardrailPhase InputGuardrailInfo OutputGuardrailInfo
    CandidateAnswerInfo CandidateAnswerDecision TurnUpdate ModelRequestUpdate
    Session ToolResolution Rejected RunActiveError PendingToolCallsError ToolCallNotPendingError InvalidToolResolutionError
    Tool ToolCall ToolDefinitionError ToolError RunContext Terminate tool parallel provider_tool report_progress text_result
    SubagentPausedError
    Event EventPayload EventType InvalidEventError EventWireFormatError new_event
    RunStarted TurnStarted ModelStreamEvent MessageCommitted CandidateDiscarded CandidateIncomplete ToolStarted ToolUpdated
    ToolCompleted TurnCompleted RunCompleted RunFailed RunCancelled
"""
MODELS = """
    LanguageModel chain Message Part ToolCallPart ToolResultPart user_text system_text assistant_text
    Request Response Usage ToolDeclaration ToolChoice schema_for Capabilities FinishReason
    StreamEvent MessageStart TextDelta ReasoningDelta ToolCallStart ToolCallDelta ToolCallEnd CitationDelta RetryNotice MessageEnd
    ModelError AuthError RateLimitedError OverloadedError InvalidRequestError UnsupportedError InvalidMessageError
    StreamIdleError IncompleteStreamError ModelResponseError RunSyncInLoopError generate_sync stream_sync
"""
#: class → members that the table names
MEMBERS: dict[type, str] = {
    agent.Agent: "name run run_sync stream stream_sync replace as_tool",
    agent.Session: (
        "append replace messages usage steer follow_up clear_steering clear_follow_ups has_queued pending resolve_tool_calls "
        "resolve resolve_pending resolve_pending_async to_json from_json restore last_result"
    ),
    agent.RunMetadata: "run_id parent_run_id agent",
    agent.RunInfo: "metadata turns usage response run_id",
    agent.AgentResult: "metadata stop turns usage response pending text",
    agent.RunContext: "metadata call deadline cancelled report_progress",
    agent.ToolCall: "id name args arguments",
    agent.ToolCallInfo: "call turn batch_index batch_size",
    agent.ToolResultInfo: "call turn result",
    agent.ToolResultOverride: "content is_error terminate",
    agent.Deny: "reason updated_input",
    agent.TurnUpdate: "model replace_messages tools next_request",
    agent.ModelRequestUpdate: "tools tool_choice system_suffix",
    agent.CandidateAnswerInfo: "run session_messages message",
    agent.CandidateAnswerDecision: "retry",
    agent.InputGuardrailInfo: "metadata session_messages input",
    agent.OutputGuardrailInfo: "run message",
    agent.ToolResolution: "tool_call_id content is_error",
    agent.Event: "run_id parent_run_id agent time payload type validate to_json from_json",
    agent.RunFailed: "error_class turns usage",
    agent.RunCancelled: "turns usage",
    agent.RunCompleted: "turns stop usage",
    agent.ToolUpdated: "turn call update",
    models.Response: "message finish_reason usage text tool_calls reasoning incomplete_reason",
    models.Usage: "input_tokens output_tokens reasoning_tokens cached_input_tokens cache_write_tokens",
}
#: the options of an agent, in the order of the table's page
OPTIONS = """
    name system tools max_turns max_tokens parallel_tools tool_timeout steering_mode follow_up_mode length_salvage
    stop_when before_tool after_tool candidate_answer prepare_turn transform_context request on_event
    input_guardrails output_guardrails
"""


@pytest.mark.parametrize(
    ("package", "names"), [(agent_package, AGENT.split()), (models_package, MODELS.split())], ids=["agent", "models"]
)
def test_the_names_of_the_table_are_public(package: Any, names: list[str]) -> None:
    assert sorted(set(names) - set(package.__all__)) == []
    assert len(names) == len(set(names))
    for name in package.__all__:
        assert getattr(package, name) is not None


@pytest.mark.parametrize("cls", MEMBERS, ids=lambda cls: cls.__name__)
def test_the_members_of_the_table_exist(cls: type) -> None:
    fields = set(getattr(cls, "__dataclass_fields__", ())) | set(getattr(cls, "__slots__", ()))
    missing = [name for name in MEMBERS[cls].split() if name not in fields and not hasattr(cls, name)]
    assert missing == []


def test_the_options_of_an_agent() -> None:
    found = inspect.signature(Agent).parameters
    assert set(OPTIONS.split()) == {name for name, each in found.items() if each.kind is each.KEYWORD_ONLY}
    defaults = {name: found[name].default for name in OPTIONS.split()}
    assert (defaults["max_turns"], defaults["parallel_tools"], defaults["length_salvage"]) == (25, 4, 2)
    assert (defaults["steering_mode"], defaults["follow_up_mode"]) == ("one", "one")
    assert [defaults[name] for name in ("name", "system", "max_tokens", "tool_timeout")] == ["", "", None, None]


def test_the_strings_of_the_reference_text() -> None:
    assert [each.value for each in agent.StopReason] == [
        "end_turn", "max_turns", "budget", "paused", "stop_when", "terminated", "truncated",
    ]  # fmt: skip
    assert {each.value for each in agent.EventType} == {
        "run_started", "turn_started", "model_stream", "message_committed", "candidate_discarded", "candidate_incomplete",
        "tool_started", "tool_updated", "tool_completed", "turn_completed", "run_completed", "run_failed", "run_cancelled",
    }  # fmt: skip
    assert [each.value for each in agent.GuardrailPhase] == ["input", "output"]
    assert [each.value for each in agent.QueueMode] == ["one", "all"]


def public_errors() -> list[type[Exception]]:
    found = []
    for package in (agent_package, models_package):
        for name in package.__all__:
            value = getattr(package, name)
            if isinstance(value, type) and issubclass(value, Exception):
                found.append(value)
    return found


def made(kind: type[Exception]) -> Exception:
    calls = (ToolCallPart("c1", "add", '{"a": 1}'),)
    if kind is GuardrailError:
        return GuardrailError(GuardrailPhase.INPUT, "polite", ValueError("rude"))
    if kind in (agent.PendingToolCallsError, agent.SubagentPausedError):
        return kind(calls)
    if kind is models.ModelTimeoutError:
        return models.ModelTimeoutError("late", phase="connect", provider="p")
    if issubclass(kind, models.ModelError):
        partial = Response(assistant_text("so f"), usage=Usage(3, 1, partial=True), partial=True)
        return kind("it went wrong", provider="p", status=418, code="c", retry_after=2.0, detail="d", response=partial)
    return kind("it went wrong")


@pytest.mark.parametrize("kind", public_errors(), ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("how", ["pickle", "copy", "deepcopy"])
def test_errors_can_be_copied(kind: type[Exception], how: str) -> None:
    error = made(kind)
    error.add_note("in hook x, turn 1")
    copies = {"pickle": lambda each: pickle.loads(pickle.dumps(each)), "copy": copy.copy, "deepcopy": copy.deepcopy}
    other = copies[how](error)
    assert type(other) is kind
    assert (str(other), other.args) == (str(error), error.args)
    assert repr(vars(other)) == repr(vars(error))
    assert other.__notes__ == ["in hook x, turn 1"]
    assert models.is_retryable(other) is models.is_retryable(error)
    if isinstance(other, GuardrailError):
        assert other.__cause__ is other.cause
        assert repr(other.cause) == "ValueError('rude')"


def test_an_error_brings_its_result_to_another_process() -> None:
    def reject(info: Any) -> None:
        raise ValueError("rude")

    guarded = Agent(Model(say("rude words")), output_guardrails=[agent.Guardrail("polite", reject)])
    error = Door("run_sync").play(guarded).error
    assert isinstance(error, AgentError)
    other = pickle.loads(pickle.dumps(error))
    assert other.result == error.result
    assert other.result.text == "rude words"


def test_sessions_are_sent_as_text_and_results_as_they_are() -> None:
    played = Door("run_sync").play(Agent(Model(add_call(), say("five"))))
    assert pickle.loads(pickle.dumps(played.ok)) == played.ok
    assert copy.deepcopy(played.ok) == played.ok
    assert Session.from_json(played.session.to_json()).messages == played.session.messages


def test_the_page_names_every_option_of_an_agent() -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "agent.md").read_text("utf-8")
    table = page.partition("## The options of an agent")[2].partition("\n## ")[0]
    rows = [line.split("|")[1:3] for line in table.splitlines() if line.startswith("| `")]
    assert sorted(name for names, _ in rows for name in re.findall("`([a-z_]+)`", names)) == sorted(
        agent.AgentOptions.__annotations__
    )
    defaults = {names.strip(" `"): default.strip() for names, default in rows}
    parameters = inspect.signature(Agent).parameters
    for name in ("max_turns", "parallel_tools", "length_salvage"):
        assert defaults[name] == str(parameters[name].default)


def test_importing_the_packages_loads_no_more_than_their_data() -> None:
    code = (
        "import sys, touba_sdk; before = set(sys.modules)\n"
        "assert not {'touba_sdk.agent', 'touba_sdk.models', 'anyio', 'pydantic'} & before, 'import touba_sdk is lazy'\n"
        "import touba_sdk.agent, touba_sdk.models\n"
        "heavy = ('anyio', 'asyncio', 'pydantic', 'httpx', 'openai', 'anthropic', 'google', 'ollama', 'opentelemetry')\n"
        "print([name for name in heavy if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
