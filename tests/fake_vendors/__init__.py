"""Vendors' servers on this machine: each speaks its vendor's wire format, streams and faults included."""

from __future__ import annotations

from .anthropic import FakeAnthropic
from .gemini import FakeGemini
from .ollama import FakeOllama
from .openai_chat import FakeOpenAIChat
from .openai_responses import FakeOpenAI
from .server import FakeVendor, Received

__all__ = ["FakeAnthropic", "FakeGemini", "FakeOllama", "FakeOpenAI", "FakeOpenAIChat", "FakeVendor", "Received"]
