"""What happened in a run, as a trace: the kinds of events, the log that keeps them, and how a trace is checked.

No event holds a business value. Every event has a span `TASK.n`; the two events of a pair share theirs, and `parent`
is the span around it, so a trace is a tree. Each task has a chain: one SHA-256 over an event's kind, reference,
occurrence, data and parent and over what came before it in the task. The digest of a trace covers the heads of the
chains, the times and the ids.
"""

from __future__ import annotations

from ..codec import canonical, key_digest, sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TRACE_PROTOCOL = "touba-trace-v1"


class EventKind:
    """One row. ``ends`` are the kinds of which one ends the pair that this kind begins; ``begun_by`` is the other way.

    ``members`` are the members of ``data``: name → (whether it is always there, a sentence).
    """

    __slots__ = ("begun_by", "ends", "members", "sentence")

    def __init__(
        self,
        sentence: str,
        members: dict[str, tuple[bool, str]] | None = None,
        ends: tuple[str, ...] = (),
        begun_by: str | None = None,
    ):
        self.sentence = sentence
        self.members = members or {}
        self.ends = ends
        self.begun_by = begun_by


_USED = {
    "steps": (True, "The steps that the run took."),
    "external_calls": (True, "The tool calls that the run made."),
}
_CODE = "The code of the failure."

#: every kind of event
EVENTS: dict[str, EventKind] = {
    "run_started": EventKind(
        "The run began; `ref` is the entry.", ends=("run_completed", "run_stopped", "run_failed", "run_cancelled")
    ),
    "run_completed": EventKind("The entry gave its result.", _USED, begun_by="run_started"),
    "run_stopped": EventKind("The program stopped the run with `stop`.", _USED, begun_by="run_started"),
    "run_failed": EventKind(
        "A failure that nothing caught ended the run.", {"code": (True, _CODE), **_USED}, begun_by="run_started"
    ),
    "run_cancelled": EventKind("The run was cancelled from outside.", _USED, begun_by="run_started"),
    "call_started": EventKind("A skill or strategy was called.", ends=("call_completed",)),
    "call_completed": EventKind(
        "A skill or strategy ended.",
        {
            "outcome": (True, "`completed`, `failed`, `stopped` or `cancelled`."),
            "code": (False, _CODE),
        },
        begun_by="call_started",
    ),
    "function_started": EventKind(
        "A statement of a skill or strategy called a function, once or more.", ends=("function_completed",)
    ),
    "function_completed": EventKind(
        "The calls of the function by this execution of the statement ended.",
        {
            "outcome": (True, "`completed`; `failed` or `cancelled` where the last call did not give."),
            "times": (True, "How often the statement called it."),
            "steps": (True, "The steps of these calls, with those of the functions that it called itself."),
            "code": (False, _CODE),
        },
        begun_by="function_started",
    ),
    "tool_invoked": EventKind(
        "A tool was called.",
        {
            "effect": (True, "What the tool declares: `none`, `read` or `write`."),
            "grants": (True, "The grants that the tool requires, sorted."),
        },
        ends=("tool_completed",),
    ),
    "tool_completed": EventKind(
        "A tool call ended, or was given up.",
        {
            "outcome": (True, "What became of it: `committed`, `failed` or `unknown`."),
            "code": (False, _CODE),
            "memories": (
                False,
                "What the handler says that it has read and written: objects with `memory_ref` and `operation`.",
            ),
        },
        begun_by="tool_invoked",
    ),
    "message_shown": EventKind("The program showed a message; `ref` is the interaction."),
    "failure_caught": EventKind("An `attempt` caught a failure; `ref` is where it came from.", {"code": (True, _CODE)}),
}


class Event:
    """One thing that happened. It has no time: the machine knows none."""

    __slots__ = ("data", "kind", "occurrence", "parent", "ref", "span", "task")

    def __init__(
        self,
        kind: str,
        ref: str,
        span: str,
        parent: str | None,
        occurrence: str | None,
        data: dict[str, Any],
        task: str,
    ):
        self.kind = kind
        self.ref = ref
        self.span = span
        self.parent = parent
        self.occurrence = occurrence
        self.data = data
        self.task = task

    def __repr__(self) -> str:
        return f"Event({self.kind!r}, {self.ref!r}, {self.span!r}, {self.data!r})"


