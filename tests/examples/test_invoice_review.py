"""The invoice example as a whole: its own data, the official rule tests, the official invoices, its table."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.examples.places import INVOICES, ROOT
from touba_sdk.testing import assert_run_refused, assert_run_succeeded, assert_trace_events

#: the rules of ../shared/data/en16931/README.md that the program checks
RULES = (
    "BR-01", "BR-02", "BR-03", "BR-05", "BR-06", "BR-07", "BR-09", "BR-10", "BR-11", "BR-13", "BR-14", "BR-15",
    "BR-CO-10", "BR-CO-11", "BR-CO-13", "BR-CO-15", "BR-CO-17",
)  # fmt: skip
VALIDATOR = "{http://difi.no/xsd/vefa/validator/1.0}"


@pytest.fixture(scope="module")
def own(reviewer: Any) -> Any:
    """The review of the example's own data, made once."""
    return assert_run_succeeded(reviewer.review(str(INVOICES / "data" / "invoices")))


def by_file(run: Any) -> dict[str, dict[str, Any]]:
    return {document["file"]: document for document in run.result["documents"]}


def places(document: dict[str, Any]) -> list[list[str]]:
    return sorted([finding["rule"], finding["place"]] for finding in document["findings"])


def test_the_own_data_give_exactly_the_known_findings(own: Any) -> None:
    expected = json.loads((INVOICES / "data" / "expected.json").read_text("utf-8"))
    found = by_file(own)
    assert list(found) == sorted(expected)
    for name, document in found.items():
        assert {"verdict": document["verdict"], "findings": places(document)} == expected[name], name


def test_the_own_data_are_many_and_hold_every_finding(own: Any) -> None:
    report = own.result
    assert len(report["documents"]) >= 200
    assert report["clean"] + report["flagged"] + report["unreadable"] == len(report["documents"])
    assert set(report["rules"]) >= {
        *RULES,
        "BR-04",
        "BR-08",
        "BR-12",
        "ISSUE-DATE",
        "DoctypeForbidden",
        "LEDGER-DUPLICATE",
    }
    assert sum(report["rules"].values()) == sum(len(document["findings"]) for document in report["documents"])


def test_one_finding_for_each_rule_and_place(own: Any) -> None:
    for document in own.result["documents"]:
        pairs = [tuple(pair) for pair in places(document)]
        assert len(set(pairs)) == len(pairs), document["file"]


def test_the_trace_shows_every_page_and_one_question_to_the_ledger(own: Any) -> None:
    assert_trace_events(own.trace, kind="tool_invoked", count=3, where=lambda e: e["ref"] == "tool:review/ReadInvoices")
    assert_trace_events(own.trace, kind="tool_invoked", count=1, where=lambda e: "MatchLedger" in e["ref"])
    text = json.dumps(own.trace, ensure_ascii=False)
    assert "Grünwald" not in text
    assert "R-2025" not in text


def test_the_data_are_what_the_generator_makes(generator: Any, tmp_path: Path) -> None:
    files, expected, bookings = generator.make_all()
    folder = INVOICES / "data" / "invoices"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == files
    assert json.loads((INVOICES / "data" / "expected.json").read_text("utf-8")) == expected
    generator.write_ledger(str(tmp_path / "ledger.sqlite"), bookings)
    dumps = []
    for path in (tmp_path / "ledger.sqlite", INVOICES / "data" / "ledger.sqlite"):
        connection = sqlite3.connect(path)
        dumps.append(list(connection.iterdump()))
        connection.close()
    assert dumps[0] == dumps[1]


