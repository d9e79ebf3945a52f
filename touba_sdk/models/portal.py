"""Synchronous use of models: one thread with one event loop, which lasts as long as the process.

It is made when it is first used, and again after a fork. All synchronous calls of a process share it, so clients of
providers keep their connections from call to call.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Generic, TypeVar

import anyio
from anyio.from_thread import BlockingPortal

from .errors import RunSyncInLoopError
from .model import LanguageModel
from .requests import Request
from .responses import Response
from .streams import CLOSE_GRACE, StreamEvent

__all__ = ["SyncStream", "call", "generate_sync", "iterate_sync", "stream_sync"]

_T = TypeVar("_T")


class _Portal:
    """The thread, its loop, and the door into it."""

    def __init__(self) -> None:
        self._portal: BlockingPortal | None = None
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="touba-models", daemon=True)
        self._thread.start()
        self._ready.wait()

    def _run(self) -> None:
        try:
            anyio.run(self._serve, backend="asyncio")
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        async with BlockingPortal() as portal:
            self._portal = portal
            self._ready.set()
            await portal.sleep_until_stopped()

    @property
    def door(self) -> BlockingPortal:
        if self._portal is None:
            raise RuntimeError("the thread for synchronous calls did not start")
        return self._portal

    @property
    def is_here(self) -> bool:
        return threading.current_thread() is self._thread

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def stop(self) -> None:
        if self.alive and not self.is_here:
            self.door.call(self.door.stop, True)
            self._thread.join(CLOSE_GRACE)


_lock = threading.Lock()
_current: _Portal | None = None


def _forget() -> None:
    """In the child of a fork the thread is gone; the next call makes another."""
    global _lock, _current
    _lock = threading.Lock()
    _current = None


def _stop() -> None:
    """At the end of the process, so that the loop closes what it holds before the interpreter goes."""
    if _current is not None:
        _current.stop()


os.register_at_fork(after_in_child=_forget)
atexit.register(_stop)


def _portal() -> _Portal:
    global _current
    with _lock:
        if _current is None or not _current.alive:
            _current = _Portal()
        found = _current
    if found.is_here:
        raise RunSyncInLoopError(
            "a synchronous call was made on the thread that runs synchronous calls; use `await` there"
        )
    return found


def call(function: Callable[..., Awaitable[_T]], *args: Any) -> _T:
    """Run an async function on the lasting thread, with a copy of the caller's context variables, and wait for it.

    An interrupt of the waiting thread, such as Ctrl-C, cancels the call.

    Raises:
        RunSyncInLoopError: when called on that thread itself.
    """
    future: Future[_T] = _portal().door.start_task_soon(function, *args)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


def generate_sync(model: LanguageModel, request: Request) -> Response:
    """`LanguageModel.generate`, for code without an event loop.

    Raises:
        ModelError: as the model does.
        RunSyncInLoopError: when called on the thread that does the work.
    """
    return call(model.generate, request)


class SyncStream(Generic[_T]):
    """An async iterator, iterated from a thread without an event loop, one item at a time.

    One task on the lasting thread enters, iterates and leaves it, and does nothing between two items that are asked
    for. Use it with ``with``: leaving the block ends the call.
    """

    def __init__(self, opener: Callable[[], AbstractAsyncContextManager[Any]]):
        self._opener = opener
        self._task: Future[None] | None = None
        self._wake: Callable[[Future[_T]], None] | None = None
        self._finished = threading.Event()
        self._closed = False

    def __iter__(self) -> Iterator[_T]:
        return self

    def __next__(self) -> _T:
        if self._closed:
            raise StopIteration
        asked: Future[_T] = Future()
        try:
            door = _portal().door
            if self._wake is None:
                self._wake = self._begin(door)
            door.call(self._wake, asked)
            return asked.result()
        except StopAsyncIteration:
            self.close()
            raise StopIteration from None
        except BaseException:
            self.close()
            raise

    def _begin(self, door: BlockingPortal) -> Callable[[Future[_T]], None]:
        send, receive = door.call(_channel)
        self._task = door.start_task_soon(self._drive, receive)

        def wake(asked: Future[_T]) -> None:
            send.send_nowait(asked)

        return wake

    async def _drive(self, receive: Any) -> None:
        asked: Future[_T] | None = None
        try:
            async with self._opener() as stream:
                iterator = stream.__aiter__()
                async for asked in receive:
                    item = await iterator.__anext__()
                    waiting, asked = asked, None
                    waiting.set_result(item)
        except BaseException as error:
            if asked is None:
                raise
            # The one who asked gets the error; a cancellation goes on here too.
            asked.set_exception(error)
            if not isinstance(error, Exception):
                raise
        finally:
            receive.close()
            self._finished.set()

    def close(self) -> None:
        """End the call and wait until it has. Does nothing when it has ended or never began."""
        if self._closed:
            return
        self._closed = True
        if self._task is not None:
            self._task.cancel()
            self._finished.wait(2 * CLOSE_GRACE)

    def __enter__(self) -> SyncStream[_T]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


async def _channel() -> Any:
    return anyio.create_memory_object_stream[Any](1)


def iterate_sync(opener: Callable[[], AbstractAsyncContextManager[Any]]) -> SyncStream[Any]:
    """Iterate what an async context manager gives, from a thread without an event loop."""
    return SyncStream(opener)


def stream_sync(model: LanguageModel, request: Request) -> SyncStream[StreamEvent]:
    """`LanguageModel.stream`, for code without an event loop.

    >>> with stream_sync(model, request) as events:  # doctest: +SKIP
    ...     for event in events:
    ...         print(event)
    """
    return SyncStream(lambda: model.stream(request))
