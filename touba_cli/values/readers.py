"""Readers: from what stands in a JSON document to a value of one type, or a `Fault`.

A reader takes the wire value and a `Reading`. It counts the size and the nesting of what it will build first, so a
document that is too large or too deep is refused before its values come about; the sum of what readers take is exactly
the size that the finished value has.
"""

from __future__ import annotations

from ..codec import INT_HIGH, INT_LOW, ExactNumber
from ..limits import VALUE_DEPTH
from .model import (
    ABSENT,
    ChoiceValue,
    JsonValue,
    make_choice,
    make_list,
    make_map,
    make_present,
    make_record,
    size_of,
    text_size,
)
from .numbers import CONTEXT, ZERO, Decimal, Misspelt, is_finite, read_decimal, read_json_decimal
from .paths import Fault, field_step, item_step, key_step, nearest, shown
from .times import read_date, read_datetime, read_duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeAlias

    from .model import Meter, Value

    Reader: TypeAlias = Callable[[Any, "Reading"], Value]
    #: name, name on the wire, reader, whether it is an Optional
    FieldReader: TypeAlias = tuple[str, str, Reader, bool]


class Reading:
    """One document on its way: bytes that are left, levels that are open, and whether the rules of the edge hold."""

    __slots__ = ("deepest", "depth", "edge", "left", "meter")

    def __init__(self, meter: Meter, edge: bool):
        self.meter = meter
        self.edge = edge
        self.left = meter.max_value_bytes
        self.depth = 0
        self.deepest = 0

    def take(self, size: int) -> None:
        """Count bytes of what will be built."""
        self.left -= size
        if self.left < 0:
            raise Fault(f"the value would have more than the {self.meter.max_value_bytes} bytes that are allowed")

    def enter(self) -> None:
        """Count a level; the reader that entered it takes it back when it is done."""
        self.depth += 1
        if self.depth > self.deepest:
            self.deepest = self.depth
            if self.depth > VALUE_DEPTH:
                raise Fault(f"the value is nested deeper than {VALUE_DEPTH} levels")


def found_kind(wire: Any) -> str:
    """What stands in the document, in words that hold nothing of it."""
    if wire is None:
        return "null"
    if isinstance(wire, bool):
        return "true or false"
    if isinstance(wire, int):
        return "a whole number"
    if isinstance(wire, (ExactNumber, float)):
        return "a number"
    if isinstance(wire, str):
        return "a text"
    return "a list" if isinstance(wire, list) else "an object"


def _wrong(expected: str, wire: Any) -> Fault:
    return Fault(f"expected {expected}, found {found_kind(wire)}")


# Plain types.


def _check_text(text: str) -> None:
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise Fault("the text holds a lone surrogate") from None


def _read_text(wire: Any, state: Reading) -> Value:
    if not isinstance(wire, str):
        raise _wrong("a text", wire)
    state.take(text_size(wire))
    _check_text(wire)
    return wire


def _read_int(wire: Any, state: Reading) -> Value:
    if type(wire) is not int:
        if isinstance(wire, ExactNumber):
            digits = wire.text.removeprefix("-")
            if digits.isdigit():
                raise Fault("the number is not within 64 bits")
            raise Fault("expected a whole number, found one with a fraction or exponent")
        raise _wrong("a whole number", wire)
    if not INT_LOW <= wire <= INT_HIGH:
        raise Fault("the number is not within 64 bits")
    state.take(20)
    return wire


def _read_decimal(wire: Any, state: Reading) -> Value:
    try:
        if isinstance(wire, str):
            value = read_decimal(wire)
        elif isinstance(wire, ExactNumber):
            value = read_json_decimal(wire.text)
        elif type(wire) is int:
            if not INT_LOW <= wire <= INT_HIGH:
                raise Fault("a number that large must be written as text")
            value = CONTEXT.add(Decimal(wire), ZERO)
        elif isinstance(wire, float):
            raise Fault("the exact text of the number is lost; write it as text")
        else:
            raise _wrong('a Decimal as text, like "12.50"', wire)
    except Misspelt as fault:
        raise Fault(f"expected a Decimal: {fault.message}") from None
    state.take(size_of(value))
    return value


def _read_float(wire: Any, state: Reading) -> Value:
    if isinstance(wire, ExactNumber):
        value = wire.as_float()
    elif type(wire) in (int, float):
        value = float(wire) if abs(wire) <= 2**1023 else None
    else:
        raise _wrong("a number", wire)
    if value is None or not is_finite(value):
        raise Fault("the number is out of the range of Float")
    state.take(24)
    return value + 0.0


def _read_bool(wire: Any, state: Reading) -> Value:
    if not isinstance(wire, bool):
        raise _wrong("true or false", wire)
    state.take(5)
    return wire


def _read_nothing(wire: Any, state: Reading) -> Value:
    if wire is not None:
        raise _wrong("null", wire)
    state.take(4)
    return None


