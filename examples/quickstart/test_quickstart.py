"""Tests of the quick start: python -m pytest examples/quickstart"""

from handlers.normalize import run as normalize
from run import keep

from touba_sdk.testing import assert_run_refused, assert_run_succeeded, assert_trace_events


def test_the_handler_alone():
    assert normalize("  Invoice 42 \nto be paid", None) == {"topic": "Invoice 42", "words": 5}


def test_a_draft_is_kept():
    run = assert_run_succeeded(keep("Invoice 42\nto be paid"), {"topic": "Invoice 42", "words": 5})
    assert [message.text for message in run.messages] == ["Kept: Invoice 42"]
    assert_trace_events(run.trace, kind="tool_invoked", count=1)


def test_a_long_draft_stops_the_run():
    run = keep("one two three", limit=2)
    assert (run.status, run.explanation.text) == ("stopped", "The draft has 3 words; 2 are allowed")


def test_an_empty_draft_is_refused():
    assert_run_refused(lambda: keep("   "), "RequirementFailed")
