"""Tools: what their clauses say, and what AIR says of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..documents import EFFECTS, GRANTS
from ..limits import LIMITS
from . import tree
from .body import Body
from .circles import circles
from .diagnostics import Problems, Related
from .forms import UNKNOWN
from .keys import tool_key
from .literals import OutOfRange, duration
from .names import Declared, Program, Unit, a, report_duplicates

if TYPE_CHECKING:
    from ..air.types import TypeForm
    from .signatures import Signature, Signatures
    from .types import Types


class Tools:
    """Checks the tools of a program."""

    def __init__(self, program: Program, types: Types, signatures: Signatures, problems: Problems):
        self._types = types
        self._signatures = signatures
        self._problems = problems
        #: reference of a tool → the tool that compensates it
        self._compensations: dict[str, Declared] = {}
        for unit in program.units:
            for declared in unit.declared.values():
                if isinstance(declared.node, tree.ToolDecl) and declared.node.compensation is not None:
                    self._resolve_compensation(declared, declared.node.compensation)
        self._report_circles(program)

    def entry(self, declared: Declared) -> dict[str, Any]:
        """Check the clauses of a tool and make what AIR says of them."""
        node = declared.node
        assert isinstance(node, tree.ToolDecl)
        signature = self._signatures.of(declared)
        entry: dict[str, Any] = {
            "requires": self._grants(declared, node),
            "secrets": [secret.text for secret in node.secrets],
            "effect": self._effect(declared, node),
        }
        report_duplicates(declared.unit, node.secrets, "secret")
        for clause, memories in (("reads", node.reads), ("writes", node.writes)):
            if memories:
                entry[clause] = self._memories(declared, memories)
        if node.key is not None:
            body = Body(declared.unit, "function", self._types, self._signatures, self._problems)
            for each, decl in zip(signature.takes, node.takes, strict=True):
                body.scopes.bind(decl.name, "input", each.base, each.declared)
            entry["key"] = tool_key(body, node.key)
        if node.timeout is not None:
            entry["timeout_ms"] = _timeout(declared, node.timeout)
        compensation = self._compensations.get(declared.ref)
        if compensation is not None and node.compensation is not None:
            takes = self._compensation_takes(declared, node, node.compensation, signature, compensation)
            entry["compensation"] = {"ref": compensation.ref, "takes": takes}
        return entry

    # --- grants, effect, memories -------------------------------------------------------------------------------------

    def _grants(self, declared: Declared, node: tree.ToolDecl) -> list[str]:
        unit = declared.unit
        report_duplicates(unit, node.requires, "grant")
        for grant in node.requires:
            if grant.text not in GRANTS:
                nearest = unit.problems.near(grant.text, GRANTS)
                unit.problems.add(
                    "TB5003", f"there is no grant `{grant.text}`", unit.source, grant.span,
                    f"did you mean `{nearest}`?" if nearest else "write a grant that exists",
                    help=None if nearest else "the grants are " + ", ".join(f"`{each}`" for each in GRANTS),
                    candidates=(nearest,) if nearest else GRANTS,
                )  # fmt: skip
        return sorted(grant.text for grant in node.requires)

    def _effect(self, declared: Declared, node: tree.ToolDecl) -> str:
        unit = declared.unit
        if node.effect is None and (node.requires or node.secrets or node.writes):
            holds = "requires a grant" if node.requires else "holds a secret" if node.secrets else "writes a memory"
            unit.problems.add(
                "TB5002", f"`{declared.name}` {holds} and does not state its effect", unit.source, node.name.span,
                "add `effect write`" if node.writes else "add `effect none`, `effect read` or `effect write`",
                candidates=("write",) if node.writes else EFFECTS,
            )  # fmt: skip
        if node.effect is None:
            return "none"
        if node.writes and node.effect.text != "write":
            unit.problems.add(
                "TB5002", f"`{declared.name}` writes a memory, so its effect is `write`", unit.source,
                node.effect.span, "write `write`", candidates=("write",),
                related=(Related(node.writes[0].span, "it writes this"),),
            )  # fmt: skip
        return node.effect.text

    def _memories(self, declared: Declared, memories: list[tree.Qualified]) -> list[str]:
        unit = declared.unit
        found: dict[str, tree.Qualified] = {}
        for memory in memories:
            target = _find(unit, memory, "memory", ", not a memory")
            if target is None:
                continue
            first = found.setdefault(target.ref, memory)
            if first is not memory:
                unit.problems.add(
                    "TB3002", f"memory `{target.name}` stands twice", unit.source, memory.span, "remove it",
                    related=(Related(first.span, "the first"),),
                )  # fmt: skip
        return sorted(found)

    # --- compensations ------------------------------------------------------------------------------------------------

    def _resolve_compensation(self, declared: Declared, node: tree.Qualified) -> None:
        target = _find(declared.unit, node, "tool", ", and only a tool compensates")
        if target is not None:
            self._compensations[declared.ref] = target

    def _compensation_takes(
        self,
        declared: Declared,
        node: tree.ToolDecl,
        place: tree.Qualified,
        signature: Signature,
        compensation: Declared,
    ) -> str:
        """What the compensating tool is called with: "inputs" where it takes exactly those, else the "result"."""
        if node.effect is None or node.effect.text != "write":
            declared.unit.problems.add(
                "TB5005", f"`{declared.name}` has no effect `write` that could be compensated", declared.unit.source,
                place.span, "remove `compensate with`, or state `effect write`",
            )  # fmt: skip
        other = self._signatures.of(compensation)
        if [(each.name, each.base) for each in other.takes] == [(each.name, each.base) for each in signature.takes]:
            self._check_constraints(declared, place, other, [each.declared for each in signature.takes])
            return "inputs"
        if len(other.takes) == 1 and other.takes[0].base == signature.base:
            self._check_constraints(declared, place, other, [signature.gives])
            return "result"
        if UNKNOWN in (signature.base, *(each.base for each in (*other.takes, *signature.takes))):
            return "result"  # a type that is in error fits everywhere
        declared.unit.problems.add(
            "TB5005", f"`{compensation.name}` takes neither the result of `{declared.name}` nor its inputs",
            declared.unit.source, place.span,
            "it takes one input of the type of the result, or exactly the inputs of the tool",
            related=(compensation.related(declared.unit),),
        )  # fmt: skip
        return "result"

    def _check_constraints(
        self, declared: Declared, place: tree.Qualified, other: Signature, given: list[TypeForm]
    ) -> None:
        """Report an input of the compensating tool whose constraints the value that it gets need not keep."""
        for takes, form in zip(other.takes, given, strict=True):
            if self._types.constrained(takes.declared) and takes.declared != form:
                declared.unit.problems.add(
                    "TB5005", f"`{other.name}` takes `{takes.name}` with constraints that its value need not keep",
                    declared.unit.source, place.span, "give both the same type, or take it without constraints",
                    related=other.related(declared.unit),
                )  # fmt: skip

    def _report_circles(self, program: Program) -> None:
        declared = {each.ref: each for unit in program.units for each in unit.declared.values()}
        graph = {ref: [self._compensations[ref].ref] for ref in sorted(self._compensations)}
        for circle in circles(graph):
            first = declared[circle[0]]
            node = first.node
            assert isinstance(node, tree.ToolDecl)
            assert node.compensation is not None
            shown = " → ".join(declared[ref].name for ref in (*circle, circle[0]))
            self._problems.add(
                "TB5006", f"tools compensate each other in a circle: `{shown}`", first.unit.source,
                node.compensation.span, "remove it: what undoes an effect is not undone itself",
            )  # fmt: skip


def _timeout(declared: Declared, node: tree.Literal) -> int:
    limit = LIMITS["handler_timeout_ms"]
    unit = declared.unit
    try:
        milliseconds = int(duration(node.value).total_seconds() * 1000)
    except OutOfRange:
        milliseconds = limit.highest + 1
    if not limit.lowest <= milliseconds <= limit.highest:
        unit.problems.add(
            "TB4010", "a time-out is longer than nothing and at most 24 hours", unit.source, node.span,
            "write one between them",
        )  # fmt: skip
    return milliseconds


def _find(unit: Unit, named: tree.Qualified, kind: str, contrast: str) -> Declared | None:
    """What a name stands for, where that is of ``kind``. ``contrast`` says in the report why nothing else will do."""
    target = unit.find(named.path, named.name, kind)
    if target is None or target.kind == kind:
        return target
    shown = "type" if target.is_type else target.kind
    unit.problems.add(
        "TB3007", f"`{target.name}` is {a(shown)}{contrast}", unit.source, named.span, f"name a {kind}",
        related=(target.related(unit),),
    )  # fmt: skip
    return None
