"""From source to code: pieces that are made once and kept as long as the run."""

from __future__ import annotations

from .generate_code import Writer
from .generate_collect import write_collect
from .generate_facts import CodeFacts
from .generate_text import HELPERS, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any

    from ..air.program import Callable as Declared
    from ..values.check import TypeTable
    from .generate_text import Source

#: lines of everything that is generated in a run
MOST_LINES_IN_ALL = 40_000
#: what counts as a line where lines are long, in characters
_LINE = 50


class Piece:
    """Something that was generated.

    ``places`` has the instruction that each line belongs to, ``space`` the names that the code can see, ``functions``
    those of them that stand for functions of the program, by reference, ``callees`` those of skills and strategies
    that are called directly. ``direct`` is the skill or strategy that the piece itself is.
    """

    __slots__ = ("callees", "counts", "direct", "functions", "made", "places", "ref", "space")

    def __init__(self, ref: str, places: list[int], space: dict[str, Any], functions: dict[str, str]):
        self.ref = ref
        self.places = places
        self.space = space
        self.functions = functions
        self.callees: dict[str, str] = {}
        self.counts = False
        self.direct: Declared | None = None
        self.made: Any = space.pop("made")

    @property
    def code(self) -> CodeType:
        code: CodeType = self.made.__code__
        return code


class Generator:
    """Makes the pieces of one program, up to a number of lines.

    Parameters:
        table: the program's types.
        callables: what it declares.
    """

    __slots__ = ("_callables", "_facts", "_lines_left", "_table")

    def __init__(self, table: TypeTable, callables: dict[str, Declared]):
        self._table = table
        self._callables = callables
        self._lines_left = MOST_LINES_IN_ALL
        self._facts: dict[str, CodeFacts] = {}

    def function(self, declared: Declared) -> Piece | None:
        """A whole function, or None where it is to be run by regions."""
        return self._make(declared, None, False, False)

    def direct(self, declared: Declared, counts: bool) -> Piece | None:
        """A whole skill or strategy, to be called directly, or None where that is left to the machine."""
        return self._make(declared, None, True, counts)

    def region(self, declared: Declared, start: int, may_stop: bool, counts: bool) -> Piece | None:
        """What begins at an instruction, or None where that is left to the interpreter: see `Writer`."""
        return self._make(declared, start, may_stop, counts)

    def _make(self, declared: Declared, start: int | None, may_stop: bool, counts: bool) -> Piece | None:
        if self._lines_left <= 0:
            return None
        writer = Writer(self._table, self._callables, declared, self._facts_of(declared), start, may_stop, counts)
        try:
            text = writer.write()
        except Refused:
            self._lines_left -= len(writer.source.lines)
            return None
        piece = self._compile(declared.ref, text, writer.source, writer.functions)
        piece.callees, piece.counts = writer.callees, counts
        piece.direct = declared if start is None and declared.kind != "function" else None
        return piece

    def collect(self, declared: Declared, node: list[Any], counts: bool) -> Piece | None:
        """The elements of one `collect`: see `write_collect`."""
        if self._lines_left <= 0:
            return None
        try:
            text, source, functions = write_collect(self._table, declared, self._facts_of(declared), node, counts)
        except Refused:
            return None
        return self._compile(declared.ref, text, source, functions)

    def _facts_of(self, declared: Declared) -> CodeFacts:
        found = self._facts.get(declared.ref)
        if found is None:
            found = self._facts[declared.ref] = CodeFacts(declared)
        return found

    def _compile(self, ref: str, text: str, source: Source, functions: dict[str, str]) -> Piece:
        self._lines_left -= max(len(source.lines), len(text) // _LINE)
        space = dict(HELPERS)
        space.update((f"c{number:d}", value) for number, value in enumerate(source.constants))
        exec(compile(text, "<generated>", "exec", dont_inherit=True), space)
        return Piece(ref, source.places, space, functions)
