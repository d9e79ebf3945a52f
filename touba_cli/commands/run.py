"""`touba run`: options → program → admission → driver → envelope."""

from __future__ import annotations

import gc
import os
import sys
import time

from ..errors import ToubaFailure
from ..limits import MAX_VALUE_BYTES
from ..options import EXACTLY_ONE
from ..outcomes import PHASES
from ..runtime import envelope as envelopes
from ..runtime.driver import Driver, Host, Identity, overdue
from ..runtime.interrupts import Cancelled, Overdue
from . import inputs
from .output import error_text, note, pretty, print_document, print_text, relay, relay_visible, warning_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..air.program import Program
    from ..project.files import OutputFile
    from ..project.secrets import Secrets
    from ..runtime.interrupts import Interrupts

#: charged for reading the inputs: as much as a value may ever need
_INPUT_STEPS = 1 << 62


def command(words: list[str], interrupts: Interrupts) -> int:
    """Run the command and print its document or text; gives the exit code."""
    as_json = inputs.wants_json(words)
    run = Run(interrupts, as_json)
    envelope = run.execute(words)
    try:
        envelope, data = envelopes.write(envelope, run.keep)
    except Exception as fault:  # no memory for it, for example: what happened is said in few words
        envelope, data = envelopes.unwritten(envelope, inputs.as_failure(fault))
    code: int = envelope["exit_code"]
    interrupts.leave_when_stuck()
    if not as_json:
        is_told = _print_for_people(envelope, run.diagnostics_text, interrupts.progress)
        if code == 0 and (run.is_text_lost or not is_told):
            code = PHASES["internal"]
    elif not print_document(data, interrupts.progress):
        code = PHASES["internal"]  # whatever it was, nobody has been told
    return code


class Run:
    """One run of the command: what is known of it so far, so that every failure finds its envelope."""

    __slots__ = (
        "_as_json", "_deadline", "_interrupts", "_result_out", "_run_id", "_trace_file", "_warnings",
        "diagnostics_text", "is_text_lost",
    )  # fmt: skip

    def __init__(self, interrupts: Interrupts, as_json: bool):
        self._interrupts = interrupts
        self._as_json = as_json
        self._run_id = os.urandom(16).hex()
        self._trace_file: OutputFile | None = None
        self._result_out: str | None = None
        self._warnings: list[dict[str, str]] = []
        #: the program's errors as a terminal shows them
        self.diagnostics_text = ""
        #: whether a message of the program could not be written
        self.is_text_lost = False
        #: monotonic seconds at which the run fails
        self._deadline: float | None = None

    def execute(self, words: list[str]) -> dict[str, Any]:
        """Do everything up to the envelope. Never raises."""
        try:
            return self._execute(words)
        except Cancelled:
            return envelopes.cancelled(self._run_id)
        except Overdue:
            return envelopes.refused(self._run_id, overdue(None), self._warnings)
        except Exception as fault:
            return envelopes.refused(self._run_id, inputs.as_failure(fault), self._warnings)
        finally:
            if self._trace_file is not None:
                self._trace_file.discard()

    def keep(self, data: bytes) -> bool:
        """Put a result document that is too large into the file that was named for it; whether that was done."""
        if self._result_out is None:
            return False
        from ..project.files import write_new

        return write_new(self._result_out, data)

    def _execute(self, words: list[str]) -> dict[str, Any]:
        options = inputs.read_options("run", words, self._interrupts)
        self._result_out = options.get("result_out")
        started = time.monotonic()
        self._run_id = options.get("run_id", self._run_id)
        _check_program_options(options)
        root, started_in = inputs.enter_project(options)
        if "trace_out" in options:
            from ..project.files import OutputFile

            self._trace_file = OutputFile(options["trace_out"], "the trace file")
        limits: dict[str, int] = options.get("run_limits", {})
        if "deadline_ms" in limits:
            self._deadline = started + limits["deadline_ms"] / 1000
        self._interrupts.raise_at_end(self._deadline)
        try:
            program = self._load(options, root, started_in)
            driver = self._admit(program, options, root)
            _settle_memory()
        finally:
            self._interrupts.attend()
        end = driver.run()
        if self._trace_file is not None:
            self._write_trace(self._trace_file, end.trace)
        return envelopes.ended(self._run_id, program, end, self._warnings)

    def _load(self, options: dict[str, Any], root: str, started_in: str) -> Program:
        """The program, compiled or read."""
        from ..air.program import load_program, read_program

        if "source" in options:
            path = inputs.find_source(root, options["source"], started_in)
            air, compiled = inputs.load_source(options, root, path)
            if air is not None:
                return load_program(air)
            assert compiled is not None
            if not self._as_json:
                self.diagnostics_text = inputs.render_diagnostics(compiled.diagnostics)
            raise inputs.compile_failure(compiled)
        if "air" in options:
            from ..limits import AIR_BYTES
            from ..project.files import read_file

            return read_program(read_file(options["air"], AIR_BYTES, "the AIR file"))
        return read_program(_air_bytes(options["air_json"]))

    def _admit(self, program: Program, options: dict[str, Any], root: str) -> Driver:
        """Everything that is checked before anything runs."""
        from ..runtime.admission import bind_tools, check_features, choose_entry, decode_inputs, reachable_tools
        from ..runtime.machine import Machine, RunLimits
        from ..values.check import TypeTable
        from ..values.model import Meter

        limits: dict[str, int] = options.get("run_limits", {})
        check_features(program)
        entry = choose_entry(program, options.get("entry_ref"))
        table = TypeTable(program.types)
        meter = Meter(_INPUT_STEPS, limits.get("max_value_bytes", MAX_VALUE_BYTES))
        strict = options.get("strict_inputs", False)
        arguments = decode_inputs(program.callables[entry], table, options.get("inputs", {}), meter, strict=strict)
        manifest = None
        if "manifest" in options:
            from ..project.manifest import read_manifest

            manifest = read_manifest(options["manifest"])
        python = options.get("python_executable") or sys.executable

        def open_secrets() -> Secrets | None:
            if "secrets" not in options:
                return None
            from ..project.secrets import read_secrets

            return read_secrets(options["secrets"], root)

        tools = reachable_tools(program, entry)
        handlers = bind_tools(
            program, tools, manifest, open_secrets, root, python, table, options.get("owner"), self._warnings
        )
        granted = {ref: handler.grants for ref, handler in handlers.items()}
        run_limits = RunLimits(**{name: value for name, value in limits.items() if name != "deadline_ms"})
        detailed = options.get("trace_pure_functions", "full") == "full"
        machine = Machine(program, table, entry, arguments, run_limits, granted, trace_functions=detailed)
        identity = Identity(self._run_id, program.digest, entry)
        host = Host(self._show, relay if self._as_json else relay_visible)
        return Driver(machine, handlers, identity, self._interrupts, host, self._deadline, limits.get("deadline_ms"))

    def _show(self, text: str) -> None:
        if not self._as_json and not print_text(text, interrupts=self._interrupts, due=self._deadline):
            self.is_text_lost = True

    def _write_trace(self, file: OutputFile, trace: dict[str, Any]) -> None:
        """The run has happened: from here on a trace that cannot be written is a warning."""
        from ..codec import encode
        from ..project.files import cause, shown

        try:
            file.write(encode(trace) + b"\n")
        except OSError as fault:
            text = f"the trace was not written to `{shown(file.path)}`: {cause(fault)}"
            self._warnings.append({"code": "TraceNotWritten", "message": text})


