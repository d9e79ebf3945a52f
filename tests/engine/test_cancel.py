"""Giving up on a run: the `cancel` event, cancelled tasks and scopes, Ctrl-C. The process always ends first."""

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

from tests.engine.support import CANCELLED, Driver, Fake, envelope, out, wait_for
from touba_sdk import AsyncToubaEngine, ToubaEngine
from touba_sdk.errors import ToubaEngineError

Make = Callable[..., Fake]

READ = {"do": "read_line"}
READY = {"do": "touch", "name": "ready"}
ENDS_WELL = ({"do": "wait_for_end"}, {"do": "touch", "name": "saved"}, out(CANCELLED), {"do": "exit", "code": 130})
SLEEP = {"do": "sleep", "seconds": 60}

#: what the runtime is doing when the call is given up, and whether it ends by itself then
STAGES: dict[str, tuple[tuple[dict[str, Any], ...], bool]] = {
    "while it is written to": ((READY, {"do": "wait_file", "name": "go"}, {"do": "read_all"}, *ENDS_WELL), True),
    "while it works": ((READ, READY, *ENDS_WELL), True),
    "when it has answered": ((READ, out(envelope()), READY, {"do": "wait_for_end"}), False),
    "when it hangs": ((READ, READY, {"do": "ignore_term"}, SLEEP), False),
}


