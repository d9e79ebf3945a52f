"""Whether git tracks a file, read from git's own index: no git is started, and none needs to be installed."""

from __future__ import annotations

import os

_INDEX_BYTES = 256 * 1024 * 1024


def is_tracked(path: str) -> bool:
    """True where a repository around the file has it in its index. False where there is none, or none that is known."""
    real = os.path.realpath(path)
    folder = os.path.dirname(real)
    while True:
        index = _index(os.path.join(folder, ".git"))
        if index is not None:
            name = os.path.relpath(real, folder).replace(os.sep, "/")
            return os.fsencode(name) in _names(index)
        parent = os.path.dirname(folder)
        if parent == folder:
            return False
        folder = parent


def _index(git: str) -> bytes | None:
    """The bytes of a repository's index; ``.git`` is a folder, or a file that names one (worktrees, submodules)."""
    try:
        if os.path.isfile(git):
            with open(git, "rb") as file:
                head = file.read(4096)
            if not head.startswith(b"gitdir:"):
                return None
            git = os.path.join(os.path.dirname(git), os.fsdecode(head[7:].strip()))
        with open(os.path.join(git, "index"), "rb") as file:
            return file.read(_INDEX_BYTES)
    except OSError:
        return None  # no repository here, or one without an index: nothing is tracked


def _names(index: bytes) -> set[bytes]:
    """The paths of an index of version 2, 3 or 4; what has another form holds none."""
    names: set[bytes] = set()
    if index[:4] != b"DIRC":
        return names
    version = int.from_bytes(index[4:8], "big")
    count = int.from_bytes(index[8:12], "big")
    if version not in (2, 3, 4):
        return names
    position = 12
    before = b""
    for _ in range(count):
        if position + 62 > len(index):
            break
        flags = int.from_bytes(index[position + 60 : position + 62], "big")
        start = position + (64 if flags & 0x4000 else 62)
        if version == 4:
            cut, start = _varint(index, start)
            end = index.find(b"\0", start)
            name = before[: len(before) - cut] + index[start:end]
            position = end + 1
        else:
            end = index.find(b"\0", start)
            name = index[start:end]
            position += (end - position) // 8 * 8 + 8
        if end < 0:
            break
        names.add(name)
        before = name
    return names


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """Git's offset encoding: seven bits a byte, most significant first, one added for every byte that follows."""
    byte = data[position]
    position += 1
    value = byte & 0x7F
    while byte & 0x80 and position < len(data):
        byte = data[position]
        position += 1
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, position
