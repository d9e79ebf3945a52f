"""The verifier's second part: every expression has a type, and everything that it names is there.

Types are base types throughout and fit only where they are equal: the compiler writes widening (`widen`) and wrapping
(`some`) out.
"""

from __future__ import annotations

from ..limits import JSON_DEPTH
from .literals import LITERALS, literal_type
from .operations import OPERATIONS, ROUNDING_MODES
from .places import fault, shown, take_array, take_text, take_whole, unknown
from .types import freeze, show, thaw

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    from .operations import Operation
    from .places import Place
    from .types import TypeForm
    from .verify_types import Types

    Node: TypeAlias = list[Any]


class Signature:
    """Base types of what a callable takes and gives; ``kind`` is that of its reference.

    ``callers`` are the references of those that may call it; None where nothing narrows them. ``guards`` has the
    declared types of inputs with constraints, by name; ``gives_guard`` is that of the result.
    """

    __slots__ = ("callers", "gives", "gives_guard", "guards", "kind", "names", "takes")

    def __init__(
        self,
        kind: str,
        names: list[str],
        takes: list[TypeForm],
        gives: TypeForm,
        callers: list[str] | None = None,
        guards: dict[str, TypeForm] | None = None,
        gives_guard: TypeForm | None = None,
    ):
        self.kind = kind
        self.callers = callers
        self.names = names
        self.takes = takes
        self.gives = gives
        self.guards = guards or {}
        self.gives_guard = gives_guard


