"""What this SDK is and speaks."""

from __future__ import annotations

from .. import __version__
from .context import PROGRESS_PROTOCOL
from .handle import REQUEST_PROTOCOL, RESPONSE_PROTOCOL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def touba_sdk_metadata() -> dict[str, Any]:
    """Name and version of the SDK, and the protocols that its handlers speak.

    >>> touba_sdk_metadata()["name"]
    'touba_sdk'
    """
    return {
        "name": "touba_sdk",
        "version": __version__,
        "protocols": [REQUEST_PROTOCOL, RESPONSE_PROTOCOL, PROGRESS_PROTOCOL],
    }
