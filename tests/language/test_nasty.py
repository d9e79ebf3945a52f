"""Nasty programs, and what comes of each: one problem for each cause, or AIR, and always within a bounded time.

The numbers are those of the list of nasty inputs that the language was designed against; what is not about the way from
text to AIR is tested beside the runtime.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping

import pytest

from tests.language.pages import Files
from touba_cli.air.program import read_program, write_program
from touba_cli.language.compiler import Compiled, compile_program
from touba_cli.language.render import render_all
from touba_cli.limits import BLOCK_DEPTH, BRACKET_DEPTH, CALLABLE_SLOTS, DIAGNOSTICS_SHOWN, SOURCE_BYTES

#: seconds that no program may need: a hundred times what the slow ones need on a machine of their own
PATIENCE = 60


def compiled(program: str | bytes, **others: str) -> Compiled:
    """Compile `app.tb` beside modules by name (`src__shop` is `src/shop.tb`) without taking long."""
    files: dict[str, str | bytes] = {"app.tb": program}
    files.update({name.replace("__", "/") + ".tb": text for name, text in others.items()})
    return timed(files)


def timed(files: Mapping[str, str | bytes]) -> Compiled:
    before = time.monotonic()
    found = compile_program(Files(files), next(iter(files)))
    assert time.monotonic() - before < PATIENCE
    return found


def said(program: str | bytes, **others: str) -> list[str]:
    """`TB4001 7:14` for each problem; those of other files begin with the file."""
    shown = []
    for each in compiled(program, **others).diagnostics:
        line, column = each.source.position(each.span.start)
        prefix = "" if each.source.path == "app.tb" else each.source.path + " "
        shown.append(f"{prefix}{each.code} {line}:{column}")
    return shown


def report(program: str | bytes, **others: str) -> str:
    """What the terminal shows."""
    return render_all(compiled(program, **others).diagnostics)


def accepted(program: str) -> None:
    found = compiled(program)
    assert found.diagnostics == []
    assert found.air is not None


def function(lines: str, takes: str = "n as Int", gives: str = "Int", before: str = "", kind: str = "function") -> str:
    """A program whose statements begin in line 6 at column 9, where nothing stands before the callable."""
    body = "".join(f"        {line}\n" for line in lines.split("\n"))
    return f"module app\n{before}{kind} Run\n    takes {takes}\n    gives {gives}\n    do\n{body}"


CHOICE = "choice C\n    A\n    B with x as Int\n    D\n"
TOOL = "tool Pay\n    gives Int\n"
SHOP = "module shop\ntype Line\n    a as Int\n"


# --- 1 to 5: size -----------------------------------------------------------------------------------------------------


def test_1_a_large_file_is_refused_by_its_size() -> None:
    assert said(b"module app\n" + b"\xff" * 10_000_000) == ["TB9001 1:1"], "it is not even decoded"
    assert f"{SOURCE_BYTES:,} bytes" in report(b"#" * (SOURCE_BYTES + 1))


def test_2_deep_nesting_is_refused_where_it_begins() -> None:
    assert said(function("give " + "(" * 100_000)) == [f"TB9002 6:{14 + BRACKET_DEPTH}"]
    nested = "\n".join("    " * depth + f"if n > {depth}" for depth in range(500))
    assert said(function(f"{nested}\n{'    ' * 500}give 1\ngive 2")) == [
        f"TB9003 {6 + BLOCK_DEPTH - 1}:{9 + 4 * (BLOCK_DEPTH - 1)}"
    ]


def test_3_long_programs_are_flat() -> None:
    accepted(function("give n" + " + 1" * 5_000))
    accepted(function("let xs = [" + ", ".join(["1"] * 50_000) + "]\ngive length(xs) + n"))
    accepted(function("var a = n\n" + "set a = 2\n" * 15_000 + "give a"))


def test_3_long_lists_are_flat_too_and_there_is_an_end_to_them() -> None:
    accepted(function("give length([" + "1, " * 199_999 + "1])"))
    # What bounds a callable is the size of its file and the number of its names.
    assert said(function("var a = n\n" + "set a = 2\n" * 200_000 + "give a")) == ["TB9001 1:1"]
    assert said(function("".join(f"let _a{number} = 1\n" for number in range(CALLABLE_SLOTS)) + "give n")) == [
        "TB9009 2:10"
    ]


def test_4_integers_beyond_64_bits() -> None:
    assert said(function("give " + "9" * 5_000)) == ["TB4010 6:14"]
    assert "a number of 5000 digits" in report(function("give " + "9" * 5_000))
    assert said(function("give 9223372036854775808")) == ["TB4010 6:14"]
    assert said(function("give -9223372036854775809")) == ["TB4010 6:15"]
    accepted(function("give -9223372036854775808"))
    accepted(function("give 9223372036854775807"))


def test_5_decimals_beyond_34_digits() -> None:
    assert said(function("give 1." + "3" * 39, gives="Decimal")) == ["TB4010 6:14"]
    accepted(function("give 1." + "3" * 33, gives="Decimal"))


# --- 6 to 8: layout and what is left open -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "place", "more"),
    [
        ("module app\nfunction Run\n\tgives Int\n    do\n        give 1\n", "3:1", 0),
        ("module app\nfunction Run\n  \tgives Int\n    do\n        give 1\n", "3:3", 0),
        ("module app\nfunction Run\n\tgives Int\n\tdo\n\t\tgive 1\n", "3:1", 3),
        ("module app\n" + "\t\n" * 10_000, "2:1", 9_999),
        ("module app\nfunction Run\n    gives\tInt\n    do\n        give\t1\n", "3:10", 1),
    ],
)
def test_6_tabs_are_one_problem(program: str, place: str, more: int) -> None:
    assert said(program) == [f"TB1004 {place}"]
    assert ("more tab" in report(program)) is (more > 0)
    assert more == 0 or f"has {more} more tab" in report(program)


def test_7_three_ways_to_be_in_the_wrong_column() -> None:
    nowhere = function("if n > 1\n    give 1\n  give 2")
    deeper = function("let a = n\n    let b = 2\ngive a + b")
    empty = function("if n > 1\ngive 2")
    assert said(nowhere) == ["TB2002 8:11"]
    assert "open block: 1, 5, 9, 13" in report(nowhere)
    assert said(deeper) == ["TB2001 7:13"]
    assert "6 |         let a = n\n  |         --------- this line opens no block" in report(deeper)
    assert said(empty) == ["TB2003 6:9"]
    assert "needs an indented block" in report(empty)


@pytest.mark.parametrize(
    ("lines", "problems"),
    [
        ('let a = "abc\ngive b', ["TB1005 6:17", "TB3001 7:14"]),
        ('let a = "abc {n"\ngive b', ["TB1009 6:22", "TB3001 7:14"]),
    ],
)
def test_8_what_is_left_open_is_said_at_its_opening(lines: str, problems: list[str]) -> None:
    assert said(function(lines)) == problems


def test_8_the_next_declaration_is_checked() -> None:
    for opener in "([":
        assert said(function(f"give {opener}n + 1") + "\ntype X\n    a as Nope\n") == ["TB2004 6:14", "TB3001 9:10"]
    text = function('give """\n    abc', gives="Text") + "\ntype X\n    a as Int\n"
    assert said(text) == ["TB1005 6:14"]
    assert "9 | type X\n  | ------ the text would go on here" in report(text)