def _spelt(expected: str, read: Callable[[str], Value]) -> Reader:
    def reader(wire: Any, state: Reading) -> Value:
        if not isinstance(wire, str):
            raise _wrong(f"{expected} as text", wire)
        state.take(36)
        try:
            return read(wire)
        except Misspelt as fault:
            raise Fault(f"expected {expected}: {fault.message}") from None

    return reader


# Json.


def _read_json(wire: Any, state: Reading) -> Value:
    before = state.left
    outer, state.deepest = state.deepest, state.depth
    raw = _json(wire, state)
    depth = state.deepest - state.depth
    state.deepest = max(outer, state.deepest)
    return JsonValue(raw, before - state.left, depth)


def _json(wire: Any, state: Reading) -> Any:
    if isinstance(wire, str):
        return _read_text(wire, state)
    if wire is None or isinstance(wire, bool):
        state.take(size_of(wire))
        return wire
    if isinstance(wire, int):
        return _read_int(wire, state)
    if isinstance(wire, ExactNumber) and wire.text.removeprefix("-").isdigit():
        raise Fault("the number is not within 64 bits")
    if isinstance(wire, (ExactNumber, float)):
        return _read_float(wire, state)
    state.enter()
    raw = _json_list(wire, state) if isinstance(wire, list) else _json_object(wire, state)
    state.depth -= 1
    return raw


def _json_list(wire: list[Any], state: Reading) -> list[Any]:
    state.take(2 + len(wire))
    raw: list[Any] = []
    for item in wire:
        try:
            raw.append(_json(item, state))
        except Fault as fault:
            fault.steps.append(item_step(len(raw)))
            raise
    return raw


def _json_object(wire: Any, state: Reading) -> dict[str, Any]:
    if not isinstance(wire, dict):
        raise Fault("expected JSON")
    state.take(2 + len(wire))
    raw: dict[str, Any] = {}
    for name, item in wire.items():
        try:
            state.take(text_size(name) + 1)
            _check_text(name)
            raw[name] = _json(item, state)
        except Fault as fault:
            fault.steps.append(key_step(name))
            raise
    return raw


#: type → reader
PLAIN_READERS: dict[Any, Reader] = {
    "Text": _read_text,
    "Int": _read_int,
    "Decimal": _read_decimal,
    "Float": _read_float,
    "Bool": _read_bool,
    "Nothing": _read_nothing,
    "Date": _spelt("a Date", read_date),
    "DateTime": _spelt("a DateTime", read_datetime),
    "Duration": _spelt("a Duration", read_duration),
    "Json": _read_json,
}


# Composite types.


def list_reader(element: Reader) -> Reader:
    """The reader of a List."""

    def read(wire: Any, state: Reading) -> Value:
        if not isinstance(wire, list):
            raise _wrong("a list", wire)
        state.enter()
        state.take(2 + len(wire))
        items: list[Value] = []
        add = items.append
        try:
            for item in wire:
                add(element(item, state))
        except Fault as fault:
            fault.below(item_step(len(items)))
            raise
        state.depth -= 1
        return make_list(state.meter, tuple(items))

    return read


def map_reader(element: Reader) -> Reader:
    """The reader of a Map."""

    def read(wire: Any, state: Reading) -> Value:
        if not isinstance(wire, dict):
            raise _wrong("an object", wire)
        state.enter()
        state.take(2 + len(wire))
        entries: dict[str, Value] = {}
        for name, item in wire.items():
            try:
                state.take(text_size(name) + 1)
                _check_text(name)
                entries[name] = element(item, state)
            except Fault as fault:
                fault.below(key_step(name))
                raise
        state.depth -= 1
        return make_map(state.meter, entries)

    return read


def record_reader(ref: str, name: str, fields: list[FieldReader]) -> Reader:
    """The reader of a record; ``name`` is how messages call it."""
    read_fields = _fields_reader(f"`{name}`", fields, ())
    overhead = 2 + sum(len(field) + 4 for field, _, _, _ in fields)

    def read(wire: Any, state: Reading) -> Value:
        if not isinstance(wire, dict):
            raise _wrong(f"an object with the fields of `{name}`", wire)
        state.enter()
        state.take(overhead)
        values = read_fields(wire, state)
        state.depth -= 1
        return make_record(state.meter, ref, values)

    return read


def _fields_reader(
    owner: str, fields: list[FieldReader], others: tuple[str, ...]
) -> Callable[[dict[str, Any], Reading], dict[str, Value]]:
    """A reader of the fields of a record or variant: exactly these and the other members, which it does not read."""
    expected = frozenset([wire for _, wire, _, _ in fields] + list(others))

    def read(wire: dict[str, Any], state: Reading) -> dict[str, Value]:
        first: Fault | None = None
        if wire.keys() != expected:
            first = _find_unknown(owner, wire, expected, [name for _, name, _, _ in fields])
        values: dict[str, Value] = {}
        depth = state.depth
        for name, wire_name, reader, optional in fields:
            try:
                if wire_name in wire:
                    values[name] = reader(wire[wire_name], state)
                elif optional and state.edge:
                    state.enter()
                    state.take(ABSENT.size)
                    state.depth -= 1
                    values[name] = ABSENT
                else:
                    raise Fault("the field is missing")
            except Fault as fault:
                # The other fields are looked at, too: whoever corrects one fault wants to know of the next.
                fault.below(field_step(wire_name))
                state.depth = depth
                if first is None:
                    first = fault
                else:
                    first.join(fault)
                if state.left < 0:
                    break
        if first is not None:
            raise first
        return values

    return read


