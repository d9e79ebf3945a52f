"""The pytest plugin: fixtures for tests of programs and handlers. It is loaded wherever Touba is installed.

``touba_project``   a project in a temporary folder: `write` files, `bind` tools
``touba_engine``    a `ToubaEngine` for that project
``touba_handler``   starts a handler script of that project as a process: ``touba_handler("pay.py", "tool:app/Pay", …)``
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ..engine.sync import ToubaEngine
    from .processes import HandlerAnswer
    from .project import ToubaProject


@pytest.fixture
def touba_project(tmp_path: Path) -> Iterator[ToubaProject]:
    """A project in a temporary folder."""
    from .project import ToubaProject

    folder = tmp_path / "project"
    folder.mkdir()
    project = ToubaProject(folder)
    yield project
    project.close()


@pytest.fixture
def touba_engine(touba_project: ToubaProject) -> Iterator[ToubaEngine]:
    """An engine for the project of the test; closed when the test ends."""
    from ..engine.sync import ToubaEngine

    with ToubaEngine(project_root=touba_project.root) as engine:
        yield engine


@pytest.fixture
def touba_handler(touba_project: ToubaProject) -> Callable[..., HandlerAnswer]:
    """Starts a handler script of the project as the runtime does: see `touba_sdk.testing.call_handler`."""
    return touba_project.call
