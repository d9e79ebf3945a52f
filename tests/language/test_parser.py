"""Lines → tree, for right programs and for many small wrong ones."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.language.parsing import Parsed, body, expression, nodes, shape, statements
from tests.language.study import PROGRAMS
from tests.language.test_lexer import PROGRAMS as TEXTS
from touba_cli.language import tree
from touba_cli.limits import BRACKET_DEPTH, EXPRESSION_DEPTH


def declarations(text: str) -> list[str]:
    found = Parsed("module a\n" + text)
    assert found.problems == [], found.diagnostics
    assert found.module is not None
    return [shape(each) for each in found.module.declarations]


# --- right programs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_the_study(name: str) -> None:
    text, expected = PROGRAMS[name]
    found = Parsed(text)
    assert found.problems == []
    assert found.module is not None
    assert found.module.name is not None
    assert [each.name.text for each in found.module.declarations] == expected
    for node in nodes(found.module):
        assert 0 <= node.span.start <= node.span.end <= len(text)
        assert not isinstance(node, tree.Unknown | tree.UnknownType)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3 - 4", "(1 + (2 * 3) - 4)"),
        ("a / 2 div 3 mod 4", "(a / 2 div 3 mod 4)"),
        ("-a * b", "((Prefix - a) * b)"),
        ("- -1", "(Prefix - (Prefix - 1))"),
        ("-9223372036854775808", "(Prefix - 9223372036854775808)"),
        ("a or b and not c is d", "(Logic or [a, (Logic and [b, (Prefix not (Comparison is c d))])])"),
        ("a or b or c", "(Logic or [a, b, c])"),
        ("not not a", "(Prefix not (Prefix not a))"),
        ("a is not b", "(Comparison is not a b)"),
        ("a not in b + c", "(Comparison not in a (b + c))"),
        ("a is present and b is absent", "(Logic and [(IsPresent a True), (IsPresent b False)])"),
        ("a if b else c if d else e", "(Conditional b a (Conditional d c e))"),
        ("a otherwise b otherwise c", "(Otherwise a (Otherwise b c))"),
        ("-a otherwise -1 + 2", "((Prefix - (Otherwise a (Prefix - 1))) + 2)"),
        ("count otherwise 0 + 1", "((Otherwise count 0) + 1)"),
        ("a.b[1].type with (in: 2, from: 3,)", "(With (Field (Index (Field a b) 1) type) [(Argument in 2), (Argument from 3)])"),
        ("Foo(a: 1, b: \"x\")", "(Capital [] Foo [(Argument a 1), (Argument b text:'x')])"),
        ("m.n.Foo(1)", "(Capital [m, n] Foo [(Argument 1)])"),
        ("Severity.Low", "(Capital [Severity] Low)"),
        ("m.Severity.Low()", "(Capital [m, Severity] Low [])"),
        ("length(xs) + count", "((BuiltIn length [xs]) + count)"),
        ("range(1, 2)", "(BuiltIn range [1, 2])"),
        ("sorted(xs)", "(BuiltIn sorted [xs])"),
        ("sorted(xs by .a.type descending)", "(SortedBy xs [a, type] True)"),
        ("first(sorted(reports by .severity))", "(BuiltIn first [(SortedBy reports [severity] False)])"),
        ("[]", "(ListLiteral [])"),
        ("[1, a,]", "(ListLiteral [1, a])"),
        ("[x if c else y for x in xs if x > 1]", "(Comprehension (Conditional c x y) x xs (Comparison > x 1))"),
        ("{}", "(MapLiteral [])"),
        ('{"a": 1, b: [2],}', "(MapLiteral [[text:'a', 1], [b, (ListLiteral [2])]])"),
        ("(a)", "a"),
        ("30 seconds", "duration:(30, 'seconds')"),
        ("1 day + 2 hours", "(duration:(1, 'days') + duration:(2, 'hours'))"),
        ('date "2026-02-28"', "date:'2026-02-28'"),
        ('datetime "2026-01-31T09:30:00.5+02:00"', "datetime:'2026-01-31T09:30:00.5+02:00'"),
        ("true is not none", "(Comparison is not True None)"),
        ("1_000.50", "decimal:'1000.50'"),
        ("1e-3f", "float:'1e-3'"),
        ('"a{b}c{f("d{e}")}"', "(Interpolation [a, b, c, (BuiltIn f [(Interpolation [d, e])])])"),
        ('raw """{"a": 1}"""', "text:'{\"a\": 1}'"),
        ("days * 3", "(days * 3)"),
        ("format(key)", "(BuiltIn format [key])"),
    ],
)  # fmt: skip
def test_expressions(text: str, expected: str) -> None:
    assert expression(text) == expected


def test_an_expression_may_have_many_lines() -> None:
    assert (
        expression("Foo(\n    a: [\n1,\n        2\n    ],\n)") == "(Capital [] Foo [(Argument a (ListLiteral [1, 2]))])"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("let x = 1", "(Let x 1 False)"), ("let _x as Int max 3 = 1", "(Let _x (ConstrainedType (NamedType [] Int) [(Constraint max 3)]) 1 False)"),
        ("var x = call m.Foo(a)", "(Let x (Call [m] Foo [(Argument a)]) True)"), ("set x = 1", "(Set x 1)"),
        ("give call Foo()", "(Give (Call [] Foo []))"), ("call Foo(a: 1)", "(EffectLine (Call [] Foo [(Argument a 1)]))"),
        ('show "a{b}"', "(Show (Interpolation [a, b]))"), ('require a > 1 or b else "no"', "(Require (Logic or [(Comparison > a 1), b]) text:'no')"),
        ('stop "a"', "(Stop text:'a')"), ('fail raw """a"""', "(Fail text:'a')"),
        ("if a\n    break\nelse if b\n    continue\nelse\n    break", "(If [[a, (Block [(Break)] False)], [b, (Block [(Continue)] False)]] (Block [(Break)] False))"),
        ("when a\n    is Low\n        break\n    is Paid with b, c\n        break\n    else\n        break",
         "(When a [(Arm (VariantPattern Low []) (Block [(Break)] False)), (Arm (VariantPattern Paid [b, c]) (Block [(Break)] False))] (Block [(Break)] False))"),
        ('when a\n    is present as b\n        break\n    is absent\n        break',
         "(When a [(Arm (PresentPattern b) (Block [(Break)] False)), (Arm (AbsentPattern) (Block [(Break)] False))])"),
        ('when a\n    is "x", "y"\n        break\n    is -1\n        break\n    is true\n        break',
         "(When a [(Arm (LiteralPattern [text:'x', text:'y']) (Block [(Break)] False)), (Arm (LiteralPattern [(Prefix - 1)]) (Block [(Break)] False)), "
         "(Arm (LiteralPattern [True]) (Block [(Break)] False))])"),
        ("for each x in f(a)\n    break", "(ForEach x (BuiltIn f [a]) (Block [(Break)] False))"),
        ("repeat up to a + 1 times\n    break", "(Repeat (a + 1) (Block [(Break)] False))"),
        ("repeat up to 3 times while a < 2\n    break", "(Repeat 3 (Comparison < a 2) (Block [(Break)] False))"),
        ("attempt\n    break\non failure as p\n    continue", "(Attempt (Block [(Break)] False) p (Block [(Continue)] False))"),
        ("attempt\n    break\non failure\n    continue", "(Attempt (Block [(Break)] False) (Block [(Continue)] False))"),
        ("let take = give", "(Let take give False)"), ("let type = set + effect", "(Let type (set + effect) False)"),
    ],
)  # fmt: skip
def test_statements(text: str, expected: str) -> None:
    (found,) = statements(text)
    assert shape(found) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("type X is Text length 1 to 40", "(AliasDecl X (ConstrainedType (NamedType [] Text) [(Constraint length 1 40)]))"),
        ("type X is Int above -1 below 5", "(AliasDecl X (ConstrainedType (NamedType [] Int) [(Constraint above (Prefix - 1)), (Constraint below 5)]))"),
        ("type X is List of (Text length max 40) length 9",
         "(AliasDecl X (ConstrainedType (GenericType List (ConstrainedType (NamedType [] Text) [(Constraint length 40)])) [(Constraint length 9 9)]))"),
        ("type X is Optional Map of m.n.Y", "(AliasDecl X (GenericType Optional (GenericType Map (NamedType [m, n] Y))))"),
        ('type X is Date min date "2026-01-01"', "(AliasDecl X (ConstrainedType (NamedType [] Date) [(Constraint min date:'2026-01-01')]))"),
        ("type X is Duration max 3 days", "(AliasDecl X (ConstrainedType (NamedType [] Duration) [(Constraint max duration:(3, 'days'))]))"),
        ('## a\n##  b\ntype X\n    ## c\n    kind as Text named "type"\n    is as Int',
         "(RecordDecl X [(FieldDecl kind (NamedType [] Text) type c), (FieldDecl is (NamedType [] Int))] a\n b)"),
        ("choice X is A, B", "(ChoiceDecl X [(VariantDecl A []), (VariantDecl B [])])"),
        ("choice X\n    ## d\n    A with b as Int, in as Text\n    C", "(ChoiceDecl X [(VariantDecl A [(FieldDecl b (NamedType [] Int)), "
         "(FieldDecl in (NamedType [] Text))] d), (VariantDecl C [])])"),
        ("tool X\n    gives Int", "(ToolDecl X [] (NamedType [] Int) [] [] [] [])"),
        ("tool X\n    ## d\n    takes a as Int, b as Int\n    takes c as Int\n    gives Int\n    secret k\n    secret l\n    requires net, disk\n    effect none\n    timeout 1 minute",
         "(ToolDecl X [(FieldDecl a (NamedType [] Int) d), (FieldDecl b (NamedType [] Int)), (FieldDecl c (NamedType [] Int))] (NamedType [] Int) [net, disk] [k, l] [] [] "
         "none duration:(1, 'minutes'))"),
        ("skill X\n    do\n        break", "(CallableDecl skill X [] (Block [(Break)] False))"),
        ("function X\n    takes a as Int\n    gives Int\n    do\n        give a",
         "(CallableDecl function X [(FieldDecl a (NamedType [] Int))] (NamedType [] Int) (Block [(Give a)] False))"),
    ],
)  # fmt: skip
def test_declarations(text: str, expected: str) -> None:
    assert declarations(text) == [expected]


def test_module_and_imports() -> None:
    found = Parsed("# c\nmodule a.b\nimport c.d\nimport c.type as e\nfrom f import G, H\n")
    assert found.problems == []
    assert found.module is not None
    assert found.module.name == "a.b"
    assert [shape(each) for each in found.module.imports] == [
        "(Import [c, d])",
        "(Import [c, type] e)",
        "(Import [f] [G, H])",
    ]


# --- wrong programs ---------------------------------------------------------------------------------------------------

#: statements (their first line is 5, their first column 9) → the one problem, and a part of its label
WRONG_STATEMENTS = [
    # signs and words of other languages
    ("if a = 3\n    break", "TB2008 5:14", "equality is written `is`"),
    ("if a == 3:\n    break", "TB2008 5:14", "equality"),
    ("if a:\n    break", "TB2008 5:13", "without `:`"),
    ("if a: break", "TB2008 5:13", "deeper lines"),
    ("if a {\n    give 1\n}", "TB2008 5:14", "indenting"),
    ("if a then\n    break", "TB2008 5:14", "next lines"),
    ("if a\n    break\nelse:\n    break", "TB2008 7:13", "without `:`"),
    ("if a\n    break\nelif b\n    break\nelse\n    break", "TB2008 7:9", "`else if`"),
    ("elif b\n    break", "TB2008 5:9", "`else if`"),
    ("return a", "TB2008 5:9", "`give`"),
    ("x = 3\ngive x", "TB2008 5:9", "`let x = …`"),
    ("x := 3", "TB2008 5:9", "`let x = …`"),
    ("a += 1", "TB2008 5:9", "`set a = a + …`"),
    ("a++", "TB2008 5:9", "`set a = a + 1`"),
    ("let x = a--", "TB2008 5:18", "`set x = x - 1`"),
    ("let x = a; let y = b", "TB2008 5:18", "ends with its line"),
    ("// a comment's text", "TB2008 5:9", "begins with `#`"),
    ("/* a\nlet ' */\nlet x = 1", "TB2008 5:9", "begins with `#`"),
    ("let x = a \\\n    + b", "TB2008 5:19", "inside brackets"),
    ("let x = 'a' + b", "TB2008 5:17", 'write `"a"`'),
    ('let x = f"{a}"', "TB2008 5:17", "without `f`"),
    ("let x = null", "TB2008 5:17", "`none`"),
    ("let x = None", "TB2008 5:17", "`none`"),
    ("let x: Int = 3", "TB2008 5:14", "`x as Int`"),
    ("let x = lambda y: y", "TB2008 5:17", "without a name"),
    ("let x = new Foo(1)", "TB2008 5:17", "by its name"),
    ("let x = Foo(a = 1)", "TB2008 5:23", "named with `:`"),
    ("let x = Foo { a: 1 }", "TB2008 5:21", "with brackets"),
    ("let x = b[1:2]", "TB2008 5:20", "`slice(x, a, b)`"),
    ("let x = a ? 1 : 2", "TB2008 5:19", "`x if c else y`"),
    ("for x in b\n    break", "TB2008 5:9", "`for each x in xs`"),
    ("for each x of b\n    break", "TB2008 5:20", "`in`"),
    ("while a\n    break", "TB2008 5:9", "`repeat up to N times while …`"),
    ("repeat up to 3 times until a\n    break", "TB2008 5:30", "`while not …`"),
    ("try\n    break\nexcept Foo as e\n    break", "TB2008 5:9", "`attempt`"),
    ("attempt\n    break\ncatch\n    break", "TB2008 7:9", "`on failure as problem`"),
    ('raise "a"', "TB2008 5:9", "`fail"),
    ("assert a", "TB2008 5:9", "`require"),
    ('require a, "b"', "TB2008 5:18", "`else"),
    ('print("a")', "TB2008 5:9", "`show"),
    ("switch a\n    is 1\n        break", "TB2008 5:9", "`when x`"),
    ("when a\n    case 1\n        break", "TB2008 6:13", "`is …`"),
    ("when a\n    is Paid(x)\n        break", "TB2008 6:20", "`is Paid with name`"),
    # first words
    ("fro each x in b\n    break", "TB2005 5:9", "did you mean"),
    ("foo(1)", "TB2005 5:9", "bind a value"),
    ("giv (1)", "TB2005 5:9", "did you mean `give`?"),
    ("Foo(1)", "TB2005 5:9", "`call Foo(…)`"),
    ("a.b = 3", "TB2005 5:9", "`set x = x with (field: …)`"),
    ("else\n    break", "TB2005 5:9", "after the block of an `if`"),
    ("on failure\n    break", "TB2005 5:9", "after the block of an `attempt`"),
    ("is Low\n    break", "TB2005 5:9", "an arm of a `when`"),
    ("3 + 4", "TB2005 5:9", "begins with a word"),
    ('"""\na\n"""', "TB2005 5:9", "begins with a word"),
    ("when a\n    break", "TB2005 6:13", "put it into an arm"),
    # effects
    ("let x = 1 + call Foo(a)", "TB2012 5:21", "bind it with `let`"),
    ("let x = call Foo(a) + 1", "TB2012 5:29", "bind the call"),
    ("let x = call Foo(a).b", "TB2012 5:28", "bind the call"),
    ("let x = Foo(call Bar(a))", "TB2012 5:21", "bind it with `let`"),
    ("if call Foo(a)\n    break", "TB2012 5:12", "bind it with `let`"),
    ('show "{call Foo(a)}"', "TB2012 5:16", "bind it with `let`"),
    # expressions
    ("let x = 1 < a < 3", "TB2011 5:23", "`and`"),
    ("let x = a is not present", "TB2011 5:19", "`is absent`"),
    ("let x = a is not not b", "TB2011 5:26", "brackets"),
    ("let x = +1", "TB2011 5:17", "remove it"),
    ("let x = b.upper()", "TB2011 5:19", "write `upper(b)`"),
    ("let x = (a)(1)", "TB2011 5:20", "remove the brackets"),
    ("let x = (a, b)", "TB2011 5:19", "`[a, b]`"),
    ("let x = ()", "TB2011 5:18", "put a value inside"),
    ("let x = length(x: a)", "TB2011 5:24", "remove the name"),
    ('let x = "a" "b"', "TB2011 5:21", "`+`"),
    ("let x = [y for each y in b]", "TB2011 5:24", "for x in xs"),
    ("let x = [y for y in b for z in b]", "TB2011 5:31", "inner list"),
    ("let x = sorted(b by a.c)", "TB2006 5:29", "`by .amount`"),
    ("let x = sorted(b, key: a)", "TB2008 5:27", "`sorted(xs by .amount)`"),
    ("let x = {a}", "TB2006 5:19", "`key: value`"),
    ("let x = a b", "TB2007 5:19", "remove it"),
    ("let x =", "TB2006 5:16", "put a value here"),
    ("let x = a +", "TB2006 5:20", "put a value here"),
    ("let x = a if b", "TB2006 5:23", "`x if c else y`"),
    ("let x = a.", "TB2006 5:19", "name of a field"),
    ("let x = [1 2]", "TB2006 5:20", ""),
    ("let x = 9223372036854775808", "TB4010 5:17", "up to 9223372036854775807"),
    ("let x = 1 - 9223372036854775808", "TB4010 5:21", "up to"),
    ("let x = " + "9" * 5000, "TB4010 5:17", "up to"),
    ('let x = date "2026-02-29"', "TB1011 5:22", '"2026-01-31"'),
    ('let x = datetime "2026-01-31"', "TB1011 5:26", "09:30:00Z"),
    ("let x = date(2026)", "TB2006 5:21", 'write `date "2026-01-31"`'),
    ("let x = 1.5 hours", "TB1011 5:17", "smaller unit"),
    ("let x = 5 weeks", "TB1011 5:19", "`days`"),
    ("let x = f(5 secs)", "TB1011 5:21", "`seconds`"),
    ('let x = raw "a"', "TB2006 5:21", "raw"),
    ('show "{a:.2f}"', "TB1009 5:17", "`\\{`"),
    ('show "{"k": 1}"', "TB1009 5:19", "`\\{`"),
    ("let x = _y", "TB1010 5:17", "only the name of a `let`"),
    # statements
    ("let x", "TB2006 5:14", "`let x = …`"),
    ("let if = 3", "TB1010 5:13", "another name"),
    ("let Foo = 3", "TB1010 5:13", "`foo`"),
    ("var _x = 3", "TB1010 5:13", "only the name of a `let`"),
    ("set a.b = 3", "TB2011 5:14", "with (field: …)"),
    ("set a[0] = 3", "TB2011 5:14", "new list"),
    ("show a", "TB2006 5:14", "as a text"),
    ('show "a" + b', "TB2011 5:18", "inside the text"),
    ("require a", "TB2006 5:18", "`else"),
    ('require a if b else c else "d"', "TB2007 5:19", ""),
    ("call foo(1)", "TB1010 5:14", "`Foo`"),
    ("call Foo", "TB2006 5:17", "`Foo(…)`"),
    ("break now", "TB2007 5:15", "remove it"),
    ("for each x\n    break", "TB2006 5:19", "for each x in xs"),
    ("for each k, v in b\n    break", "TB2011 5:19", "`items(m)`"),
    ("repeat 3 times\n    break", "TB2006 5:16", "`repeat up to N times`"),
    ("repeat up to 3\n    break", "TB2006 5:23", "`repeat up to N times`"),
    ("when a\n    is Severity.Low\n        break", "TB2011 6:24", "choice's name"),
    ("when a\n    is Low, High\n        break", "TB2011 6:19", "an arm for each"),
    ("when a\n    is none\n        break", "TB2011 6:16", "`is absent`"),
    ("when a\n    is present\n        break", "TB2006 6:23", "is present as x"),
    ("when a\n    is not 1\n        break", "TB2011 6:16", "`else`"),
    ("when a\n    is 1 or 2\n        break", "TB2011 6:18", 'is "a", "b"'),
    # layout
    ("if a", "TB2003 5:9", "indent"),
    ("if a\nlet x = 1", "TB2003 5:9", "indent"),
    ("when a", "TB2003 5:9", "indent"),
    ("attempt\non failure\n    break", "TB2003 5:9", "indent"),
    ("let x = 1\n    let y = 2\n    let z = 3\nlet w = 4", "TB2001 6:13", "column 9"),
    ("give a\n    + b", "TB2001 6:13", "column 9"),
    ("attempt\n    break", "TB2010 5:9", "`on failure as problem`"),
    ("attempt\n    break\non failure\n    break\non failure\n    break", "TB2010 9:9", "problem.code"),
    ("if a\n    break\nelse\n    break\nelse if b\n    break", "TB2010 9:9", "before the `else`"),
    ("when a\n    else\n        break\n    is 1\n        break", "TB2010 8:13", "before the `else`"),
    ("when a\n    is 1\n        break\nelse\n    break", "TB2010 8:9", "column of the `is` lines"),
    ("## d\nbreak", "TB2013 5:9", "`#`"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected", "label"), WRONG_STATEMENTS, ids=[row[0][:30] for row in WRONG_STATEMENTS])
def test_one_mistake_in_a_statement_is_one_problem(text: str, expected: str, label: str) -> None:
    found = Parsed(body(text))
    assert found.problems == [expected]
    assert label in found.diagnostics[0].label
    # what comes after the mistake is still read
    after = Parsed(body(text) + "\ntype After is Int min\n")
    assert after.problems[-1].startswith("TB2006 ")
    assert len(after.problems) == 2


#: declarations (their first line is 2) → the one problem, and a part of its label
WRONG_DECLARATIONS = [
    ("stratgey Foo\n    do\n        nonsense", "TB2005 2:1", "did you mean `strategy`?"),
    ("def foo(x):\n    return x", "TB2008 2:1", "`function Name`"),
    ("class Foo\n    a as Int", "TB2008 2:1", "`type Name`"),
    ("enum X is A, B", "TB2008 2:1", "`choice Name is A, B`"),
    ("let x = 3", "TB2008 2:1", "under the `do`"),
    ("show \"a\"", "TB2005 2:1", "under the `do`"),
    ("Type Foo is Int", "TB2005 2:1", "did you mean `type`?"),
    ("  type X is Int", "TB2001 2:3", "column 1"),
    ("type invoice\n    a as Int", "TB1010 2:6", "`Invoice`"),
    ("type\n    a as Int", "TB2006 2:5", "name of a declaration"),
    ("type X = Int", "TB2008 2:8", "`is`"),
    ("type X as Int", "TB2006 2:8", "`type X is …`"),
    ("type X:\n    a as Int", "TB2008 2:7", "without `:`"),
    ("type X", "TB2003 2:1", "indent"),
    ("type X\n    a: Int", "TB2008 3:6", "`a as Int`"),
    ("type X\n    a Int", "TB2006 3:7", "`a as Type`"),
    ("type X\n    a as Int = 3", "TB2006 3:14", "`Optional`"),
    ("type X\n    a as Int, b as Int", "TB2007 3:13", "new line"),
    ("type X\n    a as string", "TB2008 3:10", "`Text`"),
    ("type X\n    a as invoice", "TB1010 3:10", "`Invoice`"),
    ("type X\n    a as List[Int]", "TB2008 3:14", "`List of Int`"),
    ("type X\n    a as Text?", "TB2008 3:14", "`Optional Text`"),
    ("type X\n    a as Text[]", "TB2008 3:14", "`List of Text`"),
    ("type X\n    a as Optional of Text", "TB2006 3:19", "remove it"),
    ("type X\n    a as List Text", "TB2006 3:15", "`List of …`"),
    ("type X\n    a as Text matching a", "TB2006 3:24", "write `matching \"[A-Z]{2}[0-9]{6}\"`"),
    ("type X\n    a as Text format email", "TB2006 3:22", "write `format \"email\"`"),
    ("type X\n    a as Text format \"e{1}\"", "TB2011 3:22", "write it like `\"email\"`"),
    ("type X\n    a as Text matching \"a+", "TB1005 3:24", "close it with `\"` on the same line"),
    ("type X\n    a as Text length", "TB2006 3:21", ""),
    ("type X\n    a as Text length 1..5", "TB2008 3:23", "length 1 to 40"),
    ("type X\n    a as Int min", "TB2006 3:17", "number or date"),
    ("type X\n    a as (Text", "TB2004 3:10", "`)`"),
    ('type X\n    a as Text named b', "TB2006 3:21", 'named "type"'),
    ("type X\n    A as Text", "TB1010 3:5", "`a`"),
    ("choice X = A, B", "TB2008 2:10", "`is`"),
    ("choice X is A | B", "TB2008 2:15", "commas"),
    ("choice X is a, B", "TB1010 2:13", "`A`"),
    ("choice X is A with b as Int", "TB2006 2:15", "line of its own"),
    ("choice X\n    A(b as Int)", "TB2008 3:6", "`A with name as Type`"),
    ("choice X\n    A, B", "TB2007 3:6", "new line"),
    ('choice X\n    A with b as Int named "c"', "TB2007 3:21", "remove"),
    ("function F(x: Int) -> Int\n    do\n        give x", "TB2008 2:11", "`takes name as Type`"),
    ("function F\n    takes a as Int\n    give a\n    let b = 1", "TB2005 4:5", "under a line `do`"),
    ("function F\n    takes a as Int\n    gives Int", "TB2003 2:10", "`do`"),
    ("function F", "TB2003 2:1", "indent"),
    ("function F\n    do", "TB2003 3:5", "indent"),
    ("function F\n    gives Int\n    takes a as Int\n    do\n        give a", "TB2010 4:5", "before `gives`"),
    ("function F\n    gives Int\n    gives Int\n    do\n        give 1", "TB2010 4:5", "remove"),
    ("function F\n    do\n        give 1\n    takes a as Int", "TB2010 5:5", "before `do`"),
    ("function F\n    do\n        give 1\n    do\n        give 2", "TB2010 5:5", "first one"),
    ("function F\n    takes a: Int\n    do\n        give a", "TB2008 3:12", "`a as Int`"),
    ("function F\n    takes a as Int = 3\n    do\n        give a", "TB2006 3:20", "Optional"),
    ("function F\n    takes in as Int\n    do\n        give 1", "TB1010 3:11", "another name"),
    ("function F\n    taks a as Int\n    do\n        give 1", "TB2005 3:5", "`takes`"),
    ("function F\n    secret a\n    do\n        give 1", "TB2005 3:5", "belongs to a tool"),
    ("tool T\n    effect reed", "TB2006 3:12", "`read`"),
    ("tool T\n    effect read\n    effect read", "TB2010 4:5", "remove"),
    ("tool T\n    timeout 30", "TB1011 3:13", "`30 seconds`"),
    ("tool T\n    timeout soon", "TB2006 3:13", "`timeout 30 seconds`"),
    ("tool T\n    secret a, b", "TB2007 3:13", "new line"),
    ("tool T\n    effect read\n    takes a as Int", "TB2010 4:5", "below the name"),
    ("tool T\n    do\n        give 1", "TB2005 3:5", "handler"),
    ("tool T\n    effect read\n        timeout 3 seconds", "TB2001 4:9", "column 5"),
    ("import x from \"y\"", "TB2008 2:10", "`from a.b import X`"),
    ("import \"a\"", "TB2006 2:8", "without quotes"),
    ("import a.B", "TB2006 2:10", "`from a import B`"),
    ("import a/b", "TB2006 2:9", "points"),
    ("from a import *", "TB2008 2:15", "name what is imported"),
    ("from .a import B", "TB2006 2:6", "whole name"),
    ("from a import b", "TB1010 2:15", "`B`"),
    ("from a import B as C", "TB2007 2:17", "import a.b as c"),
    ("type X is Int\nimport a", "TB2010 3:1", "move it up"),
    ("module b", "TB2009 2:1", "remove"),
    ("module", "TB2009 2:1", ""),
    ("## lost\nimport a", "TB2013 2:1", "`#`"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected", "label"), WRONG_DECLARATIONS, ids=[row[0][:30] for row in WRONG_DECLARATIONS]
)
def test_one_mistake_in_a_declaration_is_one_problem(text: str, expected: str, label: str) -> None:
    found = Parsed(f"module a\n{text}\n")
    assert found.problems == [expected]
    assert label in found.diagnostics[0].label
    after = Parsed(f"module a\n{text}\ntype After is Int min\n")
    assert after.problems[0] == expected
    assert after.problems[-1].startswith("TB2006 ")
    assert len(after.problems) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["TB2009 1:1"]), ("# c\n\n", ["TB2009 1:1"]), ("type X is Int", ["TB2009 1:1"]), ("type X is Int\nmodule a", ["TB2009 2:1"]),
        ("modul a\ntype X is Int", ["TB2005 1:1"]), ("package a\ntype X is Int", ["TB2008 1:1"]), ("module A\n", ["TB1010 1:8"]),
        ("module a b", ["TB2007 1:10"]), ("module", ["TB2006 1:7"]), ("import a\nmodule b", ["TB2009 2:1"]), ("  module a", ["TB2001 1:3"]),
    ],
)  # fmt: skip
def test_the_module_line(text: str, expected: list[str]) -> None:
    assert Parsed(text).problems == expected


def test_independent_mistakes_are_all_found() -> None:
    text = body("let x = (1\nlet y = 1 +\nif y ==\n    give z z\nx = 1\nset x = 2 < 3 < 4") + "\ntype X\n    a: Int\n"
    assert Parsed(text).problems == [
        "TB2004 5:17",
        "TB2006 6:20",
        "TB2008 7:14",
        "TB2007 8:20",
        "TB2008 9:9",
        "TB2011 10:23",
        "TB2008 12:6",
    ]


def test_what_could_not_be_read_is_unknown() -> None:
    found = Parsed(body("let x = 1 +\nset x = )\nif +\n    give x\nnonsense here\n") + "type X\n    a as\nwibble Foo\n")
    assert found.module is not None
    strategy, record = found.module.declarations
    assert isinstance(strategy, tree.CallableDecl)
    assert isinstance(record, tree.RecordDecl)
    assert [shape(each) for each in strategy.body.statements] == [
        "(Let x (Unknown) False)", "(Set x (Unknown))", "(If [[(Unknown), (Block [(Give x)] False)]])",
    ]  # fmt: skip
    assert strategy.body.damaged
    assert shape(record.fields[0]) == "(FieldDecl a (UnknownType))"
    assert [name.text for name in found.module.unread] == ["Foo"]


def test_assignments_are_read_on() -> None:
    found = Parsed(body("x = 1\nx = 2\nreturn x"))
    assert found.module is not None
    strategy = found.module.declarations[0]
    assert isinstance(strategy, tree.CallableDecl)
    assert [shape(each) for each in strategy.body.statements] == ["(Let x 1 True)", "(Set x 2)", "(Give x)"]


# --- sizes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "1" + " + 1" * 5000,
        "a" + " * 2 div 3" * 5000,
        "a" + " and b" * 5000,
        "[" + "1, " * 50_000 + "]",
        "{" + "1: 2, " * 30_000 + "}",
    ],
)
def test_long_expressions_are_flat(text: str) -> None:
    (statement,) = statements(f"give {text}")
    assert isinstance(statement, tree.Give)
    assert isinstance(statement.value, tree.Chain | tree.Logic | tree.ListLiteral | tree.MapLiteral)


@pytest.mark.parametrize(
    "text",
    [
        "not " * 300 + "a", "-" + " -" * 300 + "a", "a" + ".b" * 300, "a" + "[0]" * 300, "a" + " with (b: 1)" * 300, "a otherwise " * 300 + "b",
        "a if b else " * 300 + "c", "f(1 + 2 * -" * 60 + "1" + ")" * 60, "x" + ".A" * 300, "[not a or b and not 1 + 2 * " * 60 + "1" + "]" * 60,
        "!" * 300 + "a", "a ?? " * 300 + "b", '"{' + "not " * 300 + 'a}"',
    ],
)  # fmt: skip
def test_deep_expressions_are_one_problem(text: str) -> None:
    found = Parsed(body(f"let x = {text}\nlet y = 1"))
    assert [each.code for each in found.diagnostics] in (["TB9006"], ["TB2008"])


def test_deep_types_are_one_problem() -> None:
    assert [each[:6] for each in Parsed("module a\ntype X is " + "Optional " * 300 + "Int").problems] == ["TB9006"]
    assert [each[:6] for each in Parsed("module a\ntype X is " + "List of (" * 60 + "Int" + ")" * 60).problems] == [
        "TB9006"
    ]


@pytest.mark.parametrize(
    "inner",
    [
        "f(" * BRACKET_DEPTH + "1" + ")" * BRACKET_DEPTH,
        "f(1 + " * 49 + "1" + ")" * 49,
        "(a or b and " * 49 + "1" + ")" * 49,
        "(not a < 1 + 2 * [" * 19 + "1" + "])" * 19,
        "[" * 32 + "{1: " * 32 + "1" + "}" * 32 + "]" * 32,
    ],
)
def test_as_deep_as_may_be_stays_far_from_pythons_limit(inner: str) -> None:
    text = body("\n".join([*("  " * each + "if true" for each in range(30)), "  " * 30 + f"let x = {inner}"]))
    frames, frame = 0, sys._getframe()
    while frame is not None:
        frames, frame = frames + 1, frame.f_back  # type: ignore[assignment]
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(frames + 700)
    try:
        found = Parsed(text)
    finally:
        sys.setrecursionlimit(before)
    assert found.problems == []


def test_brackets_of_interpolations_count() -> None:
    inner = "(" * (BRACKET_DEPTH - 1) + "a" + ")" * (BRACKET_DEPTH - 1)
    assert Parsed(body(f'show "{{{inner}}}"')).problems == []
    assert [each[:6] for each in Parsed(body(f'show "{{({inner})}}"')).problems] == ["TB9002"]
    assert EXPRESSION_DEPTH > BRACKET_DEPTH


@pytest.mark.parametrize(
    "piece",
    ["let x = (\n", "if a\n", "x = 1 2\n", "type X\n", "strategy S\n    do\n        x == 1\n", "        else\n", "function F\n", "    is a\n",
     "let x = a.b.c.D.e.F\n", "## d\n", "a\n b\n  c\n b\n", "from a import b, c, d\n", "let x = a < b < c\n"],
)  # fmt: skip
def test_many_mistakes_end(piece: str) -> None:
    found = Parsed("module a\n" + piece * 3000)
    assert (
        len(found.diagnostics) + piece.count("##") * 3000 + (piece[0] == " ") * 3000 + (piece[0] == "f") * 3000 >= 3000
    )


# --- properties -------------------------------------------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_any_text_is_read_to_its_end(text: str) -> None:
    found = Parsed("module a\n" + text)
    assert found.module is not None
    for node in nodes(found.module):
        assert 0 <= node.span.start <= node.span.end <= len(text) + 9
    for problem in found.diagnostics:
        assert 0 <= problem.span.start <= problem.span.end <= len(text) + 9
        assert problem.as_json()["line"] >= 1


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(PROGRAMS)), st.data())
def test_programs_with_a_piece_cut_out(name: str, data: st.DataObject) -> None:
    """What editors hold while somebody types: it is read, and what is wrong is said about few lines."""
    text = PROGRAMS[name][0]
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 20)))
    found = Parsed(text[:start] + data.draw(st.sampled_from(["", "(", '"', "}", "\n", "    ", "="])) + text[end:])
    assert found.module is not None
    assert len(found.problems) <= 12


EXPRESSIONS = st.recursive(
    st.sampled_from(["a", "1", "1.5", '"t"', "true", "none", "Foo", "30 days", 'date "2026-01-01"', "x.y"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "*", "and", "or", "otherwise"]), inner).map(lambda each: f"({' '.join(each)})"),
        st.tuples(inner, st.sampled_from(["<", "is", "is not", "in", "not in"]), inner).map(lambda each: f"({' '.join(each)})"),
        inner.map(lambda each: f"(not {each})"), inner.map(lambda each: f"(-{each})"), inner.map(lambda each: f"({each} is present)"),
        st.lists(inner, max_size=3).map(lambda each: f"[{', '.join(each)}]"), st.lists(inner, max_size=3).map(lambda each: f"f({', '.join(each)})"),
        inner.map(lambda each: f"Foo(in: {each})"), st.tuples(inner, inner, inner).map(lambda each: f"({each[0]} if {each[1]} else {each[2]})"),
        inner.map(lambda each: f'"a{{{each}}}"'),
    ),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(EXPRESSIONS)
def test_brackets_that_change_nothing(text: str) -> None:
    if text.count('"a{') <= 4 and text.count("(") < 30:
        assert expression(text) == expression(f"({text})")
