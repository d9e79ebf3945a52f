"""Tools made of functions: the schema comes from the annotations, and arguments are checked before the function runs.

`tool` reads a function once, when it is defined, and refuses what no model could call. At a call it decodes the
arguments into the annotated types, puts a `RunContext` where the function asks for one, and turns what the function
gives into content: texts and parts stay what they are, every other value becomes its JSON text.
"""

from __future__ import annotations

import copy
import functools
import inspect
import sys
import typing
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Any, Generic, ParamSpec, TypeVar, overload

import typing_extensions
from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined, to_json, to_jsonable_python

from touba_sdk._annotations import is_union
from touba_sdk._validation import _message, _Mirror, _path
from touba_sdk.models import ContentPart, SchemaTypeError, TextPart, ToolDeclaration, ToolKind, schema_for
from touba_sdk.models.messages import _CONTENT as CONTENT_PARTS

from .errors import InvalidArgumentsError, ToolDefinitionError, ToolError
from .run import RunMetadata
from .types import RunContext, Tool, ToolCall, ToolOutput, current_context, undecodable_arguments

__all__ = ["FunctionTool", "parallel", "provider_tool", "text_result", "tool"]

_P = ParamSpec("_P")
_R = TypeVar("_R")
_F = TypeVar("_F", bound="FunctionTool[..., Any]")

#: how many faults of the arguments of one call the model is told at most
_MOST_FAULTS = 5
_NO_OBJECT = "they are not a JSON object"


# -- making tools ----------------------------------------------------------------------------------------------------


@overload
def tool(
    fn: Callable[_P, _R],
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    parallel: bool = False,
    timeout: float | timedelta | None = None,
) -> FunctionTool[_P, _R]: ...


@overload
def tool(
    fn: None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    parallel: bool = False,
    timeout: float | timedelta | None = None,
) -> Callable[[Callable[_P, _R]], FunctionTool[_P, _R]]: ...


def tool(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    parallel: bool = False,
    timeout: float | timedelta | None = None,
) -> Any:
    """Make a tool of a function; as a decorator with or without options, or as a plain call.

    Every parameter is annotated. One with a default need not be given by the model; ``X | None`` without a default
    must be given and may be null. Describe parameters with ``Annotated[int, Field(description=…)]``. A parameter of
    type `RunContext` is filled in and not shown to the model. Arguments that nobody asked for are left out; others are
    read as pydantic reads JSON, and what does not fit is answered with an error, without calling the function.

    The function may be async. If it is not, it runs in a thread of its own. It gives a text, a part, a list with parts
    in it, None for nothing, or any other value, which the model reads as JSON.

    Parameters:
        fn: the function.
        name: the tool's name; that of the function where it is left out.
        description: what the model reads about it; the function's docstring where it is left out.
        parallel: whether it may run beside other tools of the same turn.
        timeout: how long it may take, in seconds, in the place of the agent's ``tool_timeout``; 0 for as long as it
            likes.

    Raises:
        ToolDefinitionError: for a parameter without annotation, with a type that has no JSON form or contains itself,
            for ``*args`` and ``**kwargs``, and for generators.

    >>> @tool
    ... def add(a: int, b: int = 1) -> int:
    ...     "Add two integers."
    ...     return a + b
    >>> add.declaration.input_schema["required"]
    ['a']
    >>> add(2, 3)
    5
    """
    scope = sys._getframe(1).f_locals
    if fn is None:
        return lambda given: FunctionTool(given, name, description, parallel, timeout, scope)
    return FunctionTool(fn, name, description, parallel, timeout, scope)


