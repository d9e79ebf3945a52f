"""Fixtures of the engine's tests. Each test fails that leaves a process, zombie, descriptor, thread or file behind."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine.support import Driver, Fake, Snapshot, leftovers, scenario


@pytest.fixture(autouse=True)
def nothing_left(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Look for leftovers; the list takes process ids that must have ended, too."""
    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    before = Snapshot()
    pids: list[int] = []
    yield pids
    found = leftovers(before, pids, folder)
    assert not found, f"left behind: {found}"


@pytest.fixture
def fake(tmp_path: Path, nothing_left: list[int]) -> Iterator[Callable[..., Fake]]:
    """Make a fake runtime: ``fake("09_grandchild_holds_the_pipes", "in its group")``, or from steps."""
    made: list[Fake] = []

    def make(*given: Any) -> Fake:
        steps = scenario(*given) if isinstance(given[0], str) else list(given)
        folder = tmp_path / f"fake {len(made)} é"
        folder.mkdir()
        made.append(Fake(folder, steps))
        return made[-1]

    yield make
    for each in made:
        nothing_left += each.pids()


@pytest.fixture(params=["sync", "asyncio", "trio"])
def driver(request: pytest.FixtureRequest) -> Driver:
    """Each test runs with all three."""
    return Driver(request.param)
