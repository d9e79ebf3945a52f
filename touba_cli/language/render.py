"""Diagnostics as plain text, with the lines they are about.

The text is the same everywhere: no colour, no width of a terminal. Control characters and marks that turn the direction
of text are always escaped, so that a program cannot change what a reader sees of its problems.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..limits import DIAGNOSTICS_SHOWN
from .diagnostics import Diagnostic
from .source import Source
from .tree import Span

#: columns of an excerpt
_WIDTH = 120

#: code points before a place that stay in a cut excerpt
_BEFORE = 50

_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
_NAMED = {"\t": "\\t", "\r": "\\r", "\n": "\\n"}


def render(diagnostic: Diagnostic) -> str:
    """One diagnostic, without a line end behind it.

    Example:
        >>> print(render(problem))
        error[TB3003]: `Invoice` has no field `ammount`
          --> billing/review.tb:31:20
           |
        31 |         if invoice.ammount > limit
           |                    ^^^^^^^ did you mean `amount`?
    """
    line, column = diagnostic.source.position(diagnostic.span.start)
    own = [_Mark(diagnostic.source, diagnostic.span, diagnostic.label, "^")]
    others: list[_Mark] = []
    for place in diagnostic.related:
        mark = _Mark(place.source or diagnostic.source, place.span, place.label, "-")
        (own if mark.source is diagnostic.source else others).append(mark)
    gutter = max(len(str(mark.line)) for mark in (*own, *others))
    margin = " " * gutter
    out = [
        f"{diagnostic.severity}[{diagnostic.code}]: {escape(diagnostic.title)}",
        f"{margin}--> {escape(diagnostic.source.path)}:{line}:{column}",
    ]
    if len(diagnostic.source.text):
        out.extend(_excerpt(own, gutter))
    elif diagnostic.label:
        out.append(f"{margin} = {escape(diagnostic.label)}")  # an empty file has no line to write it under
    for mark in others:
        out.append(f"{margin}--> {escape(mark.source.path)}:{mark.line}:{mark.column}")
        out.extend(_excerpt([mark], gutter))
    if diagnostic.help is not None:
        out.append(f"{margin} = help: {escape(diagnostic.help)}")
    return "\n".join(out)


def render_all(diagnostics: Sequence[Diagnostic], shown: int = DIAGNOSTICS_SHOWN) -> str:
    """Diagnostics in the given order, with a blank line between them; beyond ``shown`` they are counted by file.

    The text ends in a line end, and is empty where there are none.
    """
    if not diagnostics:
        return ""
    parts = [render(each) for each in diagnostics[:shown]]
    rest = diagnostics[shown:]
    if rest:
        counts: dict[str, int] = {}
        for each in rest:
            counts[each.source.path] = counts.get(each.source.path, 0) + 1
        files = ", ".join(f"{count} in {escape(path)}" for path, count in counts.items())
        parts.append(f"and {len(rest)} more: {files}")
    return "\n\n".join(parts) + "\n"


class _Mark:
    """A place to underline: in its first line only, where it has several."""

    __slots__ = ("column", "label", "line", "sign", "source", "width")

    def __init__(self, source: Source, span: Span, label: str, sign: str):
        self.source = source
        self.label = label
        self.sign = sign
        self.line, self.column = source.position(span.start)
        room = len(source.line(self.line)) - self.column + 1
        self.width = max(1, min(span.end - span.start, room))


def _excerpt(marks: Iterable[_Mark], gutter: int) -> list[str]:
    """The lines of the marks of one file in their order, with their underlines."""
    margin = " " * gutter
    out = [f"{margin} |"]
    before = 0
    # where two marks are in one line, the primary one (`^`) comes last, nearest to what follows
    for mark in sorted(marks, key=lambda each: (each.line, each.sign == "^", each.column)):
        text, underline = _cut(mark)
        if mark.line != before:
            if before and mark.line > before + 1:
                out.append(f"{margin} :")
            out.append(f"{mark.line:>{gutter}} | {text}".rstrip())
        elif text != _shown_text(out, gutter):
            out.append(f"{mark.line:>{gutter}} | {text}".rstrip())
        out.append(f"{margin} | {underline} {escape(mark.label)}".rstrip())
        before = mark.line
    return out


def _shown_text(out: list[str], gutter: int) -> str:
    """The last line of source that was put out."""
    for line in reversed(out):
        if line[:gutter].strip():
            return line[gutter + 3 :]
    return ""


def _cut(mark: _Mark) -> tuple[str, str]:
    """The part of a line around a mark, escaped, and the underline below it."""
    line = mark.source.line(mark.line)
    start = mark.column - 1
    first = 0 if len(line) <= _WIDTH else max(0, min(start - _BEFORE, len(line) - _WIDTH))
    last = min(len(line), first + _WIDTH)
    lead = "…" if first else ""
    tail = "…" if last < len(line) else ""
    before = escape(line[first:start])
    marked = escape(line[start : min(start + mark.width, last)])
    after = escape(line[min(start + mark.width, last) : last])
    indent = " " * (columns(lead) + columns(before))
    return f"{lead}{before}{marked}{after}{tail}".rstrip(), indent + mark.sign * max(1, columns(marked))


def escape(text: str) -> str:
    """The text with control characters and marks of direction as `\\u{202E}`."""
    return _UNSAFE.sub(lambda match: _NAMED.get(match[0]) or f"\\u{{{ord(match[0]):X}}}", text)


def columns(text: str) -> int:
    """How many columns of a terminal a text takes: wide characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    width = 0
    for character in text:
        if east_asian_width(character) in ("W", "F"):
            width += 2
        elif category(character) not in ("Mn", "Me", "Cf"):
            width += 1
    return width
