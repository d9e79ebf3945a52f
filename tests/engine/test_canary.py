"""One planted secret and one planted business value in every run: neither is found where it does not belong.

Searched are: command line and environment of the runtime and of the handler, as the system shows them while both run;
the texts of errors, their tracebacks and representations; logs and warnings; the trace, in the result and as a file;
standard error; and every file that the run left in the project or in the folder for temporary files.
"""

from __future__ import annotations

import json
import logging
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from touba_sdk import RunResult, ToubaEngine
from touba_sdk.errors import ToubaEngineError

PROGRAM = """\
module app

type Order
    who as Text
    amount as Decimal

type Count
    number as Int

memory Past
    holds Order
    key who
    scope owner

memory Counts
    holds Count
    key number
    scope run

tool Do
    takes order as Order, how as Text
    gives Text
    secret bank
    reads memory Past, Counts
    effect EFFECT

function Shown
    takes order as Order
    gives Text
    do
        give "{order.who} {order.amount}"

strategy Run
    takes order as Order, how as Text
    gives Text
    do
        show "working for {Shown(order)}"
        if how is "stops"
            stop "no {order.who}"
        if how is "fails"
            fail "no {order.who}"
        require how is not "requires" else "no {order.who}"
        if how is "overflows"
            require 1 / (length(order.who) - length(order.who)) is 1.0 else "{order.who}"
        give call Do(order: order, how: how)
"""

HANDLER = """\
import json, os, sys, time
from touba_sdk import create_tool_result, define_tool

def observe():
    for name, pid in (("handler", os.getpid()), ("runtime", os.getppid())):
        for part in ("cmdline", "environ"):
            with open(f"/proc/{pid}/{part}", "rb") as seen, open(f"{os.environ['OBSERVED']}/{name}-{part}", "wb") as kept:
                kept.write(seen.read())

def run(request, context):
    observe()
    order, how, secret = request["order"], request["how"], context.secret("bank")
    who = order["who"]
    context.log("at work")
    repr(context), str(context.secret_handles)
    if how == "raises":
        try:
            raise KeyError(who, secret)
        except KeyError as cause:
            raise ValueError(f"{who} {secret}") from cause
    if how == "gives a set":
        return {who}
    if how == "gives another type":
        return {"who": who, "amount": order["amount"]}
    if how == "gives malformed metadata":
        return create_tool_result(who, [{"memory_ref": who, "operation": who}])
    if how == "names a key":
        return create_tool_result(who, [{"memory_ref": "memory:app/Past", "operation": "read", "key": who, "of": who}])
    if how == "names a wrong key":
        return create_tool_result(who, [{"memory_ref": "memory:app/Counts", "operation": "read", "key": who}])
    if how == "gives the secret":
        return f"<{secret}>"
    if how == "names the secret as a key":
        return create_tool_result(who, [{"memory_ref": "memory:app/Past", "operation": "read", "key": secret}])
    if how == "prints the secret":
        print(secret, file=sys.stderr)
        print(f"a line with {secret} in it")
        raise RuntimeError
    if how == "sleeps":
        time.sleep(60)
    if how == "dies":
        os._exit(9)
    if how == "answers twice":
        os.write(3, who.encode())
    return f"done for {who}"

define_tool(tool_ref="tool:app/Do", run=run)
"""

HOWS = [
    "gives", "stops", "fails", "requires", "overflows", "raises", "gives a set", "gives another type",
    "gives malformed metadata", "names a key", "names a wrong key", "gives the secret", "names the secret as a key",
    "prints the secret", "sleeps", "dies", "wrong input", "input of another shape", "wrong result type", "wrong option",
]  # fmt: skip

TOKEN = "0123456789abcdefghjkmnpqrstvwxyz"
decorations = st.text(st.sampled_from("äé\"'\\\u2028 <>&%{}[]:=$-"), max_size=4)


