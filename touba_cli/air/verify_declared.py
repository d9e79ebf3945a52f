"""The verifier's rules for what stands besides code: agents, memories, clauses of tools, triggers, tests.

Loaded where a program has them.
"""

from __future__ import annotations

from ..documents import MEMORY_SCOPES, QUOTA_PERIODS
from ..limits import LIMITS
from ..outcomes import STATUSES
from .costs import expression_cost
from .outside import FAULTS, fault_of_zone
from .places import (
    fault,
    is_capital,
    is_module,
    is_word,
    shown,
    split_ref,
    take_array,
    take_map,
    take_object,
    take_text,
    take_texts,
    take_whole,
    take_word,
    unknown,
)
from .types import KEY_TYPES
from .verify_expr import Expressions, Signature, written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from .places import Place
    from .types import TypeForm
    from .verify_types import Types

#: what may call a guarded callable
_CALLERS = ("strategy", "skill", "agent")
#: what an agent may use, and what may be started from outside or by a test
_USED = ("tool", "function", "skill", "strategy", "agent")
_STARTED = ("strategy", "skill", "agent", "function")
#: decisions of people in tests
_ANSWERS = {"approve": ("approve", "reject"), "review": ("accept", "reject"), "ask": ()}


class Declared:
    """What these rules check against: the types, callables and slots of a program."""

    __slots__ = ("memories", "modules", "signatures", "take_slots", "types")

    def __init__(
        self,
        types: Types,
        modules: frozenset[str],
        signatures: dict[str, Signature],
        memories: dict[str, Any],
        take_slots: Callable[[Any, Place, Types, Signature], list[TypeForm]],
    ):
        self.types = types
        self.modules = modules
        self.signatures = signatures
        self.memories = memories
        self.take_slots = take_slots

    def callable(self, value: Any, place: Place, kinds: tuple[str, ...]) -> Signature:
        """The signature of a callable of some kinds."""
        ref = take_text(value, place)
        signature = self.signatures.get(ref)
        if signature is None or signature.kind not in kinds:
            raise fault(place, f"`{shown(ref)}` is not a {_listed(kinds)} of the program")
        return signature


def _listed(kinds: tuple[str, ...]) -> str:
    return kinds[0] if len(kinds) == 1 else f"{', '.join(kinds[:-1])} or {kinds[-1]}"


# --- callables --------------------------------------------------------------------------------------------------------


def take_callers(value: Any, place: Place, refs: dict[str, Any]) -> list[str]:
    """`callable_by`: sorted references of callables that call."""
    callers = take_texts(value, place)
    for position, ref in enumerate(callers):
        if ref not in refs or ref.partition(":")[0] not in _CALLERS:
            raise fault((place, position), f"`{shown(ref)}` is not a {_listed(_CALLERS)} of the program")
    if callers != sorted(callers):
        raise fault(place, "the callers are not sorted")
    return callers


def check_agent(agent: dict[str, Any], place: Place, declared: Declared) -> None:
    """The clauses of an agent."""
    if not take_text(agent["responsibility"], (place, "responsibility")).strip():
        raise fault((place, "responsibility"), "a responsibility says something")
    for position, ref in enumerate(take_texts(agent["uses"], (place, "uses"))):
        declared.callable(ref, ((place, "uses"), position), _USED)
    if not isinstance(agent["reviews"], bool):
        raise fault((place, "reviews"), "true or false was expected")
    for member, limit in (("steps", "agent_steps"), ("provider_calls", "agent_provider_calls")):
        take_whole(agent[member], (place, member), LIMITS[limit].lowest, LIMITS[limit].highest)


def check_tool_clauses(ref: str, tool: dict[str, Any], place: Place, declared: Declared) -> None:
    """The clauses of a tool that few tools have."""
    for member in ("reads", "writes"):
        if member not in tool:
            continue
        memories = take_texts(tool[member], (place, member))
        for position, memory in enumerate(memories):
            if memory not in declared.memories:
                raise fault(((place, member), position), f"`{shown(memory)}` is not a memory of the program")
        if not memories or memories != sorted(memories):
            raise fault((place, member), "the memories are sorted, and there is one at least")
    if ("key" in tool or "compensation" in tool or "writes" in tool) and tool["effect"] != "write":
        raise fault((place, "effect"), "a key, a compensation and a written memory need the effect `write`")
    if "key" in tool:
        _check_key(ref, tool["key"], (place, "key"), declared)
    if "compensation" in tool:
        _check_compensation(ref, tool["compensation"], (place, "compensation"), declared)


