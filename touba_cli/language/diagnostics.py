"""What the compiler says: one object for every problem, one table of codes.

A `Diagnostic` is data: terminal, ``--json``, formatter and editors render the same object. Its title states the fact,
the label at the primary span says what to do there, related spans say why, ``help`` proposes more. Passes get a
`Problems` to add to; no exception crosses a pass.

Style of all texts (tested over this table): lower case, no full stop after one sentence, user text in backticks, no
names of classes, no line breaks.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from .hints import near
from .records import dataclass
from .tree import Span

if TYPE_CHECKING:
    from .source import Source

#: code → the fact in general words; `docs/diagnostics.md` is written from this table
CODES: dict[str, str] = {
    # TB1: text and tokens
    "TB1001": "a source file is not valid UTF-8",
    "TB1002": "a character is not allowed in a program",
    "TB1003": "a character is only allowed inside text and comments",
    "TB1004": "a tab is used outside text",
    "TB1005": "a text is not closed",
    "TB1006": "an escape does not exist",
    "TB1007": "a number is not written as numbers are",
    "TB1008": "a text block is not laid out by its closing quotes",
    "TB1009": "an interpolation is wrong",
    "TB1010": "a name is not written as names are",
    "TB1011": "a date, time or duration is not written as they are",
    # TB2: layout and syntax
    "TB2001": "a line is indented where it may not be",
    "TB2002": "a line goes back to a column that no line before it has",
    "TB2003": "a line needs an indented block after it",
    "TB2004": "brackets do not pair up",
    "TB2005": "a line begins with a word that cannot begin a line there",
    "TB2006": "something else was expected",
    "TB2007": "something follows where the line should end",
    "TB2008": "the spelling of another language is used",
    "TB2009": "the `module` line is missing or misplaced",
    "TB2010": "a clause stands twice or in the wrong place",
    "TB2011": "an expression cannot be written so",
    "TB2012": "an effect stands inside an expression",
    "TB2013": "a documentation comment documents nothing",
    "TB2014": "a clause is missing",
    # TB3: names
    "TB3001": "a name is not known",
    "TB3002": "a name stands for two things",
    "TB3003": "a record has no such field",
    "TB3004": "a module cannot be found",
    "TB3005": "modules import each other in a circle",
    "TB3006": "an import names something that the module does not declare",
    "TB3007": "a name is used for something that it is not",
    "TB3008": "a module has another name than its place",
    "TB3009": "a choice has no such variant",
    "TB3010": "a built-in function is not known",
    # TB4: types
    "TB4001": "a value has the wrong type",
    "TB4002": "an operator or function does not take such values",
    "TB4003": "arguments do not fit what is called",
    "TB4004": "an Optional is used without being opened",
    "TB4005": "a type cannot be told from the text",
    "TB4006": "a constraint does not fit its type",
    "TB4007": "a type has no finite values",
    "TB4008": "a value cannot be written into text",
    "TB4009": "a value is changed that cannot change",
    "TB4010": "a literal is out of range",
    "TB4011": "a key is of a type that cannot be one",
    "TB4012": "a schedule, path, name or code is not written as they are",
    # TB5: authority and effects
    "TB5001": "something with effects is used where only functions may be",
    "TB5002": "a tool with authority does not state its effect",
    "TB5003": "a grant does not exist",
    "TB5004": "a call is made that the called one does not allow",
    "TB5005": "a compensation does not fit its tool",
    "TB5006": "compensations go in a circle",
    "TB5007": "a test replaces what no test can replace",
    # TB6: flow
    "TB6001": "a path gives nothing",
    "TB6002": "a `when` does not cover every case",
    "TB6003": "a statement stands where it means nothing",
    "TB6004": "an arm stands twice",
    "TB6005": "a test says something that can never happen",
    # TB8: warnings
    "TB8001": "a name is never used",
    "TB8002": "a statement can never be reached",
    "TB8003": "a condition or arm never decides anything",
    "TB8004": "a text looks like a misspelt failure code",
    "TB8005": "an agent uses something that does not let it call",
    # TB9: limits
    "TB9001": "a source file is too large",
    "TB9002": "brackets are nested too deep",
    "TB9003": "blocks are nested too deep",
    "TB9004": "interpolations are nested too deep",
    "TB9005": "a program has too many files",
    "TB9006": "an expression or a type is nested too deep",
    "TB9007": "a type has too many fields or variants",
    "TB9008": "a program leaves out too many Optional fields",
    "TB9009": "a callable has too many inputs and names",
    "TB9010": "the patterns of a program are too large",
}


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that explains a problem. ``source`` is None for the diagnostic's own file."""

    span: Span
    label: str
    source: Source | None = None


