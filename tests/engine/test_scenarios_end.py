"""How a call ends, and who ends it: scenarios 9 to 13 of the robustness study, under our names and limits.

Scenario 14, the application that is killed, is in `test_life_line.py`.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
import trio

from tests.engine.support import Driver, Fake, alive, cases, envelope, out, wait_for
from touba_cli.limits import LINGER_MS
from touba_sdk import AsyncToubaEngine
from touba_sdk.errors import ToubaEngineError

Make = Callable[..., Fake]

READ = {"do": "read_line"}
#: the grace of a runtime that hangs anyway, and the one before a signal
SHORT = {"RUNTIME_CANCEL_MS": 300, "RUNTIME_TERMINATE_MS": 200}


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Shorten the graces, where a runtime hangs anyway."""

    def shorten() -> None:
        for name, milliseconds in SHORT.items():
            monkeypatch.setattr(f"touba_sdk.engine.process.{name}", milliseconds)

    return shorten


@pytest.fixture
def cancel() -> threading.Event:
    """An event that is set already."""
    event = threading.Event()
    event.set()
    return event


async def ready(runtime: Fake) -> None:
    """Wait for a file of another process: there is no event to wait for."""
    while not runtime.has("ready"):  # noqa: ASYNC110
        await anyio.sleep(0.005)


# --- 9: a grandchild holds the pipes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["in its group", "in a session of its own", "without an envelope"])
def test_scenario_09_grandchild_holds_the_pipes(driver: Driver, fake: Make, case: str) -> None:
    runtime = fake("09_grandchild_holds_the_pipes", case)
    started = time.monotonic()
    if case == "without an envelope":
        with pytest.raises(ToubaEngineError) as raised:
            driver.run(runtime)
        assert raised.value.code == "InvalidEnvelope"
    else:
        assert driver.run(runtime).status == "success"
    assert LINGER_MS / 1000 < time.monotonic() - started < 10
    grandchild = runtime.pids()[1]
    if case == "in a session of its own":
        # It has left the group: nobody may end it but its maker.
        assert alive(grandchild)
        os.kill(grandchild, signal.SIGKILL)


