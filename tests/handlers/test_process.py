"""define_tool in a process of its own: the wire, the life line, the end, and what it loads."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

REQUEST = {
    "protocol": "touba-tool-request-v1",
    "tool_ref": "tool:app/Do",
    "arguments": {"n": 2},
    "effect": {"kind": "read"},
}
START = "from touba_sdk import define_tool\n"
END = '\nif __name__ == "__main__":\n    define_tool(tool_ref="tool:app/Do", run=run)\n'


@pytest.fixture
def script(tmp_path: Path) -> Any:
    def write(body: str, start: str = START, end: str = END) -> str:
        path = tmp_path / "handler.py"
        path.write_text(start + body + end, encoding="utf-8")
        return str(path)

    return write


class Handler:
    """A handler as the runtime starts it: a session of its own, pipes, a life line."""

    def __init__(self, path: str, repository: Path, attached: bool = True):
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(repository)}
        self.life_read, self.life_write = os.pipe()
        passed: tuple[int, ...] = ()
        if attached:
            environment["TOUBA_HANDLER"] = str(self.life_read)
            passed = (self.life_read,)
        self.process = subprocess.Popen(
            [sys.executable, "-s", "-X", "utf8", path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            pass_fds=passed,
            start_new_session=True,
        )

    def close(self) -> None:
        for descriptor in (self.life_read, self.life_write):
            if descriptor >= 0:
                os.close(descriptor)
        if self.process.poll() is None:
            self.process.kill()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        self.process.wait()


@pytest.fixture
def start(repository: Path) -> Any:
    started: list[Handler] = []

    def begin(path: str, attached: bool = True) -> Handler:
        started.append(Handler(path, repository, attached))
        return started[-1]

    yield begin
    for handler in started:
        handler.close()


def call(handler: Handler, request: Any = REQUEST) -> tuple[dict[str, Any], str, int]:
    data = request if isinstance(request, bytes) else json.dumps(request).encode()
    out, err = handler.process.communicate(data, timeout=20)
    return json.loads(out), err.decode(), handler.process.returncode


@pytest.mark.parametrize("attached", [True, False])
def test_what_user_code_does_to_its_streams_harms_nothing(script: Any, start: Any, attached: bool) -> None:
    path = script(
        """
import os, subprocess, sys
print("stray while importing")
def run(request, context):
    print("stray print")
    os.write(1, b"stray write\\n")
    os.system("echo stray child")
    left = sys.stdin.read()
    sys.stdout.close()
    return {"n": request["n"] + 1, "left": left, "marker": os.environ.get("TOUBA_HANDLER")}
"""
    )
    response, err, code = call(start(path, attached))
    assert response["value"] == {"n": 3, "left": "", "marker": None}
    assert code == 0
    for stray in ("stray print", "stray write", "stray child"):
        assert stray in err
    if attached:
        assert "stray while importing" in err


def test_children_inherit_neither_wire_nor_life_line(script: Any, start: Any) -> None:
    path = script(
        """
import subprocess, sys
def run(request, context):
    probe = "import os; print([n for n in range(3, 40) if os.path.exists(f'/proc/self/fd/{n}')][:-1])"
    return subprocess.run([sys.executable, "-c", probe], capture_output=True, close_fds=False, text=True).stdout.strip()
"""
    )
    response, _, _ = call(start(path))
    assert response["value"] in ("[]", "[3]")


def test_threads_that_are_still_at_work_are_not_waited_for(script: Any, start: Any) -> None:
    path = script(
        """
import atexit, threading, time
atexit.register(lambda: print("tidied up"))
def run(request, context):
    threading.Thread(target=time.sleep, args=(60,)).start()
    print("no line end", end="")
    return 1
"""
    )
    began = time.monotonic()
    response, err, code = call(start(path))
    assert (response["value"], code) == (1, 0)
    assert time.monotonic() - began < 15
    assert "no line end" in err
    assert "tidied up" in err


def test_a_forked_copy_does_not_answer_too(script: Any, start: Any) -> None:
    path = script(
        """
import os
def run(request, context):
    child = os.fork()
    if child:
        os.waitpid(child, 0)
    return "parent" if child else "child"