def occurrence_of(around: str | None, site: int, count: int) -> str:
    """`STEP{/STEP}` from the entry inward: how an effect site was reached for the ``count``-th time in its callable.

    >>> occurrence_of("2#7", 3, 1)
    '2#7/3'
    """
    step = str(site) if count == 1 else f"{site}#{count}"
    return step if around is None else f"{around}/{step}"


class TraceLog:
    """Collects the events of one segment of a run and gives them as a `touba-trace-v1` document."""

    def __init__(self) -> None:
        self._events: list[dict[str, Any]] = []
        self._chains: dict[str, str] = {}
        #: the last time that was told, and how it is written: many events share one
        self._at_ms = -1
        self._at = ""

    def add(self, event: Event, at_ms: int) -> dict[str, Any]:
        """Number and chain an event.

        Parameters:
            event: what the machine told.
            at_ms: when, in milliseconds since 1970 in UTC.

        Returns:
            the event as it stands in the document.
        """
        if at_ms != self._at_ms:
            self._at_ms, self._at = at_ms, moment(at_ms)
        found = {
            "seq": len(self._events) + 1,
            "kind": event.kind,
            "ref": event.ref,
            "at": self._at,
            "span": event.span,
            "parent": event.parent,
            "occurrence": event.occurrence,
            "data": event.data,
        }
        self._events.append(found)
        self._chains[event.task] = _link(found, self._chains.get(event.task))
        return found

    def document(self, run_id: str, program: str, entry: str, started_ms: int, ended_ms: int) -> dict[str, Any]:
        """The whole trace.

        Parameters:
            run_id: the id of the run.
            program: the digest of the program.
            entry: reference of the entry.
            started_ms, ended_ms: when the segment began and ended, in milliseconds since 1970 in UTC.
        """
        document = {
            "protocol": TRACE_PROTOCOL,
            "run_id": run_id,
            "segment": 1,
            "program": program,
            "entry": entry,
            "started_at": moment(started_ms),
            "ended_at": moment(ended_ms),
            "events": list(self._events),
            "chains": dict(sorted(self._chains.items())),
        }
        document["digest"] = _digest(document)
        return document


def _link(event: dict[str, Any], before: str | None) -> str:
    # What `key_digest` does, without its two calls: a trace may hold some ten thousand events.
    parts = [event["kind"], event["ref"], event["occurrence"], event["data"], event["parent"], before]
    return sha256(canonical(parts))


def _digest(document: dict[str, Any]) -> str:
    chains: dict[str, str] = document["chains"]
    return "sha256:" + key_digest(
        sorted([task, head] for task, head in chains.items()),
        *(document[name] for name in ("run_id", "segment", "program", "entry", "started_at", "ended_at")),
        [event["at"] for event in document["events"]],
    )


