"""Every JSON document of Touba, once: its shape, the reader that refuses anything else, and its JSON Schema.

Reader and schema come from one shape (`shapes.py`), so they cannot drift apart: `docs/generate.py` writes the files
under ``touba_cli/schemas``, and a test compares them and both verdicts.
"""

from __future__ import annotations

from .codec import JsonInvalid, decode
from .errors import ToubaFailure
from .limits import LIMITS
from .options import LABEL_CHARACTERS, MEMBERS, OPTIONS, SLIPS, WORDS, Option, is_label
from .outcomes import PHASES, STATUSES
from .shapes import (
    CAPITALS,
    SMALL,
    WORD,
    Arr,
    Fault,
    Flag,
    MapOf,
    Null,
    Nullable,
    Num,
    Obj,
    OneOf,
    OnlyOne,
    Shape,
    Spelled,
    Tagged,
    TextOr,
    Truth,
    Txt,
    shown,
    unlike,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .shapes import Schema

#: what a tool may need and a manifest may give
GRANTS: tuple[str, ...] = ("network", "filesystem.read", "filesystem.write", "process", "environment")

#: what a tool does outside the program
EFFECTS: tuple[str, ...] = ("none", "read", "write")

#: whether an effect took place
EFFECT_STATES: tuple[str, ...] = ("none", "done", "unknown")

#: what a handler can say that it did with a memory, and how many such statements one answer may hold
MEMORY_OPERATIONS: tuple[str, ...] = ("read", "write")
MEMORY_STATEMENTS = 1_000

#: whose the values of a memory are
MEMORY_SCOPES: tuple[str, ...] = ("run", "owner", "project")

#: for which time the quota of a trigger counts
QUOTA_PERIODS: tuple[str, ...] = ("minute", "hour", "day")

# --- spellings --------------------------------------------------------------------------------------------------------

_HEX = frozenset("0123456789abcdef")
_ID = WORD | frozenset(".-")


def _is_ref(kind: str, text: str) -> bool:
    module, slash, name = text.removeprefix(kind).partition("/")
    return (
        text.startswith(kind)
        and bool(slash and name)
        and name[0] in CAPITALS
        and WORD.issuperset(name)
        and all(word and word[0] in SMALL and WORD.issuperset(word) for word in module.split("."))
    )


def _is_variable(text: str) -> bool:
    return bool(text) and "=" not in text and "\0" not in text


HEX_DIGEST = Spelled(lambda text: len(text) == 64 and _HEX.issuperset(text), "^[0-9a-f]{64}$", "64 hex digits")
DIGEST = Spelled(
    lambda text: text[:7] == "sha256:" and HEX_DIGEST.test(text[7:]),
    "^sha256:[0-9a-f]{64}$",
    "`sha256:` and 64 hex digits",
)
ID = Spelled(
    lambda text: 1 <= len(text) <= 128 and _ID.issuperset(text),
    "^[A-Za-z0-9._-]{1,128}$",
    "1 to 128 letters, digits, `.`, `_` and `-`",
)
LABEL = Spelled(
    is_label,
    f"^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]{{1,{LABEL_CHARACTERS}}}$",
    f"1 to {LABEL_CHARACTERS} characters in one line",
)
_MODULE_AND_NAME = r"[a-z][A-Za-z0-9_]*(\.[a-z][A-Za-z0-9_]*)*/[A-Z][A-Za-z0-9_]*$"
TOOL_REF = Spelled(lambda text: _is_ref("tool:", text), "^tool:" + _MODULE_AND_NAME, "`tool:MODULE/NAME`")
MEMORY_REF = Spelled(lambda text: _is_ref("memory:", text), "^memory:" + _MODULE_AND_NAME, "`memory:MODULE/NAME`")
VARIABLE = Spelled(_is_variable, "^[^=\\u0000]+$", "the name of an environment variable")

# --- documents --------------------------------------------------------------------------------------------------------

ANY = Shape()
NAME = Txt(1)
PLACE: dict[str, Shape] = {"line": Num(1), "column": Num(1), "end_line": Num(1), "end_column": Num(1)}

DIAGNOSTIC = Obj({
    "code": NAME,
    "severity": OneOf("error", "warning"),
    "title": Txt(),
    "file": Txt(),
    **PLACE,
    "label": Txt(),
    "help": Nullable(Txt()),
    "candidates": Arr(Txt()),
    "fix": Nullable(Obj({**PLACE, "text": Txt()})),
    "related": Arr(Obj({"file": Txt(), **PLACE, "label": Txt()})),
})  # fmt: skip

ERROR = Nullable(Obj({
    "code": NAME,
    "phase": OneOf(*PHASES),
    "message": Txt(),
    "ref": Nullable(Txt()),
    "hint": Nullable(Txt()),
    "effect": Nullable(OneOf(*EFFECT_STATES)),
    "diagnostics": Arr(DIAGNOSTIC),
}))  # fmt: skip

#: what `touba doctor` found: a code, the fact, what to do
FINDING = Obj({"code": NAME, "message": Txt(), "hint": Nullable(Txt())})

TRACE_MEMBERS: dict[str, Shape] = {
    "protocol": OneOf("touba-trace-v1"),
    "run_id": ID,
    "segment": Num(1),
    "program": DIGEST,
    "entry": NAME,
    "started_at": NAME,
    "ended_at": NAME,
    "events": Arr(Obj({
        "seq": Num(1),
        "kind": NAME,
        "ref": Txt(),
        "at": NAME,
        "span": NAME,
        "parent": Nullable(NAME),
        "occurrence": Nullable(Txt()),
        "data": MapOf(ANY),
    })),
    "chains": MapOf(HEX_DIGEST),
    "digest": DIGEST,
}  # fmt: skip


def _option(row: Option) -> Shape:
    if row.kind == "switch":
        return Flag()
    if row.kind == "numbers":
        bounds = {name: LIMITS[name] for name in MEMBERS[row.name]}
        return Obj({}, {name: Nullable(Num(limit.lowest, limit.highest)) for name, limit in bounds.items()})
    if row.kind == "json":
        return TextOr(MapOf(ANY)) if row.name == "air_json" else MapOf(ANY)
    if row.kind == "word":
        return OneOf(*WORDS[row.name])
    return {"id": ID, "label": LABEL}.get(row.kind, NAME)


REQUEST_OPTIONS = Obj(
    {}, {row.name: Nullable(_option(row)) for row in OPTIONS.values() if "request" in row.surfaces}, hints=SLIPS
)


def _bounded(limit: str) -> Shape:
    return Num(LIMITS[limit].lowest, LIMITS[limit].highest)


TOOL_LIMITS: dict[str, Shape] = {
    "timeout_ms": _bounded("handler_timeout_ms"),
    "max_request_bytes": _bounded("tool_request_bytes"),
    "max_response_bytes": _bounded("tool_response_bytes"),
}

#: where a value came from or went to: which memory, and whatever else the memory's contract asks for
MEMORY_STATEMENT = Obj(
    {"memory_ref": MEMORY_REF, "operation": OneOf(*MEMORY_OPERATIONS)}, {"scope": OneOf(*MEMORY_SCOPES)}, others=True
)

HANDLER = Tagged(
    "kind",
    {
        "process": Obj({"kind": OneOf("process"), "command": Arr(NAME, 1)}),
        # Known, and refused by name at admission (HandlerKindUnavailable): this runtime starts processes only.
        "mcp": None,
        "host": None,
    },
)

TOOL_BINDING = Obj(
    {"handler": HANDLER},
    {
        "grants": Arr(OneOf(*GRANTS), unique=True),
        "secrets": MapOf(NAME),
        "environment": Arr(VARIABLE, unique=True),
        "limits": Obj({}, TOOL_LIMITS),
    },
)


class Document:
    """A document: what it is, its shape, and the code with which another protocol is refused."""

    __slots__ = ("mismatch", "sentence", "shape", "what")

    def __init__(self, what: str, sentence: str, shape: Shape, mismatch: str = "DocumentInvalid"):
        self.what = what
        self.sentence = sentence
        self.shape = shape
        self.mismatch = mismatch


def _of(protocol: str, required: dict[str, Shape], optional: dict[str, Shape] | None = None) -> Obj:
    return Obj({"protocol": OneOf(protocol), **required}, optional)


#: protocol → document; in the order in which a program meets them
DOCUMENTS: dict[str, Document] = {
    "touba-air-v1": Document(
        "AIR document",
        "A compiled program. The whole form is in docs/air.md and is checked by the verifier.",
        _of("touba-air-v1", {
            "semantics": Num(1),
            "requires": Arr(NAME, unique=True),
            "modules": Arr(NAME, unique=True),
            "types": MapOf(MapOf(ANY)),
            "callables": MapOf(MapOf(ANY)),
            "digest": DIGEST,
            "source_map": Obj(
                {"files": Arr(NAME, unique=True), "callables": MapOf(Arr(Arr(Num(), 5, 5)))},
                {"tests": Arr(Arr(Arr(Num(), 5, 5)))},
            ),
            "build": Obj({"compiler": Txt(), "sources": MapOf(HEX_DIGEST)}),
        }, {
            "memories": MapOf(MapOf(ANY)),
            "gates": MapOf(MapOf(ANY)),
            "triggers": MapOf(MapOf(ANY)),
            "tests": Arr(MapOf(ANY)),
        }),
    ),
    "touba-run-request-v1": Document(
        "run request",
        "What an engine writes to the standard input of the runtime that it starts: options by name.",
        _of(
            "touba-run-request-v1",
            {"sdk_version": NAME, "options": REQUEST_OPTIONS},
            {"python_path": Arr(NAME), "python_version": NAME},
        ),
        mismatch="IncompatibleRuntime",
    ),
    "touba-run-v1": Document(
        "result document",
        "How a run ended: what `touba run --json` prints.",
        _of("touba-run-v1", {
            "run_id": Txt(),
            "status": OneOf(*STATUSES),
            "reason": NAME,
            "exit_code": Num(0, 255),
            "result": ANY,
            "messages": Arr(Obj({"interaction_ref": NAME, "text": Txt()})),
            "pending_interaction": Null(),
            "pending_interactions": Arr(ANY, most=0),
            "explanation": Nullable(Obj({"ref": Nullable(Txt()), "text": Txt()})),
            "warnings": Arr(Obj({"code": NAME, "message": Txt()})),
            "error": ERROR,
            "trace": Nullable(Obj(TRACE_MEMBERS)),
            "trace_reference": Null(),
            "usage": Obj({
                "steps": Num(), "external_calls": Num(), "provider_calls": Num(), "agent_steps": Num(),
                "input_tokens": Num(), "output_tokens": Num(), "cost": Null(),
            }),
        }),
        mismatch="IncompatibleRuntime",
    ),
    "touba-check-v1": Document(
        "check document",
        "The problems of a program: what `touba check --json` prints.",
        _of("touba-check-v1", {"diagnostics": Arr(DIAGNOSTIC), "not_run": Arr(NAME), "error": ERROR}),
    ),
    "touba-compile-v1": Document(
        "compile document",
        "A compiled program, or why there is none: what `touba compile --json` prints.",
        _of("touba-compile-v1", {
            "air": Nullable(MapOf(ANY)),
            "digest": Nullable(DIGEST),
            "diagnostics": Arr(DIAGNOSTIC),
            "error": ERROR,
        }),
    ),
    "touba-format-v1": Document(
        "format document",
        "What was formatted, or would be: what `touba format --json` prints.",
        _of("touba-format-v1", {
            "files": Arr(Obj({"file": Txt(), "status": OneOf("unchanged", "changed", "refused")})),
            "text": Nullable(Txt()),
            "diagnostics": Arr(DIAGNOSTIC),
            "error": ERROR,
        }),
    ),
    "touba-eval-v1": Document(
        "eval document",
        "The value of an expression: what `touba eval --json` prints.",
        _of("touba-eval-v1", {
            "type": Nullable(Txt()),
            "value": ANY,
            "steps": Num(),
            "diagnostics": Arr(DIAGNOSTIC),
            "error": ERROR,
        }),
    ),
    "touba-version-v1": Document(
        "version document",
        "What this Touba is: what `touba version --json` prints.",
        _of("touba-version-v1", {
            "version": NAME,
            "python": NAME,
            "semantics": Num(1),
            "protocols": Arr(NAME, unique=True),
            "unicode": NAME,
            "error": ERROR,
        }),
    ),
    "touba-explain-v1": Document(
        "explain document",
        "What a code means, with a wrong and a right program: what `touba explain CODE --json` prints.",
        _of("touba-explain-v1", {
            "code": Nullable(NAME),
            "kind": Nullable(OneOf("diagnostic", "error", "warning", "finding")),
            "title": Nullable(NAME),
            "why": Nullable(NAME),
            "hint": Nullable(NAME),
            "phase": Nullable(OneOf(*PHASES)),
            "catchable": Nullable(Flag()),
            "wrong": Arr(Obj({"file": NAME, "text": NAME})),
            "right": Arr(Obj({"file": NAME, "text": NAME})),
            "error": ERROR,
        }),
    ),
    "touba-doctor-v1": Document(
        "doctor document",
        "With what Touba works here, and what is missing: what `touba doctor --json` prints.",
        _of("touba-doctor-v1", {
            "version": NAME,
            "python": Obj({
                "executable": Nullable(NAME), "base": Nullable(NAME), "version": NAME, "implementation": NAME,
                "virtual": Flag(),
            }),
            "sdk": Obj({"version": Nullable(NAME), "folder": Nullable(NAME), "error": Nullable(Txt())}),
            "runtime": Obj({
                "command": Nullable(Arr(NAME, 1)),
                "bundled": Nullable(Flag()),
                "compiled": Nullable(OneOf("current", "beside", "cache", "nowhere")),
                "keeps_programs": Nullable(Flag()),
                "version": Nullable(NAME),
                "python": Nullable(NAME),
                "error": Nullable(FINDING),
            }),
            "handlers": Obj({
                "python": Nullable(NAME), "sdk": Nullable(NAME), "error": Nullable(Txt()), "confined": Flag(),
            }),
            "packages": Arr(Obj({
                "name": NAME, "needs": Txt(), "extra": Nullable(NAME), "installed": Nullable(NAME),
            })),
            "folders": Arr(Obj({"name": NAME, "path": NAME, "exists": Flag(), "usable": Flag()})),
            "system": Obj({
                "name": NAME, "release": Txt(), "machine": Txt(), "tested": Flag(), "ends_everything": Flag(),
                "open_files": Nullable(Num()),
            }),
            "limits": MapOf(Num()),
            "findings": Arr(FINDING),
            "error": ERROR,
        }),
    ),
    "touba-manifest-v1": Document(
        "manifest",
        "Which handler serves each tool, and what it is given.",
        _of("touba-manifest-v1", {"tools": MapOf(TOOL_BINDING, TOOL_REF)}, {"python": Nullable(NAME)}),
    ),
    "touba-secrets-v1": Document(
        "secrets file",
        "Where each secret is found: a variable, a file, or (for development) the value itself.",
        _of("touba-secrets-v1", {"secrets": MapOf(OnlyOne({"env": VARIABLE, "file": NAME, "value": Txt()}))}),
    ),
    "touba-tool-request-v1": Document(
        "tool request",
        "One call of a tool: what its handler gets on standard input.",
        _of("touba-tool-request-v1", {
            "tool_ref": TOOL_REF,
            "arguments": MapOf(ANY),
            "call_id": NAME,
            "run_id": ID,
            "occurrence": NAME,
            "grants": Arr(OneOf(*GRANTS), unique=True),
            "secret_handles": MapOf(Obj({"value": Txt()})),
            "limits": Obj(TOOL_LIMITS),
            "resources": MapOf(
                Obj(
                    {"operations": Arr(OneOf(*MEMORY_OPERATIONS), unique=True), "scope": OneOf(*MEMORY_SCOPES)},
                    {"owner": LABEL},
                ),
                MEMORY_REF,
            ),
            "deadline_ms": Num(),
            "effect": Obj({
                "kind": OneOf(*EFFECTS), "operation_id": NAME, "idempotency_key": NAME, "attempt": Num(1),
            }),
        }),
    ),
    "touba-tool-response-v1": Document(
        "tool response",
        "The answer of a handler: a value, or a failure with a code of its own.",
        Truth(
            "ok",
            # Receipts come in a later version; empty, they are what every version writes.
            _of("touba-tool-response-v1", {"ok": Flag(), "value": ANY}, {
                "memory_metadata": Arr(MEMORY_STATEMENT, most=MEMORY_STATEMENTS), "receipts": Arr(ANY, most=0),
            }),
            _of("touba-tool-response-v1", {"ok": Flag(), "error": Obj(
                {"code": Txt(1, 200), "message": Txt()},
                {"retryable": Flag(), "effect": OneOf(*EFFECT_STATES)},
            )}),
        ),
    ),
    "touba-trace-v1": Document(
        "trace",
        "What happened in one segment of a run, without business values.",
        Obj(TRACE_MEMBERS),
    ),
}  # fmt: skip

# --- doors ------------------------------------------------------------------------------------------------------------


def read_document(protocol: str, data: bytes, limit: int | None = None, name: str | None = None) -> dict[str, Any]:
    """Read a document from bytes.

    Parameters:
        protocol: which document is expected: a key of `DOCUMENTS`.
        data: the bytes.
        limit: the most bytes it may have.
        name: the file that it stands in, for messages.

    Returns:
        what `codec.decode` gives; the shape is that of the document.

    Raises:
        ToubaFailure: JsonInvalid with line and column; DocumentInvalid with the path, or naming both protocols; for a
            run request IncompatibleRuntime where the protocol is another, OptionUnknown or OptionInvalid where an
            option is at fault.

    >>> read_document("touba-secrets-v1", b'{"protocol":"touba-secrets-v1","secrets":{"BANK":{"env":"BANK_TOKEN"}}}')
    {'protocol': 'touba-secrets-v1', 'secrets': {'BANK': {'env': 'BANK_TOKEN'}}}
    """
    document = DOCUMENTS[protocol]
    what = document.what if name is None else f"{document.what} `{name}`"
    try:
        value = decode(data, limit=limit, what=document.what)
    except JsonInvalid as fault:
        raise ToubaFailure("JsonInvalid", f"the {what} is not JSON: {fault}") from None
    if not isinstance(value, dict):
        raise ToubaFailure("DocumentInvalid", f"the {what}, {unlike('$', 'an object', value)}")
    given = value.get("protocol")
    if isinstance(given, str) and given != protocol:
        raise ToubaFailure(
            document.mismatch,
            f"the {what} has the protocol `{shown(given)}`; this runtime reads `{protocol}`",
        )
    try:
        document.shape.check(value, "$")
    except Fault as fault:
        raise ToubaFailure(_code(protocol, fault), f"the {what}, {fault}") from None
    return value


def _code(protocol: str, fault: Fault) -> str:
    """Faults in a request's options are those of options, wherever they were given."""
    if protocol == "touba-run-request-v1" and fault.path.startswith("$.options"):
        return "OptionUnknown" if fault.kind == "unknown" else "OptionInvalid"
    return "DocumentInvalid"


def check_document(protocol: str, value: Any) -> str | None:
    """The first fault of a value that should be a document, as ``PATH: what is wrong``; None where it has none.

    >>> check_document("touba-secrets-v1", {"protocol": "touba-secrets-v1", "secrets": {"BANK": {}}})
    '$.secrets.BANK: the object has exactly one member: `env`, `file` or `value`'
    """
    try:
        DOCUMENTS[protocol].shape.check(value, "$")
    except Fault as fault:
        return str(fault)
    return None


def json_schema(protocol: str) -> Schema:
    """The JSON Schema (2020-12) of a document."""
    document = DOCUMENTS[protocol]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"{protocol}.json",
        "title": document.what,
        "description": document.sentence,
        **document.shape.schema(),
    }
