"""Annotations: what each kind reads from the wire, what it refuses and with which path, and what it loads."""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import enum
import subprocess
import sys
import typing
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any, Generic, Literal, NotRequired, Optional, Required, TypedDict, TypeVar

import pydantic
import pytest
import typing_extensions
from hypothesis import given
from hypothesis import strategies as st

from touba_sdk._annotations import AnnotationUnsupported
from touba_sdk._encode import encode
from touba_sdk._wire import Reader, WireMismatch

CANARY = "c4n4ry"
T = TypeVar("T")


class Colour(enum.Enum):
    RED = "Red"
    BLUE = "Blue"


class Note(TypedDict):
    topic: str
    pages: NotRequired[int]
    due: datetime.date | None


class Loose(TypedDict, total=False):
    topic: Required[str]
    notes: list[Note]


class Extended(typing_extensions.TypedDict):
    price: Decimal | None


@dataclasses.dataclass
class Line:
    amount: Decimal
    note: str | None = None
    kind: typing.ClassVar[str] = "line"


@dataclasses.dataclass
class Order:
    notes: dict[str, Note]
    lines: tuple[Line, ...] = ()
    made: list[str] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        self.made.append("made")


@dataclasses.dataclass(frozen=True)
class Cash:
    choice: Literal["Cash"] = "Cash"


@dataclasses.dataclass(frozen=True)
class Paid:
    receipt: str
    on: datetime.date | None
    choice: Literal["Paid"] = "Paid"


class Card(pydantic.BaseModel):
    choice: Literal["Card", "Giro"]
    digits: str = pydantic.Field(alias="last-digits")


Payment = Cash | Paid | Card


class Node(pydantic.BaseModel):
    name: str
    next: Optional[Node] = None  # noqa: UP045 - the other spelling is read, too
    payment: Payment | None = None


@dataclasses.dataclass
class Tree:
    name: str
    left: Tree | None
    right: Tree | None


@dataclasses.dataclass
class Box(Generic[T]):
    value: T | None
    more: list[T]


class Lines(pydantic.RootModel[list[Line]]):
    """A model whose whole value is a list."""


class Strict(pydantic.BaseModel):
    positive: int

    @pydantic.field_validator("positive")
    @classmethod
    def check(cls, value: int) -> int:
        if value == 13:
            raise KeyError(CANARY)
        if value < 0:
            raise ValueError(f"{CANARY} {value}")
        return value


Amount = typing.NewType("Amount", Decimal)
Alias = typing_extensions.TypeAliasType("Alias", "list[Line | None]")
Bounded = typing.Annotated[Decimal, pydantic.Field(ge=0)]

PRESENT = {"present": True, "value": "x"}
ABSENT = {"present": False}

ROWS: list[tuple[Any, Any, Any]] = [
    (str, "x", "x"),
    (int, 5, 5),
    (float, 5, 5.0),
    (bool, True, True),
    (None, None, None),
    (Any, PRESENT, PRESENT),
    (dict[str, Any], {"a": ABSENT}, {"a": ABSENT}),
    (list[dict[str, int]], [{"a": 1}], [{"a": 1}]),
    (Decimal, "12.50", Decimal("12.50")),
    (Decimal, 3, Decimal(3)),
    (datetime.date, "2026-01-31", datetime.date(2026, 1, 31)),
    (datetime.datetime, "2026-01-31T12:00:00+01:00", datetime.datetime(2026, 1, 31, 11, tzinfo=datetime.UTC)),
    (datetime.timedelta, "PT1H30M", datetime.timedelta(hours=1, minutes=30)),
    (uuid.UUID, "00000000-0000-0000-0000-000000000005", uuid.UUID(int=5)),
    (Colour, "Red", Colour.RED),
    (Literal["Red", "Blue"], "Blue", "Blue"),
    (str | None, PRESENT, "x"),
    (str | None, ABSENT, None),
    (str | None, None, None),
    (str | None, "x", "x"),
    (list[Decimal | None], [{"present": True, "value": "1"}, ABSENT], [Decimal(1), None]),
    (dict[str, Colour | None], {"a": {"present": True, "value": "Red"}}, {"a": Colour.RED}),
    (tuple[int | None, str], [{"present": True, "value": 1}, "x"], (1, "x")),
    (tuple[int | None, ...], [ABSENT, ABSENT], (None, None)),
    (set[int], [1, 2], {1, 2}),
    (collections.abc.Sequence[Line | None], [ABSENT], [None]),
    (collections.abc.Mapping[str, Line | None], {"a": ABSENT}, {"a": None}),
    (Amount, "2", Decimal(2)),
    (Bounded, "2", Decimal(2)),
    (Alias, [{"present": True, "value": {"amount": "1", "note": ABSENT}}], [Line(Decimal(1))]),
    (Note, {"topic": "t", "due": ABSENT}, {"topic": "t", "due": None}),
    (Loose, {"topic": "t", "notes": []}, {"topic": "t", "notes": []}),
    (Extended, {"price": {"present": True, "value": "1"}}, {"price": Decimal(1)}),
    (Line, {"amount": "1.50", "note": PRESENT}, Line(Decimal("1.50"), "x")),
    (Line, {"amount": "1.50"}, Line(Decimal("1.50"))),
    (
        Order,
        {"notes": {"a": {"topic": "t", "pages": 1, "due": {"present": True, "value": "2026-01-31"}}}, "lines": [{"amount": "1", "note": ABSENT}]},
        Order({"a": {"topic": "t", "pages": 1, "due": datetime.date(2026, 1, 31)}}, (Line(Decimal(1)),)),
    ),
    (Payment, "Cash", Cash()),
    (Payment, {"choice": "Paid", "receipt": "r", "on": ABSENT}, Paid("r", None)),
    (Payment, {"choice": "Giro", "last-digits": "42"}, Card.model_validate({"choice": "Giro", "last-digits": "42"})),
    (Payment | None, {"present": True, "value": "Cash"}, Cash()),
    (Payment | None, ABSENT, None),
    (Cash, "Cash", Cash()),
    (list[Cash | str], ["Cash", "other"], [Cash(), "other"]),
    (list[int | None] | dict[str, int | None], {"a": ABSENT}, {"a": None}),
    (list[int | None] | dict[str, int | None], [ABSENT], [None]),
    (
        Node,
        {"name": "a", "next": {"present": True, "value": {"name": "b", "payment": {"present": True, "value": "Cash"}}}},
        Node(name="a", next=Node(name="b", payment=Cash())),
    ),
    (
        Tree,
        {"name": "a", "left": ABSENT, "right": {"present": True, "value": {"name": "b", "left": ABSENT, "right": ABSENT}}},
        Tree("a", None, Tree("b", None, None)),
    ),
    (Box[Decimal], {"value": {"present": True, "value": "1"}, "more": ["2"]}, Box(Decimal(1), [Decimal(2)])),
    (Lines, [{"amount": "1", "note": ABSENT}], Lines([Line(Decimal(1))])),
    (Strict, {"positive": 1}, Strict(positive=1)),
]  # fmt: skip


