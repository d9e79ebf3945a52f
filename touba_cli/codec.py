"""JSON in and out: exact numbers, no duplicate keys, canonical bytes. The only place that reads or writes JSON.

Reading keeps what other readers lose: a number that is no 64-bit integer arrives as `ExactNumber`, its own text,
so a Decimal is read exactly; a key given twice, NaN, a lone surrogate, a byte that is not UTF-8, text after the
document and nesting past the limit are refused with line and column.

Writing is compact UTF-8. `canonical` sorts keys and writes no floats, so its bytes are the same everywhere; digests
are taken over nothing else.

The C scanner and encoder of the standard library are used directly, because importing ``json`` costs more than
reading a request. They are private to CPython: where they are missing, ``json`` serves, with the same results.
"""

from __future__ import annotations

from .limits import JSON_DEPTH, NUMBER_DIGITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

INT_LOW = -(2**63)
INT_HIGH = 2**63 - 1


class JsonInvalid(Exception):
    """Bytes that are not one JSON document: what is wrong, and where (1-based line and column, 0-based offset)."""

    def __init__(self, message: str, line: int = 0, column: int = 0, offset: int = 0):
        super().__init__(message, line, column, offset)
        self.message = message
        self.line = line
        self.column = column
        self.offset = offset

    def __str__(self) -> str:
        return f"{self.message} (line {self.line}, column {self.column})" if self.line else self.message


class ExactNumber:
    """A JSON number that is not a 64-bit integer, as it was written: ``12.50``, ``1e3``, ``18446744073709551616``."""

    __slots__ = ("text",)

    def __init__(self, text: str):
        self.text = text

    def __repr__(self) -> str:
        return f"ExactNumber({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExactNumber) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def as_float(self) -> float | None:
        """The nearest double, or None where there is no finite one."""
        value = float(self.text)
        return None if value in (_INFINITY, -_INFINITY) else value


_INFINITY = float("inf")


class _Refused(Exception):
    """Raised inside the scanner's callbacks, which do not know where they are: what `json_places.find` needs for it."""

    def __init__(self, kind: str, message: str, key: str = ""):
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.key = key


def _read_integer(text: str) -> int | ExactNumber:
    if len(text) > NUMBER_DIGITS:
        raise _Refused("number", f"a number has more than {NUMBER_DIGITS} characters")
    if len(text) <= 20:
        value = int(text)
        if INT_LOW <= value <= INT_HIGH:
            return value
    return ExactNumber(text)


def _read_fraction(text: str) -> ExactNumber:
    if len(text) > NUMBER_DIGITS:
        raise _Refused("number", f"a number has more than {NUMBER_DIGITS} characters")
    return ExactNumber(text)


def _read_constant(text: str) -> object:
    raise _Refused("word", f"`{text}` is not JSON")


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _Refused("key", f"the key {_shown(key)} stands twice in one object", key)
            seen.add(key)
    return found


def _shown(key: str) -> str:
    text = key if len(key) <= 60 else key[:57] + "..."
    return text.encode("unicode_escape").decode("ascii").join('""')


class _Settings:
    """What the C scanner asks for by attribute."""

    strict = True
    object_hook = None
    object_pairs_hook = staticmethod(_read_object)
    parse_float = staticmethod(_read_fraction)
    parse_int = staticmethod(_read_integer)
    parse_constant = staticmethod(_read_constant)
    memo: dict[str, str] = {}  # noqa: RUF012 - the scanner clears it after every document


def _make_scanner() -> Callable[[str, int], tuple[Any, int]]:
    try:
        from _json import make_scanner

        settings: Any = _Settings()
        scan: Callable[[str, int], tuple[Any, int]] = make_scanner(settings)
    except ImportError:
        from json import JSONDecoder

        scan = JSONDecoder(
            object_pairs_hook=_read_object,
            parse_float=_read_fraction,
            parse_int=_read_integer,
            parse_constant=_read_constant,
        ).scan_once  # type: ignore[attr-defined]
    return scan


_scan = _make_scanner()
_BLANKS = " \t\n\r"


def decode(data: bytes, *, limit: int | None = None, what: str = "document") -> Any:
    """Read one JSON document.

    Integers within 64 bits are `int`, every other number is an `ExactNumber`; objects are `dict` in the order of
    the text. One leading byte-order mark is skipped.

    Parameters:
        data: the bytes of the document.
        limit: the most bytes it may have; None for no limit of its own.
        what: how to name the document in the message.

    Raises:
        JsonInvalid: with the place of the first fault.

    >>> decode(b'{"amount": 12.50}')
    {'amount': ExactNumber('12.50')}
    """
    if limit is not None and len(data) > limit:
        raise JsonInvalid(f"the {what} has {len(data)} bytes; {limit} are allowed")
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as fault:
        before = data[: fault.start].decode("utf-8")
        raise _at(f"byte {fault.start} is not valid UTF-8", before, len(before)) from None
    if not text.strip(_BLANKS):
        raise JsonInvalid(f"the {what} is empty", 1, 1)
    deepest = _check_depth(data)
    if deepest is not None:
        before = data[:deepest].decode("utf-8")
        raise _at(f"nested deeper than {JSON_DEPTH} levels", before, len(before))
    start = _skip(text, 0)
    try:
        try:
            value, end = _scan(text, start)
        except SystemError:
            # The C scanner takes its exception from json.decoder, and fails where that was never imported.
            import json.decoder  # noqa: F401

            value, end = _scan(text, start)
    except StopIteration as stop:
        raise _at("a value was expected", text, int(stop.value if stop.value is not None else start)) from None
    except _Refused as refused:
        raise _placed(refused, text) from None
    except ValueError as fault:
        # json.JSONDecodeError, which the C scanner imports only to raise it
        position = int(getattr(fault, "pos", start))
        raise _at(_plain(str(getattr(fault, "msg", fault))), text, position) from None
    end = _skip(text, end)
    if end != len(text):
        raise _at("text follows the end of the document", text, end)
    if b"\\u" in data and (b"\\ud" in data or b"\\uD" in data):
        try:
            _refuse_surrogates(value)
        except _Refused as refused:
            raise _placed(refused, text) from None
    return value


