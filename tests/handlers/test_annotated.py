"""Annotated handlers: the decorator form, typed requests, what is refused, and what they load."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import inspect
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import pydantic
import pytest

from touba_sdk import create_tool_handler, create_tool_result, define_tool
from touba_sdk.handlers import HandlerContext
from touba_sdk.handlers.errors import DefinitionInvalid
from touba_sdk.handlers.results import MAX_STATEMENTS, MemoryMetadataInvalid

if TYPE_CHECKING:
    from somewhere import Unknown  # type: ignore[import-not-found]

REF = "tool:app/Do"
CANARY = "c4n4ry"


@dataclasses.dataclass
class Line:
    amount: Decimal
    note: str | None


class Note(TypedDict):
    topic: str


class Model(pydantic.BaseModel):
    due: datetime.date


@dataclasses.dataclass
class Cash:
    choice: Literal["Cash"]


@dataclasses.dataclass
class Paid:
    choice: Literal["Paid"]
    receipt: str


LINE = {"amount": "1.50", "note": {"present": True, "value": "n"}}


def request(arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"protocol": "touba-tool-request-v1", "tool_ref": REF, "arguments": arguments, **more}


def failure(response: dict[str, Any]) -> tuple[str, str, str]:
    assert response["ok"] is False
    error = response["error"]
    return error["code"], error["message"], error["effect"]


# The decorator


def test_values_arrive_as_the_annotations_say() -> None:
    seen: list[Any] = []

    @define_tool(tool_ref=REF)
    def do(
        lines: list[Line], note: Note, model: Model, payment: Cash | Paid, n: int, context: HandlerContext, *, raw: Any
    ) -> Decimal:
        seen.extend([lines, note, model, payment, n, raw, context.run_id])
        return sum((line.amount for line in lines), Decimal(0))

    arguments = {
        "lines": [LINE, {"amount": "2", "note": {"present": False}}], "note": {"topic": "t"}, "model": {"due": "2026-01-31"},
        "payment": {"choice": "Paid", "receipt": "r"}, "n": 7, "raw": {"present": False},
    }  # fmt: skip
    response = do.handle(request(arguments, run_id="r1"))
    assert response["value"] == "3.50"
    assert seen == [
        [Line(Decimal("1.50"), "n"), Line(Decimal(2), None)], {"topic": "t"}, Model(due=datetime.date(2026, 1, 31)),
        Paid("Paid", "r"), 7, {"present": False}, "r1",
    ]  # fmt: skip


def test_the_function_stays_callable() -> None:
    @define_tool(tool_ref=REF)
    def double(n: int) -> int:
        """Twice as much."""
        return n * 2

    assert double(4) == 8
    assert double.tool_ref == REF
    assert double.__doc__ == "Twice as much."
    assert list(inspect.signature(double).parameters) == ["n"]
    assert double.handle(request({"n": 21}))["value"] == 42

    @define_tool(tool_ref=REF)
    async def later(n: int) -> int:
        await asyncio.sleep(0)
        return n + 1

    assert inspect.iscoroutinefunction(later)
    assert asyncio.run(later(1)) == 2
    assert later.handle(request({"n": 1}))["value"] == 2


def test_without_inputs_and_without_result() -> None:
    @define_tool(tool_ref=REF, output_type=None)
    def nothing() -> None:
        return None

    assert nothing.handle(request({}))["value"] is None
    assert failure(nothing.handle(request({"n": 1})))[:2] == (
        "HandlerRefused",
        "the tool has the inputs n; its handler declares none. Correct the parameters of the function",
    )


def test_grants_and_secrets_are_checked_before_it_is_called() -> None:
    @define_tool(tool_ref=REF, required_grants=["network"], required_secrets=["key"])
    def do(context: HandlerContext) -> str:
        return context.secret("key")

    assert "network" in failure(do.handle(request({})))[1]
    assert "key" in failure(do.handle(request({}, grants=["network"])))[1]
    held = {"key": {"value": "text"}}
    assert do.handle(request({}, grants=["network"], secret_handles=held))["value"] == "text"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"lines": [{"amount": CANARY, "note": None}]},
            "the input does not fit the annotation of `lines`: lines[0].amount: ",
        ),
        ({"lines": CANARY}, "lines: expected a valid"),
        ({"lines": [{"note": None}]}, "lines[0].amount: the field is missing"),
    ],
)
def test_an_input_that_does_not_fit_is_refused_before_anything_happens(arguments: dict[str, Any], message: str) -> None:
    called: list[int] = []

    @define_tool(tool_ref=REF)
    def do(lines: list[Line]) -> None:
        called.append(1)

    code, text, effect = failure(do.handle(request(arguments, effect={"kind": "write"})))
    assert (code, effect, called) == ("HandlerRefused", "none", [])
    assert message in text
    assert CANARY not in text


def bad_star(*lines: int) -> None: ...
def bad_keywords(**lines: int) -> None: ...
def bad_positional(n: int, /) -> None: ...
def bad_missing(n) -> None: ...  # type: ignore[no-untyped-def]
def bad_name(N: int) -> None: ...  # noqa: N803
def bad_unknown(n: Unknown) -> None: ...
def bad_type(n: object.__class__.mro) -> None: ...  # type: ignore[name-defined]
def good(n: int) -> None: ...


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        (bad_star, {}, "takes `*` or `**`"),
        (bad_keywords, {}, "takes `*` or `**`"),
        (bad_positional, {}, "without a name"),
        (bad_missing, {}, "the parameter `n` has no annotation; `Any` stands for the wire form"),
        (bad_name, {}, "`N` has no name that an input"),
        (len, {}, "not for builtin_function_or_method"),
        (good, {"tool_ref": "Do"}, "tool_ref"),
        (good, {"required_grants": ["net"]}, "there is no grant `net`"),
        (good, {"required_grants": "network"}, "a list of names"),
        (good, {"input_signature": []}, "leave out input_signature"),
        (good, {"output_type": "number"}, "output_type"),
    ],
)
def test_what_cannot_be_a_tool_is_refused_when_it_is_decorated(
    function: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(DefinitionInvalid) as raised:
        define_tool(**{"tool_ref": REF, **options})(function)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (bad_unknown, "names `Unknown`, which does not exist at run time"),
        (bad_type, "the annotation of `n` cannot be used"),
    ],
)
def test_annotations_are_looked_at_when_they_are_needed(function: Any, message: str) -> None:
    decorated: Any = define_tool(tool_ref=REF)(function)
    with pytest.raises(DefinitionInvalid, match=message):
        decorated.handle(request({"n": 1}))


# The plain form: ``run(request: Note, context)``


class Handler:
    def run(self, request: Line, context: HandlerContext) -> Decimal:
        return request.amount


def wire_form(request: Unknown, context: HandlerContext) -> Any:
    return request


def no_annotation(request, context: HandlerContext) -> Any:  # type: ignore[no-untyped-def]
    return request


def typed(request: Line, context: HandlerContext) -> Decimal:
    return request.amount * 2


def everything(request: dict[str, Any], context: HandlerContext) -> Any:
    return request


@pytest.mark.parametrize(
    ("run", "signature", "value"),
    [
        (typed, ["line"], "3.00"),
        (Handler().run, ["line"], "1.50"),
        (wire_form, ["line"], LINE),
        (no_annotation, ["line"], LINE),
        (everything, ["line"], LINE),
        (everything, None, {"line": LINE}),
    ],
)
def test_an_annotated_request_arrives_as_it_says(
    run: Callable[..., Any], signature: list[str] | None, value: Any
) -> None:
    names = None if signature is None else [{"name": name, "type_ref": "type:app/Line"} for name in signature]
    handler = create_tool_handler(tool_ref=REF, run=run, input_signature=names)
    assert handler(request({"line": LINE}))["value"] == value


def test_several_inputs_are_one_record() -> None:
    class Both(TypedDict):
        left: Decimal
        right: Decimal | None

    def run(request: Both, context: Any) -> Any:
        return [request["left"], request["right"]]

    run.__annotations__["request"] = Both
    names = [{"name": name, "type_ref": "Decimal"} for name in ("left", "right")]
    handler = create_tool_handler(tool_ref=REF, run=run, input_signature=names)
    assert handler(request({"left": "1", "right": {"present": False}}))["value"] == ["1", None]
    assert failure(handler(request({"left": [], "right": None})))[0] == "HandlerRefused"


def test_a_request_that_cannot_be_read_is_a_wrong_definition() -> None:
    def run(request: pytest.FixtureRequest, context: Any) -> None: ...

    with pytest.raises(DefinitionInvalid, match="the annotation of `request` cannot be used"):
        create_tool_handler(tool_ref=REF, run=run)


# create_tool_result

READ = {"memory_ref": "memory:app.past/Records", "operation": "read"}


def result_of(give: Callable[[], Any], **effect: Any) -> dict[str, Any]:
    return create_tool_handler(tool_ref=REF, run=lambda request, context: give())(request({}, **effect))


def test_metadata_of_memories_stands_beside_the_value() -> None:
    more = {**READ, "operation": "write", "key": Decimal("1.0"), "at": datetime.date(2026, 1, 31)}
    response = result_of(lambda: create_tool_result({"total": Decimal("1.5")}, [READ, more]))
    assert response["value"] == {"total": "1.5"}
    assert response["memory_metadata"] == [READ, {**READ, "operation": "write", "key": "1.0", "at": "2026-01-31"}]
    assert result_of(lambda: create_tool_result(None))["memory_metadata"] == []


def test_a_plain_object_with_such_a_member_is_data() -> None:
    response = result_of(lambda: {"memory_metadata": [READ]})
    assert response["value"] == {"memory_metadata": [READ]}
    assert response["memory_metadata"] == []


MALFORMED: list[tuple[Any, str]] = [
    ("text", "memory_metadata is a list of objects"),
    (READ, "memory_metadata is a list of objects"),
    ([CANARY], "memory_metadata[0] is str; it has to be an object"),
    ([READ, {"operation": "read"}], "memory_metadata[1].memory_ref is not written"),
    ([{**READ, "memory_ref": "tool:app/Records"}], "memory_metadata[0].memory_ref is not written"),
    ([{**READ, "memory_ref": "memory:App/records"}], "memory_metadata[0].memory_ref is not written"),
    ([{**READ, "memory_ref": 5}], "memory_metadata[0].memory_ref is not written"),
    ([{**READ, "operation": CANARY}], "memory_metadata[0].operation is not `read` or `write`"),
    ([{**READ, "scope": CANARY}], "memory_metadata[0].scope is not `run`, `owner` or `project`"),
    ([{**READ, "key": {CANARY}}], "memory_metadata[0]: key: a set has no order"),
    ([{**READ, 5: CANARY}], "memory_metadata[0]: $: a key is int"),
    ([READ] * (MAX_STATEMENTS + 1), f"memory_metadata has too many entries; {MAX_STATEMENTS} are allowed"),
    (itertools.repeat(READ), f"memory_metadata has too many entries; {MAX_STATEMENTS} are allowed"),
    (None, "memory_metadata is NoneType; it has to be a list of objects"),
    (len(CANARY), "memory_metadata is int; it has to be a list of objects"),
]


@pytest.mark.parametrize(("metadata", "message"), MALFORMED, ids=range(len(MALFORMED)))
def test_malformed_metadata_is_refused(metadata: Any, message: str) -> None:
    with pytest.raises(MemoryMetadataInvalid) as raised:
        create_tool_result(CANARY, metadata)
    assert message in str(raised.value)
    assert CANARY not in str(raised.value)
    found = failure(result_of(lambda: create_tool_result(CANARY, metadata), effect={"kind": "write"}))
    assert found == ("MemoryMetadataInvalid", str(raised.value), "unknown")
    assert failure(result_of(lambda: create_tool_result(CANARY, metadata), effect={"kind": "read"}))[2] == "none"


def test_an_envelope_holds_no_envelope() -> None:
    with pytest.raises(MemoryMetadataInvalid, match="already"):
        create_tool_result(create_tool_result(1))
    assert CANARY not in repr(create_tool_result(CANARY, [READ]))
    assert failure(result_of(lambda: [create_tool_result(1)]))[0] == "ToolResultInvalid"


# As a process

SCRIPT = """
import sys
from touba_sdk import define_tool

