"""Language models: one protocol for all of them, with messages, streams, errors and middleware.

Adapters for providers are in `touba_sdk.models.adapters`, middleware in `touba_sdk.models.middleware`, models for
tests in `touba_sdk.testing.models`. Importing this package loads plain data classes; what needs pydantic or an event
loop is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .capabilities import Capabilities
from .errors import (
    AuthError,
    ConnectionFailedError,
    IncompleteStreamError,
    InvalidMessageError,
    InvalidRequestError,
    ModelError,
    ModelResponseError,
    ModelTimeoutError,
    OverloadedError,
    RateLimitedError,
    RunSyncInLoopError,
    StreamIdleError,
    UnsupportedError,
    is_retryable,
    model_error,
    retry_reason,
)
from .messages import (
    ContentPart,
    EmbeddedResourcePart,
    FilePart,
    ImagePart,
    MediaSource,
    Message,
    Part,
    ReasoningPart,
    ResourceLinkPart,
    Role,
    StructuredContentPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    assistant_text,
    project_content,
    split_system,
    structured_content,
    system_text,
    text_content,
    tool_result,
    tool_results,
    user_text,
)
from .model import LanguageModel, Middleware, TokenCounter, chain, token_counter
from .requests import (
    Logprobs,
    ReasoningConfig,
    ReasoningMode,
    Request,
    ResponseFormat,
    ToolChoice,
    ToolChoiceMode,
    ToolDeclaration,
    ToolKind,
)
from .responses import TRUNCATION_UNKNOWN, Citation, FinishReason, ModelWarning, Response, Usage, WarningType
from .streams import (
    CitationDelta,
    Collector,
    EventStream,
    MessageEnd,
    MessageStart,
    ModelStream,
    ReasoningDelta,
    RetryNotice,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    collect,
    response_events,
)

if TYPE_CHECKING:
    from .portal import generate_sync, stream_sync
    from .schema import SchemaTypeError, TypedResponse, generate_typed, schema_for
    from .wire import from_json, messages_from_json, messages_to_json, request_digest, to_json

#: names that are loaded when they are first used → module
_PLACES = {
    "SchemaTypeError": "schema",
    "TypedResponse": "schema",
    "from_json": "wire",
    "generate_sync": "portal",
    "generate_typed": "schema",
    "messages_from_json": "wire",
    "messages_to_json": "wire",
    "request_digest": "wire",
    "schema_for": "schema",
    "stream_sync": "portal",
    "to_json": "wire",
}

__all__ = [
    "TRUNCATION_UNKNOWN",
    "AuthError",
    "Capabilities",
    "Citation",
    "CitationDelta",
    "Collector",
    "ConnectionFailedError",
    "ContentPart",
    "EmbeddedResourcePart",
    "EventStream",
    "FilePart",
    "FinishReason",
    "ImagePart",
    "IncompleteStreamError",
    "InvalidMessageError",
    "InvalidRequestError",
    "LanguageModel",
    "Logprobs",
    "MediaSource",
    "Message",
    "MessageEnd",
    "MessageStart",
    "Middleware",
    "ModelError",
    "ModelResponseError",
    "ModelStream",
    "ModelTimeoutError",
    "ModelWarning",
    "OverloadedError",
    "Part",
    "RateLimitedError",
    "ReasoningConfig",
    "ReasoningDelta",
    "ReasoningMode",
    "ReasoningPart",
    "Request",
    "ResourceLinkPart",
    "Response",
    "ResponseFormat",
    "RetryNotice",
    "Role",
    "RunSyncInLoopError",
    "SchemaTypeError",
    "StreamEvent",
    "StreamIdleError",
    "StructuredContentPart",
    "TextDelta",
    "TextPart",
    "TokenCounter",
    "ToolCallDelta",
    "ToolCallEnd",
    "ToolCallPart",
    "ToolCallStart",
    "ToolChoice",
    "ToolChoiceMode",
    "ToolDeclaration",
    "ToolKind",
    "ToolResultPart",
    "TypedResponse",
    "UnsupportedError",
    "Usage",
    "WarningType",
    "assistant_text",
    "chain",
    "collect",
    "from_json",
    "generate_sync",
    "generate_typed",
    "is_retryable",
    "messages_from_json",
    "messages_to_json",
    "model_error",
    "project_content",
    "request_digest",
    "response_events",
    "retry_reason",
    "schema_for",
    "split_system",
    "stream_sync",
    "structured_content",
    "system_text",
    "text_content",
    "to_json",
    "token_counter",
    "tool_result",
    "tool_results",
    "user_text",
]


def __getattr__(name: str) -> object:
    place = _PLACES.get(name)
    if place is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(f"{__name__}.{place}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
