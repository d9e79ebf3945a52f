"""The quick start: its own tests, as its reader would run them, and its script."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.examples.places import ROOT

QUICKSTART = ROOT / "examples" / "quickstart"


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
    return subprocess.run(
        [sys.executable, *command], capture_output=True, timeout=60, encoding="utf-8", env=environment, cwd=QUICKSTART
    )


def test_its_own_tests_pass() -> None:
    done = _run("-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", ".", ".")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 passed" in done.stdout


def test_its_script_prints_the_result() -> None:
    done = _run("run.py", "Invoice 42\nto be paid")
    assert done.stdout.splitlines() == [
        "Kept: Invoice 42",
        "success completed {'topic': 'Invoice 42', 'words': 5}",
    ], done.stderr


def test_it_is_about_twenty_lines() -> None:
    assert len((QUICKSTART / "program.tb").read_text("utf-8").splitlines()) <= 24
