"""Time-outs of a model call: until it answers, until it says something, between two events, and in all."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

import anyio

from ..errors import ModelError, ModelTimeoutError, StreamIdleError
from ..model import LanguageModel, Middleware
from ..requests import Request
from ..responses import Response
from ..streams import EventStream, MessageStart, ModelStream, RetryNotice, StreamEvent, collect
from ._base import WrappedModel

__all__ = ["TimeoutPlan", "Timeouts", "timeouts"]


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds; None for no limit.

    Attributes:
        connect: from the call to the first event of any kind.
        first_token: from the call to the first event with content.
        idle: from asking for an event to its arrival; what the consumer does in between does not count.
        total: from the call to its end.
    """

    connect: float | None = None
    first_token: float | None = None
    idle: float | None = None
    total: float | None = None

    def __post_init__(self) -> None:
        for name in ("connect", "first_token", "idle", "total"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ValueError(f"the time-out {name} is above 0")


class TimeoutPlan:
    """One call under time-outs: how long the next wait may be. Without I/O.

    Parameters:
        limits: the time-outs.
        now: when the call began, of the clock whose times the methods get.
    """

    __slots__ = ("_answered", "_limits", "_spoke", "_start")

    def __init__(self, limits: Timeouts, now: float):
        self._limits = limits
        self._start = now
        self._answered = False
        self._spoke = False

    def next(self, now: float) -> tuple[float | None, str]:
        """How many seconds the next wait may take, and which time-out says so; the earliest one counts."""
        limits = self._limits
        passed = now - self._start
        ends: list[tuple[float, str]] = []
        if limits.total is not None:
            ends.append((limits.total - passed, "total"))
        if limits.connect is not None and not self._answered:
            ends.append((limits.connect - passed, "connect"))
        if limits.first_token is not None and not self._spoke:
            ends.append((limits.first_token - passed, "first_token"))
        if limits.idle is not None and self._answered:
            ends.append((limits.idle, "idle"))
        if not ends:
            return None, ""
        seconds, phase = min(ends)
        return max(0.0, seconds), phase

    def saw(self, event: StreamEvent) -> None:
        """Take note of an event that arrived."""
        if isinstance(event, RetryNotice):
            return
        self._answered = True
        self._spoke = self._spoke or not isinstance(event, MessageStart)

    def error(self, phase: str, provider: str) -> ModelError:
        """The failure of a wait that took too long."""
        if phase == "idle":
            return StreamIdleError(f"the stream was silent for {self._limits.idle:g} s", provider=provider)
        limit = getattr(self._limits, phase)
        return ModelTimeoutError(f"the time-out {phase} of {limit:g} s has passed", phase=phase, provider=provider)


def timeouts(
    *,
    connect: float | None = None,
    first_token: float | None = None,
    idle: float | None = None,
    total: float | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Middleware:
    """End a call that takes too long; see `Timeouts` for the seconds.

    ``idle`` raises `StreamIdleError`, the others `ModelTimeoutError` with their name as ``phase``. All but ``total``
    are retryable, so `retry` stands outside (before) this middleware in a chain; ``total`` then bounds one attempt.

    Streams: every wait for an event is bounded by the time-out that ends first, and the call is cancelled when it
    passes. ``generate`` shows no progress; with a time-out other than ``total`` it is therefore made of the model's
    stream, read to its end.
    """
    limits = Timeouts(connect, first_token, idle, total)

    def wrap(model: LanguageModel) -> LanguageModel:
        return _Timed(model, limits, clock)

    return wrap


class _Timed(WrappedModel):
    def __init__(self, inner: LanguageModel, limits: Timeouts, clock: Callable[[], float]):
        super().__init__(inner)
        self._limits = limits
        self._clock = clock

    async def generate(self, request: Request) -> Response:
        limits = self._limits
        if limits.connect is not None or limits.first_token is not None or limits.idle is not None:
            return await collect(self.stream(request))
        plan = TimeoutPlan(limits, self._clock())
        seconds, phase = plan.next(self._clock())
        response: Response | None = None
        with _scope(seconds):
            response = await self.inner.generate(request)
        if response is None:
            raise plan.error(phase, self.provider)
        return response

    def stream(self, request: Request) -> ModelStream:
        return EventStream(lambda: self._events(request))

    async def _events(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        plan = TimeoutPlan(self._limits, self._clock())
        async with self.inner.stream(request) as stream:
            while True:
                seconds, phase = plan.next(self._clock())
                event: StreamEvent | None = None
                # The scope is left before the event is handed over: none is open while the consumer has the word.
                with _scope(seconds):
                    try:
                        event = await stream.__anext__()
                    except StopAsyncIteration:
                        return
                if event is None:
                    raise plan.error(phase, self.provider)
                plan.saw(event)
                yield event


def _scope(seconds: float | None) -> anyio.CancelScope:
    return anyio.CancelScope() if seconds is None else anyio.move_on_after(seconds)
