"""One source file: bytes → text, and offsets → lines.

`Sources` is what the compiler is given instead of a file system: it opens nothing itself.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Protocol


class Sources(Protocol):
    """Where source files come from. Paths are relative to the project root, with `/`."""

    def find(self, module: str) -> list[str]:
        """The existing files that a module name can mean: `a.b` → `a/b.tb` under each source root."""
        ...

    def places(self, module: str) -> list[str]:
        """The paths at which a module is looked for, whether they exist or not."""
        ...

    def near(self, module: str) -> list[str]:
        """Names of modules that exist, for hints."""
        ...

    def read(self, path: str) -> bytes:
        """The bytes of a file; at most one byte more than the limit is read. Raises OSError."""
        ...


class Source:
    """A file's path (project-relative) and text. Offsets and columns count code points."""

    __slots__ = ("_starts", "path", "text")

    def __init__(self, path: str, text: str):
        self.path = path
        self.text = text
        starts = [0]
        position = text.find("\n")
        while position >= 0:
            starts.append(position + 1)
            position = text.find("\n", position + 1)
        self._starts = starts

    def position(self, offset: int) -> tuple[int, int]:
        """The 1-based line and column of an offset."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def line(self, number: int) -> str:
        """A line by its 1-based number, without its end."""
        start = self._starts[number - 1]
        end = self._starts[number] - 1 if number < len(self._starts) else len(self.text)
        return self.text[start:end].removesuffix("\r")

    @property
    def lines(self) -> int:
        return len(self._starts)
