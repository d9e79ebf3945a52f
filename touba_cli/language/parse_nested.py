"""What holds expressions inside: brackets, arguments, lists, maps, and texts with insertions.

Nesting is counted here, so that neither the parser nor a later pass over the tree meets Python's recursion limit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from ..limits import BRACKET_DEPTH, EXPRESSION_DEPTH
from . import tree
from .cursor import Stop, found, name_of
from .diagnostics import Problems
from .layout import Line
from .parse_literals import LiteralReader
from .source import Source
from .tokens import Token
from .tree import Expr, Span
from .tree.depth import deeper_than


class NestedReader(LiteralReader):
    """Reads what stands in brackets and in texts at the cursor."""

    __slots__ = ("_brackets", "_depth")

    if TYPE_CHECKING:
        # what stands inside is read by `ExpressionReader`, which builds on this class

        def expression(self) -> Expr: ...
        def unconditional(self) -> Expr: ...

    def __init__(self, source: Source, problems: Problems, line: Line):
        super().__init__(source, problems, line)
        self._brackets = 0
        self._depth = 0

    # --- nesting -------------------------------------------------------------------------------------------------

    def _whole(self, read: Callable[[], Expr]) -> Expr:
        """What ``read`` reads, where nothing is open; `Unknown`, with the rest of the line skipped, where it cannot."""
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

    # --- brackets ------------------------------------------------------------------------------------------------

    def _enter(self, token: Token) -> None:
        """Count a bracket that opens at ``token``."""
        self._brackets += 1
        if self._brackets > BRACKET_DEPTH:
            self.stop(
                "TB9002", f"brackets are nested deeper than {BRACKET_DEPTH}", token,
                "give this part a name with `let` first",
            )  # fmt: skip

    def _open(self) -> Token:
        token = self.advance()
        self._enter(token)
        return token

    def _close(self, kind: str) -> None:
        self.expect(kind, f"put `{kind}` here")
        self._brackets -= 1

    def _more(self, close: str) -> bool:
        """After an element: whether another follows. A comma may stand after the last."""
        if self.accept(","):
            return self.token.kind != close
        if self.token.kind != close:
            if close == ")" and self.is_word("for"):
                self._bare_list()
            if self.foreign_here():
                raise Stop
            self.fail(f"`,` or `{close}`")
        return False

    def _bare_list(self) -> NoReturn:
        """Leave a line at the `for` of `sum(x for x in xs)`."""
        self.stop("TB2011", "a list is made inside `[…]`", self.token, "put it into brackets: `[… for x in xs]`")

    def arguments(self) -> list[tree.Argument]:
        """`(a: 1, b: 2)` or `(a)`."""
        self._open()
        given: list[tree.Argument] = []
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
            given.append(tree.Argument(Span(token.start, self.last_end), name, value))
            going = self._more(")")
        self._close(")")
        return given

    def _bracketed(self) -> Expr:
        self._open()
        if self.token.kind == ")":
            self.stop("TB2011", "brackets hold nothing", self.token, "put a value inside")
        self._depth -= 1  # brackets alone are no level of the tree
        value = self.expression()
        self._depth += 1
        if self.token.kind == ",":
            self.stop("TB2011", "brackets hold one value", self.token, "write a list `[a, b]`, or a record")
        if self.is_word("for"):
            self._bare_list()
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
        source = self.unconditional()
        condition = self.unconditional() if self.accept_word("if") else None
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

    # --- built-ins -----------------------------------------------------------------------------------------------

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

    # --- texts ---------------------------------------------------------------------------------------------------

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
            self._enter(self.token)
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
        if token.kind not in (":", "!") and self.foreign_here():
            raise Stop
        if token.kind == "!":
            label = "remove `!` and what follows: a value has one form in a text"
            self.stop("TB1009", "an interpolation has no conversion", token, label)
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
