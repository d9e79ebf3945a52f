"""What a model raises: one class for each kind of failure, and one decision whether trying again makes sense.

The text of an error has the kind of failure, the provider, the status and the provider's own codes. What the provider
wrote itself may repeat what it was sent; it stands in ``detail`` and ``body``, which no text shows.
"""

from __future__ import annotations

import socket
import sys
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from .responses import Response

__all__ = [
    "AuthError",
    "ConnectionFailedError",
    "IncompleteStreamError",
    "InvalidMessageError",
    "InvalidRequestError",
    "ModelError",
    "ModelResponseError",
    "ModelTimeoutError",
    "OverloadedError",
    "RateLimitedError",
    "RunSyncInLoopError",
    "StreamIdleError",
    "UnsupportedError",
    "is_retryable",
    "model_error",
    "retry_reason",
]


class ModelError(Exception):
    """A model call that failed.

    Parameters:
        message: what happened, in words of ours: names, kinds and numbers, never a value of a message.
        provider: the name of the provider, as `LanguageModel.provider` gives it.
        status: the HTTP status; None where there was none, as with a broken connection.
        type: the provider's name for the kind of error, such as ``invalid_request_error``.
        code: the provider's code, or one of ours, such as ``truncated``.
        retry_after: how many seconds the provider asks to wait.
        detail: the provider's own text. Never part of the error's text.
        body: the raw body of the answer. Never part of the error's text.
        response: what had arrived before the failure, where anything had.

    >>> str(RateLimitedError("too many requests", provider="openai", status=429, retry_after=2.0, detail="…"))
    'too many requests (openai, status 429)'
    """

    #: whether the same request may succeed when it is sent again
    retryable: bool = False
    #: the kind of failure in a few words, as a retry notice shows it
    reason: ClassVar[str] = "model error"

    def __init__(
        self,
        message: str = "",
        *,
        provider: str | None = None,
        status: int | None = None,
        type: str | None = None,
        code: str | None = None,
        retry_after: float | None = None,
        detail: str = "",
        body: Any = None,
        response: Response | None = None,
    ):
        super().__init__(message)
        self.message = message or self.reason
        self.provider = provider
        self.status = status
        self.type = type
        self.code = code
        self.retry_after = retry_after
        self.detail = detail
        self.body = body
        self.response = response

    def __str__(self) -> str:
        facts = [self.provider, f"status {self.status}" if self.status else None, self.type, self.code]
        shown = ", ".join(fact for fact in facts if fact)
        return f"{self.message} ({shown})" if shown else self.message


class AuthError(ModelError):
    """The provider did not accept the key, or the key may not do this (401, 403)."""

    reason = "not authorised"


class RateLimitedError(ModelError):
    """Too many requests or tokens (429)."""

    retryable = True
    reason = "rate limited"


class OverloadedError(ModelError):
    """The provider could not answer just now (408, 5xx, 529)."""

    retryable = True
    reason = "provider overloaded"


class InvalidRequestError(ModelError):
    """The provider refuses the request as it is (any other 4xx)."""

    reason = "invalid request"


class UnsupportedError(ModelError):
    """The request asks for something that this model cannot do; nothing was sent."""

    reason = "unsupported"


class InvalidMessageError(ModelError, ValueError):
    """A message that cannot be: an unknown role or part, a part in the wrong role, content without a JSON form."""

    reason = "invalid message"


class ConnectionFailedError(ModelError):
    """The provider could not be reached, or the connection broke."""

    retryable = True
    reason = "connection error"


class ModelTimeoutError(ModelError, TimeoutError):
    """A time-out of ours or of the HTTP client ended the call.

    ``phase`` says which: ``connect``, ``first_token``, ``read`` or ``total``. After ``total`` there is no time for
    another attempt, so it is not retryable; the others are.
    """

    reason = "request timed out"

    def __init__(self, message: str = "", *, phase: str = "total", **facts: Any):
        super().__init__(message, **facts)
        self.phase = phase
        self.retryable = phase != "total"


class StreamIdleError(ModelError):
    """A stream was silent for longer than allowed."""

    retryable = True
    reason = "stream idle"


class IncompleteStreamError(ModelError):
    """A stream ended without its `MessageEnd`; ``response`` has what arrived, its usage marked partial."""

    retryable = True
    reason = "stream ended early"


class ModelResponseError(ModelError):
    """The provider answered with something that cannot be used; ``code`` says what.

    ``truncated``: the answer was cut by the token limit; ``refused``: it was filtered; ``invalid_output`` and
    ``invalid_arguments``: it does not fit the schema or is not JSON; ``invalid_stream``: its events make no message;
    ``duplicate_call``: two calls have one id.
    """

    reason = "unusable response"


