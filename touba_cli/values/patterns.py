"""Patterns of the constraint `matching`: a subset of regular expressions that is matched in linear time.

A pattern is about the whole value. It has

* characters, ``.`` (any but a line feed), classes ``[a-z_]`` and ``[^…]``;
* ``\\d \\w \\s`` and their opposites ``\\D \\W \\S``, all of ASCII: digits, letters with digits and ``_``, and
  space, tab, line feed, vertical tab, form feed, carriage return;
* escapes ``\\n \\t \\r``, ``\\u{2014}``, and a backslash before any ASCII sign that is no letter and no digit;
* groups ``(…)`` and ``(?:…)``, ``|``, and ``* + ? {3} {2,} {2,5}``.

``^`` may stand at the beginning and ``$`` at the end, where they say what holds anyway. Everything else is refused with
its place: look-around, references, flags, lazy and possessive repeats. So is a pattern that needs more than
`PATTERN_STATES` states: that is counted when the program is compiled (`check_pattern`), so no value can make matching
slow. The automaton has at most one state for every set of places in the pattern that can be reached by one text; states
and their moves are made when a value first needs them.
"""

from __future__ import annotations

from ..limits import PATTERN_CHARACTERS, PATTERN_DEPTH, PATTERN_STATES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    #: characters, as ranges of code points, first and last, sorted and apart from each other
    Set: TypeAlias = tuple[tuple[int, int], ...]

LAST = 0x10FFFF
_DIGITS: Set = ((48, 57),)
_LETTERS: Set = ((48, 57), (65, 90), (95, 95), (97, 122))
_BLANKS: Set = ((9, 13), (32, 32))
_DOT: Set = ((0, 9), (11, LAST))
_CLASSES = {"d": _DIGITS, "w": _LETTERS, "s": _BLANKS}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_SIGNS = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ ")
_HEX = frozenset("0123456789abcdefABCDEF")


class PatternInvalid(Exception):
    """A pattern that is refused: why, and from where to where in it."""

    def __init__(self, message: str, start: int, end: int):
        super().__init__(message)
        self.message = message
        self.start = start
        self.end = end


# --- what a pattern is made of ----------------------------------------------------------------------------------------


class Node:
    """A part of a pattern. ``kind``:

    ``set``     one character of ``characters``
    ``row``     all of ``parts``, one after the other
    ``either``  one of ``parts``
    ``repeat``  the only part, from ``low`` to ``high`` times (None: any number)
    """

    __slots__ = ("characters", "high", "kind", "low", "parts", "size")

    def __init__(
        self,
        kind: str,
        parts: tuple[Node, ...] = (),
        characters: Set = (),
        low: int = 1,
        high: int | None = 1,
    ):
        self.kind = kind
        self.parts = parts
        self.characters = characters
        self.low = low
        self.high = high
        inside = sum(part.size for part in parts)
        #: how many places of characters it has, repeats written out
        self.size: int = 1 if kind == "set" else inside
        if kind == "repeat":
            self.size = inside * (max(low, 1) if high is None else high)


def parse(pattern: str) -> Node:
    """The parts of a pattern. Raises PatternInvalid."""
    return _Parser(pattern).read()


