"""Who ends by force takes everything along: the application, or the runtime, is killed at every stage of a real run.

Nothing of a run may be there three seconds after its application was killed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from tests.engine.life_kit import (
    ANSWER,
    ASKING,
    DAEMON,
    DEAF,
    FOREIGN,
    GONE,
    GRANDCHILD,
    READY,
    SDK,
    SERVE,
    SLEEP,
    Place,
)
from tests.engine.support import alive, wait_for
from touba_sdk import AsyncToubaEngine, ToubaEngine
from touba_sdk.engine.child import SelectorChild

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes through /proc")

#: the process is killed between the start of the runtime and the return of the call that starts it
KILLED_WHILE_STARTING = """\
import signal, subprocess
start = subprocess._fork_exec
def start_and_die(*arguments):
    start(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)
subprocess._fork_exec = start_and_die
"""

#: what a handler does while the application is killed
HANDLERS: dict[str, str] = {
    "a handler of the SDK works": SDK + SERVE,
    "a handler works": READY + SLEEP,
    "a handler ignores SIGTERM": DEAF + READY + SLEEP,
    "a grandchild holds the pipes": GRANDCHILD.replace("SESSION", "False") + READY + SLEEP,
    "a grandchild of its own session holds the pipes": GRANDCHILD.replace("SESSION", "True") + READY + SLEEP,
    "a grandchild outlives its handler": GRANDCHILD.replace("SESSION", "True") + READY + ANSWER + SLEEP,
}


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    made.clean_up()


def kill_and_look(place: Place, host: subprocess.Popen[bytes], expected: int = 1) -> None:
    assert len(place.processes()) >= expected
    place.kill(host)
    place.assert_gone(time.monotonic())


# --- the application is killed ----------------------------------------------------------------------------------------


def test_scenario_14_before_the_start_of_the_runtime_has_returned(place: Place) -> None:
    host = place.start("strategy:app/Spin", prepare=KILLED_WHILE_STARTING)
    assert host.wait(30) == -signal.SIGKILL
    place.assert_gone(time.monotonic())


def test_scenario_14_while_the_program_is_compiled(place: Place) -> None:
    host = place.start("", program=place.write_big_program())
    place.wait_for_runtime()
    time.sleep(0.5)  # of many seconds that the compiler needs
    kill_and_look(place, host)


def test_who_cancels_while_the_program_is_compiled_gets_a_result_at_once(place: Place) -> None:
    program = place.write_big_program()
    cancel = threading.Event()
    timer = threading.Timer(0.5, cancel.set)
    timer.start()
    started = time.monotonic()
    with ToubaEngine(project_root=place.folder) as engine:
        run = engine.run(program, inputs={"size": 1}, cancel=cancel)
    assert (run.status, run.exit_code) == ("cancelled", 130)
    assert time.monotonic() - started < GONE
    timer.join()


@pytest.mark.parametrize("command", ["check", "compile"])
def test_scenario_14_while_a_program_is_looked_at(place: Place, command: str) -> None:
    host = place.start(command, program=place.write_big_program(), code=ASKING)
    place.wait_for_runtime()
    time.sleep(0.5)  # of many seconds
    kill_and_look(place, host)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_who_gives_up_a_compilation_does_not_wait_for_it(place: Place, backend: str) -> None:
    program = place.write_big_program()

    async def main() -> None:
        async with AsyncToubaEngine(project_root=place.folder) as engine:
            with anyio.move_on_after(0.5) as scope:
                await engine.compile(program)
            assert scope.cancelled_caught

    started = time.monotonic()
    anyio.run(main, backend=backend)
    assert time.monotonic() - started < GONE
    assert place.processes() == {}


def test_scenario_14_while_the_program_computes(place: Place) -> None:
    host = place.start("strategy:app/Spin")
    place.wait_for_runtime()
    time.sleep(0.5)
    kill_and_look(place, host)


@pytest.mark.parametrize("stage", HANDLERS)
def test_scenario_14_while(place: Place, stage: str) -> None:
    place.write("handler.py", "import json, os, sys, time\n" + HANDLERS[stage])
    host = place.start("strategy:app/Call")
    place.wait_until_ready()
    kill_and_look(place, host, expected=2)


@pytest.mark.parametrize("deaf", [False, True])
def test_scenario_14_while_a_foreign_command_works(place: Place, deaf: bool) -> None:
    command = FOREIGN.replace("echo", "trap '' TERM; echo") if deaf else FOREIGN
    place.write("work.sh", command).chmod(0o755)
    place.bind(["./work.sh"])
    host = place.start("strategy:app/Call")
    place.wait_until_ready()
    kill_and_look(place, host, expected=2)


def test_scenario_14_while_the_run_is_cancelled(place: Place) -> None:
    place.write("handler.py", "import json, os, sys, time\n" + DEAF + READY + SLEEP)
    host = place.start("strategy:app/Call", cancel=True)
    place.wait_until_ready()
    time.sleep(0.2)  # within the second that the handler has to end
    kill_and_look(place, host, expected=2)


def test_scenario_14_while_the_runtime_writes_its_result(place: Place) -> None:
    place.write("handler.py", "import json, os, sys, time\n" + READY + ANSWER)
    host = place.start("strategy:app/Call")
    place.wait_until_ready()
    host.send_signal(signal.SIGSTOP)  # it reads nothing from here on, so the runtime is stuck in its eighteen megabytes
    runtime = place.wait_for_runtime()
    wait_for(lambda: list(place.processes()) == [runtime], "the end of the handler")  # which has answered
    time.sleep(0.3)
    kill_and_look(place, host)


#: the application forks while it is in the call, and the copy goes on
FORKING = """\
import threading, time
def fork():
    while not os.path.exists("ready"):
        time.sleep(0.01)
    if os.fork() == 0:
        open("forked.new", "w").write(str(os.getpid()))
        os.rename("forked.new", "forked")
        time.sleep(60)
        os._exit(0)
