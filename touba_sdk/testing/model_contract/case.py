"""What a case is, how it is run, and what the checks ask with."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Literal

import anyio

from ...models import LanguageModel, ModelError, Request, Response, ToolDeclaration, collect, user_text
from .vendor import PRIVATE, Vendor

#: how long one case may take, in seconds
CASE_TIMEOUT = 30.0

How = Literal["generate", "stream"]
Check = Callable[[Vendor, LanguageModel, How], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Case:
    """One promise. ``needs``: what the vendor must be able to say; ``hows``: the ways of asking that it holds for."""

    name: str
    check: Check
    needs: tuple[str, ...] = ()
    hows: tuple[How, ...] = ("generate", "stream")
    loops: int = 1
    timeout: float = 10.0

    def __str__(self) -> str:
        return self.name


def case_of(
    cases: list[Case], *needs: str, how: How | None = None, loops: int = 1, timeout: float = 10.0
) -> Callable[[Check], Check]:
    """A decorator that adds a check to ``cases`` under its own name, for both ways of asking where ``how`` is None."""

    def register(check: Check) -> Check:
        hows: tuple[How, ...] = ("generate", "stream") if how is None else (how,)
        name = getattr(check, "__name__", "case")
        cases.append(Case(name, check, needs, hows, loops, timeout))
        return check

    return register


def run_case(case: Case, vendor: Vendor, *, backend: str = "asyncio") -> str | None:
    """Run one case, once for each way of asking.

    Parameters:
        backend: ``asyncio`` or ``trio``.

    Returns:
        None when it holds; a sentence when it does not apply, because the vendor lacks what it is about.

    Raises:
        AssertionError: when the adapter does not keep the promise.
    """
    missing = [need for need in case.needs if need in vendor.lacks]
    if missing:
        return f"the vendor has no {', no '.join(missing)}"
    for how in case.hows:
        model = vendor.model(timeout=case.timeout)
        for _ in range(case.loops):
            anyio.run(partial(_run, case, vendor, model, how), backend=backend)
    return None


async def _run(case: Case, vendor: Vendor, model: LanguageModel, how: How) -> None:
    with anyio.fail_after(CASE_TIMEOUT):
        async with closing(model):
            await case.check(vendor, model, how)


@asynccontextmanager
async def closing(model: LanguageModel) -> AsyncIterator[None]:
    """Close a model behind its use, where it can be closed."""
    try:
        yield
    finally:
        close = getattr(model, "aclose", None)
        if close is not None:
            done = close()
            if inspect.isawaitable(done):
                await done


async def ask(model: LanguageModel, request: Request, how: How) -> Response:
    """The response, asked for in one piece or as a stream."""
    return await model.generate(request) if how == "generate" else await collect(model.stream(request))


async def failure(model: LanguageModel, request: Request, how: How) -> ModelError:
    """The error that asking raises.

    Raises:
        AssertionError: when it raises none, or one that is no `ModelError`.
    """
    raised: ModelError | None = None
    try:
        await ask(model, request, how)
    except ModelError as error:
        raised = error
    assert raised is not None, "no error, but a response"
    link: BaseException | None = raised
    while link is not None:
        assert PRIVATE not in str(link), "the text of an error, or of its cause, repeats what the vendor wrote"
        link = link.__cause__
    return raised


def hello() -> Request:
    """A request whose text no error of ours may show."""
    return Request([user_text("my private question")])


TOOLS = [
    ToolDeclaration(
        "add",
        "Add two numbers.",
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
            "additionalProperties": False,
        },
    ),
    ToolDeclaration("now", "The time.", None),
]


def with_tools() -> Request:
    """A request that may be answered with calls."""
    return Request([user_text("2 + 3?")], tools=list(TOOLS))
