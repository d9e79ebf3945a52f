"""Gemini, over the package `google-genai`."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from secrets import token_hex
from typing import Any, ClassVar

from ..capabilities import Capabilities
from ..errors import ModelError, UnsupportedError, model_error
from ..messages import (
    FilePart,
    ImagePart,
    Message,
    ReasoningPart,
    Role,
    StructuredContentPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    project_content,
    split_system,
)
from ..requests import ReasoningMode, Request, ToolChoiceMode, ToolDeclaration, ToolKind
from ..responses import UNFINISHED, Citation, FinishReason, Usage
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
from ._base import CONNECT_TIMEOUT, Source, VendorModel, close_all, watch, watched
from ._failures import retry_after
from ._shape import (
    Prepared,
    Reader,
    arguments_object,
    compact,
    names_of_calls,
    output_schema,
    seal,
    tool_schema,
    unseal,
)

__all__ = ["GeminiModel"]

#: ids that are ours: the vendor gave none, and is sent none back
OWN_ID = "touba_call_"
CONTINUE = "Continue."

_FILTERED = (
    "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "MODEL_ARMOR",
    "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION",
)  # fmt: skip
_FINISH = {
    "STOP": FinishReason.STOP,
    "MAX_TOKENS": FinishReason.LENGTH,
    **dict.fromkeys(_FILTERED, FinishReason.CONTENT_FILTER),
}
_CHOICES = {ToolChoiceMode.AUTO: "AUTO", ToolChoiceMode.NONE: "NONE", ToolChoiceMode.REQUIRED: "ANY"}
_LEVELS = {"minimal": "MINIMAL", "low": "LOW", "medium": "MEDIUM", "high": "HIGH", "xhigh": "HIGH", "max": "HIGH"}


class GeminiModel(VendorModel):
    """A model behind Google's Gemini interface.

    Parameters:
        model: such as ``gemini-2.5-pro``.
        options: those of `VendorModel`; ``client_options={"vertexai": True, "project": …, "location": …}`` speaks to
            Google Cloud, with its own credentials in the place of a key.

    Calls without an id get one of ours. Signatures of thoughts are kept as reasoning parts without text, each before
    the part that it belongs to, and go back with that part.

    >>> GeminiModel("gemini-2.5-pro").provider
    'gemini'
    """

    VENDOR: ClassVar[str] = "gemini"
    KEY_VARIABLES: ClassVar[tuple[str, ...]] = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
    PACKAGE: ClassVar[str] = "google.genai"
    EXTRA: ClassVar[str] = "gemini"

    def _capabilities(self) -> Capabilities:
        return Capabilities(
            vision=True, documents=True, audio_input=True, video_input=True, tools=True, structured_output=True,
            reasoning=True, prompt_caching=True, token_counting=True, web_search=True, code_execution=True,
        )  # fmt: skip

    def _without_key(self) -> str | None:
        if self._client_options.get("vertexai") or self._client_options.get("enterprise"):
            return None
        return super()._without_key()

    def _connect(self, sdk: Any, http_client: Any | None, api_key: str | None) -> Any:
        wrong: ValueError | None = None
        given = [http_client] if http_client is not None else self._http_clients()
        for http_client in given:
            common = {"base_url": self._base_url} if self._base_url else {}
            try:
                options = sdk.types.HttpOptions(
                    timeout=int(self._timeout * 1000), httpx_async_client=http_client, **common
                )
                break
            except ValueError as error:  # the SDK's version wants a client of the other package
                wrong = error
        else:
            raise TypeError("the HTTP client is not of the kind that google-genai takes") from wrong
        watch(http_client)
        key = {"api_key": api_key} if api_key else {}
        client = sdk.Client(**{**key, "http_options": options, **self._client_options})
        ours = self._http_client is None or callable(self._http_client)
        return _Client(client, http_client if ours else None)

    def _http_clients(self) -> Iterator[Any]:
        """Plain HTTP clients of the packages that versions of the SDK use: its own client knows asyncio only."""
        for name in ("httpx2", "httpx"):
            try:
                package = import_module(name)
            except ModuleNotFoundError:
                continue
            timeout = package.Timeout(self._timeout, connect=min(self._timeout, CONNECT_TIMEOUT))
            yield package.AsyncClient(timeout=timeout, follow_redirects=True)

    async def _close(self, client: Any) -> None:
        await client.aclose()

    def _refused(self, error: Exception) -> ModelError | None:
        from google.genai import errors

        if not isinstance(error, errors.APIError):
            return None
        headers = getattr(getattr(error, "response", None), "headers", None)
        body = error.details if isinstance(error.details, Mapping) else {}
        inner = body.get("error") if isinstance(body.get("error"), Mapping) else body
        wait = retry_after(headers)
        code = error.code if isinstance(error.code, int) else None
        streamed = getattr(error.response, "status_code", None) == 200
        return model_error(
            provider=self.provider,
            status=200 if streamed else code,
            type=error.status if isinstance(error.status, str) else None,
            retry_after=wait if wait is not None else _hint(inner),
            detail=str(error.message or ""),
            body=error.details,
        )

    # --- requests ---------------------------------------------------------------------------------------------------

    def _prepare(self, request: Request) -> Prepared:
        prepared = Prepared()
        system, messages = split_system(request.messages)
        config: dict[str, Any] = {"automatic_function_calling": {"disable": True}}
        if system:
            config["system_instruction"] = system
        self._tools(request, config, prepared)
        wanted = request.response_format
        if wanted is not None:
            config["response_mime_type"] = "application/json"
            if wanted.schema is not None:
                config["response_json_schema"] = output_schema(prepared, "gemini", wanted).schema
        for name in ("temperature", "top_p", "top_k", "seed", "frequency_penalty", "presence_penalty"):
            if getattr(request, name) is not None:
                config[name] = getattr(request, name)
        if request.max_tokens is not None:
            config["max_output_tokens"] = request.max_tokens
        if request.stop is not None:
            config["stop_sequences"] = list(request.stop)
        if request.logprobs is not None and request.logprobs.enabled:
            config["response_logprobs"] = True
            if request.logprobs.top is not None:
                config["logprobs"] = request.logprobs.top
        self._thinking(request, config)
        prepared.body = {
            "contents": write_contents(messages, self.provider),
            "config": self._options(request, config),
        }
        return prepared

    def _tools(self, request: Request, config: dict[str, Any], prepared: Prepared) -> None:
        declared = [self._tool(tool, prepared) for tool in request.enabled_tools if tool.kind is ToolKind.FUNCTION]
        tools: list[dict[str, Any]] = [{"function_declarations": declared}] if declared else []
        tools += [
            {tool.provider_type or tool.name: dict(tool.provider_data or {})}
            for tool in request.enabled_tools
            if tool.kind is ToolKind.PROVIDER_EXECUTED
        ]
        if tools:
            config["tools"] = tools
        choice = request.tool_choice
        if choice is not None and declared:
            calling: dict[str, Any] = {"mode": _CHOICES.get(choice.mode, "ANY")}
            if choice.name:
                calling["allowed_function_names"] = [choice.name]
            config["tool_config"] = {"function_calling_config": calling}

    def _tool(self, tool: ToolDeclaration, prepared: Prepared) -> dict[str, Any]:
        schema = tool_schema(prepared, "gemini", tool, strict=bool(tool.strict))
        described = {"description": tool.description} if tool.description else {}
        return {"name": tool.name, **described, "parameters_json_schema": schema}

    def _thinking(self, request: Request, config: dict[str, Any]) -> None:
        wanted = request.reasoning
        if wanted is None:
            return
        thinking: dict[str, Any] = {}
        if wanted.mode is ReasoningMode.DISABLED or wanted.effort == "none":
            thinking["thinking_budget"] = 0
        elif wanted.budget_tokens is not None:
            thinking["thinking_budget"] = wanted.budget_tokens
        elif wanted.effort is not None:
            thinking["thinking_level"] = _LEVELS[wanted.effort]
        elif wanted.mode in (ReasoningMode.ADAPTIVE, ReasoningMode.ENABLED):
            thinking["thinking_budget"] = -1  # the model decides
        if wanted.include_summary is not None:
            thinking["include_thoughts"] = wanted.include_summary
        if thinking:
            config["thinking_config"] = thinking

    # --- calls ------------------------------------------------------------------------------------------------------

    def _reader(self, prepared: Prepared) -> Reader:
        return GeminiReader(self.provider, self.model_id)

    async def _send(self, client: Any, prepared: Prepared) -> Mapping[str, Any]:
        return _plain(await client.models.generate_content(model=self.model_id, **prepared.body))

    async def _open(self, client: Any, prepared: Prepared) -> Source:
        answers = watched()
        stream = await client.models.generate_content_stream(model=self.model_id, **prepared.body)
        return Source(stream, _plain, partial(close_all, answers))

    async def count_tokens(self, request: Request) -> int:
        """How many input tokens the messages have, as the vendor counts them; its count leaves out tools."""
        prepared = self._prepare(request)
        contents = prepared.body["contents"]
        system = prepared.body["config"].get("system_instruction")
        if system:  # the vendor's counter takes no system prompt of its own
            contents = [{"role": "user", "parts": [{"text": system}]}, *contents]
        try:
            answer = await self._client().models.count_tokens(model=self.model_id, contents=contents)
            return int(answer.total_tokens or 0)
        except Exception as error:
            self._raise(error)


class _Client:
    """The SDK's client, and the HTTP client that was made for it."""

    def __init__(self, client: Any, http_client: Any | None):
        self.client = client
        self.models = client.aio.models
        self._http_client = http_client

    async def aclose(self) -> None:
        self.client.close()
        if self._http_client is not None:
            await self._http_client.aclose()


