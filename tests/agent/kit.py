"""What the tests of this folder share: scripted answers, small tools, and doors.

A door is one way to run an agent: ``run``, ``run_sync``, ``stream`` or ``stream_sync``, the async ones on asyncio and on
trio. A case that takes a ``door`` runs through all of them; `test_contract.py` compares what they give.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import Any

import anyio
import anyio.lowlevel

from touba_sdk.agent import (
    Agent,
    AgentResult,
    Event,
    InvalidArgumentsError,
    ModelStreamEvent,
    RunCancelled,
    RunCompleted,
    RunFailed,
    Session,
    ToolCall,
)
from touba_sdk.models import (
    FinishReason,
    LanguageModel,
    Message,
    Request,
    Response,
    Role,
    TextPart,
    ToolCallPart,
    ToolDeclaration,
    Usage,
)
from touba_sdk.testing.models import FunctionModel, ScriptedModel, ValidatingModel

COST = Usage(10, 5)


# -- answers of models -----------------------------------------------------------------------------------------------


def say(text: str, reason: FinishReason = FinishReason.STOP) -> Response:
    """An answer of one text."""
    return Response(Message(Role.ASSISTANT, (TextPart(text),)), reason, COST)


def call(id: str, name: str, args: str | None = None, **arguments: Any) -> ToolCallPart:
    """A call of a tool."""
    return ToolCallPart(id, name, json.dumps(arguments) if args is None else args)


def ask(*calls: ToolCallPart, text: str = "", reason: FinishReason = FinishReason.TOOL_CALLS) -> Response:
    """An answer that asks for tools."""
    parts = (*([TextPart(text)] if text else []), *calls)
    return Response(Message(Role.ASSISTANT, parts), reason, COST)


def add_call(id: str = "c1", a: int = 2, b: int = 3) -> Response:
    """An answer that asks for `ADD`."""
    return ask(call(id, "add", a=a, b=b))


class Model(ValidatingModel):
    """A scripted model behind the validator."""

    inner: ScriptedModel

    def __init__(self, *steps: Any):
        super().__init__(ScriptedModel(*steps))

    @property
    def requests(self) -> list[Request]:
        return self.inner.requests


def function_model(function: Callable[[Request], Any]) -> LanguageModel:
    """A model that answers with a function, behind the validator."""
    return ValidatingModel(FunctionModel(function))


def endless(name: str = "add") -> LanguageModel:
    """A model that asks for a tool again and again."""
    count = iter(range(1, 10_000))
    return function_model(lambda request: ask(call(f"e{next(count)}", name, a=1, b=1)))


# -- tools -----------------------------------------------------------------------------------------------------------


class FakeTool:
    """A tool around a function of the call; async functions are awaited, others run in a thread."""

    def __init__(
        self,
        name: str,
        function: Callable[[ToolCall], Any],
        *,
        concurrent: bool = False,
        timeout: float | None = None,
    ):
        self.declaration = ToolDeclaration(name, f"The tool {name}.", {"type": "object", "properties": {}})
        self.execute = function
        self.concurrent = concurrent
        self.timeout = timeout


async def add_numbers(call: ToolCall) -> str:
    try:
        return str(int(call.arguments["a"]) + int(call.arguments["b"]))
    except (KeyError, ValueError):
        raise InvalidArgumentsError("a and b are numbers") from None


ADD = FakeTool("add", add_numbers)


def text_tool(name: str, text: str, **options: Any) -> FakeTool:
    """A tool that always gives one text, at once."""

    async def execute(call: ToolCall) -> str:
        return text

    return FakeTool(name, execute, **options)


def raising(name: str, error: BaseException, **options: Any) -> FakeTool:
    """A tool that always raises."""

    async def execute(call: ToolCall) -> str:
        raise error

    return FakeTool(name, execute, **options)


# -- doors -----------------------------------------------------------------------------------------------------------


class Played:
    """What one run came to."""

    def __init__(self, door: Door, session: Session):
        self.door = door
        self.session = session
        self.result: AgentResult | None = None
        self.error: BaseException | None = None
        #: what on_event saw
        self.events: list[Event] = []
        #: what the consumer of a stream saw; the same as ``events`` where there is none
        self.seen: list[Event] = []

    @property
    def ok(self) -> AgentResult:
        """The result of a run that must not have failed."""
        if self.error is not None:
            raise AssertionError("the run failed") from self.error
        assert self.result is not None
        return self.result

    @property
    def types(self) -> list[str]:
        """The kinds of the events, without those of the model's stream, and without a last `run_failed`."""
        skipped = (ModelStreamEvent, RunFailed, RunCancelled)
        return [event.type.value for event in self.events if not isinstance(event.payload, skipped)]

    def payloads(self, kind: type) -> list[Any]:
        return [event.payload for event in self.events if isinstance(event.payload, kind)]

    def check(self) -> None:
        """What holds for every run, whatever became of it."""
        terminal = [e for e in self.events if isinstance(e.payload, (RunCompleted, RunFailed, RunCancelled))]
        if self.events:
            assert self.events[0].type == "run_started"
            assert terminal == self.events[-1:], "exactly one terminal event, as the last"
        assert not self.session._running
        times = [event.time for event in self.events]
        assert times == sorted(times)

    def record(self) -> dict[str, Any]:
        """What has to be equal through every door."""
        result = self.result
        return {
            "session": json.loads(self.session.to_json()),
            "queued": self.session.has_queued,
            "error": None if self.error is None else f"{type(self.error).__name__}: {self.error}",
            "events": [event.payload for event in self.events if not isinstance(event.payload, ModelStreamEvent)],
            "result": None
            if result is None
            else (result.stop, result.turns, result.usage, result.text, result.pending, dict(result.nested_usage)),
        }


