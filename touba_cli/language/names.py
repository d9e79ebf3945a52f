"""Modules and what their names stand for.

`load_program` reads the entry file and everything that it imports, finds out what every module declares and imports,
and reports what is missing, stands twice or goes in a circle. Later passes ask `Unit.find` what a name means.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..air.operations import BUILT_INS
from ..air.types import GENERIC_TYPES
from ..limits import LIMITS
from . import tree
from .circles import circles
from .diagnostics import Fix, Problems, Related
from .hints import FOREIGN_TYPES
from .lexer import read_source
from .parse_lines import parse_module
from .records import dataclass, field
from .source import Source, Sources

TYPE_KINDS = frozenset(("record", "alias", "choice"))

#: what `call` calls
CALLED_KINDS: tuple[str, ...] = ("tool", "skill", "strategy", "agent")

#: names that a type place may use without declaring or importing them
BUILT_IN_TYPE_NAMES: tuple[str, ...] = (
    "Text", "Int", "Decimal", "Float", "Bool", "Date", "DateTime", "Duration", "Json", "Nothing", "Problem",
)  # fmt: skip

#: names that no declaration may take; a program's own `Problem` hides the built-in one
TAKEN_NAMES = frozenset((*BUILT_IN_TYPE_NAMES, *GENERIC_TYPES)) - {"Problem"}


#: the most candidates that a problem lists
LISTED = 50


def listed(words: list[str]) -> str:
    """Words in a message: the first `LISTED`, and how many more there are."""
    shown = ", ".join(words[:LISTED])
    return f"{shown} and {len(words) - LISTED} more" if len(words) > LISTED else shown


#: the module of the built-in declarations, such as `type:touba/Problem`
OWN_MODULE = "touba"


@dataclass(eq=False, slots=True)
class Declared:
    """A declaration of a module: ``kind`` is record, alias, choice, or the word with which it begins."""

    unit: Unit
    node: tree.Declaration
    kind: str
    ref: str

    @property
    def name(self) -> str:
        return self.node.name.text

    @property
    def is_type(self) -> bool:
        return self.kind in TYPE_KINDS

    def related(self, unit: Unit, label: str = "declared here") -> Related:
        """Its place, as seen from another module."""
        return Related(self.node.name.span, label, None if self.unit is unit else self.unit.source)


@dataclass(eq=False, slots=True)
class Imported:
    """What a `from … import` makes of a name: ``target`` is None where it could not be found (and was reported)."""

    target: Declared | None
    word: tree.Name


@dataclass(eq=False, slots=True)
class Prefix:
    """What an `import` makes of a module name: ``unit`` is None where the module could not be found."""

    unit: Unit | None
    node: tree.Import


@dataclass(eq=False, slots=True)
class Unit:
    """One module of the program: a file, what it declares and what it imports."""

    name: str
    path: str
    source: Source
    module: tree.Module
    problems: Problems
    #: lines in which the parser found something wrong
    broken: frozenset[int]
    declared: dict[str, Declared] = field(default_factory=dict)
    imported: dict[str, Imported] = field(default_factory=dict)
    prefixes: dict[str, Prefix] = field(default_factory=dict)
    #: imported names and prefixes that something uses
    used: set[str] = field(default_factory=set)
    #: names of declarations that could not be read, which was reported: they are not unknown
    lost: set[str] = field(default_factory=set)
    #: unknown names that were reported: each once
    unknown: set[str] = field(default_factory=set)
    _listed: dict[str, list[str]] = field(default_factory=dict)

    def find(self, path: list[tree.Name], name: tree.Name, wanted: str) -> Declared | None:
        """What a name stands for; None where it stands for nothing, which is reported once.

        Parameters:
            path: the module words before the name.
            wanted: what is looked for, in words, and by that the candidates of hints: "type", "callable", "name", or
                the word of a kind of declaration.
        """
        if not path:
            return self._find_here(name, wanted)
        words = ".".join(word.text for word in path)
        prefix = self.prefixes.get(words)
        if prefix is None:
            self._report_prefix(path, words)
            return None
        self.used.add(words)
        if prefix.unit is None:
            return None
        target = prefix.unit.declared.get(name.text)
        if target is None and name.text not in prefix.unit.lost and f"{words}.{name.text}" not in self.unknown:
            self.unknown.add(f"{words}.{name.text}")
            candidates = [each.name for each in prefix.unit.declared.values() if _fits(each, wanted)]
            self.report_unknown(
                "TB3001", f"module `{prefix.unit.name}` declares no `{name.text}`", name.span, name.text, candidates
            )
        return target

    def _find_here(self, name: tree.Name, wanted: str) -> Declared | None:
        target = self.known(name.text)
        if target is not None:
            return target
        if name.text not in self.imported and name.text not in self.lost and name.text not in self.unknown:
            self.unknown.add(name.text)
            if wanted == "type" and name.text in FOREIGN_TYPES:
                self.problems.add(
                    "TB3001", f"no type `{name.text}` is known here", self.source, name.span,
                    f"write `{FOREIGN_TYPES[name.text]}`",
                )  # fmt: skip
            elif wanted != "type" and name.text in TAKEN_NAMES:
                self._report_built_in_type(name)
            else:
                self.report_unknown(
                    "TB3001", f"no {wanted} `{name.text}` is known here", name.span, name.text, self.candidates(wanted)
                )
        return None

    def _report_built_in_type(self, name: tree.Name) -> None:
        """A type of the language where something else is meant."""
        function = name.text.lower()
        label = "name a value or a callable"
        if function in BUILT_INS:
            label = f"a value is converted by `{function}(…)`"
        self.problems.add("TB3007", f"`{name.text}` is a type, and no value", self.source, name.span, label)

    def candidates(self, wanted: str) -> list[str]:
        """Names for hints. What is visible never changes once modules are bound, so they are listed once."""
        found = self._listed.get(wanted)
        if found is None:
            found = [each.name for each in self.visible() if _fits(each, wanted)]
            if wanted == "type":
                found.extend(BUILT_IN_TYPE_NAMES)
            self._listed[wanted] = found
        return found

    def known(self, name: str) -> Declared | None:
        """What a name without module words stands for, without a word about names that are unknown."""
        target = self.declared.get(name)
        if target is not None:
            return target
        imported = self.imported.get(name)
        if imported is None:
            return None
        self.used.add(name)
        return imported.target

    def visible(self) -> list[Declared]:
        """What can be named without module words."""
        return [
            *self.declared.values(),
            *(each.target for each in self.imported.values() if each.target is not None),
        ]

    def _report_prefix(self, path: list[tree.Name], words: str) -> None:
        if words in self.unknown:
            return
        self.unknown.add(words)
        nearest = self.problems.near(words, list(self.prefixes))
        if nearest is not None and self.prefixes[nearest].unit is None:
            self.used.add(nearest)  # its import is misspelt, which was reported
            return
        span = tree.Span(path[0].span.start, path[-1].span.end)
        self.report_unknown("TB3001", f"no module `{words}` is imported here", span, words, list(self.prefixes))

    def report_unknown(self, code: str, title: str, span: tree.Span, name: str, candidates: list[str]) -> str | None:
        """Report a name that is not known, with the nearest candidate, which is given, or all where they are few."""
        nearest = self.problems.near(name, candidates)
        help_text = None
        if nearest is not None:
            self.used.add(nearest)  # under a misspelt name
        if nearest is None and 0 < len(candidates) <= 8:
            help_text = "known here: " + ", ".join(f"`{each}`" for each in candidates)
        label = "name a module of the project" if code == "TB3004" else "declare it, or import it from its module"
        if nearest is not None:
            label = f"did you mean `{nearest}`?"
        shown = (nearest,) if nearest else tuple(candidates[:LISTED])
        self.problems.add(code, title, self.source, span, label, help=help_text, candidates=shown)
        return nearest


def a(kind: str) -> str:
    """A kind with its article: `a tool`, `an agent`."""
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def _fits(declared: Declared, wanted: str) -> bool:
    if wanted == "type":
        return declared.is_type
    if wanted in ("callable", "callable or function"):
        return declared.kind in CALLED_KINDS or (wanted != "callable" and declared.kind == "function")
    if wanted == "name":
        return declared.kind not in ("alias", "memory", "trigger")
    return declared.kind == wanted


@dataclass(slots=True)
class Program:
    """All modules of a program; ``units`` in the order in which they were found, the entry first."""

    units: list[Unit]
    #: path → bytes, of every file that was read
    sources: dict[str, bytes]


def load_program(sources: Sources, entry: str, problems: Problems) -> Program:
    """Read the entry file and all modules that it needs.

    Raises OSError where the entry file cannot be read; everything else is a problem.
    """
    return _Loader(sources, entry, problems).load()


class _Loader:
    def __init__(self, sources: Sources, entry: str, problems: Problems):
        self.sources = sources
        self.entry = entry
        self.problems = problems
        self.program = Program([], {})
        #: module name → unit, None where it could not be read
        self.found: dict[str, Unit | None] = {}
        self.edges: dict[str, list[tuple[str, tree.Import]]] = {}

    def load(self) -> Program:
        first = self._read(self.entry, None)
        if first is not None:
            self.found[first.name] = first
            position = 0
            while position < len(self.program.units):
                self._follow(self.program.units[position])
                position += 1
        for unit in self.program.units:
            declare(unit)
        for unit in self.program.units:
            self._bind(unit)
        self._report_circles()
        return self.program

    def _read(self, path: str, name: str | None) -> Unit | None:
        data = self.sources.read(path)
        self.program.sources[path] = data
        before = len(self.problems.found)
        source = read_source(path, data, self.problems)
        if source is None:
            return None
        module = parse_module(source, self.problems)
        broken = frozenset(
            source.position(each.span.start)[0] for each in self.problems.found[before:] if each.severity == "error"
        )
        stem = path.rpartition("/")[2].removesuffix(".tb")
        unit = Unit(name or module.name or stem, path, source, module, self.problems, broken)
        self.program.units.append(unit)
        return unit

    def _follow(self, unit: Unit) -> None:
        for node in unit.module.imports:
            name = node.module
            self.edges.setdefault(unit.name, []).append((name, node))
            if name not in self.found:
                self.found[name] = self._load_module(unit, name, node)

    def _load_module(self, unit: Unit, name: str, node: tree.Import) -> Unit | None:
        paths = self.sources.find(name)
        span = _path_span(node)
        if not paths and unit.source.position(node.span.start)[0] in unit.broken:
            return None  # the line was reported, and what it means is not certain
        if not paths:
            tried = " and ".join(f"`{path}`" for path in self.sources.places(name))
            title = f"no module `{name}` exists; it was looked for as {tried}"
            if self._is_seen_from_elsewhere(unit, name, span, title):
                return None
            unit.report_unknown("TB3004", title, span, name, self.sources.near(name))
            return None
        if len(paths) > 1 or paths[0] == self.entry:
            if len(paths) == 1:
                title = f"`{self.entry}` is the entry file and module `{self.program.units[0].name}`, not `{name}`"
                code = "TB3008"
            else:
                title = f"module `{name}` is found twice: " + ", ".join(f"`{path}`" for path in paths)
                code = "TB3004"
            self.problems.add(code, title, unit.source, span, "which one is meant cannot be told")
            return None
        if len(self.program.units) >= LIMITS["source_files"].default:
            limit = LIMITS["source_files"].default
            title = f"the program has more than {limit:,} files"
            self.problems.add("TB9005", title, unit.source, span, "put modules together")
            return None
        try:
            found = self._read(paths[0], name)
        except OSError:
            title = f"module `{name}` cannot be read: `{paths[0]}`"
            self.problems.add("TB3004", title, unit.source, span, "make the file readable")
            return None
        if found is not None and found.module.name is not None and found.module.name != name:
            self.problems.add(
                "TB3008",
                f"this file is imported as `{name}`, but names itself `{found.module.name}`",
                found.source,
                found.module.name_span,
                f"write `{name}`",
                related=(Related(span, "imported here", unit.source),),
            )
            return None
        return found

    def _is_seen_from_elsewhere(self, unit: Unit, name: str, span: tree.Span, title: str) -> bool:
        """Report a module that would be found if a folder above the entry file were the project root; whether it is."""
        folders = self.entry.split("/")[:-1]
        for count in range(1, len(folders) + 1):
            root = "/".join(folders[:count])
            for place in self.sources.places(name):
                path = f"{root}/{place}"
                if path in self.sources.find(path.removesuffix(".tb").replace("/", ".")):
                    program = self.entry[len(root) + 1 :]
                    label = f"`{path}` exists: did you mean `--project-root={root}`?"
                    help_text = (
                        f"modules are looked for from the project root; from `{root}` the program is `{program}`"
                    )
                    self.problems.add("TB3004", title, unit.source, span, label, help=help_text)
                    return True
        return False

    def _bind(self, unit: Unit) -> None:
        for node in unit.module.imports:
            target = self.found.get(node.module)
            if node.names is None:
                self._bind_prefix(unit, node, target)
            else:
                for word in node.names:
                    self._bind_name(unit, word, node, target)

    def _bind_prefix(self, unit: Unit, node: tree.Import, target: Unit | None) -> None:
        words = node.alias.text if node.alias is not None else node.module
        span = node.alias.span if node.alias is not None else _path_span(node)
        other = unit.prefixes.get(words)
        if other is not None:
            first = other.node.alias.span if other.node.alias is not None else _path_span(other.node)
            self.problems.add(
                "TB3002", f"`{words}` is imported twice", unit.source, span, "the second import",
                related=(Related(first, "the first"),),
            )  # fmt: skip
            return
        unit.prefixes[words] = Prefix(target, node)

    def _bind_name(self, unit: Unit, word: tree.Name, node: tree.Import, target: Unit | None) -> None:
        name = word.text
        if name in unit.imported:
            self.problems.add(
                "TB3002", f"`{name}` is imported twice", unit.source, word.span, "the second import",
                related=(Related(unit.imported[name].word.span, "the first"),),
            )  # fmt: skip
            return
        found = None
        if target is not None:
            found = target.declared.get(name)
            # A small name was reported where it was read.
            if found is None and name not in target.lost and name[:1].isupper():
                nearest = unit.report_unknown(
                    "TB3006", f"module `{target.name}` declares no `{name}`", word.span, name, list(target.declared)
                )
                if nearest is not None:
                    unit.lost.add(nearest)  # below it stands under its right name, most probably
        if name in unit.declared:
            self.problems.add(
                "TB3002", f"`{name}` is imported and declared", unit.source, unit.declared[name].node.name.span,
                "choose another name", related=(Related(word.span, "imported here"),),
            )  # fmt: skip
            return
        unit.imported[name] = Imported(found, word)

    def _report_circles(self) -> None:
        """One error for each circle of imports, at its smallest module."""
        names = {unit.name for unit in self.program.units}
        graph = {name: sorted({to for to, _ in self.edges.get(name, ()) if to in names}) for name in sorted(names)}
        for circle in circles(graph):
            unit = next(each for each in self.program.units if each.name == circle[0])
            following = circle[1] if len(circle) > 1 else circle[0]
            node = next(node for to, node in self.edges[circle[0]] if to == following)
            shown = " → ".join((*circle, circle[0]))
            self.problems.add(
                "TB3005", f"modules import each other in a circle: `{shown}`", unit.source, _path_span(node),
                "move what both need into a module of its own",
            )  # fmt: skip


def declare(unit: Unit) -> None:
    """Enter the declarations of a module into its one name space."""
    if unit.name == OWN_MODULE:
        unit.problems.add(
            "TB3008",
            f"the module `{OWN_MODULE}` is Touba's own",
            unit.source,
            unit.module.name_span,
            "choose another name",
        )
    for node in unit.module.declarations:
        name = node.name.text
        kind = _kind(node)
        ref = f"{'type' if kind in TYPE_KINDS else kind}:{unit.name}/{name}"
        if name in TAKEN_NAMES:
            unit.problems.add(
                "TB3002", f"`{name}` is a built-in type", unit.source, node.name.span, "choose another name"
            )
            continue
        first = unit.declared.get(name)
        if first is not None:
            unit.problems.add(
                "TB3002", f"`{name}` is declared twice", unit.source, node.name.span, "the second declaration",
                related=(Related(first.node.name.span, "the first"),),
            )  # fmt: skip
            continue
        unit.declared[name] = Declared(unit, node, kind, ref)
    unit.lost = {name.text for name in unit.module.unread}


def _kind(node: tree.Declaration) -> str:
    if isinstance(node, tree.CallableDecl):
        return node.kind
    return _KINDS[type(node)]


_KINDS: dict[type, str] = {
    tree.ToolDecl: "tool", tree.AgentDecl: "agent", tree.MemoryDecl: "memory", tree.TriggerDecl: "trigger",
    tree.RecordDecl: "record", tree.AliasDecl: "alias", tree.ChoiceDecl: "choice",
}  # fmt: skip


def report_unused_imports(unit: Unit) -> None:
    """A warning for each import line of which something is not used, with the line that remains as its fix."""
    for node in unit.module.imports:
        if node.names is None:
            words = node.alias.text if node.alias is not None else node.module
            prefix = unit.prefixes.get(words)
            if prefix is not None and prefix.node is node and prefix.unit is not None and words not in unit.used:
                span = node.alias.span if node.alias is not None else _path_span(node)
                _report_unused(unit, [span], [words], _without(unit, node))
            continue
        unused = [word for word in node.names if _is_unused(unit, word)]
        if not unused:
            continue
        if len(unused) == len(node.names):
            fix = _without(unit, node)
        else:
            kept = ", ".join(word.text for word in node.names if word not in unused)
            fix = Fix(tree.Span(node.names[0].span.start, node.names[-1].span.end), kept)
        _report_unused(unit, [word.span for word in unused], [word.text for word in unused], fix)


def _is_unused(unit: Unit, word: tree.Name) -> bool:
    imported = unit.imported.get(word.text)
    return imported is not None and imported.word is word and imported.target is not None and word.text not in unit.used


def _report_unused(unit: Unit, spans: list[tree.Span], names: list[str], fix: Fix) -> None:
    shown = ", ".join(f"`{name}`" for name in names)
    unit.problems.add(
        "TB8001", f"{shown} {'is' if len(names) == 1 else 'are'} imported and never used", unit.source, spans[0],
        "remove it" if len(names) == 1 else "remove them",
        related=tuple(Related(span, "and this") for span in spans[1:]), fix=fix,
    )  # fmt: skip


def _without(unit: Unit, node: tree.Import) -> Fix:
    """Remove the whole line of an import."""
    text = unit.source.text
    start = text.rfind("\n", 0, node.span.start) + 1
    end = text.find("\n", node.path[-1].span.end if node.names is None else node.names[-1].span.end)
    return Fix(tree.Span(start, len(text) if end < 0 else end + 1), "")


def _path_span(node: tree.Import) -> tree.Span:
    return tree.Span(node.path[0].span.start, node.path[-1].span.end)


def report_duplicates(unit: Unit, names: Iterable[tree.Name], what: str) -> bool:
    """An error for each name that stands twice in a list of fields, inputs, variants …; whether there was one."""
    seen: dict[str, tree.Name] = {}
    found = False
    for name in names:
        first = seen.setdefault(name.text, name)
        if first is not name:
            found = True
            unit.problems.add(
                "TB3002", f"{what} `{name.text}` stands twice", unit.source, name.span,
                "remove it, or use another name", related=(Related(first.span, "the first"),),
            )  # fmt: skip
    return found
