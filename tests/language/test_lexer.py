"""Bytes → text → tokens."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.language.parsing import Parsed, tokens
from touba_cli.language.diagnostics import Problems
from touba_cli.language.lexer import read_source, tokenize
from touba_cli.language.source import Source
from touba_cli.language.tokens import Token
from touba_cli.limits import SOURCE_BYTES

#: texts made of what means something, so that random ones reach every part of the lexer
PIECES = st.sampled_from(
    ['"', '"""', "{", "}", "(", ")", "[", "]", "\\", "\\u{41}", "#", "##", "\n", "\r\n", "\r", "\t", " ", "    ", "raw ",
     "let ", "x", "Foo", "_y", "fooBar", "1", "1.5", "1e-3f", "0x", ".", "..", "=", "==", "//", "/*", "*/", ";", "'", "“",
     "–", "é", "а", "\u00a0", "\u202e", "\x00", "type X", "call ", "is ", "not ", "and ", "if ", "else ", "do", "strategy S",
     "module a", ",", ":", "-", "+", "tool T", "with ", "otherwise ", "30 days", "date ", "when ", "attempt", "on failure"]
)  # fmt: skip
PROGRAMS = st.lists(PIECES, max_size=60).map("".join) | st.text(max_size=80)


def kinds(text: str) -> list[str]:
    found, problems = tokens(text)
    assert problems == []
    return [token.kind if token.kind != "word" else token.text for token in found.tokens]


def value(text: str) -> object:
    found, problems = tokens(text)
    assert problems == []
    return found.tokens[0].value


# --- files ------------------------------------------------------------------------------------------------------------


def test_too_large_files_are_refused_before_they_are_read() -> None:
    problems = Problems()
    assert read_source("a.tb", b"\xff" * (SOURCE_BYTES + 1), problems) is None
    assert [each.code for each in problems.found] == ["TB9001"]
    assert "1,048,576" in problems.found[0].title


def test_the_largest_file_is_read() -> None:
    problems = Problems()
    source = read_source("a.tb", b" " * SOURCE_BYTES, problems)
    assert source is not None
    assert [token.kind for token in tokenize(source, problems).tokens] == ["end"]


@pytest.mark.parametrize(
    ("data", "place", "offset"),
    [
        (b"module a\n\xff", "TB1001 2:1", 9),
        (b"\xef\xbb\xbfmodule \xc3(", "TB1001 1:8", 10),
        ("é".encode() + b"\xed\xa0\x80", "TB1001 1:2", 2),
        (b"\x7fELF\x80", "TB1001 1:5", 4),
    ],
)
def test_bytes_that_are_not_utf_8(data: bytes, place: str, offset: int) -> None:
    found = Parsed(data)
    assert found.problems == [place]
    assert f"offset {offset} " in found.diagnostics[0].title


def test_one_byte_order_mark_is_skipped() -> None:
    assert Parsed(b"\xef\xbb\xbfmodule a\n").problems == []
    assert Parsed(b"\xef\xbb\xbf\xef\xbb\xbfmodule a\n").problems == ["TB1002 1:1"]


@pytest.mark.parametrize(
    "character", ["\x00", "\x0b", "\x0c", "\x1f", "\x85", "\u2028", "\u2029", "\u202e", "\u2066", "\ufeff"]
)
def test_characters_that_may_stand_nowhere(character: str) -> None:
    for text in (f"# a{character}b", f'x "a{character}b"', f"xx a{character}b"):
        found = Parsed(f"module a\n{text}\n")
        assert found.problems[0] == f"TB1002 2:{text.index(character) + 1}"
        assert f"U+{ord(character):04X}" in found.diagnostics[0].title
    assert Parsed(f"module a\n# {character}{character}\n").problems == ["TB1002 2:3"]


def test_joiners_stay_in_texts() -> None:
    assert value('"\u0645\u06cc\u200c\u062e \U0001f469\u200d\U0001f4bb"') == [
        "\u0645\u06cc\u200c\u062e \U0001f469\u200d\U0001f4bb"
    ]


