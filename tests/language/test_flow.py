"""Flow: every path gives, what can be reached, what a `when` covers, and where statements may stand."""

from __future__ import annotations

import pytest

from tests.language.programs import air, body, compiled, problems

CHOICE = "choice C\n    Paid with receipt as Text, at as Date\n    Held with reason as Text\n    Open"
TOOL = "tool T\n    takes n as Int\n    gives Int\n    effect none"

WRONG: dict[str, tuple[str, list[str]]] = {
    "nothing is given": (body("let _a = 1"), ["TB6001 2:10"]),
    "if without else": (body("if n > 1\n    give 1", takes="n as Int"), ["TB6001 2:10"]),
    "one branch does not": (body("if n > 1\n    give 1\nelse\n    let _a = 1", takes="n as Int"), ["TB6001 2:10"]),
    "for may run never": (body("for each a in [1]\n    give a"), ["TB6001 2:10"]),
    "repeat may run never": (body("repeat up to 3 times\n    give 1"), ["TB6001 2:10"]),
    "handler does not": (
        body('attempt\n    give call T(1)\non failure\n    show "x"', kind="strategy", before=TOOL),
        ["TB6001 6:10"],
    ),
    "arm does not": (
        body("when n\n    is 1\n        give 1\n    else\n        let _a = 1", takes="n as Int"),
        ["TB6001 2:10"],
    ),
    "variants missing": (
        body("when c\n    is Held with reason\n        give length(reason)", takes="c as C", before=CHOICE),
        ["TB6002 10:9"],
    ),
    "absent missing": (body("when n\n    is present as m\n        give m", takes="n as Optional Int"), ["TB6002 6:9"]),
    "false missing": (body("when n\n    is true\n        give 1", takes="n as Bool"), ["TB6002 6:9"]),
    "literals need else": (body('when n\n    is "a", "b"\n        give 1', takes="n as Text"), ["TB6002 6:9"]),
    "break outside": (body("break\ngive 1"), ["TB6003 5:9"]),
    "continue outside": (body("if true\n    continue\ngive 1"), ["TB8003 5:12", "TB6003 6:13"]),
    "give without gives": (body("give 1", gives=""), ["TB6003 4:9"]),
    "variant twice": (
        body(
            "when c\n    is Open\n        give 1\n    is Open\n        give 2\n    else\n        give 3",
            takes="c as C",
            before=CHOICE,
        ),
        ["TB6004 13:16"],
    ),
    "literal twice": (
        body(
            "when n\n    is 1, 2\n        give 1\n    is 3, 2\n        give 2\n    else\n        give 3",
            takes="n as Int",
        ),
        ["TB6004 9:19"],
    ),
    "equal decimals": (
        body("when n\n    is 1.0, 1\n        give 1\n    else\n        give 3", takes="n as Decimal"),
        ["TB6004 7:21"],
    ),
    "absent twice": (
        body(
            "when n\n    is absent\n        give 1\n    is absent\n        give 2\n    is present as m\n        give m",
            takes="n as Optional Int",
        ),
        ["TB6004 9:16"],
    ),
    "payload unknown": (
        body(
            "when c\n    is Held with reson\n        give length(reson)\n    else\n        give 1",
            takes="c as C",
            before=CHOICE,
        ),
        ["TB3003 11:26"],
    ),
    "payload of a plain variant": (
        body("when c\n    is Open with a\n        give 1\n    else\n        give 1", takes="c as C", before=CHOICE),
        ["TB3003 11:26"],
    ),
    "call in a function": (body("give call T(1)", before=TOOL), ["TB5001 9:14"]),
    "call line in a function": (body("call T(1)\ngive 1", before=TOOL), ["TB5001 9:9"]),
    "show in a function": (body('show "x"\ngive 1'), ["TB5001 5:9"]),
    "stop in a function": (body('stop "x"'), ["TB5001 5:9"]),
    "attempt in a function": (body("attempt\n    give 1\non failure\n    give 2"), ["TB5001 5:9"]),
    "effect missing with a grant": ("tool T\n    requires network\n", ["TB5002 2:6"]),
    "effect missing with a secret": ("tool T\n    secret token\n", ["TB5002 2:6"]),
    "after give": (body("give 1\ngive 2"), ["TB8002 6:9"]),
    "after a when that ends": (
        body("when n\n    is true\n        give 1\n    is false\n        give 2\ngive 3", takes="n as Bool"),
        ["TB8002 11:9"],
    ),
    "after break": (body("for each a in [1]\n    break\n    let _b = a\ngive 1"), ["TB8002 7:13"]),
    "only the first is reported": (body("give 1\ngive 2\ngive 3"), ["TB8002 6:9"]),
    "wrong in unreachable code": (body('give 1\ngive "a"'), ["TB8002 6:9", "TB4001 6:14"]),
    "else that is never taken": (
        body(
            "when n\n    is true\n        give 1\n    is false\n        give 2\n    else\n        give 3",
            takes="n as Bool",
        ),
        ["TB8003 11:13"],
    ),
    "test of what is known": (
        body("if n is absent\n    give 1\nif n is present\n    give n\ngive 2", takes="n as Optional Int"),
        ["TB8003 8:12"],
    ),
    "near a code": (
        body(
            'attempt\n    give call T(1)\non failure as problem\n    if problem.code is "ToolTimeot"\n        give 1\n    give 2',
            kind="strategy",
            before=TOOL,
        ),
        ["TB8004 12:32"],
    ),
    "near a code in a list": (
        body(
            'attempt\n    give call T(1)\non failure as problem\n    if problem.code in ["Mine", "ToolTimeot"]\n        give 1\n    give 2',
            kind="strategy",
            before=TOOL,
        ),
        ["TB8004 12:41"],
    ),
    "near a code in a when": (
        body(
            'attempt\n    give call T(1)\non failure as problem\n    when problem.code\n        is "ToolTimeot"\n            give 1\n'
            "        else\n            give 2",
            kind="strategy",
            before=TOOL,
        ),
        ["TB8004 13:20"],
    ),
    "code that attempt never sees": (
        body(
            'attempt\n    give call T(1)\non failure as problem\n    if problem.code is "StepLimitExceeded"\n        give 1\n    give 2',
            kind="strategy",
            before=TOOL,
        ),
        ["TB8003 12:32"],
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_flow(name: str) -> None:
    text, expected = WRONG[name]
    assert problems(compiled(text)) == expected


def test_missing_patterns_are_listed() -> None:
    found = compiled(
        body("when c\n    is Held with reason\n        give length(reason)", takes="c as C", before=CHOICE)
    )
    assert found.diagnostics[0].candidates == ("is Paid with receipt, at", "is Open")
    assert found.diagnostics[0].title == "this `when` does not cover `is Paid with receipt, at`, `is Open`"


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("if n > 1\n    give 1", "where no branch of this `if` is taken, nothing is given"),
        ("if n > 1\n    give 1\nelse\n    for each a in [n]\n        give a", "after this loop nothing is given"),
        ("if n > 1\n    let _a = 1\nelse\n    give 1", "after this nothing is given"),
    ],
)
def test_the_open_path_is_shown(lines: str, why: str) -> None:
    found = compiled(body(lines, takes="n as Int"))
    assert [related.label for related in found.diagnostics[0].related] == [why]


