"""How things are measured here: medians of interleaved repetitions, and rows of a table."""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

#: the interpreter that the engine starts, and the yardstick ``py``: an empty start of it
PYTHON = str(getattr(sys, "_base_executable", None) or sys.executable)
EMPTY_START = [PYTHON, "-I", "-S", "-c", "pass"]


@dataclass(frozen=True)
class Row:
    """What was measured, the figure, its unit (``py``, ``x`` or ``µs``), and what it shall be at most."""

    what: str
    figure: float
    unit: str
    target: float | None = None

    @property
    def is_missed(self) -> bool:
        return self.target is not None and self.figure > self.target


def interleaved(cases: Mapping[str, Callable[[], object]], repetitions: int) -> dict[str, float]:
    """Median seconds of each case, taken in turns; once more before, which warms up."""
    taken: dict[str, list[float]] = {name: [] for name in cases}
    for case in cases.values():
        case()
    for _ in range(repetitions):
        for name, case in cases.items():
            gc.collect()
            start = time.perf_counter()
            case()
            taken[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in taken.items()}
