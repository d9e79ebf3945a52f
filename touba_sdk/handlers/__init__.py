"""Tool handlers: the processes that do what programs may not do themselves.

Imported in a process that a Touba runtime started, this package first moves the wire out of reach (see ``_wire.py``);
that is why it stands before every other import here. It loads next to nothing: neither pydantic nor anyio nor
the runtime.
"""

from __future__ import annotations

from . import _wire

_wire.take_over()

from .context import HandlerContext  # noqa: E402
from .define import define_tool  # noqa: E402
from .errors import ToubaHandlerError  # noqa: E402
from .handle import create_tool_handler, handle_tool_request  # noqa: E402
from .metadata import touba_sdk_metadata  # noqa: E402
from .results import create_tool_result  # noqa: E402

__all__ = [
    "HandlerContext",
    "ToubaHandlerError",
    "create_tool_handler",
    "create_tool_result",
    "define_tool",
    "handle_tool_request",
    "touba_sdk_metadata",
]


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
