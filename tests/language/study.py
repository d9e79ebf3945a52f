"""The six sample programs of the language study, whole, with what they declare and the modules that they import."""

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
    effect write key invoice.id
    timeout 30 seconds

strategy Review
    takes invoice as Invoice, limit as Decimal
    gives Decision
    do
        require invoice.amount > 0 else "Invoice {invoice.id} has no amount"
        if invoice.note is present
            show "Note from the supplier: {invoice.note}"
        if invoice.amount > limit
            human.approve "Pay {invoice.amount} for {invoice.id}?" named payment expires after 3 days
        let receipt = call PayInvoice(invoice)
        give Paid(receipt: receipt)
""",
        ["Invoice", "Decision", "Receipt", "PayInvoice", "Review"],
    ),
    "answers": (
        '''module support.answers
from support.types import Answer, Order

tool FindOrder
    takes order_id as Text matching "[A-Z]{2}[0-9]{6}"
    gives Optional Order
    requires network
    effect read
    timeout 5 seconds

function Summary
    takes order as Order
    gives Text
    do
        give "{order.id}: {order.status}, {length(order.lines)} lines"

agent Helper
    takes question as Text length max 2_000
    gives Answer
    responsibility """
        Answer the customer's question about one order.
        Complete when the order is found and the answer cites its status.
        Say that the information is insufficient when no order matches.
        """
    uses tool FindOrder, function Summary
    callable_by strategy Reply
    allows human review
    steps 6
    provider_calls 10

strategy Reply
    takes question as Text
    gives Answer
    do
        let draft = call Helper(question)
        let checked = human.review draft "Check the reply before it leaves"
        give checked
''',
        ["FindOrder", "Summary", "Helper", "Reply"],
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
        let reports = parallel for each incident in incidents at most 8 at once
            give call Diagnose(incident)
        let worst = first(sorted(reports by .severity descending))
        if worst is absent
            stop "Nothing to triage"
        parallel as checks
            branch stock
                give call CheckStock(worst.incident)
            branch credit
                give call CheckCredit(worst.incident)
        if checks.stock.available and not checks.credit.blocked
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

trigger Morning
    on schedule "0 7 * * 1-5" timezone "Europe/Paris"
    starts strategy Collect
    payload
        topic is "agent languages"
        sources from body.sources
    quota 1 per day

trigger OnRequest
    on webhook "/research"
    starts strategy Collect
    payload
        topic from body.topic
        sources from body.sources
    quota 60 per hour
""",
        ["Fetch", "Collect", "Morning", "OnRequest"],
    ),
    "preferences": (
        """module care.preferences

type Preference
    customer as Text length 1 to 64
    channel as Channel
    updated as Date

choice Channel is Email, Phone, Letter

memory Preferences
    holds Preference
    key customer
    scope project

tool ReadPreference
    takes customer as Text
    gives Optional Preference
    reads memory Preferences
    effect read

tool SavePreference
    takes preference as Preference
    gives Nothing
    writes memory Preferences
    effect write key preference.customer

strategy Prefer
    takes customer as Text, today as Date
    gives Channel
    do
        let known = call ReadPreference(customer)
        if known is present and known.updated + 365 days >= today
            give known.channel
        let channel = ask "How should we reach {customer}?" as Channel named channel
        call SavePreference(Preference(customer: customer, channel: channel, updated: today))
        give channel
""",
        ["Preference", "Channel", "Preferences", "ReadPreference", "SavePreference", "Prefer"],
    ),
    "booking": (
        """module travel.booking
from travel.types import Trip, Seat, Room, Booking

tool HoldSeat
    takes trip as Trip
    gives Seat
    effect write key trip.id
    compensate with ReleaseSeat

tool ReleaseSeat
    takes seat as Seat
    gives Nothing
    effect write key seat.id

tool HoldRoom
    takes trip as Trip
    gives Room
    effect write key trip.id
    compensate with ReleaseRoom

tool ReleaseRoom
    takes room as Room
    gives Nothing
    effect write key room.id

strategy Book
    takes trip as Trip
    gives Booking
    do
        attempt
            let seat = call HoldSeat(trip)
            let room = call HoldRoom(trip)
            human.approve "Confirm {trip.id}: {seat.price + room.price}?" named confirm
            give Booking(seat: seat, room: room)
        on failure as problem
            compensate
            if problem.code in ["HumanRejected", "HumanExpired"]
                stop "The traveller did not confirm"
            fail "Booking failed: {problem.message}"
""",
        ["HoldSeat", "ReleaseSeat", "HoldRoom", "ReleaseRoom", "Book"],
    ),
}

#: path → what the programs import
MODULES: dict[str, str] = {
    "support/types.tb": """module support.types
type Answer
    text as Text
type Order
    id as Text
    status as Text
    lines as List of Text
""",
    "ops/types.tb": """module ops.types
type Incident
    id as Text
type Report
    incident as Incident
    severity as Int
type Stock
    available as Bool
type Credit
    blocked as Bool
type Verdict
    incident as Incident
    action as Text
    reports as Int
""",
    "research/types.tb": """module research.types
type Digest
    topic as Text
    text as Text
type Source
    name as Text
    url as Text
""",
    "travel/types.tb": """module travel.types
type Trip
    id as Text
type Seat
    id as Text
    price as Decimal
type Room
    id as Text
    price as Decimal
type Booking
    seat as Seat
    room as Room
""",
}

#: name → what the compiled program requires
REQUIRES: dict[str, list[str]] = {
    "invoice review": ["approve", "keys", "tools"],
    "answers": ["agents", "review", "tools"],
    "triage": ["parallel", "tools"],
    "daily": ["attempt", "tools", "triggers"],
    "preferences": ["ask", "keys", "memory", "tools"],
    "booking": ["approve", "attempt", "compensate", "keys", "tools"],
}
