"""Command lines and request documents, without a process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from touba_cli.commands.arguments import from_request, merge, parse
from touba_cli.errors import CODES, ToubaFailure
from touba_cli.options import OPTIONS, options_of


def nothing() -> bytes:
    raise AssertionError("standard input was read")


def run(*words: str, stdin: Callable[[], bytes] = nothing) -> dict[str, Any]:
    return parse("run", list(words), stdin)


def refused(*words: str, command: str = "run") -> ToubaFailure:
    with pytest.raises(ToubaFailure) as found:
        parse(command, list(words), nothing)
    assert found.value.phase == "usage"
    return found.value


def test_values_follow_behind_an_equals_sign_or_as_the_next_word() -> None:
    assert run("app.tb", "--entry-ref=strategy:app/Main") == run("--entry-ref", "strategy:app/Main", "app.tb")
    assert run("--inputs", "{}", "--", "--odd.tb") == {"inputs": {}, "source": "--odd.tb"}
    assert run("--run-id=-5") == {"run_id": "-5"}
    assert run("--source=app.tb") == {"source": "app.tb"}


def test_switches_have_two_spellings() -> None:
    assert run("--strict-inputs", "--no-json") == {"strict_inputs": True, "json": False}


def test_json_is_given_inline_from_a_file_or_on_standard_input(tmp_path: Path) -> None:
    path = tmp_path / "inputs.json"
    path.write_text('{"a": 1}')
    assert run('--inputs={"a": 1}') == run(f"--inputs=@{path}") == run("--inputs=-", stdin=lambda: b'{"a": 1}')
    assert run('--inputs={"a": 1}') == {"inputs": {"a": 1}}


def test_numbers_are_checked_by_the_table_of_limits() -> None:
    assert run('--run-limits={"max_steps": 5, "deadline_ms": null}') == {"run_limits": {"max_steps": 5}}
    assert "1 to 1000000000" in refused('--run-limits={"max_steps": 0}').message
    assert "whole number" in refused('--run-limits={"max_steps": 1.5}').message
    assert "whole number" in refused('--run-limits={"max_steps": true}').message
    assert "max_steps" in str(refused('--run-limits={"max_step": 1}').hint)
    assert refused("--run-limits=[]").code == "OptionInvalid"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--run-id=a", "--run-id=a"], "UsageError", "twice"),
        (["--json", "--no-json"], "UsageError", "twice"),
        (["a.tb", "b.tb"], "UsageError", "several"),
        (["a.tb", "--source=a.tb"], "UsageError", "twice"),
        (["--run-id"], "UsageError", "needs a value"),
        (["--run-id", "--json"], "UsageError", "needs a value"),
        (["--json=true"], "UsageError", "takes no value"),
        (["--no-run-id"], "OptionUnknown", "--no-run-id"),
        (["-x"], "OptionUnknown", "-x"),
        (["--run-id="], "OptionInvalid", "empty"),
        (["--run-id=a b"], "OptionInvalid", "letters"),
        (["--run-id=" + "x" * 129], "OptionInvalid", "128"),
        (["--manifest="], "OptionInvalid", "empty"),
        (["--entry-ref=a\nb"], "OptionInvalid", "cannot be shown"),
        (["--inputs=[1]"], "OptionInvalid", "an array"),
        (["--inputs=7"], "OptionInvalid", "a number"),
        (["--inputs={"], "JsonInvalid", "line 1"),
        (["--inputs="], "JsonInvalid", "empty"),
        (['--inputs={"a":1,"a":2}'], "JsonInvalid", "twice"),
        (["--inputs=@"], "OptionInvalid", "empty"),
        (["--inputs=@/nothing/there"], "FileUnreadable", "does not exist"),
        (["--inputs=@/"], "FileUnreadable", "folder"),
        (["--inputs=-", "--run-limits=-"], "UsageError", "both read standard input"),
        (["--inputs=-", "--request=-"], "UsageError", "both read standard input"),
        (["--request=x.json"], "OptionInvalid", "`-` only"),
    ],
)
def test_what_is_wrong_is_named(words: list[str], code: str, said: str) -> None:
    failure = refused(*words)
    assert failure.code == code
    assert said in failure.message


@pytest.mark.parametrize(
    ("flag", "meant"),
    [
        ("--input={}", "--inputs"),
        ("--entry=x", "--entry-ref"),
        ("--manifst=x", "--manifest"),
        ("--cwd=x", "--project-root"),
        ("--strict_inputs", "--strict-inputs"),
        ("--timeout=5", "--run-limits"),
    ],
)
def test_a_misspelt_option_names_the_one_that_was_meant(flag: str, meant: str) -> None:
    failure = refused(flag)
    assert failure.code == "OptionUnknown"
    assert meant in str(failure.hint)


@pytest.mark.parametrize(
    "flag", ["--durable", "--trace-store=x", "--human-decisions={}", "--out=x", "--env={}", "--air-json={}"]
)
def test_options_of_other_commands_and_surfaces_are_unknown(flag: str) -> None:
    assert refused(flag).code == "OptionUnknown"


def test_a_command_without_a_program_takes_no_file() -> None:
    assert "no file" in refused("app.tb", command="version").message


def test_a_request_takes_every_option_of_its_surface() -> None:
    values: dict[str, object] = {
        "path": "p", "ref": "r", "id": "i", "label": "l", "switch": True, "json": {}, "numbers": {}, "word": "calls",
    }  # fmt: skip
    given = {row.name: values[row.kind] for row in options_of("run", "request")}
    assert from_request("run", given) == given
    assert "air_json" in given
    assert "python_executable" in given


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"input": {}}, "OptionUnknown"),
        ({"json": True}, "OptionUnknown"),
        ({"cancel": None}, "OptionUnknown"),
        ({"inputs": []}, "OptionInvalid"),
        ({"inputs": "{}"}, "OptionInvalid"),
        ({"strict_inputs": "yes"}, "OptionInvalid"),
        ({"manifest": 5}, "OptionInvalid"),
        ({"trace_pure_functions": "none"}, "OptionInvalid"),
        ({"result_out": "r.json"}, "OptionUnknown"),
        ({"air_json": 5}, "OptionInvalid"),
        ({"run_limits": {"max_steps": "5"}}, "OptionInvalid"),
        ({"source": "a\0b"}, "OptionInvalid"),
    ],
)
def test_a_request_is_checked_by_the_same_table(options: dict[str, Any], code: str) -> None:
    with pytest.raises(ToubaFailure) as found:
        from_request("run", options)
    assert found.value.code == code


def test_null_in_a_request_is_an_option_that_is_not_given() -> None:
    assert from_request("run", {"manifest": None, "run_id": "a"}) == {"run_id": "a"}


def test_an_option_has_one_place() -> None:
    assert merge({"json": True}, {"run_id": "a"}) == {"json": True, "run_id": "a"}
    with pytest.raises(ToubaFailure, match="--run-id") as found:
        merge({"run_id": "a"}, {"run_id": "a"})
    assert found.value.code == "UsageError"


@given(st.lists(st.one_of(st.text(max_size=12), st.sampled_from([row.flag for row in OPTIONS.values()])), max_size=6))
def test_any_words_give_options_or_a_usage_failure(words: list[str]) -> None:
    try:
        found = parse("run", words, lambda: b"{}")
    except ToubaFailure as failure:
        found = {}
        code, message = failure.code, failure.message
        event(code)
    else:
        code, message = "UsageError", ""
    assert CODES[code].phase == "usage"
    assert message.encode("utf-8").decode() == message
    assert found.keys() <= OPTIONS.keys()


@given(st.text(min_size=3, max_size=20).map("§{}§".format))
def test_values_never_stand_in_messages(secret: str) -> None:
    for word in (f"--inputs=[{secret!r}]", f"--run-id= {secret}", f"--run-limits={secret}"):
        assert secret not in refused(word).message
