"""Tests in the language: `test "…"` with what is given, what runs and what is expected."""

from __future__ import annotations

from . import tree
from .cursor import Stop, name_of
from .diagnostics import Related
from .hints import FOREIGN_TEST_LINES
from .layout import Line
from .parse_triggers import TriggerReader
from .parse_types import LineReader
from .tree import Name, Span
from .tree.tests import Expectation, Given, GivenAgent, GivenAnswer, GivenTool, Proposal, TestDecl
from .words import APPROVAL_WORDS, DECISION_WORDS, EXPECT_WORDS, REVIEW_WORDS, STATUS_WORDS, TEST_WORDS


class TestReader(TriggerReader):
    """Reads tests."""

    def _test(self, line: Line, reader: LineReader) -> None:
        self.lose_doc(line)
        name = reader.short_text('what it shows: `test "a refused payment stops"`')
        reader.end_of_line()
        test = TestDecl(line.span, name, [], None, [])
        run_line: Line | None = None
        #: an `expect` before the `run`
        early: Line | None = None
        for each in self.block_lines(line, needs="`given`, `run` and `expect`, deeper than it"):
            self.lose_doc(each)
            reader = self.reader(each)
            first = reader.token
            if first.kind != "word" or first.text not in TEST_WORDS:
                reader.unknown_word(TEST_WORDS, "a test", FOREIGN_TEST_LINES.get(first.text, ""))
                self.skip_block(each)
                test.damaged = True
                continue
            reader.advance()
            try:
                if first.text == "given":
                    if run_line is not None:
                        reader.report("TB2010", "`given` stands behind `run`", first, "move it before `run`")
                    test.given.append(self._given(each, reader))
                elif first.text == "run":
                    if run_line is not None:
                        related = (Related(run_line.span, "the first one"),)
                        reader.report("TB2010", "`run` stands twice", first, "write a test for each", related=related)
                    if run_line is None and early is not None and not test.damaged:
                        self.reader(early).report(
                            "TB2010", "`expect` stands before `run`", early.tokens[0], "move it behind `run`"
                        )
                    run_line = run_line or each
                    test.run = test.run or self.call_target(reader, first.start)
                else:
                    early = early or (each if run_line is None else None)
                    test.expect.append(self._expectation(each, reader))
            except Stop:
                reader.skip_line()
                test.damaged = True
            reader.end_of_line()
            self.skip_block_of_clause(each)
        if run_line is None and not test.damaged:
            self.report_missing(line, "a test", name.span, "run", "say what is tested: `run Name(…)`")
        elif not test.expect and not test.damaged:
            self.report_missing(line, "a test", name.span, "expect", "say what is expected: `expect result is …`")
        self.tree.tests.append(test)

    # --- what is given -------------------------------------------------------------------------------------------

    def _given(self, line: Line, reader: LineReader) -> Given:
        if reader.is_word("human") or reader.is_word("ask"):
            return self._given_answer(line, reader)
        subject = self.reference(reader)
        if reader.accept_word("decides"):
            return self._decisions(line, reader, subject)
        if reader.accept_word("gives"):
            return GivenTool(line.span, subject, reader.value(), None)
        if subject.kind.text == "agent" and not reader.is_word("fails"):
            reader.fail("`decides`", f"write `given agent {subject.target.name.text[:40]} decides`")
        reader.expect_word("fails", "write `gives` and a value, or `fails with` and a code")
        reader.expect_word("with", 'write `fails with "Code"`')
        return GivenTool(line.span, subject, None, reader.short_text('a code: `fails with "CardDeclined"`'))

    def _given_answer(self, line: Line, reader: LineReader) -> GivenAnswer:
        kind = reader.advance().text
        if kind == "human":
            reader.expect(".", "write `given human.approve answers approve`")
            kind = self.choose(reader, ("approve", "review"), "a decision of a person").text
        gate = reader.value_name("the name of a decision") if reader.accept_word("named") else None
        reader.expect_word("answers", f"write `answers` and {'an answer' if kind == 'ask' else 'a decision'}")
        token = reader.token
        word: Name | None = None
        value: tree.Expr | None = None
        if kind == "approve":
            word = self.choose(reader, APPROVAL_WORDS, "a decision")
        elif kind == "review" and token.kind == "word" and token.text in REVIEW_WORDS:
            word = name_of(reader.advance())
        else:
            value = reader.value()
        return GivenAnswer(line.span, kind, gate, word, value)

    def _decisions(self, line: Line, reader: LineReader, agent: tree.Reference) -> GivenAgent:
        """What an agent proposes, one line after the other."""
        span = Span(line.span.start, reader.last_end)
        reader.end_of_line()
        proposals: list[Proposal] = []
        for each in self.block_lines(line, needs="`call` and `answer`, deeper than it"):
            self.lose_doc(each)
            reader = self.reader(each)
            first = reader.token
            if first.kind != "word" or first.text not in DECISION_WORDS:
                label = "an agent answers: write `answer`" if first.text == "give" else ""
                reader.unknown_word(DECISION_WORDS, "what an agent decides", label)
                self.skip_block(each)
                continue
            reader.advance()
            try:
                if first.text == "call":
                    proposals.append(Proposal(each.span, self.call_target(reader, first.start), None))
                else:
                    proposals.append(Proposal(each.span, None, reader.value()))
            except Stop:
                reader.skip_line()
            reader.end_of_line()
            self.skip_block_of_clause(each)
        return GivenAgent(span, agent, proposals)

    # --- what is expected ----------------------------------------------------------------------------------------

    def _expectation(self, line: Line, reader: LineReader) -> Expectation:
        word = self.choose(reader, EXPECT_WORDS, "an expectation").text
        if word == "no":
            reader.expect_word("effects", "write `expect no effects`")
            return Expectation(line.span, "effects")
        if word == "calls":
            target = reader.qualified("the name of a tool")
            times = reader.whole_number(f"write `expect calls {target.name.text[:40]} 1 times`")
            if reader.is_word("time"):
                reader.stop("TB2006", "expected `times`, found `time`", reader.token, "write `1 times`")
            reader.expect_word("times", "write `1 times`")
            return Expectation(line.span, "calls", target=target, times=times)
        reader.expect_word("is", f"write `expect {word} is …`")
        if word == "status":
            return Expectation(line.span, "status", word=self.choose(reader, STATUS_WORDS, "a status"))
        return Expectation(line.span, "result", value=reader.value())
