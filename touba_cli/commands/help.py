"""`touba --help` and `touba COMMAND --help`, from the table of options."""

from __future__ import annotations

from ..limits import LIMITS
from ..options import MEMBERS, SWITCHED_ON, WORDS, Option, options_of

#: command → what it does, in the order of the help
COMMANDS: dict[str, str] = {
    "check": "report the problems of a program, without running it",
    "compile": "write a program as AIR, the form that the runtime runs",
    "run": "run a program",
    "explain": "say what a code of a problem or failure means, and show a right program",
    "format": "put programs into their one layout",
    "eval": "give the value of a pure expression",
    "doctor": "say with what Touba works here, what is missing and what to do",
    "version": "say what this is",
}

#: what commands take besides options and a program
OPERANDS: dict[str, str] = {"explain": " CODE", "format": " FILES…", "eval": " EXPRESSION"}

_PLACEHOLDERS = {
    "path": "PATH",
    "ref": "REF",
    "id": "ID",
    "label": "NAME",
    "json": "JSON|@FILE|-",
    "numbers": "JSON|@FILE|-",
}

#: options that are words of the command line
_POSITIONAL = frozenset(("source", "files", "expression"))


def overview() -> str:
    """The help of `touba`: one screen."""
    width = max(len(name) for name in COMMANDS)
    lines = [
        "touba: run governed agent programs",
        "",
        "usage: touba COMMAND [OPTIONS]",
        "",
        *(f"  {name:<{width}}  {sentence}" for name, sentence in COMMANDS.items()),
        "",
        "`touba COMMAND --help` lists the options of a command. Every command takes --json.",
        "",
        "Exit codes: 0 done · 1 something found · 2 usage · 3 the program has errors ·",
        "4 refused before it ran · 5 failed · 6 could not start · 7 internal error ·",
        "11 stopped by the program · 130 cancelled",
    ]
    return "\n".join(lines)


def command_help(command: str) -> str:
    """The help of one command."""
    rows = options_of(command, "cli")
    takes_program = any(row.name == "source" for row in rows)
    lines = [
        f"usage: touba {command}{' PROGRAM.tb' if takes_program else OPERANDS.get(command, '')} [OPTIONS]",
        "",
        f"  {COMMANDS[command]}",
        "",
    ]
    shown = [(_spelling(row), row) for row in rows if row.name not in _POSITIONAL]
    width = max(len(spelling) for spelling, _ in shown)
    for spelling, row in shown:
        lines.append(f"  {spelling:<{width}}  {row.sentence}")
        for member in MEMBERS.get(row.name, ()):
            limit = LIMITS[member]
            lines.append(
                f"  {'':<{width}}    {member}: {limit.sentence} ({limit.lowest}..{limit.highest} {limit.unit})"
            )
    if command == "format":
        lines += [
            "",
            "Relative paths are taken from the project root. A folder stands for the programs (*.tb) in and below it.",
        ]
    if takes_program:
        lines += [
            "",
            "Relative paths are taken from the project root. JSON is given inline, as @FILE, or as - from stdin;",
            "the path of @FILE is taken from the current folder.",
        ]
    return "\n".join(lines)


def _spelling(row: Option) -> str:
    if row.kind == "switch":
        return f"{row.flag}, --no-{row.flag[2:]}" if row.name in SWITCHED_ON else row.flag
    if row.kind == "word":
        return f"{row.flag}={'|'.join(WORDS[row.name])}"
    return f"{row.flag}={'-' if row.name == 'request' else _PLACEHOLDERS[row.kind]}"
