"""Bytes and exit status → result or error. Pure: the table below is all there is to it.

===================  =====================  =======================  =========================
document             exit as it says        another exit or signal   killed by the engine
===================  =====================  =======================  =========================
none                 InvalidEnvelope (0)    RuntimeCrashed           RuntimeUnresponsive
not one whole        InvalidEnvelope        InvalidEnvelope          RuntimeUnresponsive
a failure            its error              its error                its error
anything else        the result             ExitContradicted         RuntimeUnresponsive
===================  =====================  =======================  =========================

A document is read whole or not at all: one that is cut, doubled, or has anything around it is never guessed at. The
bytes themselves stand in ``details.output`` only.
"""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

import orjson
from pydantic import AfterValidator, Field, ValidationError

from touba_cli.errors import CODES
from touba_cli.limits import ENVELOPE_BYTES, RESULT_FILE_BYTES
from touba_cli.outcomes import OUTCOMES, PHASES

from .._wire import Reader, WireMismatch
from ..errors import ErrorDetails, ToubaEngineError, TransportError, error_class
from .results import (
    CheckResult,
    CompiledProgram,
    Diagnostic,
    Explanation,
    Message,
    RunResult,
    RunWarning,
    Usage,
    _Frozen,
)

#: the protocol of the document that each command prints
PROTOCOLS = {"run": "touba-run-v1", "compile": "touba-compile-v1", "check": "touba-check-v1"}
TRACE_PROTOCOL = "touba-trace-v1"
#: how much of a document that cannot be read is kept for diagnosis
_OUTPUT_KEPT = 2_000
#: the collector is paused for documents past this: it would look at every object again and again while they are made
_LARGE = 1 << 20

_Document = TypeVar("_Document", bound=_Frozen)
_Result = TypeVar("_Result", RunResult[Any], CheckResult, CompiledProgram)


def is_outcome(excinfo: Any) -> bool:
    """Whether an exception is what a call came to, and no mistake in here: pytest then shows no source of engines."""
    return isinstance(excinfo.value, ToubaEngineError)


__tracebackhide__ = is_outcome


@dataclass(frozen=True, slots=True)
class Ending:
    """How a runtime process ended.

    Attributes:
        output: everything that it wrote to standard output, up to the cap.
        stderr: the end of its standard error.
        exit_code: its exit code; None where a signal ended it or nobody can tell.
        signal: the number of the signal that ended it, or None.
        killed: the engine had to kill it.
        overflow: it wrote more than the cap.
    """

    output: bytes | bytearray
    stderr: bytes
    exit_code: int | None
    signal: int | None = None
    killed: bool = False
    overflow: bool = False

    @property
    def signal_name(self) -> str | None:
        if self.signal is None:
            return None
        try:
            return signal.Signals(self.signal).name
        except ValueError:
            return f"signal {self.signal}"

    @property
    def sentence(self) -> str:
        """How it ended, to stand after “The runtime”."""
        if self.signal is not None:
            return f"was ended by {self.signal_name}"
        if self.exit_code is None:
            return "ended, nobody can tell how"
        return f"ended with exit code {self.exit_code}"


class _Error(_Frozen):
    code: str
    phase: Literal["usage", "compile", "admission", "runtime", "launch", "internal"]
    message: str
    ref: str | None
    hint: str | None
    effect: Literal["none", "done", "unknown"] | None
    diagnostics: tuple[Diagnostic, ...] = Field(strict=False)


def _check_trace(trace: dict[str, Any]) -> dict[str, Any]:
    # Its events are not looked at: our own encoder wrote them, and there may be very many.
    if trace.get("protocol") != TRACE_PROTOCOL or not isinstance(trace.get("events"), list):
        raise ValueError("not a trace document")
    return trace


class _RunDocument(_Frozen):
    protocol: str
    run_id: str
    status: Literal["success", "stopped", "cancelled", "failed"]
    reason: str
    exit_code: int
    result: Any
    messages: tuple[Message, ...] = Field(strict=False)
    pending_interaction: None
    pending_interactions: tuple[()] = Field(strict=False)
    explanation: Explanation | None
    warnings: tuple[RunWarning, ...] = Field(strict=False)
    error: _Error | None
    trace: Annotated[dict[str, Any], AfterValidator(_check_trace)] | None
    trace_reference: None
    usage: Usage


class _CheckDocument(_Frozen):
    protocol: str
    diagnostics: tuple[Diagnostic, ...] = Field(strict=False)
    not_run: tuple[str, ...] = Field(strict=False)
    error: _Error | None