"""
    )
    response, _, _ = call(start(path))
    assert response["value"] == "parent"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("def run(request, context):\n    raise SystemExit(3)\n", "ToolHandlerFailed"),
        ("async def run(request, context):\n    raise KeyError('s3cret')\n", "ToolHandlerFailed"),
        (
            "from touba_sdk import ToubaHandlerError\n"
            "def run(request, context):\n    raise ToubaHandlerError('NoStock', 'Sold out.')\n",
            "NoStock",
        ),
    ],
)
def test_failures_are_answers(script: Any, start: Any, body: str, code: str) -> None:
    response, err, exit_code = call(start(script(body)))
    assert response["error"]["code"] == code
    assert exit_code == 0
    assert "s3cret" not in err
    if code == "ToolHandlerFailed":
        assert "handler.py:" in response["error"]["message"]


def test_what_is_wrong_with_the_definition_is_an_answer_where_a_runtime_asks(script: Any, start: Any) -> None:
    end = '\ndefine_tool(tool_ref="Do", run=run)\n'
    path = script("def run(request, context):\n    return 1\n", end=end)
    response, _, _ = call(start(path))
    assert response["error"]["code"] == "ToolHandlerFailed"
    assert "tool_ref" in response["error"]["message"]
    plain = start(path, attached=False)
    out, err = plain.process.communicate(b"", timeout=20)
    assert (out, plain.process.returncode) == (b"", 1)
    assert b"tool_ref" in err


def test_requests_that_are_none(script: Any, start: Any) -> None:
    path = script("def run(request, context):\n    return 1\n")
    assert call(start(path), b"")[0]["error"]["code"] == "JsonInvalid"
    assert call(start(path), b" " * (8 * 1024 * 1024 + 1))[0]["error"]["code"] == "ToolRequestTooLarge"


def test_a_large_answer_passes_a_slow_reader(script: Any, start: Any) -> None:
    path = script("def run(request, context):\n    return 'x' * 5_000_000\n")
    response, _, _ = call(start(path))
    assert len(response["value"]) == 5_000_000


def _gone(pid: int) -> bool:
    for _ in range(200):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except FileNotFoundError:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks at processes through /proc")
def test_the_end_of_the_life_line_ends_the_handler_and_its_children(script: Any, start: Any, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    path = script(
        f"""
import os, subprocess, time
def run(request, context):
    child = subprocess.Popen(["sleep", "60"])
    with open({str(pids)!r} + ".part", "w") as file:
        file.write(f"{{os.getpid()}} {{child.pid}}")
    os.rename({str(pids)!r} + ".part", {str(pids)!r})
    time.sleep(60)
"""
    )
    handler = start(path)
    handler.process.stdin.write(json.dumps(REQUEST).encode())
    handler.process.stdin.close()
    handler.process.stdin = None
    for _ in range(400):
        if pids.exists():
            break
        time.sleep(0.05)
    own, child = map(int, pids.read_text().split())
    assert own == handler.process.pid
    os.close(handler.life_write)
    handler.life_write = -1
    assert handler.process.wait(timeout=20) in (-signal.SIGKILL, 75)
    assert _gone(child)


def test_reading_cancelled_turns_the_request_to_end_into_a_flag(script: Any, start: Any) -> None:
    path = script(
        """
import time
def run(request, context):
    if context.cancelled:
        return "too early"
    print("listening", flush=True)
    for _ in range(400):
        if context.cancelled:
            return "tidy"
        time.sleep(0.05)
    return "never asked"
"""
    )
    handler = start(path)
    handler.process.stdin.write(json.dumps(REQUEST).encode())
    handler.process.stdin.close()
    handler.process.stdin = None
    assert handler.process.stderr.readline() == b"listening\n"
    handler.process.send_signal(signal.SIGTERM)
    assert json.loads(handler.process.stdout.read())["value"] == "tidy"
    assert handler.process.wait(timeout=20) == 0


@pytest.mark.parametrize("marker", ["", "abc", "77", "0", "\u0663"])
def test_a_marker_that_no_runtime_set_is_named(script: Any, repository: Path, marker: str) -> None:
    path = script("def run(request, context):\n    return 1\n")
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(repository), "TOUBA_HANDLER": marker}
    done = subprocess.run(
        [sys.executable, "-X", "utf8", path], input=b"{}", capture_output=True, env=environment, timeout=20
    )
    assert done.returncode == 1
    assert b"TOUBA_HANDLER" in done.stderr


HEAVY = {
    "pydantic",
    "anyio",
    "touba_cli",
    "typing",
    "dataclasses",
    "asyncio",
    "re",
    "json",
    "enum",
    "inspect",
    "threading",
}


@pytest.mark.parametrize("attached", [True, False])
def test_a_handler_loads_next_to_nothing(script: Any, start: Any, attached: bool) -> None:
    path = script("import sys\ndef run(request, context):\n    return sorted(sys.modules)\n")
    response, _, _ = call(start(path, attached))
    loaded = {name.partition(".")[0] for name in response["value"]}
    assert "touba_sdk" in loaded
    assert loaded & HEAVY == set()
    own = {name for name in response["value"] if name.startswith("touba_sdk.")}
    assert {name.split(".")[1] for name in own} == {"_encode", "handlers"}


def check_same(probe: str, repository: Path) -> None:
    """A program that ends with `print('same')` comes to its end."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(repository)}
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, env=environment, timeout=20, text=True)
    assert done.stdout == "same\n", done.stderr