def _plain(answer: Any) -> dict[str, Any]:
    body: dict[str, Any] = answer.model_dump(
        mode="python", exclude_none=True, warnings=False, exclude={"sdk_http_response"}
    )
    return body


def _hint(error: Any) -> float | None:
    """The wait that an error of Google's asks for in its details: ``"retryDelay": "17s"``."""
    details = error.get("details") if isinstance(error, Mapping) else None
    for each in details if isinstance(details, list) else ():
        delay = each.get("retryDelay") if isinstance(each, Mapping) else None
        if isinstance(delay, str) and delay.endswith("s"):
            return retry_after({"retry-after": delay[:-1]})
    return None


def write_contents(messages: Sequence[Message], provider: str) -> list[dict[str, Any]]:
    """The turns of a conversation, with a user's turn at the end."""
    names = names_of_calls(messages)
    turns: list[dict[str, Any]] = []
    for message in messages:
        if message.role is Role.ASSISTANT:
            role, parts = "model", _answer_parts(message, provider)
        elif message.role is Role.TOOL:
            role, parts = (
                "user",
                [part for each in message.tool_results for part in _result_parts(each, names, provider)],
            )
        else:
            role, parts = "user", [_part(each, provider) for each in message.parts if not _empty(each)]
        if not parts:
            continue
        if turns and turns[-1]["role"] == role:
            turns[-1]["parts"].extend(parts)
        else:
            turns.append({"role": role, "parts": parts})
    if turns and turns[-1]["role"] == "model":
        turns.append({"role": "user", "parts": [{"text": CONTINUE}]})
    return turns


