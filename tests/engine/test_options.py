"""Options: the table, the types, the refusals. And the way from options to a command line."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
import threading
import typing
import uuid
from pathlib import Path
from typing import Any

import pydantic
import pytest

from touba_cli.limits import REQUEST_BYTES
from touba_cli.options import MEMBERS, OPTIONS, SLIPS, options_of
from touba_sdk import AsyncToubaEngine, ToubaEngine
from touba_sdk.engine.command import build, clean_environment
from touba_sdk.engine.locate import Runtime
from touba_sdk.engine.options import RunLimits, check_options, check_program, names, with_program
from touba_sdk.errors import UsageError

RUNTIME = Runtime(("/py", "/touba_cli/__start__.py"), "/touba_cli/__start__.py", "/venv/bin/python", True)


def refused(method: str, **options: Any) -> UsageError:
    with pytest.raises(UsageError) as raised:
        check_options(method, options)
    return raised.value


@pytest.mark.parametrize("method", ["check", "compile", "run"])
def test_the_types_are_those_of_the_table(method: str) -> None:
    assert names(method) == tuple(row.name for row in options_of(method, "sdk"))


def test_the_limits_are_those_of_the_table() -> None:
    assert tuple(RunLimits.__annotations__) == MEMBERS["run_limits"]


@pytest.mark.parametrize("method", ["check", "compile", "run", "close"])
def test_both_engines_take_the_same(method: str) -> None:
    blocking = typing.get_type_hints(getattr(ToubaEngine, method))
    waiting = typing.get_type_hints(getattr(AsyncToubaEngine, method))
    assert blocking == waiting


def test_a_misspelt_option_names_the_nearest() -> None:
    error = refused("run", inptus={})
    assert (error.code, error.hint) == ("OptionUnknown", "Did you mean `inputs`?")
    assert error.message == "`run` has no option `inptus`."
    assert refused("run", run_limits={"max_stesp": 1}).hint == "Did you mean `max_steps`?"
    assert "project_root" in (refused("engine", colour="red").hint or "")


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_has_a_hint_of_its_own(slip: str) -> None:
    error = refused("run", **{slip: "x"})
    assert error.code == "OptionUnknown"
    assert f"`{SLIPS[slip]}" in (error.hint or "")


def test_an_option_of_another_method_is_named_as_such() -> None:
    assert refused("check", inputs={}).hint == "Give it to `run`."
    assert refused("engine", inputs={}).hint == "Give it to `run`."
    assert refused("engine", source="x").hint == "Give it to `check` or `compile` or `run`."


@pytest.mark.parametrize("unfinished", ["execution_mode", "trace_store", "on_event", "tools"])
def test_what_does_not_exist_yet_is_unknown(unfinished: str) -> None:
    assert unfinished not in OPTIONS
    assert refused("run", **{unfinished: "x"}).code == "OptionUnknown"


CANARY = "c4n4ry"

WRONG: list[tuple[str, Any, str]] = [
    ("source", 7, "path"),
    ("source", "", "empty"),
    ("source", b"x.tb", "bytes"),
    ("source", f"a\0{CANARY}", "NUL"),
    ("source", f"{CANARY}" * 10_000, "characters"),
    ("source", f"{CANARY}\ud800", "no path of this system"),
    ("entry_ref", f"{CANARY}\n", "control"),
    ("entry_ref", ["x"], "list"),
    ("run_id", f"{CANARY} ", "letters"),
    ("run_id", "x" * 129, "128"),
    ("owner", f"{CANARY}\n", "one line"),
    ("owner", "x" * 201, "200"),
    ("strict_inputs", 1, "True or False"),
    ("strict_inputs", CANARY, "True or False"),
    ("inputs", [CANARY], "object"),
    ("inputs", {"a": {CANARY}}, "inputs.a"),
    ("inputs", {"a": [1, {"b": float("nan")}]}, "inputs.a[1].b"),
    ("inputs", {"a": 2**63}, "64 bits"),
    ("inputs", {"a": CANARY.encode()}, "bytes"),
    ("inputs", {"a": datetime.datetime(2026, 1, 1)}, "offset"),
    ("inputs", {1: CANARY}, "key"),
    ("inputs", {"a": f"{CANARY}\udc00"}, "surrogate"),
    ("air_json", 3, "compiled program"),
    ("air_json", "", "empty"),
    ("run_limits", {"max_steps": 0}, "run_limits.max_steps"),
    ("run_limits", {"max_steps": True}, "integer"),
    ("run_limits", {"max_steps": "5"}, "integer"),
    ("run_limits", {"deadline_ms": 1.5}, "integer"),
    ("run_limits", CANARY, "dictionary"),
    ("env", {"A=B": CANARY}, "="),
    ("env", {"A": 1}, "texts"),
    ("env", CANARY, "mapping"),
    ("cancel", CANARY, "threading.Event"),
]


@pytest.mark.parametrize(("option", "value", "part"), WRONG, ids=[f"{row[0]}-{row[2]}" for row in WRONG])
def test_a_wrong_value_is_refused_without_showing_it(option: str, value: Any, part: str) -> None:
    error = refused("run", **{option: value})
    assert error.code == "OptionInvalid"
    assert f"`{option}" in error.message
    assert part in error.message
    assert CANARY not in str(error) + repr(error)


def test_a_list_that_holds_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    assert "nested deeper" in refused("run", inputs={"a": endless}).message


def test_exactly_one_program() -> None:
    for given in ({}, {"source": "a", "air": "b"}, {"air": "b", "air_json": "{}"}):
        with pytest.raises(UsageError, match="exactly one of `source`, `air`, `air_json`"):
            check_program("run", given)
    with pytest.raises(UsageError, match="`check` needs `source`"):
        check_program("check", {})
    check_program("run", {"air": "b"})


def test_source_is_given_once() -> None:
    with pytest.raises(UsageError, match="`source` twice"):
        with_program("run", "a.tb", {"source": "b.tb"})
    assert with_program("run", "a.tb", {"source": None}) == {"source": "a.tb"}


def test_none_counts_as_not_given() -> None:
    assert check_options("run", {"inputs": None, "manifest": None, "air": "x"}) == {"air": "x"}


class Colour(enum.Enum):
    RED = "red"


class Number(enum.IntEnum):
    TWO = 2


@dataclasses.dataclass
class Line:
    amount: decimal.Decimal
    kind: typing.ClassVar[str] = "line"


class Model(pydantic.BaseModel):
    when: datetime.date = pydantic.Field(alias="at")
    lines: tuple[Line, ...]


def test_inputs_are_written_by_the_one_table() -> None:
    zone = datetime.timezone(datetime.timedelta(hours=1))
    given = {
        "decimal": decimal.Decimal("12.50"),
        "tiny": decimal.Decimal("1E-7"),
        "date": datetime.date(2026, 1, 31),
        "moment": datetime.datetime(2026, 1, 31, 12, tzinfo=zone),
        "span": datetime.timedelta(days=1, hours=2, milliseconds=500),
        "enums": (Colour.RED, Number.TWO),
        "id": uuid.UUID(int=5),
        "model": Model(at=datetime.date(2026, 1, 1), lines=(Line(decimal.Decimal("1")),)),
        "nothing": None,
        "number": 2**63 - 1,
        "truth": True,
    }
    assert check_options("run", {"inputs": given})["inputs"] == {
        "decimal": "12.50",
        "tiny": "0.0000001",
        "date": "2026-01-31",
        "moment": "2026-01-31T12:00:00+01:00",
        "span": "P1DT2H0.5S",
        "enums": ["red", 2],
        "id": "00000000-0000-0000-0000-000000000005",
        "model": {"at": "2026-01-01", "lines": [{"amount": "1"}]},
        "nothing": None,
        "number": 2**63 - 1,
        "truth": True,
    }


def test_the_command_line_holds_flags_and_paths_only() -> None:
    options = check_options(
        "run",
        {
            "source": Path("-odd name.tb"),
            "inputs": {"secret": CANARY},
            "strict_inputs": True,
            "run_limits": {"deadline_ms": 500},
            "run_id": "run-1",
            "owner": CANARY,
            "secrets": "s.json",
            "env": {"A": "b"},
            "cancel": threading.Event(),
            "python_executable": "/other",
        },
    )
    invocation = build("run", {**options, "project_root": "/p"}, runtime=RUNTIME, version="1.2.3", environ={})
    assert invocation.argv == (
        "/py", "/touba_cli/__start__.py", "run", "--attached", "--json", "--request=-", "--project-root=/p",
        "--source=-odd name.tb", "--strict-inputs", "--secrets=s.json",
    )  # fmt: skip
    assert json.loads(invocation.request) == {
        "protocol": "touba-run-request-v1",
        "sdk_version": "1.2.3",
        "options": {
            "inputs": {"secret": CANARY},
            "run_limits": {"deadline_ms": 500},
            "run_id": "run-1",
            "owner": CANARY,
            "python_executable": "/venv/bin/python",
        },
    }
    assert invocation.request.index(b"\n") == len(invocation.request) - 1
    assert (invocation.folder, invocation.deadline_ms) == ("/p", 500)
    assert invocation.env == {"A": "b"}
    assert CANARY not in repr(invocation)


def test_check_has_a_life_line_and_no_deadline() -> None:
    invocation = build(
        "check", {"source": "a.tb", "project_root": "/p"}, runtime=RUNTIME, version="1", environ={"TOUBA_HANDLER": "5"}
    )
    words = ("check", "--attached", "--json", "--request=-", "--project-root=/p", "--source=a.tb")
    assert invocation.argv[2:] == words
    assert (invocation.deadline_ms, dict(invocation.env)) == (None, {})


def test_a_request_past_the_limit_is_refused_before_anything_starts() -> None:
    options = {"source": "a.tb", "project_root": "/p", "inputs": {"a": CANARY * (REQUEST_BYTES // len(CANARY))}}
    with pytest.raises(UsageError) as raised:
        build("run", options, runtime=RUNTIME, version="1", environ={})
    assert raised.value.code == "RequestTooLarge"
    assert CANARY not in str(raised.value)


def test_marks_of_an_outer_run_are_not_inherited() -> None:
    assert clean_environment({"TOUBA_HANDLER": "3", "TOUBA_CLI": "/x", "PATH": "/bin"}) == {
        "TOUBA_CLI": "/x",
        "PATH": "/bin",
    }


def test_an_event_of_another_kind_is_named_in_full() -> None:
    import asyncio

    with pytest.raises(UsageError, match=r"not `asyncio\.locks\.Event`"):
        check_options("run", {"cancel": asyncio.Event()})
