"""JSON for handlers: the tool request in, the tool response out.

A handler is a process of its own for every call, so what it imports is paid for every call. The C scanner and
encoder of the standard library are used directly; where they are missing, ``json`` serves with the same results.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class JsonInvalid(ValueError):
    """Bytes that are not one JSON document; the message says why, and never shows them."""


def _read_constant(text: str) -> object:
    raise JsonInvalid(f"`{text}` is not JSON")


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise JsonInvalid("a key stands twice in one object")
    return found


def _refuse(value: object) -> object:
    raise TypeError(f"{type(value).__name__} has no JSON form")


class _Settings:
    """What the C scanner asks for by attribute."""

    strict = True
    object_hook = None
    object_pairs_hook = staticmethod(_read_object)
    parse_float = float
    parse_int = int
    parse_constant = staticmethod(_read_constant)
    memo: dict[str, str] = {}  # noqa: RUF012 - the scanner clears it after every document


def _find_scanner() -> Callable[[str, int], tuple[Any, int]]:
    try:
        from _json import make_scanner
    except ImportError:
        from json import JSONDecoder

        decoder = JSONDecoder(object_pairs_hook=_read_object, parse_constant=_read_constant)
        return decoder.scan_once  # type: ignore[attr-defined, no-any-return]
    found: Callable[[str, int], tuple[Any, int]] = make_scanner(_Settings())  # type: ignore[arg-type]
    return found


def _find_encoder() -> Callable[[Any], str]:
    try:
        from _json import encode_basestring, make_encoder
    except ImportError:
        from json import JSONEncoder

        encoder = JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_refuse)
        return encoder.encode
    chunks = make_encoder(None, _refuse, encode_basestring, None, ":", ",", False, False, False)

    def encode(value: Any) -> str:
        return "".join(chunks(value, 0))

    return encode


_scan = _find_scanner()
_encode = _find_encoder()
_BLANKS = " \t\n\r"
#: nesting that is read; the runtime sends at most 100 levels of a value
_DEPTH = 200
_NO_STRUCTURE = bytes(byte for byte in range(256) if byte not in b'"[]{}')


def read(data: bytes) -> Any:
    """Read one JSON document. Raises JsonInvalid."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        raise JsonInvalid(f"byte {fault.start} is not valid UTF-8") from None
    start = len(text) - len(text.lstrip(_BLANKS))
    if start == len(text):
        raise JsonInvalid("there is no document")
    if _too_deep(data):
        raise JsonInvalid("it is nested too deep")
    try:
        try:
            value, end = _scan(text, start)
        except SystemError:
            # The C scanner takes its exception from json.decoder, and fails where that was never imported.
            import json.decoder  # noqa: F401

            value, end = _scan(text, start)
    except JsonInvalid:
        raise
    except StopIteration as stop:
        raise JsonInvalid(_at("a value was expected", text, stop.value)) from None
    except ValueError as fault:
        raise JsonInvalid(_at("it breaks off or is misspelt", text, getattr(fault, "pos", start))) from None
    if text[end:].strip(_BLANKS):
        raise JsonInvalid(_at("text follows the end of the document", text, end))
    return value


def _too_deep(data: bytes) -> bool:
    """Whether brackets outside texts nest past the limit.

    Counted here, because the C scanner trusts Python's recursion limit, which an application may have raised past
    what its stack holds.
    """
    if data.count(b"[") + data.count(b"{") <= _DEPTH:
        return False
    depth = 0
    inside = False
    # Without escaped backslashes and quotes every quote left begins or ends a text.
    for byte in data.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _NO_STRUCTURE):
        if byte == 0x22:
            inside = not inside
        elif not inside:
            depth += 1 if byte in b"[{" else -1
            if depth > _DEPTH:
                return True
    return False


def _at(message: str, text: str, position: Any) -> str:
    position = position if isinstance(position, int) else 0
    line = text.count("\n", 0, position) + 1
    column = position - (text.rfind("\n", 0, position) + 1) + 1
    return f"{message} (line {line}, column {column})"


def write(value: dict[str, Any]) -> bytes:
    """Write what `encode` gave as compact UTF-8."""
    return _encode(value).encode("utf-8")
