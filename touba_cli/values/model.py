"""What a value is in memory.

=============  =====================================================================================
type           in memory
=============  =====================================================================================
Text           `str` of Unicode scalar values
Int            `int` within 64 bits (never `bool`)
Decimal        `decimal.Decimal`, finite, at most 34 digits, never negative zero; its scale is kept
Float          `float`, finite, never negative zero
Bool           `bool`
Date           `datetime.date`
DateTime       `datetime.datetime` with an offset
Duration       `datetime.timedelta`
Nothing        `None`
Json           `JsonValue`
List, Map      `ListValue`, `MapValue`
Optional       `ABSENT` or `Present`
record         `RecordValue` (also `Entry` and problems)
choice         `ChoiceValue`
=============  =====================================================================================

All are immutable. Composite values carry ``size`` and ``depth``, computed from their parts when they are built, so a
limit is checked before anything large comes about and never by walking a value. The size is an upper estimate of the
bytes of the wire form, counted in constant time for each part: `size_of` has the figures, `docs/limits.md` the table.
It leaves out what JSON must escape, and what names on the wire are longer than names of fields; `writers.py` counts
the latter.
Builders (`make_list` and its like) are the only way to composite values: they refuse what is too large or too deep.
"""

from __future__ import annotations

from decimal import Decimal

from ..errors import ToubaFailure
from ..limits import VALUE_DEPTH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypeAlias

    #: any value of the table above
    Value: TypeAlias = Any


class ListValue:
    """A List: ``items`` is a tuple."""

    __slots__ = ("depth", "items", "size")

    def __init__(self, items: tuple[Value, ...], size: int, depth: int):
        self.items = items
        self.size = size
        self.depth = depth

    def __repr__(self) -> str:
        return f"ListValue({list(self.items)!r})"


class MapValue:
    """A Map: ``entries`` is a dict that nobody changes, in insertion order."""

    __slots__ = ("depth", "entries", "size")

    def __init__(self, entries: dict[str, Value], size: int, depth: int):
        self.entries = entries
        self.size = size
        self.depth = depth

    def __repr__(self) -> str:
        return f"MapValue({self.entries!r})"


class RecordValue:
    """A record: ``type`` is its reference, ``fields`` a dict in the order of the declaration that nobody changes."""

    __slots__ = ("depth", "fields", "size", "type")

    def __init__(self, type_: str, fields: dict[str, Value], size: int, depth: int):
        self.type = type_
        self.fields = fields
        self.size = size
        self.depth = depth

    def __repr__(self) -> str:
        return f"RecordValue({self.type!r}, {self.fields!r})"


class ChoiceValue:
    """A choice: ``type`` is its reference, ``variant`` the name, ``fields`` the payload in declaration order."""

    __slots__ = ("depth", "fields", "size", "type", "variant")

    def __init__(self, type_: str, variant: str, fields: dict[str, Value], size: int, depth: int):
        self.type = type_
        self.variant = variant
        self.fields = fields
        self.size = size
        self.depth = depth

    def __repr__(self) -> str:
        return f"ChoiceValue({self.type!r}, {self.variant!r}, {self.fields!r})"


class Present:
    """A present Optional. The absent one is `ABSENT`."""

    __slots__ = ("depth", "size", "value")

    def __init__(self, value: Value, size: int, depth: int):
        self.value = value
        self.size = size
        self.depth = depth

    def __repr__(self) -> str:
        return f"Present({self.value!r})"


class Absent:
    """The class of `ABSENT`, the one absent Optional."""

    __slots__ = ()
    size = 17
    depth = 1

    def __repr__(self) -> str:
        return "ABSENT"

    def __reduce__(self) -> str:
        return "ABSENT"


ABSENT = Absent()


class JsonValue:
    """A Json: ``raw`` is what `codec.decode` gives (dict, list, str, int, float, bool, None), which nobody changes."""

    __slots__ = ("depth", "raw", "size")

    def __init__(self, raw: Any, size: int, depth: int):
        self.raw = raw
        self.size = size
        self.depth = depth

    def __repr__(self) -> str:
        return f"JsonValue({self.raw!r})"


#: the record that `items` gives; its fields are `key` and `value`
ENTRY = "Entry"


