"""Shapes of JSON values: what a value must look like, said once.

A shape is a small object that finds the first fault in a value and can say itself as JSON Schema (2020-12). Faults name
the path (``$.tools["tool:app/Pay"].limits``) and kinds of values, never a value. `documents.py` has every document.
"""

from __future__ import annotations

from .options import nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    Schema: TypeAlias = dict[str, Any]


class Fault(Exception):
    """The first thing in a value that does not fit: ``path`` is JSON path, ``kind`` is ``unknown`` for a member that
    does not exist and ``wrong`` for everything else."""

    def __init__(self, path: str, message: str, kind: str = "wrong"):
        super().__init__(path, message)
        self.path = path
        self.message = message
        self.kind = kind

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


class Shape:
    """What a value must look like. ``check`` raises `Fault`; ``schema`` is the JSON Schema that says the same."""

    __slots__ = ()

    def check(self, value: Any, path: str) -> None:
        """Accepts everything: the shape of a value that the program's types decide about."""

    def schema(self) -> Schema:
        return {}


class Null(Shape):
    """``null``: a member that has its meaning in a later version."""

    __slots__ = ()

    def check(self, value: Any, path: str) -> None:
        if value is not None:
            raise unlike(path, "null", value)

    def schema(self) -> Schema:
        return {"type": "null"}


class Flag(Shape):
    __slots__ = ()

    def check(self, value: Any, path: str) -> None:
        if not isinstance(value, bool):
            raise unlike(path, "true or false", value)

    def schema(self) -> Schema:
        return {"type": "boolean"}


class Num(Shape):
    """A whole number; ``high`` None: within 64 bits."""

    __slots__ = ("high", "low")

    def __init__(self, low: int = 0, high: int | None = None):
        self.low = low
        self.high = 2**63 - 1 if high is None else high

    def check(self, value: Any, path: str) -> None:
        if not isinstance(value, int) or isinstance(value, bool):
            raise unlike(path, "a whole number", value)
        if not self.low <= value <= self.high:
            raise Fault(path, f"the number is not within {self.low} and {self.high}")

    def schema(self) -> Schema:
        return {"type": "integer", "minimum": self.low, "maximum": self.high}


class Txt(Shape):
    """Text of ``least`` to ``most`` code points."""

    __slots__ = ("least", "most")

    def __init__(self, least: int = 0, most: int | None = None):
        self.least = least
        self.most = most

    def check(self, value: Any, path: str) -> None:
        if not isinstance(value, str):
            raise unlike(path, "text", value)
        if len(value) < self.least:
            raise Fault(path, "the text is empty" if self.least == 1 else f"the text is shorter than {self.least}")
        if self.most is not None and len(value) > self.most:
            raise Fault(path, f"the text is longer than {self.most}")

    def schema(self) -> Schema:
        found: Schema = {"type": "string"}
        if self.least:
            found["minLength"] = self.least
        if self.most is not None:
            found["maxLength"] = self.most
        return found


class Spelled(Shape):
    """Text in a spelling of its own: ``test`` decides, ``pattern`` says the same, ``like`` shows it."""

    __slots__ = ("like", "pattern", "test")

    def __init__(self, test: Callable[[str], bool], pattern: str, like: str):
        self.test = test
        self.pattern = pattern
        self.like = like

    def check(self, value: Any, path: str) -> None:
        if not isinstance(value, str):
            raise unlike(path, "text", value)
        if not self.test(value):
            raise Fault(path, f"the text is not spelt like {self.like}")

    def schema(self) -> Schema:
        return {"type": "string", "pattern": self.pattern}


class OneOf(Shape):
    """One of a few words."""

    __slots__ = ("words",)

    def __init__(self, *words: str):
        self.words = words

    def check(self, value: Any, path: str) -> None:
        if not isinstance(value, str):
            raise unlike(path, "text", value)
        if value not in self.words:
            near = nearest(value, self.words) if len(value) <= 60 else None
            known = f"did you mean `{near}`?" if near else "it is " + _alternatives(self.words)
            raise Fault(path, f"the word is not known; {known}")

    def schema(self) -> Schema:
        return {"const": self.words[0]} if len(self.words) == 1 else {"enum": list(self.words)}


