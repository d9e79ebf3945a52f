"""assert_run_succeeded and assert_run_refused: what passes, what fails, and what a failure prints."""

from __future__ import annotations

import asyncio
import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from touba_sdk import ToubaEngine
from touba_sdk.errors import (
    AdmissionError,
    CompileError,
    ErrorDetails,
    InternalError,
    LaunchError,
    RuntimeFailure,
    ToubaEngineError,
    TransportError,
    UsageError,
)
from touba_sdk.testing import assert_run_refused, assert_run_succeeded, assert_trace_events, call_handler

TRACE = {
    "events": [
        {"kind": "run_started", "ref": "strategy:app/A", "span": "0.1", "parent": None, "data": {}},
        {"kind": "run_failed", "ref": "strategy:app/A", "span": "0.1", "parent": None, "data": {"code": "NoStock"}},
    ]
}


class Run:
    """The members of a RunResult that assertions look at."""

    def __init__(self, result: Any, value: Any = None, status: str = "success", reason: str = "completed"):
        self.result = result
        self.value = value
        self.status = status
        self.reason = reason
        self.trace = TRACE


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ("T-1", "T-1"),
        (None, None),
        ({"a": [1, True], "b": "1.50"}, {"b": "1.50", "a": [1, True]}),
        ({"total": "1.50", "due": "2026-01-31"}, {"total": Decimal("1.50"), "due": datetime.date(2026, 1, 31)}),
        ([1, 2], (1, 2)),
    ],
)
def test_success_with_this_result(result: Any, expected: Any) -> None:
    run = Run(result)
    assert assert_run_succeeded(run, expected) is run
    assert assert_run_succeeded(run) is run


def test_the_typed_value_counts_too() -> None:
    assert assert_run_succeeded(Run("2026-01-31", datetime.date(2026, 1, 31)), datetime.date(2026, 1, 31))


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ("T-1", "T-2"),
        (1, True),
        (1, 1.0),
        (True, 1),
        ([1], [True]),
        ({"a": 1}, {}),
        ({"a": None}, {}),
        (None, {1}),
        ("1", ["1"]),
    ],
)
def test_another_result_fails(result: Any, expected: Any) -> None:
    with pytest.raises(AssertionError) as failed:
        assert_run_succeeded(Run(result), expected)
    text = str(failed.value)
    assert f"expected: result {expected!r}" in text
    assert f"actual: result {result!r}" in text
    assert "run strategy:app/A" in text


def test_another_status_fails_whatever_the_result() -> None:
    with pytest.raises(AssertionError, match="status stopped, reason human_rejected"):
        assert_run_succeeded(Run("T-1", status="stopped", reason="human_rejected"), "T-1")
    with pytest.raises(AssertionError, match="status None"):
        assert_run_succeeded("T-1", "T-1")


def _raiser(error: BaseException) -> Any:
    def call() -> Any:
        raise error

    return call


@pytest.mark.parametrize("cls", [AdmissionError, RuntimeFailure])
def test_refusals_with_this_code(cls: type[ToubaEngineError]) -> None:
    error = cls("GrantMissing", "…")
    assert assert_run_refused(_raiser(error), "GrantMissing") is error
    with assert_run_refused("GrantMissing") as refused:
        raise error
    assert refused.error is error

    async def later() -> Any:
        raise error

    async def use() -> Any:
        with assert_run_refused("GrantMissing") as inside:
            await later()
        assert inside.error is error
        return await assert_run_refused(later, "GrantMissing")

    assert asyncio.run(use()) is error


@pytest.mark.parametrize(
    "error",
    [
        RuntimeFailure("NoStock", "Sold out.", details=ErrorDetails(trace=TRACE)),
        *(cls("GrantMissing", "…") for cls in (UsageError, CompileError, LaunchError, TransportError, InternalError)),
        ToubaEngineError("GrantMissing", "…"),
    ],
    ids=lambda error: f"{type(error).__name__}-{error.code}",
)
def test_other_errors_of_the_engine_fail(error: ToubaEngineError) -> None:
    async def later() -> Any:
        raise error

    for attempt in (
        lambda: assert_run_refused(_raiser(error), "GrantMissing"),
        lambda: asyncio.run(assert_run_refused(later, "GrantMissing")),
        lambda: _in_a_block(error),
    ):
        with pytest.raises(AssertionError) as failed:
            attempt()
        text = str(failed.value)
        assert "expected: a refusal of admission or runtime with code GrantMissing" in text
        assert f"actual: {error.code} in phase {error.phase}" in text
        assert failed.value.__cause__ is error
    if error.details.trace:
        assert "run strategy:app/A: failed (code=NoStock)" in text


