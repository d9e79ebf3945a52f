"""From values to their strict wire form: dict, list, str, int, float, bool and None."""

from __future__ import annotations

from .model import ABSENT, ENTRY, ChoiceValue, JsonValue, ListValue, MapValue, Present, RecordValue
from .numbers import Decimal, decimal_text
from .times import Date, DateTime, Duration, date_text, datetime_text, duration_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .check import Field, TypeTable
    from .model import Value


def write(value: Value, table: TypeTable) -> Any:
    """The wire form of a value. A value knows its kind; the table gives the names of fields on the wire."""
    kind = type(value)
    if kind in _AS_IS:
        return value
    plain = _PLAIN.get(kind)
    if plain is not None:
        return plain(value)
    if kind is RecordValue:
        if value.type == ENTRY:
            return {name: write(part, table) for name, part in value.fields.items()}
        return _write_fields({}, value.fields, table.fields(value.type), table)
    if kind is ListValue:
        return [write(item, table) for item in value.items]
    if kind is MapValue:
        return {name: write(item, table) for name, item in value.entries.items()}
    if kind is Present:
        return {"present": True, "value": write(value.value, table)}
    return _write_choice(value, table)


def _write_choice(value: ChoiceValue, table: TypeTable) -> Any:
    if not value.fields:
        return value.variant
    return _write_fields({"choice": value.variant}, value.fields, table.variants(value.type)[value.variant], table)


def _write_fields(
    out: dict[str, Any], values: dict[str, Value], fields: list[Field], table: TypeTable
) -> dict[str, Any]:
    for name, _, wire in fields:
        out[wire] = write(values[name], table)
    return out


def _raw(value: JsonValue) -> Any:
    return value.raw


_AS_IS = frozenset((str, int, float, bool, type(None)))

_PLAIN: dict[type, Callable[[Any], Any]] = {
    Decimal: decimal_text,
    Date: date_text,
    DateTime: datetime_text,
    Duration: duration_text,
    JsonValue: _raw,
    type(ABSENT): lambda value: {"present": False},
}
