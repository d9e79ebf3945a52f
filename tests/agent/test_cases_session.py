"""Cases 138–149: sessions, pending calls, and the stored form."""

from __future__ import annotations

import json
import threading
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from touba_sdk.agent import (
    Agent,
    InvalidToolResolutionError,
    PendingToolCallsError,
    Rejected,
    RunActiveError,
    Session,
    ToolCall,
    ToolCallNotPendingError,
    ToolResolution,
)
from touba_sdk.models import (
    InvalidMessageError,
    Message,
    Role,
    StructuredContentPart,
    TextPart,
    ToolCallPart,
    Usage,
    assistant_text,
    tool_result,
    tool_results,
    user_text,
)

from .kit import FakeTool, Model, ask, call, results, roles, say


def pending(*ids: str) -> Session:
    return Session(["go", ask(*(call(each, "t", n=1) for each in ids)).message])


def test_case_138_resolving_one_of_two() -> None:
    session = pending("a", "b")
    session.resolve_tool_calls(ToolResolution("b", "done"))
    assert roles(session) == ["user", "assistant", "tool"]
    assert results(session) == [("done", False)]
    assert [each.id for each in session.pending] == ["a"]


def test_case_139_the_order_of_the_calls() -> None:
    session = pending("a", "b")
    session.resolve_tool_calls(ToolResolution("b", "two", is_error=True), ToolResolution("a", [TextPart("one")]))
    [message] = [m for m in session.messages if m.role is Role.TOOL]
    assert [(r.tool_call_id, r.name, r.text, r.is_error) for r in message.tool_results] == [
        ("a", "t", "one", False), ("b", "t", "two", True),
    ]  # fmt: skip


@pytest.mark.parametrize("ids", [("a", "zz"), ("zz",)])
def test_case_141_an_unknown_id_changes_nothing(ids: tuple[str, ...]) -> None:
    session = pending("a", "b")
    before = session.to_json()
    with pytest.raises(ToolCallNotPendingError) as caught:
        session.resolve_tool_calls(*(ToolResolution(each, "x") for each in ids))
    assert caught.value.tool_call_id == "zz"
    assert session.to_json() == before


@pytest.mark.parametrize("ids", [("", "a"), ("a", "a")])
def test_resolutions_that_cannot_be(ids: tuple[str, ...]) -> None:
    session = pending("a", "b")
    before = session.to_json()
    with pytest.raises(InvalidToolResolutionError):
        session.resolve_tool_calls(*(ToolResolution(each, "x") for each in ids))
    assert session.to_json() == before


def test_a_call_is_resolved_once() -> None:
    session = pending("a")
    session.resolve({"a": "x"})
    with pytest.raises(ToolCallNotPendingError):
        session.resolve({"a": "y"})


def test_case_142_no_resolutions() -> None:
    for session in (Session(), pending("a")):
        before = session.to_json()
        session.resolve_tool_calls()
        session.resolve({})
        assert session.to_json() == before


def test_case_143_nothing_pending_nothing_asked() -> None:
    session = Session(["hi"])
    session.resolve_pending(lambda each: pytest.fail("it was asked"))
    assert roles(session) == ["user"]


def test_resolve_pending_asks_in_order_and_takes_exceptions_as_rejections() -> None:
    asked: list[str] = []

    def answer(each: ToolCallPart) -> Any:
        asked.append(each.id)
        if each.id == "b":
            raise PermissionError("not today")
        if each.id == "c":
            return Rejected("no")
        return {"arguments": each.arguments} if each.id == "d" else "yes"

    session = pending("a", "b", "c", "d")
    session.resolve_pending(answer)
    assert asked == ["a", "b", "c", "d"]
    assert results(session) == [("yes", False), ("not today", True), ("no", True), ('{"arguments":{"n":1}}', False)]
    assert roles(session) == ["user", "assistant", "tool"]


@pytest.mark.anyio
async def test_resolve_pending_with_an_async_function() -> None:
    async def answer(each: ToolCallPart) -> str:
        await anyio.lowlevel.checkpoint()
        if each.id == "b":
            raise PermissionError("not today")
        return "yes"

    session = pending("a", "b")
    await session.resolve_pending_async(answer)
    assert results(session) == [("yes", False), ("not today", True)]


def test_case_145_pending_calls_survive_storage() -> None:
    session = pending("a", "b")
    session.resolve({"a": "x"})
    restored = Session.from_json(session.to_json())
    assert restored.pending == session.pending
    assert [each.id for each in restored.pending] == ["b"]


def test_case_146_the_members_of_the_stored_form() -> None:
    session = Session(["hi"])
    document = json.loads(session.to_json())
    assert set(document) == {"version", "messages", "usage"}
    assert document["version"] == 1
    assert document["messages"] == [{"role": "user", "parts": [{"type": "text", "text": "hi"}]}]


def test_the_go_form_is_read() -> None:
    go = {
        "messages": [{"role": "user", "parts": [{"type": "text", "text": "hi"}]}],
        "usage": {
            "InputTokens": 3,
            "OutputTokens": 4,
            "ReasoningTokens": 0,
            "CachedInputTokens": 1,
            "CacheWriteTokens": 0,
        },
    }
    for form in (go, json.dumps(go), json.dumps(go).encode()):
        session = Session.from_json(form)
        assert session.usage == Usage(3, 4, cached_input_tokens=1)
        assert session.messages == (user_text("hi"),)
    assert Session.from_json('{"messages":null,"usage":{}}').messages == ()


