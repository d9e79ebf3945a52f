"""One line of a program → its one layout: spaces between tokens, and brackets broken where the line is too long.

A bracket is *spread* (each item on a line of its own, a comma behind the last) where its line would be longer than
`WIDTH`, where a comment stands in it, or where a comma already stands behind its last item. Texts are put out as they
are written, byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from . import tree
from .records import dataclass, field
from .tokens import Token

#: columns of a line, without the comment behind it
WIDTH = 120
INDENT = 4

_CLOSERS = frozenset(")]}")
_OPENERS = frozenset("([{")
#: where what stands alone in a bracket is broken, from the loosest; of each row all that occur
_BREAKS: tuple[frozenset[str], ...] = (
    frozenset(("for", "if", "else")), frozenset(("or",)), frozenset(("and",)), frozenset(("+", "-")),
)  # fmt: skip


class Places:
    """What the tree knows of tokens that are written alike: sets of offsets."""

    __slots__ = ("called", "dots", "lists", "plain", "signs")

    def __init__(self, module: tree.Module, tokens: list[Token]):
        #: ends of names that a bracket with arguments follows
        self.called: set[int] = set()
        #: brackets that begin a list; every other `[` takes an element out of something
        self.lists: set[int] = set()
        #: brackets that take no comma behind their last item
        self.plain: set[int] = set()
        #: signs `-` of one value
        self.signs: set[int] = set()
        #: dots that begin a path of their own: `by .amount`
        self.dots: set[int] = set()
        paths: set[int] = set()
        sorts: set[int] = set()
        for node in nodes_of(module):
            match node:
                case tree.BuiltIn() | tree.Call():
                    self.called.add(node.name.span.end)
                case tree.Capital() if node.arguments is not None:
                    self.called.add(node.name.span.end)
                case tree.SortedBy():
                    end = node.span.start + len("sorted")
                    self.called.add(end)
                    sorts.add(end)
                    paths.add(node.path[0].span.start)
                case tree.ListLiteral():
                    self.lists.add(node.span.start)
                case tree.Comprehension():
                    self.lists.add(node.span.start)
                    self.plain.add(node.span.start)
                case tree.Prefix() if node.operator == "-":
                    self.signs.add(node.operator_span.start)
        before = None
        for token in tokens:
            if token.kind in ("newline", "comment", "doc"):
                continue
            if before is not None and before.kind == "." and token.start in paths:
                self.dots.add(before.start)
            if before is not None and token.kind == "(" and before.end in sorts:
                self.plain.add(token.start)
            before = token

    def takes_comma(self, opener: Token, before: Token | None) -> bool:
        """Whether a comma may stand behind the last item of a bracket."""
        if opener.start in self.plain:
            return False
        if opener.kind == "[":
            return opener.start in self.lists
        if opener.kind == "(":
            return before is not None and (before.end in self.called or before.text == "with")
        return True

    def gap(self, left: Token, right: Token) -> str:
        """What stands between two tokens of a line."""
        if left.kind in _OPENERS or right.kind in _CLOSERS or right.kind in (",", ":") or left.kind == ".":
            return ""
        if right.kind == ".":
            return " " if right.start in self.dots else ""
        if right.kind == "(":
            return "" if left.end in self.called and left.kind in ("word", "capital") else " "
        if right.kind == "[":
            return " " if right.start in self.lists else ""
        if left.kind == "-" and left.start in self.signs:
            return ""
        return " "


def nodes_of(root: Any) -> Iterator[Any]:
    """All nodes of a tree, without recursion."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list | tuple):
            waiting.extend(node)
        elif isinstance(node, tree.Node):
            yield node
            waiting.extend(getattr(node, name) for name in node.__match_args__)


# --- brackets ---------------------------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class Comment:
    """A comment in a bracket; ``own``: it has a line of its own."""

    text: str
    own: bool


@dataclass(eq=False, slots=True)
class Item:
    """What stands between two commas; ``comment`` is the one behind it."""

    nodes: list[Piece]
    comma: bool = False
    comment: str | None = None


@dataclass(eq=False, slots=True)
class Group:
    """A bracket with what is in it; ``head`` is the comment behind the opening one."""

    opener: Token
    closer: Token
    takes_comma: bool
    entries: list[Item | Comment] = field(default_factory=list)
    head: str | None = None
    spread: bool = False


Piece: TypeAlias = Token | Group | Comment


