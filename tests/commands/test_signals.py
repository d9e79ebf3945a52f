"""Ctrl-C and SIGTERM at any moment of any command: no traceback of ours, the documented exit code, and of a run with
``--json`` one envelope.

What comes before our first line runs is the interpreter's: it dies of the signal, perhaps with a traceback of its own.
"""

from __future__ import annotations

import ast
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.shell_kit import ROOT, START, Project, environment

PROGRAM = "module app\n\nstrategy Main\n  gives Int\n  do\n    give 1\n"

#: a command line, and the exit codes that it may have besides that of a request to end
COMMANDS: dict[str, tuple[list[str], set[int]]] = {
    "run": (["run", "app.tb", "--json", "--no-cache"], {0}),
    "check": (["check", "app.tb"], {0}),
    "compile": (["compile", "app.tb", "--out=app.air.json"], {0}),
    "format": (["format", "."], {0}),
    "eval": (["eval", "1 + 1", "--json"], {0}),
    "explain": (["explain", "TB4004"], {0}),
    "doctor": (["doctor"], {0, 1}),
    "version": (["version"], {0}),
    "nonsense": (["nonsense"], {2}),
}

#: how people and engines start it
WAYS: dict[str, list[str]] = {
    "engine": [sys.executable, "-I", "-S", "-X", "utf8", str(START)],
    "command": [sys.executable, "-c", "import sys; from touba_cli.__start__ import main; sys.exit(main())"],
    "module": [sys.executable, "-m", "touba_cli"],
}

IS_SOAK = os.environ.get("HYPOTHESIS_PROFILE") == "soak"
MOMENTS = 60 if IS_SOAK else 2
CANCELLED = 130


def first_statements() -> dict[str, int]:
    """File → the line at whose end signals wait; until then it is the interpreter that dies of them."""
    start = ast.parse(START.read_text("utf-8")).body[1:3]
    assert [ast.unparse(each) for each in start] == [
        "import _signal",
        "_signal.pthread_sigmask(_signal.SIG_BLOCK, (_signal.SIGINT, _signal.SIGTERM))",
    ]
    module = START.with_name("__main__.py")  # `python -m touba_cli` has to find out first what that is
    main = ast.parse(module.read_text("utf-8")).body[1:4]
    assert [ast.unparse(each).splitlines()[-1].strip() for each in main] == [
        "from __future__ import annotations",
        "from .runtime.signals import hold",
        "hold()",
    ]
    imported = ("__init__.py", "runtime/__init__.py", "runtime/signals.py")
    early = {str(START.parent / name): 10**6 for name in imported}
    return {**early, str(START): start[1].lineno, str(module): main[2].end_lineno or 0}


FIRST = first_statements()


def is_ours(errors: str) -> bool:
    """Whether a traceback tells of our code: more than that it was about to begin."""
    frames = re.findall(r'File "([^"]*touba_cli[^"]*)", line (\d+)', errors)
    return any(int(line) > FIRST.get(file, -1) for file, line in frames)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.write("app.tb", PROGRAM)
    return made


def start(project: Project, *words: str) -> subprocess.Popen[bytes]:
    pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(words, cwd=project.folder, env=environment({"PYTHONPATH": str(ROOT)}), **pipes)


def check_end(project: Project, name: str, code: int, output: bytes, errors: str) -> None:
    """Whatever the moment was."""
    left = sorted(path.name for path in project.folder.iterdir() if path.name not in ("app.tb", "app.air.json"))
    assert left == []
    assert code in {CANCELLED, *COMMANDS[name][1]}, errors
    if name == "run":
        assert json.loads(output)["exit_code"] == code
        assert output.count(b"\n") == 1
    elif code == CANCELLED and output:
        assert output.endswith(b"\n")  # it came when all had been said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_signal_at_any_moment(project: Project, name: str, number: signal.Signals) -> None:
    moments = random.Random(f"{name} {number}")
    for way in WAYS:
        for _ in range(MOMENTS):
            process = start(project, *WAYS[way], *COMMANDS[name][0])
            time.sleep(moments.random() * (0.5 if name == "doctor" else 0.1))
            process.send_signal(number)
            output, said = process.communicate(timeout=30)
            errors = said.decode("utf-8", "replace")
            assert not ("Traceback" in errors and is_ours(errors)), errors
            if process.returncode == -number or "KeyboardInterrupt" in errors:
                assert output == b"", "it had begun"
                continue
            check_end(project, name, process.returncode, output, errors)


#: started with both signals blocked, becomes a command that finds them waiting
WAITING = """\
import os, signal, sys
for number in (signal.SIGINT, signal.SIGTERM):
    os.kill(os.getpid(), number)
os.execv(sys.argv[1], sys.argv[1:])
"""

#: sends both signals to a process until it is gone
STORM = """\
import os, signal, sys, time
try:
    while True:
        os.kill(int(sys.argv[1]), signal.SIGINT)
        os.kill(int(sys.argv[1]), signal.SIGTERM)
        time.sleep(0.0003)
except ProcessLookupError:
    pass
"""


@pytest.mark.parametrize("name", COMMANDS)
def test_a_storm_of_signals_from_the_first_moment_on(project: Project, name: str) -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        process = start(project, sys.executable, "-IS", "-c", WAITING, *WAYS["engine"], *COMMANDS[name][0])
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    storm = subprocess.Popen([sys.executable, "-IS", "-c", STORM, str(process.pid)])
    output, errors = process.communicate(timeout=30)
    storm.wait(30)
    assert errors == b""
    check_end(project, name, process.returncode, output, "")
    assert process.returncode == CANCELLED


def test_a_compilation_that_is_interrupted_leaves_no_file(project: Project) -> None:
    body = "".join(
        f"function F{n}\n    takes n as Int\n    gives Int\n    do\n        give n\n\n" for n in range(9_000)
    )
    project.write("app.tb", f"module app\n\n{body}")
    process = start(project, *WAYS["engine"], *COMMANDS["compile"][0])
    time.sleep(0.4)
    process.terminate()
    output, errors = process.communicate(timeout=30)
    assert (process.returncode, output, errors) == (CANCELLED, b"", b"")
    assert [path.name for path in project.folder.iterdir()] == ["app.tb"]
