"""Where the generator's choices come from: a stream of numbers that a seed determines, the same on every Python."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draw:
    """Choices in their order. Only `Random.random` is used: its numbers are promised to stay what they are.

    >>> Draw(1).below(10) == Draw(1).below(10)
    True
    """

    def __init__(self, seed: int):
        self.seed = seed
        self._next = random.Random(seed).random

    def below(self, count: int) -> int:
        """A number from 0 to before ``count``."""
        return int(self._next() * count)

    def between(self, low: int, high: int) -> int:
        """A number from ``low`` to ``high``, both included."""
        return low + self.below(high - low + 1)

    def chance(self, percent: int) -> bool:
        """True in so many of a hundred cases."""
        return self.below(100) < percent

    def pick(self, options: Sequence[T]) -> T:
        """One of the options, all alike."""
        return options[self.below(len(options))]

    def weighted(self, options: Sequence[tuple[int, T]]) -> T:
        """One of the options, by their weights."""
        left = self.below(sum(weight for weight, _ in options))
        for weight, option in options:
            left -= weight
            if left < 0:
                return option
        raise AssertionError("the weights are positive")

    def some(self, options: Sequence[T], least: int, most: int) -> list[T]:
        """So many different options, in their order."""
        count = min(len(options), self.between(least, most))
        left = list(range(len(options)))
        for _ in range(len(options) - count):
            left.pop(self.below(len(left)))
        return [options[position] for position in left]

    def shuffled(self, options: Sequence[T]) -> list[T]:
        """The options in another order."""
        left = list(options)
        return [left.pop(self.below(len(left))) for _ in options]
