"""Runs the cases of this folder through the command line: see README.md for their form."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.cases import CASES, HERE, Case
from touba_cli.air.program import read_program, write_program
from touba_cli.language.compiler import compile_program
from touba_cli.project.sources import ProjectSources

ROOT = HERE.parent.parent


def touba(folder: Path, *arguments: str, request: str | None = None) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "touba_cli", *arguments, "--json"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        input=None if request is None else request.encode(),
        stdin=subprocess.DEVNULL if request is None else None,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("path", CASES, ids=lambda path: str(path.relative_to(HERE).with_suffix("")))
def test_case(path: Path, tmp_path: Path) -> None:
    case = Case(path)
    case.write(tmp_path)
    found = touba(tmp_path, "check", case.entry)["diagnostics"]
    check_diagnostics(case, found)
    if not any(each["severity"] == "error" for each in found):
        # What the compiler makes, the verifier accepts.
        air = compile_program(ProjectSources(str(tmp_path)), case.entry).air
        assert air is not None
        assert read_program(write_program(air)).digest == air["digest"]
        assert air["requires"] == case.sections.get("expect requires", " ".join(air["requires"])).split()
    if case.runs:
        check_run(case, tmp_path)


def check_diagnostics(case: Case, found: list[dict[str, Any]]) -> None:
    expected = case.lines("expect check")
    shown = [f"{each['file']}:{each['line']}:{each['column']} {each['code']} {each['title']}" for each in found]
    assert len(shown) == len(expected), f"expected {expected}\nfound {shown}"
    for wanted, actual in zip(expected, shown, strict=True):
        place_and_code = " ".join(wanted.split(" ")[:2])
        assert actual == wanted or (place_and_code == wanted and actual.startswith(wanted + " ")), f"{wanted}\n{actual}"


def check_run(case: Case, folder: Path) -> None:
    # Inputs and options go as they are written: reading them here would lose the spelling of numbers.
    members = [] if "air" in case.document("options") else [f'"source": {json.dumps(case.entry)}']
    if "inputs" in case.sections:
        members.append(f'"inputs": {case.sections["inputs"]}')
    if "options" in case.sections:
        members.append(case.sections["options"].strip().removeprefix("{").removesuffix("}"))
    if "tools" in case.sections:
        members.append(f'"manifest": {json.dumps(bind_tools(case.document("tools"), folder))}')
    options = ", ".join(members)
    request = f'{{"protocol": "touba-run-request-v1", "sdk_version": "conformance", "options": {{{options}}}}}'
    envelope = touba(folder, "run", "--request=-", request=request)
    shown = json.dumps({key: value for key, value in envelope.items() if key != "trace"}, indent=1)
    if "expect result" in case.sections:
        assert envelope["status"] == "success", shown
        assert envelope["result"] == case.document("expect result"), shown
    outcome = case.lines("expect outcome")
    if outcome:
        assert f"{envelope['status']} {envelope['reason']}" == outcome[0], shown
        explanation = envelope["explanation"]["text"] if envelope["explanation"] else None
        assert explanation == ("\n".join(outcome[1:]) or None), shown
    if "expect error" in case.sections:
        assert case.sections["expect error"].strip() in envelope["error"]["message"], shown
    if "expect messages" in case.sections:
        assert [each["text"] for each in envelope["messages"]] == case.lines("expect messages"), shown
    if "expect trace" in case.sections:
        events = [f"{each['kind']} {each['ref']}" for each in envelope["trace"]["events"]]
        assert events == case.lines("expect trace"), shown


def bind_tools(answers: dict[str, Any], folder: Path) -> str:
    shutil.copy(HERE / "answer.py", folder / "answer.py")
    (folder / ".answers.json").write_text(json.dumps(answers), "utf-8")
    tools = {
        ref: {"handler": {"kind": "process", "command": ["python", "answer.py"]}, "grants": [], "secrets": {}}
        for ref in answers
    }
    (folder / "manifest.json").write_text(json.dumps({"protocol": "touba-manifest-v1", "tools": tools}), "utf-8")
    return "manifest.json"


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 500
