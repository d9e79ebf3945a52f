"""A place in one line, and how what stands there is reported.

Everything that reads a line is built on `Cursor`. A line has at most one syntax error: after the first, `report` is
silent for it. `Stop` leaves a line that cannot be read further; it never leaves the parser.
"""

from __future__ import annotations

from typing import NoReturn

from .diagnostics import Fix, Problems, Related
from .hints import FOREIGN_INFIXES, FOREIGN_SIGNS, FOREIGN_UNITS, near
from .layout import Line
from .lexer import capital_name, small_name
from .source import Source
from .tokens import Token
from .tree import Name, Qualified, Span
from .words import EFFECT_STARTS, HARD_WORDS, UNITS

#: longest user text in a message
_SHOWN = 40

#: at most so many legal words are listed where none is near
_LISTED = 8

#: what a comment without its `#` is made of
_PROSE = frozenset(("word", "capital", ".", ","))

#: what an effect is called, by the word with which it begins
_EFFECTS = {"call": "a call", "ask": "a question", "human": "a review", "parallel": "a group"}


class Stop(Exception):
    """The rest of the line cannot be read. It was reported."""


class Cursor:
    """Reads the tokens of a line from left to right."""

    __slots__ = ("at", "line", "problems", "source", "token", "tokens")

    def __init__(self, source: Source, problems: Problems, line: Line):
        self.source = source
        self.problems = problems
        self.line = line
        self.tokens = line.tokens
        self.at = 0
        self.token = line.tokens[0]

    # --- moving --------------------------------------------------------------------------------------------------

    def advance(self) -> Token:
        """The token here; the cursor goes to the next one, but never beyond the last."""
        token = self.token
        if self.at + 1 < len(self.tokens):
            self.at += 1
            self.token = self.tokens[self.at]
        return token

    def peek(self, distance: int = 1) -> Token:
        """A later token; the last one where the line is shorter."""
        return self.tokens[min(self.at + distance, len(self.tokens) - 1)]

    @property
    def last_end(self) -> int:
        """Where the token before the cursor ends."""
        return self.tokens[self.at - 1].end if self.at else self.token.start

    @property
    def at_end(self) -> bool:
        """Whether nothing more stands in the line."""
        return self.token.kind == "end"

    def skip_line(self) -> None:
        """Go to the end of the line."""
        self.at = len(self.tokens) - 1
        self.token = self.tokens[self.at]

    def is_word(self, text: str) -> bool:
        """Whether this word is at the cursor."""
        return self.token.kind == "word" and self.token.text == text

    def accept_word(self, text: str) -> bool:
        """Go over this word; whether it was there."""
        if self.token.kind == "word" and self.token.text == text:
            self.advance()
            return True
        return False

    def accept(self, kind: str) -> bool:
        """Go over a token of this kind; whether it was there."""
        if self.token.kind == kind:
            self.advance()
            return True
        return False

    def expect_word(self, text: str, label: str = "") -> Token:
        """Go over this word, or leave the line: ``label`` says what to write."""
        if self.is_word(text):
            return self.advance()
        return self.fail(f"`{text}`", label)

    def expect(self, kind: str, label: str = "") -> Token:
        """Go over a token of this kind, or leave the line: ``label`` says what to write."""
        if self.token.kind == kind:
            return self.advance()
        return self.fail(f"`{kind}`", label)

    @staticmethod
    def goes_on_behind(token: Token) -> bool:
        """Whether a line that ends in this token was meant to go on: an operator wants a value."""
        return token.kind in ("+", "-", "*", "/", "<", "<=", ">", ">=") or (
            token.kind == "word" and token.text in ("and", "or", "div", "mod", "otherwise")
        )

    # --- names ---------------------------------------------------------------------------------------------------

    def value_name(self, what: str, *, hidden: bool = False) -> Name:
        """The small name of a value: no hard word, and `_name` only where ``hidden``."""
        token = self.token
        if token.kind == "word":
            if token.text in HARD_WORDS:
                self.report(
                    "TB1010", f"`{token.text}` is a word of the language and names no value", token, "use another name"
                )
            self.advance()
            return name_of(token)
        if token.kind == "hidden":
            if not hidden:
                self.report("TB1010", f"`{token.text}` begins with `_`", token, "only the name of a `let` begins so")
            self.advance()
            return name_of(token)
        if token.kind == "capital":
            small = small_name(token.text) or token.text[0].lower() + token.text[1:]
            self.report("TB1010", f"{what} begins with a small letter", token, f"write `{small[:_SHOWN]}`")
            self.advance()
            return name_of(token)
        return self.fail(what)

    def capital_name(self, what: str) -> Name:
        """The name of a declaration, type or variant."""
        token = self.token
        if token.kind == "capital":
            self.advance()
            return name_of(token)
        if token.kind in ("word", "hidden") and token.text.strip("_"):
            meant = capital_name(token.text)
            self.report("TB1010", f"{what} begins with a capital letter", token, f"write `{meant[:_SHOWN]}`")
            self.advance()
            return name_of(token)
        return self.fail(what)

    def any_word(self, what: str) -> Name:
        """A word of any kind: the name of a field or argument."""
        token = self.token
        if token.kind == "word":
            self.advance()
            return name_of(token)
        if token.kind in ("capital", "hidden"):
            return self.value_name(what)
        return self.fail(what)

    def qualified(self, what: str) -> Qualified:
        """`Pay` or `m.Pay`."""
        path: list[Name] = []
        while self.token.kind == "word" and self.peek().kind == ".":
            path.append(name_of(self.advance()))
            self.advance()
        name = self.capital_name(what)
        return Qualified(Span(path[0].span.start if path else name.span.start, name.span.end), path, name)

    # --- reporting -----------------------------------------------------------------------------------------------

    def report(
        self,
        code: str,
        title: str,
        place: Token | Span,
        label: str = "",
        *,
        related: tuple[Related, ...] = (),
        help: str | None = None,
        candidates: tuple[str, ...] = (),
        fix: str | None = None,
    ) -> None:
        """Add a problem, unless the line has one. ``fix`` replaces the place itself."""
        if self.line.bad:
            return
        self.line.bad = True
        span = place if isinstance(place, Span) else Span(place.start, place.end)
        self.problems.add(
            code, title, self.source, span, label, related=related, help=help, candidates=candidates,
            fix=None if fix is None else Fix(span, fix),
        )  # fmt: skip

    def stop(self, code: str, title: str, place: Token | Span, label: str = "", *, help: str | None = None) -> NoReturn:
        """Report and leave the line."""
        self.report(code, title, place, label, help=help)
        raise Stop

    def fail(self, expected: str, label: str = "") -> NoReturn:
        """Report that something else was expected here, with the hint that fits what was found, and leave the line."""
        token = self.token
        if token.kind in FOREIGN_SIGNS and token.kind not in ("=", ":"):
            self.foreign_sign(token)
        elif token.kind == "word" and token.text in EFFECT_STARTS:
            self.effect_inside(token)
        else:
            if token.kind == "text" and expected.startswith("the name of"):
                label = label or "write it without quotes"
            self.report("TB2006", f"expected {expected}, found {found(token)}", token, label or f"put {expected} here")
        raise Stop

    def foreign_sign(self, token: Token, *, pad: bool = False) -> None:
        """`==` and its like; ``pad`` keeps blanks around the word that replaces it."""
        hint = FOREIGN_SIGNS[token.kind]
        fix = None
        label = hint.label
        if token.kind == "%" and self.at > 1 and self.tokens[self.at - 2].kind in ("text", "block"):
            label = 'a value is put into a text: `"… {x}"`'  # `"%s" % x`
        elif hint.exact and hint.meant is not None and not (pad and token.kind == "!"):
            text = self.source.text
            before = "" if not pad or text[token.start - 1 : token.start] in (" ", "") else " "
            after = "" if text[token.end : token.end + 1] in (" ", "") else " "
            fix = f"{before}{hint.meant}{after}"
        self.report("TB2008", f"`{token.text}` is the spelling of another language", token, label, fix=fix)

    def effect_inside(self, token: Token) -> None:
        """Report a call, question, review or group in the middle of an expression."""
        label = "bind it with `let` on a line before"
        if self.source.text.startswith(".approve", token.end):
            label = "put it on a line of its own: it gives nothing"
        self.report(
            "TB2012", f"`{token.text}` stands inside an expression", token, label,
            help=f"{_EFFECTS[token.text]} is a whole line or the whole right side of `let`, `var`, `set` or `give`",
        )  # fmt: skip

    def foreign_here(self) -> bool:
        """Report a spelling of other languages that goes on behind a value; whether there is one."""
        token = self.token
        before = self.tokens[self.at - 1]
        if token.kind in FOREIGN_SIGNS and token.kind != ":":
            self.foreign_sign(token, pad=True)
        elif token.kind in ("text", "block") and before.kind in ("text", "block"):
            self.report("TB2011", "two texts stand side by side", token, "join them with `+`, or write one text")
        elif token.kind != "word":
            return False
        elif token.text in EFFECT_STARTS:
            self.effect_inside(token)
        elif before.kind in ("int", "decimal", "float") and (unit := unit_of(token.text)):
            self.report(
                "TB1011", f"`{token.text}` is not a unit of time", token, f"write it in `{unit}`",
                candidates=("seconds", "minutes", "hours", "days"),
            )  # fmt: skip
        elif token.text in FOREIGN_INFIXES:
            hint = FOREIGN_INFIXES[token.text]
            self.report("TB2008", f"`{token.text}` is the spelling of another language", token, hint.label)
        else:
            return False
        return True

    def end_of_line(self) -> None:
        """Report what follows where the line should end, and go to its end."""
        token = self.token
        if token.kind == "end":
            return
        if token.kind == ":":
            last = self.peek().kind == "end"
            label = FOREIGN_SIGNS[":"].label if last else "a block stands on its own deeper lines, without `:`"
            self.report("TB2008", "`:` is the spelling of another language", token, label, fix="" if last else None)
        elif token.kind == "{":
            label = "a block is made by indenting its lines"
            self.report("TB2008", "`{` is the spelling of another language", token, label)
        elif (dashes := self._dashes()) is not None:
            self.report("TB2008", "`--` is the spelling of another language", dashes, "a comment begins with `#`")
        elif not self.foreign_here():
            title = f"{found(token)} follows where the line should end"
            self.report("TB2007", title, token, "remove it, or begin a new line")
        self.skip_line()

    def _dashes(self) -> Span | None:
        """The place of a `--` in the line before the cursor that a blank follows: a comment of another language."""
        for at in range(2, self.at):
            first, second = self.tokens[at - 2], self.tokens[at - 1]
            if first.kind == second.kind == "-" and first.end == second.start < self.tokens[at].start - 1:
                return Span(first.start, second.end)
        return None

    def unknown_word(self, table: tuple[str, ...], place: str, label: str = "") -> None:
        """Report a first word that no line of this kind of block has."""
        token = self.token
        title = f"{found(token)} cannot begin a line here"
        nearest = near(token.text, table) if token.kind in ("word", "capital", "hidden") else None
        if not label and self._is_prose():
            label = "a comment begins with `#`"
        listed = ", ".join(f"`{word}`" for word in table)
        if nearest is not None:
            self.report("TB2005", title, token, f"did you mean `{nearest}`?", candidates=(nearest,))
        elif label:
            self.report("TB2005", title, token, label, candidates=table)
        elif len(table) <= _LISTED:
            self.report(
                "TB2005", title, token, "begin with another word", help=f"{place} has {listed}", candidates=table
            )
        else:
            self.report("TB2005", title, token, f"begin with a word that {place} has", candidates=table)

    def _is_prose(self) -> bool:
        """Whether the line is nothing but words, three at least: a comment whose `#` is missing."""
        kinds = [token.kind for token in self.tokens[:-1]]
        return all(kind in _PROSE for kind in kinds) and sum(kind in ("word", "capital") for kind in kinds) > 2


def name_of(token: Token) -> Name:
    """A token as a name."""
    return Name(Span(token.start, token.end), token.text)


def expected(what: str, token: Token) -> str:
    """The title of a problem where something else was expected."""
    return f"expected {what}, found {found(token)}"


def found(token: Token) -> str:
    """What a token is called in a message."""
    if token.kind == "end":
        return "`}`" if token.text else "the end of the line"
    if token.kind in ("text", "block"):
        return "a text"
    if token.kind == "bad":
        return "something unreadable"
    text = token.text if len(token.text) <= _SHOWN else token.text[:_SHOWN] + "…"
    return f"`{text}`"


def unit_of(word: str) -> str | None:
    """The unit of time that a word of other languages means, or a misspelt one."""
    unit = FOREIGN_UNITS.get(word)
    if unit is None:
        close = near(word, UNITS)
        unit = UNITS[close] if close is not None else None
    return unit