def test_line_ends() -> None:
    assert Parsed("module a\r\n\r\ntype X is Int\r\n").problems == []
    assert Parsed("module a\rtype X is Int\n").problems == ["TB1002 1:9"]
    found, _ = tokens("a # x\r\nb")
    assert [(token.kind, token.text) for token in found.tokens[1:3]] == [("comment", "# x"), ("newline", "\n")]


def test_tabs_are_one_problem_in_a_file() -> None:
    found = Parsed("module a\n\ntype X\n\ta as Int\n\tb\tas Int\n")
    assert found.problems == ["TB1004 4:1"]
    assert "has 2 more tabs" in (found.diagnostics[0].help or "")
    assert Parsed("module a\n# a\tb\n").problems == []
    assert value('"a\tb"') == ["a\tb"]


def test_four_hundred_thousand_combining_marks() -> None:
    marks = "a" + "\u0301" * 400_000
    assert value(f'"{marks}"') == [marks]
    assert Parsed(f"module a\n{marks}").problems == ["TB1003 2:1"]


# --- words, numbers, signs --------------------------------------------------------------------------------------------


def test_kinds_of_words() -> None:
    assert kinds("let a1_b Foo F2 _x _") == ["let", "a1_b", "capital", "capital", "hidden", "hidden", "end"]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("fooBar", "foo_bar"),
        ("Foo_Bar", "FooBar"),
        ("MAX_ITEMS", "max_items"),
        ("_Foo", "Foo"),
        ("__x", "x"),
        ("_fooBar", "foo_bar"),
    ],
)
def test_names_in_no_style_are_reported_once(name: str, wanted: str) -> None:
    problems = Problems()
    tokenize(Source("a.tb", f"{name}\n{name} {name}"), problems)
    assert [each.code for each in problems.found] == ["TB1010"]
    assert problems.found[0].label == f"write `{wanted}`"


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("0", "int", "0"), ("42", "int", "42"), ("1_000", "int", "1000"), ("12.50", "decimal", "12.50"),
        ("1_0.2_5", "decimal", "10.25"), ("1e-3f", "float", "1e-3"), ("2f", "float", "2"), ("2.5e+10f", "float", "2.5e+10"),
        ("9" * 5000, "int", "9" * 5000),
    ],
)  # fmt: skip
def test_numbers(text: str, kind: str, expected: str) -> None:
    found, problems = tokens(text)
    assert problems == []
    assert (found.tokens[0].kind, found.tokens[0].value) == (kind, expected)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("007", "zero"), ("1_", "between"), ("1__0", "between"), ("0x1F", "base ten"), ("1e5", "`1e5f`"), ("1.5.2", "one point"),
        ("30seconds", "`30 seconds`"), ("6or", "`6 or`"), (".5", "`0` before"), ("5.", "`5.0`"), ("1E5f", "numbers are"),
        ("00.5", "zero"),
    ],
)  # fmt: skip
def test_wrong_numbers(text: str, label: str) -> None:
    problems = Problems()
    tokenize(Source("a.tb", text), problems)
    assert [each.code for each in problems.found] == ["TB1007"]
    assert label in problems.found[0].label


def test_signs_and_comments() -> None:
    assert kinds("a<=b<c # d\n## e\n(x.y[1:2])") == [
        "a", "<=", "b", "<", "c", "comment", "newline", "doc", "newline",
        "(", "x", ".", "y", "[", "int", ":", "int", "]", ")", "end",
    ]  # fmt: skip


# --- texts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('""', [""]), ('"a"', ["a"]), (r'"a\n\t\r\"\\\{}"', ['a\n\t\r"\\{}']), (r'"\u{2014}\u{1F600}"', ["—😀"]),
        ('"a } b"', ["a } b"]), ('"é"', ["é"]),
    ],
)  # fmt: skip
def test_texts(text: str, expected: list[str]) -> None:
    assert value(text) == expected


