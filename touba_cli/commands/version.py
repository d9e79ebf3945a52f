"""`touba version`: what this runtime is, and which protocols it speaks."""

from __future__ import annotations

import sys
from unicodedata import unidata_version

from .. import __version__
from ..air.program import SEMANTICS
from ..documents import DOCUMENTS
from .arguments import parse
from .tell import tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VERSION_PROTOCOL = "touba-version-v1"


def command(words: list[str]) -> int:
    """Run the command and print its document or text; gives the exit code."""
    document = describe()

    def read() -> str:
        parse("version", words, lambda: b"")
        return f"touba {__version__} (Python {document['python']}, semantics {SEMANTICS})"

    return tell(words, document, read)


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
