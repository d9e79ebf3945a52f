"""Type checkers see what the documentation promises: mypy is asked about `cases.py`, line by line."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
CASES = HERE / "cases.py"


def test_mypy_sees_exactly_the_errors_that_are_marked(tmp_path: Path, repository: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--warn-unreachable",
        "--no-error-summary",
        "--hide-error-context",
    ]
    done = subprocess.run(
        [*command, f"--cache-dir={tmp_path}", str(CASES)],
        cwd=repository, env={**os.environ, "MYPYPATH": str(repository), "NO_COLOR": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    expected = {}
    for number, line in enumerate(CASES.read_text("utf-8").splitlines(), 1):
        if marked := re.search(r"# error: ([a-z, -]+)$", line):
            expected[number] = set(marked[1].split(", "))
        elif line.endswith("# unreachable"):
            expected[number] = {"unreachable"}
    found: dict[int, set[str]] = {}
    for line in done.stdout.splitlines():
        place = re.match(r"tests/typing/cases\.py:(\d+): error: .*\[([a-z-]+)\]$", line)
        if place:
            found.setdefault(int(place[1]), set()).add(place[2])
        else:
            assert ": note: " in line, line
    assert found == expected, done.stdout
