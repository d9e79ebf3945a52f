"""The words of the language, each table once.

A *hard* word never names a value. Every other word is a word only at its place: at the beginning of a line in the kind
of block that knows it, or in its place within a clause. The parser's first-word tables have exactly these keys.
"""

from __future__ import annotations

#: never the name of a value
HARD_WORDS: frozenset[str] = frozenset(
    [
        "and",
        "or",
        "not",
        "is",
        "in",
        "if",
        "else",
        "for",
        "with",
        "div",
        "mod",
        "true",
        "false",
        "none",
        "present",
        "absent",
        "otherwise",
        "date",
        "datetime",
        "call",
        "ask",
        "parallel",
        "human",
        "raw",
    ]
)

#: first words of lines outside every declaration
MODULE_WORDS: tuple[str, ...] = ("module", "import", "from", "type", "choice", "function", "tool", "skill", "strategy")

#: those of them that begin a declaration with a block
DECLARATION_WORDS: tuple[str, ...] = ("type", "choice", "function", "tool", "skill", "strategy")

#: first words of lines in a function, skill or strategy
CALLABLE_WORDS: tuple[str, ...] = ("takes", "gives", "do")

#: first words of lines in a tool
TOOL_WORDS: tuple[str, ...] = ("takes", "gives", "requires", "secret", "effect", "timeout")

#: first words of lines in a block of statements
STATEMENT_WORDS: tuple[str, ...] = (
    "let", "var", "set", "give", "if", "when", "for", "repeat", "break", "continue", "call", "show", "attempt",
    "require", "stop", "fail",
)  # fmt: skip

#: words that only continue a statement, and where they stand
CONTINUATIONS: dict[str, str] = {
    "else": "`else` stands after the block of an `if`, at the column of the `if`",
    "on": "`on failure` stands after the block of an `attempt`, at the column of the `attempt`",
    "is": "`is` begins an arm of a `when` and stands deeper than the `when`",
}

#: first words of lines in a `when`
ARM_WORDS: tuple[str, ...] = ("is", "else")

CONSTRAINT_WORDS: tuple[str, ...] = ("length", "min", "max", "above", "below", "matching", "format")

GENERIC_WORDS: tuple[str, ...] = ("List", "Map", "Optional")

EFFECT_WORDS: tuple[str, ...] = ("none", "read", "write")

#: how a unit of time is written → the unit in the plural
UNITS: dict[str, str] = {
    "second": "seconds", "seconds": "seconds", "minute": "minutes", "minutes": "minutes",
    "hour": "hours", "hours": "hours", "day": "days", "days": "days",
}  # fmt: skip

#: words of the full language that this version does not have, by the place where they would stand
LATER_WORDS: dict[str, frozenset[str]] = {
    "module": frozenset(("agent", "memory", "trigger", "test")),
    "callable": frozenset(("callable_by",)),
    "tool": frozenset(("reads", "writes", "compensate")),
    "statement": frozenset(("ask", "human", "parallel", "compensate")),
    "expression": frozenset(("ask", "human", "parallel")),
    "effect": frozenset(("key",)),
}
