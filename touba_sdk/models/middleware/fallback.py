"""Asking another model when one cannot answer."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Sequence

from ..errors import is_retryable
from ..messages import Message, Part, ReasoningPart, Role, ToolCallPart
from ..model import LanguageModel, Middleware
from ..requests import Request
from ..responses import Response
from ..streams import Collector, EventStream, ModelStream, RetryNotice, StreamEvent, ToolCallStart
from ._base import WrappedModel, follow

__all__ = ["fallback", "half_finished"]

#: of how many tool calls and reasoning parts it is remembered which model made them
_REMEMBERED = 10_000


def half_finished(messages: Sequence[Message]) -> tuple[ToolCallPart, ...]:
    """The calls of a tool exchange that the model has not concluded: those whose results end the conversation.

    Empty where the conversation ends in anything but tool results.
    """
    place = len(messages)
    while place and messages[place - 1].role is Role.TOOL:
        place -= 1
    if place == len(messages) or not place:
        return ()
    return messages[place - 1].tool_calls


def fallback(*others: LanguageModel, when: Callable[[BaseException], bool] = is_retryable) -> Middleware:
    """When the model fails, ask the others in order, before anything of an answer was handed over.

    A tool exchange stays with the model that began it: where the conversation ends in tool results, only the model
    that made those calls is asked, and its failure leaves as it is; ids, signatures and the pairing of calls and
    results differ between providers. Reasoning parts go only to models of the provider that made them, because no
    other accepts their signatures. Which model made what is remembered for the last ten thousand calls and parts; what
    is not known is taken for the wrapped model's.

    Streams: the next model is asked only as long as no event was handed over. A `RetryNotice` is passed on and does
    not count. After the first event a failure leaves as it is. The response names the model that gave it.

    Parameters:
        others: what to ask after the wrapped model, in order.
        when: which failures another model may make good; by default those that may pass.
    """

    def wrap(model: LanguageModel) -> LanguageModel:
        return _Falling(model, others, when)

    return wrap


class _Falling(WrappedModel):
    def __init__(self, inner: LanguageModel, others: Sequence[LanguageModel], when: Callable[[BaseException], bool]):
        super().__init__(inner)
        self._models = (inner, *others)
        self._when = when
        self._lock = threading.Lock()
        self._makers: OrderedDict[tuple[str, str], int] = OrderedDict()

    def _candidates(self, request: Request) -> tuple[int, ...]:
        """The places of the models to ask, in order."""
        calls = half_finished(request.messages)
        if not calls:
            return tuple(range(len(self._models)))
        return (self._maker(calls[0]),)

    def _maker(self, part: Part) -> int:
        with self._lock:
            return self._makers.get(_key(part), 0)

    def _remember(self, place: int, parts: Sequence[Part]) -> None:
        with self._lock:
            for part in parts:
                if isinstance(part, (ToolCallPart, ReasoningPart)):
                    self._makers[_key(part)] = place
                    self._makers.move_to_end(_key(part))
            while len(self._makers) > _REMEMBERED:
                self._makers.popitem(last=False)

    def _request_for(self, place: int, request: Request) -> Request:
        """The request without the reasoning of other providers, and without messages that held nothing else."""
        provider = self._models[place].provider

        def fits(part: Part) -> bool:
            return not isinstance(part, ReasoningPart) or self._models[self._maker(part)].provider == provider

        messages: list[Message] = []
        for message in request.messages:
            parts = tuple(part for part in message.parts if fits(part))
            if len(parts) == len(message.parts):
                messages.append(message)
            elif parts:
                messages.append(message.replace(parts=parts))
        return request.copy(messages=messages)

    def _stands(self, error: Exception, place: int, candidates: tuple[int, ...]) -> bool:
        return place == candidates[-1] or not self._when(error)

    async def generate(self, request: Request) -> Response:
        candidates = self._candidates(request)
        for place in candidates:
            try:
                response = await self._models[place].generate(self._request_for(place, request))
            except Exception as error:
                if self._stands(error, place, candidates):
                    raise
                continue
            self._remember(place, response.message.parts)
            return response
        raise AssertionError("the last candidate either answers or raises")

    def stream(self, request: Request) -> ModelStream:
        return EventStream(lambda: self._events(request))

    async def _events(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        candidates = self._candidates(request)
        delivered = False
        for place in candidates:
            collector = Collector()
            try:
                async with self._models[place].stream(self._request_for(place, request)) as stream:
                    async for event in stream:
                        delivered = delivered or not isinstance(event, RetryNotice)
                        if isinstance(event, ToolCallStart):
                            self._remember(place, (ToolCallPart(event.id, event.name),))
                        if follow(collector, event):
                            self._remember(place, collector.response().message.parts)
                        yield event
                return
            except Exception as error:
                if delivered or self._stands(error, place, candidates):
                    raise


def _key(part: Part) -> tuple[str, str]:
    if isinstance(part, ToolCallPart):
        return "call", part.id
    if isinstance(part, ReasoningPart):
        return ("signature", part.signature) if part.signature else ("text", part.text)
    raise TypeError(f"{type(part).__name__} is no part whose maker matters")
