"""Checks a whole AIR document before anything of it runs: `docs/air.md`, member by member.

The parts: `places` (places and small checks), `verify_types`, `verify_expr`, `verify_flow`; this one has the document
and its callables. What passes can run: every name is there, every value has the type that its place asks for, every
path ends, and the costs are true. What depends on values — a choice that is not the variant, an Optional that is
absent — is the machine's to refuse (`AirUnsound`).
"""

from __future__ import annotations

from ..documents import EFFECTS, GRANTS
from ..errors import ToubaFailure
from ..limits import LIMITS
from .places import (
    fault,
    is_hex,
    is_module,
    shown,
    split_branch,
    split_ref,
    take_array,
    take_map,
    take_object,
    take_text,
    take_texts,
    take_whole,
    take_word,
)
from .program import AIR_PROTOCOL, DIGESTED, FEATURES, OPTIONAL, SEMANTICS, features, program_digest
from .verify_expr import Signature
from .verify_flow import Flow, Owner
from .verify_types import Types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .places import Place
    from .types import TypeForm

KINDS: tuple[str, ...] = ("function", "tool", "agent", "skill", "strategy", "branch")


def verify(document: Any) -> None:
    """Check an AIR document.

    Parameters:
        document: what JSON gives: dict, list, str, int, bool, None.

    Raises:
        ToubaFailure: AirInvalid with the JSON path of the first fault, or FeatureUnavailable with the feature's name.

    >>> verify({"protocol": "touba-air-v2"})
    Traceback (most recent call last):
    touba_cli.errors.ToubaFailure: $.protocol: the protocol is `touba-air-v2`; this runtime reads `touba-air-v1`
    """
    _check_version(document)
    take_object(document, None, (*DIGESTED, "digest", "source_map", "build"), (*OPTIONAL, "tests"))
    modules = _take_modules(document["modules"], (None, "modules"))
    types = Types(document["types"], (None, "types"), modules)
    declarations = _Declarations(document, types, modules)
    places = declarations.check()
    _check_requires(document["requires"], features(document, declarations.outcomes))
    _check_source_map(document, (None, "source_map"), places)
    _check_build(document["build"], (None, "build"))
    if document["digest"] != program_digest(document):
        raise fault((None, "digest"), "this is not the digest of the document")


def _check_version(document: Any) -> None:
    """Protocol, semantics and features come first: a newer document is refused by their names, whatever its shape."""
    protocol = take_map(document, None).get("protocol")
    if protocol != AIR_PROTOCOL:
        given = f"`{shown(protocol)}`" if isinstance(protocol, str) else "not text"
        raise fault((None, "protocol"), f"the protocol is {given}; this runtime reads `{AIR_PROTOCOL}`")
    semantics = document.get("semantics")
    if semantics != SEMANTICS or isinstance(semantics, bool):
        given = str(take_whole(semantics, (None, "semantics")))
        raise fault((None, "semantics"), f"the semantics are {given}; this runtime has {SEMANTICS}")
    for feature in take_texts(document.get("requires"), (None, "requires")):
        if feature not in FEATURES:
            raise ToubaFailure(
                "FeatureUnavailable",
                f"the program requires `{shown(feature)}`, which this version does not know",
                hint="Run it with the version of Touba that compiled it.",
            )


def _check_requires(given: list[str], used: set[str]) -> None:
    if given != sorted(used):
        raise fault((None, "requires"), f"the program uses {', '.join(sorted(used)) or 'no feature'}")


def _take_modules(value: Any, place: Place) -> frozenset[str]:
    modules = take_texts(value, place)
    for position, name in enumerate(modules):
        if not is_module(name):
            raise fault((place, position), f"`{shown(name)}` is not written as modules are")
    if modules != sorted(modules):
        raise fault(place, "the modules are not sorted")
    return frozenset(modules)


# --- callables --------------------------------------------------------------------------------------------------------

#: kind of a callable → members that it must have, and members that it may have
_CODE = ("slots", "cost", "code")
_MEMBERS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "function": (_CODE, ("doc",)),
    "strategy": (_CODE, ("doc",)),
    "skill": (_CODE, ("doc", "callable_by")),
    "branch": (_CODE, ()),
    "tool": (("requires", "secrets", "effect"), ("timeout_ms", "doc", "reads", "writes", "key", "compensation")),
    "agent": (("responsibility", "uses", "reviews", "steps", "provider_calls"), ("doc", "callable_by")),
}

#: clauses of a tool that few have
_RARE = frozenset(("reads", "writes", "key", "compensation"))


