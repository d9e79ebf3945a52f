"""Shared by all tests: hypothesis profiles, and paths of the checkout."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

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
