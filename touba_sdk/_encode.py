"""Python values to their wire form: the one table for inputs of a run and for what handlers return.

=========================================  ===========================================================
Python                                     on the wire
=========================================  ===========================================================
`None`, `bool`, `str`                      the same
`int`                                      the same, within 64 bits
`float`                                    the same; NaN and infinities are refused
`Decimal`                                  text in plain notation
`date`                                     `2026-01-31`
`datetime` with an offset                  RFC 3339; without one it is refused
`timedelta`                                ISO 8601 (`PT1H30M`); a day is 24 hours
`Enum` member                              its value, by this table
`UUID`                                     text
dataclass, pydantic model, mapping         object; keys are texts
`list`, `tuple` and other sequences        list
=========================================  ===========================================================

Everything else is refused with its path: bytes, sets, iterators, times without a date, keys that are no texts.

Handlers load this module, so it imports nothing that a bare interpreter has not loaded: a value can only be a
`Decimal` where ``decimal`` was imported already, and so on.
"""

from __future__ import annotations

import sys
from _collections_abc import Iterator, Mapping, Sequence, Set

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

INT_LOW = -(2**63)
INT_HIGH = 2**63 - 1

#: nesting of one value, as in ``touba_cli/limits.py``
DEPTH = 100
#: digits and places that a Decimal may spell out: none has more than 34 significant digits and 6,176 places
DECIMAL_PLACES = 34 + 6_176

_INFINITY = float("inf")


class Misplaced(ValueError):
    """What is wrong in a value: ``path`` says where (`$` is the whole value), ``message`` why. Never the value."""

    def __init__(self, path: str, message: str):
        super().__init__(path, message)
        self.path = path
        self.message = message

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


class EncodeError(Misplaced):
    """A part of a value has no wire form."""


class _Refused(Exception):
    """Travels outward and collects the steps of the path, so that nothing is spent on paths that nobody needs."""

    def __init__(self, message: str):
        super().__init__(message)
        self.message = message
        self.steps: list[str | int] = []


class _TooDeep(_Refused):
    """A value is nested deeper than it may be."""


def encode(value: Any, *, levels: int = DEPTH, outer: int = 0) -> Any:
    """Give the wire form of a Python value: dict, list, str, int, float, bool and None.

    Parameters:
        value: what is to be sent.
        levels: how deep it may be nested.
        outer: how many levels stand around what counts, as the object of named inputs does.

    Raises:
        EncodeError: with the path of the first part that has no wire form.

    >>> from decimal import Decimal
    >>> encode({"amount": Decimal("12.50"), "tags": ("a", "b")})
    {'amount': '12.50', 'tags': ['a', 'b']}
    """
    try:
        return _encode(value, DEPTH - levels - outer)
    except _TooDeep as refused:
        message = f"nested deeper than {levels} levels, or inside itself"
        raise EncodeError(show_path(reversed(refused.steps)), message) from None
    except _Refused as refused:
        raise EncodeError(show_path(reversed(refused.steps)), refused.message) from None


def show_path(steps: Any) -> str:
    """Write a path as the runtime does: `lines[1].name`, `rates["EUR/USD"]`, `$` for the whole value."""
    text = ""
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step.isascii() and step.isidentifier():
            text += f".{step}" if text else step
        else:
            quoted = step if len(step) <= 60 else step[:57] + "..."
            text += f'["{quoted.encode("unicode_escape").decode("ascii")}"]'
    if text.startswith("["):
        return "$" + text
    return text or "$"


