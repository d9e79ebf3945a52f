"""Running what was drawn: compiled, verified, formatted, and run in both engines with drawn inputs and answers."""

from __future__ import annotations

from typing import Any

from tests.generated.draw import Draw
from tests.generated.programs import Source
from tests.generated.shapes import Declared, Member, Place, as_document, wire
from tests.language.programs import Texts
from tests.runtime.machine_kit import Ran
from touba_cli.air.program import Program, read_program, write_program
from touba_cli.codec import decode
from touba_cli.errors import ToubaFailure
from touba_cli.language.compiler import Compiled, compile_program
from touba_cli.runtime.admission import ENTRY_KINDS, check_features, decode_inputs
from touba_cli.runtime.budget import allow_recursion
from touba_cli.runtime.execution import GeneratedCode
from touba_cli.runtime.machine import Machine, Need, RunLimits, Settled
from touba_cli.values.check import TypeTable
from touba_cli.values.model import Meter

# The machine raises Python's recursion limit when it is first made; better before a test begins.
allow_recursion()

#: code → why a compiled program may end with it. Types, names, arity, exhaustiveness and authority are not among them.
DYNAMIC_CODES: dict[str, str] = {
    "StepLimitExceeded": "the budget of the run",
    "DepthLimitExceeded": "recursion without an end",
    "ExternalCallLimitExceeded": "the tool calls of the run",
    "ValueTooLarge": "the size or nesting of a value",
    "BusinessFailure": "`fail`",
    "RequirementFailed": "`require`",
    "IntegerOverflow": "whole numbers of 64 bits",
    "DecimalOverflow": "the range of Decimal",
    "FloatOverflow": "the range of Float",
    "DateOverflow": "the years 1 to 9999",
    "DurationOverflow": "the longest Duration",
    "DurationNotWholeDays": "a Date and a Duration of no whole days",
    "DivisionByZero": "a divisor that is computed",
    "IndexOutOfRange": "a position that is computed",
    "PlacesOutOfRange": "the places of `round`",
    "SeparatorEmpty": "the separators of `split` and `replace`",
    "ConstraintViolated": "a computed value in a place with a constraint",
    "ToolResultInvalid": "an answer that is not of the declared type",
    "CardDeclined": "a handler's own failure",
    "ToolTimeout": "a handler that is too slow",
    "ToolExited": "a handler that ends without an answer",
}

#: budgets that end a run soon enough
LIMITS = {"max_steps": 4_000, "max_depth": 40, "max_external_calls": 20, "max_value_bytes": 20_000}


def compiled(files: dict[str, str], entry: str = "app.tb") -> Compiled:
    return compile_program(Texts(files), entry)


def errors(found: Compiled) -> list[str]:
    """The errors of a compilation, each with its place."""
    shown = []
    for each in found.diagnostics:
        if each.severity == "error":
            line, column = each.source.position(each.span.start)
            shown.append(f"{each.source.path}:{line}:{column} {each.code} {each.title}; {each.label}")
    return shown


def verified(found: Compiled) -> Program:
    """The program, read back from the bytes of its AIR by the verifier."""
    assert found.air is not None
    program = read_program(write_program(found.air))
    assert program.document == found.air
    return program


def refused(program: Program) -> str | None:
    """The message with which a program is refused because of what this runtime does not have; None where it runs."""
    try:
        check_features(program)
    except ToubaFailure as failure:
        return failure.message if failure.code == "FeatureUnavailable" else f"another refusal: {failure}"
    return None


# --- types of AIR as places -------------------------------------------------------------------------------------------


class Types:
    """The types of a compiled program, for values that come from outside. What is bound is left to chance: a drawn
    value that breaks a constraint is drawn again."""

    def __init__(self, program: Program):
        self.table = TypeTable(program.types)
        self._declared: dict[str, Declared] = {}
        self._meter = Meter(2**62, 2**25)

    def place(self, form: Any) -> Place:
        """A place of a type form of AIR."""
        if isinstance(form, tuple):
            return self.place(form[1]) if form[0] == "is" else Place(form[0], self.place(form[1]))
        declared = self.table.declared.get(form)
        if declared is None:
            return Place(form)
        if declared["kind"] == "alias":
            return self.place(_frozen(declared["of"]))
        if form not in self._declared:
            found = self._declared[form] = Declared(declared["kind"], *form.removeprefix("type:").split("/"))
            found.fields = self._members(declared.get("fields", ()))
            found.variants = [(each["name"], self._members(each["fields"])) for each in declared.get("variants", ())]
        return Place(self._declared[form])

    def _members(self, fields: Any) -> list[Member]:
        return [Member(each["name"], self.place(_frozen(each["type"])), each.get("wire")) for each in fields]

    def value(self, draw: Draw, form: Any, known: Place | None) -> Any:
        """A wire value of a type; the last try may break a constraint."""
        found: Any = None
        for attempt in range(12):
            place = known if known is not None else self.place(form)
            found = decode(as_document(wire(draw, place, 3 if attempt < 6 else 1)))
            try:
                self.table.decode(form, found, "$", self._meter, edge=True)
            except Exception as fault:
                if known is not None:
                    raise AssertionError(f"{form}: {found}") from fault
                continue
            return found
        return found


