"""Places inside a value, as messages name them: ``lines[1].name``, ``rates["EUR/USD"]``, ``$`` for the whole value."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

WHOLE = "$"

#: the most faults that are kept beside the first of a value
FAULTS_KEPT = 100

#: the most characters of a name or key that a message shows
_SHOWN = 60


class Fault(Exception):
    """What is wrong with a part of a value. Each level that it passes on its way up adds its step to ``steps``."""

    def __init__(self, message: str, *steps: str):
        super().__init__(message)
        self.message = message
        self.steps = list(steps)
        #: what else is wrong beside it
        self.others: list[Fault] = []

    def below(self, step: str) -> None:
        """Say that the part, and what else is wrong beside it, lies below a step."""
        self.steps.append(step)
        for other in self.others:
            other.steps.append(step)

    def join(self, other: Fault) -> None:
        """Take another fault of the same value in; past a few none is kept."""
        self.others += [other, *other.others][: FAULTS_KEPT - len(self.others)]
        other.others = []

    def path(self, start: str) -> str:
        """The path to the part, from the path of the whole."""
        return join_path(start, reversed(self.steps))


def join_path(start: str, steps: Iterable[str]) -> str:
    """One path of a start (``$`` for the whole value) and steps.

    >>> join_path("$", [".lines", "[1]"]), join_path("$", ["[1]"]), join_path("order", [".lines"])
    ('lines[1]', '$[1]', 'order.lines')
    """
    rest = "".join(steps)
    if start in (WHOLE, "") and rest.startswith("."):
        return rest[1:]
    return (start or WHOLE) + rest


def field_step(name: str) -> str:
    """The step to a field: ``.name``, or ``["na me"]`` where the name is no plain word."""
    return f".{name}" if name.isascii() and name.isidentifier() and len(name) <= _SHOWN else key_step(name)


def item_step(position: int) -> str:
    """The step to an element: ``[1]``."""
    return f"[{position}]"


def key_step(key: str) -> str:
    """The step to a Map's value: ``["EUR/USD"]``, cut and escaped so that it fits a line."""
    return f'["{shown(key)}"]'


def shown(text: str) -> str:
    """A name from outside as messages show it: at most 60 characters, no controls, nothing that is not ASCII."""
    cut = text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
    return cut.replace('"', "'").encode("unicode_escape").decode("ascii")


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that was probably meant, or None: at most a third of the letters differ, case and ``_`` aside.

    >>> nearest("ammount", ["id", "amount"])
    'amount'
    """
    if len(name) > _SHOWN:
        return None
    from ..spelling import distance

    wanted = _plain(name)
    best: str | None = None
    limit = max(1, len(wanted) // 3)
    for candidate in candidates:
        found = distance(wanted, _plain(candidate), limit)
        if found is not None:
            best, limit = candidate, found - 1
    return best


def _plain(name: str) -> str:
    return name.replace("_", "").lower()
