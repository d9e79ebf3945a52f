"""What runs the code of a program: the interpreter at first, generated code where it is worth while.

Making code costs a start more than a short run takes, so a callable is interpreted until it has used some steps; what
it does does not depend on that. `GeneratingState` stands in for the plain `State` and hands frames from one engine to
the other, at any instruction where one of them leaves them. `GeneratedCode` is what was made for a program; runs of the
same program can share it.
"""

from __future__ import annotations

from ..air.types import PROBLEM
from ..errors import CODES, ToubaFailure
from ..values.model import make_record
from .events import Event, occurrence_of
from .interpreter import State, run
from .tasks import HANDED, Frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType, FrameType, TracebackType
    from typing import Any

    from ..air.program import Callable as Declared
    from ..values.check import TypeTable
    from ..values.model import Value
    from .budget import Budget
    from .generator import Generator, Piece
    from .tasks import Handed
    from .teller import Around

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
        "_callables", "_generator", "_owners", "_table", "_threshold", "collects", "directs", "functions", "pieces",
        "regions", "used",
    )  # fmt: skip

    def __init__(self, callables: dict[str, Declared], table: TypeTable, *, at_once: bool = False):
        self._callables = callables
        self._table = table
        self._generator: Generator | None = None
        self._threshold = -1 if at_once else FIRST_STEPS
        #: reference → the whole function, or None where there can be none
        self.functions: dict[str, Any] = {}
        #: reference and whether calls are counted → the whole skill or strategy, or None where there can be none
        self.directs: dict[tuple[str, bool], Any] = {}
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

    def make_direct(self, declared: Declared, counts: bool) -> Any:
        """A whole skill or strategy."""
        piece = self._get_generator().direct(declared, counts)
        made = self.directs[declared.ref, counts] = None if piece is None else self._enter(piece)
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

            found = self._generator = Generator(self._table, self._callables)
            self._threshold = min(self._threshold, STEPS)
        return found

    def _enter(self, piece: Piece) -> Any:
        """Take a new piece in: its places are found by its code, and it gets what it applies and calls directly."""
        self.pieces[piece.code] = piece
        for ref, name in piece.functions.items():
            piece.space[name] = self.functions.get(ref) or self._way_to(ref, name, piece.space)
        for ref, name in piece.callees.items():
            made = self.directs.get((ref, piece.counts))
            piece.space[name] = made or self._door_to(ref, piece.counts, name, piece.space)
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

    def _door_to(self, ref: str, counts: bool, name: str, space: dict[str, Any]) -> Any:
        """What stands for a skill or strategy in a piece until it has been called often enough: its frame is run."""
        declared, key = self._callables[ref], (ref, counts)

        def enter(state: GeneratingState, budget: Budget, room: int, around: Around, *arguments: Value) -> Value:
            if key in self.directs:
                made = self.directs[key]
            elif self.is_due(((ref, True, counts), 0)):
                made = self.make_direct(declared, counts)
            else:
                return hand_over(state, budget, room, around, *arguments)
            if made is None:
                made = hand_over
            space[name] = made
            return made(state, budget, room, around, *arguments)

        def hand_over(state: GeneratingState, budget: Budget, room: int, around: Around, *arguments: Value) -> Value:
            return state.hand_over(declared, 0, around, dict(enumerate(arguments)), {})

        return enter

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

    __slots__ = ("_code", "_handed", "_where")

    def __init__(self, callables: dict[str, Declared], table: TypeTable, budget: Budget, code: GeneratedCode):
        super().__init__(callables, table, budget)
        budget.owner = self
        self._code = code
        #: frames that are handed over, the innermost first, each with what knows its span
        self._handed: list[tuple[Frame, Around]] = []
        #: where the innermost one goes on, as a region says it
        self._where = 0

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
                try:
                    why = run(self, frame, may_stop, True)
                finally:  # a place where an attempt catches each time is used, too
                    place = (key, pc)
                    code.used[place] = code.used.get(place, 0) + budget.steps - before + ENTRY_STEPS
                if why != "turn":
                    return why
                continue
            self.tally = None  # a region counts itself
            try:
                where = region(self, budget, frame)
            except BaseException as fault:
                _set_place(fault, self._open_failed(frame, fault.__traceback__))
                raise
            if where is None:
                where = self._open_handed(frame)
                frame = self.frames[-1]
                if where < 0:
                    frame.pc = ~where
                    return str(frame.callable.code[~where][0])
                frame.pc = where
                return "again"
            if where < 0:
                frame.pc = ~where
                name: str = declared.code[~where][0]
                return name
            frame.pc = where
            if budget.spent:
                return "again"

    def hand_over(
        self,
        declared: Declared,
        where: int,
        around: Around,
        slots: dict[int, Value],
        counts: dict[int, int],
        attempts: tuple[tuple[int, int], ...] = (),
    ) -> Handed:
        """Give a callable that was called directly its frame, because it cannot go on without the machine.

        Parameters:
            declared: the callable.
            where: where it stands, as a region says it: at its call, where that has handed over just now.
            around: what knows its span.
            slots: what is in its slots.
            counts: how often it has reached its effect sites.
            attempts: handler and slot of each of its open attempts.
        """
        frame = Frame(declared, [])
        for slot, value in slots.items():
            frame.slots[slot] = value
        frame.counts = counts
        if attempts:
            frame.attempts = [(handler, slot, len(self.effects)) for handler, slot in attempts]
        if self._handed:
            frame.pc = where
        else:
            self._where = where
        self._handed.append((frame, around))
        return HANDED

    def _open_handed(self, frame: Frame) -> int:
        """Open what was handed over inside a frame; gives where the innermost goes on."""
        context: Around = frame
        for inner, around in reversed(self._handed):
            site = frame.callable.code[frame.pc][1]
            inner.span, inner.told = around.span, around is not context
            inner.occurrence = occurrence_of(frame.occurrence, site, frame.counts[site])
            self.frames.append(inner)
            frame, context = inner, around
        self._handed.clear()
        return self._where

    def _open_failed(self, frame: Frame, traceback: TracebackType | None) -> list[tuple[str, int]]:
        """Open what was called directly inside a frame and has failed, without slots: they are lost.

        Returns:
            callable and instruction of each piece that the exception came through, the outermost first.
        """
        pieces = self._code.pieces
        places: list[tuple[str, int]] = []
        context: Around = frame
        innermost = frame
        opened: FrameType | None = None
        self.unwound = 1
        while traceback is not None:
            python = traceback.tb_frame
            piece = pieces.get(python.f_code)
            if piece is not None:
                pc = piece.places[traceback.tb_lineno - 1]
                # What an attempt has raised again is there twice: where it did, which is no place, and before.
                if piece.direct is not None and python is not opened:
                    around: Around = python.f_locals["W"]
                    innermost = Frame(piece.direct, [], around.span, around.occurrence, around is not context)
                    self.frames.append(innermost)
                    self.unwound += 1
                    context, opened = around, python
                if pc >= 0:
                    if piece.direct is not None or not places:
                        innermost.pc = pc
                    places.append((piece.ref, pc))
            traceback = traceback.tb_next
        return places

    def catch(self, failure: ToubaFailure, around: Around) -> Value:
        """What an attempt of generated code does with a failure: what the machine does with one of a frame.

        Parameters:
            failure: what was raised inside it.
            around: what knows the span of its callable.

        Returns:
            the problem.

        Raises:
            ToubaFailure: the same where no attempt may see it, or another that none may see.
        """
        if not catchable(failure):
            raise failure
        pieces, traceback = self._code.pieces, failure.__traceback__
        places: list[tuple[str, int]] = []
        #: what was called directly and is open, inwards
        inner: list[Around] = [around]
        is_own = True
        while traceback is not None:
            piece = pieces.get(traceback.tb_frame.f_code)
            if piece is not None:
                if piece.direct is not None and not is_own:
                    inner.append(traceback.tb_frame.f_locals["W"])
                if (pc := piece.places[traceback.tb_lineno - 1]) >= 0:
                    places.append((piece.ref, pc))
                is_own = False
            traceback = traceback.tb_next
        _set_place(failure, places)
        teller = self.teller
        if self.functions is not None:
            self.functions.fail_call(self.budget.remaining, failure.code)
        teller.tell_functions(inner[-1].span)
        while len(inner) > 1:
            began = inner.pop()
            if began is not inner[-1] and isinstance(began, Event):
                teller.end_call(began, {"outcome": "failed", "code": failure.code})
        problem = problem_of(self.budget, failure)
        teller.caught(failure, around.span)
        forget_frames(failure)
        return problem

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


