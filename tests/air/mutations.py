"""Structural changes of AIR documents: what a compiler with a fault, or somebody with an intent, would write.

`change` makes one change of one kind; `repair` then sets right what follows from the rest — costs, rows of the source
map, features, digest —, so that a change is judged by itself and not by the figures around it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from random import Random
from typing import Any

from tests.air.samples import Document, seal
from touba_cli.air.literals import LITERALS
from touba_cli.air.operations import OPERATIONS
from touba_cli.air.program import features, mentions_outcome
from touba_cli.runtime.interpreter import EXPRESSIONS

#: instruction → where its jump target stands
TARGETS = {"jump": 1, "unless": 2, "each": 4, "times": 2, "again": 1, "attempt": 1}

_BASE = ("Text", "Int", "Decimal", "Float", "Bool", "Date", "DateTime", "Duration", "Json", "Nothing")
_HEADS = ("List", "Map", "Optional", "Entry", "Outcome", "is")
_KINDS = (
    "type:", "function:", "tool:", "agent:", "skill:", "strategy:", "branch:", "memory:", "trigger:", "approval:",
    "review:", "ask:", "show:",
)  # fmt: skip
_EXPRESSIONS = frozenset((*EXPRESSIONS, *OPERATIONS, *LITERALS))

Path = tuple[Any, ...]


def every(value: Any, path: Path = ()) -> list[tuple[Path, Any]]:
    """All places of a document with what stands there."""
    found: list[tuple[Path, Any]] = [(path, value)] if path else []
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        found += every(part, (*path, key))
    return found


def look(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def _put(document: Document, path: Path, value: Any) -> None:
    look(document, path[:-1])[path[-1]] = value


def is_type(value: Any) -> bool:
    return (
        value in _BASE or value.startswith("type:")
        if isinstance(value, str)
        else isinstance(value, list) and len(value) >= 2 and isinstance(value[0], str) and value[0] in _HEADS
    )


def is_expression(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], str) and value[0] in _EXPRESSIONS


def is_ref(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(_KINDS)


def _matching(document: Document, fits: Callable[[Any], bool]) -> list[Path]:
    members = [name for name in ("types", "callables", "memories", "gates", "triggers", "tests") if name in document]
    return [(name, *path) for name in members for path, value in every(document[name]) if fits(value)]


def _codes(document: Document) -> list[str]:
    return [ref for ref, each in document["callables"].items() if each.get("code")]


def _rows(document: Document, ref: str) -> list[Any]:
    """The source map's rows of a callable; none where an earlier change took them away."""
    rows: list[Any] = document.get("source_map", {}).get("callables", {}).get(ref, [])
    return rows


# --- kinds of changes -------------------------------------------------------------------------------------------------


def change_jump(random: Random, document: Document) -> None:
    """A jump goes to any instruction, to one past the end, or before the beginning; or two jumps swap their targets."""
    code = document["callables"][random.choice(_codes(document))]["code"]
    jumps = [each for each in code if each and each[0] in TARGETS and len(each) > TARGETS[each[0]]]
    if not jumps:
        return
    one, other = random.choice(jumps), random.choice(jumps)
    at, there = TARGETS[one[0]], TARGETS[other[0]]
    if random.random() < 0.3:
        one[at], other[there] = other[there], one[at]
    else:
        one[at] = random.randint(-1, len(code) + 1)


def change_instruction(random: Random, document: Document) -> None:
    """An instruction goes, comes twice, swaps its place with another, or comes from another callable."""
    ref = random.choice(_codes(document))
    code, rows = document["callables"][ref]["code"], _rows(document, ref)
    at = random.randrange(len(code))
    kind = random.choice(["delete", "double", "swap", "from elsewhere", "new"])
    if kind == "swap":
        other = random.randrange(len(code))
        code[at], code[other] = code[other], code[at]
        return
    shift = random.random() < 0.7  # jumps go on to where they went
    if kind == "delete":
        del code[at]
        del rows[at : at + 1]
    else:
        other_code = document["callables"][random.choice(_codes(document))]["code"]
        made = {
            "double": code[at],
            "from elsewhere": random.choice(other_code),
            "new": random.choice(
                [
                    ["leave"],
                    ["jump", at + 2],
                    ["again", max(at - 2, 0), 0],
                    ["attempt", at + 2, 0],
                    ["stop", ["text", ""]],
                ]
            ),
        }[kind]
        code.insert(at, copy.deepcopy(made))
        rows[at:at] = rows[at : at + 1]
    if shift:
        by = -1 if kind == "delete" else 1
        for each in code:
            place = TARGETS.get(each[0]) if each else None
            if place is not None and len(each) > place and isinstance(each[place], int) and each[place] > at:
                each[place] += by


