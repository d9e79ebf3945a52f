"""One printer for all dialects: JSON Schema in, what a vendor takes out, and what was lost on the way.

A printed schema never means something else than its source: it accepts what the source accepts, or more where a rule
cannot be said (each is a `Loss`, and the value is checked where it arrives), or the same in another form that
`Printed.restore` undoes. What would become narrower or empty raises `SchemaUnsupported`.
"""

from __future__ import annotations

from .facts import DESCRIBED, DIALECTS, DROPPED, FORMATS, KEPT, keywords
from .merge import (
    DEPTH,
    NODES,
    NOTES,
    ROOT_ONLY,
    NothingFits,
    SchemaUnsupported,
    count_nodes,
    disjoint,
    merge,
    resolve,
    same,
    token,
    type_of,
    types_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .merge import Schema

#: how much larger than its source a schema may become by writing references out, beyond the first thousand schemas
GROWTH, GROWTH_FLOOR = 4, 1_000
#: the longest value of a rule that is put into words, in characters
WORDS = 120
#: the member that an answer which is no object is put into
ENVELOPE = "value"

#: dialects that close every object and need a type everywhere: what they cannot say is refused
_ENFORCED = ("openai", "anthropic")
_WRITES_OUT = ("ollama-tool", "ollama-output")
_CONST_AS_ENUM = ("gemini", "ollama-tool")
#: keyword → the type that it says something about; others go with any type
_BELONGS = {
    **dict.fromkeys(("minLength", "maxLength", "pattern", "format"), ("string",)),
    **dict.fromkeys(
        ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), ("integer", "number")
    ),
    **dict.fromkeys(("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"), ("array",)),
    **dict.fromkeys(("properties", "required", "additionalProperties", "minProperties", "maxProperties"), ("object",)),
}
_TREATED = {"type", "enum", "const", "anyOf", "properties", "required", "additionalProperties", "items", "prefixItems",
            "description", "$ref", "$defs"}  # fmt: skip
_LOOK_AROUND = ("(?=", "(?!", "(?<=", "(?<!")


class Loss:
    """A rule of the source that the printed schema does not enforce, or says in another way.

    ``effect``: ``described`` (it became words), ``dropped`` (it is gone), ``widened`` (more fits) or ``nullable``
    (null stands for a member that is left out).
    """

    __slots__ = ("effect", "keyword", "path")

    def __init__(self, path: str, keyword: str, effect: str):
        self.path = path
        self.keyword = keyword
        self.effect = effect

    def __repr__(self) -> str:
        return f"Loss({self.path!r}, {self.keyword!r}, {self.effect!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Loss) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


class Printed:
    """A schema in a vendor's dialect.

    ``losses`` are sorted as the schema is written; ``wrapped`` says that the value is the one member of an envelope;
    ``restores`` that `restore` may change a value.
    """

    __slots__ = ("dialect", "losses", "restores", "schema", "source", "wrapped")

    def __init__(self, dialect: str, source: Schema, schema: Schema, losses: list[Loss], wrapped: bool):
        self.dialect = dialect
        self.source = source
        self.schema = schema
        self.losses = tuple(losses)
        self.wrapped = wrapped
        self.restores = wrapped or any(loss.effect == "nullable" for loss in losses)

    def restore(self, value: Any) -> Any:
        """The value as the source has it: without the envelope, and without null where a member was left out.

        A value that does not fit the printed schema comes back as it is, for the check of the source to refuse.

        >>> source = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}
        >>> print_schema("openai", source).restore({"a": None})
        {}
        """
        if self.wrapped:
            if not isinstance(value, dict) or set(value) != {ENVELOPE}:
                return value
            value = value[ENVELOPE]
        return _without_nulls(self.source, self.source, value, 0) if self.restores else value


