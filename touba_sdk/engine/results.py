"""What the engines return: frozen objects with attributes.

Their `repr` shows ids, codes and figures, never business values, so that they can be logged.
"""

from __future__ import annotations

from typing import Any, Generic, Literal

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypeVar

from touba_cli.codec import canonical

__all__ = [
    "CheckResult",
    "CompiledProgram",
    "Diagnostic",
    "Explanation",
    "Fix",
    "Message",
    "Related",
    "RunResult",
    "RunWarning",
    "Usage",
]


#: what `result_type` was; the wire form without one
Value = TypeVar("Value", default=Any)


class _Frozen(BaseModel):
    """Read strictly and completely: an unknown or missing member is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Message(_Frozen):
    """One text that the program showed: `show`."""

    interaction_ref: str
    text: str = Field(repr=False)


class Explanation(_Frozen):
    """The evaluated text of `stop`, `fail` or `require … else`, and what said it.

    Printed as a whole it shows `ref` only, because the text may hold business values: print ``explanation.text``.
    """

    ref: str | None
    text: str = Field(repr=False)


class RunWarning(_Frozen):
    """Something that did not change the outcome."""

    code: str
    message: str


class Usage(_Frozen):
    """What the run used. Programs have no agents yet, so the figures after the second are 0, and `cost` is None."""

    steps: int
    external_calls: int
    provider_calls: int
    agent_steps: int
    input_tokens: int
    output_tokens: int
    cost: None


class Fix(_Frozen):
    """A replacement that is right to apply: the text of a span (1-based lines and columns)."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str


class Related(_Frozen):
    """Another place that explains a problem."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    label: str


class Diagnostic(_Frozen):
    """One problem of a program, as the compiler sees it. Lines and columns count from 1."""

    code: str
    severity: Literal["error", "warning"]
    title: str
    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    label: str
    help: str | None
    candidates: tuple[str, ...] = Field(strict=False)
    fix: Fix | None
    related: tuple[Related, ...] = Field(strict=False)

    def __str__(self) -> str:
        text = f"{self.file}:{self.line}:{self.column}: {self.code} {self.title}"
        for more in (self.label, self.help):
            text += f" ({more})" if more and more not in text else ""
        return text


class RunResult(_Frozen, Generic[Value]):
    """How a run ended. The parameter is the type of `value`: what `result_type` was.

    Attributes:
        run_id: the id of the run.
        status: ``success``, ``stopped`` or ``cancelled``. A failed run raises a `ToubaEngineError` instead.
        reason: ``completed``, ``stopped`` or ``cancelled``; later more.
        exit_code: the exit code of the runtime that belongs to the outcome: 0, 11 or 130.
        result: what the program gave, in wire form: JSON values, Decimals and dates as text; None without one.
        value: the result as `result_type` says; the same as `result` where that was not given. None for a run that did
            not finish: look at `status` first.
        messages: what the program showed, in order.
        pending_interaction: the question that the run waits for; None, because programs cannot ask yet.
        pending_interactions: all that the run waits for; empty, because programs cannot wait yet.
        explanation: the text of `stop`, or None.
        trace: the trace document, or None.
        trace_reference: where the trace can be read again; None, because traces are not stored yet.
        usage: steps and external calls.
        warnings: what went wrong without changing the outcome.

    Example::

        run = engine.run("program.tb", inputs={"value": "Invoice 42"})
        if run.status == "success":
            print(run.result, run.usage.steps)
        else:
            print(run.reason, run.explanation and run.explanation.text)
    """

    run_id: str
    status: Literal["success", "stopped", "cancelled"]
    reason: str
    exit_code: int
    result: Any = Field(repr=False)
    value: Value = Field(repr=False)
    messages: tuple[Message, ...] = Field(repr=False)
    pending_interaction: None
    pending_interactions: tuple[()]
    explanation: Explanation | None = Field(repr=False)
    trace: dict[str, Any] | None = Field(repr=False)
    trace_reference: None
    usage: Usage
    warnings: tuple[RunWarning, ...]


class CheckResult(_Frozen):
    """What `check` found.

    Attributes:
        ok: True where there is no error; warnings may stand in `diagnostics` all the same.
        diagnostics: the problems, in the order of the text.
        not_run: what the program uses that this version checks and compiles, and cannot run yet, each with its place.
    """

    ok: bool
    diagnostics: tuple[Diagnostic, ...]
    not_run: tuple[str, ...] = ()


class CompiledProgram(_Frozen):
    """A compiled program, to be run with ``engine.run(air_json=compiled.air_json)``.

    Attributes:
        air_document: the AIR document as an object.
        digest: ``sha256:…`` over the program.
        diagnostics: the compiler's warnings.

    Example::

        compiled = engine.compile("program.tb")
        for value in ("Invoice 42", "Invoice 43"):
            engine.run(air_json=compiled.air_json, inputs={"value": value})
    """

    air_document: dict[str, Any] = Field(repr=False)
    digest: str
    diagnostics: tuple[Diagnostic, ...]

    @property
    def air_json(self) -> str:
        """The AIR document as text, in its canonical form."""
        return canonical(self.air_document).decode("utf-8")
