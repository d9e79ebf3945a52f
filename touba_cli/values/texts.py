"""Operations on Text. All of them know how large their result is before they build it. `functions.py` lists them."""

from __future__ import annotations

from ..errors import ToubaFailure
from .model import ListValue, make_list, text_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .model import Meter

#: what `trim` and `split` take for blank: space, tab, line feed, vertical tab, form feed, carriage return
BLANKS = " \t\n\v\f\r"


def out_of_range(length: int) -> ToubaFailure:
    return ToubaFailure("IndexOutOfRange", f"there is no such position among {length}")


def _check_length(meter: Meter, length: int, ascii_only: bool) -> None:
    meter.check_size(2 + (length if ascii_only else 4 * length))


def add_text(meter: Meter, a: str, b: str) -> str:
    length = len(a) + len(b)
    if length > 15:
        meter.charge(length >> 4)
        if 4 * length > meter.max_value_bytes - 2:  # else it has room whatever it consists of
            _check_length(meter, length, a.isascii() and b.isascii())
    return a + b


def concat(meter: Meter, parts: list[str]) -> str:
    """The Texts one after the other: an interpolation. Charges 1 for every 16 code points of the result."""
    length = sum(map(len, parts))
    if length > 15:
        meter.charge(length >> 4)
        if 4 * length > meter.max_value_bytes - 2:  # else it has room whatever it consists of
            _check_length(meter, length, all(map(str.isascii, parts)))
    return "".join(parts)


def join(meter: Meter, a: ListValue, separator: str) -> str:
    count = len(a.items)
    meter.charge(count)
    length = sum(map(len, a.items)) + len(separator) * max(count - 1, 0)
    meter.charge(length >> 4)
    _check_length(meter, length, all(map(str.isascii, a.items)) and (count < 2 or separator.isascii()))
    return separator.join(a.items)


def replace(meter: Meter, a: str, old: str, new: str) -> str:
    meter.charge((len(a) + len(old) + len(new)) >> 4)
    if not old:
        raise ToubaFailure("SeparatorEmpty", "`replace` was given an empty Text to look for")
    count = a.count(old)
    length = len(a) + count * (len(new) - len(old))
    meter.charge(length >> 4)
    if not count:
        return a
    # What is left of `a` may be all ASCII though `a` is not: 1 a code point is what the result has at least.
    _check_length(meter, length, not new or new.isascii())
    result = a.replace(old, new)
    meter.check_size(text_size(result))
    return result


def split_text(meter: Meter, a: str, separator: str) -> ListValue:
    meter.charge((len(a) + len(separator)) >> 4)
    if not separator:
        raise ToubaFailure("SeparatorEmpty", "`split` was given an empty separator")
    count = a.count(separator)
    # each part has 2 and a comma; its code points have at least 1
    meter.check_size(2 + len(a) - count * len(separator) + 3 * (count + 1))
    return make_list(meter, tuple(a.split(separator)))


def split_blanks(meter: Meter, a: str) -> ListValue:
    meter.charge(len(a) >> 4)
    words = a.translate(_TO_SPACE).strip(" ")
    while "  " in words:  # halves every run of spaces
        words = words.replace("  ", " ")
    if not words:
        return make_list(meter, ())
    count = words.count(" ") + 1
    meter.check_size(2 + len(words) - (count - 1) + 3 * count)
    return make_list(meter, tuple(words.split(" ")))


_TO_SPACE = dict.fromkeys(map(ord, BLANKS), " ")


def trim(meter: Meter, a: str) -> str:
    meter.charge(len(a) >> 4)
    return a.strip(BLANKS)


def upper(meter: Meter, a: str) -> str:
    return _mapped(meter, a, str.upper)


def lower(meter: Meter, a: str) -> str:
    return _mapped(meter, a, str.lower)


#: code points of a Text that are mapped at once, only to know how many they become
_STRETCH = 4096


def _mapped(meter: Meter, a: str, mapping: Callable[[str], str]) -> str:
    """The Text in other letters: up to three for one, so a long one is counted before it is built."""
    meter.charge(len(a) >> 4)
    if not a.isascii() and 2 + 12 * len(a) > meter.max_value_bytes:
        # How many letters a letter becomes does not depend on those around it; which ones may.
        stretches = (mapping(a[start : start + _STRETCH]) for start in range(0, len(a), _STRETCH))
        # Of what is no ASCII some may become ASCII (the Kelvin sign), where 1 a code point is what it has at least.
        meter.check_size(2 + sum(len(each) for each in stretches))
    result = mapping(a)
    meter.check_size(text_size(result))
    return result


def contains(meter: Meter, a: str, b: str) -> bool:
    meter.charge((len(a) + len(b)) >> 4)
    return b in a


def starts_with(meter: Meter, a: str, b: str) -> bool:
    meter.charge((len(a) + len(b)) >> 4)
    return a.startswith(b)


def ends_with(meter: Meter, a: str, b: str) -> bool:
    meter.charge((len(a) + len(b)) >> 4)
    return a.endswith(b)


def length_text(meter: Meter, a: str) -> int:
    return len(a)


def index_text(meter: Meter, a: str, position: int) -> str:
    if 0 <= position < len(a):
        return a[position]
    raise out_of_range(len(a))


def slice_text(meter: Meter, a: str, start: int, end: int) -> str:
    start, end = cut(len(a), start, end)
    meter.charge((end - start) >> 4)
    return a[start:end]


def cut(length: int, start: int, end: int) -> tuple[int, int]:
    """The half-open stretch from `start` to before `end`, cut to what there is."""
    start = min(max(start, 0), length)
    return start, min(max(end, start), length)
