"""The error that a handler raises on purpose."""

from __future__ import annotations

#: what an effect came to: nothing happened, it happened, nobody knows
EFFECTS = ("none", "done", "unknown")

#: longest message that reaches the runtime, as `error_message_characters` in ``touba_cli/limits.py``
MESSAGE_CHARACTERS = 2_000

_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")


class ToubaHandlerError(Exception):
    """A failure that a handler makes public: code and message reach the program, people and traces as they are.

    Parameters:
        code: a PascalCase name, for example `CardDeclined`; a program's `attempt` sees it as `problem.code`. The codes
            of the runtime (docs/errors.md) are not the handler's to give.
        message: a sentence that may be shown to anyone. Never put secrets into it.
        retryable: whether trying again later may help.
        effect: for tools that write: `"none"` (nothing happened; what is meant where it is left out), `"done"` (it
            happened, and this error is its outcome) or `"unknown"` (nobody can tell).

    Raises:
        ValueError: where code, message or effect cannot be what they are meant to be.

    >>> raise ToubaHandlerError("CardDeclined", "The bank declined the card.")
    Traceback (most recent call last):
    touba_sdk.handlers.errors.ToubaHandlerError: CardDeclined: The bank declined the card.
    """

    def __init__(self, code: str, message: str, retryable: bool = False, effect: str | None = None):
        if not is_code(code):
            raise ArgumentInvalid(
                "the code of a ToubaHandlerError is a PascalCase name such as `CardDeclined`, of at most 100 ASCII "
                "letters and digits"
            )
        if is_reserved(code):
            raise ArgumentInvalid(f"`{code}` is a code that only the runtime gives; a handler reports its own")
        if not isinstance(message, str):
            raise ArgumentInvalid(f"the message of a ToubaHandlerError is a text, not {type(message).__name__}")
        if not isinstance(retryable, bool):
            raise ArgumentInvalid("retryable of a ToubaHandlerError is True or False")
        if effect is not None and effect not in EFFECTS:
            raise ArgumentInvalid('effect of a ToubaHandlerError is "none", "done" or "unknown"')
        super().__init__(code, message, retryable, effect)
        self.code = code
        self.message = message
        self.retryable = retryable
        self.effect = effect

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


def is_code(code: object) -> bool:
    """Whether this is a PascalCase name that can be an error's code."""
    return isinstance(code, str) and 0 < len(code) <= 100 and "A" <= code[0] <= "Z" and _LETTERS.issuperset(code)


def is_reserved(code: str) -> bool:
    """Whether this is a code of the runtime's table, which it takes from no handler."""
    from ._reserved import RUNTIME_CODES  # a handler that has nothing to report does not need them

    return code in RUNTIME_CODES


class InputUnfit(Exception):
    """An input does not fit its annotation: nothing has been called. The message holds no value."""


class ArgumentInvalid(ValueError):
    """A handler told the SDK something that cannot be. The message names the part and is the SDK's own, so that it may
    be shown to anyone: it never holds a value."""


class DefinitionInvalid(ValueError):
    """What `define_tool` or `create_tool_handler` was told cannot be: the message names the part."""
