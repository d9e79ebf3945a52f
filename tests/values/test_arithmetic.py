"""Numbers and texts against slow, obvious Python."""

from __future__ import annotations

import datetime
import decimal
import sys
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.values.samples import dates, datetimes, decimals, durations, floats, ints, meter
from touba_cli.codec import INT_HIGH, INT_LOW
from touba_cli.errors import ToubaFailure
from touba_cli.values.functions import FUNCTIONS, equal
from touba_cli.values.model import ABSENT, make_list, make_map
from touba_cli.values.numbers import (
    Misspelt,
    decimal_text,
    float_text,
    read_decimal,
    read_float,
    read_int,
    read_json_decimal,
    settle,
)


def run(name: str, *operands: Any) -> Any:
    """The result of an operation, or the code of its failure as `"!Code"`."""
    try:
        return FUNCTIONS[name](meter(), *operands)
    except ToubaFailure as failure:
        return f"!{failure.code}"


def in_range(value: int) -> Any:
    return value if INT_LOW <= value <= INT_HIGH else "!IntegerOverflow"


@given(ints, ints)
def test_int(a: int, b: int) -> None:
    assert run("add.int", a, b) == in_range(a + b)
    assert run("sub.int", a, b) == in_range(a - b)
    assert run("mul.int", a, b) == in_range(a * b)
    assert run("neg.int", a) == in_range(-a)
    assert run("abs.int", a) == in_range(a if a > 0 else -a)
    if b:
        floor = Fraction(a, b).__floor__()
        assert run("div.int", a, b) == in_range(floor)
        assert run("mod.int", a, b) == a - floor * b
    else:
        assert run("div.int", a, b) == run("mod.int", a, b) == "!DivisionByZero"


def test_int_edges() -> None:
    assert run("div.int", -7, 2) == -4
    assert run("mod.int", -7, 2) == 1
    assert run("mod.int", 7, -2) == -1
    assert run("div.int", INT_LOW, -1) == "!IntegerOverflow"
    assert run("mod.int", INT_LOW, -1) == 0
    assert run("sum.int", make_list(meter(), (INT_HIGH, 1, -1))) == INT_HIGH


def rounded(exact: Fraction) -> Fraction:
    """The nearest number of 34 digits, ties to even, by whole numbers only."""
    if not exact:
        return exact
    size = abs(exact)
    power = len(str(size.numerator)) - len(str(size.denominator)) - 34
    scale = Fraction(10) ** power
    while size / scale >= 10**34:
        scale *= 10
    while size / scale < 10**33:
        scale /= 10
    return round(exact / scale) * scale


@given(decimals(extreme=False), decimals(extreme=False))
def test_decimal(a: Decimal, b: Decimal) -> None:
    x, y = Fraction(a), Fraction(b)
    assert Fraction(run("add.decimal", a, b)) == rounded(x + y)
    assert Fraction(run("sub.decimal", a, b)) == rounded(x - y)
    assert Fraction(run("mul.decimal", a, b)) == rounded(x * y)
    if b:
        assert Fraction(run("div.decimal", a, b)) == rounded(x / y)
    else:
        assert run("div.decimal", a, b) == "!DivisionByZero"
    assert run("lt.decimal", a, b) == (x < y)
    assert run("ge.decimal", a, b) == (x >= y)
    assert equal(a, b) == (x == y)


@given(st.lists(decimals(), min_size=1, max_size=4), st.sampled_from(("add", "sub", "mul", "div")))
def test_decimals_stay_settled(parts: list[Decimal], name: str) -> None:
    value = parts[0]
    for part in parts[1:]:
        found = run(f"{name}.decimal", value, part)
        if isinstance(found, str):
            assert found in ("!DecimalOverflow", "!DivisionByZero")
            break
        value = found
    text = decimal_text(value)
    assert "E" not in text
    assert not text.startswith("-0") or value
    assert repr(read_decimal(text)) == repr(value) == repr(settle(value))


@given(decimals(extreme=False), st.integers(-34, 34))
def test_round(value: Decimal, places: int) -> None:
    found = run("round.decimal", value, places)
    unit = Fraction(10) ** -places
    assert Fraction(found) == round(Fraction(value) / unit) * unit
    assert run("round.mode", value, places, "half_even") == found
    assert Fraction(run("round.mode", value, places, "floor")) == (Fraction(value) / unit).__floor__() * unit
    assert Fraction(run("round.mode", value, places, "ceiling")) == (Fraction(value) / unit).__ceil__() * unit


