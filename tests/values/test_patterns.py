"""Patterns mean what Python's `re` means by them, in linear time, and what they do not mean is refused at its place."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from touba_cli.errors import ToubaFailure
from touba_cli.limits import PATTERN_CHARACTERS, PATTERN_STATES
from touba_cli.values.check import TypeTable
from touba_cli.values.model import ABSENT, Meter, make_present
from touba_cli.values.patterns import Pattern, PatternInvalid, check_pattern, json_pattern

CHARACTERS = ["a", "b", "c", "7", "_", " ", "\n", ".", "-", "é", "\u2028", "]", '"', "\\", "$"]
SETS = [
    "a", "b", ".", r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", "[abc]", "[a-c]", "[^a]", r"[^\d]", r"[\w-]", r"[a\]-]",
    r"\.", r"\n", "é", "[à-ü]", r"\$", r"\"", r"[^\s_]", r"\\",
]  # fmt: skip


def around(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    quantity = st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "{1,}", "{0}", "{2,3}"])
    return st.one_of(
        st.lists(parts, min_size=0, max_size=4).map("".join),
        st.lists(parts, min_size=2, max_size=3).map(lambda ways: f"({'|'.join(ways)})"),
        st.tuples(parts, quantity).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
        st.tuples(st.sampled_from(SETS), quantity).map("".join),
    )


patterns = st.recursive(st.sampled_from(SETS), around, max_leaves=8)
texts = st.text(st.sampled_from(CHARACTERS), max_size=10)


@settings(max_examples=600)
@given(patterns, st.lists(texts, min_size=1, max_size=6))
@example("(a|ab)(c|bcd)?", ["abcd", "ac", "a", "abc"])
@example("", ["", "a"])
def test_a_pattern_means_what_re_means(source: str, values: list[str]) -> None:
    try:
        pattern = Pattern(source)
    except PatternInvalid as fault:
        assume("states" not in fault.message)
        raise
    expected = re.compile(source, re.ASCII)
    schema = re.compile(json_pattern(source))
    for value in values:
        assert pattern.matches(value) is bool(expected.fullmatch(value)), (source, value)
        if not value.endswith("\n"):  # where Python's `$` looks further than JSON Schema's
            assert bool(schema.search(value)) is pattern.matches(value), (json_pattern(source), value)
    assert pattern.count_states(PATTERN_STATES) >= len(pattern._states)


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("[A-Z]{2}[0-9]{6}", ["AB123456"], ["AB12345", "AB1234567", "ab123456", "AB123456\n"]),
        ("^a|b$", ["a", "b"], ["ab", ""]),
        ("^$", [""], ["\n", "a"]),
        (r"\u{1F600}+", ["😀", "😀😀"], ["", "a"]),
        (r"\d+", ["0123456789"], ["٣", ""]),
        (r"\w", ["_", "Z"], ["é", "-"]),
        ("[^x]*", ["", "\n", "\U0010ffff" * 300], ["x", "éx"]),
        ("[-a]", ["-", "a"], ["b"]),
        ("[a-]", ["-", "a"], ["b"]),
        ("a{0}b", ["b"], ["ab"]),
        (r"[^\s\S]", [], ["", "a", "\n"]),
        ("(a+)+$", ["a" * 5_000], ["a" * 5_000 + "b"]),
        (r"\/\-\:\@\~\ ", ["/-:@~ "], ["/"]),
    ],
)
def test_examples(pattern: str, yes: list[str], no: list[str]) -> None:
    check_pattern(pattern)
    found = Pattern(pattern)
    assert [found.matches(each) for each in yes] == [True] * len(yes)
    assert [found.matches(each) for each in no] == [False] * len(no)


@pytest.mark.parametrize(
    ("pattern", "part", "message"),
    [
        ("ab(c", "(", "this `(` is not closed"),
        ("ab)c", ")", "this `)` closes nothing"),
        ("a[bc", "[", "this `[` is not closed"),
        ("a[]b", "[]", "a class has at least one character"),
        ("a]b", "]", "this `]` closes nothing"),
        ("a}b", "}", "this `}` closes nothing"),
        ("*a", "*", "a quantity stands behind nothing"),
        ("a|+", "+", "a quantity stands behind nothing"),
        ("{2}", "{", "this is no quantity behind something"),
        ("a{x}", "{", "a quantity is"),
        ("a{2", "{", "a quantity is"),
        ("a{,3}", "{", "a quantity is"),
        ("a{3,2}", "{3,2}", "no quantity is from 3 to 2"),
        ("a**", "*", "two quantities"),
        ("a+?", "?", "lazy and possessive"),
        ("a++", "+", "lazy and possessive"),
        ("a^b", "^", "the whole value anyway"),
        ("a$b", "$", "the whole value anyway"),
        ("(^a)", "^", "the whole value anyway"),
        ("a(?=b)", "(?=", "look-around"),
        ("a(?<!b)", "(?<!", "look-around"),
        ("(?P<x>a)", "(?P<", "look-around"),
        ("(?i)a", "(?", "look-around"),
        (r"(a)\1", r"\1", "references to groups"),
        (r"\bx", r"\b", "is no escape"),
        (r"\p{L}", r"\p", "is no escape"),
        ("ab\\", "\\", "a backslash stands at the end"),
        (r"\u2014", r"\u", "a code point is written"),
        (r"\u{D800}", r"\u{D800}", "no Unicode scalar value"),
        ("[z-a]", "z-a", "this range goes backwards"),
        (r"[a-\d]", r"a-\d", "a range goes from one character"),
        ("[a[b]", "[b", "write `\\[`"),
        ("(a{1000}){1000}", "{1000}", "more than 500 states"),
        ("(a|b)*a(a|b){12}", "(a|b)*a(a|b){12}", "more than 500 states"),
    ],
)
def test_what_is_no_pattern_is_refused_at_its_place(pattern: str, part: str, message: str) -> None:
    with pytest.raises(PatternInvalid, match=re.escape(message)) as caught:
        check_pattern(pattern)
    place = pattern[caught.value.start : caught.value.end]
    assert part.startswith(place)
    assert place


@given(st.text(st.sampled_from(list("ab()[]{}*+?|^$\\.-,0123456789ud:=<!P\n ")), max_size=30))
def test_any_text_is_a_pattern_or_refused(source: str) -> None:
    refused = None
    try:
        check_pattern(source)
    except PatternInvalid as fault:
        refused = fault
    if refused is None:
        assert Pattern(source).matches("ab") in (True, False)
    else:
        assert 0 <= refused.start <= refused.end <= len(source)


def test_a_pattern_has_a_length_and_a_depth() -> None:
    with pytest.raises(PatternInvalid, match="at most 1000 characters"):
        check_pattern("a" * (PATTERN_CHARACTERS + 1))
    with pytest.raises(PatternInvalid, match="nested deeper"):
        check_pattern("(" * 60 + ")" * 60)


@pytest.mark.parametrize("pattern", ["(a+)+$", r"^(\w+\s?)*$", "(a|a)*", "a*a*a*b", "(a|b)*a(a|b){5}", "(.*)(.*)(.*)x"])
def test_matching_takes_time_in_proportion(pattern: str) -> None:
    check_pattern(pattern)
    found = Pattern(pattern)
    taken = []
    for length in (20_000, 80_000):
        value = "ab" * (length // 2) + "!"
        found.matches(value)
        started = time.process_time()
        for _ in range(3):
            found.matches(value)
        taken.append(time.process_time() - started)
    assert taken[1] < 12 * max(taken[0], 0.001)


def test_checking_is_charged_by_length() -> None:
    table = TypeTable({})
    form = ("is", ("Optional", "Text"), (("matching", "x*"), ("length", None, 999), ("format", "hostname")))
    for length in (0, 15, 16, 60):
        meter = Meter(1_000, 2**20)
        value = make_present(meter, "x" * (length or 1))
        table.constrain(form, value, "here", meter)
        assert 1_000 - meter.left == 2 * (length // 16)
    meter = Meter(3, 2**20)
    with pytest.raises(ToubaFailure, match="more steps"):
        table.constrain(form, make_present(meter, "x" * 60), "here", meter)
    table.constrain(form, ABSENT, "here", Meter(0, 2**20))


def test_states_are_bounded_whatever_the_value() -> None:
    pattern = Pattern("(a|b)*a(a|b){7}")
    for number in range(500):
        pattern.matches(bin(number * 7919)[2:].replace("0", "a").replace("1", "b"))
    assert len(pattern._states) <= check_pattern("(a|b)*a(a|b){7}") <= PATTERN_STATES
