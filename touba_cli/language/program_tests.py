"""Tests in the language: what they replace, run and expect, checked against the program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..air.reach import reachable
from ..air.types import freeze, thaw
from ..limits import JSON_DEPTH
from . import tree
from .body import Body
from .code import depth_of
from .construct import arguments
from .diagnostics import Problems
from .forms import UNKNOWN, show
from .literals import plain_text
from .names import CALLED_KINDS, Declared, Unit, a
from .tree.tests import Expectation, Given, GivenAgent, GivenAnswer, GivenTool, TestDecl
from .triggers import STARTED_KINDS

if TYPE_CHECKING:
    from ..air.types import TypeForm
    from .authority import Authority
    from .signatures import Signatures
    from .types import Types

#: levels of the AIR document above an expression of a test, with room for what a reader wraps around it
_ABOVE = 10

#: how people decide, in a test → the kind of their gates, and how programs write it
_GATES = {"approve": ("approval", "human.approve"), "review": ("review", "human.review"), "ask": ("ask", "ask")}


class Program:
    """What tests are checked against: the whole program, compiled.

    ``failed`` says that it has errors: then nothing is said of what a test can reach.
    """

    def __init__(
        self,
        types: Types,
        signatures: Signatures,
        authority: Authority,
        callables: dict[str, dict[str, Any]],
        gates: dict[str, dict[str, Any]],
        problems: Problems,
    ):
        self.types = types
        self.signatures = signatures
        self.authority = authority
        self.callables = callables
        self.gates = gates
        self.problems = problems
        self.failed = problems.failed


def program_tests(program: Program, unit: Unit) -> list[tuple[dict[str, Any], list[tree.Span]]]:
    """Entries of AIR's `tests` for the tests of a module, each with the places of its lines: itself, and all others."""
    seen: dict[str, TestDecl] = {}
    found = []
    for node in unit.module.tests:
        name = plain_text(unit, node.name, "the name of a test is always the same")
        if name is not None and not name.strip():
            program.problems.add(
                "TB4012", "a test has no name", unit.source, node.name.span, "say what it shows"
            )  # fmt: skip
        elif name is not None:
            first = seen.setdefault(name, node)
            if first is not node:
                program.problems.add(
                    "TB3002", "two tests have this name", unit.source, node.name.span, "choose another name"
                )
        found.append(_Test(program, unit, node).entry(name or ""))
    return found


