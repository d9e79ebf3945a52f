"""The `touba` command: finds the module of a command, lets it work and ends the process with its exit code."""

from __future__ import annotations

from .runtime.signals import hold

if __name__ == "__main__":
    hold()  # `python -m touba_cli`; the other ways have done so in `__start__`

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from .runtime.interrupts import Interrupts


def execute(words: list[str]) -> int:
    """Carry out a command line (without the program's name) and give the exit code."""
    from .runtime.interrupts import Cancelled, Interrupts

    interrupts = Interrupts()
    interrupts.watch_signals()  # before anything else is loaded: from here on a signal is a request to end
    if words[:1] == ["run"] and not _asks_help(words):
        from .commands.run import command

        return command(words[1:], interrupts)
    try:
        interrupts.raise_at_end()
        code = _command(words, interrupts)
        interrupts.attend()
    except Cancelled:
        from .outcomes import OUTCOMES

        code = OUTCOMES["cancelled"][2]
    return code


def _asks_help(words: list[str]) -> bool:
    return "--help" in words[1:] or "-h" in words[1:]


def _command(words: list[str], interrupts: Interrupts) -> int:
    """Everything but a run. A request to end raises `Cancelled` in it, and nothing more is printed."""
    from .commands.help import COMMANDS

    name = words[0] if words else ""
    rest = words[1:]
    if name == "help":
        # `touba help` is `touba --help`, and `touba help COMMAND` is `touba COMMAND --help`.
        return _command([rest[0], "--help"] if rest else ["--help"], interrupts)
    if name not in COMMANDS:
        return _without_command(words)
    if _asks_help(words):
        from .commands.help import command_help
        from .commands.output import print_text
        from .outcomes import PHASES

        return 0 if print_text(command_help(name)) else PHASES["internal"]
    if name == "check":
        from .commands.check import command as check

        return check(rest, interrupts)
    if name == "compile":
        from .commands.compile import command as compile_

        return compile_(rest, interrupts)
    if name == "format":
        from .commands.format import command as format_

        return format_(rest, interrupts)
    if name == "explain":
        from .commands.explain import command
    elif name == "eval":
        from .commands.eval import command
    elif name == "doctor":
        from .commands.doctor import command
    else:
        from .commands.version import command
    return command(rest)


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


def main() -> NoReturn:
    """The entry of the process."""
    hold()
    _hold_standard_descriptors()
    code = execute(sys.argv[1:])
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
