"""Correcting what a model says it can do."""

from __future__ import annotations

from ..capabilities import Capabilities
from ..model import LanguageModel, Middleware
from ._base import WrappedModel

__all__ = ["override_capabilities"]


def override_capabilities(**features: bool | None) -> Middleware:
    """Change features of a model, one by one: True, False, or None to leave one as it is.

    With nothing to change the model itself is returned. Streams: nothing changes.

    Raises:
        ValueError: for a name that is no feature.

    >>> without_vision = override_capabilities(vision=False)(model)  # doctest: +SKIP
    """
    Capabilities().override(**features)  # refuse unknown names here, not at the first call

    def wrap(model: LanguageModel) -> LanguageModel:
        if all(value is None for value in features.values()):
            return model
        return _Overridden(model, features)

    return wrap


class _Overridden(WrappedModel):
    def __init__(self, inner: LanguageModel, features: dict[str, bool | None]):
        super().__init__(inner)
        self._features = features

    @property
    def capabilities(self) -> Capabilities:
        return self.inner.capabilities.override(**self._features)
