"""Effect sites as Python: messages, and calls of skills and strategies.

A message is told like anything else. The callee of a call is one Python function, which its caller calls *directly*.

What a direct callee does is what its frame would do: it is charged on entry, counts its effect sites and is told as
events. It has no frame, though, until something needs the machine: a tool, the end of a slice, whatever is not
generated. Then it *hands over*: it makes its frame, and gives `HANDED` instead of its result; its caller does the same,
and so on outwards as far as the region that began it, which `execution` runs. After a failure the frames are made of
the traceback.

Every piece with such sites has these names: ``X`` the state, ``m`` the budget, ``Y`` what tells events, ``e`` how many
callables may still be opened, ``q3`` how often site 3 was reached. ``W`` (in a region ``F``) knows the span and the
occurrence of the piece's own callable: the event that began it, or what is around it where that is not told.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..air.program import Callable as Declared
    from .generate_expr import Expressions
    from .generate_text import Source

#: slots of a direct callee that are handed over, at most
MOST_SLOTS = 200


def is_direct(declared: Declared) -> bool:
    """Whether a callable may be called directly."""
    return declared.kind in ("skill", "strategy")


class Sites:
    """Writes the effect sites of one piece.

    Parameters:
        source: where lines go.
        expressions: what writes the arguments.
        callables: the program's.
        around: the name of what knows the span of the piece's callable.
        tells_functions: whether functions that statements call are counted, and there are such calls.
        stores_at_once: whether a count is stored in the frame as soon as it changes.

    ``names`` are the names of the callees by reference, ``sites`` the effect sites that are counted.
    """

    __slots__ = (
        "_around", "_callables", "_expressions", "_source", "_stores_at_once", "_tells", "_tells_functions", "names",
        "sites",
    )  # fmt: skip

    def __init__(
        self,
        source: Source,
        expressions: Expressions,
        callables: dict[str, Declared],
        around: str,
        tells_functions: bool,
        stores_at_once: bool,
    ):
        self._source = source
        self._expressions = expressions
        self._callables = callables
        self._around = around
        self._stores_at_once = stores_at_once
        self._tells_functions = tells_functions
        self._tells = False
        self.names: dict[str, str] = {}
        self.sites: set[int] = set()

    def may_call(self, ref: str) -> bool:
        """Whether a callee is called directly; any other is left to the machine."""
        callee = self._callables.get(ref)
        return callee is not None and is_direct(callee)

    def show(self, instruction: list[Any]) -> None:
        """Write a message; the slice may have ended then."""
        _, site, ref, text = instruction
        source = self._source
        found = self._expressions.name(text)
        self.tell_functions()
        source.add(f"n = length({found}) >> 4")
        source.add("if n: m.spend(n)")
        self._reach(site)
        interaction = source.constant(ref)
        source.add(f"Y.show({self._around}, {interaction}, {site:d}, q{site:d}, {found}, text_size({found}))")

    def call(self, instruction: list[Any], hand_over: Callable[[], None]) -> str:
        """Write a call; gives the name of its result.

        Parameters:
            instruction: the call.
            hand_over: writes how the piece hands over while its callee is open.
        """
        _, site, _, ref, nodes = instruction
        callee = self._callables[ref]
        source, around = self._source, self._around
        arguments = self._expressions.operands(nodes, lines_follow=True)
        name = self.names.setdefault(ref, f"g{len(self.names):d}")
        called = source.constant(ref)
        self.tell_functions()
        source.add(f"if e <= 0: raise TooDeep({called})")
        source.add(f"n = m.left - {callee.cost:d}")
        source.add(f"if n < 0: m.spend({callee.cost:d})")
        source.add("else: m.left = n")
        self._reach(site)
        source.add("if Y.room < 2:")
        source.add(" Y.room = 0")
        source.add(" Y.left_out += 1")
        source.add(f" w = {around}")
        source.add(f"else: w = Y.begin_call({around}, {called}, {site:d}, q{site:d})")
        result = source.temporary()
        slots = ", ".join([f"{slot:d}: {text}" for slot, text in enumerate(arguments)])
        # Where the slice has ended, the callee is open and has not begun.
        source.add(f"if n < 0: {result} = X.hand_over({source.constant(callee)}, 0, w, {{{slots}}}, {{}})")
        source.add(f"else: {result} = {name}({', '.join(['X', 'm', 'e', 'w', *arguments])})")
        source.add(f"if {result} is HANDED:")
        source.level += 1
        hand_over()
        source.level -= 1
        source.add(f"if w is not {around}: Y.complete_call(w)")
        return result

    def _reach(self, site: int) -> None:
        self._tells = True
        if self._stores_at_once:
            self._source.add(f"q{site:d} = F.counts[{site:d}] = F.counts.get({site:d}, 0) + 1")
            return
        self.sites.add(site)
        self._source.add(f"q{site:d} += 1")

    def tell_functions(self) -> None:
        """Write that the functions which the statements so far have called are told, where there may be any."""
        if self._tells_functions:
            self._source.add("if U.open: U.close()")
            self._source.add(f"if U.rows: X.teller.tell_functions({self._around}.span)")

    def opening(self, is_region: bool) -> list[str]:
        """What a piece begins with."""
        lines = [" Y = X.teller"] if self._tells else []
        if is_region:
            return lines + [f" q{site:d} = F.counts.get({site:d}, 0)" for site in sorted(self.sites)]
        return lines + [f" q{site:d} = 0" for site in sorted(self.sites)]

    def stored(self) -> str:
        """The statements that store the counts of a region."""
        return "".join([f"F.counts[{site:d}] = q{site:d}; " for site in sorted(self.sites)])

    def handed(self, declared: str, where: int, slots: list[int], attempts: tuple[tuple[int, int], ...]) -> str:
        """The statement with which a direct callee hands over: see `GeneratingState.hand_over`."""
        values = ", ".join([f"{slot:d}: s{slot:d}" for slot in slots])
        counts = ", ".join([f"{site:d}: q{site:d}" for site in sorted(self.sites)])
        opened = "".join([f"({handler:d}, {slot:d}), " for handler, slot in attempts])
        return f"return X.hand_over({declared}, {where:d}, W, {{{values}}}, {{{counts}}}, ({opened}))"