def _empty(part: object) -> bool:
    return isinstance(part, TextPart) and not part.text


def _answer_parts(message: Message, provider: str) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    signature: dict[str, bytes] = {}
    for part in message.parts:
        if isinstance(part, ReasoningPart):
            opened = unseal(provider, part.signature)
            if opened is None:
                continue  # thoughts without a signature need not go back, those of others may not
            kind, value = opened
            if kind == "part":
                parts.append(_with_bytes(json.loads(value)))
            elif kind == "thought":
                parts.append({"text": part.text, "thought": True, "thought_signature": base64.b64decode(value)})
            else:
                signature = {"thought_signature": base64.b64decode(value)}
        elif isinstance(part, ToolCallPart):
            call: dict[str, Any] = {"name": part.name, "args": arguments_object(part)}
            if not part.id.startswith(OWN_ID):
                call["id"] = part.id
            parts.append({"function_call": call, **signature})
            signature = {}
        elif isinstance(part, TextPart) and (part.text or signature):
            parts.append({"text": part.text, **signature})
            signature = {}
    if signature:
        parts.append({"text": "", **signature})
    return parts


def _result_parts(result: ToolResultPart, names: Mapping[str, str], provider: str) -> Iterator[dict[str, Any]]:
    """A result as the object that the vendor wants; images and files follow as parts of their own."""
    name = result.name or names.get(result.tool_call_id, "")
    if not name:
        raise UnsupportedError("a tool's result without the name of its tool", provider=provider)
    parts = [project_content(each) for each in result.content]
    text = "".join(each.text for each in parts if isinstance(each, TextPart))
    answer = _object(text) if any(isinstance(each, StructuredContentPart) for each in result.content) else None
    answer = answer or (None if result.is_error else _object(text)) or {"error" if result.is_error else "output": text}
    response: dict[str, Any] = {"name": name, "response": answer}
    if not result.tool_call_id.startswith(OWN_ID):
        response["id"] = result.tool_call_id
    yield {"function_response": response}
    for part in parts:
        if not isinstance(part, TextPart):
            yield _part(part, provider)


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _part(part: object, provider: str) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"text": part.text}
    assert isinstance(part, ImagePart | FilePart)
    source = part.source
    kind = source.mime_type or ("image/png" if isinstance(part, ImagePart) else None)
    if source.data is not None:
        return {"inline_data": {"data": source.data, "mime_type": kind or "application/octet-stream"}}
    address = source.url or source.id
    return {"file_data": {"file_uri": address, **({"mime_type": kind} if kind else {})}}


def _with_bytes(part: dict[str, Any]) -> dict[str, Any]:
    if "thought_signature" in part:
        part["thought_signature"] = base64.b64decode(part["thought_signature"])
    return part


