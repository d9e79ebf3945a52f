"""Who may call whom: `callable_by` of skills and agents, `uses` of agents.

Strategies and skills call freely, except what names its callers and does not name them. An agent reaches only what it
uses; whether it may call that is decided again when it proposes it.
"""

from __future__ import annotations

from . import tree
from .diagnostics import Fix, Problems, Related
from .names import Declared, Program, Unit, a
from .source import Source
from .words import REFERENCE_WORDS

#: what calls anything
CALLER_KINDS: tuple[str, ...] = ("strategy", "skill", "agent")

#: what says who may call it
GUARDED_KINDS: tuple[str, ...] = ("skill", "agent")


class Authority:
    """The authority clauses of a program, with their names resolved."""

    def __init__(self, program: Program, problems: Problems):
        self._problems = problems
        #: reference of an agent → what it uses, in the order of the program
        self.uses: dict[str, list[Declared]] = {}
        #: reference of a skill or agent with `callable_by` → references of those that may call it
        self.callers: dict[str, list[str]] = {}
        #: those with a caller that could not be told: nothing is said of their callers
        self._doubtful: set[str] = set()
        guarded = [each for unit in program.units for each in unit.declared.values() if each.kind in GUARDED_KINDS]
        for declared in guarded:
            self._resolve_callers(declared)
        for declared in guarded:
            if isinstance(declared.node, tree.AgentDecl):
                self._resolve_uses(declared, declared.node)

    def check_call(self, caller: Declared, node: tree.Call, called: Declared) -> None:
        """Report a call that the called one does not allow."""
        allowed = self.callers.get(called.ref)
        if allowed is None or caller.ref in allowed or called.ref in self._doubtful:
            return
        callers = _clause(called)
        known = tuple(ref.partition(":")[0] + " " + ref.rpartition("/")[2] for ref in allowed)
        self._problems.add(
            "TB5004",
            f"{caller.kind} `{caller.name}` may not call {called.kind} `{called.name}`",
            caller.unit.source,
            node.span,
            "this call",
            related=(
                Related(callers, f"`{called.name}` accepts only these callers", _source(called.unit, caller.unit)),
            ),
            help=f"add `{caller.kind} {caller.name}` to `callable_by` of `{called.name}`, or call what lists it",
            candidates=known,
        )

    # --- clauses -----------------------------------------------------------------------------------------------------

    def _resolve_callers(self, declared: Declared) -> None:
        node = declared.node
        assert isinstance(node, (tree.CallableDecl, tree.AgentDecl))
        if node.callers is None:
            return
        found = self.callers[declared.ref] = []
        if not node.callers:
            self._doubtful.add(declared.ref)  # it could not be read
        seen: dict[str, tree.Reference] = {}
        for reference in node.callers:
            target = self.resolve(declared.unit, reference, CALLER_KINDS)
            if target is None:
                self._doubtful.add(declared.ref)
            elif target.kind not in CALLER_KINDS:
                self._problems.add(
                    "TB3007", f"{a(target.kind)} calls nothing", declared.unit.source, reference.span,
                    "name strategies, skills and agents", related=(target.related(declared.unit),),
                )  # fmt: skip
            elif not self._twice(declared.unit, reference, target, seen):
                found.append(target.ref)

    def _resolve_uses(self, agent: Declared, node: tree.AgentDecl) -> None:
        found = self.uses[agent.ref] = []
        seen: dict[str, tree.Reference] = {}
        for reference in node.uses:
            target = self.resolve(agent.unit, reference)
            if target is None or self._twice(agent.unit, reference, target, seen):
                continue
            found.append(target)
            allowed = self.callers.get(target.ref)
            if allowed is None or agent.ref in allowed or target.ref in self._doubtful:
                continue
            place = Related(
                _clause(target), f"`{target.name}` accepts only these callers", _source(target.unit, agent.unit)
            )
            self._problems.add(
                "TB8005", f"agent `{agent.name}` uses {target.kind} `{target.name}`, which does not let it call",
                agent.unit.source, reference.span,
                f"remove it, or add `agent {agent.name}` to `callable_by` of `{target.name}`", related=(place,),
            )  # fmt: skip

    def _twice(self, unit: Unit, reference: tree.Reference, target: Declared, seen: dict[str, tree.Reference]) -> bool:
        first = seen.setdefault(target.ref, reference)
        if first is reference:
            return False
        self._problems.add(
            "TB3002", f"`{target.name}` stands twice", unit.source, reference.span, "remove it",
            related=(Related(first.span, "the first"),),
        )  # fmt: skip
        return True

    def resolve(
        self, unit: Unit, reference: tree.Reference, kinds: tuple[str, ...] = REFERENCE_WORDS
    ) -> Declared | None:
        """What a reference names; None where there is no such thing, or one of another kind, which is reported.

        ``kinds`` are those that may stand in this place: only they are proposed.
        """
        kind = reference.kind.text
        found = unit.find(reference.target.path, reference.target.name, kind)
        if found is None or found.kind == kind:
            return found
        shown = "type" if found.is_type else found.kind
        fits = found.kind in kinds
        self._problems.add(
            "TB3007", f"`{found.name}` is {a(shown)}, not {a(kind)}", unit.source,
            reference.kind.span if fits else reference.target.span,
            f"write `{found.kind} {found.name}`" if fits else f"name {a(kind)}", related=(found.related(unit),),
            fix=Fix(reference.kind.span, found.kind) if fits else None,
        )  # fmt: skip
        return None


def _clause(declared: Declared) -> tree.Span:
    """The callers in the `callable_by` of a declaration."""
    node = declared.node
    assert isinstance(node, (tree.CallableDecl, tree.AgentDecl))
    callers = node.callers or []
    if not callers:
        return node.name.span
    return tree.Span(callers[0].span.start, callers[-1].span.end)


def _source(unit: Unit, seen_from: Unit) -> Source | None:
    return None if unit is seen_from else unit.source
