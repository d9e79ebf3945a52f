"""What is said to somebody who is new: the message names the mistake, where it is and what to write instead."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.shell_kit import Project, air, calling, coded, tool

RECORD = {
    "type:app/Trip": {
        "kind": "record",
        "fields": [
            {"name": "city", "type": "Text"},
            {"name": "days", "type": "Int"},
            {"name": "budget", "type": "Decimal"},
        ],
    }
}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def trip() -> bytes:
    """A program that takes a record and a number."""
    code = [["give", ["slot", 1]]]
    return air({"strategy:app/Main": coded(code, takes={"trip": "type:app/Trip", "n": "Int"})}, RECORD)


# --- inputs -----------------------------------------------------------------------------------------------------------


def test_all_wrong_inputs_are_named_at_once(project: Project) -> None:
    project.write("app.air.json", trip())
    given = {"trip": {"city": 1, "dais": 3, "budget": True}, "m": 1}
    message = project.touba("run", "--air=app.air.json", f"--inputs={json.dumps({'trip': given['trip']})}", "--json")
    said = message.refused("InputInvalid", 4)
    for part in ("trip.dais: ", "did you mean `days`?", "trip.city: ", "trip.days: ", "trip.budget: ", "`n` of"):
        assert part in said
    assert message.error["hint"] == "Add `n` to the inputs. Correct what is wrong at the paths given."


@pytest.mark.parametrize(
    ("given", "said", "hint"),
    [
        (
            {"tirp": {}, "m": 1, "n": "x"},
            ["has no inputs `tirp`, `m`; it takes `trip`, `n`", "; n: "],
            "Did you mean `trip` for `tirp`? Correct what is wrong at the paths given.",
        ),
        ({"tirp": {}, "N": 1}, ["no inputs `tirp`, `N`"], "Did you mean `trip` for `tirp`, `n` for `N`?"),
        ({"other": 1}, ["no input `other`; ", "; the inputs `trip`, `n` of "], "Add `trip`, `n` to the inputs."),
    ],
)
def test_unknown_inputs_hide_no_other_fault(project: Project, given: object, said: list[str], hint: str) -> None:
    project.write("app.air.json", trip())
    done = project.touba("run", "--air=app.air.json", f"--inputs={json.dumps(given)}", "--json")
    message = done.refused("InputInvalid", 4)
    assert [part for part in said if part not in message] == []
    assert ("missing" in message) == ("Add" in hint)
    assert done.error["hint"] == hint


def test_many_unknown_inputs_are_counted(project: Project) -> None:
    project.write("app.air.json", trip())
    project.write("many.json", json.dumps({f"input{number}": 0 for number in range(100_000)}))
    done = project.touba("run", "--air=app.air.json", "--inputs=@many.json", "--json")
    assert "`input9` and 99990 more; it takes `trip`, `n`; " in done.refused("InputInvalid", 4)
    assert done.error["hint"] == "Add `trip`, `n` to the inputs."


def test_past_a_few_faults_their_number_is_told(project: Project) -> None:
    names = [f"n{number}" for number in range(9)]
    code = [["give", ["slot", 0]]]
    project.write("app.air.json", air({"strategy:app/Main": coded(code, takes=dict.fromkeys(names, "Int"))}))
    done = project.touba("run", "--air=app.air.json", f"--inputs={json.dumps(dict.fromkeys(names, 'x'))}", "--json")
    assert done.refused("InputInvalid", 4).endswith("; and 4 more")
    done = project.touba("run", "--air=app.air.json", "--json")
    assert all(f"`{name}`" in done.refused("InputInvalid", 4) for name in names)
    assert "`n8`" in done.error["hint"]


def test_a_file_in_the_place_of_json_is_told_how_to_be_named(project: Project) -> None:
    project.write("app.air.json", trip())
    done = project.touba("run", "--air=app.air.json", "--inputs=trip.json", "--json")
    done.refused("JsonInvalid", 2)
    assert done.error["hint"] == "Did you mean the file: --inputs=@trip.json?"


# --- files ------------------------------------------------------------------------------------------------------------


def test_a_compiled_program_in_the_place_of_a_text_is_told_its_option(project: Project) -> None:
    project.write("app.air.json", calling())
    done = project.touba("run", "app.air.json", "--json")
    done.refused("UsageError", 2)
    assert "--air=app.air.json" in done.error["hint"]


@pytest.mark.parametrize(("written", "meant"), [("shop", "shop.tb"), ("shpo.tb", "shop.tb"), ("gone.tb", None)])
def test_a_program_beside_the_one_that_is_missing_is_proposed(project: Project, written: str, meant: str) -> None:
    project.write("shop.tb", "module shop\n")
    done = project.touba("run", written, "--json")
    done.refused("FileUnreadable", 2)
    assert done.error["hint"].startswith(f"Did you mean `{meant}`? It was " if meant else "It was ")


def test_a_file_of_json_that_is_missing_names_the_folder_that_was_searched(project: Project) -> None:
    project.write("app.air.json", trip())
    done = project.touba("run", "--air=app.air.json", "--inputs=@gone.json", "--json")
    done.refused("FileUnreadable", 2)
    assert done.error["hint"] == f"It was looked for in the current folder, `{os.path.realpath(project.folder)}`."
    assert "the path of @FILE is taken from the current folder" in project.touba("run", "--help").stdout.decode()


def test_a_module_beside_a_program_in_a_folder_proposes_the_project_root(project: Project) -> None:
    project.folder.joinpath("shop", "deep").mkdir(parents=True)
    project.write("shop/types.tb", "module types\n\ntype A\n    x as Int\n")
    main = "module deep.main\n\nfrom types import A\n\nfunction F\n    takes a as A\n    gives Int\n    do\n        give a.x\n"
    project.write("shop/deep/main.tb", main)
    done = project.touba("check", "shop/deep/main.tb")
    assert done.code == 3
    assert "`shop/types.tb` exists: did you mean `--project-root=shop`?" in done.stderr
    assert "from `shop` the program is `deep/main.tb`" in done.stderr
    assert project.touba("check", "--project-root=shop", "deep/main.tb").code == 0


def test_an_option_without_a_near_one_names_the_list(project: Project) -> None:
    done = project.touba("run", "-i", "--json")
    done.refused("OptionUnknown", 2)
    assert done.error["hint"] == "`touba run --help` lists the options."


def test_no_hint_stands_under_the_words_of_the_program(project: Project) -> None:
    project.write("app.tb", 'module app\n\nstrategy Run\n    do\n        fail "The shop is closed"\n')
    assert "hint" not in project.touba("run", "app.tb").stderr
    assert project.touba("run", "app.tb", "--json").error["hint"] == "Its own words are in `explanation`."


def test_a_program_that_is_missing_names_the_folder_that_was_searched(project: Project) -> None:
    done = project.touba("run", "gone.tb", "--json")
    done.refused("FileUnreadable", 2)
    assert str(project.folder) in done.error["hint"]


def test_an_output_in_a_missing_folder_names_the_folder(project: Project) -> None:
    project.write("app.tb", "module app\n\nfunction F\n    gives Int\n    do\n        give 1\n")
    done = project.touba("compile", "app.tb", "--out=x/a.json", "--json")
    assert "the folder `x` does not exist" in done.refused("FileUnwritable", 2)


def test_a_link_is_followed_and_a_pipe_stays_one(project: Project) -> None:
    project.write("app.tb", "module app\n\nfunction F\n    gives Int\n    do\n        give 1\n")
    (project.folder / "link.json").symlink_to("real.json")
    os.mkfifo(project.folder / "pipe")
    assert project.touba("compile", "app.tb", "--out=link.json").code == 0
    assert (project.folder / "link.json").is_symlink()
    assert json.loads((project.folder / "real.json").read_text())["protocol"] == "touba-air-v1"
    reader = os.open(project.folder / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    assert project.touba("compile", "app.tb", "--out=pipe").code == 0
    assert json.loads(os.read(reader, 1 << 20))["protocol"] == "touba-air-v1"
    os.close(reader)
    assert (project.folder / "pipe").is_fifo()


def test_a_module_that_is_missing_names_the_places(project: Project) -> None:
    project.write("app.tb", "module app\n\nimport shop.prices\n\nfunction F\n    gives Int\n    do\n        give 1\n")
    (found,) = project.touba("check", "app.tb", "--json").document["diagnostics"]
    assert found["title"] == (
        "no module `shop.prices` exists; it was looked for as `shop/prices.tb` and `src/shop/prices.tb`"
    )


def test_an_optional_argument_that_is_left_out_is_proposed_as_none(project: Project) -> None:
    project.write(
        "app.tb",
        "module app\n\nfunction Sum\n    takes net as Int, more as Optional Int\n    gives Int\n    do\n"
        "        give net + (more otherwise 0)\n\nfunction F\n    gives Int\n    do\n        give Sum(net: 1)\n",
    )
    (found,) = project.touba("check", "app.tb", "--json").document["diagnostics"]
    assert (found["code"], found["label"]) == ("TB4003", "add `more: none`")


# --- manifest and secrets ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"handlr": {}}, "did you mean `handler`?"),
        ({"colour": 1}, "there are `handler`, `grants`, `secrets`, `environment`, `limits`"),
    ],
)
def test_a_manifest_of_a_wrong_shape_is_named_with_its_members(
    project: Project, entry: dict[str, Any], said: str
) -> None:
    project.handler("", answer="ok(1)", **entry)
    message = project.call().refused("DocumentInvalid", 2)
    assert message.startswith("the manifest `manifest.json`, $.tools")
    assert said in message


def test_a_misspelt_secret_of_the_manifest_is_asked_about(project: Project) -> None:
    project.handler("", answer="ok(1)", secrets={"bank_tokn": "BANK"})
    done = project.call(program=calling(secrets=["bank_token"]))
    assert "it binds one to `bank_tokn`: did you mean `bank_token`?" in done.refused("SecretMissing", 4)


def test_what_a_tool_does_not_ask_for_is_a_warning(project: Project) -> None:
    project.handler("", answer="ok(1)", secrets={"bank_token": "BANK"}, grants=["network"])
    warnings = project.call().document["warnings"]
    assert [each["code"] for each in warnings] == ["SecretUnused", "GrantUnused"]
    assert "`bank_token` of tool:app/Tool" in warnings[0]["message"]
    assert "`network` to tool:app/Tool" in warnings[1]["message"]


def test_hints_serve_callers_from_python_and_at_a_terminal(project: Project) -> None:
    project.write("app.air.json", calling())
    done = project.touba("run", "--air=app.air.json", '--inputs={"value":1}', "--json")
    done.refused("ToolUnbound", 4)
    assert done.error["hint"] == "Name it: `manifest` in Python, --manifest=FILE at a terminal."


def test_python3_is_the_interpreter_of_the_engine_too(project: Project) -> None:
    project.handler("", answer="ok(7)")
    project.bind(["python3", "handlers/tool.py"])
    assert project.call(env={"PATH": "/nowhere"}).document["result"] == 7


# --- handlers ---------------------------------------------------------------------------------------------------------


def test_a_script_that_never_serves_is_told_how(project: Project) -> None:
    project.handler("if __name__ == 'main':\n    raise SystemExit(3)")
    message = project.call().refused("ToolExited", 5)
    assert (
        "a script serves its tool when it calls `define_tool(..., run=...)`, or `NAME.main()` of a function that "
        "`define_tool` decorates, as it is run" in message
    )


def test_a_script_without_an_interpreter_is_told_how(project: Project) -> None:
    project.handler("", answer="ok(7)")
    project.bind(["handlers/tool.py"])
    done = project.call()
    assert "`handlers/tool.py` of" in done.refused("HandlerMissing", 4)
    assert done.error["hint"] == 'Write `["python", "handlers/tool.py"]` as its command.'


@pytest.mark.parametrize(
    ("limits", "more", "place"),
    [
        ({"timeout_ms": 200}, {}, "200 ms, `limits.timeout_ms` in the manifest"),
        ({}, {"timeout_ms": 210}, "210 ms, `timeout` in the program"),
    ],
)
def test_a_time_out_tells_the_time_and_where_it_is_set(
    project: Project, limits: dict[str, int], more: dict[str, Any], place: str
) -> None:
    project.handler("time.sleep(30)", limits=limits)
    assert place in project.call(program=calling(**more)).refused("ToolTimeout", 5)


def test_a_deadline_tells_the_time(project: Project) -> None:
    project.handler("time.sleep(30)")
    message = project.call('--run-limits={"deadline_ms":300}').refused("DeadlineExceeded", 5)
    assert message.startswith("the run took longer than its deadline of 300 ms (`deadline_ms` of `run_limits`)")


@pytest.mark.parametrize("code", ["HandlerRefused", "ToolRefMismatch"])
def test_wrong_wiring_is_never_a_result_of_the_program(project: Project, code: str) -> None:
    caught: list[list[Any]] = [
        ["attempt", 4, 2],
        ["call", 1, 1, "tool:app/Tool", [["slot", 0]]],
        ["leave"],
        ["give", ["slot", 1]],
        ["give", ["int", -1]],
    ]
    program = air({
        "strategy:app/Main": coded(caught, takes={"value": "Int"}, slots=("Int", "type:touba/Problem")),
        "tool:app/Tool": tool(takes={"value": "Int"}),
    })  # fmt: skip
    project.handler("", answer="failed('Own')")
    assert project.call(program=program).document["result"] == -1
    project.handler("", answer=f"failed('{code}')")
    project.call(program=program).refused(code, 5)


def test_log_and_progress_are_text_and_name_their_tool(project: Project) -> None:
    line = '{"protocol":"touba-progress-v1","call_id":"1",'
    lines = [
        line + '"kind":"log","level":"warning","message":"slow"}',
        line + '"kind":"progress","message":"page","done":3,"total":10}',
        line + '"kind":"progress","message":"half","done":0.5}',
        line + '"kind":"log","level":"info"}',
        line,
    ]
    project.handler("sys.stderr.write(" + repr("\n".join(lines) + "\n") + ")", answer="ok(1)")
    assert project.call().stderr.splitlines() == [
        "[app/Tool] warning: slow",
        "[app/Tool] progress: page (3 of 10)",
        "[app/Tool] progress: half (0.5)",
        "[app/Tool] " + lines[3],
        "[app/Tool] " + lines[4],
    ]


# --- help -------------------------------------------------------------------------------------------------------------


def test_help_is_a_command_too(project: Project) -> None:
    assert project.touba("help").stdout == project.touba("--help").stdout
    assert project.touba("help", "run").stdout == project.touba("run", "--help").stdout
    text = project.touba("help", "run").stdout.decode()
    for member in ("max_steps", "max_depth", "max_external_calls", "max_value_bytes", "deadline_ms"):
        assert member in text
    assert "MEMBERS" not in text
    assert project.touba("help", "frobnicate").code == 2
