"""What a start loads. A module that joins one of these lists costs every run: it needs a reason, and a line here.

The lists are the files of tests/startup: one module a line. Modules of ours must agree exactly; of the standard library
none may be loaded that is not listed (versions of Python differ in what they need underneath).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
OURS = ("touba_cli", "touba_sdk")
#: never on the run path, whatever a list says
BANNED = {
    "asyncio",
    "argparse",
    "dataclasses",
    "enum",
    "inspect",
    "json",
    "logging",
    "pathlib",
    "re",
    "subprocess",
    "typing",
}

PROGRAM = """module start

tool Echo
    takes value as Text
    gives Text
    effect none

strategy Run
    takes value as Text
    gives Text
    do
        give value

strategy Ask
    takes value as Text
    gives Text
    do
        give call Echo(value)
"""

HANDLER = """from touba_sdk import define_tool

if __name__ == "__main__":
    define_tool(tool_ref="tool:start/Echo", input_signature=[{"name": "value", "type_ref": "Text"}], output_type="Text",
                run=lambda request, context: request)
"""


def interpreter() -> str:
    return str(getattr(sys, "_base_executable", None) or sys.executable)


def loaded(arguments: list[str], folder: Path, text: str = "") -> set[str]:
    """Modules that a start of Python loads beyond an empty one with the same flags."""
    flags = [argument for argument in arguments if argument.startswith("-")][
        : arguments.index("--") if "--" in arguments else None
    ]
    command = [argument for argument in arguments if argument != "--"]
    environment = {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], "PYTHONHASHSEED": "0"}

    def modules(line: list[str]) -> set[str]:
        done = subprocess.run(
            [interpreter(), "-X", "importtime", *line],
            cwd=folder, env=environment, input=text, capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        rows = (row for row in done.stderr.splitlines() if row.startswith("import time:"))
        return {row.rpartition("|")[2].strip() for row in rows} - {"imported package"}

    return modules(command) - modules([*flags, "-c", "pass"])


def compare(name: str, found: set[str]) -> None:
    listed = set((HERE / "startup" / f"{name}.txt").read_text("utf-8").split())
    ours = {module for module in found if module.split(".")[0] in OURS}
    expected = {module for module in listed if module.split(".")[0] in OURS}
    assert ours == expected, f"joined: {sorted(ours - expected)}; left: {sorted(expected - ours)}"
    assert not (found - ours) - listed, f"new: {sorted((found - ours) - listed)}"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("start")
    (folder / "start.tb").write_text(PROGRAM, "utf-8")
    (folder / "echo.py").write_text(HANDLER, "utf-8")
    handler = {"handler": {"kind": "process", "command": ["python", "echo.py"]}}
    manifest = {"protocol": "touba-manifest-v1", "tools": {"tool:start/Echo": handler}}
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    command = [sys.executable, "-m", "touba_cli", "compile", "start.tb", "--out=start.air.json"]
    subprocess.run(command, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True, timeout=60)
    return folder


def request(entry: str, **options: str) -> str:
    members = {"air": "start.air.json", "entry_ref": f"strategy:start/{entry}", "inputs": {"value": "x"}}
    members |= {"python_executable": sys.executable, **options}
    return json.dumps({"protocol": "touba-run-request-v1", "sdk_version": "0", "options": members}) + "\n"


def run_modules(project: Path, text: str) -> set[str]:
    start = str(ROOT / "touba_cli" / "__start__.py")
    flags = ["-I", "-S", "-X", "utf8"]
    return loaded([*flags, "--", start, "run", "--json", "--request=-"], project, text)


def test_a_plain_run_of_compiled_air(project: Path) -> None:
    found = run_modules(project, request("Run"))
    assert not BANNED & found
    compare("run", found)


def test_a_run_from_source_that_is_in_the_cache(project: Path, tmp_path: Path) -> None:
    text = json.loads(request("Run"))
    text["options"]["source"] = "start.tb"
    del text["options"]["air"]
    start = str(ROOT / "touba_cli" / "__start__.py")
    words = [start, "run", "--json", "--request=-", f"--cache-folder={tmp_path / 'cache'}"]
    flags = ["-I", "-S", "-X", "utf8"]
    loaded([*flags, "--", *words], project, json.dumps(text))
    found = loaded([*flags, "--", *words], project, json.dumps(text))
    assert not BANNED & found
    compare("run_source", found)


def test_a_run_that_calls_a_tool(project: Path) -> None:
    found = run_modules(project, request("Ask", manifest="manifest.json"))
    assert not BANNED & found
    compare("run_tool", found)


def test_a_handler(project: Path) -> None:
    effect = {"kind": "none", "operation_id": "o", "idempotency_key": "o", "attempt": 1}
    call = {
        "protocol": "touba-tool-request-v1", "tool_ref": "tool:start/Echo", "arguments": {"value": "x"}, "call_id": "1",
        "run_id": "r", "occurrence": "1", "grants": [], "secret_handles": {}, "limits": {}, "resources": {},
        "deadline_ms": 1000, "effect": effect,
    }  # fmt: skip
    found = loaded(["-s", "-X", "utf8", "--", "echo.py"], project, json.dumps(call))
    assert not {"pydantic", "anyio", "touba_cli", "orjson"} & {name.split(".")[0] for name in found}
    compare("handler", found)


def test_importing_the_sdk(project: Path) -> None:
    (project / "only_import.py").write_text("import touba_sdk\n", "utf-8")
    compare("sdk", loaded(["-s", "--", "only_import.py"], project))
