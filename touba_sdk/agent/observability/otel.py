"""Runs as OpenTelemetry spans and metrics, after the semantic conventions for generative AI.

The spans of a run nest as its work does::

    invoke_agent NAME
      turn 1
        chat MODEL              one call of the model, where its model was wrapped by `OpenTelemetry.model`
        execute_tool add
          invoke_agent OTHER    an agent that runs as a tool

The span that is current in hooks, model calls and tools is that of the run's innermost open work, so spans of the
application and of its libraries are children of it. Every span ends, whatever ends the run. Metrics never carry ids.
Nothing is sent, sampled or started here: the providers that the application sets up do that.
"""

from __future__ import annotations

import datetime
import threading
from collections import OrderedDict
from typing import Any

from opentelemetry import context as current
from opentelemetry import metrics, trace
from opentelemetry.context import Context
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, TracerProvider

from touba_sdk.agent.events import (
    Event,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunStarted,
    ToolCompleted,
    ToolStarted,
    TurnCompleted,
    TurnStarted,
)
from touba_sdk.agent.run import current_run
from touba_sdk.models import LanguageModel, Message, ModelError, Response, StreamEvent, Usage, to_json
from touba_sdk.models.middleware.observe import ModelCall, observe

from ._spent import spent_since

__all__ = ["OpenTelemetry"]

_SCOPE = "touba_sdk.agent"
#: names of tools that metrics carry at most; the model makes names up, and every one would be a series of its own
_MOST_NAMES = 200
_OTHER_NAME = "_other"
#: how much of a message, of arguments or of a result one attribute takes, in characters
_MOST_CONTENT = 16_384
#: buckets of durations, in seconds, as the conventions name them
_SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_TOKENS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)


class _Run:
    """The open spans of one run."""

    __slots__ = ("before", "counted", "id", "inside", "span", "started", "tools", "turn", "turn_inside")

    def __init__(
        self,
        id: str,
        span: Span,
        before: Context,
        inside: Context,
        started: datetime.datetime,
        counted: Usage | None,
    ):
        self.span = span
        self.id = id
        #: the contexts in which the run was started, and in which its work is done
        self.before = before
        self.inside = inside
        self.started = started
        #: the usage that the metrics have; None where the beginning was not seen
        self.counted = counted
        self.turn: Span | None = None
        self.turn_inside: Context | None = None
        #: calls that run: id, span, start; an id that is used twice stands here twice
        self.tools: list[tuple[str, Span, datetime.datetime]] = []

    @property
    def innermost(self) -> Context:
        return self.inside if self.turn_inside is None else self.turn_inside

    def enter(self, context: Context) -> None:
        """Make a context current for what follows in this run.

        A run has context variables of its own, which end with it. Where an event is told outside of them, as by
        somebody who passes events on, there is nothing to be changed.
        """
        here = current_run()
        if here is not None and here.run_id == self.id:
            _go_into(context)


class _Chat:
    """One call of a model."""

    __slots__ = ("attached", "before", "first", "span")

    def __init__(self, span: Span, before: Context, attached: bool):
        self.span = span
        self.before = before
        self.attached = attached
        self.first = False


