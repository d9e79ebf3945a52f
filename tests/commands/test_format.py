"""`touba format`: files and folders in place, standard input to standard output, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shell_kit import Project
from touba_cli.commands import format as command
from touba_cli.errors import ToubaFailure
from touba_cli.language import format as writer

UGLY = "module a\ntype A\n  x as   Int\n"
GOOD = "module a\n\ntype A\n    x as Int\n"
BAD = "module a\ntype A\n  x as\n"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_files_and_folders_are_formatted_in_place(project: Project) -> None:
    paths = [project.write(name, UGLY) for name in ("one.tb", "sub/two.tb", "sub/deep/three.tb")]
    others = [project.write(name, UGLY) for name in ("sub/.hidden/four.tb", "sub/five.txt")]
    paths[0].chmod(0o640)
    done = project.touba("format", "one.tb", "sub")
    assert (done.code, done.stderr) == (0, "")
    assert done.stdout.decode().split() == ["one.tb", "sub/two.tb", "sub/deep/three.tb"]
    assert [path.read_text() for path in paths] == [GOOD] * 3
    assert [path.read_text() for path in others] == [UGLY] * 2
    assert paths[0].stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in project.folder.iterdir()) == ["one.tb", "sub"]
    again = project.touba("format", ".")
    assert (again.code, again.stdout) == (0, b"nothing to format\n")


def test_check_lists_what_would_change_and_writes_nothing(project: Project) -> None:
    path = project.write("one.tb", UGLY)
    project.write("two.tb", GOOD)
    done = project.touba("format", "--check", ".")
    assert (done.code, done.stdout, path.read_text()) == (1, b"one.tb\n", UGLY)
    document = project.touba("format", "--check", ".", "--json").document
    assert document["files"] == [{"file": "one.tb", "status": "changed"}, {"file": "two.tb", "status": "unchanged"}]
    assert project.touba("format", "--check", "two.tb").code == 0


def test_a_file_with_errors_is_refused_and_the_others_are_written(project: Project) -> None:
    bad = project.write("bad.tb", BAD)
    ugly = project.write("ugly.tb", UGLY)
    done = project.touba("format", ".", "--json")
    assert done.refused("CompileFailed", 3)
    assert [(each["code"], each["file"], each["line"]) for each in done.document["diagnostics"]] == [
        ("TB2006", "bad.tb", 3)
    ]
    assert (bad.read_text(), ugly.read_text()) == (BAD, GOOD)
    assert "bad.tb:3:7" in project.touba("format", "bad.tb").stderr


def test_standard_input_is_formatted_to_standard_output(project: Project) -> None:
    done = project.touba("format", "--stdin", stdin=UGLY.encode())
    assert (done.code, done.stdout.decode()) == (0, GOOD)
    windows = project.touba("format", "--stdin", stdin=UGLY.replace("\n", "\r\n").encode())
    assert windows.stdout.decode() == GOOD.replace("\n", "\r\n")
    assert project.touba("format", "--stdin", "--json", stdin=UGLY.encode()).document["text"] == GOOD
    assert project.touba("format", "--stdin", "--check", stdin=UGLY.encode()).code == 1
    assert project.touba("format", "--stdin", "--check", stdin=GOOD.encode()).code == 0
    refused = project.touba("format", "--stdin", stdin=BAD.encode())
    assert (refused.code, refused.stdout) == (3, b"")


@pytest.mark.parametrize(
    ("words", "code", "exit_code"),
    [
        ([], "UsageError", 2),
        (["--stdin", "a.tb"], "UsageError", 2),
        (["none.tb"], "FileUnreadable", 4),
        (["/etc"], "PathOutsideProject", 4),
        (["--chek", "a.tb"], "OptionUnknown", 2),
    ],
)
def test_what_cannot_be_done_is_refused(project: Project, words: list[str], code: str, exit_code: int) -> None:
    found = project.touba("format", *words, "--json")
    assert found.document["error"]["code"] == code
    assert found.code != 0
    assert exit_code != 2 or found.code == 2


def test_a_file_stays_as_it_was_where_the_proof_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even a formatter that takes another tree for the same gets a program with another digest past the proof."""
    monkeypatch.setattr("touba_cli.language.format.prove", lambda source, read, text: None)
    right = writer._Writer.text
    monkeypatch.setattr(writer._Writer, "text", lambda made: right(made).replace("Int", "Text"))
    path = tmp_path / "one.tb"
    path.write_text(UGLY)
    with pytest.raises(ToubaFailure, match=r"which is as it was: the new text compiles to another program") as caught:
        command._formatted(str(tmp_path), "one.tb", None)
    assert caught.value.code == "InternalError"
    assert path.read_text() == UGLY
