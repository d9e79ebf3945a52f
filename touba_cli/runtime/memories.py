"""The memories of a tool: what its handler is told of them, and whether what the handler says of them is so.

Loaded where a tool declares a memory. The runtime keeps no memory itself: a handler does, wherever it likes. It says in
its answer what it has read and written (`memory_metadata`), and the runtime holds that against the program.
"""

from __future__ import annotations

from ..air.types import freeze
from ..errors import ToubaFailure
from ..limits import MAX_VALUE_BYTES
from ..values.check import ValueInvalid
from ..values.model import Meter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ..air.program import Callable, Program
    from ..air.types import TypeForm
    from ..values.check import TypeTable


class Memory:
    """A memory as one tool sees it.

    Attributes:
        ref: ``memory:module/Name``.
        operations: what the tool declares: "read", "write", or both in this order.
        scope: "run", "owner" or "project".
        key: the type of the field by which values are told apart; None where the memory holds one value.
    """

    __slots__ = ("key", "operations", "ref", "scope")

    def __init__(self, ref: str, operations: tuple[str, ...], scope: str, key: TypeForm | None):
        self.ref = ref
        self.operations = operations
        self.scope = scope
        self.key = key


class Memories:
    """The memories that one tool declares, in one run.

    Parameters:
        tool: the tool, with its clauses `reads memory` and `writes memory`.
        program: the program, verified.
        table: the program's types.
        owner: whose values are meant in memories of scope `owner`; None where nobody is named.

    Raises:
        ToubaFailure: OwnerMissing, where the tool needs an owner and none is named.
    """

    __slots__ = ("_each", "_owner", "_table")

    def __init__(self, tool: Callable, program: Program, table: TypeTable, owner: str | None):
        self._table = table
        self._owner = owner
        self._each = {ref: _memory(ref, tool, program, table) for ref in sorted({*tool.reads, *tool.writes})}
        for memory in self._each.values():
            if memory.scope == "owner" and owner is None:
                message = f"{tool.ref} uses {memory.ref}, whose scope is `owner`, and no owner is named"
                raise ToubaFailure("OwnerMissing", message, ref=tool.ref)

    def resources(self) -> dict[str, dict[str, Any]]:
        """What a tool request says: for each memory what may be done, its scope, and the owner where that counts."""
        found: dict[str, dict[str, Any]] = {}
        for ref, memory in self._each.items():
            found[ref] = {"operations": list(memory.operations), "scope": memory.scope}
            if memory.scope == "owner":
                found[ref]["owner"] = self._owner
        return found

    def fault(self, statement: dict[str, Any]) -> str | None:
        """What is wrong with what a handler says of a memory, in words without values; None where it is as declared.

        Parameters:
            statement: an item of `memory_metadata`, of the right shape. `scope` and `key` are checked where they
                stand; members of other names are the application's own.
        """
        ref, operation = statement["memory_ref"], statement["operation"]
        memory = self._each.get(ref)
        if memory is None:
            return undeclared(self._each)
        if operation not in memory.operations:
            return f"the tool does not declare that it {operation}s {ref}"
        if "scope" in statement and statement["scope"] != memory.scope:
            return f"the scope of {ref} is `{memory.scope}`, and another one is named"
        if "key" not in statement:
            return None
        if memory.key is None:
            return f"{ref} has no key, and one is named"
        try:
            self._table.decode(memory.key, statement["key"], "key", Meter(_KEY_STEPS, MAX_VALUE_BYTES), edge=False)
        except ValueInvalid as fault:
            return f"no key of {ref}: {fault.path}: {fault.message}"
        except ToubaFailure as limit:
            return f"no key of {ref}: {limit.message}"
        return None


def undeclared(declared: Iterable[str]) -> str:
    """What is wrong with a statement about a memory that the tool does not declare; what it declares instead.

    The name stays untold: it is the handler's text, and may hold what a message must not.
    """
    names = ", ".join(declared) or "no memory"
    return f"a memory is named that the tool does not declare; it declares {names}"


def used(statements: list[dict[str, Any]]) -> list[dict[str, str]]:
    """What a trace keeps of statements: each memory and operation once, sorted; never a key."""
    pairs = sorted({(each["memory_ref"], each["operation"]) for each in statements})
    return [{"memory_ref": ref, "operation": operation} for ref, operation in pairs]


#: steps that checking one key may take: its type may ask for a pattern
_KEY_STEPS = 1_000_000


def _memory(ref: str, tool: Callable, program: Program, table: TypeTable) -> Memory:
    declared = program.memories[ref]
    words = (("read", tool.reads), ("write", tool.writes))
    operations = tuple(word for word, refs in words if ref in refs)
    form: TypeForm | None = None
    if "key" in declared:
        form = freeze(declared["holds"])
        for step in declared["key"]:
            form = next(each for name, each, _ in table.fields(table.base(form)) if name == step)
    return Memory(ref, operations, declared["scope"], form)
