"""`define_tool`: a script that is the handler of one tool."""

from __future__ import annotations

from . import _json, _wire
from .definition import UNSPECIFIED
from .errors import DefinitionInvalid
from .handle import MAX_BYTES, create_tool_handler, failure, handle_tool_request, too_large

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, NoReturn


def define_tool(
    *,
    tool_ref: str,
    run: Callable[..., Any],
    input_signature: Iterable[Mapping[str, Any]] | None = None,
    output_type: Any = UNSPECIFIED,
    required_grants: Iterable[str] = (),
    required_secrets: Iterable[str] = (),
) -> NoReturn:
    """Serve one call of a tool, then end the process. The last statement of a handler script.

    It reads the request from standard input to its end, checks that it is for this tool and has the grants and secrets
    that are required, calls `run(request, context)`, and writes exactly one response. Standard input of the user's code
    is empty, its standard output goes to standard error. Threads that are still at work are not waited for.

    Parameters:
        tool_ref: `tool:module.name/ToolName`.
        run: the function, sync or async. It gets the wire form of its inputs and may return any value that
            ``touba_sdk/_encode.py`` lists.
        input_signature: the tool's inputs as `{"name", "type_ref"}`. With one input, the request is its value; with
            none or several, an object. Left out: always the object of all arguments.
        output_type: type reference of what the tool gives; None for a tool that gives nothing; left out, not checked.
        required_grants: grants without which `run` is not called.
        required_secrets: secret handles without which `run` is not called.

    Raises:
        ValueError: where the definition cannot be and no runtime is there to be told.

    Example::

        if __name__ == "__main__":
            define_tool(tool_ref="tool:research/Normalize", run=run)
    """
    try:
        handler = create_tool_handler(
            tool_ref=tool_ref,
            run=run,
            input_signature=input_signature,
            output_type=output_type,
            required_grants=required_grants,
            required_secrets=required_secrets,
        )
    except DefinitionInvalid as fault:
        if not _wire.attached():
            raise
        response = _json.write(failure("ToolHandlerFailed", f"define_tool refused its arguments: {fault}"))
        _wire.answer(_wire.move_wire(), response)
        raise
    wire = _wire.move_wire()
    data = _wire.read_request(wire, MAX_BYTES)
    response = _json.write(too_large(None)) if data is None else handle_tool_request(handler, data)
    _wire.answer(wire, response)
    raise SystemExit(0)