def print_schema(vendor: str, schema: Any, *, use: str = "tool", strict: bool = True) -> Printed:
    """The schema as a vendor takes it.

    Parameters:
        vendor: ``openai``, ``anthropic``, ``gemini`` or ``ollama``.
        schema: a JSON Schema (2020-12, or draft 7 with ``definitions``).
        use: ``tool`` for the input of a tool, which is an object; ``output`` for an answer, which is put into an
            envelope where it is none.
        strict: whether a part without a type, and an object with any members, is refused by vendors that would take
            it; False keeps it as ``{}``, with a loss. OpenAI and Anthropic always refuse it.

    Raises:
        SchemaUnsupported: for recursive types, references that lead nowhere, maps and parts without a type where the
            vendor has none, and schemas that no value fits.

    >>> print_schema("anthropic", {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}}).losses
    (Loss('/properties/n', 'minimum', 'described'),)
    """
    dialect = f"ollama-{use}" if vendor == "ollama" else vendor
    if dialect not in DIALECTS or use not in ("tool", "output"):
        raise ValueError("an unknown vendor, or a use that is neither tool nor output")
    if not isinstance(schema, dict):
        raise SchemaUnsupported("", "a schema that is true or false says nothing of a type", vendor)
    try:
        return _Printer(dialect, schema, strict).printed(use)
    except SchemaUnsupported as fault:
        fault.vendor = vendor
        raise
    except RecursionError:
        raise SchemaUnsupported("", "nested too deeply", vendor) from None


