"""The tables of hints, row by row."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.language import habits
from tests.language.parsing import Parsed, body
from touba_cli.language import hints, words
from touba_cli.language.hints import near

OPERATORS = [
    sign for sign, hint in hints.FOREIGN_SIGNS.items() if hint.meant and sign not in ("=", "!", "&", "|", "??")
]


def only(text: str) -> tuple[str, str]:
    """Code and label of the one problem."""
    found = Parsed(text)
    (problem,) = found.diagnostics
    return problem.code, problem.label


# --- the nearest name -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "candidates", "expected"),
    [
        ("ammount", ["amount", "due"], "amount"), ("stratgey", words.MODULE_WORDS, "strategy"), ("reciept", ["receipt"], "receipt"),
        ("FooBar", ["foo_bar"], "foo_bar"), ("x", ["y"], None), ("ab", ["ac", "xy"], "ac"), ("total", ["amount"], None),
        # three letters of nine may be wrong, and not four
        ("abcdefghi", ["abcdefxyz"], "abcdefxyz"), ("abcdefghi", ["abcdewxyz"], None), ("abcde", ["abcxy"], None),
        ("a", [], None), ("a" * 65, ["a" * 64], None), ("cat", ["car", "bat"], "bat"), ("length", ["lenght", "length"], "lenght"),
    ],
)  # fmt: skip
def test_near(name: str, candidates: list[str], expected: str | None) -> None:
    assert near(name, candidates) == expected


@given(st.text("abc_", max_size=8), st.lists(st.text("abc_", max_size=8), max_size=8))
def test_near_is_a_candidate_and_does_not_depend_on_their_order(name: str, candidates: list[str]) -> None:
    found = near(name, candidates)
    assert found is None or (found in candidates and found != name)
    assert near(name, reversed(candidates)) == found


# --- signs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sign", OPERATORS)
def test_signs_between_values(sign: str) -> None:
    assert only(body(f"let x = a {sign} b")) == ("TB2008", hints.FOREIGN_SIGNS[sign].label)


@pytest.mark.parametrize(
    "sign",
    ["=", "&", "|", "?", "++", "->", "=>", "<<", ">>", "..", "...", ":", "//", ";", "/*", "\\", "??", "?.", "+=", ":="],
)
def test_signs_behind_a_value(sign: str) -> None:
    code, label = only(body(f"let x = a {sign} b"))
    if sign == ":":
        assert (code, label) == ("TB2008", "a block stands on its own deeper lines, without `:`")
    else:
        assert (code, label) == ("TB2008", hints.FOREIGN_SIGNS[sign].label)


def test_every_sign_is_tested() -> None:
    tested = {
        *OPERATORS,
        *[
            "=",
            "&",
            "|",
            "?",
            "++",
            "->",
            "=>",
            "<<",
            ">>",
            "..",
            "...",
            ":",
            "//",
            ";",
            "/*",
            "\\",
            "??",
            "?.",
            ":=",
            "+=",
            "-=",
            "*=",
            "/=",
            "%=",
            "!",
        ],
    }
    assert set(hints.FOREIGN_SIGNS) == tested


@pytest.mark.parametrize("sign", ["+=", "-=", "*=", "/=", "%="])
def test_signs_that_assign(sign: str) -> None:
    operator = "mod" if sign == "%=" else sign[0]
    assert only(body(f"count {sign} 1")) == ("TB2008", f"write `set count = count {operator} …`")
    assert only(body(f"set count {sign} 1")) == ("TB2008", hints.FOREIGN_SIGNS[sign].label)


def test_a_sign_before_a_value() -> None:
    assert only(body("let x = !a")) == ("TB2008", "write `not`")


@pytest.mark.parametrize("sign", [sign for sign, hint in hints.FOREIGN_SIGNS.items() if hint.exact and sign != "!"])
def test_exact_signs_have_a_fix_that_is_right(sign: str) -> None:
    for text in (f"let x = a{sign}b", f"let x = a {sign} b"):
        found = Parsed(body(text))
        fix = found.diagnostics[0].fix
        assert found.source is not None
        assert fix is not None
        fixed = found.source.text[: fix.span.start] + fix.text + found.source.text[fix.span.end :]
        assert Parsed(fixed).problems == []
        assert f"a {hints.FOREIGN_SIGNS[sign].meant} b" in fixed


# --- words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", [word for word in hints.FOREIGN_STATEMENTS if word not in ("case", "default")])
def test_words_of_statements(word: str) -> None:
    text = f"{word} something" if word != "do" else "do"
    found = Parsed(body(f'{text}\n    show "x"'))
    assert found.problems[0] == "TB2008 5:9"
    assert found.diagnostics[0].label == hints.FOREIGN_STATEMENTS[word].label
    # what stands below is read on: only the block itself may be wrong under the word that was meant
    follows = "TB2005" if word in ("switch", "match") else "TB2010" if word == "try" else "TB2001"
    assert [each.code for each in found.diagnostics[1:]] in ([], [follows])


@pytest.mark.parametrize("word", ["case", "default"])
def test_words_of_arms(word: str) -> None:
    found = Parsed(body(f'when a\n    {word} 1\n        show "x"'))
    assert found.problems == ["TB2008 6:13"]
    assert found.diagnostics[0].label == hints.FOREIGN_STATEMENTS[word].label


@pytest.mark.parametrize("word", hints.FOREIGN_TEST_LINES)
def test_words_of_tests(word: str) -> None:
    found = Parsed(f'module a\ntest "t"\n    run F()\n    expect no effects\n    {word} something\n')
    assert found.problems == ["TB2005 5:5"]
    assert found.diagnostics[0].label == hints.FOREIGN_TEST_LINES[word]


@pytest.mark.parametrize("word", hints.FOREIGN_DECLARATIONS)
def test_words_of_declarations(word: str) -> None:
    found = Parsed(f"module a\n{word} Foo\n")
    assert found.problems == ["TB2008 2:1"]
    assert found.diagnostics[0].label == hints.FOREIGN_DECLARATIONS[word].label


@pytest.mark.parametrize("name", hints.FOREIGN_VALUES)
def test_names_of_values(name: str) -> None:
    assert only(body(f"let x = {name}")) == ("TB2008", hints.FOREIGN_VALUES[name].label)


@pytest.mark.parametrize("word", hints.FOREIGN_PREFIXES)
def test_words_before_values(word: str) -> None:
    assert only(body(f"let x = {word} foo")) == ("TB2008", hints.FOREIGN_PREFIXES[word].label)


@pytest.mark.parametrize("word", hints.FOREIGN_INFIXES)
def test_words_between_values(word: str) -> None:
    assert only(body(f"let x = a {word} b")) == ("TB2008", hints.FOREIGN_INFIXES[word].label)


@pytest.mark.parametrize("name", [name for name in hints.FOREIGN_TYPES if name[0].islower()])
def test_names_of_types(name: str) -> None:
    code, label = only(f"module a\ntype X\n    a as {name}\n")
    assert code == "TB2008" or name in words.HARD_WORDS
    assert label == f"write `{hints.FOREIGN_TYPES[name]}`"


@pytest.mark.parametrize("unit", hints.FOREIGN_UNITS)
def test_units(unit: str) -> None:
    assert only(body(f"let x = 5 {unit}")) == ("TB1011", f"write it in `{hints.FOREIGN_UNITS[unit]}`")


@pytest.mark.parametrize("prefix", hints.TEXT_PREFIXES)
def test_letters_before_texts(prefix: str) -> None:
    assert only(body(f'let x = {prefix}"a"')) == ("TB2008", hints.TEXT_PREFIXES[prefix])


# --- characters -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("character", [*hints.BLANKS, *hints.LOOK_ALIKES, *hints.LETTERS])
def test_look_alikes(character: str) -> None:
    if character.isascii():
        return
    found = Parsed(body(f"let x = a{character}b"))
    assert found.problems == [f"TB1003 5:{17 if character in hints.LETTERS else 18}"]
    meant = hints.LOOK_ALIKES.get(character) or hints.LETTERS.get(character) or ""
    assert meant in found.diagnostics[0].label


@pytest.mark.parametrize("quote", sorted(hints.QUOTES))
def test_quotes(quote: str) -> None:
    found = Parsed(body(f"let x = {quote}b{quote}"))
    assert found.problems == ["TB1003 5:17"]
    assert found.diagnostics[0].label == 'write `"`'


def test_tables_do_not_hide_words_of_the_language() -> None:
    assert not set(hints.FOREIGN_STATEMENTS) & set(words.STATEMENT_WORDS)
    assert not set(hints.FOREIGN_DECLARATIONS) & set(words.MODULE_WORDS)
    assert not set(hints.FOREIGN_VALUES) & words.HARD_WORDS
    assert not set(hints.FOREIGN_UNITS) & set(words.UNITS)
    assert {hint.meant for hint in hints.FOREIGN_DECLARATIONS.values()} <= {*words.MODULE_WORDS, None}
    assert not set(hints.LOOK_ALIKES) & set(hints.LETTERS)
    assert not set(hints.LOOK_ALIKES) & set(hints.BLANKS)


# --- the tables as a whole --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", habits.tables())
def test_no_row_is_lost(name: str) -> None:
    """Where a table was changed on purpose, `python -m tests.language.habits` writes its rows down."""
    assert sorted(habits.tables()[name]) == sorted(habits.written()[name])


def test_no_table_is_lost() -> None:
    assert list(habits.tables()) == list(habits.written())
