"""Expressions: the tokens of a line → tree.

Operators are read by precedence climbing; chains of one level become one flat node, however long. Nesting is counted,
so that neither this parser nor a later pass over the tree meets Python's recursion limit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from ..limits import BRACKET_DEPTH, EXPRESSION_DEPTH
from . import tree
from .cursor import Stop, found, name_of
from .diagnostics import Problems
from .hints import FOREIGN_METHODS, FOREIGN_PREFIXES, FOREIGN_SIGNS, FOREIGN_VALUES
from .layout import Line
from .parse_literals import LiteralReader
from .source import Source
from .tokens import Token
from .tree import Expr, Span
from .tree_depth import deeper_than
from .words import EFFECT_STARTS, HARD_WORDS

# levels of operators, from the loosest
OR, AND, NOT, COMPARISON, SUM, PRODUCT, UNARY = range(1, 8)

_LEVELS: dict[str, int] = {
    "or": OR, "and": AND,
    "<": COMPARISON, "<=": COMPARISON, ">": COMPARISON, ">=": COMPARISON,
    "is": COMPARISON, "is not": COMPARISON, "in": COMPARISON, "not in": COMPARISON,
    "+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "div": PRODUCT, "mod": PRODUCT,
}  # fmt: skip

_OPENERS = frozenset("([{")
_CLOSERS = frozenset(")]}")
#: longest user text that is repeated in what to write
_SHORT = 24
_WORD_OPERATORS = frozenset(("or", "and", "is", "in", "not", "div", "mod"))


class ExpressionReader(LiteralReader):
    """Reads expressions at the cursor."""

    __slots__ = ("_brackets", "_depth")

    def __init__(self, source: Source, problems: Problems, line: Line):
        super().__init__(source, problems, line)
        self._brackets = 0
        self._depth = 0

    # --- whole expressions ---------------------------------------------------------------------------------------

    def value(self) -> Expr:
        """An expression; `Unknown`, with the rest of the line skipped, where it cannot be read."""
        return self._whole(self.expression)

    def condition(self) -> Expr:
        """Like `value`, for places where no `x if c else y` may stand without brackets."""
        return self._whole(lambda: self.operators(OR))

    def count(self) -> Expr:
        """Like `value`, up to a sum: the number of `repeat up to`."""
        return self._whole(lambda: self.operators(SUM))

    def postfix(self) -> Expr:
        """Like `value`, without operators: what `human.review` shows."""
        return self._whole(self._postfix)

    def _whole(self, read: Callable[[], Expr]) -> Expr:
        start = self.token.start
        self._brackets = self._depth = 0
        try:
            expression = read()
            # Every level takes a character at least, so short expressions need no look.
            if self.last_end - start > EXPRESSION_DEPTH and deeper_than(expression, EXPRESSION_DEPTH):
                self._too_deep(Span(start, self.last_end))
        except Stop:
            self.skip_line()
            return tree.Unknown(Span(start, max(start, self.token.end)))
        return expression

    def _too_deep(self, place: Token | Span) -> NoReturn:
        self.stop(
            "TB9006", f"the expression is nested deeper than {EXPRESSION_DEPTH}", place,
            "give a part of it a name with `let` first",
        )  # fmt: skip

    def _bound(self, levels: int) -> None:
        """Leave the line where operators of one kind nest too deep: each is a level of the tree."""
        if levels > EXPRESSION_DEPTH:
            self._too_deep(self.token)

    def expression(self) -> Expr:
        """`x if c else y`, or what binds tighter."""
        start = self.token.start
        value = self.operators(OR)
        if not self.is_word("if"):
            return value
        pending: list[tuple[int, Expr, Expr]] = []
        while self.accept_word("if"):
            condition = self.operators(OR)
            self.expect_word("else", "a choice between two values is written `x if c else y`")
            pending.append((start, value, condition))
            self._bound(len(pending))
            start = self.token.start
            value = self.operators(OR)
        for begin, then, condition in reversed(pending):
            value = tree.Conditional(Span(begin, self.last_end), condition, then, value)
        return value

    # --- operators -----------------------------------------------------------------------------------------------

    def operators(self, lowest: int) -> Expr:
        """An expression of operators that bind at least as tight as ``lowest``."""
        self._depth += 1
        if self._depth > EXPRESSION_DEPTH + 1:
            self._too_deep(self.token)
        start = self.token.start
        left = self._negation(start) if lowest <= NOT and self.is_word("not") else self._operand()
        while True:
            operator = self._operator()
            level = _LEVELS[operator] if operator else 0
            if not operator or level < lowest:
                break
            if level <= AND:
                left = self._logic(start, left, operator, level)
            elif level == COMPARISON:
                left = self._comparison(start, left, operator)
            else:
                left = self._chain(start, left, level)
        self._depth -= 1
        return left

    def _operator(self) -> str:
        """The operator at the cursor, or an empty text. A foreign sign counts as what it is meant for."""
        token = self.token
        kind = token.kind
        if kind == "word":
            word = token.text
            if word not in _WORD_OPERATORS:
                return ""
            following = self.peek()
            if word == "is" and following.kind == "word" and following.text == "not":
                return "is not"
            if word == "not":
                return "not in" if following.kind == "word" and following.text == "in" else ""
            return word
        if kind in _LEVELS:
            return kind
        hint = FOREIGN_SIGNS.get(kind)
        return hint.meant if hint is not None and hint.meant in _LEVELS else ""

    def _take(self, operator: str) -> Span:
        """Go over an operator; report it where it is a foreign sign."""
        token = self.advance()
        if token.kind in FOREIGN_SIGNS:
            self.foreign_sign(token, pad=True)
        elif token.kind == "word" and operator in ("is not", "not in"):
            return Span(token.start, self.advance().end)
        return Span(token.start, token.end)

    def _negation(self, start: int) -> Expr:
        places: list[Token] = []
        while self.is_word("not"):
            places.append(self.advance())
            self._bound(len(places))
        operand = self.operators(COMPARISON)
        for token in reversed(places):
            operand = tree.Prefix(Span(token.start, self.last_end), "not", operand, Span(token.start, token.end))
        return operand

    def _logic(self, start: int, left: Expr, operator: str, level: int) -> Expr:
        operands = [left]
        while self._operator() == operator:
            self._take(operator)
            operands.append(self.operators(level + 1))
        return tree.Logic(Span(start, self.last_end), operator, operands)

    def _chain(self, start: int, left: Expr, level: int) -> Expr:
        rest: list[tuple[str, Span, Expr]] = []
        while True:
            operator = self._operator()
            if not operator or _LEVELS[operator] != level:
                return tree.Chain(Span(start, self.last_end), left, rest)
            place = self._take(operator)
            rest.append((operator, place, self.operators(PRODUCT) if level == SUM else self._operand()))

    def _comparison(self, start: int, left: Expr, operator: str) -> Expr:
        absent = self._foreign_absent(operator)
        place = self._take(operator)
        token = self.token
        result: Expr
        if token.kind == "word" and token.text in ("present", "absent"):
            if operator == "is not":
                other = "absent" if token.text == "present" else "present"
                span = Span(place.start, token.end)
                self.report(
                    "TB2011", f"`is not {token.text}` is not written so", span, f"write `is {other}`", fix=f"is {other}"
                )
            self.advance()
            result = tree.IsPresent(Span(start, token.end), left, (token.text == "present") == (operator == "is"))
        elif absent:
            self.advance()
            result = tree.IsPresent(Span(start, token.end), left, operator == "is not")
        else:
            right = self.operators(SUM)
            result = tree.Comparison(Span(start, self.last_end), operator, left, right, place)
        following = self._operator()
        if following and _LEVELS[following] == COMPARISON:
            self.stop("TB2011", "comparisons do not chain", self.token, "join two comparisons with `and`")
        return result

    def _foreign_absent(self, operator: str) -> bool:
        """Report `== none`, `is None` and their like as one; whether that stands at the cursor."""
        sign = self.token
        right = self.peek(2 if sign.text == "is" and operator == "is not" else 1)
        hint = FOREIGN_VALUES.get(right.text) if right.kind in ("word", "capital") else None
        if operator not in ("is", "is not") or (right.text != "none" and (hint is None or hint.meant != "none")):
            return False
        if sign.text == "is" and right.text == "none":
            return False  # the words are those of the language
        meant = "is absent" if operator == "is" else "is present"
        place = Span(sign.start, right.end)
        title = "whether a value is there is no comparison"
        self.report("TB2008", title, place, f"write `{meant}`", fix=meant)
        return True

    def _operand(self) -> Expr:
        """What stands between operators: signs before an opened value."""
        signs: list[tuple[str, Token]] = []
        while self.token.kind in ("-", "!", "+", "++"):
            token = self.advance()
            if token.kind == "-":
                signs.append(("-", token))
                self._negative_at = self.at
            elif token.kind == "!":
                self.foreign_sign(token)
                signs.append(("not", token))
            elif token.kind == "++":
                self.foreign_sign(token)
                raise Stop
            else:
                self.report("TB2011", "a number has no sign `+`", token, "remove it")
            self._bound(len(signs))
        start = self.token.start
        value = self._postfix()
        if self.is_word("otherwise") or self.token.kind == "??":
            value = self._otherwise(start, value)
        for sign, token in reversed(signs):
            value = tree.Prefix(Span(token.start, self.last_end), sign, value, Span(token.start, token.end))
        return value

    def _otherwise(self, start: int, value: Expr) -> Expr:
        """`a otherwise b otherwise c`: from the right, since a fallback may be an Optional itself."""
        starts = [start]
        values = [value]
        while self.is_word("otherwise") or self.token.kind == "??":
            token = self.advance()
            if token.kind == "??":
                self.foreign_sign(token, pad=True)
            self._bound(len(values))
            starts.append(self.token.start)
            signed = self.token.kind in ("-", "!", "+")
            values.append(self.operators(UNARY) if signed else self._postfix())
        result = values.pop()
        for begin, optional in zip(reversed(starts[:-1]), reversed(values), strict=True):
            result = tree.Otherwise(Span(begin, self.last_end), optional, result)
        return result

    # --- what binds tightest -------------------------------------------------------------------------------------

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
                    f"write `{self.as_function(start)}`",
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
        if (
            prefix is not None
            and self.peek().kind in ("word", "capital", "text")
            and self.peek().text not in HARD_WORDS
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

    # --- brackets ------------------------------------------------------------------------------------------------

    def _open(self) -> Token:
        token = self.advance()
        self._brackets += 1
        if self._brackets > BRACKET_DEPTH:
            self.stop(
                "TB9002",
                f"brackets are nested deeper than {BRACKET_DEPTH}",
                token,
                "give this part a name with `let` first",
            )
        return token

    def _close(self, kind: str) -> None:
        self.expect(kind, f"put `{kind}` here")
        self._brackets -= 1

    def _more(self, close: str) -> bool:
        """After an element: whether another follows. A comma may stand after the last."""
        if self.accept(","):
            return self.token.kind != close
        if self.token.kind != close:
            if self.foreign_here():
                raise Stop
            self.fail(f"`,` or `{close}`")
        return False

    def arguments(self) -> list[tree.Argument]:
        """`(a: 1, b: 2)` or `(a)`."""
        self._open()
        found: list[tree.Argument] = []
        going = self.token.kind != ")"
        while going:
            token = self.token
            name = None
            if token.kind in ("word", "hidden", "capital"):
                following = self.peek().kind
                if following == ":":
                    name = self.any_word("the name of an argument")
                    self.advance()
                elif following == "=":
                    name = self.any_word("the name of an argument")
                    self.report(
                        "TB2008", "`=` is the spelling of another language", self.token, "an argument is named with `:`"
                    )
                    self.advance()
            value = self.expression()
            found.append(tree.Argument(Span(token.start, self.last_end), name, value))
            going = self._more(")")
        self._close(")")
        return found

    def _built_in(self) -> Expr:
        """A small name and brackets."""
        token = self.advance()
        name = name_of(token)
        if token.text == "sorted":
            return self._sorted(name)
        given = self.arguments()
        for argument in given:
            if argument.name is not None:
                self.report(
                    "TB2011", f"`{token.text}` takes values without names", argument.name.span, "remove the name"
                )
                break
        return tree.BuiltIn(Span(token.start, self.last_end), name, [argument.value for argument in given])

    def _sorted(self, name: tree.Name) -> Expr:
        self._open()
        items: list[Expr] = []
        going = self.token.kind != ")"
        while going:
            if self.token.kind == "word" and self.peek().kind in (":", "="):
                self.stop(
                    "TB2008",
                    f"`{self.token.text}:` is not taken by `sorted`",
                    self.token,
                    "write `sorted(xs by .amount)`",
                )
            items.append(self.expression())
            if len(items) == 1 and self.accept_word("by"):
                path: list[tree.Name] = []
                while self.token.kind == ".":
                    self.advance()
                    path.append(self.any_word("the name of a field"))
                if not path:
                    self.fail("`.`", "a field to sort by begins with a point: `by .amount`")
                descending = self.accept_word("descending")
                if self.is_word("ascending"):
                    self.stop("TB2007", "`ascending` is not written", self.token, "remove it: this is the usual order")
                self._close(")")
                return tree.SortedBy(Span(name.span.start, self.last_end), items[0], path, descending)
            going = self._more(")")
        self._close(")")
        return tree.BuiltIn(Span(name.span.start, self.last_end), name, items)

    def _bracketed(self) -> Expr:
        self._open()
        if self.token.kind == ")":
            self.stop("TB2011", "brackets hold nothing", self.token, "put a value inside")
        self._depth -= 1  # brackets alone are no level of the tree
        value = self.expression()
        self._depth += 1
        if self.token.kind == ",":
            self.stop("TB2011", "brackets hold one value", self.token, "write a list `[a, b]`, or a record")
        self._close(")")
        return value

    def _list(self) -> Expr:
        start = self._open().start
        items: list[Expr] = []
        going = self.token.kind != "]"
        while going:
            items.append(self.expression())
            if len(items) == 1 and self.is_word("for"):
                return self._comprehension(start, items[0])
            going = self._more("]")
        self._close("]")
        return tree.ListLiteral(Span(start, self.last_end), items)

    def _comprehension(self, start: int, item: Expr) -> Expr:
        self.advance()
        if self.is_word("each"):
            self.stop("TB2011", "`each` stands only in the statement `for each`", self.token, "write `[e for x in xs]`")
        name = self.value_name("the name of an element")
        self.expect_word("in")
        source = self.operators(OR)
        condition = self.operators(OR) if self.accept_word("if") else None
        if self.is_word("for"):
            self.stop(
                "TB2011", "a list is made from one list", self.token, "make the inner list with a `function` or a loop"
            )
        if self.is_word("else"):
            self.stop(
                "TB2011",
                "the condition of a list has no `else`",
                self.token,
                "choose before `for`: `[x if c else y for x in xs]`",
            )
        self._close("]")
        return tree.Comprehension(Span(start, self.last_end), item, name, source, condition)

    def _map(self) -> Expr:
        start = self._open().start
        entries: list[tuple[Expr, Expr]] = []
        going = self.token.kind != "}"
        while going:
            key = self.expression()
            self.expect(":", "an entry of a map is written `key: value`")
            entries.append((key, self.expression()))
            going = self._more("}")
        self._close("}")
        return tree.MapLiteral(Span(start, self.last_end), entries)

    # --- texts -------------------------------------------------------------------------------------------------------

    def text(self) -> Expr:
        """A text, a text block or `raw` and a text block."""
        start = self.token.start
        if self.accept_word("raw") and self.token.kind != "block":
            self.fail('`"""`', 'a text without escapes is written `raw """…"""`')
        token = self.advance()
        assert isinstance(token.value, list)
        span = Span(start, token.end)
        if len(token.value) == 1 and isinstance(token.value[0], str):
            return tree.Literal(span, "text", token.value[0])
        return tree.Interpolation(
            span, [part if isinstance(part, str) else self._interpolated(part) for part in token.value]
        )

    def text_literal(self, what: str) -> Expr:
        """A text in a place where only a literal may stand, so that it can be read without running anything."""
        if self.token.kind in ("text", "block") or self.is_word("raw"):
            value = self._whole(self.text)
            if self.token.kind == "+":
                self.report("TB2011", f"`{what}` has one text", self.token, "put the value inside the text: `{…}`")
                self.skip_line()
            return value
        start = self.token.start
        if self.token.kind == "bad":
            self.skip_line()
        else:
            title = f"expected a text for `{what}`, found {found(self.token)}"
            self.report("TB2006", title, self.token, 'write it as a text: `"{…}"`')
            self.skip_line()
        return tree.Unknown(Span(start, max(start, self.token.end)))

    def short_text(self, what: str) -> Expr:
        """A `"…"` in a fixed place. ``what`` says what is written in it."""
        if self.token.kind != "text":
            self.fail("a text", f"write {what}")
        return self._whole(self.text)

    def _interpolated(self, tokens: list[Token]) -> Expr:
        """The expression of an interpolation."""
        outside = (self.tokens, self.at, self.token, self._brackets, self._depth)
        span = Span(tokens[0].start, tokens[-1].end)
        self.tokens, self.at, self.token = tokens, 0, tokens[0]
        result: Expr = tree.Unknown(span)
        try:
            self._brackets += 1
            if self._brackets > BRACKET_DEPTH:
                self.stop(
                    "TB9002",
                    f"brackets are nested deeper than {BRACKET_DEPTH}",
                    self.token,
                    "give this part a name with `let` first",
                )
            if not self.at_end:
                result = self.expression()
                if not self.at_end:
                    self._after_interpolation()
        except Stop:
            result = tree.Unknown(span)
        finally:
            self.tokens, self.at, self.token, self._brackets, self._depth = outside
        return result

    def _after_interpolation(self) -> None:
        token = self.token
        if token.kind != ":" and self.foreign_here():
            raise Stop
        if token.kind == ":":
            self.stop(
                "TB1009",
                "an interpolation has no format",
                token,
                "write `\\{` for a brace, or `text(round(x, 2))` for a format",
            )
        self.stop(
            "TB1009", f"expected the end of the interpolation, found {found(token)}", token, "write `\\{` for a brace"
        )

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
_PRIMARIES: dict[str, Callable[[ExpressionReader], Expr]] = {
    "word": ExpressionReader._word, "capital": ExpressionReader._capital, "int": ExpressionReader.number,
    "decimal": ExpressionReader.number, "float": ExpressionReader.number, "text": ExpressionReader.text,
    "block": ExpressionReader.text, "(": ExpressionReader._bracketed, "[": ExpressionReader._list,
    "{": ExpressionReader._map,
}  # fmt: skip
