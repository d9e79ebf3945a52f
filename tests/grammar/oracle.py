"""The grammar of docs/grammar.md as a program: sentences made from it, and whether a text is one."""

from __future__ import annotations

import datetime
import random
import re
from functools import cache
from pathlib import Path
from typing import Any

from lark import Lark, Tree
from lark.exceptions import LarkError
from lark.grammar import NonTerminal, Rule
from lark.indenter import DedentError, Indenter
from lark.lexer import PatternStr

from touba_cli.language.hints import FOREIGN_VALUES

GRAMMAR = Path(__file__).resolve().parent / "touba.lark"


class Layout(Indenter):
    """Indentation as the language has it: no line ends inside brackets."""

    NL_type = "_NL"
    OPEN_PAREN_types = ["LPAR", "LSQB", "LBRACE"]  # noqa: RUF012
    CLOSE_PAREN_types = ["RPAR", "RSQB", "RBRACE"]  # noqa: RUF012
    INDENT_type = "_INDENT"
    DEDENT_type = "_DEDENT"
    tab_len = 8


#: terminal → the word that it is
KEYWORDS: dict[str, str] = {}


def _grammar() -> str:
    """The grammar, its words made to end where no letter, digit or `_` follows."""

    def keyword(match: re.Match[str]) -> str:
        name = f"WORD_{match[1].upper()}"
        KEYWORDS[name] = match[1]
        return name

    rules, mark, terminals = GRAMMAR.read_text("utf-8").partition("// tokens\n")
    rules = re.sub(r'"([A-Za-z_]+)"', keyword, rules)
    words = "".join(f"{name}.1: /{word}(?![A-Za-z0-9_])/\n" for name, word in KEYWORDS.items())
    return rules + mark + words + terminals


@cache
def parser() -> Lark:
    return Lark(_grammar(), parser="lalr", start=["file", "expr"], postlex=Layout(), maybe_placeholders=False)


# --- sentences --------------------------------------------------------------------------------------------------------


class Piece:
    """A token as it is written. ``inner`` holds the interpolations of a text, each a list of pieces."""

    __slots__ = ("inner", "kind", "text")

    def __init__(self, kind: str, text: str, inner: tuple[list[Piece], ...] = ()):
        self.kind = kind
        self.text = text
        self.inner = inner


class Row:
    """A line: how deep it is, and what stands in it."""

    __slots__ = ("level", "pieces")

    def __init__(self, level: int, pieces: list[Piece]):
        self.level = level
        self.pieces = pieces


WORDS = {
    "NAME": ("a", "b", "item", "total_2", "x1_y", "type", "key", "agent", "steps", "by", "times", "days", "list"),
    "HIDDEN": ("_a", "_unused", "_"),
    "CAP": ("A", "Invoice", "Low", "Text", "Int", "M2", "TwoWords"),
    "SORTED": ("sorted",),
    "UNIT": ("seconds", "minute", "hours", "days"),
    "INT": ("0", "1", "42", "1_000", "9223372036854775807"),
    "DECIMAL": ("0.5", "12.50", "1_000.25"),
    "FLOAT": ("1f", "1.5f", "1e-3f", "2.5e+10f"),
    "PATTERN": ('"[A-Z]{2}"', '"a+\\d"', '"x"'),
}
PLAIN = ('"x"', '"a b"', '"\\n\\"q\\""', '"\\{no}"', '"\\u{e9}"', '"é — ü"')
DATES = {
    "date": ('"2026-01-31"', '"2024-02-29"'),
    "datetime": ('"2026-01-31T09:30:00Z"', '"2026-01-31T09:30:00.5+02:00"'),
}


