"""Vendors' dialects of JSON Schema: a dated table of facts, printers that say what they lose, and lint.

Plain data and pure functions without imports, so that the compiler, the command line and the SDK can all use them.

>>> printed = print_schema("openai", {"type": "object", "properties": {"name": {"type": "string", "maxLength": 40}},
...                                   "required": ["name"]})
>>> printed.schema["additionalProperties"], printed.losses
(False, (Loss('/properties/name', 'maxLength', 'described'),))
"""

from __future__ import annotations

from .facts import (
    DESCRIBED,
    DIALECTS,
    DROPPED,
    FACTS,
    FORMATS,
    HINT,
    KEPT,
    LIMIT,
    RULE,
    SOURCES,
    Fact,
    Source,
    keywords,
    limit,
)
from .lint import Problem, lint_name, lint_schema, measure, plan_strict
from .merge import SchemaUnsupported
from .printers import Loss, Printed, print_schema

#: the vendors whose dialects are known
VENDORS = ("openai", "anthropic", "gemini", "ollama")

__all__ = [
    "DESCRIBED",
    "DIALECTS",
    "DROPPED",
    "FACTS",
    "FORMATS",
    "HINT",
    "KEPT",
    "LIMIT",
    "RULE",
    "SOURCES",
    "VENDORS",
    "Fact",
    "Loss",
    "Printed",
    "Problem",
    "SchemaUnsupported",
    "Source",
    "keywords",
    "limit",
    "lint_name",
    "lint_schema",
    "measure",
    "plan_strict",
    "print_schema",
]