def _check_key(ref: str, value: Any, place: Place, declared: Declared) -> None:
    key = take_object(value, place, ("slots", "cost", "value"))
    signature = declared.signatures[ref]
    slots = declared.take_slots(key["slots"], (place, "slots"), declared.types, signature)
    expressions = Expressions(declared.types, declared.signatures, slots)
    expressions.assigned = (1 << len(signature.takes)) - 1
    form = expressions.type_of(key["value"], (place, "value"))
    if form not in KEY_TYPES and not declared.types.is_plain_choice(form):
        raise fault((place, "value"), f"{written(form)} cannot be a key")
    if take_whole(key["cost"], (place, "cost")) != expression_cost(key["value"]):
        raise fault((place, "cost"), f"the key costs {expression_cost(key['value'])}")


def _check_compensation(ref: str, value: Any, place: Place, declared: Declared) -> None:
    take_object(value, place, ("ref", "takes"))
    other = declared.callable(value["ref"], (place, "ref"), ("tool",))
    signature = declared.signatures[ref]
    guards: Mapping[str, TypeForm | None]
    if value["takes"] == "inputs":
        fits = other.names == signature.names and other.takes == signature.takes
        guards = signature.guards
    elif value["takes"] == "result":
        fits = other.takes == [signature.gives]
        guards = dict.fromkeys(other.names, signature.gives_guard)
    else:
        raise fault((place, "takes"), "a compensation takes the `result` or the `inputs`")
    if not fits:
        raise fault((place, "ref"), f"`{shown(value['ref'])}` does not take the {value['takes']} of the tool")
    for name, guard in other.guards.items():
        if guards.get(name) != guard:
            raise fault((place, "ref"), f"the {value['takes']} of the tool need not keep the constraints of `{name}`")


def check_compensations(callables: dict[str, Any], place: Place) -> None:
    """Refuse circles of compensations."""
    ends: set[str] = set()
    for start in callables:
        chain: list[str] = []
        ref: str | None = start
        while ref is not None and ref not in ends:
            if ref in chain:
                raise fault((place, ref), "compensations go in a circle")
            chain.append(ref)
            ref = callables[ref].get("compensation", {}).get("ref")
        ends.update(chain)


# --- memories ---------------------------------------------------------------------------------------------------------


def check_memories(value: Any, place: Place, types: Types, modules: frozenset[str]) -> dict[str, Any]:
    """The table of memories."""
    memories = take_map(value, place)
    if not memories:
        raise fault(place, "a program without memories has no such member")
    for ref, memory in memories.items():
        here: Place = (place, ref)
        _check_ref(ref, "memory", here, modules)
        take_object(memory, here, ("holds", "scope"), ("key", "doc"))
        form = types.base(types.take_declared(memory["holds"], (here, "holds")))
        if form == "Nothing":
            raise fault((here, "holds"), "a memory of `Nothing` keeps nothing")
        if memory["scope"] not in MEMORY_SCOPES:
            raise fault((here, "scope"), "a scope is one of " + ", ".join(MEMORY_SCOPES))
        if "key" in memory:
            _check_path(memory["key"], (here, "key"), form, types)
        if "doc" in memory:
            take_text(memory["doc"], (here, "doc"))
    return memories


def _check_path(value: Any, place: Place, form: TypeForm, types: Types) -> None:
    path = take_array(value, place)
    for position, name in enumerate(path):
        fields = types.fields(form) if isinstance(form, str) else None
        if fields is None:
            raise fault((place, position), f"{written(form)} has no fields")
        found = fields.get(take_text(name, (place, position)))
        if found is None:
            raise fault((place, position), unknown("field", name, fields))
        form = found
    if not path or (form not in KEY_TYPES and not types.is_plain_choice(form)):
        raise fault(place, f"{written(form)} cannot be a key")


def _check_ref(ref: str, kind: str, place: Place, modules: frozenset[str]) -> None:
    parts = split_ref(ref)
    if parts is None or parts[0] != kind:
        raise fault(place, f"a reference here is written `{kind}:MODULE/NAME`")
    if parts[1] not in modules:
        raise fault(place, f"the module `{shown(parts[1])}` is not among `modules`")


