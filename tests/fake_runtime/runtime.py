"""A runtime that does what a scenario says: what the tests of the engines start in the place of the real one.

It is started as ``[interpreter, this file, SCENARIO, flags of the engine …]`` by a launcher that the tests write. The
scenario is a JSON file: ``{"folder": where to record, "steps": [{"do": …}, …]}``. The scenarios that have a number stand
in ``scenarios/``: a sentence, and a list of steps for each case. Steps:

``record``                  write argv, environment, folder and process id to ``record.json``
``read_line`` · ``read_all``   read the request (the first line, or all of standard input) into ``request``
``wait_for_end``            read standard input to its end
``out`` · ``err``           write ``text`` (or the bytes ``hex``) ``times`` times to standard output or error; ``parts`` are
                            several texts with their times, ``cut`` leaves so many bytes of the end out, ``pieces`` is
                            how many bytes are written at once: the next come when those were taken
``envelope`` · ``failure``  write a result document; the tests put ``out`` in their place (`support.expanded`)
``close_in`` · ``close_out``   close standard input or output
``sleep``                   for ``seconds``
``touch``                   make the file ``name`` in the folder
``wait_file``               wait until the file ``name`` is in the folder
``ignore_term``             ignore SIGTERM
``on_term``                 at SIGTERM do ``steps``, then go on
``grandchild``              start a process that sleeps ``seconds`` with the pipes open; ``ignore_term``, ``session``
``exit`` · ``signal``       end with ``code``, or by the signal ``number``
"""

import array
import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        scenario = json.load(file)
    folder = scenario["folder"]
    with open(os.path.join(folder, "pids"), "a", encoding="ascii") as file:
        file.write(f"{os.getpid()}\n")
    for step in scenario["steps"]:
        perform(step, folder)


def keep(path: str, data: bytes) -> None:
    """Write a file at once: a test that waits for it never sees half of it."""
    with open(path + ".part", "wb") as file:
        file.write(data)
    os.rename(path + ".part", path)


def perform(step: dict, folder: str) -> None:
    do = step["do"]
    if do == "record":
        record = {"argv": sys.argv[2:], "env": dict(os.environ), "cwd": os.getcwd(), "pid": os.getpid()}
        keep(os.path.join(folder, "record.json"), json.dumps(record).encode())
    elif do in ("read_line", "read_all"):
        data = sys.stdin.buffer.readline() if do == "read_line" else sys.stdin.buffer.read()
        keep(os.path.join(folder, "request"), data)
    elif do == "wait_for_end":
        while os.read(0, 65536):
            pass
    elif do in ("out", "err"):
        descriptor = 1 if do == "out" else 2
        data = content(step)
        size = step.get("pieces", len(data) or 1)
        for start in range(0, len(data), size):
            write(descriptor, data[start : start + size])
            if "pieces" in step:
                wait_until_taken(descriptor)
    elif do == "close_in":
        os.close(0)
    elif do == "close_out":
        os.close(1)
    elif do == "sleep":
        time.sleep(step["seconds"])
    elif do == "touch":
        with open(os.path.join(folder, step["name"]), "w", encoding="ascii"):
            return
    elif do == "wait_file":
        while not os.path.exists(os.path.join(folder, step["name"])):
            time.sleep(0.005)
    elif do == "ignore_term":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    elif do == "on_term":
        signal.signal(signal.SIGTERM, lambda number, frame: [perform(inner, folder) for inner in step["steps"]])
    elif do == "grandchild":
        grandchild(step, folder)
    elif do == "exit":
        os._exit(step["code"])
    elif do == "signal":
        os.kill(os.getpid(), step["number"])
        time.sleep(60)
    else:
        raise SystemExit(f"unknown step {do}")


def grandchild(step: dict, folder: str) -> None:
    code = "import signal, sys, time\n"
    if step.get("ignore_term"):
        code += "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    code += "open(sys.argv[2], 'w').close()\ntime.sleep(float(sys.argv[1]))\n"
    ready = os.path.join(folder, "grandchild-ready")
    process = subprocess.Popen(
        [sys.executable, "-IS", "-c", code, str(step["seconds"]), ready],
        start_new_session=step.get("session", False),
    )
    with open(os.path.join(folder, "pids"), "a", encoding="ascii") as file:
        file.write(f"{process.pid}\n")
    while not os.path.exists(ready):
        time.sleep(0.005)


def content(step: dict) -> bytes:
    if "hex" in step:
        return bytes.fromhex(step["hex"])
    parts = step["parts"] if "parts" in step else [[step["text"], step.get("times", 1)]]
    data = b"".join(text.encode("utf-8") * times for text, times in parts)
    return data[: len(data) - step.get("cut", 0)]


def wait_until_taken(descriptor: int) -> None:
    waiting = array.array("i", [1])
    while waiting[0]:
        fcntl.ioctl(descriptor, termios.FIONREAD, waiting)


def write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


main()
