"""The loop: one run of an agent, from its first event to its last, as a generator of steps.

Nothing here does I/O or knows an event loop; see `steps.py`. Read it from `Loop.steps` down: a run is a start and
turns; a turn is one call of the model and one batch of tools; after a turn `_decide` says whether there is another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from touba_sdk.models import (
    Collector,
    FinishReason,
    Message,
    ModelError,
    ModelResponseError,
    ReasoningPart,
    Request,
    Response,
    Role,
    TextPart,
    ToolCallPart,
    ToolChoice,
    Usage,
    response_events,
    system_text,
)
from touba_sdk.models.streams import STREAM_EVENTS

from .batch import CUT_CALL, Batch
from .errors import AgentError, GuardrailError, GuardrailPhase, InvalidEventError
from .events import (
    CandidateDiscarded,
    EventPayload,
    MessageCommitted,
    ModelStreamEvent,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunStarted,
    TurnCompleted,
    TurnStarted,
)
from .guardrails import Guardrail, InputGuardrailInfo, OutputGuardrailInfo
from .hooks import (
    CandidateAnswerDecision,
    CandidateAnswerInfo,
    ModelRequestUpdate,
    TurnUpdate,
    checked_choice,
    toolset,
)
from .queues import as_messages
from .run import AgentResult, RunInfo, RunMetadata, StopReason
from .session import Session
from .settings import Settings
from .steps import (
    AskHook,
    Checkpoint,
    CloseStream,
    Emit,
    Generate,
    Interrupted,
    NextPiece,
    OpenStream,
    Steps,
)
from .types import Tool

__all__ = ["CONTINUE", "Loop"]

#: what the system prompt says in the request after an answer that was cut
CONTINUE = (
    "Your previous answer was cut off by the output token limit. Continue exactly where it stopped. "
    "Do not repeat what you have already written, and do not comment on the interruption."
)


@dataclass(frozen=True, slots=True)
class _NextRequest:
    """A checked `ModelRequestUpdate`."""

    tools: dict[str, Tool] | None = None
    tool_choice: ToolChoice | None = None
    suffix: str = ""


class Loop:
    """One run. Whoever drives it has claimed the session; the loop releases it, right before its last event.

    Attributes:
        turn: the turn that is going on, from 1; 0 before the first.
        result: what the run came to, once it has ended.
        unreported: what was raised after the consumer of a stream had left.
    """

    def __init__(
        self,
        settings: Settings,
        session: Session,
        metadata: RunMetadata,
        input: Sequence[Message],
        *,
        streaming: bool,
    ):
        self._settings = settings
        self._session = session
        self._metadata = metadata
        self._input = tuple(input)
        self._streaming = streaming
        self._model = settings.model
        self._tools = settings.tools
        self._next_request: _NextRequest | None = None
        self._queued: list[Message] = []
        self._queued_are_follow_ups = False
        self._response: Response | None = None
        self._turns = 0
        self._usage = Usage()
        self._nested: dict[str, Usage] = {}
        self._salvages = 0
        #: why the run ends if nothing else happens, once that is in the session
        self._certain: StopReason | None = None
        self._turn_is_open = False
        #: the exception that the run ends with; what goes wrong while settling is noted on it
        self._failure: BaseException | None = None
        self.turn = 0
        self.result: AgentResult | None = None
        self.unreported: Exception | None = None

    # -- the run -----------------------------------------------------------------------------------------------------

    def steps(self) -> Steps[None]:
        """The whole run. What ends it without a stop reason leaves this generator as it is."""
        try:
            yield from self._run()
        except GeneratorExit:
            self._end(None)
            raise
        except Exception as error:
            if self.result is None:
                self._failure = error
                self._end(None)
                if isinstance(error, AgentError):
                    error.result = self.result
                yield from self._tell(RunFailed(type(error).__name__, self._turns, self._usage))
            raise
        except Interrupted as interrupted:
            if self.result is None:
                self._failure = interrupted.error
                stop = self._certain_stop()
                if stop is not None:
                    yield from self._finish_settled(stop)
                    if interrupted.is_cancellation:
                        return
                else:
                    self._end(None)
                    yield from self._tell(RunCancelled(self._turns, self._usage))
            elif interrupted.is_cancellation and self.result.stop is not None:
                return  # the run had ended; only its last event was being told
            raise

    def _run(self) -> Steps[None]:
        yield Emit(RunStarted())
        for guardrail in self._settings.input_guardrails:
            info = InputGuardrailInfo(self._metadata, self._session.messages, self._input)
            yield from self._guard(GuardrailPhase.INPUT, guardrail, info)
        self._session.append(*self._input)
        self._take_steering()
        stop: StopReason | None = None
        while stop is None:
            self.turn += 1
            stop = yield from self._turn()
        self._end(stop)
        yield Emit(RunCompleted(self._turns, stop, self._usage))

    def _end(self, stop: StopReason | None) -> None:
        """Make the result, give back what was taken but not used, and release the session. Only once."""
        if self.result is not None:
            return
        self._session._give_back(self._queued, follow_ups=self._queued_are_follow_ups)
        pending = tuple(call.effective for call in self._session.pending) if stop is StopReason.PAUSED else ()
        self.result = AgentResult(
            self._metadata, stop, self._turns, self._usage, self._response, pending, dict(self._nested)
        )
        self._session._release(self.result)

    def _finish_settled(self, stop: StopReason) -> Steps[None]:
        """End an interrupted run whose end was certain already."""
        if self._turn_is_open:
            yield from self._tell(TurnCompleted(self.turn, self._usage))
        self._end(stop)
        yield from self._tell(RunCompleted(self._turns, stop, self._usage))

    def _tell(self, payload: EventPayload) -> Steps[None]:
        """Emit an event while the run is ending: what an observer raises then stops nothing.

        It is noted on the exception that ends the run; where there is none, the consumer left, and gets it instead.
        """
        try:
            yield Emit(payload)
        except Interrupted:
            return  # the run is ending already
        except Exception as error:
            if self._failure is not None:
                self._failure.add_note(f"while the run was ending, {type(error).__name__} was raised too")
            elif self.unreported is None:
                self.unreported = error

    def _info(self) -> RunInfo:
        return RunInfo(self._metadata, self._turns, self._usage, self._response)

    # -- one turn ----------------------------------------------------------------------------------------------------

    def _turn(self) -> Steps[StopReason | None]:
        turn = self.turn
        self._certain = None
        self._turn_is_open = True
        yield Emit(TurnStarted(turn))
        children = self._session.children
        if children:
            batch = Batch(
                self._settings,
                turn,
                self._tools,
                [call.effective for call in self._session.pending],
                self._spend_nested,
                dict(children),
            )
            yield from self._execute(batch, gated=False)
            if batch.paused:
                return (yield from self._pause())
        while self._queued:
            message = self._queued.pop(0)
            self._session._commit(message)
            yield Emit(MessageCommitted(turn, message))
        yield Checkpoint()
        next_request, self._next_request = self._next_request, None
        tools = self._tools if next_request is None or next_request.tools is None else next_request.tools
        request = yield from self._request(tools, next_request)
        response = yield from self._call_model(request)
        previous, self._response = self._response, response
        self._turns += 1
        self._spend(response.usage)
        if response.tool_calls:
            return (yield from self._act(response, tools))
        return (yield from self._answer(response, previous))

    def _answer(self, response: Response, previous: Response | None) -> Steps[StopReason | None]:
        """A turn without tool calls: an answer that may be rejected, and may be the last one."""
        retry = yield from self._candidate(response)
        if retry is not None:
            try:
                yield Emit(CandidateDiscarded(self.turn))
                yield from self._complete_turn()
                yield from self._prepare_turn()
            finally:
                self._response = previous
            self._next_request = self._checked(retry)
            return (yield from self._decide(None))
        self._session._commit(response.message)
        cut = response.finish_reason is FinishReason.LENGTH
        salvage = cut and bool(response.text.strip()) and self._salvages < self._settings.length_salvage
        natural = StopReason.TRUNCATED if cut else StopReason.END_TURN
        self._certain = None if salvage else natural
        yield Emit(MessageCommitted(self.turn, response.message))
        yield from self._complete_turn()
        yield from self._prepare_turn()
        if salvage:
            self._salvages += 1
            self._ask_to_continue()
        return (yield from self._decide(None if salvage else natural))

    def _act(self, response: Response, tools: dict[str, Tool]) -> Steps[StopReason | None]:
        """A turn with tool calls."""
        calls = response.tool_calls
        if not all(call.id for call in calls) or len({call.id for call in calls}) < len(calls):
            raise ModelResponseError(
                "the calls of an answer do not have an id each",
                code="duplicate_call",
                provider=response.provider or None,
                response=response,
            )
        batch = Batch(self._settings, self.turn, tools, calls, self._spend_nested)
        sound = dict(zip((id(call) for call in calls), batch.calls, strict=True))
        message = response.message.replace(parts=tuple(sound.get(id(part), part) for part in response.message.parts))
        self._session._commit(message)
        try:
            yield Emit(MessageCommitted(self.turn, message))
        except Interrupted as interrupted:
            if not interrupted.is_abandonment:
                yield from self._settle(batch, interrupted)
            raise  # a consumer that leaves on this event has seen the calls, and finds them pending
        except Exception as error:
            yield from self._settle(batch, error)
            raise
        yield from self._execute(batch, cut=response.finish_reason is FinishReason.LENGTH)
        if batch.paused:
            return (yield from self._pause())
        natural = StopReason.TERMINATED if batch.terminated else None
        yield from self._complete_turn()
        yield from self._prepare_turn()
        return (yield from self._decide(natural))

    def _pause(self) -> Steps[StopReason]:
        yield from self._complete_turn()
        return StopReason.PAUSED

    def _complete_turn(self) -> Steps[None]:
        self._turn_is_open = False
        yield Emit(TurnCompleted(self.turn, self._usage))

    def _execute(self, batch: Batch, *, gated: bool = True, cut: bool = False) -> Steps[None]:
        """Run the tools of a batch and commit their results, whatever happens."""
        try:
            if cut:
                yield from batch.refuse(CUT_CALL)
            else:
                if gated:
                    yield from batch.gates()
                yield from batch.walk()
        except GeneratorExit:
            batch.give_up()
            self._commit(batch)
            raise
        except (Exception, Interrupted) as error:
            yield from self._settle(batch, error)
            raise
        message = self._commit(batch)
        if batch.paused:
            self._certain = StopReason.PAUSED
        elif gated and batch.terminated:
            self._certain = StopReason.TERMINATED
        if message is not None:
            yield Emit(MessageCommitted(self.turn, message))

    def _settle(self, batch: Batch, error: BaseException) -> Steps[None]:
        self._failure = error.error if isinstance(error, Interrupted) else error
        yield from batch.settle(self._tell)
        message = self._commit(batch)
        if message is not None:
            yield from self._tell(MessageCommitted(self.turn, message))
        self._turn_is_open = False
        yield from self._tell(TurnCompleted(self.turn, self._usage))

    def _commit(self, batch: Batch) -> Message | None:
        self._session._pause(batch.rewritten(), batch.children())
        message = batch.message()
        if message is not None:
            self._session._commit(message)
        return message

    # -- the request and the model -----------------------------------------------------------------------------------

    def _request(self, tools: dict[str, Tool], update: _NextRequest | None) -> Steps[Request]:
        messages: Sequence[Message] = self._session.messages
        for transform in self._settings.transform_context:
            messages = as_messages((yield AskHook("transform_context", transform, messages)))
        system = [system_text(self._settings.system)] if self._settings.system.strip() else []
        request = Request([*system, *sendable(messages)], [tool.declaration for tool in tools.values()])
        for hook in self._settings.request:
            changed = yield AskHook("request", hook, request)
            if changed is not None:
                request = changed
        if update is not None:
            if update.tools is not None:
                request.tools = [tool.declaration for tool in update.tools.values()]
            if update.tool_choice is not None:
                request.tool_choice = update.tool_choice
            if update.suffix:
                _add_suffix(request, update.suffix)
        return request

    def _call_model(self, request: Request) -> Steps[Response]:
        if not self._streaming:
            return as_streamed((yield Generate(self._model, request)))
        collector = Collector()
        yield OpenStream(self._model, request)
        try:
            while (found := (yield NextPiece())) is not None:
                if not isinstance(found, STREAM_EVENTS):
                    raise InvalidEventError(f"the model's stream gave {type(found).__name__}, which is no event")
                piece: Any = found
                collector.add(piece)
                yield Emit(ModelStreamEvent(self.turn, piece))
        except (Exception, Interrupted) as error:
            if isinstance(error, ModelError):
                error.response = collector.partial()
            try:
                yield CloseStream()
            except Exception as another:
                error.add_note(f"leaving the model's stream raised {type(another).__name__} too")
            raise
        yield CloseStream()
        return collector.response()

    def _spend(self, usage: Usage) -> None:
        self._usage = self._usage + usage
        self._session._spend(usage)

    def _spend_nested(self, tool: str, usage: Usage) -> None:
        self._nested[tool] = self._nested.get(tool, Usage()) + usage
        self._spend(usage)

    # -- hooks -------------------------------------------------------------------------------------------------------

    def _guard(
        self, phase: GuardrailPhase, guardrail: Guardrail, info: InputGuardrailInfo | OutputGuardrailInfo
    ) -> Steps[None]:
        try:
            yield AskHook("", guardrail.check, info)
        except Exception as error:
            raise GuardrailError(phase, guardrail.name, error) from error

    def _candidate(self, response: Response) -> Steps[ModelRequestUpdate | None]:
        """Show an answer to the output guardrails and the candidate hooks; gives the update of a retry."""
        message = response.message
        for guardrail in self._settings.output_guardrails:
            yield from self._guard(GuardrailPhase.OUTPUT, guardrail, OutputGuardrailInfo(self._info(), message))
        for hook in self._settings.candidate_answer:
            info = CandidateAnswerInfo(self._info(), self._session.messages, message)
            decision = yield AskHook("candidate_answer", hook, info)
            if decision is None:
                continue
            if not isinstance(decision, CandidateAnswerDecision):
                raise TypeError(f"a candidate_answer hook gave {type(decision).__name__}, which is no decision")
            if decision.retry is not None:
                return decision.retry
        return None

    def _prepare_turn(self) -> Steps[None]:
        """Ask for changes; the last hook that says something about a member has the last word on it."""
        merged: dict[str, Any] = {}
        for hook in self._settings.prepare_turn:
            update = yield AskHook("prepare_turn", hook, self._info())
            if update is None:
                continue
            if not isinstance(update, TurnUpdate):
                raise TypeError(f"a prepare_turn hook gave {type(update).__name__}, which is no update")
            for name in TurnUpdate.__slots__:
                if getattr(update, name) is not None:
                    merged[name] = getattr(update, name)
        if merged:
            self._apply(TurnUpdate(**merged))

    def _apply(self, update: TurnUpdate) -> None:
        tools = self._tools if update.tools is None else toolset(update.tools)
        next_request = None if update.next_request is None else self._checked(update.next_request, tools)
        if update.model is not None:
            self._model = update.model
        if update.replace_messages is not None:
            self._session.replace(*update.replace_messages)
        self._tools = tools
        if next_request is not None:
            self._next_request = next_request

    def _checked(self, update: ModelRequestUpdate, tools: dict[str, Tool] | None = None) -> _NextRequest:
        own = None if update.tools is None else toolset(update.tools)
        known = own if own is not None else tools if tools is not None else self._tools
        return _NextRequest(own, checked_choice(update.tool_choice, known), update.system_suffix)

    # -- what comes next ---------------------------------------------------------------------------------------------

    def _decide(self, natural: StopReason | None) -> Steps[StopReason | None]:
        """Why the run stops after this turn; None for another turn. ``natural``: why it would stop of itself."""
        if natural is not None and not self._session.has_queued:
            return natural
        yield Checkpoint(yields=False)
        settings = self._settings
        if settings.max_turns is not None and self.turn >= settings.max_turns:
            return StopReason.MAX_TURNS
        if settings.max_tokens is not None and self._usage.total_tokens >= settings.max_tokens:
            return StopReason.BUDGET
        for condition in settings.stop_when:
            if (yield AskHook("stop_when", condition, self._info())):
                return StopReason.STOP_WHEN
        self._take_steering()
        if natural is not None and not self._queued:
            self._queued = list(self._session._take_follow_ups(settings.follow_up_mode))
            self._queued_are_follow_ups = True
            if not self._queued:
                return natural
        return None

    def _take_steering(self) -> None:
        self._queued = list(self._session._take_steering(self._settings.steering_mode))
        self._queued_are_follow_ups = False

    def _certain_stop(self) -> StopReason | None:
        """Why the run ends although it was interrupted: its end was in the session before."""
        if self._certain is not StopReason.PAUSED and self._session.has_queued:
            return None
        return None if self._queued else self._certain

    def _ask_to_continue(self) -> None:
        update = self._next_request or _NextRequest()
        suffix = f"{update.suffix}\n\n{CONTINUE}" if update.suffix else CONTINUE
        self._next_request = _NextRequest(update.tools, update.tool_choice, suffix)


def _add_suffix(request: Request, suffix: str) -> None:
    """Put a system message behind the leading ones, so that joined by lines it follows an empty one."""
    place = 0
    while place < len(request.messages) and request.messages[place].role is Role.SYSTEM:
        place += 1
    request.messages.insert(place, system_text(f"\n{suffix}" if place else suffix))


def as_streamed(response: Response) -> Response:
    """The response as a stream of it would give it: neighbouring texts are one, and empty ones are none.

    So a run leaves the same session whether it is streamed or not.
    """
    parts = response.message.parts
    joined = any(type(a) is type(b) and not isinstance(a, ToolCallPart) for a, b in pairwise(parts))
    if not joined and not any(isinstance(part, TextPart) and not part.text for part in parts):
        return response
    collector = Collector()
    for event in response_events(response):
        collector.add(event)
    return response.replace(message=collector.partial().message)


def sendable(messages: Sequence[Message]) -> list[Message]:
    """The messages without what no provider takes back: blank texts and trailing reasoning of answers.

    A model may give an empty answer, or be cut while it still reasons. The session keeps that as it was.
    """
    kept: list[Message] = []
    for message in messages:
        if message.role is not Role.ASSISTANT:
            kept.append(message)
            continue
        parts = [part for part in message.parts if not isinstance(part, TextPart) or part.text.strip()]
        while parts and isinstance(parts[-1], ReasoningPart):
            parts.pop()
        if parts:
            kept.append(message if len(parts) == len(message.parts) else message.replace(parts=tuple(parts)))
    return kept
