"""What runs the code of a program: the interpreter at first, generated code where it is worth while.

Making code costs a start more than a short run takes, so a callable is interpreted until it has used some steps; what
it does does not depend on that. `GeneratingState` stands in for the plain `State` and hands frames from one engine to
the other, at any instruction where one of them leaves them. `GeneratedCode` is what was made for a program; runs of the
same program can share it.
"""

from __future__ import annotations

from ..errors import ToubaFailure
from .interpreter import State, run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType, TracebackType
    from typing import Any

    from ..air.program import Callable as Declared
    from ..values.check import TypeTable
    from ..values.model import Value
    from .budget import Budget
    from .generator import Generator, Piece
    from .tasks import Frame

#: Steps at one place before code is generated for it: about what loading the generator (the first time) and making a
#: piece take, so that a run never takes much more than twice the time that it would if the better way were known.
FIRST_STEPS = 8_000
STEPS = 2_000
#: what beginning to interpret counts besides: what is charged on entry has been charged before
ENTRY_STEPS = 20


class GeneratedCode:
    """The generated code of one program, made piece by piece.

    Parameters:
        callables: the program's.
        table: its types.
        at_once: make each piece when it is first reached.
    """

    __slots__ = (
        "_callables", "_generator", "_owners", "_table", "_threshold", "collects", "functions", "pieces", "regions",
        "used",
    )  # fmt: skip

    def __init__(self, callables: dict[str, Declared], table: TypeTable, *, at_once: bool = False):
        self._callables = callables
        self._table = table
        self._generator: Generator | None = None
        self._threshold = -1 if at_once else FIRST_STEPS
        #: reference → the whole function, or None where there can be none
        self.functions: dict[str, Any] = {}
        #: reference and `Writer`'s switches → first instruction → the region, or None where there can be none
        self.regions: dict[tuple[str, bool, bool], dict[int, Any]] = {}
        #: id of a `collect` and whether calls are counted → what goes through its elements, or None
        self.collects: dict[tuple[int, bool], Any] = {}
        #: id of a `collect` → its callable; made when it is needed
        self._owners: dict[int, Declared] = {}
        #: a function's reference, or a region's key and first instruction → steps that the interpreter took there
        self.used: dict[Any, int] = {}
        self.pieces: dict[CodeType, Piece] = {}

    def is_due(self, place: Any) -> bool:
        """Whether a place has been interpreted long enough."""
        return self.used.get(place, 0) > self._threshold

    def make_region(self, declared: Declared, pc: int, may_stop: bool, counts: bool) -> Any:
        """The region that begins at an instruction."""
        piece = self._get_generator().region(declared, pc, may_stop, counts)
        made = None if piece is None else self._enter(piece)
        self.regions[declared.ref, may_stop, counts][pc] = made
        return made

    def make_function(self, declared: Declared) -> Any:
        """A whole function."""
        piece = self._get_generator().function(declared)
        made = self.functions[declared.ref] = None if piece is None else self._enter(piece)
        return made

    def make_collect(self, node: list[Any], counts: bool) -> Any:
        """What goes through the elements of a `collect`."""
        if not self._owners:
            self._owners = {id(each): declared for declared in self._callables.values() for each in collects(declared)}
        piece = self._get_generator().collect(self._owners[id(node)], node, counts)
        made = self.collects[id(node), counts] = None if piece is None else self._enter(piece)
        return made

    def _get_generator(self) -> Generator:
        found = self._generator
        if found is None:
            from .generator import Generator

            found = self._generator = Generator(self._table)
            self._threshold = min(self._threshold, STEPS)
        return found

    def _enter(self, piece: Piece) -> Any:
        """Take a new piece in: its places are found by its code, and it gets the functions that it applies."""
        self.pieces[piece.code] = piece
        for ref, name in piece.functions.items():
            piece.space[name] = self.functions.get(ref) or self._way_to(ref, name, piece.space)
        return piece.made

    def _way_to(self, ref: str, name: str, space: dict[str, Any]) -> Any:
        """What stands for a function in a piece until it is first applied."""
        declared = self._callables[ref]

        def apply(budget: Budget, room: int, *arguments: Value) -> Value:
            made = self.functions[ref] if ref in self.functions else self.make_function(declared)
            if made is None:
                made = interpreted
            space[name] = made
            return made(budget, room, *arguments)

        def interpreted(budget: Budget, room: int, *arguments: Value) -> Value:
            state = budget.owner
            assert state is not None
            state.room = room
            return State.apply(state, declared, list(arguments))

        return apply

    def places(self, traceback: TracebackType | None) -> list[tuple[str, int]]:
        """Callable and instruction of each piece that an exception came through, the outermost first."""
        places = []
        while traceback is not None:
            place = self.place(traceback)
            if place is not None:
                places.append(place)
            traceback = traceback.tb_next
        return places

    def place(self, traceback: TracebackType) -> tuple[str, int] | None:
        """Callable and instruction of one level of a traceback, where that is generated code and the callable open."""
        piece = self.pieces.get(traceback.tb_frame.f_code)
        if piece is None:
            return None
        pc = piece.places[traceback.tb_lineno - 1]
        return (piece.ref, pc) if pc >= 0 else None