class Sentences:
    """Makes sentences of the grammar, no longer than about ``fuel`` tokens."""

    def __init__(self, source: random.Random, fuel: int):
        self.random = source
        self.fuel = fuel
        self.texts = 0  # texts around the place
        self.rules = _rules()
        self.costs = _costs()
        self.terminals = {each.name: each.pattern for each in parser().terminals}

    def file(self) -> list[Row]:
        """The lines of a file that begins with its `module` line."""
        rows = [Row(0, [Piece("", "module"), Piece("NAME", "m")])]
        for _ in range(self.random.choice((0, 0, 1))):
            self._lines("import_line", rows)
        for _ in range(self.random.choice((1, 1, 2, 3))):
            self._lines("declaration", rows)
        return rows

    def expression(self) -> list[Piece]:
        found: list[Piece] = []
        self._expand("expr", found)
        return found

    def _lines(self, symbol: str, rows: list[Row]) -> None:
        found: list[Piece] = []
        self._expand(symbol, found)
        level = 0
        pieces: list[Piece] = []
        for piece in found:
            if piece.kind == "_NL":
                if pieces:
                    rows.append(Row(level, pieces))
                pieces = []
            elif piece.kind in ("_INDENT", "_DEDENT"):
                level += 1 if piece.kind == "_INDENT" else -1
            else:
                pieces.append(piece)

    def _expand(self, symbol: str, found: list[Piece]) -> None:
        """Add a random expansion of a rule; when the fuel is spent, a shortest one."""
        options = self.rules[symbol]
        if self.fuel <= 0:
            cheapest = min(map(self._cost, options))
            options = [rule for rule in options if self._cost(rule) == cheapest]
        rule = self.random.choice(options)
        for position, part in enumerate(rule.expansion):
            if rule.alias == "member" and position == 0:
                self._path(found)
            elif isinstance(part, NonTerminal):
                self._expand(part.name, found)
            else:
                self.fuel -= 1
                found.append(self._token(part.name, found))

    def _path(self, found: list[Piece]) -> None:
        """What a capital may follow: names with dots between them."""
        found.append(self._token(self.random.choice(("NAME", "NAME", "CAP")), found))
        if self.random.random() < 0.3:
            found += [Piece("", "."), self._token("NAME", found)]

    def _cost(self, rule: Rule) -> int:
        return sum(self.costs.get(part.name, 1) for part in rule.expansion)

    def _token(self, name: str, before: list[Piece]) -> Piece:
        if name in ("_NL", "_INDENT", "_DEDENT"):
            return Piece(name, "")
        if name in WORDS:
            return Piece(name, self.random.choice(WORDS[name]))
        if name == "PLAIN":
            dates = DATES.get(before[-1].text, PLAIN)
            return Piece(name, self.random.choice(dates))
        if name == "TEXT":
            return self._text()
        if name == "BLOCK":
            return Piece(name, "block")
        if name in KEYWORDS:
            return Piece(name, KEYWORDS[name])
        pattern = self.terminals[name]
        assert isinstance(pattern, PatternStr)
        return Piece(name, pattern.value)

    def _text(self) -> Piece:
        if self.texts == 2 or self.fuel <= 0 or self.random.random() < 0.6:
            return Piece("TEXT", self.random.choice(PLAIN))
        self.texts += 1
        whole, self.fuel = self.fuel, min(self.fuel, 6)
        inner = self.expression()
        self.texts -= 1
        self.fuel = whole
        if any(piece.kind == "BLOCK" for piece in inner):  # a text block has lines of its own
            return Piece("TEXT", '"x"')
        return Piece("TEXT", "", (inner,))


@cache
def _rules() -> dict[str, list[Rule]]:
    found: dict[str, list[Rule]] = {}
    for rule in parser().rules:
        found.setdefault(rule.origin.name, []).append(rule)
    return found


@cache
def _costs() -> dict[str, int]:
    """The least number of tokens of every rule."""
    costs: dict[str, int] = {}
    rules = _rules()
    changed = True
    while changed:
        changed = False
        for name, options in rules.items():
            for rule in options:
                parts = [costs.get(part.name) if isinstance(part, NonTerminal) else 1 for part in rule.expansion]
                if all(part is not None for part in parts):
                    cost = sum(part or 0 for part in parts)
                    if cost < costs.get(name, cost + 1):
                        costs[name] = cost
                        changed = True
    return costs


# --- mutations --------------------------------------------------------------------------------------------------------


def mutate(source: random.Random, rows: list[Row]) -> None:
    """Change one thing: a token, a line, or how deep a line is."""
    at = source.randrange(len(rows))
    row = rows[at]
    kind = source.choice(("drop", "double", "swap", "replace", "insert", "line", "lines", "deeper", "inner"))
    texts = [piece for piece in row.pieces if piece.inner]
    if kind == "inner" and texts:
        _mutate_pieces(source, source.choice(source.choice(texts).inner), source.choice(("drop", "replace", "insert")))
    elif kind == "line" and len(rows) > 1:
        del rows[at]
    elif kind == "lines":
        other = source.randrange(len(rows))
        rows[at], rows[other] = rows[other], rows[at]
    elif kind == "deeper":
        row.level = max(0, row.level + source.choice((-1, 1)))
    else:
        _mutate_pieces(source, row.pieces, kind)
    for each in [each for each in rows if not each.pieces]:
        rows.remove(each)


