"""A process with three pipes, read and written without ever waiting for one of them alone.

`SelectorChild` needs no thread: pipes and the end of the process are watched by one selector, whose own descriptor an
event loop can watch in turn. `ThreadChild` serves systems that cannot select on pipes (Windows), with a thread for each
of them. Both start the process in a session of its own, own it from the line after the spawn, and leave nothing behind
after `close`.
"""

from __future__ import annotations

import errno
import os
import queue
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import IO

from touba_cli.errors import CODES
from touba_cli.limits import LINGER_MS, REAP_MS, STDERR_TAIL_BYTES

from ..errors import LaunchError, UsageError

_CHUNK = 64 * 1024
#: chunks that are read from one pipe before the others are looked at
_BURST = 16
#: where the end of a process cannot be watched, it is asked for this often
_EXIT_POLL = 0.02


class Child:
    """What both kinds have in common: the process, what it wrote, its signals, its end.

    Attributes:
        output: what it wrote to standard output, at most the cap.
        errors: the end of what it wrote to standard error.
        overflow: it wrote more than the cap; reading has stopped.
        output_open: standard output has not ended.
        exited: the process has ended; it may still have to be collected.
        status: as `subprocess.Popen.returncode`, after `close`; None where nobody can tell.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        folder: str,
        env: Mapping[str, str],
        request: bytes,
        hold_input: bool,
        cap: int,
        block_signals: bool = False,
    ):
        self.output = bytearray()
        self.errors = bytearray()
        self.overflow = False
        self.output_open = True
        self.exited = False
        self.status: int | None = None
        self._cap = cap
        self._closed = False
        blocked = _block_signals() if block_signals else None
        try:
            self._process = subprocess.Popen(
                list(argv),
                cwd=folder,
                env=dict(env),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=os.name == "posix",
                creationflags=_creation_flags(),
            )
        except BaseException:
            _unblock_signals(blocked)
            raise
        try:
            _LIVING.add(self)
            _unblock_signals(blocked)  # what came meanwhile is raised here
            self._attach(request, hold_input)
        except BaseException:
            self.close()
            raise

    # What a kind has to supply.

    def _attach(self, request: bytes, hold_input: bool) -> None:
        raise AssertionError("a kind of child attaches itself")

    def pump(self) -> None:
        """Move what can be moved without waiting."""
        raise AssertionError("a kind of child pumps")

    def wait(self, seconds: float | None) -> None:
        """Wait until there may be something to move, at most so long."""
        raise AssertionError("a kind of child waits")

    def fileno(self) -> int | None:
        """A descriptor that is readable when there is something to move; None where there is none."""
        return None

    def end_input(self) -> None:
        """End standard input as soon as the request is written."""
        raise AssertionError("a kind of child ends its input")

    def _close_pipes(self) -> None:
        raise AssertionError("a kind of child closes its pipes")

    # What they share.

    @property
    def pid(self) -> int:
        return self._process.pid

    def terminate(self) -> None:
        """Ask the group to end."""
        if os.name == "posix":
            self._signal_group(signal.SIGTERM)
        elif not self.exited:
            self._process.send_signal(_BREAK)

    def kill(self) -> None:
        """End the group by force."""
        if os.name == "posix":
            self._signal_group(signal.SIGKILL)
        elif not self.exited:
            self._process.kill()

    def close(self) -> None:
        """Kill what is left of the group, collect the process, close every descriptor. May be called again."""
        if self._closed:
            return
        # The group first: its number is not given to others while the process is not collected.
        self.kill()
        try:
            self._process.wait(REAP_MS / 1000)
        except subprocess.TimeoutExpired:
            # It hangs in the kernel. Python collects it later, when another process is started.
            self.status = None
        else:
            self.status = None if _status_is_lost() else self._process.returncode
        self._close_pipes()
        self._closed = True
        _LIVING.discard(self)

    def drop(self) -> None:
        """In a forked copy of the application: give the copies of the descriptors up. The process is not ours."""
        self._closed = True
        self._process.returncode = 0  # for the destructor: there is nothing to wait for
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    def _signal_group(self, number: int) -> None:
        if self._process.returncode is None:
            self._signal_group_now(number)

    def _signal_group_now(self, number: int) -> None:
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            return  # all of it has ended
        except PermissionError:
            # macOS says so of a group of which only the uncollected leader is left.
            return

    def _take_output(self, data: bytes) -> None:
        room = self._cap - len(self.output)
        if len(data) > room:
            self.overflow = True
            data = data[:room]
        self.output += data

    def _take_errors(self, data: bytes) -> None:
        self.errors += data
        if len(self.errors) > 2 * STDERR_TAIL_BYTES:
            del self.errors[:-STDERR_TAIL_BYTES]

    def _trim_errors(self) -> None:
        if len(self.errors) > STDERR_TAIL_BYTES:
            del self.errors[:-STDERR_TAIL_BYTES]


class SelectorChild(Child):
    """Pipes and end of the process in one selector; no threads. For systems that can select on pipes."""

    _selector: selectors.BaseSelector | None = None
    _exit_descriptor: int | None = None

    def _attach(self, request: bytes, hold_input: bool) -> None:
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._pending = memoryview(request)
        self._hold_input = hold_input
        self._selector = selectors.DefaultSelector()
        for pipe, events in (
            (process.stdin, selectors.EVENT_WRITE),
            (process.stdout, selectors.EVENT_READ),
            (process.stderr, selectors.EVENT_READ),
        ):
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, events)
        self._exit_descriptor = _open_exit_descriptor(process.pid)
        if self._exit_descriptor is not None:
            self._selector.register(self._exit_descriptor, selectors.EVENT_READ)

    def fileno(self) -> int | None:
        # Without a descriptor for the end of the process the end has to be asked for; `None` makes the driver do so.
        if self._selector is None or self._exit_descriptor is None:
            return None
        # The selectors that can be watched themselves (epoll, kqueue) have the method; the base class does not say so.
        watched = getattr(self._selector, "fileno", None)
        return None if watched is None else int(watched())

    def wait(self, seconds: float | None) -> None:
        if self._selector is None:
            return
        if self._exit_descriptor is None and not self.exited:
            seconds = _EXIT_POLL if seconds is None else min(seconds, _EXIT_POLL)
        self._selector.select(seconds)

    def pump(self) -> None:
        if self._selector is None:
            return
        if not self.exited and self._exit_descriptor is None:
            self.exited = self._has_exited()
        for key, _ in self._selector.select(0):
            if key.fileobj is self._process.stdout:
                self._read(self._process.stdout, to_output=True)
            elif key.fileobj is self._process.stderr:
                self._read(self._process.stderr, to_output=False)
            elif key.fileobj is self._process.stdin:
                self._write()
            else:
                self.exited = True
                self._selector.unregister(key.fileobj)
        if self.exited:
            self._drain()

    def drop(self) -> None:
        # Nothing is unregistered: parent and copy share what the selector watches.
        super().drop()
        if self._selector is not None:
            self._selector.close()
            self._selector = None
        if self._exit_descriptor is not None:
            descriptor, self._exit_descriptor = self._exit_descriptor, None
            os.close(descriptor)

    def end_input(self) -> None:
        self._hold_input = False
        if not self._pending:
            self._close_pipe(self._process.stdin)

    def _has_exited(self) -> bool:
        """Whether the process has ended, without collecting it where the system can tell."""
        if hasattr(os, "waitid"):
            try:
                return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
            except ChildProcessError:
                return True  # collected by somebody else
        if self._process.poll() is None:
            return False
        # Collected just now, so the number of the group is still its own.
        self._signal_group_now(signal.SIGKILL)
        return True

    def _drain(self) -> None:
        """After the end everything that the process wrote is in the pipes: take it now."""
        for pipe, to_output in ((self._process.stdout, True), (self._process.stderr, False)):
            if pipe is not None and not pipe.closed:
                self._read(pipe, to_output=to_output)

    def _read(self, pipe: IO[bytes] | None, *, to_output: bool) -> None:
        if pipe is None or pipe.closed:
            return
        for _ in range(_BURST):
            try:
                data = os.read(pipe.fileno(), _CHUNK)
            except BlockingIOError:
                return
            if not data:
                self._close_pipe(pipe)
                self.output_open = self.output_open and not to_output
                return
            if not to_output:
                self._take_errors(data)
                continue
            self._take_output(data)
            if self.overflow:
                self._close_pipe(pipe)
                self.output_open = False
                return

    def _write(self) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        while self._pending:
            try:
                written = os.write(stdin.fileno(), self._pending[:_CHUNK])
            except BlockingIOError:
                return
            except (BrokenPipeError, ConnectionResetError):
                # The process does not read, or has ended: how it ends is what there is to report.
                self._pending = memoryview(b"")
                self._close_pipe(stdin)
                return
            self._pending = self._pending[written:]
        if self._hold_input:
            if self._selector is not None:
                self._selector.unregister(stdin)
        else:
            self._close_pipe(stdin)

    def _close_pipe(self, pipe: IO[bytes] | None) -> None:
        if pipe is None or pipe.closed:
            return
        if self._selector is not None and pipe in self._selector.get_map():
            self._selector.unregister(pipe)
        pipe.close()

    def _close_pipes(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            self._close_pipe(pipe)
        if self._selector is not None:
            self._selector.close()
            self._selector = None
        if self._exit_descriptor is not None:
            descriptor, self._exit_descriptor = self._exit_descriptor, None
            os.close(descriptor)
        self._trim_errors()


class ThreadChild(Child):
    """A thread for each pipe and one for the end of the process. For systems that cannot select on pipes."""

    _threads: Sequence[threading.Thread] = ()

    def _attach(self, request: bytes, hold_input: bool) -> None:
        self._events: queue.SimpleQueue[tuple[str, bytes]] = queue.SimpleQueue()
        self._waiting: list[tuple[str, bytes]] = []
        self._may_end_input = threading.Event()
        self._stopped = threading.Event()
        if not hold_input:
            self._may_end_input.set()
        work = (
            ("touba-stdin", self._feed, (request,)),
            ("touba-stdout", self._collect, ("output", self._process.stdout)),
            ("touba-stderr", self._collect, ("errors", self._process.stderr)),
            ("touba-exit", self._watch, ()),
        )
        self._threads = [threading.Thread(target=do, args=args, name=name, daemon=True) for name, do, args in work]
        for thread in self._threads:
            thread.start()

    def _feed(self, request: bytes) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        try:
            view = memoryview(request)
            while view:
                view = view[stdin.write(view[:_CHUNK]) or 0 :]
            self._may_end_input.wait()
            stdin.close()
        except OSError:
            # The process does not read, or has ended: how it ends is what there is to report.
            self._may_end_input.wait()

    def _collect(self, name: str, pipe: IO[bytes]) -> None:
        seen = 0
        while not self._stopped.is_set():
            try:
                data = pipe.read(_CHUNK)
            except (OSError, ValueError):
                data = b""  # closed from this side
            self._events.put((name, data or b""))
            seen += len(data or b"")
            if not data or (name == "output" and seen > self._cap):
                return

    def _watch(self) -> None:
        self._process.wait()
        self._events.put(("exited", b""))

    def wait(self, seconds: float | None) -> None:
        try:
            self._waiting.append(self._events.get(timeout=seconds))
        except queue.Empty:
            return

    def pump(self) -> None:
        while True:
            try:
                self._waiting.append(self._events.get_nowait())
            except queue.Empty:
                break
        for name, data in self._waiting:
            if name == "exited":
                self.exited = True
            elif name == "errors":
                self._take_errors(data)
            elif not data:
                self.output_open = False
            elif not self.overflow:
                self._take_output(data)
        self._waiting.clear()

    def end_input(self) -> None:
        self._may_end_input.set()

    def _close_pipes(self) -> None:
        process = self._process
        pipes = (process.stdin, process.stdout, process.stderr)
        if not self._threads:
            for pipe in pipes:
                if pipe is not None:
                    pipe.close()
            return
        self._stopped.set()
        self._may_end_input.set()
        end = time.monotonic() + LINGER_MS / 1000
        for thread in self._threads:
            if thread.is_alive():
                thread.join(max(0.0, end - time.monotonic()))
        for pipe, thread in zip(pipes, self._threads, strict=False):
            # A pipe in which a thread still reads belongs to it: something outside the group holds the other end.
            if pipe is not None and not thread.is_alive():
                pipe.close()
        self._trim_errors()


def spawn(
    argv: Sequence[str],
    *,
    folder: str,
    env: Mapping[str, str],
    request: bytes,
    hold_input: bool,
    cap: int,
    block_signals: bool = False,
) -> Child | None:
    """Start a process; None where its file is just being written (`ETXTBSY`), which passes.

    Parameters:
        argv: the command line; the first element is an absolute path.
        folder: the working folder.
        env: the environment, whole.
        request: what to write to standard input.
        hold_input: keep standard input open afterwards, until `end_input`.
        cap: the most bytes of standard output that are kept.
        block_signals: it takes its signals itself as soon as it can; until then none may kill it.

    Raises:
        LaunchError: `RuntimeNotStarted`, with the place and the reason.
        UsageError: where the folder has gone.
    """
    kind = ThreadChild if sys.platform == "win32" else SelectorChild
    try:
        return kind(
            argv,
            folder=folder,
            env=env,
            request=request,
            hold_input=hold_input,
            cap=cap,
            block_signals=block_signals,
        )
    except OSError as fault:
        if fault.errno == errno.ETXTBSY:
            return None
        raise _not_started(fault, argv[0], folder) from None


def _not_started(fault: OSError, program: str, folder: str) -> UsageError | LaunchError:
    """Missing folder, missing program, missing interpreter and the rest, told apart."""
    if not os.path.isdir(folder):
        return UsageError("FileUnreadable", f"`project_root` is `{folder}`, which does not exist any more.")
    if fault.errno == errno.ENOENT and os.path.exists(program):
        reason = "the interpreter that its first line names does not exist"
    elif fault.errno == errno.ENOENT:
        reason = "it does not exist"
    elif fault.errno == errno.EACCES:
        reason = "it may not be executed"
    elif fault.errno == errno.ENOEXEC:
        reason = "it is no program of this system; a script needs a first line such as `#!/usr/bin/env python3`"
    elif fault.errno == errno.E2BIG or getattr(fault, "winerror", None) == 206:
        reason = "the environment is too large for the system"
    else:
        reason = f"{os.strerror(fault.errno) if fault.errno else type(fault).__name__}"
    return LaunchError(
        "RuntimeNotStarted", f"`{program}` could not be started: {reason}.", hint=CODES["RuntimeNotStarted"].hint
    )


def _open_exit_descriptor(pid: int) -> int | None:
    """A descriptor that becomes readable when the process ends; None where the system has none to give."""
    opener = getattr(os, "pidfd_open", None)
    if opener is None:
        return None
    try:
        return int(opener(pid))
    except OSError:
        return None


def _status_is_lost() -> bool:
    """Whether the application ignores SIGCHLD: then the system keeps no exit status, and Python reports 0 for all."""
    return os.name == "posix" and signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN


#: children between their start and their end
_LIVING: set[Child] = set()


def _drop_copies() -> None:
    """A forked copy of the application would hold the life line of every run and the runtimes' output."""
    for child in list(_LIVING):
        child.drop()
    _LIVING.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_drop_copies)


def _block_signals() -> set[int] | None:
    """Block the signals that ask for an end in this thread, and so in what it starts; gives the mask before.

    A process has no handlers of its own in its first milliseconds, and would die of what is meant as a request. No
    handler of the application is touched: the signals wait for the few moments that starting a process takes.
    """
    masking = getattr(signal, "pthread_sigmask", None)
    if masking is None:
        return None
    before: set[int] = masking(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    return before


def _unblock_signals(before: set[int] | None) -> None:
    if before is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_BREAK = getattr(signal, "CTRL_BREAK_EVENT", signal.SIGTERM)


def _creation_flags() -> int:
    if os.name == "posix":
        return 0
    return int(getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)) | int(getattr(subprocess, "CREATE_NO_WINDOW", 0))