class _Declarations:
    """Checks callables, and what only some programs have besides."""

    def __init__(self, document: dict[str, Any], types: Types, modules: frozenset[str]):
        self.document = document
        self.types = types
        self.modules = modules
        self.place: Place = (None, "callables")
        self.callables: dict[str, Any] = take_map(document["callables"], self.place)
        self.gates: dict[str, Any] = {}
        self.signatures = {ref: self._take_signature(ref, each) for ref, each in self.callables.items()}
        self.used: set[str] = set()
        #: whether the program, its tests apart, has an `Outcome`
        self.outcomes = False

    def check(self) -> list[int] | None:
        """Everything; gives how many places the source map has for each test, None where there are none."""
        rare = self._rare()
        if "gates" in self.document:
            from .verify_groups import check_gates

            self.gates = check_gates(self.document["gates"], (None, "gates"), self.types)
        for ref, each in self.callables.items():
            kind = self.signatures[ref].kind
            if kind == "tool":
                _check_tool(each, (self.place, ref))
            elif kind != "agent" and kind != "branch":
                owner = Owner(ref, self.gates, self._check_code)
                self._check_code(ref, owner)
                self.used |= owner.used
        for ref in self.callables:
            if self.signatures[ref].kind == "branch" and ref not in self.used:
                raise fault((self.place, ref), "no group has this branch")
        for ref in self.gates:
            if ref not in self.used:
                raise fault(((None, "gates"), ref), "no code comes to this gate")
        if rare:
            return self._check_rare()
        self.outcomes = self.types.outcomes
        return None

    def _rare(self) -> bool:
        """Whether the program has anything that `verify_declared` checks."""
        return any(name in self.document for name in ("memories", "triggers", "tests")) or any(
            self.signatures[ref].kind == "agent" or not _RARE.isdisjoint(each) for ref, each in self.callables.items()
        )

    def _check_rare(self) -> list[int] | None:
        from . import verify_declared as rules

        document = self.document
        memories: dict[str, Any] = {}
        if "memories" in document:
            memories = rules.check_memories(document["memories"], (None, "memories"), self.types, self.modules)
        declared = rules.Declared(self.types, self.modules, self.signatures, memories, _take_slots)
        for ref, each in self.callables.items():
            kind = self.signatures[ref].kind
            if kind == "agent":
                rules.check_agent(each, (self.place, ref), declared)
            elif kind == "tool":
                rules.check_tool_clauses(ref, each, (self.place, ref), declared)
        rules.check_compensations(self.callables, self.place)
        if "triggers" in document:
            rules.check_triggers(document["triggers"], (None, "triggers"), document, declared)
        self.outcomes = self.types.outcomes
        if "tests" in document:
            return rules.check_tests(document["tests"], (None, "tests"), declared)
        return None

    def _take_signature(self, ref: str, value: Any) -> Signature:
        place: Place = (self.place, ref)
        parts = split_ref(ref)
        branch = split_branch(ref)
        if branch is not None:
            owner = split_ref(f"skill:{branch[0]}")
            parts = ("branch", owner[1], owner[2]) if owner is not None else None
        if parts is None or parts[0] not in _MEMBERS or (parts[0] == "branch") != (branch is not None):
            raise fault(place, "a callable's reference is written `KIND:MODULE/NAME`; kinds are " + ", ".join(KINDS))
        kind, module, _ = parts
        if module not in self.modules:
            raise fault(place, f"the module `{shown(module)}` is not among `modules`")
        required, optional = _MEMBERS[kind]
        take_object(value, place, ("takes", "gives", *required), optional)
        if "doc" in value:
            take_text(value["doc"], (place, "doc"))
        callers: list[str] | None = None
        if "callable_by" in value:
            from .verify_declared import take_callers

            callers = take_callers(value["callable_by"], (place, "callable_by"), self.callables)
        takes: dict[str, TypeForm] = {}
        guards: dict[str, TypeForm] = {}
        for position, each in enumerate(take_array(value["takes"], (place, "takes"))):
            here: Place = ((place, "takes"), position)
            take_object(each, here, ("name", "type"), ("doc",))
            name = take_word(each["name"], (here, "name"))
            if name in takes:
                raise fault((here, "name"), f"the input `{shown(name)}` stands twice")
            form = self.types.take_declared(each["type"], (here, "type"))
            takes[name] = self.types.base(form)
            guard = self.types.guard(form)
            if guard is not None:
                guards[name] = guard
            if "doc" in each:
                take_text(each["doc"], (here, "doc"))
        form = self.types.take_declared(value["gives"], (place, "gives"))
        gives, gives_guard = self.types.base(form), self.types.guard(form)
        return Signature(kind, list(takes), list(takes.values()), gives, callers, guards, gives_guard)

    def _check_code(self, ref: str, owner: Owner) -> None:
        """Check slots and code of a callable, or of a branch of one."""
        value = self.callables[ref]
        place: Place = (self.place, ref)
        slots = _take_slots(value["slots"], (place, "slots"), self.types, self.signatures[ref])
        flow = Flow(ref, value["code"], (place, "code"), self.types, self.signatures, slots, owner)
        flow.check()
        flow.check_costs(value["cost"], (place, "cost"))


