"""Tools of functions: their schemas, what becomes of arguments, and what becomes of results."""

from __future__ import annotations

import functools
import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal, TypedDict

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, Field

from touba_sdk.agent import (
    InvalidArgumentsError,
    RunContext,
    Session,
    Terminate,
    Tool,
    ToolCall,
    ToolDefinitionError,
    ToolError,
    ToolUpdated,
    parallel,
    provider_tool,
    text_result,
    tool,
)
from touba_sdk.agent.agent import Agent
from touba_sdk.models import (
    ImagePart,
    MediaSource,
    StructuredContentPart,
    TextPart,
    ToolDeclaration,
    ToolKind,
    structured_content,
)

from .kit import Door, Model, ask, call, results, say

IMAGE = ImagePart(MediaSource(data=b"png", mime_type="image/png"))


@dataclass
class Line:
    name: str
    amount: Decimal


class Note(TypedDict):
    text: str


class Node(BaseModel):
    inside: list[Node]


def schema(made: Tool) -> dict[str, Any]:
    return made.declaration.wire_schema


def execute(made: Tool, /, args: str | None = None, **arguments: Any) -> Any:
    """What a tool gives for a call, outside of any run."""
    output: Any = made.execute(ToolCall("c1", "t", json.dumps(arguments) if args is None else args))
    if hasattr(output, "__await__"):

        async def wait() -> Any:
            return await output

        return anyio.run(wait)
    return output


def refused(made: Tool, /, args: str | None = None, **arguments: Any) -> str:
    with pytest.raises(InvalidArgumentsError, match=r"^invalid arguments: ") as caught:
        execute(made, args, **arguments)
    return str(caught.value).removeprefix("invalid arguments: ")


# -- schemas ---------------------------------------------------------------------------------------------------------


def test_the_schema_of_the_reference_example() -> None:
    @tool
    def add(a: int, b: int) -> int:
        "Add two integers."
        return a + b

    assert add.declaration == ToolDeclaration(
        "add",
        "Add two integers.",
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
            "additionalProperties": False,
        },
    )
    assert isinstance(add, Tool)
    assert add(2, b=3) == 5, "the function is still one"
    assert (add.__name__, add.__doc__) == ("add", "Add two integers.")
    assert repr(add) == "<tool add>"


def test_defaults_and_null() -> None:
    @tool
    def find(
        query: str, limit: int = 10, since: str | None = None, owner: str | None = Field(), page: int = Field(1)
    ) -> str:
        return f"{query} {limit} {since} {owner} {page}"

    assert schema(find)["required"] == ["query", "owner"]
    properties = schema(find)["properties"]
    assert properties["limit"] == {"type": "integer", "default": 10}
    assert properties["since"] == {"type": ["string", "null"], "default": None}
    assert properties["owner"] == {"type": ["string", "null"]}
    assert properties["page"] == {"type": "integer", "default": 1}
    assert execute(find, query="x", owner=None) == "x 10 None None 1"
    assert refused(find, query="x") == "owner: this argument is missing"


def test_descriptions_and_constraints_from_fields() -> None:
    @tool(description="Roll dice.")
    def roll(
        sides: Annotated[int, Field(description="How many sides.", ge=2)], times: Annotated[int, Field(le=9)] = 1
    ) -> int:
        "Not this."
        return sides * times

    assert roll.declaration.description == "Roll dice."
    assert schema(roll)["properties"]["sides"] == {"type": "integer", "description": "How many sides.", "minimum": 2}
    assert refused(roll, sides=1, times=10) == (
        "sides: expected greater than or equal to 2; times: expected less than or equal to 9"
    )


def test_a_tool_without_parameters_ignores_arguments() -> None:
    @tool
    async def now() -> str:
        return "noon"

    assert now.declaration.input_schema is None
    assert schema(now) == {"type": "object", "properties": {}}
    assert execute(now, "") == execute(now, zone="UTC") == "noon"


