"""How deep a tree is, told without recursion."""

from __future__ import annotations

from .. import tree
from .expressions import Expr


def deeper_than(root: Expr, limit: int) -> bool:
    """Whether an expression has more levels; without recursion."""
    level: list[Expr] = [root]
    for _ in range(limit):
        level = [child for node in level for child in children(node)]
        if not level:
            return False
    return True


def children(node: Expr) -> list[Expr]:
    """The expressions directly inside one, in their order."""
    match node:
        case tree.Interpolation():
            return [part for part in node.parts if not isinstance(part, str)]
        case tree.Capital():
            return [argument.value for argument in node.arguments or ()]
        case tree.BuiltIn():
            return node.arguments
        case tree.SortedBy():
            return [node.items]
        case tree.Field():
            return [node.of]
        case tree.Index():
            return [node.of, node.at]
        case tree.With():
            return [node.of, *(change.value for change in node.changes)]
        case tree.Otherwise():
            return [node.optional, node.fallback]
        case tree.Prefix():
            return [node.operand]
        case tree.Chain():
            return [node.first, *(operand for _, _, operand in node.rest)]
        case tree.Comparison():
            return [node.left, node.right]
        case tree.IsPresent():
            return [node.operand]
        case tree.Logic():
            return node.operands
        case tree.Conditional():
            return [node.then, node.condition, node.otherwise]
        case tree.ListLiteral():
            return node.items
        case tree.Comprehension():
            parts = [node.item, node.source]
            return parts if node.condition is None else [*parts, node.condition]
        case tree.MapLiteral():
            return [part for entry in node.entries for part in entry]
    return []
