"""Python source under construction: lines, the constants they name, and the names that they may use at all.

Nothing of a program's text enters source. A line is put together from keywords, the names of `HELPERS`, figures that we
count ourselves, and numbered names: ``s3`` a slot, ``t3`` a temporary, ``c3`` a constant (``k3`` where it has been made
local), ``f3`` a function of the program, ``g3`` a skill or strategy. What the program itself says (texts, names of
fields, numbers) is a constant: an object, handed over beside the source.
"""

from __future__ import annotations

from ..air.operations import OPERATIONS
from ..errors import ToubaFailure
from ..values.arithmetic import division_by_zero, integer_overflow
from ..values.functions import FUNCTIONS, concat, sort_by
from ..values.model import (
    ABSENT,
    ListValue,
    make_changed,
    make_choice,
    make_list,
    make_map,
    make_present,
    make_record,
    size_of,
    text_size,
)
from ..values.texts import out_of_range
from .budget import TooDeep
from .interpreter import unsound
from .tasks import HANDED, UNSET

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..values.model import Value


def _wrong_variant() -> ToubaFailure:
    return unsound("a payload is read of another variant")


def _nothing_inside() -> ToubaFailure:
    return unsound("an absent Optional is opened")


#: name of an operation → its name in generated source
OPERATION_NAMES: dict[str, str] = {name: "o_" + name.replace(".", "_") for name in OPERATIONS}

#: everything that generated source can name besides its own slots, temporaries, constants and functions
HELPERS: dict[str, Any] = {
    "__builtins__": {},
    "ABSENT": ABSENT,
    "Failure": ToubaFailure,
    "HANDED": HANDED,
    "ListValue": ListValue,
    "TooDeep": TooDeep,
    "UNSET": UNSET,
    "concat": concat,
    "division_by_zero": division_by_zero,
    "integer_overflow": integer_overflow,
    "length": len,
    "make_changed": make_changed,
    "make_choice": make_choice,
    "make_list": make_list,
    "make_map": make_map,
    "make_present": make_present,
    "make_record": make_record,
    "nothing_inside": _nothing_inside,
    "out_of_range": out_of_range,
    "size_of": size_of,
    "sort_by": sort_by,
    "text_of": str,
    "text_size": text_size,
    "tuple": tuple,
    "wrong_variant": _wrong_variant,
    **{OPERATION_NAMES[name]: FUNCTIONS[name] for name in OPERATIONS},
}


#: constants that a piece makes local, at most
MOST_LOCAL = 30


class Refused(Exception):
    """This code is not generated: it is too large or nested too deep for Python. The interpreter runs it."""


class Source:
    """Lines of one function that is being generated.

    ``level`` is how far the next line is indented, ``pc`` the instruction that it is made for (-1: what the caller
    does), ``loops`` how many Python loops are open around it.
    """

    __slots__ = ("_constants", "_temporaries", "constants", "level", "lines", "local", "loops", "pc", "places")

    def __init__(self) -> None:
        self.lines: list[str] = []
        #: line → instruction
        self.places: list[int] = []
        self.constants: list[Any] = []
        #: numbers of the constants that are used in loops: local names are the quickest
        self.local: set[int] = set()
        self._constants: dict[Any, int] = {}
        self._temporaries = 0
        self.level = 1
        self.pc = -1
        self.loops = 0

    def add(self, line: str) -> None:
        self.lines.append(" " * self.level + line)
        self.places.append(self.pc)

    def temporary(self) -> str:
        """A new name."""
        self._temporaries += 1
        return f"t{self._temporaries}"

    def keep(self, text: str) -> str:
        """Evaluate an expression here and now; gives the name of its value."""
        name = self.temporary()
        self.add(f"{name} = {text}")
        return name

    def constant(self, value: Value) -> str:
        """The name of an object; texts and whole numbers that are equal share one."""
        key = (type(value), value) if type(value) in (str, int) else id(value)
        number = self._constants.get(key)
        if number is None:
            number = self._constants[key] = len(self.constants)
            self.constants.append(value)  # which keeps the object, and so its id
        if self.loops and type(value) in (str, int) and (number in self.local or len(self.local) < MOST_LOCAL):
            self.local.add(number)
            return f"k{number:d}"
        return f"c{number:d}"

    def charge(self, steps: int) -> None:
        """Take steps where the machine cannot stop."""
        self.add(f"n = m.left - {steps:d}")
        self.add(f"if n < 0: m.charge({steps:d})")
        self.add("else: m.left = n")


def is_name(text: str) -> bool:
    """Whether a piece of source is a numbered name, which may be repeated and evaluated later."""
    return text[1:].isdigit() and text[0] in "stck"