def _frozen(form: Any) -> Any:
    return tuple(_frozen(part) for part in form) if isinstance(form, list) else form


# --- runs -------------------------------------------------------------------------------------------------------------


class Entry:
    """One callable of a program with drawn inputs, to be run again and again."""

    def __init__(self, program: Program, ref: str, seed: int, source: Source | None = None):
        self.program = program
        self.ref = ref
        self.seed = seed
        #: a share of the runs is looked at often
        self.slice_steps = 500 if seed % 4 else 9
        self.types = Types(program)
        self.table = self.types.table
        self.code = GeneratedCode(program.callables, self.table, at_once=True)
        self.granted = {each.ref: frozenset(each.requires) for each in program.callables.values()}
        #: reference of a callable → its declared places, where the program was drawn and not changed
        self.places = {each.ref: each for each in source.callables} if source is not None else {}
        draw = Draw(seed)
        declared = self.places.get(ref)
        drawn = dict(declared.takes) if declared is not None else {}
        takes = program.callables[ref].takes
        self.inputs = {name: self.types.value(draw, form, drawn.get(name)) for name, form in takes}

    def arguments(self) -> list[Any] | None:
        """The inputs as values; None where they do not keep the constraints of a changed program."""
        try:
            return decode_inputs(
                self.program.callables[self.ref], self.table, self.inputs, Meter(2**62, 2**25), strict=False
            )
        except ToubaFailure:
            assert not self.places
            return None

    def answer(self, draw: Draw, need: Need) -> Settled:
        """What a handler answers: mostly a value of the declared type."""
        pick = draw.below(20)
        if pick == 0:
            return Settled.failed("CardDeclined", "no", effect=draw.pick(["none", "done"]))
        if pick == 1:
            return Settled.failed(draw.pick(["ToolTimeout", "ToolExited"]), "late", effect="unknown")
        if pick == 2:
            return Settled.given({"not": "of the type"})
        declared = self.places.get(need.ref)
        form = self.program.callables[need.ref].gives
        return Settled.given(self.types.value(draw, form, declared.gives if declared is not None else None))

    def run(self, how: str, **limits: int) -> tuple[Any, ...]:
        """Everything that a run tells, in one engine: "reference", "generated", or "mixed" as it comes."""
        code = {"generated": self.code, "reference": None}.get(how, GeneratedCode(self.program.callables, self.table))
        arguments = self.arguments()
        if arguments is None:
            return ()
        machine = Machine(
            self.program, self.table, self.ref, arguments, RunLimits(**{**LIMITS, **limits}), self.granted, code,
            reference=how == "reference",
        )  # fmt: skip
        draw = Draw(self.seed + 1)
        ran = Ran()
        clock: list[Any] = []
        while ran.outcome is None:
            progress = machine.advance(self.slice_steps, lambda: clock.append(machine.usage.steps))
            ran.take(progress)
            frames = [
                (each.callable.ref, each.pc, repr(each.slots), repr(each.attempts)) for each in machine._task.frames
            ]
            clock.append((machine.usage.steps, frames))
            for need in progress.needs:
                machine.settle(need.occurrence, self.answer(draw, need))
        ran.steps = machine.usage.steps
        return (*ran.story(), clock)

    def check(self, how: str = "generated") -> tuple[Any, ...]:
        """Run in both engines; the story that both tell. The outcome is a value of the type, or a listed failure."""
        expected = self.run("reference")
        for engine in dict.fromkeys((how, "generated")):
            assert self.run(engine) == expected, (self.ref, engine)
        if expected:
            self.check_outcome(expected)
        return expected

    def check_outcome(self, story: tuple[Any, ...]) -> None:
        kind, result, _, failure = story[:4]
        if kind == "finished":
            self.table.decode(self.program.callables[self.ref].gives, result, "$", Meter(2**62, 2**25), edge=False)
        elif kind == "failed":
            assert failure[0] in DYNAMIC_CODES, failure[:2]
        else:
            assert kind == "stopped"


def entries(program: Program) -> list[str]:
    return [ref for ref, each in program.callables.items() if each.kind in ENTRY_KINDS]
