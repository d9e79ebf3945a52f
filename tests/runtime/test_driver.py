"""Handlers that behave and misbehave, time, cancellation and the life line, with real processes.

The handlers are plain scripts without the SDK: what counts here is what the runtime makes of any program.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.shell_kit import (
    Project,
    air,
    alive,
    calling,
    coded,
    command,
    environment,
    eventually,
    request,
    spinning,
    tool,
)
from touba_cli.codec import key_digest
from touba_cli.limits import STDERR_FORWARDED_BYTES, STDERR_TAIL_BYTES

#: what a handler does that does not end when it is asked to
DEAF = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


# --- what a handler gets ----------------------------------------------------------------------------------------------


def test_a_handler_gets_its_request_and_its_value_is_the_result(project: Project) -> None:
    project.handler("", answer="ok(arguments['value'] * 2)")
    done = project.call(value=21)
    document = done.document
    assert (document["status"], document["reason"], document["result"], done.code) == ("success", "completed", 42, 0)
    assert document["usage"]["external_calls"] == 1
    kinds = [event["kind"] for event in document["trace"]["events"]]
    assert kinds == ["run_started", "tool_invoked", "tool_completed", "run_completed"]


def test_the_request_names_everything_that_the_handler_may_know(project: Project) -> None:
    project.handler(
        "open('request.json', 'w').write(json.dumps(request))", answer="ok(1)", grants=["network", "process"]
    )
    program = calling("write", requires=["network"], timeout_ms=30_000)
    assert project.call("--run-id=run-7", program=program).code == 0
    asked = json.loads((project.folder / "request.json").read_text())
    operation = key_digest("run-7", "1")
    assert asked == {
        "protocol": "touba-tool-request-v1",
        "tool_ref": "tool:app/Tool",
        "arguments": {"value": 1},
        "call_id": asked["call_id"],
        "run_id": "run-7",
        "occurrence": "1",
        "grants": ["network"],
        "secret_handles": {},
        "limits": {"timeout_ms": 30_000, "max_request_bytes": 8 << 20, "max_response_bytes": 8 << 20},
        "resources": {},
        "deadline_ms": 30_000,
        "effect": {"kind": "write", "operation_id": operation, "idempotency_key": operation, "attempt": 1},
    }


def test_the_deadline_of_a_request_is_what_remains_of_the_run(project: Project) -> None:
    project.handler("", answer="ok(request['deadline_ms'])")
    done = project.call('--run-limits={"deadline_ms":20000}')
    assert 1 < done.document["result"] < 20_000


def test_a_handler_sees_the_allow_list_and_what_is_granted_by_name(project: Project) -> None:
    project.handler(
        "sys.stderr.write('ENV ' + json.dumps(dict(os.environ)) + '\\n')", answer="ok(1)", environment=["SHARED"]
    )
    hidden = {"SHARED": "yes", "HIDDEN": "no", "PYTHONWARNINGS": "ignore", "TZ": "UTC", "LC_ALL": "C"}
    done = project.call(env=hidden)
    line = next(line for line in done.stderr.splitlines() if line.startswith("[app/Tool] ENV "))
    seen = json.loads(line.removeprefix("[app/Tool] ENV "))
    assert seen["PYTHONPATH"] == str(project.folder)
    assert seen["TOUBA_HANDLER"] == "3"
    assert seen["SHARED"] == "yes"
    assert set(seen) <= {"PATH", "LANG", "TZ", "TMPDIR", "PYTHONPATH", "TOUBA_HANDLER", "SHARED", "LC_CTYPE"}


def test_a_handler_has_its_three_streams_its_life_line_and_nothing_else(project: Project) -> None:
    body = (
        "import stat\n"
        "found = sorted(int(name) for name in os.listdir('/proc/self/fd') if os.path.exists(f'/proc/self/fd/{name}'))\n"
        "pipes = [number for number in found if stat.S_ISFIFO(os.fstat(number).st_mode)]\n"
        "own_session = os.getsid(0) == os.getpid()\n"
    )
    project.handler(body, answer="ok(int(''.join(map(str, pipes))) if own_session else -1)")
    assert project.call().document["result"] == 123  # 0 is closed by nobody, but leading zeros vanish: 0, 1, 2, 3


def test_a_handler_works_in_the_project_root_whatever_the_callers_folder(project: Project, tmp_path: Path) -> None:
    project.handler("", answer="ok(len(os.getcwd()))")
    project.write("app.air.json", calling())
    words = [
        "run",
        f"--project-root={tmp_path}",
        "--air=app.air.json",
        "--manifest=manifest.json",
        '--inputs={"value":1}',
    ]
    done = subprocess.run(command(*words, "--json"), capture_output=True, cwd="/", env=environment())
    assert json.loads(done.stdout)["result"] == len(str(tmp_path))


def test_standard_error_of_a_handler_is_forwarded(project: Project) -> None:
    project.handler("sys.stderr.write('reading page 1\\nno line end')", answer="ok(1)")
    done = project.call()
    assert done.stderr == "[app/Tool] reading page 1\n[app/Tool] no line end\n"


def test_a_flood_on_standard_error_harms_nothing(project: Project) -> None:
    project.handler(
        "sys.stderr.write('x' * 79 + '\\n')\n" * 3 + "sys.stderr.write(('y' * 999 + '\\n') * 5000)", answer="ok(3)"
    )
    done = project.call()
    assert done.document["result"] == 3
    # The first MiB, the count of what was left out, and the end.
    whole = 240 + 5_000_000 + 5_003 * len("[app/Tool] ")
    note = next(line for line in done.stderr.splitlines() if line.startswith("[app/Tool] …"))
    left_out = int(note.split()[2])
    assert left_out == whole - (len(done.stderr) - len(note) - 1)
    assert STDERR_FORWARDED_BYTES < len(done.stderr) < STDERR_FORWARDED_BYTES + STDERR_TAIL_BYTES + 2_000
    assert done.stderr.endswith("y\n")


def test_a_large_request_and_a_large_answer_pass_each_other(project: Project) -> None:
    # The answer begins before the request is read: whoever writes first must not block the other.
    script = (
        "import sys\n"
        "sys.stdout.write(' ' * 1_000_000); sys.stdout.flush()\n"
        "sys.stdin.buffer.read()\n"
        'sys.stdout.write(\'{"protocol":"touba-tool-response-v1","ok":true,"value":9}\')\n'
    )
    project.write("handlers/tool.py", script)
    project.bind(["python", "handlers/tool.py"])
    assert project.call().document["result"] == 9


# --- what a handler does wrong ----------------------------------------------------------------------------------------

MISBEHAVING = [
    ("sys.exit(3)", None, "ToolExited", "exit code 3"),
    ("sys.exit(0)", None, "ToolExited", "exit code 0"),
    ("os.kill(os.getpid(), 9)", None, "ToolExited", "SIGKILL"),
    ("sys.stdout.write('{\"protocol\":'); sys.stdout.flush(); os.kill(os.getpid(), 15)", None, "ToolExited", "SIGTERM"),
    ("raise ValueError('SENSITIVE')", None, "ToolExited", "exit code 1"),
    ("print('hello')", "ok(1)", "ToolResponseInvalid", "line 1"),
    ("sys.stdout.write('{\"ok\":')", None, "ToolResponseInvalid", "not JSON"),
    ("sys.stdout.buffer.write(b'\\xff\\xfe')", None, "ToolResponseInvalid", "UTF-8"),
    ("sys.stdout.write('[' * 3000)", None, "ToolResponseInvalid", "nested"),
    ("", "[ok(1)]", "ToolResponseInvalid", "object"),
    ("", "{**ok(1), 'protocol': 'touba-tool-response-v9'}", "ToolResponseInvalid", "touba-tool-response-v9"),
    ("", "{**ok(1), 'extra': 1}", "ToolResponseInvalid", "extra"),
    ("", "{'protocol': 'touba-tool-response-v1', 'ok': False}", "ToolResponseInvalid", "error"),
    ("", "ok('SENSITIVE')", "ToolResultInvalid", "$"),
    ("sys.stdout.write('x' * 200_000)", None, "ToolResponseTooLarge", "4096 bytes"),
    ("while True: sys.stdout.write('x' * 65536)", None, "ToolResponseTooLarge", "4096 bytes"),
    ("", "failed('CardDeclined', 'the card was declined')", "CardDeclined", "the card was declined"),
    ("", "failed('StepLimitExceeded', 'mine')", "ToolResponseInvalid", "only the runtime"),
    ("os.close(0); os.close(1); os.close(2); os._exit(4)", None, "ToolExited", "exit code 4"),
]


@pytest.mark.parametrize(("body", "answer", "code", "said"), MISBEHAVING)
def test_each_way_to_answer_wrongly_has_its_code(
    project: Project, body: str, answer: str | None, code: str, said: str
) -> None:
    project.handler(body, answer=answer, limits={"max_response_bytes": 4096})
    done = project.call()
    error = done.error
    assert (error["code"], error["phase"], error["ref"], done.code) == (code, "runtime", "tool:app/Tool", 5)
    assert said in error["message"]
    assert "SENSITIVE" not in done.stdout.decode()
    assert error["effect"] in (None, "none")


@pytest.mark.parametrize(
    ("body", "answer", "effect"),
    [
        ("sys.exit(3)", None, "unknown"),
        ("print('noise')", "ok(1)", "unknown"),
        ("", "ok('wrong type')", "unknown"),
        ("", "failed('Declined')", "unknown"),
        ("", "failed('Declined', effect='none')", "none"),
        ("", "failed('Declined', effect='done')", "done"),
        ("", "failed('Declined', effect='unknown')", "unknown"),
    ],
)
def test_the_effect_of_a_failed_write_is_unknown_unless_stated(
    project: Project, body: str, answer: str | None, effect: str
) -> None:
    project.handler(body, answer=answer)
    assert project.call(program=calling("write")).error["effect"] == effect


@pytest.mark.parametrize("effect", ["none", "read"])
def test_a_failure_of_what_does_not_write_did_nothing(project: Project, effect: str) -> None:
    project.handler("sys.exit(3)")
    assert project.call(program=calling(effect)).error["effect"] == "none"


def test_a_handler_without_answer_in_time_is_ended(project: Project) -> None:
    project.handler("open('pid', 'w').write(str(os.getpid()))\ntime.sleep(60)", limits={"timeout_ms": 300})
    started = time.monotonic()
    done = project.call(program=calling("write"))
    assert done.refused("ToolTimeout", 5)
    assert done.error["effect"] == "unknown"
    assert time.monotonic() - started < 10
    assert not alive(int((project.folder / "pid").read_text()))


def test_a_handler_that_ignores_the_request_to_end_is_killed(project: Project) -> None:
    body = f"{DEAF}\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(60)"
    project.handler(body, limits={"timeout_ms": 400})
    project.call().refused("ToolTimeout", 5)
    assert not alive(int((project.folder / "pid").read_text()))


def test_the_time_out_of_the_program_counts_where_it_is_shorter(project: Project) -> None:
    project.handler("time.sleep(60)", limits={"timeout_ms": 50_000})
    project.call(program=calling(timeout_ms=200)).refused("ToolTimeout", 5)


def test_an_answer_wins_over_a_grandchild_that_holds_the_pipe(project: Project) -> None:
    body = (
        "import subprocess\n"
        "child = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(60)'])\n"
        "open('pid', 'w').write(str(child.pid))\n"
    )
    project.handler(body, answer="ok(5)")
    assert project.call().document["result"] == 5
    grandchild = int((project.folder / "pid").read_text())
    eventually(lambda: not alive(grandchild), "the grandchild still runs")


def test_a_process_that_left_the_handlers_session_is_ended_with_the_run(project: Project) -> None:
    script = "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(60)"
    body = (
        "import subprocess\n"
        f"subprocess.Popen([sys.executable, '-S', '-c', {script!r}], start_new_session=True, stdout=2)\n"
        "while not os.path.exists('pid') or not open('pid').read(): time.sleep(0.01)\n"
    )
    project.handler(body, answer="ok(5)")
    assert project.call().document["result"] == 5
    if sys.platform == "linux" and os.path.exists("/proc/self/task"):
        assert not alive(int((project.folder / "pid").read_text()))


def test_descriptors_that_the_runtime_was_handed_stay_with_it(project: Project) -> None:
    project.handler("open_ones = [int(name) for name in os.listdir('/proc/self/fd')]", answer="ok(len(open_ones))")
    project.write("app.air.json", calling())
    read, write = os.pipe()
    words = command("run", "--air=app.air.json", "--manifest=manifest.json", '--inputs={"value":3}', "--json")
    done = subprocess.run(words, cwd=project.folder, stdout=subprocess.PIPE, env=environment(), pass_fds=(read, write))
    os.close(read)
    os.close(write)
    assert json.loads(done.stdout)["result"] == 5  # three streams, the life line, and the listing itself


def test_a_grandchild_that_holds_the_pipe_without_an_answer_does_not_hold_the_run(project: Project) -> None:
    body = (
        "import subprocess\nsubprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(60)'])\nsys.exit(2)"
    )
    project.handler(body)
    started = time.monotonic()
    assert "exit code 2" in project.call().refused("ToolExited", 5)
    assert time.monotonic() - started < 20


def test_a_handler_that_does_not_end_after_its_answer_is_ended(project: Project) -> None:
    body = (
        "open('pid', 'w').write(str(os.getpid()))\nos.write(1, json.dumps(ok(6)).encode())\nos.close(1)\ntime.sleep(60)"
    )
    project.handler(body)
    assert project.call().document["result"] == 6
    assert not alive(int((project.folder / "pid").read_text()))


def test_an_answer_that_is_there_when_the_time_is_over_counts(project: Project) -> None:
    project.handler("os.write(1, json.dumps(ok(7)).encode())\ntime.sleep(60)", limits={"timeout_ms": 700})
    assert project.call().document["result"] == 7


def test_a_handler_that_does_not_read_its_request_may_answer(project: Project) -> None:
    project.write(
        "handlers/tool.py",
        'import os\nos.close(0)\nprint(\'{"protocol":"touba-tool-response-v1","ok":true,"value":8}\')',
    )
    project.bind(["python", "handlers/tool.py"])
    assert project.call().document["result"] == 8


def test_a_request_past_its_limit_is_not_sent(project: Project) -> None:
    project.handler("open('started', 'w')", answer="ok(1)", limits={"max_request_bytes": 1024})
    program = air({
        "strategy:app/Main": coded(
            [["call", 1, 1, "tool:app/Tool", [["text", "x" * 2000]]], ["give", ["slot", 1]]],
            takes={"value": "Int"},
            slots=("Int",),
        ),
        "tool:app/Tool": tool("write", takes={"text": "Text"}),
    })  # fmt: skip
    done = project.call(program=program)
    assert "1024 are allowed" in done.refused("ToolRequestTooLarge", 5)
    assert done.error["effect"] == "none"
    assert not (project.folder / "started").exists()


def test_a_foreign_program_serves_a_tool(project: Project) -> None:
    script = project.write(
        "tools/answer.sh",
        '#!/bin/sh\ncat >/dev/null\necho \'{"protocol":"touba-tool-response-v1","ok":true,"value":4}\'\n',
    )
    script.chmod(0o755)
    project.bind(["tools/answer.sh"])
    assert project.call().document["result"] == 4
    project.bind(["sh", "tools/answer.sh"])
    assert project.call().document["result"] == 4


def test_a_program_that_cannot_be_executed_is_a_launch_failure(project: Project) -> None:
    broken = project.write("tools/broken", b"\x7fELF not really")
    broken.chmod(0o755)
    project.bind(["tools/broken"])
    done = project.call()
    done.refused("HandlerNotStarted", 6)
    assert done.error["phase"] == "launch"


def test_handlers_inherit_no_ignored_signals(project: Project) -> None:
    body = (
        "status = open('/proc/self/status').read()\n"
        "ignored = next(line for line in status.splitlines() if line.startswith('SigIgn'))\n"
    )
    # Python itself ignores SIGPIPE (bit 12) and SIGXFSZ (bit 24); SIGINT and SIGTERM must not be among them.
    project.handler(body, answer="ok(int(ignored.split()[1], 16) & (1 << 1 | 1 << 14))")
    assert project.call().document["result"] == 0


# --- secrets ----------------------------------------------------------------------------------------------------------


def with_secret(project: Project, secret: str = "s3cret-of-the-bank") -> bytes:
    project.write("secrets.json", {"protocol": "touba-secrets-v1", "secrets": {"BANK": {"env": "BANK_TOKEN"}}})
    assert len(secret) >= 8
    return calling(secrets=["bank_token"])


def test_a_secret_reaches_the_handler_that_it_is_bound_to_and_nothing_else(project: Project) -> None:
    program = with_secret(project)
    body = "token = request['secret_handles']['bank_token']['value']\nsys.stderr.write(f'token {token}\\n')"
    project.handler(body, answer="ok(len(token))", secrets={"bank_token": "BANK"})
    done = project.call("--secrets=secrets.json", program=program, env={"BANK_TOKEN": "s3cret-of-the-bank"})
    assert done.document["result"] == 18
    assert done.stderr == "[app/Tool] token [secret]\n"
    assert b"s3cret" not in done.stdout


@pytest.mark.parametrize(
    "answer", ["ok(token)", "ok([{'inner': 'x' + token}])", "failed('Code', token)", "ok({token: 1})"]
)
def test_a_secret_in_an_answer_is_withheld(project: Project, answer: str) -> None:
    program = with_secret(project)
    project.handler(
        "token = request['secret_handles']['bank_token']['value']", answer=answer, secrets={"bank_token": "BANK"}
    )
    done = project.call("--secrets=secrets.json", program=program, env={"BANK_TOKEN": "s3cret-of-\u00e9-bank"})
    done.refused("SecretLeak", 5)
    assert b"s3cret" not in done.stdout


# --- time and steps ---------------------------------------------------------------------------------------------------


def test_a_deadline_ends_a_computation(project: Project) -> None:
    project.write("spin.air.json", spinning())
    limits = '--run-limits={"deadline_ms":300,"max_steps":1000000000}'
    done = project.touba("run", "--air=spin.air.json", limits, "--json")
    done.refused("DeadlineExceeded", 5)
    assert done.document["trace"]["events"][-1]["kind"] == "run_failed"


def test_a_deadline_ends_a_handler(project: Project) -> None:
    project.handler("open('pid', 'w').write(str(os.getpid()))\ntime.sleep(60)")
    done = project.call('--run-limits={"deadline_ms":500}', program=calling("write"))
    done.refused("DeadlineExceeded", 5)
    assert done.error["effect"] == "unknown"
    assert [warning["code"] for warning in done.document["warnings"]] == ["EffectUnknown"]
    assert not alive(int((project.folder / "pid").read_text()))


def test_the_step_limit_ends_a_computation(project: Project) -> None:
    project.write("spin.air.json", spinning())
    done = project.touba("run", "--air=spin.air.json", '--run-limits={"max_steps":1000}', "--json")
    done.refused("StepLimitExceeded", 5)
    assert done.document["usage"]["steps"] <= 1000


# --- cancellation -----------------------------------------------------------------------------------------------------


def waiting_handler(project: Project, more: str = "") -> None:
    body = f"{more}\nopen('pid.new', 'w').write(str(os.getpid()))\nos.rename('pid.new', 'pid')\ntime.sleep(60)"
    project.handler(body)
    project.write("app.air.json", calling("write"))


def attached(project: Project, air: str = "app.air.json", **options: object) -> subprocess.Popen[bytes]:
    """Start an attached run and send its request; standard input stays open."""
    process = project.start("run", "--attached", "--json", "--request=-", **options)
    assert process.stdin is not None
    sent = {"air": air, "manifest": "manifest.json", "inputs": {"value": 1}} if air == "app.air.json" else {"air": air}
    limits = {"max_steps": 1_000_000_000}
    process.stdin.write(request({**sent, "run_limits": limits}))
    process.stdin.flush()
    return process


def handler_pid(project: Project) -> int:
    path = project.folder / "pid"
    eventually(path.exists, "the handler did not start")
    return int(path.read_text())


def envelope_of(process: subprocess.Popen[bytes]) -> dict[str, object]:
    assert process.stdout is not None
    assert process.stderr is not None
    output = process.stdout.read()
    errors = process.stderr.read()
    process.wait(30)
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    assert b"Traceback" not in errors
    found: dict[str, object] = json.loads(output)
    return found


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_cancels_the_run_and_its_handler(project: Project, stop: signal.Signals) -> None:
    waiting_handler(project)
    process = attached(project)
    pid = handler_pid(project)
    process.send_signal(stop)
    envelope = envelope_of(process)
    assert (envelope["status"], envelope["reason"], envelope["exit_code"]) == ("cancelled", "cancelled", 130)
    assert process.returncode == 130
    assert not alive(pid)
    trace = envelope["trace"]
    assert isinstance(trace, dict)
    assert [event["kind"] for event in trace["events"]][-2:] == ["tool_completed", "run_cancelled"]
    assert trace["events"][-2]["data"]["outcome"] == "unknown"


def test_the_end_of_the_life_line_cancels_the_run(project: Project) -> None:
    waiting_handler(project)
    process = attached(project)
    pid = handler_pid(project)
    assert process.stdin is not None
    process.stdin.close()
    process.stdin = None
    assert envelope_of(process)["status"] == "cancelled"
    assert not alive(pid)


@pytest.mark.parametrize("how", ["signal", "life line"])
def test_a_computation_is_cancelled_too(project: Project, how: str) -> None:
    project.write("spin.air.json", spinning())
    process = attached(project, "spin.air.json")
    assert process.stdin is not None
    if how == "signal":
        time.sleep(0.3)  # whether it arrives before or during the run, it cancels
        process.send_signal(signal.SIGTERM)
    else:
        process.stdin.close()
        process.stdin = None
    assert envelope_of(process)["status"] == "cancelled"
    assert process.returncode == 130


def test_a_signal_before_the_request_cancels(project: Project) -> None:
    process = project.start("run", "--attached", "--json", "--request=-")
    # The runtime tells by taking signals over: until then the default action would kill it.
    eventually(lambda: catches(process.pid, signal.SIGTERM), "the runtime never took its signals")
    process.send_signal(signal.SIGTERM)
    assert envelope_of(process)["status"] == "cancelled"


def catches(pid: int, number: int) -> bool:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("SigCgt"):
            return bool(int(line.split()[1], 16) >> (number - 1) & 1)
    return False


def test_a_stubborn_handler_is_killed_after_its_grace(project: Project) -> None:
    waiting_handler(project, DEAF)
    process = attached(project)
    pid = handler_pid(project)
    started = time.monotonic()
    process.send_signal(signal.SIGTERM)
    assert envelope_of(process)["status"] == "cancelled"
    assert time.monotonic() - started > 0.9
    assert not alive(pid)


def test_a_second_signal_cuts_the_grace(project: Project) -> None:
    waiting_handler(project, DEAF)
    process = attached(project)
    pid = handler_pid(project)
    process.send_signal(signal.SIGTERM)
    time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    assert envelope_of(process)["status"] == "cancelled"
    assert not alive(pid)


def test_a_handler_that_answers_while_it_is_ended_is_believed(project: Project) -> None:
    waiting_handler(project, "os.write(1, json.dumps(ok(7)).encode())")
    process = attached(project)
    handler_pid(project)
    process.send_signal(signal.SIGTERM)
    envelope = envelope_of(process)
    trace = envelope["trace"]
    assert isinstance(trace, dict)
    assert envelope["status"] == "cancelled"
    assert envelope["warnings"] == []
    assert trace["events"][-2]["data"]["outcome"] == "committed"


def test_nothing_is_left_when_the_caller_is_killed(project: Project) -> None:
    waiting_handler(project)
    caller = (
        "import subprocess, sys, time\n"
        "run = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        "run.stdin.write(open(sys.argv[1], 'rb').read()); run.stdin.flush()\n"
        "print(run.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    options = {"air": "app.air.json", "manifest": "manifest.json", "inputs": {"value": 1}}
    project.write("request.json", request(options))
    words = command("run", "--attached", "--json", "--request=-")
    process = subprocess.Popen(
        [sys.executable, "-S", "-c", caller, "request.json", *words],
        cwd=project.folder, stdout=subprocess.PIPE, env=environment(),
    )  # fmt: skip
    assert process.stdout is not None
    runtime = int(process.stdout.readline())
    handler = handler_pid(project)
    process.kill()
    process.wait()
    process.stdout.close()
    eventually(lambda: not alive(runtime), "the runtime still runs")
    eventually(lambda: not alive(handler), "the handler still runs")


def test_a_killed_runtime_takes_its_handler_along_through_the_life_line(project: Project) -> None:
    watch = (
        "import threading\n"
        "def watch():\n    os.read(3, 1)\n    os._exit(75)\n"
        "threading.Thread(target=watch, daemon=True).start()"
    )
    waiting_handler(project, watch)
    process = attached(project)
    pid = handler_pid(project)
    process.kill()
    process.communicate()
    eventually(lambda: not alive(pid), "the handler still runs")


def test_a_runtime_started_without_standard_descriptors_still_keeps_its_wires_apart(project: Project) -> None:
    project.handler("", answer="ok(arguments['value'])")
    project.write("app.air.json", calling())
    words = command("run", "--air=app.air.json", "--manifest=manifest.json", '--inputs={"value":3}', "--json")
    line = f"import os, sys\nos.close(0); os.close(2)\nos.execv({words[0]!r}, {words!r})"
    done = subprocess.run(
        [sys.executable, "-S", "-c", line], cwd=project.folder, stdout=subprocess.PIPE, env=environment()
    )
    assert json.loads(done.stdout)["result"] == 3
    assert os.path.exists(project.folder)
