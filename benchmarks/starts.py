"""What a run costs from its call to its result: starts, the compile cache, one handler; and importing the SDK."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from measure import EMPTY_START, Row, interleaved

from touba_sdk import ToubaEngine

REPETITIONS = 25

#: twenty lines
PLAIN = """module bench

## What is sold.
type Line
    name as Text length 1 to 40
    amount as Decimal min 0

function Total
    takes lines as List of Line
    gives Decimal
    do
        give sum([line.amount for line in lines])

strategy Run
    takes value as Text
    gives Text
    do
        let total = Total([Line(name: "Tea", amount: 12.50)])
        give "{value}: {total}"
"""

TOOL = """module bench

tool Echo
    takes value as Text
    gives Text
    effect none

strategy Run
    takes value as Text
    gives Text
    do
        give call Echo(value)
"""

HANDLER = """from touba_sdk import define_tool

if __name__ == "__main__":
    define_tool(
        tool_ref="tool:bench/Echo",
        input_signature=[{"name": "value", "type_ref": "Text"}],
        output_type="Text",
        run=lambda request, context: request,
    )
"""

MANIFEST = """{"protocol": "touba-manifest-v1", "tools": {"tool:bench/Echo": {
    "handler": {"kind": "process", "command": ["python", "echo.py"]}, "grants": [], "secrets": {}}}}"""


def runs(folder: Path) -> list[Row]:
    for name, text in (
        ("plain.tb", PLAIN), ("tool.tb", TOOL), ("echo.py", HANDLER), ("manifest.json", MANIFEST),
    ):  # fmt: skip
        (folder / name).write_text(text, "utf-8")
    cache = Path(os.environ["TOUBA_CACHE_DIR"])
    inputs = {"value": "x" * 64}
    with ToubaEngine(project_root=str(folder)) as engine:
        (folder / "plain.air.json").write_text(engine.compile("plain.tb").air_json, "utf-8")
        (folder / "tool.air.json").write_text(engine.compile("tool.tb").air_json, "utf-8")

        def from_cold_source() -> None:
            shutil.rmtree(cache / "programs", ignore_errors=True)
            engine.run("plain.tb", inputs=inputs)

        found = interleaved(
            {
                "py": lambda: subprocess.run(EMPTY_START, check=True),
                "air": lambda: engine.run(air="plain.air.json", inputs=inputs),
                "cold": from_cold_source,
                "warm": lambda: engine.run("plain.tb", inputs=inputs),
                "tool": lambda: engine.run(air="tool.air.json", manifest="manifest.json", inputs=inputs),
            },
            REPETITIONS,
        )
    py = found["py"]
    return [
        Row("`engine.run` of compiled AIR in a fresh process, 64-byte input", found["air"] / py, "py", 3.0),
        Row("the same from source, compile cache warm", found["warm"] / py, "py", 3.3),
        Row("first run of a source of 20 lines, cache cold", found["cold"] / py, "py", 6.0),
        Row(
            "one handler call in a process of its own, over a run without it",
            (found["tool"] - found["air"]) / py,
            "py",
            2.3,
        ),
    ]


def imports() -> list[Row]:
    found = interleaved(
        {
            "py": lambda: subprocess.run(EMPTY_START, check=True),
            "bare": lambda: subprocess.run([sys.executable, "-c", "pass"], check=True),
            "sdk": lambda: subprocess.run([sys.executable, "-c", "import touba_sdk"], check=True),
        },
        REPETITIONS,
    )
    return [Row("`import touba_sdk`, over a bare start", (found["sdk"] - found["bare"]) / found["py"], "py", 1.0)]
