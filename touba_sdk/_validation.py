"""Pydantic behind the walk of `_wire.py`: the adapter of an annotation, and what did not fit, without any value."""

from __future__ import annotations

import sys
import typing
from typing import Any

import typing_extensions
from pydantic import AfterValidator, PydanticUndefinedAnnotation, PydanticUserError, TypeAdapter, ValidationError
from pydantic_core import core_schema, to_json

from ._annotations import AnnotationUnsupported, hints, is_qualifier, is_typed_dict, is_union, resolve

#: the field whose `Literal` says which variant of a choice a record is
TAG = "choice"


class Validator:
    """Validates plain JSON values strictly, as pydantic does with JSON text.

    Raises:
        AnnotationUnsupported: where pydantic cannot make anything of the annotation.
    """

    def __init__(self, annotation: Any):
        if isinstance(annotation, str):
            raise AnnotationUnsupported("a text names no type; give the type itself")
        try:
            self._adapter: TypeAdapter[Any] = TypeAdapter(_Mirror().of(annotation))
        except PydanticUndefinedAnnotation as fault:
            raise AnnotationUnsupported(f"it names `{fault.name}`, which does not exist at run time") from None
        except (PydanticUserError, TypeError) as fault:
            reason = str(getattr(fault, "message", fault)).partition("\n")[0].partition(". ")[0]
            raise AnnotationUnsupported(f"{_name(annotation)} cannot be read: {reason}") from None

    def read(self, wire: Any) -> Any:
        """The value. Raises Unfit."""
        try:
            return self._adapter.validate_json(to_json(wire), strict=True)
        except ValidationError as fault:
            raise _unfit(fault, wire) from None
        except Exception as fault:
            # A validator of the type failed in a way of its own. Its text may hold the value.
            raise Unfit([], f"a validator of the type raised {type(fault).__name__}") from None


class Unfit(Exception):
    """A value that does not fit: the steps of the path, and why."""

    def __init__(self, steps: list[str | int], message: str):
        super().__init__(steps, message)
        self.steps = steps
        self.message = message


