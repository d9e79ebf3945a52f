"""What the generator has used: kinds of tree nodes, operations and features, over many programs.

`python -m tests.generated.coverage [PROGRAMS]` prints it, together with the share of mutants that still compile.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

from tests.generated.governed import governed_program
from tests.generated.mutants import mutated
from tests.generated.programs import Source, program
from tests.generated.running import compiled
from touba_cli.air.operations import OPERATIONS
from touba_cli.language import tree
from touba_cli.language.diagnostics import Problems
from touba_cli.language.format import read_module
from touba_cli.language.format_lines import nodes_of
from touba_cli.language.source import Source as File
from touba_cli.language.tree import tests as tree_tests

#: node, operation or construct → why no program has it
LEFT_OUT: dict[str, str] = {
    "Unknown": "stands only where a line could not be read",
    "UnknownType": "stands only where a type could not be read",
    "Node": "the class that all others share",
}


def node_kinds() -> set[str]:
    """The names of all kinds of tree nodes."""
    found = set()
    for module in (tree, tree_tests):
        for name, each in vars(module).items():
            if isinstance(each, type) and issubclass(each, tree.Node):
                found.add(name)
    return found


def used_nodes(source: Source) -> Counter[str]:
    """How often each kind of node stands in a program."""
    found: Counter[str] = Counter()
    for path, text in source.files.items():
        read = read_module(File(path, text), Problems())
        found.update(type(node).__name__ for node in nodes_of(read.module))
    return found


def used_operations(code: Any) -> Counter[str]:
    """How often each operation stands in a part of an AIR document."""
    found: Counter[str] = Counter()
    waiting = [code]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            waiting.extend(node.values())
        elif isinstance(node, list):
            if node and node[0] == "text" and len(node) == 2:
                continue
            waiting.extend(node)
            found.update(each for each in node if isinstance(each, str) and each in OPERATIONS)
    return found


class Coverage:
    """Counts over many programs."""

    def __init__(self) -> None:
        self.nodes: Counter[str] = Counter()
        self.operations: Counter[str] = Counter()
        self.features: Counter[str] = Counter()
        self.programs = 0

    def add(self, source: Source, air: dict[str, Any]) -> None:
        self.programs += 1
        self.nodes += used_nodes(source)
        self.features.update(air["requires"])
        for each in air["callables"].values():
            self.operations += used_operations(each.get("code", []))

    def missing(self) -> list[str]:
        """Kinds of nodes and operations that nothing used and that are not left out on purpose."""
        wanted = node_kinds() | set(OPERATIONS)
        return sorted(wanted - set(self.nodes) - set(self.operations) - set(LEFT_OUT))

    def report(self) -> str:
        lines = [f"{self.programs} programs"]
        for title, counts in (("nodes", self.nodes), ("operations", self.operations), ("features", self.features)):
            shown = ", ".join(f"{name} {count}" for name, count in counts.most_common())
            lines.append(f"{title} ({len(counts)}): {shown}")
        lines.append(f"never used: {', '.join(self.missing()) or 'nothing'}")
        return "\n".join(lines)


def cover(programs: int, governed: int) -> Coverage:
    """What so many programs of each kind use."""
    found = Coverage()
    for make, count in ((program, programs), (governed_program, governed)):
        for seed in range(count):
            source = make(seed)
            air = compiled(source.files).air
            assert air is not None, source
            found.add(source, air)
    return found


def surviving(programs: int, each: int) -> tuple[int, int]:
    """How many of so many mutants still compile, and how many there were."""
    alive = total = 0
    for seed in range(programs):
        source = program(seed)
        for number in range(each):
            files = mutated(source.files, seed * 1_000 + number)
            total += 1
            alive += compiled(files).air is not None
    return alive, total


def main() -> None:
    programs = int(sys.argv[1]) if len(sys.argv) > 1 else 150
    print(cover(programs, programs).report())
    alive, total = surviving(programs, 5)
    print(f"{alive} of {total} mutants compile ({100 * alive // total} %)")


if __name__ == "__main__":
    main()
