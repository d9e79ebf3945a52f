"""Run governed agent programs from Python, and write the tools that they call.

Importing this package loads nothing; a name is loaded when it is first used (PEP 562), with only what it needs.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

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

#: public name → module below this package that holds it
_PLACES = {
    "AsyncToubaEngine": "engine.aio",
    "CompiledProgram": "engine.results",
    "RunResult": "engine.results",
    "ToubaEngine": "engine.sync",
    "ToubaEngineError": "errors",
    "ToubaHandlerError": "handlers",
    "create_tool_handler": "handlers",
    "create_tool_result": "handlers",
    "define_tool": "handlers",
    "handle_tool_request": "handlers",
    "touba_sdk_metadata": "handlers",
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


def _lazy(package: str, places: dict[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package whose names are loaded when they are first used; `dir` shows `__all__`.

    Parameters:
        package: its name.
        places: public name → module below the package that holds it.
    """
    import sys

    loaded = vars(sys.modules[package])

    def load(name: str) -> object:
        place = places.get(name)
        if place is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        from importlib import import_module

        value: object = getattr(import_module(f"{package}.{place}"), name)
        loaded[name] = value
        return value

    def listed() -> list[str]:
        return sorted({*loaded["__all__"], *(name for name in loaded if name.startswith("__"))})

    return load, listed


__getattr__, __dir__ = _lazy(__name__, _PLACES)