def test_interpolations() -> None:
    parts = value('"a {b + "c {d}"} e{f}"')
    assert isinstance(parts, list)
    assert [part if isinstance(part, str) else [token.text for token in part] for part in parts] == [
        "a ", ["b", "+", '"c {d}"', "}"], " e", ["f", "}"],
    ]  # fmt: skip
    assert kinds('"{ {"k": 1}["k"] }" x') == ["text", "x", "end"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"abc', ["TB1005 1:1"]), ('"abc\n"def"', ["TB1005 1:1"]), (r'"\x"', ["TB1006 1:2"]), (r'"\u0041"', ["TB1006 1:2"]),
        (r'"\u{D800}"', ["TB1006 1:2"]), (r'"\u{110000}"', ["TB1006 1:2"]), (r'"\}"', ["TB1006 1:2"]), ('"{a', ["TB1009 1:2"]),
        ('"{}"', ["TB1009 1:2"]), ('"a {b" + "c"', ["TB1009 1:4"]), ('"\\', ["TB1006 1:2"]), ('"{"{"{"{"{1}"}"}"}"}"', ["TB9004 1:10"]),
        ("'abc'", ["TB2008 1:1"]), ("'abc", ["TB2008 1:1"]), ("“abc”", ["TB1003 1:1"]), ('f"abc"', ["TB2008 1:1"]),
        ('r"abc"', ["TB2008 1:1"]), ('F"a{b}"', ["TB2008 1:1"]), ('"{don\'t"', ["TB1009 1:2"]),
    ],
)  # fmt: skip
def test_wrong_texts(text: str, expected: list[str]) -> None:
    assert tokens(text)[1] == expected


def test_four_interpolations_may_nest() -> None:
    assert tokens('"{"{"{"{1}"}"}"}"')[1] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"""\n    a\n      b\n\n    c\n    """', ["a\n  b\n\nc"]),
        ('"""\r\n    a\r\n    b\r\n    """', ["a\nb"]),
        ('"""\n"""', [""]),
        ('"""\n\n"""', [""]),
        ('"""\n  \n    a\n  """', ["\n  a"]),
        ('"""   \na "b" ""\n"""', ['a "b" ""']),
        ('"""\n  \\"""\\u{41}\\\\\n  """', ['"""A\\']),
    ],
)
def test_text_blocks(text: str, expected: list[str]) -> None:
    assert value(text) == expected


def test_raw_text_blocks() -> None:
    found, problems = tokens('raw """{"a": "\\n"}""" raw """\n    {\n      "b": 1\n    }\n    """')
    assert problems == []
    assert [token.value for token in found.tokens if token.kind == "block"] == [['{"a": "\\n"}'], ['{\n  "b": 1\n}']]


def test_interpolations_in_text_blocks() -> None:
    parts = value('"""\n    {a} b\n    c {d}\n    """')
    assert isinstance(parts, list)
    assert [part if isinstance(part, str) else "…" for part in parts] == ["…", " b\nc ", "…"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"""abc"""', ["TB1008 1:1"]), ('"""abc\n"""', ["TB1008 1:4"]), ('"""\nabc"""', ["TB1008 2:4"]), ('"""\n  a\n b\n  """', ["TB1008 3:1"]),
        ('"""\n {a}\n  """', ["TB1008 2:1"]), ('"""\n\ta\n\t"""', ["TB1008 3:2"]), ('"""\nabc', ["TB1005 1:1"]), ('"""\n{a\n"""', ["TB1009 2:1"]),
        ('"""\n\\q\n"""', ["TB1006 2:1"]),
    ],
)  # fmt: skip
def test_wrong_text_blocks(text: str, expected: list[str]) -> None:
    assert tokens(text)[1] == expected


