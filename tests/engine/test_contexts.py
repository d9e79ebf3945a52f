"""Wherever an application may call an engine from: event loops of all kinds, threads, forks, strict interpreters."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import subprocess
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import pytest
import trio

from touba_sdk import AsyncToubaEngine, ToubaEngine
from touba_sdk.errors import AdmissionError, UsageError

uvloop = pytest.importorskip("uvloop", reason="uvloop is for systems with an event loop of their own")

PROGRAM = """\
module app

tool Twice
    takes n as Int
    gives Int

strategy Run
    takes n as Int
    gives Int
    do
        give call Twice(n)
"""

HANDLER = """\
from touba_sdk import define_tool

@define_tool(tool_ref="tool:app/Twice")
def twice(n: int) -> int:
    return n * 2

twice.main()
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("contexts")
    (folder / "app.tb").write_text(PROGRAM, "utf-8")
    (folder / "twice.py").write_text(HANDLER, "utf-8")
    manifest = {
        "protocol": "touba-manifest-v1",
        "tools": {"tool:app/Twice": {"handler": {"kind": "process", "command": ["python", "twice.py"]}}},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    with ToubaEngine(project_root=folder) as engine:
        (folder / "app.air.json").write_text(engine.compile("app.tb").air_json, "utf-8")
    uvloop.run(asyncio.sleep(0))  # keeps a pipe of its own from the first time on
    return folder


OPTIONS: dict[str, Any] = {"air": "app.air.json", "manifest": "manifest.json"}


def blocking(project: Path, n: int) -> int:
    with ToubaEngine(project_root=project) as engine:
        value: int = engine.run(**OPTIONS, inputs={"n": n}, result_type=int).value
        return value


async def waiting(project: Path, n: int) -> int:
    async with AsyncToubaEngine(project_root=project) as engine:
        value: int = (await engine.run(**OPTIONS, inputs={"n": n}, result_type=int)).value
        return value


async def both(project: Path) -> list[int]:
    """The blocking engine inside a running loop, the other one beside it, and a failure in its place."""
    found = [blocking(project, 1), await waiting(project, 2)]
    with pytest.raises(AdmissionError):
        await waiting(project, "x")  # type: ignore[arg-type]
    with pytest.raises(AdmissionError):
        blocking(project, "x")  # type: ignore[arg-type]
    return found


def run_asyncio(work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    return asyncio.run(work())


def run_asyncio_debug(work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    return asyncio.run(work(), debug=True)


def run_uvloop(work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    return uvloop.run(work())


def run_anyio(work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    return anyio.run(work, backend="asyncio", backend_options={"use_uvloop": True})


def run_trio(work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    return trio.run(work)


LOOPS = [run_asyncio, run_asyncio_debug, run_uvloop, run_anyio, run_trio]


@pytest.mark.parametrize("loop", LOOPS)
def test_scenario_26_both_engines_inside_a_loop(project: Path, loop: Callable[..., Any]) -> None:
    assert loop(lambda: both(project)) == [2, 4]


@pytest.mark.parametrize("loop", [run_uvloop, run_trio, run_asyncio])
def test_a_call_is_cancelled_in_every_loop(project: Path, loop: Callable[..., Any]) -> None:
    async def main() -> bool:
        with anyio.move_on_after(0.02) as scope:
            await waiting(project, 1)
        return scope.cancelled_caught

    assert loop(main) is True


def test_a_raw_cancellation_under_uvloop(project: Path) -> None:
    async def main() -> None:
        task = asyncio.ensure_future(waiting(project, 1))
        await asyncio.sleep(0.02)
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task

    uvloop.run(main())


# A notebook: its cells run inside the loop of its kernel, and some start another one inside that


def nested(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine to its end inside a running loop, as notebooks do that have patched asyncio to allow it."""
    outer, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    asyncio._leave_task(outer, task)
    asyncio._set_running_loop(None)
    try:
        inner = asyncio.new_event_loop()
        try:
            return inner.run_until_complete(work)
        finally:
            inner.close()
    finally:
        asyncio._set_running_loop(outer)
        asyncio._enter_task(outer, task)


def test_scenario_15_a_notebook_with_loops_inside_loops(project: Path) -> None:
    async def cell() -> list[int]:
        found = [blocking(project, 1), nested(waiting(project, 2)), await waiting(project, 3)]
        found.append(nested(asyncio.wait_for(waiting(project, 4), 60)))
        return found

    async def kernel() -> list[int]:
        return await asyncio.ensure_future(cell())

    assert asyncio.run(kernel()) == [2, 4, 6, 8]


def test_a_loop_in_a_thread_beside_a_running_one(project: Path) -> None:
    async def main() -> list[int]:
        other = asyncio.to_thread(asyncio.run, waiting(project, 5))
        return list(await asyncio.gather(waiting(project, 6), other, asyncio.to_thread(blocking, project, 7)))

    found = asyncio.run(main())
    assert found == [12, 10, 14]


# Threads


def test_scenario_15_one_engine_serves_32_threads(project: Path) -> None:
    with ToubaEngine(project_root=project) as engine, ThreadPoolExecutor(32) as pool:
        start = threading.Barrier(32)

        def work(number: int) -> int:
            start.wait()
            value: int = engine.run(**OPTIONS, inputs={"n": number}, result_type=int).value
            return value

        assert list(pool.map(work, range(32))) == [2 * number for number in range(32)]


def test_one_engine_serves_many_tasks(project: Path) -> None:
    async def main() -> list[int]:
        found = [0] * 8
        async with AsyncToubaEngine(project_root=project) as engine, anyio.create_task_group() as group:

            async def work(number: int) -> None:
                found[number] = (await engine.run(**OPTIONS, inputs={"n": number}, result_type=int)).value

            for number in range(8):
                group.start_soon(work, number)
        return found

    for backend in ("asyncio", "trio"):
        assert anyio.run(main, backend=backend) == [0, 2, 4, 6, 8, 10, 12, 14]


# Forks


def in_a_fork(work: Callable[[], Any]) -> Any:
    """What work gives in a forked copy of this process."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # From Python 3.12 on a fork of a process that has had threads is warned of.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            answer = json.dumps(work())
        except BaseException as error:
            answer = json.dumps(f"{type(error).__name__} {getattr(error, 'code', '')} {error}")
        os.write(writing, answer.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        data = file.read()
    os.waitpid(child, 0)
    return json.loads(data)


def test_scenario_15_an_engine_of_before_the_fork_refuses_by_name_and_a_new_one_works(project: Path) -> None:
    with ToubaEngine(project_root=project) as engine:
        found = in_a_fork(lambda: engine.run(**OPTIONS, inputs={"n": 1}).value)
        assert found.startswith("UsageError EngineForked ")
        assert str(os.getpid()) in found
        assert in_a_fork(lambda: blocking(project, 8)) == 16
        assert in_a_fork(lambda: trio.run(waiting, project, 9)) == 18
        assert in_a_fork(lambda: asyncio.run(waiting(project, 10))) == 20
        assert engine.run(**OPTIONS, inputs={"n": 2}, result_type=int).value == 4


def test_the_async_engine_refuses_after_a_fork_too(project: Path) -> None:
    engine = AsyncToubaEngine(project_root=project)

    async def main() -> None:
        with pytest.raises(UsageError, match="EngineForked"):
            await engine.run(**OPTIONS, inputs={"n": 1})

    assert in_a_fork(lambda: asyncio.run(main())) is None


# Strict interpreters

STRICT = """
import asyncio, gc, sys, threading, warnings
import anyio, trio, uvloop
from touba_sdk import AsyncToubaEngine, ToubaEngine
from touba_sdk.errors import ToubaEngineError

options = dict(air="app.air.json", manifest="manifest.json")

def blocking(n):
    with ToubaEngine() as engine:
        return engine.run(**options, inputs={"n": n}, result_type=int).value

async def waiting(n):
    async with AsyncToubaEngine() as engine:
        with anyio.move_on_after(0.01):
            await engine.run(**options, inputs={"n": n})
        try:
            await engine.run(**options, inputs={"n": "x"})
        except ToubaEngineError as error:
            assert error.code == "InputInvalid"
        return (await engine.run(**options, inputs={"n": n}, result_type=int)).value

assert blocking(1) == 2
assert asyncio.run(waiting(2)) == 4
assert uvloop.run(waiting(3)) == 6
assert trio.run(waiting, 4) == 8
thread = threading.Thread(target=blocking, args=(5,))
thread.start()
thread.join()
gc.collect()
print("fine")
"""


@pytest.mark.parametrize(
    "flags",
    [
        ["-X", "dev"],
        ["-W", "error"],
        ["-X", "dev", "-W", "error"],
        ["-bb", "-X", "warn_default_encoding", "-W", "error"],
    ],
)
def test_scenario_26_strict_interpreters_have_nothing_to_say(project: Path, flags: list[str]) -> None:
    """No warning, no resource left open, nothing on standard error: under `-X dev` and asyncio's own debug mode."""
    environment = {**os.environ, "PYTHONASYNCIODEBUG": "1", "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    done = subprocess.run(
        [sys.executable, *flags, "-c", STRICT],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    said = [line for line in done.stderr.splitlines() if not line.startswith("Executing <")]  # how long a step took
    assert (done.stdout, said, done.returncode) == ("fine\n", [], 0)


def test_an_error_is_gone_when_it_is_dropped(project: Path) -> None:
    """It holds no frames, processes or pipes in a circle, which only the collector would find."""
    gc.collect()
    gc.disable()
    try:
        with ToubaEngine(project_root=project) as engine:
            try:
                engine.run(**OPTIONS, inputs={"n": "x"})
            except AdmissionError as error:
                seen = weakref.ref(error)
        assert seen() is None
    finally:
        gc.enable()
