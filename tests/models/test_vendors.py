"""Vendors' dialects: what is printed, what is lost, what is refused. Rows E1 to E16 are those of the agent study."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from touba_cli import vendors
from touba_cli.values.check import TypeTable
from touba_cli.vendors import SchemaUnsupported, lint_schema, plan_strict, print_schema

GOLDEN = Path(__file__).parent / "golden"
STRICT = ("openai", "anthropic")
ALL = vendors.VENDORS

#: the types of a program, as a tool's input and as an answer
TABLE = TypeTable(
    {
        "type:shop/Amount": {"kind": "alias", "of": ["is", "Decimal", [["min", ["dec", "0"]]]]},
        "type:shop/Name": {"kind": "alias", "of": ["is", "Text", [["length", 1, 40]]]},
        "type:shop/Line": {
            "kind": "record",
            "doc": "One line of an order.",
            "fields": [
                {"name": "name", "type": "type:shop/Name", "doc": "What is ordered."},
                {"name": "amount", "type": "type:shop/Amount"},
                {"name": "count", "type": ["is", "Int", [["min", ["int", 1]], ["max", ["int", 99]]]]},
            ],
        },
        "type:shop/State": {
            "kind": "choice",
            "variants": [
                {"name": "open", "fields": []},
                {"name": "paid", "fields": []},
                {"name": "sent", "fields": [{"name": "on", "type": "Date"}]},
            ],
        },
        "type:shop/Order": {
            "kind": "record",
            "fields": [
                {"name": "lines", "type": ["List", "type:shop/Line"]},
                {"name": "note", "type": ["Optional", "Text"]},
                {"name": "state", "type": "type:shop/State"},
                {"name": "gift", "type": "Bool"},
            ],
        },
    }
)
ORDER = TABLE.json_schema("type:shop/Order")
#: a schema as the tools of other people have it
FOREIGN: dict[str, Any] = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {
        "query": {"type": "string", "minLength": 1, "maxLength": 200, "description": "Words to look for."},
        "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 10},
        "sort": {"anyOf": [{"type": "string", "enum": ["date", "name"]}, {"type": "null"}], "default": None},
        "site": {"type": "string", "format": "uri", "pattern": "^https://.*$"},
        "tags": {"type": "array", "items": {"$ref": "#/definitions/tag"}, "minItems": 2, "uniqueItems": True},
        "mode": {"const": "fast"},
        "where": {"allOf": [{"$ref": "#/definitions/place"}], "description": "Where to look."},
    },
    "required": ["query", "mode"],
    "definitions": {
        "tag": {"type": "string", "pattern": "^(?!x).*$"},
        "place": {
            "type": "object",
            "properties": {"lat": {"type": "number", "exclusiveMinimum": -90}, "lon": {"type": "number"}},
            "required": ["lat", "lon"],
        },
    },
}


def objects(**members: Any) -> dict[str, Any]:
    """A closed object that requires all its members."""
    return {"type": "object", "properties": members, "required": list(members), "additionalProperties": False}


def refused(vendor: str, schema: Any, **options: Any) -> SchemaUnsupported:
    with pytest.raises(SchemaUnsupported) as caught:
        print_schema(vendor, schema, **options)
    assert caught.value.vendor == vendor
    return caught.value


# --- golden schemas -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("use", ["tool", "output"])
@pytest.mark.parametrize("vendor", ALL)
@pytest.mark.parametrize(("name", "source"), [("order", ORDER), ("foreign", FOREIGN)], ids=["order", "foreign"])
def test_golden(name: str, source: dict[str, Any], vendor: str, use: str) -> None:
    printed = print_schema(vendor, source, use=use)
    shown = {
        "losses": [[loss.path, loss.keyword, loss.effect] for loss in printed.losses],
        "schema": printed.schema,
    }
    path = GOLDEN / f"{name}-{vendor}-{use}.json"
    if os.environ.get("TOUBA_WRITE_GOLDEN"):
        path.write_text(json.dumps(shown, indent=1, ensure_ascii=False) + "\n", "utf-8")
    assert json.loads(path.read_text("utf-8")) == shown
    assert lint_schema(vendor, printed.schema, use=use) == []


def test_every_golden_file_is_tested() -> None:
    assert len(list(GOLDEN.glob("*.json"))) == 2 * len(ALL) * 2


# --- the table ------------------------------------------------------------------------------------------------------


def test_every_fact_has_a_source_with_a_date() -> None:
    for fact in vendors.FACTS:
        source = vendors.SOURCES[fact.source]
        assert source.place
        year, month = map(int, source.read.split("-"))
        assert year >= 2026
        assert 1 <= month <= 12
        assert fact.dialect in vendors.DIALECTS
        assert (fact.status == vendors.LIMIT) == (fact.value is not None)


def test_no_keyword_has_two_fates() -> None:
    for dialect in vendors.DIALECTS:
        fates = [
            (subject, fact.status)
            for fact in vendors.FACTS
            if fact.dialect == dialect and fact.status in (vendors.KEPT, vendors.DESCRIBED, vendors.DROPPED)
            for subject in fact.subjects
        ]
        assert len(fates) == len({subject for subject, _ in fates}), dialect


# --- rows -----------------------------------------------------------------------------------------------------------

TREE = {
    "$ref": "#/$defs/Node",
    "$defs": {
        "Node": objects(value={"type": "integer"}, children={"type": "array", "items": {"$ref": "#/$defs/Node"}})
    },
}


@pytest.mark.parametrize("vendor", ALL)
def test_e1_one_type_twice_is_no_recursion_and_a_tree_is_refused(vendor: str) -> None:
    twice = objects(sender={"$ref": "#/$defs/P"}, receiver={"$ref": "#/$defs/P"})
    twice["$defs"] = {"P": objects(name={"type": "string"})}
    printed = print_schema(vendor, twice)
    assert lint_schema(vendor, printed.schema) == []
    jsonschema.validate({"sender": {"name": "a"}, "receiver": {"name": "b"}}, printed.schema)
    fault = refused(vendor, TREE)
    assert fault.reason == "a type that contains itself"
    optional = {"type": "object", "properties": {"next": {"$ref": "#"}}, "additionalProperties": False}
    assert refused(vendor, optional).reason == "a type that contains itself"


@pytest.mark.parametrize("vendor", ALL)
def test_e2_maps_and_lists_of_anything_are_never_silently_empty(vendor: str) -> None:
    mapping = objects(counts={"type": "object", "additionalProperties": {"type": "integer"}})
    bare = objects(items={"type": "array"})
    anything = objects(data={})
    for schema in (bare, anything):
        assert refused(vendor, schema).reason == "a part without a type"
    if vendor in STRICT or vendor == "ollama":
        assert "any members" in refused(vendor, mapping).reason
    else:
        assert print_schema(vendor, mapping).schema["properties"]["counts"]["additionalProperties"] == {
            "type": "integer"
        }
    if vendor in STRICT:
        for schema in (mapping, bare, anything):
            refused(vendor, schema, strict=False)
    else:
        for schema in (bare, anything):
            loose = print_schema(vendor, schema, strict=False)
            assert [loss.effect for loss in loose.losses] == ["widened"]


def test_e4_unions_are_counted_over_the_request_and_later_tools_give_way() -> None:
    def tool(number: int) -> Any:
        return print_schema("anthropic", objects(**{f"m{n}": {"type": ["string", "null"]} for n in range(number)}))

    plan, problems = plan_strict("anthropic", [tool(9), tool(8), tool(7)])
    assert plan == [True, False, True]
    assert [problem.rule for problem in problems] == ["union parameters"]
    assert plan_strict("anthropic", [tool(8), tool(8)]) == ([True, True], [])
    optional = print_schema(
        "anthropic", {"type": "object", "properties": {f"m{n}": {"type": "string"} for n in range(25)}}
    )
    assert plan_strict("anthropic", [optional])[0] == [False]
    assert plan_strict("anthropic", [tool(1)] * 21)[0] == [True] * 16 + [False] * 5
    assert plan_strict("anthropic", [print_schema("anthropic", objects())] * 21)[0] == [True] * 20 + [False]
    output = print_schema(
        "anthropic", objects(**{f"m{n}": {"type": ["string", "null"]} for n in range(10)}), use="output"
    )
    assert plan_strict("anthropic", [tool(7)], output)[0] == [False]
    assert plan_strict("openai", [tool(9), tool(9), tool(9)]) == ([True] * 3, [])


def test_e5_ollama_gets_references_written_out_and_is_warned_of_what_it_drops() -> None:
    schema = objects(
        place={"$ref": "#/$defs/Place"},
        code={"type": "string", "pattern": "^[A-Z]{2}$", "minLength": 2},
        kind={"const": "a"},
    )
    schema["$defs"] = {"Place": objects(lat={"type": "number", "minimum": -90})}
    printed = print_schema("ollama", schema)
    place = printed.schema["properties"]["place"]
    assert place["properties"]["lat"] == {"type": "number", "description": "Rules: minimum -90."}
    assert place["required"] == ["lat"]
    assert "$ref" not in json.dumps(printed.schema)
    assert printed.schema["properties"]["kind"] == {"type": "string", "enum": ["a"]}
    assert {(loss.path, loss.keyword) for loss in printed.losses} == {
        ("/properties/place/properties/lat", "minimum"),
        ("/properties/code", "pattern"),
        ("/properties/code", "minLength"),
    }
    answer = print_schema("ollama", schema, use="output").schema
    assert answer["properties"]["code"]["pattern"] == "^[A-Z]{2}$"


@pytest.mark.parametrize("vendor", ALL)
def test_e13_a_reference_without_its_definition_never_leaves(vendor: str) -> None:
    dangling = objects(a={"$ref": "#/$defs/Gone"})
    assert refused(vendor, dangling).reason == "a reference that points nowhere"
    assert [problem.rule for problem in lint_schema(vendor, dangling, strict=False)] == ["$ref"]
    whole = {**dangling, "$defs": {"Gone": {"type": "string"}}}
    assert lint_schema(vendor, whole, strict=False) == []
    printed = print_schema(vendor, whole).schema
    assert ("$ref" in json.dumps(printed)) == ("$defs" in printed)
    assert refused(vendor, objects(a={"$ref": "https://x.example/s.json"})).reason == "a reference that is not local"


@pytest.mark.parametrize("vendor", ALL)
def test_e14_writing_out_never_widens(vendor: str) -> None:
    refused(vendor, objects(a={"$ref": "#/$defs/Missing"}), strict=False)
    narrow = objects(a={"$ref": "#/$defs/E", "enum": ["a", "b"]})
    narrow["$defs"] = {"E": {"enum": ["a"]}}
    assert print_schema(vendor, narrow).schema["properties"]["a"]["enum"] == ["a"]
    nothing = objects(a={"$ref": "#/$defs/E", "enum": ["b"]})
    nothing["$defs"] = {"E": {"enum": ["a"]}}
    assert "no value fits" in refused(vendor, nothing).reason
    both = objects(a={"allOf": [{"type": "string", "pattern": "a"}, {"type": "string", "pattern": "b"}]})
    assert "two rules" in refused(vendor, both).reason


def test_e16_writing_out_has_a_limit_and_falls_back_to_references() -> None:
    wide = objects(**{f"m{n}": {"type": "string", "description": "x"} for n in range(40)})
    shared = objects(**{f"p{n}": {"$ref": "#/$defs/W", "description": f"the {n}th"} for n in range(200)})
    shared["$defs"] = {"W": wide}
    for vendor in ("openai", "anthropic", "gemini"):
        printed = print_schema(vendor, shared)
        size = len(json.dumps(printed.schema))
        assert size < 20 * len(json.dumps(shared))
        last = printed.schema["properties"]["p199"]
        assert last == {"$ref": "#/$defs/W"}, "the later ones are references, without their descriptions"
        assert ("/properties/p199", "description", "dropped") in {(x.path, x.keyword, x.effect) for x in printed.losses}
    assert "too large" in refused("ollama", shared).reason
    bomb: dict[str, Any] = objects(a={"$ref": "#/$defs/L0"})
    bomb["$defs"] = {
        f"L{n}": objects(x={"$ref": f"#/$defs/L{n + 1}"}, y={"$ref": f"#/$defs/L{n + 1}"}) for n in range(30)
    }
    bomb["$defs"]["L30"] = {"type": "string"}
    assert "too large" in refused("ollama", bomb).reason
    assert len(json.dumps(print_schema("openai", bomb).schema)) < 10_000


# --- rules ----------------------------------------------------------------------------------------------------------


def test_openai_requires_everything_and_null_stands_for_absent() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": {"type": "string", "enum": ["x"]},
            "c": objects(d={"type": "integer"}),
            "e": {"type": ["integer", "null"]},
        },
        "required": ["a"],
        "additionalProperties": False,
    }
    printed = print_schema("openai", schema)
    assert printed.schema["required"] == ["a", "b", "c", "e"]
    assert printed.schema["properties"]["b"] == {"type": ["string", "null"], "enum": ["x", None]}
    assert printed.schema["properties"]["c"]["anyOf"][1] == {"type": "null"}
    assert printed.restores
    value = {"a": "1", "b": None, "c": None, "e": None}
    jsonschema.validate(value, printed.schema)
    assert printed.restore(value) == {"a": "1", "e": None}, "null stays where the source allows it"
    assert print_schema("anthropic", schema).schema["required"] == ["a"]
    assert not print_schema("anthropic", schema).restores


def test_restore_reaches_into_lists_unions_and_references() -> None:
    item = {"type": "object", "properties": {"k": {"const": "i"}, "n": {"type": "integer"}}, "required": ["k"]}
    schema = objects(
        items={"type": "array", "items": {"$ref": "#/$defs/I"}},
        one={"anyOf": [{"$ref": "#/$defs/I"}, objects(z={"type": "null"})]},
    )
    schema["$defs"] = {"I": item}
    printed = print_schema("openai", schema)
    value = {"items": [{"k": "i", "n": None}, {"k": "i", "n": 1}], "one": {"k": "i", "n": None}}
    jsonschema.validate(value, printed.schema)
    assert printed.restore(value) == {"items": [{"k": "i"}, {"k": "i", "n": 1}], "one": {"k": "i"}}
    assert printed.restore({"items": [], "one": {"z": None}}) == {"items": [], "one": {"z": None}}


@pytest.mark.parametrize("vendor", ALL)
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"type": "integer"}},
        {"type": "string"},
        {"anyOf": [objects(a={"type": "string"}), objects(b={"type": "string"})]},
        {"type": ["object", "null"], "properties": {"a": {"type": "string"}}, "additionalProperties": False},
    ],
    ids=["list", "text", "union", "nullable"],
)
def test_an_answer_that_is_no_object_gets_an_envelope(schema: Any, vendor: str) -> None:
    printed = print_schema(vendor, schema, use="output")
    assert printed.wrapped
    assert lint_schema(vendor, printed.schema, use="output") == []
    assert printed.restore({"value": [1]}) == [1]
    assert printed.restore([1]) == [1], "what does not fit is left to the check of the source"
    assert "input of a tool" in refused(vendor, schema, use="tool").reason


def test_one_of_becomes_any_of_and_says_whether_that_matters() -> None:
    apart = objects(a={"oneOf": [objects(k={"const": 1}), objects(k={"const": 2})]})
    assert print_schema("openai", apart).losses == ()
    close = objects(a={"oneOf": [{"type": "integer"}, {"type": "number"}]})
    assert [loss.effect for loss in print_schema("openai", close).losses] == ["widened"]


def test_all_of_is_merged() -> None:
    schema = objects(
        a={
            "description": "outer",
            "allOf": [
                {"type": "number", "minimum": 0, "description": "inner"},
                {"type": "integer", "minimum": 5, "maximum": 9},
                {"enum": [7, 8, "x"]},
            ],
        },
        b={"allOf": [objects(x={"type": "string"}), {"properties": {"x": {"maxLength": 3}}}]},
        c={"type": "object", "anyOf": [{"required": ["p"]}, {"required": ["q"]}],
           "properties": {"p": {"type": "string"}, "q": {"type": "string"}}, "additionalProperties": False},
    )  # fmt: skip
    printed = print_schema("openai", schema).schema["properties"]
    assert printed["a"]["type"] == "integer"
    assert printed["a"]["enum"] == [7, 8]
    assert (printed["a"]["minimum"], printed["a"]["maximum"]) == (5, 9)
    assert "outer" in printed["a"]["description"]
    assert "inner" in printed["a"]["description"]
    assert printed["b"]["properties"]["x"]["type"] == "string"
    assert len(printed["c"]["anyOf"]) == 2


def test_branches_that_cannot_hold_are_left_out() -> None:
    schema = objects(a={"type": "string", "anyOf": [{"type": "integer"}, {"maxLength": 3}, {"const": "x"}, False]})
    printed = print_schema("anthropic", schema).schema["properties"]["a"]
    assert [branch["type"] for branch in printed["anyOf"]] == ["string", "string"]
    assert (
        "none of the branches" in refused("openai", objects(a={"type": "string", "anyOf": [{"type": "null"}]})).reason
    )


def test_gemini_says_true_false_and_null_in_words() -> None:
    schema = objects(a={"const": True}, b={"enum": ["x", None]}, c={"enum": [1, 2]})
    printed = print_schema("gemini", schema).schema["properties"]
    assert printed["a"] == {"type": "boolean", "description": "Rules: one of true."}
    assert printed["b"] == {"anyOf": [{"type": "string", "enum": ["x"]}, {"type": "null"}]}
    assert printed["c"] == {"type": "integer", "enum": [1, 2]}


def test_names_of_tools() -> None:
    assert vendors.lint_name("openai", "look_up-2") is None
    assert vendors.lint_name("gemini", "mcp.server:tool") is None
    for vendor, name in (("openai", "a.b"), ("anthropic", ""), ("openai", "x" * 129), ("anthropic", "größe")):
        assert vendors.lint_name(vendor, name) is not None
    assert vendors.lint_name("ollama", "anything at all") is None


def test_the_lint_sees_what_a_printer_would_never_write() -> None:
    wrong = {
        "type": "object",
        "properties": {"a": {"type": "string", "minLength": 1}, "b": {}, "c": {"$ref": "#/$defs/D", "title": "x"}},
        "required": ["a"],
        "$defs": {"D": {"type": "array"}},
    }
    rules = {problem.rule for problem in lint_schema("openai", wrong)}
    assert {"additionalProperties", "required", "minLength", "type", "$ref", "items"} <= rules
    assert [problem.rule for problem in lint_schema("anthropic", {"type": "string"})] == ["root"]
    assert [problem.rule for problem in lint_schema("openai", {**objects(), "anyOf": []})] == ["root"]
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(11):
        deep = objects(a=deep)
    assert [problem.rule for problem in lint_schema("openai", deep)] == ["depth"]
    many = objects(a={"type": "integer", "enum": list(range(1001))})
    assert [problem.rule for problem in lint_schema("openai", many)] == ["enum values"]


def test_a_schema_from_a_stranger_cannot_exhaust_us() -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(5_000):
        deep = objects(a=deep)
    assert "deep" in refused("openai", deep).reason
    chain: dict[str, Any] = objects(a={"$ref": "#/$defs/R0"})
    chain["$defs"] = {f"R{n}": {"$ref": f"#/$defs/R{n + 1}"} for n in range(300)}
    chain["$defs"]["R300"] = {"type": "string"}
    refused("ollama", chain)
    loop = objects(a={"$ref": "#/$defs/A"})
    loop["$defs"] = {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}
    for vendor in ALL:
        assert refused(vendor, loop).reason == "a type that contains itself"


# --- properties -----------------------------------------------------------------------------------------------------

_NAMES = st.sampled_from(["a", "b", "c", "d", "e"])
_LEAVES: list[tuple[dict[str, Any], st.SearchStrategy[Any]]] = [
    ({"type": "string"}, st.text(max_size=5)),
    ({"type": "string", "minLength": 1, "maxLength": 4, "pattern": "^[a-z]*$"}, st.text("abc", min_size=1, max_size=4)),
    ({"type": "integer", "minimum": 0, "exclusiveMaximum": 10}, st.integers(0, 9)),
    ({"type": "number"}, st.integers(-5, 5)),
    ({"type": "boolean"}, st.booleans()),
    ({"const": "k"}, st.just("k")),
    ({"enum": ["x", "y", None]}, st.sampled_from(["x", "y", None])),
    ({"type": ["integer", "null"]}, st.sampled_from([None, 3])),
    ({"type": "string", "format": "date"}, st.just("2026-11-30")),
    ({"$ref": "#/$defs/Leaf"}, st.just({"leaf": 1})),
    ({"allOf": [{"$ref": "#/$defs/Leaf"}], "description": "a leaf"}, st.just({"leaf": 1})),
]
_DEFS = {"Leaf": {"type": "object", "properties": {"leaf": {"type": "integer"}}, "required": ["leaf"]}}


@st.composite
def pairs(draw: st.DrawFn, depth: int = 2) -> tuple[dict[str, Any], Any]:
    """A schema and a value that fits it, without members that the schema does not name."""
    kind = draw(st.sampled_from(["leaf", "object", "list", "union"] if depth else ["leaf"]))
    if kind == "leaf":
        schema, values = draw(st.sampled_from(_LEAVES))
        return schema, draw(values)
    if kind == "list":
        schema, value = draw(pairs(depth - 1))
        return {"type": "array", "items": schema, "maxItems": 3}, [value] * draw(st.integers(0, 2))
    if kind == "union":
        inside, value = draw(pairs(depth - 1))
        other, _ = draw(pairs(depth - 1))
        keyword = draw(st.sampled_from(["anyOf", "oneOf"]))
        branches = [inside, other] if draw(st.booleans()) else [other, inside]
        return {keyword: branches}, value
    members = draw(st.dictionaries(_NAMES, pairs(depth - 1), max_size=4))
    required = [name for name in members if draw(st.booleans())]
    schema = {
        "type": "object",
        "properties": {name: member[0] for name, member in members.items()},
        "required": required,
    }
    kept = [name for name in members if name in required or draw(st.booleans())]
    return schema, {name: members[name][1] for name in kept}


def filled(printed: Any, root: Any, value: Any) -> Any:
    """The value as a model would write it for OpenAI: null for members that are left out."""
    while isinstance(printed, dict) and "$ref" in printed:
        printed = root["$defs"][printed["$ref"].rpartition("/")[2]]
    if "anyOf" in printed:
        for branch in printed["anyOf"]:
            attempt = filled(branch, root, value)
            if jsonschema.Draft202012Validator({**branch, "$defs": root.get("$defs", {})}).is_valid(attempt):
                return attempt
        return value
    if isinstance(value, dict):
        members = printed.get("properties", {})
        if set(value) - set(members):
            return value  # meant for another branch
        return {name: filled(member, root, value[name]) if name in value else None for name, member in members.items()}
    if isinstance(value, list):
        return [filled(printed.get("items", {}), root, item) for item in value]
    return value


@pytest.mark.parametrize("vendor", ALL)
@settings(max_examples=60, deadline=None)
@given(pair=pairs())
def test_what_fits_the_source_fits_what_is_printed_and_comes_back(vendor: str, pair: tuple[Any, Any]) -> None:
    schema, value = pair
    schema = {**schema, "$defs": _DEFS}
    if "oneOf" in json.dumps(schema) and not jsonschema.Draft202012Validator(schema).is_valid(value):
        return  # two branches of a oneOf fit
    printed = print_schema(vendor, schema, use="output")
    assert lint_schema(vendor, printed.schema, use="output") == []
    jsonschema.Draft202012Validator.check_schema(printed.schema)
    written = {"value": value} if printed.wrapped else value
    if vendor == "openai":
        written = filled(printed.schema, printed.schema, written)
    jsonschema.validate(written, printed.schema)
    assert without_nulls(printed.restore(written)) == without_nulls(value)


def without_nulls(value: Any) -> Any:
    """The value without null members: an optional member that may be null comes back as null."""
    if isinstance(value, dict):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value
