"""`ToubaEngine`: the blocking engine. It uses no event loop, so it works inside a running one, too."""

from __future__ import annotations

import os
import time
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack, overload

from .child import Child
from .command import Invocation
from .core import BUSY_PAUSE, BUSY_TRIES, Core, Job, close, conclude, make_call, start, still_busy
from .envelope import Ending, conclude_check, conclude_compile, is_outcome
from .options import CheckOptions, CompileOptions, EngineOptions, RunOptions
from .process import Call
from .results import CheckResult, CompiledProgram, RunResult

Value = TypeVar("Value")

__tracebackhide__ = is_outcome  # see there


class ToubaEngine:
    """Checks, compiles and runs programs in runtime processes of their own.

    One engine serves a project; it may be used by many threads at once. Every call starts one process and returns
    when that process has ended, in whatever way: nothing outlives the call.

    Parameters:
        options: `EngineOptions`: `project_root`, `env`, `cli_path`, `python_executable`.

    Raises:
        UsageError: for a wrong option.

    Example::

        with ToubaEngine(project_root=".") as engine:
            run = engine.run("program.tb", inputs={"value": "Invoice 42"})
            print(run.status, run.reason, run.result)
    """

    def __init__(self, **options: Unpack[EngineOptions]):
        self._core = Core(options)

    def check(self, program: str | os.PathLike[str] | None = None, /, **options: Unpack[CheckOptions]) -> CheckResult:
        """Say what is wrong with a program, without running it.

        Parameters:
            program: the entry file; the same as `source`.
            options: `CheckOptions`.

        Returns:
            The problems. A program with errors is no error of the call: ``ok`` is False then.

        Raises:
            ToubaEngineError: where the check itself was not possible.
        """
        return conclude_check(self._drive(self._core.prepare("check", program, options)))

    def compile(
        self, program: str | os.PathLike[str] | None = None, /, **options: Unpack[CompileOptions]
    ) -> CompiledProgram:
        """Compile a program once, to run it many times: ``engine.run(air_json=compiled.air_json)``.

        Parameters:
            program: the entry file; the same as `source`.
            options: `CompileOptions`.

        Raises:
            CompileError: for a program with errors; ``details.diagnostics`` lists them.
            ToubaEngineError: where the call failed in another way.
        """
        return conclude_compile(self._drive(self._core.prepare("compile", program, options)))

    @overload
    def run(
        self,
        program: str | os.PathLike[str] | None = None,
        /,
        *,
        result_type: type[Value],
        **options: Unpack[RunOptions],
    ) -> RunResult[Value]: ...
    @overload
    def run(
        self,
        program: str | os.PathLike[str] | None = None,
        /,
        *,
        result_type: Any = None,
        **options: Unpack[RunOptions],
    ) -> RunResult[Any]: ...
    def run(
        self,
        program: str | os.PathLike[str] | None = None,
        /,
        *,
        result_type: Any = None,
        **options: Unpack[RunOptions],
    ) -> RunResult[Any]:
        """Run a program to its end.

        Ctrl-C cancels the run, waits until the process has ended, and raises KeyboardInterrupt; a second one kills it.

        Parameters:
            program: the entry file; the same as `source`.
            result_type: the type of ``run.value``: a dataclass, a `TypedDict`, a pydantic model, `list[Decimal]` and so
                on. It is checked before anything starts.
            options: `RunOptions`.

        Returns:
            The result of a run that came to an end of its own: completed, stopped, or cancelled through `cancel`.

        Raises:
            UsageError, CompileError, AdmissionError: nothing ran.
            RuntimeFailure: the run failed.
            LaunchError: something could not be started.
            TransportError: the runtime gave no whole answer, or the result does not fit `result_type`; a run may have
                happened, with its effects.
        """
        job = self._core.prepare("run", program, {**options, "result_type": result_type})
        try:
            return conclude(job, self._drive(job))
        finally:
            job.discard()

    def close(self) -> None:
        """Refuse further calls. Calls that other threads are in come to their end."""
        self._core.closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _drive(self, job: Job) -> Ending:
        child = _start(job.invocation)
        try:
            call = make_call(child, job)
            try:
                _to_the_end(call)
            except BaseException:
                # Ctrl-C, or an exception that another thread raised in this one: the process ends first.
                call.stop()
                _to_the_end(call)
                raise
            return call.ending()
        finally:
            close(child)


def _start(invocation: Invocation) -> Child:
    for _ in range(BUSY_TRIES):
        child = start(invocation)
        if child is not None:
            return child
        time.sleep(BUSY_PAUSE)
    raise still_busy(invocation)


def _to_the_end(call: Call) -> None:
    while True:
        pause = call.advance()
        if call.finished:
            return
        call.child.wait(pause)
