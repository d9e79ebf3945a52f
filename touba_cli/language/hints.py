"""Tables of what people and models write by habit, with the spelling of Touba, and the nearest known name.

The lexer and the parser look here only after something could not be read: the tables never change what a right program
means. Each row is tested.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..spelling import distance
from .records import dataclass


@dataclass(frozen=True, slots=True)
class Foreign:
    """A spelling of another language.

    ``label`` says what to write. ``meant`` is the Touba word or operator under which the parser reads on, so that the
    rest of the line or its block is still understood; None where there is none. ``exact`` is true where replacing the
    spelling by ``meant`` is right without looking.
    """

    label: str
    meant: str | None = None
    exact: bool = False


#: signs that stand between or before values
FOREIGN_SIGNS: dict[str, Foreign] = {
    "==": Foreign("equality is written `is`", "is", exact=True),
    "===": Foreign("equality is written `is`", "is", exact=True),
    "!=": Foreign("inequality is written `is not`", "is not", exact=True),
    "!==": Foreign("inequality is written `is not`", "is not", exact=True),
    "<>": Foreign("inequality is written `is not`", "is not", exact=True),
    "=": Foreign("equality is written `is`; only `let`, `var` and `set` have a `=`", "is"),
    "&&": Foreign("write `and`", "and", exact=True),
    "&": Foreign("write `and`", "and"),
    "||": Foreign("write `or`", "or", exact=True),
    "|": Foreign("write `or`", "or"),
    "!": Foreign("write `not`", "not", exact=True),
    "%": Foreign("the remainder is written `mod`", "mod", exact=True),
    "**": Foreign("there is no power; multiply with `*`", "*"),
    # Elsewhere it holds looser than `+`, here tighter: `a ?? b + 1` would silently mean something else.
    "??": Foreign("a fallback for an absent value is written `otherwise`", "otherwise"),
    "?": Foreign("a choice between two values is written `x if c else y`"),
    "?.": Foreign("an absent value is opened with `otherwise` or `is present` first"),
    "++": Foreign("write `set x = x + 1`; texts and lists are joined with `+`"),
    "+=": Foreign("write `set x = x + 1`"),
    "-=": Foreign("write `set x = x - 1`"),
    "*=": Foreign("write `set x = x * 2`"),
    "/=": Foreign("write `set x = x / 2`"),
    "%=": Foreign("write `set x = x mod 2`"),
    ":=": Foreign("a new name is written `let x = 1`"),
    "->": Foreign("the type of a result stands on its own line: `gives Type`"),
    "=>": Foreign("there are no arrow functions; write a `function`, or a list `[… for x in xs if …]`"),
    "<<": Foreign("there are no operators on bits"),
    ">>": Foreign("there are no operators on bits"),
    "..": Foreign("a range of numbers is written `range(1, 10)`"),
    "...": Foreign("nothing may be left out here"),
    "//": Foreign("a comment begins with `#`; whole division is written `div`"),
    "/*": Foreign("a comment begins with `#` and ends with its line"),
    ";": Foreign("a statement ends with its line; nothing is written there"),
    "\\": Foreign("there is no sign for going on; a line goes on inside brackets"),
    ":": Foreign("a line that opens a block ends without `:`"),
}

#: words at the beginning of a line in a block of statements
FOREIGN_STATEMENTS: dict[str, Foreign] = {
    "return": Foreign("write `give`", "give", exact=True),
    "yield": Foreign("write `give`", "give"),
    "elif": Foreign("write `else if`", "else if", exact=True),
    "elsif": Foreign("write `else if`", "else if", exact=True),
    "elseif": Foreign("write `else if`", "else if", exact=True),
    "print": Foreign('write `show "…"`', "show"),
    "log": Foreign('write `show "…"`', "show"),
    "echo": Foreign('write `show "…"`', "show"),
    "console": Foreign('write `show "…"`', "show"),
    "const": Foreign("write `let`", "let", exact=True),
    "val": Foreign("write `let`", "let", exact=True),
    "mut": Foreign("write `var`", "var", exact=True),
    "while": Foreign("write `repeat up to N times while …`: every loop has a bound", "repeat"),
    "loop": Foreign("write `repeat up to N times`: every loop has a bound", "repeat"),
    "do": Foreign("write `repeat up to N times while …`: every loop has a bound"),
    "foreach": Foreign("write `for each x in xs`", "for"),
    "try": Foreign("write `attempt`, and `on failure as problem` after its block", "attempt"),
    "except": Foreign("write `on failure as problem`", "on"),
    "catch": Foreign("write `on failure as problem`", "on"),
    "rescue": Foreign("write `on failure as problem`", "on"),
    "finally": Foreign("nothing runs on every way out; write the lines after the `attempt`"),
    "raise": Foreign('write `fail "…"`', "fail"),
    "throw": Foreign('write `fail "…"`', "fail"),
    "assert": Foreign('write `require condition else "…"`', "require"),
    "ensure": Foreign('write `require condition else "…"`', "require"),
    "exit": Foreign('write `stop "…"`', "stop"),
    "switch": Foreign("write `when x`, with arms `is …`", "when"),
    "match": Foreign("write `when x`, with arms `is …`", "when"),
    "case": Foreign("an arm of a `when` is written `is …`"),
    "default": Foreign("what remains of a `when` is written `else`"),
    "unless": Foreign("write `if not …`", "if"),
    "await": Foreign("write `call`: every call is waited for", "call"),
    "async": Foreign("nothing is asynchronous; write `call`: every call is waited for", "call"),
    "pass": Foreign("a block needs a statement that does something"),
    "end": Foreign("a block ends where its lines are no longer indented"),
    "begin": Foreign("a block is made by indenting its lines"),
    "then": Foreign("a block is made by indenting its lines"),
    "def": Foreign("a `function` stands outside every other declaration"),
    "class": Foreign("a `type` stands outside every other declaration"),
    "import": Foreign("an `import` stands at the beginning of the file"),
    "function": Foreign("a `function` stands outside every other declaration"),
    "new": Foreign("a record is made by its name: `Invoice(id: …)`"),
    "delete": Foreign("values never change; make a new one with `without` or `with`"),
    "del": Foreign("values never change; make a new one with `without` or `with`"),
}

#: words at the beginning of a line outside every declaration
FOREIGN_DECLARATIONS: dict[str, Foreign] = {
    "def": Foreign("write `function Name`, with `takes`, `gives` and `do`", "function"),
    "fn": Foreign("write `function Name`, with `takes`, `gives` and `do`", "function"),
    "func": Foreign("write `function Name`, with `takes`, `gives` and `do`", "function"),
    "fun": Foreign("write `function Name`, with `takes`, `gives` and `do`", "function"),
    "async": Foreign("nothing is asynchronous; write `function`, `skill` or `strategy`"),
    "class": Foreign("write `type Name`, with a field on every line", "type"),
    "struct": Foreign("write `type Name`, with a field on every line", "type"),
    "record": Foreign("write `type Name`, with a field on every line", "type"),
    "interface": Foreign("write `type Name`, with a field on every line", "type"),
    "enum": Foreign("write `choice Name is A, B`", "choice"),
    "union": Foreign("write `choice Name`, with a variant on every line", "choice"),
    "package": Foreign("write `module`", "module"),
    "namespace": Foreign("write `module`", "module"),
    "use": Foreign("write `import a.b` or `from a.b import X`", "import"),
    "using": Foreign("write `import a.b` or `from a.b import X`", "import"),
    "include": Foreign("write `import a.b` or `from a.b import X`", "import"),
    "require": Foreign("write `import a.b` or `from a.b import X`"),
    "export": Foreign("every declaration can be imported; nothing is exported"),
    "public": Foreign("every declaration can be imported; nothing is exported"),
    "let": Foreign("a `let` stands under the `do` of a callable; for a constant write a `function`"),
    "var": Foreign("a `var` stands under the `do` of a callable"),
    "const": Foreign("for a constant write a `function` without inputs"),
    "workflow": Foreign("write `strategy`", "strategy"),
}

#: names that stand for a value elsewhere
FOREIGN_VALUES: dict[str, Foreign] = {
    "null": Foreign("the absent value is written `none`", "none", exact=True),
    "nil": Foreign("the absent value is written `none`", "none", exact=True),
    "undefined": Foreign("the absent value is written `none`", "none", exact=True),
    "None": Foreign("the absent value is written `none`", "none", exact=True),
    "Null": Foreign("the absent value is written `none`", "none", exact=True),
    "NULL": Foreign("the absent value is written `none`", "none", exact=True),
    "True": Foreign("write `true`", "true", exact=True),
    "TRUE": Foreign("write `true`", "true", exact=True),
    "False": Foreign("write `false`", "false", exact=True),
    "FALSE": Foreign("write `false`", "false", exact=True),
    "NaN": Foreign("every number is a number; use `none` for an absent one"),
}

#: words that stand before a value elsewhere: they are looked for where a name is followed by something
FOREIGN_PREFIXES: dict[str, Foreign] = {
    "await": Foreign("write `call`: every call is waited for"),
    "async": Foreign("nothing is asynchronous"),
    "new": Foreign("a record is made by its name: `Invoice(id: …)`"),
    "lambda": Foreign("there are no functions without a name; write a `function`, or a list `[… for x in xs if …]`"),
    "function": Foreign("there are no functions without a name; write a `function` declaration"),
    "typeof": Foreign("types are known when the program is compiled"),
    "select": Foreign("write `[x for x in xs if …]`"),
}

#: words that other languages put between values
FOREIGN_INFIXES: dict[str, Foreign] = {
    "equals": Foreign("equality is written `is`"),
    "instanceof": Foreign("a variant is told with `when x` and arms `is …`"),
    "xor": Foreign("write `is not` between two Bools"),
    "then": Foreign("a choice between two values is written `x if c else y`"),
    "unless": Foreign("a choice between two values is written `x if c else y`"),
    "as": Foreign("a value has its type; a name gets one with `let x as Type = …`"),
    "orelse": Foreign("a fallback for an absent value is written `otherwise`"),
    "between": Foreign("write `x >= 1 and x <= 3`"),
}

#: names of types elsewhere
FOREIGN_TYPES: dict[str, str] = {
    "string": "Text", "String": "Text", "str": "Text", "text": "Text", "varchar": "Text",
    "int": "Int", "integer": "Int", "Integer": "Int", "long": "Int", "i64": "Int",
    "float": "Float", "double": "Float", "Double": "Float", "number": "Decimal", "Number": "Decimal",
    "decimal": "Decimal", "money": "Decimal",
    "bool": "Bool", "boolean": "Bool", "Boolean": "Bool",
    "date": "Date", "datetime": "DateTime", "timestamp": "DateTime", "Timestamp": "DateTime", "Datetime": "DateTime",
    "json": "Json", "JSON": "Json", "any": "Json", "Any": "Json", "object": "Json",
    "void": "Nothing", "None": "Nothing", "none": "Nothing", "null": "Nothing", "unit": "Nothing", "Unit": "Nothing",
    "list": "List of …", "array": "List of …", "Array": "List of …", "map": "Map of …", "dict": "Map of …",
    "Dict": "Map of …", "optional": "Optional …", "Maybe": "Optional …", "Option": "Optional …",
}  # fmt: skip

_CLOCK = "a program knows no clock: take the time as an input, or from a tool"
_CHANCE = "a program knows no chance: take the value as an input, or from a tool"

#: functions elsewhere whose value no program can know → where it comes from
OUTSIDE_FUNCTIONS: dict[str, str] = {
    **dict.fromkeys(("now", "today", "utcnow", "utc_now", "current_date", "current_time", "timestamp"), _CLOCK),
    **dict.fromkeys(("random", "rand", "randint", "uuid", "uuid4"), _CHANCE),
}

#: functions of other languages → what to write
FOREIGN_FUNCTIONS: dict[str, str] = {
    **OUTSIDE_FUNCTIONS,
    "len": "write `length(…)`", "size": "write `length(…)`",
    "str": "write `text(…)`, or put the value into a text: `\"{x}\"`",
    "string": "write `text(…)`, or put the value into a text: `\"{x}\"`",
    "print": "write `show \"{x}\"` on a line of its own", "log": "write `show \"{x}\"` on a line of its own",
    "float": "write `decimal(…)`; a Float is written `1.5f`", "bool": "compare the value: a condition is a Bool",
    "list": "a list is written `[a, b]`", "dict": "a map is written `{\"a\": 1}`", "set": "write `unique(…)`",
    "tuple": "a list is written `[a, b]`", "input": "a callable is given its inputs: `takes name as Text`",
    "open": "files are read and written by a tool", "enumerate": "go over positions: `for each i in range(0, n)`",
    "zip": "go over positions: `for each i in range(0, n)`", "map": "write `[… for x in xs]`",
    "filter": "write `[x for x in xs if …]`", "reduce": "go over the list with `for each`",
    "isinstance": "a variant is told with `x is Name`, or by the arms of a `when`",
    "type": "types are known when the program is compiled", "format": "put the value into a text: `\"{x}\"`",
    "pow": "there is no power; multiply with `*`", "divmod": "write `div` and `mod`",
    "exit": "write `stop \"…\"` on a line of its own", "sort": "write `sorted(…)`", "reverse": "write `reversed(…)`",
    "strip": "write `trim(…)`", "concat": "texts and lists are joined with `+`", "append": "write `xs + [x]`",
}  # fmt: skip

#: parts that dates have elsewhere → where they stand in the text of a date, for `slice`
DATE_PARTS: dict[str, str] = {
    "year": "0, 4", "month": "5, 7", "day": "8, 10",
}  # fmt: skip
DATETIME_PARTS: dict[str, str] = {**DATE_PARTS, "hour": "11, 13", "minute": "14, 16", "second": "17, 19"}

#: what to do where a program reads into a Json
JSON_LABEL = "a Json is only passed on; declare a `type` for what it holds, and take or give that"

#: functions that values have elsewhere → what to write; `{x}` is the value, `{a}` what stands in the brackets
FOREIGN_METHODS: dict[str, str] = {
    "append": "{x} + [{a}]", "push": "{x} + [{a}]", "add": "{x} + [{a}]", "extend": "{x} + {a}", "concat": "{x} + {a}",
    "strip": "trim({x})", "toUpperCase": "upper({x})", "toLowerCase": "lower({x})", "get": "{x}[{a}]",
    "startswith": "starts_with({x}, {a})", "startsWith": "starts_with({x}, {a})",
    "endswith": "ends_with({x}, {a})", "endsWith": "ends_with({x}, {a})", "includes": "contains({x}, {a})",
    "join": "join({a}, {x})", "size": "length({x})", "len": "length({x})", "toString": "text({x})",
    "sort": "sorted({x})", "reverse": "reversed({x})", "update": "merge({x}, {a})", "substring": "slice({x}, {a})",
    "entries": "items({x})", "filter": "[x for x in {x} if …]", "map": "[… for x in {x}]",
    "forEach": "for each x in {x}", "some": "any([… for x in {x}])", "every": "all([… for x in {x}])",
}  # fmt: skip

#: clauses of callables elsewhere → the word of the clause that was meant
FOREIGN_CLAUSES: dict[str, str] = {
    "->": "gives", "returns": "gives", "return": "gives", "output": "gives", "outputs": "gives", "yields": "gives",
    "input": "takes", "inputs": "takes", "params": "takes", "parameters": "takes", "args": "takes", "accepts": "takes",
    "begin": "do", "body": "do",
}  # fmt: skip

#: first words of lines of tests elsewhere → what to write
FOREIGN_TEST_LINES: dict[str, str] = {
    **dict.fromkeys(("assert", "should", "check", "then", "require"), "write `expect result is …`"),
    **dict.fromkeys(("mock", "stub", "patch", "when"), "write `given tool T gives …`"),
    **dict.fromkeys(("call", "do", "act"), "write `run Name(…)`"),
    "verify": "write `expect calls T 1 times`",
    "raises": "write `expect status is failed`",
    **dict.fromkeys(("let", "var", "const"), "a test has no names; write the value where it is used"),
}

#: signs of comparison behind a type → the word of the constraint that was meant
FOREIGN_BOUNDS: dict[str, str] = {">": "above", ">=": "min", "<": "below", "<=": "max"}

#: words behind a type elsewhere → what to write
FOREIGN_CONSTRAINTS: dict[str, str] = {
    "between": "write `min 1 max 3`", "range": "write `min 1 max 3`", "in": "write `min 1 max 3`",
    "default": "a field has no default: make it `Optional`, or give the value where it is made",
    "pattern": "write `matching \"…\"`", "regex": "write `matching \"…\"`",
    "maxlength": "write `length max 10`", "minlength": "write `length min 1`",
    "required": "remove it: a value is always there, unless its type is `Optional`",
    "not": "remove it: a value is always there, unless its type is `Optional`",
    "nullable": "write `Optional` before the type",
}  # fmt: skip

#: units of time that do not exist → what to write
FOREIGN_UNITS: dict[str, str] = {
    "s": "seconds", "sec": "seconds", "secs": "seconds", "ms": "seconds", "milliseconds": "seconds",
    "m": "minutes", "min": "minutes", "mins": "minutes", "h": "hours", "hr": "hours", "hrs": "hours",
    "d": "days", "week": "days", "weeks": "days", "month": "days", "months": "days", "year": "days", "years": "days",
}  # fmt: skip

#: letters that other languages put before a text
TEXT_PREFIXES: dict[str, str] = {
    "f": "every text may have `{…}`; write it without `f`",
    "r": 'a text without escapes is written `raw """…"""`',
    "b": "a text has no bytes; write it without `b`",
    "u": "write it without `u`",
    "rb": "a text has no bytes; write it without `rb`",
    "rf": 'a text without escapes is written `raw """…"""`',
}

#: code points that look like white space → what they are called
BLANKS: dict[str, str] = {
    "\u00a0": "no-break space", "\u1680": "ogham space", "\u202f": "narrow no-break space", "\u205f": "math space",
    "\u3000": "wide space", "\u200b": "zero-width space", "\u200c": "zero-width non-joiner",
    "\u200d": "zero-width joiner", "\u2060": "word joiner", "\u00ad": "soft hyphen",
    **{chr(code): "wide or narrow space" for code in range(0x2000, 0x200B)},
}  # fmt: skip

#: quotation marks for `"`
QUOTES: frozenset[str] = frozenset("“”„‟«»‹›‘’‚‛″＂＇「」『』")

#: other signs → the ASCII that was meant
LOOK_ALIKES: dict[str, str] = {
    "–": "-", "—": "-", "−": "-", "‐": "-", "‑": "-", "‒": "-", "―": "-", "﹣": "-",
    "×": "*", "∗": "*", "·": "*", "⋅": "*", "÷": "/", "∕": "/", "⁄": "/", "∶": ":", "꞉": ":",
    "≤": "<=", "≥": ">=", "≠": "is not", "≡": "is", "∧": "and", "∨": "or", "¬": "not", "∈": "in", "∉": "not in",
    "…": "...", "،": ",", "、": ",", "。": ".", "․": ".", "′": "'", "`": "'", "；": ";", "⟨": "<", "⟩": ">",
    **{chr(code + 0xFEE0): chr(code) for code in range(0x21, 0x7F) if chr(code) not in "\"'"
       and not chr(code).isalnum()},
}  # fmt: skip

#: letters of other scripts → the ASCII letter that they look like
LETTERS: dict[str, str] = {
    # Cyrillic
    **dict(zip("АВСЕНІЈКМОРЅТУХЗ", "ABCEHIJKMOPSTYXZ", strict=True)),
    **dict(zip("асԁеһіјкӏморԛѕтуѵԝх", "acdehijklmopqstyvwx", strict=True)),
    # Greek
    **dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABEZHIKMNOPTYX", strict=True)),
    **dict(zip("αικνορτυχ", "aikvoptux", strict=True)),
    # full width
    **{chr(code + 0xFEE0): chr(code) for code in range(0x21, 0x7F) if chr(code).isalnum()},
}

#: names longer than this are not compared
LONGEST_COMPARED = 64


def near(name: str, candidates: Iterable[str]) -> str | None:
    """The one candidate that ``name`` was probably meant to be, or None.

    The distance is that of the optimal string alignment (a letter too many, too few, wrong, or two swapped), without
    case and `_`; at most a third of the name may be wrong. Of equally near ones the first by the alphabet wins.

    Example:
        >>> near("ammount", ["amount", "due"])
        'amount'
    """
    if len(name) > LONGEST_COMPARED:
        return None
    plain = _plain(name)
    limit = max(1, len(plain) // 3)
    best: tuple[int, str] | None = None
    for candidate in candidates:
        if candidate == name or abs(len(candidate) - len(name)) > limit + name.count("_") + candidate.count("_"):
            continue
        apart = distance(plain, _plain(candidate), limit)
        if apart is None or (apart and apart >= len(plain)):
            continue
        if best is None or (apart, candidate) < best:
            best = (apart, candidate)
    return best[1] if best else None


def _plain(name: str) -> str:
    return name.replace("_", "").lower()