def moment(ms: int) -> str:
    """A time in RFC 3339, in UTC and to the millisecond.

    >>> moment(0)
    '1970-01-01T00:00:00.000Z'
    """
    days, rest = divmod(ms, 86_400_000)
    # Civil date from a count of days: 400-year eras that begin on 1 March, so that a leap day ends its year.
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (day_of_era - day_of_era // 1_460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153  # 0 is March
    day = day_of_year - (153 * shifted + 2) // 5 + 1
    month = shifted + 3 if shifted < 10 else shifted - 9
    year = 400 * era + year_of_era + (1 if month <= 2 else 0)
    seconds, millis = divmod(rest, 1_000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z"


class TraceInvalid(ValueError):
    """A trace is not one that a run wrote. ``seq``: the first event that does not fit, where one is known."""

    def __init__(self, message: str, seq: int | None = None):
        super().__init__(message if seq is None else f"event {seq}: {message}")
        self.seq = seq


def verify_trace(document: dict[str, Any]) -> None:
    """Check that a trace is consistent: numbers, kinds, members, pairs, nesting, chains and digest.

    Without the digest that the run reported this proves consistency only, not that nothing was exchanged as a whole.

    Parameters:
        document: a document of the shape of `touba-trace-v1`.

    Raises:
        TraceInvalid: naming the first event that does not fit.
    """
    opened: dict[str, list[dict[str, Any]]] = {}
    chains: dict[str, str] = {}
    seen: set[str] = set()
    ended = False
    events: list[dict[str, Any]] = document["events"]
    for number, event in enumerate(events, 1):
        seq = event["seq"]
        if seq != number:
            raise TraceInvalid(f"its number is {seq}", number)
        if ended:
            raise TraceInvalid("it follows the end of the run", seq)
        _check_members(event)
        kind = EVENTS[event["kind"]]
        task = task_of(event["span"])
        stack = opened.setdefault(task, [])
        if kind.begun_by is not None:
            if not stack or stack[-1]["span"] != event["span"]:
                raise TraceInvalid(f"`{event['kind']}` ends what is not open", seq)
            began = stack.pop()
            if any(began[name] != event[name] for name in ("ref", "parent", "occurrence")):
                raise TraceInvalid(f"`{event['kind']}` ends another call than event {began['seq']} began", seq)
            if event["kind"] not in EVENTS[began["kind"]].ends:
                raise TraceInvalid(f"`{event['kind']}` cannot end `{began['kind']}`", seq)
            ended = event["kind"] in EVENTS["run_started"].ends
        else:
            if event["span"] in seen:
                raise TraceInvalid(f"the span `{event['span']}` is used twice", seq)
            seen.add(event["span"])
            if (event["parent"] is None) != (event["kind"] == "run_started") or (number == 1) != (
                event["kind"] == "run_started"
            ):
                raise TraceInvalid("it is not inside the run", seq)
            if stack and event["parent"] != stack[-1]["span"]:
                raise TraceInvalid(f"its parent is not the open span `{stack[-1]['span']}`", seq)
            if not stack and event["parent"] is not None and event["parent"] not in seen:
                raise TraceInvalid(f"its parent `{event['parent']}` does not exist", seq)
            if kind.ends:
                stack.append(event)
        chains[task] = _link(event, chains.get(task))
    if not ended:
        raise TraceInvalid("the run has no end", len(events))
    for stack in opened.values():
        if stack:
            raise TraceInvalid("what it began does not end", stack[-1]["seq"])
    for task in sorted({*chains, *document["chains"]}):
        if chains.get(task) != document["chains"].get(task):
            raise TraceInvalid(f"the events of task `{task}` do not give the head of its chain")
    if _digest(document) != document["digest"]:
        raise TraceInvalid("times, ids and chains do not give the digest")


def _check_members(event: dict[str, Any]) -> None:
    kind = EVENTS.get(event["kind"])
    if kind is None:
        raise TraceInvalid(f"there is no kind `{event['kind']}`", event["seq"])
    for name in event["data"]:
        if name not in kind.members:
            raise TraceInvalid(f"`{event['kind']}` has no member `{name}`", event["seq"])
    for name, (always, _) in kind.members.items():
        if always and name not in event["data"]:
            raise TraceInvalid(f"`{event['kind']}` lacks the member `{name}`", event["seq"])


def task_of(span: str) -> str:
    """The task that a span belongs to.

    >>> task_of("0.12")
    '0'
    """
    return span.rpartition(".")[0]


def tree(document: dict[str, Any]) -> dict[str, Any]:
    """The spans of a trace as one tree.

    Parameters:
        document: a trace that `verify_trace` accepts.

    Returns:
        the span of the run: ``span kind ref occurrence started_at ended_at data children``. ``kind`` is that of the
        event which began it, ``data`` joins the data of both events, and a single event is a span without duration.
    """
    spans: dict[str, dict[str, Any]] = {}
    root: dict[str, Any] = {}
    for event in document["events"]:
        found = spans.get(event["span"])
        if found is not None:
            found["ended_at"] = event["at"]
            found["data"].update(event["data"])
            continue
        spans[event["span"]] = found = {
            "span": event["span"],
            "kind": event["kind"],
            "ref": event["ref"],
            "occurrence": event["occurrence"],
            "started_at": event["at"],
            "ended_at": event["at"],
            "data": dict(event["data"]),
            "children": [],
        }
        if event["parent"] is None:
            root = found
        else:
            spans[event["parent"]]["children"].append(found)
    return root
