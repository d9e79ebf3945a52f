"""Every default, bound and grace of Touba, once.

Plain data without imports: the runtime, the compiler, the SDK and ``docs/limits.md`` read this table. The
constants below it are the same figures under short names.
"""

from __future__ import annotations

KIB = 1024
MIB = 1024 * 1024


class Limit:
    """One published figure: its default, what a caller may set, its unit and what it bounds."""

    __slots__ = ("default", "highest", "lowest", "sentence", "unit")

    def __init__(self, default: int, unit: str, sentence: str, lowest: int | None = None, highest: int | None = None):
        self.default = default
        self.unit = unit
        self.sentence = sentence
        self.lowest = default if lowest is None else lowest
        self.highest = default if highest is None else highest


LIMITS: dict[str, Limit] = {
    # What a run may use. `run_limits` changes the first five; the smaller of host and table counts for size.
    "max_steps": Limit(1_000_000, "steps", "steps that a run may take", 1, 1_000_000_000),
    "max_depth": Limit(200, "calls", "calls of callables that may be open inside each other", 1, 1_000),
    "max_external_calls": Limit(1_000, "calls", "tool calls that a run may make", 0, 1_000_000),
    "max_value_bytes": Limit(32 * MIB, "bytes", "size of one value, as `docs/limits.md` counts it", 1 * KIB, 32 * MIB),
    "deadline_ms": Limit(0, "ms", "time that a run may be active; absent means no deadline", 1, 7 * 24 * 3_600_000),
    "messages_bytes": Limit(
        32 * MIB,
        "bytes",
        "size of all texts that a run shows, each counted as a Text, with 64 and the length of its reference",
    ),
    "value_depth": Limit(100, "levels", "nesting of one value"),
    "slice_steps": Limit(20_000, "steps", "steps between two looks at cancellation, deadline and life line"),
    # Documents.
    "request_bytes": Limit(32 * MIB, "bytes", "size of a run request"),
    "envelope_bytes": Limit(32 * MIB, "bytes", "size of the result document of a run"),
    "result_file_bytes": Limit(
        256 * MIB, "bytes", "size of a result document that is kept in a file because it is larger than that"
    ),
    "document_bytes": Limit(8 * MIB, "bytes", "size of a manifest or secrets file"),
    "air_bytes": Limit(32 * MIB, "bytes", "size of an AIR document"),
    "json_depth": Limit(200, "levels", "nesting of any JSON document"),
    "number_digits": Limit(400, "characters", "length of one number in a JSON document"),
    # Programs.
    "source_bytes": Limit(1 * MIB, "bytes", "size of one source file"),
    "source_files": Limit(1_000, "files", "source files of one program"),
    "bracket_depth": Limit(64, "brackets", "brackets open inside each other in a source file"),
    "block_depth": Limit(32, "blocks", "blocks inside each other in a source file"),
    "expression_depth": Limit(100, "levels", "operations inside each other in one expression"),
    "type_depth": Limit(32, "levels", "types inside each other; an alias counts as a level"),
    "type_members": Limit(1_000, "members", "fields of a record or variant, and variants of a choice"),
    "left_out_fields": Limit(
        500_000, "fields", "Optional fields that the records and variants made by one program leave out"
    ),
    "callable_slots": Limit(10_000, "slots", "inputs, names and hidden places of one callable"),
    "interpolation_depth": Limit(4, "texts", "interpolations inside each other"),
    "pattern_characters": Limit(1_000, "characters", "length of one pattern of `matching`"),
    "pattern_depth": Limit(50, "levels", "groups inside each other in one pattern, the whole counted"),
    "pattern_states": Limit(500, "states", "states of the automaton of one pattern"),
    "all_pattern_states": Limit(10_000, "states", "states of the automatons of all patterns of a program"),
    "diagnostics_shown": Limit(50, "problems", "problems that are shown of one program"),
    # Agents, groups and triggers: what a program may write.
    "agent_steps": Limit(8, "steps", "steps of an agent, where it names none", 1, 1_000),
    "agent_provider_calls": Limit(
        17, "calls", "provider calls of an agent with 8 steps; where it names none, 2 a step and one more", 1, 10_000
    ),
    "group_limit": Limit(1_000_000, "branches", "most branches of a group that `at most` can name", 1, 1_000_000),
    "trigger_quota": Limit(1_000_000, "events", "most events that the quota of a trigger can name", 1, 1_000_000),
    "cache_bytes": Limit(256 * MIB, "bytes", "size of the compile cache; the oldest entries are removed first"),
    # Tools.
    "handler_timeout_ms": Limit(60_000, "ms", "time that a handler may take", 1, 24 * 3_600_000),
    "tool_request_bytes": Limit(8 * MIB, "bytes", "size of a tool request", 1 * KIB, 64 * MIB),
    "tool_response_bytes": Limit(8 * MIB, "bytes", "size of a tool response", 1 * KIB, 64 * MIB),
    "stderr_tail_bytes": Limit(64 * KIB, "bytes", "end of a process's standard error that is kept"),
    "stderr_forwarded_bytes": Limit(
        1 * MIB, "bytes", "standard error of one handler call that is forwarded at once; of the rest its end follows"
    ),
    "secret_characters": Limit(8, "characters", "least length of a secret"),
    "error_message_characters": Limit(2_000, "characters", "longest message that a handler's error keeps"),
    "pure_function_pairs": Limit(10_000, "pairs", "pairs of events about functions that a trace holds"),
    "trace_events": Limit(
        40_000, "events", "events about calls of skills and strategies, messages and caught failures that a trace holds"
    ),
    # Stopping.
    "handler_grace_ms": Limit(1_000, "ms", "time between asking a handler to end and killing it"),
    "runtime_cancel_ms": Limit(2_000, "ms", "time that a cancelled runtime gets before its group is terminated"),
    "runtime_terminate_ms": Limit(3_000, "ms", "time that a terminated runtime gets before its group is killed"),
    "reap_ms": Limit(2_000, "ms", "time that a killed process gets to be collected"),
    "linger_ms": Limit(500, "ms", "time that pipes are read after their process has ended"),
    "deadline_slack_ms": Limit(2_000, "ms", "time after a deadline before a silent runtime is stopped by force"),
}

