"""A failing program made small: lines, blocks and expressions are left out as long as it goes on failing.

It works on the text, so it shrinks drawn programs and mutants alike, and what remains can be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from touba_cli.language import tree
from touba_cli.language.diagnostics import Problems
from touba_cli.language.format import read_module
from touba_cli.language.format_lines import nodes_of
from touba_cli.language.source import Source as File

Files = dict[str, str]

#: what may stand for an expression
_SMALL = ("0", "true", '""', "[]", "none", "1.5")


def shrink(files: Files, fails: Callable[[Files], bool], tries: int = 1_500) -> Files:
    """The smallest program found that still fails.

    Parameters:
        files: path → text of a program that fails.
        fails: whether a program fails in the same way; a program that does not compile mostly does not.
        tries: how many programs may be looked at.
    """
    left = tries
    progress = True
    while progress and left > 0:
        progress = False
        for path in list(files):
            for smaller in _candidates(files[path]):
                left -= 1
                if left < 0:
                    break
                changed = {**files, path: smaller}
                if _still(fails, changed):
                    files = changed
                    progress = True
                    break
    return files


def _still(fails: Callable[[Files], bool], files: Files) -> bool:
    try:
        return fails(files)
    except Exception:
        return False


def _candidates(text: str) -> Iterator[str]:
    """Smaller texts, the smallest first."""
    lines = text.split("\n")
    blocks = [(at, _end(lines, at)) for at in range(1, len(lines))]
    for at, end in sorted(blocks, key=lambda each: each[0] - each[1]):
        yield "\n".join(lines[:at] + lines[end:])
    for at, end in blocks:
        if end > at + 1:
            yield "\n".join(lines[:at] + [line.removeprefix("    ") for line in lines[at + 1 : end]] + lines[end:])
    yield from _simpler(text)


def _end(lines: list[str], at: int) -> int:
    """The end of a line with the deeper lines below it."""
    indent = len(lines[at]) - len(lines[at].lstrip())
    end = at + 1
    while end < len(lines) and (not lines[end].strip() or len(lines[end]) - len(lines[end].lstrip()) > indent):
        end += 1
    return end


def _simpler(text: str) -> Iterator[str]:
    """Texts with an expression replaced by a part of it, or by a literal."""
    found: list[Any] = list(nodes_of(read_module(File("app.tb", text), Problems()).module))
    spans = [(each.span.start, each.span.end) for each in found if _is_expression(each)]
    for start, end in sorted(spans, key=lambda each: each[0] - each[1]):
        inside = [each for each in spans if start <= each[0] and each[1] <= end and each[1] - each[0] < end - start]
        for first, last in sorted(inside, key=lambda each: each[0] - each[1])[:6]:
            yield text[:start] + text[first:last] + text[end:]
        for small in _SMALL:
            if len(small) < end - start:
                yield text[:start] + small + text[end:]


def _is_expression(node: Any) -> bool:
    if isinstance(node, tree.Name | tree.Qualified | tree.Reference | tree.Argument | tree.Call):
        return False
    return type(node).__name__ in (
        "Literal", "Interpolation", "Variable", "Capital", "BuiltIn", "SortedBy", "Field", "Index", "With", "Otherwise",
        "Prefix", "Chain", "Comparison", "IsPresent", "Logic", "Conditional", "ListLiteral", "Comprehension", "MapLiteral",
    )  # fmt: skip