class OpenTelemetry:
    """Spans and metrics of agents: give it as ``on_event``, and wrap the model for a span of each of its calls.

    One projection serves many agents, tasks and threads.

    Parameters:
        tracer_provider, meter_provider: the application's; the global ones where they are left out.
        capture_content: whether spans carry messages, arguments and results. They may hold secrets and data of
            persons, so this is off.
        most_runs: how many runs may be open at once; the oldest one's spans are ended as failed where there are more.

    >>> otel = OpenTelemetry()
    >>> agent = Agent(otel.model(model), on_event=otel)  # doctest: +SKIP

    An agent that runs as a tool with ``usage="roll_up"`` reports its tokens with its own run and with the outer one;
    ``touba.agent.tokens`` then has them under the names of both agents.
    """

    def __init__(
        self,
        *,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        capture_content: bool = False,
        most_runs: int = 10_000,
    ):
        self._tracer = trace.get_tracer(_SCOPE, tracer_provider=tracer_provider)
        self._capture = capture_content
        self._most_runs = max(1, most_runs)
        self._lock = threading.Lock()
        self._runs: OrderedDict[str, _Run] = OrderedDict()
        self._names: set[str] = set()
        meter = metrics.get_meter(_SCOPE, meter_provider=meter_provider)
        self._active_runs = meter.create_up_down_counter("touba.agent.runs.active", "{run}", "Runs that go on.")
        self._run_time = meter.create_histogram(
            "touba.agent.run.duration", "s", "How long runs took.", explicit_bucket_boundaries_advisory=_SECONDS
        )
        self._turns = meter.create_counter("touba.agent.turns", "{turn}", "Turns that ended.")
        self._tokens = meter.create_counter("touba.agent.tokens", "{token}", "Tokens that runs spent.")
        self._calls = meter.create_counter("touba.agent.tool_calls", "{call}", "Calls of tools that were answered.")
        self._tool_time = meter.create_histogram(
            "touba.agent.tool.duration", "s", "How long tools ran.", explicit_bucket_boundaries_advisory=_SECONDS
        )
        self._chat_time = meter.create_histogram(
            "gen_ai.client.operation.duration",
            "s",
            "How long calls of models took.",
            explicit_bucket_boundaries_advisory=_SECONDS,
        )
        self._chat_tokens = meter.create_histogram(
            "gen_ai.client.token.usage",
            "{token}",
            "Tokens of calls of models.",
            explicit_bucket_boundaries_advisory=_TOKENS,
        )
        self._observe = observe(
            on_start=self._chat_started,
            on_stream_event=self._chat_event,
            on_finish=self._chat_finished,
            on_error=self._chat_failed,
            on_abandon=self._chat_abandoned,
        )

    def model(self, model: LanguageModel) -> LanguageModel:
        """The model, with a span and metrics for each of its calls; a `Middleware`.

        Put it inside of `retry` to see every attempt, and outside to see one call for all of them.
        """
        return self._observe(model)

    # -- events of agents --------------------------------------------------------------------------------------------

    def __call__(self, event: Event) -> None:
        """Take up one event."""
        payload = event.payload
        if not event.run_id:
            return
        if isinstance(payload, RunStarted):
            self._run_started(event, Usage())
        elif isinstance(payload, TurnStarted):
            self._turn_started(event, payload)
        elif isinstance(payload, ToolStarted):
            self._tool_started(event, payload)
        elif isinstance(payload, ToolCompleted):
            self._tool_completed(event, payload)
        elif isinstance(payload, TurnCompleted):
            run = self._run(event)
            self._spend(run, event, payload.usage)
            self._turns.add(1, _agent(event))
            self._close_turn(run, event.time)
        elif isinstance(payload, (RunCompleted, RunFailed, RunCancelled)):
            self._run_ended(event, payload)

    def _run(self, event: Event) -> _Run:
        with self._lock:
            run = self._runs.get(event.run_id)
        return self._run_started(event, None) if run is None else run

    def _run_started(self, event: Event, counted: Usage | None) -> _Run:
        before = current.get_current()
        attributes: dict[str, Any] = {"gen_ai.operation.name": "invoke_agent", "touba.run.id": event.run_id}
        if event.agent:
            attributes["gen_ai.agent.name"] = event.agent
        if event.parent_run_id is not None:
            attributes["touba.run.parent_id"] = event.parent_run_id
        span = self._tracer.start_span(
            f"invoke_agent {event.agent}".rstrip(), before, SpanKind.INTERNAL, attributes, start_time=_time(event.time)
        )
        run = _Run(event.run_id, span, before, trace.set_span_in_context(span, before), event.time, counted)
        left_behind: _Run | None = None
        with self._lock:
            self._runs[event.run_id] = run
            if len(self._runs) > self._most_runs:
                left_behind = self._runs.popitem(last=False)[1]
        self._active_runs.add(1, _agent(event))
        if left_behind is not None:
            self._close_turn(left_behind, event.time)
            _fail(left_behind.span, "abandoned", "too many runs are open")
            left_behind.span.end(_time(event.time))
            self._active_runs.add(-1, _agent(event))
        run.enter(run.inside)
        return run

    def _turn_started(self, event: Event, payload: TurnStarted) -> None:
        run = self._run(event)
        self._close_turn(run, event.time)
        run.turn = self._tracer.start_span(
            f"turn {payload.turn}", run.inside, attributes=_inner(event, payload.turn), start_time=_time(event.time)
        )
        run.turn_inside = trace.set_span_in_context(run.turn, run.inside)
        run.enter(run.turn_inside)

    def _tool_started(self, event: Event, payload: ToolStarted) -> None:
        run = self._run(event)
        call = payload.call
        attributes = {
            **_inner(event, payload.turn),
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.call.id": call.id,
            "gen_ai.tool.type": "function",
        }
        if self._capture:
            attributes["gen_ai.tool.call.arguments"] = call.args[:_MOST_CONTENT]
        span = self._tracer.start_span(
            f"execute_tool {call.name}", run.innermost, attributes=attributes, start_time=_time(event.time)
        )
        run.tools.append((call.id, span, event.time))
        # The tool starts right after this event, with a copy of what is current then.
        run.enter(trace.set_span_in_context(span, run.innermost))

    def _tool_completed(self, event: Event, payload: ToolCompleted) -> None:
        run = self._run(event)
        place = next((i for i, (id, _, _) in enumerate(run.tools) if id == payload.call.id), None)
        labels = {**_agent(event), "gen_ai.tool.name": self._bounded(payload.call.name)}
        failure = _tool_failure(payload)
        self._calls.add(1, {**labels, "error.type": failure} if failure else labels)
        if place is not None:
            _, span, started = run.tools.pop(place)
            if self._capture:
                span.set_attribute("gen_ai.tool.call.result", payload.result.text[:_MOST_CONTENT])
            if failure:
                _fail(span, failure, "tool failed" if payload.ran else "tool was not run to its end")
            span.end(_time(event.time))
            if payload.ran:
                self._tool_time.record(_seconds(started, event.time), labels)
        run.enter(run.innermost)

    def _run_ended(self, event: Event, payload: RunCompleted | RunFailed | RunCancelled) -> None:
        run = self._run(event)
        with self._lock:
            self._runs.pop(event.run_id, None)
        self._spend(run, event, payload.usage)
        failure: str | None = None
        labels = _agent(event)
        if isinstance(payload, RunCompleted):
            run.span.set_attribute("touba.stop_reason", payload.stop.value)
            labels["touba.stop_reason"] = payload.stop.value
        elif isinstance(payload, RunFailed):
            failure = payload.error_class
        else:
            failure = "cancelled"
        self._close_turn(run, event.time, failure)
        run.span.set_attribute("touba.turns", payload.turns)
        run.span.set_attributes(_usage(payload.usage))
        if failure is not None:
            _fail(run.span, failure, "run cancelled" if isinstance(payload, RunCancelled) else "run failed")
            labels["error.type"] = failure
        run.span.end(_time(event.time))
        self._active_runs.add(-1, _agent(event))
        self._run_time.record(_seconds(run.started, event.time), labels)
        run.enter(run.before)

    def _close_turn(self, run: _Run, time: datetime.datetime, failure: str | None = None) -> None:
        """End what is open inside of the run: a turn, and calls that were left to be resolved later."""
        for _, span, _ in run.tools:
            if failure is None:
                span.set_attribute("touba.tool.paused", True)
            else:
                _fail(span, failure, "the run ended")
            span.end(_time(time))
        run.tools.clear()
        if run.turn is not None:
            if failure is not None:
                _fail(run.turn, failure, "the run ended")
            run.turn.end(_time(time))
        run.turn = run.turn_inside = None
        run.enter(run.inside)

    def _spend(self, run: _Run, event: Event, usage: Usage) -> None:
        if run.counted is not None:
            spent = spent_since(run.counted, usage)
            for kind, tokens in (("input", spent.input_tokens), ("output", spent.output_tokens)):
                if tokens:
                    self._tokens.add(tokens, {**_agent(event), "gen_ai.token.type": kind})
        run.counted = usage

    def _bounded(self, name: str) -> str:
        with self._lock:
            if name not in self._names and len(self._names) >= _MOST_NAMES:
                return _OTHER_NAME
            self._names.add(name)
        return name

    # -- calls of models ---------------------------------------------------------------------------------------------

    def _chat_started(self, call: ModelCall) -> _Chat:
        request = call.request
        attributes: dict[str, Any] = {
            **_model(call),
            "gen_ai.request.max_tokens": request.max_tokens,
            "gen_ai.request.temperature": request.temperature,
            "gen_ai.request.top_p": request.top_p,
            "gen_ai.request.seed": request.seed,
            "gen_ai.request.stop_sequences": None if request.stop is None else list(request.stop),
        }
        if self._capture:
            attributes["gen_ai.input.messages"] = _content(request.messages)
        before = current.get_current()
        given = {name: value for name, value in attributes.items() if value is not None}
        span = self._tracer.start_span(f"chat {call.model_id}", before, SpanKind.CLIENT, given)
        # A stream outside of a run hands its events to code that shares its context and is none of its work.
        attached = not call.streaming or current_run() is not None
        if attached:
            _go_into(trace.set_span_in_context(span, before))
        return _Chat(span, before, attached)

    def _chat_event(self, call: ModelCall, event: StreamEvent) -> None:
        chat: _Chat = call.state
        if not chat.first:
            chat.first = True
            chat.span.add_event("gen_ai.first_chunk")

    def _chat_finished(self, call: ModelCall, response: Response) -> None:
        chat: _Chat = call.state
        chat.span.set_attributes(_usage(response.usage))
        if response.finish_reason:
            chat.span.set_attribute("gen_ai.response.finish_reasons", [str(response.finish_reason)])
        if self._capture:
            chat.span.set_attribute("gen_ai.output.messages", _content([response.message]))
        labels = _model(call)
        for kind, tokens in (("input", response.usage.input_tokens), ("output", response.usage.output_tokens)):
            self._chat_tokens.record(tokens, {**labels, "gen_ai.token.type": kind})
        self._chat_ended(call, None)

    def _chat_failed(self, call: ModelCall, error: Exception) -> None:
        status = error.status if isinstance(error, ModelError) else None
        if status:
            call.state.span.set_attribute("http.response.status_code", status)
        self._chat_ended(call, type(error).__name__)

    def _chat_abandoned(self, call: ModelCall) -> None:
        self._chat_ended(call, "cancelled")

    def _chat_ended(self, call: ModelCall, failure: str | None) -> None:
        chat: _Chat = call.state
        labels = _model(call)
        if failure is not None:
            _fail(chat.span, failure, "the call failed" if failure != "cancelled" else "the call was cancelled")
            labels["error.type"] = failure
        chat.span.end()
        self._chat_time.record(call.duration or 0.0, labels)
        if chat.attached:
            _go_into(chat.before)


