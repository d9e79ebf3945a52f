"""Executes every block of README.md and docs/: what a page shows is what happens.

A page is one story, run in a folder of its own from top to bottom:

* a block with ``title="name"`` is written to that file; with a name under ``examples/`` it must be that file;
* ``touba`` blocks must compile without errors, or with exactly the code named by ``error="TB3001"``;
* ``python`` blocks without a title run, and so do titled ones with ``run`` in their info string;
* ``console`` blocks run their ``$`` lines; the text below each is its output (a line ``...`` stands for any lines);
* ``json`` blocks must be JSON; ``text`` and ``mermaid`` blocks are for people.

``skip="reason"`` leaves a block out, and says why.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
FENCE = re.compile(r"^( *)```([a-z]*)([^\n]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
LANGUAGES = {"touba", "python", "console", "json", "text", "mermaid", "sh", "toml", "ebnf"}


class Block:
    def __init__(self, page: Path, match: re.Match[str]):
        indent, self.language, info, body = match.groups()
        self.attributes = dict(ATTRIBUTE.findall(info))
        self.runs = " run" in re.sub(r'"[^"]*"', "", info)
        self.text = "".join(line.removeprefix(indent) for line in body.splitlines(keepends=True))
        self.place = f"{page.name}:{page.read_text('utf-8').count(chr(10), 0, match.start()) + 1}"


def blocks(page: Path) -> list[Block]:
    return [Block(page, match) for match in FENCE.finditer(page.read_text("utf-8"))]


def environment(folder: Path) -> dict[str, str]:
    tools = folder / ".bin"
    tools.mkdir(exist_ok=True)
    for name, command in (("python", ""), ("touba", " -m touba_cli")):
        script = tools / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}"{command} "$@"\n')
        script.chmod(0o755)
    kept = {key: value for key, value in os.environ.items() if key == "TOUBA_CACHE_DIR" or not key.startswith("TOUBA_")}
    return {**kept, "PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}


def agrees(expected: str, actual: str) -> bool:
    pattern = ""
    for line in expected.strip("\n").split("\n"):
        pattern += (
            r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line.rstrip()).replace(r"\.\.\.", ".*") + r"[ ]*\n"
        )
    return re.fullmatch(pattern, actual.strip("\n") + "\n") is not None


def run(block: Block, command: list[str], folder: Path, text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        env=environment(folder),
        input=text,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def execute(block: Block, folder: Path) -> None:
    assert block.language in LANGUAGES, f"{block.place}: a block of kind {block.language!r} cannot be executed"
    title = block.attributes.get("title")
    if title and title.startswith("examples/"):
        assert block.text == (ROOT / title).read_text("utf-8"), f"{block.place}: the block is not the file it names"
    elif title:
        target = folder / title
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(block.text, "utf-8")
    if "skip" in block.attributes:
        print(f"{block.place}: not executed: {block.attributes['skip']}")
    elif block.language == "json":
        json.loads(block.text)
    elif block.language == "touba":
        compile_block(block, folder, title)
    elif block.language == "python" and (block.runs or not title):
        done = run(block, [sys.executable, title or "-"], folder, None if title else block.text)
        assert done.returncode == 0, f"{block.place}:\n{done.stdout}{done.stderr}"
        assert agrees(block.attributes.get("output", "...").replace("\\n", "\n"), done.stdout), (
            f"{block.place}: printed\n{done.stdout}"
        )
    elif block.language == "console":
        for command, expected in re.findall(r"^\$ ([^\n]*)\n((?:(?!\$ )[^\n]*\n)*)", block.text, re.MULTILINE):
            done = run(block, ["bash", "-c", f"{{ {command}\n}} 2>&1"], folder)
            shown = done.stdout.replace(str(folder.resolve()), "FOLDER")
            assert agrees(expected, shown), f"{block.place}: {command}\nexpected\n{expected}\nprinted\n{shown}"


def compile_block(block: Block, folder: Path, title: str | None) -> None:
    name = title or "block.tb"
    if not title:
        text = block.text if block.text.lstrip().startswith(("module", "#")) else f"module docs.block\n\n{block.text}"
        (folder / name).write_text(text, "utf-8")
    done = run(block, [sys.executable, "-m", "touba_cli", "check", name, "--json"], folder)
    found = [each["code"] for each in json.loads(done.stdout)["diagnostics"] if each["severity"] == "error"]
    expected = [block.attributes["error"]] if "error" in block.attributes else []
    assert found == expected, f"{block.place}: {done.stdout}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_of_the_page_does_what_it_shows(page: Path, tmp_path: Path) -> None:
    found = blocks(page)
    assert page.read_text("utf-8").count("```") == 2 * len(found), (
        f"{page.name}: a block is not closed, or is indented oddly"
    )
    for example in ("quickstart", "invoice_review"):
        if (ROOT / "examples" / example).is_dir():
            shutil.copytree(ROOT / "examples" / example, tmp_path / "examples" / example)
    for block in found:
        execute(block, tmp_path)


def test_a_wrong_output_is_noticed() -> None:
    assert agrees("a\n...\nd", "a\nb\nc\nd\n")
    assert agrees("took ... ms", "took 12 ms")
    assert not agrees("a\nc", "a\nb\n")
