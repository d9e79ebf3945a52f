"""Tokens → lines with levels: the layout carries the structure of a program.

A `Line` is what the parser reads: one line of the file, or several that a bracket holds together. Its level counts the
columns that are open before it. Whether a line *may* be deeper than the one before is known to the parser; here only
columns that fit nowhere, brackets that do not pair up, and too deep nesting are reported.
"""

from __future__ import annotations

from bisect import bisect_left

from ..limits import BLOCK_DEPTH, BRACKET_DEPTH
from .diagnostics import Problems, Related
from .lexer import Lexed
from .source import Source
from .tokens import Token
from .tree import Span
from .words import DECLARATION_WORDS, HARD_WORDS, MODULE_WORDS, STATEMENT_WORDS

_PAIRS = {"(": ")", "[": "]", "{": "}"}
_OPENERS = {close: opener for opener, close in _PAIRS.items()}
_TOP_WORDS = frozenset(MODULE_WORDS)
#: first words of lines that open a block
_OPENING = frozenset(("do", "if", "else", "for", "repeat", "when", "is", "attempt", "on", "branch"))
_LINE_WORDS = frozenset((*STATEMENT_WORDS, *DECLARATION_WORDS)) - {"if", "for"}


class Line:
    """``tokens`` end in an ``end`` token. ``bad``: something was reported about it, and nothing more is to be said.

    ``doc`` is the documentation before it. ``misplaced``: which block it belongs to cannot be told, as was reported.
    ``too_deep``: the lines of its block were reported and left out.
    """

    __slots__ = ("bad", "column", "doc", "level", "misplaced", "tokens", "too_deep")

    def __init__(self, tokens: list[Token], column: int, doc: list[Token]):
        self.tokens = tokens
        self.column = column
        self.doc = doc
        self.level = 0
        self.bad = False
        self.misplaced = False
        self.too_deep = False

    @property
    def span(self) -> Span:
        """Its place, from the first token to the last."""
        tokens = self.tokens
        return Span(tokens[0].start, tokens[-2].end if len(tokens) > 1 else tokens[0].end)


def lay_out(source: Source, lexed: Lexed, problems: Problems) -> list[Line]:
    """The lines of a file with their levels."""
    layout = _Layout(source, lexed, problems)
    layout.gather()
    layout.measure()
    return layout.lines


