"""The `cancel` event, and engines that are closed. Cancelled tasks and Ctrl-C are scenarios: `test_scenarios_end.py`."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable

import anyio
import pytest

from tests.engine.support import CANCELLED, Driver, Fake, envelope, out
from touba_sdk import AsyncToubaEngine, ToubaEngine
from touba_sdk.errors import ToubaEngineError

Make = Callable[..., Fake]

READ = {"do": "read_line"}
READY = {"do": "touch", "name": "ready"}
ENDS_WELL = ({"do": "wait_for_end"}, {"do": "touch", "name": "saved"}, out(CANCELLED), {"do": "exit", "code": 130})


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
