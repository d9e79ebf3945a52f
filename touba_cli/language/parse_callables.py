"""Declarations of what can be called: functions, tools, skills, strategies and agents."""

from __future__ import annotations

from . import tree
from .cursor import Stop, expected, name_of
from .diagnostics import Related
from .hints import FOREIGN_CLAUSES, FOREIGN_STATEMENTS, near
from .layout import Line
from .parse_declarations import Clauses, DeclarationReader
from .parse_types import LineReader
from .tokens import Token
from .tree import FieldDecl, Name, Span, Type
from .words import (
    AGENT_WORDS,
    CALLABLE_WORDS,
    DECLARATION_WORDS,
    EFFECT_WORDS,
    SKILL_WORDS,
    STATEMENT_WORDS,
    TOOL_WORDS,
)

#: what begins a line below a callable in earnest, though it may not stand there
_NEVER_MISSPELT = frozenset((
    *SKILL_WORDS, *TOOL_WORDS, *AGENT_WORDS, *STATEMENT_WORDS, *FOREIGN_CLAUSES, *FOREIGN_STATEMENTS,
))  # fmt: skip

_INPUTS = "inputs stand on lines of their own, deeper: `takes name as Type`"


class CallableReader(DeclarationReader):
    """Reads callables."""

    def _callable(self, line: Line, reader: LineReader) -> None:
        kind = line.tokens[0].text if line.tokens[0].text in DECLARATION_WORDS else "function"
        if line.tokens[0].text == "workflow":
            kind = "strategy"
        name = self.header(reader, _INPUTS, inputs=True)
        doc = self.doc(line)
        self.names, self.variables = set(), set()
        words = SKILL_WORDS if kind == "skill" else CALLABLE_WORDS
        signature = Signature(self)
        signature.read_behind_name(reader)
        body: tree.Block | None = None
        callers: list[tree.Reference] | None = None
        for clause in self.block_lines(line, needs="`takes`, `gives` and `do`, deeper than it"):
            reader = self.reader(clause)
            first = reader.token
            word = first.text if first.kind == "word" else ""
            if word not in _NEVER_MISSPELT and self.misspelt(clause, words, f"a {kind}"):
                reader = self.reader(clause)
                first = reader.token
                word = first.text
            if word == "do":
                reader.advance()
                if body is not None:
                    reader.report("TB2010", "`do` stands twice", first, "put the statements under the first one")
                self.lose_doc(clause)
                reader.end_of_line()
                self.names.update(each.name.text for each in signature.takes)
                block = self.block(clause)
                stray = None if block.statements else self._beside_do(clause, kind)
                body = body or stray or block
            elif body is not None and word in words:
                reader.report("TB2010", f"`{word}` stands behind `do`", first, "move it before `do`")
                self.lose_doc(clause)
                self.skip_block(clause)
            elif word == "callable_by" and kind == "skill":
                signature.closed = True
                callers = [*(callers or ()), *self._callers(clause, reader)]
            elif not signature.read(clause, reader):
                # under `def` and its like everything was written for another language
                clause.bad = clause.bad or line.tokens[0].text not in DECLARATION_WORDS
                stray = self._stray_statements(clause, reader, kind)
                if stray is not None and body is not None:
                    body.damaged = True
                body = body or stray
        following = self.peek()
        if body is None and following is not None and following.tokens[0].text in words:
            # Its clauses go on in the wrong column, and are reported there.
            signature.gives = signature.gives or tree.UnknownType(following.span)
            body = tree.Block(Span(line.span.end, line.span.end), [], damaged=True)
        elif body is None:
            if line.span.start < self.lines[self.next - 1].span.start:  # a missing block was reported already
                self.reader(line).report(
                    "TB2003", f"{kind} `{name.text[:40]}` has no `do`", name.span, "add a `do` with its statements"
                )
            body = tree.Block(Span(line.span.end, line.span.end), [], damaged=True)
        callable_ = tree.CallableDecl(line.span, kind, name, signature.takes, signature.gives, body, doc, callers)
        self.declare(callable_)

    def _beside_do(self, clause: Line, kind: str) -> tree.Block | None:
        """Statements at the column of their `do`, whose block is missing: that was reported."""
        following = self.peek()
        if following is None or following.level != clause.level:
            return None
        if following.tokens[0].text not in STATEMENT_WORDS and following.tokens[0].text not in FOREIGN_STATEMENTS:
            return None
        self.next += 1
        following.bad = True
        return self._stray_statements(following, self.reader(following), kind)

    def _callers(self, line: Line, reader: LineReader) -> list[tree.Reference]:
        """`callable_by` as a line."""
        self.lose_doc(line)
        reader.advance()
        found: list[tree.Reference] = []
        try:
            found = self.references(reader)
        except Stop:
            reader.skip_line()
        reader.end_of_line()
        self.skip_block_of_clause(line)
        return found

    def _stray_statements(self, line: Line, reader: LineReader, kind: str) -> tree.Block | None:
        """A line that is no clause.

        Where statements stand without their `do`, they are read after the first was reported.
        """
        first = reader.token
        word = first.text if first.kind == "word" else ""
        if word not in STATEMENT_WORDS and word not in FOREIGN_STATEMENTS:
            self.lose_doc(line)
            words = SKILL_WORDS if kind == "skill" else CALLABLE_WORDS
            label = "this clause belongs to a tool" if word in TOOL_WORDS else ""
            if word in AGENT_WORDS:
                label = "this clause belongs to an agent"
            if word == "callable_by":
                label = "only skills and agents say who may call them"
            reader.unknown_word(words, f"a {kind}", label)
            self.skip_block(line)
            return None
        reader.report(
            "TB2005", f"`{word}` cannot begin a line here", first, "put the statements deeper, under a line `do`"
        )
        statements: list[tree.Statement] = []
        start = line.span.start
        level = line.level
        while True:
            statement = self.statement(line)
            if statement is not None:
                statements.append(statement)
            following = self.peek()
            if following is None or following.level < level:
                break
            if following.level == level and following.tokens[0].text in CALLABLE_WORDS:
                break
            following.bad = following.bad or following.level > level  # the lines above it stand in the wrong column
            line = following
            self.next += 1
        return tree.Block(Span(start, self.lines[self.next - 1].span.end), statements, damaged=True)

    # --- tools and agents ----------------------------------------------------------------------------------------

    def _tool(self, line: Line, reader: LineReader) -> None:
        name = self.header(reader, _INPUTS, inputs=True)
        tool = tree.ToolDecl(line.span, name, [], None, doc=self.doc(line))
        label = "a tool has no statements; its handler is written in another language"
        signature = Signature(self, has_do=False)
        signature.read_behind_name(reader)
        self._read_clauses(line, signature, _ToolClauses(self, tool).clauses, TOOL_WORDS, "a tool", label)
        tool.takes = signature.takes
        tool.gives = signature.gives
        self.declare(tool)

    def _agent(self, line: Line, reader: LineReader) -> None:
        name = self.header(reader, _INPUTS, inputs=True)
        agent = tree.AgentDecl(line.span, name, [], None, doc=self.doc(line))
        clauses = _AgentClauses(self, agent).clauses
        label = "an agent has no statements: what it does is decided when it runs"
        signature = Signature(self, has_do=False)
        signature.read_behind_name(reader)
        unread = self._read_clauses(line, signature, clauses, AGENT_WORDS, "an agent", label)
        agent.takes = signature.takes
        agent.gives = signature.gives
        if "responsibility" not in clauses and not unread:
            label = 'say what it is for: `responsibility "…"`'
            self.report_missing(line, f"agent `{name.text[:40]}`", name.span, "responsibility", label)
        self.declare(agent)

    def _read_clauses(
        self, line: Line, signature: Signature, clauses: Clauses, words: tuple[str, ...], what: str, label: str
    ) -> bool:
        """The inputs, result and clauses of a callable without statements; whether a line could not be read.

        ``label`` answers a `do`.
        """
        unread = False
        for clause in self.block_lines(line, needs="`takes`, `gives` and other clauses, deeper than it"):
            reader = self.reader(clause)
            if signature.read(clause, reader):
                continue
            if reader.token.text not in words and self.misspelt(clause, words, what):
                reader = self.reader(clause)
                if signature.read(clause, reader):
                    continue
            signature.closed = True
            if not clauses.read(clause, reader):
                self.lose_doc(clause)
                reader.unknown_word(words, what, label if reader.token.text == "do" else "")
                self.skip_block_of_clause(clause)
                unread = True
        return unread


