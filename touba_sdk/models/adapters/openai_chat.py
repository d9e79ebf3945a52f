"""Chat Completions, over the package `openai`: for OpenAI itself and for the many servers that copy this interface."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from secrets import token_hex
from typing import Any

from ..capabilities import Capabilities
from ..errors import ModelResponseError, UnsupportedError
from ..messages import FilePart, ImagePart, Message, ReasoningPart, Role, TextPart, project_content, split_system
from ..requests import ReasoningMode, Request, ToolChoiceMode, ToolDeclaration, ToolKind
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
from ._shape import Prepared, Reader, base64_text, data_url, ending, plain, plain_schema, tool_schema

__all__ = ["OpenAIChatModel"]

_FINISH = {
    "stop": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    "tool_calls": FinishReason.TOOL_CALLS,
    "function_call": FinishReason.TOOL_CALLS,
    "content_filter": FinishReason.CONTENT_FILTER,
}
_AUDIO = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


class OpenAIChatModel(OpenAIBase):
    """A model behind a Chat Completions interface.

    Parameters:
        model: the server's name of the model.
        profile: the server: a name of `PROFILES` (``openai``, ``groq``, ``local`` …), or a `Profile` of your own.
        options: those of `VendorModel`.

    >>> OpenAIChatModel("qwen3", profile="local", base_url="http://localhost:8000/v1").provider
    'local'
    """

    def _capabilities(self) -> Capabilities:
        structured = self.profile.structured == "json_schema"
        return Capabilities(
            vision=True, audio_input=self.profile.provider == "openai", tools=True, structured_output=structured,
            documents=self.profile.provider == "openai",
            reasoning=self.profile.reasoning_field is not None or (self.profile.provider == "openai" and self._reasons),
        )  # fmt: skip

    def _prepare(self, request: Request) -> Prepared:
        prepared = Prepared()
        body: dict[str, Any] = {"messages": self._messages(request)}
        tools = [self._tool(tool, prepared) for tool in request.enabled_tools]
        if tools:
            body["tools"] = tools
        if request.tool_choice is not None:
            self._choose(request.tool_choice)
            mode, name = request.tool_choice.mode, request.tool_choice.name
            named = {"type": "function", "function": {"name": name}}
            body["tool_choice"] = named if mode is ToolChoiceMode.TOOL else mode.value
        self._format(request, body, prepared)
        self._sampling(request, body, prepared)
        for name in ("seed", "frequency_penalty", "presence_penalty"):
            if getattr(request, name) is not None:
                body[name] = getattr(request, name)
        if request.stop is not None:
            body["stop"] = list(request.stop)
        if request.max_tokens is not None:
            body[self.profile.max_tokens_field] = request.max_tokens
        if request.logprobs is not None and request.logprobs.enabled:
            body["logprobs"] = True
            if request.logprobs.top is not None:
                body["top_logprobs"] = request.logprobs.top
        if request.reasoning is not None:
            effort = "none" if request.reasoning.mode is ReasoningMode.DISABLED else request.reasoning.effort
            if effort is not None:
                body["reasoning_effort"] = effort
            if request.reasoning.budget_tokens is not None:
                prepared.warn("reasoning.budget_tokens", "this provider has no such setting; give an effort")
        prepared.ignore(request, "top_k")
        prepared.body = self._options(request, body)
        return prepared

    def _tool(self, tool: ToolDeclaration, prepared: Prepared) -> dict[str, Any]:
        if tool.kind is ToolKind.PROVIDER_EXECUTED:
            raise UnsupportedError(f"the provider's own tool {tool.name!r} in chat completions", provider=self.provider)
        strict = self._strict(tool.strict)
        schema = tool_schema(prepared, "openai", tool, strict=True) if strict else plain_schema("openai", tool)
        described = {"description": tool.description} if tool.description else {}
        sent = {"strict": strict} if self.profile.strict else {}
        return {"type": "function", "function": {"name": tool.name, **described, "parameters": schema, **sent}}

    def _format(self, request: Request, body: dict[str, Any], prepared: Prepared) -> None:
        wanted = request.response_format
        if wanted is None:
            return
        if self.profile.structured is None or (wanted.schema is not None and self.profile.structured != "json_schema"):
            if wanted.strict or self.profile.structured is None:
                raise UnsupportedError("this provider holds no answer to a schema", provider=self.provider)
            prepared.warn("response_format", "the provider gives a JSON object, but does not hold it to the schema")
            body["response_format"] = {"type": "json_object"}
        elif wanted.schema is None:
            body["response_format"] = {"type": "json_object"}
        else:
            described = {"description": wanted.description} if wanted.description else {}
            schema, strict = format_schema(prepared, wanted, held=self.profile.strict)
            named = {"name": wanted.name, **described, "schema": schema, "strict": strict}
            body["response_format"] = {"type": "json_schema", "json_schema": named}

    # --- messages ---------------------------------------------------------------------------------------------------

    def _messages(self, request: Request) -> list[dict[str, Any]]:
        system, messages = split_system(request.messages)
        written = [] if system is None else [{"role": self.profile.system_role, "content": system}]
        for message in messages:
            if message.role is Role.USER:
                written.append({"role": "user", "content": self._content(message)})
            elif message.role is Role.ASSISTANT:
                written.append(self._assistant(message))
            else:  # one message for each result
                for result in message.tool_results:
                    parts = [project_content(part) for part in result.content]
                    texts = [part.text for part in parts if isinstance(part, TextPart)]
                    if len(texts) != len(parts):
                        raise UnsupportedError("an image or a file in a tool's result", provider=self.provider)
                    written.append({"role": "tool", "tool_call_id": result.tool_call_id, "content": "".join(texts)})
        return written

    def _content(self, message: Message) -> Any:
        if all(isinstance(part, TextPart) for part in message.parts):
            return message.text
        return [self._part(part) for part in message.parts]

    def _part(self, part: object) -> dict[str, Any]:
        if isinstance(part, TextPart):
            return {"type": "text", "text": part.text}
        assert isinstance(part, ImagePart | FilePart)
        source, kind = part.source, part.source.mime_type or ""
        if isinstance(part, ImagePart) or kind.startswith("image/"):
            if source.id is not None:
                raise UnsupportedError("an image named by its id in chat completions", provider=self.provider)
            return {"type": "image_url", "image_url": {"url": source.url or data_url(source)}}
        if kind in _AUDIO and source.data is not None:
            return {"type": "input_audio", "input_audio": {"data": base64_text(source), "format": _AUDIO[kind]}}
        if source.id is not None:
            return {"type": "file", "file": {"file_id": source.id}}
        if source.data is None:
            raise UnsupportedError("a file named by its address in chat completions", provider=self.provider)
        return {"type": "file", "file": {"filename": part.name or "file", "file_data": data_url(source)}}

    def _assistant(self, message: Message) -> dict[str, Any]:
        written: dict[str, Any] = {"role": "assistant", "content": message.text or None}
        if message.tool_calls:
            written["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.args or "{}"}}
                for call in message.tool_calls
            ]
        if self.profile.replay_reasoning and self.profile.reasoning_field:
            thought = "".join(p.text for p in message.parts if isinstance(p, ReasoningPart) and p.signature is None)
            if thought:
                written[self.profile.reasoning_field] = thought
        return written

    # --- calls ------------------------------------------------------------------------------------------------------

    def _reader(self, prepared: Prepared) -> Reader:
        return ChatReader(self.provider, self.model_id, truncation_known=self.profile.truncation_known)

    async def _send(self, client: Any, prepared: Prepared) -> Mapping[str, Any]:
        return plain(await client.chat.completions.create(**self._arguments(prepared)), self.provider)

    async def _open(self, client: Any, prepared: Prepared) -> Source:
        arguments = self._arguments(prepared)
        if self.profile.stream_usage:
            arguments["extra_body"].setdefault("stream_options", {"include_usage": True})
        stream = await client.chat.completions.create(**arguments, stream=True)
        return Source(stream, lambda event: plain(event, self.provider), stream.close)

    def _arguments(self, prepared: Prepared) -> dict[str, Any]:
        rest = {name: value for name, value in prepared.body.items() if name != "messages"}
        return {"model": self.model_id, "messages": prepared.body["messages"], "extra_body": rest}


class _Call:
    """A call that is being written."""

    __slots__ = ("id", "written")

    def __init__(self, id: str):
        self.id = id
        self.written = False


class ChatReader:
    """Reads the answer of a Chat Completions call."""

    def __init__(self, provider: str, model: str, *, truncation_known: bool = True):
        self._provider = provider
        self._model = model
        self._truncation_known = truncation_known
        self._started = False
        self._open: dict[int, _Call] = {}
        self._finish: str | None = None
        self._usage: Mapping[str, Any] | None = None
        self._refusal = False

    def whole(self, body: Mapping[str, Any]) -> Iterator[StreamEvent]:
        choices = body.get("choices") or ()
        if not choices:
            if body.get("error"):
                raise failure(self._provider, body)
            raise ModelResponseError("the answer has no choice", code="invalid_response", provider=self._provider)
        message = choices[0].get("message") or {}
        calls = [{**call, "index": place} for place, call in enumerate(message.get("tool_calls") or ())]
        delta = {**message, "tool_calls": calls}
        yield from self.feed({**body, "choices": [{**choices[0], "delta": delta}]})
        if self._finish is None:
            self._finish = ""
        yield from self.finish()

    def feed(self, item: Mapping[str, Any]) -> Iterator[StreamEvent]:
        if item.get("error"):
            raise failure(self._provider, item)
        if not self._started:
            self._started = True
            yield MessageStart(self._provider, item.get("id") or "", item.get("model") or self._model)
        if item.get("usage"):
            self._usage = item["usage"]  # counts are cumulative: the last ones stand
        for choice in item.get("choices") or ():
            if choice.get("index"):
                continue  # one answer was asked for
            yield from self._delta(choice.get("delta") or {})
            if choice.get("finish_reason"):
                self._finish = choice["finish_reason"]

    def _delta(self, delta: Mapping[str, Any]) -> Iterator[StreamEvent]:
        thought = next(
            (delta[name] for name in ("reasoning_content", "reasoning") if isinstance(delta.get(name), str)), ""
        )
        if thought:
            yield ReasoningDelta(thought)
        if delta.get("content"):
            yield TextDelta(delta["content"])
        if delta.get("refusal"):
            self._refusal = True
            yield TextDelta(delta["refusal"])
        yield from citations(
            [{**each, **each.get(each.get("type", ""), {})} for each in delta.get("annotations") or ()]
        )
        for call in delta.get("tool_calls") or ():
            yield from self._call(call)

    def _call(self, call: Mapping[str, Any]) -> Iterator[StreamEvent]:
        function = call.get("function") or {}
        place = call.get("index")
        if place is None:  # some servers send no index: a piece with an id begins a call
            place = max(self._open, default=-1) + (1 if call.get("id") else 0)
        known = self._open.get(place)
        if known is not None and call.get("id") and call["id"] != known.id:  # others give every call the same index
            place = max(self._open) + 1
            known = None
        elif known is None and not call.get("id") and not function.get("name") and self._open:
            place = max(self._open)
            known = self._open[place]
        if known is None:
            known = self._open[place] = _Call(call.get("id") or f"call_{token_hex(8)}")
            yield ToolCallStart(place, known.id, function.get("name") or "")
        if function.get("arguments"):
            known.written = True
            yield ToolCallDelta(place, function["arguments"])

    def finish(self) -> Iterable[StreamEvent]:
        if self._finish is None:
            return
        for place, call in self._open.items():
            if not call.written:
                yield ToolCallDelta(place, "{}")
            yield ToolCallEnd(place)
        reason, why = ending(_FINISH, self._finish)
        if why is None and self._refusal:
            reason = FinishReason.CONTENT_FILTER
        elif self._open and reason is FinishReason.STOP:
            reason = FinishReason.TOOL_CALLS
        warnings = () if self._truncation_known else (TRUNCATION_UNKNOWN,)
        usage = read_usage(self._usage, "prompt", "completion")
        yield MessageEnd(reason, usage, warnings=warnings, incomplete_reason=why)
