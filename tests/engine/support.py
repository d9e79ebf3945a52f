"""What the tests of the engines share: the fake runtime, the three ways to drive it, and the look for leftovers."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio

from touba_sdk import AsyncToubaEngine, ToubaEngine

RUNTIME = Path(__file__).resolve().parent.parent / "fake_runtime" / "runtime.py"
SCENARIOS = RUNTIME.parent / "scenarios"

#: seconds in which what a test has ended may still be there
SETTLE = 2.0

#: stands in a document where a scenario fills something in
_MARK = "(filled in)"

USAGE = {
    "steps": 1, "external_calls": 0, "provider_calls": 0, "agent_steps": 0, "input_tokens": 0, "output_tokens": 0,
    "cost": None,
}  # fmt: skip


def envelope(**changes: Any) -> dict[str, Any]:
    """The document of a successful run, with changes."""
    return {
        "protocol": "touba-run-v1", "run_id": "r1", "status": "success", "reason": "completed", "exit_code": 0,
        "result": {"total": "12.50"}, "messages": [], "pending_interaction": None, "pending_interactions": [],
        "explanation": None, "warnings": [], "error": None, "trace": None, "trace_reference": None, "usage": USAGE,
        **changes,
    }  # fmt: skip


def failure(code: str = "InputInvalid", phase: str = "admission", **changes: Any) -> dict[str, Any]:
    """The member `error`."""
    return {
        "code": code, "phase": phase, "message": "`inputs.count` is a Text, an Int was expected", "ref": None,
        "hint": "Correct the input at the path given.", "effect": None, "diagnostics": [], **changes,
    }  # fmt: skip


def failed(code: str = "InputInvalid", phase: str = "admission", exit_code: int = 4, **changes: Any) -> dict[str, Any]:
    """The document of a failed run."""
    error = failure(code, phase)
    document = envelope(status="failed", reason=code, exit_code=exit_code, result=None, error=error)
    return {**document, **changes}


CANCELLED = envelope(status="cancelled", reason="cancelled", exit_code=130, result=None)


def text(document: Any) -> str:
    """A document as the runtime prints it."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n"


def out(document: Any) -> dict[str, Any]:
    return {"do": "out", "text": text(document)}


def scenario(name: str, case: str = "steps") -> list[dict[str, Any]]:
    """The steps of one case of a scenario file."""
    found = json.loads((SCENARIOS / f"{name}.json").read_text("utf-8"))
    return [expanded(step) for step in found[case]]


def cases(name: str) -> list[str]:
    """The cases of a scenario file."""
    return [case for case in json.loads((SCENARIOS / f"{name}.json").read_text("utf-8")) if case != "about"]


def expanded(step: dict[str, Any]) -> dict[str, Any]:
    """A step of a scenario file as the fake runtime takes it: documents are written out.

    ``envelope`` is a success, with ``outcome`` a cancelled run; ``changes`` are members that differ; ``result`` and
    ``messages`` are a ``text`` that stands there ``times`` times. ``failure`` takes ``code``, ``phase``, ``exit_code``.
    """
    if step["do"] == "on_term":
        return {**step, "steps": [expanded(inner) for inner in step["steps"]]}
    if step["do"] == "failure":
        return out(failed(**{name: value for name, value in step.items() if name != "do"}))
    if step["do"] != "envelope":
        return step
    document = dict(CANCELLED) if step.get("outcome") == "cancelled" else envelope()
    document.update(step.get("changes", {}))
    fill = step.get("result") or step.get("messages") or {"text": "", "times": 1}
    if "result" in step:
        document["result"] = _MARK
    if "messages" in step:
        document["messages"] = [{"interaction_ref": "show:app/Main/1", "text": _MARK}]
    before, _, behind = text(document).partition(_MARK)
    filling = json.dumps(fill["text"], ensure_ascii=False)[1:-1]
    parts = [[before, 1], [filling, fill["times"]], [behind, 1]]
    return {"do": "out", "parts": parts, **{name: step[name] for name in ("pieces", "cut") if name in step}}


