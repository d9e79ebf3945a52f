"""Nasty inputs of runs, by the numbers of the list that the language was designed against.

Those about the way from text to AIR are in `tests/language/test_nasty.py`, those about AIR in `tests/air/test_nasty_air.py`,
and `tests/test_nasty_rows.py` says where each row of the list is.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.machine_kit import drive
from tests.shell_kit import Ended, Project
from touba_cli.air.program import Program, load_program
from touba_cli.language.compiler import compile_program
from touba_cli.limits import MAX_DEPTH
from touba_cli.project.sources import ProjectSources
from touba_cli.runtime.execution import GeneratedCode
from touba_cli.runtime.machine import Machine, RunLimits
from touba_cli.values.check import TypeTable
from touba_sdk import ToubaEngine, ToubaEngineError


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


# --- 5 and 13: texts that are no numbers, and texts that are very long --------------------------------------------------

SAME = "module app\nfunction Main\n    takes v as {0}\n    gives {0}\n    do\n        give v\n"

DECIMALS = [
    ("1E+1000000", "plain notation"), ("NaN", "plain notation"), ("sNaN", "plain notation"),
    ("Infinity", "plain notation"), (" 1 ", "plain notation"), ("1_000", "plain notation"), ("", "plain notation"),
    ("\u0661\u0662", "plain notation"), ("\uff11", "plain notation"), ("+1", "plain notation"), ("01", "plain notation"),
    ("1.", "plain notation"), (".5", "plain notation"), ("1,5", "plain notation"), ("9" * 1_000_000, "6179 characters"),
    ("3" * 40, "34 significant digits"), ("1." + "3" * 39, "34 significant digits"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "why"), DECIMALS, ids=[f"{text[:12]!a}" for text, _ in DECIMALS])
def test_5_texts_that_are_no_decimal(project: Project, text: str, why: str) -> None:
    project.write("app.tb", SAME.format("List of Decimal"))
    project.write("inputs.json", {"v": ["1", text]})
    done = project.touba("run", "app.tb", "--inputs=@inputs.json", "--json")
    message = done.refused("InputInvalid", 4)
    assert message.startswith("v[1]: expected a Decimal: ")
    assert why in message
    assert len(text) < 5 or text not in done.stdout.decode() + done.stderr


def test_13_combining_marks_pass_as_they_are(project: Project) -> None:
    text = "e" + "\u0301" * 400_000
    project.write("app.tb", SAME.format("Text"))
    project.write("inputs.json", json.dumps({"v": text}, ensure_ascii=False))
    assert project.touba("run", "app.tb", "--inputs=@inputs.json", "--json").document["result"] == text


# --- 19: recursion without end ----------------------------------------------------------------------------------------

FUNCTION = "{kind} {name}\n    takes n as Int\n    gives Int\n    do\n        give {call}\n"


def recursive(kind: str, *names: str) -> str:
    """Callables that call each other in a circle, the first of which is `Main`'s."""
    after = [*names[1:], names[0]]
    word = "call " if kind == "skill" else ""
    if kind == "skill":
        parts = [
            f"skill {name}\n    takes n as Int\n    gives Int\n    do\n        let a = call {next_}(n + 1)\n        give a\n"
            for name, next_ in zip(names, after, strict=True)
        ]
    else:
        parts = [
            FUNCTION.format(kind=kind, name=name, call=f"{next_}(n + 1)")
            for name, next_ in zip(names, after, strict=True)
        ]
    main = f"strategy Main\n    gives Int\n    do\n        let a = {word}{names[0]}(1)\n        give a\n"
    return "module app\n" + "".join(parts) + main


@pytest.mark.parametrize("kind", ["function", "skill"])
@pytest.mark.parametrize("names", [("A",), ("A", "B"), ("A", "B", "C")])
def test_19_recursion_without_end_names_the_first_and_the_last_calls(
    project: Project, kind: str, names: tuple[str, ...]
) -> None:
    project.write("app.tb", recursive(kind, *names))
    done = project.touba("run", "app.tb", "--json")
    message = done.refused("DepthLimitExceeded", 5)
    assert f"more than {MAX_DEPTH} callables" in message
    calls = message.partition(": ")[2].partition(" (")[0].split(" > ")
    # `Main` is the first that is open, so the call that is one too many is number MAX_DEPTH of the circle.
    expected = ["strategy:app/Main", *(f"{kind}:app/{names[at % len(names)]}" for at in range(MAX_DEPTH))]
    assert calls == [*expected[:5], "…", *expected[-5:]]


