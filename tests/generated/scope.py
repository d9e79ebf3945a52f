"""The names of one callable while it is drawn: its blocks, and what is known to be present."""

from __future__ import annotations

from tests.generated.names import NO_FACTS, Facts, Path, Symbol
from tests.generated.shapes import Form, Place, World


class Scope:
    """Names in blocks. ``facts`` are the paths that are present where the drawing stands."""

    def __init__(self, world: World):
        self.world = world
        self.blocks: list[dict[str, Symbol]] = [{}]
        self.facts: Facts = NO_FACTS
        self._count = 0

    def bind(self, form: Form, kind: str = "let", place: Place | None = None, name: str | None = None) -> Symbol:
        """A new name in the innermost block."""
        symbol = Symbol(name or self.new_name(form), form, kind, place)
        self.blocks[-1][symbol.name] = symbol
        return symbol

    def new_name(self, form: Form) -> str:
        """A name that nothing visible has."""
        self._count += 1
        letters = {
            "Int": "n",
            "Text": "t",
            "Bool": "b",
            "Decimal": "d",
            "List": "xs",
            "Map": "map",
            "Optional": "maybe",
        }
        return letters.get(form if isinstance(form, str) else form[0], "v") + str(self._count)

    def symbols(self) -> list[Symbol]:
        return [symbol for block in self.blocks for symbol in block.values()]

    def visible(self, name: str) -> bool:
        return any(name in block for block in self.blocks)

    def leave(self) -> None:
        """The end of the innermost block: its names are gone, and what was known of them."""
        gone = self.blocks.pop()
        self.facts = frozenset(path for path in self.facts if path[0] not in gone)

    def reads(self, narrowed: bool = True) -> list[tuple[str, Form, Path | None]]:
        """Everything that a name and fields from it reach: text, form, and path where it never changes."""
        found: list[tuple[str, Form, Path | None]] = []
        for symbol in self.symbols():
            waiting: list[tuple[str, Form, Path | None, int]] = [
                (symbol.name, symbol.form, (symbol.name,) if symbol.kind != "var" else None, 0)
            ]
            while waiting:
                text, form, path, depth = waiting.pop()
                opened = form
                if path is not None and path in self.facts and form[0] == "Optional":
                    opened = form[1]
                if form not in self.world.groups:
                    found.append((text, opened if narrowed else form, path))
                if depth < 2:
                    waiting += [
                        (f"{text}.{name}", inner, None if path is None else (*path, name), depth + 1)
                        for name, inner in self.world.fields(opened)
                    ]
        return found
