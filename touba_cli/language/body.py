"""The body of one callable while it is checked: what expressions share.

Checking an expression gives its type and its AIR at once (`Typed`). Types flow both ways: `elaborate` takes a hint,
the type that is expected, which only decides what cannot be told otherwise (`[]`, `none`, `Low`); `need` then makes the
value fit, and `place` also checks the constraints of where it goes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..air.types import thaw
from ..limits import EXPRESSION_DEPTH
from . import tree
from .constants import misfits
from .diagnostics import Fix, Problems, Related
from .forms import (
    BOTTOM,
    SAME,
    UNKNOWN,
    WIDEN,
    WIDEN_AND_WRAP,
    WRAP,
    fit,
    inner,
    is_fitting,
    is_optional,
    mentions,
    show,
)
from .literals import as_decimal
from .names import Unit
from .scope import Facts, Scopes, Typed, unknown
from .signatures import Signatures
from .types import Types

if TYPE_CHECKING:
    from ..air.types import TypeForm

Rule = Callable[["Body", Any, "TypeForm | None"], Typed]

#: what checks each kind of expression; `expressions.py` and its neighbours enter their rules
RULES: dict[type, Rule] = {}


def rule(node: type) -> Callable[[Rule], Rule]:
    """Enter a function as the rule of a kind of expression."""

    def enter(function: Rule) -> Rule:
        RULES[node] = function
        return function

    return enter


class Body:
    """One callable, or one branch of a group. ``kind`` is function, skill or strategy."""

    def __init__(
        self,
        unit: Unit,
        kind: str,
        types: Types,
        signatures: Signatures,
        problems: Problems,
        scopes: Scopes | None = None,
    ):
        self.unit = unit
        self.kind = kind
        self.types = types
        self.signatures = signatures
        self.problems = problems
        self.scopes = Scopes(unit.source, problems) if scopes is None else scopes
        self._depth = 0
        #: a condition could not be read: what it would have told of Optionals is not known
        self.doubtful = False

    # --- expressions ------------------------------------------------------------------------------------------------

    def elaborate(self, node: tree.Expr, hint: TypeForm | None = None) -> Typed:
        """The type and AIR of an expression."""
        if self._depth >= EXPRESSION_DEPTH:
            self.report(
                "TB9006", f"the expression is nested deeper than {EXPRESSION_DEPTH} levels", node.span,
                "bind a part of it with `let`",
            )  # fmt: skip
            return unknown()
        if hint is not None and is_fitting(hint):
            hint = inner(hint)
        self._depth += 1
        try:
            typed = RULES[type(node)](self, node, hint)
            # Where the expected type is in error, nothing is said about what only it could have told.
            return unknown() if hint == UNKNOWN and mentions(typed.form, BOTTOM) else typed
        finally:
            self._depth -= 1

    def settled(self, node: tree.Expr, hint: TypeForm | None = None, binder: str = "let") -> Typed:
        """As `elaborate`, for where nothing more can tell the type: `[]` without a hint is an error.

        Parameters:
            binder: `let` or `var`: with which word the value gets its name.
        """
        typed = self.elaborate(node, hint)
        if mentions(typed.form, BOTTOM):
            self.untold(node, typed.form, binder)
            return unknown()
        return typed

    def untold(self, node: tree.Expr, form: TypeForm, binder: str = "let") -> None:
        """Report a type that cannot be told."""
        label = f"write `{binder} … as T = …`, or use it where its type is known"
        self.report("TB4005", f"the type of this {_empty(form)} cannot be told", node.span, label)

    def need(self, node: tree.Expr, wanted: TypeForm, why: str = "") -> list[Any]:
        """The AIR of an expression that must have a type, made to fit it."""
        return self.coerce(self.elaborate(node, wanted), wanted, node, why)

    def place(self, node: tree.Expr, declared: TypeForm, label: str, why: str = "") -> list[Any]:
        """As `need`, for a place with a declared type: its constraints are checked when the value enters."""
        code = self.need(node, self.types.base(declared), why)
        if self.types.constrained(declared):
            for place, broken in misfits(self.types, declared, code, node):
                self.report("TB4010", f"the value {broken}", place.span, "write one that the type of its place allows")
        return self.keep(code, declared, label)

    def keep(self, code: list[Any], declared: TypeForm, label: str) -> list[Any]:
        """AIR that checks the constraints of a declared type, where it has any."""
        return ["constrain", thaw(declared), label, code] if self.types.constrained(declared) else code

    def coerce(self, typed: Typed, wanted: TypeForm, node: tree.Node, why: str = "") -> list[Any]:
        """Make a value fit a type: widen an Int, wrap what an Optional takes. Anything else is an error."""
        how = fit(typed.form, wanted)
        if how == SAME:
            if mentions(typed.form, BOTTOM) and not mentions(wanted, UNKNOWN):
                title = f"the type of this {_empty(typed.form)} cannot be told"
                self.report("TB4005", title, node.span, "write it where its type is known")
            return typed.code
        if how == WIDEN:
            return as_decimal(typed.code)
        if how == WRAP:
            return ["some", typed.code]
        if how == WIDEN_AND_WRAP:
            return ["some", as_decimal(typed.code)]
        self.mismatch(typed, wanted, node, why)
        return typed.code

    def mismatch(self, typed: Typed, wanted: TypeForm, node: tree.Node, why: str) -> None:
        """Report a value of the wrong type."""
        is_none = isinstance(node, tree.Literal) and node.kind == "none"
        if is_optional(typed.form) and not is_none and fit(inner(typed.form), wanted) is not None:
            self.unopened(typed.form, node)
            return
        title = f"`{show(wanted)}` is expected here, not `{show(typed.form)}`"
        if typed.form == "Nothing":
            title = f"`{show(wanted)}` is expected here, and this gives nothing"
        if is_none:
            title = f"`{show(wanted)}` is expected here, and `none` is for Optionals"
        fix = None
        shown = show(wanted)
        label = why or f"write {'an' if shown[0] in 'AEIOU' else 'a'} `{shown}`"
        if wanted == "Float" and isinstance(node, tree.Literal) and node.kind in ("int", "decimal"):
            label = f"a Float is written `{node.value}f`"
            fix = Fix(tree.Span(node.span.end, node.span.end), "f")
        elif wanted == "Decimal" and isinstance(node, tree.Literal) and node.kind == "float":
            label = f"a Decimal is written without the `f`: `{node.value}`"
        elif wanted == "Text" and (typed.form in _TEXT_FORMS or self.types.is_plain_choice(typed.form)):
            label = 'write `text(…)`, or put it into a text: `"{…}"`'
        elif (told := self.spelled(wanted, node)) is not None:
            label = told
        elif typed.form == "Decimal" and wanted == "Int":
            label = "whole division is written `div`" if _divides(node) else "`int(…)` cuts off the fraction"
        self.report("TB4001", title, node.span, label, fix=fix)

    def spelled(self, wanted: TypeForm, node: tree.Node) -> str | None:
        """What to write where a text stands for a date or for a variant; None where it does not."""
        if not isinstance(node, tree.Literal) or node.kind != "text" or len(str(node.value)) > 40:
            return None
        text = str(node.value)
        if wanted in ("Date", "DateTime"):
            example = "2026-01-31" if wanted == "Date" else "2026-01-31T09:30:00Z"
            return f'write `{wanted.lower()} "{text if text[:4].isdecimal() else example}"`'
        return f"write `{text}`, without quotes" if text in (self.types.variants(wanted) or ()) else None

    def written(self, node: tree.Node) -> str:
        """An expression as it stands in the source, where it is short."""
        text = self.unit.source.text[node.span.start : node.span.end]
        return text if len(text) <= 24 and "\n" not in text else "…"

    def unopened(self, form: TypeForm, node: tree.Node) -> None:
        """Report an Optional that is used as what may be inside."""
        if self.doubtful:
            return
        self.report(
            "TB4004", f"this is `{show(form)}`, which may be absent", node.span,
            "open it first: `… otherwise …`, or test it with `is present`",
        )  # fmt: skip

    # --- what is known where an expression stands --------------------------------------------------------------------

    @contextmanager
    def knowing(self, facts: Facts) -> Iterator[None]:
        """More facts, for a part of an expression."""
        before = self.scopes.facts
        self.scopes.facts = before | facts
        try:
            yield
        finally:
            self.scopes.facts = before

    # --- problems ---------------------------------------------------------------------------------------------------

    def report(
        self,
        code: str,
        title: str,
        span: tree.Span,
        label: str = "",
        *,
        related: tuple[Related, ...] = (),
        help: str | None = None,
        candidates: tuple[str, ...] = (),
        fix: Fix | None = None,
    ) -> None:
        self.problems.add(
            code, title, self.unit.source, span, label, related=related, help=help, candidates=candidates, fix=fix
        )


_TEXT_FORMS = frozenset(("Int", "Decimal", "Float", "Bool", "Date", "DateTime", "Duration"))


def _divides(node: tree.Node) -> bool:
    """Whether a value is a quotient, on one side of an `if` at least."""
    if isinstance(node, tree.Conditional):
        return _divides(node.then) or _divides(node.otherwise)
    return isinstance(node, tree.Chain) and any(operator == "/" for operator, _, _ in node.rest)


def _empty(form: TypeForm) -> str:
    if is_optional(form):
        return "absent value"
    return "map" if isinstance(form, tuple) and form[0] == "Map" else "list"


#: how firmly an expression holds its type: nothing tells it (`none`, `first([])`), it follows what is expected where
#: that fits (`first([1])`), it has the one that it has (`counts["a"]`)
UNTOLD, YIELDING, FIRM = range(3)


def firmness(body: Body, node: tree.Expr) -> int:
    """`UNTOLD`, `YIELDING` or `FIRM`."""
    if wants_hint(body, node) and is_untold(body, node):
        return UNTOLD
    if isinstance(node, tree.Conditional):
        return max(firmness(body, node.then), firmness(body, node.otherwise))
    if isinstance(node, tree.BuiltIn):
        return min((firmness(body, each) for each in node.arguments), default=FIRM)
    if isinstance(node, tree.Otherwise):
        return firmness(body, node.optional)
    return YIELDING if isinstance(node, tree.ListLiteral | tree.MapLiteral | tree.Comprehension) else FIRM


def is_untold(body: Body, node: tree.Expr) -> bool:
    """Whether nothing in an expression tells its type: `[]`, `[none, none]`, but not `[[], [1]]`."""
    if isinstance(node, tree.ListLiteral):
        return all(is_untold(body, item) for item in node.items)
    if isinstance(node, tree.MapLiteral):
        return all(is_untold(body, value) for _, value in node.entries)
    return wants_hint(body, node)


def wants_hint(body: Body, node: tree.Expr) -> bool:
    """Whether an expression cannot be typed without knowing what is expected: `[]`, `none`, `{}`, `Low`."""
    if isinstance(node, tree.Literal):
        return node.kind == "none"
    if isinstance(node, tree.Capital):
        return not node.path and node.name.text != "Problem" and body.unit.known(node.name.text) is None
    if isinstance(node, tree.ListLiteral):
        return not node.items or any(wants_hint(body, item) for item in node.items)
    if isinstance(node, tree.MapLiteral):
        return not node.entries or any(wants_hint(body, value) for _, value in node.entries)
    if isinstance(node, tree.Comprehension):
        return wants_hint(body, node.item)
    return False
