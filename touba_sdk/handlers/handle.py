"""From a tool request to a tool response: checks, the handler's function, encoding."""

from __future__ import annotations

import os
import sys

from .._encode import EncodeError, encode
from . import _json, _wire
from .context import HandlerContext
from .definition import UNSPECIFIED, ToolDefinition
from .errors import MESSAGE_CHARACTERS, ArgumentInvalid, InputUnfit, ToubaHandlerError
from .results import MemoryMetadataInvalid, ToolResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import TracebackType
    from typing import Any, TypeAlias

    ToolHandler: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]

REQUEST_PROTOCOL = "touba-tool-request-v1"
RESPONSE_PROTOCOL = "touba-tool-response-v1"

#: most bytes of a tool request and of a tool response where the request does not say, as in ``touba_cli/limits.py``
MAX_BYTES = 8 * 1024 * 1024
#: what a manifest may raise that to
HIGHEST_BYTES = 64 * 1024 * 1024

#: member of a request → types that it may have; the first two must be there
_REQUEST: dict[str, tuple[type, ...]] = {
    "tool_ref": (str,),
    "arguments": (dict,),
    "protocol": (str,),
    "call_id": (str, type(None)),
    "run_id": (str, type(None)),
    "occurrence": (str, type(None)),
    "grants": (list, type(None)),
    "secret_handles": (dict, type(None)),
    "limits": (dict, type(None)),
    "resources": (dict, type(None)),
    "deadline_ms": (int, float, type(None)),
    "effect": (dict, type(None)),
}


class _Refused(Exception):
    """A refusal before the handler's function was called: nothing has happened."""

    def __init__(self, code: str, message: str):
        super().__init__(message)
        self.code = code
        self.message = message


def create_tool_handler(
    *,
    tool_ref: str,
    run: Callable[..., Any],
    input_signature: Iterable[Mapping[str, Any]] | None = None,
    output_type: Any = UNSPECIFIED,
    required_grants: Iterable[str] = (),
    required_secrets: Iterable[str] = (),
) -> ToolHandler:
    """Make a function that takes a tool request document and gives the tool response document.

    It is what `define_tool` runs, without process and bytes: for tests, and for hosts with a transport of their own.
    The parameters are those of `define_tool`. It raises nothing that the handler's function raises: failures are
    responses with `ok` false.

    Raises:
        ValueError: where the definition cannot be; the message names the part.

    >>> handler = create_tool_handler(tool_ref="tool:app/Double", run=lambda request, context: request["n"] * 2)
    >>> handler({"protocol": "touba-tool-request-v1", "tool_ref": "tool:app/Double", "arguments": {"n": 21}})["value"]
    42
    """
    return make_handler(ToolDefinition(tool_ref, run, input_signature, output_type, required_grants, required_secrets))


def make_handler(tool: ToolDefinition, note: Callable[[BaseException], None] | None = None) -> ToolHandler:
    """The handler of a definition.

    Parameters:
        tool: the definition.
        note: is told of each exception that the tool's function should not have raised, before it is answered.

    Raises:
        DefinitionInvalid: for an annotation that cannot be read, and a function that cannot be called.
    """
    tool.compile()

    def handle(request: dict[str, Any]) -> dict[str, Any]:
        return _handle(tool, request, note)

    return handle


def handle_tool_request(handler: ToolHandler, data: bytes) -> bytes:
    """Give the bytes of the response to the bytes of a request.

    Adds to the handler of `create_tool_handler` what bytes need: as many in and out as `limits` of the request say, at
    most 8 MiB where it does not, and JSON in UTF-8 without duplicate keys. What is wrong with the request is a response
    with `ok` false, too.

    Parameters:
        handler: what `create_tool_handler` gave.
        data: a `touba-tool-request-v1` document.

    Returns:
        A `touba-tool-response-v1` document, always.

    Example::

        handler = create_tool_handler(tool_ref="tool:shop/Double", run=lambda arguments, context: arguments["n"] * 2)
        sys.stdout.buffer.write(handle_tool_request(handler, sys.stdin.buffer.read()))
    """
    try:
        if len(data) > HIGHEST_BYTES:
            return _json.write(too_large(len(data), HIGHEST_BYTES))
        request = _json.read(data)
    except _json.JsonInvalid as fault:
        if len(data) > MAX_BYTES:
            return _json.write(too_large(len(data), MAX_BYTES))
        return _json.write(failure("JsonInvalid", f"the tool request is not valid JSON: {fault}"))
    allowed = _limit(request, "max_request_bytes")
    if len(data) > allowed:
        return _json.write(too_large(len(data), allowed))
    response = _json.write(handler(request))
    allowed = _limit(request, "max_response_bytes")
    if len(response) > allowed:
        message = f"the tool response has {len(response)} bytes; {allowed} are allowed. Answer less at once."
        response = _json.write(failure("ToolResponseTooLarge", message, effect=_effect_after(request)))
    return response


