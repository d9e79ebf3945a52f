"""Bytes and exit status → result or error, without a process."""

from __future__ import annotations

import copy
import gc
import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.support import CANCELLED, envelope, failed, failure, text
from touba_cli.documents import check_document
from touba_cli.limits import ENVELOPE_BYTES
from touba_cli.outcomes import PHASES
from touba_sdk.engine.envelope import Ending, conclude_check, conclude_compile, conclude_run
from touba_sdk.errors import CompileError, ErrorDetails, ToubaEngineError, error_class

DOCUMENT = text(envelope(result=["é", "漢", "😀", "\u2028"])).encode()

PROBLEM = {
    "code": "TB4001", "severity": "error", "title": "an Int was expected", "file": "a.tb", "line": 1, "column": 2,
    "end_line": 1, "end_column": 4, "label": "this is Text", "help": None, "candidates": [], "fix": None, "related": [],
}  # fmt: skip


def ending(document: Any, exit_code: int | None = 0, **changes: Any) -> Ending:
    data = document if isinstance(document, bytes) else text(document).encode()
    return Ending(output=data, stderr=b"", exit_code=exit_code, **changes)


def error_of(document: Any, exit_code: int | None = 0, **changes: Any) -> ToubaEngineError:
    with pytest.raises(ToubaEngineError) as raised:
        conclude_run(ending(document, exit_code, **changes))
    return raised.value


@pytest.mark.parametrize("document", [envelope(), failed(), CANCELLED])
def test_the_documents_of_these_tests_are_what_the_protocol_says(document: dict[str, Any]) -> None:
    assert check_document("touba-run-v1", document) is None


@pytest.mark.parametrize("phase", PHASES)
def test_each_phase_has_its_class(phase: str) -> None:
    error = error_of(failed("SomeCode", phase, PHASES[phase]), PHASES[phase])
    assert type(error) is error_class(phase)
    assert (error.code, error.reason, error.details.reason, error.details.phase) == (
        "SomeCode",
        "SomeCode",
        "SomeCode",
        phase,
    )
    assert (error.details.exit_code, error.details.status, error.details.run_id) == (PHASES[phase], "failed", "r1")


@given(st.integers(0, len(DOCUMENT) - 2))
def test_a_cut_document_is_never_a_result(length: int) -> None:
    assert error_of(DOCUMENT[:length]).code == "InvalidEnvelope"


@given(st.binary(min_size=1, max_size=20), st.booleans())
def test_anything_around_a_document_is_refused(noise: bytes, before: bool) -> None:
    data = noise + DOCUMENT if before else DOCUMENT + noise
    assert error_of(data).code == "InvalidEnvelope"


def assert_transport(error: ToubaEngineError) -> None:
    assert error.code in ("InvalidEnvelope", "IncompatibleRuntime", "ExitContradicted")


@given(
    st.sampled_from(sorted(envelope())),
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.text(),
        st.lists(st.integers()),
        st.dictionaries(st.text(), st.none()),
    ),
)
def test_a_wrong_member_is_a_result_only_where_the_protocol_allows_it(name: str, value: Any) -> None:
    document = {**envelope(), name: value}
    data = json.dumps(document).encode()
    try:
        result = conclude_run(ending(data))
    except ToubaEngineError as error:
        assert_transport(error)
    else:
        assert check_document("touba-run-v1", document) is None
        assert getattr(result, name, value) == value or name in ("messages", "warnings", "pending_interactions")


@pytest.mark.parametrize("name", sorted(envelope()))
def test_a_missing_member_is_refused(name: str) -> None:
    document = envelope()
    del document[name]
    assert error_of(document).code == ("IncompatibleRuntime" if name == "protocol" else "InvalidEnvelope")


def test_an_unknown_member_is_refused() -> None:
    error = error_of(envelope(surprise=1))
    assert (error.code, "`surprise`" in error.message) == ("InvalidEnvelope", True)


@pytest.mark.parametrize(
    "changes",
    [
        {"status": "stopped"},
        {"reason": "stopped"},
        {"exit_code": 11},
        {"reason": "human_approval_pending"},
        {"status": "failed", "reason": "InputInvalid", "exit_code": 4},
        {"error": failure()},
    ],
)
def test_members_that_contradict_each_other_are_refused(changes: dict[str, Any]) -> None:
    assert error_of(envelope(**changes)).code == "InvalidEnvelope"


def test_a_failure_under_another_name_is_refused() -> None:
    assert error_of(failed(reason="Other"), 4).code == "InvalidEnvelope"


def test_size_is_counted_in_bytes() -> None:
    document = text(envelope(result="")).encode()
    room = ENVELOPE_BYTES - len(document) + 1
    fits = document.replace(b'"result":""', b'"result":"' + b"x" * room + b'"')
    assert len(conclude_run(ending(fits)).result) == room
    error = error_of(fits.replace(b'"result":"x', b'"result":"xx'))
    assert (error.code, str(ENVELOPE_BYTES + 1) in error.message) == ("InvalidEnvelope", True)
    assert gc.isenabled()


def test_nobody_can_tell_how_it_ended() -> None:
    assert conclude_run(ending(envelope(), None)).status == "success"
    assert error_of(b"", None).code == "RuntimeCrashed"


