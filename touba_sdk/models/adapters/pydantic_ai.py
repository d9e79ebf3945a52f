"""A bridge to the models of pydantic-ai, for every vendor that it knows and this package does not."""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

import anyio

from ..capabilities import Capabilities
from ..errors import (
    AuthError,
    ConnectionFailedError,
    IncompleteStreamError,
    InvalidRequestError,
    ModelError,
    ModelResponseError,
    ModelTimeoutError,
    OverloadedError,
    RateLimitedError,
    StreamIdleError,
    UnsupportedError,
    model_error,
)
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
from ..responses import UNFINISHED, Citation, FinishReason, Response, Usage
from ..streams import (
    CLOSE_GRACE,
    CitationDelta,
    Collector,
    EventStream,
    MessageEnd,
    MessageStart,
    ModelStream,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from ._base import loop_clients
from ._failures import retry_after, transport_cause, transport_failure
from ._shape import Prepared, Shaper, compact, merged, names_of_calls, plain_schema, seal, unseal

__all__ = ["PydanticAIModel"]

#: the name under which a request's `provider_options` reach this bridge, besides the provider's own
OPTIONS = "pydantic_ai"
#: whose name the signatures carry: pydantic-ai itself keeps apart what belongs to which vendor
SEAL = "pydantic_ai"

_FINISH = {
    "stop": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    "content_filter": FinishReason.CONTENT_FILTER,
    "tool_call": FinishReason.TOOL_CALLS,
    "error": FinishReason.OTHER,
}
#: models that run in this process and give no reason for their end
_LOCAL = ("test", "function")
_KEPT = ("id", "signature", "provider_name", "provider_details")


class PydanticAIModel:
    """A model of pydantic-ai as a `LanguageModel`.

    Parameters:
        model: an instance of `pydantic_ai.models.Model`, a name such as ``mistral:mistral-large-latest``, or a function
            that makes one of these. An instance keeps the connections of one event loop; a function is called once for
            each event loop, and ``async with`` or `aclose` closes the client of what it made.
        capabilities: what the model can do; text, tools and structured answers are assumed.
        ends_with_reason: whether a stream without a finish reason has been cut. None: yes, unless the model runs in
            this process.

    The retries of the vendor's SDK are off. `Request.provider_options` under the provider's name, or under
    ``pydantic_ai``, become pydantic-ai's model settings.

    >>> from pydantic_ai.models.test import TestModel  # doctest: +SKIP
    >>> PydanticAIModel(TestModel()).provider  # doctest: +SKIP
    'test'
    """

    def __init__(self, model: Any, *, capabilities: Capabilities | None = None, ends_with_reason: bool | None = None):
        try:
            from pydantic_ai.models import Model, infer_model
        except ModuleNotFoundError as error:
            raise ImportError("PydanticAIModel needs a package: install Touba with the extra `pydantic-ai`") from error
        self._make: Callable[[], Any] | None = None
        if callable(model) and not isinstance(model, Model):
            self._make, model = model, model()
        self.inner = infer_model(model)
        self._spare: Any = self.inner
        self._capabilities = capabilities
        self._ends_with_reason = ends_with_reason

    @property
    def provider(self) -> str:
        """The vendor's name, as pydantic-ai has it."""
        return str(self.inner.system)

    @property
    def model_id(self) -> str:
        """The vendor's name of the model."""
        return str(self.inner.model_name)

    @property
    def capabilities(self) -> Capabilities:
        """What the model can do."""
        return self._capabilities or Capabilities(vision=True, tools=True, structured_output=True, reasoning=True)

    def _here(self) -> Any:
        """The model of the running event loop."""
        if self._make is None:
            return self.inner
        made = loop_clients()
        if self not in made:
            from pydantic_ai.models import infer_model

            made[self] = self._spare if self._spare is not None else infer_model(self._make())
            self._spare = None
        return made[self]

    async def aclose(self) -> None:
        """Close the client of this event loop's model, where a function has made it."""
        model = loop_clients().pop(self, None)
        close = getattr(getattr(model, "client", None), "close", None)
        if close is not None:
            done = close()
            if inspect.isawaitable(done):
                await done

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        with anyio.CancelScope(shield=True, deadline=anyio.current_time() + CLOSE_GRACE):
            await self.aclose()

    async def generate(self, request: Request) -> Response:
        """Answer in one piece.

        Raises:
            ModelError: one of its classes.
        """
        prepared, messages, settings, parameters = self._prepare(request)
        from pydantic_ai import direct

        try:
            answer = await direct.model_request(
                self._here(), messages, model_settings=settings, model_request_parameters=parameters
            )
        except Exception as error:
            self._raise(error, None, streaming=False)
        collector = Collector()
        for event in Shaper(prepared, self.provider, self.model_id).shape(read_answer(answer, self.provider)):
            collector.add(event)
        return collector.response().replace(raw=answer)

    def stream(self, request: Request) -> ModelStream:
        """Answer piece by piece; nothing is sent before the first event is asked for."""
        return EventStream(lambda: self._events(request))

    async def _events(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        prepared, messages, settings, parameters = self._prepare(request)
        from pydantic_ai import direct

        shaper, collector = Shaper(prepared, self.provider, self.model_id), Collector()
        manager = direct.model_request_stream(
            self._here(), messages, model_settings=settings, model_request_parameters=parameters
        )
        opened = False
        try:
            stream = await manager.__aenter__()
            opened = True
            reader = StreamReader(self.provider)
            async for item in stream:
                for event in shaper.shape(reader.feed(item)):
                    collector.add(event)
                    yield event
            answer = stream.get()
            reasoned = self.provider not in _LOCAL if self._ends_with_reason is None else self._ends_with_reason
            if reasoned and answer.finish_reason is None:
                raise IncompleteStreamError("the stream ended before the answer did", provider=self.provider)
            for event in shaper.shape(reader.end(answer)):
                collector.add(event)
                yield event
        except Exception as error:
            for event in shaper.leftovers():
                collector.add(event)
            self._raise(error, collector.partial(), streaming=opened)
        finally:
            if opened:
                with anyio.CancelScope(shield=True, deadline=anyio.current_time() + CLOSE_GRACE):
                    await manager.__aexit__(None, None, None)

    # --- requests ---------------------------------------------------------------------------------------------------

    def _prepare(self, request: Request) -> tuple[Prepared, list[Any], Any, Any]:
        from pydantic_ai.models import ModelRequestParameters
        from pydantic_ai.output import OutputObjectDefinition
        from pydantic_ai.tools import ToolDefinition

        prepared = Prepared()
        tools = []
        for tool in request.enabled_tools:
            if tool.kind is ToolKind.PROVIDER_EXECUTED:
                raise UnsupportedError(
                    f"the provider's own tool {tool.name!r} through pydantic-ai", provider=self.provider
                )
            tools.append(
                ToolDefinition(
                    name=tool.name,
                    description=tool.description or None,
                    parameters_json_schema=plain_schema("gemini", tool),
                    strict=tool.strict,
                )
            )
        output: dict[str, Any] = {}
        wanted = request.response_format
        if wanted is not None:
            if wanted.schema is None:
                raise UnsupportedError("an answer that is any JSON object; give a schema", provider=self.provider)
            definition = OutputObjectDefinition(
                json_schema=dict(wanted.schema), name=wanted.name, description=wanted.description, strict=wanted.strict
            )
            output = {"output_mode": "native", "output_object": definition}
        parameters = ModelRequestParameters(function_tools=tools, **output)
        return prepared, write_messages(request.messages, self.provider), self._settings(request, prepared), parameters

    def _settings(self, request: Request, prepared: Prepared) -> dict[str, Any]:
        settings: dict[str, Any] = {"max_retries": 0}
        for name in ("temperature", "top_p", "top_k", "seed", "frequency_penalty", "presence_penalty", "max_tokens"):
            if getattr(request, name) is not None:
                settings[name] = getattr(request, name)
        if request.stop is not None:
            settings["stop_sequences"] = list(request.stop)
        choice = request.tool_choice
        if choice is not None:
            settings["tool_choice"] = [choice.name] if choice.mode is ToolChoiceMode.TOOL else choice.mode.value
        wanted = request.reasoning
        if wanted is not None:
            if wanted.mode is ReasoningMode.DISABLED or wanted.effort == "none":
                settings["thinking"] = False
            elif wanted.effort is not None:
                settings["thinking"] = "xhigh" if wanted.effort == "max" else wanted.effort
            elif wanted.mode in (ReasoningMode.ENABLED, ReasoningMode.ADAPTIVE):
                settings["thinking"] = True
            if wanted.budget_tokens is not None:
                prepared.warn("reasoning.budget_tokens", "not known to pydantic-ai; give it in `provider_options`")
        prepared.ignore(request, "logprobs")
        for name in (self.provider, OPTIONS):
            settings = merged(settings, (request.provider_options or {}).get(name))
        return settings

    # --- failures ---------------------------------------------------------------------------------------------------

    def _raise(self, error: Exception, response: Response | None, *, streaming: bool) -> None:
        failure = error if isinstance(error, ModelError) else self._failure(error, streaming)
        if failure is None:
            raise error
        if failure.response is None:
            failure.response = response
        answered = failure.status is not None or failure.code is not None
        raise failure from None if answered else transport_cause(error)

    def _failure(self, error: Exception, streaming: bool) -> ModelError | None:
        from pydantic_ai import exceptions

        def any_of(*names: str) -> tuple[type[Exception], ...]:
            return tuple(getattr(exceptions, name) for name in names if hasattr(exceptions, name))

        facts: dict[str, Any] = {"provider": self.provider, "detail": str(error), "body": getattr(error, "body", None)}
        if isinstance(error, any_of("ModelConnectionError", "ModelRequestTimeout")):
            found = transport_failure(error, self.provider, streaming=streaming)
            if found is not None:
                return found
            late = isinstance(error, any_of("ModelTimeoutError", "ModelRequestTimeout"))
            if streaming:
                broken: type[ModelError] = StreamIdleError if late else IncompleteStreamError
                return broken("the connection broke before the answer ended", provider=self.provider)
            if late:
                return ModelTimeoutError("the provider did not answer in time", phase="read", provider=self.provider)
            return ConnectionFailedError("the provider could not be reached", provider=self.provider)
        if isinstance(error, exceptions.ModelHTTPError):
            return model_error(
                status=200 if streaming and getattr(error, "in_stream", False) else error.status_code,
                type=getattr(error, "provider_error_type", None),
                code=getattr(error, "provider_error_code", None),
                retry_after=_wait(error),
                **facts,
            )
        if isinstance(error, any_of("ModelAPIError")):
            kinds: Iterable[tuple[str, type[ModelError]]] = (
                ("ModelRateLimitError", RateLimitedError),
                ("ModelQuotaExceededError", AuthError),
                ("ModelAuthenticationError", AuthError),
                ("ModelUnavailableError", OverloadedError),
                ("ModelServerError", OverloadedError),
                ("ModelRequestRejectedError", InvalidRequestError),
            )
            found = transport_failure(error, self.provider, streaming=streaming)
            for name, kind in kinds:
                if isinstance(error, any_of(name)):
                    return kind(f"the provider answered: {kind.reason}", retry_after=_wait(error), **facts)
            return found or ModelResponseError("the provider answered with an error", **facts)
        if isinstance(error, any_of("ContentFilterError")):
            return ModelResponseError("the answer was filtered", code="refused", **facts)
        if isinstance(error, exceptions.UnexpectedModelBehavior):
            return ModelResponseError("the answer of the provider has another form", code="invalid_response", **facts)
        if isinstance(error, exceptions.UserError):
            return UnsupportedError("pydantic-ai refuses the request; `detail` has its words", **facts)
        return transport_failure(error, self.provider, streaming=streaming)


def _wait(error: Exception) -> float | None:
    given = getattr(error, "retry_after", None)
    return given if given is not None else retry_after(getattr(error, "headers", None))


# --- messages -------------------------------------------------------------------------------------------------------


def write_messages(messages: Sequence[Message], provider: str) -> list[Any]:
    """The messages as pydantic-ai has them."""
    from pydantic_ai import messages as theirs

    system, rest = split_system(messages)
    names = names_of_calls(rest)
    written: list[Any] = []
    waiting: list[Any] = [] if system is None else [theirs.SystemPromptPart(content=system)]
    for message in rest:
        if message.role is Role.ASSISTANT:
            if waiting:
                written.append(theirs.ModelRequest(parts=waiting))
                waiting = []
            parts = _answer_parts(message)
            written.append(theirs.ModelResponse(parts=parts, provider_name=provider))
        elif message.role is Role.TOOL:
            for result in message.tool_results:
                waiting.append(_result(result, names, provider))
        else:
            waiting.append(theirs.UserPromptPart(content=[_content(part, provider) for part in message.parts]))
    if waiting or not written or isinstance(written[-1], theirs.ModelResponse):
        written.append(theirs.ModelRequest(parts=waiting))
    return written


def _result(result: ToolResultPart, names: Mapping[str, str], provider: str) -> Any:
    from pydantic_ai import messages as theirs

    parts = [_content(project_content(part), provider) for part in result.content]
    texts = [part for part in parts if isinstance(part, str)]
    return theirs.ToolReturnPart(
        tool_name=result.name or names.get(result.tool_call_id, ""),
        content="".join(texts) if len(texts) == len(parts) else parts,
        tool_call_id=result.tool_call_id,
        outcome="failed" if result.is_error else "success",
    )


def _content(part: object, provider: str) -> Any:
    from pydantic_ai import messages as theirs

    if isinstance(part, TextPart):
        return part.text
    assert isinstance(part, ImagePart | FilePart)
    source, kind = part.source, part.source.mime_type or ""
    if source.data is not None:
        guess = "image/png" if isinstance(part, ImagePart) else "application/pdf"
        return theirs.BinaryContent(data=source.data, media_type=kind or guess)
    if source.url is None:
        raise UnsupportedError("a file named by its id through pydantic-ai", provider=provider)
    image = isinstance(part, ImagePart) or kind.startswith("image/")
    place: Any = theirs.ImageUrl if image else theirs.AudioUrl if kind.startswith("audio/") else theirs.DocumentUrl
    return place(url=source.url, **({"media_type": kind} if kind else {}))


def _answer_parts(message: Message) -> list[Any]:
    """The parts of an answer. What a sealed part without text holds belongs to the part before it, or is one itself."""
    from pydantic import TypeAdapter
    from pydantic_ai import messages as theirs

    parts: list[Any] = []
    for part in message.parts:
        if isinstance(part, TextPart):
            parts.append(theirs.TextPart(content=part.text))
        elif isinstance(part, ToolCallPart):
            parts.append(theirs.ToolCallPart(tool_name=part.name, args=part.args or "{}", tool_call_id=part.id))
        elif isinstance(part, ReasoningPart):
            opened = unseal(SEAL, part.signature)
            kind, value = opened or ("", "{}")
            if kind == "part":
                parts.append(TypeAdapter(theirs.ModelResponsePart).validate_json(value))
            elif kind == "before" and parts:
                for name, each in json.loads(value).items():
                    setattr(parts[-1], name, each)
            elif kind == "thinking":  # thoughts of other models would be sent as text
                parts.append(theirs.ThinkingPart(content=part.text, **json.loads(value)))
    return parts


# --- answers --------------------------------------------------------------------------------------------------------


class StreamReader:
    """Reads the events of a pydantic-ai stream."""

    def __init__(self, provider: str):
        self._provider = provider
        self._started = False
        self._open: dict[int, Any] = {}

    def feed(self, event: Any) -> Iterator[StreamEvent]:
        from pydantic_ai import messages as theirs

        if isinstance(event, theirs.PartStartEvent):
            self._open[event.index] = event.part
            yield from _begin(event.index, event.part)
        elif isinstance(event, theirs.PartDeltaEvent):
            delta = event.delta
            if isinstance(delta, theirs.TextPartDelta):
                yield TextDelta(delta.content_delta)
            elif isinstance(delta, theirs.ThinkingPartDelta) and delta.content_delta:
                yield ReasoningDelta(delta.content_delta)
            elif isinstance(delta, theirs.ToolCallPartDelta) and delta.args_delta:
                yield ToolCallDelta(event.index, _text(delta.args_delta))
        elif isinstance(event, theirs.PartEndEvent):
            yield from _finish_part(event.index, event.part)

    def end(self, answer: Any) -> Iterator[StreamEvent]:
        yield _end(answer)


def read_answer(answer: Any, provider: str) -> Iterator[StreamEvent]:
    """The events of a whole answer."""
    from pydantic_ai import messages as theirs

    yield MessageStart(provider, answer.provider_response_id or "", answer.model_name or "")
    for index, part in enumerate(answer.parts):
        yield from _begin(index, part)
        if isinstance(part, theirs.ToolCallPart) and not part.args:
            yield ToolCallDelta(index, "{}")
        yield from _finish_part(index, part)
    yield _end(answer)


def _begin(index: int, part: Any) -> Iterator[StreamEvent]:
    from pydantic_ai import messages as theirs

    if isinstance(part, theirs.TextPart):
        yield TextDelta(part.content)
    elif isinstance(part, theirs.ThinkingPart):
        yield ReasoningDelta(part.content)
    elif isinstance(part, theirs.ToolCallPart):
        yield ToolCallStart(index, part.tool_call_id, part.tool_name)
        if part.args:
            yield ToolCallDelta(index, _text(part.args))


def _finish_part(index: int, part: Any) -> Iterator[StreamEvent]:
    """The end of a part, and what must go back with it."""
    from pydantic_ai import messages as theirs

    kept = {name: getattr(part, name) for name in _KEPT if getattr(part, name, None) is not None}
    if isinstance(part, theirs.ThinkingPart):
        if kept:
            yield ReasoningDelta(signature=seal(SEAL, "thinking", json.dumps(kept)))
        return
    if isinstance(part, theirs.ToolCallPart):
        yield ToolCallEnd(index)
    elif isinstance(part, theirs.TextPart):
        for each in getattr(part, "citations", None) or ():
            url = getattr(each, "url", None)
            yield CitationDelta(Citation(url, getattr(each, "title", None)))
    else:  # a part of the vendor's own, such as a search that it ran: it goes back as it came
        from pydantic import TypeAdapter

        text = TypeAdapter(theirs.ModelResponsePart).dump_json(part).decode("utf-8")
        yield ReasoningDelta(signature=seal(SEAL, "part", text), redacted=True)
        return
    if kept:
        yield ReasoningDelta(signature=seal(SEAL, "before", json.dumps(kept)), redacted=True)


def _text(args: Any) -> str:
    return args if isinstance(args, str) else compact(args)


def _end(answer: Any) -> MessageEnd:
    reason = answer.finish_reason
    finish = _FINISH.get(reason or "", FinishReason.OTHER if reason else FinishReason.UNKNOWN)
    calls = [part for part in answer.parts if part.part_kind == "tool-call"]
    if calls and finish in (FinishReason.STOP, FinishReason.UNKNOWN):
        finish = FinishReason.TOOL_CALLS
    why = None
    if finish in UNFINISHED:
        why = str((answer.provider_details or {}).get("finish_reason") or reason)
    counts = answer.usage
    details = counts.details or {}
    usage = Usage(
        input_tokens=counts.input_tokens or 0,
        output_tokens=counts.output_tokens or 0,
        reasoning_tokens=details.get("reasoning_tokens") or details.get("thoughts_tokens") or 0,
        cached_input_tokens=counts.cache_read_tokens or 0,
        cache_write_tokens=counts.cache_write_tokens or 0,
    )
    return MessageEnd(finish, usage, incomplete_reason=why)
