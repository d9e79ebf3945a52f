"""A small HTTP server in a thread, and what all fake vendors share.

It speaks HTTP/1.1 with kept connections and chunked streams, and cuts every stream into small pieces at odd places,
inside of characters and lines. It is strict about what it is sent: a request that the real vendor would refuse is
answered with 400 in the vendor's own form.
"""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import threading
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import httpx
import httpx2

from touba_sdk.models import TextPart, ToolCallPart
from touba_sdk.models.adapters import VendorModel
from touba_sdk.testing.model_contract import PRIVATE, Answer

#: how long the pieces of a stream are, in bytes: no character and no line is safe
PIECE = 23


@dataclass
class Received:
    """One request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Reply:
    """One answer as it goes: a body, or frames of a stream.

    ``end``: ``done``, ``cut`` (the connection is closed in the middle) or ``hang`` (nothing more comes).
    """

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    frames: list[bytes] | None = None
    end: str = "done"


class FakeVendor:
    """A vendor's server. Subclasses say how the vendor writes things."""

    #: the adapter that speaks to the vendor, and what its models are made with
    ADAPTER: ClassVar[type[VendorModel]]
    MODEL: ClassVar[str]
    KEY: ClassVar[str | None] = "k"
    #: where its interface begins
    ROOT: ClassVar[str] = ""
    lacks: Collection[str] = ()
    #: text that ends a kind of reply in the middle comes after this many frames with text
    TEXTS_BEFORE_FAULT: ClassVar[int] = 2

    def __init__(self) -> None:
        self.requests: list[Received] = []
        self.open_streams = 0
        self._answers: list[Answer | Reply] = [Answer()]
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name=type(self).__name__, daemon=True)
        self._ready = threading.Event()
        self._stop: asyncio.Event | None = None
        self._lock = threading.Lock()
        self.port = 0

    # --- what a test does -------------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._stop is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)
        assert not self._thread.is_alive()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def model(self, *, timeout: float = 10.0, **options: Any) -> Any:
        given: dict[str, Any] = {
            "api_key": self.KEY, "base_url": self.url + self.ROOT, "timeout": timeout,
            "http_client": self.http_client, **options,
        }  # fmt: skip
        return self.ADAPTER(given.pop("model", self.MODEL), **given)

    def unreachable(self) -> Any:
        return self.ADAPTER(self.MODEL, api_key=self.KEY, base_url=f"http://127.0.0.1:9{self.ROOT}", timeout=5.0)

    def answer(self, *answers: Answer | Reply) -> None:
        """What the next requests get; the last one goes on for ever."""
        with self._lock:
            self._answers = list(answers)

    @property
    def received(self) -> int:
        return len(self.requests)

    @property
    def last(self) -> Any:
        """The body of the last request."""
        return self.requests[-1].body

    def last_had(self, text: str) -> bool:
        whole = json.dumps(self.last, ensure_ascii=False)
        return text in whole or base64.b64encode(text.encode()).decode() in whole

    # --- what a vendor says -----------------------------------------------------------------------------------------

    def http_client(self) -> Any:
        """A client of the kind that the vendor's SDK takes."""
        return light_client()

    def read(self, body: Any) -> Any:
        """The body of a request as the vendor reads it."""
        return body

    def refusal(self, received: Received) -> str | None:
        """Why the vendor refuses a request; None when it does not."""
        return None

    def wants_stream(self, received: Received) -> bool:
        return bool(received.body.get("stream"))

    def whole(self, answer: Answer) -> Any:
        """The body of an answer in one piece."""
        raise AssertionError

    def frames(self, answer: Answer) -> Iterable[tuple[str, bytes]]:
        """The frames of a stream, each with its kind: ``text`` for those that hold text."""
        raise AssertionError

    def error_frame(self) -> bytes:
        """An error in the middle of a stream."""
        raise AssertionError

    def error_body(self, status: int, message: str, answer: Answer) -> Any:
        """The body of an error."""
        raise AssertionError

    def error_headers(self, answer: Answer) -> dict[str, str]:
        return {} if answer.retry_after is None else {"retry-after": f"{answer.retry_after:g}"}

    STREAM_TYPE: ClassVar[str] = "text/event-stream"

    # --- how it is done ---------------------------------------------------------------------------------------------

    def reply(self, received: Received) -> Reply:
        problem = self.refusal(received)
        if problem is not None:
            return self._json(400, self.error_body(400, problem, Answer(status=400)))
        with self._lock:
            answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Reply):
            return answer
        if answer.status != 200:
            reply = self._json(answer.status, self.error_body(answer.status, PRIVATE, answer))
            reply.headers.update(self.error_headers(answer))
            return reply
        if answer.fault == "not_json":
            return Reply(headers={"content-type": "application/json"}, body=b"<html>gateway</html>")
        if not self.wants_stream(received):
            return self._json(200, self.whole(answer))
        return self._stream(answer)

    def _json(self, status: int, body: Any) -> Reply:
        return Reply(status, {"content-type": "application/json"}, json.dumps(body, ensure_ascii=False).encode())

    def _stream(self, answer: Answer) -> Reply:
        sent: list[bytes] = []
        texts = 0
        end = "done"
        for kind, frame in self.frames(answer):
            sent.append(frame)
            texts += kind == "text"
            if answer.fault in ("cut", "hang", "error") and texts == self.TEXTS_BEFORE_FAULT:
                if answer.fault == "error":
                    sent.append(self.error_frame())
                end = "done" if answer.fault == "error" else answer.fault
                break
        return Reply(headers={"content-type": self.STREAM_TYPE}, frames=sent, end=end)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._main())
        self._loop.close()

    async def _main(self) -> None:
        self._stop = asyncio.Event()
        tasks: set[asyncio.Task[None]] = set()

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            tasks.add(task)
            try:
                await self._connection(reader, writer)
            except (ConnectionError, asyncio.IncompleteReadError):
                writer.close()  # the client has gone, which is its right
            except asyncio.CancelledError:
                writer.close()  # the server stops
            finally:
                tasks.discard(task)

        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            line = await reader.readline()
            if not line:
                writer.close()
                return
            method, path, _ = line.decode().split(" ", 2)
            headers: dict[str, str] = {}
            while (line := (await reader.readline()).strip()) != b"":
                name, _, value = line.decode("latin-1").partition(":")
                headers[name.strip().lower()] = value.strip()
            data = await reader.readexactly(int(headers.get("content-length", "0")))
            received = Received(method, path, headers, self.read(json.loads(data)) if data else {})
            self.requests.append(received)
            if not await self._write(self.reply(received), reader, writer):
                return

    async def _write(self, reply: Reply, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Send an answer; whether the connection goes on."""
        head = [f"HTTP/1.1 {reply.status} X"] + [f"{name}: {value}" for name, value in reply.headers.items()]
        if reply.frames is None:
            head.append(f"content-length: {len(reply.body)}")
            writer.write("\r\n".join(head).encode() + b"\r\n\r\n" + reply.body)
            await writer.drain()
            return True
        head.append("transfer-encoding: chunked")
        writer.write("\r\n".join(head).encode() + b"\r\n\r\n")
        self.open_streams += 1
        try:
            whole = b"".join(reply.frames)
            for start in range(0, len(whole), PIECE):
                piece = whole[start : start + PIECE]
                writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                await writer.drain()
            if reply.end == "hang":
                await reader.read()  # until the client goes
            if reply.end != "done":
                writer.transport.abort()
                return False
            writer.write(b"0\r\n\r\n")
            await writer.drain()
            return True
        finally:
            self.open_streams -= 1


_CONTEXT = ssl.create_default_context()


def light_client() -> httpx2.AsyncClient:
    """An HTTP client that does not read the certificates of the world each time it is made."""
    return httpx2.AsyncClient(verify=_CONTEXT, trust_env=False)


def light_old_client() -> httpx.AsyncClient:
    """The same of the older package."""
    return httpx.AsyncClient(verify=_CONTEXT, trust_env=False)


def pieces(text: str) -> list[str]:
    """A text as a model would write it: word by word."""
    words = text.split(" ")
    return [word if place == 0 else f" {word}" for place, word in enumerate(words)]


def halves(text: str) -> list[str]:
    """The arguments of a call, in two pieces."""
    return [part for part in (text[: len(text) // 2], text[len(text) // 2 :]) if part]


def texts_of(answer: Answer) -> str:
    return "".join(part.text for part in answer.parts if isinstance(part, TextPart))


def calls_of(answer: Answer) -> list[ToolCallPart]:
    return [part for part in answer.parts if isinstance(part, ToolCallPart)]


def sse(data: Any, event: str | None = None, newline: str = "\n") -> bytes:
    """One server-sent event."""
    head = f"event: {event}{newline}" if event else ""
    return f"{head}data: {json.dumps(data, ensure_ascii=False)}{newline}{newline}".encode()
