"""What a handler answers may be anything; what Touba says about it may not."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.shell_kit import Project, calling

SECRET = "s3cret-of-\u00e9-bank"
RESPONSE = '{"protocol":"touba-tool-response-v1","ok":true,"value":1'


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def answered(project: Project, expression: str, *more: str) -> tuple[str, str, str, bytes]:
    """Code, message and effect of a run whose handler answers with bytes, and all that was written."""
    project.write("secrets.json", {"protocol": "touba-secrets-v1", "secrets": {"BANK": {"env": "BANK_TOKEN"}}})
    body = "token = request['secret_handles']['bank_token']['value']\n"
    project.handler(body + f"sys.stdout.buffer.write(({expression}).encode())", secrets={"bank_token": "BANK"})
    program = calling("write", secrets=["bank_token"])
    done = project.call("--secrets=secrets.json", *more, program=program, env={"BANK_TOKEN": SECRET})
    return done.error["code"], done.error["message"], done.error["effect"], done.stdout


@pytest.mark.parametrize(
    "expression",
    [
        f"'{RESPONSE},' + json.dumps(token) + ':1}}'",
        f"'{RESPONSE},' + json.dumps(token, ensure_ascii=False) + ':1}}'",
        "'{\"protocol\":' + json.dumps(token) + '}'",
        "json.dumps({'protocol': 'touba-tool-response-v1', 'ok': False, 'error': {'code': 'A', 'message': 'b', token: 1}})",
        "json.dumps({'protocol': 'touba-tool-response-v1', 'ok': True, 'value': 1, 'x' * 55 + token: 1})",
        "'{' + 2 * (json.dumps(token) + ':1,') + '\"a\":1}'",
        "'{' + 2 * (json.dumps(token, ensure_ascii=False) + ':1,') + '\"a\":1}'",
        "json.dumps([token])",
        "'no JSON: ' + token",
    ],
    ids=["key", "raw key", "protocol", "key of error", "cut key", "twice", "raw twice", "array", "text"],
)
def test_no_message_holds_a_secret_that_was_answered_wrongly(project: Project, expression: str) -> None:
    code, message, effect, written = answered(project, expression)
    assert (code, effect) == ("SecretLeak", "unknown")
    assert message.startswith("the answer of tool:app/Tool holds a secret; it was withheld")
    assert b"s3cret" not in written


@pytest.mark.parametrize("name", ["x" * 41, "a name", "caf\u00e9", "\u001b[2J", "a\nb"])
def test_odd_names_of_an_answer_are_not_repeated(project: Project, name: str) -> None:
    for document in (
        {"protocol": "touba-tool-response-v1", "ok": True, "value": 1, name: 1},
        {"protocol": name, "ok": True, "value": 1},
    ):
        code, message, _, written = answered(project, f"json.dumps({document!r})")
        assert code == "ToolResponseInvalid"
        assert "it has a name or protocol that no tool response has" in message
        assert json.dumps(name).encode() not in written
        assert f"`{name}".encode() not in written


def test_a_key_that_stands_twice_is_not_named(project: Project) -> None:
    code, message, _, _ = answered(project, '\'{"customer":1,"customer":2}\'')
    assert code == "ToolResponseInvalid"
    assert "customer" not in message
    assert "twice" in message


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("StepLimitExceeded", "only the runtime gives"),
        ("BusinessFailure", "only the runtime gives"),
        ("1st", "not spelt like one"),
        ("a b", "not spelt like one"),
        ("\u001b[31mred", "not spelt like one"),
        ("a\nb", "not spelt like one"),
        ("\u00dcbel", "not spelt like one"),
    ],
)
def test_codes_that_no_handler_may_give(project: Project, code: str, said: str) -> None:
    error = {"code": code, "message": "m", "effect": "none"}
    document = {"protocol": "touba-tool-response-v1", "ok": False, "error": error}
    found, message, effect, _ = answered(project, f"json.dumps({document!r})")
    assert (found, effect) == ("ToolResponseInvalid", "none")  # what it says about the effect still counts
    assert said in message


@pytest.mark.parametrize("code", ["CardDeclined", "e", "bank.closed-2_x", "ToolHandlerFailed"])
def test_codes_that_a_handler_may_give(project: Project, code: str) -> None:
    document = {"protocol": "touba-tool-response-v1", "ok": False, "error": {"code": code, "message": "m"}}
    assert answered(project, f"json.dumps({document!r})")[0] == code


def test_a_secret_that_progress_spells_with_escapes_is_withheld(project: Project) -> None:
    project.write("secrets.json", {"protocol": "touba-secrets-v1", "secrets": {"BANK": {"env": "BANK_TOKEN"}}})
    body = (
        "token = request['secret_handles']['bank_token']['value']\n"
        "spelt = ''.join(f'\\\\u{ord(each):04x}' for each in token)\n"
        'sys.stderr.write(\'{"protocol":"touba-progress-v1","kind":"log","level":"info","message":"\'\n'
        "                 + spelt + '\"}\\n')"
    )
    project.handler(body, answer="ok(1)", secrets={"bank_token": "BANK"})
    program = calling(secrets=["bank_token"])
    done = project.call("--secrets=secrets.json", program=program, env={"BANK_TOKEN": SECRET})
    assert done.document["result"] == 1
    assert done.stderr == "[app/Tool] info: [secret]\n"


def test_a_script_that_was_exchanged_for_a_link_out_of_the_project_is_not_started(tmp_path: Path) -> None:
    inside = Project(tmp_path / "project")
    outside = tmp_path / "outside.py"
    swap = f"os.remove('handlers/tool.py')\nos.symlink({str(outside)!r}, 'handlers/tool.py')"
    inside.handler(swap, answer="ok(1)")
    outside.write_text((inside.folder / "handlers" / "tool.py").read_text().replace("ok(1)", "ok(2)"))
    inside.write(
        "app.tb",
        "module app\n\ntool Tool\n    takes value as Int\n    gives Int\n    effect none\n\n"
        "strategy Main\n    gives Int\n    do\n        let a = call Tool(1)\n        let b = call Tool(2)\n"
        "        give a + b\n",
    )
    done = inside.touba("run", "app.tb", "--manifest=manifest.json", "--json")
    assert os.path.islink(inside.folder / "handlers" / "tool.py")
    assert done.error["code"] == "HandlerNotStarted"
    assert "leads out of the project root" in done.error["message"]
    assert json.loads(done.stdout)["usage"]["external_calls"] == 2
