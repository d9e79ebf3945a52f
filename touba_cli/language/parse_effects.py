"""Right sides, and what waits for the outside: calls, questions, decisions of people, branches side by side."""

from __future__ import annotations

from abc import ABC, abstractmethod

from ..air.operations import BUILT_INS
from . import tree
from .blocks import BlockReader
from .cursor import Stop, expected
from .diagnostics import Problems
from .hints import near
from .layout import Line
from .parse_types import LineReader
from .source import Source
from .tree import Block, Expr, Name, Span, Statement
from .words import EFFECT_STARTS

#: what shows, behind an effect, that it was meant as a part of an expression
_OPERATORS = frozenset(
    (".", "[", "+", "-", "*", "/", "otherwise", "with", "is", "and", "or", "if", "<", ">", "<=", ">=", "in")
)


class EffectReader(BlockReader, ABC):
    """Reads effects; `block` reads what stands under a branch."""

    def __init__(self, source: Source, problems: Problems, lines: list[Line]):
        super().__init__(source, problems, lines)
        #: small names seen in this callable: `x = 1` is read on as `set` or `let` by it, after it was reported
        self.names: set[str] = set()
        #: those of them that a `var` binds
        self.variables: set[str] = set()

    @abstractmethod
    def block(self, header: Line) -> Block:
        """The statements in the block of a header."""

    # --- right sides ---------------------------------------------------------------------------------------------

    def right_side(self, line: Line, reader: LineReader) -> tree.RightSide:
        """What stands behind `=` or `give`: to the end of the line, with the block of a group."""
        if reader.token.kind == "word" and reader.token.text in EFFECT_STARTS:
            return self.effect(line, reader)
        value = reader.value()
        if not reader.at_end:
            value = tree.Unknown(value.span)  # what follows belongs to it, however that was meant
        reader.end_of_line()
        if line.bad and any(token.kind == "word" and token.text == "parallel" for token in line.tokens):
            self.skip_block(line)  # of a group in the wrong place, which was reported
        return value

    def effect(self, line: Line, reader: LineReader) -> tree.RightSide:
        """An effect at the cursor; `Unknown` where it cannot be read."""
        start = reader.token.start
        word = reader.advance().text
        found: tree.RightSide
        if word == "parallel":
            return self._parallel_each(line, reader, start)
        try:
            if word == "call":
                found = self.call_target(reader, start)
            elif word == "ask":
                found = self._ask(reader, start)
            else:
                found = self._review(reader, start)
        except Stop:
            reader.skip_line()
            found = tree.Unknown(Span(start, max(start, reader.token.end)))
        self.end_of_effect(reader)
        return found

    def end_of_effect(self, reader: LineReader) -> None:
        """The end of the line, where an effect was read."""
        if not reader.at_end and reader.token.text in _OPERATORS:
            reader.report(
                "TB2012", "a call stands inside an expression", reader.token,
                "bind the call with `let` on a line before",
                help="a call is a whole line or the whole right side of `let`, `var`, `set` or `give`",
            )  # fmt: skip
        reader.end_of_line()

    # --- calls and gates -----------------------------------------------------------------------------------------

    def call_target(self, reader: LineReader, start: int) -> tree.Call:
        """`m.Pay(invoice)` behind `call`."""
        token = reader.token
        if token.kind == "word" and token.text in BUILT_INS and reader.peek().kind == "(":
            reader.stop(
                "TB3007", f"`{token.text}` is a built-in function", token, f"write `{token.text}(…)` without `call`"
            )
        target = reader.qualified("the name of a tool, skill, strategy or agent")
        if reader.token.kind != "(":
            reader.fail("`(`", f"a call has brackets: `{target.name.text[:40]}(…)`")
        arguments = reader.arguments()
        return tree.Call(Span(start, reader.last_end), target.path, target.name, arguments)

    def _ask(self, reader: LineReader, start: int) -> tree.Ask:
        text = reader.text_literal("ask")
        if reader.at_end:
            reader.fail("`as`", "say what the answer is: `as Text`")
        reader.expect_word("as", 'a question has a type: `ask "…" as Text`')
        form = reader.type()
        name = self._gate_name(reader)
        if reader.is_word("expires"):
            reader.stop("TB2007", "a question does not expire", reader.token, "remove `expires after …`")
        return tree.Ask(Span(start, reader.last_end), text, form, name)

    def _review(self, reader: LineReader, start: int) -> tree.Review:
        """Behind `human` of a right side."""
        reader.expect(".", 'write `human.review value "…"`')
        if reader.is_word("approve"):
            reader.stop(
                "TB2012", "an approval gives nothing", reader.token, "put it on a line of its own, without a name"
            )
        self._expect_gate(reader, "review")
        return self._reviewed(reader, start)

    def _expect_gate(self, reader: LineReader, word: str) -> None:
        if reader.is_word("ask"):
            reader.stop("TB2006", f"expected `{word}`, found `ask`", reader.token, "a question is written `ask …`")
        reader.expect_word(word, f"write `human.{word} …`")

    def _reviewed(self, reader: LineReader, start: int) -> tree.Review:
        value = reader.postfix()
        if reader.token.text in _OPERATORS and not reader.at_end:
            title = f"expected a text for `human.review`, found `{reader.token.text}`"
            reader.stop("TB2006", title, reader.token, 'put the value in brackets: `human.review (…) "…"`')
        text = reader.text_literal("human.review")
        name = self._gate_name(reader)
        return tree.Review(Span(start, reader.last_end), value, text, name, self._expiry(reader))

    def human(self, line: Line, reader: LineReader) -> Statement:
        """`human.approve …` and `human.review …` as whole lines, behind `human`."""
        start = line.tokens[0].start
        reader.expect(".", 'write `human.approve "…"`')
        if reader.accept_word("review"):
            review = self._reviewed(reader, start)
            self.end_of_effect(reader)
            return tree.EffectLine(line.span, review)
        self._expect_gate(reader, "approve")
        text = reader.text_literal("human.approve")
        name = self._gate_name(reader)
        expires = self._expiry(reader)
        reader.end_of_line()
        return tree.Approve(line.span, text, name, expires)

    def _gate_name(self, reader: LineReader) -> Name | None:
        return reader.value_name("the name of a decision") if reader.accept_word("named") else None

    def _expiry(self, reader: LineReader) -> tree.Literal | None:
        if not reader.accept_word("expires"):
            return None
        reader.expect_word("after", "write `expires after 3 days`")
        found = reader.duration("write `expires after 3 days`")
        if reader.is_word("named"):
            reader.stop("TB2010", "`named` stands behind `expires`", reader.token, "move it before `expires after`")
        return found

    # --- groups --------------------------------------------------------------------------------------------------

    def parallel(self, line: Line, reader: LineReader) -> Statement | None:
        """A group as a whole line, behind `parallel`."""
        start = line.tokens[0].start
        collecting = self._collecting(reader)
        if reader.is_word("for"):
            group = self._each(line, reader, start, collecting)
            return tree.EffectLine(line.span, group)
        name: Name | None = None
        try:
            if reader.is_word("as"):
                reader.advance()
                name = reader.value_name("the name of the results")
                self.names.add(name.text)
                if reader.is_word("collecting"):
                    label = f"write `parallel collecting failures as {name.text[:40]}`"
                    reader.stop("TB2010", "`collecting failures` stands behind the name", reader.token, label)
            else:
                reader.fail("`as` or `for each`", "write `parallel as name`, or `parallel for each x in xs`")
        except Stop:
            reader.skip_line()
        reader.end_of_line()
        branches = []
        for each in self.block_lines(line, needs="branches, deeper than it"):
            branch = self._branch_of_group(each)
            if branch is not None:
                branches.append(branch)
        if name is None:
            return None
        return tree.Parallel(line.span, name, collecting, branches)

    def _branch_of_group(self, line: Line) -> tree.Branch | None:
        self.lose_doc(line)
        reader = self.reader(line)
        if not reader.is_word("branch"):
            label = "put it into a branch: `branch name` on a line before"
            reader.unknown_word(("branch",), "a `parallel`", label)
            if reader.token.kind != "word" or near(reader.token.text, ("branch",)) is None:
                self.skip_block(line)
                return None
        reader.advance()
        name: Name | None = None
        try:
            name = reader.value_name("the name of a branch")
            if reader.is_word("as") or reader.token.kind == "=":
                reader.stop("TB2007", "a branch has only a name", reader.token, "its result is what it gives")
        except Stop:
            reader.skip_line()
        reader.end_of_line()
        block = self.block(line)
        return None if name is None else tree.Branch(line.span, name, block)

    def _parallel_each(self, line: Line, reader: LineReader, start: int) -> tree.RightSide:
        """A group as a right side, behind `parallel`."""
        collecting = self._collecting(reader)
        if reader.is_word("as"):
            name = reader.peek().text[:40]
            reader.report(
                "TB2012", "a group with named branches stands on a line of its own", reader.token,
                f"write `parallel as {name or 'name'}` without what stands before it",
            )  # fmt: skip
            self.skip_block(line)
            return tree.Unknown(Span(start, reader.token.end))
        return self._each(line, reader, start, collecting)

    def _collecting(self, reader: LineReader) -> bool:
        if not reader.accept_word("collecting"):
            return False
        if not reader.accept_word("failures"):
            reader.report(
                "TB2006", "expected `failures` behind `collecting`", reader.token, "write `collecting failures`"
            )
        return True

    def _each(self, line: Line, reader: LineReader, start: int, collecting: bool) -> tree.ParallelEach:
        name: Name | None = None
        limit: tree.Literal | None = None
        source: Expr = tree.Unknown(Span(start, start))
        try:
            if not reader.is_word("for"):
                reader.fail("`for each`", "write `parallel for each x in xs`")
            reader.advance()
            if not reader.accept_word("each"):
                title = expected("`each`", reader.token)
                reader.report("TB2006", title, reader.token, "write `parallel for each x in xs`")
                if reader.peek().kind == "word" and reader.peek().text != "in" and near(reader.token.text, ("each",)):
                    reader.advance()
            name = reader.value_name("the name of an element")
            self.names.add(name.text)
            reader.expect_word("in", "write `parallel for each x in xs`")
            source = reader.value()
            limit = self._at_once(reader)
            if reader.is_word("collecting"):
                label = "write `parallel collecting failures for each …`"
                reader.stop("TB2010", "`collecting failures` stands behind the list", reader.token, label)
        except Stop:
            reader.skip_line()
        span = Span(start, reader.last_end)
        reader.end_of_line()
        block = self.block(line)
        return tree.ParallelEach(span, name or Name(Span(start, start), "_"), source, limit, collecting, block)

    def _at_once(self, reader: LineReader) -> tree.Literal | None:
        if not reader.accept_word("at"):
            return None
        hint = "write `at most 8 at once`"
        reader.expect_word("most", hint)
        limit = reader.whole_number(hint)
        reader.expect_word("at", hint)
        reader.expect_word("once", hint)
        return limit
