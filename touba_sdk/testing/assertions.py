"""What a run came to: success with a result, or a refusal with a code."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pprint import pformat
from types import TracebackType
from typing import Any, overload

from .._encode import EncodeError, encode
from .traces import events_of, trace_tree


class _Nothing:
    """Stands for an expectation that was not given."""


_NOT_GIVEN = _Nothing()

#: phases in which a runtime refuses a run that could start
_REFUSING = ("admission", "runtime")
#: class of `touba_sdk.errors` → its phase
_PHASES = {
    "UsageError": "usage",
    "CompileError": "compile",
    "AdmissionError": "admission",
    "RuntimeFailure": "runtime",
    "LaunchError": "launch",
    "TransportError": "transport",
    "InternalError": "internal",
}


def assert_run_succeeded(result: Any, expected: Any = _NOT_GIVEN) -> Any:
    """Check that a run finished with exactly this result, and give the `RunResult` back.

    Parameters:
        result: what `engine.run` gave.
        expected: the result, in wire form or as Python values (`Decimal("1.50")` is `"1.50"`); where the run was asked
            for a `result_type`, its value may stand here, too. Left out, any result will do. True is not 1.

    Raises:
        AssertionError: with what was expected, what there is and the trace as a tree.

    Example::

        run = assert_run_succeeded(engine.run("program.tb", inputs={"n": 2}), {"total": Decimal("12.50")})
    """
    __tracebackhide__ = True
    status, reason = getattr(result, "status", None), getattr(result, "reason", None)
    if (status, reason) != ("success", "completed"):
        raise AssertionError(_report("status success, reason completed", f"status {status}, reason {reason}", result))
    if isinstance(expected, _Nothing) or _fits(result, expected):
        return result
    raise AssertionError(_report(f"result {pformat(expected)}", f"result {pformat(result.result)}", result))


def _fits(result: Any, expected: Any) -> bool:
    if same(result.result, expected):
        return True
    value = getattr(result, "value", None)
    if value is not None and type(value) is type(expected) and value == expected:
        return True
    try:
        return same(result.result, encode(expected))
    except EncodeError:
        return False


def same(left: Any, right: Any) -> bool:
    """Whether two wire values are equal. Unlike `==`: True is not 1, 1 is not 1.0. The order of keys does not count."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, str) or isinstance(right, str):
        return type(left) is type(right) and bool(left == right)
    if isinstance(left, Sequence) and isinstance(right, Sequence):
        return len(left) == len(right) and all(map(same, left, right))
    if type(left) is not type(right):
        return False
    return bool(left == right) or (isinstance(left, float) and math.isnan(left) and math.isnan(right))


class Refused:
    """The context manager that `assert_run_refused(code)` gives; ``error`` is the refusal, once the block has ended."""

    def __init__(self, code: str):
        self.code = code
        self._error: Any = None

    @property
    def error(self) -> Any:
        """The `ToubaEngineError` that was caught. Raises AssertionError before the block has ended."""
        __tracebackhide__ = True
        if self._error is None:
            raise AssertionError("the block has not ended yet: nothing was refused so far")
        return self._error

    def __enter__(self) -> Refused:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        __tracebackhide__ = True
        if error is None:
            raise AssertionError(f"expected: a refusal with code {self.code}\nactual: the block ended without an error")
        if not is_engine_error(error):
            return False
        self._error = judge(error, self.code)
        return True


@overload
def assert_run_refused(call: str, /) -> Refused: ...
@overload
def assert_run_refused(call: Callable[[], Any], code: str, /) -> Any: ...
def assert_run_refused(call: Callable[[], Any] | str, code: str | None = None, /) -> Any:
    """Check that the runtime refuses a run with exactly this code, and give the error.

    Only refusals of admission and of the runtime count. A program with errors, a misused option, a runtime that cannot
    be started and a broken transport fail the assertion: they prove nothing about what a program may do.

    Parameters:
        call: a function without parameters that makes the run; where it gives an awaitable, so does this.
        code: the one code that is expected, for example `GrantMissing`.

    Raises:
        AssertionError: where nothing is refused, or something else is.

    Example::

        error = assert_run_refused(lambda: engine.run("program.tb", inputs={"n": -1}), "InputInvalid")
        with assert_run_refused("GrantMissing") as refused:
            engine.run("program.tb", manifest="narrow.json")
        print(refused.error.message)
    """
    __tracebackhide__ = True
    if isinstance(call, str):
        if code is not None:
            raise TypeError("assert_run_refused takes a call and a code, or a code alone")
        return Refused(call)
    if code is None:
        raise TypeError("assert_run_refused needs the code that is expected")
    try:
        outcome = call()
    except Exception as error:
        return _refusal(error, code)
    if hasattr(outcome, "__await__"):
        return _refused_later(outcome, code)
    raise AssertionError(_not_refused(outcome, code))


async def _refused_later(outcome: Awaitable[Any], code: str) -> Any:
    __tracebackhide__ = True
    try:
        result = await outcome
    except Exception as error:
        return _refusal(error, code)
    raise AssertionError(_not_refused(result, code))


def _refusal(error: Exception, code: str) -> Any:
    """The refusal that a call raised. Anything that is not of the engine is the test's own fault, and seen as it is."""
    __tracebackhide__ = True
    if not is_engine_error(error):
        raise error
    return judge(error, code)


def is_engine_error(error: object) -> bool:
    """Whether this is a `ToubaEngineError`: known by its class's name, so that the engine need not be loaded."""
    return any(base.__name__ == "ToubaEngineError" for base in type(error).__mro__)


def judge(error: Any, code: str) -> Any:
    """Give the error where it is a refusal with this code. Raises AssertionError where it is not."""
    __tracebackhide__ = True
    phase = getattr(error, "phase", None)
    if phase is None:
        phase = next((_PHASES[base.__name__] for base in type(error).__mro__ if base.__name__ in _PHASES), None)
    if phase in _REFUSING and error.code == code:
        return error
    expected = f"a refusal of admission or runtime with code {code}"
    raise AssertionError(_report(expected, f"{error.code} in phase {phase}: {error}", error)) from error


def _not_refused(result: Any, code: str) -> str:
    status, reason = getattr(result, "status", None), getattr(result, "reason", None)
    return _report(f"a refusal with code {code}", f"the run ended with status {status}, reason {reason}", result)


def _report(expected: str, actual: str, holder: Any) -> str:
    try:
        tree = trace_tree(events_of(holder))
    except AssertionError as none:
        tree = f"({none})"
    return f"expected: {expected}\nactual: {actual}\ntrace:\n{tree}"