def test_records_inside_of_arguments() -> None:
    seen: list[Any] = []

    @tool
    def book(lines: list[Line], kind: Literal["sale", "gift"], note: Note) -> None:
        seen.append((lines, kind, note))

    line = schema(book)["properties"]["lines"]["items"]
    assert line["required"] == ["name", "amount"]
    assert line["additionalProperties"] is False
    assert schema(book)["properties"]["kind"]["enum"] == ["sale", "gift"]
    assert execute(book, lines=[{"name": "tea", "amount": "1.50"}], kind="gift", note={"text": "hi"}) is None
    [(lines, kind, note)] = seen
    assert lines == [Line("tea", Decimal("1.50"))]
    assert (kind, note) == ("gift", {"text": "hi"})


@pytest.mark.parametrize("local", [True, False])
def test_types_that_are_local_to_a_function(local: bool) -> None:
    @dataclass
    class Spot:
        x: int

    def look(spot: Spot) -> int:
        return spot.x

    made = tool(look) if local else tool(name="look")(look)
    assert execute(made, spot={"x": 4}) == "4"


def _unannotated(a):  # type: ignore[no-untyped-def]
    return a


def _many(*a: int) -> None: ...


def _any(**a: int) -> None: ...


def _recursive(node: Node) -> None: ...


def _without_form(a: int, f: Callable[[], int]) -> None: ...


def _unknown(a: Missing) -> None: ...  # type: ignore[name-defined]  # noqa: F821


def _generator(a: int) -> Iterator[int]:
    yield a


async def _async_generator(a: int) -> AsyncIterator[int]:
    yield a


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (_unannotated, "the parameter a has no annotation"),
        (_many, "*a takes any arguments"),
        (_any, "**a takes any arguments"),
        (_recursive, "the parameter node: the type Node contains itself, through Node"),
        (_without_form, "the parameter f: the type "),
        (_unknown, "the annotations name `Missing`"),
        (_generator, "a generator gives no result"),
        (_async_generator, "a generator gives no result"),
        (lambda: 1, "a tool has a name"),
        (3, "a tool is made of a function, not of int"),
        (functools.partial(_many), "a tool has a name"),
    ],
)
def test_what_no_tool_can_be_made_of(function: Any, said: str) -> None:
    with pytest.raises(ToolDefinitionError) as caught:
        tool(function)
    assert said in str(caught.value)
    assert isinstance(caught.value, TypeError)


def test_every_kind_of_callable() -> None:
    def three(a: int, b: int = 2, /, *, c: int = 3) -> list[int]:
        return [a, b, c]

    class Finder:
        def find(self, q: str) -> str:
            "Find."
            return f"found {q}"

        async def __call__(self, q: str) -> str:
            "Ask."
            return f"asked {q}"

    assert execute(tool(three), a=1) == "[1,2,3]"
    part = tool(functools.partial(three, 7, c=9), name="part")
    assert list(schema(part)["properties"]) == ["b"], "what is bound already is not the model's to say"
    assert execute(part, b=8, c=1) == "[7,8,9]"
    assert execute(tool(Finder().find), q="x") == "found x"
    asked = tool(Finder(), name="ask")
    assert asked.declaration.description == "Ask."
    assert execute(asked, q="x") == "asked x"

    async def slow(q: str) -> str:
        return q * 2

    def hidden(q: str) -> Any:
        return slow(q)

    assert execute(tool(hidden), q="x") == "xx", "an awaitable is awaited, wherever it comes from"


# -- arguments -------------------------------------------------------------------------------------------------------


def test_faults_name_the_path_and_never_the_value() -> None:
    ran: list[object] = []

    @tool
    def book(lines: list[Line], note: Note, count: int = 1) -> None:
        ran.append(lines)

    said = refused(book, lines=[{"name": "a", "amount": "1"}, {"name": 7}], note={}, count="secret")
    assert "lines[1].name: expected a valid string" in said
    assert "note.text: this member is missing" in said
    assert "count: expected a valid integer" in said
    assert "secret" not in said
    assert ran == []