def _name(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


class _Mirror:
    """Puts the `TypedDict` of typing_extensions in the place of the standard one, which pydantic refuses before 3.12.

    A dataclass around one is read as the same fields and then made by its own constructor.
    """

    def __init__(self) -> None:
        self._open: list[Any] = []

    def of(self, annotation: Any) -> Any:
        if sys.version_info >= (3, 12) or not self._needed(annotation, set()):
            return annotation
        return self._mirror(annotation)

    def _needed(self, annotation: Any, seen: set[Any]) -> bool:
        bare = resolve(annotation, {})
        origin = typing.get_origin(bare) or bare
        if _is_standard_typed_dict(origin):
            return True
        if any(
            self._needed(part, seen) for part in typing.get_args(bare) if part is not Ellipsis and not _is_data(part)
        ):
            return True
        if not isinstance(origin, type) or origin in seen:
            return False
        seen.add(origin)
        if _is_plain_dataclass(origin) or is_typed_dict(origin):
            return any(self._needed(part, seen) for part in hints(origin).values())
        return False

    def _mirror(self, annotation: Any) -> Any:
        metadata = getattr(annotation, "__metadata__", None)
        if metadata is not None:
            return typing.Annotated[(self.of(typing.get_args(annotation)[0]), *metadata)]
        bare = resolve(annotation, {})
        origin, arguments = typing.get_origin(bare), typing.get_args(bare)
        if is_typed_dict(bare) or _is_plain_dataclass(bare):
            return self._mirror_record(bare)
        parts = tuple(part if part is Ellipsis or _is_data(part) else self.of(part) for part in arguments)
        if is_union(origin):
            return typing.Union[parts]  # noqa: UP007 - the members are known at run time only
        if origin is None or not isinstance(origin, type):
            return annotation
        if is_typed_dict(origin) or _is_plain_dataclass(origin):
            raise AnnotationUnsupported(
                f"{origin.__name__} is generic and holds a standard TypedDict; use that of typing_extensions"
            )
        return origin[parts]  # type: ignore[index]

    def _mirror_record(self, cls: Any) -> Any:
        if cls in self._open:
            raise AnnotationUnsupported(
                f"{cls.__name__} holds itself and a standard TypedDict; use that of typing_extensions"
            )
        self._open.append(cls)
        fields: dict[str, Any] = {}
        for name, annotation in hints(cls).items():
            if not is_typed_dict(cls) and name not in cls.__dataclass_fields__:
                continue
            # Qualifiers stand outermost, so the part below them is what is mirrored.
            inner = typing.get_args(annotation)[0] if is_qualifier(annotation) else annotation
            field = self.of(inner)
            fields[name] = field if _is_required(cls, name, annotation) else typing_extensions.NotRequired[field]
        self._open.pop()
        make: Any = typing_extensions.TypedDict
        mirror = make(cls.__name__, fields)
        if is_typed_dict(cls):
            return mirror
        return typing.Annotated[mirror, AfterValidator(lambda found: cls(**found))]


def _is_standard_typed_dict(cls: Any) -> bool:
    return is_typed_dict(cls) and type(cls).__module__ == "typing"


def _is_plain_dataclass(cls: Any) -> bool:
    return isinstance(cls, type) and "__dataclass_fields__" in vars(cls) and not hasattr(cls, "__pydantic_fields__")


def _is_data(part: Any) -> bool:
    """Whether an argument of a generic is no type: the words of a `Literal`."""
    return isinstance(part, (str, int, bytes))


def _is_required(cls: Any, name: str, annotation: Any) -> bool:
    if not is_typed_dict(cls):
        field = cls.__dataclass_fields__[name]
        missing = sys.modules["dataclasses"].MISSING
        return field.default is missing and field.default_factory is missing
    # Annotations that were texts hid their qualifiers when the class counted its required keys.
    qualifier = getattr(typing.get_origin(annotation), "_name", None)
    if qualifier in ("Required", "NotRequired"):
        return bool(qualifier == "Required")
    return name in cls.__required_keys__


# What did not fit

#: kinds of pydantic's errors whose text repeats a part of the value, or is the user's own
_PRIVATE = (
    "value_error",
    "assertion_error",
    "union_tag_invalid",
    "uuid_parsing",
    "url_parsing",
    "url_syntax_violation",
)


def _unfit(fault: ValidationError, opened: Any) -> Unfit:
    """The first fault that lies deepest, as path and message; in a union that is the member that fits best."""
    errors = fault.errors(include_url=False, include_context=False, include_input=False)
    paths = [_path(error["loc"], opened, missing=error["type"] == "missing") for error in errors]

    def fits(number: int) -> tuple[int, bool]:
        # Of a union, the members whose tag is another one are not meant.
        return len(paths[number]), paths[number][-1:] != [TAG]

    best = max(range(len(errors)), key=fits)
    return Unfit(paths[best], _message(errors[best]))


def _path(loc: tuple[str | int, ...], opened: Any, *, missing: bool) -> list[str | int]:
    """The steps of a location that are steps in the value: pydantic also names members of unions and the like."""
    steps: list[str | int] = []
    for number, part in enumerate(loc):
        inside = (isinstance(opened, dict) and part in opened) or (
            isinstance(opened, list) and isinstance(part, int) and part < len(opened)
        )
        if inside:
            steps.append(part)
            opened = opened[part]
        elif missing and number == len(loc) - 1:
            steps.append(part)
    return steps


def _message(error: Any) -> str:
    kind = error["type"]
    if kind == "missing":
        return "the field is missing"
    if kind in _PRIVATE or kind not in typing.get_args(core_schema.ErrorType):
        return f"the type refuses it ({kind})"
    text = str(error["msg"])
    return text.replace("Input should be", "expected", 1) if text.startswith("Input should be") else text
