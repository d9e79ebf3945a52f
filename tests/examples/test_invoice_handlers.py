"""The handlers of the invoice example by themselves: traps in files, pages, suppliers and duplicates."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from touba_sdk import ToubaHandlerError

HEAD = (
    '<Invoice xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2"'
    ' xmlns:cac="urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2"'
    ' xmlns:cbc="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2">'
)


def invoice(inner: str) -> bytes:
    return f"{HEAD}{inner}</Invoice>".encode()


def refusal(reader: Any, data: bytes) -> str:
    with pytest.raises(reader.Refusal) as refused:
        reader.read_invoice(data)
    return str(refused.value.code)


def test_an_empty_invoice_is_read(reader: Any) -> None:
    found = reader.read_invoice(invoice(""))
    assert found["number"] is None
    assert found["seller"] == {"name": None, "vat_id": None, "has_address": False, "country": None}
    assert (found["lines"], found["adjustments"], found["taxes"]) == ([], [], [])
    assert set(found["totals"].values()) == {None}


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("100", "100"), (" 1.50\n", "1.50"), (".00", "0.00"), ("00.0", "0.0"), ("-00", "0"), ("-.5", "-0.5"),
        ("+7.", "7"),
        ("000000000000000000000001", "1"), ("0.10000000000000", "0.100000"), ("-0.00", "0.00"),
        ("9" * 18 + "." + "9" * 6, "9" * 18 + "." + "9" * 6),
    ],
)  # fmt: skip
def test_amounts_as_xml_schema_spells_them(reader: Any, text: str, number: str) -> None:
    found = reader.read_invoice(
        invoice(f"<cac:LegalMonetaryTotal><cbc:PayableAmount>{text}</cbc:PayableAmount></cac:LegalMonetaryTotal>")
    )
    assert found["totals"]["due"] == number


@pytest.mark.parametrize(
    "text", ["12,50", "1e3", "--1", "-", "+", ".", "0x1", "1 000", "٣", "NaN", "INF", "1" * 19, "0.0000001", "1.2.3"]
)
def test_amounts_that_are_none(reader: Any, text: str) -> None:
    data = invoice(f"<cac:LegalMonetaryTotal><cbc:PayableAmount>{text}</cbc:PayableAmount></cac:LegalMonetaryTotal>")
    assert refusal(reader, data) == "AmountInvalid"


def test_a_rate_has_narrower_limits(reader: Any) -> None:
    inner = (
        "<cac:TaxTotal><cac:TaxSubtotal><cac:TaxCategory><cbc:Percent>{}</cbc:Percent>"
        "</cac:TaxCategory></cac:TaxSubtotal></cac:TaxTotal>"
    )
    assert reader.read_invoice(invoice(inner.format("5.5")))["taxes"][0]["breakdown"][0]["rate"] == "5.5"
    assert refusal(reader, invoice(inner.format("12345"))) == "AmountInvalid"


@pytest.mark.parametrize(
    ("text", "day"),
    [("2024-02-29", "2024-02-29"), (" 2024-02-29Z ", "2024-02-29"), ("2024-02-29+01:00", "2024-02-29"), ("  ", None)],
)
def test_dates(reader: Any, text: str, day: str | None) -> None:
    assert reader.read_invoice(invoice(f"<cbc:IssueDate>{text}</cbc:IssueDate>"))["issued_on"] == day


@pytest.mark.parametrize(
    "text", ["2025-02-29", "29.02.2024", "2024-2-29", "2026-W01-1", "2024-02-29T10:00", "٢٠٢٤-٠٢-٢٩"]
)
def test_dates_that_are_none(reader: Any, text: str) -> None:
    found = reader.read_invoice(invoice(f"<cbc:IssueDate>{text}</cbc:IssueDate>"))
    assert (found["issued"], found["issued_on"]) == (text, None)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "NotXml"),
        (b"\x00" * 100, "NotXml"),
        (b"PK\x03\x04", "NotXml"),
        (invoice("")[:-3], "NotXml"),
        (b"<?xml version='1.0' encoding='x-none'?><a/>", "NotXml"),
        (b"<a/>", "NotAnInvoice"),
        (b"<Invoice/>", "NotAnInvoice"),
        (b"<!DOCTYPE a><a/>", "DoctypeForbidden"),
        (b'<!DOCTYPE a [<!ENTITY e "x"><!ENTITY f "&e;&e;">]><a>&f;</a>', "DoctypeForbidden"),
        (b'<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>', "DoctypeForbidden"),
        (b"<a>" * 65 + b"</a>" * 65, "NestedTooDeep"),
        (b"<a>" * 300_000, "NestedTooDeep"),
        (b"<a " + b" ".join(b"a%d='1'" % n for n in range(50_000)) + b"/>", "NotAnInvoice"),
    ],
    ids=lambda part: str(part)[:24],
)
def test_documents_with_traps(reader: Any, data: bytes, code: str) -> None:
    assert refusal(reader, data) == code


def test_credit_notes_are_read(reader: Any) -> None:
    data = invoice(
        "<cbc:CreditNoteTypeCode>381</cbc:CreditNoteTypeCode><cac:CreditNoteLine>"
        "<cbc:LineExtensionAmount>5</cbc:LineExtensionAmount></cac:CreditNoteLine>"
    )
    found = reader.read_invoice(data.replace(b"Invoice-2", b"CreditNote-2").replace(b"Invoice", b"CreditNote"))
    assert (found["type_code"], found["lines"]) == ("381", [{"net": "5"}])


def test_files_with_traps(reader: Any, tmp_path: Path) -> None:
    (tmp_path / "a-folder.xml").mkdir()
    os.mkfifo(tmp_path / "b-pipe.xml")
    (tmp_path / "c-device.xml").symlink_to("/dev/zero")
    (tmp_path / "d-dangling.xml").symlink_to("nowhere")
    (tmp_path / "e-huge.xml").write_bytes(b"<a>" + b" " * (4 * 1024 * 1024))
    (tmp_path / "f-sound.XML").write_bytes(invoice("<cbc:ID>1</cbc:ID>"))
    (tmp_path / "ignored.txt").write_bytes(b"")
    with open(os.fsencode(tmp_path) + b"/g-\xff.xml", "wb") as file:
        file.write(invoice(""))
    page = reader.run({"folder": str(tmp_path), "after": {"present": False}}, None)
    found = {document["file"]: document["reading"] for document in page["documents"]}
    assert page["next"] is None
    assert list(found) == sorted(found)
    assert found["f-sound.XML"]["invoice"]["number"] == "1"
    assert {name: reading.get("code") for name, reading in found.items()} == {
        "a-folder.xml": "NotAFile",
        "b-pipe.xml": "NotAFile",
        "c-device.xml": "NotAFile",
        "d-dangling.xml": "FileUnreadable",
        "e-huge.xml": "FileTooLarge",
        "f-sound.XML": None,
        "g-\\udcff.xml": "NameInvalid",
    }


def test_pages_cover_a_folder_once(reader: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "PAGE_FILES", 3)
    for number in range(7):
        (tmp_path / f"{number}.xml").write_bytes(invoice(""))
    seen: list[str] = []
    after: Any = {"present": False}
    for _ in range(3):
        page = reader.run({"folder": str(tmp_path), "after": after}, None)
        seen += [document["file"] for document in page["documents"]]
        after = {"present": True, "value": page["next"]}
    assert page["next"] is None
    assert seen == [f"{number}.xml" for number in range(7)]


def test_a_folder_that_is_not_there(reader: Any, tmp_path: Path) -> None:
    with pytest.raises(ToubaHandlerError) as refused:
        reader.run({"folder": str(tmp_path / "nowhere"), "after": None}, None)
    assert refused.value.code == "FolderUnreadable"


def identity(file: str, seller: str | None, vat_id: str | None, number: str | None) -> dict[str, Any]:
    return {"file": file, "seller": seller, "vat_id": vat_id, "number": number}


@pytest.fixture
def books(tmp_path: Path, generator: Any) -> str:
    path = str(tmp_path / "ledger.sqlite")
    generator.write_ledger(path, [("B-1", "S-001", "R-1"), ("B-0", "S-001", "R-1"), ("B-2", "S-002", "R-2")])
    return path


def test_matching(ledger: Any, books: str) -> None:
    documents = [
        identity("a", "Bäckerei Grünwald GmbH", "DE811907980", "R-1"),
        identity("b", "Bäckerei Grünwald GmbH", "de 811.907.980", "R-2"),
        identity("c", "Grünwald", "DE811907980", "R-3"),
        identity("d", "Société Générale d'Équipement", None, "R-2"),
        identity("e", None, "FR40303265045", "R-4"),
        identity("f", "Nobody", "XX1", "R-1"),
        identity("g", "Nobody", "XX 1", "R-1"),
        identity("h", None, None, "R-1"),
        identity("i", "Grünwald", "DE811907980", "R-3"),
        identity("j", "Nobody", "XX1", None),
    ]
    answer = ledger.run({"ledger": books, "documents": documents}, None)
    suppliers = {file: match["supplier"] for file, match in answer.items()}
    known = {
        file: (found, None) if isinstance(found, str) else (found["choice"], found["supplier_id"])
        for file, found in suppliers.items()
    }
    assert known == {
        "a": ("Known", "S-001"), "b": ("Known", "S-001"), "c": ("Renamed", "S-001"), "d": ("Known", "S-002"),
        "e": ("Known", "S-002"), "f": ("Unknown", None), "g": ("Unknown", None), "h": ("Unknown", None),
        "i": ("Renamed", "S-001"), "j": ("Unknown", None),
    }  # fmt: skip
    assert answer["c"]["supplier"]["name"] == "Bäckerei Grünwald GmbH"
    assert {file: match["duplicate_of"] for file, match in answer.items() if match["duplicate_of"]} == {
        "a": "booking B-0",
        "d": "booking B-2",
        "g": "f",
        "i": "c",
    }


def test_the_ledger_is_opened_for_reading_only(ledger: Any, books: str) -> None:
    connection = ledger.open_ledger(books)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        connection.execute("DELETE FROM booking")
    connection.close()


@pytest.mark.parametrize(
    ("content", "code"), [(None, "LedgerMissing"), (b"no database at all", "LedgerInvalid"), (b"", "LedgerInvalid")]
)
def test_ledgers_that_are_none(ledger: Any, tmp_path: Path, content: bytes | None, code: str) -> None:
    path = tmp_path / "odd ledger?.sqlite"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ToubaHandlerError) as refused:
        ledger.run({"ledger": str(path), "documents": []}, None)
    assert refused.value.code == code
