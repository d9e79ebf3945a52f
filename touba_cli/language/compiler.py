"""The compiler's door: source files in, an AIR document or problems out.

The passes: `names` reads and binds modules, `types` and `signatures` resolve what is declared, `statements` and the
expressions below it check every body and make its code, and this module puts the document together.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

from .. import __version__
from ..air.program import AIR_PROTOCOL, SEMANTICS, features, mentions_outcome, program_digest
from ..air.types import thaw
from ..codec import sha256
from . import construct, expressions, operators, program_tests, tree
from .agents import agent_entry, memory_entry
from .authority import Authority
from .body import Body
from .code import Code
from .diagnostics import Diagnostic, Problems
from .names import Declared, Program, Unit, load_program, report_unused_imports
from .owner import Owner
from .records import dataclass
from .results import DeclaredResult
from .signatures import Signature, Signatures
from .source import Sources
from .statements import Lines
from .tools import Tools
from .triggers import Triggers
from .types import Types

#: modules whose rules `Body.elaborate` finds
_RULE_MODULES = (construct, expressions, operators)


@dataclass(frozen=True, slots=True)
class Compiled:
    """What a compilation came to: ``air`` is None where ``failed``; ``diagnostics`` are sorted by place."""

    air: dict[str, Any] | None
    diagnostics: list[Diagnostic]

    @property
    def failed(self) -> bool:
        return self.air is None


def compile_program(sources: Sources, entry: str) -> Compiled:
    """Compile the program whose entry file is ``entry``, with every module that it imports.

    Parameters:
        sources: where files come from; the compiler opens nothing itself.
        entry: the path of the entry file as `sources` knows it, such as ``review.tb``.

    Returns:
        the AIR document with digest, source map and build, or None in its place where there are errors, and all
        problems of all modules. The same texts give the same bytes.

    Raises:
        OSError: where the entry file cannot be read.

    Example:
        >>> from touba_cli.project.sources import ProjectSources  # doctest: +SKIP
        >>> compile_program(ProjectSources("."), "shop.tb").failed  # doctest: +SKIP
        False
    """
    # What a compilation makes lives to its end: the collector would only walk all of it again and again.
    collects = gc.isenabled()
    gc.disable()
    try:
        return _compile(sources, entry)
    finally:
        if collects:
            gc.enable()


def _compile(sources: Sources, entry: str) -> Compiled:
    problems = Problems()
    program = load_program(sources, entry, problems)
    read = {id(each) for each in problems.found}
    types = Types(program, problems)
    signatures = Signatures(program, types)
    maker = _Maker(program, types, signatures, problems)
    air = maker.document()
    for unit in program.units:
        report_unused_imports(unit)
    problems.found = [each for each in problems.found if not _follows(each, program, read)]
    return Compiled(None if problems.failed else air, problems.sorted())


def _follows(problem: Diagnostic, program: Program, read: set[int]) -> bool:
    """Whether a problem may only follow from something that could not be read: it is in the same line, or a warning."""
    if id(problem) in read:
        return False
    broken = next((unit.broken for unit in program.units if unit.source is problem.source), frozenset())
    if not broken:
        return False
    return problem.severity == "warning" or problem.source.position(problem.span.start)[0] in broken


class _Maker:
    """Checks the declarations of a program and puts the AIR document together."""

    def __init__(self, program: Program, types: Types, signatures: Signatures, problems: Problems):
        self.program = program
        self.types = types
        self.signatures = signatures
        self.problems = problems
        self.authority = Authority(program, problems)
        self.tools = Tools(program, types, signatures, problems)
        self.files = sorted(unit.path for unit in program.units)
        self.spans: dict[str, list[list[int]]] = {}
        self.callables: dict[str, dict[str, Any]] = {}
        self.gates: dict[str, dict[str, Any]] = {}

    def document(self) -> dict[str, Any]:
        for signature in self.signatures.by_ref.values():
            self._callable(signature)
        document: dict[str, Any] = {
            "protocol": AIR_PROTOCOL,
            "semantics": SEMANTICS,
            "requires": [],
            "modules": sorted(unit.name for unit in self.program.units),
            "types": self.types.document,
            "callables": self.callables,
        }
        triggers = Triggers(self.program, self.types, self.signatures, self.authority, self.problems)
        parts = {
            "memories": {each.ref: memory_entry(each, self.types) for each in self._declared("memory")},
            "gates": self.gates,
            "triggers": {each.ref: triggers.entry(each) for each in self._declared("trigger")},
        }
        document.update((name, part) for name, part in parts.items() if part)
        tests = self._tests()
        if not self.problems.failed:
            document["requires"] = sorted(features(document, mentions_outcome(document)))
            document["digest"] = program_digest(document)
        document["source_map"] = {"files": self.files, "callables": self.spans}
        if tests:
            document["tests"] = [entry for entry, _ in tests]
            document["source_map"]["tests"] = [spans for _, spans in tests]
        document["build"] = {
            "compiler": __version__,
            "sources": {path: sha256(data) for path, data in self.program.sources.items()},
        }
        return document

    def _declared(self, kind: str) -> Iterator[Declared]:
        for unit in self.program.units:
            for declared in unit.declared.values():
                if declared.kind == kind:
                    yield declared

    # --- callables ----------------------------------------------------------------------------------------------------

    def _callable(self, signature: Signature) -> None:
        """Enter a callable, with the branches of its groups."""
        declared = signature.declared
        node = declared.node
        assert isinstance(node, (tree.CallableDecl, tree.ToolDecl, tree.AgentDecl))
        takes: list[dict[str, Any]] = []
        for each, decl in zip(signature.takes, node.takes, strict=True):
            takes.append({"name": each.name, "type": thaw(each.declared)})
            if decl.doc is not None:
                takes[-1]["doc"] = decl.doc
        entry: dict[str, Any] = {"takes": takes, "gives": thaw(signature.gives)}
        if node.doc is not None:
            entry["doc"] = node.doc
        if declared.ref in self.authority.callers:
            entry["callable_by"] = sorted(self.authority.callers[declared.ref])
        self.callables[declared.ref] = entry
        if isinstance(node, tree.ToolDecl):
            entry.update(self.tools.entry(declared))
            if node.key is not None:
                self.spans[declared.ref] = [self._place(declared.unit, node.key.span)]
        elif isinstance(node, tree.AgentDecl):
            entry.update(agent_entry(declared, self.authority, self.problems))
        else:
            entry.update(self._body(declared, signature, node))

    def _body(self, declared: Declared, signature: Signature, node: tree.CallableDecl) -> dict[str, Any]:
        body = Body(declared.unit, declared.kind, self.types, self.signatures, self.problems)
        owner = Owner(declared, self.types, self.authority, self.problems)
        lines = Lines(body, owner, DeclaredResult(signature, node))
        before = len(self.problems.found)
        made = lines.run(signature, node)
        self.problems.forget_unused(before)
        self.gates.update(owner.gates)
        for ref, (entry, code) in owner.branches.items():
            self.callables[ref] = {**entry, **self._finished(declared.unit, ref, code)}
        return {**made, **self._finished(declared.unit, declared.ref, lines.code)}

    def _finished(self, unit: Unit, ref: str, code: Code) -> dict[str, Any]:
        """Code with its costs, and its places in the source map."""
        if self.problems.failed:
            return {"cost": 0, "code": []}
        self.spans[ref] = [self._place(unit, span) for span in code.spans]
        return {"cost": code.finish(), "code": code.instructions}

    def _place(self, unit: Unit, span: tree.Span) -> list[int]:
        """A place as the source map writes it."""
        file = self.files.index(unit.path)
        return [file, *unit.source.position(span.start), *unit.source.position(span.end)]

    # --- tests --------------------------------------------------------------------------------------------------------

    def _tests(self) -> list[tuple[dict[str, Any], list[list[int]]]]:
        """AIR's `tests`, in the order of the modules' names, each with the places of its lines."""
        program = program_tests.Program(
            self.types, self.signatures, self.authority, self.callables, self.gates, self.problems
        )
        return [
            (entry, [self._place(unit, span) for span in spans])
            for unit in sorted(self.program.units, key=lambda unit: unit.name)
            for entry, spans in program_tests.program_tests(program, unit)
        ]
