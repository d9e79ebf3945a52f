"""What the declarations with clauses share: their names, their clauses, and references to others."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from . import tree
from .cursor import Stop, expected, name_of
from .diagnostics import Problems, Related
from .hints import FOREIGN_STATEMENTS, near
from .layout import Line
from .parse_statements import StatementReader
from .parse_types import LineReader
from .source import Source
from .tokens import Token
from .tree import Declaration, Name, Reference, Span
from .words import (
    AGENT_WORDS,
    MEMORY_WORDS,
    REFERENCE_WORDS,
    SKILL_WORDS,
    STATEMENT_WORDS,
    TOOL_WORDS,
    TRIGGER_WORDS,
)

_CLAUSE_WORDS = frozenset((*TOOL_WORDS, *AGENT_WORDS, *MEMORY_WORDS, *TRIGGER_WORDS))

Clause = Callable[[Line, LineReader], None]


class DeclarationReader(StatementReader):
    """Holds the module that is being read."""

    def __init__(self, source: Source, problems: Problems, lines: list[Line]):
        super().__init__(source, problems, lines)
        self.tree = tree.Module(Span(0, len(source.text)), None, Span(0, 0))

    def declare(self, declaration: Declaration) -> None:
        self.tree.declarations.append(declaration)

    def declared_name(self, reader: LineReader) -> Name:
        return reader.capital_name("the name of a declaration")

    def header(self, reader: LineReader, hint: str, *, inputs: bool = False) -> Name:
        """The name of a declaration with clauses, and nothing behind it. ``hint`` says where inputs and such stand.

        With ``inputs``, brackets and an arrow behind the name are left for the caller to read.
        """
        name = self.declared_name(reader)
        if reader.token.kind == "(":
            reader.report("TB2008", "`(` is the spelling of another language", reader.token, hint)
        if not inputs or reader.token.kind not in ("(", "->"):
            reader.end_of_line()
        return name

    def check_named(self, reader: LineReader) -> None:
        if reader.is_word("named"):
            reader.report(
                "TB2007", "only a field of a record has a wire name", reader.token, "remove `named` and its text"
            )
            reader.skip_line()

    def misspelt(self, line: Line, words: tuple[str, ...], what: str) -> bool:
        """Report a first word that is nearly one of ``words``, and let the line begin with that; whether it is so."""
        first = line.tokens[0]
        meant = near(first.text, words) if first.kind == "word" else None
        if meant is None:
            return False
        self.reader(line).unknown_word(words, what)
        line.tokens[0] = Token("word", meant, first.start, first.end)
        return True

    def skip_block_of_clause(self, clause: Line, *, statements: bool = False) -> None:
        """Lines deeper than a clause that opens no block.

        ``statements``: the declaration has some; where they stand here, their missing `do` is reported instead.
        """
        following = self.peek()
        if following is not None and following.level > clause.level:
            first = following.tokens[0].text
            is_statement = first in STATEMENT_WORDS or first in FOREIGN_STATEMENTS
            without_do = statements and is_statement and not self._do_follows(clause)
            if first in (SKILL_WORDS if statements else _CLAUSE_WORDS) and not clause.bad:
                return  # a clause in the wrong column: it is read as if it stood in its own, and reported there
            if not clause.bad and not without_do:
                self.report_indented(following)
            self.skip_block(clause)

    def _do_follows(self, clause: Line) -> bool:
        """Whether a later clause of the same declaration is its `do`."""
        at = self.next
        while at < len(self.lines) and self.lines[at].level >= clause.level:
            if self.lines[at].level == clause.level and self.lines[at].tokens[0].text == "do":
                return True
            at += 1
        return False

    def report_missing(self, line: Line, what: str, place: Span, clause: str, label: str) -> None:
        """A clause that must stand in a declaration does not, and nothing of it was lost by another mistake."""
        if line.bad or (self.next and self.lines[self.next - 1].span.start <= line.span.start):
            return  # the block is missing altogether, and that was reported
        self.reader(line).report("TB2014", f"{what} has no `{clause}`", place, label)

    # --- references ----------------------------------------------------------------------------------------------

    def references(self, reader: LineReader) -> list[Reference]:
        """`tool Find, agent m.Reader`."""
        found = [self.reference(reader)]
        while reader.accept(","):
            found.append(self.reference(reader, found[-1].kind.text))
        return found

    def reference(self, reader: LineReader, before: str = "tool") -> Reference:
        """`tool m.Find`; ``before`` is the kind that a forgotten one probably is."""
        token = reader.token
        if token.kind == "capital":
            reader.stop(
                "TB2006", expected("a kind", token), token,
                f"write what it is before it: `{before} {token.text[:40]}`",
            )  # fmt: skip
        if token.kind != "word" or token.text not in REFERENCE_WORDS:
            nearest = near(token.text, REFERENCE_WORDS) if token.kind == "word" else None
            label = f"did you mean `{nearest}`?" if nearest else "write `tool Name`, `agent Name` and so on"
            if token.text == "memory":
                label = "memories are read and written by tools alone"
            reader.report("TB2006", expected("a kind", token), token, label, candidates=REFERENCE_WORDS)
            raise Stop
        kind = name_of(reader.advance())
        target = reader.qualified(f"the name of a {kind.text}")
        return Reference(Span(token.start, target.span.end), kind, target)

    def choose(self, reader: LineReader, table: tuple[str, ...], what: str) -> Name:
        """One of the words that a place knows."""
        token = reader.token
        if token.kind == "word" and token.text in table:
            return name_of(reader.advance())
        nearest = near(token.text, table) if token.kind == "word" else None
        listed = " or ".join((", ".join(f"`{word}`" for word in table[:-1]), f"`{table[-1]}`"))
        label = f"did you mean `{nearest}`?" if nearest else f"write {listed}"
        if token.kind == "text":
            label = f"write it without quotes: {listed}"
        reader.report("TB2006", expected(what, token), token, label, candidates=table)
        raise Stop


class Clauses:
    """The clauses of one declaration: first word → what reads the line behind it.

    Parameters:
        owner: the reader of the module.
        readers: the clauses; their keys are a table of `words.py`.
        repeated: those that may stand more than once.
    """

    def __init__(self, owner: DeclarationReader, readers: Mapping[str, Clause], repeated: frozenset[str] = frozenset()):
        self._owner = owner
        self._readers = readers
        self._repeated = repeated
        self._seen: dict[str, Token] = {}

    def __contains__(self, word: str) -> bool:
        """Whether such a clause was read, rightly or not."""
        return word in self._seen

    def read(self, line: Line, reader: LineReader) -> bool:
        """Read a clause; False where there is no such clause."""
        first = reader.token
        read = self._readers.get(first.text) if first.kind == "word" else None
        if read is None:
            return False
        self._owner.lose_doc(line)
        reader.advance()
        known = self._seen.setdefault(first.text, first)
        if known is not first and first.text not in self._repeated:
            related = (Related(Span(known.start, known.end), "the first one"),)
            reader.report("TB2010", f"`{first.text}` stands twice", first, "remove one of them", related=related)
        try:
            read(line, reader)
        except Stop:
            reader.skip_line()
        reader.end_of_line()
        self._owner.skip_block_of_clause(line)
        return True