class _Printer:
    """One schema on its way through one dialect."""

    def __init__(self, dialect: str, root: Schema, strict: bool):
        self.dialect = dialect
        self.root = root
        self.strict = strict or dialect in _ENFORCED
        self.keywords = keywords(dialect)
        self.losses: list[Loss] = []
        self.definitions: dict[str, Any] = {}
        self.names: dict[str, str] = {}
        self.open: list[str] = []
        self.written = 0
        self.most = min(NODES, max(GROWTH_FLOOR, GROWTH * count_nodes(root)))

    def printed(self, use: str) -> Printed:
        root = {key: value for key, value in self.root.items() if key not in ROOT_ONLY}
        opened = ["#"]
        root = self.flat(root, "", opened)
        self.open.extend(opened)
        if use == "tool":
            root = self.tool_root(root)
        wrapped = types_of(root) != ["object"] or "anyOf" in root or "oneOf" in root
        body = self.node(root, "", 0)
        if wrapped:
            body = {"type": "object", "properties": {ENVELOPE: body}, "required": [ENVELOPE]}
            if self.keywords.get("additionalProperties") == KEPT:
                body["additionalProperties"] = False
        if self.definitions:
            body["$defs"] = self.definitions
        return Printed(self.dialect, self.root, body, self.losses, wrapped)

    def tool_root(self, root: Schema) -> Schema:
        """The input of a tool: an object that names its members, perhaps none."""
        union = {"anyOf", "oneOf"} & set(root)
        if types_of(root) != ["object"] or (union and "properties" not in root):
            raise SchemaUnsupported("", "the input of a tool is an object, without a union at its top")
        self.losses.extend(Loss("", each, "dropped") for each in sorted(union))
        more: Schema = {} if "additionalProperties" in root else {"properties": {}}
        return {**more, **{key: value for key, value in root.items() if key not in union}}

    # --- references and unions ----------------------------------------------------------------------------------------

    def flat(self, schema: Any, path: str, opened: list[str]) -> Schema:
        """The schema with the references and allOf of its top written out; ``opened`` gets the references."""
        if schema is True:
            return {}
        if schema is False:
            raise NothingFits(path, "no value fits: the schema is `false`")
        if not isinstance(schema, dict):
            raise SchemaUnsupported(path, "something that is no schema")
        for keyword in ("$dynamicRef", "$recursiveRef"):
            if keyword in schema:
                raise SchemaUnsupported(path, f"`{keyword}` cannot be resolved")
        rest = {key: value for key, value in schema.items() if key not in ("$ref", "allOf", "$anchor")}
        parts = [] if "$ref" not in schema else [self.target(schema["$ref"], path, opened)]
        parts += [self.flat(each, path, opened) for each in schema.get("allOf", ())]
        for part in reversed(parts):
            rest = merge(part, rest, path)
        return rest

    def target(self, reference: str, path: str, opened: list[str]) -> Schema:
        if reference in self.open or reference in opened:
            raise SchemaUnsupported(path, "a type that contains itself")
        if len(self.open) + len(opened) > DEPTH:
            raise SchemaUnsupported(path, f"references follow each other more than {DEPTH} times")
        found = resolve(self.root, reference, path)
        opened.append(reference)
        return self.flat(found, path, opened)

    def reference(self, schema: Schema, path: str, depth: int) -> Schema:
        """A node with a reference: as such where the dialect has references and nothing stands beside it."""
        reference = schema["$ref"]
        beside = {key for key in schema if key not in ("$ref", "$comment", *ROOT_ONLY)}
        if self.dialect not in _WRITES_OUT:
            large = self.written > self.most // 2
            if not beside or (large and beside <= set(NOTES)):
                self.losses.extend(Loss(path, each, "dropped") for each in sorted(beside & {"description"}))
                return {"$ref": f"#/$defs/{self.define(reference, path)}"}
        opened: list[str] = []
        flat = self.flat(schema, path, opened)
        self.open.extend(opened)
        body = self.node(flat, path, depth)
        del self.open[len(self.open) - len(opened) :]
        return body

    def define(self, reference: str, path: str) -> str:
        """The name under which the target of a reference is defined; it is printed once."""
        if reference in self.open:
            raise SchemaUnsupported(path, "a type that contains itself")
        if reference not in self.names:
            found = resolve(self.root, reference, path)
            base = "".join(c if c.isalnum() or c in "_-." else "_" for c in reference.rpartition("/")[2]) or "root"
            name, number = base, 2
            while name in self.definitions:
                name, number = f"{base}_{number}", number + 1
            self.names[reference] = name
            self.definitions[name] = {}
            self.open.append(reference)
            self.definitions[name] = self.node(found, "/" + "/".join(("$defs", name)), 0)
            self.open.pop()
        return self.names[reference].replace("~", "~0").replace("/", "~1")

    def union(self, schema: Schema, keyword: str, path: str, depth: int) -> Schema:
        branches = schema[keyword]
        beside = {key: value for key, value in schema.items() if key != keyword}
        rules = {key: value for key, value in beside.items() if key not in NOTES}
        if keyword == "oneOf" and not disjoint(self.root, branches):
            self.losses.append(Loss(path, "oneOf", "widened"))
        forms: list[Schema] = []
        for place, branch in enumerate(branches):
            try:
                form = self.node(
                    {"allOf": [branch, rules]} if rules else branch, f"{path}/{keyword}/{place}", depth + 1
                )
            except NothingFits:
                continue
            nested = list(form["anyOf"]) if set(form) == {"anyOf"} else [form]
            forms.extend(each for each in nested if not any(same(each, other) for other in forms))
        if not forms:
            raise NothingFits(path, "no value fits: none of the branches can hold")
        notes = self.notes(beside, path)
        if len(forms) == 1:
            return _described({**forms[0], **{key: value for key, value in notes.items() if key != "description"}},
                              notes.get("description"))  # fmt: skip
        return {"anyOf": forms, **notes}

    # --- nodes --------------------------------------------------------------------------------------------------------

    def node(self, schema: Any, path: str, depth: int) -> Schema:
        self.written += 1
        if depth > DEPTH or self.written > self.most:
            what = (
                f"nested more than {DEPTH} levels deep"
                if depth > DEPTH
                else "too large when its references are written out"
            )
            raise SchemaUnsupported(path, what)
        if isinstance(schema, dict) and "$ref" in schema and "allOf" not in schema:
            return self.reference(schema, path, depth)
        opened: list[str] = []
        flat = self.flat(schema, path, opened)
        self.open.extend(opened)
        try:
            return self.flat_node(flat, path, depth)
        finally:
            del self.open[len(self.open) - len(opened) :]

    def flat_node(self, schema: Schema, path: str, depth: int) -> Schema:
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                return self.union(schema, keyword, path, depth)
        types = types_of(schema)
        if not types:
            return self.untyped(schema, path)
        kinds = [each for each in types if each != "null"]
        null_value = self.dialect == "gemini" and kinds and None in schema.get("enum", ())
        if (len(kinds) > 1 and "enum" not in schema) or null_value:
            return self.union({**_notes(schema), "anyOf": _by_type(schema, types)}, "anyOf", path, depth)
        shape = self.values(schema, types, path)
        self.rules(schema, shape, types, path)
        if "object" in types:
            self.object(schema, shape, path, depth)
        if "array" in types:
            self.array(schema, shape, path, depth)
        return shape

    def untyped(self, schema: Schema, path: str) -> Schema:
        if self.strict:
            raise SchemaUnsupported(path, "a part without a type")
        self.losses.append(Loss(path, "type", "widened"))
        return self.notes(schema, path)

    def values(self, schema: Schema, types: list[str], path: str) -> Schema:
        """Type, enum and const of a node."""
        shape: Schema = {"type": types[0] if len(types) == 1 else types}
        values = [schema["const"]] if "const" in schema else schema.get("enum")
        if values is None:
            return shape
        if any(isinstance(value, dict | list) for value in values):
            raise SchemaUnsupported(path, "a fixed value that is an object or a list")
        if self.dialect == "gemini" and any(value is None or isinstance(value, bool) for value in values):
            return shape  # `rules` puts them into words
        if "const" in schema and self.dialect not in _CONST_AS_ENUM:
            return {**shape, "const": schema["const"]}
        return {**shape, "enum": list(values)}

    def rules(self, schema: Schema, shape: Schema, types: list[str], path: str) -> None:
        """The other keywords of a node: kept, put into words, or left out."""
        shape.update(self.notes(schema, path))
        words: list[str] = []
        values = [schema["const"]] if "const" in schema else schema.get("enum", ())
        if values and "enum" not in shape and "const" not in shape and types != ["null"]:
            self.losses.append(Loss(path, "const" if "const" in schema else "enum", DESCRIBED))
            words.append(
                "one of "
                + ", ".join({None: "null", True: "true", False: "false"}.get(each, str(each)) for each in values)
            )
        for keyword, value in schema.items():
            wanted = _BELONGS.get(keyword)
            if (
                keyword in _TREATED
                or keyword in NOTES
                or keyword in ROOT_ONLY
                or (wanted and not set(wanted) & set(types))
            ):
                continue
            effect = self.effect(keyword, value, types)
            if effect == KEPT:
                shape[keyword] = value
                continue
            if keyword == "discriminator" or keyword.startswith("content"):
                continue
            self.losses.append(Loss(path, keyword, effect))
            if effect == DESCRIBED:
                words.append(keyword if value is True else f"{keyword} {value}")
        if words:
            _described(shape, "Rules: " + ", ".join(words) + ".")

    def effect(self, keyword: str, value: Any, types: list[str]) -> str:
        effect = self.keywords.get(keyword, DROPPED)
        if effect != KEPT:
            return effect if len(str(value)) <= WORDS else DROPPED
        whole = "number" not in types
        refused = (
            (keyword == "format" and value not in FORMATS[self.dialect])
            or (keyword == "pattern" and self.dialect == "openai" and _looks_around(str(value)))
            or (keyword == "pattern" and self.dialect == "ollama-output" and not _anchored(str(value)))
            or (keyword == "minItems" and self.dialect == "anthropic" and value not in (0, 1))
            or (keyword.endswith("imum") and self.dialect == "ollama-output" and not whole)
        )
        return DESCRIBED if refused else KEPT

    def notes(self, schema: Schema, path: str) -> Schema:
        kept: Schema = {
            key: schema[key] for key in ("title", "description") if key in schema and self.keywords.get(key) == KEPT
        }
        if "default" in schema:
            self.losses.append(Loss(path, "default", "dropped"))
        return kept

    def object(self, schema: Schema, shape: Schema, path: str, depth: int) -> None:
        members = schema.get("properties", {})
        more = schema.get("additionalProperties")
        if self.dialect in _ENFORCED and (more not in (None, False) or (more is None and "properties" not in schema)):
            raise SchemaUnsupported(path, "an object with any members; name them, and close the object")
        required = [name for name in schema.get("required", ()) if name in members]
        if len(required) != len(schema.get("required", ())):
            missing = next(name for name in schema["required"] if name not in members)
            if self.strict:
                raise SchemaUnsupported(path, f"the required member `{missing}` has no schema")
            self.losses.append(Loss(path, "required", "dropped"))
        names = list(members)
        if self.dialect == "anthropic":
            names.sort(key=lambda name: name not in required)
        shape["properties"] = {}
        for name in names:
            try:
                member = self.node(members[name], f"{path}/properties{token(name)}", depth + 1)
            except NothingFits:
                if name in required:
                    raise
                continue
            if self.dialect == "openai" and name not in required:
                member = _nullable(member)
                self.losses.append(Loss(f"{path}/properties{token(name)}", "required", "nullable"))
                required.append(name)
            shape["properties"][name] = member
        order = {name: place for place, name in enumerate(shape["properties"])}
        shape["required"] = sorted((name for name in required if name in order), key=order.__getitem__)
        self.more_members(more, "properties" in schema, shape, path, depth)

    def more_members(self, more: Any, named: bool, shape: Schema, path: str, depth: int) -> None:
        """Members beyond the named ones: maps, and objects that take any."""
        closed = more is False or (more is None and named)
        if not closed and not named and self.strict and self.keywords.get("additionalProperties") != KEPT:
            raise SchemaUnsupported(path, "an object with any members; name them, and close the object")
        if self.keywords.get("additionalProperties") != KEPT:
            if not closed:
                self.losses.append(Loss(path, "additionalProperties", "dropped"))
            return
        if self.dialect in _ENFORCED or closed:
            shape["additionalProperties"] = False  # what it accepts is a part of what the source accepts
            return
        if isinstance(more, dict) and more:
            shape["additionalProperties"] = self.node(more, f"{path}/additionalProperties", depth + 1)
            return
        if self.strict:
            raise SchemaUnsupported(path, "an object with any members; name them, and close the object")
        self.losses.append(Loss(path, "additionalProperties", "widened"))
        shape["additionalProperties"] = True

    def array(self, schema: Schema, shape: Schema, path: str, depth: int) -> None:
        first = schema.get("prefixItems")
        if first:
            if self.keywords.get("prefixItems") != KEPT:
                raise SchemaUnsupported(path, "a list with a type for each place")
            shape["prefixItems"] = [
                self.node(each, f"{path}/prefixItems/{place}", depth + 1) for place, each in enumerate(first)
            ]
        items = schema.get("items")
        if items is False and first:
            shape["maxItems"] = min(len(first), shape.get("maxItems", len(first)))
        elif isinstance(items, dict) or (items in (None, True) and not first):
            shape["items"] = self.node({} if items in (None, True) else items, f"{path}/items", depth + 1)
        elif items is not None and not isinstance(items, bool):
            raise SchemaUnsupported(path, "a list with a type for each place")


