"""What is public says what it is for and shows it: docstrings of everything that applications import."""

from __future__ import annotations

import inspect
import tomllib
from importlib import import_module
from importlib.metadata import requires
from pathlib import Path
from typing import Any

import pytest

import touba_sdk
import touba_sdk.testing

ROOT = Path(__file__).resolve().parent.parent
PUBLIC = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in (touba_sdk, touba_sdk.testing)
    for name in module.__all__
}
#: what other calls give; the examples stand there
GIVEN = {"touba_sdk.testing.FakeTool", "touba_sdk.testing.HandlerAnswer", "touba_sdk.testing.Refused"}


@pytest.mark.parametrize("name", PUBLIC)
def test_public_things_are_explained_with_an_example(name: str) -> None:
    text = inspect.getdoc(PUBLIC[name]) or ""
    assert len(text) > 60
    assert name in GIVEN or "Example::" in text or ">>>" in text, f"{name} shows no example"


def methods() -> dict[str, Any]:
    return {
        f"{name}.{method}": function
        for name, each in PUBLIC.items()
        if inspect.isclass(each)
        for method, function in vars(each).items()
        if not method.startswith("_") and inspect.isfunction(function)
    }


@pytest.mark.parametrize("name", methods())
def test_public_methods_are_explained(name: str) -> None:
    assert inspect.getdoc(methods()[name]), name


PACKAGES = (
    "touba_sdk", "touba_sdk.agent", "touba_sdk.agent.observability", "touba_sdk.engine", "touba_sdk.handlers",
    "touba_sdk.models", "touba_sdk.models.adapters", "touba_sdk.models.middleware", "touba_sdk.testing",
    "touba_sdk.testing.model_contract",
)  # fmt: skip


@pytest.mark.parametrize("name", PACKAGES)
def test_dir_shows_what_is_public_and_nothing_else(name: str) -> None:
    module = import_module(name)
    shown = dir(module)
    assert [each for each in shown if not each.startswith("__")] == sorted(module.__all__)
    assert {"__all__", "__doc__", "__name__", "__file__"} <= set(shown)


def test_every_package_of_the_sdk_is_among_them() -> None:
    """One that has no `__all__` holds nothing that is public."""
    folders = {
        path.parent for path in (ROOT / "touba_sdk").rglob("__init__.py") if "__all__" in path.read_text("utf-8")
    }
    assert {".".join(folder.relative_to(ROOT).parts) for folder in folders} == set(PACKAGES)


def test_the_core_depends_on_four_packages() -> None:
    """What else is imported comes with them; everything more is an extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    names = {each.partition(">")[0].strip() for each in project["dependencies"]}
    assert names == {"anyio", "pydantic", "orjson", "platformdirs"}
    assert any(each.startswith("typing-extensions") for each in requires("pydantic") or [])
    assert project["requires-python"] == ">=3.11"
    assert project["scripts"] == {"touba": "touba_cli.__start__:main"}