FINE = {
    "stop ends a path": ('if n > 1\n    stop "x"\ngive 1', "strategy"),
    "fail ends a path": ('if n > 1\n    give 1\nfail "x"', "function"),
    "all branches": ("if n > 1\n    give 1\nelse if n > 0\n    give 2\nelse\n    give 3", "function"),
    "attempt ends": ("attempt\n    give call T(n)\non failure\n    give 0", "strategy"),
    "attempt in a loop": (
        "for each a in [n]\n    attempt\n        if a > 1\n            continue\n        if a > 2\n            break\n"
        '        call T(a)\n    on failure as problem\n        show problem_text\n    show "x"\ngive 1'.replace(
            "show problem_text", 'show "{problem.code}"'
        ),
        "strategy",
    ),
    "loop that never comes round": ("for each a in [n]\n    break\ngive 1", "function"),
    "unreachable with jumps": (
        "for each a in [n]\n    break\n    if a > 1\n        continue\n    break\ngive 1",
        "function",
    ),
    "arms in any order": ("when n > 1\n    is false\n        give 0\n    is true\n        give 1", "function"),
    "recursion": ("give 1 if n < 2 else n * 2", "function"),
}


@pytest.mark.parametrize("name", FINE)
def test_fine_flow(name: str) -> None:
    lines, kind = FINE[name]
    air(body(lines, kind=kind, takes="n as Int", before=TOOL))


def test_callables_may_call_each_other() -> None:
    air(
        "function Even\n    takes n as Int\n    gives Bool\n    do\n        give true if n is 0 else Odd(n - 1)\n"
        "function Odd\n    takes n as Int\n    gives Bool\n    do\n        give false if n is 0 else Even(n - 1)\n"
        "strategy Again\n    takes n as Int\n    do\n        if Even(n)\n            call Again(n - 1)\n"
    )
