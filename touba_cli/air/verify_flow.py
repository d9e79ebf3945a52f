"""The verifier's third part: the instructions of one callable — shapes, jumps, loops, and what every path has set.

One walk in the order of the code is enough, because jumps go forward, only `again` goes back, and a loop is entered at
its first instruction alone: whatever can come before an instruction has been seen when the walk reaches it, and what a
loop sets only adds to what was set before it.
"""

from __future__ import annotations

from .costs import callable_costs
from .places import fault, shown, take_array, take_text, take_whole, unknown
from .types import PROBLEM
from .verify_expr import Expressions, written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    from .places import Place
    from .types import TypeForm
    from .verify_expr import Signature
    from .verify_types import Types

    Instruction: TypeAlias = list[Any]
    #: the attempts that are open: the innermost one's instruction, and those around it
    Attempts: TypeAlias = tuple[int, "Attempts"] | None
    #: slots that have a value, as bits, and the open attempts
    State: TypeAlias = tuple[int, Attempts]

_ALL_SLOTS = -1


class Owner:
    """What the code of one callable shares with the branches of its groups.

    Parameters:
        ref: the callable's reference.
        gates: AIR's `gates`, of any shape.
        check_branch: checks the code of a branch, given its reference and this owner.
    """

    __slots__ = ("check_branch", "counts", "depth", "gates", "path", "ref", "used")

    def __init__(self, ref: str, gates: dict[str, Any], check_branch: Callable[[str, Owner], None]):
        self.ref = ref
        self.path = ref.partition(":")[2]
        self.gates = gates
        self.check_branch = check_branch
        #: kind of gate, "show" or "group" → how many were met, in source order
        self.counts: dict[str, int] = {}
        #: references of the gates and branches that were met
        self.used: set[str] = set()
        #: groups around the code
        self.depth = 0

    def next(self, kind: str) -> int:
        self.counts[kind] = self.counts.get(kind, 0) + 1
        return self.counts[kind]


