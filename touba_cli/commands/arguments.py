"""Command lines and request documents → option values, by the one table of options.

Values are checked here, so that the commands behind get only what they can use. Nothing of a value is ever repeated in
a message.
"""

from __future__ import annotations

import os

from ..codec import ExactNumber, JsonInvalid, decode
from ..errors import ToubaFailure
from ..limits import LIMITS, REQUEST_BYTES
from ..options import LABEL_CHARACTERS, MEMBERS, SLIPS, WORDS, Option, is_label, nearest, options_of
from ..project.files import check_path, read_file, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_ID_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
_ID_LENGTH = 128


def parse(command: str, words: list[str], read_stdin: Callable[[], bytes]) -> dict[str, Any]:
    """Read the words after the command.

    Parameters:
        command: such as ``run``; one that `options_of` knows.
        words: the rest of the command line.
        read_stdin: gives all of standard input, for an option whose value is ``-``.

    Returns:
        Option name → value. ``--request=-`` is given as it stands: whoever called reads the request.

    Raises:
        ToubaFailure: UsageError, OptionUnknown, OptionInvalid, FileUnreadable, JsonInvalid.
    """
    raw = _split(command, words)
    rows = {row.name: row for row in options_of(command, "cli")}
    from_stdin = [name for name, value in raw.items() if value == "-" and rows[name].kind in ("json", "numbers")]
    if len(from_stdin) > 1:
        raise ToubaFailure("UsageError", f"{_flag(from_stdin[0])} and {_flag(from_stdin[1])} both read standard input")
    return {name: _from_text(rows[name], value, read_stdin) for name, value in raw.items()}


def _split(command: str, words: list[str]) -> dict[str, Any]:
    """Words → option name and text (True and False for switches)."""
    rows = {row.flag: row for row in options_of(command, "cli")}
    found: dict[str, Any] = {}
    position = 0
    only_positional = False
    while position < len(words):
        word = words[position]
        position += 1
        if word == "--" and not only_positional:
            only_positional = True
            continue
        if only_positional or not word.startswith("-") or word == "-":
            if "--files" in rows:
                found.setdefault("files", []).append(word)
                continue
            if "--expression" in rows:
                if "expression" in found:
                    hint = "Put the whole expression in quotes."
                    raise ToubaFailure("UsageError", "`touba eval` takes one expression, not several words", hint=hint)
                found["expression"] = word
                continue
            if "--source" not in rows:
                raise ToubaFailure("UsageError", f"`touba {command}` takes no file or other word")
            if "source" in found:
                raise ToubaFailure("UsageError", f"`touba {command}` takes one program file, not several")
            found["source"] = word
            continue
        if "--expression" in rows and not word.startswith("--") and "expression" not in found:
            found["expression"] = word  # such as `-1 + 2`
            continue
        flag, equals, value = word.partition("=")
        row, setting = _row(command, flag, rows)
        if row.name in found and row.kind != "paths":
            raise ToubaFailure("UsageError", f"{row.flag} is given twice")
        if row.kind == "switch":
            if equals:
                raise ToubaFailure("UsageError", f"{flag} takes no value; write {row.flag} or --no-{row.flag[2:]}")
            found[row.name] = setting
            continue
        if not equals:
            if position >= len(words) or words[position].startswith("--"):
                raise ToubaFailure("UsageError", f"{row.flag} needs a value: {row.flag}=VALUE")
            value = words[position]
            position += 1
        if row.kind == "paths":
            found.setdefault(row.name, []).append(value)
        else:
            found[row.name] = value
    return found


def _row(command: str, flag: str, rows: dict[str, Option]) -> tuple[Option, bool]:
    row = rows.get(flag)
    if row is not None:
        return row, True
    if flag.startswith("--no-"):
        row = rows.get("--" + flag[5:])
        if row is not None and row.kind == "switch":
            return row, False
    names = [each.name for each in rows.values()]
    listed = f"`touba {command} --help` lists the options."
    raise _unknown(f"`touba {command}`", flag.lstrip("-").replace("-", "_"), shown(flag), names, _flag, listed)


def _unknown(
    owner: str, name: str, written: str, names: list[str], spelling: Callable[[str], str], listed: str
) -> ToubaFailure:
    """The refusal of an option; ``listed`` says where the options are, if none of them is near."""
    meant = SLIPS.get(name.lower())
    if meant not in names:
        meant = nearest(name, names)
    hint = f"Did you mean {spelling(meant)}?" if meant else listed
    return ToubaFailure("OptionUnknown", f"{owner} has no option {written}", hint=hint)


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _from_text(row: Option, value: Any, read_stdin: Callable[[], bytes]) -> Any:
    if row.kind not in ("json", "numbers"):
        return check_value(row, value, row.flag)
    if row.name == "request":
        if value != "-":
            raise ToubaFailure("OptionInvalid", "--request takes `-` only: the request is read from standard input")
        return value
    if value == "-":
        data = read_stdin()
        what = f"standard input for {row.flag}"
    elif value.startswith("@"):
        data = _read_named(check_path(value[1:], row.flag), row.flag)
        what = f"file of {row.flag}"
    else:
        if value.endswith(".json") and not value.startswith(("{", "[", '"')):
            hint = f"Did you mean the file: {row.flag}=@{shown(value)}?"
            raise ToubaFailure("JsonInvalid", f"the value of {row.flag} is not JSON, but looks like a file", hint=hint)
        data = os.fsencode(value)
        what = f"value of {row.flag}"
    return check_value(row, read_json(data, what), row.flag)


