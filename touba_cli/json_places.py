"""Where in a JSON document a fault lies that the scanner names without its place.

The scanner's callbacks are not told where they are. So a document that one of them has refused is looked through once
more, up to the fault. Nothing loads this module before there is one. A document may have 64 MiB: the loops below see
only what can be the fault, and the brackets that they have to count.
"""

from __future__ import annotations

import re
from json.decoder import JSONDecoder, scanstring  # type: ignore[attr-defined]

from .limits import NUMBER_DIGITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TEXT = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_TEXTS = re.compile(_TEXT)
_LONG_NUMBERS = re.compile(rf"{_TEXT}|[-0-9][0-9.eE+-]{{{NUMBER_DIGITS},}}")
_WORDS = re.compile(rf"{_TEXT}|-?Infinity|NaN")
_OBJECTS = re.compile(rf"{_TEXT}|[{{}}]")
_KEYS = re.compile(rf"{_TEXT}(\s*:)?|[\[\]{{}}]")


def find(text: str, kind: str, key: str = "") -> int:
    """The offset of the fault that the scanner met; 0 where it is not found.

    Parameters:
        text: a document that has a fault of this kind, and is JSON up to there.
        kind: "number" (one that is too long), "word" (such as `NaN`), "surrogate" (a text with a lone one), or "key".
        key: the key that stands twice in one object.

    >>> find('{"a": 1, "a": 2}', "key", "a")
    9
    """
    if kind == "key":
        return _second(text, _object_of_a_key_twice(text), key)
    if kind == "surrogate":
        return next((each.start() for each in _TEXTS.finditer(text) if _is_broken(text, each.start())), 0)
    pattern = _LONG_NUMBERS if kind == "number" else _WORDS
    return next((each.start() for each in pattern.finditer(text) if text[each.start()] != '"'), 0)


def _is_broken(text: str, start: int) -> bool:
    try:
        _read(text, start).encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def _read(text: str, start: int) -> str:
    """The text that is written at an offset."""
    found: str = scanstring(text, start + 1, True)[0]
    return found


class _Twice(Exception):
    """The object that was just read has a key twice."""


def _object_of_a_key_twice(text: str) -> int:
    """Where the first object begins that has a key twice: the scanner looks at one when it has read the whole of it."""
    ended = 0

    def count(pairs: list[tuple[str, Any]]) -> None:
        nonlocal ended
        ended += 1
        if len({key for key, _ in pairs}) != len(pairs):
            raise _Twice

    decoder = JSONDecoder(object_pairs_hook=count, parse_int=len, parse_float=len, parse_constant=len)
    try:
        decoder.scan_once(text, len(text) - len(text.lstrip()))  # type: ignore[attr-defined]
    except _Twice:
        opened: list[int] = []
        for each in _OBJECTS.finditer(text):
            start = each.start()
            if text[start] == "{":
                opened.append(start)
            elif text[start] == "}":
                begin = opened.pop()
                ended -= 1
                if not ended:
                    return begin
    return 0


def _second(text: str, begin: int, key: str) -> int:
    """Where a key stands for the second time in the object that begins at an offset."""
    depth = seen = 0
    for each in _KEYS.finditer(text, begin):
        start = each.start()
        sign = text[start]
        if sign != '"':
            depth += 1 if sign in "{[" else -1
        elif depth == 1 and each.group(1) is not None and _read(text, start) == key:
            seen += 1
            if seen == 2:
                return start
    return begin
