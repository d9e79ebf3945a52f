"""Classes of plain data: what the compiler uses of `dataclasses`, without its price.

The standard module makes and runs a text for every method of every class when it is loaded, and loads `inspect` for
that. A compiler has a class for each kind of node and meets few of them in one program, so all that took more than
compiling most programs does. Here a class gets its ``__init__`` when its first object is made.

Type checkers see the real `dataclasses`. At run time nothing keeps a frozen object from being changed.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
else:
    _MISSING = object()

    class _Factory:
        __slots__ = ("make",)

        def __init__(self, make):
            self.make = make

    def field(*, default_factory):
        """A default that is made anew for each object."""
        return _Factory(default_factory)

    def dataclass(*, eq=True, frozen=False, slots=True):
        """As `dataclasses.dataclass`, for classes with slots; objects of a frozen class can be keys."""

        def make(cls):
            own = list(cls.__dict__.get("__annotations__", ()))  # noqa: RUF063 that would load `inspect`
            fields = {}
            for base in reversed(cls.__mro__[1:]):
                fields.update(base.__dict__.get("__dataclass_fields__", ()))
            fields.update((name, cls.__dict__.get(name, _MISSING)) for name in own)
            left_out = {*own, "__dict__", "__weakref__"}
            members = {name: value for name, value in cls.__dict__.items() if name not in left_out}
            members.update(
                __slots__=tuple(own),
                __dataclass_fields__=fields,
                __match_args__=tuple(fields),
                __init__=_first_init,
                __repr__=_repr,
                __getstate__=_getstate,
                __setstate__=_setstate,
            )
            if eq:
                members.update(__eq__=_eq, __hash__=_hash if frozen else None)
            made = type(cls)(cls.__name__, cls.__bases__, members)
            made.__qualname__ = cls.__qualname__
            return made

        return make

    def _first_init(self, *values, **named):
        """Stands in for ``__init__`` until the first object of the class."""
        cls = type(self)
        fields = cls.__dataclass_fields__
        head, body, space = [], [], {"MISSING": _MISSING}
        for name, default in fields.items():
            if default is _MISSING:
                head.append(name)
                body.append(f" self.{name} = {name}")
            elif isinstance(default, _Factory):
                space["make_" + name] = default.make
                head.append(f"{name}=MISSING")
                body.append(f" self.{name} = make_{name}() if {name} is MISSING else {name}")
            else:
                space["default_" + name] = default
                head.append(f"{name}=default_{name}")
                body.append(f" self.{name} = {name}")
        exec(f"def __init__({', '.join(['self', *head])}):\n" + "\n".join(body or [" pass"]), space)
        cls.__init__ = space["__init__"]
        cls.__init__(self, *values, **named)

    def _values(self):
        return tuple([getattr(self, name) for name in self.__dataclass_fields__])

    def _specialize(cls):
        """Comparison and hash, likewise."""
        space = {}
        mine, theirs = (
            "(" + "".join(f"{owner}.{name}, " for name in cls.__dataclass_fields__) + ")" for owner in ("self", "other")
        )
        exec(
            f"def eq(self, other): return {mine} == {theirs} if other.__class__ is self.__class__ else NotImplemented\n"
            f"def hash_(self): return hash({mine})",
            space,
        )
        cls.__eq__ = space["eq"]
        if cls.__hash__ is not None:
            cls.__hash__ = space["hash_"]

    def _eq(self, other):
        _specialize(type(self))
        return self == other

    def _hash(self):
        _specialize(type(self))
        return hash(self)

    def _repr(self):
        return f"{type(self).__qualname__}({', '.join(f'{n}={getattr(self, n)!r}' for n in self.__dataclass_fields__)})"

    def _getstate(self):
        return _values(self)

    def _setstate(self, values):
        for name, value in zip(self.__dataclass_fields__, values, strict=True):
            setattr(self, name, value)
