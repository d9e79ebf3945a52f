"""The bounds of a run: how deep its callables may call each other, and its steps, one total handed out in slices.

A slice ends in one of two ways. In the code of a skill or strategy, whose frame can be left and taken up again, the
machine uses `spend`, which overdraws the slice and marks it `spent`; `advance` then returns. Inside a function and
inside an operation nothing can be left, so there `charge` calls the driver's `pulse` and begins the next slice.

Both refuse exactly the charge with which the total would pass the limit, and do not count it: where a budget ends
does not depend on the slices.
"""

from __future__ import annotations

import sys

from ..errors import ToubaFailure
from ..limits import JSON_DEPTH, LIMITS
from ..values.model import Meter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .execution import GeneratingState


#: Python frames for the deepest program: every open callable may stand inside an expression as deep as JSON can be,
#: and `apply`, `call` and `run` take three more.
RECURSION_LIMIT = (LIMITS["max_depth"].highest or 1) * (JSON_DEPTH + 4) + 10_000


def allow_recursion() -> None:
    """Raise Python's recursion limit so that ours is always met first. Python-to-Python calls use no C stack."""
    if sys.getrecursionlimit() < RECURSION_LIMIT:
        sys.setrecursionlimit(RECURSION_LIMIT)


class TooDeep(ToubaFailure):
    """One more callable would be open than may be. Whoever catches it `tell`s which are, the outermost first."""

    def __init__(self, ref: str):
        super().__init__("DepthLimitExceeded", "")
        self._called = ref

    def tell(self, opened: list[str]) -> None:
        refs = [*opened, self._called]
        limit = len(opened)
        if len(refs) > 10:
            refs = [*refs[:5], "…", *refs[-5:]]
        self.message = f"more than {limit} callables would be open inside each other: {' > '.join(refs)}"
        self.args = (self.message,)


class Budget(Meter):
    """The machine's meter. ``left`` is what remains of the slice, ``reserve`` what no slice has got yet."""

    __slots__ = ("max_steps", "owner", "pulse", "reserve", "slice_steps", "spent")

    def __init__(self, max_steps: int, max_value_bytes: int):
        super().__init__(0, max_value_bytes)
        self.max_steps = max_steps
        self.reserve = max_steps
        self.slice_steps = max_steps
        self.pulse: Callable[[], None] | None = None
        #: whether the slice has ended
        self.spent = False
        #: the state of the run: generated functions, which are given the budget alone, find the rest of it here
        self.owner: GeneratingState | None = None

    @property
    def steps(self) -> int:
        """The steps taken so far."""
        return self.max_steps - self.left - self.reserve

    @property
    def remaining(self) -> int:
        """The steps that may still be taken."""
        return self.left + self.reserve

    def begin_slice(self, slice_steps: int, pulse: Callable[[], None]) -> None:
        """Hand out the next slice; what remains of the one before goes back."""
        self.slice_steps = slice_steps
        self.pulse = pulse
        self.spent = False
        self._hand_out(self.left + self.reserve)

    def charge(self, steps: int) -> None:
        """Take steps where the machine cannot stop. Raises StepLimitExceeded, and what `pulse` raises."""
        left = self.left - steps
        if left >= 0:
            self.left = left
            return
        self._hand_out(self._remaining_after(steps))
        if self.pulse is not None:
            self.pulse()

    def spend(self, steps: int) -> None:
        """Take steps where the machine can stop: sets ``spent`` instead of beginning a slice."""
        left = self.left - steps
        if left >= 0:
            self.left = left
            return
        self.reserve = self._remaining_after(steps)
        self.left = 0
        self.spent = True

    def _remaining_after(self, steps: int) -> int:
        remaining = self.left + self.reserve - steps
        if remaining < 0:
            raise ToubaFailure("StepLimitExceeded", f"the run would take more than {self.max_steps} steps")
        return remaining

    def _hand_out(self, remaining: int) -> None:
        self.left = min(self.slice_steps, remaining)
        self.reserve = remaining - self.left
