"""OpenAI Responses, over the package `openai`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..capabilities import Capabilities
from ..errors import ModelResponseError, UnsupportedError
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
from ..requests import ReasoningMode, Request, ResponseFormat, ToolChoiceMode, ToolDeclaration, ToolKind
from ..responses import TRUNCATION_UNKNOWN, FinishReason
from ..streams import (
    MessageEnd,
    MessageStart,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from ._base import Source
from ._openai import OpenAIBase, citations, failure, format_schema, read_usage
from ._shape import Prepared, Reader, compact, data_url, plain, plain_schema, seal, tool_schema, unseal

__all__ = ["OpenAIModel"]


class OpenAIModel(OpenAIBase):
    """A model behind OpenAI's Responses interface.

    Parameters:
        model: such as ``gpt-5``.
        profile: the server: a name of `PROFILES`, or a `Profile` of your own.
        options: those of `VendorModel`.

    Nothing is stored at OpenAI (``store`` is false, unless `Request.provider_options` says otherwise): reasoning comes
    encrypted and goes back with the conversation, each item directly before the one that it led to.

    >>> OpenAIModel("gpt-5").provider
    'openai'
    """

    def _capabilities(self) -> Capabilities:
        return Capabilities(
            vision=True, documents=True, tools=True, structured_output=True, reasoning=self._reasons,
            prompt_caching=True, token_counting=self.profile.count_tokens, web_search=True, code_execution=True,
        )  # fmt: skip

    def _prepare(self, request: Request) -> Prepared:
        prepared = Prepared()
        system, messages = split_system(request.messages)
        body: dict[str, Any] = {"input": write_input(messages, self.provider), "store": False}
        if system is not None:
            body["instructions"] = system
        self._tools(request, body, prepared)
        if request.response_format is not None:
            body["text"] = {"format": self._format(request.response_format, prepared)}
        self._reasoning(request, body, prepared)
        self._sampling(request, body, prepared)
        if request.max_tokens is not None:
            body["max_output_tokens"] = request.max_tokens
        if request.logprobs is not None and request.logprobs.enabled:
            body.setdefault("include", []).append("message.output_text.logprobs")
            if request.logprobs.top is not None:
                body["top_logprobs"] = request.logprobs.top
        prepared.ignore(request, "top_k", "seed", "frequency_penalty", "presence_penalty", "stop")
        prepared.body = self._options(request, body)
        return prepared

    def _tools(self, request: Request, body: dict[str, Any], prepared: Prepared) -> None:
        tools = [self._tool(tool, prepared) for tool in request.enabled_tools]
        if tools:
            body["tools"] = tools
        if request.tool_choice is not None:
            self._choose(request.tool_choice)
            mode, name = request.tool_choice.mode, request.tool_choice.name
            body["tool_choice"] = {"type": "function", "name": name} if mode is ToolChoiceMode.TOOL else mode.value

    def _tool(self, tool: ToolDeclaration, prepared: Prepared) -> dict[str, Any]:
        if tool.kind is ToolKind.PROVIDER_EXECUTED:
            return {"type": tool.provider_type or tool.name, **(tool.provider_data or {})}
        strict = self._strict(tool.strict)
        schema = tool_schema(prepared, "openai", tool, strict=True) if strict else plain_schema("openai", tool)
        described = {"description": tool.description} if tool.description else {}
        return {"type": "function", "name": tool.name, **described, "parameters": schema, "strict": strict}

    def _format(self, wanted: ResponseFormat, prepared: Prepared) -> dict[str, Any]:
        if wanted.schema is None:
            return {"type": "json_object"}
        described = {"description": wanted.description} if wanted.description else {}
        schema, strict = format_schema(prepared, wanted, held=self.profile.strict)
        return {"type": "json_schema", "name": wanted.name, **described, "schema": schema, "strict": strict}

    def _reasoning(self, request: Request, body: dict[str, Any], prepared: Prepared) -> None:
        if self._reasons and self.profile.encrypted_reasoning:
            body["include"] = ["reasoning.encrypted_content"]
        wanted = request.reasoning
        if wanted is None:
            return
        given: dict[str, Any] = {}
        if wanted.mode is ReasoningMode.DISABLED:
            given["effort"] = "none"
        elif wanted.effort is not None:
            given["effort"] = wanted.effort
        if wanted.include_summary:
            given["summary"] = "auto"
        if wanted.budget_tokens is not None:
            prepared.warn("reasoning.budget_tokens", "this provider has no such setting; give an effort")
        if given:
            body["reasoning"] = given

    def _reader(self, prepared: Prepared) -> Reader:
        return ResponsesReader(self.provider, self.model_id, truncation_known=self.profile.truncation_known)

    async def _send(self, client: Any, prepared: Prepared) -> Mapping[str, Any]:
        return plain(await client.responses.create(**self._arguments(prepared)), self.provider)

    async def _open(self, client: Any, prepared: Prepared) -> Source:
        stream = await client.responses.create(**self._arguments(prepared), stream=True)
        return Source(stream, lambda event: plain(event, self.provider), stream.close)

    def _arguments(self, prepared: Prepared) -> dict[str, Any]:
        # What the installed SDK has no argument for still reaches the vendor: everything else goes as extra body.
        rest = {name: value for name, value in prepared.body.items() if name != "input"}
        return {"model": self.model_id, "input": prepared.body["input"], "extra_body": rest}

    async def count_tokens(self, request: Request) -> int:
        """How many input tokens the request would have, as the vendor counts them.

        Raises:
            UnsupportedError: where the server of the profile does not count.
        """
        if not self.profile.count_tokens:
            raise UnsupportedError("this provider does not count tokens", provider=self.provider)
        arguments = self._arguments(self._prepare(request))
        counted = ("instructions", "tools", "tool_choice", "text", "reasoning")
        arguments["extra_body"] = {name: value for name, value in arguments["extra_body"].items() if name in counted}
        try:
            return int((await self._client().responses.input_tokens.count(**arguments)).input_tokens)
        except Exception as error:
            self._raise(error)


# --- requests -------------------------------------------------------------------------------------------------------


def write_input(messages: Sequence[Message], provider: str) -> list[dict[str, Any]]:
    """The input items of a conversation."""
    items: list[dict[str, Any]] = []
    for message in messages:
        if message.role is Role.USER:
            items.append({"role": "user", "content": [write_content(part, provider) for part in message.parts]})
        elif message.role is Role.ASSISTANT:
            items.extend(_assistant_items(message, provider))
        else:
            items.extend(_result_item(result, provider) for result in message.tool_results)
    return items


def _assistant_items(message: Message, provider: str) -> Iterator[dict[str, Any]]:
    waiting: list[dict[str, Any]] = []  # items that may only go out with what followed them
    phase: str | None = None
    for part in message.parts:
        if isinstance(part, ReasoningPart):
            opened = unseal(provider, part.signature)
            if opened is not None and opened[0] == "item":
                waiting.append(json.loads(opened[1]))
            elif opened is not None and opened[0] == "phase":
                phase = opened[1]
            continue
        yield from waiting
        waiting = []
        if isinstance(part, ToolCallPart):
            yield {"type": "function_call", "call_id": part.id, "name": part.name, "arguments": part.args or "{}"}
        elif isinstance(part, TextPart) and part.text:
            text = [{"type": "output_text", "text": part.text, "annotations": []}]
            yield {"role": "assistant", "content": text, **({"phase": phase} if phase else {})}
            phase = None
    # A reasoning item without its follower is refused; other items of the provider's stand alone.
    yield from (item for item in waiting if item.get("type") != "reasoning")


def _result_item(result: ToolResultPart, provider: str) -> dict[str, Any]:
    parts = [project_content(part) for part in result.content]
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    output: Any = "".join(texts) if len(texts) == len(parts) else [write_content(part, provider) for part in parts]
    return {"type": "function_call_output", "call_id": result.tool_call_id, "output": output}


def write_content(part: object, provider: str) -> dict[str, Any]:
    """A part of a user message.

    Raises:
        UnsupportedError: for a file that is neither a document nor an image.
    """
    if isinstance(part, TextPart):
        return {"type": "input_text", "text": part.text}
    assert isinstance(part, ImagePart | FilePart)
    source = part.source
    kind = source.mime_type or ""
    if isinstance(part, ImagePart) or kind.startswith("image/"):
        if source.id is not None:
            return {"type": "input_image", "file_id": source.id, "detail": "auto"}
        return {"type": "input_image", "image_url": source.url or data_url(source), "detail": "auto"}
    if kind.startswith(("audio/", "video/")):
        raise UnsupportedError(f"a file of type {kind}", provider=provider)
    if source.id is not None:
        return {"type": "input_file", "file_id": source.id}
    if source.url is not None:
        return {"type": "input_file", "file_url": source.url}
    return {"type": "input_file", "filename": part.name or "file", "file_data": data_url(source)}


# --- answers --------------------------------------------------------------------------------------------------------


class ResponsesReader:
    """Reads the answer of a Responses call."""

    def __init__(self, provider: str, model: str, *, truncation_known: bool = True):
        self._provider = provider
        self._model = model
        self._truncation_known = truncation_known
        self._places: dict[str, int] = {}
        self._begun: set[int] = set()
        self._done: set[int] = set()
        self._written: dict[int, bool] = {}
        self._texts: set[tuple[int, int]] = set()
        self._calls = False
        self._refusal = False

    def whole(self, body: Mapping[str, Any]) -> Iterator[StreamEvent]:
        yield self._start(body)
        yield from self._rest(body)
        yield from self._end(body)

    def feed(self, item: Mapping[str, Any]) -> Iterable[StreamEvent]:
        step = _STEPS.get(item.get("type", ""))
        return step(self, item) if step is not None else ()

    def finish(self) -> Iterable[StreamEvent]:
        return ()  # only `response.completed` and its like end an answer

    def _start(self, body: Mapping[str, Any]) -> MessageStart:
        return MessageStart(self._provider, body.get("id") or "", body.get("model") or self._model)

    # --- steps of a stream ------------------------------------------------------------------------------------------

    def _created(self, item: Mapping[str, Any]) -> Iterator[StreamEvent]:
        yield self._start(item["response"])

    def _added(self, item: Mapping[str, Any]) -> Iterator[StreamEvent]:
        place, added = item["output_index"], item["item"]
        if added.get("id"):
            self._places[added["id"]] = place
        if added.get("type") == "function_call":
            yield from self._call_start(place, added)
        elif added.get("type") == "message" and added.get("phase"):
            self._begun.add(place)
            yield ReasoningDelta(signature=seal(self._provider, "phase", added["phase"]), redacted=True)

    def _call_start(self, place: int, item: Mapping[str, Any]) -> Iterator[StreamEvent]:
        self._begun.add(place)
        self._calls = True
        self._written[place] = False
        yield ToolCallStart(place, item["call_id"], item["name"])

    def _arguments(self, item: Mapping[str, Any]) -> Iterator[StreamEvent]:
        place = self._place(item)
        self._written[place] = self._written.get(place, False) or bool(item["delta"])
        yield ToolCallDelta(place, item["delta"])

    def _place(self, item: Mapping[str, Any]) -> int:
        """The place of an item that an event names by its id, or by the place itself."""
        known = self._places.get(item.get("item_id") or "")
        return known if known is not None else int(item["output_index"])

    def _text(self, item: Mapping[str, Any]) -> Iterator[StreamEvent]:
        self._texts.add((item["output_index"], item.get("content_index", 0)))
        yield TextDelta(item["delta"])

    def _refused(self, item: Mapping[str, Any]) -> Iterator[StreamEvent]:
        self._refusal = True
        yield from self._text(item)

    def _thought(self, item: Mapping[str, Any]) -> Iterator[StreamEvent]:
        place = self._place(item)
        self._begun.add(place)
        yield ReasoningDelta(item["delta"])

    def _next_thought(self, item: Mapping[str, Any]) -> Iterator[StreamEvent]:
        if self._place(item) in self._begun:
            yield ReasoningDelta("\n\n")

    def _annotation(self, item: Mapping[str, Any]) -> Iterator[StreamEvent]:
        yield from citations([item["annotation"]])

    def _item_done(self, item: Mapping[str, Any]) -> Iterator[StreamEvent]:
        yield from self._item(item["output_index"], item["item"])

    def _failed(self, item: Mapping[str, Any]) -> Iterator[StreamEvent]:
        yield from self._end(item["response"])

    def _ended(self, item: Mapping[str, Any]) -> Iterator[StreamEvent]:
        yield from self._rest(item["response"])
        yield from self._end(item["response"])

    def _error(self, item: Mapping[str, Any]) -> Iterator[StreamEvent]:
        raise failure(self._provider, item)
        yield

    # --- items ------------------------------------------------------------------------------------------------------

    def _rest(self, body: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """The items that did not come as events of their own."""
        for place, item in enumerate(body.get("output") or ()):
            yield from self._item(place, item)

    def _item(self, place: int, item: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """What is still to be said of an item that is complete."""
        if place in self._done:
            return
        self._done.add(place)
        kind = item.get("type")
        if kind == "function_call":
            if place not in self._begun:
                yield from self._call_start(place, item)
            if not self._written.get(place):
                yield ToolCallDelta(place, item.get("arguments") or "{}")
            yield ToolCallEnd(place)
        elif kind == "message":
            yield from self._message(place, item)
        elif kind == "reasoning":
            text = "" if place in self._begun else "\n\n".join(
                each["text"] for each in [*(item.get("summary") or ()), *(item.get("content") or ())]
            )  # fmt: skip
            yield ReasoningDelta(text, seal(self._provider, "item", _kept(item)))
        else:  # an item of the provider's own, such as a search that it ran: it goes back as it came
            yield ReasoningDelta(signature=seal(self._provider, "item", _kept(item)), redacted=True)

    def _message(self, place: int, item: Mapping[str, Any]) -> Iterator[StreamEvent]:
        if item.get("phase") and place not in self._begun:
            yield ReasoningDelta(signature=seal(self._provider, "phase", item["phase"]), redacted=True)
        for number, part in enumerate(item.get("content") or ()):
            if (place, number) in self._texts:
                continue
            if part.get("type") == "refusal":
                self._refusal = True
                yield TextDelta(part["refusal"])
            elif part.get("type") == "output_text":
                yield TextDelta(part["text"])
                yield from citations(part.get("annotations") or ())

    # --- the end ----------------------------------------------------------------------------------------------------

    def _end(self, body: Mapping[str, Any]) -> Iterator[StreamEvent]:
        status = body.get("status") or "completed"
        if status == "failed" or body.get("error"):
            raise failure(self._provider, body.get("error") or {})
        if status not in ("completed", "incomplete"):
            raise ModelResponseError(f"the answer is {status}", code="unfinished", provider=self._provider)
        reason = None
        if status == "incomplete":
            reason = (body.get("incomplete_details") or {}).get("reason")
            finish = {"max_output_tokens": FinishReason.LENGTH, "content_filter": FinishReason.CONTENT_FILTER}.get(
                reason or "", FinishReason.OTHER
            )
        elif self._refusal:
            finish = FinishReason.CONTENT_FILTER
        else:
            finish = FinishReason.TOOL_CALLS if self._calls else FinishReason.STOP
        hidden = status == "completed" and not self._truncation_known
        warnings = (TRUNCATION_UNKNOWN,) if hidden else ()
        usage = read_usage(body.get("usage"), "input", "output")
        yield MessageEnd(finish, usage, warnings=warnings, incomplete_reason=reason)


_STEPS: dict[str, Any] = {
    "response.created": ResponsesReader._created,
    "response.output_item.added": ResponsesReader._added,
    "response.output_item.done": ResponsesReader._item_done,
    "response.output_text.delta": ResponsesReader._text,
    "response.refusal.delta": ResponsesReader._refused,
    "response.function_call_arguments.delta": ResponsesReader._arguments,
    "response.reasoning_summary_part.added": ResponsesReader._next_thought,
    "response.reasoning_summary_text.delta": ResponsesReader._thought,
    "response.reasoning_text.delta": ResponsesReader._thought,
    "response.output_text.annotation.added": ResponsesReader._annotation,
    "response.completed": ResponsesReader._ended,
    "response.incomplete": ResponsesReader._ended,
    "response.failed": ResponsesReader._failed,
    "error": ResponsesReader._error,
}


def _kept(item: Mapping[str, Any]) -> str:
    """An item as it goes back: without members that are null, and without the status of reasoning."""
    kept = {name: value for name, value in item.items() if value is not None}
    if kept.get("type") == "reasoning":
        kept.pop("status", None)
        kept.setdefault("summary", [])
    return compact(kept)
