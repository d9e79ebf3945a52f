"""Types as the generator knows them: what is declared, how a place writes its type, and values of it.

A *form* is a type without constraints and names, as in `touba_cli/air/types.py`. A *place* is what stands behind `as`
or `gives`: a form together with the way it is written, its constraints among them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.generated.draw import Draw

Form = Any

#: plain type → literals and the same values as JSON
VALUES: dict[str, list[tuple[str, Any]]] = {
    "Int": [
        ("0", 0), ("1", 1), ("2", 2), ("3", 3), ("7", 7), ("12", 12), ("1_000", 1000), ("-1", -1), ("-7", -7),
        ("4_000_000_000", 4 * 10**9), ("9_007_199_254_740_993", 2**53 + 1), ("9_223_372_036_854_775_807", 2**63 - 1),
    ],
    "Decimal": [
        ("0.0", "0.0"), ("1.5", "1.5"), ("12.50", "12.50"), ("-3.25", "-3.25"), ("0.001", "0.001"), ("100.00", "100.00"),
        ("9999999999999999999999999999999.999", "9999999999999999999999999999999.999"),
    ],
    "Float": [("0f", 0), ("1.5f", 1.5), ("-2.25f", -2.25), ("1e-3f", 0.001), ("1e300f", 1e300), ("0.1f", 0.1)],
    "Bool": [("true", True), ("false", False)],
    "Text": [
        ('""', ""), ('"a"', "a"), ('"tea"', "tea"), ('"12"', "12"), ('" b  c\\n"', " b  c\n"), ('"\\u{e9}ß"', "éß"),
        ('"a longer text of more than sixteen"', "a longer text of more than sixteen"), ('"-4.50"', "-4.50"),
        ('"\\{a}\\"\\\\"', '{a}"\\'),
    ],
    "Date": [
        ('date "2026-01-31"', "2026-01-31"), ('date "2024-02-29"', "2024-02-29"), ('date "9999-12-31"', "9999-12-31"),
        ('date "1970-01-01"', "1970-01-01"),
    ],
    "DateTime": [
        ('datetime "2026-01-31T12:00:00Z"', "2026-01-31T12:00:00Z"),
        ('datetime "2025-06-30T23:59:59.5+02:00"', "2025-06-30T23:59:59.5+02:00"),
        ('datetime "1999-12-31T00:00:00-11:30"', "1999-12-31T00:00:00-11:30"),
    ],
    "Duration": [
        ("30 seconds", "PT30S"), ("1 hour", "PT1H"), ("2 days", "P2D"), ("0 minutes", "PT0S"), ("-3 days", "-P3D"),
        ("90 minutes", "PT1H30M"), ("900_000_000 days", "P900000000D"),
    ],
}  # fmt: skip

#: values of Json, which has no literals
JSONS: list[Any] = [None, True, 0, -1.5, "x", [], [1, [None]], {"a": {"b": [1]}, "": False}]

KEYS = ["a", "b", "key", "", "é"]

#: plain type → constraints, with literals that keep them
RULES: dict[str, list[tuple[str, list[str]]]] = {
    "Int": [
        ("min 0", ["0", "5", "1_000"]), ("min 0 max 100", ["0", "5", "100"]), ("above 0", ["1", "5"]),
        ("below 10", ["5", "9", "-1"]), ("min -5 below 6", ["5", "-5"]),
    ],
    "Decimal": [
        ("min 0", ["0.0", "2.5", "100"]), ("above 0.5 below 100", ["0.51", "2.5"]), ("max 10", ["-3.25", "2.5", "10"]),
    ],
    "Float": [("min 0f max 1f", ["0f", "0.5f", "1f"]), ("above -1f", ["0.5f", "1e300f"])],
    "Text": [
        ("length min 1", ['"a"', '"tea"']), ("length 1 to 8", ['"a"', '"tea"', '"éßé"']), ("length 3", ['"tea"']),
        ("length max 4", ['""', '"tea"']), ('matching "[A-Z]{2}\\d{3}"', ['"AB123"', '"ZZ000"']),
        ('matching "(tea|a|b+)?"', ['"tea"', '""', '"bbb"']), ('format "email"', ['"a@b.cd"']),
        ('length min 2 matching "[^,]*"', ['"tea"', '"é "']), ('format "date"', ['"2026-01-31"']),
    ],
    "Date": [('min date "1900-01-01"', ['date "2026-01-31"', 'date "9999-12-31"'])],
    "DateTime": [('below datetime "2100-01-01T00:00:00Z"', ['datetime "2026-01-31T12:00:00Z"'])],
    "Duration": [("min 0 seconds", ["30 seconds", "2 days"]), ("above -1 day max 7 days", ["0 minutes", "2 days"])],
}  # fmt: skip

#: constraints of Lists and Maps, with the least and greatest length
LENGTHS = [("length max 5", 0, 3), ("length 1 to 3", 1, 3), ("length min 1", 1, 3), ("length 2", 2, 2)]

_SPELLED = {
    **{literal: wire for pairs in VALUES.values() for literal, wire in pairs},
    "100": 100, "5": 5, "9": 9, "-5": -5, "2.5": "2.5", "10": 10, "0.51": "0.51", "0.5f": 0.5, "1f": 1,
    '"éßé"': "éßé", '"AB123"': "AB123", '"ZZ000"': "ZZ000", '"bbb"': "bbb", '"a@b.cd"': "a@b.cd",
    '"é "': "é ", '"2026-01-31"': "2026-01-31",
}  # fmt: skip

PLAIN = tuple(VALUES)
ORDERED = ("Int", "Decimal", "Float", "Text", "Date", "DateTime", "Duration")
KEYABLE = ("Text", "Int", "Decimal", "Bool", "Date", "DateTime", "Duration")


class Declared:
    """A declared type. ``kind`` is record, choice or alias."""

    def __init__(self, kind: str, module: str, name: str):
        self.kind = kind
        self.module = module
        self.name = name
        self.ref = f"type:{module}/{name}"
        #: of a record
        self.fields: list[Member] = []
        #: of a choice
        self.variants: list[tuple[str, list[Member]]] = []
        #: of an alias
        self.place: Place | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it is a choice without any payload."""
        return self.kind == "choice" and not any(fields for _, fields in self.variants)


