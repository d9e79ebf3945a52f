"""What every model adapter promises, as a suite that runs against a vendor's server that you script.

The suite knows no vendor. You give it a `Vendor`: something that speaks the vendor's wire format on this machine,
answers what it is told to, and makes models that talk to it. The adapters of `touba_sdk.models.adapters` pass it
against the servers in ``tests/fake_vendors`` of the source distribution.

    @pytest.mark.parametrize("backend", ["asyncio", "trio"])
    @pytest.mark.parametrize("case", CASES, ids=str)
    def test_contract(case, backend):
        with MyVendor() as vendor:
            run_case(case, vendor, backend=backend)

With ``pytest.register_assert_rewrite("touba_sdk.testing.model_contract")`` in a ``conftest.py``, a failing case shows
the values that it compares.
"""

from __future__ import annotations

from . import answers, failures, streams
from .case import Case, run_case
from .vendor import PRIVATE, Answer, Vendor

__all__ = ["CASES", "PRIVATE", "Answer", "Case", "Vendor", "run_case"]

#: every promise
CASES: list[Case] = [*answers.CASES, *failures.CASES, *streams.CASES]


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
