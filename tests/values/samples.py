"""Strategies for types and values, shared by the tests of the values package."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from touba_cli.air.types import freeze
from touba_cli.codec import INT_HIGH, INT_LOW
from touba_cli.values.check import TypeTable
from touba_cli.values.model import (
    ABSENT,
    ENTRY,
    JsonValue,
    Meter,
    make_choice,
    make_list,
    make_map,
    make_present,
    make_record,
    size_of,
    text_size,
)
from touba_cli.values.numbers import settle
from touba_cli.values.times import UTC, within_utc

PLAIN = ("Text", "Int", "Decimal", "Float", "Bool", "Date", "DateTime", "Duration", "Json", "Nothing")


def meter(steps: int = 10**9, max_value_bytes: int = 32 * 2**20) -> Meter:
    """A meter that nothing here exhausts, unless told otherwise."""
    return Meter(steps, max_value_bytes)


texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
ints = st.one_of(st.integers(INT_LOW, INT_HIGH), st.integers(-5, 5), st.sampled_from((INT_LOW, INT_HIGH, 2**53)))


@st.composite
def decimals(draw: st.DrawFn, extreme: bool = True) -> Decimal:
    """Decimals as they are in memory: settled, up to 34 digits, of every size."""
    digits = draw(st.one_of(st.integers(0, 999), st.integers(0, 10**34 - 1)))
    exponent = draw(st.integers(-12, 6))
    if extreme and draw(st.integers(0, 7)) == 0:
        exponent = draw(st.integers(-6100, 6100))
    value = Decimal((draw(st.integers(0, 1)), tuple(map(int, str(digits))), exponent))
    return settle(value)


floats = st.floats(allow_nan=False, allow_infinity=False).map(lambda value: value + 0.0)
dates = st.dates()
offsets = st.one_of(
    st.just(UTC),
    st.integers(-840, 840).filter(bool).map(lambda minutes: datetime.timezone(datetime.timedelta(minutes=minutes))),
)
datetimes = st.datetimes(timezones=offsets).filter(within_utc)
durations = st.one_of(
    st.timedeltas(datetime.timedelta(days=-999_999_999), datetime.timedelta(days=999_999_999)),
    st.integers(-(10**6), 10**6).map(lambda seconds: datetime.timedelta(seconds=seconds)),
)
raw_json = st.recursive(
    st.one_of(st.none(), st.booleans(), ints, floats, texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=6,
)


def json_value(raw: Any) -> JsonValue:
    """A Json value with the size and depth that the model says."""
    size, depth = _measure(raw)
    return JsonValue(raw, size, depth)


def _measure(raw: Any) -> tuple[int, int]:
    if isinstance(raw, (list, dict)):
        parts = [_measure(part) for part in (raw if isinstance(raw, list) else raw.values())]
        size = 2 + sum(part[0] + 1 for part in parts)
        if isinstance(raw, dict):
            size += sum(text_size(name) + 1 for name in raw)
        return size, 1 + max((part[1] for part in parts), default=0)
    return size_of(raw), 0


PLAIN_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "Text": texts,
    "Int": ints,
    "Decimal": decimals(),
    "Float": floats,
    "Bool": st.booleans(),
    "Date": dates,
    "DateTime": datetimes,
    "Duration": durations,
    "Json": raw_json.map(json_value),
    "Nothing": st.none(),
}

plain_forms = st.sampled_from(PLAIN)


def forms(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Type forms, as JSON lists, over some leaves."""
    return st.recursive(
        leaves,
        lambda inner: st.tuples(st.sampled_from(("List", "Map", "Optional", "Entry")), inner).map(list),
        max_leaves=3,
    )


