"""What the answer of a handler may bring into messages, and what it may not.

A handler is foreign code. Nothing that it has written is repeated before it is certain that none of its secrets stands
there, and even then only names that are spelt like names.
"""

from __future__ import annotations

from ..codec import ExactNumber, JsonInvalid, decode, encode
from ..errors import CODES
from ..shapes import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: codes with which the SDK's side of a handler refuses or reports; any other code in an answer is the handler's own
SDK_CODES = frozenset(
    (
        "ToolHandlerFailed",
        "ToolRefMismatch",
        "HandlerRefused",
        "ToolResultInvalid",
        "MemoryMetadataInvalid",
        "ToolRequestTooLarge",
        "ToolResponseTooLarge",
    )
)

#: codes of the table under which a handler may report besides: it could not read its request
_REQUEST_CODES = frozenset(("JsonInvalid", "DocumentInvalid"))

#: codes that a handler may not report: they say what the runtime has found out
RUNTIME_CODES = frozenset(CODES) - SDK_CODES - _REQUEST_CODES

_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_CODE = _LETTERS | frozenset("0123456789_.-")

#: names longer than this are not repeated
_LONGEST_NAME = 40


def code_fault(code: str) -> str | None:
    """What is wrong with the code of an error that a handler reports, in words; None where nothing is.

    >>> code_fault("CardDeclined")
    >>> code_fault("StepLimitExceeded")
    'its error has the code `StepLimitExceeded`, which only the runtime gives'
    """
    if code[:1] not in _LETTERS or not _CODE.issuperset(code):
        return "its error has a code that is not spelt like one: a letter, then letters, digits, `_`, `.` and `-`"
    if code in RUNTIME_CODES:
        return f"its error has the code `{code}`, which only the runtime gives"
    return None


def leaks(data: bytes, document: Any, secrets: list[str]) -> bool:
    """Whether an answer holds one of the secrets, whatever else is right or wrong with it.

    Parameters:
        data: its bytes.
        document: what they say; None where they are no JSON.
        secrets: what is looked for.
    """
    if document is not None:
        return _holds(document, secrets)
    for secret in secrets:
        escaped = encode(secret)[1:-1]
        if secret.encode("utf-8") in data or escaped in data or _ascii(escaped.decode("utf-8")) in data:
            return True
    return False


def decoded(data: bytes) -> Any:
    """What the bytes of an answer say as JSON, whatever it is; None where they say nothing."""
    try:
        return decode(data)
    except JsonInvalid:
        return None


def told(message: str, document: Any) -> str:
    """A message about an answer, as it may be shown: without names of the answer that are no plain short names.

    Parameters:
        message: what is wrong with it.
        document: what the answer says; None where it is no JSON.
    """
    if document is None:
        # Of what cannot be read, only a key that stands twice is named.
        head, key, _ = message.partition("the key ")
        return f"{head}a key stands twice in one object" if key else message
    for name in _names(document):
        if not (len(name) <= _LONGEST_NAME and _CODE.issuperset(name)) and shown(name) in message:
            return "it has a name or protocol that no tool response has"
    return message


def _ascii(text: str) -> bytes:
    """Text as JSON spells it in ASCII."""
    spelt = []
    for character in text:
        units = character.encode("utf-16-be")
        pairs = [f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2)]
        spelt.append(character if character.isascii() else "".join(pairs))
    return "".join(spelt).encode("ascii")


def _names(document: Any) -> set[str]:
    """The keys of a document, and its protocol."""
    found: set[str] = set()
    waiting = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            found.update(value)
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    if isinstance(document, dict) and isinstance(document.get("protocol"), str):
        found.add(document["protocol"])
    found.discard("")
    return found


def _holds(document: Any, secrets: list[str]) -> bool:
    """Whether a text or number of the document, keys included, holds one of the secrets."""
    waiting = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, ExactNumber):
            value = value.text
        elif isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if isinstance(value, str):
            if any(secret in value for secret in secrets):
                return True
        elif isinstance(value, list):
            waiting.extend(value)
        elif isinstance(value, dict):
            waiting.extend(value)
            waiting.extend(value.values())
    return False
