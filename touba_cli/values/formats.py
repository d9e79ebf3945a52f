"""The constraint `format`: what the text of each format may be, exactly. `docs/language.md` has the same rules.

All of them are about the whole value, and of ASCII alone. They say how a text is written, never whether what it names
exists.
"""

from __future__ import annotations

from .numbers import Misspelt
from .times import read_date, read_datetime

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_DIGITS = frozenset("0123456789")
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_ALPHANUMERIC = _LETTERS | _DIGITS
_HEX = _DIGITS | frozenset("abcdefABCDEF")
_HOST = _ALPHANUMERIC | {"-"}
_MAILBOX = _ALPHANUMERIC | frozenset("!#$%&'*+/=?^_`{|}~-")
_SCHEME = _ALPHANUMERIC | frozenset("+-.")
_UNRESERVED = _ALPHANUMERIC | frozenset("-._~")
_SUB_DELIMITERS = frozenset("!$&'()*+,;=")
_USER = _UNRESERVED | _SUB_DELIMITERS | {":", "%"}
_NAME = _UNRESERVED | _SUB_DELIMITERS | {"%"}
_PATH = _USER | {"@", "/"}
_QUERY = _PATH | {"?"}

#: the longest host name and the longest address, as mail and names of hosts have them
HOST_CHARACTERS = 253
EMAIL_CHARACTERS = 254


def is_hostname(text: str) -> bool:
    """Labels of 1 to 63 letters, digits and inner hyphens, with dots between them; 253 characters in all."""
    if not 1 <= len(text) <= HOST_CHARACTERS:
        return False
    return all(_is_label(label) for label in text.split("."))


def _is_label(label: str) -> bool:
    return 1 <= len(label) <= 63 and _HOST.issuperset(label) and label[0] != "-" and label[-1] != "-"


def is_email(text: str) -> bool:
    """`name@host`: a name of 1 to 64 characters with single dots inside, a host name with a dot; 254 in all."""
    name, at, host = text.rpartition("@")
    if not at or len(text) > EMAIL_CHARACTERS or not 1 <= len(name) <= 64:
        return False
    return all(part and _MAILBOX.issuperset(part) for part in name.split(".")) and "." in host and is_hostname(host)


def is_ipv4(text: str) -> bool:
    """Four numbers from 0 to 255 without leading zeros."""
    if len(text) > 15:
        return False
    parts = text.split(".")
    return len(parts) == 4 and all(map(_is_byte, parts))


def _is_byte(text: str) -> bool:
    if not 1 <= len(text) <= 3 or not _DIGITS.issuperset(text) or (text[0] == "0" and len(text) > 1):
        return False
    return int(text) <= 255


def is_ipv6(text: str) -> bool:
    """Eight groups of 1 to 4 hex digits, one run of them left out as `::`, the last two perhaps as IPv4; no zone."""
    if not 2 <= len(text) <= 45:
        return False
    left, gap, right = text.partition("::")
    if gap and "::" in right:
        return False
    groups = 0
    for side, is_last in ((left, not gap), (right, True)):
        parts = side.split(":") if side else []
        for position, part in enumerate(parts):
            if "." in part:
                if not is_last or position != len(parts) - 1 or not is_ipv4(part):
                    return False
                groups += 2
            elif 1 <= len(part) <= 4 and _HEX.issuperset(part):
                groups += 1
            else:
                return False
    return groups <= 7 if gap else groups == 8


def is_uuid(text: str) -> bool:
    """32 hex digits, in groups of 8, 4, 4, 4 and 12 with hyphens between them."""
    return [len(part) for part in text.split("-")] == [8, 4, 4, 4, 12] and _HEX.issuperset(text.replace("-", ""))


def is_date(text: str) -> bool:
    """A day as a Date is written: `2026-01-31`."""
    try:
        read_date(text)
    except Misspelt:
        return False
    return True


def is_datetime(text: str) -> bool:
    """A moment as a DateTime is written: `2026-01-31T12:00:00Z`."""
    try:
        read_datetime(text)
    except Misspelt:
        return False
    return True


def is_uri(text: str) -> bool:
    """A URI with a scheme (RFC 3986): no relative reference, no address of a future version, no spaces."""
    scheme, colon, rest = text.partition(":")
    if not colon or not scheme or scheme[0] not in _LETTERS or not _SCHEME.issuperset(scheme):
        return False
    if not _are_escapes_whole(rest):
        return False
    rest, _, fragment = rest.partition("#")
    rest, _, query = rest.partition("?")
    if not _QUERY.issuperset(fragment) or not _QUERY.issuperset(query):
        return False
    if not rest.startswith("//"):
        return _PATH.issuperset(rest)
    authority, _, path = rest[2:].partition("/")
    return _PATH.issuperset(path) and _is_authority(authority)


def _are_escapes_whole(text: str) -> bool:
    """Whether two hex digits follow every `%`."""
    return all(len(each) >= 2 and _HEX.issuperset(each[:2]) for each in text.split("%")[1:])


def _is_authority(text: str) -> bool:
    user, at, place = text.rpartition("@")
    if at and not _USER.issuperset(user):
        return False
    if place.startswith("["):
        host, closed, port = place[1:].partition("]")
        if not closed or not is_ipv6(host) or (port and port[0] != ":"):
            return False
        return _DIGITS.issuperset(port[1:])
    host, _, port = place.partition(":")
    return _NAME.issuperset(host) and _DIGITS.issuperset(port)


#: name → whether a text is written so
FORMATS: dict[str, Callable[[str], bool]] = {
    "email": is_email,
    "uri": is_uri,
    "uuid": is_uuid,
    "date": is_date,
    "date-time": is_datetime,
    "hostname": is_hostname,
    "ipv4": is_ipv4,
    "ipv6": is_ipv6,
}

#: name → what a text that is written so is called
DESCRIBED: dict[str, str] = {
    "email": "an e-mail address",
    "uri": "a URI with its scheme",
    "uuid": "a UUID",
    "date": "a date like 2026-01-31",
    "date-time": "a date with time and offset like 2026-01-31T09:30:00Z",
    "hostname": "a host name",
    "ipv4": "an IPv4 address",
    "ipv6": "an IPv6 address",
}
