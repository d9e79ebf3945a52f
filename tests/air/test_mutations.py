"""Whatever a document has been turned into: it is refused with its path, or it verifies and stays what it is."""

from __future__ import annotations

import copy
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.air.mutations import CHANGES, change, every, is_expression, is_type, repair
from tests.air.samples import SAMPLES, Document, compiled, governed, single
from touba_cli.air.operations import OPERATIONS
from touba_cli.air.program import OPTIONAL, read_program, write_program
from touba_cli.air.verifier import KINDS, verify
from touba_cli.air.verify_flow import _RULES
from touba_cli.errors import ToubaFailure
from touba_cli.runtime.interpreter import EXPRESSIONS

DOCUMENTS = [*(make() for make in SAMPLES.values()), compiled(), governed()]


def refusal(check: Callable[[], object]) -> ToubaFailure | None:
    """The failure with which something is refused, if it is. Any other exception is a fault of the verifier."""
    try:
        check()
    except ToubaFailure as failure:
        return failure
    return None


def verdict(document: Document) -> str | None:
    """The code of the refusal; None where the document verifies, and then reads back as itself."""
    refused = refusal(lambda: verify(copy.deepcopy(document)))
    if refused is None:
        assert read_program(write_program(document)).document == document
        return None
    assert refused.code in ("AirInvalid", "FeatureUnavailable")
    if refused.code == "AirInvalid":
        assert refused.message.startswith("$")
        assert refused.message.isascii()
        assert len(refused.message) < 2_000  # the path may be 200 steps long
    return refused.code


def test_the_documents_have_everything() -> None:
    """Nothing of AIR is left out of what is changed below."""
    instructions = {
        each[0] for document in DOCUMENTS for one in document["callables"].values() for each in one.get("code", ())
    }
    assert instructions == set(_RULES)
    nodes = {node[0] for document in DOCUMENTS for _, node in every(document) if is_expression(node)}
    assert set(EXPRESSIONS) - set(OPERATIONS) <= nodes
    assert {ref.partition(":")[0] for document in DOCUMENTS for ref in document["callables"]} == set(KINDS)
    assert {name for document in DOCUMENTS for name in (*OPTIONAL, "tests") if name in document} == {*OPTIONAL, "tests"}
    heads = {
        form[0] for document in DOCUMENTS for _, form in every(document) if isinstance(form, list) and is_type(form)
    }
    assert heads == {"List", "Map", "Optional", "Entry", "Outcome", "is"}


@settings(max_examples=600)
@given(st.integers(0, 2**64))
def test_mutated_documents_are_refused_or_sound(seed: int) -> None:
    random = Random(seed)
    document = copy.deepcopy(random.choice(DOCUMENTS))
    for _ in range(random.choice([1, 1, 2, 3])):
        change(random, document)
    first = verdict(document)
    assert verdict(document) == first
    repair(document)
    verdict(document)


@pytest.mark.parametrize("kind", CHANGES, ids=lambda kind: kind.__name__)
def test_every_kind_of_change_is_refused_and_is_sound_now_and_then(kind: Callable[[Random, Document], None]) -> None:
    """A kind of change that is always refused, or never, would test one half of the verifier only."""
    seen: dict[bool, int] = {True: 0, False: 0}
    for seed in range(150):
        random = Random(seed)
        before = random.choice(DOCUMENTS)
        document = copy.deepcopy(before)
        kind(random, document)
        if document == before:
            continue
        repair(document)
        seen[verdict(document) is None] += 1
        if seen[True] and seen[False]:
            break
    assert seen[True]
    assert seen[False]


@settings(max_examples=300)
@given(st.data())
def test_mutated_bytes_are_refused(data: st.DataObject) -> None:
    original = write_program(data.draw(st.sampled_from(DOCUMENTS)))
    at = data.draw(st.integers(0, len(original) - 1))
    changed = original[:at] + data.draw(st.binary(max_size=4)) + original[at + data.draw(st.integers(0, 3)) :]
    if changed.removesuffix(b"\n") == original:
        return
    refused = refusal(lambda: read_program(changed))
    if refused is None:
        # Only what stands outside the digest (names of files, the compiler's version) can be different and sound.
        assert read_program(changed).digest == read_program(original).digest
    else:
        assert refused.code in ("AirInvalid", "FeatureUnavailable")


@settings(max_examples=300)
@given(st.binary(max_size=200), st.sampled_from(["", "{", '{"protocol":"touba-air-v1",', "[["]))
def test_any_bytes_are_refused(data: bytes, before: str) -> None:
    refused = refusal(lambda: read_program(before.encode() + data))
    assert refused is not None
    assert refused.code == "AirInvalid"
    assert refused.message.startswith("$")


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 2**53 - 1)
    | st.sampled_from(["", "int", "slot", "Int", "type:app/X", "é"]),
    lambda part: (
        st.lists(part, max_size=4) | st.dictionaries(st.sampled_from(["code", "takes", "x"]), part, max_size=3)
    ),
    max_leaves=12,
)


@settings(max_examples=400)
@given(
    JSON, st.sampled_from(["code", "instruction", "expression", "type", "member", "callable"]), st.integers(0, 2**32)
)
def test_any_json_in_any_place_is_refused_or_sound(value: Any, where: str, seed: int) -> None:
    document = single([["set", 0, ["int", 1]], ["give", ["slot", 0]]], slots=[("x", "Int")])
    main = document["callables"]["strategy:app/Run"]
    if where == "code":
        main["code"] = value
    elif where == "instruction":
        main["code"][0] = value
    elif where == "expression":
        main["code"][0][2] = value
    elif where == "type":
        main["slots"][0][1] = value
    elif where == "callable":
        document["callables"]["function:app/Run"] = value
    else:
        document[Random(seed).choice([*document, *OPTIONAL, "tests"])] = value
    repair(document)
    verdict(document)
