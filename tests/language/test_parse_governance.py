"""The parser on what governs a program: gates, groups, agents, memories, triggers, tests."""

from __future__ import annotations

import pytest

from tests.language.parsing import Parsed, shape
from tests.language.test_parser import body, statements
from touba_cli.language import tree

#: statements of a strategy → the shape of the first
STATEMENTS = [
    ('human.approve "Go?"', '(Approve text:\'Go?\')'),
    ('human.approve "Go?" named go expires after 3 days', "(Approve text:'Go?' go duration:(3, 'days'))"),
    ('let x = human.review a.b "Look" named look', "(Let x (Review (Field a b) text:'Look' look) False)"),
    ('set x = human.review f(a)[0] "Look" expires after 1 hour',
     "(Set x (Review (Index (BuiltIn f [a]) 0) text:'Look' duration:(1, 'hours')))"),
    ('give human.review A(b: 1) "Look"', "(Give (Review (Capital [] A [(Argument b 1)]) text:'Look'))"),
    ('human.review a "Look"', "(EffectLine (Review a text:'Look'))"),
    ('let x = ask "Name?" as Text', "(Let x (Ask text:'Name?' (NamedType [] Text)) False)"),
    ('var x = ask """\n    Name?\n    """ as Optional Text length max 3 named who',
     "(Let x (Ask text:'Name?' (ConstrainedType (GenericType Optional (NamedType [] Text)) [(Constraint length 3)]) who) True)"),
    ('ask "Name?" as Text', "(EffectLine (Ask text:'Name?' (NamedType [] Text)))"),
    ("compensate", "(Compensate)"),
    ("parallel as x\n    branch a\n        give 1\n    branch b\n        break",
     "(Parallel x False [(Branch a (Block [(Give 1)] False)), (Branch b (Block [(Break)] False))])"),
    ("parallel collecting failures as x\n    branch a\n        give 1",
     "(Parallel x True [(Branch a (Block [(Give 1)] False))])"),
    ("let x = parallel for each y in b at most 3 at once\n    give y",
     "(Let x (ParallelEach y b 3 False (Block [(Give y)] False)) False)"),
    ("give parallel collecting failures for each y in b\n    give y",
     "(Give (ParallelEach y b True (Block [(Give y)] False)))"),
    ("parallel for each y in b + c\n    call T(y)",
     "(EffectLine (ParallelEach y (Chain b + c) False (Block [(EffectLine (Call [] T [(Argument y)]))] False)))"),
    ("set x = parallel for each at in at\n    give at", "(Set x (ParallelEach at at False (Block [(Give at)] False)))"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), STATEMENTS, ids=[row[0][:30] for row in STATEMENTS])
def test_statements(text: str, expected: str) -> None:
    found = statements(text)
    assert shape(found[0]).replace("(Chain ", "(") == expected.replace("(Chain ", "(")


#: declarations → the shape of the last
DECLARATIONS = [
    ("skill F\n    callable_by strategy A, agent m.B\n    do\n        break",
     "(CallableDecl skill F [] (Block [(Break)] False) [(Reference strategy (Qualified [] A)), (Reference agent (Qualified [m] B))])"),
    ("tool T\n    reads memory M, m.N\n    writes memory M\n    effect write key a.b\n    compensate with m.U",
     "(ToolDecl T [] [] [] [(Qualified [] M), (Qualified [m] N)] [(Qualified [] M)] write (Field a b) (Qualified [m] U))"),
    ('agent A\n    takes q as Text\n    gives Int\n    responsibility "Answer."\n    uses tool T, function m.F\n    uses agent A\n'
     "    callable_by strategy S\n    allows human review\n    steps 3\n    provider_calls 9",
     "(AgentDecl A [(FieldDecl q (NamedType [] Text))] (NamedType [] Int) text:'Answer.' [(Reference tool (Qualified [] T)), "
     "(Reference function (Qualified [m] F)), (Reference agent (Qualified [] A))] [(Reference strategy (Qualified [] S))] True 3 9)"),
    ("## What is liked.\nmemory M\n    holds P\n    key who.id\n    scope project",
     "(MemoryDecl M (NamedType [] P) [who, id] project What is liked.)"),
    ('trigger T\n    on schedule "0 7 * * *" timezone "Europe/Paris"\n    starts strategy m.S\n    payload\n        a from body.x.in\n'
     '        b is "n"\n        c is -3\n        d is none\n        e is Low\n        is is true\n    quota 3 per day',
     "(TriggerDecl T schedule text:'0 7 * * *' text:'Europe/Paris' (Reference strategy (Qualified [m] S)) "
     "[(PayloadDecl a [body, x, in]), (PayloadDecl b [] text:'n'), (PayloadDecl c [] (Prefix - 3)), (PayloadDecl d [] None), "
     "(PayloadDecl e [] (Capital [] Low)), (PayloadDecl is [] True)] [3, day])"),
    ('trigger T\n    on webhook "/a"\n    starts agent A', "(TriggerDecl T webhook text:'/a' (Reference agent (Qualified [] A)) [])"),
    ('trigger T\n    on event "paid"\n    starts skill A', "(TriggerDecl T event text:'paid' (Reference skill (Qualified [] A)) [])"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), DECLARATIONS, ids=[row[0][:30] for row in DECLARATIONS])
