"""Models of pydantic-ai that talk to a fake vendor, through the bridge."""

from __future__ import annotations

from typing import Any

import anthropic
import openai
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from touba_sdk.models.adapters import PydanticAIModel

from .anthropic import FakeAnthropic
from .openai_responses import FakeOpenAI
from .server import Received, light_client


class BridgedAnthropic(FakeAnthropic):
    """pydantic-ai's own adapter of Anthropic, behind the bridge."""

    lacks = ("timeouts", "reasoning tokens")

    def model(self, *, timeout: float = 10.0, **options: Any) -> Any:
        return self._bridge(self.url)

    def unreachable(self) -> Any:
        return self._bridge("http://127.0.0.1:9")

    def _bridge(self, url: str) -> Any:
        def make() -> AnthropicModel:
            client = anthropic.AsyncAnthropic(api_key="k", base_url=url, http_client=light_client())
            return AnthropicModel(self.MODEL, provider=AnthropicProvider(anthropic_client=client))

        return PydanticAIModel(make)


class BridgedOpenAI(FakeOpenAI):
    """pydantic-ai's own adapter of OpenAI Responses, behind the bridge."""

    lacks = ("timeouts", "unknown items")

    def model(self, *, timeout: float = 10.0, **options: Any) -> Any:
        return self._bridge(f"{self.url}/v1")

    def unreachable(self) -> Any:
        return self._bridge("http://127.0.0.1:9/v1")

    def refusal(self, received: Received) -> str | None:
        for tool in received.body.get("tools", ()):
            tool.setdefault("strict", False)  # pydantic-ai leaves that to the service
        return super().refusal(received)

    def _bridge(self, url: str) -> Any:
        def make() -> OpenAIResponsesModel:
            client = openai.AsyncOpenAI(api_key="k", base_url=url, http_client=light_client())
            return OpenAIResponsesModel(self.MODEL, provider=OpenAIProvider(openai_client=client))

        return PydanticAIModel(make)