class RunSyncInLoopError(RuntimeError):
    """A synchronous helper was called on the thread whose event loop would have to do the work."""


#: the providers' names for kinds of errors → our class. They stand before the status: an error in the middle of a
#: stream comes with status 200.
_BY_TYPE: dict[str, type[ModelError]] = {
    "api_error": OverloadedError,
    "authentication_error": AuthError,
    "billing_error": AuthError,
    "deadline_exceeded": OverloadedError,
    "internal": OverloadedError,
    "internal_server_error": OverloadedError,
    "insufficient_quota": AuthError,
    "invalid_api_key": AuthError,
    "invalid_argument": InvalidRequestError,
    "invalid_prompt": InvalidRequestError,
    "invalid_request_error": InvalidRequestError,
    "not_found": InvalidRequestError,
    "not_found_error": InvalidRequestError,
    "overloaded_error": OverloadedError,
    "permission_denied": AuthError,
    "permission_error": AuthError,
    "rate_limit_error": RateLimitedError,
    "rate_limit_exceeded": RateLimitedError,
    "request_too_large": InvalidRequestError,
    "resource_exhausted": RateLimitedError,
    "server_error": OverloadedError,
    "timeout_error": OverloadedError,
    "unauthenticated": AuthError,
    "unavailable": OverloadedError,
}


def _by_status(status: int) -> type[ModelError] | None:
    if status in (401, 403):
        return AuthError
    if status == 429:
        return RateLimitedError
    if status == 408 or status >= 500:
        return OverloadedError
    if 400 <= status < 500:
        return InvalidRequestError
    return None


def model_error(
    *,
    provider: str,
    status: int | None = None,
    type: str | None = None,
    code: str | None = None,
    retry_after: float | None = None,
    detail: str = "",
    body: Any = None,
    response: Response | None = None,
) -> ModelError:
    """The typed error for what a provider answered: by its code, then by its type, then by the status.

    An error without any of the three that is known, in the middle of a stream (status 200), is a
    `ModelResponseError`; without a status at all it is a `ConnectionFailedError`.

    >>> type(model_error(provider="anthropic", status=200, type="invalid_request_error")).__name__
    'InvalidRequestError'
    """
    # A 401 stays a 401 whatever its type is called; below that, names say more than numbers.
    kind = _by_status(status) if status in (401, 403, 429) else None
    if kind is None or code in ("insufficient_quota",):
        kind = _BY_TYPE.get((code or "").lower()) or _BY_TYPE.get((type or "").lower()) or kind
    if kind is None and status:
        kind = _by_status(status) or ModelResponseError
    kind = kind or (ModelResponseError if type or code else ConnectionFailedError)
    return kind(
        f"the provider answered: {kind.reason}" if status or type or code else kind.reason,
        provider=provider,
        status=status,
        type=type,
        code=code,
        retry_after=retry_after,
        detail=detail,
        body=body,
        response=response,
    )


def is_retryable(error: BaseException | None) -> bool:
    """Whether sending the same request again makes sense: the one place that decides.

    A cancellation, a deadline of the caller and a failed certificate never are, even where a transport error wraps
    them. A `ModelError` says so itself. Of other exceptions only broken connections and failed look-ups of the host
    are; everything else is taken for a mistake in a program.
    """
    if error is None:
        return False
    seen: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in seen:
        if not isinstance(link, Exception) or _is_cancellation(link) or _is_certificate(link):
            return False
        seen.append(link)
        link = link.__cause__
    if isinstance(error, ModelTimeoutError):
        return error.retryable
    if isinstance(error, TimeoutError) or type(error.__cause__) is TimeoutError:
        return False
    if isinstance(error, ModelError):
        return error.retryable
    return isinstance(error, (ConnectionError, socket.gaierror))


def _is_cancellation(error: BaseException) -> bool:
    from concurrent.futures import CancelledError

    return isinstance(error, CancelledError)


def _is_certificate(error: BaseException) -> bool:
    # Whoever raised it has loaded ssl; loading it here would make every import of this package slower.
    ssl = sys.modules.get("ssl")
    return ssl is not None and isinstance(error, ssl.SSLCertVerificationError)


def retry_reason(error: BaseException) -> str:
    """The kind of a failure in a few words, as retry notices show it; never the error's own text."""
    if isinstance(error, ModelError):
        return error.reason
    if isinstance(error, (ConnectionError, socket.gaierror)):
        return ConnectionFailedError.reason
    return "error"
