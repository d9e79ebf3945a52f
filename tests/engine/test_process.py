"""Both engines against the fake runtime: what a runtime may do, and what the call then gives."""

from __future__ import annotations

import json
import re
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.engine.support import CANCELLED, Driver, Fake, alive, envelope, failed, out, text
from touba_cli.limits import ENVELOPE_BYTES, STDERR_TAIL_BYTES
from touba_sdk.errors import AdmissionError, LaunchError, ToubaEngineError, TransportError, UsageError

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


def test_check_and_compile_end_their_input(driver: Driver, fake: Make) -> None:
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
        {"do": "read_all"},
        out({"protocol": "touba-check-v1", "diagnostics": [problem], "error": error}),
        {"do": "exit", "code": 3},
    )
    found = driver.call("check", "program.tb", engine=runtime.options())
    assert not found.ok
    assert found.diagnostics[0].related[0].label == "declared here"
    assert found.diagnostics[0].candidates == ("y",)
    assert str(found.diagnostics[0]) == "program.tb:3:5: TB3001 `x` is not known"
    assert "--attached" not in runtime.record["argv"]


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


def test_a_flood_on_standard_error_is_drained_and_bounded(driver: Driver, fake: Make) -> None:
    flood = {"do": "err", "text": "0123456789abcdef" * 1024, "times": 320}  # 5 MiB
    assert driver.run(fake(READ, flood, out(envelope()))).status == "success"
    error = error_of(driver, fake(READ, flood, {"do": "err", "text": "the end"}, {"do": "exit", "code": 9}))
    assert error.code == "RuntimeCrashed"
    assert error.details.stderr is not None
    assert len(error.details.stderr) == STDERR_TAIL_BYTES
    assert error.details.stderr.endswith("the end")


def test_large_documents_arrive_whole(driver: Driver, fake: Make) -> None:
    large = "ä" * (4 << 20)
    run = driver.run(fake(READ, out(envelope(result=[large, large]))))
    assert run.result == [large, large]


def test_a_document_past_the_limit_is_refused_and_the_runtime_ended(driver: Driver, fake: Make) -> None:
    endless = {"do": "out", "text": "x" * (1 << 20), "times": 34}
    error = error_of(driver, fake(READ, endless, {"do": "sleep", "seconds": 60}))
    assert error.code == "InvalidEnvelope"
    assert str(ENVELOPE_BYTES) in error.message


def test_request_and_answer_pass_each_other(driver: Driver, fake: Make) -> None:
    big = "é" * (2 << 20)
    runtime = fake({"do": "err", "text": "e" * (1 << 20)}, READ, out(envelope()))
    assert driver.run(runtime, inputs={"big": big}).status == "success"
    assert json.loads(runtime.request)["options"]["inputs"] == {"big": big}


@pytest.mark.parametrize("drip", [True, False])
def test_any_split_gives_the_same(driver: Driver, fake: Make, drip: bool) -> None:
    odd = "blanks   \u2028\u2029\u0085\f\r\r\n\t 漢字 😀"
    document = text(envelope(result=odd))
    step = {"do": "drip" if drip else "out", "text": document}
    assert driver.run(fake(READ, step)).result == odd


NOISE = {
    "log line in front": "starting…\n" + text(envelope()),
    "brace in front": "{not json}\n" + text(envelope()),
    "byte-order mark": "\ufeff" + text(envelope()),
    "log line behind": text(envelope()) + "done\n",
    "two documents": text(envelope()) * 2,
    "cut": text(envelope())[:-9],
    "nothing": "",
    "blank line behind": text(envelope()) + "\n",
}


@pytest.mark.parametrize("name", NOISE)
def test_anything_around_the_document_is_an_error(driver: Driver, fake: Make, name: str) -> None:
    error = error_of(driver, fake(READ, {"do": "out", "text": NOISE[name]}))
    assert (type(error), error.code, error.details.exit_code) == (TransportError, "InvalidEnvelope", 0)
    assert "12.50" not in str(error)
    assert (error.details.output or b"") == NOISE[name].encode()[:2000]


def test_bytes_that_are_not_utf8(driver: Driver, fake: Make) -> None:
    document = text(envelope(result="X")).encode().replace(b'"X"', b'"\xff\xfe"')
    error = error_of(driver, fake(READ, {"do": "out", "hex": document.hex()}))
    assert error.code == "InvalidEnvelope"
    error = error_of(
        driver, fake(READ, {"do": "err", "hex": b"caf\xe9".hex()}, out(failed()), {"do": "exit", "code": 4})
    )
    assert (error.code, error.details.stderr) == ("InputInvalid", "caf\ufffd")


