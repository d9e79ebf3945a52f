"""Places in a document, faults at them, and the small checks that all parts of the verifier share.

A place is a linked list from the inside outwards, because it is needed only where something is wrong: ``None`` is the
document, ``(place, "code")`` a member of it, ``(place, 3)`` an element.
"""

from __future__ import annotations

from ..errors import ToubaFailure
from ..options import nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypeAlias

    Place: TypeAlias = tuple["Place", str | int] | None

SMALL = frozenset("abcdefghijklmnopqrstuvwxyz")
CAPITALS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
DIGITS = frozenset("0123456789")
WORD = SMALL | CAPITALS | DIGITS | {"_"}
HEX = DIGITS | frozenset("abcdef")

#: what a whole number in canonical JSON may be
SAFE_INTEGER = 2**53 - 1


def path_of(place: Place) -> str:
    """The JSON path of a place: ``$.callables["skill:app/Pay"].code[3]``."""
    pieces: list[str] = []
    while place is not None:
        place, piece = place
        if isinstance(piece, int):
            pieces.append(f"[{piece}]")
        elif is_word(piece):
            pieces.append(f".{piece}")
        else:
            pieces.append(f'["{shown(piece)}"]')
    return "$" + "".join(reversed(pieces))


def fault(place: Place, message: str) -> ToubaFailure:
    """The failure that says what is wrong at a place; the caller raises it."""
    return ToubaFailure("AirInvalid", f"{path_of(place)}: {message}")


def shown(name: str) -> str:
    """A name from the document as it may stand in a message: short, and ASCII."""
    short = name if len(name) <= 60 else name[:57] + "..."
    return short.encode("unicode_escape").decode("ascii")


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """The sentence for a name that does not exist, with the nearest one that does."""
    candidates = tuple(known)
    # Looking for the nearest of very many names would take longer than reading the document.
    near = nearest(name, candidates) if len(name) <= 60 and len(candidates) <= 1_000 else None
    return f"the {what} `{shown(name)}` is not known" + (f"; did you mean `{near}`?" if near else "")


def is_word(text: str) -> bool:
    """Letters, digits and `_`, not beginning with a digit."""
    return bool(text) and text[0] not in DIGITS and WORD.issuperset(text)


def is_capital(text: str) -> bool:
    """The name of a declaration."""
    return bool(text) and text[0] in CAPITALS and WORD.issuperset(text)


def is_module(text: str) -> bool:
    """Words that begin small, with dots between them."""
    return all(word and word[0] in SMALL and WORD.issuperset(word) for word in text.split("."))


def is_hex(text: str, digits: int) -> bool:
    return len(text) == digits and HEX.issuperset(text)


def split_ref(ref: str) -> tuple[str, str, str] | None:
    """Kind, module and name of a reference; None where it is not written as references are.

    >>> split_ref("skill:billing.review/Pay")
    ('skill', 'billing.review', 'Pay')
    """
    kind, colon, rest = ref.partition(":")
    module, slash, name = rest.partition("/")
    if colon and slash and is_module(module) and is_capital(name):
        return kind, module, name
    return None


def split_branch(ref: str) -> tuple[str, str] | None:
    """What a reference of a branch is made of: `MODULE/CALLABLE` and `N` or `N.NAME`; None where it is none.

    >>> split_branch("branch:ops.triage/Triage/2.stock")
    ('ops.triage/Triage', '2.stock')
    """
    kind, _, rest = ref.partition(":")
    path, slash, last = rest.rpartition("/")
    number, dot, name = last.partition(".")
    sound = kind == "branch" and slash and split_ref(f"skill:{path}") is not None
    if sound and number and DIGITS.issuperset(number) and (not dot or (is_word(name) and name[0] in SMALL)):
        return path, last
    return None


def take_object(value: Any, place: Place, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    """An object with exactly these members."""
    if not isinstance(value, dict):
        raise fault(place, "an object was expected")
    for name in value:
        if name not in required and name not in optional:
            raise fault(place, unknown("member", name, required + optional))
    for name in required:
        if name not in value:
            raise fault(place, f"the member `{name}` is missing")
    return value


def take_map(value: Any, place: Place) -> dict[str, Any]:
    """An object whose keys are data."""
    if not isinstance(value, dict):
        raise fault(place, "an object was expected")
    return value


def take_array(value: Any, place: Place, size: int | None = None) -> list[Any]:
    if not isinstance(value, list):
        raise fault(place, "an array was expected")
    if size is not None and len(value) != size:
        raise fault(place, f"an array of {size} was expected, not of {len(value)}")
    return value


def take_text(value: Any, place: Place) -> str:
    if not isinstance(value, str):
        raise fault(place, "text was expected")
    return value


def take_whole(value: Any, place: Place, low: int = 0, high: int = SAFE_INTEGER) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise fault(place, "a whole number was expected")
    if not low <= value <= high:
        raise fault(place, f"the number is not within {low} and {high}")
    return value


def take_word(value: Any, place: Place) -> str:
    """The name of a field, input or secret."""
    text = take_text(value, place)
    if not is_word(text):
        raise fault(place, f"`{shown(text)}` is not written as names are")
    return text


def take_texts(value: Any, place: Place) -> list[str]:
    """An array of texts, none twice."""
    found: set[str] = set()
    for position, each in enumerate(take_array(value, place)):
        if take_text(each, (place, position)) in found:
            raise fault((place, position), f"`{shown(each)}` stands twice")
        found.add(each)
    return value  # type: ignore[no-any-return]