@dataclass(eq=False, slots=True)
class Loose:
    """A token of a line, or a comment in it; ``own``: nothing stands before it on its line of the file."""

    token: Token
    own: bool


def group(line: list[Loose], places: Places) -> list[Piece]:
    """The tokens of a line with its brackets as groups."""
    top: list[Piece] = []
    open_groups: list[Group] = []
    current = top
    outer: list[list[Piece]] = []
    before: Token | None = None
    for each in line:
        token = each.token
        if token.kind in ("comment", "doc"):
            _add_comment(open_groups[-1], current, Comment(trimmed(token), each.own))
            continue
        if token.kind in _OPENERS:
            made = Group(token, token, places.takes_comma(token, before))
            current.append(made)
            outer.append(current)
            open_groups.append(made)
            current = []
        elif token.kind in _CLOSERS:
            made = open_groups.pop()
            made.closer = token
            _add_item(made, current, comma=False)
            made.spread = _must_spread(made)
            current = outer.pop()
        elif token.kind == "," and open_groups:
            _add_item(open_groups[-1], current, comma=True)
            current = []
        else:
            current.append(token)
        before = token
    return top


def trimmed(token: Token) -> str:
    """A comment without the blanks behind it."""
    return token.text.rstrip(" \t")


def _add_comment(owner: Group, current: list[Piece], comment: Comment) -> None:
    last = owner.entries[-1] if owner.entries else None
    if current:  # whether the item goes on is not known yet
        current.append(comment)
    elif not comment.own and last is None and owner.head is None:
        owner.head = comment.text
    elif not comment.own and isinstance(last, Item) and last.comment is None:
        last.comment = comment.text
    else:
        owner.entries.append(Comment(comment.text, True))


def _add_item(owner: Group, nodes: list[Piece], *, comma: bool) -> None:
    """End an item. Comments at its end stand behind it, or below it."""
    behind: list[Comment] = []
    while nodes and isinstance(last := nodes[-1], Comment):
        behind.insert(0, last)
        nodes.pop()
    if not nodes:
        return
    item = Item(nodes, comma)
    owner.entries.append(item)
    if behind and not behind[0].own:
        item.comment = behind.pop(0).text
    owner.entries.extend(Comment(each.text, True) for each in behind)


def _must_spread(made: Group) -> bool:
    if made.head is not None:
        return True
    items = [each for each in made.entries if isinstance(each, Item)]
    if len(items) < len(made.entries) or (items and items[-1].comma):
        return True
    return any(item.comment is not None or _spreads(item.nodes) for item in items)


def _spreads(nodes: list[Piece]) -> bool:
    return any(isinstance(each, Comment) or (isinstance(each, Group) and each.spread) for each in nodes)


# --- text -------------------------------------------------------------------------------------------------------------


