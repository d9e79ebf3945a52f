"""The syntax tree: what a module says, with its places and nothing computed.

The parser builds it, later passes read it and keep their results in side tables keyed by node (nodes compare and hash
by identity). `parse_lines` makes declarations and statements, `parse_expr` expressions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from .records import dataclass, field

if TYPE_CHECKING:
    from .tree_tests import TestDecl


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a file: code-point offsets, end not included. `Source` (source.py) turns them into lines."""

    start: int
    end: int


@dataclass(eq=False, slots=True)
class Node:
    span: Span


@dataclass(eq=False, slots=True)
class Name(Node):
    """A word where something is named."""

    text: str


# --- types ------------------------------------------------------------------------------------------------------------


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


# --- expressions ------------------------------------------------------------------------------------------------------


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
    entries: list[tuple[Expr, Expr]]


@dataclass(eq=False, slots=True)
class Unknown(Node):
    """An expression that could not be read; it was reported, and nothing more is said about it."""


Expr: TypeAlias = (
    Literal | Interpolation | Variable | Capital | BuiltIn | SortedBy | Field | Index | With | Otherwise | Prefix
    | Chain | Comparison | IsPresent | Logic | Conditional | ListLiteral | Comprehension | MapLiteral | Unknown
)  # fmt: skip


# --- statements -------------------------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class Call(Node):
    """`call Pay(invoice)`: the right side of `let var set give`, or (in `CallLine`) a line of its own."""

    path: list[Name]
    name: Name
    arguments: list[Argument]


@dataclass(eq=False, slots=True)
class Ask(Node):
    """`ask "…" as T named n`."""

    text: Expr
    type: Type
    name: Name | None


@dataclass(eq=False, slots=True)
class Review(Node):
    """`human.review value "…" named n expires after 3 days`."""

    value: Expr
    text: Expr
    name: Name | None
    expires: Literal | None


@dataclass(eq=False, slots=True)
class ParallelEach(Node):
    """`parallel for each x in xs at most N at once`, with its block; ``limit`` is None without `at most`."""

    name: Name
    source: Expr
    limit: Literal | None
    collecting: bool
    block: Block


#: what waits for the outside, or for branches that do: never inside an expression
Effect: TypeAlias = Call | Ask | Review | ParallelEach
RightSide: TypeAlias = Expr | Effect
#: the same, for `isinstance`
EFFECT_NODES = (Call, Ask, Review, ParallelEach)


@dataclass(eq=False, slots=True)
class Let(Node):
    """`let x as T = …` and, with ``mutable``, `var x as T = …`."""

    name: Name
    declared: Type | None
    value: RightSide
    mutable: bool


@dataclass(eq=False, slots=True)
class Set(Node):
    name: Name
    value: RightSide


@dataclass(eq=False, slots=True)
class Give(Node):
    value: RightSide


@dataclass(eq=False, slots=True)
class EffectLine(Node):
    """A call, question, review or group whose result nothing keeps."""

    effect: Effect


@dataclass(eq=False, slots=True)
class Show(Node):
    text: Expr


@dataclass(eq=False, slots=True)
class Approve(Node):
    """`human.approve "…" named n expires after 3 days`."""

    text: Expr
    name: Name | None
    expires: Literal | None


@dataclass(eq=False, slots=True)
class Branch(Node):
    """`branch name`, with its block."""

    name: Name
    block: Block


@dataclass(eq=False, slots=True)
class Parallel(Node):
    """`parallel as name`, with its branches."""

    name: Name
    collecting: bool
    branches: list[Branch]


@dataclass(eq=False, slots=True)
class Require(Node):
    condition: Expr
    text: Expr


@dataclass(eq=False, slots=True)
class Stop(Node):
    text: Expr


@dataclass(eq=False, slots=True)
class Fail(Node):
    text: Expr


@dataclass(eq=False, slots=True)
class If(Node):
    """``branches``: condition and block of `if` and each `else if`; ``otherwise`` is None without `else`."""

    branches: list[tuple[Expr, Block]]
    otherwise: Block | None


@dataclass(eq=False, slots=True)
class VariantPattern(Node):
    """`is Paid with receipt, note`."""

    name: Name
    bindings: list[Name]


@dataclass(eq=False, slots=True)
class PresentPattern(Node):
    """`is present as x`."""

    name: Name


@dataclass(eq=False, slots=True)
class AbsentPattern(Node):
    """`is absent`."""


@dataclass(eq=False, slots=True)
class LiteralPattern(Node):
    """`is "a", "b"`: any of the literals."""

    literals: list[Expr]


Pattern: TypeAlias = VariantPattern | PresentPattern | AbsentPattern | LiteralPattern


@dataclass(eq=False, slots=True)
class Arm(Node):
    pattern: Pattern
    block: Block


@dataclass(eq=False, slots=True)
class When(Node):
    subject: Expr
    arms: list[Arm]
    otherwise: Block | None


@dataclass(eq=False, slots=True)
class ForEach(Node):
    name: Name
    source: Expr
    block: Block


@dataclass(eq=False, slots=True)
class Repeat(Node):
    """`repeat up to N times while c`."""

    times: Expr
    condition: Expr | None
    block: Block


@dataclass(eq=False, slots=True)
class Break(Node):
    pass


@dataclass(eq=False, slots=True)
class Continue(Node):
    pass


