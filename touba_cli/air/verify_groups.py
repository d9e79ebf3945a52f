"""The verifier's rules for gates, groups and compensations, and the table of gates. Loaded where a program has them."""

from __future__ import annotations

from ..limits import BLOCK_DEPTH, LIMITS
from .literals import literal_type
from .places import (
    fault,
    shown,
    split_branch,
    take_array,
    take_map,
    take_object,
    take_text,
    take_whole,
)
from .verify_expr import written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .places import Place
    from .types import TypeForm
    from .verify_flow import Flow, Instruction
    from .verify_types import Types

#: kind of a gate → members that its entry may have, and those that it must
_GATES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "approval": ((), ("expires",)), "review": (("type",), ("expires",)), "ask": (("type",), ()),
}  # fmt: skip


def check_gates(value: Any, place: Place, types: Types) -> dict[str, Any]:
    """Check the table of gates by itself; that each is used once is seen when code is checked."""
    gates = take_map(value, place)
    if not gates:
        raise fault(place, "a program without gates has no such member")
    for ref, gate in gates.items():
        here: Place = (place, ref)
        members = _GATES.get(ref.partition(":")[0])
        if members is None:
            raise fault(here, "a gate's reference begins with " + ", ".join(f"`{kind}:`" for kind in _GATES))
        take_object(gate, here, *members)
        if "type" in gate:
            form = types.base(types.take_declared(gate["type"], (here, "type")))
            if form == "Nothing":
                raise fault((here, "type"), "nobody answers with `Nothing`")
        if "expires" in gate:
            literal_type(["duration", gate["expires"]], (here, "expires"))
            if gate["expires"].startswith("-") or gate["expires"] == "PT0S":
                raise fault((here, "expires"), "a decision takes longer than nothing")
    return gates


# --- gates ------------------------------------------------------------------------------------------------------------


def _gate(flow: Flow, kind: str, ref: Any, place: Place) -> dict[str, Any]:
    """The entry of the gate that an instruction names; it must be the next of its kind, by number or by name."""
    owner = flow.owner
    number = owner.next(kind)
    prefix = f"{kind}:{owner.path}/"
    name = take_text(ref, place)
    last = name.removeprefix(prefix)
    if not name.startswith(prefix) or not last or "/" in last or (last[0].isdigit() and last != str(number)):
        raise fault(place, f"the reference of this gate is `{prefix}{number}`, or ends in a name")
    if name not in owner.gates:
        raise fault(place, f"`{shown(name)}` is not among `gates`")
    if name in owner.used:
        raise fault(place, f"`{shown(name)}` stands at two places")
    owner.used.add(name)
    found: dict[str, Any] = owner.gates[name]
    return found


def _answer_type(flow: Flow, gate: dict[str, Any]) -> TypeForm:
    return flow.types.base(flow.types.take_declared(gate["type"], None))


def _result(flow: Flow, slot: Any, place: Place, form: TypeForm) -> int | None:
    """The slot of a result, which may be dropped."""
    return None if slot is None else flow.expressions.writable_slot(slot, place, form)


def _approve(flow: Flow, instruction: Instruction, place: Place) -> int | None:
    _gate(flow, "approval", instruction[2], (place, 2))
    flow.expressions.expect(instruction[3], (place, 3), "Text")
    return None


def _ask(flow: Flow, instruction: Instruction, place: Place) -> int | None:
    gate = _gate(flow, "ask", instruction[3], (place, 3))
    flow.expressions.expect(instruction[4], (place, 4), "Text")
    return _result(flow, instruction[2], (place, 2), _answer_type(flow, gate))


def _review(flow: Flow, instruction: Instruction, place: Place) -> int | None:
    gate = _gate(flow, "review", instruction[3], (place, 3))
    form = _answer_type(flow, gate)
    flow.expressions.expect(instruction[4], (place, 4), form)
    flow.expressions.expect(instruction[5], (place, 5), "Text")
    return _result(flow, instruction[2], (place, 2), form)


# --- groups -----------------------------------------------------------------------------------------------------------


