"""A project in a temporary folder: programs, handlers, manifest and secrets, written by the test."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, overload

from touba_cli.limits import SECRET_CHARACTERS
from touba_cli.options import nearest

from ..handlers.definition import GRANTS
from .fakes import FakeTool, fake_tool
from .processes import HandlerAnswer, call_handler

MANIFEST = "touba.manifest.json"
SECRETS = "touba.secrets.json"


class ToubaProject:
    """A project's folder. The fixture `touba_project` gives one; `close` ends its fake tools.

    Attributes:
        root: the folder.
        manifest: the name of the manifest, for ``engine.run(manifest=…)``; written by `bind`.
        secrets: the name of the secrets file, for ``engine.run(secrets=…)``; written by `bind` with secrets.

    Example::

        project.write("app.tb", PROGRAM)
        project.bind("tool:app/Search", lambda request, context: {"found": []})
        engine.run("app.tb", manifest=project.manifest)
    """

    manifest = MANIFEST
    secrets = SECRETS

    def __init__(self, root: str | os.PathLike[str]):
        self.root = Path(root)
        self._tools: dict[str, Any] = {}
        self._secrets: dict[str, Any] = {}
        self._fakes: list[FakeTool] = []

    def write(self, path: str | os.PathLike[str], content: str | bytes | Mapping[str, Any]) -> Path:
        """Write a file of the project; folders are made as needed, an object is written as JSON."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Mapping):
            content = json.dumps(content, ensure_ascii=False, indent=2) + "\n"
        target.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        return target

    @overload
    def bind(
        self,
        tool: FakeTool,
        handler: None = None,
        *,
        grants: Sequence[str] = (),
        secrets: Mapping[str, str] | None = None,
        environment: Sequence[str] = (),
        limits: Mapping[str, int] | None = None,
    ) -> FakeTool: ...
    @overload
    def bind(
        self,
        tool: str,
        handler: Callable[..., Any],
        *,
        grants: Sequence[str] = (),
        secrets: Mapping[str, str] | None = None,
        environment: Sequence[str] = (),
        limits: Mapping[str, int] | None = None,
    ) -> FakeTool: ...
    @overload
    def bind(
        self,
        tool: str,
        handler: str | os.PathLike[str] | Sequence[str],
        *,
        grants: Sequence[str] = (),
        secrets: Mapping[str, str] | None = None,
        environment: Sequence[str] = (),
        limits: Mapping[str, int] | None = None,
    ) -> None: ...
    def bind(
        self,
        tool: FakeTool | str,
        handler: Any = None,
        *,
        grants: Sequence[str] = (),
        secrets: Mapping[str, str] | None = None,
        environment: Sequence[str] = (),
        limits: Mapping[str, int] | None = None,
    ) -> FakeTool | None:
        """Say in the manifest what serves a tool.

        Parameters:
            tool: a `FakeTool`, or the tool's reference.
            handler: with a reference: a script of the project, a whole command, or a function for `fake_tool`.
            grants: what the manifest grants.
            secrets: the program's handle → the secret itself, of at least 8 characters. It is written to the secrets
                file, as a value: give ``secrets=project.secrets`` to the run.
            environment: variables that are handed on.
            limits: `timeout_ms` and so on.

        Returns:
            The fake, where there is one.

        Raises:
            ValueError: for a grant that does not exist, a secret that is too short, a reference that is none, and a
                function that cannot take a request and a context.
        """
        _check(grants, secrets or {})
        fake = tool if isinstance(tool, FakeTool) else None
        reference = tool.tool_ref if isinstance(tool, FakeTool) else tool
        if callable(handler):
            fake = fake_tool(reference, handler)
        if fake is not None:
            self._fakes.append(fake)
            entry = fake.install(self.root)
        elif handler is None:
            raise TypeError("bind needs a FakeTool, or a reference with a script, a command or a function")
        else:
            command = ["python", os.fspath(handler)] if isinstance(handler, (str, os.PathLike)) else list(handler)
            entry = {"handler": {"kind": "process", "command": command}}
        entry |= {"grants": list(grants), "environment": list(environment), "limits": dict(limits or {})}
        entry["secrets"] = {handle: self._keep(reference, handle, value) for handle, value in (secrets or {}).items()}
        self._tools[reference] = entry
        self.write(MANIFEST, {"protocol": "touba-manifest-v1", "tools": self._tools})
        return fake

    def call(self, script: str | os.PathLike[str], tool_ref: str, **request: Any) -> HandlerAnswer:
        """Start a handler script of the project as the runtime does and give its answer: see `call_handler`."""
        __tracebackhide__ = True
        return call_handler(script, tool_ref, project_root=self.root, **request)

    def close(self) -> None:
        """Close the fake tools."""
        for fake in self._fakes:
            fake.close()

    def _keep(self, reference: str, handle: str, value: str) -> str:
        name = f"{reference}#{handle}"
        self._secrets[name] = {"value": value}
        path = self.write(SECRETS, {"protocol": "touba-secrets-v1", "secrets": self._secrets})
        path.chmod(0o600)
        return name


def _check(grants: Sequence[str], secrets: Mapping[str, str]) -> None:
    """Refuse what would fail each run. Raises ValueError, without the secret."""
    if isinstance(grants, str):
        raise ValueError(f"grants is a list of names, such as [{grants!r}]")
    for grant in grants:
        if grant not in GRANTS:
            near = nearest(grant, GRANTS)
            raise ValueError(
                f"there is no grant {grant!r}; "
                + (f"did you mean {near!r}?" if near else f"there are {', '.join(GRANTS)}")
            )
    for handle, secret in secrets.items():
        if len(secret) < SECRET_CHARACTERS:
            raise ValueError(f"the secret {handle!r} has fewer than {SECRET_CHARACTERS} characters")
