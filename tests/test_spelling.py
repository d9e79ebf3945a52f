"""How far two words are from each other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touba_cli.language.hints import near
from touba_cli.options import nearest
from touba_cli.spelling import distance
from touba_cli.values import paths

WORDS = st.text("abc", max_size=6)


@pytest.mark.parametrize(
    ("left", "right", "apart"),
    [
        ("", "", 0),
        ("amount", "amount", 0),
        ("amount", "ammount", 1),
        ("amount", "amont", 1),
        ("amount", "amaunt", 1),
        ("amount", "aomunt", 1),
        ("ca", "abc", 3),  # a swapped pair is not changed again
        ("", "abc", 3),
    ],
)
def test_each_slip_counts_once(left: str, right: str, apart: int) -> None:
    assert distance(left, right, 9) == distance(right, left, 9) == apart


@given(WORDS, WORDS, st.integers(0, 6))
def test_a_limit_only_leaves_out_what_is_above_it(left: str, right: str, limit: int) -> None:
    whole = distance(left, right, 6)
    assert whole is not None
    assert distance(left, right, limit) == (whole if whole <= limit else None)


def test_all_who_guess_names_guess_alike() -> None:
    for guess in (near, nearest, paths.nearest):
        assert guess("ammount", ["due", "amount"]) == "amount"
        assert guess("total", ["due", "amount"]) is None
