"""The recorder and the OpenTelemetry projection: cases 254 and 255, and every fault of the Go form that is absent here."""

from __future__ import annotations

import datetime
import threading
from typing import Any

import anyio
import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from touba_sdk.agent import (
    Deny,
    Event,
    Guardrail,
    Pause,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunMetadata,
    RunStarted,
    Session,
    StopReason,
    ToolCall,
    ToolCompleted,
    ToolError,
    ToolStarted,
    TurnCompleted,
    TurnStarted,
    new_event,
    tool,
)
from touba_sdk.agent.agent import Agent
from touba_sdk.agent.observability import OpenTelemetry, Recorder
from touba_sdk.models import Request, TextPart, ToolCallPart, ToolResultPart, Usage, generate_sync, user_text

from .kit import ADD, COST, Door, FakeTool, Model, add_call, ask, call, raising, say, text_tool, until_cancelled

START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
SECRET = "the secret"


def cost(turns: int) -> Usage:
    return Usage(COST.input_tokens * turns, COST.output_tokens * turns)


class Clock:
    """Events of made-up runs, one second apart."""

    def __init__(self, run_id: str = "r1"):
        self.run_id = run_id
        self.seconds = 0

    def __call__(self, payload: Any) -> Event:
        self.seconds += 1
        time = START + datetime.timedelta(seconds=self.seconds)
        return new_event(RunMetadata(self.run_id, None, "made"), time, payload)


def part(id: str, name: str = "t") -> ToolCallPart:
    return ToolCallPart(id, name, "{}")


def answer(id: str, *, is_error: bool = False) -> ToolResultPart:
    return ToolResultPart(id, "t", (TextPart("x"),), is_error)


# -- the recorder ----------------------------------------------------------------------------------------------------


def test_case_254_a_trace_of_a_run(door: Door) -> None:
    recorder = Recorder()
    tools = [ADD, raising("broken", ToolError(SECRET))]
    model = Model(ask(call("c1", "add", a=2, b=3), call("c2", "broken", text=SECRET)), say(SECRET))
    result = door.play(Agent(model, name="calc", tools=tools, on_event=recorder)).ok

    [trace] = recorder.runs
    assert trace == recorder.run(result.run_id)
    assert (trace.agent, trace.parent_run_id, trace.outcome, trace.stop) == ("calc", None, "completed", "end_turn")
    assert (trace.turns, trace.usage, trace.error_class) == (2, cost(2), None)
    assert trace.ended is not None
    assert trace.started <= trace.tools[0].started <= trace.ended
    assert [(t.name, t.call_id, t.turn, t.failed, t.ran) for t in trace.tools] == [
        ("add", "c1", 1, False, True),
        ("broken", "c2", 1, True, True),
    ]
    assert SECRET not in repr(trace)
    totals = recorder.totals
    assert (totals.runs_started, totals.runs_completed, totals.runs_active) == (1, 1, 0)
    assert (totals.turns, totals.tool_calls, totals.tool_failures, totals.tool_refusals) == (2, 2, 1, 0)
    assert totals.usage == cost(2)
    assert (totals.run_latency.count, totals.tool_latency.count) == (1, 2)


def test_a_failed_run_ends_and_its_tokens_are_counted(door: Door) -> None:
    recorder = Recorder()

    def reject(info: object) -> None:
        raise ValueError(SECRET)

    guard = Guardrail("strict", reject)
    agent = Agent(Model(add_call(), say("no")), tools=[ADD], on_event=recorder, output_guardrails=[guard])
    assert door.play(agent).error is not None
    [trace] = recorder.runs
    assert (trace.outcome, trace.stop, trace.error_class) == ("failed", None, "GuardrailError")
    assert trace.ended is not None
    assert (recorder.totals.runs_failed, recorder.totals.runs_active) == (1, 0)
    assert recorder.totals.usage == trace.usage == cost(2), "also those of the answer that was rejected"


def test_a_cancelled_run_ends(cancel_door: Door) -> None:
    recorder = Recorder()

    async def stop(call: ToolCall) -> str:
        cancel_door.cancel()
        await until_cancelled()
        return "never"

    agent = Agent(Model(ask(call("c1", "stop"))), tools=[FakeTool("stop", stop)], on_event=recorder)
    assert cancel_door.play(agent).error is not None
    [trace] = recorder.runs
    assert (trace.outcome, trace.turns) == ("cancelled", 1)
    assert [(t.failed, t.ran) for t in trace.tools] == [(True, False)]
    assert (recorder.totals.runs_cancelled, recorder.totals.runs_active) == (1, 0)
    assert recorder.totals.usage == cost(1)


