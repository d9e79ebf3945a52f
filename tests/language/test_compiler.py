"""The compiler as a whole: digests, determinism, limits, and that nothing makes it fail."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.language.programs import air, body, compiled, problems
from touba_cli import __version__
from touba_cli.air.program import read_program, write_program
from touba_cli.codec import sha256
from touba_cli.language.diagnostics import CODES

PROGRAM = '''module app
from shop.types import Line

## What comes of it.
choice Verdict
    Fine with total as Decimal min 0
    Wrong with reason as Text

tool Look
    takes name as Text length 1 to 40
    gives Optional Decimal
    requires network
    effect read
    timeout 5 seconds

function Total
    takes lines as List of Line
    gives Decimal
    do
        give sum([line.price * line.amount for line in lines if line.amount > 0])

strategy Check
    takes lines as List of Line length max 9, limit as Decimal
    gives Verdict
    do
        var known = {"none": 0.0}
        for each line in lines
            attempt
                let price = call Look(line.name)
                if price is absent
                    continue
                set known = merge(known, {"{line.name}": price})
            on failure as problem
                show "Skipped {line.name}: {problem.code}"
        let total = Total(lines)
        require total > 0 else "Nothing to pay"
        when total > limit
            is true
                give Wrong(reason: "{total} is more than {limit}; {length(known)} known")
            is false
                give Fine(total: total)
'''  # fmt: skip
TYPES = """module shop.types
type Line
    name as Text length 1 to 40
    amount as Int
    price as Decimal min 0