@pytest.mark.parametrize(
    ("mode", "results"),
    [
        ("half_even", "2 4 -2 3 -3"),
        ("half_up", "3 4 -3 3 -3"),
        ("half_down", "2 3 -2 3 -3"),
        ("up", "3 4 -3 3 -3"),
        ("down", "2 3 -2 2 -2"),
        ("floor", "2 3 -3 2 -3"),
        ("ceiling", "3 4 -2 3 -2"),
    ],
)
def test_rounding_modes(mode: str, results: str) -> None:
    found = [decimal_text(run("round.mode", Decimal(text), 0, mode)) for text in ("2.5", "3.5", "-2.5", "2.6", "-2.6")]
    assert " ".join(found) == results


def test_round_keeps_the_places_for_display() -> None:
    assert decimal_text(run("round.decimal", Decimal("12.5"), 2)) == "12.50"
    assert decimal_text(run("round.decimal", Decimal("1250"), -2)) == "1200"
    assert decimal_text(run("round.decimal", Decimal("9" * 34), 2)) == "9" * 34
    assert run("round.decimal", Decimal(1), 35) == run("round.float", 1.0, -35) == "!PlacesOutOfRange"
    assert run("round.mode", Decimal(1), 0, "sideways") == "!AirUnsound"


def test_decimal_edges() -> None:
    assert decimal_text(run("div.decimal", Decimal(1), Decimal("0.001"))) == "1000"
    assert decimal_text(run("div.decimal", Decimal("10.00"), Decimal(4))) == "2.50"
    assert run("mul.decimal", read_decimal("1" + "0" * 6000), read_decimal("1" + "0" * 200)) == "!DecimalOverflow"
    tiny = read_decimal("0." + "0" * 6000 + "1")
    assert decimal_text(run("mul.decimal", tiny, tiny)).strip("0") == "."
    assert decimal_text(run("mul.decimal", Decimal("-1"), Decimal("0.00"))) == "0.00"
    assert decimal_text(run("neg.decimal", Decimal("0.00"))) == "0.00"
    prices = make_list(meter(), (Decimal("1.10"), Decimal("2.2")))
    assert decimal_text(run("sum.decimal", prices)) == "3.30"
    assert run("sum.decimal", make_list(meter(), (read_decimal("9" * 34 + "0" * 6111),) * 2)) == "!DecimalOverflow"
    assert run("sum.decimal", make_list(meter(), ())) == 0


@given(decimals())
def test_int_of_a_decimal_truncates(value: Decimal) -> None:
    if abs(value) < 10**30:
        assert run("int.decimal", value) == in_range(Fraction(value).__trunc__())
    else:
        assert run("int.decimal", value) == "!IntegerOverflow"


@given(floats, floats)
def test_float(a: float, b: float) -> None:
    for name, compute in (
        ("add", lambda: a + b),
        ("sub", lambda: a - b),
        ("mul", lambda: a * b),
        ("div", lambda: a / b),
    ):
        found = run(f"{name}.float", a, b)
        if name == "div" and not b:
            assert found == "!DivisionByZero"
            continue
        wanted = compute()
        if abs(wanted) <= sys.float_info.max:
            assert found == wanted
            assert repr(found) != "-0.0"
        else:
            assert found == "!FloatOverflow"
    assert repr(run("neg.float", 0.0)) == "0.0"
    assert repr(run("round.float", -0.4, 0)) == "0.0"
    assert run("int.float", a) == in_range(int(a))
    assert Fraction(run("decimal.float", a)) == Fraction(repr(a))


def test_a_sum_of_floats_goes_from_left_to_right() -> None:
    # A compensated sum, as newer Pythons make it, would give 1.0.
    assert run("sum.float", make_list(meter(), (0.1,) * 10)) == 0.9999999999999999
    assert run("sum.float", make_list(meter(), (1e308, 1e308, -1e308))) == "!FloatOverflow"


@given(floats)
def test_float_text_is_the_shortest_that_reads_back(value: float) -> None:
    text = float_text(value)
    assert read_float(text) == value
    assert "+" not in text
    assert "e0" not in text
    assert "e-0" not in text
    assert len(text) <= len(repr(value))


@pytest.mark.parametrize(
    ("value", "text"), [(1e16, "1e16"), (1.5e-7, "1.5e-7"), (0.0001, "0.0001"), (12.0, "12.0"), (1e22, "1e22")]
)
def test_float_spellings(value: float, text: str) -> None:
    assert float_text(value) == text


