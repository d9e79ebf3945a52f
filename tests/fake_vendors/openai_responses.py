"""OpenAI Responses: ``POST /v1/responses``."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from touba_cli import vendors
from touba_sdk.models import FinishReason, ReasoningPart, ToolCallPart
from touba_sdk.models.adapters import OpenAIModel
from touba_sdk.testing.model_contract import Answer

from .openai_shared import error_body, usage
from .server import FakeVendor, Received, halves, pieces, sse


class FakeOpenAI(FakeVendor):
    """OpenAI's Responses interface."""

    ADAPTER = OpenAIModel
    MODEL = "gpt-5-mini"
    ROOT = "/v1"

    # --- what it refuses --------------------------------------------------------------------------------------------

    def refusal(self, received: Received) -> str | None:
        body = received.body
        if received.path.endswith("/input_tokens"):
            return None
        if received.path != "/v1/responses":
            return "no such path"
        if received.headers.get("authorization") != "Bearer k":
            return "no key"
        for tool in body.get("tools", ()):
            if tool["type"] == "function" and "strict" not in tool:
                return "the real service would guess whether this is strict"
            if tool.get("strict"):
                problems = vendors.lint_schema("openai", tool["parameters"])
                if problems:
                    return f"Invalid schema for function {tool['name']}: {problems[0]}"
        return _unpaired(body["input"])

    # --- answers ----------------------------------------------------------------------------------------------------

    def _items(self, answer: Answer) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        cut = answer.finish is FinishReason.LENGTH
        for number, part in enumerate(answer.parts):
            if isinstance(part, ReasoningPart):
                summary = [{"type": "summary_text", "text": part.text}] if part.text else []
                items.append(
                    {"type": "reasoning", "id": f"rs_{number}", "summary": summary, "encrypted_content": part.signature,
                     "status": None}
                )  # fmt: skip
            elif isinstance(part, ToolCallPart):
                items.append(
                    {"type": "function_call", "id": f"fc_{number}", "call_id": part.id, "name": part.name,
                     "arguments": part.args or "{}", "status": "incomplete" if cut else "completed"}
                )  # fmt: skip
            else:
                content = (
                    {"type": "refusal", "refusal": part.text}
                    if answer.refusal
                    else {"type": "output_text", "text": part.text, "annotations": []}
                )
                items.append(
                    {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed",
                     "content": [content]}
                )  # fmt: skip
        return items

    def _response(self, answer: Answer, items: list[dict[str, Any]], status: str | None = None) -> dict[str, Any]:
        details = None
        if status is None:
            status = "completed"
            if answer.finish is FinishReason.LENGTH:
                status, details = "incomplete", {"reason": "max_output_tokens"}
            elif answer.finish is FinishReason.CONTENT_FILTER and not answer.refusal:
                status, details = "incomplete", {"reason": "content_filter"}
        body = {
            "id": "resp_1", "object": "response", "created_at": 1, "model": self.MODEL, "status": status,
            "error": None, "incomplete_details": details, "output": items, "tools": [], "tool_choice": "auto",
            "parallel_tool_calls": True,
            "usage": None if status == "in_progress" else usage(answer.usage, "input", "output"),
        }  # fmt: skip
        if answer.fault == "unknown_fields":
            body["mood"] = {"good": True}
            body["output"] = [*items, {"type": "telepathy_call", "id": "tp_1", "waves": [1, 2]}] if items else items
        return body

    def whole(self, answer: Answer) -> Any:
        return self._response(answer, self._items(answer))

    def frames(self, answer: Answer) -> Iterator[tuple[str, bytes]]:
        numbers = itertools.count()

        def event(kind: str, newline: str = "\n", **members: Any) -> bytes:
            return sse({"type": kind, "sequence_number": next(numbers), **members}, kind, newline)

        items = self._items(answer)
        yield "start", event("response.created", response=self._response(answer, [], "in_progress"))
        yield "start", event("response.in_progress", newline="\r\n", response=self._response(answer, [], "in_progress"))
        for place, item in enumerate(items):
            opened = {**item, "status": "in_progress"}
            if item["type"] == "message":
                opened["content"] = []
            elif item["type"] == "function_call":
                opened["arguments"] = ""
            else:
                opened["summary"], opened["encrypted_content"] = [], None
            yield "item", event("response.output_item.added", output_index=place, item=opened)
            if answer.fault == "unknown_fields":
                yield "odd", event("response.telepathy.delta", output_index=place, wave=[1, 2])
            yield from self._inside(place, item, event)
            yield "item", event("response.output_item.done", output_index=place, item=item)
        final = self._response(answer, items)
        kind = "response.incomplete" if final["status"] == "incomplete" else "response.completed"
        yield "end", event(kind, response=final)

    def _inside(self, place: int, item: dict[str, Any], event: Any) -> Iterator[tuple[str, bytes]]:
        where = {"item_id": item["id"], "output_index": place}
        if item["type"] == "function_call":
            for half in halves(item["arguments"]):
                yield "call", event("response.function_call_arguments.delta", **where, delta=half)
            yield "call", event("response.function_call_arguments.done", **where, arguments=item["arguments"])
        elif item["type"] == "reasoning":
            for number, part in enumerate(item["summary"]):
                spot = {**where, "summary_index": number}
                empty = {"type": "summary_text", "text": ""}
                yield "thought", event("response.reasoning_summary_part.added", **spot, part=empty)
                for piece in pieces(part["text"]):
                    yield "thought", event("response.reasoning_summary_text.delta", **spot, delta=piece)
                yield "thought", event("response.reasoning_summary_text.done", **spot, text=part["text"])
        else:
            part = item["content"][0]
            spot = {**where, "content_index": 0}
            refused = part["type"] == "refusal"
            text, name = (part["refusal"], "refusal") if refused else (part["text"], "output_text")
            yield "part", event("response.content_part.added", **spot, part={**part, "text": ""})
            for piece in pieces(text):
                yield "text", event(f"response.{name}.delta", **spot, delta=piece, logprobs=[])
            yield "part", event(f"response.{name}.done", **spot, **({"refusal": text} if refused else {"text": text}))

    def error_frame(self) -> bytes:
        members = {"code": "server_error", "message": "overloaded", "param": None, "sequence_number": 9}
        return sse({"type": "error", **members}, "error")

    def error_body(self, status: int, message: str, answer: Answer) -> Any:
        return error_body(status, message)


def _unpaired(items: list[dict[str, Any]]) -> str | None:
    """What the service says of calls without outputs, outputs without calls and reasoning without a follower."""
    open_calls: set[str] = set()
    for place, item in enumerate(items):
        kind = item.get("type")
        if kind == "function_call":
            open_calls.add(item["call_id"])
        elif kind == "function_call_output":
            if item["call_id"] not in open_calls:
                return f"No tool call found for function call output with call_id {item['call_id']}."
            open_calls.discard(item["call_id"])
        elif kind == "reasoning":
            follower = items[place + 1] if place + 1 < len(items) else {}
            if follower.get("role") == "user" or (
                follower.get("type") in (None, "function_call_output") and (follower.get("role") != "assistant")
            ):
                return f"Item '{item['id']}' of type 'reasoning' was provided without its required following item."
    if open_calls:
        return f"No tool output found for function call {min(open_calls)}."
    return None
