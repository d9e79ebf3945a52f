"""Assertions for tests of programs: what a run came to, what was refused, what its trace holds.

They take what the engines give and raise. A failing assertion prints what was expected, what there is and the trace as
a tree. Nothing here is a second runtime: the checks of the real one are what is tested.
"""

from __future__ import annotations

from .assertions import Refused, assert_run_refused, assert_run_succeeded
from .fakes import FakeTool, fake_tool
from .processes import HandlerAnswer, call_handler
from .project import ToubaProject
from .traces import assert_trace_events, trace_tree

__all__ = [
    "FakeTool",
    "HandlerAnswer",
    "Refused",
    "ToubaProject",
    "assert_run_refused",
    "assert_run_succeeded",
    "assert_trace_events",
    "call_handler",
    "fake_tool",
    "trace_tree",
]


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
