"""Literal expressions of AIR: their names and types. What they may spell is what the values package reads."""

from __future__ import annotations

from ..errors import ToubaFailure
from ..values.functions import literal
from .places import fault, take_array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .places import Place
    from .types import TypeForm

#: name of the expression → its type
LITERALS: dict[str, TypeForm] = {
    "int": "Int",
    "dec": "Decimal",
    "float": "Float",
    "bool": "Bool",
    "text": "Text",
    "date": "Date",
    "datetime": "DateTime",
    "duration": "Duration",
    "nothing": "Nothing",
}


def literal_type(value: Any, place: Place) -> TypeForm:
    """The type of a literal expression. Raises ToubaFailure (AirInvalid) where it is none or spells no value."""
    node = take_array(value, place)
    name = node[0] if node else None
    form = LITERALS.get(name) if isinstance(name, str) else None
    if form is None:
        raise fault(place, "a literal was expected")
    if name == "nothing":
        take_array(node, place, 1)
        return form
    take_array(node, place, 2)
    try:
        literal(node)
    except ToubaFailure as refused:
        raise fault(place, refused.message) from None
    return form
