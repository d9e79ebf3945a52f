"""Reading and writing files by the names that options give.

Every failure is a `ToubaFailure` that names the path and the cause, so bad input never becomes a traceback. Only
regular files are read: a folder, a device or a pipe in the place of a file is refused instead of waited for.
"""

from __future__ import annotations

import errno
import os
import stat

from ..errors import ToubaFailure

_CHUNK = 1024 * 1024

_CAUSES = {
    errno.ENOENT: "it does not exist",
    errno.ENOTDIR: "a part of its path is not a folder",
    errno.EISDIR: "it is a folder",
    errno.EACCES: "permission is denied",
    errno.EPERM: "permission is denied",
    errno.ELOOP: "its links go in a circle",
    errno.ENAMETOOLONG: "its name is too long",
    errno.ENOSPC: "the disk is full",
    errno.EROFS: "the file system is read-only",
}


def cause(fault: OSError) -> str:
    """Why the operating system refused, in words."""
    known = _CAUSES.get(fault.errno or 0)
    if known is not None:
        return known
    return (fault.strerror or "the operating system refused").lower()


def shown(path: str) -> str:
    """A path as messages show it: printable, also where it holds bytes that are no text."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in path)


def check_path(path: str, what: str) -> str:
    """Refuse what no file can be called. Raises ToubaFailure (OptionInvalid)."""
    if not path:
        raise ToubaFailure("OptionInvalid", f"{what} is empty; a path was expected")
    if "\0" in path:
        raise ToubaFailure("OptionInvalid", f"{what} holds a NUL character")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise ToubaFailure("OptionInvalid", f"{what} holds a lone surrogate") from None
    return path


def read_file(path: str, limit: int, what: str) -> bytes:
    """All bytes of a regular file.

    Parameters:
        path: the file; a relative one is taken from the current folder.
        limit: the most bytes it may have.
        what: how to name the file in the message: ``the manifest``.

    Raises:
        ToubaFailure: FileUnreadable, with path and cause.
    """
    descriptor = _open_regular(path, path, what)
    try:
        return _read_rest(descriptor, path, limit, what)
    finally:
        os.close(descriptor)


def check_readable(path: str, name: str, what: str) -> None:
    """Refuse what `read_file` would refuse, without reading it; messages call it ``name``."""
    os.close(_open_regular(path, name, what))


def _open_regular(path: str, name: str, what: str) -> int:
    try:
        # Without O_NONBLOCK opening a pipe that nobody writes to would wait for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as fault:
        raise _unreadable(name, what, cause(fault)) from None
    except ValueError:
        raise _unreadable(name, what, "no file can have such a name") from None
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise _unreadable(name, what, "it is a folder" if stat.S_ISDIR(mode) else "it is not a regular file")
    return descriptor


def _read_rest(descriptor: int, path: str, limit: int, what: str) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        try:
            part = os.read(descriptor, _CHUNK)
        except OSError as fault:
            raise _unreadable(path, what, cause(fault)) from None
        if not part:
            return b"".join(parts)
        size += len(part)
        if size > limit:
            raise _unreadable(path, what, f"it has more than {limit} bytes")
        parts.append(part)


def _unreadable(path: str, what: str, why: str) -> ToubaFailure:
    return ToubaFailure("FileUnreadable", f"{what} `{shown(path)}` cannot be read: {why}")


def inside(root: str, path: str, what: str) -> str:
    """The real path of something that must lie, links followed, inside the project root.

    Parameters:
        root: the project root, absolute.
        path: the path; a relative one is taken from the root.
        what: how to name it in the message.

    Raises:
        ToubaFailure: PathOutsideProject.
    """
    real_root = os.path.realpath(root)
    if "\0" in path:
        raise ToubaFailure("PathOutsideProject", f"{what} has a NUL character in its path")
    real = os.path.realpath(os.path.join(real_root, path))
    if real != real_root and not real.startswith(real_root.rstrip("/") + "/"):
        raise ToubaFailure("PathOutsideProject", f"{what} `{shown(path)}` leads out of the project root")
    return real


class OutputFile:
    """A file that an option names, written when its content is known.

    A regular file, or one that does not exist yet, is replaced in one step: opening makes a temporary file beside it,
    so a folder that cannot be written to is noticed before anything runs; `write` fills it, flushes it to the disk and
    renames it. A link is followed: what it leads to is replaced, never the link. A device or a pipe is written to in
    place, because a rename would put a file where the device was.
    """

    __slots__ = ("_descriptor", "_target", "_temporary", "path")

    def __init__(self, path: str, what: str):
        self.path = path
        #: what is replaced: the path with its links followed
        self._target = os.path.realpath(path)
        #: None where the target is written to in place
        self._temporary: str | None = None
        mode = _mode(path, what)
        if mode is not None and stat.S_ISDIR(mode):
            raise _unwritable(path, what, "it is a folder")
        if mode is not None and not stat.S_ISREG(mode):
            self._descriptor = _open_in_place(path, what)
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        number = 0
        while True:
            self._temporary = f"{self._target}.{os.getpid()}.{number}.tmp"
            try:
                self._descriptor = os.open(self._temporary, flags, 0o666)
                return
            except FileExistsError:
                number += 1  # left over by a process that was killed
            except FileNotFoundError:
                folder = os.path.dirname(self._target if os.path.islink(path) else path) or "."
                raise _unwritable(path, what, f"the folder `{shown(folder)}` does not exist") from None
            except OSError as fault:
                raise _unwritable(path, what, cause(fault)) from None

    def write(self, data: bytes) -> None:
        """Put the content in place. Raises OSError; a target that is replaced is then as it was."""
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(self._descriptor, view) :]
            if self._temporary is not None:
                os.fsync(self._descriptor)
                self._replace(self._temporary)
        except OSError:
            self.discard()
            raise
        os.close(self._descriptor)
        self._descriptor = -1

    def _replace(self, temporary: str) -> None:
        """Rename over the target, unless something that is no regular file has come there meanwhile."""
        try:
            mode = os.lstat(self._target).st_mode
        except FileNotFoundError:
            mode = stat.S_IFREG
        if not stat.S_ISREG(mode):
            raise OSError(errno.EEXIST, "it is no regular file any more", self.path)
        os.rename(temporary, self._target)

    def discard(self) -> None:
        """Remove the temporary file; the target is as it was. May be called at any time."""
        if self._descriptor < 0:
            return
        os.close(self._descriptor)
        self._descriptor = -1
        if self._temporary is not None and os.path.exists(self._temporary):
            os.unlink(self._temporary)


def _mode(path: str, what: str) -> int | None:
    """The mode of what a path leads to; None where nothing is there."""
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as fault:
        why = cause(fault) if isinstance(fault, OSError) else "no file can have such a name"
        raise _unwritable(path, what, why) from None


def _open_in_place(path: str, what: str) -> int:
    """A descriptor of a device or a pipe, ready to be written to."""
    try:
        # Without O_NONBLOCK opening a pipe that nobody reads would wait for ever.
        descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as fault:
        why = "nobody reads it" if fault.errno == errno.ENXIO else cause(fault)
        raise _unwritable(path, what, why) from None
    os.set_blocking(descriptor, True)
    return descriptor


def write_new(path: str, data: bytes) -> bool:
    """Write a file that must not exist yet and that only its owner may read. False where that is not possible."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError:
        return False
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
    except OSError:
        os.unlink(path)
        return False
    finally:
        os.close(descriptor)
    return True


def _unwritable(path: str, what: str, why: str) -> ToubaFailure:
    return ToubaFailure("FileUnwritable", f"{what} `{shown(path)}` cannot be written: {why}")
