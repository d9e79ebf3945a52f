"""What every call does with a runtime: request, environment, result. What a runtime may do wrong are the scenarios."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.engine.support import Driver, Fake, envelope, failed, out
from touba_sdk.errors import ToubaEngineError

Make = Callable[..., Fake]

READ = {"do": "read_line"}


def error_of(driver: Driver, fake: Fake, **options: Any) -> ToubaEngineError:
    with pytest.raises(ToubaEngineError) as raised:
        driver.run(fake, **options)
    return raised.value


def test_a_run_gives_its_result(driver: Driver, fake: Make) -> None:
    messages = [{"interaction_ref": "message:app/Main/1", "text": "hello"}]
    runtime = fake(READ, out(envelope(messages=messages, warnings=[{"code": "W", "message": "m"}])))
    run = driver.run(runtime)
    assert (run.run_id, run.status, run.reason, run.exit_code) == ("r1", "success", "completed", 0)
    assert run.result == run.value == {"total": "12.50"}
    assert [(each.interaction_ref, each.text) for each in run.messages] == [("message:app/Main/1", "hello")]
    assert run.pending_interaction is None
    assert run.pending_interactions == ()
    assert run.usage.steps == 1
    assert run.warnings[0].code == "W"


def test_a_stopped_run_is_a_result(driver: Driver, fake: Make) -> None:
    stopped = envelope(
        status="stopped", reason="stopped", exit_code=11, result=None, explanation={"ref": "app/Main", "text": "enough"}
    )
    run = driver.run(fake(READ, out(stopped), {"do": "exit", "code": 11}))
    assert (run.status, run.reason, run.exit_code, run.explanation.text) == ("stopped", "stopped", 11, "enough")


def test_a_check_has_a_life_line_and_tells_all_problems(driver: Driver, fake: Make) -> None:
    problem = {
        "code": "TB3001", "severity": "error", "title": "`x` is not known", "file": "program.tb", "line": 3,
        "column": 5, "end_line": 3, "end_column": 6, "label": "not known", "help": None, "candidates": ["y"],
        "fix": {"line": 3, "column": 5, "end_line": 3, "end_column": 6, "text": "y"},
        "related": [
            {"file": "b.tb", "line": 1, "column": 1, "end_line": 1, "end_column": 2, "label": "declared here"}
        ],
    }  # fmt: skip
    error = failed("CompileFailed", "compile", 3)["error"]
    runtime = fake(
        {"do": "record"},
        READ,
        out({"protocol": "touba-check-v1", "diagnostics": [problem], "not_run": [], "error": error}),
        {"do": "exit", "code": 3},
    )
    found = driver.call("check", "program.tb", engine=runtime.options())
    assert not found.ok
    assert found.diagnostics[0].related[0].label == "declared here"
    assert found.diagnostics[0].candidates == ("y",)
    assert str(found.diagnostics[0]) == "program.tb:3:5: TB3001 `x` is not known"
    assert runtime.record["argv"][:4] == ["check", "--attached", "--json", "--request=-"]


def test_the_request_is_one_line_and_the_life_line_stays_open(driver: Driver, fake: Make) -> None:
    canary = "c4n4ry-é"
    runtime = fake({"do": "record"}, READ, out(envelope()))
    driver.run(
        runtime,
        inputs={"secret": canary, "lines": [1, 2.5, None, True]},
        run_limits={"max_steps": 5},
        run_id="run.1",
        entry_ref="strategy:app/Main",
        strict_inputs=False,
        manifest=Path("m with blanks.json"),
    )
    record = runtime.record
    request = json.loads(runtime.request)
    assert runtime.request.count(b"\n") == 1
    assert request["protocol"] == "touba-run-request-v1"
    assert request["options"]["inputs"] == {"secret": canary, "lines": [1, 2.5, None, True]}
    assert request["options"]["run_limits"] == {"max_steps": 5}
    assert request["options"]["run_id"] == "run.1"
    assert record["argv"][:4] == ["run", "--attached", "--json", "--request=-"]
    kept = record["argv"].pop()
    assert record["argv"].pop().startswith("--cache-folder=/")
    assert re.fullmatch(r"--result-out=/.*/touba-result-[0-9a-f]{32}\.json", kept)
    assert set(record["argv"][4:]) == {
        f"--project-root={runtime.project}",
        "--source=program.tb",
        "--entry-ref=strategy:app/Main",
        "--no-strict-inputs",
        "--manifest=m with blanks.json",
    }
    assert record["cwd"] == str(runtime.project)
    assert canary not in json.dumps(record["argv"]) + json.dumps(record["env"])


def test_the_environment_is_the_applications_without_marks(
    driver: Driver, fake: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOUBA_HANDLER", "7")
    monkeypatch.setenv("TOUBA_CACHE_DIR", "/somewhere")
    runtime = fake({"do": "record"}, READ, out(envelope()))
    driver.run(runtime)
    assert "TOUBA_HANDLER" not in runtime.record["env"]
    assert runtime.record["env"]["TOUBA_CACHE_DIR"] == "/somewhere"
    driver.run(runtime, env={"ONLY": "this"})
    assert {name for name in runtime.record["env"] if not name.startswith(("LC_", "_"))} == {"ONLY"}


def test_a_process_that_closes_its_output_and_stays_is_ended(
    driver: Driver, fake: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("touba_sdk.engine.process.RUNTIME_CANCEL_MS", 300)
    runtime = fake(READ, out(envelope()), {"do": "close_out"}, {"do": "sleep", "seconds": 60})
    error = error_of(driver, runtime)
    assert (error.code, error.details.signal) == ("ExitContradicted", "SIGTERM")
    assert error.details.result.status == "success"


def test_a_stored_failure_of_a_killed_runtime_is_what_is_told(
    driver: Driver, fake: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("touba_sdk.engine.process.DEADLINE_SLACK_MS", 300)
    steps = [READ, out(failed("DeadlineExceeded", "runtime", 5)), {"do": "sleep", "seconds": 60}]
    error = error_of(driver, fake(*steps), run_limits={"deadline_ms": 500})
    assert error.code == "DeadlineExceeded"
