"""What is public says what it is for and shows it: docstrings of everything that applications import."""

from __future__ import annotations

import inspect
import tomllib
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


def test_the_core_depends_on_four_packages() -> None:
    """What else is imported comes with them; everything more is an extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    names = {each.partition(">")[0].strip() for each in project["dependencies"]}
    assert names == {"anyio", "pydantic", "orjson", "platformdirs"}
    assert any(each.startswith("typing-extensions") for each in requires("pydantic") or [])
    assert project["requires-python"] == ">=3.11"
    assert project["scripts"] == {"touba": "touba_cli.__main__:main"}
