"""Tokens between two reports of one run, whose usage is always that of the whole run so far."""

from __future__ import annotations

from touba_sdk.models import Usage
from touba_sdk.models.responses import COUNTS

__all__ = ["spent_since"]


def spent_since(before: Usage, now: Usage) -> Usage:
    """What was spent between two reports; adding the reports themselves would count tokens again at every turn.

    >>> spent_since(Usage(10, 5), Usage(25, 9)).total_tokens
    19
    """
    return Usage(**{name: max(0, getattr(now, name) - getattr(before, name)) for name in COUNTS}, partial=now.partial)
