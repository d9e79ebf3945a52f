"""The formatter: one layout for every program.

Four spaces for a level, blank lines where declarations end, one space between tokens, brackets spread where a line is
too long (`format_lines`). Comments keep their words and their order; texts, text blocks and raw blocks are put out byte
for byte. It works on the tokens and levels of a file, so it knows no construct and can forget none; what it made is
read again and compared before anybody gets it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from . import tree
from .diagnostics import Problems
from .format_lines import INDENT, WIDTH, LineWriter, Loose, Piece, Places, group, trimmed
from .layout import Line, lay_out
from .lexer import tokenize
from .parse_lines import ModuleReader
from .records import dataclass
from .source import Source
from .tokens import Token

#: first words of the lines before the declarations
_HEAD_WORDS = frozenset(("module", "import", "from"))

#: first words of clauses with a list that may as well stand in several lines
_REPEATED = frozenset(("takes", "uses", "callable_by"))


class FormatUnproven(Exception):
    """The new text does not say what the old one says: an error of the formatter. ``args[0]`` says what differs."""


@dataclass(eq=False, slots=True)
class Read:
    """A file as it was read."""

    tokens: list[Token]
    lines: list[Line]
    module: tree.Module


def read_module(source: Source, problems: Problems) -> Read:
    """Tokens, lines and tree of a file; everything wrong is added to ``problems``."""
    lexed = tokenize(source, problems)
    lines = lay_out(source, lexed, problems)
    return Read(lexed.tokens, lines, ModuleReader(source, problems, lines).module())


def format_source(source: Source, problems: Problems) -> str | None:
    """The file in its one layout.

    Parameters:
        source: the file.
        problems: gets what is wrong with it.

    Returns:
        the text, or None where the file cannot be read without errors. Line ends are those of its first line.

    Raises:
        FormatUnproven: the text would not have the same tree and the same comments. It is never given out.

    Example:
        >>> format_source(Source("a.tb", "module a\\ntype  P\\n  x as   Int"), Problems())
        'module a\\n\\ntype P\\n    x as Int\\n'
    """
    found = Problems()
    read = read_module(source, found)
    if found.failed:
        problems.found.extend(found.found)
        problems.failed = True
        return None
    text = _Writer(source, read).text()
    prove(source, read, text)
    return text


def prove(source: Source, read: Read, text: str) -> None:
    """Compare what was read with what reading the new text gives. Raises FormatUnproven."""
    again = Problems()
    other = read_module(Source(source.path, text), again)
    if again.failed:
        raise FormatUnproven("the new text cannot be read")
    if not same_tree(read.module, other.module):
        raise FormatUnproven("the new text has another meaning")
    if comments(read.tokens) != comments(other.tokens):
        raise FormatUnproven("the new text has other comments")


def comments(tokens: list[Token]) -> list[str]:
    """The comments of a file in their order, without the blanks behind them."""
    return [trimmed(token) for token in tokens if token.kind in ("comment", "doc")]


def same_tree(left: Any, right: Any) -> bool:
    """Whether two trees say the same: everything but the places is compared, without recursion."""
    waiting = [(left, right)]
    while waiting:
        one, other = waiting.pop()
        if type(one) is not type(other):
            return False
        if isinstance(one, tree.Span):
            continue
        if isinstance(one, list | tuple):
            if len(one) != len(other):
                return False
            waiting.extend(zip(one, other, strict=True))
        elif isinstance(one, tree.Node):
            waiting.extend((getattr(one, name), getattr(other, name)) for name in one.__match_args__)
        elif one != other:
            return False
    return True


@dataclass(eq=False, slots=True)
class _Entry:
    """A line, or a comment with a line of its own; ``blank``: a blank line stands before it."""

    text: str
    level: int
    blank: bool
    line: Line | None
    doc: bool = False


class _Writer:
    """Puts the lines and comments of a file out again."""

    def __init__(self, source: Source, read: Read):
        self._source = source
        self._tokens = read.tokens
        self._lines = read.lines
        self._places = Places(read.module, read.tokens)
        first_end = source.text.find("\n")
        self._end = "\r\n" if first_end > 0 and source.text[first_end - 1] == "\r" else "\n"
        self._writer = LineWriter(self._places, self._end)

    def text(self) -> str:
        entries = self._entries()
        self._set_levels(entries)
        self._set_blanks(entries)
        out: list[str] = []
        for entry in entries:
            if entry.blank:
                out.append("")
            out.append(" " * (INDENT * entry.level) + entry.text)
        return self._end.join([*out, ""]) if out else ""

    # --- what there is -----------------------------------------------------------------------------------------------

    def _entries(self) -> list[_Entry]:
        starts = {line.tokens[0].start: line for line in self._lines}
        tokens = self._tokens
        found: list[_Entry] = []
        ends = 2  # line ends since the last entry
        at = 0
        while at < len(tokens):
            token = tokens[at]
            at += 1
            if token.kind == "newline":
                ends += 1
            elif token.kind in ("comment", "doc"):
                if ends == 0:  # behind a line
                    found[-1].text += f"  {trimmed(token)}"
                    continue
                found.append(_Entry(trimmed(token), self._column(token), ends > 1, None, token.kind == "doc"))
                ends = 0
            elif token.kind != "end":
                line = starts[token.start]
                begin = at - 1
                at = self._line_end(begin, line.tokens[-2].end)
                for text in self._line_texts(tokens[begin:at], line):
                    found.append(_Entry(text, line.level, ends > 1, line))
                    ends = 1
                ends = 0
        return found

    def _line_end(self, at: int, end: int) -> int:
        """The number of the token behind the one that ends at ``end``."""
        while self._tokens[at].end < end:
            at += 1
        return at + 1

    def _line_texts(self, tokens: list[Token], line: Line) -> list[str]:
        """The text of a line; several where a clause that may be repeated is too long."""
        loose: list[Loose] = []
        own = False
        for token in tokens:
            if token.kind == "newline":
                own = True
            else:
                loose.append(Loose(token, own))
                own = False
        indent = INDENT * line.level
        nodes = group(loose, self._places)
        text = self._writer.write(nodes, indent)
        if tokens[0].text not in _REPEATED or indent + len(text) <= WIDTH or line.level != 1 or tokens[1].text == "as":
            return [text]
        parts: list[list[Piece]] = [[nodes[0]]]
        for node in nodes[1:]:
            if isinstance(node, Token) and node.kind == ",":
                parts.append([nodes[0]])
            else:
                parts[-1].append(node)
        return [self._writer.write(part, indent) for part in parts]

    def _column(self, token: Token) -> int:
        return self._source.position(token.start)[1] - 1

    # --- where it goes -----------------------------------------------------------------------------------------------

    @staticmethod
    def _set_levels(entries: list[_Entry]) -> None:
        """Comments belong to the line below them, or, where they stand deeper, to the block that ends above them.

        Until here the level of a comment is its column.
        """
        following: list[Line | None] = []
        below: Line | None = None
        for entry in reversed(entries):
            below = entry.line or below
            following.append(below)
        following.reverse()
        columns: list[int] = []  # of the open levels
        for entry, below in zip(entries, following, strict=True):
            if entry.line is not None:
                del columns[entry.level :]
                columns.append(entry.line.column)
                continue
            level = below.level if below is not None else 0
            if not (entry.doc and below is not None):
                while level + 1 < len(columns) and entry.level >= columns[level + 1]:
                    level += 1
            entry.level = level

    @staticmethod
    def _set_blanks(entries: list[_Entry]) -> None:
        """At most one blank line; none at the start of a block or behind documentation, one between declarations."""
        above: Line | None = None
        at = 0
        while at < len(entries):
            end = at
            while end < len(entries) and entries[end].line is None:
                end += 1
            gap = entries[at : end + 1]  # comments, and the line below them
            below = entries[end].line if end < len(entries) else None
            opens = above is None or (below is not None and below.level > above.level)
            if opens:
                gap[0].blank = False
            for before, entry in pairwise(gap):
                if before.doc and (entry.doc or entry.line is not None):
                    entry.blank = False
            if above is not None and below is not None and not opens:
                following = entries[end + 1 :]
                has_block = next((each.line.level > below.level for each in following if each.line), False)
                if len(gap) == 1 and _goes_on(below):
                    gap[0].blank = False
                elif below.level == 0 and (above.level > 0 or has_block or _is_head(above) is not _is_head(below)):
                    outer = [entry for entry in gap if entry.level == 0]
                    if not any(entry.blank for entry in outer):
                        outer[0].blank = True
            above = below
            at = end + 1


def _is_head(line: Line) -> bool:
    return line.tokens[0].text in _HEAD_WORDS


def _goes_on(line: Line) -> bool:
    """Whether a line goes on with the statement above it: `else`, `on failure`."""
    first, second = line.tokens[0], line.tokens[1]
    return line.level > 0 and (
        (first.text == "else" and (second.kind == "end" or second.text == "if"))
        or (first.text == "on" and second.text == "failure")
    )