def _limit(request: Any, name: str) -> int:
    """A limit of the call that a request states; the default where it states none."""
    limits = request.get("limits") if isinstance(request, dict) else None
    stated = limits.get(name) if isinstance(limits, dict) else None
    return stated if isinstance(stated, int) and not isinstance(stated, bool) else MAX_BYTES


def too_large(size: int | None, allowed: int) -> dict[str, Any]:
    """The response to a request past the limit."""
    said = "more" if size is None else f"{size}"
    return failure("ToolRequestTooLarge", f"the tool request has {said} bytes; {allowed} are allowed")


def failure(code: str, message: str, *, retryable: bool = False, effect: str = "none") -> dict[str, Any]:
    """A tool response with `ok` false."""
    if len(message) > MESSAGE_CHARACTERS:
        message = message[: MESSAGE_CHARACTERS - 1] + "…"
    message = message.encode("utf-8", "backslashreplace").decode("utf-8")
    error = {"code": code, "message": message, "retryable": retryable, "effect": effect}
    return {"protocol": RESPONSE_PROTOCOL, "ok": False, "error": error}


def _handle(tool: ToolDefinition, request: Any, note: Callable[[BaseException], None] | None) -> dict[str, Any]:
    try:
        _check_request(request)
        call = _admit(tool, request)
        context = HandlerContext(request)
    except _Refused as refused:
        return failure(refused.code, refused.message)
    try:
        value = _wait_for(call(context))
    except ToubaHandlerError as error:
        return failure(error.code, error.message, retryable=error.retryable, effect=error.effect or "none")
    except MemoryMetadataInvalid as fault:
        if note is not None:
            note(fault)
        return failure("MemoryMetadataInvalid", str(fault), effect=_effect_after(request))
    except BaseException as fault:
        if note is not None:
            note(fault)
        _show_traceback(fault)
        return failure("ToolHandlerFailed", _describe(fault), effect=_effect_after(request))
    statements: list[dict[str, Any]] = []
    if isinstance(value, ToolResult):
        value, statements = value.value, value.memory_metadata
    if tool.output_type is None and value is not None:
        message = f"the tool gives nothing (output_type=None), but run returned {type(value).__name__}"
        return failure("ToolResultInvalid", message, effect=_effect_after(request))
    try:
        wire = encode(value)
    except EncodeError as fault:
        message = f"what run returned has no wire form: {fault}"
        return failure("ToolResultInvalid", message, effect=_effect_after(request))
    return {"protocol": RESPONSE_PROTOCOL, "ok": True, "value": wire, "memory_metadata": statements, "receipts": []}


def _check_request(request: Any) -> None:
    if not isinstance(request, dict):
        raise _Refused("DocumentInvalid", f"a tool request is an object, not {type(request).__name__}")
    protocol = request.get("protocol")
    if protocol != REQUEST_PROTOCOL:
        said = "another protocol" if isinstance(protocol, str) else "no protocol"
        raise _Refused(
            "DocumentInvalid", f"a tool request names the protocol {REQUEST_PROTOCOL}; this one names {said}"
        )
    for name in ("tool_ref", "arguments"):
        if name not in request:
            raise _Refused("DocumentInvalid", f"the tool request lacks `{name}`")
    for name, value in request.items():
        allowed = _REQUEST.get(name)
        if allowed is None:
            raise _Refused("DocumentInvalid", "the tool request has a member that this SDK does not know")
        if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
            raise _Refused("DocumentInvalid", f"`{name}` of the tool request has the wrong type")
    for grant in request.get("grants") or ():
        if not isinstance(grant, str):
            raise _Refused("DocumentInvalid", "`grants` of the tool request holds something that is no text")
    for held in (request.get("secret_handles") or {}).values():
        if not isinstance(held, dict) or not isinstance(held.get("value"), str):
            raise _Refused("DocumentInvalid", '`secret_handles` of the tool request are written {"value": text}')


