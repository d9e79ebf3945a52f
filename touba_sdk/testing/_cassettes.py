"""Recording what a model answers, and answering from the recording.

A cassette is one JSON file. It is redacted when it is written: texts that look like keys or tokens never reach the
disk, and bytes of media are replaced by their digest. An answer is found by the digest of the redacted request; equal
requests are answered in the order in which they were recorded.
"""

from __future__ import annotations

import os
import re
import tempfile
import threading
from collections.abc import AsyncGenerator, Callable
from typing import Any

from touba_cli.codec import sha256
from touba_sdk.models import (
    Capabilities,
    EventStream,
    InvalidMessageError,
    LanguageModel,
    ModelError,
    ModelStream,
    ModelTimeoutError,
    Request,
    Response,
    StreamEvent,
    collect,
    errors,
    response_events,
)
from touba_sdk.models.capabilities import FEATURES
from touba_sdk.models.middleware import WrappedModel
from touba_sdk.models.wire import VERSION, dump_object, event_from_object, from_object, load_object, to_object

__all__ = ["CassetteMissError", "RecordingModel", "ReplayModel", "redact_secrets"]

_SECRETS = re.compile(
    r"(?<![A-Za-z0-9])(?:(?:sk|pk|rk)[-_]|gh[pousr]_|github_pat_|xox[abeprs]-|A[KS]IA|AIza|ya29\.|hf_|gsk_|glpat-)"
    r"[-_A-Za-z0-9./+=]{12,}"
    r"|(?i:bearer|basic)\s+[-_A-Za-z0-9./+=~]{8,}"
    r"|eyJ[-_A-Za-z0-9]{8,}\.[-_A-Za-z0-9]{8,}\.[-_A-Za-z0-9]{8,}"
)
_SECRET_NAMES = re.compile(r"(?i)(?:api[-_]?key|authorization|access[-_]?token|secret|password|credential)")
_REDACTED = "[redacted]"


def redact_secrets(text: str) -> str:
    """The text with everything that looks like a key, a token or an authorisation header replaced.

    >>> redact_secrets("use sk-abcdefghijklmnop1234 please")
    'use [redacted] please'
    """
    return _SECRETS.sub(_REDACTED, text)


class CassetteMissError(AssertionError):
    """A request that is not on the cassette, or was asked for more often than it was recorded."""


def _redacted(value: Any, redact: Callable[[str], str], name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _redacted(item, redact, key) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_redacted(item, redact) for item in value]
    if isinstance(value, str):
        if name in ("data", "blob") and value:
            return "sha256:" + sha256(value.encode("utf-8"))
        return _REDACTED if _SECRET_NAMES.search(name) else redact(value)
    return value


def _redacted_events(events: list[dict[str, Any]], redact: Callable[[str], str]) -> list[dict[str, Any]]:
    """Redact what deltas say together: a secret may be cut anywhere. Deltas that held a part of one become one."""
    runs: dict[tuple[str, int], list[int]] = {}
    finished: list[tuple[str, list[int]]] = []
    for place, event in enumerate(events):
        kind = event["type"]
        if kind in ("text_delta", "reasoning_delta"):
            other = ("text_delta", -1) if kind == "reasoning_delta" else ("reasoning_delta", -1)
            finished.append(("text", runs.pop(other, [])))
            runs.setdefault((kind, -1), []).append(place)
        elif kind == "tool_call_delta":
            runs.setdefault((kind, event["index"]), []).append(place)
        elif kind == "tool_call_start":
            finished.append(("text", runs.pop(("text_delta", -1), []) or runs.pop(("reasoning_delta", -1), [])))
            finished.append(("args", runs.pop(("tool_call_delta", event["index"]), [])))
    finished.extend(("args" if kind == "tool_call_delta" else "text", places) for (kind, _), places in runs.items())
    changed = [dict(event) for event in events]
    dropped: set[int] = set()
    for member, places in finished:
        text = "".join(events[place].get(member, "") for place in places)
        hidden = _redacted_args(text, redact) if member == "args" else redact(text)
        if hidden != text:
            changed[places[0]][member] = hidden
            for place in places[1:]:
                changed[place][member] = ""
                if events[place].keys() <= {"type", "index", member}:
                    dropped.add(place)
    return [event for place, event in enumerate(changed) if place not in dropped]


def _redacted_args(text: str, redact: Callable[[str], str]) -> str:
    try:
        value = load_object(text) if text else None
    except InvalidMessageError:
        return redact(text)
    hidden = _redacted(value, redact)
    return text if hidden == value else dump_object(hidden)


def _sorted_text(value: Any) -> str:
    def ordered(item: Any) -> Any:
        if isinstance(item, dict):
            return {key: ordered(item[key]) for key in sorted(item)}
        return [ordered(each) for each in item] if isinstance(item, list) else item

    return dump_object(ordered(value))


def _request_key(request: Request, redact: Callable[[str], str]) -> tuple[str, dict[str, Any]]:
    written = _redacted(to_object(request), redact)
    return "sha256:" + sha256(_sorted_text(written).encode("utf-8")), written


# -- errors ------------------------------------------------------------------------------------------------------

_ERROR_MEMBERS = ("provider", "status", "type", "code", "retry_after", "detail")


def _error_object(error: ModelError) -> dict[str, Any]:
    members = {name: getattr(error, name) for name in _ERROR_MEMBERS if getattr(error, name)}
    phase = {"phase": error.phase} if isinstance(error, ModelTimeoutError) else {}
    return {"class": type(error).__name__, "message": error.message, **members, **phase}


