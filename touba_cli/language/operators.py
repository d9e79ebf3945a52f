"""Expressions, second part: operators, positions and built-in functions, all found in `air/operations.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from ..air.operations import BUILT_INS, ROUNDING_MODES, SPELLINGS, Operation
from ..air.types import thaw
from ..errors import CODES
from . import tree
from .body import Body, rule, wants_hint
from .constants import is_negative, is_zero
from .construct import variant_test
from .expressions import elements, field_form, negation, read_literal, refuse_none
from .forms import (
    BOTTOM,
    SAME,
    UNKNOWN,
    WIDEN,
    Binding,
    as_decimals,
    common,
    fit,
    fitting,
    has_fitting,
    inner,
    is_optional,
    is_ordered,
    mentions,
    opened,
    show,
)
from .hints import FOREIGN_FUNCTIONS, JSON_LABEL
from .literals import as_decimal
from .scope import Typed, unknown

if TYPE_CHECKING:
    from ..air.types import TypeForm

Rows: TypeAlias = tuple[Operation, ...]

_ORDERED = frozenset(("<", "<=", ">", ">="))
_ORDER_NAMES = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}

# --- choosing a row ---------------------------------------------------------------------------------------------------


def _choose(body: Body, rows: Rows, forms: list[TypeForm]) -> tuple[Operation, list[TypeForm], TypeForm] | None:
    """The first row that takes operands of these types, with the types it takes them as and what it gives."""
    for row in rows:
        if len(row.takes) != len(forms):
            continue
        binding = Binding()
        if not all(binding.match(parameter, form) for parameter, form in zip(row.takes, forms, strict=True)):
            continue
        wanted = [
            form if parameter == "choice" and body.types.is_plain_choice(form) else binding.apply(parameter)
            for parameter, form in zip(row.takes, forms, strict=True)
        ]
        if all(fit(form, want) in (SAME, WIDEN) for form, want in zip(forms, wanted, strict=True)):
            return row, wanted, binding.apply(row.gives)
    return None


def _operand(body: Body, node: tree.Expr, typed: Typed, wanted: TypeForm) -> list[Any]:
    """The AIR of an operand as a row takes it."""
    if mentions(typed.form, BOTTOM):
        if mentions(wanted, BOTTOM):
            body.untold(node, typed.form)
            return typed.code
        typed = body.elaborate(node, wanted)
    return as_decimal(typed.code) if fit(typed.form, wanted) == WIDEN else typed.code


def _apply(body: Body, rows: Rows, nodes: list[tree.Expr], operands: list[Typed]) -> tuple[Typed, Operation] | None:
    found = _choose(body, rows, [each.form for each in operands])
    if found is None:
        return None
    row, wanted, gives = found
    codes = [_operand(body, *each) for each in zip(nodes, operands, wanted, strict=True)]
    return (unknown() if mentions(gives, BOTTOM) else Typed(gives, [row.name, *codes])), row


def _is_unknown(operands: list[Typed]) -> bool:
    return any(mentions(each.form, UNKNOWN) for each in operands)


def _refuse(
    body: Body, spelling: str, span: tree.Span, nodes: list[tree.Expr], operands: list[Typed], rows: Rows
) -> Typed:
    """Report operands that no row takes."""
    for node, typed in zip(nodes, operands, strict=True):
        if is_optional(typed.form):
            body.unopened(typed.form, node)
            return unknown()
    forms = [each.form for each in operands]
    label = "change one of them so that the types fit" if len(forms) == 2 else "write a value of another type"
    help_text: str | None = _signatures(spelling, rows)
    if "Float" in forms and len(forms) == 2:
        other = operands[1 - forms.index("Float")]
        if other.code[0] in ("int", "dec"):
            label = f"a Float is written `{other.code[1]}f`"
        elif other.form == "Decimal":
            label = "`decimal(…)` makes a Decimal of a Float"
    elif spelling == "+" and not isinstance(forms[0], str) and forms[0] == ("List", forms[1]):
        label = f"a list is joined with a list: `[{body.written(nodes[1])}]`"
        help_text = None
    elif spelling == "+" and not isinstance(forms[1], str) and forms[1] == ("List", forms[0]):
        label = f"a list is joined with a list: `[{body.written(nodes[0])}]`"
        help_text = None
    elif spelling in ("+", "-") and forms[0] in ("Date", "DateTime", "Duration") and forms[1:] == ["Int"]:
        days = body.written(nodes[1]) if operands[1].code[0] == "int" else "3"
        label = f"a number of days is written `{days} day{'' if days == '1' else 's'}`"
    elif spelling == "+" and "Text" in forms:
        value = nodes[1 - forms.index("Text")]
        label = f'insert the value into the text: `"… {{{body.written(value)}}}"`'
        help_text = None
    elif len(forms) == 2 and (told := body.spelled(forms[0], nodes[1]) or body.spelled(forms[1], nodes[0])):
        label = told
    elif spelling == "*" and "Text" in forms:
        label = "a text is not repeated; `join` makes one of a list"
    elif spelling in ("div", "mod"):
        label = "`div` and `mod` take Ints"
    body.report("TB4002", f"`{spelling}` does not take {_listed(forms)}", span, label, help=help_text)
    return unknown()


def _listed(forms: list[TypeForm]) -> str:
    shown = [f"`{show(form)}`" for form in forms]
    return shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + " and " + shown[-1]


def _signatures(spelling: str, rows: Rows) -> str:
    """What the rows of a spelling take, for the help of a problem."""
    shown = dict.fromkeys(
        f"{show(row.takes[0])} {spelling} {show(row.takes[1])}"
        if row.form == "infix"
        else f"{spelling}({', '.join(show(each) for each in row.takes)})"
        for row in rows
    )
    return "it takes " + ", ".join(f"`{each}`" for each in shown)


# --- operators --------------------------------------------------------------------------------------------------------


@rule(tree.Prefix)
def _prefix(body: Body, node: tree.Prefix, hint: TypeForm | None) -> Typed:
    if node.operator == "not":
        return negation(body, node)
    found = read_literal(body, node)
    if found is not None:
        return found
    operand = body.settled(node.operand)
    rows = SPELLINGS["prefix", "-"]
    if operand.form == UNKNOWN:
        return unknown()
    applied = _apply(body, rows, [node.operand], [operand])
    return applied[0] if applied else _refuse(body, "-", node.operator_span, [node.operand], [operand], rows)


@rule(tree.Chain)
def _chain(body: Body, node: tree.Chain, hint: TypeForm | None) -> Typed:
    """A line of sums or products. It stays flat; only where an Int so far must become a Decimal is it closed."""
    list_hint = _list_hint(hint)
    first_hint = list_hint
    #: the second operand, where it had to be looked at first; no operand is looked at twice
    second: Typed | None = None
    if first_hint is None and wants_hint(body, node.first):
        second = body.elaborate(node.rest[0][2])
        first_hint = second.form
    so_far = body.elaborate(node.first, first_hint)
    parts: list[Any] = [so_far.code]
    before = node.first
    for operator, span, operand in node.rest:
        told = None if has_fitting(list_hint) else list_hint
        right = second or body.elaborate(operand, told or _list_hint(so_far.form))
        second = None
        if _is_unknown([so_far, right]):
            so_far = unknown()
            continue
        rows = SPELLINGS["infix", operator]
        found = _choose(body, rows, [so_far.form, right.form])
        if found is None:
            so_far = _refuse(body, operator, span, [before, operand], [so_far, right], rows)
            continue
        row, wanted, gives = found
        if mentions(gives, BOTTOM):
            body.untold(node, gives)
            so_far = unknown()
            continue
        if operator in ("/", "div", "mod") and is_zero(right.code):
            body.report("TB4010", "nothing can be divided by 0", operand.span, "write another number")
        if fit(so_far.form, wanted[0]) == WIDEN:
            parts = [as_decimal(_closed(parts))]
        elif mentions(so_far.form, BOTTOM):
            parts = [_operand(body, before, so_far, wanted[0])]
        parts += [row.name, _operand(body, operand, right, wanted[1])]
        so_far = Typed(gives, parts)
        before = node
    return unknown() if so_far.form == UNKNOWN else Typed(so_far.form, _closed(parts))


def _list_hint(hint: TypeForm | None) -> TypeForm | None:
    while hint is not None and is_optional(hint):
        hint = inner(hint)
    is_list = hint is not None and not isinstance(hint, str) and hint[0] == "List" and not mentions(hint, BOTTOM)
    return as_decimals(hint) if hint is not None and is_list else None


def _closed(parts: list[Any]) -> list[Any]:
    """The expression that a chain so far makes."""
    if len(parts) == 1:
        code: list[Any] = parts[0]
        return code
    return [parts[1], parts[0], parts[2]] if len(parts) == 3 else ["chain", *parts]


@rule(tree.Comparison)
def _comparison(body: Body, node: tree.Comparison, hint: TypeForm | None) -> Typed:
    if node.operator in ("is", "is not"):
        return _equality(body, node)
    if node.operator in _ORDERED:
        return _order(body, node)
    return _membership(body, node)


def _sides(body: Body, node: tree.Comparison) -> tuple[Typed, Typed]:
    """Both sides; the one that cannot be typed alone takes the type of the other."""
    if wants_hint(body, node.left):
        right = body.elaborate(node.right)
        return body.elaborate(node.left, UNKNOWN if mentions(right.form, UNKNOWN) else right.form), right
    left = body.elaborate(node.left)
    return left, body.elaborate(node.right, _beside(left.form))


def _beside(form: TypeForm) -> TypeForm | None:
    """What the type of the left side tells of the right one. An Int tells nothing: it may stand beside a Decimal."""
    return UNKNOWN if mentions(form, UNKNOWN) else None if form == "Int" else form


def _equality(body: Body, node: tree.Comparison) -> Typed:
    refused = refuse_none(body, node)
    if refused is not None:
        return refused
    nothing = Typed("Bool", ["bool", False])
    if wants_hint(body, node.left):
        left, right = _sides(body, node)
    else:
        left = body.elaborate(node.left)
        tested = variant_test(body, node, left)
        if tested is not None:
            return tested
        right = body.elaborate(node.right, _beside(left.form))
    if _is_unknown([left, right]):
        body.doubtful = True  # it may be a test of an Optional
        return nothing
    if is_optional(left.form) != is_optional(right.form):
        optional, at = (left, node.left) if is_optional(left.form) else (right, node.right)
        body.unopened(optional.form, at)
        return nothing
    form = common(left.form, right.form)
    if form is None or mentions(form, BOTTOM):
        if form is not None:
            body.untold(node, form)
        else:
            body.report(
                "TB4002", f"`{show(left.form)}` and `{show(right.form)}` are never equal", node.operator_span,
                body.spelled(left.form, node.right) or body.spelled(right.form, node.left)
                or "compare values of one type",
            )  # fmt: skip
        return nothing
    check_code_literals(body, node.left, [node.right])
    codes = [body.coerce(left, form, node.left), body.coerce(right, form, node.right)]
    return Typed("Bool", ["eq" if node.operator == "is" else "ne", *codes])


def _order(body: Body, node: tree.Comparison) -> Typed:
    left, right = _sides(body, node)
    if _is_unknown([left, right]):
        return Typed("Bool", ["bool", False])
    if left.form == right.form and body.types.is_plain_choice(left.form):
        name = _ORDER_NAMES[node.operator] + ".int"
        return Typed("Bool", [name, ["ordinal", left.code], ["ordinal", right.code]])
    rows = SPELLINGS["infix", node.operator]
    applied = _apply(body, rows, [node.left, node.right], [left, right])
    if applied is None:
        _refuse(body, node.operator, node.operator_span, [node.left, node.right], [left, right], rows)
        return Typed("Bool", ["bool", False])
    return applied[0]


def _membership(body: Body, node: tree.Comparison) -> Typed:
    nothing = Typed("Bool", ["bool", False])
    if wants_hint(body, node.left):
        right = body.settled(node.right)
        within = inner(right.form) if not isinstance(right.form, str) else UNKNOWN if right.form == UNKNOWN else None
        left = body.elaborate(node.left, within)
    else:
        left = body.elaborate(node.left)
        # An Int may be looked for among Decimals, and a Text among the keys of a Map.
        told = left.form not in ("Int", "Text") or wants_hint(body, node.right)
        within = ("List", left.form) if told else None
        right = body.elaborate(node.right, UNKNOWN if mentions(left.form, UNKNOWN) else within)
    if _is_unknown([left, right]):
        return nothing
    rows = SPELLINGS["infix", "in"]
    applied = _apply(body, rows, [node.left, node.right], [left, right])
    if applied is None:
        if left.form == right.form == "Text":
            body.report(
                "TB4002", "`in` does not look into a Text", node.operator_span, "write `contains(text, part)`",
                help=_signatures("in", rows),
            )  # fmt: skip
        else:
            _refuse(body, "in", node.operator_span, [node.left, node.right], [left, right], rows)
        return nothing
    if isinstance(node.right, tree.ListLiteral):
        check_code_literals(body, node.left, node.right.items)
    code = applied[0].code
    return Typed("Bool", code if node.operator == "in" else ["not", code])


def check_code_literals(body: Body, subject: tree.Expr, literals: list[tree.Expr]) -> None:
    """Warn where a problem's code is compared with what looks like a misspelt code of the runtime."""
    if not isinstance(subject, tree.Field) or subject.name.text != "code" or not isinstance(subject.of, tree.Variable):
        return
    symbol = body.scopes.look_up(subject.of.name)
    if symbol is None or symbol.kind != "problem":
        return
    catchable = [name for name, row in CODES.items() if row.catchable]
    for node in literals:
        if not isinstance(node, tree.Literal) or not isinstance(node.value, str) or node.value in catchable:
            continue
        if node.value in CODES:
            body.report("TB8003", f"`attempt` never sees `{node.value}`", node.span, "remove the comparison")
            continue
        nearest = body.problems.near(node.value, catchable)
        if nearest is not None:
            body.report(
                "TB8004", f"no failure of the runtime has the code `{node.value}`", node.span,
                f"did you mean `{nearest}`?", candidates=(nearest,),
            )  # fmt: skip


