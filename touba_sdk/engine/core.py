"""What the two engines share: their settings, the way from a call to an invocation, and back from its end.

Nothing in here waits.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import platformdirs

from touba_cli.errors import CODES
from touba_cli.limits import RESULT_FILE_BYTES

from .. import __version__, _causes
from .._wire import Reader
from ..errors import LaunchError, RuntimeFailure, UsageError
from . import options as option_rules
from .child import Child, spawn
from .command import Invocation, absolute_root, build
from .envelope import Ending, conclude_run, is_outcome
from .locate import World, bytecode_folder, find_runtime, named_path
from .process import OUTPUT_CAP, Call
from .results import RunResult

__tracebackhide__ = is_outcome  # see there

#: a file that is being written cannot be started: how often and after how many seconds it is tried again
BUSY_TRIES: Final = 20
BUSY_PAUSE: Final = 0.1
#: codes of a call whose function raised something
_CODES_OF_EXCEPTIONS: Final = ("ToolHandlerFailed", "MemoryMetadataInvalid")
#: how often closing a child goes on after an interruption
_CLOSE_TRIES: Final = 100


@dataclass(frozen=True, slots=True)
class Job:
    """One call, checked and ready to be started.

    Attributes:
        invocation: what to start.
        cancel: the event that cancels the run, or None.
        reader: reads the result into what `result_type` says; None without one.
        result_out: where the runtime puts a result document that is too large for the pipe; None for other commands.
    """

    invocation: Invocation
    cancel: Any
    reader: Reader | None
    result_out: str | None

    def kept(self) -> bytes | None:
        """The result document that was too large for the pipe, where there is one that only we can have asked for."""
        if self.result_out is None:
            return None
        try:
            descriptor = os.open(self.result_out, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        except OSError:
            return None
        with os.fdopen(descriptor, "rb") as file:
            if os.name == "posix" and os.fstat(descriptor).st_uid != os.getuid():
                return None
            return file.read(RESULT_FILE_BYTES + 2)

    def discard(self) -> None:
        """Remove what the runtime has kept."""
        if self.result_out is not None and os.path.lexists(self.result_out):
            os.unlink(self.result_out)


class Core:
    """The settings of one engine. Immutable but for `closed`, so threads and tasks share it freely."""

    def __init__(self, given: Mapping[str, Any]):
        self._settings = option_rules.check_options("engine", given)
        self._root = os.path.abspath(self._settings.pop("project_root", "."))
        self._pid = os.getpid()
        self.closed = False

    def prepare(self, command: str, program: object | None, given: Mapping[str, Any]) -> Job:
        """Check a call and say what to start.

        Raises:
            UsageError: for wrong options, a closed engine, an engine of another process.
            LaunchError: where there is no runtime.
        """
        self._refuse_if_unusable(command)
        options = option_rules.check_options(command, option_rules.with_program(command, program, given))
        option_rules.check_program(command, options)
        options = {**self._settings, **options}
        options["project_root"] = absolute_root(options.get("project_root"), self._root)
        world = World.here()
        runtime = find_runtime(
            world,
            project_root=options["project_root"],
            cli_path=options.get("cli_path"),
            python_executable=options.get("python_executable"),
            bytecode_folder=lambda start, own: bytecode_folder(start, lambda: cache_folder(world), own_python=own),
        )
        result_out = _new_path() if command == "run" else None
        uses_cache = command == "run" and "source" in options and options.get("cache", True)
        invocation = build(
            command,
            options,
            runtime=runtime,
            version=__version__,
            environ=world.environ,
            result_out=result_out,
            cache=os.path.join(cache_folder(world), "programs") if uses_cache else None,
        )
        return Job(invocation, options.get("cancel"), options.get("result_type"), result_out)

    def _refuse_if_unusable(self, command: str) -> None:
        if os.getpid() != self._pid:
            raise UsageError(
                "EngineForked",
                f"`{command}` was called in process {os.getpid()}, which was forked from process {self._pid} after the "
                "engine was made there.",
                hint=CODES["EngineForked"].hint,
            )
        if self.closed:
            raise UsageError(
                "EngineClosed", f"`{command}` was called on a closed engine.", hint=CODES["EngineClosed"].hint
            )


def start(invocation: Invocation) -> Child | None:
    """Start the runtime; None where its file is busy and starting has to be tried again.

    Raises:
        LaunchError, UsageError: where it cannot be started.
    """
    return spawn(
        invocation.argv,
        folder=invocation.folder,
        env=invocation.env,
        request=invocation.request,
        hold_input=True,
        cap=OUTPUT_CAP,
        block_signals=invocation.bundled,
    )


def still_busy(invocation: Invocation) -> LaunchError:
    """The error of a runtime whose file did not become free."""
    return LaunchError(
        "RuntimeNotStarted",
        f"`{invocation.argv[0]}` could not be started: it is being written.",
        hint=CODES["RuntimeNotStarted"].hint,
    )


def conclude(job: Job, ending: Ending) -> RunResult[Any]:
    """The result of a run.

    Raises:
        ToubaEngineError: what it failed with; its cause is the exception of a fake tool, where it comes from one.
    """
    try:
        return conclude_run(ending, job.reader, job.kept)
    except RuntimeFailure as failure:
        if failure.code in _CODES_OF_EXCEPTIONS:
            failure.__cause__ = _causes.find(failure.details.run_id, failure.details.ref)
        raise


def close(child: Child) -> None:
    """Close a child, whatever comes in between: an interrupted user may press Ctrl-C again and again."""
    interruption: BaseException | None = None
    for _ in range(_CLOSE_TRIES):
        try:
            child.close()
            break
        except BaseException as fault:
            interruption = fault
    if interruption is not None:
        raise interruption


def make_call(child: Child, job: Job) -> Call:
    """The call that a process, which has just been started, is in."""
    invocation = job.invocation
    return Call(child, deadline_ms=invocation.deadline_ms, cancel=job.cancel)


def _new_path() -> str:
    """A name in the folder for temporary files that nobody can guess; there is no such file."""
    from tempfile import gettempdir

    return os.path.join(gettempdir(), f"touba-result-{os.urandom(16).hex()}.json")


def cache_folder(world: World) -> str:
    """The folder for what can be made again: TOUBA_CACHE_DIR, else the user's.

    Raises:
        UsageError: for a variable that holds no absolute path.
    """
    return named_path(world, "TOUBA_CACHE_DIR") or platformdirs.user_cache_dir("touba", appauthor=False)
