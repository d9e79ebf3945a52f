"""Operations on numbers, dates, moments and durations. `functions.py` lists them by name."""

from __future__ import annotations

import decimal

from ..codec import INT_HIGH, INT_LOW
from ..errors import ToubaFailure
from .model import ABSENT, make_present
from .numbers import (
    CONTEXT,
    ZERO,
    Decimal,
    Misspelt,
    decimal_text,
    float_text,
    is_finite,
    read_decimal,
    read_int,
)
from .times import LONGEST, NO_TIME, Date, DateTime, Duration, date_text, datetime_text, duration_text, within_utc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .model import Meter, Value

#: the most places, up or down, that `round` takes
ROUND_PLACES = 34

_MODES = {
    "half_even": decimal.ROUND_HALF_EVEN,
    "half_up": decimal.ROUND_HALF_UP,
    "half_down": decimal.ROUND_HALF_DOWN,
    "up": decimal.ROUND_UP,
    "down": decimal.ROUND_DOWN,
    "floor": decimal.ROUND_FLOOR,
    "ceiling": decimal.ROUND_CEILING,
}


def division_by_zero() -> ToubaFailure:
    return ToubaFailure("DivisionByZero", "a number was divided by zero")


def integer_overflow() -> ToubaFailure:
    return ToubaFailure("IntegerOverflow", "a whole number left 64 bits")


# Int: exact, then within 64 bits or not at all.


def _int(value: int) -> int:
    if INT_LOW <= value <= INT_HIGH:
        return value
    raise integer_overflow()


def add_int(meter: Meter, a: int, b: int) -> int:
    return _int(a + b)


def sub_int(meter: Meter, a: int, b: int) -> int:
    return _int(a - b)


def mul_int(meter: Meter, a: int, b: int) -> int:
    return _int(a * b)


def neg_int(meter: Meter, a: int) -> int:
    return _int(-a)


def abs_int(meter: Meter, a: int) -> int:
    return _int(abs(a))