threading.Thread(target=fork, daemon=True).start()
"""


def test_scenario_14_while_a_forked_copy_of_the_application_goes_on(place: Place) -> None:
    place.write("handler.py", "import json, os, sys, time\n" + READY + SLEEP)
    host = place.start("strategy:app/Call", prepare=FORKING)
    wait_for((place.folder / "forked").exists, "the forked copy")
    copy = int((place.folder / "forked").read_text())
    place.others.add(copy)
    kill_and_look(place, host, expected=2)
    assert alive(copy)
    os.kill(copy, signal.SIGKILL)


@pytest.mark.parametrize("milliseconds", range(0, 90, 10))
def test_scenario_14_at_any_moment(place: Place, milliseconds: int) -> None:
    place.write("handler.py", "import json, os, sys, time\n" + READY + SLEEP)
    host = place.start("strategy:app/Call")
    place.wait_for_runtime()
    time.sleep(milliseconds / 1000)
    place.kill(host)
    place.assert_gone(time.monotonic())


# --- a signal comes early ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("milliseconds", [0, 2, 5, 10, 20, 40])
def test_a_signal_in_the_first_milliseconds_of_the_runtime_cancels_the_run(
    place: Place, monkeypatch: pytest.MonkeyPatch, milliseconds: int, number: signal.Signals
) -> None:
    attach = SelectorChild._attach

    def signal_and_attach(child: SelectorChild, request: bytes, hold_input: bool) -> None:
        time.sleep(milliseconds / 1000)
        os.kill(child.pid, number)
        attach(child, request, hold_input)

    monkeypatch.setattr(SelectorChild, "_attach", signal_and_attach)
    with ToubaEngine(project_root=place.folder) as engine:
        run = engine.run("app.tb", entry_ref="strategy:app/Spin", inputs={"size": 1})
    assert (run.status, run.exit_code) == ("cancelled", 130)
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) & {signal.SIGTERM, signal.SIGINT} == set()


# --- the runtime is killed --------------------------------------------------------------------------------------------


def wait_until_it_waits(runtime: int) -> None:
    """Until the runtime waits for a handler, or computes for a while.

    The system knows the handler's group by then. A handler can be ready sooner, by a few milliseconds: that is one of the
    gaps that `docs/architecture.md` lists.
    """
    until = time.monotonic() + 0.5
    while time.monotonic() < until and Path(f"/proc/{runtime}/stat").read_text("utf-8").rpartition(")")[2][1] != "S":
        time.sleep(0.005)


def kill_runtime(place: Place) -> None:
    runtime = place.wait_for_runtime()
    place.wait_until_ready()
    wait_until_it_waits(runtime)
    os.kill(runtime, signal.SIGKILL)
    place.assert_gone(time.monotonic())


#: what a handler does while its runtime is killed; none but the first looks at its life line
ORPHANED = {
    "a handler of the SDK ignores SIGTERM": SDK + DEAF + SERVE,
    "a script ignores SIGTERM": DEAF + READY + SLEEP,
    "a script has closed every descriptor": DEAF + "os.closerange(0, 100)\n" + READY + SLEEP,
    "a grandchild holds the pipes": GRANDCHILD.replace("SESSION", "False") + READY + SLEEP,
    "a script has ended, and a grandchild holds the pipes": GRANDCHILD.replace("SESSION", "False") + READY,
}


@pytest.mark.parametrize("stage", ORPHANED)
def test_with_a_runtime_that_is_killed_goes_all_when(place: Place, stage: str) -> None:
    place.write("handler.py", "import json, os, sys, time\n" + ORPHANED[stage])
    place.start("strategy:app/Call")
    kill_runtime(place)


def test_a_daemon_goes_with_a_runtime_that_is_killed_while_its_handler_works(place: Place) -> None:
    """The runtime has looked for it, which it does once a second."""
    place.write("handler.py", "import os, signal, time\n" + DAEMON + "time.sleep(1.2)\n" + READY + SLEEP)
    place.start("strategy:app/Call")
    kill_runtime(place)


def test_a_daemon_goes_with_a_runtime_that_is_killed_after_the_call(place: Place) -> None:
    """The runtime looks for what a handler leaves behind when it has ended."""
    place.write("handler.py", "import json, os, signal, sys, time\n" + DAEMON + ANSWER + READY)
    place.start("strategy:app/CallAndSpin")
    place.wait_until_ready()
    wait_for(lambda: not place.handlers(), "the end of the handler", 5)
    time.sleep(0.2)
    assert len(place.processes()) == 2
    kill_runtime(place)


@pytest.mark.parametrize("more", ["", "sleep 50 &", "set -m; (trap '' TERM; sleep 50; true) & sleep 1.2;"])
def test_a_foreign_command_ends_with_a_runtime_that_is_killed(place: Place, more: str) -> None:
    place.write("work.sh", FOREIGN.replace("echo", f"trap '' TERM; {more}\necho")).chmod(0o755)
    place.bind(["./work.sh"])
    place.start("strategy:app/Call")
    kill_runtime(place)
