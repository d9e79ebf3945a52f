"""JSON Schema (2020-12) of the strict wire form of a type.

A schema accepts everything that `TypeTable.decode` accepts without the rules of the edge. It refuses the same things,
but for what JSON Schema cannot say:

* limits of a Decimal, date or Duration that is written as text (``description`` names them), and their ranges;
* which days a month has (``format`` says that it is a date);
* what a ``format`` is exactly: libraries check it by rules of their own, or not at all;
* that ``1.0`` is no Int, and how a number was spelt: 34 digits of a Decimal, 64 bits of a whole number in a Json.

Patterns are anchored, use no look-around and no classes beyond ``[…]``, so every dialect reads them alike.
"""

from __future__ import annotations

from ..air.types import freeze, show
from ..codec import INT_HIGH, INT_LOW
from .constraints import BOUNDS, length_words
from .literals import literal
from .model import ENTRY
from .numbers import DECIMAL_CHARACTERS, DIGITS
from .patterns import json_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..air.types import TypeForm
    from .check import Field, TypeTable

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def _decimal_pattern() -> str:
    """Plain notation with at most 34 significant digits; the zeros at the end of a whole number do not count."""
    forms = [rf"[1-9][0-9]{{0,{DIGITS - 1}}}0*", rf"0(\.(0+|0*[1-9][0-9]{{0,{DIGITS - 1}}}))?"]
    forms += [rf"[1-9][0-9]{{{more}}}\.[0-9]{{1,{DIGITS - 1 - more}}}" for more in range(DIGITS - 1)]
    return f"^-?({'|'.join(forms)})$"


_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"([0-9]{1,18}H([0-9]{1,18}M)?(S)?|[0-9]{1,18}M(S)?|S)".replace("S", r"[0-9]{1,18}(\.[0-9]{1,6})?S")

_PLAIN: dict[str, dict[str, Any]] = {
    "Text": {"type": "string"},
    "Int": {"type": "integer", "minimum": INT_LOW, "maximum": INT_HIGH},
    "Float": {"type": "number"},
    "Bool": {"type": "boolean"},
    "Nothing": {"type": "null"},
    "Json": {},
    "Date": {"type": "string", "format": "date", "pattern": f"^{_DATE}$"},
    "DateTime": {
        "type": "string",
        "format": "date-time",
        "pattern": rf"^{_DATE}T[0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}(\.[0-9]{{1,6}})?(Z|[+-][0-9]{{2}}:[0-9]{{2}})$",
    },
    "Duration": {
        "type": "string",
        "format": "duration",
        "pattern": f"^-?P([0-9]{{1,18}}D(T{_CLOCK})?|T{_CLOCK})$",
    },
}

_DECIMAL: dict[str, Any] = {
    "anyOf": [
        {"type": "string", "pattern": _decimal_pattern(), "maxLength": DECIMAL_CHARACTERS},
        {"type": "number"},
    ]
}

#: constraint → keyword for numbers
_KEYWORDS = {"min": "minimum", "max": "maximum", "above": "exclusiveMinimum", "below": "exclusiveMaximum"}


def json_schema(table: TypeTable, form: TypeForm) -> dict[str, Any]:
    """The schema of one type, with the declared types that it needs under ``$defs``.

    >>> from .check import TypeTable
    >>> json_schema(TypeTable({}), ("List", "Bool"))["items"]
    {'type': 'boolean'}
    """
    writer = _Writer(table)
    schema = {"$schema": DIALECT, **writer.schema(form)}
    if writer.definitions:
        schema["$defs"] = writer.definitions
    return schema


