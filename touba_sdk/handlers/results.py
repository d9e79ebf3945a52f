"""What a handler can give besides a value: statements about the memories that it used."""

from __future__ import annotations

from .._encode import EncodeError, encode
from .definition import is_qualified

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

OPERATIONS = ("read", "write")
SCOPES = ("run", "owner", "project")
#: most statements of one answer, as in ``touba_cli/documents.py``
MAX_STATEMENTS = 1_000


class MemoryMetadataInvalid(ValueError):
    """`memory_metadata` is malformed; the message names the entry and the member, never a value."""


class ToolResult:
    """A value with statements about memories: what `create_tool_result` gives."""

    __slots__ = ("memory_metadata", "value")

    def __init__(self, value: Any, memory_metadata: list[dict[str, Any]]):
        self.value = value
        #: in wire form
        self.memory_metadata = memory_metadata

    def __repr__(self) -> str:
        return f"ToolResult(…, memory_metadata={[each['memory_ref'] for each in self.memory_metadata]})"


def create_tool_result(value: Any, memory_metadata: Iterable[Mapping[str, Any]] = ()) -> ToolResult:
    """Give a value together with its provenance: which memories were read or written for it.

    It is the only envelope of a result: a plain object with a member `memory_metadata` is data. A statement grants
    nothing: the runtime checks that the tool declares the memory, and refuses the answer otherwise.

    Parameters:
        value: what the tool gives.
        memory_metadata: objects with `memory_ref` (`memory:module.name/Name`) and `operation` (`read` or `write`).
            They may have `scope` (`run`, `owner` or `project`) and, where the memory has a key, `key`: the runtime
            compares both with the declaration. Members of other names are the application's own. All are JSON values.

    Raises:
        MemoryMetadataInvalid: where they are malformed.

    >>> create_tool_result({"id": 7}, [{"memory_ref": "memory:app/Records", "operation": "read"}])
    ToolResult(…, memory_metadata=['memory:app/Records'])
    """
    if isinstance(value, ToolResult):
        raise MemoryMetadataInvalid("the value is the result of create_tool_result already")
    if isinstance(memory_metadata, (str, bytes)) or hasattr(memory_metadata, "keys"):
        raise MemoryMetadataInvalid("memory_metadata is a list of objects")
    if not hasattr(memory_metadata, "__iter__"):
        raise MemoryMetadataInvalid(
            f"memory_metadata is {type(memory_metadata).__name__}; it has to be a list of objects"
        )
    found: list[dict[str, Any]] = []
    for number, each in enumerate(memory_metadata):
        if number == MAX_STATEMENTS:
            raise MemoryMetadataInvalid(f"memory_metadata has too many entries; {MAX_STATEMENTS} are allowed")
        found.append(_check(each, f"memory_metadata[{number}]"))
    return ToolResult(value, found)


def _check(entry: object, what: str) -> dict[str, Any]:
    if not hasattr(entry, "keys"):
        raise MemoryMetadataInvalid(f"{what} is {type(entry).__name__}; it has to be an object")
    try:
        wire: dict[str, Any] = encode(entry)
    except EncodeError as fault:
        raise MemoryMetadataInvalid(f"{what}: {fault}") from None
    reference = wire.get("memory_ref")
    if not (isinstance(reference, str) and reference.startswith("memory:") and is_qualified(reference[7:])):
        raise MemoryMetadataInvalid(f"{what}.memory_ref is not written `memory:module.name/Name`")
    if wire.get("operation") not in OPERATIONS:
        raise MemoryMetadataInvalid(f"{what}.operation is not `read` or `write`")
    if "scope" in wire and wire["scope"] not in SCOPES:
        raise MemoryMetadataInvalid(f"{what}.scope is not `run`, `owner` or `project`")
    return wire
