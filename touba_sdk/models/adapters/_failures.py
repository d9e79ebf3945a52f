"""What a vendor's SDK raises → one of our errors. The only place that decides it.

The SDKs wrap their HTTP client, and each major version may come with another one (httpx, httpx2). Transport errors are
therefore told by the names of their classes, which all of them share.
"""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime

from ..errors import (
    ConnectionFailedError,
    IncompleteStreamError,
    InvalidRequestError,
    ModelError,
    ModelResponseError,
    ModelTimeoutError,
    StreamIdleError,
)

_HTTP_PACKAGES = ("httpx", "httpx2", "httpcore", "httpcore2", "requests", "aiohttp")
_CONNECTING = ("ConnectTimeout", "PoolTimeout")
_WRONG_ADDRESS = ("UnsupportedProtocol", "InvalidURL", "LocalProtocolError")
#: no wait is longer than a day, whatever a server asks for
LONGEST_WAIT = 86_400.0


def retry_after(headers: Mapping[str, str] | None, *, now: Callable[[], float] = time.time) -> float | None:
    """How many seconds the server asks to wait: ``retry-after-ms``, or ``retry-after`` in seconds or as a date.

    >>> retry_after({"retry-after": "1.5"})
    1.5
    """
    if not headers:
        return None
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name)
        if text is None:
            continue
        try:
            seconds = float(text) * unit
        except ValueError:
            try:
                seconds = parsedate_to_datetime(text).timestamp() - now()
            except (ValueError, TypeError):
                continue
        if seconds == seconds:  # not a number is no hint
            return min(max(0.0, seconds), LONGEST_WAIT)
    return None


def transport_failure(error: BaseException, provider: str, *, streaming: bool) -> ModelError | None:
    """The error for a connection that failed, or an answer that is no JSON; None for anything else.

    In the middle of a stream a broken connection is an incomplete stream, and silence an idle one.
    """
    for link in _chain(error):
        found = _one(link, provider, streaming)
        if found is not None:
            if any(isinstance(each, ssl.SSLCertVerificationError) for each in _chain(link)):
                found.retryable = False
            return found
    return None


def _chain(error: BaseException) -> list[BaseException]:
    """The error, and what it came from: the HTTP clients do not always name it as the cause."""
    links: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in links and len(links) < 10:
        links.append(link)
        link = link.__cause__ or link.__context__
    return links


def _one(error: BaseException, provider: str, streaming: bool) -> ModelError | None:
    names = {each.__name__ for each in type(error).__mro__ if each.__module__.split(".")[0] in _HTTP_PACKAGES}
    if names & set(_WRONG_ADDRESS):
        return InvalidRequestError("the address of the provider cannot be used", provider=provider)
    if "TimeoutException" in names or type(error).__name__ == "APITimeoutError":
        if streaming:
            return StreamIdleError("the stream was silent for too long", provider=provider)
        cause = {each.__name__ for each in type(error.__cause__).__mro__} if error.__cause__ else names
        phase = "connect" if (names | cause) & set(_CONNECTING) else "read"
        return ModelTimeoutError("the provider did not answer in time", phase=phase, provider=provider)
    network = names & {"TransportError", "RequestError", "StreamError", "StreamClosed"}
    if network or isinstance(error, ConnectionError | ssl.SSLError) or type(error).__name__ in (
        "EndOfStream", "BrokenResourceError", "ClosedResourceError", "APIConnectionError",
    ):  # fmt: skip
        if streaming:
            return IncompleteStreamError("the connection broke before the answer ended", provider=provider)
        return ConnectionFailedError("the provider could not be reached, or the connection broke", provider=provider)
    if isinstance(error, json.JSONDecodeError):
        if streaming and (error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated")):
            return IncompleteStreamError("the stream ended in the middle of an event", provider=provider)
        return ModelResponseError("the answer of the provider is no JSON", code="invalid_response", provider=provider)
    if type(error).__name__ in ("APIResponseValidationError", "ValidationError", "UnknownApiResponseError"):
        return ModelResponseError(
            "the answer of the provider has another form", code="invalid_response", provider=provider
        )
    return None


def transport_cause(error: BaseException) -> BaseException | None:
    """The error of the transport in a chain: it says what broke and repeats nothing of the request.

    A certificate that failed stands for all of them, because it decides whether trying again makes sense.
    """
    links = _chain(error)
    for link in links:
        if isinstance(link, ssl.SSLCertVerificationError):
            return link
    for link in links:
        if type(link).__module__.split(".")[0] in _HTTP_PACKAGES or isinstance(link, OSError):
            return link
    return None