class _Layout:
    def __init__(self, source: Source, lexed: Lexed, problems: Problems):
        self.source = source
        self.lexed = lexed
        self.problems = problems
        self.lines: list[Line] = []

    # --- lines ---------------------------------------------------------------------------------------------------

    def gather(self) -> None:
        """Put tokens together to lines."""
        tokens = self.lexed.tokens
        cuts = self.lexed.cuts
        current: list[Token] = []
        doc: list[Token] = []
        open_brackets: list[Token] = []
        first_of_line = 0  # how many brackets were open where this line of the file began
        swallowed = False  # a token of this line of the file took its rest by mistake
        flawed = False
        for at, token in enumerate(tokens):
            kind = token.kind
            if kind == "comment":
                continue
            if kind == "doc":
                if current:
                    self._lost_doc(token)
                else:
                    doc.append(token)
                continue
            if kind == "newline" or kind == "end":
                if swallowed:
                    del open_brackets[first_of_line:]
                    swallowed = False
                if open_brackets and kind == "newline":
                    first_of_line = len(open_brackets)
                    if not self._goes_on(tokens, at, current):
                        flawed = flawed or self._unclosed(open_brackets[-1], current)
                    else:
                        continue
                elif open_brackets:
                    flawed = flawed or self._unclosed(open_brackets[-1], current)
                if current:
                    self._add(current, doc, flawed)
                    current, doc = [], []
                open_brackets.clear()
                first_of_line = 0
                flawed = False
                if kind == "end":
                    for lost in doc[:1]:
                        self._lost_doc(lost)
                continue
            if token.start in cuts:
                swallowed = True
            if kind in _PAIRS:
                open_brackets.append(token)
                if len(open_brackets) == BRACKET_DEPTH + 1:
                    self._report(
                        "TB9002", f"brackets are nested deeper than {BRACKET_DEPTH}", current, token,
                        "give this part a name with `let` first",
                    )  # fmt: skip
                    flawed = True
            elif kind in _OPENERS and not flawed:
                flawed = self._close(token, open_brackets, current)
            elif kind in _OPENERS and open_brackets:
                open_brackets.pop()
            if len(open_brackets) <= BRACKET_DEPTH:  # the parser never sees deeper ones
                current.append(token)

    def _close(self, token: Token, open_brackets: list[Token], current: list[Token]) -> bool:
        """Take the opener of a closing bracket away; whether they do not fit."""
        if not open_brackets:
            self._report("TB2004", f"`{token.text}` closes nothing", current, token, "remove it, or open it before")
            return True
        opener = open_brackets.pop()
        if opener.kind == _OPENERS[token.kind]:
            return False
        self._report(
            "TB2004", f"`{opener.text}` is closed by `{token.text}`", current, token, f"write `{_PAIRS[opener.kind]}`",
            related=(Related(Span(opener.start, opener.end), "opened here"),),
        )  # fmt: skip
        return True

    def _unclosed(self, opener: Token, current: list[Token]) -> bool:
        """Report a bracket without its end; always true."""
        self._report("TB2004", f"`{opener.text}` is not closed", current, opener, f"it needs a `{_PAIRS[opener.kind]}`")
        return True

    def _goes_on(self, tokens: list[Token], at: int, current: list[Token]) -> bool:
        """Whether what follows a line end inside a bracket can belong to the bracket.

        It cannot where a declaration begins at the first column, or where a statement begins no deeper than the line
        of the bracket: two words that follow each other like that are no expression.
        """
        if at + 2 >= len(tokens):
            return True
        first, second = tokens[at + 1], tokens[at + 2]
        if first.kind != "word":
            return True
        column = first.start - tokens[at].end
        if second.kind not in ("word", "capital", "text", "block", "hidden") or second.text in HARD_WORDS:
            return not (first.text in ("break", "continue", "attempt", "do") and second.kind == "newline" and current
                        and column <= self._column(current[0]))  # fmt: skip
        if column == 0 and first.text in _TOP_WORDS:
            return False
        return not (first.text in _LINE_WORDS and column <= self._column(current[0]))

    def _column(self, token: Token) -> int:
        line, column = self.source.position(token.start)
        if not self.lexed.tab_indented:
            return column - 1
        # The tabs were reported. Most people see them four columns wide, and mean those.
        return len(self.source.line(line)[: column - 1].expandtabs(4))

    def _add(self, tokens: list[Token], doc: list[Token], flawed: bool) -> None:
        last = tokens[-1]
        line = Line(tokens, self._column(tokens[0]), doc)
        tokens.append(Token("end", "", last.end, last.end))
        line.bad = flawed or self._spoiled(tokens[0].start, last.end)
        self.lines.append(line)

    def _spoiled(self, start: int, end: int) -> bool:
        spoiled = self.lexed.spoiled
        if not spoiled:
            return False
        first = self.source.position(start)[0]
        last = self.source.position(end)[0]
        at = bisect_left(spoiled, first)
        return at < len(spoiled) and spoiled[at] <= last

    def _report(
        self, code: str, title: str, current: list[Token], place: Token, label: str, related: tuple[Related, ...] = ()
    ) -> None:
        """A problem of brackets, unless their line has one."""
        start = current[0].start if current else place.start
        if not self._spoiled(start, place.end):
            self.problems.add(code, title, self.source, Span(place.start, place.end), label, related=related)

    def _lost_doc(self, token: Token) -> None:
        report_lost_doc(self.source, token, self.problems)

    # --- levels --------------------------------------------------------------------------------------------------

    def measure(self) -> None:
        """Give every line its level, and leave out lines that are too deep."""
        quiet = self.lexed.tab_indented  # columns mean little then, and the tabs were reported
        levels: list[list[int]] = [[0]]  # the columns that count as each level; the first is the proper one
        kept: list[Line] = []
        in_too_deep = False
        for at, line in enumerate(self.lines):
            column = line.column
            if column > max(levels[-1]):
                levels.append([column])
            else:
                following = self.lines[at + 1] if at + 1 < len(self.lines) else None
                self._find_level(line, following, levels, quiet)
            line.level = len(levels) - 1
            if line.level <= BLOCK_DEPTH:
                in_too_deep = False
                kept.append(line)
                continue
            if not in_too_deep and not line.bad:
                first = line.tokens[0]
                self.problems.add(
                    "TB9003", f"blocks are nested deeper than {BLOCK_DEPTH}", self.source, Span(first.start, first.end),
                    "move the inner blocks into a callable of their own",
                )  # fmt: skip
            in_too_deep = True
            if kept:
                kept[-1].too_deep = True
        self.lines = kept

    def _find_level(self, line: Line, following: Line | None, levels: list[list[int]], quiet: bool) -> None:
        """Close the levels that a line ends; a column that no level has counts as the one that it comes nearest to."""
        column = line.column
        while len(levels) > 1 and column not in levels[-1] and column <= max(levels[-2]):
            levels.pop()
        if column in levels[-1]:
            return
        if column > max(levels[-1]):
            levels.append([column])
            return
        columns = ", ".join(str(level[0] + 1) for level in levels)
        if not quiet and not line.bad:
            first = line.tokens[0]
            self.problems.add(
                "TB2002", f"the line goes back to column {column + 1}, where no block is open", self.source,
                Span(first.start, first.end), f"begin it at the column of an open block: {columns}",
            )  # fmt: skip
            line.bad = line.misplaced = True
        if following is not None and (
            following.column == column or (following.column > column and line.tokens[0].text in _OPENING)
        ):
            levels[-1] = [column]  # the lines before stand too deep, and this is the column of their block
        else:
            levels[-1].append(column)


def report_lost_doc(source: Source, token: Token, problems: Problems) -> None:
    """Warn about documentation that documents nothing."""
    problems.add(
        "TB2013", "the documentation comment documents nothing", source, Span(token.start, token.end),
        "put it before a declaration, field, variant or input, or write `#`", severity="warning",
    )  # fmt: skip
