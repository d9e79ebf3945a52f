"""Chat Completions: ``POST /v1/chat/completions``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from touba_sdk.models import FinishReason
from touba_sdk.models.adapters import OpenAIChatModel
from touba_sdk.testing.model_contract import Answer

from .openai_shared import error_body, usage
from .server import FakeVendor, Received, calls_of, halves, pieces, sse, texts_of

_REASONS = {
    FinishReason.STOP: "stop",
    FinishReason.LENGTH: "length",
    FinishReason.TOOL_CALLS: "tool_calls",
    FinishReason.CONTENT_FILTER: "content_filter",
}


class FakeOpenAIChat(FakeVendor):
    """OpenAI's Chat Completions interface, as OpenAI itself speaks it."""

    ADAPTER = OpenAIChatModel
    MODEL = "gpt-4.1"
    ROOT = "/v1"
    lacks = ("reasoning", "signatures")

    def refusal(self, received: Received) -> str | None:
        if received.path != "/v1/chat/completions":
            return "no such path"
        open_calls: list[str] = []
        for message in received.body["messages"]:
            if message["role"] == "tool":
                if message["tool_call_id"] not in open_calls:
                    return "messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
                open_calls.remove(message["tool_call_id"])
            elif open_calls:
                return f"tool_call_ids did not have response messages: {open_calls}"
            open_calls += [call["id"] for call in message.get("tool_calls", ())]
        return None

    def _calls(self, answer: Answer) -> list[dict[str, Any]]:
        return [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.args or "{}"}}
            for call in calls_of(answer)
        ]

    def whole(self, answer: Answer) -> Any:
        calls, text = self._calls(answer), texts_of(answer)
        message: dict[str, Any] = {"role": "assistant", "content": None if answer.refusal else text or None}
        message["refusal"] = text if answer.refusal else None
        if calls:
            message["tool_calls"] = calls
        reason = "stop" if answer.refusal else _REASONS[answer.finish]
        choice = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
        odd = {"mood": {"good": True}} if answer.fault == "unknown_fields" else {}
        return {
            **self._head("chat.completion"),
            "choices": [choice],
            "usage": usage(answer.usage, "prompt", "completion"),
            **odd,
        }

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": "chatcmpl_1", "object": kind, "created": 1, "model": self.MODEL}

    def frames(self, answer: Answer) -> Iterator[tuple[str, bytes]]:
        def chunk(delta: dict[str, Any], reason: str | None = None, **more: Any) -> bytes:
            choice = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
            return sse({**self._head("chat.completion.chunk"), "choices": [choice], "usage": None, **more})

        yield "start", chunk({"role": "assistant", "content": ""})
        if answer.fault == "unknown_fields":
            yield "odd", chunk({"mood": "good"}, brand_new=[1])
        for piece in pieces(texts_of(answer)) if texts_of(answer) else ():
            yield "text", chunk({"refusal" if answer.refusal else "content": piece})
        for index, call in enumerate(self._calls(answer)):
            function = {"name": call["function"]["name"], "arguments": ""}
            yield "call", chunk({"tool_calls": [{**call, "index": index, "function": function}]})
            for half in halves(call["function"]["arguments"]):
                yield "call", chunk({"tool_calls": [{"index": index, "function": {"arguments": half}}]})
        yield "end", chunk({}, "stop" if answer.refusal else _REASONS[answer.finish])
        if self.last.get("stream_options", {}).get("include_usage"):
            yield (
                "usage",
                sse(
                    {
                        **self._head("chat.completion.chunk"),
                        "choices": [],
                        "usage": usage(answer.usage, "prompt", "completion"),
                    }
                ),
            )
        yield "end", b"data: [DONE]\n\n"

    def error_frame(self) -> bytes:
        return sse({"error": {"message": "overloaded", "type": "server_error", "code": None, "param": None}})

    def error_body(self, status: int, message: str, answer: Answer) -> Any:
        return error_body(status, message)
