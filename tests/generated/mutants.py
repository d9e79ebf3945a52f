"""Programs that were changed somewhere: the undirected share of what the compiler is given."""

from __future__ import annotations

from collections.abc import Callable

from tests.generated.draw import Draw
from touba_cli.language import tree
from touba_cli.language.diagnostics import Problems
from touba_cli.language.format import read_module
from touba_cli.language.format_lines import nodes_of
from touba_cli.language.source import Source as File
from touba_cli.language.tokens import Token

_OPERATORS = [
    "+", "-", "*", "/", "div", "mod", "<", "<=", ">", ">=", "is", "is not", "in", "and", "or", "not", "otherwise", "is present",
]  # fmt: skip
_TYPES = [
    "Int",
    "Text",
    "Decimal",
    "Bool",
    "Float",
    "Date",
    "Json",
    "Nothing",
    "Optional Int",
    "List of Text",
    "Map of Int",
]
_LITERALS = ["0", "1", "2.5", "true", '""', '"a"', "none", "[]", "{}", "1f", "3 days", 'date "2026-01-31"', "-1"]
_CLAUSES = (
    "callable_by",
    "uses",
    "effect",
    "requires",
    "secret",
    "gives",
    "takes",
    "timeout",
    "is ",
    "else",
    "compensate",
)

_EXPRESSIONS = (
    tree.Literal, tree.Interpolation, tree.Variable, tree.Capital, tree.BuiltIn, tree.SortedBy, tree.Field, tree.Index,
    tree.With, tree.Otherwise, tree.Prefix, tree.Chain, tree.Comparison, tree.IsPresent, tree.Logic, tree.Conditional,
    tree.ListLiteral, tree.Comprehension, tree.MapLiteral,
)  # fmt: skip


