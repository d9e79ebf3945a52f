"""What `give` does: in a callable, whose result is declared, and in a branch, whose result is found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import tree
from .diagnostics import Related
from .flow import damaged, open_path
from .forms import BOTTOM, UNKNOWN, common, mentions, show
from .mentions import mentioned
from .scope import Typed

if TYPE_CHECKING:
    from ..air.types import TypeForm
    from .signatures import Signature
    from .statements import Lines


class DeclaredResult:
    """The result of a callable."""

    def __init__(self, signature: Signature, node: tree.CallableDecl):
        self.signature = signature
        self.node = node
        #: a `give` was reported because nothing is declared: the others are the same mistake
        self._refused = False

    def give(self, lines: Lines, node: tree.Give) -> None:
        """Check a `give` and emit its code."""
        signature = self.signature
        value = node.value
        if self.node.gives is None:
            name = signature.name
            if not self._refused:
                lines.body.report(
                    "TB6003", f"`{name}` has no `gives`, so it gives nothing", node.span, "add `gives` and the type",
                    related=signature.related(lines.body.unit),
                )  # fmt: skip
            self._refused = True
            if isinstance(value, tree.EFFECT_NODES):
                lines.effect(value)
            else:
                lines.body.elaborate(value, UNKNOWN)
            return
        if isinstance(value, tree.EFFECT_NODES) and signature.base == "Nothing":
            effect = lines.effect(value)
            if effect is not None:
                lines.body.coerce(Typed(effect.form, ["nothing"]), "Nothing", value)
                effect.emit(None)
            lines.emit(node.span, "give", ["nothing"])
            return
        code = lines.right_side(value, signature.gives, "$", "give a value of that type, or change `gives`")
        lines.emit(node.span, "give", code)

    def finish(self, lines: Lines, goes_on: bool) -> None:
        """The end of the last block: where control gets there, nothing may be left to give."""
        body = self.node.body
        if goes_on and self.signature.base == "Nothing":
            lines.emit(tree.Span(body.span.end, body.span.end), "give", ["nothing"])
        elif goes_on and not isinstance(self.node.gives, tree.UnknownType):
            name = self.node.name
            report_open_path(lines, body, name.span, f"`{name.text}` gives `{show(self.signature.base)}`")

    def forget(self, length: int) -> None:
        """Nothing to forget: each `give` was settled when it was checked."""


class InferredResult:
    """The result of a branch: the common type of what its `give`s give, or one that is known from outside.

    Parameters:
        place: where the branch has its name.
        hint: the type that is expected of it.
    """

    def __init__(self, place: tree.Span, block: tree.Block, hint: TypeForm | None):
        self.form: TypeForm = "Nothing"
        self._place = place
        self._block = block
        self._hint = hint
        self._found: list[tuple[int, Typed, tree.RightSide]] = []

    def give(self, lines: Lines, node: tree.Give) -> None:
        """As `DeclaredResult.give`."""
        value = node.value
        known = next((typed.form for _, typed, _ in self._found if _is_told(typed.form)), None)
        typed = lines.result(value, self._hint if self._hint is not None else known)
        pc = lines.emit(node.span, "give", typed.code)
        self._found.append((pc, typed, value))

    def forget(self, length: int) -> None:
        """Drop those whose code was dropped."""
        self._found = [each for each in self._found if each[0] < length]

    def finish(self, lines: Lines, goes_on: bool) -> None:
        """Find the type, and let everything that is given fit it."""
        form = self._joined(lines)
        self.form = form
        end = tree.Span(self._block.span.end, self._block.span.end)
        if goes_on and form == "Nothing":
            lines.emit(end, "give", ["nothing"])
        elif goes_on and form != UNKNOWN:
            report_open_path(lines, self._block, self._place, f"the branch gives `{show(form)}`")
        for pc, typed, node in self._found:
            instruction: list[Any] = lines.code.instructions[pc]
            if mentions(typed.form, BOTTOM) and not mentioned(node) and not isinstance(node, tree.EFFECT_NODES):
                instruction[1] = lines.body.need(node, form)  # `none`, `[]`: now it is known of what
            elif UNKNOWN not in (form, typed.form):
                instruction[1] = lines.body.coerce(typed, form, node)

    def _joined(self, lines: Lines) -> TypeForm:
        if not self._found:
            return "Nothing"
        if self._hint is not None and self._hint != UNKNOWN:
            return self._hint
        form: TypeForm = BOTTOM
        first = self._found[0]
        for _, typed, node in self._found:
            joined = common(form, typed.form)
            if joined is None:
                lines.body.report(
                    "TB4001", f"`{show(form)}` is expected here, not `{show(typed.form)}`", node.span,
                    "a branch gives one type", related=(Related(first[2].span, "the first"),),
                )  # fmt: skip
                return UNKNOWN
            form = joined
        if mentions(form, BOTTOM):
            lines.body.report(
                "TB4005", "the type of what this branch gives cannot be told", first[2].span,
                "bind it with `let … as T = …` first",
            )  # fmt: skip
            return UNKNOWN
        return form


def _is_told(form: TypeForm) -> bool:
    return not mentions(form, UNKNOWN) and not mentions(form, BOTTOM)


def report_open_path(lines: Lines, block: tree.Block, place: tree.Span, what: str) -> None:
    """Report a path on which nothing is given although something has to be."""
    if damaged(block):
        return
    span, why = open_path(block)
    lines.body.report(
        "TB6001", f"{what}, but not on every path", place, "end every path with `give`, `stop` or `fail`",
        related=(Related(span, why),),
    )  # fmt: skip
