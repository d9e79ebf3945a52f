"""What a runtime may write, and how: scenarios 1 to 8 and 25 of the robustness study, under our names and limits.

The numbers are those of the study; `test_scenarios.py` looks that none is missing. Each runs with the blocking engine
and with the async one on both event loops.
"""

from __future__ import annotations

import hashlib
import json
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.engine.support import Driver, Fake, cases, envelope, scenario, text
from touba_cli.limits import ENVELOPE_BYTES, STDERR_TAIL_BYTES
from touba_sdk.errors import AdmissionError, LaunchError, ToubaEngineError, TransportError

Make = Callable[..., Fake]

MIB = 1 << 20


def error_of(driver: Driver, fake: Fake, **options: Any) -> ToubaEngineError:
    with pytest.raises(ToubaEngineError) as raised:
        driver.run(fake, **options)
    return raised.value


@pytest.fixture
def peak() -> Iterator[Callable[[], int]]:
    """The most memory that Python has used since the start of the test, in bytes."""
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


def test_scenario_01_stderr_flood(driver: Driver, fake: Make, peak: Callable[[], int]) -> None:
    assert driver.run(fake("01_stderr_flood", "answers")).status == "success"
    error = error_of(driver, fake("01_stderr_flood", "crashes"))
    assert error.code == "RuntimeCrashed"
    assert error.details.stderr is not None
    assert len(error.details.stderr) == STDERR_TAIL_BYTES
    assert error.details.stderr.endswith("the end")
    assert peak() < 4 * MIB  # of five that came


def test_scenario_02_large_envelope(driver: Driver, fake: Make) -> None:
    assert driver.run(fake("02_large_envelope", "within")).result == "ä" * 10 * MIB


def test_scenario_02_large_envelope_past_the_limit(driver: Driver, fake: Make, peak: Callable[[], int]) -> None:
    error = error_of(driver, fake("02_large_envelope", "beyond"))
    assert (error.code, f"more than {ENVELOPE_BYTES} bytes" in error.message) == ("InvalidEnvelope", True)
    assert peak() < 1.5 * ENVELOPE_BYTES


