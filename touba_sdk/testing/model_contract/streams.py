"""What is promised of streams, and of many calls at once."""

from __future__ import annotations

from functools import partial

import anyio

from ...models import (
    IncompleteStreamError,
    LanguageModel,
    MessageEnd,
    MessageStart,
    ModelResponseError,
    OverloadedError,
    StreamIdleError,
    TextDelta,
    TextPart,
)
from .case import Case, How, ask, case_of, failure, hello
from .vendor import Answer, Vendor

CASES: list[Case] = []
case = partial(case_of, CASES)


@case(how="stream")
async def test_a_stream_has_a_start_and_one_end(vendor: Vendor, model: LanguageModel, how: How) -> None:
    vendor.answer(Answer((TextPart("one two three four five six"),)))
    async with model.stream(hello()) as stream:
        events = [event async for event in stream]
    assert isinstance(events[0], MessageStart)
    assert isinstance(events[-1], MessageEnd)
    assert sum(isinstance(event, MessageStart | MessageEnd) for event in events) == 2
    deltas = [event.text for event in events if isinstance(event, TextDelta)]
    assert "".join(deltas) == "one two three four five six"
    assert "" not in deltas
    assert len(deltas) > 1, "the text comes as it is written"


@case(how="stream")
async def test_nothing_is_sent_before_the_first_event_is_asked_for(
    vendor: Vendor, model: LanguageModel, how: How
) -> None:
    vendor.answer(Answer())
    before = vendor.received
    stream = model.stream(hello())
    await anyio.sleep(0.02)
    assert vendor.received == before
    await stream.aclose()
    await anyio.sleep(0.02)
    assert vendor.received == before


@case(how="stream")
async def test_an_error_in_the_middle_keeps_what_arrived(vendor: Vendor, model: LanguageModel, how: How) -> None:
    vendor.answer(Answer((TextPart("one two three four five six"),), fault="error"))
    error = await failure(model, hello(), how)
    assert isinstance(error, OverloadedError | ModelResponseError)
    assert error.response is not None
    assert error.response.partial
    assert error.response.text
    assert "one two three four five six".startswith(error.response.text)


@case("stream ends", how="stream")
async def test_a_stream_that_is_cut_is_incomplete(vendor: Vendor, model: LanguageModel, how: How) -> None:
    vendor.answer(Answer((TextPart("one two three four five six"),), fault="cut"))
    error = await failure(model, hello(), how)
    assert type(error) is IncompleteStreamError
    assert error.retryable
    assert error.response is not None
    assert error.response.text.startswith("one")
    assert error.response.usage.partial


@case("timeouts", how="stream", timeout=0.3)
async def test_a_silent_stream_is_ended(vendor: Vendor, model: LanguageModel, how: How) -> None:
    vendor.answer(Answer((TextPart("one two three four five six"),), fault="hang"))
    error = await failure(model, hello(), how)
    assert type(error) is StreamIdleError
    assert error.response is not None
    assert error.response.text


async def _no_stream(vendor: Vendor) -> None:
    for _ in range(500):
        if not vendor.open_streams:
            return
        await anyio.sleep(0.01)
    raise AssertionError("the connection is still open")


@case(how="stream")
async def test_leaving_a_stream_ends_the_call(vendor: Vendor, model: LanguageModel, how: How) -> None:
    vendor.answer(Answer((TextPart("one two three four five six"),), fault="hang"), Answer())
    async with model.stream(hello()) as stream:
        async for event in stream:
            if isinstance(event, TextDelta):
                break
        assert vendor.open_streams == 1
    await _no_stream(vendor)
    assert (await ask(model, hello(), how)).text


@case(how="stream")
async def test_a_cancelled_stream_ends_the_call(vendor: Vendor, model: LanguageModel, how: How) -> None:
    vendor.answer(Answer((TextPart("one two three four five six"),), fault="hang"), Answer())
    begun = anyio.Event()

    async def read() -> None:
        async with model.stream(hello()) as stream:
            async for event in stream:
                if isinstance(event, TextDelta):
                    begun.set()
        raise AssertionError("a stream that hangs has ended")

    async with anyio.create_task_group() as group:
        group.start_soon(read)
        await begun.wait()
        group.cancel_scope.cancel()
    await _no_stream(vendor)
    assert (await ask(model, hello(), how)).text


# --- many at once ---------------------------------------------------------------------------------------------------


@case()
async def test_many_calls_at_once(vendor: Vendor, model: LanguageModel, how: How) -> None:
    vendor.answer(Answer((TextPart("one two three"),)))
    texts: list[str] = []

    async def one() -> None:
        texts.append((await ask(model, hello(), how)).text)

    async with anyio.create_task_group() as group:
        for _ in range(8):
            group.start_soon(one)
    assert texts == ["one two three"] * 8


@case("event loops", loops=2)
async def test_a_model_serves_one_event_loop_after_the_other(vendor: Vendor, model: LanguageModel, how: How) -> None:
    vendor.answer(Answer((TextPart("one two three"),)))
    assert (await ask(model, hello(), how)).text == "one two three"
