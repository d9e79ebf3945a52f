"""Gemini: ``POST /v1beta/models/NAME:generateContent`` and ``:streamGenerateContent``."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

from touba_cli import vendors
from touba_sdk.models import FinishReason, ReasoningPart, ToolCallPart, Usage
from touba_sdk.models.adapters import GeminiModel
from touba_sdk.testing.model_contract import Answer

from .server import FakeVendor, Received, pieces, sse

_REASONS = {
    FinishReason.STOP: "STOP",
    FinishReason.TOOL_CALLS: "STOP",
    FinishReason.LENGTH: "MAX_TOKENS",
    FinishReason.CONTENT_FILTER: "SAFETY",
}
_KINDS = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}


class FakeGemini(FakeVendor):
    """Google's Gemini interface, with calls that have no ids."""

    ADAPTER = GeminiModel
    MODEL = "gemini-2.5-flash"
    lacks = ("call ids", "cache writes")

    def read(self, body: Any) -> Any:
        return _camel(body)

    def wants_stream(self, received: Received) -> bool:
        return ":streamGenerateContent" in received.path

    # --- what it refuses --------------------------------------------------------------------------------------------

    def refusal(self, received: Received) -> str | None:
        if ":countTokens" in received.path:
            return None
        if f"/models/{self.MODEL}:" not in received.path or received.headers.get("x-goog-api-key") != "k":
            return "no such path, or no key"
        body = received.body
        for tool in body.get("tools", ()):
            for declared in tool.get("functionDeclarations", ()):
                problems = vendors.lint_schema(
                    "gemini", declared.get("parametersJsonSchema") or declared["parameters_json_schema"]
                )
                if problems:
                    return f"function {declared['name']}: {problems[0]}"
        waiting: list[str] = []
        for turn in body["contents"]:
            names = [part["functionCall"]["name"] for part in turn["parts"] if "functionCall" in part]
            answered = [part["functionResponse"]["name"] for part in turn["parts"] if "functionResponse" in part]
            if turn["role"] == "user" and answered != waiting:
                return "the number of function response parts is not equal to that of the function call parts"
            waiting = names
        return None if body["contents"][-1]["role"] == "user" else "multiturn requests end with a user turn"

    # --- answers ----------------------------------------------------------------------------------------------------

    def _parts(self, answer: Answer) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = []
        signature: dict[str, str] = {}
        for part in answer.parts:
            if isinstance(part, ReasoningPart):
                if part.text:
                    parts.append({"text": part.text, "thought": True})
                if part.signature:  # it stands on the part that follows
                    signature = {"thoughtSignature": base64.b64encode(part.signature.encode()).decode()}
            elif isinstance(part, ToolCallPart):
                call = {"name": part.name, "args": json.loads(part.args or "{}")}
                parts.append({"functionCall": call, **signature})
                signature = {}
            else:
                parts.append({"text": part.text, **signature})
                signature = {}
        return parts

    def _body(self, answer: Answer, parts: list[dict[str, Any]], reason: str | None, counts: Usage) -> dict[str, Any]:
        candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
        if reason:
            candidate["finishReason"] = reason
        body = {
            "candidates": [candidate], "usageMetadata": usage(counts), "modelVersion": self.MODEL,
            "responseId": "resp_1",
        }  # fmt: skip
        if answer.fault == "unknown_fields":
            body["mood"] = {"good": True}
            candidate["telepathy"] = [1, 2]
        return body

    def whole(self, answer: Answer) -> Any:
        return self._body(answer, self._parts(answer), _REASONS[answer.finish], answer.usage)

    def frames(self, answer: Answer) -> Iterator[tuple[str, bytes]]:
        parts = self._parts(answer)
        early = Usage(answer.usage.input_tokens, 1)
        for part in parts:
            if "text" not in part:
                yield "call", sse(self._body(answer, [part], None, early), newline="\r\n")
                continue
            for place, piece in enumerate(pieces(part["text"])):
                shown = {**part, "text": piece} if place == 0 else {"text": piece, **_thought(part)}
                kind = "thought" if "thought" in part else "text"
                yield kind, sse(self._body(answer, [shown], None, early), newline="\r\n")
        yield "end", sse(self._body(answer, [], _REASONS[answer.finish], answer.usage), newline="\r\n")

    def error_frame(self) -> bytes:
        return sse({"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}, newline="\r\n")

    def error_body(self, status: int, message: str, answer: Answer) -> Any:
        error: dict[str, Any] = {"code": status, "message": message, "status": _KINDS.get(status, "INTERNAL")}
        if answer.retry_after is not None:
            kind = "type.googleapis.com/google.rpc.RetryInfo"
            error["details"] = [{"@type": kind, "retryDelay": f"{answer.retry_after:g}s"}]
        return {"error": error}

    def error_headers(self, answer: Answer) -> dict[str, str]:
        return {}  # the hint is in the body


#: members whose content is the user's own
_OPAQUE = ("args", "response", "parametersJsonSchema", "responseJsonSchema")


def _camel(value: Any) -> Any:
    """The body with names of members as the interface documents them; the service takes both spellings."""
    if isinstance(value, list):
        return [_camel(item) for item in value]
    if not isinstance(value, dict):
        return value
    named = {}
    for name, item in value.items():
        first, *rest = name.split("_")
        name = first + "".join(part.title() for part in rest)
        named[name] = item if name in _OPAQUE else _camel(item)
    return named


def _thought(part: dict[str, Any]) -> dict[str, Any]:
    return {"thought": True} if "thought" in part else {}


def usage(counts: Usage) -> dict[str, Any]:
    return {
        "promptTokenCount": counts.input_tokens,
        "cachedContentTokenCount": counts.cached_input_tokens,
        "candidatesTokenCount": counts.output_tokens - counts.reasoning_tokens,
        "thoughtsTokenCount": counts.reasoning_tokens,
        "totalTokenCount": counts.total_tokens,
    }
