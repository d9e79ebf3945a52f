"""Every way in which a handler can misbehave: a real process, called by a real run, and one line in docs/errors.md.

`FAULTS` has a row for each. The table "handler faults" of the page has the same rows, with the code that the program
gets and with what is known of the effect of a tool that writes.
"""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from tests.engine.support import Snapshot, leftovers
from touba_cli.errors import CODES
from touba_sdk import ToubaEngine
from touba_sdk.errors import RuntimeFailure

SECRET = "s3cret-of-the-bank"

PROGRAM = """\
module app

tool Do
    takes n as Int
    gives Text
    secret bank
    effect EFFECT

strategy Run
    takes n as Int
    gives Text
    do
        give call Do(n)
"""

#: what a script begins and ends with where it uses the SDK
HEAD = """\
import os, signal, subprocess, sys, threading, time
from touba_sdk import ToubaHandlerError, create_tool_result, define_tool
"""
TAIL = """
define_tool(tool_ref="tool:app/Do", input_signature=[{"name": "n", "type_ref": "Int"}], run=run)
"""
#: and where it does not
PLAIN = """\
import json, os, signal, subprocess, sys, time
request = json.loads(sys.stdin.buffer.read())
def answer(value):
    return json.dumps({"protocol": "touba-tool-response-v1", "ok": True, "value": value})
"""


def sdk(body: str) -> str:
    return HEAD + "def run(request, context):\n" + "".join(f"    {line}\n" for line in body.splitlines()) + TAIL


def plain(body: str) -> str:
    return PLAIN + body + "\n"