def test_an_abandoned_run_ends(stream_door: Door) -> None:
    recorder = Recorder()
    agent = Agent(Model(add_call(), say("done")), tools=[ADD], on_event=recorder)
    stream_door.play(agent, leave=lambda event: isinstance(event.payload, ToolStarted))
    assert [trace.outcome for trace in recorder.runs] == ["cancelled"]
    assert recorder.totals.runs_active == 0


def test_refusals_are_no_failures(door: Door) -> None:
    recorder = Recorder()

    @tool
    def double(a: int) -> int:
        return 2 * a

    calls = ask(call("c1", "double"), call("c2", "unknown"), call("c3", "denied"), call("c4", "double", a=1))
    options: dict[str, Any] = {"before_tool": lambda info: Deny() if info.call.name == "denied" else None}
    played = door.play(
        Agent(Model(calls, say("done")), tools=[double, text_tool("denied", "x")], on_event=recorder, **options)
    )
    assert played.error is None
    totals = recorder.totals
    assert (totals.tool_calls, totals.tool_failures, totals.tool_refusals) == (4, 0, 3)
    assert [t.ran for t in recorder.runs[0].tools] == [False, False, False, True]
    assert totals.tool_latency.count == 1


def test_running_runs_are_counted_and_seen() -> None:
    recorder, tell = Recorder(), Clock()
    recorder(tell(RunStarted()))
    recorder(tell(TurnStarted(1)))
    recorder(tell(ToolStarted(1, part("c1"))))
    assert recorder.totals.runs_active == 1
    [trace] = recorder.runs
    assert (trace.ended, trace.outcome) == (None, None)
    [running] = trace.tools
    assert (running.ended, running.failed) == (None, None)
    recorder(tell(TurnCompleted(1, cost(1))))
    assert recorder.totals.usage == cost(1), "the tokens of a run are counted while it goes on"
    paused = recorder.run("r1")
    assert paused is not None
    assert paused.tools[0].paused


def test_usage_is_counted_once() -> None:
    recorder, tell = Recorder(), Clock()
    recorder(tell(RunStarted()))
    for turn in (1, 2, 3):
        recorder(tell(TurnCompleted(turn, cost(turn))))
    recorder(tell(RunCompleted(3, StopReason.END_TURN, cost(3))))
    recorder(tell(RunCompleted(3, StopReason.END_TURN, cost(3))))
    assert recorder.totals.usage == cost(3)
    assert (recorder.totals.runs_completed, recorder.totals.run_latency.seconds) == (1, 4.0)


def test_a_call_id_that_is_used_twice_has_two_traces() -> None:
    recorder, tell = Recorder(), Clock()
    recorder(tell(RunStarted()))
    recorder(tell(ToolStarted(1, part("c1", "first"))))
    recorder(tell(ToolStarted(1, part("c1", "second"))))
    recorder(tell(ToolCompleted(1, part("c1"), answer("c1", is_error=True))))
    recorder(tell(ToolCompleted(1, part("c1"), answer("c1"))))
    assert [(t.name, t.failed, t.ended is not None) for t in recorder.runs[0].tools] == [
        ("first", True, True),
        ("second", False, True),
    ]


def test_the_recorder_is_bounded() -> None:
    recorder = Recorder(most_runs=3, most_tools=2)
    for number in range(10):
        tell = Clock(f"r{number}")
        recorder(tell(RunStarted()))
        for each in range(4):
            recorder(tell(ToolStarted(1, part(f"c{each}", "n" * 1_000))))
            recorder(tell(ToolCompleted(1, part(f"c{each}"), answer(f"c{each}"))))
        if number % 2:
            recorder(tell(RunFailed("ValueError", 1, cost(1))))
    traces = recorder.runs
    assert len(traces) == 3
    assert all(len(t.tools) == 2 and t.tools_left_out == 2 and len(t.tools[0].name) == 128 for t in traces)
    totals = recorder.totals
    assert (totals.runs_started, totals.runs_failed, totals.tool_calls) == (10, 5, 40)
    assert totals.runs_active == sum(t.outcome is None for t in traces)
    with pytest.raises(ValueError, match="at least one run"):
        Recorder(most_runs=0)


