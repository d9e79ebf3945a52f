"""The compiler's door: source files in, an AIR document or problems out.

The passes: `names` reads and binds modules, `types` and `signatures` resolve what is declared, `statements` and the
expressions below it check every body and make its code, and this module puts the document together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import __version__
from ..air.program import AIR_PROTOCOL, SEMANTICS, program_digest
from ..air.types import thaw
from ..codec import sha256
from . import construct, expressions, operators, tree
from .body import Body
from .diagnostics import Diagnostic, Problems
from .effects import tool_entry
from .names import Declared, Program, load_program, report_unused_imports
from .signatures import Signature, Signatures
from .source import Sources
from .statements import Lines
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
    """Checks the callables of a program and puts the AIR document together."""

    def __init__(self, program: Program, types: Types, signatures: Signatures, problems: Problems):
        self.program = program
        self.types = types
        self.signatures = signatures
        self.problems = problems
        self.features: set[str] = set()
        self.files = sorted(unit.path for unit in program.units)
        self.spans: dict[str, list[list[int]]] = {}

    def document(self) -> dict[str, Any]:
        callables = {ref: self._callable(signature) for ref, signature in self.signatures.by_ref.items()}
        document: dict[str, Any] = {
            "protocol": AIR_PROTOCOL,
            "semantics": SEMANTICS,
            "requires": sorted(self.features),
            "modules": sorted(unit.name for unit in self.program.units),
            "types": self.types.document,
            "callables": callables,
        }
        if not self.problems.failed:
            document["digest"] = program_digest(document)
        document["source_map"] = {"files": self.files, "callables": self.spans}
        document["build"] = {
            "compiler": __version__,
            "sources": {path: sha256(data) for path, data in self.program.sources.items()},
        }
        return document

    def _callable(self, signature: Signature) -> dict[str, Any]:
        declared = signature.declared
        node = declared.node
        assert isinstance(node, (tree.CallableDecl, tree.ToolDecl))
        takes: list[dict[str, Any]] = []
        for each, decl in zip(signature.takes, node.takes, strict=True):
            takes.append({"name": each.name, "type": thaw(each.declared)})
            if decl.doc is not None:
                takes[-1]["doc"] = decl.doc
        entry: dict[str, Any] = {"takes": takes, "gives": thaw(signature.gives)}
        if node.doc is not None:
            entry["doc"] = node.doc
        if isinstance(node, tree.ToolDecl):
            self.features.add("tools")
            return {**entry, **tool_entry(declared)}
        return {**entry, **self._body(declared, signature, node)}

    def _body(self, declared: Declared, signature: Signature, node: tree.CallableDecl) -> dict[str, Any]:
        body = Body(declared.unit, declared.kind, self.types, self.signatures, self.problems)
        lines = Lines(body, signature, node)
        made = lines.run()
        if self.problems.failed:
            return made
        if any(instruction[0] == "attempt" for instruction in lines.code.instructions):
            self.features.add("attempt")
        file = self.files.index(declared.unit.path)
        source = declared.unit.source
        self.spans[declared.ref] = [
            [file, *source.position(span.start), *source.position(span.end)] for span in lines.code.spans
        ]
        return {**made, "cost": lines.code.finish()}
