"""The verifier's first part: type forms and declared types."""

from __future__ import annotations

from ..limits import ALL_PATTERN_STATES, TYPE_MEMBERS, VALUE_DEPTH
from .literals import literal_type
from .places import (
    DIGITS,
    SMALL,
    fault,
    is_word,
    shown,
    split_ref,
    take_array,
    take_map,
    take_object,
    take_text,
    take_whole,
    take_word,
    unknown,
)
from .types import (
    BUILT_IN_TYPES,
    GENERIC_TYPES,
    ORDERED_TYPES,
    PLAIN_TYPES,
    PROBLEM,
    base,
    constrained,
    freeze,
    show,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .places import Place
    from .types import TypeForm

_KINDS: dict[str, tuple[str, ...]] = {"record": ("fields",), "choice": ("variants",), "alias": ("of",)}
_BOUNDS = ("min", "max", "above", "below")
_LENGTHS = ("Text", "List", "Map")


class Types:
    """The declared types of a program, known to be sound, and what the rest of the verifier asks about them.

    Raises ToubaFailure (AirInvalid) for the first fault.
    """

    def __init__(self, declared: Any, place: Place, modules: frozenset[str]):
        self._modules = modules
        #: whether a type that was taken so far is an `Outcome`
        self.outcomes = False
        #: the patterns that were checked, and their states
        self._patterns: set[str] = set()
        self._pattern_states = 0
        #: reference → declaration, the built-in ones included
        self.declared: dict[str, dict[str, Any]] = {**BUILT_IN_TYPES, **take_map(declared, place)}
        #: reference of an alias → levels that its type is nested
        self._heights: dict[str, int] = {}
        for ref in declared:
            self._check_ref(ref, (place, ref))
        for ref, declaration in declared.items():
            self._check_declaration(declaration, (place, ref))
        for ref in declared:
            self._check_height(ref, (place, ref))
        for ref, declaration in declared.items():
            for form, here in _types_of(declaration, (place, ref)):
                self._check_nesting(form, here)
                self._check_constraints(form, here)
        #: reference of a record or variant (``REF`` or ``REF VARIANT``) → name and base type of its fields, in order
        self._fields: dict[tuple[str, str], dict[str, TypeForm]] = {}
        for ref, declaration in self.declared.items():
            for variant, fields in _field_lists(declaration):
                self._fields[ref, variant] = {each["name"]: self.base(freeze(each["type"])) for each in fields}
        #: the same → name and declared type of the fields that have constraints
        self._guarded: dict[tuple[str, str], dict[str, TypeForm]] = {}
        for ref, declaration in self.declared.items():
            for variant, fields in _field_lists(declaration):
                forms = ((each["name"], self.guard(freeze(each["type"]))) for each in fields)
                self._guarded[ref, variant] = {name: form for name, form in forms if form is not None}
        self._check_finite(place)
        #: reference of a choice → names of its variants
        self._variants: dict[TypeForm, list[str]] = {
            ref: [each["name"] for each in declaration["variants"]]
            for ref, declaration in self.declared.items()
            if declaration["kind"] == "choice"
        }
        #: references of the choices without payload
        self._plain_choices = {
            ref for ref, names in self._variants.items() if not any(self.payload(ref, name) for name in names)
        }

    # --- questions ----------------------------------------------------------------------------------------------------

    def base(self, form: TypeForm) -> TypeForm:
        """The type without constraints and aliases."""
        return base(form, self.declared)

    def fields(self, form: TypeForm) -> dict[str, TypeForm] | None:
        """Names and base types of the fields of a record or `Entry`; None for any other type."""
        if isinstance(form, str):
            return self._fields.get((form, ""))
        return {"key": "Text", "value": form[1]} if form[0] == "Entry" else None

    def guard(self, declared: TypeForm) -> TypeForm | None:
        """A declared type where values have to be checked when they enter a place that has it; None where not."""
        return declared if constrained(declared, self.declared) else None

    def guards(self, form: TypeForm, variant: str = "") -> dict[str, TypeForm]:
        """Names and declared types of the fields of a record or variant that have constraints."""
        return self._guarded.get((form, variant), {}) if isinstance(form, str) else {}

    def payload(self, form: TypeForm, variant: str) -> dict[str, TypeForm] | None:
        """Names and base types of the fields of a variant; None where there is no such variant."""
        if isinstance(form, str):
            return self._fields.get((form, variant)) if variant else None
        if form[0] != "Outcome":
            return None
        return {"Done": {"value": form[1]}, "Failed": {"problem": PROBLEM}}.get(variant)

    def variants(self, form: TypeForm) -> list[str] | None:
        """Names of the variants of a choice; None for any other type."""
        if not isinstance(form, str):
            return ["Done", "Failed"] if form[0] == "Outcome" else None
        return self._variants.get(form)

    def is_plain_choice(self, form: TypeForm) -> bool:
        """Whether it is a choice without payload."""
        return form in self._plain_choices

    def is_ordered(self, form: TypeForm) -> bool:
        return form in ORDERED_TYPES or self.is_plain_choice(form)

    # --- type forms ---------------------------------------------------------------------------------------------------

    def take_declared(self, value: Any, place: Place) -> TypeForm:
        """A type as signatures and fields have it, checked with its constraints."""
        form = self._take(value, place, False)
        self._check_nesting(value, place)
        self._check_constraints(value, place)
        return form

    def take_base(self, value: Any, place: Place) -> TypeForm:
        """A type as slots and expressions have it: without constraints and aliases."""
        return self._take(value, place, True)

    def _take(self, value: Any, place: Place, only_base: bool) -> TypeForm:
        form: Any = value
        inner: Place = place
        depth = 0
        while isinstance(form, list):
            depth += 1
            if depth > VALUE_DEPTH:
                raise fault(inner, f"a type is nested deeper than {VALUE_DEPTH} levels")
            head = form[0] if form else None
            if head == "is" and not only_base:
                take_array(form, inner, 3)
                if not take_array(form[2], (inner, 2)):
                    raise fault((inner, 2), "a constrained type needs a constraint")
            elif head in GENERIC_TYPES or head == "Entry":
                take_array(form, inner, 2)
                self.outcomes = self.outcomes or head == "Outcome"
            else:
                raise fault(inner, "this array is not a type here")
            form = form[1]
            inner = (inner, 1)
        if not isinstance(form, str):
            raise fault(inner, "a type is text or an array")
        if form not in PLAIN_TYPES:
            declaration = self.declared.get(form)
            if declaration is None:
                raise fault(inner, unknown("type", form, PLAIN_TYPES))
            if only_base and declaration["kind"] == "alias":
                raise fault(inner, f"`{shown(form)}` is an alias; the base type was expected")
        return freeze(value)

    def _check_nesting(self, form: Any, place: Place) -> None:
        depth = 0
        while not isinstance(form, str):
            form = form[1]
            depth += 1
        if depth + self._heights.get(form, 0) > VALUE_DEPTH:
            raise fault(place, f"a type is nested deeper than {VALUE_DEPTH} levels")

    def _check_constraints(self, value: Any, place: Place) -> None:
        while isinstance(value, list):
            if value[0] == "is":
                below = self.base(freeze(value[1]))
                for position, constraint in enumerate(value[2]):
                    self._check_constraint(constraint, below, ((place, 2), position))
            value = value[1]
            place = (place, 1)

    def _check_constraint(self, value: Any, below: TypeForm, place: Place) -> None:
        found = take_array(value, place)
        word = found[0] if found else None
        if word == "length":
            take_array(found, place, 3)
            bounds = [take_whole(found[at], (place, at)) for at in (1, 2) if found[at] is not None]
            if not bounds or (len(bounds) == 2 and bounds[0] > bounds[1]):
                raise fault(place, "a length has at least one bound, the low one first")
            if (below if isinstance(below, str) else below[0]) not in _LENGTHS:
                raise fault(place, f"`length` constrains Text, List and Map, not {show(below)}")
        elif word in _BOUNDS:
            take_array(found, place, 2)
            if below not in ORDERED_TYPES:
                raise fault(place, f"`{word}` constrains types with an order, not {show(below)}")
            given = literal_type(found[1], (place, 1))
            if given != below:
                raise fault((place, 1), f"{show(below)} was expected, not {show(given)}")
        elif word in ("matching", "format"):
            take_array(found, place, 2)
            if below != "Text":
                raise fault(place, f"`{word}` constrains Text, not {show(below)}")
            self._check_text_rule(word, take_text(found[1], (place, 1)), (place, 1))
        else:
            raise fault(place, "this is not a constraint")

    def _check_text_rule(self, word: str, text: str, place: Place) -> None:
        # Most programs have neither.
        from ..values.formats import FORMATS
        from ..values.patterns import PatternInvalid, check_pattern

        if word == "format":
            if text not in FORMATS:
                raise fault(place, unknown("format", text, FORMATS))
            return
        if text in self._patterns:
            return
        self._patterns.add(text)
        try:
            self._pattern_states += check_pattern(text)
        except PatternInvalid as refused:
            raise fault(place, f"{refused.message} (at character {refused.start})") from None
        if self._pattern_states > ALL_PATTERN_STATES:
            raise fault(place, f"the patterns of the program have more than {ALL_PATTERN_STATES} states")

    # --- declarations -------------------------------------------------------------------------------------------------

    def _check_ref(self, ref: str, place: Place) -> None:
        parts = split_ref(ref) or _split_record(ref)
        if parts is None or parts[0] != "type":
            raise fault(place, "a type reference is written `type:MODULE/NAME`")
        if ref in BUILT_IN_TYPES:
            raise fault(place, "a built-in type cannot be declared")
        if parts[1] not in self._modules:
            raise fault(place, f"the module `{shown(parts[1])}` is not among `modules`")

    def _check_declaration(self, value: Any, place: Place) -> None:
        """The shape of a declaration; what its types mean is looked at when the shapes of all are known."""
        kind = take_map(value, place).get("kind")
        members = _KINDS.get(kind) if isinstance(kind, str) else None
        if members is None:
            raise fault((place, "kind"), "a declared type is a `record`, a `choice` or an `alias`")
        take_object(value, place, ("kind", *members), ("doc",))
        if "doc" in value:
            take_text(value["doc"], (place, "doc"))
        if kind == "record":
            self._check_fields(value["fields"], (place, "fields"), "")
        elif kind == "choice":
            self._check_variants(value["variants"], (place, "variants"))
        else:
            self._take(value["of"], (place, "of"), False)

    def _check_variants(self, value: Any, place: Place) -> None:
        names: set[str] = set()
        if len(take_array(value, place)) > TYPE_MEMBERS:
            raise fault(place, f"there are more than {TYPE_MEMBERS} variants")
        for position, variant in enumerate(value):
            here = (place, position)
            take_object(variant, here, ("name", "fields"), ("doc",))
            name = take_word(variant["name"], (here, "name"))
            if name in names:
                raise fault((here, "name"), f"the variant `{shown(name)}` stands twice")
            names.add(name)
            if "doc" in variant:
                take_text(variant["doc"], (here, "doc"))
            self._check_fields(variant["fields"], (here, "fields"), "choice")
        if not names:
            raise fault(place, "a choice needs a variant")

    def _check_fields(self, value: Any, place: Place, taken: str) -> None:
        names: set[str] = set()
        wires = {"", taken}
        if len(take_array(value, place)) > TYPE_MEMBERS:
            raise fault(place, f"there are more than {TYPE_MEMBERS} fields")
        for position, field in enumerate(value):
            here = (place, position)
            take_object(field, here, ("name", "type"), ("wire", "doc"))
            name = take_word(field["name"], (here, "name"))
            if name in names:
                raise fault((here, "name"), f"the field `{shown(name)}` stands twice")
            names.add(name)
            wire = take_text(field["wire"], (here, "wire")) if "wire" in field else name
            if wire in wires:
                raise fault(here, f"the wire name `{shown(wire)}` is taken" if wire else "a wire name is empty")
            wires.add(wire)
            if "doc" in field:
                take_text(field["doc"], (here, "doc"))
            self._take(field["type"], (here, "type"), False)

    def _check_height(self, ref: str, place: Place) -> None:
        """Alias chains end, and are not nested too deep: then `base` ends too."""
        chain: list[tuple[str, int]] = []
        waiting: set[str] = set()
        while ref not in self._heights and self.declared.get(ref, {}).get("kind") == "alias":
            if ref in waiting:
                raise fault(place, "aliases stand for each other in a circle")
            waiting.add(ref)
            form: Any = self.declared[ref]["of"]
            depth = 1
            while isinstance(form, list):
                form = form[1]
                depth += 1
            chain.append((ref, depth))
            ref = form
        height = self._heights.get(ref, 0)
        for alias, depth in reversed(chain):
            height += depth
            if height > VALUE_DEPTH:
                raise fault(place, f"a type is nested deeper than {VALUE_DEPTH} levels")
            self._heights[alias] = height

    def _check_finite(self, place: Place) -> None:
        """Every record and choice has a value that does not contain itself.

        A type is finite when all fields of the record, or of one variant, are of finite types; Lists, Maps and
        Optionals can be empty, so they are. Each set of fields is a rule that fires when the last type it waits for is
        finite.
        """
        missing: dict[tuple[str, str], set[str]] = {}
        users: dict[str, list[tuple[str, str]]] = {}
        finite: set[str] = set()
        ready: list[str] = []
        for rule, fields in self._fields.items():
            needed = {form for form in fields.values() if isinstance(form, str) and form not in PLAIN_TYPES}
            missing[rule] = needed
            for form in needed:
                users.setdefault(form, []).append(rule)
            if not needed:
                ready.append(rule[0])
        while ready:
            ref = ready.pop()
            if ref in finite:
                continue
            finite.add(ref)
            for rule in users.get(ref, ()):
                missing[rule].discard(ref)
                if not missing[rule]:
                    ready.append(rule[0])
        for ref, declaration in self.declared.items():
            if declaration["kind"] != "alias" and ref not in finite:
                raise fault((place, ref), "the type has no finite values")


def _split_record(ref: str) -> tuple[str, str, str] | None:
    """`split_ref` for the record of a group's results: `type:MODULE/CALLABLE/NAME`, with `.2` where it stands twice."""
    path, _, last = ref.rpartition("/")
    name, dot, count = last.partition(".")
    if is_word(name) and name[0] in SMALL and (not dot or (count and DIGITS.issuperset(count))):
        return split_ref(path)
    return None


def _field_lists(declaration: dict[str, Any]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The fields of a record under "", those of each variant under its name."""
    if declaration["kind"] == "record":
        yield "", declaration["fields"]
    elif declaration["kind"] == "choice":
        for variant in declaration["variants"]:
            yield variant["name"], variant["fields"]


def _types_of(declaration: dict[str, Any], place: Place) -> Iterator[tuple[Any, Place]]:
    """The types that a declaration names, as JSON, with their places."""
    if declaration["kind"] == "alias":
        yield declaration["of"], (place, "of")
    elif declaration["kind"] == "record":
        for at, field in enumerate(declaration["fields"]):
            yield field["type"], (((place, "fields"), at), "type")
    else:
        for number, variant in enumerate(declaration["variants"]):
            here: Place = (((place, "variants"), number), "fields")
            for at, field in enumerate(variant["fields"]):
                yield field["type"], ((here, at), "type")
