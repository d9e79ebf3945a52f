"""Declarations of memories, and of triggers, which start a callable from outside."""

from __future__ import annotations

from . import tree
from .cursor import Stop, found
from .layout import Line
from .parse_callables import CallableReader
from .parse_declarations import Clauses
from .parse_types import LineReader
from .tree import Expr, Name, PayloadDecl, Span
from .words import MEMORY_WORDS, PERIOD_WORDS, SCOPE_WORDS, SOURCE_WORDS, TRIGGER_WORDS

#: what stands behind each source of events
_WHERE = {"schedule": 'a cron line: `"0 7 * * 1-5"`', "webhook": 'a path: `"/orders"`', "event": 'a name: `"paid"`'}


class TriggerReader(CallableReader):
    """Reads memories and triggers."""

    def _memory(self, line: Line, reader: LineReader) -> None:
        name = self.header(reader, "what it holds stands on a line of its own, deeper: `holds Type`")
        memory = tree.MemoryDecl(line.span, name, doc=self.doc(line))

        def holds(_: Line, reader: LineReader) -> None:
            memory.holds = reader.type()

        def key(_: Line, reader: LineReader) -> None:
            memory.key = self._field_path(reader, "the name of a field")

        def scope(_: Line, reader: LineReader) -> None:
            memory.scope = self.choose(reader, SCOPE_WORDS, "a scope")

        clauses = Clauses(self, {"holds": holds, "key": key, "scope": scope})
        read = self._all(line, clauses, MEMORY_WORDS, "a memory", "`holds`, `key` and `scope`, deeper than it")
        what = f"memory `{name.text[:40]}`"
        if read and "holds" not in clauses:
            self.report_missing(line, what, name.span, "holds", "say what it keeps: `holds Type`")
        elif read and "scope" not in clauses:
            label = "say whose it is: `scope run`, `scope owner` or `scope project`"
            self.report_missing(line, what, name.span, "scope", label)
        self.declare(memory)

    def _trigger(self, line: Line, reader: LineReader) -> None:
        name = self.header(reader, "what it starts stands on a line of its own, deeper: `starts strategy Name`")
        trigger = tree.TriggerDecl(line.span, name, doc=self.doc(line))

        def on(_: Line, reader: LineReader) -> None:
            self._source(trigger, reader)

        def starts(_: Line, reader: LineReader) -> None:
            trigger.starts = self.reference(reader, "strategy")

        def payload(clause: Line, reader: LineReader) -> None:
            reader.end_of_line()
            for each in self.block_lines(clause, needs="the inputs, deeper than it"):
                self.lose_doc(each)
                found = self._payload_line(each)
                if found is not None:
                    trigger.payload.append(found)
                self.skip_block_of_clause(each)

        def quota(_: Line, reader: LineReader) -> None:
            number = reader.whole_number("write `quota 60 per hour`")
            reader.expect_word("per", "write `quota 60 per hour`")
            trigger.quota = (number, self.choose(reader, PERIOD_WORDS, "a period"))

        clauses = Clauses(self, {"on": on, "starts": starts, "payload": payload, "quota": quota})
        read = self._all(line, clauses, TRIGGER_WORDS, "a trigger", "`on`, `starts` and `payload`, deeper than it")
        what = f"trigger `{name.text[:40]}`"
        if read and "on" not in clauses:
            label = 'say when it starts: `on schedule "…"`, `on webhook "…"` or `on event "…"`'
            self.report_missing(line, what, name.span, "on", label)
        elif read and "starts" not in clauses:
            self.report_missing(line, what, name.span, "starts", "say what it starts: `starts strategy Name`")
        self.declare(trigger)

    def _all(self, line: Line, clauses: Clauses, words: tuple[str, ...], what: str, needs: str) -> bool:
        """Read all clauses of a declaration; whether every line was one."""
        whole = True
        for clause in self.block_lines(line, needs=needs):
            reader = self.reader(clause)
            if reader.token.text not in words and self.misspelt(clause, words, what):
                reader = self.reader(clause)
            if not clauses.read(clause, reader):
                self.lose_doc(clause)
                reader.unknown_word(words, what)
                self.skip_block(clause)
                whole = False
        return whole

    def _field_path(self, reader: LineReader, what: str) -> list[Name]:
        """`customer.id`."""
        path = [reader.any_word(what)]
        while reader.accept("."):
            path.append(reader.any_word(what))
        return path

    def _source(self, trigger: tree.TriggerDecl, reader: LineReader) -> None:
        source = self.choose(reader, SOURCE_WORDS, "a source of events")
        where = reader.short_text(_WHERE[source.text])
        zone: Expr | None = None
        if reader.accept_word("timezone"):
            if source.text != "schedule":
                place = tree.Span(reader.last_end - len("timezone"), reader.last_end)
                reader.stop("TB2007", "only a schedule has a time zone", place, "remove `timezone` and what follows")
            zone = reader.short_text('the name of a time zone: `"Europe/Paris"`')
        if trigger.source is None:
            trigger.source, trigger.where, trigger.zone = source, where, zone

    def _payload_line(self, line: Line) -> PayloadDecl | None:
        """`topic from body.topic` or `topic is "news"`."""
        reader = self.reader(line)
        try:
            name = reader.any_word("the name of an input")
        except Stop:
            return None
        path: list[Name] = []
        value: Expr | None = None
        try:
            if reader.accept_word("from"):
                path = self._field_path(reader, "the name of a part of the event")
            elif reader.accept_word("is"):
                value = self._constant(reader)
            elif reader.token.kind in ("=", ":"):
                title = f"`{reader.token.text}` is the spelling of another language"
                reader.stop("TB2008", title, reader.token, "write `is` and a value, or `from` and a part of the event")
            else:
                hint = f"write `{name.text[:40]} from body.…`, or `{name.text[:40]} is` and a value"
                reader.fail("`from` or `is`", hint)
        except Stop:
            # The input is filled, though nobody can tell with what.
            path, value = [], tree.Unknown(line.span)
            reader.skip_line()
        if not reader.at_end and reader.token.kind not in ("bad", ":", "{"):
            label = "an input is filled with one value, or one part of the event, as it is"
            reader.report("TB2007", f"{found(reader.token)} follows where the line should end", reader.token, label)
            reader.skip_line()
        reader.end_of_line()
        return PayloadDecl(line.span, name, path, value)

    def _constant(self, reader: LineReader) -> Expr:
        """A literal, `none` or the name of a variant."""
        token = reader.token
        span = Span(token.start, token.end)
        if reader.accept_word("none"):
            return tree.Literal(span, "none", None)
        if token.kind == "capital" and token.text not in ("True", "False", "None"):
            return tree.Capital(span, [], reader.capital_name("a variant"), None)
        return reader.literal("a literal or the name of a variant")