def div_int(meter: Meter, a: int, b: int) -> int:
    if not b:
        raise division_by_zero()
    return _int(a // b)


def mod_int(meter: Meter, a: int, b: int) -> int:
    if not b:
        raise division_by_zero()
    return a % b


# Decimal: in the context of `numbers.py`, and settled.


def _decimal_overflow() -> ToubaFailure:
    return ToubaFailure("DecimalOverflow", "a Decimal left its range")


def _decimal(compute: Callable[..., Decimal], *operands: Decimal) -> Decimal:
    try:
        return CONTEXT.add(compute(*operands), ZERO)
    except decimal.Overflow:
        raise _decimal_overflow() from None


def add_decimal(meter: Meter, a: Decimal, b: Decimal) -> Decimal:
    return _decimal(CONTEXT.add, a, b)


def sub_decimal(meter: Meter, a: Decimal, b: Decimal) -> Decimal:
    return _decimal(CONTEXT.subtract, a, b)


def mul_decimal(meter: Meter, a: Decimal, b: Decimal) -> Decimal:
    return _decimal(CONTEXT.multiply, a, b)


def div_decimal(meter: Meter, a: Decimal, b: Decimal) -> Decimal:
    if not b:
        raise division_by_zero()
    return _decimal(CONTEXT.divide, a, b)


def neg_decimal(meter: Meter, a: Decimal) -> Decimal:
    return a.copy_negate() if a else a


def abs_decimal(meter: Meter, a: Decimal) -> Decimal:
    return a.copy_abs()


def round_decimal(meter: Meter, a: Decimal, places: int) -> Decimal:
    return _round_decimal(a, places, decimal.ROUND_HALF_EVEN)


def round_mode(meter: Meter, a: Decimal, places: int, mode: str) -> Decimal:
    rounding = _MODES.get(mode)
    if rounding is None:
        raise ToubaFailure("AirUnsound", "`round` has no such mode")
    return _round_decimal(a, places, rounding)


def _round_decimal(value: Decimal, places: int, rounding: str) -> Decimal:
    """The value with exactly so many places; where 34 digits do not hold them it has fewer already, and stays."""
    _check_places(places)
    try:
        rounded = value.quantize(Decimal((0, (1,), -places)), rounding, CONTEXT)
    except decimal.InvalidOperation:
        return value
    return CONTEXT.add(rounded, ZERO)


def _check_places(places: int) -> None:
    if not -ROUND_PLACES <= places <= ROUND_PLACES:
        raise ToubaFailure("PlacesOutOfRange", f"`round` takes -{ROUND_PLACES} to {ROUND_PLACES} places")


def decimal_of_int(meter: Meter, a: int) -> Decimal:
    return Decimal(a)


def decimal_of_float(meter: Meter, a: float) -> Decimal:
    return CONTEXT.add(Decimal(repr(a)), ZERO)


def decimal_of_text(meter: Meter, a: str) -> Value:
    meter.charge(len(a) >> 4)
    try:
        value = read_decimal(a)
    except Misspelt:
        return ABSENT
    return make_present(meter, value)


def int_of_decimal(meter: Meter, a: Decimal) -> int:
    if a.adjusted() > 18:  # 19 digits are enough for 64 bits; a longer number is never made
        raise integer_overflow()
    return _int(int(a))


def int_of_float(meter: Meter, a: float) -> int:
    return _int(int(a))


def int_of_text(meter: Meter, a: str) -> Value:
    meter.charge(len(a) >> 4)
    try:
        value = read_int(a)
    except Misspelt:
        return ABSENT
    return make_present(meter, value)


# Float: what IEEE 754 says for doubles, but neither infinite nor a negative zero.


def _float(value: float) -> float:
    if is_finite(value):
        return value + 0.0
    raise ToubaFailure("FloatOverflow", "a Float left its range")


def add_float(meter: Meter, a: float, b: float) -> float:
    return _float(a + b)


def sub_float(meter: Meter, a: float, b: float) -> float:
    return _float(a - b)


def mul_float(meter: Meter, a: float, b: float) -> float:
    return _float(a * b)


def div_float(meter: Meter, a: float, b: float) -> float:
    if not b:
        raise division_by_zero()
    return _float(a / b)


def neg_float(meter: Meter, a: float) -> float:
    return 0.0 - a


def abs_float(meter: Meter, a: float) -> float:
    return abs(a)


def round_float(meter: Meter, a: float, places: int) -> float:
    _check_places(places)
    return _float(round(a, places))


# Dates, moments, durations.


def _duration(compute: Callable[[], Duration]) -> Duration:
    try:
        value = compute()
    except OverflowError:
        value = Duration.max
    if -LONGEST <= value <= LONGEST:
        return value
    raise ToubaFailure("DurationOverflow", "a Duration is longer than 999999999 days")


def _moved_date(date: Date, by: Duration, sign: int) -> Date:
    if by.seconds or by.microseconds:
        raise ToubaFailure("DurationNotWholeDays", "a Duration of no whole days was added to a Date")
    try:
        return date + by * sign
    except OverflowError:
        raise ToubaFailure("DateOverflow", "a date left the years 1 to 9999") from None


def add_date(meter: Meter, a: Date, b: Duration) -> Date:
    return _moved_date(a, b, 1)


def sub_date(meter: Meter, a: Date, b: Duration) -> Date:
    return _moved_date(a, b, -1)


def _moved_moment(moment: DateTime, by: Duration) -> DateTime:
    try:
        moved = moment + by
    except OverflowError:
        moved = None
    if moved is None or not within_utc(moved):
        raise ToubaFailure("DateOverflow", "a moment left the years 1 to 9999")
    return moved


def add_datetime(meter: Meter, a: DateTime, b: Duration) -> DateTime:
    return _moved_moment(a, b)


def sub_datetime(meter: Meter, a: DateTime, b: Duration) -> DateTime:
    return _moved_moment(a, -b)


def between(meter: Meter, a: Any, b: Any) -> Duration:
    """The time from the second date or moment to the first."""
    value: Duration = a - b
    return value


def add_duration(meter: Meter, a: Duration, b: Duration) -> Duration:
    return _duration(lambda: a + b)


def sub_duration(meter: Meter, a: Duration, b: Duration) -> Duration:
    return _duration(lambda: a - b)


def neg_duration(meter: Meter, a: Duration) -> Duration:
    return -a


# Order of plain values. Texts are compared by code point.


def lt(meter: Meter, a: Any, b: Any) -> bool:
    return bool(a < b)


def le(meter: Meter, a: Any, b: Any) -> bool:
    return bool(a <= b)


def gt(meter: Meter, a: Any, b: Any) -> bool:
    return bool(a > b)


def ge(meter: Meter, a: Any, b: Any) -> bool:
    return bool(a >= b)


def _charge_texts(meter: Meter, a: str, b: str) -> None:
    meter.charge((len(a) + len(b)) >> 4)


def lt_text(meter: Meter, a: str, b: str) -> bool:
    _charge_texts(meter, a, b)
    return a < b


def le_text(meter: Meter, a: str, b: str) -> bool:
    _charge_texts(meter, a, b)
    return a <= b


def gt_text(meter: Meter, a: str, b: str) -> bool:
    _charge_texts(meter, a, b)
    return a > b


def ge_text(meter: Meter, a: str, b: str) -> bool:
    _charge_texts(meter, a, b)
    return a >= b


# Sums of Lists, from the first element on.


def sum_int(meter: Meter, a: Value) -> int:
    meter.charge(len(a.items))
    return _int(sum(a.items))  # exact before the check, so the order does not matter


def sum_decimal(meter: Meter, a: Value) -> Decimal:
    meter.charge(len(a.items))
    total = ZERO
    add = CONTEXT.add
    try:
        for item in a.items:
            total = add(total, item)
        return add(total, ZERO)
    except decimal.Overflow:
        raise _decimal_overflow() from None


def sum_float(meter: Meter, a: Value) -> float:
    meter.charge(len(a.items))
    total = 0.0
    for item in a.items:  # not sum(): from Python 3.12 on it compensates, and would give other digits
        total += item
    return _float(total)


def sum_duration(meter: Meter, a: Value) -> Duration:
    meter.charge(len(a.items))
    return _duration(lambda: sum(a.items, NO_TIME))


# Numbers and times as Text.


def text_int(meter: Meter, a: int) -> str:
    return str(a)


def text_decimal(meter: Meter, a: Decimal) -> str:
    text = decimal_text(a)
    meter.check_size(len(text) + 2)
    return text


def text_float(meter: Meter, a: float) -> str:
    return float_text(a)


def text_bool(meter: Meter, a: bool) -> str:
    return "true" if a else "false"


def text_date(meter: Meter, a: Date) -> str:
    return date_text(a)


def text_datetime(meter: Meter, a: DateTime) -> str:
    return datetime_text(a)


def text_duration(meter: Meter, a: Duration) -> str:
    return duration_text(a)


def text_choice(meter: Meter, a: Value) -> str:
    name: str = a.variant
    return name
