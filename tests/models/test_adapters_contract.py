"""Every adapter keeps the promises of the contract suite, on both backends, against its vendor's fake server."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fake_vendors import FakeAnthropic, FakeGemini, FakeOllama, FakeOpenAI, FakeOpenAIChat
from tests.fake_vendors.bridged import BridgedAnthropic, BridgedOpenAI
from touba_sdk.testing.model_contract import CASES, Case, run_case

#: The SDKs leave generators of finished streams to the garbage collector, which trio points out and then cleans up.
pytestmark = pytest.mark.filterwarnings("ignore:Async generator .* was garbage collected:ResourceWarning")

VENDORS: list[Any] = [
    FakeOpenAI,
    FakeOpenAIChat,
    FakeAnthropic,
    FakeGemini,
    FakeOllama,
    BridgedAnthropic,
    BridgedOpenAI,
]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("vendor", VENDORS, ids=lambda each: each.__name__)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_contract(case: Case, vendor: Any, backend: str) -> None:
    with vendor() as server:
        reason = run_case(case, server, backend=backend)
    assert (reason is None) == (not set(case.needs) & set(vendor.lacks)), reason
