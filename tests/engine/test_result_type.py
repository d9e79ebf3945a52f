"""`result_type` and inputs on the real runtime: Python values in, the same Python values out."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import inspect
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, TypedDict

import pydantic
import pytest

from tests.engine.support import Driver, Fake, envelope, out
from touba_sdk import AsyncToubaEngine, RunResult, ToubaEngine
from touba_sdk.errors import TransportError, UsageError
from touba_sdk.testing import assert_run_succeeded

PROGRAM = """\
module shop

choice Colour is Red, Blue

choice Payment
    Cash
    Paid with receipt as Text, on as Optional Date

type Line
    amount as Decimal
    note as Optional Text

type Order
    id as Text
    whole as Int
    truth as Bool
    day as Date
    moment as DateTime
    span as Duration
    colour as Colour
    payment as Payment
    lines as List of Line
    named as Map of Decimal
    maybe as Optional Decimal

strategy Echo
    takes order as Order
    gives Order
    do
        show "{order.id}"
        give order

strategy Stopping
    takes amount as Decimal
    gives Decimal
    do
        stop "not {amount}"
"""


class Colour(enum.Enum):
    RED = "Red"
    BLUE = "Blue"


@dataclasses.dataclass
class Cash:
    choice: Literal["Cash"] = "Cash"


@dataclasses.dataclass
class Paid:
    receipt: str
    on: datetime.date | None
    choice: Literal["Paid"] = "Paid"


class Line(TypedDict):
    amount: Decimal
    note: str | None


@dataclasses.dataclass
class Order:
    """With a standard TypedDict inside, which pydantic alone refuses before Python 3.12."""

    id: uuid.UUID
    whole: int
    truth: bool
    day: datetime.date
    moment: datetime.datetime
    span: datetime.timedelta
    colour: Colour
    payment: Cash | Paid
    lines: list[Line]
    named: dict[str, Decimal]
    maybe: Decimal | None


class Model(pydantic.BaseModel):
    id: uuid.UUID
    colour: Colour
    payment: Cash | Paid
    maybe: Decimal | None


def order(payment: Cash | Paid, maybe: Decimal | None) -> Order:
    return Order(
        id=uuid.UUID(int=7), whole=2**63 - 1, truth=True, day=datetime.date(2026, 2, 28),
        moment=datetime.datetime(2026, 1, 31, 12, 30, tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
        span=datetime.timedelta(days=1, minutes=5), colour=Colour.BLUE, payment=payment,
        lines=[{"amount": Decimal("12.50"), "note": None}, {"amount": Decimal(-1), "note": "ü"}],
        named={"a b": Decimal("0.1")}, maybe=maybe,
    )  # fmt: skip


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shop")
    (folder / "shop.tb").write_text(PROGRAM, "utf-8")
    with ToubaEngine(project_root=folder) as engine:
        (folder / "shop.air.json").write_text(engine.compile("shop.tb").air_json, "utf-8")
    return folder


def run(driver: Driver, project: Path, entry: str = "Echo", **options: Any) -> RunResult[Any]:
    entry_ref = f"strategy:shop/{entry}"
    found: RunResult[Any] = driver.call(
        "run", engine={"project_root": project}, air="shop.air.json", entry_ref=entry_ref, **options
    )
    return found


@pytest.mark.parametrize(
    "value", [order(Cash(), None), order(Paid("r", datetime.date(2026, 3, 1)), Decimal("2.5"))], ids=["cash", "paid"]
)
def test_what_goes_in_comes_out(driver: Driver, project: Path, value: Order) -> None:
    inputs = vars(value)
    found = run(driver, project, inputs={"order": inputs}, result_type=Order)
    assert found.value == value
    assert type(found.value) is Order
    assert found.result["lines"][0] == {"amount": "12.50", "note": {"present": False}}
    assert_run_succeeded(found, value)
    again = run(driver, project, inputs={"order": found.value}, result_type=Order)
    assert (again.value, again.result) == (value, found.result)
    model = run(driver, project, inputs={"order": inputs}, result_type=Model).value
    assert (model.id, model.payment, model.maybe) == (value.id, value.payment, value.maybe)
    assert run(driver, project, inputs={"order": inputs}).value == found.result


def test_a_result_that_does_not_fit_is_an_error_that_carries_it(driver: Driver, project: Path) -> None:
    inputs = {**vars(order(Cash(), None)), "payment": "Cash"}

    @dataclasses.dataclass
    class Other:
        id: uuid.UUID
        whole: str

    with pytest.raises(TransportError) as raised:
        run(driver, project, inputs={"order": inputs}, result_type=Other, run_id="r7")
    error = raised.value
    assert (error.code, error.details.status, error.details.run_id) == ("ResultMismatch", "success", "r7")
    assert "whole: expected a valid string" in error.message
    assert error.details.result.result["whole"] == 2**63 - 1
    assert error.details.trace is not None
    assert error.details.trace["protocol"] == "touba-trace-v1"
    assert str(2**63 - 1) not in str(error) + repr(error)


def test_a_run_that_does_not_finish_has_no_value(driver: Driver, project: Path) -> None:
    found = run(driver, project, "Stopping", inputs={"amount": Decimal(1)}, result_type=Decimal)
    assert (found.status, found.result, found.value) == ("stopped", None, None)


class Own:
    """No record: nothing says how it is read."""


@pytest.mark.parametrize("wrong", ["Order", object(), list[Own]])
def test_a_type_that_cannot_be_read_is_refused_before_anything_starts(
    driver: Driver, tmp_path: Path, wrong: Any
) -> None:
    fake = Fake(tmp_path, [{"do": "touch", "name": "started"}, out(envelope())])
    with pytest.raises(UsageError) as raised:
        driver.run(fake, result_type=wrong)
    assert raised.value.code == "OptionInvalid"
    assert "`result_type` is no type that a result can be read into" in raised.value.message
    assert not fake.has("started")


def test_check_and_compile_have_no_result(project: Path) -> None:
    with ToubaEngine(project_root=project) as engine, pytest.raises(UsageError) as raised:
        engine.check("shop.tb", result_type=int)  # type: ignore[call-arg]
    assert raised.value.hint == "Give it to `run`."


def test_both_engines_take_the_same(project: Path) -> None:
    for name in ("check", "compile", "run", "close"):
        blocking, waiting = getattr(ToubaEngine, name), getattr(AsyncToubaEngine, name)
        assert inspect.signature(blocking).parameters.keys() == inspect.signature(waiting).parameters.keys()
        assert inspect.iscoroutinefunction(waiting)


# Inputs: every row of the table that is refused, through the public door

CANARY = "c4n4ry"


class Naive(datetime.tzinfo):
    def utcoffset(self, moment: datetime.datetime | None) -> datetime.timedelta:
        return datetime.timedelta(seconds=30)

    def dst(self, moment: datetime.datetime | None) -> None:
        return None

    def tzname(self, moment: datetime.datetime | None) -> str:
        return "odd"


class Endless(list[Any]):
    def __init__(self) -> None:
        super().__init__()
        self.append(self)


REFUSED: list[tuple[str, Any, str]] = [
    ("naive datetime", datetime.datetime(2026, 1, 31), "has no offset"),
    ("offset in seconds", datetime.datetime(2026, 1, 31, tzinfo=Naive()), "whole minutes"),
    ("time without a date", datetime.time(12), "time has no wire form"),
    ("NaN", float("nan"), "not a finite number"),
    ("infinity", float("-inf"), "not a finite number"),
    ("Decimal NaN", Decimal("NaN"), "not a finite number"),
    ("Decimal with too many places", Decimal("1E+6210"), "more places"),
    ("integer beyond 64 bits", 2**63, "outside 64 bits"),
    ("negative integer beyond 64 bits", -(2**63) - 1, "outside 64 bits"),
    ("bytes", CANARY.encode(), "bytes have no wire form"),
    ("bytearray", bytearray(CANARY.encode()), "bytes have no wire form"),
    ("set", {CANARY}, "a set has no order"),
    ("frozenset", frozenset({CANARY}), "a set has no order"),
    ("iterator", iter([CANARY]), "an iterator can be read only once"),
    ("complex", 1j, "complex has no wire form"),
    ("object", object(), "object has no wire form"),
    ("class", Order, "the class Order is no value"),
    ("function", lambda: CANARY, "function has no wire form"),
    ("lone surrogate", f"{CANARY}\ud800", "lone surrogate"),
    ("key that is no text", {1: CANARY}, "a key is int"),
    ("key with a lone surrogate", {"\udc00": CANARY}, "lone surrogate"),
    ("a list inside itself", Endless(), "nested deeper than 100 levels"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "message"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_inputs_without_a_wire_form_are_refused_with_their_path(tmp_path: Path, value: Any, message: str) -> None:
    fake = Fake(tmp_path, [{"do": "touch", "name": "started"}, out(envelope())])
    with pytest.raises(UsageError) as raised:
        Driver("sync").run(fake, inputs={"order": {"lines": [1, {"the note": value}]}})
    assert raised.value.code == "OptionInvalid"
    assert 'inputs.order.lines[1]["the note"]' in raised.value.message
    assert message in raised.value.message
    assert CANARY not in str(raised.value) + repr(raised.value)
    assert not fake.has("started")
