"""A `fix` is applied without looking: every one that any wrong program of the tests gets is applied here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import pytest

from tests.language.pages import CASES, PAGES, case_files, problems, wrong_program
from tests.language.parsing import body
from tests.language.test_parser import WRONG_DECLARATIONS, WRONG_STATEMENTS
from tests.language.test_python_people import PROGRAMS
from tests.language.wrong_kit import all_chunks
from touba_cli.language.diagnostics import Diagnostic


def programs() -> Iterator[tuple[str, Mapping[str, str | bytes]]]:
    """Every wrong program that tests have as text; the first file is the entry."""
    for chunk in all_chunks():
        yield chunk.id, {"main.tb": chunk.files["main.tb"], **chunk.files}
    for path in sorted(CASES.rglob("*.case")):
        files = case_files(path)
        if files and next(iter(files)).endswith(".tb"):
            yield path.stem, files
    for name, text, *_ in PROGRAMS:
        yield name, {"main.tb": text}
    for text, *_ in WRONG_STATEMENTS:
        yield text, {"main.tb": body(text)}
    for text, *_ in WRONG_DECLARATIONS:
        yield text, {"main.tb": "module a\n" + text}
    for code in PAGES:
        yield code, wrong_program(code)


def applied(found: Diagnostic) -> str:
    """The text of a file after the fix."""
    assert found.fix is not None
    text = found.source.text
    return text[: found.fix.span.start] + found.fix.text + text[found.fix.span.end :]


def kinds(found: list[Diagnostic]) -> Counter[tuple[str, str, str]]:
    return Counter((each.source.path, each.code, each.title) for each in found)


def test_every_fix_takes_its_problem_away() -> None:
    """Nothing else is wrong afterwards but what the same line held back, and warnings."""
    bad = []
    tried: Counter[str] = Counter()
    for name, files in programs():
        before = problems(files)
        for each in before:
            if each.fix is None:
                continue
            tried[each.code] += 1
            path = each.source.path
            after = problems({**files, path: applied(each)})
            line = each.source.position(each.fix.span.start)[0]
            gone = kinds(before) - kinds(after)
            fresh = kinds(after) - kinds(before)
            elsewhere = [
                other
                for other in after
                if (other.source.path, other.code, other.title) in fresh
                and other.severity == "error"
                and (other.source.path, other.source.position(other.span.start)[0]) != (path, line)
            ]
            if (path, each.code, each.title) not in gone or elsewhere:
                bad.append(f"{name}: {each.title} → {each.fix.text!r}: {[other.title for other in elsewhere]}")
    assert bad == []
    assert tried.total() > 60
    assert {"TB1003", "TB2007", "TB2008", "TB2011", "TB3007", "TB4002", "TB4006", "TB8001"} <= set(tried)


HEAD = """module app

function F
    takes n as Int
    gives Int
    do
        give n

strategy S
    takes n as Int
    takes p as Bool
    takes s as Text
    takes o as Optional Int
    gives Int
    do
"""


def repaired(line: str) -> str:
    """A line of a strategy after all fixes, one after the other."""
    text = f"{HEAD}        {line}\n        give 0\n"
    for _ in range(6):
        found = next((each for each in problems({"main.tb": text}) if each.fix is not None), None)
        if found is None:
            break
        text = applied(found)
    return text.removeprefix(HEAD).split("\n")[0].strip()


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("let _a = n==1&&!p||p", "let _a = n is 1 and not p or p"), ("let _a = p==!p", "let _a = p is not p"),
        ("let _a = n%2", "let _a = n mod 2"), ("let _a = o != None", "let _a = o is present"),
        ("let _a = 'x';", 'let _a = "x"'), ('let _a = f"{n}"', 'let _a = "{n}"'), ("let _a = n×2", "let _a = n*2"),
        ("const a = True", "let a = true"), ("return n", "give n"), ("let _a = call F(n)", "let _a = F(n)"),
        ("let _a as Float = 1_000", "let _a as Float = 1_000f"),
    ],
)  # fmt: skip
def test_what_was_meant(line: str, meant: str) -> None:
    assert repaired(line) == meant


@pytest.mark.parametrize(
    ("line", "code", "label"),
    [
        ('let _a = "a %d" % n', "TB2008", 'a value is put into a text: `"… {x}"`'),
        ("let _a = o ?? n + 1", "TB2008", "a fallback for an absent value is written `otherwise`"),
        ('let _a = f"{{n}} {n}"', "TB2008", "every text may have `{…}`; write it without `f`"),
        ('let _a = f"}}"', "TB2008", "every text may have `{…}`; write it without `f`"),
        ('let _a = f"{n:.2f}"', "TB2008", "every text may have `{…}`; write it without `f`"),
        ('let _a = f"{s!r}"', "TB2008", "every text may have `{…}`; write it without `f`"),
        ('let _a = "{s!r}"', "TB1009", "remove `!` and what follows: a value has one form in a text"),
        ('let _a = "{n:3}"', "TB1009", r"write `\{` for a brace, or `text(round(x, 2))` for a format"),
        ("let _a = 'it\\'s {n}'", "TB2008", 'write `"…"`'), ("let _a = '''x'''", "TB2008", 'write `"""`'),
        ("let _a = n!", "TB2008", "write `not`"),
        ("return", "TB2008", "`give` needs a value; leave the rest of the block to an `else`"),
        ("call F(n)", "TB3007", "a function does nothing but give: `let x = F(…)`"),
        ("let _a = n; let _b = n", "TB2008", "a statement ends with its line; nothing is written there"),
        ("try:\n            show \"a\"\n        except E:\n            show \"b\"", "TB2008",
         "write `attempt`, and `on failure as problem` after its block"),
    ],
)  # fmt: skip
def test_what_is_not_replaced_blindly(line: str, code: str, label: str) -> None:
    """A replacement would mean something else, or be no program."""
    found = [each for each in problems({"main.tb": f"{HEAD}        {line}\n        give 0\n"}) if each.code[2] != "8"]
    assert [(each.code, each.label, each.fix) for each in found] == [(code, label, None)]


def test_a_text_block_in_single_quotes_is_one_mistake() -> None:
    text = f"{HEAD}        let _a = '''\n  it's \"so\"\n# x\n'''\n        let _b = 1 + unknown\n        give 0\n"
    assert [each.code for each in problems({"main.tb": text})] == ["TB2008", "TB3001"]


@pytest.mark.parametrize(
    ("line", "code", "label"),
    [
        ("call Check(n)", "TB3007", "make it a skill: a function that gives nothing has no use here"),
        ("let _a = Check(n)", "TB4001", "let the function give something"),
    ],
)
def test_hints_about_a_function_without_a_result_lead_out(line: str, code: str, label: str) -> None:
    check = 'function Check\n    takes n as Int\n    do\n        require n > 1 else "small"\n\n'
    text = HEAD.replace("strategy S", check + "strategy S")
    found = problems({"main.tb": f"{text}        {line}\n        give 0\n"})
    assert [(each.code, each.label) for each in found] == [(code, label)]