class FunctionTool(Generic[_P, _R]):
    """A tool made of a function, by `tool`. Called like the function, it is the function.

    Attributes:
        declaration: the tool as the model sees it.
        concurrent: whether it may run beside other tools of the same turn.
        timeout: how long it may take; None for the agent's ``tool_timeout``.
        execute: runs one call; async where the function is.
    """

    __name__: str
    declaration: ToolDeclaration
    concurrent: bool
    timeout: float | timedelta | None
    execute: Callable[[ToolCall], Any]

    def __init__(
        self,
        function: Callable[_P, _R],
        name: str | None,
        description: str | None,
        concurrent: bool,
        timeout: float | timedelta | None,
        scope: Mapping[str, Any],
    ):
        if not callable(function):
            raise ToolDefinitionError(f"a tool is made of a function, not of {type(function).__name__}")
        functools.update_wrapper(self, function, updated=())
        self._function = function
        self._name = _tool_name(function, name)
        self._parameters = _Parameters(self._name, function, scope)
        text = inspect.getdoc(_target(function)) if description is None else description
        self.declaration = ToolDeclaration(self._name, text or "", self._parameters.schema)
        self.concurrent = concurrent
        self.timeout = timeout
        self.execute = self._execute_async if _is_async(function) else self._execute

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Call the function itself."""
        return self._function(*args, **kwargs)

    def _execute(self, call: ToolCall) -> ToolOutput | Awaitable[ToolOutput]:
        positional, named = self._parameters.decode(call)
        value: Any = self._call(*positional, **named)
        # Such as a lambda around an async function; the loop awaits it where the other async tools run.
        return self._later(value) if inspect.isawaitable(value) else self._content(value)

    async def _execute_async(self, call: ToolCall) -> ToolOutput:
        positional, named = self._parameters.decode(call)
        return self._content(await self._call(*positional, **named))

    async def _later(self, value: Awaitable[Any]) -> ToolOutput:
        return self._content(await value)

    @property
    def _call(self) -> Callable[..., Any]:
        return self._function

    def _content(self, value: Any) -> ToolOutput:
        if value is None or isinstance(value, (str, *CONTENT_PARTS)):
            return value
        if isinstance(value, (list, tuple)) and any(isinstance(part, CONTENT_PARTS) for part in value):
            return list(value)
        try:
            return to_json(value, inf_nan_mode="strings").decode("utf-8")
        except ValueError:
            raise ToolError(f"the tool gave {type(value).__name__}, which has no JSON form") from None

    def __repr__(self) -> str:
        return f"<tool {self._name}>"


@overload
def parallel(t: _F) -> _F: ...


@overload
def parallel(t: Tool) -> Tool: ...


def parallel(t: Tool) -> Tool:
    """The same tool, marked as one that may run beside other marked tools of the same turn.

    Mark only what shares no state that it changes, such as a look-up.

    >>> parallel(tool(len_of)).concurrent  # doctest: +SKIP
    True
    """
    if isinstance(t, FunctionTool):
        marked = copy.copy(t)
        marked.concurrent = True
        return marked
    return _Parallel(t)


class _Parallel:
    """A tool of any kind, marked as concurrent."""

    concurrent = True

    def __init__(self, inner: Tool):
        self.declaration = inner.declaration
        # Taken over as it is, because the loop looks at whether it is an async function.
        self.execute = inner.execute
        self.timeout: float | timedelta | None = getattr(inner, "timeout", None)

    def __repr__(self) -> str:
        return f"<tool {self.declaration.name}>"


def provider_tool(declaration: ToolDeclaration) -> Tool:
    """A tool that the model's provider runs itself, such as its web search: it is declared and never executed here.

    Raises:
        ToolDefinitionError: when the declaration is not of kind ``provider_executed``.
    """
    if declaration.kind is not ToolKind.PROVIDER_EXECUTED:
        raise ToolDefinitionError("a tool of the provider is declared with the kind `provider_executed`")
    return _ProviderTool(declaration)


class _ProviderTool:
    concurrent = False

    def __init__(self, declaration: ToolDeclaration):
        self.declaration = declaration

    async def execute(self, call: ToolCall) -> ToolOutput:
        """Nothing: the provider did the work."""
        return None

    def __repr__(self) -> str:
        return f"<tool {self.declaration.name} of the provider>"


def text_result(s: str) -> list[ContentPart]:
    """The content of a result that is one text, for tools that are written by hand.

    >>> text_result("5")
    [TextPart(text='5')]
    """
    return [TextPart(s)]


# -- reading functions -----------------------------------------------------------------------------------------------


class _Parameters:
    """What a function takes: the schema of it, and how arguments are decoded into it."""

    def __init__(self, name: str, function: Callable[..., Any], scope: Mapping[str, Any]):
        self._name = name
        self._positional: list[str] = []
        self._contexts: list[tuple[str, bool]] = []
        #: defaults that pydantic fields give, which the function itself would take for values
        self._defaults: dict[str, FieldInfo] = {}
        self._own_defaults: dict[str, Any] = {}
        fields: dict[str, Any] = {}
        shown: dict[str, Any] = {}
        hints = _hints(name, function, scope)
        for parameter in _signature(name, function):
            each = parameter.name
            if parameter.kind is parameter.POSITIONAL_ONLY:
                self._positional.append(each)
                if parameter.default is not parameter.empty:
                    self._own_defaults[each] = parameter.default
            if each not in hints:
                raise ToolDefinitionError(f"the tool {name} cannot be made: the parameter {each} has no annotation")
            annotation = hints[each]
            if _is_context(annotation):
                self._contexts.append((each, annotation is not RunContext and parameter.default is None))
                continue
            field = _field(annotation, parameter.default)
            if field is not None:
                if isinstance(parameter.default, FieldInfo):
                    annotation = typing.Annotated[annotation, field]
                if not field.is_required():
                    self._defaults[each] = field
            given = parameter.default is not parameter.empty and not isinstance(parameter.default, FieldInfo)
            optional = given or each in self._defaults
            kind = typing_extensions.NotRequired if optional else typing_extensions.Required
            fields[each] = kind[_mirrored(name, each, annotation)]
            if given:
                shown[each] = parameter.default
            elif each in self._defaults and field is not None and field.default is not PydanticUndefined:
                shown[each] = field.default
        self.schema: dict[str, Any] | None = None
        self._adapter: TypeAdapter[Any] | None = None
        if fields:
            make: Any = typing_extensions.TypedDict
            arguments = make(name, fields)
            self.schema = _schema(name, arguments, shown)
            self._adapter = TypeAdapter(arguments)

    def decode(self, call: ToolCall) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of the function: by position, and by name.

        Raises:
            InvalidArgumentsError: when those of the call do not fit.
        """
        named = self._given(call)
        for each, field in self._defaults.items():
            if each not in named:
                named[each] = field.get_default(call_default_factory=True, validated_data={})
        for each, may_miss in self._contexts:
            context = current_context()
            named[each] = context if context is not None or may_miss else RunContext(RunMetadata(""), call)
        positional = [named.pop(each) if each in named else self._own_defaults[each] for each in self._positional]
        return positional, named

    def _given(self, call: ToolCall) -> dict[str, Any]:
        if undecodable_arguments(call) is not None:
            raise InvalidArgumentsError(_NO_OBJECT)
        if self._adapter is None:
            return {}
        text = call.args if call.args.strip() else "{}"
        try:
            given: dict[str, Any] = self._adapter.validate_json(text)
        except ValidationError as fault:
            raise InvalidArgumentsError(_faults(fault, text)) from None
        except UnicodeEncodeError:
            raise InvalidArgumentsError(_NO_OBJECT) from None
        return given