@rule(tree.Index)
def _index(body: Body, node: tree.Index, hint: TypeForm | None) -> Typed:
    operands = [body.settled(node.of), body.settled(node.at)]
    if _is_unknown(operands):
        return unknown()
    rows = SPELLINGS["index", "[]"]
    applied = _apply(body, rows, [node.of, node.at], operands)
    if applied is not None:
        if is_negative(operands[1].code):
            value = "…" if isinstance(node.of, (tree.ListLiteral, tree.Literal)) else body.written(node.of)
            label = f"count from the end: `{value}[length({value}) - {str(operands[1].code[1])[1:][:20]}]`"
            if operands[0].form != "Text" and operands[1].code[1] == -1:
                label = f"the last element is `last({value})`"
            body.report("TB4010", "a position is 0 or more", node.at.span, label)
        return applied[0]
    of, at = operands
    if is_optional(of.form):
        body.unopened(of.form, node.of)
    elif is_optional(at.form):
        body.unopened(at.form, node.at)
    elif of.form == "Text" or not isinstance(of.form, str):
        wanted = "Text" if not isinstance(of.form, str) and of.form[0] == "Map" else "Int"
        label = "a key is a Text" if wanted == "Text" else "a position is an Int"
        body.report("TB4001", f"`{wanted}` is expected here, not `{show(at.form)}`", node.at.span, label)
    else:
        label = "only List, Map and Text are read with `[…]`"
        if isinstance(of.form, str) and of.form in body.types.records:
            key = node.at.value if isinstance(node.at, tree.Literal) and node.at.kind == "text" else "name"
            label = f"a field is read with a point: `{body.written(node.of)}.{key}`"
        elif of.form == "Json":
            label = JSON_LABEL
        body.report("TB4002", f"`{show(of.form)}` has no positions", node.of.span, label)
    return unknown()


