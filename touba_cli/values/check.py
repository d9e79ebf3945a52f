"""Types at work: values are read from wire values, checked, and written again, by the types of a program.

`TypeTable` makes one reader for each type form, at its first use, and keeps it. A reader takes a wire value (what
`codec.decode` gives) and counts size and nesting before it builds. What is wrong is a `Fault` that collects its path
on the way up and leaves as `ValueInvalid`.
"""

from __future__ import annotations

from ..air.types import BUILT_IN_TYPES, base, freeze, show
from ..errors import ToubaFailure
from .constraints import make_rule, reading_steps
from .model import ABSENT, ENTRY, ListValue, MapValue, Present
from .paths import Fault, field_step, item_step, key_step
from .readers import (
    PLAIN_READERS,
    Reading,
    choice_reader,
    list_reader,
    map_reader,
    optional_reader,
    record_reader,
)
from .writers import Writing, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    from ..air.types import TypeForm
    from .model import ChoiceValue, Meter, RecordValue, Value
    from .readers import Reader

    #: name, type, name on the wire
    Field: TypeAlias = tuple[str, TypeForm, str]
    Checker: TypeAlias = Callable[[Value, Meter], None]


class ValueInvalid(Exception):
    """A wire value that is no value of its type. The message names kinds and limits, never the value."""

    def __init__(self, path: str, message: str, others: list[tuple[str, str]] | None = None):
        super().__init__(f"{path}: {message}")
        self.path = path
        self.message = message
        #: what else is wrong: path and message, in the order in which it was found
        self.others = others or []

    def all(self) -> list[tuple[str, str]]:
        """Path and message of everything that was found wrong."""
        return [(self.path, self.message), *self.others]


