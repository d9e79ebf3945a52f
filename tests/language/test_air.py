"""The AIR of every construct: what each program comes to, instruction by instruction."""

from __future__ import annotations

import json

import pytest

from tests.language.programs import air, body, code, value

BEFORE = """\
type A
    name as Text
    note as Optional Text
    size as Size
type P
    amount as Decimal
    size as Size
choice Size is Small, Large
choice Pay
    Paid with receipt as Text, at as Date
    Held
tool T
    takes n as Int
    gives Int
    effect none
tool Log
    takes text as Text
    effect none
skill K
    takes a as Int, b as Text
    gives Text
    do
        give b
function G
    takes a as Int, b as Decimal
    gives Decimal
    do
        give b"""

#: name → body of a strategy `F`, its inputs, its result, and its code, one instruction a line
GOLDEN: dict[str, tuple[str, str, str, str]] = {
    "let var set": (
        """
let a = n
var b = a + 1
set b = b * 2
give b
""",
        "n as Int",
        "Int",
        """
["set", 1, ["slot", 0]]
["set", 2, ["add.int", ["slot", 1], ["int", 1]]]
["set", 2, ["mul.int", ["slot", 2], ["int", 2]]]
["give", ["slot", 2]]
""",
    ),
    "calls": (
        """
let a = call T(n)
call Log("x")
var b = call T(a)
set b = call T(b)
show "at {b}"
show "end"
give call T(b)
""",
        "n as Int",
        "Int",
        """
["call", 1, 1, "tool:app/T", [["slot", 0]]]
["call", 2, null, "tool:app/Log", [["text", "x"]]]
["call", 3, 2, "tool:app/T", [["slot", 1]]]
["call", 4, 2, "tool:app/T", [["slot", 2]]]
["show", 5, "show:app/F/1", ["concat", ["text", "at "], ["text.int", ["slot", 2]]]]
["show", 6, "show:app/F/2", ["text", "end"]]
["call", 7, 3, "tool:app/T", [["slot", 2]]]
["give", ["slot", 3]]
""",
    ),
    "calls with other types": (
        """
let a = call T(n)
let b as Decimal = call T(a)
let _c as Optional Int = call T(a)
give b
""",
        "n as Int",
        "Decimal",
        """
["call", 1, 1, "tool:app/T", [["slot", 0]]]
["call", 2, 3, "tool:app/T", [["slot", 1]]]
["set", 2, ["widen", ["slot", 3]]]
["call", 3, 5, "tool:app/T", [["slot", 1]]]
["set", 4, ["some", ["slot", 5]]]
["give", ["slot", 2]]
""",
    ),
    "named arguments": (
        """
give call K(b: "x", a: 1)
""",
        "",
        "Text",
        """
["call", 1, 0, "skill:app/K", [["int", 1], ["text", "x"]]]
["give", ["slot", 0]]
""",
    ),
    "nothing given": (
        """
call Log("x")
""",
        "",
        "",
        """
["call", 1, null, "tool:app/Log", [["text", "x"]]]
["give", ["nothing"]]
""",
    ),
    "nothing given on": (
        """
give call Log("x")
""",
        "",
        "Nothing",
        """
["call", 1, null, "tool:app/Log", [["text", "x"]]]
["give", ["nothing"]]
""",
    ),
    "if": (
        """
if n > 1
    give 1
else if n > 0
    show "x"
else
    show "y"
give 2
""",
        "n as Int",
        "Int",
        """
["unless", ["gt.int", ["slot", 0], ["int", 1]], 2]
["give", ["int", 1]]
["unless", ["gt.int", ["slot", 0], ["int", 0]], 5]
["show", 1, "show:app/F/1", ["text", "x"]]
["jump", 6]
["show", 2, "show:app/F/2", ["text", "y"]]
["give", ["int", 2]]
""",
    ),
    "when over variants": (
        """
when p
    is Held
        show "h"
    is Paid with receipt
        show "{receipt}"
give 2
""",
        "p as Pay",
        "Int",
        """
["unless", ["variant", ["slot", 0], "Held"], 3]
["show", 1, "show:app/F/1", ["text", "h"]]
["jump", 5]
["set", 1, ["payload", ["slot", 0], "Paid", "receipt"]]
["show", 2, "show:app/F/2", ["concat", ["slot", 1]]]
["give", ["int", 2]]
""",
    ),
    "when over an Optional": (
        """
when first([1])
    is present as x
        give x
    is absent
        give 2
""",
        "",
        "Int",
        """
["set", 0, ["first", ["list", "Int", [["int", 1]]]]]
["unless", ["present", ["slot", 0]], 4]
["set", 1, ["open", ["slot", 0]]]
["give", ["slot", 1]]
["give", ["int", 2]]
""",
    ),
    "when over literals": (
        """
when n
    is 1, 2
        show "a"
    else
        show "b"
give 1
""",
        "n as Int",
        "Int",
        """
["unless", ["or", ["eq", ["slot", 0], ["int", 1]], ["eq", ["slot", 0], ["int", 2]]], 3]
["show", 1, "show:app/F/1", ["text", "a"]]
["jump", 4]
["show", 2, "show:app/F/2", ["text", "b"]]
["give", ["int", 1]]
""",
    ),
    "when over a Bool": (
        """
when n > 1
    is true
        show "a"
    is false
        show "b"
give 1
""",
        "n as Int",
        "Int",
        """
["set", 1, ["gt.int", ["slot", 0], ["int", 1]]]
["unless", ["slot", 1], 4]
["show", 1, "show:app/F/1", ["text", "a"]]
["jump", 5]
["show", 2, "show:app/F/2", ["text", "b"]]
["give", ["int", 1]]
""",
    ),
    "for": (
        """
var s = 0
for each x in xs
    if x > 5
        continue
    if x > 9
        break
    set s = s + x
give s
""",
        "xs as List of Int",
        "Int",
        """
["set", 1, ["int", 0]]
["set", 2, ["slot", 0]]
["set", 3, ["int", 0]]
["each", 2, 3, 4, 10]
["unless", ["gt.int", ["slot", 4], ["int", 5]], 6]
["jump", 9]
["unless", ["gt.int", ["slot", 4], ["int", 9]], 8]
["jump", 10]
["set", 1, ["add.int", ["slot", 1], ["slot", 4]]]
["again", 3, 16]
["give", ["slot", 1]]
""",
    ),
    "repeat": (
        """
var s = 0
repeat up to n + 1 times while s < 10
    set s = s + 1
give s
""",
        "n as Int",
        "Int",
        """
["set", 1, ["int", 0]]
["set", 2, ["add.int", ["slot", 0], ["int", 1]]]
["times", 2, 6]
["unless", ["lt.int", ["slot", 1], ["int", 10]], 6]
["set", 1, ["add.int", ["slot", 1], ["int", 1]]]
["again", 2, 10]
["give", ["slot", 1]]
""",
    ),
    "attempt in a loop": (
        """
var s = 0
for each x in [n]
    attempt
        if x > 5
            continue
        if x > 9
            break
        set s = call T(x)
    on failure as problem
        show "{problem.code}"
        continue
    set s = s + 1
give s
""",
        "n as Int",
        "Int",
        """
["set", 1, ["int", 0]]
["set", 2, ["list", "Int", [["slot", 0]]]]
["set", 3, ["int", 0]]
["each", 2, 3, 4, 18]
["attempt", 14, 5]
["unless", ["gt.int", ["slot", 4], ["int", 5]], 8]
["leave"]
["jump", 17]
["unless", ["gt.int", ["slot", 4], ["int", 9]], 11]
["leave"]
["jump", 18]
["call", 1, 1, "tool:app/T", [["slot", 4]]]
["leave"]
["jump", 16]
["show", 2, "show:app/F/1", ["concat", ["field", ["slot", 5], "code"]]]
["jump", 17]
["set", 1, ["add.int", ["slot", 1], ["int", 1]]]
["again", 3, 28]
["give", ["slot", 1]]
""",
    ),
    "require stop fail": (
        """
attempt
    call T(1)
on failure
    show "x"
require n > 1 else "n is {n}"
if n > 2
    stop "s"
fail "f {n}"
""",
        "n as Int",
        "Int",
        """
["attempt", 4, 1]
["call", 1, null, "tool:app/T", [["int", 1]]]
["leave"]
["jump", 5]
["show", 2, "show:app/F/1", ["text", "x"]]
["require", ["gt.int", ["slot", 0], ["int", 1]], ["concat", ["text", "n is "], ["text.int", ["slot", 0]]]]
["unless", ["gt.int", ["slot", 0], ["int", 2]], 8]
["stop", ["text", "s"]]
["fail", ["concat", ["text", "f "], ["text.int", ["slot", 0]]]]
""",
    ),
    "comprehension": (
        """
give sum([x * 2 for x in xs if x > 1])
""",
        "xs as List of Int",
        "Int",
        """
["give", ["sum.int", ["collect", 1, ["slot", 0], ["gt.int", ["slot", 1], ["int", 1]], ["mul.int", ["slot", 1], ["int", 2]]]]]
""",
    ),
    "with": (
        """
give a with (name: "x", note: "y")
""",
        "a as A",
        "A",
        """
["give", ["with", ["slot", 0], [["name", ["text", "x"]], ["note", ["some", ["text", "y"]]]]]]
""",
    ),
    "records": (
        """
give [A(name: "x", size: Large), A(name: "y", note: "z", size: Size.Small)]
""",
        "",
        "List of A",
        """
["give", ["list", "type:app/A", [["record", "type:app/A", [["text", "x"], ["absent", "Text"], ["make", "type:app/Size", "Large", []]]], ["record", "type:app/A", [["text", "y"], ["some", ["text", "z"]], ["make", "type:app/Size", "Small", []]]]]]]
""",
    ),
    "variant": (
        """
give Paid(receipt: "x", at: date "2026-01-31")
""",
        "",
        "Pay",
        """
["give", ["make", "type:app/Pay", "Paid", [["text", "x"], ["date", "2026-01-31"]]]]
""",
    ),
    "tests of variants": (
        """
give p is Paid or p is not Held or a.size < Large or a.size is Small
""",
        "p as Pay, a as A",
        "Bool",
        """
["give", ["or", ["variant", ["slot", 0], "Paid"], ["not", ["variant", ["slot", 0], "Held"]], ["lt.int", ["ordinal", ["field", ["slot", 1], "size"]], ["ordinal", ["make", "type:app/Size", "Large", []]]], ["variant", ["field", ["slot", 1], "size"], "Small"]]]
""",
    ),
    "equality of lists": (
        """
give [a.size] is [Large] and Small in [a.size] and 1 not in [2]
""",
        "a as A",
        "Bool",
        """
["give", ["and", ["eq", ["list", "type:app/Size", [["field", ["slot", 0], "size"]]], ["list", "type:app/Size", [["make", "type:app/Size", "Large", []]]]], ["in.list", ["make", "type:app/Size", "Small", []], ["list", "type:app/Size", [["field", ["slot", 0], "size"]]]], ["not", ["in.list", ["int", 1], ["list", "Int", [["int", 2]]]]]]]
""",
    ),
    "map": (
        """
give {"a": 1, "b{n}": 2.5}
""",
        "n as Int",
        "Map of Decimal",
        """
["give", ["map", "Decimal", [[["text", "a"], ["dec", "1"]], [["concat", ["text", "b"], ["text.int", ["slot", 0]]], ["dec", "2.5"]]]]]
""",
    ),
    "position": (
        """
give m["a"] otherwise 1
""",
        "m as Map of Int",
        "Int",
        """
["give", ["otherwise", ["index.map", ["slot", 0], ["text", "a"]], ["int", 1]]]
""",
    ),
    "chain": (
        """
give n + 2 * n - n div 2 + 1.5 - n / 2
""",
        "n as Int",
        "Decimal",
        """
["give", ["chain", ["widen", ["chain", ["slot", 0], "add.int", ["mul.int", ["int", 2], ["slot", 0]], "sub.int", ["div.int", ["slot", 0], ["int", 2]]]], "add.decimal", ["dec", "1.5"], "sub.decimal", ["div.decimal", ["widen", ["slot", 0]], ["dec", "2"]]]]
""",
    ),
    "sort": (
        """
give sorted(xs by .size descending)
""",
        "xs as List of A",
        "List of A",
        """
["give", ["sorted_by", ["slot", 0], ["size"], true]]
""",
    ),
    "sort of choices": (
        """
give sorted([Large, Small])
""",
        "",
        "List of Size",
        """
["give", ["open", ["first", ["collect", 0, ["list", ["List", "type:app/Size"], [["list", "type:app/Size", [["make", "type:app/Size", "Large", []], ["make", "type:app/Size", "Small", []]]]]], null, ["add.list", ["collect", 1, ["slot", 0], ["variant", ["slot", 1], "Small"], ["slot", 1]], ["collect", 2, ["slot", 0], ["variant", ["slot", 2], "Large"], ["slot", 2]]]]]]]
""",
    ),
    "interpolation": (
        """
give "{a.size} {1} {1.5} {true} {1f} {date "2026-01-31"} {a.name} {5 seconds}"
""",
        "a as A",
        "Text",
        """
["give", ["concat", ["text.choice", ["field", ["slot", 0], "size"]], ["text", " "], ["text.int", ["int", 1]], ["text", " "], ["text.decimal", ["dec", "1.5"]], ["text", " "], ["text.bool", ["bool", true]], ["text", " "], ["text.float", ["float", "1.0"]], ["text", " "], ["text.date", ["date", "2026-01-31"]], ["text", " "], ["field", ["slot", 0], "name"], ["text", " "], ["text.duration", ["duration", "PT5S"]]]]
""",
    ),
    "function": (
        """
give G(b: n, a: n)
""",
        "n as Int",
        "Decimal",
        """
["give", ["apply", "function:app/G", [["slot", 0], ["widen", ["slot", 0]]]]]
""",
    ),
    "conditional": (
        """
give 1 if n > 1 else 2.5
""",
        "n as Int",
        "Optional Decimal",
        """
["give", ["some", ["if", ["gt.int", ["slot", 0], ["int", 1]], ["dec", "1"], ["dec", "2.5"]]]]
""",
    ),
    "rounding": (
        """
give round(n, 2) + round(1.5, n, "half_up")
""",
        "n as Int",
        "Decimal",
        """
["give", ["add.decimal", ["round.decimal", ["widen", ["slot", 0]], ["int", 2]], ["round.mode", ["dec", "1.5"], ["slot", 0], ["text", "half_up"]]]]
""",
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_code(name: str) -> None:
    lines, takes, gives, expected = GOLDEN[name]
    found = code(lines, kind="strategy", takes=takes, gives=gives, before=BEFORE)
    assert found == [json.loads(line) for line in expected.strip().split("\n")]


def test_declarations() -> None:
    found = air(
        '## A bill.\ntype Bill\n    ## How much.\n    amount as Decimal min 0\n    kind as Text named "type"\n'
        "choice Pay\n    ## Done.\n    Paid with at as Date\n    Open\n## Pays.\ntool Send\n    ## What to pay.\n    takes bill as Bill\n"
        "    gives Pay\n    requires network, filesystem.read\n    secret token\n    secret other\n    effect write\n    timeout 30 seconds\n"
        "tool Look\n    takes a as Int, b as Int\n"
    )
    assert found["requires"] == ["tools"]
    assert found["types"] == {
        "type:app/Bill": {
            "kind": "record",
            "doc": "A bill.",
            "fields": [
                {"name": "amount", "type": ["is", "Decimal", [["min", ["dec", "0"]]]], "doc": "How much."},
                {"name": "kind", "type": "Text", "wire": "type"},
            ],
        },
        "type:app/Pay": {
            "kind": "choice",
            "variants": [
                {"name": "Paid", "fields": [{"name": "at", "type": "Date"}], "doc": "Done."},
                {"name": "Open", "fields": []},
            ],
        },
    }
    assert found["callables"] == {
        "tool:app/Send": {
            "takes": [{"name": "bill", "type": "type:app/Bill", "doc": "What to pay."}],
            "gives": "type:app/Pay",
            "doc": "Pays.",
            "requires": ["filesystem.read", "network"],
            "secrets": ["token", "other"],
            "effect": "write",
            "timeout_ms": 30000,
        },
        "tool:app/Look": {
            "takes": [{"name": "a", "type": "Int"}, {"name": "b", "type": "Int"}],
            "gives": "Nothing",
            "requires": [],
            "secrets": [],
            "effect": "none",
        },
    }


def test_costs_stand_in_the_code() -> None:
    found = air(body("var s = 0\nfor each x in xs\n    set s = s + x\ngive s", takes="xs as List of Int"))
    entry = found["callables"]["function:app/F"]
    assert entry["cost"] == 8
    assert entry["code"][5] == ["again", 3, 6]


def test_slots_of_equal_names_are_told_apart() -> None:
    found = air(body('if n > 1\n    let a = 1\n    give a\nlet a = "x"\ngive length(a)', takes="n as Int"))
    assert [name for name, _ in found["callables"]["function:app/F"]["slots"]] == ["n", "a", "a.2"]


def test_source_map_has_a_place_for_every_instruction() -> None:
    found = air(body("let a = 1\nif a > 1\n    give a\ngive 2"))
    spans = found["source_map"]["callables"]["function:app/F"]
    assert found["source_map"]["files"] == ["main.tb"]
    assert len(spans) == len(found["callables"]["function:app/F"]["code"])
    assert spans[0] == [0, 5, 9, 5, 18]
    assert spans[1] == [0, 6, 12, 6, 17]


def test_long_chains_stay_flat() -> None:
    found = value(" + ".join(["n"] * 3000), takes="n as Int")
    assert found[0] == "chain"
    assert len(found) == 6000
    assert value(" and ".join(["b"] * 3000), takes="b as Bool", gives="Bool")[0] == "and"


EVERY_BUILT_IN = [
    ("length(t)", "length.text"),
    ("length(xs)", "length.list"),
    ("length(m)", "length.map"),
    ("sum(xs)", "sum.int"),
    ("min(xs)", "min.int"),
    ("max(ts)", "max.text"),
    ("sorted(ts)", "sorted.text"),
    ("reversed(xs)", "reversed"),
    ("unique(xs)", "unique"),
    ("first(xs)", "first"),
    ("last(xs)", "last"),
    ("count([b])", "count"),
    ("any([b])", "any"),
    ("all([b])", "all"),
    ("range(n)", "range.to"),
    ("range(n, 2)", "range.between"),
    ("text(n)", "text.int"),
    ("text(b)", "text.bool"),
    ("int(t)", "int.text"),
    ("int(d)", "int.decimal"),
    ("int(f)", "int.float"),
    ("decimal(t)", "decimal.text"),
    ("decimal(n)", "decimal.int"),
    ("decimal(f)", "decimal.float"),
    ("round(d, 1)", "round.decimal"),
    ("round(f, 1)", "round.float"),
    ("abs(n)", "abs.int"),
    ("abs(d)", "abs.decimal"),
    ("trim(t)", "trim"),
    ("upper(t)", "upper"),
    ("lower(t)", "lower"),
    ("split(t)", "split.blanks"),
    ('split(t, ",")', "split.text"),
    ('join(ts, "")', "join"),
    ('replace(t, "a", "b")', "replace"),
    ('contains(t, "a")', "contains"),
    ('starts_with(t, "a")', "starts_with"),
    ('ends_with(t, "a")', "ends_with"),
    ("slice(t, 0, 1)", "slice.text"),
    ("slice(xs, 0, 1)", "slice.list"),
    ("keys(m)", "keys"),
    ("values(m)", "values"),
    ("items(m)", "items"),
    ("merge(m, m)", "merge"),
    ('without(m, "a")', "without"),
    ("n / 2", "div.decimal"),
    ("n mod 2", "mod.int"),
    ("f / 2f", "div.float"),
    ("t + t", "add.text"),
    ("xs + xs", "add.list"),
    ("day + 2 days", "add.date"),
    ("day - day", "between.date"),
    ("-f", "neg.float"),
    ("-(day - day)", "neg.duration"),
    ("d < n", "lt.decimal"),
    ("t >= t", "ge.text"),
    ("day > day", "gt.date"),
    ('"a" in m', "in.map"),
    ("n in xs", "in.list"),
    ("xs[0]", "index.list"),
    ("t[0]", "index.text"),
    ('m["a"]', "index.map"),
]


@pytest.mark.parametrize(("expression", "operation"), EVERY_BUILT_IN)
def test_operations(expression: str, operation: str) -> None:
    takes = "t as Text, n as Int, d as Decimal, f as Float, b as Bool, xs as List of Int, ts as List of Text, m as Map of Int, day as Date"
    found = code(f"let _a = {expression}\ngive 1", takes=takes)
    assert found[0][2][0] == operation
