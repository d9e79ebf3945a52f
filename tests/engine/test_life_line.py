"""Who ends by force takes everything along: the application, or the runtime, is killed at every stage of a real run.

Nothing of a run may be there three seconds after its application was killed. A run is found by its project's folder,
which stands in the command line of the runtime and in the environment of each handler.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine.support import alive, wait_for
from touba_sdk import ToubaEngine
from touba_sdk.engine.child import SelectorChild

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes through /proc")

#: seconds after which nothing of a run may be left
GONE = 3.0

PROGRAM = """\
module app

tool Work
    takes size as Int
    gives Text
    effect write

strategy Spin
    takes size as Int
    gives Int
    do
        var n = 0
        repeat up to 900_000_000 times
            set n = n + 1
        give n

strategy Call
    takes size as Int
    gives List of Text
    do
        let text = call Work(size)
        give [text, text, text, text, text, text]
"""

#: an application; what comes in between is done by `PREPARE`
HOST = """\
import os, sys
import touba_sdk.engine.child
from touba_sdk import ToubaEngine
{prepare}
program, entry, cancel = sys.argv[2:5]
options = {{}}
if cancel:
    import threading
    options["cancel"] = threading.Event()
    def give_up():
        while not os.path.exists("ready"):
            threading.Event().wait(0.01)
        options["cancel"].set()
    threading.Thread(target=give_up, daemon=True).start()
with ToubaEngine(project_root=sys.argv[1]) as engine:
    engine.run(program, entry_ref=entry or None, manifest="manifest.json", inputs={{"size": 3_000_000}},
               run_limits={{"max_steps": 10**9}}, **options)
"""

#: the process is killed between the start of the runtime and the return of the call that starts it
KILLED_WHILE_STARTING = """\
import signal, subprocess
start = subprocess._fork_exec
def start_and_die(*arguments):
    start(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)
