"""Staying below a provider's limits of requests and tokens in a minute."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable

import anyio

from ..model import LanguageModel, Middleware, token_counter
from ..requests import Request
from ..responses import Response
from ..streams import EventStream, ModelStream, StreamEvent
from ..wire import to_json
from ._base import WrappedModel

__all__ = ["RateLimiter", "TokenBucket", "rate_limit"]

_MINUTE = 60.0


class TokenBucket:
    """A bucket that fills at a steady rate and from which calls take. Without I/O and without a clock of its own.

    Parameters:
        per_minute: how much flows in within 60 seconds.
        burst: how much it holds; a full bucket is where it starts.

    >>> bucket = TokenBucket(60, 1)
    >>> bucket.take(1, now=0.0), bucket.take(1, now=0.0)
    (0.0, 1.0)
    """

    __slots__ = ("_at", "_burst", "_level", "_rate")

    def __init__(self, per_minute: float, burst: float):
        if per_minute <= 0 or burst <= 0:
            raise ValueError("a rate and a burst are above 0")
        self._rate = per_minute / _MINUTE
        self._burst = burst
        self._level = burst
        self._at: float | None = None

    def take(self, amount: float, now: float) -> float:
        """Take an amount, and give the seconds to wait until it is really there.

        More than the bucket can ever hold counts as what it holds. Takers are served in the order in which they took.
        """
        if self._at is not None:
            self._level = min(self._burst, self._level + max(0.0, now - self._at) * self._rate)
        self._at = now if self._at is None else max(now, self._at)
        self._level -= self.clamp(amount)
        return max(0.0, -self._level / self._rate)

    def give_back(self, amount: float) -> None:
        """Undo a `take` whose call was never made."""
        self._level = min(self._burst, self._level + self.clamp(amount))

    def clamp(self, amount: float) -> float:
        """What a call that needs so much is charged."""
        return min(amount, self._burst)


class RateLimiter:
    """The two buckets, shared by every model that is wrapped with it; safe between threads."""

    def __init__(
        self,
        requests_per_minute: float | None,
        tokens_per_minute: float | None,
        request_burst: float | None,
        token_burst: float | None,
    ):
        self._lock = threading.Lock()
        self._requests = self._tokens = None
        if requests_per_minute is not None:
            burst = request_burst if request_burst is not None else max(1.0, requests_per_minute / _MINUTE)
            self._requests = TokenBucket(requests_per_minute, burst)
        if tokens_per_minute is not None:
            self._tokens = TokenBucket(tokens_per_minute, token_burst if token_burst is not None else tokens_per_minute)

    @property
    def counts_tokens(self) -> bool:
        """Whether tokens are limited, too, so that a request has to be counted before it is sent."""
        return self._tokens is not None

    def take(self, tokens: float, now: float) -> float:
        """Take one request and its tokens; gives the seconds to wait."""
        with self._lock:
            waits = [self._requests.take(1, now)] if self._requests else []
            if self._tokens:
                waits.append(self._tokens.take(tokens, now))
            return max(waits, default=0.0)

    def give_back(self, tokens: float) -> None:
        """Undo a `take` whose call was never made."""
        with self._lock:
            if self._requests:
                self._requests.give_back(1)
            if self._tokens:
                self._tokens.give_back(tokens)


def rate_limit(
    *,
    requests_per_minute: float | None = None,
    tokens_per_minute: float | None = None,
    request_burst: float | None = None,
    token_burst: float | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[object]] = anyio.sleep,
) -> Middleware:
    """Make calls wait so that no more than so many requests and input tokens go out in a minute.

    The tokens of a request are what the model's own counter says, else a quarter of the bytes of its stored form, and
    at least 1. A request that needs more than the burst is charged the burst, so it waits long but not for ever. The
    bursts default to what one second brings (requests, at least 1) and to what one minute brings (tokens). Models that
    are wrapped with one and the same middleware share its limits. A wait ends at once when the call is cancelled, and
    what was taken goes back.

    Streams: the wait comes when the first event is asked for, not when the stream is made; then nothing changes.
    """
    limiter = RateLimiter(requests_per_minute, tokens_per_minute, request_burst, token_burst)

    def wrap(model: LanguageModel) -> LanguageModel:
        return _Limited(model, limiter, clock, sleep)

    return wrap


class _Limited(WrappedModel):
    def __init__(
        self,
        inner: LanguageModel,
        limiter: RateLimiter,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[object]],
    ):
        super().__init__(inner)
        self._limiter = limiter
        self._clock = clock
        self._sleep = sleep

    async def _need(self, request: Request) -> float:
        if not self._limiter.counts_tokens:
            return 0.0
        counter = token_counter(self.inner)
        if counter is not None:
            return max(1.0, float(await counter.count_tokens(request)))
        return max(1.0, len(to_json(request).encode("utf-8")) / 4)

    async def _wait(self, request: Request) -> None:
        tokens = await self._need(request)
        delay = self._limiter.take(tokens, self._clock())
        if delay <= 0:
            return
        try:
            await self._sleep(delay)
        except BaseException:
            self._limiter.give_back(tokens)
            raise

    async def generate(self, request: Request) -> Response:
        await self._wait(request)
        return await self.inner.generate(request)

    def stream(self, request: Request) -> ModelStream:
        return EventStream(lambda: self._events(request))

    async def _events(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        await self._wait(request)
        async with self.inner.stream(request) as stream:
            async for event in stream:
                yield event