def test_every_verdict_of_the_official_rule_tests(official: Path, reviewer: Any, tmp_path: Path) -> None:
    """Each fragment becomes a file; of what is found in it only the rule in question is looked at."""
    verdicts: dict[str, tuple[str, bool]] = {}
    for rule in RULES:
        tests = ElementTree.parse(official / "rule-tests" / f"{rule}.xml").getroot().findall(f"{VALIDATOR}test")
        assert tests, rule
        for number, test in enumerate(tests, 1):
            judged = test.find(f"{VALIDATOR}assert")
            assert judged is not None
            holds = judged.findtext(f"{VALIDATOR}success") == rule
            assert holds or judged.findtext(f"{VALIDATOR}error") == rule
            fragment = test[1]
            name = f"{rule}.{number:02d}.xml"
            (tmp_path / name).write_bytes(ElementTree.tostring(fragment, "utf-8"))
            verdicts[name] = (rule, holds)
    found = by_file(assert_run_succeeded(reviewer.review(str(tmp_path))))
    assert set(found) == set(verdicts)
    assert len(verdicts) >= 80
    wrong = {}
    for name, (rule, holds) in verdicts.items():
        rules = [finding["rule"] for finding in found[name]["findings"]]
        if found[name]["verdict"] == "Unreadable" or (rule not in rules) != holds:
            wrong[name] = rules
    assert wrong == {}


def test_the_official_invoices_run_whole(official: Path, reviewer: Any) -> None:
    """Each finding was confirmed by hand; `official_findings.json` says how."""
    recorded = json.loads((Path(__file__).parent / "official_findings.json").read_text("utf-8"))
    run = assert_run_succeeded(reviewer.review(str(official / "invoices")))
    found = {
        name: [[finding["rule"], finding["place"], finding["message"]] for finding in document["findings"]]
        for name, document in by_file(run).items()
    }
    expected = {
        name: [[entry["rule"], entry["place"], entry["message"]] for entry in entries]
        for name, entries in recorded["documents"].items()
    }
    assert found == expected
    assert all(entry["confirmed"] for entries in recorded["documents"].values() for entry in entries)
    assert run.result["unreadable"] == 0


def test_the_script_prints_a_table_in_time() -> None:
    began = time.monotonic()
    done = _script()
    assert time.monotonic() - began < 10
    assert done.returncode == 0, done.stderr
    assert "230 documents: 128 clean, 91 with findings, 11 unreadable" in done.stdout
    lines = done.stdout.splitlines()
    assert lines[0].startswith("Reviewing ")
    assert lines[2].split() == ["document", "invoice", "seller", "findings"]
    assert "BR-… and BR-CO-… are business rules of EN 16931" in done.stdout
    assert "program.tb" in lines[-1]
    assert any(line.startswith("x-01-entity-bomb.xml") and line.endswith("DoctypeForbidden") for line in lines)


def test_the_script_takes_any_folder(tmp_path: Path) -> None:
    (tmp_path / "größe.xml").write_bytes(b"not xml")
    done = _script(str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "1 documents: 0 clean, 0 with findings, 1 unreadable" in done.stdout
    assert _script(str(tmp_path / "nowhere")).returncode == 2
    assert _script("a", "b").returncode == 2


def test_an_empty_folder_is_a_report_of_nothing(reviewer: Any, tmp_path: Path) -> None:
    run = assert_run_succeeded(reviewer.review(str(tmp_path)))
    assert run.result == {"documents": [], "clean": 0, "flagged": 0, "unreadable": 0, "rules": {}}


def test_a_ledger_that_is_not_there_ends_the_run_with_its_code(reviewer: Any, tmp_path: Path) -> None:
    assert_run_refused(lambda: reviewer.review(str(tmp_path), ledger="data/nowhere.sqlite"), "LedgerMissing")


def test_columns_of_a_table(reviewer: Any) -> None:
    assert reviewer.fit("abc", 5) == "abc  "
    assert reviewer.fit("abcdef", 5) == "abcd…"
    assert reviewer.fit("株式会社", 6) == "株式… "
    assert reviewer.fit("e\u0301a", 3) == "e\u0301a "
    assert reviewer.fit("a\x1bb", 4) == "a?b "


def _script(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(INVOICES / "run.py"), *arguments],
        capture_output=True,
        timeout=60,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"},
    )
