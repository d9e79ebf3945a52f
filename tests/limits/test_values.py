"""Bounds of values: what the types can hold, as literals, as inputs and as what an operation gives."""

from __future__ import annotations

from typing import Any

import pytest

from tests.limits.kit import accepted, function, judged, ran, refused, three_cases
from touba_cli.codec import INT_HIGH, INT_LOW, ExactNumber, decode
from touba_cli.limits import VALUE_DEPTH
from touba_cli.values.arithmetic import ROUND_PLACES
from touba_cli.values.formats import EMAIL_CHARACTERS, HOST_CHARACTERS
from touba_cli.values.numbers import DECIMAL_CHARACTERS, DIGITS, JSON_EXPONENT, PLACES

SAME = "give v"


def given(kind: str, wire: Any, lines: str = SAME, gives: str | None = None) -> Any:
    """What `Main` gives for an input of a type."""
    return ran(function(lines, takes=f"v as {kind}", gives=gives or kind), {"v": wire})


def held(kind: str, wire: Any, by: int, says: str, gives: Any = None) -> None:
    """An input is taken, and comes back as it is, up to a limit; above it is refused with its path."""
    found = given(kind, wire)
    if by <= 0:
        assert found == (wire if gives is None else gives)
    else:
        assert found[0] == "InputInvalid"
        assert found[1].startswith(("v: ", "v[0]["))
        assert says in found[1]


# --- Int --------------------------------------------------------------------------------------------------------------


@three_cases("int")
def test_whole_numbers(by: int) -> None:
    """As literals, inputs and sums, at both ends."""
    for end, towards, column in ((INT_HIGH, 1, 14), (INT_LOW, -1, 15)):
        number = end + towards * by
        judged(function(f"give {number}"), by, "TB4010", f"6:{column}", "does not fit into Int")
        wire = decode(str(number).encode())
        held("Int", wire, by, "64 bits")
        found = given("Int", end - towards, f"give v + {towards} + {towards * by}")
        assert found == (number if by <= 0 else ("IntegerOverflow", "a whole number left 64 bits"))


