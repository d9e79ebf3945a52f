"""Effects and authority: what functions may not do, and what the clauses of a tool may say."""

from __future__ import annotations

from typing import Any

from ..limits import LIMITS
from . import tree
from .literals import OutOfRange, duration
from .names import Declared, report_duplicates

#: what a tool can require; the manifest of the project grants it
GRANTS: tuple[str, ...] = ("network", "filesystem.read", "filesystem.write", "process", "environment")
EFFECTS: tuple[str, ...] = ("none", "read", "write")

#: for the help of a problem
FUNCTION_STATEMENTS = "`let var set give if when for repeat break continue require fail`"

_EFFECT_STATEMENTS: dict[type, str] = {
    tree.CallLine: "call", tree.Show: "show", tree.Stop: "stop", tree.Attempt: "attempt",
}  # fmt: skip


def effect_word(statement: tree.Statement) -> str | None:
    """The word of a statement that functions may not have; None for all others."""
    if isinstance(statement, (tree.Let, tree.Set, tree.Give)) and isinstance(statement.value, tree.Call):
        return "call"
    return _EFFECT_STATEMENTS.get(type(statement))


def tool_entry(declared: Declared) -> dict[str, Any]:
    """Check the clauses of a tool and make what AIR says of them."""
    node = declared.node
    assert isinstance(node, tree.ToolDecl)
    unit = declared.unit
    report_duplicates(unit, node.requires, "grant")
    report_duplicates(unit, node.secrets, "secret")
    for grant in node.requires:
        if grant.text not in GRANTS:
            nearest = unit.problems.near(grant.text, GRANTS)
            unit.problems.add(
                "TB5003", f"there is no grant `{grant.text}`", unit.source, grant.span,
                f"did you mean `{nearest}`?" if nearest else "",
                help=None if nearest else "the grants are " + ", ".join(f"`{each}`" for each in GRANTS),
                candidates=(nearest,) if nearest else GRANTS,
            )  # fmt: skip
    if node.effect is None and (node.requires or node.secrets):
        holds = "requires a grant" if node.requires else "holds a secret"
        unit.problems.add(
            "TB5002", f"`{declared.name}` {holds} and does not state its effect", unit.source, node.name.span,
            "add `effect none`, `effect read` or `effect write`", candidates=EFFECTS,
        )  # fmt: skip
    entry: dict[str, Any] = {
        "requires": sorted(grant.text for grant in node.requires),
        "secrets": [secret.text for secret in node.secrets],
        "effect": "none" if node.effect is None else node.effect.text,
    }
    if node.effect is not None and node.effect.text not in EFFECTS:
        unit.problems.add(
            "TB5002", f"there is no effect `{node.effect.text}`", unit.source, node.effect.span,
            "write `none`, `read` or `write`", candidates=EFFECTS,
        )  # fmt: skip
    if node.timeout is not None:
        entry["timeout_ms"] = _timeout(declared, node.timeout)
    return entry


def _timeout(declared: Declared, node: tree.Literal) -> int:
    limit = LIMITS["handler_timeout_ms"]
    unit = declared.unit
    try:
        milliseconds = int(duration(node.value).total_seconds() * 1000)
    except OutOfRange:
        milliseconds = limit.highest + 1
    if not limit.lowest <= milliseconds <= limit.highest:
        unit.problems.add("TB4010", "a time-out is longer than nothing and at most 24 hours", unit.source, node.span)
    return milliseconds
