"""When two values are equal, and a text that is the same for equal values.

Kinds never mix: true is not 1, and in a Json the number 1 is not 1.0. The scale of a Decimal, the order of a Map and
the offset of a DateTime do not count. Both walks are as deep as values may be, which is 100 levels.
"""

from __future__ import annotations

from .model import ABSENT, ChoiceValue, JsonValue, ListValue, MapValue, Present, RecordValue
from .numbers import CONTEXT, Decimal, float_text
from .times import UTC, Date, DateTime, Duration, date_text, datetime_text, microseconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .model import Value


def equal(a: Value, b: Value) -> bool:
    """Whether two values are equal."""
    kind = type(a)
    if kind is not type(b):
        return False
    if kind is ListValue:
        return _equal_rows(a.items, b.items)
    if kind is RecordValue:
        return a.type == b.type and _equal_entries(a.fields, b.fields)
    if kind is ChoiceValue:
        return a.type == b.type and a.variant == b.variant and _equal_entries(a.fields, b.fields)
    if kind is MapValue:
        return _equal_entries(a.entries, b.entries)
    if kind is Present:
        return equal(a.value, b.value)
    if kind is JsonValue:
        return _equal_json(a.raw, b.raw)
    return bool(a == b)


def _equal_rows(a: tuple[Value, ...], b: tuple[Value, ...]) -> bool:
    if len(a) != len(b):
        return False
    for one, other in zip(a, b, strict=True):  # noqa: SIM110 (a generator would double the frames of every level)
        if not equal(one, other):
            return False
    return True


def _equal_entries(a: dict[str, Value], b: dict[str, Value]) -> bool:
    if len(a) != len(b):
        return False
    for name, value in a.items():  # noqa: SIM110
        if name not in b or not equal(value, b[name]):
            return False
    return True


def _equal_json(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, list):
        if len(a) != len(b):
            return False
        for one, other in zip(a, b, strict=True):  # noqa: SIM110
            if not _equal_json(one, other):
                return False
        return True
    if isinstance(a, dict):
        if len(a) != len(b):
            return False
        for name, value in a.items():  # noqa: SIM110
            if name not in b or not _equal_json(value, b[name]):
                return False
        return True
    return bool(a == b)


def key(value: Value) -> str:
    """A text that two values share exactly when they are `equal`.

    Texts are hashed with a secret of the process, so no chosen data can make a table of keys slow, as it could with
    numbers and tuples. The key is for tables in memory: it is no wire form.

    >>> key(Decimal("1.10")) == key(Decimal("1.1"))
    True
    """
    out: list[str] = []
    _write(value, out.append)
    return "".join(out)


def _write(value: Value, add: Callable[[str], None]) -> None:
    kind = type(value)
    plain = _PLAIN.get(kind)
    if plain is not None:
        add(plain(value))
    elif kind is ListValue:
        add(f"[{len(value.items)}:")
        for item in value.items:
            _write(item, add)
    elif kind is RecordValue:
        add(f"({value.type};")
        _write_entries(value.fields, add)
    elif kind is ChoiceValue:
        add(f"<{value.type};{value.variant};")
        _write_entries(value.fields, add)
    elif kind is MapValue:
        add("{")
        _write_entries(value.entries, add)
    elif kind is Present:
        add("+")
        _write(value.value, add)
    else:
        add("j")
        _write_json(value.raw, add)


def _write_entries(entries: dict[str, Value], add: Callable[[str], None]) -> None:
    add(f"{len(entries)}:")
    for name in sorted(entries):
        add(_key_of_text(name))
        _write(entries[name], add)


def _write_json(raw: Any, add: Callable[[str], None]) -> None:
    if isinstance(raw, list):
        add(f"[{len(raw)}:")
        for item in raw:
            _write_json(item, add)
    elif isinstance(raw, dict):
        add(f"{{{len(raw)}:")
        for name in sorted(raw):
            add(_key_of_text(name))
            _write_json(raw[name], add)
    else:
        add(_PLAIN[type(raw)](raw))


def _key_of_text(value: str) -> str:
    return f"t{len(value)}:{value}"


def _key_of_datetime(value: DateTime) -> str:
    return datetime_text(value.astimezone(UTC)) + ";"


_PLAIN: dict[type, Callable[[Any], str]] = {
    str: _key_of_text,
    int: "i{};".format,
    Decimal: lambda value: f"d{CONTEXT.normalize(value)};",
    float: lambda value: f"f{float_text(value)};",
    bool: lambda value: "T" if value else "F",
    Date: lambda value: date_text(value) + ";",
    DateTime: _key_of_datetime,
    Duration: lambda value: f"u{microseconds(value)};",
    type(None): lambda value: "n",
    type(ABSENT): lambda value: "-",
}
