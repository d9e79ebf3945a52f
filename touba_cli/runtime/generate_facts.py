"""What all pieces of one callable need to know of its code, found once: a callable can have thousands of them."""

from __future__ import annotations

from ..air.costs import instruction_expressions
from .functions import applies
from .generate_expr import parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..air.program import Callable as Declared


class CodeFacts:
    """What is known of the code of a callable.

    ``ends`` has the first instruction of each loop with its back edge, ``attempted`` the instructions at which an
    attempt is open, ``collected`` the slots that some `collect` changes. ``applies`` says whether it calls functions.
    """

    __slots__ = ("applies", "attempted", "collected", "ends")

    def __init__(self, declared: Declared):
        code = declared.code
        self.ends = {each[1]: pc for pc, each in enumerate(code) if each[0] == "again"}
        self.attempted = _attempted(code)
        self.collected = _collected(code)
        self.applies = any(map(applies, code))


def _attempted(code: list[list[Any]]) -> frozenset[int]:
    found: set[int] = set()
    seen: set[int] = set()
    waiting = [(0, 0)]
    while waiting:
        pc, depth = waiting.pop()
        if pc in seen or pc >= len(code):
            continue
        seen.add(pc)
        if depth:
            found.add(pc)
        instruction = code[pc]
        name = instruction[0]
        if name == "attempt":
            waiting += [(pc + 1, depth + 1), (instruction[1], depth)]
        elif name == "leave":
            waiting.append((pc + 1, depth - 1))
        elif name in ("jump", "again"):
            waiting.append((instruction[1], depth))
        elif name in ("unless", "each", "times"):
            waiting += [(pc + 1, depth), (instruction[-1], depth)]
        elif name not in ("give", "stop", "fail"):
            waiting.append((pc + 1, depth))
    return frozenset(found)


def _collected(code: list[list[Any]]) -> frozenset[int]:
    found: set[int] = set()
    waiting = [node for instruction in code for node in instruction_expressions(instruction)]
    while waiting:
        node = waiting.pop()
        if node[0] == "collect":
            found.add(node[1])
        waiting.extend(parts(node))
    return frozenset(found)
