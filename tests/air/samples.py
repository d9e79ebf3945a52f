"""Hand-written AIR documents, and what fills in the figures that hands get wrong: costs, digest, source map."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from touba_cli.air.costs import callable_costs
from touba_cli.air.program import program_digest
from touba_cli.language.compiler import compile_program
from touba_cli.project.sources import ProjectSources

Document = dict[str, Any]


def seal(document: Document) -> Document:
    """Costs and digest as they must be. Code that is too broken for that keeps what it has."""
    for declared in document["callables"].values():
        if "code" not in declared:
            continue
        try:
            declared["cost"], loops = callable_costs(declared["code"])
            for pc, cost in loops.items():
                declared["code"][pc][2] = cost
        except (TypeError, IndexError, KeyError, ValueError, AttributeError):
            continue
    document["digest"] = program_digest(document)
    return document


def build(types: Document, callables: Document, modules: tuple[str, ...] = ("app",)) -> Document:
    """A whole document around declarations."""
    requires = set()
    for ref, declared in callables.items():
        if ref.startswith("tool:"):
            requires.add("tools")
        elif any(
            isinstance(instruction, list) and instruction and instruction[0] == "attempt"
            for instruction in declared["code"]
        ):
            requires.add("attempt")
    return seal(
        {
            "protocol": "touba-air-v1",
            "semantics": 1,
            "requires": sorted(requires),
            "modules": list(modules),
            "types": copy.deepcopy(types),
            "callables": callables,
            "digest": "",
            "source_map": {
                "files": ["app.tb"],
                "callables": {
                    ref: [[0, line, 5, line, 20] for line, _ in enumerate(declared["code"], 1)]
                    for ref, declared in callables.items()
                    if "code" in declared
                },
            },
            "build": {"compiler": "0.1.0", "sources": {"app.tb": "0" * 64}},
        }
    )


def coded(
    takes: list[tuple[str, Any]], gives: Any, slots: list[tuple[str, Any]], code: list[list[Any]], **more: Any
) -> Document:
    """A callable with code: ``slots`` are those besides the inputs, whose types must be base types here."""
    return {
        "takes": [{"name": name, "type": form} for name, form in takes],
        "gives": gives,
        "slots": [list(each) for each in (*takes, *slots)],
        "cost": 0,
        "code": copy.deepcopy(code),
        **more,
    }


def single(
    code: list[list[Any]],
    *,
    takes: list[tuple[str, Any]] | None = None,
    gives: Any = "Int",
    slots: list[tuple[str, Any]] | None = None,
    types: Document | None = None,
    ref: str = "strategy:app/Run",
) -> Document:
    """A document with one callable."""
    return build(types or {}, {ref: coded(takes or [], gives, slots or [], code)})


TYPES: Document = {
    "type:app/Amount": {
        "kind": "alias",
        "of": ["is", "Decimal", [["min", ["dec", "0"]], ["below", ["dec", "1000000"]]]],
    },
    "type:app/Line": {
        "kind": "record",
        "fields": [
            {"name": "name", "type": ["is", "Text", [["length", 1, 40]]], "doc": "What is sold."},
            {"name": "amount", "type": "type:app/Amount", "wire": "Amount"},
            {"name": "level", "type": "type:app/Level"},
        ],
        "doc": "One line of an invoice.",
    },
    "type:app/Invoice": {
        "kind": "record",
        "fields": [
            {"name": "id", "type": "Text"},
            {"name": "lines", "type": ["is", ["List", "type:app/Line"], [["length", None, 99]]]},
            {"name": "note", "type": ["Optional", "Text"]},
            {"name": "due", "type": "Date"},
        ],
    },
    "type:app/Level": {
        "kind": "choice",
        "variants": [{"name": "Low", "fields": []}, {"name": "High", "fields": [], "doc": "Look twice."}],
    },
    "type:app/Decision": {
        "kind": "choice",
        "variants": [
            {"name": "Paid", "fields": [{"name": "receipt", "type": "Text"}]},
            {"name": "Refused", "fields": []},
        ],
    },
    "type:app/Tree": {
        "kind": "record",
        "fields": [{"name": "children", "type": ["List", "type:app/Tree"]}],
    },
}


def slot(number: int) -> list[Any]:
    return ["slot", number]


def review() -> Document:
    """A strategy with loops, an attempt, a tool and shows; a function; a skill that gives nothing."""
    return build(
        TYPES,
        {
            "tool:app/Pay": {
                "takes": [
                    {"name": "id", "type": "Text", "doc": "The invoice."},
                    {"name": "amount", "type": "type:app/Amount"},
                ],
                "gives": "Text",
                "requires": ["network"],
                "secrets": ["bank_token"],
                "effect": "write",
                "timeout_ms": 30000,
            },
            "function:app/Total": coded(
                [("lines", ["List", "type:app/Line"])],
                "Decimal",
                [
                    ("total", "Decimal"),
                    ("(items)", ["List", "type:app/Line"]),
                    ("(at)", "Int"),
                    ("line", "type:app/Line"),
                ],
                [
                    ["set", 1, ["dec", "0"]],
                    ["set", 2, slot(0)],
                    ["set", 3, ["int", 0]],
                    ["each", 2, 3, 4, 7],
                    ["unless", ["eq", ["field", slot(4), "name"], ["text", "free"]], 6],
                    ["jump", 6],
                    ["again", 3, 0],
                    ["require", ["ge.decimal", slot(1), ["dec", "0"]], ["text", "below zero"]],
                    [
                        "give",
                        [
                            "chain",
                            slot(1),
                            "add.decimal",
                            ["sum.decimal", ["collect", 4, slot(0), None, ["field", slot(4), "amount"]]],
                            "sub.decimal",
                            ["dec", "0.00"],
                        ],
                    ],
                ],
            ),
            "skill:app/Tell": coded(
                [("text", "Text")],
                "Nothing",
                [],
                [["show", 1, "show:app/Tell/1", ["concat", ["text", "Note: "], slot(0)]], ["give", ["nothing"]]],
                doc="Says something.",
            ),
            "strategy:app/Review": coded(
                [("invoice", "type:app/Invoice")],
                "type:app/Decision",
                [("receipt", "Text"), ("problem", "type:touba/Problem"), ("(times)", "Int")],
                [
                    ["unless", ["present", ["field", slot(0), "note"]], 2],
                    ["call", 1, None, "skill:app/Tell", [["open", ["field", slot(0), "note"]]]],
                    ["set", 3, ["int", 3]],
                    ["times", 3, 10],
                    ["attempt", 8, 2],
                    [
                        "call",
                        2,
                        1,
                        "tool:app/Pay",
                        [
                            ["field", slot(0), "id"],
                            [
                                "constrain",
                                "type:app/Amount",
                                "amount",
                                ["apply", "function:app/Total", [["field", slot(0), "lines"]]],
                            ],
                        ],
                    ],
                    ["leave"],
                    ["give", ["make", "type:app/Decision", "Paid", [slot(1)]]],
                    ["show", 3, "show:app/Review/1", ["field", slot(2), "message"]],
                    ["again", 3, 0],
                    ["unless", ["gt.int", ["length.list", ["field", slot(0), "lines"]], ["int", 50]], 12],
                    ["stop", ["text", "too many lines"]],
                    ["give", ["make", "type:app/Decision", "Refused", []]],
                ],
            ),
        },
    )


NAME = ["is", "Text", [["length", 1, 40]]]


def named(node: list[Any]) -> list[Any]:
    """A text as it enters the field `name` of a line."""
    return ["constrain", NAME, "name", node]


def priced(node: list[Any]) -> list[Any]:
    """A Decimal as it enters a place of type `Amount`."""
    return ["constrain", "type:app/Amount", "amount", node]


def every_expression() -> Document:
    """A function that has every expression once."""
    low = ["make", "type:app/Level", "Low", []]
    line = ["record", "type:app/Line", [named(["text", "a"]), priced(["dec", "1.50"]), low]]
    number: dict[str, Any] = {"takes": [("x", "Int")], "gives": "Int"}
    uses: list[tuple[Any, list[Any]]] = [
        ("Int", ["int", "9007199254740993"]),
        ("Float", ["float", "0.001"]),
        ("Bool", ["bool", True]),
        ("Date", ["date", "2026-01-31"]),
        ("DateTime", ["datetime", "2026-01-31T12:00:00Z"]),
        ("Duration", ["duration", "PT30S"]),
        ("Nothing", ["nothing"]),
        (["Optional", ["List", "Int"]], ["absent", ["List", "Int"]]),
        ("type:app/Line", ["with", line, [["name", named(["text", "b"])], ["amount", priced(["widen", ["int", 3]])]]]),
        ("Int", ["ordinal", ["field", line, "level"]]),
        ("Bool", ["variant", ["make", "type:app/Decision", "Refused", []], "Paid"]),
        ("Text", ["payload", ["make", "type:app/Decision", "Paid", [["text", "r"]]], "Paid", "receipt"]),
        ("Int", ["open", ["some", slot(0)]]),
        ("Int", ["otherwise", ["first", ["list", "Int", [slot(0)]]], ["int", -1]]),
        (
            ["Map", "Text"],
            ["map", "Text", [[["text", "k"], ["text", "v"]], [["concat", ["text", "k"]], ["text", "w"]]]],
        ),
        (["List", ["Entry", "Int"]], ["items", ["map", "Int", []]]),
        (
            ["List", "Int"],
            ["collect", 1, ["range.to", slot(0)], ["gt.int", slot(1), ["int", 2]], ["mul.int", slot(1), slot(1)]],
        ),
        (["List", "type:app/Line"], ["sorted_by", ["list", "type:app/Line", [line]], ["level"], True]),
        ("Bool", ["and", ["bool", True], ["or", ["bool", False], ["not", ["bool", False]]], ["bool", True]]),
        ("Decimal", ["if", ["bool", True], ["dec", "1"], ["round.mode", ["dec", "2.5"], ["int", 0], ["text", "up"]]]),
        ("Int", ["chain", slot(0), "add.int", ["int", 1], "sub.int", ["int", 2], "mul.int", ["int", 3]]),
        ("Text", ["text.choice", ["make", "type:app/Level", "High", []]]),
        ("Bool", ["in.list", ["absent", "Int"], ["list", ["Optional", "Int"], []]]),
        ("Text", ["field", ["index.list", ["items", ["map", "Int", [[["text", "k"], slot(0)]]]], ["int", 0]], "key"]),
        ("type:app/Tree", ["record", "type:app/Tree", [["list", "type:app/Tree", []]]]),
        ("Int", ["apply", "function:app/Same", [slot(0)]]),
    ]
    slots = [("i", "Int"), *((f"v{at}", form) for at, (form, _) in enumerate(uses))]
    code: list[list[Any]] = [["set", at, node] for at, (_, node) in enumerate(uses, 2)]
    return build(
        TYPES,
        {
            "function:app/Every": coded(**number, slots=slots, code=[*code, ["give", slot(0)]]),
            "function:app/Same": coded(**number, slots=[], code=[["give", slot(0)]]),
        },
    )


def smallest() -> Document:
    return single([["give", ["int", 1]]], ref="function:app/One")


PROGRAMS = Path(__file__).resolve().parent / "programs"


def compiled() -> Document:
    """What the compiler makes of the program that has every construct of the language."""
    air = compile_program(ProjectSources(str(PROGRAMS)), "everything.tb").air
    assert air is not None
    return air


def governed() -> Document:
    """What the compiler makes of the program with agents, gates, groups and all that stands besides code."""
    air = compile_program(ProjectSources(str(PROGRAMS)), "governed.tb").air
    assert air is not None
    return air


SAMPLES = {"smallest": smallest, "review": review, "every_expression": every_expression}
