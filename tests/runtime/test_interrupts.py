"""Signals and pipes at their worst moments, against a real runtime: storms, early ones, blocked ones, lost readers."""

from __future__ import annotations

import array
import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

import pytest

from tests.shell_kit import (
    ROOT,
    Project,
    air,
    alive,
    calling,
    coded,
    command,
    environment,
    eventually,
    request,
    spinning,
)

DEAF = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
WAITING = "open('pid.new', 'w').write(str(os.getpid()))\nos.rename('pid.new', 'pid')\ntime.sleep(60)"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def start(project: Project, program: str = "app.air.json", **options: Any) -> subprocess.Popen[bytes]:
    """An attached run that has its request."""
    process = project.start("run", "--attached", "--json", "--request=-", **options)
    sent: dict[str, Any] = {"air": program, "run_limits": {"max_steps": 1_000_000_000}}
    if program == "app.air.json":
        sent |= {"manifest": "manifest.json", "inputs": {"value": 1}}
    assert process.stdin is not None
    process.stdin.write(request(sent))
    process.stdin.flush()
    return process


def ended(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    """The envelope of a process that has ended; nothing else may have been printed."""
    output, errors = process.communicate(timeout=30)
    assert b"Traceback" not in errors, errors
    found: dict[str, Any] = json.loads(output)
    assert found["exit_code"] == process.returncode
    return found


def handler_pid(project: Project) -> int:
    path = project.folder / "pid"
    eventually(path.exists, "the handler did not start")
    return int(path.read_text())


def is_stuck(process: subprocess.Popen[bytes]) -> bool:
    """Whether a process has filled its standard output. (A pipe tells how many bytes wait in it.)"""
    assert process.stdout is not None
    waiting = array.array("i", [0])
    fcntl.ioctl(process.stdout.fileno(), termios.FIONREAD, waiting)
    return waiting[0] >= 60_000


def large() -> bytes:
    """A program whose result does not fit into a pipe."""
    code = [["set", 0, ["text", "x" * 100_000]], ["give", ["list", "Text", [["slot", 0]] * 20]]]
    return air({"strategy:app/Main": coded(code, gives=["List", "Text"], slots=("Text",))})


# --- signals ----------------------------------------------------------------------------------------------------------

STORM = (
    "import os, signal, sys, time\n"
    "until = time.monotonic() + 1.5\n"
    "while time.monotonic() < until:\n"
    "    try:\n"
    "        os.kill(int(sys.argv[1]), signal.SIGTERM)\n"
    "        os.kill(int(sys.argv[1]), signal.SIGINT)\n"
    "    except ProcessLookupError:\n"
    "        break\n"
)


@pytest.mark.parametrize("what", ["handler", "computation", "compilation"])
def test_a_storm_of_signals_still_gives_an_envelope(project: Project, what: str) -> None:
    if what == "handler":
        project.handler(DEAF + WAITING)
        project.write("app.air.json", calling("write"))
        process = start(project)
        handler = handler_pid(project)
    elif what == "computation":
        project.write("spin.air.json", spinning())
        process = start(project, "spin.air.json")
        handler = 0
    else:
        body = "".join(
            f"function F{n}\n    takes n as Int\n    gives Int\n    do\n        give n\n\n" for n in range(9_000)
        )
        project.write("big.tb", f"module big\n\n{body}")
        process = project.start("run", "--attached", "--json", "--request=-")
        assert process.stdin is not None
        process.stdin.write(request({"source": "big.tb"}))
        process.stdin.flush()
        handler = 0
        time.sleep(0.3)
    storms = [subprocess.Popen([sys.executable, "-IS", "-c", STORM, str(process.pid)]) for _ in range(2)]
    try:
        assert ended(process)["status"] == "cancelled"
    finally:
        for storm in storms:
            storm.wait(30)
    assert handler == 0 or not alive(handler)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_that_waits_for_the_runtime_cancels_the_run(project: Project, number: signal.Signals) -> None:
    """As an engine starts it: the signals are blocked until it can take them."""
    project.write("app.air.json", air({"strategy:app/Main": coded([["give", ["int", 1]]])}))
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {number})
    try:
        process = project.start("run", "--air=app.air.json", "--json")
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    process.send_signal(number)
    assert ended(process)["status"] == "cancelled"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("name", ["version", "check", "nonsense"])
def test_a_signal_that_waits_for_another_command_ends_it_without_a_word(
    project: Project, name: str, number: signal.Signals
) -> None:
    code = (
        "import os, signal, sys\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})\n"
        f"os.kill(os.getpid(), {int(number)})\n"
        "os.execv(sys.argv[1], sys.argv[1:])\n"
    )
    done = subprocess.run([sys.executable, "-IS", "-c", code, *command(name)], capture_output=True, cwd=project.folder)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


#: a signal comes in a callback, from which no exception gets out
SWALLOWED = """\
import os, signal, time, weakref
from touba_cli.runtime.interrupts import Cancelled, Interrupts
class Thing:
    pass
def callback(reference):
    os.kill(os.getpid(), signal.SIGTERM)
    print("never here")
interrupts = Interrupts()
interrupts.watch_signals()
interrupts.raise_at_end()
try:
    thing = Thing()
    reference = weakref.ref(thing, callback)
    del thing
    time.sleep(5)
except Cancelled:
    print("cancelled")
interrupts.attend()
def fault(reference):
    raise ValueError("of its own")
thing = Thing()
reference = weakref.ref(thing, fault)
del thing
"""


