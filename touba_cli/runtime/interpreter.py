"""The plain reference interpreter: what instructions and expressions of AIR mean. `docs/air.md` is its subject.

What runs often is run by generated code instead (`execution.py`), to which this module is the oracle in tests and the
fallback at work.

`run` is the one loop for all callables. It goes through the instructions of a frame until one needs the machine
(`give`, `call`, `show`, `stop`, or the end of a slice) and says which. Functions are run by the same loop, from
inside the expression that applies them, and can only give.

`EXPRESSIONS` has a handler for each expression, which takes the state of the run and the node. Handlers call one
another directly, one Python frame a level and never through C, so that nesting uses no C stack;
`budget.allow_recursion` makes room for the deepest program that the limits admit.
"""

from __future__ import annotations

from ..air.costs import element_cost
from ..air.operations import OPERATIONS
from ..air.types import freeze
from ..errors import ToubaFailure
from ..values.functions import FUNCTIONS, concat, literal, sort_by
from ..values.model import (
    ABSENT,
    make_changed,
    make_choice,
    make_list,
    make_map,
    make_present,
    make_record,
    size_of,
)
from .budget import TooDeep
from .tasks import Frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any, TypeAlias

    from ..air.program import Callable as Declared
    from ..values.check import TypeTable
    from ..values.model import Value
    from .budget import Budget
    from .functions import FunctionTally
    from .teller import Teller

    Node: TypeAlias = list[Any]
    Handler: TypeAlias = Callable[["State", Node], Value]

#: elements from which on `State.collect` is asked
LONG_LIST = 500

NOT_WATCHED: frozenset[int] = frozenset()


class State:
    """What expressions can reach: the slots of the callable at work, the budget, the program and its types."""

    __slots__ = (
        "budget", "callables", "effects", "frames", "functions", "prepared", "result", "room", "slots", "table",
        "tally", "teller", "unwound",
    )  # fmt: skip

    def __init__(self, callables: dict[str, Declared], table: TypeTable, budget: Budget):
        self.callables = callables
        self.table = table
        self.budget = budget
        #: where what happens is told; the machine sets it
        self.teller: Teller
        #: counts the functions that statements call; None where nobody wants to know
        self.functions: FunctionTally | None = None
        #: the same, while a statement is at work whose calls are counted
        self.tally: FunctionTally | None = None
        #: how many more callables may be opened inside the one at work
        self.room = 0
        self.slots: list[Value] = []
        #: the effects of the task at work
        self.effects: list[Any] = []
        #: its frames
        self.frames: list[Frame] = []
        #: what the instruction that ended `run` evaluated
        self.result: Any = None
        #: of the callables that the traceback of a failure knows, how many have a frame of the machine
        self.unwound = 1
        #: id of a node → what was worked out for it once: a literal's value, a type, names; the program keeps the nodes
        self.prepared: dict[int, Any] = {}

    def run(self, frame: Frame, may_stop: bool) -> str:
        """Run a frame until an instruction needs the machine: see `run`."""
        return run(self, frame, may_stop)

    def apply(self, function: Declared, arguments: list[Value]) -> Value:
        """The result of a function."""
        room = self.room
        if room <= 0:
            raise TooDeep(function.ref)
        self.budget.charge(function.cost)
        self.room = room - 1
        slots = self.slots
        if self.run(Frame(function, arguments), False) != "give":
            raise unsound("a function has an effect")
        # Only on success: after a failure the machine takes up a frame of its own, with the slots and room of that.
        self.slots = slots
        self.room = room
        return self.result

    def collect(self, node: Node, items: tuple[Value, ...]) -> Value | None:
        """What a `collect` makes of a long List, where there is a quicker way than `_collect`; None where not."""
        return None

    def open_functions(self, traceback: TracebackType | None) -> list[str]:
        """References of the functions that were open inside the frames where an exception came from, the outermost
        first."""
        refs = []
        while traceback is not None:
            ref = self.ref_of(traceback)
            if ref is not None:
                refs.append(ref)
            traceback = traceback.tb_next
        return refs[self.unwound :]

    def ref_of(self, traceback: TracebackType) -> str | None:
        """The callable that one level of a traceback runs; None for any other Python function."""
        frame = traceback.tb_frame
        if frame.f_code is not run.__code__:
            return None
        ref: str = frame.f_locals["frame"].callable.ref
        return ref


def unsound(message: str) -> ToubaFailure:
    """What compiled programs never do."""
    return ToubaFailure("AirUnsound", message)


# Instructions


