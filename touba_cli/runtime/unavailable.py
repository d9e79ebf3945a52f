"""What a program uses that this runtime does not have, in the words of the language, with the first place of each.

Only a refusal and `touba check` load this module.
"""

from __future__ import annotations

from ..air.program import INSTRUCTION_FEATURES, mentions_outcome
from .admission import AVAILABLE_FEATURES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

#: feature → how a program writes it; every feature that the runtime does not have
WORDS: dict[str, str] = {
    "agents": "an agent",
    "approve": "`human.approve`",
    "ask": "`ask`",
    "compensate": "`compensate`",
    "keys": "`effect write key …`",
    "outcomes": "`Outcome of …`",
    "parallel": "`parallel`",
    "review": "`human.review`",
    "triggers": "a trigger",
}

#: file, line and column: their order is that of the program
_Position = tuple[int, int, int]


def not_run(document: dict[str, Any]) -> list[str]:
    """What a program uses and this runtime does not run, in the order of the program.

    Parameters:
        document: a sound AIR document.

    Returns:
        Each with its first place: as ``file:line:column`` where the source map has it, else the declaration.

    >>> not_run({"requires": ["tools"]})
    []
    """
    missing = [feature for feature in document["requires"] if feature not in AVAILABLE_FEATURES]
    first: dict[str, _Position] = {}
    holder: dict[str, str] = {}
    for feature, ref, position in _uses(document) if missing else ():
        holder.setdefault(feature, ref)
        if position is not None and (feature not in first or position < first[feature]):
            first[feature] = position
    found: list[tuple[bool, _Position, str]] = []
    for feature in missing:
        position = first.get(feature)
        if position is None:
            found.append((True, (0, 0, 0), f"{WORDS[feature]} ({holder[feature]})"))
        else:
            found.append((False, position, f"{WORDS[feature]} ({shown(document, position)})"))
    return [text for _, _, text in sorted(found)]


def tests(document: dict[str, Any]) -> list[str]:
    """The tests of a program, which no command runs, as one item with the place of the first. No run is refused for
    them."""
    if not document.get("tests"):
        return []
    span = document["source_map"]["tests"][0][0]
    return [f"`test` ({shown(document, (span[0], span[1], span[2]))})"]


def shown(document: dict[str, Any], position: _Position) -> str:
    """A position of the source map as people read it."""
    file, line, column = position
    return f"{document['source_map']['files'][file]}:{line}:{column}"


def _uses(document: dict[str, Any]) -> Iterator[tuple[str, str, _Position | None]]:
    """Every use of a feature: its name, what it stands in, and where, if the source map says so."""
    places = document["source_map"]["callables"]
    for ref, declared in document["callables"].items():
        spans: list[_Position] = [(span[0], span[1], span[2]) for span in places.get(ref, ())]
        if ref.startswith("agent:"):
            yield "agents", ref, None
        if "key" in declared:
            yield "keys", ref, spans[0] if spans else None
        if "compensation" in declared:
            yield "compensate", ref, None
        for number, instruction in enumerate(declared.get("code", ())):
            position = spans[number] if spans else None
            if instruction[0] == "call" and instruction[3].startswith("agent:"):
                yield "agents", instruction[3], position
            elif instruction[0] in INSTRUCTION_FEATURES:
                # A mark is where a `compensate` further down begins: nobody has written it.
                yield INSTRUCTION_FEATURES[instruction[0]], ref, None if instruction[0] == "mark" else position
    for ref in document.get("triggers", ()):
        yield "triggers", ref, None
    for part in ("callables", "types", "memories", "gates"):
        for ref, declared in document.get(part, {}).items():
            if mentions_outcome({part: {ref: declared}}):
                yield "outcomes", ref, None