subprocess._fork_exec = start_and_die
"""

READY = "open('ready.new', 'w').close(); os.rename('ready.new', 'ready')\n"
DEAF = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
SLEEP = "time.sleep(60)\n"
#: a process that ignores SIGTERM and holds all pipes of the handler
GRANDCHILD = (
    "import subprocess\n"
    'code = \'import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); open("born", "w"); time.sleep(60)\'\n'
    "subprocess.Popen([sys.executable, '-IS', '-c', code], start_new_session=SESSION, close_fds=False)\n"
    "while not os.path.exists('born'): time.sleep(0.01)\n"
)
ANSWER = (
    "request = json.load(sys.stdin)\n"
    "value = 'x' * request['arguments']['size']\n"
    "print(json.dumps({'protocol': 'touba-tool-response-v1', 'ok': True, 'value': value}))\n"
)
SDK = "from touba_sdk import define_tool\n"
SERVE = (
    "def run(request, context):\n"
    f"    {READY}    {SLEEP}"
    "define_tool(tool_ref='tool:app/Work', input_signature=[{'name': 'size', 'type_ref': 'Int'}],\n"
    "            output_type='Text', run=run)\n"
)

#: what a handler does while the application is killed
HANDLERS: dict[str, str] = {
    "a handler of the SDK works": SDK + SERVE,
    "a handler works": READY + SLEEP,
    "a handler ignores SIGTERM": DEAF + READY + SLEEP,
    "a grandchild holds the pipes": GRANDCHILD.replace("SESSION", "False") + READY + SLEEP,
    "a grandchild of its own session holds the pipes": GRANDCHILD.replace("SESSION", "True") + READY + SLEEP,
    "a grandchild outlives its handler": GRANDCHILD.replace("SESSION", "True") + READY + ANSWER + SLEEP,
}

#: a foreign command, which knows nothing of a life line
FOREIGN = "#!/bin/sh\necho $$ > foreign.new; mv foreign.new ready\nexec sleep 60\n"


class Place:
    """A project and its application."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.hosts: list[subprocess.Popen[bytes]] = []
        #: processes of the application's own
        self.others: set[int] = set()
        self.write("app.tb", PROGRAM)
        self.bind(["python", "handler.py"])
        self.write("handler.py", "import json, os, sys, time\n" + ANSWER)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, "utf-8")
        return path

    def bind(self, command: list[str]) -> None:
        tools = {"tool:app/Work": {"handler": {"kind": "process", "command": command}}}
        self.write("manifest.json", json.dumps({"protocol": "touba-manifest-v1", "tools": tools}))

    def write_big_program(self) -> str:
        """A program of four megabytes; gives its file."""
        one = "function F{}\n    takes n as Int\n    gives Int\n    do\n        give n\n\n"
        body = "".join(one.format(number) for number in range(14_000))
        names = ("a", "b", "c", "d")
        for name in names:
            self.write(f"{name}.tb", f"module {name}\n\n{body}")
        imports = "".join(f"import {name}\n" for name in names)
        entry = "strategy Main\n    takes size as Int\n    gives Int\n    do\n        give size\n"
        return self.write("big.tb", f"module big\n{imports}\n{entry}").name

    def start(self, entry: str, *, program: str = "app.tb", prepare: str = "", cancel: bool = False) -> Any:
        """Start the application in a folder and session of its own."""
        words = [sys.executable, "-c", HOST.format(prepare=prepare), str(self.folder), program, entry]
        host = subprocess.Popen(
            [*words, "cancel" if cancel else ""],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent.parent)},
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.hosts.append(host)
        return host

    def processes(self) -> dict[int, str]:
        """The processes of the run but for the application: number → command line."""
        hosts = {host.pid for host in self.hosts} | self.others
        mark = str(self.folder).encode()
        found = {}
        for name in os.listdir("/proc"):
            if name.isdigit() and int(name) not in hosts | {os.getpid()}:
                try:
                    command = Path(f"/proc/{name}/cmdline").read_bytes()
                    if mark in command or mark in Path(f"/proc/{name}/environ").read_bytes():
                        found[int(name)] = command.replace(b"\0", b" ").decode("utf-8", "replace")
                except OSError:
                    continue  # it has just ended
        return {pid: command for pid, command in found.items() if alive(pid)}

    def runtime(self) -> int | None:
        for pid, command in self.processes().items():
            if "__start__.py run" in command:
                return pid
        return None

    def wait_for_runtime(self) -> int:
        wait_for(lambda: self.runtime() is not None, "the runtime")
        found = self.runtime()
        assert found is not None
        return found

    def wait_until_ready(self) -> None:
        wait_for((self.folder / "ready").exists, "the handler")

    def kill(self, host: subprocess.Popen[bytes]) -> None:
        host.kill()
        host.wait()

    def assert_gone(self, since: float) -> None:
        while found := self.processes():
            assert time.monotonic() - since < GONE, f"left behind: {found}"
            time.sleep(0.02)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    for host in made.hosts:
        made.kill(host)
    for pid in {*made.processes(), *made.others}:
        if alive(pid):
            os.kill(pid, signal.SIGKILL)


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


def kill_runtime(place: Place) -> None:
    runtime = place.wait_for_runtime()
    place.wait_until_ready()
    os.kill(runtime, signal.SIGKILL)
    place.assert_gone(time.monotonic())


def test_a_handler_of_the_sdk_ends_with_a_runtime_that_is_killed(place: Place) -> None:
    place.write("handler.py", "import os, time\n" + SDK + DEAF + SERVE)
    place.start("strategy:app/Call")
    kill_runtime(place)


def test_a_foreign_command_ends_with_a_runtime_that_is_killed(place: Place) -> None:
    place.write("work.sh", FOREIGN.replace("echo", "trap '' TERM; echo")).chmod(0o755)
    place.bind(["./work.sh"])
    place.start("strategy:app/Call")
    kill_runtime(place)


def test_a_foreign_command_does_not_start_for_a_runtime_that_is_gone(tmp_path: Path, repository: Path) -> None:
    wrapper = repository / "touba_cli" / "runtime" / "exec_wrapper.py"
    words = [sys.executable, "-I", "-S", str(wrapper), "1", "/bin/touch", str(tmp_path / "started")]
    read_end, write_end = os.pipe()
    hand_on = f"import os, sys; os.dup2({write_end}, 4); os.execv(sys.argv[1], sys.argv[1:])"
    done = subprocess.run([sys.executable, "-IS", "-c", hand_on, *words], pass_fds=(write_end,), check=False)
    os.close(read_end)
    os.close(write_end)
    assert done.returncode == 75
    assert not (tmp_path / "started").exists()