class LineWriter:
    """Writes lines whose brackets were grouped."""

    __slots__ = ("_end", "_places")

    def __init__(self, places: Places, line_end: str):
        self._places = places
        self._end = line_end

    def write(self, nodes: list[Piece], indent: int, tail: int = 0) -> str:
        """The text of a line, or of an item of a spread bracket, from the column ``indent`` on.

        ``tail``: columns that are needed behind it.
        """
        groups = [at for at, each in enumerate(nodes) if isinstance(each, Group) and each.entries]
        forced = frozenset(at for at, each in enumerate(nodes) if isinstance(each, Group) and each.spread)
        _, excess = self._assemble(nodes, forced, indent, tail, only_measure=True)
        if not excess or not groups:
            return self._assemble(nodes, forced, indent, tail)[0]
        good = [at for at in groups if (each := nodes[at]) and isinstance(each, Group) and each.takes_comma] or groups
        if forced:
            choices = [frozenset((*forced, *good))]
        else:
            longest = max(good, key=lambda at: len(self._flat(nodes[at])))
            choices = [frozenset((good[-1],)), frozenset((longest,)), frozenset(good)]
        best = (excess, forced)
        for chosen in choices:
            _, excess = self._assemble(nodes, chosen, indent, tail, only_measure=True)
            if excess < best[0]:
                best = (excess, chosen)
            if not excess:
                break
        return self._assemble(nodes, self._fewest(nodes, best[1], forced, indent, tail), indent, tail)[0]

    def _fewest(
        self, nodes: list[Piece], spread: frozenset[int], forced: frozenset[int], indent: int, tail: int
    ) -> frozenset[int]:
        """Of the groups that are spread, those that have to be, the longest first.

        One without a comma behind its items does not say, when it is read again, that it was spread.
        """
        _, excess = self._assemble(nodes, spread, indent, tail, only_measure=True)
        for at in sorted(spread - forced, key=lambda at: len(self._flat(nodes[at]))):
            node = nodes[at]
            if isinstance(node, Group) and not node.takes_comma and len(spread) > 1:
                _, without = self._assemble(nodes, spread - {at}, indent, tail, only_measure=True)
                if without <= excess:
                    spread -= {at}
        return spread

    def _assemble(
        self, nodes: list[Piece], spread: frozenset[int], indent: int, tail: int, *, only_measure: bool = False
    ) -> tuple[str, int]:
        """The text with some groups spread, and by how many columns its own lines are too long.

        What is in the groups is left out where the text is only measured: else the time would double at each level.
        """
        out: list[str] = []
        column = indent
        excess = 0
        before: Token | None = None
        for at, node in enumerate(nodes):
            if isinstance(node, Comment):
                # The line goes on below: a comment ends what stands before it.
                lead = self._end + " " * (indent + INDENT) if node.own else "  "
                out.append(f"{lead}{node.text}{self._end}{' ' * (indent + INDENT)}")
                column = indent + INDENT
                before = None
                continue
            first = node.opener if isinstance(node, Group) else node
            if before is not None:
                gap = self._places.gap(before, first)
                out.append(gap)
                column += len(gap)
            before = node.closer if isinstance(node, Group) else node
            if at in spread and isinstance(node, Group):
                excess += max(0, column + 1 - WIDTH)
                out.append("" if only_measure else self._spread(node, indent))
                column = indent + 1
                continue
            text = self._flat(node)
            head, line_end, _ = text.partition("\n")
            if line_end:
                excess += max(0, column + len(head.rstrip("\r")) - WIDTH)
                column = len(text) - text.rfind("\n") - 1
            else:
                column += len(text)
            out.append(text)
        return "".join(out), excess + max(0, column + tail - WIDTH)

    def _flat(self, node: Piece) -> str:
        """A token or bracket without breaks; in texts there may be some."""
        if isinstance(node, Token):
            return node.text
        if isinstance(node, Comment):
            return node.text
        items = [self._flat_nodes(each.nodes) for each in node.entries if isinstance(each, Item)]
        return node.opener.text + ", ".join(items) + node.closer.text

    def _flat_nodes(self, nodes: list[Piece]) -> str:
        out: list[str] = []
        before: Token | None = None
        for node in nodes:
            if isinstance(node, Comment):
                continue  # groups with comments are spread
            if before is not None:
                out.append(self._places.gap(before, node.opener if isinstance(node, Group) else node))
            out.append(self._flat(node))
            before = node.closer if isinstance(node, Group) else node
        return "".join(out)

    def _spread(self, node: Group, indent: int) -> str:
        inner = indent + INDENT
        lines = [node.opener.text + ("" if node.head is None else f"  {node.head}")]
        for entry in node.entries:
            if isinstance(entry, Comment):
                lines.append(" " * inner + entry.text)
                continue
            comma = "," if node.takes_comma or entry.comma else ""
            text = self.write(entry.nodes, inner, 1) if comma else self._alone(entry.nodes, inner)
            comment = "" if entry.comment is None else f"  {entry.comment}"
            lines.append(f"{' ' * inner}{text}{comma}{comment}")
        lines.append(" " * indent + node.closer.text)
        return self._end.join(lines)

    def _alone(self, nodes: list[Piece], indent: int) -> str:
        """What stands alone in a bracket: broken before its loosest words or signs where it is too long."""
        # Brackets in it that are spread already do not count: they may be so because this was broken before.
        commented = any(isinstance(each, Comment) for each in nodes)
        if commented or indent + len(self._flat_nodes(nodes)) <= WIDTH:
            return self.write(nodes, indent)
        for words in _BREAKS:
            parts: list[list[Piece]] = [[]]
            for at, node in enumerate(nodes):
                is_break = isinstance(node, Token) and node.text in words and node.kind in ("word", "+", "-")
                if is_break and at and not (isinstance(node, Token) and node.start in self._places.signs):
                    before = nodes[at - 1]
                    if not (isinstance(before, Token) and before.kind == "."):
                        parts.append([])
                parts[-1].append(node)
            if len(parts) > 1:
                return (self._end + " " * indent).join(self.write(part, indent) for part in parts)
        return self.write(nodes, indent)
