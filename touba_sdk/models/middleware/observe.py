"""Hooks that see every call: for logs, metrics and spans."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from typing import Any, Self

from ..errors import IncompleteStreamError
from ..model import LanguageModel, Middleware
from ..requests import Request
from ..responses import Response
from ..streams import Collector, EventStream, ModelStream, StreamEvent
from ._base import WrappedModel, follow

__all__ = ["ModelCall", "observe"]


class ModelCall:
    """One call as hooks see it.

    Attributes:
        provider: of the model.
        model_id: of the model.
        request: what is asked. Not to be changed.
        streaming: whether it is a stream.
        started: when it began, in seconds of the clock of `observe`.
        duration: how many seconds it took; None while it runs.
        state: what ``on_start`` returned, such as a span.
    """

    __slots__ = ("duration", "model_id", "provider", "request", "started", "state", "streaming")

    def __init__(self, model: LanguageModel, request: Request, *, streaming: bool, started: float):
        self.provider = model.provider
        self.model_id = model.model_id
        self.request = request
        self.streaming = streaming
        self.started = started
        self.duration: float | None = None
        self.state: Any = None


def observe(
    *,
    on_start: Callable[[ModelCall], Any] | None = None,
    on_stream_event: Callable[[ModelCall, StreamEvent], None] | None = None,
    on_finish: Callable[[ModelCall, Response], None] | None = None,
    on_error: Callable[[ModelCall, Exception], None] | None = None,
    on_abandon: Callable[[ModelCall], None] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Middleware:
    """Call hooks around every call. Exactly one of ``on_finish``, ``on_error`` and ``on_abandon`` ends what
    ``on_start`` began.

    ``on_start`` may return something that the other hooks find as ``call.state``. ``on_finish`` gets the response with
    its usage and finish reason. ``on_abandon`` is for a call that was cancelled and for a stream that its consumer left
    early: that is neither a finish nor an error. Hooks are plain functions and run on the task of the call; keep them
    quick. What a hook raises leaves the call.

    Streams: a stream begins when its first event is asked for; each event goes through ``on_stream_event`` before it is
    handed over, and nothing is changed. With `MessageEnd` the call is finished. A stream that stops without one is
    reported to ``on_error`` as `IncompleteStreamError`.
    """
    hooks = _Hooks(on_start, on_stream_event, on_finish, on_error, on_abandon, clock)

    def wrap(model: LanguageModel) -> LanguageModel:
        return _Observed(model, hooks)

    return wrap


class _Hooks:
    def __init__(
        self,
        on_start: Callable[[ModelCall], Any] | None,
        on_stream_event: Callable[[ModelCall, StreamEvent], None] | None,
        on_finish: Callable[[ModelCall, Response], None] | None,
        on_error: Callable[[ModelCall, Exception], None] | None,
        on_abandon: Callable[[ModelCall], None] | None,
        clock: Callable[[], float],
    ):
        self.on_start = on_start
        self.on_stream_event = on_stream_event
        self.on_finish = on_finish
        self.on_error = on_error
        self.on_abandon = on_abandon
        self.clock = clock


class _Watch:
    """One call under hooks, the same for both ways of calling: it ends once."""

    def __init__(self, hooks: _Hooks, model: LanguageModel, request: Request, *, streaming: bool):
        self._hooks = hooks
        self._call = ModelCall(model, request, streaming=streaming, started=hooks.clock())
        self._ended = False
        if hooks.on_start is not None:
            self._call.state = hooks.on_start(self._call)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, Exception):
            self.error(error)
        elif error is not None:
            self.abandon()

    def event(self, event: StreamEvent) -> None:
        if self._hooks.on_stream_event is not None:
            self._hooks.on_stream_event(self._call, event)

    def _end(self) -> bool:
        if self._ended:
            return False
        self._ended = True
        self._call.duration = self._hooks.clock() - self._call.started
        return True

    def finish(self, response: Response) -> None:
        if self._end() and self._hooks.on_finish is not None:
            self._hooks.on_finish(self._call, response)

    def error(self, error: Exception) -> None:
        if self._end() and self._hooks.on_error is not None:
            self._hooks.on_error(self._call, error)

    def abandon(self) -> None:
        if self._end() and self._hooks.on_abandon is not None:
            self._hooks.on_abandon(self._call)


class _Observed(WrappedModel):
    def __init__(self, inner: LanguageModel, hooks: _Hooks):
        super().__init__(inner)
        self._hooks = hooks

    async def generate(self, request: Request) -> Response:
        with _Watch(self._hooks, self.inner, request, streaming=False) as watch:
            response = await self.inner.generate(request)
            watch.finish(response)
        return response

    def stream(self, request: Request) -> ModelStream:
        return EventStream(lambda: self._events(request))

    async def _events(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        collector = Collector()
        with _Watch(self._hooks, self.inner, request, streaming=True) as watch:
            async with self.inner.stream(request) as stream:
                async for event in stream:
                    ended = follow(collector, event)
                    watch.event(event)
                    if ended:
                        watch.finish(collector.response())
                    yield event
            if not collector.ended:
                try:
                    collector.response()
                except IncompleteStreamError as error:
                    watch.error(error)
