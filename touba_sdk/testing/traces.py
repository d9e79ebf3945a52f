"""Reading a trace in a test: counting its events, and drawing it as a tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

#: last part of the kind of an event that begins or ends a pair → what the tree says about it
_BEGINS = ("_started", "_invoked")
_ENDS = ("_completed", "_stopped", "_failed", "_cancelled")


def events_of(trace: Any) -> list[Any]:
    """The events of whatever holds some: a trace document, a `RunResult`, a `TracePage`, an error or a list.

    Raises:
        AssertionError: where there are none to be had, for example because the run kept no trace.
    """
    __tracebackhide__ = True
    found = trace
    for _ in range(3):
        if found is None:
            raise AssertionError("there is no trace to look into")
        if isinstance(found, Mapping):
            if "events" in found:
                return list(found["events"])
            found = found.get("trace")
        elif hasattr(found, "events"):
            return list(found.events)
        elif hasattr(found, "trace"):
            found = found.trace
        elif hasattr(found, "details"):
            found = found.details
        elif isinstance(found, Iterable) and not isinstance(found, (str, bytes)):
            return list(found)
        else:
            break
    raise AssertionError(f"{type(trace).__name__} holds no trace")


def member(event: Any, name: str) -> Any:
    """A member of an event, be it a mapping or an object; None where it has none."""
    return event.get(name) if isinstance(event, Mapping) else getattr(event, name, None)


def assert_trace_events(
    trace: Any, *, kind: str | None = None, count: int | None = None, where: Callable[[Any], bool] | None = None
) -> list[Any]:
    """Check how many events of a trace match, and give them.

    Parameters:
        trace: a trace document, `RunResult`, `TracePage`, `ToubaEngineError` or a list of events.
        kind: only events of this kind, for example `tool_invoked`.
        count: exactly so many must match; left out, at least one.
        where: a synchronous function that gives True for the events that are meant; it gets each event as it is.

    Raises:
        AssertionError: with what was expected, what there is and the trace as a tree.
        TypeError: where ``where`` gives anything but True or False.

    Example::

        assert_trace_events(run.trace, kind="tool_invoked", count=1, where=lambda event: event["ref"] == "tool:app/Pay")
    """
    __tracebackhide__ = True
    events = events_of(trace)
    matching: list[Any] = []
    for event in events:
        if kind is not None and member(event, "kind") != kind:
            continue
        if where is not None:
            answer = where(event)
            if not isinstance(answer, bool):
                if hasattr(answer, "close"):
                    answer.close()
                raise TypeError(f"`where` must give True or False at once; it gave {type(answer).__name__}")
            if not answer:
                continue
        matching.append(event)
    if len(matching) == count or (count is None and matching):
        return matching
    meant = "event" if count in (None, 1) else "events"
    if kind is not None:
        meant += f" of kind {kind}"
    if where is not None:
        meant += " for which `where` is true"
    kinds: dict[str, int] = {}
    for event in events:
        kinds[str(member(event, "kind"))] = kinds.get(str(member(event, "kind")), 0) + 1
    there = ", ".join(f"{name} {number}" for name, number in sorted(kinds.items())) or "no events"
    raise AssertionError(
        f"expected: {'at least one' if count is None else f'exactly {count}'} {meant}\n"
        f"actual: {len(matching)} (the trace has {there})\n{trace_tree(events)}"
    )


def trace_tree(trace: Any) -> str:
    """Draw a trace as a tree: one line for each pair of events, and for each event that stands alone.

    Times, ids of runs and chain digests are left out, so two runs of one program give the same text.

    >>> print(trace_tree([{"kind": "run_started", "ref": "strategy:app/A", "span": "0.1", "parent": None},
    ...                   {"kind": "run_completed", "ref": "strategy:app/A", "span": "0.1", "parent": None}]))
    run strategy:app/A: completed
    """
    roots: list[_Node] = []
    spans: dict[str, _Node] = {}
    for event in events_of(trace):
        kind = str(member(event, "kind"))
        span = member(event, "span")
        opened = spans.get(span) if span is not None else None
        if opened is not None and kind.endswith(_ENDS):
            opened.end(event, kind)
            continue
        node = _Node(event, kind)
        inside = spans.get(member(event, "parent")) if opened is None else opened
        (roots if inside is None else inside.children).append(node)
        if opened is None and span is not None and kind.endswith(_BEGINS):
            spans[span] = node
    lines: list[str] = []
    for root in roots:
        lines.append(root.title)
        root.draw("", lines)
    return "\n".join(lines) if lines else "(no events)"


class _Node:
    """One line of the tree and what stands under it."""

    def __init__(self, event: Any, kind: str):
        self.children: list[_Node] = []
        stem = kind
        for ending in _BEGINS:
            stem = stem.removesuffix(ending)
        self.begun = stem != kind
        reference = member(event, "ref")
        occurrence = member(event, "occurrence")
        self.name = stem + (f" {reference}" if reference else "") + (f" [{occurrence}]" if occurrence else "")
        self.rest = "" if self.begun else _data(event)
        self.outcome = "not ended" if self.begun else ""

    @property
    def title(self) -> str:
        return self.name + (f": {self.outcome}" if self.outcome else "") + self.rest

    def end(self, event: Any, kind: str) -> None:
        data = member(event, "data")
        said = data.get("outcome") if isinstance(data, Mapping) else None
        self.outcome = said if isinstance(said, str) else kind.rpartition("_")[2]
        self.rest = _data(event)

    def draw(self, margin: str, lines: list[str]) -> None:
        for child in self.children:
            last = child is self.children[-1]
            lines.append(f"{margin}{'└─' if last else '├─'} {child.title}")
            child.draw(margin + ("   " if last else "│  "), lines)


def _data(event: Any) -> str:
    """The plain members of an event's data: never values of the program, which traces do not hold."""
    data = member(event, "data")
    if not isinstance(data, Mapping):
        return ""
    plain = [(key, value) for key, value in data.items() if key != "outcome" and isinstance(value, (str, int))]
    shown = [f"{key}={value}" for key, value in plain]
    return f" ({', '.join(shown)})" if shown else ""