@dataclass(eq=False, slots=True)
class Attempt(Node):
    """`attempt … on failure as problem …`: ``problem`` is None without `as`, ``handler_span`` the `on failure` line."""

    block: Block
    problem: Name | None
    handler: Block
    handler_span: Span


@dataclass(eq=False, slots=True)
class Compensate(Node):
    pass


Statement: TypeAlias = (
    Let | Set | Give | EffectLine | Show | Approve | Require | Stop | Fail | If | When | ForEach | Repeat | Break
    | Continue | Parallel | Attempt | Compensate
)  # fmt: skip


@dataclass(eq=False, slots=True)
class Block(Node):
    """``damaged``: a line of it could not be read (and was reported), so its paths and uses say nothing certain."""

    statements: list[Statement]
    damaged: bool = False


# --- declarations -----------------------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class FieldDecl(Node):
    """A field of a record or of a variant, or an input."""

    name: Name
    type: Type
    wire: str | None = None
    doc: str | None = None


@dataclass(eq=False, slots=True)
class RecordDecl(Node):
    name: Name
    fields: list[FieldDecl]
    doc: str | None = None


@dataclass(eq=False, slots=True)
class AliasDecl(Node):
    """`type X is T constraints`."""

    name: Name
    type: Type
    doc: str | None = None


@dataclass(eq=False, slots=True)
class VariantDecl(Node):
    name: Name
    fields: list[FieldDecl]
    doc: str | None = None


@dataclass(eq=False, slots=True)
class ChoiceDecl(Node):
    name: Name
    variants: list[VariantDecl]
    doc: str | None = None


@dataclass(eq=False, slots=True)
class Qualified(Node):
    """`Pay`, `m.Pay`: ``path`` holds the module words before the name."""

    path: list[Name]
    name: Name


@dataclass(eq=False, slots=True)
class Reference(Node):
    """`tool Pay`, `strategy m.Review`."""

    kind: Name
    target: Qualified


@dataclass(eq=False, slots=True)
class CallableDecl(Node):
    """`function`, `skill` or `strategy`: ``kind``.

    ``gives`` is None where nothing is given back; ``callers`` is None without `callable_by`, which only skills have.
    """

    kind: str
    name: Name
    takes: list[FieldDecl]
    gives: Type | None
    body: Block
    doc: str | None = None
    callers: list[Reference] | None = None


@dataclass(eq=False, slots=True)
class ToolDecl(Node):
    """``effect`` is None where the clause is absent; ``timeout`` is a duration."""

    name: Name
    takes: list[FieldDecl]
    gives: Type | None
    requires: list[Name] = field(default_factory=list)
    secrets: list[Name] = field(default_factory=list)
    reads: list[Qualified] = field(default_factory=list)
    writes: list[Qualified] = field(default_factory=list)
    effect: Name | None = None
    key: Expr | None = None
    compensation: Qualified | None = None
    timeout: Literal | None = None
    doc: str | None = None


@dataclass(eq=False, slots=True)
class AgentDecl(Node):
    """``callers`` is None without `callable_by`; ``steps`` and ``provider_calls`` are whole numbers."""

    name: Name
    takes: list[FieldDecl]
    gives: Type | None
    responsibility: Expr | None = None
    uses: list[Reference] = field(default_factory=list)
    callers: list[Reference] | None = None
    reviews: bool = False
    steps: Literal | None = None
    provider_calls: Literal | None = None
    doc: str | None = None


@dataclass(eq=False, slots=True)
class MemoryDecl(Node):
    """``key`` is the way to a field of what it holds; empty where the clause is absent."""

    name: Name
    holds: Type | None = None
    key: list[Name] = field(default_factory=list)
    scope: Name | None = None
    doc: str | None = None


@dataclass(eq=False, slots=True)
class PayloadDecl(Node):
    """`topic from body.topic` (``path``), `topic is "news"` (``value``)."""

    name: Name
    path: list[Name]
    value: Expr | None


@dataclass(eq=False, slots=True)
class TriggerDecl(Node):
    """``source`` is the word behind `on`; ``where`` its cron line, path or name; ``quota`` number and period."""

    name: Name
    source: Name | None = None
    where: Expr | None = None
    zone: Expr | None = None
    starts: Reference | None = None
    payload: list[PayloadDecl] = field(default_factory=list)
    quota: tuple[Literal, Name] | None = None
    doc: str | None = None


Declaration: TypeAlias = (
    RecordDecl | AliasDecl | ChoiceDecl | CallableDecl | ToolDecl | AgentDecl | MemoryDecl | TriggerDecl
)


@dataclass(eq=False, slots=True)
class Import(Node):
    """`import a.b as c` (``names`` is None) and `from a.b import X, Y`."""

    path: list[Name]
    alias: Name | None
    names: list[Name] | None

    @property
    def module(self) -> str:
        return ".".join(word.text for word in self.path)


@dataclass(eq=False, slots=True)
class Module(Node):
    """One file. ``name`` is None where the `module` line is missing (reported by the parser).

    ``unread`` holds the names of declarations that could not be read (and were reported): they are not unknown names.
    """

    name: str | None
    name_span: Span
    imports: list[Import] = field(default_factory=list)
    declarations: list[Declaration] = field(default_factory=list)
    tests: list[TestDecl] = field(default_factory=list)
    unread: list[Name] = field(default_factory=list)
