"""Operators: the tokens of a line → tree.

Operators are read by precedence climbing; chains of one level become one flat node, however long. What stands between
them is read by `parse_values`, and what stands in brackets by `parse_nested`.
"""

from __future__ import annotations

from ..limits import EXPRESSION_DEPTH
from . import tree
from .cursor import Stop
from .hints import FOREIGN_SIGNS, FOREIGN_VALUES
from .parse_values import ValueReader
from .tokens import Token
from .tree import Expr, Span

# levels of operators, from the loosest
OR, AND, NOT, COMPARISON, SUM, PRODUCT, UNARY = range(1, 8)

_LEVELS: dict[str, int] = {
    "or": OR, "and": AND,
    "<": COMPARISON, "<=": COMPARISON, ">": COMPARISON, ">=": COMPARISON,
    "is": COMPARISON, "is not": COMPARISON, "in": COMPARISON, "not in": COMPARISON,
    "+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "div": PRODUCT, "mod": PRODUCT,
}  # fmt: skip
_WORD_OPERATORS = frozenset(("or", "and", "is", "in", "not", "div", "mod"))


class ExpressionReader(ValueReader):
    """Reads expressions at the cursor."""

    __slots__ = ()

    # --- whole expressions ---------------------------------------------------------------------------------------

    def value(self) -> Expr:
        """An expression; `Unknown`, with the rest of the line skipped, where it cannot be read."""
        return self._whole(self.expression)

    def condition(self) -> Expr:
        """Like `value`, for places where no `x if c else y` may stand without brackets."""
        return self._whole(self.unconditional)

    def count(self) -> Expr:
        """Like `value`, up to a sum: the number of `repeat up to`."""
        return self._whole(lambda: self.operators(SUM))

    def expression(self) -> Expr:
        """`x if c else y`, or what binds tighter."""
        start = self.token.start
        value = self.operators(OR)
        if not self.is_word("if"):
            return value
        pending: list[tuple[int, Expr, Expr]] = []
        while self.accept_word("if"):
            condition = self.operators(OR)
            label = "a choice between two values is written `x if c else y`"
            if self.is_word("for"):
                label = "the condition of a list stands at its end: `[x for x in xs if c]`"
            self.expect_word("else", label)
            pending.append((start, value, condition))
            self._bound(len(pending))
            start = self.token.start
            value = self.operators(OR)
        for begin, then, condition in reversed(pending):
            value = tree.Conditional(Span(begin, self.last_end), condition, then, value)
        return value

    def unconditional(self) -> Expr:
        """An expression in which `x if c else y` stands only in brackets."""
        return self.operators(OR)

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
