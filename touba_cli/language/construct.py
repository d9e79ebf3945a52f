"""Expressions, third part: what begins with a capital — records, variants, functions — and changed records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..air.types import PROBLEM, thaw
from ..limits import LEFT_OUT_FIELDS
from . import tree
from .body import Body, rule
from .diagnostics import Fix, Related
from .expressions import unknown_field, unknown_member
from .forms import UNKNOWN, inner, is_optional, opened, show
from .names import LISTED, Declared, a, listed
from .scope import Typed, unknown
from .signatures import Signature
from .types import FieldType

if TYPE_CHECKING:
    from ..air.types import TypeForm

# --- names that begin with a capital ----------------------------------------------------------------------------------


@rule(tree.Capital)
def _capital(body: Body, node: tree.Capital, hint: TypeForm | None) -> Typed:
    name = node.name.text
    wanted = opened(hint)
    if node.path and node.path[-1].text[:1].isupper():
        choice = _choice(body, node)
        return _ignored(body, node) if choice is None else _variant(body, node, choice)
    if not node.path:
        if wanted is not None and name in (body.types.variants(wanted) or ()):
            return _variant(body, node, wanted)
        if body.unit.known(name) is None and name not in body.unit.imported:
            if name == "Problem":
                return _record(body, node, PROBLEM)
            return _unknown_name(body, node, wanted)
    found = body.unit.find(node.path, node.name, "name")
    if found is None:
        return _ignored(body, node)
    if found.kind == "record":
        return _record(body, node, found.ref)
    if found.kind == "function":
        return _function(body, node, body.signatures.of(found))
    return _misused(body, node, found)


def _ignored(body: Body, node: tree.Capital) -> Typed:
    """Look at the arguments of something that was reported, so that what is wrong in them is reported too."""
    for argument in node.arguments or ():
        body.elaborate(argument.value, UNKNOWN)
    return unknown()


def _choice(body: Body, node: tree.Capital) -> str | None:
    """The choice that stands before the dot."""
    word = node.path[-1]
    found = body.unit.find(node.path[:-1], word, "type")
    if found is None:
        return None
    form = body.types.base(found.ref) if found.is_type else None
    if form == UNKNOWN:
        return None
    if not isinstance(form, str) or form not in body.types.choices:
        body.report(
            "TB3007", f"`{word.text}` is not a choice", word.span, "only a choice has variants",
            related=(found.related(body.unit),),
        )  # fmt: skip
        return None
    return form


def _unknown_name(body: Body, node: tree.Capital, wanted: TypeForm | None) -> Typed:
    """A name that nothing declares: perhaps a variant, misspelt or without its choice."""
    name = node.name.text
    if wanted == UNKNOWN:
        return _ignored(body, node)
    variants = list(body.types.variants(wanted) or ()) if wanted is not None else []
    unfit = node.arguments is None or body.problems.near(name, variants) is not None
    if (bound := body.scopes.look_up(name)) is not None:
        bound.used = True  # a value whose capital letter was reported where it is bound
        return _ignored(body, node)
    if variants and wanted is not None and unfit:
        unknown_variant(body, node.name, wanted)
        return _ignored(body, node)
    owners = body.types.owners(body.unit, name)
    if owners:
        spelled = f"{owners[0].name}.{name}"
        body.report(
            "TB4005", f"which choice `{name}` belongs to cannot be told here", node.name.span,
            f"write `{spelled}`" if len(owners) == 1 else "write the choice before it",
            candidates=tuple(f"{each.name}.{name}" for each in owners[:LISTED]),
            fix=Fix(node.name.span, spelled) if len(owners) == 1 else None,
        )  # fmt: skip
    else:
        body.unit.find([], node.name, "name")
    return _ignored(body, node)


def unknown_variant(body: Body, name: tree.Name, choice: TypeForm) -> str | None:
    """Report a variant that a choice does not have; the one that was probably meant."""
    return unknown_member(body, choice, name, list(body.types.variants(choice) or ()), "TB3009", "variant")


def _misused(body: Body, node: tree.Capital, found: Declared) -> Typed:
    name = node.name.text
    if found.kind in ("memory", "trigger"):
        body.report(
            "TB3007", f"`{name}` is a {found.kind}, not a value", node.name.span,
            "tools read and write memories" if found.kind == "memory" else "triggers start callables from outside",
            related=(found.related(body.unit),),
        )  # fmt: skip
    elif found.kind in ("tool", "skill", "strategy", "agent"):
        body.report(
            "TB3007", f"`{name}` is {a(found.kind)}: it may have effects, and no expression may", node.span,
            f"bind it on a line of its own: `let x = call {name}(…)`", related=(found.related(body.unit),),
        )  # fmt: skip
    elif found.kind == "choice":
        variants = list(body.types.choices[found.ref])
        body.report(
            "TB3007", f"`{name}` is a choice, not one of its variants", node.name.span,
            f"write `{name}.{variants[0]}`" if variants else "write a variant", candidates=tuple(variants[:LISTED]),
        )  # fmt: skip
    else:
        form = body.types.base(found.ref)
        label = f"write `{show(form)}(…)`" if form in body.types.records else "write the value itself"
        if form != UNKNOWN:
            body.report("TB3007", f"`{name}` is another name for `{show(form)}`", node.name.span, label)
    return _ignored(body, node)


# --- records and variants ---------------------------------------------------------------------------------------------


def _record(body: Body, node: tree.Capital, ref: str) -> Typed:
    name = show(ref)
    fields = body.types.records[ref]
    if node.arguments is None:
        body.report(
            "TB3007", f"`{name}` is a type", node.span, f"a record is made with its fields: `{_shape(name, fields)}`"
        )
        return unknown()
    codes = _field_values(body, node, node.arguments, fields, name, ref)
    return Typed(ref, ["record", ref, codes])


def _variant(body: Body, node: tree.Capital, choice: TypeForm) -> Typed:
    name = node.name.text
    fields = (body.types.variants(choice) or {}).get(name)
    if fields is None:
        unknown_variant(body, node.name, choice)
        _ignored(body, node)
        return Typed(choice, ["bool", False])
    if node.arguments is None and not all(is_optional(each.base) for each in fields):
        body.report("TB4003", f"`{name}` has a payload", node.span, f"write `{_shape(name, fields)}`")
        return Typed(choice, ["bool", False])
    if node.arguments is not None and not fields:
        body.report(
            "TB4003", f"`{name}` has no payload", node.span, f"write `{name}` alone",
            fix=None if node.arguments else Fix(tree.Span(node.name.span.end, node.span.end), ""),
        )  # fmt: skip
        _ignored(body, node)
        return Typed(choice, ["bool", False])
    codes = _field_values(body, node, node.arguments or [], fields, name, choice)
    return Typed(choice, ["make", thaw(choice), name, codes])


def _field_values(
    body: Body, node: tree.Capital, arguments: list[tree.Argument], fields: list[FieldType], name: str, form: TypeForm
) -> list[list[Any]]:
    """The values of all fields in the order of the declaration; an Optional field that is left out is absent."""
    given = _by_name(body, arguments, fields, name, form, "field")
    codes: list[list[Any]] = []
    missing = []
    if not body.types.leave_out(len(fields) - len(given)):
        body.report(
            "TB9008", f"the program leaves out more than {LEFT_OUT_FIELDS:,} Optional fields", node.span,
            "group fields that are seldom there in a record of their own",
        )  # fmt: skip
        return codes
    for each in fields:
        argument = given.get(each.name)
        if argument is not None:
            codes.append(body.place(argument.value, each.declared, each.name))
        elif is_optional(each.base):
            codes.append(["absent", thaw(inner(each.base))])
        else:
            missing.append(each)
            codes.append(["bool", False])
    unnamed = any(argument.name is None for argument in arguments)
    if missing and not unnamed and UNKNOWN not in (each.base for each in missing):
        names = [each.name for each in missing]
        body.report(
            "TB4003", f"`{name}` needs {listed([f'`{each}`' for each in names])}", node.span,
            "add " + listed([f"`{each}: …`" for each in names]), candidates=tuple(names[:LISTED]),
        )  # fmt: skip
    return codes


def _by_name(
    body: Body,
    arguments: list[tree.Argument],
    fields: Sequence[FieldType],
    name: str,
    form: TypeForm | None,
    what: str,
    *,
    some: bool = False,
) -> dict[str, tree.Argument]:
    """Named arguments by their names; those that are unnamed, unknown or twice there are reported and looked at.

    ``some``: not all of them are needed.
    """
    known = body.types.by_name(fields)
    given: dict[str, tree.Argument] = {}
    arguments = _named_with_colon(body, arguments, known, name, what)
    unnamed = [argument for argument in arguments if argument.name is None]
    if unnamed:
        body.report(
            "TB4003", f"the {what}s of `{name}` are given by name",
            tree.Span(unnamed[0].span.start, unnamed[-1].span.end), f"write `{_shape(name, fields)}`",
        )  # fmt: skip
    instead = None if some else _instead(arguments, fields)
    for argument in arguments:
        if argument.name is None:
            pass
        elif argument.name.text not in known:
            if form is not None:
                meant = unknown_field(body, form, argument.name, [each.name for each in fields], instead)
            else:
                meant = _unknown_input(body, argument.name, fields, name, instead)
            if meant is not None and all(each.name is None or each.name.text != meant for each in arguments):
                given.setdefault(meant, argument)  # under a misspelt name
                continue
        elif argument.name.text in given:
            first = given[argument.name.text]
            body.report(
                "TB3002", f"`{argument.name.text}` is given twice", argument.name.span, "remove it",
                related=(Related(first.span, "the first"),),
            )  # fmt: skip
        else:
            given[argument.name.text] = argument
            continue
        body.elaborate(argument.value, UNKNOWN)
    return given


def _instead(arguments: list[tree.Argument], fields: Sequence[FieldType]) -> str | None:
    """The one name that is missing where one unknown name is given: it stands for that, most probably."""
    names = {argument.name.text for argument in arguments if argument.name is not None}
    missing = [each.name for each in fields if each.name not in names and not is_optional(each.base)]
    strange = names - {each.name for each in fields}
    return missing[0] if len(missing) == len(strange) == 1 else None


def _named_with_colon(
    body: Body, arguments: list[tree.Argument], known: Mapping[str, FieldType], name: str, what: str
) -> list[tree.Argument]:
    """The arguments, where `amount is 3`, as payloads of triggers are written, is reported once and read as named."""
    read: list[tree.Argument] = []
    reported = False
    for argument in arguments:
        value = argument.value
        if (
            argument.name is None
            and isinstance(value, tree.Comparison)
            and value.operator == "is"
            and isinstance(value.left, tree.Variable)
            and value.left.name in known
        ):
            word = value.left.name
            if not reported:
                title = f"the {what}s of `{name}` are named with `:`"
                body.report("TB4003", title, value.operator_span, f"write `{word}: …`")
            reported = True
            argument = tree.Argument(argument.span, tree.Name(value.left.span, word), value.right)
        read.append(argument)
    return read


def _unknown_input(
    body: Body, word: tree.Name, fields: Sequence[FieldType], name: str, instead: str | None
) -> str | None:
    """Report an input that there is not; the one that was probably meant: the nearest, or ``instead``."""
    names = [each.name for each in fields]
    nearest = body.problems.near(word.text, names) or instead
    body.report(
        "TB4003", f"`{name}` takes no `{word.text}`", word.span,
        f"did you mean `{nearest}`?" if nearest else "write one that it has",
        help=None if nearest else "it takes " + (listed([f"`{each}`" for each in names]) or "nothing"),
        candidates=(nearest,) if nearest else tuple(names[:LISTED]),
    )  # fmt: skip
    return nearest


def _shape(name: str, fields: Sequence[FieldType]) -> str:
    return f"{name}({listed([f'{each.name}: …' for each in fields])})"


# --- functions and calls ----------------------------------------------------------------------------------------------


def _function(body: Body, node: tree.Capital, signature: Signature) -> Typed:
    if node.arguments is None:
        body.report(
            "TB3007", f"`{signature.name}` is a function", node.span,
            f"it is called with brackets: `{_shape(signature.name, signature.takes)}`",
        )  # fmt: skip
        return unknown()
    codes = arguments(body, signature, node.arguments, node.span)
    return Typed(signature.base, ["apply", signature.declared.ref, codes])


def arguments(body: Body, signature: Signature, given: list[tree.Argument], span: tree.Span) -> list[list[Any]]:
    """The arguments of a callable in the order of its inputs: one unnamed, or all by name."""
    takes = signature.takes
    if len(given) == 1 and given[0].name is None and len(takes) == 1:
        return [body.place(given[0].value, takes[0].declared, takes[0].name)]
    if not takes and given:
        body.report(
            "TB4003", f"`{signature.name}` takes nothing", given[0].span, "remove it",
            related=signature.related(body.unit),
        )  # fmt: skip
        for argument in given:
            body.elaborate(argument.value, UNKNOWN)
        return []
    named = _by_name(body, given, takes, signature.name, None, "input")
    missing = [each for each in takes if each.name not in named]
    if missing and all(argument.name is not None for argument in given):
        shown = listed([f"`{each.name}`" for each in missing])
        body.report(
            "TB4003", f"`{signature.name}` needs {shown}", span,
            "add " + listed([f"`{each.name}: {'none' if is_optional(each.base) else '…'}`" for each in missing]),
            related=signature.related(body.unit),
            candidates=tuple(each.name for each in missing[:LISTED]),
        )  # fmt: skip
    return [
        body.place(named[each.name].value, each.declared, each.name) if each.name in named else ["bool", False]
        for each in takes
    ]


# --- changed records and tests of variants ----------------------------------------------------------------------------


@rule(tree.With)
def _with(body: Body, node: tree.With, hint: TypeForm | None) -> Typed:
    of = body.settled(node.of)
    fields = body.types.records.get(of.form) if isinstance(of.form, str) else None
    if fields is None:
        if is_optional(of.form):
            body.unopened(of.form, node.of)
        elif of.form != UNKNOWN:
            title = f"`{show(of.form)}` is not a record"
            body.report("TB4002", title, node.of.span, "`with` changes fields of a record")
        for change in node.changes:
            body.elaborate(change.value, UNKNOWN)
        return unknown()
    if not node.changes:
        body.report("TB4003", "`with` changes no field", node.span, "write `with (field: …)`")
        return Typed(of.form, of.code)
    given = _by_name(body, node.changes, fields, show(of.form), of.form, "field", some=True)
    by_name = body.types.by_name(fields)
    changes = [[name, body.place(argument.value, by_name[name].declared, name)] for name, argument in given.items()]
    return Typed(of.form, ["with", of.code, changes])


def variant_test(body: Body, node: tree.Comparison, left: Typed) -> Typed | None:
    """`x is Paid`, `x is not Low`: whether a choice is a variant. None where it is no such test."""
    right = node.right
    form = left.form
    if not isinstance(right, tree.Capital) or right.arguments is not None:
        return None
    inside = opened(form)
    if is_optional(form) and inside is not None and body.types.variants(inside) is not None:
        body.unopened(form, node.left)
        return Typed("Bool", ["bool", False])
    variants = body.types.variants(form)
    if variants is None:
        return None
    if right.path and (not right.path[-1].text[:1].isupper() or _choice(body, right) != form):
        return None
    if right.name.text not in variants:
        unknown_variant(body, right.name, form)
        return Typed("Bool", ["bool", False])
    test = ["variant", left.code, right.name.text]
    return Typed("Bool", test if node.operator == "is" else ["not", test])