# --- triggers ---------------------------------------------------------------------------------------------------------


def check_triggers(value: Any, place: Place, document: dict[str, Any], declared: Declared) -> None:
    """The table of triggers."""
    triggers = take_map(value, place)
    if not triggers:
        raise fault(place, "a program without triggers has no such member")
    paths: set[str] = set()
    for ref, trigger in triggers.items():
        here: Place = (place, ref)
        _check_ref(ref, "trigger", here, declared.modules)
        take_object(trigger, here, ("on", "starts", "payload"), ("quota", "doc"))
        source = _check_source(trigger["on"], (here, "on"))
        if source in paths:
            raise fault((here, "on"), f"the path `{shown(source)}` starts another trigger already")
        if trigger["on"]["kind"] == "webhook":
            paths.add(source)
        signature = declared.callable(trigger["starts"], (here, "starts"), _STARTED)
        takes = {each["name"]: each["type"] for each in document["callables"][trigger["starts"]]["takes"]}
        _check_payload(trigger["payload"], (here, "payload"), signature, takes, declared)
        if "quota" in trigger:
            quota = take_object(trigger["quota"], (here, "quota"), ("count", "per"))
            limit = LIMITS["trigger_quota"]
            take_whole(quota["count"], ((here, "quota"), "count"), limit.lowest, limit.highest)
            if quota["per"] not in QUOTA_PERIODS:
                raise fault(((here, "quota"), "per"), "a period is one of " + ", ".join(QUOTA_PERIODS))
        if "doc" in trigger:
            take_text(trigger["doc"], (here, "doc"))


_SOURCES = {"schedule": "cron", "webhook": "path", "event": "name"}


def _check_source(value: Any, place: Place) -> str:
    kind = take_map(value, place).get("kind")
    member = _SOURCES.get(kind) if isinstance(kind, str) else None
    if member is None or not isinstance(kind, str):
        raise fault((place, "kind"), "a source of events is one of " + ", ".join(_SOURCES))
    take_object(value, place, ("kind", member), ("timezone",) if kind == "schedule" else ())
    text = take_text(value[member], (place, member))
    wrong = FAULTS[kind](text)
    if wrong is not None:
        raise fault((place, member), wrong)
    if "timezone" in value:
        wrong = fault_of_zone(take_text(value["timezone"], (place, "timezone")))
        if wrong is not None:
            raise fault((place, "timezone"), wrong)
    return text


def _check_payload(value: Any, place: Place, signature: Signature, takes: dict[str, Any], declared: Declared) -> None:
    payload = take_map(value, place)
    forms = dict(zip(signature.names, signature.takes, strict=True))
    constants = Expressions(declared.types, declared.signatures, [])
    for name, entry in payload.items():
        here: Place = (place, name)
        if name not in forms:
            raise fault(here, unknown("input", name, forms))
        take_map(entry, here)
        if "is" in entry:
            take_object(entry, here, ("is",))
            constants.enter(entry["is"], (here, "is"), forms[name], signature.guards.get(name))
            continue
        take_object(entry, here, ("from",))
        path = take_array(entry["from"], (here, "from"))
        for position, part in enumerate(path):
            take_word(part, ((here, "from"), position))
        if path[:1] != ["body"]:
            raise fault((here, "from"), "a path into an event begins with `body`")
    for name, form in forms.items():
        if name not in payload and (isinstance(form, str) or form[0] != "Optional"):
            raise fault(place, f"the input `{shown(name)}` is missing")


# --- tests ------------------------------------------------------------------------------------------------------------


def check_tests(value: Any, place: Place, declared: Declared) -> list[int]:
    """The tests of a program; gives how many places the source map has for each."""
    tests = take_array(value, place)
    if not tests:
        raise fault(place, "a program without tests has no such member")
    seen: set[tuple[str, str]] = set()
    counts: list[int] = []
    for position, test in enumerate(tests):
        here: Place = (place, position)
        take_object(test, here, ("name", "module", "slots", "given", "run", "expect"))
        name = (take_text(test["module"], (here, "module")), take_text(test["name"], (here, "name")))
        if not is_module(name[0]) or name[0] not in declared.modules:
            raise fault((here, "module"), f"the module `{shown(name[0])}` is not among `modules`")
        if name in seen:
            raise fault((here, "name"), "two tests have this name")
        seen.add(name)
        counts.append(_Test(declared, test, here).check())
    return counts


