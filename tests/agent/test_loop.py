"""The loop without an event loop: a world of plain functions performs its steps, and breaks in at every single one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from touba_sdk.agent import (
    Agent,
    AgentResult,
    Deny,
    Pause,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunMetadata,
    RunStarted,
    Session,
    Terminate,
    ToolError,
    ToolResultOverride,
    ToolStarted,
)
from touba_sdk.agent.loop import Loop
from touba_sdk.agent.steps import (
    AskHook,
    AwaitNews,
    Emit,
    Finished,
    Generate,
    Interrupted,
    Outcome,
    Progressed,
    StartTool,
    StopTools,
)
from touba_sdk.models import TextPart
from touba_sdk.testing.models import request_problems

from .kit import FakeTool, Model, ask, call, results, say


class World:
    """Performs steps at once. Tools end in the order in which ``pick`` chooses among those that run."""

    def __init__(
        self,
        agent: Agent,
        session: Session,
        answers: list[Any],
        *,
        pick: Callable[[int], int] = lambda count: 0,
        break_at: int = -1,
        break_with: Callable[[], BaseException] = lambda: Interrupted(KeyboardInterrupt()),
    ):
        self.answers = deque(answers)
        self.events: list[Any] = []
        self.running: dict[int, StartTool] = {}
        self.pick = pick
        self.break_at = break_at
        self.break_with = break_with
        self.broken_in = ""
        self.count = 0
        self.stopped = False
        session._claim()
        self.loop = Loop(agent._settings, session, RunMetadata("r1"), (), streaming=False)
        self.error: BaseException | None = None

    def run(self) -> AgentResult:
        steps = self.loop.steps()
        answer: Any = None
        error: BaseException | None = None
        while True:
            try:
                step = steps.send(answer) if error is None else steps.throw(error)
            except StopIteration:
                break
            except BaseException as left:
                self.error = left
                break
            answer = error = None
            try:
                answer = self.perform(step)
            except BaseException as raised:
                error = raised
        assert self.loop.result is not None
        return self.loop.result

    def perform(self, step: Any) -> Any:
        place, self.count = self.count, self.count + 1
        if isinstance(step, Emit):
            self.events.append(step.payload)
        if place == self.break_at:
            self.broken_in = type(step.payload).__name__ if isinstance(step, Emit) else type(step).__name__
            raise self.break_with()
        if isinstance(step, AskHook):
            return step.function(step.argument)
        if isinstance(step, Generate):
            assert request_problems(step.request) == [], "every request is one that a provider takes"
            return self.answers.popleft()
        if isinstance(step, StartTool):
            self.running[step.index] = step
        elif isinstance(step, StopTools):
            self.stopped = True
        elif isinstance(step, AwaitNews):
            return self.news()
        return None

    def news(self) -> Any:
        index = sorted(self.running)[self.pick(len(self.running)) % len(self.running)]
        step = self.running.pop(index)
        if self.stopped:
            return Finished(index, Outcome.failure("tool execution cancelled", ran=False))
        if step.call.name == "progress" and not step.call.arguments.get("done"):
            step.call = call(step.call.id, "progress", done=True)
            self.running[index] = step
            return Progressed(index, (TextPart("half"),))
        try:
            return Finished(index, Outcome.returned(step.tool.execute(step.call)))
        except Exception as error:
            return Finished(index, Outcome.raised(error))


def give(text: str) -> Any:
    return lambda call: text


def fail(error: Exception) -> Any:
    def execute(call: Any) -> Any:
        raise error

    return execute


TOOLS = [
    FakeTool("plain", give("plain")),
    FakeTool("beside", give("beside"), concurrent=True),
    FakeTool("progress", give("progress"), concurrent=True),
    FakeTool("fails", fail(ToolError("no"))),
    FakeTool("stops", fail(Terminate("end")), concurrent=True),
]
NAMES = ("plain", "beside", "progress", "fails", "stops", "unknown")
GATES: dict[str, Any] = {"allow": None, "deny": Deny("denied"), "pause": Pause(updated_input={"x": 1})}


class Plan:
    """What the model asks for in each turn, and what the gate says about it."""

    def __init__(self, turns: list[list[tuple[str, str]]]):
        self.turns = turns

    def answers(self) -> list[Any]:
        asked = [
            ask(*(call(f"t{turn}.{n}", name) for n, (name, _) in enumerate(batch)))
            for turn, batch in enumerate(self.turns)
            if batch
        ]
        return [*asked, say("done"), say("done again"), say("and again")]

    def gate(self, info: Any) -> Any:
        turn, _, index = info.call.id[1:].partition(".")
        return GATES[self.turns[int(turn)][int(index)][1]]


PLANS = st.lists(
    st.lists(
        st.tuples(st.sampled_from(NAMES), st.sampled_from(["allow", "allow", "allow", "deny", "pause"])),
        min_size=1,
        max_size=5,
    ),
    max_size=3,
).map(Plan)


def agent(plan: Plan, **options: Any) -> Agent:
    return Agent(Model(), tools=TOOLS, before_tool=plan.gate, parallel_tools=2, **options)


def check(world: World, session: Session, result: AgentResult) -> None:
    """The guarantees that hold whatever happened."""
    terminal = [e for e in world.events if isinstance(e, (RunCompleted, RunFailed, RunCancelled))]
    assert isinstance(world.events[0], RunStarted)
    assert terminal == world.events[-1:], "exactly one terminal event, as the last"
    assert not session._running
    assert session.last_result is result
    Session(session.messages)  # raises where an unanswered call is hidden
    if result.stop == "paused":
        assert [c.id for c in result.pending] == [c.id for c in session.pending] != []
    restored = Session.from_json(session.to_json())
    assert restored.pending == session.pending
    restored.resolve_pending(lambda call: "resolved")
    again = World(Agent(Model()), restored, [say("on")])
    assert again.run().text == "on"


@given(PLANS, st.randoms(use_true_random=False))
def test_results_keep_the_order_of_the_calls(plan: Plan, random: Any) -> None:
    session = Session(["go"])
    world = World(agent(plan), session, plan.answers(), pick=lambda count: random.randrange(count))
    result = world.run()
    assert world.error is None
    for message in session.messages:
        if message.tool_calls:
            last = [call.id for call in message.tool_calls]
        elif message.tool_results:
            answered = [part.tool_call_id for part in message.tool_results]
            assert answered == last[: len(answered)]
    check(world, session, result)


@given(PLANS, st.randoms(use_true_random=False))
def test_gates_finish_before_the_first_effect_of_a_batch(plan: Plan, random: Any) -> None:
    order: list[str] = []

    def gate(info: Any) -> Any:
        order.append("gate")
        return plan.gate(info)

    class Watching(World):
        def perform(self, step: Any) -> Any:
            if isinstance(step, StartTool):
                order.append("start")
            elif isinstance(step, Generate):
                order.append("model")
            return super().perform(step)

    session = Session(["go"])
    gated = Agent(Model(), tools=TOOLS, before_tool=gate)
    Watching(gated, session, plan.answers(), pick=lambda count: random.randrange(count)).run()
    batches = " ".join(order).split("model")
    assert all("start gate" not in batch for batch in batches)


BREAKS: dict[str, Callable[[], BaseException]] = {
    "cancelled": lambda: Interrupted(KeyboardInterrupt()),
    "abandoned": lambda: Interrupted(None),
    "failed": lambda: OSError("disk full"),
}


@pytest.mark.parametrize("how", BREAKS)
@settings(max_examples=25)
@given(plan=PLANS)
def test_a_run_may_end_at_any_step(how: str, plan: Plan) -> None:
    total = World(agent(plan), Session(["go"]), plan.answers())
    total.run()
    for place in range(total.count):
        session = Session(["go"])
        session.steer("queued")
        options: dict[str, Any] = {"after_tool": lambda info: ToolResultOverride(content=info.result.text + "!")}
        world = World(agent(plan, **options), session, plan.answers(), break_at=place, break_with=BREAKS[how])
        result = world.run()
        if not world.broken_in:
            continue
        check(world, session, result)
        started = {e.call.id for e in world.events if isinstance(e, ToolStarted)}
        assert started <= {c.id for m in session.messages for c in m.tool_calls}
        if how != "failed" and result.stop is None:
            assert isinstance(world.events[-1], RunCancelled)
        queued = "queued" in [m.text for m in session.messages]
        assert queued != session.has_queued, "a message that was taken is in the conversation, or queued again"
        if session.pending and result.stop != "paused":
            # Only a gate, or a consumer that left on seeing the calls, leaves calls open.
            assert how == "abandoned" or any("pause" in dict.fromkeys(d for _, d in b) for b in plan.turns)


@given(PLANS, st.integers(0, 60))
def test_a_loop_that_is_closed_leaves_a_whole_session(plan: Plan, place: int) -> None:
    session = Session(["go"])
    world = World(agent(plan), session, plan.answers())
    steps = world.loop.steps()
    step = next(steps)
    try:
        for _ in range(place):
            step = steps.send(world.perform(step))
    except StopIteration:
        pass
    steps.close()
    assert not session._running
    assert world.loop.result is session.last_result
    Session(session.messages)
    session.resolve_pending(lambda call: "resolved")
    assert World(Agent(Model()), session, [say("on")]).run().text == "on"


def test_a_second_interruption_while_settling_still_answers_everything() -> None:
    class Twice(World):
        def perform(self, step: Any) -> Any:
            if isinstance(step, AwaitNews):
                raise Interrupted(KeyboardInterrupt())
            return super().perform(step)

    plan = Plan([[("beside", "allow"), ("beside", "allow"), ("plain", "deny")]])
    session = Session(["go"])
    world = Twice(agent(plan), session, plan.answers())
    result = world.run()
    assert isinstance(world.error, Interrupted)
    assert results(session) == [("tool execution cancelled", True)] * 2 + [("denied", True)]
    check(world, session, result)


def test_time_that_runs_out_while_settling_still_answers_everything() -> None:
    class Slow(World):
        def news(self) -> Any:
            return None if self.stopped else super().news()

    plan = Plan([[("beside", "allow"), ("beside", "allow")]])
    session = Session(["go"])
    world = Slow(agent(plan), session, plan.answers(), break_at=9)
    result = world.run()
    assert world.broken_in != ""
    assert [is_error for _, is_error in results(session)].count(True) >= 1
    check(world, session, result)