"""


def digest(program: str, types: str = TYPES) -> str:
    found: str = air(program, {"shop/types.tb": types})["digest"]
    return found


def test_layout_and_comments_do_not_change_the_digest() -> None:
    first = digest(PROGRAM)
    assert digest(PROGRAM.replace("    do\n", "    # a comment\n    do\n").replace(" + ", "  +  ")) == first
    assert digest(PROGRAM + "\n\n# the end\n") == first
    assert digest(PROGRAM.replace("\n", "\r\n")) == first
    moved = air(PROGRAM, {"src/shop/types.tb": TYPES})
    assert moved["digest"] == first


def test_documentation_and_meaning_change_the_digest() -> None:
    first = digest(PROGRAM)
    assert digest(PROGRAM.replace("## What comes of it.", "## What comes of all this.")) != first
    assert digest(PROGRAM.replace("total > 0", "total > 1")) != first
    assert digest(PROGRAM, TYPES.replace("1 to 40", "1 to 41")) != first


def test_build_names_the_compiler_and_every_source() -> None:
    found = air(PROGRAM, {"shop/types.tb": TYPES})
    assert found["build"] == {
        "compiler": __version__,
        "sources": {"main.tb": sha256(PROGRAM.encode()), "shop/types.tb": sha256(TYPES.encode())},
    }
    assert found["requires"] == ["attempt", "tools"]
    assert read_program(write_program(found)).digest == found["digest"]


def test_same_text_same_bytes_in_every_process() -> None:
    script = (
        "import sys; from tests.language.programs import air; from tests.language.test_compiler import PROGRAM, TYPES\n"
        "from touba_cli.air.program import write_program\n"
        "sys.stdout.buffer.write(write_program(air(PROGRAM, {'shop/types.tb': TYPES})))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": "."},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert outputs == {write_program(air(PROGRAM, {"shop/types.tb": TYPES}))}


def test_a_failed_compilation_has_no_air() -> None:
    found = compiled(body("give nothing_known"))
    assert found.failed
    assert found.air is None
    assert all(each.code in CODES for each in found.diagnostics)


def test_diagnostics_are_sorted_and_complete() -> None:
    lines = "\n".join(f"let a{number} as Int = unknown{number}" for number in range(300))
    found = compiled(body(lines + "\ngive 1"))
    errors = [each for each in found.diagnostics if each.code == "TB3001"]
    assert [each.span.start for each in errors] == sorted(each.span.start for each in errors)
    assert len(errors) == 300


def test_problems_of_lines_that_could_not_be_read_do_not_come_back() -> None:
    assert problems(compiled(body("let a = = 1\ngive a + 1 + b"))) == ["TB2006 5:17", "TB3001 6:22"]


# --- nothing makes it fail --------------------------------------------------------------------------------------------


DEEP = {
    "brackets": "(" * 60 + "n" + ")" * 60,
    "lists": "length(" + "[" * 60 + "n" + "]" * 60 + ")",
    "not": "1 if " + "not " * 90 + "true else 2",
    "fields": "n" + ".a" * 90,
    "positions": "n" + "[0]" * 90,
    "minus": "- " * 90 + "n",
    "functions": "F(" * 60 + "n" + ")" * 60,
    "records": "R(a: " * 60 + "n" + ")" * 60,
    "otherwise": " otherwise ".join(["first([n])"] * 90) + " otherwise n",
    "comparisons": "1 if " + "(" * 60 + "n is Low" + ") is Low" * 60 + " else 2",
    "empty lists": "length(" + "[] + (" * 50 + "[n]" + ")" * 50 + ")",
    "untold lists": "length(" + "[] + (" * 50 + "[]" + ")" * 50 + ")",
    "too deep": "n" + "[0]" * 5000,
    "conditionals": "(" * 60 + "n" + " if true else n)" * 60,
    "abs": "abs(" * 60 + "n" + ")" * 60,
}


@pytest.mark.parametrize("name", DEEP)
def test_deep_expressions_end_well(name: str) -> None:
    found = compiled(
        body(f"give {DEEP[name]}", takes="n as Int", before="type R\n    a as Optional Int\nchoice C is Low, High")
    )
    if found.air is not None:
        read_program(write_program(found.air))
    else:
        assert found.diagnostics != []


def test_nesting_that_the_document_could_not_hold_is_refused() -> None:
    depth = 55
    expression = "[" * depth + "Wrap(a: first([n]))" + "]" * depth
    takes = "List of " * depth
    found = compiled(
        body(
            f"let _x as {takes}Wrap = {expression}\ngive 1", takes="n as Int", before="type Wrap\n    a as Optional Int"
        )
    )
    if found.air is not None:
        read_program(write_program(found.air))
    else:
        assert {each.code for each in found.diagnostics} <= {"TB9006"}


def test_many_declarations() -> None:
    types = "\n".join(f"type T{number}\n    a as Optional T{number + 1}" for number in range(1500))
    aliases = "\n".join(f"type A{number} is A{number + 1}" for number in range(20))
    found = compiled(f"{types}\ntype T1500\n    a as A0\n{aliases}\ntype A20 is Int\n")
    assert problems(found) == []


def test_many_modules_in_a_row() -> None:
    others = {
        f"m{number}.tb": f"module m{number}\nimport m{number + 1}\ntype T\n    a as m{number + 1}.T\n"
        for number in range(300)
    }
    others["m300.tb"] = "module m300\ntype T\n    a as Int\n"
    found = compiled("import m0\ntype T\n    a as m0.T\n", others)
    assert problems(found) == []


def test_too_many_files() -> None:
    others = {
        f"m{number}.tb": f"module m{number}\nimport m{number + 1}\ntype T\n    a as m{number + 1}.T\n"
        for number in range(1100)
    }
    found = compiled("import m0\ntype T\n    a as m0.T\n", others)
    assert problems(found) == ["m998.tb TB9005 2:8"]


WORDS = sorted(
    set(PROGRAM.replace("\n", " ").split(" ")) | {"none", "[]", "otherwise", "is present", "Wrong", "{}", "call"}
)


@given(st.data())
def test_damaged_programs_never_fail_the_compiler(data: st.DataObject) -> None:
    """Words of a program are exchanged, dropped and doubled: what still compiles is sound, the rest has errors."""
    words = PROGRAM.split(" ")
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(words) - 1))
        what = data.draw(st.sampled_from(["drop", "double", "exchange", "replace"]))
        if what == "drop":
            del words[at]
        elif what == "double":
            words.insert(at, words[at])
        elif what == "exchange":
            other = data.draw(st.integers(0, len(words) - 1))
            words[at], words[other] = words[other], words[at]
        else:
            words[at] = data.draw(st.sampled_from(WORDS))
    found = compiled(" ".join(words), {"shop/types.tb": TYPES})
    if found.air is None:
        assert any(each.severity == "error" for each in found.diagnostics)
    else:
        read_program(write_program(found.air))
    assert [each for each in found.diagnostics if "\n" in each.title or each.title[-1:] == "?"] == []


def test_texts_keep_to_the_style() -> None:
    """Lower case, no full stop, no line breaks, no names of classes: over the problems of one wrong program."""
    found = compiled(body('let a as Int = "x"\nset b = 1\nbreak\ngive lenght(a) + c.d', takes="n as Int"))
    for each in found.diagnostics:
        for text in (each.title, each.label, each.help or ""):
            assert not text[:1].isupper(), text
            assert not text.endswith("."), text
            assert "\n" not in text
            assert "?" not in text.rstrip("?"), text


FIXES = {
    "is none": ("give 1 if n is none else 2", "give 1 if n is absent else 2"),
    "is not none": ("give 1 if n is not none else 2", "give 1 if n is present else 2"),
    "float": ("let _a as Float = 3\ngive 1", "let _a as Float = 3f\ngive 1"),
    "bare variant": ("let _a = Low\ngive 1", "let _a = C.Low\ngive 1"),
    "variant without payload": ("let _a as C = Low()\ngive 1", "let _a as C = Low\ngive 1"),
    "function called by call": ("let _a = call G(1)\ngive 1", "let _a = G(1)\ngive 1"),
}


@pytest.mark.parametrize("name", FIXES)
def test_fixes_are_right(name: str) -> None:
    wrong, right = FIXES[name]
    before = "choice C is Low, High\nfunction G\n    takes n as Int\n    gives Int\n    do\n        give n"
    text = "module app\n" + body(wrong, kind="strategy", takes="n as Optional Int", before=before)
    found = compiled(text)
    assert len(found.diagnostics) == 1
    fix = found.diagnostics[0].fix
    assert fix is not None
    fixed = text[: fix.span.start] + fix.text + text[fix.span.end :]
    assert fixed == "module app\n" + body(right, kind="strategy", takes="n as Optional Int", before=before)
    assert problems(compiled(fixed)) == []


def test_thousands_of_mistakes_end_soon() -> None:
    lines = "\n".join(f"let a{number} as Strin = un{number}.b + lenght(x{number}) + Foo(1)" for number in range(2000))
    found = compiled(body(lines + "\ngive 1"))
    assert len(found.diagnostics) > 4000
    assert sum(1 for each in found.diagnostics if each.label.startswith("did you mean")) > 100