@pytest.mark.parametrize(
    "broken",
    [
        "not json",
        "[]",
        '{"version":2,"messages":[]}',
        '{"version":true,"messages":[]}',
        '{"messages":{}}',
        '{"messages":[{"role":"nobody"}]}',
        '{"messages":[],"more":1}',
        '{"messages":[],"children":[]}',
        '{"messages":[],"usage":{"input_tokens":"many"}}',
    ],
)
def test_what_is_no_session_is_refused(broken: str) -> None:
    session = Session(["kept"])
    with pytest.raises(InvalidMessageError):
        session.restore(broken)
    assert roles(session) == ["user"]


def test_case_147_restoring_keeps_the_queue() -> None:
    session = Session(["old"])
    session.steer("queued")
    session.restore(Session(["new", assistant_text("yes")]).to_json())
    assert [m.text for m in session.messages] == ["new", "yes"]
    assert session.has_queued


def test_case_149_unanswered_calls_are_not_hidden() -> None:
    session = pending("a", "b")
    before = session.to_json()
    for attempt in (
        lambda: session.append("hello"),
        lambda: session.replace("only this"),
        lambda: session.replace(*session.messages, "hello"),
        lambda: Session([*session.messages, user_text("hello")]),
        lambda: Session.from_json(before.replace('"usage"', '"usage"').replace("}]}]", '}]},{"role":"user"}]', 1)),
    ):
        with pytest.raises(PendingToolCallsError) as caught:
            attempt()
        assert [each.id for each in caught.value.pending] == ["a", "b"]
    assert session.to_json() == before


def test_results_may_be_appended_by_hand() -> None:
    session = pending("a", "b")
    session.append(tool_results(tool_result("a", "x", name="t")))
    assert [each.id for each in session.pending] == ["b"]
    session.append(tool_results(tool_result("b", "y", name="t")), "and now?")
    assert roles(session) == ["user", "assistant", "tool", "tool", "user"]
    session.replace("summary")
    assert roles(session) == ["user"]


def test_a_running_session_is_not_resolved_or_restored() -> None:
    errors: list[type[BaseException]] = []
    session = Session()

    async def meddle(call: ToolCall) -> str:
        for attempt in (
            lambda: session.resolve({"c1": "x"}),
            lambda: session.resolve_pending(lambda each: "x"),
            lambda: session.restore("{}"),
            lambda: session.replace("gone"),
        ):
            try:
                attempt()
            except (RunActiveError, PendingToolCallsError) as error:
                errors.append(type(error))
        return "ok"

    Agent(Model(ask(call("c1", "meddle")), say("done")), tools=[FakeTool("meddle", meddle)]).run_sync(session, "go")
    assert errors == [RunActiveError] * 3 + [PendingToolCallsError]
    assert results(session) == [("ok", False)]


def test_a_session_takes_messages_and_texts_only() -> None:
    session = Session("one text")
    assert [m.text for m in session.messages] == ["one text"]
    for method in (session.append, session.steer, session.follow_up, session.replace):
        with pytest.raises(TypeError, match="int is no message"):
            method(3)
    assert "1 messages" in repr(session)


def test_a_session_may_be_used_by_many_threads() -> None:
    session = Session()

    def work(name: str) -> None:
        for number in range(50):
            session.append(f"{name}{number}")
            session.steer(f"{name}{number}")
            session.follow_up("x")
            assert session.messages
            _ = session.pending, session.usage, session.to_json()

    threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name in "abc":
        assert [m.text for m in session.messages if m.text.startswith(name)] == [f"{name}{n}" for n in range(50)]
    assert len(session.messages) == 150


def test_parts_of_a_resolution_are_checked_at_once() -> None:
    with pytest.raises(TypeError):
        ToolResolution("a", 3)
    assert ToolResolution("a", StructuredContentPart('{"a":1}')).content == (StructuredContentPart('{"a":1}'),)


ARGS = st.sampled_from(["", "{}", '{"n":1.50}', '{"n":12345678901234567890}', "broken", '{"a":{"b":[1,2]}}'])
NAMES = st.text("abc", min_size=1, max_size=3)


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    messages: list[Message] = []
    for turn in range(draw(st.integers(0, 3))):
        messages.append(user_text(draw(st.text(max_size=5))))
        calls = [ToolCallPart(f"c{turn}.{n}", draw(NAMES), draw(ARGS)) for n in range(draw(st.integers(0, 3)))]
        messages.append(Message(Role.ASSISTANT, (*calls, TextPart(draw(st.text(max_size=5))))))
        answered = calls if draw(st.booleans()) else calls[: draw(st.integers(0, len(calls)))]
        messages.extend(tool_results(tool_result(each, "r")) for each in answered)
        if len(answered) < len(calls):
            break
    return messages


@given(conversations(), st.builds(Usage, *[st.integers(0, 10**6)] * 5))
def test_storing_loses_nothing(messages: list[Message], usage: Usage) -> None:
    session = Session(messages)
    session._spend(usage)
    restored = Session.from_json(session.to_json())
    assert restored.messages == session.messages
    assert restored.usage == usage
    assert restored.pending == session.pending
    assert restored.to_json() == session.to_json()


@given(conversations(), st.lists(st.sampled_from(["user", "assistant", "answer"]), max_size=3))
def test_no_call_is_ever_hidden(messages: list[Message], added: list[str]) -> None:
    session = Session(messages)
    for kind in added:
        open_calls = session.pending
        more: list[Message] = {
            "user": [user_text("x")],
            "assistant": [assistant_text("x")],
            "answer": [tool_results(tool_result(open_calls[0], "x"))] if open_calls else [],
        }[kind]
        if open_calls and kind != "answer":
            with pytest.raises(PendingToolCallsError) as caught:
                session.append(*more)
            assert caught.value.pending == open_calls
        else:
            session.append(*more)
    Session.from_json(session.to_json())
