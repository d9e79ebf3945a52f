"""Whole programs: modules with types, functions, tools, skills and strategies, each using what stands before it."""

from __future__ import annotations

from tests.generated.draw import Draw
from tests.generated.names import Signature, Unit
from tests.generated.shapes import KEYABLE, LENGTHS, PLAIN, RULES, Declared, Form, Member, Place, World, mentions
from tests.generated.statements import INDENT, Bodies
from touba_cli.documents import GRANTS

MODULES = ("app", "lib.base", "rules")
FIELDS = ("id", "amount", "label", "level", "due", "parts", "note", "kind", "type", "key", "sorted", "is", "date")


class Source:
    """A drawn program: its files, and what it declares."""

    def __init__(self, seed: int):
        self.seed = seed
        self.files: dict[str, str] = {}
        self.world = World()
        self.callables: list[Signature] = []
        #: module → what it uses of what programs have to require, without attempts and tools
        self.features: dict[str, set[str]] = {}
        #: module → the modules that it imports
        self.imports: dict[str, list[str]] = {}

    @property
    def entry(self) -> str:
        return "app.tb"

    def required(self) -> set[str]:
        """The features of the modules that the entry reaches, without attempts and tools."""
        reached = ["app"]
        for module in reached:
            reached += [each for each in self.imports[module] if each not in reached]
        return set().union(*(self.features[module] for module in reached))

    def __str__(self) -> str:
        return "\n".join(f"# --- {path}\n{text}" for path, text in self.files.items())