class Signature:
    """`takes` and `gives` of a callable, while its clauses are read."""

    def __init__(self, owner: DeclarationReader, *, has_do: bool = True):
        self._owner = owner
        self._has_do = has_do
        self._gives_token: Token | None = None
        self.takes: list[FieldDecl] = []
        self.gives: Type | None = None
        #: other clauses have begun
        self.closed = False

    def read(self, line: Line, reader: LineReader) -> bool:
        """Read a clause; False where it is another one."""
        first = reader.token
        word = first.text if first.kind == "word" else ""
        if word not in ("takes", "gives"):
            word = FOREIGN_CLAUSES.get(first.text, "")
            if not word or (self._has_do and first.text in FOREIGN_STATEMENTS and reader.peek().kind != "capital"):
                return False  # `return n * 2` is a statement, `return Int` stands for `gives Int`
            label = "write `gives Type`" if word == "gives" else "write `takes name as Type`"
            reader.report("TB2008", f"`{first.text}` is the spelling of another language", first, label, fix=word)
        reader.advance()
        if self.closed:
            reader.report("TB2010", f"`{word}` stands behind another clause", first, "move it up, below the name")
        if word == "takes":
            self._read_takes(line, reader, first)
        else:
            self._read_gives(line, reader, first)
        self._owner.skip_block_of_clause(line, statements=self._has_do)
        return True

    def read_behind_name(self, reader: LineReader) -> None:
        """Inputs and a result where other languages have them, behind the name of the callable."""
        if reader.accept("("):  # it was reported
            if reader.token.kind != ")":
                self._add(reader.parameters("the name of an input", any_name=False))
            reader.accept(")")
        self._read_arrow(reader)
        reader.end_of_line()

    def _read_arrow(self, reader: LineReader) -> None:
        """`-> Type`."""
        if reader.token.kind != "->":
            return
        reader.foreign_sign(reader.advance())
        form = reader.type()
        self.gives = self.gives or form

    def _add(self, inputs: list[FieldDecl]) -> None:
        self.takes.extend(inputs)
        self._owner.names.update(each.name.text for each in inputs)

    def _read_takes(self, line: Line, reader: LineReader, first: Token) -> None:
        if self._gives_token is not None:
            reader.report("TB2010", "`takes` stands behind `gives`", first, "move it before `gives`")
        opener = reader.token
        if reader.accept("("):
            label = "write it without brackets: `takes x as Int`"
            reader.report("TB2008", "`(` is the spelling of another language", opener, label)
        if reader.at_end:
            found = self._inputs_below(line, reader)
        else:
            found = reader.parameters("the name of an input", any_name=False)
        if opener.kind == "(":
            reader.accept(")")
        self._read_arrow(reader)
        if reader.token.kind == "=":
            reader.report("TB2006", "an input has no default", reader.token, "make it `Optional`")
            reader.skip_line()
        self._owner.check_named(reader)
        reader.end_of_line()
        if found:
            found[0].doc = self._owner.doc(line)
        else:
            self._owner.lose_doc(line)
        self._add(found)

    def _inputs_below(self, line: Line, reader: LineReader) -> list[FieldDecl]:
        """Inputs on deeper lines, one on each, as others write them: reported once, and read."""
        label = "write them behind `takes`: `takes a as Int, b as Int`"
        title = expected("the name of an input", reader.token)
        reader.report("TB2006", title, reader.token, label)
        found: list[FieldDecl] = []
        following = self._owner.peek()
        while following is not None and following.level > line.level:
            self._owner.next += 1
            following.bad = True
            found.extend(self._owner.reader(following).parameters("the name of an input", any_name=False))
            following = self._owner.peek()
        return found

    def _read_gives(self, line: Line, reader: LineReader, first: Token) -> None:
        self._owner.lose_doc(line)
        if self._gives_token is not None:
            known = self._gives_token
            related = (Related(Span(known.start, known.end), "the first one"),)
            reader.report("TB2010", "`gives` stands twice", first, "remove one of them", related=related)
        self._gives_token = self._gives_token or first
        form = reader.type()
        if reader.token.kind == ",":
            reader.report("TB2007", "a callable gives one value", reader.token, "declare a `type` with both as fields")
            reader.skip_line()
        reader.end_of_line()
        if self.gives is None:
            self.gives = form


