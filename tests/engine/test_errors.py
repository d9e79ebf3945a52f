"""What callers are told when a call fails: the whole contract of `ToubaEngineError`, and that everything can be pickled."""

from __future__ import annotations

import concurrent.futures
import importlib
import inspect
import json
import multiprocessing
import pickle
import pkgutil
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import pydantic
import pytest

import touba_sdk
from tests.engine.support import Driver, envelope, failed
from touba_cli.errors import CODES
from touba_sdk.engine.envelope import Ending, conclude_run
from touba_sdk.engine.results import Diagnostic, Explanation, Fix, Related, RunResult
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
    error_class,
)

PROGRAM = """\
module app

tool Pay
    takes amount as Decimal
    gives Text
    requires network
    effect write

strategy Run
    takes amount as Decimal
    gives Text
    do
        require amount > 0.0 else "refused {amount}"
        give call Pay(amount)
"""

HANDLER = """\
import sys
from touba_sdk import ToubaHandlerError, define_tool

def run(request, context):
    print("note for the log", file=sys.stderr)
    raise ToubaHandlerError("CardDeclined", "The bank declined the card.", retryable=True, effect="unknown")

define_tool(tool_ref="tool:app/Pay", input_signature=[{"name": "amount", "type_ref": "Decimal"}], run=run)
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("errors")
    (folder / "app.tb").write_text(PROGRAM, "utf-8")
    (folder / "wrong.tb").write_text(PROGRAM.replace("give call", "give"), "utf-8")
    (folder / "pay.py").write_text(HANDLER, "utf-8")
    for name, grants in (("manifest.json", ["network"]), ("narrow.json", [])):
        binding = {"handler": {"kind": "process", "command": ["python", "pay.py"]}, "grants": grants}
        manifest = {"protocol": "touba-manifest-v1", "tools": {"tool:app/Pay": binding}}
        (folder / name).write_text(json.dumps(manifest), "utf-8")
    return folder


def error_of(driver: Driver, project: Path, program: str = "app.tb", **options: Any) -> ToubaEngineError:
    options = {"manifest": "manifest.json", "inputs": {"amount": Decimal("98765.43")}, **options}
    with pytest.raises(ToubaEngineError) as raised:
        driver.call("run", program, engine={"project_root": project}, **options)
    return raised.value


#: options → class, code, exit code, members of the details that are not None besides those that always are
CASES: list[tuple[str, dict[str, Any], type[ToubaEngineError], str, int | None, set[str]]] = [
    ("usage of the engine", {"inptus": {}}, UsageError, "OptionUnknown", None, set()),
    ("usage of the runtime", {"manifest": "gone.json"}, UsageError, "FileUnreadable", 2, {"run_id"}),
    ("compile", {"program": "wrong.tb"}, CompileError, "CompileFailed", 3, {"run_id", "diagnostics"}),
    ("admission", {"manifest": "narrow.json"}, AdmissionError, "GrantMissing", 4, {"run_id", "ref"}),
    ("runtime, by the program", {"inputs": {"amount": Decimal("-98765.43")}}, RuntimeFailure, "RequirementFailed", 5,
     {"run_id", "ref", "trace", "explanation"}),
    ("runtime, by a tool", {}, RuntimeFailure, "CardDeclined", 5, {"run_id", "ref", "trace", "effect", "stderr"}),
    ("launch", {"cli_path": "/nowhere/touba"}, LaunchError, "RuntimeNotFound", None, set()),
]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "cls", "code", "exit_code", "members"), [row[1:] for row in CASES], ids=[row[0] for row in CASES]
)
def test_an_error_says_what_is_known(
    driver: Driver,
    project: Path,
    options: dict[str, Any],
    cls: type[ToubaEngineError],
    code: str,
    exit_code: int | None,
    members: set[str],
) -> None:
    error = error_of(driver, project, **options)
    assert type(error) is cls
    assert error.code == error.reason == error.details.reason == code
    assert (error.details.status, error.details.phase, error.details.exit_code) == ("failed", cls.phase, exit_code)
    always = {"status", "reason", "phase", "exit_code"}
    present = {name for name in ErrorDetails.__slots__ if getattr(error.details, name) not in (None, ())}
    assert present - always == members
    assert error.message
    assert str(error).startswith(f"{code}: {error.message}")
    assert error.hint is None or str(error).endswith(error.hint)
    if code in CODES:
        assert CODES[code].phase == cls.phase
    for text in (str(error), repr(error), repr(error.details)):
        assert "98765" not in text
    assert same(pickle.loads(pickle.dumps(error)), error)


def test_a_tools_error_keeps_its_own_words(project: Path) -> None:
    error = error_of(Driver("sync"), project)
    assert (error.details.ref, error.details.effect) == ("tool:app/Pay", "unknown")
    assert error.message.startswith("The bank declined the card.")
    assert "note for the log" in (error.details.stderr or "")
    assert "note for the log" not in str(error)
    assert error.details.trace is not None
    assert error.details.trace["events"][-1]["kind"] == "run_failed"


def test_the_text_has_code_sentence_place_and_hint(project: Path) -> None:
    text = str(error_of(Driver("sync"), project, "wrong.tb"))
    assert text.splitlines()[0].startswith("CompileFailed: the program has")
    assert "\n  wrong.tb:14:" in text
    assert text.endswith("Correct the problems listed in `diagnostics`.")
    text = str(error_of(Driver("sync"), project, inputs={"amount": Decimal(-1)}))
    assert "(app.tb:13:9)" in text
    assert "refused {…}" in text


# Pickling: whatever is public may travel between processes

SPANS = {"line": 1, "column": 2, "end_line": 3, "end_column": 4}
DIAGNOSTIC = Diagnostic(
    code="TB3001", severity="error", title="no `x`", file="a.tb", **SPANS, label="here", help=None, candidates=("y",),
    fix=Fix(**SPANS, text="y"), related=(Related(file="b.tb", **SPANS, label="there"),),
)  # fmt: skip
RESULT = conclude_run(Ending(json.dumps(envelope(result={"a": [1, "ü"]})).encode(), b"", 0))
DETAILS: dict[str, Any] = {
    "exit_code": 5, "signal": "SIGKILL", "status": "failed", "ref": "tool:a/B", "effect": "unknown",
    "trace": {"events": []}, "trace_reference": {"run_id": "r"}, "stderr": "e", "diagnostics": (DIAGNOSTIC,),
    "run_id": "r", "explanation": Explanation(ref="r", text="t"), "result": RESULT, "output": b"\x00",
}  # fmt: skip

#: class → an instance of it; every public exception and result has to be here
SAMPLES: dict[str, Callable[[type[Any]], Any]] = {
    **dict.fromkeys(
        ("ToubaEngineError", "UsageError", "CompileError", "AdmissionError", "RuntimeFailure", "LaunchError", "TransportError", "InternalError"),
        lambda cls: cls("SomeCode", "a sentence", hint="a hint", details=ErrorDetails(**DETAILS)),
    ),
    "ErrorDetails": lambda cls: cls(**DETAILS),
    "ToubaHandlerError": lambda cls: cls("CardDeclined", "no", True, "done"),
    "ArgumentInvalid": lambda cls: cls("effect is wrong"),
    "DefinitionInvalid": lambda cls: cls("tool_ref is wrong"),
    "MemoryMetadataInvalid": lambda cls: cls("memory_metadata[0] is wrong"),
    "InputUnfit": lambda cls: cls("the input does not fit"),
    "Misplaced": lambda cls: cls("a.b", "is wrong"),
    "EncodeError": lambda cls: cls("a.b", "no wire form"),
    "WireMismatch": lambda cls: cls("a.b", "expected a text"),
    "AnnotationUnsupported": lambda cls: cls("X cannot be read"),
    "Unfit": lambda cls: cls(["a", 1], "expected a text"),
    "RunResult": lambda cls: RESULT,
    "CheckResult": lambda cls: cls(ok=False, diagnostics=(DIAGNOSTIC,)),
    "CompiledProgram": lambda cls: cls(air_document={"a": 1}, digest="sha256:0", diagnostics=()),
    "Diagnostic": lambda cls: DIAGNOSTIC,
    "Fix": lambda cls: DIAGNOSTIC.fix,
    "Related": lambda cls: DIAGNOSTIC.related[0],
    "Explanation": lambda cls: cls(ref=None, text="t"),
    "Message": lambda cls: cls(interaction_ref="show:a/B/1", text="t"),
    "RunWarning": lambda cls: cls(code="A", message="m"),
    "Usage": lambda cls: RESULT.usage,
}  # fmt: skip

#: packages of the SDK whose public classes are looked at; the others have tests of their own
PACKAGES = ("engine", "handlers", "testing", "errors", "_encode", "_wire", "_annotations", "_validation")


def public_classes() -> dict[str, type[Any]]:
    """Exceptions, and results of the engines: by reflection over all modules."""
    found: dict[str, type[Any]] = {}
    for info in pkgutil.walk_packages(touba_sdk.__path__, "touba_sdk."):
        if info.name.split(".")[1] not in PACKAGES or "._" in info.name.removeprefix("touba_sdk._"):
            continue
        module: ModuleType = importlib.import_module(info.name)
        for name, cls in inspect.getmembers(module, inspect.isclass):
            if name.startswith("_") or cls.__module__ != info.name:
                continue
            result = issubclass(cls, pydantic.BaseModel) and info.name == "touba_sdk.engine.results"
            if issubclass(cls, BaseException) or result or cls is ErrorDetails:
                found[name] = cls
    return found


def same(left: Any, right: Any) -> bool:
    if not isinstance(right, BaseException):
        return type(left) is type(right) and bool(left == right)
    return (
        type(left) is type(right) and left.args == right.args and vars(left) == vars(right) and str(left) == str(right)
    )


def send_back(value: Any) -> Any:
    """Runs in the other process."""
    return value


def raise_it(error: BaseException) -> None:
    raise error


def test_every_public_exception_and_result_has_a_sample() -> None:
    assert set(public_classes()) == set(SAMPLES)
    assert all(error_class(phase).phase == phase for phase in ("usage", "runtime", "transport", "internal"))


@pytest.fixture(scope="module")
def pool() -> Iterator[concurrent.futures.ProcessPoolExecutor]:
    """Started before the look for leftovers begins: it and the tracker of its resources stay for a while."""
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as made:
        assert made.submit(send_back, 1).result(60) == 1
        yield made


def test_scenario_22_pickle_of_everything_public_between_processes(
    pool: concurrent.futures.ProcessPoolExecutor,
) -> None:
    samples = {name: SAMPLES[name](cls) for name, cls in public_classes().items()}
    for name, sample in samples.items():
        assert same(pool.submit(send_back, sample).result(60), sample), name
        if isinstance(sample, Exception):
            raised = pool.submit(raise_it, sample).exception(60)
            assert raised is not None
            assert (type(raised), raised.args) == (type(sample), sample.args), name
            if isinstance(sample, ToubaEngineError):
                assert isinstance(raised, ToubaEngineError)
                assert raised.details == sample.details


def test_notes_travel_too() -> None:
    error = UsageError("SomeCode", "a sentence")
    error.add_note("while closing the month")
    assert pickle.loads(pickle.dumps(error)).__notes__ == ["while closing the month"]


def test_results_and_errors_can_be_logged() -> None:
    result: RunResult = conclude_run(
        Ending(
            json.dumps(
                envelope(result="c4n4ry", messages=[{"interaction_ref": "show:a/B/1", "text": "c4n4ry"}])
            ).encode(),
            b"",
            0,
        )
    )
    assert "c4n4ry" not in repr(result) + repr(result.messages)
    ending = Ending(
        json.dumps(failed("BusinessFailure", "runtime", 5, explanation={"ref": "a", "text": "c4n4ry"})).encode(),
        b"c4n4ry",
        5,
    )
    with pytest.raises(RuntimeFailure) as raised:
        conclude_run(ending)
    assert raised.value.details.stderr == "c4n4ry"
    assert "c4n4ry" not in str(raised.value) + repr(raised.value) + repr(raised.value.details)
    assert isinstance(error_class("internal")(), InternalError)
    assert str(TransportError("A")) == "A"


def test_a_code_that_is_the_class_is_named_once() -> None:
    assert str(UsageError("UsageError", "`run` needs a program.")) == "`run` needs a program."
    assert str(UsageError("OptionUnknown", "There is no such option.")).startswith("OptionUnknown: ")


def test_an_effect_in_doubt_is_told_by_the_text() -> None:
    error = RuntimeFailure("ToolTimeout", "The handler was late.", details=ErrorDetails(effect="unknown"))
    assert "It is not known whether the call had its effect" in str(error)
    assert "not known" not in str(RuntimeFailure("ToolTimeout", "The handler was late."))


def test_a_problem_of_a_program_is_told_with_label_and_help() -> None:
    members: dict[str, Any] = {
        "code": "TB4003", "severity": "error", "title": "`Sum` needs `more`", "file": "app.tb", "line": 3, "column": 5,
        "end_line": 3, "end_column": 9, "candidates": (), "fix": None, "related": (),
    }  # fmt: skip
    told = str(Diagnostic(label="add `more: none`", help="arguments are never left out", **members))
    assert told == "app.tb:3:5: TB4003 `Sum` needs `more` (add `more: none`) (arguments are never left out)"
    assert str(Diagnostic(label="needs `more`", help=None, **members)) == "app.tb:3:5: TB4003 `Sum` needs `more`"