@pytest.mark.parametrize("lines", ["give -v", "give abs(v)", "give v div -1", "give v - 1", "give v * 2"])
def test_the_smallest_whole_number_has_no_opposite(lines: str) -> None:
    assert given("Int", INT_LOW, lines)[0] == "IntegerOverflow"
    assert isinstance(given("Int", INT_LOW // 2 + 1, lines), int)


# --- Decimal ----------------------------------------------------------------------------------------------------------


@three_cases("decimal_digits")
def test_digits_of_a_decimal(by: int) -> None:
    text = "1." + "3" * (DIGITS + by - 1)
    judged(function(f"give {text}", gives="Decimal"), by, "TB4010", "6:14", "")
    held("Decimal", text, by, f"{DIGITS} significant digits")
    whole = "7" * (DIGITS + by)
    held("Decimal", whole, by, f"{DIGITS} significant digits")
    held("Decimal", ExactNumber(whole), by, f"{DIGITS} significant digits", gives=whole)


@three_cases("decimal_characters")
def test_characters_of_a_decimal(by: int) -> None:
    # The longest there is has a sign and all places: one more place is one character more.
    text = "-0." + "0" * (PLACES + by - 1) + "1"
    assert len(text) == DECIMAL_CHARACTERS + by
    held("Decimal", text, by, f"{DECIMAL_CHARACTERS} characters")


@three_cases("decimal_places")
def test_places_of_a_decimal(by: int) -> None:
    held("Decimal", "0." + "0" * (PLACES + by - 1) + "1", by, f"{PLACES} places")


@three_cases("decimal_exponent")
def test_exponents_of_json_numbers_for_a_decimal(by: int) -> None:
    exponent = JSON_EXPONENT + by
    held(
        "Decimal", ExactNumber(f"1e{exponent}"), by, f"-{JSON_EXPONENT} to {JSON_EXPONENT}", gives="1" + "0" * exponent
    )
    small = "0." + "0" * (exponent - 1) + "1"
    held("Decimal", ExactNumber(f"1e-{exponent}"), by, f"-{JSON_EXPONENT} to {JSON_EXPONENT}", gives=small)


@three_cases("decimal_range")
def test_the_largest_decimal(by: int) -> None:
    """Its first digit stands at most 6144 powers of ten above 1."""
    found = given("Decimal", "1" + "0" * (6_144 + by - 1), "give v * 10")
    if by <= 0:
        assert found == "1" + "0" * (6_144 + by)
    else:
        assert found[0] == "DecimalOverflow"
        held("Decimal", "1" + "0" * (6_144 + by), by, "out of the range")


@three_cases("round_places")
def test_places_of_round(by: int) -> None:
    places = ROUND_PLACES + by
    for count in (places, -places):
        found = given("Decimal", "1", f"give round(v, {count})")
        assert isinstance(found, str) if by <= 0 else found[0] == "PlacesOutOfRange"


# --- Date, DateTime, Duration -----------------------------------------------------------------------------------------


@three_cases("dates")
def test_the_first_and_the_last_day(by: int) -> None:
    last = {-1: "9999-12-30", 0: "9999-12-31", 1: "10000-01-01"}[by]
    held("Date", last, by, "not spelt")
    held("Date", {-1: "0001-01-02", 0: "0001-01-01", 1: "0000-12-31"}[by], by, "no day of the calendar")
    for day, sign in (("9999-12-30", "+"), ("0001-01-02", "-")):
        found = given("Date", day, f"give v {sign} {1 + by} days")
        assert isinstance(found, str) if by <= 0 else found[0] == "DateOverflow"
    written = "0000-12-31" if by > 0 else "0001-01-01"
    judged(function(f'give date "{written}"', gives="Date"), by, "TB1011", "6:19", "not a date")


@three_cases("offsets")
def test_offsets_of_a_moment(by: int) -> None:
    clock = {-1: "13:59", 0: "14:00", 1: "14:01"}[by]
    for sign in "+-":
        held("DateTime", f"2026-01-31T12:00:00{sign}{clock}", by, "more than 14:00")


@three_cases("moments")
def test_the_first_and_the_last_moment(by: int) -> None:
    last = {-1: "9999-12-31T23:59:58Z", 0: "9999-12-31T23:59:59.999999Z", 1: "9999-12-31T23:59:59-00:01"}[by]
    held("DateTime", last, by, "outside the years 1 to 9999")
    first = {-1: "0001-01-01T00:00:01Z", 0: "0001-01-01T00:00:00Z", 1: "0001-01-01T00:00:00+00:01"}[by]
    held("DateTime", first, by, "outside the years 1 to 9999")
    found = given("DateTime", "9999-12-31T23:59:58Z", f"give v + {1 + by} seconds")
    assert isinstance(found, str) if by <= 0 else found[0] == "DateOverflow"


@three_cases("fractions")
def test_digits_of_a_fraction_of_a_second(by: int) -> None:
    digits = "1" * (6 + by)
    held("DateTime", f"2026-01-31T12:00:00.{digits}Z", by, "not spelt")
    held("Duration", f"PT0.{digits}S", by, "6 places")


@three_cases("durations")
def test_the_longest_duration(by: int) -> None:
    days = 999_999_999 + by
    for sign in ("", "-"):
        held("Duration", f"{sign}P{days}D", by, "999999999 days")
    found = given("Duration", "P999999998D", f"give v + {1 + by} days")
    assert found == f"P{days}D" if by <= 0 else found[0] == "DurationOverflow"
    judged(function(f"give {days} days", gives="Duration"), by, "TB4010", "6:14", "longer than any")


# --- Texts of a format ------------------------------------------------------------------------------------------------


@three_cases("host_characters")
def test_characters_of_a_hostname(by: int) -> None:
    labels = ["a" * 63] * 3
    name = ".".join([*labels, "a" * (HOST_CHARACTERS + by - 3 * 64)])
    held('Text format "hostname"', name, by, "")
    held('Text format "hostname"', "a" * (63 + by) + ".b", by, "")


@three_cases("email_characters")
def test_characters_of_an_email_address(by: int) -> None:
    host = ".".join(["b" * 60, "b" * 60, "b" * 60, "b" * (EMAIL_CHARACTERS + by - 64 - 1 - 183)])
    held('Text format "email"', "a" * 64 + "@" + host, by, "")
    held('Text format "email"', "a" * (64 + by) + "@b.c", by, "")


# --- nesting ----------------------------------------------------------------------------------------------------------

NODE = "type Node\n    next as List of Node\n"


@three_cases("value_depth")
def test_nesting_of_a_json_value(by: int) -> None:
    wire: Any = 1
    for _ in range(VALUE_DEPTH + by):
        wire = [wire]
    held("Json", wire, by, f"{VALUE_DEPTH} levels")


@three_cases("value_depth")
def test_nesting_of_a_value_that_is_built(by: int) -> None:
    # A Node without others is a record with a List in it; each turn puts a List and a Node around it.
    turns = (VALUE_DEPTH + by - 1) // 2
    lines = "var node = Node(next: [])\nrepeat up to v times\n    set node = Node(next: [node])\n"
    last = "give length([node])" if (VALUE_DEPTH + by) % 2 else "give length(node.next)"
    found = ran(
        function(lines + last, takes="v as Int", before=NODE), {"v": turns - (1 if last.endswith("([node])") else 0)}
    )
    assert found == 1 if by <= 0 else found[0] == "ValueTooLarge"
    assert by <= 0 or f"{VALUE_DEPTH} levels" in found[1]


def test_a_type_may_be_deeper_than_a_value() -> None:
    """A value ends where the data ends; what is refused is the value, not the type that holds itself."""
    assert accepted(function("give length(v.next)", takes="v as Node", before=NODE))["types"]
    refused("module app\ntype Endless\n    next as Endless\n", "TB4007", "2:6", "never end")
