"""Wire values → Python values, by an annotation: for `result_type` of the engines and for annotated handlers.

One walk over the annotation says what has to be opened: ``X | None`` opens ``{"present": …}``, a union of records with
a field ``choice: Literal["Paid"]`` opens ``"Cash"`` and ``{"choice": "Paid", …}``. What is opened is plain JSON, which
pydantic then validates strictly: text becomes `Decimal`, `date`, `datetime`, `timedelta`, `UUID` or a member of an
`Enum` where that is asked for, and nothing is converted otherwise (the text ``"12"`` is no `int`).

Records are dataclasses, pydantic models and `TypedDict`, the standard one on every version of Python.

Handlers load this module only where they are annotated, and pydantic is loaded only where an annotation goes beyond
`str`, `int`, `float`, `bool`, `None`, `Any`, `list` and `dict`.
"""

from __future__ import annotations

import sys

from ._annotations import AnnotationUnsupported, hints, is_typed_dict, is_union, is_variable, literals, resolve
from ._encode import Misplaced, show_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TypeAlias

    from ._validation import Validator

    #: opens the wire form of one annotation
    Open: TypeAlias = Callable[[Any], Any]

#: the field whose `Literal` says which variant of a choice a record is, as on the wire
TAG = "choice"


class WireMismatch(Misplaced):
    """A part of a value does not fit an annotation."""


class Reader:
    """Reads wire values into what one annotation says.

    Parameters:
        annotation: a type: `Decimal`, `list[Line]`, `Receipt | None` and so on.

    Raises:
        AnnotationUnsupported: where there is no way to read it.

    >>> Reader(dict[str, int]).read({"a": 1})
    {'a': 1}
    """

    __slots__ = ("_open", "_plain", "_validator")

    def __init__(self, annotation: Any):
        self._plain = _plain(annotation)
        self._open: Open | None = None
        self._validator: Validator | None = None
        if self._plain is None:
            from ._validation import Validator

            self._open = _Walk().open(annotation)
            self._validator = Validator(annotation)

    def read(self, wire: Any) -> Any:
        """The value.

        Raises:
            WireMismatch: with the path of the part that does not fit.
        """
        if self._plain is not None:
            return self._plain(wire, ())
        from ._validation import Unfit

        assert self._validator is not None
        try:
            return self._validator.read(wire if self._open is None else self._open(wire))
        except Unfit as fault:
            raise WireMismatch(show_path(fault.steps), fault.message) from None


# Annotations that need neither typing nor pydantic

#: the class of `list[int]`
_GENERIC: Any = type(list[int])


def _plain(annotation: Any) -> Callable[[Any, tuple[str | int, ...]], Any] | None:
    """Reads what is the same on the wire and in Python; None where the annotation is more than that."""
    typing = sys.modules.get("typing")
    if annotation is object or (typing is not None and annotation is typing.Any):
        return lambda wire, path: wire
    if annotation is None or annotation is type(None):
        return _kind(type(None), "null")
    kinds = {str: "a text", bool: "true or false", dict: "an object", list: "a list"}
    if type(annotation) is type and annotation in kinds:
        return _kind(annotation, kinds[annotation])
    if annotation is int:
        return _integer
    if annotation is float:
        return _number
    if type(annotation) is not _GENERIC:
        return None
    origin, arguments = annotation.__origin__, annotation.__args__
    if origin is list:
        each = _plain(arguments[0])
        return None if each is None else _list_of(each)
    if origin is dict and arguments[0] is str:
        each = _plain(arguments[1])
        return None if each is None else _dict_of(each)
    return None


def _kind(kind: type, expected: str) -> Callable[[Any, tuple[str | int, ...]], Any]:
    def read(wire: Any, path: tuple[str | int, ...]) -> Any:
        if type(wire) is not kind:
            raise WireMismatch(show_path(path), f"expected {expected}")
        return wire

    return read


def _integer(wire: Any, path: tuple[str | int, ...]) -> int:
    if type(wire) is not int:
        raise WireMismatch(show_path(path), "expected a whole number")
    return wire