#: what the handler does → script, code (None: the call succeeds), effect of a write ("none" "done" "unknown")
FAULTS: dict[str, tuple[str, str | None, str]] = {
    # with the SDK
    "prints": (sdk("print('noise')\nreturn 'fine'"), None, "done"),
    "writes to descriptor 1": (sdk("os.write(1, b'noise')\nos.system('echo noise')\nreturn 'fine'"), None, "done"),
    "reads descriptor 0": (sdk("assert os.read(0, 10) == b'' and sys.stdin.read() == ''\nreturn 'fine'"), None, "done"),
    "closes its standard streams": (
        sdk("sys.stdout.close()\nfor n in (0, 1, 2): os.close(n)\nreturn 'fine'"), None, "done"),
    "leaves threads running": (sdk("threading.Thread(target=time.sleep, args=(60,)).start()\nreturn 'fine'"), None, "done"),
    "forks, and the copy returns, too": (
        sdk("child = os.fork()\nif child: os.waitpid(child, 0)\nreturn 'fine' if child else 'copy'"), None, "done"),
    "leaves a process behind that holds its output": (
        sdk("subprocess.Popen(['sleep', '60'], start_new_session=True)\nreturn 'fine'"), None, "done"),
    "raises an exception": (sdk("raise KeyError('noise')"), "ToolHandlerFailed", "unknown"),
    "calls `sys.exit`": (sdk("sys.exit(0)"), "ToolHandlerFailed", "unknown"),
    "calls `os._exit`": (sdk("os._exit(0)"), "ToolExited", "unknown"),
    "fails while it is imported": (HEAD + "raise RuntimeError('noise')\n", "ToolExited", "unknown"),
    "answers 10 MB": (sdk("return 'x' * 10_000_000"), "ToolResponseTooLarge", "unknown"),
    "gives NaN": (sdk("return float('nan')"), "ToolResultInvalid", "unknown"),
    "gives what has no wire form": (sdk("return {'a', 'b'}"), "ToolResultInvalid", "unknown"),
    "gives a value of the wrong type": (sdk("return 5"), "ToolResultInvalid", "unknown"),
    "serves another tool": (sdk("return 'fine'").replace("tool:app/Do", "tool:app/Other"), "ToolRefMismatch", "none"),
    "requires a grant that the tool does not": (
        sdk("return 'fine'").replace("run=run)", "run=run, required_grants=['network'])"), "HandlerRefused", "none"),
    "declares other inputs than the tool": (sdk("return 'fine'").replace('"n"', '"m"'), "HandlerRefused", "none"),
    "dies by a signal": (sdk("os.kill(os.getpid(), signal.SIGKILL)"), "ToolExited", "unknown"),
    "works past its limit": (sdk("time.sleep(60)"), "ToolTimeout", "unknown"),
    "works past its limit and ignores the request to end": (
        sdk("signal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(60)"), "ToolTimeout", "unknown"),
    "gives a secret": (sdk("return 'it is ' + context.secret('bank')"), "SecretLeak", "done"),
    "names a memory that the tool does not declare": (
        sdk("return create_tool_result('fine', [{'memory_ref': 'memory:app/Past', 'operation': 'read'}])"),
        "MemoryNotDeclared", "done"),
    "gives malformed metadata of memories": (
        sdk("return create_tool_result('fine', [{'memory_ref': 'Past', 'operation': 'read'}])"),
        "MemoryMetadataInvalid", "unknown"),
    # without it
    "without the SDK: prints around its answer": (plain("print('noise')\nprint(answer('fine'))"), "ToolResponseInvalid", "unknown"),
    "without the SDK: answers twice": (plain("print(answer('fine'))\nprint(answer('fine'))"), "ToolResponseInvalid", "unknown"),
    "without the SDK: answers no JSON": (plain("print('fine')"), "ToolResponseInvalid", "unknown"),
    "without the SDK: answers NaN": (plain("print(answer(float('nan')))"), "ToolResponseInvalid", "unknown"),
    "without the SDK: answers in another shape": (plain("print('{\"ok\": true, \"value\": 1}')"), "ToolResponseInvalid", "unknown"),
    "without the SDK: answers 10 MB": (plain("print(answer('x' * 10_000_000))"), "ToolResponseTooLarge", "unknown"),
    "without the SDK: ends without an answer": (plain("sys.exit(3)"), "ToolExited", "unknown"),
    "without the SDK: closes its output and goes on": (
        plain("sys.stdout.close()\nos.close(1)\ntime.sleep(60)"), "ToolExited", "unknown"),
    "without the SDK: dies in the middle of its answer": (
        plain("sys.stdout.write(answer('fine')[:20])\nsys.stdout.flush()\nos.kill(os.getpid(), signal.SIGKILL)"),
        "ToolExited", "unknown"),
    "without the SDK: reads no request": ("import time\ntime.sleep(60)\n", "ToolTimeout", "unknown"),
    "without the SDK: answers and goes on": (
        plain("print(answer('fine'))\nsys.stdout.close()\nos.close(1)\ntime.sleep(60)"), None, "done"),
    "without the SDK: answers, then ends with an exit code": (plain("print(answer('fine'))\nsys.exit(9)"), None, "done"),
    "without the SDK: gives malformed metadata of memories": (
        plain("print(answer('fine')[:-1] + ', \"memory_metadata\": [{}]}')"), "ToolResponseInvalid", "unknown"),
    "without the SDK: gives a secret in an answer of another shape": (
        plain("print(json.dumps({'ok': True, request['secret_handles']['bank']['value']: 1}))"), "SecretLeak", "unknown"),
    "without the SDK: gives a secret": (
        plain("print(answer(request['secret_handles']['bank']['value']))"), "SecretLeak", "done"),
}  # fmt: skip


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("faults")
    for effect in ("read", "write"):
        (folder / f"{effect}.tb").write_text(PROGRAM.replace("EFFECT", effect), "utf-8")
    secrets = {"protocol": "touba-secrets-v1", "secrets": {"BANK": {"value": SECRET}}}
    (folder / "secrets.json").write_text(json.dumps(secrets), "utf-8")
    (folder / "secrets.json").chmod(0o600)
    with ToubaEngine(project_root=folder) as engine:
        for effect in ("read", "write"):
            (folder / f"{effect}.air.json").write_text(engine.compile(f"{effect}.tb").air_json, "utf-8")
    return folder


