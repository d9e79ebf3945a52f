"""Shared by all tests: hypothesis profiles, and paths of the checkout."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A shell starts background jobs with signals ignored, and processes hand that down: tests of Ctrl-C need the usual.
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

ROOT = Path(__file__).resolve().parent.parent

settings.register_profile("default", deadline=None, max_examples=60, database=None, derandomize=True)
settings.register_profile(
    "soak", deadline=None, max_examples=5_000, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(scope="session")
def repository() -> Path:
    """The folder of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def run_python(repository: Path) -> Callable[[str], subprocess.CompletedProcess[str]]:
    """Runs the text of a program in a process of its own, in which a warning is an error."""

    def run(program: str) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-W", "error", "-c", program]
        return subprocess.run(words, cwd=repository, capture_output=True, text=True, timeout=60, check=False)

    return run


@pytest.fixture(scope="session", autouse=True)
def cache_folder() -> Iterator[str]:
    """A cache of this session's own, for everything that is started in it: the user's stays as it is."""
    folder = tempfile.mkdtemp(prefix="touba-cache-")
    before = os.environ.get("TOUBA_CACHE_DIR")
    os.environ["TOUBA_CACHE_DIR"] = folder
    yield folder
    if before is None:
        del os.environ["TOUBA_CACHE_DIR"]
    else:
        os.environ["TOUBA_CACHE_DIR"] = before
    shutil.rmtree(folder)