def test_scenario_03_both_ways_at_once(driver: Driver, fake: Make) -> None:
    big = "é" * (5 * MIB // 2)
    runtime = fake("03_both_ways")
    assert driver.run(runtime, inputs={"big": big}).status == "success"
    arrived = json.loads(runtime.request)["options"]["inputs"]["big"].encode()
    assert hashlib.sha256(arrived).digest() == hashlib.sha256(big.encode()).digest()


def test_scenario_04_any_split_byte_by_byte(driver: Driver, fake: Make) -> None:
    assert driver.run(fake("04_any_split", "drip")).result == 'ä漢😀\\ "  \n'


def test_scenario_04_any_split_at_the_seams_of_the_reads(driver: Driver, fake: Make) -> None:
    assert driver.run(fake("04_any_split", "seams")).result == " " * 4 * 65_536


def test_scenario_04_any_split_in_two(fake: Make) -> None:
    (step,) = [step for step in scenario("04_any_split", "drip") if step["do"] == "out"]
    document = "".join(part * times for part, times in step["parts"]).encode()
    middle = document.index("ä".encode())
    for cut in range(middle - 2, middle + 22):
        pieces = [{"do": "out", "hex": part.hex(), "pieces": len(part)} for part in (document[:cut], document[cut:])]
        assert Driver("sync").run(fake({"do": "read_line"}, *pieces)).result == 'ä漢😀\\ "  \n'


def test_scenario_05_odd_characters(driver: Driver, fake: Make) -> None:
    odd = "a\u2028b\u2029c\u0085d\x0ce\rf\r\ng\x0bh\x1ci"
    assert driver.run(fake("05_odd_characters")).result == odd


@pytest.mark.parametrize("case", cases("06_noise_and_bom"))
def test_scenario_06_noise_and_bom(driver: Driver, fake: Make, case: str) -> None:
    error = error_of(driver, fake("06_noise_and_bom", case))
    assert (type(error), error.code, error.details.exit_code) == (TransportError, "InvalidEnvelope", 0)
    assert "12.50" not in str(error)
    written = "".join(
        part * times
        for step in scenario("06_noise_and_bom", case)
        if step["do"] == "out"
        for part, times in step.get("parts") or [[step["text"], 1]]
    )
    assert (error.details.output or b"") == written.encode()[:2000]
    if case.startswith("no"):
        assert error.details.stderr == "no config"


@pytest.mark.parametrize("case", cases("07_bad_utf8"))
def test_scenario_07_bad_utf8(driver: Driver, fake: Make, case: str) -> None:
    error = error_of(driver, fake("07_bad_utf8", case))
    if case == "in the document":
        assert (error.code, "byte 11 is not UTF-8" in error.message) == ("InvalidEnvelope", True)
    else:
        assert (error.code, error.details.stderr) == ("InputInvalid", "caf\ufffd")


#: case → code, exit code, signal
ENDS: dict[str, tuple[str, int | None, str | None]] = {
    "none, exit 0": ("InvalidEnvelope", 0, None),
    "none, exit 1": ("RuntimeCrashed", 1, None),
    "none, signal": ("RuntimeCrashed", None, "SIGKILL"),
    "cut, exit 0": ("InvalidEnvelope", 0, None),
    "cut, exit 1": ("InvalidEnvelope", 1, None),
    "cut, signal": ("InvalidEnvelope", None, "SIGKILL"),
    "success, exit 1": ("ExitContradicted", 1, None),
    "success, signal": ("ExitContradicted", None, "SIGSEGV"),
    "failure, exit 0": ("InputInvalid", 0, None),
    "failure, exit 4": ("InputInvalid", 4, None),
    "failure, signal": ("InputInvalid", 4, "SIGKILL"),
}


@pytest.mark.parametrize("case", cases("08_exit_and_envelope"))
def test_scenario_08_exit_code_against_envelope(driver: Driver, fake: Make, case: str) -> None:
    error = error_of(driver, fake("08_exit_and_envelope", case))
    assert (error.code, error.details.exit_code, error.details.signal) == ENDS[case]
    assert error.reason == error.code
    assert "12.50" not in str(error) + repr(error) + repr(error.details)
    if case.startswith("success"):
        assert error.details.result.result == {"total": "12.50"}
    if case.startswith("failure"):
        assert isinstance(error, AdmissionError)


#: case → class, code, a part of the message
VERSIONS: dict[str, tuple[type[ToubaEngineError], str, str]] = {
    "a newer one": (LaunchError, "IncompatibleRuntime", "`touba-run-v2`; this engine reads `touba-run-v1`"),
    "an older one": (LaunchError, "IncompatibleRuntime", "`touba-run-v0`; this engine reads `touba-run-v1`"),
    "one that does not know the request": (LaunchError, "IncompatibleRuntime", ""),
    "a newer one with an unknown member": (TransportError, "InvalidEnvelope", "`forecast`"),
    "garbage": (TransportError, "InvalidEnvelope", "in front of it"),
    "usage text of another program": (TransportError, "RuntimeCrashed", "exit code 2"),
}


@pytest.mark.parametrize("case", VERSIONS)
def test_scenario_25_version_handshake(driver: Driver, fake: Make, case: str) -> None:
    kind, code, said = VERSIONS[case]
    error = error_of(driver, fake("25_versions", case))
    assert (type(error), error.code) == (kind, code)
    assert said in error.message
    if case.startswith("usage"):
        assert error.details.stderr == "usage: touba FILE"


def test_scenario_25_silence_ends_with_the_deadline(
    driver: Driver, fake: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("touba_sdk.engine.process.DEADLINE_SLACK_MS", 100)
    error = error_of(driver, fake("25_versions", "silence"), run_limits={"deadline_ms": 300})
    assert (error.code, error.details.signal) == ("RuntimeUnresponsive", "SIGKILL")


def test_scenario_25_a_runtime_that_closes_its_input_may_answer(driver: Driver, fake: Make) -> None:
    assert driver.run(fake("25_versions", "closes its input"), inputs={"big": "x" * MIB}).status == "success"


def test_the_document_of_the_scenarios_is_what_the_protocol_says(fake: Make) -> None:
    steps = scenario("04_any_split", "drip")
    assert text(envelope(result='ä漢😀\\ "  \n')) == "".join(part for part, _ in steps[-1]["parts"])
