"""The manifest: shapes, time-outs and how commands become argument lists."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from touba_cli.errors import ToubaFailure
from touba_cli.project.manifest import Binding, Launcher, read_manifest

REF = "tool:app/Tool"


def manifest(folder: Path, entry: dict[str, Any], **more: Any) -> str:
    path = folder / "manifest.json"
    path.write_text(json.dumps({"protocol": "touba-manifest-v1", "tools": {REF: entry}, **more}))
    return str(path)


def process(*command: str) -> dict[str, Any]:
    return {"handler": {"kind": "process", "command": list(command)}}


def test_a_manifest_is_read(tmp_path: Path) -> None:
    entry = {
        **process("python", "h.py", "--fast"),
        "grants": ["network"],
        "secrets": {"token": "BANK"},
        "environment": ["HTTPS_PROXY"],
        "limits": {"timeout_ms": 5, "max_request_bytes": 2048, "max_response_bytes": 4096},
    }
    read = read_manifest(manifest(tmp_path, entry, python="/usr/bin/python3"))
    binding = read.tools[REF]
    assert read.python == "/usr/bin/python3"
    assert binding.command == ("python", "h.py", "--fast")
    assert binding.grants == {"network"}
    assert binding.secrets == {"token": "BANK"}
    assert binding.environment == ("HTTPS_PROXY",)
    assert (binding.timeout(None), binding.max_request_bytes, binding.max_response_bytes) == (5, 2048, 4096)


@pytest.mark.parametrize(
    ("manifest_ms", "program_ms", "counts"),
    [(None, None, 60_000), (10, None, 10), (None, 7, 7), (10, 7, 7), (7, 10, 7)],
)
def test_the_smaller_time_out_counts(manifest_ms: int | None, program_ms: int | None, counts: int) -> None:
    limits = {} if manifest_ms is None else {"timeout_ms": manifest_ms}
    assert Binding(REF, {**process("x"), "limits": limits}).timeout(program_ms) == counts


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({**process("x"), "grant": []}, "grants"),
        ({**process("x"), "grants": ["internet"]}, "grants"),
        ({**process("x"), "confinement": {}}, "confinement"),
        ({"handler": {"kind": "process"}}, "command"),
        ({"handler": {"kind": "process", "command": []}}, "command"),
        ({"handler": {"kind": "pipe"}}, "kind"),
        ({"handler": {"kind": "process", "command": ["x"], "warm": True}}, "warm"),
        ({**process("x"), "limits": {"timeout_ms": 0}}, "timeout_ms"),
        ({**process("x"), "limits": {"timeout_ms": "5"}}, "timeout_ms"),
        ({**process("x"), "environment": ["PYTHONPATH"]}, "PYTHONPATH"),
        ({**process("x"), "environment": ["TOUBA_HANDLER"]}, "TOUBA_HANDLER"),
        ({**process("x"), "environment": ["LD_PRELOAD"]}, "LD_PRELOAD"),
        ({**process("x"), "environment": ["A=B"]}, "environment"),
    ],
)
def test_a_manifest_that_says_something_else_is_refused(tmp_path: Path, entry: dict[str, Any], said: str) -> None:
    with pytest.raises(ToubaFailure) as refused:
        read_manifest(manifest(tmp_path, entry))
    assert refused.value.code == "DocumentInvalid"
    assert said in refused.value.message


def test_a_python_script_starts_with_the_interpreter_and_its_flags(tmp_path: Path) -> None:
    (tmp_path / "h.py").touch()
    binding = Binding(REF, process("python", "h.py", "--fast", "py"))
    expected = [sys.executable, "-s", "-X", "utf8", str(tmp_path / "h.py"), "--fast", "py"]
    assert Launcher(str(tmp_path), None, sys.executable).command(binding) == expected
    assert Launcher(str(tmp_path), sys.executable, "/nowhere").command(binding) == expected


def test_a_foreign_program_is_found_by_path_or_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "answer").write_text("#!/bin/sh\n")
    (tools / "answer").chmod(0o755)
    (tools / "plain").touch()
    launcher = Launcher(str(tmp_path), None, sys.executable)
    assert launcher.command(Binding(REF, process("tools/answer", "x")))[0] == str(tools / "answer")
    assert launcher.command(Binding(REF, process(str(tools / "answer"))))[0] == str(tools / "answer")
    monkeypatch.setenv("PATH", f"relative:{tools}")
    assert launcher.command(Binding(REF, process("answer")))[0] == str(tools / "answer")
    for name, why in [("plain", "PATH"), ("tools/plain", "executed"), ("tools/nothing", "exist"), ("tools", "PATH")]:
        with pytest.raises(ToubaFailure, match=why) as refused:
            launcher.command(Binding(REF, process(name)))
        assert (refused.value.code, refused.value.ref) == ("HandlerMissing", REF)


def test_scripts_stay_inside_the_project_links_followed(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (tmp_path / "outside.py").touch()
    (root / "link.py").symlink_to(tmp_path / "outside.py")
    launcher = Launcher(str(root), None, sys.executable)
    for script in ("../outside.py", str(tmp_path / "outside.py"), "link.py"):
        with pytest.raises(ToubaFailure) as refused:
            launcher.command(Binding(REF, process("python", script)))
        assert (refused.value.code, refused.value.ref) == ("PathOutsideProject", REF)


@pytest.mark.parametrize(
    "command",
    [
        ["python"],
        ["python", "-c", "pass"],
        ["python", "-m", "json"],
        ["python", "nothing.py"],
        ["python", "."],
        ["python", "h\0.py"],
        ["/bin/sh", "a\0b"],
    ],
)
def test_a_command_without_a_script_is_refused(tmp_path: Path, command: list[str]) -> None:
    with pytest.raises(ToubaFailure) as refused:
        Launcher(str(tmp_path), None, sys.executable).command(Binding(REF, process(*command)))
    assert refused.value.code == "HandlerMissing"
