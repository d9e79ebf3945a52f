"""The same program, inputs and answers give the same result, trace and digests in every process.

The programs run in processes that differ in everything that must not matter: hash seed, time zone, locale, folder,
umask and what else stands in their environment.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.shell_kit import ROOT, environment

PROGRAM = """\
module app

choice Grade
    High
    Low with reason as Text

type Line
    name as Text
    net as Decimal
    due as Date

type Report
    lines as List of Line
    words as Map of Int
    names as List of Text
    grade as Grade
    late as DateTime
    share as Float
    text as Text

tool Price
    takes name as Text, words as Map of Int
    gives Decimal

function Total
    takes lines as List of Line
    gives Decimal
    do
        give sum([line.net for line in lines])

skill Look
    takes name as Text, words as Map of Int
    gives Line
    do
        let price = call Price(name: name, words: words)
        require price > 0 else "{name} costs nothing"
        give Line(name: name, net: price / 3, due: date "2024-02-28" + 1 days)

strategy Main
    takes names as List of Text, start as DateTime
    gives Report
    do
        var lines as List of Line = []
        var words as Map of Int = {}
        for each name in unique(names)
            set words = merge(words, {name: length(name)})
            attempt
                let line = call Look(name: name, words: words)
                set lines = lines + [line]
            on failure as problem
                show "{name}: {problem.code}"
        give Report(
            lines: sorted(lines by .net descending), words: words, names: sorted(keys(words)),
            grade: Grade.Low(reason: "few"), late: start + 36 hours, share: 0.1f + 0.2f, text: "{Total(lines)} on {start}"
        )
