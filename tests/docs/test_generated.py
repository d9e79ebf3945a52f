"""What the pages and schemas say is what the tables say: `python docs/generate.py` was run."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from touba_cli.air.operations import OPERATIONS
from touba_cli.documents import DOCUMENTS

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_nothing_is_out_of_date(generator: ModuleType) -> None:
    assert [str(path.relative_to(ROOT)) for path in generator.stale()] == []


def test_every_operation_is_on_the_page() -> None:
    page = (ROOT / "docs" / "operations.md").read_text("utf-8")
    assert [name for name in OPERATIONS if f"`{name}`" not in page] == []


def test_schemas_are_those_of_the_documents() -> None:
    assert sorted(path.stem for path in (ROOT / "touba_cli" / "schemas").glob("*.json")) == sorted(DOCUMENTS)


def test_tables_are_filled_in_between_their_marks(generator: ModuleType) -> None:
    page = "before\n<!-- table: outcomes -->\nold\n<!-- end -->\nafter\n"
    filled = generator.fill(page)
    assert filled.startswith("before\n<!-- table: outcomes -->\n| a run that |")
    assert filled.endswith("|\n<!-- end -->\nafter\n")
    assert "old" not in filled
    assert generator.fill(filled) == filled
    with pytest.raises(KeyError):
        generator.fill("<!-- table: nonsense -->\n<!-- end -->\n")


def test_the_command_refuses_other_words_and_checks() -> None:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(ROOT / "docs" / "generate.py"), *words], capture_output=True, text=True, check=False
        )

    assert run("--check").returncode == 0
    wrong = run("--chek")
    assert wrong.returncode == 2
    assert "python docs/generate.py" in wrong.stderr
