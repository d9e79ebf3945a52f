"""Expressions, first part: literals, values and fields, Optionals, logic, lists, maps and texts.

`operators.py` has operators and built-in functions, `construct.py` what begins with a capital.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..air.operations import BUILT_INS
from ..air.types import PROBLEM, thaw
from . import tree
from .body import UNTOLD, Body, firmness, is_untold, rule, wants_hint
from .diagnostics import Fix, Related
from .forms import (
    BOTTOM,
    UNKNOWN,
    as_decimals,
    common,
    definite,
    fit,
    fitting,
    has_fitting,
    inner,
    is_fitting,
    is_optional,
    mentions,
    opened,
    show,
    wants_decimals,
)
from .hints import DATE_PARTS, DATETIME_PARTS, FOREIGN_METHODS, JSON_LABEL
from .literals import OutOfRange, comparable, literal
from .names import LISTED
from .scope import Facts, Path, Typed, unknown
from .types import FieldType

if TYPE_CHECKING:
    from ..air.types import TypeForm

# --- literals and names -----------------------------------------------------------------------------------------------


@rule(tree.Literal)
def _literal(body: Body, node: tree.Literal, hint: TypeForm | None) -> Typed:
    found = read_literal(body, node)
    if found is not None:
        return found
    of = definite(inner(hint)) if hint is not None and is_optional(hint) else BOTTOM
    return Typed(("Optional", of), ["absent", thaw(of)])


def read_literal(body: Body, node: tree.Literal | tree.Prefix) -> Typed | None:
    """A literal, or a minus and one; None where it is `none`, or a minus before something else."""
    try:
        found = literal(node)
    except OutOfRange as fault:
        body.report("TB4010", str(fault), node.span, "write a value that can be")
        return unknown()
    return None if found is None else Typed(*found)


@rule(tree.Unknown)
def _unknown(body: Body, node: tree.Unknown, hint: TypeForm | None) -> Typed:
    return unknown()


@rule(tree.Variable)
def _variable(body: Body, node: tree.Variable, hint: TypeForm | None) -> Typed:
    return _narrowed(body, _raw_variable(body, node))


@rule(tree.Field)
def _field(body: Body, node: tree.Field, hint: TypeForm | None) -> Typed:
    return _narrowed(body, _raw_field(body, node))


def raw(body: Body, node: tree.Expr, hint: TypeForm | None = None) -> Typed:
    """As `Body.settled`, but what is known to be present is still the Optional that it was declared as."""
    if isinstance(node, tree.Variable):
        return _raw_variable(body, node)
    if isinstance(node, tree.Field):
        return _raw_field(body, node)
    return body.settled(node, hint)


def _narrowed(body: Body, typed: Typed) -> Typed:
    if typed.path in body.scopes.facts and is_optional(typed.form):
        return Typed(inner(typed.form), ["open", typed.code], path=typed.path)
    return typed


def _raw_variable(body: Body, node: tree.Variable) -> Typed:
    symbol = body.scopes.find(node.name, node.span, BUILT_INS)
    if symbol is None:
        return unknown()
    path: Path | None = (symbol,) if symbol.fixed else None
    return Typed(symbol.form, ["slot", symbol.slot], path=path)


def _raw_field(body: Body, node: tree.Field) -> Typed:
    of = body.settled(node.of)
    found = field_form(body, of.form, node.name, node.of)
    path = None if of.path is None else (*of.path, node.name.text)
    return unknown() if found is None else Typed(found, ["field", of.code, node.name.text], path=path)


def field_form(body: Body, form: TypeForm, name: tree.Name, of: tree.Node) -> TypeForm | None:
    """The base type of a field; None where there is none, which is reported."""
    if form == UNKNOWN:
        return None
    if is_optional(form):
        body.unopened(form, of)
        return None
    fields = _fields(body, form)
    if fields is None:
        label = f"remove `.{name.text}`"
        if body.types.variants(form) is not None:
            label = "the payload of a choice is read in a `when`"
        elif not isinstance(form, str) and form[0] == "Map":
            label = f'the value under a key is written `["{name.text}"]`'
        elif form in ("Date", "DateTime") and name.text in (parts := DATE_PARTS if form == "Date" else DATETIME_PARTS):
            label = f"a date has no parts; its text has them: `slice(text({body.written(of)}), {parts[name.text]})`"
        elif form == "Json":
            label = JSON_LABEL
        elif name.text in BUILT_INS:
            label = f"a built-in function stands before its value: `{name.text}(…)`"
        elif name.text in FOREIGN_METHODS and "{a}" not in FOREIGN_METHODS[name.text]:
            label = f"write `{FOREIGN_METHODS[name.text].replace('{x}', '…')}`"
        body.report("TB3003", f"`{show(form)}` has no fields", name.span, label)
        return None
    found = fields.get(name.text)
    if found is None:
        unknown_field(body, form, name, list(fields))
        return None
    return found.base


def _fields(body: Body, form: TypeForm) -> dict[str, FieldType] | None:
    if isinstance(form, str):
        fields = body.types.records.get(form)
        return None if fields is None else body.types.by_name(fields)
    if form[0] != "Entry":
        return None
    return {"key": FieldType("key", "Text", "Text"), "value": FieldType("value", inner(form), inner(form))}


def unknown_field(
    body: Body, form: TypeForm, name: tree.Name, names: list[str], instead: str | None = None
) -> str | None:
    """Report a field that a record does not have; the one that was probably meant: the nearest, or ``instead``."""
    return unknown_member(body, form, name, names, "TB3003", "field", instead)


def unknown_member(
    body: Body, form: TypeForm, name: tree.Name, names: list[str], code: str, kind: str, instead: str | None = None
) -> str | None:
    """Report a field or a variant (``kind``) that a type does not have; the one that was probably meant."""
    nearest = body.problems.near(name.text, names) or instead
    help_text = None
    if nearest is None and 0 < len(names) <= 8:
        help_text = f"its {kind}s: " + ", ".join(f"`{each}`" for each in names)
    declared = body.types.declared.get(form) if isinstance(form, str) else None
    body.report(
        code, f"`{show(form)}` has no {kind} `{name.text}`", name.span,
        f"did you mean `{nearest}`?" if nearest else "write one that it has",
        related=(declared.related(body.unit),) if declared is not None else (), help=help_text,
        candidates=(nearest,) if nearest else tuple(names[:LISTED]),
    )  # fmt: skip
    return nearest


# --- Optionals --------------------------------------------------------------------------------------------------------


@rule(tree.IsPresent)
def _is_present(body: Body, node: tree.IsPresent, hint: TypeForm | None) -> Typed:
    of = raw(body, node.operand)
    if of.form == UNKNOWN:
        body.doubtful = True
        return Typed("Bool", ["bool", False])
    if not is_optional(of.form):
        body.report("TB4002", f"`{show(of.form)}` is never absent", node.operand.span, "only an Optional can be tested")
        return Typed("Bool", ["bool", False])
    if of.path in body.scopes.facts:
        body.report("TB8003", "this is known to be present here", node.span, "remove the test")
    facts: Facts = frozenset() if of.path is None else frozenset((of.path,))
    present = ["present", of.code]
    if node.present:
        return Typed("Bool", present, when_true=facts)
    return Typed("Bool", ["not", present], when_false=facts)


@rule(tree.Otherwise)
def _otherwise(body: Body, node: tree.Otherwise, hint: TypeForm | None) -> Typed:
    wanted: TypeForm | None = None if hint is None else ("Optional", fitting(hint))
    fallback: Typed | None = None
    if wanted is not None and opened(wanted) == "Decimal" and not wants_hint(body, node.fallback):
        # An Int would fit, too: whether it has to be a Decimal, the fallback tells.
        fallback = body.settled(node.fallback, hint)
        if opened(fallback.form) == "Decimal":
            wanted = as_decimals(wanted)
    of = raw(body, node.optional, wanted)
    if of.form == UNKNOWN:
        return fallback or body.settled(node.fallback, hint)
    if not is_optional(of.form):
        body.report(
            "TB4002", f"`{show(of.form)}` is never absent", node.optional.span, "remove `otherwise` and what follows"
        )
        if fallback is None:
            body.elaborate(node.fallback, of.form)
        return of
    if of.path in body.scopes.facts:
        body.report("TB8003", "this is known to be present here", node.span, "remove `otherwise` and what follows")
    form = inner(of.form)
    other = body.need(node.fallback, form) if fallback is None else body.coerce(fallback, form, node.fallback)
    return Typed(form, ["otherwise", of.code, other])


# --- logic ------------------------------------------------------------------------------------------------------------


def condition(body: Body, node: tree.Expr, word: str = "present", known: Typed | None = None) -> Typed:
    """A Bool, with what follows from it.

    Parameters:
        word: what a test of an Optional that stands here is probably meant to be.
        known: what the expression came to, where it was looked at already.
    """
    typed = body.settled(node, "Bool") if known is None else known
    if typed.form == UNKNOWN:
        body.doubtful = True
    if is_optional(typed.form) and inner(typed.form) not in ("Bool", BOTTOM, UNKNOWN):
        body.report(
            "TB4004", f"this is `{show(typed.form)}`, which is no Bool", node.span,
            f"write `{body.written(node)} is {word}`",
        )  # fmt: skip
        # It is read on as the test that was meant.
        facts: Facts = frozenset() if typed.path is None else frozenset((typed.path,))
        return Typed("Bool", ["bool", False], when_true=facts)
    code = body.coerce(typed, "Bool", node, _as_test(body, typed.form, node, word == "absent"))
    return Typed("Bool", code, typed.when_true, typed.when_false)


def _as_test(body: Body, form: TypeForm, node: tree.Expr, negated: bool) -> str:
    """How a value that other languages take for true where it is not empty or zero becomes a condition."""
    value = body.written(node)
    test = ""
    if form == "Text":
        test = f'{value} is ""' if negated else f'{value} is not ""'
    elif form in ("Int", "Decimal"):
        test = f"{value} is 0" if negated else f"{value} is not 0"
    elif not isinstance(form, str) and form[0] in ("List", "Map"):
        test = f"length({value}) is 0" if negated else f"length({value}) > 0"
    return f"a condition is a Bool: write `{test}`" if test else "a condition is a Bool"


@rule(tree.Logic)
def _logic(body: Body, node: tree.Logic, hint: TypeForm | None) -> Typed:
    both = node.operator == "and"
    first = body.settled(node.operands[0], "Bool")
    if not both and _is_fallback(node, first):
        return _fallback(body, node, first)
    known: Facts = frozenset()
    other: Facts | None = None
    codes: list[list[Any]] = []
    misfit = False
    for operand in node.operands:
        with body.knowing(known):
            typed = body.settled(operand, "Bool") if codes else first
            if not is_optional(typed.form) and typed.form not in ("Bool", UNKNOWN):
                typed = unknown() if misfit else condition(body, operand, known=typed)
                misfit = True  # said once; the value is no Bool, whatever the others are
            else:
                typed = condition(body, operand, known=typed)
        codes.append(typed.code)
        follows, against = (typed.when_true, typed.when_false) if both else (typed.when_false, typed.when_true)
        known |= follows
        other = against if other is None else other & against
    facts = (known, other or frozenset())
    return Typed(UNKNOWN if misfit else "Bool", [node.operator, *codes], *(facts if both else facts[::-1]))


def _is_fallback(node: tree.Logic, first: Typed) -> bool:
    """Whether `a or 0` stands for `a otherwise 0`: on an Optional, and with no test behind it."""
    tests = (tree.Comparison, tree.IsPresent, tree.Logic, tree.Prefix)
    optional = is_optional(first.form) and inner(first.form) not in ("Bool", BOTTOM, UNKNOWN)
    return optional and not any(isinstance(each, tests) for each in node.operands[1:])


def _fallback(body: Body, node: tree.Logic, of: Typed) -> Typed:
    """Report `a or 0` on an Optional."""
    for operand in node.operands[1:]:
        body.elaborate(operand, UNKNOWN)
    written = " otherwise ".join(body.written(each) for each in node.operands)
    body.report(
        "TB4004", f"this is `{show(of.form)}`, and `or` joins Bools", node.span,
        f"a fallback is written `otherwise`: `{written}`",
    )  # fmt: skip
    return unknown()


def negation(body: Body, node: tree.Prefix) -> Typed:
    """`not a`."""
    typed = condition(body, node.operand, "absent")
    return Typed("Bool", ["not", typed.code], typed.when_false, typed.when_true)


@rule(tree.Conditional)
def _conditional(body: Body, node: tree.Conditional, hint: TypeForm | None) -> Typed:
    test = condition(body, node.condition)
    then_waits = wants_hint(body, node.then) and (
        not wants_hint(body, node.otherwise) or (is_untold(body, node.then) and not is_untold(body, node.otherwise))
    )
    if hint is not None and has_fitting(hint) and firmness(body, node.then) != firmness(body, node.otherwise):
        # What holds its type tells it to the other one.
        if firmness(body, node.then) < firmness(body, node.otherwise):
            other = _branch(body, node.otherwise, hint, test.when_false)
            then = _branch(body, node.then, _told(body, node.then, hint, other.form), test.when_true)
        else:
            then = _branch(body, node.then, hint, test.when_true)
            other = _branch(body, node.otherwise, _told(body, node.otherwise, hint, then.form), test.when_false)
    elif hint is None and then_waits:
        other = _branch(body, node.otherwise, None, test.when_false)
        then = _branch(body, node.then, other.form, test.when_true)
    else:
        tells = hint is None or has_fitting(hint)
        then = _branch(body, node.then, None if hint is None else as_decimals(hint), test.when_true)
        other = _branch(body, node.otherwise, then.form if tells else hint, test.when_false)
    form = common(then.form, other.form)
    if form is None:
        body.report(
            "TB4001", f"the two values have no common type: `{show(then.form)}` and `{show(other.form)}`",
            node.otherwise.span, f"`{show(then.form)}` is expected here",
            related=(Related(node.then.span, "the other"),),
        )  # fmt: skip
        return unknown()
    if form == UNKNOWN:
        return unknown()
    if mentions(form, BOTTOM):
        body.untold(node, form)
        return unknown()
    codes = [
        (body.need(branch, form) if mentions(typed.form, BOTTOM) else body.coerce(typed, form, branch))
        for branch, typed in ((node.then, then), (node.otherwise, other))
    ]
    return Typed(form, ["if", test.code, *codes])


def _told(body: Body, node: tree.Expr, hint: TypeForm, form: TypeForm) -> TypeForm:
    """What is expected of a branch when the type of the other one is known."""
    if firmness(body, node) == UNTOLD:
        return form
    return as_decimals(hint) if opened(form) == "Decimal" else hint


def _branch(body: Body, node: tree.Expr, hint: TypeForm | None, facts: Facts) -> Typed:
    with body.knowing(facts):
        return body.elaborate(node, hint)


# --- lists and maps ---------------------------------------------------------------------------------------------------


@rule(tree.ListLiteral)
def _list(body: Body, node: tree.ListLiteral, hint: TypeForm | None) -> Typed:
    form, codes = _elements(body, node.items, hint, "List")
    return unknown() if form == UNKNOWN else Typed(("List", form), ["list", thaw(form), codes])


@rule(tree.MapLiteral)
def _map(body: Body, node: tree.MapLiteral, hint: TypeForm | None) -> Typed:
    record = opened(hint)
    if isinstance(record, str) and record in body.types.records:
        name = show(record)
        fields = ", ".join(f"{each.name}: …" for each in list(body.types.records[record])[:LISTED])
        body.report("TB4001", f"`{name}` is expected here, not a map", node.span, f"write `{name}({fields})`")
        for _, value in node.entries:
            body.elaborate(value, UNKNOWN)
        return unknown()
    keys = [_key(body, key) for key, _ in node.entries]
    _refuse_equal_keys(body, node)
    form, codes = _elements(body, [value for _, value in node.entries], hint, "Map")
    if form == UNKNOWN:
        return unknown()
    return Typed(("Map", form), ["map", thaw(form), [list(pair) for pair in zip(keys, codes, strict=True)]])


def _key(body: Body, node: tree.Expr) -> list[Any]:
    """The AIR of a key of a map: a Text. `{id: 1}` has a name there, which elsewhere means a text."""
    if isinstance(node, tree.Variable) and node.name not in BUILT_INS:
        symbol = body.scopes.look_up(node.name)
        if symbol is None and body.scopes.near(node.name) is None:
            label = f'a key is a text: write `"{node.name}"`'
            body.report("TB3001", f"no value `{node.name}` is known here", node.span, label)
            return ["bool", False]
        if symbol is not None and opened(symbol.form) not in ("Text", UNKNOWN):
            label = f'a key is a text: write `"{node.name}"`'
            if symbol.form in _WRITABLE:
                label += f", or `text({node.name})`"
            body.report("TB4001", f"`Text` is expected here, not `{show(symbol.form)}`", node.span, label)
            symbol.used = True
            return ["bool", False]
    return body.need(node, "Text", "the keys of a map are Text")


def _elements(body: Body, nodes: list[tree.Expr], hint: TypeForm | None, kind: str) -> tuple[TypeForm, list[list[Any]]]:
    """The type and the AIR of the elements of a List or Map (``kind``), as they are expected or as they are."""
    wanted = opened(hint)
    if wanted is None or isinstance(wanted, str) or wanted[0] != kind or inner(wanted) == UNKNOWN:
        return _alike(body, nodes)
    of = inner(wanted)
    if not has_fitting(of):
        return of, _needed(body, nodes, of)
    return _alike(body, nodes, inner(of) if is_fitting(of) else of, wants_decimals(of))


def _needed(body: Body, nodes: list[tree.Expr], of: TypeForm) -> list[list[Any]]:
    """The AIR of elements that must have a type: those of one wrong type are one mistake, said at the first of them."""
    refused: set[TypeForm] = set()
    codes: list[list[Any]] = []
    for node in nodes:
        typed = body.elaborate(node, of)
        if typed.form in refused:
            codes.append(typed.code)
            continue
        if fit(typed.form, of) is None and not is_optional(typed.form):
            refused.add(typed.form)
        codes.append(body.coerce(typed, of, node))
    return codes


def _alike(
    body: Body, nodes: list[tree.Expr], fit_into: TypeForm | None = None, decimals: bool = False
) -> tuple[TypeForm, list[list[Any]]]:
    """The common type of elements, and their AIR. Those that cannot be typed alone take the type of the others.

    Parameters:
        fit_into: what each of them must fit, where that is known; one that does not is reported.
        decimals: where they are Ints they become Decimals.
    """
    form: TypeForm = BOTTOM
    typed: dict[int, Typed] = {}
    first = nodes[0] if nodes else None
    for position, node in sorted(enumerate(nodes), key=lambda each: wants_hint(body, each[1])):
        so_far = None if form in (BOTTOM, UNKNOWN) else form
        follows = fit_into is None or (so_far is not None and wants_hint(body, node))
        found = body.elaborate(node, so_far if follows else fit_into)
        typed[position] = found
        is_known = fit_into is not None and form != UNKNOWN and not has_fitting(fit_into)
        if fit_into is not None and is_known and fit(found.form, fit_into) is None:
            body.coerce(found, fit_into if is_optional(found.form) else definite(fitting(fit_into)), node)
            form = UNKNOWN
            continue
        joined = common(form, found.form)
        if joined is None:
            body.report(
                "TB4001", f"`{show(form)}` is expected here, not `{show(found.form)}`", node.span,
                "the elements have one type", related=(Related(first.span, "the first"),) if first is not None else (),
            )  # fmt: skip
            joined = UNKNOWN
        form = joined
    if form == UNKNOWN:
        return UNKNOWN, []
    if form == BOTTOM and fit_into is not None:
        form = definite(fitting(fit_into))
    if form == "Int" and decimals:
        form = "Decimal"
    if mentions(form, BOTTOM):
        return form, [typed[position].code for position in range(len(nodes))]
    return form, [
        body.need(node, form) if mentions(typed[position].form, BOTTOM) else body.coerce(typed[position], form, node)
        for position, node in enumerate(nodes)
    ]


def _refuse_equal_keys(body: Body, node: tree.MapLiteral) -> None:
    seen: dict[object, tree.Expr] = {}
    for key, _ in node.entries:
        if isinstance(key, tree.Literal) and key.kind == "text":
            first = seen.setdefault(key.value, key)
            if first is not key:
                body.report(
                    "TB3002", "the key stands twice in the map", key.span, "remove it, or use another key",
                    related=(Related(first.span, "the first"),),
                )  # fmt: skip


@rule(tree.Comprehension)
def _comprehension(body: Body, node: tree.Comprehension, hint: TypeForm | None) -> Typed:
    of, source = elements(body, node.source)
    wanted = opened(hint)
    item_hint = inner(wanted) if wanted is not None and not isinstance(wanted, str) and wanted[0] == "List" else None
    with body.scopes.block():
        symbol = body.scopes.bind(node.name, "loop", of)
        test = None if node.condition is None else condition(body, node.condition)
        with body.knowing(frozenset() if test is None else test.when_true):
            if item_hint is None or item_hint == UNKNOWN or is_fitting(item_hint):
                item = body.settled(node.item, item_hint)
            else:
                item = Typed(item_hint, body.need(node.item, item_hint))
    if item.form == UNKNOWN:
        return unknown()
    code = ["collect", symbol.slot, source, None if test is None else test.code, item.code]
    return Typed(("List", item.form), code)


def elements(body: Body, node: tree.Expr) -> tuple[TypeForm, list[Any]]:
    """The element type and AIR of what `for` goes through."""
    typed = body.settled(node)
    form = typed.form
    if not isinstance(form, str) and form[0] == "List":
        return inner(form), typed.code
    if form != UNKNOWN:
        if is_optional(form):
            body.unopened(form, node)
        else:
            label = "only a List can be gone through"
            if not isinstance(form, str) and form[0] == "Map":
                label = "a Map is gone through with `items(…)`, `keys(…)` or `values(…)`"
            elif form == "Int":
                label = "numbers are counted with `range(…)`"
            body.report("TB4001", f"a List is expected here, not `{show(form)}`", node.span, label)
    return UNKNOWN, typed.code


# --- texts ------------------------------------------------------------------------------------------------------------


@rule(tree.Interpolation)
def _interpolation(body: Body, node: tree.Interpolation, hint: TypeForm | None) -> Typed:
    codes = [["text", part] if isinstance(part, str) else _as_text(body, part) for part in node.parts]
    return Typed("Text", ["concat", *codes] if codes else ["text", ""])


_WRITABLE = frozenset(("Int", "Decimal", "Float", "Bool", "Date", "DateTime", "Duration"))


def _as_text(body: Body, node: tree.Expr) -> list[Any]:
    typed = body.settled(node)
    form = typed.form
    if form in ("Text", UNKNOWN):
        return typed.code
    if isinstance(form, str) and form in _WRITABLE:
        return [f"text.{form.lower()}", typed.code]
    if body.types.is_plain_choice(form):
        return ["text.choice", typed.code]
    if is_optional(form):
        body.unopened(form, node)
        return typed.code
    label = "write something else"
    if form == PROBLEM:
        label = "write its `.code` or `.message`"
    elif isinstance(form, str) and form in body.types.records:
        label = "write its fields one by one"
    elif body.types.variants(form) is not None:
        label = "choose a text with `when`"
    elif not isinstance(form, str) and form[0] == "List":
        label = 'make a Text of it first: `join([… for x in xs], ", ")`'
    body.report("TB4008", f"`{show(form)}` cannot be written into text", node.span, label)
    return typed.code


def refuse_none(body: Body, node: tree.Comparison) -> Typed | None:
    """`x is none` is spelled `x is absent`, and read on as that; None where it is no such comparison."""
    if isinstance(node.right, tree.Literal) and node.right.kind == "none":
        word = "absent" if node.operator == "is" else "present"
        span = tree.Span(node.operator_span.start, node.right.span.end)
        body.report(
            "TB4002", f"whether a value is there is written `is {word}`", span, f"write `is {word}`",
            fix=Fix(span, f"is {word}"),
        )  # fmt: skip
        of = raw(body, node.left)
        facts: Facts = frozenset() if of.path is None or not is_optional(of.form) else frozenset((of.path,))
        test = Typed("Bool", ["bool", False])
        if word == "present":
            test.when_true = facts
        else:
            test.when_false = facts
        return test
    return None


def literal_key(node: tree.Expr) -> tuple[TypeForm, list[Any], Any] | None:
    """Type, AIR and a comparable key of a literal pattern; None where it is none. Raises OutOfRange."""
    found = literal(node)
    return None if found is None else (*found, comparable(found[1]))
