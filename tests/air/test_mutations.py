"""Whatever a document has been turned into: it is refused with a failure, or it verifies and stays what it is."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.air.samples import SAMPLES, Document, compiled, governed, seal
from touba_cli.air.program import read_program, write_program
from touba_cli.air.verifier import verify
from touba_cli.errors import ToubaFailure

DOCUMENTS = [*(make() for make in SAMPLES.values()), compiled(), governed()]

ATOMS: list[Any] = [
    None, True, False, -1, 0, 1, 2, 3, 7, 10**6, 2**53 - 1, "", "Int", "Text", "Decimal", "is", "List", "slot", "app",
    "type:app/Line", "type:app/Amount", "type:touba/Problem", "function:app/Total", "tool:app/Pay", "\u00e9",
    [], {}, [[]],
    ["Outcome", "Int"], "branch:governed/Run/1", "agent:governed/Clerk", "approval:governed/Run/2", ["mark", 8],
    ["int", 1], ["slot", 0], ["text", "x"], ["bool", True], ["nothing"], ["jump", 0], ["leave"], ["give", ["int", 1]],
]  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """All paths into a document."""
    found = [path] if path else []
    if isinstance(value, dict):
        for key, part in value.items():
            found += places(part, (*path, key))
    elif isinstance(value, list):
        for position, part in enumerate(value):
            found += places(part, (*path, position))
    return found


def look(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


def mutate(draw: st.DataObject, document: Document) -> None:
    paths = places(document)
    # Most of a document is code; without a preference, hardly anything else would ever be hit.
    shallow = [path for path in paths if len(path) <= 4]
    path = draw.draw(st.sampled_from(draw.draw(st.sampled_from([paths, shallow]))))
    holder, step = look(document, path[:-1]), path[-1]
    kind = draw.draw(st.sampled_from(["delete", "atom", "copy", "nest", "double", "swap", "rename"]))
    if kind == "delete":
        del holder[step]
    elif kind == "atom":
        holder[step] = copy.deepcopy(draw.draw(st.sampled_from(ATOMS)))
    elif kind == "copy":
        holder[step] = copy.deepcopy(look(document, draw.draw(st.sampled_from(paths))))
    elif kind == "nest":
        head = draw.draw(st.sampled_from(["some", "not", "neg.int", "List", "Optional", "is", "open"]))
        for _ in range(draw.draw(st.sampled_from([1, 2, 50, 150]))):
            holder[step] = [head, holder[step]]
    elif kind == "double" and isinstance(holder, list):
        holder.insert(step, copy.deepcopy(holder[step]))
    elif kind == "swap" and isinstance(holder, list):
        other = draw.draw(st.integers(0, len(holder) - 1))
        holder[step], holder[other] = holder[other], holder[step]
    elif kind == "rename" and isinstance(holder, dict):
        holder[draw.draw(st.sampled_from(["doc", "x", "type:app/New", "skill:app/New", "wire"]))] = holder.pop(step)


def refusal(check: Callable[[], object]) -> str | None:
    """The code with which something is refused, if it is. Any other exception is a fault of the verifier."""
    try:
        check()
    except ToubaFailure as failure:
        return failure.code
    return None


def verdict(document: Document) -> str | None:
    """The code of the refusal; None where the document verifies, and then reads back as itself."""
    refused = refusal(lambda: verify(copy.deepcopy(document)))
    assert refused in (None, "AirInvalid", "FeatureUnavailable")
    if refused is not None:
        return refused
    assert read_program(write_program(document)).document == document
    return None


@settings(max_examples=800)
@given(st.data())
def test_mutated_documents_are_refused_or_sound(data: st.DataObject) -> None:
    document = copy.deepcopy(data.draw(st.sampled_from(DOCUMENTS), label="document"))
    for _ in range(data.draw(st.integers(1, 3))):
        mutate(data, document)
    first = verdict(document)
    assert verdict(document) == first
    try:
        seal(document)
    except (KeyError, AttributeError, TypeError, RecursionError):
        return  # a document that cannot even be sealed: the verdict above stands
    verdict(document)


@settings(max_examples=300)
@given(st.data())
def test_mutated_bytes_are_refused(data: st.DataObject) -> None:
    original = write_program(data.draw(st.sampled_from(DOCUMENTS)))
    at = data.draw(st.integers(0, len(original) - 1))
    changed = original[:at] + data.draw(st.binary(max_size=4)) + original[at + data.draw(st.integers(0, 3)) :]
    if changed.removesuffix(b"\n") == original:
        return
    refused = refusal(lambda: read_program(changed))
    assert refused in (None, "AirInvalid", "FeatureUnavailable")
    if refused is None:
        # Only what stands outside the digest (names of files, the compiler's version) can be different and sound.
        assert read_program(changed).digest == read_program(original).digest
