"""Small AIR documents and a driver without processes, for the tests of the machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from touba_cli.air.costs import callable_costs
from touba_cli.air.program import DIGESTED, Program, load_program, program_digest
from touba_cli.air.verifier import verify
from touba_cli.runtime.events import Event
from touba_cli.runtime.machine import Machine, Need, Outcome, Progress, RunLimits, Settled
from touba_cli.values.check import TypeTable
from touba_cli.values.model import Meter

TYPES: dict[str, Any] = {
    "type:app/Line": {
        "kind": "record",
        "fields": [{"name": "name", "type": "Text"}, {"name": "amount", "type": "Int"}],
    },
    "type:app/State": {
        "kind": "choice",
        "variants": [
            {"name": "Open", "fields": []},
            {"name": "Paid", "fields": [{"name": "receipt", "type": "Text"}, {"name": "cents", "type": "Int"}]},
        ],
    },
    "type:app/Level": {"kind": "choice", "variants": [{"name": "Low", "fields": []}, {"name": "High", "fields": []}]},
    "type:app/Small": {"kind": "alias", "of": ["is", "Int", [["max", ["int", 9]]]]},
}


def callable_(
    code: list[Any], *, gives: Any = "Int", slots: list[Any] | None = None, takes: list[Any] | None = None
) -> dict[str, Any]:
    """A callable; `slots` are the types of those behind the inputs. Costs are filled in."""
    inputs = [{"name": f"a{number}", "type": form} for number, form in enumerate(takes or [])]
    cost, loops = callable_costs(code)
    filled = [[*each[:2], loops[pc]] if each[0] == "again" else each for pc, each in enumerate(code)]
    named = [[each["name"], each["type"]] for each in inputs]
    named += [[f"s{number}", form] for number, form in enumerate(slots or [])]
    return {"takes": inputs, "gives": gives, "slots": named, "cost": cost, "code": filled}


def tool(effect: str = "none", gives: Any = "Int", takes: list[Any] | None = None, **more: Any) -> dict[str, Any]:
    inputs = [{"name": f"a{number}", "type": form} for number, form in enumerate(takes or [])]
    return {"takes": inputs, "gives": gives, "requires": [], "secrets": [], "effect": effect, **more}


def program(
    callables: dict[str, dict[str, Any]], *, sound: bool = True, types: dict[str, Any] | None = None
) -> Program:
    """A program of these callables and `TYPES`; checked by the verifier unless it is meant to be unsound."""
    features = []
    if any(each[0] == "attempt" for one in callables.values() for each in one.get("code", ())):
        features.append("attempt")
    if any(ref.startswith("tool:") for ref in callables):
        features.append("tools")
    document: dict[str, Any] = {
        "protocol": "touba-air-v1",
        "semantics": 1,
        "requires": features,
        "modules": ["app"],
        "types": TYPES if types is None else types,
        "callables": callables,
        "source_map": {
            "files": ["app.tb"],
            "callables": {ref: [[0, 1, 1, 1, 2]] * len(one["code"]) for ref, one in callables.items() if "code" in one},
        },
        "build": {"compiler": "0.1.0", "sources": {"app.tb": "0" * 64}},
    }
    assert set(DIGESTED) <= set(document)
    document["digest"] = program_digest(document)
    if sound:
        verify(document)
    return load_program(document)


def no_pulse() -> None:
    """Nothing to look at between slices."""


def machine(
    found: Program,
    entry: str = "strategy:app/Main",
    arguments: list[Any] | None = None,
    granted: dict[str, frozenset[str]] | None = None,
    **limits: int,
) -> Machine:
    table = TypeTable(found.types)
    return Machine(found, table, entry, arguments or [], RunLimits(**limits), granted or {})


class Ran:
    """Everything that a run told."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.messages: list[tuple[str, str]] = []
        self.needs: list[Need] = []
        self.outcome: Outcome | None = None
        self.steps = 0
        self.pulses = 0

    def take(self, progress: Progress) -> None:
        self.events += progress.events
        self.messages += [(each.interaction_ref, each.text) for each in progress.messages]
        self.needs += progress.needs
        self.outcome = progress.outcome

    @property
    def kinds(self) -> list[str]:
        return [each.kind for each in self.events]

    @property
    def ended(self) -> Outcome:
        assert self.outcome is not None
        return self.outcome

    @property
    def result(self) -> Any:
        assert self.ended.kind == "finished", self.ended.failure
        return self.ended.result

    @property
    def code(self) -> str:
        assert self.ended.failure is not None
        return self.ended.failure.code

    def story(self) -> Any:
        """What must be equal between two runs of the same."""
        failure = self.ended.failure
        return (
            self.ended.kind,
            self.ended.result,
            self.ended.explanation,
            failure and (failure.code, failure.message, failure.ref, failure.place, failure.effect),
            [plain(each) for each in self.events],
            self.messages,
            [(each.occurrence, each.ref, each.arguments, each.call_id) for each in self.needs],
            self.steps,
        )


def plain(event: Event) -> tuple[Any, ...]:
    return (event.kind, event.ref, event.span, event.parent, event.occurrence, event.data, event.task)


Answer = Callable[[Need], Settled]


def drive(made: Machine, answer: Answer | None = None, slice_steps: int = 20_000) -> Ran:
    """Run a machine to its end, answering each call at once."""
    ran = Ran()

    def pulse() -> None:
        ran.pulses += 1

    while ran.outcome is None:
        progress = made.advance(slice_steps, pulse)
        ran.take(progress)
        for need in progress.needs:
            assert answer is not None, f"{need.ref} was called"
            made.settle(need.occurrence, answer(need))
    ran.steps = made.usage.steps
    return ran


def evaluate(
    expression: Any, gives: Any = "Int", takes: list[Any] | None = None, arguments: list[Any] | None = None, **more: Any
) -> Ran:
    """Run a function that gives one expression; its slots behind the inputs are `slots`, its helpers `others`."""
    slots = more.pop("slots", [])
    others = more.pop("others", {})
    sound = more.pop("sound", True)
    main = callable_([["give", expression]], gives=gives, takes=takes, slots=slots)
    return drive(
        machine(program({"function:app/Main": main, **others}, sound=sound), "function:app/Main", arguments, **more)
    )


def meter() -> Meter:
    return Meter(10**9, 2**25)
