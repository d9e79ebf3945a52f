"""`touba check`, `compile`, `version`, help, and programs from their source to their result."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.shell_kit import ROOT, Project, request
from touba_cli import __version__
from touba_cli.commands.help import COMMANDS
from touba_cli.documents import check_document
from touba_cli.options import options_of

GREETING = """\
module app

strategy Main
    takes value as Text
    gives Text
    do
        give "Hello {value}"
"""

WARNING = GREETING.replace("        give", "        let unused = 1\n        give")
BROKEN = GREETING.replace("{value}", "{missing}")

SDK_PROGRAM = """\
module app

type Line
    name as Text
    amount as Decimal

tool Total
    takes lines as List of Line
    gives Decimal

strategy Main
    takes lines as List of Line
    gives Decimal
    do
        show "{length(lines)} lines"
        let total = call Total(lines)
        require total > 0 else "the total is {total}"
        give total
"""

SDK_HANDLER = f"""\
import sys
sys.path.insert(0, {str(ROOT)!r})
from decimal import Decimal
from touba_sdk import define_tool

def run(lines, context):
    print("this goes to standard error")
    return sum(Decimal(line["amount"]) for line in lines)

define_tool(
    tool_ref="tool:app/Total",
    input_signature=[{{"name": "lines", "type_ref": "List of type:app/Line"}}],
    output_type="Decimal",
    run=run,
)
"""


#: uses what is compiled and not run
LATER = """module later

tool Pay
    takes id as Text
    effect write key id

agent Helper
    takes question as Text
    responsibility "Help."

strategy Run
    gives Text
    do
        let a = call Helper("Why?")
        human.approve "Go?"
        give a

trigger Now
    on event "now"
    starts strategy Run

test "it goes"
    given human.approve answers approve
    given agent Helper decides
        answer "So."
    run Run()
    expect status is success
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


# --- check ------------------------------------------------------------------------------------------------------------


def test_check_says_that_nothing_was_found(project: Project) -> None:
    project.write("app.tb", GREETING)
    done = project.touba("check", "app.tb")
    assert (done.stdout, done.stderr, done.code) == (b"no problems found\n", "", 0)
    document = project.touba("check", "app.tb", "--json").document
    assert document == {"protocol": "touba-check-v1", "diagnostics": [], "not_run": [], "error": None}


def test_check_says_what_this_version_does_not_run(project: Project) -> None:
    project.write("later.tb", LATER)
    done = project.touba("check", "later.tb")
    assert (done.code, done.stdout) == (0, b"no problems found\n")
    missing = (
        "`effect write key …` (later.tb:5:22), an agent (later.tb:14:17), `human.approve` (later.tb:15:9), "
        "a trigger (trigger:later/Now)"
    )
    assert done.stderr == (
        f"note: this version checks and compiles, and cannot run yet: {missing}, `test` (later.tb:22:1)\n"
    )
    document = project.touba("check", "later.tb", "--json").document
    assert check_document("touba-check-v1", document) is None
    assert document["diagnostics"] == []
    assert ", ".join(document["not_run"]) == f"{missing}, `test` (later.tb:22:1)"
    ended = project.touba("run", "later.tb", "--json")
    assert ended.refused("FeatureUnavailable", 4) == (
        f"this version does not run {missing}; missing features: `agents`, `approve`, `keys`, `triggers`"
    )
    assert ended.error["hint"] == "This version checks and compiles it, and cannot run it yet."


def test_check_reports_warnings_and_counts_them_only_when_asked(project: Project) -> None:
    project.write("app.tb", WARNING)
    done = project.touba("check", "app.tb")
    assert (done.stdout, done.code) == (b"", 0)
    assert "app.tb:7:13" in done.stderr
    assert done.stderr.endswith("0 errors, 1 warning\n")
    assert project.touba("check", "app.tb", "--warnings-as-errors").code == 1
    document = project.touba("check", "app.tb", "--json").document
    assert [(each["code"], each["line"]) for each in document["diagnostics"]] == [("TB8001", 7)]
    assert document["error"] is None


