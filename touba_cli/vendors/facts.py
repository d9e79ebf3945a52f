"""What vendors accept of JSON Schema: one dated table, plain data.

A fact says what one dialect does with keywords, formats or sizes, where that was read and when. Printers, lint and
``docs/vendors.md`` are driven by this table: when a vendor changes its mind, a row changes here.

Dialects: ``openai`` and ``anthropic`` are what these vendors enforce (strict tools and structured answers); ``gemini``
is the JSON Schema of its tools and answers; Ollama has two, because it reads the schema of a tool into fixed
structures (``ollama-tool``) and makes a grammar of the schema of an answer (``ollama-output``).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: what happens to a keyword: it is sent as it is; it becomes words in the description; it is left out
KEPT, DESCRIBED, DROPPED = "kept", "described", "dropped"
#: what a printer does to the shape; a bound on size; something that one report says
RULE, LIMIT, HINT = "rule", "limit", "hint"

DIALECTS = ("openai", "anthropic", "gemini", "ollama-tool", "ollama-output")


class Source:
    """Where a fact was read, and when (year and month)."""

    __slots__ = ("place", "read")

    def __init__(self, place: str, read: str):
        self.place = place
        self.read = read


SOURCES = {
    "openai guide": Source("developers.openai.com/api/docs/guides/structured-outputs", "2026-07"),
    "openai openapi": Source("github.com/openai/openai-openapi openapi.json at f85dbe2", "2026-07"),
    "openai field": Source("zenn.dev/nicopin/scraps/a8d8f53f5faebb", "2026-07"),
    "pydantic-ai openai": Source("pydantic-ai-slim 2.68.0 pydantic_ai/profiles/openai.py", "2026-11"),
    "anthropic guide": Source("platform.claude.com/docs/en/build-with-claude/structured-outputs", "2026-07"),
    "anthropic sdk": Source("anthropic 2.14.0 anthropic/lib/_parse/_transform.py", "2026-11"),
    "anthropic tools": Source("github.com/anthropics/skills skills/claude-api/shared/tool-use-concepts.md", "2026-07"),
    "anthropic field": Source("github.com/opentokenz/mcpx issue 28", "2026-07"),
    "pydantic-ai anthropic": Source("pydantic-ai-slim 2.68.0 models/_anthropic_schema_limits.py", "2026-11"),
    "gemini sdk": Source("google-genai 3.6.1 google/genai/types.py", "2026-11"),
    "pydantic-ai gemini": Source("pydantic-ai-slim 2.68.0 pydantic_ai/profiles/google.py", "2026-11"),
    "ollama types": Source("github.com/ollama/ollama api/types.go at fb3076099", "2026-07"),
    "llama.cpp": Source("github.com/ggml-org/llama.cpp grammars/README.md", "2026-07"),
}


class Fact:
    """One row: ``subjects`` are keywords, formats or the name of a limit, ``value`` the figure of a limit."""

    __slots__ = ("dialect", "note", "source", "status", "subjects", "value")

    def __init__(
        self, dialect: str, subjects: tuple[str, ...], status: str, source: str, note: str = "", value: Any = None
    ):
        self.dialect = dialect
        self.subjects = subjects
        self.status = status
        self.source = source
        self.note = note
        self.value = value


_SHAPE = ("type", "enum", "description", "properties", "required")
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_LENGTHS = ("minLength", "maxLength")
#: rules that no vendor enforces; the values are checked where they arrive
_LOGIC = ("not", "if", "then", "else", "dependentRequired", "dependentSchemas")
_REST = (
    "patternProperties", "propertyNames", "minProperties", "maxProperties", "unevaluatedProperties",
    "unevaluatedItems", "contains", "minContains", "maxContains",
)  # fmt: skip
_NOTES = (
    "title", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment", "$schema", "$id",
    "discriminator", "contentEncoding", "contentMediaType", "contentSchema",
)  # fmt: skip

FACTS = (
    # --- OpenAI: strict function tools and structured answers -------------------------------------------------------
    Fact("openai", (*_SHAPE, "const", "anyOf", "items", "$defs", "$ref", "additionalProperties"), KEPT, "openai guide"),
    Fact("openai", (*_NUMBERS, "pattern", "format", "minItems", "maxItems"), KEPT, "openai guide"),
    Fact("openai", (*_LENGTHS, "uniqueItems"), DESCRIBED, "pydantic-ai openai", "not counted on in strict mode"),
    Fact("openai", _REST, DROPPED, "pydantic-ai openai"),
    Fact("openai", _LOGIC, DROPPED, "openai guide", "refused by the vendor"),
    Fact("openai", _NOTES, DROPPED, "openai guide", "`default` is refused by the vendor"),
    Fact("openai", ("root",), RULE, "openai guide", "an object that is no anyOf; anything else is put in an envelope"),
    Fact("openai", ("required",), RULE, "openai guide", "names every property; an optional one may be null instead"),
    Fact("openai", ("additionalProperties",), RULE, "openai guide", "false on every object, so there are no maps"),
    Fact("openai", ("$ref",), RULE, "openai guide", "has no neighbours; a reference with some is written out"),
    Fact("openai", ("oneOf",), RULE, "openai guide", "refused; written as anyOf"),
    Fact("openai", ("allOf",), RULE, "openai guide", "refused; merged"),
    Fact("openai", ("items",), RULE, "pydantic-ai openai", "required and typed; there are no tuples"),
    Fact("openai", ("pattern",), RULE, "openai guide", "without look-around; such a pattern is described"),
    Fact("openai", ("anyOf",), HINT, "openai field", "objects of one anyOf whose first keys are equal were refused"),
    Fact("openai", ("properties",), LIMIT, "openai guide", "properties in one schema", 5000),
    Fact("openai", ("depth",), LIMIT, "openai guide", "objects inside each other", 10),
    Fact("openai", ("characters",), LIMIT, "openai guide", "characters of names, enum and const values", 120_000),
    Fact("openai", ("enum values",), LIMIT, "openai guide", "enum values in one schema", 1000),
    Fact("openai", ("large enum",), LIMIT, "openai guide", "characters of a text enum of more than 250", 15_000),
    Fact("openai", ("name",), LIMIT, "openai openapi", "characters of a function's name (letters, digits, _, -)", 128),
    Fact("openai", ("format name",), LIMIT, "openai openapi", "characters of a format's name, same alphabet", 64),
    # --- Anthropic: strict tools and output_config.format -----------------------------------------------------------
    Fact("anthropic", (*_SHAPE, "const", "anyOf", "items", "$defs", "$ref", "additionalProperties", "format"), KEPT,
         "anthropic guide"),
    Fact("anthropic", ("minItems",), KEPT, "anthropic guide", "0 and 1 only; other values are described"),
    Fact("anthropic", (*_NUMBERS, *_LENGTHS, "maxItems", "uniqueItems"), DESCRIBED, "anthropic guide",
         "refused by the vendor"),
    Fact("anthropic", ("pattern",), DESCRIBED, "anthropic sdk", "accepted by some, stripped by the vendor's own SDK"),
    Fact("anthropic", (*_REST, *_LOGIC), DROPPED, "anthropic guide"),
    Fact("anthropic", _NOTES, DROPPED, "anthropic sdk"),
    Fact("anthropic", ("root",), RULE, "anthropic field", "an object without oneOf, anyOf, allOf, in plain tools too"),
    Fact("anthropic", ("required",), RULE, "anthropic guide", "an optional property is left out of it"),
    Fact("anthropic", ("properties",), RULE, "anthropic guide", "required ones come first in the answer"),
    Fact("anthropic", ("additionalProperties",), RULE, "anthropic guide", "false on every object; there are no maps"),
    Fact("anthropic", ("oneOf",), RULE, "anthropic sdk", "written as anyOf"),
    Fact("anthropic", ("allOf",), RULE, "anthropic guide", "accepted; merged all the same"),
    Fact("anthropic", ("enum",), RULE, "anthropic guide",
         "texts, numbers, true, false and null only; capital letters of the answer may differ"),
    Fact("anthropic", ("optional parameters",), LIMIT, "anthropic guide", "in all strict schemas of a request", 24),
    Fact("anthropic", ("union parameters",), LIMIT, "anthropic guide",
         "with anyOf or several types, in all strict schemas of a request", 16),
    Fact("anthropic", ("strict tools",), LIMIT, "anthropic guide", "in a request", 20),
    Fact("anthropic", ("counting",), HINT, "pydantic-ai anthropic", "what a $ref leads to is, as seen, not counted"),
    Fact("anthropic", ("name",), LIMIT, "anthropic tools", "characters of a tool's name (letters, digits, _, -)", 128),
    # --- Gemini: parametersJsonSchema and responseJsonSchema --------------------------------------------------------
    Fact("gemini", (*_SHAPE, "title", "format", "items", "prefixItems", "minItems", "maxItems", "minimum", "maximum",
                    "anyOf", "additionalProperties", "$defs", "$ref"), KEPT, "gemini sdk"),
    Fact("gemini", ("exclusiveMinimum", "exclusiveMaximum", "multipleOf", *_LENGTHS, "pattern", "uniqueItems"),
         DESCRIBED, "gemini sdk", "keywords that are not listed are ignored without a word"),
    Fact("gemini", (*_REST, *_LOGIC), DROPPED, "gemini sdk"),
    Fact("gemini", tuple(each for each in _NOTES if each != "title"), DROPPED, "pydantic-ai gemini"),
    Fact("gemini", ("root",), RULE, "gemini sdk", "an object for tools; answers that are none are put in an envelope"),
    Fact("gemini", ("required",), RULE, "gemini sdk", "an optional property is left out of it"),
    Fact("gemini", ("const",), RULE, "pydantic-ai gemini", "written as an enum of one"),
    Fact("gemini", ("enum",), RULE, "gemini sdk", "texts and numbers only; true and false become a type"),
    Fact("gemini", ("oneOf",), RULE, "gemini sdk", "read as anyOf; written so"),
    Fact("gemini", ("allOf",), RULE, "pydantic-ai gemini", "not known; merged"),
    Fact("gemini", ("$ref",), RULE, "gemini sdk", "has no neighbours; a reference with some is written out"),
    Fact("gemini", ("name",), LIMIT, "gemini sdk", "characters of a function's name: letters, digits and _ . : -", 128),
    # --- Ollama: tools of /api/chat ---------------------------------------------------------------------------------
    Fact("ollama-tool", (*_SHAPE, "anyOf", "items"), KEPT, "ollama types", "nothing else reaches the model"),
    Fact("ollama-tool", (*_NUMBERS, *_LENGTHS, "pattern", "format", "minItems", "maxItems", "uniqueItems"), DESCRIBED,
         "ollama types"),
    Fact("ollama-tool", (*_REST, *_LOGIC), DROPPED, "ollama types"),
    Fact("ollama-tool", _NOTES, DROPPED, "ollama types"),
    Fact("ollama-tool", ("root",), RULE, "ollama types", "an object"),
    Fact("ollama-tool", ("required",), RULE, "ollama types", "an optional property is left out of it"),
    Fact("ollama-tool", ("$ref",), RULE, "ollama types", "vanishes inside a property; written out"),
    Fact("ollama-tool", ("const",), RULE, "ollama types", "written as an enum of one"),
    Fact("ollama-tool", ("oneOf",), RULE, "ollama types", "written as anyOf"),
    Fact("ollama-tool", ("allOf",), RULE, "ollama types", "merged"),
    # --- Ollama: format of /api/chat --------------------------------------------------------------------------------
    Fact("ollama-output", (*_SHAPE, "const", "anyOf", "items", "additionalProperties", "minItems", "maxItems",
                           *_LENGTHS), KEPT, "llama.cpp"),
    Fact("ollama-output", ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), KEPT, "llama.cpp",
         "whole numbers only; described for others"),
    Fact("ollama-output", ("pattern",), KEPT, "llama.cpp", "anchored at both ends; described otherwise"),
    Fact("ollama-output", ("format",), KEPT, "llama.cpp"),
    Fact("ollama-output", ("multipleOf", "uniqueItems"), DESCRIBED, "llama.cpp"),
    Fact("ollama-output", (*_REST, *_LOGIC), DROPPED, "llama.cpp", "skipped without a word"),
    Fact("ollama-output", _NOTES, DROPPED, "llama.cpp"),
    Fact("ollama-output", ("root",), RULE, "llama.cpp", "anything; put in an envelope where it is no object"),
    Fact("ollama-output", ("required",), RULE, "llama.cpp", "an optional property is left out of it"),
    Fact("ollama-output", ("$ref",), RULE, "llama.cpp", "broken when nested; written out"),
    Fact("ollama-output", ("oneOf",), RULE, "llama.cpp", "written as anyOf"),
    Fact("ollama-output", ("allOf",), RULE, "llama.cpp", "merged"),
)  # fmt: skip

#: dialect → values of `format` that are enforced; the others are described
FORMATS = {
    "openai": ("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"),
    "anthropic": ("date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"),
    "gemini": ("date-time", "date", "time"),
    "ollama-tool": (),
    "ollama-output": ("date-time", "date", "time", "uuid"),
}


def limit(dialect: str, subject: str) -> int | None:
    """The figure of a limit; None where the vendor states none."""
    for fact in FACTS:
        if fact.dialect == dialect and fact.status == LIMIT and subject in fact.subjects:
            return int(fact.value)
    return None


def keywords(dialect: str) -> dict[str, str]:
    """Keyword → what the dialect does with it: kept, described or dropped."""
    found: dict[str, str] = {}
    for fact in FACTS:
        if fact.dialect == dialect and fact.status in (KEPT, DESCRIBED, DROPPED):
            found.update(dict.fromkeys(fact.subjects, fact.status))
    return found