def test_19_an_attempt_does_not_see_the_depth(project: Project) -> None:
    program = recursive("skill", "A", "B").replace(
        "        let a = call A(1)\n",
        "        var a = 0\n        attempt\n            set a = call A(1)\n        on failure\n            give 7\n",
    )
    project.write("app.tb", program)
    project.touba("run", "app.tb", "--json").refused("DepthLimitExceeded", 5)


# --- 27: the budget ends anywhere -------------------------------------------------------------------------------------

BUDGET = """\
module app

type Line
    name as Text
    amount as Int

function Pick
    takes n as Int
    gives Int
    do
        if n mod 2 is 0 and n > 0
            give length(join([text(m) for m in range(0, n) if m > 1], ", "))
        else if n is 3
            give sum([m * m for m in range(0, 40)])
        give 1 if n > 4 else n

strategy Main
    gives Int
    do
        var total = 0
        for each n in range(0, 7)
            attempt
                set total = total + Pick(n)
                if total > 1_000_000
                    fail "too much"
            on failure
                set total = 0
        let lines = [Line(name: "b" + text(n), amount: n) for n in range(0, 9)]
        let first_line = sorted(lines by .name descending)[0]
        let changed = first_line with (amount: 3)
        attempt
            show "{join([line.name for line in lines], "/")} {changed.name}"
            require contains(join([line.name for line in lines], ""), "b8") else "it is not there"
        on failure
            set total = 0
        give total + length(replace("abcabcabcabcabcabcabc", "abc", "xyz"))
"""


@pytest.fixture(scope="module")
def budgeted(tmp_path_factory: pytest.TempPathFactory) -> Program:
    folder = tmp_path_factory.mktemp("budget")
    (folder / "app.tb").write_text(BUDGET, "utf-8")
    air = compile_program(ProjectSources(str(folder)), "app.tb").air
    assert air is not None
    return load_program(air)


def budget_runner(program: Program) -> Callable[[str, int], Any]:
    table = TypeTable(program.types)
    code = GeneratedCode(program.callables, table, at_once=True)

    def run(engine: str, max_steps: int) -> Any:
        made = Machine(
            program, table, "strategy:app/Main", [], RunLimits(max_steps=max_steps), {}, code,
            reference=engine == "reference",
        )  # fmt: skip
        return drive(made)

    return run


def test_27_a_budget_ends_at_the_same_instruction_wherever_it_ends(budgeted: Program) -> None:
    run = budget_runner(budgeted)
    whole = run("reference", 10**6)
    assert whole.result > 0
    assert run("reference", whole.steps).result == whole.result, "a budget of exactly N"
    places = set()
    for budget in range(1, whole.steps):
        reference, generated = run("reference", budget), run("generated", budget)
        assert reference.story() == generated.story(), budget
        failure = reference.ended.failure
        assert failure is not None
        assert failure.code == "StepLimitExceeded", "no attempt has seen it"
        assert f"more than {budget} steps" in failure.message
        assert reference.steps <= budget
        assert "failure_caught" not in reference.kinds
        places.add(failure.place)
    # It has ended in the loop, in both branches of the function, and in every line behind the loop.
    assert {ref for ref, _ in places} == {"strategy:app/Main", "function:app/Pick"}
    assert len([pc for ref, pc in places if ref == "function:app/Pick"]) >= 2
    assert len([pc for ref, pc in places if ref == "strategy:app/Main"]) >= 6


def test_27_a_budget_is_exact_at_a_terminal(project: Project) -> None:
    project.write("app.tb", BUDGET)
    steps = project.touba("run", "app.tb", "--json").document["usage"]["steps"]
    for budget in (steps, steps - 1):
        done = project.touba("run", "app.tb", f'--run-limits={{"max_steps":{budget}}}', "--json")
        if budget == steps:
            assert done.document["status"] == "success"
        else:
            assert "app.tb:" in done.refused("StepLimitExceeded", 5)
            assert done.document["usage"]["steps"] <= budget


# --- 28: odd JSON -----------------------------------------------------------------------------------------------------

ODD = """\
module app

type Line
    name as Text
    amount as Decimal
    note as Optional Text

type All
    lines as List of Line
    count as Int
    rate as Decimal
    share as Float
    any as Json

function Main
    takes lines as List of Line, count as Int, rate as Decimal, share as Float, any as Json
    gives All
    do
        give All(lines: lines, count: count, rate: rate, share: share, any: any)
"""
GOOD = '{"lines":[{"name":"a","amount":"1.50"}],"count":1,"rate":"2.50","share":0.5,"any":"x"}'
RESULT = {
    "lines": [{"name": "a", "amount": "1.50", "note": {"present": False}}],
    "count": 1, "rate": "2.50", "share": 0.5, "any": "x",
}  # fmt: skip

