"""Tokens: what the lexer makes and the parser reads."""

from __future__ import annotations

from typing import TypeAlias


class Token:
    """One token: its kind, its text as written, and its place (code-point offsets, end not included).

    Kinds: ``word`` (small), ``capital``, ``hidden`` (`_name`), ``int``, ``decimal``, ``float``, ``text``, ``block``,
    ``comment``, ``doc``, ``newline``, ``end``, ``bad`` (reported already); every sign is its own kind.

    ``value``: of numbers the digits without `_` and `f`; of texts the parts, decoded texts and lists of tokens (an
    interpolation, which ends in an ``end`` token); else None.
    """

    __slots__ = ("end", "kind", "start", "text", "value")

    def __init__(self, kind: str, text: str, start: int, end: int, value: str | list[Part] | None = None):
        self.kind = kind
        self.text = text
        self.start = start
        self.end = end
        self.value = value

    def __repr__(self) -> str:
        return f"Token({self.kind!r}, {self.text!r}, {self.start}, {self.end})"


Part: TypeAlias = str | list[Token]


def code_point(character: str) -> str:
    """`U+202E`: how a character is named in messages."""
    return f"U+{ord(character):04X}"
