"""Servers that speak OpenAI's interfaces, and where they differ: data, not code."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

__all__ = ["PROFILES", "REASONING_FAMILIES", "Profile"]

#: beginnings of names of OpenAI's models that reason: they take no sampling settings, and give encrypted reasoning
#: (developers.openai.com/api/docs/guides/reasoning, 2026-07)
REASONING_FAMILIES = ("o1", "o3", "o4", "gpt-5", "gpt-6", "codex")


@dataclass(frozen=True, slots=True)
class Profile:
    """One server's dialect of OpenAI's interfaces.

    ``truncation_known``: it says when an answer was cut. ``strict``: it holds models to strict schemas.
    ``tool_choice``: it can force a tool. ``encrypted_reasoning``: it gives reasoning that must come back. The rest
    concerns Chat Completions: ``max_tokens_field``; ``stream_usage`` (usage may be asked for in streams);
    ``structured`` (``json_schema``, ``json_object`` or None); ``reasoning_field`` (the member of a message that holds
    reasoning); ``replay_reasoning`` (it goes back there); ``system_role``.
    """

    provider: str = "openai"
    base_url: str | None = None
    key_variables: tuple[str, ...] = ("OPENAI_API_KEY",)
    needs_key: bool = True
    truncation_known: bool = True
    strict: bool = True
    tool_choice: bool = True
    encrypted_reasoning: bool = True
    count_tokens: bool = True
    max_tokens_field: str = "max_completion_tokens"
    stream_usage: bool = True
    structured: str | None = "json_schema"
    reasoning_field: str | None = None
    replay_reasoning: bool = False
    system_role: str = "system"


#: what servers that copy the interface have in common
_COPY = Profile(encrypted_reasoning=False, count_tokens=False, max_tokens_field="max_tokens")


def _compatible(provider: str, url: str | None, variable: str, **differences: Any) -> Profile:
    return replace(_COPY, provider=provider, base_url=url, key_variables=(variable,), **differences)


#: name → profile; a server that is not here is described by a `Profile` of your own
PROFILES: dict[str, Profile] = {
    "openai": Profile(),
    # github.com/ollama/ollama docs/api/openai-compatibility.mdx and openai/responses.go at fb3076099, 2026-07:
    # a cut answer is called complete, tool_choice and strict are ignored, counts of cached and reasoning are always 0
    "ollama": _compatible(
        "ollama", "http://127.0.0.1:11434/v1", "OLLAMA_API_KEY", needs_key=False, truncation_known=False, strict=False,
        tool_choice=False, reasoning_field="reasoning",
    ),
    "deepseek": _compatible(
        "deepseek", "https://api.deepseek.com", "DEEPSEEK_API_KEY", structured="json_object", strict=False,
        reasoning_field="reasoning_content",
    ),
    "groq": _compatible("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", reasoning_field="reasoning"),
    "mistral": _compatible("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", stream_usage=False),
    "openrouter": _compatible(
        "openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", reasoning_field="reasoning",
        replay_reasoning=True,
    ),
    "together": _compatible("together", "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    "xai": _compatible("xai", "https://api.x.ai/v1", "XAI_API_KEY", reasoning_field="reasoning_content"),
    # a server of one's own, such as vLLM, llama.cpp or LM Studio: give `base_url`
    "local": _compatible(
        "local", None, "LOCAL_MODEL_API_KEY", needs_key=False, reasoning_field="reasoning_content",
    ),
}  # fmt: skip
