"""The protocol that every model and every middleware satisfies, and how middleware is put around a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias, runtime_checkable

from .capabilities import Capabilities
from .requests import Request
from .responses import Response
from .streams import ModelStream

__all__ = ["LanguageModel", "Middleware", "TokenCounter", "chain", "token_counter"]


@runtime_checkable
class LanguageModel(Protocol):
    """A language model. Used by many tasks at once; a bare model never tries again: put `retry` around it.

    ``generate`` gives the whole answer. ``stream`` gives it as it is written: an async iterator of events that sends
    nothing before the first one is asked for, and ends the call when it is left. Both raise `ModelError`.
    """

    @property
    def provider(self) -> str:
        """The provider's name, such as ``openai``."""
        ...

    @property
    def model_id(self) -> str:
        """The provider's name of the model."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What the model can do."""
        ...

    async def generate(self, request: Request) -> Response:
        """Answer in one piece."""
        ...

    def stream(self, request: Request) -> ModelStream:
        """Answer piece by piece. Lazy: nothing happens until it is iterated."""
        ...


@runtime_checkable
class TokenCounter(Protocol):
    """A model that can count the tokens of a request; `token_counter` finds it below any middleware."""

    async def count_tokens(self, request: Request) -> int:
        """How many input tokens the request would have."""
        ...


def token_counter(model: LanguageModel) -> TokenCounter | None:
    """The model itself, or the model that it is wrapped around, if it can count tokens."""
    link: object = model
    while link is not None:
        if isinstance(link, TokenCounter):
            return link
        link = getattr(link, "inner", None)
    return None


Middleware: TypeAlias = Callable[[LanguageModel], LanguageModel]


def chain(*middleware: Middleware) -> Middleware:
    """Several middleware as one; the first is the outermost, so it sees a request first and an answer last.

    >>> resilient = chain(retry(), timeouts(idle=30))(model)  # doctest: +SKIP
    """

    def apply(model: LanguageModel) -> LanguageModel:
        for each in reversed(middleware):
            model = each(model)
        return model

    return apply