def test_only_the_first_faults_are_told() -> None:
    @tool
    def many(a: int, b: int, c: int, d: int, e: int, f: int, g: int) -> None: ...

    said = refused(many)
    assert said.count("is missing") == 5
    assert said.endswith("; and 2 more")


def test_a_member_of_a_union_gets_one_fault() -> None:
    @tool
    def either(what: int | Line) -> None: ...

    assert refused(either, what={"name": "x"}) == "what.amount: this member is missing"


def test_what_a_validator_says_reaches_the_model() -> None:
    def even(number: int) -> int:
        if number % 2:
            raise ValueError("it is odd, use an even one")
        return number

    @tool
    def halve(a: Annotated[int, AfterValidator(even)]) -> int:
        return a // 2

    assert refused(halve, a=3) == "a: it is odd, use an even one"
    assert execute(halve, a=4) == "2"


@pytest.mark.parametrize("args", ["[1]", "1", "null", "{", '"a"', "nonsense", '{"a":"\ud800"}'])
def test_arguments_that_are_no_object(args: str) -> None:
    @tool
    def one(a: str = "") -> str:
        return a

    assert refused(one, args) == "they are not a JSON object"


@given(st.dictionaries(st.text(max_size=3), st.none() | st.integers() | st.text(max_size=3), max_size=4))
def test_whatever_the_arguments_the_function_gets_its_types_or_is_not_called(arguments: dict[str, Any]) -> None:
    seen: list[tuple[object, object]] = []

    @tool
    def typed(a: int, b: str | None = None) -> None:
        seen.append((a, b))

    try:
        execute(typed, json.dumps(arguments))
    except InvalidArgumentsError:
        assert seen == []
    else:
        [(a, b)] = seen
        assert type(a) is int
        assert b is None or type(b) is str


@pytest.mark.parametrize("name", ["copy", "json", "model_dump", "_private", "self", "schema"])
def test_parameters_may_have_any_name(name: str) -> None:
    scope: dict[str, Any] = {}
    exec(f"def named({name}: int) -> int:\n    return {name}", scope)
    assert execute(tool(scope["named"]), json.dumps({name: 3})) == "3"


# -- the context -----------------------------------------------------------------------------------------------------


def test_the_context_is_injected_and_not_shown(door: Door) -> None:
    seen: list[RunContext] = []

    @tool
    def sync_one(ctx: RunContext, a: int) -> str:
        ctx.report_progress("half")
        seen.append(ctx)
        return str(a)

    @tool
    async def async_one(a: int, ctx: RunContext | None = None) -> str:
        assert ctx is not None
        seen.append(ctx)
        return str(a)

    assert list(schema(sync_one)["properties"]) == list(schema(async_one)["properties"]) == ["a"]
    model = Model(ask(call("c1", "sync_one", a=1), call("c2", "async_one", a=2)), say("done"))
    played = door.play(Agent(model, name="outer", tools=[sync_one, async_one]))
    assert results(played.session) == [("1", False), ("2", False)]
    assert [context.call.id for context in seen] == ["c1", "c2"]
    assert {context.metadata.agent for context in seen} == {"outer"}
    assert [update.update for update in played.payloads(ToolUpdated)] == [(TextPart("half"),)]


def test_outside_of_a_run_there_is_a_context_that_does_nothing() -> None:
    @tool
    def alone(ctx: RunContext) -> str:
        ctx.report_progress("nobody listens")
        return ctx.call.id

    @tool
    def maybe(ctx: RunContext | None = None) -> bool:
        return ctx is None

    assert execute(alone) == "c1"
    assert execute(maybe) == "true"


