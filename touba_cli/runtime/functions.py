"""Which functions the statements of skills and strategies call: what a trace tells of them, counted by the engines.

One row for each function that a statement's expressions name and for each time that the statement is executed: how
often it was called, and the steps of those calls. What functions call among themselves adds to the steps of the one
that the statement named, and makes no row.

Whatever executes a program feeds it the same way: `begin_statement` before a statement whose instruction is `watched`,
`begin_call` and `end_call` around each function that such a statement applies itself. Generated code does what these
do by itself, and leaves a call that fails to `fail_call`. The machine takes the rows out and tells them as events.
Where nothing is watched nothing is counted, and nothing costs.
"""

from __future__ import annotations

from ..limits import PURE_FUNCTION_PAIRS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..air.program import Callable

_NONE: frozenset[int] = frozenset()


class FunctionRow:
    """A function in one execution of a statement. ``code`` is that of the failure with which its last call ended;
    ``open`` says that the last call has not ended; ``before`` are the steps that remained when it began, which only
    generated code says."""

    __slots__ = ("before", "code", "open", "ref", "steps", "times")

    def __init__(self, ref: str):
        self.ref = ref
        self.times = 0
        self.steps = 0
        self.code: str | None = None
        self.open = False
        self.before = 0


class FunctionTally:
    """The counts of one run, until `take` gives them away.

    Parameters:
        most: how many rows are given at most; the rest is only counted, in ``left_out``.
    """

    __slots__ = ("_most", "_told", "_watched", "left_out", "open", "rows")

    def __init__(self, most: int = PURE_FUNCTION_PAIRS):
        self._most = most
        self._told = 0
        #: rows of statements that are over
        self.rows: list[FunctionRow] = []
        #: function → row of the statement at work
        self.open: dict[str, FunctionRow] = {}
        self._watched: dict[str, frozenset[int]] = {}
        #: rows that were not given, because there are too many
        self.left_out = 0

    def watched(self, callable_: Callable) -> frozenset[int]:
        """Numbers of the instructions of a skill or strategy that apply functions; none of a function."""
        found = self._watched.get(callable_.ref)
        if found is None:
            found = _NONE
            if callable_.kind != "function":
                found = frozenset(pc for pc, instruction in enumerate(callable_.code) if applies(instruction))
            self._watched[callable_.ref] = found
        return found

    def begin_statement(self) -> None:
        """The next calls belong to a new execution of a statement."""
        if self.open:
            self.close()

    def add(self, ref: str) -> FunctionRow:
        """A new row for a function that the statement at work calls for the first time."""
        row = self.open[ref] = FunctionRow(ref)
        return row

    def begin_call(self, ref: str) -> None:
        """A statement calls a function."""
        row = self.open.get(ref) or self.add(ref)
        row.times += 1
        row.open = True

    def end_call(self, ref: str, steps: int, code: str | None = None) -> None:
        """It has ended after so many steps; ``code`` is that of the failure with which it did."""
        row = self.open[ref]
        row.steps += steps
        row.code = code
        row.open = False

    def fail_call(self, remaining: int, code: str) -> None:
        """The call that generated code has begun, if there is one, has failed with a code; so many steps remain."""
        for row in self.open.values():
            if row.open:
                row.steps += row.before - remaining
                row.code = code
                row.open = False

    def take(self) -> list[FunctionRow]:
        """The rows that were not given yet, in the order in which they began. The statement at work is over."""
        if self.open:
            self.close()
        rows, self.rows = self.rows, []
        return rows

    def close(self) -> None:
        """The statement at work is over."""
        room = self._most - self._told
        if room <= 0:
            self.left_out += len(self.open)
            self.open.clear()
            return
        rows = list(self.open.values())
        self.open.clear()
        if len(rows) > room:
            self.left_out += len(rows) - room
            rows = rows[:room]
        self._told += len(rows)
        self.rows += rows


def applies(node: Any) -> bool:
    """Whether a node or a part of it applies a function."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            if part and part[0] == "apply":
                return True
            waiting.extend(part)
    return False
