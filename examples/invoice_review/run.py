"""Reviews a folder of UBL invoices and prints what was found.

    python examples/invoice_review/run.py [FOLDER]

Without a folder it reviews the invoices of the example. A folder is read flat: its files that end in `.xml`.
"""

from __future__ import annotations

import os
import sys
import textwrap
import unicodedata
from typing import Any

from touba_sdk import RunResult, ToubaEngine, ToubaEngineError

HERE = os.path.dirname(os.path.abspath(__file__))
#: steps of the program for each document; a document with some hundred lines needs about a tenth
STEPS_PER_DOCUMENT = 20_000

#: what the names of the findings mean, and where to read on
FOOT = """
BR-… and BR-CO-… are business rules of EN 16931, the European standard for e-invoices: a fact that is
missing, a sum that is wrong. LEDGER-… and ISSUE-DATE are warnings of this example. The rules are
written in program.tb and invoice/*.tb; README.md beside them tells how they are read."""


def review(folder: str, ledger: str = "data/ledger.sqlite") -> RunResult:
    """Run the program over a folder."""
    files = sum(name.lower().endswith(".xml") for name in os.listdir(folder))
    with ToubaEngine(project_root=HERE) as engine:
        return engine.run(
            "program.tb",
            inputs={"folder": os.path.abspath(folder), "ledger": ledger},
            manifest="touba.manifest.json",
            run_limits={"max_steps": min(1_000_000_000, 1_000_000 + files * STEPS_PER_DOCUMENT)},
        )


def table(report: dict[str, Any]) -> str:
    """The report as text: a line for each document with findings, then the sums."""
    rows = [("document", "invoice", "seller", "findings")]
    for document in report["documents"]:
        if document["verdict"] == "Clean":
            continue
        counts: dict[str, int] = {}
        for finding in document["findings"]:
            counts[finding["rule"]] = counts.get(finding["rule"], 0) + 1
        found = ", ".join(rule if number == 1 else f"{rule} ×{number}" for rule, number in counts.items())
        rows.append((document["file"], opened(document["number"]), opened(document["seller"]), found))
    lines = [
        f"{fit(file, 28)}  {fit(number, 14)}  {fit(seller, 30)}  {found}".rstrip()
        for file, number, seller, found in rows
    ]
    lines.insert(1, "-" * 100)
    rules = ", ".join(f"{rule} {number}" for rule, number in sorted(report["rules"].items()))
    lines += [
        "-" * 100,
        f"{len(report['documents'])} documents: {report['clean']} clean, {report['flagged']} with findings, "
        f"{report['unreadable']} unreadable",
    ]
    if rules:
        lines += textwrap.wrap(f"findings: {rules}", 100, subsequent_indent=" " * 10, break_on_hyphens=False)
    return "\n".join(lines)


def opened(optional: dict[str, Any]) -> str:
    """The text of an `Optional Text` of the result, a dash where it is absent."""
    return str(optional["value"]) if optional["present"] else "-"


def fit(text: str, width: int) -> str:
    """Text filled or cut to a number of columns; characters of East Asia take two, combining ones none."""
    plain = "".join(character if character.isprintable() else "?" for character in text)
    if columns(plain) > width:
        while columns(plain) > width - 1:
            plain = plain[:-1]
        plain += "…"
    return plain + " " * (width - columns(plain))


def columns(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )


def main(arguments: list[str]) -> int:
    if len(arguments) > 1 or any(argument.startswith("-") for argument in arguments):
        print("usage: run.py [FOLDER]", file=sys.stderr)
        return 2
    folder = arguments[0] if arguments else os.path.join(HERE, "data", "invoices")
    if not os.path.isdir(folder):
        print(f"run.py: {folder} is no folder", file=sys.stderr)
        return 2
    try:
        run = review(folder)
    except ToubaEngineError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"Reviewing {folder} by the rules of program.tb\n")
    print(table(run.result))
    print(FOOT)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