def test_a_run_whose_beginning_was_not_seen() -> None:
    recorder, tell = Recorder(), Clock()
    recorder(tell(TurnCompleted(4, cost(4))))
    recorder(tell(TurnCompleted(5, cost(5))))
    [trace] = recorder.runs
    assert (trace.started, trace.turns) == (START + datetime.timedelta(seconds=1), 5)
    assert recorder.totals.usage == cost(1), "what was spent before is not known to be new"
    assert recorder.run("other") is None
    recorder(Event("", None, "", START, RunStarted()))
    assert len(recorder.runs) == 1, "an event of no run is left out"


def test_the_recorder_takes_events_of_many_threads() -> None:
    recorder = Recorder()

    def work(number: int) -> None:
        tell = Clock(f"r{number}")
        recorder(tell(RunStarted()))
        for turn in range(1, 51):
            recorder(tell(TurnCompleted(turn, cost(turn))))
        recorder(tell(RunCancelled(50, cost(50))))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (recorder.totals.turns, recorder.totals.usage) == (200, cost(200))


# -- OpenTelemetry ---------------------------------------------------------------------------------------------------


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


class Telemetry:
    """A projection whose spans and metrics are kept."""

    def __init__(self, **options: Any):
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.reader = InMemoryMetricReader()
        meters = MeterProvider([self.reader], shutdown_on_exit=False)
        self.observer = OpenTelemetry(tracer_provider=self.provider, meter_provider=meters, **options)
        self.started: list[str] = []

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())

    def span(self, name: str) -> ReadableSpan:
        [found] = [span for span in self.spans if span.name == name]
        return found

    def parent(self, span: ReadableSpan) -> str | None:
        """The name of a span's parent."""
        if span.parent is None:
            return None
        [found] = [each.name for each in self.spans if each.context.span_id == span.parent.span_id]
        return found

    def tree(self) -> set[tuple[str, str | None]]:
        return {(span.name, self.parent(span)) for span in self.spans}

    def points(self, name: str) -> dict[tuple[Any, ...], Any]:
        """The points of a metric by the values of their attributes: sums, and counts of histograms."""
        data = self.reader.get_metrics_data()
        found = {}
        for resource in data.resource_metrics if data is not None else ():
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    if metric.name == name:
                        for point in metric.data.data_points:
                            key = tuple(value for _, value in sorted((point.attributes or {}).items()))
                            found[key] = getattr(point, "value", getattr(point, "count", None))
        return found

    def labels(self) -> set[str]:
        """Every attribute value of every metric."""
        data = self.reader.get_metrics_data()
        assert data is not None
        return {
            str(value)
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            for point in metric.data.data_points
            for value in (point.attributes or {}).values()
        }


def test_case_255_spans_nest_as_the_work_does(door: Door) -> None:
    telemetry = Telemetry()
    otel = telemetry.observer
    tracer = telemetry.provider.get_tracer("application")
    inner = Agent(otel.model(Model(say("inner"))), name="helper", on_event=otel)

    @tool
    def look(a: int) -> int:
        with tracer.start_as_current_span("look up"):
            return a

    model = Model(ask(call("c1", "look", a=1), call("c2", "helper", prompt="x")), say("done"))
    outer = Agent(otel.model(model), name="outer", tools=[look, inner.as_tool("helper", "Helps.")], on_event=otel)
    result = door.play(outer).ok
    assert telemetry.tree() == {
        ("invoke_agent outer", None),
        ("turn 1", "invoke_agent outer"),
        ("turn 2", "invoke_agent outer"),
        ("chat scripted-1", "turn 1"),
        ("chat scripted-1", "turn 2"),
        ("execute_tool look", "turn 1"),
        ("look up", "execute_tool look"),
        ("execute_tool helper", "turn 1"),
        ("invoke_agent helper", "execute_tool helper"),
        ("turn 1", "invoke_agent helper"),
    }
    run = telemetry.span("invoke_agent outer")
    assert attributes(run)["touba.run.id"] == result.run_id
    assert attributes(run)["touba.stop_reason"] == "end_turn"
    assert attributes(run)["gen_ai.usage.input_tokens"] == 20
    assert run.status.status_code is StatusCode.UNSET
    assert attributes(telemetry.span("invoke_agent helper"))["touba.run.parent_id"] == result.run_id


