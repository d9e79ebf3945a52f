"""JSON text with exact numbers, for the stored forms of messages, requests and responses."""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation
from typing import Any

from touba_cli import codec
from touba_cli.codec import ExactNumber, JsonInvalid
from touba_cli.limits import JSON_DEPTH

from .errors import InvalidMessageError

__all__ = ["dump", "load", "plain", "same"]


def load(data: str | bytes) -> Any:
    """One JSON document; a number that is no 64-bit integer arrives as `ExactNumber`.

    Raises:
        InvalidMessageError: with line and column.
    """
    try:
        return codec.decode(data.encode("utf-8") if isinstance(data, str) else data)
    except JsonInvalid as fault:
        raise InvalidMessageError(f"not JSON: {fault}") from None
    except UnicodeEncodeError:
        raise InvalidMessageError("not JSON: the text holds a lone surrogate") from None


def dump(value: Any) -> str:
    """Compact JSON of dict, list, tuple, str, int, float, `ExactNumber`, bool and None; keys keep their order.

    Raises:
        InvalidMessageError: for anything else, for what contains itself, and for text that is not Unicode.
    """
    pieces: list[str] = []
    _write(value, pieces, [])
    return "".join(pieces)


def _quote(text: str) -> str:
    try:
        return codec.encode(str(text)).decode("utf-8")
    except UnicodeEncodeError:
        raise InvalidMessageError("a text holds a lone surrogate, which JSON cannot carry") from None


def _write(value: Any, pieces: list[str], open_ids: list[int]) -> None:
    if isinstance(value, str):
        pieces.append(_quote(value))
    elif value is None or value is True or value is False:
        pieces.append({None: "null", True: "true", False: "false"}[value])
    elif isinstance(value, int):
        pieces.append(int.__repr__(value))
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidMessageError("a number is not finite, so it has no JSON form")
        pieces.append(float.__repr__(value))
    elif isinstance(value, ExactNumber):
        pieces.append(value.text)
    elif isinstance(value, (dict, list, tuple)):
        if id(value) in open_ids:
            raise InvalidMessageError("the content contains itself")
        if len(open_ids) >= JSON_DEPTH:
            raise InvalidMessageError(f"nested deeper than {JSON_DEPTH} levels")
        open_ids.append(id(value))
        if isinstance(value, dict):
            pieces.append("{")
            for position, (key, item) in enumerate(value.items()):
                if not isinstance(key, str):
                    raise InvalidMessageError(f"the key of an object is {type(key).__name__}, not text")
                pieces.append(("," if position else "") + _quote(key) + ":")
                _write(item, pieces, open_ids)
            pieces.append("}")
        else:
            pieces.append("[")
            for position, item in enumerate(value):
                if position:
                    pieces.append(",")
                _write(item, pieces, open_ids)
            pieces.append("]")
        open_ids.pop()
    else:
        raise InvalidMessageError(f"{type(value).__name__} has no JSON form")


def plain(value: Any) -> Any:
    """The value with the numbers of Python: whole ones as `int`, the others as `float`."""
    if isinstance(value, ExactNumber):
        return int(value.text) if value.text.lstrip("-").isdigit() else float(value.text)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def same(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal: numbers by their exact value, objects whatever the order of their keys."""
    if isinstance(left, bool) or isinstance(right, bool) or left is None or right is None:
        return left is right
    if isinstance(left, str) or isinstance(right, str):
        return isinstance(left, str) and isinstance(right, str) and left == right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(item, right[key]) for key, item in left.items())
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    one, other = _number(left), _number(right)
    return one is not None and one == other


def _number(value: Any) -> Decimal | str | None:
    text = value.text if isinstance(value, ExactNumber) else repr(value) if isinstance(value, (int, float)) else None
    if text is None:
        return None
    try:
        return Decimal(text)
    except InvalidOperation:
        return str(text)  # an exponent beyond what Decimal holds: only the same spelling is surely the same number
