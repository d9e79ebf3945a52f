"""Every row of the tables has a conformance case: see `coverage.py`, which computes and prints what has none."""

from __future__ import annotations

import pytest

from tests.conformance.cases import CASES, Case
from tests.conformance.coverage import EXCUSED, Coverage, measured, report
from tests.conformance.test_cases import ROOT


@pytest.fixture(scope="module")
def coverage() -> Coverage:
    return measured()


def test_every_row_of_every_table_has_a_case(coverage: Coverage) -> None:
    missing = {table: without for table in coverage.rows if (without := coverage.missing(table))}
    print("\n".join(report(coverage)))
    assert missing == {}


def test_what_is_excused_is_a_row_that_no_case_reaches(coverage: Coverage) -> None:
    for table, rows in EXCUSED.items():
        assert sorted(rows.keys() - coverage.rows[table]) == []
        assert sorted(rows.keys() & coverage.reached[table]) == []


@pytest.mark.parametrize(
    ("row", "reason"), [(row, reason) for rows in EXCUSED.values() for row, reason in rows.items()]
)
def test_a_reason_names_the_test_that_reaches_the_row(row: str, reason: str) -> None:
    place = ROOT / reason.rpartition(": ")[2]
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
    word = row.split(" ")[-1]
    assert any(word in path.read_text("utf-8") for path in files), f"{place} does not name {word}"


def test_a_table_without_cases_is_missing_as_a_whole() -> None:
    empty = Coverage()
    empty.measure([])
    for table, rows in empty.rows.items():
        assert empty.missing(table) == [row for row in rows if row not in EXCUSED.get(table, {})]


def test_one_case_reaches_what_it_holds() -> None:
    one = Coverage()
    one.measure([Case(next(path for path in CASES if path.stem == "trace_of_a_stop"))])
    assert one.reached["outcomes"] == {"stopped stopped"}
    assert one.reached["events"] == {"run_started", "call_started", "call_completed", "run_stopped"}
    assert one.reached["instructions"] == {"stop", "call", "show", "give"}
    assert one.reached["expressions"] == {"text", "nothing"}
    assert {"Stop", "Show", "EffectLine", "Call"} <= one.reached["tree nodes"]
    assert "statement: stop text _NL" in one.reached["grammar"]
    assert "statement: fail text _NL" in one.missing("grammar")
