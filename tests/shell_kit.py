"""Projects in temporary folders, and real `touba` processes over them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from touba_cli.air.costs import callable_costs
from touba_cli.air.program import program_digest, write_program
from touba_cli.documents import check_document

ROOT = Path(__file__).resolve().parent.parent
START = ROOT / "touba_cli" / "__start__.py"

#: a handler without the SDK: reads its request, and answers with what `answer` (an expression) gives
ANSWERING = """\
import json, os, sys, time
request = json.loads(sys.stdin.buffer.read())
arguments = request["arguments"]
def ok(value):
    return {"protocol": "touba-tool-response-v1", "ok": True, "value": value}
def failed(code, message="it failed", **more):
    return {"protocol": "touba-tool-response-v1", "ok": False, "error": {"code": code, "message": message, **more}}
"""


def coded(
    code: list[list[Any]], *, takes: dict[str, Any] | None = None, gives: Any = "Int", slots: tuple[Any, ...] = ()
) -> dict[str, Any]:
    """A callable with code; ``slots`` are the types of the slots behind the inputs. Costs are filled in."""
    takes = takes or {}
    cost, loops = callable_costs(code)
    filled = [[*each[:2], loops[pc]] if each[0] == "again" else each for pc, each in enumerate(code)]
    return {
        "takes": [{"name": name, "type": form} for name, form in takes.items()],
        "gives": gives,
        "slots": [*takes.items(), *((f"s{number}", form) for number, form in enumerate(slots))],
        "cost": cost,
        "code": filled,
    }


def tool(
    effect: str = "none", *, takes: dict[str, Any] | None = None, gives: Any = "Int", **more: Any
) -> dict[str, Any]:
    """A tool."""
    inputs = [{"name": name, "type": form} for name, form in (takes or {}).items()]
    return {"takes": inputs, "gives": gives, "requires": [], "secrets": [], "effect": effect, **more}


def air(callables: Mapping[str, dict[str, Any]], types: Mapping[str, Any] | None = None) -> bytes:
    """The bytes of a sound AIR document around callables; each instruction stands in a line of its own."""
    features = set()
    for each in callables.values():
        if "code" not in each:
            features.add("tools")
        elif any(instruction[0] == "attempt" for instruction in each["code"]):
            features.add("attempt")
    document: dict[str, Any] = {
        "protocol": "touba-air-v1",
        "semantics": 1,
        "requires": sorted(features),
        "modules": ["app"],
        "types": dict(types or {}),
        "callables": dict(callables),
        "source_map": {
            "files": ["app.tb"],
            "callables": {
                ref: [[0, line, 5, line, 9] for line in range(1, len(each["code"]) + 1)]
                for ref, each in callables.items()
                if "code" in each
            },
        },
        "build": {"compiler": "0.1.0", "sources": {"app.tb": "0" * 64}},
    }
    document["digest"] = program_digest(document)
    return write_program(document)


def calling(effect: str = "none", **more: Any) -> bytes:
    """A program that calls `tool:app/Tool` once with its input and gives what that gives."""
    return air({
        "strategy:app/Main": coded(
            [["call", 1, 1, "tool:app/Tool", [["slot", 0]]], ["give", ["slot", 1]]],
            takes={"value": "Int"},
            slots=("Int",),
        ),
        "tool:app/Tool": tool(effect, takes={"value": "Int"}, **more),
    })  # fmt: skip


def spinning() -> bytes:
    """A program that never ends by itself."""
    return air({"strategy:app/Main": coded([["set", 0, ["int", 1]], ["again", 0, 1]], slots=("Int",))})


class Project:
    """A project's folder. Everything is written with the methods and run with `touba`."""

    def __init__(self, folder: Path):
        self.folder = folder

    def write(self, path: str, content: str | bytes | dict[str, Any]) -> Path:
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, dict):
            content = json.dumps(content)
        target.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        return target

    def handler(self, body: str, *, answer: str | None = None, **entry: Any) -> None:
        """Bind `tool:app/Tool` to a script without the SDK: ``body``, then perhaps an answer."""
        script = ANSWERING + body + "\n"
        if answer is not None:
            script += f"sys.stdout.write(json.dumps({answer}))\n"
        self.write("handlers/tool.py", script)
        self.bind(["python", "handlers/tool.py"], **entry)

    def bind(self, command: list[str], **entry: Any) -> None:
        """Write a manifest that binds `tool:app/Tool`."""
        tools = {"tool:app/Tool": {"handler": {"kind": "process", "command": command}, **entry}}
        self.write("manifest.json", {"protocol": "touba-manifest-v1", "tools": tools})

    def call(self, *more: str, program: bytes | None = None, value: int = 1, **options: Any) -> Ended:
        """Run a program that calls the bound tool with a value."""
        self.write("app.air.json", program if program is not None else calling())
        words = ["--air=app.air.json", "--manifest=manifest.json", f'--inputs={{"value":{value}}}', *more]
        return self.touba("run", *words, "--json", **options)

    def touba(self, *words: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> Ended:
        """Run `touba` to its end."""
        done = subprocess.run(
            command(*words), input=stdin, capture_output=True, cwd=self.folder, env=environment(env), timeout=50
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def start(self, *words: str, **options: Any) -> subprocess.Popen[bytes]:
        """Start `touba` with pipes."""
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(command(*words), cwd=self.folder, env=environment(), **{**pipes, **options})


def command(*words: str) -> list[str]:
    """The command line of a `touba` process, as an engine starts it."""
    return [sys.executable, "-I", "-S", "-X", "utf8", str(START), *words]


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of the tests without what an outer run might have left in it; the cache is the session's own."""
    kept = {name: text for name, text in os.environ.items() if name == "TOUBA_CACHE_DIR" or name[:6] != "TOUBA_"}
    return {**kept, **(more or {})}


class Ended:
    """A `touba` process that has ended."""

    def __init__(self, code: int, stdout: bytes, stderr: bytes):
        self.code = code
        self.stdout = stdout
        self.stderr = stderr.decode("utf-8", "replace")

    @property
    def document(self) -> dict[str, Any]:
        """The JSON document on standard output: one line in the shape of its protocol, without a traceback of ours."""
        assert not ("Traceback" in self.stderr and "touba_cli" in self.stderr), self.stderr
        assert self.stdout.endswith(b"\n")
        assert self.stdout.count(b"\n") == 1
        found: dict[str, Any] = json.loads(self.stdout)
        assert check_document(found["protocol"], found) is None
        if "exit_code" in found:
            assert found["exit_code"] == self.code
        return found

    @property
    def error(self) -> dict[str, Any]:
        """The error of the document."""
        found = self.document["error"]
        assert found is not None, self.document
        return dict(found)

    def refused(self, code: str, exit_code: int) -> str:
        """Assert a failure; gives its message."""
        error = self.error
        assert (error["code"], self.code) == (code, exit_code), (error, self.stderr)
        return str(error["message"])


def request(options: dict[str, Any], **more: Any) -> bytes:
    """The line of a request document."""
    document = {"protocol": "touba-run-request-v1", "sdk_version": "0.1.0", "options": options, **more}
    return json.dumps(document).encode() + b"\n"


def eventually(condition: Any, what: str, seconds: float = 10) -> None:
    """Wait until a condition holds; fail with ``what`` where it never does."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, what
        time.sleep(0.01)


def alive(pid: int) -> bool:
    """Whether a process runs (a zombie does not)."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] not in ("Z", "X")
