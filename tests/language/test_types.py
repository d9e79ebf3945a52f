"""Types: what fits where, narrowing, constraints, literals, and what is said where something does not fit."""

from __future__ import annotations

import pytest

from tests.language.programs import air, body, code, compiled, problems, value
from touba_cli.language.forms import BOTTOM, UNKNOWN, Binding, common, fit, show

RECORD = "type A\n    name as Text\n    note as Optional Text"
CHOICE = "choice C\n    Paid with receipt as Text\n    Held"
SIZE = "choice S is Small, Large"
FUNCTION = "function G\n    takes a as Int, b as Int\n    gives Int\n    do\n        give a + b"


def give(expression: str, takes: str = "", gives: str = "Int", before: str = "") -> str:
    return body(f"give {expression}", takes=takes, gives=gives, before=before)


#: without `before` and with `takes` the expression stands at 6:14, without `takes` at 5:14
WRONG: dict[str, tuple[str, str]] = {
    "text for int": (give('"a"'), "TB4001 5:14"),
    "int for text": (give("n", takes="n as Int", gives="Text"), "TB4001 6:14"),
    "bool is no number": (give("true"), "TB4001 5:14"),
    "int for float": (give("3", gives="Float"), "TB4001 5:14"),
    "decimal for int": (give("1.5"), "TB4001 5:14"),
    "float for decimal": (give("1.5f", gives="Decimal"), "TB4001 5:14"),
    "list of int for list of decimal": (give("xs", takes="xs as List of Int", gives="List of Decimal"), "TB4001 6:14"),
    "wrong element": (give('[1, "a"]', gives="List of Int"), "TB4001 5:18"),
    "elements without a common type": (body('let a = [1, "a"]\ngive length(a)'), "TB4001 5:21"),
    "wrong map value": (give('{"a": 1}', gives="Map of Text"), "TB4001 5:20"),
    "wrong map key": (give("{1: 1}", gives="Map of Int"), "TB4001 5:15"),
    "equal literal keys": (give('{"a": 1, "a": 2}', gives="Map of Int"), "TB3002 5:23"),
    "condition is no Bool": (body("if n\n    give 1\ngive 2", takes="n as Int"), "TB4001 6:12"),
    "and takes Bools": (give("n > 1 and n", takes="n as Int", gives="Bool"), "TB4001 6:24"),
    "not takes a Bool": (give("not n", takes="n as Int", gives="Bool"), "TB4001 6:18"),
    "branches without a common type": (body('let a = 1 if true else "a"\ngive a'), "TB4001 5:32"),
    "for goes through lists": (body("for each a in n\n    give a\ngive 1", takes="n as Int"), "TB4001 6:23"),
    "for goes through no map": (body("for each a in n\n    give 1\ngive 1", takes="n as Map of Int"), "TB4001 6:23"),
    "repeat counts Ints": (body("repeat up to 1.5 times\n    break\ngive 1"), "TB4001 5:22"),
    "declared let": (body("let a as Text = 1\ngive length(a)"), "TB4001 5:25"),
    "set": (body('var a = 1\nset a = "b"\ngive a'), "TB4001 6:17"),
    "argument": (give('G(a: 1, b: "x")', before=FUNCTION), "TB4001 10:25"),
    "record field": (give("A(name: 1)", gives="A", before=RECORD), "TB4001 8:22"),
    "wrap only once": (give("n", takes="n as Int", gives="Optional Optional Int"), "TB4001 6:14"),
    "result of a call": (
        body(
            "let a as Int = call T(1)\ngive a",
            kind="strategy",
            before="tool T\n    takes a as Int\n    gives Text\n    effect none",
        ),
        "TB4001 9:24",
    ),
    "nothing has no name": (
        body("let a = call T(1)\ngive 1", kind="strategy", before="tool T\n    takes a as Int\n    effect none"),
        "TB4001 8:17",
    ),
    "wrong pattern": (
        body('when n\n    is "a"\n        give 1\n    else\n        give 2', takes="n as Int"),
        "TB4001 7:16",
    ),
    "variant of no choice": (
        body("when n\n    is Paid\n        give 1\n    else\n        give 2", takes="n as Int"),
        "TB4001 7:16",
    ),
    "text plus int": (give("t + 1", takes="t as Text", gives="Text"), "TB4002 6:16"),
    "float plus int": (give("f + 1", takes="f as Float", gives="Float"), "TB4002 6:16"),
    "div of decimals": (give("1.5 div 2", gives="Decimal"), "TB4002 5:18"),
    "minus of a text": (give("-t", takes="t as Text", gives="Text"), "TB4002 6:14"),
    "order of bools": (give("true < false", gives="Bool"), "TB4002 5:19"),
    "order of payload choices": (give("c < c", takes="c as C", gives="Bool", before=CHOICE), "TB4002 9:16"),
    "equality of different types": (give('n is "a"', takes="n as Int", gives="Bool"), "TB4002 6:16"),
    "is none": (give("n is none", takes="n as Optional Int", gives="Bool"), "TB4002 6:16"),
    "in a text": (give('"a" in t', takes="t as Text", gives="Bool"), "TB4002 6:18"),
    "never absent": (give("n is present", takes="n as Int", gives="Bool"), "TB4002 6:14"),
    "otherwise of what is never absent": (give("n otherwise 1", takes="n as Int"), "TB4002 6:14"),
    "position of an int": (give("n[0]", takes="n as Int"), "TB4002 6:14"),
    "wrong position": (give('n["a"]', takes="n as List of Int"), "TB4001 6:16"),
    "built-in with a wrong type": (give("length(n)", takes="n as Int"), "TB4002 6:14"),
    "text of a text": (give("text(t)", takes="t as Text", gives="Text"), "TB4002 6:14"),
    "sort without an order": (
        give("sorted(xs by .b)", takes="xs as List of A", gives="List of A", before="type A\n    b as Bool"),
        "TB4002 8:28",
    ),
    "with of no record": (give("n with (a: 1)", takes="n as Int"), "TB4002 6:14"),
    "when over a list": (
        body("when xs\n    is 1\n        give 1\n    else\n        give 2", takes="xs as List of Int"),
        "TB4002 6:14",
    ),
    "too few arguments": (give("slice(t, 1)", takes="t as Text", gives="Text"), "TB4003 6:14"),
    "unknown rounding mode": (give('round(1.5, 1, "half_upp")', gives="Decimal"), "TB4003 5:28"),
    "rounding mode is a literal": (give("round(1.5, 1, t)", takes="t as Text", gives="Decimal"), "TB4003 6:28"),
    "field missing": (give("A()", gives="A", before=RECORD), "TB4003 8:14"),
    "record without its fields": (give("A", gives="A", before=RECORD), "TB3007 8:14"),
    "field unnamed": (give('A("x")', gives="A", before=RECORD), "TB4003 8:16"),
    "field unknown": (give('A(name: "x", nte: "y")', gives="A", before=RECORD), "TB3003 8:27"),
    "field twice": (give('A(name: "x", name: "y")', gives="A", before=RECORD), "TB3002 8:27"),
    "changed field unknown": (give('a with (nme: "x")', takes="a as A", gives="A", before=RECORD), "TB3003 9:22"),
    "payload missing": (give("Paid", gives="C", before=CHOICE), "TB4003 8:14"),
    "payload where none is": (give('Held(receipt: "x")', gives="C", before=CHOICE), "TB4003 8:14"),
    "two unnamed arguments": (give("G(1)", before=FUNCTION), "TB4003 10:16"),
    "input missing": (give("G(a: 1)", before=FUNCTION), "TB4003 10:14"),
    "input unknown": (give("G(a: 1, b: 2, c: 3)", before=FUNCTION), "TB4003 10:28"),
    "function without brackets": (give("G", before=FUNCTION), "TB3007 10:14"),
    "Optional as its inside": (give("n", takes="n as Optional Int"), "TB4004 6:14"),
    "Optional in a sum": (give("n + 1", takes="n as Optional Int"), "TB4004 6:14"),
    "Optional compared": (give("n is 1", takes="n as Optional Int", gives="Bool"), "TB4004 6:14"),
    "Optional in a text": (give('"{n}"', takes="n as Optional Int", gives="Text"), "TB4004 6:16"),
    "field of an Optional": (give("a.name", takes="a as Optional A", gives="Text", before=RECORD), "TB4004 9:14"),
    "Optional list gone through": (
        body("for each a in n\n    give a\ngive 1", takes="n as Optional List of Int"),
        "TB4004 6:23",
    ),
    "Optional fallback": (give("n otherwise n", takes="n as Optional Int"), "TB4004 6:26"),
    "first gives an Optional": (give("first([1])"), "TB4004 5:14"),
    "argument of a built-in": (give("length(t)", takes="t as Optional Text"), "TB4004 6:21"),
    "literals for an Optional": (
        body("when n\n    is 1\n        give 1\n    else\n        give 2", takes="n as Optional Int"),
        "TB4004 6:14",
    ),
    "var is not narrowed": (body("var n = first([1])\nif n is present\n    give n\ngive 1"), "TB4004 7:18"),
    "not narrowed by or": (
        body("if n is present or m is present\n    give n\ngive 1", takes="n as Optional Int, m as Optional Int"),
        "TB4004 7:18",
    ),
    "not narrowed after an if that goes on": (
        body("var a = 0\nif n is absent\n    set a = 1\ngive n + a", takes="n as Optional Int"),
        "TB4004 9:14",
    ),
    "untold list": (body("let a = []\ngive 1"), "TB4005 5:17"),
    "untold none": (body("let a = none\ngive 1"), "TB4005 5:17"),
    "untold map": (body("var a = {}\ngive 1"), "TB4005 5:17"),
    "untold inside": (body("let a = [[]]\ngive 1"), "TB4005 5:17"),
    "untold argument": (give("length([])"), "TB4005 5:21"),
    "none for an int": (give("none"), "TB4001 5:14"),
    "untold sum": (body("let a = [] + []\ngive 1"), "TB4005 5:17"),
    "length of an Int": ("type A is Int length 3\n", "TB4006 2:15"),
    "min of a Text": ("type A is Text min 3\n", "TB4006 2:16"),
    "bound of another type": ("type A is Int min 0.5\n", "TB4006 2:19"),
    "length upside down": ("type A is Text length 5 to 3\n", "TB4006 2:16"),
    "bounds without a value": ("type A is Int min 5 max 3\n", "TB4006 2:11"),
    "bounds that leave nothing": ("type A is Decimal above 1 max 1.0\n", "TB4006 2:11"),
    "record in itself": ("type A\n    a as A\n", "TB4007 2:6"),
    "records in each other": ("type A\n    b as B\ntype B\n    a as A\n", "TB4007 2:6"),
    "list that is never empty": ("type A\n    a as List of A length min 1\n", "TB4007 2:6"),
    "choice without an end": ("choice A\n    B with a as A\n    C with a as A\n", "TB4007 2:8"),
    "alias of itself": ("type A is B\ntype B is A\n", "TB4007 2:6"),
    "alias within itself": ("type A is List of A\n", "TB4007 2:6"),
    "record in a text": (give('"{a}"', takes="a as A", gives="Text", before=RECORD), "TB4008 9:16"),
    "list in a text": (give('"{a}"', takes="a as List of Int", gives="Text"), "TB4008 6:16"),
    "payload choice in a text": (give('"{c}"', takes="c as C", gives="Text", before=CHOICE), "TB4008 9:16"),
    "let set": (body("let a = 1\nset a = 2\ngive a"), "TB4009 6:13"),
    "input set": (body("set n = 2\ngive n", takes="n as Int"), "TB4009 6:13"),
    "loop variable set": (body("for each a in [1]\n    set a = 2\ngive 1"), "TB4009 6:17"),
    "int out of range": (give("9223372036854775808"), "TB4010 5:14"),
    "decimal of too many digits": (give("1.2345678901234567890123456789012345", gives="Decimal"), "TB4010 5:14"),
    "float out of range": (give("1e400f", gives="Float"), "TB4010 5:14"),
    "time-out of nothing": ("tool T\n    timeout 0 seconds\n", "TB4010 3:13"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_types(name: str) -> None:
    text, expected = WRONG[name]
    found = compiled(text)
    assert found.air is None
    assert [each for each in problems(found) if not each.startswith("TB8")] == [expected]


def test_one_cause_one_message() -> None:
    found = compiled(body("let a = unknown\nlet b = a + 1\nlet c = [b, a]\ngive length(c) + a.b[0]"))
    assert problems(found) == ["TB3001 5:17"]


def test_independent_errors_come_together() -> None:
    found = compiled(body('let a as Int = "x"\nlet b as Text = 1\ngive length(b) + a + c'))
    assert problems(found) == ["TB4001 5:24", "TB4001 6:25", "TB3001 7:30"]


# --- what fits --------------------------------------------------------------------------------------------------------


FITS = {
    "int literal as decimal": ("3", "", "Decimal", ["dec", "3"]),
    "int as decimal": ("n", "n as Int", "Decimal", ["widen", ["slot", 0]]),
    "wrapped once": ("n", "n as Int", "Optional Int", ["some", ["slot", 0]]),
    "widened and wrapped": ("n", "n as Int", "Optional Decimal", ["some", ["widen", ["slot", 0]]]),
    "wrapped outside": ("n", "n as Optional Int", "Optional Optional Int", ["some", ["slot", 0]]),
    "none": ("none", "", "Optional Text", ["absent", "Text"]),
    "empty list": ("[]", "", "List of Int", ["list", "Int", []]),
    "empty map": ("{}", "", "Map of Int", ["map", "Int", []]),
    "elements widened": ("[1, 2.5]", "", "List of Decimal", ["list", "Decimal", [["dec", "1"], ["dec", "2.5"]]]),
    "elements wrapped": (
        "[1, none]",
        "",
        "List of Optional Int",
        ["list", ["Optional", "Int"], [["some", ["int", 1]], ["absent", "Int"]]],
    ),
    "list in an Optional": ("[]", "", "Optional List of Int", ["some", ["list", "Int", []]]),
    "least int": ("-9223372036854775808", "", "Int", ["int", "-9223372036854775808"]),
    "int beyond 2^53": ("9007199254740992", "", "Int", ["int", "9007199254740992"]),
    "int within 2^53": ("-9007199254740991", "", "Int", ["int", -9007199254740991]),
    "negative decimal": ("-12.50", "", "Decimal", ["dec", "-12.50"]),
    "negative float": ("-1e-3f", "", "Float", ["float", "-0.001"]),
    "duration": ("90 minutes", "", "Duration", ["duration", "PT1H30M"]),
    "date": ('date "2026-01-31"', "", "Date", ["date", "2026-01-31"]),
    "datetime": (
        'datetime "2026-01-31T12:00:00.500+02:00"',
        "",
        "DateTime",
        ["datetime", "2026-01-31T12:00:00.5+02:00"],
    ),
}


@pytest.mark.parametrize("name", FITS)
def test_values_that_fit(name: str) -> None:
    expression, takes, gives, expected = FITS[name]
    assert value(expression, takes, gives) == expected


HINTED = [
    ("xs + []", "xs as List of Int", "List of Int"),
    ("[] + xs", "xs as List of Int", "List of Int"),
    ("merge(m, {})", "m as Map of Int", "Map of Int"),
    ("merge({}, m)", "m as Map of Int", "Map of Int"),
    ("reversed([])", "", "List of Int"),
    ("first([])", "", "Optional Int"),
    ("[] if n is absent else [n]", "n as Optional Int", "List of Int"),
    ("n otherwise []", "n as Optional List of Int", "List of Int"),
    ("length([] if true else [1])", "", "Int"),
    ("[x for x in xs if x in []]", "xs as List of Int", "List of Int"),
    ("[] is xs", "xs as List of Int", "Bool"),
    ("Low in xs", "xs as List of C", "Bool"),
    ("c in [Low, High]", "c as C", "Bool"),
    ("c < High and Low < c", "c as C", "Bool"),
    ("[Low] + [High, C.Low]", "", "List of C"),
    ('{"a": Low}', "", "Map of C"),
    ("Low", "", "Optional C"),
    ("Low if c is High else c", "c as C", "C"),
    ("length([n if true else none, none])", "n as Int", "Int"),
    ("min([Low]) otherwise c", "c as C", "C"),
    ("sorted([High, Low], )", "", "List of C"),
]


@pytest.mark.parametrize(("expression", "takes", "gives"), HINTED)
def test_expected_types_reach_inside(expression: str, takes: str, gives: str) -> None:
    expression = expression.replace(", )", ")")
    air(give(expression, takes, gives, before="choice C is Low, High"))


NARROWED = {
    "branch": "if n is present\n    give n\ngive 0",
    "else": "if n is absent\n    give 0\nelse\n    give n",
    "negation": "if not (n is absent)\n    give n\ngive 0",
    "and": "if n is present and n > 1\n    give n\ngive 0",
    "or of absent": "if n is absent or n > 1\n    give 0\ngive n",
    "conditional": "give n if n is present else 0",
    "early exit": "if n is absent\n    give 0\ngive n",
    "early fail": 'if n is absent\n    fail "nothing"\ngive n',
    "require": 'require n is present else "nothing"\ngive n',
    "continue": "var a = 0\nfor each m in [n]\n    if m is absent\n        continue\n    set a = a + m\ngive a",
    "break": "var a = 0\nrepeat up to 2 times\n    if n is absent\n        break\n    set a = a + n\ngive a",
    "while": "repeat up to 2 times while n is present\n    give n\ngive 0",
    "else if": "if n is absent\n    give 0\nelse if n > 5\n    give n\ngive n + 1",
    "comprehension": "give sum([m for m in [n] if m is present])",
    "when": "when n\n    is absent\n        give 0\n    is present as m\n        give m + n",
    "after when": "when n\n    is absent\n        give 0\n    is present as m\n        let _a = m\ngive n",
    "both branches": "if n is present\n    let _a = n\nelse\n    give 0\ngive n",
    "let": "let m = n\nif m is absent\n    give 0\ngive m",
    "field path": "let a = [Holder(value: n)]\nfor each h in a\n    if h.value is present and h.value > 1\n        give h.value\ngive 0",
    "nested path": 'let a = Outer(holder: Holder(value: n))\nrequire a.holder is present else "no"\n'
    'require a.holder.value is present else "no"\ngive a.holder.value',
    "wraps again": "if n is present\n    let _a as Optional Int = n\ngive 0",
    "otherwise": "let m = first([1]) otherwise 2\ngive m + (n otherwise 0)",
}


@pytest.mark.parametrize("name", NARROWED)
def test_narrowing(name: str) -> None:
    before = "type Holder\n    value as Optional Int\ntype Outer\n    holder as Optional Holder"
    found = compiled(body(NARROWED[name], takes="n as Optional Int", before=before))
    assert problems(found) == []


def test_narrowed_values_are_opened() -> None:
    assert value("n if n is present else 0", takes="n as Optional Int") == [
        "if",
        ["present", ["slot", 0]],
        ["open", ["slot", 0]],
        ["int", 0],
    ]


# --- constraints ------------------------------------------------------------------------------------------------------


def test_constraints_in_declarations() -> None:
    found = air(
        "type A is Text length 1 to 40\ntype B is Optional Decimal min 0 below 1.5\n"
        "type C is List of (A length max 3) length min 1\ntype D is Duration above 30 seconds\n"
        'type E is Date min date "2026-01-31"\ntype F is Optional A length 2\n'
    )["types"]
    assert [found[f"type:app/{name}"]["of"] for name in "ABCDEF"] == [
        ["is", "Text", [["length", 1, 40]]],
        ["Optional", ["is", "Decimal", [["min", ["dec", "0"]], ["below", ["dec", "1.5"]]]]],
        ["is", ["List", ["is", "type:app/A", [["length", None, 3]]]], [["length", 1, None]]],
        ["is", "Duration", [["above", ["duration", "PT30S"]]]],
        ["is", "Date", [["min", ["date", "2026-01-31"]]]],
        ["Optional", ["is", "type:app/A", [["length", 2, 2]]]],
    ]


PLACES = {
    "let": ("let a as Small = n\ngive a", [["set", 1, ["constrain", "type:app/Small", "a", ["slot", 0]]]]),
    "set": (
        "var a as Small = 1\nset a = n\ngive a",
        [
            ["set", 1, ["constrain", "type:app/Small", "a", ["int", 1]]],
            ["set", 1, ["constrain", "type:app/Small", "a", ["slot", 0]]],
        ],
    ),
    "list": (
        "let a as List of Small = [n]\ngive length(a)",
        [["set", 1, ["constrain", ["List", "type:app/Small"], "a", ["list", "Int", [["slot", 0]]]]]],
    ),
    "optional": (
        "let _a as Optional Small = n\ngive 1",
        [["set", 1, ["constrain", ["Optional", "type:app/Small"], "_a", ["some", ["slot", 0]]]]],
    ),
    "argument": (
        "let _a = Take(n)\ngive 1",
        [["set", 1, ["apply", "function:app/Take", [["constrain", "type:app/Small", "small", ["slot", 0]]]]]],
    ),
    "field": (
        "let _a = Holder(small: n)\ngive 1",
        [["set", 1, ["record", "type:app/Holder", [["constrain", "type:app/Small", "small", ["slot", 0]]]]]],
    ),
    "changed field": (
        "let _a = Holder(small: 1) with (small: n)\ngive 1",
        [
            [
                "set",
                1,
                [
                    "with",
                    ["record", "type:app/Holder", [["constrain", "type:app/Small", "small", ["int", 1]]]],
                    [["small", ["constrain", "type:app/Small", "small", ["slot", 0]]]],
                ],
            ]
        ],
    ),
    "payload": (
        "let _a = Choice.Held(small: n)\ngive 1",
        [["set", 1, ["make", "type:app/Choice", "Held", [["constrain", "type:app/Small", "small", ["slot", 0]]]]]],
    ),
}

SMALL = (
    "type Small is Int min 0 max 9\ntype Holder\n    small as Small\nchoice Choice\n    Held with small as Small\n"
    "function Take\n    takes small as Small\n    gives Int\n    do\n        give small"
)


@pytest.mark.parametrize("name", PLACES)
def test_every_place_checks_its_constraints(name: str) -> None:
    lines, expected = PLACES[name]
    assert code(lines, takes="n as Int", before=SMALL)[: len(expected)] == expected


def test_give_checks_its_constraints() -> None:
    assert value("n", takes="n as Int", gives="Small", before=SMALL) == [
        "constrain",
        "type:app/Small",
        "$",
        ["slot", 0],
    ]


def test_call_result_with_a_declared_type() -> None:
    assert code(
        "let a as Small = call T(1)\ngive a",
        kind="strategy",
        before=SMALL + "\ntool T\n    takes n as Small\n    gives Int\n    effect none",
    ) == [
        ["call", 1, 1, "tool:app/T", [["constrain", "type:app/Small", "n", ["int", 1]]]],
        ["set", 0, ["constrain", "type:app/Small", "a", ["slot", 1]]],
        ["give", ["slot", 0]],
    ]


def test_slots_have_base_types() -> None:
    found = air(body("let a as List of Small = []\ngive length(a)", takes="n as Small", before=SMALL))
    assert found["callables"]["function:app/F"]["slots"] == [["n", "Int"], ["a", ["List", "Int"]]]


# --- forms ------------------------------------------------------------------------------------------------------------


def test_forms() -> None:
    assert fit("Int", ("Optional", "Decimal")) == "widen and wrap"
    assert fit("Decimal", "Int") is None
    assert fit(("List", "Int"), ("List", "Decimal")) is None
    assert fit(UNKNOWN, "Int") == "same"
    assert common("Int", "Decimal") == "Decimal"
    assert common(("Optional", BOTTOM), "Int") == ("Optional", "Int")
    assert common("Text", "Int") is None
    assert show(("Optional", ("List", "type:app/A"))) == "Optional List of A"
    binding = Binding()
    assert binding.match(("List", "T"), ("List", "Int"))
    assert binding.apply(("Map", "T")) == ("Map", "Int")
    assert not binding.match("T", "Text")


def test_deep_types_are_refused() -> None:
    assert problems(compiled("type A\n    b as " + "List of " * 40 + "Int\n"))[0].startswith("TB9006 3:")
    chain = "\n".join(f"type A{number} is List of A{number + 1}" for number in range(200))
    found = problems(compiled(chain + "\ntype A200 is Int\n"))
    assert all(each.startswith("TB9006") for each in found)
    assert found != []


# --- what is expected of an `otherwise` ------------------------------------------------------------------------------

AROUND = (
    "n as Int, c as Bool, d as Decimal, o as Optional Int, od as Optional Decimal, oo as Optional Optional Int, "
    "counts as Map of Int, prices as Map of Decimal"
)


@pytest.mark.parametrize(
    ("gives", "expression"),
    [
        # An Optional inside an Optional is opened once or twice.
        ("Optional Int", "first([first([n])]) otherwise none"), ("Optional Int", "first([first([n])]) otherwise n"),
        ("Int", "(first([first([n])]) otherwise none) otherwise 0"), ("Int", "(first([o]) otherwise none) otherwise 0"),
        ("Optional Int", "last([first([n]), none]) otherwise first([n])"),
        ("Int", "((first([first([first([n])])]) otherwise none) otherwise none) otherwise 1"),
        ("Optional C", "first([Held, none]) otherwise Held"), ("Optional Int", "first([n]) otherwise 0"),
        ("Optional Decimal", "first([od, n]) otherwise none"),
        ("Optional Int", "first(values({\"a\": first([n])})) otherwise none"),
        ("Optional Int", "first([first([n])] if c else [n]) otherwise none"),
        # Where a Decimal is expected an Int will do, or the list is one of Decimals: what stands beside it decides.
        ("Decimal", "(first([n]) if c else counts[\"k\"]) otherwise n"),
        ("Decimal", "(counts[\"k\"] if c else first([n])) otherwise n"),
        ("Decimal", "(max([n]) if c else counts[\"k\"]) otherwise n"),
        ("Decimal", "(first([n]) if c else prices[\"k\"]) otherwise n"),
        ("Decimal", "(prices[\"k\"] if c else first([n])) otherwise n"),
        ("Decimal", "(first([n]) if c else first([d])) otherwise n"), ("Decimal", "first([1, 2]) otherwise 0.5"),
        ("Decimal", "first([n] + [d]) otherwise 0"), ("Optional Decimal", "first([n]) otherwise d"),
        ("List of Decimal", "first([[1], [2]]) otherwise [1]"), ("Decimal", "min([]) otherwise 1"),
    ],
)  # fmt: skip
def test_an_otherwise_where_a_type_is_expected(gives: str, expression: str) -> None:
    value(expression, takes=AROUND, gives=gives, before=CHOICE)


@pytest.mark.parametrize(
    ("gives", "expression", "problem"),
    [
        ("Int", 'first(["a"]) otherwise 1', "TB4001 6:21"), ("Optional Int", 'first(["a", "b"]) otherwise 1', "TB4001 6:21"),
        ("Decimal", 'first(["a"]) otherwise 1', "TB4001 6:21"), ("Optional Int", "first([oo]) otherwise 1", "TB4004 6:21"),
        ("Decimal", "first([nobody]) otherwise 1", "TB3001 6:21"), ("Int", "first([first([n])]) otherwise 1", "TB4004 6:21"),
    ],
)  # fmt: skip
def test_what_does_not_fit_behind_an_otherwise(gives: str, expression: str, problem: str) -> None:
    found = compiled(give(expression, takes=AROUND, gives=gives))
    assert problems(found) == [problem]
    assert all("fitting" not in each.title + each.label for each in found.diagnostics)


def test_what_is_expected_does_not_change_what_is_absent() -> None:
    # An absent one is absent for `otherwise`: it is not wrapped because an Optional is expected.
    for expression in (
        "first([]) otherwise 5",
        "(o if c else first([])) otherwise 5",
        "(o if c else none) otherwise 5",
    ):
        made = value(expression, takes=AROUND, gives="Optional Int")
        assert made[0] == "some", expression
        assert "some" not in str(made[1]), expression


def test_a_key_that_is_known_to_be_present() -> None:
    value('{t: 1} if t is present else {"": 0}', takes="t as Optional Text", gives="Map of Int")
    assert problems(compiled(give("{t: 1}", takes="t as Optional Text", gives="Map of Int"))) == ["TB4004 6:15"]


@pytest.mark.parametrize(
    "line",
    [
        "let xs = [Small] if c else [S.Large for x in [n] if x > 1]",
        "let xs = [S.Small] if c else [Large for x in [n] if x > 1]",
        'let xs = [Problem(code: "A", message: "b", ref: "1")] if c else [] if c else []',
    ],
)
def test_branches_tell_each_other(line: str) -> None:
    found = compiled(body(f"{line}\ngive length(xs)", takes="n as Int, c as Bool", before=SIZE))
    assert [each.title for each in found.diagnostics] == []