def _go_into(context: Context) -> None:
    """Make a context current. A task may end what another one began, where a token to detach would not be valid."""
    current.attach(context)


def _agent(event: Event) -> dict[str, str]:
    return {"gen_ai.agent.name": event.agent} if event.agent else {}


def _inner(event: Event, turn: int) -> dict[str, Any]:
    return {**_agent(event), "touba.run.id": event.run_id, "touba.turn": turn}


def _model(call: ModelCall) -> dict[str, Any]:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": call.provider,
        "gen_ai.request.model": call.model_id,
    }


def _usage(usage: Usage) -> dict[str, int]:
    return {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_input_tokens,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
    }


def _tool_failure(payload: ToolCompleted) -> str | None:
    if not payload.result.is_error:
        return None
    return "tool_error" if payload.ran else "tool_not_run"


def _content(messages: list[Message]) -> str:
    shown = [to_json(message) for message in messages]
    return f"[{','.join(shown)}]"[:_MOST_CONTENT]


def _fail(span: Span, kind: str, description: str) -> None:
    span.set_attribute("error.type", kind)
    span.set_status(Status(StatusCode.ERROR, description))


def _time(time: datetime.datetime) -> int:
    """Nanoseconds since 1970, exactly: a float of seconds has no room for them."""
    since = time - _EPOCH
    return ((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds) * 1_000


_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def _seconds(started: datetime.datetime, ended: datetime.datetime) -> float:
    return max(0.0, (ended - started).total_seconds())
