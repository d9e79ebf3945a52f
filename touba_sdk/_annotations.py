"""Reading annotations: what stands behind aliases, qualifiers and variables, and what kind of type it is.

Imports `typing` only where it is asked something, because handlers without annotations never need it.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class AnnotationUnsupported(TypeError):
    """An annotation into which no wire value can be read; the message says which part, and what to write instead."""


def hints(cls: Any) -> dict[str, Any]:
    """The annotations of a class, evaluated, with what `Annotated` adds to them.

    Raises:
        AnnotationUnsupported: where one names something that does not exist.
    """
    import typing

    try:
        return typing.get_type_hints(cls, include_extras=True)
    except NameError as fault:
        raise AnnotationUnsupported(
            f"the annotations of {cls.__name__} name `{fault.name}`, which does not exist at run time"
        ) from None


def resolve(annotation: Any, scope: dict[Any, Any]) -> Any:
    """An annotation without what the wire does not show: qualifiers, `Annotated`, `NewType`, aliases, variables."""
    import typing

    while True:
        if is_variable(annotation):
            bound = annotation.__bound__ if annotation.__bound__ is not None else typing.Any
            annotation = scope.get(annotation, bound)
        elif hasattr(annotation, "__supertype__"):
            annotation = annotation.__supertype__
        elif is_alias(typing.get_origin(annotation)):
            annotation = _alias_value(annotation.__origin__)[typing.get_args(annotation)]
        elif is_alias(annotation):
            annotation = _alias_value(annotation)
        elif getattr(typing.get_origin(annotation), "__name__", None) == "Annotated" or is_qualifier(annotation):
            annotation = typing.get_args(annotation)[0]
        else:
            return annotation


def _alias_value(alias: Any) -> Any:
    """What an alias stands for. Where it was given as text, that is read in the alias's module."""
    value = alias.__value__
    if not isinstance(value, str):
        return value
    try:
        return eval(value, vars(sys.modules[alias.__module__]))
    except NameError as fault:
        raise AnnotationUnsupported(
            f"the alias {alias.__name__} names `{fault.name}`, which does not exist at run time"
        ) from None


def is_qualifier(annotation: Any) -> bool:
    """Whether an annotation says something of the field, and not of its values: `Required` and its like."""
    import typing

    name = getattr(typing.get_origin(annotation), "__name__", None) or getattr(
        typing.get_origin(annotation), "_name", None
    )
    return name in ("Required", "NotRequired", "ReadOnly", "Final", "ClassVar")


def is_alias(annotation: Any) -> bool:
    """Whether it was made by a `type` statement."""
    return type(annotation).__name__ == "TypeAliasType"


def is_variable(annotation: Any) -> bool:
    """Whether it is a `TypeVar`."""
    return type(annotation).__name__ == "TypeVar"


def is_union(origin: Any) -> bool:
    """Whether an origin is that of ``A | B``, in either of its spellings."""
    import types
    import typing

    return origin is typing.Union or origin is types.UnionType


def is_typed_dict(cls: Any) -> bool:
    """Whether a class is a `TypedDict`, also one of typing_extensions."""
    return isinstance(cls, type) and issubclass(cls, dict) and hasattr(cls, "__required_keys__")


def literals(annotation: Any) -> tuple[str, ...]:
    """The texts of a `Literal`, which name variants; none of any other annotation."""
    import typing

    bare = resolve(annotation, {})
    if typing.get_origin(bare) is not typing.Literal:
        return ()
    return tuple(part for part in typing.get_args(bare) if isinstance(part, str))
