"""Keys: which values can be one, and the key of a tool that makes its effect repeatable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..air.costs import expression_cost
from ..air.types import KEY_TYPES, thaw
from .forms import UNKNOWN, is_optional, show

if TYPE_CHECKING:
    from ..air.types import TypeForm
    from . import tree
    from .body import Body
    from .types import Types


def is_key(types: Types, form: TypeForm) -> bool:
    """Whether a value of the type can be a key: it has one spelling, and equal ones are the same key."""
    return form in KEY_TYPES or types.is_plain_choice(form)


def refuse_key(form: TypeForm) -> tuple[str, str]:
    """Title and label of the problem where it cannot."""
    label = "use Text, a number that is no Float, Bool, a date, Duration, or a choice without payload"
    if is_optional(form):
        label = "open it first: `… otherwise …`"
    elif not isinstance(form, str) or form.startswith("type:"):
        label = 'make a text of its parts: `"{a.id}/{a.line}"`'
    return f"`{show(form)}` cannot be a key", label


def tool_key(body: Body, node: tree.Expr) -> dict[str, Any]:
    """The key of a tool: AIR's `key`. The inputs of the tool are bound in the body."""
    typed = body.settled(node)
    if typed.form != UNKNOWN and not is_key(body.types, typed.form):
        title, label = refuse_key(typed.form)
        body.report("TB4011", title, node.span, label)
    return {
        "slots": [[name, thaw(form)] for name, form in body.scopes.slots],
        "cost": expression_cost(typed.code),
        "value": typed.code,
    }
