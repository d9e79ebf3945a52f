"""What reaches a terminal, and what happens where nobody reads it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.shell_kit import Project, command, environment

ODD = "a\u001b[2J\u009b1m\u007f\rb\tc\nd"
SHOWN = "a\\u{1b}[2J\\u{9b}1m\\u{7f}\\u{d}b\tc\nd"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def program(project: Project, body: str, takes: str = "    takes x as Text\n", gives: str = "Text") -> None:
    lines = "".join(f"        {line}\n" for line in body.split("\n"))
    project.write("app.tb", f"module app\n\nstrategy Main\n{takes}    gives {gives}\n    do\n{lines}")


def run(project: Project, *more: str) -> subprocess.CompletedProcess[bytes]:
    project.write("in.json", {"x": ODD})
    words = command("run", "app.tb", "--inputs=@in.json", *more)
    return subprocess.run(words, capture_output=True, cwd=project.folder, env=environment(), check=False)


@pytest.mark.parametrize(
    ("body", "stdout", "stderr"),
    [
        ('show "{x}"\ngive ""', SHOWN + "\n\n", ""),
        ("give x", SHOWN + "\n", ""),
        ('stop "{x}"', "", f"stopped: {SHOWN}\n"),
        ('fail "{x}"', "", SHOWN.replace("\n", "\n  ")),
        ('require x is "" else "{x}"\ngive x', "", SHOWN.replace("\n", "\n  ")),
    ],
    ids=["show", "give", "stop", "fail", "require"],
)
def test_control_characters_are_made_visible(project: Project, body: str, stdout: str, stderr: str) -> None:
    program(project, body)
    done = run(project)
    assert done.stdout.decode() == stdout
    assert stderr in done.stderr.decode()
    assert not any(byte in done.stdout + done.stderr for byte in (0x1B, 0x7F, 0x0D))


def test_values_inside_a_result_are_made_visible(project: Project) -> None:
    program(project, "give [x]", gives="List of Text")
    done = run(project)
    assert done.returncode == 0
    assert not any(byte in done.stdout for byte in (0x1B, 0x7F, 0x0D))
    assert b"\xc2\x9b" not in done.stdout


def test_what_a_handler_writes_is_made_visible_but_handed_on_to_an_engine_as_it_is(project: Project) -> None:
    project.handler("sys.stderr.buffer.write(b'a\\x1b[2J\\xc2\\x9b\\r\\nb\\n')", answer="failed('E', 'x\\x1by')")
    done = project.call()
    assert done.stderr == "[app/Tool] a\x1b[2J\x9b\r\n[app/Tool] b\n"
    words = command("run", "--air=app.air.json", "--manifest=manifest.json", '--inputs={"value":1}')
    text = subprocess.run(words, capture_output=True, cwd=project.folder, env=environment(), check=False)
    assert b"[app/Tool] a\\u{1b}[2J\\u{9b}\n[app/Tool] b\n" in text.stderr
    assert b"x\\u{1b}y" in text.stderr
    assert b"\x1b" not in text.stderr


FLOOD = 'repeat up to 5_000 times\n    show "{x}"\ngive ""'


def blocked(project: Project, *more: str) -> subprocess.Popen[bytes]:
    """A run that shows more than its pipe takes, which nobody reads."""
    program(project, FLOOD)
    project.write("in.json", {"x": "y" * 1000})
    words = command("run", "app.tb", "--inputs=@in.json", *more)
    return subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=project.folder, env=environment()
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_request_to_end_reaches_a_run_whose_output_nobody_reads(project: Project, number: int) -> None:
    child = blocked(project)
    time.sleep(1)
    assert child.poll() is None
    child.send_signal(number)
    assert child.wait(5) == 130
    child.communicate()


def test_a_deadline_reaches_a_run_whose_output_nobody_reads(project: Project) -> None:
    child = blocked(project, '--run-limits={"deadline_ms":500}')
    assert child.wait(10) == 5
    _, errors = child.communicate()
    assert b"DeadlineExceeded" in errors


def test_a_deadline_counts_while_a_program_is_compiled(project: Project) -> None:
    lines = "\n".join(f"let a{number} = [{number}, {number}]" for number in range(9_000))
    program(project, lines + "\ngive x")
    project.write("in.json", {"x": ""})
    started = time.monotonic()
    done = project.touba("run", "app.tb", "--inputs=@in.json", '--run-limits={"deadline_ms":200}', "--json")
    done.refused("DeadlineExceeded", 5)
    stopped_after = time.monotonic() - started
    started = time.monotonic()
    assert project.touba("check", "app.tb").code == 0  # with nothing but warnings
    assert stopped_after < time.monotonic() - started


WAYS = [["run", "app.tb", "--inputs=@in.json"], ["check", "app.tb"], ["compile", "app.tb"], ["version"], ["--help"]]


@pytest.mark.parametrize("words", [*WAYS, *([*way, "--json"] for way in WAYS[:4])], ids=" ".join)
def test_a_result_that_was_not_delivered_is_no_success(project: Project, words: list[str]) -> None:
    program(project, "give x")
    project.write("in.json", {"x": "y"})
    started = command(*words)
    assert subprocess.run(started, capture_output=True, cwd=project.folder, env=environment()).returncode == 0
    closed = ["sh", "-c", 'exec "$@" >&-', "sh", *started]
    done = subprocess.run(closed, stderr=subprocess.PIPE, cwd=project.folder, env=environment())
    assert (done.returncode, b"could not be written" in done.stderr) == (7, True)


def test_a_full_disk_is_no_success(project: Project) -> None:
    node = project.folder / "full"
    try:
        os.mknod(node, 0o666 | 0o020000, os.makedev(1, 7))
    except PermissionError:
        pytest.skip("making a device needs root")
    program(project, "give x")
    project.write("in.json", {"x": "y"})
    for more in ([], ["--json"]):
        with open(node, "wb") as full:
            words = command("run", "app.tb", "--inputs=@in.json", *more)
            done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, cwd=project.folder, env=environment())
        assert (done.returncode, b"no space left" in done.stderr) == (7, True)