class GeneratingState(State):
    """The state of a run whose code may be generated."""

    __slots__ = ("_code",)

    def __init__(self, callables: dict[str, Declared], table: TypeTable, budget: Budget, code: GeneratedCode):
        super().__init__(callables, table, budget)
        budget.owner = self
        self._code = code

    def run(self, frame: Frame, may_stop: bool) -> str:
        """As `interpreter.run`."""
        code, budget = self._code, self.budget
        declared = frame.callable
        counts = may_stop and self.functions is not None and declared.kind != "function"
        key = (declared.ref, may_stop, counts)
        regions = code.regions.get(key)
        if regions is None:
            regions = code.regions[key] = {}
        while True:
            pc = frame.pc
            if pc in regions:
                region = regions[pc]
            elif code.is_due((key, pc)):
                region = code.make_region(declared, pc, may_stop, counts)
            else:
                region = None
            if region is None:
                before = budget.steps
                why = run(self, frame, may_stop, True)
                place = (key, pc)
                code.used[place] = code.used.get(place, 0) + budget.steps - before + ENTRY_STEPS
                if why != "turn":
                    return why
                continue
            self.tally = None  # a region counts itself
            try:
                where = region(self, budget, frame)
            except BaseException as fault:
                places = code.places(fault.__traceback__)
                if places:
                    frame.pc = places[0][1]
                _set_place(fault, places)
                raise
            if where < 0:
                frame.pc = ~where
                name: str = declared.code[~where][0]
                return name
            frame.pc = where
            if budget.spent:
                return "again"

    def apply(self, function: Declared, arguments: list[Value]) -> Value:
        """As `State.apply`."""
        code, ref = self._code, function.ref
        if ref in code.functions:
            made = code.functions[ref]
        elif code.is_due(ref):
            made = code.make_function(function)
        else:
            before = self.budget.steps
            result = super().apply(function, arguments)
            code.used[ref] = code.used.get(ref, 0) + self.budget.steps - before
            return result
        if made is None:
            return super().apply(function, arguments)
        try:
            return made(self.budget, self.room, *arguments)
        except ToubaFailure as failure:
            _set_place(failure, code.places(failure.__traceback__))
            raise

    def collect(self, node: list[Any], items: tuple[Value, ...]) -> Value | None:
        """As `State.collect`: by generated code."""
        code, tally = self._code, self.tally
        key = (id(node), tally is not None)
        made = code.collects[key] if key in code.collects else code.make_collect(node, key[1])
        if made is None:
            return None
        self.tally = None  # it counts itself
        try:
            value = made(self, self.budget, self.slots, items)
        except ToubaFailure as failure:
            # A function that it applied; what failed in its own elements is placed by the interpreter.
            _set_place(failure, code.places(failure.__traceback__))
            raise
        self.tally = tally
        return value

    def count_call(self, ref: str, function: Any, *arguments: Value) -> Value:
        """Apply a function for a statement of a region, and count that."""
        tally, budget = self.functions, self.budget
        assert tally is not None
        before = budget.steps
        tally.begin_call(ref)
        try:
            value = function(budget, self.room, *arguments)
        except ToubaFailure as failure:
            tally.end_call(ref, budget.steps - before, failure.code)
            raise
        tally.end_call(ref, budget.steps - before)
        return value

    def ref_of(self, traceback: TracebackType) -> str | None:
        """As `State.ref_of`."""
        place = self._code.place(traceback)
        return super().ref_of(traceback) if place is None else place[0]


def collects(declared: Declared) -> Iterator[list[Any]]:
    """All `collect` expressions of a callable."""
    waiting: list[Any] = list(declared.code)
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            if part and part[0] == "collect":
                yield part
            waiting.extend(part)


def _set_place(fault: BaseException, places: list[tuple[str, int]]) -> None:
    if isinstance(fault, ToubaFailure) and places:
        if fault.place is None:
            fault.place = places[-1]
        if fault.ref is None:
            fault.ref = places[-1][0]