class _Parser:
    def __init__(self, pattern: str):
        self.pattern = pattern
        self.at = 0
        self.depth = 0

    def read(self) -> Node:
        if len(self.pattern) > PATTERN_CHARACTERS:
            raise PatternInvalid(f"a pattern has at most {PATTERN_CHARACTERS} characters", 0, len(self.pattern))
        found = self._either()
        if self.at < len(self.pattern):
            raise self._refuse("this `)` closes nothing; write `\\)` for the character", 1)
        return found

    def _refuse(self, message: str, length: int = 1, start: int | None = None) -> PatternInvalid:
        start = self.at if start is None else start
        return PatternInvalid(message, start, max(min(start + length, len(self.pattern)), start))

    def _next(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def _either(self) -> Node:
        self.depth += 1
        if self.depth > PATTERN_DEPTH:
            raise self._refuse(f"groups are nested deeper than {PATTERN_DEPTH}")
        ways = [self._row()]
        while self._next() == "|":
            self.at += 1
            ways.append(self._row())
        self.depth -= 1
        return ways[0] if len(ways) == 1 else Node("either", tuple(ways))

    def _row(self) -> Node:
        parts: list[Node] = []
        start = self.at
        while self._next() not in ("", "|", ")"):
            sign = self._next()
            if sign in "^$" and self.depth == 1:
                is_edge = self.at == start if sign == "^" else self.pattern[self.at + 1 : self.at + 2] in ("", "|")
                if is_edge:
                    self.at += 1
                    continue
            parts.append(self._repeated(self._one()))
        return parts[0] if len(parts) == 1 else Node("row", tuple(parts))

    def _one(self) -> Node:
        sign = self._next()
        if sign == "(":
            return self._group()
        if sign == "[":
            return Node("set", characters=self._class())
        if sign == ".":
            self.at += 1
            return Node("set", characters=_DOT)
        if sign == "\\":
            return Node("set", characters=self._escape())
        if sign in "*+?{":
            what = "a quantity stands behind nothing" if sign != "{" else "this is no quantity behind something"
            raise self._refuse(f"{what}; write `\\{sign}` for the character")
        if sign in "]}":
            raise self._refuse(f"this `{sign}` closes nothing; write `\\{sign}` for the character")
        if sign in "^$":
            raise self._refuse(f"a pattern is about the whole value anyway; write `\\{sign}` for the character")
        self.at += 1
        return Node("set", characters=((ord(sign), ord(sign)),))

    def _group(self) -> Node:
        start = self.at
        self.at += 1
        if self._next() == "?":
            if self.pattern[self.at + 1 : self.at + 2] != ":":
                length = 2
                while self.pattern[start + length : start + length + 1] in ("<", "=", "!", "P"):
                    length += 1
                raise self._refuse(
                    "look-around, named groups and flags are not part of patterns; write `(…)`", length, start
                )
            self.at += 2
        found = self._either()
        if self._next() != ")":
            raise self._refuse("this `(` is not closed", 1, start)
        self.at += 1
        return found

    # --- quantities -------------------------------------------------------------------------------------------------

    def _repeated(self, one: Node) -> Node:
        start = self.at
        sign = self._next()
        if sign == "" or sign not in "*+?{":
            return one
        low, high = {"*": (0, None), "+": (1, None), "?": (0, 1), "{": (0, 0)}[sign]
        self.at += 1
        if sign == "{":
            low, high = self._counts(start)
        found = Node("repeat", (one,), low=low, high=high)
        if found.size > PATTERN_STATES:
            raise PatternInvalid(f"the pattern needs more than {PATTERN_STATES} states", start, self.at)
        after = self._next()
        if after != "" and after in "?+":
            raise self._refuse("lazy and possessive quantities mean nothing where the whole value is matched")
        if after != "" and after in "*{":
            raise self._refuse("two quantities stand behind each other; write `(…)` around the first")
        return found

    def _counts(self, start: int) -> tuple[int, int | None]:
        end = self.pattern.find("}", start)
        text = self.pattern[start + 1 : end] if end >= 0 else ""
        low, comma, high = text.partition(",")
        if not _is_count(low) or (high and not _is_count(high)):
            raise self._refuse("a quantity is `{3}`, `{2,}` or `{2,5}`; write `\\{` for the character", 1, start)
        self.at = end + 1
        least = int(low)
        most: int | None = least
        if comma:
            most = int(high) if high else None
        if most is not None and most < least:
            raise self._refuse(f"no quantity is from {least} to {most}", end + 1 - start, start)
        return least, most

    # --- characters -------------------------------------------------------------------------------------------------

    def _escape(self) -> Set:
        start = self.at
        letter = self.pattern[start + 1 : start + 2]
        if letter.lower() in _CLASSES and letter:
            self.at += 2
            found = _CLASSES[letter.lower()]
            return found if letter.islower() else _opposite(found)
        character = self._escaped(start, letter)
        return ((ord(character), ord(character)),)

    def _escaped(self, start: int, letter: str) -> str:
        if letter in _ESCAPES and letter:
            self.at += 2
            return _ESCAPES[letter]
        if letter == "u":
            return self._code_point(start)
        if letter in _SIGNS and letter:
            self.at += 2
            return letter
        if not letter:
            raise self._refuse("a backslash stands at the end", 1, start)
        if letter.isdigit():
            raise self._refuse("references to groups are not part of patterns", 2, start)
        raise self._refuse(f"`\\{letter}` is no escape of patterns" if letter.isprintable() else "no escape", 2, start)

    def _code_point(self, start: int) -> str:
        end = self.pattern.find("}", start)
        digits = self.pattern[start + 3 : end] if end >= 0 and self.pattern[start + 2 : start + 3] == "{" else ""
        if not 1 <= len(digits) <= 6 or not _HEX.issuperset(digits):
            raise self._refuse("a code point is written `\\u{2014}`", 2, start)
        code = int(digits, 16)
        if code > LAST or 0xD800 <= code <= 0xDFFF:
            raise self._refuse("this is no Unicode scalar value", end + 1 - start, start)
        self.at = end + 1
        return chr(code)

    def _class(self) -> Set:
        start = self.at
        self.at += 1
        negative = self._next() == "^"
        if negative:
            self.at += 1
        ranges: list[tuple[int, int]] = []
        while self._next() != "]":
            if not self._next():
                raise self._refuse("this `[` is not closed", 1, start)
            ranges.extend(self._class_part())
        if not ranges:
            raise self._refuse("a class has at least one character; write `\\]` for the character", 2, start)
        self.at += 1
        found = _settled(ranges)
        return _opposite(found) if negative else found

    def _class_part(self) -> Set:
        start = self.at
        low = self._class_character()
        if len(low) > 1 or low[0][0] != low[0][1] or self._next() != "-":
            return low
        if self.pattern[self.at + 1 : self.at + 2] in ("]", ""):
            return low  # a `-` at the end is itself
        self.at += 1
        high = self._class_character()
        if len(high) > 1 or high[0][0] != high[0][1]:
            raise self._refuse("a range goes from one character to another", self.at - start, start)
        if low[0][0] > high[0][0]:
            raise self._refuse("this range goes backwards", self.at - start, start)
        return ((low[0][0], high[0][0]),)

    def _class_character(self) -> Set:
        sign = self._next()
        if sign == "\\":
            return self._escape()
        if sign == "[":
            raise self._refuse("write `\\[` for the character inside of a class")
        self.at += 1
        return ((ord(sign), ord(sign)),)


def _is_count(text: str) -> bool:
    return 1 <= len(text) <= 4 and text.isascii() and text.isdigit()


def _settled(ranges: list[tuple[int, int]]) -> Set:
    """Ranges sorted, and joined where they touch."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if found and low <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return tuple(found)


def _opposite(ranges: Set) -> Set:
    found = []
    start = 0
    for low, high in ranges:
        if low > start:
            found.append((start, low - 1))
        start = high + 1
    if start <= LAST:
        found.append((start, LAST))
    return tuple(found)


# --- places, and what follows what ------------------------------------------------------------------------------------


class _Places:
    """The places of a pattern, as an automaton of positions: a set of places is a whole number, one bit each.

    Bit 0 is the place before the first character. ``follow[n]`` are the places that can come right after place n,
    ``last`` those at which a text may end.
    """

    def __init__(self, node: Node):
        self.characters: list[Set] = [()]
        self.follow: list[int] = [0]
        can_be_empty, first, last = self._add(node)
        self.follow[0] = first
        self.last = last | (1 if can_be_empty else 0)

    def _add(self, node: Node) -> tuple[bool, int, int]:
        """Add the places of a part: whether it can be empty, its first places and its last ones."""
        if node.kind == "set":
            place = 1 << len(self.follow)
            self.follow.append(0)
            self.characters.append(node.characters)
            return False, place, place
        if node.kind == "either":
            ways = [self._add(part) for part in node.parts]
            first = last = 0
            for _, begins, ends in ways:
                first |= begins
                last |= ends
            return any(way[0] for way in ways), first, last
        if node.kind == "row":
            return self._row([self._add(part) for part in node.parts])
        part = node.parts[0]
        if node.high is None:
            found = self._row([self._add(part) for _ in range(max(node.low, 1) - 1)])
            can_be_empty, first, last = self._add(part)
            self._link(last, first)
            whole = self._row([found, (can_be_empty or node.low == 0, first, last)])
            return (whole[0] or node.low == 0, whole[1], whole[2])
        copies = [self._add(part) for _ in range(node.high)]
        copies = [(empty or at >= node.low, first, last) for at, (empty, first, last) in enumerate(copies)]
        return self._row(copies)

    def _row(self, parts: list[tuple[bool, int, int]]) -> tuple[bool, int, int]:
        can_be_empty, first, last = True, 0, 0
        for empty, begins, ends in parts:
            self._link(last, begins)
            if can_be_empty:
                first |= begins
            last = ends | (last if empty else 0)
            can_be_empty = can_be_empty and empty
        return can_be_empty, first, last

    def _link(self, before: int, after: int) -> None:
        for place in _bits(before):
            self.follow[place] |= after


def _bits(places: int) -> list[int]:
    found = []
    while places:
        lowest = places & -places
        found.append(lowest.bit_length() - 1)
        places ^= lowest
    return found


# --- the automaton ----------------------------------------------------------------------------------------------------


class _State:
    """A set of places that some text leads to. ``moves``: character → state, for those met so far."""

    __slots__ = ("accepts", "after", "moves", "places", "targets")

    def __init__(self, places: int, after: int, accepts: bool):
        self.places = places
        #: places that can come next, whatever the character
        self.after = after
        self.accepts = accepts
        self.moves: dict[str, _State | None] = {}
        #: group of characters → state
        self.targets: dict[int, _State | None] = {}


class Pattern:
    """A pattern that values can be matched with.

    >>> Pattern("[A-Z]{2}[0-9]{6}").matches("AB123456")
    True
    """

    __slots__ = ("_edges", "_masks", "_places", "_start", "_states", "source")

    def __init__(self, source: str):
        """Raises PatternInvalid; a pattern with too many states is only found out by `check_pattern`."""
        node = parse(source)
        if node.size > PATTERN_STATES:
            raise PatternInvalid(f"the pattern needs more than {PATTERN_STATES} states", 0, len(source))
        self.source = source
        self._places = _Places(node)
        #: first code points of the groups of characters that no place tells apart, ascending
        self._edges = self._find_edges()
        #: group → the places that take its characters
        self._masks = self._find_masks()
        self._states: dict[int, _State] = {}
        self._start = self._state(1)

    def _find_edges(self) -> list[int]:
        edges = {0}
        for characters in self._places.characters:
            for low, high in characters:
                edges.add(low)
                edges.add(high + 1)
        return sorted(edges)

    def _find_masks(self) -> list[int]:
        masks = [0] * len(self._edges)
        number = {edge: at for at, edge in enumerate(self._edges)}
        for place, characters in enumerate(self._places.characters):
            for low, high in characters:
                for group in range(number[low], number[high + 1]):
                    masks[group] |= 1 << place
        return masks

    def matches(self, text: str) -> bool:
        """Whether the whole text matches. Takes time in proportion to its length."""
        state: _State | None = self._start
        for character in text:
            assert state is not None
            state = state.moves[character] if character in state.moves else self._move(state, character)
            if state is None:
                return False
        assert state is not None
        return state.accepts

    def _move(self, state: _State, character: str) -> _State | None:
        code = ord(character)
        found = self._target(state, self._group(code))
        if code < 128 or len(state.moves) < 256:
            state.moves[character] = found  # of all characters there are too many to keep them
        return found

    def _group(self, code: int) -> int:
        """The group that a code point belongs to."""
        edges = self._edges
        low, high = 0, len(edges)
        while high - low > 1:
            middle = (low + high) // 2
            if edges[middle] <= code:
                low = middle
            else:
                high = middle
        return low

    def _target(self, state: _State, group: int) -> _State | None:
        if group in state.targets:
            return state.targets[group]
        places = state.after & self._masks[group]
        found = state.targets[group] = self._state(places) if places else None
        return found

    def _state(self, places: int) -> _State:
        found = self._states.get(places)
        if found is None:
            after = 0
            for place in _bits(places):
                after |= self._places.follow[place]
            found = self._states[places] = _State(places, after, bool(places & self._places.last))
        return found

    def count_states(self, most: int) -> int:
        """How many states the automaton has; stops counting where there are more than ``most``."""
        waiting = [self._start]
        seen = {1}
        while waiting:
            state = waiting.pop()
            for group in range(len(self._masks)):
                found = self._target(state, group)
                if found is not None and found.places not in seen:
                    seen.add(found.places)
                    if len(seen) > most:
                        return len(seen)
                    waiting.append(found)
        return len(seen)


def check_pattern(source: str) -> int:
    """Refuse what is no pattern, and a pattern with too many states; gives how many it has. Raises PatternInvalid."""
    states = Pattern(source).count_states(PATTERN_STATES)
    if states > PATTERN_STATES:
        raise PatternInvalid(f"the pattern needs more than {PATTERN_STATES} states", 0, len(source))
    return states


# --- the same in other words ------------------------------------------------------------------------------------------


def json_pattern(source: str) -> str:
    """The pattern for a JSON Schema: anchored, with classes of ASCII written out. Raises PatternInvalid.

    >>> json_pattern("[a-f]+|\\\\d{4}")
    '^(?:[a-f]+|[0-9]{4})$'
    """
    return f"^(?:{_written(parse(source))})$"


def _written(node: Node) -> str:
    if node.kind == "set":
        return _written_set(node.characters)
    if node.kind == "row":
        return "".join(f"(?:{_written(part)})" if part.kind == "either" else _written(part) for part in node.parts)
    if node.kind == "either":
        return "|".join(map(_written, node.parts))
    part = node.parts[0]
    inside = _written(part) if part.kind == "set" else f"(?:{_written(part)})"
    short = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((node.low, node.high))
    if short is not None:
        return inside + short
    if node.high is None:
        return f"{inside}{{{node.low},}}"
    return f"{inside}{{{node.low}}}" if node.low == node.high else f"{inside}{{{node.low},{node.high}}}"


def _written_set(characters: Set) -> str:
    if len(characters) == 1 and characters[0][0] == characters[0][1]:
        return _written_character(characters[0][0])
    opposite = _opposite(characters)
    if len(opposite) < len(characters) or characters[-1][1] == LAST:
        return f"[^{_written_ranges(opposite)}]" if opposite else "(?:.|\\n|\\r|\\u2028|\\u2029)"
    return f"[{_written_ranges(characters)}]"


def _written_ranges(characters: Set) -> str:
    found = []
    for low, high in characters:
        found.append(_written_character(low))
        if high > low:
            found.append(("-" if high > low + 1 else "") + _written_character(high))
    return "".join(found)


def _written_character(code: int) -> str:
    character = chr(code)
    if character.isascii() and (character.isalnum() or character in "_ "):
        return character
    if code < 32 or code == 127:
        return f"\\x{code:02x}"
    return f"\\{character}" if character in "\\^$.*+?()[]{}|/-" else character