# --- 10 to 13: characters ---------------------------------------------------------------------------------------------


def test_10_bytes_and_characters_that_no_program_has() -> None:
    assert said(b"module app\n# \xff\n") == ["TB1001 2:3"]
    assert "byte 0xFF at offset 13" in report(b"module app\n# \xff\n")
    assert said("module app\n# \0\n") == ["TB1002 2:3"]
    assert said("module app\r# a\r") == ["TB1002 1:11"]
    # Editors begin a line at U+2028 or they do not; here it is a character of its line, and the next line is the third.
    assert said("module app\n# a\u2028b\nimport nope\n") == ["TB1002 2:4", "TB3004 3:8"]


@pytest.mark.parametrize("line", ["# a\u202eb\ngive n", 'let _a = "a\u202eb"\ngive n', "let a\u202eb = 1\ngive n"])
def test_11_marks_of_direction_are_named_and_shown_escaped(line: str) -> None:
    (place,) = said(function(line))
    assert place.startswith("TB1002 6:")
    assert "U+202E" in report(function(line))
    assert "\\u{202E}b" in report(function(line))
    assert "\u202e" not in report(function(line))


def test_13_combining_marks_stay_as_they_are() -> None:
    text = "e" + "\u0301" * 400_000
    found = compiled(function(f'give "{text}"', gives="Text"))
    assert found.diagnostics == []
    assert found.air is not None
    assert found.air["callables"]["function:app/Run"]["code"][0][1] == ["text", text]


