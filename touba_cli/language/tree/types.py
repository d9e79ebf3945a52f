"""What every node is, and the nodes of types."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from ..records import dataclass

if TYPE_CHECKING:
    from .expressions import Expr


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a file: code-point offsets, end not included. `Source` (source.py) turns them into lines."""

    start: int
    end: int


@dataclass(eq=False, slots=True)
class Node:
    """What the parser made of the text at ``span``."""

    span: Span


@dataclass(eq=False, slots=True)
class Name(Node):
    """A word where something is named."""

    text: str


@dataclass(eq=False, slots=True)
class NamedType(Node):
    """`Text`, `Invoice`, `m.Invoice`: ``path`` holds the module words before the name."""

    path: list[Name]
    name: Name


@dataclass(eq=False, slots=True)
class GenericType(Node):
    """`List of T`, `Map of T`, `Optional T`, `Outcome of T`: ``kind`` is the first word."""

    kind: str
    of: Type


@dataclass(eq=False, slots=True)
class Constraint(Node):
    """`length 1 to 40`, `min 0`: ``word`` is one of `CONSTRAINT_WORDS`.

    For ``length``: low and high are whole numbers or None. For the others ``bound`` is a literal expression (a
    `Literal`, or a `Prefix` "-" over one); for ``matching`` and ``format`` a text, that of a pattern as it is written.
    """

    word: str
    low: int | None = None
    high: int | None = None
    bound: Expr | None = None


@dataclass(eq=False, slots=True)
class ConstrainedType(Node):
    """A type with constraints. Through `Optional` they pass to the inner type: the checker does that."""

    of: Type
    constraints: list[Constraint]


@dataclass(eq=False, slots=True)
class UnknownType(Node):
    """A type that could not be read; it was reported, and nothing more is said about it."""


Type: TypeAlias = NamedType | GenericType | ConstrainedType | UnknownType