def test_importing_elsewhere_changes_nothing(repository: Path) -> None:
    probe = (
        "import os, sys\n"
        "before = os.fstat(0), os.fstat(1), os.listdir('/dev/fd'), dict(os.environ)\n"
        "from touba_sdk import define_tool\n"
        "assert (os.fstat(0), os.fstat(1), os.listdir('/dev/fd'), dict(os.environ)) == before\n"
        "print('same')\n"
    )
    check_same(probe, repository)


def test_json_without_the_accelerator(repository: Path) -> None:
    """On an interpreter without `_json` the standard library's own modules give the same results."""
    probe = (
        "import sys\n"
        "sys.modules['_json'] = None\n"
        "from touba_sdk.handlers import _json\n"
        "assert _json.read(b' {\"a\": [1, 2.5, \"\\\\u00e9\"]} ') == {'a': [1, 2.5, '\\u00e9']}\n"
        "assert _json.write({'a': ['\\u00e9', True]}) == '{\"a\":[\"\\u00e9\",true]}'.encode()\n"
        "for data in (b'', b'{', b'{\"a\":1,\"a\":2}', b'NaN', b'{} {}'):\n"
        "    try:\n"
        "        _json.read(data)\n"
        "    except _json.JsonInvalid:\n"
        "        continue\n"
        "    raise SystemExit(repr(data))\n"
        "print('same')\n"
    )
    check_same(probe, repository)


def test_by_hand_an_exception_is_shown_with_its_text(script: Any, start: Any) -> None:
    path = script("def run(request, context):\n    raise LookupError('no such article')\n")
    response, err, _ = call(start(path, attached=False))
    assert "LookupError: no such article" in err
    assert "no such article" not in json.dumps(response)
    response, err, _ = call(start(path, attached=True))
    assert "no such article" not in err + json.dumps(response)


def test_the_way_to_see_the_text_is_named(tmp_path: Path) -> None:
    """The script by its place in the project, also where the handler has gone elsewhere, and only by a runtime."""
    from touba_sdk.testing import call_handler

    (tmp_path / "handlers" / "data").mkdir(parents=True)
    body = "import os\ndef run(request, context):\n    os.chdir(request['folder'])\n    raise LookupError('s3cret')\n"
    (tmp_path / "handlers" / "find.py").write_text(START + body + END, "utf-8")
    for folder, path in ((".", "handlers/find.py"), ("handlers/data", "find.py")):
        answer = call_handler("handlers/find.py", "tool:app/Do", arguments={"folder": folder}, project_root=tmp_path)
        assert f"`python {path} < request.json`" in answer.response["error"]["message"]
        assert "s3cret" not in json.dumps(answer.response) + answer.stderr


def test_at_a_terminal_the_answer_ends_its_line(script: Any, repository: Path) -> None:
    path = script("def run(request, context):\n    return 1\n")
    shown, terminal = os.openpty()
    try:
        done = subprocess.run(
            [sys.executable, path], input=json.dumps(REQUEST).encode(), stdout=terminal, stderr=subprocess.PIPE,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(repository)}, check=False, timeout=20,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, b"")
        assert os.read(shown, 1 << 16).endswith(b"}\r\n")
    finally:
        os.close(shown)
        os.close(terminal)


def test_what_is_printed_keeps_its_order_among_the_lines_of_standard_error(script: Any, start: Any) -> None:
    body = "def run(request, context):\n    print('one')\n    sys.stderr.write('two\\n')\n    print('three')\n    return 1\n"
    _, err, _ = call(start(script("import sys\n" + body)))
    assert err == "one\ntwo\nthree\n"


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("raise ToubaHandlerError('card declined', 'no')", "a PascalCase name such as `CardDeclined`"),
        ("raise ToubaHandlerError('Declined', 'no', effect='maybe')", '"none", "done" or "unknown"'),
        ("context.log('slow', level='loud')", "debug, info, warning or error"),
    ],
)
def test_a_misuse_of_the_sdk_is_told_where_a_runtime_asks(script: Any, start: Any, fault: str, said: str) -> None:
    path = script(f"from touba_sdk import ToubaHandlerError\ndef run(request, context):\n    {fault}\n")
    response, err, _ = call(start(path))
    assert response["error"]["code"] == "ToolHandlerFailed"
    assert response["error"]["message"].startswith("the handler misused the SDK at handler.py:4: ")
    assert said in response["error"]["message"]
    assert said in err