def _target(function: Any) -> Any:
    """What carries the annotations and the docstring: partial functions and callable objects have none."""
    while isinstance(function, functools.partial):
        function = function.func
    if not inspect.isroutine(function) and not isinstance(function, type):
        return type(function).__call__
    return function


def _is_async(function: Any) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(_target(function))


def _tool_name(function: Any, given: str | None) -> str:
    name = getattr(function, "__name__", "") if given is None else given
    if not name or name == "<lambda>":
        raise ToolDefinitionError("a tool has a name; give one as `name`")
    return str(name)


def _signature(name: str, function: Any) -> list[inspect.Parameter]:
    target = _target(function)
    if inspect.isgeneratorfunction(target) or inspect.isasyncgenfunction(target):
        raise ToolDefinitionError(
            f"the tool {name} cannot be made: a generator gives no result; show progress with `report_progress`"
        )
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        raise ToolDefinitionError(f"the tool {name} cannot be made: the parameters are not known") from None
    bound: set[str] = set()
    while isinstance(function, functools.partial):
        bound |= function.keywords.keys()
        function = function.func
    parameters = [each for each in signature.parameters.values() if each.name not in bound]
    for each in parameters:
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            stars = "*" if each.kind is each.VAR_POSITIONAL else "**"
            raise ToolDefinitionError(
                f"the tool {name} cannot be made: {stars}{each.name} takes any arguments; name the parameters instead"
            )
    return parameters


