"""The one table of options: what the commands take, on the command line, in a request
document and as keyword arguments of the engines.

Plain data without imports. A flag is the name with dashes: ``entry_ref`` is ``--entry-ref``. Kinds:

``path``    a file or folder; relative ones are taken from ``project_root``
``ref``     a reference such as ``strategy:app/Review``
``id``      letters, digits, ``.``, ``_``, ``-``; 1 to 128 of them
``label``   a name that the application gives: 1 to 200 characters in one line
``switch``  on or off; on the command line ``--flag`` or ``--no-flag``
``json``    an object (or, where the sentence says so, text); on the command line inline JSON, ``@file`` or ``-``
``numbers`` an object of whole numbers with the members named in `MEMBERS`
``word``    one of the words listed in `WORDS`
``paths``   files and folders, each a word of the command line
``text``    a word of the command line, as it is

``carried`` says that the engine writes the option as a flag; everything else travels in the request document on
standard input, because values and texts never stand in argv.
"""

from __future__ import annotations


class Option:
    """One row of the table."""

    __slots__ = ("carried", "commands", "kind", "name", "sentence", "surfaces")

    def __init__(
        self, name: str, kind: str, commands: str, carried: bool, sentence: str, surfaces: str = "cli request sdk"
    ):
        self.name = name
        self.kind = kind
        self.commands = tuple(commands.split())
        self.carried = carried
        self.sentence = sentence
        self.surfaces = tuple(surfaces.split())

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")


_ROWS = (
    Option(
        "project_root", "path", "check compile run format", True, "the project's folder; default: the current folder"
    ),
    Option(
        "source",
        "path",
        "check compile run",
        True,
        "the program's entry file, `PROGRAM.tb`; positional on the command line",
    ),
    Option("air", "path", "run", True, "a file with a compiled program, instead of `source`"),
    Option(
        "air_json", "json", "run", False, "a compiled program as text or object, instead of `source`", "request sdk"
    ),
    Option(
        "entry_ref",
        "ref",
        "run",
        True,
        "the strategy, skill or function to run; may be left out where there is one strategy, or one callable of all",
    ),
    Option("inputs", "json", "run", False, "an object with the entry's inputs by name"),
    Option("cache", "switch", "run", True, "keep what is compiled from `source`, and use it again; default: on"),
    Option("strict_inputs", "switch", "run", True, "take inputs in their strict form only, as docs/wire.md shows it"),
    Option("manifest", "path", "run", True, "the file that binds tools to handlers"),
    Option("secrets", "path", "run", True, "the file that says where secrets are found"),
    Option("owner", "label", "run", False, "whose values are meant in memories of scope `owner`"),
    Option(
        "run_limits", "numbers", "run eval", False, "what the run may use: an object of whole numbers (docs/limits.md)"
    ),
    Option("run_id", "id", "run", False, "the run's id; default: 128 random bits"),
    Option("trace_out", "path", "run", True, "a file that the trace is written to as well"),
    Option(
        "trace_pure_functions",
        "word",
        "run",
        True,
        "`full` (default): the trace tells of the functions that statements call; `calls`: it does not",
    ),
    Option(
        "out", "path", "compile", True, "the file for the compiled program; without it, standard output gets it", "cli"
    ),
    Option("warnings_as_errors", "switch", "check", True, "exit with 1 where there are warnings", "cli"),
    Option("files", "paths", "format", True, "files and folders of programs; positional on the command line", "cli"),
    Option("check", "switch", "format", True, "write nothing; exit with 1 where a file would change", "cli"),
    Option("stdin", "switch", "format", True, "read a program from standard input, and print it formatted", "cli"),
    Option("expression", "text", "eval", True, "a pure expression; positional on the command line", "cli"),
    Option(
        "json", "switch", "check compile run explain format eval doctor version", True, "print one JSON document", "cli"
    ),
    Option(
        "request", "json", "check compile run", True, "`-`: the options as a request document on standard input", "cli"
    ),
    Option(
        "attached",
        "switch",
        "check compile run",
        True,
        "the request is the first line of standard input, whose end asks for the end of the command",
        "cli",
    ),
    Option("cache_folder", "path", "run", True, "the folder of the compile cache", "cli"),
    Option(
        "result_out",
        "path",
        "run",
        True,
        "a new file for a result document that is too large for standard output",
        "cli",
    ),
    Option(
        "env",
        "environment",
        "check compile run",
        False,
        "the environment of the runtime, instead of the application's",
        "sdk",
    ),
    Option("cancel", "event", "run", False, "a `threading.Event` that cancels the run when set", "sdk"),
    Option("result_type", "type", "run", False, "the Python type that the result is read into", "sdk"),
    Option("cli_path", "path", "check compile run", False, "the runtime to start, instead of the bundled one", "sdk"),
    Option(
        "python_executable",
        "path",
        "check compile run",
        False,
        "the Python that runs the runtime and its handlers",
        "request sdk",
    ),
)

OPTIONS: dict[str, Option] = {row.name: row for row in _ROWS}

#: members of options of kind `numbers`; their bounds are the rows of the same name in `limits`
MEMBERS: dict[str, tuple[str, ...]] = {
    "run_limits": ("max_steps", "max_depth", "max_external_calls", "max_value_bytes", "deadline_ms"),
}

#: words of options of kind `word`; the first is the default
WORDS: dict[str, tuple[str, ...]] = {
    "trace_pure_functions": ("full", "calls"),
}

#: switches that are on where nothing is said: `--no-…` is what a command line needs
SWITCHED_ON: tuple[str, ...] = ("cache",)

#: names that people try, and what they mean: a hint of their own instead of a guess by spelling
SLIPS: dict[str, str] = {
    "entry": "entry_ref",
    "entrypoint": "entry_ref",
    "input": "inputs",
    "arguments": "inputs",
    "args": "inputs",
    "program": "source",
    "file": "source",
    "limits": "run_limits",
    "timeout": "run_limits",
    "deadline_ms": "run_limits",
    "trace": "trace_out",
    "root": "project_root",
    "cwd": "project_root",
    "secret": "secrets",
    "python": "python_executable",
}

#: most characters of an option of kind `label`
LABEL_CHARACTERS = 200

#: groups of which exactly one (run, compile, check) must be given
EXACTLY_ONE: tuple[str, ...] = ("source", "air", "air_json")


def is_label(text: str) -> bool:
    """Whether a text can be an option of kind `label`."""
    return 1 <= len(text) <= LABEL_CHARACTERS and not any(
        each < " " or "\x7f" <= each <= "\x9f" or each in "\u2028\u2029" or "\ud800" <= each <= "\udfff"
        for each in text
    )


def options_of(command: str, surface: str) -> tuple[Option, ...]:
    """The options that a command takes on a surface (``cli``, ``request`` or ``sdk``), in the order of the table."""
    return tuple(row for row in _ROWS if command in row.commands and surface in row.surfaces)


def nearest(name: str, candidates: list[str] | tuple[str, ...]) -> str | None:
    """The one candidate that a misspelt name most probably means, or None.

    Optimal string alignment distance, case, `-` and `_` ignored, at most a third of the name's length wrong.
    """
    from .spelling import distance

    wanted = _folded(name)
    best: str | None = None
    limit = max(1, len(wanted) // 3)
    for candidate in candidates:
        found = distance(wanted, _folded(candidate), limit)
        if found is not None:
            best = candidate
            limit = found - 1  # only a nearer one replaces it
    return best


def _folded(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")
