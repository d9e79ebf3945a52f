"""One comprehension as Python: what the interpreter, in the middle of an expression, leaves to generated code."""

from __future__ import annotations

from .generate_expr import Expressions
from .generate_text import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..air.program import Callable as Declared
    from ..values.check import TypeTable
    from .generate_facts import CodeFacts


def write_collect(
    table: TypeTable, declared: Declared, facts: CodeFacts, node: list[Any], counts: bool
) -> tuple[str, Source, dict[str, str]]:
    """The source of a module whose ``made(X, m, S, L)`` does what a `collect` does with the elements L.

    It stands for the rest of an expression that the interpreter is in the middle of: X is the state, m the budget, S
    the slots of the frame at work. Gives the source's lines with their constants too, and the functions it applies.

    Raises:
        Refused: where nothing can be generated.
    """
    source = Source()
    functions: dict[str, str] = {}
    changed: set[int] = set()

    def change(slot: int) -> None:
        changed.add(slot)
        source.add(f"S[{slot:d}] = s{slot:d}")

    expressions = Expressions(
        source,
        table,
        declared.slots,
        facts.collected,
        lambda ref: functions.setdefault(ref, f"f{len(functions):d}"),
        change,
        counts,
    )
    expressions.check_size(node)
    source.add(f"return {expressions.collected(node, 'L')}")
    opening = [" e = X.room", *(f" s{slot:d} = S[{slot:d}]" for slot in sorted(changed | expressions.read))]
    if counts:
        opening.append(" U = X.functions")
    opening += [f" k{number:d} = c{number:d}" for number in sorted(source.local)]
    source.lines[:0] = opening
    source.places[:0] = [-1] * (len(opening) + 1)
    return "\n".join(["def made(X, m, S, L):", *source.lines, ""]), source, functions
