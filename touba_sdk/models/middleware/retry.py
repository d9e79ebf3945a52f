"""Trying again after a failure that may pass."""

from __future__ import annotations

import random as _random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass

import anyio

from ..errors import is_retryable, retry_reason
from ..model import LanguageModel, Middleware
from ..requests import Request
from ..responses import Response
from ..streams import EventStream, ModelStream, RetryNotice, StreamEvent
from ._base import WrappedModel

__all__ = ["RetryPolicy", "RetryState", "retry"]


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long to try. Times are seconds.

    Attributes:
        max_attempts: attempts of one call, the first among them.
        base_delay: the longest wait before the first retry; it doubles from retry to retry.
        max_delay: the longest wait of our own. A provider that asks for a longer one gets it.
        max_elapsed: no attempt begins later than this after the first one began; None for no limit. An attempt that
            runs is not interrupted.
        retryable: which failures are worth another attempt.
    """

    max_attempts: int = 3
    base_delay: float = 0.5
    max_delay: float = 30.0
    max_elapsed: float | None = None
    retryable: Callable[[BaseException], bool] = is_retryable

    def __post_init__(self) -> None:
        if self.max_attempts < 1:
            raise ValueError("max_attempts is at least 1")
        if self.base_delay < 0 or self.max_delay < 0:
            raise ValueError("delays are not negative")


class RetryState:
    """One call under a policy: says after each failure how long to wait, or that the failure stands. Without I/O.

    Parameters:
        policy: the policy.
        now: the time at which the call began, of the clock whose times `failed` gets.
        random: gives numbers from 0 up to 1; a wait is a random part of what is allowed (full jitter).
    """

    __slots__ = ("_policy", "_random", "_start", "retries")

    def __init__(self, policy: RetryPolicy, now: float, random: Callable[[], float]):
        self._policy = policy
        self._random = random
        self._start = now
        #: how often the call was tried again
        self.retries = 0

    def failed(self, error: BaseException, now: float, *, delivered: bool = False) -> RetryNotice | None:
        """What to do about a failed attempt: the notice of the next one with its delay, or None to give up.

        ``delivered`` says that the consumer has already seen a part of the answer; then it is too late to try again.
        """
        policy = self._policy
        if delivered or self.retries + 1 >= policy.max_attempts or not policy.retryable(error):
            return None
        longest = min(policy.max_delay, policy.base_delay * 2**self.retries)
        delay = max(longest * self._random(), getattr(error, "retry_after", None) or 0.0)
        if policy.max_elapsed is not None and now + delay - self._start > policy.max_elapsed:
            return None
        self.retries += 1
        return RetryNotice(self.retries, policy.max_attempts - 1, delay, retry_reason(error))


def retry(
    max_attempts: int = 3,
    *,
    base_delay: float = 0.5,
    max_delay: float = 30.0,
    max_elapsed: float | None = None,
    retryable: Callable[[BaseException], bool] = is_retryable,
    on_retry: Callable[[RetryNotice], None] | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[object]] = anyio.sleep,
    random: Callable[[], float] = _random.random,
) -> Middleware:
    """Try again after failures that may pass; see `RetryPolicy` for the settings.

    Streams: a stream is tried again only as long as none of its events was handed over. Each retry is announced by a
    `RetryNotice`, which comes before the wait. After the first event a failure leaves as it is.

    ``on_retry`` gets the notices of ``generate`` and of ``stream``. Waits end at once when the call is cancelled.

    >>> resilient = retry(max_elapsed=60)(model)  # doctest: +SKIP
    """
    policy = RetryPolicy(max_attempts, base_delay, max_delay, max_elapsed, retryable)

    def wrap(model: LanguageModel) -> LanguageModel:
        return _Retrying(model, policy, on_retry, clock, sleep, random)

    return wrap


class _Retrying(WrappedModel):
    def __init__(
        self,
        inner: LanguageModel,
        policy: RetryPolicy,
        on_retry: Callable[[RetryNotice], None] | None,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[object]],
        random: Callable[[], float],
    ):
        super().__init__(inner)
        self._policy = policy
        self._on_retry = on_retry
        self._clock = clock
        self._sleep = sleep
        self._random = random

    def _begin(self) -> RetryState:
        return RetryState(self._policy, self._clock(), self._random)

    def _judge(self, state: RetryState, error: Exception, *, delivered: bool) -> RetryNotice | None:
        notice = state.failed(error, self._clock(), delivered=delivered)
        if notice is not None and self._on_retry is not None:
            self._on_retry(notice)
        return notice

    async def generate(self, request: Request) -> Response:
        state = self._begin()
        while True:
            try:
                return await self.inner.generate(request)
            except Exception as error:
                notice = self._judge(state, error, delivered=False)
                if notice is None:
                    raise
            await self._sleep(notice.delay)

    def stream(self, request: Request) -> ModelStream:
        return EventStream(lambda: self._events(request))

    async def _events(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        state = self._begin()
        delivered = False
        while True:
            try:
                async with self.inner.stream(request) as stream:
                    async for event in stream:
                        delivered = delivered or not isinstance(event, RetryNotice)
                        yield event
                return
            except Exception as error:
                notice = self._judge(state, error, delivered=delivered)
                if notice is None:
                    raise
            yield notice
            await self._sleep(notice.delay)