class _Test:
    def __init__(self, program: Program, unit: Unit, node: TestDecl):
        self.program = program
        self.unit = unit
        self.node = node
        self.body = Body(unit, "function", program.types, program.signatures, program.problems)
        #: what the run can reach; None where nothing can be said of it
        self.reached: set[str] | None = None

    def entry(self, name: str) -> tuple[dict[str, Any], list[tree.Span]]:
        node = self.node
        run = None if node.run is None else self._run(node.run)
        given = [entry for each in node.given if (entry := self._given(each)) is not None]
        expect = [entry for each in node.expect if (entry := self._expectation(each, run)) is not None]
        self._check_outcome()
        entry = {
            "name": name,
            "module": self.unit.name,
            "slots": [[slot, thaw(form)] for slot, form in self.body.scopes.slots],
            "given": given,
            "run": {} if run is None else {"ref": run[0].ref, "arguments": run[1]},
            "expect": expect,
        }
        places = [node, *node.given, *([] if node.run is None else [node.run]), *node.expect]
        return entry, [each.span for each in places]

    # --- what runs ----------------------------------------------------------------------------------------------------

    def _run(self, node: tree.Call) -> tuple[Declared, list[Any]] | None:
        target = self._find(
            node, STARTED_KINDS, "a test runs a strategy, skill, agent or function", "callable or function"
        )
        if target is None:
            return None
        given = self._arguments(target, node)
        if not self.program.failed:
            self.reached = reachable(self.program.callables, target.ref)
        return target, given

    def _find(
        self, node: tree.Call | tree.Qualified, kinds: tuple[str, ...], label: str, wanted: str = "callable"
    ) -> Declared | None:
        target = self.unit.find(node.path, node.name, wanted)
        if target is not None and target.kind not in kinds:
            shown = "type" if target.is_type else target.kind
            self._report("TB3007", f"`{target.name}` is {a(shown)}", node.name.span, label, related=target)
            target = None
        if target is None and isinstance(node, tree.Call):
            for argument in node.arguments:
                self.body.elaborate(argument.value, UNKNOWN)
        return target

    def _arguments(self, target: Declared, node: tree.Call) -> list[Any]:
        codes = arguments(self.body, self.program.signatures.of(target), node.arguments, node.span)
        for code in codes:
            self._check_depth(code, node)
        return codes

    # --- what is given ------------------------------------------------------------------------------------------------

    def _given(self, node: Given) -> dict[str, Any] | None:
        if isinstance(node, GivenAnswer):
            return self._given_answer(node)
        return self._given_agent(node) if isinstance(node, GivenAgent) else self._given_tool(node)

    def _subject(self, reference: tree.Reference, kind: str) -> Declared | None:
        """What a `given` replaces."""
        target = self.program.authority.resolve(self.unit, reference, (kind,))
        if target is None:
            return None
        if target.kind != kind:
            title = f"a test replaces tools, people and what agents decide, not {a(target.kind)}"
            self._report("TB5007", title, reference.span, "replace what it calls", related=target)
            return None
        if self.reached is not None and target.ref not in self.reached:
            title = f"this run never reaches {target.kind} `{target.name}`"
            self._report("TB6005", title, reference.span, "remove the line", related=target)
        return target

    def _given_tool(self, node: GivenTool) -> dict[str, Any] | None:
        target = self._subject(node.tool, "tool")
        if node.value is not None:
            if target is None:
                self.body.elaborate(node.value, UNKNOWN)
                return None
            signature = self.program.signatures.of(target)
            return {"kind": "tool", "ref": target.ref, "gives": self._value(node.value, signature.gives, "$")}
        code = "" if node.code is None else plain_text(self.unit, node.code, "a failure code is always the same")
        if node.code is not None and code is not None and not is_code(code):
            self._report(
                "TB4012", "a failure code is written like `CardDeclined`", node.code.span,
                "begin with a capital, then letters and digits",
            )  # fmt: skip
        return None if target is None else {"kind": "tool", "ref": target.ref, "fails": code}

    def _value(self, node: tree.Expr, declared: TypeForm, label: str) -> list[Any]:
        """The AIR of a value with a declared type; `none` stands for the value of `Nothing`."""
        if declared == "Nothing" and isinstance(node, tree.Literal) and node.kind == "none":
            return ["nothing"]
        code = self.body.place(node, declared, label)
        self._check_depth(code, node)
        return code

    def _given_answer(self, node: GivenAnswer) -> dict[str, Any]:
        kind, written = _GATES[node.kind]
        entry: dict[str, Any] = {"kind": node.kind}
        if node.gate is not None:
            entry["name"] = node.gate.text
        gates = self._gates(kind, node.gate)
        if gates is not None and not gates and not (kind == "review" and node.gate is None and self._agent_asks()):
            what = written if node.gate is None else f"{written} … named {node.gate.text}"
            span = node.span if node.gate is None else node.gate.span
            others = [] if node.gate is None else [ref.rpartition("/")[2] for ref in self._gates(kind, None) or ()]
            nearest = None if node.gate is None else self.program.problems.near(node.gate.text, others)
            label = f"did you mean `{nearest}`?" if nearest else "remove the line"
            self._report("TB6005", f"this run reaches no `{what}`", span, label)
        if node.word is not None:
            entry["answers"] = node.word.text
        elif node.value is not None:
            entry["gives"] = self._answer(node, node.value, gates)
        return entry

    def _answer(self, node: GivenAnswer, value: tree.Expr, gates: list[str] | None) -> list[Any]:
        """The AIR of an answer: its type is that of the gates that it is for."""
        forms = {freeze(self.program.gates[ref]["type"]) for ref in gates or ()}
        if len(forms) == 1:
            return self._value(value, forms.pop(), "$")
        if len(forms) > 1:
            shown = " and ".join(sorted(f"`{show(self.program.types.base(form))}`" for form in forms))
            self._report(
                "TB4005", f"which answer this is cannot be told: there are {shown}", node.span,
                "name the decision: `named …` before `answers`",
            )  # fmt: skip
        return self.body.elaborate(value, UNKNOWN).code if not forms else self.body.settled(value).code

    def _gates(self, kind: str, name: tree.Name | None) -> list[str] | None:
        """References of the gates that the run can reach; None where nothing can be said."""
        if self.reached is None:
            return None
        paths = {"/".join(ref.partition(":")[2].split("/")[:2]) for ref in self.reached}
        found = []
        for ref in self.program.gates:
            gate, _, rest = ref.partition(":")
            path, _, last = rest.rpartition("/")
            if gate == kind and path in paths and (name is None or last == name.text):
                found.append(ref)
        return found

    def _agent_asks(self) -> bool:
        """Whether an agent that the run can reach may ask for a review."""
        return any(self.program.callables[ref].get("reviews") for ref in self.reached or ())

    def _given_agent(self, node: GivenAgent) -> dict[str, Any] | None:
        target = self._subject(node.agent, "agent")
        proposals: list[dict[str, Any]] = []
        for each in node.proposals:
            if each.call is not None:
                called = self._find(
                    each.call, (*CALLED_KINDS, "function"), "an agent calls what it uses", "callable or function"
                )
                if called is not None:
                    proposals.append({"call": called.ref, "arguments": self._arguments(called, each.call)})
            elif each.answer is not None and target is None:
                self.body.elaborate(each.answer, UNKNOWN)
            elif each.answer is not None and target is not None:
                signature = self.program.signatures.of(target)
                proposals.append({"answer": self._value(each.answer, signature.gives, "$")})
        return None if target is None else {"kind": "agent", "ref": target.ref, "decides": proposals}

    # --- what is expected ---------------------------------------------------------------------------------------------

    def _expectation(self, node: Expectation, run: tuple[Declared, list[Any]] | None) -> dict[str, Any] | None:
        if node.kind == "effects":
            return {"kind": "effects", "times": 0}
        if node.kind == "status" and node.word is not None:
            return {"kind": "status", "is": node.word.text}
        if node.kind == "result" and node.value is not None:
            if run is None:
                self.body.elaborate(node.value, UNKNOWN)
                return None
            return {"kind": "result", "is": self._value(node.value, self.program.signatures.of(run[0]).base, "$")}
        if node.target is None or node.times is None:
            return None
        target = self._find(node.target, CALLED_KINDS, "calls are counted of tools, skills, strategies and agents")
        if target is None:
            return None
        if self.reached is not None and target.ref not in self.reached and node.times.value != 0:
            title = f"this run never reaches {target.kind} `{target.name}`"
            self._report("TB6005", title, node.target.span, "expect `0 times`, or remove the line", related=target)
        return {"kind": "calls", "ref": target.ref, "times": node.times.value}

    def _check_outcome(self) -> None:
        """Refuse expectations that contradict each other."""
        states = [each for each in self.node.expect if each.kind == "status" and each.word is not None]
        for each in states[1:]:
            self._report(
                "TB6005", "a run ends in one way, and another is expected before", each.span, "remove the line"
            )
        for each in self.node.expect:
            if each.kind == "result" and states and states[0].word is not None and states[0].word.text != "success":
                title = f"a run that is `{states[0].word.text}` has no result"
                self._report("TB6005", title, each.span, "remove the line")

    # --- problems -----------------------------------------------------------------------------------------------------

    def _check_depth(self, code: Any, node: tree.Node) -> None:
        if depth_of(code) > JSON_DEPTH - _ABOVE:
            self._report("TB9006", "the expression is nested too deep", node.span, "take a smaller value")

    def _report(self, code: str, title: str, span: tree.Span, label: str, *, related: Declared | None = None) -> None:
        places = () if related is None else (related.related(self.unit),)
        self.body.report(code, title, span, label, related=places)


def is_code(text: str) -> bool:
    """Whether a text is written as failure codes are."""
    return text.isascii() and text.isalnum() and text[:1].isupper()
