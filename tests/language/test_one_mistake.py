"""One misspelt word gives one message: two letters of a word are swapped in programs that are right, again and again."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest

from tests.conformance.cases import CASES, Case, CaseSources
from touba_cli.language.compiler import compile_program

#: words in each program that are misspelt, one at a time
WORDS = 3
#: words that may have more than one message, in every 1,000: a field or input that is declared under a misspelt name is
#: wrong wherever it is used
SEVERAL = 10


def misspelt(text: str, source: random.Random) -> tuple[int, str] | None:
    """A text with one misspelt word, and the line of it; comments and the `module` line stay as they are."""
    lines = text.split("\n")
    places = [
        (number, match)
        for number, line in enumerate(lines)
        if not line.lstrip().startswith(("#", "module"))
        for match in re.finditer(r"(?<![A-Za-z0-9_\"{\\])[A-Za-z]{4,}(?![A-Za-z0-9_\"])", line)
        if len(set(match[0][1:])) > 1
    ]
    if not places:
        return None
    number, match = source.choice(places)
    word = match[0]
    at = source.choice([place for place in range(1, len(word) - 1) if word[place] != word[place + 1]])
    line = lines[number]
    swapped = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    lines[number] = line[: match.start()] + swapped + line[match.end() :]
    return number + 1, "\n".join(lines)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_misspelt_word_has_one_message(seed: int) -> None:
    source = random.Random(seed)
    counts: Counter[int] = Counter()
    several = []
    for path in CASES:
        case = Case(path)
        if "fill" in case.sections or compile_program(CaseSources(case), case.entry).diagnostics:
            continue
        right = case.files[case.entry]
        for _ in range(WORDS):
            found = misspelt(right, source)
            if found is None:
                continue
            line, case.files[case.entry] = found
            errors = [
                each for each in compile_program(CaseSources(case), case.entry).diagnostics if each.severity == "error"
            ]
            counts[len(errors)] += 1
            if len(errors) > 1:
                several.append(f"{case.name}:{line}: " + ", ".join(f"{each.code} {each.title}" for each in errors))
        case.files[case.entry] = right
    total = counts.total()
    assert total > 700
    assert len(several) * 1_000 <= SEVERAL * total, "\n".join(several)
    assert max(counts) <= 4, "\n".join(several)
    # Words in texts, and names that are misspelt wherever they stand, are no mistakes.
    assert counts[1] * 100 > 90 * total