# --- 14 to 17: names --------------------------------------------------------------------------------------------------

PARALLEL = "module app\nstrategy S\n    gives Int\n    do\n        parallel as x\n            branch a\n                give 1\n"
TRIGGER = (
    'module app\nstrategy S\n    takes n as Int\n    do\n        show "{n}"\ntrigger T\n    on webhook "/a"\n'
    "    starts strategy S\n    payload\n        n from body.a\n        n from body.b\n    quota 1 per day\n"
)
ADD = "function Add\n    takes a as Int\n    gives Int\n    do\n        give a\n"


@pytest.mark.parametrize(
    ("program", "first", "second"),
    [
        (function("give n") + function("give n").removeprefix("module app\n"), "2:10", "7:10"),
        ("module app\ntype A\n    b as Int\n    b as Text\n", "3:5", "4:5"),
        (function("give a", "a as Int, a as Int"), "3:11", "3:21"),
        ("module app\nchoice A is B, C, B\n", "2:13", "2:19"),
        ("module app\nchoice A\n    B with c as Int\n    B\n", "3:5", "4:5"),
        (PARALLEL + "            branch a\n                give 2\n        give x.a\n", "6:20", "8:20"),
        (function('let m = {"a": 1, "a": n}\ngive length(m)'), "6:18", "6:26"),
        (function("give Add(a: 1, a: n)", before=ADD), "11:18", "11:24"),
        (TRIGGER, "10:9", "11:9"),
        ("module app\nfrom shop import Line\ntype Line\n    a as Int\n", "2:18", "3:6"),
    ],
)
def test_14_what_stands_twice_is_said_at_the_second(program: str, first: str, second: str) -> None:
    (found,) = compiled(program, shop=SHOP).diagnostics
    line, column = found.source.position(found.span.start)
    assert (found.code, f"{line}:{column}") == ("TB3002", second)
    (related,) = found.related
    line, column = found.source.position(related.span.start)
    assert f"{line}:{column}" == first


def test_14_modules_that_differ_only_in_case() -> None:
    program = "module app\nimport shop\nimport Shop\ntype T\n    a as shop.Line\n"
    assert said(program, shop=SHOP) == ["TB1010 3:8"]
    assert "write `shop`" in report(program, shop=SHOP)


@pytest.mark.parametrize(
    ("program", "problems"),
    [
        (function("let a = n\nlet a = 2\ngive a"), ["TB3002 7:13"]),
        (function("let n = 2\ngive n"), ["TB3002 6:13"]),
        (function("for each n in [1]\n    let _y = n\ngive n"), ["TB3002 6:18"]),
        (function("for each x in [1]\n    let x = 2\n    let _z = x\ngive n"), ["TB3002 7:17"]),
        (function("let length = n\ngive length"), []),
        ("module app\nfrom shop import Line\nchoice Line is A, B\n", ["TB3002 3:8"]),
    ],
)
def test_15_shadowing_is_an_error_but_for_built_ins(program: str, problems: list[str]) -> None:
    assert said(program, shop=SHOP) == problems


@pytest.mark.parametrize(
    ("program", "problems"),
    [
        (function("let a = 1\ngive n"), ["TB8001 6:13"]),
        ("module app\nimport shop\n", ["TB8001 2:8"]),
        ("module app\nfrom shop import Line\n", ["TB8001 2:18"]),
        (function("give 1"), []),
        (PARALLEL + "        give 1\n", ["TB8001 5:21"]),
        (function("let _a = 1\ngive n"), []),
    ],
)
def test_16_what_is_never_used_is_a_warning(program: str, problems: list[str]) -> None:
    found = compiled(program, shop=SHOP)
    assert said(program, shop=SHOP) == problems
    assert not found.failed
    assert found.air is not None


def importing(name: str) -> str:
    return f"import {name}\ntype T\n    a as Optional {name}.T\n"


