"""Modules of the examples, which are no packages."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.examples.places import INVOICES, OFFICIAL, ROOT


def load(path: Path) -> ModuleType:
    """A script as a module, under a name that no other has."""
    name = "example_" + "_".join(path.relative_to(ROOT / "examples").with_suffix("").parts)
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


@pytest.fixture(scope="session")
def reader() -> Any:
    return load(INVOICES / "handlers" / "read_invoices.py")


@pytest.fixture(scope="session")
def ledger() -> Any:
    return load(INVOICES / "handlers" / "ledger.py")


@pytest.fixture(scope="session")
def generator() -> Any:
    return load(INVOICES / "generate.py")


@pytest.fixture(scope="session")
def reviewer() -> Any:
    return load(INVOICES / "run.py")


@pytest.fixture(scope="session")
def official() -> Path:
    if not OFFICIAL.is_dir():
        pytest.skip(
            f"the official documents of EN 16931 are not at {OFFICIAL.relative_to(ROOT.parent)} beside the checkout"
        )
    return OFFICIAL