def test_tools_that_overlap_have_their_own_spans(door: Door) -> None:
    telemetry = Telemetry()
    tracer = telemetry.provider.get_tracer("application")
    running: list[int] = []

    @tool(parallel=True)
    async def look(a: int) -> int:
        with tracer.start_as_current_span(f"inside {a}"):
            running.append(a)
            await anyio.sleep(0.01)
            assert len(running) == 2, "both run at once"
        return a

    model = Model(ask(call("c1", "look", a=1), call("c2", "look", a=2)), say("done"))
    assert door.play(Agent(model, tools=[look], on_event=telemetry.observer)).error is None
    tools = {
        attributes(span)["gen_ai.tool.call.id"]: span for span in telemetry.spans if span.name == "execute_tool look"
    }
    for number in (1, 2):
        inside = telemetry.span(f"inside {number}")
        assert inside.parent is not None
        assert inside.parent.span_id == tools[f"c{number}"].context.span_id


def test_tokens_are_counted_once_by_kind(door: Door) -> None:
    telemetry = Telemetry()
    model = Model(add_call("c1"), add_call("c2"), say("done"))
    result = door.play(Agent(model, name="a", tools=[ADD], on_event=telemetry.observer)).ok
    assert result.turns == 3
    assert telemetry.points("touba.agent.tokens") == {("a", "input"): 30, ("a", "output"): 15}
    assert telemetry.points("touba.agent.turns") == {("a",): 3}


def test_metrics_carry_no_ids_and_a_bounded_number_of_names(door: Door) -> None:
    telemetry = Telemetry()
    calls = ask(*(call(f"id{number}", f"made_up_{number}") for number in range(250)))
    result = door.play(Agent(Model(calls, say("done")), on_event=telemetry.observer)).ok
    labels = telemetry.labels()
    assert result.run_id not in labels
    assert not any(label.startswith("id") for label in labels)
    points = telemetry.points("touba.agent.tool_calls")
    assert (len(points), sum(points.values())) == (201, 250)
    assert points[("tool_not_run", "_other")] == 50


@pytest.mark.parametrize("how", ["failed", "cancelled"])
def test_case_255_spans_end_however_the_run_ends(cancel_door: Door, how: str) -> None:
    telemetry = Telemetry()
    otel = telemetry.observer

    async def stop(call: ToolCall) -> str:
        if how == "cancelled":
            cancel_door.cancel()
            await until_cancelled()
        return "went on"

    def prepare(info: object) -> None:
        raise LookupError(SECRET)

    agent = Agent(
        otel.model(Model(ask(call("c1", "stop")))), tools=[FakeTool("stop", stop)], on_event=otel, prepare_turn=prepare
    )
    assert cancel_door.play(agent).error is not None
    assert {span.name for span in telemetry.spans} == {"invoke_agent", "turn 1", "execute_tool stop", "chat scripted-1"}
    run = telemetry.span("invoke_agent")
    assert run.status.status_code is StatusCode.ERROR
    assert attributes(run)["error.type"] == ("cancelled" if how == "cancelled" else "LookupError")
    assert otel._runs == {}, "nothing is left behind"
    assert telemetry.points("touba.agent.runs.active") == {(): 0}
    assert SECRET not in repr([(span.attributes, span.status.description, span.events) for span in telemetry.spans])


def test_case_255_an_abandoned_stream(stream_door: Door) -> None:
    telemetry = Telemetry()
    otel = telemetry.observer
    agent = Agent(otel.model(Model(say("a long answer"))), on_event=otel)
    stream_door.play(agent, leave=lambda event: event.type == "model_stream")
    assert telemetry.tree() == {
        ("invoke_agent", None),
        ("turn 1", "invoke_agent"),
        ("chat scripted-1", "turn 1"),
    }
    for span in telemetry.spans:
        assert span.status.status_code is StatusCode.ERROR
    assert otel._runs == {}


