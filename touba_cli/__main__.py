"""The `touba` command: finds the module of a command, lets it work and ends the process with its exit code."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def execute(words: list[str]) -> int:
    """Carry out a command line (without the program's name) and give the exit code."""
    name = words[0] if words else ""
    rest = words[1:]
    asks_help = "--help" in rest or "-h" in rest
    if name == "run" and not asks_help:
        return _run(rest)
    from .commands.help import COMMANDS
    from .runtime.interrupts import unblock

    unblock()
    if name not in COMMANDS:
        return _without_command(words)
    if asks_help:
        from .commands.help import command_help
        from .commands.output import print_text
        from .outcomes import PHASES

        return 0 if print_text(command_help(name)) else PHASES["internal"]
    if name == "check":
        from .commands.check import command
    elif name == "compile":
        from .commands.compile import command
    elif name == "explain":
        from .commands.explain import command
    elif name == "format":
        from .commands.format import command
    elif name == "eval":
        from .commands.eval import command
    elif name == "doctor":
        from .commands.doctor import command
    else:
        from .commands.version import command
    return command(rest)


def _run(words: list[str]) -> int:
    from .runtime.interrupts import Interrupts

    interrupts = Interrupts()
    interrupts.watch_signals()  # before anything else is loaded: from here on a signal is a request to end
    from .commands.run import command

    return command(words, interrupts)


def _without_command(words: list[str]) -> int:
    """Help, or the refusal of a command line that names no command."""
    from .codec import encode
    from .commands.help import COMMANDS, overview
    from .commands.inputs import wants_json
    from .commands.output import error_text, note, print_document, print_text
    from .errors import ToubaFailure
    from .options import nearest
    from .outcomes import PHASES
    from .project.files import shown
    from .runtime.envelope import exit_code, refused

    if words and words[0] in ("--help", "-h"):
        return 0 if print_text(overview()) else PHASES["internal"]
    if words and words[0] == "help":
        return _help(words[1:])
    if words and words[0] == "--version":
        from .commands.version import command

        return command(words[1:])
    name = next((word for word in words if not word.startswith("-")), None)
    if name is None:
        failure = ToubaFailure("UsageError", "no command is given", hint="`touba --help` lists the commands.")
    else:
        near = nearest(name, tuple(COMMANDS)) or ("run" if name.endswith((".tb", ".json")) else None)
        hint = f"Did you mean `touba {near}`?" if near else "`touba --help` lists the commands."
        failure = ToubaFailure("UsageError", f"there is no command `{shown(name[:60])}`", hint=hint)
        if name in COMMANDS:
            failure = ToubaFailure("UsageError", "options follow the command", hint=f"Write `touba {name} …`.")
    envelope = refused(os.urandom(16).hex(), failure)
    if wants_json(words):
        print_document(encode(envelope))
    else:
        note(error_text(envelope["error"]))
        if name is None:
            note("\n" + overview() + "\n")
    return exit_code(failure)


def _help(words: list[str]) -> int:
    """`touba help` is `touba --help`, and `touba help COMMAND` is `touba COMMAND --help`."""
    return execute([words[0], "--help"] if words else ["--help"])


def main() -> NoReturn:
    """The entry of the process."""
    _hold_standard_descriptors()
    try:
        code = execute(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130
    # Everything is written. Taking the interpreter down in order would cost as much as a tenth of a run.
    os._exit(code)


def _hold_standard_descriptors() -> None:
    """Where a standard stream is closed the null device takes its number, or the next pipe would.

    It cannot be written in place of standard output, so that a result which nobody gets does not pass for delivered.
    """
    while True:
        descriptor = os.open(os.devnull, os.O_RDWR)
        if descriptor > 2:
            os.close(descriptor)
            return
        if descriptor == 1:
            os.close(descriptor)
            os.open(os.devnull, os.O_RDONLY)  # the lowest number that is free: 1 again


if __name__ == "__main__":
    main()