@dataclass(frozen=True, slots=True)
class Fix:
    """A replacement that is right to apply blindly."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem of a program.

    ``title`` says what is wrong, ``label`` stands at the place and says what to do, ``help`` adds what else may be
    written. ``candidates`` are names or words that may have been meant, the nearest one first.
    """

    code: str
    title: str
    source: Source
    span: Span
    label: str = ""
    severity: str = "error"
    related: tuple[Related, ...] = ()
    help: str | None = None
    candidates: tuple[str, ...] = ()
    fix: Fix | None = None

    def as_json(self) -> dict[str, Any]:
        """The object of `touba-check-v1`: 1-based lines and columns, end not included."""
        line, column = self.source.position(self.span.start)
        end_line, end_column = self.source.position(self.span.end)
        found: dict[str, Any] = {
            "code": self.code, "severity": self.severity, "title": self.title, "file": self.source.path,
            "line": line, "column": column, "end_line": end_line, "end_column": end_column, "label": self.label,
            "help": self.help, "candidates": list(self.candidates), "fix": None, "related": [],
        }  # fmt: skip
        if self.fix is not None:
            found["fix"] = {**_place(self.source, self.fix.span), "text": self.fix.text}
        for place in self.related:
            source = place.source or self.source
            found["related"].append({"file": source.path, **_place(source, place.span), "label": place.label})
        return found


def _place(source: Source, span: Span) -> dict[str, int]:
    line, column = source.position(span.start)
    end_line, end_column = source.position(span.end)
    return {"line": line, "column": column, "end_line": end_line, "end_column": end_column}


class Problems:
    """The problems of one compilation, one for each cause and place.

    A program of nothing but mistakes may not fill the memory: beyond `MOST` problems the further ones are not kept.
    """

    MOST = 10_000
    #: names that are compared for hints in one compilation; a program of nothing but misspelt names gets no more hints
    COMPARISONS = 100_000

    __slots__ = ("_comparisons", "_known", "failed", "found")

    def __init__(self) -> None:
        self.found: list[Diagnostic] = []
        #: whether there is an error among them
        self.failed = False
        self._known: set[tuple[Source, Span, str]] = set()
        self._comparisons = 0

    def add(
        self,
        code: str,
        title: str,
        source: Source,
        span: Span,
        label: str = "",
        *,
        severity: str | None = None,
        related: tuple[Related, ...] = (),
        help: str | None = None,
        candidates: tuple[str, ...] = (),
        fix: Fix | None = None,
    ) -> None:
        """Add a problem; a second one with the same code at the same place is the same problem.

        Raises:
            KeyError: the code is not in the table.
        """
        if code not in CODES:
            raise KeyError(code)
        if severity is None:
            severity = "warning" if code.startswith("TB8") else "error"
        key = (source, span, code)
        if key in self._known:
            return
        self.failed = self.failed or severity == "error"
        if len(self.found) >= self.MOST:
            return
        self._known.add(key)
        self.found.append(Diagnostic(code, title, source, span, label, severity, related, help, candidates, fix))

    def forget(self, source: Source, spans: Sequence[Span]) -> None:
        """Take back what was said inside of parts of a file, about their layout too.

        Parameters:
            spans: the parts, in their order, none inside another. What stands in them was written in another language,
                and that was said.
        """
        starts = [span.start for span in spans]

        def inside(place: Span) -> bool:
            at = bisect_right(starts, place.start)
            return at > 0 and place.start < spans[at - 1].end

        # Tabs are told once for the whole file.
        self.found = [
            each for each in self.found if each.source is not source or each.code == "TB1004" or not inside(each.span)
        ]

    def forget_unused(self, before: int) -> None:
        """Take back that names are unused where an error was found too: what is wrong may be what would use them.

        Parameters:
            before: how many problems were known before the part of the program that this is about.
        """
        since = self.found[before:]
        if any(each.severity == "error" for each in since):
            self.found[before:] = [each for each in since if each.code != "TB8001"]

    def near(self, name: str, candidates: Collection[str]) -> str | None:
        """The nearest of the candidates, as `hints.near`; None when enough names were compared."""
        self._comparisons += len(candidates)
        return near(name, candidates) if self._comparisons <= self.COMPARISONS else None

    def sorted(self) -> list[Diagnostic]:
        """By file, place and code."""
        return sorted(self.found, key=lambda each: (each.source.path, each.span.start, each.span.end, each.code))
