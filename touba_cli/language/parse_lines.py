"""One module: its lines → tree. Names, imports, types and choices are read here, the rest of declarations below it."""

from __future__ import annotations

from collections.abc import Callable

from . import tree
from .cursor import Stop, found, name_of
from .diagnostics import Problems, Related
from .hints import FOREIGN_DECLARATIONS, FOREIGN_STATEMENTS, near
from .layout import Line, lay_out
from .lexer import tokenize
from .parse_tests import TestReader
from .parse_types import LineReader
from .source import Source
from .tree import FieldDecl, Name, Span
from .words import (
    DECLARATION_WORDS,
    MODULE_WORDS,
    SKILL_WORDS,
    STATEMENT_WORDS,
)


def parse_module(source: Source, problems: Problems) -> tree.Module:
    """The tree of one file. Everything wrong is added to ``problems``; this never raises."""
    lines = lay_out(source, tokenize(source, problems), problems)
    return ModuleReader(source, problems, lines).module()


class ModuleReader(TestReader):
    """Reads what stands outside of blocks, and declarations."""

    def __init__(self, source: Source, problems: Problems, lines: list[Line]):
        super().__init__(source, problems, lines)
        self._module_line: Line | None = None
        self._first_line = True
        #: the line before, at the first column, is of a callable
        self._callable_above = False
        #: blocks below a line of another language: what stands in them is that language too
        self._foreign_blocks: list[Span] = []
        self._top: dict[str, Callable[[Line, LineReader], None]] = {
            "module": self._module_name, "import": self._import, "from": self._from, "type": self._type,
            "choice": self._choice, "function": self._callable, "tool": self._tool, "memory": self._memory,
            "agent": self._agent, "skill": self._callable, "strategy": self._callable, "trigger": self._trigger,
            "test": self._test,
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
        if self._foreign_blocks:
            self.problems.forget(self.source, self._foreign_blocks)
        if self._module_line is None and not self._first_is_doubtful():
            span = Span(0, 0)
            if self.lines:
                first = self.lines[0].tokens[0]
                span = Span(first.start, first.end)
            self.problems.add(
                "TB2009", "the `module` line is missing", self.source, span, "begin the file with `module name`"
            )
        return self.tree

    def _first_is_doubtful(self) -> bool:
        """Whether the first line could not be read: it may be the `module` line, and was reported."""
        return bool(self.lines) and self.lines[0].bad and self.lines[0].tokens[0].text not in self._top

    def _top_line(self, line: Line) -> None:
        reader = self.reader(line)
        first = reader.token
        word = first.text if first.kind == "word" else ""
        read = self._top.get(word)
        if read is None and word in SKILL_WORDS and self._callable_above:
            # The clauses of a callable that are not indented are one mistake.
            label = "indent it, with what follows: it belongs to the declaration above"
            reader.report("TB2005", f"`{word}` cannot begin a line here", first, label)
            self.skip_block(line)
            if self.next < len(self.lines) and self.lines[self.next].level == 0:
                following = self.lines[self.next]
                following.bad = following.bad or following.tokens[0].text in SKILL_WORDS
            return
        self._callable_above = word in ("function", "skill", "strategy")
        if read is None:
            read = self._unknown_top(line, reader, word)
        if read is None:
            self.lose_doc(line)
            self._unread(line)
            return
        if word in FOREIGN_DECLARATIONS and _is_foreign_header(line):
            self._unread(line)
            return
        reader.advance()
        if read in (self._module_name, self._import, self._from):
            self.lose_doc(line)
        try:
            read(line, reader)
        except Stop:
            self.skip_block(line)

    def _unread(self, line: Line) -> None:
        """Go over a declaration that is not understood; its name is known all the same."""
        names = [token for token in line.tokens[1:3] if token.kind in ("word", "capital")]
        if names:
            self.tree.unread.append(name_of(names[-1] if names[0].text in FOREIGN_DECLARATIONS else names[0]))
        hint = FOREIGN_DECLARATIONS.get(line.tokens[0].text)
        begin = next((token.start for token in line.tokens if token.kind == "{"), line.span.end)
        skipped = self.skip_block(line)
        if hint is not None and (skipped or begin < line.span.end):
            self._foreign_blocks.append(Span(begin, self.lines[self.next - 1].span.end))

    def _unknown_top(self, line: Line, reader: LineReader, word: str) -> Callable[[Line, LineReader], None] | None:
        """Report a first word that no line has here; the reader of what was meant, where that is certain enough."""
        first = reader.token
        hint = FOREIGN_DECLARATIONS.get(word)
        if hint is not None:
            # What stands in its brackets is another language's too, and nothing is said about that.
            line.bad = line.bad and all(token.kind != "{" for token in line.tokens)
            reader.report("TB2008", f"`{word}` is the spelling of another language", first, hint.label)
            return self._top.get(hint.meant) if hint.meant is not None else None
        label = ""
        statement = word in STATEMENT_WORDS or word in FOREIGN_STATEMENTS
        following = line.tokens[1]
        if first.kind in ("word", "hidden", "capital") and following.kind == "=":
            label = f"write `let {first.text[:40]} = …` under the `do` of a callable; for a constant write a `function`"
            reader.report("TB2005", f"{found(first)} cannot begin a line here", first, label, candidates=MODULE_WORDS)
            return None
        if (statement and not near(word, DECLARATION_WORDS)) or (first.kind == "word" and following.kind in ("(", ".")):
            label = "statements stand under the `do` of a callable"
            reader.report("TB2005", f"`{word}` cannot begin a line here", first, label, candidates=MODULE_WORDS)
            return None
        if first.kind == following.kind == "-":
            place = Span(first.start, following.end)
            reader.report("TB2008", "`--` is the spelling of another language", place, "a comment begins with `#`")
            return None
        if first.text in self._top:
            label = f"write `{first.text}`"
        elif first.kind in ("int", "decimal", "float", "text", "block") or not first.text[:1].isalpha():
            label = "a line begins with a word: `type`, `choice`, `function`, `tool`, `skill`, `strategy`"
        reader.unknown_word(MODULE_WORDS, "a module", label)
        nearest = near(word, MODULE_WORDS)
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
        self.tree.name = ".".join(name.text for name in path)
        self.tree.name_span = Span(path[0].span.start, path[-1].span.end)

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
            reader.report(
                "TB2008", f"`{reader.token.text}` is the spelling of another language", reader.token,
                "write `from a.b import X`" if reader.token.kind != "," else "write one `import` a line",
            )  # fmt: skip
            # What was meant is clear enough for the names that are used below not to be unknown.
            self.tree.imports.append(tree.Import(line.span, path, None, None))
            while reader.accept(","):
                self.tree.imports.append(tree.Import(line.span, self._path(reader), None, None))
            return
        reader.end_of_line()
        self.tree.imports.append(tree.Import(line.span, path, alias, None))

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
        self.tree.imports.append(tree.Import(line.span, path, None, names))

    def _check_import_place(self, line: Line, reader: LineReader) -> None:
        if self.tree.declarations:
            first = self.tree.declarations[0].name
            related = (Related(first.span, "this declaration stands before it"),)
            reader.report(
                "TB2010", "an import stands behind a declaration", line.tokens[0], "move it up", related=related
            )

    # --- types and choices ---------------------------------------------------------------------------------------

    def _type(self, line: Line, reader: LineReader) -> None:
        name = self.declared_name(reader)
        doc = self.doc(line)
        if (reader.token.kind == "=" or reader.is_word("is")) and reader.peek().kind == "end" and self._has_block(line):
            sign = reader.advance()
            label = f"remove `{sign.text}`: the fields stand on the lines below"
            reader.report("TB2007", f"`{sign.text}` stands before fields", sign, label, fix="")
        if reader.token.kind == "=" or reader.is_word("is"):
            if not reader.accept_word("is"):
                reader.report("TB2008", "`=` is the spelling of another language", reader.token, "write `is`", fix="is")
                reader.advance()
            form = reader.type()
            reader.end_of_line()
            self.declare(tree.AliasDecl(line.span, name, form, doc))
            return
        if reader.is_word("as"):
            reader.stop("TB2006", "expected `is`, found `as`", reader.token, f"write `type {name.text[:40]} is …`")
        reader.end_of_line()
        fields: list[FieldDecl] = []
        for field_line in self.block_lines(line, needs="fields, deeper than it"):
            field = self._field(field_line)
            if field is not None:
                fields.append(field)
        if fields:
            self.declare(tree.RecordDecl(line.span, name, fields, doc))
        else:  # that was reported
            self.tree.unread.append(name)

    def _has_block(self, line: Line) -> bool:
        following = self.peek()
        return following is not None and following.level > line.level

    def _field(self, line: Line) -> FieldDecl | None:
        """`kind as Text named "type"`."""
        reader = self.reader(line)
        name: Name | None = None
        try:
            name = reader.any_word("the name of a field")
            reader.as_word(name)
        except Stop:
            self.lose_doc(line)
            if name is None or reader.token.kind not in ("capital", "end"):
                return None
            return FieldDecl(line.span, name, tree.UnknownType(line.span))  # `amount Decimal`, `amount`
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
        name = self.declared_name(reader)
        doc = self.doc(line)
        variants: list[tree.VariantDecl] = []
        if reader.token.kind == "=":
            reader.report("TB2008", "`=` is the spelling of another language", reader.token, "write `is`", fix="is")
        if reader.accept_word("is") or reader.accept("="):
            while True:
                variant = reader.capital_name("the name of a variant")
                variants.append(tree.VariantDecl(variant.span, variant, []))
                if reader.token.kind == "|" or reader.is_word("or"):
                    title = f"`{reader.token.text}` is the spelling of another language"
                    reader.report("TB2008", title, reader.token, "variants stand behind commas")
                    reader.advance()
                elif not reader.accept(","):
                    break
            if reader.is_word("with"):
                reader.stop(
                    "TB2006",
                    "a variant with fields stands here",
                    reader.token,
                    "write every variant on a line of its own, deeper",
                )
            reader.end_of_line()
            self.declare(tree.ChoiceDecl(line.span, name, variants, doc))
            return
        reader.end_of_line()
        for variant_line in self.block_lines(line, needs="variants, deeper than it"):
            declared = self._variant(variant_line)
            if declared is not None:
                variants.append(declared)
        if variants:
            self.declare(tree.ChoiceDecl(line.span, name, variants, doc))
        else:  # that was reported
            self.tree.unread.append(name)

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
            reader.advance()
            if reader.token.kind == "word":
                fields = reader.parameters("the name of a field", any_name=True)
            reader.accept(")")
        elif reader.is_word("as"):
            reader.report(
                "TB2006", "expected `with`, found `as`", reader.token, f"write `{name.text[:40]} with name as Type`"
            )
        if reader.token.kind == ",":
            reader.report("TB2007", "a variant stands on a line of its own", reader.token, "begin a new line")
        self.check_named(reader)
        reader.end_of_line()
        return tree.VariantDecl(line.span, name, fields, self.doc(line))


def _is_foreign_header(line: Line) -> bool:
    """Whether a line is another language's as a whole, with brackets or `:`: so is its block then."""
    kinds = [token.kind for token in line.tokens]
    return line.tokens[0].text == "class" or kinds[-2] == ":" or "(" in kinds or "{" in kinds
