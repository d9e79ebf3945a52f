"""Large documents and many runs: limits of the pipe, memory, and that nothing adds up."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tempfile
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.engine.support import Driver, Fake, Snapshot, envelope, failed, leftovers, out, text
from touba_cli.limits import ENVELOPE_BYTES, MIB, REQUEST_BYTES
from touba_sdk import AsyncToubaEngine, RunResult, ToubaEngine
from touba_sdk.errors import RuntimeFailure, ToubaEngineError, UsageError

PROGRAM = """\
module large

tool Noisy
    takes size as Int
    gives Text
    effect read

strategy Grow
    takes times as Int
    gives Text
    do
        var word = "0123456789abcdef"
        repeat up to times times
            set word = word + word
        show "{word}"
        give word

strategy Fail
    takes times as Int
    do
        var word = "0123456789abcdef"
        repeat up to times times
            set word = word + word
        show "{word}"
        fail "{word}"

strategy Ask
    takes size as Int
    gives Text
    do
        give call Noisy(size)
"""

NOISY = """\
import sys
from touba_sdk import define_tool

def run(request, context):
    for _ in range(300):
        sys.stderr.write("noise " * 2_000 + "\\n")
    return "x" * request

define_tool(tool_ref="tool:large/Noisy", input_signature=[{"name": "size", "type_ref": "Int"}], run=run)
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    (folder / "large.tb").write_text(PROGRAM, "utf-8")
    (folder / "noisy.py").write_text(NOISY, "utf-8")
    limits = {"max_response_bytes": 64 * MIB}
    binding = {"handler": {"kind": "process", "command": ["python", "noisy.py"]}, "limits": limits}
    manifest = {"protocol": "touba-manifest-v1", "tools": {"tool:large/Noisy": binding}}
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    with ToubaEngine(project_root=folder) as engine:
        (folder / "large.air.json").write_text(engine.compile("large.tb").air_json, "utf-8")
    return folder


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own for temporary files, to see what is left in it."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


def run(driver: Driver, project: Path, entry: str, **options: Any) -> RunResult[Any]:
    options = {"air": "large.air.json", "entry_ref": f"strategy:large/{entry}", "manifest": "manifest.json", **options}
    found: RunResult[Any] = driver.call(
        "run", engine={"project_root": project}, run_limits={"max_steps": 10**8}, **options
    )
    return found


