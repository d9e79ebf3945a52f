"""Expressions of AIR as Python: each rule does what the handler of the same name in `interpreter.py` does.

A rule gives a piece of source for the value and may add lines before it: for a check, a charge, a loop. Order is kept
by one rule: a piece that is no plain name is evaluated before any line that is added after it (`operands` sees to
that). `needs_lines` may say yes where a rule then adds none, never the other way round.

Python itself sets limits: 200 brackets inside each other, 20 loops, 100 indentations. So every eighth level of an
expression becomes a temporary, and what holds too many loops or nodes is `Refused`.
"""

from __future__ import annotations

from ..air.costs import element_cost, operands
from ..air.operations import OPERATIONS
from ..air.types import freeze
from ..values.literals import literal
from ..values.model import Meter, make_choice
from .generate_text import OPERATION_NAMES, Refused, is_name
from .generate_types import Types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    from ..air.types import TypeForm
    from ..values.check import TypeTable
    from .generate_text import Source

    Node: TypeAlias = list[Any]

#: expressions in one instruction, at most
MOST_NODES = 4_000
#: Python loops inside each other, at most: CPython allows 20 blocks
MOST_LOOPS = 15
#: levels of one Python expression
_LEVELS = 8

_INT_LOW = "-9223372036854775808"
_INT_HIGH = "9223372036854775807"

#: operations of two numbers, dates or the like that Python spells with one sign
_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_ARITHMETIC = {
    "add.int": "+", "sub.int": "-", "mul.int": "*", "add.float": "+", "sub.float": "-", "mul.float": "*",
}  # fmt: skip

#: for what neither charges nor has a size worth a check
_METER = Meter(0, 0)

_LITERALS = frozenset(("int", "dec", "float", "bool", "text", "date", "datetime", "duration"))
_ALWAYS_LINES = frozenset(
    (
        "chain", "collect", "constrain", "open", "otherwise", "payload", "index.list",
        "add.int", "sub.int", "mul.int", "neg.int", "abs.int", "div.int", "mod.int",
        "add.float", "sub.float", "mul.float",
    )
)  # fmt: skip


