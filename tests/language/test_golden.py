"""How the problem of each wrong program of `touba explain` reads at a terminal: one golden text a code.

`TOUBA_WRITE_GOLDEN=1 pytest tests/language/test_golden.py` writes the texts anew; read what changed before keeping it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.language.pages import wrong_problems
from touba_cli.language.diagnostics import CODES
from touba_cli.language.render import render_all

FOLDER = Path(__file__).resolve().parent / "golden"


@pytest.mark.parametrize("code", CODES)
def test_a_problem_reads_like_this(code: str) -> None:
    shown = render_all(wrong_problems(code))
    path = FOLDER / f"{code}.txt"
    if os.environ.get("TOUBA_WRITE_GOLDEN") == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_text(shown, "utf-8")
    assert shown == path.read_text("utf-8")
    assert max(len(line) for line in shown.splitlines()) <= 240


def test_every_golden_text_is_of_a_code() -> None:
    assert sorted(path.name for path in FOLDER.iterdir()) == [f"{code}.txt" for code in sorted(CODES)]
