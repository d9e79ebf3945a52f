"""`touba doctor`: the facts of a real environment, what is found where one is broken, and the rules over made-up facts."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.shell_kit import ROOT, Ended, Project, environment
from touba_cli import __version__
from touba_cli.commands.doctor import _lines
from touba_cli.commands.findings import FINDINGS, find, is_older
from touba_cli.limits import LIMITS

BASE = str(getattr(sys, "_base_executable", sys.executable))
COMMAND = "import sys; sys.path.append(sys.argv.pop(1)); from touba_cli.__main__ import main; main()"
HEALTHY = json.loads((ROOT / "tests" / "golden" / "touba-doctor-v1.healthy.json").read_text("utf-8"))


def doctor(*words: str, python: str = sys.executable, folder: Path | None = None, **env: str) -> Ended:
    """Run the command as a terminal does: in an interpreter with its packages."""
    done = subprocess.run(
        [python, "-c", COMMAND, str(ROOT), "doctor", *words],
        cwd=folder or "/", env=environment(env), capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    return Ended(done.returncode, done.stdout, done.stderr)


def codes(done: Ended) -> list[str]:
    found = [finding["code"] for finding in done.document["findings"]]
    assert done.code == (1 if found else 0)
    return found


# --- real environments ------------------------------------------------------------------------------------------------


def test_the_document_says_with_what_touba_works() -> None:
    document = doctor("--json").document
    assert document["version"] == __version__
    assert document["python"]["executable"] == sys.executable
    assert document["sdk"] == {"version": __version__, "folder": str(ROOT), "error": None}
    runtime = document["runtime"]
    assert runtime["command"][:5] == [BASE, "-I", "-S", "-X", "utf8"]
    assert (runtime["version"], runtime["bundled"], runtime["error"]) == (__version__, True, None)
    assert document["handlers"]["python"] == sys.executable
    assert document["handlers"]["confined"] is False
    assert {"anyio", "orjson", "platformdirs", "pydantic"} <= {row["name"] for row in document["packages"]}
    assert all(row["installed"] for row in document["packages"] if row["extra"] is None)
    assert [folder["name"] for folder in document["folders"]] == ["temporary", "cache"]
    assert document["limits"] == {name: limit.default for name, limit in LIMITS.items()}
    assert document["system"]["tested"] == (sys.platform == "linux")


def test_a_terminal_gets_readable_lines(tmp_path: Path) -> None:
    done = doctor(folder=tmp_path)
    text = done.stdout.decode()
    assert text.startswith(f"touba {__version__}\n")
    assert f"Python    {sys.executable} (" in text
    assert "they are not confined yet" in text
    assert text.rstrip().endswith("nothing that Touba needs is missing") == (done.code == 0)
    assert "missing" not in text.removesuffix("nothing that Touba needs is missing\n") or done.code
    assert "touba[" not in text
    assert (done.stderr, list(tmp_path.iterdir())) == ("", [])


def test_files_of_the_current_folder_are_not_taken_for_modules(tmp_path: Path) -> None:
    for name in ("json", "touba_sdk", "pydantic"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('taken in')\n")
    done = subprocess.run(
        [sys.executable, "-P", "-c", COMMAND, str(ROOT), "doctor", "--json"],
        cwd=tmp_path, env=environment(), capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    assert Ended(done.returncode, done.stdout, done.stderr).document["sdk"]["error"] is None


@pytest.mark.parametrize(
    ("variable", "text", "code", "said"),
    [
        ("TOUBA_CLI", "/gone/touba", "RuntimeNotFound", "the folder `/gone` does not exist"),
        ("TOUBA_CLI", "touba", "OptionInvalid", "absolute"),
        ("TOUBA_PYTHON", "/gone/python3", "InterpreterNotFound", "does not exist"),
        ("TOUBA_CLI", "{script}", "RuntimeNotStarted", "no such option"),
    ],
)
def test_a_runtime_that_does_not_start_is_found(tmp_path: Path, variable: str, text: str, code: str, said: str) -> None:
    script = tmp_path / "touba"
    script.write_text("#!/bin/sh\necho no such option >&2\nexit 2\n")
    script.chmod(0o755)
    done = doctor("--json", **{variable: text.format(script=script)})
    assert codes(done) == [code]
    (finding,) = done.document["findings"]
    assert said in finding["message"]
    assert finding["hint"]


@pytest.mark.parametrize("answer", ['{"version": "9.9.9", "python": "3.99.0"}', "[]", "{"])
def test_another_runtime_is_found(tmp_path: Path, answer: str) -> None:
    script = tmp_path / "touba"
    script.write_text(f"#!/bin/sh\necho '{answer}'\n")
    script.chmod(0o755)
    assert codes(doctor("--json", TOUBA_CLI=str(script))) == [
        "VersionsDiffer" if "9.9.9" in answer else "RuntimeNotStarted"
    ]


def test_an_environment_without_the_libraries_is_found(tmp_path: Path) -> None:
    place = tmp_path / "bare"
    subprocess.run([BASE, "-I", "-m", "venv", "--without-pip", str(place)], check=True, timeout=60)
    done = doctor("--json", python=str(place / "bin" / "python"))
    found = codes(done)
    assert found.count("PackageMissing") == 4  # the four of pyproject.toml
    assert "HandlersWithoutSdk" in found
    document = done.document
    assert document["python"]["virtual"] is True
    assert document["handlers"]["python"] == str(place / "bin" / "python")
    assert document["runtime"]["version"] == __version__


def test_a_program_that_only_holds_a_python_does_not_start_itself(tmp_path: Path) -> None:
    server = tmp_path / "server"
    server.symlink_to(BASE)
    done = doctor("--json", python=str(server))
    assert codes(done) == ["SdkNotImportable"]
    assert "would start itself" in done.document["sdk"]["error"]


def test_it_takes_no_other_options(tmp_path: Path) -> None:
    project = Project(tmp_path)
    assert "--fix" in project.touba("doctor", "--fix").stderr
    assert project.touba("doctor", "--json", "x.tb").refused("UsageError", 2)
    assert "touba doctor" in project.touba("doctor", "--help").stdout.decode()


def test_no_value_of_the_environment_is_shown() -> None:
    done = doctor("--json", BANK_TOKEN="c4n4ry-of-the-bank")
    assert b"c4n4ry" not in done.stdout
    assert os.environ.get("BANK_TOKEN") is None


# --- rules ------------------------------------------------------------------------------------------------------------

Change = Callable[[dict[str, Any]], Any]

#: code → how the facts of a healthy environment change, and a part of the message
RULES: dict[str, tuple[Change, str]] = {
    "SdkNotImportable": (lambda facts: facts["sdk"].update(error="ImportError: x"), "ImportError: x"),
    "PackageMissing": (lambda facts: facts["packages"][0].update(installed=None), "anyio >=4.7 is not installed"),
    "PackageTooOld": (lambda facts: facts["packages"][0].update(installed="4.6.2"), "4.6.2 is installed"),
    "VersionsDiffer": (lambda facts: facts["sdk"].update(version="0.0.9"), "touba_sdk 0.0.9"),
    "HandlersWithoutSdk": (lambda facts: facts["handlers"].update(error="No module"), "`/venv/bin/python`"),
    "StartsSlowly": (lambda facts: facts["runtime"].update(compiled="nowhere"), "not compiled"),
    "CacheNotPrivate": (lambda facts: facts["runtime"].update(keeps_programs=False), "not private"),
    "FolderUnusable": (lambda facts: facts["folders"][1].update(usable=False), "the cache folder `/home/ada"),
    "SystemUntested": (lambda facts: facts["system"].update(name="Darwin", tested=False), "Darwin"),
    "ProcessesMayRemain": (lambda facts: facts["system"].update(ends_everything=False), "outlive the run"),
    "FewOpenFiles": (lambda facts: facts["system"].update(open_files=64), "64 files"),
}


def test_a_healthy_environment_has_no_findings() -> None:
    assert find(HEALTHY) == []
    assert HEALTHY["packages"][2]["installed"] is None  # an extra that is not installed is no fault
    text = "\n".join(_lines(HEALTHY))
    assert "optional  examples: not installed; to use it: python -m pip install 'defusedxml>=0.7.1'" in text
    developers = {**HEALTHY, "packages": [{**HEALTHY["packages"][2], "extra": "dev"}]}
    assert "optional" not in "\n".join(_lines(developers))


@pytest.mark.parametrize("code", FINDINGS)
def test_each_finding_is_found(code: str) -> None:
    facts = copy.deepcopy(HEALTHY)
    change, said = RULES[code]
    change(facts)
    (finding,) = find(facts)
    assert (finding["code"], finding["hint"]) == (code, FINDINGS[code][1].replace("LIBRARY", "'anyio>=4.7'"))
    assert said in str(finding["message"])


def test_every_rule_has_its_row() -> None:
    assert set(RULES) == set(FINDINGS)


@pytest.mark.parametrize(
    ("installed", "needs", "older"),
    [
        ("4.6.2", ">=4.7", True), ("4.7", ">=4.7", False), ("4.7.0", ">=4.7", False), ("4", ">=4.0.1", True),
        ("10.0", ">=9", False), ("2.0rc1", ">=2", False), ("1.9.post1", ">=2", True), ("5", "", False),
        ("5", ">=4.7,<6", False), ("1", "==2", False), ("unknown", ">=1", True),
    ],
)  # fmt: skip
def test_versions_are_compared_by_their_numbers(installed: str, needs: str, older: bool) -> None:
    assert is_older(installed, needs) == older


def test_a_cache_that_is_open_to_others_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "programs"
    folder.mkdir(parents=True)
    for mode, expected in ((0o755, False), (0o700, True)):
        folder.chmod(mode)
        document = doctor("--json", TOUBA_CACHE_DIR=str(tmp_path / "cache")).document
        assert document["runtime"]["keeps_programs"] is expected
        assert ("CacheNotPrivate" in [each["code"] for each in document["findings"]]) is not expected
    folder.rmdir()
    assert doctor("--json", TOUBA_CACHE_DIR=str(tmp_path / "cache")).document["runtime"]["keeps_programs"] is None
    assert not folder.exists()
