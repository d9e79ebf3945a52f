"""Processes that handlers start outside their group, in sessions of their own for example (Linux).

A handler's group is killed when its call is over, but whoever made a new one is not in it any more. As a *child
subreaper* the runtime becomes the parent of such processes when theirs ends, and can end them, too. For the case that
it is itself killed, it looks for such groups from time to time, and gives each a life line. Where the system does not
offer this, they are left to their own.
"""

from __future__ import annotations

import os
import sys
import time

from ..limits import REAP_MS
from .life_line import LifeLine
from .signals import SIGKILL

_SET_CHILD_SUBREAPER = 36

#: seconds from the start of a handler to the first look for groups, and between two at most; they double in between
_FIRST_LOOK = 0.05
_PAUSE = 1.0
#: how many groups have a life line at a time, and how many processes are looked at
_GROUPS = 32
_PROCESSES = 1_000


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
    while children := _children("self"):
        for pid in children:
            try:
                os.kill(pid, SIGKILL)
                os.waitpid(pid, os.WNOHANG)
            except (ProcessLookupError, ChildProcessError):
                continue  # it has ended and was collected meanwhile
        if time.monotonic() > until:
            return  # what even a kill does not end is left to the system
        time.sleep(0.001)


class Strays:
    """The groups that handlers have made besides their own, each with a life line.

    ``due`` is when to look again, in monotonic seconds.
    """

    __slots__ = ("_known", "_lines", "_pause", "due")

    def __init__(self) -> None:
        #: groups that are taken care of
        self._known = {os.getpgrp()}
        self._lines: dict[int, LifeLine] = {}
        self._pause = _FIRST_LOOK
        self.due = float("inf")

    def expect(self, handler: int) -> None:
        """A handler was started; its group has a life line. What it does first is looked at soon."""
        self._known.add(handler)
        self._pause = _FIRST_LOOK
        self.due = time.monotonic() + self._pause

    def look(self) -> None:
        """Give a life line to every group that has none."""
        self._pause = min(2 * self._pause, _PAUSE)
        self.due = time.monotonic() + self._pause
        self._forget_ended()
        for pid in _descendants():
            try:
                group = os.getpgid(pid)
            except ProcessLookupError:
                continue
            if group not in self._known and len(self._lines) < _GROUPS:
                self._watch(group)

    def _watch(self, group: int) -> None:
        try:
            line = LifeLine()
        except OSError:
            return  # no descriptor is left: handlers need them more
        if line.kill_at_end(group):
            self._known.add(group)
            self._lines[group] = line
        else:
            line.close()

    def _forget_ended(self) -> None:
        """Take the life lines of groups that are gone back: others need them, and may be given their numbers."""
        for group in list(self._lines):
            try:
                os.killpg(group, 0)
            except ProcessLookupError:
                self._lines.pop(group).close()
                self._known.discard(group)
            except PermissionError:
                continue  # it works for another user, and is there

    def close(self) -> None:
        """End the life lines: what still lives of these groups is killed."""
        for line in self._lines.values():
            line.close()
        self._lines = {}


def _descendants() -> list[int]:
    """The processes below this one."""
    found = _children("self")
    for pid in found:  # which grows meanwhile
        if len(found) > _PROCESSES:
            break
        found += _children(str(pid))
    return found


def _children(process: str) -> list[int]:
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{task}/children", encoding="ascii") as file:
                found.extend(int(pid) for pid in file.read().split())
    except OSError:
        return []  # a system without this list, or the process has ended
    return found
