"""The package itself: lazy names, their types, the version; and the look for leftovers that guards these tests."""

from __future__ import annotations

import doctest
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import touba_cli
import touba_sdk
import touba_sdk.engine
import touba_sdk.engine.command
import touba_sdk.errors
from tests.engine.support import Fake, envelope, out
from touba_sdk.engine.child import Child, SelectorChild, ThreadChild
from touba_sdk.engine.envelope import conclude_run
from touba_sdk.engine.process import OUTPUT_CAP, Call


def modules_after(code: str, repository: Path) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"],
        cwd=repository,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def test_importing_the_package_loads_nothing_else(repository: Path) -> None:
    loaded = modules_after("import touba_sdk", repository) - modules_after("", repository)
    assert {name for name in loaded if not name.startswith("_")} == {"touba_sdk"}


def test_each_name_loads_only_what_it_needs(repository: Path) -> None:
    loaded = modules_after("from touba_sdk import ToubaEngineError", repository)
    assert "pydantic" not in loaded
    assert "anyio" not in loaded
    loaded = modules_after("from touba_sdk import ToubaEngine", repository)
    assert "pydantic" in loaded
    assert "anyio" not in loaded
    assert "asyncio" not in loaded


def test_every_public_name_exists() -> None:
    assert set(touba_sdk.__all__) == set(touba_sdk._PLACES)
    for name in touba_sdk.__all__:
        assert getattr(touba_sdk, name).__name__ == name
        assert name in dir(touba_sdk)
    for name in touba_sdk.engine.__all__:
        assert getattr(touba_sdk.engine, name).__name__ == name
    for package in (touba_sdk, touba_sdk.engine):
        with pytest.raises(AttributeError, match="no_such_name"):
            package.__getattr__("no_such_name")


def test_type_checkers_see_the_same_names(repository: Path) -> None:
    for package, places in ((touba_sdk, touba_sdk._PLACES), (touba_sdk.engine, touba_sdk.engine._PLACES)):
        assert package.__file__ is not None
        text = Path(package.__file__).read_text("utf-8")
        for name in places:
            assert f"import {name} as {name}\n" in text
        assert (Path(package.__file__).parent / "py.typed").exists() or package is touba_sdk.engine


@pytest.mark.parametrize("module", [touba_sdk.errors, touba_sdk.engine.command])
def test_examples_in_docstrings(module: ModuleType) -> None:
    found = doctest.testmod(module)
    assert found.attempted > 0
    assert found.failed == 0


def test_one_version(repository: Path) -> None:
    project = tomllib.loads((repository / "pyproject.toml").read_text("utf-8"))["project"]
    assert touba_sdk.__version__ == touba_cli.__version__ == project["version"]


@pytest.mark.parametrize("kind", [SelectorChild, ThreadChild])
@pytest.mark.parametrize("watched", [True, False])
def test_every_kind_of_child_gives_the_same(
    tmp_path: Path, kind: type[Child], watched: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not watched:
        monkeypatch.delattr(os, "pidfd_open", raising=False)
    result = "é" * 300_000
    fake = Fake(tmp_path, [{"do": "err", "text": "e" * 300_000}, {"do": "read_line"}, out(envelope(result=result))])
    request = b"x" * 300_000 + b"\n"
    child = kind([str(fake.path)], folder="/", env={}, request=request, hold_input=True, cap=OUTPUT_CAP)
    call = Call(child, deadline_ms=None, cancel=None)
    while True:
        pause = call.advance()
        if call.finished:
            break
        child.wait(pause)
    assert conclude_run(call.ending()).result == result
    assert fake.request == request
    assert not any(os.path.exists(f"/proc/{pid}") for pid in fake.pids())


@pytest.mark.parametrize("kind", [SelectorChild, ThreadChild])
def test_every_kind_of_child_ends_when_its_input_does(tmp_path: Path, kind: type[Child]) -> None:
    fake = Fake(tmp_path, [{"do": "read_line"}, {"do": "wait_for_end"}, out(envelope())])
    child = kind([str(fake.path)], folder="/", env={}, request=b"{}\n", hold_input=True, cap=OUTPUT_CAP)
    call = Call(child, deadline_ms=None, cancel=None)
    call.stop()
    while True:
        pause = call.advance()
        if call.finished:
            break
        child.wait(pause)
    assert conclude_run(call.ending()).status == "success"


@pytest.mark.parametrize("kind", [SelectorChild, ThreadChild])
def test_closing_a_child_ends_it(tmp_path: Path, kind: type[Child]) -> None:
    fake = Fake(tmp_path, [{"do": "ignore_term"}, {"do": "sleep", "seconds": 60}])
    child = kind([str(fake.path)], folder="/", env={}, request=b"{}\n", hold_input=True, cap=10)
    child.close()
    child.close()
    assert child.status == -9
    assert not os.path.exists(f"/proc/{child.pid}")
