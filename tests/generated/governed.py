"""Programs with what compiles and does not run here yet: gates, groups, compensations, agents, memories, triggers, tests."""

from __future__ import annotations

from collections.abc import Callable

from tests.generated.expressions import Expressions
from tests.generated.names import NO_FACTS, Signature, Symbol
from tests.generated.programs import Programs, Source, key_form
from tests.generated.shapes import KEYABLE, Form, Place, mentions
from tests.generated.statements import INDENT, Bodies, End


class GovernedBodies(Bodies):
    """Bodies with gates, groups and compensations; ``features`` gets what they use."""

    features: set[str]

    def __init__(self, *parts: object):
        super().__init__(*parts)  # type: ignore[arg-type]
        self.features = set()
        self.gates: list[tuple[str, str, Place | None]] = []
        self._handlers = 0
        #: what the branch around gives: just this form
        self._branch: Form | None = None
        self._gave = False

    def more(self, depth: int) -> list[tuple[int, Callable[[], bool]]]:
        if self.kind == "function":
            return []
        ways: list[tuple[int, Callable[[], bool]]] = [(2, self.approve), (2, self.ask), (2, self.review)]
        if depth > 0 and self.statements < 12:
            ways += [(4, lambda: self.for_each_branch(depth - 1)), (3, lambda: self.branches(depth - 1))]
        if self._handlers:
            ways.append((4, self.compensate))
        return ways

    # --- gates --------------------------------------------------------------------------------------------------------

    def gate(self, kind: str, place: Place | None = None) -> str:
        """A new gate: how it is named."""
        self.features.add(kind)
        name = f"gate_{len(self.gates)}" if self.draw.chance(60) else ""
        self.gates.append((kind, name, place))
        return f" named {name}" if name else ""

    def expiry(self) -> str:
        return " expires after " + self.draw.pick(["3 days", "1 hour"]) if self.draw.chance(40) else ""

    def approve(self) -> bool:
        self.put(f"human.approve {self.words()}{self.gate('approve')}{self.expiry()}")
        return True

    def ask(self) -> bool:
        form = self.draw.pick(["Int", "Text", "Bool", ("List", "Text"), ("Optional", "Date"), self.some_form(0)])
        if mentions(form, "Entry"):
            form = "Text"  # no program can write the type of an entry
        place = self.written(form)
        words = self.words()
        name = self.new_name(form)
        self.put(f"let {name} = ask {words} as {place.written(self.unit.spell, bare=True)}{self.gate('ask', place)}")
        self.bind(form, name=name)
        return True

    def review(self) -> bool:
        form = self.some_form(1)
        if not self.can(form):
            form = "Text"
        value = self.text_of(form, 2, 9)
        name = self.new_name(form)
        self.put(f"let {name} = human.review {value} {self.words()}{self.gate('review')}{self.expiry()}")
        self.bind(form, name=name)
        return True

    # --- groups -------------------------------------------------------------------------------------------------------

    def give(self) -> bool:
        if self._branch is None:
            return super().give()
        self.line()
        self.put(f"give {self.exact(self._branch, 2).text}")
        self._gave = True
        return False

    def branch(self, form: Form | None, depth: int, bound: list[Symbol]) -> None:
        """The block of a branch that gives just this form; it sees the names around it and changes none."""
        outside = [symbol for symbol in self.symbols() if symbol.kind == "var"]
        kept = (self.gives, self.loops, self._handlers, self._branch, self._gave)
        self._gave = False
        for symbol in outside:
            symbol.kind = "outer"
        self.gives = None if form is None else Place("Int") if isinstance(form, tuple) else self.written(form)
        self._branch = form
        self.loops = self._handlers = 0
        before = self.facts
        self.level += 1
        self.blocks.append({symbol.name: symbol for symbol in bound})
        lines = len(self.lines)
        self.line()
        early = self.exact(form, 1).text if form is not None else ""
        if self.block(self.draw.between(0, 2), depth) and form is not None:
            self.give()
        if form is not None and not self._gave:
            # A branch without any `give` would give nothing.
            indent = INDENT * self.level
            self.lines[lines:lines] = [
                f"{indent}if {self.draw.pick(['true', 'false'])}",
                f"{indent}{INDENT}give {early}",
            ]
        if len(self.lines) == lines:
            self.let()
        self.leave()
        self.level -= 1
        self.facts = before
        self.gives, self.loops, self._handlers, self._branch, self._gave = kept
        for symbol in outside:
            symbol.kind = "var"

    def call(self) -> bool:
        # Inside a branch the result of a call is given in lines of its own: the types have to be just the same.
        gives, self.gives = self.gives, None if self._branch is not None else self.gives
        goes_on = super().call()
        self.gives = gives
        return goes_on

    def _given_form(self) -> Form:
        form = self.some_form(1)
        return form if self.can(form) else "Int"

    def for_each_branch(self, depth: int) -> bool:
        self.features.add("parallel")
        draw = self.draw
        of = self._given_form()
        source = self.exact(("List", of), 2).text
        collecting = draw.chance(40)
        name = self.new_name(of)
        form = self._given_form() if draw.chance(80) else None
        head = f"parallel {'collecting failures ' if collecting else ''}for each {name} in {source}"
        head += f" at most {draw.between(1, 9)} at once" if draw.chance(40) else ""
        result = self.new_name("List") if form is not None else None
        self.put(f"let {result} = {head}" if result else head)
        self.branch(form, depth, [Symbol(name, of, "let")])
        if result is None or form is None:
            return True
        if collecting:
            self.features.add("outcomes")
        given = ("Outcome", form) if collecting else form
        self.bind(("List", given), name=result)
        if collecting:
            self.tell_apart(result, given)
        return True

    def tell_apart(self, name: str, outcome: Form) -> None:
        """What became of each branch."""
        element = self.new_name(outcome)
        self.put(f"for each {element} in {name}")
        self.level += 1
        self.blocks.append({element: Symbol(element, outcome, "let")})
        self.put(f"when {element}")
        self.level += 1
        self.loops += 1
        for variant, fields in self.world.variants(outcome):
            bound = [Symbol(word, form, "let") for word, form in fields if not self.visible(word)]
            names = ", ".join(symbol.name for symbol in bound)
            self.put(f"is {variant} with {names}" if bound else f"is {variant}")
            self.inner(NO_FACTS, 0, bound=bound)
        self.loops -= 1
        self.level -= 2
        self.leave()

    def branches(self, depth: int) -> bool:
        self.features.add("parallel")
        collecting = self.draw.chance(30)
        if collecting:
            self.features.add("outcomes")
        name = self.new_name("group")
        self.put(f"parallel {'collecting failures ' if collecting else ''}as {name}")
        self.level += 1
        fields: list[tuple[str, Form]] = []
        for word in self.draw.some(("left", "middle", "right"), 1, 3):
            form = self._given_form()
            self.put(f"branch {word}_{name}")
            self.branch(form, depth, [])
            fields.append((f"{word}_{name}", ("Outcome", form) if collecting else form))
        self.level -= 1
        group = f"group:{self.unit.name}/{self.ref}/{len(self.world.groups)}"
        self.world.groups[group] = fields
        self.bind(group, name=name)
        return True

    # --- compensation -------------------------------------------------------------------------------------------------

    def handler(self, depth: int, bound: list[Symbol]) -> End:
        self._handlers += 1
        end = super().handler(depth, bound)
        self._handlers -= 1
        return end

    def compensate(self) -> bool:
        self.features.add("compensate")
        self.put("compensate")
        return True


