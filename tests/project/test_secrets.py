"""Where secrets are found, and which secrets files are refused."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touba_cli.errors import ToubaFailure
from touba_cli.project.secrets import Secrets, read_secrets
from touba_cli.project.tracked import _names, is_tracked

REF = "tool:app/Tool"


def secrets(folder: Path, mode: int = 0o600, **handles: Any) -> Secrets:
    path = folder / "secrets.json"
    path.write_text(json.dumps({"protocol": "touba-secrets-v1", "secrets": handles}))
    path.chmod(mode)
    return read_secrets(str(path), str(folder))


def test_a_secret_comes_from_a_variable_a_file_or_the_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "from-variable")
    (tmp_path / "token").write_text("from-file\n")
    found = secrets(tmp_path, A={"env": "TOKEN"}, B={"file": "token"}, C={"value": "from-value"})
    assert [found.resolve(handle, REF) for handle in "ABC"] == ["from-variable", "from-file", "from-value"]


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ({"env": "NOT_SET_ANYWHERE"}, "NOT_SET_ANYWHERE"),
        ({"file": "nothing"}, "does not exist"),
        ({"file": "."}, "it is a folder"),
        ({"file": "a\0b"}, "no file can have such a name"),
        ({"file": "binary"}, "not UTF-8"),
    ],
)
def test_a_secret_that_is_not_there_is_missing(tmp_path: Path, place: dict[str, str], said: str) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe12345678")
    with pytest.raises(ToubaFailure) as refused:
        secrets(tmp_path, BANK=place).resolve("BANK", REF)
    assert (refused.value.code, refused.value.ref) == ("SecretMissing", REF)
    assert said in refused.value.message


def test_an_unknown_handle_is_missing_and_the_nearest_is_named(tmp_path: Path) -> None:
    with pytest.raises(ToubaFailure, match="BANK_TOKEN") as refused:
        secrets(tmp_path, BANK_TOKEN={"env": "HOME"}).resolve("BANK_TOKN", REF)
    assert refused.value.code == "SecretMissing"


@pytest.mark.parametrize("value", [None, ""])
def test_a_variable_that_is_not_set_or_empty_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    if value is None:
        monkeypatch.delenv("AIRLINE_TOKEN", raising=False)
    else:
        monkeypatch.setenv("AIRLINE_TOKEN", value)
    with pytest.raises(ToubaFailure, match="does not exist" if value is None else "is empty") as refused:
        secrets(tmp_path, TOKEN={"env": "AIRLINE_TOKEN"}).resolve("TOKEN", REF)
    assert refused.value.code == "SecretMissing"
    assert refused.value.hint == "Set AIRLINE_TOKEN in the environment."


def test_a_wrong_shape_names_the_file_and_shows_the_right_one(tmp_path: Path) -> None:
    with pytest.raises(ToubaFailure) as refused:
        secrets(tmp_path, TOKEN="the secret itself")
    assert refused.value.code == "DocumentInvalid"
    assert f"{tmp_path}/" in refused.value.message
    assert """an object such as {"env": …} was expected, not text""" in refused.value.message


@given(st.text(min_size=1, max_size=7))
def test_a_short_secret_is_refused_without_being_shown(secret: str) -> None:
    with pytest.raises(ToubaFailure) as refused:
        Secrets("/", {"H": {"value": secret}}).resolve("H", REF)
    assert refused.value.code == "SecretTooShort"
    assert "fewer than 8 characters" in refused.value.message


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660])
def test_values_in_a_file_that_others_can_open_are_refused(tmp_path: Path, mode: int) -> None:
    with pytest.raises(ToubaFailure) as refused:
        secrets(tmp_path, mode, H={"value": "long-enough"})
    assert refused.value.code == "SecretExposed"
    assert secrets(tmp_path, mode, H={"env": "HOME"}) is not None


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_values_in_a_file_that_git_tracks_are_refused(tmp_path: Path, version: str) -> None:
    git = shutil.which("git")
    if git is None:
        pytest.skip("git is not installed here")

    def run(*words: str) -> None:
        subprocess.run([git, "-C", str(tmp_path), *words], check=True, capture_output=True)

    run("init", "-q")
    run("config", "index.version", version)
    (tmp_path / "inner").mkdir()
    for name in ("a.txt", "secrets.json.example", "inner/secrets.json", "zebra"):
        (tmp_path / name).write_text("x")
    run("add", ".")
    assert secrets(tmp_path, H={"value": "long-enough"}).resolve("H", REF) == "long-enough"
    run("add", "secrets.json")
    with pytest.raises(ToubaFailure, match="tracked by git") as refused:
        secrets(tmp_path, H={"value": "long-enough"})
    assert refused.value.code == "SecretExposed"
    assert is_tracked(str(tmp_path / "inner" / "secrets.json"))
    assert not is_tracked(str(tmp_path / "inner" / "other.json"))


@given(st.binary(max_size=200))
def test_any_bytes_as_an_index_give_names_and_nothing_else(data: bytes) -> None:
    for version in (2, 4):
        index = b"DIRC" + version.to_bytes(4, "big") + (3).to_bytes(4, "big") + data
        assert all(isinstance(name, bytes) for name in _names(index))


@pytest.mark.parametrize(
    "handles",
    [{"H": {}}, {"H": {"env": "A", "file": "b"}}, {"H": {"vault": "x"}}, {"H": "plain"}, {"H": {"value": 12345678}}],
)
def test_a_handle_says_exactly_one_place(tmp_path: Path, handles: dict[str, Any]) -> None:
    with pytest.raises(ToubaFailure) as refused:
        secrets(tmp_path, **handles)
    assert refused.value.code == "DocumentInvalid"
    assert "12345678" not in refused.value.message
