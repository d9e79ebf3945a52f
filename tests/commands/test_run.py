"""`touba run` as a process: envelope, exit codes, files, requests, and what a terminal sees."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.shell_kit import ROOT, Project, air, calling, coded, command, environment, request, tool
from touba_cli.runtime.events import verify_trace


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def echo(form: Any = "Int", **more: Any) -> bytes:
    """A program that gives its input back."""
    return air({"strategy:app/Main": coded([["give", ["slot", 0]]], takes={"value": form}, gives=form)}, **more)


def ending(code: list[list[Any]], gives: Any = "Int", slots: tuple[Any, ...] = ()) -> bytes:
    return air({"strategy:app/Main": coded(code, gives=gives, slots=slots)})


# --- outcomes ---------------------------------------------------------------------------------------------------------


def test_the_envelope_has_every_member(project: Project) -> None:
    project.write("app.air.json", echo())
    document = project.touba("run", "--air=app.air.json", '--inputs={"value":5}', "--run-id=r1", "--json").document
    trace = document.pop("trace")
    verify_trace(trace)
    assert document == {
        "protocol": "touba-run-v1", "run_id": "r1", "status": "success", "reason": "completed", "exit_code": 0,
        "result": 5, "messages": [], "pending_interaction": None, "pending_interactions": [], "explanation": None,
        "warnings": [], "error": None, "trace_reference": None,
        "usage": {"steps": 2, "external_calls": 0, "provider_calls": 0, "agent_steps": 0, "input_tokens": 0,
                  "output_tokens": 0, "cost": None},
    }  # fmt: skip


def test_a_run_id_is_128_random_bits(project: Project) -> None:
    project.write("app.air.json", echo())
    ids = {
        project.touba("run", "--air=app.air.json", '--inputs={"value":5}', "--json").document["run_id"]
        for _ in range(2)
    }
    assert len(ids) == 2
    assert all(len(each) == 32 and int(each, 16) >= 0 for each in ids)


@pytest.mark.parametrize(
    ("code", "status", "reason", "exit_code", "explanation"),
    [
        ([["give", ["int", 1]]], "success", "completed", 0, None),
        ([["stop", ["text", "not today"]]], "stopped", "stopped", 11, "not today"),
        ([["fail", ["text", "no funds"]]], "failed", "BusinessFailure", 5, "no funds"),
        ([["require", ["bool", False], ["text", "no"]], ["give", ["int", 1]]], "failed", "RequirementFailed", 5, "no"),
        ([["give", ["mod.int", ["int", 1], ["int", 0]]]], "failed", "DivisionByZero", 5, None),
    ],
)  # fmt: skip
def test_each_outcome_has_its_status_reason_and_exit_code(
    project: Project, code: list[list[Any]], status: str, reason: str, exit_code: int, explanation: str | None
) -> None:
    project.write("app.air.json", ending(code))
    done = project.touba("run", "--air=app.air.json", "--json")
    document = done.document
    assert (document["status"], document["reason"], done.code) == (status, reason, exit_code)
    assert (document["explanation"] or {}).get("text") == explanation
    assert (
        document["trace"]["events"][-1]["kind"] == {0: "run_completed", 11: "run_stopped", 5: "run_failed"}[exit_code]
    )
    if document["error"] is not None:
        assert "(app.tb:1:5)" in document["error"]["message"]


def test_what_a_program_computes_stands_in_the_explanation_and_never_in_the_message(project: Project) -> None:
    code = [["fail", ["concat", ["text", "no funds for "], ["text.int", ["add.int", ["int", 12340], ["int", 5]]]]]]
    project.write("app.air.json", ending(code))
    done = project.touba("run", "--air=app.air.json", "--json")
    assert done.document["explanation"] == {"ref": "strategy:app/Main", "text": "no funds for 12345"}
    assert "12345" not in done.refused("BusinessFailure", 5)
    assert "no funds for {" in done.error["message"]


def test_shown_messages_stand_in_the_envelope_in_order(project: Project) -> None:
    code = [["show", 1, "show:app/Main/1", ["text", "one"]], ["show", 2, "show:app/Main/2", ["text", "two\nlines"]]]
    project.write("app.air.json", ending([*code, ["give", ["int", 1]]]))
    document = project.touba("run", "--air=app.air.json", "--json").document
    assert document["messages"] == [
        {"interaction_ref": "show:app/Main/1", "text": "one"},
        {"interaction_ref": "show:app/Main/2", "text": "two\nlines"},
    ]


def test_a_result_past_the_limit_names_its_largest_part(project: Project) -> None:
    # Every text of the result is short enough as a value; only as JSON, where each control character takes six bytes,
    # does the document pass the limit.
    text = ["text", "\u0001" * 100_000]
    code = [["give", ["list", "Text", [["slot", 0]] * 60]]]
    project.write(
        "app.air.json",
        air({"strategy:app/Main": coded([["set", 0, text], *code], gives=["List", "Text"], slots=("Text",))}),
    )
    done = project.touba("run", "--air=app.air.json", "--json")
    message = done.refused("ResponseTooLarge", 5)
    assert "`result`" in message
    assert done.document["usage"]["steps"] > 0


# --- entry and inputs -------------------------------------------------------------------------------------------------


def several() -> bytes:
    one = coded([["give", ["int", 1]]])
    return air({
        "strategy:app/First": one, "strategy:app/Second": coded([["give", ["int", 2]]]),
        "function:app/Helper": coded([["give", ["int", 3]]]), "tool:app/Tool": tool(),
    })  # fmt: skip


def test_an_entry_is_named_where_there_are_several(project: Project) -> None:
    project.write("app.air.json", several())
    assert (
        project.touba("run", "--air=app.air.json", "--entry-ref=strategy:app/Second", "--json").document["result"] == 2
    )
    assert (
        project.touba("run", "--air=app.air.json", "--entry-ref=function:app/Helper", "--json").document["result"] == 3
    )
    message = project.touba("run", "--air=app.air.json", "--json").refused("UsageError", 2)
    assert "strategy:app/First" in message
    assert "strategy:app/Second" in message


@pytest.mark.parametrize(
    ("entry", "hint"), [("strategy:app/Frist", "First"), ("Second", "strategy:app/Second"), ("tool:app/Tool", None)]
)
def test_an_unknown_entry_names_what_there_is(project: Project, entry: str, hint: str | None) -> None:
    project.write("app.air.json", several())
    done = project.touba("run", "--air=app.air.json", f"--entry-ref={entry}", "--json")
    assert "strategy:app/First" in done.refused("EntryUnknown", 4)
    assert hint is None or hint in done.error["hint"]


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ("{}", "missing"),
        ('{"value":"SENSITIVE"}', "value: "),
        ('{"value":12345678.5}', "value: "),
        ('{"value":null}', "value: "),
        ('{"valeu":1}', "no input `valeu`"),
        ('{"value":1,"more":2}', "no input `more`"),
    ],
)
def test_inputs_that_do_not_fit_are_refused_with_their_path(project: Project, inputs: str, said: str) -> None:
    project.write("app.air.json", echo())
    done = project.touba("run", "--air=app.air.json", f"--inputs={inputs}", "--json")
    message = done.refused("InputInvalid", 4)
    assert said in message
    assert "SENSITIVE" not in message
    assert "12345678" not in message
    if "valeu" in inputs:
        assert "`value`" in done.error["hint"]


def test_strict_inputs_take_the_tagged_form_only(project: Project) -> None:
    project.write("app.air.json", echo(["Optional", "Int"]))
    words = ["run", "--air=app.air.json", "--json"]
    assert project.touba(*words).document["result"] == {"present": False}
    assert project.touba(*words, '--inputs={"value":3}').document["result"] == {"present": True, "value": 3}
    for inputs in ("{}", '{"value":3}', '{"value":null}'):
        project.touba(*words, f"--inputs={inputs}", "--strict-inputs").refused("InputInvalid", 4)
    tagged = '--inputs={"value":{"present":true,"value":3}}'
    assert project.touba(*words, tagged, "--strict-inputs").document["result"] == {"present": True, "value": 3}


def test_exact_numbers_reach_the_program(project: Project) -> None:
    project.write("app.air.json", echo("Decimal"))
    done = project.touba("run", "--air=app.air.json", '--inputs={"value":1234567890.12345678901234567890}', "--json")
    assert done.document["result"] == "1234567890.12345678901234567890"


# --- admission of tools -----------------------------------------------------------------------------------------------


def test_a_tool_needs_a_handler_and_the_hint_says_where(project: Project) -> None:
    project.write("app.air.json", calling())
    words = ["run", "--air=app.air.json", '--inputs={"value":1}', "--json"]
    done = project.touba(*words)
    done.refused("ToolUnbound", 4)
    assert "--manifest" in done.error["hint"]
    project.write(
        "manifest.json",
        {
            "protocol": "touba-manifest-v1",
            "tools": {"tool:app/Tol": {"handler": {"kind": "process", "command": ["x"]}}},
        },
    )
    done = project.touba(*words, "--manifest=manifest.json")
    done.refused("ToolUnbound", 4)
    assert (done.error["ref"], "tool:app/Tol" in done.error["hint"]) == ("tool:app/Tool", True)
    (warning,) = done.document["warnings"]
    assert warning["code"] == "ToolUnknown"
    assert "`tool:app/Tol`" in warning["message"]
    assert "did you mean `tool:app/Tool`?" in warning["message"]


def test_a_tool_that_the_entry_cannot_reach_needs_none(project: Project) -> None:
    project.write("app.air.json", several())
    assert (
        project.touba("run", "--air=app.air.json", "--entry-ref=strategy:app/First", "--json").document["result"] == 1
    )


@pytest.mark.parametrize("kind", ["mcp", "host"])
def test_other_kinds_of_handlers_are_refused_by_name(project: Project, kind: str) -> None:
    project.write(
        "manifest.json", {"protocol": "touba-manifest-v1", "tools": {"tool:app/Tool": {"handler": {"kind": kind}}}}
    )
    assert kind in project.call().refused("HandlerKindUnavailable", 4)


def test_a_grant_that_is_not_given_refuses_before_anything_runs(project: Project) -> None:
    project.handler("open('started', 'w')", answer="ok(1)", grants=["network"])
    message = project.call(program=calling(requires=["network", "process"])).refused("GrantMissing", 4)
    assert "process" in message
    assert not (project.folder / "started").exists()


def test_secrets_that_are_not_bound_or_not_set_are_refused(project: Project) -> None:
    program = calling(secrets=["token"])
    project.handler("", answer="ok(1)")
    assert "`token`" in project.call(program=program).refused("SecretMissing", 4)
    project.handler("", answer="ok(1)", secrets={"token": "BANK"})
    assert "no secrets file" in project.call(program=program).refused("SecretMissing", 4)
    project.write("secrets.json", {"protocol": "touba-secrets-v1", "secrets": {"BANK": {"env": "BANK_TOKEN"}}})
    words = ["--secrets=secrets.json"]
    assert "BANK_TOKEN" in project.call(*words, program=program).refused("SecretMissing", 4)
    short = project.call(*words, program=program, env={"BANK_TOKEN": "sesame"})
    assert "sesame" not in short.refused("SecretTooShort", 4)
    assert project.call(*words, program=program, env={"BANK_TOKEN": "open-sesame"}).document["result"] == 1
    project.write(
        "secrets.json", {"protocol": "touba-secrets-v1", "secrets": {"BANK": {"value": "open-sesame"}}}
    ).chmod(0o644)
    assert "sesame" not in project.call(*words, program=program).refused("SecretExposed", 4)


def test_a_script_that_is_missing_or_outside_is_refused(project: Project) -> None:
    project.bind(["python", "handlers/nothing.py"])
    assert "handlers/nothing.py" in project.call().refused("HandlerMissing", 4)
    project.bind(["python", "../outside.py"])
    project.call().refused("PathOutsideProject", 4)
    project.bind(["no-such-program-anywhere"])
    assert "PATH" in project.call().refused("HandlerMissing", 4)


def test_the_interpreter_of_handlers_is_that_of_manifest_request_or_runtime(project: Project) -> None:
    wrapper = project.write("bin/py", f'#!/bin/sh\necho wrapped >&2\nexec {sys.executable} "$@"\n')
    wrapper.chmod(0o755)
    project.handler("", answer="ok(1)")
    options = {"air": "app.air.json", "manifest": "manifest.json", "inputs": {"value": 1}}
    project.write("app.air.json", calling())
    sent = request({**options, "python_executable": str(wrapper)})
    assert project.touba("run", "--json", "--request=-", stdin=sent).stderr == "[app/Tool] wrapped\n"
    assert project.touba("run", "--json", "--request=-", stdin=request(options)).stderr == ""
    manifest = json.loads((project.folder / "manifest.json").read_text())
    project.write("manifest.json", {**manifest, "python": "bin/py"})
    assert project.touba("run", "--json", "--request=-", stdin=request(options)).stderr == "[app/Tool] wrapped\n"


# --- requests ---------------------------------------------------------------------------------------------------------


def test_a_request_document_carries_the_options(project: Project) -> None:
    project.write("app.air.json", echo())
    sent = request({"air": "app.air.json", "inputs": {"value": 6}, "run_id": "r"})
    document = project.touba("run", "--json", "--request=-", stdin=sent).document
    assert (document["result"], document["run_id"]) == (6, "r")
    document = project.touba("run", "--json", "--request", "-", stdin=sent.strip()).document
    assert document["result"] == 6


@pytest.mark.parametrize("as_text", [True, False])
def test_a_request_may_carry_the_program(project: Project, as_text: bool) -> None:
    text = echo().decode()
    sent = request({"air_json": text if as_text else json.loads(text), "inputs": {"value": 6}})
    assert project.touba("run", "--json", "--request=-", stdin=sent).document["result"] == 6


def test_an_attached_request_is_the_first_line(project: Project) -> None:
    project.write("app.air.json", echo())
    process = project.start("run", "--attached", "--json", "--request=-")
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(request({"air": "app.air.json", "inputs": {"value": 6}}))
    process.stdin.flush()
    assert json.loads(process.stdout.read())["result"] == 6
    assert process.wait(30) == 0
    process.communicate()


@pytest.mark.parametrize(
    ("sent", "code", "exit_code", "said"),
    [
        (b"", "JsonInvalid", 2, "empty"),
        (b"{", "JsonInvalid", 2, "line 1"),
        (b"[]", "DocumentInvalid", 2, "object"),
        (b"\xff\xfe", "JsonInvalid", 2, "UTF-8"),
        (b"[" * 100_000, "JsonInvalid", 2, "nested"),
        (b'{"options":{},"options":{}}', "JsonInvalid", 2, "twice"),
        (request({}, extra=1), "DocumentInvalid", 2, "extra"),
        (b'{"protocol":"touba-run-request-v1","options":{}}', "DocumentInvalid", 2, "sdk_version"),
        (request({}).replace(b"-v1", b"-v2"), "IncompatibleRuntime", 6, "touba-run-request-v1"),
        (request({"input": {}}), "OptionUnknown", 2, "inputs"),
        (request({"durable": True}), "OptionUnknown", 2, "durable"),
        (request({"inputs": [1]}), "OptionInvalid", 2, "inputs"),
        (request({"run_id": "a"}), "UsageError", 2, "--run-id"),
        (request({}), "UsageError", 2, "no program"),
        (request({"air": "a", "source": "b"}), "UsageError", 2, "both"),
    ],
)
def test_a_request_that_is_wrong_is_refused_with_an_envelope(
    project: Project, sent: bytes, code: str, exit_code: int, said: str
) -> None:
    words = ["--run-id=a"] if code == "UsageError" and said == "--run-id" else []
    done = project.touba("run", "--request=-", *words, stdin=sent)
    assert said in done.refused(code, exit_code)
    if code == "IncompatibleRuntime":
        assert "touba-run-request-v2" in done.error["message"]


def test_a_request_past_32_mib_is_refused(project: Project) -> None:
    sent = request({"inputs": {"value": "x" * (32 << 20)}})
    project.touba("run", "--request=-", "--json", stdin=sent).refused("RequestTooLarge", 2)


def test_attached_is_for_requests(project: Project) -> None:
    project.touba("run", "--attached", "--json", "app.tb").refused("UsageError", 2)


# --- traces -----------------------------------------------------------------------------------------------------------


def test_the_trace_is_written_to_a_file_as_well(project: Project) -> None:
    project.write("app.air.json", echo())
    done = project.touba("run", "--air=app.air.json", '--inputs={"value":5}', "--trace-out=trace.json", "--json")
    written = json.loads((project.folder / "trace.json").read_text())
    assert written == done.document["trace"]
    assert sorted(each.name for each in project.folder.iterdir()) == ["app.air.json", "trace.json"]


def test_a_trace_file_that_cannot_be_opened_refuses_the_run(project: Project) -> None:
    project.handler("open('started', 'w')", answer="ok(1)")
    project.call("--trace-out=missing/trace.json").refused("FileUnwritable", 2)
    assert not (project.folder / "started").exists()


def test_a_trace_that_cannot_be_written_afterwards_is_a_warning(project: Project) -> None:
    project.handler("os.mkdir('trace.json')", answer="ok(1)")
    document = project.call("--trace-out=trace.json").document
    assert document["result"] == 1
    assert [warning["code"] for warning in document["warnings"]] == ["TraceNotWritten"]
    assert not list(project.folder.glob("*.tmp"))


def test_a_run_that_is_refused_leaves_the_trace_file_as_it_was(project: Project) -> None:
    project.write("trace.json", "before")
    project.write("app.air.json", echo())
    project.touba("run", "--air=app.air.json", "--trace-out=trace.json", "--json").refused("InputInvalid", 4)
    assert (project.folder / "trace.json").read_text() == "before"
    assert not list(project.folder.glob("*.tmp"))


def test_a_trace_holds_no_business_value(project: Project) -> None:
    project.handler("", answer="ok(987654321)")
    done = project.call(value=123456789)
    text = json.dumps(done.document["trace"])
    assert "123456789" not in text
    assert "987654321" not in text


# --- paths ------------------------------------------------------------------------------------------------------------


def test_relative_paths_are_taken_from_the_project_root(project: Project) -> None:
    project.write("inner/app.air.json", echo())
    words = ["run", "--air=app.air.json", '--inputs={"value":5}', "--trace-out=t.json", "--json"]
    assert project.touba(*words, "--project-root=inner").document["result"] == 5
    assert (project.folder / "inner" / "t.json").exists()
    project.touba(*words).refused("FileUnreadable", 2)


@pytest.mark.parametrize("root", ["missing", "app.air.json"])
def test_a_project_root_that_is_no_folder_is_refused(project: Project, root: str) -> None:
    project.write("app.air.json", echo())
    assert root in project.touba("run", "--air=x", f"--project-root={root}", "--json").refused("FileUnreadable", 2)


# --- for people -------------------------------------------------------------------------------------------------------


def test_a_terminal_gets_messages_and_the_result(project: Project) -> None:
    code: list[list[Any]] = [
        ["show", 1, "show:app/Main/1", ["text", "Grüße"]],
        ["give", ["list", "Int", [["int", 1], ["int", 2]]]],
    ]
    project.write("app.air.json", ending(code, gives=["List", "Int"]))
    done = project.touba("run", "--air=app.air.json")
    assert done.stdout.decode() == "Grüße\n[1, 2]\n"
    assert (done.stderr, done.code) == ("", 0)


def test_a_terminal_gets_failures_on_standard_error(project: Project) -> None:
    project.write("app.air.json", ending([["fail", ["text", "no funds"]]]))
    done = project.touba("run", "--air=app.air.json")
    assert done.stdout == b""
    assert done.stderr.startswith("error: BusinessFailure: ")
    assert "app.tb:1:5" in done.stderr
    assert "\n  no funds\n" in done.stderr
    assert done.code == 5


def test_a_terminal_gets_the_words_of_a_stop(project: Project) -> None:
    project.write("app.air.json", ending([["stop", ["text", "not today"]]]))
    done = project.touba("run", "--air=app.air.json")
    assert (done.stdout, done.stderr, done.code) == (b"", "stopped: not today\n", 11)


@pytest.mark.parametrize(("more", "code"), [(["--json"], 7), ([], 0)])
def test_a_reader_that_has_gone_gets_no_document_and_needs_no_text(
    project: Project, more: list[str], code: int
) -> None:
    project.write("app.air.json", echo())
    words = command("run", "--air=app.air.json", '--inputs={"value":5}', *more)
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(words, stdout=write, stderr=subprocess.PIPE, cwd=project.folder, env=environment())
    os.close(write)
    assert (done.returncode, done.stderr) == (code, b"")


def test_a_standard_output_that_never_blocks_gets_all_of_it(project: Project) -> None:
    value = "x" * 3_000_000
    project.write("app.air.json", echo("Text"))
    project.write("inputs.json", {"value": value})
    words = command("run", "--air=app.air.json", "--inputs=@inputs.json", "--json")
    read, write = os.pipe()
    os.set_blocking(write, False)
    process = subprocess.Popen(words, stdout=write, cwd=project.folder, env=environment())
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        output = pipe.read()
    assert process.wait(30) == 0
    assert json.loads(output)["result"] == value


def test_the_module_and_the_console_script_are_the_same_command(project: Project) -> None:
    project.write("app.air.json", echo())
    words = [sys.executable, "-m", "touba_cli", "run", "--air=app.air.json", '--inputs={"value":5}']
    done = subprocess.run(words, capture_output=True, cwd=project.folder, env=environment({"PYTHONPATH": str(ROOT)}))
    assert (done.stdout, done.returncode) == (b"5\n", 0)


def test_equal_runs_are_equal_whatever_the_environment(project: Project) -> None:
    project.handler("", answer="ok(arguments['value'])")
    project.write("app.air.json", calling())
    words = [
        sys.executable,
        "-m",
        "touba_cli",
        "run",
        "--air=app.air.json",
        "--manifest=manifest.json",
        '--inputs={"value":5}',
        "--run-id=r",
        "--json",
    ]
    documents = []
    for variables in (
        {"PYTHONHASHSEED": "1", "TZ": "UTC", "LANG": "C"},
        {"PYTHONHASHSEED": "2", "TZ": "Asia/Tokyo", "LANG": "de_DE.UTF-8"},
    ):
        env = environment({"PYTHONPATH": str(ROOT), **variables})
        done = subprocess.run(words, capture_output=True, cwd=project.folder, env=env)
        document = json.loads(done.stdout)
        trace = document["trace"]
        for event in trace["events"]:
            del event["at"]
        for name in ("started_at", "ended_at", "digest"):
            del trace[name]
        documents.append(document)
    assert documents[0] == documents[1]