class _Writer:
    """One schema on its way: what it defines."""

    def __init__(self, table: TypeTable):
        self.table = table
        self.definitions: dict[str, Any] = {}

    def schema(self, form: TypeForm) -> dict[str, Any]:
        if isinstance(form, str):
            if form == "Decimal":
                return self._defined("Decimal", lambda: dict(_DECIMAL))
            if form in _PLAIN:
                return dict(_PLAIN[form])
            return self._defined(_definition_name(form), lambda: self._declared(form))
        kind = form[0]
        if kind == "is":
            return self._constrained(form)
        if kind == "List":
            return {"type": "array", "items": self.schema(form[1])}
        if kind == "Map":
            return {"type": "object", "additionalProperties": self.schema(form[1])}
        if kind == ENTRY:
            return self._members(self.table.fields(form), {})
        return {
            "oneOf": [
                _closed({"present": {"const": False}}),
                _closed({"present": {"const": True}, "value": self.schema(form[1])}),
            ]
        }

    def _defined(self, name: str, make: Any) -> dict[str, Any]:
        if name not in self.definitions:
            self.definitions[name] = {}  # a type that holds itself refers here while it is being made
            self.definitions[name] = make()
        return {"$ref": f"#/$defs/{name}"}

    def _declared(self, ref: str) -> dict[str, Any]:
        declaration = self.table.declared[ref]
        if declaration["kind"] == "alias":
            schema = self.schema(freeze(declaration["of"]))
        elif declaration["kind"] == "record":
            schema = self._members(self.table.fields(ref), _docs(declaration["fields"]))
        else:
            schema = self._choice(ref, declaration)
        return {"title": show(ref), **_described(declaration.get("doc")), **schema}

    def _choice(self, ref: str, declaration: dict[str, Any]) -> dict[str, Any]:
        docs = {variant["name"]: variant for variant in declaration["variants"]}
        names = [name for name, fields in self.table.variants(ref).items() if not fields]
        forms: list[dict[str, Any]] = [{"enum": names}] if names else []
        for name, fields in self.table.variants(ref).items():
            if fields:
                schema = self._members(fields, _docs(docs[name]["fields"]), {"choice": {"const": name}})
                forms.append({**_described(docs[name].get("doc")), **schema})
        return forms[0] if len(forms) == 1 else {"oneOf": forms}

    def _members(
        self, fields: list[Field], docs: dict[str, str], first: dict[str, dict[str, Any]] | None = None
    ) -> dict[str, Any]:
        properties = dict(first or {})
        for name, form, wire in fields:
            properties[wire] = {**_described(docs.get(name)), **self.schema(form)}
        return _closed(properties)

    def _constrained(self, form: TypeForm) -> dict[str, Any]:
        """The schema of the base with the constraints beside it, inside of Optional where there is one."""
        inner = self.table.resolve(form[1])
        if not isinstance(inner, str) and inner[0] == "Optional":
            return self.schema(("Optional", ("is", inner[1], form[2])))
        schema = self.schema(form[1])
        rules: list[dict[str, Any]] = []
        words: list[str] = []
        constraints: tuple[tuple[Any, ...], ...] = form[2]  # type: ignore[assignment]
        for constraint in constraints:
            kind = constraint[0]
            if kind == "length":
                rules.append(_length_rule(inner, constraint[1], constraint[2]))
            elif kind == "matching":
                rules.append({"pattern": json_pattern(constraint[1])})
            elif kind == "format":
                rules.append({"format": constraint[1]})
            elif inner in ("Int", "Float"):
                rules.append({_KEYWORDS[kind]: literal(constraint[1])})
            else:
                words.append(f"{BOUNDS[kind]} {constraint[1][1]}")
        if words:
            rules.append({"description": " and ".join(words)})
        return {"allOf": [schema, *rules]} if rules else schema


def _length_rule(inner: TypeForm, low: int | None, high: int | None) -> dict[str, Any]:
    if isinstance(inner, str):
        names = ("minLength", "maxLength")
    else:
        names = ("minItems", "maxItems") if inner[0] == "List" else ("minProperties", "maxProperties")
    rule: dict[str, Any] = {"description": f"length {length_words(low, high)}"}
    if low is not None:
        rule[names[0]] = low
    if high is not None:
        rule[names[1]] = high
    return rule


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    """An object with exactly these members."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _docs(fields: Any) -> dict[str, str]:
    return {field["name"]: field["doc"] for field in fields if "doc" in field}


def _described(doc: str | None) -> dict[str, str]:
    return {"description": doc} if doc else {}


def _definition_name(ref: str) -> str:
    """``type:app/Invoice`` as ``app.Invoice``: no sign that a JSON pointer must escape."""
    return ref.removeprefix("type:").replace("/", ".")
