"""What commands tell: one document, or its text for people."""

from __future__ import annotations

from ..codec import encode
from ..outcomes import PHASES
from ..runtime.envelope import error_object, exit_code
from .inputs import as_failure, wants_json
from .output import error_text, note, print_document, print_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def tell(words: list[str], document: dict[str, Any], read: Callable[[], str]) -> int:
    """Print what a command tells that does nothing else; gives the exit code.

    Parameters:
        words: the command line.
        document: what is printed where it asks for JSON; a failure is entered as its ``error``.
        read: reads the command line, completes the document and gives the text for people.
    """
    text = ""
    code = 0
    try:
        text = read()
    except Exception as fault:
        failure = as_failure(fault)
        document["error"] = error_object(failure)
        code = exit_code(failure)
    is_told = True
    if wants_json(words):
        is_told = print_document(encode(document))
    elif document["error"] is not None:
        note(error_text(document["error"]))
    else:
        is_told = print_text(text)
    return code if is_told else PHASES["internal"]


def tell_failure(fault: Exception, document: dict[str, Any], as_json: bool) -> int:
    """Enter a failure beside the diagnostics of a document, or print it for people; gives the exit code."""
    failure = as_failure(fault)
    error = {**error_object(failure), "diagnostics": []}  # they stand beside it already
    document["error"] = error
    if not as_json:
        note(error_text({**error, "hint": None} if document["diagnostics"] else error))
    return exit_code(failure)
