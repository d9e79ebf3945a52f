"""Which functions the statements of skills and strategies call: what a trace tells of them, counted by the engines.

One row for each function that a statement's expressions name and for each time that the statement is executed: how
often it was called, and the steps of those calls. What functions call among themselves adds to the steps of the one
that the statement named, and makes no row.

Whatever executes a program feeds it the same way: `begin_statement` before a statement whose instruction is `watched`,
`begin_call` and `end_call` around each function that such a statement applies itself. The machine takes the rows out
and tells them as events. Where nothing is watched nothing is counted, and nothing costs.
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
    ``open`` says that the last call has not ended."""

    __slots__ = ("code", "open", "ref", "steps", "times")

    def __init__(self, ref: str):
        self.ref = ref
        self.times = 0
        self.steps = 0
        self.code: str | None = None
        self.open = False


class FunctionTally:
    """The counts of one run, until `take` gives them away.

    Parameters:
        most: how many rows are given at most; the rest is only counted, in ``left_out``.
    """

    __slots__ = ("_most", "_open", "_rows", "_told", "_watched", "left_out")

    def __init__(self, most: int = PURE_FUNCTION_PAIRS):
        self._most = most
        self._told = 0
        #: rows of statements that are over
        self._rows: list[FunctionRow] = []
        #: function → row of the statement at work
        self._open: dict[str, FunctionRow] = {}
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
        if self._open:
            self._close()

    def begin_call(self, ref: str) -> None:
        """A statement calls a function."""
        row = self._open.get(ref)
        if row is None:
            row = self._open[ref] = FunctionRow(ref)
        row.times += 1
        row.open = True

    def end_call(self, ref: str, steps: int, code: str | None = None) -> None:
        """It has ended after so many steps; ``code`` is that of the failure with which it did."""
        row = self._open[ref]
        row.steps += steps
        row.code = code
        row.open = False

    def take(self) -> list[FunctionRow]:
        """The rows that were not given yet, in the order in which they began. The statement at work is over."""
        if self._open:
            self._close()
        rows, self._rows = self._rows, []
        return rows

    def _close(self) -> None:
        rows = list(self._open.values())
        self._open = {}
        room = self._most - self._told
        if len(rows) > room:
            self.left_out += len(rows) - room
            rows = rows[:room]
        self._told += len(rows)
        self._rows += rows


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
