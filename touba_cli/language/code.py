"""Instructions of one callable while they are made: their numbers, their jumps and their places in the source."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..air.costs import callable_costs
from ..limits import JSON_DEPTH
from . import tree

if TYPE_CHECKING:
    from ..air.types import TypeForm

#: levels of the AIR document above an instruction, and one for what a reader wraps around it
_ABOVE = 6

#: how deep an instruction may be nested, so that the document stays within the depth of any JSON document
INSTRUCTION_DEPTH = JSON_DEPTH - _ABOVE


class Effect:
    """A call, question, review or group that was checked: the base type of its result, and what emits it.

    ``emit`` takes the slot of the result, or None where nothing keeps it.
    """

    __slots__ = ("emit", "form")

    def __init__(self, form: TypeForm, emit: Callable[[int | None], object]):
        self.form = form
        self.emit = emit


class Code:
    """Instructions and the span of each. Forward jumps are made with target -1 and settled later."""

    def __init__(self) -> None:
        self.instructions: list[list[Any]] = []
        self.spans: list[tree.Span] = []

    @property
    def here(self) -> int:
        """The number of the next instruction."""
        return len(self.instructions)

    def emit(self, span: tree.Span, *parts: Any) -> int:
        """Add an instruction; its number."""
        self.instructions.append(list(parts))
        self.spans.append(span)
        return len(self.instructions) - 1

    def settle(self, jumps: list[int]) -> None:
        """Let forward jumps lead to the next instruction."""
        for pc in jumps:
            instruction = self.instructions[pc]
            instruction[instruction.index(-1)] = self.here

    def cut(self, length: int) -> None:
        """Drop what was made after a point: it can never be reached."""
        del self.instructions[length:]
        del self.spans[length:]

    def finish(self) -> int:
        """Write the costs of loops into their back edges; the cost of the callable."""
        cost, loops = callable_costs(self.instructions)
        for pc, loop_cost in loops.items():
            self.instructions[pc][2] = loop_cost
        return cost


def depth_of(code: Any) -> int:
    """How deep arrays lie inside each other. Nothing here recurses."""
    deepest = 0
    waiting: list[tuple[Any, int]] = [(code, 1)]
    while waiting:
        part, depth = waiting.pop()
        deepest = max(deepest, depth)
        waiting.extend((each, depth + 1) for each in part if isinstance(each, (list, tuple)))
    return deepest
