"""JSON Schemas as data: references, and one schema for several that hold at once.

Nothing here widens what a schema accepts: what cannot be said as one schema raises `SchemaUnsupported`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    Schema: TypeAlias = dict[str, Any]

#: how deep references and schemas may be nested, and how many schemas one may hold: schemas come from strangers, too
DEPTH, NODES = 100, 100_000

#: keywords that say something about a value without bounding it
NOTES = ("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment", "$id")
#: keywords that only the root has
ROOT_ONLY = ("$schema", "$defs", "definitions")


class SchemaUnsupported(Exception):
    """A schema that a vendor cannot be given without changing what it means.

    ``path`` is the place as a JSON pointer (empty for the root), ``reason`` what it is about it.
    """

    def __init__(self, path: str, reason: str, vendor: str = ""):
        super().__init__(path, reason, vendor)
        self.path = path
        self.reason = reason
        self.vendor = vendor

    def __str__(self) -> str:
        return f"{self.vendor + ': ' if self.vendor else ''}at {self.path or 'the root'}: {self.reason}"


class NothingFits(SchemaUnsupported):
    """A schema that no value fits. As one branch of a union it is left out."""


def token(name: str) -> str:
    """A name as a step of a JSON pointer."""
    return "/" + str(name).replace("~", "~0").replace("/", "~1")


def resolve(root: Schema, reference: Any, path: str) -> Any:
    """What a local reference points to.

    Raises:
        SchemaUnsupported: for a reference that is not local, or that points nowhere.
    """
    if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
        raise SchemaUnsupported(path, "a reference that is not local")
    place: Any = root
    for step in reference[2:].split("/") if reference != "#" else ():
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(place, dict) and name in place:
            place = place[name]
        elif isinstance(place, list) and name.isdigit() and int(name) < len(place):
            place = place[int(name)]
        else:
            raise SchemaUnsupported(path, "a reference that points nowhere")
    if not isinstance(place, dict | bool):
        raise SchemaUnsupported(path, "a reference to something that is no schema")
    return place


def count_nodes(schema: Any) -> int:
    """How many objects, lists and values a JSON value holds."""
    total, waiting = 0, [schema]
    while waiting:
        each = waiting.pop()
        total += 1
        if isinstance(each, dict):
            waiting.extend(each.values())
        elif isinstance(each, list):
            waiting.extend(each)
    return total


def same(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal: true is not 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(value, right[key]) for key, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    return bool(left == right)


def type_of(value: Any) -> str:
    """The JSON Schema type of a JSON value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    for kind, name in ((int, "integer"), (float, "number"), (str, "string"), (list, "array")):
        if isinstance(value, kind):
            return name
    return "object"


def types_of(schema: Schema) -> list[str] | None:
    """The types that a schema names or that its values have; None where it says nothing of them."""
    if "type" in schema:
        named = schema["type"]
        return list(named) if isinstance(named, list) else [named]
    if "enum" in schema:
        return list(dict.fromkeys(type_of(value) for value in schema["enum"]))
    if "const" in schema:
        return [type_of(schema["const"])]
    if "properties" in schema or "additionalProperties" in schema:
        return ["object"]
    if "items" in schema or "prefixItems" in schema:
        return ["array"]
    return None


def disjoint(root: Schema, branches: list[Any]) -> bool:
    """Whether no value fits two of the branches: their types differ, or a required member has different values."""
    known = []
    for branch in branches:
        seen = 0
        while isinstance(branch, dict) and "$ref" in branch and seen < DEPTH:
            branch, seen = resolve(root, branch["$ref"], ""), seen + 1
        known.append(branch)
    return all(_apart(left, right) for place, left in enumerate(known) for right in known[place + 1 :])


def _apart(left: Any, right: Any) -> bool:
    if not isinstance(left, dict) or not isinstance(right, dict):
        return False
    one, other = types_of(left), types_of(right)
    if one and other and not any(_overlap(a, b) for a in one for b in other):
        return True
    if one == other == ["object"]:
        shared = set(left.get("required", ())) & set(right.get("required", ()))
        for name in shared:
            first, second = (
                _values(left.get("properties", {}).get(name)),
                _values(right.get("properties", {}).get(name)),
            )
            if first and second and not any(same(a, b) for a in first for b in second):
                return True
        return False
    first, second = _values(left), _values(right)
    return bool(first and second and not any(same(a, b) for a in first for b in second))


def _overlap(left: str, right: str) -> bool:
    return left == right or {left, right} == {"integer", "number"}


def _values(schema: Any) -> list[Any]:
    if not isinstance(schema, dict):
        return []
    return [schema["const"]] if "const" in schema else list(schema.get("enum", ()))


