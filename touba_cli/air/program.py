"""A compiled program in memory, and how AIR becomes one. `docs/air.md` describes the document.

Foreign bytes go through `read_program`, which refuses whatever is not sound before anything runs; the compiler's own
document goes through `load_program`, which trusts it.
"""

from __future__ import annotations

from ..codec import ExactNumber, JsonInvalid, canonical, decode
from ..codec import digest as digest_of
from ..errors import ToubaFailure
from ..limits import AIR_BYTES
from .places import fault
from .types import freeze

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .places import Place
    from .types import TypeForm

AIR_PROTOCOL = "touba-air-v1"
SEMANTICS = 1

#: what a program can require of a runtime, and when it does; `requires` lists it
FEATURES: dict[str, str] = {
    "agents": "an agent is declared",
    "approve": "`approve` is used",
    "ask": "`ask` is used",
    "attempt": "`attempt` is used",
    "compensate": "`compensate` is used, or a tool has a compensation",
    "keys": "a tool has a key",
    "memory": "a memory is declared",
    "outcomes": "an `Outcome` stands anywhere",
    "parallel": "a group is used",
    "review": "`review` is used",
    "tools": "a tool is declared",
    "triggers": "a trigger is declared",
}

#: instruction → the feature that it needs
INSTRUCTION_FEATURES: dict[str, str] = {
    "approve": "approve", "ask": "ask", "attempt": "attempt", "compensate": "compensate", "mark": "compensate",
    "parallel": "parallel", "parallel_each": "parallel", "review": "review",
}  # fmt: skip

#: the members that the digest covers; the optional ones stand only in programs that have such things
DIGESTED: tuple[str, ...] = ("protocol", "semantics", "requires", "modules", "types", "callables")
OPTIONAL: tuple[str, ...] = ("memories", "gates", "triggers")


class Callable:
    """A function, tool, agent, skill or strategy, or a branch. Tools and agents have no slots, cost or code."""

    __slots__ = (
        "code",
        "cost",
        "doc",
        "effect",
        "gives",
        "kind",
        "reads",
        "ref",
        "requires",
        "secrets",
        "slots",
        "takes",
        "timeout_ms",
        "writes",
    )

    def __init__(self, ref: str, document: dict[str, Any]):
        self.ref = ref
        #: "function", "tool", "agent", "skill", "strategy" or "branch"
        self.kind = ref.partition(":")[0]
        #: names and declared types of the inputs, in order
        self.takes: list[tuple[str, TypeForm]] = [(each["name"], freeze(each["type"])) for each in document["takes"]]
        self.gives: TypeForm = freeze(document["gives"])
        #: names and base types; the first ones are the inputs
        self.slots: list[tuple[str, TypeForm]] = [(name, freeze(form)) for name, form in document.get("slots", ())]
        #: steps outside loops, charged on entry
        self.cost: int = document.get("cost", 0)
        #: instructions as they stand in the document; types inside them are JSON arrays
        self.code: list[list[Any]] = document.get("code", [])
        #: grants that a tool needs
        self.requires: list[str] = document.get("requires", [])
        #: handles of secrets that a tool holds
        self.secrets: list[str] = document.get("secrets", [])
        #: memories that a tool reads and writes
        self.reads: list[str] = document.get("reads", [])
        self.writes: list[str] = document.get("writes", [])
        #: "none", "read" or "write"
        self.effect: str = document.get("effect", "none")
        self.timeout_ms: int | None = document.get("timeout_ms")
        self.doc: str | None = document.get("doc")

    def __repr__(self) -> str:
        return f"Callable({self.ref!r})"


class Program:
    """A program that may run: its declarations, and where they stood in the source."""

    __slots__ = ("build", "callables", "digest", "document", "memories", "modules", "requires", "source_map", "types")

    def __init__(self, document: dict[str, Any]):
        #: the AIR document itself
        self.document = document
        self.requires: list[str] = document["requires"]
        self.modules: list[str] = document["modules"]
        #: reference → declaration as in the document; the built-in types are not among them
        self.types: dict[str, dict[str, Any]] = document["types"]
        #: reference → declaration as in the document
        self.memories: dict[str, dict[str, Any]] = document.get("memories", {})
        self.callables: dict[str, Callable] = {ref: Callable(ref, each) for ref, each in document["callables"].items()}
        self.digest: str = document["digest"]
        self.source_map: dict[str, Any] = document["source_map"]
        self.build: dict[str, Any] = document["build"]

    def __repr__(self) -> str:
        return f"Program({self.digest!r})"


