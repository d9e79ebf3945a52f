"""What can be told of expressions before they run: their types, where these save work."""

from __future__ import annotations

from ..air.operations import OPERATIONS
from ..values.model import text_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from ..air.types import TypeForm
    from ..values.check import TypeTable

    Node: TypeAlias = list[Any]

#: what `eq` charges for two values of a type, where that is always the same
_EQUAL_CHARGES = {"Int": 1, "Bool": 0, "Float": 1, "Date": 2, "DateTime": 2, "Duration": 2}

#: types whose values always have the same small size and no parts: nothing can fail where one is made an Optional
_SMALL = frozenset(("Int", "Bool", "Float", "Date", "DateTime", "Duration"))


class Types:
    """The types of expressions of one callable.

    Parameters:
        table: the program's types.
        slots: those of the callable's slots.
    """

    __slots__ = ("_slots", "_table")

    def __init__(self, table: TypeTable, slots: list[tuple[str, TypeForm]]):
        self._table = table
        self._slots = slots

    def of(self, node: Node) -> TypeForm | None:
        """The type of an expression where it is easily told, else None."""
        name = node[0]
        if name == "slot":
            return self._slots[node[1]][1]
        if name in ("int", "bool", "text"):
            return {"int": "Int", "bool": "Bool", "text": "Text"}[name]
        if name == "field":
            form = self.of(node[1])
            if form is None or (not isinstance(form, str) and form[0] != "Entry"):
                return None
            for field, field_form, _ in self._table.fields(form):
                if field == node[2]:
                    return self._table.base(field_form)
            return None
        if name in ("otherwise", "open"):
            form = self.of(node[1])
            return form[1] if form is not None and not isinstance(form, str) else None
        if name == "index.list":
            form = self.of(node[1])
            return form[1] if form is not None and not isinstance(form, str) else None
        if name == "if":
            return self.of(node[2])
        if name == "chain":
            name = node[-2]
        operation = OPERATIONS.get(name)
        if operation is not None and isinstance(operation.gives, str) and operation.gives[0].isupper():
            return operation.gives if len(operation.gives) > 1 else None
        return None

    def equal_charge(self, node: Node) -> int | None:
        """The steps of an `eq`, where they are the same for all values."""
        form = self.of(node[1]) or self.of(node[2])
        if form == "Text":
            for part in node[1:]:
                if part[0] == "text" and text_size(part[1]) < 16:
                    return 0
            return None
        return _EQUAL_CHARGES.get(form) if isinstance(form, str) else None

    def holds_small(self, node: Node) -> bool:
        """Whether a List or Map has elements of which none can fail to become an Optional."""
        form = self.of(node)
        return form is not None and not isinstance(form, str) and form[1] in _SMALL
