"""Every code with which Touba refuses or fails, once.

Plain data and one exception, without imports. A code is a PascalCase name; its row says in which phase it can
appear, whether a program's ``attempt`` may see it, what it means and what to do. ``docs/errors.md`` is written from
this table and a test provokes each row. The codes of the compiler's diagnostics (``TB…``) stand in
``touba_cli/language/diagnostics.py``.
"""

from __future__ import annotations


class Code:
    """One row: ``phase`` decides the exit code; ``catchable`` says whether ``attempt`` sees it."""

    __slots__ = ("catchable", "hint", "phase", "sentence")

    def __init__(self, phase: str, sentence: str, hint: str, catchable: bool = False):
        self.phase = phase
        self.sentence = sentence
        self.hint = hint
        self.catchable = catchable


CODES: dict[str, Code] = {
    # usage: the call itself is wrong; nothing was read further
    "UsageError": Code("usage", "The command or an option is wrong.", "Read `touba COMMAND --help`."),
    "OptionUnknown": Code("usage", "An option does not exist.", "`touba COMMAND --help` lists the options."),
    "OptionInvalid": Code(
        "usage", "An option has a value that it cannot take.", "Give a value that the message allows."
    ),
    "FileUnreadable": Code(
        "usage", "A file that an option names cannot be read.", "Check the path and its permissions."
    ),
    "FileUnwritable": Code(
        "usage", "A file that an option names cannot be written.", "Name a file in a writable folder."
    ),
    "JsonInvalid": Code("usage", "A document is not valid JSON.", "Correct it at the line and column given."),
    "DocumentInvalid": Code("usage", "A document does not have its shape.", "Correct it at the path given."),
    "RequestTooLarge": Code(
        "usage", "The run request is larger than 32 MiB.", "Pass large data by file through a tool."
    ),
    "EngineClosed": Code("usage", "An engine was used after `close()`.", "Make a new engine, or close it later."),
    "EngineForked": Code(
        "usage", "An engine was used in a forked process that did not make it.", "Make the engine after the fork."
    ),
    # compile
    "CompileFailed": Code("compile", "The program has errors.", "Correct the problems listed in `diagnostics`."),
    # admission: the program is sound, but may not start like this
    "AirInvalid": Code(
        "admission", "The AIR document is not sound.", "Compile the program again with `touba compile`."
    ),
    "FeatureUnavailable": Code(
        "admission",
        "The program uses a part of the language that this version does not run.",
        "This version checks and compiles it, and cannot run it yet.",
    ),
    "EntryUnknown": Code(
        "admission", "The entry does not exist or cannot be an entry.", "Name one of the entries listed in the message."
    ),
    "InputInvalid": Code("admission", "An input does not fit the program.", "Correct the input at the path given."),
    "PathOutsideProject": Code(
        "admission", "A path leaves the project folder.", "Keep scripts and data inside the project root."
    ),
    "ToolUnbound": Code("admission", "A tool of the program has no handler.", "Bind it under `tools` in the manifest."),
    "HandlerMissing": Code(
        "admission", "A handler's script or program is not there.", "Correct `command` in the manifest."
    ),
    "HandlerKindUnavailable": Code(
        "admission", "This runtime does not have that kind of handler.", "Bind the tool to a handler of kind `process`."
    ),
    "GrantMissing": Code(
        "admission", "A tool requires a grant that the manifest does not give.", "Add it to `grants`, if you mean to."
    ),
    "OwnerMissing": Code(
        "admission",
        "A tool uses a memory of scope `owner`, and the run has no owner.",
        "Name the owner: `owner` in Python, --owner=NAME at a terminal.",
    ),
    "SecretMissing": Code(
        "admission",
        "A tool holds a secret that is not bound or not set.",
        "Bind it in the manifest and the secrets file, and set what the file names.",
    ),
    "SecretTooShort": Code("admission", "A secret has fewer than 8 characters.", "Use a longer secret."),
    "SecretExposed": Code(
        "admission",
        "A secrets file that holds values can be read by others or is tracked by git.",
        "Make it private (mode 0600) and ignore it, or use `env` or `file` handles.",
    ),
    # runtime: limits
    "StepLimitExceeded": Code("runtime", "The run took more steps than it may.", "Raise `run_limits.max_steps`."),
    "DepthLimitExceeded": Code("runtime", "Calls are nested deeper than they may be.", "Check the recursion."),
    "ExternalCallLimitExceeded": Code(
        "runtime", "The run made more tool calls than it may.", "Raise `run_limits.max_external_calls`."
    ),
    "ValueTooLarge": Code("runtime", "A value is larger or deeper than it may be.", "Build smaller values."),
    "MessagesTooLarge": Code(
        "runtime", "The texts that a run shows have more than 32 MiB together.", "Show less, or shorter texts."
    ),
    "DeadlineExceeded": Code("runtime", "The run took longer than its deadline.", "Raise `run_limits.deadline_ms`."),
    "ResponseTooLarge": Code(
        "runtime", "The result document is larger than 32 MiB. The run has ended; its effects stand.", "Return less."
    ),
    # runtime: what a program does itself
    "BusinessFailure": Code(
        "runtime", "The program failed with `fail`.", "Its own words are in `explanation`.", catchable=True
    ),
    "RequirementFailed": Code(
        "runtime", "A `require` did not hold.", "Its own words are in `explanation`.", catchable=True
    ),
    "IntegerOverflow": Code("runtime", "A whole number left 64 bits.", "Use Decimal.", catchable=True),
    "DecimalOverflow": Code("runtime", "A Decimal left its range.", "Use smaller numbers.", catchable=True),
    "FloatOverflow": Code("runtime", "A Float left its range.", "Use smaller numbers.", catchable=True),
    "DateOverflow": Code("runtime", "A date left the years 1 to 9999.", "Use nearer dates.", catchable=True),
    "DurationOverflow": Code(
        "runtime", "A Duration is longer than 999,999,999 days.", "Use shorter durations.", catchable=True
    ),
    "DurationNotWholeDays": Code(
        "runtime", "A Duration of no whole days was added to a Date.", "Use whole days, or a DateTime.", catchable=True
    ),
    "DivisionByZero": Code("runtime", "A number was divided by zero.", "Test the divisor first.", catchable=True),
    "IndexOutOfRange": Code(
        "runtime", "A list or text has no such position.", "Test the length first.", catchable=True
    ),
    "PlacesOutOfRange": Code(
        "runtime", "`round` was asked for more than 34 places.", "Use -34 to 34 places.", catchable=True
    ),
    "SeparatorEmpty": Code(
        "runtime", "`split` or `replace` was given an empty Text to look for.", "Test it first.", catchable=True
    ),
    "ConstraintViolated": Code(
        "runtime", "A value does not keep the constraint of its place.", "Check it first.", catchable=True
    ),
    "AirUnsound": Code(
        "runtime", "The AIR document does what compiled programs never do.", "Compile the program again."
    ),
    # runtime: tools
    "ToolTimeout": Code("runtime", "A handler took longer than it may.", "Raise its time-out.", catchable=True),
    "ToolRequestTooLarge": Code("runtime", "A tool request is too large.", "Send less at once.", catchable=True),
    "ToolResponseTooLarge": Code("runtime", "A handler answered too much.", "Answer less at once.", catchable=True),
    "ToolResponseInvalid": Code(
        "runtime",
        "A handler's answer is not a tool response.",
        "Use `define_tool`; print only to standard error.",
        catchable=True,
    ),
    "ToolResultInvalid": Code(
        "runtime",
        "A handler's value does not fit the type that its tool gives.",
        "Correct the handler.",
        catchable=True,
    ),
    "ToolExited": Code(
        "runtime",
        "A handler ended without an answer.",
        "See its standard error: at a terminal it is shown, in Python it stands in `details.stderr`.",
        catchable=True,
    ),
    "ToolHandlerFailed": Code(
        "runtime",
        "A handler raised an exception.",
        "Run its script by hand with a request: that shows the exception's text.",
        catchable=True,
    ),
    "ToolRefMismatch": Code("runtime", "A handler serves another tool.", "Correct the manifest or handler."),
    "SecretLeak": Code(
        "runtime",
        "A handler's answer holds one of its secrets; it was withheld.",
        "Do not answer secrets.",
        catchable=True,
    ),
    "HandlerRefused": Code(
        "runtime",
        "A handler refuses a call: a grant, a secret or an input is not what it requires.",
        "Correct the manifest or the handler.",
    ),
    "MemoryMetadataInvalid": Code(
        "runtime",
        "What a handler says about memories is malformed.",
        "Correct `memory_metadata` of `create_tool_result`.",
        catchable=True,
    ),
    "MemoryNotDeclared": Code(
        "runtime",
        "What a handler says of a memory is not as the program declares it.",
        "Declare it (`reads memory`, `writes memory`), or correct `memory_metadata` at the place given.",
        catchable=True,
    ),
    # launch: something could not be started
    "HandlerNotStarted": Code("launch", "A handler could not be started.", "Check the command in the manifest."),
    "IncompatibleRuntime": Code(
        "launch", "Engine and runtime do not speak the same protocol.", "Install matching versions of both."
    ),
    "InterpreterNotFound": Code(
        "launch", "No Python interpreter to run Touba with was found.", "Set `python_executable` or TOUBA_PYTHON."
    ),
    "RuntimeNotFound": Code("launch", "The runtime was not found.", "Install `touba`, or set `cli_path` or TOUBA_CLI."),
    "RuntimeNotStarted": Code("launch", "The runtime could not be started.", "Check the path in the message."),
    # transport: between engine and runtime; only the engine reports these
    "InvalidEnvelope": Code(
        "transport", "The runtime did not give one whole result document.", "See `stderr` in details."
    ),
    "RuntimeCrashed": Code("transport", "The runtime ended without a result document.", "See `stderr` in details."),
    "RuntimeUnresponsive": Code("transport", "The runtime did not end when asked and was killed.", "See `stderr`."),
    "ResultMismatch": Code(
        "transport",
        "The run finished, but its result does not fit `result_type`; its effects stand.",
        "Correct the type. The result is in `details.result`.",
    ),
    "ExitContradicted": Code(
        "transport",
        "The runtime gave a result and then ended as if it had failed.",
        "See `details.result` and `stderr`; the run may have had effects.",
    ),
    # internal
    "InternalError": Code("internal", "Touba itself failed.", "Report it with the text of standard error."),
}


