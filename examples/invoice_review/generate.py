"""Makes the invoices of this example, the ledger, and the findings that the review must give.

    python examples/invoice_review/generate.py

Everything comes from one small generator of numbers, so every run writes the same bytes. An invoice is first made
right; then faults are put into some. Each fault knows by construction which rules no longer hold and where: the
expected findings are not computed by checking the invoice.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from typing import Any
from xml.sax.saxutils import escape, quoteattr

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "data")
#: invoices of the regular kind; what cannot be read comes on top
INVOICES = 216
CENT = Decimal("0.01")

Finding = list[str]  # rule, place

#: id, name, VAT identifier, country; those without id are not in the ledger
SUPPLIERS = [
    ("S-001", "Bäckerei Grünwald GmbH", "DE811907980", "DE"),
    ("S-002", "Société Générale d'Équipement", "FR40303265045", "FR"),
    ("S-003", "Åsgård Elektro AS", "NO999888777", "NO"),
    ("S-004", "Żółta Łódź Sp. z o.o.", "PL5260001246", "PL"),
    ("S-005", "Ελληνικά Έργα Α.Ε.", "EL094259216", "GR"),
    ("S-006", "Čistá Řeka s.r.o.", "CZ25596641", "CZ"),
    ("S-007", "Ødegaard & Sønner ApS", "DK13585628", "DK"),
    ("S-008", "Türk Tekstil Ltd. Şti.", "TR1234567890", "TR"),
    ("S-009", "Кооперация Балкан ООД", "BG175074752", "BG"),
    ("S-010", "O'Brien <Steel> & Co", "IE6388047V", "IE"),
    ("S-011", "Niño y Cía., S.A.", "ESA28015865", "ES"),
    ("S-012", "Kovács és Társa Kft.", "HU12892312", "HU"),
    ("S-013", "Brouwerij 't IJ B.V.", "NL001234567B01", "NL"),
    ("S-014", "Õnneseen OÜ", "EE100594102", "EE"),
    ("S-015", "株式会社東京部品", "JP5010401067252", "JP"),
    ("S-016", "Façade Architectes Sàrl", "LU26375245", "LU"),
    ("S-017", "Perú Andino S.A.C.", "PE20100047218", "PE"),
    ("S-018", "Malmö Färg AB", "SE556042722001", "SE"),
    ("", "Unbekannt & Söhne KG", "AT-U12345678", "AT"),
    ("", "Nowhere Trading Ltd", "GB123456789", "GB"),
]
BUYERS = [("Müller Handels AG", "CH"), ("Buyercompany ltd", "DK"), ("Εταιρεία Αγορών", "GR"), ("Kunde Größe KG", "DE")]
GOODS = [
    "Schrauben M6 (1 000 Stück)",
    "Café moulu",
    "Beratung",
    "Papier A4",
    "Łożysko",
    "部品 42",
    "Coffee & tea",
    "Fjær",
]
RATES = [Decimal(rate) for rate in ("25", "21", "19", "20", "12", "7", "5.5", "2.1", "0")]


class Dice:
    """A linear congruential generator: the same numbers on every machine and in every version of Python."""

    def __init__(self, seed: int):
        self._state = seed

    def roll(self, sides: int) -> int:
        """A number from 0 up to ``sides``, without it."""
        self._state = (self._state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self._state >> 33) % sides

    def pick(self, choices: list[Any]) -> Any:
        return choices[self.roll(len(choices))]

    def amount(self, highest: int) -> Decimal:
        """An amount of whole cents up to ``highest`` units."""
        return Decimal((self.roll(2**31) * 2**31 + self.roll(2**31)) % (highest * 100) + 1).scaleb(-2)


def rounded(value: Decimal) -> Decimal:
    return value.quantize(CENT, ROUND_HALF_UP)


def make_invoice(number: int, dice: Dice) -> dict[str, Any]:
    """One right invoice. Every eighth is of the same kind, so that all kinds get all faults."""
    kind = number % 8
    highest = 900_000_000_000_000 if kind == 5 else 5_000
    rates = [dice.pick(RATES)] if kind in (0, 4) else [RATES[dice.roll(3)], RATES[3 + dice.roll(4)]]
    if kind == 3:
        rates = [RATES[0], RATES[5], Decimal("0")]
    lines = [
        {"net": dice.amount(highest), "rate": rates[position % len(rates)], "name": dice.pick(GOODS)}
        for position in range(len(rates) + dice.roll(4) + (8 if kind == 6 else 0))
    ]
    if kind == 7:
        lines[-1]["net"] = -lines[-1]["net"]
    adjustments = []
    if kind in (1, 3, 5):
        adjustments.append({"is_charge": False, "amount": dice.amount(40), "rate": rates[0]})
        adjustments.append({"is_charge": False, "amount": dice.amount(40), "rate": rates[-1]})
    if kind in (2, 3, 5):
        adjustments.append({"is_charge": True, "amount": dice.amount(90), "rate": rates[0]})
    breakdown = []
    for rate in rates:
        taxable = sum((line["net"] for line in lines if line["rate"] == rate), Decimal("0.00"))
        for item in adjustments:
            if item["rate"] == rate:
                taxable += item["amount"] if item["is_charge"] else -item["amount"]
        breakdown.append({"taxable": taxable, "tax": rounded(taxable * rate / 100), "rate": rate})
    if kind == 4:
        # A category without VAT has no rate at all.
        breakdown[0].update(rate=None, tax=Decimal("0.00"))
    vat = sum((part["tax"] for part in breakdown), Decimal("0.00"))
    line_sum = sum((line["net"] for line in lines), Decimal("0.00"))
    allowances = sum((item["amount"] for item in adjustments if not item["is_charge"]), Decimal("0.00"))
    charges = sum((item["amount"] for item in adjustments if item["is_charge"]), Decimal("0.00"))
    without_vat = line_sum - allowances + charges
    prepaid = dice.amount(100) if kind in (2, 6) else None
    currency = dice.pick(["EUR", "EUR", "DKK", "SEK", "PLN"])
    taxes = [{"amount": vat, "currency": currency, "breakdown": breakdown}]
    if kind == 7:
        taxes.append({"amount": rounded(vat * Decimal("7.4605")), "currency": "NOK", "breakdown": []})
    seller = SUPPLIERS[dice.roll(18)]
    buyer = dice.pick(BUYERS)
    return {
        "root": "CreditNote" if number % 24 == 16 else "Invoice",
        "specification": "urn:cen.eu:en16931:2017",
        "number": f"R-{2025 + number % 2}-{number:04d}",
        "issued": f"{2025 + number % 2}-{1 + dice.roll(12):02d}-{1 + dice.roll(28):02d}",
        "type_code": "381" if number % 24 == 16 else "380",
        "currency": currency,
        "seller": {"name": seller[1], "vat_id": seller[2], "address": True, "country": seller[3]},
        "buyer": {"name": buyer[0], "vat_id": None, "address": True, "country": buyer[1]},
        "lines": lines,
        "adjustments": adjustments,
        "taxes": taxes,
        "totals": {
            "lines": line_sum,
            "without_vat": without_vat,
            "with_vat": without_vat + vat,
            "allowances": allowances if allowances or kind == 2 else None,
            "charges": charges or None,
            "prepaid": prepaid,
            "due": without_vat + vat - (prepaid or 0),
        },
    }


# Faults. Each changes an invoice that has what it needs, and gives the findings that follow.

TOTALS = "LegalMonetaryTotal/"
SUM_OF_LINES = ["BR-CO-10", TOTALS + "LineExtensionAmount"]
SUM_OF_ALLOWANCES = ["BR-CO-11", TOTALS + "AllowanceTotalAmount"]
WITHOUT_VAT = ["BR-CO-13", TOTALS + "TaxExclusiveAmount"]
WITH_VAT = ["BR-CO-15", TOTALS + "TaxInclusiveAmount"]


def without(*path: str, place: str, rule: str, follow: tuple[Finding, ...] = ()) -> Callable[..., list[Finding]]:
    """A fault that leaves out one value."""

    def fault(invoice: dict[str, Any]) -> list[Finding]:
        holder = invoice
        for step in path[:-1]:
            holder = holder[step]
        holder[path[-1]] = False if path[-1] == "address" else None
        return [[rule, place], *follow]

    return fault


def blank_number(invoice: dict[str, Any]) -> list[Finding]:
    invoice["number"] = " \n "
    return [["BR-02", "ID"]]


def odd_date(invoice: dict[str, Any]) -> list[Finding]:
    invoice["issued"] = "2025-02-30"
    return [["ISSUE-DATE", "IssueDate"]]


def wrong_line(invoice: dict[str, Any]) -> list[Finding]:
    invoice["lines"][0]["net"] += CENT
    return [SUM_OF_LINES]


def wrong_line_sum(invoice: dict[str, Any]) -> list[Finding]:
    invoice["totals"]["lines"] += 10
    return [SUM_OF_LINES, WITHOUT_VAT]


def wrong_allowance(invoice: dict[str, Any]) -> list[Finding]:
    next(item for item in invoice["adjustments"] if not item["is_charge"])["amount"] += CENT
    return [SUM_OF_ALLOWANCES]


def no_allowance_total(invoice: dict[str, Any]) -> list[Finding]:
    invoice["totals"]["allowances"] = None
    return [SUM_OF_ALLOWANCES, WITHOUT_VAT]


def allowance_total_of_nothing(invoice: dict[str, Any]) -> list[Finding]:
    invoice["totals"]["allowances"] = Decimal("3.00")
    return [SUM_OF_ALLOWANCES, WITHOUT_VAT]


def wrong_total(invoice: dict[str, Any]) -> list[Finding]:
    for name in ("without_vat", "with_vat", "due"):
        invoice["totals"][name] += CENT
    return [WITHOUT_VAT]


def wrong_total_with_vat(invoice: dict[str, Any]) -> list[Finding]:
    invoice["totals"]["with_vat"] -= CENT
    return [WITH_VAT]


def two_totals_of_vat(invoice: dict[str, Any]) -> list[Finding]:
    first = invoice["taxes"][0]
    invoice["taxes"].append({"amount": first["amount"] + 15, "currency": first["currency"], "breakdown": []})
    return [WITH_VAT]


def foreign_total_of_vat(invoice: dict[str, Any]) -> list[Finding]:
    invoice["taxes"][0]["currency"] = "USD"
    return [WITH_VAT]


def wrong_tax(invoice: dict[str, Any]) -> list[Finding]:
    part = invoice["taxes"][0]["breakdown"][-1]
    part["tax"] += CENT
    return [["BR-CO-17", f"TaxTotal[1]/TaxSubtotal[{len(invoice['taxes'][0]['breakdown'])}]/TaxAmount"]]


def all_taxes_wrong(invoice: dict[str, Any]) -> list[Finding]:
    parts = invoice["taxes"][0]["breakdown"]
    for part in parts:
        part["tax"] -= 1
    return [["BR-CO-17", f"TaxTotal[1]/TaxSubtotal[{number}]/TaxAmount"] for number in range(1, len(parts) + 1)]


def half_rounded_to_even(invoice: dict[str, Any]) -> list[Finding]:
    """12.50 at 21 per cent is 2.625: half up gives 2.63, half to even 2.62."""
    invoice["taxes"][0]["breakdown"].append({"taxable": Decimal("12.50"), "tax": Decimal("2.62"), "rate": Decimal(21)})
    return [["BR-CO-17", f"TaxTotal[1]/TaxSubtotal[{len(invoice['taxes'][0]['breakdown'])}]/TaxAmount"]]


def tax_without_rate(invoice: dict[str, Any]) -> list[Finding]:
    part = invoice["taxes"][0]["breakdown"][0]
    part.update(rate=None, tax=Decimal("19.00"))
    return [["BR-CO-17", "TaxTotal[1]/TaxSubtotal[1]/TaxAmount"]]


def unknown_supplier(invoice: dict[str, Any]) -> list[Finding]:
    stranger = SUPPLIERS[18 + len(invoice["lines"]) % 2]
    invoice["seller"].update(name=stranger[1], vat_id=stranger[2], country=stranger[3])
    return [["LEDGER-SUPPLIER", "AccountingSupplierParty/Party"]]


def renamed_supplier(invoice: dict[str, Any]) -> list[Finding]:
    invoice["seller"]["name"] += " (Zweigniederlassung)"
    return [["LEDGER-NAME", "AccountingSupplierParty/Party/PartyLegalEntity/RegistrationName"]]


def spaced_vat_id(invoice: dict[str, Any]) -> list[Finding]:
    """No fault: people write VAT identifiers with blanks, and the ledger knows them all the same."""
    invoice["seller"]["vat_id"] = " ".join(invoice["seller"]["vat_id"].lower())
    return []


def supplier_without_vat_id(invoice: dict[str, Any]) -> list[Finding]:
    """No fault either: the name is enough."""
    invoice["seller"]["vat_id"] = None
    return []


SELLER, BUYER = "AccountingSupplierParty/Party/", "AccountingCustomerParty/Party/"
NAME, ADDRESS = "PartyLegalEntity/RegistrationName", "PostalAddress"
COUNTRY = "PostalAddress/Country/IdentificationCode"

NO_BUYER_COUNTRY = without("buyer", "country", place=BUYER + COUNTRY, rule="BR-11")

FAULTS: list[Callable[[dict[str, Any]], list[Finding]]] = [
    without("specification", place="CustomizationID", rule="BR-01"),
    without("number", place="ID", rule="BR-02"),
    blank_number,
    without("issued", place="IssueDate", rule="BR-03"),
    odd_date,
    without("type_code", place="InvoiceTypeCode", rule="BR-04"),
    without("currency", place="DocumentCurrencyCode", rule="BR-05"),
    without("seller", "name", place=SELLER + NAME, rule="BR-06"),
    without("buyer", "name", place=BUYER + NAME, rule="BR-07"),
    without("seller", "address", place=SELLER + ADDRESS, rule="BR-08"),
    without("seller", "country", place=SELLER + COUNTRY, rule="BR-09"),
    without("buyer", "address", place=BUYER + ADDRESS, rule="BR-10"),
    NO_BUYER_COUNTRY,
    without("totals", "lines", place=SUM_OF_LINES[1], rule="BR-12", follow=(SUM_OF_LINES, WITHOUT_VAT)),
    without("totals", "without_vat", place=WITHOUT_VAT[1], rule="BR-13", follow=(WITHOUT_VAT, WITH_VAT)),
    without("totals", "with_vat", place=WITH_VAT[1], rule="BR-14", follow=(WITH_VAT,)),
    without("totals", "due", place=TOTALS + "PayableAmount", rule="BR-15"),
    wrong_line,
    wrong_line_sum,
    wrong_total,
    wrong_total_with_vat,
    two_totals_of_vat,
    foreign_total_of_vat,
    wrong_tax,
    all_taxes_wrong,
    half_rounded_to_even,
    tax_without_rate,
    unknown_supplier,
    renamed_supplier,
    spaced_vat_id,
    supplier_without_vat_id,
]
ALLOWANCE_FAULTS = [wrong_allowance, no_allowance_total]


def put_faults(number: int, invoice: dict[str, Any]) -> list[Finding]:
    """Two of five invoices get a fault; some get two that have nothing to do with each other."""
    if number % 5 not in (1, 3):
        return []
    turn = number // 5 * 2 + (number % 5 == 3)
    if turn % 7 == 6:
        return (ALLOWANCE_FAULTS[turn % 2] if number % 8 in (1, 3, 5) else allowance_total_of_nothing)(invoice)
    found = FAULTS[turn % len(FAULTS)](invoice)
    if turn % 11 == 10 and invoice["buyer"]["country"] and invoice["buyer"]["address"]:
        found += NO_BUYER_COUNTRY(invoice)
    return found


# Writing.


def element(name: str, value: Any, attributes: str = "") -> str:
    return "" if value is None else f"<cbc:{name}{attributes}>{escape(str(value))}</cbc:{name}>"


def money(name: str, value: Decimal | None, currency: str | None) -> str:
    return element(name, value, "" if currency is None else f" currencyID={quoteattr(currency)}")


def party_xml(element_name: str, party: dict[str, Any]) -> str:
    parts = ""
    if party["address"]:
        country = element("IdentificationCode", party["country"])
        parts += "<cac:PostalAddress><cbc:CityName>Großstadt</cbc:CityName>"
        parts += f"<cac:Country>{country}</cac:Country></cac:PostalAddress>"
    if party["vat_id"]:
        scheme = "<cac:TaxScheme><cbc:ID>VAT</cbc:ID></cac:TaxScheme>"
        parts += f"<cac:PartyTaxScheme>{element('CompanyID', party['vat_id'])}{scheme}</cac:PartyTaxScheme>"
    parts += f"<cac:PartyLegalEntity>{element('RegistrationName', party['name'])}</cac:PartyLegalEntity>"
    return f"<cac:{element_name}><cac:Party>{parts}</cac:Party></cac:{element_name}>"


def invoice_xml(invoice: dict[str, Any], encoding: str = "UTF-8") -> str:
    """The document as UBL 2.1, one element of the top level a line."""
    root, currency, totals = invoice["root"], invoice["currency"], invoice["totals"]
    space = "urn:oasis:names:specification:ubl:schema:xsd:"
    parts = [
        f'<?xml version="1.0" encoding="{encoding}"?>',
        f'<{root} xmlns="{space}{root}-2" xmlns:cac="{space}CommonAggregateComponents-2"'
        f' xmlns:cbc="{space}CommonBasicComponents-2">',
        element("CustomizationID", invoice["specification"]),
        element("ID", invoice["number"]),
        element("IssueDate", invoice["issued"]),
        element(f"{root}TypeCode", invoice["type_code"]),
        element("DocumentCurrencyCode", currency),
        party_xml("AccountingSupplierParty", invoice["seller"]),
        party_xml("AccountingCustomerParty", invoice["buyer"]),
    ]
    for item in invoice["adjustments"]:
        indicator = element("ChargeIndicator", "true" if item["is_charge"] else "false")
        amount = money("Amount", item["amount"], currency)
        parts.append(f"<cac:AllowanceCharge>{indicator}{amount}</cac:AllowanceCharge>")
    for tax in invoice["taxes"]:
        inner = money("TaxAmount", tax["amount"], tax["currency"])
        for part in tax["breakdown"]:
            inner += "<cac:TaxSubtotal>" + money("TaxableAmount", part["taxable"], currency)
            inner += money("TaxAmount", part["tax"], currency)
            inner += f"<cac:TaxCategory>{element('Percent', part['rate'])}</cac:TaxCategory></cac:TaxSubtotal>"
        parts.append(f"<cac:TaxTotal>{inner}</cac:TaxTotal>")
    parts.append(
        "<cac:LegalMonetaryTotal>"
        + money("LineExtensionAmount", totals["lines"], currency)
        + money("TaxExclusiveAmount", totals["without_vat"], currency)
        + money("TaxInclusiveAmount", totals["with_vat"], currency)
        + money("AllowanceTotalAmount", totals["allowances"], currency)
        + money("ChargeTotalAmount", totals["charges"], currency)
        + money("PrepaidAmount", totals["prepaid"], currency)
        + money("PayableAmount", totals["due"], currency)
        + "</cac:LegalMonetaryTotal>"
    )
    for position, line in enumerate(invoice["lines"], 1):
        inner = element("ID", position) + money("LineExtensionAmount", line["net"], currency)
        inner += f"<cac:Item>{element('Name', line['name'])}</cac:Item>"
        parts.append(f"<cac:{root}Line>{inner}</cac:{root}Line>")
    parts.append(f"</{root}>")
    return "\n".join(part for part in parts if part) + "\n"


def unreadable() -> dict[str, tuple[bytes, str | None]]:
    """Files with a trap: name → bytes and the code of the refusal, None where the file is sound after all."""
    right = make_invoice(905, Dice(905))
    good = invoice_xml(right)
    head, body = good.split("\n", 1)
    bomb = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
    bombed = body.replace("<cbc:ID>", "<cbc:ID>&e9;", 1)
    latin = make_invoice(901, Dice(901))
    for line in latin["lines"]:
        line["name"] = "Gebühr"
    latin["seller"].update(name=SUPPLIERS[0][1], vat_id=SUPPLIERS[0][2])
    latin["buyer"]["name"] = "Buyercompany ltd"
    wide = make_invoice(902, Dice(902))
    return {
        "x-01-entity-bomb.xml": (
            f'{head}\n<!DOCTYPE Invoice [<!ENTITY e0 "ha">{bomb}]>\n{bombed}'.encode(),
            "DoctypeForbidden",
        ),
        "x-02-external-entity.xml": (
            f'{head}\n<!DOCTYPE Invoice [<!ENTITY file SYSTEM "file:///etc/hostname">]>\n{body}'.encode(),
            "DoctypeForbidden",
        ),
        "x-03-broken-off.xml": (good.encode()[:700], "NotXml"),
        "x-04-empty.xml": (b"", "NotXml"),
        "x-05-binary.xml": (bytes(range(256)), "NotXml"),
        "x-06-unknown-encoding.xml": (good.replace("UTF-8", "x-none", 1).encode(), "NotXml"),
        "x-07-web-page.xml": (b"<html><body>Your invoice is ready</body></html>\n", "NotAnInvoice"),
        "x-08-nested.xml": (b"<a>" * 100 + b"</a>" * 100, "NestedTooDeep"),
        "x-09-decimal-comma.xml": (_retold(right, "due", "12,50"), "AmountInvalid"),
        "x-10-too-many-digits.xml": (_retold(right, "due", "1" * 19 + ".00"), "AmountInvalid"),
        "x-11-wide-rate.xml": (good.replace("<cbc:Percent>", "<cbc:Percent>12345", 1).encode(), "AmountInvalid"),
        "y-01-latin-1.xml": (invoice_xml(latin, "ISO-8859-1").encode("iso-8859-1"), None),
        "y-02-utf-16.xml": (invoice_xml(wide, "UTF-16").encode("utf-16"), None),
        "y-03-größe-ñ-部品.xml": (invoice_xml(make_invoice(904, Dice(904))).encode(), None),
    }


def _retold(invoice: dict[str, Any], name: str, text: str) -> bytes:
    return invoice_xml({**invoice, "totals": {**invoice["totals"], name: text}}).encode()


def make_all() -> tuple[dict[str, bytes], dict[str, dict[str, Any]], list[tuple[str, str, str]]]:
    """All files, what the review must find in each, and the bookings of the ledger."""
    dice = Dice(16_931)
    files: dict[str, bytes] = {}
    expected: dict[str, dict[str, Any]] = {}
    bookings: list[tuple[str, str, str]] = []
    ids = {supplier[1]: supplier[0] for supplier in SUPPLIERS}
    previous: dict[str, Any] | None = None
    for number in range(1, INVOICES + 1):
        invoice = make_invoice(number, dice)
        findings = put_faults(number, invoice)
        name = f"invoice-{number:04d}.xml"
        if number % 40 == 0 and not findings:
            # Booked last week already.
            bookings.append((f"B-{9_000 + number}", ids[invoice["seller"]["name"]], invoice["number"]))
            findings = [["LEDGER-DUPLICATE", "ID"]]
        elif number % 50 == 0 and not findings and previous is not None:
            # Sent a second time in the same batch.
            invoice["number"], invoice["seller"] = previous["number"], dict(previous["seller"])
            findings = [["LEDGER-DUPLICATE", "ID"]]
        if not findings and number % 9 == 0:
            # Other bookings of the same supplier are no duplicates.
            bookings.append((f"B-{number}", ids[invoice["seller"]["name"]], f"OLD-{number}"))
        if not findings:
            previous = invoice
        files[name] = invoice_xml(invoice).encode()
        expected[name] = {"verdict": "Flagged" if findings else "Clean", "findings": sorted(findings)}
    for name, (data, code) in unreadable().items():
        files[name] = data
        verdict = "Unreadable" if code else "Clean"
        expected[name] = {"verdict": verdict, "findings": [[code, ""]] if code else []}
    return files, expected, bookings


def write_ledger(path: str, bookings: list[tuple[str, str, str]]) -> None:
    """The ledger as an SQLite file."""
    if os.path.exists(path):
        os.remove(path)
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE supplier (id TEXT PRIMARY KEY, name TEXT NOT NULL, vat_id TEXT);"
        "CREATE TABLE booking (id TEXT PRIMARY KEY, supplier_id TEXT NOT NULL REFERENCES supplier,"
        " number TEXT NOT NULL);"
        "CREATE INDEX booking_number ON booking (supplier_id, number);"
    )
    known = [supplier[:3] for supplier in SUPPLIERS if supplier[0]]
    connection.executemany("INSERT INTO supplier VALUES (?, ?, ?)", known)
    connection.executemany("INSERT INTO booking VALUES (?, ?, ?)", sorted(bookings))
    connection.commit()
    connection.close()


def main() -> None:
    files, expected, bookings = make_all()
    folder = os.path.join(DATA, "invoices")
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(folder):
        if name not in files:
            os.remove(os.path.join(folder, name))
    for name, data in files.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)
    with open(os.path.join(DATA, "expected.json"), "w", encoding="utf-8", newline="\n") as file:
        lines = [f"{json.dumps(name, ensure_ascii=False)}: {json.dumps(found)}" for name, found in expected.items()]
        file.write("{\n" + ",\n".join(lines) + "\n}\n")
    write_ledger(os.path.join(DATA, "ledger.sqlite"), bookings)
    flagged = sum(found["verdict"] != "Clean" for found in expected.values())
    print(f"{len(files)} documents, {flagged} of them with findings")


if __name__ == "__main__":
    main()
