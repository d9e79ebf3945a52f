"""What code costs in steps: `docs/air.md`, Costs. The compiler writes these figures, the verifier computes them again.

An instruction costs 1 and its expressions; an expression costs 1 and its operands, a `chain` 1 for each operation.
The condition and the element of a `collect` are not part of that: the machine charges `element_cost` for each element.
What operations charge for the data they touch is in `operations.py`.

All functions take code of the right shape and raise nothing of their own; the verifier checks shapes first.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: expressions without operands
_LEAVES = frozenset(
    ("int", "dec", "float", "bool", "text", "date", "datetime", "duration", "nothing", "absent", "slot")
)

#: expressions whose one operand is the member after the name
_FIRST = frozenset(("field", "payload", "variant", "sorted_by"))

#: expressions whose operands are an array, and where that stands
_ARRAYS = {"record": 2, "make": 3, "list": 2, "apply": 2}


def operands(node: list[Any]) -> list[Any]:
    """The expressions that an expression is made of and that count to its cost, from left to right.

    >>> operands(["add.int", ["slot", 0], ["int", 1]])
    [['slot', 0], ['int', 1]]
    """
    name = node[0]
    if name in _LEAVES:
        return []
    if name in _FIRST:
        return [node[1]]
    place = _ARRAYS.get(name)
    if place is not None:
        return list(node[place])
    if name == "chain":
        return [node[1], *node[3::2]]
    if name == "constrain":
        return [node[3]]
    if name == "with":
        return [node[1], *(change[1] for change in node[2])]
    if name == "map":
        return [part for entry in node[2] for part in entry]
    if name == "collect":
        return [node[2]]
    return node[1:]


def expression_cost(node: list[Any]) -> int:
    """The steps of an expression, whichever way it branches.

    >>> expression_cost(["chain", ["slot", 0], "add.int", ["int", 1], "sub.int", ["int", 2]])
    5
    """
    cost = 0
    waiting = [node]
    while waiting:
        found = waiting.pop()
        cost += len(found) // 2 - 1 if found[0] == "chain" else 1
        waiting.extend(operands(found))
    return cost


def element_cost(node: list[Any]) -> int:
    """The steps that each element of a `collect` is charged before its condition is evaluated."""
    _, _, _, condition, element = node
    cost = expression_cost(element)
    return cost if condition is None else cost + expression_cost(condition)


def instruction_expressions(instruction: list[Any]) -> list[Any]:
    """The expressions of an instruction, in the order in which they are evaluated."""
    name = instruction[0]
    if name == "set":
        return [instruction[2]]
    if name in ("unless", "give", "stop", "fail"):
        return [instruction[1]]
    if name == "call":
        return list(instruction[4])
    if name in ("show", "approve"):
        return [instruction[3]]
    if name == "ask":
        return [instruction[4]]
    if name == "review":
        return [instruction[4], instruction[5]]
    if name == "parallel":
        return [given for branch in instruction[4] for given in branch[2]]
    if name == "parallel_each":
        return [instruction[5], *instruction[7]]
    if name == "require":
        return [instruction[1], instruction[2]]
    return []


def instruction_cost(instruction: list[Any]) -> int:
    """The steps of one instruction with its expressions."""
    return 1 + sum(map(expression_cost, instruction_expressions(instruction)))


def callable_costs(code: list[list[Any]]) -> tuple[int, dict[int, int]]:
    """The cost of a callable: of its code outside loops, and of the body of each loop.

    A loop is the code from the target of an `again` to that `again`, both included. What lies in an inner loop
    counts to the inner loop alone. The costs that stand in the code are not looked at.

    Parameters:
        code: the instructions; loops lie inside each other or apart.

    Returns:
        the steps outside loops, and the steps of each loop under the number of its `again`.

    >>> callable_costs([["set", 0, ["int", 3]], ["times", 0, 3], ["again", 1, 0], ["give", ["slot", 0]]])
    (4, {2: 2})
    """
    ends: dict[int, list[int]] = {}
    for pc, instruction in enumerate(code):
        if instruction[0] == "again":
            ends.setdefault(instruction[1], []).append(pc)
    outside = 0
    loops: dict[int, int] = {}
    open_loops: list[int] = []
    for pc, instruction in enumerate(code):
        for end in sorted(ends.get(pc, ()), reverse=True):
            open_loops.append(end)
            loops[end] = 0
        cost = instruction_cost(instruction)
        if open_loops:
            loops[open_loops[-1]] += cost
            if open_loops[-1] == pc:
                open_loops.pop()
        else:
            outside += cost
    return outside, loops
