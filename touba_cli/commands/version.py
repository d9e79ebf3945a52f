"""`touba version`: what this runtime is, and which protocols it speaks."""

from __future__ import annotations

import sys
from unicodedata import unidata_version

from .. import __version__
from ..air.program import SEMANTICS
from ..codec import encode
from ..documents import DOCUMENTS
from ..outcomes import PHASES
from ..runtime.envelope import error_object, exit_code
from .arguments import parse
from .inputs import as_failure, wants_json
from .output import error_text, note, print_document, print_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VERSION_PROTOCOL = "touba-version-v1"


def command(words: list[str]) -> int:
    """Run the command and print its document or text; gives the exit code."""
    document = describe()
    code = 0
    try:
        parse("version", words, lambda: b"")
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
        is_told = print_text(f"touba {__version__} (Python {document['python']}, semantics {SEMANTICS})")
    return code if is_told else PHASES["internal"]


def describe() -> dict[str, Any]:
    """The document `touba-version-v1`."""
    return {
        "protocol": VERSION_PROTOCOL,
        "version": __version__,
        "python": ".".join(str(part) for part in sys.version_info[:3]),
        "semantics": SEMANTICS,
        "protocols": sorted(DOCUMENTS),
        "unicode": unidata_version,
        "error": None,
    }
