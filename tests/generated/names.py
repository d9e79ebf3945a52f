"""What the generator knows of names: values, callables, and how a module spells what others declare."""

from __future__ import annotations

from typing import TypeAlias

from tests.generated.draw import Draw
from tests.generated.shapes import Declared, Form, Place

#: a value that never changes: a name and the fields on the way from it
Path: TypeAlias = tuple[str, ...]
Facts: TypeAlias = frozenset[Path]
NO_FACTS: Facts = frozenset()


class Symbol:
    """A name. ``kind`` is var for what changes, else let; ``place`` is its declared type, where it has one."""

    __slots__ = ("form", "kind", "name", "place")

    def __init__(self, name: str, form: Form, kind: str, place: Place | None = None):
        self.name = name
        self.form = form
        self.kind = kind
        self.place = place


class Signature:
    """What can be called."""

    def __init__(self, kind: str, module: str, name: str, takes: list[tuple[str, Place]], gives: Place | None):
        self.kind = kind
        self.module = module
        self.name = name
        self.takes = takes
        self.gives = gives
        #: references in `callable_by`, where the clause stands; others may not call it
        self.callers: list[str] | None = None
        #: what it calls
        self.calls: list[Signature] = []
        #: its gates: approve, review or ask, their names, and the type of an answer
        self.gates: list[tuple[str, str, Place | None]] = []

    @property
    def ref(self) -> str:
        return f"{self.kind}:{self.module}/{self.name}"

    @property
    def form(self) -> Form:
        return "Nothing" if self.gives is None else self.gives.form


class Unit:
    """A module: how it names what others declare. `spell` enters what it needs into the imports."""

    def __init__(self, name: str, draw: Draw):
        self.name = name
        self._draw = draw
        #: module → alias, "" for its own name, None for `from … import`
        self.modes: dict[str, str | None] = {}
        self.names: dict[str, list[str]] = {}

    def spell(self, declared: Declared | Signature) -> str:
        """The name of a declaration, as it is written in this module."""
        module = declared.module
        if module in (self.name, "touba"):
            return declared.name
        if module not in self.modes:
            alias = f"m{len(self.modes) + 1}"
            self.modes[module] = self._draw.pick([alias, "", None, None])
        mode = self.modes[module]
        if mode is not None:
            return f"{mode or module}.{declared.name}"
        names = self.names.setdefault(module, [])
        if declared.name not in names:
            names.append(declared.name)
        return declared.name

    def imports(self) -> list[str]:
        lines = []
        for module, mode in self.modes.items():
            if mode is None:
                lines.append(f"from {module} import {', '.join(self.names[module])}")
            else:
                lines.append(f"import {module}" + (f" as {mode}" if mode else ""))
        return lines
