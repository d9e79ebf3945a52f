"""Literals: what AIR writes for them, and which are out of range."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from ..codec import INT_HIGH, INT_LOW
from ..values.numbers import Misspelt, decimal_text, float_text, read_decimal, read_float
from ..values.times import (
    date_text,
    datetime_text,
    duration_text,
    microseconds,
    read_date,
    read_datetime,
    read_duration,
)
from . import tree

if TYPE_CHECKING:
    from ..air.types import TypeForm
    from .names import Unit

#: whole numbers beyond ± this are text in AIR
SAFE_INTEGER = 2**53 - 1

_KINDS: dict[str, TypeForm] = {
    "int": "Int", "decimal": "Decimal", "float": "Float", "text": "Text", "bool": "Bool", "date": "Date",
    "datetime": "DateTime", "duration": "Duration",
}  # fmt: skip

#: the kinds that a `-` before them belongs to
SIGNED_KINDS = frozenset(("int", "decimal", "float", "duration"))


class OutOfRange(Exception):
    """A literal that spells no value of its type; the message is the title of the problem."""


def literal(node: tree.Expr) -> tuple[TypeForm, list[Any]] | None:
    """The type and AIR of a literal, or of a `-` before a number or duration; None for everything else and `none`.

    Raises OutOfRange.
    """
    sign = ""
    if isinstance(node, tree.Prefix) and node.operator == "-" and isinstance(node.operand, tree.Literal):
        if node.operand.kind not in SIGNED_KINDS:
            return None
        node = node.operand
        sign = "-"
    if not isinstance(node, tree.Literal) or node.kind == "none":
        return None
    return _KINDS[node.kind], _code(node.kind, node.value, sign)


def _code(kind: str, value: Any, sign: str) -> list[Any]:
    if kind == "int":
        return int_code(-value if sign else value)
    if kind in ("text", "bool"):
        return [kind, value]
    if kind == "duration":
        return ["duration", duration_text(-duration(value) if sign else duration(value))]
    try:
        if kind == "decimal":
            return ["dec", decimal_text(read_decimal(sign + value))]
        if kind == "float":
            return ["float", float_text(read_float(sign + value))]
        if kind == "date":
            return ["date", date_text(read_date(value))]
        return ["datetime", datetime_text(read_datetime(value))]
    except Misspelt as fault:
        raise OutOfRange(f"the {_KINDS[kind]} cannot be: {fault.message}") from None


def int_code(value: int) -> list[Any]:
    """An Int literal. Raises OutOfRange."""
    if not INT_LOW <= value <= INT_HIGH:
        raise OutOfRange("an Int is within 64 bits: from -9223372036854775808 to 9223372036854775807")
    return ["int", value if -SAFE_INTEGER <= value <= SAFE_INTEGER else str(value)]


def duration(value: Any) -> timedelta:
    """The Duration of an amount and a unit. Raises OutOfRange."""
    amount, unit = value
    try:
        return timedelta(**{unit: amount})
    except OverflowError:
        raise OutOfRange("the Duration is longer than any can be") from None


def as_decimal(code: list[Any]) -> list[Any]:
    """An Int as a Decimal: a literal becomes one of Decimal, everything else is widened when it runs."""
    return ["dec", str(code[1])] if code[0] == "int" else ["widen", code]


def plain_text(unit: Unit, node: tree.Expr, why: str) -> str | None:
    """The text of a literal without interpolations; None where there is another, which is reported.

    ``why`` is the fact that speaks against an interpolation.
    """
    if isinstance(node, tree.Literal) and isinstance(node.value, str):
        return node.value
    if isinstance(node, tree.Interpolation):
        unit.problems.add("TB4008", f"{why}, and nothing is inserted into it", unit.source, node.span, "write `\\{`")
    return None


def comparable(code: list[Any]) -> tuple[str, Any]:
    """A key by which literals of one type can be compared: equal values have equal keys."""
    kind, spelled = code
    if kind == "int":
        return kind, int(spelled)
    if kind == "dec":
        return kind, read_decimal(spelled)
    if kind == "float":
        return kind, read_float(spelled)
    if kind == "datetime":
        return kind, read_datetime(spelled)
    if kind == "duration":
        return kind, microseconds(read_duration(spelled))
    return kind, spelled