MATRIX: dict[str, tuple[list[dict[str, Any]], str, int | None, str | None]] = {
    "none, exit 0": ([{"do": "exit", "code": 0}], "InvalidEnvelope", 0, None),
    "none, exit 1": ([{"do": "exit", "code": 1}], "RuntimeCrashed", 1, None),
    "none, signal": ([{"do": "signal", "number": int(signal.SIGKILL)}], "RuntimeCrashed", None, "SIGKILL"),
    "bad, exit 0": ([{"do": "out", "text": "{"}, {"do": "exit", "code": 0}], "InvalidEnvelope", 0, None),
    "bad, exit 1": ([{"do": "out", "text": "{"}, {"do": "exit", "code": 1}], "InvalidEnvelope", 1, None),
    "bad, signal": (
        [{"do": "out", "text": "{"}, {"do": "signal", "number": int(signal.SIGKILL)}],
        "InvalidEnvelope",
        None,
        "SIGKILL",
    ),
    "success, exit 1": ([out(envelope()), {"do": "exit", "code": 1}], "ExitContradicted", 1, None),
    "success, signal": (
        [out(envelope()), {"do": "signal", "number": int(signal.SIGSEGV)}],
        "ExitContradicted",
        None,
        "SIGSEGV",
    ),
    "failure, exit 0": ([out(failed()), {"do": "exit", "code": 0}], "InputInvalid", 0, None),
    "failure, exit 4": ([out(failed()), {"do": "exit", "code": 4}], "InputInvalid", 4, None),
    "failure, signal": (
        [out(failed()), {"do": "signal", "number": int(signal.SIGKILL)}],
        "InputInvalid",
        4,
        "SIGKILL",
    ),
}


@pytest.mark.parametrize("cell", MATRIX)
def test_document_and_exit(driver: Driver, fake: Make, cell: str) -> None:
    steps, code, exit_code, name = MATRIX[cell]
    error = error_of(driver, fake(READ, *steps))
    assert (error.code, error.reason, error.details.exit_code, error.details.signal) == (code, code, exit_code, name)
    if cell.startswith("success"):
        assert error.details.result.result == {"total": "12.50"}
        assert "12.50" not in str(error) + repr(error) + repr(error.details)
    if cell.startswith("failure"):
        assert isinstance(error, AdmissionError)


@pytest.mark.parametrize("session", [False, True])
def test_a_grandchild_that_holds_the_pipes_does_not_hold_the_call(
    driver: Driver, fake: Make, nothing_left: list[int], session: bool
) -> None:
    runtime = fake(
        READ, {"do": "grandchild", "seconds": 60, "session": session}, out(envelope()), {"do": "exit", "code": 0}
    )
    started = time.monotonic()
    assert driver.run(runtime).status == "success"
    assert time.monotonic() - started < 10
    grandchild = runtime.pids()[1]
    if session:
        # It has left the group: nobody may end it but its maker.
        assert alive(grandchild)
        os.kill(grandchild, signal.SIGKILL)