class TypeTable:
    """The types of one program.

    Parameters:
        declared: reference → declaration, as in AIR's ``types``. The built-in types are added.

    >>> table = TypeTable({"type:app/Line": {"kind": "record", "fields": [{"name": "net", "type": "Decimal"}]}})
    >>> table.fields("type:app/Line")
    [('net', 'Decimal', 'net')]
    """

    __slots__ = ("_checkers", "_fields", "_ordinals", "_readers", "_variants", "declared")

    def __init__(self, declared: dict[str, dict[str, Any]]):
        self.declared: dict[str, dict[str, Any]] = {**BUILT_IN_TYPES, **declared}
        self._fields: dict[TypeForm, list[Field]] = {}
        self._variants: dict[str, dict[str, list[Field]]] = {}
        self._ordinals: dict[str, dict[str, int]] = {}
        self._readers: dict[TypeForm, Reader] = dict(PLAIN_READERS)
        self._checkers: dict[TypeForm, Checker | None] = {}

    # What is declared.

    def fields(self, ref: TypeForm) -> list[Field]:
        """The fields of a record or ``("Entry", T)``: name, type form, name on the wire; in declaration order."""
        found = self._fields.get(ref)
        if found is None:
            if ref[0] == ENTRY:
                found = [("key", "Text", "key"), ("value", ref[1], "value")]
            else:
                found = _read_fields(self.declared[str(ref)]["fields"])
            self._fields[ref] = found
        return found

    def variants(self, ref: str) -> dict[str, list[Field]]:
        """The variants of a choice with their fields, in declaration order."""
        found = self._variants.get(ref)
        if found is None:
            found = {
                variant["name"]: _read_fields(variant.get("fields", ())) for variant in self.declared[ref]["variants"]
            }
            self._variants[ref] = found
        return found

    def ordinal(self, value: ChoiceValue) -> int:
        """The position of a choice's variant in its declaration, from 0."""
        found = self._ordinals.get(value.type)
        if found is None:
            found = {name: number for number, name in enumerate(self.variants(value.type))}
            self._ordinals[value.type] = found
        return found[value.variant]

    # Wire value → value.

    def decode(self, form: TypeForm, wire: Any, path: str, meter: Meter, *, edge: bool) -> Value:
        """Read a value of a type. Charges nothing; the meter gives the size that a value may have.

        Parameters:
            form: the type.
            wire: what `codec.decode` gave, or a part of it.
            path: how to name the whole in messages; ``$`` where it has no name.
            edge: whether null or a missing field stands for an absent Optional, and a plain value for a present one.

        Raises:
            ValueInvalid: at the first fault, with its path; its ``others`` are those of fields beside it.
        """
        state = Reading(meter, edge)
        try:
            return self.reader(form)(wire, state)
        except Fault as fault:
            others = [(other.path(path), other.message) for other in fault.others]
            raise ValueInvalid(fault.path(path), fault.message, others) from None

    def reader(self, form: TypeForm) -> Reader:
        """The reader of a type; the parts that `readers.py` is made of ask for each other's here."""
        if isinstance(form, list):
            form = freeze(form)
        found = self._readers.get(form)
        if found is None:
            # A type may hold itself: whoever asks meanwhile gets a way to the reader that is being made.
            self._readers[form] = lambda wire, state: self._readers[form](wire, state)
            found = self._readers[form] = self._make_reader(form)
        return found

    def _make_reader(self, form: TypeForm) -> Reader:
        if isinstance(form, str):
            declaration = self.declared[form]
            if declaration["kind"] == "alias":
                return self.reader(freeze(declaration["of"]))
            if declaration["kind"] == "choice":
                return choice_reader(form, self._readers_of_variants(form))
            return record_reader(form, show(form), self._readers_of(self.fields(form)))
        kind = form[0]
        if kind == "is":
            return _constrained_reader(self.reader(form[1]), form[2])
        if kind == "List":
            return list_reader(self.reader(form[1]))
        if kind == "Map":
            return map_reader(self.reader(form[1]))
        if kind == ENTRY:
            return record_reader(ENTRY, show(form), self._readers_of(self.fields(form)))
        return optional_reader(self.reader(form[1]), self._only_tagged(form[1]))

    def _readers_of_variants(self, ref: str) -> dict[str, list[tuple[str, str, Reader, bool]]]:
        return {name: self._readers_of(fields) for name, fields in self.variants(ref).items()}

    def _readers_of(self, fields: list[Field]) -> list[tuple[str, str, Reader, bool]]:
        return [(name, wire, self.reader(form), self._is_optional(form)) for name, form, wire in fields]

    def resolve(self, form: TypeForm) -> TypeForm:
        """The type below aliases and constraints, at the outermost level only."""
        while True:
            if isinstance(form, str):
                declaration = self.declared.get(form)
                if declaration is None or declaration["kind"] != "alias":
                    return form
                form = freeze(declaration["of"])
            elif form[0] == "is":
                form = form[1]
            else:
                return form

    def _is_optional(self, form: TypeForm) -> bool:
        found = self.resolve(form)
        return not isinstance(found, str) and found[0] == "Optional"

    def _only_tagged(self, inner: TypeForm) -> bool:
        """Whether a plain value of the inner type could be taken for the tagged form of its Optional."""
        found = self.resolve(inner)
        if not isinstance(found, str):
            return found[0] in ("Map", "Optional")
        if found == "Json":
            return True
        declaration = self.declared.get(found)
        if declaration is None or declaration["kind"] != "record":
            return False
        return any(wire == "present" for _, _, wire in self.fields(found))

    # Value → wire value.

    def encode(self, form: TypeForm, value: Value) -> Any:
        """The strict wire form of a value: dict, list, str, int, float, bool and None.

        Raises ToubaFailure (ValueTooLarge) where the names of fields on the wire make it too large.
        """
        return write(value, Writing(self))

    # Constraints.

    def constrain(self, form: TypeForm, value: Value, label: str, meter: Meter) -> None:
        """Check the constraints of a declared type: through aliases, Optional and elements, not into records and
        choices, whose fields were checked when they were made. Charges 1 for each element that it looks at, and for
        each pattern and format 1 for every 16 code points that it reads.

        Parameters:
            form: the declared type; the value has its base type.
            label: the start of the path in the message.

        Raises:
            ToubaFailure: ConstraintViolated, with the path in the message.
        """
        checker = self._checker(form)
        if checker is not None:
            try:
                checker(value, meter)
            except Fault as fault:
                raise ToubaFailure("ConstraintViolated", f"`{fault.path(label)}` {fault.message}") from None

    def _checker(self, form: TypeForm) -> Checker | None:
        if isinstance(form, list):
            form = freeze(form)
        if form in self._checkers:
            return self._checkers[form]
        # As with readers; a type that holds itself is checked, whether it has constraints or not.
        self._checkers[form] = lambda value, meter: self._check_again(form, value, meter)
        found = self._checkers[form] = self._make_checker(form)
        return found

    def _check_again(self, form: TypeForm, value: Value, meter: Meter) -> None:
        checker = self._checkers[form]
        if checker is not None:
            checker(value, meter)

    def _make_checker(self, form: TypeForm) -> Checker | None:
        if isinstance(form, str):
            declaration = self.declared.get(form)
            if declaration is None or declaration["kind"] != "alias":
                return None
            return self._checker(freeze(declaration["of"]))
        kind = form[0]
        inner = self._checker(form[1])
        if kind == "is":
            return _rule_checker(inner, form[2])
        if inner is None:
            return None
        if kind == "List":
            return _list_checker(inner)
        if kind == "Map":
            return _map_checker(inner)
        if kind == ENTRY:
            return _entry_checker(inner)
        return _optional_checker(inner)

    # JSON Schema.

    def json_schema(self, form: TypeForm) -> dict[str, Any]:
        """The JSON Schema (2020-12) of the strict wire form of a type."""
        from .schema import json_schema

        return json_schema(self, freeze(form))

    def base(self, form: TypeForm) -> TypeForm:
        """The type without constraints and aliases, all the way down."""
        return base(form, self.declared)