def _number(wire: Any, path: tuple[str | int, ...]) -> float:
    if type(wire) is not int and type(wire) is not float:
        raise WireMismatch(show_path(path), "expected a number")
    return float(wire)


def _list_of(each: Any) -> Callable[[Any, tuple[str | int, ...]], Any]:
    def read(wire: Any, path: tuple[str | int, ...]) -> Any:
        if type(wire) is not list:
            raise WireMismatch(show_path(path), "expected a list")
        return [each(item, (*path, position)) for position, item in enumerate(wire)]

    return read


def _dict_of(each: Any) -> Callable[[Any, tuple[str | int, ...]], Any]:
    def read(wire: Any, path: tuple[str | int, ...]) -> Any:
        if type(wire) is not dict:
            raise WireMismatch(show_path(path), "expected an object")
        return {key: each(item, (*path, key)) for key, item in wire.items()}

    return read


# What has to be opened


class _Walk:
    """One walk over an annotation. `open` gives the function that opens its wire form, None where nothing is to open.

    Every such function leaves alone what is of another kind: pydantic says what is wrong with it.
    """

    def __init__(self) -> None:
        #: record → its opening, also while that is still being made: records may hold themselves
        self._records: dict[Any, _RecordOpening] = {}

    def open(self, annotation: Any, scope: dict[Any, Any] | None = None) -> Open | None:
        import typing

        scope = scope or {}
        annotation = resolve(annotation, scope)
        origin = typing.get_origin(annotation)
        if is_union(origin):
            return self._open_union(typing.get_args(annotation), scope)
        arguments = typing.get_args(annotation)
        record = _Record.of(annotation, origin, arguments, scope)
        if record is not None:
            return self._open_record(annotation, record)
        if origin is None or origin is typing.Literal or not isinstance(origin, type):
            return None
        from collections.abc import Iterable, Mapping

        if issubclass(origin, Mapping):
            each = self.open(arguments[1], scope) if len(arguments) == 2 else None
            return None if each is None else _dict_opening(each)
        if issubclass(origin, tuple) and not (len(arguments) == 2 and arguments[1] is Ellipsis):
            every = [self.open(part, scope) for part in arguments]
            return _tuple_opening(every) if any(every) else None
        if issubclass(origin, Iterable) and arguments:
            each = self.open(arguments[0], scope)
            return None if each is None else _list_opening(each)
        return None

    def _open_union(self, arguments: tuple[Any, ...], scope: dict[Any, Any]) -> Open | None:
        members = [part for part in arguments if part is not type(None)]
        inner = self._open_members(members, scope)
        return inner if len(members) == len(arguments) else _optional_opening(inner)

    def _open_members(self, members: list[Any], scope: dict[Any, Any]) -> Open | None:
        if len(members) == 1:
            return self.open(members[0], scope)
        variants: dict[str, Open | None] = {}
        others: dict[str, Open] = {}
        for member in members:
            opening = self.open(member, scope)
            if isinstance(opening, _RecordOpening) and opening.tags:
                variants.update(dict.fromkeys(opening.tags, opening))
            elif opening is not None:
                kind = getattr(opening, "kind", "object")
                if kind in others:
                    raise AnnotationUnsupported(
                        "two members of a union look alike on the wire; give each of them a field "
                        f'`{TAG}: Literal["…"]` with the name of its variant'
                    )
                others[kind] = opening
        return _union_opening(variants, list(others.values())) if variants or others else None

    def _open_record(self, key: Any, record: _Record) -> Open | None:
        found = self._records.get(key)
        if found is not None:
            found.wanted = True  # it holds itself
            return found
        opening = self._records[key] = _RecordOpening()
        for name, annotation in record.fields():
            if name == TAG:
                opening.tags = literals(annotation)
            part = self.open(annotation, record.scope)
            if part is not None:
                opening.fields[name] = part
        if record.is_root:
            return opening.fields.get("")
        if opening.fields or opening.tags or opening.wanted:
            return opening
        return None