class _ToolClauses:
    """The clauses of a tool besides inputs and result."""

    def __init__(self, owner: DeclarationReader, tool: tree.ToolDecl):
        self._owner = owner
        self._tool = tool
        readers = {
            "requires": self._requires, "secret": self._secret, "reads": self._reads, "writes": self._writes,
            "effect": self._effect, "compensate": self._compensate, "timeout": self._timeout,
        }  # fmt: skip
        assert ("takes", "gives", *readers) == TOOL_WORDS
        self.clauses = Clauses(owner, readers, frozenset(("requires", "secret", "reads", "writes")))

    def _requires(self, line: Line, reader: LineReader) -> None:
        while True:
            grant = reader.any_word("the name of a grant")
            if reader.accept("."):
                # `filesystem.read` is one grant: its name has a dot.
                rest = reader.any_word("the name of a grant")
                grant = Name(Span(grant.span.start, rest.span.end), f"{grant.text}.{rest.text}")
            self._tool.requires.append(grant)
            if not reader.accept(","):
                return

    def _secret(self, line: Line, reader: LineReader) -> None:
        self._tool.secrets.append(reader.value_name("the name of a secret"))
        if reader.token.kind == ",":
            reader.stop(
                "TB2007", "a secret stands on a line of its own", reader.token, "begin a new line with `secret`"
            )

    def _reads(self, line: Line, reader: LineReader) -> None:
        self._tool.reads.extend(self._memories(reader, "reads"))

    def _writes(self, line: Line, reader: LineReader) -> None:
        self._tool.writes.extend(self._memories(reader, "writes"))

    def _memories(self, reader: LineReader, word: str) -> list[tree.Qualified]:
        reader.expect_word("memory", f"write `{word} memory Name`")
        found = [reader.qualified("the name of a memory")]
        while reader.accept(","):
            found.append(reader.qualified("the name of a memory"))
        return found

    def _effect(self, line: Line, reader: LineReader) -> None:
        token = reader.token
        if token.kind != "word" or token.text not in EFFECT_WORDS:
            nearest = near(token.text, EFFECT_WORDS) if token.kind == "word" else None
            label = f"did you mean `{nearest}`?" if nearest else "write `none`, `read` or `write`"
            if self._tool.effect is None:  # it is stated, though wrongly
                self._tool.effect = name_of(token) if nearest is None else Name(name_of(token).span, nearest)
            reader.report("TB2006", expected("an effect", token), token, label, candidates=EFFECT_WORDS)
            raise Stop
        reader.advance()
        if self._tool.effect is None:
            self._tool.effect = name_of(token)
        if not reader.is_word("key"):
            return
        if token.text != "write":
            reader.stop("TB2007", "only `effect write` has a key", reader.token, "remove `key` and what follows")
        reader.advance()
        key = reader.value()
        if self._tool.key is None:
            self._tool.key = key

    def _compensate(self, line: Line, reader: LineReader) -> None:
        reader.expect_word("with", "write `compensate with Tool`")
        if reader.is_word("tool"):
            reader.stop("TB2006", "only a tool can compensate", reader.token, "remove `tool`: `compensate with Name`")
        target = reader.qualified("the name of a tool")
        if self._tool.compensation is None:
            self._tool.compensation = target

    def _timeout(self, line: Line, reader: LineReader) -> None:
        value = reader.duration("write `timeout 30 seconds`")
        if self._tool.timeout is None:
            self._tool.timeout = value


