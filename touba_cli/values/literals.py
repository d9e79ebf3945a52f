"""Literals of AIR: values written as ``["dec", "12.50"]``. They have one spelling each."""

from __future__ import annotations

from ..errors import ToubaFailure
from .numbers import Misspelt, decimal_text, float_text, read_decimal, read_float, read_int
from .times import date_text, datetime_text, duration_text, read_date, read_datetime, read_duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .model import Value

#: the largest Int that AIR writes as a number, either way
_AIR_INT = 2**53 - 1

_READERS: dict[str, Callable[[str], Any]] = {
    "dec": read_decimal,
    "float": read_float,
    "date": read_date,
    "datetime": read_datetime,
    "duration": read_duration,
}

_WRITERS: dict[str, Callable[[Any], str]] = {
    "dec": decimal_text,
    "float": float_text,
    "date": date_text,
    "datetime": datetime_text,
    "duration": duration_text,
}


def literal(node: Any) -> Value:
    """The value of a literal of AIR: ``["dec", "12.50"]``.

    Literals have one spelling, the one that `write_literal` gives.

    Raises:
        ToubaFailure: AirInvalid, where the node is no literal or is spelt in another way.
    """
    if len(node) == 1 and node[0] == "nothing":
        return None
    if len(node) != 2 or not isinstance(node[0], str):
        raise _no_literal("it is no literal")
    kind, written = node
    if kind == "text" and isinstance(written, str):
        return written
    if kind == "bool" and isinstance(written, bool):
        return written
    if kind == "int":
        return _literal_int(written)
    reader = _READERS.get(kind)
    if reader is None or not isinstance(written, str):
        raise _no_literal("it is no literal")
    try:
        value = reader(written)
    except Misspelt as fault:
        raise _no_literal(fault.message) from None
    if _WRITERS[kind](value) != written:
        raise _no_literal("it is not in its one spelling")
    return value


def _literal_int(written: Any) -> int:
    if isinstance(written, bool):
        raise _no_literal("it is no whole number")
    if isinstance(written, int):
        if abs(written) > _AIR_INT:
            raise _no_literal("whole numbers beyond 2^53-1 are written as text")
        return written
    if not isinstance(written, str):
        raise _no_literal("it is no whole number")
    try:
        value = read_int(written)
    except Misspelt as fault:
        raise _no_literal(fault.message) from None
    if abs(value) <= _AIR_INT or str(value) != written:
        raise _no_literal("it is not in its one spelling")
    return value


def _no_literal(message: str) -> ToubaFailure:
    return ToubaFailure("AirInvalid", f"a literal cannot be read: {message}")


def write_literal(kind: str, value: Value) -> list[Any]:
    """The literal of AIR for a value; ``kind`` is its first member: ``int dec float bool text date datetime duration``
    or ``nothing``.

    >>> write_literal("int", 2**60)
    ['int', '1152921504606846976']
    """
    if kind == "int":
        return ["int", value if abs(value) <= _AIR_INT else str(value)]
    if kind == "nothing":
        return [kind]
    writer = _WRITERS.get(kind)
    return [kind, value if writer is None else writer(value)]