class Meter:
    """What operations charge and which sizes they keep to. The machine's own meter refills its slices and counts."""

    __slots__ = ("left", "max_value_bytes")

    def __init__(self, left: int, max_value_bytes: int):
        self.left = left
        self.max_value_bytes = max_value_bytes

    def charge(self, steps: int) -> None:
        """Take steps from the budget. Raises ToubaFailure (StepLimitExceeded) when it is used up."""
        self.left -= steps
        if self.left < 0:
            self.exhausted()

    def exhausted(self) -> None:
        raise ToubaFailure("StepLimitExceeded", "the run took more steps than it may")

    def check_size(self, size: int) -> None:
        """Refuse a size before anything of it is built. Raises ToubaFailure (ValueTooLarge)."""
        if size > self.max_value_bytes:
            raise ToubaFailure(
                "ValueTooLarge", f"a value of {size} bytes would be built; {self.max_value_bytes} are allowed"
            )


_SIZES: dict[type, int] = {int: 20, bool: 5, float: 24, type(None): 4}


def text_size(text: str) -> int:
    """The size of a Text: 2, and 1 a code point where all are ASCII, else 4."""
    return 2 + (len(text) if text.isascii() else 4 * len(text))


def size_of(value: Value) -> int:
    """The size of any value, in constant time.

    Int 20, Float 24, Bool 5, Nothing 4, Date, DateTime and Duration 36, Text as `text_size`. Decimal 38, and 1 more for
    each power of ten that its first digit stands above 10^34 or below 1, because it is written in plain notation.
    """
    found = _SIZES.get(type(value))
    if found is not None:
        return found
    if isinstance(value, str):
        return text_size(value)
    size = getattr(value, "size", None)
    if size is not None:
        return size  # type: ignore[no-any-return]
    if isinstance(value, Decimal):
        power = value.adjusted()
        return 38 if 0 <= power <= 34 else 38 + abs(power)
    return 36


def depth_of(value: Value) -> int:
    """The nesting of any value: 0 for the plain ones."""
    return getattr(value, "depth", 0)


def _deeper(depth: int) -> int:
    if depth >= VALUE_DEPTH:
        raise ToubaFailure("ValueTooLarge", f"a value would be nested deeper than {VALUE_DEPTH} levels")
    return depth + 1


def _measure(values: Iterable[Value]) -> tuple[int, int]:
    size = 2
    depth = 0
    fixed_size = _SIZES.get
    for value in values:
        kind = type(value)
        fixed = fixed_size(kind)
        if fixed is not None:
            size += fixed + 1
            continue
        if kind is str:
            size += 3 + (len(value) if value.isascii() else 4 * len(value))
            continue
        size += size_of(value) + 1
        inner = getattr(value, "depth", 0)
        if inner > depth:
            depth = inner
    return size, depth


def make_list(meter: Meter, items: tuple[Value, ...]) -> ListValue:
    """A List of values that exist already."""
    size, depth = _measure(items)
    meter.check_size(size)
    return ListValue(items, size, _deeper(depth))


def make_map(meter: Meter, entries: dict[str, Value]) -> MapValue:
    """A Map of values that exist already."""
    size, depth = _measure(entries.values())
    for key in entries:
        size += text_size(key) + 1
    meter.check_size(size)
    return MapValue(entries, size, _deeper(depth))


def make_record(meter: Meter, type_: str, fields: dict[str, Value]) -> RecordValue:
    """A record; the fields stand in the order of the declaration."""
    size, depth = _measure(fields.values())
    for name in fields:
        size += len(name) + 3
    meter.check_size(size)
    return RecordValue(type_, fields, size, _deeper(depth))


def make_changed(meter: Meter, record: RecordValue, changes: dict[str, Value]) -> RecordValue:
    """A record like another, with some fields changed. It is a copy, so it charges 1 for every field of the record."""
    before = record.fields
    meter.charge(len(before))
    size = record.size
    inner = below = record.depth - 1
    for name, value in changes.items():
        old = before[name]
        size += size_of(value) - size_of(old)
        if inner and depth_of(old) == inner:
            below = -1  # the deepest part goes away: all have to be looked at
    meter.check_size(size)
    fields = {**before, **changes}
    if below < 0:
        depth = max(map(depth_of, fields.values()))
    else:
        depth = max(inner, *map(depth_of, changes.values())) if changes else inner
    return RecordValue(record.type, fields, size, _deeper(depth))


def make_choice(meter: Meter, type_: str, variant: str, fields: dict[str, Value]) -> ChoiceValue:
    """A choice; the payload stands in the order of the declaration. Without payload its size is that of its name."""
    if not fields:
        return ChoiceValue(type_, variant, fields, len(variant) + 2, 0)
    size, depth = _measure(fields.values())
    size += len(variant) + 13
    for name in fields:
        size += len(name) + 3
    meter.check_size(size)
    return ChoiceValue(type_, variant, fields, size, _deeper(depth))


def make_present(meter: Meter, value: Value) -> Present:
    """A present Optional."""
    size = size_of(value) + 27
    meter.check_size(size)
    return Present(value, size, _deeper(depth_of(value)))
