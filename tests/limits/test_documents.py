"""Limits of documents: requests, results, manifests, secrets, compiled programs, and JSON as such."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.engine.support import envelope
from tests.engine.test_options import RUNTIME
from tests.limits.kit import three_cases
from tests.project.test_cache import Project as CacheProject
from tests.shell_kit import Ended, Project, air, calling, coded
from touba_cli.air.program import read_program
from touba_cli.codec import encode
from touba_cli.errors import ToubaFailure
from touba_cli.limits import (
    AIR_BYTES,
    DOCUMENT_BYTES,
    ENVELOPE_BYTES,
    JSON_DEPTH,
    NUMBER_DIGITS,
    REQUEST_BYTES,
    VALUE_DEPTH,
)
from touba_cli.options import LABEL_CHARACTERS
from touba_cli.runtime.envelope import write
from touba_sdk import ToubaEngine
from touba_sdk.engine.command import build
from touba_sdk.engine.envelope import Ending, conclude_run
from touba_sdk.errors import ToubaEngineError, UsageError
from touba_sdk.handlers import create_tool_handler, handle_tool_request


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def run(project: Project, *words: str, **options: Any) -> Ended:
    return project.touba("run", "--air=app.air.json", *words, "--json", **options)


def echo(form: Any = "Text", expression: Any = None) -> bytes:
    """A program that gives something of its one input `v`; the length of a Text where nothing else is said."""
    give = expression or ["length.text", ["slot", 0]]
    return air(
        {"strategy:app/Main": coded([["give", give]], takes={"v": form}, gives="Int" if not expression else form)}
    )


# --- requests and results ---------------------------------------------------------------------------------------------


@three_cases("request_bytes")
def test_bytes_of_a_request_at_a_terminal(project: Project, by: int) -> None:
    project.write("app.air.json", echo())
    head = b'{"protocol":"touba-run-request-v1","sdk_version":"1","options":{"inputs":{"v":"'
    data = head + b"x" * (REQUEST_BYTES + by - len(head) - 4) + b'"}}}'
    assert len(data) == REQUEST_BYTES + by
    done = run(project, "--request=-", stdin=data)
    if by <= 0:
        assert done.document["result"] == len(data) - len(head) - 4
    else:
        assert f"more than {REQUEST_BYTES} bytes" in done.refused("RequestTooLarge", 2)


@three_cases("request_bytes")
def test_bytes_of_a_file_of_inputs(project: Project, by: int) -> None:
    project.write("app.air.json", echo())
    project.write("inputs.json", b'{"v":"' + b"x" * (REQUEST_BYTES + by - 8) + b'"}')
    done = run(project, "--inputs=@inputs.json")
    if by <= 0:
        assert done.document["result"] == REQUEST_BYTES + by - 8
    else:
        assert f"more than {REQUEST_BYTES} bytes" in done.refused("FileUnreadable", 2)


@three_cases("request_bytes")
def test_bytes_of_a_request_of_the_engine(by: int) -> None:
    def made(text: str) -> bytes:
        options = {"air": "a.air.json", "inputs": {"v": text}, "project_root": "/"}
        return build("run", options, runtime=RUNTIME, version="1", environ={}).request

    text = "x" * (REQUEST_BYTES + by - len(made("")))
    if by <= 0:
        assert len(made(text)) == REQUEST_BYTES + by
        return
    with pytest.raises(UsageError) as caught:
        made(text)
    assert caught.value.code == "RequestTooLarge"
    assert f"{REQUEST_BYTES} are allowed" in caught.value.message


def concluded(data: bytes, code: int, kept: bytes | None = None) -> Any:
    return conclude_run(Ending(output=data + b"\n", stderr=b"", exit_code=code), kept=lambda: kept)


@three_cases("envelope_bytes")
def test_bytes_of_a_result_document(by: int) -> None:
    document = envelope(result="")
    document["result"] = "x" * (ENVELOPE_BYTES + by - len(encode(document)))
    told, data = write(document)
    if by <= 0:
        assert len(data) == ENVELOPE_BYTES + by
        assert concluded(data, 0).result == document["result"]
        return
    assert told["error"]["code"] == "ResponseTooLarge"
    assert (
        f"{ENVELOPE_BYTES + 1} bytes; {ENVELOPE_BYTES} are allowed. Its largest part is `result`"
        in (told["error"]["message"])
    )
    with pytest.raises(ToubaEngineError) as caught:
        concluded(data, told["exit_code"])
    assert caught.value.code == "ResponseTooLarge"


@three_cases("result_file_bytes")
def test_bytes_of_a_result_document_that_is_kept(monkeypatch: pytest.MonkeyPatch, by: int) -> None:
    document = envelope(result="x" * 5_000)
    most = len(encode(document)) - by
    monkeypatch.setattr("touba_cli.runtime.envelope.ENVELOPE_BYTES", 4_000)
    monkeypatch.setattr("touba_cli.runtime.envelope.RESULT_FILE_BYTES", most)
    monkeypatch.setattr("touba_sdk.engine.envelope.RESULT_FILE_BYTES", most)
    kept: list[bytes] = []

    def keep(whole: bytes) -> bool:
        kept.append(whole)
        return True

    told, data = write(document, keep)
    assert (len(kept) == 1) == (by <= 0)
    assert ("the whole document was kept" in told["error"]["message"]) == (by <= 0)
    with pytest.raises(ToubaEngineError) as caught:
        concluded(data, told["exit_code"], encode(document) + b"\n")
    found = caught.value.details.result
    assert (found is not None and found.result == document["result"]) == (by <= 0)


# --- what lies beside a program ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["manifest", "secrets"])
@three_cases("document_bytes")
def test_bytes_of_a_manifest_or_secrets_file(project: Project, name: str, by: int) -> None:
    project.write("app.air.json", calling(secrets=["key"]))
    project.handler("", answer="ok(7)", secrets={"key": "KEY"})
    project.write("secrets.json", {"protocol": "touba-secrets-v1", "secrets": {"KEY": {"value": "12345678"}}})
    path = project.folder / f"{name}.json"
    (project.folder / "secrets.json").chmod(0o600)
    text = path.read_text("utf-8")
    path.write_text(text + " " * (DOCUMENT_BYTES + by - len(text)), "utf-8")
    done = run(project, "--manifest=manifest.json", "--secrets=secrets.json", '--inputs={"value":1}')
    if by <= 0:
        assert done.document["result"] == 7
    else:
        assert f"more than {DOCUMENT_BYTES} bytes" in done.refused("FileUnreadable", 2)


def large_air(size: int) -> bytes:
    """A sound AIR document of so many bytes."""

    def made(doc: str) -> bytes:
        main = {**coded([["give", ["int", 1]]]), "doc": doc}
        return air({"strategy:app/Main": main})

    found = made("x" * (size - len(made(""))))
    assert len(found) == size
    return found


@three_cases("air_bytes")
def test_bytes_of_a_compiled_program(project: Project, by: int) -> None:
    data = large_air(AIR_BYTES + by)
    project.write("app.air.json", data)
    done = run(project)
    if by <= 0:
        assert done.document["result"] == 1
        return
    assert f"more than {AIR_BYTES} bytes" in done.refused("FileUnreadable", 2)
    with pytest.raises(ToubaFailure) as caught:
        read_program(data)
    assert caught.value.code == "AirInvalid"
    assert f"{AIR_BYTES} are allowed" in caught.value.message


@three_cases("cache_bytes")
def test_bytes_of_the_compile_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: int) -> None:
    project = CacheProject(tmp_path)
    project.compile()
    (entry,) = project.entries
    oldest = entry.parent / ("0" * 64)
    oldest.write_bytes(b"x" * 4 * entry.stat().st_size)
    size = entry.stat().st_size + oldest.stat().st_size
    entry.unlink()
    os.utime(oldest, (1_000, 1_000))
    monkeypatch.setattr("touba_cli.project.cache.CACHE_BYTES", size - by)
    project.compile()
    assert entry.exists()
    assert oldest.exists() == (by <= 0)


# --- JSON -------------------------------------------------------------------------------------------------------------


def nested_air(depth: int) -> bytes:
    """A sound program whose document has so many levels."""
    node: Any = ["bool", True]
    for _ in range(depth - 6):  # the document, callables, the callable, its code, the instruction, the literal
        node = ["not", node]
    return air({"strategy:app/Main": coded([["give", node]], gives="Bool")})


@three_cases("json_depth")
def test_levels_of_a_document(project: Project, by: int) -> None:
    levels = JSON_DEPTH + by
    if by <= 0:
        assert read_program(nested_air(levels)).callables
    else:
        with pytest.raises(ToubaFailure) as caught:
            read_program(nested_air(levels))
        assert (caught.value.code, f"deeper than {JSON_DEPTH} levels" in caught.value.message) == ("AirInvalid", True)
    project.write("app.air.json", echo())
    project.write("manifest.json", b'{"x":' + b"[" * (levels - 1) + b"]" * (levels - 1) + b"}")
    done = run(project, "--manifest=manifest.json", '--inputs={"v":"a"}')
    if by <= 0:
        done.refused("DocumentInvalid", 2)  # it can be read, and says nothing that a manifest may
    else:
        message = done.refused("JsonInvalid", 2)
        assert f"deeper than {JSON_DEPTH} levels" in message
        assert f"column {4 + levels}" in message


@pytest.mark.parametrize("form", ["text", "object"])
@three_cases("json_depth")
def test_levels_of_a_program_that_the_engine_is_given(project: Project, by: int, form: str) -> None:
    """An object stands two levels deep in the request that carries it; a text is a document of its own."""
    levels = JSON_DEPTH + by - (2 if form == "object" else 0)
    data = nested_air(levels)
    with ToubaEngine(project_root=project.folder) as engine:
        if by <= 0:
            assert isinstance(engine.run(air_json=data.decode() if form == "text" else json.loads(data)).result, bool)
            return
        with pytest.raises(ToubaEngineError) as caught:
            engine.run(air_json=data.decode() if form == "text" else json.loads(data))
    assert caught.value.code == ("AirInvalid" if form == "text" else "OptionInvalid")
    assert f"deeper than {levels - 1} levels" in caught.value.message


@three_cases("value_depth")
def test_levels_of_an_input_of_the_engine_and_of_an_answer(project: Project, by: int) -> None:
    levels = VALUE_DEPTH + by
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    project.write("app.air.json", echo("Json", ["slot", 0]))
    with ToubaEngine(project_root=project.folder) as engine:
        if by <= 0:
            assert engine.run(air="app.air.json", inputs={"v": value}).result == value
        else:
            with pytest.raises(UsageError) as caught:
                engine.run(air="app.air.json", inputs={"v": value})
            assert f"deeper than {VALUE_DEPTH} levels" in caught.value.message
    handler = create_tool_handler(tool_ref="tool:app/Tool", run=lambda request, context: value)
    request = {"protocol": "touba-tool-request-v1", "tool_ref": "tool:app/Tool", "arguments": {}}
    answer = json.loads(handle_tool_request(handler, encode(request)))
    assert answer["ok"] == (by <= 0)
    assert by > 0 or answer["value"] == value
    assert by <= 0 or f"deeper than {VALUE_DEPTH} levels" in answer["error"]["message"]


@three_cases("value_depth")
def test_levels_of_an_input(project: Project, by: int) -> None:
    project.write("app.air.json", echo("Json", ["slot", 0]))
    levels = VALUE_DEPTH + by
    done = run(project, f'--inputs={{"v":{"[" * levels}{"]" * levels}}}')
    if by <= 0:
        assert done.code == 0
    else:
        assert f"deeper than {VALUE_DEPTH} levels" in done.refused("InputInvalid", 4)


@three_cases("number_digits")
def test_characters_of_a_number(project: Project, by: int) -> None:
    project.write("app.air.json", echo("Float", ["slot", 0]))
    text = "0." + "1" * (NUMBER_DIGITS + by - 2)
    done = run(project, f'--inputs={{"v":{text}}}')
    if by <= 0:
        assert done.document["result"] == float(text)
    else:
        assert f"more than {NUMBER_DIGITS} characters" in done.refused("JsonInvalid", 2)


# --- options ----------------------------------------------------------------------------------------------------------


@three_cases("run_id_characters")
def test_characters_of_a_run_id(project: Project, by: int) -> None:
    project.write("app.air.json", echo())
    name = "r" * (128 + by)
    done = run(project, f"--run-id={name}", '--inputs={"v":"a"}')
    if by <= 0:
        assert done.document["run_id"] == name
    else:
        assert "1 to 128 letters" in done.refused("OptionInvalid", 2)


@three_cases("label_characters")
def test_characters_of_an_owner(project: Project, by: int) -> None:
    project.write("app.air.json", echo())
    done = run(project, f"--owner={'o' * (LABEL_CHARACTERS + by)}", '--inputs={"v":"a"}')
    if by <= 0:
        assert done.document["result"] == 1
    else:
        assert f"1 to {LABEL_CHARACTERS} characters" in done.refused("OptionInvalid", 2)
