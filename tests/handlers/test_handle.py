"""create_tool_handler and handle_tool_request: what a handler gets, what it may answer, what it is spared."""

from __future__ import annotations

import asyncio
import json
import pickle
import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touba_sdk.handlers import ToubaHandlerError, create_tool_handler, handle_tool_request, touba_sdk_metadata

REF = "tool:app.pay/Pay"


def request(arguments: dict[str, Any] | None = None, **members: Any) -> dict[str, Any]:
    return {"protocol": "touba-tool-request-v1", "tool_ref": REF, "arguments": arguments or {}, **members}


def echo(value: Any, context: Any) -> Any:
    return value


def inputs(*names: str) -> list[dict[str, str]]:
    return [{"name": name, "type_ref": "Text"} for name in names]


@pytest.mark.parametrize(
    ("signature", "arguments", "given_request"),
    [
        ([], {}, {}),
        (inputs("value"), {"value": "Invoice 42"}, "Invoice 42"),
        (inputs("left", "right"), {"left": 2, "right": 3}, {"left": 2, "right": 3}),
        (None, {"value": "Invoice 42"}, {"value": "Invoice 42"}),
    ],
)
def test_the_signature_decides_what_the_request_is(
    signature: Any, arguments: dict[str, Any], given_request: Any
) -> None:
    handler = create_tool_handler(tool_ref=REF, run=echo, input_signature=signature)
    assert handler(request(arguments)) == {
        "protocol": "touba-tool-response-v1",
        "ok": True,
        "value": given_request,
        "memory_metadata": [],
        "receipts": [],
    }


def test_python_values_are_encoded() -> None:
    handler = create_tool_handler(tool_ref=REF, run=lambda request, context: {"total": Decimal("12.50")})
    assert handler(request())["value"] == {"total": "12.50"}


def test_a_coroutine_function_is_awaited() -> None:
    async def run(value: Any, context: Any) -> int:
        await asyncio.sleep(0)
        return 42

    handler = create_tool_handler(tool_ref=REF, run=run)
    assert handler(request())["value"] == 42

    async def inside_a_loop() -> Any:
        return handler(request())["value"]

    assert asyncio.run(inside_a_loop()) == 42


def test_the_context_tells_about_the_call(capsys: pytest.CaptureFixture[str]) -> None:
    seen: dict[str, Any] = {}

    def run(value: Any, context: Any) -> None:
        for name in ("arguments", "grants", "limits", "resources", "call_id", "run_id", "occurrence", "effect"):
            seen[name] = getattr(context, name)
        seen["secret"] = context.secret("bank_token")
        seen["shown"] = repr(context) + repr(context.secret_handles)
        seen["value"] = context.secret_handles["bank_token"].value, context.secret_handles["bank_token"]["value"]
        seen["left"] = context.deadline
        seen["cancelled"] = context.cancelled
        context.progress("half way", done=1, total=2)
        context.log("x" * 5_000, level="warning")
        context.progress("nearly", 3, 4)
        context.log("careful", "error")

    handler = create_tool_handler(tool_ref=REF, run=run, output_type=None)
    response = handler(
        request(
            {"a": 1}, grants=["network"], secret_handles={"bank_token": {"value": "s3cret-token"}}, call_id="c",
            run_id="r", occurrence="2/3", limits={"timeout_ms": 5}, resources={}, deadline_ms=5,
            effect={"kind": "write"},
        )
    )  # fmt: skip
    assert response["ok"] is True
    assert response["value"] is None
    assert seen["arguments"] == {"a": 1}
    assert seen["grants"] == ("network",)
    assert seen["limits"] == {"timeout_ms": 5}
    assert (seen["call_id"], seen["run_id"], seen["occurrence"]) == ("c", "r", "2/3")
    assert seen["effect"] == {"kind": "write"}
    assert seen["secret"] == "s3cret-token"
    assert seen["value"] == ("s3cret-token", "s3cret-token")
    assert "s3cret" not in seen["shown"]
    assert seen["left"] > 0
    assert seen["cancelled"] is False
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert lines[0] == {
        "protocol": "touba-progress-v1", "call_id": "c", "kind": "progress", "message": "half way",
        "done": 1, "total": 2,
    }  # fmt: skip
    assert lines[1]["level"] == "warning"
    assert len(lines[1]["message"]) == 2_000
    assert (lines[2]["message"], lines[2]["done"], lines[2]["total"]) == ("nearly", 3, 4)
    assert (lines[3]["message"], lines[3]["level"]) == ("careful", "error")


