"""What a model is asked: messages, tools and settings. A setting that is None is not sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Literal

from .messages import Message, user_text

__all__ = [
    "Effort",
    "Logprobs",
    "ReasoningConfig",
    "ReasoningMode",
    "Request",
    "ResponseFormat",
    "ToolChoice",
    "ToolChoiceMode",
    "ToolDeclaration",
    "ToolKind",
]


class ToolKind(StrEnum):
    """Who runs a tool."""

    FUNCTION = "function"
    PROVIDER_EXECUTED = "provider_executed"


@dataclass(frozen=True, slots=True)
class ToolDeclaration:
    """A tool as the model sees it.

    ``input_schema`` is a JSON Schema, sent as it is; None is sent as the schema of an object without members. A tool
    of kind ``provider_executed`` is the provider's own: ``provider_type`` names it and ``provider_data`` has its
    settings. ``strict`` asks the provider to hold the model to the schema; None leaves that to the adapter. A disabled
    tool is not sent.
    """

    name: str
    description: str = ""
    input_schema: Mapping[str, Any] | bool | None = None
    kind: ToolKind = ToolKind.FUNCTION
    provider_type: str | None = None
    provider_data: Mapping[str, Any] | None = None
    strict: bool | None = None
    disabled: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", ToolKind(self.kind))

    @property
    def wire_schema(self) -> dict[str, Any]:
        """The schema that is sent: always an object."""
        if self.input_schema is None or isinstance(self.input_schema, bool):
            return {"type": "object", "properties": {}}
        return dict(self.input_schema)


class ToolChoiceMode(StrEnum):
    """How free the model is to call tools: as it likes, not at all, at least one, or the one that is named."""

    AUTO = "auto"
    NONE = "none"
    REQUIRED = "required"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """Which tools the model may or must call; ``name`` belongs to mode ``tool`` only."""

    mode: ToolChoiceMode = ToolChoiceMode.AUTO
    name: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "mode", ToolChoiceMode(self.mode))
        if (self.mode is ToolChoiceMode.TOOL) != bool(self.name):
            raise ValueError("a tool choice has a name exactly where its mode is `tool`")


@dataclass(frozen=True, slots=True)
class ResponseFormat:
    """The schema of the answer's text. Without a schema: any JSON object."""

    name: str = "output"
    description: str | None = None
    schema: Mapping[str, Any] | None = None
    strict: bool | None = None


class ReasoningMode(StrEnum):
    """Whether the model thinks before it answers."""

    AUTO = "auto"
    ENABLED = "enabled"
    ADAPTIVE = "adaptive"
    DISABLED = "disabled"


Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]


@dataclass(frozen=True, slots=True)
class ReasoningConfig:
    """How much the model thinks; ``budget_tokens`` is the most tokens it may spend on it."""

    mode: ReasoningMode | None = None
    effort: Effort | None = None
    budget_tokens: int | None = None
    include_summary: bool | None = None

    def __post_init__(self) -> None:
        if self.mode is not None:
            object.__setattr__(self, "mode", ReasoningMode(self.mode))


@dataclass(frozen=True, slots=True)
class Logprobs:
    """Whether the probabilities of tokens come back, and of how many alternatives."""

    enabled: bool = True
    top: int | None = None


@dataclass(slots=True)
class Request:
    """One request to a model: the one mutable data class of this layer, so that hooks can change it.

    A member that is None is not sent, so the provider's own default holds; 0 is not None. System messages come first
    among the messages. ``max_tokens`` bounds the answer to this request. ``provider_options`` maps a provider's name
    to settings that only it understands.

    Models and middleware never change a request that they are given: `copy` it.

    >>> Request([user_text("hi")], temperature=0.0).temperature
    0.0
    """

    messages: list[Message] = field(default_factory=list)
    tools: list[ToolDeclaration] = field(default_factory=list)
    tool_choice: ToolChoice | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    seed: int | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    logprobs: Logprobs | None = None
    max_tokens: int | None = None
    stop: Sequence[str] | None = None
    response_format: ResponseFormat | None = None
    reasoning: ReasoningConfig | None = None
    provider_options: Mapping[str, Mapping[str, Any]] | None = None

    def __post_init__(self) -> None:
        given = [self.messages] if isinstance(self.messages, (str, Message)) else self.messages
        self.messages = [user_text(each) if isinstance(each, str) else each for each in given]
        self.tools = list(self.tools)

    @property
    def enabled_tools(self) -> tuple[ToolDeclaration, ...]:
        """The tools that are declared to the model."""
        return tuple(tool for tool in self.tools if not tool.disabled)

    def copy(self, **changes: Any) -> Request:
        """A copy whose lists are its own, with other members."""
        return replace(self, **changes)
