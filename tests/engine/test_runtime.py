"""The engines on the real runtime: source → AIR → process → handler → result."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.engine.support import Driver, alive, wait_for
from touba_sdk import AsyncToubaEngine
from touba_sdk.errors import AdmissionError, CompileError, RuntimeFailure, ToubaEngineError, UsageError

PROGRAM = """\
module app

strategy Review
    takes amount as Decimal
    gives Text
    do
        show "seen {amount}"
        if amount > 100.0
            stop "more than {amount}"
        require amount >= 0.0 else "negative: {amount}"
        give "ok {amount}"
"""

WRONG = """\
module wrong

strategy Review
    gives Int
    do
        give "text"
"""

ENDLESS = """\
module endless

strategy Review
    gives Int
    do
        var n = 0
        repeat up to 900_000_000 times
            set n = n + 1
        give n
"""

TOOL = """\
module tools

tool Ask
    takes question as Text
    gives Text
    effect read

strategy Review
    gives Text
    do
        let answer = call Ask("which python?")
        give answer
"""

HANDLER = """\
import json, os, sys, time
request = json.load(sys.stdin)
mode = open("mode").read()
with open("pids", "a") as file:
    file.write(f"{os.getpid()}\\n")
if mode == "sleep":
    time.sleep(60)
print(json.dumps({"protocol": "touba-tool-response-v1", "ok": True, "value": sys.executable}))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "a project é"
    folder.mkdir()
    for name, text in (("app.tb", PROGRAM), ("wrong.tb", WRONG), ("endless.tb", ENDLESS), ("tools.tb", TOOL)):
        (folder / name).write_text(text, "utf-8")
    (folder / "handler.py").write_text(HANDLER, "utf-8")
    (folder / "mode").write_text("answer", "utf-8")
    binding = {"handler": {"kind": "process", "command": ["python", "handler.py"]}}
    manifest = {"protocol": "touba-manifest-v1", "tools": {"tool:tools/Ask": binding}}
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    return folder


def call(driver: Driver, project: Path, method: str, *args: Any, **options: Any) -> Any:
    return driver.call(method, *args, engine={"project_root": project}, **options)


def error_of(driver: Driver, project: Path, *args: Any, **options: Any) -> ToubaEngineError:
    with pytest.raises(ToubaEngineError) as raised:
        call(driver, project, "run", *args, **options)
    return raised.value


def test_a_program_runs_from_source_to_result(driver: Driver, project: Path) -> None:
    run = call(driver, project, "run", "app.tb", inputs={"amount": Decimal("12.50")})
    assert (run.status, run.reason, run.exit_code, run.result) == ("success", "completed", 0, "ok 12.50")
    assert [message.text for message in run.messages] == ["seen 12.50"]
    assert run.usage.steps > 0
    assert run.trace["protocol"] == "touba-trace-v1"
    assert "12.50" not in json.dumps(run.trace)


def test_a_program_is_compiled_once_and_run_many_times(driver: Driver, project: Path) -> None:
    compiled = call(driver, project, "compile", "app.tb")
    assert json.loads(compiled.air_json) == compiled.air_document
    assert compiled.digest.startswith("sha256:")
    (project / "app.air.json").write_text(compiled.air_json, "utf-8")
    inputs = {"amount": 1}
    results = [
        call(driver, project, "run", air_json=compiled.air_json, inputs=inputs).result,
        call(driver, project, "run", air_json=compiled.air_document, inputs=inputs).result,
        call(driver, project, "run", air="app.air.json", inputs=inputs).result,
        call(driver, project, "run", source=project / "app.tb", inputs=inputs).result,
    ]
    assert results == ["ok 1"] * 4


def test_stop_is_a_result_and_require_a_failure(driver: Driver, project: Path) -> None:
    run = call(driver, project, "run", "app.tb", inputs={"amount": 101})
    assert (run.status, run.reason, run.exit_code, run.result) == ("stopped", "stopped", 11, None)
    assert run.explanation.text == "more than 101"
    error = error_of(driver, project, "app.tb", inputs={"amount": Decimal("-7.25")})
    assert (type(error), error.code, error.details.exit_code) == (RuntimeFailure, "RequirementFailed", 5)
    assert error.details.explanation is not None
    assert error.details.explanation.text == "negative: -7.25"
    assert error.details.trace is not None
    assert "7.25" not in str(error) + repr(error) + repr(error.details)


