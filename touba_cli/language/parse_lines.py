"""One module: its lines → tree. Declarations are read here, one table of first words for each kind of block."""

from __future__ import annotations

from collections.abc import Callable

from . import tree
from .cursor import Stop, found, later, name_of
from .diagnostics import Problems, Related
from .hints import FOREIGN_DECLARATIONS, FOREIGN_STATEMENTS, near
from .layout import Line, lay_out
from .lexer import tokenize
from .parse_statements import StatementReader
from .parse_types import LineReader
from .source import Source
from .tokens import Token
from .tree import Declaration, FieldDecl, Name, Span, Type
from .words import (
    CALLABLE_WORDS,
    DECLARATION_WORDS,
    EFFECT_WORDS,
    LATER_WORDS,
    MODULE_WORDS,
    STATEMENT_WORDS,
    TOOL_WORDS,
    UNITS,
)


def parse_module(source: Source, problems: Problems) -> tree.Module:
    """The tree of one file. Everything wrong is added to ``problems``; this never raises."""
    lines = lay_out(source, tokenize(source, problems), problems)
    return ModuleReader(source, problems, lines).module()


class ModuleReader(StatementReader):
    """Reads what stands outside of blocks, and declarations."""

    def __init__(self, source: Source, problems: Problems, lines: list[Line]):
        super().__init__(source, problems, lines)
        self._module = tree.Module(Span(0, len(source.text)), None, Span(0, 0))
        self._module_line: Line | None = None
        self._first_line = True
        self._top: dict[str, Callable[[Line, LineReader], None]] = {
            "module": self._module_name, "import": self._import, "from": self._from, "type": self._type,
            "choice": self._choice, "function": self._callable, "tool": self._tool, "skill": self._callable,
            "strategy": self._callable,
        }  # fmt: skip
        assert tuple(self._top) == MODULE_WORDS

    def module(self) -> tree.Module:
        """The whole module."""
        indented = False
        while self.next < len(self.lines):
            line = self.lines[self.next]
            first = line.tokens[0]
            if line.level:
                if not indented:
                    self.report_indented(line)
                line.bad = indented = True
                if first.kind != "word" or first.text not in self._top:
                    self.next += 1
                    continue
            else:
                indented = False
            self.next += 1
            if first.kind == "bad":  # a comment of another language, most often
                self.skip_block(line)
                continue
            self._top_line(line)
            self._first_line = False
        if self._module_line is None and not self._first_is_doubtful():
            span = Span(0, 0)
            if self.lines:
                first = self.lines[0].tokens[0]
                span = Span(first.start, first.end)
            self.problems.add(
                "TB2009", "the `module` line is missing", self.source, span, "begin the file with `module name`"
            )
        return self._module

    def _first_is_doubtful(self) -> bool:
        """Whether the first line could not be read: it may be the `module` line, and was reported."""
        return bool(self.lines) and self.lines[0].bad and self.lines[0].tokens[0].text not in self._top

    def _top_line(self, line: Line) -> None:
        reader = self.reader(line)
        first = reader.token
        word = first.text if first.kind == "word" else ""
        read = self._top.get(word)
        if read is None:
            read = self._unknown_top(line, reader, word)
        if read is None:
            self.lose_doc(line)
            name = line.tokens[1]
            if name.kind == "capital":
                self._module.unread.append(name_of(name))
            self.skip_block(line)
            return
        reader.advance()
        if read in (self._module_name, self._import, self._from):
            self.lose_doc(line)
        try:
            read(line, reader)
        except Stop:
            self.skip_block(line)

    def _unknown_top(self, line: Line, reader: LineReader, word: str) -> Callable[[Line, LineReader], None] | None:
        """Report a first word that no line has here; the reader of what was meant, where that is certain enough."""
        first = reader.token
        hint = FOREIGN_DECLARATIONS.get(word)
        if hint is not None:
            reader.report("TB2008", f"`{word}` is the spelling of another language", first, hint.label)
            return self._top.get(hint.meant) if hint.meant is not None else None
        label = ""
        if word in STATEMENT_WORDS and not near(word, DECLARATION_WORDS):
            label = "statements stand under the `do` of a callable"
            reader.report("TB2005", f"`{word}` cannot begin a line here", first, label, candidates=MODULE_WORDS)
            return None
        if first.text in self._top:
            label = f"write `{first.text}`"
        elif first.kind in ("int", "decimal", "float", "text", "block") or not first.text[:1].isalpha():
            label = "a line begins with a word: `type`, `choice`, `function`, `tool`, `skill`, `strategy`"
        reader.unknown_word(MODULE_WORDS, "a module", label, later_in="module")
        nearest = near(word, MODULE_WORDS) if word not in LATER_WORDS["module"] else None
        if nearest == "module" and self._module_line is None:
            return self._top[nearest]
        return self._top[nearest] if nearest in ("import", "from") else None

    # --- module and imports --------------------------------------------------------------------------------------

    def _module_name(self, line: Line, reader: LineReader) -> None:
        first = line.tokens[0]
        known = self._module_line
        if known is not None:
            related = (Related(known.span, "the module has its name here"),)
            reader.report("TB2009", "the `module` line stands twice", first, "remove one of them", related=related)
            return
        self._module_line = line
        if not self._first_line:
            reader.report("TB2009", "the `module` line is not the first", first, "move it to the beginning of the file")
        path = self._path(reader)
        reader.end_of_line()
        self._module.name = ".".join(name.text for name in path)
        self._module.name_span = Span(path[0].span.start, path[-1].span.end)

    def _path(self, reader: LineReader) -> list[Name]:
        """`a.b`: the name of a module."""
        if reader.token.kind in ("text", "bad"):
            reader.fail("the name of a module", "write it without quotes: `import a.b`")
        if reader.token.kind in (".", "..", "..."):
            reader.fail("the name of a module", "write the whole name: `a.b`")
        path = [self._path_word(reader)]
        while reader.accept("."):
            if reader.token.kind == "capital":
                module = ".".join(name.text for name in path)
                reader.stop(
                    "TB2006", "expected the name of a module, found a declaration", reader.token,
                    f"write `from {module[:60]} import {reader.token.text[:40]}`",
                )  # fmt: skip
            path.append(self._path_word(reader))
        if reader.token.kind in ("/", "//"):
            reader.stop(
                "TB2006", f"expected `.`, found `{reader.token.text}`", reader.token, "a module name has points"
            )
        return path

    def _path_word(self, reader: LineReader) -> Name:
        if reader.token.kind == "{":
            reader.fail("the name of a module", "write `from a.b import X`")
        return reader.any_word("the name of a module")

    def _import(self, line: Line, reader: LineReader) -> None:
        self._check_import_place(line, reader)
        path = self._path(reader)
        alias = None
        if reader.accept_word("as"):
            alias = reader.value_name("the name of a module")
        elif reader.is_word("from") or reader.token.kind == ",":
            reader.stop(
                "TB2008", f"`{reader.token.text}` is the spelling of another language", reader.token,
                "write `from a.b import X`" if reader.token.kind != "," else "write one `import` a line",
            )  # fmt: skip
        reader.end_of_line()
        self._module.imports.append(tree.Import(line.span, path, alias, None))

    def _from(self, line: Line, reader: LineReader) -> None:
        self._check_import_place(line, reader)
        path = self._path(reader)
        reader.expect_word("import", "write `from a.b import X`")
        names: list[Name] = []
        if reader.token.kind in ("*", "{", "("):
            label = "name what is imported: `import X, Y`" if reader.token.kind == "*" else "write it without brackets"
            reader.stop("TB2008", f"`{reader.token.text}` is the spelling of another language", reader.token, label)
        while True:
            names.append(reader.capital_name("the name of a declaration"))
            if not reader.accept(","):
                break
        if reader.is_word("as"):
            reader.stop(
                "TB2007", "an imported declaration keeps its name", reader.token, "import the module: `import a.b as c`"
            )
        reader.end_of_line()
        self._module.imports.append(tree.Import(line.span, path, None, names))

    def _check_import_place(self, line: Line, reader: LineReader) -> None:
        if self._module.declarations:
            first = self._module.declarations[0].name
            related = (Related(first.span, "this declaration stands before it"),)
            reader.report(
                "TB2010", "an import stands behind a declaration", line.tokens[0], "move it up", related=related
            )

    # --- types and choices ---------------------------------------------------------------------------------------

    def _declared_name(self, reader: LineReader) -> Name:
        return reader.capital_name("the name of a declaration")

    def _type(self, line: Line, reader: LineReader) -> None:
        name = self._declared_name(reader)
        doc = self.doc(line)
        if reader.token.kind == "=" or reader.is_word("is"):
            if not reader.accept_word("is"):
                reader.report("TB2008", "`=` is the spelling of another language", reader.token, "write `is`", fix="is")
                reader.advance()
            form = reader.type()
            reader.end_of_line()
            self._declare(tree.AliasDecl(line.span, name, form, doc))
            return
        if reader.is_word("as"):
            reader.stop("TB2006", "expected `is`, found `as`", reader.token, f"write `type {name.text[:40]} is …`")
        reader.end_of_line()
        fields: list[FieldDecl] = []
        for field_line in self.block_lines(line, needs="fields, deeper than it"):
            field = self._field(field_line)
            if field is not None:
                fields.append(field)
        self._declare(tree.RecordDecl(line.span, name, fields, doc))

    def _field(self, line: Line) -> FieldDecl | None:
        """`kind as Text named "type"`."""
        reader = self.reader(line)
        try:
            name = reader.any_word("the name of a field")
            reader.as_word(name)
        except Stop:
            self.lose_doc(line)
            return None
        form = reader.type()
        field = FieldDecl(line.span, name, form, None, self.doc(line))
        if reader.accept_word("named"):
            token = reader.token
            if (
                token.kind == "text"
                and isinstance(token.value, list)
                and isinstance(token.value[0], str)
                and len(token.value) == 1
            ):
                field.wire = token.value[0]
                if not field.wire:
                    reader.report("TB2006", "a wire name is empty", token, "write the name that the JSON has")
                reader.advance()
            else:
                reader.report("TB2006", "expected a text as the wire name", token, 'write `named "type"`')
                reader.skip_line()
        if reader.token.kind == "=":
            reader.report(
                "TB2006",
                "a field has no default",
                reader.token,
                "make it `Optional`, or give the value where it is made",
            )
            reader.skip_line()
        if reader.token.kind == ",":
            reader.report("TB2007", "a field stands on a line of its own", reader.token, "begin a new line")
            reader.skip_line()
        reader.end_of_line()
        return field

    def _choice(self, line: Line, reader: LineReader) -> None:
        name = self._declared_name(reader)
        doc = self.doc(line)
        variants: list[tree.VariantDecl] = []
        if reader.token.kind == "=":
            reader.report("TB2008", "`=` is the spelling of another language", reader.token, "write `is`", fix="is")
        if reader.accept_word("is") or reader.accept("="):
            while True:
                variant = reader.capital_name("the name of a variant")
                variants.append(tree.VariantDecl(variant.span, variant, []))
                if not reader.accept(","):
                    break
            if reader.is_word("with"):
                reader.stop(
                    "TB2006",
                    "a variant with fields stands here",
                    reader.token,
                    "write every variant on a line of its own, deeper",
                )
            if reader.token.kind == "|" or reader.is_word("or"):
                reader.stop(
                    "TB2008",
                    f"`{reader.token.text}` is the spelling of another language",
                    reader.token,
                    "variants stand behind commas",
                )
            reader.end_of_line()
            self._declare(tree.ChoiceDecl(line.span, name, variants, doc))
            return
        reader.end_of_line()
        for variant_line in self.block_lines(line, needs="variants, deeper than it"):
            declared = self._variant(variant_line)
            if declared is not None:
                variants.append(declared)
        self._declare(tree.ChoiceDecl(line.span, name, variants, doc))

    def _variant(self, line: Line) -> tree.VariantDecl | None:
        reader = self.reader(line)
        if reader.token.kind in ("|", "-", "*"):
            reader.report(
                "TB2006", f"expected the name of a variant, found `{reader.token.text}`", reader.token, "remove it"
            )
            reader.advance()
        try:
            name = reader.capital_name("the name of a variant")
        except Stop:
            self.lose_doc(line)
            return None
        fields: list[FieldDecl] = []
        if reader.accept_word("with"):
            fields = reader.parameters("the name of a field", any_name=True)
        elif reader.token.kind == "(":
            label = f"write `{name.text[:40]} with name as Type`"
            reader.report("TB2008", "`(` is the spelling of another language", reader.token, label)
        elif reader.is_word("as"):
            reader.report(
                "TB2006", "expected `with`, found `as`", reader.token, f"write `{name.text[:40]} with name as Type`"
            )
        if reader.token.kind == ",":
            reader.report("TB2007", "a variant stands on a line of its own", reader.token, "begin a new line")
        self._check_named(reader)
        reader.end_of_line()
        return tree.VariantDecl(line.span, name, fields, self.doc(line))

    def _check_named(self, reader: LineReader) -> None:
        if reader.is_word("named"):
            reader.report(
                "TB2007", "only a field of a record has a wire name", reader.token, "remove `named` and its text"
            )
            reader.skip_line()

    def _declare(self, declaration: Declaration) -> None:
        self._module.declarations.append(declaration)

    # --- callables -----------------------------------------------------------------------------------------------

    def _header(self, line: Line, reader: LineReader) -> Name:
        """The name of a callable, and nothing behind it."""
        name = self._declared_name(reader)
        if reader.token.kind == "(":
            reader.report(
                "TB2008", "`(` is the spelling of another language", reader.token,
                "inputs stand on lines of their own, deeper: `takes name as Type`",
            )  # fmt: skip
        reader.end_of_line()
        return name

    def _callable(self, line: Line, reader: LineReader) -> None:
        kind = line.tokens[0].text if line.tokens[0].text in DECLARATION_WORDS else "function"
        if line.tokens[0].text == "workflow":
            kind = "strategy"
        name = self._header(line, reader)
        doc = self.doc(line)
        self.names = set()
        signature = _Signature(self)
        body: tree.Block | None = None
        for clause in self.block_lines(line, needs="`takes`, `gives` and `do`, deeper than it"):
            reader = self.reader(clause)
            first = reader.token
            word = first.text if first.kind == "word" else ""
            if word == "do":
                reader.advance()
                if body is not None:
                    reader.report("TB2010", "`do` stands twice", first, "put the statements under the first one")
                self.lose_doc(clause)
                reader.end_of_line()
                block = self.block(clause)
                body = body or block
            elif body is not None and word in CALLABLE_WORDS:
                reader.report("TB2010", f"`{word}` stands behind `do`", first, "move it before `do`")
                self.lose_doc(clause)
                self.skip_block(clause)
            elif not signature.read(clause, reader):
                # under `def` and its like everything was written for another language
                clause.bad = clause.bad or line.tokens[0].text not in DECLARATION_WORDS
                stray = self._stray_statements(clause, reader, kind)
                body = body or stray
        if body is None:
            if line.span.start < self.lines[self.next - 1].span.start:  # a missing block was reported already
                self.reader(line).report(
                    "TB2003", f"{kind} `{name.text[:40]}` has no `do`", name.span, "add a `do` with its statements"
                )
            body = tree.Block(Span(line.span.end, line.span.end), [], damaged=True)
        self._declare(tree.CallableDecl(line.span, kind, name, signature.takes, signature.gives, body, doc))

    def _stray_statements(self, line: Line, reader: LineReader, kind: str) -> tree.Block | None:
        """A line that is no clause.

        Where statements stand without their `do`, they are read after the first was reported.
        """
        first = reader.token
        word = first.text if first.kind == "word" else ""
        if word not in STATEMENT_WORDS and word not in FOREIGN_STATEMENTS:
            self.lose_doc(line)
            label = "this clause belongs to a tool" if word in TOOL_WORDS else ""
            reader.unknown_word(CALLABLE_WORDS, f"a {kind}", label, later_in="callable")
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
            if following is None or following.level != level or following.tokens[0].text in CALLABLE_WORDS:
                break
            line = following
            self.next += 1
        return tree.Block(Span(start, self.lines[self.next - 1].span.end), statements, damaged=True)

    def _tool(self, line: Line, reader: LineReader) -> None:
        name = self._header(line, reader)
        tool = tree.ToolDecl(line.span, name, [], None, [], [], None, None, self.doc(line))
        signature = _Signature(self)
        clauses = _ToolClauses(tool)
        for clause in self.block_lines(line, needs="`takes`, `gives` and other clauses, deeper than it"):
            reader = self.reader(clause)
            if signature.read(clause, reader):
                continue
            self.lose_doc(clause)
            signature.closed = True
            if not clauses.read(reader):
                word = reader.token.text
                label = "a tool has no statements; its handler is written in another language" if word == "do" else ""
                reader.unknown_word(TOOL_WORDS, "a tool", label, later_in="tool")
            self.skip_block_of_clause(clause)
        tool.takes = signature.takes
        tool.gives = signature.gives
        self._declare(tool)

    def skip_block_of_clause(self, clause: Line) -> None:
        """Lines deeper than a clause that opens no block."""
        following = self.peek()
        if following is not None and following.level > clause.level:
            if not clause.bad:
                self.report_indented(following)
            self.skip_block(clause)