def test_a_request_to_end_that_python_swallows_comes_again() -> None:
    words = [sys.executable, "-c", SWALLOWED]
    done = subprocess.run(words, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=30)
    assert done.stdout == "cancelled\n"
    assert "Cancelled" not in done.stderr
    assert "ValueError: of its own" in done.stderr


def test_an_application_that_ignores_the_end_of_its_children_harms_no_handler(project: Project) -> None:
    project.handler("", answer="ok(arguments['value'])")
    project.write("app.air.json", calling())
    words = command("run", "--air=app.air.json", "--manifest=manifest.json", '--inputs={"value":3}', "--json")
    code = "import os, signal, sys\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\nos.execv(sys.argv[1], sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-IS", "-c", code, *words], capture_output=True, cwd=project.folder, env=environment()
    )
    assert json.loads(done.stdout)["result"] == 3


# --- pipes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("more", "code"), [(["--json"], 7), ([], 0)])
def test_a_reader_that_has_gone_gets_no_document_and_wants_no_more_text(
    project: Project, more: list[str], code: int
) -> None:
    project.write("app.air.json", large())
    process = project.start("run", "--air=app.air.json", *more)
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    assert process.communicate(timeout=30)[1] == b""
    assert process.returncode == code


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is always full is a thing of Linux")
def test_a_document_that_cannot_be_written_is_a_failure(project: Project) -> None:
    project.write("app.air.json", large())
    with open("/dev/full", "wb") as full:
        process = project.start("run", "--air=app.air.json", "--json", stdout=full)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 7
    assert b"could not be written: no space left" in errors


def test_a_runtime_that_nobody_reads_leaves_when_its_life_line_ends(project: Project) -> None:
    project.write("large.air.json", large())
    process = start(project, "large.air.json")
    assert process.stdin is not None
    assert process.stdout is not None
    eventually(lambda: is_stuck(process), "the runtime never wrote")
    process.stdin.close()
    started = time.monotonic()
    process.wait(30)  # its standard output is open all the while, and full
    assert 1 < time.monotonic() - started < 6
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def test_a_slow_reader_gets_all_of_it_after_the_end_of_the_life_line(project: Project) -> None:
    project.write("large.air.json", large())
    process = start(project, "large.air.json")
    assert process.stdin is not None
    assert process.stdout is not None
    eventually(lambda: is_stuck(process), "the runtime never wrote")
    process.stdin.close()
    process.stdin = None
    parts = []
    for _ in range(6):
        time.sleep(0.5)  # longer in all than a stuck runtime waits
        parts.append(os.read(process.stdout.fileno(), 100_000))
    rest, _ = process.communicate(timeout=30)
    assert len(json.loads(b"".join(parts) + rest)["result"]) == 20


def test_a_closed_standard_input_is_an_empty_request(project: Project) -> None:
    code = "import os, sys\nos.close(0)\nos.execv(sys.argv[1], sys.argv[1:])"
    words = command("run", "--attached", "--json", "--request=-")
    done = subprocess.run([sys.executable, "-IS", "-c", code, *words], capture_output=True, cwd=project.folder)
    assert (json.loads(done.stdout)["reason"], done.returncode) == ("JsonInvalid", 2)


# --- foreign commands -------------------------------------------------------------------------------------------------


def test_a_foreign_command_gets_what_any_handler_gets(project: Project) -> None:
    script = project.write(
        "tools/answer.sh",
        "#!/bin/sh\n"
        "{ env; echo; ls /proc/$$/fd; echo; grep -E '^Sig(Ign|Blk)' /proc/self/status; echo; echo \"$@\"; } >seen\n"
        "cat >/dev/null\n"
        'echo \'{"protocol":"touba-tool-response-v1","ok":true,"value":4}\'\n',
    )
    script.chmod(0o755)
    project.bind(["tools/answer.sh", "--flag", "-x", "a b", "ü"], environment=["SHARED"])
    bare = dict.fromkeys(("LANG", "LC_ALL", "LC_CTYPE"), "")
    assert project.call(env={**bare, "SHARED": "yes", "HIDDEN": "no"}).document["result"] == 4
    variables, descriptors, masks, words = (project.folder / "seen").read_text().split("\n\n")
    seen = dict(line.partition("=")[::2] for line in variables.splitlines())
    assert (seen["SHARED"], seen["TOUBA_HANDLER"], seen["PYTHONPATH"]) == ("yes", "3", str(project.folder))
    assert not {"HIDDEN", "LC_CTYPE"} & set(seen)
    assert {"0", "1", "2", "3"} <= set(descriptors.split())
    assert "4" not in descriptors.split()
    # Those of the system's own library are as they were before.
    assert [int(line.split()[1], 16) & 0x7FFF_FFFF for line in masks.splitlines()] == [0, 0]
    assert words == "--flag -x a b ü\n"
