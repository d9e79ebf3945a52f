"""Declared types: their forms, fields, variants and constraints, and whether they have finite values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..air.types import BUILT_IN_TYPES, GENERIC_TYPES, PLAIN_TYPES, PROBLEM, freeze, thaw
from ..limits import LEFT_OUT_FIELDS, TYPE_DEPTH, TYPE_MEMBERS
from . import tree
from .circles import circles
from .constraints import constraint_forms
from .diagnostics import Problems, Related
from .forms import UNKNOWN, inner, is_optional
from .names import Declared, Program, Unit, report_duplicates
from .records import dataclass

if TYPE_CHECKING:
    from ..air.types import TypeForm


@dataclass(frozen=True, slots=True)
class FieldType:
    """A field, a payload field or an input: the type as declared (with constraints) and its base."""

    name: str
    declared: TypeForm
    base: TypeForm


class Types:
    """All types of a program."""

    def __init__(self, program: Program, problems: Problems):
        self.program = program
        self.problems = problems
        #: AIR's `types`
        self.document: dict[str, dict[str, Any]] = {}
        #: references of records → fields, of choices → variants → fields
        self.records: dict[str, list[FieldType]] = {
            PROBLEM: [
                FieldType(each["name"], freeze(each["type"]), freeze(each["type"]))
                for each in BUILT_IN_TYPES[PROBLEM]["fields"]
            ]
        }
        self.choices: dict[str, dict[str, list[FieldType]]] = {}
        #: reference → declaration, of all types
        self.declared: dict[str, Declared] = {
            each.ref: each for unit in program.units for each in unit.declared.values() if each.is_type
        }
        self._aliases: dict[str, tuple[TypeForm, TypeForm, int]] = {}
        #: id of a list of fields → the list, and its fields by name
        self._by_name: dict[int, tuple[Sequence[FieldType], dict[str, FieldType]]] = {}
        self._left_out = 0
        #: module → variant → the choices that have it
        self._owners: dict[str, dict[str, list[Declared]]] = {}
        #: the patterns of `matching` → states of their automatons
        self._patterns: dict[str, int] = {}
        self._resolve()

    # --- what later passes ask --------------------------------------------------------------------------------------

    def form(self, unit: Unit, node: tree.Type) -> TypeForm:
        """The form of a written type, with its constraints; `UNKNOWN` where it is wrong, which is reported."""
        form = self._form(unit, node, 0)
        if self._depth(form) > TYPE_DEPTH:
            self.problems.add(
                "TB9006", f"the type is nested deeper than {TYPE_DEPTH} levels", unit.source, node.span,
                "declare a record for a part of it",
            )  # fmt: skip
            return UNKNOWN
        return form

    def base(self, form: TypeForm) -> TypeForm:
        """The form without constraints and aliases, all the way down."""
        if isinstance(form, str):
            alias = self._aliases.get(form)
            return alias[1] if alias is not None else form
        if form[0] == "is":
            return self.base(form[1])
        return (form[0], self.base(form[1]))

    def by_name(self, fields: Sequence[FieldType]) -> dict[str, FieldType]:
        """Fields by their names. They are looked for in every expression that names one, and listed once."""
        found = self._by_name.get(id(fields))
        if found is None:
            found = self._by_name[id(fields)] = (fields, {each.name: each for each in fields})
        return found[1]

    def owners(self, unit: Unit, variant: str) -> list[Declared]:
        """The choices that a module can name and that have a variant."""
        found = self._owners.get(unit.name)
        if found is None:
            found = self._owners[unit.name] = {}
            for each in unit.visible():
                for name in self.choices.get(each.ref, ()):
                    found.setdefault(name, []).append(each)
        return found.get(variant, [])

    def leave_out(self, fields: int) -> bool:
        """Count fields that are left out of a record or variant; whether the program may leave out so many."""
        self._left_out += fields
        return self._left_out <= LEFT_OUT_FIELDS

    def unfolded(self, form: TypeForm) -> TypeForm:
        """The form behind a name that is another name for it, with its constraints."""
        while isinstance(form, str) and form in self._aliases:
            form = self._aliases[form][0]
        return form

    def constrained(self, form: TypeForm) -> bool:
        """Whether values of the type have constraints to check, other than those inside records and choices."""
        while True:
            if isinstance(form, str):
                alias = self._aliases.get(form)
                if alias is None:
                    return False
                form = alias[0]
            elif form[0] == "is":
                return True
            else:
                form = form[1]

    def field(self, unit: Unit, node: tree.FieldDecl) -> FieldType:
        declared = self.form(unit, node.type)
        return FieldType(node.name.text, declared, self.base(declared))

    def variants(self, form: TypeForm) -> dict[str, list[FieldType]] | None:
        """The variants of a choice and their fields; None for any other type."""
        if isinstance(form, str):
            return self.choices.get(form)
        if form[0] != "Outcome":
            return None
        return {
            "Done": [FieldType("value", form[1], form[1])],
            "Failed": [FieldType("problem", PROBLEM, PROBLEM)],
        }

    def add_record(self, ref: str, fields: list[FieldType]) -> None:
        """Declare the record of a group's results, which the program does not name."""
        self.records[ref] = fields
        self.document[ref] = {
            "kind": "record", "fields": [{"name": each.name, "type": thaw(each.declared)} for each in fields]
        }  # fmt: skip

    def remove_record(self, ref: str) -> None:
        """Take back what `add_record` declared."""
        del self.records[ref]
        del self.document[ref]

    def is_plain_choice(self, form: TypeForm) -> bool:
        """Whether it is a choice none of whose variants has a payload: such choices have an order and a text."""
        variants = self.choices.get(form) if isinstance(form, str) else None
        return variants is not None and not any(variants.values())

    # --- from trees to forms ----------------------------------------------------------------------------------------

    def _form(self, unit: Unit, node: tree.Type, level: int) -> TypeForm:
        if level > 2 * TYPE_DEPTH:
            self.problems.add(
                "TB9006", f"the type is nested deeper than {TYPE_DEPTH} levels", unit.source, node.span,
                "declare a record for a part of it",
            )  # fmt: skip
            return UNKNOWN
        if isinstance(node, tree.UnknownType):
            return UNKNOWN
        if isinstance(node, tree.NamedType):
            return self._named(unit, node)
        of = self._form(unit, node.of, level + 1)
        if of == UNKNOWN:
            return UNKNOWN
        if isinstance(node, tree.GenericType):
            return (node.kind, of)
        return self._constrain(unit, node, of)

    def _named(self, unit: Unit, node: tree.NamedType) -> TypeForm:
        name = node.name.text
        if not node.path and unit.known(name) is None:
            if name in PLAIN_TYPES:
                return name
            if name == "Problem":
                return PROBLEM
            if name in GENERIC_TYPES:
                written = "Optional T" if name == "Optional" else f"{name} of T"
                self.problems.add(
                    "TB3007", f"`{name}` needs the type of what is inside", unit.source, node.name.span,
                    f"write `{written}`",
                )  # fmt: skip
                return UNKNOWN
        found = unit.find(node.path, node.name, "type")
        if found is None:
            return UNKNOWN
        if not found.is_type:
            self.problems.add(
                "TB3007", f"`{name}` is a {found.kind}, not a type", unit.source, node.name.span, "name a type",
                related=(found.related(unit),),
            )  # fmt: skip
            return UNKNOWN
        if found.kind == "alias" and found.ref in self._aliases and self._aliases[found.ref][0] == UNKNOWN:
            return UNKNOWN
        return found.ref

    def _constrain(self, unit: Unit, node: tree.ConstrainedType, of: TypeForm) -> TypeForm:
        wrappers = 0
        while is_optional(self._shallow(of)):
            of = inner(self._shallow(of))
            wrappers += 1
        constraints = constraint_forms(unit, node, self.base(of), self._patterns)
        form: TypeForm = ("is", of, constraints) if constraints else of
        for _ in range(wrappers):
            form = ("Optional", form)
        return form

    def _shallow(self, form: TypeForm) -> TypeForm:
        """The form behind aliases that are nothing but another name."""
        while isinstance(form, str) and form in self._aliases and is_optional(self._aliases[form][1]):
            form = self._aliases[form][0]
        return form

    def _depth(self, form: TypeForm) -> int:
        depth = 0
        while not isinstance(form, str):
            depth += 1
            form = form[1]
        alias = self._aliases.get(form)
        return depth + (alias[2] if alias is not None else 0)

    # --- declarations -----------------------------------------------------------------------------------------------

    def _declarations(self, kind: str) -> Iterator[Declared]:
        for unit in self.program.units:
            for declared in unit.declared.values():
                if declared.kind == kind:
                    yield declared

    def _resolve(self) -> None:
        self._resolve_aliases()
        for declared in self._declarations("record"):
            self._resolve_record(declared)
        for declared in self._declarations("choice"):
            self._resolve_choice(declared)
        self._report_infinite()

    def _resolve_aliases(self) -> None:
        """Aliases in the order of their uses, so that each finds those below it; circles are errors."""
        nodes = {each.ref: each for each in self._declarations("alias")}
        graph = {ref: [to for to in self._uses(each) if to in nodes] for ref, each in nodes.items()}
        for circle in circles(graph):
            first = nodes[circle[0]]
            shown = " → ".join(nodes[ref].name for ref in (*circle, circle[0]))
            self.problems.add(
                "TB4007", f"`{first.name}` is another name for itself: `{shown}`", first.unit.source,
                first.node.name.span, "declare a record where types contain each other",
            )  # fmt: skip
            for ref in circle:
                self._aliases[ref] = (UNKNOWN, UNKNOWN, 0)
        for root in graph:
            work = [root]
            while work:
                ref = work[-1]
                waiting = [to for to in graph[ref] if to not in self._aliases and to not in work]
                if ref in self._aliases or not waiting:
                    work.pop()
                    if ref not in self._aliases:
                        self._resolve_alias(nodes[ref])
                else:
                    work.append(waiting[0])

    def _resolve_alias(self, declared: Declared) -> None:
        node = declared.node
        assert isinstance(node, tree.AliasDecl)
        form = self.form(declared.unit, node.type)
        self._aliases[declared.ref] = (form, self.base(form), self._depth(form) + 1)
        self.document[declared.ref] = _documented({"kind": "alias", "of": thaw(form)}, node.doc)

    def _uses(self, declared: Declared) -> list[str]:
        """References of the aliases that a type is made of."""
        node = declared.node
        assert isinstance(node, tree.AliasDecl)
        part: tree.Type = node.type
        while isinstance(part, (tree.GenericType, tree.ConstrainedType)):
            part = part.of
        if isinstance(part, tree.UnknownType):
            return []
        found: Declared | None = None
        if not part.path:
            found = declared.unit.known(part.name.text)
        else:
            prefix = declared.unit.prefixes.get(".".join(word.text for word in part.path))
            if prefix is not None and prefix.unit is not None:
                found = prefix.unit.declared.get(part.name.text)
        return [found.ref] if found is not None else []

    def _resolve_record(self, declared: Declared) -> None:
        node = declared.node
        assert isinstance(node, tree.RecordDecl)
        fields = self._fields(declared.unit, node.fields, "field")
        self._check_members(declared, declared.unit, node.fields, "fields")
        self.records[declared.ref] = fields
        self.document[declared.ref] = _documented(
            {"kind": "record", "fields": [_field(each, form) for each, form in zip(node.fields, fields, strict=True)]},
            node.doc,
        )

    def _resolve_choice(self, declared: Declared) -> None:
        node = declared.node
        assert isinstance(node, tree.ChoiceDecl)
        unit = declared.unit
        report_duplicates(unit, (variant.name for variant in node.variants), "variant")
        self._check_members(declared, unit, node.variants, "variants")
        variants: dict[str, list[FieldType]] = {}
        document = []
        for variant in node.variants:
            fields = self._fields(unit, variant.fields, "field")
            self._check_members(declared, unit, variant.fields, "fields in a variant")
            for each in variant.fields:
                if "choice" in (each.name.text, each.wire):
                    self.problems.add(
                        "TB3002", "a variant's field cannot be called `choice`: that names the variant in JSON",
                        unit.source, each.name.span, "choose another name",
                    )  # fmt: skip
            variants[variant.name.text] = fields
            entry: dict[str, Any] = {
                "name": variant.name.text,
                "fields": [_field(each, form) for each, form in zip(variant.fields, fields, strict=True)],
            }
            document.append(_documented(entry, variant.doc))
        self.choices[declared.ref] = variants
        self.document[declared.ref] = _documented({"kind": "choice", "variants": document}, node.doc)

    def _check_members(self, declared: Declared, unit: Unit, nodes: Sequence[Any], what: str) -> None:
        if len(nodes) > TYPE_MEMBERS:
            self.problems.add(
                "TB9007", f"`{declared.name}` has more than {TYPE_MEMBERS:,} {what}", unit.source,
                nodes[TYPE_MEMBERS].name.span, "use a List or a Map, or records in records",
            )  # fmt: skip

    def _fields(self, unit: Unit, nodes: list[tree.FieldDecl], what: str) -> list[FieldType]:
        if not report_duplicates(unit, (node.name for node in nodes), what):
            seen: dict[str, tree.FieldDecl] = {}
            for node in nodes:
                first = seen.setdefault(node.wire if node.wire is not None else node.name.text, node)
                if first is not node:
                    self.problems.add(
                        "TB3002", f"two fields are called `{first.wire or first.name.text}` in JSON", unit.source,
                        node.name.span, "give it another wire name", related=(Related(first.name.span, "the first"),),
                    )  # fmt: skip
        for node in nodes:
            if node.wire == "":
                self.problems.add(
                    "TB3002",
                    "a name in JSON has a character at least",
                    unit.source,
                    node.name.span,
                    "write a name after `named`, or remove it",
                )
        return [self.field(unit, node) for node in nodes]

    # --- finite values ----------------------------------------------------------------------------------------------

    def _report_infinite(self) -> None:
        """Types whose every value would contain another value of the same type."""
        infinite = self._infinite()
        graph = {ref: [to for to in self._must_contain(ref) if to in infinite] for ref in sorted(infinite)}
        for circle in circles(graph):
            first = self.declared[circle[0]]
            shown = " → ".join(self.declared[ref].name for ref in (*circle, circle[0]))
            self.problems.add(
                "TB4007", f"a value of `{first.name}` would never end: `{shown}`", first.unit.source,
                first.node.name.span, "make a field on the way Optional or a List",
            )  # fmt: skip

    def _infinite(self) -> set[str]:
        finite: set[str] = set()
        names = [*self.records, *self.choices]
        needs = {ref: self._alternatives(ref) for ref in names}
        waiting: dict[str, list[str]] = {}
        for ref, ways in needs.items():
            for way in ways:
                for to in way:
                    waiting.setdefault(to, []).append(ref)
        fresh = [ref for ref in names if any(not way for way in needs[ref])]
        while fresh:
            ref = fresh.pop()
            if ref in finite:
                continue
            finite.add(ref)
            users = waiting.get(ref, ())
            fresh.extend(user for user in users if user not in finite and any(way <= finite for way in needs[user]))
        return set(names) - finite

    def _alternatives(self, ref: str) -> list[set[str]]:
        """For each way to make a value (a record has one, a choice its variants): the types it needs values of."""
        fields = self.records.get(ref)
        ways = [fields] if fields is not None else list(self.choices[ref].values())
        return [{to for each in way if (to := self._needs(each.declared)) is not None} for way in ways]

    def _must_contain(self, ref: str) -> list[str]:
        return sorted({to for way in self._alternatives(ref) for to in way})

    def _needs(self, form: TypeForm) -> str | None:
        """The record or choice that every value of a type contains."""
        needed = False
        while not isinstance(form, str) or form in self._aliases:
            if isinstance(form, str):
                form = self._aliases[form][0]
            elif form[0] == "is":
                needed = needed or any(each[0] == "length" and (each[1] or 0) > 0 for each in form[2])
                form = form[1]
            elif form[0] == "Optional" or not needed:
                return None
            else:
                needed = False
                form = form[1]
        return form if form in self.records or form in self.choices else None


def _field(node: tree.FieldDecl, form: FieldType) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": node.name.text, "type": thaw(form.declared)}
    if node.wire is not None:
        entry["wire"] = node.wire
    return _documented(entry, node.doc)


def _documented(entry: dict[str, Any], doc: str | None) -> dict[str, Any]:
    if doc is not None:
        entry["doc"] = doc
    return entry