def test_spans_have_the_times_of_the_events() -> None:
    telemetry, tell = Telemetry(), Clock()
    for payload in (
        RunStarted(),
        TurnStarted(1),
        ToolStarted(1, part("c1")),
        ToolCompleted(1, part("c1"), answer("c1", is_error=True)),
        TurnCompleted(1, cost(1)),
        RunCompleted(1, StopReason.MAX_TURNS, cost(1)),
    ):
        telemetry.observer(tell(payload))
    start = int(START.timestamp()) * 10**9
    assert {span.name: ((span.start_time or 0) - start, (span.end_time or 0) - start) for span in telemetry.spans} == {
        "invoke_agent made": (1 * 10**9, 6 * 10**9),
        "turn 1": (2 * 10**9, 5 * 10**9),
        "execute_tool t": (3 * 10**9, 4 * 10**9),
    }
    failed = telemetry.span("execute_tool t")
    assert failed.status.description == "tool failed"


def test_call_ids_that_are_used_twice_have_a_span_each() -> None:
    telemetry, tell = Telemetry(), Clock()
    telemetry.observer(tell(RunStarted()))
    for _ in range(2):
        telemetry.observer(tell(ToolStarted(1, part("c1"))))
    for _ in range(2):
        telemetry.observer(tell(ToolCompleted(1, part("c1"), answer("c1"))))
    assert [span.name for span in telemetry.spans] == ["execute_tool t"] * 2
    telemetry.observer(tell(RunCancelled()))
    assert telemetry.parent(telemetry.spans[0]) == "invoke_agent made"


def test_open_runs_are_bounded() -> None:
    telemetry = Telemetry(most_runs=2)
    for number in range(5):
        tell = Clock(f"r{number}")
        telemetry.observer(tell(RunStarted()))
        telemetry.observer(tell(TurnStarted(1)))
    assert len(telemetry.observer._runs) == 2
    assert [span.name for span in telemetry.spans] == ["turn 1", "invoke_agent made"] * 3
    assert telemetry.points("touba.agent.runs.active") == {("made",): 2}


def test_paused_calls_end_with_their_turn(door: Door) -> None:
    telemetry = Telemetry()
    child = Agent(Model(add_call()), name="child", tools=[ADD], before_tool=lambda info: Pause())
    helper = child.as_tool("helper", "Helps.", on_pause="bubble")
    agent = Agent(Model(ask(call("c1", "helper", prompt="x"))), tools=[helper], on_event=telemetry.observer)
    assert door.play(agent).ok.stop == "paused"
    span = telemetry.span("execute_tool helper")
    assert attributes(span)["touba.tool.paused"] is True
    assert span.status.status_code is StatusCode.UNSET


@pytest.mark.parametrize("capture", [False, True])
def test_content_is_captured_only_when_asked_for(capture: bool, door: Door) -> None:
    telemetry = Telemetry(capture_content=capture)
    otel = telemetry.observer
    model = Model(ask(call("c1", "t", value=SECRET)), say(SECRET))
    agent = Agent(otel.model(model), tools=[text_tool("t", SECRET)], on_event=otel)
    assert door.play(agent, Session([user_text(SECRET)])).error is None
    holders = {span.name for span in telemetry.spans if SECRET in repr(dict(span.attributes or {}))}
    assert holders == ({"execute_tool t", "chat scripted-1"} if capture else set())


def test_a_model_by_itself() -> None:
    telemetry = Telemetry()
    model = telemetry.observer.model(Model(say("hi"), ValueError("broken")))
    generate_sync(model, Request([user_text("x")], temperature=0.5))
    with pytest.raises(ValueError, match="broken"):
        generate_sync(model, Request([user_text("x")]))
    first, second = telemetry.spans
    assert attributes(first)["gen_ai.request.temperature"] == 0.5
    assert attributes(first)["gen_ai.response.finish_reasons"] == ("stop",)
    assert attributes(second)["error.type"] == "ValueError"
    assert sum(telemetry.points("gen_ai.client.operation.duration").values()) == 2
    assert sum(telemetry.points("gen_ai.client.token.usage").values()) == 2


def test_nothing_is_left_current_in_the_caller(door: Door) -> None:
    from opentelemetry import trace

    telemetry = Telemetry()
    otel = telemetry.observer
    assert door.play(Agent(otel.model(Model(say("hi"))), on_event=otel)).error is None
    assert not trace.get_current_span().get_span_context().is_valid
