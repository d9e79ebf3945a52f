"""Instructions of AIR as Python: whole functions, whole skills and strategies, and *regions* of any callable.

A function becomes one Python function: its slots are local variables, its loops Python loops. A region begins at some
instruction of a frame and goes as far as control can without the machine: it loads the slots, runs, stores them, and
says where the frame now stands. Every path out of it is an exit, so whatever does not fit (a jump that is neither a
branch nor the end or the back edge of a loop, one instruction too large to compile) ends a region, and another region
or the interpreter goes on there. A function that would need such an exit is run by regions too. A skill or strategy
that is called directly is one Python function like a function, and an exit hands it over: see `generate_sites`.

`Writer.write` gives the source of one piece. What holds for both engines: the same value or failure, the same place,
the same steps at every charge.
"""

from __future__ import annotations

from ..air.costs import instruction_expressions
from .functions import applies
from .generate_expr import MOST_LOOPS, Expressions
from .generate_sites import MOST_SLOTS, Sites
from .generate_text import Refused, Source
from .interpreter import literal_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..air.program import Callable as Declared
    from ..values.check import TypeTable
    from .generate_facts import CodeFacts

#: lines of one piece
MOST_LINES = 2_000
#: what the exits of one piece store, all together: each slot and count has to be compiled, too
MOST_STORES = 20_000
#: indentations inside each other: CPython allows 100
_MOST_LEVELS = 60


class _Loop:
    """A Python loop that is open: its first instruction, its back edge, how many attempts are open around it, and
    whether something leaves it."""

    __slots__ = ("attempts", "end", "head", "is_left")

    def __init__(self, head: int, end: int, attempts: int):
        self.head = head
        self.end = end
        self.attempts = attempts
        self.is_left = False


