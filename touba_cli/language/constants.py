"""Literals that could never work where they stand: beyond the constraints of their place, as a position, as a divisor.

Whatever is only known when a program runs is checked there. What the text alone tells is an error here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..values.constraints import make_rule
from ..values.literals import literal
from ..values.model import ListValue
from . import tree

if TYPE_CHECKING:
    from ..air.types import TypeForm
    from .types import Types

_LITERALS: dict[str, TypeForm] = {
    "int": "Int", "dec": "Decimal", "float": "Float", "text": "Text", "date": "Date", "datetime": "DateTime",
    "duration": "Duration",
}  # fmt: skip
_NUMBERS = frozenset(("int", "dec", "float"))


def misfits(types: Types, declared: TypeForm, code: list[Any], node: tree.Expr) -> Iterator[tuple[tree.Node, str]]:
    """The literals in the AIR of an expression that break the constraints of where it goes, and what they break.

    Parameters:
        declared: the type of the place, with its constraints.
        code: what the expression came to; where it does not fit the type at all, that was reported.
        node: the expression.
    """
    form = types.unfolded(declared)
    if isinstance(form, str):
        return
    if form[0] == "is":
        yield from misfits(types, form[1], code, node)
        inside = code[1] if code[0] == "some" else code
        found = _broken(types.base(form[1]), form[2], inside)
        if found is not None:
            yield node, found
    elif form[0] == "Optional" and code[0] == "some":
        yield from misfits(types, form[1], code[1], node)
    elif form[0] == "List" and code[0] == "list" and isinstance(node, tree.ListLiteral):
        for item, part in zip(node.items, code[2], strict=True):
            yield from misfits(types, form[1], part, item)
    elif form[0] == "Map" and code[0] == "map" and isinstance(node, tree.MapLiteral):
        for (_, value), (_, part) in zip(node.entries, code[2], strict=True):
            yield from misfits(types, form[1], part, value)


def _broken(base: TypeForm, constraints: tuple[Any, ...], code: list[Any]) -> str | None:
    """The first of the constraints that a literal of the base breaks, in words."""
    if code[0] in _LITERALS:
        if _LITERALS[code[0]] != base:
            return None
        return _rule(constraints)(literal(code))
    if code[0] == "list" and not isinstance(base, str) and base[0] == "List":
        lengths = tuple(each for each in constraints if each[0] == "length")
        # Only how many elements there are is looked at.
        return _rule(lengths)(ListValue(tuple(code[2]), 0, 0)) if lengths else None
    return None


@lru_cache(maxsize=64)
def _rule(constraints: tuple[Any, ...]) -> Callable[[Any], str | None]:
    """The rule of constraints, made once: a pattern is an automaton."""
    return make_rule(constraints)


def is_zero(code: list[Any]) -> bool:
    """Whether a number is the literal 0, in whatever spelling."""
    return code[0] in _NUMBERS and str(code[1]).strip("-0.") == ""


def is_negative(code: list[Any]) -> bool:
    """Whether an Int is a literal below 0."""
    return code[0] == "int" and str(code[1]).startswith("-")