#: code of a warning of a run → what it means, what to do. Warnings change neither the outcome nor the exit code.
WARNINGS: dict[str, tuple[str, str]] = {
    "EffectUnknown": (
        "The end of the run stopped the handler of a tool that writes; whether it has changed something is not known.",
        "Find that out before you run the program again.",
    ),
    "GrantUnused": (
        "The manifest gives a tool a grant that the tool does not require; its handler does not get it.",
        "Remove it from `grants`, or declare it: `requires GRANT` in the tool.",
    ),
    "SecretUnused": (
        "The manifest binds a secret to a handle that the tool does not declare; its handler does not get it.",
        "Remove it from `secrets`, or declare it: `secret NAME` in the tool.",
    ),
    "ToolUnknown": (
        "The manifest binds a tool that the program does not have.",
        "Correct the reference, or remove it where the manifest serves this program only.",
    ),
    "TraceNotWritten": (
        "The trace file could not be written. The run has happened.",
        "Name a file that can be written.",
    ),
    "TraceShortened": (
        "The trace has reached a limit, and does not tell of everything.",
        "`usage` counts all of it; docs/limits.md has the limits.",
    ),
}


class ToubaFailure(Exception):
    """A refusal or failure on its way to the envelope.

    ``message`` may be shown anywhere: it never holds a business value. ``explanation`` holds the evaluated text of
    the program's own words (``fail``, ``require``) and goes only into the envelope's member of that name.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        ref: str | None = None,
        hint: str | None = None,
        phase: str | None = None,
        effect: str | None = None,
        explanation: str | None = None,
        diagnostics: list[dict[str, object]] | None = None,
    ):
        super().__init__(message)
        self.code = code
        self.message = message
        self.ref = ref
        row = CODES.get(code)
        self.hint = hint if hint is not None else (row.hint if row else None)
        self.phase = phase if phase is not None else (row.phase if row else "runtime")
        self.effect = effect
        self.explanation = explanation
        self.diagnostics = diagnostics or []
        #: where in the program: callable reference and number of the instruction; the machine fills it in
        self.place: tuple[str, int] | None = None
