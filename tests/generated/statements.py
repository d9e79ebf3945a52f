"""Bodies of callables: statements, drawn so that every name, type and path is as docs/language.md has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tests.generated.draw import Draw
from tests.generated.expressions import Expressions
from tests.generated.names import NO_FACTS, Facts, Signature, Symbol, Unit
from tests.generated.shapes import PLAIN, PROBLEM, VALUES, Form, Place, World, mentions

#: how a block ends: whether control goes on, and what is known there
End: TypeAlias = tuple[bool, Facts]

INDENT = "    "
_DEPTH = 3


class Bodies(Expressions):
    """Draws the body of one callable.

    Parameters:
        kind: "function", "skill" or "strategy".
        ref: the reference of the callable.
        gives: what it gives; None for nothing.
        callables: tools, skills and strategies that it may call, besides the functions.
    """

    def __init__(
        self,
        draw: Draw,
        world: World,
        unit: Unit,
        kind: str,
        ref: str,
        takes: list[tuple[str, Place]],
        gives: Place | None,
        functions: list[Signature],
        callables: list[Signature],
    ):
        super().__init__(draw, world, unit, functions)
        self.kind = kind
        self.ref = ref
        self.gives = gives
        self.callables = callables
        self.lines: list[str] = []
        self.level = 2
        #: open loops, with the number of attempts around each
        self.loops = 0
        self.statements = 0
        #: what it calls
        self.called: list[Signature] = []
        for name, place in takes:
            self.bind(place.form, place=place, name=name)

    # --- lines --------------------------------------------------------------------------------------------------------

    def put(self, text: str) -> None:
        """A line; now and then with a comment."""
        comment = (
            "  # " + self.draw.pick(["why", "« ü »", '"x" {y}']) if self.draw.chance(2) and '"""' not in text else ""
        )
        self.lines.append(INDENT * self.level + text + comment)
        if self.draw.chance(2):
            self.lines.append("")

    def body(self, count: int) -> list[str]:
        """The lines of the whole body."""
        goes_on = self.block(count, _DEPTH)
        if goes_on and self.gives is not None:
            self.give()
        return self.lines

    def block(self, count: int, depth: int) -> bool:
        """Some statements; whether control can go on after them."""
        for _ in range(count):
            if not self.statement(depth):
                if self.draw.chance(3):
                    self.let()  # can never be reached: a warning, and no code
                return False
        return True

    def inner(self, facts: Facts, depth: int, bound: list[Symbol] | None = None) -> End:
        """A block inside a statement."""
        before = self.facts
        self.facts = before | facts
        self.level += 1
        self.blocks.append({symbol.name: symbol for symbol in bound or ()})
        lines = len(self.lines)
        goes_on = self.block(self.draw.weighted([(5, 1), (4, 2), (1, 3)]), depth)
        if len(self.lines) == lines:
            self.let()
        self.leave()
        self.level -= 1
        after = self.facts
        self.facts = before
        return goes_on, after

    def join(self, ends: list[End]) -> bool:
        facts = [known for goes_on, known in ends if goes_on]
        if facts:
            self.facts = frozenset.intersection(*facts)
        return bool(facts)

    # --- statements ---------------------------------------------------------------------------------------------------

    def statement(self, depth: int) -> bool:
        """One statement; whether control can go on after it."""
        self.line()
        self.statements += 1
        draw = self.draw
        deep = depth > 0 and self.statements < 12
        ways: list[tuple[int, Callable[[], bool]]] = [
            (10, self.let),
            (6, self.var),
            (6, self.set_),
            (3, self.require),
            (1, self.give_or_fail),
        ]
        if deep:
            ways += [
                (6, lambda: self.if_(depth - 1)), (5, lambda: self.when(depth - 1)), (3, lambda: self.each(depth - 1)),
                (3, lambda: self.repeat(depth - 1)),
            ]  # fmt: skip
        if self.loops:
            ways.append((2, self.leave_loop))
        if self.kind != "function":
            ways += [(8, self.call), (3, self.show)]
            if deep:
                ways.append((4, lambda: self.attempt(depth - 1)))
        return draw.weighted(ways + self.more(depth))()

    def more(self, depth: int) -> list[tuple[int, Callable[[], bool]]]:
        """Further statements, of programs that are governed."""
        return []

    def let(self) -> bool:
        """`let x = …` in all its forms."""
        draw = self.draw
        if draw.chance(4):
            return self._text_block()
        form = self.some_form(2)
        if draw.chance(2):
            # Its name is for nobody to read.
            self.put(f"let _{self.new_name('Int')} = {self.exact('Int', 2).text}")
            return True
        name = self.fresh(form)
        if draw.chance(35) and not mentions(form, "Entry"):
            place = self.written(form)
            self.put(f"let {name} as {place.written(self.unit.spell, bare=True)} = {self.placed(place, 3).text}")
            self.bind(form, place=place, name=name)
        else:
            self.put(f"let {name} = {self.exact(form, 3).text}" if self.can(form) else f"let {name} = 1")
            self.bind(form if self.can(form) else "Int", name=name)
        return True

    def fresh(self, form: Form) -> str:
        """A new name; sometimes one that stood for something else in a block that has ended."""
        name = self.new_name(form)
        if self._count > 3 and self.draw.chance(15):
            letters = name.rstrip("0123456789")
            old = f"{letters}{self.draw.between(1, self._count - 1)}"
            if not self.visible(old) and old not in self.taken:
                return old
        return name

    #: names that a line in the making has given already
    taken: frozenset[str] = frozenset()

    def _text_block(self) -> bool:
        name = self.new_name("Text")
        raw = self.draw.chance(50)
        indent = INDENT * (self.level + 1)
        inside = '{"a": 1}' if raw else "{" + self._flat("Int") + "} \\u{e9}"
        self.put(f'let {name} = {"raw " if raw else ""}"""\n{indent}one\n\n{indent}  {inside}\n{indent}"""')
        self.bind("Text", name=name)
        return True

    def _flat(self, form: Form) -> str:
        """An expression in one line."""
        self.inside += 1
        text = self.text_of(form, 1)
        self.inside -= 1
        return text

    def var(self) -> bool:
        form = self.some_form(2)
        if not self.can(form) or mentions(form, "Entry"):
            form = "Int"
        name = self.fresh(form)
        if self.draw.chance(40):
            place = self.written(form)
            self.put(f"var {name} as {place.written(self.unit.spell, bare=True)} = {self.placed(place, 2).text}")
            self.bind(form, "var", place, name)
        else:
            self.put(f"var {name} = {self.exact(form, 2).text}")
            self.bind(form, "var", None, name)
        return True

    def set_(self) -> bool:
        known = [symbol for symbol in self.symbols() if symbol.kind == "var"]
        if not known:
            return self.var()
        symbol = self.draw.pick(known)
        self.put(f"set {symbol.name} = {self.put_into(symbol, 3)}")
        return True

    def put_into(self, symbol: Symbol, depth: int) -> str:
        """A value for a variable."""
        if symbol.place is not None:
            return self.placed(symbol.place, depth).text
        return self.fitting(symbol.form, depth).text

    def give(self) -> bool:
        assert self.gives is not None
        self.line()
        self.put(f"give {self.placed(self.gives, 3).text}")
        return False

    def words(self) -> str:
        """A text literal, for a reader."""
        if self.draw.chance(30):
            return self.draw.pick([text for text, _ in VALUES["Text"]])
        return self._interpolation(2, literal=True).text

    def require(self) -> bool:
        test = self.exact("Bool", 3)
        before = self.facts
        self.facts = before | test.when_false
        words = self.words()
        self.facts = before
        self.put(f"require {self.at(test, 1)} else {words}")
        self.facts |= test.when_true
        return True

    def give_or_fail(self) -> bool:
        """A statement after which nothing goes on, inside of a block mostly."""
        if self.level == 2 and self.draw.chance(70):
            return self.let()
        word = self.draw.pick(["fail", "stop", "give", "give"])
        if word == "give" and self.gives is not None:
            return self.give()
        self.put(f"{'stop' if word == 'stop' and self.kind != 'function' else 'fail'} {self.words()}")
        return False

    # --- branches -----------------------------------------------------------------------------------------------------

    def if_(self, depth: int) -> bool:
        facts: Facts = NO_FACTS
        before = self.facts
        ends: list[End] = []
        for position in range(self.draw.weighted([(6, 1), (3, 2), (1, 3)])):
            self.facts = before | facts
            self.line()
            test = self.exact("Bool", 3)
            self.facts = before
            self.put(("if " if position == 0 else "else if ") + test.text)
            ends.append(self.inner(facts | test.when_true, depth))
            facts |= test.when_false
        if self.draw.chance(45):
            self.put("else")
            ends.append(self.inner(facts, depth))
        else:
            ends.append((True, before | facts))
        return self.join(ends)

    def when(self, depth: int) -> bool:
        subjects = [
            (text, form, path) for text, form, path in self.reads(narrowed=False)
            if (form[0] == "Optional" and form[1][0] != "Optional") or self.world.variants(form) or form in ("Bool", "Text", "Int")
        ]  # fmt: skip
        if subjects and self.draw.chance(70):
            text, form, path = self.draw.pick(subjects)
        else:
            choices = [each.ref for each in self.world.declared.values() if each.kind == "choice"]
            form = self.draw.pick([*choices, *choices, *PLAIN, ("Optional", "Int")])
            text = self.exact(form, 2).text
            path = next((path for known, _, path in self.reads(narrowed=False) if known == text), None)
        self.put(f"when {text}")
        self.level += 1
        if form[0] == "Optional":
            cases = self._optional_cases(form, path)
        elif self.world.variants(form):
            cases = self._variant_cases(form)
        else:
            cases = self._literal_cases(form)
        complete = form == "Bool" or form[0] == "Optional" or bool(self.world.variants(form))
        shown = self.draw.shuffled(cases)
        partly = not complete or self.draw.chance(15)
        if partly and len(shown) > 1 and complete:
            shown = shown[:-1]
        ends = []
        for pattern, facts, bound in shown:
            self.put(f"is {pattern}")
            ends.append(self.inner(facts, depth, bound=bound))
        if partly:
            self.put("else")
            ends.append(self.inner(NO_FACTS, depth))
        self.level -= 1
        return self.join(ends)

    def _optional_cases(self, form: Form, path: tuple[str, ...] | None) -> list[tuple[str, Facts, list[Symbol]]]:
        name = self.new_name(form[1])
        facts = NO_FACTS if path is None else frozenset((path,))
        return [(f"present as {name}", facts, [Symbol(name, form[1], "let")]), ("absent", NO_FACTS, [])]

    def _variant_cases(self, form: Form) -> list[tuple[str, Facts, list[Symbol]]]:
        cases: list[tuple[str, Facts, list[Symbol]]] = []
        for name, fields in self.world.variants(form):
            free = [(word, inner) for word, inner in fields if not self.visible(word)]
            bound = [Symbol(word, inner, "let") for word, inner in self.draw.some(free, 0, 3)]
            names = ", ".join(symbol.name for symbol in bound)
            cases.append((f"{name} with {names}" if bound else name, NO_FACTS, bound))
        return cases

    def _literal_cases(self, form: Form) -> list[tuple[str, Facts, list[Symbol]]]:
        literals = self.draw.shuffled([text for text, _ in VALUES[form]])
        if form == "Bool":
            return [(text, NO_FACTS, []) for text in literals]
        split = self.draw.between(1, 2)
        return [(", ".join(literals[:split]), NO_FACTS, []), (literals[split], NO_FACTS, [])]

    # --- loops --------------------------------------------------------------------------------------------------------

    def each(self, depth: int) -> bool:
        form = self.some_form(1)
        if not self.can(form):
            form = "Int"
        if self.draw.chance(15) and not isinstance(form, tuple):
            form = ("Entry", form)
        source = self.exact(("List", form), 2).text
        name = self.new_name(form)
        self.put(f"for each {name} in {source}")
        self.loops += 1
        self.inner(NO_FACTS, depth, bound=[Symbol(name, form, "let")])
        self.loops -= 1
        return True

    def repeat(self, depth: int) -> bool:
        times = str(self.draw.between(0, 5)) if self.draw.chance(80) else self.text_of("Int", 2, 5)
        facts = NO_FACTS
        condition = ""
        if self.draw.chance(50):
            test = self.exact("Bool", 2)
            facts = test.when_true
            condition = f" while {test.text}"
        self.put(f"repeat up to {times} times{condition}")
        self.loops += 1
        self.inner(facts, depth)
        self.loops -= 1
        return True

    def leave_loop(self) -> bool:
        self.put(self.draw.pick(["break", "continue"]))
        return False

    # --- effects ------------------------------------------------------------------------------------------------------

    def allowed(self, called: Signature) -> bool:
        """Whether this callable may call it: it enters its name into `callable_by` where it can."""
        if not self._givable(called):
            return False
        if called.callers is None:
            return True
        if called.module != self.unit.name:
            return False
        word = self.ref.partition(":")[0] + " " + self.ref.rpartition("/")[2]
        if word not in called.callers:
            called.callers.append(word)
        return True

    def call(self) -> bool:
        """A call as a line, or as the right side of one."""
        if not self.callables:
            return self.let()
        called = self.draw.pick(self.callables)
        if not self.allowed(called):
            return self.let()
        self.called.append(called)
        call = f"call {self.unit.spell(called)}{self.arguments(called, 2)}"
        form = called.form
        pick = self.draw.below(10)
        variables = [each for each in self.symbols() if each.kind == "var" and each.form == form]
        if form == "Nothing" or pick == 0:
            self.put(call)
        elif pick == 1 and variables:
            self.put(f"set {self.draw.pick(variables).name} = {call}")
        elif pick == 2 and self.level > 2 and self.gives is not None and self.gives.form == form:
            self.put(f"give {call}")
            return False
        else:
            word = self.draw.pick(["let", "let", "var"])
            place = None
            if self.draw.chance(30):
                place = self.written(("Optional", form) if self.draw.chance(20) and form[0] != "Optional" else form)
            name = self.new_name(form)
            declared = f" as {place.written(self.unit.spell, bare=True)}" if place is not None else ""
            self.put(f"{word} {name}{declared} = {call}")
            self.bind(form if place is None else place.form, word, place, name)
        return True

    def show(self) -> bool:
        self.put(f"show {self.words()}")
        return True

    def attempt(self, depth: int) -> bool:
        before = self.facts
        self.put("attempt")
        tried = self.inner(NO_FACTS, depth)
        name = self.new_name(PROBLEM.ref) if self.draw.chance(70) else None
        self.put("on failure" + (f" as {name}" if name else ""))
        self.facts = before
        handled = self.handler(depth, [Symbol(name, PROBLEM.ref, "let")] if name else [])
        return self.join([tried, handled])

    def handler(self, depth: int, bound: list[Symbol]) -> End:
        return self.inner(NO_FACTS, depth, bound=bound)