def _encode(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind is str:
        return _text(value)
    if value is None or kind is bool:
        return value
    if kind is int:
        return _integer(value)
    if kind is float:
        return _float(value)
    if kind is dict:
        return _mapping(value, depth)
    if kind is list or kind is tuple:
        return _sequence(value, depth)
    return _other(value, depth)


def _other(value: Any, depth: int) -> Any:
    """What the exact types above do not settle, narrowest first (members of an IntEnum are integers, too)."""
    if _is(value, "enum", "Enum"):
        return _encode(value.value, _deeper(depth))
    if _is(value, "decimal", "Decimal"):
        return _decimal(value)
    if _is(value, "datetime", "datetime"):
        return _moment(value)
    if _is(value, "datetime", "date"):
        return value.isoformat()
    if _is(value, "datetime", "timedelta"):
        return _duration(value)
    if _is(value, "uuid", "UUID"):
        return str(value)
    if isinstance(value, str):
        return _text(str.__str__(value))
    if isinstance(value, int):
        return _integer(int.__add__(value, 0))
    if isinstance(value, float):
        return _float(float.__add__(value, 0.0))
    if isinstance(value, type):
        raise _Refused(f"the class {value.__name__} is no value; give an instance")
    if hasattr(value, "model_dump"):
        return _encode(value.model_dump(by_alias=True), _deeper(depth))
    if hasattr(value, "__dataclass_fields__"):
        return _dataclass(value, depth)
    if isinstance(value, Mapping):
        return _mapping(value, depth)
    if isinstance(value, (bytes, bytearray, memoryview)):
        raise _Refused("bytes have no wire form; give text, for example base64")
    if isinstance(value, Set):
        raise _Refused("a set has no order; give a sorted list")
    if isinstance(value, Sequence):
        return _sequence(value, depth)
    if isinstance(value, Iterator):
        raise _Refused("an iterator can be read only once; give a list")
    if hasattr(value, "__await__"):
        raise _Refused("an awaitable is no value; await it")
    raise _Refused(f"{type(value).__name__} has no wire form")


def _is(value: Any, module: str, name: str) -> bool:
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(value, getattr(loaded, name))


def _deeper(depth: int) -> int:
    if depth >= DEPTH:
        raise _TooDeep("too deep")
    return depth + 1


def _text(value: str) -> str:
    if not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as fault:
            raise _Refused(f"the text holds the lone surrogate \\u{ord(value[fault.start]):04x}") from None
    return value


def _integer(value: int) -> int:
    if INT_LOW <= value <= INT_HIGH:
        return value
    raise _Refused("the integer is outside 64 bits; give a Decimal")


def _float(value: float) -> float:
    if value != value or value in (_INFINITY, -_INFINITY):
        raise _Refused("the float is not a finite number")
    return value


def _decimal(value: Any) -> str:
    if not value.is_finite():
        raise _Refused("the Decimal is not a finite number")
    _, digits, exponent = value.as_tuple()
    if len(digits) + abs(exponent) > DECIMAL_PLACES:
        raise _Refused("the Decimal has more places than any that Touba takes")
    return format(value if value else value.copy_abs(), "f")


def _moment(value: Any) -> str:
    offset = value.utcoffset()
    if offset is None:
        raise _Refused("the datetime has no offset; give it a time zone")
    if offset.seconds % 60 or offset.microseconds:
        raise _Refused("the offset of the datetime is not whole minutes")
    return str(value.isoformat())


def _duration(value: Any) -> str:
    microseconds = (value.days * 86_400 + value.seconds) * 1_000_000 + value.microseconds
    sign = "-" if microseconds < 0 else ""
    seconds, microseconds = divmod(abs(microseconds), 1_000_000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    fraction = f".{microseconds:06d}".rstrip("0") if microseconds else ""
    date = f"{days}D" if days else ""
    clock = f"{hours}H" if hours else ""
    clock += f"{minutes}M" if minutes else ""
    if seconds or fraction or not (date or clock):
        clock += f"{seconds}{fraction}S"
    return f"{sign}P{date}" + (f"T{clock}" if clock else "")


def _dataclass(value: Any, depth: int) -> dict[str, Any]:
    inner = _deeper(depth)
    fields = sys.modules["dataclasses"].fields(value)
    found: dict[str, Any] = {}
    for field in fields:
        try:
            found[field.name] = _encode(getattr(value, field.name), inner)
        except _Refused as refused:
            refused.steps.append(field.name)
            raise
    return found


def _mapping(value: Any, depth: int) -> dict[str, Any]:
    inner = _deeper(depth)
    found: dict[str, Any] = {}
    for given, item in value.items():
        if not isinstance(given, str):
            raise _Refused(f"a key is {type(given).__name__}; keys are texts")
        key = _text(given if type(given) is str else str(_encode(given, inner)))
        if key in found:
            raise _Refused("two keys have the same text")
        try:
            found[key] = _encode(item, inner)
        except _Refused as refused:
            refused.steps.append(key)
            raise
    return found


def _sequence(value: Any, depth: int) -> list[Any]:
    inner = _deeper(depth)
    found: list[Any] = []
    for item in value:
        try:
            found.append(_encode(item, inner))
        except _Refused as refused:
            refused.steps.append(len(found))
            raise
    return found
