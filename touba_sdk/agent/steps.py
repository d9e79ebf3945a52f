"""What the loop asks of the outside world: one class for each step, and what the world answers.

The loop (`loop.py`, `batch.py`) is a generator of steps and does nothing itself. Whoever drives it performs a step and
sends the answer back, or throws what the step raised. That makes every decision testable without an event loop.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from touba_sdk.models import ContentPart, LanguageModel, Request, TextPart, ToolCallPart, Usage

from .errors import InvalidArgumentsError
from .events import EventPayload
from .types import Terminate, Tool, tool_content

if TYPE_CHECKING:
    from .session import Session

__all__ = [
    "AskHook",
    "AwaitNews",
    "Checkpoint",
    "ChildPaused",
    "CloseStream",
    "Emit",
    "Finished",
    "Generate",
    "Interrupted",
    "NextPiece",
    "OpenStream",
    "Outcome",
    "Progressed",
    "StartTool",
    "Step",
    "Steps",
    "StopTools",
]

#: what the model reads of a call that was not run because the run ended first
CANCELLED = "tool execution cancelled"


@dataclass(slots=True)
class Emit:
    """Tell the observers, then hand the event to the consumer. Answer: nothing."""

    payload: EventPayload


@dataclass(slots=True)
class AskHook:
    """Call a hook with its one argument. Answer: what it gives."""

    hook: str
    function: Callable[[Any], Any]
    argument: Any


@dataclass(slots=True)
class Generate:
    """Call the model for a whole answer. Answer: the response."""

    model: LanguageModel
    request: Request


@dataclass(slots=True)
class OpenStream:
    """Begin to stream an answer of the model. Answer: nothing."""

    model: LanguageModel
    request: Request


@dataclass(slots=True)
class NextPiece:
    """Answer: the next event of the open stream; None at its end."""


@dataclass(slots=True)
class CloseStream:
    """Leave the open stream. Answer: nothing."""


@dataclass(slots=True)
class Checkpoint:
    """Notice a cancellation and, where it ``yields``, let other tasks run. Answer: nothing."""

    yields: bool = True


@dataclass(slots=True)
class StartTool:
    """Start a tool; its end and its progress come as news. Answer: nothing."""

    index: int
    tool: Tool
    call: ToolCallPart
    resumed: Session | None = None


@dataclass(slots=True)
class AwaitNews:
    """Wait for a running tool. Answer: `Finished`, `Progressed`, or None where the time for settling is over."""


@dataclass(slots=True)
class StopTools:
    """Cancel the tools that run. From here on nothing outside interrupts, and settling has an end. Answer: nothing."""


Step: TypeAlias = (
    Emit | AskHook | Generate | OpenStream | NextPiece | CloseStream | Checkpoint | StartTool | AwaitNews | StopTools
)
_T = TypeVar("_T")
#: a piece of the loop: a generator of steps with a result
Steps: TypeAlias = Generator[Step, Any, _T]


class Interrupted(BaseException):
    """Thrown into the loop when the run is cancelled or abandoned; the loop settles and lets it out again.

    Attributes:
        error: what interrupted the run; None where the consumer of a stream left.
        is_cancellation: whether a result that is already certain may take its place.
    """

    def __init__(self, error: BaseException | None, *, is_cancellation: bool = True):
        super().__init__()
        self.error = error
        self.is_cancellation = is_cancellation

    @property
    def is_abandonment(self) -> bool:
        """Whether nobody wants the events any more."""
        return self.error is None


class ChildPaused(Exception):
    """Raised by an agent that runs as a tool: it paused, and its session is to be kept for later."""

    def __init__(self, session: Session):
        super().__init__("the sub-agent paused")
        self.session = session


@dataclass(slots=True)
class Outcome:
    """What became of a call that was started.

    Attributes:
        content: what the model reads.
        is_error: whether the tool failed.
        terminate: whether it asked the run to stop.
        ran: whether the tool itself came to an end, so that after-tool hooks are asked.
        usage: the tokens of agents that ran inside.
        child: the session of an agent that paused inside; then there is no result yet.
    """

    content: tuple[ContentPart, ...] = ()
    is_error: bool = False
    terminate: bool = False
    ran: bool = True
    usage: Usage | None = None
    child: Session | None = field(default=None)

    @classmethod
    def failure(cls, text: str, *, ran: bool = True) -> Outcome:
        """An error with a text."""
        return cls((TextPart(text),), is_error=True, ran=ran)

    @classmethod
    def raised(cls, error: BaseException) -> Outcome:
        """What a tool that raised comes to."""
        if isinstance(error, ChildPaused):
            return cls(child=error.session)
        link: BaseException | None = error
        seen: set[int] = set()
        while link is not None and id(link) not in seen:
            if isinstance(link, Terminate):
                return cls.returned(link.content, terminate=True)
            seen.add(id(link))
            link = link.__cause__
        content = tool_content(str(error) or type(error).__name__)
        return cls(content, is_error=True, ran=not isinstance(error, InvalidArgumentsError))

    @classmethod
    def returned(cls, output: Any, *, terminate: bool = False) -> Outcome:
        """What a tool that gave something comes to."""
        try:
            return cls(tool_content(output), terminate=terminate)
        except TypeError as error:
            return cls.failure(str(error))


@dataclass(slots=True)
class Finished:
    """A tool has come to its end."""

    index: int
    outcome: Outcome


@dataclass(slots=True)
class Progressed:
    """A running tool reports what it has."""

    index: int
    content: tuple[ContentPart, ...]
