"""Limits between the runtime and its handlers: with real handlers behind `touba run`, and at the SDK's own door."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.limits.kit import three_cases
from tests.shell_kit import Project, air, calling, coded, tool
from touba_cli.codec import encode
from touba_cli.documents import MEMORY_OPERATIONS, MEMORY_SCOPES, MEMORY_STATEMENTS, check_document
from touba_cli.limits import (
    ERROR_MESSAGE_CHARACTERS,
    JSON_DEPTH,
    LIMITS,
    SECRET_CHARACTERS,
    STDERR_FORWARDED_BYTES,
    STDERR_TAIL_BYTES,
    TOOL_REQUEST_BYTES,
    TOOL_RESPONSE_BYTES,
    VALUE_DEPTH,
)
from touba_cli.runtime.calls import Relay
from touba_cli.values.numbers import DIGITS, PLACES
from touba_sdk import _encode
from touba_sdk.handlers import (
    ToubaHandlerError,
    _json,
    context,
    create_tool_handler,
    create_tool_result,
    errors,
    handle,
    handle_tool_request,
)
from touba_sdk.handlers.results import MAX_STATEMENTS, OPERATIONS, SCOPES, MemoryMetadataInvalid


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


# --- requests and answers ---------------------------------------------------------------------------------------------

TEXT_TOOL = air({
    "strategy:app/Main": coded(
        [["call", 1, 1, "tool:app/Tool", [["slot", 0]]], ["give", ["length.text", ["slot", 1]]]],
        takes={"v": "Text"},
        slots=("Text",),
    ),
    "tool:app/Tool": tool("write", takes={"v": "Text"}, gives="Text"),
})  # fmt: skip


def asked(project: Project, length: int, script: str, **limits: int) -> Any:
    """A run whose tool is given a Text of so many characters."""
    project.handler("", limits=limits)
    project.write("handlers/tool.py", script)
    project.write("app.air.json", TEXT_TOOL)
    project.write("inputs.json", b'{"v":"' + b"x" * length + b'"}')
    words = ["--air=app.air.json", "--manifest=manifest.json", "--inputs=@inputs.json", "--run-id=r"]
    return project.touba("run", *words, "--json")


COUNTING = (
    "import sys\ndata = sys.stdin.buffer.read()\nopen('size', 'w').write(str(len(data)))\n"
    'sys.stdout.write(\'{"protocol":"touba-tool-response-v1","ok":true,"value":""}\')\n'
)


@pytest.mark.parametrize("set_to", [LIMITS["tool_request_bytes"].lowest, None])
@three_cases("tool_request_bytes")
def test_bytes_of_a_tool_request(project: Project, by: int, set_to: int | None) -> None:
    limits = {} if set_to is None else {"max_request_bytes": set_to}
    limit = set_to or TOOL_REQUEST_BYTES
    assert asked(project, 0, COUNTING, **limits).document["result"] == 0
    around = int((project.folder / "size").read_text())
    (project.folder / "size").unlink()
    done = asked(project, limit + by - around, COUNTING, **limits)
    if by <= 0:
        assert done.document["result"] == 0
        assert int((project.folder / "size").read_text()) == limit + by
    else:
        assert f"{limit + 1} bytes; {limit} are allowed" in done.refused("ToolRequestTooLarge", 5)
        assert done.error["effect"] == "none"
        assert not (project.folder / "size").exists()


@pytest.mark.parametrize("set_to", [LIMITS["tool_response_bytes"].lowest, None])
@three_cases("tool_response_bytes")
def test_bytes_of_a_tool_response(project: Project, by: int, set_to: int | None) -> None:
    limits = {} if set_to is None else {"max_response_bytes": set_to}
    limit = set_to or TOOL_RESPONSE_BYTES
    head = '{"protocol":"touba-tool-response-v1","ok":true,"value":"'
    length = limit + by - len(head) - 2
    script = f"import sys\nsys.stdin.read()\nsys.stdout.write({head!r} + 'x' * {length} + '\"}}')\n"
    done = asked(project, 1, script, **limits)
    if by <= 0:
        assert done.document["result"] == length
    else:
        assert f"more than {limit} bytes" in done.refused("ToolResponseTooLarge", 5)
        assert done.error["effect"] == "unknown"


def served(data: bytes, run: Any) -> dict[str, Any]:
    handler = create_tool_handler(tool_ref="tool:app/Tool", run=run)
    found: dict[str, Any] = json.loads(handle_tool_request(handler, data))
    return found


@three_cases("tool_request_bytes")
def test_bytes_of_a_request_at_the_door_of_the_sdk(by: int) -> None:
    head = '{"protocol":"touba-tool-request-v1","tool_ref":"tool:app/Tool","arguments":{"v":"'
    data = (head + "x" * (TOOL_REQUEST_BYTES + by - len(head) - 3) + '"}}').encode()
    assert len(data) == TOOL_REQUEST_BYTES + by
    found = served(data, lambda request, context: len(request["v"]))
    if by <= 0:
        assert found["value"] == len(data) - len(head) - 3
    else:
        assert found["error"]["code"] == "ToolRequestTooLarge"
        assert f"{TOOL_REQUEST_BYTES} are allowed" in found["error"]["message"]


@three_cases("tool_response_bytes")
def test_bytes_of_an_answer_at_the_door_of_the_sdk(by: int) -> None:
    def answer(length: int) -> bytes:
        limits = {"max_response_bytes": 1_024}
        request = {"protocol": "touba-tool-request-v1", "tool_ref": "tool:app/Tool", "arguments": {}, "limits": limits}
        handler = create_tool_handler(tool_ref="tool:app/Tool", run=lambda request, context: "x" * length)
        return handle_tool_request(handler, encode(request))

    data = answer(1_024 + by - len(answer(0)))
    if by <= 0:
        assert len(data) == 1_024 + by
        assert json.loads(data)["ok"]
    else:
        error = json.loads(data)["error"]
        assert (error["code"], "1025 bytes; 1024 are allowed" in error["message"]) == ("ToolResponseTooLarge", True)


def test_the_figures_of_the_sdk_are_those_of_the_table() -> None:
    """A handler imports nothing of `touba_cli`, so it has the figures of both ends once more."""
    row = LIMITS["tool_request_bytes"]
    assert (row.default, row.highest) == (handle.MAX_BYTES, handle.HIGHEST_BYTES)
    assert LIMITS["tool_response_bytes"].highest == row.highest
    assert errors.MESSAGE_CHARACTERS == ERROR_MESSAGE_CHARACTERS
    assert _json._DEPTH == JSON_DEPTH
    assert _encode.DEPTH == VALUE_DEPTH
    assert _encode.DECIMAL_PLACES == DIGITS + PLACES


# --- what a handler says besides --------------------------------------------------------------------------------------


@three_cases("error_message_characters")
def test_characters_of_a_handlers_error(project: Project, by: int) -> None:
    said = "é" * (ERROR_MESSAGE_CHARACTERS + by)
    project.handler("", answer=f"failed('Own', {said!r})")
    error = project.call().error
    assert error["code"] == "Own"
    assert error["message"].count("é") == min(len(said), ERROR_MESSAGE_CHARACTERS)


@three_cases("secret_characters")
def test_characters_of_a_secret(project: Project, by: int) -> None:
    secret = "s" * (SECRET_CHARACTERS - by)
    project.handler("", answer="ok(len(request['secret_handles']['key']['value']))", secrets={"key": "KEY"})
    path = project.write("secrets.json", {"protocol": "touba-secrets-v1", "secrets": {"KEY": {"value": secret}}})
    path.chmod(0o600)
    done = project.call("--secrets=secrets.json", program=calling(secrets=["key"]))
    if by <= 0:
        assert done.document["result"] == len(secret)
    else:
        assert f"fewer than {SECRET_CHARACTERS} characters" in done.refused("SecretTooShort", 4)
        assert secret not in done.stdout.decode() + done.stderr


@three_cases("memory_statements")
def test_statements_about_memories(by: int) -> None:
    """What the SDK writes, the runtime reads: the same figure at both ends."""
    assert (MAX_STATEMENTS, OPERATIONS, SCOPES) == (MEMORY_STATEMENTS, MEMORY_OPERATIONS, MEMORY_SCOPES)
    statements = [{"memory_ref": "memory:app/Notes", "operation": "read"}] * (MEMORY_STATEMENTS + by)
    answer = {"protocol": "touba-tool-response-v1", "ok": True, "value": 1, "memory_metadata": statements}
    fault = check_document("touba-tool-response-v1", answer)
    if by <= 0:
        assert fault is None
        assert len(create_tool_result(1, statements).memory_metadata) == len(statements)
        return
    assert fault is not None
    assert f"{MEMORY_STATEMENTS}" in str(fault)
    with pytest.raises(MemoryMetadataInvalid, match=f"{MEMORY_STATEMENTS} are allowed"):
        create_tool_result(1, statements)


def told(capsys: pytest.CaptureFixture[str], say: Any) -> list[dict[str, Any]]:
    """The lines that a handler tells while it works."""

    def run(request: Any, context: Any) -> None:
        say(context)

    served(b'{"protocol":"touba-tool-request-v1","tool_ref":"tool:app/Tool","arguments":{}}', run)
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


@three_cases("progress_lines")
def test_lines_of_a_call(capsys: pytest.CaptureFixture[str], by: int) -> None:
    def say(tell: Any) -> None:
        for number in range(context.MAX_LINES + by):
            tell.log(str(number))

    lines = told(capsys, say)
    assert [each["message"] for each in lines[: context.MAX_LINES + by]][:-1] == [
        str(number) for number in range(context.MAX_LINES + by - 1)
    ]
    assert ("left out" in lines[-1]["message"]) == (by > 0)
    assert len(lines) == context.MAX_LINES + by


@three_cases("progress_characters")
def test_characters_of_a_line(capsys: pytest.CaptureFixture[str], by: int) -> None:
    length = context.MAX_LINE_CHARACTERS + by
    (line,) = told(capsys, lambda tell: tell.progress("é" * length))
    assert line["message"] == "é" * min(length, context.MAX_LINE_CHARACTERS)


@three_cases("error_code_characters")
def test_characters_of_a_code(project: Project, by: int) -> None:
    code = "C" * (100 + by)
    if by > 0:
        with pytest.raises(ValueError, match="at most 100"):
            ToubaHandlerError(code, "no")
        return
    project.handler("", answer=f"failed({ToubaHandlerError(code, 'no').code!r})")
    assert project.call().error["code"] == code


# --- standard error ---------------------------------------------------------------------------------------------------


def relayed(*parts: bytes) -> bytes:
    sent: list[bytes] = []
    relay = Relay([], sent.append)
    for part in parts:
        relay.feed(part)
    relay.close()
    return b"".join(sent)


@three_cases("stderr_forwarded_bytes")
def test_bytes_of_standard_error_that_are_forwarded_at_once(by: int) -> None:
    lines = b"x" * 1_023 + b"\n"
    written = lines * (STDERR_FORWARDED_BYTES // 1_024 - 1) + b"y" * (1_023 + by) + b"\n"
    assert len(written) == STDERR_FORWARDED_BYTES + by
    sent: list[bytes] = []
    relay = Relay([], sent.append)
    for at in range(0, len(written), 1 << 16):
        relay.feed(written[at : at + (1 << 16)])
    at_once = b"".join(sent)
    relay.close()
    assert b"".join(sent) == written  # the rest is so short that all of it is its end
    assert (at_once == written) == (by <= 0)


@three_cases("stderr_tail_bytes")
def test_bytes_of_the_end_of_standard_error(by: int) -> None:
    """Behind what was forwarded at once, so much is kept; one byte more, and the first line of it is left out."""
    lines = b"z" * 63 + b"\n"
    tail = lines * (STDERR_TAIL_BYTES // 64 - 1) + b"z" * (63 + by) + b"\n"
    assert len(tail) == STDERR_TAIL_BYTES + by
    first = b"x" * (STDERR_FORWARDED_BYTES - 1) + b"\n"
    found = relayed(first, tail)
    if by <= 0:
        assert found == first + tail
    else:
        assert found == first + "… 64 bytes were left out\n".encode() + tail[64:]