def test_declarations(text: str, expected: str) -> None:
    found = Parsed(f"module a\n{text}\n")
    assert found.problems == []
    assert found.module is not None
    assert shape(found.module.declarations[-1]) == expected


TEST = """module a
test "all"
    given tool T gives [1]
    given tool m.T fails with "Declined"
    given agent A decides
        call Find(query: "x")
        answer B(c: 1)
    given human.approve named go answers reject
    given human.review answers accept
    given human.review answers B(c: 1)
    given ask named who answers "Ada"
    run m.S(a: 1, b: 2)
    expect status is stopped
    expect result is none
    expect calls T 0 times
    expect no effects
"""


def test_tests() -> None:
    found = Parsed(TEST)
    assert found.problems == []
    assert found.module is not None
    assert found.module.declarations == []
    (test,) = found.module.tests
    assert not test.damaged
    assert [shape(each) for each in test.given] == [
        "(GivenTool (Reference tool (Qualified [] T)) (ListLiteral [1]))",
        "(GivenTool (Reference tool (Qualified [m] T)) text:'Declined')",
        "(GivenAgent (Reference agent (Qualified [] A)) [(Proposal (Call [] Find [(Argument query text:'x')])), "
        "(Proposal (Capital [] B [(Argument c 1)]))])",
        "(GivenAnswer approve go reject)",
        "(GivenAnswer review accept)",
        "(GivenAnswer review (Capital [] B [(Argument c 1)]))",
        "(GivenAnswer ask who text:'Ada')",
    ]
    assert shape(test.run) == "(Call [m] S [(Argument a 1), (Argument b 2)])"
    assert [shape(each) for each in test.expect] == [
        "(Expectation status stopped)", "(Expectation result None)", "(Expectation calls (Qualified [] T) 0)",
        "(Expectation effects)",
    ]  # fmt: skip


