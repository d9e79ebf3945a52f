"""Ollama's own chat: ``POST /api/chat``, with one JSON document on each line of a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, ClassVar

from touba_cli import vendors
from touba_sdk.models import FinishReason, ReasoningPart, TextPart, ToolCallPart, Usage
from touba_sdk.models.adapters import OllamaModel
from touba_sdk.testing.model_contract import Answer

from .server import FakeVendor, Received, light_old_client, pieces

_REASONS = {FinishReason.LENGTH: "length"}


class FakeOllama(FakeVendor):
    """Ollama, with calls that have ids."""

    ADAPTER = OllamaModel
    MODEL = "qwen3"
    KEY = None
    lacks = ("refusal", "signatures", "cached tokens", "cache writes", "reasoning tokens")
    STREAM_TYPE: ClassVar[str] = "application/x-ndjson"

    def http_client(self) -> Any:
        return light_old_client()

    def refusal(self, received: Received) -> str | None:
        if received.path != "/api/chat":
            return "no such path"
        for tool in received.body.get("tools", ()):
            problems = vendors.lint_schema("ollama", tool["function"]["parameters"])
            if problems:
                return f"this would vanish: {problems[0]}"
        for message in received.body["messages"]:
            for call in message.get("tool_calls", ()):
                if not isinstance(call["function"]["arguments"], dict):
                    return "json: cannot unmarshal string into Go struct field .arguments"
        return None

    def _head(self) -> dict[str, Any]:
        return {"model": self.MODEL, "created_at": "2026-11-30T00:00:00Z"}

    def _done(self, answer: Answer) -> dict[str, Any]:
        odd = {"mood": {"good": True}} if answer.fault == "unknown_fields" else {}
        reason = _REASONS.get(answer.finish, "stop")
        return {"done": True, "done_reason": reason, "total_duration": 1, **usage(answer.usage), **odd}

    def _calls(self, answer: Answer) -> list[dict[str, Any]]:
        return [
            {"id": part.id, "function": {"index": place, "name": part.name, "arguments": json.loads(part.args or "{}")}}
            for place, part in enumerate(each for each in answer.parts if isinstance(each, ToolCallPart))
        ]

    def whole(self, answer: Answer) -> Any:
        text = "".join(part.text for part in answer.parts if isinstance(part, TextPart))
        thought = "".join(part.text for part in answer.parts if isinstance(part, ReasoningPart))
        calls = self._calls(answer)
        message = {
            "role": "assistant",
            "content": text,
            **({"thinking": thought} if thought else {}),
            **({"tool_calls": calls} if calls else {}),
        }
        return {**self._head(), "message": message, **self._done(answer)}

    def frames(self, answer: Answer) -> Iterator[tuple[str, bytes]]:
        def line(message: dict[str, Any], **more: Any) -> bytes:
            shown = {**self._head(), "message": {"role": "assistant", "content": "", **message}, "done": False, **more}
            return (json.dumps(shown, ensure_ascii=False) + "\n").encode()

        for part in answer.parts:
            if isinstance(part, ReasoningPart):
                for piece in pieces(part.text):
                    yield "thought", line({"thinking": piece})
            elif isinstance(part, TextPart):
                for piece in pieces(part.text):
                    yield "text", line({"content": piece})
        for call in self._calls(answer):
            yield "call", line({"tool_calls": [call]})
        yield "end", line({}, **self._done(answer))

    def error_frame(self) -> bytes:
        return b'{"error": "llama runner process has terminated"}\n'

    def error_body(self, status: int, message: str, answer: Answer) -> Any:
        return {"error": message}


def usage(counts: Usage) -> dict[str, Any]:
    """Counts of zero are left out."""
    named = {"prompt_eval_count": counts.input_tokens, "eval_count": counts.output_tokens}
    return {name: count for name, count in named.items() if count}
