"""Handler of `ReadInvoices`: UBL 2.1 invoices and credit notes of a folder as typed records, a page at a time.

A file that cannot be read is answered as `Refused` with a code; it never ends the run:

`NameInvalid`       the file name is not valid UTF-8
`NotAFile`          a folder, pipe or device stands under that name
`FileUnreadable`    the file cannot be opened or read
`FileTooLarge`      more than 4 MiB
`NotXml`            not well-formed XML, or an encoding that is not known
`DoctypeForbidden`  a document type declaration, the door of entity bombs; UBL has no use for one
`NestedTooDeep`     elements inside each other past 64 levels
`NotAnInvoice`      XML, but neither an invoice nor a credit note
`AmountInvalid`     an amount that is no decimal number, or one with more than 18 digits before the point (a rate: 4)
                    or 6 after it

The limit of an amount's digits keeps every sum and product of the review exact: see README.md.
"""

from __future__ import annotations

import os
import stat
from datetime import date
from typing import Any
from xml.etree.ElementTree import Element, TreeBuilder

from touba_sdk import ToubaHandlerError, define_tool

try:
    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import DefusedXMLParser, ParseError
except ImportError:
    INSTALLED = False
else:
    INSTALLED = True

FILE_BYTES = 4 * 1024 * 1024
NESTING = 64
AMOUNT_DIGITS = 18
RATE_DIGITS = 4
FRACTION_DIGITS = 6
#: a page ends with the file that reaches one of these
PAGE_FILES = 100
PAGE_BYTES = 4 * 1024 * 1024

ROOTS = {
    "{urn:oasis:names:specification:ubl:schema:xsd:Invoice-2}Invoice": "Invoice",
    "{urn:oasis:names:specification:ubl:schema:xsd:CreditNote-2}CreditNote": "CreditNote",
}
PREFIXES = {
    "cac": "urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2",
    "cbc": "urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2",
}
#: how XML Schema spells a truth value
INDICATORS = {"true": True, "1": True, "false": False, "0": False}


class Refusal(Exception):
    """Why one file cannot be read."""

    def __init__(self, code: str, reason: str):
        super().__init__(code, reason)
        self.code = code
        self.reason = reason


def run(request: dict[str, Any], context: Any) -> dict[str, Any]:
    """Read the page of the folder that follows the document `after`."""
    if not INSTALLED:
        raise ToubaHandlerError("DependencyMissing", "The handler needs a package: pip install defusedxml")
    folder, after = request["folder"], _opened(request["after"])
    try:
        names = sorted((name for name in os.listdir(folder) if name.lower().endswith(".xml")), key=shown)
    except OSError as fault:
        raise ToubaHandlerError("FolderUnreadable", f"The folder cannot be listed: {fault.strerror}.") from fault
    waiting = [name for name in names if after is None or shown(name) > after]
    documents: list[dict[str, Any]] = []
    size = 0
    for name in waiting:
        if len(documents) >= PAGE_FILES or size >= PAGE_BYTES:
            break
        reading, read = read_file(os.path.join(folder, name))
        documents.append({"file": shown(name), "reading": reading})
        size += read
    more = len(documents) < len(waiting)
    return {"documents": documents, "next": documents[-1]["file"] if more else None}


def _opened(optional: Any) -> str | None:
    """The text of an `Optional Text` in wire form."""
    return optional.get("value") if isinstance(optional, dict) else optional


