"""Running one tool: awaited where it is async, in a thread of its own where it is not, and never for too long."""

from __future__ import annotations

import contextvars
import inspect
import logging
import math
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import anyio

from touba_sdk.models import ContentPart, Usage

from .run import RunMetadata
from .session import Session
from .steps import CANCELLED, Finished, Outcome, Progressed
from .types import CONTEXT, RunContext, Tool, ToolCall

__all__ = ["GRACE", "Job", "loop_door", "seconds"]

#: how long settling a run may take that was cancelled or abandoned, in seconds: a thread that goes on is left behind
GRACE = 5.0
_log = logging.getLogger("touba_sdk.agent")


def seconds(given: float | timedelta | None) -> float | None:
    """A time-out in seconds; None where it is off."""
    value = given.total_seconds() if isinstance(given, timedelta) else given
    return None if value is None or value <= 0 else float(value)


def loop_door() -> Callable[[Callable[[], None]], object]:
    """How another thread has a function called in the event loop of this one."""
    trio = sys.modules.get("trio")
    if trio is not None:
        try:
            door: Callable[[Callable[[], None]], object] = trio.lowlevel.current_trio_token().run_sync_soon
            return door
        except RuntimeError:
            trio = None  # it is loaded, but this loop is another one
    import asyncio

    return asyncio.get_running_loop().call_soon_threadsafe


class Job:
    """One call of a tool that runs. It tells its end, and its progress, through ``news``.

    Parameters:
        index: which call of the batch it is.
        tool, call: what to run.
        metadata: the run.
        timeout: in seconds; None for no end.
        news: takes `Finished` once, and `Progressed` before that; may be called from any thread.
        resumed: the session of a sub-agent that goes on.
    """

    def __init__(
        self,
        index: int,
        tool: Tool,
        call: ToolCall,
        metadata: RunMetadata,
        timeout: float | None,
        news: Callable[[Finished | Progressed], None],
        resumed: Session | None = None,
    ):
        self._index = index
        self._tool = tool
        self._timeout = timeout
        self._news = news
        self._usage: Usage | None = None
        self._over = False
        self._limit: anyio.CancelScope | None = None
        self._scope = anyio.CancelScope()
        self._context = RunContext(
            metadata,
            call,
            None if timeout is None else time.monotonic() + timeout,
            report=self._progress,
            spent=self._spent,
            resumed=resumed,
        )

    @property
    def name(self) -> str:
        """The tool's name."""
        return self._context.call.name

    def stop(self) -> None:
        """Cancel the tool."""
        self._context._cancelled = True
        self._scope.cancel()

    def _progress(self, content: tuple[ContentPart, ...]) -> None:
        if not self._over:
            self._news(Progressed(self._index, content))

    def _spent(self, usage: Usage) -> None:
        self._usage = usage if self._usage is None else self._usage + usage

    async def run(self) -> None:
        """Run the tool to its end. Raises only what ends the whole task."""
        CONTEXT.set(self._context)
        outcome: Outcome | None = None
        try:
            with self._scope:
                outcome = await self._within_limit()
        finally:
            self._over = True
            self._context._cancelled = self._context._cancelled or outcome is None
            outcome = outcome or Outcome.failure(CANCELLED, ran=False)
            outcome.usage = self._usage
            self._news(Finished(self._index, outcome))

    async def _within_limit(self) -> Outcome:
        if self._timeout is None:
            return await self._attempt()
        with anyio.CancelScope(deadline=anyio.current_time() + self._timeout) as self._limit:
            return await self._attempt()
        self._context._cancelled = True
        return Outcome.failure(f"tool timed out: it did not finish before its deadline of {self._timeout:g} s")

    async def _attempt(self) -> Outcome:
        try:
            execute = self._tool.execute
            call = self._context.call
            output: Any = (
                execute(call) if inspect.iscoroutinefunction(execute) else await self._in_thread(execute, call)
            )
            if inspect.isawaitable(output):
                output = await output
            return Outcome.returned(output)
        except Exception as error:
            return Outcome.raised(error)
        except anyio.get_cancelled_exc_class():
            if anyio.current_effective_deadline() == -math.inf:
                raise
            # Nobody cancelled this tool: it let out a cancellation of something that it had waited for.
            return Outcome.failure("the tool was cancelled from within")

    async def _in_thread(self, execute: Callable[[ToolCall], Any], call: ToolCall) -> Any:
        done = anyio.Event()
        answer: list[Any] = []
        failure: list[BaseException] = []
        door = loop_door()
        context = contextvars.copy_context()
        _forget_loop(context)

        def work() -> None:
            try:
                answer.append(context.run(execute, call))
            except BaseException as error:
                failure.append(error)
            try:
                door(done.set)
            except RuntimeError:
                # The event loop has ended in the meantime, so nobody waits for this tool.
                _log.debug("the tool %s ended after its event loop", call.name)

        thread = threading.Thread(target=work, name=f"touba-tool-{call.name}", daemon=True)
        thread.start()
        try:
            await done.wait()
        except anyio.get_cancelled_exc_class():
            self._context._cancelled = True
            if self._limit is None or not self._limit.cancel_called:
                with anyio.CancelScope(deadline=anyio.current_time() + GRACE, shield=True):
                    await done.wait()
            if not done.is_set():
                _log.warning("the tool %s goes on in its thread; its result will be dropped", call.name)
                raise
        if failure:
            raise failure[0] if isinstance(failure[0], Exception) else _ThreadEnded(type(failure[0]).__name__)
        return answer[0]


class _ThreadEnded(Exception):
    """A tool in a thread raised what would end a program, such as SystemExit; here it is an error like any other."""


def _forget_loop(context: contextvars.Context) -> None:
    """Let the code in a thread see that no event loop runs there."""
    sniffio = sys.modules.get("sniffio")
    if sniffio is not None:
        context.run(sniffio.current_async_library_cvar.set, None)
