"""The engines: options → command line and request → process → envelope → result.

`touba_sdk.ToubaEngine` and `touba_sdk.AsyncToubaEngine` are the public names; this package adds the results and the
typed options. Names are loaded when they are first used.
"""

from __future__ import annotations

from .. import _lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .aio import AsyncToubaEngine as AsyncToubaEngine
    from .options import CheckOptions as CheckOptions
    from .options import CompileOptions as CompileOptions
    from .options import EngineOptions as EngineOptions
    from .options import RunLimits as RunLimits
    from .options import RunOptions as RunOptions
    from .results import CheckResult as CheckResult
    from .results import CompiledProgram as CompiledProgram
    from .results import Diagnostic as Diagnostic
    from .results import Explanation as Explanation
    from .results import Message as Message
    from .results import RunResult as RunResult
    from .results import RunWarning as RunWarning
    from .results import Usage as Usage
    from .sync import ToubaEngine as ToubaEngine

_PLACES = {
    "AsyncToubaEngine": "aio",
    "CheckOptions": "options",
    "CheckResult": "results",
    "CompileOptions": "options",
    "CompiledProgram": "results",
    "Diagnostic": "results",
    "EngineOptions": "options",
    "Explanation": "results",
    "Message": "results",
    "RunLimits": "options",
    "RunOptions": "options",
    "RunResult": "results",
    "RunWarning": "results",
    "ToubaEngine": "sync",
    "Usage": "results",
}

__all__ = [
    "AsyncToubaEngine",
    "CheckOptions",
    "CheckResult",
    "CompileOptions",
    "CompiledProgram",
    "Diagnostic",
    "EngineOptions",
    "Explanation",
    "Message",
    "RunLimits",
    "RunOptions",
    "RunResult",
    "RunWarning",
    "ToubaEngine",
    "Usage",
]

__getattr__, __dir__ = _lazy(__name__, _PLACES)
