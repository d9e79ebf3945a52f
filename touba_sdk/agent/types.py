"""What a tool is to the loop: its protocol, the call it gets, what it may give back, and the context it runs in.

Tools are mostly made of functions, by `tool`; any object with these members is a tool too.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from touba_sdk.models import ContentPart, InvalidMessageError, TextPart, ToolCallPart, ToolDeclaration, Usage
from touba_sdk.models import _json as exact
from touba_sdk.models.messages import _CONTENT as CONTENT_PARTS

from .run import RunMetadata

if TYPE_CHECKING:
    from .session import Session

__all__ = [
    "UNDECODABLE_ARGUMENTS",
    "RunContext",
    "Terminate",
    "Tool",
    "ToolCall",
    "ToolOutput",
    "current_context",
    "report_progress",
    "tool_content",
    "undecodable_arguments",
]

#: what a tool may give back: a text, a part, several of them, or nothing
ToolOutput: TypeAlias = str | ContentPart | Sequence[str | ContentPart] | None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool. ``args`` is the JSON text of the arguments, which may be empty."""

    id: str
    name: str
    args: str = ""

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments, decoded; no text at all stands for no arguments.

        Raises:
            InvalidMessageError: when the text is not a JSON object.
        """
        return self.part.arguments

    @property
    def part(self) -> ToolCallPart:
        """The call as a part of a message."""
        return ToolCallPart(self.id, self.name, self.args)

    @classmethod
    def of(cls, part: ToolCallPart) -> ToolCall:
        """The call that a part of a message asks for."""
        return cls(part.id, part.name, part.args)


@runtime_checkable
class Tool(Protocol):
    """A tool that an agent offers to its model.

    ``execute`` is called with one `ToolCall`. An ``async def`` is awaited and, at a time-out or a cancellation of the
    run, cancelled. A plain function runs in a thread of its own, which cannot be stopped: it should look at
    `RunContext.cancelled`. `current_context` gives the context of the call, to both.

    What it raises becomes the result that the model reads; it never ends the run. `InvalidArgumentsError` says that
    nothing was done. `Terminate` is a success that asks the run to stop.

    A tool may also have ``concurrent`` (a bool: it may run beside other tools of the same turn, and must then be safe
    for that) and ``timeout`` (in seconds: it takes the place of the agent's ``tool_timeout``).
    """

    @property
    def declaration(self) -> ToolDeclaration:
        """The tool as the model sees it."""
        ...

    def execute(self, call: ToolCall) -> ToolOutput | Awaitable[ToolOutput]:
        """Run one call and give what the model reads."""
        ...


class Terminate(Exception):  # no error: the tool succeeded
    """Raised by a tool that succeeded and asks the run to stop after this turn; ``content`` is its result.

    The run stops only when every tool of the turn asks for it. Recognised through ``__cause__`` too.

    >>> raise Terminate("the final report is stored")  # doctest: +SKIP
    """

    def __init__(self, content: ToolOutput = None):
        super().__init__("a tool asked the run to stop")
        self.content = content


class RunContext:
    """Where a tool runs. A parameter of this type gets it; `current_context` gives it too.

    Attributes:
        metadata: the run.
        call: the call.
        deadline: when the call times out, in seconds of `time.monotonic`; None for never.
    """

    __slots__ = ("_cancelled", "_report", "_resumed", "_spent", "call", "deadline", "metadata")

    def __init__(
        self,
        metadata: RunMetadata,
        call: ToolCall,
        deadline: float | None = None,
        *,
        report: Callable[[tuple[ContentPart, ...]], None] | None = None,
        spent: Callable[[Usage], None] | None = None,
        resumed: Session | None = None,
    ):
        self.metadata = metadata
        self.call = call
        self.deadline = deadline
        self._report = report
        self._spent = spent
        self._resumed = resumed
        self._cancelled = False

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for the result any more: the run was cancelled, or the call timed out."""
        return self._cancelled

    def report_progress(self, *parts: str | ContentPart) -> None:
        """Show parts of the result that are already there, as `ToolUpdated` events. From any thread; never waits.

        The model does not see them. Updates that come faster than they are taken up are left out.
        """
        content = tool_content(parts)
        if content and self._report is not None:
            self._report(content)

    def _add_usage(self, usage: Usage) -> None:
        """Count the tokens of an agent that ran inside of this call."""
        if self._spent is not None:
            self._spent(usage)

    def __repr__(self) -> str:
        return f"<RunContext of run {self.metadata.run_id}>"


CONTEXT: ContextVar[RunContext | None] = ContextVar("touba_agent_tool", default=None)


def current_context() -> RunContext | None:
    """The context of the tool that is running here; None outside of a tool."""
    return CONTEXT.get()


def report_progress(*parts: str | ContentPart) -> None:
    """`RunContext.report_progress` of the tool that is running here; does nothing outside of a tool."""
    context = CONTEXT.get()
    if context is not None:
        context.report_progress(*parts)


def tool_content(output: ToolOutput) -> tuple[ContentPart, ...]:
    """The parts of a result that a tool's output stands for.

    Raises:
        TypeError: for anything that is no content; the text names its type.

    >>> tool_content("5")
    (TextPart(text='5'),)
    """
    if output is None:
        return ()
    given = (output,) if isinstance(output, (str, *CONTENT_PARTS)) else output
    if not isinstance(given, Sequence):
        raise TypeError(f"a tool gave {type(output).__name__}, which is no content of a result")
    content: list[ContentPart] = []
    for part in given:
        if isinstance(part, (str, TextPart)):
            content.append(TextPart(_unicode(part if isinstance(part, str) else part.text)))
        elif isinstance(part, CONTENT_PARTS):
            content.append(part)
        else:
            raise TypeError(f"a tool gave {type(part).__name__}, which is no content of a result")
    return tuple(content)


def _unicode(text: str) -> str:
    """The text with lone surrogates replaced, which neither JSON nor any provider could carry."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


#: the member that stands in for arguments which are no JSON object, and the name that the Go form has for it
UNDECODABLE_ARGUMENTS = "undecodable_arguments"
_GO_NAME = "pips_undecodable_arguments"
#: how much of the original is kept, in bytes
_KEPT = 2_000


def undecodable_arguments(call: ToolCall | ToolCallPart) -> str | None:
    """What the model wrote in the place of arguments, where that was no JSON object; else None.

    The loop puts such a text into an object with one member, so that the conversation can be stored and sent. No tool
    should run with that object.
    """
    if UNDECODABLE_ARGUMENTS not in call.args:  # which is part of the other name
        return None
    try:
        arguments = call.arguments
    except InvalidMessageError:
        return None
    found = arguments.get(UNDECODABLE_ARGUMENTS, arguments.get(_GO_NAME))
    return None if found is None else str(found)


def decodable(call: ToolCallPart) -> ToolCallPart:
    """The call itself, or one whose arguments are an object that holds the beginning of what cannot be decoded."""
    try:
        _ = call.arguments
    except InvalidMessageError:
        kept = call.args.encode("utf-8", "replace")[:_KEPT].decode("utf-8", "ignore")
        return ToolCallPart(call.id, call.name, exact.dump({UNDECODABLE_ARGUMENTS: kept}))
    return call