class _CompileDocument(_Frozen):
    protocol: str
    air: dict[str, Any] | None
    digest: str | None
    diagnostics: tuple[Diagnostic, ...] = Field(strict=False)
    error: _Error | None


class _Unreadable(Exception):
    """Output that is not one whole document of the protocol; the message never holds any of it."""


def conclude_run(
    ending: Ending, reader: Reader | None = None, kept: Callable[[], bytes | None] = lambda: None
) -> RunResult[Any]:
    """The result of a run, or the error that it ended with.

    Parameters:
        ending: how the runtime ended.
        reader: reads the result into the type that was asked for.
        kept: gives the result document that was too large for the pipe, where the runtime has kept it.

    Raises:
        ToubaEngineError: by the table of the module; `ResultMismatch` where the result does not fit the type.
    """
    document = _read("run", _RunDocument, ending)
    if document.error is not None:
        raise _failure_of_run(document, document.error, ending, kept)
    result = _settled(_result(document, ending), document.exit_code, ending)
    if reader is None or result.status != "success":
        return result
    try:
        return result.model_copy(update={"value": reader.read(document.result)})
    except WireMismatch as fault:
        message = f"The run finished, but its result does not fit `result_type`: {fault}. Its effects stand."
        raise _transport("ResultMismatch", message, ending, result, show_output=False) from None


def _result(document: _RunDocument, ending: Ending) -> RunResult[Any]:
    if document.reason not in OUTCOMES_BY_REASON or OUTCOMES_BY_REASON[document.reason] != (
        document.status,
        document.exit_code,
    ):
        raise _invalid(ending, "its status, reason and exit code do not belong together")
    return RunResult(value=document.result, **{name: getattr(document, name) for name in _RUN_MEMBERS})


def _failure_of_run(
    document: _RunDocument, error: _Error, ending: Ending, kept: Callable[[], bytes | None]
) -> ToubaEngineError:
    """The error of a run. Behind a document that was too large stands another one: its error, or its result, counts."""
    failure = _failure(error, ending, document)
    data = kept() if error.code == "ResponseTooLarge" else None
    if data is None:
        return failure
    try:
        whole = _parse("run", _RunDocument, data, RESULT_FILE_BYTES)
    except _Unreadable as fault:
        failure.message += f". What was kept of it cannot be used: {fault}"
        return failure
    if whole.error is not None:
        return _failure(whole.error, ending, whole)
    result = _result(whole, ending)
    failure.details.result = result
    failure.details.trace = result.trace
    failure.details.explanation = result.explanation
    failure.hint = f"`details.result` holds the result. {failure.hint}"
    return failure


def conclude_check(ending: Ending) -> CheckResult:
    """What `check` found. A program with errors is an answer, not an error.

    Raises:
        ToubaEngineError: where the check itself failed.
    """
    document = _read("check", _CheckDocument, ending)
    error = document.error
    if error is not None and error.code != "CompileFailed":
        raise _failure(error, ending)
    ok = all(problem.severity != "error" for problem in document.diagnostics)
    if ok != (error is None):
        raise _invalid(ending, "its error and its diagnostics do not belong together")
    found = CheckResult(ok=ok, diagnostics=document.diagnostics, not_run=document.not_run)
    return _settled(found, 0 if ok else PHASES["compile"], ending)


def conclude_compile(ending: Ending) -> CompiledProgram:
    """The compiled program.

    Raises:
        CompileError: for a program with errors, which stand in ``details.diagnostics``.
        ToubaEngineError: where the call failed in another way.
    """
    document = _read("compile", _CompileDocument, ending)
    if document.error is not None:
        raise _failure(document.error, ending, diagnostics=document.diagnostics)
    if document.air is None or document.digest is None:
        raise _invalid(ending, "it has neither a program nor an error")
    program = CompiledProgram(air_document=document.air, digest=document.digest, diagnostics=document.diagnostics)
    return _settled(program, 0, ending)


#: reason → (status, exit code), of the outcomes that give a result
OUTCOMES_BY_REASON = {reason: (status, code) for status, reason, code in OUTCOMES.values()}
_RUN_MEMBERS = tuple(name for name in RunResult.model_fields if name != "value")


def _read(command: str, shape: type[_Document], ending: Ending) -> _Document:
    """The document, or the error of the rows “none” and “not one whole”."""
    if ending.overflow:
        raise _invalid(ending, f"it has more than {ENVELOPE_BYTES} bytes")
    if not ending.output:
        if ending.killed:
            raise _unresponsive(ending)
        if ending.exit_code == 0:
            raise _invalid(ending, "there is none")
        raise _transport("RuntimeCrashed", f"The runtime {ending.sentence} without a result document.", ending)
    try:
        return _parse(command, shape, ending.output, ENVELOPE_BYTES)
    except _Unreadable as fault:
        if ending.killed:
            raise _unresponsive(ending) from None
        raise _invalid(ending, str(fault)) from None


