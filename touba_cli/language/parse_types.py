"""Types, constraints, and lists of `name as Type`."""

from __future__ import annotations

from ..limits import BRACKET_DEPTH
from . import tree
from .cursor import Stop, name_of
from .hints import FOREIGN_BOUNDS, FOREIGN_CONSTRAINTS, FOREIGN_TYPES, near
from .lexer import capital_name
from .parse_expr import ExpressionReader
from .tokens import Token
from .tree import Name, Span, Type
from .words import CONSTRAINT_WORDS, GENERIC_WORDS, HARD_WORDS


class LineReader(ExpressionReader):
    """Reads everything that stands in a line."""

    __slots__ = ("_levels",)

    def type(self) -> Type:
        """A type with its constraints; `UnknownType`, with the rest of the line skipped, where it cannot be read."""
        start = self.token.start
        self._levels = 0
        try:
            return self._type()
        except Stop:
            self.skip_line()
            return tree.UnknownType(Span(start, max(start, self.token.end)))

    def _type(self) -> Type:
        """Constraints bind to the outermost type: `List of Text length max 9` has nine Texts at most."""
        start = self.token.start
        of = self._plain_type()
        constraints: list[tree.Constraint] = []
        while True:
            self._misspelt_constraint()
            if self.token.kind == "word" and self.token.text in CONSTRAINT_WORDS:
                constraints.append(self._constraint())
            elif self.token.kind in FOREIGN_BOUNDS and self.peek().kind not in ("capital", "word"):
                constraints.append(self._foreign_bound())
            else:
                break
        if self.token.kind in ("<", "[", "?", "|"):
            self._foreign_generic(of)
        return tree.ConstrainedType(Span(start, self.last_end), of, constraints) if constraints else of

    def _misspelt_constraint(self) -> None:
        """Report a word behind a type that another language has there, or that is nearly one of a constraint.

        It is read on as if a misspelt word were the one that it is near to.
        """
        token = self.token
        if token.kind == "word" and token.text in FOREIGN_CONSTRAINTS:
            title = f"`{token.text}` is the spelling of another language"
            self.stop("TB2008", title, token, FOREIGN_CONSTRAINTS[token.text])
        if token.kind != "word" or token.text in CONSTRAINT_WORDS or self.peek().kind in ("word", "end"):
            return
        meant = near(token.text, CONSTRAINT_WORDS)
        if meant is not None:
            title = f"`{token.text[:40]}` follows where the line should end"
            self.report("TB2007", title, token, f"did you mean `{meant}`?", candidates=(meant,))
            self.token = self.tokens[self.at] = Token("word", meant, token.start, token.end)

    def _plain_type(self) -> Type:
        """`Optional List of Text`: the prefixes, then a name or a type in brackets."""
        prefixes: list[tuple[str, int]] = []
        while True:
            word = self._generic_word()
            if word is None:
                break
            token = self.advance()
            if word != "Optional":
                if not self.is_word("of") and self.token.kind in ("<", "["):
                    self.stop(
                        "TB2008", f"`{self.token.text}` is the spelling of another language", self.token,
                        f"write `{self.meant(self.at - 1)}`",
                    )  # fmt: skip
                self.expect_word("of", f"write `{word} of …`")
            elif self.is_word("of"):
                self.stop("TB2006", "`Optional` has no `of`", self.token, "remove it: `Optional Text`")
            elif self.token.kind in ("<", "["):
                self.stop(
                    "TB2008",
                    f"`{self.token.text}` is the spelling of another language",
                    self.token,
                    f"write `{self.meant(self.at - 1)}`",
                )
            prefixes.append((word, token.start))
            self._deeper()
        value: Type = self._bracketed_type() if self.token.kind == "(" else self._named_type()
        for kind, start in reversed(prefixes):
            value = tree.GenericType(Span(start, self.last_end), kind, value)
        return value

    def _generic_word(self) -> str | None:
        """The word of a type with another one inside, if one stands here; a misspelt one is reported and counts."""
        token, following = self.token, self.peek()
        if token.kind != "capital" or token.text in GENERIC_WORDS:
            return token.text if token.kind == "capital" else None
        if following.kind == "capital":
            meant = near(token.text, ("Optional",))
        elif following.kind == "word" and following.text == "of":
            elsewhere = FOREIGN_TYPES.get(token.text, "").removesuffix(" of …")
            if elsewhere in GENERIC_WORDS:
                title = f"`{token.text}` is the spelling of another language"
                self.report("TB2008", title, token, f"write `{elsewhere} of …`", fix=elsewhere)
                return elsewhere
            meant = near(token.text, GENERIC_WORDS)
        else:
            return None
        if meant is not None:
            title = f"`{token.text[:40]}` is no type that holds another one"
            self.report("TB2006", title, token, f"did you mean `{meant}`?", candidates=(meant,))
        return meant

    def _bracketed_type(self) -> Type:
        self.advance()
        self._deeper()
        value = self._type()
        self.expect(")")
        return value

    def _deeper(self) -> None:
        self._levels += 1
        if self._levels > BRACKET_DEPTH:
            self.stop(
                "TB9006",
                f"the type is nested deeper than {BRACKET_DEPTH}",
                self.token,
                "declare a `type` for a part of it",
            )

    def _named_type(self) -> Type:
        path: list[Name] = []
        while self.token.kind == "word" and self.peek().kind == ".":
            path.append(name_of(self.advance()))
            self.advance()
        token = self.token
        if token.kind in ("[", "{"):
            generic = "List" if token.kind == "[" else "Map"
            self.stop("TB2008", f"`{token.text}` is the spelling of another language", token, f"write `{generic} of …`")
        if token.kind == "capital":
            self.advance()
            return tree.NamedType(Span(path[0].span.start if path else token.start, token.end), path, name_of(token))
        if token.kind == "word" and not path:
            meant = FOREIGN_TYPES.get(token.text)
            if meant is not None:
                if self.peek().kind in ("<", "[") and meant.endswith("…"):
                    meant = self.meant(self.at)
                self.stop("TB2008", f"`{token.text}` is the spelling of another language", token, f"write `{meant}`")
            if token.text not in HARD_WORDS:
                label = f"write `{capital_name(token.text)[:40]}`"
                self.stop("TB1010", "the name of a type begins with a capital letter", token, label)
        is_bound = token.kind in ("int", "decimal")
        return self.fail("a type", "bounds stand behind the type: `Int min 1 max 3`" if is_bound else "")

    def meant(self, at: int) -> str:
        """What a type of another language is called here: `List[int]` is `List of Int`."""
        prefix = ""
        while at < len(self.tokens) and len(prefix) < 40:
            name = self.tokens[at].text
            name = FOREIGN_TYPES.get(name, name).removesuffix("…").removesuffix("of ").rstrip()
            if name not in GENERIC_WORDS or self.tokens[at + 1].kind not in ("<", "["):
                return prefix + (name if name[:1].isalpha() else "…")
            prefix += f"{name} " if name == "Optional" else f"{name} of "
            at += 2
            if name == "Map" and self.tokens[min(at + 1, len(self.tokens) - 1)].kind == ",":
                at += 2  # the keys are Text
        return prefix + "…"

    def _foreign_generic(self, of: Type) -> None:
        """`Text?`, `Text[]`, `Box<T>`."""
        token = self.token
        written = self.source.text[of.span.start : of.span.end][:40]
        before = self.tokens[self.at - 1].text
        if token.kind in ("?", "|"):
            label = f"write `Optional {written}`"
        elif before in FOREIGN_TYPES and FOREIGN_TYPES[before].endswith("…"):
            label = f"write `{self.meant(self.at - 1)}`"
        elif token.kind == "[":
            label = f"write `List of {written}`"
        else:
            label = "only `List`, `Map` and `Optional` take a type"
        self.stop("TB2008", f"`{token.text}` is the spelling of another language", token, label)

    def _foreign_bound(self) -> tree.Constraint:
        """`> 0` behind a type."""
        sign = self.advance()
        word = FOREIGN_BOUNDS[sign.kind]
        bound = self.token.text if self.token.kind != "-" else f"-{self.peek().text}"
        title = f"`{sign.text}` is the spelling of another language"
        self.report("TB2008", title, sign, f"write `{word} {bound[:40]}`", fix=word)
        return tree.Constraint(Span(sign.start, self.last_end), word, bound=self.literal("a number or date"))

    def _foreign_length(self) -> None:
        """`length >= 1`."""
        sign = self.token
        number = self.peek()
        label = "write `length min 1`, `length max 40` or `length 1 to 40`"
        if number.kind == "int" and len(number.text) <= 18 and sign.kind in FOREIGN_BOUNDS:
            bound = int(number.text.replace("_", "")) + {">": 1, "<": -1}.get(sign.kind, 0)
            label = f"write `length {'min' if sign.kind in ('>', '>=') else 'max'} {max(bound, 0)}`"
        self.stop("TB2008", f"`{sign.text}` is the spelling of another language", sign, label)

    def _constraint(self) -> tree.Constraint:
        token = self.advance()
        if token.text in ("matching", "format"):
            text = self._constraint_text(token.text)
            return tree.Constraint(Span(token.start, self.last_end), token.text, bound=text)
        if token.text != "length":
            bound = self.literal("a number or date")
            return tree.Constraint(Span(token.start, self.last_end), token.text, bound=bound)
        low: int | None = None
        high: int | None = None
        if self.token.kind in FOREIGN_BOUNDS or self.token.kind in ("=", "=="):
            self._foreign_length()
        if self.accept_word("min"):
            low = self.small_int("a whole number")
        elif self.accept_word("max"):
            high = self.small_int("a whole number")
        else:
            low = self.small_int("a whole number, `min` or `max`")
            if self.token.kind in ("..", "-"):
                self.stop(
                    "TB2008",
                    f"`{self.token.text}` is the spelling of another language",
                    self.token,
                    "write `length 1 to 40`",
                )
            high = self.small_int("a whole number") if self.accept_word("to") else low
        return tree.Constraint(Span(token.start, self.last_end), "length", low, high)

    def _constraint_text(self, word: str) -> tree.Literal:
        example = '"[A-Z]{2}[0-9]{6}"' if word == "matching" else '"email"'
        token = self.token
        if token.kind != "text":
            self.fail(f"a text behind `{word}`", f"write `{word} {example}`")
        self.advance()
        assert isinstance(token.value, list)
        written = token.value[0]
        if len(token.value) > 1 or not isinstance(written, str):
            self.stop("TB2011", f"`{word}` has no interpolation", token, f"write it like `{example}`")
        return tree.Literal(Span(token.start, token.end), "text", written)

    # --- names with types ----------------------------------------------------------------------------------------

    def parameters(self, what: str, *, any_name: bool) -> list[tree.FieldDecl]:
        """`name as Type, other as Type`. ``any_name``: hard words may be names, as for fields."""
        found: list[tree.FieldDecl] = []
        while True:
            try:
                found.append(self._parameter(what, any_name))
            except Stop:
                self._skip_parameter()
            if self.token.kind == "word" and self.peek().kind == "word" and self.peek().text == "as":
                title = f"`{self.token.text[:40]}` follows where a `,` should stand"
                self.report("TB2007", title, self.token, "put a `,` before it")
            elif not self.accept(","):
                return found

    def _parameter(self, what: str, any_name: bool) -> tree.FieldDecl:
        start = self.token.start
        name = self.any_word(what) if any_name else self.value_name(what)
        self._levels = 0
        kind: Type
        try:
            self.as_word(name)
            kind = self._type()
        except Stop:
            kind = tree.UnknownType(Span(self.token.start, self.token.end))
            self._skip_parameter()
        return tree.FieldDecl(Span(start, self.last_end), name, kind)

    def as_word(self, name: Name) -> None:
        """`as` between a name and its type, or what other languages put there."""
        if self.token.kind == ":":
            kind = self.meant(self.at + 1)
            label = f"write `{name.text[:40]} as {'Type' if kind == '…' else kind[:40]}`"
            self.report("TB2008", "`:` is the spelling of another language", self.token, label)
            self.advance()
            return
        label = f"write `{name.text[:40]} as Type`"
        if self.token.text in ("is", "between", "in") and self.peek().kind in ("int", "decimal"):
            label = f"write `{name.text[:40]} as Int min 1 max 3`"
        self.expect_word("as", label)

    def _skip_parameter(self) -> None:
        """Go to the comma before the next name."""
        depth = 0
        while not self.at_end:
            kind = self.token.kind
            if kind in (",", ")") and depth <= 0:
                return
            depth += (kind in ("(", "[", "{")) - (kind in (")", "]", "}"))
            self.advance()
