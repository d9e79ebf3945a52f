"""Every JSON document: its golden examples, its reader, its schema, and that the two agree about everything."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from touba_cli.codec import encode
from touba_cli.documents import DOCUMENTS, check_document, json_schema, read_document
from touba_cli.errors import ToubaFailure

GOLDEN = {path.stem: path for path in sorted((Path(__file__).parent / "golden").glob("*.json"))}
EXAMPLES = {name: json.loads(path.read_text("utf-8")) for name, path in GOLDEN.items()}
VALIDATORS = {protocol: jsonschema.Draft202012Validator(json_schema(protocol)) for protocol in DOCUMENTS}


def protocol_of(name: str) -> str:
    return name.partition(".")[0]


def refusal(protocol: str, data: bytes, limit: int | None = None) -> ToubaFailure:
    with pytest.raises(ToubaFailure) as caught:
        read_document(protocol, data, limit)
    return caught.value


# --- golden examples --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_examples_are_read_and_fit_their_schema(name: str) -> None:
    protocol = protocol_of(name)
    assert read_document(protocol, GOLDEN[name].read_bytes()) == EXAMPLES[name]
    assert check_document(protocol, EXAMPLES[name]) is None
    assert [each.message for each in VALIDATORS[protocol].iter_errors(EXAMPLES[name])] == []


def test_every_document_has_an_example() -> None:
    assert {protocol_of(name) for name in GOLDEN} == set(DOCUMENTS)


@pytest.mark.parametrize("protocol", DOCUMENTS)
def test_schemas_are_valid_and_closed(protocol: str) -> None:
    schema = json_schema(protocol)
    jsonschema.Draft202012Validator.check_schema(schema)
    shapes = schema.get("oneOf", [schema])
    assert all(shape["additionalProperties"] is False for shape in shapes)
    assert all(shape["properties"]["protocol"] == {"const": protocol} for shape in shapes)
    assert schema["title"]
    assert schema["description"].endswith(".")


# --- reader and schema say the same -----------------------------------------------------------------------------------

VALUES: list[Any] = [
    None, True, False, -1, 0, 1, 7, 300, 2**63, "", "x", "error", "process", "mcp", "none", "é" * 201, [], [1], ["x"],
    ["x", "x"], {}, {"x": 1}, {"env": "A"}, {"env": "A", "file": "b"}, {"kind": "host"}, {"kind": "shell"},
    "sha256:" + "0" * 64, "0" * 64, "tool:a/B", "tool:a.b/B_1", "tool:A/B", "A=B", "touba-run-v1", "success",
]  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(value, dict):
        for key, part in value.items():
            found += places(part, (*path, key))
    elif isinstance(value, list):
        for position, part in enumerate(value):
            found += places(part, (*path, position))
    return found


def mutate(draw: st.DataObject, document: Any) -> None:
    path = draw.draw(st.sampled_from(places(document)))
    holder = document
    for step in path[:-1]:
        holder = holder[step]
    kind = draw.draw(st.sampled_from(["delete", "value", "add", "rename", "double"]))
    if kind == "delete":
        del holder[path[-1]]
    elif kind == "value":
        holder[path[-1]] = copy.deepcopy(draw.draw(st.sampled_from(VALUES)))
    elif kind == "add" and isinstance(holder, dict):
        holder[draw.draw(st.sampled_from(["extra", "value", "error", "tool:a/B", "air_json"]))] = 1
    elif kind == "rename" and isinstance(holder, dict):
        holder[path[-1] + "s"] = holder.pop(path[-1])
    elif kind == "double" and isinstance(holder, list):
        holder.append(copy.deepcopy(holder[path[-1]]))


@pytest.mark.parametrize("name", GOLDEN)
@settings(max_examples=60)
@given(st.data())
def test_reader_and_schema_agree(name: str, data: st.DataObject) -> None:
    protocol = protocol_of(name)
    document = copy.deepcopy(EXAMPLES[name])
    for _ in range(data.draw(st.integers(1, 2))):
        if document:
            mutate(data, document)
    fault = check_document(protocol, document)
    errors = [f"{each.json_path}: {each.message}" for each in VALIDATORS[protocol].iter_errors(document)]
    assert (fault is None) == (not errors), (fault, errors)


@pytest.mark.parametrize("protocol", DOCUMENTS)
@given(st.recursive(st.sampled_from(VALUES), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_whatever_is_no_document_is_refused_with_its_path(protocol: str, value: Any) -> None:
    fault = check_document(protocol, value)
    assert fault is not None
    assert fault.startswith("$")
    assert refusal(protocol, encode([value])).code == "DocumentInvalid"


# --- refusals ---------------------------------------------------------------------------------------------------------


def changed(name: str, *path: Any, value: Any = ...) -> bytes:
    """A golden example with a member set, or without it."""
    document = copy.deepcopy(EXAMPLES[name])
    holder = document
    for step in path[:-1]:
        holder = holder[step]
    if value is ...:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return encode(document)


TOOL = ("tools", "tool:billing.invoices/PayInvoice")


@pytest.mark.parametrize(
    ("name", "path", "value", "message"),
    [
        ("touba-manifest-v1.tools", ("tool",), {}, "$: the member `tool` is not known; did you mean `tools`?"),
        ("touba-manifest-v1.tools", ("tools",), ..., "$: the member `tools` is missing"),
        ("touba-manifest-v1.tools", ("tools",), None, "$.tools: an object was expected, not null"),
        ("touba-manifest-v1.tools", (*TOOL, "handler"), ..., "the member `handler` is missing"),
        ("touba-manifest-v1.tools", (*TOOL, "confinement"), {}, "the member `confinement` is not known"),
        ("touba-manifest-v1.tools", (*TOOL, "handler", "warm"), False, "the member `warm` is not known"),
        ("touba-manifest-v1.tools", (*TOOL, "handler", "command"), [], ".handler.command: the array is empty"),
        ("touba-manifest-v1.tools", (*TOOL, "handler", "command"), "ls", "an array was expected, not text"),
        ("touba-manifest-v1.tools", (*TOOL, "handler", "kind"), "proces", ".handler.kind: the word is not known; did"),
        ("touba-manifest-v1.tools", (*TOOL, "handler", "kind"), "shell", "the word is not known; it is `process`"),
        (
            "touba-manifest-v1.tools",
            (*TOOL, "grants"),
            ["internet"],
            ".grants[0]: the word is not known; it is",
        ),
        ("touba-manifest-v1.tools", (*TOOL, "grants"), ["network"] * 2, ".grants: an element stands twice"),
        ("touba-manifest-v1.tools", (*TOOL, "limits", "max_memory_bytes"), 1, "`max_memory_bytes` is not known"),
        ("touba-manifest-v1.tools", (*TOOL, "limits", "timeout_ms"), 0, ".limits.timeout_ms: the number is not within"),
        ("touba-manifest-v1.tools", (*TOOL, "limits", "timeout_ms"), True, "a whole number was expected, not true or"),
        ("touba-manifest-v1.tools", ("tools", "tool:Pay"), {}, '$.tools["tool:Pay"]: the key is not spelt like'),
        ("touba-secrets-v1.handles", ("secrets", "BANK"), {}, "exactly one member: `env`, `file` or `value`"),
        ("touba-secrets-v1.handles", ("secrets", "BANK", "file"), "x", "$.secrets.BANK: the object has exactly one"),
        ("touba-tool-response-v1.value", ("ok",), "yes", "$.ok: true or false was expected, not text"),
        ("touba-tool-response-v1.value", ("value",), ..., "$: the member `value` is missing"),
        ("touba-tool-response-v1.value", ("receipts",), [{}], "$.receipts: the array is not empty"),
        (
            "touba-tool-response-v1.memory",
            ("memory_metadata", 0, "memory_ref"),
            "tool:a/B",
            "[0].memory_ref: the text is not spelt like",
        ),
        ("touba-tool-response-v1.memory", ("memory_metadata", 0, "operation"), "reads", "did you mean `read`?"),
        (
            "touba-tool-response-v1.memory",
            ("memory_metadata", 0, "operation"),
            ...,
            "[0]: the member `operation` is missing",
        ),
        ("touba-tool-response-v1.memory", ("memory_metadata",), {}, "$.memory_metadata: an array was expected"),
        ("touba-tool-response-v1.failed", ("error", "effect"), "maybe", "$.error.effect: the word is not known"),
        ("touba-tool-response-v1.failed", ("value",), 1, "$: the member `value` is not known"),
        ("touba-run-v1.success", ("trace_reference",), {}, "$.trace_reference: null was expected, not an object"),
        ("touba-run-v1.success", ("usage", "steps"), 1.5, "a whole number was expected, not a number with a fraction"),
        ("touba-trace-v1.run", ("chains", "0"), "x", "$.chains.0: the text is not spelt like 64 hex digits"),
    ],
)
def test_faults_are_named_with_their_path(name: str, path: tuple[Any, ...], value: Any, message: str) -> None:
    failure = refusal(protocol_of(name), changed(name, *path, value=value))
    assert failure.code == "DocumentInvalid"
    assert message in failure.message
    assert DOCUMENTS[protocol_of(name)].what in failure.message


@pytest.mark.parametrize("name", GOLDEN)
def test_another_protocol_is_refused_by_both_names(name: str) -> None:
    protocol = protocol_of(name)
    newer = protocol[:-1] + "2"
    failure = refusal(protocol, changed(name, "protocol", value=newer))
    assert newer in failure.message
    assert protocol in failure.message
    handshake = protocol in ("touba-run-request-v1", "touba-run-v1")
    assert failure.code == ("IncompatibleRuntime" if handshake else "DocumentInvalid")
    assert "protocol" in refusal(protocol, changed(name, "protocol")).message
    assert "$.protocol" in refusal(protocol, changed(name, "protocol", value=1)).message


def test_faults_in_options_have_the_codes_of_options() -> None:
    name = "touba-run-request-v1.full"
    for option, value, code, message in (
        ("entry", "x", "OptionUnknown", "$.options: the member `entry` is not known; did you mean `entry_ref`?"),
        ("durable", True, "OptionUnknown", "`durable` is not known"),
        ("strict_inputs", "yes", "OptionInvalid", "$.options.strict_inputs: true or false was expected, not text"),
        ("run_limits", {"max_step": 1}, "OptionUnknown", "did you mean `max_steps`?"),
        ("run_limits", {"max_depth": 0}, "OptionInvalid", "$.options.run_limits.max_depth: the number is not within 1"),
        ("run_id", "a/b", "OptionInvalid", "$.options.run_id: the text is not spelt like 1 to 128 letters"),
        ("inputs", [], "OptionInvalid", "$.options.inputs: an object was expected, not an array"),
    ):
        failure = refusal("touba-run-request-v1", changed(name, "options", option, value=value))
        assert (failure.code, message in failure.message) == (code, True), failure.message
    assert refusal("touba-run-request-v1", changed(name, "sdk_version")).code == "DocumentInvalid"


def test_bytes_that_are_no_json_are_refused_with_line_and_column() -> None:
    for data, words in (
        (b"", "empty"),
        (b'{\n "protocol": }', "line 2, column 14"),
        (b'{"protocol":"touba-secrets-v1","protocol":"touba-secrets-v1"}', "stands twice"),
        (b"[" * 100_000, "nested deeper than"),
        (b"\xff", "not valid UTF-8"),
    ):
        failure = refusal("touba-secrets-v1", data)
        assert failure.code == "JsonInvalid"
        assert words in failure.message
    assert "10 are allowed" in refusal("touba-secrets-v1", b" " * 11, 10).message


def test_faults_never_show_a_value() -> None:
    secret = "tr0ub4dor&3"
    for path in (("secrets", "BANK"), ("secrets", "BANK", "env"), ("secrets",), ("protocol",)):
        for value in ([secret], {"value": [secret]}, {"value": {"x": secret}}):
            assert (
                secret
                not in refusal("touba-secrets-v1", changed("touba-secrets-v1.handles", *path, value=value)).message
            )
