"""Adapters: language models of vendors, each over the vendor's own SDK, which is an extra of this distribution.

| class | speaks | extra |
| --- | --- | --- |
| `OpenAIModel` | OpenAI Responses | ``openai`` |
| `OpenAIChatModel` | Chat Completions, as OpenAI and many servers that copy it speak it | ``openai`` |
| `AnthropicModel` | Anthropic Messages | ``anthropic`` |
| `GeminiModel` | Gemini | ``gemini`` |
| `OllamaModel` | Ollama's own chat | ``ollama`` |
| `PydanticAIModel` | any model of pydantic-ai | ``pydantic-ai`` |

Importing this package loads no SDK, and neither does making a model, but for the bridge: the first call loads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import _lazy

if TYPE_CHECKING:
    from ._base import VendorModel
    from .anthropic import AnthropicModel
    from .gemini import GeminiModel
    from .ollama import OllamaModel
    from .openai import OpenAIModel
    from .openai_chat import OpenAIChatModel
    from .profiles import PROFILES, Profile
    from .pydantic_ai import PydanticAIModel

_PLACES = {
    "AnthropicModel": "anthropic",
    "GeminiModel": "gemini",
    "OllamaModel": "ollama",
    "OpenAIChatModel": "openai_chat",
    "OpenAIModel": "openai",
    "PROFILES": "profiles",
    "Profile": "profiles",
    "PydanticAIModel": "pydantic_ai",
    "VendorModel": "_base",
}

__all__ = [
    "PROFILES",
    "AnthropicModel",
    "GeminiModel",
    "OllamaModel",
    "OpenAIChatModel",
    "OpenAIModel",
    "Profile",
    "PydanticAIModel",
    "VendorModel",
]

__getattr__, __dir__ = _lazy(__name__, _PLACES)
