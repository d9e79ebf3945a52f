"""Nodes of expressions."""

from __future__ import annotations

from typing import TypeAlias

from ..records import dataclass
from .types import Name, Node, Span


@dataclass(eq=False, slots=True)
class Literal(Node):
    """``kind``: int, decimal, float, text, bool, none, date, datetime, duration.

    ``value``: int → `int`; decimal and float → the digits as `str` without `_` and `f`; text → the decoded `str`;
    bool → `bool`; none → None; date and datetime → the `str` between the quotes; duration → ``(amount, unit)`` with the
    unit in the plural (seconds, minutes, hours, days).
    """

    kind: str
    value: object


@dataclass(eq=False, slots=True)
class Interpolation(Node):
    """`"Pay {amount} now"`: decoded texts and expressions in their order."""

    parts: list[str | Expr]


@dataclass(eq=False, slots=True)
class Variable(Node):
    """A small name: an input, `let`, `var`, loop or arm name."""

    name: str


@dataclass(eq=False, slots=True)
class Argument(Node):
    """`amount: 3` or `3`. ``name`` is None where it is unnamed."""

    name: Name | None
    value: Expr


@dataclass(eq=False, slots=True)
class Capital(Node):
    """`Invoice(id: "A")`, `Total(lines)`, `Low`, `Severity.Low`, `m.Invoice(…)`: a record, a variant or a function.

    ``path`` holds what stands before the last dot: module words, then perhaps a choice's name. ``arguments`` is None
    where there are no brackets.
    """

    path: list[Name]
    name: Name
    arguments: list[Argument] | None


@dataclass(eq=False, slots=True)
class BuiltIn(Node):
    """`length(x)`: a small name followed by brackets."""

    name: Name
    arguments: list[Expr]


@dataclass(eq=False, slots=True)
class SortedBy(Node):
    """`sorted(xs by .amount descending)`."""

    items: Expr
    path: list[Name]
    descending: bool


@dataclass(eq=False, slots=True)
class Field(Node):
    """`a.b`."""

    of: Expr
    name: Name


@dataclass(eq=False, slots=True)
class Index(Node):
    """`a[i]`."""

    of: Expr
    at: Expr


@dataclass(eq=False, slots=True)
class With(Node):
    """`a with (b: 1)`."""

    of: Expr
    changes: list[Argument]


@dataclass(eq=False, slots=True)
class Otherwise(Node):
    """`a otherwise b`."""

    optional: Expr
    fallback: Expr


@dataclass(eq=False, slots=True)
class Prefix(Node):
    """`-a`, `not a`: ``operator`` is ``-`` or ``not``; ``operator_span`` its place."""

    operator: str
    operand: Expr
    operator_span: Span


@dataclass(eq=False, slots=True)
class Chain(Node):
    """Operators of one level, left to right: sums (`+ -`) or products (`* / div mod`). Flat, however long."""

    first: Expr
    rest: list[tuple[str, Span, Expr]]


@dataclass(eq=False, slots=True)
class Comparison(Node):
    """``operator``: `<` `<=` `>` `>=` `is` `is not` `in` `not in`."""

    operator: str
    left: Expr
    right: Expr
    operator_span: Span


@dataclass(eq=False, slots=True)
class IsPresent(Node):
    """`a is present`, `a is absent`."""

    operand: Expr
    present: bool


@dataclass(eq=False, slots=True)
class Logic(Node):
    """`a and b and c`, `a or b`: ``operator`` is ``and`` or ``or``. Flat, however long."""

    operator: str
    operands: list[Expr]


@dataclass(eq=False, slots=True)
class Conditional(Node):
    """`a if c else b`."""

    condition: Expr
    then: Expr
    otherwise: Expr


@dataclass(eq=False, slots=True)
class ListLiteral(Node):
    """`[a, b]`."""

    items: list[Expr]


@dataclass(eq=False, slots=True)
class Comprehension(Node):
    """`[e for x in xs if c]`."""

    item: Expr
    name: Name
    source: Expr
    condition: Expr | None


@dataclass(eq=False, slots=True)
class MapLiteral(Node):
    """`{k: v}`: ``entries`` holds key and value of each."""

    entries: list[tuple[Expr, Expr]]


@dataclass(eq=False, slots=True)
class Unknown(Node):
    """An expression that could not be read; it was reported, and nothing more is said about it."""


Expr: TypeAlias = (
    Literal | Interpolation | Variable | Capital | BuiltIn | SortedBy | Field | Index | With | Otherwise | Prefix
    | Chain | Comparison | IsPresent | Logic | Conditional | ListLiteral | Comprehension | MapLiteral | Unknown
)  # fmt: skip
