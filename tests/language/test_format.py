"""The formatter: its one layout, what it leaves alone, and that it changes no meaning, whatever it is given."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from touba_cli.language import format
from touba_cli.language.compiler import compile_program
from touba_cli.language.diagnostics import Problems
from touba_cli.language.format import FormatUnproven, comments, format_source, prove, read_module, same_tree
from touba_cli.language.lexer import read_source, tokenize
from touba_cli.language.source import Source

ROOT = Path(__file__).resolve().parents[2]


def programs() -> dict[str, dict[str, str]]:
    """All programs of the project: name → path → text. The first file of each is its entry."""
    found: dict[str, dict[str, str]] = {}
    for case in sorted((ROOT / "tests" / "conformance").rglob("*.case")):
        text = "\n" + case.read_bytes().decode("utf-8")
        parts = [part.partition("\n") for part in text.split("\n--- ")[1:]]
        files = {
            head.removeprefix("file "): body + "\n"
            for head, _, body in parts
            if head.startswith("file ") and head.endswith(".tb")
        }
        found[f"{case.parent.name}/{case.stem}"] = files
    for path in sorted((ROOT / "examples").rglob("*.tb")):
        found[str(path.relative_to(ROOT))] = {path.name: path.read_text("utf-8")}
    for page in [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]:
        for number, block in enumerate(re.findall(r"```touba[^\n]*\n(.*?)```", page.read_text("utf-8"), re.DOTALL)):
            text = block if block.lstrip().startswith(("module", "#")) else f"module a\n\n{block}"
            found[f"{page.name} {number}"] = {"a.tb": text}
    return found


PROGRAMS = programs()
#: texts of files that can be read
READABLE = sorted({
    text
    for files in PROGRAMS.values()
    for text in files.values()
    if format_source(Source("a.tb", text), Problems()) is not None
})  # fmt: skip


def formatted(text: str) -> str:
    """The formatted text of a program that can be read. Formatting proves tree and comments; this proves them again."""
    source = Source("a.tb", text)
    problems = Problems()
    made = format_source(source, problems)
    assert made is not None, [each.title for each in problems.found]
    before, after = read_module(source, Problems()), read_module(Source("a.tb", made), Problems())
    assert same_tree(before.module, after.module)
    assert comments(before.tokens) == comments(after.tokens)
    assert format_source(Source("a.tb", made), Problems()) == made
    return made


class Files:
    """`Sources` over texts."""

    def __init__(self, files: dict[str, str]):
        self.files = files

    def find(self, module: str) -> list[str]:
        return [path for path in self.places(module) if path in self.files]

    def places(self, module: str) -> list[str]:
        return [module.replace(".", "/") + ".tb"]

    def near(self, module: str) -> list[str]:
        return sorted(path.removesuffix(".tb").replace("/", ".") for path in self.files)

    def read(self, path: str) -> bytes:
        return self.files[path].encode("utf-8")


# --- all programs there are -------------------------------------------------------------------------------------------


def test_there_are_programs_to_format() -> None:
    assert len(READABLE) > 200


def test_formatting_changes_no_program() -> None:
    for text in READABLE:
        assert formatted(text)


def test_formatting_changes_no_digest() -> None:
    compiled = 0
    for name, files in PROGRAMS.items():
        entry = next(iter(files))
        before = compile_program(Files(files), entry).air
        if before is None:
            continue
        after = compile_program(Files({path: formatted(text) for path, text in files.items()}), entry).air
        assert after is not None, name
        assert after["digest"] == before["digest"], name
        compiled += 1
    assert compiled > 100


@given(st.sampled_from(READABLE), st.integers(0, 2**32))
@settings(max_examples=200, deadline=None)
def test_layout_of_any_kind_gives_a_program_of_the_same_meaning(text: str, seed: int) -> None:
    """Lines and comments are put wherever they may stand; the result is formatted, and formatted again."""
    made = formatted(scattered(text, seed))
    assert read_module(Source("a.tb", made), Problems()).module.name == read_module(
        Source("a.tb", text), Problems()
    ).module.name  # fmt: skip


def scattered(text: str, seed: int) -> str:
    """A program with breaks, blank lines and comments put between its tokens."""
    pick = random.Random(seed).random
    out: list[str] = []
    last = depth = 0
    for token in tokenize(Source("a.tb", text), Problems()).tokens:
        gap = text[last : token.start]
        roll = pick()
        if token.kind == "newline" and not depth:
            if roll < 0.1:
                gap += " # behind"
            elif roll < 0.2:
                gap += "\n" + " " * int(pick() * 14) + "# alone"
            elif roll < 0.25:
                gap += "\n  \n"
            elif roll < 0.27:
                gap += "\n    ## for what follows"
        elif depth and token.kind not in ("newline", "comment", "doc"):
            margin = "\n" + " " * 40
            if roll < 0.05:
                gap += margin
            elif roll < 0.1:
                gap += " # inside" + margin
            elif roll < 0.13:
                gap += f"{margin}# on its own{margin}"
        depth += (token.kind in ("(", "[", "{")) - (token.kind in (")", "]", "}"))
        out.append(gap + text[token.start : token.end])
        last = token.end
    made = "".join(out)
    return made.replace("\n", "\r\n") if pick() < 0.2 else made


@given(st.text(alphabet='abA 01+-*/()[]{}<>=,.:"\\\n#_', max_size=80))
@settings(max_examples=300, deadline=None)
def test_any_text_is_formatted_or_refused(expression: str) -> None:
    text = f"module a\nfunction F\n    takes a as Int, b as Int\n    gives Int\n    do\n        give {expression}\n"
    problems = Problems()
    made = format_source(Source("a.tb", text), problems)
    assert (made is None) == problems.failed
    if made is not None:
        assert formatted(made) == made


# --- the layout -------------------------------------------------------------------------------------------------------

LAYOUTS = {
    "indentation": ("module a\ntype A\n  x as Int\n  y as Text\n", "module a\n\ntype A\n    x as Int\n    y as Text\n"),
    "spaces": (
        "module   a\nfunction F\n  takes a as  Int ,b as List of Int\n  gives Int\n  do\n    give  - a+b [ 0 ]*( 1-a )\n",
        "module a\n\nfunction F\n    takes a as Int, b as List of Int\n    gives Int\n    do\n        give -a + b[0] * (1 - a)\n",
    ),
    "brackets": (
        'module a\nfunction F\n  takes a as List of A\n  do\n    let x=[ A ( n : 1 ),a [0] with( n:2 ) ]\n    let y={"k" :1}\n',
        "module a\n\nfunction F\n    takes a as List of A\n    do\n"
        '        let x = [A(n: 1), a[0] with (n: 2)]\n        let y = {"k": 1}\n',
    ),
    "paths": (
        "module a\nfunction F\n takes by as A\n gives Int\n do\n  let x = sorted ( by by .n descending )\n  give by.by . n\n",
        "module a\n\nfunction F\n    takes by as A\n    gives Int\n    do\n        let x = sorted(by by .n descending)\n"
        "        give by.by.n\n",
    ),
    "blank lines": (
        "\n\nmodule a\n\n\n\nimport b\ntype A\n\n    x as Int\n\n\n    y as Int\nchoice C is D, E\n\nchoice F is G, H\n\n\n",
        "module a\n\nimport b\n\ntype A\n    x as Int\n\n    y as Int\n\nchoice C is D, E\n\nchoice F is G, H\n",
    ),
    "else": (
        "module a\nfunction F\n    takes a as Int\n    gives Int\n    do\n        if a is 1\n            give 1\n\n        else\n"
        "            give 2\n",
        "module a\n\nfunction F\n    takes a as Int\n    gives Int\n    do\n        if a is 1\n            give 1\n        else\n"
        "            give 2\n",
    ),
    "comments": (
        "# first\nmodule a   # of a\n#second\ntype A#of A\n  # in A  \n  x as Int\n  # end of A\n# before B\n\n## doc\n\ntype B\n"
        "  y as Int\n   # deep\n # shallow\n",
        "# first\nmodule a  # of a\n\n#second\ntype A  #of A\n    # in A\n    x as Int\n    # end of A\n# before B\n\n## doc\n"
        "type B\n    y as Int\n    # deep\n# shallow\n",
    ),
    "comments in brackets": (
        "module a\nfunction F\n  do\n    let x = [ # head\n1, # one\n # two is next\n2 # two\n , 3\n# end\n]\n",
        "module a\n\nfunction F\n    do\n        let x = [  # head\n            1,  # one\n            # two is next\n"
        "            2,  # two\n            3,\n            # end\n        ]\n",
    ),
    "a comma behind the last item": (
        "module a\nfunction F\n  do\n    let x = [1, 2,]\n    let y = [\n1, 2]\n",
        "module a\n\nfunction F\n    do\n        let x = [\n            1,\n            2,\n        ]\n        let y = [1, 2]\n",
    ),
    "line ends": ("module a\r\ntype A\r\n  x as Int", "module a\r\n\r\ntype A\r\n    x as Int\r\n"),
    "text blocks": (
        'module a\nfunction F\n  gives Text\n  do\n     give   """\n  two  {  1 }\n\n    four \n  """\n',
        'module a\n\nfunction F\n    gives Text\n    do\n        give """\n  two  {  1 }\n\n    four \n  """\n',
    ),
    "raw blocks": (
        'module a\nfunction F\n  gives Text\n  do\n     give   raw   """\n  {"a" :1}\n  """   # kept\n',
        'module a\n\nfunction F\n    gives Text\n    do\n        give raw """\n  {"a" :1}\n  """  # kept\n',
    ),
    "texts": (
        'module a\nfunction F\n  gives Text\n  do\n     give "a{ 1+1 }  b"+"#"\n',
        'module a\n\nfunction F\n    gives Text\n    do\n        give "a{ 1+1 }  b" + "#"\n',
    ),
    "nothing": ("\n\n", ""),
    "only a comment": ("\n\n  # a", "# a\n"),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layout(name: str) -> None:
    before, after = LAYOUTS[name]
    problems = Problems()
    made = format_source(Source("a.tb", before), problems)
    if not before.strip() or before.strip() == "# a":  # a file without a module line is not a module
        assert made is None
        assert problems.failed
        return
    assert made == after
    assert formatted(before) == after


LONG = "a_name_of_forty_letters_that_fill_a_line"


def test_a_long_line_is_broken_at_its_last_bracket() -> None:
    made = formatted(
        f"module a\nfunction F\n    takes a as Int\n    do\n        let x = Small(a) + Large(one: {LONG}, two: {LONG}, three: a)\n"
    )
    assert made.endswith(
        f"        let x = Small(a) + Large(\n            one: {LONG},\n            two: {LONG},\n            three: a,\n        )\n"
    )


def test_what_stands_alone_in_a_bracket_is_broken_at_its_loosest_words() -> None:
    made = formatted(
        f"module a\nfunction F\n    do\n        let x = (alpha and {LONG} or not {LONG} or {LONG})\n"
        f"        let y = [Item(of: {LONG}, to: entry) for entry in {LONG} if entry.is_of_interest]\n"
    )
    assert made.endswith(
        f"        let x = (\n            alpha and {LONG}\n            or not {LONG}\n            or {LONG}\n        )\n"
        f"        let y = [\n            Item(of: {LONG}, to: entry)\n            for entry in {LONG}\n"
        "            if entry.is_of_interest\n        ]\n"
    )


def test_a_line_of_120_columns_is_kept_and_one_of_121_is_broken() -> None:
    start = "module a\n\nfunction F\n    do\n"
    fits = f"        let x = [{'1' * 18}, {'2' * (120 - 38)}]\n".replace("2" * 82, f'"{"2" * 80}"')
    assert len(fits) == 121  # with the line end
    assert formatted(start + fits) == start + fits
    assert formatted(start + fits.replace('"2', '"22')).count("\n") == 4 + 4


def test_clauses_that_may_be_repeated_are_broken_into_lines() -> None:
    names = [f"{LONG}_{letter}" for letter in "abc"]
    text = "module a\n\nagent A\n    ## what it takes\n    takes " + ", ".join(f"{name} as Int" for name in names)
    text += '\n    responsibility "r"\n'
    lines = "".join(f"    takes {name} as Int\n" for name in names)
    assert formatted(text) == f'module a\n\nagent A\n    ## what it takes\n{lines}    responsibility "r"\n'
    uses = ", ".join(f"tool {name.title().replace('_', '')}" for name in names)
    assert (
        formatted(f'module a\n\nagent A\n    responsibility "r"\n    uses {uses}\n    callable_by {uses}\n').count(
            "\n    uses tool"
        )
        == 3
    )


def test_the_deepest_brackets_are_formatted() -> None:
    value = "[" * 60 + "1" + "]" * 60
    assert formatted(f"module a\n\nfunction F\n    do\n        let x = {value}\n").count("[") == 60


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["module a\ntype\n", "module a\n\tx\n", "module a\nfunction F\n    do\n        give (1\n"]
)
def test_what_cannot_be_read_is_refused_with_its_problems(text: str) -> None:
    problems = Problems()
    assert format_source(Source("a.tb", text), problems) is None
    assert problems.failed
    assert problems.found


def test_a_warning_refuses_nothing() -> None:
    assert formatted("module a\n## lost\nimport b\n") == "module a\n## lost\nimport b\n"


@pytest.mark.parametrize(
    ("new", "why"),
    [
        ("module a\n# one\ntype A\n    x as Text\n", "meaning"),
        ("module a\n# one\ntype A\n    y as Int\n", "meaning"),
        ("module a\n# one\ntype A\n    x as Int\n    y as Int\n", "meaning"),
        ("module a\n# one\n## doc\ntype A\n    x as Int\n", "meaning"),
        ("module a\ntype A\n    x as Int\n", "comments"),
        ("module a\n# two\ntype A\n    x as Int\n", "comments"),
        ("module a\n# one\ntype A\n    x as Int\n    # more\n", "comments"),
        ("module a\n# one\ntype A\n    x as\n", "read"),
    ],
)
def test_another_text_is_never_given_out(new: str, why: str) -> None:
    source = Source("a.tb", "module a\n# one\ntype A\n    x as Int\n")
    read = read_module(source, Problems())
    prove(source, read, source.text.replace("    x", "  x"))
    with pytest.raises(FormatUnproven, match=why):
        prove(source, read, new)


@pytest.mark.parametrize(
    ("found", "made", "why"),
    [("Int", "Text", "meaning"), ("# one", "# two", "comments"), ("    x", "  x\n      y", "read")],
)
def test_the_formatter_proves_what_it_made(monkeypatch: pytest.MonkeyPatch, found: str, made: str, why: str) -> None:
    right = format._Writer.text
    monkeypatch.setattr(format._Writer, "text", lambda writer: right(writer).replace(found, made))
    with pytest.raises(FormatUnproven, match=why):
        format_source(Source("a.tb", "module a\n# one\ntype A\n  x as Int\n"), Problems())


def test_a_mark_of_byte_order_is_left_out() -> None:
    source = read_source("a.tb", b"\xef\xbb\xbfmodule a\n", Problems())
    assert source is not None
    assert format_source(source, Problems()) == "module a\n"


def test_what_was_broken_before_words_stays_broken_there() -> None:
    # The brackets behind `in` are spread by the first formatting, and take a comma.
    item = "Item(label: first_label_of_all_labels, amount: 1_000_000)"
    source = f"slice(all_parts_of_everything, {', '.join(f'position_{number}' for number in range(9))})"
    text = formatted(
        f"module a\n\nfunction F\n    gives Int\n    do\n        let xs = [{item} for part in {source} if true]\n"
    )
    lines = [line.strip() for line in text.splitlines()]
    assert lines[lines.index("let xs = [") + 1 :][:3] == [item, "for part in slice(", "all_parts_of_everything,"]
    assert "if true" in lines


def test_an_index_stays_on_its_line_where_other_brackets_are_broken() -> None:
    # Nothing in `[0]` would say, when it is read again, that it was spread.
    numbers = ", ".join(["1_000_000_000"] * 8)
    text = formatted(
        "module a\n\nfunction F\n    gives List of Int\n    do\n"
        f"        give (first([[{numbers}]]) otherwise [1_000]) otherwise (first([[{numbers}]]) otherwise [[1, 2]])[0]\n"
    )
    assert text.endswith("            ) otherwise [[1, 2]]\n        )[0]\n")
    assert formatted(text) == text
