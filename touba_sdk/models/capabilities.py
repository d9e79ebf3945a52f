"""What a model can do: fifteen features, each yes or no."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

__all__ = ["FEATURES", "Capabilities"]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The features of a model. A model says what it has; `override` corrects that feature by feature."""

    text: bool = True
    vision: bool = False
    documents: bool = False
    audio_input: bool = False
    video_input: bool = False
    tools: bool = False
    structured_output: bool = False
    reasoning: bool = False
    image_generation: bool = False
    embeddings: bool = False
    reranking: bool = False
    prompt_caching: bool = False
    token_counting: bool = False
    web_search: bool = False
    code_execution: bool = False

    def override(self, **features: bool | None) -> Capabilities:
        """A copy with other features; None leaves a feature as it is.

        Raises:
            ValueError: for a name that is no feature.

        >>> Capabilities(vision=True).override(vision=False, tools=None, reasoning=True).reasoning
        True
        """
        unknown = sorted(features.keys() - set(FEATURES))
        if unknown:
            raise ValueError(f"no such feature: {', '.join(unknown)}")
        return replace(self, **{name: value for name, value in features.items() if value is not None})

    @classmethod
    def all(cls) -> Capabilities:
        """Every feature."""
        return cls(**dict.fromkeys(FEATURES, True))


#: the names of the features, in order
FEATURES = tuple(each.name for each in fields(Capabilities))