class Nullable(Shape):
    __slots__ = ("of",)

    def __init__(self, of: Shape):
        self.of = of

    def check(self, value: Any, path: str) -> None:
        if value is not None:
            self.of.check(value, path)

    def schema(self) -> Schema:
        return {"anyOf": [self.of.schema(), {"type": "null"}]}


class Arr(Shape):
    """An array of ``least`` to ``most`` elements; ``unique``: no text twice."""

    __slots__ = ("least", "most", "of", "unique")

    def __init__(self, of: Shape, least: int = 0, most: int | None = None, unique: bool = False):
        self.of = of
        self.least = least
        self.most = most
        self.unique = unique

    def check(self, value: Any, path: str) -> None:
        if not isinstance(value, list):
            raise unlike(path, "an array", value)
        if len(value) < self.least:
            raise Fault(path, "the array is empty" if self.least == 1 else f"the array has fewer than {self.least}")
        if self.most is not None and len(value) > self.most:
            raise Fault(
                path, f"the array has more than {self.most} elements" if self.most else "the array is not empty"
            )
        for position, each in enumerate(value):
            self.of.check(each, f"{path}[{position}]")
        if self.unique and len(set(value)) != len(value):
            raise Fault(path, "an element stands twice")

    def schema(self) -> Schema:
        found: Schema = {"type": "array", "items": self.of.schema()}
        if self.least:
            found["minItems"] = self.least
        if self.most is not None:
            found["maxItems"] = self.most
        if self.unique:
            found["uniqueItems"] = True
        return found


class MapOf(Shape):
    """An object whose keys are data."""

    __slots__ = ("key", "of")

    def __init__(self, of: Shape, key: Spelled | None = None):
        self.of = of
        self.key = key

    def check(self, value: Any, path: str) -> None:
        if not isinstance(value, dict):
            raise unlike(path, "an object", value)
        for name, each in value.items():
            if self.key is not None and not self.key.test(name):
                raise Fault(f"{path}{_member(name)}", f"the key is not spelt like {self.key.like}")
            self.of.check(each, f"{path}{_member(name)}")

    def schema(self) -> Schema:
        found: Schema = {"type": "object", "additionalProperties": self.of.schema()}
        if self.key is not None:
            found["propertyNames"] = {"pattern": self.key.pattern}
        return found


class Obj(Shape):
    """An object with exactly these members; ``others``: and any besides.

    ``hints`` are slips: a name that people write → the member they mean.
    """

    __slots__ = ("hints", "optional", "others", "required")

    def __init__(
        self,
        required: dict[str, Shape],
        optional: dict[str, Shape] | None = None,
        hints: dict[str, str] | None = None,
        others: bool = False,
    ):
        self.required = required
        self.others = others
        self.optional = optional or {}
        self.hints = hints or {}

    def check(self, value: Any, path: str) -> None:
        if not isinstance(value, dict):
            raise unlike(path, "an object", value)
        for name in value:
            if name not in self.required and name not in self.optional and not self.others:
                raise Fault(path, self._unknown(name), "unknown")
        for name, shape in self.required.items():
            if name not in value:
                raise Fault(path, f"the member `{name}` is missing")
            shape.check(value[name], f"{path}{_member(name)}")
        for name, shape in self.optional.items():
            if name in value:
                shape.check(value[name], f"{path}{_member(name)}")

    def _unknown(self, name: str) -> str:
        known = (*self.required, *self.optional)
        near = self.hints.get(name) if self.hints.get(name) in known else None
        if near is None and len(name) <= 60:
            near = nearest(name, known)
        sentence = f"the member `{shown(name)}` is not known"
        if near:
            return f"{sentence}; did you mean `{near}`?"
        listed = ", ".join(f"`{each}`" for each in known)
        return f"{sentence}; there are {listed}" if known else f"{sentence}; there are none"

    def schema(self) -> Schema:
        members = {**self.required, **self.optional}
        return {
            "type": "object",
            "properties": {name: shape.schema() for name, shape in members.items()},
            "required": list(self.required),
            "additionalProperties": self.others,
        }


