"""What every middleware shares: it looks like the model that it is put around."""

from __future__ import annotations

from ..capabilities import Capabilities
from ..model import LanguageModel
from ..requests import Request
from ..responses import Response
from ..streams import STREAM_EVENTS, Collector, ModelStream, StreamEvent

__all__ = ["WrappedModel", "follow"]


class WrappedModel:
    """A model around another one (``inner``) that changes nothing. Middleware overrides what it changes.

    A stream goes straight to the inner model's.
    """

    def __init__(self, inner: LanguageModel):
        self.inner = inner

    @property
    def provider(self) -> str:
        """The inner model's vendor."""
        return self.inner.provider

    @property
    def model_id(self) -> str:
        """The inner model's name."""
        return self.inner.model_id

    @property
    def capabilities(self) -> Capabilities:
        """What the inner model can do."""
        return self.inner.capabilities

    async def generate(self, request: Request) -> Response:
        """Answer in one piece, as the inner model does."""
        return await self.inner.generate(request)

    def stream(self, request: Request) -> ModelStream:
        """Answer piece by piece, as the inner model does."""
        return self.inner.stream(request)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} around {self.inner!r}>"


def follow(collector: Collector, event: StreamEvent) -> bool:
    """Let a collector see an event that passes by; True for the event that ends the answer.

    What is no valid event passes by unseen: the consumer judges it, not the middleware.
    """
    if collector.ended or not isinstance(event, STREAM_EVENTS):
        return False
    collector.add(event)
    return collector.ended