class _Test:
    def __init__(self, declared: Declared, test: dict[str, Any], place: Place):
        self.declared = declared
        self.test = test
        self.place = place
        slots = declared.take_slots(
            test["slots"], (place, "slots"), declared.types, Signature("test", [], [], "Nothing")
        )
        self.expressions = Expressions(declared.types, declared.signatures, slots)

    def check(self) -> int:
        """The number of its places."""
        given = take_array(self.test["given"], (self.place, "given"))
        for position, entry in enumerate(given):
            self._given(entry, ((self.place, "given"), position))
        here: Place = (self.place, "run")
        run = take_object(self.test["run"], here, ("ref", "arguments"))
        signature = self.declared.callable(run["ref"], (here, "ref"), _STARTED)
        self.expressions.expect_all(run["arguments"], (here, "arguments"), signature.takes)
        expect = take_array(self.test["expect"], (self.place, "expect"))
        for position, entry in enumerate(expect):
            self._expect(entry, ((self.place, "expect"), position), signature)
        if not expect:
            raise fault((self.place, "expect"), "a test expects something")
        return len(given) + len(expect) + 2

    def _given(self, value: Any, place: Place) -> None:
        kind = take_map(value, place).get("kind")
        if kind == "tool":
            signature = self.declared.callable(value.get("ref"), (place, "ref"), ("tool",))
            if "gives" in value:
                take_object(value, place, ("kind", "ref", "gives"))
                self.expressions.expect(value["gives"], (place, "gives"), signature.gives)
                return
            take_object(value, place, ("kind", "ref", "fails"))
            code = take_text(value["fails"], (place, "fails"))
            if not is_capital(code):
                raise fault((place, "fails"), "a failure code is not written as codes are")
        elif kind == "agent":
            take_object(value, place, ("kind", "ref", "decides"))
            signature = self.declared.callable(value["ref"], (place, "ref"), ("agent",))
            for position, entry in enumerate(take_array(value["decides"], (place, "decides"))):
                self._proposal(entry, ((place, "decides"), position), signature)
        elif isinstance(kind, str) and kind in _ANSWERS:
            self._answer(kind, value, place)
        else:
            raise fault((place, "kind"), "what is given is one of " + ", ".join(("tool", "agent", *_ANSWERS)))

    def _proposal(self, value: Any, place: Place, agent: Signature) -> None:
        if "answer" in take_map(value, place):
            take_object(value, place, ("answer",))
            self.expressions.expect(value["answer"], (place, "answer"), agent.gives)
            return
        take_object(value, place, ("call", "arguments"))
        called = self.declared.callable(value["call"], (place, "call"), _USED)
        self.expressions.expect_all(value["arguments"], (place, "arguments"), called.takes)

    def _answer(self, kind: str, value: dict[str, Any], place: Place) -> None:
        words = _ANSWERS[kind]
        if "name" in value and not is_word(take_text(value["name"], (place, "name"))):
            raise fault((place, "name"), "the name of a decision is not written as names are")
        if "answers" in value:
            take_object(value, place, ("kind", "answers"), ("name",))
            if value["answers"] not in words:
                raise fault((place, "answers"), f"a decision is {' or '.join(words) or 'a value'}")
            return
        take_object(value, place, ("kind", "gives"), ("name",))
        if kind == "approve":
            raise fault((place, "gives"), "an approval has no value")
        self.expressions.type_of(value["gives"], (place, "gives"))

    def _expect(self, value: Any, place: Place, run: Signature) -> None:
        kind = take_map(value, place).get("kind")
        if kind == "status":
            take_object(value, place, ("kind", "is"))
            if value["is"] not in STATUSES:
                raise fault((place, "is"), "a status is one of " + ", ".join(STATUSES))
        elif kind == "result":
            take_object(value, place, ("kind", "is"))
            self.expressions.expect(value["is"], (place, "is"), run.gives)
        elif kind == "calls":
            take_object(value, place, ("kind", "ref", "times"))
            self.declared.callable(value["ref"], (place, "ref"), ("tool", "skill", "strategy", "agent"))
            take_whole(value["times"], (place, "times"))
        elif kind == "effects":
            take_object(value, place, ("kind", "times"))
            take_whole(value["times"], (place, "times"), 0, 0)
        else:
            raise fault((place, "kind"), "an expectation is one of status, result, calls, effects")
