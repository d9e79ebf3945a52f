"""`equal` is an equivalence, `key` is the same exactly for equal values, and neither mixes kinds."""

from __future__ import annotations

import copy
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.values.samples import (
    PLAIN_VALUES,
    decimals,
    json_value,
    meter,
    raw_json,
    tables_and_forms,
    texts,
    typed_values,
    values,
)
from touba_cli.values.equality import equal, key
from touba_cli.values.functions import FUNCTIONS
from touba_cli.values.model import ABSENT, VALUE_DEPTH, make_list, make_map, make_present
from touba_cli.values.times import read_datetime

small = st.one_of(
    st.sampled_from((0, 1, True, False, None, 0.0, 1.0, Decimal(0), Decimal(1), Decimal("1.0"), "", "1", "T", ABSENT)),
    st.one_of(*PLAIN_VALUES.values()),
)


@settings(max_examples=200)
@given(small, small, small)
def test_equality_of_plain_values_is_an_equivalence_and_key_agrees(a: Any, b: Any, c: Any) -> None:
    assert equal(a, a)
    assert equal(a, b) == equal(b, a)
    assert equal(a, b) == (key(a) == key(b))
    if equal(a, b) and equal(b, c):
        assert equal(a, c)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_equality_of_typed_values_and_key_agree(data: st.DataObject) -> None:
    table, form = data.draw(tables_and_forms())
    a, b = data.draw(values(table, form)), data.draw(values(table, form))
    assert equal(a, a)
    assert equal(a, copy.deepcopy(a))
    assert equal(a, b) == equal(b, a) == (key(a) == key(b))


@given(raw_json, raw_json)
def test_json_compares_kinds_too(a: Any, b: Any) -> None:
    one, other = json_value(a), json_value(b)
    assert equal(one, other) == (key(one) == key(other))
    assert equal(one, json_value(copy.deepcopy(a)))


@pytest.mark.parametrize(("a", "b"), [(1, True), (0, False), (1, 1.0), (0, None), ("", None), ([], {}), ("1", 1)])
def test_json_kinds_differ(a: Any, b: Any) -> None:
    for raw, other in ((a, b), ([a], [b]), ({"x": a}, {"x": b})):
        assert not equal(json_value(raw), json_value(other))
        assert key(json_value(raw)) != key(json_value(other))


@given(decimals(), st.integers(0, 5))
def test_scale_does_not_count(value: Decimal, zeros: int) -> None:
    other = value.quantize(Decimal((0, (1,), -zeros))) if 0 < abs(value) < 10**20 else value
    if other == value:
        assert equal(value, other)
        assert key(value) == key(other)


def test_offsets_and_map_order_do_not_count() -> None:
    here, there = read_datetime("2024-01-01T01:00:00+01:00"), read_datetime("2024-01-01T00:00:00Z")
    assert equal(here, there)
    assert key(here) == key(there)
    a, b = make_map(meter(), {"x": here, "y": there}), make_map(meter(), {"y": here, "x": there})
    assert equal(a, b)
    assert key(a) == key(b)
    found = FUNCTIONS["unique"](meter(), make_list(meter(), (a, b, a)))
    assert found.items == (a,)


@given(st.lists(st.sampled_from((Decimal("1"), Decimal("1.0"), Decimal("1.00"), Decimal(2))), max_size=6))
def test_unique_keeps_the_first(found: list[Decimal]) -> None:
    wanted: list[Decimal] = []
    for item in found:
        if not any(equal(item, kept) for kept in wanted):
            wanted.append(item)
    result = FUNCTIONS["unique"](meter(), make_list(meter(), tuple(found)))
    assert list(map(repr, result.items)) == list(map(repr, wanted))
    for item in found:
        assert FUNCTIONS["in.list"](meter(), item, result) is True


@given(st.lists(texts, min_size=2, max_size=4), st.lists(texts, min_size=2, max_size=4))
def test_keys_do_not_run_into_each_other(a: list[str], b: list[str]) -> None:
    one, other = make_list(meter(), tuple(a)), make_list(meter(), tuple(b))
    assert (key(one) == key(other)) == (a == b)


def test_the_deepest_values_compare() -> None:
    def deep(leaf: Any) -> Any:
        value = leaf
        for _ in range(VALUE_DEPTH):
            value = make_present(meter(), value)
        return value

    assert equal(deep(1), deep(1))
    assert not equal(deep(1), deep(2))
    assert key(deep(1)) != key(deep(2))


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(typed_values())
def test_eq_and_ne_are_opposites(sample: Any) -> None:
    _, _, value = sample
    assert FUNCTIONS["eq"](meter(), value, value) is True
    assert FUNCTIONS["ne"](meter(), value, value) is False
