"""Texts with escapes and interpolations, and text blocks.

A `"…"` ends on its line. The margin of a `\"\"\"` block is the column of its closing quotes; the line ends inside are
line feeds, whatever the file uses. An interpolation ends on the line where it began.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..limits import INTERPOLATION_DEPTH
from .diagnostics import Related
from .tokens import Part, Token
from .tree import Span
from .words import DECLARATION_WORDS

if TYPE_CHECKING:
    from .lexer import Lexer

ESCAPES: dict[str, str] = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "{": "{"}
LEGAL_ESCAPES = '`\\n` `\\t` `\\r` `\\"` `\\\\` `\\{` `\\u{…}`'

_PATTERN = re.compile(r'((?:[^"\\]|\\.)*)"')
_PLAIN = re.compile(r'[^"\\{]*')
_SPECIAL = re.compile(r'\\|\{|"""')
_UNICODE = re.compile(r"\\u\{([0-9A-Fa-f]{1,6})\}")
_DECLARATION = re.compile(rf"^(?:{'|'.join(DECLARATION_WORDS)})[ ]+[A-Z\"]", re.MULTILINE)


class TextReader:
    """Reads the texts of one file for its lexer."""

    def __init__(self, lexer: Lexer):
        self._lexer = lexer
        self._text = lexer.text
        self._failed_line_end = -1
        self._unclosed_block = False

    def read(self, tokens: list[Token], start: int, end: int, limit: int, depth: int, nested: bool) -> Token | None:
        """The text whose opening quotes stand at ``start``; None where it does not close inside an interpolation."""
        if end - start == 1:
            if not nested and tokens and tokens[-1].kind == "word" and tokens[-1].text == "matching":
                return self._pattern(start, limit)
            return self._line_text(start, limit, depth, nested)
        if nested:
            return None
        raw = bool(tokens) and tokens[-1].kind == "word" and tokens[-1].text == "raw"
        return self._block(start, limit, raw)

    def _pattern(self, start: int, limit: int) -> Token:
        """The text behind `matching`, which stands as it is written: braces and backslashes are the pattern's own."""
        stop = self._lexer.line_end(start, limit)
        match = _PATTERN.match(self._text, start + 1, stop)
        if match is not None:
            return Token("text", self._text[start : match.end()], start, match.end(), joined([match[1]]))
        self._lexer.report("TB1005", "a text is not closed", start, start + 1, 'close it with `"` on the same line')
        self._lexer.cuts.add(start)
        return Token("bad", self._text[start:stop], start, stop)

    # --- texts on one line ---------------------------------------------------------------------------------------

    def _line_text(self, start: int, limit: int, depth: int, nested: bool) -> Token | None:
        lexer = self._lexer
        text = self._text
        stop = lexer.line_end(start, limit)
        parts: list[Part] = []
        at = start + 1
        while True:
            match = _PLAIN.match(text, at, stop)
            if match is not None and match.end() > at:
                parts.append(match.group())
                at = match.end()
            if at >= stop:
                break
            character = text[at]
            if character == '"':
                return Token("text", text[start : at + 1], start, at + 1, joined(parts))
            if character == "\\":
                at = self._escape(parts, at, stop)
                continue
            after = self._interpolation(parts, at, stop, depth)
            if after < 0:
                return None if nested else self._failed_interpolation(start, at, stop)
            at = after
        if nested:
            return None
        lexer.report("TB1005", "a text is not closed", start, start + 1, 'close it with `"` on the same line')
        lexer.cuts.add(start)
        return Token("bad", text[start:stop], start, stop)

    def _failed_interpolation(self, start: int, brace: int, stop: int) -> Token:
        """Report an interpolation without an end; the text then ends at the next quote, else with its line."""
        self._report_open_brace(brace)
        # The search is done once in a line, so that a line of nothing but braces is still read in linear time.
        quote = self._text.find('"', brace, stop) if self._failed_line_end != stop else -1
        self._failed_line_end = stop
        end = quote + 1 if quote >= 0 else stop
        if quote < 0:
            self._lexer.cuts.add(start)
        return Token("bad", self._text[start:end], start, end)

    def _report_open_brace(self, brace: int) -> None:
        self._lexer.report(
            "TB1009", "an interpolation is not closed", brace, brace + 1,
            "close it with `}` on the same line, or write `\\{` for a brace",
        )  # fmt: skip

    def _interpolation(self, parts: list[Part], brace: int, stop: int, depth: int) -> int:
        """Read `{…}`; the offset behind it, or -1 where it does not close."""
        lexer = self._lexer
        if depth >= INTERPOLATION_DEPTH:
            lexer.report(
                "TB9004", f"interpolations are nested deeper than {INTERPOLATION_DEPTH}", brace, brace + 1,
                "give this part a name with `let` first",
            )  # fmt: skip
            parts.append("{")
            return brace + 1
        inner: list[Token] = []
        if not depth:
            lexer.hold()
        after = lexer.read(inner, brace + 1, stop, nested=True, depth=depth + 1)
        if not depth:
            lexer.release(keep=after >= 0)
        if after < 0:
            return -1
        if not inner:
            lexer.report(
                "TB1009", "an interpolation is empty", brace, after, "put a value inside, or write `\\{` for a brace"
            )
        inner.append(Token("end", "}", after - 1, after - 1))
        parts.append(inner)
        return after

    def _escape(self, parts: list[Part], at: int, stop: int) -> int:
        """Read an escape; the offset behind it."""
        text = self._text
        letter = text[at + 1 : at + 2] if at + 1 < stop else ""
        if letter in ESCAPES and letter:
            parts.append(ESCAPES[letter])
            return at + 2
        match = _UNICODE.match(text, at, stop)
        if match is not None:
            code = int(match[1], 16)
            if code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF:
                parts.append(chr(code))
            else:
                self._lexer.report(
                    "TB1006", f"`{match[0]}` is not a Unicode scalar value", at, match.end(),
                    "use a code point up to `10FFFF` that is no surrogate",
                )  # fmt: skip
            return match.end()
        if letter == "u":
            label = "a code point is written `\\u{2014}`"
        elif letter == "}":
            label = "`}` needs no escape"
        elif letter == "'":
            label = "`'` needs no escape"
        else:
            label = "write `\\\\` for a backslash"
        shown = letter if letter.isprintable() else ""
        end = at + 1 + len(letter)
        self._lexer.report(
            "TB1006", f"`\\{shown}` is not an escape", at, end, label, help=f"escapes are {LEGAL_ESCAPES}"
        )
        return end

    # --- text blocks ---------------------------------------------------------------------------------------------

    def _block(self, start: int, limit: int, raw: bool) -> Token:
        lexer = self._lexer
        text = self._text
        begin = start + 3
        stop = limit
        if self._unclosed_block:  # an earlier block had no end: no later one can run over a declaration
            match = _DECLARATION.search(text, begin, limit)
            stop = match.start() if match else limit
        pieces: list[tuple[int, int] | str | list[Token]] = []
        at = begin
        while True:
            if raw:
                close = text.find('"""', at, stop)
                special = None
            else:
                special = _SPECIAL.search(text, at, stop)
                close = special.start() if special else -1
            if close < 0:
                return self._unclosed(start, limit)
            pieces.append((at, close))
            if special is None or special.group() == '"""':
                break
            parts: list[Part] = []
            if special.group() == "\\":
                at = self._escape(parts, close, lexer.line_end(close, stop))
            else:
                line_end = lexer.line_end(close, stop)
                at = self._interpolation(parts, close, line_end, 0)
                if at < 0:
                    self._report_open_brace(close)
                    at = line_end
            pieces.extend(parts)
        return self._lay_out(start, close, pieces, raw)

    def _unclosed(self, start: int, limit: int) -> Token:
        text = self._text
        self._unclosed_block = True
        match = _DECLARATION.search(text, start, limit)
        end = match.start() - 1 if match else limit
        related: tuple[Related, ...] = ()
        if match is not None:
            line_end = self._lexer.line_end(match.start(), limit)
            related = (Related(Span(match.start(), line_end), "the text would go on here"),)
        self._lexer.report(
            "TB1005", "a text block is not closed", start, start + 3, 'close it with `"""` on a line of its own',
            related=related,
        )  # fmt: skip
        return Token("bad", text[start:end], start, end)

    def _lay_out(self, start: int, close: int, pieces: list[tuple[int, int] | str | list[Token]], raw: bool) -> Token:
        """Take the margin away and join the pieces."""
        text = self._text
        begin = start + 3
        end = close + 3
        token = Token("block", text[start:end], start, end, [""])
        first_end = text.find("\n", begin, close)
        if first_end < 0:
            if raw:
                token.value = [text[begin:close]]
            else:
                self._misplaced(
                    "a text block begins on the line after its quotes",
                    start,
                    begin,
                    'write `"…"` for a text on one line',
                )
            return token
        if text[begin:first_end].strip(" \r"):
            place = self._lexer.line_end(begin, close)
            self._misplaced(
                "a text block begins on the line after its quotes", begin, place, "put this on the next line"
            )
            return token
        line_start = text.rfind("\n", begin, close) + 1
        margin = text[line_start:close]
        if margin.strip(" "):
            self._misplaced(
                "the closing quotes of a text block stand alone on their line", close, end, "put them on the next line"
            )
            return token
        content = first_end + 1
        last = line_start - 1
        if text[last - 1] == "\r":
            last -= 1
        parts: list[Part] = []
        fresh = True  # at the beginning of a line
        for number, piece in enumerate(pieces):
            if not isinstance(piece, tuple):
                if isinstance(piece, str):
                    parts.append(piece)
                else:
                    parts.append(piece)
                fresh = False
                continue
            low = max(piece[0], content)
            high = min(piece[1], last)
            whole = number + 1 == len(pieces)
            fresh = self._strip(parts, low, high, len(margin), fresh, whole)
        token.value = joined(parts)
        return token

    def _strip(self, parts: list[Part], low: int, high: int, margin: int, fresh: bool, whole: bool) -> bool:
        """Add the text between two offsets without its margins; whether it ends at the beginning of a line.

        ``whole`` is false where an escape or interpolation follows on the last line.
        """
        text = self._text
        while low <= high:
            end = text.find("\n", low, high)
            last = end < 0
            line = text[low : high if last else end]
            if not last:
                line = line.removesuffix("\r")
            if fresh:
                blanks = len(line) - len(line.lstrip(" "))
                if blanks >= margin:
                    line = line[margin:]
                elif blanks == len(line) and (whole or not last):
                    line = ""
                else:
                    self._misplaced(
                        "a line of a text block begins left of its closing quotes", low, low + max(blanks, 1),
                        f"begin it at column {margin + 1} or later",
                    )  # fmt: skip
            parts.append(line if last else line + "\n")
            if last:
                return False
            fresh = True
            low = end + 1
        return fresh

    def _misplaced(self, title: str, start: int, end: int, label: str) -> None:
        self._lexer.report("TB1008", title, start, end, label)


def joined(parts: list[Part]) -> list[Part]:
    """The parts with neighbouring texts made one, in linear time; a text without parts is one empty text."""
    found: list[Part] = []
    run: list[str] = []
    for part in parts:
        if isinstance(part, str):
            run.append(part)
            continue
        if any(run):
            found.append("".join(run))
        run = []
        found.append(part)
    if any(run):
        found.append("".join(run))
    return found or [""]
