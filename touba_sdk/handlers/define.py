"""`define_tool`: a script that is the handler of one tool."""

from __future__ import annotations

from . import _json, _wire
from .definition import UNSPECIFIED
from .errors import DefinitionInvalid
from .handle import HIGHEST_BYTES, create_tool_handler, failure, handle_tool_request, make_handler, too_large

TYPE_CHECKING = False
if not TYPE_CHECKING:

    def overload(function):
        """Stands for the one of `typing`, which a handler does not load."""
        return function

else:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, NoReturn, ParamSpec, Protocol, TypeVar, overload

    from .annotated import AnnotatedTool
    from .handle import ToolHandler

    P = ParamSpec("P")
    R = TypeVar("R", covariant=True)

    class Tool(Protocol[P, R]):
        """A function that `define_tool` decorates: it stays callable as it was written."""

        tool_ref: str

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...

        def main(self) -> NoReturn:
            """Serve one call, then end the process: the last statement of a handler script."""

        def handle(self, request: dict[str, Any]) -> dict[str, Any]:
            """The response document to a request document, as `create_tool_handler` gives it."""


@overload
def define_tool(
    *,
    tool_ref: str,
    run: Callable[..., Any],
    input_signature: Iterable[Mapping[str, Any]] | None = None,
    output_type: Any = UNSPECIFIED,
    required_grants: Iterable[str] = (),
    required_secrets: Iterable[str] = (),
) -> NoReturn: ...
@overload
def define_tool(
    *,
    tool_ref: str,
    output_type: Any = UNSPECIFIED,
    required_grants: Iterable[str] = (),
    required_secrets: Iterable[str] = (),
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
def define_tool(
    *,
    tool_ref: str,
    run: Callable[..., Any] | None = None,
    input_signature: Iterable[Mapping[str, Any]] | None = None,
    output_type: Any = UNSPECIFIED,
    required_grants: Iterable[str] = (),
    required_secrets: Iterable[str] = (),
) -> Any:
    """Serve one call of a tool, then end the process. The last statement of a handler script.

    It reads the request from standard input to its end, checks that it is for this tool and has the grants and secrets
    that are required, calls `run(request, context)`, and writes exactly one response. Standard input of the user's code
    is empty, its standard output goes to standard error. Threads that are still at work are not waited for.

    Without `run` it is a decorator. The function has one annotated parameter for each input, whose value it gets as
    the annotation says, and `context` where it wants it. It stays callable; the script ends with ``NAME.main()``.

    Parameters:
        tool_ref: `tool:module.name/ToolName`.
        run: the function, sync or async. It gets the wire form of its inputs, or what the annotation of its request
            says, and may return any value that ``touba_sdk/_encode.py`` lists.
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

        @define_tool(tool_ref="tool:billing/Total")
        def total(lines: list[Line], currency: str) -> Decimal:
            return sum(line.amount for line in lines)

        if __name__ == "__main__":
            total.main()
    """
    if run is not None:
        function = run

        def make() -> ToolHandler:
            return create_tool_handler(
                tool_ref=tool_ref,
                run=function,
                input_signature=input_signature,
                output_type=output_type,
                required_grants=required_grants,
                required_secrets=required_secrets,
            )

        _serve(make)

    def decorate(function: Callable[P, R]) -> Tool[P, R]:
        from .annotated import AnnotatedTool

        def define() -> AnnotatedTool:
            if input_signature is not None:
                raise DefinitionInvalid("the decorator reads the inputs from the parameters; leave out input_signature")
            return AnnotatedTool(function, tool_ref, output_type, required_grants, required_secrets)

        decorated: Tool[P, R] = _decorate(function, _answering(define))
        return decorated

    return decorate


def _decorate(function: Any, tool: AnnotatedTool) -> Any:
    """Put the members of `Tool` on a function."""
    made: list[ToolHandler] = []

    def handle(request: dict[str, Any]) -> dict[str, Any]:
        if not made:
            made.append(make_handler(tool))
        return made[0](request)

    function.tool_ref = tool.tool_ref
    function.handle = handle
    handle.tool = tool  # type: ignore[attr-defined]  # for `fake_tool`, which makes a handler of its own
    function.main = lambda: _serve(lambda: make_handler(tool))
    return function


def _serve(make: Callable[[], ToolHandler]) -> NoReturn:
    handler = _answering(make)
    wire = _wire.move_wire()
    data = _wire.read_request(wire, HIGHEST_BYTES)
    too_much = too_large(None, HIGHEST_BYTES)
    response = _json.write(too_much) if data is None else handle_tool_request(handler, data)
    _wire.answer(wire, response)
    raise SystemExit(0)


def _answering(make: Any) -> Any:
    """What ``make`` gives. Where a definition cannot be, a runtime that waits for an answer is told so."""
    try:
        return make()
    except DefinitionInvalid as fault:
        if not _wire.attached():
            raise
        response = _json.write(failure("ToolHandlerFailed", f"define_tool refused its arguments: {fault}"))
        _wire.answer(_wire.move_wire(), response)
        raise