class _Signature:
    """`takes` and `gives` of a callable, while its clauses are read."""

    def __init__(self, owner: ModuleReader):
        self._owner = owner
        self._gives_token: Token | None = None
        self.takes: list[FieldDecl] = []
        self.gives: Type | None = None
        #: clauses of a tool have begun
        self.closed = False

    def read(self, line: Line, reader: LineReader) -> bool:
        """Read a clause; False where it is another one."""
        first = reader.token
        word = first.text if first.kind == "word" else ""
        if word not in ("takes", "gives"):
            return False
        reader.advance()
        if self.closed:
            reader.report("TB2010", f"`{word}` stands behind another clause", first, "move it up, below the name")
        if word == "takes":
            self._read_takes(line, reader, first)
        else:
            self._read_gives(line, reader, first)
        self._owner.skip_block_of_clause(line)
        return True

    def _read_takes(self, line: Line, reader: LineReader, first: Token) -> None:
        if self._gives_token is not None:
            reader.report("TB2010", "`takes` stands behind `gives`", first, "move it before `gives`")
        found = reader.parameters("the name of an input", any_name=False)
        if reader.token.kind == "=":
            reader.report("TB2006", "an input has no default", reader.token, "make it `Optional`")
            reader.skip_line()
        self._owner._check_named(reader)
        reader.end_of_line()
        if found:
            found[0].doc = self._owner.doc(line)
        else:
            self._owner.lose_doc(line)
        self.takes.extend(found)
        self._owner.names.update(each.name.text for each in found)

    def _read_gives(self, line: Line, reader: LineReader, first: Token) -> None:
        self._owner.lose_doc(line)
        if self._gives_token is not None:
            known = self._gives_token
            related = (Related(Span(known.start, known.end), "the first one"),)
            reader.report("TB2010", "`gives` stands twice", first, "remove one of them", related=related)
        self._gives_token = self._gives_token or first
        form = reader.type()
        reader.end_of_line()
        if self.gives is None:
            self.gives = form


