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
    split_ref,
    take_array,
    take_map,
    take_object,
    take_text,
    take_texts,
    take_whole,
    take_word,
)
from .program import AIR_PROTOCOL, DIGESTED, FEATURES, SEMANTICS, program_digest
from .verify_expr import Signature
from .verify_flow import Flow
from .verify_types import Types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .places import Place
    from .types import TypeForm

KINDS: tuple[str, ...] = ("function", "tool", "skill", "strategy")


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
    take_object(document, None, (*DIGESTED, "digest", "source_map", "build"))
    modules = _take_modules(document["modules"], (None, "modules"))
    types = Types(document["types"], (None, "types"), modules)
    features = _check_callables(document["callables"], (None, "callables"), types, modules)
    _check_requires(document["requires"], features)
    _check_source_map(document, (None, "source_map"))
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
                "FeatureUnavailable", f"the program requires `{shown(feature)}`, which this runtime does not have"
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


def _check_callables(value: Any, place: Place, types: Types, modules: frozenset[str]) -> set[str]:
    """Check all callables; gives the features that they use."""
    callables = take_map(value, place)
    signatures = {ref: _take_signature(ref, each, (place, ref), types, modules) for ref, each in callables.items()}
    features = {"tools"} if any(each.kind == "tool" for each in signatures.values()) else set()
    for ref, each in callables.items():
        if signatures[ref].kind == "tool":
            _check_tool(each, (place, ref))
        else:
            features |= _check_code(ref, each, (place, ref), types, signatures)
    return features


def _take_signature(ref: str, value: Any, place: Place, types: Types, modules: frozenset[str]) -> Signature:
    parts = split_ref(ref)
    if parts is None or parts[0] not in KINDS:
        raise fault(place, "a callable's reference is written `KIND:MODULE/NAME`; kinds are " + ", ".join(KINDS))
    kind, module, _ = parts
    if module not in modules:
        raise fault(place, f"the module `{shown(module)}` is not among `modules`")
    if kind == "tool":
        take_object(value, place, ("takes", "gives", "requires", "secrets", "effect"), ("timeout_ms", "doc"))
    else:
        take_object(value, place, ("takes", "gives", "slots", "cost", "code"), ("doc",))
    if "doc" in value:
        take_text(value["doc"], (place, "doc"))
    takes: dict[str, TypeForm] = {}
    for position, each in enumerate(take_array(value["takes"], (place, "takes"))):
        here: Place = ((place, "takes"), position)
        take_object(each, here, ("name", "type"), ("doc",))
        name = take_word(each["name"], (here, "name"))
        if name in takes:
            raise fault((here, "name"), f"the input `{shown(name)}` stands twice")
        takes[name] = types.base(types.take_declared(each["type"], (here, "type")))
        if "doc" in each:
            take_text(each["doc"], (here, "doc"))
    gives = types.base(types.take_declared(value["gives"], (place, "gives")))
    return Signature(kind, list(takes), list(takes.values()), gives)


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


def _check_code(
    ref: str, value: dict[str, Any], place: Place, types: Types, signatures: dict[str, Signature]
) -> set[str]:
    """Check slots and code; gives the features that the code uses."""
    slots = _take_slots(value["slots"], (place, "slots"), types, signatures[ref])
    flow = Flow(ref, value["code"], (place, "code"), types, signatures, slots)
    flow.check()
    flow.check_costs(value["cost"], (place, "cost"))
    return flow.features


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


def _check_source_map(document: dict[str, Any], place: Place) -> None:
    source_map = take_object(document["source_map"], place, ("files", "callables"))
    files = take_texts(source_map["files"], (place, "files"))
    for position, path in enumerate(files):
        _check_path(path, ((place, "files"), position))
    for ref, spans in take_map(source_map["callables"], (place, "callables")).items():
        here: Place = ((place, "callables"), ref)
        code = document["callables"].get(ref, {}).get("code")
        if code is None:
            raise fault(here, "the program has no code under this reference")
        for position, span in enumerate(take_array(spans, here, len(code))):
            _check_span(span, (here, position), len(files))


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
