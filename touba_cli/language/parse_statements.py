"""Statements: the lines of a block → tree. One table says which words begin them.

Every method gets the line it reads and a reader that stands behind the first word. What cannot be read was reported:
the method then gives None, or a statement with `Unknown` in it, and its block is still read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from . import tree
from .cursor import Stop, expected, found, name_of
from .diagnostics import Problems
from .hints import FOREIGN_FUNCTIONS, FOREIGN_STATEMENTS, Foreign, near
from .layout import Line
from .parse_effects import EffectReader
from .parse_types import LineReader
from .source import Source
from .tokens import Token
from .tree import Block, Expr, Name, Span, Statement
from .words import ARM_WORDS, CONTINUATIONS, STATEMENT_WORDS

_ASSIGNMENTS = frozenset(("=", "+=", "-=", "*=", "/=", "%=", ":=", "++"))
#: so many lines below are looked at for whether a new name is changed there
_LOOKED_AT = 200


class StatementReader(EffectReader):
    """Reads blocks of statements."""

    def __init__(self, source: Source, problems: Problems, lines: list[Line]):
        super().__init__(source, problems, lines)
        self._statements: dict[str, Callable[[Line, LineReader], Statement | None]] = {
            "let": self._let, "var": self._let, "set": self._set, "give": self._give, "if": self._if,
            "when": self._when, "for": self._for, "repeat": self._repeat, "break": self._break,
            "continue": self._continue, "call": self._call, "show": self._show, "ask": self._ask_line,
            "human": self.human, "parallel": self.parallel, "attempt": self._attempt, "compensate": self._compensate,
            "require": self._require, "stop": self._stop, "fail": self._fail,
        }  # fmt: skip
        assert tuple(self._statements) == STATEMENT_WORDS

    # --- blocks --------------------------------------------------------------------------------------------------

    def block(self, header: Line) -> Block:
        """The statements in the block of a header."""
        statements: list[Statement] = []
        first = self.next
        damaged = header.too_deep
        for line in self.block_lines(header):
            damaged = damaged or line.misplaced
            statement = self.statement(line)
            if statement is None:
                damaged = True
            else:
                statements.append(statement)
                # Of `a; b` only `a` was read.
                damaged = damaged or (line.bad and any(token.text.startswith(";") for token in line.tokens))
        return Block(self.block_span(header), statements, damaged or self.next == first)

    def statement(self, line: Line) -> Statement | None:
        """One statement with its blocks; None where it cannot be read."""
        self.lose_doc(line)
        reader = self.reader(line)
        first = reader.token
        word = first.text
        read = self._statements.get(word) if first.kind == "word" else None
        following = reader.peek()
        lacks_name = word in ("let", "var", "set") and word not in self.names
        if read is not None and (following.kind not in _ASSIGNMENTS or lacks_name):
            reader.advance()
            try:
                return read(line, reader)
            except Stop:
                self.skip_block(line)
                return None
        if first.kind in ("word", "hidden", "capital") and following.kind in _ASSIGNMENTS:
            return self._assignment(line, reader)
        if first.kind in ("word", "hidden") and following.kind == ":" and reader.peek(2).kind in ("word", "capital"):
            return self._annotated(line, reader)
        hint = FOREIGN_STATEMENTS.get(word) if first.kind == "word" else None
        if hint is not None:
            return self._foreign(line, reader, hint)
        meant = self._report_first_word(line, reader)
        if meant is not None:  # nothing more is said about its line, but its block is read, and its names are known
            line.tokens[0] = Token("word", meant, first.start, first.end)
            return self.statement(line)
        self.skip_block(line)
        return None

    def _foreign(self, line: Line, reader: LineReader, hint: Foreign) -> Statement | None:
        """A first word of another language: the line is read as the statement that was meant."""
        first = reader.advance()
        if first.text == "do" and reader.token.kind != "end":
            hint = FOREIGN_STATEMENTS["while"]
        title = f"`{first.text}` is the spelling of another language"
        label = hint.label
        if hint.meant == "show" and reader.token.kind == "(" and len(reader.tokens) == 5:  # one value in brackets
            value = reader.peek()
            if value.kind == "text" and len(value.text) <= 40:
                label = f"write `show {value.text}`"
            elif value.kind == "word":
                label = f'write `show "{{{value.text[:40]}}}"`'
        alone = hint.meant == "give" and reader.at_end  # a `return` without a value
        if alone:
            label = "`give` needs a value; leave the rest of the block to an `else`"
        reader.report("TB2008", title, first, label, fix=hint.meant if hint.exact and not alone else None)
        if hint.meant is None:
            self.skip_block(line)
            return None
        read = self._statements.get(hint.meant)
        if read is None:  # `elif`, `except`: the statement that they continue did not take them
            self.skip_block(line)
            return None
        try:
            return read(line, reader)
        except Stop:
            self.skip_block(line)
            return None

    def _assignment(self, line: Line, reader: LineReader) -> Statement | None:
        """`x = 3`: a statement never begins with a name."""
        first = reader.advance()
        sign = reader.advance()
        name = first.text[:40]
        known = first.text in self.names
        changes = not known and self._changes_below(line, first.text)
        if changes and sign.kind in ("=", ":="):
            label = f"write `var {name} = …`: it is changed below"
            self.variables.add(first.text)
        elif sign.kind == "=" and known:
            label = f"write `set {name} = …`"
        elif sign.kind == "=":
            label = f"write `let {name} = …` for a new name, `set {name} = …` to change one"
        elif sign.kind == ":=":
            label = f"write `let {name} = …`"
        elif sign.kind == "++":
            label = f"write `set {name} = {name} + 1`"
        else:
            operator = "mod" if sign.kind == "%=" else sign.kind[0]
            label = f"write `set {name} = {name} {operator} …`"
        if known and label.startswith("write `set") and first.text not in self.variables:
            label += f", and bind `{name}` with `var` before"
        place = first if sign.kind in ("=", ":=") else Span(first.start, sign.end)
        reader.report("TB2008", "a line does not begin with a name", place, label)
        if reader.at_end:
            return None
        value = self.right_side(line, reader)
        span = line.span
        if first.text in self.names:
            return tree.Set(span, name_of(first), value)
        self.names.add(first.text)
        return tree.Let(span, name_of(first), None, value, mutable=True)

    def _changes_below(self, line: Line, name: str) -> bool:
        """Whether a later line of this block changes a name that begins here, as far as lines are looked at."""
        for later in self.lines[self.next : self.next + _LOOKED_AT]:
            if later.level < line.level:
                return False
            words = later.tokens[1:] if later.tokens[0].text in ("set", "let", "var") else later.tokens
            if words[0].text == name and len(words) > 1 and words[1].kind in _ASSIGNMENTS:
                return True
        return False

    def _annotated(self, line: Line, reader: LineReader) -> Statement:
        """`x: int = 3`."""
        first = reader.advance()
        label = f"write `let {first.text[:40]} as {reader.meant(reader.at + 1)} = …`"
        reader.report("TB2008", "a line does not begin with a name", first, label)
        reader.advance()
        declared = reader.type()
        value: tree.RightSide = tree.Unknown(Span(reader.token.start, reader.token.end))
        if reader.accept("="):
            value = self.right_side(line, reader)
        reader.skip_line()
        self.names.add(first.text)
        return tree.Let(line.span, name_of(first), declared, value, mutable=True)

    def _report_first_word(self, line: Line, reader: LineReader) -> str | None:
        """Report a first word that no statement has; the word that was meant, where that is certain enough."""
        token = reader.token
        following = reader.peek()
        if token.kind == "word" and token.text in CONTINUATIONS:
            reader.report("TB2005", f"`{token.text}` cannot begin a line here", token, CONTINUATIONS[token.text])
        elif token.kind == "capital" and following.kind in ("(", "."):
            reader.report(
                "TB2005", f"{found(token)} cannot begin a line here", token, f"write `call {token.text[:40]}(…)`",
                help="tools, skills and strategies are called with `call`; what a function gives is bound with `let`",
            )  # fmt: skip
        elif token.kind == "word" and following.kind in ("(", ".", "["):
            nearest = _near_statement(token, following)
            label = f"did you mean `{nearest}`?" if nearest else "bind a value with `let`, or give it with `give`"
            if following.kind == ".":
                label = "a value does not change; write `set x = x with (field: …)`, or bind it with `let`"
                if reader.peek(2).kind == "word" and reader.peek(3).kind == "(":
                    for _ in range(3):
                        reader.advance()
                    meant = f"set {token.text[:40]} = {reader.as_function(token.start)}"
                    label = f"a value does not change; write `{meant}`"
                    if "= for each" in meant:
                        label = f"write `{meant.partition(' = ')[2]}`"
            elif following.kind == "(" and token.text in FOREIGN_FUNCTIONS:
                label = FOREIGN_FUNCTIONS[token.text]
            reader.report("TB2005", f"{found(token)} cannot begin a line here", token, label)
            return nearest
        elif token.kind == "-" and following.kind == "-":
            place = Span(token.start, following.end)
            reader.report("TB2008", "`--` is the spelling of another language", place, "a comment begins with `#`")
        else:
            reader.unknown_word(
                STATEMENT_WORDS, "a block of statements", "" if token.kind == "word" else "a line begins with a word"
            )
            return near(token.text, STATEMENT_WORDS) if token.kind == "word" else None
        return None

    # --- simple statements ---------------------------------------------------------------------------------------

    def _let(self, line: Line, reader: LineReader) -> Statement:
        mutable = line.tokens[0].text in ("var", "mut")
        name = reader.value_name("the name of a value", hidden=not mutable)
        self.names.add(name.text)
        if mutable:
            self.variables.add(name.text)
        declared: tree.Type | None = None
        if reader.token.kind == ":":
            reader.as_word(name)
            declared = reader.type()
        elif reader.accept_word("as"):
            declared = reader.type()
        value: tree.RightSide
        if reader.token.kind == "=":
            reader.advance()
            value = self.right_side(line, reader)
        else:
            try:
                reader.fail("`=`", f"write `{line.tokens[0].text} {name.text[:40]} = …`")
            except Stop:
                value = tree.Unknown(Span(reader.token.start, reader.token.end))
        return tree.Let(line.span, name, declared, value, mutable)

    def _set(self, line: Line, reader: LineReader) -> Statement:
        name = reader.value_name("the name of a `var`")
        if reader.token.kind in _ASSIGNMENTS and reader.token.kind != "=":
            reader.foreign_sign(reader.token)
            raise Stop
        if reader.token.kind == ".":
            reader.stop(
                "TB2011", "a field does not change", reader.token,
                f"make a new record: `set {name.text[:40]} = {name.text[:40]} with (field: …)`",
            )  # fmt: skip
        if reader.token.kind == "[":
            reader.stop(
                "TB2011", "an element does not change", reader.token, "make a new list or map, with `merge` for a map"
            )
        reader.expect("=", f"write `set {name.text[:40]} = …`")
        return tree.Set(line.span, name, self.right_side(line, reader))

    def _give(self, line: Line, reader: LineReader) -> Statement:
        return tree.Give(line.span, self.right_side(line, reader))

    def _call(self, line: Line, reader: LineReader) -> Statement:
        call = self.call_target(reader, line.tokens[0].start)
        self.end_of_effect(reader)
        return tree.EffectLine(line.span, call)

    def _ask_line(self, line: Line, reader: LineReader) -> Statement:
        question = self._ask(reader, line.tokens[0].start)
        self.end_of_effect(reader)
        return tree.EffectLine(line.span, question)

    def _compensate(self, line: Line, reader: LineReader) -> Statement:
        if reader.is_word("with") or reader.token.kind in ("capital", "word"):
            label = "it undoes what was committed since the `attempt` began"
            reader.report("TB2007", f"{found(reader.token)} follows where the line should end", reader.token, label)
        reader.end_of_line()
        return tree.Compensate(line.span)

    def _show(self, line: Line, reader: LineReader) -> Statement:
        return tree.Show(line.span, self._text(reader, "show"))

    def _stop(self, line: Line, reader: LineReader) -> Statement:
        return tree.Stop(line.span, self._text(reader, "stop"))

    def _fail(self, line: Line, reader: LineReader) -> Statement:
        return tree.Fail(line.span, self._text(reader, "fail"))

    def _text(self, reader: LineReader, word: str) -> Expr:
        text = reader.text_literal(word)
        reader.end_of_line()
        return text

    def _require(self, line: Line, reader: LineReader) -> Statement:
        condition = reader.condition()
        text: Expr
        if reader.accept_word("else"):
            text = self._text(reader, "require")
        else:
            place = reader.token
            if reader.token.kind == ",":
                reader.report("TB2008", "`,` is the spelling of another language", place, 'write `else "…"`')
            elif reader.at_end:
                reader.report(
                    "TB2006", "expected `else`, found the end of the line", place, 'say what is required: `else "…"`'
                )
            reader.end_of_line()
            text = tree.Unknown(Span(place.start, place.end))
        return tree.Require(line.span, condition, text)

    def _break(self, line: Line, reader: LineReader) -> Statement:
        reader.end_of_line()
        return tree.Break(line.span)

    def _continue(self, line: Line, reader: LineReader) -> Statement:
        reader.end_of_line()
        return tree.Continue(line.span)

    # --- statements with blocks ----------------------------------------------------------------------------------

    def _if(self, line: Line, reader: LineReader) -> Statement:
        branches = [self._branch(line, reader)]
        otherwise: Block | None = None
        while (following := self._continuation(line, "else", ("elif", "elsif", "elseif"))) is not None:
            reader = self.reader(following)
            first = reader.advance()
            if first.text != "else":
                hint = FOREIGN_STATEMENTS[first.text]
                title = f"`{first.text}` is the spelling of another language"
                reader.report("TB2008", title, first, hint.label, fix=hint.meant)
            chained = first.text != "else" or reader.accept_word("if")
            if otherwise is not None:
                reader.report("TB2010", "nothing follows the `else` of an `if`", first, "put it before the `else`")
            if not chained and not reader.at_end and reader.token.kind not in (":", "{", "bad"):
                reader.report("TB2007", "an `else` has no condition", reader.token, "write `else if …`")
                reader.skip_line()
            if chained:
                branches.append(self._branch(following, reader))
            else:
                reader.end_of_line()
                block = self.block(following)
                otherwise = otherwise or block
        return tree.If(line.span, branches, otherwise)

    def _branch(self, line: Line, reader: LineReader) -> tuple[Expr, Block]:
        condition = reader.value()
        if reader.is_word("then"):
            label = "the block stands on the next lines, deeper"
            reader.report("TB2008", "`then` is the spelling of another language", reader.token, label)
        reader.end_of_line()
        return condition, self.block(line)

    def _continuation(self, line: Line, word: str, foreign: tuple[str, ...]) -> Line | None:
        """The next line, where it continues a statement at its column."""
        following = self.peek()
        if following is None or following.level != line.level:
            return None
        first = following.tokens[0]
        known = first.kind != "word" or first.text in self._statements or first.text in foreign or first.text == word
        if word == "else" and not known and near(first.text, (word,)) is not None:
            self.reader(following).unknown_word((word,), "this place")
            first = following.tokens[0] = Token("word", word, first.start, first.end)
        if first.kind != "word" or (first.text != word and first.text not in foreign):
            return None
        if following.tokens[1].kind in _ASSIGNMENTS:
            return None
        self.lose_doc(following)
        self.next += 1
        return following

    def _when(self, line: Line, reader: LineReader) -> Statement:
        subject = reader.value()
        reader.end_of_line()
        arms: list[tree.Arm] = []
        otherwise: Block | None = None
        otherwise_span: Span | None = None
        unread = False
        for arm_line in self._arm_lines(line):
            self.lose_doc(arm_line)
            reader = self.reader(arm_line)
            first = reader.token
            meant = {"case": "is", "default": "else", "_": "else"}.get(first.text)
            # Under `match` the arms are that language's too: it was said once.
            arm_line.bad = arm_line.bad or (meant is not None and line.tokens[0].text in FOREIGN_STATEMENTS)
            if meant is not None and first.kind in ("word", "hidden"):
                label = FOREIGN_STATEMENTS["default" if meant == "else" else "case"].label
                reader.report("TB2008", f"`{first.text}` is the spelling of another language", first, label)
            elif first.kind != "word" or first.text not in ARM_WORDS:
                label = "an arm begins with `is`" if first.kind != "word" or first.text not in self._statements else (
                    "put it into an arm: `is …` on a line before"
                )  # fmt: skip
                reader.unknown_word(ARM_WORDS, "a `when`", label)
                self.skip_block(arm_line)
                unread = True
                continue
            reader.advance()
            if otherwise is not None:
                reader.report("TB2010", "nothing follows the `else` of a `when`", first, "put it before the `else`")
            if (meant or first.text) == "else":
                reader.end_of_line()
                block = self.block(arm_line)
                if otherwise is None:
                    otherwise, otherwise_span = block, Span(first.start, first.end)
                continue
            pattern = self._pattern(reader)
            block = self.block(arm_line)
            if pattern is not None:
                arms.append(tree.Arm(arm_line.span, pattern, block))
            else:
                unread = True
        self._misplaced_else(line)
        if unread and otherwise is None:  # which cases are covered cannot be told
            end = self.lines[self.next - 1].span.end
            otherwise = Block(Span(end, end), [], damaged=True)
        return tree.When(line.span, subject, arms, otherwise, otherwise_span)

    def _arm_lines(self, line: Line) -> Iterator[Line]:
        """The lines in the block of a `when`; arms that stand at its column are taken, too, after that was reported."""
        following = self.peek()
        beside = following is not None and following.level == line.level and following.tokens[0].text == "is"
        yield from self.block_lines(line, needs="arms, deeper than it")
        while beside and following is not None and following.level == line.level:
            if following.tokens[0].kind != "word" or following.tokens[0].text not in ARM_WORDS:
                return
            following.bad = True
            self.next += 1
            yield following
            following = self.peek()

    def _misplaced_else(self, line: Line) -> None:
        """An `else` at the column of its `when`."""
        following = self._continuation(line, "else", ())
        if following is None:
            return
        self.reader(following).report(
            "TB2010", "the `else` of a `when` stands in the wrong place", following.tokens[0],
            "put it at the column of the `is` lines",
        )  # fmt: skip
        self.block(following)

    def _pattern(self, reader: LineReader) -> tree.Pattern | None:
        """What an arm matches, up to the end of the line; None where it cannot be read."""
        start = reader.token.start
        pattern: tree.Pattern
        try:
            if reader.accept_word("present"):
                reader.expect_word("as", "name the value: `is present as x`")
                name = reader.value_name("the name of the value")
                self.names.add(name.text)
                pattern = tree.PresentPattern(Span(start, reader.last_end), name)
            elif reader.accept_word("absent"):
                pattern = tree.AbsentPattern(Span(start, reader.last_end))
            elif reader.is_word("none") or reader.token.text in ("None", "null", "nil"):
                reader.stop("TB2011", "an absent value is told by `is absent`", reader.token, "write `is absent`")
            elif reader.token.kind == "capital" and reader.token.text not in ("True", "False"):
                pattern = self._variant_pattern(reader, start)
            elif reader.token.kind == "word" and reader.token.text == "not":
                reader.stop("TB2011", "an arm says what matches", reader.token, "put the other cases under `else`")
            else:
                literals = [reader.literal("a variant or a literal")]
                while reader.accept(","):
                    literals.append(reader.literal("a literal"))
                if reader.is_word("or") or reader.token.kind in ("|", "||"):
                    reader.stop("TB2011", "literals of an arm stand behind commas", reader.token, 'write `is "a", "b"`')
                pattern = tree.LiteralPattern(Span(start, reader.last_end), literals)
        except Stop:
            reader.skip_line()
            return None
        reader.end_of_line()
        return pattern

    def _variant_pattern(self, reader: LineReader, start: int) -> tree.Pattern:
        name = name_of(reader.advance())
        if reader.token.kind == ".":
            reader.stop("TB2011", "an arm names the variant alone", reader.token, "leave the choice's name out")
        if reader.token.kind == ",":
            reader.stop("TB2011", "an arm has one variant", reader.token, "write an arm for each, or `else`")
        if reader.token.kind == "(":
            reader.stop(
                "TB2008",
                "`(` is the spelling of another language",
                reader.token,
                f"write `is {name.text[:40]} with name`",
            )
        bindings: list[Name] = []
        misspelt = reader.token.kind == "word" and not reader.is_word("with") and near(reader.token.text, ("with",))
        if misspelt and reader.peek().kind == "word":
            title = f"{found(reader.token)} follows where the line should end"
            reader.report("TB2007", title, reader.token, "did you mean `with`?")
            reader.advance()
        if reader.accept_word("with") or (misspelt and reader.token.kind == "word"):
            while True:
                bindings.append(reader.value_name("the name of a field of the variant"))
                self.names.add(bindings[-1].text)
                if not reader.accept(","):
                    break
        return tree.VariantPattern(Span(start, reader.last_end), name, bindings)

    def _for(self, line: Line, reader: LineReader) -> Statement:
        if not reader.accept_word("each") and line.tokens[0].text != "foreach":
            place = line.tokens[0]
            fix = "for each" if reader.token.kind == "word" and reader.peek().text == "in" else None
            reader.report(
                "TB2008",
                "`for` without `each` is the spelling of another language",
                place,
                "write `for each x in xs`",
                fix=fix,
            )
            if reader.peek().kind == "word" and reader.peek().text != "in" and near(reader.token.text, ("each",)):
                reader.advance()
        name: Name | None = None
        source: Expr
        start = reader.token.start
        try:
            name = reader.value_name("the name of an element")
            self.names.add(name.text)
            if reader.token.kind == ",":
                reader.stop(
                    "TB2011", "a loop has one name", reader.token, "go over `items(m)` and use `.key` and `.value`"
                )
            if reader.is_word("of") or reader.token.kind == ":":
                reader.report(
                    "TB2008", f"`{reader.token.text}` is the spelling of another language", reader.token, "write `in`"
                )
                reader.advance()
            else:
                reader.expect_word("in", "write `for each x in xs`")
        except Stop:
            reader.skip_line()
            source = tree.Unknown(Span(start, max(start, reader.token.end)))
        else:
            source = reader.value()
        reader.end_of_line()
        block = self.block(line)
        return tree.ForEach(line.span, name or Name(Span(start, start), "_"), source, block)

    def _repeat(self, line: Line, reader: LineReader) -> Statement:
        times: Expr
        condition: Expr | None = None
        start = reader.token.start
        try:
            reader.expect_word("up", "write `repeat up to N times`")
            reader.expect_word("to", "write `repeat up to N times`")
            times = reader.count()
            reader.expect_word("times", "write `repeat up to N times`")
            if reader.accept_word("while"):
                condition = reader.value()
            elif reader.is_word("until"):
                reader.stop(
                    "TB2008", "`until` is the spelling of another language", reader.token, "write `while not …`"
                )
        except Stop:
            reader.skip_line()
            times = tree.Unknown(Span(start, max(start, reader.token.end)))
        reader.end_of_line()
        return tree.Repeat(line.span, times, condition, self.block(line))

    def _attempt(self, line: Line, reader: LineReader) -> Statement:
        reader.end_of_line()
        block = self.block(line)
        following = self._continuation(line, "on", ("except", "catch", "rescue"))
        if following is None:
            self.reader(line).report(
                "TB2010",
                "an `attempt` has no `on failure`",
                line.tokens[0],
                "put `on failure as problem` after its block",
            )
            empty = Block(Span(line.span.end, line.span.end), [], damaged=True)
            return tree.Attempt(line.span, block, None, empty, line.span)
        reader = self.reader(following)
        first = reader.advance()
        problem: Name | None = None
        try:
            if first.text != "on":
                label = FOREIGN_STATEMENTS[first.text].label
                following.bad = following.bad or line.tokens[0].text == "try"  # which was said to have `on failure`
                reader.report("TB2008", f"`{first.text}` is the spelling of another language", first, label)
                while not reader.at_end and not reader.is_word("as"):
                    reader.advance()
            elif not reader.accept_word("failure"):
                misspelt = reader.token.kind == "word" and not reader.is_word("as")
                reader.report(
                    "TB2006", expected("`failure`", reader.token), reader.token, "write `on failure as problem`"
                )  # fmt: skip
                if misspelt:
                    reader.advance()
            if reader.token.kind == "capital":
                label = "every failure comes here: tell them apart by `problem.code`"
                reader.report("TB2007", f"`{reader.token.text[:40]}` stands where no code can", reader.token, label)
                reader.advance()
            named = reader.accept_word("as")
            if not named and reader.token.kind == "word":
                reader.report("TB2006", expected("`as`", reader.token), reader.token, "write `on failure as problem`")
                named = True
            if named:
                problem = reader.value_name("the name of the problem")
                self.names.add(problem.text)
        except Stop:
            reader.skip_line()
        reader.end_of_line()
        handler = self.block(following)
        if self._continuation(line, "on", ()) is not None:
            extra = self.lines[self.next - 1]
            self.reader(extra).report(
                "TB2010",
                "an `attempt` has one `on failure`",
                extra.tokens[0],
                "tell problems apart by `problem.code` in it",
            )
            self.block(extra)
        return tree.Attempt(line.span, block, problem, handler, following.span)


def _near_statement(token: Token, following: Token) -> str | None:
    """A statement word that was probably meant though a bracket follows: `giv (x)`."""
    if following.kind not in ("(", "[") or following.start == token.end:
        return None
    return near(token.text, STATEMENT_WORDS)