def test_a_request_past_the_limit_never_starts_anything(driver: Driver, tmp_path: Path) -> None:
    fake = Fake(tmp_path, [{"do": "touch", "name": "started"}, out(envelope())])
    with pytest.raises(UsageError) as raised:
        driver.run(fake, inputs={"text": "c4n4ry" * (REQUEST_BYTES // 6)})
    assert raised.value.code == "RequestTooLarge"
    assert f"{REQUEST_BYTES} are allowed" in raised.value.message
    assert "c4n4ry" not in str(raised.value)
    assert not fake.has("started")


def test_a_request_up_to_the_limit_arrives(tmp_path: Path) -> None:
    fake = Fake(tmp_path, [{"do": "read_line"}, out(envelope())])
    Driver("sync").run(fake, inputs={"text": "x" * (REQUEST_BYTES - 1_000)})
    assert len(fake.request) > REQUEST_BYTES - 1_000


def test_a_result_past_the_limit_is_an_error_that_keeps_it(driver: Driver, project: Path, temporary: Path) -> None:
    with pytest.raises(RuntimeFailure) as raised:
        run(driver, project, "Grow", inputs={"times": 20})
    error = raised.value
    assert (error.code, error.details.exit_code) == ("ResponseTooLarge", 5)
    assert f"{ENVELOPE_BYTES} are allowed" in error.message
    assert "its effects stand" in error.message
    kept = error.details.result
    assert isinstance(kept, RunResult)
    assert (kept.status, len(kept.result), kept.messages[0].text) == ("success", 16 << 20, kept.result)
    assert error.details.run_id == kept.run_id
    assert error.details.trace == kept.trace
    assert (error.hint or "").startswith("`details.result` holds the result.")
    assert list(temporary.iterdir()) == []


def test_the_failure_behind_a_document_past_the_limit_is_the_one_that_counts(project: Path, temporary: Path) -> None:
    with pytest.raises(RuntimeFailure) as raised:
        run(Driver("sync"), project, "Fail", inputs={"times": 20})
    assert raised.value.code == "BusinessFailure"
    assert raised.value.details.explanation is not None
    assert len(raised.value.details.explanation.text) == 16 << 20
    assert list(temporary.iterdir()) == []


TOO_LARGE = failed("ResponseTooLarge", "runtime", 5)


@pytest.mark.parametrize("kept", ["nothing", "not JSON", "of another user", "a link"])
def test_what_was_not_kept_as_it_should_be_is_not_taken(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch, kept: str
) -> None:
    fake = Fake(tmp_path, [{"do": "record"}, {"do": "wait_file", "name": "ready"}, out(TOO_LARGE)])
    caught: list[ToubaEngineError] = []

    def call() -> None:
        with pytest.raises(RuntimeFailure) as raised:
            Driver("sync").run(fake)
        caught.append(raised.value)

    thread = threading.Thread(target=call)
    thread.start()
    fake.wait_until("record.json")
    path = Path(next(word for word in fake.record["argv"] if word.startswith("--result-out=")).partition("=")[2])
    assert path.parent == temporary
    assert not path.exists()
    document = text(envelope(result="kept"))
    if kept == "a link":
        (temporary / "other").write_text(document)
        path.symlink_to(temporary / "other")
    elif kept != "nothing":
        path.write_text("{" if kept == "not JSON" else document)
    if kept == "of another user":
        monkeypatch.setattr(os, "getuid", lambda: 4_000_000)
    fake.touch("ready")
    thread.join()
    assert caught[0].code == "ResponseTooLarge"
    assert caught[0].details.result is None
    assert ("What was kept of it cannot be used" in caught[0].message) == (kept == "not JSON")
    assert not os.path.lexists(path)


def test_the_runtime_keeps_it_in_a_private_file_that_did_not_exist(project: Path, tmp_path: Path) -> None:
    def touba(path: Path) -> dict[str, Any]:
        start = Path(__file__).resolve().parents[2] / "touba_cli" / "__start__.py"
        words = ["run", "--json", "--air=large.air.json", "--entry-ref=strategy:large/Grow", '--inputs={"times": 20}']
        words += ['--run-limits={"max_steps": 100000000}', f"--result-out={path}"]
        done = subprocess.run(
            [sys.executable, "-IS", str(start), *words], cwd=project, capture_output=True, check=False
        )
        assert done.returncode == 5
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    path = tmp_path / "result.json"
    assert "the whole document was kept" in touba(path)["error"]["message"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert json.loads(path.read_bytes())["status"] == "success"
    path.write_text("mine")
    assert "the whole document was kept" not in touba(path)["error"]["message"]
    assert path.read_text() == "mine"


MEASURED = """\
import json, resource, sys
import orjson
from touba_sdk import ToubaEngine
mode, size, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
engine = ToubaEngine(project_root=folder)
options = {"air": "large.air.json", "entry_ref": "strategy:large/Ask", "manifest": "manifest.json"}
engine.run(**options, inputs={"size": 10})
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
if mode == "run":
    run = engine.run(**options, inputs={"size": size})
    assert len(run.result) == size
else:
    data = bytearray(b'{"result":"' + b"x" * size + b'"}')
    assert len(orjson.loads(data)["result"]) == size
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_32_mib_pass_beside_noise_in_bounded_memory(project: Path) -> None:
    """The application needs the bytes and what is read from them, and nothing that grows with the noise."""
    size = 32 * MIB - 4_096

    def peak(mode: str) -> int:
        words = [sys.executable, "-c", MEASURED, mode, str(size), str(project)]
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120)
        return int(done.stdout) * 1024

    assert peak("run") < 1.25 * peak("parse") + 4 * MIB


# Many runs


def test_scenario_21_leak_soak_of_200_runs(project: Path, temporary: Path) -> None:
    before, files = Snapshot(), sorted(project.rglob("*"))
    options: dict[str, Any] = {
        "air": "large.air.json",
        "entry_ref": "strategy:large/Grow",
        "run_limits": {"max_steps": 300},
    }
    kinds: list[dict[str, Any]] = [
        {"inputs": {"times": 1}},
        {"inputs": {"times": 30}},
        {"inputs": {"times": "x"}},
        {"inputs": {"times": 2}, "cancel": threading.Event()},
    ]
    kinds[3]["cancel"].set()
    seen: dict[str, int] = {}

    def note(outcome: RunResult[Any] | ToubaEngineError) -> None:
        reason = outcome.reason if isinstance(outcome, RunResult) else outcome.code
        seen[reason] = seen.get(reason, 0) + 1

    with ToubaEngine(project_root=project) as engine:
        for number in range(100):
            try:
                note(engine.run(**options, **kinds[number % 4]))
            except ToubaEngineError as error:
                note(error)

    async def later() -> None:
        async with AsyncToubaEngine(project_root=project) as engine:

            async def work(first: int) -> None:
                for number in range(first, 50, 2):
                    try:
                        note(await engine.run(**options, **kinds[number % 4]))
                    except ToubaEngineError as error:
                        note(error)

            async with anyio.create_task_group() as group:
                group.start_soon(work, 0)
                group.start_soon(work, 1)

    anyio.run(later, backend="asyncio")
    anyio.run(later, backend="trio")
    assert sum(seen.values()) == 200
    assert set(seen) == {"completed", "StepLimitExceeded", "InputInvalid", "cancelled"}
    assert leftovers(before, []) == []
    assert list(temporary.iterdir()) == []
    assert sorted(project.rglob("*")) == files


def test_typed_results_leave_no_types_behind(project: Path) -> None:
    """A type that is made anew for every call is not kept for ever."""
    with ToubaEngine(project_root=project) as engine:
        for number in range(70):
            kind = type(f"Amount{number}", (Decimal,), {})
            with pytest.raises(UsageError):
                engine.run("large.tb", result_type=kind, run_limits={"max_steps": 0})
    from touba_sdk.engine import options

    assert options._reader.cache_info().currsize <= 64