class Door:
    """One way to run an agent."""

    def __init__(self, name: str):
        self.name = name
        self.kind, _, self.backend = name.partition("-")
        self.streams = self.kind.startswith("stream")
        self.records: list[dict[str, Any]] = []
        self._scope: anyio.CancelScope | None = None
        self._event: threading.Event | None = None

    def play(
        self,
        agent: Agent,
        session: Session | None = None,
        *messages: Message | str,
        leave: Callable[[Event], bool] | None = None,
    ) -> Played:
        """Run an agent through this door; without any messages given it is asked for something."""
        if session is None:
            session, messages = Session(), ("go",)
        played = Played(self, session)
        options = agent._options["on_event"]
        watched = agent.replace(on_event=(played.events.append, *options))
        before = session.last_result
        try:
            if self.backend:
                anyio.run(self._play_async, watched, played, messages, leave, backend=self.backend)
            else:
                self._play_sync(watched, played, messages, leave)
        except (Exception, CancelledError) as error:
            played.error = error
        if session.last_result is not before:
            played.result = session.last_result
        if not self.streams:
            played.seen = played.events
        if leave is None and played.error is None:
            assert [e.payload for e in played.seen] == [e.payload for e in played.events]
        played.check()
        self.records.append(played.record())
        return played

    def cancel(self) -> None:
        """Cancel the run that is going on, from inside of its event loop."""
        if self._scope is not None:
            self._scope.cancel()
        if self._event is not None:
            self._event.set()

    async def _play_async(self, agent: Agent, played: Played, messages: Any, leave: Any) -> None:
        with anyio.CancelScope() as self._scope:
            if self.kind == "run":
                await agent.run(played.session, *messages)
            else:
                async with agent.stream(played.session, *messages) as stream:
                    async for event in stream:
                        played.seen.append(event)
                        if leave is not None and leave(event):
                            break
        if self._scope.cancelled_caught:
            raise CancelledError
        self._scope = None

    def _play_sync(self, agent: Agent, played: Played, messages: Any, leave: Any) -> None:
        self._event = threading.Event()
        if self.kind == "run_sync":
            agent.run_sync(played.session, *messages, cancel=self._event)
        else:
            with agent.stream_sync(played.session, *messages) as stream:
                for event in stream:
                    played.seen.append(event)
                    if leave is not None and leave(event):
                        break
        self._event = None


DOORS = ("run-asyncio", "run-trio", "run_sync", "stream-asyncio", "stream-trio", "stream_sync")
STREAMS = ("stream-asyncio", "stream-trio", "stream_sync")
#: the doors through which a run can be cancelled from inside
CANCELS = ("run-asyncio", "run-trio", "run_sync", "stream-asyncio", "stream-trio")


async def until_cancelled() -> None:
    """Wait for a cancellation that has been asked for."""
    await anyio.sleep(20)
    raise AssertionError("nobody cancelled")


def roles(session: Session) -> list[str]:
    return [message.role.value for message in session.messages]


def results(session: Session) -> list[tuple[str, bool]]:
    """Text and error flag of every tool result of the session."""
    return [(part.text, part.is_error) for message in session.messages for part in message.tool_results]


def texts(request: Request) -> list[str]:
    """The texts of a request's messages that have any."""
    return [message.text for message in request.messages if message.text]