class _AgentClauses:
    """The clauses of an agent besides inputs and result."""

    def __init__(self, owner: DeclarationReader, agent: tree.AgentDecl):
        self._owner = owner
        self._agent = agent
        readers = {
            "responsibility": self._responsibility, "uses": self._uses, "callable_by": self._callable_by,
            "allows": self._allows, "steps": self._steps, "provider_calls": self._provider_calls,
        }  # fmt: skip
        assert ("takes", "gives", *readers) == AGENT_WORDS
        self.clauses = Clauses(owner, readers, frozenset(("uses", "callable_by")))

    def _responsibility(self, line: Line, reader: LineReader) -> None:
        text = reader.text_literal("responsibility")
        if self._agent.responsibility is None:
            self._agent.responsibility = text

    def _uses(self, line: Line, reader: LineReader) -> None:
        self._agent.uses.extend(self._owner.references(reader))

    def _callable_by(self, line: Line, reader: LineReader) -> None:
        # The clause counts where it cannot be read, too: nobody is let in by a mistake.
        self._agent.callers = self._agent.callers or []
        self._agent.callers.extend(self._owner.references(reader))

    def _allows(self, line: Line, reader: LineReader) -> None:
        reader.expect_word("human", "write `allows human review`")
        reader.expect_word("review", "an agent may only ask for a review: `allows human review`")
        self._agent.reviews = True

    def _steps(self, line: Line, reader: LineReader) -> None:
        self._agent.steps = reader.whole_number("write `steps 8`")

    def _provider_calls(self, line: Line, reader: LineReader) -> None:
        self._agent.provider_calls = reader.whole_number("write `provider_calls 17`")
