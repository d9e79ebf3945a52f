"""The agent loop beside those of other libraries, with one scripted model and one tool: not a part of `make bench`.

Run it with whatever of pydantic-ai and openai-agents is installed: python benchmarks/agent_peers.py. Every loop plays
the same script, twenty turns with one call of `add` each but the last, and all are measured in turns within one run.
What they do around it differs, so the figures say what a turn costs and not which library does more for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from typing import Any

from agent import REPETITIONS, TURNS, add, interleaved, turns_by_hand, turns_of_agent


def pydantic_ai() -> Callable[[], Awaitable[object]]:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    async def run() -> str:
        left = TURNS

        def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            nonlocal left
            left -= 1
            if left == 0:
                return ModelResponse([TextPart("done")])
            return ModelResponse([ToolCallPart("add", '{"a": 2, "b": 3}', f"c{left}")])

        return (await Agent(FunctionModel(answer), tools=[add]).run("go")).output

    return run


def openai_agents() -> Callable[[], Awaitable[object]]:
    from agents import Agent, Model, ModelResponse, Runner, Usage, function_tool, set_tracing_disabled
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    set_tracing_disabled(True)
    tool = function_tool(add)

    class Script(Model):
        left = TURNS

        async def get_response(self, *args: Any, **kwargs: Any) -> Any:
            self.left -= 1
            item: Any = ResponseFunctionToolCall(
                arguments='{"a": 2, "b": 3}', call_id=f"c{self.left}", name="add", type="function_call"
            )
            if self.left == 0:
                text = ResponseOutputText(annotations=[], text="done", type="output_text")
                item = ResponseOutputMessage(
                    id="m", content=[text], role="assistant", status="completed", type="message"
                )
            return ModelResponse(output=[item], usage=Usage(), response_id=None)

        def stream_response(self, *args: Any, **kwargs: Any) -> Any:
            raise TypeError("this script is not streamed")

    async def run() -> object:
        done = await Runner.run(Agent(name="a", model=Script(), tools=[tool]), "go", max_turns=TURNS + 1)
        return done.final_output

    return run


PEERS = {
    "pydantic-ai": ("pydantic_ai", pydantic_ai),
    "openai-agents": ("agents", openai_agents),
}


def main() -> None:
    cases: dict[str, Callable[[], Awaitable[object]]] = {"by hand": turns_by_hand, "touba": turns_of_agent}
    for name, (module, make) in PEERS.items():
        if find_spec(module) is None:
            print(f"{name}: not installed")
        else:
            cases[name] = make()
    for name, case in cases.items():
        if (said := asyncio.run(_once(case))) != "done":
            raise SystemExit(f"{name} did not play the script to its end, but said {said!r}")
    found = asyncio.run(interleaved(cases, REPETITIONS))
    for name, seconds in found.items():
        print(f"{name:<14} {seconds / found['by hand']:8.2f} x the loop by hand")


async def _once(case: Callable[[], Awaitable[object]]) -> object:
    return await case()


if __name__ == "__main__":
    main()
