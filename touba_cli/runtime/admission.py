"""May this program start like this? Entry, inputs, tools, grants and secrets, before anything runs."""

from __future__ import annotations

import os

from ..errors import ToubaFailure
from ..options import nearest
from ..project.files import inside
from ..values.check import ValueInvalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable as Function
    from typing import Any

    from ..air.program import Callable, Program
    from ..project.manifest import Binding, Manifest
    from ..project.secrets import Secrets
    from ..values.check import TypeTable
    from ..values.model import Meter, Value
    from .memories import Memories

#: what AIR can require and this runtime has; the rest of the language compiles and cannot run yet
AVAILABLE_FEATURES = frozenset(("attempt", "memory", "tools"))

#: kinds of callables that can be an entry
ENTRY_KINDS = ("strategy", "skill", "function")

#: how many wrong places one message names
_FAULTS_SHOWN = 5
#: how many names one message lists, and how many characters of each
_NAMES_SHOWN = 10
_NAME_LENGTH = 100


class Handler:
    """How a tool is served in one run: everything is resolved and may start."""

    __slots__ = (
        "argv",
        "environment",
        "foreign",
        "grants",
        "max_request_bytes",
        "max_response_bytes",
        "memories",
        "ref",
        "script",
        "secrets",
        "timeout_from",
        "timeout_ms",
    )

    def __init__(
        self,
        tool: Callable,
        binding: Binding,
        argv: list[str],
        environment: dict[str, str],
        secrets: dict[str, str],
        memories: Memories | None,
    ):
        self.ref = tool.ref
        self.argv = argv
        from ..project.manifest import PYTHON_WORDS

        #: no Python script: nothing in it watches the life line
        self.foreign = binding.command[0] not in PYTHON_WORDS
        #: the script as the manifest names it, where it is one
        self.script = None if self.foreign else binding.command[1]
        self.environment = environment
        #: what the tool requires: a handler gets no more, whatever the manifest would allow
        self.grants: frozenset[str] = frozenset(tool.requires)
        #: the program's handle → the secret
        self.secrets = secrets
        #: the memories that the tool declares; None where it declares none
        self.memories = memories
        self.timeout_ms = binding.timeout(tool.timeout_ms)
        #: where that is set, in words
        self.timeout_from = binding.timeout_from(tool.timeout_ms)
        self.max_request_bytes = binding.max_request_bytes
        self.max_response_bytes = binding.max_response_bytes

    def displaced(self) -> str | None:
        """Why the script may not be started any more, in words: meanwhile its path leads out of the project root, which
        is the current folder. None where it may."""
        if self.script is None:
            return None
        try:
            inside(os.getcwd(), self.script, "the handler script")
        except (ToubaFailure, OSError) as fault:
            return fault.message if isinstance(fault, ToubaFailure) else "the project root is gone"
        return None


# --- features ---------------------------------------------------------------------------------------------------------


def check_features(program: Program) -> None:
    """Refuse a program that requires what this runtime does not have.

    Raises:
        ToubaFailure: FeatureUnavailable, with the names of the features, and the first place in the program that needs
            each of them.
    """
    if AVAILABLE_FEATURES.issuperset(program.requires):
        return
    from .unavailable import not_run

    missing = ", ".join([f"`{each}`" for each in program.requires if each not in AVAILABLE_FEATURES])
    uses = ", ".join(not_run(program.document))
    raise ToubaFailure("FeatureUnavailable", f"this version does not run {uses}; missing features: {missing}")


# --- entry ------------------------------------------------------------------------------------------------------------


def choose_entry(program: Program, entry_ref: str | None) -> str:
    """The reference of the callable to run.

    Where none is named: the one strategy, else the one callable that can be an entry.

    Raises:
        ToubaFailure: EntryUnknown; UsageError that lists the entries where there are several and none is named.
    """
    entries = [ref for ref, each in program.callables.items() if each.kind in ENTRY_KINDS]
    if entry_ref is not None:
        if entry_ref in entries:
            return entry_ref
        raise _unknown_entry(program, entry_ref, entries)
    strategies = [ref for ref in entries if program.callables[ref].kind == "strategy"]
    if len(strategies) == 1:
        return strategies[0]
    if len(entries) == 1:
        return entries[0]
    if not entries:
        raise ToubaFailure(
            "EntryUnknown", "the program has no strategy, skill or function to run", hint="Declare a strategy."
        )
    raise ToubaFailure(
        "UsageError",
        f"the program has several entries and none is named: {_listed(strategies or entries)}",
        hint=f"Name one: `entry_ref` in Python, --entry-ref={(strategies or entries)[0]} at a terminal.",
    )


def _unknown_entry(program: Program, entry_ref: str, entries: list[str]) -> ToubaFailure:
    declared = program.callables.get(entry_ref)
    if declared is not None:
        return ToubaFailure(
            "EntryUnknown",
            f"`{entry_ref}` is a {declared.kind}, which is never an entry: {_listed(entries)}",
            ref=entry_ref,
        )
    near = nearest(entry_ref, entries)
    if near is None:
        near = next((ref for ref in entries if ref.rpartition("/")[2] == entry_ref.rpartition("/")[2]), None)
    return ToubaFailure(
        "EntryUnknown",
        f"the program has no entry `{_short(entry_ref)}`: {_listed(entries)}",
        hint=f"Did you mean `{near}`?" if near else None,
    )


