"""Ollama's own chat interface, over the package `ollama`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from secrets import token_hex
from typing import Any, ClassVar

from ..capabilities import Capabilities
from ..errors import ModelError, ModelResponseError, UnsupportedError, model_error
from ..messages import (
    FilePart,
    ImagePart,
    Message,
    ReasoningPart,
    Role,
    TextPart,
    project_content,
    split_system,
)
from ..requests import ReasoningMode, Request, ToolChoiceMode, ToolDeclaration, ToolKind
from ..responses import FinishReason, Usage
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
from ._base import CONNECT_TIMEOUT, Source, VendorModel, close_all, last_headers, watch, watched
from ._failures import retry_after
from ._shape import (
    Prepared,
    Reader,
    arguments_object,
    base64_text,
    compact,
    ending,
    names_of_calls,
    output_schema,
    tool_schema,
)

__all__ = ["OllamaModel"]

_FINISH = {"stop": FinishReason.STOP, "length": FinishReason.LENGTH}
#: settings of the request → names of Ollama's options
_OPTIONS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "seed": "seed",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
    "max_tokens": "num_predict",
}


class OllamaModel(VendorModel):
    """A model behind Ollama's own interface, which says whether an answer was cut.

    Parameters:
        model: such as ``qwen3``.
        options: those of `VendorModel`. Without ``base_url``, ``OLLAMA_HOST`` or this machine. A key is needed only by
            Ollama's cloud.

    The history is never cut silently (``truncate`` is false): a request that does not fit is refused. Set the context
    with ``provider_options={"ollama": {"options": {"num_ctx": 32768}}}``. Ollama cannot force a call; a request that
    wants that is an `UnsupportedError`. For its OpenAI-compatible interface use `OpenAIModel` with
    ``profile="ollama"``, which cannot tell a cut answer from a complete one.

    >>> OllamaModel("qwen3").provider
    'ollama'
    """

    VENDOR: ClassVar[str] = "ollama"
    KEY_VARIABLES: ClassVar[tuple[str, ...]] = ("OLLAMA_API_KEY",)
    PACKAGE: ClassVar[str] = "ollama"
    EXTRA: ClassVar[str] = "ollama"

    def _capabilities(self) -> Capabilities:
        return Capabilities(vision=True, tools=True, structured_output=True, reasoning=True)

    def _without_key(self) -> str | None:
        return None

    def _connect(self, sdk: Any, http_client: Any | None, api_key: str | None) -> Any:
        options: dict[str, Any] = {
            **({"headers": {"authorization": f"Bearer {api_key}"}} if api_key else {}),
        }
        client = sdk.AsyncClient(host=self._base_url, **{**options, **self._client_options})
        if http_client is not None:
            http_client.base_url = client._client.base_url
            http_client.headers.update(client._client.headers)
            client._client = http_client
        watch(client._client)
        return client

    async def _close(self, client: Any) -> None:
        if self._http_client is None or callable(self._http_client):
            await client._client.aclose()

    def _refused(self, error: Exception) -> ModelError | None:
        import ollama

        if not isinstance(error, ollama.ResponseError):
            return None
        # an error in the middle of a stream has no status of its own: the stream's was 200
        status = error.status_code if error.status_code > 0 else 200
        hint = retry_after(last_headers()) if status != 200 else None
        return model_error(
            provider=self.provider, status=status, retry_after=hint, detail=str(error.error), body=str(error.error)
        )

    # --- requests ---------------------------------------------------------------------------------------------------

    def _prepare(self, request: Request) -> Prepared:
        prepared = Prepared()
        body: dict[str, Any] = {
            "model": self.model_id,
            "messages": write_messages(request.messages, self.provider),
            "truncate": False,
        }
        options = {name: getattr(request, own) for own, name in _OPTIONS.items() if getattr(request, own) is not None}
        if request.stop is not None:
            options["stop"] = list(request.stop)
        if options:
            body["options"] = options
        self._tools(request, body, prepared)
        if request.response_format is not None:
            wanted = request.response_format
            body["format"] = "json" if wanted.schema is None else output_schema(prepared, "ollama", wanted).schema
        if request.reasoning is not None:
            wanted_reasoning = request.reasoning
            if wanted_reasoning.mode is ReasoningMode.DISABLED or wanted_reasoning.effort == "none":
                body["think"] = False
            elif wanted_reasoning.effort in ("low", "medium", "high", "max"):
                body["think"] = wanted_reasoning.effort
            elif wanted_reasoning.mode in (ReasoningMode.ENABLED, ReasoningMode.ADAPTIVE) or wanted_reasoning.effort:
                body["think"] = True
            if wanted_reasoning.budget_tokens is not None:
                prepared.warn("reasoning.budget_tokens", "this provider has no such setting; give an effort")
        if request.logprobs is not None and request.logprobs.enabled:
            body["logprobs"] = True
            if request.logprobs.top is not None:
                body["top_logprobs"] = request.logprobs.top
        prepared.body = self._options(request, body)
        return prepared

    def _tools(self, request: Request, body: dict[str, Any], prepared: Prepared) -> None:
        choice = request.tool_choice.mode if request.tool_choice is not None else ToolChoiceMode.AUTO
        if choice in (ToolChoiceMode.REQUIRED, ToolChoiceMode.TOOL):
            raise UnsupportedError(
                "this provider cannot force the model to call a tool; ask for an answer with a schema",
                provider=self.provider,
            )
        tools = [self._tool(tool, prepared) for tool in request.enabled_tools]
        if tools and choice is not ToolChoiceMode.NONE:
            body["tools"] = tools

    def _tool(self, tool: ToolDeclaration, prepared: Prepared) -> dict[str, Any]:
        if tool.kind is ToolKind.PROVIDER_EXECUTED:
            raise UnsupportedError(f"the provider's own tool {tool.name!r}: it has none", provider=self.provider)
        schema = tool_schema(prepared, "ollama", tool, strict=bool(tool.strict))
        described = {"description": tool.description} if tool.description else {}
        return {"type": "function", "function": {"name": tool.name, **described, "parameters": schema}}

    # --- calls ------------------------------------------------------------------------------------------------------

    def _reader(self, prepared: Prepared) -> Reader:
        return OllamaReader(self.provider, self.model_id)

    # The SDK's `chat` reads messages, tools and answers into classes of its own, which lose the parts of nested
    # schemas, ids of calls and everything that it does not know. Its `_request` is the same call without them.

    async def _send(self, client: Any, prepared: Prepared) -> Mapping[str, Any]:
        watched()
        body = {**prepared.body, "stream": False}
        answer: dict[str, Any] = await client._request(
            dict, "POST", "/api/chat", json=body, stream=False, **self._timeouts()
        )
        return answer

    async def _open(self, client: Any, prepared: Prepared) -> Source:
        body = {**prepared.body, "stream": True}
        answers = watched()
        stream = await client._request(dict, "POST", "/api/chat", json=body, stream=True, **self._timeouts())
        return Source(stream, dict, partial(close_all, answers))

    def _timeouts(self) -> dict[str, Any]:
        import httpx

        return {"timeout": httpx.Timeout(self._timeout, connect=min(self._timeout, CONNECT_TIMEOUT))}


def write_messages(messages: Sequence[Message], provider: str) -> list[dict[str, Any]]:
    """The messages of a conversation; images must be given as bytes."""
    system, rest = split_system(messages)
    names = names_of_calls(rest)
    written: list[dict[str, Any]] = [] if system is None else [{"role": "system", "content": system}]
    for message in rest:
        if message.role is Role.USER:
            written.append({"role": "user", **_content(message.parts, provider)})
        elif message.role is Role.ASSISTANT:
            thought = "".join(p.text for p in message.parts if isinstance(p, ReasoningPart) and p.signature is None)
            calls = [
                {"id": call.id, "function": {"name": call.name, "arguments": arguments_object(call)}}
                for call in message.tool_calls
            ]
            written.append(
                {
                    "role": "assistant",
                    "content": message.text,
                    **({"thinking": thought} if thought else {}),
                    **({"tool_calls": calls} if calls else {}),
                }
            )
        else:
            for result in message.tool_results:
                content = _content([project_content(part) for part in result.content], provider)
                name = result.name or names.get(result.tool_call_id, "")
                written.append({"role": "tool", "tool_name": name, "tool_call_id": result.tool_call_id, **content})
    return written


def _content(parts: Iterable[object], provider: str) -> dict[str, Any]:
    texts: list[str] = []
    images: list[str] = []
    for part in parts:
        if isinstance(part, TextPart):
            texts.append(part.text)
            continue
        assert isinstance(part, ImagePart | FilePart)
        kind = part.source.mime_type or ""
        if part.source.data is None:
            raise UnsupportedError("an image or a file that is not given as bytes", provider=provider)
        if isinstance(part, ImagePart) or kind.startswith("image/"):
            images.append(base64_text(part.source))
        elif kind.startswith("text/"):
            texts.append(part.source.data.decode("utf-8", "replace"))
        else:
            raise UnsupportedError(f"a file of type {kind or 'unknown'}", provider=provider)
    return {"content": "\n".join(texts), **({"images": images} if images else {})}


# --- answers --------------------------------------------------------------------------------------------------------


class OllamaReader:
    """Reads the answer of an Ollama chat: a stream is a row of lines, the last of which is done."""

    def __init__(self, provider: str, model: str):
        self._provider = provider
        self._model = model
        self._started = False
        self._calls = 0

    def whole(self, body: Mapping[str, Any]) -> Iterator[StreamEvent]:
        yield from self.feed({"done": True, **body})

    def feed(self, item: Mapping[str, Any]) -> Iterator[StreamEvent]:
        if item.get("error"):
            raise model_error(provider=self._provider, status=200, detail=str(item["error"]), body=dict(item))
        if not self._started:
            if "message" not in item:
                raise ModelResponseError("the answer has no message", code="invalid_response", provider=self._provider)
            self._started = True
            yield MessageStart(self._provider, "", item.get("model") or self._model)
        message = item.get("message") or {}
        if message.get("thinking"):
            yield ReasoningDelta(message["thinking"])
        if message.get("content"):
            yield TextDelta(message["content"])
        for call in message.get("tool_calls") or ():
            place, function = self._calls, call["function"]
            self._calls += 1
            yield ToolCallStart(place, call.get("id") or f"call_{token_hex(8)}", function["name"])
            yield ToolCallDelta(place, compact(function.get("arguments") or {}))
            yield ToolCallEnd(place)
        if item.get("done"):
            yield self._end(item)

    def _end(self, item: Mapping[str, Any]) -> MessageEnd:
        finish, why = ending(_FINISH, item.get("done_reason") or "")
        if why is None and self._calls:
            finish = FinishReason.TOOL_CALLS
        # counts that are zero are left out
        usage = Usage(item.get("prompt_eval_count") or 0, item.get("eval_count") or 0)
        return MessageEnd(finish, usage, incomplete_reason=why)

    def finish(self) -> Iterable[StreamEvent]:
        return ()  # only a line that is done ends an answer
