"""Run governed agent programs from Python, and write the tools that they call.

Importing this package loads nothing; a name is loaded when it is first used (PEP 562), with only what it needs.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .engine.aio import AsyncToubaEngine as AsyncToubaEngine
    from .engine.results import CompiledProgram as CompiledProgram
    from .engine.results import RunResult as RunResult
    from .engine.sync import ToubaEngine as ToubaEngine
    from .errors import ToubaEngineError as ToubaEngineError
    from .handlers import ToubaHandlerError as ToubaHandlerError
    from .handlers import create_tool_handler as create_tool_handler
    from .handlers import create_tool_result as create_tool_result
    from .handlers import define_tool as define_tool
    from .handlers import handle_tool_request as handle_tool_request
    from .handlers import touba_sdk_metadata as touba_sdk_metadata

__version__ = "0.1.0"

#: public name → module that holds it
_PLACES = {
    "AsyncToubaEngine": "touba_sdk.engine.aio",
    "CompiledProgram": "touba_sdk.engine.results",
    "RunResult": "touba_sdk.engine.results",
    "ToubaEngine": "touba_sdk.engine.sync",
    "ToubaEngineError": "touba_sdk.errors",
    "ToubaHandlerError": "touba_sdk.handlers",
    "create_tool_handler": "touba_sdk.handlers",
    "create_tool_result": "touba_sdk.handlers",
    "define_tool": "touba_sdk.handlers",
    "handle_tool_request": "touba_sdk.handlers",
    "touba_sdk_metadata": "touba_sdk.handlers",
}

__all__ = [  # noqa: RUF022  # classes first, as the reference lists them
    "ToubaEngine",
    "AsyncToubaEngine",
    "ToubaEngineError",
    "ToubaHandlerError",
    "RunResult",
    "CompiledProgram",
    "define_tool",
    "create_tool_handler",
    "handle_tool_request",
    "create_tool_result",
    "touba_sdk_metadata",
]


def __getattr__(name: str) -> object:
    place = _PLACES.get(name)
    if place is None:
        raise AttributeError(f"module 'touba_sdk' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(place), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