# --- built-in functions -----------------------------------------------------------------------------------------------


@rule(tree.BuiltIn)
def _built_in(body: Body, node: tree.BuiltIn, hint: TypeForm | None) -> Typed:
    name = node.name.text
    rows = SPELLINGS.get(("call", name))
    if rows is None:
        for argument in node.arguments:
            body.elaborate(argument, UNKNOWN)
        _report_unknown(body, node)
        return unknown()
    fitting = tuple(row for row in rows if len(row.takes) == len(node.arguments))
    if not fitting:
        for argument in node.arguments:
            body.elaborate(argument, UNKNOWN)
        wanted = sorted({len(row.takes) for row in rows})
        counts = " or ".join(str(count) for count in wanted)
        label = "remove what is too much" if len(node.arguments) > wanted[-1] else "add what is missing"
        if name in ("min", "max", "sum", "any", "all", "count") and len(node.arguments) > 1:
            label = f"put the values into a list: `{name}([…])`"
        elif name == "round" and len(node.arguments) == 1:
            label = f"say how many digits stay: `round({body.written(node.arguments[0])}, 0)`"
        body.report(
            "TB4003", f"`{name}` takes {counts} {'value' if counts == '1' else 'values'}, not {len(node.arguments)}",
            node.span, label, help=_signatures(name, rows),
        )  # fmt: skip
        return unknown()
    operands = _arguments(body, node, fitting, hint)
    if _is_unknown(operands):
        return unknown()
    applied = _apply(body, fitting, node.arguments, operands)
    if applied is None:
        return _choices(body, node, operands) or _refuse_call(body, node, fitting, operands)
    typed, row = applied
    if row.name == "round.mode" and not _is_mode(body, node.arguments[2]):
        return unknown()
    return typed


