"""Constraints as they are written → constraints of AIR, and whether they fit their type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..air.types import freeze
from . import tree
from .forms import UNKNOWN, show
from .literals import OutOfRange, as_decimal, comparable, literal
from .names import Unit

if TYPE_CHECKING:
    from ..air.types import TypeForm

_BOUNDED = frozenset(("Int", "Decimal", "Float", "Date", "DateTime", "Duration"))
_LOWER = frozenset(("min", "above"))

#: how a bound of each type is written, for the label of the problem
_EXAMPLES = {
    "Int": "0", "Decimal": "0.01", "Float": "0.5f", "Date": 'date "2026-01-31"',
    "DateTime": 'datetime "2026-01-31T12:00:00Z"', "Duration": "30 seconds",
}  # fmt: skip


def constraint_forms(unit: Unit, node: tree.ConstrainedType, base: TypeForm) -> tuple[TypeForm, ...]:
    """The constraints of a type whose base is ``base``; those that are wrong are reported and left out."""
    found: list[TypeForm] = []
    seen: dict[str, tree.Constraint] = {}
    for constraint in node.constraints:
        if base == UNKNOWN:
            continue
        if constraint.word in seen:
            _report(unit, constraint, f"`{constraint.word}` stands twice", "leave one")
            continue
        seen[constraint.word] = constraint
        form = _length(unit, constraint, base) if constraint.word == "length" else _bound(unit, constraint, base)
        if form is not None:
            found.append(form)
    _check_bounds(unit, node, found)
    return tuple(found)


def _length(unit: Unit, node: tree.Constraint, base: TypeForm) -> TypeForm | None:
    if base != "Text" and not (isinstance(base, tuple) and base[0] in ("List", "Map")):
        _report(unit, node, f"`length` does not fit `{show(base)}`", "only Text, List and Map have a length")
        return None
    if node.low is not None and node.high is not None and node.low > node.high:
        _report(unit, node, f"no length is from {node.low} to {node.high}", "exchange the two")
        return None
    return ("length", node.low, node.high)


def _bound(unit: Unit, node: tree.Constraint, base: TypeForm) -> TypeForm | None:
    if base not in _BOUNDED or not isinstance(base, str):
        _report(
            unit, node, f"`{node.word}` does not fit `{show(base)}`", "only numbers, dates and durations have bounds"
        )
        return None
    if node.bound is None:
        return None
    try:
        found = literal(node.bound)
    except OutOfRange as fault:
        unit.problems.add("TB4010", str(fault), unit.source, node.bound.span)
        return None
    if found is None:
        return None
    form, code = found
    if form == "Int" and base == "Decimal":
        code = as_decimal(code)
    elif form != base:
        unit.problems.add(
            "TB4006", f"`{node.word}` of `{base}` needs a bound of that type, not of `{show(form)}`", unit.source,
            node.bound.span, f"write it like `{_EXAMPLES[base]}`",
        )  # fmt: skip
        return None
    return (node.word, freeze(code))


def _check_bounds(unit: Unit, node: tree.ConstrainedType, forms: list[TypeForm]) -> None:
    """Refuse bounds between which no value lies."""
    lower = [each for each in forms if each[0] in _LOWER]
    upper = [each for each in forms if each[0] in ("max", "below")]
    for low in lower:
        for high in upper:
            least: Any = comparable(list(low[1]))[1]
            most: Any = comparable(list(high[1]))[1]
            if least > most or (least == most and (low[0], high[0]) != ("min", "max")):
                _report(unit, node, "no value keeps these bounds", "change one of them")
                return


def _report(unit: Unit, node: tree.Node, title: str, label: str) -> None:
    unit.problems.add("TB4006", title, unit.source, node.span, label)
