"""Where, with what and in which place a runtime is started: scenarios 15 to 17, 24 and 26 of the robustness study.

Threads, forks and loops of other kinds are in `test_contexts.py`.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import multiprocessing
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.engine.support import Driver, Fake, envelope, out, scenario
from touba_sdk import AsyncToubaEngine, ToubaEngine
from touba_sdk.engine.child import SelectorChild
from touba_sdk.errors import LaunchError, ToubaEngineError, UsageError

Make = Callable[..., Fake]

READ = {"do": "read_line"}


# --- 15: odd places ---------------------------------------------------------------------------------------------------


def _run(project: str, path: str) -> str:
    with ToubaEngine(project_root=project, cli_path=path) as engine:
        return engine.run("program.tb").status


def test_scenario_15_sync_engine_in_the_workers_of_a_spawn_pool(fake: Make, nothing_left: list[int]) -> None:
    runtime = fake(READ, out(envelope()))
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        calls = [pool.submit(_run, str(runtime.project), str(runtime.path)) for _ in range(6)]
        assert [call.result(60) for call in calls] == ["success"] * 6
        nothing_left += list(pool._processes)
    _end_resource_tracker()


def _end_resource_tracker() -> None:
    """The standard library's pools start a process that outlives them; it counts as left behind here."""
    from multiprocessing import resource_tracker

    resource_tracker._resource_tracker._stop()


# --- 16: limits of exec -----------------------------------------------------------------------------------------------

ODD = "-- two  blanks 'quotes\" %PATH% $HOME `id`\nsecond line 😀 \\"


def test_scenario_16_limits_of_exec_odd_values_arrive_unchanged(driver: Driver, tmp_path: Path) -> None:
    folder = tmp_path / ODD
    folder.mkdir()
    runtime = Fake(folder, scenario("16_limits_of_exec"))
    driver.run(runtime, manifest=ODD, secrets="--json", trace_out=f"{folder}/trace", inputs={ODD: ODD})
    record = runtime.record
    assert {f"--manifest={ODD}", "--secrets=--json", f"--trace-out={folder}/trace"} <= set(record["argv"])
    assert record["cwd"] == str(runtime.project)


@pytest.mark.parametrize(
    ("value", "said"),
    [("x" * 200_000, "200000 characters"), ("a\0b", "NUL"), ("a\ud800", "no path"), ("ä" * 32_001, "32001 characters")],
)
def test_scenario_16_limits_of_exec_what_no_system_takes_is_refused(
    driver: Driver, fake: Make, value: str, said: str
) -> None:
    runtime = fake("16_limits_of_exec")
    with pytest.raises(UsageError) as raised:
        driver.run(runtime, manifest=value)
    assert (raised.value.code, said in raised.value.message) == ("OptionInvalid", True)
    assert "`manifest`" in raised.value.message
    assert runtime.pids() == []


def test_scenario_16_limits_of_exec_the_longest_values_fit(driver: Driver, fake: Make) -> None:
    long = "😀" * 32_000  # four bytes each: just below what one argument may have
    runtime = fake("16_limits_of_exec")
    driver.run(runtime, manifest=long)
    assert f"--manifest={long}" in runtime.record["argv"]


# --- 17: it cannot be started -----------------------------------------------------------------------------------------

#: the head of a program for a machine that is none: ELF, 64 bits, little-endian, executable, machine 0xfffe
FOREIGN_PROGRAM = b"\x7fELF\x02\x01\x01" + b"\0" * 9 + b"\x02\0\xfe\xff\x01\0\0\0" + b"\0" * 40


def test_scenario_17_spawn_failures_are_told_apart(driver: Driver, fake: Make) -> None:
    runtime = fake(READ, out(envelope()))

    def write(name: str, content: bytes, mode: int = 0o755) -> Path:
        path = runtime.folder / name
        path.write_bytes(content)
        path.chmod(mode)
        return path

    plain = write("plain", b"no program", 0o644)

    def attempt(**options: Any) -> ToubaEngineError:
        with pytest.raises(ToubaEngineError) as raised:
            driver.call("run", "program.tb", engine={**runtime.options(), **options})
        return raised.value

    found = attempt(project_root=runtime.folder / "gone")
    assert (type(found), found.code) == (UsageError, "FileUnreadable")
    assert f"`{runtime.folder / 'gone'}`, which does not exist" in found.message
    assert "is no folder" in attempt(project_root=plain).message
    for path, reason in (
        (runtime.folder / "gone" / "touba", f"the folder `{runtime.folder / 'gone'}` does not exist"),
        (runtime.folder / "gone", "the folder is there, but has no file `gone`"),
        (runtime.folder, "it is a folder"),
        (plain, "it may not be executed"),
    ):
        found = attempt(cli_path=path)
        assert (type(found), found.code) == (LaunchError, "RuntimeNotFound")
        assert f"`{path}`: {reason}" in found.message
    for path, reason in (
        (write("script", b"#!/nowhere/python\n"), "the interpreter that its first line names does not exist"),
        (write("empty", b"no first line\n"), "it is no program of this system"),
        (write("foreign", FOREIGN_PROGRAM), "it is no program of this system"),
    ):
        found = attempt(cli_path=path)
        assert (type(found), found.code) == (LaunchError, "RuntimeNotStarted")
        assert f"`{path}` could not be started: {reason}" in found.message
    found = attempt(env={"BIG": "x" * (1 << 20)})
    assert (found.code, "environment is too large" in found.message) == ("RuntimeNotStarted", True)


