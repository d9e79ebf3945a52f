"""Writes what the tables of the code say into the pages of this folder, the JSON Schemas, and a module of the SDK.

    python docs/generate.py           rewrites what is out of date and names it
    python docs/generate.py --check   only names it; exit code 1 where there is something

A page holds a table between the lines ``<!-- table: NAME -->`` and ``<!-- end -->``; `TABLES` has the names. Everything
else of a page is written by hand.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from touba_cli.air.operations import OPERATIONS, Operation  # noqa: E402
from touba_cli.air.program import FEATURES  # noqa: E402
from touba_cli.air.types import show  # noqa: E402
from touba_cli.commands.findings import FINDINGS  # noqa: E402
from touba_cli.documents import DOCUMENTS, json_schema  # noqa: E402
from touba_cli.errors import CODES, WARNINGS  # noqa: E402
from touba_cli.language import diagnostics as compiler  # noqa: E402
from touba_cli.limits import LIMITS  # noqa: E402
from touba_cli.options import OPTIONS, SWITCHED_ON, Option  # noqa: E402
from touba_cli.outcomes import OUTCOMES, PHASES  # noqa: E402
from touba_cli.runtime.answers import RUNTIME_CODES  # noqa: E402
from touba_cli.runtime.events import EVENTS  # noqa: E402
from touba_cli.vendors import FACTS, SOURCES  # noqa: E402

MARKED = re.compile(r"(?<=<!-- table: )([a-z]+)( -->\n).*?(?=<!-- end -->)", re.DOTALL)


def table(heads: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A Markdown table."""
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def written(operation: Operation) -> str:
    """How a program writes an operation, with types for the operands: ``Int + Int``, ``length(Text)``."""
    takes = ["choice without payload" if each == "choice" else show(each) for each in operation.takes]
    if operation.form == "infix":
        return f"{takes[0]} {operation.spelling} {takes[1]}"
    if operation.form == "prefix":
        return f"{operation.spelling}{takes[0]}"
    if operation.form == "index":
        return f"({takes[0]})[{takes[1]}]"
    return f"{operation.spelling}({', '.join(takes)})"


def operations(built_in: bool) -> str:
    rows = [row for row in OPERATIONS.values() if (row.form == "call") == built_in]
    return table(
        ("written", "gives", "meaning", "charges", "in AIR"),
        ((f"`{written(row)}`", f"`{show(row.gives)}`", row.sentence, row.charge, f"`{row.name}`") for row in rows),
    )


def limits() -> str:
    rows = []
    for name, limit in LIMITS.items():
        default = "none" if name == "deadline_ms" else f"{limit.default:,}"
        bounds = f"{limit.lowest:,} to {limit.highest:,}" if limit.lowest != limit.highest else "fixed"
        rows.append((f"`{name}`", default, bounds, limit.unit, limit.sentence))
    return table(("limit", "default", "may be set", "unit", "what it bounds"), rows)


def errors() -> str:
    rows = (
        (f"`{name}`", row.phase, "yes" if row.catchable else "", row.sentence, row.hint) for name, row in CODES.items()
    )
    return table(("code", "phase", "`attempt` sees it", "meaning", "what to do"), rows)


def warnings() -> str:
    rows = ((f"`{code}`", meaning, hint) for code, (meaning, hint) in WARNINGS.items())
    return table(("code", "meaning", "what to do"), rows)


def outcomes() -> str:
    rows = [(name, f"`{status}`", f"`{reason}`", code) for name, (status, reason, code) in OUTCOMES.items()]
    rows += [(f"error of phase `{phase}`", "`failed`", "the error's code", code) for phase, code in PHASES.items()]
    return table(("a run that", "`status`", "`reason`", "exit code"), rows)


def _flags(row: Option) -> str:
    if "cli" not in row.surfaces:
        return ""
    return f"`{row.flag}`, `--no-{row.flag[2:]}`" if row.name in SWITCHED_ON else f"`{row.flag}`"


