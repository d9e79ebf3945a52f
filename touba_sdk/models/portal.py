"""Synchronous use of models: one thread with one event loop, which lasts as long as the process.

It is made when it is first used, and again after a fork. All synchronous calls of a process share it, so clients of
providers keep their connections from call to call.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import CancelledError, Future
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


class _Task(Generic[_T]):
    """An async function to run on the lasting thread, which can be cancelled at any moment from any other thread.

    An interrupt may come while the task is being handed over, before there is anything to wait for; therefore the wish
    to cancel is noted first, and a task that begins after it ends at once.
    """

    __slots__ = ("_args", "_cancelled", "_function", "_scope", "begun", "cut_off", "finished")

    def __init__(self, function: Callable[..., Awaitable[_T]], *args: Any):
        self._function = function
        self._args = args
        self._cancelled = False
        self._scope: anyio.CancelScope | None = None
        self.begun = False
        #: whether it was cancelled before it had a result
        self.cut_off = False
        self.finished = threading.Event()

    async def run(self) -> _T | None:
        self.begun = True
        try:
            with anyio.CancelScope() as self._scope:
                if self._cancelled:
                    self._scope.cancel()
                return await self._function(*self._args)
            self.cut_off = True
            return None
        finally:
            self.finished.set()

    async def _cancel(self) -> None:
        if self._scope is not None:
            self._scope.cancel()

    def cancel(self, door: BlockingPortal) -> None:
        """End the task. Does not wait until it has ended."""
        self._cancelled = True
        if not self.finished.is_set():
            door.start_task_soon(self._cancel)


#: how often a waiting call looks whether it is to be cancelled, in seconds
_CANCEL_INTERVAL = 0.02


def call(function: Callable[..., Awaitable[_T]], *args: Any, cancel: threading.Event | None = None) -> _T:
    """Run an async function on the lasting thread, with a copy of the caller's context variables, and wait for it.

    An interrupt of the waiting thread, such as Ctrl-C, cancels the call, and waits until it has cleaned up.

    Parameters:
        function, args: what to run.
        cancel: cancels the call once it is set.

    Raises:
        concurrent.futures.CancelledError: the call was cancelled before it had a result.
        RunSyncInLoopError: when called on that thread itself.
    """
    door = _portal().door
    task = _Task(function, *args)
    try:
        future = door.start_task_soon(task.run)
        while cancel is not None and not task.finished.wait(_CANCEL_INTERVAL):
            if cancel.is_set():
                task.cancel(door)
                break
        result: Any = future.result()
    except BaseException:
        task.cancel(door)
        if task.begun:
            task.finished.wait(2 * CLOSE_GRACE)
        raise
    if task.cut_off:
        raise CancelledError
    found: _T = result
    return found


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
        self._task: _Task[None] = _Task(self._drive)
        self._asked: deque[Future[_T]] = deque()
        self._wake: anyio.Event | None = None
        self._failure: Exception | None = None
        self._begun = False
        self._closed = False

    def __iter__(self) -> Iterator[_T]:
        return self

    def __next__(self) -> _T:
        if self._closed:
            raise StopIteration
        asked: Future[_T] = Future()
        try:
            door = _portal().door
            if not self._begun:
                self._begun = True
                door.start_task_soon(self._task.run)
            door.call(self._ask, asked)
            return asked.result()
        except StopAsyncIteration:
            self.close()
            raise StopIteration from None
        except BaseException:
            self.close()
            raise

    def _ask(self, asked: Future[_T]) -> None:
        if self._task.finished.is_set():
            asked.set_exception(self._failure or StopAsyncIteration())
            return
        self._asked.append(asked)
        if self._wake is not None:
            self._wake.set()

    async def _drive(self) -> None:
        try:
            async with self._opener() as stream:
                iterator = stream.__aiter__()
                while True:
                    if not self._asked:
                        self._wake = anyio.Event()
                        await self._wake.wait()
                    item = await iterator.__anext__()
                    self._asked.popleft().set_result(item)
        except BaseException as error:
            # The one who asked gets the error; a cancellation goes on here too.
            if self._asked:
                self._asked.popleft().set_exception(error)
            elif isinstance(error, Exception):
                self._failure = error  # it did not even begin; the first one who asks gets to know
            if not isinstance(error, Exception):
                raise

    def close(self) -> None:
        """End the call and wait until it has. Does nothing when it has ended or never began."""
        if self._closed:
            return
        self._closed = True
        if self._begun:
            self._task.cancel(_portal().door)
            if self._task.begun:
                self._task.finished.wait(2 * CLOSE_GRACE)

    def __enter__(self) -> SyncStream[_T]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


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