def test_scenario_17_spawn_failures_a_busy_file_is_tried_again(
    driver: Driver, fake: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A script that is being written can be started; only its interpreter is checked. So a copy of one is kept busy.
    runtime = fake(READ, out(envelope()))
    busy = runtime.folder / "interpreter"
    shutil.copy(os.path.realpath("/bin/sh"), busy)
    writer = os.open(busy, os.O_WRONLY)
    seen: list[float] = []

    def release(seconds: float) -> None:
        seen.append(seconds)
        os.close(writer)

    async def release_async(seconds: float) -> None:
        release(seconds)

    monkeypatch.setattr("touba_sdk.engine.sync.time.sleep", release)
    monkeypatch.setattr("touba_sdk.engine.aio.anyio.sleep", release_async)
    with pytest.raises(ToubaEngineError) as raised:
        driver.call("run", "program.tb", engine={**runtime.options(), "cli_path": busy})
    assert len(seen) == 1
    # a shell is no runtime, but it was started
    assert raised.value.code in ("RuntimeCrashed", "InvalidEnvelope")


def test_scenario_17_spawn_failures_a_file_that_stays_busy(
    driver: Driver, fake: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("sync", "aio"):
        monkeypatch.setattr(f"touba_sdk.engine.{place}.BUSY_PAUSE", 0.001)
    runtime = fake(READ, out(envelope()))
    busy = runtime.folder / "interpreter"
    shutil.copy(os.path.realpath("/bin/sh"), busy)
    writer = os.open(busy, os.O_WRONLY)
    with pytest.raises(LaunchError) as raised:
        driver.call("run", "program.tb", engine={**runtime.options(), "cli_path": busy})
    os.close(writer)
    assert (raised.value.code, "being written" in raised.value.message) == ("RuntimeNotStarted", True)


# --- 24: nobody closes ------------------------------------------------------------------------------------------------

UNCLOSED = """
import os, sys, threading, time
from touba_sdk import ToubaEngine
engine = ToubaEngine(project_root=sys.argv[1], cli_path=sys.argv[2])
threading.Thread(target=engine.run, args=("program.tb",), daemon=True).start()
while not os.path.exists(sys.argv[3]):
    time.sleep(0.01)
"""


def test_scenario_24_unclosed_client(fake: Make, repository: Path) -> None:
    runtime = fake("24_unclosed")
    words = [sys.executable, "-X", "dev", "-W", "error", "-c", UNCLOSED, str(runtime.project), str(runtime.path)]
    started = time.monotonic()
    done = subprocess.run(
        [*words, str(runtime.folder / "ready")], cwd=repository, capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert time.monotonic() - started < 10
    runtime.wait_until("saved")  # its input ended with the application


def test_scenario_24_unclosed_client_that_is_not_finished(fake: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = fake("10_stubborn")
    started: list[int] = []

    def fail(pid: int) -> int:
        started.append(pid)
        raise MemoryError

    monkeypatch.setattr("touba_sdk.engine.child._open_exit_descriptor", fail)
    with pytest.raises(MemoryError):
        SelectorChild([str(runtime.path)], folder="/", env={}, request=b"{}\n", hold_input=True, cap=10)
    assert not os.path.exists(f"/proc/{started[0]}")


# --- 26: loops --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("debug", [False, True])
def test_scenario_26_a_loop_that_is_closed_right_after_the_call(
    fake: Make, debug: bool, recwarn: pytest.WarningsRecorder
) -> None:
    runtime = fake(READ, out(envelope()))
    loop = asyncio.new_event_loop()
    loop.set_debug(debug)
    complaints: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _, context: complaints.append(context))
    run = loop.run_until_complete(AsyncToubaEngine(**runtime.options()).run("program.tb"))
    loop.close()
    assert run.status == "success"
    assert (complaints, [str(each.message) for each in recwarn]) == ([], [])
