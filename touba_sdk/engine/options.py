"""The typed options of the engines: signature, documentation and check at once.

The names, and which method takes which, are those of ``touba_cli/options.py``; a test compares the two. Options are
checked before anything is started: a wrong one is a `UsageError` that names it, and never shows its value.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, PlainValidator, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from touba_cli.limits import JSON_DEPTH, LIMITS
from touba_cli.options import EXACTLY_ONE, LABEL_CHARACTERS, MEMBERS, OPTIONS, SLIPS, WORDS, is_label, nearest

from .._annotations import AnnotationUnsupported
from .._encode import EncodeError, encode
from .._wire import Reader
from ..errors import UsageError

#: longer than any path or reference that a system takes; keeps a single argument below what `exec` allows
_MAX_TEXT = 32_000
#: levels of a request document around the value of one option
_REQUEST_LEVELS = 2
_RUN_ID = re.compile(r"[A-Za-z0-9._-]{1,128}\Z")


def _line(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"has to be {what}, not {type(value).__name__}")
    if not value:
        raise ValueError("is empty")
    if "\0" in value:
        raise ValueError("holds a NUL character")
    if len(value) > _MAX_TEXT:
        raise ValueError(f"has {len(value)} characters; {_MAX_TEXT} are allowed")
    return value


def _path(value: object) -> str:
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    text = _line(value, "a path (text or an object such as `pathlib.Path`)")
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise ValueError("is no path of this system") from None
    return text


def _ref(value: object) -> str:
    text = _line(value, "a reference such as `strategy:app/Review`")
    if any(ord(character) < 0x20 or 0xD800 <= ord(character) < 0xE000 for character in text):
        raise ValueError("holds a control character or a lone surrogate")
    return text


def _run_id(value: object) -> str:
    text = _line(value, "text")
    if not _RUN_ID.match(text):
        raise ValueError("has to be 1 to 128 letters, digits, `.`, `_` and `-`")
    return text


def _label(value: object) -> str:
    text = _line(value, "text")
    if not is_label(text):
        raise ValueError(f"has to be 1 to {LABEL_CHARACTERS} characters in one line")
    return text


def _switch(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"has to be True or False, not {type(value).__name__}")
    return value


def _inputs(value: object) -> dict[str, Any]:
    try:
        wire = encode(value, outer=1)
    except EncodeError as fault:
        where = "inputs" if fault.path == "$" else f"inputs{'' if fault.path.startswith('[') else '.'}{fault.path}"
        raise ValueError(f"cannot be sent: {where}: {fault.message}") from None
    if not isinstance(wire, dict):
        raise ValueError(f"has to be an object of named inputs, not {type(value).__name__}")
    return wire


def _air_json(value: object) -> str | dict[str, Any]:
    if isinstance(value, str):
        if not value:
            raise ValueError("is empty")
        return value
    try:
        wire = encode(value, levels=JSON_DEPTH - _REQUEST_LEVELS)
    except EncodeError as fault:
        raise ValueError(f"is no AIR document: {fault.path}: {fault.message}") from None
    if not isinstance(wire, dict):
        raise ValueError(f"has to be the text or the object of a compiled program, not {type(value).__name__}")
    return wire


def _environment(value: object) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise ValueError(f"has to be a mapping of texts, not {type(value).__name__}")
    found: dict[str, str] = {}
    for name, text in value.items():
        if not isinstance(name, str) or not isinstance(text, str):
            raise ValueError("has to be a mapping of texts")
        if not name or "=" in name or "\0" in name or "\0" in text:
            raise ValueError("has a name that is empty or holds `=`, or a name or value that holds a NUL character")
        found[name] = text
    return found


def _cancel(value: object) -> threading.Event:
    if not isinstance(value, threading.Event):
        kind = type(value)
        raise ValueError(f"has to be a `threading.Event`, not `{kind.__module__}.{kind.__qualname__}`")
    return value


def _word(name: str) -> Any:
    """One of the words of an option, from the one table."""
    words = WORDS[name]

    def check(value: object) -> str:
        if not isinstance(value, str) or value not in words:
            raise ValueError("has to be " + " or ".join(f'"{word}"' for word in words))
        return value

    return PlainValidator(check)


def _result_type(value: object) -> Reader:
    try:
        return _cached_reader(value)
    except AnnotationUnsupported as fault:
        raise ValueError(f"is no type that a result can be read into: {fault}") from None


def _cached_reader(annotation: Any) -> Reader:
    try:
        hash(annotation)
    except TypeError:
        return Reader(annotation)
    return _reader(annotation)


@lru_cache(64)
def _reader(annotation: Any) -> Reader:
    return Reader(annotation)


def _figure(name: str) -> Any:
    """The bounds of a limit, from the one table."""
    return Field(strict=True, ge=LIMITS[name].lowest, le=LIMITS[name].highest)


PathOption = Annotated[str | os.PathLike[str], PlainValidator(_path)]


class RunLimits(TypedDict, total=False):
    """What a run may use. The defaults and bounds stand in ``docs/limits.md``.

    Members:
        max_steps: steps of the program.
        max_depth: calls of callables that may be open inside each other.
        max_external_calls: tool calls.
        max_value_bytes: size of one value, in bytes.
        deadline_ms: time that the run may be active, in milliseconds; absent means no deadline.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    max_steps: Annotated[int, _figure("max_steps")]
    max_depth: Annotated[int, _figure("max_depth")]
    max_external_calls: Annotated[int, _figure("max_external_calls")]
    max_value_bytes: Annotated[int, _figure("max_value_bytes")]
    deadline_ms: Annotated[int, _figure("deadline_ms")]