def program_digest(document: dict[str, Any]) -> str:
    """The digest of an AIR document: over the canonical bytes of its digested members, whatever else stands in it."""
    return digest_of({name: document[name] for name in (*DIGESTED, *OPTIONAL) if name in document})


def features(document: dict[str, Any], outcomes: bool) -> set[str]:
    """The features that a sound document uses, whatever its `requires` says; ``outcomes``: it has an `Outcome`."""
    found = {name for name in ("memory", "triggers") if document.get({"memory": "memories"}.get(name, name))}
    for ref, declared in document["callables"].items():
        if ref.startswith("agent:"):
            found.add("agents")
        elif ref.startswith("tool:"):
            found.add("tools")
            found.update(
                name for name, member in (("keys", "key"), ("compensate", "compensation")) if member in declared
            )
        for instruction in declared.get("code", ()):
            feature = INSTRUCTION_FEATURES.get(instruction[0])
            if feature is not None:
                found.add(feature)
    if outcomes:
        found.add("outcomes")
    return found


def mentions_outcome(document: dict[str, Any]) -> bool:
    """Whether a type of the form `["Outcome", T]` stands anywhere in the part that the digest covers."""
    waiting: list[Any] = [document[name] for name in (*DIGESTED, *OPTIONAL) if name in document]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            waiting.extend(node.values())
        elif isinstance(node, list):
            if len(node) == 2 and node[0] == "Outcome":
                return True
            if node and node[0] != "text":
                waiting.extend(node)
    return False


def write_program(document: dict[str, Any]) -> bytes:
    """The canonical bytes of an AIR document, without a line end."""
    return canonical(document)


def load_program(document: dict[str, Any]) -> Program:
    """The program of a document that our own compiler made: nothing is checked."""
    return Program(document)


def read_program(data: bytes) -> Program:
    """The program of AIR bytes from anywhere.

    Parameters:
        data: the document in canonical form; one line end may follow.

    Raises:
        ToubaFailure: AirInvalid with the JSON path of the first fault (`$.callables[…].code[3]`), or with the first
            byte that is not canonical; FeatureUnavailable where the program needs what this runtime does not have.
    """
    from .verifier import verify

    document = read_document(data)
    verify(document)
    return Program(document)


def read_document(data: bytes) -> dict[str, Any]:
    """The JSON object of AIR bytes, known to be canonical; its shape is not checked."""
    try:
        document = decode(data, limit=AIR_BYTES, what="AIR document")
    except JsonInvalid as fault:
        raise ToubaFailure("AirInvalid", f"$: {fault}") from None
    if not isinstance(document, dict):
        raise ToubaFailure("AirInvalid", "$: the AIR document is not an object")
    try:
        expected = canonical(document)
    except TypeError:
        raise _no_whole_number(document) from None
    if data not in (expected, expected + b"\n"):
        at = _first_difference(data, expected)
        raise ToubaFailure("AirInvalid", f"$: the document is not canonical at byte {at}")
    return document


def _no_whole_number(document: dict[str, Any]) -> ToubaFailure:
    """The fault of a document that holds a fraction, an exponent, or a number beyond 64 bits."""
    waiting: list[tuple[Place, Any]] = [(None, document)]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, ExactNumber):
            return fault(place, "AIR has whole numbers only")
        if isinstance(value, dict):
            waiting.extend(((place, key), part) for key, part in value.items())
        elif isinstance(value, list):
            waiting.extend(((place, position), part) for position, part in enumerate(value))
    return fault(None, "the document has no canonical form")


def _first_difference(data: bytes, expected: bytes) -> int:
    low, high = 0, min(len(data), len(expected))
    if data[:high] == expected[:high]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if data[:middle] == expected[:middle]:
            low = middle
        else:
            high = middle
    return low


def place(program: Program, ref: str, pc: int) -> dict[str, Any] | None:
    """Where an instruction stands in the source, or None where the source map does not say.

    >>> place(program, "strategy:app/Review", 0)  # doctest: +SKIP
    {'file': 'review.tb', 'line': 12, 'column': 5, 'end_line': 12, 'end_column': 30}
    """
    spans = program.source_map["callables"].get(ref)
    if spans is None or not 0 <= pc < len(spans):
        return None
    file, line, column, end_line, end_column = spans[pc]
    return {
        "file": program.source_map["files"][file],
        "line": line,
        "column": column,
        "end_line": end_line,
        "end_column": end_column,
    }