def change_type(random: Random, document: Document) -> None:
    """A type is another one, two types swap, or a type is wrapped."""
    paths = _matching(document, is_type)
    if not paths:
        return
    path, other = random.choice(paths), random.choice(paths)
    one, two = copy.deepcopy(look(document, path)), copy.deepcopy(look(document, other))
    kind = random.random()
    if kind < 0.4:
        _put(document, path, two)
    elif kind < 0.6 and path[: len(other)] != other and other[: len(path)] != path:
        _put(document, path, two)
        _put(document, other, one)
    elif kind < 0.8:
        _put(document, path, random.choice(_BASE))
    else:
        for _ in range(random.choice([1, 1, 2, 60, 120])):
            one = [random.choice(_HEADS[:5]), one]
        _put(document, path, one)


def change_ref(random: Random, document: Document) -> None:
    """A reference names something else: of its kind or of another, or nothing at all."""
    paths = [path for path in _matching(document, is_ref) if path[:1] != ("types",) or is_type(look(document, path))]
    if not paths:
        return
    names = [ref for name in ("types", "callables", "memories", "gates", "triggers") for ref in document.get(name, ())]
    path = random.choice(paths)
    same = [ref for ref in names if ref.partition(":")[0] == look(document, path).partition(":")[0]]
    _put(document, path, random.choice([*names, *same * 3, look(document, path) + "X"]))


def change_expression(random: Random, document: Document) -> None:
    """An expression is another one, two swap, one is its own operand, or one stands inside another one."""
    paths = _matching(document, is_expression)
    if not paths:
        return
    path, other = random.choice(paths), random.choice(paths)
    one, two = copy.deepcopy(look(document, path)), copy.deepcopy(look(document, other))
    kind = random.random()
    if kind < 0.35:
        _put(document, path, two)
    elif kind < 0.55 and path[: len(other)] != other and other[: len(path)] != path:
        _put(document, path, two)
        _put(document, other, one)
    elif kind < 0.75:
        inner = [part for _, part in every(one) if is_expression(part)]
        if inner:
            _put(document, path, random.choice(inner))
    else:
        wrap = random.choice(["not", "neg.int", "some", "open", "widen", "present", "length.list", "first", "text.int"])
        for _ in range(random.choice([1, 1, 2, 90, 250])):
            one = [wrap, one]
        _put(document, path, one)


def change_operation(random: Random, document: Document) -> None:
    """An operation is another one with as many places."""
    paths = _matching(document, lambda value: isinstance(value, str) and value in OPERATIONS)
    if paths:
        path = random.choice(paths)
        places = len(OPERATIONS[look(document, path)].takes)
        _put(document, path, random.choice([name for name, row in OPERATIONS.items() if len(row.takes) == places]))


def change_figure(random: Random, document: Document) -> None:
    """A slot, a site, a length, a bound or a literal is another number."""
    paths = _matching(document, lambda value: type(value) is int)
    if paths:
        path = random.choice(paths)
        _put(
            document,
            path,
            random.choice([look(document, path) + 1, look(document, path) - 1, 0, 1, 2, -1, 10**6, 2**53 - 1]),
        )


def change_text(random: Random, document: Document) -> None:
    """A name, word or text is another one of the document, or empty."""
    paths = _matching(document, lambda value: isinstance(value, str))
    path = random.choice(paths)
    _put(document, path, random.choice([look(document, random.choice(paths)), "", "é", "x" * 300]))


def change_anything(random: Random, document: Document) -> None:
    """Any part goes, is null, is another part, comes twice, or is wrapped; members of the document too."""
    paths = [path for path, _ in every(document) if path[0] not in ("source_map", "build") or len(path) < 3]
    path = random.choice(paths if random.random() < 0.5 else [each for each in paths if len(each) <= 4])
    holder, step = look(document, path[:-1]), path[-1]
    kind = random.choice(["delete", "null", "other", "double", "wrap", "rename", "empty"])
    if kind == "delete":
        del holder[step]
    elif kind == "null":
        holder[step] = None
    elif kind == "other":
        holder[step] = copy.deepcopy(look(document, random.choice(paths)))
    elif kind == "wrap":
        holder[step] = [holder[step]]
    elif kind == "empty":
        holder[step] = type(holder[step])()
    elif kind == "double" and isinstance(holder, list):
        holder.insert(step, copy.deepcopy(holder[step]))
    elif kind == "rename" and isinstance(holder, dict):
        holder[random.choice([*document.get("callables", ()), "x", "type:app/X", "doc"])] = holder.pop(step)


CHANGES: tuple[Callable[[Random, Document], None], ...] = (
    change_jump, change_instruction, change_type, change_ref, change_expression, change_operation, change_figure,
    change_text, change_anything,
)  # fmt: skip


def change(random: Random, document: Document) -> None:
    """One change of any kind. What an earlier change has broken so that this one finds nothing stays as it is."""
    do = random.choice(CHANGES)
    try:
        do(random, document)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError):
        return


def repair(document: Document) -> None:
    """Set costs, features and digest right, as far as what is left has them."""
    try:
        outcomes = mentions_outcome(document)
        document["requires"] = sorted(features(document, outcomes))
        seal(document)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, RecursionError):
        return