class GovernedPrograms(Programs):
    """Draws a program that uses what this runtime does not have."""

    bodies = GovernedBodies

    def drawn(self, called: Signature, bodies: Bodies) -> None:
        assert isinstance(bodies, GovernedBodies)
        self.features |= bodies.features
        called.calls = bodies.called
        called.gates = bodies.gates

    def tool(self) -> Signature:
        draw = self.draw
        called = super().tool()
        text = self.parts.pop()
        words: list[str] = []
        if "effect write" in text:
            if draw.chance(60):
                text = text.replace("effect write", f"effect write key {self.key(called)}")
                self.features.add("keys")
            if draw.chance(40):
                words.append(f"compensate with {self.undo(called).name}")
                self.features.add("compensate")
        self.parts.append("\n".join([text, *(INDENT + word for word in words)]))
        return called

    def key(self, called: Signature) -> str:
        """The key of an effect: computed from the inputs."""
        maker = Expressions(self.draw, self.world, self.unit, [])
        for name, place in called.takes:
            maker.bind(place.form, name=name, place=place)
        maker.line(5)
        known = [form for _, form, _ in maker.reads() if key_form(form, self.world)]
        form = self.draw.pick([*known, *known, "Text", self.draw.pick(KEYABLE)])
        return maker.exact(form, 2).text

    def undo(self, called: Signature) -> Signature:
        """A tool that undoes what another does."""
        result = called.gives
        if result is not None and self.draw.chance(50):
            takes = [("given", result)]
        else:
            takes = [(name, place) for name, place in called.takes]
        undo = Signature("tool", self.unit.name, self.new_name("Undo"), takes, None)
        self.parts.append(self.head(undo) + f"{INDENT}effect write")
        self.source.callables.append(undo)
        return undo

    def extra(self, is_entry: bool) -> None:
        draw = self.draw
        if draw.chance(60):
            self.agent()
        if is_entry:
            self.callable_("strategy")
            for _ in range(draw.between(0, 2)):
                self.trigger()
            for number in range(draw.between(0, 2)):
                self.test(number)

    # --- agents -------------------------------------------------------------------------------------------------------

    def agent(self) -> None:
        draw = self.draw
        gives = self.place() if draw.chance(60) else None
        called = Signature("agent", self.unit.name, self.new_name("Agent"), self.takes(0, 2), gives)
        text = self.head(called)
        if called.gives is None:
            called.gives = Place("Text")
        text += draw.pick([
            f'{INDENT}responsibility "Do what is right."\n',
            f'{INDENT}responsibility """\n{INDENT * 2}Do what is right.\n\n{INDENT * 2}Say so.\n{INDENT * 2}"""\n',
        ])  # fmt: skip
        known = [each for each in self.source.callables if each.callers is None]
        used = draw.some(known, 0, 3)
        if used:
            text += f"{INDENT}uses {', '.join(f'{each.kind} {self.unit.spell(each)}' for each in used)}\n"
        called.calls = used
        if draw.chance(30):
            called.callers = []
            text += f"{INDENT}# callers of {called.name}\n"
        if draw.chance(30):
            text += f"{INDENT}allows human review\n"
        if draw.chance(40):
            text += f"{INDENT}steps {draw.between(1, 20)}\n"
        if draw.chance(20):
            text += f"{INDENT}provider_calls {draw.between(1, 40)}\n"
        self.source.callables.append(called)
        self.parts.append(text.rstrip("\n"))
        self.features.add("agents")

    # --- triggers and tests -------------------------------------------------------------------------------------------

    def trigger(self) -> None:
        draw = self.draw
        started = draw.pick([each for each in self.source.callables if each.kind == "strategy"])
        name = self.new_name("Trigger")
        on = draw.pick([
            'schedule "0 7 * * 1-5" timezone "Europe/Paris"', 'schedule "*/5 0-6 1,15 * *"', f'webhook "/run/{name}"',
            'event "order.paid"',
        ])  # fmt: skip
        text = f"trigger {name}\n{INDENT}on {on}\n{INDENT}starts strategy {self.unit.spell(started)}\n"
        lines = []
        for name, place in started.takes:
            if place.form[0] == "Optional" and draw.chance(50):
                continue
            literal = self.constant(place)
            if literal is not None and draw.chance(50):
                lines.append(f"{name} is {literal}")
            else:
                lines.append(f"{name} from {draw.pick(['body', f'body.{name}', 'body.options.value'])}")
        if lines:
            text += f"{INDENT}payload\n" + "".join(f"{INDENT * 2}{line}\n" for line in lines)
        if draw.chance(40):
            text += f"{INDENT}quota {draw.between(1, 50)} per {draw.pick(['minute', 'hour', 'day'])}\n"
        self.parts.append(text.rstrip("\n"))
        self.features.add("triggers")

    def constant(self, place: Place) -> str | None:
        """A literal for an input; None where it has none."""
        if place.form[0] == "Optional":
            return "none"
        if self.world.is_plain_choice(place.form):
            return self.draw.pick(self.world.variants(place.form))[0]
        if isinstance(place.form, tuple) or place.form in self.world.declared or place.form == "Json":
            return None
        return self._maker().literal(place)

    def _maker(self) -> Expressions:
        maker = Expressions(self.draw, self.world, self.unit, [])
        maker.line(4)
        return maker

    def reached(self, called: Signature) -> list[Signature]:
        """What a callable calls, directly or through what it calls."""
        found: list[Signature] = []
        waiting = [called]
        while waiting:
            for each in waiting.pop().calls:
                if each not in found:
                    found.append(each)
                    waiting.append(each)
        return found

    def test(self, number: int) -> None:
        draw = self.draw
        maker = self._maker()
        known = [each for each in self.source.callables if each.kind in ("strategy", "skill", "function")]
        known = [each for each in known if not any(place.form == "Json" for _, place in each.takes)]
        decided = [each for each in known if any(called.kind == "agent" for called in self.reached(each))]
        if decided and draw.chance(60):
            known = decided
        if not known:
            return
        tested = draw.pick(known)
        lines = []
        tools = [each for each in self.reached(tested) if each.kind == "tool"]
        agents = [each for each in self.reached(tested) if each.kind == "agent"]
        for each in draw.some(tools, 0, 2):
            spelled = self.unit.spell(each)
            if draw.chance(30) or (each.gives is not None and each.gives.form == "Json"):
                lines.append(f'given tool {spelled} fails with "CardDeclined"')
            else:
                value = "none" if each.gives is None else maker.fitting(each.gives.form, 0).text
                lines.append(f"given tool {spelled} gives {value if each.gives is None else maker.literal(each.gives)}")
        for each in draw.some(agents, 0, 1):
            assert each.gives is not None
            lines.append(f"given agent {self.unit.spell(each)} decides")
            lines.append(f"{INDENT}answer {maker.literal(each.gives)}")
        gates = [gate for each in (tested, *self.reached(tested)) for gate in each.gates]
        for kind, name, place in draw.some(gates, 0, 1):
            head = f"given {'ask' if kind == 'ask' else f'human.{kind}'}{f' named {name}' if name else ''} answers"
            if place is not None and name and [gate[1] for gate in gates].count(name) == 1:
                lines.append(f"{head} {maker.literal(place)}")
            elif kind != "ask":
                lines.append(f"{head} {draw.pick(['approve' if kind == 'approve' else 'accept', 'reject'])}")
        arguments = ", ".join(f"{name}: {maker.literal(place)}" for name, place in tested.takes)
        lines.append(f"run {self.unit.spell(tested)}({arguments})")
        lines.append(f"expect status is {draw.pick(['success', 'failed'])}")
        lines += [f"expect calls {self.unit.spell(each)} {draw.between(0, 2)} times" for each in draw.some(tools, 0, 1)]
        if draw.chance(20):
            lines.append("expect no effects")
        self.parts.append(f'test "number {number}"\n' + "\n".join(INDENT + line for line in lines))


def governed_program(seed: int) -> Source:
    """The governed program of a seed."""
    return GovernedPrograms(seed).make()