class _ToolClauses:
    """The other clauses of a tool."""

    def __init__(self, tool: tree.ToolDecl):
        self._tool = tool
        self._seen: dict[str, Token] = {}
        self._readers: dict[str, Callable[[LineReader], None]] = {
            "requires": self._requires, "secret": self._secret, "effect": self._effect, "timeout": self._timeout,
        }  # fmt: skip
        assert ("takes", "gives", *self._readers) == TOOL_WORDS

    def read(self, reader: LineReader) -> bool:
        """Read a clause; False where there is no such clause."""
        first = reader.token
        read = self._readers.get(first.text) if first.kind == "word" else None
        if read is None:
            return False
        reader.advance()
        known = self._seen.setdefault(first.text, first)
        if known is not first and first.text in ("effect", "timeout"):
            related = (Related(Span(known.start, known.end), "the first one"),)
            reader.report("TB2010", f"`{first.text}` stands twice", first, "remove one of them", related=related)
        try:
            read(reader)
        except Stop:
            reader.skip_line()
        reader.end_of_line()
        return True

    def _requires(self, reader: LineReader) -> None:
        while True:
            grant = reader.any_word("the name of a grant")
            if reader.accept("."):
                # `filesystem.read` is one grant: its name has a dot.
                rest = reader.any_word("the name of a grant")
                grant = Name(Span(grant.span.start, rest.span.end), f"{grant.text}.{rest.text}")
            self._tool.requires.append(grant)
            if not reader.accept(","):
                return

    def _secret(self, reader: LineReader) -> None:
        self._tool.secrets.append(reader.value_name("the name of a secret"))
        if reader.token.kind == ",":
            reader.stop(
                "TB2007", "a secret stands on a line of its own", reader.token, "begin a new line with `secret`"
            )

    def _effect(self, reader: LineReader) -> None:
        token = reader.token
        if token.kind != "word" or token.text not in EFFECT_WORDS:
            nearest = near(token.text, EFFECT_WORDS) if token.kind == "word" else None
            label = f"did you mean `{nearest}`?" if nearest else "write `none`, `read` or `write`"
            reader.report("TB2006", f"expected an effect, found {found(token)}", token, label, candidates=EFFECT_WORDS)
            raise Stop
        reader.advance()
        if self._tool.effect is None:
            self._tool.effect = name_of(token)
        if reader.token.kind == "word" and reader.token.text in LATER_WORDS["effect"]:
            reader.stop(
                "TB2007",
                f"`{reader.token.text}` follows where the line should end",
                reader.token,
                later(reader.token.text),
            )

    def _timeout(self, reader: LineReader) -> None:
        if reader.token.kind != "int":
            reader.fail("a duration", "write `timeout 30 seconds`")
        if reader.peek().kind == "end":
            reader.stop(
                "TB1011",
                "a duration has a unit",
                reader.token,
                f"write `{reader.token.text[:20]} seconds`",
                help=f"units are {', '.join(sorted(set(UNITS.values())))}",
            )
        value = reader.number()
        if isinstance(value, tree.Literal) and value.kind == "duration" and self._tool.timeout is None:
            self._tool.timeout = value
