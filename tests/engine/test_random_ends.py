"""Ends at random moments: the application or the runtime is killed, the caller gives up, whatever handlers do meanwhile.

A few in every run of the tests, and hundreds with ``make soak``.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from tests.engine.life_kit import ANSWER, DAEMON, DEAF, GRANDCHILD, READY, SDK, SERVE, SLEEP, Place
from tests.engine.support import wait_for
from touba_sdk import AsyncToubaEngine, ToubaEngine, ToubaEngineError
from touba_sdk.engine.child import SelectorChild

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes through /proc")

IS_SOAK = os.environ.get("HYPOTHESIS_PROFILE") == "soak"
KILLS = 50 if IS_SOAK else 1
CANCELLATIONS = 100 if IS_SOAK else 3

#: a script reads its request first; there is none where the runtime was killed in the moment that it was started
ASKED = "if not sys.stdin.read():\n    sys.exit(1)\n"
#: a chain of processes in the handler's group, each of which ignores SIGTERM and holds all pipes
FORKS = "for _ in range(4):\n    if os.fork() == 0:\n        break\n"

#: what a handler may do; every one of them is killed in the middle of it
KINDS: dict[str, str] = {
    "answers": READY + ANSWER,
    "serves with the SDK": SDK + DEAF + SERVE,
    "is deaf": ASKED + DEAF + READY + SLEEP,
    "forks": ASKED + DEAF + FORKS + READY + SLEEP,
    "holds pipes": ASKED + GRANDCHILD.replace("SESSION", "False") + READY + SLEEP,
    "holds pipes elsewhere": ASKED + GRANDCHILD.replace("SESSION", "True") + READY + SLEEP,
    "is a daemon": ASKED + DAEMON + READY + SLEEP,
}
#: of these something may live on where the runtime is killed within a second after it was born
STRAYING = ("holds pipes elsewhere", "is a daemon")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    made.clean_up()


def prepare(place: Place, kind: str) -> None:
    for name in ("ready", "born"):
        (place.folder / name).unlink(missing_ok=True)
    place.write("handler.py", "import json, os, signal, sys, time\n" + KINDS[kind])


@pytest.mark.parametrize("kind", KINDS)
def test_the_application_is_killed_and_sometimes_the_runtime_at_once(place: Place, kind: str) -> None:
    moments = random.Random(kind)
    for _ in range(KILLS):
        prepare(place, kind)
        host = place.start("strategy:app/Call")
        place.wait_for_runtime()
        time.sleep(moments.random() * 0.4)
        runtime = place.runtime()
        place.kill(host)
        if runtime is not None and kind not in STRAYING and moments.random() < 0.5:
            time.sleep(moments.random() * 0.02)
            with contextlib.suppress(ProcessLookupError):
                os.kill(runtime, signal.SIGKILL)
        place.assert_gone(time.monotonic())


@pytest.mark.parametrize("kind", KINDS)
def test_the_runtime_is_killed(place: Place, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The application lives on and is told; that nothing is left in it is seen by the fixture of all these tests."""
    moments = random.Random(kind)
    started: list[int] = []
    attach = SelectorChild._attach

    def attach_and_tell(child: SelectorChild, request: bytes, hold_input: bool) -> None:
        started.append(child.pid)
        attach(child, request, hold_input)

    monkeypatch.setattr(SelectorChild, "_attach", attach_and_tell)
    for _ in range(KILLS):
        prepare(place, kind)
        killed: list[float] = []
        moment = moments.random() * 0.4

        def kill(moment: float = moment, killed: list[float] = killed) -> None:
            wait_for(lambda: bool(started), "the runtime")
            if kind in STRAYING:
                place.wait_until_ready()
                time.sleep(1.1)
            time.sleep(moment)
            if os.path.exists(f"/proc/{started[0]}"):
                os.kill(started[0], signal.SIGKILL)
            killed.append(time.monotonic())

        killer = threading.Thread(target=kill)
        killer.start()
        with ToubaEngine(project_root=place.folder) as engine:
            try:
                engine.run("app.tb", entry_ref="strategy:app/Call", manifest="manifest.json", inputs={"size": 10})
                assert kind == "answers"
            except ToubaEngineError as error:
                assert (error.code, error.details.signal) == ("RuntimeCrashed", "SIGKILL")  # noqa: PT017
        killer.join()
        place.assert_gone(killed[0])
        started.clear()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_the_caller_gives_up(place: Place, backend: str) -> None:
    moments = random.Random(backend)

    async def main() -> None:
        async with AsyncToubaEngine(project_root=place.folder) as engine:
            for _ in range(CANCELLATIONS):
                kind = moments.choice([*KINDS, "compile"])
                prepare(place, kind if kind in KINDS else "answers")
                with anyio.move_on_after(moments.random() * 0.3):
                    if kind == "compile":
                        await engine.compile("app.tb")
                    else:
                        await engine.run(
                            "app.tb", entry_ref="strategy:app/Call", manifest="manifest.json", inputs={"size": 10}
                        )
                assert place.processes() == {}, kind

    anyio.run(main, backend=backend)


def test_a_task_is_cancelled_again_and_again(place: Place) -> None:
    """asyncio's own cancellation, which reaches a task however it is shielded."""
    moments = random.Random(3)

    async def main() -> None:
        async with AsyncToubaEngine(project_root=place.folder) as engine:
            for _ in range(CANCELLATIONS):
                prepare(place, moments.choice(list(KINDS)))
                call = engine.run(
                    "app.tb", entry_ref="strategy:app/Call", manifest="manifest.json", inputs={"size": 10}
                )
                task = asyncio.ensure_future(call)
                for _ in range(3):
                    await asyncio.sleep(moments.random() * 0.15)
                    task.cancel()
                await asyncio.wait([task])
                assert task.cancelled() or task.result().status == "success"
                assert place.processes() == {}

    asyncio.run(main())
