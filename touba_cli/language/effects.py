"""Effects: what functions may not do."""

from __future__ import annotations

from . import tree

#: for the help of a problem
FUNCTION_STATEMENTS = "`let var set give if when for repeat break continue require fail`"

_EFFECT_WORDS: dict[type, str] = {
    tree.Call: "call", tree.Ask: "ask", tree.Review: "human.review", tree.ParallelEach: "parallel for each",
    tree.Show: "show", tree.Approve: "human.approve", tree.Parallel: "parallel", tree.Stop: "stop",
    tree.Attempt: "attempt", tree.Compensate: "compensate",
}  # fmt: skip


def effect_word(statement: tree.Statement) -> str | None:
    """The word of a statement that functions may not have; None for all others."""
    if isinstance(statement, (tree.Let, tree.Set, tree.Give)):
        return _EFFECT_WORDS.get(type(statement.value))
    if isinstance(statement, tree.EffectLine):
        return _EFFECT_WORDS[type(statement.effect)]
    return _EFFECT_WORDS.get(type(statement))
