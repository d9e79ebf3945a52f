"""A conformance case, read from its file: see README.md for the form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
CASES = sorted(HERE.rglob("*.case"))
SECTIONS = {
    "fill", "inputs", "options", "tools", "expect check", "expect requires", "expect result", "expect outcome",
    "expect error", "expect messages", "expect trace",
}  # fmt: skip
RUNS = SECTIONS - {"fill", "expect check", "expect requires"}


class Case:
    """One case: its files (the first is the entry) and its other sections, as they are written."""

    def __init__(self, path: Path):
        self.path = path
        self.files: dict[str, str] = {}
        self.sections: dict[str, str] = {}
        title, *parts = ("\n" + path.read_bytes().decode("utf-8")).split("\n--- ")
        assert title.strip().startswith("# "), f"{path}: the first line says what the case shows, after `# `"
        for part in parts:
            head, _, body = part.partition("\n")
            if head.startswith("file "):
                self.files[head.removeprefix("file ")] = body + "\n" if body else ""
            else:
                assert head in SECTIONS, f"{path}: no section is called {head!r}"
                assert head not in self.sections, f"{path}: the section {head!r} stands twice"
                self.sections[head] = body
        assert self.files, f"{path}: a case needs a file"
        self.entry = next(iter(self.files))
        self.files = {name: self._filled(text) for name, text in self.files.items()}

    def _filled(self, text: str) -> str:
        """A file whose marks are replaced by the many texts that the section `fill` makes."""
        for mark, (piece, times) in self.document("fill").items():
            if mark in text:
                text = text.replace(mark, "".join(piece.replace("%", str(number)) for number in range(times)))
        return text

    @property
    def name(self) -> str:
        return str(self.path.relative_to(HERE).with_suffix(""))

    @property
    def runs(self) -> bool:
        return bool(RUNS & self.sections.keys())

    def lines(self, name: str) -> list[str]:
        return [line for line in self.sections.get(name, "").split("\n") if line.strip()]

    def document(self, name: str) -> Any:
        return json.loads(self.sections[name]) if name in self.sections else {}

    def bytes(self, name: str) -> bytes:
        """A file as it is written to disk; `fill` can put a single byte into it, as the code point U+DC80 to U+DCFF."""
        return self.files[name].encode("utf-8", "surrogateescape")

    def write(self, folder: Path) -> None:
        """Write all files of the case below a folder."""
        for name in self.files:
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(self.bytes(name))


class CaseSources:
    """The files of a case as the compiler takes them, without a disk: the folder itself and `src` are roots."""

    def __init__(self, case: Case):
        self._case = case

    def find(self, module: str) -> list[str]:
        path = module.replace(".", "/") + ".tb"
        return [each for each in (path, "src/" + path) if each in self._case.files]

    def places(self, module: str) -> list[str]:
        return [module.replace(".", "/") + ".tb"]

    def near(self, module: str) -> list[str]:
        return sorted(name.removeprefix("src/").removesuffix(".tb").replace("/", ".") for name in self._case.files)

    def read(self, path: str) -> bytes:
        if path not in self._case.files:
            raise FileNotFoundError(path)
        return self._case.bytes(path)
