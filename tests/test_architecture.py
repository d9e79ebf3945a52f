"""The arrows of docs/architecture.md: which package may import which."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

TABLES = ("options", "errors", "outcomes", "limits", "codec", "vendors")
#: what every part of touba_cli may import
BASE = (
    "touba_cli",
    *(f"touba_cli.{name}" for name in TABLES),
    "touba_cli.documents",
    "touba_cli.json_places",
    "touba_cli.shapes",
    "touba_cli.spelling",
)

#: package of touba_cli → packages of touba_cli that it may import besides BASE and itself
ARROWS = {
    "air": ("values",),
    "values": ("air",),
    "project": ("values", "air"),
    "runtime": ("values", "air", "project"),
    "language": ("values", "air"),
    "commands": ("language", "runtime", "project", "values", "air"),
}

#: package of touba_sdk → packages of touba_sdk that it may import besides the shared modules and itself
SDK_ARROWS = {
    "agent": ("models",),
    "engine": (),
    "handlers": (),
    "models": (),
    "testing": ("engine", "handlers", "models"),
}
#: module of touba_sdk → packages that it may import and the rest of its package may not
SDK_OWN_ARROWS = {"touba_sdk.agent.tools": ("engine",)}
SDK_SHARED = (
    "touba_sdk", "touba_sdk.errors", "touba_sdk._wire", "touba_sdk._annotations", "touba_sdk._validation",
    "touba_sdk._encode", "touba_sdk._causes",
)  # fmt: skip

#: modules that a run of compiled AIR loads may not cost a start-up
RUN_PATH = ("air", "values", "runtime", "project")
SLOW = {
    "argparse", "asyncio", "collections", "contextlib", "dataclasses", "enum", "functools", "hashlib", "inspect", "json",
    "logging", "pathlib", "re", "subprocess", "threading", "typing", "uuid",
}  # fmt: skip


def modules(package: str) -> Iterator[tuple[str, Path]]:
    for path in sorted((ROOT / package).rglob("*.py")):
        yield ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"), path


def imports(path: Path, module: str, *, at_start_only: bool = False) -> Iterator[str]:
    """Absolute names of what a module imports at run time; type-checking imports do not count."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]

    def walk(nodes: list[ast.stmt]) -> Iterator[str]:
        for node in nodes:
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                yield from walk(node.orelse)
                continue
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
                name = ".".join([*base, *([node.module] if node.module else [])])
                yield name
                yield from (f"{name}.{alias.name}" for alias in node.names)
            if at_start_only and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            for field in ("body", "orelse", "finalbody"):
                yield from walk(getattr(node, field, []))
            for handler in getattr(node, "handlers", []):
                yield from walk(handler.body)

    yield from walk(ast.parse(path.read_text("utf-8")).body)


def known(names: Iterator[str], package: str) -> set[str]:
    """Only those names that are modules of the package: `from x import y` also yields `x.y`."""
    everything = {name for name, _ in modules(package)}
    return {name for name in names if name in everything}


@pytest.mark.parametrize(
    ("module", "path"), list(modules("touba_cli")), ids=lambda value: str(value).rpartition("/")[2]
)
def test_runtime_modules_import_only_along_the_arrows(module: str, path: Path) -> None:
    part = module.split(".")[1] if module.count(".") >= 1 else ""
    allowed = {part, *ARROWS.get(part, ())}
    for name in known(imports(path, module), "touba_cli"):
        if name in BASE or part in ("", "__main__", "__start__", "schemas"):
            continue
        assert name.split(".")[1] in allowed, f"{module} may not import {name}"


@pytest.mark.parametrize(
    ("module", "path"), list(modules("touba_cli")), ids=lambda value: str(value).rpartition("/")[2]
)
def test_runtime_never_imports_the_sdk_or_its_libraries(module: str, path: Path) -> None:
    for name in imports(path, module):
        assert name.split(".")[0] not in ("touba_sdk", "pydantic", "anyio", "typing_extensions"), f"{module}: {name}"


@pytest.mark.parametrize("part", RUN_PATH)
def test_run_path_keeps_clear_of_slow_modules(part: str) -> None:
    for module, path in modules(f"touba_cli/{part}"):
        slow = SLOW & {name.split(".")[0] for name in imports(path, module, at_start_only=True)}
        assert not slow, f"{module} imports {sorted(slow)} when it is loaded"


@pytest.mark.parametrize(
    ("module", "path"), list(modules("touba_sdk")), ids=lambda value: str(value).rpartition("/")[2]
)
def test_sdk_imports_only_the_plain_tables_of_the_runtime(module: str, path: Path) -> None:
    part = module.split(".")[1] if module.count(".") >= 1 else ""
    for name in known(imports(path, module), "touba_cli"):
        assert part != "handlers", f"{module} may import nothing of touba_cli, not {name}"
        assert name == "touba_cli" or name.removeprefix("touba_cli.") in TABLES, f"{module} may not import {name}"
    for name in known(imports(path, module), "touba_sdk"):
        if part in SDK_ARROWS and name not in SDK_SHARED:
            allowed = {part, *SDK_ARROWS[part], *SDK_OWN_ARROWS.get(module, ())}
            assert name.split(".")[1] in allowed, f"{module} may not import {name}"


def test_handlers_load_no_library() -> None:
    for module, path in modules("touba_sdk/handlers"):
        for name in imports(path, module):
            assert name.split(".")[0] not in ("pydantic", "anyio", "orjson", "platformdirs"), f"{module}: {name}"


def test_the_walk_sees_a_forbidden_import(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "def f():\n    try:\n        from touba_sdk import engine\n    except ImportError:\n        import json\n"
    )
    assert {"touba_sdk", "touba_sdk.engine", "json"} <= set(imports(wrong, "touba_cli.wrong"))
