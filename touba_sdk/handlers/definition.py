"""What a handler says about its tool, checked when it is said."""

from __future__ import annotations

from .errors import DefinitionInvalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from .._wire import Reader
    from .context import HandlerContext

#: what a manifest can grant
GRANTS = ("network", "filesystem.read", "filesystem.write", "process", "environment")

#: types without a module
BUILT_IN_TYPES = frozenset(
    ("Text", "Int", "Decimal", "Float", "Bool", "Date", "DateTime", "Duration", "Json", "Nothing")
)
_GENERIC_TYPES = frozenset(("List", "Map", "Optional"))

_SMALL = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_")
#: the flag of a function's code that takes `*` parameters
_VARARGS = 0x04

_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")


class Unspecified:
    """The class of `UNSPECIFIED`: an output type that was not named is not checked."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNSPECIFIED"


UNSPECIFIED = Unspecified()


class ToolDefinition:
    """One tool as its handler knows it."""

    #: where the names of the inputs are written, for messages
    inputs_stand_in = "`input_signature`"

    __slots__ = ("inputs", "output_type", "request_reader", "required_grants", "required_secrets", "run", "tool_ref")

    def __init__(
        self,
        tool_ref: str,
        run: Callable[..., Any],
        input_signature: Iterable[Mapping[str, Any]] | None,
        output_type: Any,
        required_grants: Iterable[str],
        required_secrets: Iterable[str],
    ):
        self.tool_ref = _check_tool_ref(tool_ref)
        if not callable(run):
            raise DefinitionInvalid(f"run is a function of request and context, not {type(run).__name__}")
        self.run = run
        #: name and reader of an annotated request; None where `run` takes the wire form
        self.request_reader: tuple[str, Reader] | None = None
        #: names of the inputs, or None where no signature was given
        self.inputs = None if input_signature is None else _check_signature(input_signature)
        if output_type is not UNSPECIFIED and output_type is not None:
            check_type(output_type, "output_type")
        self.output_type = output_type
        self.required_grants = _check_names(required_grants, "required_grants")
        for grant in self.required_grants:
            if grant not in GRANTS:
                raise DefinitionInvalid(
                    f"required_grants: there is no grant `{_cut(grant)}`; there are {', '.join(GRANTS)}"
                )
        self.required_secrets = _check_names(required_secrets, "required_secrets")
        for handle in self.required_secrets:
            if not is_name(handle):
                raise DefinitionInvalid(f"required_secrets: `{_cut(handle)}` is no name of a secret handle")

    def compile(self) -> None:
        """Prepare what the first call needs. Raises DefinitionInvalid."""
        _check_parameters(self.run)
        if _is_annotated(self.run) and self.request_reader is None:
            from .annotated import request_reader

            self.request_reader = request_reader(self.run)

    def bind(self, arguments: dict[str, Any]) -> Callable[[HandlerContext], Any]:
        """The call of the function for these arguments: its request is the only input, or the object of all.

        Raises:
            InputUnfit: where the request does not fit the annotation that it has.
        """
        request = arguments[self.inputs[0]] if self.inputs is not None and len(self.inputs) == 1 else arguments
        if self.request_reader is not None:
            from .annotated import read_request

            request = read_request(self.request_reader, request)
        return lambda context: self.run(request, context)


def _is_annotated(function: object) -> bool:
    try:
        return bool(getattr(function, "__annotations__", None))
    except NameError:
        return False  # from Python 3.14 on they are evaluated here, and some exist for type checkers only


def _check_parameters(run: Any) -> None:
    """Refuse a function that cannot be called with a request and a context. Only plain ones are looked at."""
    function = getattr(run, "__func__", run)
    code = getattr(function, "__code__", None)
    if code is None:
        return
    takes = code.co_argcount - (1 if hasattr(run, "__self__") else 0)
    must = takes - len(getattr(function, "__defaults__", None) or ())
    named = code.co_kwonlyargcount - len(getattr(function, "__kwdefaults__", None) or ())
    if (takes < 2 and not code.co_flags & _VARARGS) or must > 2 or named > 0:
        raise DefinitionInvalid("run is called with the request and the context: write `def run(request, context)`")


def is_name(text: object) -> bool:
    """Whether this is a name as programs write it: small letters, digits, `_`, beginning with a letter."""
    return isinstance(text, str) and bool(text) and "a" <= text[0] <= "z" and _SMALL.issuperset(text)


def is_qualified(text: str) -> bool:
    """Whether this is `module.name/Name`."""
    module, slash, name = text.partition("/")
    return (
        slash == "/"
        and all(is_name(word) for word in module.split("."))
        and bool(name)
        and "A" <= name[0] <= "Z"
        and _LETTERS.issuperset(name)
    )


def _check_tool_ref(tool_ref: object) -> str:
    if isinstance(tool_ref, str) and tool_ref.startswith("tool:") and is_qualified(tool_ref[5:]):
        return tool_ref
    raise DefinitionInvalid(
        "tool_ref is written `tool:module.name/ToolName`, for example `tool:billing/PayInvoice`, "
        f"not {_given(tool_ref)}"
    )


def check_type(form: object, what: str) -> None:
    """Refuse what is no type: `Text`, `type:module/Name`, `List of T`, `["List", T]` and so on."""
    if isinstance(form, str):
        words = form.split(" ")
        while len(words) > 1 and words[0] in _GENERIC_TYPES:
            generic = words.pop(0)
            if generic != "Optional" and words.pop(0) != "of":
                words = [""]
        text = words[0] if len(words) == 1 else ""
        if text in BUILT_IN_TYPES or (text.startswith("type:") and is_qualified(text[5:])):
            return
    elif isinstance(form, (list, tuple)) and len(form) == 2 and form[0] in _GENERIC_TYPES:
        check_type(form[1], what)
        return
    raise DefinitionInvalid(
        f"{what} is a built-in type such as `Text`, a reference such as `type:billing/Invoice`, or one of them after "
        f"`List of`, `Map of` or `Optional`, not {_given(form)}"
    )


def _check_signature(signature: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    if isinstance(signature, (str, bytes)) or hasattr(signature, "keys"):
        raise DefinitionInvalid('input_signature is a list of {"name": …, "type_ref": …}')
    names: list[str] = []
    for position, entry in enumerate(signature):
        what = f"input_signature[{position}]"
        if not hasattr(entry, "keys"):
            raise DefinitionInvalid(f'{what} is not {{"name": …, "type_ref": …}}')
        for key in entry.keys():  # noqa: SIM118 - a mapping need not be iterable
            if key not in ("name", "type_ref"):
                raise DefinitionInvalid(f"{what} has the member `{_cut(key)}`; it has `name` and `type_ref`")
        for key in ("name", "type_ref"):
            if key not in entry:
                raise DefinitionInvalid(f"{what} lacks `{key}`")
        name = entry["name"]
        if not is_name(name):
            raise DefinitionInvalid(f"{what}.name is no name of an input")
        if name in names:
            raise DefinitionInvalid(f"input_signature names `{name}` twice")
        check_type(entry["type_ref"], f"{what}.type_ref")
        names.append(name)
    return tuple(names)


def _check_names(names: Iterable[str], what: str) -> tuple[str, ...]:
    if isinstance(names, (str, bytes)):
        raise DefinitionInvalid(f"{what} is a list of names, not one text")
    found = tuple(names)
    for name in found:
        if not isinstance(name, str):
            raise DefinitionInvalid(f"{what} holds {type(name).__name__}; names are texts")
        if found.count(name) > 1:
            raise DefinitionInvalid(f"{what} names `{_cut(name)}` twice")
    return found


def _given(value: object) -> str:
    return f"`{_cut(value)}`" if isinstance(value, str) else type(value).__name__


def _cut(text: object) -> str:
    shown = str(text)
    return shown if len(shown) <= 60 else shown[:57] + "..."
