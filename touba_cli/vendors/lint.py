"""What a vendor would refuse, or ignore, in a schema that is about to be sent.

The lint knows nothing of the printers: it reads the facts again, so that a mistake of a printer shows.
"""

from __future__ import annotations

from .facts import DIALECTS, FORMATS, KEPT, keywords, limit
from .merge import ROOT_ONLY, SchemaUnsupported, resolve, token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from .merge import Schema
    from .printers import Printed

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


class Problem:
    """Something that the vendor refuses (or ignores without a word): where, which rule, and a sentence."""

    __slots__ = ("path", "rule", "sentence")

    def __init__(self, path: str, rule: str, sentence: str):
        self.path = path
        self.rule = rule
        self.sentence = sentence

    def __repr__(self) -> str:
        return f"Problem({self.path!r}, {self.rule!r})"

    def __str__(self) -> str:
        return f"at {self.path or 'the root'}: {self.sentence}"


def lint_schema(vendor: str, schema: Any, *, use: str = "tool", strict: bool = True) -> list[Problem]:
    """The problems of a schema that is to be sent as it is.

    ``strict=False`` checks only what breaks a request in any mode: references that lead nowhere and a root that is no
    plain object.

    >>> lint_schema("openai", {"type": "object", "properties": {"a": {"$ref": "#/$defs/Gone"}}}, strict=False)
    [Problem('/properties/a', '$ref')]
    """
    dialect = f"ollama-{use}" if vendor == "ollama" else vendor
    if dialect not in DIALECTS:
        raise ValueError("an unknown vendor, or a use that is neither tool nor output")
    if not isinstance(schema, dict):
        return [Problem("", "root", "the schema is no object")]
    problems = _root(dialect, schema, use) + _references(schema)
    if strict and not problems:
        problems = [*_nodes(dialect, schema), *_sizes(dialect, schema)]
    return problems


def lint_name(vendor: str, name: str) -> Problem | None:
    """What is wrong with the name of a tool; None when nothing is."""
    most = limit("ollama-tool" if vendor == "ollama" else vendor, "name")
    extra = {"gemini": ".:"}.get(vendor, "")
    if most is None or (0 < len(name) <= most and all(c in _LETTERS or c in extra for c in name)):
        return None
    return Problem("", "name", f"a name has 1 to {most} letters, digits, _ and -{' and . and :' if extra else ''}")


def _root(dialect: str, schema: Schema, use: str) -> list[Problem]:
    if dialect == "ollama-output":
        return []
    unions = [each for each in ("anyOf", "oneOf", "allOf") if each in schema]
    if schema.get("type") != "object" and (use == "tool" or dialect != "gemini"):
        return [Problem("", "root", "the root is no object")]
    if unions and dialect in ("openai", "anthropic"):
        return [Problem("", "root", f"the root has `{unions[0]}`")]
    return []


def _walk(schema: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, Schema, int]]:
    """Every schema in a schema, with its place and how many objects it is in; definitions begin at the top again."""
    if not isinstance(schema, dict):
        return
    yield path, schema, depth
    inner = depth + (schema.get("type") == "object" or "properties" in schema)
    for keyword in ("properties", "$defs", "definitions"):
        members = schema.get(keyword)
        for name, member in members.items() if isinstance(members, dict) else ():
            yield from _walk(member, f"{path}/{keyword}{token(name)}", 0 if keyword in ROOT_ONLY else inner)
    for keyword in ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"):
        yield from _walk(schema.get(keyword), f"{path}/{keyword}", inner)
    for keyword in ("anyOf", "oneOf", "allOf", "prefixItems"):
        branches = schema.get(keyword)
        for place, branch in enumerate(branches if isinstance(branches, list) else ()):
            yield from _walk(branch, f"{path}/{keyword}/{place}", depth if keyword != "prefixItems" else inner)


def _references(schema: Schema) -> list[Problem]:
    problems = []
    for path, node, _ in _walk(schema):
        if "$ref" in node:
            try:
                resolve(schema, node["$ref"], path)
            except SchemaUnsupported as fault:
                problems.append(Problem(path, "$ref", fault.reason))
    return problems


