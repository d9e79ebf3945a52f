"""Statements: their types and their instructions.

Each rule checks a statement and emits its code; what it gives back is whether control can go on after it. What is known
to be present after a statement is what is known on every path that goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..air.types import PROBLEM, thaw
from ..limits import CALLABLE_SLOTS
from . import tree
from .body import Body
from .branches import when
from .code import INSTRUCTION_DEPTH, Code, Effect, depth_of
from .construct import arguments
from .diagnostics import Fix, Related
from .effects import FUNCTION_STATEMENTS, effect_word
from .expressions import condition, elements
from .forms import UNKNOWN
from .gates import approve, ask, review
from .groups import parallel, parallel_each
from .mentions import undoes
from .names import CALLED_KINDS, Declared, a
from .owner import Owner
from .results import DeclaredResult, InferredResult
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
    """The statements of one callable, or of one branch of a group."""

    def __init__(self, body: Body, owner: Owner, results: DeclaredResult | InferredResult):
        self.body = body
        self.owner = owner
        self.results = results
        self.code = Code()
        self.loops: list[Loop] = []
        #: attempts that are open where the next instruction stands
        self.attempts = 0
        #: a `when` lacks arms, which was reported: what follows it may be reached by them
        self.doubtful = False
        #: slots of the marks to which `compensate` goes back, one for each `on failure` around the line
        self._marks: list[int] = []
        self._sites = 0
        self._rules: dict[type, Callable[[Any], bool]] = {
            tree.Let: self._let,
            tree.Set: self._set,
            tree.Give: self._give,
            tree.EffectLine: self._effect_line,
            tree.Show: self._show,
            tree.Approve: self._approve,
            tree.Require: self._require,
            tree.Stop: self._stop,
            tree.Fail: self._fail,
            tree.If: self._if,
            tree.When: self._when,
            tree.ForEach: self._for_each,
            tree.Repeat: self._repeat,
            tree.Break: self._break,
            tree.Continue: self._continue,
            tree.Parallel: self._parallel,
            tree.Attempt: self._attempt,
            tree.Compensate: self._compensate,
        }

    def inside(self, body: Body, results: InferredResult) -> Lines:
        """The statements of a branch of this callable."""
        return Lines(body, self.owner, results)

    def next_site(self) -> int:
        """The number of the next effect site."""
        self._sites += 1
        return self._sites

    # --- blocks -----------------------------------------------------------------------------------------------------

    def block(self, block: tree.Block) -> bool:
        """Check a block; whether control can go on after it."""
        goes_on = True
        reachable = None
        for statement in block.statements:
            if not goes_on and reachable is None:
                if not self.doubtful:
                    self.body.report(
                        "TB8002", "this can never be reached", statement.span, "remove it, or move it up",
                    )  # fmt: skip
                reachable = (self.code.here, self._sites, self.owner.mark())
            went_on = self._statement(statement)
            goes_on = goes_on and went_on
        if reachable is not None:
            length, self._sites, mark = reachable
            self.code.cut(length)
            self.owner.drop(mark)
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
        self.results.forget(length)

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
        if isinstance(node.value, tree.EFFECT_NODES):
            self._bind_effect(node, node.value, kind, declared)
        elif declared is not None:
            code = self.body.place(node.value, declared, node.name.text)
            symbol = self.body.scopes.bind(node.name, kind, self.body.types.base(declared), declared)
            self.emit(node.span, "set", symbol.slot, code)
        else:
            typed = self.body.settled(node.value, binder=kind)
            if typed.form == "Nothing":
                typed = self._nothing(node.value)
            symbol = self.body.scopes.bind(node.name, kind, typed.form)
            self.emit(node.span, "set", symbol.slot, typed.code)
        return True

    def _nothing(self, node: tree.Node) -> Typed:
        # A line cannot consist of a call in an expression, so there is nothing to remove before that.
        label = "let the function give something" if isinstance(node, tree.Capital) else "remove `let … =`"
        self.body.report("TB4001", "this gives nothing that could have a name", node.span, label)
        return unknown()

    def _bind_effect(self, node: tree.Let, value: tree.Effect, kind: str, declared: TypeForm | None) -> None:
        wanted = None if declared is None else self.body.types.base(declared)
        effect = self.effect(value, wanted)
        form = UNKNOWN if effect is None else effect.form
        if form == "Nothing" and declared is None:
            form = self._nothing(value).form
        symbol = self.body.scopes.bind(node.name, kind, form if wanted is None else wanted, declared)
        if effect is not None:
            self._store(value, effect, symbol, node.span, "")

    def _store(self, node: tree.Effect, effect: Effect, symbol: Symbol, span: tree.Span, why: str) -> None:
        """An effect whose result goes into a slot: at once, or by a slot of its own where more is to be done."""
        form = effect.form
        if form == symbol.form and not self.body.types.constrained(symbol.declared):
            effect.emit(symbol.slot)
            return
        slot = self.body.scopes.hidden("result", form)
        effect.emit(slot)
        code = self.body.coerce(Typed(form, ["slot", slot]), symbol.form, node, why)
        self.emit(span, "set", symbol.slot, self.body.keep(code, symbol.declared, symbol.name))

    def _set(self, node: tree.Set) -> bool:
        symbol = self._variable(node.name)
        why = "the variable has this type"
        if symbol is None:
            self.right_side(node.value, UNKNOWN, node.name.text, "")
        elif isinstance(node.value, tree.EFFECT_NODES):
            effect = self.effect(node.value, symbol.form)
            if effect is not None:
                self._store(node.value, effect, symbol, node.span, why)
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
        related = (Related(symbol.span, "bound here"),)
        if symbol.kind == "outer":
            self.body.report(
                "TB4009", f"a branch changes nothing outside, and `{name.text}` is outside", name.span,
                "give the value, and change the `var` with the result of the group", related=related,
            )  # fmt: skip
            return None
        what = {"input": "an input", "let": "a `let`", "loop": "what a loop binds", "arm": "what an arm binds"}
        self.body.report(
            "TB4009", f"`{name.text}` is {what.get(symbol.kind, 'a problem')} and never changes", name.span,
            "bind it with `var`" if symbol.kind == "let" else "copy it into a `var`", related=related,
        )  # fmt: skip
        return None

    def right_side(self, node: tree.RightSide, declared: TypeForm, label: str, why: str) -> list[Any]:
        """The AIR of a right side with a declared type; an effect comes first, and into a slot of its own."""
        if not isinstance(node, tree.EFFECT_NODES):
            return self.body.place(node, declared, label, why)
        wanted = self.body.types.base(declared)
        effect = self.effect(node, wanted)
        if effect is None:
            return ["bool", False]
        slot = self.body.scopes.hidden("result", effect.form)
        effect.emit(slot)
        code = self.body.coerce(Typed(effect.form, ["slot", slot]), wanted, node, why)
        return self.body.keep(code, declared, label)

    def result(self, node: tree.RightSide, hint: TypeForm | None) -> Typed:
        """The type and AIR of a right side whose type is not declared."""
        if not isinstance(node, tree.EFFECT_NODES):
            return self.body.elaborate(node, hint)
        effect = self.effect(node, hint)
        if effect is None:
            return unknown()
        if effect.form == "Nothing":
            effect.emit(None)
            return Typed("Nothing", ["nothing"])
        slot = self.body.scopes.hidden("result", effect.form)
        effect.emit(slot)
        return Typed(effect.form, ["slot", slot])

    def _give(self, node: tree.Give) -> bool:
        self.results.give(self, node)
        return False

    # --- effects ----------------------------------------------------------------------------------------------------

    def effect(self, node: tree.Effect, hint: TypeForm | None = None) -> Effect | None:
        """Check an effect; None where it cannot be made, which is reported. ``hint`` is what is expected of it."""
        if isinstance(node, tree.Call):
            return self._called(node)
        if isinstance(node, tree.Ask):
            return ask(self, node)
        if isinstance(node, tree.Review):
            return review(self, node)
        return parallel_each(self, node, hint)

    def _effect_line(self, node: tree.EffectLine) -> bool:
        called = node.effect
        effect = self._called(called, alone=True) if isinstance(called, tree.Call) else self.effect(called)
        if effect is not None:
            effect.emit(None)
        if isinstance(node.effect, (tree.Ask, tree.Review)) and self.body.kind != "function":
            what = "answer" if isinstance(node.effect, tree.Ask) else "reviewed value"
            self.body.report("TB8001", f"the {what} is never used", node.span, "bind it with `let`")
        return True

    def _called(self, node: tree.Call, alone: bool = False) -> Effect | None:
        """What a call calls, and its arguments; ``alone`` where the call is a whole line."""
        found = self.body.unit.find(node.path, node.name, "callable")
        if found is None or not self._is_callable(node, found, alone):
            for argument in node.arguments:
                self.body.elaborate(argument.value, UNKNOWN)
            return None
        self.owner.authority.check_call(self.owner.declared, node, found)
        signature = self.body.signatures.of(found)
        codes = arguments(self.body, signature, node.arguments, node.span)
        return Effect(
            signature.base,
            lambda slot: self.emit(node.span, "call", self.next_site(), slot, signature.declared.ref, codes),
        )

    def _instead_of_call(self, node: tree.Call, function: Declared) -> str:
        """What to write for a function that is called on a line of its own."""
        if self.body.signatures.of(function).base == "Nothing":
            return "make it a skill: a function that gives nothing has no use here"
        return f"a function does nothing but give: `let x = {node.name.text}(…)`"

    def _is_callable(self, node: tree.Call, found: Declared, alone: bool) -> bool:
        if found.kind in CALLED_KINDS:
            return True
        start = node.path[0].span.start if node.path else node.name.span.start
        if found.kind == "function":
            self.body.report(
                "TB3007", "functions are called in expressions", node.span,
                self._instead_of_call(node, found) if alone else f"write `{node.name.text}(…)` without `call`",
                related=(found.related(self.body.unit),),
                fix=None if alone else Fix(tree.Span(node.span.start, start), ""),
            )  # fmt: skip
        else:
            kind = "type" if found.is_type else found.kind
            self.body.report(
                "TB3007", f"`{node.name.text}` is {a(kind)} and cannot be called", node.name.span,
                "`call` is for tools, skills, strategies and agents", related=(found.related(self.body.unit),),
            )  # fmt: skip
        return False

    def _approve(self, node: tree.Approve) -> bool:
        return approve(self, node)

    def _parallel(self, node: tree.Parallel) -> bool:
        return parallel(self, node)

    # --- texts ------------------------------------------------------------------------------------------------------

    def text(self, node: tree.Expr) -> list[Any]:
        """A prompt or reason: a text literal, so that it can be read without running anything."""
        if not isinstance(node, (tree.Interpolation, tree.Unknown)) and not (
            isinstance(node, tree.Literal) and node.kind == "text"
        ):
            self.body.report(
                "TB2011", "only a text literal may stand here", node.span, 'put the value into a text: `"… {x}"`'
            )
        return self.body.need(node, "Text")

    def _show(self, node: tree.Show) -> bool:
        code = self.text(node.text)
        self.emit(node.span, "show", self.next_site(), self.owner.show(), code)
        return True

    def _require(self, node: tree.Require) -> bool:
        test = condition(self.body, node.condition)
        with self.body.knowing(test.when_false):
            text = self.text(node.text)
        self.emit(node.span, "require", test.code, text)
        self.body.scopes.facts |= test.when_true
        return True

    def _stop(self, node: tree.Stop) -> bool:
        self.emit(node.span, "stop", self.text(node.text))
        return False

    def _fail(self, node: tree.Fail) -> bool:
        self.emit(node.span, "fail", self.text(node.text))
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
            if isinstance(test_node, tree.Literal) and test_node.kind == "bool":
                word = "true" if test_node.value else "false"
                self.body.report(
                    "TB8003", f"the condition is always {word}", test_node.span, "write what it depends on"
                )
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
        mark = scopes.hidden("mark", "Int") if undoes(node.handler) else None
        if mark is not None:
            self.emit(tree.Span(node.span.start, node.span.start), "mark", mark)
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
            self._marks.append(-1 if mark is None else mark)
            handled = self.inner(node.handler, before)
            self._marks.pop()
        self.code.settle(jumps)
        return self.join([tried, handled])

    def _compensate(self, node: tree.Compensate) -> bool:
        if not self._marks:
            if self.body.kind != "function":  # there it is wrong anyway, and was reported
                self.body.report(
                    "TB6003", "`compensate` stands outside every `on failure`", node.span,
                    "put it under the `on failure` of the `attempt` whose effects it undoes",
                )  # fmt: skip
            return True
        self.emit(node.span, "compensate", self._marks[-1])
        return True

    # --- the whole --------------------------------------------------------------------------------------------------

    def run(self, signature: Signature, node: tree.CallableDecl) -> dict[str, Any]:
        """Check the body of a callable and make the entry of AIR's `callables`, without its inputs."""
        for each, decl in zip(signature.takes, node.takes, strict=True):
            self.body.scopes.bind(decl.name, "input", each.base, each.declared)
        goes_on = self.block(node.body)
        self.body.scopes.close()
        self.results.finish(self, goes_on)
        self.check_depth()
        self.check_slots(node.name.span)
        return {
            "slots": [[name, thaw(form)] for name, form in self.body.scopes.slots],
            "code": self.code.instructions,
        }

    def check_depth(self) -> None:
        """Report instructions that are nested deeper than a document may be."""
        for instruction, span in zip(self.code.instructions, self.code.spans, strict=True):
            if depth_of(instruction) > INSTRUCTION_DEPTH:
                self.body.report("TB9006", "the expression is nested too deep", span, "bind a part of it with `let`")

    def check_slots(self, span: tree.Span) -> None:
        """Report a callable or branch that has more slots than one may have."""
        if len(self.body.scopes.slots) > CALLABLE_SLOTS:
            self.body.report(
                "TB9009", f"there are more than {CALLABLE_SLOTS:,} inputs and names in one block of code", span,
                "move a part of it into a function or skill",
            )  # fmt: skip
