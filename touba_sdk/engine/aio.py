"""`AsyncToubaEngine`: the same engine for asyncio and trio."""

from __future__ import annotations

import asyncio
import os
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack, overload

import anyio
import anyio.lowlevel

from .child import Child
from .command import Invocation
from .core import BUSY_PAUSE, BUSY_TRIES, Core, Job, close, conclude, make_call, start, still_busy
from .envelope import Ending, conclude_check, conclude_compile, is_outcome
from .options import CheckOptions, CompileOptions, EngineOptions, RunOptions
from .process import Call
from .results import CheckResult, CompiledProgram, RunResult

#: where a child cannot be watched by the event loop, it is looked at this often
_POLL = 0.02

Value = TypeVar("Value")

__tracebackhide__ = is_outcome  # see there


class AsyncToubaEngine:
    """Checks, compiles and runs programs in runtime processes of their own, without blocking the event loop.

    The methods are those of `ToubaEngine`, with ``await``. Cancelling the task or scope of a call cancels the run; the
    cancellation goes on when the process has ended.

    Parameters:
        options: `EngineOptions`: `project_root`, `env`, `cli_path`, `python_executable`.

    Raises:
        UsageError: for a wrong option.

    Example::

        async with AsyncToubaEngine(project_root=".") as engine:
            run = await engine.run("program.tb", inputs={"value": "Invoice 42"})
            print(run.status, run.reason, run.result)
    """

    def __init__(self, **options: Unpack[EngineOptions]):
        self._core = Core(options)

    async def check(
        self, program: str | os.PathLike[str] | None = None, /, **options: Unpack[CheckOptions]
    ) -> CheckResult:
        """Say what is wrong with a program, without running it: as `ToubaEngine.check`."""
        return conclude_check(await self._drive(self._core.prepare("check", program, options)))

    async def compile(
        self, program: str | os.PathLike[str] | None = None, /, **options: Unpack[CompileOptions]
    ) -> CompiledProgram:
        """Compile a program: as `ToubaEngine.compile`."""
        return conclude_compile(await self._drive(self._core.prepare("compile", program, options)))

    @overload
    async def run(
        self,
        program: str | os.PathLike[str] | None = None,
        /,
        *,
        result_type: type[Value],
        **options: Unpack[RunOptions],
    ) -> RunResult[Value]: ...
    @overload
    async def run(
        self,
        program: str | os.PathLike[str] | None = None,
        /,
        *,
        result_type: Any = None,
        **options: Unpack[RunOptions],
    ) -> RunResult[Any]: ...
    async def run(
        self,
        program: str | os.PathLike[str] | None = None,
        /,
        *,
        result_type: Any = None,
        **options: Unpack[RunOptions],
    ) -> RunResult[Any]:
        """Run a program to its end: as `ToubaEngine.run`."""
        job = self._core.prepare("run", program, {**options, "result_type": result_type})
        try:
            return conclude(job, await self._drive(job))
        finally:
            job.discard()

    async def close(self) -> None:
        """Refuse further calls. Calls that other tasks are in come to their end."""
        self._core.closed = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def _drive(self, job: Job) -> Ending:
        await anyio.lowlevel.checkpoint()  # who is cancelled already starts nothing
        child = await _start(job.invocation)
        try:
            call = make_call(child, job)
            try:
                await _to_the_end(call)
            except BaseException:
                # The cancellation goes on when the process has ended.
                call.stop()
                await _stop_undisturbed(call)
                raise
            return call.ending()
        finally:
            close(child)


async def _start(invocation: Invocation) -> Child:
    for _ in range(BUSY_TRIES):
        child = start(invocation)
        if child is not None:
            return child
        await anyio.sleep(BUSY_PAUSE)
    raise still_busy(invocation)


async def _to_the_end(call: Call) -> None:
    while True:
        pause = call.advance()
        if call.finished:
            return
        descriptor = call.child.fileno()
        if descriptor is None:
            await anyio.sleep(_POLL if pause is None else min(pause, _POLL))
            continue
        with anyio.move_on_after(pause):
            await anyio.wait_readable(descriptor)


async def _stop_undisturbed(call: Call) -> None:
    """Wait for the end of a process that is being stopped, whatever cancels the caller meanwhile, and how often.

    A shielded scope keeps the cancellations of anyio and trio away. Those of asyncio (``task.cancel()``) reach a task
    in spite of it, so there the work is done in a task of its own, for which this one waits again and again.
    """
    with anyio.CancelScope(shield=True):
        if not _in_asyncio_task():
            await _to_the_end(call)
            return
        stopping = asyncio.get_running_loop().create_task(_to_the_end(call), name="touba-stop")
        while not stopping.done():
            try:
                await asyncio.shield(stopping)
            except asyncio.CancelledError:
                # The caller is cancelled already and is about to say so.
                continue


def _in_asyncio_task() -> bool:
    try:
        return asyncio.current_task() is not None
    except RuntimeError:
        return False  # no asyncio loop runs here
