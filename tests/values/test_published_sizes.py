"""The sizes that `docs/limits.md` publishes are those that values carry."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from touba_cli.values.model import (
    ABSENT,
    Meter,
    make_choice,
    make_list,
    make_map,
    make_present,
    make_record,
    size_of,
)

PAGE = Path(__file__).resolve().parents[2] / "docs" / "limits.md"
METER = Meter(0, 2**25)


def rows() -> dict[str, str]:
    """First cell → second cell of the table of sizes."""
    table = PAGE.read_text("utf-8").partition("## Sizes")[2]
    cells = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    return {cell[0]: cell[1] for cell in cells[1:]}


ROWS = rows()


def figures(row: str) -> list[int]:
    return [int(found) for found in re.findall(r"(?<!\^)\b\d+\b", ROWS[row])]


def test_all_rows_are_known() -> None:
    assert set(ROWS) == {
        "Int, Float, Bool, Nothing", "Decimal", "Date, DateTime, Duration", "Text", "List, Map", "record",
        "choice without payload", "choice with payload", "Optional",
    }  # fmt: skip


def test_plain_values() -> None:
    assert [size_of(each) for each in (7, 2.5, True, None)] == figures("Int, Float, Bool, Nothing")
    moment = datetime.datetime(2026, 1, 31, tzinfo=datetime.UTC)
    for value in (moment.date(), moment, datetime.timedelta(1)):
        assert [size_of(value)] == figures("Date, DateTime, Duration")


@pytest.mark.parametrize(("text", "powers"), [("12.50", 0), ("0", 0), ("0.01", 2), ("1E+40", 40), ("-1E-6000", 6_000)])
def test_decimals(text: str, powers: int) -> None:
    base, each, *_ = figures("Decimal")
    assert size_of(Decimal(text)) == base + each * powers


def test_texts() -> None:
    around, ascii_, other = figures("Text")
    assert size_of("abc") == around + 3 * ascii_
    assert size_of("abé") == around + 3 * other
    assert size_of("") == around


@pytest.mark.parametrize("parts", [[], [1], ["a", "é"], [True, 1, 2.5]])
def test_lists_and_maps(parts: list[Any]) -> None:
    around, each, key = figures("List, Map")
    inside = sum(size_of(part) + each for part in parts)
    assert make_list(METER, tuple(parts)).size == around + inside
    names = {f"k{number}": part for number, part in enumerate(parts)}
    assert make_map(METER, names).size == around + inside + sum(size_of(name) + key for name in names)


def test_records_choices_and_optionals() -> None:
    fields = {"name": "Tea", "amount": 4}
    around, each = figures("record")
    record = around + sum(size_of(value) + len(name) + each for name, value in fields.items())
    assert make_record(METER, "type:app/Line", fields).size == record
    (plain,) = figures("choice without payload")
    assert make_choice(METER, "type:app/State", "Open", {}).size == len("Open") + plain
    (more,) = figures("choice with payload")
    assert make_choice(METER, "type:app/State", "Paid", fields).size == record + len("Paid") + more
    absent, present = figures("Optional")
    assert size_of(ABSENT) == absent
    assert make_present(METER, "Tea").size == size_of("Tea") + present