def test_killed_by_the_engine() -> None:
    for data in (b"", b"{", text(envelope()).encode()):
        error = error_of(data, None, signal=9, killed=True)
        assert (error.code, error.details.signal) == ("RuntimeUnresponsive", "SIGKILL")
    assert error.details.result.status == "success"
    assert error_of(failed(), None, signal=9, killed=True).code == "InputInvalid"


def test_an_unknown_signal_is_named_by_its_number() -> None:
    assert error_of(b"", None, signal=250).details.signal == "signal 250"


def test_check() -> None:
    warning = {**PROBLEM, "severity": "warning"}
    clean = {"protocol": "touba-check-v1", "diagnostics": [warning], "not_run": ["`ask` (a.tb:1:1)"], "error": None}
    found = conclude_check(ending(clean))
    assert (found.ok, found.diagnostics[0].severity, found.not_run) == (True, "warning", ("`ask` (a.tb:1:1)",))
    wrong = {**clean, "diagnostics": [PROBLEM], "error": failure("CompileFailed", "compile")}
    assert check_document("touba-check-v1", wrong) is None
    assert conclude_check(ending(wrong, 3)).ok is False
    for document, code in (({**clean, "diagnostics": [PROBLEM]}, 0), ({**wrong, "diagnostics": []}, 3)):
        with pytest.raises(ToubaEngineError) as raised:
            conclude_check(ending(document, code))
        assert raised.value.code == "InvalidEnvelope"
    refused = {**clean, "diagnostics": [], "error": failure("FileUnreadable", "usage")}
    with pytest.raises(ToubaEngineError) as raised:
        conclude_check(ending(refused, 2))
    assert raised.value.code == "FileUnreadable"


def test_compile() -> None:
    digest = "sha256:" + "0" * 64
    good: dict[str, Any] = {
        "protocol": "touba-compile-v1", "air": {"b": 1, "a": "é"}, "digest": digest, "diagnostics": [], "error": None,
    }  # fmt: skip
    program = conclude_compile(ending(good))
    assert (program.air_document, program.air_json, program.digest) == ({"b": 1, "a": "é"}, '{"a":"é","b":1}', digest)
    bad = {
        **good,
        "air": None,
        "digest": None,
        "diagnostics": [PROBLEM] * 7,
        "error": failure("CompileFailed", "compile"),
    }
    with pytest.raises(CompileError) as raised:
        conclude_compile(ending(bad, 3))
    assert len(raised.value.details.diagnostics) == 7
    assert "a.tb:1:2: TB4001 an Int was expected" in str(raised.value)
    assert "and 2 more" in str(raised.value)
    with pytest.raises(ToubaEngineError) as neither:
        conclude_compile(ending({**good, "air": None}))
    assert neither.value.code == "InvalidEnvelope"


CANARY = "c4n4ry"


def full_error() -> ToubaEngineError:
    document = failed(
        "RequirementFailed",
        "runtime",
        5,
        explanation={"ref": "app/Main", "text": CANARY},
        trace={"protocol": "touba-trace-v1", "events": [CANARY]},
    )
    document["error"].update(ref="strategy:app/Main", effect="unknown", diagnostics=[PROBLEM])
    return error_of(Ending(text(document).encode(), CANARY.encode(), 5).output, 5)


def test_errors_print_code_sentence_place_and_hint_and_no_value() -> None:
    error = full_error()
    assert str(error).startswith("RequirementFailed: `inputs.count` is a Text, an Int was expected (strategy:app/Main)")
    assert str(error).endswith("Correct the input at the path given.")
    assert error.details.explanation is not None
    assert error.details.explanation.text == CANARY
    assert CANARY not in str(error) + repr(error) + repr(error.details) + repr(error.details.explanation)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_errors_and_results_survive_pickling(protocol: int) -> None:
    for error in (
        full_error(),
        error_of(envelope(), 1),
        ToubaEngineError(),
        error_class("usage")("UsageError", "m", hint="h"),
    ):
        for again in (pickle.loads(pickle.dumps(error, protocol)), copy.copy(error), copy.deepcopy(error)):
            assert type(again) is type(error)
            assert (again.code, again.message, again.hint, str(again)) == (
                error.code, error.message, error.hint, str(error),
            )  # fmt: skip
            assert again.details == error.details
    result = conclude_run(ending(envelope(messages=[{"interaction_ref": "m", "text": "t"}])))
    assert pickle.loads(pickle.dumps(result, protocol)) == result


def test_results_are_frozen_and_print_no_value() -> None:
    result = conclude_run(ending(envelope(result=CANARY, messages=[{"interaction_ref": "m", "text": CANARY}])))
    assert CANARY not in repr(result) + str(result) + repr(result.messages)
    with pytest.raises(ValueError, match="frozen"):
        result.status = "stopped"


def test_details_list_every_member_of_the_design() -> None:
    for name in (
        "exit_code",
        "status",
        "reason",
        "trace",
        "trace_reference",
        "stderr",
        "diagnostics",
        "run_id",
        "explanation",
    ):
        assert hasattr(ErrorDetails(), name)
