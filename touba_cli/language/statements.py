"""Statements: their types and their instructions.

Each rule checks a statement and emits its code; what it gives back is whether control can go on after it. What is known
to be present after a statement is what is known on every path that goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..air.types import PROBLEM, thaw
from . import tree
from .body import Body
from .branches import when
from .code import INSTRUCTION_DEPTH, Code, depth_of
from .construct import arguments
from .diagnostics import Fix, Related
from .effects import FUNCTION_STATEMENTS, effect_word
from .expressions import condition, elements
from .flow import open_path
from .forms import UNKNOWN, show
from .names import Declared
from .scope import Facts, Symbol, Typed, unknown
from .signatures import Signature

if TYPE_CHECKING:
    from ..air.types import TypeForm


class Loop:
    """The innermost loop: jumps out of it, jumps to its back edge, and how many attempts were open around it."""

    __slots__ = ("attempts", "breaks", "continues")

    def __init__(self, attempts: int):
        self.attempts = attempts
        self.breaks: list[int] = []
        self.continues: list[int] = []


class Lines:
    """The statements of one callable."""

    def __init__(self, body: Body, signature: Signature, node: tree.CallableDecl):
        self.body = body
        self.signature = signature
        self.node = node
        self.code = Code()
        self.loops: list[Loop] = []
        #: attempts that are open where the next instruction stands
        self.attempts = 0
        self._sites = 0
        self._shows = 0
        self._rules: dict[type, Callable[[Any], bool]] = {
            tree.Let: self._let,
            tree.Set: self._set,
            tree.Give: self._give,
            tree.CallLine: self._call_line,
            tree.Show: self._show,
            tree.Require: self._require,
            tree.Stop: self._stop,
            tree.Fail: self._fail,
            tree.If: self._if,
            tree.When: self._when,
            tree.ForEach: self._for_each,
            tree.Repeat: self._repeat,
            tree.Break: self._break,
            tree.Continue: self._continue,
            tree.Attempt: self._attempt,
        }

    # --- blocks -----------------------------------------------------------------------------------------------------

    def block(self, block: tree.Block) -> bool:
        """Check a block; whether control can go on after it."""
        goes_on = True
        reachable = None
        for statement in block.statements:
            if not goes_on and reachable is None:
                self.body.report(
                    "TB8002", "this can never be reached", statement.span, "remove it, or move it up",
                )  # fmt: skip
                reachable = (self.code.here, self._sites, self._shows)
            went_on = self._statement(statement)
            goes_on = goes_on and went_on
        if reachable is not None:
            length, self._sites, self._shows = reachable
            self.code.cut(length)
            self._forget(length)
        return goes_on

    def inner(self, block: tree.Block, facts: Facts) -> tuple[bool, Facts]:
        """A block inside a statement, and what is known at its end."""
        before = self.body.scopes.facts
        self.body.scopes.facts = facts
        with self.body.scopes.block():
            goes_on = self.block(block)
        after = self.body.scopes.facts
        self.body.scopes.facts = before
        return goes_on, after

    def join(self, ends: list[tuple[bool, Facts]]) -> bool:
        """Go on after blocks: with what is known at the end of each of those that go on."""
        facts = [known for goes_on, known in ends if goes_on]
        if facts:
            self.body.scopes.facts = frozenset.intersection(*facts)
        return bool(facts)

    def _forget(self, length: int) -> None:
        """Jumps that were dropped with unreachable code lead nowhere."""
        for loop in self.loops:
            loop.breaks = [pc for pc in loop.breaks if pc < length]
            loop.continues = [pc for pc in loop.continues if pc < length]

    def _statement(self, statement: tree.Statement) -> bool:
        word = effect_word(statement)
        if self.body.kind == "function" and word is not None:
            span = statement.value.span if isinstance(statement, (tree.Let, tree.Set, tree.Give)) else statement.span
            self.body.report(
                "TB5001", f"a function cannot `{word}`", span, "make it a skill or a strategy",
                help=f"functions use only {FUNCTION_STATEMENTS}",
            )  # fmt: skip
        return self._rules[type(statement)](statement)

    def emit(self, span: tree.Span, *parts: Any) -> int:
        return self.code.emit(span, *parts)

    # --- names ------------------------------------------------------------------------------------------------------

    def _let(self, node: tree.Let) -> bool:
        declared = None if node.declared is None else self.body.types.form(self.body.unit, node.declared)
        kind = "var" if node.mutable else "let"
        if isinstance(node.value, tree.Call):
            self._bind_call(node, kind, declared)
        elif declared is not None:
            code = self.body.place(node.value, declared, node.name.text)
            symbol = self.body.scopes.bind(node.name, kind, self.body.types.base(declared), declared)
            self.emit(node.span, "set", symbol.slot, code)
        else:
            typed = self.body.settled(node.value)
            if typed.form == "Nothing":
                typed = self._nothing(node.value)
            symbol = self.body.scopes.bind(node.name, kind, typed.form)
            self.emit(node.span, "set", symbol.slot, typed.code)
        return True

    def _nothing(self, node: tree.Node) -> Typed:
        self.body.report("TB4001", "this gives nothing that could have a name", node.span, "remove `let … =`")
        return unknown()

    def _bind_call(self, node: tree.Let, kind: str, declared: TypeForm | None) -> None:
        call = node.value
        assert isinstance(call, tree.Call)
        called = self._called(call)
        form = UNKNOWN if called is None else called[0].base
        if form == "Nothing" and declared is None:
            form = self._nothing(call).form
        wanted = form if declared is None else self.body.types.base(declared)
        symbol = self.body.scopes.bind(node.name, kind, wanted, declared)
        if called is not None:
            self._store(call, called, symbol, node.span, "")

    def _store(
        self, node: tree.Call, called: tuple[Signature, list[list[Any]]], symbol: Symbol, span: tree.Span, why: str
    ) -> None:
        """A call whose result goes into a slot: at once, or by a slot of its own where more is to be done."""
        form = called[0].base
        if form == symbol.form and not self.body.types.constrained(symbol.declared):
            self._emit_call(node, called, symbol.slot)
            return
        slot = self.body.scopes.hidden("result", form)
        self._emit_call(node, called, slot)
        code = self.body.coerce(Typed(form, ["slot", slot]), symbol.form, node, why)
        self.emit(span, "set", symbol.slot, self.body.keep(code, symbol.declared, symbol.name))

    def _set(self, node: tree.Set) -> bool:
        symbol = self._variable(node.name)
        why = "the variable has this type"
        if symbol is None:
            self._right_side(node.value, UNKNOWN, node.name.text, "")
        elif isinstance(node.value, tree.Call):
            called = self._called(node.value)
            if called is not None:
                self._store(node.value, called, symbol, node.span, why)
        else:
            code = self.body.place(node.value, symbol.declared, symbol.name, why)
            self.emit(node.span, "set", symbol.slot, code)
        return True

    def _variable(self, name: tree.Name) -> Symbol | None:
        symbol = self.body.scopes.look_up(name.text)
        if symbol is None:
            self.body.scopes.find(name.text, name.span, ())
            return None
        if symbol.kind == "var":
            return symbol
        what = {"input": "an input", "let": "a `let`", "loop": "what a loop binds", "arm": "what an arm binds"}
        self.body.report(
            "TB4009", f"`{name.text}` is {what.get(symbol.kind, 'a problem')} and never changes", name.span,
            "bind it with `var`" if symbol.kind == "let" else "copy it into a `var`",
            related=(Related(symbol.span, "bound here"),),
        )  # fmt: skip
        return None

    def _right_side(self, node: tree.RightSide, declared: TypeForm, label: str, why: str) -> list[Any]:
        """The AIR of a right side with a declared type; a call is made first, into a slot of its own."""
        if not isinstance(node, tree.Call):
            return self.body.place(node, declared, label, why)
        called = self._called(node)
        if called is None:
            return ["bool", False]
        slot = self.body.scopes.hidden("result", called[0].base)
        self._emit_call(node, called, slot)
        code = self.body.coerce(Typed(called[0].base, ["slot", slot]), self.body.types.base(declared), node, why)
        return self.body.keep(code, declared, label)

    def _give(self, node: tree.Give) -> bool:
        if self.node.gives is None:
            name = self.signature.name
            self.body.report(
                "TB6003", f"`{name}` has no `gives`, so it gives nothing", node.span, "add `gives` and the type",
                related=self.signature.related(self.body.unit),
            )  # fmt: skip
            if isinstance(node.value, tree.Call):
                self._called(node.value)
            else:
                self.body.elaborate(node.value, UNKNOWN)
            return False
        if isinstance(node.value, tree.Call) and self.signature.base == "Nothing":
            called = self._called(node.value)
            if called is not None:
                self.body.coerce(Typed(called[0].base, ["nothing"]), "Nothing", node.value)
                self._emit_call(node.value, called, None)
            self.emit(node.span, "give", ["nothing"])
            return False
        code = self._right_side(node.value, self.signature.gives, "$", "this is what `gives` says")
        self.emit(node.span, "give", code)
        return False

    # --- calls ------------------------------------------------------------------------------------------------------

    def _call_line(self, node: tree.CallLine) -> bool:
        called = self._called(node.call)
        if called is not None:
            self._emit_call(node.call, called, None)
        return True

    def _called(self, node: tree.Call) -> tuple[Signature, list[list[Any]]] | None:
        """What a call calls, and the AIR of its arguments; None where it cannot be called, which is reported."""
        found = self.body.unit.find(node.path, node.name, "callable")
        if found is None or not self._is_callable(node, found):
            for argument in node.arguments:
                self.body.elaborate(argument.value, UNKNOWN)
            return None
        signature = self.body.signatures.of(found)
        return signature, arguments(self.body, signature, node.arguments, node.span)

    def _is_callable(self, node: tree.Call, found: Declared) -> bool:
        if found.kind in ("tool", "skill", "strategy"):
            return True
        start = node.path[0].span.start if node.path else node.name.span.start
        if found.kind == "function":
            self.body.report(
                "TB3007", "functions are called in expressions", node.span,
                f"write `{node.name.text}(…)` without `call`",
                related=(found.related(self.body.unit),), fix=Fix(tree.Span(node.span.start, start), ""),
            )  # fmt: skip
        else:
            self.body.report(
                "TB3007", f"`{node.name.text}` is a type and cannot be called", node.name.span,
                "`call` is for tools, skills and strategies", related=(found.related(self.body.unit),),
            )  # fmt: skip
        return False

    def _emit_call(self, node: tree.Call, called: tuple[Signature, list[list[Any]]], slot: int | None) -> None:
        self._sites += 1
        signature, codes = called
        self.emit(node.span, "call", self._sites, slot, signature.declared.ref, codes)

    # --- texts ------------------------------------------------------------------------------------------------------

    def _text(self, node: tree.Expr) -> list[Any]:
        """A prompt or reason: a text literal, so that it can be read without running anything."""
        if not isinstance(node, (tree.Interpolation, tree.Unknown)) and not (
            isinstance(node, tree.Literal) and node.kind == "text"
        ):
            self.body.report(
                "TB2011", "only a text literal may stand here", node.span, 'put the value into a text: `"… {x}"`'
            )
        return self.body.need(node, "Text")

    def _show(self, node: tree.Show) -> bool:
        code = self._text(node.text)
        self._sites += 1
        self._shows += 1
        ref = f"show:{self.body.unit.name}/{self.signature.name}/{self._shows}"
        self.emit(node.span, "show", self._sites, ref, code)
        return True

    def _require(self, node: tree.Require) -> bool:
        test = condition(self.body, node.condition)
        with self.body.knowing(test.when_false):
            text = self._text(node.text)
        self.emit(node.span, "require", test.code, text)
        self.body.scopes.facts |= test.when_true
        return True

    def _stop(self, node: tree.Stop) -> bool:
        self.emit(node.span, "stop", self._text(node.text))
        return False

    def _fail(self, node: tree.Fail) -> bool:
        self.emit(node.span, "fail", self._text(node.text))
        return False

    # --- branches ---------------------------------------------------------------------------------------------------

    def _if(self, node: tree.If) -> bool:
        facts = self.body.scopes.facts
        ends: list[tuple[bool, Facts]] = []
        jumps: list[int] = []
        last = len(node.branches) - 1 if node.otherwise is None else -1
        for position, (test_node, block) in enumerate(node.branches):
            with self.body.knowing(facts):
                test = condition(self.body, test_node)
            unless = self.emit(test_node.span, "unless", test.code, -1)
            end = self.inner(block, facts | test.when_true)
            ends.append(end)
            if end[0] and position != last:
                jumps.append(self.emit(tree.Span(block.span.end, block.span.end), "jump", -1))
            self.code.settle([unless])
            facts |= test.when_false
        ends.append((True, facts) if node.otherwise is None else self.inner(node.otherwise, facts))
        self.code.settle(jumps)
        return self.join(ends)

    def _when(self, node: tree.When) -> bool:
        return when(self, node)

    # --- loops ------------------------------------------------------------------------------------------------------

    def _for_each(self, node: tree.ForEach) -> bool:
        of, source = elements(self.body, node.source)
        scopes = self.body.scopes
        listed = scopes.hidden("list", ("List", of))
        index = scopes.hidden("index", "Int")
        self.emit(node.source.span, "set", listed, source)
        self.emit(node.source.span, "set", index, ["int", 0])
        head = self.code.here
        loop = Loop(self.attempts)
        self.loops.append(loop)
        before = scopes.facts
        with scopes.block():
            symbol = scopes.bind(node.name, "loop", of)
            leaves = self.emit(node.name.span, "each", listed, index, symbol.slot, -1)
            goes_on = self.block(node.block)
        self._close_loop(node, loop, head, [leaves], goes_on)
        scopes.facts = before
        return True

    def _repeat(self, node: tree.Repeat) -> bool:
        scopes = self.body.scopes
        times = self.body.need(node.times, "Int", "how often is an Int")
        counter = scopes.hidden("times", "Int")
        self.emit(node.times.span, "set", counter, times)
        head = self.code.here
        leaves = [self.emit(node.times.span, "times", counter, -1)]
        before = scopes.facts
        known = before
        if node.condition is not None:
            test = condition(self.body, node.condition)
            leaves.append(self.emit(node.condition.span, "unless", test.code, -1))
            known = before | test.when_true
        loop = Loop(self.attempts)
        self.loops.append(loop)
        goes_on, _ = self.inner(node.block, known)
        self._close_loop(node, loop, head, leaves, goes_on)
        scopes.facts = before
        return True

    def _close_loop(self, node: tree.Node, loop: Loop, head: int, leaves: list[int], goes_on: bool) -> None:
        self.loops.pop()
        self.code.settle(loop.continues)
        if goes_on or loop.continues:
            self.emit(node.span, "again", head, 0)
        self.code.settle([*leaves, *loop.breaks])

    def _break(self, node: tree.Break) -> bool:
        loop = self._leave_for(node, "break")
        if loop is not None:
            loop.breaks.append(self.emit(node.span, "jump", -1))
        return loop is None

    def _continue(self, node: tree.Continue) -> bool:
        loop = self._leave_for(node, "continue")
        if loop is not None:
            loop.continues.append(self.emit(node.span, "jump", -1))
        return loop is None

    def _leave_for(self, node: tree.Node, word: str) -> Loop | None:
        if not self.loops:
            self.body.report("TB6003", f"`{word}` stands outside every loop", node.span, "remove it")
            return None
        loop = self.loops[-1]
        for _ in range(self.attempts - loop.attempts):
            self.emit(node.span, "leave")
        return loop

    # --- failures ---------------------------------------------------------------------------------------------------

    def _attempt(self, node: tree.Attempt) -> bool:
        scopes = self.body.scopes
        before = scopes.facts
        start = self.emit(tree.Span(node.span.start, node.span.start), "attempt", -1, -1)
        self.attempts += 1
        tried = self.inner(node.block, before)
        self.attempts -= 1
        jumps: list[int] = []
        if tried[0]:
            end = tree.Span(node.block.span.end, node.block.span.end)
            self.emit(end, "leave")
            jumps.append(self.emit(end, "jump", -1))
        self.code.settle([start])
        with scopes.block():
            if node.problem is not None:
                slot = scopes.bind(node.problem, "problem", PROBLEM).slot
            else:
                slot = scopes.hidden("problem", PROBLEM)
            self.code.instructions[start][2] = slot
            handled = self.inner(node.handler, before)
        self.code.settle(jumps)
        return self.join([tried, handled])

    # --- the whole --------------------------------------------------------------------------------------------------

    def run(self) -> dict[str, Any]:
        """Check the body and make the entry of AIR's `callables`, without its inputs."""
        node = self.node
        for each, decl in zip(self.signature.takes, node.takes, strict=True):
            self.body.scopes.bind(decl.name, "input", each.base, each.declared)
        goes_on = self.block(node.body)
        self.body.scopes.close()
        if goes_on and self.signature.base == "Nothing":
            self.emit(tree.Span(node.body.span.end, node.body.span.end), "give", ["nothing"])
        elif goes_on:
            self._report_open_path(node)
        for instruction, span in zip(self.code.instructions, self.code.spans, strict=True):
            if depth_of(instruction) > INSTRUCTION_DEPTH:
                self.body.report("TB9006", "the expression is nested too deep", span, "bind a part of it with `let`")
        return {
            "slots": [[name, thaw(form)] for name, form in self.body.scopes.slots],
            "code": self.code.instructions,
        }

    def _report_open_path(self, node: tree.CallableDecl) -> None:
        span, why = open_path(node.body)
        self.body.report(
            "TB6001", f"`{node.name.text}` gives `{show(self.signature.base)}`, but not on every path", node.name.span,
            "end every path with `give`, `stop` or `fail`", related=(Related(span, why),),
        )  # fmt: skip
