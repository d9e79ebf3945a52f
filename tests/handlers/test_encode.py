"""Python values to wire values: the table of touba_sdk/_encode.py, row by row, and its refusals with their paths."""

from __future__ import annotations

import dataclasses
import enum
import json
import uuid
from collections import OrderedDict, UserDict, deque
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any, ClassVar, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from touba_sdk._encode import EncodeError, encode


class Color(enum.Enum):
    RED = "Red"


class Level(enum.IntEnum):
    HIGH = 3


class Name(str):
    """A text of its own kind."""

    def __str__(self) -> str:
        return "something else"


@dataclasses.dataclass
class Line:
    name: str
    net: Decimal
    kind: ClassVar[str] = "line"


class Pair(NamedTuple):
    left: int
    right: int


class Invoice(BaseModel):
    number: str = Field(alias="Number")
    issued: date


@pytest.mark.parametrize(
    ("value", "wire"),
    [
        (None, None),
        (True, True),
        ("größe", "größe"),
        (-(2**63), -(2**63)),
        (0.5, 0.5),
        (Decimal("12.50"), "12.50"),
        (Decimal("1E+3"), "1000"),
        (Decimal("1E-7"), "0.0000001"),
        (Decimal("-0.00"), "0.00"),
        (date(2026, 1, 31), "2026-01-31"),
        (date(1, 2, 3), "0001-02-03"),
        (datetime(2026, 1, 31, 12, tzinfo=UTC), "2026-01-31T12:00:00+00:00"),
        (datetime(2026, 1, 31, 12, 0, 0, 5, timezone(timedelta(hours=-3))), "2026-01-31T12:00:00.000005-03:00"),
        (timedelta(0), "PT0S"),
        (timedelta(days=1, hours=2, minutes=3, seconds=4, microseconds=500_000), "P1DT2H3M4.5S"),
        (timedelta(days=-1), "-P1D"),
        (timedelta(microseconds=-1), "-PT0.000001S"),
        (timedelta(minutes=90), "PT1H30M"),
        (Color.RED, "Red"),
        (Level.HIGH, 3),
        (Name("plain"), "plain"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Line("a", Decimal("1.0")), {"name": "a", "net": "1.0"}),
        (Invoice(Number="A", issued=date(2026, 1, 1)), {"Number": "A", "issued": "2026-01-01"}),
        (Pair(1, 2), [1, 2]),
        (deque(["a"]), ["a"]),
        (range(3), [0, 1, 2]),
        (OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
        (UserDict({"a": [()]}), {"a": [[]]}),
        ({Name("key"): 1}, {"key": 1}),
    ],
    ids=repr,
)
def test_table(value: Any, wire: Any) -> None:
    found = encode(value)
    assert found == wire
    assert type(found) is type(wire)


def _nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


_CIRCLE: list[Any] = []
_CIRCLE.append({"again": _CIRCLE})


@pytest.mark.parametrize(
    ("value", "path", "said"),
    [
        (datetime(2026, 1, 31), "$", "no offset"),
        (datetime(2026, 1, 31, tzinfo=timezone(timedelta(seconds=30))), "$", "whole minutes"),
        (float("nan"), "$", "finite"),
        ([1.0, float("-inf")], "$[1]", "finite"),
        ({"rates": {"EUR/USD": Decimal("NaN")}}, 'rates["EUR/USD"]', "finite"),
        ({"amount": Decimal("1E+999999")}, "amount", "places"),
        ({"lines": [{"name": "a"}, {"name": b"secret"}]}, "lines[1].name", "bytes"),
        ({"tags": {"secret"}}, "tags", "set"),
        ({"tags": iter(["secret"])}, "tags", "iterator"),
        ({"n": 2**63}, "n", "64 bits"),
        ({"n": -(2**63) - 1}, "n", "64 bits"),
        ({1: "a"}, "$", "keys are texts"),
        ({"text": "\ud800"}, "text", "surrogate \\ud800"),
        ({"kind": Line}, "kind", "class Line"),
        ({"at": time(12)}, "at", "time has no wire form"),
        ({"x": object()}, "x", "object has no wire form"),
        (Line("a", Decimal("inf")), "net", "finite"),
        (_CIRCLE, "$" + "[0].again" * 50, "deeper"),
        (_nested(101), "$" + "[0]" * 100, "deeper"),
    ],
)
def test_refusals_name_the_path_and_never_the_value(value: Any, path: str, said: str) -> None:
    with pytest.raises(EncodeError) as refused:
        encode(value)
    assert refused.value.path == path
    assert said in refused.value.message
    assert "secret" not in str(refused.value)


def test_a_hundred_levels_are_taken() -> None:
    assert encode(_nested(99)) == _nested(99)


_plain = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
_wire = st.recursive(
    _plain | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(_wire)
def test_wire_values_stay_as_they_are(value: Any) -> None:
    assert encode(value) == value
    assert json.loads(json.dumps(encode(value))) == value


@given(st.timedeltas())
def test_durations_keep_every_microsecond(value: timedelta) -> None:
    text = encode(value)
    sign = -1 if text.startswith("-") else 1
    days, _, clock = text.lstrip("-").removeprefix("P").partition("T")
    total = timedelta(days=int(days.removesuffix("D") or 0))
    for letter, unit in (("H", "hours"), ("M", "minutes")):
        if letter in clock:
            count, clock = clock.split(letter)
            total += timedelta(**{unit: int(count)})
    if clock:
        whole, _, fraction = clock.removesuffix("S").partition(".")
        total += timedelta(seconds=int(whole), microseconds=int(fraction.ljust(6, "0") or 0))
    assert sign * total == value


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30))
def test_decimals_are_plain_and_exact(value: Decimal) -> None:
    text = encode(value)
    assert Decimal(text) == value
    assert set(text) <= set("-0123456789.")