MAX_STEPS = LIMITS["max_steps"].default
MAX_DEPTH = LIMITS["max_depth"].default
MAX_EXTERNAL_CALLS = LIMITS["max_external_calls"].default
MAX_VALUE_BYTES = LIMITS["max_value_bytes"].default
MESSAGES_BYTES = LIMITS["messages_bytes"].default
VALUE_DEPTH = LIMITS["value_depth"].default
SLICE_STEPS = LIMITS["slice_steps"].default
REQUEST_BYTES = LIMITS["request_bytes"].default
ENVELOPE_BYTES = LIMITS["envelope_bytes"].default
RESULT_FILE_BYTES = LIMITS["result_file_bytes"].default
DOCUMENT_BYTES = LIMITS["document_bytes"].default
AIR_BYTES = LIMITS["air_bytes"].default
JSON_DEPTH = LIMITS["json_depth"].default
NUMBER_DIGITS = LIMITS["number_digits"].default
SOURCE_BYTES = LIMITS["source_bytes"].default
SOURCE_FILES = LIMITS["source_files"].default
BRACKET_DEPTH = LIMITS["bracket_depth"].default
BLOCK_DEPTH = LIMITS["block_depth"].default
EXPRESSION_DEPTH = LIMITS["expression_depth"].default
TYPE_DEPTH = LIMITS["type_depth"].default
TYPE_MEMBERS = LIMITS["type_members"].default
CALLABLE_SLOTS = LIMITS["callable_slots"].default
LEFT_OUT_FIELDS = LIMITS["left_out_fields"].default
INTERPOLATION_DEPTH = LIMITS["interpolation_depth"].default
PATTERN_CHARACTERS = LIMITS["pattern_characters"].default
PATTERN_DEPTH = LIMITS["pattern_depth"].default
PATTERN_STATES = LIMITS["pattern_states"].default
ALL_PATTERN_STATES = LIMITS["all_pattern_states"].default
CACHE_BYTES = LIMITS["cache_bytes"].default
DIAGNOSTICS_SHOWN = LIMITS["diagnostics_shown"].default
HANDLER_TIMEOUT_MS = LIMITS["handler_timeout_ms"].default
TOOL_REQUEST_BYTES = LIMITS["tool_request_bytes"].default
TOOL_RESPONSE_BYTES = LIMITS["tool_response_bytes"].default
STDERR_TAIL_BYTES = LIMITS["stderr_tail_bytes"].default
STDERR_FORWARDED_BYTES = LIMITS["stderr_forwarded_bytes"].default
SECRET_CHARACTERS = LIMITS["secret_characters"].default
ERROR_MESSAGE_CHARACTERS = LIMITS["error_message_characters"].default
PURE_FUNCTION_PAIRS = LIMITS["pure_function_pairs"].default
TRACE_EVENTS = LIMITS["trace_events"].default
HANDLER_GRACE_MS = LIMITS["handler_grace_ms"].default
RUNTIME_CANCEL_MS = LIMITS["runtime_cancel_ms"].default
RUNTIME_TERMINATE_MS = LIMITS["runtime_terminate_ms"].default
REAP_MS = LIMITS["reap_ms"].default
LINGER_MS = LIMITS["linger_ms"].default
DEADLINE_SLACK_MS = LIMITS["deadline_slack_ms"].default
