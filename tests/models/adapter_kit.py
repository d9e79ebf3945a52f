"""What the tests of the adapters share: asking a model once, and what its vendor was sent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from tests.fake_vendors import FakeVendor
from touba_sdk.models import Request, Response, collect
from touba_sdk.testing.model_contract import Answer

JSON = {"content-type": "application/json"}


def serving(vendor: type[FakeVendor]) -> Any:
    """A fixture: one server of the vendor for all tests of a module."""

    @pytest.fixture(scope="module")
    def server() -> Iterator[FakeVendor]:
        with vendor() as running:
            yield running

    return server


def ask(model: Any, request: Request, how: str = "generate") -> Response:
    """The answer to a request, on an event loop of its own."""

    async def call() -> Response:
        async with model:
            return await (model.generate(request) if how == "generate" else collect(model.stream(request)))

    return anyio.run(call)


def sent(server: Any, request: Request, *answers: Answer, **options: Any) -> Any:
    """What a fake vendor gets for a request to a model that is made with ``options``."""
    server.answer(*(answers or (Answer(),)))
    ask(server.model(**options), request)
    return server.last