class EngineOptions(TypedDict, total=False):
    """Where the engine works and which runtime it starts. Given to the engine; a call may give them anew.

    Members:
        project_root: the project's folder; relative paths of all other options are taken from it. Default: the folder
            that is current when the engine is made.
        env: the environment of the runtime, instead of the application's.
        cli_path: the runtime to start, instead of the bundled one.
        python_executable: the Python that runs the runtime and its handlers.
    """

    project_root: PathOption
    env: Annotated[Mapping[str, str], PlainValidator(_environment)]
    cli_path: PathOption
    python_executable: PathOption


class CheckOptions(EngineOptions, total=False):
    """What `check` takes.

    Members:
        source: the program's entry file.
    """

    source: PathOption


class CompileOptions(CheckOptions, total=False):
    """What `compile` takes: the same as `check`."""


class ProgramOptions(TypedDict, total=False):
    """What is run.

    Members:
        air: a file with a compiled program, instead of `source`.
        air_json: a compiled program as text or object, instead of `source`.
        entry_ref: the strategy, skill or function to run; may be left out where there is one strategy, or one callable
            of all.
        inputs: the entry's inputs by name.
        cache: keep what is compiled from `source`, and use it again; default: True.
        strict_inputs: take inputs in their strict form only, as docs/wire.md shows it.
    """

    air: PathOption
    air_json: Annotated[str | Mapping[str, Any], PlainValidator(_air_json)]
    entry_ref: Annotated[str, PlainValidator(_ref)]
    inputs: Annotated[Mapping[str, Any], PlainValidator(_inputs)]
    cache: Annotated[bool, PlainValidator(_switch)]
    strict_inputs: Annotated[bool, PlainValidator(_switch)]


class AuthorityOptions(TypedDict, total=False):
    """What the run may reach.

    Members:
        manifest: the file that binds tools to handlers.
        secrets: the file that says where secrets are found.
        owner: whose values are meant in memories of scope ``owner``.
    """

    manifest: PathOption
    secrets: PathOption
    owner: Annotated[str, PlainValidator(_label)]


class LimitOptions(TypedDict, total=False):
    """How far the run may go.

    Members:
        run_limits: what the run may use.
        cancel: an event that cancels the run when it is set; the call then returns a result of status ``cancelled``.
    """

    run_limits: RunLimits
    cancel: Annotated[threading.Event, PlainValidator(_cancel)]


class TraceOptions(TypedDict, total=False):
    """What is recorded.

    Members:
        run_id: the run's id; default: 128 random bits.
        trace_out: a file that the trace is written to as well.
        trace_pure_functions: ``full`` tells of the functions that statements call, ``calls`` does not.
    """

    run_id: Annotated[str, PlainValidator(_run_id)]
    trace_out: PathOption
    trace_pure_functions: Annotated[Literal["full", "calls"], _word("trace_pure_functions")]


class RunOptions(CheckOptions, ProgramOptions, AuthorityOptions, LimitOptions, TraceOptions, total=False):
    """What `run` takes: exactly one of `source`, `air` and `air_json`, and the options of all groups.

    `result_type` is a parameter of `run` itself, because it decides the type of what `run` gives.
    """