def _parse(command: str, shape: type[_Document], output: bytes | bytearray, most: int) -> _Document:
    size = len(output) - output.endswith(b"\n")
    if size > most:
        raise _Unreadable(f"it has {size} bytes; {most} are allowed")
    if not output.startswith(b"{"):
        raise _Unreadable("something stands in front of it")
    try:
        document = _without_collector(lambda: orjson.loads(memoryview(output)[:size]), size)
    except orjson.JSONDecodeError as fault:
        place = _place_of_bad_utf8(output) or f"its {size} bytes are not one JSON document (at character {fault.pos})"
        raise _Unreadable(place) from None
    if output[size - 1 : size] != b"}":
        raise _Unreadable("something stands behind it")
    protocol = document.get("protocol")
    if protocol != PROTOCOLS[command]:
        named = f"`{protocol[:60]}`" if isinstance(protocol, str) and protocol.isprintable() else "no protocol"
        raise error_class("launch")(
            "IncompatibleRuntime",
            f"The runtime answered with {named}; this engine reads `{PROTOCOLS[command]}`.",
            hint=CODES["IncompatibleRuntime"].hint,
        )
    try:
        return shape.model_validate(document)
    except ValidationError as fault:
        first = fault.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"][:3])
        raise _Unreadable(f"its member `{where}` is not as the protocol says ({first['type']})") from None


def _place_of_bad_utf8(output: bytes | bytearray) -> str | None:
    try:
        output.decode("utf-8")
    except UnicodeDecodeError as fault:
        return f"its byte {fault.start} is not UTF-8"
    return None


def _without_collector(read: Callable[[], Any], size: int) -> Any:
    if size <= _LARGE or not gc.isenabled():
        return read()
    gc.disable()
    try:
        return read()
    finally:
        gc.enable()


def _settled(result: _Result, exit_code: int, ending: Ending) -> _Result:
    """The result, where the process ended as the result says; else the error that carries it."""
    if ending.killed:
        raise _unresponsive(ending, result)
    nobody_can_tell = ending.exit_code is None and ending.signal is None
    if nobody_can_tell or ending.exit_code == exit_code:
        return result
    raise _transport(
        "ExitContradicted", f"The runtime gave a result (exit code {exit_code}), but {ending.sentence}.", ending, result
    )


def _failure(
    error: _Error,
    ending: Ending,
    document: _RunDocument | None = None,
    diagnostics: tuple[Diagnostic, ...] = (),
) -> ToubaEngineError:
    if document is not None and (document.status != "failed" or document.reason != error.code):
        return _invalid(ending, "its error and its status do not belong together")
    details = _details(
        ending,
        exit_code=PHASES[error.phase],
        status="failed",
        phase=error.phase,
        ref=error.ref,
        effect=error.effect,
        diagnostics=error.diagnostics or diagnostics,
    )
    if document is not None:
        details.run_id = document.run_id
        details.trace = document.trace
        details.explanation = document.explanation
    return error_class(error.phase)(error.code, error.message, hint=error.hint, details=details)


def _invalid(ending: Ending, reason: str) -> TransportError:
    return _transport(
        "InvalidEnvelope", f"The result document cannot be used: {reason}. The runtime {ending.sentence}.", ending
    )


def _unresponsive(ending: Ending, result: Any = None) -> TransportError:
    return _transport(
        "RuntimeUnresponsive", "The runtime did not end when it should have and was killed.", ending, result
    )


def _transport(
    code: str, message: str, ending: Ending, result: Any = None, *, show_output: bool = True
) -> TransportError:
    output = bytes(ending.output[:_OUTPUT_KEPT]) if show_output else b""
    details = _details(ending, result=result, output=output or None)
    if isinstance(result, RunResult):
        details.run_id = result.run_id
        details.trace = result.trace
        details.status = result.status
        details.explanation = result.explanation
    return TransportError(code, message, hint=CODES[code].hint, details=details)


def _details(ending: Ending, *, exit_code: int | None = None, **known: Any) -> ErrorDetails:
    return ErrorDetails(
        exit_code=ending.exit_code if ending.exit_code is not None else exit_code,
        signal=ending.signal_name,
        stderr=ending.stderr.decode("utf-8", "replace") or None,
        **known,
    )
