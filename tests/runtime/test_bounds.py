"""What a run keeps and does for a step has an end: messages, events, copies of records."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.machine_kit import callable_, program
from tests.shell_kit import Project, command, environment
from touba_cli.limits import MESSAGES_BYTES, TRACE_EVENTS
from touba_cli.runtime.events import verify_trace
from touba_cli.runtime.execution import GeneratedCode
from touba_cli.runtime.machine import Machine, RunLimits
from touba_cli.values.check import TypeTable
from touba_cli.values.model import Meter, depth_of, make_changed, make_list, make_record, size_of

MAIN = "strategy:app/Main"


def ran(found: Any, engine: str, **limits: int) -> Machine:
    """A run to its end, by the interpreter or by generated code."""
    table = TypeTable(found.types)
    code = GeneratedCode(found.callables, table, at_once=True)
    more = {"reference": True} if engine == "reference" else {"code": code}
    machine = Machine(found, table, MAIN, [], RunLimits(**limits), {}, **more)
    while machine.advance(20_000, lambda: None).outcome is None:
        pass
    return machine


ENGINES = pytest.mark.parametrize("engine", ["reference", "generated"])


def repeated(times: int, *instructions: list[Any], slots: list[Any], first: list[list[Any]]) -> dict[str, Any]:
    """A strategy that carries out instructions so often; the last slot counts."""
    counter = len(slots)
    start = len(first) + 1
    code = [*first, ["set", counter, ["int", times]], ["times", counter, start + len(instructions) + 2], *instructions]
    return callable_([*code, ["again", start, 0], ["give", ["int", 1]]], slots=[*slots, "Int"])


# --- messages ---------------------------------------------------------------------------------------------------------


@ENGINES
def test_a_shown_text_charges_by_its_length(engine: str) -> None:
    steps = []
    for length in (0, 16_000):
        show = ["show", 1, "show:app/Main/1", ["text", "x" * length]]
        found = program({MAIN: repeated(10, show, slots=[], first=[])})
        steps.append(ran(found, engine).usage.steps)
    assert steps[1] - steps[0] == 10 * 1_000


def test_messages_have_a_total_limit(tmp_path: Path) -> None:
    project = Project(tmp_path)
    text = "x" * 500_000
    project.write(
        "app.tb",
        "module app\n\nstrategy Main\n    gives Int\n    do\n        repeat up to 200000 times\n"
        f'            show "{text}"\n        give 1\n',
    )
    limits = '--run-limits={"max_steps":1000000000}'
    done = project.touba("run", "app.tb", limits, "--json")
    assert str(MESSAGES_BYTES) in done.refused("MessagesTooLarge", 5)
    assert len(done.document["messages"]) == MESSAGES_BYTES // (500_000 + 2 + 64 + len("show:app/Main/1"))


def test_a_document_that_cannot_be_written_becomes_a_short_failure(tmp_path: Path) -> None:
    # Two messages fit into memory; the document around them does not.
    project = Project(tmp_path)
    project.write(
        "app.tb",
        "module app\n\nstrategy Main\n    gives Int\n    do\n        repeat up to 60 times\n"
        f'            show "{"x" * 500_000}"\n        give 1\n',
    )
    words = command("run", "app.tb", "--json")
    script = (
        "import runpy, sys\nsys.path.insert(0, sys.argv[1])\nimport touba_cli.runtime.envelope as envelope\n"
        "encode = envelope.encode\n"
        "def limited(value):\n"
        "    if isinstance(value, dict) and value.get('messages'):\n        raise MemoryError\n"
        "    return encode(value)\n"
        "envelope.encode = limited\nsys.argv = ['touba', *sys.argv[2:]]\nfrom touba_cli.__main__ import main\nmain()\n"
    )
    root = str(Path(__file__).resolve().parents[2])
    started = [words[0], "-c", script, root, *words[words.index("run") :]]
    done = subprocess.run(started, capture_output=True, cwd=tmp_path, env=environment(), check=False)
    assert done.returncode == 7
    assert b'"InternalError"' in done.stdout
    assert b"its effects stand" in done.stdout
    assert b'"steps":0' not in done.stdout


# --- events -----------------------------------------------------------------------------------------------------------


def test_a_trace_holds_so_many_calls_and_every_end(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write(
        "app.tb",
        "module app\n\nskill Inner\n    gives Int\n    do\n        give 1\n\n"
        "skill Outer\n    gives Int\n    do\n        let a = call Inner()\n        give a\n\n"
        "strategy Main\n    gives Int\n    do\n        repeat up to 15000 times\n            call Outer()\n"
        '        show "end"\n        fail "over"\n',
    )
    done = project.touba("run", "app.tb", "--json")
    done.refused("BusinessFailure", 5)
    trace = done.document["trace"]
    verify_trace(trace)
    kinds = [event["kind"] for event in trace["events"]]
    assert kinds.count("call_started") == kinds.count("call_completed") == TRACE_EVENTS // 2
    assert (kinds[0], kinds[-1], len(kinds)) == ("run_started", "run_failed", TRACE_EVENTS + 2)
    warning = next(each for each in done.document["warnings"] if each["code"] == "TraceShortened")
    assert f" {30_000 - TRACE_EVENTS // 2 + 1} more " in warning["message"]
    assert [each["text"] for each in done.document["messages"]] == ["end"]


# --- copies of records ------------------------------------------------------------------------------------------------


def wide(fields: int) -> Any:
    types = {
        "type:app/Wide": {
            "kind": "record", "fields": [{"name": f"f{number}", "type": "Int"} for number in range(fields)],
        }
    }  # fmt: skip
    record = ["record", "type:app/Wide", [["int", number] for number in range(fields)]]
    change = ["set", 0, ["with", ["slot", 0], [["f0", ["int", 7]]]]]
    return program({MAIN: repeated(50, change, slots=["type:app/Wide"], first=[["set", 0, record]])}, types=types)


@ENGINES
def test_a_changed_record_charges_its_fields(engine: str) -> None:
    steps = [ran(wide(fields), engine).usage.steps for fields in (1, 101)]
    assert steps[1] - steps[0] == 100 + 50 * 100  # the record, and 50 copies


@ENGINES
def test_the_budget_ends_at_the_same_copy(engine: str) -> None:
    machine = ran(wide(100), engine, max_steps=2_000)
    assert 1_900 < machine.usage.steps <= 2_000
    reference = ran(wide(100), "reference", max_steps=2_000)
    assert machine.usage.steps == reference.usage.steps


def test_size_and_depth_of_a_changed_record_are_those_of_a_new_one() -> None:
    meter = Meter(1 << 40, 1 << 30)
    flat: Any = 1
    deep: Any = 1
    for _ in range(3):
        deep = make_list(meter, (deep,))
    parts = {"flat": flat, "text": "caf\u00e9", "deep": deep, "list": make_list(meter, (1, 2))}
    for before in ({"a": one, "b": two} for one in parts.values() for two in parts.values()):
        record = make_record(meter, "type:app/R", before)
        for after in parts.values():
            for changes in ({"a": after}, {"b": after}, {"a": after, "b": after}):
                changed = make_changed(meter, record, changes)
                expected = make_record(meter, "type:app/R", {**before, **changes})
                assert (changed.size, changed.depth) == (expected.size, expected.depth)
                assert list(changed.fields) == ["a", "b"]
                assert record.fields == before
    assert size_of(deep) > size_of(flat)
    assert depth_of(deep) == 3
