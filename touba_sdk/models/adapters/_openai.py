"""What the adapters of OpenAI's two interfaces share: client, profile, errors, schemas of answers, and counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from ..errors import ModelError, UnsupportedError, model_error
from ..requests import Request, ResponseFormat, ToolChoice, ToolChoiceMode
from ..responses import Citation, Usage
from ..streams import CitationDelta, StreamEvent
from ._base import VendorModel
from ._failures import retry_after
from ._shape import Prepared, output_schema
from .profiles import PROFILES, REASONING_FAMILIES, Profile


class OpenAIBase(VendorModel):
    """What the two interfaces of OpenAI share: client, profile and errors."""

    VENDOR: ClassVar[str] = "openai"
    PACKAGE: ClassVar[str] = "openai"
    EXTRA: ClassVar[str] = "openai"

    def __init__(self, model: str, *, profile: Profile | str = "openai", **options: Any):
        self.profile = PROFILES[profile] if isinstance(profile, str) else profile
        options.setdefault("provider", self.profile.provider)
        if options.get("base_url") is None:
            options["base_url"] = self.profile.base_url
        super().__init__(model, **options)

    @property
    def _reasons(self) -> bool:
        return self.model_id.rpartition("/")[2].startswith(REASONING_FAMILIES)

    def _key_names(self) -> tuple[str, ...]:
        return self.profile.key_variables

    def _without_key(self) -> str | None:
        return super()._without_key() if self.profile.needs_key else "none"

    def _connect(self, sdk: Any, http_client: Any | None, api_key: str | None) -> Any:
        return sdk.AsyncOpenAI(**self._client_arguments(sdk, http_client, api_key))

    def _refused(self, error: Exception) -> ModelError | None:
        import openai

        if isinstance(error, openai.APIConnectionError) or not isinstance(error, openai.APIError):
            return None
        response = getattr(error, "response", None)
        # an error in the middle of a stream has no response of its own: the stream's status was 200
        return model_error(
            provider=self.provider,
            status=getattr(error, "status_code", None) or 200,
            type=error.type if isinstance(error.type, str) else None,
            code=error.code,
            retry_after=retry_after(response.headers if response is not None else None),
            detail=error.message,
            body=error.body,
        )

    def _strict(self, wanted: bool | None) -> bool:
        return bool(wanted) and self.profile.strict

    def _sampling(self, request: Request, body: dict[str, Any], prepared: Prepared) -> None:
        """Temperature and its like; models that reason refuse them."""
        for name in ("temperature", "top_p"):
            value = getattr(request, name)
            if value is not None and self.profile.provider == "openai" and self._reasons:
                prepared.warn(name, "models that reason have no such setting; it was not sent")
            elif value is not None:
                body[name] = value

    def _choose(self, choice: ToolChoice) -> None:
        if choice.mode in (ToolChoiceMode.REQUIRED, ToolChoiceMode.TOOL) and not self.profile.tool_choice:
            raise UnsupportedError("this provider cannot force the model to call a tool", provider=self.provider)


def format_schema(prepared: Prepared, wanted: ResponseFormat, *, held: bool) -> tuple[dict[str, Any], bool]:
    """The schema of an answer, and whether it is strict.

    Where the request leaves that open, a schema is strict when it loses nothing by it.
    """
    given = dict(wanted.schema or {})
    if not held or wanted.strict is False:
        return given, False
    if wanted.strict is None:
        trial = Prepared()
        try:
            printed = output_schema(trial, "openai", wanted)
        except UnsupportedError:
            return given, False
        lossless = not printed.losses and not printed.restores
        return (printed.schema, True) if lossless else (given, False)
    return output_schema(prepared, "openai", wanted).schema, True


def failure(provider: str, error: Mapping[str, Any]) -> ModelError:
    """The error that an answer has in its middle, where its status was that of a success."""
    inner = error.get("error") if isinstance(error.get("error"), Mapping) else error
    assert isinstance(inner, Mapping)
    code = inner.get("code")
    kind = inner.get("type")
    return model_error(
        provider=provider,
        status=200,
        type=kind if isinstance(kind, str) and kind != "error" else None,
        code=str(code) if code is not None else None,
        detail=str(inner.get("message") or ""),
        body=dict(error),
    )


def citations(annotations: Iterable[Mapping[str, Any]]) -> Iterator[StreamEvent]:
    """The sources that annotations of a text name."""
    for each in annotations:
        if each.get("type") in ("url_citation", "file_citation"):
            start, end = each.get("start_index"), each.get("end_index")
            place = (start, end) if isinstance(start, int) and isinstance(end, int) else None
            title = each.get("title") or each.get("filename")
            yield CitationDelta(Citation(each.get("url"), title, index=each.get("index"), text_range=place))


def read_usage(usage: Mapping[str, Any] | None, asked: str, answered: str) -> Usage | None:
    """The counts of a call: cached ones are a part of the input, reasoning is a part of the output.

    Parameters:
        usage: the vendor's counts.
        asked: its word for what was sent: ``input`` for Responses, ``prompt`` for Chat Completions.
        answered: its word for what came back: ``output``, ``completion``.
    """
    if not usage:
        return None
    inside, outside = usage.get(f"{asked}_tokens_details") or {}, usage.get(f"{answered}_tokens_details") or {}
    return Usage(
        input_tokens=usage.get(f"{asked}_tokens") or 0,
        output_tokens=usage.get(f"{answered}_tokens") or 0,
        reasoning_tokens=outside.get("reasoning_tokens") or 0,
        # DeepSeek counts its cache beside the details
        cached_input_tokens=inside.get("cached_tokens") or usage.get("prompt_cache_hit_tokens") or 0,
        cache_write_tokens=inside.get("cache_write_tokens") or 0,
    )