def _admit(tool: ToolDefinition, request: dict[str, Any]) -> Callable[[HandlerContext], Any]:
    """Check that this call is meant for this tool and may be made; give the call of its function."""
    if request["tool_ref"] != tool.tool_ref:
        raise _Refused("ToolRefMismatch", f"the handler serves {tool.tool_ref}, which is not the tool that was called")
    grants = request.get("grants") or ()
    for grant in tool.required_grants:
        if grant not in grants:
            raise _Refused("HandlerRefused", f"the handler requires the grant `{grant}`, which the call does not have")
    handles = request.get("secret_handles") or {}
    for handle in tool.required_secrets:
        if handle not in handles:
            raise _Refused(
                "HandlerRefused", f"the handler requires the secret `{handle}`, which the call does not hold"
            )
    arguments: dict[str, Any] = request["arguments"]
    if tool.inputs is not None and set(arguments) != set(tool.inputs):
        declared = ", ".join(tool.inputs) or "none"
        takes = ", ".join(sorted(arguments)) or "none"
        raise _Refused(
            "HandlerRefused",
            f"the tool has the inputs {takes}; its handler declares {declared}. Correct {tool.inputs_stand_in}",
        )
    try:
        return tool.bind(arguments)
    except InputUnfit as unfit:
        raise _Refused("HandlerRefused", str(unfit)) from None


def _effect_after(request: Any) -> str:
    """What is known of the effect once the function was called and did not say: of a write, nothing."""
    effect = request.get("effect") if isinstance(request, dict) else None
    kind = effect.get("kind") if isinstance(effect, dict) else None
    return "none" if kind in ("none", "read") else "unknown"


def _wait_for(result: Any) -> Any:
    """The result of a function; of a coroutine function, what it comes to in an event loop of its own."""
    if not hasattr(result, "__await__"):
        return result
    import asyncio

    async def wait() -> Any:
        return await result

    if asyncio._get_running_loop() is None:
        return asyncio.run(wait())
    # Called from a test that runs in an event loop itself: a loop cannot run inside a loop, so it gets a thread.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, wait()).result()


def _describe(fault: BaseException) -> str:
    """Class, file and line, and how to see more; never the exception's text, which may hold what it must not."""
    where = _place(fault.__traceback__)
    if isinstance(fault, ArgumentInvalid):
        return f"the handler misused the SDK{where}: {fault}"
    said = f"the handler raised {type(fault).__name__}{where}; its traceback is on standard error"
    if not _wire.attached():
        return said
    return (
        f"{said}, without its text. To see that, run `python {_script()} < request.json` with a request that you "
        "write: docs/handlers.md shows one"
    )


def _script() -> str:
    """The script as it is named in the project's folder, where a handler works."""
    script = os.path.relpath(sys.argv[0]) if sys.argv and sys.argv[0] else "handler.py"
    return os.path.basename(script) if script.startswith("..") else script


def _place(traceback: TracebackType | None) -> str:
    """The deepest line that is the user's: under the working folder or beside the script, and not installed."""
    own = os.path.dirname(os.path.abspath(__file__))
    roots = {os.getcwd(), os.path.dirname(os.path.abspath(sys.argv[0])) if sys.argv else ""} - {"", "/"}
    deepest = nearest = None
    while traceback is not None:
        file = os.path.abspath(traceback.tb_frame.f_code.co_filename)
        if not file.startswith(own + os.sep):
            deepest = (file, traceback.tb_lineno)
            if any(file.startswith(root + os.sep) for root in roots) and "site-packages" not in file:
                nearest = deepest
        traceback = traceback.tb_next
    found = nearest or deepest
    return f" at {os.path.basename(found[0])}:{found[1]}" if found else ""


def _show_traceback(fault: BaseException) -> None:
    """Write the frames of an exception and of its causes to standard error: with their texts only where a person runs
    the script by hand, because they may hold what logs must not."""
    if _wire.by_hand():
        import traceback as printer

        printer.print_exception(fault)
        return
    lines: list[str] = []
    seen: set[int] = set()
    link: BaseException | None = fault
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        lines.append("touba: traceback of the handler (most recent call last), without messages:")
        traceback = link.__traceback__
        while traceback is not None:
            code = traceback.tb_frame.f_code
            lines.append(f'  File "{code.co_filename}", line {traceback.tb_lineno}, in {code.co_name}')
            traceback = traceback.tb_next
        lines.append(f"{type(link).__name__}: {link}" if isinstance(link, ArgumentInvalid) else type(link).__name__)
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    sys.stderr.write("\n".join(lines) + "\n")
