"""The project's source files, as the compiler is given them."""

from __future__ import annotations

import os
import stat

from ..limits import SOURCE_BYTES
from .files import inside

#: where module names are looked up, from the project root
SOURCE_ROOTS: tuple[str, ...] = ("", "src/")

#: names of modules that are collected for hints, at most
_MOST_NAMES = 2_000


class ProjectSources:
    """Source files below a project root; it implements ``language.source.Sources``.

    Files are found only inside the root, links followed.
    """

    __slots__ = ("_root",)

    def __init__(self, root: str):
        self._root = os.path.realpath(root)

    def find(self, module: str) -> list[str]:
        """The existing files that a module name can mean: ``a.b`` → ``a/b.tb``, ``src/a/b.tb``."""
        return [path for path in self.places(module) if self.is_there(path)]

    def is_there(self, path: str) -> bool:
        """Whether a path from the root is a file."""
        return os.path.isfile(os.path.join(self._root, path))

    def places(self, module: str) -> list[str]:
        """The paths at which a module is looked for: ``a.b`` → ``a/b.tb``, ``src/a/b.tb``."""
        name = module.replace(".", "/") + ".tb"
        return [root + name for root in SOURCE_ROOTS]

    def near(self, module: str) -> list[str]:
        """Names of the modules that exist in the folders of this one and at the roots, sorted."""
        folder = module.rpartition(".")[0]
        found: set[str] = set()
        for root in SOURCE_ROOTS:
            for inner in {"", folder.replace(".", "/")}:
                prefix = inner.replace("/", ".") + "." if inner else ""
                try:
                    names = sorted(os.listdir(os.path.join(self._root, root + inner)))
                except OSError:
                    continue  # a folder that is not there holds no modules
                found.update(prefix + name[:-3] for name in names[:_MOST_NAMES] if name.endswith(".tb"))
        return sorted(found)

    def read(self, path: str) -> bytes:
        """The bytes of a file, at most one more than the limit. Raises OSError, ToubaFailure (PathOutsideProject)."""
        real = inside(self._root, path, "the source file")
        descriptor = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            mode = os.fstat(descriptor).st_mode
            if not stat.S_ISREG(mode):
                raise IsADirectoryError(
                    21, "it is a folder" if stat.S_ISDIR(mode) else "it is not a regular file", path
                )
            parts: list[bytes] = []
            wanted = SOURCE_BYTES + 1
            while wanted > 0:
                part = os.read(descriptor, wanted)
                if not part:
                    break
                parts.append(part)
                wanted -= len(part)
            return b"".join(parts)
        finally:
            os.close(descriptor)
