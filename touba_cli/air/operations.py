"""Every operation of the language, once: its names, what it takes and gives, and what it charges.

The compiler picks an operation by the spelling and the static types of its operands, the verifier checks it by the
same row, the machine finds its meaning under the same name in ``touba_cli/values/functions.py``, and
``docs/operations.md`` is written from the table.

Types are those of ``docs/air.md`` with two variables: ``T`` is any type, ``E`` any type that can be compared for
equality (all but Json hold no surprises, so today ``E`` is any type too; it is kept apart because the docs say
which operations compare).

``charge`` says what an operation charges on top of the 1 of its expression:

``-``       nothing
``text``    1 for every 16 code points of its Texts, those in its Lists too
``list``    1 for every element of its Lists or entry of its Maps
``deep``    1 for every 16 units of the size of what it compares
``result``  1 for every element of its result, or every 16 code points of it

Two words charge both.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .types import TypeForm


class Operation:
    """One row. ``spelling`` is what programs write; several rows may share it, told apart by their operands."""

    __slots__ = ("charge", "form", "gives", "name", "sentence", "spelling", "takes")

    def __init__(
        self,
        name: str,
        form: str,
        spelling: str,
        takes: tuple[TypeForm, ...],
        gives: TypeForm,
        charge: str,
        sentence: str,
    ):
        self.name = name
        self.form = form  # "infix", "prefix", "call" or "index"
        self.spelling = spelling
        self.takes = takes
        self.gives = gives
        self.charge = charge
        self.sentence = sentence


def _list(of: TypeForm) -> TypeForm:
    return ("List", of)


def _map(of: TypeForm) -> TypeForm:
    return ("Map", of)


def _optional(of: TypeForm) -> TypeForm:
    return ("Optional", of)


_ROWS: list[Operation] = []


def _row(
    name: str, form: str, spelling: str, takes: tuple[TypeForm, ...], gives: TypeForm, charge: str, sentence: str
) -> None:
    _ROWS.append(Operation(name, form, spelling, takes, gives, charge, sentence))


# One row a line, however long.
# ruff: noqa: E501
# fmt: off

# Arithmetic. Int is tried before Decimal, so a mix of both widens to Decimal.
for _suffix, _type in (("int", "Int"), ("decimal", "Decimal"), ("float", "Float")):
    _row(f"add.{_suffix}", "infix", "+", (_type, _type), _type, "-", "the sum")
    _row(f"sub.{_suffix}", "infix", "-", (_type, _type), _type, "-", "the difference")
    _row(f"mul.{_suffix}", "infix", "*", (_type, _type), _type, "-", "the product")
    _row(f"neg.{_suffix}", "prefix", "-", (_type,), _type, "-", "the number with its sign changed")
    _row(f"abs.{_suffix}", "call", "abs", (_type,), _type, "-", "the number without its sign")
_row("div.decimal", "infix", "/", ("Decimal", "Decimal"), "Decimal", "-", "the quotient, to 34 digits, half-even")
_row("div.float", "infix", "/", ("Float", "Float"), "Float", "-", "the quotient")
_row("div.int", "infix", "div", ("Int", "Int"), "Int", "-", "the quotient rounded down: `-7 div 2` is -4")
_row("mod.int", "infix", "mod", ("Int", "Int"), "Int", "-", "what `div` leaves; its sign is the divisor's")
_row("add.text", "infix", "+", ("Text", "Text"), "Text", "result", "the second Text after the first")
_row("add.list", "infix", "+", (_list("T"), _list("T")), _list("T"), "result", "the second List after the first")
_row("add.date", "infix", "+", ("Date", "Duration"), "Date", "-", "the date whole days later; the Duration must be whole days")
_row("sub.date", "infix", "-", ("Date", "Duration"), "Date", "-", "the date whole days earlier")
_row("add.datetime", "infix", "+", ("DateTime", "Duration"), "DateTime", "-", "the moment that much later")
_row("sub.datetime", "infix", "-", ("DateTime", "Duration"), "DateTime", "-", "the moment that much earlier")
_row("add.duration", "infix", "+", ("Duration", "Duration"), "Duration", "-", "the sum")
_row("sub.duration", "infix", "-", ("Duration", "Duration"), "Duration", "-", "the difference")
_row("neg.duration", "prefix", "-", ("Duration",), "Duration", "-", "the Duration with its sign changed")
_row("between.date", "infix", "-", ("Date", "Date"), "Duration", "-", "the time from the second date to the first")
_row("between.datetime", "infix", "-", ("DateTime", "DateTime"), "Duration", "-", "the time from the second moment to the first")

# Comparison.
_row("eq", "infix", "is", ("E", "E"), "Bool", "deep", "whether both are equal; scale, map order and offsets do not count")
_row("ne", "infix", "is not", ("E", "E"), "Bool", "deep", "whether they differ")
for _name, _spelling, _sentence in (
    ("lt", "<", "whether the first comes before the second"),
    ("le", "<=", "whether the first does not come after the second"),
    ("gt", ">", "whether the first comes after the second"),
    ("ge", ">=", "whether the first does not come before the second"),
):
    for _type, _charge in (
        ("Int", "-"), ("Decimal", "-"), ("Float", "-"), ("Text", "text"), ("Date", "-"), ("DateTime", "-"), ("Duration", "-"),
    ):  # fmt: skip
        _row(f"{_name}.{_type.lower()}", "infix", _spelling, (_type, _type), "Bool", _charge, _sentence)
_row("in.list", "infix", "in", ("E", _list("E")), "Bool", "deep", "whether the List has an equal element")
_row("in.map", "infix", "in", ("Text", _map("T")), "Bool", "-", "whether the Map has the key")

# Positions.
_row("index.list", "index", "[]", (_list("T"), "Int"), "T", "-", "the element at a position counted from 0")
_row("index.text", "index", "[]", ("Text", "Int"), "Text", "-", "the code point at a position counted from 0")
_row("index.map", "index", "[]", (_map("T"), "Text"), _optional("T"), "-", "the value under a key, if there is one")

# Built-in functions.
_row("length.text", "call", "length", ("Text",), "Int", "-", "the number of code points")
_row("length.list", "call", "length", (_list("T"),), "Int", "-", "the number of elements")
_row("length.map", "call", "length", (_map("T"),), "Int", "-", "the number of entries")
for _suffix, _type in (("int", "Int"), ("decimal", "Decimal"), ("float", "Float"), ("duration", "Duration")):
    _row(f"sum.{_suffix}", "call", "sum", (_list(_type),), _type, "list", "the sum of the elements; of none, zero")
for _name, _sentence in (("min", "the least element, if there is one"), ("max", "the greatest element, if there is one")):
    for _type in ("Int", "Decimal", "Float", "Text", "Date", "DateTime", "Duration"):
        _row(
            f"{_name}.{_type.lower()}", "call", _name, (_list(_type),), _optional(_type),
            "list text" if _type == "Text" else "list", _sentence,
        )  # fmt: skip
for _type in ("Int", "Decimal", "Float", "Text", "Date", "DateTime", "Duration"):
    _row(
        f"sorted.{_type.lower()}", "call", "sorted", (_list(_type),), _list(_type),
        "list text" if _type == "Text" else "list", "the elements in ascending order",
    )  # fmt: skip
_row("reversed", "call", "reversed", (_list("T"),), _list("T"), "list", "the elements in reverse order")
_row("unique", "call", "unique", (_list("E"),), _list("E"), "deep", "each element once, where it first stood")
_row("first", "call", "first", (_list("T"),), _optional("T"), "-", "the first element, if there is one")
_row("last", "call", "last", (_list("T"),), _optional("T"), "-", "the last element, if there is one")
_row("count", "call", "count", (_list("Bool"),), "Int", "list", "how many elements are true")
_row("any", "call", "any", (_list("Bool"),), "Bool", "list", "whether an element is true; of none, false")
_row("all", "call", "all", (_list("Bool"),), "Bool", "list", "whether all elements are true; of none, true")
_row("range.to", "call", "range", ("Int",), _list("Int"), "result", "0 up to the number, without it")
_row("range.between", "call", "range", ("Int", "Int"), _list("Int"), "result", "the first number up to the second, without it")
for _type in ("Int", "Decimal", "Float", "Bool", "Date", "DateTime", "Duration"):
    _row(f"text.{_type.lower()}", "call", "text", (_type,), "Text", "-", "the value as Text")
_row("text.choice", "call", "text", ("choice",), "Text", "-", "the name of a choice without payload")
_row("int.text", "call", "int", ("Text",), _optional("Int"), "text", "the whole number that the Text spells, if it does")
_row("int.decimal", "call", "int", ("Decimal",), "Int", "-", "the number without its fraction")
_row("int.float", "call", "int", ("Float",), "Int", "-", "the number without its fraction")
_row("decimal.text", "call", "decimal", ("Text",), _optional("Decimal"), "text", "the Decimal that the Text spells, if it does")
_row("decimal.int", "call", "decimal", ("Int",), "Decimal", "-", "the same number")
_row("decimal.float", "call", "decimal", ("Float",), "Decimal", "-", "the number that the Float's shortest spelling means")
_row("round.decimal", "call", "round", ("Decimal", "Int"), "Decimal", "-", "rounded to so many places, half to even")
_row(
    "round.mode", "call", "round", ("Decimal", "Int", "Text"), "Decimal", "-",
    'rounded in a mode written as a literal: "half_even", "half_up", "half_down", "up", "down", "floor" or "ceiling"',
)  # fmt: skip
_row("round.float", "call", "round", ("Float", "Int"), "Float", "-", "rounded to so many places, half to even")
_row("trim", "call", "trim", ("Text",), "Text", "text", "without blanks, tabs and line ends at both ends")
_row("upper", "call", "upper", ("Text",), "Text", "text", "in capitals, by Unicode's default mapping")
_row("lower", "call", "lower", ("Text",), "Text", "text", "in small letters, by Unicode's default mapping")
_row("split.text", "call", "split", ("Text", "Text"), _list("Text"), "text", "the parts between the separator; the separator may not be empty")
_row("split.blanks", "call", "split", ("Text",), _list("Text"), "text", "the words between blanks, tabs and line ends")
_row("join", "call", "join", (_list("Text"), "Text"), "Text", "list result", "the elements with the separator between them")
_row(
    "replace", "call", "replace", ("Text", "Text", "Text"), "Text", "text result",
    "every place of the second Text changed to the third; the second may not be empty",
)  # fmt: skip
_row("contains", "call", "contains", ("Text", "Text"), "Bool", "text", "whether the second Text stands in the first")
_row("starts_with", "call", "starts_with", ("Text", "Text"), "Bool", "text", "whether the first Text begins with the second")
_row("ends_with", "call", "ends_with", ("Text", "Text"), "Bool", "text", "whether the first Text ends with the second")
_row("slice.text", "call", "slice", ("Text", "Int", "Int"), "Text", "result", "from one position to before another, cut to the length")
_row("slice.list", "call", "slice", (_list("T"), "Int", "Int"), _list("T"), "result", "from one position to before another, cut to the length")
_row("keys", "call", "keys", (_map("T"),), _list("Text"), "list", "the keys in their order")
_row("values", "call", "values", (_map("T"),), _list("T"), "list", "the values in the order of their keys")
_row("items", "call", "items", (_map("T"),), _list(("Entry", "T")), "list", "the entries: records with `key` and `value`")
_row("merge", "call", "merge", (_map("T"), _map("T")), _map("T"), "list", "both Maps; where both have a key, the second's value")
_row("without", "call", "without", (_map("T"), "Text"), _map("T"), "list", "the Map without a key")

# fmt: on

#: name in AIR → row
OPERATIONS: dict[str, Operation] = {row.name: row for row in _ROWS}

#: (form, spelling) → rows in the order in which the compiler tries them
SPELLINGS: dict[tuple[str, str], tuple[Operation, ...]] = {}
for _found in _ROWS:
    SPELLINGS[_found.form, _found.spelling] = (*SPELLINGS.get((_found.form, _found.spelling), ()), _found)

#: names of built-in functions, for hints and for the name space that they have to themselves
BUILT_INS: tuple[str, ...] = tuple(dict.fromkeys(row.spelling for row in _ROWS if row.form == "call"))

#: what `round` takes as its third operand
ROUNDING_MODES: tuple[str, ...] = ("half_even", "half_up", "half_down", "up", "down", "floor", "ceiling")