def test_lines_of_a_call_are_bounded(capsys: pytest.CaptureFixture[str]) -> None:
    def run(value: Any, context: Any) -> None:
        for number in range(3_000):
            context.log(str(number))

    create_tool_handler(tool_ref=REF, run=run)(request())
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1_001
    assert "left out" in lines[-1]


def test_a_wrong_level_is_refused() -> None:
    handler = create_tool_handler(tool_ref=REF, run=lambda value, context: context.log("a", level="loud"))
    assert handler(request())["error"]["code"] == "ToolHandlerFailed"


@pytest.mark.parametrize(
    ("document", "code", "said"),
    [
        (request() | {"tool_ref": "tool:app.pay/Refund"}, "ToolRefMismatch", "serves tool:app.pay/Pay"),
        (request(), "HandlerRefused", "`network`"),
        (request(grants=["network"]), "HandlerRefused", "`bank_token`"),
        (
            request({"other": 1}, grants=["network"], secret_handles={"bank_token": {"value": "x"}}),
            "HandlerRefused",
            "declares value",
        ),
        ([], "DocumentInvalid", "object"),
        (request() | {"protocol": "touba-tool-request-v2"}, "DocumentInvalid", "another protocol"),
        ({"tool_ref": REF, "arguments": {}}, "DocumentInvalid", "no protocol"),
        ({"protocol": "touba-tool-request-v1", "tool_ref": REF}, "DocumentInvalid", "`arguments`"),
        (request() | {"arguments": []}, "DocumentInvalid", "`arguments`"),
        (request(surprise=1), "DocumentInvalid", "member"),
        (request(deadline_ms=True), "DocumentInvalid", "`deadline_ms`"),
        (request(grants=[1]), "DocumentInvalid", "`grants`"),
        (request(secret_handles={"bank_token": "x"}), "DocumentInvalid", "`secret_handles`"),
    ],
)
def test_what_is_not_for_this_handler_never_reaches_run(document: Any, code: str, said: str) -> None:
    calls: list[Any] = []
    handler = create_tool_handler(
        tool_ref=REF,
        run=lambda value, context: calls.append(value),
        input_signature=inputs("value"),
        required_grants=["network"],
        required_secrets=["bank_token"],
    )
    response = handler(document)
    assert response["ok"] is False
    assert response["error"]["code"] == code
    assert said in response["error"]["message"]
    assert response["error"]["effect"] == "none"
    assert calls == []


@pytest.mark.parametrize(
    ("given_effect", "told"), [(None, "none"), ("none", "none"), ("done", "done"), ("unknown", "unknown")]
)
def test_a_public_error_is_passed_on(given_effect: str | None, told: str) -> None:
    def run(value: Any, context: Any) -> None:
        raise ToubaHandlerError("CardDeclined", "The bank declined.", retryable=True, effect=given_effect)

    response = create_tool_handler(tool_ref=REF, run=run)(request(effect={"kind": "write"}))
    assert response["error"] == {
        "code": "CardDeclined", "message": "The bank declined.", "retryable": True, "effect": told,
    }  # fmt: skip


def _raise(fault: BaseException) -> Any:
    raise fault