def test_check_reports_errors(project: Project) -> None:
    project.write("app.tb", BROKEN)
    done = project.touba("check", "app.tb", "--json")
    assert done.code == 3
    assert [each["code"] for each in done.document["diagnostics"]] == ["TB3001"]
    assert (done.error["code"], done.error["phase"], done.error["diagnostics"]) == ("CompileFailed", "compile", [])
    at_terminal = project.touba("check", "app.tb")
    assert at_terminal.code == 3
    assert "TB3001" in at_terminal.stderr
    assert "^^^^^^^" in at_terminal.stderr


def test_check_takes_a_request(project: Project) -> None:
    project.write("inner/app.tb", GREETING)
    done = project.touba("check", "--request=-", "--project-root=inner", stdin=request({"source": "app.tb"}))
    assert done.document["error"] is None


# --- compile ----------------------------------------------------------------------------------------------------------


def test_compile_writes_air_that_runs(project: Project) -> None:
    project.write("app.tb", GREETING)
    document = project.touba("compile", "app.tb", "--json").document
    assert document["digest"] == document["air"]["digest"]
    piped = project.touba("compile", "app.tb")
    assert json.loads(piped.stdout) == document["air"]
    named = project.touba("compile", "app.tb", "--out=app.air.json")
    assert named.stdout.decode() == f"app.air.json: {document['digest']}\n"
    assert (project.folder / "app.air.json").read_bytes() == piped.stdout
    run = project.touba("run", "--air=app.air.json", '--inputs={"value":"you"}', "--json")
    assert run.document["result"] == "Hello you"


def test_compile_refuses_and_leaves_the_file_as_it_was(project: Project) -> None:
    project.write("app.tb", BROKEN)
    project.write("app.air.json", "before")
    done = project.touba("compile", "app.tb", "--out=app.air.json", "--json")
    done.refused("CompileFailed", 3)
    assert done.document["air"] is None
    assert [each["code"] for each in done.document["diagnostics"]] == ["TB3001"]
    assert (project.folder / "app.air.json").read_text() == "before"
    assert "TB3001" in project.touba("compile", "app.tb").stderr


def test_compile_names_a_file_that_cannot_be_written(project: Project) -> None:
    project.write("app.tb", GREETING)
    project.touba("compile", "app.tb", "--out=missing/app.json", "--json").refused("FileUnwritable", 2)


@pytest.mark.parametrize("command", ["check", "compile", "run"])
def test_sources_that_are_not_there_or_outside_are_refused(project: Project, command: str) -> None:
    project.write("inner/app.tb", GREETING)
    project.write("outside.tb", GREETING)
    project.touba(command, "nothing.tb", "--json").refused("FileUnreadable", 2)
    project.touba(command, "inner", "--json").refused("FileUnreadable", 2)
    project.touba(command, "../outside.tb", "--project-root=inner", "--json").refused("PathOutsideProject", 4)
    project.touba(command, "--json").refused("UsageError", 2)
    done = project.touba(command, "inner/app.tb", "--project-root=inner", "--json")
    done.refused("FileUnreadable", 2)
    assert "project root" in done.error["hint"]


SOURCES = {
    "empty": b"",
    "zeros": b"\0" * 1000,
    "binary": bytes(range(256)) * 12,
    "long line": b"x" * 900_000,
    "10 MB": b"x" * 10_000_000,
    "deep brackets": b"module app\nfunction F\n    gives Int\n    do\n        give " + b"(" * 100_000,
    "deep blocks": b"module app\n" + b"".join(b" " * (4 * depth) + b"if true\n" for depth in range(400)),
    "long sum": b"module app\nfunction F\n    gives Int\n    do\n        give 1" + b" + 1" * 100_000,
    "carriage returns": b"module app\r" * 50,
    "mark only": b"\xef\xbb\xbf",
    "other language": b"def main():\n\treturn 1\n",
}


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("command", ["check", "run"])
def test_any_bytes_as_a_program_give_diagnostics(project: Project, command: str, name: str) -> None:
    project.write("app.tb", SOURCES[name])
    done = project.touba(command, "app.tb", "--json")
    document = done.document
    if name == "long sum":
        assert document["error"] is None
        return
    assert done.code == 3
    assert (document.get("diagnostics") or document["error"]["diagnostics"])[0]["code"].startswith("TB")


