"""Hypothesis strategies for whole programs in AIR: sound by construction, and checked by the verifier all the same.

Loops turn a few times only, so that a program takes some hundred steps at most; numbers are at the limits of 64 bits as
often as not, so that operations fail; and every construct of AIR occurs.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.runtime.machine_kit import callable_, program, tool
from touba_cli.air.program import Program

LINE, STATE, LEVEL, SMALL = "type:app/Line", "type:app/State", "type:app/Level", "type:app/Small"
INTS, TEXTS, LINES, MAP, MAYBE = ["List", "Int"], ["List", "Text"], ["List", LINE], ["Map", "Int"], ["Optional", "Int"]
TYPES: list[Any] = ["Int", "Bool", "Text", "Decimal", INTS, TEXTS, LINES, MAP, MAYBE, LINE, STATE, LEVEL]

EDGES = [0, 1, 2, 3, -1, -7, 12, 2**31, 2**53 - 1, -(2**53) + 1]
FAR = [2**63 - 1, -(2**63), 2**62]
WORDS = ["", "a", "b", "tea", "é", "a longer text of more than sixteen"]


class Maker:
    """Draws one callable."""

    def __init__(
        self,
        draw: Any,
        ref: str,
        takes: list[Any],
        gives: Any,
        functions: dict[str, tuple[list[Any], Any]],
        skills: tuple[str, ...] = (),
    ):
        self.draw = draw
        self.kind, _, self.name = ref.partition(":")
        #: skills that take an Int and give one
        self.skills = skills
        self.takes = takes
        self.gives = gives
        self.functions = functions
        self.slots: list[Any] = list(takes)
        self.set_here: set[int] = set(range(len(takes)))
        self.code: list[list[Any]] = []
        self.sites = self.shows = 0
        self.attempts = 0
        #: (jumps that leave, jumps to the back edge, open attempts) of the loops around
        self.loops: list[tuple[list[int], list[int], int]] = []
        self.size = 0

    def choose(self, *options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def chance(self, one_in: int) -> bool:
        return bool(self.draw(st.integers(0, one_in - 1)) == 0)

    def new_slot(self, form: Any) -> int:
        self.slots.append(form)
        return len(self.slots) - 1

    # --- expressions --------------------------------------------------------------------------------------------------

    def expression(self, form: Any, depth: int) -> list[Any]:
        known = [slot for slot in sorted(self.set_here) if self.slots[slot] == form]
        self.size += 1
        if known and (self.chance(2) or depth <= 0):
            return ["slot", self.choose(*known)]
        if depth <= 0 or self.size > 90:
            return self.leaf(form)
        if self.chance(9):
            return ["if", self.expression("Bool", depth - 1), *(self.expression(form, depth - 1) for _ in range(2))]
        calls = [ref for ref, (_, gives) in self.functions.items() if gives == form]
        if calls and self.chance(4):
            ref = self.choose(*calls)
            return ["apply", ref, [self.expression(each, depth - 1) for each in self.functions[ref][0]]]
        name = form if isinstance(form, str) else form[0]
        rule = {
            "Int": self.int_, "Bool": self.bool_, "Text": self.text, "Decimal": self.decimal, "List": self.list_,
            "Map": self.map_, "Optional": self.optional, LINE: self.line, STATE: self.state, LEVEL: self.level,
        }[name]  # fmt: skip
        return rule(form, depth - 1)

    def leaf(self, form: Any) -> list[Any]:
        if form == "Int":
            number = self.choose(*(EDGES if self.chance(2) else EDGES[:7]), *(FAR if self.chance(4) else []))
            return ["int", number if abs(number) < 2**53 else str(number)]
        if form == "Bool":
            return ["bool", self.chance(2)]
        if form == "Text":
            return ["text", self.choose(*WORDS)]
        if form == "Decimal":
            return ["dec", self.choose("0", "1.50", "-3", "0.001")]
        if form == LINE:
            return ["record", LINE, [["text", "n"], ["int", 4]]]
        if form == STATE:
            paid = ["make", STATE, "Paid", [["text", "r"], ["int", 7]]]
            return paid if self.chance(2) else ["make", STATE, "Open", []]
        if form == LEVEL:
            return ["make", LEVEL, self.choose("Low", "High"), []]
        if form == MAYBE:
            return ["absent", "Int"] if self.chance(2) else ["some", ["int", 2]]
        if form == MAP:
            return ["map", "Int", [[["text", "a"], ["int", 1]], [["text", "b"], ["int", 2]]]]
        return ["list", form[1], [self.leaf(form[1]) for _ in range(self.draw(st.integers(0, 2)))]]

    def several(self, form: Any, depth: int, least: int, most: int) -> list[Any]:
        return [self.expression(form, depth) for _ in range(self.draw(st.integers(least, most)))]

    def int_(self, form: Any, depth: int) -> list[Any]:
        ex = self.expression
        pick = self.draw(st.integers(0, 13))
        if pick <= 2:
            name = self.choose("add.int", "sub.int", "mul.int", "div.int", "mod.int")
            return [name, ex("Int", depth), ex("Int", depth)]
        if pick == 3:
            return [self.choose("neg.int", "abs.int"), ex("Int", depth)]
        if pick == 4:
            found: list[Any] = ["chain", ex("Int", depth)]
            for _ in range(self.draw(st.integers(1, 4))):
                found += [self.choose("add.int", "sub.int", "mul.int", "mod.int"), ex("Int", depth)]
            return found
        if pick == 5:
            return ["field", ex(LINE, depth), "amount"]
        if pick == 6:
            of = self.choose(INTS, LINES, MAP, "Text")
            suffix = {"List": "list", "Map": "map", "Text": "text"}[of if isinstance(of, str) else of[0]]
            return ["length." + suffix, ex(of, depth)]
        if pick == 7:
            return ["sum.int", ex(INTS, depth)]
        if pick == 8:
            return ["otherwise", ex(MAYBE, depth), ex("Int", depth)]
        if pick == 9:
            return ["index.list", ex(INTS, depth), ex("Int", depth)]
        if pick == 10:
            return ["ordinal", ex(LEVEL, depth)]
        if pick == 11:
            slot = self.any_slot(STATE)
            if slot is not None:
                return ["if", ["variant", slot, "Paid"], ["payload", slot, "Paid", "cents"], ex("Int", depth)]
        if pick == 12:
            slot = self.any_slot(MAYBE)
            if slot is not None:
                return ["if", ["present", slot], ["open", slot], ex("Int", depth)]
        return ["constrain", SMALL, "here", ex("Int", depth)]

    def any_slot(self, form: Any) -> list[Any] | None:
        known = [slot for slot in sorted(self.set_here) if self.slots[slot] == form]
        return ["slot", self.choose(*known)] if known else None

    def bool_(self, form: Any, depth: int) -> list[Any]:
        ex = self.expression
        pick = self.draw(st.integers(0, 9))
        if pick <= 1:
            of = self.choose("int", "text", "decimal")
            kind = self.choose("lt", "le", "gt", "ge")
            return [f"{kind}.{of}", ex(of.capitalize(), depth), ex(of.capitalize(), depth)]
        if pick <= 3:
            of = self.choose("Int", "Bool", "Text", "Decimal", INTS, LINE, STATE, LEVEL, MAYBE)
            return [self.choose("eq", "ne"), ex(of, depth), ex(of, depth)]
        if pick <= 5:
            return [self.choose("and", "or"), *self.several("Bool", depth, 2, 4)]
        if pick == 6:
            return ["not", ex("Bool", depth)]
        if pick == 7:
            return ["present", ex(MAYBE, depth)]
        if pick == 8:
            return ["in.list", ex("Int", depth), ex(INTS, depth)]
        return ["variant", ex(STATE, depth), self.choose("Open", "Paid")]

    def text(self, form: Any, depth: int) -> list[Any]:
        ex = self.expression
        pick = self.draw(st.integers(0, 6))
        if pick == 0:
            return ["concat", *self.several("Text", depth, 1, 3)]
        if pick == 1:
            return ["text.int", ex("Int", depth)]
        if pick == 2:
            return ["add.text", ex("Text", depth), ex("Text", depth)]
        if pick == 3:
            return ["slice.text", ex("Text", depth), ex("Int", depth), ex("Int", depth)]
        if pick == 4:
            return ["join", ex(TEXTS, depth), ex("Text", depth)]
        if pick == 5:
            return ["replace", ex("Text", depth), ex("Text", depth), ex("Text", depth)]
        return ["field", ex(LINE, depth), "name"]

    def decimal(self, form: Any, depth: int) -> list[Any]:
        if self.chance(3):
            return ["widen", self.expression("Int", depth)]
        name = self.choose("add.decimal", "mul.decimal", "div.decimal")
        return [name, self.expression("Decimal", depth), self.expression("Decimal", depth)]

    def list_(self, form: Any, depth: int) -> list[Any]:
        ex, of = self.expression, form[1]
        pick = self.draw(st.integers(0, 6))
        if pick <= 1:
            return ["list", of, self.several(of, depth, 0, 3)]
        if pick <= 3:
            return self.collect(of, depth)
        if pick == 4:
            return [self.choose("reversed", "unique"), ex(form, depth)]
        if pick == 5 and of == "Int":
            return ["range.to", ["mod.int", ex("Int", depth), ["int", 4]]]
        if pick == 6 and of == LINE:
            return ["sorted_by", ex(LINES, depth), [self.choose("name", "amount")], self.chance(2)]
        return ["add.list", ex(form, depth), ex(form, depth)]

    def collect(self, of: Any, depth: int) -> list[Any]:
        over = self.choose("Int", "Text", LINE)
        listed = self.expression(["List", over], depth)
        # Now and then a slot that has a value already: the elements take its place.
        known = [slot for slot in sorted(self.set_here) if self.slots[slot] == over and slot >= len(self.takes)]
        slot = self.choose(*known) if known and self.chance(3) else self.new_slot(over)
        before = set(self.set_here)
        self.set_here.add(slot)
        condition = self.expression("Bool", depth) if self.chance(2) else None
        part = self.expression(of, depth)
        self.set_here = before
        return ["collect", slot, listed, condition, part]

    def map_(self, form: Any, depth: int) -> list[Any]:
        if self.chance(2):
            return ["merge", self.expression(MAP, depth), self.expression(MAP, depth)]
        count = self.draw(st.integers(0, 3))
        return ["map", "Int", [[self.expression("Text", depth), self.expression("Int", depth)] for _ in range(count)]]

    def optional(self, form: Any, depth: int) -> list[Any]:
        pick = self.draw(st.integers(0, 3))
        if pick == 0:
            return ["some", self.expression("Int", depth)]
        if pick == 1:
            return [self.choose("first", "last", "min.int"), self.expression(INTS, depth)]
        if pick == 2:
            return ["index.map", self.expression(MAP, depth), self.expression("Text", depth)]
        return ["int.text", self.expression("Text", depth)]

    def line(self, form: Any, depth: int) -> list[Any]:
        if self.chance(2):
            return ["record", LINE, [self.expression("Text", depth), self.expression("Int", depth)]]
        changes = [["amount", self.expression("Int", depth)]]
        if self.chance(2):
            changes.append(["name", self.expression("Text", depth)])
        return ["with", self.expression(LINE, depth), changes]

    def state(self, form: Any, depth: int) -> list[Any]:
        if self.chance(2):
            return ["make", STATE, "Open", []]
        return ["make", STATE, "Paid", [self.expression("Text", depth), self.expression("Int", depth)]]

    def level(self, form: Any, depth: int) -> list[Any]:
        return self.leaf(form)

    # --- statements ---------------------------------------------------------------------------------------------------

    def emit(self, *instruction: Any) -> int:
        self.code.append(list(instruction))
        return len(self.code) - 1

    def settle(self, jumps: list[int]) -> None:
        places = {"jump": 1, "unless": 2, "each": 4, "times": 2, "attempt": 1}
        for pc in jumps:
            self.code[pc][places[self.code[pc][0]]] = len(self.code)

    def block(self, count: int, depth: int) -> bool:
        """Some statements; whether control goes on after them."""
        return all(self.statement(depth) for _ in range(count))

    def statement(self, depth: int) -> bool:
        self.size = 0
        pick = self.draw(st.integers(0, 19 if self.kind == "function" else 25))
        if depth > 0 and pick in (0, 1, 2, 3):
            return self.if_(depth - 1)
        if depth > 0 and pick in (4, 5, 6):
            return self.loop(depth - 1)
        if pick == 7 and self.loops and self.loops[-1][2] == self.attempts:
            self.loops[-1][self.draw(st.integers(0, 1))].append(self.emit("jump", -1))
            return False
        if pick == 8:
            self.emit("require", self.expression("Bool", 2), self.expression("Text", 1))
            return True
        if pick == 9 and self.chance(4):
            self.emit("give", self.expression(self.gives, 2))
            return False
        if pick == 10 and self.chance(6):
            self.emit("fail", self.expression("Text", 1))
            return False
        if pick in (20, 21) and depth > 0:
            return self.attempt(depth - 1)
        if pick in (22, 23):
            return self.call()
        if pick == 24:
            text = self.expression("Text", 2)
            self.sites += 1
            self.shows += 1
            self.emit("show", self.sites, f"show:{self.name}/{self.shows}", text)
            return True
        if pick == 25 and self.chance(6):
            self.emit("stop", self.expression("Text", 1))
            return False
        return self.set_(3)

    def set_(self, depth: int) -> bool:
        form = self.choose(*TYPES)
        node = self.expression(form, depth)
        known = [slot for slot in sorted(self.set_here) if self.slots[slot] == form]
        slot = self.choose(*known) if known and self.chance(2) else self.new_slot(form)
        self.emit("set", slot, node)
        self.set_here.add(slot)
        return True

    def if_(self, depth: int) -> bool:
        unless = self.emit("unless", self.expression("Bool", 2), -1)
        before = set(self.set_here)
        goes_on = self.block(self.draw(st.integers(1, 3)), depth)
        after = self.set_here
        self.set_here = set(before)
        if not self.chance(2):
            self.settle([unless])
            self.set_here = before & after if goes_on else before
            return True
        jumps = [self.emit("jump", -1)] if goes_on else []
        self.settle([unless])
        other = self.block(self.draw(st.integers(1, 2)), depth)
        self.settle(jumps)
        if goes_on and other:
            self.set_here &= after
        elif goes_on:
            self.set_here = after
        return goes_on or other

    def loop(self, depth: int) -> bool:
        before = set(self.set_here)
        leaves: list[int] = []
        if self.chance(2):
            listed, index, slot = self.new_slot(INTS), self.new_slot("Int"), self.new_slot("Int")
            self.emit("set", listed, ["range.to", ["mod.int", self.expression("Int", 1), ["int", 4]]])
            self.emit("set", index, ["int", 0])
            before |= {listed}
            self.set_here |= {listed}
            head = len(self.code)
            leaves.append(self.emit("each", listed, index, slot, -1))
            self.set_here.add(slot)
        else:
            counter = self.new_slot("Int")
            self.emit("set", counter, ["int", self.draw(st.integers(0, 3))])
            head = len(self.code)
            leaves.append(self.emit("times", counter, -1))
            if self.chance(3):
                leaves.append(self.emit("unless", self.expression("Bool", 2), -1))
        loop: tuple[list[int], list[int], int] = ([], [], self.attempts)
        self.loops.append(loop)
        goes_on = self.block(self.draw(st.integers(1, 3)), depth)
        self.loops.pop()
        if goes_on or loop[1]:
            self.settle(loop[1])
            self.emit("again", head, 0)
        self.settle(leaves + loop[0])
        self.set_here = before
        return True

    def attempt(self, depth: int) -> bool:
        before = set(self.set_here)
        problem = self.new_slot("type:touba/Problem")
        start = self.emit("attempt", -1, problem)
        self.attempts += 1
        known = [slot for slot in sorted(self.set_here) if self.slots[slot] == "Int"]
        if known and self.chance(2):
            slot = self.choose(*known)
            self.emit("set", slot, [self.choose("mul.int", "add.int"), ["slot", slot], ["int", str(2**62)]])
        goes_on = self.block(self.draw(st.integers(1, 3)), depth)
        self.attempts -= 1
        jumps = []
        if goes_on:
            self.emit("leave")
            jumps.append(self.emit("jump", -1))
        self.settle([start])
        self.set_here = set(before)
        self.emit("set", self.new_slot("Text"), ["field", ["slot", problem], "code"])
        # What the attempt changed before it failed is still changed.
        self.set_here.add(len(self.slots) - 1)
        self.settle(jumps)
        self.set_here = before
        return True

    def call(self) -> bool:
        argument = self.expression("Int", 2)
        self.sites += 1
        slot = self.new_slot("Int") if self.chance(2) else None
        self.emit("call", self.sites, slot, self.choose("tool:app/Ask", *self.skills), [argument])
        if slot is not None:
            self.set_here.add(slot)
        return True

    def make(self, statements: int, depth: int) -> dict[str, Any]:
        if self.block(statements, depth):
            self.emit("give", self.expression(self.gives, 3))
        return callable_(self.code, gives=self.gives, slots=self.slots[len(self.takes) :], takes=self.takes)


ASK = tool(takes=["Int"])
TWICE = callable_([["give", ["add.int", ["slot", 0], ["slot", 0]]]], takes=["Int"])
#: a skill that calls itself a few times, and a tool at the bottom
DIG = callable_(
    [
        ["set", 1, ["mod.int", ["slot", 0], ["int", 5]]],
        ["unless", ["le.int", ["slot", 1], ["int", 0]], 4],
        ["call", 1, 1, "tool:app/Ask", [["slot", 0]]],
        ["give", ["slot", 1]],
        ["call", 2, 1, "skill:app/Dig", [["sub.int", ["slot", 1], ["int", 1]]]],
        ["give", ["add.int", ["slot", 1], ["int", 1]]],
    ],
    takes=["Int"], slots=["Int"],
)  # fmt: skip
#: recursion that ends where the number is used up
DOWN = callable_(
    [
        ["unless", ["le.int", ["slot", 0], ["int", 0]], 2],
        ["give", ["slot", 1]],
        ["give", ["add.int", ["int", 1], ["apply", "function:app/Down", [["sub.int", ["slot", 0], ["int", 1]], ["slot", 1]]]]],
    ],
    takes=["Int", "Int"],
)  # fmt: skip


@st.composite
def programs(draw: Any) -> Program:
    """A program with `strategy:app/Main` (which takes nothing), functions, skills and a tool."""
    functions: dict[str, tuple[list[Any], Any]] = {}
    callables: dict[str, Any] = {"tool:app/Ask": ASK, "skill:app/Twice": TWICE, "skill:app/Dig": DIG}
    if draw(st.booleans()):
        callables["function:app/Down"] = DOWN
        functions["function:app/Down"] = (["Int", "Int"], "Int")
    for number in range(draw(st.integers(0, 2))):
        ref = f"function:app/F{number}"
        takes = draw(st.lists(st.sampled_from(["Int", "Text", INTS]), min_size=1, max_size=2))
        gives = draw(st.sampled_from(["Int", "Bool", INTS, "Text"]))
        callables[ref] = Maker(draw, ref, takes, gives, dict(functions)).make(draw(st.integers(1, 4)), 2)
        functions[ref] = (takes, gives)
    gives = draw(st.sampled_from(["Int", "Text", INTS, LINE]))
    skills = ("skill:app/Twice", "skill:app/Dig")
    for number in range(draw(st.integers(0, 2))):
        ref = f"skill:app/S{number}"
        callables[ref] = Maker(draw, ref, ["Int"], "Int", functions, skills).make(draw(st.integers(1, 4)), 2)
        skills += (ref, ref)
    main = Maker(draw, "strategy:app/Main", [], gives, functions, skills)
    callables["strategy:app/Main"] = main.make(draw(st.integers(1, 6)), 3)
    return program(callables)
