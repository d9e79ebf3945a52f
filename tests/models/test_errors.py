"""Which failures are worth another attempt: cases 181 and 182, and how providers' answers are classed."""

from __future__ import annotations

import asyncio
import concurrent.futures
import socket
import ssl

import pytest
import trio

from touba_sdk.models import (
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
    StreamIdleError,
    UnsupportedError,
    is_retryable,
    model_error,
    retry_reason,
)


def caused(error: BaseException, cause: BaseException) -> BaseException:
    error.__cause__ = cause
    return error


def trio_cancelled() -> BaseException:
    caught: list[BaseException] = []

    async def main() -> None:
        with trio.CancelScope() as scope:
            scope.cancel()
            try:
                await trio.lowlevel.checkpoint()
            except trio.Cancelled as error:
                caught.append(error)
                raise

    trio.run(main)
    return caught[0]


@pytest.mark.parametrize(
    "error",
    [
        asyncio.CancelledError(),
        concurrent.futures.CancelledError(),
        trio_cancelled(),
        KeyboardInterrupt(),
        TimeoutError(),
        caused(ConnectionFailedError(), asyncio.CancelledError()),
        caused(ConnectionFailedError(), TimeoutError()),
        caused(ConnectionFailedError(), caused(OSError(), asyncio.CancelledError())),
        ModelTimeoutError(phase="total"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_case_181_cancellations_and_deadlines_are_not_retryable(error: BaseException) -> None:
    assert not is_retryable(error)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (None, False),
        (ValueError("a mistake"), False),
        (KeyError("a mistake"), False),
        (OSError("disk full"), False),
        (Exception(), False),
        (ModelError(), False),
        (ConnectionFailedError(), True),
        (ConnectionResetError(), True),
        (socket.gaierror(), True),
        (ssl.SSLCertVerificationError(), False),
        (caused(ConnectionFailedError(), ssl.SSLCertVerificationError()), False),
        (StreamIdleError(), True),
        (IncompleteStreamError(), True),
        (RateLimitedError(), True),
        (OverloadedError(), True),
        (AuthError(), False),
        (InvalidRequestError(), False),
        (UnsupportedError(), False),
        (InvalidMessageError(), False),
        (ModelResponseError(), False),
        (ModelTimeoutError(phase="connect"), True),
        (ModelTimeoutError(phase="read"), True),
    ],
    ids=lambda value: type(value).__name__,
)
def test_case_182_only_transport_and_model_errors_are_retryable(error: BaseException | None, expected: bool) -> None:
    assert is_retryable(error) is expected


def test_case_182_a_cause_that_goes_in_circles_ends() -> None:
    first, second = ConnectionFailedError(), OSError()
    first.__cause__, second.__cause__ = second, first
    assert is_retryable(first)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"status": 401}, AuthError),
        ({"status": 403, "type": "invalid_request_error"}, AuthError),
        ({"status": 429}, RateLimitedError),
        ({"status": 429, "code": "insufficient_quota"}, AuthError),
        ({"status": 408}, OverloadedError),
        ({"status": 500}, OverloadedError),
        ({"status": 529, "type": "overloaded_error"}, OverloadedError),
        ({"status": 400}, InvalidRequestError),
        ({"status": 422}, InvalidRequestError),
        ({"status": 404, "type": "not_found_error"}, InvalidRequestError),
        ({"status": 200, "type": "overloaded_error"}, OverloadedError),
        ({"status": 200, "code": "rate_limit_exceeded"}, RateLimitedError),
        ({"status": 200}, ModelResponseError),
        ({"type": "something_new"}, ModelResponseError),
        ({}, ConnectionFailedError),
    ],
)
def test_answers_of_providers_are_classed(facts: dict[str, object], expected: type[ModelError]) -> None:
    error = model_error(provider="p", retry_after=2.0, detail="the prompt said: secret", body=b"secret", **facts)  # type: ignore[arg-type]
    assert type(error) is expected
    assert error.retry_after == 2.0
    assert "secret" not in str(error) + repr(error)


def test_reasons_are_those_that_notices_show() -> None:
    reasons = [
        retry_reason(kind())
        for kind in (RateLimitedError, OverloadedError, IncompleteStreamError, StreamIdleError, ModelTimeoutError)
    ]
    assert reasons == ["rate limited", "provider overloaded", "stream ended early", "stream idle", "request timed out"]
    assert retry_reason(ConnectionResetError("10.0.0.1")) == "connection error"
    assert retry_reason(ValueError("secret")) == "error"


def test_invalid_messages_are_value_errors_too() -> None:
    assert isinstance(InvalidMessageError(), ValueError)
    assert isinstance(ModelTimeoutError(), TimeoutError)
