"""Ready-made observers of agents: a recorder in memory, and a projection to OpenTelemetry.

Both are given to agents as ``on_event``. Neither owns a thread, sends anything by itself, or keeps what was said.

>>> recorder = Recorder()
>>> agent = Agent(model, on_event=recorder)  # doctest: +SKIP
>>> recorder.totals.runs_started
0
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .recorder import Latency, Recorder, RunTrace, ToolTrace, Totals

if TYPE_CHECKING:
    from .otel import OpenTelemetry

__all__ = ["Latency", "OpenTelemetry", "Recorder", "RunTrace", "ToolTrace", "Totals"]


def __getattr__(name: str) -> object:
    if name != "OpenTelemetry":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .otel import OpenTelemetry  # needs the extra `otel`

    return OpenTelemetry


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
