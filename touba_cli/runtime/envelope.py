"""The result document of a run, `touba-run-v1`: an end or a failure as status, reason, exit code and members."""

from __future__ import annotations

from ..air.program import place
from ..codec import encode
from ..errors import ToubaFailure
from ..limits import ENVELOPE_BYTES, RESULT_FILE_BYTES
from ..outcomes import OUTCOMES, PHASES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..air.program import Program
    from .driver import Ended

RUN_PROTOCOL = "touba-run-v1"

#: what to do when a part of the envelope is the one that makes it too large
_WAYS = {
    "result": "Return less: hand large data on through a tool.",
    "trace": 'Set `trace_pure_functions` to "calls", or let the program make fewer calls in one run.',
    "messages": "Show less.",
    "explanation": "Use shorter texts in `stop`, `fail` and `require`.",
    "error": "Use shorter texts in errors.",
}


def new_usage(steps: int = 0, external_calls: int = 0) -> dict[str, Any]:
    """The member `usage`."""
    return {
        "steps": steps,
        "external_calls": external_calls,
        "provider_calls": 0,
        "agent_steps": 0,
        "input_tokens": 0,
        "output_tokens": 0,
        "cost": None,
    }


def error_object(failure: ToubaFailure, program: Program | None = None) -> dict[str, Any]:
    """The member `error` of every `--json` document."""
    message = failure.message
    if program is not None and failure.place is not None:
        found = place(program, *failure.place)
        if found is not None:
            message = f"{message} ({found['file']}:{found['line']}:{found['column']})"
    return {
        "code": failure.code,
        "phase": failure.phase,
        "message": message,
        "ref": failure.ref,
        "hint": failure.hint or None,
        "effect": failure.effect,
        "diagnostics": failure.diagnostics,
    }


def exit_code(failure: ToubaFailure) -> int:
    """The exit code of a failure, by its phase."""
    return PHASES[failure.phase]


def _envelope(run_id: str, status: str, reason: str, code: int) -> dict[str, Any]:
    return {
        "protocol": RUN_PROTOCOL,
        "run_id": run_id,
        "status": status,
        "reason": reason,
        "exit_code": code,
        "result": None,
        "messages": [],
        "pending_interaction": None,
        "pending_interactions": [],
        "explanation": None,
        "warnings": [],
        "error": None,
        "trace": None,
        "trace_reference": None,
        "usage": new_usage(),
    }


def refused(run_id: str, failure: ToubaFailure, warnings: list[dict[str, str]] | None = None) -> dict[str, Any]:
    """The envelope of a run that did not begin."""
    envelope = _envelope(run_id, "failed", failure.code, exit_code(failure))
    envelope["error"] = error_object(failure)
    envelope["warnings"] = list(warnings or ())
    return envelope


def cancelled(run_id: str) -> dict[str, Any]:
    """The envelope of a run that was cancelled before it began."""
    return _envelope(run_id, *OUTCOMES["cancelled"])


def ended(run_id: str, program: Program, end: Ended, warnings: list[dict[str, str]]) -> dict[str, Any]:
    """The envelope of a run that has ended."""
    outcome = end.outcome
    failure = outcome.failure
    if failure is None:
        status, reason, code = OUTCOMES[outcome.kind]
    else:
        status, reason, code = "failed", failure.code, exit_code(failure)
    envelope = _envelope(run_id, status, reason, code)
    envelope["result"] = outcome.result
    envelope["messages"] = [{"interaction_ref": each.interaction_ref, "text": each.text} for each in end.messages]
    envelope["explanation"] = outcome.explanation
    envelope["warnings"] = [*warnings, *end.warnings]
    if failure is not None:
        envelope["error"] = error_object(failure, program)
    envelope["trace"] = end.trace
    envelope["usage"] = new_usage(**end.usage)
    return envelope


def unwritten(envelope: dict[str, Any], failure: ToubaFailure) -> tuple[dict[str, Any], bytes]:
    """The envelope, and its bytes, that stand for one which could not be written."""
    failure.message += ". The run has ended and its effects stand"
    shorter = refused(envelope["run_id"], failure)
    shorter["usage"] = envelope["usage"]
    return shorter, encode(shorter)


def write(envelope: dict[str, Any], keep: Callable[[bytes], bool] | None = None) -> tuple[dict[str, Any], bytes]:
    """The bytes of an envelope, without line end, and the envelope that they say.

    One that is too large becomes a failure that names its largest part: the run has ended, and its effects stand.

    Parameters:
        envelope: the result document.
        keep: is given the bytes of one that is too large, and says whether they are kept.
    """
    data = encode(envelope)
    if len(data) <= ENVELOPE_BYTES:
        return envelope, data
    largest = max(_WAYS, key=lambda name: len(encode(envelope[name])))
    message = (
        f"the result document has {len(data)} bytes; {ENVELOPE_BYTES} are allowed. Its largest part is `{largest}`. "
        "The run has ended and its effects stand"
    )
    if keep is not None and len(data) <= RESULT_FILE_BYTES and keep(data):
        message += "; the whole document was kept in the file that `result_out` names"
    failure = ToubaFailure("ResponseTooLarge", message, hint=_WAYS[largest])
    shorter = refused(envelope["run_id"], failure)
    shorter["usage"] = envelope["usage"]
    return shorter, encode(shorter)