def _hints(name: str, function: Any, scope: Mapping[str, Any]) -> dict[str, Any]:
    """The annotations. Those of a function inside of another one may name what is local there, which ``scope`` has."""
    plain = inspect.unwrap(_target(function))
    local = dict(scope) if "<locals>" in getattr(plain, "__qualname__", "") else None
    try:
        return typing.get_type_hints(plain, None, local, include_extras=True)
    except NameError as fault:
        raise ToolDefinitionError(
            f"the tool {name} cannot be made: the annotations name `{fault.name}`, which does not exist at run time"
        ) from None
    except TypeError:
        raise ToolDefinitionError(f"the tool {name} cannot be made: the annotations cannot be read") from None


def _is_context(annotation: Any) -> bool:
    if getattr(annotation, "__metadata__", None) is not None:
        annotation = typing.get_args(annotation)[0]
    if is_union(typing.get_origin(annotation)):
        return any(each is RunContext for each in typing.get_args(annotation))
    return annotation is RunContext


def _field(annotation: Any, default: Any) -> FieldInfo | None:
    """The pydantic field of a parameter: given as its default, or in ``Annotated``."""
    if isinstance(default, FieldInfo):
        return default
    for each in getattr(annotation, "__metadata__", ()):
        if isinstance(each, FieldInfo) and default is inspect.Parameter.empty:
            return each
    return None


def _mirrored(name: str, parameter: str, annotation: Any) -> Any:
    try:
        return _Mirror().of(annotation)
    except TypeError as fault:
        raise ToolDefinitionError(f"the tool {name} cannot be made: the parameter {parameter}: {fault}") from None


def _schema(name: str, arguments: Any, defaults: Mapping[str, Any]) -> dict[str, Any]:
    try:
        schema = schema_for(arguments)
    except SchemaTypeError as fault:
        raise ToolDefinitionError(f"the tool {name} cannot be made: {_culprit(arguments) or fault}") from fault
    properties = dict(schema.get("properties", {}))
    for each, default in defaults.items():
        try:
            shown = to_jsonable_python(default, inf_nan_mode="strings")
        except ValueError:
            continue  # a default without a JSON form is the function's own affair
        properties[each] = {**properties[each], "default": shown}
    return {**schema, "properties": properties}


def _culprit(arguments: Any) -> str | None:
    """The first parameter that has no schema, and why; None where each has one by itself."""
    for each, qualified in arguments.__annotations__.items():
        try:
            schema_for(typing.get_args(qualified)[0])  # inside of Required or NotRequired
        except SchemaTypeError as fault:
            return f"the parameter {each}: {fault}"
    return None


# -- saying what is wrong --------------------------------------------------------------------------------------------


def _faults(fault: ValidationError, text: str) -> str:
    """What does not fit, each with its path, without the values: one fault for every argument, the deepest."""
    errors: list[Any] = list(fault.errors(include_url=False, include_context=False, include_input=False))
    if any(not each["loc"] for each in errors):
        return _NO_OBJECT
    import json

    opened = json.loads(text)
    best: dict[object, tuple[list[str | int], str]] = {}
    for each in errors:
        path = _path(each["loc"], opened, missing=each["type"] == "missing")
        known = best.get(each["loc"][0])
        if known is None or len(path) > len(known[0]):
            best[each["loc"][0]] = (path, _told(each))
    told = [f"{_shown(path)}: {message}" for path, message in list(best.values())[:_MOST_FAULTS]]
    if len(best) > _MOST_FAULTS:
        told.append(f"and {len(best) - _MOST_FAULTS} more")
    return "; ".join(told)


def _told(error: Any) -> str:
    """The message of a fault. What a validator of the tool's own says is meant for the model, so it is kept."""
    if error["type"] == "missing":
        return "this argument is missing" if len(error["loc"]) == 1 else "this member is missing"
    if error["type"] in ("value_error", "assertion_error"):
        return str(error["msg"]).partition(", ")[2]
    return _message(error)


def _shown(path: list[str | int]) -> str:
    shown = ""
    for step in path:
        shown += f"[{step}]" if isinstance(step, int) else f".{step}" if shown else step
    return shown or "$"