class Place:
    """A type as it is written at a place.

    ``head`` is a plain type, "List", "Map", "Optional", "Outcome", or a declared type; ``of`` what is inside; ``rule``
    a constraint of this level (of a Text or number its text and literals that keep it, of a List its lengths).
    """

    def __init__(self, head: str | Declared, of: Place | None = None, rule: Any = None):
        self.head = head
        self.of = of
        self.rule = rule

    @property
    def form(self) -> Form:
        if isinstance(self.head, Declared):
            return self.head.place.form if self.head.place is not None else self.head.ref
        return self.head if self.of is None else (self.head, self.of.form)

    @property
    def narrow(self) -> bool:
        """Whether literals may break a constraint of it."""
        if self.rule is not None:
            return True
        if isinstance(self.head, Declared):
            return self.head.place is not None and self.head.place.narrow
        return self.of is not None and self.of.narrow

    def written(self, spell: Callable[[Declared], str], bare: bool = False) -> str:
        """The type as a module writes it; with ``bare`` constraints are allowed at its end."""
        text = spell(self.head) if isinstance(self.head, Declared) else self.head
        if self.of is not None:
            through = self.head == "Optional" and bare and self.rule is None
            text += (" " if self.head == "Optional" else " of ") + self.of.written(spell, bare=through)
        if self.rule is None:
            return text
        return f"{text} {self.rule[0]}" if bare else f"({text} {self.rule[0]})"


class Member:
    """A field or an input."""

    def __init__(self, name: str, place: Place, wire: str | None = None):
        self.name = name
        self.place = place
        self.wire = wire

    @property
    def key(self) -> str:
        return self.wire or self.name


PROBLEM = Declared("record", "touba", "Problem")
PROBLEM.fields = [Member(name, Place("Text")) for name in ("code", "message", "ref")]


