"""What is promised of failures: their kinds, hints and words."""

from __future__ import annotations

from functools import partial

from ...models import (
    AuthError,
    ConnectionFailedError,
    IncompleteStreamError,
    InvalidRequestError,
    LanguageModel,
    ModelError,
    ModelResponseError,
    OverloadedError,
    RateLimitedError,
)
from .case import Case, How, case_of, closing, failure, hello
from .vendor import PRIVATE, Answer, Vendor

CASES: list[Case] = []
case = partial(case_of, CASES)


async def _refused(
    vendor: Vendor, model: LanguageModel, how: How, answer: Answer, kind: type[ModelError], retryable: bool
) -> ModelError:
    vendor.answer(answer)
    before = vendor.received
    error = await failure(model, hello(), how)
    assert type(error) is kind, f"{type(error).__name__}, not {kind.__name__}"
    assert error.retryable is retryable
    assert error.status == answer.status
    assert error.provider == model.provider
    assert vendor.received == before + 1, "a bare model tries once"
    return error


@case("retry hints")
async def test_too_many_requests_with_a_hint(vendor: Vendor, model: LanguageModel, how: How) -> None:
    error = await _refused(vendor, model, how, Answer(status=429, retry_after=7), RateLimitedError, True)
    assert error.retry_after == 7


@case()
async def test_too_many_requests_without_a_hint(vendor: Vendor, model: LanguageModel, how: How) -> None:
    error = await _refused(vendor, model, how, Answer(status=429), RateLimitedError, True)
    assert error.retry_after is None


@case()
async def test_server_errors(vendor: Vendor, model: LanguageModel, how: How) -> None:
    for status in (500, 503):
        await _refused(vendor, model, how, Answer(status=status), OverloadedError, True)


@case()
async def test_a_wrong_key(vendor: Vendor, model: LanguageModel, how: How) -> None:
    await _refused(vendor, model, how, Answer(status=401), AuthError, False)


@case()
async def test_a_request_that_is_refused(vendor: Vendor, model: LanguageModel, how: How) -> None:
    error = await _refused(vendor, model, how, Answer(status=400), InvalidRequestError, False)
    assert PRIVATE in error.detail, "the vendor's words are kept for those who look for them"


@case()
async def test_an_answer_that_is_no_json(vendor: Vendor, model: LanguageModel, how: How) -> None:
    vendor.answer(Answer(fault="not_json"))
    error = await failure(model, hello(), how)
    assert isinstance(error, ModelResponseError | IncompleteStreamError)


@case()
async def test_a_server_that_is_not_there(vendor: Vendor, model: LanguageModel, how: How) -> None:
    nowhere = vendor.unreachable()
    async with closing(nowhere):
        error = await failure(nowhere, hello(), how)
    assert type(error) is ConnectionFailedError
    assert error.retryable
