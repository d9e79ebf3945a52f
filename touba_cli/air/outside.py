"""How triggers say when they start: cron lines, names of time zones, webhook paths, names of events.

The compiler refuses what is written otherwise, and the verifier refuses it in foreign documents.
"""

from __future__ import annotations

#: the fields of a cron line, with what each may hold; 0 and 7 are Sunday
CRON_FIELDS: tuple[tuple[str, int, int], ...] = (
    ("minute", 0, 59), ("hour", 0, 23), ("day of the month", 1, 31), ("month", 1, 12), ("day of the week", 0, 7),
)  # fmt: skip

_DIGITS = frozenset("0123456789")
_SMALL = frozenset("abcdefghijklmnopqrstuvwxyz")
_LETTERS = _SMALL | frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_ZONE = _LETTERS | _DIGITS | frozenset("_+-")
_PATH = _LETTERS | _DIGITS | frozenset("-_.~")
_EVENT = _LETTERS | _DIGITS | frozenset("-_.:/")


def fault_of_cron(text: str) -> str | None:
    """What is wrong with a cron line of five fields; None where nothing is.

    A field is ``*``, a number, a range ``1-5``, any of these with a step ``*/15``, or several behind commas.

    >>> fault_of_cron("0 7 * * 1-5")
    >>> fault_of_cron("0 24 * * *")
    'the hour goes from 0 to 23'
    """
    fields = text.split(" ")
    if len(fields) != len(CRON_FIELDS) or "" in fields:
        return f"a cron line has {len(CRON_FIELDS)} fields with one blank between them"
    for written, (name, low, high) in zip(fields, CRON_FIELDS, strict=True):
        for part in written.split(","):
            wrong = _fault_of_part(part, name, low, high)
            if wrong is not None:
                return wrong
    return None


def _fault_of_part(part: str, name: str, low: int, high: int) -> str | None:
    span, slash, step = part.partition("/")
    if slash and (_number(step) is None or not 1 <= int(step) <= high):
        return f"a step of the {name} is a number from 1 to {high}"
    if span == "*":
        return None
    first, dash, last = span.partition("-")
    for number in (first, last) if dash else (first,):
        value = _number(number)
        if value is None:
            return f"the {name} is written with numbers, `*`, `-`, `/` and `,`"
        if not low <= value <= high:
            return f"the {name} goes from {low} to {high}"
    if dash and int(first) > int(last):
        return f"a range of the {name} goes up"
    if slash and not dash:
        return f"a step of the {name} stands behind `*` or a range"
    return None


def _number(text: str) -> int | None:
    return int(text) if 0 < len(text) <= 2 and _DIGITS.issuperset(text) else None


def fault_of_zone(text: str) -> str | None:
    """What is wrong with the name of a time zone such as ``Europe/Paris``; whether it exists is not looked at."""
    parts = text.split("/")
    if len(text) > 64 or not all(part and part[0] in _LETTERS and _ZONE.issuperset(part) for part in parts):
        return "a time zone is named like `Europe/Paris` or `UTC`"
    return None


def fault_of_path(text: str) -> str | None:
    """What is wrong with the path of a webhook.

    >>> fault_of_path("/orders/new")
    """
    if not text.startswith("/") or len(text) > 200:
        return "a path begins with `/` and has at most 200 characters"
    parts = text[1:].split("/")
    if not all(part and _PATH.issuperset(part) and part not in (".", "..") for part in parts):
        return "a path is made of letters, digits and `-_.~`, with one `/` between its parts"
    return None


def fault_of_event(text: str) -> str | None:
    """What is wrong with the name of an event such as ``order.paid``."""
    if not 0 < len(text) <= 200 or text[0] not in _LETTERS or not _EVENT.issuperset(text):
        return "an event is named with letters, digits and `-_.:/`, beginning with a letter"
    return None


#: source of events → what finds the fault of the text behind it
FAULTS = {"schedule": fault_of_cron, "webhook": fault_of_path, "event": fault_of_event}
