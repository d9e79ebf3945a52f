"""What a part of the tree mentions, told by going through it without recursion."""

from __future__ import annotations

from typing import Any

from . import tree


def mentioned(part: tree.Node) -> set[str]:
    """The small names that are read or set anywhere in a part of the tree."""
    found: set[str] = set()
    waiting: list[Any] = [part]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (list, tuple)):
            waiting.extend(node)
        elif isinstance(node, tree.Node):
            if isinstance(node, tree.Variable):
                found.add(node.name)
            elif isinstance(node, tree.Set):
                found.add(node.name.text)
            waiting.extend(getattr(node, each) for each in node.__dataclass_fields__)
    return found


def undoes(block: tree.Block) -> bool:
    """Whether a `compensate` in a block belongs to the `on failure` whose block it is."""
    waiting: list[Any] = [block]
    while waiting:
        node = waiting.pop()
        if isinstance(node, tree.Compensate):
            return True
        if isinstance(node, (list, tuple)):
            waiting.extend(node)
        elif isinstance(node, tree.Attempt):
            waiting.append(node.block)  # its own `on failure` has its own
        elif isinstance(node, tree.Node) and not isinstance(node, (tree.Parallel, tree.ParallelEach)):
            waiting.extend(getattr(node, each) for each in node.__dataclass_fields__)
    return False
