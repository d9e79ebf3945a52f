"""JSON Schemas of Python annotations, and answers of a type."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUserError

from .errors import ModelResponseError
from .model import LanguageModel
from .requests import Request, ResponseFormat
from .responses import FinishReason, Response

__all__ = ["SchemaTypeError", "TypedResponse", "decode_typed", "generate_typed", "schema_for"]

_T = TypeVar("_T")

#: definitions that are used again are written out at every place, up to this many nodes in the whole schema
_MOST_NODES = 5_000
#: where an answer that is not an object stands in the object that providers ask for
_ENVELOPE = "value"


class SchemaTypeError(TypeError):
    """An annotation of which no schema can be made."""


def schema_for(annotation: Any) -> dict[str, Any]:
    """The JSON Schema of a data class, pydantic model, typed dictionary or any other annotation.

    Members without a default are required; ``X | None`` without one is required and may be null. Objects have no other
    members than those that are named. Descriptions come from ``Field(description=…)`` and docstrings.

    Raises:
        SchemaTypeError: for a type that contains itself, or that has no JSON form.

    >>> schema_for(int | None)
    {'type': ['integer', 'null']}
    """
    adapter = _adapter(annotation)
    try:
        schema = adapter.json_schema()
    except (PydanticInvalidForJsonSchema, PydanticUserError):
        raise SchemaTypeError(f"{_shown(annotation)} has no JSON form") from None
    definitions = schema.pop("$defs", {})
    _refuse_recursion(annotation, {name: _references(each) for name, each in definitions.items()})
    left = [_MOST_NODES]
    inlined = _tidy(schema, definitions, left)
    if left[0] >= 0:
        result: dict[str, Any] = inlined
        return result
    kept: dict[str, Any] = _tidy(schema, None, left)
    kept["$defs"] = {name: _tidy(each, None, left) for name, each in definitions.items()}
    return kept


@functools.lru_cache(maxsize=512)
def _cached_adapter(annotation: Any) -> TypeAdapter[Any]:
    return _new_adapter(annotation)


def _new_adapter(annotation: Any) -> TypeAdapter[Any]:
    try:
        return TypeAdapter(annotation)
    except (PydanticUserError, TypeError, RecursionError):
        raise SchemaTypeError(f"{_shown(annotation)} has no JSON form") from None


def _adapter(annotation: Any) -> TypeAdapter[Any]:
    try:
        hash(annotation)
    except TypeError:
        return _new_adapter(annotation)
    return _cached_adapter(annotation)


def _shown(annotation: Any) -> str:
    return f"the type {getattr(annotation, '__name__', annotation)!s}"


def _references(node: Any) -> set[str]:
    found: set[str] = set()
    stack = [node]
    while stack:
        each = stack.pop()
        if isinstance(each, dict):
            reference = each.get("$ref")
            if isinstance(reference, str):
                found.add(reference.rpartition("/")[2])
            stack.extend(each.values())
        elif isinstance(each, list):
            stack.extend(each)
    return found


def _refuse_recursion(annotation: Any, uses: dict[str, set[str]]) -> None:
    done: set[str] = set()

    def visit(name: str, above: tuple[str, ...]) -> None:
        if name in above:
            raise SchemaTypeError(f"{_shown(annotation)} contains itself, through {name}")
        if name not in done:
            for each in sorted(uses.get(name, ())):
                visit(each, (*above, name))
            done.add(name)

    for name in sorted(uses):
        visit(name, ())


#: keywords whose value is a schema, a list of schemas, or schemas by name
_ONE = {"items", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else"}
_MANY = {"anyOf", "oneOf", "allOf", "prefixItems"}
_NAMED = {"properties", "patternProperties", "dependentSchemas"}


def _tidy(node: Any, definitions: dict[str, Any] | None, left: list[int]) -> Any:
    """A copy without titles, with definitions written out and objects closed; ``left`` counts the nodes down."""
    if not isinstance(node, dict):
        return node
    left[0] -= 1
    if left[0] < 0 and definitions is not None:
        return {}
    if definitions is not None and "$ref" in node:
        target = definitions[node["$ref"].rpartition("/")[2]]
        return _tidy({**target, **{key: value for key, value in node.items() if key != "$ref"}}, definitions, left)
    tidy: dict[str, Any] = {}
    for key, value in node.items():
        if key in ("title", "discriminator"):
            continue
        if key in _ONE:
            tidy[key] = _tidy(value, definitions, left)
        elif key in _MANY:
            tidy[key] = [_tidy(each, definitions, left) for each in value]
        elif key in _NAMED:
            tidy[key] = {name: _tidy(each, definitions, left) for name, each in value.items()}
        else:
            tidy[key] = value
    if "properties" in tidy or (tidy.get("type") == "object" and "patternProperties" not in tidy):
        tidy.setdefault("additionalProperties", False)
    first: dict[str, Any] = {key: tidy[key] for key in ("type", "description") if key in tidy}
    return _nullable({**first, **tidy})


def _nullable(node: dict[str, Any]) -> dict[str, Any]:
    """``anyOf: [string, null]`` as ``type: [string, null]``, for types that are neither objects nor lists."""
    choices = node.get("anyOf")
    if not isinstance(choices, list) or len(choices) != 2 or {"type": "null"} not in choices:
        return node
    other = choices[0] if choices[1] == {"type": "null"} else choices[1]
    kind = other.get("type")
    if kind not in ("string", "integer", "number", "boolean") or "enum" in other or "const" in other:
        return node
    rest = {key: value for key, value in node.items() if key != "anyOf"}
    return {**other, "type": [kind, "null"], **rest}


@dataclass(frozen=True, slots=True)
class TypedResponse(Generic[_T]):
    """An answer of a type: the value, and the response that it was read from."""

    value: _T
    response: Response


async def generate_typed(
    model: LanguageModel, request: Request, annotation: type[_T], *, name: str = "output", strict: bool | None = None
) -> TypedResponse[_T]:
    """Ask for an answer of a type: its schema goes along as the response format, and the text is checked against it.

    A type that is not an object (a list, a number) is asked for inside an object and taken out again.

    Raises:
        SchemaTypeError: when no schema can be made of the type; nothing is sent.
        ModelResponseError: code ``truncated``, ``refused`` or ``invalid_output``; the answer is its ``response``.
    """
    schema = schema_for(annotation)
    sent = schema if _is_record(schema) else _enveloped(schema)
    format = ResponseFormat(name=name, description=schema.get("description"), schema=sent, strict=strict)
    response = await model.generate(request.copy(response_format=format))
    return TypedResponse(decode_typed(response, annotation), response)


def decode_typed(response: Response, annotation: type[_T]) -> _T:
    """The value of an answer that was asked for with the schema of a type; raises as `generate_typed` does."""
    facts: dict[str, Any] = {"provider": response.provider or None, "response": response}
    if response.truncated:
        raise ModelResponseError("the answer was cut by the token limit", code="truncated", **facts)
    if response.finish_reason is FinishReason.CONTENT_FILTER:
        raise ModelResponseError("the provider refused to answer", code="refused", **facts)
    schema = schema_for(annotation)
    asked: Any = annotation if _is_record(schema) else dict[str, annotation]  # type: ignore[valid-type]
    try:
        value = _adapter(asked).validate_json(response.text)
    except ValidationError as fault:
        first = fault.errors(include_input=False, include_context=False, include_url=False)[0]
        place = ".".join(str(each) for each in first["loc"]) or "$"
        raise ModelResponseError(
            f"the answer does not fit the schema: {place}: {first['type']}", code="invalid_output", **facts
        ) from None
    if _is_record(schema):
        decoded: _T = value
        return decoded
    if set(value) != {_ENVELOPE}:
        raise ModelResponseError("the answer does not fit the schema: $: missing", code="invalid_output", **facts)
    inner: _T = value[_ENVELOPE]
    return inner


def _is_record(schema: dict[str, Any]) -> bool:
    return schema.get("type") == "object" and "$ref" not in schema


def _enveloped(schema: dict[str, Any]) -> dict[str, Any]:
    inner = {key: value for key, value in schema.items() if key != "$defs"}
    outer: dict[str, Any] = {
        "type": "object", "properties": {_ENVELOPE: inner}, "required": [_ENVELOPE], "additionalProperties": False
    }  # fmt: skip
    if "$defs" in schema:
        outer["$defs"] = schema["$defs"]
    return outer
