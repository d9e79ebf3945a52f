"""What Touba costs, as ratios measured in one run: `make bench`.

Machines differ and drift, so nothing here is a time: every figure is a median over interleaved repetitions, divided by
a yardstick that was measured between them. ``py`` is ``PYTHON -I -S -c pass`` with the interpreter that the engine
uses.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import agent

from touba_cli.language.compiler import compile_program
from touba_cli.project.sources import ProjectSources
from touba_sdk import ToubaEngine

REPETITIONS = 15

PLAIN = """module bench

strategy Run
    takes value as Text
    gives Text
    do
        give value
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

LOOP = """module bench

function Run
    takes n as Int
    gives Int
    do
        var total = 0
        var i = 0
        repeat up to n times
            set i = i + 1
            if i mod 3 is 0
                set total = total + i
        give total
"""

MANIFEST = """{"protocol": "touba-manifest-v1", "tools": {"tool:bench/Echo": {
    "handler": {"kind": "process", "command": ["python", "echo.py"]}, "grants": [], "secrets": {}}}}"""


def interleaved(cases: dict[str, Callable[[], object]], repetitions: int = REPETITIONS) -> dict[str, float]:
    """Median seconds of each case, taken in turns."""
    taken: dict[str, list[float]] = {name: [] for name in cases}
    for case in cases.values():
        case()
    for _ in range(repetitions):
        for name, case in cases.items():
            start = time.perf_counter()
            case()
            taken[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in taken.items()}


def starts(folder: Path) -> list[tuple[str, float, str]]:
    (folder / "plain.tb").write_text(PLAIN, "utf-8")
    (folder / "tool.tb").write_text(TOOL, "utf-8")
    (folder / "echo.py").write_text(HANDLER, "utf-8")
    (folder / "manifest.json").write_text(MANIFEST, "utf-8")
    inputs = {"value": "x" * 64}
    with ToubaEngine(project_root=str(folder)) as engine:
        (folder / "plain.air.json").write_text(engine.compile("plain.tb").air_json, "utf-8")
        (folder / "tool.air.json").write_text(engine.compile("tool.tb").air_json, "utf-8")
        found = interleaved(
            {
                "py": lambda: subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], check=True),
                "air": lambda: engine.run(air="plain.air.json", inputs=inputs),
                "source": lambda: engine.run("plain.tb", inputs=inputs),
                "tool": lambda: engine.run(air="tool.air.json", manifest="manifest.json", inputs=inputs),
            }
        )
    py = found["py"]
    return [
        ("engine.run of compiled AIR, 64-byte input", found["air"] / py, "py"),
        ("engine.run from source, nothing cached", found["source"] / py, "py"),
        ("one handler call, over a run without it", (found["tool"] - found["air"]) / py, "py"),
    ]


def imports() -> list[tuple[str, float, str]]:
    found = interleaved(
        {
            "bare": lambda: subprocess.run([sys.executable, "-c", "pass"], check=True),
            "sdk": lambda: subprocess.run([sys.executable, "-c", "import touba_sdk"], check=True),
        }
    )
    return [("import touba_sdk, over a bare start", found["sdk"] / found["bare"], "x")]


def loops(folder: Path) -> list[tuple[str, float, str]]:
    (folder / "loop.tb").write_text(LOOP, "utf-8")
    size = 50_000

    def plain() -> int:
        total = i = 0
        for _ in range(size):
            i = i + 1
            if i % 3 == 0:
                total = total + i
        return total

    limits = {"max_steps": 100_000_000}
    with ToubaEngine(project_root=str(folder)) as engine:
        compiled = engine.compile("loop.tb")

        def run(n: int) -> Callable[[], object]:
            return lambda: engine.run(air_json=compiled.air_json, inputs={"n": n}, run_limits=limits)

        found = interleaved({"plain": plain, "none": run(0), "loop": run(size)}, 5)
    return [("a pure loop, over plain Python", (found["loop"] - found["none"]) / found["plain"], "x")]


def compiler(folder: Path) -> list[tuple[str, float, str]]:
    def program(functions: int) -> str:
        parts = ["module bench\n"]
        parts += [
            f"\nfunction F{n}\n    takes a as Int, b as Int\n    gives Int\n    do\n"
            f"        let sum = a + b * {n}\n        if sum > 100\n            give sum - 1\n        give sum\n"
            for n in range(functions)
        ]
        return "".join(parts)

    lines = {}
    for functions in (100, 1_000):
        text = program(functions)
        (folder / f"size{functions}.tb").write_text(text, "utf-8")
        lines[functions] = text.count("\n")
    sources = ProjectSources(str(folder))
    found = interleaved(
        {str(size): lambda size=size: compile_program(sources, f"size{size}.tb") for size in lines},  # type: ignore[misc]
        5,
    )
    small, large = (found[str(size)] / lines[size] for size in lines)
    return [
        (f"compile: time a line, {lines[1_000]:,} over {lines[100]:,} lines", large / small, "x"),
        ("compile: lines a second", 1 / large, "lines/s"),
    ]


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [*starts(folder), *imports(), *loops(folder), *compiler(folder), *agent.rows()]
    width = max(len(row[0]) for row in rows)
    for what, figure, unit in rows:
        print(f"{what:<{width}}  {figure:>10,.2f} {unit}")


if __name__ == "__main__":
    main()
