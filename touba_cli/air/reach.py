"""What a callable can reach: through calls, functions, branches of groups, and what agents use."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def reachable(callables: dict[str, dict[str, Any]], entry: str) -> set[str]:
    """References of everything that an entry can reach, itself included.

    Parameters:
        callables: AIR's `callables`, known to be sound.
        entry: one of them.

    >>> sorted(reachable({"agent:a/A": {"uses": ["tool:a/T"]}, "tool:a/T": {}, "tool:a/U": {}}, "agent:a/A"))
    ['agent:a/A', 'tool:a/T']
    """
    found = {entry}
    waiting = [entry]
    while waiting:
        declared = callables[waiting.pop()]
        for ref in (*declared.get("uses", ()), *_mentioned(declared.get("code", ()), callables)):
            if ref not in found:
                found.add(ref)
                waiting.append(ref)
    return found


def _mentioned(code: Any, callables: dict[str, dict[str, Any]]) -> set[str]:
    """References of callables that stand in code where code names them: `call`, `apply`, groups."""
    found: set[str] = set()
    waiting: list[Any] = [code]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, (list, tuple)) or not node:
            continue
        name = node[0]
        if name == "apply":
            found.add(node[1])
        elif name == "call":
            found.add(node[3])
        elif name == "parallel":
            found.update(branch[1] for branch in node[4])
        elif name == "parallel_each":
            found.add(node[6])
        if name not in ("text", "field"):
            waiting.extend(node)
    return {ref for ref in found if isinstance(ref, str) and ref in callables}