class _RecordOpening:
    """Opens the fields of a record. ``tags`` are the variants of a choice that it stands for."""

    kind = "object"

    def __init__(self) -> None:
        self.fields: dict[str, Open] = {}
        self.tags: tuple[str, ...] = ()
        self.wanted = False

    def __call__(self, wire: Any) -> Any:
        if type(wire) is str and wire in self.tags:
            return {TAG: wire}
        if type(wire) is not dict:
            return wire
        fields = self.fields
        return {name: fields[name](part) if name in fields else part for name, part in wire.items()}


def _optional_opening(inner: Open | None) -> Open:
    def open_optional(wire: Any) -> Any:
        if type(wire) is dict and "present" in wire and TAG not in wire:
            if wire["present"] is False and len(wire) == 1:
                return None
            if wire["present"] is True and len(wire) == 2 and "value" in wire:
                wire = wire["value"]
        return wire if inner is None or wire is None else inner(wire)

    return open_optional


def _union_opening(variants: dict[str, Open | None], others: list[Open]) -> Open:
    def open_union(wire: Any) -> Any:
        name = wire.get(TAG) if type(wire) is dict else wire
        if type(name) is str and name in variants:
            variant = variants[name]
            return wire if variant is None else variant(wire)
        for opening in others:
            wire = opening(wire)
        return wire

    return open_union


def _list_opening(each: Open) -> Open:
    def open_list(wire: Any) -> Any:
        return [each(part) for part in wire] if type(wire) is list else wire

    open_list.kind = "list"  # type: ignore[attr-defined]
    return open_list


def _tuple_opening(every: list[Open | None]) -> Open:
    def open_tuple(wire: Any) -> Any:
        if type(wire) is not list or len(wire) != len(every):
            return wire
        return [part if each is None else each(part) for part, each in zip(wire, every, strict=True)]

    open_tuple.kind = "list"  # type: ignore[attr-defined]
    return open_tuple


def _dict_opening(each: Open) -> Open:
    def open_dict(wire: Any) -> Any:
        return {name: each(part) for name, part in wire.items()} if type(wire) is dict else wire

    return open_dict


class _Record:
    """What the three kinds of records have in common: fields by their name on the wire, and their annotations."""

    def __init__(self, cls: Any, scope: dict[Any, Any]):
        self.cls = cls
        self.scope = scope
        #: a model whose whole value is one other value
        self.is_root = bool(getattr(cls, "__pydantic_root_model__", False))

    @classmethod
    def of(cls, annotation: Any, origin: Any, arguments: tuple[Any, ...], scope: dict[Any, Any]) -> _Record | None:
        """The record that an annotation names; None where it names something else."""
        target = origin if origin is not None else annotation
        if not isinstance(target, type):
            return None
        if not (hasattr(target, "model_fields") or hasattr(target, "__dataclass_fields__") or is_typed_dict(target)):
            return None
        parameters = getattr(target, "__parameters__", ())
        values = [scope.get(part, part) if is_variable(part) else part for part in arguments]
        return cls(target, dict(zip(parameters, values, strict=False)))

    def fields(self) -> Iterator[tuple[str, Any]]:
        """Name on the wire and annotation of each field."""
        if hasattr(self.cls, "model_fields"):
            for name, field in self.cls.model_fields.items():
                if self.is_root:
                    yield "", field.annotation
                    continue
                for key in _aliases(name, field, self.cls.model_config):
                    yield key, field.annotation
            return
        for name, annotation in hints(self.cls).items():
            if not is_typed_dict(self.cls) and name not in self.cls.__dataclass_fields__:
                continue
            for key in _annotated_aliases(name, annotation):
                yield key, annotation


def _aliases(name: str, field: Any, config: Any) -> list[str]:
    alias = field.validation_alias if field.validation_alias is not None else field.alias
    if alias is None:
        return [name]
    choices = getattr(alias, "choices", [alias])
    found = [each for each in choices if isinstance(each, str)]
    if config.get("populate_by_name") or config.get("validate_by_name"):
        found.append(name)
    return found


def _annotated_aliases(name: str, annotation: Any) -> list[str]:
    """The names of a field of a dataclass or `TypedDict`, whose alias may stand in `Annotated`."""
    for each in getattr(annotation, "__metadata__", ()):
        if getattr(each, "validation_alias", None) is not None or getattr(each, "alias", None) is not None:
            return _aliases(name, each, {})
    return [name]
