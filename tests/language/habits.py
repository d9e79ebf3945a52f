"""The rows of the tables of `touba_cli/language/hints.py`, once more, in `habits.txt`: a row that is lost is noticed.

`python -m tests.language.habits` writes the file anew.
"""

from __future__ import annotations

from pathlib import Path

from touba_cli.language import hints

FILE = Path(__file__).resolve().parent / "habits.txt"

#: tables whose keys are single signs, written as code points
SIGNS = {"LOOK_ALIKES", "LETTERS", "BLANKS", "QUOTES"}

#: tables whose values are sentences for people; their keys are written alone
SENTENCES = {"FOREIGN_FUNCTIONS", "OUTSIDE_FUNCTIONS", "FOREIGN_TEST_LINES", "TEXT_PREFIXES", "BLANKS"}


def row(name: str, key: str, value: object) -> str:
    """A row as the file has it: ` !` is written where a fix follows from it."""
    shown = f"U+{ord(key):04X}" if name in SIGNS else key
    if name in SENTENCES or value is None:
        return shown
    if isinstance(value, hints.Foreign):
        return f"{shown} → {value.meant or '·'}{' !' if value.exact else ''}"
    return f"{shown} → {value}"


def tables() -> dict[str, list[str]]:
    """The rows that the tables have, by table."""
    found: dict[str, list[str]] = {}
    for name, table in vars(hints).items():
        if name.isupper() and not name.startswith("_") and isinstance(table, dict | frozenset):
            values = table if isinstance(table, dict) else dict.fromkeys(sorted(table))
            found[name] = [row(name, key, value) for key, value in values.items()]
    return found


def written() -> dict[str, list[str]]:
    """The rows that the file has, by table."""
    parts = (part.strip("\n").split("\n") for part in FILE.read_text("utf-8").split("\n\n"))
    return {name: rows for name, *rows in parts}


def main() -> None:
    FILE.write_text("\n\n".join("\n".join([name, *rows]) for name, rows in tables().items()) + "\n", "utf-8")


if __name__ == "__main__":
    main()
