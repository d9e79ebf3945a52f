"""Models without an event loop: one lasting thread for all synchronous calls."""

from __future__ import annotations

import asyncio
import contextvars
import os
import signal
import threading
import time
from collections.abc import AsyncGenerator
from typing import Any

import anyio
import pytest

from touba_sdk.models import (
    FinishReason,
    MessageEnd,
    OverloadedError,
    Request,
    RunSyncInLoopError,
    StreamEvent,
    TextDelta,
    generate_sync,
    stream_sync,
)
from touba_sdk.models.portal import call, iterate_sync
from touba_sdk.testing.models import FunctionModel, ScriptedModel

from .kit import ask

END = MessageEnd(FinishReason.STOP)
WHO: contextvars.ContextVar[str] = contextvars.ContextVar("who", default="nobody")


def test_an_answer_without_a_loop() -> None:
    assert generate_sync(ScriptedModel("hi"), ask()).text == "hi"
    with pytest.raises(OverloadedError):
        generate_sync(ScriptedModel(OverloadedError("busy")), ask())


def test_all_calls_share_one_thread_and_see_the_callers_context() -> None:
    seen: list[tuple[str, int]] = []

    def note(request: Request) -> str:
        seen.append((WHO.get(), threading.get_ident()))
        return "ok"

    model = FunctionModel(note)
    WHO.set("alice")
    generate_sync(model, ask())
    worker = threading.Thread(target=lambda: generate_sync(model, ask()))
    worker.start()
    worker.join()
    assert [who for who, _ in seen] == ["alice", "nobody"]
    assert len({thread for _, thread in seen}) == 1
    assert seen[0][1] != threading.get_ident()


def test_it_works_inside_a_running_loop() -> None:
    async def main() -> str:
        return generate_sync(ScriptedModel("hi"), ask()).text

    assert asyncio.run(main()) == "hi"


def test_a_call_from_inside_is_refused() -> None:
    inner = ScriptedModel("never")
    model = FunctionModel(lambda request: generate_sync(inner, request))
    with pytest.raises(RunSyncInLoopError):
        generate_sync(model, ask())
    assert inner.remaining == 1


def test_a_stream_goes_step_by_step() -> None:
    steps: list[str] = []

    async def stream(request: Request) -> AsyncGenerator[StreamEvent, None]:
        for text in ("a", "b"):
            steps.append(text)
            yield TextDelta(text)
        yield END

    with stream_sync(FunctionModel(stream=stream), ask()) as events:
        assert steps == []
        assert next(events) == TextDelta("a")
        time.sleep(0.02)
        assert steps == ["a"]
        assert list(events) == [TextDelta("b"), END]
        with pytest.raises(StopIteration):
            next(events)


def test_leaving_a_stream_ends_the_call() -> None:
    ended = threading.Event()

    async def stream(request: Request) -> AsyncGenerator[StreamEvent, None]:
        try:
            yield TextDelta("a")
            await anyio.sleep(60)
        finally:
            ended.set()

    with stream_sync(FunctionModel(stream=stream), ask()) as events:
        next(events)
    assert ended.is_set()


def test_an_error_of_a_stream_reaches_the_caller() -> None:
    with (
        pytest.raises(OverloadedError),
        stream_sync(ScriptedModel([TextDelta("a"), OverloadedError("busy")]), ask()) as events,
    ):
        list(events)
    with stream_sync(ScriptedModel(), ask()):
        pass


def test_any_context_manager_can_be_iterated() -> None:
    with iterate_sync(lambda: ScriptedModel([END]).stream(ask())) as items:
        assert list(items) == [END]


def test_a_manager_that_cannot_be_entered_fails_at_the_first_step() -> None:
    class Broken:
        async def __aenter__(self) -> Broken:
            raise OverloadedError("busy")

        async def __aexit__(self, *error: object) -> None:
            raise AssertionError("it was never entered")

    for _ in range(20):  # whether the failure or the question comes first is a race
        with iterate_sync(Broken) as items, pytest.raises(OverloadedError):
            next(items)


def test_one_task_enters_iterates_and_leaves() -> None:
    tasks: list[Any] = []

    class Manager:
        async def __aenter__(self) -> Manager:
            tasks.append(asyncio.current_task())
            self.scope = anyio.CancelScope().__enter__()
            return self

        async def __aexit__(self, *error: object) -> None:
            tasks.append(asyncio.current_task())
            self.scope.__exit__(None, None, None)

        def __aiter__(self) -> Manager:
            return self

        async def __anext__(self) -> int:
            tasks.append(asyncio.current_task())
            return 1

    with iterate_sync(Manager) as items:
        assert (next(items), next(items)) == (1, 1)
    assert len(tasks) == 4
    assert len(set(tasks)) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_after_a_fork_the_child_makes_its_own_thread() -> None:
    assert generate_sync(ScriptedModel("parent"), ask()).text == "parent"
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        os._exit(0 if generate_sync(ScriptedModel("child"), ask()).text == "child" else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert generate_sync(ScriptedModel("parent"), ask()).text == "parent"


def test_a_process_ends_by_itself_and_an_interrupt_cancels(run_python: Any) -> None:
    program = """
import os, signal, threading, anyio
from touba_sdk.models.portal import call
ended = threading.Event()
async def work():
    try:
        os.kill(os.getpid(), signal.SIGINT)
        await anyio.sleep(60)
    finally:
        ended.set()
try:
    call(work)
except KeyboardInterrupt:
    print("interrupted", ended.wait(5))
"""
    done = run_python(program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted True\n", "")


def test_a_call_gives_what_the_function_gives() -> None:
    async def add(a: int, b: int) -> int:
        return a + b

    assert call(add, 2, 3) == 5
