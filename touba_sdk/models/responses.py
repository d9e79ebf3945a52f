"""What a model answers: a message, why it ended, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any

from .errors import InvalidMessageError, ModelResponseError
from .messages import Message, Role, ToolCallPart

__all__ = [
    "TRUNCATION_UNKNOWN",
    "Citation",
    "FinishReason",
    "ModelWarning",
    "Response",
    "Usage",
    "WarningType",
]


class FinishReason(StrEnum):
    """Why an answer ended; empty where the provider does not say."""

    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"
    CONTENT_FILTER = "content_filter"
    OTHER = "other"
    UNKNOWN = ""


#: the ends of an answer that is not whole
UNFINISHED = frozenset({FinishReason.LENGTH, FinishReason.CONTENT_FILTER, FinishReason.OTHER})


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or more calls.

    ``input_tokens`` includes ``cached_input_tokens`` (read from the provider's cache) and ``cache_write_tokens``
    (written to it); ``output_tokens`` includes ``reasoning_tokens``. The sub-counts are never added on top.
    ``partial`` says that a call broke off, so the counts may be too low.

    >>> (Usage(10, 5) + Usage(1, 100, reasoning_tokens=60)).total_tokens
    116
    """

    input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_tokens: int = 0
    partial: bool = False

    @property
    def total_tokens(self) -> int:
        """Input and output; the sub-counts are already in them."""
        return self.input_tokens + self.output_tokens

    @property
    def uncached_input_tokens(self) -> int:
        """Input that was neither read from the provider's cache nor written to it."""
        return max(0, self.input_tokens - self.cached_input_tokens - self.cache_write_tokens)

    def __add__(self, other: Usage) -> Usage:
        """Member by member: the usage of both."""
        if not isinstance(other, Usage):
            return NotImplemented
        counts = {name: getattr(self, name) + getattr(other, name) for name in COUNTS}
        return Usage(**counts, partial=self.partial or other.partial)

    def updated(self, later: Usage | None) -> Usage:
        """The usage of one call after a later report of it: the last count that was reported stands, for each member.

        Providers repeat cumulative counts in the course of a stream; adding those up would count tokens twice.

        >>> Usage(25, 1).updated(Usage(25, 15)).output_tokens
        15
        """
        if later is None:
            return self
        counts = {name: getattr(later, name) or getattr(self, name) for name in COUNTS}
        return Usage(**counts, partial=later.partial)


#: the members of `Usage` that are counts
COUNTS = tuple(each.name for each in fields(Usage) if each.name != "partial")


class WarningType(StrEnum):
    """What kind of notice a warning is."""

    UNSUPPORTED = "unsupported"
    COMPATIBILITY = "compatibility"
    DEPRECATED = "deprecated"


@dataclass(frozen=True, slots=True)
class ModelWarning:
    """A soft notice: something of the request or of the answer was left out or means less than it seems.

    What the request cannot do without is an `UnsupportedError` instead.
    """

    type: WarningType
    feature: str
    details: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "type", WarningType(self.type))


#: for adapters of providers that call a cut answer complete
TRUNCATION_UNKNOWN = ModelWarning(
    WarningType.COMPATIBILITY, "finish_reason", "the provider does not say whether the answer was cut"
)


@dataclass(frozen=True, slots=True)
class Citation:
    """A source that the answer names; ``text_range`` is where in the answer's text (start, end), in characters."""

    url: str | None = None
    title: str | None = None
    snippet: str | None = None
    index: int | None = None
    text_range: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if self.text_range is not None:
            start, end = self.text_range
            object.__setattr__(self, "text_range", (start, end))


@dataclass(frozen=True, slots=True)
class Response:
    """A model's answer.

    ``incomplete_reason`` is the provider's own word for why the answer is not whole, beside a ``finish_reason`` such as
    ``length`` or ``content_filter``; None where it is whole, or where the provider has no word. ``partial`` marks what
    had arrived before a failure; such a response stands only on an error. ``raw`` is the provider's own object: it is
    neither compared nor stored.
    """

    message: Message = field(default_factory=lambda: Message(Role.ASSISTANT))
    finish_reason: FinishReason = FinishReason.UNKNOWN
    usage: Usage = field(default_factory=Usage)
    id: str = ""
    model: str = ""
    provider: str = ""
    citations: tuple[Citation, ...] = ()
    grounding: Mapping[str, Any] | None = None
    warnings: tuple[ModelWarning, ...] = ()
    partial: bool = False
    incomplete_reason: str | None = None
    raw: Any = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.message.role is not Role.ASSISTANT:
            raise InvalidMessageError("a response holds an assistant message")
        object.__setattr__(self, "finish_reason", FinishReason(self.finish_reason))
        object.__setattr__(self, "citations", tuple(self.citations))
        object.__setattr__(self, "warnings", tuple(self.warnings))

    @property
    def text(self) -> str:
        """The text of the answer; empty when there is none."""
        return self.message.text

    @property
    def reasoning(self) -> str:
        """What the model thought."""
        return self.message.reasoning

    @property
    def tool_calls(self) -> tuple[ToolCallPart, ...]:
        """The tools that the model asks for."""
        return self.message.tool_calls

    @property
    def truncated(self) -> bool:
        """Whether the answer was cut by a token limit: its last call or text is then not to be trusted."""
        return self.finish_reason is FinishReason.LENGTH

    @property
    def truncation_known(self) -> bool:
        """False where the provider calls cut answers complete, or does not say why an answer ended."""
        return self.finish_reason is not FinishReason.UNKNOWN and TRUNCATION_UNKNOWN not in self.warnings

    def arguments_of(self, call: ToolCallPart) -> dict[str, Any]:
        """The decoded arguments of one of the calls.

        Raises:
            ModelResponseError: code ``truncated`` when the answer was cut by the token limit, whether the text happens
                to be JSON or not; code ``invalid_arguments`` when it is not a JSON object.
        """
        facts: dict[str, Any] = {"provider": self.provider or None, "response": self}
        if self.truncated:
            raise ModelResponseError(
                "the answer was cut by the token limit, so the arguments of its calls may be too",
                code="truncated",
                **facts,
            )
        try:
            return call.arguments
        except InvalidMessageError:
            raise ModelResponseError(
                "the arguments of a tool call are not a JSON object", code="invalid_arguments", **facts
            ) from None

    def replace(self, **changes: Any) -> Response:
        """A copy with other members."""
        return replace(self, **changes)
