"""What type checkers see of the public interface. Never run: `test_typing.py` has mypy look at it."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from typing import Any, assert_type

from touba_sdk import AsyncToubaEngine, RunResult, ToubaEngine, define_tool
from touba_sdk.handlers import HandlerContext
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