def _nodes(dialect: str, schema: Schema) -> Iterator[Problem]:
    known = keywords(dialect)
    for path, node, _ in _walk(schema):
        for keyword in node:
            if known.get(keyword) != KEPT:
                yield Problem(path, keyword, f"`{keyword}` is refused or ignored")
        if "$ref" in node:
            if len(node.keys() - set(ROOT_ONLY)) > 1:
                yield Problem(path, "$ref", "a reference has neighbours")
            continue
        if not {"type", "anyOf"} & node.keys():
            if dialect in ("openai", "anthropic"):
                yield Problem(path, "type", "a part without a type")
            continue
        if node.get("format", "date-time") not in (*FORMATS[dialect], "date-time"):
            yield Problem(path, "format", "a format that is not enforced")
        kinds = node.get("type")
        if kinds == "object" or (isinstance(kinds, list) and "object" in kinds):
            yield from _object(dialect, node, path)
        if kinds == "array" and dialect in ("openai", "anthropic") and not isinstance(node.get("items"), dict):
            yield Problem(path, "items", "a list without a type of its items")


def _object(dialect: str, node: Schema, path: str) -> Iterator[Problem]:
    members, required = node.get("properties", {}), node.get("required", [])
    if dialect in ("openai", "anthropic") and node.get("additionalProperties") is not False:
        yield Problem(path, "additionalProperties", "an object that is not closed")
    if dialect == "openai" and set(required) != set(members):
        yield Problem(path, "required", "a property that is not required")
    if not set(required) <= set(members):
        yield Problem(path, "required", "a required member without a schema")


def _sizes(dialect: str, schema: Schema) -> Iterator[Problem]:
    counts = measure(schema)
    for subject, count in counts.items():
        most = limit(dialect, subject)
        if most is not None and count > most:
            yield Problem("", subject, f"{count} {subject}, and the vendor takes {most}")


def measure(schema: Schema) -> dict[str, int]:
    """Sizes of a schema, by the names that the limits have."""
    counts = dict.fromkeys(
        ("properties", "depth", "characters", "enum values", "large enum", "optional parameters", "union parameters"), 0
    )
    for path, node, depth in _walk(schema):
        members = node.get("properties", {})
        values = [*node.get("enum", ()), *([node["const"]] if "const" in node else ())]
        texts = [value for value in values if isinstance(value, str)]
        counts["properties"] += len(members)
        counts["depth"] = max(counts["depth"], depth + bool(members))
        counts["characters"] += sum(map(len, members)) + sum(map(len, texts)) + sum(map(len, node.get("$defs", ())))
        counts["enum values"] += len(node.get("enum", ()))
        if len(texts) > 250:
            counts["large enum"] = max(counts["large enum"], sum(map(len, texts)))
        if not path.startswith(("/$defs", "/definitions")):  # what a reference leads to was not seen to be counted
            for name, member in members.items():
                counts["optional parameters"] += name not in node.get("required", ())
                counts["union parameters"] += "anyOf" in member or isinstance(member.get("type"), list)
    return counts


def plan_strict(
    vendor: str, tools: Sequence[Printed | None], output: Printed | None = None
) -> tuple[list[bool], list[Problem]]:
    """Which of the tools of a request are sent as strict, so that the limits of the whole request hold.

    Tools come in the order of their declaration, None for one that is not strict anyway; the first ones keep their
    strictness. An answer's schema counts before the tools.

    Returns:
        One yes or no for each tool, and a problem for each limit because of which a tool lost its strictness.

    >>> plan_strict("anthropic", [])
    ([], [])
    """
    subjects = [each for each in ("optional parameters", "union parameters", "strict tools") if limit(vendor, each)]
    used = dict.fromkeys(subjects, 0)
    if output is not None:
        for subject, count in measure(output.schema).items():
            if subject in used:
                used[subject] += count
    plan: list[bool] = []
    problems: dict[str, Problem] = {}
    for tool in tools:
        if tool is None:
            plan.append(False)
            continue
        sizes = {**measure(tool.schema), "strict tools": 1}
        broken = [each for each in subjects if used[each] + sizes[each] > (limit(vendor, each) or 0)]
        plan.append(not broken)
        if not broken:
            used = {each: used[each] + sizes[each] for each in subjects}
        for each in broken:
            problems.setdefault(each, Problem("", each, f"more than {limit(vendor, each)} {each} in one request"))
    return plan, list(problems.values())
