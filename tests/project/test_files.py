"""Reading, writing and staying inside the project."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from touba_cli.errors import ToubaFailure
from touba_cli.project.files import OutputFile, check_path, inside, read_file


def test_a_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"12345")
    assert read_file(str(path), 5, "the file") == b"12345"
    with pytest.raises(ToubaFailure, match="more than 4 bytes") as refused:
        read_file(str(path), 4, "the file")
    assert refused.value.code == "FileUnreadable"


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda path: None, "it does not exist"),
        (lambda path: path.mkdir(), "it is a folder"),
        (lambda path: os.mkfifo(path), "it is not a regular file"),
        (lambda path: path.symlink_to(path), "its links go in a circle"),
        (lambda path: path.symlink_to("/dev/null"), "it is not a regular file"),
    ],
)
def test_what_is_no_file_is_refused_with_its_cause(tmp_path: Path, make: object, why: str) -> None:
    path = tmp_path / "thing"
    make(path)  # type: ignore[operator]
    with pytest.raises(ToubaFailure) as refused:
        read_file(str(path), 100, "the manifest")
    assert refused.value.message == f"the manifest `{path}` cannot be read: {why}"


def test_a_part_of_the_path_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ToubaFailure, match="a part of its path is not a folder"):
        read_file(str(tmp_path / "file" / "inner"), 100, "the file")


@pytest.mark.parametrize("path", ["", "a\0b", "a\ud800b"])
def test_what_no_path_can_be_is_refused(path: str) -> None:
    with pytest.raises(ToubaFailure) as refused:
        check_path(path, "--air")
    assert refused.value.code == "OptionInvalid"


def test_inside_follows_links(tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / "deep").mkdir(parents=True)
    (tmp_path / "project-other").mkdir()
    (root / "file").touch()
    (root / "link").symlink_to(root / "file")
    (root / "away").symlink_to(tmp_path)
    assert inside(str(root), "deep/../file", "the file") == os.path.realpath(root / "file")
    assert inside(str(root), "link", "the file") == os.path.realpath(root / "file")
    for path in ("..", "../project-other", "away", "away/x", "/etc/passwd", "deep/../../x", "nul\0"):
        with pytest.raises(ToubaFailure) as refused:
            inside(str(root), path, "the file")
        assert refused.value.code == "PathOutsideProject", path


def test_inside_accepts_a_root_that_is_itself_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "root").symlink_to(tmp_path / "real")
    assert inside(str(tmp_path / "root"), "a", "the file") == os.path.realpath(tmp_path / "real" / "a")


def test_an_output_file_replaces_its_target_in_one_step(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    target.write_bytes(b"old")
    file = OutputFile(str(target), "the trace file")
    assert target.read_bytes() == b"old"
    file.write(b"new")
    assert target.read_bytes() == b"new"
    file.discard()
    assert [each.name for each in tmp_path.iterdir()] == ["out.json"]


def test_a_discarded_output_file_leaves_its_target_alone(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    target.write_bytes(b"old")
    file = OutputFile(str(target), "the trace file")
    file.discard()
    file.discard()
    assert target.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1


def test_an_output_file_that_a_killed_process_left_over_is_not_in_the_way(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    first = OutputFile(str(target), "the file")
    second = OutputFile(str(target), "the file")
    second.write(b"second")
    first.write(b"first")
    assert target.read_bytes() == b"first"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("missing/out.json", "the folder `missing` does not exist"),
        ("folder", "it is a folder"),
        ("file/out.json", "a part of its path is not a folder"),
        ("circle", "its links go in a circle"),
        ("lonely", "nobody reads it"),
    ],
)
def test_an_output_file_that_cannot_be_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "circle").symlink_to("circle")
    os.mkfifo("lonely")
    with pytest.raises(ToubaFailure) as refused:
        OutputFile(name, "the trace file")
    assert refused.value.code == "FileUnwritable"
    assert refused.value.message == f"the trace file `{name}` cannot be written: {why}"


@pytest.mark.parametrize("target", ["real.json", "deep/new.json"])
def test_an_output_file_follows_links_and_leaves_them(tmp_path: Path, target: str) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "real.json").write_bytes(b"old")
    link = tmp_path / "link.json"
    link.symlink_to(target)
    OutputFile(str(link), "the file").write(b"new")
    assert link.is_symlink()
    assert (tmp_path / target).read_bytes() == b"new"


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    OutputFile(str(pipe), "the trace file").write(b"through it")
    assert os.read(reader, 100) == b"through it"
    os.close(reader)
    assert stat.S_ISFIFO(os.lstat(pipe).st_mode)
    assert [each.name for each in tmp_path.iterdir()] == ["pipe"]


def test_a_device_is_written_to_and_stays_a_device(tmp_path: Path) -> None:
    # A terminal of the test's own: were the code wrong, no device of the machine would suffer.
    ours, theirs = os.openpty()
    name = os.ttyname(theirs)
    link = tmp_path / "device"
    link.symlink_to(name)
    OutputFile(str(link), "the trace file").write(b"seen")
    assert os.read(ours, 100) == b"seen"
    assert stat.S_ISCHR(os.stat(name).st_mode)
    assert [each.name for each in tmp_path.iterdir()] == ["device"]
    discarded = OutputFile(str(link), "the trace file")
    discarded.discard()
    assert stat.S_ISCHR(os.stat(name).st_mode)
    os.close(ours)
    os.close(theirs)


def test_a_pipe_that_comes_to_the_target_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    file = OutputFile(str(target), "the file")
    os.mkfifo(target)
    with pytest.raises(OSError, match="no regular file"):
        file.write(b"data")
    assert stat.S_ISFIFO(os.lstat(target).st_mode)
    assert [each.name for each in tmp_path.iterdir()] == ["out.json"]


def test_a_target_that_becomes_a_folder_meanwhile_keeps_what_it_has(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    file = OutputFile(str(target), "the file")
    target.mkdir()
    with pytest.raises(OSError, match="out"):
        file.write(b"data")
    assert [each.name for each in tmp_path.iterdir()] == ["out.json"]