def options() -> str:
    rows = ((f"`{row.name}`", _flags(row), ", ".join(row.commands), row.sentence) for row in OPTIONS.values())
    return table(("option", "flag", "commands", "meaning"), rows)


def documents() -> str:
    rows = (
        (f"`{name}`", row.sentence, f"[schema](../touba_cli/schemas/{name}.json)") for name, row in DOCUMENTS.items()
    )
    return table(("protocol", "what it is", "JSON Schema"), rows)


def findings() -> str:
    rows = ((f"`{code}`", meaning, hint) for code, (meaning, hint) in FINDINGS.items())
    return table(("code", "meaning", "what to do"), rows)


def diagnostics() -> str:
    return table(("code", "meaning"), ((f"`{code}`", sentence) for code, sentence in compiler.CODES.items()))


def events() -> str:
    rows = []
    for name, kind in EVENTS.items():
        members = [
            f"`{member}`{'' if always else ' (where there is one)'}: {sentence}"
            for member, (always, sentence) in kind.members.items()
        ]
        ends = ", ".join(f"`{each}`" for each in kind.ends)
        rows.append((f"`{name}`", kind.sentence, ends, "<br>".join(members)))
    return table(("kind", "what happened", "ended by", "members of `data`"), rows)


def vendors() -> str:
    rows = []
    for fact in FACTS:
        source = SOURCES[fact.source]
        status = fact.status if fact.value is None else f"{fact.status} {fact.value:,}"
        subjects = ", ".join(f"`{each}`" for each in fact.subjects)
        rows.append((f"`{fact.dialect}`", status, subjects, fact.note, source.place, source.read))
    return table(("dialect", "", "keywords, or what it is about", "note", "source", "read"), rows)


def features() -> str:
    return table(("feature", "required where"), ((f"`{name}`", when) for name, when in FEATURES.items()))


TABLES: dict[str, Callable[[], str]] = {
    "features": features,
    "operators": lambda: operations(False),
    "functions": lambda: operations(True),
    "limits": limits,
    "errors": errors,
    "warnings": warnings,
    "outcomes": outcomes,
    "options": options,
    "documents": documents,
    "findings": findings,
    "diagnostics": diagnostics,
    "events": events,
    "vendors": vendors,
}


#: tables that something else writes: `benchmarks/run.py`
OTHERS = ("benchmark",)


def fill(page: str) -> str:
    """A page with its tables as they are now. Raises KeyError for a table that does not exist."""
    return MARKED.sub(lambda found: found[0] if found[1] in OTHERS else found[1] + found[2] + TABLES[found[1]](), page)


def contents() -> dict[Path, str]:
    """All files that this script writes → what they should hold."""
    found = {page: fill(page.read_text("utf-8")) for page in sorted((ROOT / "docs").glob("*.md"))}
    for name in DOCUMENTS:
        path = ROOT / "touba_cli" / "schemas" / f"{name}.json"
        found[path] = json.dumps(json_schema(name), indent=2, ensure_ascii=False) + "\n"
    found[ROOT / "touba_sdk" / "handlers" / "_reserved.py"] = reserved()
    return found


def reserved() -> str:
    """The module of the SDK that knows which codes are the runtime's: a handler imports nothing of the runtime."""
    return (
        '"""Codes that only the runtime gives: `python docs/generate.py` writes them here from its table."""\n\n'
        "from __future__ import annotations\n\n"
        "RUNTIME_CODES = frozenset(\n    (\n"
        + "".join(f'        "{code}",\n' for code in sorted(RUNTIME_CODES))
        + "    )\n)\n"
    )


def stale() -> list[Path]:
    """The files that are out of date."""
    return [path for path, text in contents().items() if not path.is_file() or path.read_text("utf-8") != text]


def main(words: list[str]) -> int:
    if words not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    texts = contents()
    found = stale()
    for path in found:
        print(path.relative_to(ROOT))
        if not words:
            path.write_text(texts[path], "utf-8")
    return 1 if words and found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
