"""Starting and ending handler processes on POSIX systems: descriptors, sessions, exit, groups.

A handler is the leader of a session of its own. Its standard streams are pipes of the runtime; descriptor 3 is the
read end of its *life line* (`life_line`), a pipe whose write end only the runtime holds.
"""

from __future__ import annotations

import errno
import os
import time

from ..limits import REAP_MS
from . import signals
from .life_line import LifeLine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: the descriptor of the life line in a handler, and the variable that says so
LIFE_LINE = 3
LIFE_LINE_VARIABLE = "TOUBA_HANDLER"

#: what a handler sees of the runtime's environment; PYTHONPATH and TOUBA_HANDLER are set, the rest is handed on
INHERITED = ("PATH", "LANG", "TZ", "TMPDIR")

#: how often, and for how long, a program that is just being written is tried again (ETXTBSY)
_BUSY_TRIES = 10
_BUSY_PAUSE = 0.05

#: looks at an ended process without collecting it; not there on some systems
_waitid = getattr(os, "waitid", None)

#: signals that a handler gets with their default meaning, whatever the runtime made of them
_DEFAULT_SIGNALS = (signals.SIGINT, signals.SIGTERM, signals.SIGPIPE, signals.SIGCHLD, signals.SIGXFSZ)


def handler_environment(root: str, granted: tuple[str, ...]) -> dict[str, str]:
    """The environment of a handler: the short allow-list, and what its manifest entry grants by name."""
    environment = {name: os.environ[name] for name in (*INHERITED, *granted) if name in os.environ}
    environment["PYTHONPATH"] = root
    environment[LIFE_LINE_VARIABLE] = str(LIFE_LINE)
    return environment


class Spawner:
    """Starts the handlers of one run. `close` gives back the descriptors that it holds for that."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        # A pipe end that is itself one of 0 to 3 would be overwritten while another is moved there. Whatever of these
        # numbers is free is therefore held for as long as handlers are started.
        self._held: list[int] = []
        while True:
            descriptor = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
            if descriptor > LIFE_LINE:
                os.close(descriptor)
                break
            self._held.append(descriptor)
        _keep_descriptors_here()

    def start(self, argv: list[str], environment: dict[str, str]) -> Child:
        """Start a process.

        Parameters:
            argv: the argument list; its first word is an absolute path.
            environment: all of its environment.

        Raises:
            OSError: it could not be started; nothing is left behind.
        """
        opened: list[int] = []
        life_line: LifeLine | None = None
        try:
            for _ in range(3):
                opened.extend(os.pipe())
            stdin_read, stdin_write, stdout_read, stdout_write, stderr_read, stderr_write = opened
            life_line = LifeLine()
            given = [stdin_read, stdout_write, stderr_write]
            actions = [
                (os.POSIX_SPAWN_DUP2, stdin_read, 0),
                (os.POSIX_SPAWN_DUP2, stdout_write, 1),
                (os.POSIX_SPAWN_DUP2, stderr_write, 2),
                (os.POSIX_SPAWN_DUP2, life_line.read, LIFE_LINE),
            ]
            pid = _spawn(argv, environment, actions)
        except BaseException:
            for descriptor in opened:
                os.close(descriptor)
            if life_line is not None:
                life_line.close()
            raise
        # Who is killed before this leaves a process that no signal is meant for. It never gets a request.
        life_line.kill_at_end(pid)
        for descriptor in given:
            os.close(descriptor)
        return Child(pid, stdin_write, stdout_read, stderr_read, life_line)

    def close(self) -> None:
        """Give the descriptors back. No more handlers can be started."""
        for descriptor in self._held:
            os.close(descriptor)
        self._held = []


def _keep_descriptors_here() -> None:
    """Whatever this process was itself handed beyond the standard streams is not for handlers."""
    try:
        names = os.listdir("/dev/fd")
    except OSError:
        return  # a place without this list; Python's own descriptors are never inherited
    for name in names:
        descriptor = int(name)
        if descriptor > 2:
            try:
                os.set_inheritable(descriptor, False)
            except OSError:
                continue  # the listing's own descriptor, closed by now


def _spawn(argv: list[str], environment: dict[str, str], actions: list[Any]) -> int:
    tries = 0
    while True:
        try:
            return os.posix_spawn(
                argv[0],
                argv,
                environment,
                file_actions=actions,
                setsid=True,
                setsigmask=(),
                setsigdef=_DEFAULT_SIGNALS,
            )
        except OSError as fault:
            tries += 1
            if fault.errno != errno.ETXTBSY or tries >= _BUSY_TRIES:
                raise
            time.sleep(_BUSY_PAUSE)


class Child:
    """A process that was started: its pid (also the number of its group) and the runtime's ends of its pipes.

    ``stdin``, ``stdout`` and ``stderr`` are non-blocking descriptors, -1 once closed. ``exit_fd`` becomes readable when
    the process has ended; it is -1 where the system has no such descriptor, and `ended` has to be asked from time to
    time. It owns both ends of the life line, which ends with `release` at the latest.
    """

    __slots__ = ("_collected", "_life_line", "exit_fd", "pid", "status", "stderr", "stdin", "stdout")

    def __init__(self, pid: int, stdin: int, stdout: int, stderr: int, life_line: LifeLine | None = None):
        self.pid = pid
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr
        self.status: int | None = None
        self._collected = False
        self._life_line = life_line
        for descriptor in (stdin, stdout, stderr):
            os.set_blocking(descriptor, False)
        self.exit_fd = _open_exit_fd(pid)

    def close(self, name: str) -> None:
        """Close one of the descriptors: ``stdin``, ``stdout``, ``stderr``; closing twice does nothing."""
        descriptor = getattr(self, name)
        if descriptor >= 0:
            setattr(self, name, -1)
            os.close(descriptor)

    def ended(self) -> bool:
        """Whether the process has ended. Where the system allows it, its number stays taken until `collect`."""
        if self.status is not None:
            return True
        if _waitid is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid == 0:
                return False
            self.status = os.waitstatus_to_exitcode(status)
            self.signal_group(signals.SIGKILL)  # now or never: the number may soon be another's
            self._collected = True
            return True
        found = _waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if found is None:
            return False
        self.status = found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
        return True

    def signal_group(self, number: int) -> None:
        """Send a signal to everything in the process's group; nothing after `collect`."""
        if self._collected:
            return
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):
            return  # the group is gone, or (macOS) has only zombies: there is nothing left to end

    def collect(self) -> bool:
        """Kill what is left of the group and collect the process. False where it did not end in `REAP_MS`."""
        self.signal_group(signals.SIGKILL)
        until = time.monotonic() + REAP_MS / 1000
        while not self.ended():
            if time.monotonic() > until:
                return False
            time.sleep(0.002)
        if not self._collected:
            self._collected = True
            os.waitpid(self.pid, 0)
        return True

    def release(self) -> None:
        """Close the descriptors that are still open."""
        for name in ("stdin", "stdout", "stderr", "exit_fd"):
            self.close(name)
        if self._life_line is not None:
            self._life_line.close()

    def describe_end(self) -> str:
        """``exit code 3`` or ``signal SIGKILL``."""
        status = self.status or 0
        if status >= 0:
            return f"exit code {status}"
        return f"signal {signals.name_of(-status)}"


def _open_exit_fd(pid: int) -> int:
    opener = getattr(os, "pidfd_open", None)
    if opener is None:
        return -1
    try:
        descriptor: int = opener(pid)
    except OSError:
        return -1  # an old kernel or a sandbox that forbids it: `ended` is asked instead
    return descriptor
