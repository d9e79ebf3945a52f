"""Agents and memories: what their clauses say, and what AIR says of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..air.types import thaw
from ..limits import LIMITS
from . import tree
from .authority import Authority
from .diagnostics import Problems
from .forms import UNKNOWN, show
from .keys import is_key, refuse_key
from .literals import plain_text
from .names import Declared, Unit

if TYPE_CHECKING:
    from ..air.types import TypeForm
    from .types import Types


def agent_entry(declared: Declared, authority: Authority, problems: Problems) -> dict[str, Any]:
    """Check the clauses of an agent and make what AIR says of them, defaults written out."""
    node = declared.node
    assert isinstance(node, tree.AgentDecl)
    unit = declared.unit
    steps = bounded(unit, node.steps, "agent_steps", "steps of an agent")
    calls = bounded(unit, node.provider_calls, "agent_provider_calls", "provider calls of an agent")
    steps = LIMITS["agent_steps"].default if steps is None else steps
    entry: dict[str, Any] = {
        "responsibility": "",
        "uses": [each.ref for each in authority.uses[declared.ref]],
        "reviews": node.reviews,
        "steps": steps,
        "provider_calls": 2 * steps + 1 if calls is None else calls,
    }
    if node.responsibility is not None:
        entry["responsibility"] = plain_text(unit, node.responsibility, "a responsibility is the same in every run")
        if entry["responsibility"] is not None and not entry["responsibility"].strip():
            problems.add(
                "TB4012", "a responsibility says nothing", unit.source, node.responsibility.span, "say what it is for"
            )
    return entry


def bounded(unit: Unit, node: tree.Literal | None, limit: str, what: str) -> int | None:
    """A whole number within the bounds of `touba_cli/limits.py`; None where there is none."""
    if node is None:
        return None
    value = node.value
    bounds = LIMITS[limit]
    assert isinstance(value, int)
    if not bounds.lowest <= value <= bounds.highest:
        unit.problems.add(
            "TB4010", f"the {what} are from {bounds.lowest} to {bounds.highest}", unit.source, node.span,
            "write a number within these bounds",
        )  # fmt: skip
    return value


def memory_entry(declared: Declared, types: Types) -> dict[str, Any]:
    """Check the clauses of a memory and make its entry in AIR's `memories`."""
    node = declared.node
    assert isinstance(node, tree.MemoryDecl)
    form: TypeForm = UNKNOWN if node.holds is None else types.form(declared.unit, node.holds)
    entry: dict[str, Any] = {"holds": thaw(form), "scope": "" if node.scope is None else node.scope.text}
    if node.holds is not None and types.base(form) == "Nothing":
        declared.unit.problems.add(
            "TB4001", "a memory of `Nothing` keeps nothing", declared.unit.source, node.holds.span, "name a type"
        )
    if node.key:
        entry["key"] = [each.text for each in node.key]
        _check_key(declared.unit, types, types.base(form), node.key)
    if node.doc is not None:
        entry["doc"] = node.doc
    return entry


def _check_key(unit: Unit, types: Types, form: TypeForm, path: list[tree.Name]) -> None:
    """Follow the key of a memory through the fields of what it holds."""
    for name in path:
        if form == UNKNOWN:
            return
        fields = types.records.get(form) if isinstance(form, str) else None
        if fields is None:
            unit.problems.add(
                "TB3003", f"`{show(form)}` has no fields", unit.source, name.span, "a key is a field of a record"
            )
            return
        found = next((each for each in fields if each.name == name.text), None)
        if found is None:
            names = [each.name for each in fields]
            nearest = unit.problems.near(name.text, names)
            declared = types.declared.get(str(form))
            unit.problems.add(
                "TB3003", f"`{show(form)}` has no field `{name.text}`", unit.source, name.span,
                f"did you mean `{nearest}`?" if nearest else "write one that it has",
                related=() if declared is None else (declared.related(unit),),
                candidates=(nearest,) if nearest else tuple(names),
            )  # fmt: skip
            return
        form = found.base
    if form != UNKNOWN and not is_key(types, form):
        title, label = refuse_key(form)
        unit.problems.add("TB4011", title, unit.source, path[-1].span, label)