def _check_tool(tool: dict[str, Any], place: Place) -> None:
    for position, grant in enumerate(take_texts(tool["requires"], (place, "requires"))):
        if grant not in GRANTS:
            raise fault(((place, "requires"), position), f"`{shown(grant)}` is not a grant")
    for position, handle in enumerate(take_texts(tool["secrets"], (place, "secrets"))):
        take_word(handle, ((place, "secrets"), position))
    if tool["effect"] not in EFFECTS:
        raise fault((place, "effect"), "an effect is one of " + ", ".join(EFFECTS))
    if "timeout_ms" in tool:
        limit = LIMITS["handler_timeout_ms"]
        take_whole(tool["timeout_ms"], (place, "timeout_ms"), limit.lowest, limit.highest)


def _take_slots(value: Any, place: Place, types: Types, signature: Signature) -> list[TypeForm]:
    slots: list[TypeForm] = []
    limit = LIMITS["callable_slots"].default
    if len(take_array(value, place)) > limit:
        raise fault(place, f"a callable has at most {limit} slots")
    for position, each in enumerate(value):
        here: Place = (place, position)
        name = take_text(take_array(each, here, 2)[0], (here, 0))
        if not name.isascii():
            raise fault((here, 0), "the name of a slot is ASCII")
        slots.append(types.take_base(each[1], (here, 1)))
        if position < len(signature.takes) and (name, slots[-1]) != (
            signature.names[position],
            signature.takes[position],
        ):
            raise fault(here, "the first slots are the inputs, with their base types")
    if len(slots) < len(signature.takes):
        raise fault(place, "the first slots are the inputs")
    return slots


# --- outside the digest -----------------------------------------------------------------------------------------------


def _check_source_map(document: dict[str, Any], place: Place, tests: list[int] | None) -> None:
    """``tests`` says how many places each test has; it is None where there are no tests."""
    members = ("files", "callables") if tests is None else ("files", "callables", "tests")
    source_map = take_object(document["source_map"], place, members)
    files = take_texts(source_map["files"], (place, "files"))
    for position, path in enumerate(files):
        _check_path(path, ((place, "files"), position))
    for ref, spans in take_map(source_map["callables"], (place, "callables")).items():
        here: Place = ((place, "callables"), ref)
        declared = document["callables"].get(ref, {})
        # The key of a tool is one expression: it has one place.
        code = declared.get("code", [None] if "key" in declared else None)
        if code is None:
            raise fault(here, "the program has no code under this reference")
        _check_spans(spans, here, len(code), len(files))
    if tests is not None:
        here = (place, "tests")
        for position, spans in enumerate(take_array(source_map["tests"], here, len(tests))):
            _check_spans(spans, (here, position), tests[position], len(files))


def _check_spans(value: Any, place: Place, count: int, files: int) -> None:
    for position, span in enumerate(take_array(value, place, count)):
        _check_span(span, (place, position), files)


def _check_span(value: Any, place: Place, files: int) -> None:
    take_array(value, place, 5)
    take_whole(value[0], (place, 0), 0, files - 1)
    for position in range(1, 5):
        take_whole(value[position], (place, position), 1)
    if value[1:3] > value[3:5]:
        raise fault(place, "a span ends before it begins")


def _check_build(value: Any, place: Place) -> None:
    build = take_object(value, place, ("compiler", "sources"))
    take_text(build["compiler"], (place, "compiler"))
    for path, digest in take_map(build["sources"], (place, "sources")).items():
        here: Place = ((place, "sources"), path)
        _check_path(path, here)
        if not is_hex(take_text(digest, here), 64):
            raise fault(here, "a source's digest is 64 hex digits")


def _check_path(path: str, place: Place) -> None:
    """Source paths are relative to the project and stay inside."""
    if not path or "\\" in path or any(part in ("", ".", "..") for part in path.split("/")):
        raise fault(place, "a source's path is relative to the project, with `/`")
