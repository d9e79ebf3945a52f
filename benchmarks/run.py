"""What Touba costs, measured in one run: `make bench`. With ``--write`` the table goes into docs/performance.md.

Machines differ and drift, so a figure is a ratio: a median over interleaved repetitions, divided by a yardstick that
was measured between them. ``py`` is ``PYTHON -I -S -c pass`` with the interpreter that the engine uses. Two rows are
times, and good for comparing machines only.
"""

from __future__ import annotations

import os
import platform
import re
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(1, str(ROOT))

import agent  # noqa: E402
import compiling  # noqa: E402
import documents  # noqa: E402
import programs  # noqa: E402
import starts  # noqa: E402
from measure import PYTHON, Row  # noqa: E402

PAGE = ROOT / "docs" / "performance.md"
TABLE = re.compile(r"(<!-- table: benchmark -->\n).*?(<!-- end -->)", re.DOTALL)


def measure() -> list[Row]:
    """All rows. Everything is made in a folder that is gone afterwards, the compile cache too."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["TOUBA_CACHE_DIR"] = str(folder / "cache")
        return [
            *starts.runs(folder),
            *starts.imports(),
            *programs.execution(folder),
            *compiling.compiler(),
            *compiling.reading(),
            *documents.results(folder),
            *documents.traces(),
            *(Row(what, figure, unit) for what, figure, unit in agent.rows()),
        ]


def machine() -> str:
    """One line about what this ran on."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        names = re.findall(r"^model name\s*: (.+)$", info.read_text("utf-8"), re.MULTILINE)
        cpu = names[0] if names else cpu
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{os.cpu_count()} x {cpu}, {platform.system()} {platform.release()}, {python}"


def shown(row: Row) -> str:
    return f"{row.figure:,.2f} {row.unit}"


def wanted(row: Row) -> str:
    if row.target is None:
        return ""
    return f"≤ {row.target:g} {row.unit}" + (" (missed)" if row.is_missed else "")


def markdown(rows: list[Row]) -> str:
    lines = ["| what | measured | target |", "| --- | --- | --- |"]
    lines += [f"| {row.what} | {shown(row)} | {wanted(row)} |" for row in rows]
    return "\n".join([*lines, "", f"Measured on {machine()}.", ""])


def main(words: list[str]) -> int:
    if words not in ([], ["--write"]):
        print(__doc__, file=sys.stderr)
        return 2
    started = time.monotonic()
    rows = measure()
    width = max(len(row.what) for row in rows)
    for row in rows:
        print(f"{row.what:<{width}}  {shown(row):>12}  {wanted(row)}")
    print(f"\n{machine()}; {PYTHON}; {time.monotonic() - started:.0f} s")
    if words:
        PAGE.write_text(TABLE.sub(lambda found: found[1] + markdown(rows) + found[2], PAGE.read_text("utf-8")), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