# -- results ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        ("5", "5"),
        (IMAGE, IMAGE),
        (["see", IMAGE], ["see", IMAGE]),
        ((IMAGE, structured_content({"a": 1})), [IMAGE, StructuredContentPart('{"a":1}')]),
        (text_result("5"), [TextPart("5")]),
        (5, "5"),
        (True, "true"),
        (["a", "b"], '["a","b"]'),
        ([], "[]"),
        ({"a": None}, '{"a":null}'),
        (Line("tea", Decimal("1.50")), '{"name":"tea","amount":"1.50"}'),
        (Node(inside=[]), '{"inside":[]}'),
        (date(2026, 7, 1), '"2026-07-01"'),
        (float("nan"), '"NaN"'),
    ],
)
def test_results(value: Any, expected: Any) -> None:
    @tool
    def give() -> Any:
        return value

    @tool
    async def give_later() -> Any:
        return value

    assert execute(give) == expected
    assert execute(give_later) == expected


def test_a_result_without_a_json_form() -> None:
    round_trip: list[Any] = []
    round_trip.append(round_trip)

    @tool
    def give(k: int) -> Any:
        return [object(), round_trip, b"\xff"][k]

    for k, name in enumerate(("object", "list", "bytes")):
        with pytest.raises(ToolError, match=f"the tool gave {name}, which has no JSON form"):
            execute(give, k=k)


def test_errors_and_terminate_of_typed_tools(door: Door) -> None:
    @tool
    def fail(a: int) -> int:
        raise ToolError("no such thing")

    @tool
    async def finish(a: int) -> int:
        raise Terminate(f"{a}")

    model = Model(ask(call("c1", "fail", a=1)), ask(call("c2", "finish", a=2)))
    played = door.play(Agent(model, tools=[fail, finish]))
    assert results(played.session) == [("no such thing", True), ("2", False)]
    assert played.ok.stop == "terminated"


# -- marks -----------------------------------------------------------------------------------------------------------


def test_parallel_marks_a_copy() -> None:
    @tool(timeout=3)
    async def look(a: int) -> int:
        return a

    marked = parallel(look)
    assert (marked.concurrent, look.concurrent, marked.timeout) == (True, False, 3)
    assert marked.declaration is look.declaration
    assert execute(marked, a=1) == "1"
    assert tool(parallel=True)(look._function).concurrent

    child = Agent(Model(say("inner"))).as_tool("child", "Helps.")
    wrapped = parallel(child)
    assert getattr(wrapped, "concurrent", None) is True
    assert child.concurrent is False
    assert execute(wrapped, prompt="go") == "inner"


def test_parallel_tools_overlap_and_time_out(door: Door) -> None:
    now = most = 0

    @parallel
    @tool
    async def look(a: int) -> int:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await anyio.sleep(0.01)
        now -= 1
        return a

    @tool(parallel=True, timeout=timedelta(milliseconds=20))
    async def hang() -> None:
        await anyio.sleep(20)

    model = Model(ask(call("c1", "look", a=1), call("c2", "look", a=2), call("c3", "hang")), say("done"))
    played = door.play(Agent(model, tools=[look, hang]))
    assert most == 2
    assert results(played.session)[:2] == [("1", False), ("2", False)]
    assert "timed out" in results(played.session)[2][0]


def test_provider_tools_are_only_declared() -> None:
    declaration = ToolDeclaration("search", kind=ToolKind.PROVIDER_EXECUTED, provider_type="web_search")
    made = provider_tool(declaration)
    assert made.declaration is declaration
    assert execute(made, q="x") is None
    with pytest.raises(ToolDefinitionError, match="provider_executed"):
        provider_tool(ToolDeclaration("search"))


def test_an_agent_refuses_two_tools_of_one_name() -> None:
    from touba_sdk.agent import InvalidAgentError

    @tool
    def look(a: int) -> int:
        return a

    with pytest.raises(InvalidAgentError, match="two tools have the name look"):
        Agent(Model(), tools=[look, parallel(look)])
    assert Session().messages == ()