def _in_a_block(error: BaseException) -> None:
    with assert_run_refused("GrantMissing"):
        raise error


def test_no_refusal_fails() -> None:
    async def later() -> Any:
        return Run("T-1")

    with pytest.raises(AssertionError, match="the run ended with status success, reason completed"):
        assert_run_refused(lambda: Run("T-1"), "GrantMissing")
    with pytest.raises(AssertionError, match="the run ended with status success"):
        asyncio.run(assert_run_refused(later, "GrantMissing"))
    with pytest.raises(AssertionError, match="without an error"), assert_run_refused("GrantMissing"):
        Run("T-1")
    with pytest.raises(AssertionError, match="not ended"):
        _ = assert_run_refused("GrantMissing").error


def test_faults_of_the_test_itself_stay_what_they_are() -> None:
    async def later() -> Any:
        raise ZeroDivisionError

    for attempt in (
        lambda: assert_run_refused(_raiser(ZeroDivisionError()), "GrantMissing"),
        lambda: asyncio.run(assert_run_refused(later, "GrantMissing")),
        lambda: _in_a_block(ZeroDivisionError()),
    ):
        with pytest.raises(ZeroDivisionError):
            attempt()


def test_misuse_is_named() -> None:
    call: Any = lambda: Run("T-1")  # noqa: E731
    with pytest.raises(TypeError, match="needs the code"):
        assert_run_refused(call)
    text: Any = "GrantMissing"
    with pytest.raises(TypeError, match="a code alone"):
        assert_run_refused(text, "GrantMissing")


# What a failing test shows


def visible(excinfo: pytest.ExceptionInfo[BaseException]) -> list[str]:
    """The functions whose source pytest would show."""
    return [entry.name for entry in excinfo.traceback.filter(excinfo)]


async def _awaited() -> Any:
    return Run("T-2", status="stopped", reason="stopped")


@pytest.mark.parametrize(
    "fail",
    [
        lambda: assert_run_succeeded(Run("T-2"), "T-1"),
        lambda: assert_run_succeeded(Run("T-2", status="stopped")),
        lambda: assert_run_refused(lambda: Run("T-2"), "NoStock"),
        lambda: assert_run_refused("NoStock").error,
        lambda: asyncio.run(assert_run_refused(_awaited, "NoStock")),
        lambda: assert_trace_events(TRACE, kind="run_completed"),
        lambda: assert_trace_events(None),
        lambda: call_handler("nothing.py", "tool:app/A"),
    ],
)
def test_a_failing_assertion_shows_the_test_and_not_its_own_source(fail: Any) -> None:
    with pytest.raises(AssertionError) as excinfo:
        fail()
    names = visible(excinfo)
    assert names[:2] == ["test_a_failing_assertion_shows_the_test_and_not_its_own_source", "<lambda>"]
    assert not any("touba_sdk" in str(entry.path) for entry in excinfo.traceback.filter(excinfo))


def test_an_error_of_the_engine_is_shown_without_its_source_and_a_mistake_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "app.tb").write_text('module app\n\nstrategy Run\n    gives Int\n    do\n        fail "no"\n', "utf-8")
    with ToubaEngine(project_root=tmp_path) as engine:
        with pytest.raises(RuntimeFailure) as refused:
            engine.run("app.tb")
        monkeypatch.setattr("touba_sdk.engine.core.conclude_run", None)
        with pytest.raises(TypeError) as mistaken:
            engine.run("app.tb")
    assert visible(refused) == ["test_an_error_of_the_engine_is_shown_without_its_source_and_a_mistake_with_it"]
    assert "conclude" in visible(mistaken)
