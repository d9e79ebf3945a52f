"""What people write who know Python: each habit in a whole program gives one error, at its place, with the repair."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.language.programs import Texts, compiled, problems
from touba_cli.language.compiler import compile_program
from touba_cli.language.diagnostics import Diagnostic

CASES = Path(__file__).resolve().parent.parent / "conformance"


def strategy(lines: str) -> str:
    """A program whose statements begin in line 9, at column 9."""
    head = [
        "module app", "type Order", "    id as Text", "strategy S",
        "    takes n as Int, s as Text, xs as List of Int, o as Optional Int, flag as Bool, d as Decimal",
        "    gives Int", "    # statements", "    do",
    ]  # fmt: skip
    return "\n".join([*head, *("        " + line for line in lines.split("\n")), "        give n", ""])


def errors(text: str) -> list[Diagnostic]:
    return [each for each in compiled(text).diagnostics if each.severity == "error"]


def only(text: str) -> tuple[str, str]:
    """Place and label of the one problem."""
    found = compiled(text)
    (place,) = problems(found)
    return place, found.diagnostics[0].label


#: habit, program, place of the one error, what its label says
PROGRAMS = [
    ("def", "module app\ndef double(x):\n    return x * 2\n", "TB2008 2:1", "write `function Name`"),
    (
        "def with everything",
        'module app\ndef f(a: int, b: List[int] = []) -> Dict[str, int]:\n    """doc"""\n    x = {\'a\': 1}\n'
        "    for i in b:\n        x[i] = f'{i}'; y = i // 2\n    try:\n        pass\n    except Exception as e:\n"
        "        raise ValueError('x')\n    return x\n",
        "TB2008 2:1", "write `function Name`",
    ),
    (
        "def and its use",
        "module app\ndef double(x):\n    return x * 2\nfunction F\n    gives Int\n    do\n        give double(3)\n",
        "TB2008 2:1", "write `function Name`",
    ),
    ("class", "module app\nclass Order:\n    id: str\n    amount: int\n", "TB2008 2:1", "write `type Name`"),
    (
        "class with methods",
        "module app\nclass Order:\n    def __init__(self, id):\n        self.id = id\n\n    def total(self):\n"
        "        return self.id\ntype Cart\n    orders as List of Order\n",
        "TB2008 2:1", "write `type Name`",
    ),
    ("return", strategy("if flag\n    return 3"), "TB2008 10:13", "write `give`"),
    ("print", strategy('print("hi")'), "TB2008 9:9", 'write `show "hi"`'),
    ("print of a value", strategy("print(n)"), "TB2008 9:9", 'write `show "{n}"`'),
    ("elif", strategy('if flag\n    show "a"\nelif n > 2\n    show "b"'), "TB2008 11:9", "write `else if`"),
    ("else:", strategy('if flag\n    show "a"\nelse:\n    show "b"'), "TB2008 11:13", "ends without `:`"),
    ("==", strategy('if n == 1\n    show "a"'), "TB2008 9:14", "equality is written `is`"),
    ("==, :", strategy('if n == 1:\n    show "a"'), "TB2008 9:14", "equality is written `is`"),
    ("!=", strategy('if n != 1\n    show "a"'), "TB2008 9:14", "inequality is written `is not`"),
    ("&&", strategy('if flag && flag\n    show "a"'), "TB2008 9:17", "write `and`"),
    ("!", strategy('if !flag\n    show "a"'), "TB2008 9:12", "write `not`"),
    ("None", strategy("let _a as Optional Int = None"), "TB2008 9:34", "written `none`"),
    ("is None", strategy("if o is None\n    give 1\nlet _a = o + 1"), "TB2008 9:14", "write `is absent`"),
    ("== None", strategy("if o == None\n    give 1\nlet _a = o + 1"), "TB2008 9:14", "write `is absent`"),
    ("is not None", strategy("if o is not None\n    give o + 1"), "TB2008 9:14", "write `is present`"),
    ("True", strategy('if flag is True\n    show "a"'), "TB2008 9:20", "write `true`"),
    ("'text'", strategy("let _a = 'text'"), "TB2008 9:18", 'write `"text"`'),
    ('f"…"', strategy('let _a = f"n is {n}"'), "TB2008 9:18", "without `f`"),
    ("f'…'", strategy("let _a = f'n is {n}'"), "TB2008 9:18", 'write `"n is {n}"`'),
    ("x = 1", strategy('x = 1\nshow "{x}"'), "TB2008 9:9", "write `let x = …` for a new name, `set x = …`"),
    ("x += 1", strategy("var x = 1\nx += 1\ngive x"), "TB2008 10:9", "write `set x = x + …`"),
    ("len()", strategy("let _a = len(s) + 1"), "TB3010 9:18", "write `length(s)`"),
    ("len() of a list", strategy("let _a = len(xs) + 1"), "TB3010 9:18", "write `length(xs)`"),
    ("str()", strategy('let _a = "n is " + str(n)'), "TB3010 9:28", "write `text(n)`"),
    ("s.upper()", strategy("let _a = s.upper()"), "TB2011 9:20", "write `upper(s)`"),
    ("s.strip()", strategy("let _a = s.strip()"), "TB2011 9:20", "write `trim(s)`"),
    ("xs.append()", strategy("xs.append(3)"), "TB2005 9:9", "write `set xs = xs + [3]`"),
    ("xs = xs.append()", strategy("let _a = xs.append(n + 1)"), "TB2011 9:21", "write `xs + [n + 1]`"),
    ("for x in xs:", strategy('for x in xs:\n    show "{x}"'), "TB2008 9:9", "write `for each x in xs`"),
    ("while", strategy('while flag:\n    show "a"'), "TB2008 9:9", "write `repeat up to N times while …`"),
    ("try/except", strategy('try:\n    show "a"\nexcept:\n    show "b"'), "TB2008 9:9", "write `attempt`, and `on failure"),
    (
        "try/except as",
        strategy('try:\n    show "a"\nexcept ValueError as e:\n    show "{e.message}"'),
        "TB2008 9:9", "write `attempt`, and `on failure",
    ),
    ("raise", strategy('if flag\n    raise ValueError("bad")'), "TB2008 10:13", 'write `fail "…"`'),
    ("assert", strategy('assert n > 1, "bad"'), "TB2008 9:9", 'write `require condition else "…"`'),
    ("str", "module app\ntype Order\n    id as str\n", "TB2008 3:11", "write `Text`"),
    ("int", "module app\nfunction F\n    takes x as int\n    gives Int\n    do\n        give x\n", "TB2008 3:16", "write `Int`"),
    ("gives int", "module app\nfunction F\n    gives int\n    do\n        give 1\n", "TB2008 3:11", "write `Int`"),
    ("List[int]", "module app\ntype Order\n    ids as List[int]\n", "TB2008 3:16", "write `List of Int`"),
    ("list[str]", "module app\ntype Order\n    ids as list[str]\n", "TB2008 3:12", "write `List of Text`"),
    ("Dict[str, int]", "module app\ntype Order\n    ids as Dict[str, int]\n", "TB2008 3:16", "write `Map of Int`"),
    ("Optional[int]", "module app\ntype Order\n    age as Optional[int]\n", "TB2008 3:20", "write `Optional Int`"),
    ("Optional[List[int]]", "module app\ntype A\n    b as Optional[List[int]]\n", "TB2008 3:18", "write `Optional List of Int`"),
    ("Int | None", "module app\ntype Order\n    age as Int | None\n", "TB2008 3:16", "write `Optional Int`"),
    ("x: int", "module app\ntype Order\n    age: int\n", "TB2008 3:8", "write `age as Int`"),
    ("x: int = 1", strategy("x: int = 1\ngive x"), "TB2008 9:9", "write `let x as Int = …`"),
    ("let x: int = 1", strategy("let x: int = 1\ngive x"), "TB2008 9:14", "write `x as Int`"),
    ("takes x: int", "module app\nfunction F\n    takes x: int\n    gives Int\n    do\n        give x\n", "TB2008 3:12", "write `x as Int`"),
    ("//", strategy("let _a = n // 2"), "TB2008 9:20", "whole division is written `div`"),
    ("%", strategy("let _a = n % 2"), "TB2008 9:20", "the remainder is written `mod`"),
    ("**", strategy("let _a = n ** 2"), "TB2008 9:20", "multiply with `*`"),
    (";", strategy("let _a = n;"), "TB2008 9:19", "a statement ends with its line"),
    ("// comment", strategy("// count them"), "TB2008 9:9", "a comment begins with `#`"),
    ("// behind a line", strategy("let _a = n // count them"), "TB2008 9:20", "a comment begins with `#`"),
    ("// divides", strategy("let _a = n // 2"), "TB2008 9:20", "whole division is written `div`"),
    ("a comment without #", strategy("this counts them."), "TB2005 9:9", "a comment begins with `#`"),
    ("a comment without #, outside", "module app\nthis counts them\n" + strategy('show "x"').removeprefix("module app\n"),
     "TB2005 2:1", "a comment begins with `#`"),
    ("class in a body", strategy("class A:\n            x: int"), "TB2008 9:9", "a `type` stands outside"),
    ("+ in a payload",
     "module app\nstrategy S\n    takes n as Int\n    gives Int\n    do\n        give n\ntrigger T\n    on webhook \"/x\"\n"
     "    starts strategy S\n    payload\n        n is 1 + 1\n", "TB2007 11:16", "with one value"),
    ("/* comment */", strategy("/* count them */"), "TB2008 9:9", "a comment begins with `#`"),
    ("-- comment", strategy("-- count them"), "TB2008 9:9", "a comment begins with `#`"),
    # what belongs to the same habits
    ("match", strategy('match n:\n    case 1:\n        show "a"\n    case _:\n        show "b"'), "TB2008 9:9", "write `when x`"),
    ("if x", strategy("if o\n    give o + 1"), "TB4004 9:12", "write `o is present`"),
    ("if not x", strategy("if not o\n    give 1\nlet _a = o + 1"), "TB4004 9:16", "write `o is absent`"),
    ("is none", strategy("if o is none\n    give 1\nlet _a = o + 1"), "TB4002 9:14", "write `is absent`"),
    ("n or 0", strategy("let _a as Int = n or 0"), "TB4001 9:25", "a condition is a Bool"),
    ("x or 0", strategy("let _a = o or 0"), "TB4004 9:18", "`o otherwise 0`"),
    ("xs[-1]", strategy("let _a = xs[-1]"), "TB4010 9:21", "`last(xs)`"),
    ("f(1, 2)", strategy('let _a = Order("a", "b")'), "TB4003 9:24", "write `Order(id: …)`"),
    ("text + number", strategy("let _a = s + d"), "TB4002 9:20", 'insert the value into the text: `"… {d}"`'),
    ("a line that goes on", strategy("let _a = n +\n    2"), "TB2006 9:21", "only inside brackets `(…)`"),
    ("x = 1 outside", "module app\nx = 1\n", "TB2005 2:1", "under the `do` of a callable"),
    ("let outside", "module app\nlet x = 1\n", "TB2008 2:1", "under the `do` of a callable"),
    ("a call outside", "module app\nmain()\n", "TB2005 2:1", "under the `do` of a callable"),
    (
        "inputs behind the name",
        "module app\nfunction Double(x as Int) -> Int\n    do\n        give x * 2\n",
        "TB2008 2:16", "`takes name as Type`",
    ),
    (
        "inputs in brackets",
        "module app\nfunction Double\n    takes (x as Int)\n    gives Int\n    do\n        give x * 2\n",
        "TB2008 3:11", "without brackets",
    ),
    ("-> T", "module app\nfunction F\n    takes x as Int\n    -> Int\n    do\n        give x\n", "TB2008 4:5", "write `gives Type`"),
    ("x as T -> T", "module app\nfunction F\n    takes x as Int -> Int\n    do\n        give x\n", "TB2008 3:20", "`gives Type`"),
    ("returns T", "module app\nfunction F\n    takes x as Int\n    returns Int\n    do\n        give x\n", "TB2008 4:5", "write `gives Type`"),
    ("no do", "module app\nfunction F\n    gives Int\n        give 1\n", "TB2003 2:10", "add a `do`"),
    ("do beside its block", "module app\nfunction F\n    gives Int\n    do\n    give 1\n", "TB2003 4:5", "indent the lines"),
    ("type X =", "module app\ntype X =\n    id as Text\n", "TB2007 2:8", "remove `=`"),
    ("> 0", "module app\ntype X\n    a as Decimal > 0\n    b as Int\n", "TB2008 3:18", "write `above 0`"),
    ("<= -1", "module app\ntype X is Int <= -1\n", "TB2008 2:15", "write `max -1`"),
    ("length >= 1", "module app\ntype X is Text length >= 1\n", "TB2008 2:23", "write `length min 1`"),
    ("length < 9", "module app\ntype X is Text length < 9\n", "TB2008 2:23", "write `length max 8`"),
    ("20s", "module app\ntool T\n    effect none\n    timeout 20s\n", "TB1007 4:13", "write `20 seconds`"),
    ("a wrong effect", "module app\ntool T\n    requires network\n    effect wirte\n", "TB2006 4:12", "did you mean `write`?"),
    (
        "a wrong arm",
        "module app\nchoice C is A, B\nfunction F\n    takes c as C\n    gives Int\n    do\n        when c\n"
        "            is C.A\n                give 1\n            is B\n                give 2\n",
        "TB2011 8:17", "leave the choice's name out",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "place", "label"), [row[1:] for row in PROGRAMS], ids=[row[0] for row in PROGRAMS])
def test_a_habit_has_one_message(text: str, place: str, label: str) -> None:
    found, said = only(text)
    assert found == place
    assert label in said


def test_the_programs_without_their_habits_are_right() -> None:
    assert errors(strategy('show "{n} {s} {flag} {d}"')) == []


CONSTRAINED = "type Score is Int min 5 max 9\ntype R\n    score as Score\nfunction F\n    takes score as Score\n    gives Score\n    do\n        give score\n"


@pytest.mark.parametrize(
    ("line", "column"),
    [
        ("let _a as Int min 5 = 1", 31), ("let _a as Score = 10", 27), ("let _a = R(score: 1)", 27),
        ("let _a = F(1)", 20), ("let _a as Optional Score = 1", 36), ("let _a as List of Score = [5, 1]", 39),
        ("let _a as Map of Score = {\"a\": 1}", 40), ('let _a as Text length 2 to 3 = "x"', 40),
        ("let _a as List of Int length min 2 = [1]", 46), ('let _a as Text matching "[a-c]" = "d"', 43),
        ("let _a as Decimal above 0 = 0", 37), ("let _a = xs[-1]", 21), ('let _a = ["a", "b"][-2]', 29),
        ("let _a = s[-1]", 20), ("let _a = n div 0", 24), ("let _a = n mod 0", 24), ("let _a = n / 0", 22),
        ("let _a = d / 0.00", 22), ("let _a = d / -0", 22), ("let _a = 1f / 0f", 23), ("let _a = n + 4 div 0", 28),
    ],
)  # fmt: skip
def test_a_literal_that_always_fails(line: str, column: int) -> None:
    text = strategy(line).replace("module app\n", "module app\n" + CONSTRAINED)
    place, label = only(text)
    assert place == f"TB4010 17:{column}"
    assert label


@pytest.mark.parametrize("line", ["let _a as Text length min 2 = 1", "let _a as Score = [1]", 'let _a as Score = "x"'])
def test_a_literal_of_the_wrong_type_is_told_so_once(line: str) -> None:
    found = errors(strategy(line).replace("module app\n", "module app\n" + CONSTRAINED))
    assert [each.code for each in found] == ["TB4001"]


@pytest.mark.parametrize(
    "line",
    [
        "let _a as Int min 5 = 5", "let _a as Score = 9", "let _a as Optional Score = none", "let _a as List of Score = []",
        "let _a = xs[0]", "let _a = n div 10", "let _a = d / 0.01", "let _a as Decimal above 0 = 0.1",
    ],
)  # fmt: skip
def test_a_literal_that_may_do(line: str) -> None:
    assert errors(strategy(line).replace("module app\n", "module app\n" + CONSTRAINED)) == []


def test_every_problem_of_the_conformance_cases_says_what_to_do() -> None:
    silent = []
    for path in sorted(CASES.rglob("*.case")):
        files: dict[str, str] = {}
        parts = path.read_text("utf-8").split("--- ")
        for part in parts[1:]:
            head, _, text = part.partition("\n")
            if head.startswith("file "):
                files[head.removeprefix("file ").strip()] = text
        entry = next(iter(files), None)
        if entry is not None and entry.endswith(".tb"):
            found = compile_program(Texts(files), entry)
            silent += [f"{path.name} {each.code} {each.title}" for each in found.diagnostics if not each.label]
    assert silent == []
