"""The compile cache: what the compiler made of a program, kept until one of its files changes.

An entry is one file. It lists every source file that was read with its digest, and every path where a module was
looked for in vain: it counts only while all of that still holds. Its name is a digest of everything else that decides
what the compiler makes: its version and own files, the meaning of AIR, where modules are looked for, and the entry
file's path and bytes.

What lies in the folder is run without being verified. So the folder has to be the user's own and closed to others;
where it is not there is no cache, and programs only start slower. The same holds for every fault of the file system
here: a cache that cannot be read or written is a cache that has nothing.
"""

from __future__ import annotations

import os
import stat

from .. import __version__
from ..air.program import SEMANTICS
from ..codec import JsonInvalid, canonical, decode, key_digest, sha256
from ..errors import ToubaFailure
from ..limits import CACHE_BYTES
from .sources import SOURCE_ROOTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .sources import ProjectSources

FORMAT = "touba-cache-v1"
#: what an entry begins with: this, the length of the rest, its digest
_HEADER = len(FORMAT) + 1 + 12 + 1 + 64 + 1
#: an entry may take this part of the cache
_SHARE = 4
#: after so many seconds a temporary file belongs to a writer that is gone
_ABANDONED = 3600
#: the folders whose modules decide what the compiler makes
_COMPILER = ("language", "air", "values")


def default_folder(environ: dict[str, str], platform: str) -> str | None:
    """The folder for what can be made again, at a terminal: TOUBA_CACHE_DIR, else the user's; None where there is none.

    Raises:
        ToubaFailure: OptionInvalid, for a variable that holds no absolute path.
    """
    named = environ.get("TOUBA_CACHE_DIR")
    if named:
        if not os.path.isabs(named):
            raise ToubaFailure("OptionInvalid", "TOUBA_CACHE_DIR has to be an absolute path", hint="Set it anew.")
        return named
    if platform == "win32":
        base = environ.get("LOCALAPPDATA", "")
        return os.path.join(base, "touba", "Cache") if base else None
    home = environ.get("HOME", "")
    base = os.path.join(home, "Library", "Caches") if platform == "darwin" else environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.join(home, ".cache")
    return os.path.join(base, "touba") if os.path.isabs(base) else None


class RecordedSources:
    """Sources that remember what the compiler asked for."""

    __slots__ = ("_sources", "absent", "files")

    def __init__(self, sources: ProjectSources):
        self._sources = sources
        #: path → digest of its bytes
        self.files: dict[str, str] = {}
        #: paths where no file was
        self.absent: set[str] = set()

    def find(self, module: str) -> list[str]:
        found = self._sources.find(module)
        self.absent.update(path for path in self._sources.places(module) if path not in found)
        return found

    def places(self, module: str) -> list[str]:
        return self._sources.places(module)

    def near(self, module: str) -> list[str]:
        return self._sources.near(module)

    def read(self, path: str) -> bytes:
        data = self._sources.read(path)
        self.files[path] = sha256(data)
        return data


