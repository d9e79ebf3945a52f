"""What the tests of this folder share: strategies, a fake clock, and small helpers."""

from __future__ import annotations

from typing import Any

import anyio.lowlevel
from hypothesis import strategies as st

from touba_sdk.models import (
    Citation,
    EmbeddedResourcePart,
    FilePart,
    FinishReason,
    ImagePart,
    MediaSource,
    Message,
    ModelWarning,
    ReasoningPart,
    Request,
    ResourceLinkPart,
    Response,
    Role,
    StreamEvent,
    StructuredContentPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Usage,
    user_text,
)
from touba_sdk.models.model import LanguageModel


class Clock:
    """Time that only passes when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await anyio.lowlevel.checkpoint()


def ask(text: str = "hi", **settings: Any) -> Request:
    return Request([user_text(text)], **settings)


async def events_of(model: LanguageModel, request: Request | None = None) -> list[StreamEvent]:
    async with model.stream(request or ask()) as stream:
        return [event async for event in stream]


TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
#: JSON texts, spelled in ways that readers like to change
JSON_TEXT = st.sampled_from(
    [
        "{}",
        '{"a":1}',
        '{"a": 12.50, "b": [1e3, -0.0, 18446744073709551616]}',
        '{"n":0.1000000000000000055511151231257827}',
        '{"deep":{"er":[[],{},null,true]}}',
        '{"é":"\\u00e9 \\ud83d\\ude00"}',
    ]
)
BROKEN_TEXT = st.sampled_from(["", '{"a": "xx', "not json", " ", '{"a":1,"a":2}', "[" * 190 + "]" * 190])
MIME = st.sampled_from(["image/png", "application/pdf"])
SOURCE = st.one_of(
    st.builds(MediaSource, id=TEXT),
    st.builds(MediaSource, url=TEXT, mime_type=st.none() | MIME),
    st.builds(MediaSource, data=st.binary(max_size=20), mime_type=MIME),
)
CONTENT = st.one_of(
    st.builds(TextPart, TEXT),
    st.builds(ImagePart, SOURCE),
    st.builds(FilePart, SOURCE, st.none() | TEXT),
    st.builds(StructuredContentPart, JSON_TEXT),
    st.builds(
        ResourceLinkPart, TEXT.filter(bool), st.none() | TEXT, st.none() | TEXT, st.none() | TEXT, st.none() | MIME
    ),
    st.builds(EmbeddedResourcePart, TEXT.filter(bool), st.none() | MIME, text=TEXT),
    st.builds(EmbeddedResourcePart, TEXT.filter(bool), MIME, blob=st.binary(max_size=20)),
)
CALL = st.builds(ToolCallPart, TEXT, TEXT, JSON_TEXT | BROKEN_TEXT)
RESULT = st.builds(ToolResultPart, TEXT, TEXT, st.lists(CONTENT, max_size=3).map(tuple), st.booleans())
REASONING = st.builds(ReasoningPart, TEXT, st.none() | TEXT, st.booleans())
ASSISTANT = st.builds(
    Message,
    st.just(Role.ASSISTANT),
    st.lists(st.one_of(st.builds(TextPart, TEXT), REASONING, CALL), max_size=4).map(tuple),
)
MESSAGE = st.one_of(
    ASSISTANT,
    st.builds(Message, st.just(Role.SYSTEM), st.lists(st.builds(TextPart, TEXT), max_size=2).map(tuple)),
    st.builds(
        Message,
        st.just(Role.USER),
        st.lists(
            st.one_of(st.builds(TextPart, TEXT), st.builds(ImagePart, SOURCE), st.builds(FilePart, SOURCE)), max_size=3
        ).map(tuple),
    ),
    st.builds(Message, st.just(Role.TOOL), st.lists(RESULT, min_size=1, max_size=3).map(tuple)),
)
COUNT = st.integers(0, 10**9)
USAGE = st.builds(Usage, COUNT, COUNT, COUNT, COUNT, COUNT, st.booleans())
CITATION = st.builds(
    Citation,
    st.none() | TEXT,
    st.none() | TEXT,
    st.none() | TEXT,
    st.none() | COUNT,
    st.none() | st.tuples(COUNT, COUNT),
)
WARNING = st.builds(ModelWarning, st.sampled_from(["unsupported", "compatibility", "deprecated"]), TEXT, TEXT)
RESPONSE = st.builds(
    Response,
    ASSISTANT,
    st.sampled_from(FinishReason),
    USAGE,
    TEXT,
    TEXT,
    TEXT,
    st.lists(CITATION, max_size=2).map(tuple),
    st.none() | st.dictionaries(TEXT, st.integers() | st.floats(allow_nan=False, allow_infinity=False), max_size=2),
    st.lists(WARNING, max_size=2).map(tuple),
    st.booleans(),
    st.none() | st.text(min_size=1),
)
