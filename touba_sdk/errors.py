"""What the engines raise: one class for each phase in which a call can fail.

Every error has a ``code`` from ``docs/errors.md``. Its text shows the code, one sentence, the place and what to do; it
never shows a business value. What may hold one (the evaluated text of `fail`, standard error, the trace) stands in
``details`` only, and ``details`` does not print it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from .engine.results import Diagnostic, Explanation

__all__ = [
    "AdmissionError",
    "CompileError",
    "ErrorDetails",
    "InternalError",
    "LaunchError",
    "RuntimeFailure",
    "ToubaEngineError",
    "TransportError",
    "UsageError",
]

#: how many of a compile error's diagnostics its text shows
_SHOWN = 5


class ErrorDetails:
    """What is known about a failed call besides its code; a member that does not apply is None.

    Attributes:
        exit_code: the exit code of the runtime; None where it did not start or was ended by a signal.
        signal: the name of the signal that ended the runtime, such as ``SIGKILL``.
        status: ``failed``, or the status of the result that the error carries.
        reason: the error's code.
        phase: ``usage``, ``compile``, ``admission``, ``runtime``, ``launch``, ``transport`` or ``internal``.
        ref: the reference that the error concerns, such as ``tool:app/Search``.
        effect: what is known about the effect of a failed external call: ``none``, ``done`` or ``unknown``.
        trace: the trace document.
        trace_reference: the reference of a stored trace.
        stderr: the end of the runtime's standard error, at most 64 KiB.
        diagnostics: the compiler's problems, as `touba_sdk.engine.results.Diagnostic`.
        run_id: the id of the run.
        explanation: the evaluated text of `fail` or `require … else`, as `touba_sdk.engine.results.Explanation`.
        result: the `RunResult` of a run that ended, where its result could not be given as it should: it did not fit
            `result_type`, was too large for the pipe, or the runtime contradicted it.
        output: the beginning of what the runtime wrote instead of one result document.
    """

    __slots__ = (
        "diagnostics", "effect", "exit_code", "explanation", "output", "phase", "reason", "ref", "result", "run_id",
        "signal", "status", "stderr", "trace", "trace_reference",
    )  # fmt: skip

    def __init__(
        self,
        *,
        exit_code: int | None = None,
        signal: str | None = None,
        status: str | None = None,
        reason: str | None = None,
        phase: str | None = None,
        ref: str | None = None,
        effect: str | None = None,
        trace: dict[str, Any] | None = None,
        trace_reference: dict[str, Any] | None = None,
        stderr: str | None = None,
        diagnostics: tuple[Diagnostic, ...] = (),
        run_id: str | None = None,
        explanation: Explanation | None = None,
        result: Any = None,
        output: bytes | None = None,
    ):
        self.exit_code = exit_code
        self.signal = signal
        self.status = status
        self.reason = reason
        self.phase = phase
        self.ref = ref
        self.effect = effect
        self.trace = trace
        self.trace_reference = trace_reference
        self.stderr = stderr
        self.diagnostics = diagnostics
        self.run_id = run_id
        self.explanation = explanation
        self.result = result
        self.output = output

    def __repr__(self) -> str:
        plain = ("exit_code", "signal", "status", "reason", "phase", "ref", "effect", "run_id")
        shown = [f"{name}={getattr(self, name)!r}" for name in plain if getattr(self, name) is not None]
        hidden = [name for name in self.__slots__ if name not in plain and getattr(self, name)]
        return f"ErrorDetails({', '.join(shown + [f'{name}=…' for name in sorted(hidden)])})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ErrorDetails):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__ = None  # type: ignore[assignment]  # the details hold documents, which have no hash


class ToubaEngineError(Exception):
    """A call of an engine that failed. The subclasses say in which phase.

    Attributes:
        code: what went wrong, a name of ``docs/errors.md``, such as ``InputInvalid``.
        reason: the same, under the name that a `RunResult` uses.
        message: one or two sentences with the place.
        hint: what to do, or None.
        details: an `ErrorDetails`.

    Example:
        >>> error = UsageError("OptionUnknown", "`run` has no option `inptus`.", hint="Did you mean `inputs`?")
        >>> error.code, error.details.exit_code
        ('OptionUnknown', None)
    """

    #: the phase that the class stands for; None for the base class
    phase: ClassVar[str | None] = None

    def __init__(
        self,
        code: str = "InternalError",
        message: str = "",
        *,
        hint: str | None = None,
        details: ErrorDetails | None = None,
    ):
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.hint = hint
        self.details = details if details is not None else ErrorDetails()
        if self.details.reason is None:
            self.details.reason = code
        if self.details.status is None:
            self.details.status = "failed"
        if self.details.phase is None:
            self.details.phase = self.phase

    @property
    def reason(self) -> str:
        return self.code

    def __str__(self) -> str:
        named = self.code == type(self).__name__  # Python writes the class in front: once is enough
        text = self.message if named and self.message else f"{self.code}: {self.message}" if self.message else self.code
        if self.details.ref and self.details.ref not in self.message:
            text += f" ({self.details.ref})"
        if self.details.effect == "unknown":
            text += "\nIt is not known whether the call had its effect: find out before you run it again."
        for line in self._problems():
            text += f"\n  {line}"
        return f"{text}\n{self.hint}" if self.hint else text

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.code!r}, {self.message!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        arguments = (type(self), self.code, self.message, self.hint, _as_dict(self.details))
        notes = getattr(self, "__notes__", None)
        return (_rebuild, arguments, {"__notes__": list(notes)}) if notes else (_rebuild, arguments)

    def _problems(self) -> list[str]:
        found = [str(problem) for problem in self.details.diagnostics]
        rest = len(found) - _SHOWN
        return found[:_SHOWN] + ([f"… and {rest} more"] if rest > 0 else [])


class UsageError(ToubaEngineError):
    """The call itself is wrong: an option, a path, a document. Nothing ran."""

    phase = "usage"


class CompileError(ToubaEngineError):
    """The program has errors; ``details.diagnostics`` lists them."""

    phase = "compile"


class AdmissionError(ToubaEngineError):
    """The program is sound, but may not start like this: inputs, grants, secrets, handlers. Nothing ran."""

    phase = "admission"


class RuntimeFailure(ToubaEngineError):
    """The run started and failed; ``details.effect`` says what is known about an external effect."""

    phase = "runtime"


class LaunchError(ToubaEngineError):
    """Something could not be started: the runtime, a handler."""

    phase = "launch"


class TransportError(ToubaEngineError):
    """The runtime gave no answer that can be used. A run may have happened, with its effects."""

    phase = "transport"


class InternalError(ToubaEngineError):
    """Touba itself failed."""

    phase = "internal"


_CLASSES: dict[str, type[ToubaEngineError]] = {
    cls.phase: cls
    for cls in (UsageError, CompileError, AdmissionError, RuntimeFailure, LaunchError, TransportError, InternalError)
    if cls.phase is not None
}


def error_class(phase: str) -> type[ToubaEngineError]:
    """The class that stands for a phase.

    >>> error_class("admission").__name__
    'AdmissionError'
    """
    return _CLASSES[phase]


def _as_dict(details: ErrorDetails) -> dict[str, Any]:
    return {name: getattr(details, name) for name in details.__slots__}


def _rebuild(
    cls: type[ToubaEngineError], code: str, message: str, hint: str | None, details: dict[str, Any]
) -> ToubaEngineError:
    return cls(code, message, hint=hint, details=ErrorDetails(**details))