@pytest.mark.parametrize(("annotation", "wire", "value"), ROWS, ids=range(len(ROWS)))
def test_every_kind_of_annotation_reads_its_wire_form(annotation: Any, wire: Any, value: Any) -> None:
    found = Reader(annotation).read(wire)
    assert found == value
    assert type(found) is type(value)


WRONG: list[tuple[Any, Any, str, str]] = [
    (str, 5, "$", "expected a text"),
    (int, "12", "$", "expected a whole number"),
    (int, True, "$", "expected a whole number"),
    (int, 1.0, "$", "expected a whole number"),
    (float, "1.5", "$", "expected a number"),
    (bool, 1, "$", "expected true or false"),
    (None, CANARY, "$", "expected null"),
    (dict, [], "$", "expected an object"),
    (list[int], [1, CANARY], "$[1]", "expected a whole number"),
    (dict[str, list[int]], {"a b": [CANARY]}, '$["a b"][0]', "expected a whole number"),
    (dict[str, int], [CANARY], "$", "expected an object"),
    (Decimal, CANARY, "$", "expected a valid decimal"),
    (Decimal, True, "$", "Decimal"),
    (datetime.date, "2026-02-30", "$", "expected a valid date"),
    (datetime.date, 5, "$", "date"),
    (datetime.datetime, CANARY, "$", "datetime"),
    (uuid.UUID, CANARY, "$", "the type refuses it (uuid_parsing)"),
    (Colour, CANARY, "$", "expected 'Red' or 'Blue'"),
    (Bounded, "-1", "$", "greater than or equal to 0"),
    (str | None, {"present": True}, "$", "string"),
    (str | None, {"present": True, "value": 5}, "$", "string"),
    (str | None, {"present": 1, "value": CANARY}, "$", "string"),
    (Line, {"note": ABSENT}, "amount", "the field is missing"),
    (Line, {"amount": CANARY}, "amount", "decimal"),
    (Note, {"topic": CANARY}, "due", "the field is missing"),
    (Order, {"notes": {"a": {"topic": 5, "due": ABSENT}}}, "notes.a.topic", "string"),
    (list[Payment], [{"choice": "Paid", "receipt": 5, "on": ABSENT}], "$[0].receipt", "string"),
    (list[Payment], [{"choice": CANARY}], "$[0]", ""),
    (Node, {"name": "a", "next": {"present": True, "value": {"name": 5}}}, "next.name", "string"),
    (Lines, [{"note": ABSENT}], "$[0].amount", "the field is missing"),
    (Strict, {"positive": -5}, "positive", "the type refuses it (value_error)"),
    (Strict, {"positive": 13}, "$", "a validator of the type raised KeyError"),
]  # fmt: skip


@pytest.mark.parametrize(("annotation", "wire", "path", "message"), WRONG, ids=range(len(WRONG)))
def test_what_does_not_fit_is_named_by_its_path_and_never_shown(
    annotation: Any, wire: Any, path: str, message: str
) -> None:
    with pytest.raises(WireMismatch) as raised:
        Reader(annotation).read(wire)
    assert raised.value.path.startswith(path)
    assert message in raised.value.message
    assert CANARY not in str(raised.value) + repr(raised.value)
    assert raised.value.__cause__ is None