@st.composite
def planted(draw: st.DrawFn, mark: str) -> tuple[str, str]:
    """A text with a token in it that stands nowhere else, and the token."""
    token = mark + draw(st.text(st.sampled_from(TOKEN), min_size=8, max_size=8))
    return draw(decorations) + token + draw(decorations), token


class Programs(dict[str, str]):
    """Effect of the tool → AIR."""

    def __repr__(self) -> str:
        return "Programs(…)"


class Records(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(f"{record.getMessage()} {record.__dict__}")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    folder = tmp_path_factory.mktemp("canary")
    found = Programs()
    with ToubaEngine(project_root=folder) as engine:
        for effect in ("read", "write"):
            (folder / "app.tb").write_text(PROGRAM.replace("EFFECT", effect), "utf-8")
            found[effect] = engine.compile("app.tb").air_json
    return found


@pytest.fixture(scope="module")
def records() -> Iterator[Records]:
    root, handler = logging.getLogger(), Records()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield handler
    root.removeHandler(handler)
    root.setLevel(level)


class Case:
    """A project of its own for one run."""

    def __init__(self, folder: Path, air: str, secret: str, kind: str):
        self.folder = folder
        self.observed = folder / "observed"
        self.observed.mkdir()
        self.project = folder / "project"
        self.project.mkdir()
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        (self.project / "app.air.json").write_text(air, "utf-8")
        (self.project / "do.py").write_text(HANDLER, "utf-8")
        place: dict[str, str] = {"value": secret} if kind == "value" else {"file": "bank.key"}
        (self.project / "bank.key").write_text(secret, "utf-8")
        secrets = {"protocol": "touba-secrets-v1", "secrets": {"BANK": place}}
        (self.project / "secrets.json").write_text(json.dumps(secrets), "utf-8")
        (self.project / "secrets.json").chmod(0o600)
        binding = {
            "handler": {"kind": "process", "command": ["python", "do.py"]}, "secrets": {"bank": "BANK"},
            "environment": ["OBSERVED"], "limits": {"timeout_ms": 20_000},
        }  # fmt: skip
        self.manifest = {"protocol": "touba-manifest-v1", "tools": {"tool:app/Do": binding}}
        self.planted = {self.project / "bank.key", self.project / "secrets.json"}

    def run(self, how: str, who: str) -> RunResult[Any] | ToubaEngineError:
        if how == "sleeps":
            self.manifest["tools"]["tool:app/Do"]["limits"] = {"timeout_ms": 300}  # type: ignore[index]
        (self.project / "manifest.json").write_text(json.dumps(self.manifest), "utf-8")
        inputs: dict[str, Any] = {"order": {"who": who, "amount": "1.50"}, "how": how}
        options: dict[str, Any] = {"manifest": "manifest.json", "secrets": "secrets.json", "trace_out": "trace.json"}
        # An owner is no secret, but stays out of sight, too.
        options["owner"] = "".join(each for each in who if each != "\u2028")
        if how == "wrong input":
            inputs["order"]["amount"] = who
        elif how == "input of another shape":
            inputs["order"] = who
        elif how == "wrong result type":
            options["result_type"] = int
        elif how == "wrong option":
            options["run_id"] = who
        environment = {"PATH": "/usr/bin:/bin", "OBSERVED": str(self.observed), "TMPDIR": str(self.temporary)}
        with ToubaEngine(project_root=self.project, env=environment) as engine:
            try:
                return engine.run(air="app.air.json", inputs=inputs, **options)
            except ToubaEngineError as error:
                return error

    def files(self) -> dict[str, str]:
        """Everything that the run can have written, and what was seen of its processes."""
        return {
            str(path.relative_to(self.folder)): path.read_bytes().decode("utf-8", "replace")
            for path in self.folder.rglob("*")
            if path.is_file() and path not in self.planted
        }


def texts_of(outcome: RunResult[Any] | ToubaEngineError) -> dict[str, str]:
    """What people and logs get to see of an outcome, and its trace."""
    if isinstance(outcome, RunResult):
        warned = " ".join(str(each) for each in outcome.warnings)
        return {"repr": repr(outcome), "str": str(outcome), "trace": json.dumps(outcome.trace), "warnings": warned}
    chain = "".join(traceback.format_exception(outcome))
    return {
        "str": str(outcome), "repr": repr(outcome), "args": str(outcome.args), "details": repr(outcome.details),
        "traceback": chain, "trace": json.dumps(outcome.details.trace), "stderr": outcome.details.stderr or "",
    }  # fmt: skip


@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(
    planted("zq7secret"),
    planted("zq7value"),
    st.sampled_from(HOWS),
    st.sampled_from(["read", "write"]),
    st.sampled_from(["file", "value"]),
)
def test_scenario_23_secret_canary_is_found_nowhere(
    programs: Programs,
    records: Records,
    secret: tuple[str, str],
    value: tuple[str, str],
    how: str,
    effect: str,
    kind: str,
) -> None:
    records.texts.clear()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        case = Case(Path(folder), programs[effect], secret[0], kind)
        outcome = case.run(how, value[0])
        files = case.files()
    expect(outcome, how)
    if how not in ("stops", "fails", "requires", "overflows", "wrong input", "input of another shape", "wrong option"):
        assert {"observed/handler-cmdline", "observed/runtime-cmdline", "observed/runtime-environ"} <= set(files)
        assert "do.py" in files["observed/handler-cmdline"]
        assert "--attached" in files["observed/runtime-cmdline"]
    searched = {
        **files,
        **texts_of(outcome),
        "logs": " ".join(records.texts),
        "warned": " ".join(str(each) for each in warned),
    }
    for place, text in searched.items():
        assert secret[1] not in text, f"the secret stands in {place}"
        assert value[1] not in text, f"the value stands in {place}"
    if isinstance(outcome, RunResult):
        assert secret[1] not in outcome.model_dump_json()
    else:
        held = {name: getattr(outcome.details, name) for name in outcome.details.__slots__}
        assert secret[1] not in str(
            {name: part if name != "result" or part is None else part.model_dump() for name, part in held.items()}
        )


CODES = {
    "fails": "BusinessFailure", "requires": "RequirementFailed", "overflows": "DivisionByZero", "raises": "ToolHandlerFailed",
    "gives a set": "ToolResultInvalid", "gives another type": "ToolResultInvalid",
    "gives malformed metadata": "MemoryMetadataInvalid", "gives the secret": "SecretLeak",
    "names a wrong key": "MemoryNotDeclared", "names the secret as a key": "SecretLeak",
    "prints the secret": "ToolHandlerFailed", "sleeps": "ToolTimeout", "dies": "ToolExited", "wrong input": "InputInvalid",
    "input of another shape": "InputInvalid", "wrong result type": "ResultMismatch", "wrong option": "OptionInvalid",
}  # fmt: skip


def expect(outcome: RunResult[Any] | ToubaEngineError, how: str) -> None:
    """The run went the way that was meant, or there is nothing that could have been found."""
    if how in CODES:
        assert isinstance(outcome, ToubaEngineError), outcome
        assert outcome.code == CODES[how], outcome
    else:
        assert isinstance(outcome, RunResult), outcome
        assert outcome.status == ("stopped" if how == "stops" else "success")


def test_a_planted_text_would_be_found(programs: Programs, records: Records, tmp_path: Path) -> None:
    """The search itself: a value in the trace file, in an error's text and on standard error is seen."""
    case = Case(tmp_path, programs["read"], "a-secret-of-the-bank", "file")
    outcome = case.run("prints the secret", "canary-value")
    assert isinstance(outcome, ToubaEngineError)
    assert "a line with [secret] in it" in (outcome.details.stderr or "")
    (case.project / "left.txt").write_text("canary-value", "utf-8")
    assert any("canary-value" in text for text in case.files().values())
    outcome.message += " canary-value"
    assert any("canary-value" in text for text in texts_of(outcome).values())
    logging.getLogger("app").debug("canary-value")
    assert any("canary-value" in text for text in records.texts)
