"""Where modules are found."""

from __future__ import annotations

from pathlib import Path

import pytest

from touba_cli.errors import ToubaFailure
from touba_cli.limits import SOURCE_BYTES
from touba_cli.project.sources import ProjectSources


def test_modules_are_found_under_both_roots(tmp_path: Path) -> None:
    for path in ("a/b.tb", "src/a/b.tb", "src/c.tb", "a/note.txt"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(path)
    sources = ProjectSources(str(tmp_path))
    assert sources.find("a.b") == ["a/b.tb", "src/a/b.tb"]
    assert sources.find("c") == ["src/c.tb"]
    assert sources.find("nothing") == []
    assert sources.near("a.x") == ["a.b", "c"]
    assert sources.read("src/c.tb") == b"src/c.tb"


def test_at_most_one_byte_past_the_limit_is_read(tmp_path: Path) -> None:
    (tmp_path / "big.tb").write_bytes(b"#" * (SOURCE_BYTES + 100))
    assert len(ProjectSources(str(tmp_path)).read("big.tb")) == SOURCE_BYTES + 1


def test_what_is_no_file_or_outside_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / "folder.tb").mkdir(parents=True)
    (tmp_path / "secret.tb").touch()
    (root / "link.tb").symlink_to(tmp_path / "secret.tb")
    sources = ProjectSources(str(root))
    assert sources.find("folder") == []
    with pytest.raises(IsADirectoryError):
        sources.read("folder.tb")
    with pytest.raises(FileNotFoundError):
        sources.read("nothing.tb")
    with pytest.raises(ToubaFailure) as refused:
        sources.read("link.tb")
    assert refused.value.code == "PathOutsideProject"