class OwnFailure(ToubaFailure):
    """A failure under a handler's own code."""


def catchable(failure: ToubaFailure) -> bool:
    """Whether an attempt sees a failure."""
    if failure.effect == "unknown":
        return False
    row = CODES.get(failure.code)
    return isinstance(failure, OwnFailure) or (row is not None and row.catchable)


def problem_of(budget: Budget, failure: ToubaFailure) -> Value:
    """What a program gets to see of a failure.

    Raises:
        ToubaFailure: which no attempt sees, with the place of the failure, where its text alone fills a value.
    """
    message = failure.message if failure.explanation is None else failure.explanation
    fields = {"code": failure.code, "message": message, "ref": failure.ref}
    try:
        return make_record(budget, PROBLEM, fields)
    except ToubaFailure as larger:
        larger.place, larger.ref = failure.place, failure.ref
        raise


def forget_frames(failure: ToubaFailure) -> None:
    """Cut what a kept exception would keep alive: the Python frames it came through, and with them values."""
    failure.__traceback__ = None
    failure.__cause__ = None
    failure.__context__ = None


def _set_place(fault: BaseException, places: list[tuple[str, int]]) -> None:
    if isinstance(fault, ToubaFailure) and places:
        if fault.place is None:
            fault.place = places[-1]
        if fault.ref is None:
            fault.ref = places[-1][0]