def test_17_modules_that_cannot_be_read_one_after_the_other() -> None:
    found = compiled(
        "module app\n" + importing("c"), a="module a\n" + importing("c"), b="module b\n" + importing("a"),
        c="module c\n" + importing("b"),
    ).diagnostics  # fmt: skip
    assert [(each.code, each.source.path) for each in found] == [("TB3005", "a.tb")]
    assert "`a → c → b → a`" in found[0].title
    itself = "module app\n" + importing("app")
    assert said(itself) == ["TB3005 2:8"]
    assert "`app → app`" in report(itself)


def test_17_modules_that_are_not_there_or_twice() -> None:
    missing = "module app\nimport shp\ntype T\n    a as shp.Line\n"
    assert said(missing, shop=SHOP) == ["TB3004 2:8"]
    assert "did you mean `shop`?" in report(missing, shop=SHOP)
    twice = "module app\nimport shop\ntype T\n    a as shop.Line\n"
    assert said(twice, shop=SHOP, src__shop=SHOP) == ["TB3004 2:8"]
    assert "`shop.tb`, `src/shop.tb`" in report(twice, shop=SHOP, src__shop=SHOP)


# --- 19 and 20: calls and paths ---------------------------------------------------------------------------------------


def test_19_recursion_compiles_and_compensation_in_a_circle_does_not() -> None:
    accepted(function("give Run(n + 1)"))
    accepted(
        function("give Other(n)") + function("give Run(n)").replace("Run\n", "Other\n", 1).removeprefix("module app\n")
    )
    tools = "".join(
        f"tool {name}\n    takes id as Text\n    effect write\n    compensate with {other}\n"
        for name, other in (("A", "B"), ("B", "C"), ("C", "A"))
    )
    assert said("module app\n" + tools) == ["TB5006 5:21"]
    assert "`A → B → C → A`" in report("module app\n" + tools)


ARMS = "when c\n    is A\n        give 1\n"


@pytest.mark.parametrize(
    ("lines", "problem", "shown"),
    [
        (ARMS, "TB6002 10:9", "`is B with x`, `is D`"),
        (
            ARMS + "    is B with x\n        give x\n    is D\n        give 3\n    else\n        give 4",
            "TB8003 17:13",
            "cover every case",
        ),
        (ARMS + "    is A\n        give 2\n    else\n        give 3", "TB6004 13:16", "`is A` stands twice"),
        ("give 1\ngive 2", "TB8002 11:9", "never be reached"),
        ("if c is A\n    give 1", "TB6001 6:10", "where no branch of this `if` is taken"),
    ],
)
def test_20_cases_and_paths(lines: str, problem: str, shown: str) -> None:
    program = function(lines.rstrip("\n"), takes="c as C", before=CHOICE)
    assert said(program) == [problem]
    assert shown in report(program)


# --- 21 and 22: other languages, and first words ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "problem", "hint"),
    [
        ("if n = 3\n    give 1\ngive n", "TB2008 6:14", "equality is written `is`"),
        ("if n == 3\n    give 1\ngive n", "TB2008 6:14", "equality is written `is`"),
        ("if n > 1 && n < 3\n    give 1\ngive n", "TB2008 6:18", "write `and`"),
        ("if !(n > 1)\n    give 1\ngive n", "TB2008 6:12", "write `not`"),
        ("if n > 1\n    give 1\nelif n > 2\n    give 2\ngive n", "TB2008 8:9", "write `else if`"),
        ("if n > 1\n    give 1\nelse:\n    give 2", "TB2008 8:13", "a line that opens a block ends without `:`"),
        ("return n", "TB2008 6:9", "write `give`"),
        ("let _a = null\ngive n", "TB2008 6:18", "the absent value is written `none`"),
        ("var a = n\na++\ngive a", "TB2008 7:9", "write `set a = a + 1`"),
        ("let _a = 1; give n", "TB2008 6:19", "a statement ends with its line"),
        ("let _a = 1;\ngive n", "TB2008 6:19", "a statement ends with its line"),
        ("give n // 2", "TB2008 6:16", "whole division is written `div`"),
        ('let _a = f"{n}"\ngive n', "TB2008 6:18", "write it without `f`"),
        ("async give n", "TB2008 6:9", "nothing is asynchronous"),
    ],
)
def test_21_the_spelling_of_other_languages(lines: str, problem: str, hint: str) -> None:
    assert said(function(lines)) == [problem]
    assert hint in report(function(lines))


