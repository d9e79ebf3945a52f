"""From values to their strict wire form: dict, list, str, int, float, bool and None."""

from __future__ import annotations

from ..errors import ToubaFailure
from ..limits import MAX_VALUE_BYTES
from .model import ABSENT, ENTRY, ChoiceValue, JsonValue, ListValue, MapValue, Present, RecordValue, text_size
from .numbers import Decimal, decimal_text
from .times import Date, DateTime, Duration, date_text, datetime_text, duration_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .check import Field, TypeTable
    from .model import Value


class Writing:
    """One value on its way out. The size of a value knows no names on the wire: what they add is counted here."""

    __slots__ = ("left", "table")

    def __init__(self, table: TypeTable):
        self.table = table
        self.left = MAX_VALUE_BYTES

    def take(self, size: int) -> None:
        """Count bytes that the names on the wire add. Raises ToubaFailure (ValueTooLarge)."""
        self.left -= size
        if self.left < 0:
            raise ToubaFailure(
                "ValueTooLarge", f"the names of fields on the wire take more than {MAX_VALUE_BYTES} bytes of one value"
            )


def write(value: Value, state: Writing) -> Any:
    """The wire form of a value. A value knows its kind; the table gives the names of fields on the wire."""
    kind = type(value)
    if kind in _AS_IS:
        return value
    plain = _PLAIN.get(kind)
    if plain is not None:
        return plain(value)
    if kind is RecordValue:
        if value.type == ENTRY:
            return {name: write(part, state) for name, part in value.fields.items()}
        return _write_fields({}, value.fields, state.table.fields(value.type), state)
    if kind is ListValue:
        return [write(item, state) for item in value.items]
    if kind is MapValue:
        return {name: write(item, state) for name, item in value.entries.items()}
    if kind is Present:
        return {"present": True, "value": write(value.value, state)}
    return _write_choice(value, state)


def _write_choice(value: ChoiceValue, state: Writing) -> Any:
    if not value.fields:
        return value.variant
    fields = state.table.variants(value.type)[value.variant]
    return _write_fields({"choice": value.variant}, value.fields, fields, state)


def _write_fields(out: dict[str, Any], values: dict[str, Value], fields: list[Field], state: Writing) -> dict[str, Any]:
    for name, _, wire in fields:
        if wire is not name:
            state.take(max(text_size(wire) - len(name), 0))
        out[wire] = write(values[name], state)
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
