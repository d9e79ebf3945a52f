"""Types while a program is checked: what fits where, what two types have in common, and the variables of operations.

All forms here are base forms (`air/types.py`): without constraints and aliases. Two more stand only here: `UNKNOWN`,
the type of what was reported already and fits everywhere, and `BOTTOM`, the element type of `[]` and `none`
until something tells it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..air.types import ORDERED_TYPES
from ..air.types import show as show_form

if TYPE_CHECKING:
    from ..air.types import TypeForm

UNKNOWN = "?"
BOTTOM = "!"

#: how a value gets into a place: nothing to do, an Int widened, the value wrapped, both
SAME, WIDEN, WRAP, WIDEN_AND_WRAP = "same", "widen", "wrap", "widen and wrap"

_VARIABLES = ("T", "E")

#: what begins a hint of `fitting`, and of one that takes no Int; they stand in hints only, never in types of values
_FITTING = "fitting"
_FITTING_DECIMAL = "fitting Decimal"


def show(form: TypeForm) -> str:
    """A type as programs write it, for messages."""
    return show_form(_named(form))


def _named(form: TypeForm) -> TypeForm:
    if isinstance(form, str):
        return {BOTTOM: "…", UNKNOWN: "…"}.get(form, form)
    return (form[0], _named(form[1]))


def mentions(form: TypeForm, what: str) -> bool:
    """Whether `UNKNOWN` or `BOTTOM` stands anywhere in a form."""
    while not isinstance(form, str):
        form = form[1]
    return form == what


def is_optional(form: TypeForm) -> bool:
    """Whether a form is that of an Optional."""
    return isinstance(form, tuple) and form[0] == "Optional"


def inner(form: TypeForm) -> TypeForm:
    """What is inside a List, Map, Optional or Entry."""
    found: TypeForm = form[1]
    return found


def opened(form: TypeForm | None) -> TypeForm | None:
    """A hint without its Optionals: what a literal that stands for it is made as."""
    while form is not None and (is_optional(form) or is_fitting(form)):
        form = inner(form)
    return form


def fitting(form: TypeForm) -> TypeForm:
    """A hint for what lies inside something and is taken out of it: any type that then fits ``form`` will do.

    An Int fits where a Decimal is expected, and a `T` where an `Optional T` is. Of every other type there is only one.
    """
    return (_FITTING, form) if form == "Decimal" or is_optional(form) else form


def is_fitting(form: TypeForm | None) -> bool:
    """Whether a hint is one of `fitting`."""
    return isinstance(form, tuple) and form[0] in (_FITTING, _FITTING_DECIMAL)


def has_fitting(hint: TypeForm | None) -> bool:
    """Whether a hint of `fitting` lies inside a hint."""
    while isinstance(hint, tuple):
        if is_fitting(hint):
            return True
        hint = hint[1]
    return False


def as_decimals(hint: TypeForm) -> TypeForm:
    """A hint in which no Int will do for a Decimal."""
    if isinstance(hint, str):
        return hint
    if hint == (_FITTING, "Decimal"):
        return "Decimal"
    is_decimal = is_fitting(hint) and opened(hint) == "Decimal"
    return (_FITTING_DECIMAL if is_decimal else hint[0], as_decimals(hint[1]))


def wants_decimals(hint: TypeForm | None) -> bool:
    """Whether a hint of `fitting` takes no Int."""
    return isinstance(hint, tuple) and hint[0] == _FITTING_DECIMAL


def definite(hint: TypeForm) -> TypeForm:
    """A hint with one type in the place of those that would fit: the one without Optionals."""
    if isinstance(hint, str):
        return hint
    if is_fitting(hint):
        found = opened(hint)
        assert found is not None
        return found
    return (hint[0], definite(hint[1]))


def is_ordered(form: TypeForm) -> bool:
    """Whether values of a form can be compared by `<`."""
    return isinstance(form, str) and form in ORDERED_TYPES


def alike(actual: TypeForm, wanted: TypeForm) -> bool:
    """Whether two forms are the same where both are known."""
    while True:
        if actual in (wanted, BOTTOM) or UNKNOWN in (actual, wanted):
            return True
        if isinstance(actual, str) or isinstance(wanted, str) or actual[0] != wanted[0]:
            return False
        actual, wanted = actual[1], wanted[1]


def fit(actual: TypeForm, wanted: TypeForm) -> str | None:
    """How a value of one type gets into a place of another; None where it does not.

    >>> fit("Int", ("Optional", "Decimal"))
    'widen and wrap'
    """
    if alike(actual, wanted):
        return SAME
    if actual == "Int" and wanted == "Decimal":
        return WIDEN
    if is_optional(wanted):
        inside = inner(wanted)
        if alike(actual, inside):
            return WRAP
        if actual == "Int" and inside == "Decimal":
            return WIDEN_AND_WRAP
    return None


def common(one: TypeForm, other: TypeForm) -> TypeForm | None:
    """The type that values of both fit into; None where there is none.

    >>> common("Int", ("Optional", "Decimal"))
    ('Optional', 'Decimal')
    """
    if UNKNOWN in (one, other):
        return UNKNOWN
    if alike(one, other):
        return other
    if alike(other, one) or fit(other, one) is not None:
        return one
    if fit(one, other) is not None:
        return other
    if is_optional(one) and inner(one) == BOTTOM:
        return ("Optional", other)
    if is_optional(other) and inner(other) == BOTTOM:
        return ("Optional", one)
    return None


class Binding:
    """What the variables of an operation's row stand for, found from its operands."""

    def __init__(self) -> None:
        self.values: dict[str, TypeForm] = {}

    def match(self, parameter: TypeForm, actual: TypeForm) -> bool:
        """Bind what an operand tells. False where its shape cannot fit; plain types are compared later, by `fit`."""
        if isinstance(parameter, str):
            if parameter in _VARIABLES:
                known = self.values.get(parameter, BOTTOM)
                joined = common(known, actual)
                if joined is None:
                    return False
                self.values[parameter] = joined
            return True
        if actual in (UNKNOWN, BOTTOM):
            return True
        if isinstance(actual, str) or actual[0] != parameter[0]:
            return False
        return self.match(parameter[1], actual[1])

    def apply(self, parameter: TypeForm) -> TypeForm:
        """The parameter with its variables replaced; an unbound one is `BOTTOM`."""
        if isinstance(parameter, str):
            return self.values.get(parameter, BOTTOM) if parameter in _VARIABLES else parameter
        return (parameter[0], self.apply(parameter[1]))
