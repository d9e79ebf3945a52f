"""The compiler's classes of plain data behave as those of `dataclasses` do."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from touba_cli.language import records, tree


@records.dataclass(eq=False, slots=True)
class Base:
    """A base."""

    name: str
    size: int = 3

    def twice(self) -> int:
        return self.size * 2


@records.dataclass(eq=False, slots=True)
class Part(Base):
    parts: list[int] = records.field(default_factory=list)


@records.dataclass(frozen=True, slots=True)
class Place:
    start: int
    end: int = 9


@records.dataclass(slots=True)
class Box:
    inside: Any


@dataclasses.dataclass(frozen=True, slots=True)
class RealPlace:
    start: int
    end: int = 9


def test_arguments_and_defaults() -> None:
    part = Part("a", parts=[1])
    assert (part.name, part.size, part.parts, part.twice()) == ("a", 3, [1], 6)
    assert Part("b").parts is not Part("b").parts
    assert Base("c", 5).twice() == 10
    assert Base.__doc__ == "A base."
    assert repr(part) == "Part(name='a', size=3, parts=[1])"


@pytest.mark.parametrize(
    ("values", "named"), [((), {}), ((1, 2, 3), {}), ((1,), {"start": 2}), ((1,), {"other": 2}), ((), {"end": 2})]
)
def test_wrong_arguments_are_refused_as_there(values: tuple[Any, ...], named: dict[str, Any]) -> None:
    for kind in (Place, RealPlace):
        with pytest.raises(TypeError, match="argument"):
            kind(*values, **named)


def test_equality_and_hash() -> None:
    assert Place(1) == Place(1, 9) != Place(2)
    assert Place(1) != RealPlace(1)
    assert Place(1) != (1, 9)
    assert len({Place(1), Place(1, 9), Place(2)}) == 2
    assert Base("a") != Base("a")
    assert Box([1]) == Box([1])
    with pytest.raises(TypeError, match="unhashable"):
        hash(Box(1))


def test_slots_copies_and_matching() -> None:
    with pytest.raises(AttributeError):
        Base("a").other = 1  # type: ignore[attr-defined]
    assert copy.deepcopy(Place(1, 2)) == Place(1, 2)
    assert pickle.loads(pickle.dumps(Place(1, 2))) == Place(1, 2)
    match Place(1, 2):
        case Place(start, end):
            assert (start, end) == (1, 2)


def test_the_nodes_of_the_tree_have_their_fields() -> None:
    assert next(iter(tree.Literal.__dataclass_fields__)) == "span"
    name = tree.Name(tree.Span(0, 1), "a")
    assert (name.span, name.text) == (tree.Span(0, 1), "a")


def test_the_compiler_loads_no_dataclasses() -> None:
    code = "import sys, touba_cli.language.compiler; print({'dataclasses', 'inspect', 'typing'} & set(sys.modules))"
    root = str(Path(__file__).resolve().parents[2])
    done = subprocess.run([sys.executable, "-S", "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert "dataclasses" not in done.stdout
    assert "inspect" not in done.stdout
