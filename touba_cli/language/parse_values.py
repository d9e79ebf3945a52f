"""What stands between operators: a name, a literal or brackets, and the steps behind it (`.`, `[…]`, `with`)."""

from __future__ import annotations

from collections.abc import Callable

from . import tree
from .cursor import Stop, name_of
from .hints import FOREIGN_METHODS, FOREIGN_PREFIXES, FOREIGN_VALUES, OUTSIDE_FUNCTIONS
from .parse_nested import NestedReader
from .tokens import Token
from .tree import Expr, Span
from .words import EFFECT_STARTS, HARD_WORDS

_OPENERS = frozenset("([{")
_CLOSERS = frozenset(")]}")
#: longest user text that is repeated in what to write
_SHORT = 24


class ValueReader(NestedReader):
    """Reads values without operators around them at the cursor."""

    __slots__ = ()

    # --- a value and its steps -----------------------------------------------------------------------------------

    def postfix(self) -> Expr:
        """Like `value`, without operators: what `human.review` shows."""
        return self._whole(self._postfix)

    def literal(self, what: str) -> Expr:
        """A number, date or duration with or without a minus, a text, `true` or `false`."""
        token = self.token
        if token.kind == "-":
            self.advance()
            self._negative_at = self.at
            if self.token.kind not in ("int", "decimal", "float"):
                self.fail("a number")
            value = self.number()
            return tree.Prefix(Span(token.start, self.last_end), "-", value, Span(token.start, token.end))
        if token.kind in ("int", "decimal", "float"):
            return self.number()
        if token.kind in ("text", "block"):
            return self.text()
        if token.kind == "word" and token.text in ("date", "datetime", "true", "false", "raw"):
            return self._hard_word(token, Span(token.start, token.end))
        if token.text in FOREIGN_VALUES and token.kind in ("word", "capital"):
            return self._foreign_value(token, Span(token.start, token.end))
        return self.fail(what)

    def _postfix(self) -> Expr:
        start = self.token.start
        token = self.token
        if token.kind == "word" and self.peek().kind == "(" and token.text not in HARD_WORDS:
            value = self._built_in()
        else:
            read = _PRIMARIES.get(token.kind)
            value = read(self) if read is not None else self._no_value()
        steps = 0
        while True:
            kind = self.token.kind
            steps += 1
            self._bound(steps)
            if kind == ".":
                value = self._dot(start, value)
            elif kind == "[":
                self._open()
                at = self.expression()
                if self.token.kind == ":":
                    self.stop(
                        "TB2008",
                        "`:` is the spelling of another language",
                        self.token,
                        "a part is written `slice(x, a, b)`",
                    )
                self._close("]")
                value = tree.Index(Span(start, self.last_end), value, at)
            elif kind == "word" and self.token.text == "with":
                self.advance()
                if self.token.kind != "(":
                    self.fail("`(`", "changes stand in brackets: `a with (b: 1)`")
                changes = self.arguments()
                value = tree.With(Span(start, self.last_end), value, changes)
            elif kind == "(":
                self.stop(
                    "TB2011",
                    "a value cannot be called",
                    self.token,
                    "remove the brackets, or put an operator before them",
                )
            else:
                return value

    def _dot(self, start: int, value: Expr) -> Expr:
        self.advance()
        token = self.token
        if token.kind == "word":
            self.advance()
            if self.token.kind == "(":
                self.stop(
                    "TB2011", "values have no functions of their own", Span(token.start, self.token.start),
                    OUTSIDE_FUNCTIONS.get(token.text) or f"write `{self.as_function(start)}`",
                )  # fmt: skip
            return tree.Field(Span(start, token.end), value, name_of(token))
        if token.kind == "capital":
            path = _path(value)
            if path is None:
                self.stop("TB1010", "a field begins with a small letter", token, "write the name of a field")
            self.advance()
            arguments = self.arguments() if self.token.kind == "(" else None
            return tree.Capital(Span(start, self.last_end), path, name_of(token), arguments)
        return self.fail("the name of a field")

    def as_function(self, start: int) -> str:
        """How `x.f(a)` is written here; the cursor is at the bracket, and the value begins at ``start``."""
        text = self.source.text
        name = self.tokens[self.at - 1]
        value = text[start : self.tokens[self.at - 2].start]
        depth = 0
        end = len(self.tokens) - 1
        for at in range(self.at, len(self.tokens)):
            depth += (self.tokens[at].kind in _OPENERS) - (self.tokens[at].kind in _CLOSERS)
            if depth == 0:
                end = at
                break
        arguments = text[self.token.end : self.tokens[end].start].strip()
        value = value if len(value) <= _SHORT and "\n" not in value else "…"
        arguments = arguments if len(arguments) <= _SHORT and "\n" not in arguments else "…"
        pattern = FOREIGN_METHODS.get(name.text)
        if pattern is not None:
            return pattern.replace("{x}", value).replace("{a}", arguments or "…")
        return f"{name.text[:40]}({value}{', ' if arguments else ''}{arguments})"

    # --- what a value begins with --------------------------------------------------------------------------------

    def _word(self) -> Expr:
        token = self.token
        word = token.text
        span = Span(token.start, token.end)
        if word in HARD_WORDS:
            return self._hard_word(token, span)
        hint = FOREIGN_VALUES.get(word)
        if hint is not None:
            return self._foreign_value(token, span)
        prefix = FOREIGN_PREFIXES.get(word)
        following = self.peek()
        if prefix is not None and (
            (following.kind in ("word", "capital", "text") and following.text not in HARD_WORDS)
            or (word == "select" and following.kind == "*" and self.peek(2).text == "from")
        ):
            self.stop("TB2008", f"`{word}` is the spelling of another language", token, prefix.label)
        self.advance()
        return tree.Variable(span, word)

    def _hard_word(self, token: Token, span: Span) -> Expr:
        word = token.text
        if word in ("true", "false"):
            self.advance()
            return tree.Literal(span, "bool", word == "true")
        if word == "none":
            self.advance()
            return tree.Literal(span, "none", None)
        if word in ("date", "datetime"):
            return self.date()
        if word == "raw":
            return self.text()
        if word == "call":
            self.effect_inside(token)
            # The call itself is read over, so that what follows it is understood.
            self.advance()
            while self.token.kind in ("word", "capital", "."):
                self.advance()
            if self.token.kind == "(":
                self.arguments()
            return tree.Unknown(Span(token.start, self.last_end))
        if word == "not":
            self.stop("TB2011", "`not` binds looser than what stands before it", token, "put it in brackets: `(not …)`")
        if word in EFFECT_STARTS:
            self.effect_inside(token)
            raise Stop
        if word in ("present", "absent"):
            self.stop("TB2011", f"`{word}` stands only behind `is`", token, f"write `x is {word}`")
        if word == "if":
            self.stop(
                "TB2011", "a choice between two values begins with the first value", token, "write `x if c else y`"
            )
        return self.fail("a value", f"`{word}` is a word of the language and names no value")

    def _foreign_value(self, token: Token, span: Span) -> Expr:
        hint = FOREIGN_VALUES[token.text]
        fix = hint.meant if hint.exact else None
        self.report("TB2008", f"`{token.text}` is the spelling of another language", token, hint.label, fix=fix)
        self.advance()
        if hint.meant in ("true", "false"):
            return tree.Literal(span, "bool", hint.meant == "true")
        return tree.Literal(span, "none", None) if hint.meant else tree.Unknown(span)

    def _capital(self) -> Expr:
        token = self.token
        span = Span(token.start, token.end)
        if token.text in FOREIGN_VALUES and self.peek().kind not in (".", "("):
            return self._foreign_value(token, span)
        self.advance()
        if self.token.kind == "(":
            arguments = self.arguments()
            return tree.Capital(Span(token.start, self.last_end), [], name_of(token), arguments)
        if self.token.kind == "{":
            self.stop(
                "TB2008",
                "`{` is the spelling of another language",
                self.token,
                f"a record is made with brackets: `{token.text[:40]}(name: value)`",
            )
        return tree.Capital(span, [], name_of(token), None)

    def _no_value(self) -> Expr:
        """What stands where a value should."""
        token = self.token
        decrement = self.at >= 2 and self.source.text.endswith("--", 0, token.start)
        ends = token.kind == "end" and not token.text and self.at > 0
        if ends and not decrement and self.goes_on_behind(self.tokens[self.at - 1]):
            title = "expected a value, found the end of the line"
            self.stop("TB2006", title, token, "put a value here; only inside brackets `(…)` does a line go on")
        if token.kind == "bad":
            self.advance()
            return tree.Unknown(Span(token.start, token.end))
        if token.kind == "hidden":
            self.value_name("a value")
            return tree.Variable(Span(token.start, token.end), token.text)
        if token.kind == "end" and decrement:
            place = Span(token.start - 2, token.start)
            self.stop("TB2008", "`--` is the spelling of another language", place, "write `set x = x - 1`")
        return self.fail("a value")


def _path(value: Expr) -> list[tree.Name] | None:
    """The names of `a.b.C`, where a value is nothing but names."""
    names: list[tree.Name] = []
    while isinstance(value, tree.Field):
        names.append(value.name)
        value = value.of
    if isinstance(value, tree.Variable):
        names.append(tree.Name(value.span, value.name))
    elif isinstance(value, tree.Capital) and value.arguments is None:
        names.append(value.name)
        names.extend(reversed(value.path))
    else:
        return None
    names.reverse()
    return names


#: kind of token → what reads the value that begins with it
_PRIMARIES: dict[str, Callable[[ValueReader], Expr]] = {
    "word": ValueReader._word, "capital": ValueReader._capital, "int": ValueReader.number,
    "decimal": ValueReader.number, "float": ValueReader.number, "text": ValueReader.text, "block": ValueReader.text,
    "(": ValueReader._bracketed, "[": ValueReader._list, "{": ValueReader._map,
}  # fmt: skip
