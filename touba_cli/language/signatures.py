"""What every callable of the program takes and gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import tree
from .diagnostics import Related
from .names import Declared, Program, Unit, report_duplicates
from .records import dataclass
from .types import FieldType, Types

if TYPE_CHECKING:
    from ..air.types import TypeForm


@dataclass(frozen=True, slots=True)
class Signature:
    """Inputs and result; ``gives`` is the declared type: where there is none, Text for an agent, else Nothing."""

    declared: Declared
    takes: tuple[FieldType, ...]
    gives: TypeForm
    base: TypeForm

    @property
    def name(self) -> str:
        return self.declared.name

    def related(self, unit: Unit) -> tuple[Related, ...]:
        return (self.declared.related(unit),)


class Signatures:
    """The signatures of a program, by reference."""

    def __init__(self, program: Program, types: Types):
        self.by_ref: dict[str, Signature] = {}
        for unit in program.units:
            for declared in unit.declared.values():
                node = declared.node
                if isinstance(node, (tree.CallableDecl, tree.ToolDecl, tree.AgentDecl)):
                    self.by_ref[declared.ref] = _signature(declared, node, unit, types)

    def of(self, declared: Declared) -> Signature:
        return self.by_ref[declared.ref]


def _signature(
    declared: Declared, node: tree.CallableDecl | tree.ToolDecl | tree.AgentDecl, unit: Unit, types: Types
) -> Signature:
    report_duplicates(unit, (each.name for each in node.takes), "input")
    takes = tuple(types.field(unit, each) for each in node.takes)
    absent: TypeForm = "Text" if isinstance(node, tree.AgentDecl) else "Nothing"
    gives = absent if node.gives is None else types.form(unit, node.gives)
    return Signature(declared, takes, gives, types.base(gives))
