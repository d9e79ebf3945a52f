"""How far two words are from each other: what every "did you mean" compares by.

Nothing loads this module before a word is wrong.
"""

from __future__ import annotations


def distance(left: str, right: str, limit: int) -> int | None:
    """The distance of two words in the optimal string alignment, or None where it is above the limit.

    It counts letters to insert, delete, change or swap with their neighbour.

    Example:
        >>> distance("ammount", "amount", 2), distance("aomunt", "amount", 2), distance("total", "amount", 2)
        (1, 1, None)
    """
    if abs(len(left) - len(right)) > limit:
        return None
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, letter in enumerate(left, 1):
        older, before, row = before, row, [i]
        for j, other in enumerate(right, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == right[j - 2] and left[i - 2] == other:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return None
    return row[-1] if row[-1] <= limit else None