class Expressions:
    """Finds the types of expressions in one callable.

    Parameters:
        types: the declared types.
        signatures: of all callables, by reference.
        slots: base types of the callable's slots.
        counters: slots that only `each` may change.
        marks: slots that only `mark` may change.

    ``assigned`` says which slots have a value where the expression stands: bit N for slot N.
    """

    __slots__ = ("_depth", "assigned", "counters", "marks", "signatures", "slots", "types")

    def __init__(
        self,
        types: Types,
        signatures: dict[str, Signature],
        slots: list[TypeForm],
        counters: frozenset[int] = frozenset(),
        marks: frozenset[int] = frozenset(),
    ):
        self.types = types
        self.signatures = signatures
        self.slots = slots
        self.counters = counters
        self.marks = marks
        self.assigned = 0
        self._depth = 0

    def type_of(self, node: Any, place: Place) -> TypeForm:
        """The type of an expression. Raises ToubaFailure (AirInvalid) at its first fault."""
        if not isinstance(node, list) or not node or not isinstance(node[0], str):
            raise fault(place, "an expression is an array that begins with its name")
        name = node[0]
        if self._depth >= JSON_DEPTH:
            raise fault(place, f"expressions are nested deeper than {JSON_DEPTH} levels")
        self._depth += 1
        try:
            if name in LITERALS:
                return literal_type(node, place)
            rule = _RULES.get(name)
            if rule is not None:
                size, find = rule
                if size:
                    take_array(node, place, size)
                return find(self, node, place)
            operation = OPERATIONS.get(name)
            if operation is None:
                raise fault(place, unknown("expression", name, (*LITERALS, *_RULES, *OPERATIONS)))
            return self._operation(operation, node, place)
        finally:
            self._depth -= 1

    def expect(self, node: Any, place: Place, form: TypeForm) -> None:
        """Refuse an expression of any other type."""
        found = self.type_of(node, place)
        if found != form:
            raise fault(place, f"{written(form)} was expected, not {written(found)}")

    def enter(self, node: Any, place: Place, form: TypeForm, guard: TypeForm | None) -> None:
        """Refuse an expression of any other type, and one that enters a place with constraints without their check."""
        self.expect(node, place, form)
        if guard is not None and node[0] != "absent" and (node[0] != "constrain" or freeze(node[1]) != guard):
            raise fault(
                place, f"a value enters a place with constraints: `constrain` with the type {thaw(guard)} was expected"
            )

    def enter_all(self, nodes: Any, place: Place, forms: dict[str, TypeForm], guards: dict[str, TypeForm]) -> None:
        """Refuse an array that does not hold one expression for each field or input, as `enter` does."""
        take_array(nodes, place, len(forms))
        for position, (name, form) in enumerate(forms.items()):
            self.enter(nodes[position], (place, position), form, guards.get(name))

    def expect_all(self, nodes: Any, place: Place, forms: list[TypeForm]) -> None:
        """Refuse an array that does not hold one expression for each type."""
        take_array(nodes, place, len(forms))
        for position, form in enumerate(forms):
            self.expect(nodes[position], (place, position), form)

    def enter_inputs(self, nodes: Any, place: Place, signature: Signature) -> None:
        """Refuse an array that does not hold the arguments of a callable."""
        self.enter_all(nodes, place, dict(zip(signature.names, signature.takes, strict=True)), signature.guards)

    def slot(self, value: Any, place: Place) -> int:
        """The number of a slot that exists."""
        take_whole(value, place)
        if value >= len(self.slots):
            raise fault(place, f"there is no slot {value}")
        return value  # type: ignore[no-any-return]

    def readable_slot(self, value: Any, place: Place) -> int:
        """The number of a slot that has a value here."""
        number = self.slot(value, place)
        if not self.assigned >> number & 1:
            raise fault(place, f"slot {number} is read where it may not be set")
        return number

    def writable_slot(self, value: Any, place: Place, form: TypeForm) -> int:
        """The number of a slot that takes a value of a type."""
        number = self.slot(value, place)
        if number in self.marks:
            raise fault(place, f"slot {number} is a mark")
        if number in self.counters:
            raise fault(place, f"slot {number} is the index of an `each`")
        if self.slots[number] != form:
            raise fault(place, f"slot {number} holds {written(self.slots[number])}, not {written(form)}")
        return number

    # --- operations -------------------------------------------------------------------------------------------------

    def _operation(self, operation: Operation, node: Node, place: Place) -> TypeForm:
        take_array(node, place, len(operation.takes) + 1)
        given = [self.type_of(node[at], (place, at)) for at in range(1, len(node))]
        if operation.name == "round.mode" and (node[3][0] != "text" or node[3][1] not in ROUNDING_MODES):
            raise fault((place, 3), "a rounding mode is a literal: one of " + ", ".join(ROUNDING_MODES))
        return self._apply(operation, given, place)

    def _apply(self, operation: Operation, given: list[TypeForm], place: Place) -> TypeForm:
        meanings: dict[str, TypeForm] = {}
        for pattern, form in zip(operation.takes, given, strict=True):
            if not self._matches(pattern, form, meanings):
                found = ", ".join(map(written, given))
                raise fault(place, f"`{operation.name}` does not take {found}")
        return _filled(operation.gives, meanings)

    def _matches(self, pattern: TypeForm, form: TypeForm, meanings: dict[str, TypeForm]) -> bool:
        while not isinstance(pattern, str):
            if isinstance(form, str) or form[0] != pattern[0]:
                return False
            pattern = pattern[1]
            form = form[1]
        if pattern in _VARIABLES:
            return meanings.setdefault(pattern, form) == form
        if pattern == "choice":
            return self.types.is_plain_choice(form)
        return form == pattern

    def _chain(self, node: Node, place: Place) -> TypeForm:
        if len(node) < 4 or len(node) % 2:
            raise fault(place, "a chain is an expression, then pairs of an operation and an expression")
        found = self.type_of(node[1], (place, 1))
        for at in range(2, len(node), 2):
            name = take_text(node[at], (place, at))
            operation = OPERATIONS.get(name)
            if operation is None or operation.form != "infix":
                raise fault((place, at), f"`{shown(name)}` is not an operation with two places")
            right = self.type_of(node[at + 1], (place, at + 1))
            found = self._apply(operation, [found, right], (place, at))
        return found

    # --- slots, records, choices, Optionals ---------------------------------------------------------------------------

    def _slot(self, node: Node, place: Place) -> TypeForm:
        return self.slots[self.readable_slot(node[1], (place, 1))]

    def _absent(self, node: Node, place: Place) -> TypeForm:
        return ("Optional", self.types.take_base(node[1], (place, 1)))

    def _field(self, node: Node, place: Place) -> TypeForm:
        return self._field_type(self.type_of(node[1], (place, 1)), node[2], (place, 2))

    def _field_type(self, form: TypeForm, name: Any, place: Place) -> TypeForm:
        fields = self.types.fields(form)
        if fields is None:
            raise fault(place, f"{written(form)} has no fields")
        return _named(fields, name, "field", place)

    def _payload(self, node: Node, place: Place) -> TypeForm:
        fields = self._variant_fields(self.type_of(node[1], (place, 1)), node[2], (place, 2))
        return _named(fields, node[3], "field", (place, 3))

    def _variant(self, node: Node, place: Place) -> TypeForm:
        self._variant_fields(self.type_of(node[1], (place, 1)), node[2], (place, 2))
        return "Bool"

    def _variant_fields(self, form: TypeForm, name: Any, place: Place) -> dict[str, TypeForm]:
        variants = self.types.variants(form)
        if variants is None:
            raise fault(place, f"{written(form)} is not a choice")
        fields = self.types.payload(form, take_text(name, place))
        if fields is None:
            raise fault(place, unknown("variant", name, variants))
        return fields

    def _ordinal(self, node: Node, place: Place) -> TypeForm:
        form = self.type_of(node[1], (place, 1))
        if not self.types.is_plain_choice(form):
            raise fault(place, f"a choice without payload was expected, not {written(form)}")
        return "Int"

    def _present(self, node: Node, place: Place) -> TypeForm:
        self._opened(node, place)
        return "Bool"

    def _opened(self, node: Node, place: Place) -> TypeForm:
        form = self.type_of(node[1], (place, 1))
        if isinstance(form, str) or form[0] != "Optional":
            raise fault((place, 1), f"an Optional was expected, not {written(form)}")
        return form[1]  # type: ignore[no-any-return]

    def _some(self, node: Node, place: Place) -> TypeForm:
        return ("Optional", self.type_of(node[1], (place, 1)))

    def _otherwise(self, node: Node, place: Place) -> TypeForm:
        form = self._opened(node, place)
        self.expect(node[2], (place, 2), form)
        return form

    def _widen(self, node: Node, place: Place) -> TypeForm:
        self.expect(node[1], (place, 1), "Int")
        return "Decimal"

    def _constrain(self, node: Node, place: Place) -> TypeForm:
        form = self.types.base(self.types.take_declared(node[1], (place, 1)))
        take_text(node[2], (place, 2))
        self.expect(node[3], (place, 3), form)
        return form

    def _record(self, node: Node, place: Place) -> TypeForm:
        ref = take_text(node[1], (place, 1))
        fields = self.types.fields(ref)
        if fields is None:
            raise fault((place, 1), f"`{shown(ref)}` is not a record")
        self.enter_all(node[2], (place, 2), fields, self.types.guards(ref))
        return ref

    def _make(self, node: Node, place: Place) -> TypeForm:
        form: TypeForm = node[1] if isinstance(node[1], str) else self.types.take_base(node[1], (place, 1))
        if self.types.variants(form) is None:
            name = f"`{shown(form)}`" if isinstance(form, str) else written(form)
            raise fault((place, 1), f"{name} is not a choice")
        fields = self._variant_fields(form, node[2], (place, 2))
        self.enter_all(node[3], (place, 3), fields, self.types.guards(form, node[2]))
        return form

    def _with(self, node: Node, place: Place) -> TypeForm:
        form = self.type_of(node[1], (place, 1))
        here: Place = (place, 2)
        seen: set[str] = set()
        for position, change in enumerate(take_array(node[2], here)):
            take_array(change, (here, position), 2)
            field = self._field_type(form, change[0], ((here, position), 0))
            if change[0] in seen:
                raise fault((here, position), f"the field `{shown(change[0])}` is changed twice")
            seen.add(change[0])
            self.enter(change[1], ((here, position), 1), field, self.types.guards(form).get(change[0]))
        if not seen:
            raise fault(here, "no field is changed")
        return form

    # --- lists and maps -----------------------------------------------------------------------------------------------

    def _list(self, node: Node, place: Place) -> TypeForm:
        form = self.types.take_base(node[1], (place, 1))
        for position, part in enumerate(take_array(node[2], (place, 2))):
            self.expect(part, ((place, 2), position), form)
        return ("List", form)

    def _map(self, node: Node, place: Place) -> TypeForm:
        form = self.types.take_base(node[1], (place, 1))
        for position, entry in enumerate(take_array(node[2], (place, 2))):
            self.expect_all(entry, ((place, 2), position), ["Text", form])
        return ("Map", form)

    def _collect(self, node: Node, place: Place) -> TypeForm:
        items = self._list_of(node[2], (place, 2))
        slot = self.writable_slot(node[1], (place, 1), items)
        before = self.assigned
        self.assigned = before | 1 << slot
        if node[3] is not None:
            self.expect(node[3], (place, 3), "Bool")
        found = self.type_of(node[4], (place, 4))
        self.assigned = before
        return ("List", found)

    def _list_of(self, node: Any, place: Place) -> TypeForm:
        """The type of a list's elements."""
        form = self.type_of(node, place)
        if isinstance(form, str) or form[0] != "List":
            raise fault(place, f"a List was expected, not {written(form)}")
        return form[1]  # type: ignore[no-any-return]

    def _sorted_by(self, node: Node, place: Place) -> TypeForm:
        items = self._list_of(node[1], (place, 1))
        form = items
        here: Place = (place, 2)
        if not take_array(node[2], here):
            raise fault(here, "a sort needs a field")
        for position, name in enumerate(node[2]):
            form = self._field_type(form, name, (here, position))
        if not self.types.is_ordered(form):
            raise fault(here, f"{written(form)} has no order")
        if not isinstance(node[3], bool):
            raise fault((place, 3), "true or false was expected")
        return ("List", items)

    # --- logic, text, functions ---------------------------------------------------------------------------------------

    def _line(self, node: Node, place: Place) -> TypeForm:
        least, form = _LINES[node[0]]
        if len(node) <= least:
            raise fault(place, f"`{node[0]}` has at least {least} operands")
        for at in range(1, len(node)):
            self.expect(node[at], (place, at), form)
        return form

    def _not(self, node: Node, place: Place) -> TypeForm:
        self.expect(node[1], (place, 1), "Bool")
        return "Bool"

    def _if(self, node: Node, place: Place) -> TypeForm:
        self.expect(node[1], (place, 1), "Bool")
        form = self.type_of(node[2], (place, 2))
        self.expect(node[3], (place, 3), form)
        return form

    def _function(self, node: Node, place: Place) -> TypeForm:
        ref = take_text(node[1], (place, 1))
        signature = self.signatures.get(ref)
        if signature is None or signature.kind != "function":
            raise fault((place, 1), f"`{shown(ref)}` is not a function of the program")
        self.enter_inputs(node[2], (place, 2), signature)
        return signature.gives