@define_tool(tool_ref="tool:app/Do")
def do(ANNOTATION, context) -> list:
    print("noise")
    return sorted(sys.modules)

do.main()
"""


def process(path: Path, repository: Path, body: bytes) -> dict[str, Any]:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(repository)}
    done = subprocess.run(
        [sys.executable, "-s", str(path)], input=body, capture_output=True, env=environment, timeout=30, check=True
    )
    assert done.stderr.endswith(b"noise\n")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("annotation", "heavy"), [("n: int", False), ("n: 'list[dict[str, int]]'", False), ("n: 'int | None'", True)]
)
def test_plain_annotations_load_no_library(tmp_path: Path, repository: Path, annotation: str, heavy: bool) -> None:
    path = tmp_path / "do.py"
    path.write_text(SCRIPT.replace("ANNOTATION", annotation), "utf-8")
    value: Any = [{"a": 1}] if "list" in annotation else 1
    response = process(path, repository, json.dumps(request({"n": value})).encode())
    loaded = {name.partition(".")[0] for name in response["value"]}
    assert ("pydantic" in loaded) == heavy
    if not heavy:
        assert not {"typing", "dataclasses", "inspect", "re"} & loaded


def test_a_wrong_definition_is_an_answer_where_a_runtime_asks(tmp_path: Path, repository: Path) -> None:
    path = tmp_path / "do.py"
    path.write_text(SCRIPT.replace("ANNOTATION", "n: NoSuchName"), "utf-8")
    path.write_text("from __future__ import annotations\n" + path.read_text("utf-8"), "utf-8")
    life_line, held = os.pipe()
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(repository), "TOUBA_HANDLER": str(life_line)}
    try:
        done = subprocess.run(
            [sys.executable, "-s", str(path)], input=json.dumps(request({"n": 1})).encode(), capture_output=True,
            env=environment, pass_fds=(life_line,), timeout=30, check=True,
        )  # fmt: skip
    finally:
        os.close(life_line)
        os.close(held)
    code, text, effect = failure(json.loads(done.stdout))
    assert (code, effect) == ("ToolHandlerFailed", "none")
    assert "names `NoSuchName`" in text
