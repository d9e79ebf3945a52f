"""The syntax tree of tests in the language: what `test "…"` says."""

from __future__ import annotations

from typing import TypeAlias

from ..records import dataclass
from .declarations import Qualified, Reference
from .expressions import Expr, Literal
from .statements import Call
from .types import Name, Node


@dataclass(eq=False, slots=True)
class GivenTool(Node):
    """`given tool T gives e` (``value``), `given tool T fails with "Code"` (``code``)."""

    tool: Reference
    value: Expr | None
    code: Expr | None


@dataclass(eq=False, slots=True)
class GivenAnswer(Node):
    """What people answer. ``kind`` is approve, review or ask; ``word`` is approve, reject or accept, else ``value``."""

    kind: str
    gate: Name | None
    word: Name | None
    value: Expr | None


@dataclass(eq=False, slots=True)
class Proposal(Node):
    """`call Find(…)` (``call``) or `answer e` (``answer``) of an agent."""

    call: Call | None
    answer: Expr | None


@dataclass(eq=False, slots=True)
class GivenAgent(Node):
    """`given agent A decides`, with its proposals."""

    agent: Reference
    proposals: list[Proposal]


Given: TypeAlias = GivenTool | GivenAnswer | GivenAgent


@dataclass(eq=False, slots=True)
class Expectation(Node):
    """``kind``: status (``word``), result (``value``), calls (``target``, ``times``), effects."""

    kind: str
    word: Name | None = None
    value: Expr | None = None
    target: Qualified | None = None
    times: Literal | None = None


@dataclass(eq=False, slots=True)
class TestDecl(Node):
    """`test "…"`: ``run`` is None where the line is missing or could not be read."""

    name: Expr
    given: list[Given]
    run: Call | None
    expect: list[Expectation]
    damaged: bool = False
