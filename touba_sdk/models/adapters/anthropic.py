"""Anthropic Messages, over the package `anthropic`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from touba_cli import vendors

from ..capabilities import Capabilities
from ..errors import ModelError, UnsupportedError, model_error
from ..messages import (
    FilePart,
    ImagePart,
    Message,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    project_content,
    split_system,
)
from ..requests import ReasoningMode, Request, ToolChoiceMode, ToolKind
from ..responses import Citation, FinishReason, Usage, WarningType
from ..streams import (
    CitationDelta,
    MessageEnd,
    MessageStart,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from ._base import Source, VendorModel
from ._failures import retry_after
from ._shape import (
    Prepared,
    Reader,
    arguments_object,
    base64_text,
    compact,
    ending,
    note,
    output_schema,
    plain,
    plain_schema,
    print_tool,
    seal,
    unseal,
)

__all__ = ["AnthropicModel"]

#: what is sent where the request bounds nothing: the vendor wants a bound
MAX_TOKENS = 4_096
#: effort → tokens for thinking, for models that want a budget
BUDGETS = {"none": 0, "minimal": 1_024, "low": 2_048, "medium": 8_192, "high": 16_384, "xhigh": 32_768, "max": 32_768}
#: a conversation may not end with an answer; this follows it then
CONTINUE = "Continue."

_FINISH = {
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "tool_use": FinishReason.TOOL_CALLS,
    "max_tokens": FinishReason.LENGTH,
    "model_context_window_exceeded": FinishReason.LENGTH,
    "refusal": FinishReason.CONTENT_FILTER,
}
_CHOICES = {ToolChoiceMode.AUTO: "auto", ToolChoiceMode.NONE: "none", ToolChoiceMode.REQUIRED: "any"}
_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_FILES_HEADER = {"anthropic-beta": "files-api-2025-04-14"}


class AnthropicModel(VendorModel):
    """A model behind Anthropic's Messages interface.

    Parameters:
        model: such as ``claude-sonnet-5``.
        options: those of `VendorModel`.

    Where a request bounds its answer by nothing, ``max_tokens`` is 4,096, and more where the model thinks. Thinking
    comes signed and goes back untouched.

    >>> AnthropicModel("claude-sonnet-5").provider
    'anthropic'
    """

    VENDOR: ClassVar[str] = "anthropic"
    KEY_VARIABLES: ClassVar[tuple[str, ...]] = ("ANTHROPIC_API_KEY",)
    PACKAGE: ClassVar[str] = "anthropic"
    EXTRA: ClassVar[str] = "anthropic"

    def _capabilities(self) -> Capabilities:
        return Capabilities(
            vision=True, documents=True, tools=True, structured_output=True, reasoning=True, prompt_caching=True,
            token_counting=True, web_search=True, code_execution=True,
        )  # fmt: skip

    def _connect(self, sdk: Any, http_client: Any | None, api_key: str | None) -> Any:
        return sdk.AsyncAnthropic(**self._client_arguments(sdk, http_client, api_key))

    def _refused(self, error: Exception) -> ModelError | None:
        import anthropic

        if isinstance(error, anthropic.APIConnectionError) or not isinstance(error, anthropic.APIError):
            return None
        response = getattr(error, "response", None)
        body = error.body if isinstance(error.body, Mapping) else {}
        inner = body.get("error")
        inner = inner if isinstance(inner, Mapping) else {}
        kind = inner.get("type")
        return model_error(
            provider=self.provider,
            status=getattr(error, "status_code", None) or 200,
            type=kind if isinstance(kind, str) else None,
            retry_after=retry_after(response.headers if response is not None else None),
            detail=str(inner.get("message") or error.message),
            body=error.body,
        )

    # --- requests ---------------------------------------------------------------------------------------------------

    def _prepare(self, request: Request) -> Prepared:
        prepared = Prepared()
        system, messages = split_system(request.messages)
        body: dict[str, Any] = {"messages": write_messages(messages, prepared, self.provider)}
        if system:
            body["system"] = system
        self._tools(request, body, prepared)
        for name in ("temperature", "top_p", "top_k"):
            if getattr(request, name) is not None:
                body[name] = getattr(request, name)
        if request.stop is not None:
            body["stop_sequences"] = list(request.stop)
        self._thinking(request, body, prepared)
        prepared.ignore(request, "seed", "frequency_penalty", "presence_penalty", "logprobs")
        prepared.body = self._options(request, body)
        return prepared

    def _tools(self, request: Request, body: dict[str, Any], prepared: Prepared) -> None:
        """Tools and the format of the answer: strict schemas share the limits of the request."""
        output = None
        wanted = request.response_format
        if wanted is not None:
            if wanted.schema is None:
                raise UnsupportedError("an answer that is any JSON object; give a schema", provider=self.provider)
            output = output_schema(prepared, "anthropic", wanted)
            body["output_config"] = {"format": {"type": "json_schema", "schema": output.schema}}
        tools = request.enabled_tools
        own = [tool.kind is ToolKind.FUNCTION for tool in tools]
        printed = [
            print_tool("anthropic", tool, strict=True) if mine and tool.strict else None
            for tool, mine in zip(tools, own, strict=True)
        ]
        plan, problems = vendors.plan_strict("anthropic", printed, output)
        for problem in problems:
            prepared.warn("strict", f"{problem.sentence}: later tools are not strict", WarningType.COMPATIBILITY)
        written = []
        for tool, mine, schema, strict in zip(tools, own, printed, plan, strict=True):
            if not mine:
                written.append(
                    {"type": tool.provider_type or tool.name, "name": tool.name, **(tool.provider_data or {})}
                )
                continue
            if strict and schema is not None:
                note(prepared, f"tool_schema:{tool.name}", schema)
            described = {"description": tool.description} if tool.description else {}
            sent = schema.schema if strict and schema is not None else plain_schema("anthropic", tool)
            written.append(
                {"name": tool.name, **described, "input_schema": sent, **({"strict": True} if strict else {})}
            )
        if not written:
            return
        body["tools"] = written
        choice = request.tool_choice
        if choice is not None:
            named = {"type": "tool", "name": choice.name}
            body["tool_choice"] = named if choice.name else {"type": _CHOICES[choice.mode]}

    def _thinking(self, request: Request, body: dict[str, Any], prepared: Prepared) -> None:
        body["max_tokens"] = request.max_tokens if request.max_tokens is not None else MAX_TOKENS
        wanted = request.reasoning
        if wanted is None:
            return
        if wanted.mode is ReasoningMode.DISABLED or wanted.effort == "none":
            body["thinking"] = {"type": "disabled"}
            return
        budget = wanted.budget_tokens
        if wanted.mode is ReasoningMode.ENABLED and budget is None:
            budget = BUDGETS[wanted.effort or "medium"]
        if budget is not None:
            if request.max_tokens is None:
                body["max_tokens"] = budget + MAX_TOKENS
            elif budget >= request.max_tokens:
                raise UnsupportedError(
                    f"{budget} tokens for thinking do not fit into an answer of {request.max_tokens}",
                    provider=self.provider,
                )
            body["thinking"] = {"type": "enabled", "budget_tokens": budget}
            return
        if wanted.mode is ReasoningMode.ADAPTIVE:
            body["thinking"] = {"type": "adaptive"}
        if wanted.effort is not None:
            body.setdefault("output_config", {})["effort"] = "low" if wanted.effort == "minimal" else wanted.effort
        if wanted.include_summary is False:
            prepared.warn("reasoning.include_summary", "thinking comes with its summary")

    # --- calls ------------------------------------------------------------------------------------------------------

    def _reader(self, prepared: Prepared) -> Reader:
        return MessagesReader(self.provider, self.model_id)

    async def _send(self, client: Any, prepared: Prepared) -> Mapping[str, Any]:
        return plain(await client.messages.create(**self._arguments(prepared)), self.provider)

    async def _open(self, client: Any, prepared: Prepared) -> Source:
        stream = await client.messages.create(**self._arguments(prepared), stream=True)
        return Source(stream, lambda event: plain(event, self.provider), stream.close)

    def _arguments(self, prepared: Prepared) -> dict[str, Any]:
        # What the installed SDK has no argument for still reaches the vendor: everything else goes as extra body.
        body = dict(prepared.body)
        return {
            "model": self.model_id,
            "messages": body.pop("messages"),
            "max_tokens": body.pop("max_tokens"),
            "extra_body": body,
            **({"extra_headers": prepared.headers} if prepared.headers else {}),
        }

    async def count_tokens(self, request: Request) -> int:
        """How many input tokens the request would have, as the vendor counts them."""
        prepared = self._prepare(request)
        counted = ("system", "tools", "tool_choice", "thinking")
        rest = {name: value for name, value in prepared.body.items() if name in counted}
        try:
            answer = await self._client().messages.count_tokens(
                model=self.model_id,
                messages=prepared.body["messages"],
                extra_body=rest,
                **({"extra_headers": prepared.headers} if prepared.headers else {}),
            )
            return int(answer.input_tokens)
        except Exception as error:
            self._raise(error)


def write_messages(messages: Sequence[Message], prepared: Prepared, provider: str) -> list[dict[str, Any]]:
    """The turns of a conversation: results first in the user's turn, no empty turn, and a user's turn at the end."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        role = "assistant" if message.role is Role.ASSISTANT else "user"
        blocks = [block for part in message.parts if (block := _block(part, prepared, provider)) is not None]
        if not blocks:
            continue
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"].extend(blocks)
        else:
            turns.append({"role": role, "content": blocks})
    for turn in turns:
        if turn["role"] == "user":
            turn["content"].sort(key=lambda block: block["type"] != "tool_result")
    if turns and turns[-1]["role"] == "assistant" and not _may_continue(turns[-1]["content"]):
        turns.append({"role": "user", "content": [{"type": "text", "text": CONTINUE}]})
    return turns


