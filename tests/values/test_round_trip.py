"""Values survive the wire, and what was decoded has the size and depth that the model gives it."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings

from tests.values.samples import meter, typed_values
from touba_cli import codec
from touba_cli.values.equality import equal, key
from touba_cli.values.model import depth_of, size_of


def through_json(wire: Any) -> Any:
    """The wire value as the other side reads it."""
    return codec.decode(codec.encode(wire))


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=150)
@given(typed_values())
def test_decode_of_encode_is_the_same_value(sample: Any) -> None:
    table, form, value = sample
    wire = table.encode(form, value)
    for edge in (False, True):
        back = table.decode(form, through_json(wire), "$", meter(), edge=edge)
        assert equal(back, value)
        # The same to the last digit of a scale and the offset of a time, not only equal.
        assert codec.encode(table.encode(form, back)) == codec.encode(wire)
        assert (size_of(back), depth_of(back)) == (size_of(value), depth_of(value))
        assert key(back) == key(value)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(typed_values())
def test_reading_takes_exactly_the_size_of_the_value(sample: Any) -> None:
    table, form, value = sample
    wire = through_json(table.encode(form, value))
    size = size_of(value)
    assert equal(table.decode(form, wire, "$", meter(max_value_bytes=size), edge=False), value)
    refused = None
    try:
        table.decode(form, wire, "$", meter(max_value_bytes=size - 1), edge=False)
    except Exception as fault:  # the assertion below says which it must be
        refused = fault
    assert type(refused).__name__ == "ValueInvalid"
    assert "bytes" in str(refused)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(typed_values())
def test_the_size_bounds_the_bytes_on_the_wire(sample: Any) -> None:
    table, form, value = sample
    wire = table.encode(form, value)
    escapes = codec.encode(wire)
    not_counted = 5 * escapes.count(b"\\") + len("the field 0") * escapes.count(b"the field ")
    assert len(escapes) - not_counted <= size_of(value)