def _read_named(path: str, flag: str) -> bytes:
    """The file of `@FILE`. It is read before the project is entered: its path is taken from the current folder."""
    try:
        return read_file(path, REQUEST_BYTES, f"the file of {flag}")
    except ToubaFailure as failure:
        if not os.path.isabs(path) and not os.path.lexists(path):
            failure.hint = f"It was looked for in the current folder, `{shown(os.getcwd())}`."
        raise


def read_json(data: bytes, what: str) -> Any:
    """Decode JSON. Raises ToubaFailure (JsonInvalid, with line and column)."""
    try:
        return decode(data, limit=REQUEST_BYTES, what=what)
    except JsonInvalid as fault:
        raise ToubaFailure("JsonInvalid", f"the {what} is not JSON: {fault}") from None


def from_request(command: str, given: dict[str, Any]) -> dict[str, Any]:
    """Check the options of a request document.

    Raises:
        ToubaFailure: OptionUnknown, OptionInvalid.
    """
    rows = {row.name: row for row in options_of(command, "request")}
    found: dict[str, Any] = {}
    for name, value in given.items():
        row = rows.get(name)
        if row is None:
            listed = f"It takes {', '.join(f'`{each}`' for each in rows)}."
            raise _unknown("the request", name, f"`{shown(name[:60])}`", list(rows), "`{}`".format, listed)
        if value is not None:
            found[name] = check_value(row, value, f"`{name}`")
    return found


def merge(from_command_line: dict[str, Any], from_document: dict[str, Any]) -> dict[str, Any]:
    """Options of the command line and of the request. Raises ToubaFailure (UsageError) where one is in both."""
    for name in from_document:
        if name in from_command_line:
            raise ToubaFailure("UsageError", f"{_flag(name)} is given on the command line and in the request")
    return {**from_command_line, **from_document}


def check_value(row: Option, value: Any, label: str) -> Any:
    """A value of one option, checked by the option's kind.

    Parameters:
        row: the option.
        value: text from a command line, or decoded JSON.
        label: how to name the option in the message.

    Raises:
        ToubaFailure: OptionInvalid.
    """
    kind = row.kind
    if kind == "switch":
        if not isinstance(value, bool):
            raise _wrong(label, "true or false", value)
        return value
    if kind == "json":
        if row.name == "air_json":
            if not isinstance(value, str | dict):
                raise _wrong(label, "a text or an object", value)
        elif not isinstance(value, dict):
            raise _wrong(label, "an object", value)
        return value
    if kind == "paths":
        return [check_path(each, "a name of a file or folder") for each in value]
    if kind == "numbers":
        return _check_numbers(row, value, label)
    if not isinstance(value, str):
        raise _wrong(label, "a text", value)
    if kind == "path":
        return check_path(value, label)
    if kind == "text":
        return value
    if kind == "word":
        if value not in WORDS[row.name]:
            words = " or ".join(f"`{word}`" for word in WORDS[row.name])
            raise ToubaFailure("OptionInvalid", f"{label} takes {words}")
        return value
    if kind == "label":
        if not is_label(value):
            raise ToubaFailure("OptionInvalid", f"{label} takes 1 to {LABEL_CHARACTERS} characters in one line")
        return value
    if not value:
        raise ToubaFailure("OptionInvalid", f"{label} is empty")
    if not value.isprintable():
        raise ToubaFailure("OptionInvalid", f"{label} holds characters that cannot be shown")
    if kind == "id" and not (len(value) <= _ID_LENGTH and _ID_CHARACTERS.issuperset(value)):
        raise ToubaFailure(
            "OptionInvalid", f"{label} takes 1 to {_ID_LENGTH} letters, digits, `.`, `_` and `-`, all of them ASCII"
        )
    return value


def _check_numbers(row: Option, value: Any, label: str) -> dict[str, int]:
    if not isinstance(value, dict):
        raise _wrong(label, "an object", value)
    members = MEMBERS[row.name]
    found: dict[str, int] = {}
    for name, number in value.items():
        if name not in members:
            near = nearest(name, members)
            raise ToubaFailure(
                "OptionUnknown",
                f"{label} has no member `{shown(name[:60])}`",
                hint=f"Did you mean `{near}`?" if near else f"Its members are {', '.join(members)}.",
            )
        if number is None:
            continue
        limit = LIMITS[name]
        if isinstance(number, bool) or not isinstance(number, int):
            raise _wrong(f"`{name}` of {label}", "a whole number", number)
        if not limit.lowest <= number <= limit.highest:
            raise ToubaFailure(
                "OptionInvalid", f"`{name}` of {label} takes {limit.lowest} to {limit.highest} {limit.unit}"
            )
        found[name] = number
    return found


_KINDS: dict[type, str] = {
    dict: "an object",
    list: "an array",
    str: "a text",
    bool: "true or false",
    int: "a number",
    ExactNumber: "a number",
    type(None): "null",
}


def _wrong(label: str, expected: str, value: Any) -> ToubaFailure:
    return ToubaFailure("OptionInvalid", f"{label} takes {expected}, not {_KINDS.get(type(value), 'this')}")
