"""`when`: its arms, whether they cover every case, and their code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import tree
from .construct import unknown_variant
from .diagnostics import Related
from .expressions import literal_key, raw, unknown_field
from .forms import SAME, UNKNOWN, WIDEN, fit, inner, is_optional, show
from .literals import OutOfRange, as_decimal
from .names import LISTED, listed
from .operators import check_code_literals
from .records import dataclass, field
from .scope import Facts, Path

if TYPE_CHECKING:
    from ..air.types import TypeForm
    from .statements import Lines

_LITERAL_FORMS = frozenset(("Text", "Int", "Decimal", "Float", "Bool", "Date", "DateTime", "Duration"))


@dataclass(slots=True)
class Case:
    """What an arm is for: its test, the names that it binds with their types and AIR, and what is known inside."""

    test: list[Any]
    bindings: list[tuple[tree.Name, TypeForm, list[Any]]] = field(default_factory=list)
    facts: Facts = frozenset()


def when(lines: Lines, node: tree.When) -> bool:
    """Check a `when` and emit its code; whether control can go on after it."""
    return _When(lines, node).run()


class _When:
    def __init__(self, lines: Lines, node: tree.When):
        self.lines = lines
        self.body = lines.body
        self.node = node
        #: what arms cover, as patterns are written → the pattern
        self.covered: dict[object, tree.Node] = {}
        self.form: TypeForm = UNKNOWN
        self.path: Path | None = None
        self.subject: list[Any] = []

    def run(self) -> bool:
        node = self.node
        patterns = [arm.pattern for arm in node.arms]
        # What is known to be present is told apart as what is inside, unless it is asked again whether it is there.
        asks = any(isinstance(each, (tree.PresentPattern, tree.AbsentPattern)) for each in patterns)
        typed = raw(self.body, node.subject) if asks else self.body.settled(node.subject)
        self.form = typed.form
        self.path = typed.path
        if typed.path is not None and typed.code[0] == "slot":
            self.subject = typed.code
        else:
            slot = self.body.scopes.hidden("when", typed.form)
            self.lines.emit(node.subject.span, "set", slot, typed.code)
            self.subject = ["slot", slot]
        if not self._is_possible():
            self.form = UNKNOWN
        cases = [self._case(arm.pattern) for arm in node.arms]
        complete = self._check_complete()
        return self._emit(cases, complete and node.otherwise is None)

    def _is_possible(self) -> bool:
        form = self.form
        if form == UNKNOWN or is_optional(form) or self.body.types.variants(form) is not None or form in _LITERAL_FORMS:
            return True
        self.body.report(
            "TB4002", f"`when` does not take `{show(form)}`", self.node.subject.span,
            "it takes choices, Optionals, Bools, and values that are compared with literals",
        )  # fmt: skip
        return False

    # --- patterns ---------------------------------------------------------------------------------------------------

    def _case(self, pattern: tree.Pattern) -> Case:
        if isinstance(pattern, tree.VariantPattern):
            return self._variant(pattern)
        if isinstance(pattern, tree.LiteralPattern):
            return self._literals(pattern)
        present = isinstance(pattern, tree.PresentPattern)
        fits = is_optional(self.form)
        if not fits:
            self._misfit(pattern)
        else:
            self._cover(present, pattern, "is present" if present else "is absent")
        if not isinstance(pattern, tree.PresentPattern):
            return Case(["not", ["present", self.subject]])
        of = inner(self.form) if fits else UNKNOWN
        facts = frozenset() if self.path is None else frozenset((self.path,))
        return Case(["present", self.subject], [(pattern.name, of, ["open", self.subject])], facts)

    def _variant(self, pattern: tree.VariantPattern) -> Case:
        name = pattern.name.text
        variants = self.body.types.variants(self.form)
        fields = None
        if variants is None:
            self._misfit(pattern)
        else:
            fields = variants.get(name)
            if fields is None:
                meant = unknown_variant(self.body, pattern.name, self.form)
                self.covered.setdefault(meant or name, pattern)
            else:
                self._cover(name, pattern, f"is {name}")
        by_name = {each.name: each.base for each in fields or ()}
        case = Case(["variant", self.subject, name])
        for binding in pattern.bindings:
            of = by_name.get(binding.text, UNKNOWN)
            if fields is not None and binding.text not in by_name:
                meant = self._unknown_payload(pattern, binding, list(by_name))
                if meant is not None and all(each.text != meant for each in pattern.bindings):
                    # Below it stands under its right name, most probably.
                    case.bindings.append((tree.Name(binding.span, meant), by_name[meant], self.subject))
            case.bindings.append((binding, of, ["payload", self.subject, name, binding.text]))
        return case

    def _unknown_payload(self, pattern: tree.VariantPattern, binding: tree.Name, names: list[str]) -> str | None:
        """Report a payload that there is not; the one that was probably meant."""
        if names:
            return unknown_field(self.body, f"{show(self.form)}.{pattern.name.text}", binding, names)
        self.body.report("TB3003", f"`{pattern.name.text}` has no payload", binding.span, "remove `with …`")
        return None

    def _literals(self, pattern: tree.LiteralPattern) -> Case:
        check_code_literals(self.body, self.node.subject, pattern.literals)
        tests = [test for each in pattern.literals if (test := self._literal(each)) is not None]
        if len(tests) == 1:
            return Case(tests[0])
        return Case(["or", *tests] if tests else ["bool", False])

    def _literal(self, node: tree.Expr) -> list[Any] | None:
        try:
            found = literal_key(node)
        except OutOfRange as fault:
            self.body.report("TB4010", str(fault), node.span, "write a value that can be")
            return None
        if found is None:
            label = "write `is absent`" if isinstance(node, tree.Literal) else "compare other values with `if`"
            if not isinstance(node, tree.Unknown):
                self.body.report("TB2011", "only a literal may stand here", node.span, label)
            return None
        form, code, key = found
        if self.form == UNKNOWN:
            return None
        if is_optional(self.form):
            self.body.unopened(self.form, self.node.subject)
            return None
        if self.form not in _LITERAL_FORMS:
            self._misfit(node)
            return None
        how = fit(form, self.form)
        if how not in (SAME, WIDEN):
            title = f"`{show(self.form)}` is expected here, not `{show(form)}`"
            self.body.report("TB4001", title, node.span, "write a literal of its type")
            return None
        if how == WIDEN:
            code = as_decimal(code)
            key = ("dec", key[1])
        self._cover(key, node, "the literal")
        if form == "Bool":
            return self.subject if code[1] else ["not", self.subject]
        return ["eq", self.subject, code]

    def _misfit(self, pattern: tree.Node) -> None:
        """A pattern of another kind than the value."""
        form = self.form
        if form == UNKNOWN:
            return
        label = "write literals"
        if is_optional(form):
            label = "write `is present as x` and `is absent`"
        elif self.body.types.variants(form) is not None:
            label = "write its variants"
        elif form == "Bool":
            label = "write `is true` and `is false`"
        self.body.report("TB4001", f"`{show(form)}` has no such case", pattern.span, label)

    def _cover(self, key: object, pattern: tree.Node, what: str) -> None:
        first = self.covered.setdefault(key, pattern)
        if first is not pattern:
            self.body.report(
                "TB6004", f"`{what}` stands twice" if what.startswith("is ") else f"{what} stands twice", pattern.span,
                "remove it, or name another case", related=(Related(first.span, "the first"),),
            )  # fmt: skip

    # --- coverage ---------------------------------------------------------------------------------------------------

    def _check_complete(self) -> bool:
        """Whether the arms cover every case; where they do not and there is no `else`, that is an error."""
        form = self.form
        if form == UNKNOWN:
            return False
        missing = self._missing()
        self.lines.doubtful = self.lines.doubtful or (missing != [] and self.node.otherwise is None)
        if missing is None:
            if self.node.otherwise is None:
                self.body.report(
                    "TB6002", f"a `when` over `{show(form)}` needs an `else`", self._head(), "add `else` after the arms"
                )
            return False
        if missing and self.node.otherwise is None:
            shown = listed([f"`{each}`" for each in missing])
            self.body.report(
                "TB6002", f"this `when` does not cover {shown}", self._head(),
                "add the missing arms" if len(missing) > 1 else "add the missing arm",
                candidates=tuple(missing[:LISTED]),
            )  # fmt: skip
        elif not missing and self.node.otherwise is not None:
            self.body.report(
                "TB8003", "the arms cover every case, so this `else` is never taken",
                self.node.otherwise_span or self.node.otherwise.span, "remove it",
            )  # fmt: skip
        return not missing

    def _missing(self) -> list[str] | None:
        """The patterns that no arm has; None where literals can never cover everything."""
        form = self.form
        variants = self.body.types.variants(form)
        if is_optional(form):
            patterns: dict[object, str] = {True: "is present as value", False: "is absent"}
        elif form == "Bool":
            patterns = {("bool", True): "is true", ("bool", False): "is false"}
        elif variants is not None:
            patterns = {
                name: f"is {name}" + (f" with {', '.join(each.name for each in fields)}" if fields else "")
                for name, fields in variants.items()
            }
        else:
            return None
        return [pattern for key, pattern in patterns.items() if key not in self.covered]

    def _head(self) -> tree.Span:
        return tree.Span(self.node.span.start, self.node.subject.span.end)

    # --- code -------------------------------------------------------------------------------------------------------

    def _emit(self, cases: list[Case], exhaustive: bool) -> bool:
        """The arms one after the other; the last of an exhaustive `when` needs no test."""
        lines = self.lines
        scopes = self.body.scopes
        before = scopes.facts
        ends: list[tuple[bool, Facts]] = []
        jumps: list[int] = []
        for position, (arm, case) in enumerate(zip(self.node.arms, cases, strict=True)):
            is_last = position == len(cases) - 1
            unless = []
            if not (is_last and exhaustive):
                unless.append(lines.emit(arm.pattern.span, "unless", case.test, -1))
            with scopes.block():
                for name, form, code in case.bindings:
                    symbol = scopes.bind(name, "arm", form)
                    lines.emit(name.span, "set", symbol.slot, code)
                end = lines.inner(arm.block, before | case.facts)
            ends.append(end)
            if end[0] and not (is_last and self.node.otherwise is None):
                jumps.append(lines.emit(tree.Span(arm.block.span.end, arm.block.span.end), "jump", -1))
            lines.code.settle(unless)
        if self.node.otherwise is not None:
            ends.append(lines.inner(self.node.otherwise, before))
        lines.code.settle(jumps)
        return lines.join(ends)
