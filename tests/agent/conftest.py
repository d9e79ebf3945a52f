"""Cases run through every door of `kit.py`; those that need a stream or a cancellation take another fixture."""

from __future__ import annotations

from typing import Any

import pytest

from .kit import CANCELS, DOORS, STREAMS, Door


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(params=DOORS)
def door(request: pytest.FixtureRequest) -> Door:
    """Every way to run an agent."""
    return Door(request.param)


@pytest.fixture(params=STREAMS)
def stream_door(request: pytest.FixtureRequest) -> Door:
    """Every way to stream a run."""
    return Door(request.param)


@pytest.fixture(params=CANCELS)
def cancel_door(request: pytest.FixtureRequest) -> Door:
    """Every way to run an agent that can be cancelled from inside."""
    return Door(request.param)