@pytest.mark.parametrize(
    "fault",
    [ValueError("s3cret"), SystemExit("s3cret"), KeyboardInterrupt("s3cret"), ExceptionGroup("s3cret", [OSError()])],
)
@pytest.mark.parametrize(
    ("effect", "told"), [("none", "none"), ("read", "none"), ("write", "unknown"), (None, "unknown")]
)
def test_any_other_exception_shows_class_and_place_only(
    fault: BaseException, effect: str | None, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    handler = create_tool_handler(tool_ref=REF, run=lambda value, context: _raise(fault))
    response = handler(request(**({} if effect is None else {"effect": {"kind": effect}})))
    error = response["error"]
    assert error["code"] == "ToolHandlerFailed"
    assert type(fault).__name__ in error["message"]
    assert "test_handle.py:" in error["message"]
    assert "request.json" not in error["message"], "who called it in this process has the request"
    assert error["effect"] == told
    shown = capsys.readouterr().err
    assert "in _raise" in shown
    assert "s3cret" not in shown + json.dumps(response)


@pytest.mark.parametrize(
    ("name", "told"), [("bank", "handle `bank`; it holds: key"), ("S3cret!", "handle of that name; it holds: key")]
)
def test_a_secret_that_the_call_does_not_hold_is_named(name: str, told: str) -> None:
    handler = create_tool_handler(tool_ref=REF, run=lambda value, context: context.secret(name))
    error = handler(request(secret_handles={"key": {"value": "v"}}))["error"]
    assert (error["code"], error["message"]) == ("HandlerRefused", f"the call holds no secret {told}")


def test_causes_are_shown_without_their_texts(capsys: pytest.CaptureFixture[str]) -> None:
    def run(value: Any, context: Any) -> None:
        try:
            raise KeyError("s3cret")
        except KeyError as fault:
            raise RuntimeError("s3cret") from fault

    create_tool_handler(tool_ref=REF, run=run)(request())
    shown = capsys.readouterr().err
    assert "KeyError" in shown
    assert "RuntimeError" in shown
    assert "s3cret" not in shown


@pytest.mark.parametrize(
    ("result", "output_type", "said"),
    [(1, None, "gives nothing"), ({"a": {1}}, "Json", "a: a set"), (float("inf"), "Float", "$: the float")],
)
def test_results_without_a_wire_form(result: Any, output_type: Any, said: str) -> None:
    handler = create_tool_handler(tool_ref=REF, run=lambda value, context: result, output_type=output_type)
    error = handler(request(effect={"kind": "write"}))["error"]
    assert (error["code"], error["effect"]) == ("ToolResultInvalid", "unknown")
    assert said in error["message"]


def test_a_tool_that_gives_nothing() -> None:
    handler = create_tool_handler(tool_ref=REF, run=lambda value, context: None, output_type=None)
    assert handler(request())["value"] is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"tool_ref": "Pay"}, "tool_ref"),
        ({"tool_ref": "tool:app/pay"}, "tool_ref"),
        ({"tool_ref": "tool:App/Pay"}, "tool_ref"),
        ({"tool_ref": "tool:app/Pay\n"}, "tool_ref"),
        ({"run": 1}, "run"),
        ({"input_signature": "value"}, "input_signature"),
        ({"input_signature": {"name": "a", "type_ref": "Text"}}, "input_signature"),
        ({"input_signature": ["value"]}, "input_signature[0]"),
        ({"input_signature": [{"name": "a"}]}, "type_ref"),
        ({"input_signature": [{"name": "a", "type_ref": "Text", "optional": True}]}, "`optional`"),
        ({"input_signature": [{"name": "A", "type_ref": "Text"}]}, "input_signature[0].name"),
        ({"input_signature": inputs("a", "a")}, "`a` twice"),
        ({"input_signature": [{"name": "a", "type_ref": "text"}]}, "input_signature[0].type_ref"),
        ({"input_signature": [{"name": "a", "type_ref": "type:app/note"}]}, "input_signature[0].type_ref"),
        ({"output_type": "List Text"}, "output_type"),
        ({"output_type": ["Set", "Text"]}, "output_type"),
        ({"output_type": 5}, "output_type"),
        ({"required_grants": "network"}, "required_grants"),
        ({"required_grants": ["internet"]}, "`internet`"),
        ({"required_grants": ["network", "network"]}, "twice"),
        ({"required_secrets": ["Bank"]}, "`Bank`"),
        ({"required_secrets": [1]}, "required_secrets"),
    ],
)
def test_definitions_that_cannot_be(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        create_tool_handler(**{"tool_ref": REF, "run": echo, **arguments})


@pytest.mark.parametrize(
    "form",
    [
        "Text",
        "type:a.b/C",
        "List of Text",
        "Optional type:a/B",
        "Map of List of Optional Int",
        ["List", ["Map", "Text"]],
        None,
    ],
)
def test_types_that_may_be_named(form: Any) -> None:
    handler = create_tool_handler(tool_ref=REF, run=lambda value, context: None, output_type=form)
    assert handler(request())["ok"] is True


@pytest.mark.parametrize(
    "arguments",
    [
        ("cardDeclined", "m"),
        ("Card Declined", "m"),
        ("", "m"),
        ("Card", 5),
        ("Card", "m", "yes"),
        ("Card", "m", False, "some"),
    ],
)
def test_public_errors_that_cannot_be(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match=r"ToubaHandlerError|retryable|effect"):
        ToubaHandlerError(*arguments)


def test_public_errors_survive_pickling_and_are_cut() -> None:
    error = pickle.loads(pickle.dumps(ToubaHandlerError("CardDeclined", "no", True, "done")))
    assert (error.code, error.message, error.retryable, error.effect) == ("CardDeclined", "no", True, "done")
    assert str(error) == "CardDeclined: no"
    handler = create_tool_handler(
        tool_ref=REF, run=lambda value, context: _raise(ToubaHandlerError("A", "x\ud800" * 3_000))
    )
    message = handler(request())["error"]["message"]
    assert message.encode("utf-8")
    assert message.endswith("…")


def test_bytes_in_and_out() -> None:
    handler = create_tool_handler(tool_ref=REF, run=echo, input_signature=inputs("value"))
    data = "\ufeff" + json.dumps(request({"value": "größe \ud83d\ude00"}))
    assert json.loads(handle_tool_request(handler, data.encode()))["value"] == "größe 😀"


@pytest.mark.parametrize(
    "data",
    [
        b"", b"   ", b"{", b"{}x", b'{"a": 1, "a": 2}', b'{"a": NaN}', b"\xff", b'"\x01"', b"[" * 100_000, b"nul",
        b'{"a" 1}',
    ],
    ids=lambda data: repr(data[:12]),
)  # fmt: skip
def test_bytes_that_are_no_json(data: bytes) -> None:
    response = json.loads(handle_tool_request(create_tool_handler(tool_ref=REF, run=echo), data))
    assert response["error"]["code"] == "JsonInvalid"


def test_limits_of_bytes() -> None:
    handler = create_tool_handler(tool_ref=REF, run=lambda value, context: "x" * (9 * 1024 * 1024))
    assert (
        json.loads(handle_tool_request(handler, b" " * (8 * 1024 * 1024 + 1)))["error"]["code"] == "ToolRequestTooLarge"
    )
    answer = json.loads(handle_tool_request(handler, json.dumps(request(effect={"kind": "write"})).encode()))
    assert (answer["error"]["code"], answer["error"]["effect"]) == ("ToolResponseTooLarge", "unknown")


@given(st.binary(max_size=200))
def test_no_bytes_raise(data: bytes) -> None:
    assert json.loads(handle_tool_request(create_tool_handler(tool_ref=REF, run=echo), data))["ok"] is False


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=9,
)


