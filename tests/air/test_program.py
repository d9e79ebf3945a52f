from __future__ import annotations

import json

import pytest

from tests.air.samples import SAMPLES, Document, review, seal, smallest
from touba_cli.air.program import load_program, place, program_digest, read_program, write_program
from touba_cli.errors import ToubaFailure


def refusal(data: bytes) -> ToubaFailure:
    with pytest.raises(ToubaFailure) as caught:
        read_program(data)
    return caught.value


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
def test_what_is_written_is_read(sample: object) -> None:
    document: Document = sample()  # type: ignore[operator]
    data = write_program(document)
    assert read_program(data).digest == document["digest"]
    assert read_program(data + b"\n").document == document


def test_a_program_has_its_declarations() -> None:
    program = read_program(write_program(review()))
    pay = program.callables["tool:app/Pay"]
    assert (pay.kind, pay.effect, pay.requires, pay.secrets, pay.timeout_ms) == (
        "tool",
        "write",
        ["network"],
        ["bank_token"],
        30000,
    )
    assert pay.takes == [("id", "Text"), ("amount", "type:app/Amount")]
    assert pay.code == []
    total = program.callables["function:app/Total"]
    assert total.slots[0] == ("lines", ("List", "type:app/Line"))
    assert total.gives == "Decimal"
    assert program.requires == ["attempt", "tools"]
    assert load_program(review()).callables.keys() == program.callables.keys()


def test_places_come_from_the_source_map() -> None:
    program = read_program(write_program(review()))
    found = place(program, "strategy:app/Review", 2)
    assert found == {"file": "app.tb", "line": 3, "column": 5, "end_line": 3, "end_column": 20}
    assert place(program, "strategy:app/Review", 99) is None
    assert place(program, "tool:app/Pay", 0) is None


def test_layout_does_not_change_the_digest_and_documentation_does() -> None:
    document = review()
    document["source_map"]["files"] = ["other.tb"]
    document["build"]["compiler"] = "9"
    assert program_digest(document) == review()["digest"]
    document["callables"]["skill:app/Tell"]["doc"] = "Says nothing."
    assert program_digest(document) != review()["digest"]


def test_only_canonical_bytes_are_read() -> None:
    data = write_program(smallest())
    for changed, at in (
        (b" " + data, 0),
        (data + b" ", len(data)),
        (data + b"\n\n", len(data)),
        (data.replace(b'"build":{', b'"build": {', 1), 9),
        (b"\xef\xbb\xbf" + data, 0),
        (data.replace(b"app.tb", b"\\u0061pp.tb", 1), data.index(b"app.tb")),
    ):
        failure = refusal(changed)
        assert failure.code == "AirInvalid"
        assert f"not canonical at byte {at}" in failure.message
    reordered = json.dumps(smallest(), separators=(",", ":")).encode()
    assert "not canonical" in refusal(reordered).message


def test_what_is_no_json_object_is_refused_with_its_place() -> None:
    assert "line 1, column 1" in refusal(b"").message
    assert "stands twice" in refusal(b'{"protocol":"touba-air-v1","protocol":"touba-air-v1"}').message
    assert "nested deeper" in refusal(b"[" * 100_000).message
    assert "not an object" in refusal(b"[]").message
    assert refusal(b"\xff\x00").code == "AirInvalid"


def test_numbers_that_canonical_json_cannot_hold_are_refused_with_their_path() -> None:
    data = write_program(smallest())
    failure = refusal(data.replace(b'"semantics":1', b'"semantics":1.0'))
    assert failure.message.startswith("$.semantics: ")
    for number in (b"9007199254740993", b"99999999999999999999", b"1e3"):
        failure = refusal(data.replace(b'["int",1]', b'["int",' + number + b"]"))
        assert failure.message.startswith('$.callables["function:app/One"].code[0][1]')


def test_a_newer_document_is_refused_by_the_names_of_what_is_new() -> None:
    document = smallest()
    document["protocol"] = "touba-air-v2"
    document["surprise"] = 1
    message = refusal(write_program(document)).message
    assert "touba-air-v1" in message
    assert "touba-air-v2" in message
    document = smallest()
    document["semantics"] = 2
    assert "the semantics are 2" in refusal(write_program(seal(document))).message
    document = smallest()
    document["requires"] = ["time_travel"]
    failure = refusal(write_program(seal(document)))
    assert failure.code == "FeatureUnavailable"
    assert "`time_travel`" in failure.message
    assert failure.hint == "Run it with the version of Touba that compiled it."


def test_a_document_that_was_tampered_with_is_refused() -> None:
    document = smallest()
    document["callables"]["function:app/One"]["doc"] = "Quite different."
    assert refusal(write_program(document)).message == "$.digest: this is not the digest of the document"