def run(state: State, frame: Frame, may_stop: bool, one_turn: bool = False) -> str:
    """Run a frame until an instruction needs the machine.

    Parameters:
        state: the run; `state.result` is set to what the instruction evaluated (arguments for ``call``).
        frame: where to go on; its ``pc`` is left at the instruction that is named by the result, or at the next
            one where a slice or turn ended.
        may_stop: whether the end of a slice ends the loop; else the budget's pulse is called and it goes on.
        one_turn: end after the first back edge.

    Returns:
        "give", "call", "show", "stop", "again" for the end of a slice, or "turn" for a back edge.

    Raises:
        ToubaFailure: with `place` and `ref` of the innermost callable.
    """
    code = frame.callable.code
    slots = state.slots = frame.slots
    budget = state.budget
    evaluate = EXPRESSIONS
    pc = frame.pc
    tally, watched = None, NOT_WATCHED
    if may_stop:
        if state.functions is not None and (found := state.functions.watched(frame.callable)):
            tally, watched = state.functions, found
        state.tally = tally
    try:
        while True:
            if tally is not None and pc in watched:
                tally.begin_statement()
            instruction = code[pc]
            op = instruction[0]
            if op == "set":
                node = instruction[2]
                slots[instruction[1]] = evaluate[node[0]](state, node)
                pc += 1
            elif op == "unless":
                node = instruction[1]
                pc = pc + 1 if evaluate[node[0]](state, node) else instruction[2]
            elif op == "jump":
                pc = instruction[1]
            elif op == "each":
                _, list_slot, index_slot, slot, end = instruction
                index = slots[index_slot]
                items = slots[list_slot].items
                if index >= len(items):
                    pc = end
                else:
                    slots[slot] = items[index]
                    slots[index_slot] = index + 1
                    pc += 1
            elif op == "times":
                counter = slots[instruction[1]]
                if counter <= 0:
                    pc = instruction[2]
                else:
                    slots[instruction[1]] = counter - 1
                    pc += 1
            elif op == "again":
                if may_stop:
                    budget.spend(instruction[2])
                    pc = instruction[1]
                    if budget.spent:
                        return "again"
                else:
                    budget.charge(instruction[2])
                    pc = instruction[1]
                if one_turn:
                    return "turn"
            elif op == "give":
                node = instruction[1]
                state.result = evaluate[node[0]](state, node)
                return "give"
            elif op == "call":
                state.result = [evaluate[node[0]](state, node) for node in instruction[4]]
                return "call"
            elif op == "show":
                node = instruction[3]
                state.result = evaluate[node[0]](state, node)
                return "show"
            elif op == "require":
                node = instruction[1]
                if not evaluate[node[0]](state, node):
                    raise _own_failure(state, "RequirementFailed", instruction[2])
                pc += 1
            elif op == "attempt":
                frame.attempts.append((instruction[1], instruction[2], len(state.effects)))
                pc += 1
            elif op == "leave":
                frame.attempts.pop()
                pc += 1
            elif op == "stop":
                node = instruction[1]
                state.result = evaluate[node[0]](state, node)
                return "stop"
            elif op == "fail":
                raise _own_failure(state, "BusinessFailure", instruction[1])
            else:
                raise unsound(f"there is no instruction `{op}`")
    except ToubaFailure as failure:
        if failure.place is None:
            failure.place = (frame.callable.ref, pc)
        if failure.ref is None:
            failure.ref = frame.callable.ref
        raise
    finally:
        frame.pc = pc


def _own_failure(state: State, code: str, text: Node) -> ToubaFailure:
    explanation = EXPRESSIONS[text[0]](state, text)
    return ToubaFailure(code, literal_parts(text), explanation=explanation)


def literal_parts(text: Node) -> str:
    """The words of a text that stand in the program, with ``{…}`` for each interpolation.

    >>> literal_parts(["concat", ["text", "over "], ["text.int", ["slot", 0]]])
    'over {…}'
    """
    if text[0] == "text":
        return str(text[1])
    if text[0] == "concat":
        return "".join([str(part[1]) if part[0] == "text" else "{…}" for part in text[1:]])
    return "{…}"


# Expressions: literals and slots


def _written(state: State, node: Node) -> Value:
    """Text and Bool: as they stand in the document."""
    return node[1]


def _int(state: State, node: Node) -> Value:
    number = node[1]
    return number if type(number) is int else int(number)


def _literal(state: State, node: Node) -> Value:
    """The others are read once."""
    prepared = state.prepared
    key = id(node)
    if key not in prepared:
        prepared[key] = literal(node)
    return prepared[key]