class ProgramCache:
    """The entries of one folder, which `open_cache` has found to be private."""

    __slots__ = ("_folder",)

    def __init__(self, folder: str):
        self._folder = folder

    def find(self, sources: ProjectSources, entry: str) -> dict[str, Any] | None:
        """The AIR document of a program, or None where it has to be compiled.

        Parameters:
            sources: the project's files as they are now.
            entry: the path of the program's file.
        """
        try:
            key = _key(entry, sha256(sources.read(entry)))
            data = self._read(key)
            found = None if data is None else _open(data, key)
            if found is None or not _holds(found, sources):
                return None
            os.utime(os.path.join(self._folder, key))  # the oldest ones are removed first
        except (OSError, ToubaFailure):
            return None  # whatever it is, the compiler meets it too and has the words for it
        air: dict[str, Any] = found["air"]
        return air

    def keep(self, recorded: RecordedSources, entry: str, air: dict[str, Any]) -> None:
        """Enter what was just compiled.

        Parameters:
            recorded: the sources that the compiler read from.
            entry: the path of the program's file.
            air: the document that it made.
        """
        key = _key(entry, recorded.files[entry])
        body = canonical({"absent": sorted(recorded.absent), "air": air, "files": recorded.files, "key": key})
        if len(body) > CACHE_BYTES // _SHARE:
            return
        try:
            self._write(key, f"{FORMAT}\n{len(body):012d}\n{sha256(body)}\n".encode("ascii") + body)
            self._make_room()
        except OSError:
            return  # a full disk, a folder that is gone: the next run compiles again

    # --- files ------------------------------------------------------------------------------------------------------

    def _read(self, key: str) -> bytes | None:
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            descriptor = os.open(os.path.join(self._folder, key), flags)
        except FileNotFoundError:
            return None
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
                return None
            return file.read(CACHE_BYTES)

    def _write(self, key: str, data: bytes) -> None:
        """Put an entry in place in one step: whoever reads meanwhile sees the old one, or the new one."""
        temporary = os.path.join(self._folder, f"{key}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            os.rename(temporary, os.path.join(self._folder, key))
        except BaseException:
            os.unlink(temporary)
            raise

    def _make_room(self) -> None:
        """Remove the oldest entries where there is too much, and what dead writers have left behind."""
        entries: list[tuple[float, int, str]] = []
        newest = 0.0
        with os.scandir(self._folder) as listed:
            for each in listed:
                try:
                    found = each.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue  # another run has just removed it
                entries.append((found.st_mtime, found.st_size, each.path))
                newest = max(newest, found.st_mtime)
        total = sum(size for _, size, _ in entries)
        for changed, size, path in sorted(entries):
            is_abandoned = path.endswith(".tmp") and changed < newest - _ABANDONED
            if total > CACHE_BYTES or is_abandoned:
                _remove(path)
                total -= size


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return  # another run was quicker


def open_cache(folder: str) -> ProgramCache | None:
    """The cache in a folder, which is made where it is missing; None where the folder is not private.

    Parameters:
        folder: an absolute path, below the folder of `default_folder`.
    """
    if os.name != "posix" or not is_private(folder):
        return None
    return ProgramCache(folder)


def is_private(folder: str) -> bool:
    """Whether a folder is the user's own, closed to others, and not to be replaced by them; a missing one is made."""
    try:
        _make(folder)
        found = os.lstat(folder)
        around = os.stat(os.path.dirname(folder))
    except OSError:
        return False
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        return False
    shared = around.st_mode & 0o022 and not around.st_mode & stat.S_ISVTX
    return around.st_uid in (0, os.getuid()) and not shared


def _make(folder: str) -> None:
    """Make a folder and those around it; all of them closed to others, whatever the umask."""
    if os.path.isdir(folder):
        return
    _make(os.path.dirname(folder))
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        return  # another run was quicker; or it is no folder, which is seen next


# --- entries ----------------------------------------------------------------------------------------------------------


def _key(entry: str, digest: str) -> str:
    return key_digest(FORMAT, __version__, _compiler_stamp(), SEMANTICS, list(SOURCE_ROOTS), entry, digest)


def _compiler_stamp() -> str:
    """What tells one state of the compiler's files from another: while it is changed its version stays the same."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parts: list[str] = []
    for name in _COMPILER:
        with os.scandir(os.path.join(package, name)) as listed:
            for each in listed:
                if each.name.endswith(".py"):
                    found = each.stat()
                    parts.append(f"{name}/{each.name}:{found.st_size}:{found.st_mtime_ns}")
    return sha256("\n".join(sorted(parts)).encode("utf-8", "surrogateescape"))


def _open(data: bytes, key: str) -> dict[str, Any] | None:
    """What an entry holds; None where it is torn, or not what its name says."""
    head, body = data[:_HEADER], data[_HEADER:]
    if head != f"{FORMAT}\n{len(body):012d}\n{sha256(body)}\n".encode("ascii"):
        return None
    try:
        found: Any = decode(body)
    except JsonInvalid:
        return None
    return found if isinstance(found, dict) and found.get("key") == key else None


def _holds(found: dict[str, Any], sources: ProjectSources) -> bool:
    """Whether the files are what they were, and those that were missing are missing still."""
    if any(sources.is_there(path) for path in found["absent"]):
        return False
    return all(sha256(sources.read(path)) == digest for path, digest in found["files"].items())