def _read_fields(fields: Any) -> list[Field]:
    return [(field["name"], freeze(field["type"]), field.get("wire", field["name"])) for field in fields]


def _constrained_reader(inner: Reader, constraints: tuple[Any, ...]) -> Reader:
    rule = make_rule(constraints)

    def read(wire: Any, state: Reading) -> Value:
        value = inner(wire, state)
        broken = rule(value)
        if broken is not None:
            raise Fault(broken)
        return value

    return read


def _rule_checker(inner: Checker | None, constraints: tuple[Any, ...]) -> Checker:
    rule = make_rule(constraints)

    def check(value: Value, meter: Meter) -> None:
        meter.charge(reading_steps(constraints, value))
        broken = rule(value)
        if broken is not None:
            raise Fault(broken)
        if inner is not None:
            inner(value, meter)

    return check


def _list_checker(inner: Checker) -> Checker:
    def check(value: ListValue, meter: Meter) -> None:
        meter.charge(len(value.items))
        for position, item in enumerate(value.items):
            try:
                inner(item, meter)
            except Fault as fault:
                fault.steps.append(item_step(position))
                raise

    return check


def _map_checker(inner: Checker) -> Checker:
    def check(value: MapValue, meter: Meter) -> None:
        meter.charge(len(value.entries))
        for name, item in value.entries.items():
            try:
                inner(item, meter)
            except Fault as fault:
                fault.steps.append(key_step(name))
                raise

    return check


def _entry_checker(inner: Checker) -> Checker:
    def check(value: RecordValue, meter: Meter) -> None:
        try:
            inner(value.fields["value"], meter)
        except Fault as fault:
            fault.steps.append(field_step("value"))
            raise

    return check


def _optional_checker(inner: Checker) -> Checker:
    def check(value: Value, meter: Meter) -> None:
        if isinstance(value, Present):
            inner(value.value, meter)
        elif value is not ABSENT:
            raise ToubaFailure("AirUnsound", "an Optional was expected")

    return check
