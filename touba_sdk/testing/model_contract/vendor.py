"""A vendor's server in words of no vendor: what it is told to answer, and what it must be able to tell."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from ...models import FinishReason, LanguageModel, ReasoningPart, TextPart, ToolCallPart, Usage

#: a text that a server writes into its errors; no error of ours may show it
PRIVATE = "the vendor repeats: my private question"

Part: TypeAlias = TextPart | ReasoningPart | ToolCallPart
Fault: TypeAlias = Literal["cut", "error", "hang", "not_json", "unknown_fields"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the vendor's server answers to the next request, in words of no vendor.

    ``parts`` come in this order; the signature of a reasoning part is the vendor's raw one, and two calls with one id
    are sent as they are. ``refusal``: the text is sent as the vendor sends a refusal, where it has a way of its own.
    ``status`` other than 200: an error of that status, with `PRIVATE` as its text and ``retry_after`` (seconds) as
    its hint. ``fault``, in a stream: ``cut`` closes the connection after the first text, ``error`` sends the vendor's
    "overloaded" error there, ``hang`` sends nothing more; ``not_json`` answers with something else, and
    ``unknown_fields`` adds members and events that no vendor has yet.
    """

    parts: tuple[Part, ...] = (TextPart("Hello, wörld – 你好."),)
    finish: FinishReason = FinishReason.STOP
    usage: Usage = field(default_factory=lambda: Usage(12, 5))
    refusal: bool = False
    status: int = 200
    retry_after: float | None = None
    fault: Fault | None = None


class Vendor(Protocol):
    """A vendor's server on this machine, and models that talk to it.

    ``lacks`` names what the vendor cannot say, of: ``call ids``, ``refusal``, ``reasoning``, ``signatures``,
    ``cached tokens``, ``cache writes``, ``reasoning tokens``, ``retry hints``, ``truncation``, ``timeouts`` (of the
    adapter), ``stream ends`` (a stream that was cut looks complete), ``event loops`` (a model serves only one),
    ``unknown items`` (a layer between refuses what it does not know). The cases that need it do not apply.
    """

    lacks: Collection[str]

    def model(self, *, timeout: float = 10.0) -> LanguageModel:
        """A new model that talks to the server; ``timeout`` bounds each of its steps, in seconds."""
        ...

    def unreachable(self) -> LanguageModel:
        """A model of a server that does not exist."""
        ...

    def answer(self, *answers: Answer) -> None:
        """Set what the next requests are answered; the last answer goes on for ever."""
        ...

    @property
    def received(self) -> int:
        """How many requests have come."""
        ...

    @property
    def open_streams(self) -> int:
        """How many streams are being sent."""
        ...

    def last_had(self, text: str) -> bool:
        """Whether the last request had this text, however the vendor encodes it."""
        ...