def _may_continue(blocks: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a turn ends with a tool of the vendor's that is still running: it goes back as it came."""
    return bool(blocks[-1]["type"] == "server_tool_use")


def _block(part: object, prepared: Prepared, provider: str) -> dict[str, Any] | None:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text} if part.text else None
    if isinstance(part, ToolCallPart):
        return {"type": "tool_use", "id": part.id, "name": part.name, "input": arguments_object(part)}
    if isinstance(part, ToolResultPart):
        inner = [_block(project_content(each), prepared, provider) for each in part.content]
        content = [block for block in inner if block is not None]
        failed = {"is_error": True} if part.is_error else {}
        return {
            "type": "tool_result",
            "tool_use_id": part.tool_call_id,
            **({"content": content} if content else {}),
            **failed,
        }
    if isinstance(part, ReasoningPart):
        return _thought(part, provider)
    assert isinstance(part, ImagePart | FilePart)
    return _media(part, prepared, provider)


def _thought(part: ReasoningPart, provider: str) -> dict[str, Any] | None:
    opened = unseal(provider, part.signature)
    if opened is None:
        return None  # reasoning of another provider, or one that broke off: it cannot go back
    kind, value = opened
    if kind == "thinking":
        return {"type": "thinking", "thinking": part.text, "signature": value}
    if kind == "redacted":
        return {"type": "redacted_thinking", "data": value}
    block: dict[str, Any] = json.loads(value)
    return block


