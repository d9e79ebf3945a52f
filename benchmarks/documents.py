"""What large documents cost: a result of 28 MiB on its way to the application, and a trace of 10,000 events."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import orjson
from measure import Row, interleaved

from touba_cli.codec import encode
from touba_cli.runtime.events import Event, TraceLog
from touba_sdk import ToubaEngine

#: 28 MiB of texts: what a value may have
SOURCE = """module large

function Run
    takes n as Int
    gives List of Text
    do
        let word = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
        give [word for x in range(n)]
"""
ELEMENTS = 440_000
EVENTS = 10_000

#: run in a process of its own, which says how much memory it had at most: what the bytes took, and then the engine
MEMORY = """
import gc, re, sys
import orjson
from touba_sdk import ToubaEngine
how, envelope, runtime = sys.argv[1:]
engine = ToubaEngine(cli_path=runtime)
if how == "parse":
    gc.disable()
    with open(envelope, "rb") as file:
        kept = orjson.loads(file.read())
elif how == "engine":
    kept = engine.run(air="x.json", run_id="large")
with open("/proc/self/status") as file:
    print(re.search(r"VmHWM:\\s*(\\d+)", file.read())[1])
"""


def results(folder: Path) -> list[Row]:
    (folder / "large.tb").write_text(SOURCE, "utf-8")
    envelope, runtime = folder / "envelope.json", folder / "runtime"
    command = [sys.executable, "-m", "touba_cli", "run", "large.tb", "--json", "--run-id=large"]
    root = str(Path(__file__).resolve().parent.parent)
    with open(envelope, "wb") as file:
        subprocess.run(
            [*command, f'--inputs={{"n": {ELEMENTS}}}', '--run-limits={"max_steps": 100000000}'],
            cwd=folder, env={**os.environ, "PYTHONPATH": root}, stdin=subprocess.DEVNULL, stdout=file, check=True,
        )  # fmt: skip
    runtime.write_text(f"#!/bin/sh\nexec cat '{envelope}'\n", "utf-8")
    runtime.chmod(0o755)

    def parse() -> None:
        gc.disable()
        try:
            orjson.loads(envelope.read_bytes())
        finally:
            gc.enable()

    limits = {"max_steps": 100_000_000}
    with ToubaEngine(project_root=str(folder)) as engine, ToubaEngine(cli_path=str(runtime)) as reader:
        air = engine.compile("large.tb").air_json
        found = interleaved(
            {
                "parse": parse,
                "read": lambda: reader.run(air="x.json", run_id="large"),
                "whole": lambda: engine.run(air_json=air, inputs={"n": ELEMENTS}, run_limits=limits),
            },
            5,
        )
    memory = {
        how: int(
            subprocess.run(
                [sys.executable, "-c", MEMORY, how, str(envelope), str(runtime)],
                env={**os.environ, "PYTHONPATH": root}, capture_output=True, check=True,
            ).stdout
        )
        for how in ("nothing", "parse", "engine")
    }  # fmt: skip
    taken = (memory["engine"] - memory["nothing"]) / (memory["parse"] - memory["nothing"])
    return [
        Row("a result document of 28 MiB, from the pipe to the `RunResult`, over its parse alone",
            found["read"] / found["parse"], "x", 1.5),
        Row("its peak memory, over that of the parse alone", taken, "x", 1.25),
        Row("the same from the call on, with the program that makes it", found["whole"] / found["parse"], "x"),
    ]  # fmt: skip


def traces() -> list[Row]:
    events = [
        Event("call_started", "skill:bench/Half", f"0.{number}", "0.1", f"1#{number}", {}, "0")
        for number in range(2, EVENTS + 2)
    ]

    def write() -> None:
        log = TraceLog()
        for event in events:
            log.add(event, 1_800_000_000_000)
        encode(log.document("r", "sha256:" + "0" * 64, "strategy:bench/Run", 1_800_000_000_000, 1_800_000_000_001))

    found = interleaved({"trace": write}, 5)
    return [Row("a trace of 10,000 events: chain and encode, an event", found["trace"] / EVENTS * 1e6, "µs", 15.0)]