WRONG_NUMBERS = [
    "", "-", "+1", " 1 ", "1 ", "1_000", "01", "-01", "1.", ".5", "1.5.", "--1", "1E+1000000", "1e5", "NaN", "sNaN",
    "Infinity", "-Infinity", "١٢", "１", "²", "0x10", "1,5", "1\n", "\x001", "00", "-.5", "1.-5",
]  # fmt: skip


@pytest.mark.parametrize("text", [*WRONG_NUMBERS, "1" * 35, "0." + "0" * 6177, "1" + "0" * 6179, "9" * 10**6])
def test_what_spells_no_decimal(text: str) -> None:
    with pytest.raises(Misspelt):
        read_decimal(text)
    assert run("decimal.text", text) is ABSENT
    assert run("int.text", text) is ABSENT


@pytest.mark.parametrize("text", ["9223372036854775808", "-9223372036854775809", "9" * 5000, "1.0"])
def test_what_spells_no_int(text: str) -> None:
    with pytest.raises(Misspelt):
        read_int(text)


@given(ints)
def test_int_text(value: int) -> None:
    assert run("int.text", run("text.int", value)).value == value


def test_the_smallest_int_is_read() -> None:
    assert read_int("-9223372036854775808") == INT_LOW
    assert read_int("-0") == 0


@given(decimals())
def test_decimal_text(value: Decimal) -> None:
    assert repr(run("decimal.text", run("text.decimal", value)).value) == repr(value)


@given(st.integers(-(10**36), 10**36), st.integers(0, 6))
def test_decimals_are_read_exactly_or_not_at_all(digits: int, places: int) -> None:
    sign = "-" if digits < 0 else ""
    body = str(abs(digits)).rjust(places + 1, "0")
    text = sign + (f"{body[:-places]}.{body[-places:]}" if places else body)
    try:
        value = read_decimal(text)
    except Misspelt:
        significant = body.lstrip("0") if places else body.rstrip("0")
        assert len(significant) > 34
        return
    assert Fraction(value) == Fraction(digits, 10**places)
    assert decimal_text(value) == (text if digits else text.lstrip("-"))


@pytest.mark.parametrize(
    ("text", "value"),
    [("1.5e3", "1500"), ("1e-2", "0.01"), ("-2.50E+1", "-25.0"), ("0.10000000000000000001", "0.10000000000000000001"),
     ("1E34", "1" + "0" * 34), ("18446744073709551616", "18446744073709551616"), ("-0.0", "0.0")],
)  # fmt: skip
def test_json_numbers_are_read_exactly(text: str, value: str) -> None:
    assert decimal_text(read_json_decimal(text)) == value


@pytest.mark.parametrize("text", ["1e400", "1e35", "1e-35", "1E+1000000", "1" * 35, "1e000000000000000000001"])
def test_json_numbers_that_are_no_decimal(text: str) -> None:
    with pytest.raises(Misspelt):
        read_json_decimal(text)


@pytest.mark.parametrize(
    "text", [*[text for text in WRONG_NUMBERS if text not in ("1E+1000000", "1e5")], "1e", "1e400"]
)
def test_what_spells_no_float(text: str) -> None:
    with pytest.raises(Misspelt):
        read_float(text)


# Texts.

short = st.text(st.sampled_from("ab,éß \t\n\v\f\r\x1c\x85\u2003Σ"), max_size=14)


@given(short, short, short)
def test_text(a: str, b: str, c: str) -> None:
    assert run("add.text", a, b) == a + b
    assert run("trim", a) == a.strip(" \t\n\r\f\v")
    assert run("upper", a) == a.upper()
    assert run("lower", a) == a.lower()
    assert run("contains", a, b) == (a.find(b) >= 0)
    assert run("starts_with", a, b) == (a[: len(b)] == b)
    assert run("ends_with", a, b) == (a[len(a) - len(b) :] == b if len(b) <= len(a) else False)
    assert run("length.text", a) == len(list(a))
    assert run("lt.text", a, b) == (list(map(ord, a)) < list(map(ord, b)))
    words = []
    word = ""
    for letter in a + " ":
        if letter in " \t\n\r\f\v":
            if word:
                words.append(word)
            word = ""
        else:
            word += letter
    assert list(run("split.blanks", a).items) == words
    if b:
        assert list(run("split.text", a, b).items) == a.split(b)
        assert run("replace", a, b, c) == c.join(a.split(b))
        assert run("join", run("split.text", a, b), b) == a
    else:
        assert run("split.text", a, b) == run("replace", a, b, c) == "!SeparatorEmpty"