def _error_from(members: dict[str, Any]) -> ModelError:
    known = dict(members)
    kind = getattr(errors, known.pop("class"), ModelError)
    if not (isinstance(kind, type) and issubclass(kind, ModelError)):
        raise InvalidMessageError("the cassette names an error class that is unknown")
    if "retry_after" in known:
        known["retry_after"] = float(getattr(known["retry_after"], "text", known["retry_after"]))
    error: ModelError = kind(known.pop("message"), **known)
    return error


# -- recording ---------------------------------------------------------------------------------------------------


class RecordingModel(WrappedModel):
    """Passes every call on to a model and writes what came to a cassette, after every call.

    A stream is recorded event by event, with the failure that ended it; one that its consumer leaves early is recorded
    as far as it went. Only failures that are a `ModelError` are recorded. An existing file is written anew.

    Parameters:
        inner: the model.
        path: the file. It is replaced as a whole each time, readable by its owner only.
        redact: changes every text before it is written, requests and answers alike.
    """

    def __init__(
        self, inner: LanguageModel, path: str | os.PathLike[str], *, redact: Callable[[str], str] = redact_secrets
    ):
        super().__init__(inner)
        self._path = os.fspath(path)
        self._redact = redact
        self._lock = threading.Lock()
        self._interactions: list[dict[str, Any]] = []

    async def generate(self, request: Request) -> Response:
        """Answer as the model inside does, and record the answer or the error."""
        key, written = _request_key(request, self._redact)
        try:
            response = await self.inner.generate(request)
        except ModelError as error:
            self._record(key, written, {"error": _error_object(error)})
            raise
        self._record(key, written, {"response": to_object(response)})
        return response

    def stream(self, request: Request) -> ModelStream:
        """Stream as the model inside does, and record what was read of it."""
        return EventStream(lambda: self._events(request))

    async def _events(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        key, written = _request_key(request, self._redact)
        events: list[dict[str, Any]] = []
        outcome: dict[str, Any] = {"abandoned": True}
        try:
            async with self.inner.stream(request) as stream:
                async for event in stream:
                    events.append(to_object(event))
                    yield event
            outcome = {}
        except ModelError as error:
            outcome = {"error": _error_object(error)}
            raise
        finally:
            self._record(key, written, {"events": events, **outcome})

    def _record(self, key: str, request: dict[str, Any], outcome: dict[str, Any]) -> None:
        if "events" in outcome:
            outcome = {**outcome, "events": _redacted_events(outcome["events"], self._redact)}
        entry = {"digest": key, "request": request, **_redacted(outcome, self._redact)}
        with self._lock:
            self._interactions.append(entry)
            features = [name for name in FEATURES if getattr(self.inner.capabilities, name)]
            document = {
                "version": VERSION,
                "provider": self.inner.provider,
                "model_id": self.inner.model_id,
                "capabilities": features,
                "interactions": self._interactions,
            }
            _replace_file(self._path, dump_object(document) + "\n")


def _replace_file(path: str, text: str) -> None:
    path = os.path.realpath(path)  # a link stays; what it leads to is replaced
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError("a cassette is a regular file; a device or a folder is not replaced by one")
    folder = os.path.dirname(path)
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=".cassette-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


# -- replay ------------------------------------------------------------------------------------------------------


class ReplayModel:
    """Answers from a cassette, without any model.

    ``generate`` and ``stream`` both accept what either recorded: a whole answer is streamed as its events, a recorded
    stream is collected.

    Parameters:
        path: the file.
        redact: as it was for the recording; the digest of a request is taken after it.

    Raises:
        CassetteMissError: for a request that is not there, or not any more.
        InvalidMessageError: when the file is no cassette.
    """

    def __init__(self, path: str | os.PathLike[str], *, redact: Callable[[str], str] = redact_secrets):
        with open(path, "rb") as file:
            document = load_object(file.read())
        if not isinstance(document, dict) or document.get("version") != VERSION:
            raise InvalidMessageError("the file is no cassette of a known version")
        self.provider: str = document["provider"]
        self.model_id: str = document["model_id"]
        self.capabilities = Capabilities(**{name: name in document["capabilities"] for name in FEATURES})
        self._redact = redact
        self._lock = threading.Lock()
        self._waiting: dict[str, list[dict[str, Any]]] = {}
        for entry in document["interactions"]:
            self._waiting.setdefault(entry["digest"], []).append(entry)

    @property
    def remaining(self) -> int:
        """How many recorded answers have not been used."""
        return sum(len(entries) for entries in self._waiting.values())

    def _take(self, request: Request) -> dict[str, Any]:
        key, _ = _request_key(request, self._redact)
        with self._lock:
            entries = self._waiting.get(key)
            if not entries:
                known = "was recorded, but less often" if key in self._waiting else "is not on the cassette"
                raise CassetteMissError(f"the request {key[:19]}… {known}; {self.remaining} answers are left")
            return entries.pop(0)

    async def generate(self, request: Request) -> Response:
        """Answer with the next recording of this request.

        Raises:
            CassetteMissError: where none is left.
        """
        entry = self._take(request)
        if "response" in entry:
            return from_object(Response, entry["response"])
        return await collect(EventStream(lambda: _replay(entry)))

    def stream(self, request: Request) -> ModelStream:
        """Stream the next recording of this request, taken when the first event is asked for."""
        return EventStream(lambda: self._events(request))

    async def _events(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        entry = self._take(request)
        async with EventStream(lambda: _replay(entry)) as stream:
            async for event in stream:
                yield event


async def _replay(entry: dict[str, Any]) -> AsyncGenerator[StreamEvent, None]:
    if "response" in entry:
        for event in response_events(from_object(Response, entry["response"])):
            yield event
    for written in entry.get("events", ()):
        yield event_from_object(written)
    if "error" in entry:
        raise _error_from(entry["error"])
    if entry.get("abandoned"):
        raise CassetteMissError("the recording of this stream ends here: its consumer left it")
