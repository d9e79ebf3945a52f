"""The words of the language, each table once.

A *hard* word never names a value. Every other word is a word only at its place: at the beginning of a line in the kind
of block that knows it, or in its place within a clause. The parser's first-word tables have exactly these keys.
"""

from __future__ import annotations

from ..documents import EFFECTS, MEMORY_SCOPES, QUOTA_PERIODS

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

#: the hard words with which an effect begins: it is a whole line or a whole right side
EFFECT_STARTS: frozenset[str] = frozenset(("call", "ask", "human", "parallel"))

#: first words of lines outside every declaration
MODULE_WORDS: tuple[str, ...] = (
    "module", "import", "from", "type", "choice", "function", "tool", "memory", "agent", "skill", "strategy", "trigger",
    "test",
)  # fmt: skip

#: those of them that begin a declaration with a block
DECLARATION_WORDS: tuple[str, ...] = MODULE_WORDS[3:]

#: first words of lines in a function or strategy
CALLABLE_WORDS: tuple[str, ...] = ("takes", "gives", "do")

#: first words of lines in a skill
SKILL_WORDS: tuple[str, ...] = ("takes", "gives", "callable_by", "do")

#: first words of lines in a tool
TOOL_WORDS: tuple[str, ...] = (
    "takes", "gives", "requires", "secret", "reads", "writes", "effect", "compensate", "timeout",
)  # fmt: skip

#: first words of lines in an agent
AGENT_WORDS: tuple[str, ...] = (
    "takes", "gives", "responsibility", "uses", "callable_by", "allows", "steps", "provider_calls",
)  # fmt: skip

#: first words of lines in a memory
MEMORY_WORDS: tuple[str, ...] = ("holds", "key", "scope")

#: first words of lines in a trigger
TRIGGER_WORDS: tuple[str, ...] = ("on", "starts", "payload", "quota")

#: first words of lines in a test
TEST_WORDS: tuple[str, ...] = ("given", "run", "expect")

#: first words of lines under `given agent … decides`
DECISION_WORDS: tuple[str, ...] = ("call", "answer")

#: what a reference names: `tool FindOrder`
REFERENCE_WORDS: tuple[str, ...] = ("tool", "function", "skill", "strategy", "agent")

#: first words of lines in a block of statements
STATEMENT_WORDS: tuple[str, ...] = (
    "let", "var", "set", "give", "if", "when", "for", "repeat", "break", "continue", "call", "show", "ask", "human",
    "parallel", "attempt", "compensate", "require", "stop", "fail",
)  # fmt: skip

#: words that only continue a statement, and where they stand
CONTINUATIONS: dict[str, str] = {
    "else": "`else` stands after the block of an `if`, at the column of the `if`",
    "on": "`on failure` stands after the block of an `attempt`, at the column of the `attempt`",
    "is": "`is` begins an arm of a `when` and stands deeper than the `when`",
    "branch": "`branch` stands in a `parallel as name` and deeper than it",
}

#: first words of lines in a `when`
ARM_WORDS: tuple[str, ...] = ("is", "else")

CONSTRAINT_WORDS: tuple[str, ...] = ("length", "min", "max", "above", "below", "matching", "format")

GENERIC_WORDS: tuple[str, ...] = ("List", "Map", "Optional", "Outcome")

EFFECT_WORDS = EFFECTS

SCOPE_WORDS = MEMORY_SCOPES

SOURCE_WORDS: tuple[str, ...] = ("schedule", "webhook", "event")

PERIOD_WORDS = QUOTA_PERIODS

APPROVAL_WORDS: tuple[str, ...] = ("approve", "reject")

REVIEW_WORDS: tuple[str, ...] = ("accept", "reject")

STATUS_WORDS: tuple[str, ...] = ("success", "stopped", "failed", "cancelled")

EXPECT_WORDS: tuple[str, ...] = ("status", "result", "calls", "no")

#: how a unit of time is written → the unit in the plural
UNITS: dict[str, str] = {
    "second": "seconds", "seconds": "seconds", "minute": "minutes", "minutes": "minutes",
    "hour": "hours", "hours": "hours", "day": "days", "days": "days",
}  # fmt: skip