class Mutator:
    """Changes one file of a program."""

    def __init__(self, draw: Draw, text: str):
        self.draw = draw
        self.text = text
        self.lines = text.split("\n")
        read = read_module(File("app.tb", text), Problems())
        self.tokens: list[Token] = [each for each in read.tokens if each.end > each.start]
        nodes = list(nodes_of(read.module))
        self.expressions = [each for each in nodes if isinstance(each, _EXPRESSIONS)]
        self.literals = [each for each in nodes if isinstance(each, tree.Literal)]
        self.types = [each for each in nodes if isinstance(each, tree.NamedType)]

    def mutate(self) -> str:
        """The text with one change."""
        ways: list[Callable[[], str | None]] = [
            self.name, self.name, self.operator, self.literal, self.type, self.drop_line, self.repeat_line, self.swap_lines,
            self.argument, self.swap_expressions, self.swap_expressions, self.copy_expression, self.clause, self.token,
            self.drop_block, self.exchange_alike, self.exchange_alike, self.exchange_alike, self.exchange_alike,
        ]  # fmt: skip
        for _ in range(8):
            changed = self.draw.pick(ways)()
            if changed is not None and changed != self.text:
                return changed
        return self.text + "\n"

    def put(self, start: int, end: int, text: str) -> str:
        return self.text[:start] + text + self.text[end:]

    # --- tokens -------------------------------------------------------------------------------------------------------

    def _words(self, capital: bool) -> list[Token]:
        return [
            each for each in self.tokens
            if each.kind in ("word", "capital") and each.text[:1].isupper() == capital and each.text not in _OPERATORS
        ]  # fmt: skip

    def name(self) -> str | None:
        """A name becomes another one of the file."""
        words = self._words(self.draw.chance(50))
        if not words:
            return None
        one, other = self.draw.pick(words), self.draw.pick(words)
        return self.put(one.start, one.end, other.text)

    def operator(self) -> str | None:
        known = [each for each in self.tokens if each.text in _OPERATORS]
        if not known:
            return None
        one = self.draw.pick(known)
        return self.put(one.start, one.end, self.draw.pick(_OPERATORS))

    def token(self) -> str | None:
        """A token is dropped, doubled, or becomes another one."""
        one, other = self.draw.pick(self.tokens), self.draw.pick(self.tokens)
        return self.put(one.start, one.end, self.draw.pick(["", f"{one.text} {one.text}", other.text]))

    def literal(self) -> str | None:
        if not self.literals:
            return None
        one = self.draw.pick(self.literals)
        return self.put(one.span.start, one.span.end, self.draw.pick(_LITERALS))

    def type(self) -> str | None:
        if not self.types:
            return None
        one, other = self.draw.pick(self.types), self.draw.pick(self.types)
        text = self.draw.pick([*_TYPES, self.text[other.span.start : other.span.end]])
        return self.put(one.span.start, one.span.end, text)

    # --- lines --------------------------------------------------------------------------------------------------------

    def drop_line(self) -> str | None:
        at = self.draw.below(len(self.lines))
        return "\n".join(self.lines[:at] + self.lines[at + 1 :])

    def repeat_line(self) -> str | None:
        at = self.draw.below(len(self.lines))
        return "\n".join([*self.lines[: at + 1], *self.lines[at:]])

    def swap_lines(self) -> str | None:
        at, to = self.draw.below(len(self.lines)), self.draw.below(len(self.lines))
        lines = list(self.lines)
        lines[at], lines[to] = lines[to], lines[at]
        return "\n".join(lines)

    def _block(self, at: int) -> int:
        """The end of the line and of all lines that stand deeper."""
        indent = len(self.lines[at]) - len(self.lines[at].lstrip())
        end = at + 1
        while end < len(self.lines):
            line = self.lines[end]
            if line.strip() and len(line) - len(line.lstrip()) <= indent:
                break
            end += 1
        return end

    def drop_block(self) -> str | None:
        """A line with all that belongs to it: an arm, a branch, a declaration."""
        at = self.draw.below(len(self.lines))
        return "\n".join(self.lines[:at] + self.lines[self._block(at) :])

    def clause(self) -> str | None:
        """A clause or arm is dropped."""
        known = [at for at, line in enumerate(self.lines) if line.lstrip().startswith(_CLAUSES)]
        if not known:
            return None
        at = self.draw.pick(known)
        return "\n".join(self.lines[:at] + self.lines[self._block(at) :])

    # --- expressions --------------------------------------------------------------------------------------------------

    def argument(self) -> str | None:
        """An item between commas is dropped or doubled."""
        commas = [each for each in self.tokens if each.kind == ","]
        if not commas:
            return None
        comma = self.draw.pick(commas)
        before = [each for each in self.expressions if each.span.end == comma.start]
        if not before:
            return None
        start = min(each.span.start for each in before)
        kept = self.text[start : comma.end]
        return self.put(start, comma.end, self.draw.pick(["", f"{kept} {kept}"]))

    def swap_expressions(self) -> str | None:
        if not self.expressions:
            return None
        one, other = self.draw.pick(self.expressions), self.draw.pick(self.expressions)
        if one.span.start > other.span.start:
            one, other = other, one
        if one.span.end > other.span.start:
            return None
        middle = self.text[one.span.end : other.span.start]
        pair = self.text[other.span.start : other.span.end] + middle + self.text[one.span.start : one.span.end]
        return self.put(one.span.start, other.span.end, pair)

    def exchange_alike(self) -> str | None:
        """An expression stands for another one of its kind: the type may well be the same."""
        if not self.expressions:
            return None
        one = self.draw.pick(self.expressions)
        others = [each for each in self.expressions if _kind(each) == _kind(one)]
        other = self.draw.pick(others)
        return self.put(one.span.start, one.span.end, self.text[other.span.start : other.span.end])

    def copy_expression(self) -> str | None:
        """An expression stands for another one, perhaps for one that it is a part of."""
        if not self.expressions:
            return None
        one, other = self.draw.pick(self.expressions), self.draw.pick(self.expressions)
        return self.put(one.span.start, one.span.end, self.text[other.span.start : other.span.end])


def _kind(node: tree.Node) -> tuple[object, ...]:
    """What two expressions share that may be of one type."""
    if isinstance(node, tree.Literal):
        return tree.Literal, node.kind
    if isinstance(node, tree.Variable):
        return tree.Variable, node.name.rstrip("0123456789")
    if isinstance(node, tree.BuiltIn):
        return tree.BuiltIn, node.name.text
    return (type(node),)


def mutated(files: dict[str, str], seed: int) -> dict[str, str]:
    """The files of a program, one of them changed in one to three places."""
    draw = Draw(seed)
    changed = dict(files)
    path = draw.pick(list(files)) if draw.chance(40) else next(iter(files))
    for _ in range(draw.weighted([(6, 1), (2, 2), (1, 3)])):
        changed[path] = Mutator(draw, changed[path]).mutate()
    return changed
