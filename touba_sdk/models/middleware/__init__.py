"""Middleware: what is put around a model, piece by piece, with `touba_sdk.models.chain`.

Each wrapper keeps the provider, the name and the capabilities of its model, and serves ``generate`` and ``stream`` by
the same policy. The docstring of each says what it does to a stream.
"""

from __future__ import annotations

from ._base import WrappedModel
from .cache import CacheStore, MemoryCacheStore, cache
from .capabilities import override_capabilities
from .fallback import fallback, half_finished
from .observe import ModelCall, observe
from .rate_limit import RateLimiter, TokenBucket, rate_limit
from .retry import RetryPolicy, RetryState, retry
from .timeouts import TimeoutPlan, Timeouts, timeouts
from .usage import ModelUsage, UsageLedger, account_usage

__all__ = [
    "CacheStore",
    "MemoryCacheStore",
    "ModelCall",
    "ModelUsage",
    "RateLimiter",
    "RetryPolicy",
    "RetryState",
    "TimeoutPlan",
    "Timeouts",
    "TokenBucket",
    "UsageLedger",
    "WrappedModel",
    "account_usage",
    "cache",
    "fallback",
    "half_finished",
    "observe",
    "override_capabilities",
    "rate_limit",
    "retry",
    "timeouts",
]


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