class Flow:
    """Checks the code of one callable or branch; `check` does it once.

    Parameters:
        ref: its reference.
        code: its instructions, of any shape.
        place: where they stand.
        types, signatures: what the program declares.
        slots: base types of the slots.
        owner: the callable that it belongs to.
    """

    def __init__(
        self,
        ref: str,
        code: Any,
        place: Place,
        types: Types,
        signatures: dict[str, Signature],
        slots: list[TypeForm],
        owner: Owner,
    ):
        self.ref = ref
        self.owner = owner
        self.place = place
        self.code: list[Instruction] = take_array(code, place)
        self.types = types
        self.signatures = signatures
        self.signature = signatures[ref]
        self.slots = slots
        self._kind = self.signature.kind
        self._inputs = len(self.signature.takes)
        self._sites = 0
        #: instruction → what is known where jumps arrive there
        self._arriving: dict[int, State] = {}
        #: first instruction of a loop → what is known there
        self._heads: dict[int, State] = {}
        self._state: State | None = None

    def check(self) -> None:
        """Raises ToubaFailure (AirInvalid) at the first fault."""
        if not self.code:
            raise fault(self.place, "a callable has at least one instruction")
        indices, marks = self._check_shapes()
        self._loops = Loops(self.code, self.place)
        self.expressions = Expressions(self.types, self.signatures, self.slots, indices, marks)
        self._state = ((1 << self._inputs) - 1, None)
        for pc, instruction in enumerate(self.code):
            here: Place = (self.place, pc)
            self._enter(pc, here)
            _RULES[instruction[0]][2](self, instruction, pc, here)
        if self._state is not None:
            raise fault((self.place, len(self.code) - 1), "control falls off the end")

    def check_costs(self, cost: Any, place: Place) -> None:
        """Compare the costs that stand in the document with those of the code, which was checked before."""
        outside, loops = callable_costs(self.code)
        if take_whole(cost, place) != outside:
            raise fault(place, f"the code outside loops costs {outside}")
        for pc, loop in loops.items():
            if self.code[pc][2] != loop:
                raise fault(((self.place, pc), 2), f"the body of this loop costs {loop}")

    # --- before the walk ----------------------------------------------------------------------------------------------

    def _check_shapes(self) -> tuple[frozenset[int], frozenset[int]]:
        """Names, lengths, jump targets. Gives the slots that are indices of an `each`, and those that are marks."""
        indices: set[int] = set()
        marks: set[int] = set()
        for pc, instruction in enumerate(self.code):
            here: Place = (self.place, pc)
            name = instruction[0] if isinstance(instruction, list) and instruction else None
            rule = _RULES.get(name) if isinstance(name, str) else None
            if rule is None:
                if not isinstance(name, str):
                    raise fault(here, "an instruction is an array that begins with its name")
                raise fault(here, unknown("instruction", name, _RULES))
            size, target, _ = rule
            take_array(instruction, here, size)
            if name in _EFFECTS and self._kind == "function":
                raise fault(here, f"a function has no `{name}`")
            if target:
                self._check_target(instruction[target], pc, name == "again", (here, target))
            if name == "again":
                take_whole(instruction[2], (here, 2))
            elif name == "each":
                slot = take_whole(instruction[2], (here, 2))
                if slot < self._inputs:
                    raise fault((here, 2), "the index of an `each` is no input")
                indices.add(slot)
            elif name == "mark":
                slot = take_whole(instruction[1], (here, 1))
                if slot < self._inputs:
                    raise fault((here, 1), "a mark is no input")
                marks.add(slot)
        for slot in marks & indices:
            raise fault(self.place, f"slot {slot} is both a mark and the index of an `each`")
        return frozenset(indices), frozenset(marks)

    def _check_target(self, target: Any, pc: int, back: bool, place: Place) -> None:
        take_whole(target, place, -(2**53) + 1)
        if not 0 <= target < len(self.code):
            raise fault(place, f"there is no instruction {target}")
        if back and target > pc:
            raise fault(place, "`again` goes back")
        if not back and target <= pc:
            raise fault(place, "only `again` goes back")

    # --- the walk -----------------------------------------------------------------------------------------------------

    def _enter(self, pc: int, place: Place) -> None:
        """Join what falls into an instruction with what jumps to it."""
        arriving = self._arriving.pop(pc, None)
        if arriving is not None:
            self._state = arriving if self._state is None else self._joined(self._state, arriving, place)
        if self._state is None:
            # Never reached: it is checked as if everything were set, and leads nowhere.
            self.expressions.assigned = _ALL_SLOTS
            return
        self.expressions.assigned = self._state[0]
        if pc in self._loops.ends:
            self._heads[pc] = self._state

    def _joined(self, one: State, other: State, place: Place) -> State:
        if one[1] is not other[1]:
            raise fault(place, "paths come together with different attempts open")
        return (one[0] & other[0], one[1])

    def _jump(self, target: int, pc: int, state: State | None, place: Place) -> None:
        self._loops.check_jump(pc, target, place)
        if state is None:
            return
        before = self._arriving.get(target)
        self._arriving[target] = state if before is None else self._joined(before, state, place)

    def _write(self, slot: int) -> None:
        if self._state is not None:
            self._state = (self._state[0] | 1 << slot, self._state[1])

    def _set(self, instruction: Instruction, pc: int, place: Place) -> None:
        slot = self.expressions.slot(instruction[1], (place, 1))
        if slot in self.expressions.marks:
            raise fault((place, 1), f"slot {slot} is a mark, which only `mark` sets")
        if slot in self.expressions.counters:
            if instruction[2] != ["int", 0] or isinstance(instruction[2][1], bool):
                raise fault((place, 2), 'the index of an `each` is set to `["int", 0]`')
        else:
            self.expressions.expect(instruction[2], (place, 2), self.slots[slot])
        self._write(slot)

    def _goto(self, instruction: Instruction, pc: int, place: Place) -> None:
        self._jump(instruction[1], pc, self._state, (place, 1))
        self._state = None

    def _unless(self, instruction: Instruction, pc: int, place: Place) -> None:
        self.expressions.expect(instruction[1], (place, 1), "Bool")
        self._jump(instruction[2], pc, self._state, (place, 2))

    def _each(self, instruction: Instruction, pc: int, place: Place) -> None:
        items = self.slots[self.expressions.readable_slot(instruction[1], (place, 1))]
        if isinstance(items, str) or items[0] != "List":
            raise fault((place, 1), f"slot {instruction[1]} holds {written(items)}, not a List")
        self._expect_int(instruction[2], (place, 2))
        slot = self.expressions.writable_slot(instruction[3], (place, 3), items[1])
        self._jump(instruction[4], pc, self._state, (place, 4))
        self._write(slot)

    def _times(self, instruction: Instruction, pc: int, place: Place) -> None:
        self._expect_int(instruction[1], (place, 1))
        self.expressions.writable_slot(instruction[1], (place, 1), "Int")
        self._jump(instruction[2], pc, self._state, (place, 2))

    def _expect_int(self, slot: Any, place: Place) -> None:
        if self.slots[self.expressions.readable_slot(slot, place)] != "Int":
            raise fault(place, f"slot {slot} does not hold an Int")

    def _again(self, instruction: Instruction, pc: int, place: Place) -> None:
        if self._state is not None and self._state[1] is not self._heads[instruction[1]][1]:
            raise fault(place, "a loop goes back with other attempts open than it began with")
        self._state = None

    def _give(self, instruction: Instruction, pc: int, place: Place) -> None:
        self.expressions.enter(instruction[1], (place, 1), self.signature.gives, self.signature.gives_guard)
        self._state = None

    def _call(self, instruction: Instruction, pc: int, place: Place) -> None:
        self._check_site(instruction[1], (place, 1))
        ref = take_text(instruction[3], (place, 3))
        signature = self.signatures.get(ref)
        if signature is None or signature.kind in ("function", "branch"):
            raise fault((place, 3), f"`{shown(ref)}` is not a tool, skill, strategy or agent of the program")
        if signature.callers is not None and self.owner.ref not in signature.callers:
            raise fault((place, 3), f"`{shown(ref)}` does not let `{shown(self.owner.ref)}` call it")
        self.expressions.enter_inputs(instruction[4], (place, 4), signature)
        if instruction[2] is not None:
            self._write(self.expressions.writable_slot(instruction[2], (place, 2), signature.gives))

    def _late(self, instruction: Instruction, pc: int, place: Place) -> None:
        """Instructions that few programs have: their rules are loaded where one is met."""
        from .verify_groups import LATE_RULES

        if instruction[0] not in ("mark", "compensate"):
            self._check_site(instruction[1], (place, 1))
        slot = LATE_RULES[instruction[0]](self, instruction, place)
        if slot is not None:
            self._write(slot)

    def readable_mark(self, slot: Any, place: Place) -> None:
        """Refuse what is not a mark that was set."""
        if self.expressions.readable_slot(slot, place) not in self.expressions.marks:
            raise fault(place, f"slot {slot} is not a mark")

    def _show(self, instruction: Instruction, pc: int, place: Place) -> None:
        self._check_site(instruction[1], (place, 1))
        expected = f"show:{self.owner.path}/{self.owner.next('show')}"
        if instruction[2] != expected:
            raise fault((place, 2), f"the interaction of this show is `{expected}`")
        self.expressions.expect(instruction[3], (place, 3), "Text")

    def _check_site(self, site: Any, place: Place) -> None:
        self._sites += 1
        if take_whole(site, place) != self._sites:
            raise fault(place, f"the next effect site has the number {self._sites}")

    def _require(self, instruction: Instruction, pc: int, place: Place) -> None:
        self.expressions.expect(instruction[1], (place, 1), "Bool")
        self.expressions.expect(instruction[2], (place, 2), "Text")

    def _end(self, instruction: Instruction, pc: int, place: Place) -> None:
        self.expressions.expect(instruction[1], (place, 1), "Text")
        self._state = None

    def _attempt(self, instruction: Instruction, pc: int, place: Place) -> None:
        slot = self.expressions.writable_slot(instruction[2], (place, 2), PROBLEM)
        caught = self._state
        if caught is not None:
            caught = (caught[0] | 1 << slot, caught[1])
        self._jump(instruction[1], pc, caught, (place, 1))
        if self._state is not None:
            self._state = (self._state[0], (pc, self._state[1]))

    def _leave(self, instruction: Instruction, pc: int, place: Place) -> None:
        if self._state is None:
            return
        if self._state[1] is None:
            raise fault(place, "no attempt is open here")
        self._state = (self._state[0], self._state[1][1])


