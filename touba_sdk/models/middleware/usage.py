"""Counting the tokens of calls."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, replace

from ..errors import ModelError
from ..model import LanguageModel, Middleware
from ..requests import Request
from ..responses import Response, Usage
from ..streams import EventStream, MessageEnd, MessageStart, ModelStream, StreamEvent
from ._base import WrappedModel

__all__ = ["ModelUsage", "UsageLedger", "account_usage"]


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """What one model was used for: calls that were answered, calls that failed or were left early, and tokens."""

    answered: int = 0
    failed: int = 0
    abandoned: int = 0
    usage: Usage = field(default_factory=Usage)


class UsageLedger:
    """Sums of usage, by provider and model; safe between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._models: dict[tuple[str, str], ModelUsage] = {}

    def record(self, model: LanguageModel, outcome: str, usage: Usage | None) -> None:
        """Add one call; ``outcome`` is ``answered``, ``failed`` or ``abandoned``."""
        key = (model.provider, model.model_id)
        with self._lock:
            entry = self._models.get(key, ModelUsage())
            counts = {outcome: getattr(entry, outcome) + 1}
            self._models[key] = replace(entry, usage=entry.usage + (usage or Usage()), **counts)

    @property
    def by_model(self) -> dict[tuple[str, str], ModelUsage]:
        """The sums by (provider, model id); a copy."""
        with self._lock:
            return dict(self._models)

    @property
    def total(self) -> Usage:
        """The usage of all models."""
        total = Usage()
        for entry in self.by_model.values():
            total += entry.usage
        return total


def account_usage(ledger: UsageLedger) -> Middleware:
    """Add the usage of every call to a ledger, each call once.

    Inside (after) `retry` in a chain every attempt is counted; outside only the calls are. A failed call counts with
    what its partial response reports.

    Streams: the events are passed on unchanged. The usage of `MessageEnd` counts when it is read, completed by that of
    `MessageStart`. A stream that breaks off or is left early counts with what it had reported until then, and marks the
    sum as partial.
    """

    def wrap(model: LanguageModel) -> LanguageModel:
        return _Accounted(model, ledger)

    return wrap


class _Accounted(WrappedModel):
    def __init__(self, inner: LanguageModel, ledger: UsageLedger):
        super().__init__(inner)
        self._ledger = ledger

    async def generate(self, request: Request) -> Response:
        try:
            response = await self.inner.generate(request)
        except Exception as error:
            partial = error.response if isinstance(error, ModelError) else None
            self._ledger.record(self.inner, "failed", partial.usage if partial is not None else None)
            raise
        except BaseException:
            self._ledger.record(self.inner, "abandoned", Usage(partial=True))
            raise
        self._ledger.record(self.inner, "answered", response.usage)
        return response

    def stream(self, request: Request) -> ModelStream:
        return EventStream(lambda: self._events(request))

    async def _events(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        usage, ended, started = Usage(), False, False
        outcome = "abandoned"
        try:
            async with self.inner.stream(request) as stream:
                async for event in stream:
                    started = True
                    if isinstance(event, MessageStart):
                        usage = usage.updated(event.usage)
                    elif isinstance(event, MessageEnd):
                        usage, ended = usage.updated(event.usage), True
                        self._ledger.record(self.inner, "answered", usage)
                    yield event
            outcome = "failed"  # it stopped without its end
        except Exception:
            outcome = "failed"
            raise
        finally:
            if not ended:
                self._ledger.record(self.inner, outcome, replace(usage, partial=started) if started else None)
