"""Numbers, durations and dates: the tokens of a line → tree."""

from __future__ import annotations

import re
from datetime import date

from . import tree
from .cursor import Cursor, Stop, unit_of
from .diagnostics import Problems
from .hints import OUTSIDE_FUNCTIONS
from .layout import Line
from .source import Source
from .tokens import Token
from .tree import Expr, Span
from .words import UNITS

LARGEST_INT = 2**63 - 1
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME = re.compile(r"T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]{1,6})?(?:Z|[+-]([0-9]{2}):([0-9]{2}))")


class LiteralReader(Cursor):
    """Reads literals without expressions in them at the cursor."""

    __slots__ = ("_negative_at",)

    def __init__(self, source: Source, problems: Problems, line: Line):
        super().__init__(source, problems, line)
        #: where a number stands directly behind a minus sign: the smallest Int can only be written so
        self._negative_at = -1

    def number(self) -> Expr:
        """A number, or a duration."""
        token = self.advance()
        unit = self.token if self.token.kind == "word" and self.token.text in UNITS else None
        span = Span(token.start, token.end)
        assert isinstance(token.value, str)
        if token.kind != "int":
            if unit is not None:
                self.report("TB1011", "a duration has a whole number", token, "write it in a smaller unit")
                self.advance()
                return tree.Unknown(Span(token.start, unit.end))
            return tree.Literal(span, token.kind, token.value)
        amount = self._int(token)
        if unit is not None:
            self.advance()
            span = Span(token.start, unit.end)
            return tree.Unknown(span) if amount is None else tree.Literal(span, "duration", (amount, UNITS[unit.text]))
        return tree.Unknown(span) if amount is None else tree.Literal(span, "int", amount)

    def _int(self, token: Token) -> int | None:
        """The value of a whole number; its length is looked at first, since Python refuses to read very long ones."""
        assert isinstance(token.value, str)
        largest = LARGEST_INT + 1 if self.at - 1 == self._negative_at else LARGEST_INT
        if len(token.value) <= len(str(LARGEST_INT)) and (value := int(token.value)) <= largest:
            return value
        shown = token.text if len(token.text) <= 40 else f"a number of {len(token.value)} digits"
        self.report(
            "TB4010", f"{f'`{shown}`' if shown == token.text else shown} does not fit into Int", token,
            "an Int goes up to 9223372036854775807; for a Decimal write `.0` behind it",
        )  # fmt: skip
        return None

    def small_int(self, what: str) -> int:
        """A whole number in a fixed place."""
        if self.token.kind != "int":
            self.fail(what)
        value = self._int(self.advance())
        if value is None:
            raise Stop
        return value

    def whole_number(self, label: str) -> tree.Literal:
        """A whole number in a fixed place, with its place."""
        if self.token.kind != "int":
            self.fail("a whole number", label)
        token = self.token
        value = self.small_int("a whole number")
        return tree.Literal(Span(token.start, token.end), "int", value)

    def duration(self, label: str) -> tree.Literal:
        """`30 seconds` in a fixed place."""
        token = self.token
        if token.kind != "int":
            self.fail("a duration", label)
        following = self.peek()
        if following.kind != "word" or following.text not in UNITS:
            units = f"units are {', '.join(sorted(set(UNITS.values())))}"
            meant = unit_of(following.text) if following.kind == "word" else None
            if meant is not None:
                title = f"`{following.text}` is not a unit of time"
                self.stop("TB1011", title, following, f"write it in `{meant}`", help=units)
            self.stop("TB1011", "a duration has a unit", token, f"write `{token.text[:20]} seconds`", help=units)
        value = self.number()
        if not isinstance(value, tree.Literal):
            raise Stop
        return value

    def date(self) -> Expr:
        """`date "…"` or `datetime "…"`."""
        word = self.advance()
        token = self.token
        example = '"2026-01-31"' if word.text == "date" else '"2026-01-31T09:30:00Z"'
        if token.kind != "text":
            label = OUTSIDE_FUNCTIONS.get(self.peek().text) if token.kind == "." else None
            self.fail(f"a text behind `{word.text}`", label or f"write `{word.text} {example}`")
        self.advance()
        assert isinstance(token.value, list)
        written = token.value[0] if len(token.value) == 1 and isinstance(token.value[0], str) else ""
        span = Span(word.start, token.end)
        if not (_is_date(written) if word.text == "date" else _is_datetime(written)):
            self.report(
                "TB1011", f"this is not a {'date' if word.text == 'date' else 'date with time and offset'}", token,
                f"write it like `{example}`",
            )  # fmt: skip
            return tree.Unknown(span)
        return tree.Literal(span, word.text, written)


def _is_date(text: str) -> bool:
    match = _DATE.fullmatch(text)
    if match is None:
        return False
    year, month, day = int(match[1]), int(match[2]), int(match[3])
    if not (year >= 1 and 1 <= month <= 12 and day >= 1):
        return False
    last = (
        (date(year + month // 12, month % 12 + 1, 1) - date(year, month, 1)).days if (year, month) < (9999, 12) else 31
    )
    return day <= last


def _is_datetime(text: str) -> bool:
    match = _TIME.fullmatch(text, 10)
    if match is None or not _is_date(text[:10]):
        return False
    offset = int(match[4] or 0), int(match[5] or 0)
    return int(match[1]) < 24 and int(match[2]) < 60 and int(match[3]) < 60 and offset[0] < 24 and offset[1] < 60
