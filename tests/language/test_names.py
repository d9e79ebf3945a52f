"""Names: modules, imports, declarations, fields, and what is said about those that are unknown, twice or unused."""

from __future__ import annotations

import pytest

from tests.language.programs import Texts, air, body, compiled, problems
from touba_cli.language.circles import circles
from touba_cli.language.compiler import compile_program

OTHER = "module shop.types\ntype Line\n    name as Text\ntype Order\n    id as Text\nchoice Size is Small, Large\n"
PAY = "tool Pay\n    takes a as Int\n    gives Text\n    effect none\n"

WRONG: dict[str, tuple[str, str]] = {
    "unknown value": (body("give nn", takes="n as Int"), "TB3001 6:14"),
    "unknown once a callable": (body("let a = xx\nlet b = xx\ngive a + b + xx"), "TB3001 5:17"),
    "unknown type": ("type A\n    b as Strin\n", "TB3001 3:10"),
    "unknown type once a module": ("type A\n    b as Strin\n    c as Strin\n", "TB3001 3:10"),
    "unknown function": (
        body("give Totl(1)", before="function Total\n    takes n as Int\n    gives Int\n    do\n        give n"),
        "TB3001 10:14",
    ),
    "unknown callable": (body("call Pya(1)\ngive 1", kind="strategy", before=PAY), "TB3001 9:14"),
    "unknown module prefix": (body("give m.Total(1)"), "TB3001 5:14"),
    "unknown grant": ("tool T\n    requires netwrk\n    effect none\n", "TB5003 3:14"),
    "generic type without its inside": ("type A\n    b as List\n", None),
    "declared twice": ("type A\n    b as Int\ntype A\n    c as Int\n", "TB3002 4:6"),
    "declared as type and function": (
        "type A\n    b as Int\nfunction A\n    gives Int\n    do\n        give 1\n",
        "TB3002 4:10",
    ),
    "built-in type declared": ("type Text\n    b as Int\n", "TB3002 2:6"),
    "field twice": ("type A\n    b as Int\n    b as Text\n", "TB3002 4:5"),
    "wire name twice": ('type A\n    b as Int named "c"\n    c as Text\n', "TB3002 4:5"),
    "input twice": (body("give 1", takes="a as Int, a as Text"), "TB3002 3:21"),
    "variant twice": ("choice A is B, C, B\n", "TB3002 2:19"),
    "variant field named choice": ("choice A\n    B with choice as Int\n", "TB3002 3:12"),
    "secret twice": ("tool T\n    secret a\n    secret a\n    effect none\n", "TB3002 4:12"),
    "let shadows an input": (body("let n = 1\ngive n", takes="n as Int"), "TB3002 6:13"),
    "let shadows across blocks": (body("let a = 1\nif true\n    let a = 2\n    give a\ngive a"), "TB3002 7:17"),
    "loop shadows": (body("for each n in [1]\n    give n\ngive n", takes="n as Int"), "TB3002 6:18"),
    "comprehension shadows": (body("give sum([n for n in [1]])", takes="n as Int"), "TB3002 6:25"),
    "arm shadows": (
        body("when first([n])\n    is present as n\n        give n\n    is absent\n        give 0", takes="n as Int"),
        "TB3002 7:27",
    ),
    "unknown field": (
        body("give a.nme", takes="a as A", gives="Text", before="type A\n    name as Text"),
        "TB3003 8:16",
    ),
    "field of a plain value": (body("give n.length", takes="n as Text"), "TB3003 6:16"),
    "field of a map": (body("give m.a", takes="m as Map of Int"), "TB3003 6:16"),
    "payload outside when": (body("give a.b", takes="a as A", before="choice A\n    B with b as Int"), "TB3003 8:16"),
    "unknown variant": (body("give Hgih", gives="A", before="choice A is High, Low"), "TB3009 6:14"),
    "unknown variant behind its choice": (
        body("give A.Hgih", gives="A", before="choice A is High, Low"),
        "TB3009 6:16",
    ),
    "unknown variant in an arm": (
        body(
            "when a\n    is Hgih\n        give 1\n    else\n        give 2",
            takes="a as A",
            before="choice A is High, Low",
        ),
        "TB3009 8:16",
    ),
    "unknown variant in a test": (
        body("give a is Hgih", takes="a as A", gives="Bool", before="choice A is High, Low"),
        "TB3009 7:19",
    ),
    "variant without its choice": (
        body("let a = Low\ngive 1 if a is Low else 2", before="choice A is High, Low"),
        "TB4005 6:17",
    ),
    "unknown built-in": (body("give lenght(t)", takes="t as Text"), "TB3010 6:14"),
    "tool in an expression": (body("give Pay(1)", kind="strategy", gives="Text", before=PAY), "TB3007 9:14"),
    "function called by call": (
        body(
            "give call G(1)",
            kind="strategy",
            before="function G\n    takes n as Int\n    gives Int\n    do\n        give n",
        ),
        "TB3007 10:14",
    ),
    "type called": (body("call A(1)\ngive 1", kind="strategy", before="type A\n    b as Int"), "TB3007 7:14"),
    "callable as a type": ("type A\n    b as Pay\n" + PAY, "TB3007 3:10"),
    "choice as a value": (body("give A", gives="A", before="choice A is B, C"), "TB3007 6:14"),
    "alias as a record": (body("let a = A(1)\ngive 1", before="type A is Int min 0"), "TB3007 6:17"),
    "record as a choice": (body("let a = A.B\ngive 1", before="type A\n    b as Int"), "TB3007 7:17"),
    "Touba's own module": ("module touba\ntype A\n    b as Int\n", "TB3008 1:8"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_names(name: str) -> None:
    text, expected = WRONG[name]
    errors = [each for each in problems(compiled(text)) if not each.startswith("TB8")]
    if expected is None:
        assert errors != []
    else:
        assert errors == [expected]


def test_nearest_name_is_a_candidate() -> None:
    found = compiled(body("give invoice.ammount", takes="invoice as A", before="type A\n    amount as Int"))
    problem = found.diagnostics[0]
    assert problem.label == "did you mean `amount`?"
    assert problem.candidates == ("amount",)
    assert [related.label for related in problem.related] == ["declared here"]


def test_names_that_are_fine() -> None:
    air(body("let count = count([true])\nlet _unused = 1\ngive count", takes="text as Text"))
    air(body("if n > 0\n    let a = 1\n    give a\nlet a = 2\ngive a", takes="n as Int"))
    air(body("give 1", before="type Problem\n    type as Text\n    if as Int"))


# --- imports ----------------------------------------------------------------------------------------------------------


def test_both_imports() -> None:
    found = air(
        "import shop.types as types\nimport shop.more\nfrom shop.types import Line, Size\n"
        "function F\n    takes a as Line, b as types.Order, c as Size\n    gives Int\n    do\n"
        "        give 1 if c is types.Size.Small and c is not Size.Large else shop.more.One()\n",
        {
            "shop/types.tb": OTHER,
            "src/shop/more.tb": "module shop.more\nfunction One\n    gives Int\n    do\n        give 1\n",
        },
    )
    assert found["modules"] == ["app", "shop.more", "shop.types"]
    assert [each["type"] for each in found["callables"]["function:app/F"]["takes"]] == [
        "type:shop.types/Line",
        "type:shop.types/Order",
        "type:shop.types/Size",
    ]
    assert found["source_map"]["files"] == ["main.tb", "shop/types.tb", "src/shop/more.tb"]


IMPORTS: dict[str, tuple[str, dict[str, str], list[str]]] = {
    "missing module": ("import shop.typs\n", {"shop/types.tb": OTHER}, ["TB3004 2:8"]),
    "found twice": ("import shop.types\n", {"shop/types.tb": OTHER, "src/shop/types.tb": OTHER}, ["TB3004 2:8"]),
    "another module line": (
        "from shop.types import Line\ntype A\n    b as Line\n",
        {"shop/types.tb": OTHER.replace("shop.types", "shop.type")},
        ["shop/types.tb TB3008 1:8"],
    ),
    "unknown import": ("from shop.types import Lin\ntype A\n    b as Lin\n", {"shop/types.tb": OTHER}, ["TB3006 2:24"]),
    "a missing module silences its names": (
        "import shop.typs as t\nfrom shop.typs import Line\ntype A\n    b as Line\n    c as t.Any\n",
        {"shop/types.tb": OTHER},
        ["TB3004 2:8"],
    ),
    "imported and declared": (
        "from shop.types import Line\ntype Line\n    b as Text\n",
        {"shop/types.tb": OTHER},
        ["TB3002 3:6"],
    ),
    "imported twice": (
        "from shop.types import Line, Line\ntype A\n    b as Line\n",
        {"shop/types.tb": OTHER},
        ["TB3002 2:30"],
    ),
    "one name for two modules": (
        "import shop.types as t\nimport shop.more as t\ntype A\n    b as t.Line\n",
        {"shop/types.tb": OTHER, "shop/more.tb": "module shop.more\n"},
        ["TB3002 3:21"],
    ),
    "unknown in a module": (
        "import shop.types as t\ntype A\n    b as t.Lin\n",
        {"shop/types.tb": OTHER},
        ["TB3001 4:12"],
    ),
    "a module that imports itself": ("import app\ntype A\n    b as app.B\ntype B\n    c as Int\n", {}, ["TB3005 2:8"]),
    "the entry by its path": ("import main\ntype A\n    b as Int\n", {}, ["TB3008 2:8"]),
}


@pytest.mark.parametrize("name", IMPORTS)
def test_wrong_imports(name: str) -> None:
    text, others, expected = IMPORTS[name]
    assert [each for each in problems(compiled(text, others)) if "TB8" not in each] == expected


def test_import_circle_is_one_error_from_its_smallest_name() -> None:
    found = compiled(
        "import c\ntype T\n    x as c.T\n",
        {
            "c.tb": "module c\nimport b\ntype T\n    x as b.T\n",
            "b.tb": "module b\nimport a\ntype T\n    x as a.T\n",
            "a.tb": "module a\nimport c\ntype T\n    x as Optional c.T\n",
        },
    )
    assert problems(found) == ["a.tb TB3005 2:8"]
    assert "a → c → b → a" in found.diagnostics[0].title


def test_errors_of_all_modules_come_together() -> None:
    found = compiled(
        "import other\ntype A\n    b as Strin\n    c as other.B\n",
        {"other.tb": "module other\ntype B\n    c as Strin\n"},
    )
    assert problems(found) == ["TB3001 4:10", "other.tb TB3001 3:10"]


def test_entry_that_cannot_be_read() -> None:
    with pytest.raises(FileNotFoundError):
        compile_program(Texts({}), "main.tb")


# --- unused -----------------------------------------------------------------------------------------------------------


def fixed(text: str, others: dict[str, str]) -> str:
    """The program after every fix."""
    found = compiled(text, others)
    for each in reversed(found.diagnostics):
        if each.fix is not None:
            whole = each.source.text
            text = whole[: each.fix.span.start] + each.fix.text + whole[each.fix.span.end :]
    return text


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("import shop.types\n", ""),
        ("import shop.types as t\n", ""),
        ("from shop.types import Line, Size\n", ""),
        ("from shop.types import Line, Order, Size\n", "from shop.types import Order\n"),
    ],
)
def test_unused_imports_have_a_fix(line: str, left: str) -> None:
    use = "type A\n    b as Order\n" if left else "type A\n    b as Int\n"
    others = {"shop/types.tb": OTHER}
    assert problems(compiled("module app\n" + line + use, others))[0].startswith("TB8001 2:")
    assert fixed("module app\n" + line + use, others) == "module app\n" + left + use


def test_unused_lets_are_warnings() -> None:
    found = compiled(body("let a = 1\nvar b = 2\nset b = 3\nlet _c = 4\ngive n", takes="n as Int, unused as Int"))
    assert not found.failed
    assert problems(found) == ["TB8001 6:13", "TB8001 7:13"]


def test_nothing_is_called_unused_where_something_could_not_be_read() -> None:
    found = compiled(body("let a = 1\nlet b = a $ 2\ngive 1"))
    assert found.failed
    assert [each for each in problems(found) if each.startswith("TB8001")] == []


def test_circles() -> None:
    assert circles({"a": ["b", "c"], "b": ["a"], "c": ["a"], "d": ["d"], "e": ["a", "z"]}) == [["a", "b"], ["d"]]
    chain = {str(number): [str(number + 1)] for number in range(5000)}
    assert circles(chain) == []