class Writer:
    """Writes one piece.

    Parameters:
        table: the program's types.
        callables: the program's.
        declared: the callable.
        facts: what is known of its code.
        start: where the region begins; None for a whole callable.
        may_stop: whether the end of a slice ends the region; else the budget's pulse is called.
        counts: whether the functions that statements call are counted.
    """

    __slots__ = (
        "_around",
        "_attempts",
        "_changed",
        "_code",
        "_counts",
        "_declared",
        "_ends",
        "_exits",
        "_expressions",
        "_is_direct",
        "_may_stop",
        "_sites",
        "_start",
        "_stores_at_once",
        "functions",
        "source",
    )  # fmt: skip

    def __init__(
        self,
        table: TypeTable,
        callables: dict[str, Declared],
        declared: Declared,
        facts: CodeFacts,
        start: int | None,
        may_stop: bool,
        counts: bool,
    ):
        self.source = Source()
        self._counts = counts
        #: reference of a function that is applied → its name
        self.functions: dict[str, str] = {}
        self._code = declared.code
        self._declared = declared
        self._start = start
        self._may_stop = may_stop
        #: first instruction of a loop → its back edge
        self._ends = facts.ends
        #: a whole skill or strategy
        self._is_direct = start is None and declared.kind != "function"
        #: slots that the piece changes
        self._changed: set[int] = set()
        #: handler and slot of each attempt that is open in the piece, a `try` of Python
        self._attempts: tuple[tuple[int, int], ...] = ()
        #: lines that leave the piece, where to, and the attempts that are open there
        self._exits: list[tuple[int, int | None, tuple[tuple[int, int], ...]]] = []
        # Where an attempt of the frame can go on after a failure, a changed slot is stored at once.
        self._stores_at_once = start is not None and start in facts.attempted
        self._expressions = Expressions(
            self.source,
            table,
            declared.slots,
            facts.collected,
            lambda ref: self.functions.setdefault(ref, f"f{len(self.functions):d}"),
            self._change,
            counts,
        )
        #: the name of what knows the span of the callable
        self._around = "W" if self._is_direct else "F"
        self._sites = Sites(
            self.source, self._expressions, callables, self._around, counts and facts.applies, self._stores_at_once
        )

    @property
    def callees(self) -> dict[str, str]:
        """Reference of a skill or strategy that is called directly → its name."""
        return self._sites.names

    def write(self) -> str:
        """The source of a module that defines ``made``.

        ``made(m, d, *inputs)`` is a whole function: m the budget, d how many callables may still be opened.
        ``made(X, m, d, W, *inputs)`` is a whole skill or strategy: see `generate_sites`.
        ``made(X, m, F)`` is a region: X the state, m the budget, F the frame; it gives the next instruction, or the
        complement of one that the machine has to carry out, with its operands in ``X.result``, or None where it has
        called something directly that has handed over.

        Raises:
            Refused: where nothing can be generated.
        """
        source = self.source
        inputs = [f"s{slot:d}" for slot in range(len(self._declared.takes))]
        if self._is_direct:
            head = f"def made({', '.join(['X', 'm', 'd', 'W', *inputs])}):"
            self._block(0, len(self._code), None, None)
            self._open_direct()
        elif self._start is None:
            head = f"def made({', '.join(['m', 'd', *inputs])}):"
            # Until it is open, what goes wrong is the caller's.
            source.add(f"if d <= 0: raise TooDeep({source.constant(self._declared.ref)})")
            source.charge(self._declared.cost)
            start = len(source.lines)
            if self._block(0, len(self._code), None, None):
                raise Refused
            self._begin(start, [" e = d - 1"])
        else:
            head = "def made(X, m, F):"
            if self._block(self._start, len(self._code), None, None):
                raise Refused
            self._open_region()
        source.places.insert(0, -1)
        return "\n".join([head, *source.lines, ""])

    def _open_region(self) -> None:
        """What a region begins with, once it is known: the slots that it uses; and what it stores at its exits."""
        source = self.source
        used = sorted(self._changed | self._expressions.read)
        stores = "" if self._stores_at_once else "".join(f"S[{slot:d}] = s{slot:d}; " for slot in sorted(self._changed))
        stores += self._sites.stored()
        for at, _, _ in self._exits:
            line = source.lines[at]
            indented = len(line) - len(line.lstrip())
            source.lines[at] = line[:indented] + stores + line[indented:]
        slots = [f" s{slot:d} = S[{slot:d}]" for slot in used]
        self._begin(0, [" e = X.room", " S = F.slots", *slots, *self._sites.opening(True)])

    def _open_direct(self) -> None:
        """The same for a whole skill or strategy, whose exits hand over its slots."""
        source = self.source
        inputs = len(self._declared.takes)
        used = sorted({*range(inputs), *self._changed, *self._expressions.read})
        if len(used) > MOST_SLOTS:
            raise Refused
        declared = source.constant(self._declared)
        for at, where, attempts in self._exits:
            assert where is not None
            line = source.lines[at]
            indented = len(line) - len(line.lstrip())
            source.lines[at] = line[:indented] + self._sites.handed(declared, where, used, attempts)
        # A hand-over can come before a slot is set.
        slots = [f" s{slot:d} = UNSET" for slot in used[inputs:]] if self._exits else []
        self._begin(0, [" e = d - 1", *slots, *self._sites.opening(False)])

    def _begin(self, at: int, lines: list[str]) -> None:
        """Put lines, and the constants that have become local, before a line."""
        source = self.source
        if self._counts:
            lines = [*lines, " U = X.functions"]
        opening = lines + [f" k{number:d} = c{number:d}" for number in sorted(source.local)]
        source.lines[at:at] = opening
        source.places[at:at] = [self._start or 0] * len(opening)

    def _change(self, slot: int) -> None:
        """A slot has been changed by the line before."""
        self._changed.add(slot)
        if self._stores_at_once:
            self.source.add(f"S[{slot:d}] = s{slot:d}")

    # --- ways out -----------------------------------------------------------------------------------------------------

    def _exit(self, where: int) -> None:
        """Leave the region: the frame goes on at an instruction, or (complement) the machine takes over at it."""
        if self._start is None and not self._is_direct:
            raise Refused
        self._open_attempts()
        self._exits.append((len(self.source.lines), where, self._attempts))
        self.source.add(f"return {where:d}")

    def _open_attempts(self) -> None:
        """Write that the frame of a region gets the attempts that are open in it."""
        if not self._is_direct:
            for handler, slot in self._attempts:
                self.source.add(f"F.attempts.append(({handler:d}, {slot:d}, length(X.effects)))")

    def _goto(self, target: int, loop: _Loop | None) -> None:
        """Go to an instruction that is not where control falls anyway."""
        if loop is not None and loop.attempts != len(self._attempts):
            self._exit(target)
        elif loop is not None and target == loop.end + 1:
            loop.is_left = True
            self.source.add("break")
        elif loop is not None and target == loop.end:
            self._again(target, loop)
        else:
            self._exit(target)

    def _again(self, pc: int, loop: _Loop | None) -> None:
        """The back edge at an instruction."""
        _, head, cost = self._code[pc]
        source = self.source
        before, source.pc = source.pc, pc
        is_here = loop is not None and loop.head == head and loop.attempts == len(self._attempts)
        if not self._may_stop:
            source.charge(cost)
        elif is_here:
            source.add(f"n = m.left - {cost:d}")
            source.add("if n < 0:")
            source.level += 1
            source.add(f"m.spend({cost:d})")
            self._exit(head)
            source.level -= 1
            source.add("m.left = n")
        else:
            source.add(f"m.spend({cost:d})")
        if is_here:
            source.add("continue")
        else:
            self._exit(head)
        source.pc = before

    # --- blocks -------------------------------------------------------------------------------------------------------

    def _block(self, low: int, high: int, follow: int | None, loop: _Loop | None) -> bool:
        """Write the instructions from ``low`` to before ``high``.

        Parameters:
            follow: the instruction to which control falls out of the block; nothing is written for going there.
            loop: the innermost Python loop around it; where it begins at ``low``, this is its body.

        Returns:
            whether control can fall out.
        """
        source = self.source
        pc = low
        while pc < high:
            source.pc = pc
            if self._is_large():
                self._exit(pc)
                return False
            end = self._ends.get(pc)
            if end is not None and (loop is None or loop.head != pc):
                if end >= high or source.loops >= MOST_LOOPS:
                    self._exit(pc)
                    return False
                if not self._loop(pc, end):
                    return False
                pc = end + 1
                continue
            instruction = self._code[pc]
            name = instruction[0]
            if self._counts and applies(instruction):
                source.add("if U.open: U.close()")
            if name == "jump":
                target = instruction[1]
                if target == follow:
                    return True
                if not pc < target < high or (loop is not None and target == loop.end):
                    self._goto(target, loop)
                    return False
                pc = target
            elif name in ("unless", "each", "times"):
                next_pc, falls = self._branch(pc, instruction, high, follow, loop)
                if next_pc is None:
                    return falls
                pc = next_pc
            elif name == "attempt":
                next_pc, falls = self._attempt(pc, instruction, high, follow, loop)
                if next_pc is None:
                    return falls
                pc = next_pc
            elif name == "leave" and self._attempts:
                self._leave_for(pc, loop)
                return False
            elif self._plain(pc, instruction, loop):
                pc += 1
            else:
                return False
        if high != follow:
            self._goto(high, loop)
            return False
        return True

    def _is_large(self) -> bool:
        """Whether the piece has to end here."""
        stores = len(self._exits) * (len(self._changed) + len(self._sites.sites))
        return len(self.source.lines) > MOST_LINES or stores > MOST_STORES or self.source.level > _MOST_LEVELS

    def _loop(self, head: int, end: int) -> bool:
        """Write a loop; whether control can go on behind it."""
        loop = _Loop(head, end, len(self._attempts))
        first = self._code[head]
        start = head
        if first[0] in ("each", "times") and first[-1] == end + 1:
            goes_on, _, _, changes = self._test(first)
            before = self._open(f"while {goes_on}:")
            self._add_all(changes)
            loop.is_left = True
            start = head + 1
        else:
            before = self._open("while True:")
        self.source.loops += 1
        self._block(start, end + 1, None, loop)
        self.source.loops -= 1
        self._close(before)
        return loop.is_left

    def _open(self, line: str) -> int:
        self.source.add(line)
        self.source.level += 1
        return len(self.source.lines)

    def _close(self, before: int) -> None:
        if len(self.source.lines) == before:
            self.source.add("pass")
        self.source.level -= 1

    # --- branches -----------------------------------------------------------------------------------------------------

    def _branch(
        self, pc: int, instruction: list[Any], high: int, follow: int | None, loop: _Loop | None
    ) -> tuple[int | None, bool]:
        """Write an instruction that goes on behind itself or to its target, and what that decides.

        Returns:
            where the block goes on, or None where this was its rest; and then whether control falls out of it.
        """
        try:
            goes_on, leaves, target, first = self._test(instruction)
        except Refused:
            return self._refuse(pc)
        if target == follow and target >= high:
            before = self._open(f"if {goes_on}:")
            self._add_all(first)
            self._block(pc + 1, high, follow, loop)
            self._close(before)
            return None, True
        is_near = loop is not None and target in (loop.end, loop.end + 1)
        if is_near or not pc < target <= high:
            before = self._open(f"if {leaves}:")
            self._goto(target, loop)
            self._close(before)
            self._add_all(first)
            return pc + 1, False
        join = self._join(pc, target, high, follow, loop)
        before = self._open(f"if {goes_on}:")
        self._add_all(first)
        falls = self._block(pc + 1, target, target if join is None else join, loop)
        self._close(before)
        if join is None:
            return target, False
        before = self._open("else:")
        falls = self._block(target, min(join, high), join, loop) or falls
        self._close(before)
        return (join, False) if falls and join <= high and join != follow else (None, falls)

    def _join(self, pc: int, target: int, high: int, follow: int | None, loop: _Loop | None) -> int | None:
        """Where two branches come together again: what the jump at the end of the first one says, if it is in reach."""
        name, *rest = self._code[target - 1]
        if name != "jump" or target - 1 == pc or (loop is not None and rest[0] == loop.end):
            return None
        join: int = rest[0]
        return join if target < join <= high or join == follow else None

    def _test(self, instruction: list[Any]) -> tuple[str, str, int, list[tuple[str, int]]]:
        """A branch: when control goes on behind it, when it leaves, its target, and the slots that change first."""
        name = instruction[0]
        read = self._expressions.read
        if name == "unless":
            _, node, target = instruction
            self._expressions.check_size(node)
            text = self._expressions.value(node)
            return text, f"not {text}", target, []
        if name == "each":
            _, listed, index, slot, target = instruction
            read.update((listed, index))
            end = f"length(s{listed:d}.items)"
            first = [(f"s{slot:d} = s{listed:d}.items[s{index:d}]", slot), (f"s{index:d} += 1", index)]
            return f"s{index:d} < {end}", f"s{index:d} >= {end}", target, first
        _, counter, target = instruction
        read.add(counter)
        return f"s{counter:d} > 0", f"s{counter:d} <= 0", target, [(f"s{counter:d} -= 1", counter)]

    def _add_all(self, changes: list[tuple[str, int]]) -> None:
        for line, slot in changes:
            self.source.add(line)
            self._change(slot)

    # --- attempts -----------------------------------------------------------------------------------------------------

    def _attempt(
        self, pc: int, instruction: list[Any], high: int, follow: int | None, loop: _Loop | None
    ) -> tuple[int | None, bool]:
        """Write an attempt and what it protects as a `try`, and what comes after. Gives the same as `_branch`.

        What it protects ends with `leave` and a jump, or does not end. Everything else in there that goes elsewhere
        is an exit, where the frame gets the attempt.
        """
        _, handler, slot = instruction
        source, code = self.source, self._code
        if not pc < handler < high or source.loops >= MOST_LOOPS:
            return self._refuse(pc)
        is_left = handler - 2 > pc and code[handler - 2][0] == "leave" and code[handler - 1][0] == "jump"
        end = handler - 2 if is_left else handler
        caught = source.keep("False")
        before = self._open("try:")
        source.loops += 1  # which Python counts, too
        self._attempts += ((handler, slot),)
        falls = self._block(pc + 1, end, end if is_left else None, loop)
        self._attempts = self._attempts[:-1]
        source.loops -= 1
        self._close(before)
        source.pc = -1  # what is raised again has its place already
        before = self._open("except Failure as x:")
        source.add(f"s{slot:d} = X.catch(x, {self._around})")
        self._change(slot)
        source.add(f"{caught} = True")
        self._close(before)
        if not falls:
            return handler, False
        source.pc = handler - 1
        join = code[handler - 1][1]
        if handler < join <= high or join == follow:
            before = self._open(f"if {caught}:")
            self._block(handler, min(join, high), join, loop)
            self._close(before)
            return (join, False) if join != follow else (None, True)
        before = self._open(f"if not {caught}:")
        self._goto(join, loop)
        self._close(before)
        return handler, False

    def _leave_for(self, pc: int, loop: _Loop | None) -> None:
        """Leave an attempt of the piece by the jump behind it; still inside the `try`, so nothing else may follow."""
        name, *rest = self._code[pc + 1]
        if name != "jump":
            self._exit(pc)
            return
        attempts = self._attempts
        self._attempts = attempts[:-1]
        self.source.pc = pc + 1
        self._goto(rest[0], loop)
        self._attempts = attempts

    # --- instructions without a target --------------------------------------------------------------------------------

    def _plain(self, pc: int, instruction: list[Any], loop: _Loop | None) -> bool:
        """Write an instruction; whether control goes on behind it."""
        name = instruction[0]
        if name == "again":
            self._again(pc, loop)
            return False
        source = self.source
        lines, level, loops = len(source.lines), source.level, source.loops
        try:
            rule = self._RULES.get(name)
            if rule is None:
                raise Refused
            for node in instruction_expressions(instruction):
                self._expressions.check_size(node)
            return rule(self, pc, instruction)
        except Refused:
            del source.lines[lines:], source.places[lines:]
            source.level, source.loops = level, loops
            return self._refuse(pc)[1]

    def _refuse(self, pc: int) -> tuple[None, bool]:
        """Leave an instruction to the interpreter."""
        if pc == self._start:
            raise Refused
        self._exit(pc)
        return None, False

    def _set(self, pc: int, instruction: list[Any]) -> bool:
        _, slot, node = instruction
        self._expressions.put(slot, node, is_lost=not self._attempts)
        self._change(slot)
        return True

    def _require(self, pc: int, instruction: list[Any]) -> bool:
        _, node, text = instruction
        before = self._open(f"if not {self._expressions.value(node)}:")
        self._raise("RequirementFailed", text)
        self._close(before)
        return True

    def _fail(self, pc: int, instruction: list[Any]) -> bool:
        self._raise("BusinessFailure", instruction[1])
        return False

    def _raise(self, code: str, text: list[Any]) -> None:
        explanation = self._expressions.value(text)
        words = self.source.constant(literal_parts(text))
        self.source.add(f'raise Failure("{code}", {words}, explanation={explanation})')

    def _give(self, pc: int, instruction: list[Any]) -> bool:
        if self._is_direct:
            given = self._expressions.name(instruction[1])
            self._sites.tell_functions()
            self.source.add(f"return {given}")
            return False
        if self._start is None:
            self.source.add(f"return {self._expressions.value(instruction[1])}")
            return False
        return self._finish(pc, self._expressions.value(instruction[1]))

    def _call(self, pc: int, instruction: list[Any]) -> bool:
        if self._sites.may_call(instruction[3]):
            result = self._sites.call(instruction, lambda: self._hand_over(pc))
            slot = instruction[2]
            if slot is not None:
                self.source.add(f"s{slot:d} = {result}")
                self._change(slot)
            return True
        return self._finish(pc, f"[{', '.join(self._expressions.operands(instruction[4]))}]")

    def _hand_over(self, pc: int) -> None:
        """Leave the piece while what it called directly is open."""
        if self._is_direct:
            self._exit(pc)
            return
        self.source.add(f"F.pc = {pc:d}")
        self._open_attempts()
        self._exits.append((len(self.source.lines), None, self._attempts))
        self.source.add("return None")

    def _show(self, pc: int, instruction: list[Any]) -> bool:
        self._sites.show(instruction)
        before = self._open("if m.spent:")
        self._exit(pc + 1)
        self._close(before)
        return True

    def _stop(self, pc: int, instruction: list[Any]) -> bool:
        return self._finish(pc, self._expressions.value(instruction[1]))

    def _finish(self, pc: int, text: str) -> bool:
        """The machine takes over, with what has been evaluated for it."""
        self.source.add(f"X.result = {text}")
        self._exit(~pc)
        return False

    def _leave(self, pc: int, instruction: list[Any]) -> bool:
        # An attempt that was open when the region began.
        if self._is_direct:
            raise Refused
        self.source.add("F.attempts.pop()")
        return True

    _RULES: dict[str, Callable[[Writer, int, list[Any]], bool]] = {  # noqa: RUF012 a table, like those of its neighbours
        "set": _set,
        "require": _require,
        "fail": _fail,
        "give": _give,
        "call": _call,
        "show": _show,
        "stop": _stop,
        "leave": _leave,
    }
