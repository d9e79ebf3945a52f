"""What the code of one callable shares with the branches of its groups: numbers, gates, and the branches themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import tree
from .diagnostics import Problems, Related

if TYPE_CHECKING:
    from .authority import Authority
    from .code import Code
    from .names import Declared
    from .types import FieldType, Types

#: numbers so far, and how many gates, names of gates, branches and records there are
Mark = tuple[dict[str, int], int, int, int, int]


class Owner:
    """One callable with statements.

    Everything is numbered in source order, branches included: `show:M/C/2` is the second `show` of the callable,
    wherever it stands in it.
    """

    def __init__(self, declared: Declared, types: Types, authority: Authority, problems: Problems):
        self.declared = declared
        self.types = types
        self.authority = authority
        self.problems = problems
        #: AIR's `gates` of this callable
        self.gates: dict[str, dict[str, Any]] = {}
        #: reference of a branch → its entry in AIR's `callables`, and its code
        self.branches: dict[str, tuple[dict[str, Any], Code]] = {}
        self._path = declared.ref.partition(":")[2]
        self._counts: dict[str, int] = {}
        self._names: dict[tuple[str, str], tree.Name] = {}
        self._records: list[str] = []

    def number(self, kind: str) -> int:
        """The number of the next show, gate or group in source order."""
        self._counts[kind] = self._counts.get(kind, 0) + 1
        return self._counts[kind]

    def show(self) -> str:
        """The reference of the next `show`."""
        return f"show:{self._path}/{self.number('show')}"

    def gate(self, kind: str, name: tree.Name | None, **about: Any) -> str:
        """The reference of the next approval, review or ask; ``about`` is what AIR says of it."""
        number = self.number(kind)
        if name is None:
            ref = f"{kind}:{self._path}/{number}"
        else:
            ref = f"{kind}:{self._path}/{name.text}"
            first = self._names.setdefault((kind, name.text), name)
            if first is not name:
                self.problems.add(
                    "TB3002", f"two of these are called `{name.text}`", self.declared.unit.source, name.span,
                    "choose another name", related=(Related(first.span, "the first"),),
                )  # fmt: skip
        self.gates[ref] = {key: value for key, value in about.items() if value is not None}
        return ref

    def branch(self, group: int, name: str | None) -> str:
        """The reference of a branch of a group."""
        return f"branch:{self._path}/{group}" + (f".{name}" if name is not None else "")

    def record(self, name: str, fields: list[FieldType]) -> str:
        """Declare the record of a group's results; its reference."""
        count = self.number(f"record {name}")
        ref = f"type:{self._path}/{name}" + (f".{count}" if count > 1 else "")
        self.types.add_record(ref, fields)
        self._records.append(ref)
        return ref

    # --- code that can never be reached ------------------------------------------------------------------------------

    def mark(self) -> Mark:
        """Where everything stands before code that is to be dropped."""
        return dict(self._counts), len(self.gates), len(self._names), len(self.branches), len(self._records)

    def drop(self, mark: Mark) -> None:
        """Take back what was made since."""
        self._counts, gates, names, branches, records = mark
        _cut(self.gates, gates)
        _cut(self._names, names)
        _cut(self.branches, branches)
        for ref in self._records[records:]:
            self.types.remove_record(ref)
        del self._records[records:]


def _cut(table: dict[Any, Any], length: int) -> None:
    """Remove what was entered last."""
    for key in list(table)[length:]:
        del table[key]
