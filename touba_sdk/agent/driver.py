"""Driving the loop: one run in the task of whoever wants its events, and the synchronous form of it.

The driver performs the steps of `loop.py` on anyio, in lock-step: it goes on to the next event only when somebody asks
for it. Between two events nothing of the run happens, except in tools that are running; these are tasks of a task
group that the block around a run holds open. Nothing else is held open while the consumer has the word.

A run has context variables of its own, a copy of the caller's: what a hook sets is seen by later hooks, by model calls
and by tools of the run, and not by the consumer.
"""

from __future__ import annotations

import contextvars
import datetime
import inspect
import threading
import uuid
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from types import TracebackType
from typing import Any, TypeVar

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup

from touba_sdk.models import Message, ModelStream, Response, StreamEvent

from . import execution
from .events import Event, RunCompleted
from .loop import Loop
from .run import RUN, AgentResult, RunMetadata
from .session import Session
from .settings import Settings
from .steps import (
    AskHook,
    AwaitNews,
    Checkpoint,
    CloseStream,
    Emit,
    Finished,
    Generate,
    Interrupted,
    NextPiece,
    OpenStream,
    Progressed,
    StartTool,
    Step,
    StopTools,
)
from .types import ToolCall

__all__ = ["AgentStream", "SyncAgentStream"]

#: how many updates of running tools wait for the consumer at most; later ones are left out
MOST_UPDATES = 32
_T = TypeVar("_T")


class _InContext(Awaitable[_T]):
    """A coroutine whose every step runs in a context of its own, within the task that awaits it."""

    __slots__ = ("_context", "_coroutine")

    def __init__(self, context: contextvars.Context, coroutine: Coroutine[Any, Any, _T]):
        self._context = context
        self._coroutine = coroutine

    def __await__(self) -> Generator[Any, Any, _T]:
        step: Callable[[Any], Any] = self._coroutine.send
        value: Any = None
        while True:
            try:
                trap = self._context.run(step, value)
            except StopIteration as done:
                result: _T = done.value
                return result
            try:
                value = yield trap
                step = self._coroutine.send
            except GeneratorExit:
                self._context.run(self._coroutine.close)
                raise
            except BaseException as error:
                value = error
                step = self._coroutine.throw