# --- small steps ----------------------------------------------------------------------------------------------------


def _notes(schema: Schema) -> Schema:
    return {key: value for key, value in schema.items() if key in NOTES}


def _by_type(schema: Schema, types: list[str]) -> list[Schema]:
    """One branch for each type, with the rules that say something about it."""
    branches = []
    for kind in types:
        branch: Schema = {"type": kind}
        for key, value in schema.items():
            if key in NOTES or key == "type" or (key in _BELONGS and kind not in _BELONGS[key]):
                continue
            if key == "enum":
                value = [each for each in value if type_of(each) == kind]
            branch[key] = value
        if branch.get("enum") != []:
            branches.append(branch)
    return branches


def _described(shape: Schema, words: str | None) -> Schema:
    if words:
        shape["description"] = f"{shape['description']} {words}" if shape.get("description") else words
    return shape


def _nullable(shape: Schema) -> Schema:
    """The schema, with null besides."""
    if "anyOf" in shape:
        has_null = any(each.get("type") == "null" for each in shape["anyOf"])
        return shape if has_null else {**shape, "anyOf": [*shape["anyOf"], {"type": "null"}]}
    if "$ref" in shape or "const" in shape or shape.get("type") in ("object", "array"):
        if shape.get("const", 0) is None:
            return shape
        notes = {"description": shape["description"]} if "description" in shape else {}
        plain = {key: value for key, value in shape.items() if key != "description"}
        return {"anyOf": [plain, {"type": "null"}], **notes}
    types = shape["type"] if isinstance(shape["type"], list) else [shape["type"]]
    if "null" not in types:
        shape = {**shape, "type": [*types, "null"]}
    if "enum" in shape and None not in shape["enum"]:
        shape = {**shape, "enum": [*shape["enum"], None]}
    return shape


