"""Life lines by themselves: whom the system kills at their end, and what happens where it cannot."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.shell_kit import ROOT
from touba_cli.runtime.life_line import LifeLine

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux signals the end of a pipe")

DEAF = "import os, signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nos.fork()\nprint(flush=True)\ntime.sleep(60)\n"


@pytest.fixture
def group() -> Iterator[subprocess.Popen[bytes]]:
    """A process and its child, in a group of their own, which ignore SIGTERM and share a pipe."""
    started = subprocess.Popen(
        [sys.executable, "-IS", "-c", DEAF], start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert started.stdout is not None
    assert started.stdout.read(2) == b"\n\n"
    yield started
    if started.returncode is None:
        os.killpg(started.pid, signal.SIGKILL)
        started.wait()
    started.stdout.close()


def test_the_whole_group_is_killed_at_its_end(group: subprocess.Popen[bytes]) -> None:
    line = LifeLine()
    assert line.signals
    assert line.kill_at_end(group.pid)
    assert group.poll() is None
    line.close()
    line.close()
    assert group.wait(10) == -signal.SIGKILL
    assert group.stdout is not None
    assert group.stdout.read() == b"", "its child holds the pipe no more"


def test_a_group_that_is_gone_is_no_ones() -> None:
    line = LifeLine()
    assert not line.kill_at_end(2**22 + 1)  # a number that Linux gives to none
    line.close()


def test_where_the_system_signals_nothing_it_is_a_pipe_as_any(
    group: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: int) -> int:
        raise OSError(22, "invalid argument")

    monkeypatch.setattr(fcntl, "fcntl", refuse)
    line = LifeLine()
    copy = os.dup(line.read)
    assert not line.signals
    assert not line.kill_at_end(group.pid)
    line.close()
    assert os.read(copy, 1) == b""
    os.close(copy)
    assert group.poll() is None


#: makes forty processes in sessions of their own, and gives them life lines
MANY = """\
import os, sys, time
from touba_cli.runtime.orphans import Strays, end_orphans
born, tell = os.pipe()
for _ in range(40):
    if os.fork() == 0:
        os.setsid()
        os.write(tell, b".")
        time.sleep(60)
seen = 0
while seen < 40:
    seen += len(os.read(born, 40))
strays = Strays()
for _ in range(3):
    strays.look()
open_now = len(os.listdir("/proc/self/fd"))
strays.close()
print(open_now - len(os.listdir("/proc/self/fd")), "descriptors")
print([os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(32)].count(-9), "killed")
time.sleep(0.2)
print(os.waitpid(-1, os.WNOHANG)[0], "more")
end_orphans()
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("none")
"""


def test_only_so_many_groups_get_a_life_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MANY], env={"PYTHONPATH": str(ROOT)}, cwd=tmp_path, capture_output=True, text=True, timeout=30
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("64 descriptors\n32 killed\n0 more\nnone\n", "")


#: makes groups that end, and then others, as many as can have a life line each time
MANY_IN_TURN = """\
import os, signal, sys, time
from touba_cli.runtime.orphans import Strays
def born():
    told, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setsid()
        os.write(tell, b".")
        time.sleep(60)
    os.read(told, 1)
    os.close(told)
    os.close(tell)
    return pid
strays = Strays()
for _ in range(3):
    groups = [born() for _ in range(32)]
    strays.look()
    held = len(os.listdir("/proc/self/fd"))
    for pid in groups[:-1]:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    strays.look()
    print(held - len(os.listdir("/proc/self/fd")), "descriptors")
    os.kill(groups[-1], 0)
    os.kill(groups[-1], signal.SIGKILL)
    os.waitpid(groups[-1], 0)
last = born()
strays.look()
strays.close()
print(os.waitstatus_to_exitcode(os.waitpid(last, 0)[1]))
"""


def test_groups_that_are_gone_give_their_life_lines_back(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MANY_IN_TURN], env={"PYTHONPATH": str(ROOT)}, cwd=tmp_path, capture_output=True, text=True, timeout=30
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("62 descriptors\n62 descriptors\n62 descriptors\n-9\n", "")
