"""Constraints of types: ``["length", LOW, HIGH]``, ``["min"|"max"|"above"|"below", LITERAL]``, ``["matching", P]``
and ``["format", NAME]``.

A constraint binds the value itself, through Optional the value inside; it never looks into elements.
"""

from __future__ import annotations

from ..errors import ToubaFailure
from .literals import literal
from .model import ABSENT, ListValue, MapValue, Present
from .paths import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .model import Value

    Rule = Callable[[Value], str | None]

#: kind → how messages say it
BOUNDS = {"min": "at least", "max": "at most", "above": "above", "below": "below"}


def make_rule(constraints: tuple[Any, ...]) -> Rule:
    """A function that says what a value breaks, as in ``must be at least 0``, or gives None.

    Parameters:
        constraints: those of an ``("is", BASE, CONSTRAINTS)``.

    Raises:
        ToubaFailure: AirInvalid, where a limit is no literal, a pattern or format none.
    """
    rules = [_RULES[constraint[0]](*constraint) for constraint in constraints]

    def check(value: Value) -> str | None:
        while isinstance(value, Present):
            value = value.value
        if value is ABSENT:
            return None
        for rule in rules:
            broken = rule(value)
            if broken is not None:
                return broken
        return None

    return check


def reading_steps(constraints: tuple[Any, ...], value: Value) -> int:
    """The steps that checking the constraints is charged: 1 for every 16 code points that a pattern or format reads."""
    readers = sum(constraint[0] in ("matching", "format") for constraint in constraints)
    if not readers:
        return 0
    while isinstance(value, Present):
        value = value.value
    return 0 if value is ABSENT else readers * (len(value) >> 4)


def _length(kind: str, low: int | None, high: int | None) -> Rule:
    def check(value: Value) -> str | None:
        if isinstance(value, ListValue):
            length, unit = len(value.items), "elements"
        elif isinstance(value, MapValue):
            length, unit = len(value.entries), "entries"
        else:
            length, unit = len(value), "characters"
        if (low is None or length >= low) and (high is None or length <= high):
            return None
        return f"must have {length_words(low, high)} {unit}"

    return check


def length_words(low: int | None, high: int | None) -> str:
    """How messages and schemas say a length: ``1 to 40``, ``at most 40``."""
    if low == high:
        return f"exactly {low}"
    if low is None:
        return f"at most {high}"
    return f"at least {low}" if high is None else f"{low} to {high}"


def _bound(kind: str, node: Any) -> Rule:
    limit = literal(node)
    sentence = f"must be {BOUNDS[kind]} {node[1]}"
    if kind == "min":
        return lambda value: None if value >= limit else sentence
    if kind == "max":
        return lambda value: None if value <= limit else sentence
    if kind == "above":
        return lambda value: None if value > limit else sentence
    return lambda value: None if value < limit else sentence


def _matching(kind: str, source: str) -> Rule:
    from .patterns import Pattern, PatternInvalid

    try:
        pattern = Pattern(source)
    except PatternInvalid as fault:
        raise ToubaFailure("AirInvalid", f"a pattern cannot be read: {fault.message}") from None
    sentence = "must match " + shown(source).replace("\\\\", "\\")  # `shown` doubles backslashes
    return lambda value: None if pattern.matches(value) else sentence


def _format(kind: str, name: str) -> Rule:
    from .formats import DESCRIBED, FORMATS

    fits = FORMATS.get(name)
    if fits is None:
        raise ToubaFailure("AirInvalid", "a format is not known")
    sentence = f"must be {DESCRIBED[name]}"
    return lambda value: None if fits(value) else sentence


_RULES: dict[str, Callable[..., Rule]] = {
    "length": _length,
    "matching": _matching,
    "format": _format,
    **dict.fromkeys(BOUNDS, _bound),
}