@given(st.dictionaries(st.sampled_from(sorted(request(grants=[], secret_handles={}, effect={}, limits={}))), _json))
def test_no_document_raises(document: dict[str, Any]) -> None:
    handler = create_tool_handler(tool_ref=REF, run=echo)
    for each in (document, request() | document):
        response = handler(each)
        assert response["protocol"] == "touba-tool-response-v1"
        assert isinstance(response["ok"], bool)


def test_metadata() -> None:
    import touba_cli

    metadata = touba_sdk_metadata()
    assert metadata["version"] == touba_cli.__version__
    assert "touba-tool-request-v1" in metadata["protocols"]


@pytest.mark.parametrize(
    "run",
    [
        lambda: None,
        lambda request: request,
        lambda request, context, more: request,
        lambda request, context, *, more: request,
        "text".join,
    ],
)
def test_a_function_that_cannot_be_called_so_is_refused_when_it_is_defined(run: Any) -> None:
    if not hasattr(run, "__code__"):
        assert create_tool_handler(tool_ref="tool:app/Do", run=run) is not None  # shows itself when it is called
        return
    with pytest.raises(ValueError, match=r"write `def run\(request, context\)`"):
        create_tool_handler(tool_ref="tool:app/Do", run=run)


class _Service:
    def run(self, request: Any, context: Any) -> Any:
        return request


@pytest.mark.parametrize("run", [_Service().run, lambda *both: both[0], lambda request, context=None, more=1: request])
def test_a_function_that_takes_request_and_context_in_its_own_way_is_fine(run: Any) -> None:
    handler = create_tool_handler(tool_ref="tool:app/Do", run=run)
    document = {"protocol": "touba-tool-request-v1", "tool_ref": "tool:app/Do", "arguments": {"n": 2}}
    assert handler(document)["value"] == {"n": 2}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"tool_ref": "app.Do"}, "not `app.Do`"),
        ({"output_type": "date"}, "not `date`"),
        ({"input_signature": [{"name": "n", "type_ref": 7}]}, "not int"),
    ],
)
def test_what_is_no_reference_is_named(more: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        create_tool_handler(**{"tool_ref": "tool:app/Do", "run": lambda request, context: None, **more})
