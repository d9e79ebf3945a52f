"""What `touba doctor` can find, and when: a table, and pure rules over the facts of its document."""

from __future__ import annotations

from .. import __version__
from ..errors import CODES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

#: files that may be open at once: a run needs about a dozen for itself and six for each handler at work
OPEN_FILES = 256

#: code → what it means, what to do. Codes of `errors.py` may be found besides: those that starting a run would give.
FINDINGS: dict[str, tuple[str, str]] = {
    "SdkNotImportable": (
        "The interpreter that runs `touba` cannot import touba_sdk, so applications cannot either.",
        "Install Touba into that environment, as docs/quickstart.md says.",
    ),
    "PackageMissing": ("A library that Touba needs is not installed.", "Install it: `python -m pip install LIBRARY`."),
    "PackageTooOld": (
        "A library that Touba needs is too old.",
        "Update it: `python -m pip install --upgrade LIBRARY`.",
    ),
    "VersionsDiffer": (
        "Command, SDK and the runtime that engines start are not of one version.",
        "Install one version of `touba`, and unset TOUBA_CLI where it names another one.",
    ),
    "HandlersWithoutSdk": (
        "The interpreter of handlers cannot import touba_sdk: handlers that use `define_tool` would not start.",
        "Install Touba there as well, or name another interpreter with TOUBA_PYTHON or `python` in the manifest.",
    ),
    "StartsSlowly": (
        "Compiled modules of the runtime have no place, so that each start compiles it anew: four times as long.",
        "Compile once as its owner (`python -m compileall`), or name a private folder with TOUBA_CACHE_DIR.",
    ),
    "CacheNotPrivate": (
        "The folder of the compile cache is open to others, or not the user's own: programs are compiled at each run.",
        "Close it: `chmod 700` on the folder, and no write access for others to the one around it.",
    ),
    "FolderUnusable": ("A folder that Touba needs cannot be written to.", "Make it writable, or name another one."),
    "SystemUntested": ("Touba is not tested on this system.", "Use Linux where it matters."),
    "ProcessesMayRemain": (
        "The system does not let Touba end everything that handlers leave behind.",
        "Use a full Linux with /proc and a Python with ctypes; else watch what your handlers start.",
    ),
    "FewOpenFiles": ("Few files may be open at once.", f"Raise the limit to {OPEN_FILES} or more: `ulimit -n`."),
}


def find(facts: dict[str, Any]) -> list[dict[str, str | None]]:
    """What is missing or wrong.

    Parameters:
        facts: the document `touba-doctor-v1`; its member `findings` is not looked at.
    """
    return [*_of_installation(facts), *_of_runtime(facts), *_of_system(facts)]


def _finding(code: str, message: str, hint: str | None = None) -> dict[str, str | None]:
    if hint is None and code in FINDINGS:
        hint = FINDINGS[code][1]
    elif hint is None and code in CODES:
        hint = CODES[code].hint
    return {"code": code, "message": message, "hint": hint}


def _of_library(code: str, row: dict[str, Any], message: str) -> dict[str, str | None]:
    """A finding about a library, whose hint names it as `pip` takes it."""
    return _finding(code, message, FINDINGS[code][1].replace("LIBRARY", f"'{row['name']}{row['needs']}'"))


def _of_installation(facts: dict[str, Any]) -> Iterator[dict[str, str | None]]:
    sdk = facts["sdk"]
    if sdk["error"] is not None:
        yield _finding("SdkNotImportable", f"`{facts['python']['executable']}` cannot import touba_sdk: {sdk['error']}")
    for row in facts["packages"]:
        wanted = f"{row['name']} {row['needs']}".strip()
        if row["extra"] is None and row["installed"] is None:
            yield _of_library("PackageMissing", row, f"{wanted} is not installed")
        elif row["installed"] is not None and is_older(row["installed"], row["needs"]):
            where = f" (extra `{row['extra']}`)" if row["extra"] else ""
            message = f"{wanted} is needed, and {row['installed']} is installed{where}"
            yield _of_library("PackageTooOld", row, message)
    if sdk["version"] not in (None, __version__):
        yield _finding("VersionsDiffer", f"this is touba {__version__}; applications import touba_sdk {sdk['version']}")


def _of_runtime(facts: dict[str, Any]) -> Iterator[dict[str, str | None]]:
    runtime, handlers = facts["runtime"], facts["handlers"]
    if runtime["error"] is not None:
        yield _finding(**runtime["error"])
    elif runtime["version"] not in (None, __version__):
        yield _finding(
            "VersionsDiffer", f"this is touba {__version__}; engines start a runtime of {runtime['version']}"
        )
    if runtime["compiled"] == "nowhere":
        yield _finding("StartsSlowly", "the modules of the runtime are not compiled, and nowhere can they be kept")
    if runtime["keeps_programs"] is False:
        yield _finding("CacheNotPrivate", "the folder of the compile cache is not private, and is not used")
    if handlers["error"] is not None:
        yield _finding("HandlersWithoutSdk", f"`{handlers['python']}` cannot import touba_sdk: {handlers['error']}")
    for folder in facts["folders"]:
        if not folder["usable"]:
            yield _finding("FolderUnusable", f"the {folder['name']} folder `{folder['path']}` cannot be written to")


def _of_system(facts: dict[str, Any]) -> Iterator[dict[str, str | None]]:
    system = facts["system"]
    if not system["tested"]:
        yield _finding("SystemUntested", f"this is {system['name']}; only Linux is tested")
    elif not system["ends_everything"]:
        yield _finding("ProcessesMayRemain", "processes that leave the session of their handler may outlive the run")
    files = system["open_files"]
    if files is not None and files < OPEN_FILES:
        yield _finding("FewOpenFiles", f"{files} files may be open at once")


def is_older(installed: str, needs: str) -> bool:
    """Whether a version is below the lower bound of a requirement, by the numbers that both begin with.

    >>> is_older("4.6.2", ">=4.7"), is_older("4.16.0", ">=4.7"), is_older("2.0rc1", ""), is_older("5", ">=4.7,<6")
    (True, False, False, False)
    """
    for part in needs.split(","):
        if part.strip().startswith(">="):
            bound = _numbers(part.strip()[2:])
            found = _numbers(installed)
            width = max(len(bound), len(found))
            return found + (0,) * (width - len(found)) < bound + (0,) * (width - len(bound))
    return False


def _numbers(version: str) -> tuple[int, ...]:
    numbers = []
    for part in version.strip().split("."):
        digits = len(part) - len(part.lstrip("0123456789"))
        if digits:
            numbers.append(int(part[:digits]))
        if digits < len(part):
            break
    return tuple(numbers)
