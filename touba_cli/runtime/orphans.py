"""Processes that handlers leave behind in sessions of their own (Linux).

A handler's group is killed when its call is over, but whoever made a new session is not in that group any more. As a
*child subreaper* the runtime becomes the parent of such processes when theirs ends, and can end them, too. Where the
system does not offer this, they are left to their own.
"""

from __future__ import annotations

import os
import sys
import time

from ..limits import REAP_MS
from .signals import SIGKILL

_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Become the parent of orphans below this process. Called while the first handler works: loading takes time."""
    if sys.platform != "linux":
        return
    try:
        from ctypes import CDLL

        CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        return  # no ctypes or no such call here: orphans go to the system's first process, as everywhere else


def end_orphans() -> None:
    """Kill and collect every child of this process. For moments when no handler is at work."""
    until = time.monotonic() + REAP_MS / 1000
    while children := _children():
        for pid in children:
            try:
                os.kill(pid, SIGKILL)
                os.waitpid(pid, os.WNOHANG)
            except (ProcessLookupError, ChildProcessError):
                continue  # it has ended and was collected meanwhile
        if time.monotonic() > until:
            return  # what even a kill does not end is left to the system
        time.sleep(0.001)


def _children() -> list[int]:
    found: list[int] = []
    try:
        for task in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{task}/children", encoding="ascii") as file:
                found.extend(int(pid) for pid in file.read().split())
    except OSError:
        return []  # a system without this list
    return found
