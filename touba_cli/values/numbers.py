"""The number rules: how Int, Decimal and Float are read, kept canonical and written.

Decimals are computed in one context: 34 digits, half to even, exponents from -6143 to 6144. Every Decimal in memory is
*settled*: never negative zero, and with a positive exponent only where its 34 digits are all used. So what a Decimal
prints as decides what it is in memory, and reading back what was written gives the same digits and scale.

Three spellings are read, each by a strict scanner that looks at the length first and hands no doubtful text to Python:

* Decimal: an optional ``-``, digits without leading zeros, optionally a point and digits. At most 34 significant
  digits (the zeros at the end of a whole number do not count) and 6,179 characters, the longest that one is written.
* a JSON number for a Decimal: the same, or with an exponent from -34 to 34.
* Float (the literals of AIR): a JSON number.
"""

from __future__ import annotations

import decimal

from ..codec import INT_HIGH, INT_LOW

Decimal = decimal.Decimal

#: significant digits of a Decimal
DIGITS = 34
#: the longest text of a Decimal: `-0.` and 6,176 digits
DECIMAL_CHARACTERS = 6_179
#: the most places behind the point
PLACES = 6_176
#: the largest exponent, up or down, that a JSON number for a Decimal may have
JSON_EXPONENT = 34
#: the longest text of a Float: no shortest spelling is longer than 24 characters
FLOAT_CHARACTERS = 400

CONTEXT = decimal.Context(
    prec=DIGITS,
    rounding=decimal.ROUND_HALF_EVEN,
    Emin=-6143,
    Emax=6144,
    capitals=1,
    clamp=0,
    traps=[decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow],
)

ZERO = Decimal(0)
_INFINITY = float("inf")


class Misspelt(ValueError):
    """A text that does not spell a value of its type. ``message`` says why, without the text."""

    def __init__(self, message: str):
        super().__init__(message)
        self.message = message


def settle(value: Decimal) -> Decimal:
    """The one form in which a Decimal is kept: no negative zero, no exponent above 0 while digits are free.

    Raises decimal.Overflow where it is out of range.

    >>> settle(Decimal("1E+3")), settle(Decimal("-0.00"))
    (Decimal('1000'), Decimal('0.00'))
    """
    return CONTEXT.add(value, ZERO)


def _digits(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _whole(text: str) -> bool:
    return _digits(text) and (text[0] != "0" or len(text) == 1)


def read_int(text: str) -> int:
    """The Int that a text spells: an optional ``-`` and digits without leading zeros, within 64 bits.

    Raises Misspelt.
    """
    body = text[1:] if text.startswith("-") else text
    if len(body) > 19:
        raise Misspelt("it is no whole number within 64 bits")
    if not _whole(body):
        raise Misspelt("it does not spell a whole number")
    value = int(text)
    if not INT_LOW <= value <= INT_HIGH:
        raise Misspelt("it is no whole number within 64 bits")
    return value


def read_decimal(text: str) -> Decimal:
    """The Decimal that a text spells in plain notation; its scale is kept. Raises Misspelt.

    >>> read_decimal("12.50")
    Decimal('12.50')
    """
    if len(text) > DECIMAL_CHARACTERS:
        raise Misspelt(f"it has more than {DECIMAL_CHARACTERS} characters")
    body = text[1:] if text.startswith("-") else text
    whole, point, fraction = body.partition(".")
    if not _whole(whole) or (point and not _digits(fraction)):
        raise Misspelt("it is not in plain notation, like `12.50`")
    if len(whole) + len(fraction) > DIGITS:
        significant = (whole + fraction).lstrip("0") if point else whole.rstrip("0")
        if len(significant) > DIGITS:
            raise Misspelt(f"it has more than {DIGITS} significant digits")
        if len(fraction) > PLACES:
            raise Misspelt(f"it has more than {PLACES} places")
    try:
        return CONTEXT.add(Decimal(text), ZERO)
    except decimal.Overflow:
        raise Misspelt("it is out of the range of Decimal") from None


def read_json_decimal(text: str) -> Decimal:
    """The Decimal that a JSON number means exactly: plain, or with an exponent from -34 to 34. Raises Misspelt.

    >>> read_json_decimal("1.5e3")
    Decimal('1500')
    """
    mantissa, mark, exponent = text.replace("E", "e", 1).partition("e")
    if not mark:
        return read_decimal(text)
    if len(exponent.lstrip("+-")) > 2 or abs(int(exponent)) > JSON_EXPONENT:
        raise Misspelt(f"its exponent is not from -{JSON_EXPONENT} to {JSON_EXPONENT}")
    value = read_decimal(mantissa).scaleb(int(exponent), CONTEXT)
    return CONTEXT.add(value, ZERO)


def read_float(text: str) -> float:
    """The Float that a JSON number means: the nearest one. Raises Misspelt where it is none or out of range.

    >>> read_float("1e-3")
    0.001
    """
    if len(text) > FLOAT_CHARACTERS:
        raise Misspelt(f"it has more than {FLOAT_CHARACTERS} characters")
    body = text[1:] if text.startswith("-") else text
    mantissa, mark, exponent = body.replace("E", "e", 1).partition("e")
    whole, point, fraction = mantissa.partition(".")
    power = exponent[1:] if exponent[:1] in ("+", "-") else exponent
    if not _whole(whole) or (point and not _digits(fraction)) or (mark and not _digits(power)):
        raise Misspelt("it does not spell a number, like `0.001` or `1e-3`")
    value = float(text)
    if value in (_INFINITY, -_INFINITY):
        raise Misspelt("it is out of the range of Float")
    return value + 0.0


def decimal_text(value: Decimal) -> str:
    """A Decimal in plain notation, with its scale.

    >>> decimal_text(Decimal("1E-7")), decimal_text(Decimal("12.50"))
    ('0.0000001', '12.50')
    """
    return format(value, "f")


def float_text(value: float) -> str:
    """The shortest text that reads back as the same Float.

    From 1e-4 to below 1e16 with a point (`0.001`, `12.0`), else with an exponent without ``+`` and leading zeros
    (`1e16`, `1.5e-7`).
    """
    text = repr(value)
    mantissa, mark, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if mark else text


def is_finite(value: float) -> bool:
    """Whether a Float is neither infinite nor NaN."""
    return -_INFINITY < value < _INFINITY
