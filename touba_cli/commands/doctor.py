"""`touba doctor`: with what Touba works here, what is missing, and what to do."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile

from .. import __version__
from ..codec import encode
from ..errors import CODES, ToubaFailure
from ..limits import LIMITS
from ..project.cache import is_private
from ..runtime.envelope import error_object, exit_code
from .arguments import parse
from .findings import find
from .inputs import as_failure, wants_json
from .output import error_text, note, print_document, print_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DOCTOR_PROTOCOL = "touba-doctor-v1"

#: seconds that a process which is only asked for its version may take
_PATIENCE = 30
#: exit code where something was found
_FOUND = 1
#: the extra for those who change Touba itself: nobody else misses it
_OWN = "dev"

#: asks the SDK of an interpreter, beside which this package may stand without being installed
_DESCRIBE = "import sys; sys.path.append(sys.argv[1]); from touba_sdk.engine.describe import main; main()"
_HANDLER = "import touba_sdk.handlers; from touba_sdk import __version__; print(__version__)"


def command(words: list[str]) -> int:
    """Run the command and print its document or text; gives the exit code."""
    as_json = wants_json(words)
    failure = _refusal(words)
    document = {} if failure is not None and not as_json else examine()
    if failure is not None:
        error = error_object(failure)
        if as_json:
            print_document(encode({**document, "error": error}))
        else:
            note(error_text(error))
        return exit_code(failure)
    if as_json:
        print_document(encode(document))
    else:
        print_text("\n".join(_lines(document)))
    return _FOUND if document["findings"] else 0


def _refusal(words: list[str]) -> ToubaFailure | None:
    try:
        parse("doctor", words, lambda: b"")
    except Exception as fault:
        return as_failure(fault)
    return None


# --- facts ------------------------------------------------------------------------------------------------------------


def examine() -> dict[str, Any]:
    """The document `touba-doctor-v1`."""
    python = sys.executable or ""
    if os.path.basename(python).lower().startswith(("python", "pypy")):
        described, fault = _ask([python, "-P", "-X", "utf8", "-c", _DESCRIBE, _package_folder()])
    else:
        described, fault = None, "it is no Python by its name, and would start itself"
    facts: dict[str, Any] = json.loads(described) if described else {}
    document: dict[str, Any] = {
        "protocol": DOCTOR_PROTOCOL,
        "version": __version__,
        "python": _interpreter(),
        "sdk": {"version": facts.get("version"), "folder": facts.get("folder"), "error": fault},
        "runtime": _runtime(facts),
        "handlers": _handlers(facts.get("handlers")),
        "packages": facts.get("packages", []),
        "folders": [*_folder("temporary", tempfile.gettempdir()), *_folder("cache", facts.get("cache"))],
        "system": _system(),
        "limits": {name: limit.default for name, limit in LIMITS.items()},
        "findings": [],
        "error": None,
    }
    document["findings"] = find(document)
    return document


def _package_folder() -> str:
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def _ask(command: list[str], environment: dict[str, str] | None = None) -> tuple[str | None, str | None]:
    """What a process prints, or why it prints nothing: one of the two."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        return None, f"it has not answered within {_PATIENCE} seconds"
    except (OSError, ValueError) as fault:
        return None, f"it cannot be started: {(getattr(fault, 'strerror', None) or 'no such program').lower()}"
    if done.returncode == 0:
        return done.stdout.decode("utf-8", "replace"), None
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return None, said[-1][:200] if said else f"it ended with exit code {done.returncode}"


def _interpreter() -> dict[str, Any]:
    return {
        "executable": sys.executable or None,
        "base": getattr(sys, "_base_executable", None) or None,
        "version": platform.python_version(),
        "implementation": platform.python_implementation(),
        "virtual": sys.prefix != sys.base_prefix,
    }


def _runtime(facts: dict[str, Any]) -> dict[str, Any]:
    """The runtime that an engine would start here, and whether it starts."""
    command: list[str] | None = facts.get("runtime")
    found: dict[str, Any] = {
        "command": command,
        "bundled": facts.get("bundled"),
        "compiled": facts.get("compiled"),
        "keeps_programs": _keeps_programs(facts.get("cache")),
        "version": None,
        "python": None,
        "error": facts.get("error"),
    }
    if command is None:
        return found
    answer, fault = _ask([*command, "version", "--json"])
    if answer is not None:
        try:
            said = json.loads(answer)
            found["version"], found["python"] = str(said["version"]), str(said["python"])
        except (ValueError, KeyError, TypeError):
            fault = "it does not answer as a runtime does"
    if fault is not None:
        row = CODES["RuntimeNotStarted"]
        found["error"] = {"code": "RuntimeNotStarted", "message": f"`{command[0]}`: {fault}", "hint": row.hint}
    return found


def _keeps_programs(cache: str | None) -> bool | None:
    """Whether the compile cache is as private as it has to be; None where there is none yet."""
    folder = os.path.join(cache or "", "programs")
    return is_private(folder) if cache and os.path.lexists(folder) else None


