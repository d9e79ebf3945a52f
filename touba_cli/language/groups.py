"""Branches side by side: `parallel as name` and `parallel for each`.

A branch becomes a callable of its own in AIR. What it reads from outside are its inputs, so it cannot change anything
there; its `give` ends it, and its effects are numbered from 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..air.types import thaw
from ..limits import LIMITS
from . import tree
from .body import Body
from .code import Effect
from .expressions import elements
from .forms import UNKNOWN, inner, opened
from .mentions import mentioned
from .names import report_duplicates
from .results import InferredResult
from .types import FieldType

if TYPE_CHECKING:
    from ..air.types import TypeForm
    from .statements import Lines


def parallel(lines: Lines, node: tree.Parallel) -> bool:
    """Check a group with named branches and emit its code; control goes on after it."""
    group = lines.owner.number("group")
    report_duplicates(lines.body.unit, (each.name for each in node.branches), "branch")
    branches: list[Any] = []
    fields: list[FieldType] = []
    for each in node.branches:
        ref = lines.owner.branch(group, each.name.text)
        given, form = _branch(lines, ref, each.block, each.name.span, None, None)
        branches.append([each.name.text, ref, given])
        form = ("Outcome", form) if node.collecting and form != UNKNOWN else form
        fields.append(FieldType(each.name.text, form, form))
    record = lines.owner.record(node.name.text, fields)
    symbol = lines.body.scopes.bind(node.name, "group", record)
    symbol.used = all(each.base == "Nothing" for each in fields)
    lines.emit(node.span, "parallel", lines.next_site(), symbol.slot, node.collecting, branches)
    return True


def parallel_each(lines: Lines, node: tree.ParallelEach, hint: TypeForm | None) -> Effect | None:
    """A group with a branch for each element. ``hint`` is the type that is expected of the whole."""
    of, source = elements(lines.body, node.source)
    limit = None if node.limit is None else node.limit.value
    most = LIMITS["group_limit"].highest
    if limit == 0 and node.limit is not None:
        lines.body.report("TB4010", "at least one branch works at a time", node.limit.span, "write 1 or more")
    elif isinstance(limit, int) and limit > most and node.limit is not None:
        title = f"at most {most:,} branches can be named"
        lines.body.report("TB4010", title, node.limit.span, "write fewer, or leave `at most` out")
    group = lines.owner.number("group")
    ref = lines.owner.branch(group, None)
    wanted = _element_hint(hint, node.collecting)
    given, form = _branch(lines, ref, node.block, node.name.span, (node.name, of), wanted)
    if form == UNKNOWN:
        return None
    result = ("List", ("Outcome", form) if node.collecting else form)

    def emit(slot: int | None) -> None:
        site = lines.next_site()
        lines.emit(node.span, "parallel_each", site, slot, node.collecting, limit, source, ref, given)

    return Effect(result, emit)


def _element_hint(hint: TypeForm | None, collecting: bool) -> TypeForm | None:
    """What is expected of a branch, where it is known what is expected of the list."""
    form = opened(hint)
    for head in ("List", "Outcome") if collecting else ("List",):
        if form is None or isinstance(form, str) or form[0] != head:
            return None
        form = inner(form)
    return None if form == UNKNOWN else form


def _branch(
    lines: Lines,
    ref: str,
    block: tree.Block,
    place: tree.Span,
    element: tuple[tree.Name, TypeForm] | None,
    hint: TypeForm | None,
) -> tuple[list[Any], TypeForm]:
    """Check a branch and make its callable.

    Gives what the group hands to it (besides an element), and the type of its result.
    """
    outer = lines.body
    scopes = outer.scopes.branch()
    # What functions cannot do was said of the whole group; inside it is as in any other branch.
    kind = "skill" if outer.kind == "function" else outer.kind
    body = Body(outer.unit, kind, outer.types, outer.signatures, outer.problems, scopes)
    if element is not None:
        scopes.bind(element[0], "loop", element[1])
    captured = scopes.capture(mentioned(block))
    result = InferredResult(place, block, hint)
    inside = lines.inside(body, result)
    with scopes.block():
        goes_on = inside.block(block)
    result.finish(inside, goes_on)
    inside.check_depth()
    inside.check_slots(place)
    takes = scopes.slots[: len(captured) + (element is not None)]
    lines.owner.branches[ref] = (
        {
            "takes": [{"name": name, "type": thaw(form)} for name, form in takes],
            "gives": thaw(result.form),
            "slots": [[name, thaw(form)] for name, form in scopes.slots],
        },
        inside.code,
    )
    return [["slot", symbol.slot] for symbol in captured], result.form