def _check_depth(data: bytes) -> int | None:
    """The offset of the first bracket that is nested too deep; None where there is none.

    Counting all brackets is cheap and settles nearly every document; only one that has many is read by character.
    """
    if data.count(b"[") + data.count(b"{") <= JSON_DEPTH:
        return None
    depth = 0
    position = 0
    size = len(data)
    plain = data.translate(_ONLY_STRUCTURE)
    while position < size:
        byte = plain[position]
        if byte == 0x22:  # a string: on to its end
            position += 1
            while True:
                end = plain.find(b'"', position)
                if end < 0:
                    return None
                slashes = end
                while slashes > position and data[slashes - 1] == 0x5C:
                    slashes -= 1
                position = end + 1
                if (end - slashes) % 2 == 0:
                    break
            continue
        if byte == 0x5B:
            depth += 1
            if depth > JSON_DEPTH:
                return position
        elif byte == 0x5D:
            depth -= 1
        position += 1
        if byte == 0x20:  # a run of anything else
            rest = plain[position : position + 64]
            position += len(rest) - len(rest.lstrip(b" "))
    return None


def _structure_table() -> bytes:
    table = bytearray(b" " * 256)
    table[ord('"')] = ord('"')
    table[ord("[")] = table[ord("{")] = ord("[")
    table[ord("]")] = table[ord("}")] = ord("]")
    return bytes(table)


_ONLY_STRUCTURE = _structure_table()


def _skip(text: str, position: int) -> int:
    size = len(text)
    while position < size and text[position] in _BLANKS:
        position += 1
    return position


def _at(message: str, text: str, position: int) -> JsonInvalid:
    line = text.count("\n", 0, position) + 1
    column = position - (text.rfind("\n", 0, position) + 1) + 1
    return JsonInvalid(message, line, column, position)


def _placed(refused: _Refused, text: str) -> JsonInvalid:
    from .json_places import find

    return _at(refused.message, text, find(text, refused.kind, refused.key))


def _plain(message: str) -> str:
    if message == "Expecting value":
        return "a value was expected"
    return message[:1].lower() + message[1:].rstrip(":") if message else "not JSON"


def _refuse_surrogates(value: Any) -> None:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            _refuse_surrogate(item)
        elif isinstance(item, list):
            stack.extend(item)
        elif isinstance(item, dict):
            for key in item:
                _refuse_surrogate(key)
            stack.extend(item.values())


def _refuse_surrogate(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise _Refused("surrogate", "a text holds a lone surrogate") from None


def _refuse_value(value: object) -> object:
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _make_encoder(sort_keys: bool) -> Callable[[Any], str]:
    try:
        from _json import encode_basestring, make_encoder

        chunks: Callable[[Any, int], tuple[str, ...]] = make_encoder(
            None, _refuse_value, encode_basestring, None, ":", ",", sort_keys, False, False
        )

        def encode_text(value: Any) -> str:
            return "".join(chunks(value, 0))

    except ImportError:
        from json import JSONEncoder

        encoder = JSONEncoder(
            ensure_ascii=False, allow_nan=False, sort_keys=sort_keys, separators=(",", ":"), default=_refuse_value
        )

        def encode_text(value: Any) -> str:
            text: str = encoder.encode(value)
            return text

    return encode_text


_encode_plain = _make_encoder(False)
_encode_sorted = _make_encoder(True)


def encode(value: Any) -> bytes:
    """Write a value of dict, list, tuple, str, int, float, bool and None as compact JSON.

    Keys keep their order. Raises ValueError for NaN and infinities, UnicodeEncodeError for lone surrogates and
    TypeError for everything else.

    >>> encode({"b": [1, True], "a": "12.50"})
    b'{"b":[1,true],"a":"12.50"}'
    """
    if isinstance(value, str):
        return _encode_plain([value])[1:-1].encode("utf-8")
    return _encode_plain(value).encode("utf-8")


def canonical(value: Any) -> bytes:
    """Write a value without floats as its one canonical form (RFC 8785: sorted keys, no blanks).

    >>> canonical({"b": 1, "a": "x"})
    b'{"a":"x","b":1}'
    """
    if isinstance(value, str):
        return _encode_sorted([value])[1:-1].encode("utf-8")
    return _encode_sorted(value).encode("utf-8")


def digest(value: Any) -> str:
    """``sha256:`` and 64 hex digits over the canonical bytes of a value."""
    return "sha256:" + sha256(canonical(value))


def sha256(data: bytes) -> str:
    """SHA-256 of bytes as 64 hex digits."""
    digits: str = _sha256(data).hexdigest()
    return digits


def key_digest(*parts: Any) -> str:
    """SHA-256 over the canonical JSON array of the parts, as 64 hex digits: how Touba makes every derived key."""
    return sha256(canonical(list(parts)))


def _find_sha256() -> Callable[[bytes], Any]:
    # The interpreter's own module: hashlib would load OpenSSL, which costs a fifth of a start.
    try:
        from _sha2 import sha256 as found  # type: ignore[import-not-found]
    except ImportError:
        try:
            from _sha256 import sha256 as found  # type: ignore[import-not-found]
        except ImportError:
            from hashlib import sha256 as found
    made: Callable[[bytes], Any] = found
    return made


_sha256 = _find_sha256()
