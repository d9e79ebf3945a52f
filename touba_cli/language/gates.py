"""What waits for people: `human.approve`, `human.review` and `ask`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..air.types import thaw
from ..values.times import duration_text
from . import tree
from .code import Effect
from .forms import UNKNOWN, show
from .literals import OutOfRange, duration

if TYPE_CHECKING:
    from ..air.types import TypeForm
    from .statements import Lines


def approve(lines: Lines, node: tree.Approve) -> bool:
    """Check an approval and emit its code; control goes on after it."""
    text = lines.text(node.text)
    ref = lines.owner.gate("approval", node.name, expires=_expiry(lines, node.expires))
    lines.emit(node.span, "approve", lines.next_site(), ref, text)
    return True


def review(lines: Lines, node: tree.Review) -> Effect | None:
    """A review of a value; its result is of the same type."""
    typed = lines.body.settled(node.value)
    text = lines.text(node.text)
    if typed.form == "Nothing":
        lines.body.report("TB4001", "this gives nothing that could be reviewed", node.value.span, "name a value")
    if typed.form in (UNKNOWN, "Nothing"):
        return None
    declared = typed.form
    if isinstance(node.value, tree.Variable):
        symbol = lines.body.scopes.look_up(node.value.name)
        if symbol is not None and lines.body.types.base(symbol.declared) == typed.form:
            declared = symbol.declared  # the constraints of the name hold for a changed value too
    ref = lines.owner.gate("review", node.name, type=thaw(declared), expires=_expiry(lines, node.expires))
    return Effect(
        typed.form,
        lambda slot: lines.emit(node.span, "review", lines.next_site(), slot, ref, typed.code, text),
    )


def ask(lines: Lines, node: tree.Ask) -> Effect | None:
    """A question; its result is what the program says that the answer is."""
    text = lines.text(node.text)
    declared: TypeForm = lines.body.types.form(lines.body.unit, node.type)
    form = lines.body.types.base(declared)
    if form == "Nothing":
        lines.body.report(
            "TB4001", f"an answer is never `{show(form)}`", node.type.span, "write the type of the answer"
        )
    if form in (UNKNOWN, "Nothing"):
        return None
    ref = lines.owner.gate("ask", node.name, type=thaw(declared))
    return Effect(form, lambda slot: lines.emit(node.span, "ask", lines.next_site(), slot, ref, text))


def _expiry(lines: Lines, node: tree.Literal | None) -> str | None:
    """How long a decision is waited for, as AIR writes it."""
    if node is None:
        return None
    value: Any = node.value
    try:
        waits = duration(value)
    except OutOfRange as fault:
        lines.body.report("TB4010", str(fault), node.span, "write a value that can be")
        return None
    if not waits:
        lines.body.report("TB4010", "a decision takes longer than nothing", node.span, "write a longer time")
    return duration_text(waits)
