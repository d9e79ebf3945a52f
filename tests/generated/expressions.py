"""Expressions, drawn by the type that is wanted.

There are two ways to ask. `exact` gives an expression whose type can be told from itself and is just the wanted one, as
an operand or an undeclared `let` needs it. `fitting` gives one for where the type is expected: there an Int may stand
for a Decimal, a value for its Optional, and `[]`, `none` and bare variants are known.

What is present is followed here by the rules of docs/language.md, independently of the compiler: each expression knows
which paths are present where it is true, and where it is false.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.generated.draw import Draw
from tests.generated.names import NO_FACTS, Facts, Path, Signature, Unit
from tests.generated.rows import apply, bind, rows_giving
from tests.generated.scope import Scope
from tests.generated.shapes import (
    KEYS,
    ORDERED,
    PLAIN,
    RULES,
    VALUES,
    Declared,
    Form,
    Place,
    World,
    is_opaque,
    lengths,
    mentions,
)  # fmt: skip
from touba_cli.air.operations import ROUNDING_MODES, Operation

# How tightly an expression holds together, loosest first.
CONDITIONAL, OR, AND, NOT, COMPARED, SUM, PRODUCT, UNARY, OPENED, POSTFIX, PRIMARY = range(11)

_INFIX = {
    "+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "div": PRODUCT, "mod": PRODUCT,
    "<": COMPARED, "<=": COMPARED, ">": COMPARED, ">=": COMPARED, "is": COMPARED, "is not": COMPARED, "in": COMPARED,
}  # fmt: skip


class Made:
    """An expression: its text, how tightly it holds, and the facts that follow from it."""

    __slots__ = ("level", "text", "when_false", "when_true")

    def __init__(self, text: str, level: int, when_true: Facts = NO_FACTS, when_false: Facts = NO_FACTS):
        self.text = text
        self.level = level
        self.when_true = when_true
        self.when_false = when_false


class Expressions(Scope):
    """Draws the expressions of one callable."""

    def __init__(self, draw: Draw, world: World, unit: Unit, functions: list[Signature]):
        super().__init__(world)
        self.draw = draw
        self.unit = unit
        self.functions = functions
        #: how much the line may still grow
        self.fuel = 0
        #: interpolations around
        self.inside = 0

    # --- asking -------------------------------------------------------------------------------------------------------

    def line(self, fuel: int = 10) -> None:
        """The beginning of a line: how much its expressions may grow together."""
        self.fuel = 5 * fuel if self.draw.chance(4) else fuel

    def at(self, made: Made, level: int) -> str:
        """The text of an expression for where it must hold so tightly; now and then with brackets that it needs not."""
        if made.level < level or (self.draw.chance(2) and self.inside == 0):
            return f"({made.text})"
        return made.text

    def exact(self, form: Form, depth: int, literal: bool = True) -> Made:
        """An expression of just this type; without ``literal`` it is none, and no list or map of them."""
        self.fuel -= 1
        known = [text for text, found, _ in self.reads() if found == form]
        if known and (depth <= 0 or self.fuel <= 0 or self.draw.chance(40)):
            return Made(self.draw.pick(known), POSTFIX)
        if is_opaque(form):
            return self._passed_on(form, depth, known)
        if depth <= 0 or self.fuel <= 0:
            return self._leaf(form, literal)
        ways: list[tuple[int, Callable[[], Made | None]]] = [
            (2, lambda: self._conditional(form, depth - 1)),
            (2, lambda: self._otherwise(form, depth - 1)),
            (10, lambda: self._operation(form, depth - 1, literal)),
            (4, lambda: self._call(form, depth - 1)),
        ]
        if literal:
            ways.append((3, lambda: self._leaf(form, literal)))
        ways += self._ways(form, depth - 1, literal)
        for _ in range(3):
            drawn = self.draw.weighted(ways)()
            if drawn is not None:
                return drawn
        return self._leaf(form, literal)

    def text_of(self, form: Form, depth: int, level: int = CONDITIONAL, literal: bool = True) -> str:
        """`exact`, as text that holds so tightly."""
        return self.at(self.exact(form, depth, literal), level)

    def fitting(self, form: Form, depth: int) -> Made:
        """An expression for a place where the type is expected."""
        draw = self.draw
        if form == "Decimal" and draw.chance(20):
            return self.exact("Int", depth)
        if self.fuel <= 0 and form[0] in ("Optional", "List", "Map") and draw.chance(80):
            return self._empty(form)
        if form[0] == "Optional":
            inner = form[1]
            if draw.chance(20):
                return Made("none", PRIMARY)
            if draw.chance(50) and self.can(inner):
                # A value is wrapped once: in an `Optional Optional T` no `T` fits.
                return self.exact(inner, depth) if inner[0] == "Optional" else self.fitting(inner, depth)
        if depth > 0 and self.fuel > 0 and draw.chance(8):
            return self._conditional(form, depth - 1, fitting=True)
        if not self.can(form):
            return self._empty(form)
        variants = self.world.variants(form) if isinstance(form, str) else []
        if variants and draw.chance(40):
            return self._variant(form, depth - 1, bare=True)
        if form[0] in ("List", "Map") and self.can(form[1]) and draw.chance(30):
            return self._listed(form, depth - 1, fitting=True)
        if form[0] == "List" and self.can(form[1]) and depth > 0 and draw.chance(10):
            return self._comprehension(form, depth - 1, fitting=True) or self.exact(form, depth)
        return self.exact(form, depth)

    def _passed_on(self, form: Form, depth: int, known: list[str]) -> Made:
        """Json and Outcomes have no literals: what there is can be handed on, put into a list, or asked for a part."""
        passed = self._operation(form, depth - 1) if depth > 0 and self.fuel > 0 else None
        if passed is not None:
            return passed
        if known:
            return Made(self.draw.pick(known), POSTFIX)
        inner = self.exact(form[1], 0).text
        texts = {
            "List": f"[{inner}]", "Map": f'{{"k": {inner}}}', "Optional": f"first([{inner}])",
            "Entry": f'items({{"k": {inner}}})[0]',
        }  # fmt: skip
        return Made(texts[form[0]], POSTFIX)

    def _empty(self, form: Form) -> Made:
        """A value of what cannot be written: an empty one."""
        texts = {"List": "[]", "Map": "{}", "Optional": "none"}
        assert form[0] in texts, form
        return Made(texts[form[0]], PRIMARY)

    def placed(self, place: Place, depth: int) -> Made:
        """An expression for a place with a declared type. Literals keep its constraints; other values may break them."""
        if not place.narrow:
            return self.fitting(place.form, depth)
        if self.draw.chance(50) or is_opaque(place.form):
            return Made(self.literal(place), UNARY)
        return self.exact(place.form, depth, literal=False)

    def can(self, form: Form) -> bool:
        """Whether there are expressions of just this type: Json comes from outside alone, Outcomes from groups."""
        if not is_opaque(form) or any(found == form for _, found, _ in self.reads()):
            return True
        return isinstance(form, tuple) and form[0] in ("List", "Map", "Optional", "Entry") and self.can(form[1])

    # --- literals -----------------------------------------------------------------------------------------------------

    def literal(self, place: Place) -> str:
        """A value of the type as it is written out, constraints kept."""
        if isinstance(place.head, Declared) and place.head.place is not None:
            inner = place.head.place
            return self.literal(Place(inner.head, inner.of, place.rule or inner.rule))
        if isinstance(place.head, Declared):
            return self._leaf(place.head.ref, literal=True).text
        if place.of is None:
            options: list[str] = place.rule[1] if place.rule is not None else [each for each, _ in VALUES[place.head]]
            return self.draw.pick(options)
        if place.head == "Optional":
            empty = place.of.form[0] == "Optional" or is_opaque(place.form)
            return "none" if self.draw.chance(30) or empty else self.literal(place.of)
        low, high = lengths(place)
        if is_opaque(place.form):
            high = low
        items = [self.literal(place.of) for _ in range(self.draw.between(low, high))]
        if place.head == "List":
            return f"[{', '.join(items)}]"
        keys = self.draw.some(KEYS, len(items), len(items))
        return "{" + ", ".join(f'"{key}": {item}' for key, item in zip(keys, items, strict=True)) + "}"

    def _leaf(self, form: Form, literal: bool) -> Made:
        if isinstance(form, str) and form in VALUES:
            text = self.draw.pick(VALUES[form])[0]
            if not literal:
                return Made(f"({text} if {self.draw.pick(['true', 'false'])} else {text})", PRIMARY)
            return Made(text, UNARY if text.startswith("-") else PRIMARY)
        head = form[0] if isinstance(form, tuple) else ""
        if head == "Optional":
            return Made(f"first([{self.text_of(form[1], 0)}])", PRIMARY)
        if head == "List" and isinstance(form[1], tuple) and form[1][0] == "Entry":
            return Made(f'items({{"{self.draw.pick(KEYS)}": {self.text_of(form[1][1], 0)}}})', PRIMARY)
        if head in ("List", "Map"):
            made = self._listed(form, 0, fitting=False)
            return made if literal else Made(f"({made.text} if true else {made.text})", PRIMARY)
        if head == "Entry":
            at = f'items({{"k": {self.text_of(form[1], 0)}}})[0]'
            return Made(at, POSTFIX)
        if self.world.variants(form):
            return self._variant(form, 0, bare=False)
        return self._record(form, 0)

    def _record(self, form: Form, depth: int) -> Made:
        declared = self.world.declared[form]
        named = []
        for each in declared.fields:
            if each.place.form[0] == "Optional" and self.draw.chance(25):
                continue
            named.append((each.name, each.place))
        return Made(self.unit.spell(declared) + self._named(named, depth), PRIMARY)

    def _named(self, members: list[tuple[str, Place]], depth: int) -> str:
        """Values by name, in any order."""
        written = [f"{name}: {self.placed(place, depth).text}" for name, place in self.draw.shuffled(members)]
        return f"({self._spread(written)})"

    def _spread(self, parts: list[str]) -> str:
        """Parts with commas between them; now and then over several lines."""
        if self.inside == 0 and len(parts) > 1 and self.draw.chance(4):
            comma = self.draw.pick([",", ',  # "(" one of them'])
            end = self.draw.pick(["", ","]) + "\n        "
            return "\n            " + f"{comma}\n            ".join(parts) + end
        return ", ".join(parts)

    def _variant(self, form: Form, depth: int, bare: bool) -> Made:
        declared = self.world.declared[form]
        # The first variant holds nothing of its own type.
        name, fields = declared.variants[0] if self.fuel <= -10 else self.draw.pick(declared.variants)
        word = name if bare else f"{self.unit.spell(declared)}.{name}"
        if not fields:
            return Made(word, PRIMARY)
        if all(each.place.form[0] == "Optional" for each in fields) and self.draw.chance(30):
            return Made(word, PRIMARY)
        return Made(word + self._named([(each.name, each.place) for each in fields], depth), PRIMARY)

    def _listed(self, form: Form, depth: int, fitting: bool) -> Made:
        """A list or map written out. Where its type is not expected, its first element says what it is."""
        count = self.draw.between(0 if fitting else 1, 3 if depth > 0 else 1)
        items = []
        for position in range(count):
            ask = self.fitting if fitting or position > 0 else self.exact
            items.append(ask(form[1], depth).text)
        if form[0] == "List":
            return Made(f"[{self._spread(items)}]", PRIMARY)
        keys = [f'"{key}"' for key in self.draw.some(KEYS, count, count)]
        if keys and self.draw.chance(25):
            keys[0] = self.text_of("Text", depth, literal=False)
        return Made("{" + ", ".join(f"{key}: {item}" for key, item in zip(keys, items, strict=True)) + "}", PRIMARY)

    # --- what every type has ------------------------------------------------------------------------------------------

    def condition(self, depth: int, optional: Path | None = None) -> Made:
        """A Bool, with its facts."""
        return self.exact("Bool", depth)

    def knowing(self, facts: Facts, ask: Callable[[], Made]) -> Made:
        before = self.facts
        self.facts = before | facts
        made = ask()
        self.facts = before
        return made

    def _conditional(self, form: Form, depth: int, fitting: bool = False) -> Made:
        test = self.condition(depth)
        ask = self.fitting if fitting else self.exact
        then = self.knowing(test.when_true, lambda: ask(form, depth))
        # Where nothing is expected, the first value tells the type; the second one only has to fit it.
        other = self.knowing(test.when_false, lambda: self.fitting(form, depth))
        return Made(f"{self.at(then, OR)} if {self.at(test, OR)} else {other.text}", CONDITIONAL)

    def _otherwise(self, form: Form, depth: int) -> Made | None:
        wanted = ("Optional", form)
        raw = [text for text, found, _ in self.reads(narrowed=False) if found == wanted]
        # What is present is no Optional for other expressions, but still one for `otherwise`.
        if raw and (form[0] == "Optional" or self.draw.chance(60)):
            optional = self.draw.pick(raw)
        else:
            optional = self.text_of(wanted, depth, POSTFIX)
        return Made(f"{optional} otherwise {self.at(self.fitting(form, depth), OPENED)}", OPENED)

    def _call(self, form: Form, depth: int) -> Made | None:
        fitting = [each for each in self.functions if each.form == form and self._givable(each)]
        if not fitting:
            return None
        function = self.draw.pick(fitting)
        return Made(self.unit.spell(function) + self.arguments(function, depth), PRIMARY)

    def _givable(self, function: Signature) -> bool:
        return all(place.form != "Json" or self.can("Json") for _, place in function.takes)

    def arguments(self, called: Signature, depth: int) -> str:
        """The arguments of a call: one as it is, or all by name."""
        if len(called.takes) == 1 and self.draw.chance(60):
            return f"({self.placed(called.takes[0][1], depth).text})"
        return self._named(called.takes, depth)

    # --- operations ---------------------------------------------------------------------------------------------------

    def _operation(self, form: Form, depth: int, literal: bool = True) -> Made | None:
        rows = rows_giving(form)
        rows = [each for each in rows if literal or each.form != "prefix"]
        if not rows:
            return None
        row = self.draw.pick(rows)
        if row.form == "index" and self.draw.chance(50):
            row = self.draw.pick(rows)
        bound = bind(row.gives, form)
        assert bound is not None
        for name in ("T", "E"):
            if name not in bound:
                bound[name] = self.some_form(2)
        takes = [self._operand_form(each, bound) for each in row.takes]
        if takes is None or None in takes:
            return None
        return self._applied(row, takes, depth)

    def _operand_form(self, parameter: Form, bound: dict[str, Form]) -> Form | None:
        if parameter == "choice":
            choices = [each.ref for each in self.world.declared.values() if each.is_plain]
            return self.draw.pick(choices) if choices else None
        return apply(parameter, bound)

    def _applied(self, row: Operation, takes: list[Form], depth: int) -> Made | None:
        if not all(self.can(form) for form in takes):
            return None
        level = _INFIX.get(row.spelling, UNARY)
        if row.form == "infix":
            return self._infix(row, takes, depth, level)
        if row.form == "prefix":
            return Made(f"-{self.text_of(takes[0], depth, UNARY)}", UNARY)
        if row.form == "index":
            return Made(f"{self.text_of(takes[0], depth, POSTFIX)}[{self._position(takes[1], depth)}]", POSTFIX)
        texts = [self.text_of(form, depth) for form in takes]
        if row.name == "round.mode":
            texts[2] = f'"{self.draw.pick(ROUNDING_MODES)}"'
        if row.name.startswith("round.") and self.draw.chance(70):
            texts[1] = str(self.draw.between(-2, 6))
        if row.name.startswith("range.") and self.draw.chance(70):
            texts[-1] = str(self.draw.between(0, 12))
        if row.name in ("reversed", "unique") and self.draw.chance(10) and not is_opaque(takes[0]):
            texts[0] = self._listed(takes[0], depth, fitting=False).text
        return Made(f"{row.spelling}({self._spread(texts)})", PRIMARY)

    def _infix(self, row: Operation, takes: list[Form], depth: int, level: int) -> Made:
        draw = self.draw
        left_form, right_form = takes
        if left_form == right_form == "Decimal" and draw.chance(30):
            # An Int stands for a Decimal beside one; `/` makes a Decimal of two Ints.
            if draw.chance(50) or row.spelling == "/":
                left_form = "Int"
            if left_form != "Int" or row.spelling == "/":
                right_form = "Int"
        left = self.exact(left_form, depth)
        if row.spelling in ("/", "div", "mod"):
            right = self._divisor(right_form, depth)
        elif row.name in ("add.date", "sub.date") and draw.chance(70):
            right = Made(draw.pick(["2 days", "1 day", "400 days"]), PRIMARY)
        else:
            right = self.exact(right_form, depth)
        chained = level in (SUM, PRODUCT)
        spelling = row.spelling
        if spelling == "in" and draw.chance(30):
            spelling = "not in"
        return Made(f"{self.at(left, level if chained else level + 1)} {spelling} {self.at(right, level + 1)}", level)

    def _divisor(self, form: Form, depth: int) -> Made:
        """A literal 0 divides nothing: the compiler refuses it."""
        if self.draw.chance(60):
            return Made({"Int": "3", "Decimal": "2.5", "Float": "0.5f"}[form], PRIMARY)
        return self.exact(form, depth, literal=False)

    def _position(self, form: Form, depth: int) -> str:
        """A literal position is never below 0."""
        if form == "Text":
            return self.text_of(form, depth)
        return (
            str(self.draw.weighted([(90, 0), (5, 1), (1, 2)]))
            if self.draw.chance(96)
            else self.text_of(form, depth, literal=False)
        )

    # --- what one kind of type has ------------------------------------------------------------------------------------

    def _ways(self, form: Form, depth: int, literal: bool) -> list[tuple[int, Callable[[], Made | None]]]:
        if form == "Bool":
            return [
                (4, lambda: self._logic(depth)),
                (3, lambda: self._negation(depth)),
                (4, lambda: self._presence(depth)),
                (4, lambda: self._variant_test(depth)),
                (1, lambda: self._choice_order(depth)),
            ]
        if form == "Text":
            return [(6, lambda: self._interpolation(depth, literal))]
        if isinstance(form, str):
            if self.world.fields(form):
                return [(5, lambda: self._record(form, depth)), (5, lambda: self._with(form, depth))]
            if self.world.variants(form):
                return [(6, lambda: self._variant(form, depth, bare=False))]
            return []
        if form[0] == "List" and not mentions(form, "Entry"):
            ways: list[tuple[int, Callable[[], Made | None]]] = [
                (5, lambda: self._comprehension(form, depth)), (3, lambda: self._sorted_by(form, depth)),
            ]  # fmt: skip
            if literal:
                ways.append((4, lambda: self._listed(form, depth, fitting=False)))
            if self.world.is_plain_choice(form[1]):
                ways.append((3, lambda: Made(f"sorted({self.text_of(form, depth)})", PRIMARY)))
            return ways
        if form[0] == "Map" and literal:
            return [(6, lambda: self._listed(form, depth, fitting=False))]
        if form[0] == "Optional" and self.world.is_plain_choice(form[1]):
            word = self.draw.pick(["min", "max"])
            return [(4, lambda: Made(f"{word}({self.text_of(('List', form[1]), depth)})", PRIMARY))]
        return []

    def _logic(self, depth: int) -> Made:
        both = self.draw.chance(50)
        known: Facts = NO_FACTS
        other: Facts | None = None
        texts = []
        for _ in range(self.draw.between(2, 3)):
            made = self.knowing(known, lambda: self.exact("Bool", depth))
            texts.append(self.at(made, NOT if both else AND))
            follows, against = (made.when_true, made.when_false) if both else (made.when_false, made.when_true)
            known |= follows
            other = against if other is None else other & against
        facts = (known, other or NO_FACTS)
        text = (" and " if both else " or ").join(texts)
        return Made(text, AND if both else OR, *(facts if both else facts[::-1]))

    def _negation(self, depth: int) -> Made:
        made = self.exact("Bool", depth)
        return Made(f"not {self.at(made, NOT)}", NOT, made.when_false, made.when_true)

    def _presence(self, depth: int) -> Made:
        """`x is present`, mostly of what can become known by it."""
        raw = [
            (text, path) for text, form, path in self.reads(narrowed=False)
            if form[0] == "Optional" and form[1][0] != "Optional"
        ]  # fmt: skip
        path: Path | None = None
        if raw and self.draw.chance(80):
            text, path = self.draw.pick(raw)
        else:
            form = self.some_form(1)
            fits = self.can(form) and form[0] != "Optional"
            made = self.exact(("Optional", form), depth) if fits else Made("first([1])", PRIMARY)
            path = next((path for known, _, path in self.reads() if known == made.text), None)
            text = self.at(made, SUM)
        facts = NO_FACTS if path is None else frozenset((path,))
        if self.draw.chance(60):
            return Made(f"{text} is present", COMPARED, when_true=facts)
        return Made(f"{text} is absent", COMPARED, when_false=facts)

    def _variant_test(self, depth: int) -> Made | None:
        choices = [each for each in self.world.declared.values() if each.kind == "choice"]
        if not choices:
            return None
        declared = self.draw.pick(choices)
        name = self.draw.pick(declared.variants)[0]
        if self.draw.chance(20):
            name = f"{self.unit.spell(declared)}.{name}"
        word = self.draw.pick(["is", "is not"])
        return Made(f"{self.text_of(declared.ref, depth, SUM)} {word} {name}", COMPARED)

    def _choice_order(self, depth: int) -> Made | None:
        choices = [each.ref for each in self.world.declared.values() if each.is_plain]
        if not choices:
            return None
        form = self.draw.pick(choices)
        word = self.draw.pick(["<", "<=", ">", ">="])
        return Made(f"{self.text_of(form, depth, SUM)} {word} {self.text_of(form, depth, SUM)}", COMPARED)

    def _interpolation(self, depth: int, literal: bool) -> Made:
        if self.inside >= 3:
            return self._leaf("Text", literal)
        self.inside += 1
        parts = ["", *(self.draw.pick(["", "x", ": ", " \\u{2014} ", "\\{}"]) for _ in range(self.draw.between(1, 2)))]
        text = '"' + parts[0]
        for part in parts[1:]:
            form = self.draw.pick([*PLAIN, *(each.ref for each in self.world.declared.values() if each.is_plain)])
            text += "{" + self.text_of(form, depth) + "}" + part
        self.inside -= 1
        return Made(text + '"', PRIMARY)

    def _with(self, form: Form, depth: int) -> Made:
        fields = [(each.name, each.place) for each in self.world.declared[form].fields]
        changes = self._named(self.draw.some(fields, 1, 2), depth)
        return Made(f"{self.text_of(form, depth, POSTFIX)} with {changes}", POSTFIX)

    def _comprehension(self, form: Form, depth: int, fitting: bool = False) -> Made | None:
        of = self.some_form(1) if self.draw.chance(60) else "Int"
        if not self.can(of):
            return None
        source = self.text_of(("List", of), depth, OR)
        self.blocks.append({})
        name = self.bind(of).name
        text = f" for {name} in {source}"
        facts = NO_FACTS
        if self.draw.chance(50):
            test = self.exact("Bool", depth)
            text += f" if {self.at(test, OR)}"
            facts = test.when_true
        ask = self.fitting if fitting else self.exact
        item = self.knowing(facts, lambda: ask(form[1], depth))
        self.leave()
        return Made(f"[{item.text}{text}]", PRIMARY)

    def _sorted_by(self, form: Form, depth: int) -> Made | None:
        paths = [
            f".{name}" for name, inner in self.world.fields(form[1])
            if inner in ORDERED or self.world.is_plain_choice(inner)
        ]  # fmt: skip
        paths += [
            f".{name}.{deeper}" for name, inner in self.world.fields(form[1])
            for deeper, last in self.world.fields(inner) if last in ORDERED
        ]  # fmt: skip
        if not paths:
            return None
        order = " descending" if self.draw.chance(40) else ""
        return Made(f"sorted({self.text_of(form, depth)} by {self.draw.pick(paths)}{order})", PRIMARY)

    # --- forms --------------------------------------------------------------------------------------------------------

    def some_form(self, depth: int) -> Form:
        """A type that expressions can be of: one that has something in scope, or any."""
        draw = self.draw
        if draw.chance(35):
            found = [form for _, form, _ in self.reads() if self.can(form)]
            if found:
                return draw.pick(found)
        pick = draw.below(100)
        declared = [each.ref for each in self.world.declared.values() if each.kind != "alias"]
        if pick < 50 or depth <= 0:
            return draw.pick(PLAIN)
        if pick < 70 and declared:
            return draw.pick(declared)
        inner = self.some_form(depth - 1)
        if mentions(inner, "Entry"):
            return inner
        return (draw.pick(["List", "List", "Map" if inner[0] == "Optional" else "Optional", "Map"]), inner)

    def written(self, form: Form, ruled: bool = True) -> Place:
        """A place of a form, sometimes with a constraint of its own."""
        draw = self.draw
        if isinstance(form, tuple):
            return Place(form[0], self.written(form[1], ruled and not is_opaque(form)))
        if form in self.world.declared:
            return Place(self.world.declared[form])
        rule = draw.pick(RULES[form]) if ruled and form in RULES and draw.chance(30) else None
        return Place(form, rule=rule)
