"""The sample programs of the language study, as far as this version of the language goes, with what they declare."""

from __future__ import annotations

PROGRAMS: dict[str, tuple[str, list[str]]] = {
    "invoice review": (
        """module billing.review

## One bill from a supplier.
type Invoice
    id as Text length 1 to 40
    amount as Decimal min 0
    due as Date
    note as Optional Text

choice Decision
    Paid with receipt as Receipt
    Held with reason as Text

type Receipt
    id as Text

tool PayInvoice
    takes invoice as Invoice
    gives Receipt
    requires network
    secret bank_token
    effect write
    timeout 30 seconds

strategy Review
    takes invoice as Invoice, limit as Decimal
    gives Decision
    do
        require invoice.amount > 0 else "Invoice {invoice.id} has no amount"
        if invoice.note is present
            show "Note from the supplier: {invoice.note}"
        let receipt = call PayInvoice(invoice)
        give Paid(receipt: receipt)
""",
        ["Invoice", "Decision", "Receipt", "PayInvoice", "Review"],
    ),
    "answers": (
        '''module support.answers
from support.types import Answer, Order

tool FindOrder
    takes order_id as Text length 8
    gives Optional Order
    requires network
    effect read
    timeout 5 seconds

function Summary
    takes order as Order
    gives Text
    do
        give "{order.id}: {order.status}, {length(order.lines)} lines"

function Instructions
    gives Text
    do
        give """
            Answer the customer's question about one order.
            Complete when the order is found and the answer cites its status.
            Say that the information is insufficient when no order matches.
            """
''',
        ["FindOrder", "Summary", "Instructions"],
    ),
    "triage": (
        """module ops.triage
from ops.types import Incident, Report, Credit, Stock, Verdict

tool Diagnose
    takes incident as Incident
    gives Report
    effect read

tool CheckStock
    takes incident as Incident
    gives Stock
    effect read

tool CheckCredit
    takes incident as Incident
    gives Credit
    effect read

strategy Triage
    takes incidents as List of Incident length 1 to 200
    gives Verdict
    do
        var reports as List of Report = []
        for each incident in incidents
            let report = call Diagnose(incident)
            set reports = reports + [report]
        let worst = first(sorted(reports by .severity descending))
        if worst is absent
            stop "Nothing to triage"
        let stock = call CheckStock(worst.incident)
        let credit = call CheckCredit(worst.incident)
        if stock.available and not credit.blocked
            give Verdict(incident: worst.incident, action: "replace", reports: length(reports))
        else
            give Verdict(incident: worst.incident, action: "escalate", reports: length(reports))
""",
        ["Diagnose", "CheckStock", "CheckCredit", "Triage"],
    ),
    "daily": (
        """module research.daily
from research.types import Digest, Source

tool Fetch
    takes source as Source
    gives Text length max 100_000
    requires network
    effect read
    timeout 1 minute

strategy Collect
    takes topic as Text length 1 to 80, sources as List of Source length max 50
    gives Digest
    do
        var pages = [""]
        for each source in sources
            attempt
                let page = call Fetch(source)
                set pages = pages + [page]
            on failure as problem
                show "Skipped {source.name}: {problem.code}"
        give Digest(topic: topic, text: join(pages, "\\n"))
""",
        ["Fetch", "Collect"],
    ),
    "preferences": (
        """module care.preferences

type Preference
    customer as Text length 1 to 64
    channel as Channel
    updated as Date

choice Channel is Email, Phone, Letter

tool ReadPreference
    takes customer as Text
    gives Optional Preference
    effect read

tool SavePreference
    takes preference as Preference
    gives Nothing
    effect write

strategy Prefer
    takes customer as Text, today as Date
    gives Channel
    do
        let known = call ReadPreference(customer)
        if known is present and known.updated + 365 days >= today
            give known.channel
        let channel = Letter
        call SavePreference(Preference(customer: customer, channel: channel, updated: today))
        give channel
""",
        ["Preference", "Channel", "ReadPreference", "SavePreference", "Prefer"],
    ),
    "booking": (
        """module travel.booking
from travel.types import Trip, Seat, Room, Booking

tool HoldSeat
    takes trip as Trip
    gives Seat
    effect write

tool ReleaseSeat
    takes seat as Seat
    gives Nothing
    effect write

tool HoldRoom
    takes trip as Trip
    gives Room
    effect write

strategy Book
    takes trip as Trip
    gives Booking
    do
        let seat = call HoldSeat(trip)
        attempt
            let room = call HoldRoom(trip)
            give Booking(seat: seat, room: room)
        on failure as problem
            call ReleaseSeat(seat)
            fail "No booking: {problem.message}"
""",
        ["HoldSeat", "ReleaseSeat", "HoldRoom", "Book"],
    ),
}