def _media(part: ImagePart | FilePart, prepared: Prepared, provider: str) -> dict[str, Any]:
    source, kind = part.source, part.source.mime_type or ""
    image = isinstance(part, ImagePart) or kind.startswith("image/")
    if source.id is not None:
        prepared.headers.update(_FILES_HEADER)
        return {"type": "image" if image else "document", "source": {"type": "file", "file_id": source.id}}
    if not image and kind not in ("", "application/pdf") and not kind.startswith("text/"):
        raise UnsupportedError(f"a file of type {kind}", provider=provider)
    if image and kind and kind not in _IMAGES:
        raise UnsupportedError(f"an image of type {kind}", provider=provider)
    named = {"title": part.name} if isinstance(part, FilePart) and part.name and not image else {}
    if source.url is not None:
        return {"type": "image" if image else "document", "source": {"type": "url", "url": source.url}, **named}
    if kind.startswith("text/"):
        text = (source.data or b"").decode("utf-8", "replace")
        return {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": text}, **named}
    media = kind or ("image/png" if image else "application/pdf")
    data = {"type": "base64", "media_type": media, "data": base64_text(source)}
    return {"type": "image" if image else "document", "source": data, **named}


# --- answers --------------------------------------------------------------------------------------------------------


class MessagesReader:
    """Reads the answer of a Messages call."""

    def __init__(self, provider: str, model: str):
        self._provider = provider
        self._model = model
        self._blocks: dict[int, dict[str, Any]] = {}
        self._pieces: dict[int, list[str]] = {}
        self._usage: dict[str, Any] = {}
        self._stop: str | None = None

    def whole(self, body: Mapping[str, Any]) -> Iterator[StreamEvent]:
        yield from self._start({"message": body})
        for place, block in enumerate(body.get("content") or ()):
            yield from self._block_start({"index": place, "content_block": block})
            if block.get("type") == "tool_use":
                yield from self._delta({"index": place, "delta": {
                    "type": "input_json_delta", "partial_json": compact(block.get("input") or {})}})  # fmt: skip
            elif block.get("type") == "thinking":
                yield ReasoningDelta(signature=seal(self._provider, "thinking", block.get("signature") or ""))
            yield from self._block_stop({"index": place})
        self._stop = body.get("stop_reason")
        yield from self._message_stop({})

    def feed(self, item: Mapping[str, Any]) -> Iterable[StreamEvent]:
        step = _STEPS.get(item.get("type", ""))
        return step(self, item) if step is not None else ()

    def finish(self) -> Iterable[StreamEvent]:
        return ()  # only `message_stop` ends an answer

    def _start(self, item: Mapping[str, Any]) -> Iterator[StreamEvent]:
        message = item["message"]
        self._count(message.get("usage"))
        yield MessageStart(
            self._provider, message.get("id") or "", message.get("model") or self._model, read_usage(self._usage)
        )

    def _count(self, usage: Mapping[str, Any] | None) -> None:
        """Counts are cumulative: the last one of each stands."""
        self._usage.update({name: value for name, value in (usage or {}).items() if value is not None})

    def _block_start(self, item: Mapping[str, Any]) -> Iterator[StreamEvent]:
        place, block = item["index"], dict(item["content_block"])
        self._blocks[place], self._pieces[place] = block, []
        kind = block.get("type")
        if kind == "text":
            yield TextDelta(block.get("text") or "")
            yield from _citations(block.get("citations") or ())
        elif kind == "thinking":
            yield ReasoningDelta(block.get("thinking") or "")
        elif kind == "redacted_thinking":
            yield ReasoningDelta(signature=seal(self._provider, "redacted", block.get("data") or ""), redacted=True)
        elif kind == "tool_use":
            yield ToolCallStart(place, block["id"], block["name"])

    def _delta(self, item: Mapping[str, Any]) -> Iterator[StreamEvent]:
        place, delta = item["index"], item["delta"]
        kind = delta.get("type")
        if kind == "text_delta":
            yield TextDelta(delta["text"])
        elif kind == "thinking_delta":
            yield ReasoningDelta(delta["thinking"])
        elif kind == "signature_delta":
            yield ReasoningDelta(signature=seal(self._provider, "thinking", delta["signature"]))
        elif kind == "citations_delta":
            yield from _citations([delta["citation"]])
        elif kind == "input_json_delta" and delta["partial_json"]:
            self._pieces[place].append(delta["partial_json"])
            if self._blocks[place].get("type") == "tool_use":
                yield ToolCallDelta(place, delta["partial_json"])

    def _block_stop(self, item: Mapping[str, Any]) -> Iterator[StreamEvent]:
        place = item["index"]
        block = self._blocks[place]
        kind = block.get("type")
        if kind == "tool_use":
            if not self._pieces[place]:
                yield ToolCallDelta(place, compact(block.get("input") or {}))
            yield ToolCallEnd(place)
        elif kind not in ("text", "thinking", "redacted_thinking"):
            # a block of the vendor's own, such as a search that it ran: it goes back as it came
            if self._pieces[place]:
                block["input"] = json.loads("".join(self._pieces[place]))
            yield ReasoningDelta(signature=seal(self._provider, "block", _kept(block)), redacted=True)

    def _message_delta(self, item: Mapping[str, Any]) -> Iterator[StreamEvent]:
        self._count(item.get("usage"))
        self._stop = (item.get("delta") or {}).get("stop_reason") or self._stop
        yield from ()

    def _message_stop(self, item: Mapping[str, Any]) -> Iterator[StreamEvent]:
        finish, why = ending(_FINISH, self._stop or "")
        yield MessageEnd(finish, read_usage(self._usage), incomplete_reason=why)

    def _error(self, item: Mapping[str, Any]) -> Iterator[StreamEvent]:
        inner = item.get("error") or {}
        raise model_error(
            provider=self._provider,
            status=200,
            type=inner.get("type"),
            detail=str(inner.get("message") or ""),
            body=dict(item),
        )
        yield


_STEPS: dict[str, Any] = {
    "message_start": MessagesReader._start,
    "content_block_start": MessagesReader._block_start,
    "content_block_delta": MessagesReader._delta,
    "content_block_stop": MessagesReader._block_stop,
    "message_delta": MessagesReader._message_delta,
    "message_stop": MessagesReader._message_stop,
    "error": MessagesReader._error,
}


def _kept(block: Mapping[str, Any]) -> str:
    """A block as it goes back: without members that are null."""
    return compact({name: value for name, value in block.items() if value is not None})


def _citations(citations: Iterable[Mapping[str, Any]]) -> Iterator[StreamEvent]:
    for each in citations:
        title = each.get("title") or each.get("document_title")
        yield CitationDelta(Citation(each.get("url"), title, each.get("cited_text"), each.get("document_index")))


def read_usage(usage: Mapping[str, Any]) -> Usage | None:
    """The counts of a Messages call. The vendor's input leaves out what was read from and written to its cache."""
    if not usage:
        return None
    read, write = usage.get("cache_read_input_tokens") or 0, usage.get("cache_creation_input_tokens") or 0
    details = usage.get("output_tokens_details") or {}
    return Usage(
        input_tokens=(usage.get("input_tokens") or 0) + read + write,
        output_tokens=usage.get("output_tokens") or 0,
        reasoning_tokens=details.get("thinking_tokens") or 0,
        cached_input_tokens=read,
        cache_write_tokens=write,
    )