def _handlers(python: str | None) -> dict[str, Any]:
    """The interpreter of handlers, asked as a handler would be started."""
    found: dict[str, Any] = {"python": python, "sdk": None, "error": None, "confined": False}
    if python is not None:
        from ..runtime.spawn import INHERITED

        environment = {name: os.environ[name] for name in INHERITED if name in os.environ}
        answer, found["error"] = _ask([python, "-P", "-s", "-X", "utf8", "-c", _HANDLER], environment)
        found["sdk"] = answer.strip() if answer is not None else None
    return found


def _folder(name: str, path: str | None) -> list[dict[str, Any]]:
    if path is None:
        return []
    place = os.path.abspath(path)
    while not os.path.exists(place) and place != os.path.dirname(place):
        place = os.path.dirname(place)  # what is missing is made when it is needed
    usable = os.path.isdir(place) and os.access(place, os.W_OK | os.X_OK)
    return [{"name": name, "path": path, "exists": os.path.isdir(path), "usable": usable}]


def _system() -> dict[str, Any]:
    return {
        "name": platform.system() or sys.platform,
        "release": platform.release(),
        "machine": platform.machine(),
        "tested": sys.platform == "linux",
        "ends_everything": _ends_everything(),
        "open_files": _open_files(),
    }


def _ends_everything() -> bool:
    """Whether the runtime can find what handlers leave behind and end it, and the system does so where it is killed."""
    if sys.platform != "linux" or not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):
        return False
    from ..runtime.life_line import LifeLine

    try:
        from ctypes import CDLL

        line = LifeLine()
        line.close()
        return line.signals and hasattr(CDLL(None), "prctl")
    except (ImportError, OSError):
        return False


def _open_files() -> int | None:
    try:
        from resource import RLIM_INFINITY, RLIMIT_NOFILE, getrlimit
    except ImportError:
        return None  # Windows has no such limit
    limit = getrlimit(RLIMIT_NOFILE)[0]
    return None if limit == RLIM_INFINITY else limit


# --- text -------------------------------------------------------------------------------------------------------------

_COMPILED = {
    "current": "its modules are compiled",
    "beside": "its modules will be compiled beside their sources",
    "cache": "its modules are compiled into the cache folder",
    "nowhere": "its modules are compiled anew at each start",
    None: "",
}


def _lines(document: dict[str, Any]) -> list[str]:
    """The document as a terminal shows it."""
    python, runtime, handlers, system = (document[name] for name in ("python", "runtime", "handlers", "system"))
    base = f", a virtual environment on {python['base']}" if python["virtual"] and python["base"] else ""
    rows = [
        ("Python", f"{python['executable']} ({python['implementation']} {python['version']}{base})"),
        ("SDK", f"touba_sdk {document['sdk']['version']} in {document['sdk']['folder']}"),
        ("runtime", " ".join(runtime["command"] or ["none"])),
    ]
    if runtime["version"] is not None:
        compiled = _COMPILED[runtime["compiled"]]
        rows.append(("", f"version {runtime['version']} on Python {runtime['python']}; {compiled}".rstrip("; ")))
    rows += [
        ("handlers", f"{handlers['python'] or 'none'}; they are not confined yet"),
        ("libraries", _packages(document["packages"], None) or "unknown"),
    ]
    extras = dict.fromkeys(row["extra"] for row in document["packages"] if row["extra"] is not None)
    rows += [("optional", f"{extra}: {_packages(document['packages'], extra)}") for extra in extras if extra != _OWN]
    rows += [("folder", _of_folder(folder)) for folder in document["folders"]]
    files = "any number of" if system["open_files"] is None else system["open_files"]
    tested = "tested" if system["tested"] else "not tested"
    rows.append(
        ("system", f"{system['name']} {system['release']} {system['machine']} ({tested}); {files} files may be open")
    )
    rows.append(("limits", "as in docs/limits.md; --json lists them"))
    lines = [f"touba {document['version']}", "", *(f"{name:<10}{text}" for name, text in rows), ""]
    for finding in document["findings"]:
        lines += [f"found: {finding['code']}: {finding['message']}", f"  hint: {finding['hint']}"]
    return [*lines, "nothing that Touba needs is missing"] if not document["findings"] else lines


def _packages(packages: list[dict[str, Any]], extra: str | None) -> str:
    rows = [row for row in packages if row["extra"] == extra]
    missing = [f"'{row['name']}{row['needs']}'" for row in rows if row["installed"] is None]
    if extra is not None and missing:
        # The libraries themselves: what a registry has under the name of this package need not be this package.
        return f"not installed; to use it: python -m pip install {' '.join(missing)}"
    return ", ".join(f"{row['name']} {row['installed'] or 'is missing'}" for row in rows)


def _of_folder(folder: dict[str, Any]) -> str:
    state = "" if folder["exists"] else " (made when it is needed)"
    return f"{folder['name']}: {folder['path']}{state}"
