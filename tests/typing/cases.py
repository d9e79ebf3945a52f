"""What type checkers see of the public interface. Never run: `test_typing.py` has mypy look at it."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from typing import Any, assert_type

from touba_sdk import AsyncToubaEngine, RunResult, ToubaEngine, define_tool
from touba_sdk.agent import (
    Agent,
    AgentResult,
    Deny,
    Event,
    ModelStreamEvent,
    RunContext,
    Session,
    ToolCallInfo,
    ToolDecision,
    tool,
)
from touba_sdk.handlers import HandlerContext
from touba_sdk.models import LanguageModel, Request, Response, TextDelta, generate_sync, user_text
from touba_sdk.testing import FakeTool, ToubaProject, fake_tool


@dataclasses.dataclass
class Receipt:
    total: Decimal


def results(engine: ToubaEngine) -> None:
    typed = engine.run("app.tb", result_type=Receipt, inputs={"n": 1}, run_limits={"max_steps": 5})
    assert_type(typed, RunResult[Receipt])
    assert_type(typed.value, Receipt)
    assert_type(typed.value.total, Decimal)
    assert_type(engine.run("app.tb", result_type=list[Receipt]).value, list[Receipt])
    assert_type(engine.run(air="app.air.json").value, Any)
    plain: RunResult = engine.run(source="app.tb")
    assert_type(plain.value, Any)
    engine.run("app.tb", inptus={"n": 1})  # error: call-overload
    engine.run("app.tb", run_limits={"max_stps": 1})  # error: call-overload
    engine.run("app.tb", trace_pure_functions="all")  # error: call-overload
    engine.check("app.tb", result_type=Receipt)  # error: call-arg
    print(typed.value.amount)  # error: attr-defined


async def later(engine: AsyncToubaEngine) -> None:
    typed = await engine.run("app.tb", result_type=Receipt)
    assert_type(typed.value, Receipt)
    assert_type((await engine.run("app.tb")).value, Any)


@define_tool(tool_ref="tool:app/Total")
def total(lines: list[Receipt], context: HandlerContext) -> Decimal:
    return Decimal(0)


@define_tool(tool_ref="tool:app/Later", required_grants=["network"])
async def waiting(n: int) -> int:
    return n


def decorated(context: HandlerContext) -> None:
    assert_type(total([], context), Decimal)
    assert_type(total.tool_ref, str)
    total("lines")  # error: arg-type, call-arg
    total.handle({})
    total.main()


async def awaited() -> None:
    assert_type(await waiting(1), int)


def never(run: Any) -> None:
    define_tool(tool_ref="tool:app/Total", run=run)
    print("mypy knows that this is never reached")  # unreachable


def kit(project: ToubaProject, fake: FakeTool) -> None:
    assert_type(project.bind("tool:app/A", lambda request, context: 1), FakeTool)
    assert_type(project.bind(fake_tool("tool:app/A", len)), FakeTool)
    project.bind("tool:app/A", "handler.py")
    project.bind("tool:app/A")  # error: call-overload


@tool
def add(a: int, b: int) -> int:
    "Add two integers."
    return a + b


@tool(parallel=True, timeout=2.0)
async def search(query: str, ctx: RunContext) -> list[str]:
    "Search."
    return [query]


def gate(info: ToolCallInfo) -> ToolDecision | None:
    return Deny("no") if info.turn > 1 else None


async def agents(model: LanguageModel, session: Session) -> None:
    assert_type(add(1, 2), int)
    assert_type(await search("q", None), list[str])  # error: arg-type
    agent = Agent(model, tools=[add, search], before_tool=[gate], stop_when=lambda info: info.turns > 2)
    result = await agent.run(session, "hello", user_text("again"))
    assert_type(result, AgentResult)
    if result.response is not None:
        assert_type(result.response.incomplete_reason, str | None)
    async with agent.stream(session, "go on") as stream:
        async for event in stream:
            assert_type(event, Event)
            match event.payload:
                case ModelStreamEvent(event=TextDelta(text=text)):
                    assert_type(text, str)
    assert_type(stream.result, AgentResult | None)
    Agent(model, max_turn=3)  # error: call-arg
    Agent(model, before_tool=lambda info: "yes")  # error: arg-type, return-value
    session.append(3)  # error: arg-type


def answers(model: LanguageModel) -> None:
    assert_type(generate_sync(model, Request([user_text("hello")])), Response)