def _arguments(body: Body, node: tree.BuiltIn, rows: Rows, hint: TypeForm | None) -> list[Typed]:
    """The operands; `[]` and its like take their type from the others, or from what is expected of the result."""
    if node.name.text in ("sorted", "min", "max") and hint is not None:
        within = opened(hint)
        if node.name.text != "sorted":
            # Of an `Optional Decimal` whose Decimal may as well be an Int the elements may be Ints.
            element = inner(hint) if is_optional(hint) else hint
            within = ("List", element if element == fitting("Decimal") else within)
        return [body.elaborate(argument, within) for argument in node.arguments]
    binding = Binding()
    row = rows[0]
    if hint is not None and is_optional(hint) and is_optional(inner(hint)):
        # What tells its type may be less deep, and is wrapped once more where it fits beside another value only so.
        is_told = not any(wants_hint(body, each) for each in node.arguments)
        hint = ("Optional", as_decimals(fitting(inner(hint)))) if is_told else hint
    if hint is not None and not mentions(hint, UNKNOWN):
        binding.match(row.gives, hint)
        if isinstance(row.gives, tuple) and row.gives[0] == "List" and is_optional(hint):
            binding.match(row.gives, inner(hint))
    found: dict[int, Typed] = {}
    for position, argument in sorted(enumerate(node.arguments), key=lambda each: wants_hint(body, each[1])):
        parameter = row.takes[position]
        wanted = binding.apply(parameter)
        found[position] = body.elaborate(argument, None if mentions(wanted, BOTTOM) or len(rows) > 1 else wanted)
        if len(rows) == 1:
            binding.match(parameter, found[position].form)
    return [found[position] for position in range(len(node.arguments))]