def _looks_around(pattern: str) -> bool:
    place = 0
    while place < len(pattern):
        if pattern[place] == "\\":
            place += 2
            continue
        if pattern.startswith(_LOOK_AROUND, place):
            return True
        place += 1
    return False


def _anchored(pattern: str) -> bool:
    return pattern.startswith("^") and pattern.endswith("$") and not pattern.endswith("\\$")


def _without_nulls(root: Schema, schema: Any, value: Any, depth: int) -> Any:
    """The value without the members that are null where the schema has no null and does not require them."""
    if depth > DEPTH or not isinstance(schema, dict):
        return value
    if "$ref" in schema:
        value = _without_nulls(root, resolve(root, schema["$ref"], ""), value, depth + 1)
    for part in schema.get("allOf", ()):
        value = _without_nulls(root, part, value, depth + 1)
    for keyword in ("anyOf", "oneOf"):
        for branch in schema.get(keyword, ()):
            if _may_be(root, branch, value, depth + 1):
                value = _without_nulls(root, branch, value, depth + 1)
                break
    if isinstance(value, dict):
        members = schema.get("properties", {})
        optional = set(members) - set(schema.get("required", ()))
        return {
            name: _without_nulls(root, members.get(name, schema.get("additionalProperties")), item, depth + 1)
            for name, item in value.items()
            if item is not None or name not in optional or _may_be(root, members[name], None, depth + 1)
        }
    if isinstance(value, list):
        return [_without_nulls(root, schema.get("items"), item, depth + 1) for item in value]
    return value


def _may_be(root: Schema, schema: Any, value: Any, depth: int) -> bool:
    """Whether the value may be meant by the schema: types, fixed values and names of members, no more."""
    if isinstance(schema, bool) or depth > DEPTH:
        return bool(schema)
    if "$ref" in schema and not _may_be(root, resolve(root, schema["$ref"], ""), value, depth + 1):
        return False
    if not all(_may_be(root, each, value, depth + 1) for each in schema.get("allOf", ())):
        return False
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema and not any(_may_be(root, each, value, depth + 1) for each in schema[keyword]):
            return False
    if "const" in schema and not same(schema["const"], value):
        return False
    if "enum" in schema and not any(same(each, value) for each in schema["enum"]):
        return False
    types, kind = types_of(schema), type_of(value)
    if types and kind not in types and not (kind == "integer" and "number" in types):
        return False
    if isinstance(value, dict):
        members = schema.get("properties", {})
        if schema.get("additionalProperties") is False and not set(value) <= set(members):
            return False
        return set(schema.get("required", ())) <= set(value) and all(
            item is None or _may_be(root, members[name], item, depth + 1)
            for name, item in value.items()
            if name in members
        )
    return True
