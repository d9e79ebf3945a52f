"""Handler of `MatchLedger`: which suppliers of a batch the ledger knows, and which invoices it holds already.

The ledger is an SQLite file with the tables `supplier(id, name, vat_id)` and `booking(id, supplier_id, number)`. It is
opened for reading only. The documents of a batch go into a temporary table, so each question is one statement,
however many documents there are.

A supplier is recognised by the VAT identifier (blanks, dots and case do not count), else by the exact name. A duplicate
is the same number of the same supplier: a booking, or an earlier document of the batch. Suppliers that the ledger does
not know are told apart by their VAT identifier, or by name where they state none.
"""

from __future__ import annotations

import os
import sqlite3
from typing import Any
from urllib.parse import quote

from touba_sdk import ToubaHandlerError, define_tool

#: working tables, which live as long as the connection
TABLES = """
PRAGMA temp_store = MEMORY;
CREATE TEMP TABLE known AS SELECT id, name, plain(vat_id) AS vat_id FROM supplier;
CREATE INDEX temp.known_name ON known (name);
CREATE INDEX temp.known_vat_id ON known (vat_id);
CREATE TEMP TABLE document (position INTEGER PRIMARY KEY, seller TEXT, vat_id TEXT);
"""

#: position · by VAT identifier: id, name · by name: id; more than one row where the ledger has doubles
SUPPLIERS = """
SELECT document.position, by_vat.id, by_vat.name, by_name.id
FROM document
LEFT JOIN known AS by_vat ON document.vat_id <> '' AND by_vat.vat_id = document.vat_id
LEFT JOIN known AS by_name ON by_name.name = document.seller
ORDER BY document.position, by_vat.name IS NOT document.seller, by_vat.id, by_name.id
"""

BOOKING = "SELECT id FROM booking WHERE supplier_id = ? AND number = ? ORDER BY id LIMIT 1"


def run(request: dict[str, Any], context: Any) -> dict[str, Any]:
    """Match every document of the request; the answer is by file name."""
    documents = request["documents"]
    connection = open_ledger(request["ledger"])
    try:
        return match(connection, documents)
    except sqlite3.Error as fault:
        raise ToubaHandlerError("LedgerInvalid", f"The ledger cannot be read ({type(fault).__name__}).") from fault
    finally:
        connection.close()


def open_ledger(path: str) -> sqlite3.Connection:
    """Open an SQLite file that nobody may change. Raises ToubaHandlerError where there is none."""
    if not os.path.isfile(path):
        raise ToubaHandlerError("LedgerMissing", "There is no ledger under that path.")
    connection = sqlite3.connect(f"file:{quote(os.path.abspath(path))}?mode=ro", uri=True)
    connection.create_function("plain", 1, plain_vat_id, deterministic=True)
    return connection


def match(connection: sqlite3.Connection, documents: list[dict[str, Any]]) -> dict[str, Any]:
    """The record `Match` of each document, by file name."""
    sellers = [(opened(document["seller"]), plain_vat_id(opened(document["vat_id"]))) for document in documents]
    connection.executescript(TABLES)
    connection.executemany(
        "INSERT INTO document VALUES (?, ?, ?)",
        [(position, seller, vat_id) for position, (seller, vat_id) in enumerate(sellers)],
    )
    answer: dict[str, Any] = {}
    earlier: dict[tuple[str, str], str] = {}
    done = -1
    for position, by_vat, ledger_name, by_name in connection.execute(SUPPLIERS):
        if position == done:
            continue
        done = position
        file, number = documents[position]["file"], opened(documents[position]["number"])
        seller, vat_id = sellers[position]
        known = by_vat or by_name
        if known is None:
            supplier: Any = "Unknown"
        elif by_vat is None or seller in (None, ledger_name):
            supplier = {"choice": "Known", "supplier_id": known}
        else:
            supplier = {"choice": "Renamed", "supplier_id": known, "name": ledger_name}
        # Documents of unknown suppliers are compared among themselves, by what they say of their seller.
        who = known or vat_id or seller
        duplicate = None
        if who and number:
            booked = connection.execute(BOOKING, (known, number)).fetchone()
            duplicate = f"booking {booked[0]}" if booked else earlier.get((who, number))
            earlier.setdefault((who, number), file)
        answer[file] = {"supplier": supplier, "duplicate_of": duplicate}
    return answer


def plain_vat_id(vat_id: str | None) -> str:
    """A VAT identifier without what people put between its characters."""
    return "".join(character for character in vat_id or "" if character.isalnum()).upper()


def opened(optional: Any) -> str | None:
    """The text of an `Optional Text` in wire form."""
    return optional.get("value") if isinstance(optional, dict) else optional


if __name__ == "__main__":
    define_tool(
        tool_ref="tool:invoice.ledger/MatchLedger",
        input_signature=[
            {"name": "ledger", "type_ref": "Text"},
            {"name": "documents", "type_ref": "List of type:invoice.ledger/Identity"},
        ],
        output_type="Map of type:invoice.ledger/Match",
        required_grants=["filesystem.read"],
        run=run,
    )