class Fake:
    """The fake runtime with one scenario, and what it recorded."""

    def __init__(self, folder: Path, steps: list[dict[str, Any]]):
        self.folder = folder
        self.project = folder / "project"
        self.project.mkdir()
        self.path = folder / "touba"
        scenario = folder / "scenario.json"
        scenario.write_text(json.dumps({"folder": str(folder), "steps": steps}), "utf-8")
        launcher = f"#!{sys.executable} -IS\nimport sys\nsys.argv[1:1] = [{str(scenario)!r}]\n"
        launcher += f"exec(compile(open({str(RUNTIME)!r}).read(), 'runtime', 'exec'))\n"
        self.path.write_text(launcher, "utf-8")
        self.path.chmod(0o755)

    @property
    def record(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "record.json").read_text("utf-8"))
        return found

    @property
    def request(self) -> bytes:
        return (self.folder / "request").read_bytes()

    def has(self, name: str) -> bool:
        return (self.folder / name).exists()

    def touch(self, name: str) -> None:
        (self.folder / name).touch()

    def pids(self) -> list[int]:
        path = self.folder / "pids"
        return [int(line) for line in path.read_text("ascii").split()] if path.exists() else []

    def options(self, **more: Any) -> dict[str, Any]:
        return {"project_root": self.project, "cli_path": self.path, **more}

    def wait_until(self, name: str, seconds: float = 20) -> None:
        wait_for(lambda: self.has(name), f"{name} of the fake runtime", seconds)


class Driver:
    """One way to call an engine: blocking, or async on one of the two event loops."""

    def __init__(self, kind: str):
        self.kind = kind

    def call(self, method: str, *args: Any, engine: dict[str, Any], **options: Any) -> Any:
        if self.kind == "sync":
            with ToubaEngine(**engine) as blocking:
                return getattr(blocking, method)(*args, **options)

        async def main() -> Any:
            async with AsyncToubaEngine(**engine) as waiting:
                return await getattr(waiting, method)(*args, **options)

        return anyio.run(main, backend=self.kind)

    def run(self, fake: Fake, **options: Any) -> Any:
        return self.call("run", "program.tb", engine=fake.options(), **options)


def wait_for(condition: Callable[[], bool], what: str, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited {seconds} s for {what}"
        time.sleep(0.005)


def alive(pid: int) -> bool:
    """Whether a process exists and is no zombie of somebody else."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


class Snapshot:
    """Descriptors, child processes and threads of this process."""

    def __init__(self) -> None:
        self.descriptors = {}
        for name in os.listdir("/proc/self/fd"):
            with contextlib.suppress(FileNotFoundError):
                self.descriptors[name] = os.readlink(f"/proc/self/fd/{name}")
        self.descriptors = {name: target for name, target in self.descriptors.items() if not target.endswith("/fd")}
        self.children: set[int] = set()
        for task in os.listdir("/proc/self/task"):
            with contextlib.suppress(FileNotFoundError):
                listed = Path(f"/proc/self/task/{task}/children").read_text("ascii")
                self.children |= {int(pid) for pid in listed.split()}
        self.threads = {thread for thread in threading.enumerate() if thread.is_alive()}

    def grown(self, before: Snapshot) -> list[str]:
        """What there is now and was not before."""
        found = [
            f"descriptor {name}: {target}"
            for name, target in self.descriptors.items()
            if before.descriptors.get(name) != target
        ]
        found += [f"child process {pid}" for pid in self.children - before.children]
        found += [f"thread {thread.name}" for thread in self.threads - before.threads]
        return sorted(found)


def leftovers(before: Snapshot, pids: list[int], folder: Path | None = None, seconds: float | None = None) -> list[str]:
    """What a test left behind, after a short time to settle.

    Parameters:
        before: descriptors, children (zombies are children, too) and threads before the test.
        pids: processes that must have ended.
        folder: a folder that must be empty.
        seconds: the time to settle; default: `SETTLE`.
    """
    end = time.monotonic() + (SETTLE if seconds is None else seconds)
    while True:
        found = Snapshot().grown(before) + [f"process {pid}" for pid in pids if alive(pid)]
        found += sorted(f"file {path.name}" for path in folder.iterdir()) if folder is not None else []
        if not found or time.monotonic() > end:
            return found
        time.sleep(0.01)