def _report_unknown(body: Body, node: tree.BuiltIn) -> None:
    name = node.name.text
    if name in body.unit.lost:
        return  # its declaration could not be read
    functions = body.unit.candidates("function")
    nearest = body.problems.near(name, (*BUILT_INS, *functions))
    label = f"did you mean `{nearest}`?" if nearest else "call one that exists, or write it as a `function`"
    foreign = FOREIGN_FUNCTIONS.get(name)
    if foreign is not None:
        nearest = None
        label = foreign
        if len(node.arguments) == 1:
            label = label.replace("(…)", f"({body.written(node.arguments[0])})", 1)
    elif nearest is None and body.scopes.look_up(name) is not None:
        label = "a value cannot be called"
    body.report(
        "TB3010", f"no built-in function `{name}` exists", node.name.span, label,
        help=None if nearest or foreign is not None else "functions of your own begin with a capital",
        candidates=(nearest,) if nearest else BUILT_INS,
    )  # fmt: skip


def _refuse_call(body: Body, node: tree.BuiltIn, rows: Rows, operands: list[Typed]) -> Typed:
    name = node.name.text
    if name == "text" and operands[0].form == "Text":
        body.report("TB4002", "this is a Text already", node.span, "remove `text(…)`")
        return unknown()
    for argument, typed in zip(node.arguments, operands, strict=True):
        if is_optional(typed.form):
            body.unopened(typed.form, argument)
            return unknown()
    forms = [each.form for each in operands]
    label = "give it values that it takes"
    of = forms[0] if forms else "Text"
    if name == "sorted" and not isinstance(of, str) and of[0] == "List" and inner(of) in body.types.records:
        label = f"say by which field: `sorted({body.written(node.arguments[0])} by .field)`"
    body.report(
        "TB4002", f"`{name}` does not take {_listed(forms)}", node.name.span, label,
        help=_signatures(name, rows),
    )  # fmt: skip
    return unknown()


