"""The table of operations, read backwards: which rows give a type."""

from __future__ import annotations

from tests.generated.shapes import Form
from touba_cli.air.operations import OPERATIONS, Operation


def bind(parameter: Form, form: Form) -> dict[str, Form] | None:
    """What the variables of a parameter stand for; None where it does not have this form."""
    if parameter in ("T", "E"):
        return {parameter: form}
    if isinstance(parameter, str) or isinstance(form, str):
        return {} if parameter == form else None
    return bind(parameter[1], form[1]) if parameter[0] == form[0] else None


def apply(parameter: Form, bound: dict[str, Form]) -> Form:
    """A parameter with its variables replaced."""
    if isinstance(parameter, str):
        return bound.get(parameter, parameter)
    return (parameter[0], apply(parameter[1], bound))


_GIVING: dict[Form, list[Operation]] = {}


def rows_giving(form: Form) -> list[Operation]:
    found = _GIVING.get(form)
    if found is None:
        found = _GIVING[form] = [row for row in OPERATIONS.values() if bind(row.gives, form) is not None]
    return found
