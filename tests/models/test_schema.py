"""Schemas of annotations (case 174), and answers of a type."""

from __future__ import annotations

import datetime
import enum
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import jsonschema
import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from touba_sdk.models import (
    FinishReason,
    MessageEnd,
    ModelResponseError,
    SchemaTypeError,
    TextDelta,
    ToolDeclaration,
    generate_typed,
    schema_for,
)
from touba_sdk.testing.models import ScriptedModel, request_problems

from .kit import ask


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Address:
    street: str
    zip: str | None


class Customer(BaseModel):
    """A customer."""

    name: Annotated[str, Field(description="full name", min_length=1)]
    age: int | None
    home: Address
    work: Address
    colour: Colour | None
    since: datetime.date
    kind: Literal["private", "company"] = "private"
    tags: list[str] = []
    notes: dict[str, int] = {}
    title: str = ""


class Node(BaseModel):
    value: int
    next: Node | None


class Left(BaseModel):
    right: Right | None


class Right(BaseModel):
    left: Left | None


class Point(TypedDict):
    x: float
    y: float


def test_case_174_an_optional_member_is_required_and_nullable() -> None:
    schema = schema_for(Customer)
    assert schema["required"] == ["name", "age", "home", "work", "colour", "since"]
    assert schema["properties"]["age"] == {"type": ["integer", "null"]}
    assert schema["properties"]["colour"] == {"anyOf": [{"enum": ["red", "blue"], "type": "string"}, {"type": "null"}]}


def test_case_174_objects_are_closed_and_definitions_written_out() -> None:
    schema = schema_for(Customer)
    address = {
        "type": "object",
        "properties": {"street": {"type": "string"}, "zip": {"type": ["string", "null"]}},
        "required": ["street", "zip"],
        "additionalProperties": False,
    }
    assert schema["properties"]["home"] == schema["properties"]["work"] == address
    assert schema["additionalProperties"] is False
    assert "$defs" not in schema
    assert schema["description"] == "A customer."
    assert schema["properties"]["name"] == {"type": "string", "description": "full name", "minLength": 1}
    assert schema["properties"]["notes"]["additionalProperties"] == {"type": "integer"}
    assert schema["properties"]["title"] == {"type": "string", "default": ""}
    assert schema_for(Point)["required"] == ["x", "y"]
    jsonschema.Draft202012Validator.check_schema(schema)
    assert request_problems(ask(tools=[ToolDeclaration("f", input_schema=schema)])) == []


@pytest.mark.parametrize("kind", [Node, Left, list[Node]])
def test_case_174_a_type_that_contains_itself_is_refused(kind: Any) -> None:
    with pytest.raises(SchemaTypeError, match="contains itself"):
        schema_for(kind)


def test_case_174_types_without_a_json_form_are_refused() -> None:
    class Odd:
        pass

    for kind in (Odd, dict[str, Odd]):
        with pytest.raises(SchemaTypeError, match="no JSON form"):
            schema_for(kind)


def test_case_174_wide_definitions_are_kept_rather_than_written_out() -> None:
    inner: Any = int
    for level in range(7):
        inner = dataclass(type(f"Level{level}", (), {"__annotations__": {f"m{place}": inner for place in range(6)}}))
    schema = schema_for(inner)
    assert len(schema["$defs"]) == 6
    value: Any = 1
    for _ in range(7):
        value = {f"m{place}": value for place in range(6)}
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["additionalProperties"] is False


@dataclass
class Invoice:
    number: str
    total: float
    lines: list[str] = field(default_factory=list)


@pytest.mark.anyio
async def test_an_answer_of_a_type() -> None:
    model = ScriptedModel('{"number":"13","total":12.5}')
    answer = await generate_typed(model, ask(), Invoice, name="invoice", strict=True)
    assert answer.value == Invoice("13", 12.5, [])
    assert answer.response.text
    sent = model.requests[0].response_format
    assert sent is not None
    assert (sent.name, sent.strict, sent.schema) == ("invoice", True, schema_for(Invoice))


@pytest.mark.anyio
async def test_an_answer_that_is_no_object_comes_in_one() -> None:
    model = ScriptedModel('{"value":[1,2]}', '{"value":7}', '{"value":7,"more":1}')
    assert (await generate_typed(model, ask(), list[int])).value == [1, 2]
    sent = model.requests[0].response_format
    assert sent is not None
    assert sent.schema is not None
    assert sent.schema["required"] == ["value"]
    assert (await generate_typed(model, ask(), int)).value == 7
    with pytest.raises(ModelResponseError, match="invalid_output"):
        await generate_typed(model, ask(), int)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("events", "code"),
    [
        ([TextDelta('{"number":'), MessageEnd(FinishReason.LENGTH)], "truncated"),
        ([TextDelta("I cannot"), MessageEnd(FinishReason.CONTENT_FILTER)], "refused"),
        ([TextDelta("secret text"), MessageEnd(FinishReason.STOP)], "invalid_output"),
        ([TextDelta('{"number":"secret","total":"secret"}'), MessageEnd(FinishReason.STOP)], "invalid_output"),
    ],
)
async def test_answers_that_cannot_be_used(events: list[Any], code: str) -> None:
    with pytest.raises(ModelResponseError) as caught:
        await generate_typed(ScriptedModel(events), ask(), Invoice)
    assert caught.value.code == code
    assert caught.value.response is not None
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
