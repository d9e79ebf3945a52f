"""Models for tests: scripted answers, functions, recordings, and a check that refuses what real providers refuse.

None of them needs a key or the network. They are models like any other: put middleware around them, give them to an
agent, use them from asyncio, trio or plain threads.
"""

from __future__ import annotations

from ._cassettes import CassetteMissError, RecordingModel, ReplayModel, redact_secrets
from ._scripted import FunctionModel, ScriptedModel, ScriptExhaustedError, Step
from ._validate import ValidatingModel, request_problems, validate_request

__all__ = [
    "CassetteMissError",
    "FunctionModel",
    "RecordingModel",
    "ReplayModel",
    "ScriptExhaustedError",
    "ScriptedModel",
    "Step",
    "ValidatingModel",
    "redact_secrets",
    "request_problems",
    "validate_request",
]