def _nothing(state: State, node: Node) -> Value:
    return None


def _absent(state: State, node: Node) -> Value:
    return ABSENT


def _slot(state: State, node: Node) -> Value:
    # The verifier has seen that every path sets a slot before it is read.
    return state.slots[node[1]]


# Expressions: parts of values


def _field(state: State, node: Node) -> Value:
    part = node[1]
    return EXPRESSIONS[part[0]](state, part).fields[node[2]]


def _payload(state: State, node: Node) -> Value:
    part = node[1]
    choice = EXPRESSIONS[part[0]](state, part)
    if choice.variant != node[2]:
        raise unsound("a payload is read of another variant")
    return choice.fields[node[3]]


def _variant(state: State, node: Node) -> Value:
    part = node[1]
    return EXPRESSIONS[part[0]](state, part).variant == node[2]


def _ordinal(state: State, node: Node) -> Value:
    part = node[1]
    return state.table.ordinal(EXPRESSIONS[part[0]](state, part))


def _present(state: State, node: Node) -> Value:
    part = node[1]
    return EXPRESSIONS[part[0]](state, part) is not ABSENT


def _some(state: State, node: Node) -> Value:
    part = node[1]
    return make_present(state.budget, EXPRESSIONS[part[0]](state, part))


def _open(state: State, node: Node) -> Value:
    part = node[1]
    found = EXPRESSIONS[part[0]](state, part)
    if found is ABSENT:
        raise unsound("an absent Optional is opened")
    return found.value


def _widen(state: State, node: Node) -> Value:
    part = node[1]
    return _to_decimal(state.budget, EXPRESSIONS[part[0]](state, part))


_to_decimal = FUNCTIONS["decimal.int"]


def _constrain(state: State, node: Node) -> Value:
    _, form, label, part = node
    value = EXPRESSIONS[part[0]](state, part)
    prepared = state.prepared
    key = id(node)
    if key not in prepared:
        prepared[key] = freeze(form)
    state.table.constrain(prepared[key], value, label, state.budget)
    return value


# Expressions: new values


def _record(state: State, node: Node) -> Value:
    _, ref, parts = node
    prepared = state.prepared
    key = id(node)
    names = prepared.get(key)
    if names is None:
        names = prepared[key] = [field["name"] for field in state.table.declared[ref]["fields"]]
    fields = {}
    for name, part in zip(names, parts, strict=True):
        fields[name] = EXPRESSIONS[part[0]](state, part)
    return make_record(state.budget, ref, fields)


def _make(state: State, node: Node) -> Value:
    _, ref, variant, parts = node
    prepared = state.prepared
    key = id(node)
    names = prepared.get(key)
    if names is None:
        names = prepared[key] = _payload_names(state, ref, variant)
    fields = {}
    for name, part in zip(names, parts, strict=True):
        fields[name] = EXPRESSIONS[part[0]](state, part)
    return make_choice(state.budget, ref, variant, fields)


def _payload_names(state: State, ref: str, variant: str) -> list[str]:
    for declared in state.table.declared[ref]["variants"]:
        if declared["name"] == variant:
            return [field["name"] for field in declared["fields"]]
    raise unsound(f"`{ref}` has no variant `{variant}`")


def _with(state: State, node: Node) -> Value:
    _, part, changes = node
    record = EXPRESSIONS[part[0]](state, part)
    changed = {}
    for name, change in changes:
        changed[name] = EXPRESSIONS[change[0]](state, change)
    return make_changed(state.budget, record, changed)


def _list(state: State, node: Node) -> Value:
    items = []
    for part in node[2]:
        items.append(EXPRESSIONS[part[0]](state, part))  # noqa: PERF401 a comprehension is one more Python frame
    return make_list(state.budget, tuple(items))


def _map(state: State, node: Node) -> Value:
    entries = {}
    for key, part in node[2]:
        name = EXPRESSIONS[key[0]](state, key)
        entries[name] = EXPRESSIONS[part[0]](state, part)
    return make_map(state.budget, entries)


def _collect(state: State, node: Node) -> Value:
    _, slot, source, condition, part = node
    budget = state.budget
    slots = state.slots
    found = EXPRESSIONS[source[0]](state, source).items
    if len(found) >= LONG_LIST and (quick := state.collect(node, found)) is not None:
        return quick
    prepared = state.prepared
    cost = prepared.get(id(node))
    if cost is None:
        cost = prepared[id(node)] = element_cost(node)
    items = []
    size = 2
    for item in found:
        budget.charge(cost)
        slots[slot] = item
        if condition is not None and not EXPRESSIONS[condition[0]](state, condition):
            continue
        value = EXPRESSIONS[part[0]](state, part)
        size += size_of(value) + 1
        if size > budget.max_value_bytes:
            budget.check_size(size)
        items.append(value)
    return make_list(budget, tuple(items))