# --- answers --------------------------------------------------------------------------------------------------------


class GeminiReader:
    """Reads the answer of a Gemini call: a stream is a row of answers, each with some of the parts."""

    def __init__(self, provider: str, model: str):
        self._provider = provider
        self._model = model
        self._started = False
        self._calls = 0
        self._finish: str | None = None
        self._usage: Mapping[str, Any] | None = None
        self._blocked: str | None = None
        self._grounding: Mapping[str, Any] | None = None
        self._citations: set[str] = set()

    def whole(self, body: Mapping[str, Any]) -> Iterator[StreamEvent]:
        yield from self.feed(body)
        if self._finish is None and self._blocked is None:
            self._finish = ""
        yield from self.finish()

    def feed(self, item: Mapping[str, Any]) -> Iterator[StreamEvent]:
        if not self._started:
            self._started = True
            yield MessageStart(self._provider, item.get("response_id") or "", item.get("model_version") or self._model)
        if item.get("usage_metadata"):
            self._usage = item["usage_metadata"]  # counts are cumulative: the last ones stand
        if (item.get("prompt_feedback") or {}).get("block_reason"):
            self._blocked = _name(item["prompt_feedback"]["block_reason"])
        for candidate in (item.get("candidates") or ())[:1]:
            for part in (candidate.get("content") or {}).get("parts") or ():
                yield from self._part(part)
            yield from self._sources(candidate)
            if candidate.get("finish_reason"):
                self._finish = _name(candidate["finish_reason"])

    def _part(self, part: Mapping[str, Any]) -> Iterator[StreamEvent]:
        signature = part.get("thought_signature")
        sealed = base64.b64encode(signature).decode("ascii") if signature else None
        if part.get("thought"):
            yield ReasoningDelta(part.get("text") or "", seal(self._provider, "thought", sealed) if sealed else None)
            return
        if "function_call" not in part and "text" not in part and not sealed:
            if part:
                yield self._own_part(part)
            return
        if sealed:  # it belongs to the part that follows
            yield ReasoningDelta(signature=seal(self._provider, "next", sealed), redacted=True)
        if "function_call" in part:
            call, place = part["function_call"], self._calls
            self._calls += 1
            yield ToolCallStart(place, call.get("id") or f"{OWN_ID}{token_hex(8)}", call.get("name") or "")
            yield ToolCallDelta(place, compact(call.get("args") or {}))
            yield ToolCallEnd(place)
        elif part.get("text"):
            yield TextDelta(part["text"])

    def _own_part(self, part: Mapping[str, Any]) -> ReasoningDelta:
        """A part of the vendor's own, such as code that it ran: it goes back as it came."""
        text = compact(part, _encoded)
        return ReasoningDelta(signature=seal(self._provider, "part", text), redacted=True)

    def _sources(self, candidate: Mapping[str, Any]) -> Iterator[StreamEvent]:
        grounding = candidate.get("grounding_metadata")
        if grounding:
            self._grounding = json.loads(json.dumps(grounding, default=_encoded))
        for chunk in (grounding or {}).get("grounding_chunks") or ():
            web = chunk.get("web") or {}
            if web.get("uri") and web["uri"] not in self._citations:
                self._citations.add(web["uri"])
                yield CitationDelta(Citation(web["uri"], web.get("title")))

    def finish(self) -> Iterable[StreamEvent]:
        if self._finish is None and self._blocked is None:
            return
        reason = self._finish if self._finish is not None else self._blocked or ""
        finish = _FINISH.get(reason, FinishReason.OTHER if reason else FinishReason.UNKNOWN)
        if self._finish is None:
            finish = FinishReason.CONTENT_FILTER
        elif finish is FinishReason.STOP and self._calls:
            finish = FinishReason.TOOL_CALLS
        why = reason if reason and finish in UNFINISHED else None
        yield MessageEnd(finish, read_usage(self._usage), self._grounding, incomplete_reason=why)


def _name(value: Any) -> str:
    return str(getattr(value, "value", value))


def _encoded(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    return _name(value)


def read_usage(usage: Mapping[str, Any] | None) -> Usage | None:
    """The counts of a Gemini call: its output leaves out thoughts, its input the prompts of the vendor's own tools."""
    if not usage:
        return None
    thoughts = usage.get("thoughts_token_count") or 0
    return Usage(
        input_tokens=(usage.get("prompt_token_count") or 0) + (usage.get("tool_use_prompt_token_count") or 0),
        output_tokens=(usage.get("candidates_token_count") or 0) + thoughts,
        reasoning_tokens=thoughts,
        cached_input_tokens=usage.get("cached_content_token_count") or 0,
    )