#: statements (their first line is 5, column 9) → the one problem, and a part of its label
WRONG_STATEMENTS = [
    ('human "Go?"', "TB2006 5:15", "human.approve"),
    ("human.approve", "TB2006 5:22", "as a text"),
    ("human.approve a", "TB2006 5:23", "as a text"),
    ('human.ask "a"', "TB2006 5:15", "`ask …`"),
    ('human.confirm "a"', "TB2006 5:15", "`human.approve …`"),
    ('let x = human.approve "a"', "TB2012 5:23", "a line of its own"),
    ('human.approve "a" expires 3 days', "TB2006 5:35", "`expires after 3 days`"),
    ('human.approve "a" expires after 3', "TB1011 5:41", "`3 seconds`"),
    ('human.approve "a" expires after 3 weeks', "TB1011 5:43", "`days`"),
    ('human.approve "a" expires after soon', "TB2006 5:41", "expires after 3 days"),
    ('human.approve "a" expires after 3 days named b', "TB2010 5:48", "before `expires after`"),
    ('human.approve "a" named Go', "TB1010 5:33", "`go`"),
    ('let x = human.review "a"', "TB2006 5:33", "as a text"),
    ("let x = human.review a + b \"c\"", "TB2006 5:32", "in brackets"),
    ('let x = ask "a"', "TB2006 5:24", "`as Text`"),
    ('let x = ask "a" named b', "TB2006 5:25", "as Text"),
    ('let x = ask a as Text', "TB2006 5:21", "as a text"),
    ('let x = ask "a" as Text expires after 3 days', "TB2007 5:33", "remove"),
    ('let x = ask "a" as Text + "b"', "TB2012 5:33", "bind the call"),
    ('let x = 1 + ask "a" as Text', "TB2012 5:21", "bind it with `let`"),
    ('if ask "a" as Bool\n    break', "TB2012 5:12", "bind it with `let`"),
    ('let x = f(human.review a "b")', "TB2012 5:19", "bind it with `let`"),
    ("let x = [parallel for each y in b]", "TB2012 5:18", "bind it with `let`"),
    ("parallel\n    branch a\n        break", "TB2006 5:17", "`parallel as name`"),
    ("parallel x\n    branch a\n        break", "TB2006 5:18", "`parallel as name`"),
    ("parallel as x collecting failures\n    branch a\n        break", "TB2010 5:23", "`parallel collecting failures as x`"),
    ("parallel collecting as x\n    branch a\n        break", "TB2006 5:29", "`collecting failures`"),
    ("parallel as x", "TB2003 5:9", "indent"),
    ("parallel as x\n    give 1", "TB2005 6:13", "`branch name`"),
    ("parallel as x\n    branch\n        give 1", "TB2006 6:19", "name of a branch"),
    ("parallel as x\n    branch a = 1\n        give 1", "TB2007 6:22", "what it gives"),
    ("parallel as x\n    branch a", "TB2003 6:13", "indent"),
    ("let x = parallel as y\n    branch a\n        give 1", "TB2012 5:26", "`parallel as y`"),
    ("parallel for x in b\n    break", "TB2006 5:22", "`parallel for each x in xs`"),
    ("parallel for each x of b\n    break", "TB2006 5:29", "`parallel for each x in xs`"),
    ("parallel for each x in b at most\n    break", "TB2006 5:41", "`at most 8 at once`"),
    ("parallel for each x in b at most 3\n    break", "TB2006 5:43", "`at most 8 at once`"),
    ("parallel for each x in b at most a at once\n    break", "TB2006 5:42", "`at most 8 at once`"),
    ("parallel for each x in b collecting failures\n    break", "TB2010 5:34", "collecting failures for each"),
    ("let x = parallel for each y in b", "TB2003 5:9", "indent"),
    ("branch a\n    break", "TB2005 5:9", "stands in a `parallel as name`"),
    ("compensate T", "TB2007 5:20", "since the `attempt` began"),
    ("compensate with T", "TB2007 5:20", "since the `attempt` began"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected", "label"), WRONG_STATEMENTS, ids=[row[0][:40] for row in WRONG_STATEMENTS])
def test_one_mistake_in_a_statement_is_one_problem(text: str, expected: str, label: str) -> None:
    found = Parsed(body(text))
    assert found.problems == [expected], found.diagnostics
    assert label in found.diagnostics[0].label
    # what comes after the mistake is still read
    after = Parsed(body(text) + "\ntype After is Int min\n")
    assert len(after.problems) == 2


REST = '\n    responsibility "r"'

#: declarations (their first line is 2) → the one problem, and a part of its label
WRONG_DECLARATIONS = [
    ("skill F\n    callable_by\n    do\n        break", "TB2006 3:16", "`tool Name`"),
    ("skill F\n    callable_by S\n    do\n        break", "TB2006 3:17", "`tool S`"),
    ("skill F\n    callable_by strategy S, T\n    do\n        break", "TB2006 3:29", "`strategy T`"),
    ("skill F\n    callable_by stratgy S\n    do\n        break", "TB2006 3:17", "`strategy`"),
    ("skill F\n    callable_by strategy s\n    do\n        break", "TB1010 3:26", "`S`"),
    ("skill F\n    do\n        break\n    callable_by strategy S", "TB2010 5:5", "before `do`"),
    ("skill F\n    callable_by strategy S\n    takes a as Int\n    do\n        break", "TB2010 4:5", "below the name"),
    ("strategy F\n    callable_by strategy S\n    do\n        break", "TB2005 3:5", "skills and agents"),
    ("function F\n    uses tool T\n    do\n        break", "TB2005 3:5", "belongs to an agent"),
    ("tool T\n    uses tool U", "TB2005 3:5", ""),
    ("tool T\n    reads M", "TB2006 3:11", "`reads memory Name`"),
    ("tool T\n    writes memory m", "TB1010 3:19", "`M`"),
    ("tool T\n    effect read key a", "TB2007 3:17", "remove `key`"),
    ("tool T\n    effect write key", "TB2006 3:21", "value"),
    ("tool T\n    effect write key call T(a)", "TB2012 3:22", "bind it"),
    ("tool T\n    compensate U", "TB2006 3:16", "compensate with Tool"),
    ("tool T\n    compensate with tool U", "TB2006 3:21", "remove `tool`"),
    ("tool T\n    compensate with U\n    compensate with V", "TB2010 4:5", "remove"),
    ("agent A", "TB2003 2:1", "indent"),
    ("agent A\n    takes q as Text", "TB2014 2:7", "responsibility"),
    ("agent A(q as Text)" + REST, "TB2008 2:8", "`takes name as Type`"),
    ("agent A" + REST + REST, "TB2010 4:5", "remove"),
    ("agent A\n    responsibility answer", "TB2006 3:20", "as a text"),
    ("agent A\n    do\n        give 1" + REST, "TB2005 3:5", "decided when it runs"),
    ("agent A\n    respnsibility \"r\"", "TB2005 3:5", "`responsibility`"),
    ("agent A\n    uses memory M" + REST, "TB2006 3:10", "tools alone"),
    ("agent A\n    uses T" + REST, "TB2006 3:10", "`tool T`"),
    ("agent A\n    allows human approval" + REST, "TB2006 3:18", "human review"),
    ("agent A\n    allows review" + REST, "TB2006 3:12", "human review"),
    ("agent A\n    steps many" + REST, "TB2006 3:11", "`steps 8`"),
    ("agent A\n    steps 3\n    steps 4" + REST, "TB2010 4:5", "remove"),
    ("agent A\n    secret x" + REST, "TB2005 3:5", ""),
    ("memory M", "TB2003 2:1", "indent"),
    ("memory M\n    holds X", "TB2014 2:8", "scope"),
    ("memory M\n    scope run", "TB2014 2:8", "holds"),
    ("memory M\n    holds X\n    scope global", "TB2006 4:11", "`project`"),
    ("memory M\n    holds X\n    scope run\n    scope run", "TB2010 5:5", "remove"),
    ("memory M\n    holds X\n    key\n    scope run", "TB2006 4:8", "field"),
    ("memory M\n    hold X\n    scope run", "TB2005 3:5", "`holds`"),
    ("trigger T\n    starts strategy S", "TB2014 2:9", "`on schedule"),
    ("trigger T\n    on event \"a\"", "TB2014 2:9", "starts"),
    ("trigger T\n    on cron \"a\"\n    starts strategy S", "TB2006 3:8", "`event`"),
    ("trigger T\n    on schedule\n    starts strategy S", "TB2006 3:16", "cron line"),
    ("trigger T\n    on webhook \"/a\" timezone \"UTC\"\n    starts strategy S", "TB2007 3:21", "remove `timezone`"),
    ("trigger T\n    on event \"a\"\n    starts S", "TB2006 4:12", "`strategy S`"),
    ("trigger T\n    on event \"a\"\n    starts strategy S\n    payload", "TB2003 5:5", "indent"),
    ("trigger T\n    on event \"a\"\n    starts strategy S\n    payload\n        x = 3", "TB2008 6:11", "write `is`"),
    ("trigger T\n    on event \"a\"\n    starts strategy S\n    payload\n        x body.x", "TB2006 6:11", "from body"),
    ("trigger T\n    on event \"a\"\n    starts strategy S\n    payload\n        x is y", "TB2006 6:14", ""),
    ("trigger T\n    on event \"a\"\n    starts strategy S\n    quota 3", "TB2006 5:12", "per hour"),
    ("trigger T\n    on event \"a\"\n    starts strategy S\n    quota 3 per week", "TB2006 5:17", "`day`"),
    ("trigger T\n    on event \"a\"\n    starts strategy S\n    when x", "TB2005 5:5", ""),
    ("test\n    run S()\n    expect no effects", "TB2006 2:5", "what it shows"),
    ('test "a"', "TB2003 2:1", "indent"),
    ('test "a"\n    run S()', "TB2014 2:6", "expect"),
    ('test "a"\n    expect no effects', "TB2014 2:6", "run Name"),
    ('test "a"\n    expect no effects\n    run S()', "TB2010 3:5", "behind `run`"),
    ('test "a"\n    given tool T gives 1\n', "TB2014 2:6", "run"),
    ('test "a"\n    run S()\n    run S()\n    expect no effects', "TB2010 4:5", "a test for each"),
    ('test "a"\n    run S()\n    given tool T gives 1\n    expect no effects', "TB2010 4:5", "before `run`"),
    ('test "a"\n    run S\n    expect no effects', "TB2006 3:10", "brackets"),
    ('test "a"\n    call S()\n    expect no effects', "TB2005 3:5", ""),
    ('test "a"\n    given T gives 1\n    run S()\n    expect no effects', "TB2006 3:11", "`tool T`"),
    ('test "a"\n    given tool T returns 1\n    run S()\n    expect no effects', "TB2006 3:18", "`gives`"),
    ('test "a"\n    given tool T fails "X"\n    run S()\n    expect no effects', "TB2006 3:24", "fails with"),
    ('test "a"\n    given agent A answers 1\n    run S()\n    expect no effects', "TB2006 3:19", "decides"),
    ('test "a"\n    given agent A decides\n        give 1\n    run S()\n    expect no effects', "TB2005 4:9", "`answer`"),
    ('test "a"\n    given agent A decides\n    run S()\n    expect no effects', "TB2003 3:5", "indent"),
    ('test "a"\n    given human.approve answers yes\n    run S()\n    expect no effects', "TB2006 3:33", "`approve`"),
    ('test "a"\n    given human.approve approve\n    run S()\n    expect no effects', "TB2006 3:25", "`answers`"),
    ('test "a"\n    given human answers approve\n    run S()\n    expect no effects', "TB2006 3:17", "human.approve"),
    ('test "a"\n    run S()\n    expect status is "stopped"', "TB2006 4:22", "without quotes"),
    ('test "a"\n    run S()\n    expect status is done', "TB2006 4:22", "`stopped`"),
    ('test "a"\n    run S()\n    expect status stopped', "TB2006 4:19", "expect status is"),
    ('test "a"\n    run S()\n    expect calls T 1', "TB2006 4:21", "`1 times`"),
    ('test "a"\n    run S()\n    expect calls T 1 time', "TB2006 4:22", "`1 times`"),
    ('test "a"\n    run S()\n    expect effects none', "TB2006 4:12", "`no`"),
    ('test "a"\n    run S()\n    expect no failures', "TB2006 4:15", "expect no effects"),
    ('## about\ntest "a"\n    run S()\n    expect no effects', "TB2013 2:1", "`#`"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected", "label"), WRONG_DECLARATIONS, ids=[row[0][:60] for row in WRONG_DECLARATIONS]
)
def test_one_mistake_in_a_declaration_is_one_problem(text: str, expected: str, label: str) -> None:
    found = Parsed(f"module a\n{text}\n")
    assert found.problems == [expected], found.diagnostics
    assert label in found.diagnostics[0].label
    after = Parsed(f"module a\n{text}\ntype After is Int min\n")
    assert after.problems[0] == expected
    assert len(after.problems) == 2


def test_words_are_free_elsewhere() -> None:
    text = """module a
type Case
    agent as Text
    memory as Int
    branch as Text
    human as Bool
    ask as Text
strategy S
    takes agent as Text, branch as Int, key as Text, compensate as Int, collecting as Int
    gives Case
    do
        let trigger = branch + compensate
        let parallels = collecting
        give Case(agent: agent, memory: trigger, branch: key, human: true, ask: "x")
"""
    found = Parsed(text)
    assert found.problems == []
    assert found.module is not None
    assert isinstance(found.module.declarations[1], tree.CallableDecl)