class Loops:
    """The loops of a callable: where they begin and end, and which lies in which.

    Raises ToubaFailure (AirInvalid) where two share their first instruction or overlap.
    """

    def __init__(self, code: list[Instruction], place: Place):
        #: first instruction of a loop → its `again`
        self.ends: dict[int, int] = {}
        for pc, instruction in enumerate(code):
            if instruction[0] == "again":
                if instruction[1] in self.ends:
                    raise fault((place, pc), f"the loop at instruction {instruction[1]} has another `again`")
                self.ends[instruction[1]] = pc
        #: instruction → first instruction of the innermost loop around it, or -1
        self._inner: list[int] = []
        #: first instruction of a loop → that of the loop around it, or -1
        self._outer: dict[int, int] = {}
        heads: list[int] = []
        for pc in range(len(code)):
            end = self.ends.get(pc)
            if end is not None:
                if heads and end > self.ends[heads[-1]]:
                    raise fault((place, end), "loops overlap")
                self._outer[pc] = heads[-1] if heads else -1
                heads.append(pc)
            self._inner.append(heads[-1] if heads else -1)
            if heads and self.ends[heads[-1]] == pc:
                heads.pop()

    def check_jump(self, source: int, target: int, place: Place) -> None:
        """Refuse a jump from outside a loop past its first instruction."""
        head = self._inner[target]
        if head == target and source < head:
            head = self._outer[head]
        if head >= 0 and not head <= source <= self.ends[head]:
            raise fault(place, "a jump goes into a loop past its first instruction")


