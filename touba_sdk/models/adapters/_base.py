"""What the adapters share: one client per event loop, one machine for whole answers and streams, one set of errors."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextvars import ContextVar
from importlib import import_module
from ipaddress import ip_address
from typing import Any, ClassVar, NoReturn, Self
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary, ref

import anyio
from anyio.lowlevel import RunVar

from ..capabilities import Capabilities
from ..errors import AuthError, IncompleteStreamError, InvalidRequestError, ModelError, ModelResponseError
from ..requests import Request
from ..responses import Response
from ..streams import CLOSE_GRACE, Collector, EventStream, ModelStream, StreamEvent
from ._failures import transport_cause, transport_failure
from ._shape import Prepared, Reader, Shaper, merged

#: how long the rest of a stream may take after its last event, so that the connection can be used again, in seconds
DRAIN = 0.1
#: how long one step of a call may take: sending, waiting for the answer, waiting for the next piece, in seconds
TIMEOUT = 600.0
#: how long connecting may take, in seconds
CONNECT_TIMEOUT = 10.0

#: the clients of one event loop
_CLIENTS: RunVar[WeakKeyDictionary[Any, Any]] = RunVar("touba_model_clients")


def loop_clients() -> WeakKeyDictionary[Any, Any]:
    """Model → its client in the running event loop."""
    clients = _CLIENTS.get(None)
    if clients is None:
        clients = WeakKeyDictionary()
        _CLIENTS.set(clients)
    return clients


HttpClient = Any | Callable[[], Any]


class VendorModel(ABC):
    """A language model behind a vendor's SDK.

    Parameters:
        model: the vendor's name of the model.
        api_key: the key; None looks into the environment (`KEY_VARIABLES`) at the first call.
        base_url: another address of the vendor's interface. Plain HTTP, and private addresses, are refused unless the
            host is this machine or ``allow_private_network`` is set. Names are not looked up for this.
        http_client: an HTTP client of the kind that the vendor's SDK takes, or a function that makes one. A client
            belongs to the event loop that uses it first; a function is called once for each event loop.
        timeout: seconds that each step may take (connecting: ten at most). There is no limit for the whole call: put
            `touba_sdk.models.middleware.timeouts` around the model.
        capabilities: what the model can do, where the adapter's own table is wrong about it.
        client_options: further arguments for the vendor's client class.

    The first call makes the client, so a missing key or a missing SDK is raised there. The SDK's own retries are off.
    A model may be used from several event loops, one after the other or at once: each has its own client. ``async
    with model`` closes the client of the running loop at the end.
    """

    VENDOR: ClassVar[str]
    KEY_VARIABLES: ClassVar[tuple[str, ...]] = ()
    PACKAGE: ClassVar[str]
    EXTRA: ClassVar[str]

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        http_client: HttpClient | None = None,
        timeout: float = TIMEOUT,
        capabilities: Capabilities | None = None,
        client_options: Mapping[str, Any] | None = None,
        allow_private_network: bool = False,
        provider: str | None = None,
    ):
        self._model = model
        self._api_key = api_key
        self._base_url = base_url
        self._http_client = http_client
        self._home: ref[Any] | None = None
        self._timeout = timeout
        self._given_capabilities = capabilities
        self._client_options = dict(client_options or {})
        self._allow_private_network = allow_private_network
        self._provider = provider or self.VENDOR

    # --- the protocol -----------------------------------------------------------------------------------------------

    @property
    def provider(self) -> str:
        """The vendor's name."""
        return self._provider

    @property
    def model_id(self) -> str:
        """The vendor's name of the model."""
        return self._model

    @property
    def capabilities(self) -> Capabilities:
        """What the model can do."""
        return self._given_capabilities or self._capabilities()

    async def generate(self, request: Request) -> Response:
        """Answer in one piece.

        Raises:
            ModelError: one of its classes; `UnsupportedError` before anything is sent.
        """
        prepared = self._prepare(request)
        client = self._client()
        try:
            body = await self._send(client, prepared)
        except Exception as error:
            self._raise(error)
        shaper = Shaper(prepared, self.provider, self.model_id)
        collector = Collector()
        try:
            for event in shaper.shape(self._reader(prepared).whole(body)):
                collector.add(event)
        except ModelError as error:
            if error.response is None and collector.has_output:
                error.response = collector.partial()
            raise
        except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
            raise self._odd(error) from None
        return collector.response().replace(raw=body)

    def stream(self, request: Request) -> ModelStream:
        """Answer piece by piece; nothing is sent before the first event is asked for."""
        return EventStream(lambda: self._events(request))

    async def aclose(self) -> None:
        """Close this event loop's client; the next call makes another one."""
        client = loop_clients().pop(self, None)
        if client is not None:
            await self._close(client)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        with anyio.CancelScope(shield=True, deadline=anyio.current_time() + CLOSE_GRACE):
            await self.aclose()

    # --- what an adapter says ---------------------------------------------------------------------------------------

    @abstractmethod
    def _capabilities(self) -> Capabilities:
        """What models of this kind can do."""

    @abstractmethod
    def _prepare(self, request: Request) -> Prepared:
        """The request as the vendor takes it. Pure.

        Raises:
            UnsupportedError: for what the request cannot do without and the vendor does not have.
        """

    @abstractmethod
    def _reader(self, prepared: Prepared) -> Reader:
        """A reader for one answer."""

    @abstractmethod
    def _connect(self, sdk: Any, http_client: Any | None, api_key: str | None) -> Any:
        """A client of the vendor's SDK, its retries off."""

    @abstractmethod
    async def _send(self, client: Any, prepared: Prepared) -> Mapping[str, Any]:
        """Send a request and give the whole answer, as plain data."""

    @abstractmethod
    async def _open(self, client: Any, prepared: Prepared) -> Source:
        """Send a request and give its stream."""

    @abstractmethod
    def _refused(self, error: Exception) -> ModelError | None:
        """The error for what the vendor answered; None for an exception that is no answer."""

    async def _close(self, client: Any) -> None:
        """Close a client; one that was given stays open."""
        if self._http_client is None or callable(self._http_client):
            await client.close()

    # --- how it is done ---------------------------------------------------------------------------------------------

    def _options(self, request: Request, body: dict[str, Any]) -> dict[str, Any]:
        """The body with the settings that the request has for this provider."""
        return merged(body, (request.provider_options or {}).get(self.provider))

    def _client(self) -> Any:
        """The client of the running event loop."""
        clients = loop_clients()
        if self in clients:
            return clients[self]
        given = self._http_client
        if callable(given):
            given = given()
        elif given is not None:
            if self._home is not None and self._home() is not clients:
                raise RuntimeError(
                    "the HTTP client of this model belongs to another event loop; give a function that makes one"
                )
            self._home = ref(clients)
        check_address(self._base_url, self.provider, allow_private=self._allow_private_network)
        client = self._connect(self._sdk(), given, self._key())
        clients[self] = client
        return client

    def _client_arguments(self, sdk: Any, http_client: Any | None, api_key: str | None) -> dict[str, Any]:
        """What the clients of OpenAI and of Anthropic are made with: one generator writes both SDKs."""
        return {
            "api_key": api_key,
            "max_retries": 0,
            "timeout": sdk.Timeout(self._timeout, connect=min(self._timeout, CONNECT_TIMEOUT)),
            **({"base_url": self._base_url} if self._base_url else {}),
            **({"http_client": http_client} if http_client is not None else {}),
            **self._client_options,
        }

    def _sdk(self) -> Any:
        try:
            return import_module(self.PACKAGE)
        except ModuleNotFoundError as error:
            raise ImportError(
                f"{type(self).__name__} needs the package {self.PACKAGE!r}: install Touba with the extra `{self.EXTRA}`"
            ) from error

    def _key(self) -> str | None:
        """The key that was given, or the first one that the environment has.

        Raises:
            AuthError: when there is none; nothing was sent.
        """
        if self._api_key:
            return self._api_key
        for name in self._key_names():
            if os.environ.get(name):
                return os.environ[name]
        return self._without_key()

    def _key_names(self) -> tuple[str, ...]:
        return self.KEY_VARIABLES

    def _without_key(self) -> str | None:
        names = " or ".join(self._key_names())
        raise AuthError(f"no key: give `api_key` or set {names}", provider=self.provider, code="no_key")

    def _raise(self, error: Exception, response: Response | None = None, *, streaming: bool = False) -> NoReturn:
        """Raise our error for what the SDK raised.

        What the vendor wrote may repeat what it was sent, so its exception is not shown as the cause; only one of the
        transport is.
        """
        if isinstance(error, ModelError):
            failure, cause = error, error.__cause__
        elif (refused := self._refused(error)) is not None:
            failure, cause = refused, None
        else:
            broken = transport_failure(error, self.provider, streaming=streaming)
            if broken is None:
                raise error
            failure, cause = broken, transport_cause(error)
        if failure.response is None:
            failure.response = response
        raise failure from cause

    def _odd(self, error: Exception) -> ModelResponseError:
        return ModelResponseError(
            f"the answer of the provider has another form ({type(error).__name__})",
            code="invalid_response",
            provider=self.provider,
        )

    async def _events(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        prepared = self._prepare(request)
        client = self._client()
        reader = self._reader(prepared)
        shaper = Shaper(prepared, self.provider, self.model_id)
        collector = Collector()
        source: Source | None = None
        begun = False  # some SDKs send nothing before the first item is asked for
        try:
            source = await self._open(client, prepared)
            async for item in source:
                begun = True
                for event in self._read(reader.feed, item, shaper):
                    collector.add(event)
                    yield event
                if collector.ended:
                    break
            else:
                for event in shaper.shape(reader.finish()):
                    collector.add(event)
                    yield event
            if not collector.ended:
                raise IncompleteStreamError("the stream ended before the answer did", provider=self.provider)
            await source.drain()
        except Exception as error:
            for event in shaper.leftovers():
                collector.add(event)
            self._raise(error, collector.partial() if begun else None, streaming=begun)
        finally:
            if source is not None:
                # a cancelled call ends its connection, too
                with anyio.CancelScope(shield=True, deadline=anyio.current_time() + CLOSE_GRACE):
                    await source.aclose()

    def _read(self, feed: Callable[[Any], Any], item: Any, shaper: Shaper) -> list[StreamEvent]:
        """The events of one item, all of them or an error: a form that we do not know is the vendor's mistake."""
        try:
            return list(shaper.shape(feed(item)))
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise self._odd(error) from None


class Source:
    """A vendor's stream: items as plain data, and a way to end it.

    Parameters:
        items: the SDK's stream.
        convert: makes plain data of an item.
        close: ends the connection.
    """

    def __init__(self, items: Any, convert: Callable[[Any], Any], close: Callable[[], Awaitable[object]]):
        self._items = items.__aiter__()
        self._convert = convert
        self._close = close
        self._ended = False

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        try:
            item = await self._items.__anext__()
        except BaseException:
            self._ended = True
            raise
        return self._convert(item)

    async def drain(self) -> None:
        """Read what follows the last event, for a short time, so that the connection can be used again."""
        with anyio.move_on_after(DRAIN):
            await self._read_on()

    async def aclose(self) -> None:
        """End the stream: the connection first, then the generators of the SDK that still wait for it."""
        if not self._ended:
            await self._close()
            with anyio.move_on_after(DRAIN):
                await self._read_on()
        if hasattr(self._items, "aclose"):
            await self._items.aclose()

    async def _read_on(self) -> None:
        try:
            while not self._ended:
                await self.__anext__()
        except StopAsyncIteration:
            self._ended = True
        except Exception:
            self._ended = True  # nobody waits for these items: a connection that breaks is only not used again


#: the answers whose heads have come in this call: for SDKs that do not show theirs
_ANSWERS: ContextVar[list[Any] | None] = ContextVar("touba_model_answers", default=None)


async def _note_answer(response: Any) -> None:
    answers = _ANSWERS.get()
    if answers is not None:
        answers.append(response)


def watch(http_client: Any) -> None:
    """Make an HTTP client note its answers for `watched`."""
    hooks = http_client.event_hooks
    if _note_answer not in hooks.get("response", ()):
        http_client.event_hooks = {**hooks, "response": [*hooks.get("response", ()), _note_answer]}


def watched() -> list[Any]:
    """A list that gets the answers of the call that this task makes next."""
    answers: list[Any] = []
    _ANSWERS.set(answers)
    return answers


def last_headers() -> Mapping[str, str] | None:
    """The headers of the last answer of this task's call."""
    answers = _ANSWERS.get()
    return answers[-1].headers if answers else None


async def close_all(answers: list[Any]) -> None:
    """End the connections of these answers."""
    for response in answers:
        await response.aclose()


def check_address(url: str | None, provider: str, *, allow_private: bool) -> None:
    """Refuse an address that a key should not be sent to.

    Raises:
        InvalidRequestError: for plain HTTP and private addresses; this machine is always allowed.
    """
    if url is None:
        return
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        host, parts = "", urlsplit("")
    if parts.scheme not in ("http", "https") or not host:
        raise InvalidRequestError("`base_url` is no http(s) address", provider=provider, code="base_url")
    try:
        address = ip_address(host)
        local, private = address.is_loopback, not address.is_global
    except ValueError:
        local = host == "localhost" or host.endswith(".localhost")
        private = local
    if allow_private or local:
        return
    if parts.scheme == "http" or private:
        what = "is plain HTTP" if parts.scheme == "http" else "is a private address"
        raise InvalidRequestError(
            f"`base_url` {what}; set `allow_private_network=True` where that is meant",
            provider=provider,
            code="base_url",
        )
