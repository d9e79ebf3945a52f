"""What both interfaces of OpenAI write alike: errors and counts."""

from __future__ import annotations

from typing import Any

from touba_sdk.models import Usage

_KINDS = {
    401: ("invalid_request_error", "invalid_api_key"),
    400: ("invalid_request_error", "invalid_value"),
    429: ("requests", "rate_limit_exceeded"),
}


def error_body(status: int, message: str) -> Any:
    kind, code = _KINDS.get(status, ("server_error", None))
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def usage(counts: Usage, asked: str, answered: str) -> dict[str, Any]:
    """The counts, under the interface's words for what it was sent and what it gave back."""
    return {
        f"{asked}_tokens": counts.input_tokens,
        f"{asked}_tokens_details": {
            "cached_tokens": counts.cached_input_tokens, "cache_write_tokens": counts.cache_write_tokens
        },
        f"{answered}_tokens": counts.output_tokens,
        f"{answered}_tokens_details": {"reasoning_tokens": counts.reasoning_tokens},
        "total_tokens": counts.total_tokens,
    }  # fmt: skip
