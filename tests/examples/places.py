"""Where the examples and the official documents lie."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
INVOICES = ROOT / "examples" / "invoice_review"
#: the official documents lie beside the checkout; they are not part of it
OFFICIAL = ROOT.parent / "shared" / "data" / "en16931"