#: what functions do not have
_EFFECTS = frozenset(
    ("call", "show", "approve", "ask", "review", "parallel", "parallel_each", "stop", "attempt", "leave", "mark",
     "compensate")
)  # fmt: skip

#: instruction → members of its array, which of them is a jump target (0: none), and what checks it
_RULES: dict[str, tuple[int, int, Callable[[Flow, Instruction, int, Place], None]]] = {
    "set": (3, 0, Flow._set),
    "jump": (2, 1, Flow._goto),
    "unless": (3, 2, Flow._unless),
    "each": (5, 4, Flow._each),
    "times": (3, 2, Flow._times),
    "again": (3, 1, Flow._again),
    "give": (2, 0, Flow._give),
    "call": (5, 0, Flow._call),
    "show": (4, 0, Flow._show),
    "approve": (4, 0, Flow._late),
    "ask": (5, 0, Flow._late),
    "review": (6, 0, Flow._late),
    "parallel": (5, 0, Flow._late),
    "parallel_each": (8, 0, Flow._late),
    "require": (3, 0, Flow._require),
    "stop": (2, 0, Flow._end),
    "fail": (2, 0, Flow._end),
    "attempt": (3, 1, Flow._attempt),
    "leave": (1, 0, Flow._leave),
    "mark": (2, 0, Flow._late),
    "compensate": (2, 0, Flow._late),
}