def shown(name: str) -> str:
    """A file name as text that can travel; bytes that are no UTF-8 are written as `\\udc..`."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def read_file(path: str) -> tuple[dict[str, Any], int]:
    """One file as a `Reading`, and how many bytes of it were read."""
    try:
        data = load(path)
    except Refusal as refusal:
        return _refused(refusal), 0
    try:
        return {"choice": "Read", "invoice": read_invoice(data)}, len(data)
    except Refusal as refusal:
        return _refused(refusal), len(data)


def _refused(refusal: Refusal) -> dict[str, Any]:
    return {"choice": "Refused", "code": refusal.code, "reason": refusal.reason}


def load(path: str) -> bytes:
    """The bytes of a file. Raises Refusal."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        raise Refusal("NameInvalid", "The file name is not valid UTF-8.") from None
    try:
        # Opening a pipe would wait for a writer; it is told apart after opening, so nothing can be exchanged between.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as fault:
        raise Refusal("FileUnreadable", f"The file cannot be opened: {fault.strerror}.") from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Refusal("NotAFile", "A folder, pipe or device stands under this name.")
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(FILE_BYTES + 1)
    except OSError as fault:
        raise Refusal("FileUnreadable", f"The file cannot be read: {fault.strerror}.") from None
    finally:
        os.close(descriptor)
    if len(data) > FILE_BYTES:
        raise Refusal("FileTooLarge", f"The file has more than {FILE_BYTES} bytes.")
    return data


class _Builder:
    """Builds the tree and refuses one that is nested too deep: walking and freeing deep trees is where readers die."""

    def __init__(self) -> None:
        self._tree = TreeBuilder()
        self._depth = 0

    def start(self, tag: str, attributes: dict[str, str]) -> Element:
        self._depth += 1
        if self._depth > NESTING:
            raise Refusal("NestedTooDeep", f"Elements are nested deeper than {NESTING} levels.")
        return self._tree.start(tag, attributes)

    def end(self, tag: str) -> Element:
        self._depth -= 1
        return self._tree.end(tag)

    def data(self, text: str) -> None:
        self._tree.data(text)

    def close(self) -> Element:
        return self._tree.close()


def parse(data: bytes) -> Element:
    """The root element. Raises Refusal."""
    parser = DefusedXMLParser(target=_Builder(), forbid_dtd=True, forbid_entities=True, forbid_external=True)
    try:
        parser.feed(data)
        root: Element = parser.close()
    except DefusedXmlException:
        raise Refusal(
            "DoctypeForbidden", "The file declares a document type, through which entities come in."
        ) from None
    except ParseError as fault:
        line, column = fault.position
        raise Refusal("NotXml", f"The file is not well-formed XML (line {line}, column {column + 1}).") from None
    except (LookupError, ValueError):
        raise Refusal("NotXml", "The file names an encoding that cannot be read.") from None
    return root


def read_invoice(data: bytes) -> dict[str, Any]:
    """The record `Invoice` of a document, in which anything may be missing. Raises Refusal."""
    root = parse(data)
    kind = ROOTS.get(root.tag)
    if kind is None:
        raise Refusal("NotAnInvoice", "The root element is neither an invoice nor a credit note of UBL 2.")
    totals = root.find("cac:LegalMonetaryTotal", PREFIXES)
    return {
        "specification": text(root, "cbc:CustomizationID"),
        "number": text(root, "cbc:ID"),
        "issued": text(root, "cbc:IssueDate"),
        "issued_on": day(text(root, "cbc:IssueDate")),
        "type_code": text(root, f"cbc:{kind}TypeCode"),
        "currency": text(root, "cbc:DocumentCurrencyCode"),
        "seller": party(root.find("cac:AccountingSupplierParty/cac:Party", PREFIXES)),
        "buyer": party(root.find("cac:AccountingCustomerParty/cac:Party", PREFIXES)),
        "lines": [
            {"net": amount(line, "cbc:LineExtensionAmount")} for line in root.findall(f"cac:{kind}Line", PREFIXES)
        ],
        "adjustments": [
            {
                "is_charge": INDICATORS.get(text(item, "cbc:ChargeIndicator") or ""),
                "amount": amount(item, "cbc:Amount"),
            }
            for item in root.findall("cac:AllowanceCharge", PREFIXES)
        ],
        "taxes": [tax_total(item) for item in root.findall("cac:TaxTotal", PREFIXES)],
        "totals": {
            "lines": amount(totals, "cbc:LineExtensionAmount"),
            "allowances": amount(totals, "cbc:AllowanceTotalAmount"),
            "charges": amount(totals, "cbc:ChargeTotalAmount"),
            "without_vat": amount(totals, "cbc:TaxExclusiveAmount"),
            "with_vat": amount(totals, "cbc:TaxInclusiveAmount"),
            "due": amount(totals, "cbc:PayableAmount"),
        },
    }


