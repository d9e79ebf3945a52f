"""What an engine would start in this interpreter, as JSON on standard output.

`touba doctor` runs this with the interpreter of the application: the command never imports the SDK, and only the SDK
knows what it would do. Nothing is started and no library is loaded that might be missing.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, distribution, version
from typing import Any

from .. import __version__
from ..errors import ToubaEngineError
from .locate import World, bytecode_place, find_runtime, named_path

_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9._-]+)\s*(?:\[([^]]*)\])?\s*([^;]*?)\s*(?:;(.*))?")
#: the folder that holds the package
_FOLDER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

_EXTRA = re.compile(r"""extra\s*==\s*["']([^"']+)["']""")


def describe(world: World) -> dict[str, Any]:
    """The facts of the application's side.

    Parameters:
        world: where an engine would look.
    """
    found: dict[str, Any] = {
        "version": __version__,
        "folder": _FOLDER,
        "runtime": None,
        "handlers": None,
        "bundled": True,
        "compiled": None,
        "cache": None,
        "error": None,
        "packages": list(packages()),
    }
    cache: str | None = None
    try:
        cache = _cache(world)
        place: dict[str, str] = {}

        def bytecode(start: str, own_python: bool) -> str | None:
            state, folder = bytecode_place(start, lambda: cache or "", own_python=own_python)
            place["state"] = state
            return folder

        runtime = find_runtime(world, project_root=os.getcwd(), bytecode_folder=bytecode)
    except ToubaEngineError as error:
        found["error"] = {"code": error.code, "message": error.message, "hint": error.hint}
    else:
        found["runtime"] = list(runtime.command)
        found["handlers"] = runtime.python
        found["bundled"] = runtime.bundled
        found["compiled"] = place.get("state")
    found["cache"] = cache
    return found


def _cache(world: World) -> str | None:
    named = named_path(world, "TOUBA_CACHE_DIR")
    if named is not None:
        return named
    try:
        from .core import cache_folder
    except ImportError:
        return None  # a library is missing, and stands as such among the packages
    return cache_folder(world)


def packages() -> Iterator[dict[str, str | None]]:
    """The libraries that Touba needs, by itself or for an extra: what it asks for, and which version is there."""
    rows: list[tuple[str | None, str, str]] = []
    #: extra → extras that it is made of
    parts: dict[str | None, set[str]] = {}
    for line in _requirements():
        match = _REQUIREMENT.fullmatch(line)
        assert match is not None
        name, of, needs, marker = match.groups()
        found = _EXTRA.search(marker or "")
        extra = found[1] if found else None
        if name == "touba":
            parts.setdefault(extra, set()).update(each.strip() for each in (of or "").split(","))
        else:
            rows.append((extra, name, needs))
    extras = dict.fromkeys(extra for extra, _, _ in rows) | dict.fromkeys(parts)
    for extra in extras:
        whole = _closure(extra, parts)
        for name, needs in dict.fromkeys((name, needs) for part, name, needs in rows if part in whole):
            yield {"name": name, "needs": needs, "extra": extra, "installed": _installed(name)}


def _closure(extra: str | None, parts: dict[str | None, set[str]]) -> set[str | None]:
    whole: set[str | None] = set()
    waiting: list[str | None] = [extra]
    while waiting:
        each = waiting.pop()
        if each not in whole:
            whole.add(each)
            waiting += parts.get(each, ())
    return whole


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _requirements() -> Iterable[str]:
    """The requirements of the distribution; of a checkout that is not installed those of its project file."""
    try:
        return distribution("touba").requires or ()
    except PackageNotFoundError:
        return _of_checkout(os.path.join(_FOLDER, "pyproject.toml"))


def _of_checkout(path: str) -> Iterator[str]:
    import tomllib

    try:
        with open(path, "rb") as file:
            project = tomllib.load(file)["project"]
    except (OSError, KeyError, ValueError):
        return  # no checkout of ours: nothing is known
    yield from project["dependencies"]
    for extra, lines in project.get("optional-dependencies", {}).items():
        yield from (f"{line.partition(';')[0]}; extra == '{extra}'" for line in lines)


def main() -> None:
    """Print the facts."""
    sys.stdout.write(json.dumps(describe(World.here())) + "\n")


if __name__ == "__main__":
    main()