def _listed(refs: list[str]) -> str:
    shown = ", ".join(f"`{ref}`" for ref in refs[:_NAMES_SHOWN])
    return f"{shown} and {len(refs) - _NAMES_SHOWN} more" if len(refs) > _NAMES_SHOWN else shown or "it has none"


def _short(name: str) -> str:
    return name if len(name) <= _NAME_LENGTH else name[: _NAME_LENGTH - 3] + "..."


# --- inputs -----------------------------------------------------------------------------------------------------------


def decode_inputs(
    entry: Callable, table: TypeTable, inputs: dict[str, Any], meter: Meter, *, strict: bool
) -> list[Value]:
    """The arguments of the entry, in their order.

    Parameters:
        entry: the callable to run.
        table: the program's types.
        inputs: wire values by input name.
        meter: what decoding is charged to.
        strict: take inputs in their strict form only, as docs/wire.md shows it.

    Raises:
        ToubaFailure: InputInvalid with the path of each fault; the message never holds a value.
    """
    names = [name for name, _ in entry.takes]
    free = [name for name in names if name not in inputs]
    unknown = [name for name in inputs if name not in names]
    #: an input that the entry does not have → the one that is probably meant; looked for only where it is shown
    strange: dict[str, str | None] = dict.fromkeys(unknown)
    strange.update((name, nearest(name, free)) for name in unknown[:_NAMES_SHOWN] if len(name) <= _NAME_LENGTH)
    missing: list[str] = []
    wrong: list[str] = []
    arguments: list[Value] = []
    for name, form in entry.takes:
        if name not in inputs and (strict or not _is_optional(table, form)):
            if name not in strange.values():
                missing.append(name)
            continue
        try:
            arguments.append(table.decode(form, inputs.get(name), name, meter, edge=not strict))
        except ValueInvalid as invalid:
            wrong += [f"{path}: {message}" for path, message in invalid.all()]
    if strange or missing or wrong:
        raise _inputs_refused(entry, strange, missing, wrong)
    return arguments


def _inputs_refused(
    entry: Callable, strange: dict[str, str | None], missing: list[str], wrong: list[str]
) -> ToubaFailure:
    """The refusal of inputs: unknown and missing ones, what is wrong in the others, and what to do about each kind."""
    faults = []
    if strange:
        noun = "no input" if len(strange) == 1 else "no inputs"
        takes = ", ".join(f"`{name}`" for name, _ in entry.takes) or "none"
        faults.append(f"{entry.ref} has {noun} {_listed([_short(name) for name in strange])}; it takes {takes}")
    if missing:
        noun, verb = ("input", "is") if len(missing) == 1 else ("inputs", "are")
        faults.append(f"the {noun} {_listed(missing)} of {entry.ref} {verb} missing")
    faults += wrong[:_FAULTS_SHOWN]
    shown = "; ".join(faults)
    if len(wrong) > _FAULTS_SHOWN:
        shown += f"; and {len(wrong) - _FAULTS_SHOWN} more"
    meant = [(name, near) for name, near in strange.items() if near is not None]
    hints = []
    if len(strange) == len(meant) == 1:
        hints.append(f"Did you mean `{meant[0][1]}`?")
    elif meant:
        hints.append(f"Did you mean {', '.join(f'`{near}` for `{_short(name)}`' for name, near in meant)}?")
    if missing:
        hints.append(f"Add {_listed(missing)} to the inputs.")
    if wrong and hints:
        hints.append("Correct what is wrong at the paths given.")
    return ToubaFailure("InputInvalid", shown, ref=entry.ref, hint=" ".join(hints) or None)


def _is_optional(table: TypeTable, form: Any) -> bool:
    while True:
        if isinstance(form, str):
            declaration = table.declared.get(form)
            if declaration is None or declaration["kind"] != "alias":
                return False
            form = declaration["of"]
        elif form[0] == "is":
            form = form[1]
        else:
            return bool(form[0] == "Optional")


# --- tools ------------------------------------------------------------------------------------------------------------


def reachable_tools(program: Program, entry: str) -> list[str]:
    """References of the tools that the entry can call, directly or through what it calls, sorted."""
    found: set[str] = set()
    seen = {entry}
    waiting = [entry]
    while waiting:
        declared = program.callables[waiting.pop()]
        if declared.kind == "tool":
            found.add(declared.ref)
        for instruction in declared.code:
            if instruction[0] == "call" and instruction[3] not in seen:
                seen.add(instruction[3])
                waiting.append(instruction[3])
    return sorted(found)


