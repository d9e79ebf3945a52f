"""Figures of the table of limits that no other test reaches: one below is taken, one above is refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shell_kit import Ended, Project, air, calling, coded
from touba_cli.air.program import read_program
from touba_cli.codec import encode
from touba_cli.errors import ToubaFailure
from touba_cli.limits import AIR_BYTES, DIAGNOSTICS_SHOWN, DOCUMENT_BYTES, ERROR_MESSAGE_CHARACTERS


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def run(project: Project, *words: str) -> Ended:
    return project.touba("run", "--air=app.air.json", *words, "--json")


def one() -> bytes:
    return air({"strategy:app/Main": coded([["give", ["int", 1]]])})


@pytest.mark.parametrize("name", ["manifest", "secrets"])
def test_a_manifest_or_secrets_file_has_so_many_bytes(project: Project, name: str) -> None:
    project.write("app.air.json", calling(secrets=["key"]))
    project.handler("", answer="ok(7)", secrets={"key": "KEY"})
    project.write("secrets.json", {"protocol": "touba-secrets-v1", "secrets": {"KEY": {"value": "12345678"}}})
    path = project.folder / f"{name}.json"
    (project.folder / "secrets.json").chmod(0o600)
    words = ["--manifest=manifest.json", "--secrets=secrets.json", '--inputs={"value":1}']
    text = path.read_text("utf-8")
    path.write_text(text + " " * (DOCUMENT_BYTES - len(text)), "utf-8")
    assert run(project, *words).document["result"] == 7
    path.write_text(text + " " * (DOCUMENT_BYTES - len(text) + 1), "utf-8")
    assert f"more than {DOCUMENT_BYTES} bytes" in run(project, *words).refused("FileUnreadable", 2)


def test_an_air_document_has_so_many_bytes(project: Project) -> None:
    assert read_program(one()).callables
    with pytest.raises(ToubaFailure) as caught:
        read_program(one() + b" " * AIR_BYTES)
    assert caught.value.code == "AirInvalid"
    assert str(AIR_BYTES) in caught.value.message
    path = project.write("app.air.json", one())
    with path.open("ab") as file:
        file.truncate(AIR_BYTES + 1)
    assert f"more than {AIR_BYTES} bytes" in run(project).refused("FileUnreadable", 2)


def test_a_message_of_a_handler_keeps_so_many_characters(project: Project) -> None:
    project.write("app.air.json", calling())
    said = "é" * (ERROR_MESSAGE_CHARACTERS + 1)
    answer = {"protocol": "touba-tool-response-v1", "ok": False, "error": {"code": "Own", "message": said}}
    project.handler("", answer=f"json.loads({encode(answer).decode()!r})")
    done = run(project, "--manifest=manifest.json", '--inputs={"value":1}')
    assert done.error["code"] == "Own"
    assert "é" * ERROR_MESSAGE_CHARACTERS in done.error["message"]
    assert said not in done.error["message"]


def test_so_many_problems_are_shown_at_a_terminal(project: Project) -> None:
    lines = "".join(f"        let _a{number} as Int = unknown{number}\n" for number in range(DIAGNOSTICS_SHOWN + 3))
    project.write("app.tb", f"module app\n\nfunction F\n    gives Int\n    do\n{lines}        give 1\n")
    done = project.touba("check", "app.tb")
    assert (done.stdout + done.stderr.encode()).count(b"error[TB3001]") == DIAGNOSTICS_SHOWN
    assert "and 3 more: 3 in app.tb" in done.stdout.decode() + done.stderr
    whole = project.touba("check", "app.tb", "--json")
    assert len(whole.document["diagnostics"]) >= DIAGNOSTICS_SHOWN + 3