class OnlyOne(Shape):
    """An object with exactly one member, which is one of these."""

    __slots__ = ("members",)

    def __init__(self, members: dict[str, Shape]):
        self.members = members

    def check(self, value: Any, path: str) -> None:
        if not isinstance(value, dict):
            raise unlike(path, f'an object such as {{"{next(iter(self.members))}": …}}', value)
        if len(value) != 1 or not self.members.keys() >= value.keys():
            raise Fault(path, "the object has exactly one member: " + _alternatives(tuple(self.members)))
        for name, each in value.items():
            self.members[name].check(each, f"{path}{_member(name)}")

    def schema(self) -> Schema:
        return {
            "type": "object",
            "properties": {name: shape.schema() for name, shape in self.members.items()},
            "additionalProperties": False,
            "minProperties": 1,
            "maxProperties": 1,
        }


class Tagged(Shape):
    """An object whose member ``tag`` says which shape it has; None: any members besides the tag, and no message offers
    that word."""

    __slots__ = ("cases", "tag")

    def __init__(self, tag: str, cases: dict[str, Obj | None]):
        self.tag = tag
        self.cases = cases

    def check(self, value: Any, path: str) -> None:
        if not isinstance(value, dict):
            raise unlike(path, "an object", value)
        if self.tag not in value:
            raise Fault(path, f"the member `{self.tag}` is missing")
        word = value[self.tag]
        if not isinstance(word, str) or word not in self.cases:
            OneOf(*(each for each, case in self.cases.items() if case is not None)).check(
                word, f"{path}{_member(self.tag)}"
            )
        case = self.cases[word]
        if case is not None:
            case.check(value, path)

    def schema(self) -> Schema:
        strict = [case.schema() for case in self.cases.values() if case is not None]
        others = [word for word, case in self.cases.items() if case is None]
        if others:
            strict.append({"type": "object", "properties": {self.tag: {"enum": others}}, "required": [self.tag]})
        return {"oneOf": strict}


class Truth(Shape):
    """An object whose Boolean member ``tag`` says which of two shapes it has."""

    __slots__ = ("no", "tag", "yes")

    def __init__(self, tag: str, yes: Obj, no: Obj):
        self.tag = tag
        self.yes = yes
        self.no = no

    def check(self, value: Any, path: str) -> None:
        if not isinstance(value, dict):
            raise unlike(path, "an object", value)
        if self.tag not in value:
            raise Fault(path, f"the member `{self.tag}` is missing")
        Flag().check(value[self.tag], f"{path}{_member(self.tag)}")
        (self.yes if value[self.tag] else self.no).check(value, path)

    def schema(self) -> Schema:
        found = []
        for truth, case in ((True, self.yes), (False, self.no)):
            schema = case.schema()
            schema["properties"][self.tag] = {"const": truth}
            found.append(schema)
        return {"oneOf": found}


class TextOr(Shape):
    """Text, or what another shape accepts."""

    __slots__ = ("of",)

    def __init__(self, of: Shape):
        self.of = of

    def check(self, value: Any, path: str) -> None:
        if not isinstance(value, str):
            self.of.check(value, path)

    def schema(self) -> Schema:
        return {"anyOf": [{"type": "string"}, self.of.schema()]}


_KINDS: dict[type, str] = {
    dict: "an object",
    list: "an array",
    str: "text",
    bool: "true or false",
    int: "a whole number",
    type(None): "null",
}


def unlike(path: str, expected: str, value: Any) -> Fault:
    """The fault of a value of another kind."""
    return Fault(
        path, f"{expected} was expected, not {_KINDS.get(type(value), 'a number with a fraction or exponent')}"
    )


def _alternatives(words: tuple[str, ...]) -> str:
    return ", ".join(f"`{word}`" for word in words[:-1]) + (" or " if len(words) > 1 else "") + f"`{words[-1]}`"


def shown(name: str) -> str:
    """A name from a document as it may stand in a message: short, and ASCII."""
    return (name if len(name) <= 60 else name[:57] + "...").encode("unicode_escape").decode("ascii")


def _member(name: str) -> str:
    return f".{name}" if name and WORD.issuperset(name) else f'["{shown(name)}"]'


SMALL = frozenset("abcdefghijklmnopqrstuvwxyz")
CAPITALS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
WORD = SMALL | CAPITALS | frozenset("0123456789_")
