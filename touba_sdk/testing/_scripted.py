"""Models that answer from a script or by a function."""

from __future__ import annotations

import inspect
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from touba_sdk.models import (
    Capabilities,
    EventStream,
    FinishReason,
    Message,
    ModelStream,
    Request,
    Response,
    StreamEvent,
    ToolCallPart,
    Usage,
    assistant_text,
    collect,
    response_events,
)
from touba_sdk.models.messages import Role

from ._validate import validate_request

__all__ = ["FunctionModel", "ScriptExhaustedError", "ScriptedModel", "Step"]

#: what a step of a script may be: see `ScriptedModel`
Step: TypeAlias = str | Message | Response | ToolCallPart | BaseException | Sequence[Any] | Callable[[Request], Any]


class ScriptExhaustedError(AssertionError):
    """A scripted model was called more often than it has answers."""


class _TestModel:
    """Name, capabilities, the requests so far, and the check of requests."""

    def __init__(self, provider: str, model_id: str, capabilities: Capabilities | None, validate: bool):
        self.provider = provider
        self.model_id = model_id
        self.capabilities = capabilities if capabilities is not None else Capabilities.all()
        #: copies of the requests that were made, in order
        self.requests: list[Request] = []
        self._validate = validate
        self._lock = threading.Lock()

    def _note(self, request: Request) -> None:
        if self._validate:
            validate_request(request)
        with self._lock:
            self.requests.append(request.copy())

    def _response(self, answer: Any) -> Response:
        """The response that a short form stands for."""
        if isinstance(answer, Response):
            return answer.replace(provider=answer.provider or self.provider, model=answer.model or self.model_id)
        if isinstance(answer, str):
            answer = assistant_text(answer)
        elif isinstance(answer, ToolCallPart):
            answer = Message(Role.ASSISTANT, (answer,))
        elif isinstance(answer, (list, tuple)) and all(isinstance(each, ToolCallPart) for each in answer):
            answer = Message(Role.ASSISTANT, tuple(answer))
        if not isinstance(answer, Message):
            raise TypeError(f"{type(answer).__name__} is no answer of a model")
        reason = FinishReason.TOOL_CALLS if answer.tool_calls else FinishReason.STOP
        return Response(answer, reason, Usage(), provider=self.provider, model=self.model_id)


class ScriptedModel(_TestModel):
    """Answers the first call with the first step, the second with the second, and so on.

    A step is one of:

    * a text, or a `Message` of the assistant: the answer, ended by ``stop`` or ``tool_calls``, without usage;
    * a `ToolCallPart`, or a list of them: the model asks for these tools;
    * a `Response`: exactly this;
    * an exception: the call fails with it; a stream fails when its first event is asked for;
    * a list of stream events, among which may be an exception: a stream gives exactly these, with or without an end,
      and ``generate`` what they collect to;
    * a function of the request that gives any of these, or an awaitable of one.

    Parameters:
        steps: the script.
        provider, model_id, capabilities: what the model says of itself; it can do everything unless told otherwise.
        validate: refuse requests that a real provider would refuse; see `validate_request`.

    Raises:
        ScriptExhaustedError: when the script is at its end.

    >>> model = ScriptedModel([ToolCallPart("c1", "add", '{"a":2,"b":3}')], "The sum is 5.")
    """

    def __init__(
        self,
        *steps: Step,
        provider: str = "scripted",
        model_id: str = "scripted-1",
        capabilities: Capabilities | None = None,
        validate: bool = True,
    ):
        super().__init__(provider, model_id, capabilities, validate)
        self._steps = list(steps)
        self._next = 0

    @property
    def remaining(self) -> int:
        """How many steps have not been used."""
        return len(self._steps) - self._next

    async def _take(self, request: Request) -> Any:
        self._note(request)
        with self._lock:
            if self._next >= len(self._steps):
                raise ScriptExhaustedError(
                    f"the script has {len(self._steps)} answers; the model was called {len(self.requests)} times"
                )
            step = self._steps[self._next]
            self._next += 1
        if callable(step) and not isinstance(step, (BaseException, type)):
            step = step(request)
            if inspect.isawaitable(step):
                step = await step
        return step

    async def generate(self, request: Request) -> Response:
        """Answer with the next step of the script, or raise it."""
        step = await self._take(request)
        if isinstance(step, BaseException):
            raise step
        if _is_events(step):
            return await collect(EventStream(lambda: _play(step)))
        return self._response(step)

    def stream(self, request: Request) -> ModelStream:
        """Answer with the next step of the script, taken when the first event is asked for."""
        return EventStream(lambda: self._events(request))

    async def _events(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        step = await self._take(request)
        if isinstance(step, BaseException):
            raise step
        events = step if _is_events(step) else response_events(self._response(step))
        async with EventStream(lambda: _play(events)) as played:
            async for event in played:
                yield event


def _is_events(step: Any) -> bool:
    return isinstance(step, (list, tuple)) and not all(isinstance(each, ToolCallPart) for each in step)


async def _play(events: Sequence[Any]) -> AsyncGenerator[StreamEvent, None]:
    from anyio.lowlevel import checkpoint

    for event in events:
        await checkpoint()  # as a real connection would: a cancellation is noticed between any two events
        if isinstance(event, BaseException):
            raise event
        yield event


class FunctionModel(_TestModel):
    """Answers with functions of the request.

    Parameters:
        function: gives what a step of `ScriptedModel` may be, or an awaitable of it. Without it ``generate`` collects
            the stream.
        stream: gives an async iterator of events. Without it a stream has the events of the whole answer.
        provider, model_id, capabilities, validate: as for `ScriptedModel`.

    >>> echo = FunctionModel(lambda request: request.messages[-1].text.upper())
    """

    def __init__(
        self,
        function: Callable[[Request], Any | Awaitable[Any]] | None = None,
        *,
        stream: Callable[[Request], AsyncIterator[StreamEvent]] | None = None,
        provider: str = "function",
        model_id: str = "function-1",
        capabilities: Capabilities | None = None,
        validate: bool = True,
    ):
        if function is None and stream is None:
            raise ValueError("a function model needs a function, a stream or both")
        super().__init__(provider, model_id, capabilities, validate)
        self._function = function
        self._stream = stream

    async def generate(self, request: Request) -> Response:
        """Answer with what the function gives; without one, with what the stream comes to."""
        if self._function is None:
            return await collect(self.stream(request))
        self._note(request)
        return await self._answer(self._function, request)

    async def _answer(self, function: Callable[[Request], Any], request: Request) -> Response:
        answer = function(request)
        if inspect.isawaitable(answer):
            answer = await answer
        if isinstance(answer, BaseException):
            raise answer
        if _is_events(answer):
            return await collect(EventStream(lambda: _play(answer)))
        return self._response(answer)

    def stream(self, request: Request) -> ModelStream:
        """Answer with the events of the stream function; without one, with those of the whole answer."""
        return EventStream(lambda: self._events(request))

    async def _events(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        self._note(request)
        if self._stream is not None:
            events = self._stream(request)
            try:
                async for event in events:
                    yield event
            finally:
                close = getattr(events, "aclose", None)
                if close is not None:
                    await close()
        elif self._function is not None:
            for event in response_events(await self._answer(self._function, request)):
                yield event
