"""Answering an equal request from a store."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable
from typing import Protocol

from ..messages import Message
from ..model import LanguageModel, Middleware
from ..requests import Request
from ..responses import FinishReason, Response, Usage
from ..streams import Collector, EventStream, ModelStream, StreamEvent, response_events
from ..wire import from_json, request_digest, to_json
from ._base import WrappedModel, follow

__all__ = ["CacheStore", "MemoryCacheStore", "cache"]


class CacheStore(Protocol):
    """Where answers are kept: texts by key. Used by many tasks at once."""

    async def get(self, key: str) -> str | None:
        """What is stored under a key; None when there is nothing, or nothing any more."""
        ...

    async def set(self, key: str, value: str) -> None:
        """Store a text under a key."""
        ...


class MemoryCacheStore:
    """A store in memory that drops what was not used for longest; safe between threads.

    Parameters:
        max_entries: how many answers it keeps.
        ttl: how many seconds an answer is good for; None for ever.
        clock: the time in seconds.
    """

    def __init__(
        self, max_entries: int = 1_000, ttl: float | None = None, *, clock: Callable[[], float] = time.monotonic
    ):
        if max_entries < 1:
            raise ValueError("max_entries is at least 1")
        self._max = max_entries
        self._ttl = ttl
        self._clock = clock
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, tuple[float, str]] = OrderedDict()

    async def get(self, key: str) -> str | None:
        """What was kept under a key; None where there is nothing, or it has become too old."""
        with self._lock:
            found = self._entries.get(key)
            if found is None:
                return None
            if self._ttl is not None and self._clock() - found[0] >= self._ttl:
                del self._entries[key]
                return None
            self._entries.move_to_end(key)
            return found[1]

    async def set(self, key: str, value: str) -> None:
        """Keep a value; the one that was used least recently goes where there are too many."""
        with self._lock:
            self._entries[key] = (self._clock(), value)
            self._entries.move_to_end(key)
            while len(self._entries) > self._max:
                self._entries.popitem(last=False)

    def __len__(self) -> int:
        return len(self._entries)


def cache(store: CacheStore, *, key: Callable[[LanguageModel, Request], str | None] | None = None) -> Middleware:
    """Answer a request that was answered before from a store, without asking the model.

    Kept are complete answers that ended by themselves (finish reasons ``stop`` and ``tool_calls``); an answer from the
    store has no usage, because it cost nothing. Failures are not kept. ``generate`` and ``stream`` share the store.

    Streams: an answer from the store comes as the events of a whole answer. A stream of the model is passed on as it
    comes, and kept once its `MessageEnd` was read; a stream that is left before is not kept.

    Parameters:
        store: where answers are kept.
        key: gives the key of a request, or None for a request that is not to be kept. By default the key is made of
            the provider, the model and the digest of the request, so a request with any other setting is another one.
    """

    def wrap(model: LanguageModel) -> LanguageModel:
        return _Cached(model, store, key or _default_key)

    return wrap


def _default_key(model: LanguageModel, request: Request) -> str:
    return f"{model.provider}/{model.model_id}/{request_digest(request)}"


def _keepable(response: Response) -> bool:
    ended = response.finish_reason in (FinishReason.STOP, FinishReason.TOOL_CALLS)
    return ended and not response.partial and response.message != Message(response.message.role)


class _Cached(WrappedModel):
    def __init__(self, inner: LanguageModel, store: CacheStore, key: Callable[[LanguageModel, Request], str | None]):
        super().__init__(inner)
        self._store = store
        self._key = key

    async def _find(self, key: str | None) -> Response | None:
        text = await self._store.get(key) if key is not None else None
        return from_json(Response, text).replace(usage=Usage()) if text is not None else None

    async def _keep(self, key: str | None, response: Response) -> None:
        if key is not None and _keepable(response):
            await self._store.set(key, to_json(response))

    async def generate(self, request: Request) -> Response:
        key = self._key(self.inner, request)
        found = await self._find(key)
        if found is None:
            found = await self.inner.generate(request)
            await self._keep(key, found)
        return found

    def stream(self, request: Request) -> ModelStream:
        return EventStream(lambda: self._events(request))

    async def _events(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        key = self._key(self.inner, request)
        found = await self._find(key)
        if found is not None:
            for event in response_events(found):
                yield event
            return
        collector = Collector()
        async with self.inner.stream(request) as stream:
            async for event in stream:
                if follow(collector, event):
                    await self._keep(key, collector.response())
                yield event
