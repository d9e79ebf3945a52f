"""Live tests: one conversation with each vendor, with a key and a flag only.

    TOUBA_LIVE_TESTS=1 OPENAI_API_KEY=… python -m pytest tests/models/test_live.py -rs

``TOUBA_LIVE_OPENAI_MODEL`` and its like name other models than those below. Without the flag, the key or a running
Ollama a test is skipped, and says what is missing.
"""

from __future__ import annotations

import os
import socket
from typing import Any

import anyio
import pytest

from touba_sdk.models import (
    FinishReason,
    LanguageModel,
    Request,
    ResponseFormat,
    ToolDeclaration,
    collect,
    tool_result,
    tool_results,
    user_text,
)
from touba_sdk.models.adapters import AnthropicModel, GeminiModel, OllamaModel, OpenAIChatModel, OpenAIModel

#: vendor → class, model, variables that may hold the key
LIVE: dict[str, tuple[Any, str, tuple[str, ...]]] = {
    "openai": (OpenAIModel, "gpt-5-mini", ("OPENAI_API_KEY",)),
    "openai_chat": (OpenAIChatModel, "gpt-5-mini", ("OPENAI_API_KEY",)),
    "anthropic": (AnthropicModel, "claude-haiku-4-5", ("ANTHROPIC_API_KEY",)),
    "gemini": (GeminiModel, "gemini-2.5-flash", ("GEMINI_API_KEY", "GOOGLE_API_KEY")),
    "ollama": (OllamaModel, "qwen3", ()),
}
ADD = ToolDeclaration(
    "add",
    "Add two integers.",
    {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
        "additionalProperties": False,
    },
)
SCHEMA = {
    "type": "object",
    "properties": {"sum": {"type": "integer"}},
    "required": ["sum"],
    "additionalProperties": False,
}


def live(vendor: str) -> Any:
    """The vendor's model; skips the test, with the reason, where it cannot be reached."""
    kind, name, variables = LIVE[vendor]
    if os.environ.get("TOUBA_LIVE_TESTS") != "1":
        pytest.skip(f"{vendor}: live tests run with TOUBA_LIVE_TESTS=1 only")
    if variables and not any(os.environ.get(variable) for variable in variables):
        pytest.skip(f"{vendor}: no key in {' or '.join(variables)}")
    if vendor == "ollama":
        with socket.socket() as probe:
            probe.settimeout(1)
            if probe.connect_ex(("127.0.0.1", 11434)) != 0:
                pytest.skip("ollama: nothing listens on port 11434 of this machine")
    return kind(os.environ.get(f"TOUBA_LIVE_{vendor.upper()}_MODEL", name))


@pytest.mark.parametrize("how", ["generate", "stream"])
@pytest.mark.parametrize("vendor", LIVE)
def test_a_tool_is_called_and_its_result_is_used(vendor: str, how: str) -> None:
    model: Any = live(vendor)

    async def converse() -> str:
        async def ask(request: Request) -> Any:
            return await (model.generate(request) if how == "generate" else collect(model.stream(request)))

        async with model:
            assert isinstance(model, LanguageModel)
            request = Request([user_text("Use the tool to add 20 and 22, then say the sum in digits.")], tools=[ADD])
            first = await ask(request)
            assert first.finish_reason is FinishReason.TOOL_CALLS
            (call,) = first.tool_calls
            assert call.arguments == {"a": 20, "b": 22}
            assert first.usage.input_tokens > 0
            messages = [*request.messages, first.message, tool_results(tool_result(call, "42"))]
            second = await ask(request.copy(messages=messages))
            return str(second.text)

    assert "42" in anyio.run(converse)


@pytest.mark.parametrize("vendor", LIVE)
def test_an_answer_keeps_to_its_schema(vendor: str) -> None:
    model = live(vendor)

    async def ask() -> str:
        async with model:
            request = Request(
                [user_text("Add 20 and 22.")], response_format=ResponseFormat("answer", None, SCHEMA, True)
            )
            return str((await model.generate(request)).text)

    import json

    assert json.loads(anyio.run(ask)) == {"sum": 42}