#: what is odd → what is replaced by what; then the code and the words with which it is refused, or what of the result
#: is different
OddRow = tuple[str, str, tuple[str, str] | dict[str, Any]]
ODD_JSON: dict[str, OddRow] = {
    "a key twice": ('"name":"a"', '"name":"a","name":"b"', ("JsonInvalid", 'the key "name" stands twice in one object (line')),
    "NaN": ("0.5", "NaN", ("JsonInvalid", "`NaN` is not JSON (line")),
    "Infinity": ("0.5", "-Infinity", ("JsonInvalid", "`-Infinity` is not JSON (line")),
    "1e400 for Float": ("0.5", "1e400", ("InputInvalid", "share: the number is out of the range of Float")),
    "1e400 for Decimal": ('"2.50"', "1e400", ("InputInvalid", "rate: expected a Decimal: its exponent is not from -34 to 34")),
    "1e400 for Json": ('"x"', '{"a":[1e400]}', ("InputInvalid", 'any["a"][0]: the number is out of the range of Float')),
    "2^64 for Int": (":1,", ":18446744073709551616,", ("InputInvalid", "count: the number is not within 64 bits")),
    "2^63 for Int": (":1,", ":9223372036854775808,", ("InputInvalid", "count: the number is not within 64 bits")),
    "2^63 - 1 for Int": (":1,", ":9223372036854775807,", {"count": 2**63 - 1}),
    "2^64 for Json": ('"x"', "18446744073709551616", ("InputInvalid", "any: ")),
    "2^64 for Decimal": ('"2.50"', "18446744073709551616", {"rate": "18446744073709551616"}),
    "1.0 for Int": (":1,", ":1.0,", ("InputInvalid", "count: expected a whole number")),
    "1e0 for Int": (":1,", ":1e0,", ("InputInvalid", "count: expected a whole number")),
    "20 places": ('"2.50"', "0.10000000000000000001", {"rate": "0.10000000000000000001"}),
    "a lone surrogate": ('"name":"a"', '"name":"\\ud800"', ("JsonInvalid", "a text holds a lone surrogate (line")),
    "1,000 levels": ('"x"', "[" * 1_000 + "]" * 1_000, ("JsonInvalid", "nested deeper than 200 levels (line")),
    "101 levels": ('"x"', "[" * 101 + "]" * 101, ("InputInvalid", "the value is nested deeper than 100 levels")),
    "a field too many": ('"name":"a"', '"name":"a","nmae":"b"', ("InputInvalid", "lines[0].nmae: `Line` has no such field")),
    "an input too many": (":1,", ':1,"cuont":1,', ("InputInvalid", "function:app/Main has no input `cuont`")),
    "a field missing": ('"name":"a",', "", ("InputInvalid", "lines[0].name: the field is missing")),
    "an input missing": ('"count":1,', "", ("InputInvalid", "the input `count` of function:app/Main is missing")),
    "null for Text": ('"name":"a"', '"name":null', ("InputInvalid", "lines[0].name: expected a text, found null")),
    "null for Optional": ('"name":"a"', '"name":"a","note":null', {}),
    "null for Json": ('"x"', "null", {"any": None}),
    "null for an input": (":1,", ":null,", ("InputInvalid", "count: expected a whole number, found null")),
    "null for all": (GOOD, "null", ("OptionInvalid", "takes an object, not null")),
    "bytes that are no text": ('"name":"a"', '"name":"\udcff"', ("JsonInvalid", "is not valid UTF-8 (line")),
    "text behind it": ('"any":"x"}', '"any":"x"}}', ("JsonInvalid", "text follows the end of the document (line")),
}  # fmt: skip


def document(name: str) -> bytes:
    before, after, _ = ODD_JSON[name]
    assert GOOD.count(before) == 1
    return GOOD.replace(before, after).encode("utf-8", "surrogateescape")


def judged(done: Ended, expected: tuple[str, str] | dict[str, Any]) -> None:
    if isinstance(expected, dict):
        assert done.document["result"] == {**RESULT, **expected}
        return
    code, words = expected
    message = done.refused(code, 4 if code == "InputInvalid" else 2)
    assert words in message


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = Project(tmp_path_factory.mktemp("odd"))
    made.write("app.tb", ODD)
    assert made.touba("run", "app.tb", f"--inputs={GOOD}", "--json").document["result"] == RESULT
    return made


