"""Constraints as they are written → constraints of AIR, and whether they fit their type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..air.types import freeze
from ..limits import ALL_PATTERN_STATES
from ..values.constraints import BOUNDS
from ..values.formats import FORMATS
from ..values.patterns import PatternInvalid, check_pattern
from . import tree
from .diagnostics import Fix
from .forms import UNKNOWN, show
from .hints import near
from .literals import SAFE_INTEGER, OutOfRange, as_decimal, comparable, literal
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


def constraint_forms(
    unit: Unit, node: tree.ConstrainedType, base: TypeForm, patterns: dict[str, int]
) -> tuple[TypeForm, ...]:
    """The constraints of a type; those that are wrong are reported and left out.

    Parameters:
        base: the type without them.
        patterns: the program's patterns → states of their automatons; new ones are entered.
    """
    found: list[TypeForm] = []
    seen: dict[str, tree.Constraint] = {}
    unbounded = False
    for constraint in node.constraints:
        if base == UNKNOWN:
            continue
        if constraint.word in seen:
            _report(unit, constraint, f"`{constraint.word}` stands twice", "leave one")
            continue
        seen[constraint.word] = constraint
        if constraint.word in BOUNDS and base not in _BOUNDED:
            if not unbounded:
                title = f"`{constraint.word}` does not fit `{show(base)}`"
                _report(unit, constraint, title, _instead_of_bounds(node, base))
            unbounded = True  # said once for all of them
            continue
        if constraint.word == "matching":
            form = _matching(unit, constraint, base, patterns)
        else:
            rule = {"length": _length, "format": _format}.get(constraint.word, _bound)
            form = rule(unit, constraint, base)
        if form is not None:
            found.append(form)
    _check_bounds(unit, node, found)
    return tuple(found)


def _length(unit: Unit, node: tree.Constraint, base: TypeForm) -> TypeForm | None:
    if not _has_length(base):
        _report(unit, node, f"`length` does not fit `{show(base)}`", "only Text, List and Map have a length")
        return None
    if node.low is not None and node.high is not None and node.low > node.high:
        _report(unit, node, f"no length is from {node.low} to {node.high}", "exchange the two")
        return None
    if max(node.low or 0, node.high or 0) > SAFE_INTEGER:
        unit.problems.add(
            "TB4010", f"a length is at most {SAFE_INTEGER}", unit.source, node.span, "write a smaller number"
        )
        return None
    return ("length", node.low, node.high)


def _instead_of_bounds(node: tree.ConstrainedType, base: TypeForm) -> str:
    """What to write for the bounds of a type that has none."""
    if _has_length(base):
        numbers = {
            each.word: each.bound.value
            for each in node.constraints
            if isinstance(each.bound, tree.Literal) and each.bound.kind == "int"
        }
        if "min" in numbers and "max" in numbers:
            return f"write `length {numbers['min']} to {numbers['max']}`"
        for word in ("min", "max"):
            if word in numbers:
                return f"write `length {word} {numbers[word]}`"
        return "the length of a Text, List or Map is bound by `length min 1`, `length max 40` or `length 1 to 40`"
    return "only numbers, dates and durations have bounds"


def _has_length(base: TypeForm) -> bool:
    return base == "Text" or (isinstance(base, tuple) and base[0] in ("List", "Map"))


def _bound(unit: Unit, node: tree.Constraint, base: TypeForm) -> TypeForm | None:
    if node.bound is None or not isinstance(base, str):
        return None
    try:
        found = literal(node.bound)
    except OutOfRange as fault:
        unit.problems.add("TB4010", str(fault), unit.source, node.bound.span, "write a value that can be")
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


def _text_of(unit: Unit, node: tree.Constraint, base: TypeForm) -> tree.Literal | None:
    """The text behind `matching` or `format`, where it stands at a Text."""
    if base != "Text":
        _report(unit, node, f"`{node.word}` does not fit `{show(base)}`", "only Text has a pattern or format")
        return None
    return node.bound if isinstance(node.bound, tree.Literal) else None


def _matching(unit: Unit, node: tree.Constraint, base: TypeForm, patterns: dict[str, int]) -> TypeForm | None:
    text = _text_of(unit, node, base)
    if text is None:
        return None
    pattern = str(text.value)
    if pattern in patterns:
        return ("matching", pattern)
    try:
        patterns[pattern] = check_pattern(pattern)
    except PatternInvalid as fault:
        start = text.span.start + 1  # it stands in the source as it is
        place = tree.Span(start + fault.start, start + max(fault.end, fault.start + 1))
        unit.problems.add("TB4006", "this is no pattern", unit.source, place, fault.message)
        return None
    if sum(patterns.values()) > ALL_PATTERN_STATES:
        unit.problems.add(
            "TB9010", f"the patterns of the program have more than {ALL_PATTERN_STATES:,} states", unit.source,
            text.span, "use shorter quantities; `length` bounds a text at no cost",
        )  # fmt: skip
        del patterns[pattern]
        return None
    return ("matching", pattern)


def _format(unit: Unit, node: tree.Constraint, base: TypeForm) -> TypeForm | None:
    text = _text_of(unit, node, base)
    if text is None:
        return None
    name = str(text.value)
    if name in FORMATS:
        return ("format", name)
    nearest = near(name, FORMATS)
    unit.problems.add(
        "TB4006", "this format does not exist", unit.source, text.span,
        f'write `"{nearest}"`' if nearest else f"formats are {', '.join(FORMATS)}",
        candidates=(nearest,) if nearest else (), fix=Fix(text.span, f'"{nearest}"') if nearest else None,
    )  # fmt: skip
    return None


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