def test_scenario_09_grandchild_holds_the_pipes_past_the_deadline(
    driver: Driver, fake: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("touba_sdk.engine.process.DEADLINE_SLACK_MS", 100)
    with pytest.raises(ToubaEngineError) as raised:
        driver.run(fake("09_grandchild_holds_the_pipes", "past its deadline"), run_limits={"deadline_ms": 400})
    assert (raised.value.code, raised.value.details.signal) == ("RuntimeUnresponsive", "SIGKILL")


# --- 10 and 11: stubborn, and slow but good ---------------------------------------------------------------------------


def test_scenario_10_stubborn_child(
    driver: Driver, fake: Make, hurry: Callable[[], None], cancel: threading.Event
) -> None:
    hurry()
    started = time.monotonic()
    with pytest.raises(ToubaEngineError) as raised:
        driver.run(fake("10_stubborn"), cancel=cancel)
    assert (raised.value.code, raised.value.details.signal) == ("RuntimeUnresponsive", "SIGKILL")
    assert time.monotonic() - started < sum(SHORT.values()) / 1000 + 5


@pytest.mark.parametrize("case", cases("11_slow_but_good"))
def test_scenario_11_slow_but_good_child(
    driver: Driver, fake: Make, cancel: threading.Event, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    if case == "at SIGTERM":
        monkeypatch.setattr("touba_sdk.engine.process.RUNTIME_CANCEL_MS", 300)
    runtime = fake("11_slow_but_good", case)
    run = driver.run(runtime, cancel=cancel)
    assert (run.status, run.reason, run.exit_code, run.result) == ("cancelled", "cancelled", 130, None)
    assert len(run.messages[0].text) == 200_000
    assert runtime.has("saved")


# --- 12: cancel -------------------------------------------------------------------------------------------------------

#: stages at which the runtime ends by itself when it is asked to
ENDS_WELL = ("while it is written to", "while it works", "while it answers")


def big(stage: str) -> dict[str, Any]:
    return {"inputs": {"big": "x" * (1 << 20)}} if "written" in stage else {}


@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("stage", cases("12_cancel"))
def test_scenario_12_cancel_a_task(
    fake: Make, hurry: Callable[[], None], stage: str, times: int, recwarn: pytest.WarningsRecorder
) -> None:
    if stage not in ENDS_WELL:
        hurry()
    runtime = fake("12_cancel", stage)
    complaints: list[dict[str, Any]] = []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(context))
        engine = AsyncToubaEngine(**runtime.options())
        task = asyncio.create_task(engine.run("program.tb", **big(stage)))
        await ready(runtime)
        runtime.touch("go")
        for _ in range(times):
            task.cancel()
            await asyncio.sleep(0.02)
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(main(), debug=True)
    assert runtime.has("saved") == (stage in ENDS_WELL)
    assert complaints == []
    assert [str(each.message) for each in recwarn] == []


@pytest.mark.parametrize("stage", cases("12_cancel"))
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_scenario_12_cancel_a_scope(fake: Make, hurry: Callable[[], None], stage: str, backend: str) -> None:
    if stage not in ENDS_WELL:
        hurry()
    runtime = fake("12_cancel", stage)
    ended: list[bool] = []

    async def main() -> None:
        engine = AsyncToubaEngine(**runtime.options())

        async def work() -> None:
            try:
                await engine.run("program.tb", **big(stage))
            finally:
                ended.append(runtime.has("saved"))

        async with anyio.create_task_group() as group:
            group.start_soon(work)
            await ready(runtime)
            runtime.touch("go")
            group.cancel_scope.cancel()

    anyio.run(main, backend=backend)
    assert ended == [stage in ENDS_WELL]


@pytest.mark.parametrize("turns", range(6))
def test_scenario_12_cancel_before_and_around_the_start(fake: Make, turns: int) -> None:
    runtime = fake("12_cancel", "while it works")

    async def main() -> None:
        task = asyncio.create_task(AsyncToubaEngine(**runtime.options()).run("program.tb"))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert len(runtime.pids()) <= 1
    assert turns > 1 or runtime.pids() == []  # who is cancelled already starts nothing


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_scenario_12_cancel_while_the_file_of_the_runtime_is_busy(fake: Make, backend: str) -> None:
    runtime = fake(READ, out(envelope()))
    busy = runtime.folder / "busy"
    busy.write_bytes(Path(os.path.realpath("/bin/sh")).read_bytes())
    busy.chmod(0o755)
    writer = os.open(busy, os.O_WRONLY)

    async def main() -> None:
        engine = AsyncToubaEngine(**{**runtime.options(), "cli_path": busy})
        with anyio.move_on_after(0.25) as scope:
            await engine.run("program.tb")
        assert scope.cancelled_caught

    try:
        anyio.run(main, backend=backend)
    finally:
        os.close(writer)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_scenario_12_cancel_a_scope_that_is_cancelled_already(fake: Make, backend: str) -> None:
    runtime = fake("12_cancel", "while it works")

    async def main() -> None:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await AsyncToubaEngine(**runtime.options()).run("program.tb")
        assert scope.cancelled_caught

    anyio.run(main, backend=backend)
    assert runtime.pids() == []


def test_scenario_12_cancel_by_timeouts(fake: Make) -> None:
    runtimes = [fake("12_cancel", "while it works") for _ in range(3)]

    async def with_asyncio() -> None:
        async with asyncio.timeout(0.3):
            await AsyncToubaEngine(**runtimes[0].options()).run("program.tb")

    async def with_wait_for() -> None:
        await asyncio.wait_for(AsyncToubaEngine(**runtimes[1].options()).run("program.tb"), 0.3)

    async def with_trio() -> None:
        with trio.fail_after(0.3):
            await AsyncToubaEngine(**runtimes[2].options()).run("program.tb")

    with pytest.raises(TimeoutError):
        asyncio.run(with_asyncio())
    with pytest.raises(TimeoutError):
        asyncio.run(with_wait_for())
    with pytest.raises(trio.TooSlowError):
        trio.run(with_trio)


@pytest.mark.parametrize("cancelled_before", [False, True])
def test_scenario_12_cancel_by_the_end_of_the_loop(
    fake: Make, hurry: Callable[[], None], cancelled_before: bool
) -> None:
    hurry()
    runtime = fake("12_cancel", "when it hangs")
    kept: list[asyncio.Task[Any]] = []

    async def main() -> None:
        kept.append(asyncio.create_task(AsyncToubaEngine(**runtime.options()).run("program.tb")))
        await ready(runtime)
        if cancelled_before:
            kept[0].cancel()
            await asyncio.sleep(0.05)  # it stops the process now; the end of the loop cancels that, too

    asyncio.run(main())
    assert kept[0].cancelled()


# --- 13: Ctrl-C -------------------------------------------------------------------------------------------------------

HOST = """
import sys
from touba_sdk import ToubaEngine
engine = ToubaEngine(project_root=sys.argv[1], cli_path=sys.argv[2])
try:
    engine.run("program.tb")
except KeyboardInterrupt:
    print("interrupted", flush=True)
    raise
"""

ASYNC_HOST = """
import sys, anyio
from touba_sdk import AsyncToubaEngine
async def main():
    await AsyncToubaEngine(project_root=sys.argv[1], cli_path=sys.argv[2]).run("program.tb")
try:
    anyio.run(main, backend="{backend}")
except KeyboardInterrupt:
    print("interrupted", flush=True)
    raise
"""

HOSTS = {
    "sync": HOST,
    "asyncio": ASYNC_HOST.format(backend="asyncio"),
    "trio": ASYNC_HOST.format(backend="trio"),
}


class Application:
    """A process that is in a call of an engine."""

    def __init__(self, code: str, runtime: Fake, repository: Path):
        words = [sys.executable, "-c", code, str(runtime.project), str(runtime.path)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(words, cwd=repository, start_new_session=True, **pipes)  # type: ignore[call-overload]
        runtime.wait_until("ready")

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def end(self) -> tuple[str, str]:
        try:
            output, errors = self.process.communicate(timeout=30)
        finally:
            self.process.kill()
            self.process.communicate()
        return output.decode(), errors.decode()


@pytest.mark.parametrize("kind", HOSTS)
def test_scenario_13_keyboard_interrupt_once(fake: Make, repository: Path, kind: str) -> None:
    runtime = fake("13_interrupt", "once")
    host = Application(HOSTS[kind], runtime, repository)
    host.interrupt()
    output, errors = host.end()
    assert output == "interrupted\n"
    assert "KeyboardInterrupt" in errors
    assert host.process.returncode == -signal.SIGINT
    assert runtime.has("saved")


def test_scenario_13_keyboard_interrupt_twice(fake: Make, repository: Path) -> None:
    runtime = fake("13_interrupt", "again")
    host = Application(HOST, runtime, repository)
    host.interrupt()
    time.sleep(0.3)
    host.interrupt()
    started = time.monotonic()
    output, errors = host.end()
    assert output == "interrupted\n"
    assert "KeyboardInterrupt" in errors
    assert host.process.returncode == -signal.SIGINT
    assert time.monotonic() - started < 4  # not the two graces, which take five seconds


@pytest.mark.parametrize("kind", ["sync", "asyncio"])
def test_scenario_13_keyboard_interrupt_again_and_again(fake: Make, repository: Path, kind: str) -> None:
    runtime = fake("13_interrupt", "again")
    host = Application(HOSTS[kind], runtime, repository)
    for _ in range(200):
        if host.process.poll() is not None:
            break
        host.interrupt()
        time.sleep(0.005)
    host.end()
    assert host.process.returncode not in (0, None)
    wait_for(lambda: not any(alive(pid) for pid in runtime.pids()), "the end of the runtime", 5)
