"""Dates, moments and durations: strict readers and writers, and their ranges.

==========  ===========================================================================================
type        text
==========  ===========================================================================================
Date        ``2026-01-31``; years 0001 to 9999
DateTime    ``2026-01-31T12:00:00.5+02:00``: with seconds, at most 6 digits of a fraction, ``Z`` or an offset of at
            most 14:00. Written with the offset it was read with (``Z`` for none) and without zeros at the end of a
            fraction. A moment whose UTC is outside the years 1 to 9999 is refused.
Duration    ``P1DT2H3M4.5S``, parts in this order, at least one, a leading ``-`` for a negative one; written with
            hours below 24, minutes and seconds below 60 and without empty parts, ``PT0S`` for none. A day is 24
            hours. At most 999,999,999 days either way.
==========  ===========================================================================================
"""

from __future__ import annotations

import datetime

from .numbers import Misspelt

Date = datetime.date
DateTime = datetime.datetime
Duration = datetime.timedelta
UTC = datetime.timezone.utc  # noqa: UP017 (one name fewer to look up)

#: the longest Duration, either way
LONGEST = Duration(days=999_999_999)
NO_TIME = Duration(0)

_DAY = 86_400_000_000  # microseconds
_LONGEST_MICROSECONDS = 999_999_999 * _DAY
_MINUTE = Duration(minutes=1)
#: the most digits of one part of a Duration
_PART_DIGITS = 18


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() else None


def read_date(text: str) -> Date:
    """The Date that a text spells. Raises Misspelt."""
    if len(text) == 10 and text[4] == "-" and text[7] == "-":
        year, month, day = _number(text[:4]), _number(text[5:7]), _number(text[8:])
        if year is not None and month is not None and day is not None:
            try:
                return Date(year, month, day)
            except ValueError:
                raise Misspelt("it is no day of the calendar") from None
    raise Misspelt("it is not spelt like `2026-01-31`")


def read_datetime(text: str) -> DateTime:
    """The DateTime that a text spells, with its offset. Raises Misspelt."""
    spelling = Misspelt("it is not spelt like `2026-01-31T12:00:00Z`")
    # 2026-01-31T12:00:00 is 19 characters, the longest fraction 7, an offset 6
    if not 20 <= len(text) <= 32 or text[10] != "T" or text[13] != ":" or text[16] != ":":
        raise spelling
    date = read_date(text[:10])
    hour, minute, second = _number(text[11:13]), _number(text[14:16]), _number(text[17:19])
    if hour is None or minute is None or second is None:
        raise spelling
    rest, zone = (text[19:-1], UTC) if text[-1] == "Z" else (text[19:-6], _read_offset(text[-6:]))
    microsecond = 0
    if rest:
        digits = rest[1:]
        fraction = _number(digits)
        if rest[0] != "." or fraction is None or len(digits) > 6:
            raise spelling
        microsecond = fraction * 10 ** (6 - len(digits))
    if hour > 23 or minute > 59 or second > 59:
        raise Misspelt("it is no time of a day")
    value = DateTime(date.year, date.month, date.day, hour, minute, second, microsecond, zone)
    if not within_utc(value):
        raise Misspelt("its UTC is outside the years 1 to 9999")
    return value


def _read_offset(text: str) -> datetime.timezone:
    hours, minutes = _number(text[1:3]), _number(text[4:])
    if text[0] not in "+-" or text[3] != ":" or hours is None or minutes is None:
        raise Misspelt("it does not end with `Z` or an offset like `+02:00`")
    total = hours * 60 + minutes
    if minutes > 59 or total > 840:
        raise Misspelt("its offset is more than 14:00")
    if not total:
        return UTC
    return datetime.timezone(Duration(minutes=-total if text[0] == "-" else total))


def within_utc(value: DateTime) -> bool:
    """Whether a moment has a UTC form: no offset carries it out of the years 1 to 9999."""
    try:
        value.astimezone(UTC)
    except OverflowError:
        return False
    return True


def read_duration(text: str) -> Duration:
    """The Duration that a text spells. Raises Misspelt.

    >>> read_duration("PT90M")
    datetime.timedelta(seconds=5400)
    """
    spelling = Misspelt("it is not spelt like `P1DT2H30M`")
    negative = text.startswith("-")
    body = text[1:] if negative else text
    if len(body) > 100 or not body.isascii() or not body.startswith("P"):
        raise spelling
    days, mark, clock = body[1:].partition("T")
    if not (days or mark) or (mark and not clock):
        raise spelling
    total = 0
    if days:
        total = _part(days[:-1]) * _DAY if days[-1] == "D" else _part("")
    for letter, unit in (("H", 3_600_000_000), ("M", 60_000_000)):
        count, found, rest = clock.partition(letter)
        if found:
            total += _part(count) * unit
            clock = rest
    if clock:
        if clock[-1] != "S":
            raise spelling
        whole, point, fraction = clock[:-1].partition(".")
        total += _part(whole) * 1_000_000
        if point:
            if len(fraction) > 6:
                raise Misspelt("its seconds have more than 6 places")
            total += _part(fraction) * 10 ** (6 - len(fraction))
    if total > _LONGEST_MICROSECONDS:
        raise Misspelt("it is longer than 999999999 days")
    return Duration(microseconds=-total if negative else total)


def _part(digits: str) -> int:
    if not digits.isdigit() or len(digits) > _PART_DIGITS:
        raise Misspelt("it is not spelt like `P1DT2H30M`")
    return int(digits)


def date_text(value: Date) -> str:
    """``2026-01-31``"""
    return f"{value.year:04}-{value.month:02}-{value.day:02}"


def datetime_text(value: DateTime) -> str:
    """The moment in RFC 3339 with its own offset."""
    offset = value.utcoffset() or NO_TIME
    minutes = offset // _MINUTE
    zone = f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}" if minutes else "Z"
    fraction = f".{value.microsecond:06}".rstrip("0") if value.microsecond else ""
    return (
        f"{value.year:04}-{value.month:02}-{value.day:02}"
        f"T{value.hour:02}:{value.minute:02}:{value.second:02}{fraction}{zone}"
    )


def microseconds(value: Duration) -> int:
    """A Duration as a whole number of microseconds."""
    return value.days * _DAY + value.seconds * 1_000_000 + value.microseconds


def duration_text(value: Duration) -> str:
    """The Duration in ISO 8601.

    >>> duration_text(read_duration("-PT36H"))
    '-P1DT12H'
    """
    total = microseconds(value)
    if not total:
        return "PT0S"
    days, rest = divmod(abs(total), _DAY)
    hours, rest = divmod(rest, 3_600_000_000)
    minutes, rest = divmod(rest, 60_000_000)
    seconds, fraction = divmod(rest, 1_000_000)
    clock = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
    if seconds or fraction:
        clock += str(seconds) + (f".{fraction:06}".rstrip("0") if fraction else "") + "S"
    return ("-" if total < 0 else "") + "P" + (f"{days}D" if days else "") + (f"T{clock}" if clock else "")
