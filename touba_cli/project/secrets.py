"""The secrets file: handles, and where each secret is found. Values are read only for the tools that a run reaches."""

from __future__ import annotations

import os

from ..documents import read_document
from ..errors import ToubaFailure
from ..limits import DOCUMENT_BYTES, SECRET_CHARACTERS
from ..options import nearest
from .files import read_file, shown
from .tracked import is_tracked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Secrets:
    """A secrets file that was read; `resolve` looks a handle up."""

    __slots__ = ("_handles", "_root")

    def __init__(self, root: str, handles: dict[str, dict[str, Any]]):
        self._root = root
        self._handles = handles

    def resolve(self, handle: str, ref: str) -> str:
        """The secret of a handle.

        Parameters:
            handle: the handle, as the manifest names it.
            ref: the tool that it is for, for the message.

        Raises:
            ToubaFailure: SecretMissing, SecretTooShort. The message never holds the secret.
        """
        place = self._handles.get(handle)
        if place is None:
            near = nearest(handle, list(self._handles))
            also = f"; did you mean `{near}`?" if near else ""
            raise ToubaFailure(
                "SecretMissing", f"the secrets file has no handle `{handle}`, which {ref} needs{also}", ref=ref
            )
        if "env" in place:
            found = os.environ.get(place["env"])
            if found is None:
                raise ToubaFailure(
                    "SecretMissing",
                    f"the secret `{handle}` of {ref} is not set: the variable {place['env']} does not exist",
                    ref=ref,
                    hint=f"Set {place['env']} in the environment.",
                )
            where = f"the variable {place['env']}"
        elif "file" in place:
            found = self._from_file(handle, place["file"], ref)
            where = f"the file `{shown(place['file'])}`"
        else:
            found = place["value"]
            where = "the secrets file"
        if not found:
            raise ToubaFailure(
                "SecretMissing", f"the secret `{handle}` of {ref} is empty: {where} holds nothing", ref=ref,
                hint=f"Set {place['env']} in the environment." if "env" in place else None,
            )  # fmt: skip
        if len(found) < SECRET_CHARACTERS:
            raise ToubaFailure(
                "SecretTooShort",
                f"the secret `{handle}` from {where} has fewer than {SECRET_CHARACTERS} characters",
                ref=ref,
            )
        return found

    def _from_file(self, handle: str, path: str, ref: str) -> str:
        try:
            data = read_file(os.path.join(self._root, path), DOCUMENT_BYTES, "the secret's file")
            text = data.decode("utf-8")
        except ToubaFailure as failure:
            raise ToubaFailure(
                "SecretMissing", f"the secret `{handle}` is not set: {failure.message}", ref=ref
            ) from None
        except UnicodeDecodeError:
            raise ToubaFailure(
                "SecretMissing",
                f"the secret `{handle}` is not set: the file `{shown(path)}` is not UTF-8 text",
                ref=ref,
            ) from None
        # Editors and `echo` end a file with a line end that is not meant.
        return text.removesuffix("\n").removesuffix("\r")


def read_secrets(path: str, root: str) -> Secrets:
    """Read a secrets file.

    Raises:
        ToubaFailure: FileUnreadable, JsonInvalid, DocumentInvalid, SecretExposed.
    """
    data = read_file(path, DOCUMENT_BYTES, "the secrets file")
    document = read_document("touba-secrets-v1", data, DOCUMENT_BYTES, shown(path))
    handles: dict[str, dict[str, Any]] = document["secrets"]
    if any("value" in place for place in handles.values()):
        _refuse_exposed(path)
    return Secrets(root, handles)


def _refuse_exposed(path: str) -> None:
    """Values in a file are for development: nobody else may read them, and no repository may keep them."""
    if os.name == "posix" and os.stat(path).st_mode & 0o077:
        raise ToubaFailure(
            "SecretExposed",
            f"the secrets file `{shown(path)}` holds values and is open to others",
            hint="Run `chmod 600` on it.",
        )
    if is_tracked(path):
        raise ToubaFailure(
            "SecretExposed",
            f"the secrets file `{shown(path)}` holds values and is tracked by git",
            hint="Take it out of git and ignore it, or use `env` or `file` handles.",
        )
