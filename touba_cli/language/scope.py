"""What names stand for inside a callable, and what is known about their values where a line stands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from . import tree
from .diagnostics import Problems, Related
from .forms import UNKNOWN
from .names import LISTED
from .records import dataclass, field
from .source import Source

if TYPE_CHECKING:
    from ..air.types import TypeForm


@dataclass(eq=False, slots=True)
class Symbol:
    """A name of a callable. ``kind`` is input, let, var, group, loop, arm, problem or outer; only a var changes.

    An outer is a `var` from outside of the branch that it is seen in: there it keeps the value that it had.
    """

    name: str
    span: tree.Span
    kind: str
    slot: int
    form: TypeForm
    declared: TypeForm
    used: bool = False

    @property
    def fixed(self) -> bool:
        return self.kind != "var"


#: a value that never changes: a symbol and the fields on the way from it
Path: TypeAlias = tuple[Any, ...]
#: paths of Optional type that are known to be present
Facts: TypeAlias = frozenset[Path]

NO_FACTS: Facts = frozenset()

#: kinds of names that something has to use → what to do about one that nothing uses
_UNUSED = {
    "let": "use it, or call it `_{0}`",
    "var": "use it or remove it",
    "group": "use what its branches give, or let them give nothing",
}


@dataclass(slots=True)
class Typed:
    """What an expression came to: its base type, its AIR, and what follows from it.

    ``when_true`` and ``when_false`` are the facts that hold where a Bool is the one or the other; ``path`` is set for a
    symbol that never changes and for fields from it.
    """

    form: TypeForm
    code: list[Any]
    when_true: Facts = NO_FACTS
    when_false: Facts = NO_FACTS
    path: Path | None = None


def unknown() -> Typed:
    """What was reported already: it fits everywhere, and its AIR is never used."""
    return Typed(UNKNOWN, ["bool", False])


@dataclass(slots=True)
class Scopes:
    """The names that are visible, block by block, and the slots that they have."""

    source: Source
    problems: Problems
    slots: list[tuple[str, TypeForm]] = field(default_factory=list)
    blocks: list[dict[str, Symbol]] = field(default_factory=lambda: [{}])
    facts: Facts = NO_FACTS
    #: the names around a branch
    outer: Scopes | None = None
    _unknown: set[str] = field(default_factory=set)
    _slot_names: dict[str, int] = field(default_factory=dict)

    def hidden(self, name: str, form: TypeForm) -> int:
        """A slot that no name of the program stands for: `.list1`."""
        number = self._slot_names.get("." + name, 0) + 1
        self._slot_names["." + name] = number
        self.slots.append((f".{name}{number}", form))
        return len(self.slots) - 1

    def bind(self, name: tree.Name, kind: str, form: TypeForm, declared: TypeForm | None = None) -> Symbol:
        """Bind a name in the innermost block. A name that is visible already is an error, and bound all the same."""
        first = self._visible(name.text)
        if first is not None:
            self.problems.add(
                "TB3002", f"`{name.text}` is bound already", self.source, name.span, "choose another name",
                related=(Related(first.span, "bound here"),),
            )  # fmt: skip
        number = self._slot_names.get(name.text, 0) + 1
        self._slot_names[name.text] = number
        self.slots.append((name.text if number == 1 else f"{name.text}.{number}", form))
        symbol = Symbol(name.text, name.span, kind, len(self.slots) - 1, form, form if declared is None else declared)
        self.blocks[-1][name.text] = symbol
        return symbol

    def look_up(self, name: str) -> Symbol | None:
        for block in reversed(self.blocks):
            symbol = block.get(name)
            if symbol is not None:
                return symbol
        return None

    def _visible(self, name: str) -> Symbol | None:
        """What a name stands for here, or around the branch."""
        found = self.look_up(name)
        return found if found is not None or self.outer is None else self.outer._visible(name)

    def branch(self) -> Scopes:
        """The names of a branch that begins here; `capture` gives it those from outside that it uses."""
        return Scopes(self.source, self.problems, outer=self, _unknown=self._unknown)

    def capture(self, names: set[str]) -> list[Symbol]:
        """Take in what is visible around the branch under some names; the symbols there, in the order of their slots.

        A branch sees them as they were when it began: what is known about them is known here too.
        """
        outer = self.outer
        assert outer is not None
        found = [symbol for block in outer.blocks for symbol in block.values() if symbol.name in names]
        found.sort(key=lambda symbol: symbol.slot)
        inside: dict[Symbol, Symbol] = {}
        for symbol in found:
            symbol.used = True
            self.slots.append((symbol.name, symbol.form))
            kind = "outer" if symbol.kind == "var" else symbol.kind
            here = Symbol(symbol.name, symbol.span, kind, len(self.slots) - 1, symbol.form, symbol.declared, used=True)
            inside[symbol] = self.blocks[0][symbol.name] = here
            self._slot_names[symbol.name] = 1
        self.facts = frozenset((inside[path[0]], *path[1:]) for path in outer.facts if path[0] in inside)
        return found

    def find(self, name: str, span: tree.Span, built_ins: tuple[str, ...]) -> Symbol | None:
        """What a name stands for; one that stands for nothing is reported once in a callable."""
        symbol = self.look_up(name)
        if symbol is not None:
            symbol.used = True
            return symbol
        if name in self._unknown:
            return None
        self._unknown.add(name)
        visible = self._names()
        nearest = self.problems.near(name, visible)
        meant = self._visible(nearest) if nearest else None
        if meant is not None:
            meant.used = True  # under a misspelt name
        label = f"did you mean `{nearest}`?" if nearest else ""
        help_text = None
        if nearest is None and name in built_ins:
            label = f"a function is called with brackets: `{name}(…)`"
        elif nearest is None and self.source.text[max(0, span.start - 3) : span.start] == "-- ":
            label = "a comment begins with `#`, not with `--`"
        elif nearest is None:
            label = "declare it with `let` before this line, or take it as an input"
            if 0 < len(visible) <= 8:
                help_text = "known here: " + ", ".join(f"`{each}`" for each in visible)
        self.problems.add(
            "TB3001", f"no value `{name}` is known here", self.source, span, label, help=help_text,
            candidates=(nearest,) if nearest else tuple(visible[:LISTED]),
        )  # fmt: skip
        return None

    def near(self, name: str) -> str | None:
        """The visible name that one that is not known was probably meant to be, or None."""
        return self.problems.near(name, self._names())

    def _names(self) -> list[str]:
        names = [each for block in self.blocks for each in block]
        if self.outer is not None:
            names.extend(each for each in self.outer._names() if each not in names)
        return names

    @contextmanager
    def block(self) -> Iterator[None]:
        """Names bound inside end with the block; those that nothing used are warnings."""
        self.blocks.append({})
        try:
            yield
        finally:
            self._report_unused(self.blocks.pop())

    def close(self) -> None:
        """Look for unused names of the outermost block."""
        self._report_unused(self.blocks[0])

    def _report_unused(self, block: dict[str, Symbol]) -> None:
        for symbol in block.values():
            if symbol.kind in _UNUSED and not symbol.used and not symbol.name.startswith("_"):
                self.problems.add(
                    "TB8001", f"`{symbol.name}` is never used", self.source, symbol.span,
                    _UNUSED[symbol.kind].format(symbol.name),
                )  # fmt: skip
