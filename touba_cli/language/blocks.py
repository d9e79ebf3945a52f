"""The lines of a file, and which of them form the block of another."""

from __future__ import annotations

from collections.abc import Iterator

from .cursor import Cursor
from .diagnostics import Problems, Related
from .layout import Line, report_lost_doc
from .parse_types import LineReader
from .source import Source
from .tree import Span
from .words import DECLARATION_WORDS


class BlockReader:
    """A place among the lines of a file.

    Blocks are relative to the line before them, so that a part that is indented wrongly is still read.
    """

    def __init__(self, source: Source, problems: Problems, lines: list[Line]):
        self.source = source
        self.problems = problems
        self.lines = lines
        self.next = 0

    def reader(self, line: Line) -> LineReader:
        return LineReader(self.source, self.problems, line)

    def block_lines(self, header: Line, *, needs: str = "an indented block") -> Iterator[Line]:
        """The lines in the block of a header. Deeper blocks among them are for the caller to read.

        A missing block is reported, and so are lines that are deeper though nothing opens a block; those come too,
        marked as bad.
        """
        following = self.peek()
        if following is None or following.level <= header.level:
            if not header.too_deep:
                reader = self.reader(header)
                reader.report("TB2003", f"the line needs {needs}", header.span, "indent the lines that belong to it")
            return
        expected = following.level
        misplaced = False
        while self.next < len(self.lines) and self.lines[self.next].level > header.level:
            line = self.lines[self.next]
            if header.level == 0 and _is_declaration(line):
                self.reader(line).report(
                    "TB2001", "a declaration is indented", line.tokens[0], "begin it at column 1"
                )  # fmt: skip
                line.level = 0
                return
            if line.level <= expected:
                misplaced = False
            else:
                if not misplaced:
                    self.report_indented(line)
                line.bad = misplaced = True
            self.next += 1
            yield line

    def report_indented(self, line: Line) -> None:
        """A line that is deeper than the one before, which opens no block."""
        related: tuple[Related, ...] = ()
        at = self.next
        if at > 0 and self.lines[at - 1].bad and Cursor.goes_on_behind(self.lines[at - 1].tokens[-2]):
            line.bad = True  # the line above was meant to go on here, and that was reported
            return
        column = 1
        if at > 0:
            above = self.lines[at - 1]
            column = above.column + 1
            related = (Related(above.span, "this line opens no block"),)
        self.reader(line).report(
            "TB2001", "the line is indented, but no block begins here", line.tokens[0],
            f"begin it at column {column}", related=related,
        )  # fmt: skip

    def peek(self) -> Line | None:
        return self.lines[self.next] if self.next < len(self.lines) else None

    def skip_block(self, header: Line) -> bool:
        """Go over the block of a line that could not be read; whether there is one."""
        first = self.next
        while self.next < len(self.lines) and self.lines[self.next].level > header.level:
            self.next += 1
        return self.next > first

    def doc(self, line: Line) -> str | None:
        """The documentation before a line."""
        if not line.doc:
            return None
        return "\n".join(token.text[2:].removeprefix(" ").rstrip() for token in line.doc)

    def lose_doc(self, line: Line) -> None:
        """Warn about documentation before a line that has none."""
        for token in line.doc[:1]:
            report_lost_doc(self.source, token, self.problems)

    def block_span(self, header: Line) -> Span:
        """From the first line behind a header to the last line read."""
        last = self.lines[self.next - 1]
        return Span(header.span.end, max(header.span.end, last.span.end))


def _is_declaration(line: Line) -> bool:
    """Whether a line begins a declaration, and nothing else: `function Run`."""
    tokens = line.tokens
    name = "text" if tokens[0].text == "test" else "capital"
    kinds = [token.kind for token in tokens]
    return tokens[0].text in DECLARATION_WORDS and kinds == ["word", name, "end"]
