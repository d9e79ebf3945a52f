"""Type forms: how a type is written in AIR and held in memory.

In memory a type form is a `str` (``"Text"``, ``"type:app/Invoice"``) or a tuple (``("List", "Text")``), so it can be
compared and used as a key; in JSON the tuples are arrays. ``("is", BASE, CONSTRAINTS)`` is a constrained type.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    TypeForm: TypeAlias = str | tuple[Any, ...]
else:
    # For passes that name it in annotations which are read at run time; nothing looks into it.
    TypeForm = object

#: the types without parameters
PLAIN_TYPES: tuple[str, ...] = (
    "Text", "Int", "Decimal", "Float", "Bool", "Date", "DateTime", "Duration", "Json", "Nothing",
)  # fmt: skip

#: the types with one parameter that programs can write
GENERIC_TYPES: tuple[str, ...] = ("List", "Map", "Optional", "Outcome")

#: types whose values have an order
ORDERED_TYPES: tuple[str, ...] = ("Int", "Decimal", "Float", "Text", "Date", "DateTime", "Duration")

#: plain types whose values can be keys; payload-free choices can, too
KEY_TYPES: tuple[str, ...] = ("Text", "Int", "Decimal", "Bool", "Date", "DateTime", "Duration")

PROBLEM = "type:touba/Problem"

#: declarations that every program has, in the form of AIR's `types`
BUILT_IN_TYPES: dict[str, dict[str, Any]] = {
    PROBLEM: {
        "kind": "record",
        "fields": [
            {"name": "code", "type": "Text"},
            {"name": "message", "type": "Text"},
            {"name": "ref", "type": "Text"},
        ],
    },
}


def freeze(form: Any) -> TypeForm:
    """The in-memory form of a type read from JSON: arrays become tuples, all the way down."""
    if isinstance(form, list):
        return tuple([freeze(part) if isinstance(part, list) else part for part in form])
    return form  # type: ignore[no-any-return]


def thaw(form: Any) -> Any:
    """The JSON form of a type: tuples become lists."""
    if isinstance(form, tuple):
        return [thaw(part) for part in form]
    return form


def base(form: TypeForm, declared: dict[str, dict[str, Any]]) -> TypeForm:
    """The type without constraints and aliases, all the way down: what slots and operations name."""
    if isinstance(form, str):
        declaration = declared.get(form)
        if declaration is not None and declaration["kind"] == "alias":
            return base(freeze(declaration["of"]), declared)
        return form
    if form[0] == "is":
        return base(form[1], declared)
    return (form[0], base(form[1], declared))


def constrained(form: TypeForm, declared: dict[str, dict[str, Any]]) -> bool:
    """Whether values of the type have constraints to check, other than those inside records and choices."""
    while True:
        if isinstance(form, str):
            declaration = declared.get(form)
            if declaration is None or declaration["kind"] != "alias":
                return False
            form = freeze(declaration["of"])
        elif form[0] == "is":
            return True
        else:
            form = form[1]


def show(form: TypeForm) -> str:
    """The type as programs write it: ``List of Invoice``."""
    if isinstance(form, str):
        return form.rpartition("/")[2] if form.startswith("type:") else form
    if form[0] == "is":
        return show(form[1])
    if form[0] == "Entry":
        return f"Entry of {show(form[1])}"
    inner = show(form[1])
    return f"Optional {inner}" if form[0] == "Optional" else f"{form[0]} of {inner}"