def _parallel(flow: Flow, instruction: Instruction, place: Place) -> int | None:
    _take_switch(instruction[3], (place, 3))
    group = flow.owner.next("group")
    fields: dict[str, TypeForm] = {}
    #: declared types of the branches that check what they give
    guards: dict[str, TypeForm] = {}
    branches = take_array(instruction[4], (place, 4))
    if not branches:
        raise fault((place, 4), "a group has a branch at least")
    for position, branch in enumerate(branches):
        here: Place = ((place, 4), position)
        take_array(branch, here, 3)
        name = take_text(branch[0], (here, 0))
        if name in fields:
            raise fault((here, 0), f"the branch `{shown(name)}` stands twice")
        form, takes = _branch(flow, branch[1], (here, 1), f"{group}.{name}")
        flow.expressions.expect_all(branch[2], (here, 2), takes)
        fields[name] = ("Outcome", form) if instruction[3] else form
        guard = None if instruction[3] else flow.signatures[branch[1]].gives_guard
        if guard is not None:
            guards[name] = guard
    slot = flow.expressions.slot(instruction[2], (place, 2))
    record = flow.slots[slot]
    if not isinstance(record, str) or not record.startswith(f"type:{flow.owner.path}/"):
        raise fault((place, 2), f"slot {slot} does not hold the record of a group of this callable")
    declared = flow.types.fields(record)
    if declared is None or list(declared.items()) != list(fields.items()):
        raise fault((place, 2), f"{written(record)} does not have the branches as its fields")
    for name, guard in flow.types.guards(record).items():
        if guards.get(name) != guard:
            raise fault((place, 2), f"the branch `{name}` does not check what the field of {written(record)} asks for")
    return flow.expressions.writable_slot(slot, (place, 2), record)


def _parallel_each(flow: Flow, instruction: Instruction, place: Place) -> int | None:
    _take_switch(instruction[3], (place, 3))
    if instruction[4] is not None:
        limit = LIMITS["group_limit"]
        take_whole(instruction[4], (place, 4), limit.lowest, limit.highest)
    items = flow.expressions.type_of(instruction[5], (place, 5))
    if isinstance(items, str) or items[0] != "List":
        raise fault((place, 5), f"a List was expected, not {written(items)}")
    form, takes = _branch(flow, instruction[6], (place, 6), str(flow.owner.next("group")))
    if not takes or takes[0] != items[1]:
        raise fault((place, 6), f"the branch does not take {written(items[1])} first")
    flow.expressions.expect_all(instruction[7], (place, 7), takes[1:])
    return _result(flow, instruction[2], (place, 2), ("List", ("Outcome", form) if instruction[3] else form))


def _take_switch(value: Any, place: Place) -> None:
    if not isinstance(value, bool):
        raise fault(place, "true or false was expected")


def _branch(flow: Flow, ref: Any, place: Place, last: str) -> tuple[TypeForm, list[TypeForm]]:
    """Check the code of a branch: what it gives and takes."""
    owner = flow.owner
    expected = f"branch:{owner.path}/{last}"
    if split_branch(expected) is None:
        raise fault(place, "the name of a branch is not written as names are")
    signature = flow.signatures.get(expected)
    if take_text(ref, place) != expected or signature is None:
        raise fault(place, f"the branch here is `{shown(expected)}`")
    if signature.guards:
        raise fault(place, "a branch takes values as they are: its inputs have no constraints")
    if owner.depth >= BLOCK_DEPTH:
        raise fault(place, f"groups are nested deeper than {BLOCK_DEPTH} levels")
    owner.used.add(expected)
    owner.depth += 1
    owner.check_branch(expected, owner)
    owner.depth -= 1
    return signature.gives, signature.takes


# --- compensations ----------------------------------------------------------------------------------------------------


def _mark(flow: Flow, instruction: Instruction, place: Place) -> int | None:
    slot = flow.expressions.slot(instruction[1], (place, 1))
    if flow.slots[slot] != "Int":
        raise fault((place, 1), f"slot {slot} does not hold an Int")
    return slot


def _compensate(flow: Flow, instruction: Instruction, place: Place) -> int | None:
    flow.readable_mark(instruction[1], (place, 1))
    return None


#: instruction → what checks it; gives the slot that it sets
LATE_RULES: dict[str, Callable[[Flow, Instruction, Place], int | None]] = {
    "approve": _approve, "ask": _ask, "review": _review, "parallel": _parallel, "parallel_each": _parallel_each,
    "mark": _mark, "compensate": _compensate,
}  # fmt: skip
