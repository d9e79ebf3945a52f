"""What a run is made of: a tree of tasks, each a stack of frames. Plain data; `machine` moves it.

Effects are never inside expressions, so a frame is complete with the callable, the number of its instruction, its
slots, its open attempts and how often it reached each of its effect sites.
"""

from __future__ import annotations

from .events import occurrence_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..air.program import Callable
    from ..values.model import Value
    from .machine import Need, Settled


class Unset:
    """The class of `UNSET`, which stands in a slot until a value is put there."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNSET"


UNSET = Unset()


class Handed:
    """The class of `HANDED`, which generated code gives instead of a result after handing over to the machine."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "HANDED"


HANDED = Handed()


class Frame:
    """One open callable.

    While something that it called is open, ``pc`` is the number of the ``call``. ``attempts`` holds for each open
    attempt `[number of its handler, slot of the problem, length of the task's effects]`, ``counts`` the site → how
    often it was reached. The other members follow from the frames below and are kept only to be at hand:
    ``occurrence`` of its own call (None for the entry) and ``span`` of that call. Where the trace does not tell of the
    call, ``told`` is false, and ``span`` is that of the call around it.
    """

    __slots__ = ("attempts", "callable", "counts", "occurrence", "pc", "slots", "span", "told")

    def __init__(
        self,
        callable_: Callable,
        arguments: list[Value],
        span: str = "",
        occurrence: str | None = None,
        told: bool = True,
    ):
        self.callable = callable_
        self.pc = 0
        self.slots: list[Value] = arguments + [UNSET] * (len(callable_.slots) - len(arguments))
        self.attempts: list[tuple[int, int, int]] = []
        self.counts: dict[int, int] = {}
        self.span = span
        self.occurrence = occurrence
        self.told = told

    def reach(self, site: int) -> str:
        """Count an effect site as reached once more and give its occurrence."""
        return occurrence_of(self.occurrence, site, self.count(site))

    def count(self, site: int) -> int:
        """Count an effect site as reached once more and give how often it has been."""
        count = self.counts[site] = self.counts.get(site, 0) + 1
        return count


class Park:
    """What a task waits for: ``runnable`` (nothing), a tool ``call``, or nothing any more (``ended``)."""

    __slots__ = ("callee", "kind", "need", "settled", "span")

    def __init__(self, kind: str, callee: Callable | None = None, need: Need | None = None, span: str = ""):
        self.kind = kind
        self.callee = callee
        self.need = need
        self.span = span
        self.settled: Settled | None = None


RUNNABLE = Park("runnable")
ENDED = Park("ended")


class Task:
    """One line of work. ``effects`` lists committed writes that can be compensated, in commit order."""

    __slots__ = ("effects", "frames", "name", "park", "spans")

    def __init__(self, name: str):
        self.name = name
        self.frames: list[Frame] = []
        self.effects: list[Any] = []
        self.park = RUNNABLE
        self.spans = 0

    def new_span(self) -> str:
        """`TASK.n`, counted per task."""
        self.spans += 1
        return f"{self.name}.{self.spans}"