def bind_tools(
    program: Program,
    tools: list[str],
    manifest: Manifest | None,
    open_secrets: Function[[], Secrets | None],
    root: str,
    default_python: str,
    table: TypeTable,
    owner: str | None,
    warnings: list[dict[str, str]],
) -> dict[str, Handler]:
    """Resolve the handler of every tool.

    Parameters:
        program: the program.
        tools: the tools that the run can reach.
        manifest: the manifest, or None where none was given.
        open_secrets: gives the secrets file that was named, or None.
        root: the project root, absolute.
        default_python: the interpreter where the manifest names none.
        table: the program's types.
        owner: whose values are meant in memories of scope `owner`, or None.
        warnings: gets what is odd but harmless.

    Raises:
        ToubaFailure: ToolUnbound, HandlerKindUnavailable, GrantMissing, OwnerMissing, SecretMissing, SecretTooShort,
            SecretExposed, HandlerMissing, PathOutsideProject.
    """
    if manifest is not None:
        _warn_of_strangers(program, manifest, warnings)
    if not tools:
        return {}
    # A run that calls no handler does not need them.
    from ..project.manifest import Launcher
    from .spawn import handler_environment

    handlers: dict[str, Handler] = {}
    launcher = Launcher(root, manifest.python if manifest else None, default_python)
    secrets: Secrets | None = None
    for ref in tools:
        tool = program.callables[ref]
        binding = _binding(ref, manifest)
        missing = [grant for grant in tool.requires if grant not in binding.grants]
        if missing:
            given = f"the manifest gives it {', '.join(sorted(binding.grants)) or 'none'}"
            raise ToubaFailure("GrantMissing", f"{ref} requires {', '.join(missing)}; {given}", ref=ref)
        values: dict[str, str] = {}
        for handle in tool.secrets:
            bound = binding.secrets.get(handle)
            if bound is None:
                near = nearest(handle, list(binding.secrets))
                also = f"; it binds one to `{near}`: did you mean `{handle}`?" if near else ""
                raise ToubaFailure(
                    "SecretMissing", f"the manifest binds no secret to `{handle}` of {ref}{also}", ref=ref,
                    hint=f'Add it to `secrets` of the tool: {{"{handle}": "HANDLE OF THE SECRETS FILE"}}.',
                )  # fmt: skip
            if secrets is None:
                secrets = open_secrets()
            if secrets is None:
                raise ToubaFailure(
                    "SecretMissing", f"{ref} holds the secret `{handle}`, and no secrets file is given", ref=ref,
                    hint="Name it: `secrets` in Python, --secrets=FILE at a terminal.",
                )  # fmt: skip
            values[handle] = secrets.resolve(bound, ref)
        memories = None
        if tool.reads or tool.writes:
            from .memories import Memories

            memories = Memories(tool, program, table, owner)
        argv = launcher.command(binding)
        environment = handler_environment(root, binding.environment)
        handlers[ref] = Handler(tool, binding, argv, environment, values, memories)
    return handlers


def _binding(ref: str, manifest: Manifest | None) -> Binding:
    if manifest is None:
        raise ToubaFailure(
            "ToolUnbound",
            f"the program calls {ref}, and no manifest is given",
            ref=ref,
            hint="Name it: `manifest` in Python, --manifest=FILE at a terminal.",
        )
    binding = manifest.tools.get(ref)
    if binding is None:
        near = nearest(ref, list(manifest.tools))
        raise ToubaFailure(
            "ToolUnbound",
            f"the manifest has no handler for {ref}",
            ref=ref,
            hint=f"It has one for `{near}`." if near else None,
        )
    if binding.kind != "process":
        raise ToubaFailure(
            "HandlerKindUnavailable",
            f"the handler of {ref} is of kind `{binding.kind}`, which this runtime does not have",
            ref=ref,
        )
    return binding


def _warn_of_strangers(program: Program, manifest: Manifest, warnings: list[dict[str, str]]) -> None:
    known = [ref for ref, each in program.callables.items() if each.kind == "tool"]
    for ref, binding in manifest.tools.items():
        if ref in known:
            warnings += _unused(program.callables[ref], binding)
        else:
            near = nearest(ref, known)
            also = f"; did you mean `{near}`?" if near else ""
            warnings.append(
                {
                    "code": "ToolUnknown",
                    "message": f"the manifest binds `{_short(ref)}`, which the program does not have{also}",
                }
            )


def _unused(tool: Callable, binding: Binding) -> list[dict[str, str]]:
    """Warnings for what a manifest gives to a tool that does not ask for it: it is not handed on."""
    found = []
    for handle in binding.secrets:
        if handle not in tool.secrets:
            near = nearest(handle, [each for each in tool.secrets if each not in binding.secrets])
            also = f"; did you mean `{near}`?" if near else ""
            text = f"the manifest binds a secret to `{_short(handle)}` of {tool.ref}, which does not declare it{also}"
            found.append({"code": "SecretUnused", "message": text})
    for grant in sorted(binding.grants):
        if grant not in tool.requires:
            text = f"the manifest grants `{grant}` to {tool.ref}, which does not require it"
            found.append({"code": "GrantUnused", "message": text})
    return found