def test_errors_come_by_phase(driver: Driver, project: Path) -> None:
    found = call(driver, project, "check", "wrong.tb")
    assert not found.ok
    assert (found.diagnostics[0].file, found.diagnostics[0].line) == ("wrong.tb", 6)
    assert call(driver, project, "check", "app.tb").ok
    error = error_of(driver, project, "wrong.tb")
    assert (type(error), error.code, error.details.exit_code) == (CompileError, "CompileFailed", 3)
    assert error.details.diagnostics == found.diagnostics
    with pytest.raises(CompileError) as raised:
        call(driver, project, "compile", "wrong.tb")
    assert raised.value.details.diagnostics == found.diagnostics
    error = error_of(driver, project, "app.tb", inputs={"amount": "many"})
    assert (type(error), error.code) == (AdmissionError, "InputInvalid")
    assert "amount" in error.message
    assert "many" not in str(error)
    error = error_of(driver, project, "gone.tb")
    assert (type(error), error.code) == (UsageError, "FileUnreadable")
    error = error_of(driver, project, "endless.tb", run_limits={"max_steps": 1000})
    assert (type(error), error.code) == (RuntimeFailure, "StepLimitExceeded")


def test_the_deadline_is_the_runtimes(driver: Driver, project: Path) -> None:
    error = error_of(driver, project, "endless.tb", run_limits={"max_steps": 10**9, "deadline_ms": 300})
    assert (type(error), error.code) == (RuntimeFailure, "DeadlineExceeded")


def test_handlers_run_under_the_applications_interpreter(driver: Driver, project: Path) -> None:
    run = call(driver, project, "run", "tools.tb", manifest="manifest.json")
    assert run.result == sys.executable
    assert run.usage.external_calls == 1


@pytest.mark.parametrize("program", ["endless.tb", "tools.tb"])
def test_the_event_cancels_the_run(driver: Driver, project: Path, nothing_left: list[int], program: str) -> None:
    (project / "mode").write_text("sleep", "utf-8")
    cancel = threading.Event()

    def give_up() -> None:
        if program == "tools.tb":
            wait_for((project / "pids").exists, "the handler")
        else:
            time.sleep(0.3)
        cancel.set()

    setter = threading.Thread(target=give_up)
    setter.start()
    run = call(
        driver, project, "run", program, manifest="manifest.json", cancel=cancel, run_limits={"max_steps": 10**9}
    )
    setter.join()
    assert (run.status, run.reason, run.exit_code) == ("cancelled", "cancelled", 130)
    nothing_left += handlers(project)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_cancelled_scope_ends_the_handler_too(project: Path, nothing_left: list[int], backend: str) -> None:
    (project / "mode").write_text("sleep", "utf-8")

    async def main() -> list[int]:
        engine = AsyncToubaEngine(project_root=project)
        async with anyio.create_task_group() as group:

            async def work() -> None:
                await engine.run("tools.tb", manifest="manifest.json")

            group.start_soon(work)
            while not (project / "pids").exists():  # noqa: ASYNC110
                await anyio.sleep(0.005)
            group.cancel_scope.cancel()
        return [pid for pid in handlers(project) if alive(pid)]

    assert anyio.run(main, backend=backend) == []
    nothing_left += handlers(project)


def test_a_run_that_is_cancelled_at_once(project: Path) -> None:
    async def main() -> None:
        task = asyncio.create_task(AsyncToubaEngine(project_root=project).run("app.tb", inputs={"amount": 1}))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    cancel = threading.Event()
    cancel.set()
    run = Driver("sync").call("run", "endless.tb", engine={"project_root": project}, cancel=cancel)
    assert run.status == "cancelled"


def test_many_runs_leave_nothing(project: Path) -> None:
    compiled = call(Driver("sync"), project, "compile", "app.tb")
    for driver in (Driver("sync"), Driver("asyncio"), Driver("trio")):
        for number in range(5):
            run = call(driver, project, "run", air_json=compiled.air_json, inputs={"amount": number})
            assert run.result == f"ok {number}"


def handlers(project: Path) -> list[int]:
    path = project / "pids"
    return [int(line) for line in path.read_text("ascii").split()] if path.exists() else []
