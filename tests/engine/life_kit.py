"""Projects whose application or runtime is killed, what their handlers do meanwhile, and the look for what is left.

A run is found by its project's folder, which stands in the command line of the runtime and in the environment of each
handler.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.engine.support import alive, wait_for

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

strategy CallAndSpin
    takes size as Int
    gives Int
    do
        let text = call Work(1)
        var n = length(text)
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

#: an application that has a program checked or compiled
ASKING = """\
import sys
from touba_sdk import ToubaEngine
{prepare}
with ToubaEngine(project_root=sys.argv[1]) as engine:
    getattr(engine, sys.argv[3])(sys.argv[2])
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

#: starts a process that ignores SIGTERM in a session of its own, closes what it has, and loses its parent
DAEMON = """\
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 100)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        open("born", "w").close()
        time.sleep(60)
    os._exit(0)
while not os.path.exists("born"): time.sleep(0.01)
"""


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

    def start(
        self, entry: str, *, program: str = "app.tb", prepare: str = "", cancel: bool = False, code: str = HOST
    ) -> Any:
        """Start the application in a folder and session of its own."""
        words = [sys.executable, "-c", code.format(prepare=prepare), str(self.folder), program, entry]
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
            if "__start__.py" in command:
                return pid
        return None

    def handlers(self) -> list[int]:
        """The handlers that are at work: children of the runtime that are no daemons."""
        runtime = self.runtime()
        found = []
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                found += [pid] if pid != runtime and os.getsid(pid) == pid else []
        return found

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

    def clean_up(self) -> None:
        """End what a test that failed has left."""
        for host in self.hosts:
            self.kill(host)
        for pid in {*self.processes(), *self.others}:
            if alive(pid):
                os.kill(pid, signal.SIGKILL)

    def assert_gone(self, since: float) -> None:
        while found := self.processes():
            assert time.monotonic() - since < GONE, f"left behind: {found}"
            time.sleep(0.02)