@given(short, st.integers(-20, 20), st.integers(-20, 20))
def test_positions(a: str, start: int, end: int) -> None:
    wanted = [letter for place, letter in enumerate(a) if start <= place < end]
    assert run("slice.text", a, start, end) == "".join(wanted)
    assert list(run("slice.list", make_list(meter(), tuple(a)), start, end).items) == wanted
    inside = 0 <= start < len(a)
    assert run("index.text", a, start) == (a[start] if inside else "!IndexOutOfRange")
    assert run("index.list", make_list(meter(), tuple(a)), start) == (a[start] if inside else "!IndexOutOfRange")


@given(st.lists(ints, max_size=6))
def test_lists(found: list[int]) -> None:
    value = make_list(meter(), tuple(found))
    assert list(run("reversed", value).items) == found[::-1]
    assert list(run("sorted.int", value).items) == sorted(found)
    assert list(run("unique", value).items) == list(dict.fromkeys(found))
    for name, wanted in (("min.int", min(found, default=None)), ("max.int", max(found, default=None))):
        result = run(name, value)
        assert (result is ABSENT) if wanted is None else (result.value == wanted)


def test_maps_keep_their_order() -> None:
    a = make_map(meter(), {"b": 1, "a": 2})
    b = make_map(meter(), {"a": 3, "c": 4})
    assert list(run("merge", a, b).entries.items()) == [("b", 1), ("a", 3), ("c", 4)]
    assert list(run("without", a, "b").entries) == ["a"]
    assert [item.fields["key"] for item in run("items", a).items] == ["b", "a"]
    assert run("index.map", a, "z") is ABSENT


def test_the_first_of_equal_elements_is_the_least_and_the_greatest() -> None:
    value = make_list(meter(), (Decimal("1.0"), Decimal("1.00")))
    assert decimal_text(run("min.decimal", value).value) == "1.0"
    assert decimal_text(run("max.decimal", value).value) == "1.0"


# Dates.


@given(dates, st.integers(-5_000_000, 5_000_000))
def test_dates(date: datetime.date, days: int) -> None:
    wanted = date.toordinal() + days
    span = datetime.timedelta(days=days)
    moved = run("add.date", date, span)
    if 1 <= wanted <= datetime.date.max.toordinal():
        assert moved.toordinal() == wanted
        assert run("between.date", moved, date) == span
        assert run("sub.date", moved, span) == date
    else:
        assert moved == "!DateOverflow"
    assert run("add.date", date, datetime.timedelta(hours=25)) == "!DurationNotWholeDays"


@given(datetimes, durations)
def test_moments(moment: datetime.datetime, span: datetime.timedelta) -> None:
    moved = run("add.datetime", moment, span)
    if isinstance(moved, str):
        assert moved == "!DateOverflow"
        assert abs(span) > datetime.timedelta(days=1) or moment.year in (1, 9999)
        return
    assert moved.utcoffset() == moment.utcoffset()
    assert run("between.datetime", moved, moment) == span
    assert equal(run("sub.datetime", moved, span), moment)


@given(durations, durations)
def test_durations(a: datetime.timedelta, b: datetime.timedelta) -> None:
    longest = datetime.timedelta(days=999_999_999)
    assert run("neg.duration", run("neg.duration", a)) == a
    assume(abs(a.days + b.days) < 999_999_990)
    assert run("add.duration", a, b) == a + b
    assert run("sub.duration", run("add.duration", a, b), b) == a
    assert run("add.duration", longest, longest) == "!DurationOverflow"
    assert run("sub.duration", -longest, datetime.timedelta(microseconds=1)) == "!DurationOverflow"
    assert run("sum.duration", make_list(meter(), (longest, longest))) == "!DurationOverflow"


def test_the_context_of_the_caller_does_not_matter() -> None:
    with decimal.localcontext() as context:
        context.prec = 3
        context.rounding = decimal.ROUND_UP
        a, b = Decimal("1.23456"), Decimal("2.34567")
        assert decimal_text(run("add.decimal", a, b)) == "3.58023"
        assert decimal_text(run("neg.decimal", a)) == "-1.23456"
        assert decimal_text(run("abs.decimal", a)) == "1.23456"
        assert decimal_text(run("round.decimal", a, 4)) == "1.2346"
        assert decimal_text(a) == "1.23456"
        assert decimal_text(run("decimal.int", 123456789)) == "123456789"