_VARIABLES = ("T", "E")

#: expressions with any number of operands of one type: how many they have at least, and the type
_LINES: dict[str, tuple[int, TypeForm]] = {"and": (2, "Bool"), "or": (2, "Bool"), "concat": (1, "Text")}


def written(form: TypeForm) -> str:
    """A type as it stands in messages; types that are nested very deep are not spelled out."""
    inner = form
    for _ in range(20):
        if isinstance(inner, str):
            return show(form)
        inner = inner[1]
    return "a type that is nested very deep"


def _filled(pattern: TypeForm, meanings: dict[str, TypeForm]) -> TypeForm:
    if isinstance(pattern, str):
        return meanings.get(pattern, pattern)
    return (pattern[0], _filled(pattern[1], meanings))


def _named(fields: dict[str, TypeForm], name: Any, what: str, place: Place) -> TypeForm:
    found = fields.get(take_text(name, place))
    if found is None:
        raise fault(place, unknown(what, name, fields))
    return found


#: expression → members of its array (0: any number) and what finds its type
_RULES: dict[str, tuple[int, Callable[[Expressions, Node, Place], TypeForm]]] = {
    "slot": (2, Expressions._slot),
    "absent": (2, Expressions._absent),
    "field": (3, Expressions._field),
    "payload": (4, Expressions._payload),
    "variant": (3, Expressions._variant),
    "ordinal": (2, Expressions._ordinal),
    "present": (2, Expressions._present),
    "some": (2, Expressions._some),
    "open": (2, Expressions._opened),
    "widen": (2, Expressions._widen),
    "constrain": (4, Expressions._constrain),
    "record": (3, Expressions._record),
    "make": (4, Expressions._make),
    "with": (3, Expressions._with),
    "list": (3, Expressions._list),
    "map": (3, Expressions._map),
    "collect": (5, Expressions._collect),
    "sorted_by": (4, Expressions._sorted_by),
    "and": (0, Expressions._line),
    "or": (0, Expressions._line),
    "not": (2, Expressions._not),
    "if": (4, Expressions._if),
    "otherwise": (3, Expressions._otherwise),
    "chain": (0, Expressions._chain),
    "concat": (0, Expressions._line),
    "apply": (3, Expressions._function),
}