class AgentStream:
    """One run as an async iterator of events. Use it with ``async with``; leaving the block cancels the run.

    An error of the run is raised by the iteration, after its `RunFailed` event. The session is whole in every case.

    >>> async with agent.stream(session, "hi") as stream:  # doctest: +SKIP
    ...     async for event in stream:
    ...         print(event.type)
    ...     print(stream.result.text)
    """

    def __init__(self, settings: Settings, session: Session, input: Sequence[Message], *, streaming: bool = True):
        if not isinstance(session, Session):
            raise TypeError(f"an agent is run with a session first, not with {type(session).__name__}")
        self._settings = settings
        self._session = session
        self._input = input
        self._streaming = streaming
        self._group: TaskGroup | None = None
        self._loop: Loop | None = None
        self._steps: Generator[Any, Any, None] | None = None
        self._context: contextvars.Context | None = None
        self._metadata: RunMetadata | None = None
        self._last_event: Event | None = None
        self._time = datetime.datetime.min.replace(tzinfo=datetime.UTC)
        self._model_stream: ModelStream | None = None
        self._jobs: dict[int, execution.Job] = {}
        self._news: deque[Finished | Progressed] = deque()
        self._updates = 0
        self._lock = threading.Lock()
        self._wake: anyio.Event | None = None
        self._thread = 0
        self._door: Callable[[Callable[[], None]], object] | None = None
        self._busy = False
        self._over = False
        #: whether the consumer still gets events
        self._quiet = False
        #: whether the run was cancelled or abandoned, so that it only settles
        self._interrupted = False
        #: until when an ending run may settle, by the clock of the event loop; None while it is not ending
        self._settle_until: float | None = None

    # -- for the consumer --------------------------------------------------------------------------------------------

    @property
    def result(self) -> AgentResult | None:
        """What the run came to, however it ended; None while it goes on."""
        return self._loop.result if self._loop is not None else None

    async def __aenter__(self) -> AgentStream:
        if self._group is not None:
            raise RuntimeError("a run is entered once")
        self._group = await anyio.create_task_group().__aenter__()
        return self

    def __aiter__(self) -> AgentStream:
        return self

    async def __anext__(self) -> Event:
        event = await self._go()
        if event is None:
            raise StopAsyncIteration
        return event

    async def aclose(self) -> None:
        """Cancel the run if it has not ended: running tools are stopped, and every call gets a result."""
        if self._loop is None or self._over:
            self._over = True
            return
        self._quiet = self._interrupted = True
        self._begin_settling()
        try:
            await self._step_in(self._advance(Interrupted(None)))
        except Exception as error:
            # The consumer left on `run_failed`, before the iteration could raise; leaving the block does.
            self._loop.unreported = error

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        group = self._group
        if group is None:
            return
        if kind is GeneratorExit:  # the event loop is gone, so there is nothing left to wait with
            if self._steps is not None:
                self._steps.close()
            for job in self._jobs.values():
                job.stop()
            return
        try:
            await self.aclose()
        finally:
            await _leave(group)
        self._report(error)

    def _report(self, error: BaseException | None) -> None:
        """Let out what was raised after the consumer had left; a note, where something else is on its way."""
        unreported = self._loop.unreported if self._loop is not None else None
        if unreported is not None:
            if error is None:
                raise unreported
            error.add_note(f"while the run was ending, {type(unreported).__name__} was raised too")

    async def finish(self) -> AgentResult:
        """Let the run go on to its end, without handing over events, and give its result."""
        self._quiet = True
        await self._go()
        if self._loop is None or self._loop.result is None:
            raise RuntimeError("the run has ended before")
        return self._loop.result

    # -- going on ----------------------------------------------------------------------------------------------------

    async def _go(self) -> Event | None:
        if self._group is None:
            raise RuntimeError("a run is entered with `async with` before it is iterated")
        if self._over:
            return None
        if self._loop is None:
            self._begin()
        return await self._step_in(self._advance(None))

    def _begin(self) -> None:
        self._thread = threading.get_ident()
        self._door = execution.loop_door()
        self._session._claim()
        parent = RUN.get()
        self._metadata = RunMetadata(
            str(uuid.uuid4()), parent.run_id if parent is not None else None, self._settings.name
        )
        self._context = contextvars.copy_context()
        self._context.run(RUN.set, self._metadata)
        self._loop = Loop(self._settings, self._session, self._metadata, self._input, streaming=self._streaming)
        self._steps = self._loop.steps()

    async def _step_in(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        if self._busy or self._context is None:
            coroutine.close()
            raise RuntimeError("the next event of a run was asked for while it was on its way already")
        self._busy = True
        try:
            return await _InContext(self._context, coroutine)
        finally:
            self._busy = False

    async def _advance(self, error: BaseException | None) -> Event | None:
        """Perform steps up to the next event for the consumer; None at the end of the run."""
        steps = self._steps
        if steps is None:
            return None
        unheard = self._quiet and not self._settings.on_event
        answer: Any = None
        ended_by: BaseException | None = None
        try:
            while True:
                step = steps.send(answer) if error is None else steps.throw(error)
                answer = error = None
                if unheard and type(step) is Emit:
                    continue
                try:
                    answer = await self._perform(step)
                except Exception as raised:
                    error = raised
                except GeneratorExit:
                    steps.close()
                    raise
                except BaseException as raised:
                    error = self._interrupt(raised)
                if type(answer) is Event:
                    # Whoever was cancelled gets no more events, unless the run was complete all the same.
                    if not self._quiet and (not self._interrupted or isinstance(answer.payload, RunCompleted)):
                        self._last_event = None
                        return answer
                    answer = None
        except StopIteration:
            self._over = True
            event, self._last_event = self._last_event, None
            if not self._quiet and event is not None and isinstance(event.payload, RunCompleted):
                return event  # an observer was interrupted while it was told this
            return None
        except Interrupted as interrupted:
            self._over = True
            ended_by = interrupted.error
        except BaseException:
            self._over = True
            raise
        if ended_by is not None:
            raise ended_by
        return None

    def _interrupt(self, raised: BaseException) -> Interrupted:
        self._interrupted = True
        self._begin_settling()
        return Interrupted(raised, is_cancellation=isinstance(raised, anyio.get_cancelled_exc_class()))

    def _begin_settling(self) -> None:
        if self._settle_until is None:
            self._settle_until = anyio.current_time() + execution.GRACE

    async def _perform(self, step: Step) -> Any:
        perform = _PERFORM[type(step)]
        if self._settle_until is None:
            return await perform(self, step)
        with anyio.CancelScope(shield=True, deadline=self._settle_until):
            return await perform(self, step)
        if isinstance(step, AwaitNews):
            return None
        raise TimeoutError("the run was ending, and there was no more time")

    # -- the steps ---------------------------------------------------------------------------------------------------

    async def _emit(self, step: Emit) -> Event:
        metadata = self._metadata or RunMetadata("")
        self._time = max(self._time, datetime.datetime.now(datetime.UTC))
        event = Event(metadata.run_id, metadata.parent_run_id, metadata.agent, self._time, step.payload)
        self._last_event = event
        failure: Exception | None = None
        for observer in self._settings.on_event:
            try:
                outcome = observer(event)
                if inspect.isawaitable(outcome):
                    await outcome
            except Exception as error:
                if failure is None:
                    failure = error
                    self._note(error, "on_event")
                else:
                    failure.add_note(f"another on_event hook raised {type(error).__name__} too")
        if failure is not None:
            raise failure
        return event

    async def _ask_hook(self, step: AskHook) -> Any:
        try:
            answer = step.function(step.argument)
            return await answer if inspect.isawaitable(answer) else answer
        except Exception as error:
            if step.hook:
                self._note(error, step.hook)
            raise

    def _note(self, error: Exception, hook: str) -> None:
        turn = self._loop.turn if self._loop is not None else 0
        error.add_note(f"in hook {hook}, turn {turn}")

    async def _generate(self, step: Generate) -> Response:
        return await step.model.generate(step.request)

    async def _open_stream(self, step: OpenStream) -> None:
        self._model_stream = await step.model.stream(step.request).__aenter__()

    async def _next_piece(self, step: NextPiece) -> StreamEvent | None:
        if self._model_stream is None:
            return None
        try:
            return await self._model_stream.__anext__()
        except StopAsyncIteration:
            return None

    async def _close_stream(self, step: CloseStream) -> None:
        stream, self._model_stream = self._model_stream, None
        if stream is not None:
            await stream.__aexit__(None, None, None)

    async def _checkpoint(self, step: Checkpoint) -> None:
        if step.yields:
            await anyio.lowlevel.checkpoint()
        else:
            await anyio.lowlevel.checkpoint_if_cancelled()

    async def _start_tool(self, step: StartTool) -> None:
        if self._group is None or self._metadata is None:
            raise RuntimeError("a tool is started inside of a run")
        own = getattr(step.tool, "timeout", None)
        timeout = execution.seconds(own) if own is not None else self._settings.tool_timeout
        job = execution.Job(
            step.index, step.tool, ToolCall.of(step.call), self._metadata, timeout, self._hear, step.resumed
        )
        self._jobs[step.index] = job
        self._group.start_soon(job.run, name=f"tool {job.name}")

    async def _await_news(self, step: AwaitNews) -> Finished | Progressed:
        while not self._news:
            wake = self._wake = anyio.Event()
            if self._news:  # it came from a thread in between
                break
            await wake.wait()
        with self._lock:
            news = self._news.popleft()
            if isinstance(news, Progressed):
                self._updates -= 1
            else:
                self._jobs.pop(news.index, None)
        return news

    async def _stop_tools(self, step: StopTools) -> None:
        self._begin_settling()
        for job in self._jobs.values():
            job.stop()

    def _hear(self, news: Finished | Progressed) -> None:
        """Take news of a running tool, from any thread."""
        with self._lock:
            if isinstance(news, Progressed):
                if self._updates >= MOST_UPDATES:
                    return
                self._updates += 1
            self._news.append(news)
        if threading.get_ident() == self._thread:
            self._set_wake()
        elif self._door is not None:
            self._door(self._set_wake)

    def _set_wake(self) -> None:
        if self._wake is not None:
            self._wake.set()


_PERFORM: dict[type, Callable[[AgentStream, Any], Awaitable[Any]]] = {
    Emit: AgentStream._emit,
    AskHook: AgentStream._ask_hook,
    Generate: AgentStream._generate,
    OpenStream: AgentStream._open_stream,
    NextPiece: AgentStream._next_piece,
    CloseStream: AgentStream._close_stream,
    Checkpoint: AgentStream._checkpoint,
    StartTool: AgentStream._start_tool,
    AwaitNews: AgentStream._await_news,
    StopTools: AgentStream._stop_tools,
}


async def _leave(group: TaskGroup) -> None:
    """Wait until nothing runs in the group: at most an async tool that does not heed its cancellation."""
    group.cancel_scope.shield = True
    try:
        await group.__aexit__(None, None, None)
    except BaseExceptionGroup as several:
        # Tools let out only what ends a program, such as an interrupt; it leaves as itself.
        if len(several.exceptions) == 1:
            raise several.exceptions[0] from None
        raise


class SyncAgentStream:
    """One run as an iterator of events, for code without an event loop. Use it with ``with``.

    Nothing of the run happens between two events that are asked for, except in tools that are running.

    >>> with agent.stream_sync(session, "hi") as stream:  # doctest: +SKIP
    ...     for event in stream:
    ...         print(event.type)
    ...     print(stream.result.text)
    """

    def __init__(self, stream: AgentStream):
        from touba_sdk.models.portal import iterate_sync

        self._stream = stream
        self._events = iterate_sync(lambda: stream)

    @property
    def result(self) -> AgentResult | None:
        """What the run came to, however it ended; None while it goes on."""
        return self._stream.result

    def __iter__(self) -> SyncAgentStream:
        return self

    def __next__(self) -> Event:
        event: Event = next(self._events)
        return event

    def close(self) -> None:
        """Cancel the run if it has not ended, and wait until it has settled."""
        self._events.close()

    def __enter__(self) -> SyncAgentStream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        self._stream._report(error)