class Programs:
    """Draws one program."""

    bodies: type[Bodies] = Bodies

    def __init__(self, seed: int):
        self.draw = Draw(seed)
        self.source = Source(seed)
        self.world = self.source.world
        self.names = 0

    def make(self) -> Source:
        """The program."""
        modules = self.draw.some(MODULES[1:], 0, 2)
        for module in (*modules, MODULES[0]):
            self.module(module)
        # The entry comes first, as everywhere.
        self.source.files = dict(reversed(self.source.files.items()))
        return self.source

    def module(self, name: str) -> None:
        draw = self.draw
        self.unit = Unit(name, draw)
        self.parts: list[str] = []
        self.memories: list[str] = []
        self.features = self.source.features[name] = set()
        is_entry = name == MODULES[0]
        for _ in range(draw.between(1, 3)):
            self.type_()
        for _ in range(draw.between(0, 2)):
            self.callable_("function")
        if draw.chance(30):
            self.recursion()
        for _ in range(draw.between(1 if is_entry else 0, 2)):
            self.tool()
        skills = [self.callable_("skill") for _ in range(draw.between(0, 2))]
        for _ in range(draw.between(1, 2) if is_entry else 0):
            self.callable_("strategy")
        del skills
        self.extra(is_entry)
        self.finish(name)

    def extra(self, is_entry: bool) -> None:
        """What governed programs have besides."""

    def finish(self, name: str) -> None:
        head = [f"module {name}", "", *self.unit.imports()]
        text = "\n".join(head) + "\n\n" + "\n\n".join(self.parts) + "\n"
        for called in self.source.callables:
            if called.callers is not None and called.module == name:
                clause = f"{INDENT}callable_by {', '.join(called.callers)}\n" if called.callers else ""
                text = text.replace(f"{INDENT}# callers of {called.name}\n", clause)
        if self.draw.chance(3):
            text = text.replace("\n", "\r\n")
        self.source.imports[name] = list(self.unit.modes)
        self.source.files[name.replace(".", "/") + ".tb"] = text

    def new_name(self, word: str) -> str:
        self.names += 1
        return f"{word}{self.names}"

    def doc(self, indent: str = "") -> str:
        return f"{indent}## {self.draw.pick(['What it is.', 'Of a customer; `x`.'])}\n" if self.draw.chance(10) else ""

    # --- types --------------------------------------------------------------------------------------------------------

    def place(self, depth: int = 2, json: bool = False) -> Place:
        """A type for a field, input or result."""
        draw = self.draw
        declared = [each for each in self.world.declared.values() if each.module != "touba"]
        pick = draw.below(100)
        if json and pick < 6:
            return Place("Json")
        if pick < 30 and declared:
            named = draw.pick(declared)
            # A constraint may be put on top of another name.
            plain = named.place is not None and named.place.head == "Int" and named.place.rule is None
            return Place(named, rule=draw.pick(RULES["Int"]) if plain and draw.chance(15) else None)
        if pick < 70 or depth <= 0:
            name = draw.pick(PLAIN)
            rule = draw.pick(RULES[name]) if name in RULES and draw.chance(35) else None
            return Place(name, rule=rule)
        head = draw.pick(["Optional", "Optional", "List", "List", "Map"])
        inner = self.place(depth - 1, json)
        if head == "Optional" and inner.form[0] == "Optional" and draw.chance(90):
            return inner
        ruled = head != "Optional" and not mentions(inner.form, "Json") and draw.chance(20)
        return Place(head, inner, draw.pick(LENGTHS) if ruled else None)

    def members(self, least: int, most: int, words: tuple[str, ...] = FIELDS) -> list[Member]:
        found = []
        for name in self.draw.some(words, least, most):
            wire = self.draw.pick(["x-1", "Größe", "kind of"]) + name if self.draw.chance(10) else None
            found.append(Member(name, self.place(), wire))
        return found

    def type_(self) -> Declared:
        draw = self.draw
        kind = draw.pick(["record", "record", "choice", "choice", "alias"])
        declared = Declared(
            kind, self.unit.name, self.new_name({"record": "Item", "choice": "State", "alias": "Kind"}[kind])
        )
        spell = self.unit.spell
        if kind == "record":
            declared.fields = self.members(1, 4)
            if draw.chance(15):
                inside = draw.pick(["Optional", "List"])
                declared.fields.append(Member("next", Place(inside, Place(declared))))
            text = f"type {declared.name}\n"
            for each in declared.fields:
                named = f' named "{each.wire}"' if each.wire else ""
                text += f"{self.doc(INDENT)}{INDENT}{each.name} as {each.place.written(spell, bare=True)}{named}\n"
        elif kind == "alias":
            declared.place = self.place()
            text = f"type {declared.name} is {declared.place.written(spell, bare=True)}\n"
        elif draw.chance(45):
            names = [f"Is{declared.name[5:]}{letter}" for letter in "ABCD"[: draw.between(1, 4)]]
            declared.variants = [(name, []) for name in names]
            text = f"choice {declared.name} is {', '.join(names)}\n"
        else:
            text = f"choice {declared.name}\n"
            for letter in "ABC"[: draw.between(2, 3)]:
                words = tuple(f"{letter.lower()}_{word}" for word in ("amount", "label", "note"))
                fields = [Member(each.name, each.place) for each in self.members(0, 2, words)]
                name = f"Has{declared.name[5:]}{letter}"
                declared.variants.append((name, fields))
                shown = ", ".join(f"{each.name} as {each.place.written(spell)}" for each in fields)
                text += f"{self.doc(INDENT)}{INDENT}{name}{' with ' + shown if shown else ''}\n"
        self.world.declared[declared.ref] = declared
        self.parts.append((self.doc() + text).rstrip("\n"))
        return declared

    # --- callables ----------------------------------------------------------------------------------------------------

    def takes(self, least: int, most: int, json: bool = True) -> list[tuple[str, Place]]:
        names = self.draw.some(("x", "items", "who", "limit", "since"), least, most)
        return [(name, self.place(json=json)) for name in names]

    def takes_lines(self, takes: list[tuple[str, Place]]) -> str:
        """`takes`, in one line or several."""
        if not takes:
            return ""
        spell = self.unit.spell
        if len(takes) > 1 and self.draw.chance(50):
            return "".join(
                f"{self.doc(INDENT)}{INDENT}takes {name} as {each.written(spell, bare=True)}\n" for name, each in takes
            )
        shown = [f"{name} as {each.written(spell, bare=True)}" for name, each in takes]
        return f"{INDENT}takes {', '.join(shown)}\n"

    def head(self, called: Signature) -> str:
        text = f"{self.doc()}{called.kind} {called.name}\n{self.takes_lines(called.takes)}"
        if called.gives is not None:
            text += f"{INDENT}gives {called.gives.written(self.unit.spell, bare=True)}\n"
        return text

    def available(self) -> tuple[list[Signature], list[Signature]]:
        """Functions, and what may be called by `call`."""
        known = self.source.callables
        return (
            [each for each in known if each.kind == "function"],
            [each for each in known if each.kind != "function"],
        )

    def callable_(self, kind: str) -> Signature:
        draw = self.draw
        takes = self.takes(0, 3)
        gives: Place | None = self.place(json=False)
        nothing = kind != "function" and draw.chance(20)
        if nothing:
            gives = draw.pick([None, None, Place("Nothing")])
        called = Signature(kind, self.unit.name, self.new_name(kind.capitalize()), takes, gives)
        if kind == "skill" and draw.chance(30):
            called.callers = []
        functions, others = self.available()
        if draw.chance(4):
            # It may call itself, without an end.
            (functions if kind == "function" else others).append(called)
        bodies = self.bodies(
            draw, self.world, self.unit, kind, called.ref, takes, None if nothing else gives, functions, others
        )
        text = self.head(called)
        if called.callers is not None:
            text += f"{INDENT}# callers of {called.name}\n"
        lines = bodies.body(draw.between(1, 4) if kind == "function" else draw.between(1, 6))
        if not lines:
            bodies.let()
        self.source.callables.append(called)
        self.parts.append(text + f"{INDENT}do\n" + "\n".join(bodies.lines))
        self.drawn(called, bodies)
        return called

    def drawn(self, called: Signature, bodies: Bodies) -> None:
        """A body is done."""

    def recursion(self) -> None:
        """A function that calls itself until a number is used up."""
        draw = self.draw
        gives = self.place(json=False)
        takes = [("left", Place("Int")), *((f"with_{name}", each) for name, each in self.takes(0, 1, json=False))]
        called = Signature("function", self.unit.name, self.new_name("Down"), takes, gives)
        functions, _ = self.available()
        bodies = Bodies(draw, self.world, self.unit, "function", called.ref, takes, gives, functions, [])
        bodies.put(f"if left <= {draw.between(0, 3)}")
        bodies.level += 1
        bodies.give()
        bodies.level -= 1
        bodies.line()
        rest = "".join(f", {name}: {bodies.placed(each, 1).text}" for name, each in takes[1:])
        bodies.put(f"let again = {called.name}(left: left - {draw.between(1, 2)}{rest})")
        bodies.bind(gives.form, name="again")
        if bodies.block(draw.between(0, 1), 1):
            bodies.give()
        self.source.callables.append(called)
        self.parts.append(self.head(called) + f"{INDENT}do\n" + "\n".join(bodies.lines))

    def tool(self) -> Signature:
        draw = self.draw
        if draw.chance(20):
            self.memory()
        gives = None if draw.chance(15) else self.place(json=True)
        called = Signature("tool", self.unit.name, self.new_name("Tool"), self.takes(0, 2), gives)
        text = self.head(called)
        clauses = []
        grants = draw.some(GRANTS, 1, 2) if draw.chance(40) else []
        if grants:
            clauses.append(f"requires {', '.join(grants)}")
        secrets = draw.some(("token", "mail_key"), 1, 2) if draw.chance(20) else []
        clauses += [f"secret {name}" for name in secrets]
        empty = called.gives is None and not called.takes
        if grants or secrets or draw.chance(60) or empty:
            clauses.append(f"effect {draw.pick(['none', 'read', 'write', 'write'])}")
        if self.memories and draw.chance(40):
            clauses.append(f"reads memory {draw.pick(self.memories)}")
        if self.memories and "effect write" in clauses and draw.chance(50):
            clauses.append(f"writes memory {draw.pick(self.memories)}")
        if draw.chance(20):
            clauses.append(f"timeout {draw.pick(['30 seconds', '5 minutes', '1 hour'])}")
        text += "".join(f"{INDENT}{clause}\n" for clause in clauses)
        self.source.callables.append(called)
        self.parts.append(text.rstrip("\n"))
        return called

    def memory(self) -> None:
        draw = self.draw
        name = self.new_name("Memory")
        holds = self.place()
        text = f"{self.doc()}memory {name}\n{INDENT}holds {holds.written(self.unit.spell, bare=True)}\n"
        paths = [f"{field}" for field, form in self.world.fields(holds.form) if key_form(form, self.world)]
        paths += [
            f"{field}.{deeper}" for field, form in self.world.fields(holds.form)
            for deeper, last in self.world.fields(form) if key_form(last, self.world)
        ]  # fmt: skip
        if paths and draw.chance(70):
            text += f"{INDENT}key {draw.pick(paths)}\n"
        self.parts.append(text + f"{INDENT}scope {draw.pick(['run', 'owner', 'project'])}")
        self.memories.append(name)
        self.features.add("memory")


def key_form(form: Form, world: World) -> bool:
    """Whether values of a form can be a key."""
    return form in KEYABLE or world.is_plain_choice(form)


def program(seed: int) -> Source:
    """The program of a seed: the same on every machine."""
    return Programs(seed).make()