def test_an_open_text_block_ends_before_the_next_declaration() -> None:
    found = Parsed('module a\nstrategy S\n    do\n        show """\n            abc\ntype X\n    a as 5\n')
    assert found.problems == ["TB1005 4:14", "TB2006 7:10"]
    assert found.diagnostics[0].related[0].label == "the text would go on here"
    assert found.diagnostics[0].source.position(found.diagnostics[0].related[0].span.start) == (6, 1)


# --- look-alikes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "code_point", "label", "fix"),
    [
        ("let\u00a0x", "U+00A0", "use a space", " "), ("a – b", "U+2013", "write `-`", "-"), ("a × b", "U+00D7", "write `*`", "*"),
        ("a ≤ b", "U+2264", "write `<=`", None), ("（a", "U+FF08", "write `(`", "("), ("“a”", "U+201C", 'write `"`', '"a"'),
        ("p\u0430y", "U+0430", "write `pay` with the letter `a`", "pay"), ("\u039fk", "U+039F", "write `Ok` with the letter `O`", "Ok"),
        ("größe", "U+00F6", "names have the letters a to z", None), ("a 😀", "U+1F600", "remove it", None),
        ("a\u200bb", "U+200B", "", None),
    ],
)  # fmt: skip
def test_look_alikes(text: str, code_point: str, label: str, fix: str | None) -> None:
    problems = Problems()
    tokenize(Source("a.tb", text), problems)
    (problem,) = problems.found
    assert problem.code == "TB1003"
    assert code_point in problem.title
    assert label in problem.label
    if fix is not None:
        assert problem.fix is not None
        assert problem.fix.text == fix


# --- properties -------------------------------------------------------------------------------------------------------


def covered(found: list[Token], text: str) -> None:
    """Tokens follow each other, and nothing but blanks is between them."""
    at = 0
    for token in found:
        assert at <= token.start <= token.end <= len(text)
        assert token.kind in ("bad", "end") or not text[at : token.start].strip(" ")
        at = token.end


@settings(max_examples=300, deadline=None)
@given(PROGRAMS)
def test_tokens_of_any_text(text: str) -> None:
    problems = Problems()
    found = tokenize(Source("a.tb", text), problems).tokens
    assert found[-1].kind == "end"
    if not problems.found:
        covered(found, text)
    lines = [Source("a.tb", text).position(each.span.start)[0] for each in problems.found if each.code != "TB1004"]
    assert len(lines) == len(set(lines))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes(data: bytes) -> None:
    found = Parsed(data)
    assert (found.source is None) == any(each.code == "TB1001" for each in found.diagnostics)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=40))
def test_a_written_text_is_read_back(text: str) -> None:
    written = "".join(
        f"\\u{{{ord(each):X}}}" if ord(each) < 32 or each in '"\\{' or not each.isprintable() else each for each in text
    )
    assert value(f'"{written}"') == [text]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.text(st.characters(exclude_characters='"\\{\r\n', exclude_categories=["C", "Zl", "Zp"]), max_size=10),
        max_size=6,
    ),
    st.integers(0, 6),
)
def test_a_written_text_block_is_read_back(texts: list[str], margin: int) -> None:
    blank = " " * margin
    written = "\n".join(blank + each for each in texts)
    expected = "\n".join(each for each in texts)
    assert value(f'"""\n{written}\n{blank}"""') == [expected]


@pytest.mark.parametrize(
    "piece",
    [
        '"{',
        '{"',
        '"""\n',
        '\\"""\ntype X\n',
        "'",
        "“a ",
        "/* ",
        "“",
        "\t",
        "é",
        "\r",
        "a.",
        '"\\n',
        "(",
        "{" * 3,
        "é–",
        '"a{b}',
    ],
)
def test_long_runs_of_one_mistake_end(piece: str) -> None:
    """Each of these would take minutes if a part of the work were done again for every piece."""
    found = Parsed("module a\n" + piece * (100_000 // len(piece)))
    assert found.module is not None
