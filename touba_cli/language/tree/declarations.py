"""Nodes of declarations, of imports, and of a whole module."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from ..records import dataclass, field
from .expressions import Expr, Literal
from .statements import Block
from .types import Name, Node, Span, Type

if TYPE_CHECKING:
    from .tests import TestDecl


@dataclass(eq=False, slots=True)
class FieldDecl(Node):
    """A field of a record or of a variant, or an input."""

    name: Name
    type: Type
    wire: str | None = None
    doc: str | None = None


@dataclass(eq=False, slots=True)
class RecordDecl(Node):
    """`record Name`, with its fields."""

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
    """A variant of a choice; ``fields`` is empty where it holds nothing."""

    name: Name
    fields: list[FieldDecl]
    doc: str | None = None


@dataclass(eq=False, slots=True)
class ChoiceDecl(Node):
    """`choice Name`, with its variants."""

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
