"""Functions whose annotations say what they want: the decorator form of `define_tool`, and ``run(request: Note, …)``.

Nothing is loaded for a function without annotations. `inspect` and `typing` would cost a handler more than its work
often does, so a signature is read from the function's code.
"""

from __future__ import annotations

from .definition import ToolDefinition, is_name
from .errors import DefinitionInvalid, InputUnfit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from .._wire import Reader
    from .context import HandlerContext

#: the parameter that gets the context instead of an input
CONTEXT = "context"

_VARARGS = 0x04
_VARKEYWORDS = 0x08


class AnnotatedTool(ToolDefinition):
    """A tool whose function has one annotated parameter for each input, and perhaps `context`."""

    inputs_stand_in = "the parameters of the function"

    __slots__ = ("_annotations", "_readers", "_wants_context")

    def __init__(
        self,
        function: Callable[..., Any],
        tool_ref: str,
        output_type: Any,
        required_grants: Iterable[str],
        required_secrets: Iterable[str],
    ):
        names = _parameters(function)
        super().__init__(tool_ref, function, None, output_type, required_grants, required_secrets)
        self._wants_context = CONTEXT in names
        self.inputs = tuple(name for name in names if name != CONTEXT)
        annotations = _annotations_of(function)
        for name in self.inputs:
            if not is_name(name):
                raise DefinitionInvalid(f"the parameter `{name}` has no name that an input of a tool can have")
            if name not in annotations:
                raise DefinitionInvalid(f"the parameter `{name}` has no annotation; `Any` stands for the wire form")
        self._annotations = {name: annotations[name] for name in self.inputs}
        self._readers: dict[str, Reader] | None = None

    def compile(self) -> None:
        """Make the readers of the inputs. Raises DefinitionInvalid for an annotation that cannot be read."""
        if self._readers is None:
            self._readers = {
                name: _make_reader(_resolve(annotation, self.run, name), name)
                for name, annotation in self._annotations.items()
            }

    def bind(self, arguments: dict[str, Any]) -> Callable[[HandlerContext], Any]:
        """Read the inputs. Raises InputUnfit."""
        self.compile()
        assert self._readers is not None
        values = {name: _read(reader, arguments[name], name) for name, reader in self._readers.items()}

        def call(context: HandlerContext) -> Any:
            return self.run(**values, context=context) if self._wants_context else self.run(**values)

        return call


def request_reader(run: Callable[..., Any]) -> tuple[str, Reader] | None:
    """Name and reader of the first parameter of ``run(request, context)``; None where it takes the wire form.

    That is so where it has no annotation, and where the annotation has names that exist for type checkers only.

    Raises:
        DefinitionInvalid: where the annotation cannot be read.
    """
    annotations = _annotations_of(run)
    code = getattr(_innermost(run), "__code__", None)
    skipped = 1 if hasattr(run, "__self__") else 0
    if not annotations or code is None or code.co_argcount <= skipped:
        return None
    name = code.co_varnames[skipped]
    if name not in annotations:
        return None
    try:
        annotation = _evaluate(annotations[name], run)
    except NameError:
        return None
    return name, _make_reader(annotation, name)


def read_request(found: tuple[str, Reader], wire: Any) -> Any:
    """What ``run`` gets as its request. Raises InputUnfit."""
    return _read(found[1], wire, found[0])


def _read(reader: Reader, wire: Any, name: str) -> Any:
    from .._wire import WireMismatch

    try:
        return reader.read(wire)
    except WireMismatch as fault:
        where = (
            name if fault.path == "$" else f"{name}{'' if fault.path.startswith('$') else '.'}{fault.path.lstrip('$')}"
        )
        raise InputUnfit(f"the input does not fit the annotation of `{name}`: {where}: {fault.message}") from None


def _make_reader(annotation: Any, name: str) -> Reader:
    from .._annotations import AnnotationUnsupported
    from .._wire import Reader

    try:
        return Reader(annotation)
    except AnnotationUnsupported as fault:
        raise DefinitionInvalid(f"the annotation of `{name}` cannot be used: {fault}") from None


def _resolve(annotation: Any, function: Callable[..., Any], name: str) -> Any:
    try:
        return _evaluate(annotation, function)
    except NameError as fault:
        raise DefinitionInvalid(
            f"the annotation of `{name}` names `{fault.name}`, which does not exist at run time"
        ) from None


def _evaluate(annotation: Any, function: Callable[..., Any]) -> Any:
    """An annotation that was kept as text is evaluated where its function was written."""
    if not isinstance(annotation, str):
        return annotation
    return eval(annotation, getattr(_innermost(function), "__globals__", {}))


def _annotations_of(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return dict(getattr(_innermost(function), "__annotations__", {}))
    except NameError:
        return {}  # from Python 3.14 on they are evaluated here, and some exist for type checkers only


def _innermost(function: Any) -> Any:
    function = getattr(function, "__func__", function)
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def _parameters(function: Any) -> tuple[str, ...]:
    code = getattr(function, "__code__", None)
    if code is None:
        raise DefinitionInvalid(f"the decorator is for functions, not for {type(function).__name__}")
    if code.co_flags & (_VARARGS | _VARKEYWORDS):
        raise DefinitionInvalid("the function takes `*` or `**`; give it one parameter for each input")
    if code.co_posonlyargcount:
        raise DefinitionInvalid("the function has parameters without a name (`/`); inputs have names")
    names: tuple[str, ...] = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return names
