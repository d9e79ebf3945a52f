"""Fixtures of the engine's tests. Each test fails that leaves a process, zombie, descriptor or thread behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine.support import Driver, Fake, Snapshot, leftovers


@pytest.fixture(autouse=True)
def nothing_left(request: pytest.FixtureRequest) -> Iterator[list[int]]:
    """Look for leftovers; the list takes process ids that must have ended, too."""
    before = Snapshot()
    pids: list[int] = []
    yield pids
    found = leftovers(before, pids)
    assert not found, f"left behind: {found}"


@pytest.fixture
def fake(tmp_path: Path, nothing_left: list[int]) -> Iterator[Callable[..., Fake]]:
    """Make a fake runtime: ``fake({"do": "read_line"}, …)``."""
    made: list[Fake] = []

    def make(*steps: dict[str, Any]) -> Fake:
        folder = tmp_path / f"fake {len(made)} é"
        folder.mkdir()
        made.append(Fake(folder, list(steps)))
        return made[-1]

    yield make
    for each in made:
        nothing_left += each.pids()


@pytest.fixture(params=["sync", "asyncio", "trio"])
def driver(request: pytest.FixtureRequest) -> Driver:
    """Each test runs with all three."""
    return Driver(request.param)