def call(project: Path, number: int, script: str, effect: str, timeout_ms: int) -> Any:
    (project / f"h{number}.py").write_text(script, "utf-8")
    binding = {
        "handler": {"kind": "process", "command": ["python", f"h{number}.py"]}, "secrets": {"bank": "BANK"},
        "limits": {"timeout_ms": timeout_ms},
    }  # fmt: skip
    manifest = {"protocol": "touba-manifest-v1", "tools": {"tool:app/Do": binding}}
    (project / f"m{number}.json").write_text(json.dumps(manifest), "utf-8")
    with ToubaEngine(project_root=project) as engine:
        return engine.run(air=f"{effect}.air.json", manifest=f"m{number}.json", secrets="secrets.json", inputs={"n": 7})


def tool_end(trace: Any) -> dict[str, Any]:
    found = [event["data"] for event in trace["events"] if event["kind"] == "tool_completed"]
    assert len(found) == 1
    return dict(found[0])


@pytest.mark.parametrize("name", FAULTS)
def test_scenario_20_handler_hygiene_has_one_code_and_one_effect(project: Path, name: str) -> None:
    script, code, effect = FAULTS[name]
    before = Snapshot()
    started = time.monotonic()
    number = list(FAULTS).index(name)
    timeout_ms = 700 if code == "ToolTimeout" else 30_000
    if code is None:
        run = call(project, number, script, "write", timeout_ms)
        assert run.result == "fine"
        assert tool_end(run.trace) == {"outcome": "committed"}
    else:
        with pytest.raises(RuntimeFailure) as raised:
            call(project, number, script, "write", timeout_ms)
        error = raised.value
        assert (error.code, error.details.effect, error.details.ref) == (code, effect, "tool:app/Do")
        outcome = {"none": "failed", "done": "committed", "unknown": "unknown"}[effect]
        assert tool_end(error.details.trace) == {"outcome": outcome, "code": code}
        shown = str(error) + repr(error) + repr(error.details) + (error.details.stderr or "")
        assert SECRET not in shown + json.dumps(error.details.trace)
        assert "noise" not in str(error) + json.dumps(error.details.trace)
    assert time.monotonic() - started < 30, "it was waited for a handler that sleeps a minute"
    assert leftovers(before, []) == []


@pytest.mark.parametrize("name", ["raises an exception", "gives a secret", "without the SDK: answers no JSON"])
def test_what_only_reads_has_no_effect_in_doubt(project: Path, name: str) -> None:
    script, code, _ = FAULTS[name]
    with pytest.raises(RuntimeFailure) as raised:
        call(project, 100 + list(FAULTS).index(name), script, "read", 30_000)
    assert (raised.value.code, raised.value.details.effect) == (code, "none")


def test_the_page_has_one_line_for_each(repository: Path) -> None:
    page = (repository / "docs" / "errors.md").read_text("utf-8")
    section = page.partition("## Handler faults\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", section, re.MULTILINE)[2:]
    expected = [
        (name, f"`{code}`" if code else "none: the call succeeds", effect) for name, (_, code, effect) in FAULTS.items()
    ]
    assert rows == expected
    assert {code for _, code, _ in FAULTS.values() if code} <= set(CODES)


# What the messages say


def message(project: Path, name: str) -> str:
    script, code, _ = FAULTS[name]
    timeout_ms = 300 if code == "ToolTimeout" else 30_000
    with pytest.raises(RuntimeFailure) as raised:
        call(project, 200 + list(FAULTS).index(name), script, "write", timeout_ms)
    return str(raised.value)


def test_messages_say_where_and_what_to_do(project: Path) -> None:
    found = message(project, "raises an exception")
    assert re.search(r"raised KeyError at h\d+\.py:4; its traceback is on standard error", found)
    assert re.search(r"python h\d+\.py < request\.json", found)
    assert "signal SIGKILL" in message(project, "dies by a signal")
    assert "exit code 3" in message(project, "without the SDK: ends without an answer")
    assert "print only to standard error" in message(project, "without the SDK: prints around its answer")
    assert "$: expected a text, found a whole number" in message(project, "gives a value of the wrong type")
    assert "8388608 bytes" in message(project, "without the SDK: answers 10 MB")
    assert "a memory is named that the tool does not declare; it declares no memory" in message(
        project, "names a memory that the tool does not declare"
    )
    assert "memory_metadata[0].memory_ref" in message(project, "gives malformed metadata of memories")
