"""The JSON Schema of a type accepts what `decode` accepts, and refuses what it refuses but for what its page says."""

from __future__ import annotations

import copy
import re
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.values.samples import meter, tables_and_forms, values
from touba_cli import codec
from touba_cli.air.types import freeze
from touba_cli.values.check import TypeTable, ValueInvalid
from touba_cli.values.numbers import Misspelt
from touba_cli.values.times import read_date, read_datetime, read_duration

FORMATS = jsonschema.FormatChecker(formats=())


def _format(name: str, read: Any) -> None:
    FORMATS.checks(name, raises=Misspelt)(lambda text: not isinstance(text, str) or read(text) is not None)


# What a schema can only name: the readers' own ranges.
_format("date", read_date)
_format("date-time", read_datetime)
_format("duration", read_duration)


def validator(table: TypeTable, form: Any) -> Any:
    schema = table.json_schema(form)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema, format_checker=FORMATS)


def accepted(table: TypeTable, form: Any, wire: Any) -> bool:
    try:
        table.decode(form, codec.decode(codec.encode(wire)), "$", meter(), edge=False)
    except ValueInvalid:
        return False
    return True


def parts(wire: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all parts of a wire value."""
    found = [path]
    if isinstance(wire, (list, dict)):
        for step in range(len(wire)) if isinstance(wire, list) else wire:
            found.extend(parts(wire[step], (*path, step)))
    return found


def changed(wire: Any, path: tuple[Any, ...], change: Any) -> Any:
    if not path:
        return change(wire)
    wire = copy.copy(wire)
    wire[path[0]] = changed(wire[path[0]], path[1:], change)
    return wire


STRANGE = st.sampled_from(
    [None, True, False, 0, 1, -1, 2**63 - 1, -(2**63), 2**63, "", "Open", "Paid", "1", "-0", "0.00", "01", "1.", "1e3",
     "9" * 34, "9" * 35, "9" * 34 + "00", "0." + "0" * 40 + "9" * 34, "1." + "0" * 33, "1." + "0" * 34, "12345.678",
     "2024-02-29", "2023-02-29", "2024-01-01T00:00:00Z", "2024-01-01T25:00:00Z", "PT5S", "P5M", "PT0.5S", "P", [], {},
     {"present": False}, {"present": True, "value": 1}, {"present": 0}, {"choice": "Open"}, {"choice": "Paid"},
     {"key": "", "value": 1}, "\U0001f600"]
)  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn, wire: Any) -> Any:
    """The wire value with one part replaced, one member added, renamed or taken away."""
    path = draw(st.sampled_from(parts(wire)))
    part = wire
    for step in path:
        part = part[step]
    kind = draw(st.sampled_from(("replace", "add", "remove", "edit")))
    if isinstance(part, dict) and kind == "add":
        name = draw(st.sampled_from(("x", "present", "value", "choice")))
        return changed(wire, path, lambda found: {**found, name: None})
    if isinstance(part, dict) and part and kind == "remove":
        gone = draw(st.sampled_from(sorted(part)))
        return changed(wire, path, lambda found: {name: found[name] for name in found if name != gone})
    if isinstance(part, str) and kind == "edit":
        place = draw(st.integers(0, len(part)))
        letter = draw(st.sampled_from("0123456789.-+:TZPDe "))
        return changed(wire, path, lambda found: found[:place] + letter + found[place + draw(st.integers(0, 1)) :])
    return changed(wire, path, lambda _: draw(STRANGE))


def beyond_schema(wire: Any) -> bool:
    """Whether a wire value holds what JSON Schema cannot tell: whole numbers of a Json beyond 64 bits."""
    if isinstance(wire, (list, dict)):
        return any(map(beyond_schema, wire if isinstance(wire, list) else wire.values()))
    return type(wire) is int and not -(2**63) <= wire < 2**63


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], max_examples=120)
@given(tables_and_forms(), st.data())
def test_schema_and_decode_agree(sample: Any, data: st.DataObject) -> None:
    table, form = sample
    check = validator(table, form)
    wire = table.encode(form, data.draw(values(table, form, 3)))
    assert check.is_valid(wire)
    for _ in range(3):
        other = data.draw(mutated(wire))
        if accepted(table, form, other):
            assert check.is_valid(other)
        elif not beyond_schema(other) and not _whole_float(other):
            assert not check.is_valid(other), (form, other)


def _whole_float(wire: Any) -> bool:
    """Floats: 1.0 is an integer to JSON Schema, and a Decimal's number of digits is not seen."""
    if isinstance(wire, (list, dict)):
        return any(map(_whole_float, wire if isinstance(wire, list) else wire.values()))
    return isinstance(wire, float)


@settings(max_examples=300)
@given(
    st.one_of(
        st.from_regex(r"-?0?[0-9]{1,40}(\.[0-9]{0,40})?", fullmatch=True),
        st.from_regex(r"-?[0-9]{0,3}0{0,40}(\.0{0,40}[0-9]{0,36})?", fullmatch=True),
        st.text("-0123456789.eE+ ", max_size=8),
    )
)
def test_the_pattern_of_decimals_is_exact(text: str) -> None:
    table = TypeTable({})
    assert validator(table, "Decimal").is_valid(text) == accepted(table, "Decimal", text)


@settings(max_examples=200)
@given(
    st.one_of(
        st.from_regex(
            r"-?P([0-9]{1,3}D)?(T([0-9]{1,3}H)?([0-9]{1,3}M)?([0-9]{1,3}(\.[0-9]{1,7})?S)?)?", fullmatch=True
        ),
        st.text("-PTDHMS05.", max_size=9),
    )
)
def test_the_pattern_of_durations_is_exact(text: str) -> None:
    table = TypeTable({})
    assert validator(table, "Duration").is_valid(text) == accepted(table, "Duration", text)


def test_patterns_need_no_look_around() -> None:
    for form in ("Decimal", "Date", "DateTime", "Duration"):
        for pattern in re.findall(r"'pattern': '([^']*)'", repr(TypeTable({}).json_schema(form))):
            assert pattern.startswith("^")
            assert pattern.endswith("$")
            assert "(?" not in pattern


CONSTRAINED = TypeTable(
    {
        "type:app/Age": {
            "kind": "alias",
            "of": ["is", "Int", [["min", ["int", 0]], ["below", ["int", 150]]]],
            "doc": "Years.",
        },
        "type:app/Person": {
            "kind": "record",
            "doc": "Somebody.",
            "fields": [
                {"name": "age", "type": "type:app/Age", "doc": "How old."},
                {"name": "names", "type": ["is", ["List", ["is", "Text", [["length", 1, 3]]]], [["length", None, 2]]]},
                {"name": "pay", "type": ["is", ["Optional", "Decimal"], [["min", ["dec", "0"]]]], "wire": "Pay"},
            ],
        },
    }
)


@pytest.mark.parametrize(
    ("change", "good"),
    [
        ({}, True),
        ({"age": 149}, True),
        ({"age": 150}, False),
        ({"age": -1}, False),
        ({"names": ["a", "b", "c"]}, False),
        ({"names": ["abcd"]}, False),
        ({"names": [""]}, False),
        ({"Pay": {"present": True, "value": "1.5"}}, True),
        ({"Pay": {"present": True, "value": 2}}, True),
        ({"Pay": {"present": True, "value": None}}, False),
        ({"pay": 1}, False),
    ],
)
def test_constraints_and_names_on_the_wire(change: dict[str, Any], good: bool) -> None:
    wire = {"age": 1, "names": ["a"], "Pay": {"present": False}, **change}
    assert validator(CONSTRAINED, "type:app/Person").is_valid(wire) is good
    assert accepted(CONSTRAINED, "type:app/Person", wire) is good


def test_documentation_travels_into_the_schema() -> None:
    schema = CONSTRAINED.json_schema("type:app/Person")
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    person = schema["$defs"]["app.Person"]
    assert person["title"] == "Person"
    assert person["description"] == "Somebody."
    assert person["properties"]["age"]["description"] == "How old."
    assert schema["$defs"]["app.Age"]["description"] == "Years."
    assert "at least 0" in repr(person["properties"]["Pay"])


def test_a_schema_of_a_type_that_holds_itself_ends() -> None:
    table = TypeTable({"type:a/T": {"kind": "record", "fields": [{"name": "t", "type": ["List", "type:a/T"]}]}})
    check = validator(table, freeze(["Map", "type:a/T"]))
    assert check.is_valid({"x": {"t": [{"t": []}]}})
    assert not check.is_valid({"x": {"t": [{"s": []}]}})


@pytest.mark.parametrize(
    ("constraint", "yes", "no"),
    [
        (("matching", "[A-Z]{2}[0-9]+|x"), ["AB1", "x"], ["AB", "xx", "ab1"]),
        (("matching", r"\d+\u{e9}?"), ["12", "1é"], ["é", "١"]),
        (("matching", "^[^/]*$"), ["", "a b"], ["a/b"]),
    ],
)
def test_a_pattern_says_the_same_in_a_schema(constraint: Any, yes: list[str], no: list[str]) -> None:
    table = TypeTable({})
    form = ("Optional", ("is", "Text", (constraint,)))
    found = validator(table, form)
    for text, fits in [*((each, True) for each in yes), *((each, False) for each in no)]:
        wire = {"present": True, "value": text}
        assert found.is_valid(wire) is accepted(table, form, wire) is fits


def test_a_format_is_named_in_a_schema() -> None:
    schema = TypeTable({}).json_schema(("is", "Text", (("format", "ipv6"),)))
    assert schema["allOf"] == [{"type": "string"}, {"format": "ipv6"}]
