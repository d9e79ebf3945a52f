"""One loop behind every door: each case gives the same sessions, results, errors and events through all of them."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from .kit import CANCELS, DOORS, STREAMS, Door

MODULES = ("basic", "cancellation", "events", "gate", "guardrails", "queues", "tools", "turns")
FIXTURES = {"door": DOORS, "stream_door": STREAMS, "cancel_door": CANCELS}


def cases() -> list[Any]:
    """Every test of the case modules whose only argument is a door."""
    found = []
    for name in MODULES:
        module = importlib.import_module(f"{__package__}.test_cases_{name}")
        for test in vars(module).values():
            if not inspect.isfunction(test) or not test.__name__.startswith("test_"):
                continue
            parameters = list(inspect.signature(test).parameters)
            if len(parameters) == 1 and parameters[0] in FIXTURES:
                found.append(pytest.param(test, FIXTURES[parameters[0]], id=f"{name}-{test.__name__}"))
    return found


CASES = cases()
#: how far these come before the wish to cancel arrives, or the order in which their tools end, is left to the scheduler
TIMING = {"test_case_114_cancelled_before_the_second_call"}
UNORDERED = {
    "test_case_035_two_at_a_time",
    "test_a_serial_tool_is_alone",
    "test_case_070_after_tool_hooks_never_overlap",
    "test_threads_run_beside_each_other_and_their_failures_are_results",
}


def test_the_cases_are_found() -> None:
    assert len(CASES) > 120


@pytest.mark.parametrize(("case", "doors"), CASES)
def test_every_door_gives_the_same(case: Callable[[Door], None], doors: tuple[str, ...]) -> None:
    records: dict[str, list[dict[str, Any]]] = {}
    for name in doors:
        door = Door(name)
        case(door)
        records[name] = door.records
    first, *others = doors
    assert records[first], "the case ran an agent"
    if case.__name__ in UNORDERED:
        for found in records.values():
            for record in found:
                record["events"].sort(key=repr)
    for name in others:
        if case.__name__ not in TIMING:
            assert records[name] == records[first], f"{name} differs from {first}"