# --- run --------------------------------------------------------------------------------------------------------------


def test_a_program_runs_from_its_source(project: Project) -> None:
    project.write("app.tb", GREETING)
    assert project.touba("run", "app.tb", '--inputs={"value":"x"}', "--json").document["result"] == "Hello x"
    assert project.touba("run", "app.tb", "--inputs=-", stdin=b'{"value":"you"}').stdout == b"Hello you\n"


def test_a_program_of_several_files_runs_from_its_source(project: Project) -> None:
    project.write(
        "app.tb",
        GREETING.replace("module app\n", "module app\n\nfrom lib.words import Greet\n").replace(
            '"Hello {value}"', "Greet(value)"
        ),
    )
    words = (
        'module lib.words\n\nfunction Greet\n    takes name as Text\n    gives Text\n    do\n        give "Hi {name}"\n'
    )
    project.write("src/lib/words.tb", words)
    assert project.touba("run", "app.tb", '--inputs={"value":"x"}', "--json").document["result"] == "Hi x"


def test_a_program_with_errors_does_not_run(project: Project) -> None:
    project.write("app.tb", BROKEN)
    done = project.touba("run", "app.tb", '--inputs={"value":"x"}', "--json")
    done.refused("CompileFailed", 3)
    assert [each["code"] for each in done.error["diagnostics"]] == ["TB3001"]
    at_terminal = project.touba("run", "app.tb")
    assert at_terminal.code == 3
    assert "TB3001" in at_terminal.stderr


def test_a_handler_of_the_sdk_serves_a_program(project: Project) -> None:
    project.write("app.tb", SDK_PROGRAM)
    project.write("handlers/total.py", SDK_HANDLER)
    handler = {"kind": "process", "command": ["python", "handlers/total.py"]}
    project.write("manifest.json", {"protocol": "touba-manifest-v1", "tools": {"tool:app/Total": {"handler": handler}}})
    project.write("inputs.json", {"lines": [{"name": "a", "amount": "1.10"}, {"name": "b", "amount": 2.2}]})
    words = ["run", "app.tb", "--manifest=manifest.json", "--inputs=@inputs.json"]
    done = project.touba(*words, "--json")
    assert done.document["result"] == "3.30"
    assert [message["text"] for message in done.document["messages"]] == ["2 lines"]
    assert done.stderr == "[app/Total] this goes to standard error\n"
    project.write("inputs.json", {"lines": []})
    refused = project.touba(*words, "--json")
    refused.refused("RequirementFailed", 5)
    assert refused.document["explanation"]["text"] == "the total is 0"


# --- version and help -------------------------------------------------------------------------------------------------


def test_version_says_what_this_is(project: Project) -> None:
    document = project.touba("version", "--json").document
    assert document["version"] == __version__
    assert "touba-run-request-v1" in document["protocols"]
    assert project.touba("version").stdout.startswith(f"touba {__version__} ".encode())
    assert project.touba("--version").stdout == project.touba("version").stdout
    project.touba("version", "--json", "--quick").refused("OptionUnknown", 2)


def test_help_fits_one_screen_and_lists_every_command(project: Project) -> None:
    done = project.touba("--help")
    lines = done.stdout.decode().splitlines()
    assert done.code == 0
    assert len(lines) <= 24
    assert all(len(line) <= 90 for line in lines)
    assert all(any(line.split()[:1] == [name] for line in lines) for name in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_lists_its_options(project: Project, command: str) -> None:
    text = project.touba(command, "--help").stdout.decode()
    positional = {"source": "PROGRAM.tb", "files": "FILES", "expression": "EXPRESSION"}
    for row in options_of(command, "cli"):
        assert positional.get(row.name, row.flag) in text
        assert row.name in positional or row.sentence in text