@pytest.mark.parametrize("rest", [' from "shop"', " from shop", ", other"])
def test_21_imports_of_other_languages(rest: str) -> None:
    program = f"module app\nimport shop{rest}\ntype T\n    a as shop.Line\n"
    for others in ({"shop": SHOP}, {}):
        (problem,) = said(program, **others)
        assert problem.startswith("TB2008 2:")
        assert re.search("write `from a.b import X`|write one `import` a line", report(program, **others))


@pytest.mark.parametrize(
    ("lines", "problem", "hint"),
    [
        ("x = 3\ngive n", "TB2008 8:9", "`let x = …` for a new name, `set x = …` to change one"),
        ("foo(1)\ngive n", "TB2005 8:9", "bind a value with `let`"),
        ("Pay()\ngive n", "TB2005 8:9", "write `call Pay(…)`"),
        ("give 1 + call Pay()", "TB2012 8:18", "bind it with `let` on a line before"),
        ("let a = Pay()\ngive a", "TB3007 8:17", "`let x = call Pay(…)`"),
        ('shwo "a"\ngive n', "TB2005 8:9", "did you mean `show`?"),
    ],
)
def test_22_first_words_of_statements(lines: str, problem: str, hint: str) -> None:
    program = function(lines, before=TOOL, kind="strategy")
    assert said(program) == [problem]
    assert hint in report(program)


def test_22_first_words_of_declarations() -> None:
    program = 'module app\nstratgey Foo\n    do\n        show "a"\n'
    assert said(program) == ["TB2005 2:1"]
    assert "did you mean `strategy`?" in report(program)


# --- 24 and 25: very many, very long, very costly ---------------------------------------------------------------------


def test_24_thousands_of_mistakes_are_counted() -> None:
    program = function("\n".join(f"let _a{number} as Int = unknown{number}" for number in range(3_000)) + "\ngive n")
    assert len(said(program)) == 3_000
    shown = report(program)
    assert shown.count("error[") == DIAGNOSTICS_SHOWN
    assert shown.endswith(f"\n\nand {3_000 - DIAGNOSTICS_SHOWN} more: {3_000 - DIAGNOSTICS_SHOWN} in app.tb\n")


def test_24_a_line_of_a_megabyte_is_cut_around_the_mistake() -> None:
    program = function('give "' + "a" * 500_000 + '" + oops + "' + "b" * 500_000 + '"', gives="Text")
    assert said(program) == ["TB3001 6:500019"]
    assert len(report(program)) < 1_000
    assert 'aaa" + oops + "bbb' in report(program)


@pytest.mark.parametrize(
    ("pattern", "column", "hint"),
    [
        ("(a{1000}){1000}", 27, "more than 500 states"),
        ("(?<=a)b", 25, "look-around"),
        ("a(b", 26, "this `(` is not closed"),
        ("a**", 27, ""),
    ],
)
def test_25_patterns_that_are_refused(pattern: str, column: int, hint: str) -> None:
    program = f'module app\ntype A\n    a as Text matching "{pattern}"\n'
    assert said(program) == [f"TB4006 3:{column}"]
    assert hint in report(program)


def test_25_patterns_that_explode_elsewhere_are_accepted() -> None:
    accepted('module app\ntype A\n    a as Text matching "(a+)+$"\n')


# --- 32: files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        ("", "TB2009 1:1"),
        ("\n\n", "TB2009 1:1"),
        ("# a\n# b\n", "TB2009 1:1"),
        ("type A\n    b as Int\n", "TB2009 1:1"),
        ("module app\nmodule app\n", "TB2009 2:1"),
    ],
)
def test_32_files_without_one_module_line(program: str, problem: str) -> None:
    assert said(program) == [problem]


def test_32_names_of_modules_and_of_files() -> None:
    accepted("module other\ntype A\n    b as Int\n")  # the entry may have any name
    program = "module app\nimport shop\ntype T\n    a as shop.T\n"
    assert said(program, shop="module store\ntype T\n    a as Int\n") == ["shop.tb TB3008 1:8"]
    found = timed({"my prögram.tb": function("give x")})
    assert [each.source.path for each in found.diagnostics] == ["my prögram.tb"]
    assert "--> my prögram.tb:6:14" in render_all(found.diagnostics)
    right = timed({"my prögram.tb": function("give n")})
    assert right.air is not None
    assert read_program(write_program(right.air)).digest == right.air["digest"]
