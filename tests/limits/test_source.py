"""Limits of what a program may write, through the compiler: one below, at, and one above, where it is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.limits.kit import accepted, compiled, function, judged, refused, three_cases
from tests.shell_kit import Project
from touba_cli.air.program import read_program, write_program
from touba_cli.language.compiler import compile_program
from touba_cli.limits import (
    ALL_PATTERN_STATES,
    BLOCK_DEPTH,
    BRACKET_DEPTH,
    CALLABLE_SLOTS,
    DIAGNOSTICS_SHOWN,
    EXPRESSION_DEPTH,
    INTERPOLATION_DEPTH,
    LEFT_OUT_FIELDS,
    LIMITS,
    PATTERN_CHARACTERS,
    PATTERN_DEPTH,
    PATTERN_STATES,
    SOURCE_BYTES,
    SOURCE_FILES,
    TYPE_DEPTH,
    TYPE_MEMBERS,
)
from touba_cli.project.sources import ProjectSources


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


# --- files ------------------------------------------------------------------------------------------------------------


@three_cases("source_bytes")
def test_bytes_of_a_file(project: Project, by: int) -> None:
    text = "module app\n\ntype A\n    a as Int\n"
    path = project.write("app.tb", text + "# " + "x" * (SOURCE_BYTES + by - len(text) - 3) + "\n")
    assert path.stat().st_size == SOURCE_BYTES + by
    done = project.touba("check", "app.tb", "--json")
    found = [(each["code"], each["line"]) for each in done.document["diagnostics"]]
    assert found == ([] if by <= 0 else [("TB9001", 1)])
    assert done.code == (0 if by <= 0 else 3)
    assert by <= 0 or f"{SOURCE_BYTES:,}" in done.document["diagnostics"][0]["title"]


@three_cases("source_files")
def test_files_of_a_program(by: int) -> None:
    imported = SOURCE_FILES + by - 1  # besides the entry
    others = {f"m{number}": f"module m{number}\ntype T\n    a as Int\n" for number in range(imported)}
    imports = "".join(f"import m{number}\n" for number in range(imported))
    fields = "".join(f"    f{number} as m{number}.T\n" for number in range(min(imported, TYPE_MEMBERS)))
    program = f"module app\n{imports}type All\n{fields}"
    if by <= 0:
        assert len(accepted(program, **others)["modules"]) == SOURCE_FILES + by
    else:
        refused(program, "TB9005", f"{1 + imported}:8", f"{SOURCE_FILES:,}", **others)


# --- nesting ----------------------------------------------------------------------------------------------------------


@three_cases("bracket_depth")
def test_brackets_inside_each_other(by: int) -> None:
    depth = BRACKET_DEPTH + by
    program = function("give " + "(" * depth + "n" + ")" * depth)
    judged(program, by, "TB9002", f"6:{13 + depth}", str(BRACKET_DEPTH))


@pytest.mark.parametrize("bracket", ["[", "f(", "{"])
@three_cases("bracket_depth")
def test_every_kind_of_bracket_counts(by: int, bracket: str) -> None:
    depth = BRACKET_DEPTH + by - 1  # `length(` is one more
    opening, closing = {"[": ("[", "]"), "f(": ("text(", ")"), "{": ("[", "]")}[bracket]
    inner = "n" if bracket == "f(" else "[n]" if bracket == "[" else '{"a": n}'
    if bracket != "f(":
        depth -= 1
    whole = "length(" + opening * depth + inner + closing * depth + ")"
    found = compiled(function(f"give {whole}"))
    codes = [each.code for each in found.diagnostics]
    # A List of more than 32 Lists is no type that can be: what matters is that no bracket is refused up to the limit.
    assert ("TB9002" in codes) == (by > 0)


@three_cases("block_depth")
def test_blocks_inside_each_other(by: int) -> None:
    depth = BLOCK_DEPTH + by - 2  # the function and its `do` are blocks too
    lines = ["    " * level + f"if n > {level}" for level in range(depth)]
    program = function("\n".join([*lines, "    " * depth + "give 1", "give 2"]))
    judged(program, by, "TB9003", f"{6 + depth}:{9 + 4 * depth}", str(BLOCK_DEPTH))


@three_cases("expression_depth")
def test_operations_inside_each_other(by: int) -> None:
    levels = EXPRESSION_DEPTH + by  # the comparison and its operands are two of them
    program = function("give " + "not " * (levels - 2) + "n > 1", gives="Bool")
    judged(program, by, "TB9006", "6:14", str(EXPRESSION_DEPTH))


@three_cases("interpolation_depth")
def test_interpolations_inside_each_other(by: int) -> None:
    text = "a"
    for _ in range(INTERPOLATION_DEPTH + by):
        text = f'"{{{text}}}"'
    program = function(f"give {text}", takes="a as Text", gives="Text")
    judged(program, by, "TB9004", f"6:{15 + 2 * INTERPOLATION_DEPTH}", str(INTERPOLATION_DEPTH))


@three_cases("type_depth")
def test_types_inside_each_other(by: int) -> None:
    program = "module app\ntype A\n    a as " + "List of " * (TYPE_DEPTH + by) + "Int\n"
    judged(program, by, "TB9006", "3:10", str(TYPE_DEPTH))


@three_cases("type_depth")
def test_aliases_count_to_the_depth_of_types(by: int) -> None:
    rows = TYPE_DEPTH // 2  # of them the first has one level, all others add two
    aliases = "type A0 is List of Int\n" + "".join(f"type A{at} is List of A{at - 1}\n" for at in range(1, rows))
    use = {-1: "Int", 0: f"A{rows - 1}", 1: f"List of A{rows - 1}"}[by]
    judged(f"module app\n{aliases}type Use\n    a as {use}\n", by, "TB9006", f"{3 + rows}:10", str(TYPE_DEPTH))


# --- sizes of declarations --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["record", "choice", "variant"])
@three_cases("type_members")
def test_members_of_a_type(by: int, kind: str) -> None:
    count = TYPE_MEMBERS + by
    if kind == "record":
        program = "module app\ntype R\n" + "".join(f"    f{number} as Int\n" for number in range(count))
        place = f"{2 + count}:5"
    elif kind == "choice":
        program = "module app\nchoice C\n" + "".join(f"    V{number}\n" for number in range(count))
        place = f"{2 + count}:5"
    else:
        fields = [f"f{number} as Int" for number in range(count)]
        program = f"module app\nchoice C\n    V with {', '.join(fields)}\n    W\n"
        place = f"3:{12 + len(', '.join(fields[:-1])) + 2}"
    if by <= 0:
        assert read_program(write_program(accepted(program))).types
    else:
        refused(program, "TB9007", place, f"{TYPE_MEMBERS:,}")


@three_cases("left_out_fields")
def test_fields_that_a_program_leaves_out(by: int) -> None:
    wide = "type R\n" + "".join(f"    f{number} as Optional Int\n" for number in range(1_000))
    short = "type S\n" + "".join(f"    f{number} as Optional Int\n" for number in range(1_000 + by))
    sites = LEFT_OUT_FIELDS // 1_000 - 1
    lines = [*(f"let _r{number} = R()" for number in range(sites)), "let _s = S()"]
    if by > 0:  # a record has at most 1,000 fields; one more is left out beside it
        short = short.replace(f"    f{1_000} as Optional Int\n", "") + "type T\n    g as Optional Int\n"
        lines.append("let _t = T()")
    program = function("\n".join([*lines, "give n"]), before=wide + short)
    head = program.split("    do\n")[0].count("\n") + 1
    judged(program, by, "TB9008", f"{head + len(lines)}:18", f"{LEFT_OUT_FIELDS:,}")


@three_cases("callable_slots")
def test_slots_of_a_callable(by: int) -> None:
    names = [f"let _a{number} = 1" for number in range(CALLABLE_SLOTS + by - 1)]  # the input is one
    program = function("\n".join([*names, "give n"]))
    if by <= 0:
        air = read_program(write_program(accepted(program)))
        assert len(air.callables["function:app/Main"].slots) == CALLABLE_SLOTS + by
    else:
        refused(program, "TB9009", "2:10", f"{CALLABLE_SLOTS:,}")


# --- patterns ---------------------------------------------------------------------------------------------------------


def pattern(text: str) -> str:
    return f'module app\ntype A is Text matching "{text}"\n'


@three_cases("pattern_characters")
def test_characters_of_a_pattern(by: int) -> None:
    judged(pattern("[" + "a" * (PATTERN_CHARACTERS + by - 2) + "]"), by, "TB4006", "2:26", "no pattern")


def test_the_length_of_a_pattern_is_named() -> None:
    (problem,) = compiled(pattern("[" + "a" * PATTERN_CHARACTERS + "]")).diagnostics
    assert str(PATTERN_CHARACTERS) in problem.label + (problem.help or "")


@three_cases("pattern_depth")
def test_groups_inside_each_other_in_a_pattern(by: int) -> None:
    depth = PATTERN_DEPTH + by - 1  # the whole is a level, too
    found = compiled(pattern("(" * depth + "a" + ")" * depth))
    assert [each.code for each in found.diagnostics] == ([] if by <= 0 else ["TB4006"])
    assert by <= 0 or str(PATTERN_DEPTH) in found.diagnostics[0].label


def states(count: int) -> str:
    """A pattern whose automaton has so many states."""
    return f"a{{{count - 1}}}"


@three_cases("pattern_states")
def test_states_of_a_pattern(by: int) -> None:
    found = compiled(pattern(states(PATTERN_STATES + by)))
    assert [each.code for each in found.diagnostics] == ([] if by <= 0 else ["TB4006"])
    assert by <= 0 or str(PATTERN_STATES) in found.diagnostics[0].label


@three_cases("all_pattern_states")
def test_states_of_all_patterns(by: int) -> None:
    most = ALL_PATTERN_STATES // PATTERN_STATES
    texts = [states(PATTERN_STATES).replace("a", chr(ord("a") + number)) for number in range(most - 1)]
    texts += [states(PATTERN_STATES - 10).replace("a", "A"), states(10 + by).replace("a", "B")]
    lines = "".join(f'type T{number} is Text matching "{text}"\n' for number, text in enumerate(texts))
    judged(f"module app\n{lines}", by, "TB9010", f"{1 + len(texts)}:27", f"{ALL_PATTERN_STATES:,}")


# --- figures that a program writes ------------------------------------------------------------------------------------

AGENT = 'module app\nagent Clerk\n    gives Text\n    responsibility "Write."\n'
TRIGGER = 'module app\nstrategy S\n    do\n        show "a"\ntrigger T\n    on event "told"\n    starts strategy S\n    quota {} per day\n'
EACH = (
    "module app\nstrategy S\n    takes ids as List of Int\n    gives List of Int\n    do\n"
    "        give parallel for each id in ids at most {} at once\n            give id\n"
)
#: limit → a program with a figure in it, and where the figure stands
FIGURES = {
    "agent_steps": (AGENT + "    steps {}\n", "5:11"),
    "agent_provider_calls": (AGENT + "    provider_calls {}\n", "5:20"),
    "trigger_quota": (TRIGGER, "8:11"),
    "group_limit": (EACH, "6:50"),
}


def figure(limit: str, value: int, code: str | None, says: str = "") -> None:
    program, place = FIGURES[limit]
    if code is None:
        assert read_program(write_program(accepted(program.format(value)))).callables
    else:
        refused(program.format(value), code, place, says)


@three_cases("agent_steps")
def test_steps_of_an_agent(by: int) -> None:
    row = LIMITS["agent_steps"]
    figure("agent_steps", row.highest + by, "TB4010" if by > 0 else None, f"{row.highest}")
    figure("agent_steps", row.lowest - by, "TB4010" if by > 0 else None, f"{row.lowest} to")
    agent = accepted(AGENT)["callables"]["agent:app/Clerk"]
    assert (agent["steps"], agent["provider_calls"]) == (row.default, LIMITS["agent_provider_calls"].default)


@three_cases("agent_provider_calls")
def test_provider_calls_of_an_agent(by: int) -> None:
    row = LIMITS["agent_provider_calls"]
    figure("agent_provider_calls", row.highest + by, "TB4010" if by > 0 else None, f"{row.highest}")
    figure("agent_provider_calls", row.lowest - by, "TB4010" if by > 0 else None, f"{row.lowest} to")
    most = accepted(AGENT + f"    steps {LIMITS['agent_steps'].highest}\n")["callables"]["agent:app/Clerk"]
    assert most["provider_calls"] == 2 * LIMITS["agent_steps"].highest + 1


@three_cases("trigger_quota")
def test_events_of_a_quota(by: int) -> None:
    row = LIMITS["trigger_quota"]
    figure("trigger_quota", row.highest + by, "TB4010" if by > 0 else None, f"{row.highest}")
    figure("trigger_quota", row.lowest - by, "TB4010" if by > 0 else None, f"{row.lowest} to")


@three_cases("group_limit")
def test_branches_at_once(by: int) -> None:
    row = LIMITS["group_limit"]
    figure("group_limit", row.highest + by, "TB4010" if by > 0 else None, f"{row.highest:,}")
    figure("group_limit", row.lowest - by, "TB4010" if by > 0 else None, "at least one")


@pytest.mark.parametrize(
    ("written", "milliseconds"),
    [("1 days", 86_400_000), ("24 hours", 86_400_000), ("86_399 seconds", 86_399_000), ("1 seconds", 1_000)],
)
def test_time_outs_that_a_program_may_name(written: str, milliseconds: int) -> None:
    air = accepted(f"module app\ntool T\n    gives Int\n    timeout {written}\n")
    assert air["callables"]["tool:app/T"]["timeout_ms"] == milliseconds


@pytest.mark.parametrize("written", ["0 seconds", "86_401 seconds", "2 days", "999_999_999 days", "9_000_000_000 days"])
def test_time_outs_that_no_program_may_name(written: str) -> None:
    refused(f"module app\ntool T\n    gives Int\n    timeout {written}\n", "TB4010", "4:13", "at most 24 hours")


# --- what is shown of mistakes ----------------------------------------------------------------------------------------


@three_cases("diagnostics_shown")
def test_problems_that_are_shown(project: Project, by: int) -> None:
    count = DIAGNOSTICS_SHOWN + by
    lines = "".join(f"        let _a{number} as Int = unknown{number}\n" for number in range(count))
    project.write("app.tb", f"module app\n\nfunction F\n    gives Int\n    do\n{lines}        give 1\n")
    done = project.touba("check", "app.tb")
    shown = done.stdout.decode() + done.stderr
    assert shown.count("error[TB3001]") == min(count, DIAGNOSTICS_SHOWN)
    assert ("and 1 more: 1 in app.tb" in shown) == (by > 0)
    whole = project.touba("check", "app.tb", "--json")
    assert len(whole.document["diagnostics"]) == count


def test_a_file_on_disk_is_read_no_further_than_its_limit(tmp_path: Path) -> None:
    (tmp_path / "app.tb").write_bytes(b"\xff" * (SOURCE_BYTES + 10))
    (problem,) = compile_program(ProjectSources(str(tmp_path)), "app.tb").diagnostics
    assert problem.code == "TB9001"