def party(element: Element | None) -> dict[str, Any]:
    """The record `Party`; its VAT identifier is that of the tax scheme VAT."""
    schemes = [] if element is None else element.findall("cac:PartyTaxScheme", PREFIXES)
    vat = [text(scheme, "cbc:CompanyID") for scheme in schemes if text(scheme, "cac:TaxScheme/cbc:ID") == "VAT"]
    address = None if element is None else element.find("cac:PostalAddress", PREFIXES)
    return {
        "name": text(element, "cac:PartyLegalEntity/cbc:RegistrationName"),
        "vat_id": next((found for found in vat if found), None),
        "has_address": address is not None,
        "country": text(address, "cac:Country/cbc:IdentificationCode"),
    }


def tax_total(element: Element) -> dict[str, Any]:
    """The record `TaxTotal`."""
    stated = element.find("cbc:TaxAmount", PREFIXES)
    return {
        "amount": amount(element, "cbc:TaxAmount"),
        "currency": None if stated is None else stated.get("currencyID"),
        "breakdown": [
            {
                "taxable": amount(part, "cbc:TaxableAmount"),
                "tax": amount(part, "cbc:TaxAmount"),
                "rate": amount(part, "cac:TaxCategory/cbc:Percent", RATE_DIGITS),
            }
            for part in element.findall("cac:TaxSubtotal", PREFIXES)
        ],
    }


def text(element: Element | None, path: str) -> str | None:
    """The text at a path, without blanks around it; None where there is none or only blanks."""
    found = None if element is None else element.find(path, PREFIXES)
    return None if found is None or found.text is None else found.text.strip() or None


def day(written: str | None) -> str | None:
    """A date in ISO 8601, None where it is none; a time zone after it, which UBL allows, says nothing about the day."""
    if written is None or written[10:11] not in ("", "Z", "+", "-"):
        return None
    digits = written[:4] + written[5:7] + written[8:10]
    if not (len(digits) == 8 and digits.isascii() and digits.isdigit() and written[4] == written[7] == "-"):
        return None
    try:
        return date(int(digits[:4]), int(digits[4:6]), int(digits[6:])).isoformat()
    except ValueError:
        return None


def amount(element: Element | None, path: str, digits: int = AMOUNT_DIGITS) -> str | None:
    """A decimal number as XML Schema spells it (`.00`, `+7`, `00.0`), in the strict spelling of Touba.

    Raises Refusal where it is no number, or has more than ``digits`` digits before the point.
    """
    found = text(element, path)
    if found is None:
        return None
    sign = "-" if found[0] == "-" else ""
    whole, _, fraction = found.removeprefix("+" if found[0] == "+" else "-").partition(".")
    if not (whole + fraction).isdigit() or not (whole + fraction).isascii():
        raise Refusal("AmountInvalid", f"{place(path)} is no decimal number.")
    whole = whole.lstrip("0") or "0"
    if len(fraction) > FRACTION_DIGITS:
        fraction = fraction[:FRACTION_DIGITS] + fraction[FRACTION_DIGITS:].rstrip("0")
    if len(whole) > digits or len(fraction) > FRACTION_DIGITS:
        limits = f"{digits} digits before the point or {FRACTION_DIGITS} after it"
        raise Refusal("AmountInvalid", f"{place(path)} has more than {limits}.")
    number = whole + (f".{fraction}" if fraction else "")
    return sign + number if number.strip("0.") else number


def place(path: str) -> str:
    """An element's name as people write it."""
    return path.rpartition(":")[2]


if __name__ == "__main__":
    define_tool(
        tool_ref="tool:review/ReadInvoices",
        input_signature=[
            {"name": "folder", "type_ref": "Text"},
            {"name": "after", "type_ref": "Optional Text"},
        ],
        output_type="type:review/Page",
        required_grants=["filesystem.read"],
        run=run,
    )