def merge(left: Schema, right: Schema, path: str) -> Schema:
    """One schema that accepts what both accept; the right one is the outer one, whose description comes first.

    Neither may have a ``$ref`` or an ``allOf`` at its top.

    Raises:
        SchemaUnsupported: when no value fits both, or when one schema cannot say it.
    """
    if not left or not right:
        return dict(left or right)
    for first, second in ((left, right), (right, left)):
        union = "anyOf" if "anyOf" in first else "oneOf" if "oneOf" in first else None
        rules = {key: value for key, value in second.items() if key not in NOTES}
        if union and rules:
            return _into_branches(first, second, union, path)
    result = dict(left)
    for key, value in right.items():
        if key not in result or key in NOTES or same(result[key], value):
            result[key] = value  # of two titles the outer one stands
        elif key in _MERGES:
            result[key] = _MERGES[key](result[key], value, path)
        elif key not in ("additionalProperties", "const"):
            raise SchemaUnsupported(path, f"two rules `{key}` that hold at once")
    if "const" in left and "const" in right and not same(left["const"], right["const"]):
        raise NothingFits(path, "no value fits: two constants hold at once")
    if "description" in left and "description" in right and left["description"] != right["description"]:
        result["description"] = f"{right['description']}; {left['description']}"
    _close(result, left, right, path)
    return _settle(result, path)


def _into_branches(union: Schema, other: Schema, keyword: str, path: str) -> Schema:
    """A union that holds together with rules: the rules hold in each of its branches."""
    beside = {key: value for key, value in union.items() if key != keyword}
    rules = {key: value for key, value in other.items() if key not in NOTES}
    notes = {key: value for key, value in other.items() if key in NOTES}
    branches = [{"allOf": [branch, rules]} for branch in union[keyword]]
    return merge({**beside, keyword: branches}, notes, path) if notes else {**beside, keyword: branches}


def _settle(schema: Schema, path: str) -> Schema:
    """Bring types, enum and const into line with each other."""
    types = types_of({"type": schema["type"]}) if "type" in schema else None
    if "const" in schema and "enum" in schema:
        if not any(same(schema["const"], value) for value in schema["enum"]):
            raise NothingFits(path, "no value fits: the constant is not among the values")
        schema = {key: value for key, value in schema.items() if key != "enum"}
    if types and "enum" in schema:
        values = [value for value in schema["enum"] if any(_overlap(type_of(value), each) for each in types)]
        if not values:
            raise NothingFits(path, "no value fits: the values are of another type")
        schema = {**schema, "enum": values}
    return schema


def _close(result: Schema, left: Schema, right: Schema, path: str) -> None:
    """Members beyond the named ones: a closed object stays closed to what the other one names."""
    for closed, other in ((left, right), (right, left)):
        if closed.get("additionalProperties") is False:
            known = closed.get("properties", {})
            for name in other.get("properties", {}):
                if name not in known:
                    if name in result.get("required", ()):
                        raise NothingFits(path, f"no value fits: the member `{name}` is required and closed out")
                    result["properties"] = {key: value for key, value in result["properties"].items() if key != name}
            result["additionalProperties"] = False
    if result.get("additionalProperties") is not False:
        given = [each["additionalProperties"] for each in (left, right) if "additionalProperties" in each]
        schemas = [each for each in given if isinstance(each, dict)]
        if schemas:
            result["additionalProperties"] = schemas[0] if len(schemas) == 1 else {"allOf": schemas}


def _types(left: Any, right: Any, path: str) -> Any:
    one, other = (list(each) if isinstance(each, list) else [each] for each in (left, right))
    both = [each for each in one if each in other]
    both += [
        "integer" for a, b in ((one, other), (other, one)) if "integer" in a and "number" in b and "integer" not in both
    ]
    if not both:
        raise NothingFits(path, "no value fits: two types hold at once")
    return both[0] if len(both) == 1 else both


def _enums(left: list[Any], right: list[Any], path: str) -> list[Any]:
    both = [value for value in left if any(same(value, other) for other in right)]
    if not both:
        raise NothingFits(path, "no value fits: two enums without a common value")
    return both


def _members(left: Schema, right: Schema, path: str) -> Schema:
    both = dict(left)
    for name, schema in right.items():
        both[name] = schema if name not in both or same(both[name], schema) else {"allOf": [both[name], schema]}
    return both


_MERGES: dict[str, Any] = {
    "type": _types,
    "enum": _enums,
    "properties": _members,
    "required": lambda left, right, _: list(dict.fromkeys([*left, *right])),
    "items": lambda left, right, _: {"allOf": [left, right]},
    **{name: lambda left, right, _: max(left, right)
       for name in ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")},
    **{name: lambda left, right, _: min(left, right)
       for name in ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")},
    "uniqueItems": lambda left, right, _: left or right,
}  # fmt: skip