@st.composite
def type_tables(draw: st.DrawFn) -> TypeTable:
    """A program's types: records, choices and aliases that use each other, some of them themselves."""
    declared: dict[str, Any] = {}
    leaves = plain_forms
    for number in range(draw(st.integers(1, 3))):
        ref = f"type:app/T{number}"
        fields = draw(st.lists(forms(leaves), min_size=0, max_size=4))
        kind = draw(st.sampled_from(("record", "choice", "alias")))
        if kind == "record":
            members = _members(fields, draw(st.booleans()))
            if draw(st.booleans()):
                members.append({"name": "next", "type": ["Optional", ref]})
            declared[ref] = {"kind": "record", "fields": members}
        elif kind == "choice":
            variants: list[Any] = [{"name": "Open"}, {"name": "Shut"}]
            if fields:
                variants.append({"name": "Paid", "fields": _members(fields, draw(st.booleans()))})
            if draw(st.booleans()):
                variants.append({"name": "Both", "fields": [{"name": "parts", "type": ["List", ref]}]})
            declared[ref] = {"kind": "choice", "variants": variants}
        else:
            declared[ref] = {"kind": "alias", "of": draw(forms(leaves))}
        leaves = st.one_of(plain_forms, st.sampled_from(sorted(declared)))
    return TypeTable(declared)


def _members(fields: list[Any], renamed: bool) -> list[dict[str, Any]]:
    members = []
    for number, form in enumerate(fields):
        member = {"name": f"f{number}" if number else "present", "type": form}
        if renamed:
            member["wire"] = f"the field {number}"
        members.append(member)
    return members


@st.composite
def tables_and_forms(draw: st.DrawFn) -> tuple[TypeTable, Any]:
    """A table and a form over its types."""
    table = draw(type_tables())
    own = st.sampled_from([ref for ref in table.declared if ref.startswith("type:app/")])
    return table, freeze(draw(forms(st.one_of(own, own, plain_forms))))


def values(table: TypeTable, form: Any, levels: int = 4) -> st.SearchStrategy[Any]:
    """Values of a type, in memory; below some levels lists are empty and Optionals absent."""
    roomy = meter()
    if isinstance(form, str):
        if form in PLAIN_VALUES:
            return PLAIN_VALUES[form]
        declaration = table.declared[form]
        if declaration["kind"] == "alias":
            return values(table, freeze(declaration["of"]), levels)
        if declaration["kind"] == "record":
            return _fields(table, table.fields(form), levels).map(lambda found: make_record(roomy, form, found))
        return st.sampled_from([*table.variants(form)]).flatmap(
            lambda name: _fields(table, table.variants(form)[name], levels).map(
                lambda found: make_choice(roomy, form, name, found)
            )
        )
    kind, inner = form[0], form[1]
    if kind == ENTRY:
        return _fields(table, table.fields(form), levels).map(lambda found: make_record(roomy, ENTRY, found))
    if kind == "List":
        if levels <= 0:
            return st.just(make_list(roomy, ()))
        items = st.lists(st.deferred(lambda: values(table, inner, levels - 1)), max_size=3)
        return items.map(lambda found: make_list(roomy, tuple(found)))
    if kind == "Map":
        if levels <= 0:
            return st.just(make_map(roomy, {}))
        entries = st.dictionaries(texts, st.deferred(lambda: values(table, inner, levels - 1)), max_size=3)
        return entries.map(lambda found: make_map(roomy, found))
    if levels <= 0:
        return st.just(ABSENT)
    present = st.deferred(lambda: values(table, inner, levels - 1)).map(lambda found: make_present(roomy, found))
    return st.one_of(st.just(ABSENT), present)


def _fields(table: TypeTable, fields: list[Any], levels: int) -> st.SearchStrategy[dict[str, Any]]:
    return st.tuples(*(values(table, form, levels - 1) for _, form, _ in fields)).map(
        lambda found: {name: value for (name, _, _), value in zip(fields, found, strict=True)}
    )


@st.composite
def typed_values(draw: st.DrawFn) -> tuple[TypeTable, Any, Any]:
    """A table, a form and a value of it."""
    table, form = draw(tables_and_forms())
    return table, form, draw(values(table, form))
