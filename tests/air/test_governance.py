"""One document for every rule about what governs a program, and the place and words with which it is refused."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tests.air.samples import Document, governed, seal
from tests.air.test_verifier import change, refusal, remove
from touba_cli.air.outside import fault_of_cron, fault_of_event, fault_of_path, fault_of_zone
from touba_cli.air.program import FEATURES, features, mentions_outcome
from touba_cli.air.reach import reachable
from touba_cli.air.verifier import verify

GOVERNED = governed()
RUN = "callables strategy:governed/Run"
CLERK = "callables agent:governed/Clerk"
SAVE = "callables tool:governed/Save"
HOLD = "callables tool:governed/Hold"
PARTS = "type:governed/Run/parts"


def at(name: str, position: int = 0) -> int:
    """The number of the instruction of `Run` with a name."""
    code = GOVERNED["callables"]["strategy:governed/Run"]["code"]
    return [pc for pc, instruction in enumerate(code) if instruction[0] == name][position]


APPROVE, ASK, REVIEW = at("approve"), at("ask"), at("review")
PARALLEL, EACH, MARK, COMPENSATE = at("parallel"), at("parallel_each"), at("mark"), at("compensate")
MARK_SLOT = GOVERNED["callables"]["strategy:governed/Run"]["code"][MARK][1]
TEST = "tests 0"


def test_the_program_is_sound() -> None:
    verify(copy.deepcopy(GOVERNED))
    assert set(GOVERNED["requires"]) == set(FEATURES)
    assert features(GOVERNED, mentions_outcome(GOVERNED)) == set(FEATURES)


def mark_a_text(document: Document) -> None:
    run = document["callables"]["strategy:governed/Run"]
    run["slots"].append(["x", "Text"])
    run["code"][MARK][1] = len(run["slots"]) - 1


FAULTS: list[tuple[Callable[[Document], None], str]] = [
    # gates
    (change("gates", {}), "$.gates: a program without gates has no such member"),
    (change("gates show:governed/Run/1", {}), "a gate's reference begins with"),
    (change("gates approval:governed/Run/other", {}), '$.gates["approval:governed/Run/other"]: no code comes to this gate'),
    (change("gates approval:governed/Run/go type", "Text"), "the member `type` is not known"),
    (change("gates approval:governed/Run/go expires", "soon"), ".expires: "),
    (change("gates approval:governed/Run/go expires", "PT0S"), "a decision takes longer than nothing"),
    (change("gates approval:governed/Run/go expires", "-P1D"), "a decision takes longer than nothing"),
    (change("gates ask:governed/Run/1 expires", "P1D"), "the member `expires` is not known"),
    (remove("gates ask:governed/Run/1 type"), "the member `type` is missing"),
    (change("gates ask:governed/Run/1 type", "Nothing"), "nobody answers with `Nothing`"),
    (change("gates ask:governed/Run/1 type", "type:app/Gone"), "is not known"),
    (change("gates ask:governed/Run/1 type", "Int"), "slot 4 holds Text, not Int"),
    (change("gates review:governed/Run/fine type", "Int"), "Int was expected, not Text"),
    (change(f"{RUN} code {APPROVE} 2", "approval:governed/Run/7"), "the reference of this gate is `approval:governed/Run/1`"),
    (change(f"{RUN} code {APPROVE} 2", "approval:governed/Other/go"), "the reference of this gate is"),
    (change(f"{RUN} code {APPROVE} 2", "approval:governed/Run/stop"), "`approval:governed/Run/stop` is not among `gates`"),
    (change(f"{RUN} code {APPROVE} 2", "ask:governed/Run/1"), "the reference of this gate is"),
    (change("callables branch:governed/Run/1 code 3 2", "approval:governed/Run/go"), "stands at two places"),
    (change(f"{RUN} code {APPROVE} 3", ["int", 1]), "Text was expected, not Int"),
    (change(f"{RUN} code {APPROVE} 1", 2), "the next effect site has the number 1"),
    (change(f"{RUN} code {ASK} 2", 0), "slot 0 holds List of Text, not Text"),
    (change(f"{RUN} code {ASK} 4", ["bool", True]), "Text was expected, not Bool"),
    (change(f"{RUN} code {REVIEW} 4", ["int", 1]), "Text was expected, not Int"),
    # groups
    (change(f"{RUN} code {PARALLEL} 4", []), "a group has a branch at least"),
    (change(f"{RUN} code {PARALLEL} 3", 0), "true or false was expected"),
    (change(f"{RUN} code {PARALLEL} 3", True), "does not have the branches as its fields"),
    (change(f"{RUN} code {PARALLEL} 2", 0), "does not hold the record of a group of this callable"),
    (change(f"{RUN} code {PARALLEL} 4 0 0", "texts"), "the branch here is `branch:governed/Run/2.texts`"),
    (change(f"{RUN} code {PARALLEL} 4 0 0", "No"), "the name of a branch is not written as names are"),
    (change(f"{RUN} code {PARALLEL} 4 0 1", "branch:governed/Run/1"), "the branch here is `branch:governed/Run/2.signed`"),
    (change(f"{RUN} code {PARALLEL} 4 0 2", []), "an array of 1 was expected, not of 0"),
    (change(f"types {PARTS} fields 0 name", "sealed"), "does not have the branches as its fields"),
    (change(f"types {PARTS} fields 0 type", "Int"), "does not have the branches as its fields"),
    (change(f"types {PARTS} fields 0 type", ["is", "Text", [["length", 1, 9]]]), "the branch `signed` does not check what"),
    (change("types type:governed/Run/Parts", {"kind": "record", "fields": []}), "a type reference is written"),
    (change("types type:governed/Run/parts.x", {"kind": "record", "fields": []}), "a type reference is written"),
    (change(f"{RUN} code {EACH} 4", 0), "the number is not within 1"),
    (change(f"{RUN} code {EACH} 5", ["int", 1]), "a List was expected, not Int"),
    (change(f"{RUN} code {EACH} 5", ["list", "Int", []]), "the branch does not take Int first"),
    (change(f"{RUN} code {EACH} 6", "skill:governed/Sign"), "the branch here is `branch:governed/Run/1`"),
    (change(f"{RUN} code {EACH} 7", [["slot", 0]]), "an array of 0 was expected, not of 1"),
    (change(f"{RUN} code {EACH} 3", False), "holds List of Outcome of Optional Note, not List of Optional Note"),
    (change("callables branch:governed/Run/1 takes 0 type", ["is", "Int", [["max", ["int", 1]]]]), "its inputs have no constraints"),
    (change("callables branch:governed/Run/9", {"takes": [], "gives": "Nothing", "slots": [], "cost": 2, "code": [["give", ["nothing"]]]}),
     "no group has this branch"),
    (change("callables branch:governed/Run/x", {}), "a callable's reference is written"),
    (change("callables branch:governed/Run", {}), "a callable's reference is written"),
    (change("callables branch:governed/Run/1 doc", "x"), "the member `doc` is not known"),
    (change("callables branch:governed/Run/1 callable_by", []), "the member `callable_by` is not known"),
    # compensations
    (change(f"{RUN} code {MARK} 1", 0), "a mark is no input"),
    (change(f"{RUN} code {COMPENSATE} 1", 1), "slot 1 is not a mark"),
    (mark_a_text, "does not hold an Int"),
    (change(f"{RUN} code {MARK}", ["set", MARK_SLOT, ["int", 1]]), f"slot {MARK_SLOT} is not a mark"),
    (change(f"{RUN} code 0", ["set", MARK_SLOT, ["int", 0]]), f"slot {MARK_SLOT} is a mark, which only `mark` sets"),
    (change(f"{HOLD} compensation takes", "inputs"), "does not take the inputs of the tool"),
    (change(f"{HOLD} compensation takes", "both"), "a compensation takes the `result` or the `inputs`"),
    (change(f"{HOLD} compensation ref", "tool:governed/Cancel"), "does not take the result of the tool"),
    (change(f"{HOLD} compensation ref", "skill:governed/Sign"), "is not a tool of the program"),
    (change("callables tool:governed/Cancel takes 1 type", ["is", "Int", [["min", ["int", 1]]]]),
     "the inputs of the tool need not keep the constraints of `days`"),
    (change("callables tool:governed/Cancel compensation", {"ref": "tool:governed/Book", "takes": "inputs"}),
     "compensations go in a circle"),
    # tools
    (change(f"{HOLD} effect", "read"), "a key, a compensation and a written memory need the effect `write`"),
    (change(f"{SAVE} reads", []), "the memories are sorted, and there is one at least"),
    (change(f"{SAVE} writes", ["memory:governed/Notes", "memory:governed/Last"]), "the memories are sorted"),
    (change(f"{SAVE} writes", ["memory:governed/Gone"]), "`memory:governed/Gone` is not a memory of the program"),
    (change(f"{SAVE} key cost", 1), "the key costs"),
    (change(f"{SAVE} key value", ["slot", 0]), "Note cannot be a key"),
    (change(f"{SAVE} key value", ["slot", 1]), "slot 1 is read where it may not be set"),
    (change(f"{SAVE} key slots", []), "the first slots are the inputs"),
    (remove(f"{SAVE} key cost"), "the member `cost` is missing"),
    # agents
    (change(f"{CLERK} responsibility", " "), "a responsibility says something"),
    (change(f"{CLERK} uses", ["memory:governed/Notes"]), "is not a tool, function, skill, strategy or agent of the program"),
    (change(f"{CLERK} uses", ["tool:governed/Find", "tool:governed/Find"]), "`tool:governed/Find` stands twice"),
    (change(f"{CLERK} reviews", 1), "true or false was expected"),
    (change(f"{CLERK} steps", 0), "the number is not within 1 and 1000"),
    (change(f"{CLERK} provider_calls", 10**9), "the number is not within 1 and 10000"),
    (change(f"{CLERK} callable_by", ["tool:governed/Find"]), "is not a strategy, skill or agent of the program"),
    (change("callables skill:governed/Sign callable_by", ["strategy:governed/Run", "agent:governed/Clerk"]), "the callers are not sorted"),
    (change("callables skill:governed/Sign callable_by", ["agent:governed/Clerk"]),
     "`skill:governed/Sign` does not let `strategy:governed/Run` call it"),
    (change(f"{RUN} callable_by", []), "the member `callable_by` is not known"),
    (change(f"{CLERK} code", []), "the member `code` is not known"),
    # memories
    (change("memories", {}), "a program without memories has no such member"),
    (change("memories tool:governed/Notes", {"holds": "Text", "scope": "run"}), "a reference here is written `memory:MODULE/NAME`"),
    (change("memories memory:other/Notes", {"holds": "Text", "scope": "run"}), "the module `other` is not among `modules`"),
    (change("memories memory:governed/Last holds", "Nothing"), "a memory of `Nothing` keeps nothing"),
    (change("memories memory:governed/Last scope", "global"), "a scope is one of run, owner, project"),
    (change("memories memory:governed/Notes key", []), "Note cannot be a key"),
    (change("memories memory:governed/Notes key", ["name"]), "the field `name` is not known"),
    (change("memories memory:governed/Notes key", ["id", "x"]), "Text has no fields"),
    # triggers
    (change("triggers", {}), "a program without triggers has no such member"),
    (change("triggers trigger:governed/Hook on kind", "http"), "a source of events is one of schedule, webhook, event"),
    (change("triggers trigger:governed/Hook on path", "run"), "a path begins with `/`"),
    (change("triggers trigger:governed/Hook on timezone", "UTC"), "the member `timezone` is not known"),
    (change("triggers trigger:governed/Morning on cron", "0 7 * *"), "a cron line has 5 fields"),
    (change("triggers trigger:governed/Morning on timezone", "Paris time"), "a time zone is named like"),
    (change("triggers trigger:governed/Told on name", ""), "an event is named with letters"),
    (change("triggers trigger:governed/Other", {"on": {"kind": "webhook", "path": "/run/now"}, "starts": "agent:governed/Writer", "payload": {}}),
     "the path `/run/now` starts another trigger already"),
    (change("triggers trigger:governed/Hook starts", "tool:governed/Find"), "is not a strategy, skill, agent or function of the program"),
    (change("triggers trigger:governed/Hook payload x", {"is": ["int", 1]}), "the input `x` is not known"),
    (change("triggers trigger:governed/Morning payload since", {"is": ["int", 1]}), "Date was expected, not Int"),
    (change("triggers trigger:governed/Morning payload ids", {"is": ["list", "Text", []]}), "enters a place with constraints"),
    (change("triggers trigger:governed/Morning payload since", {"is": ["slot", 0]}), "there is no slot 0"),
    (change("triggers trigger:governed/Told payload since", {"from": ["head", "x"]}), "a path into an event begins with `body`"),
    (change("triggers trigger:governed/Told payload since", {"from": []}), "a path into an event begins with `body`"),
    (change("triggers trigger:governed/Told payload since", {"to": []}), "the member `to` is not known"),
    (remove("triggers trigger:governed/Told payload since"), "the input `since` is missing"),
    (change("triggers trigger:governed/Morning quota count", 0), "the number is not within 1"),
    (change("triggers trigger:governed/Morning quota per", "week"), "a period is one of minute, hour, day"),
    # tests
    (change("tests", []), "a program without tests has no such member"),
    (change("tests 1 name", "it signs"), "two tests have this name"),
    (change(f"{TEST} module", "other"), "the module `other` is not among `modules`"),
    (change(f"{TEST} given 0 kind", "skill"), "what is given is one of tool, agent, approve, review, ask"),
    (change(f"{TEST} given 0 ref", "agent:governed/Clerk"), "is not a tool of the program"),
    (change(f"{TEST} given 0 gives", ["int", 1]), "Optional Note was expected, not Int"),
    (change(f"{TEST} given 1 fails", "full house"), "a failure code is not written as codes are"),
    (change(f"{TEST} given 3 answers", "accept"), "a decision is approve or reject"),
    (change(f"{TEST} given 3", {"kind": "approve", "gives": ["int", 1]}), "an approval has no value"),
    (change(f"{TEST} given 3 name", "no name"), "the name of a decision is not written as names are"),
    (change(f"{TEST} given 6", {"kind": "ask", "answers": "yes"}), "a decision is a value"),
    (change(f"{TEST} given 6 gives", ["slot", 7]), "there is no slot 7"),
    (change(f"{TEST} run ref", "tool:governed/Find"), "is not a strategy, skill, agent or function of the program"),
    (change(f"{TEST} run arguments", []), "an array of 3 was expected, not of 0"),
    (change(f"{TEST} expect", []), "a test expects something"),
    (change(f"{TEST} expect 0 kind", "reason"), "an expectation is one of status, result, calls, effects"),
    (change(f"{TEST} expect 0 is", "done"), "a status is one of success, stopped, cancelled, failed"),
    (change(f"{TEST} expect 1 ref", "function:governed/F"), "is not a tool, skill, strategy or agent of the program"),
    (change(f"{TEST} expect 2 times", 1), "the number is not within 0 and 0"),
    (change("tests 1 expect 0 is", ["int", 1]), "Text was expected, not Int"),
    (change("tests 1 given 0 decides 0 call", "memory:governed/Notes"), "is not a tool, function, skill, strategy or agent"),
    (change("tests 1 given 0 decides 1 answer", ["int", 1]), "Text was expected, not Int"),
    (change("source_map tests", []), "an array of 2 was expected, not of 0"),
    (change("source_map tests 0", []), "an array of 12 was expected, not of 0"),
    (remove("source_map tests"), "the member `tests` is missing"),
    (change("source_map callables tool:governed/Save", []), "an array of 1 was expected, not of 0"),
    (change("source_map callables tool:governed/Find", []), "the program has no code under this reference"),
    # features
    (change("requires", ["tools"]), "the program uses agents, approve, ask, attempt"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("do", "message"), FAULTS, ids=[f"{position} {row[1][:50]}" for position, row in enumerate(FAULTS)]
)
def test_faults(do: Callable[[Document], None], message: str) -> None:
    document = copy.deepcopy(GOVERNED)
    do(document)
    assert message in refusal(seal(document))


@pytest.mark.parametrize("member", ["memories", "gates", "triggers"])
def test_the_digest_covers_what_is_declared(member: str) -> None:
    document = copy.deepcopy(GOVERNED)
    before = document["digest"]
    for each in document[member].values():
        each["doc"] = "Other."
    assert seal(document)["digest"] != before


def test_the_digest_leaves_tests_out() -> None:
    document = copy.deepcopy(GOVERNED)
    before = document["digest"]
    document["tests"][0]["name"] = "another name"
    assert seal(document)["digest"] == before
    verify(document)


def test_an_outcome_in_a_test_alone_requires_nothing() -> None:
    document: Any = copy.deepcopy(GOVERNED)
    document["tests"][1]["slots"] = [["x", ["Outcome", "Int"]]]
    verify(seal(document))


def test_functions_have_no_gates_groups_or_compensations() -> None:
    for name in ("approve", "ask", "review", "parallel", "parallel_each", "mark", "compensate"):
        document = copy.deepcopy(GOVERNED)
        sizes = {"approve": 4, "ask": 5, "review": 6, "parallel": 5, "parallel_each": 8, "mark": 2, "compensate": 2}
        code = [[name, *([None] * (sizes[name] - 1))], ["give", ["int", 1]]]
        document["callables"]["function:governed/F"] = {
            "takes": [],
            "gives": "Int",
            "slots": [],
            "cost": 0,
            "code": code,
        }
        assert f"a function has no `{name}`" in refusal(document)


def test_what_can_be_reached() -> None:
    callables = GOVERNED["callables"]
    assert reachable(callables, "agent:governed/Writer") == {"agent:governed/Writer"}
    assert reachable(callables, "agent:governed/Clerk") == {
        "agent:governed/Clerk", "agent:governed/Writer", "skill:governed/Sign", "tool:governed/Find",
    }  # fmt: skip
    found = reachable(callables, "strategy:governed/Run")
    assert {"branch:governed/Run/1", "branch:governed/Run/2.texts", "tool:governed/Save", "tool:governed/Find"} <= found
    assert "agent:governed/Clerk" not in found
    code = [
        [
            "give",
            [
                "apply",
                "function:a/G",
                [["text", "call"], ["collect", 0, ["slot", 0], None, ["apply", "function:a/H", []]]],
            ],
        ]
    ]
    nested = {"function:a/F": {"code": code}, "function:a/G": {"code": []}, "function:a/H": {"code": []}}
    assert reachable(nested, "function:a/F") == set(nested)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("* * * * *", None),
        ("0,30 7-9 */2 1-12/3 0-7", None),
        ("59 23 31 12 7", None),
        ("", "5 fields"),
        ("0 7 * * * *", "5 fields"),
        ("0  7 * * *", "5 fields"),
        ("60 7 * * *", "the minute goes from 0 to 59"),
        ("0 7 0 * *", "the day of the month goes from 1 to 31"),
        ("0 7 * * 8", "the day of the week goes from 0 to 7"),
        ("0 7 * JAN *", "the month is written with numbers"),
        ("a 7 * * *", "the minute is written with numbers"),
        ("007 7 * * *", "the minute is written with numbers"),
        ("٣ 7 * * *", "the minute is written with numbers"),
        ("5-1 7 * * *", "a range of the minute goes up"),
        ("5- 7 * * *", "the minute is written with numbers"),
        ("*/0 7 * * *", "a step of the minute is a number from 1 to 59"),
        ("*/x 7 * * *", "a step of the minute is a number from 1 to 59"),
        ("5/5 7 * * *", "a step of the minute stands behind `*` or a range"),
        ("1,,2 7 * * *", "the minute is written with numbers"),
    ],
)
def test_cron_lines(line: str, fault: str | None) -> None:
    found = fault_of_cron(line)
    assert found is None if fault is None else fault in (found or "")


@pytest.mark.parametrize(
    ("find", "text", "sound"),
    [
        (fault_of_zone, "Europe/Paris", True),
        (fault_of_zone, "UTC", True),
        (fault_of_zone, "America/Argentina/Buenos_Aires", True),
        (fault_of_zone, "Etc/GMT+5", True),
        (fault_of_zone, "", False),
        (fault_of_zone, "Europe//Paris", False),
        (fault_of_zone, "../etc", False),
        (fault_of_zone, "Z" * 65, False),
        (fault_of_path, "/a", True),
        (fault_of_path, "/a/b-c_d.e~1", True),
        (fault_of_path, "a", False),
        (fault_of_path, "/", False),
        (fault_of_path, "/a/", False),
        (fault_of_path, "/a//b", False),
        (fault_of_path, "/a/../b", False),
        (fault_of_path, "/a?b", False),
        (fault_of_path, "/ä", False),
        (fault_of_path, "/" + "a" * 200, False),
        (fault_of_event, "order.paid:v1/x", True),
        (fault_of_event, "1a", False),
        (fault_of_event, "an event", False),
        (fault_of_event, "", False),
    ],
)
def test_what_triggers_name(find: Callable[[str], str | None], text: str, sound: bool) -> None:
    assert (find(text) is None) == sound