async def ready(runtime: Fake) -> None:
    """Wait for a file of another process: there is no event to wait for."""
    while not runtime.has("ready"):  # noqa: ASYNC110
        await anyio.sleep(0.005)


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Shorten the graces, where a runtime hangs anyway."""

    def shorten() -> None:
        monkeypatch.setattr("touba_sdk.engine.process.RUNTIME_CANCEL_MS", 300)
        monkeypatch.setattr("touba_sdk.engine.process.RUNTIME_TERMINATE_MS", 200)

    return shorten


def big(stage: str) -> dict[str, Any]:
    return {"inputs": {"big": "x" * (1 << 20)}} if "written" in stage else {}


def test_the_event_gives_a_cancelled_result(driver: Driver, fake: Make) -> None:
    cancel = threading.Event()
    runtime = fake(READ, READY, *ENDS_WELL)

    def give_up() -> None:
        runtime.wait_until("ready")
        cancel.set()

    setter = threading.Thread(target=give_up)
    setter.start()
    run = driver.run(runtime, cancel=cancel)
    setter.join()
    assert (run.status, run.reason, run.exit_code) == ("cancelled", "cancelled", 130)
    assert runtime.has("saved")


def test_a_result_that_comes_all_the_same_is_given(driver: Driver, fake: Make) -> None:
    cancel = threading.Event()
    cancel.set()
    assert driver.run(fake(READ, {"do": "wait_for_end"}, out(envelope())), cancel=cancel).status == "success"


def test_the_event_set_before_the_request_is_written_does_not_cut_it(driver: Driver, fake: Make) -> None:
    cancel = threading.Event()
    cancel.set()
    runtime = fake({"do": "err", "text": "e" * 100_000}, {"do": "read_all"}, *ENDS_WELL)
    run = driver.run(runtime, cancel=cancel, inputs={"big": "x" * (1 << 20)})
    assert run.status == "cancelled"
    assert runtime.request.endswith(b"}}\n")


def test_a_runtime_that_ignores_the_event_is_killed(driver: Driver, fake: Make, hurry: Callable[[], None]) -> None:
    hurry()
    cancel = threading.Event()
    cancel.set()
    runtime = fake(READ, {"do": "ignore_term"}, {"do": "grandchild", "seconds": 60, "ignore_term": True}, SLEEP)
    with pytest.raises(ToubaEngineError) as raised:
        driver.run(runtime, cancel=cancel)
    assert (raised.value.code, raised.value.details.signal) == ("RuntimeUnresponsive", "SIGKILL")


def test_a_runtime_that_listens_to_the_signal_only_gives_its_result(
    driver: Driver, fake: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("touba_sdk.engine.process.RUNTIME_CANCEL_MS", 300)
    cancel = threading.Event()
    cancel.set()
    answers = {"do": "on_term", "steps": [out(CANCELLED), {"do": "exit", "code": 130}]}
    assert driver.run(fake(READ, answers, SLEEP), cancel=cancel).status == "cancelled"


@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("stage", STAGES)
def test_a_cancelled_asyncio_task_ends_the_process_first(
    fake: Make, hurry: Callable[[], None], stage: str, times: int, recwarn: pytest.WarningsRecorder
) -> None:
    steps, ends_well = STAGES[stage]
    if not ends_well:
        hurry()
    runtime = fake(*steps)
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
    assert runtime.has("saved") == ends_well
    assert complaints == []
    assert [str(each.message) for each in recwarn] == []


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_cancelled_scope_ends_the_process_first(
    fake: Make, hurry: Callable[[], None], stage: str, backend: str
) -> None:
    steps, ends_well = STAGES[stage]
    if not ends_well:
        hurry()
    runtime = fake(*steps)
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
    assert ended == [ends_well]


def test_timeouts_of_asyncio_and_trio(fake: Make) -> None:
    runtimes = [fake(READ, READY, *ENDS_WELL) for _ in range(3)]

    async def with_asyncio() -> None:
        async with asyncio.timeout(0.5):
            await AsyncToubaEngine(**runtimes[0].options()).run("program.tb")

    async def with_wait_for() -> None:
        await asyncio.wait_for(AsyncToubaEngine(**runtimes[1].options()).run("program.tb"), 0.5)

    async def with_trio() -> None:
        with trio.fail_after(0.5):
            await AsyncToubaEngine(**runtimes[2].options()).run("program.tb")

    with pytest.raises(TimeoutError):
        asyncio.run(with_asyncio())
    with pytest.raises(TimeoutError):
        asyncio.run(with_wait_for())
    with pytest.raises(trio.TooSlowError):
        trio.run(with_trio)


@pytest.mark.parametrize("cancelled_before", [False, True])
def test_the_end_of_the_loop_ends_a_forgotten_call(
    fake: Make, hurry: Callable[[], None], cancelled_before: bool
) -> None:
    hurry()
    runtime = fake(READ, READY, {"do": "ignore_term"}, SLEEP)
    kept: list[asyncio.Task[Any]] = []

    async def main() -> None:
        kept.append(asyncio.create_task(AsyncToubaEngine(**runtime.options()).run("program.tb")))
        await ready(runtime)
        if cancelled_before:
            kept[0].cancel()
            await asyncio.sleep(0.05)  # it stops the process now; the end of the loop cancels that, too

    asyncio.run(main())
    assert kept[0].cancelled()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_who_is_cancelled_already_starts_nothing(fake: Make, backend: str) -> None:
    runtime = fake({"do": "record"}, READ, out(envelope()))

    async def main() -> None:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await AsyncToubaEngine(**runtime.options()).run("program.tb")
        assert scope.cancelled_caught

    anyio.run(main, backend=backend)
    assert runtime.pids() == []


def test_several_calls_at_once(fake: Make) -> None:
    runtime = fake(READ, out(envelope()))

    async def many(backend: str) -> None:
        engine = AsyncToubaEngine(**runtime.options())
        results: list[str] = []

        async def one() -> None:
            results.append((await engine.run("program.tb")).status)

        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(one)
        assert results == ["success"] * 8

    for backend in ("asyncio", "trio"):
        anyio.run(many, backend, backend=backend)


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


@pytest.mark.parametrize("interrupts", [1, 2])
def test_ctrl_c_ends_the_process_first(fake: Make, repository: Path, nothing_left: list[int], interrupts: int) -> None:
    steps = ENDS_WELL if interrupts == 1 else ({"do": "ignore_term"}, SLEEP)
    runtime = fake({"do": "record"}, READ, READY, *steps)
    host = subprocess.Popen(
        [sys.executable, "-c", HOST, str(runtime.project), str(runtime.path)],
        cwd=repository,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        runtime.wait_until("ready")
        host.send_signal(signal.SIGINT)
        for _ in range(interrupts - 1):
            time.sleep(0.3)
            host.send_signal(signal.SIGINT)
        started = time.monotonic()
        output, errors = host.communicate(timeout=30)
    finally:
        host.kill()
        host.communicate()
    assert output == b"interrupted\n"
    assert b"KeyboardInterrupt" in errors
    assert host.returncode == -signal.SIGINT
    assert runtime.has("saved") == (interrupts == 1)
    if interrupts == 2:
        assert time.monotonic() - started < 4  # not the two graces, which take five seconds


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_ctrl_c_in_an_event_loop(fake: Make, repository: Path, backend: str) -> None:
    runtime = fake(READ, READY, *ENDS_WELL)
    code = (
        "import sys, anyio\nfrom touba_sdk import AsyncToubaEngine\n"
        "async def main():\n"
        "    await AsyncToubaEngine(project_root=sys.argv[1], cli_path=sys.argv[2]).run('program.tb')\n"
        f"anyio.run(main, backend={backend!r})\n"
    )
    host = subprocess.Popen(
        [sys.executable, "-c", code, str(runtime.project), str(runtime.path)], cwd=repository, stderr=subprocess.PIPE
    )
    try:
        runtime.wait_until("ready")
        host.send_signal(signal.SIGINT)
        _, errors = host.communicate(timeout=30)
    finally:
        host.kill()
        host.communicate()
    assert b"KeyboardInterrupt" in errors
    assert runtime.has("saved")


def test_the_runtime_notices_a_killed_application(fake: Make, repository: Path) -> None:
    runtime = fake({"do": "record"}, READ, READY, {"do": "wait_for_end"}, {"do": "touch", "name": "saved"})
    host = subprocess.Popen([sys.executable, "-c", HOST, str(runtime.project), str(runtime.path)], cwd=repository)
    try:
        runtime.wait_until("ready")
    finally:
        host.kill()
        host.wait()
    wait_for(lambda: runtime.has("saved"), "the runtime to see the end of its input")


def test_the_blocking_engine_in_odd_places(fake: Make) -> None:
    runtime = fake(READ, out(envelope()))
    engine = ToubaEngine(**runtime.options())

    async def inside_a_loop() -> str:
        return engine.run("program.tb").status

    assert asyncio.run(inside_a_loop()) == "success"
    statuses: list[str] = []
    threads = [threading.Thread(target=lambda: statuses.append(engine.run("program.tb").status)) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == ["success"] * 16


def test_an_application_that_ignores_sigchld(driver: Driver, fake: Make) -> None:
    stopped = envelope(status="stopped", reason="stopped", exit_code=11, result=None)
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        run = driver.run(fake(READ, out(stopped), {"do": "exit", "code": 11}))
        with pytest.raises(ToubaEngineError) as raised:
            driver.run(fake(READ, {"do": "exit", "code": 11}))
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert (run.status, run.exit_code) == ("stopped", 11)
    assert (raised.value.code, raised.value.details.exit_code) == ("RuntimeCrashed", None)


def test_a_closed_engine_refuses(driver: Driver, fake: Make) -> None:
    runtime = fake(READ, out(envelope()))
    if driver.kind == "sync":
        engine = ToubaEngine(**runtime.options())
        engine.close()
        with pytest.raises(ToubaEngineError) as raised:
            engine.run("program.tb")
    else:

        async def main() -> None:
            waiting = AsyncToubaEngine(**runtime.options())
            await waiting.close()
            await waiting.run("program.tb")

        with pytest.raises(ToubaEngineError) as raised:
            anyio.run(main, backend=driver.kind)
    assert raised.value.code == "EngineClosed"


def test_an_engine_of_before_a_fork_refuses_in_the_child(fake: Make) -> None:
    engine = ToubaEngine(**fake(READ, out(envelope())).options())
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            engine.run("program.tb")
            answer = b"ran"
        except ToubaEngineError as error:
            answer = error.code.encode()
        os.write(write_end, answer)
        os._exit(0)
    os.close(write_end)
    answer = os.read(read_end, 100)
    os.close(read_end)
    assert os.waitpid(pid, 0)[1] == 0
    assert answer == b"EngineForked"
    assert engine.run("program.tb").status == "success"
