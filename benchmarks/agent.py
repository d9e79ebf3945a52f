"""What the agent loop costs over the same loop written by hand, as ratios: a part of `make bench`.

The model does nothing but hand out what was made before, and the tool adds two numbers, so all that is measured is the
loop. The yardstick is `by_hand`: twenty lines that do the same work with the same model layer and know no limit, hook,
event, time-out, cancellation or error.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

from touba_sdk.agent import Agent, Session, tool
from touba_sdk.models import (
    Capabilities,
    Collector,
    EventStream,
    Message,
    MessageEnd,
    MessageStart,
    ModelStream,
    Request,
    Response,
    Role,
    StreamEvent,
    TextDelta,
    ToolCallPart,
    assistant_text,
    tool_result,
    tool_results,
    user_text,
)

TURNS = 20
EVENTS = 2_000
REPETITIONS = 15


async def add(a: int, b: int) -> int:
    "Add two integers."
    return a + b


ADD = tool(add)


class Script:
    """A model without work: a call of `add` for every turn but the last, or one long stream."""

    provider, model_id, capabilities = "script", "script-1", Capabilities.all()

    def __init__(self, turns: int, events: int = 0):
        calls = [ToolCallPart(f"c{n}", "add", '{"a": 2, "b": 3}') for n in range(turns - 1)]
        self._answers = [Response(Message(Role.ASSISTANT, (call,))) for call in calls]
        self._answers.append(Response(assistant_text("done")))
        self._events: list[StreamEvent] = [MessageStart(), *(TextDelta("word ") for _ in range(events)), MessageEnd()]
        self._next = 0

    async def generate(self, request: Request) -> Response:
        answer = self._answers[self._next % len(self._answers)]
        self._next += 1
        return answer

    def stream(self, request: Request) -> ModelStream:
        return EventStream(self._play)

    async def _play(self) -> AsyncGenerator[StreamEvent, None]:
        for event in self._events:
            yield event


async def by_hand(model: Script, functions: dict[str, Callable[..., Awaitable[Any]]], text: str) -> str:
    """The loop in twenty lines."""
    messages = [user_text(text)]
    while True:
        response = await model.generate(Request(list(messages), [ADD.declaration]))
        messages.append(response.message)
        if not response.tool_calls:
            return response.text
        results = []
        for call in response.tool_calls:
            try:
                value = await functions[call.name](**json.loads(call.args))
                results.append(tool_result(call, str(value)))
            except Exception as error:
                results.append(tool_result(call, str(error), is_error=True))
        messages.append(tool_results(*results))


async def stream_by_hand(model: Script, text: str) -> tuple[int, str]:
    """One streamed answer: every event is looked at, and the whole answer is put together."""
    collector, seen = Collector(), 0
    async with model.stream(Request([user_text(text)])) as stream:
        async for event in stream:
            collector.add(event)
            seen += isinstance(event, TextDelta)
    return seen, collector.response().text


async def turns_of_agent() -> str:
    return (await Agent(Script(TURNS), tools=[ADD], max_turns=None).run(Session(), "go")).text


async def turns_by_hand() -> str:
    return await by_hand(Script(TURNS), {"add": add}, "go")


async def events_of_agent() -> int:
    seen = 0
    async with Agent(Script(1, EVENTS)).stream(Session(), "go") as stream:
        async for event in stream:
            seen += event.type == "model_stream"
    return seen


async def events_by_hand() -> int:
    return (await stream_by_hand(Script(1, EVENTS), "go"))[0]


async def interleaved(cases: dict[str, Callable[[], Awaitable[object]]], repetitions: int) -> dict[str, float]:
    """Median seconds of each case, taken in turns."""
    taken: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(repetitions + 1):
        for name, case in cases.items():
            start = time.perf_counter()
            await case()
            taken[name].append(time.perf_counter() - start)
    return {name: statistics.median(times[1:]) for name, times in taken.items()}  # the first one warms up


def rows(repetitions: int = REPETITIONS) -> list[tuple[str, float, str]]:
    """What is measured, the figure, and its unit."""
    found = asyncio.run(
        interleaved(
            {
                "turns": turns_of_agent,
                "turns by hand": turns_by_hand,
                "events": events_of_agent,
                "events by hand": events_by_hand,
            },
            repetitions,
        )
    )
    return [
        ("agent: a turn with one tool, over the loop by hand", found["turns"] / found["turns by hand"], "x"),
        ("agent: a streamed event, over the stream by hand", found["events"] / found["events by hand"], "x"),
    ]


if __name__ == "__main__":
    for what, figure, unit in rows():
        print(f"{what}  {figure:,.2f} {unit}")
