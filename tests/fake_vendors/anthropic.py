"""Anthropic Messages: ``POST /v1/messages``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from touba_cli import vendors
from touba_sdk.models import FinishReason, ReasoningPart, ToolCallPart, Usage
from touba_sdk.models.adapters import AnthropicModel
from touba_sdk.testing.model_contract import Answer

from .server import FakeVendor, Received, halves, pieces, sse

_REASONS = {
    FinishReason.STOP: "end_turn",
    FinishReason.LENGTH: "max_tokens",
    FinishReason.TOOL_CALLS: "tool_use",
    FinishReason.CONTENT_FILTER: "refusal",
}
_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


class FakeAnthropic(FakeVendor):
    """Anthropic's Messages interface."""

    ADAPTER = AnthropicModel
    MODEL = "claude-sonnet-5"

    # --- what it refuses --------------------------------------------------------------------------------------------

    def refusal(self, received: Received) -> str | None:
        body = received.body
        if received.path.partition("?")[0].endswith("/count_tokens"):
            return None
        if received.path.partition("?")[0] != "/v1/messages":
            return "no such path"
        keys = (received.headers.get("x-api-key"), received.headers.get("authorization"))
        if not {"k", "Bearer k"} & set(keys) or "anthropic-version" not in received.headers:
            return "no key"
        if "max_tokens" not in body:
            return "max_tokens: Field required"
        return self._schemas(body) or unpaired(body["messages"])

    def _schemas(self, body: dict[str, Any]) -> str | None:
        strict = [tool for tool in body.get("tools", ()) if tool.get("strict")]
        schemas = [tool["input_schema"] for tool in strict]
        wanted = body.get("output_config", {}).get("format")
        if wanted:
            schemas.append(wanted["schema"])
        counts = {"optional parameters": 0, "union parameters": 0}
        for schema in schemas:
            problems = vendors.lint_schema("anthropic", schema)
            if problems:
                return f"schema: {problems[0]}"
            sizes = vendors.measure(schema)
            counts = {name: count + sizes[name] for name, count in counts.items()}
        if counts["optional parameters"] > 24 or counts["union parameters"] > 16 or len(strict) > 20:
            return "Schema is too complex for compilation."
        for tool in body.get("tools", ()):
            schema = tool.get("input_schema", {"type": "object"})
            if schema.get("type") != "object" or {"oneOf", "anyOf", "allOf"} & set(schema):
                return "input_schema does not support oneOf, allOf, or anyOf at the top level"
        return None

    # --- answers ----------------------------------------------------------------------------------------------------

    def _blocks(self, answer: Answer) -> list[dict[str, Any]]:
        blocks: list[dict[str, Any]] = []
        for part in answer.parts:
            if isinstance(part, ReasoningPart):
                blocks.append(
                    {"type": "redacted_thinking", "data": part.signature}
                    if part.redacted
                    else {"type": "thinking", "thinking": part.text, "signature": part.signature}
                )
            elif isinstance(part, ToolCallPart):
                arguments = json.loads(part.args or "{}")
                blocks.append({"type": "tool_use", "id": part.id, "name": part.name, "input": arguments})
            else:
                blocks.append({"type": "text", "text": part.text, "citations": None})
        if answer.fault == "unknown_fields":
            blocks.append({"type": "telepathy", "waves": [1, 2]})
        return blocks

    def _message(self, answer: Answer, blocks: list[dict[str, Any]], stop: str | None) -> dict[str, Any]:
        odd = {"mood": {"good": True}} if answer.fault == "unknown_fields" else {}
        return {
            "id": "msg_1", "type": "message", "role": "assistant", "model": self.MODEL, "content": blocks,
            "stop_reason": stop, "stop_sequence": None, "usage": usage(answer.usage), **odd,
        }  # fmt: skip

    def whole(self, answer: Answer) -> Any:
        return self._message(answer, self._blocks(answer), _REASONS[answer.finish])

    def frames(self, answer: Answer) -> Iterator[tuple[str, bytes]]:
        def event(kind: str, **members: Any) -> bytes:
            return sse({"type": kind, **members}, kind)

        begun = self._message(answer, [], None)
        begun["usage"]["output_tokens"] = 1  # the count so far
        yield "start", event("message_start", message=begun)
        yield "ping", event("ping")
        for index, block in enumerate(self._blocks(answer)):
            empty: dict[str, dict[str, Any]] = {
                "text": {"text": ""},
                "thinking": {"thinking": "", "signature": ""},
                "tool_use": {"input": {}},
            }
            opened = {**block, **empty.get(block["type"], {})}
            yield "block", event("content_block_start", index=index, content_block=opened)
            for kind, delta in self._deltas(block):
                yield kind, event("content_block_delta", index=index, delta=delta)
            yield "block", event("content_block_stop", index=index)
        # cumulative counts: the last ones stand
        halfway = {**usage(answer.usage), "output_tokens": max(1, answer.usage.output_tokens - 1)}
        yield "usage", event("message_delta", delta={"stop_reason": None, "stop_sequence": None}, usage=halfway)
        if answer.fault == "unknown_fields":
            yield "odd", event("telepathy_delta", waves=[1])
        last = {"stop_reason": _REASONS[answer.finish], "stop_sequence": None}
        yield "usage", event("message_delta", delta=last, usage=usage(answer.usage))
        yield "end", event("message_stop")

    def _deltas(self, block: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        if block["type"] == "text":
            for piece in pieces(block["text"]):
                yield "text", {"type": "text_delta", "text": piece}
        elif block["type"] == "thinking":
            for piece in pieces(block["thinking"]):
                yield "thought", {"type": "thinking_delta", "thinking": piece}
            yield "thought", {"type": "signature_delta", "signature": block["signature"]}
        elif block["type"] == "tool_use" and block["input"]:
            for half in halves(json.dumps(block["input"])):
                yield "call", {"type": "input_json_delta", "partial_json": half}
        elif block["type"] == "tool_use":
            yield "call", {"type": "input_json_delta", "partial_json": ""}

    def error_frame(self) -> bytes:
        return sse({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "error")

    def error_body(self, status: int, message: str, answer: Answer) -> Any:
        kind = _KINDS.get(status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def usage(counts: Usage) -> dict[str, Any]:
    read, write = counts.cached_input_tokens, counts.cache_write_tokens
    return {
        "input_tokens": counts.input_tokens - read - write,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": write,
        "output_tokens": counts.output_tokens,
        "output_tokens_details": {"thinking_tokens": counts.reasoning_tokens},
    }


def unpaired(messages: list[dict[str, Any]]) -> str | None:
    """What the service says of turns that do not fit together."""
    wanted: set[str] = set()
    for place, message in enumerate(messages):
        blocks = message["content"] if isinstance(message["content"], list) else []
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if message["role"] == "user":
            if set(results) != wanted:
                return f"messages.{place}: tool_use ids were found without tool_result blocks immediately after"
            if len(results) != len(set(results)):
                return f"messages.{place}: each tool_use must have a single result"
            kinds = [block["type"] != "tool_result" for block in blocks]
            if kinds != sorted(kinds):
                return f"messages.{place}: tool_result blocks come first"
            wanted = set()
        elif wanted:
            return f"messages.{place}: tool_use ids were found without tool_result blocks immediately after"
        for block in blocks:
            if block["type"] == "text" and not block["text"]:
                return f"messages.{place}: text content blocks must be non-empty"
            if block["type"] == "tool_use":
                wanted.add(block["id"])
                if not isinstance(block["input"], dict):
                    return f"messages.{place}: tool_use.input: Input should be a valid dictionary"
            if block["type"] == "thinking" and not block.get("signature"):
                return f"messages.{place}: thinking.signature: Field required"
    if messages and messages[-1]["role"] == "assistant":
        return "This model does not support assistant message prefill."
    return None