class Own:
    """No record at all."""


class Hidden:
    """Its name does not exist for `Node2`."""


def unresolvable() -> Any:
    @dataclasses.dataclass
    class Local:
        inner: NoSuchName | None  # type: ignore[name-defined]  # noqa: F821 - that is the point

    return Local


class Selfish(TypedDict):
    inner: list[Selfish]


UNSUPPORTED: list[tuple[Any, str]] = [
    ("str", "a text names no type"),
    (Own, "Own cannot be read"),
    (list[Own], "cannot be read"),
    (list[Line | None] | list[str | None], 'give each of them a field `choice: Literal["…"]`'),
    (Line | Tree, "look alike"),
    (unresolvable(), "`NoSuchName`, which does not exist at run time"),
]


@pytest.mark.parametrize(("annotation", "message"), UNSUPPORTED, ids=range(len(UNSUPPORTED)))
def test_annotations_that_cannot_be_read_are_refused_at_once(annotation: Any, message: str) -> None:
    with pytest.raises(AnnotationUnsupported) as raised:
        Reader(annotation)
    assert message in str(raised.value)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="pydantic reads the standard TypedDict from Python 3.12 on")
@pytest.mark.parametrize("annotation", [Selfish, Box[Note]])
def test_what_the_standard_typed_dict_cannot_do_before_3_12_is_said(annotation: Any) -> None:
    with pytest.raises(AnnotationUnsupported, match="use that of typing_extensions"):
        Reader(annotation)


def test_a_dataclass_is_made_by_its_own_constructor() -> None:
    assert Reader(Order).read({"notes": {}}).made == ["made"]


# Round trips


@dataclasses.dataclass
class Everything:
    text: str
    whole: int
    truth: bool
    amount: Decimal
    day: datetime.date
    moment: datetime.datetime
    span: datetime.timedelta
    colour: Colour
    maybe: Decimal | None
    payment: Cash | Paid
    lines: list[Line]
    named: dict[str, datetime.date | None]


zones = st.sampled_from([datetime.UTC, datetime.timezone(datetime.timedelta(hours=-5, minutes=-30))])
amounts = st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-(10**9), max_value=10**9)
payments = st.builds(Paid, st.text(), st.none() | st.dates()) | st.just(Cash())
everything = st.builds(
    Everything,
    st.text(), st.integers(-(2**63), 2**63 - 1), st.booleans(), amounts, st.dates(), st.datetimes(timezones=zones),
    st.timedeltas(datetime.timedelta(-999), datetime.timedelta(999)), st.sampled_from(Colour), st.none() | amounts,
    payments, st.lists(st.builds(Line, amounts, st.none() | st.text()), max_size=3),
    st.dictionaries(st.text(), st.none() | st.dates(), max_size=3),
)  # fmt: skip


@given(everything)
def test_what_is_encoded_is_read_back(value: Everything) -> None:
    assert Reader(Everything).read(encode(value)) == value


@given(everything)
def test_what_the_runtime_writes_is_read_back(value: Everything) -> None:
    """The runtime tags every Optional and writes a variant without payload as its name."""
    wire = encode(value)
    wire["maybe"] = tagged(wire["maybe"])
    if wire["payment"] == {"choice": "Cash"}:
        wire["payment"] = "Cash"
    else:
        wire["payment"]["on"] = tagged(wire["payment"]["on"])
    for line in wire["lines"]:
        line["note"] = tagged(line["note"])
    wire["named"] = {name: tagged(part) for name, part in wire["named"].items()}
    assert Reader(Everything).read(wire) == value


def tagged(wire: Any) -> Any:
    return {"present": False} if wire is None else {"present": True, "value": wire}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["present", "value", "choice", "amount", "name", "next", "x"]), inner, max_size=3),
    max_leaves=12,
)  # fmt: skip


@given(JSON, st.sampled_from([Everything, Payment | None, Node, Tree, Order, list[Line | None], dict[str, Decimal]]))
def test_any_wire_value_is_read_or_refused_with_its_path(wire: Any, annotation: Any) -> None:
    reader = Reader(annotation)
    try:
        found: Any = reader.read(wire)
    except WireMismatch as fault:
        found = fault
    assert not isinstance(found, WireMismatch) or (found.path and found.message)


# What it costs


def loaded_after(code: str, repository: Path) -> set[str]:
    probe = f"import sys\nfrom touba_sdk._wire import Reader\n{code}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", probe], cwd=repository, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_plain_annotations_load_nothing(repository: Path) -> None:
    loaded = loaded_after("Reader(dict[str, list[int]]).read({'a': [1]}); Reader(str); Reader(object)", repository)
    assert not {"typing", "pydantic", "dataclasses", "inspect"} & loaded


def test_others_load_pydantic(repository: Path) -> None:
    assert "pydantic" in loaded_after("from decimal import Decimal; Reader(list[Decimal])", repository)