def _is_mode(body: Body, node: tree.Expr) -> bool:
    if isinstance(node, tree.Literal) and node.value in ROUNDING_MODES:
        return True
    written = node.value if isinstance(node, tree.Literal) else None
    nearest = body.problems.near(written, ROUNDING_MODES) if isinstance(written, str) else None
    body.report(
        "TB4003", "the mode of `round` is one of its literals", node.span,
        f"did you mean `{nearest}`?" if nearest else "write one of its modes",
        help="the modes are " + ", ".join(f'`"{mode}"`' for mode in ROUNDING_MODES), candidates=ROUNDING_MODES,
    )  # fmt: skip
    return False


def _choices(body: Body, node: tree.BuiltIn, operands: list[Typed]) -> Typed | None:
    """`sorted`, `min` and `max` of payload-free choices: their order is that of the declaration.

    AIR has no operation for them. The list is gone through once for each variant, and what has it is collected.
    """
    form = operands[0].form
    if node.name.text not in ("sorted", "min", "max") or isinstance(form, str) or form[0] != "List":
        return None
    of = inner(form)
    if not body.types.is_plain_choice(of):
        return None
    whole = body.scopes.hidden("list", form)
    parts: list[Any] = []
    for variant in body.types.choices[str(of)]:
        item = body.scopes.hidden("item", of)
        has_it = ["variant", ["slot", item], variant]
        parts += ["add.list", ["collect", item, ["slot", whole], has_it, ["slot", item]]]
    ordered = _closed(parts[1:])
    # A list of one list binds the list to a slot, so that it is computed once.
    bound = ["collect", whole, ["list", thaw(form), [operands[0].code]], None, ordered]
    code = ["open", ["first", bound]]
    if node.name.text == "sorted":
        return Typed(form, code)
    return Typed(("Optional", of), ["first" if node.name.text == "min" else "last", code])


@rule(tree.SortedBy)
def _sorted_by(body: Body, node: tree.SortedBy, hint: TypeForm | None) -> Typed:
    of, code = elements(body, node.items)
    form: TypeForm | None = of
    before: tree.Node = node.items
    for name in node.path:
        if form is None or form == UNKNOWN:
            return unknown()
        form = field_form(body, form, name, before)
        before = name
    if form is None or form == UNKNOWN:
        return unknown()
    if not is_ordered(form) and not body.types.is_plain_choice(form):
        if is_optional(form):
            body.unopened(form, node.path[-1])
        else:
            body.report(
                "TB4002", f"`{show(form)}` has no order", node.path[-1].span,
                "sort by a number, a Text, a date, a Duration or a choice without payload",
            )  # fmt: skip
        return unknown()
    return Typed(("List", of), ["sorted_by", code, [name.text for name in node.path], node.descending])
