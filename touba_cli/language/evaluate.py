"""One expression as a program: what `touba eval` compiles.

The expression is the whole right side of a line in a function. It is compiled twice: once to learn its type, which the
line alone decides, and once to give it. Problems and places are those of the expression, as it was written.
"""

from __future__ import annotations

from typing import Any

from ..air.types import freeze, show
from ..limits import SOURCE_BYTES
from .compiler import compile_program
from .diagnostics import Diagnostic, Fix, Problems, Related
from .format import read_module
from .records import dataclass
from .source import Source
from .tree import EFFECT_NODES, CallableDecl, Let, Module, Span

#: how the expression is called where a file would be named
NAME = "<expression>"
ENTRY_REF = "function:expression/Value"

_FILE = "expression.tb"
_LEARN = "module expression\n\nfunction Value\n    do\n        let _value = "
_GIVE = "module expression\n\nfunction Value\n    gives {}\n    do\n        give "


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A compiled expression: ``air`` and ``type`` are None where it has errors."""

    air: dict[str, Any] | None
    type: str | None
    diagnostics: list[Diagnostic]


def compile_expression(text: str) -> Evaluated:
    """Compile a pure expression.

    Parameters:
        text: the expression: one line, or several where a bracket holds them together.

    Returns:
        the AIR of a program whose only function, `ENTRY_REF`, gives its value, and the type as programs write it.

    Example:
        >>> compile_expression("sum([1, 2]) * 2").type
        'Int'
    """
    written = Source(NAME, text)
    if not text.strip():
        return _refused(written, "TB2006", "expected an expression, found nothing", 0, "write a value")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as fault:
        return _refused(written, "TB1001", "the expression is not UTF-8 text", fault.start, "remove this")
    indent = len(text) - len(text.lstrip(" "))
    body = text[indent:]
    head = _LEARN
    source = Source(_FILE, f"{head}{body}\n")
    problems = Problems()
    module = read_module(source, problems).module
    if not problems.failed and (end := _end_of_first(module)) is not None:
        label = "an expression is one line, or several inside brackets"
        return _refused(written, "TB2007", "a second line follows the expression", end - len(head) + indent, label)
    if not problems.failed and (effect := _effect(module)) is not None:
        title, label = "an expression has no effects", "run a program for this: `touba run`"
        start, end = (place - len(head) + indent for place in (effect.start, effect.end))
        return _refused(written, "TB5001", title, start, label, end)
    learned = compile_program(_Text(source.text), _FILE)
    found = [_moved(each, written, len(head) - indent) for each in learned.diagnostics]
    if learned.air is None:
        return Evaluated(None, None, found)
    # Names of comprehensions have their slots before that of the line.
    form = freeze(learned.air["callables"][ENTRY_REF]["slots"][-1][1])
    kind = show(form)
    head = _GIVE.format(kind)
    compiled = compile_program(_Text(f"{head}{body}\n"), _FILE)
    if compiled.air is None:  # a type that no program can write, such as that of an entry of a map
        return _refused(written, "TB4001", f"the value has the type {kind}", 0, "give a part of it", end=len(text))
    _move_places(compiled.air, head, indent)
    return Evaluated(compiled.air, kind, found)


class _Text:
    """`Sources` with one file, in which nothing else is found."""

    __slots__ = ("_text",)

    def __init__(self, text: str):
        self._text = text

    def find(self, module: str) -> list[str]:
        return []

    def places(self, module: str) -> list[str]:
        return []

    def near(self, module: str) -> list[str]:
        return []

    def read(self, path: str) -> bytes:
        return self._text.encode("utf-8")[: SOURCE_BYTES + 1]


def _refused(written: Source, code: str, title: str, start: int, label: str, end: int | None = None) -> Evaluated:
    problems = Problems()
    problems.add(code, title, written, Span(start, start + 1 if end is None else end), label)
    return Evaluated(None, None, problems.found)


def _end_of_first(module: Module) -> int | None:
    """Where something follows the line of the expression, or None."""
    first = module.declarations[0] if module.declarations else None
    assert isinstance(first, CallableDecl)
    lines = first.body.statements
    if len(lines) > 1:
        return lines[1].span.start
    others = [*module.declarations[1:], *module.tests, *module.imports]
    return others[0].span.start if others else None


def _effect(module: Module) -> Span | None:
    """Where the call, question, review or group stands that the expression is, or None."""
    first = module.declarations[0]
    assert isinstance(first, CallableDecl)
    line = first.body.statements[0]
    return line.value.span if isinstance(line, Let) and isinstance(line.value, EFFECT_NODES) else None


#: what to do about a problem in a program → what to do about it in an expression
_LABELS: dict[str, str] = {
    "declare it with `let` before this line, or take it as an input": "write the value itself: no names are known here",
    "write `let … as T = …`, or use it where its type is known": "write it where its type is known",
    "declare it, or import it from its module": "nothing is declared here: put it into a program",
}


def _moved(found: Diagnostic, written: Source, offset: int) -> Diagnostic:
    """A problem of the program as one of the expression."""

    def place(span: Span) -> Span:
        last = len(written.text)
        return Span(min(max(span.start - offset, 0), last), min(max(span.end - offset, 0), last))

    return Diagnostic(
        found.code, found.title, written, place(found.span),
        _LABELS.get(found.label, found.label), found.severity,
        tuple(Related(place(each.span), each.label) for each in found.related),
        found.help, found.candidates, None if found.fix is None else Fix(place(found.fix.span), found.fix.text),
    )  # fmt: skip


def _move_places(air: dict[str, Any], head: str, indent: int) -> None:
    """Make the source map name the places of the expression."""
    lines = head.count("\n")
    columns = len(head) - head.rfind("\n") - 1 - indent

    def move(line: int, column: int) -> tuple[int, int]:
        return max(1, line - lines), max(1, column - columns if line == lines + 1 else column)

    air["source_map"]["files"] = [NAME]
    for spans in air["source_map"]["callables"].values():
        spans[:] = [[file, *move(a, b), *move(c, d)] for file, a, b, c, d in spans]