def _find_unknown(owner: str, wire: dict[str, Any], expected: frozenset[str], names: list[str]) -> Fault | None:
    first: Fault | None = None
    for given in wire:
        if given not in expected:
            near = nearest(given, [name for name in names if name not in wire])
            hint = f"; did you mean `{near}`?" if near is not None else ""
            fault = Fault(f"{owner} has no such field{hint}", field_step(given))
            if first is None:
                first = fault
            else:
                first.join(fault)
    return first


_ONLY_CHOICE = frozenset(("choice",))


def _no_variant(word: str, variants: Iterable[str], names: str, *steps: str) -> Fault:
    """The fault of a variant that there is not, with the one that was probably meant."""
    meant = nearest(word, variants)
    hint = "" if meant is None else f"; did you mean `{meant}`?"
    return Fault(f"there is no such variant; expected {names}{hint}", *steps)


def choice_reader(ref: str, variants: dict[str, list[FieldReader]]) -> Reader:
    """The reader of a choice: the name of a variant without payload, else an object with ``choice`` and the payload.

    At the edge an object with nothing but ``choice`` stands for the name, too: it is what a Python record with no other
    field comes to.
    """
    readers = {
        name: _fields_reader(f"`{name}`", fields, ("choice",)) if fields else None for name, fields in variants.items()
    }
    overheads = {
        name: 15 + len(name) + sum(len(field) + 4 for field, _, _, _ in fields) if fields else 2 + len(name)
        for name, fields in variants.items()
    }
    plain = {name: ChoiceValue(ref, name, {}, len(name) + 2, 0) for name, fields in variants.items() if not fields}
    names = _listed(variants)

    def read(wire: Any, state: Reading) -> Value:
        if isinstance(wire, str):
            value = plain.get(wire)
            if value is None:
                if wire in readers:
                    raise Fault(f'`{wire}` has fields: expected an object with `"choice": "{wire}"` and its fields')
                raise _no_variant(wire, readers, names)
            state.take(value.size)
            return value
        if not isinstance(wire, dict):
            raise _wrong(names, wire)
        if "choice" not in wire:
            raise Fault("the member is missing", field_step("choice"))
        variant = wire["choice"]
        if not isinstance(variant, str):
            raise Fault(f"expected a text, found {found_kind(variant)}", field_step("choice"))
        if variant not in readers:
            raise _no_variant(variant, readers, names, field_step("choice"))
        read_fields = readers[variant]
        if read_fields is None:
            if not state.edge:
                raise Fault(f'`{variant}` has no fields: expected the text "{variant}"')
            others = _find_unknown(f"`{variant}`", wire, _ONLY_CHOICE, [])
            if others is not None:
                raise others
            state.take(plain[variant].size)
            return plain[variant]
        state.enter()
        state.take(overheads[variant])
        values = read_fields(wire, state)
        state.depth -= 1
        return make_choice(state.meter, ref, variant, values)

    return read


def _listed(names: Any) -> str:
    known = list(names)
    text = ", ".join(f"`{shown(name)}`" for name in known[:8])
    return ("one of " if len(known) > 1 else "") + text + (f" and {len(known) - 8} more" if len(known) > 8 else "")


def optional_reader(inner: Reader, only_tagged: bool) -> Reader:
    """The reader of an Optional; ``only_tagged`` where a plain value could be taken for the tagged form."""

    def read(wire: Any, state: Reading) -> Value:
        state.enter()
        value: Value
        if state.edge and not only_tagged and not _is_tagged(wire):
            if wire is None:
                value = ABSENT
                state.take(ABSENT.size)
            else:
                state.take(27)
                value = make_present(state.meter, inner(wire, state))
        else:
            value = read_tagged(wire, state)
        state.depth -= 1
        return value

    def read_tagged(wire: Any, state: Reading) -> Value:
        if not isinstance(wire, dict):
            raise _wrong('an Optional, as `{"present": …}`', wire)
        present = wire.get("present")
        if not isinstance(present, bool):
            raise Fault("expected true or false", field_step("present"))
        expected = ("present", "value") if present else ("present",)
        for name in wire:
            if name not in expected:
                raise Fault("an Optional has no such member", field_step(name))
        if not present:
            state.take(ABSENT.size)
            return ABSENT
        if "value" not in wire:
            raise Fault("the member is missing", field_step("value"))
        state.take(27)
        try:
            return make_present(state.meter, inner(wire["value"], state))
        except Fault as fault:
            fault.below(field_step("value"))
            raise

    return read


def _is_tagged(wire: Any) -> bool:
    """Whether a wire value is a tagged Optional; a choice with a field `present` is told by its `choice`."""
    return isinstance(wire, dict) and "present" in wire and "choice" not in wire