@pytest.mark.parametrize("name", ODD_JSON)
def test_28_odd_json_as_inputs(odd: Project, name: str) -> None:
    judged(odd.touba("run", "app.tb", "--inputs=-", "--json", stdin=document(name)), ODD_JSON[name][2])


HEAD = b'{"protocol":"touba-run-request-v1","sdk_version":"1","options":{"inputs":'


@pytest.mark.parametrize("name", [name for name in ODD_JSON if name not in ("null for all", "text behind it")])
def test_28_odd_json_in_a_request(odd: Project, name: str) -> None:
    judged(odd.touba("run", "app.tb", "--request=-", "--json", stdin=HEAD + document(name) + b"}}"), ODD_JSON[name][2])


def test_28_a_mark_of_byte_order_is_skipped(odd: Project) -> None:
    mark = "\ufeff".encode()
    judged(odd.touba("run", "app.tb", "--inputs=-", "--json", stdin=mark + GOOD.encode()), {})
    judged(odd.touba("run", "app.tb", "--request=-", "--json", stdin=mark + HEAD + GOOD.encode() + b"}}"), {})
    judged(
        odd.touba("run", "app.tb", "--inputs=-", "--json", stdin=2 * mark + GOOD.encode()),
        ("JsonInvalid", "a value was expected (line 1, column 1)"),
    )


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def with_line(**changes: Any) -> dict[str, Any]:
    return {"lines": [{"name": "a", "amount": Decimal("1.50"), **changes}]}


#: what is odd → inputs that are different; then as above
ODD_PYTHON: dict[str, tuple[dict[str, Any], tuple[str, str] | dict[str, Any]]] = {
    "NaN": ({"share": float("nan")}, ("OptionInvalid", "inputs.share: the float is not a finite number")),
    "1e400": ({"share": float("1e400")}, ("OptionInvalid", "inputs.share: the float is not a finite number")),
    "1e400 as Decimal": ({"rate": Decimal("1e400")}, {"rate": "1" + "0" * 400}),
    "NaN as Decimal": ({"rate": Decimal("NaN")}, ("OptionInvalid", "inputs.rate: the Decimal is not a finite number")),
    "2^64": ({"count": 2**64}, ("OptionInvalid", "inputs.count: the integer is outside 64 bits")),
    "2^63 - 1": ({"count": 2**63 - 1}, {"count": 2**63 - 1}),
    "20 places": ({"rate": Decimal("0.10000000000000000001")}, {"rate": "0.10000000000000000001"}),
    "a float for a Decimal": ({"rate": 0.1}, {"rate": "0.1"}),
    "a lone surrogate": (with_line(name="\ud800"), ("OptionInvalid", "inputs.lines[0].name: the text holds the lone surrogate")),
    "1,000 levels": ({"any": nested(1_000)}, ("OptionInvalid", "`inputs` cannot be sent: inputs.any[0]")),
    "99 levels in a record": ({"any": nested(99)}, {"any": nested(99)}),
    "101 levels": ({"any": nested(101)}, ("OptionInvalid", "nested deeper than 100 levels")),
    "two keys that are one": ({"any": {1: "a", "1": "b"}}, ("OptionInvalid", "inputs.any: a key is int; keys are texts")),
    "a field too many": (with_line(nmae="b"), ("InputInvalid", "lines[0].nmae: `Line` has no such field")),
    "a field missing": ({"lines": [{"amount": "1"}]}, ("InputInvalid", "lines[0].name: the field is missing")),
    "None for Text": (with_line(name=None), ("InputInvalid", "lines[0].name: expected a text, found null")),
    "None for Optional": (with_line(note=None), {}),
    "a mark of byte order": (with_line(name="\ufeffa"), {"lines": [{**RESULT["lines"][0], "name": "\ufeffa"}]}),  # type: ignore[index]
    "True for Int": ({"count": True}, ("InputInvalid", "count: expected a whole number, found true or false")),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD_PYTHON)
def test_28_odd_values_through_the_engine(odd: Project, name: str) -> None:
    changes, expected = ODD_PYTHON[name]
    inputs = {**with_line(), "count": 1, "rate": Decimal("2.50"), "share": 0.5, "any": "x", **changes}
    with ToubaEngine(project_root=odd.folder) as engine:
        if isinstance(expected, dict):
            assert engine.run("app.tb", inputs=inputs).result == {**RESULT, **expected}
            return
        with pytest.raises(ToubaEngineError) as caught:
            engine.run("app.tb", inputs=inputs)
    assert caught.value.code == expected[0]
    assert expected[1] in caught.value.message
