"""Bytes → text → tokens.

`read_source` checks size and encoding, `tokenize` makes tokens. One compiled expression finds nearly all of them; texts
with escapes or interpolations and everything wrong go a careful way in `texts.py` and below. At most one problem is
reported for a line; lines with problems are remembered, so that the parser adds nothing about them.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ..limits import SOURCE_BYTES
from .diagnostics import Fix, Problems, Related
from .hints import BLANKS, FOREIGN_METHODS, FOREIGN_SIGNS, FOREIGN_UNITS, LETTERS, LOOK_ALIKES, QUOTES, TEXT_PREFIXES
from .source import Source
from .texts import TextReader
from .tokens import Token, code_point
from .tree import Span


def read_source(path: str, data: bytes, problems: Problems) -> Source | None:
    """The source file in these bytes, or None after reporting that it is too large or not UTF-8.

    One byte order mark at the beginning is skipped; it belongs to no line.
    """
    if len(data) > SOURCE_BYTES:
        problems.add(
            "TB9001", f"the source file has more than {SOURCE_BYTES:,} bytes", Source(path, ""), Span(0, 0),
            "split this file into modules",
        )  # fmt: skip
        return None
    mark = 3 if data.startswith(b"\xef\xbb\xbf") else 0
    try:
        return Source(path, data[mark:].decode("utf-8"))
    except UnicodeDecodeError as error:
        offset = error.start + mark
        before = data[mark:offset].decode("utf-8")
        source = Source(path, before + data[offset:].decode("utf-8", "replace"))
        problems.add(
            "TB1001", f"byte 0x{data[offset]:02X} at offset {offset} is not UTF-8", source,
            Span(len(before), len(before) + 1), "save the file as UTF-8",
        )  # fmt: skip
        return None


def tokenize(source: Source, problems: Problems) -> Lexed:
    """All tokens of a file, with comments and line ends, in their order; the last has the kind ``end``."""
    lexer = Lexer(source, problems)
    lexer.check_characters()
    tokens: list[Token] = []
    lexer.read(tokens, 0, len(source.text), nested=False)
    lexer.report_tabs()
    end = len(source.text)
    tokens.append(Token("end", "", end, end))
    return Lexed(tokens, sorted(lexer.spoiled), lexer.tab_indented, lexer.cuts)


class Lexed:
    """The tokens of a file, and what the layout must know about them.

    ``spoiled``: numbers of the lines in which something was reported. ``tab_indented``: columns mean nothing, because
    there are tabs among them. ``cuts``: offsets of tokens that swallowed the rest of their line by mistake.
    """

    __slots__ = ("cuts", "spoiled", "tab_indented", "tokens")

    def __init__(self, tokens: list[Token], spoiled: list[int], tab_indented: bool, cuts: set[int]):
        self.tokens = tokens
        self.spoiled = spoiled
        self.tab_indented = tab_indented
        self.cuts = cuts


#: control characters and marks that turn the direction of text; a lone carriage return too
_FORBIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x85\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]|\r(?!\n)"
)

_TOKEN = re.compile(
    r"""[ ]*(?:
      (?P<word>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<newline>\r?\n)
    | (?P<text>"(?!"")[^"\\{\r\n]*")
    | (?P<sign>[(),\[\]{}]|===|!==|==|!=|<=|>=|<>|<<|>>|&&|\|\||\*\*|//|/\*|\+\+|[-+*/%]=|->|=>|:=|\?\?|\?\.|\.\.\.?
              |[-+*/%!&|?;<>=.:])
    | (?P<number>[0-9](?:[eE][+-](?=[0-9])|\.(?=[0-9])|[A-Za-z0-9_])*)
    | (?P<comment>\#[^\n]*)
    | (?P<quote>"(?:"")?)
    | (?P<other>.)
    | (?P<done>\Z)
    )""",
    re.VERBOSE | re.DOTALL,
)

_GOOD_SIGNS = frozenset(["(", ")", "[", "]", "{", "}", ",", ".", ":", "+", "-", "*", "/", "<", "<=", ">", ">=", "="])
_NUMBER = re.compile(
    r"(?:0|[1-9][0-9]*)(?:_[0-9]+)*(?P<point>\.[0-9]+(?:_[0-9]+)*)?(?P<exponent>e[+-]?[0-9]+)?(?P<float>f)?"
)

# Signs with an ASCII meaning end a run of strange characters.
_KNOWN = re.escape("".join(each for each in (*LOOK_ALIKES, *QUOTES, *BLANKS) if not each.isascii()))
_LETTERS_RUN = re.compile(rf"(?:[A-Za-z0-9_]|[^\x00-\x7f{_KNOWN}])+")
_STRANGE_RUN = re.compile(rf"[^\x00-\x7f{_KNOWN}]+")
#: what means something else in an `f"…"`: doubled braces, conversions and formats
_PYTHON_BRACES = re.compile(r"\{\{|\}\}|\{[^}]*[!:]")


class Lexer:
    """Reads the tokens of one file from left to right."""

    def __init__(self, source: Source, problems: Problems):
        self.source = source
        self.text = source.text
        self.problems = problems
        self.spoiled: set[int] = set()
        self.cuts: set[int] = set()
        self.tab_indented = False
        self._tabs: list[int] = []
        self._tab_count = 0
        self._names: set[str] = set()
        self._no_comment_end = False
        self._holding = False
        self._held: Callable[[], None] | None = None
        self._texts = TextReader(self)

    # --- reporting -----------------------------------------------------------------------------------------------

    def report(
        self, code: str, title: str, start: int, end: int, label: str = "", *, help: str | None = None,
        fix: str | None = None, related: tuple[Related, ...] = (), spoils: bool = True,
    ) -> None:  # fmt: skip
        """Add a problem, unless its line has one.

        ``fix`` replaces the place itself; where it ``spoils`` the line, nothing more is said about that.
        """
        if self._holding:
            if self._held is None:
                self._held = lambda: self.report(
                    code, title, start, end, label, help=help, fix=fix, related=related, spoils=spoils
                )
            return
        number = self.source.position(start)[0]
        if number in self.spoiled:
            return
        if spoils:
            self.spoiled.add(number)
        span = Span(start, end)
        self.problems.add(
            code, title, self.source, span, label, help=help, related=related,
            fix=None if fix is None else Fix(span, fix),
        )  # fmt: skip

    def hold(self) -> None:
        """Keep the next problem back: whether it is the cause is known at the end of the interpolation."""
        self._holding = True
        self._held = None

    def release(self, *, keep: bool) -> None:
        """Report what was kept back, or drop it."""
        self._holding = False
        if keep and self._held is not None:
            self._held()

    def check_characters(self) -> None:
        """Report what may stand nowhere in a file, the first of every line."""
        for match in _FORBIDDEN.finditer(self.text):
            start = match.start()
            character = match.group()
            if character == "\r":
                title = "a carriage return (U+000D) stands without a line feed"
                label = "end lines with a line feed"
            else:
                title = f"the character {code_point(character)} is not allowed in a program"
                label = f"remove it; in a text it is written `\\u{{{ord(character):X}}}`"
            self.report("TB1002", title, start, start + 1, label)

    def report_tabs(self) -> None:
        """One problem for all tabs of the file."""
        if not self._tabs:
            return
        first = self._tabs[0]
        more = self._tab_count - 1
        self.problems.add(
            "TB1004", "a tab is used outside text", self.source, Span(first, first + 1), "use spaces",
            help=f"this file has {more} more {'tab' if more == 1 else 'tabs'}" if more else None,
        )  # fmt: skip

    # --- tokens --------------------------------------------------------------------------------------------------

    def read(self, tokens: list[Token], at: int, limit: int, *, nested: bool, depth: int = 0) -> int:
        """Append the tokens from ``at`` on and return the offset behind the last one.

        With ``nested`` it reads an interpolation: up to its closing brace (which becomes no token), and the result is
        -1 where the line ends first. ``depth`` counts the interpolations around it.
        """
        text = self.text
        find = _TOKEN.match
        append = tokens.append
        braces = 0
        while True:
            match = find(text, at, limit)
            if match is None:  # nothing but blanks before the limit
                return -1 if nested else limit
            kind = match.lastgroup
            start, end = match.span(kind)  # type: ignore[arg-type]
            if kind == "word":
                word = text[start:end]
                if word.islower() and word[0] != "_":
                    append(Token("word", word, start, end))
                elif word.isalnum() and word[0].isupper():
                    append(Token("capital", word, start, end))
                else:
                    append(self._odd_name(word, start, end))
            elif kind == "sign":
                sign = text[start:end]
                if sign not in _GOOD_SIGNS or (sign == "." and text[end : end + 1].isdigit()):
                    at = self._foreign(tokens, start, end, limit, nested)
                    continue
                if nested:
                    if sign == "{":
                        braces += 1
                    elif sign == "}":
                        if not braces:
                            return end
                        braces -= 1
                append(Token(sign, sign, start, end))
            elif kind == "newline":
                if nested:
                    return -1
                append(Token("newline", "\n", start, end))
            elif kind == "text":
                append(Token("text", text[start:end], start, end, [text[start + 1 : end - 1]]))
                if start and text[start - 1].isalpha():
                    self._check_prefix(tokens, start)
            elif kind == "number":
                append(self._number(start, end))
            elif kind == "comment":
                if nested:
                    return -1
                body = text[start:end].removesuffix("\r")
                append(Token("doc" if body.startswith("##") else "comment", body, start, start + len(body)))
                end = start + len(body)
            elif kind == "quote":
                token = self._texts.read(tokens, start, end, limit, depth, nested)
                if token is None:
                    return -1
                append(token)
                if start and text[start - 1].isalpha():
                    self._check_prefix(tokens, start)
                end = token.end
            elif kind == "other":
                end = self._other(tokens, start, limit)
            else:
                return -1 if nested else end
            at = end

    def _odd_name(self, word: str, start: int, end: int) -> Token:
        """A word in neither style of names: `_x` (a kind of its own), `fooBar`, `Foo_Bar`."""
        if word == "_" or (word[0] == "_" and word[1:2].islower() and word.islower()):
            return Token("hidden", word, start, end)
        constant = word.isupper()  # MAX_ITEMS: a value elsewhere
        kind = "capital" if word.lstrip("_")[:1].isupper() and not constant else "word"
        around = self.text[start - 1 : start] + self.text[end : end + 1]
        if around == ".(" and word in FOREIGN_METHODS:
            return Token(kind, word, start, end)  # the parser says what to write for `s.toUpperCase()`
        if word not in self._names:
            self._names.add(word)
            wanted = capital_name(word) if kind == "capital" else small_name(word)
            self.report(
                "TB1010", f"`{word}` is not written as names are", start, end,
                f"write `{wanted}`" if wanted else "",
                help="values are written `like_this`, types and declarations `LikeThis`",
            )  # fmt: skip
        return Token(kind, word, start, end)

    def _check_prefix(self, tokens: list[Token], start: int) -> None:
        """`f"…"` and its like: the word before a text, without a blank between them."""
        if len(tokens) < 2:
            return
        prefix = tokens[-2]
        label = TEXT_PREFIXES.get(prefix.text.lower())
        if label is None or prefix.end != start:
            return
        text = tokens.pop()
        tokens[-1] = text
        self.report(
            "TB2008", f"`{prefix.text}\"…\"` is the spelling of another language", prefix.start, prefix.end, label,
            fix="" if prefix.text == "f" and _PYTHON_BRACES.search(text.text) is None else None,
        )  # fmt: skip

    def _number(self, start: int, end: int) -> Token:
        raw = self.text[start:end]
        match = _NUMBER.fullmatch(raw)
        if match is not None:
            digits = raw.replace("_", "")
            if match["float"]:
                return Token("float", raw, start, end, digits[:-1])
            if match["exponent"] is None:
                if match["point"]:
                    return Token("decimal", raw, start, end, digits)
                following = self.text[end + 1 : end + 2]
                if self.text[end : end + 1] == "." and not following.isalpha() and following != ".":
                    self.report("TB1007", f"`{raw}.` is not a number", start, end + 1, f"write `{raw}.0` or `{raw}`")
                return Token("int", raw, start, end, digits)
        before = self.text[max(start - 2, 0) : start]
        label = _number_label(raw)
        if len(raw) == 3 and raw.isdecimal() and len(before) == 2 and before[0].isdecimal() and before[1] == ",":
            label = "thousands are separated by `_`: `10_000`"
        self.report("TB1007", f"`{raw[:40]}` is not a number", start, end, label)
        return Token("bad", raw, start, end)

    def _foreign(self, tokens: list[Token], start: int, end: int, limit: int, nested: bool) -> int:
        """Signs that Touba does not have. Most become tokens: the parser knows what they were meant for."""
        text = self.text
        sign = text[start:end]
        if sign == ";" and not nested and not text[end : self.line_end(end, limit)].strip():
            # Nothing is lost by it, so the rest of the line is still read.
            title = "`;` is the spelling of another language"
            self.report("TB2008", title, start, end, FOREIGN_SIGNS[sign].label, fix="", spoils=False)
            return end
        if sign in ("//", ";") and not nested:
            # What follows on the line is a comment or another statement: neither can be read here.
            self._report_sign(sign, start, end)
            end = self.line_end(end, limit)
            if sign == ";" and any(text.find(closer, start, end) >= 0 for closer in ")]}"):
                self.cuts.add(start)
            tokens.append(Token("bad", text[start:end], start, end))
            return end
        if sign == "/*" and not nested:
            self._report_sign(sign, start, end)
            close = -1 if self._no_comment_end else text.find("*/", end, limit)
            self._no_comment_end = close < 0
            end = close + 2 if close >= 0 else self.line_end(end, limit)
            tokens.append(Token("bad", text[start:end], start, end))
            return end
        if sign == ".":  # `.5`
            number = _TOKEN.match(text, end, limit)
            stop = number.end() if number else end
            if nested and tokens and tokens[-1].kind == ":":  # `{amount:.2f}`
                tokens.append(Token(".", ".", start, end))
                return end
            self.report(
                "TB1007", f"`{text[start:stop][:40]}` is not a number", start, stop, "write `0` before the point"
            )
            tokens.append(Token("bad", text[start:stop], start, stop))
            return stop
        tokens.append(Token(sign, sign, start, end))
        return end

    def _report_sign(self, sign: str, start: int, end: int) -> None:
        behind = self.text[end : self.line_end(end, len(self.text))].split()
        label = FOREIGN_SIGNS[sign].label
        if sign == "//":
            # A comment begins a line or has words; what is divided by is a number or stands in brackets.
            first = not self.text[self.text.rfind("\n", 0, start) + 1 : start].strip()
            if first or (len(behind) > 1 and all(word.isalpha() for word in behind[:2])):
                label = "a comment begins with `#`"
            elif behind and not behind[0][0].isalpha():
                label = "whole division is written `div`"
        self.report("TB2008", f"`{sign}` is the spelling of another language", start, end, label)

    def _other(self, tokens: list[Token], start: int, limit: int) -> int:
        """A character that begins no token."""
        character = self.text[start]
        if character == "\t":
            return self._tab(start, limit)
        if _FORBIDDEN.match(self.text, start):
            return start + 1  # reported by `check_characters`
        if character == "'" or character in QUOTES:
            return self._foreign_quote(tokens, character, start, limit)
        if character == "\\":
            self._report_sign("\\", start, start + 1)
            line_end = self.line_end(start, limit)
            if self.text[start + 1 : line_end].strip():
                return start + 1
            return min(line_end + 1, limit)  # the next line goes on, as was meant
        if character in BLANKS:
            self._strange(
                start, start + 1, f"a {BLANKS[character]}", "use a space" if character < "\u2060" else "", " "
            )
            return start + 1
        meant = LOOK_ALIKES.get(character)
        if meant is not None:
            self._strange(start, start + 1, f"`{character}`", f"write `{meant}`", meant if len(meant) == 1 else None)
            if meant != "`":
                tokens.append(Token(meant, meant, start, start + 1))
            return start + 1
        if character.isascii():
            self.report("TB1003", f"`{character}` is not a sign of the language", start, start + 1, "remove it")
            return start + 1
        return self._strange_letters(tokens, start, limit)

    def _strange(self, start: int, end: int, what: str, label: str, fix: str | None = None) -> None:
        character = self.text[start]
        self.report(
            "TB1003",
            f"{what} ({code_point(character)}) is only allowed in texts and comments",
            start,
            end,
            label,
            fix=fix,
        )

    def _strange_letters(self, tokens: list[Token], start: int, limit: int) -> int:
        """A word with letters that are not ASCII, or other signs of the world."""
        begin = start
        if tokens and tokens[-1].end == start and tokens[-1].kind in ("word", "capital", "hidden", "bad"):
            begin = tokens[-1].start
        character = self.text[start]
        if not (character.isalnum() or begin != start):
            end = _end(_STRANGE_RUN, self.text, start, limit)
            self._strange(start, start + 1, f"`{character}`" if character.isprintable() else "a character", "remove it")
            tokens.append(Token("bad", self.text[start:end], start, end))
            return end
        end = _end(_LETTERS_RUN, self.text, start, limit)
        if begin != start:
            tokens.pop()
        word = self.text[begin:end]
        plain = "".join(LETTERS.get(letter, letter) for letter in word)
        if plain.isascii():
            label = f"write `{plain}` with the letter `{LETTERS.get(character, character)}`"
            fix = plain
        else:
            label = "names have the letters a to z"
            fix = None
        if word not in self._names:
            self._names.add(word)
            shown = f"`{character}`" if character.isprintable() else "a character"
            title = f"{shown} ({code_point(character)}) is only allowed in texts and comments"
            self.report("TB1003", title, begin, end, label, fix=fix)
        kind = "capital" if plain[:1].isupper() else "word"
        tokens.append(Token(kind, plain, begin, end))
        return end

    def _foreign_quote(self, tokens: list[Token], quote: str, start: int, limit: int) -> int:
        """`'text'` and texts in curly quotes: read to the closing quote, else to the end of the line."""
        if self.text.startswith("'''", start):
            return self._foreign_block(tokens, start, limit)
        line_end = self.line_end(start, limit)
        closing = {"'": "'"}.get(quote)
        end = start + 1
        while end < line_end and not (
            self.text[end] == closing if closing else self.text[end] in QUOTES or self.text[end] == '"'
        ):
            end += 1
        body = self.text[start + 1 : end]
        closed = end < line_end
        end = end + 1 if closed else line_end
        fix = f'"{body}"' if closed and not set(body) & set('"\\{') else None
        if quote == "'" and tokens and tokens[-1].end == start and tokens[-1].text.lower() in TEXT_PREFIXES:
            prefix = tokens.pop()  # `f'…'` is one mistake
            written = f'"{body}"' if len(body) < 60 and '"' not in body else '"…"'
            title = f"`{prefix.text}'…'` is the spelling of another language"
            self.report("TB2008", title, prefix.start, end, f"write `{written}`")
        elif quote == "'":
            self.report(
                "TB2008",
                "a text has double quotes",
                start,
                end,
                f"write `{fix}`" if fix and len(fix) < 60 and "`" not in fix else 'write `"…"`',
                fix=fix,
            )
        else:
            self.report(
                "TB1003", f"`{quote}` ({code_point(quote)}) is only allowed in texts and comments", start,
                end if fix else start + 1, 'write `"`', fix=fix,
            )  # fmt: skip
        if not closed:
            self.cuts.add(start)
        tokens.append(Token("bad", self.text[start:end], start, end))
        return end

    def _foreign_block(self, tokens: list[Token], start: int, limit: int) -> int:
        """`'''text'''`: read to the closing quotes, else to the end of the line."""
        end = self.text.find("'''", start + 3, limit)
        end = self.line_end(start, limit) if end < 0 else end + 3
        self.report("TB2008", "a text block has double quotes", start, start + 3, 'write `"""`')
        tokens.append(Token("bad", self.text[start:end], start, end))
        return end

    def _tab(self, start: int, limit: int) -> int:
        end = start
        while end < limit and self.text[end] == "\t":
            end += 1
        self._tab_count += end - start
        if not self._tabs:
            self._tabs.append(start)
        before = start - 1
        while before >= 0 and self.text[before] == " ":
            before -= 1
        if before < 0 or self.text[before] in "\n\t":
            self.tab_indented = True
        return end

    def line_end(self, at: int, limit: int) -> int:
        """The offset of the line end behind ``at``, without its carriage return."""
        end = self.text.find("\n", at, limit)
        if end < 0:
            return limit
        return end - 1 if end > at and self.text[end - 1] == "\r" else end


def _end(run: re.Pattern[str], text: str, start: int, limit: int) -> int:
    match = run.match(text, start, limit)
    return match.end() if match else start + 1


def _number_label(raw: str) -> str:
    """What to write instead of a wrong number."""
    lower = raw.lower()
    if lower.startswith(("0x", "0b", "0o")):
        return "write the number with the digits 0 to 9 in base ten"
    if re.fullmatch(r"[0-9][0-9_.]*e[+-]?[0-9]+", lower):
        return f"a Float ends in `f`: `{lower[:40]}f`"
    if re.fullmatch(r"0[0-9_]+", raw) or re.fullmatch(r"0[0-9_]+\.[0-9]+", raw):
        return "remove the zeros in front"
    if "_" in raw and not re.search("[A-Za-z]", raw):
        return "`_` stands between two digits"
    if raw.count(".") > 1:
        return "a number has one point"
    if re.fullmatch(r"[0-9_]+[a-z]+", raw):
        digits = raw.rstrip("abcdefghijklmnopqrstuvwxyz")
        unit = raw[len(digits) :]
        if unit in ("ms", "milliseconds"):
            return "the smallest unit is `seconds`"
        if unit in FOREIGN_UNITS and FOREIGN_UNITS[unit][0] == unit[0]:
            return f"write `{digits[:40]} {FOREIGN_UNITS[unit]}`"
        return f"put a space behind the digits: `{digits[:40]} {unit[:40]}`"
    return "numbers are written `42`, `1_000`, `12.50` or `1e-3f`"


def small_name(word: str) -> str:
    """`fooBar` → `foo_bar`; empty where no name remains."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", word).lower().strip("_")
    return name if re.fullmatch(r"[a-z][a-z0-9_]*", name) else ""


def capital_name(word: str) -> str:
    """`foo_bar` → `FooBar`; empty where no name remains."""
    name = "".join(part[:1].upper() + part[1:] for part in word.split("_") if part)
    return name if re.fullmatch(r"[A-Z][A-Za-z0-9]*", name) else ""


__all__ = ["Lexed", "Lexer", "Token", "capital_name", "read_source", "small_name", "tokenize"]