def _sorted_by(state: State, node: Node) -> Value:
    _, part, path, descending = node
    return sort_by(state.budget, EXPRESSIONS[part[0]](state, part), path, descending, state.table)


# Expressions: choosing


def _and(state: State, node: Node) -> Value:
    for part in node[1:]:  # noqa: SIM110 a generator would nest C calls
        if not EXPRESSIONS[part[0]](state, part):
            return False
    return True


def _or(state: State, node: Node) -> Value:
    for part in node[1:]:  # noqa: SIM110
        if EXPRESSIONS[part[0]](state, part):
            return True
    return False


def _not(state: State, node: Node) -> Value:
    part = node[1]
    return not EXPRESSIONS[part[0]](state, part)


def _if(state: State, node: Node) -> Value:
    condition = node[1]
    part = node[2] if EXPRESSIONS[condition[0]](state, condition) else node[3]
    return EXPRESSIONS[part[0]](state, part)


def _otherwise(state: State, node: Node) -> Value:
    part = node[1]
    found = EXPRESSIONS[part[0]](state, part)
    if found is not ABSENT:
        return found.value
    part = node[2]
    return EXPRESSIONS[part[0]](state, part)


# Expressions: operations and functions


def _chain(state: State, node: Node) -> Value:
    part = node[1]
    value = EXPRESSIONS[part[0]](state, part)
    for place in range(2, len(node), 2):
        part = node[place + 1]
        value = FUNCTIONS[node[place]](state.budget, value, EXPRESSIONS[part[0]](state, part))
    return value


def _concat(state: State, node: Node) -> Value:
    parts = []
    for part in node[1:]:
        parts.append(EXPRESSIONS[part[0]](state, part))  # noqa: PERF401
    return concat(state.budget, parts)


def _apply(state: State, node: Node) -> Value:
    arguments = []
    for part in node[2]:
        arguments.append(EXPRESSIONS[part[0]](state, part))  # noqa: PERF401
    tally = state.tally
    if tally is None:
        return state.apply(state.callables[node[1]], arguments)
    ref = node[1]
    before = state.budget.steps
    state.tally = None  # what the function calls itself adds to its steps alone
    tally.begin_call(ref)
    try:
        value = state.apply(state.callables[ref], arguments)
    except ToubaFailure as failure:
        tally.end_call(ref, state.budget.steps - before, failure.code)
        raise
    tally.end_call(ref, state.budget.steps - before)
    state.tally = tally
    return value


def _operation(name: str) -> Handler:
    """The handler of an operation: one for each number of operands, since they are most of all nodes."""
    function = FUNCTIONS[name]
    places = len(OPERATIONS[name].takes)

    def one(state: State, node: Node) -> Value:
        first = node[1]
        return function(state.budget, EXPRESSIONS[first[0]](state, first))

    def two(state: State, node: Node) -> Value:
        _, first, second = node
        return function(state.budget, EXPRESSIONS[first[0]](state, first), EXPRESSIONS[second[0]](state, second))

    def three(state: State, node: Node) -> Value:
        _, first, second, third = node
        return function(
            state.budget,
            EXPRESSIONS[first[0]](state, first),
            EXPRESSIONS[second[0]](state, second),
            EXPRESSIONS[third[0]](state, third),
        )

    return (one, two, three)[places - 1]


#: expression → its handler
EXPRESSIONS: dict[str, Handler] = {
    "int": _int,
    "text": _written,
    "bool": _written,
    "dec": _literal,
    "float": _literal,
    "date": _literal,
    "datetime": _literal,
    "duration": _literal,
    "nothing": _nothing,
    "absent": _absent,
    "slot": _slot,
    "field": _field,
    "payload": _payload,
    "variant": _variant,
    "ordinal": _ordinal,
    "present": _present,
    "some": _some,
    "open": _open,
    "widen": _widen,
    "constrain": _constrain,
    "record": _record,
    "make": _make,
    "with": _with,
    "list": _list,
    "map": _map,
    "collect": _collect,
    "sorted_by": _sorted_by,
    "and": _and,
    "or": _or,
    "not": _not,
    "if": _if,
    "otherwise": _otherwise,
    "chain": _chain,
    "concat": _concat,
    "apply": _apply,
}
for _name in OPERATIONS:
    EXPRESSIONS[_name] = _operation(_name)