class Expressions:
    """Writes the expressions of one callable.

    Parameters:
        source: where lines go.
        table: the program's types.
        slots: types of the callable's slots.
        clobbered: slots that a `collect` of the callable changes.
        function_name: reference of a function → its name in the source.
        change: is told of every slot that a line has just changed.
        counts: whether calls of functions are counted.

    ``read`` are the slots that were named.
    """

    __slots__ = (
        "_change",
        "_clobbered",
        "_counts",
        "_function_name",
        "_into",
        "_known",
        "_source",
        "_table",
        "_types",
        "read",
    )

    def __init__(
        self,
        source: Source,
        table: TypeTable,
        slots: list[tuple[str, TypeForm]],
        clobbered: frozenset[int],
        function_name: Callable[[str], str],
        change: Callable[[int], None],
        counts: bool,
    ):
        self._counts = counts
        #: where the outermost sum of the instruction goes
        self._into: str | None = None
        self._source = source
        self._table = table
        self._types = Types(table, slots)
        self._clobbered = frozenset(f"s{slot:d}" for slot in clobbered)
        self._function_name = function_name
        self._change = change
        #: id of a node → whether it needs lines, and its height
        self._known: dict[int, tuple[bool, int]] = {}
        self.read: set[int] = set()

    # --- the two ways to write an expression --------------------------------------------------------------------------

    def value(self, node: Node) -> str:
        """A piece of source for the value, to be evaluated once, before anything else."""
        rule = RULES.get(node[0])
        text = rule(self, node) if rule is not None else self._operation(node)
        if self._know(node)[1] % _LEVELS == 0 and not is_name(text):
            return self._source.keep(text)
        return text

    def put(self, slot: int, node: Node, *, is_lost: bool) -> None:
        """Write an expression into a slot. ``is_lost``: after a failure nobody looks at the slot."""
        name = f"s{slot:d}"
        # Then a sum can go there before it is checked.
        self._into = name if is_lost and node[0] in _ARITHMETIC else None
        text = self.value(node)
        self._into = None
        if text != name:
            self._source.add(f"{name} = {text}")

    def name(self, node: Node) -> str:
        """As `value`, as a plain name that may be used again."""
        text = self.value(node)
        return text if is_name(text) else self._source.keep(text)

    def check_size(self, node: Node) -> None:
        """Refuse an expression that is too large, before anything of it is written."""
        count = 0
        waiting = [node]
        while waiting:
            found = waiting.pop()
            count += 1
            if count > MOST_NODES:
                raise Refused
            waiting.extend(parts(found))

    # --- what is known of an expression -------------------------------------------------------------------------------

    def needs_lines(self, node: Node) -> bool:
        return self._know(node)[0]

    def _know(self, node: Node) -> tuple[bool, int]:
        found = self._known.get(id(node))
        if found is None:
            needs = self._needs_own_lines(node)
            height = 0
            for part in parts(node):
                more, below = self._know(part)
                needs = needs or more
                height = max(height, below)
            height += 1
            found = self._known[id(node)] = (needs or height % _LEVELS == 0, height)
        return found

    def _needs_own_lines(self, node: Node) -> bool:
        name = node[0]
        if name in ("eq", "ne"):
            charge = self._types.equal_charge(node)
            return charge is not None and charge > 0
        if name in ("and", "or"):
            return len(node) > 20
        if name == "apply":
            return self._counts
        return name in _ALWAYS_LINES

    def _is_quiet(self, node: Node) -> bool:
        """Whether evaluating an expression can neither fail nor charge, so that lines may come before it."""
        name = node[0]
        if name == "slot" or name in _LITERALS:
            return True
        if name == "field" or name.startswith("length."):
            return self._is_quiet(node[1])
        if name == "mod.int":
            return self._is_quiet(node[1]) and bool(_whole(node[2]))
        return False

    # --- operands -----------------------------------------------------------------------------------------------------

    def operands(self, nodes: list[Node], *, lines_follow: bool = False) -> list[str]:
        """The pieces of several expressions, evaluated from left to right.

        Parameters:
            lines_follow: the rule itself adds lines after them.
        """
        last = -1
        for position, node in enumerate(nodes):
            if self.needs_lines(node):
                last = position
        texts = []
        for position, node in enumerate(nodes):
            text = self.value(node)
            is_early = position < last and (not is_name(text) or text in self._clobbered)
            if is_early or (lines_follow and not is_name(text) and not self._is_quiet(node)):
                text = self._source.keep(text)
            texts.append(text)
        return texts

    # --- literals and slots -------------------------------------------------------------------------------------------

    def _written(self, node: Node) -> str:
        if node[0] == "bool":
            return "True" if node[1] else "False"
        return self._source.constant(literal(node) if node[0] != "int" else int(node[1]))

    def _nothing(self, node: Node) -> str:
        return "None"

    def _absent(self, node: Node) -> str:
        return "ABSENT"

    def _slot(self, node: Node) -> str:
        self.read.add(node[1])
        return f"s{node[1]:d}"

    # --- parts of values ----------------------------------------------------------------------------------------------

    def _field(self, node: Node) -> str:
        return f"{self.value(node[1])}.fields[{self._source.constant(node[2])}]"

    def _payload(self, node: Node) -> str:
        choice = self.name(node[1])
        self._source.add(f"if {choice}.variant != {self._source.constant(node[2])}: raise wrong_variant()")
        return f"{choice}.fields[{self._source.constant(node[3])}]"

    def _variant(self, node: Node) -> str:
        return f"({self.value(node[1])}.variant == {self._source.constant(node[2])})"

    def _ordinal(self, node: Node) -> str:
        return f"{self._source.constant(self._table)}.ordinal({self.value(node[1])})"

    def _present(self, node: Node) -> str:
        return f"({self.value(node[1])} is not ABSENT)"

    def _some(self, node: Node) -> str:
        return f"make_present(m, {self.value(node[1])})"

    def _open(self, node: Node) -> str:
        found = self.name(node[1])
        self._source.add(f"if {found} is ABSENT: raise nothing_inside()")
        return f"{found}.value"

    def _widen(self, node: Node) -> str:
        return f"o_decimal_int(m, {self.value(node[1])})"

    def _constrain(self, node: Node) -> str:
        _, form, label, part = node
        found = self.name(part)
        constant = self._source.constant
        checked = f"{constant(freeze(form))}, {found}, {constant(label)}, m"
        self._source.add(f"{constant(self._table)}.constrain({checked})")
        return found

    # --- new values ---------------------------------------------------------------------------------------------------

    def _record(self, node: Node) -> str:
        _, ref, parts = node
        names = [field for field, _, _ in self._table.fields(ref)]
        return f"make_record(m, {self._source.constant(ref)}, {self._fields(names, parts)})"

    def _make(self, node: Node) -> str:
        _, ref, variant, parts = node
        if not parts:
            return self._source.constant(make_choice(_METER, ref, variant, {}))
        names = [field for field, _, _ in self._table.variants(ref)[variant]]
        constant = self._source.constant
        return f"make_choice(m, {constant(ref)}, {constant(variant)}, {self._fields(names, parts)})"

    def _fields(self, names: list[str], parts: list[Node]) -> str:
        texts = self.operands(parts)
        pairs = [f"{self._source.constant(name)}: {text}" for name, text in zip(names, texts, strict=True)]
        return "{" + ", ".join(pairs) + "}"

    def _with(self, node: Node) -> str:
        _, part, changes = node
        record, *texts = self.operands([part, *(change for _, change in changes)])
        pairs = [f"{self._source.constant(name)}: {text}" for (name, _), text in zip(changes, texts, strict=True)]
        return f"make_changed(m, {record}, {{{', '.join(pairs)}}})"

    def _list(self, node: Node) -> str:
        texts = self.operands(node[2])
        return f"make_list(m, ({''.join(text + ', ' for text in texts)}))"

    def _map(self, node: Node) -> str:
        texts = self.operands([part for entry in node[2] for part in entry])
        pairs = [f"{key}: {text}" for key, text in zip(texts[::2], texts[1::2], strict=True)]
        return f"make_map(m, {{{', '.join(pairs)}}})"

    def _collect(self, node: Node) -> str:
        return self.collected(node, self._source.keep(f"{self.value(node[2])}.items"))

    def collected(self, node: Node, found: str) -> str:
        """The List that a `collect` makes of the elements under a name."""
        _, slot, _, condition, part = node
        source = self._source
        if source.loops >= MOST_LOOPS:
            raise Refused
        items = source.keep("[]")
        size = source.keep("2")
        source.add(f"for s{slot:d} in {found}:")
        source.level += 1
        source.loops += 1
        self._change(slot)
        source.charge(element_cost(node))
        if condition is not None:
            source.add(f"if not {self.value(condition)}: continue")
        value = self.name(part)
        form = self._types.of(part)
        is_plain = form in ("Int", "Bool", "Text")
        own_size = {"Int": "21", "Bool": "6"}.get(form) if isinstance(form, str) else None
        source.add(f"{size} += {own_size}" if own_size else f"{size} += size_of({value}) + 1")
        source.add(f"if {size} > m.max_value_bytes: m.check_size({size})")
        source.add(f"{items}.append({value})")
        source.level -= 1
        source.loops -= 1
        if is_plain:
            return f"ListValue(tuple({items}), {size}, 1)"
        return f"make_list(m, tuple({items}))"

    def _sorted_by(self, node: Node) -> str:
        _, part, path, descending = node
        constant = self._source.constant
        order = "True" if descending else "False"
        return f"sort_by(m, {self.value(part)}, {constant(path)}, {order}, {constant(self._table)})"

    # --- choosing -----------------------------------------------------------------------------------------------------

    def _line(self, node: Node) -> str:
        """`and` and `or`: both Python's own, because a Bool is never anything else than True or False."""
        if not any(map(self.needs_lines, node[2:])) and len(node) <= 20:
            return "(" + f" {node[0]} ".join([self.value(part) for part in node[1:]]) + ")"
        source = self._source
        found = source.keep(self.value(node[1]))
        for part in node[2:]:
            source.add(f"if {found}:" if node[0] == "and" else f"if not {found}:")
            source.level += 1
            source.add(f"{found} = {self.value(part)}")
            source.level -= 1
        return found

    def _not(self, node: Node) -> str:
        return f"(not {self.value(node[1])})"

    def _if(self, node: Node) -> str:
        _, condition, one, other = node
        if not self.needs_lines(one) and not self.needs_lines(other):
            test = self.value(condition)
            return f"({self.value(one)} if {test} else {self.value(other)})"
        source = self._source
        found = source.temporary()
        source.add(f"if {self.value(condition)}:")
        self._branch(f"{found} = ", one)
        source.add("else:")
        self._branch(f"{found} = ", other)
        return found

    def _otherwise(self, node: Node) -> str:
        source = self._source
        looked_up = self._looked_up(node[1])
        if looked_up is not None:
            found = source.keep(looked_up)
            source.add(f"if {found} is ABSENT:")
            self._branch(f"{found} = ", node[2])
            return found
        found = source.keep(self.value(node[1]))
        source.add(f"if {found} is ABSENT:")
        self._branch(f"{found} = ", node[2])
        source.add(f"else: {found} = {found}.value")
        return found

    def _looked_up(self, node: Node) -> str | None:
        """What an Optional would hold, or `ABSENT`, where it need not be made."""
        if node[0] not in ("first", "last", "index.map") or not self._types.holds_small(node[1]):
            return None
        if node[0] == "index.map":
            found, name = self.operands(node[1:])
            return f"{found}.entries.get({name}, ABSENT)"
        found = self.name(node[1])
        return f"({found}.items[{'0' if node[0] == 'first' else '-1'}] if {found}.items else ABSENT)"

    def _branch(self, start: str, node: Node) -> None:
        self._source.level += 1
        self._source.add(start + self.value(node))
        self._source.level -= 1

    # --- operations and functions -------------------------------------------------------------------------------------

    def _operation(self, node: Node) -> str:
        if node[0] not in OPERATIONS:
            raise Refused
        if node[0] in ("eq", "ne"):
            return self._equal(node)
        into, self._into = self._into, None
        # Only a division looks at its second operand in a line of its own, before the first one is used.
        texts = self.operands(node[1:], lines_follow=node[0] in ("div.int", "mod.int"))
        self._into = into
        return self._operated(node[0], texts, node[1:])

    def _chain(self, node: Node) -> str:
        source = self._source
        text = self.value(node[1])
        for place in range(2, len(node), 2):
            if not is_name(text) or text in self._clobbered:
                text = source.keep(text)
            # What is in a temporary is no expression of the document any more.
            left = node[1] if place == 2 else None
            right = node[place + 1]
            text = self._operated(node[place], [text, self.value(right)], [left, right])
        return text

    def _equal(self, node: Node) -> str:
        charge = self._types.equal_charge(node)
        if charge is None:
            a, b = self.operands(node[1:])
            return f"{OPERATION_NAMES[node[0]]}(m, {a}, {b})"
        a, b = self.operands(node[1:], lines_follow=charge > 0)
        if charge:
            self._source.charge(charge)
        return f"({a} {'==' if node[0] == 'eq' else '!='} {b})"

    def _operated(self, name: str, texts: list[str], nodes: list[Any]) -> str:
        """An operation on pieces. ``nodes`` are the expressions that they come from, where there are any."""
        sign = _ARITHMETIC.get(name)
        if sign is not None:
            return self._arithmetic(sign, texts, nodes, is_float=name.endswith("float"))
        kind, _, suffix = name.partition(".")
        if kind in _COMPARISONS and suffix != "text":
            return f"({texts[0]} {_COMPARISONS[kind]} {texts[1]})"
        if kind == "length":
            return f"length({texts[0]}{_LENGTHS[suffix]})"
        special = _SPECIAL.get(name)
        if special is not None:
            return special(self, texts, nodes)
        return f"{OPERATION_NAMES[name]}(m, {', '.join(texts)})"

    def _arithmetic(self, sign: str, texts: list[str], nodes: list[Any], *, is_float: bool) -> str:
        """A sum, difference or product, within the bounds of its type or not at all."""
        result, self._into = self._into or self._source.temporary(), None
        self._source.add(f"{result} = {texts[0]} {sign} {texts[1]}")
        if is_float:
            # Infinite, or perhaps the negative zero: adding nothing refuses the one and mends the other.
            self._source.add(f"if {result} - {result} or not {result}: {result} = o_add_float(m, {result}, 0)")
            return result
        low = high = True
        right = _whole(nodes[1])
        left = _whole(nodes[0])
        if sign == "+":
            known = right if right is not None else left
            if known is not None:
                low, high = known < 0, known >= 0
        elif sign == "-" and right is not None:
            low, high = right >= 0, right < 0
        self._check_int(result, low, high)
        return result

    def _check_int(self, name: str, low: bool, high: bool) -> None:
        if low and high:
            test = f"not {_INT_LOW} <= {name} <= {_INT_HIGH}"
        else:
            test = f"{name} < {_INT_LOW}" if low else f"{name} > {_INT_HIGH}"
        self._source.add(f"if {test}: raise integer_overflow()")

    def _negated(self, texts: list[str], nodes: list[Any]) -> str:
        result = self._source.keep(f"-{texts[0]}")
        self._check_int(result, False, True)
        return result

    def _absolute(self, texts: list[str], nodes: list[Any]) -> str:
        found = texts[0] if is_name(texts[0]) else self._source.keep(texts[0])
        result = self._source.keep(f"{found} if {found} >= 0 else -{found}")
        self._check_int(result, False, True)
        return result

    def _divided(self, texts: list[str], nodes: list[Any], sign: str = "//") -> str:
        known = _whole(nodes[1])
        left, right = texts
        if not known:
            if not is_name(right):
                right = self._source.keep(right)
            self._source.add(f"if not {right}: raise division_by_zero()")
        if sign == "%" or (known is not None and known not in (0, -1)):
            return f"({left} {sign} {right})"
        result = self._source.keep(f"{left} // {right}")
        self._check_int(result, False, True)
        return result

    def _left_over(self, texts: list[str], nodes: list[Any]) -> str:
        return self._divided(texts, nodes, "%")

    def _indexed(self, texts: list[str], nodes: list[Any]) -> str:
        items = self._source.keep(f"{texts[0]}.items")
        position = texts[1] if is_name(texts[1]) else self._source.keep(texts[1])
        self._source.add(f"if not 0 <= {position} < length({items}): raise out_of_range(length({items}))")
        return f"{items}[{position}]"

    def _spelled(self, texts: list[str], nodes: list[Any]) -> str:
        return f"text_of({texts[0]})"

    def _concat(self, node: Node) -> str:
        return f"concat(m, [{', '.join(self.operands(node[1:]))}])"

    def _apply(self, node: Node) -> str:
        name = self._function_name(node[1])
        if not self._counts:
            return f"{name}({', '.join(['m', 'e', *self.operands(node[2])])})"
        arguments = self.operands(node[2], lines_follow=True)
        source = self._source
        counted = source.constant(node[1])
        source.add(f"r = U.open.get({counted}) or U.add({counted})")
        source.add("r.times += 1")
        source.add("r.open = True")
        source.add("r.before = m.left + m.reserve")
        result = source.keep(f"{name}({', '.join(['m', 'e', *arguments])})")
        source.add("r.steps += r.before - m.left - m.reserve")
        source.add("r.open = False")
        return result