class _AllRunOptions(RunOptions, total=False):
    result_type: Annotated[Any, PlainValidator(_result_type)]


_SCHEMAS: dict[str, Any] = {
    "engine": EngineOptions,
    "check": CheckOptions,
    "compile": CompileOptions,
    "run": _AllRunOptions,
}


@cache
def _adapter(method: str) -> TypeAdapter[dict[str, Any]]:
    return TypeAdapter(_SCHEMAS[method])


def names(method: str) -> tuple[str, ...]:
    """The options of a method (or, as ``engine``, of the engines themselves), in the order of the table."""
    known = _SCHEMAS[method].__annotations__
    return tuple(name for name in OPTIONS if name in known)


def check_options(method: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Check the options of one call and give them in the form in which they are sent.

    Parameters:
        method: ``engine``, ``check``, ``compile`` or ``run``.
        given: the keyword arguments. An option that is None counts as not given.

    Raises:
        UsageError: for the first wrong option.
    """
    for name in given:
        if name not in _SCHEMAS[method].__annotations__:
            raise _unknown(method, name)
    present = {name: value for name, value in given.items() if value is not None}
    try:
        return _adapter(method).validate_python(present)
    except ValidationError as fault:
        first = fault.errors(include_url=False, include_context=False, include_input=False)[0]
        raise _invalid(first) from None


def with_program(method: str, program: object | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a call with the positional program as `source`.

    Raises:
        UsageError: where `source` is given twice.
    """
    options = dict(given)
    if program is not None:
        if options.get("source") is not None:
            raise UsageError("UsageError", f"`{method}` has `source` twice: as first argument and by name.")
        options["source"] = program
    return options


def check_program(method: str, options: Mapping[str, Any]) -> None:
    """Refuse a call that does not say what to work on, or says it more than once."""
    possible = [name for name in EXACTLY_ONE if name in names(method)]
    present = [name for name in possible if name in options]
    if len(present) == 1:
        return
    if len(possible) == 1:
        raise UsageError("UsageError", f"`{method}` needs `{possible[0]}`, the program's entry file.")
    listed = ", ".join(f"`{name}`" for name in possible)
    raise UsageError(
        "UsageError",
        f"`{method}` needs exactly one of {listed}; "
        + (" and ".join(f"`{name}`" for name in present) + " are given." if present else "none is given."),
    )


def _unknown(method: str, name: str) -> UsageError:
    shown = name if len(name) <= 60 else name[:57] + "..."
    owner = "The engine itself" if method == "engine" else f"`{method}`"
    message = f"{owner} has no option `{shown}`."
    known = names(method)
    meant = SLIPS.get(name)
    if meant == "run_limits" and meant in known and name != "limits":
        hint = 'Write `run_limits={"deadline_ms": …}`; times are in milliseconds.'
    elif meant is not None and meant in known:
        hint = f"Write `{meant}`."
    elif name in OPTIONS and "sdk" in OPTIONS[name].surfaces:
        methods = [other for other in ("check", "compile", "run") if name in names(other)]
        hint = f"Give it to {' or '.join(f'`{other}`' for other in methods)}."
    else:
        near = nearest(name, known)
        hint = f"Did you mean `{near}`?" if near else "Its options are: " + ", ".join(known) + "."
    return UsageError("OptionUnknown", message, hint=hint)


def _invalid(error: Any) -> UsageError:
    where = ".".join(str(part) for part in error["loc"])
    option = str(error["loc"][0]) if error["loc"] else ""
    kind = str(error["type"])
    if kind == "extra_forbidden" and option in MEMBERS:
        member = str(error["loc"][-1])
        near = nearest(member, MEMBERS[option])
        known = f"Did you mean `{near}`?" if near else "Its members are: " + ", ".join(MEMBERS[option]) + "."
        return UsageError("OptionUnknown", f"`{option}` has no member `{member}`.", hint=known)
    text = str(error["msg"]).removeprefix("Value error, ")
    text = text.replace("Input should be", "has to be", 1) if text.startswith("Input should be") else text
    hint: str | None = None
    if option in MEMBERS:
        hint = f"`{option}` is a dictionary of whole numbers; its members are: " + ", ".join(MEMBERS[option]) + "."
    elif option in OPTIONS:
        hint = f"`{option}` is {OPTIONS[option].sentence}."
    return UsageError("OptionInvalid", f"`{where}` {text}.", hint=hint)
