"""Operations on Lists and Maps. `functions.py` lists them by name."""

from __future__ import annotations

from .equality import equal, key
from .model import (
    ABSENT,
    ENTRY,
    ChoiceValue,
    ListValue,
    MapValue,
    depth_of,
    make_list,
    make_map,
    make_present,
    make_record,
    size_of,
    text_size,
)
from .texts import cut, out_of_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .check import TypeTable
    from .model import Meter, Value


# Equality of any two values.


def eq(meter: Meter, a: Value, b: Value) -> bool:
    meter.charge(min(size_of(a), size_of(b)) >> 4)
    return equal(a, b)


def ne(meter: Meter, a: Value, b: Value) -> bool:
    return not eq(meter, a, b)


def in_list(meter: Meter, a: Value, b: ListValue) -> bool:
    meter.charge(b.size >> 4)
    return any(equal(a, item) for item in b.items)


def in_map(meter: Meter, a: str, b: MapValue) -> bool:
    return a in b.entries


# Lists.


def length_list(meter: Meter, a: ListValue) -> int:
    return len(a.items)


def index_list(meter: Meter, a: ListValue, position: int) -> Value:
    if 0 <= position < len(a.items):
        return a.items[position]
    raise out_of_range(len(a.items))


def first(meter: Meter, a: ListValue) -> Value:
    return make_present(meter, a.items[0]) if a.items else ABSENT


def last(meter: Meter, a: ListValue) -> Value:
    return make_present(meter, a.items[-1]) if a.items else ABSENT


def add_list(meter: Meter, a: ListValue, b: ListValue) -> ListValue:
    meter.charge(len(a.items) + len(b.items))
    size = a.size + b.size - 2
    meter.check_size(size)
    return ListValue(a.items + b.items, size, max(a.depth, b.depth))  # what `make_list` would find one by one


def slice_list(meter: Meter, a: ListValue, start: int, end: int) -> ListValue:
    start, end = cut(len(a.items), start, end)
    meter.charge(end - start)
    return make_list(meter, a.items[start:end])


def reversed_list(meter: Meter, a: ListValue) -> ListValue:
    meter.charge(len(a.items))
    return ListValue(a.items[::-1], a.size, a.depth)


def unique(meter: Meter, a: ListValue) -> ListValue:
    meter.charge(a.size >> 4)
    found: dict[str, Value] = {}
    for item in a.items:
        found.setdefault(key(item), item)
    return make_list(meter, tuple(found.values()))


def range_to(meter: Meter, end: int) -> ListValue:
    return range_between(meter, 0, end)


def range_between(meter: Meter, start: int, end: int) -> ListValue:
    count = max(end - start, 0)
    meter.check_size(2 + 21 * count)
    meter.charge(count)
    return ListValue(tuple(range(start, end)), 2 + 21 * count, 1)  # what `make_list` would count one by one


def count_true(meter: Meter, a: ListValue) -> int:
    meter.charge(len(a.items))
    return a.items.count(True)


def any_true(meter: Meter, a: ListValue) -> bool:
    meter.charge(len(a.items))
    return True in a.items


def all_true(meter: Meter, a: ListValue) -> bool:
    meter.charge(len(a.items))
    return False not in a.items


# Order: of Lists of one ordered type. Equal elements keep their order; `min` and `max` give the first of them.


def least(meter: Meter, a: ListValue) -> Value:
    meter.charge(len(a.items))
    return make_present(meter, min(a.items)) if a.items else ABSENT


def greatest(meter: Meter, a: ListValue) -> Value:
    meter.charge(len(a.items))
    return make_present(meter, max(a.items)) if a.items else ABSENT


def sorted_list(meter: Meter, a: ListValue) -> ListValue:
    meter.charge(len(a.items))
    return ListValue(tuple(sorted(a.items)), a.size, a.depth)


def _charge_texts(meter: Meter, a: ListValue) -> None:
    meter.charge(sum(map(len, a.items)) >> 4)


def least_text(meter: Meter, a: ListValue) -> Value:
    _charge_texts(meter, a)
    return least(meter, a)


def greatest_text(meter: Meter, a: ListValue) -> Value:
    _charge_texts(meter, a)
    return greatest(meter, a)


def sorted_text(meter: Meter, a: ListValue) -> ListValue:
    _charge_texts(meter, a)
    return sorted_list(meter, a)


def sort_by(meter: Meter, a: ListValue, path: Any, descending: bool, table: TypeTable) -> ListValue:
    """The List in the order of what stands at a path of fields; equal elements keep their order, also descending.

    Charges 1 for every element and field of the path, and, where Texts stand there, 1 for every 16 of their code
    points. An empty path means the elements themselves.

    Parameters:
        path: names of fields, one after the other.
        table: gives the order of variants, where choices without payload stand there.
    """
    meter.charge(len(a.items) * max(len(path), 1))
    keys: list[Any] = list(a.items)
    for name in path:
        keys = [item.fields[name] for item in keys]
    if keys and isinstance(keys[0], str):
        meter.charge(sum(map(len, keys)) >> 4)
    elif keys and isinstance(keys[0], ChoiceValue):
        keys = [table.ordinal(item) for item in keys]
    order = sorted(range(len(keys)), key=keys.__getitem__, reverse=descending)
    return ListValue(tuple(map(a.items.__getitem__, order)), a.size, a.depth)


# Maps.


def length_map(meter: Meter, a: MapValue) -> int:
    return len(a.entries)


def index_map(meter: Meter, a: MapValue, name: str) -> Value:
    if name in a.entries:
        return make_present(meter, a.entries[name])
    return ABSENT


def keys(meter: Meter, a: MapValue) -> ListValue:
    meter.charge(len(a.entries))
    return make_list(meter, tuple(a.entries))


def values(meter: Meter, a: MapValue) -> ListValue:
    meter.charge(len(a.entries))
    return make_list(meter, tuple(a.entries.values()))


def items(meter: Meter, a: MapValue) -> ListValue:
    count = len(a.entries)
    meter.charge(count)
    meter.check_size(a.size + 17 * count)  # a record around each entry
    return make_list(
        meter, tuple(make_record(meter, ENTRY, {"key": name, "value": value}) for name, value in a.entries.items())
    )


def merge(meter: Meter, a: MapValue, b: MapValue) -> MapValue:
    meter.charge(len(a.entries) + len(b.entries))
    before = a.entries
    size = a.size + b.size - 2
    inner = a.depth - 1
    is_deepest_kept = True
    for name in b.entries:
        if name in before:
            old = before[name]
            size -= size_of(old) + text_size(name) + 2
            if inner and depth_of(old) == inner:
                is_deepest_kept = False  # the deepest part goes away: all have to be looked at
    meter.check_size(size)
    entries = {**before, **b.entries}
    return MapValue(entries, size, max(a.depth, b.depth)) if is_deepest_kept else make_map(meter, entries)


def without(meter: Meter, a: MapValue, name: str) -> MapValue:
    meter.charge(len(a.entries))
    if name not in a.entries:
        return a
    return make_map(meter, {kept: value for kept, value in a.entries.items() if kept != name})
