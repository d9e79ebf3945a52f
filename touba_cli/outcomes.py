"""How a run can end: status, reason and exit code, once.

Plain data without imports. ``docs/errors.md`` shows this table; the runtime writes envelopes from it and the
SDK's reader checks them against it. For a failed run the reason is the code of its error, and the exit code is
that of the error's phase.
"""

from __future__ import annotations

#: outcome → (status, reason, exit code)
OUTCOMES: dict[str, tuple[str, str, int]] = {
    "finished": ("success", "completed", 0),
    "stopped": ("stopped", "stopped", 11),
    "cancelled": ("cancelled", "cancelled", 130),
}

#: phase of an error → exit code
PHASES: dict[str, int] = {
    "usage": 2,
    "compile": 3,
    "admission": 4,
    "runtime": 5,
    "launch": 6,
    "internal": 7,
}

STATUSES: tuple[str, ...] = ("success", "stopped", "cancelled", "failed")
