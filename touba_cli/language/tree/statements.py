"""Nodes of statements, and of effects: what is a whole line or the whole right side of one."""

from __future__ import annotations

from typing import TypeAlias

from ..records import dataclass
from .expressions import Argument, Expr, Literal
from .types import Name, Node, Span, Type


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
    """`set x = e`."""

    name: Name
    value: RightSide


@dataclass(eq=False, slots=True)
class Give(Node):
    """`give e`."""

    value: RightSide


@dataclass(eq=False, slots=True)
class EffectLine(Node):
    """A call, question, review or group whose result nothing keeps."""

    effect: Effect


@dataclass(eq=False, slots=True)
class Show(Node):
    """`show "…"`."""

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
    """`require c else "…"`."""

    condition: Expr
    text: Expr


@dataclass(eq=False, slots=True)
class Stop(Node):
    """`stop "…"`."""

    text: Expr


@dataclass(eq=False, slots=True)
class Fail(Node):
    """`fail "…"`."""

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
    """One case of a `when`, with its block."""

    pattern: Pattern
    block: Block


@dataclass(eq=False, slots=True)
class When(Node):
    """`when e`, with its arms; ``otherwise`` is None without `else`."""

    """``otherwise`` and the place of its word, ``otherwise_span``, are None without `else`."""

    subject: Expr
    arms: list[Arm]
    otherwise: Block | None
    otherwise_span: Span | None = None


@dataclass(eq=False, slots=True)
class ForEach(Node):
    """`for each x in xs`, with its block."""

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
    """`break`."""


@dataclass(eq=False, slots=True)
class Continue(Node):
    """`continue`."""


@dataclass(eq=False, slots=True)
class Attempt(Node):
    """`attempt … on failure as problem …`: ``problem`` is None without `as`, ``handler_span`` the `on failure` line."""

    block: Block
    problem: Name | None
    handler: Block
    handler_span: Span


@dataclass(eq=False, slots=True)
class Compensate(Node):
    """`compensate`: undo the effects of the `attempt` that failed."""


Statement: TypeAlias = (
    Let | Set | Give | EffectLine | Show | Approve | Require | Stop | Fail | If | When | ForEach | Repeat | Break
    | Continue | Parallel | Attempt | Compensate
)  # fmt: skip


@dataclass(eq=False, slots=True)
class Block(Node):
    """``damaged``: a line of it could not be read (and was reported), so its paths and uses say nothing certain."""

    statements: list[Statement]
    damaged: bool = False
