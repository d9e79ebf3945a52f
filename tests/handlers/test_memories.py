"""Memories: what a handler is told of them, what it may say of them, and what the trace keeps of that."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.shell_kit import Project
from touba_sdk import ToubaEngine
from touba_sdk.errors import AdmissionError, RuntimeFailure, UsageError

CANARY = "ada-lovelace-4711"

PROGRAM = """\
module app

type Customer
    name as Text length 1 to 20

type Preference
    customer as Customer
    channel as Text

memory Preferences
    holds Preference
    key customer.name
    scope SCOPE

memory Total
    holds Int
    scope run

tool Keep
    takes name as Text
    gives Text
    reads memory Preferences, Total
    writes memory Preferences
    effect write

tool Look
    takes name as Text
    gives Text

strategy Run
    takes name as Text
    gives Text
    do
        give call Keep(name)

strategy Plain
    takes name as Text
    gives Text
    do
        give call Look(name)
"""

HANDLER = """\
import json
from touba_sdk import create_tool_result, define_tool

def run(request, context):
    return create_tool_result(json.dumps(context.resources), json.loads(STATEMENTS))

define_tool(tool_ref="tool:app/TOOL", input_signature=[{"name": "name", "type_ref": "Text"}], run=run)
"""

Call = Callable[..., Any]


@pytest.fixture
def call(tmp_path: Path) -> Call:
    """Run the program: ``call(*statements, scope=…, tool=…, **options)``."""

    def run(*statements: dict[str, Any], scope: str = "project", tool: str = "Keep", **options: Any) -> Any:
        (tmp_path / "app.tb").write_text(PROGRAM.replace("SCOPE", scope))
        script = HANDLER.replace("STATEMENTS", repr(json.dumps(statements))).replace("TOOL", tool)
        (tmp_path / "handler.py").write_text(script)
        binding = {"handler": {"kind": "process", "command": ["python", "handler.py"]}}
        manifest = {"protocol": "touba-manifest-v1", "tools": {f"tool:app/{tool}": binding}}
        (tmp_path / "manifest.json").write_text(json.dumps(manifest))
        entry = "strategy:app/Run" if tool == "Keep" else "strategy:app/Plain"
        engine = ToubaEngine(project_root=tmp_path)
        return engine.run(
            source="app.tb", entry_ref=entry, inputs={"name": CANARY}, manifest="manifest.json", **options
        )

    return run


def said(ref: str, operation: str, **more: Any) -> dict[str, Any]:
    return {"memory_ref": f"memory:app/{ref}", "operation": operation, **more}


def ends(trace: Any) -> list[dict[str, Any]]:
    return [event["data"] for event in trace["events"] if event["kind"] == "tool_completed"]


def test_what_a_tool_declares_is_taken_and_traced_without_keys(call: Call) -> None:
    run = call(
        said("Preferences", "write", key=CANARY, scope="project", at="2026-01-31"),
        said("Preferences", "read", key=CANARY),
        said("Preferences", "read", key="bob"),
        said("Total", "read", scope="run"),
    )
    assert ends(run.trace) == [
        {
            "outcome": "committed",
            "memories": [said("Preferences", "read"), said("Preferences", "write"), said("Total", "read")],
        }
    ]
    assert CANARY not in json.dumps(run.trace)


def test_a_handler_is_told_which_memories_it_may_use(call: Call) -> None:
    assert json.loads(call().result) == {
        "memory:app/Preferences": {"operations": ["read", "write"], "scope": "project"},
        "memory:app/Total": {"operations": ["read"], "scope": "run"},
    }
    assert ends(call().trace) == [{"outcome": "committed"}]
    owned = json.loads(call(scope="owner", owner=CANARY).result)
    assert owned["memory:app/Preferences"] == {"operations": ["read", "write"], "scope": "owner", "owner": CANARY}
    assert owned["memory:app/Total"] == {"operations": ["read"], "scope": "run"}
    assert json.loads(call(tool="Look").result) == {}


@pytest.mark.parametrize(
    ("statements", "fault"),
    [
        (
            [said("Total", "read"), said("Total", "write")],
            "[1]: the tool does not declare that it writes memory:app/Total",
        ),
        (
            [said("Lovelace4711", "read")],
            "[0]: a memory is named that the tool does not declare; it declares memory:app/Preferences, memory:app/Total",
        ),
        ([said("Preferences", "read", scope="run")], "[0]: the scope of memory:app/Preferences is `project`"),
        ([said("Total", "read", key=CANARY)], "[0]: memory:app/Total has no key"),
        ([said("Preferences", "read", key=5)], "[0]: no key of memory:app/Preferences: key: expected a text"),
        ([said("Preferences", "read", key=CANARY * 2)], "[0]: no key of memory:app/Preferences: key: "),
        ([said("Preferences", "read", key=None)], "[0]: no key of memory:app/Preferences: key: expected a text"),
    ],
)
def test_what_is_not_as_declared_fails_the_call(call: Call, statements: list[dict[str, Any]], fault: str) -> None:
    with pytest.raises(RuntimeFailure) as raised:
        call(*statements)
    error = raised.value
    assert (error.code, error.details.ref, error.details.effect) == ("MemoryNotDeclared", "tool:app/Keep", "done")
    assert f"memory_metadata{fault}" in str(error)
    shown = str(error) + json.dumps(error.details.trace)
    assert CANARY not in shown
    assert "Lovelace4711" not in shown
    assert ends(error.details.trace) == [{"outcome": "committed", "code": "MemoryNotDeclared"}]


def test_a_tool_without_memories_may_name_none(call: Call) -> None:
    with pytest.raises(RuntimeFailure) as raised:
        call(said("Total", "read"), tool="Look")
    assert (raised.value.code, raised.value.details.effect) == ("MemoryNotDeclared", "none")
    assert "it declares no memory" in str(raised.value)


def test_a_memory_of_an_owner_needs_one(call: Call) -> None:
    with pytest.raises(AdmissionError) as raised:
        call(scope="owner")
    assert (raised.value.code, raised.value.details.ref) == ("OwnerMissing", "tool:app/Keep")
    assert "memory:app/Preferences" in str(raised.value)
    assert call(scope="owner", tool="Look").result == "{}", "a run that does not reach the tool needs no owner"


@pytest.mark.parametrize("owner", ["", "x" * 201, "two\nlines", "two\x85lines", "two\u2028lines", "\ud800"])
def test_an_owner_is_one_short_line(call: Call, owner: str) -> None:
    with pytest.raises(UsageError, match="owner"):
        call(scope="owner", owner=owner)
    for longest in ("x" * 200, "\U0001f600" * 200):
        assert json.loads(call(scope="owner", owner=longest).result)["memory:app/Preferences"]["owner"] == longest


def test_an_owner_at_a_terminal(call: Call, tmp_path: Path) -> None:
    call()
    project = Project(tmp_path)
    (tmp_path / "app.tb").write_text(PROGRAM.replace("SCOPE", "owner"))
    words = (
        "run",
        "app.tb",
        "--entry-ref=strategy:app/Run",
        '--inputs={"name": "a"}',
        "--manifest=manifest.json",
        "--json",
    )
    assert project.touba(*words).document["error"]["code"] == "OwnerMissing"
    document = project.touba(*words, "--owner=Zoë of accounts").document
    assert json.loads(document["result"])["memory:app/Preferences"]["owner"] == "Zoë of accounts"
    assert project.touba(*words, "--owner=").document["error"]["code"] == "OptionInvalid"
