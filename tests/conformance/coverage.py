"""What no conformance case shows, computed from the tables of the product.

    python -m tests.conformance.coverage

prints, for every table, the rows that no case compiles, runs or expects. A row that a case cannot reach stands in `EXCUSED`
with the reason and the test that reaches it. `test_coverage.py` keeps the list empty.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

from lark import Lark, Token
from lark.exceptions import LarkError
from lark.indenter import DedentError

from tests.conformance.cases import CASES, Case, CaseSources
from tests.grammar import oracle
from touba_cli.air import verify_expr, verify_flow
from touba_cli.air.costs import instruction_expressions, operands
from touba_cli.air.literals import LITERALS
from touba_cli.air.operations import OPERATIONS, ROUNDING_MODES
from touba_cli.air.program import FEATURES
from touba_cli.air.types import GENERIC_TYPES, PLAIN_TYPES
from touba_cli.errors import CODES as ERRORS
from touba_cli.language import tree
from touba_cli.language.compiler import Compiled, compile_program
from touba_cli.language.diagnostics import CODES as DIAGNOSTICS
from touba_cli.language.diagnostics import Problems
from touba_cli.language.parse_lines import parse_module
from touba_cli.language.source import Source
from touba_cli.language.tree import tests as test_tree
from touba_cli.language.words import CONSTRAINT_WORDS, UNITS
from touba_cli.outcomes import OUTCOMES
from touba_cli.runtime.events import EVENTS
from touba_cli.values.formats import FORMATS
from touba_cli.values.functions import FUNCTIONS

#: problems of texts that the grammar reads (docs/grammar.md: what it does not say)
_BESIDES = {"TB2009", "TB2010", "TB2013", "TB2014"}

_ENGINE = "only the engine reports it: tests/engine"
_LARGE = "more than 32 MiB have to be made: tests/engine/test_large.py"
_CANCEL = "nobody cancels a case while it runs: tests/runtime/test_driver.py"

#: table → row → why no case can reach it, and what does
EXCUSED: dict[str, dict[str, str]] = {
    "diagnostic codes": {
        "TB9005": "a program of more than 1,000 files: tests/language/pages.py",
    },
    "error codes": {
        "RequestTooLarge": _LARGE,
        "MessagesTooLarge": "more than 32 MiB have to be shown: tests/runtime/test_bounds.py",
        "ResponseTooLarge": _LARGE,
        "DeadlineExceeded": "how far a run gets in a time is not the same everywhere: tests/runtime/test_driver.py",
        "AirUnsound": "compiled programs never do it: tests/runtime/test_interpreter.py",
        "HandlerNotStarted": "the system has to refuse a program that may be executed: tests/runtime/test_driver.py",
        "InternalError": "the runtime has to fail itself: tests/runtime/test_bounds.py",
        **dict.fromkeys(
            (
                "EngineClosed", "EngineForked", "IncompatibleRuntime", "InterpreterNotFound", "RuntimeNotFound",
                "RuntimeNotStarted", *(code for code, row in ERRORS.items() if row.phase == "transport"),
            ),
            _ENGINE,
        ),
    },
    "outcomes": {"cancelled cancelled": _CANCEL},
    "events": {"run_cancelled": _CANCEL},
    "grammar": {
        "word: SORTED": "no sentence has a bracket behind a field that is called `sorted`: tests/grammar/touba.lark",
    },
}  # fmt: skip


def _node_classes() -> Iterator[str]:
    """The names of all classes of nodes that a tree can hold."""
    for module in (tree, test_tree):
        for name, found in vars(module).items():
            if isinstance(found, type) and issubclass(found, tree.Node) and found is not tree.Node:
                yield name


class Coverage:
    """Table → its rows, and table → the rows that cases reach."""

    def __init__(self) -> None:
        self._parser = Lark(
            oracle._grammar(), parser="lalr", start=["file", "expr"], postlex=oracle.Layout(), maybe_placeholders=False
        )
        self._reduced: set[str] = set()
        alternatives = self._watch_grammar()
        self.rows: dict[str, list[str]] = {
            "diagnostic codes": list(DIAGNOSTICS),
            "error codes": list(ERRORS),
            "outcomes": [f"{status} {reason}" for status, reason, _ in OUTCOMES.values()],
            "events": list(EVENTS),
            "features": list(FEATURES),
            "instructions": list(verify_flow._RULES),
            "expressions": [*LITERALS, *verify_expr._RULES],
            "operations": list(dict.fromkeys([*OPERATIONS, *FUNCTIONS])),
            "rounding modes": list(ROUNDING_MODES),
            "types": [*PLAIN_TYPES, *GENERIC_TYPES, "Entry", "Problem", "record", "choice", "alias"],
            "constraints": [
                *(word for word in CONSTRAINT_WORDS if word != "format"),
                *(f"format {each}" for each in FORMATS),
            ],
            "tree nodes": sorted(set(_node_classes())),
            "units": list(UNITS),
            "grammar": alternatives,
        }
        self.reached: dict[str, set[str]] = {table: set() for table in self.rows}

    def missing(self, table: str) -> list[str]:
        """The rows of a table that no case reaches, without those that none can."""
        return [row for row in self.rows[table] if row not in self.reached[table] and row not in EXCUSED.get(table, {})]

    def measure(self, cases: Iterable[Case]) -> None:
        """Compile every case once and note what it reaches."""
        for case in cases:
            self._expectations(case)
            if not case.entry.endswith(".tb"):
                continue
            found = compile_program(CaseSources(case), case.entry)
            if found.air is not None:
                self._air(found, ends=bool({"expect result", "expect outcome"} & case.sections.keys()))
            if "fill" not in case.sections:
                sentence = all(
                    each.code[:3] not in ("TB1", "TB2") or each.code in _BESIDES for each in found.diagnostics
                )
                for name in case.files:
                    if name.endswith(".tb"):
                        self._text(case.files[name], found.air is not None, sentence)
        self.reached["grammar"] |= self._reduced

    # --- what a case expects -----------------------------------------------------------------------------------------

    def _expectations(self, case: Case) -> None:
        self.reached["diagnostic codes"].update(line.split(" ")[1] for line in case.lines("expect check"))
        self.reached["features"].update(case.sections.get("expect requires", "").split())
        self.reached["events"].update(line.split(" ")[0] for line in case.lines("expect trace"))
        outcome = case.lines("expect outcome")
        if outcome:
            status, reason = outcome[0].split(" ")
            self.reached["outcomes"].add(outcome[0])
            if status == "failed":
                self.reached["error codes"].add(reason)
        if "expect result" in case.sections:
            self.reached["outcomes"].add("success completed")

    # --- what is compiled ---------------------------------------------------------------------------------------------

    def _air(self, found: Compiled, ends: bool) -> None:
        """Note what a compiled program holds; operations count where the case says how the run ends."""
        assert found.air is not None
        for declared in found.air["types"].values():
            self.reached["types"].add(declared["kind"])
        self._types(
            {name: found.air[name] for name in ("types", "callables", "memories", "gates") if name in found.air}
        )
        for declared in found.air["callables"].values():
            for instruction in declared.get("code", ()):
                self.reached["instructions"].add(instruction[0])
                for expression in instruction_expressions(instruction):
                    self._expression(expression, ends)
            if "key" in declared:
                self._expression(declared["key"]["value"], ends)

    def _expression(self, node: list[Any], ends: bool) -> None:
        waiting = [node]
        while waiting:
            found = waiting.pop()
            name = found[0]
            if name not in OPERATIONS:
                self.reached["expressions"].add(name)
            names = found[2::2] if name == "chain" else [name]
            if ends:
                self.reached["operations"].update(names)
            if name == "round.mode" and ends:
                self.reached["rounding modes"].add(found[3][1])
            waiting.extend(operands(found))
            if name == "collect":
                waiting.extend(each for each in found[3:] if each is not None)

    def _types(self, document: Any) -> None:
        """Note every name of a type, wherever it stands in a document."""
        waiting = [document]
        while waiting:
            found = waiting.pop()
            if isinstance(found, dict):
                waiting.extend(found.values())
            elif isinstance(found, list):
                if found and found[0] in ("text", "dec", "float", "date", "datetime", "duration"):
                    continue
                waiting.extend(found)
            elif isinstance(found, str):
                self.reached["types"].add("Problem" if found == "type:touba/Problem" else found)

    # --- what is written ----------------------------------------------------------------------------------------------

    def _text(self, text: str, sound: bool, sentence: bool) -> None:
        """Note what a file holds; ``sentence``: nothing was said against its syntax."""
        module = parse_module(Source("case.tb", text), Problems())
        for node in _nodes(module):
            self.reached["tree nodes"].add(type(node).__name__)
            if isinstance(node, tree.Constraint) and sound:
                bound = node.bound.value if node.word == "format" and isinstance(node.bound, tree.Literal) else ""
                self.reached["constraints"].add(f"{node.word} {bound}".strip())
        if sentence:
            try:
                self._parser.parse(text, start="file")
            except (LarkError, DedentError) as refused:
                if sound:
                    raise AssertionError(f"the grammar does not read what compiles:\n{text}\n{refused}") from None

    def _watch_grammar(self) -> list[str]:
        """Let the parser of the grammar note the alternatives that it reads; the names of all that it has."""
        callbacks = self._parser.parser.parser.parser.callbacks
        alternatives = []
        for rule, build in list(callbacks.items()):
            origin = rule.origin.name.value if isinstance(rule.origin.name, Token) else rule.origin.name
            written = " ".join(_symbol(symbol.name) for symbol in rule.expansion)
            name = f"{origin}: {written}" if written else f"{origin}: (nothing)"
            if not origin.startswith("__") and not origin.startswith("$"):
                alternatives.append(name)

            def reduce(children: list[Any], name: str = name, build: Any = build) -> Any:
                self._reduced.add(name)
                self.reached["units"].update(
                    each.value for each in children if isinstance(each, Token) and each.type == "UNIT"
                )
                return build(children)

            callbacks[rule] = reduce
        return list(dict.fromkeys(alternatives))


def _symbol(name: str) -> str:
    return oracle.KEYWORDS.get(str(name), str(name))


def _nodes(module: tree.Module) -> Iterator[tree.Node]:
    """All nodes of a tree."""
    waiting: list[Any] = [module]
    while waiting:
        found = waiting.pop()
        if isinstance(found, list | tuple):
            waiting.extend(found)
        elif isinstance(found, tree.Node):
            yield found
            waiting.extend(getattr(found, name) for name in found.__match_args__)


def measured() -> Coverage:
    """The coverage of all cases of this folder."""
    coverage = Coverage()
    coverage.measure(Case(path) for path in CASES)
    return coverage


def report(coverage: Coverage) -> list[str]:
    """Lines about every table: how many rows it has, and those without a case."""
    lines = []
    for table, rows in coverage.rows.items():
        without = coverage.missing(table)
        excused = len(EXCUSED.get(table, {}))
        lines.append(f"{table}: {len(rows)} rows, {excused} that no case can reach, {len(without)} without a case")
        lines += [f"    {row}" for row in without]
    return lines


def main() -> int:
    coverage = measured()
    print("\n".join(report(coverage)))
    return 1 if any(coverage.missing(table) for table in coverage.rows) else 0


if __name__ == "__main__":
    sys.exit(main())
