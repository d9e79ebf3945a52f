"""Triggers: what starts a callable from outside, and how its inputs are filled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..air.outside import FAULTS, fault_of_zone
from . import tree
from .agents import bounded
from .body import Body
from .diagnostics import Problems
from .forms import is_optional
from .literals import plain_text
from .names import Declared, Program, a, report_duplicates

if TYPE_CHECKING:
    from .authority import Authority
    from .signatures import Signature, Signatures
    from .types import Types

#: what may be started
STARTED_KINDS: tuple[str, ...] = ("strategy", "skill", "agent", "function")

#: how each source of events is written
_EXAMPLES = {"schedule": '"0 7 * * 1-5"', "webhook": '"/orders"', "event": '"order.paid"'}

#: what a path into an event begins with
EVENT_PARTS: tuple[str, ...] = ("body",)


class Triggers:
    """Checks the triggers of a program."""

    def __init__(
        self, program: Program, types: Types, signatures: Signatures, authority: Authority, problems: Problems
    ):
        self._types = types
        self._signatures = signatures
        self._authority = authority
        self._problems = problems
        #: path of a webhook → the trigger that has it
        self._paths: dict[str, Declared] = {}

    def entry(self, declared: Declared) -> dict[str, Any]:
        """Check the clauses of a trigger and make its entry in AIR's `triggers`."""
        node = declared.node
        assert isinstance(node, tree.TriggerDecl)
        unit = declared.unit
        entry: dict[str, Any] = {"on": self._source(declared, node), "starts": "", "payload": {}}
        report_duplicates(unit, (each.name for each in node.payload), "input")
        if node.starts is not None:
            target = self._authority.resolve(unit, node.starts, STARTED_KINDS)
            if target is not None and target.kind not in STARTED_KINDS:
                unit.problems.add(
                    "TB3007", f"{a(target.kind)} is never started by itself", unit.source, node.starts.span,
                    "start a strategy that calls it", related=(target.related(unit),),
                )  # fmt: skip
            elif target is not None:
                entry["starts"] = target.ref
                entry["payload"] = self._payload(declared, node, self._signatures.of(target))
        if node.quota is not None:
            count, period = node.quota
            number = bounded(unit, count, "trigger_quota", "events of a quota")
            entry["quota"] = {"count": number, "per": period.text}
        if node.doc is not None:
            entry["doc"] = node.doc
        return entry

    # --- when it starts -----------------------------------------------------------------------------------------------

    def _source(self, declared: Declared, node: tree.TriggerDecl) -> dict[str, Any]:
        if node.source is None or node.where is None:
            return {}
        unit = declared.unit
        kind = node.source.text
        member = {"schedule": "cron", "webhook": "path", "event": "name"}[kind]
        text = plain_text(unit, node.where, "when a trigger starts is the same in every run")
        if text is None:
            return {}
        fault = FAULTS[kind](text)
        if fault is not None:
            unit.problems.add("TB4012", fault, unit.source, node.where.span, f"write it like `{_EXAMPLES[kind]}`")
        found: dict[str, Any] = {"kind": kind, member: text}
        if kind == "webhook":
            first = self._paths.setdefault(text, declared)
            if first is not declared:
                unit.problems.add(
                    "TB3002", f"the path `{text[:60]}` starts another trigger already", unit.source, node.where.span,
                    "choose another path", related=(first.related(unit, "this one"),),
                )  # fmt: skip
        if node.zone is not None:
            zone = plain_text(unit, node.zone, "a time zone is the same in every run")
            if zone is not None:
                fault = fault_of_zone(zone)
                if fault is not None:
                    unit.problems.add("TB4012", fault, unit.source, node.zone.span, 'write it like `"Europe/Paris"`')
                found["timezone"] = zone
        return found

    # --- inputs -------------------------------------------------------------------------------------------------------

    def _payload(self, declared: Declared, node: tree.TriggerDecl, signature: Signature) -> dict[str, Any]:
        unit = declared.unit
        by_name = {each.name: each for each in signature.takes}
        body = Body(unit, "function", self._types, self._signatures, self._problems)
        found: dict[str, Any] = {}
        misspelt: set[str | None] = set()
        for line in node.payload:
            name = line.name.text
            target = by_name.get(name)
            if target is None:
                nearest = unit.problems.near(name, list(by_name))
                misspelt.add(nearest)
                unit.problems.add(
                    "TB4003", f"`{signature.name}` takes no `{name}`", unit.source, line.name.span,
                    f"did you mean `{nearest}`?" if nearest else "write one that it has",
                    related=signature.related(unit), candidates=(nearest,) if nearest else tuple(by_name),
                )  # fmt: skip
            elif line.value is not None:
                found[name] = {"is": body.place(line.value, target.declared, name, "the input has this type")}
            else:
                self._check_path(declared, line)
                found[name] = {"from": [each.text for each in line.path]}
        given = {line.name.text for line in node.payload} | misspelt
        missing = [each for each in signature.takes if each.name not in given and not is_optional(each.base)]
        if missing and node.starts is not None:
            shown = ", ".join(f"`{each.name}`" for each in missing)
            unit.problems.add(
                "TB4003", f"`{signature.name}` needs {shown}", unit.source, node.starts.span,
                "add to `payload`: " + ", ".join(f"`{each.name} from body.{each.name}`" for each in missing),
                related=signature.related(unit), candidates=tuple(each.name for each in missing),
            )  # fmt: skip
        return found

    def _check_path(self, declared: Declared, line: tree.PayloadDecl) -> None:
        first = line.path[0]
        if first.text not in EVENT_PARTS:
            declared.unit.problems.add(
                "TB3001", f"an event has no part `{first.text}`", declared.unit.source, first.span,
                f"write `from body.{'.'.join(each.text for each in line.path)}`", candidates=EVENT_PARTS,
            )  # fmt: skip