class World:
    """All declared types, by reference."""

    def __init__(self) -> None:
        self.declared: dict[str, Declared] = {PROBLEM.ref: PROBLEM}
        #: records of groups, which no program can name: form → fields
        self.groups: dict[str, list[tuple[str, Form]]] = {}

    def of(self, form: Form) -> Declared | None:
        return self.declared.get(form) if isinstance(form, str) else None

    def fields(self, form: Form) -> list[tuple[str, Form]]:
        """Names and forms of the fields of a record; nothing for other types."""
        if isinstance(form, tuple):
            return [("key", "Text"), ("value", form[1])] if form[0] == "Entry" else []
        if form in self.groups:
            return self.groups[form]
        declared = self.declared.get(form)
        if declared is None or declared.kind != "record":
            return []
        return [(each.name, each.place.form) for each in declared.fields]

    def variants(self, form: Form) -> list[tuple[str, list[tuple[str, Form]]]]:
        """Variants of a choice or Outcome with their fields; nothing for other types."""
        if isinstance(form, tuple):
            if form[0] != "Outcome":
                return []
            return [("Done", [("value", form[1])]), ("Failed", [("problem", PROBLEM.ref)])]
        declared = self.declared.get(form)
        if declared is None or declared.kind != "choice":
            return []
        return [(name, [(each.name, each.place.form) for each in fields]) for name, fields in declared.variants]

    def is_plain_choice(self, form: Form) -> bool:
        declared = self.of(form)
        return declared is not None and declared.is_plain


def mentions(form: Form, what: str) -> bool:
    """Whether a type stands anywhere in a form (not inside what is declared)."""
    while isinstance(form, tuple):
        if form[0] == what:
            return True
        form = form[1]
    return bool(form == what)


def is_opaque(form: Form) -> bool:
    """Whether values of the form cannot be written out."""
    return mentions(form, "Json") or mentions(form, "Outcome")


# --- values of a place ------------------------------------------------------------------------------------------------


def _unfolded(place: Place) -> Place:
    while isinstance(place.head, Declared) and place.head.place is not None:
        inner = place.head.place
        place = Place(inner.head, inner.of, place.rule or inner.rule)
    return place


def lengths(place: Place) -> tuple[int, int]:
    """Least and greatest number of elements that are drawn for a List or Map."""
    return (place.rule[1], place.rule[2]) if place.rule is not None else (0, 2)


def wire(draw: Draw, place: Place, depth: int = 3) -> Any:
    """A value of the type as JSON, constraints kept."""
    place = _unfolded(place)
    head, of = place.head, place.of
    if isinstance(head, Declared):
        if head.kind == "record":
            return _wire_fields(draw, head.fields, depth)
        name, fields = draw.pick(head.variants)
        return {"choice": name, **_wire_fields(draw, fields, depth)} if fields else name
    if of is None:
        if head == "Json":
            return draw.pick(JSONS)
        if head == "Nothing":
            return None
        return _SPELLED[draw.pick(place.rule[1])] if place.rule is not None else draw.pick(VALUES[head])[1]
    if head == "Optional":
        # A plain value of these could be taken for the tagged form.
        plain = _unfolded(of).head not in ("Optional", "Json", "Map") and draw.chance(50)
        if depth <= 0 or draw.chance(35):
            return None if plain else {"present": False}
        inside = wire(draw, of, depth - 1)
        return inside if plain else {"present": True, "value": inside}
    low, high = lengths(place)
    count = draw.between(low, high) if depth > 0 else low
    if head == "List":
        return [wire(draw, of, depth - 1) for _ in range(count)]
    return {key: wire(draw, of, depth - 1) for key in draw.some(KEYS, count, count)}


def _wire_fields(draw: Draw, fields: list[Member], depth: int) -> dict[str, Any]:
    found = {}
    for each in fields:
        if _unfolded(each.place).head == "Optional" and draw.chance(30):
            continue
        found[each.key] = wire(draw, each.place, depth - 1)
    return found


def as_document(value: Any) -> bytes:
    """JSON text, as it comes from outside."""
    return json.dumps(value).encode()