def _mutate_pieces(source: random.Random, pieces: list[Piece], kind: str) -> None:
    at = source.randrange(len(pieces))
    if kind == "drop":
        del pieces[at]
    elif kind == "double":
        pieces.insert(at, pieces[at])
    elif kind == "swap" and len(pieces) > 1:
        other = source.randrange(len(pieces))
        pieces[at], pieces[other] = pieces[other], pieces[at]
    elif kind == "replace":
        pieces[at] = any_piece(source)
    else:
        pieces.insert(at, any_piece(source))


def any_piece(source: random.Random) -> Piece:
    """Any token of the language."""
    if source.random() < 0.5:
        signs = [each.pattern.value for each in parser().terminals if isinstance(each.pattern, PatternStr)]
        return Piece("", source.choice([*signs, *KEYWORDS.values()]))
    name = source.choice(("NAME", "NAME", "CAP", "INT", "DECIMAL", "UNIT", "TEXT", "HIDDEN", "FLOAT"))
    return Piece(name, source.choice(WORDS.get(name, PLAIN)))


# --- texts ------------------------------------------------------------------------------------------------------------


def written(rows: list[Row], *, whole: bool = True) -> str:
    """The text of some lines; without ``whole`` every interpolation is a plain name, for the oracle."""
    return "".join("    " * row.level + _line(row, whole) + "\n" for row in rows)


def _line(row: Row, whole: bool) -> str:
    margin = "    " * (row.level + 2)
    return " ".join(_piece(piece, whole, margin) for piece in row.pieces)


def _piece(piece: Piece, whole: bool, margin: str = "") -> str:
    if piece.kind == "BLOCK":
        return f'"""\n{margin}one\n\n{margin}  two\n{margin}"""'
    if not piece.inner:
        return piece.text
    parts = (" ".join(_piece(each, whole) for each in inner) if whole else "x" for inner in piece.inner)
    return '"a {' + "} b {".join(parts) + '} c"'


# --- the oracle -------------------------------------------------------------------------------------------------------


def is_sentence(rows: list[Row]) -> bool:
    """Whether lines are a file of the language, by the grammar and the few rules that stand besides it."""
    # The line end before makes the first line like all others: a deeper one is seen.
    return _parses("\n" + written(rows, whole=False), "file") and all(
        is_expression(inner) for row in rows for piece in row.pieces for inner in piece.inner
    )


def is_expression(pieces: list[Piece]) -> bool:
    text = " ".join(_piece(piece, False) for piece in pieces)
    return _parses(text, "expr") and all(is_expression(inner) for piece in pieces for inner in piece.inner)


def _parses(text: str, start: str) -> bool:
    try:
        tree = parser().parse(text, start=start)
    except (LarkError, DedentError):
        return False
    return all(_is_sound(node) for node in tree.iter_subtrees()) if isinstance(tree, Tree) else True


def _is_sound(node: Tree[Any]) -> bool:
    """What the grammar does not say: dates exist, wire names are not empty, capitals follow names, `null` is none."""
    children = node.children
    if node.data == "date":
        word, text = node_text(node), str(children[-1])[1:-1]
        return _is_date(text[:10]) and (len(text) == 10) == (word == "date") and _is_time(text[10:])
    if node.data == "field" and str(children[-1]).startswith('"'):
        return str(children[-1]) != '""'
    if node.data == "member":
        return _is_path(children[0])
    return not (node.data in ("name", "capital") and len(children) == 1 and str(children[0]) in FOREIGN_VALUES)


def node_text(node: Tree[Any]) -> str:
    """`date` or `datetime`: the grammar filters these words, so they are told by the length of the text."""
    return "date" if len(str(node.children[-1])) == 12 else "datetime"


def _is_path(node: Any) -> bool:
    """`a`, `a.b`, `A`, `a.B`: names with dots between them."""
    while isinstance(node, Tree) and node.data in ("field", "member"):
        if len(node.children) > 2:
            return False
        node = node.children[0]
    return isinstance(node, Tree) and node.data in ("name", "capital") and len(node.children) == 1


def _is_date(text: str) -> bool:
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII):
        return False
    try:
        datetime.date(int(text[:4]), int(text[5:7]), int(text[8:]))
    except ValueError:
        return False
    return True


def _is_time(text: str) -> bool:
    return text == "" or re.fullmatch(r"T\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)", text, re.ASCII) is not None
