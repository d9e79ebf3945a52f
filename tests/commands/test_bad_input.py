"""Whatever is fed to `touba` gives an exit code from 2 to 6 and names the cause: no traceback, no hang."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.shell_kit import Ended, Project, air, calling, coded, command, environment


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def refused(done: Ended) -> dict[str, object]:
    assert 2 <= done.code <= 6, (done.code, done.stderr)
    assert "Traceback" not in done.stderr
    error: dict[str, object] = done.error
    assert error["message"]
    return error


CONTENTS = {
    "empty": b"",
    "blank": b"\n\n  \n",
    "zeros": b"\0" * 1000,
    "binary": bytes(range(256)) * 40,
    "long line": b"x" * 10_000_000,
    "deep arrays": b"[" * 200_000,
    "deep objects": b'{"a":' * 100_000,
    "surrogate": b'"\\ud800"',
    "mark only": b"\xef\xbb\xbf",
    "text": b"hello",
    "number": b"1e999",
    "null": b"null",
    "huge number": b"9" * 100_000,
    "other protocol": b'{"protocol":"touba-air-v99"}',
    "no protocol": b'{"a":1}',
}


@pytest.mark.parametrize("name", CONTENTS)
@pytest.mark.parametrize("option", ["air", "manifest", "secrets", "inputs"])
def test_any_file_in_the_place_of_a_document(project: Project, option: str, name: str) -> None:
    project.write("bad", CONTENTS[name])
    project.write("app.air.json", calling(secrets=["token"]))
    project.handler("", answer="ok(1)", secrets={"token": "BANK"})
    given_options = {"air": "app.air.json", "manifest": "manifest.json", "secrets": "bad", "inputs": '{"value":1}'}
    given_options[option] = "@bad" if option == "inputs" else "bad"
    done = project.touba("run", *(f"--{flag}={value}" for flag, value in given_options.items()), "--json")
    error = refused(done)
    assert error["code"] in (
        "JsonInvalid",
        "DocumentInvalid",
        "AirInvalid",
        "FileUnreadable",
        "OptionInvalid",
        "InputInvalid",
    )


@pytest.mark.parametrize("option", ["air", "manifest", "secrets", "inputs"])
@pytest.mark.parametrize("kind", ["folder", "pipe", "missing", "device"])
def test_what_is_no_file_in_the_place_of_a_document(project: Project, option: str, kind: str) -> None:
    path = project.folder / "thing"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    project.write("app.air.json", calling(secrets=["token"]))
    project.handler("", answer="ok(1)", secrets={"token": "BANK"})
    given_options = {"air": "app.air.json", "manifest": "manifest.json", "secrets": "thing", "inputs": '{"value":1}'}
    given_options[option] = "@thing" if option == "inputs" else "thing"
    done = project.touba("run", *(f"--{flag}={value}" for flag, value in given_options.items()), "--json")
    assert refused(done)["code"] == "FileUnreadable"
    assert "thing" in str(done.error["message"])


@pytest.mark.parametrize(
    "words", [[], ["frobnicate"], ["rnu", "--json"], ["--json"], ["--json", "run"], ["app.tb"], ["run"], ["", "--json"]]
)
def test_command_lines_that_say_nothing(project: Project, words: list[str]) -> None:
    done = project.touba(*words)
    assert done.code == 2
    if "--json" in words:
        assert refused(done)["code"] == "UsageError"
    else:
        assert done.stderr.startswith("error: UsageError: ")


@pytest.mark.parametrize(
    "words",
    [
        ["run", "{}"],
        ["run", "--{}=1"],
        ["run", "--air={}"],
        ["run", "--inputs={}"],
        ["run", "--entry-ref={}"],
        ["run", "--air=x", "--project-root={}"],
        ["run", "--air=x", "--trace-out={}/x"],
        ["check", "{}.tb"],
        ["compile", "--out={}", "x"],
        ["{}"],
    ],
)
def test_bytes_that_are_no_text_in_a_command_line(project: Project, words: list[str]) -> None:
    odd = os.fsdecode(b"\xff\xfe")
    refused(project.touba(*(word.format(odd) for word in words), "--json"))


def test_a_folder_that_vanished_is_no_traceback(project: Project) -> None:
    gone = project.folder / "gone"
    gone.mkdir()
    script = 'cd gone && rmdir ../gone && exec "$@"'
    words = ["sh", "-c", script, "sh", *command("run", "app.tb", "--json")]
    done = subprocess.run(words, cwd=project.folder, capture_output=True, env=environment(), timeout=30)
    refused(Ended(done.returncode, done.stdout, done.stderr))


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(position=st.integers(0, 2000), byte=st.integers(0, 255))
def test_a_changed_byte_in_air_is_refused_or_runs(project: Project, position: int, byte: int) -> None:
    data = bytearray(air({"strategy:app/Main": coded([["give", ["int", 1]]])}))
    data[position % len(data)] = byte
    project.write("app.air.json", bytes(data))
    done = project.touba("run", "--air=app.air.json", "--json")
    assert done.code in (0, 2, 3, 4, 5, 6)
    assert json.loads(done.stdout)["protocol"] == "touba-run-v1"
    assert "Traceback" not in done.stderr
