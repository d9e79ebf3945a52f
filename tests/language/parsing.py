"""Reading texts for tests of lexer, layout and parser."""

from __future__ import annotations

from typing import Any

from touba_cli.language import tree
from touba_cli.language.diagnostics import Diagnostic, Problems
from touba_cli.language.layout import Line, lay_out
from touba_cli.language.lexer import Lexed, read_source, tokenize
from touba_cli.language.parse_lines import parse_module
from touba_cli.language.source import Source


class Parsed:
    """A module with the problems found in it."""

    def __init__(self, text: str | bytes):
        problems = Problems()
        data = text if isinstance(text, bytes) else text.encode()
        self.source: Source | None = read_source("a.tb", data, problems)
        self.module = None if self.source is None else parse_module(self.source, problems)
        self.diagnostics: list[Diagnostic] = problems.sorted()

    @property
    def problems(self) -> list[str]:
        """`TB2005 3:5` for each."""
        return [place(each) for each in self.diagnostics]


def place(diagnostic: Diagnostic) -> str:
    line, column = diagnostic.source.position(diagnostic.span.start)
    return f"{diagnostic.code} {line}:{column}"


def tokens(text: str) -> tuple[Lexed, list[str]]:
    problems = Problems()
    source = Source("a.tb", text)
    return tokenize(source, problems), [place(each) for each in problems.sorted()]


def lines(text: str) -> tuple[list[Line], list[str]]:
    problems = Problems()
    source = Source("a.tb", text)
    return lay_out(source, tokenize(source, problems), problems), [place(each) for each in problems.sorted()]


def body(statements: str) -> str:
    """A module whose strategy has these statements; the first of them is line 5, and columns count from 9."""
    return "module a\nstrategy S\n    takes a as Int, b as Text\n    do\n" + "\n".join(
        " " * 8 + line if line else line for line in statements.split("\n")
    )


def statements(text: str) -> list[tree.Statement]:
    """The statements of a body that has nothing wrong."""
    found = Parsed(body(text))
    assert found.problems == [], found.diagnostics
    assert found.module is not None
    declaration = found.module.declarations[0]
    assert isinstance(declaration, tree.CallableDecl)
    return declaration.body.statements


def expression(text: str) -> str:
    """An expression in brackets: `(sum a + (product 2 * 3))`."""
    statement = statements(f"give {text}")[0]
    assert isinstance(statement, tree.Give)
    return shape(statement.value)


def shape(node: Any) -> str:
    """A node on one line, without places."""
    if isinstance(node, tree.Literal):
        return f"{node.kind}:{node.value!r}" if node.kind not in ("int", "bool", "none") else str(node.value)
    if isinstance(node, tree.Variable):
        return node.name
    if isinstance(node, tree.Name):
        return node.text
    if isinstance(node, tree.Chain):
        return "(" + " ".join([shape(node.first), *(f"{sign} {shape(each)}" for sign, _, each in node.rest)]) + ")"
    if isinstance(node, tree.Node):
        parts = [
            shape(getattr(node, each))
            for each in node.__dataclass_fields__
            if each != "span" and not each.endswith("_span")
        ]
        return "(" + " ".join([type(node).__name__, *(part for part in parts if part)]) + ")"
    if isinstance(node, list | tuple):
        return "[" + ", ".join(shape(each) for each in node) + "]"
    return "" if node is None else str(node) if not isinstance(node, str) else node


def nodes(root: Any) -> list[tree.Node]:
    """All nodes of a tree, without recursion."""
    found: list[tree.Node] = []
    waiting: list[Any] = [root]
    while waiting:
        item = waiting.pop()
        if isinstance(item, tree.Node):
            found.append(item)
            waiting.extend(getattr(item, each) for each in item.__dataclass_fields__)
        elif isinstance(item, list | tuple):
            waiting.extend(item)
    return found