"""

HANDLER = """\
import json, sys
from decimal import Decimal
arguments = json.loads(sys.stdin.buffer.read())["arguments"]
value = str(Decimal(len(arguments["name"])) / 10 - Decimal("0.4"))
print(json.dumps({"protocol": "touba-tool-response-v1", "ok": True, "value": value}))
"""

OPTIONS = {
    "inputs": {"names": ["ß", "Ελλάδα", "I", "ı", "Straße", "zwei", "i\u0307", "株式会社", "ß"], "start": "2026-03-29T01:30:00+01:00"},
    "run_id": "r",
    "trace_pure_functions": "full",
    "manifest": "manifest.json",
}  # fmt: skip

MANIFEST = {
    "protocol": "touba-manifest-v1",
    "tools": {"tool:app/Price": {"handler": {"kind": "process", "command": ["python", "price.py"]}}},
}

SURROUNDINGS: list[tuple[dict[str, str], int]] = [
    ({"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C"}, 0o022),
    ({"PYTHONHASHSEED": "1", "TZ": "Pacific/Kiritimati", "LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"}, 0o077),
    ({"PYTHONHASHSEED": "4294967295", "TZ": "America/St_Johns", "LC_ALL": "de_DE.ISO-8859-1", "COLUMNS": "20"}, 0o027),
    ({"PYTHONHASHSEED": "random", "TZ": "nonsense", "LC_ALL": "nonsense", "PYTHONIOENCODING": "latin-1"}, 0o022),
]

#: what says when something happened, and what hangs on it
TIMES = {"at", "started_at", "ended_at", "digest"}


def timeless(trace: dict[str, Any]) -> dict[str, Any]:
    """A trace without its times and without the digest that is taken over them; the chains do not hold times."""
    kept = {name: value for name, value in trace.items() if name not in TIMES}
    return {
        **kept,
        "events": [{name: value for name, value in each.items() if name != "at"} for each in trace["events"]],
    }


def touba(folder: Path, surroundings: tuple[dict[str, str], int], *words: str, request: Any = None) -> dict[str, Any]:
    variables, umask = surroundings
    done = subprocess.run(
        [sys.executable, "-m", "touba_cli", *words, "--json"],
        input=None if request is None else json.dumps(request).encode(),
        stdin=subprocess.DEVNULL if request is None else None,
        capture_output=True,
        cwd=folder,
        env={**environment({"PYTHONPATH": str(ROOT)}), **variables},
        umask=umask,
        timeout=60,
        check=False,
    )
    assert b"Traceback" not in done.stderr, done.stderr.decode("utf-8", "replace")
    found: dict[str, Any] = json.loads(done.stdout)
    assert words[0] != "run" or found["error"] is None, found["error"]
    return found


def project(folder: Path) -> Path:
    folder.mkdir()
    (folder / "app.tb").write_text(PROGRAM, "utf-8")
    (folder / "price.py").write_text(HANDLER, "utf-8")
    (folder / "manifest.json").write_text(json.dumps(MANIFEST), "utf-8")
    return folder


@pytest.mark.parametrize("pure", ["full", "calls"])
def test_runs_are_equal_in_result_trace_and_chains(tmp_path: Path, pure: str) -> None:
    found = []
    for number, surroundings in enumerate(SURROUNDINGS):
        folder = project(tmp_path / f"somewhere {number}")
        options = {**OPTIONS, "source": "app.tb", "trace_pure_functions": pure}
        request = {"protocol": "touba-run-request-v1", "sdk_version": "test", "options": options}
        envelope = touba(folder, surroundings, "run", "--request=-", request=request)
        envelope["trace"] = timeless(envelope["trace"])
        found.append(envelope)
    first = found[0]
    assert first["status"] == "success", first["error"]
    assert first["result"]["late"] == "2026-03-30T13:30:00+01:00"
    assert [each["text"] for each in first["messages"]] == [
        f"{name}: RequirementFailed" for name in ("ß", "I", "ı", "zwei", "i\u0307", "株式会社")
    ]
    kinds = {each["kind"] for each in first["trace"]["events"]}
    assert {"tool_invoked", "failure_caught", "message_shown", "call_completed", "run_completed"} <= kinds
    assert first["trace"]["chains"]
    for other in found[1:]:
        assert other == first


def test_runs_are_equal_with_and_without_the_cache(tmp_path: Path) -> None:
    folder = project(tmp_path / "project")
    request = {"protocol": "touba-run-request-v1", "sdk_version": "test", "options": {**OPTIONS, "source": "app.tb"}}
    found = []
    for words in (["--no-cache"], [], []):
        envelope = touba(folder, SURROUNDINGS[0], "run", "--request=-", *words, request=request)
        envelope["trace"] = timeless(envelope["trace"])
        found.append(envelope)
    assert found[0]["status"] == "success"
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("command", ["check", "compile"])
def test_the_compiler_says_the_same_everywhere(tmp_path: Path, command: str) -> None:
    wrong = (
        PROGRAM.replace("length(name)", "lenght(name)")
        .replace(".net descending", ".nett")
        .replace("High\n", "High\n    Low\n")
    )
    documents = []
    for number, surroundings in enumerate(SURROUNDINGS):
        folder = project(tmp_path / str(number))
        (folder / "wrong.tb").write_text(wrong, "utf-8")
        documents.append([touba(folder, surroundings, command, name) for name in ("app.tb", "wrong.tb")])
    assert [each["error"] is None for each in documents[0]] == [True, False]
    assert len(documents[0][1]["diagnostics"]) >= 3
    for other in documents[1:]:
        assert other == documents[0]


def test_the_main_example_is_equal_everywhere(tmp_path: Path) -> None:
    pytest.importorskip("defusedxml", reason="the main example needs defusedxml")
    words = [sys.executable, os.path.join(ROOT, "examples", "invoice_review", "run.py")]
    outputs = [
        subprocess.run(
            words,
            capture_output=True,
            cwd=tmp_path,
            env={**environment({"PYTHONPATH": str(ROOT)}), **variables},
            check=True,
        ).stdout
        for variables, _ in SURROUNDINGS[:2]
    ]
    assert b"BR-CO-15" in outputs[0]
    assert outputs[0] == outputs[1]