_LENGTHS = {"text": "", "list": ".items", "map": ".entries"}

_SPECIAL: dict[str, Callable[[Expressions, list[str], list[Any]], str]] = {
    "neg.int": Expressions._negated,
    "abs.int": Expressions._absolute,
    "div.int": Expressions._divided,
    "mod.int": Expressions._left_over,
    "index.list": Expressions._indexed,
    "text.int": Expressions._spelled,
}


def parts(node: Node) -> list[Node]:
    """All expressions inside one, those that are evaluated for each element too."""
    if node[0] == "collect":
        return [part for part in node[2:] if part is not None]
    return operands(node)


def _whole(node: Node | None) -> int | None:
    """The number of an Int literal."""
    return int(node[1]) if node is not None and node[0] == "int" else None


#: expression → its rule; operations are in `_operation`
RULES: dict[str, Callable[[Expressions, Node], str]] = {
    **dict.fromkeys(_LITERALS, Expressions._written),
    "nothing": Expressions._nothing,
    "absent": Expressions._absent,
    "slot": Expressions._slot,
    "field": Expressions._field,
    "payload": Expressions._payload,
    "variant": Expressions._variant,
    "ordinal": Expressions._ordinal,
    "present": Expressions._present,
    "some": Expressions._some,
    "open": Expressions._open,
    "widen": Expressions._widen,
    "constrain": Expressions._constrain,
    "record": Expressions._record,
    "make": Expressions._make,
    "with": Expressions._with,
    "list": Expressions._list,
    "map": Expressions._map,
    "collect": Expressions._collect,
    "sorted_by": Expressions._sorted_by,
    "and": Expressions._line,
    "or": Expressions._line,
    "not": Expressions._not,
    "if": Expressions._if,
    "otherwise": Expressions._otherwise,
    "chain": Expressions._chain,
    "concat": Expressions._concat,
    "apply": Expressions._apply,
}
