"""Which codes a handler may report: the SDK refuses what the runtime would refuse, before it is sent."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.shell_kit import Project, calling
from touba_cli.errors import CODES
from touba_cli.runtime.answers import code_fault
from touba_sdk import ToubaHandlerError
from touba_sdk.handlers.errors import ArgumentInvalid, is_reserved

HANDLER = """\
from touba_sdk import ToubaHandlerError, define_tool

def run(request, context):
    raise ToubaHandlerError("StepLimitExceeded", "it was too much")

define_tool(tool_ref="tool:app/Tool", run=run)
"""


@pytest.mark.parametrize("code", [*CODES, "CardDeclined", "Runtime"])
def test_sdk_and_runtime_agree_about_every_code_of_the_table(code: str) -> None:
    if code_fault(code) is None:
        assert ToubaHandlerError(code, "no").code == code
    else:
        with pytest.raises(ArgumentInvalid, match=f"^`{code}` is a code that only the runtime gives"):
            ToubaHandlerError(code, "no")


def test_the_list_of_the_sdk_holds_codes_of_the_table_only() -> None:
    from touba_sdk.handlers._reserved import RUNTIME_CODES

    assert len(RUNTIME_CODES) > 50
    assert [code for code in RUNTIME_CODES if not is_reserved(code) or code not in CODES] == []


@given(st.sampled_from(sorted(CODES)) | st.text(st.characters(codec="utf-8"), max_size=12) | st.from_regex("[A-Z]\\w*"))
def test_the_runtime_takes_every_code_that_the_sdk_takes(code: str) -> None:
    try:
        ToubaHandlerError(code, "no")
    except ArgumentInvalid:
        return
    assert code_fault(code) is None


def test_a_handler_that_claims_a_code_of_the_runtime_is_told_where(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write("handlers/tool.py", HANDLER)
    project.bind(["python", "handlers/tool.py"])
    error = project.call(program=calling("write")).error
    assert (error["code"], error["effect"]) == ("ToolHandlerFailed", "unknown")
    assert error["message"] == (
        "the handler misused the SDK at tool.py:4: "
        "`StepLimitExceeded` is a code that only the runtime gives; a handler reports its own (app.tb:1:5)"
    )