def _check_program_options(options: dict[str, Any]) -> None:
    given = [name for name in EXACTLY_ONE if name in options]
    if not given:
        raise ToubaFailure(
            "UsageError",
            "no program is given",
            hint="Name a program: `touba run PROGRAM.tb`, or --air=FILE for a compiled one.",
        )
    source: str = options.get("source", "")
    if source.endswith(".json"):
        from ..project.files import shown

        raise ToubaFailure(
            "UsageError",
            f"`{shown(source)}` is no program's text, which ends in `.tb`",
            hint=f"A compiled program is named by the option `air`: --air={shown(source)}.",
        )
    if len(given) > 1:
        raise ToubaFailure("UsageError", f"`{given[0]}` and `{given[1]}` are both given; a run has one program")


def _air_bytes(air: Any) -> bytes:
    """The bytes of AIR that was given as text or as an object."""
    if isinstance(air, str):
        return air.encode("utf-8")
    from ..codec import canonical

    try:
        return canonical(air)
    except TypeError:
        raise ToubaFailure("AirInvalid", "the AIR object holds a number that is no 64-bit whole number") from None


def _settle_memory() -> None:
    """What is loaded stays: the collector need not look at it again, and runs seldom for the rest."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()


def _print_for_people(envelope: dict[str, Any], diagnostics: str, progress: Callable[[], None]) -> bool:
    """Print what people want to know of a run; False where its result could not be written."""
    note(warning_text(envelope["warnings"]))
    status = envelope["status"]
    explanation = envelope["explanation"]
    if status == "success":
        result = envelope["result"]
        if result is not None:
            return print_text(result if isinstance(result, str) else pretty(result), progress)
    elif status == "failed":
        note(diagnostics)
        error = {**envelope["error"], "hint": None} if diagnostics else envelope["error"]
        note(error_text(error, explanation["text"] if explanation else None))
    elif status == "stopped":
        note(f"stopped: {explanation['text'] if explanation else envelope['reason']}\n")
    else:
        note(f"{status}\n")
    return True
