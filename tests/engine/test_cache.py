"""The engine says where the compile cache is; whether it is used is the runtime's to see."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import platformdirs
import pytest

from touba_sdk import ToubaEngine
from touba_sdk.engine.core import Core
from touba_sdk.errors import UsageError

SOURCE = "module app\n\nfunction Run\n    gives Int\n    do\n        give 7\n"


def words(core: Core, command: str = "run", **options: Any) -> list[str]:
    return [word for word in core.prepare(command, None, options).invocation.argv if "cache" in word]


def test_the_folder_stands_beside_other_things_that_can_be_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    core = Core({})
    monkeypatch.setenv("TOUBA_CACHE_DIR", "/somewhere/own")
    assert words(core, source="a.tb") == ["--cache-folder=/somewhere/own/programs"]
    monkeypatch.delenv("TOUBA_CACHE_DIR")
    expected = os.path.join(platformdirs.user_cache_dir("touba", appauthor=False), "programs")
    assert words(core, source="a.tb") == [f"--cache-folder={expected}"]
    monkeypatch.setenv("TOUBA_CACHE_DIR", "relative")
    with pytest.raises(UsageError, match="absolute path"):
        words(core, source="a.tb")


def test_only_a_run_from_source_has_a_cache() -> None:
    core = Core({})
    assert words(core, source="a.tb", cache=True)[0] == "--cache"
    assert words(core, source="a.tb", cache=False) == ["--no-cache"]
    assert words(core, air="a.air.json") == []
    assert words(core, "check", source="a.tb") == []
    assert words(core, "compile", source="a.tb") == []


def test_runs_fill_and_use_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOUBA_CACHE_DIR", str(tmp_path / "own"))
    project = tmp_path / "project"
    project.mkdir()
    (project / "app.tb").write_text(SOURCE, "utf-8")
    with ToubaEngine(project_root=project) as engine:
        assert engine.run("app.tb", cache=False).result == 7
        assert not (tmp_path / "own").exists()
        for _ in range(2):
            assert engine.run("app.tb").result == 7
        entries = list((tmp_path / "own" / "programs").iterdir())
        assert len(entries) == 1
        (project / "app.tb").write_text(SOURCE.replace("7", "8"), "utf-8")
        assert engine.run("app.tb").result == 8
        entries[0].write_bytes(b"torn")
        (project / "app.tb").write_text(SOURCE, "utf-8")
        assert engine.run("app.tb").result == 7