def test_a_process_that_closes_its_output_and_stays_is_ended(
    driver: Driver, fake: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("touba_sdk.engine.process.RUNTIME_CANCEL_MS", 300)
    runtime = fake(READ, out(envelope()), {"do": "close_out"}, {"do": "sleep", "seconds": 60})
    error = error_of(driver, runtime)
    assert (error.code, error.details.signal) == ("ExitContradicted", "SIGTERM")
    assert error.details.result.status == "success"


def test_a_silent_runtime_past_its_deadline_is_killed(
    driver: Driver, fake: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("touba_sdk.engine.process.DEADLINE_SLACK_MS", 300)
    steps = [READ, {"do": "ignore_term"}, {"do": "grandchild", "seconds": 60, "ignore_term": True}]
    error = error_of(driver, fake(*steps, {"do": "sleep", "seconds": 60}), run_limits={"deadline_ms": 500})
    assert (error.code, error.details.signal) == ("RuntimeUnresponsive", "SIGKILL")


def test_a_stored_failure_of_a_killed_runtime_is_what_is_told(
    driver: Driver, fake: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("touba_sdk.engine.process.DEADLINE_SLACK_MS", 300)
    steps = [READ, out(failed("DeadlineExceeded", "runtime", 5)), {"do": "sleep", "seconds": 60}]
    error = error_of(driver, fake(*steps), run_limits={"deadline_ms": 500})
    assert error.code == "DeadlineExceeded"


def test_another_protocol_is_an_incompatible_runtime(driver: Driver, fake: Make) -> None:
    error = error_of(driver, fake(READ, out(envelope(protocol="touba-run-v9"))))
    assert (type(error), error.code) == (LaunchError, "IncompatibleRuntime")
    assert "touba-run-v9" in error.message
    assert "touba-run-v1" in error.message


def test_missing_folder_program_permission_and_kind_are_told_apart(driver: Driver, fake: Make) -> None:
    runtime = fake(READ, out(envelope()))
    plain = runtime.folder / "plain"
    plain.write_text("no program")
    script = runtime.folder / "script"
    script.write_text("#!/nowhere/python\n")
    script.chmod(0o755)
    empty = runtime.folder / "empty"
    empty.write_text("no first line\n")
    empty.chmod(0o755)

    def attempt(**options: Any) -> ToubaEngineError:
        with pytest.raises(ToubaEngineError) as raised:
            driver.call("run", "program.tb", engine={**runtime.options(), **options})
        return raised.value

    found = attempt(project_root=runtime.folder / "gone")
    assert (type(found), found.code) == (UsageError, "FileUnreadable")
    assert "does not exist" in found.message
    found = attempt(project_root=plain)
    assert "is no folder" in found.message
    found = attempt(cli_path=runtime.folder / "gone" / "touba")
    assert (found.code, "the folder `" in found.message) == ("RuntimeNotFound", True)
    found = attempt(cli_path=runtime.folder / "gone")
    assert (found.code, "has no file `gone`" in found.message) == ("RuntimeNotFound", True)
    found = attempt(cli_path=runtime.folder)
    assert (found.code, "it is a folder" in found.message) == ("RuntimeNotFound", True)
    found = attempt(cli_path=plain)
    assert (found.code, "may not be executed" in found.message) == ("RuntimeNotFound", True)
    found = attempt(cli_path=script)
    assert (type(found), found.code, "interpreter" in found.message) == (LaunchError, "RuntimeNotStarted", True)
    found = attempt(cli_path=empty)
    assert (found.code, "no program of this system" in found.message) == ("RuntimeNotStarted", True)
    found = attempt(env={"BIG": "x" * (1 << 20)})
    assert (found.code, "environment is too large" in found.message) == ("RuntimeNotStarted", True)


def test_a_busy_file_is_tried_again(driver: Driver, fake: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    # A script that is being written can be started; only its interpreter is checked. So a copy of one is kept busy.
    runtime = fake(READ, out(envelope()))
    busy = runtime.folder / "interpreter"
    shutil.copy(os.path.realpath("/bin/sh"), busy)
    writer = os.open(busy, os.O_WRONLY)
    seen: list[float] = []

    def release(seconds: float) -> None:
        seen.append(seconds)
        os.close(writer)

    async def release_async(seconds: float) -> None:
        release(seconds)

    monkeypatch.setattr("touba_sdk.engine.sync.time.sleep", release)
    monkeypatch.setattr("touba_sdk.engine.aio.anyio.sleep", release_async)
    error = None
    try:
        driver.call("run", "program.tb", engine={**runtime.options(), "cli_path": busy})
    except ToubaEngineError as raised:
        error = raised
    assert len(seen) == 1
    assert error is not None  # a shell is no runtime, but it was started
    assert error.code in ("RuntimeCrashed", "InvalidEnvelope")


def test_the_slow_but_good_runtime_is_let_finish(driver: Driver, fake: Make) -> None:
    cancel = threading.Event()
    cancel.set()
    noise = "x" * 200_000
    steps = [READ, {"do": "wait_for_end"}, {"do": "err", "text": noise}, {"do": "sleep", "seconds": 0.7}]
    runtime = fake(*steps, {"do": "touch", "name": "saved"}, out(CANCELLED), {"do": "exit", "code": 130})
    run = driver.run(runtime, cancel=cancel)
    assert (run.status, run.reason, run.exit_code, run.result) == ("cancelled", "cancelled", 130, None)
    assert runtime.has("saved")
