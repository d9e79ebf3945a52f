"""The compile cache: what it gives is what the compiler makes, whatever happens to its files and those of the program."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import platformdirs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from touba_cli.errors import ToubaFailure
from touba_cli.language.compiler import compile_program
from touba_cli.project import cache as module
from touba_cli.project.cache import RecordedSources, default_folder, open_cache
from touba_cli.project.sources import ProjectSources

ENTRY = """module app
import parts.sums as sums

function Run
    takes n as Int
    gives Int
    do
        give sums.Twice(n)
"""
SUMS = """module parts.sums

function Twice
    takes n as Int
    gives Int
    do
        give n * 2
"""


class Project:
    """A project of two modules, and a cache beside it."""

    def __init__(self, folder: Path):
        self.root = folder / "project"
        self.folder = folder / "cache"
        self.write("app.tb", ENTRY)
        self.write("parts/sums.tb", SUMS)
        found = open_cache(str(self.folder))
        assert found is not None
        self.cache = found

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    def find(self) -> dict[str, Any] | None:
        return self.cache.find(ProjectSources(str(self.root)), "app.tb")

    def compile(self) -> dict[str, Any] | None:
        """Compile, and keep that."""
        recorded = RecordedSources(ProjectSources(str(self.root)))
        air = compile_program(recorded, "app.tb").air
        if air is not None:
            self.cache.keep(recorded, "app.tb", air)
        return air

    @property
    def entries(self) -> list[Path]:
        return sorted(self.folder.iterdir())


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_what_was_kept_is_what_the_compiler_made(project: Project) -> None:
    assert project.find() is None
    made = project.compile()
    assert made is not None
    assert project.find() == made
    assert len(project.entries) == 1
    assert project.entries[0].stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "change",
    [
        lambda project: project.write("app.tb", ENTRY + "\n# changed\n"),
        lambda project: project.write("parts/sums.tb", SUMS.replace("2", "3")),
        lambda project: (project.root / "parts/sums.tb").unlink(),
        lambda project: project.write("src/parts/sums.tb", SUMS),
        lambda project: (project.root / "app.tb").unlink(),
    ],
    ids=["entry", "module", "module gone", "module in another place", "entry gone"],
)
def test_an_entry_counts_only_while_its_files_are_what_they_were(project: Project, change: Any) -> None:
    project.compile()
    assert project.find() is not None
    change(project)
    assert project.find() is None


def test_a_change_that_is_taken_back_is_no_change(project: Project) -> None:
    made = project.compile()
    project.write("parts/sums.tb", SUMS.replace("2", "3"))
    assert project.find() is None
    project.write("parts/sums.tb", SUMS)
    assert project.find() == made


def test_every_place_that_was_looked_at_in_vain_counts(project: Project) -> None:
    recorded = RecordedSources(ProjectSources(str(project.root)))
    compile_program(recorded, "app.tb")
    assert recorded.absent == {"src/parts/sums.tb"}
    assert set(recorded.files) == {"app.tb", "parts/sums.tb"}


def test_a_program_with_errors_is_not_kept(project: Project) -> None:
    project.write("parts/sums.tb", SUMS.replace("n * 2", "m"))
    assert project.compile() is None
    assert project.entries == []


def test_another_compiler_does_not_use_it(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.compile()
    with monkeypatch.context() as patch:
        patch.setattr(module, "__version__", "9.9.9")
        assert project.find() is None
    with monkeypatch.context() as patch:
        patch.setattr(module, "SEMANTICS", 99)
        assert project.find() is None
    with monkeypatch.context() as patch:
        patch.setattr(module, "_COMPILER", ("language",))
        assert project.find() is None
    assert project.find() is not None


# Entries that are odd.


def test_a_torn_entry_is_none(project: Project) -> None:
    made = project.compile()
    path = project.entries[0]
    data = path.read_bytes()
    for length in [0, 1, 14, 15, 27, 90, 93, 94, len(data) // 2, len(data) - 1]:
        path.write_bytes(data[:length])
        assert project.find() is None
    path.write_bytes(data + b" ")
    assert project.find() is None
    project.compile()
    assert project.find() == made


@settings(max_examples=120)
@given(st.data())
def test_a_changed_byte_is_noticed(data: st.DataObject) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        project = Project(Path(name))
        project.compile()
        path = project.entries[0]
        found = bytearray(path.read_bytes())
        position = data.draw(st.integers(0, len(found) - 1))
        found[position] ^= data.draw(st.integers(1, 255))
        path.write_bytes(found)
        assert project.find() is None


def test_an_entry_under_another_name_is_none(project: Project) -> None:
    project.compile()
    first = project.entries[0]
    data = first.read_bytes()
    project.write("app.tb", ENTRY + "\n# changed\n")
    project.compile()
    second = next(path for path in project.entries if path != first)
    second.write_bytes(data)
    assert project.find() is None


def test_an_entry_that_others_could_have_put_there_is_none(project: Project, tmp_path: Path) -> None:
    made = project.compile()
    path = project.entries[0]
    path.chmod(0o622)
    assert project.find() is None
    path.chmod(0o600)
    assert project.find() == made
    moved = path.rename(tmp_path / "elsewhere")
    path.symlink_to(moved)
    assert project.find() is None
    path.unlink()
    path.mkdir()
    assert project.find() is None
    path.rmdir()
    os.mkfifo(path)
    assert project.find() is None


# Folders that are not to be trusted.


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701, 0o777, 0o750])
def test_a_folder_that_is_open_to_others_is_no_cache(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(mode)
    assert open_cache(str(folder)) is None
    folder.chmod(0o700)
    assert open_cache(str(folder)) is not None


def test_a_folder_that_others_could_replace_is_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = tmp_path / "real"
    real.mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(real)
    assert open_cache(str(tmp_path / "link")) is None
    (tmp_path / "file").write_text("x")
    assert open_cache(str(tmp_path / "file")) is None
    assert open_cache(str(tmp_path / "file" / "inside")) is None
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    assert open_cache(str(shared / "cache")) is None
    shared.chmod(0o1777)
    assert open_cache(str(shared / "cache")) is not None
    monkeypatch.setattr(module.os, "getuid", lambda: 4_711)
    assert open_cache(str(real)) is None


def test_a_new_folder_is_closed_to_others(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        assert open_cache(str(tmp_path / "a" / "b")) is not None
    finally:
        os.umask(before)
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700


# Writers.


def test_a_disk_that_is_full_leaves_nothing_behind(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any) -> None:
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patch:
        patch.setattr(module.os, "rename", fail)
        assert project.compile() is not None
    assert project.entries == []
    assert project.find() is None
    project.folder.rmdir()
    assert project.compile() is not None


WRITER = """
import sys
from touba_cli.language.compiler import compile_program
from touba_cli.project.cache import RecordedSources, open_cache
from touba_cli.project.sources import ProjectSources

root, folder = sys.argv[1:]
cache = open_cache(folder)
sources = RecordedSources(ProjectSources(root))
air = compile_program(sources, "app.tb").air
for _ in range(150):
    cache.keep(sources, "app.tb", air)
    assert cache.find(ProjectSources(root), "app.tb") == air
"""


def test_many_may_write_at_once(project: Project) -> None:
    made = project.compile()
    command = [sys.executable, "-c", WRITER, str(project.root), str(project.folder)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    writers = [subprocess.Popen(command, env=environment) for _ in range(3)]
    found: list[Any] = []

    def read() -> None:
        found.extend(project.find() for _ in range(300))

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    assert all(each == made for each in found)
    assert len(project.entries) == 1


def test_a_writer_that_is_killed_leaves_no_entry(project: Project) -> None:
    # A half-written temporary file is all that can be left; it has another name, and goes with time.
    made = project.compile()
    half = project.folder / f"{project.entries[0].name}.1.abcd.tmp"
    half.write_bytes(b"touba-cache-v1\n")
    assert project.find() == made
    project.compile()
    assert half.exists()
    os.utime(half, (1, 1))
    project.compile()
    assert not half.exists()


# The bound.


def test_the_oldest_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = Project(tmp_path)
    project.compile()
    size = project.entries[0].stat().st_size
    monkeypatch.setattr(module, "CACHE_BYTES", 4 * size + size // 2)
    kept = [project.entries[0]]
    for number in range(6):
        for at, path in enumerate(kept):
            if path.exists():
                os.utime(path, (1_000 + at, 1_000 + at))
        project.write("app.tb", ENTRY + f"\n# {number}\n")
        project.compile()
        kept += [path for path in project.entries if path not in kept]
    assert [path.exists() for path in kept] == [False, False, False, True, True, True, True]


def test_what_is_used_becomes_new(project: Project) -> None:
    project.compile()
    os.utime(project.entries[0], (1_000, 1_000))
    project.find()
    assert project.entries[0].stat().st_mtime > 1_000_000


def test_what_would_fill_the_cache_is_not_kept(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CACHE_BYTES", 2_000)
    project.compile()
    assert project.entries == []


# Where it lies.


def test_the_folder_at_a_terminal_is_that_of_platformdirs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOUBA_CACHE_DIR")
    for value in (None, "/somewhere/cache"):
        if value is None:
            monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        else:
            monkeypatch.setenv("XDG_CACHE_HOME", value)
        expected = platformdirs.user_cache_dir("touba", appauthor=False)
        assert default_folder(dict(os.environ), sys.platform) == expected


@pytest.mark.parametrize(
    ("environ", "platform", "expected"),
    [
        ({"HOME": "/h"}, "linux", "/h/.cache/touba"),
        ({"HOME": "/h", "XDG_CACHE_HOME": "relative"}, "linux", "/h/.cache/touba"),
        ({"HOME": "/h"}, "darwin", "/h/Library/Caches/touba"),
        ({"HOME": "/h", "TOUBA_CACHE_DIR": "/c"}, "linux", "/c"),
        ({"HOME": "/h", "TOUBA_CACHE_DIR": ""}, "linux", "/h/.cache/touba"),
        ({}, "linux", None),
        ({}, "win32", None),
    ],
)
def test_the_folder_by_environment(environ: dict[str, str], platform: str, expected: str | None) -> None:
    assert default_folder(environ, platform) == expected


def test_a_relative_folder_is_refused() -> None:
    with pytest.raises(ToubaFailure) as caught:
        default_folder({"TOUBA_CACHE_DIR": "cache"}, "linux")
    assert caught.value.code == "OptionInvalid"


# The command and the engine.


def touba(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "touba_cli", "run", "app.tb", "--json", '--inputs={"n": 4}',
         "--entry-ref=function:app/Run", *words],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2]), **environment},
        stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False,
    )  # fmt: skip


def test_the_second_run_loads_no_compiler(project: Project, tmp_path: Path) -> None:
    folder = {"TOUBA_CACHE_DIR": str(tmp_path / "own")}
    first = touba(project.root, **folder)
    second = touba(project.root, **folder)
    for done in (first, second):
        assert b'"result":8' in done.stdout
    assert b"touba_cli.language" in first.stderr
    assert b"touba_cli.language" not in second.stderr
    entries = list((tmp_path / "own" / "programs").iterdir())
    assert len(entries) == 1
    assert b"touba_cli.language" in touba(project.root, "--no-cache", **folder).stderr
    assert b"touba_cli.language" in touba(project.root, f"--cache-folder={tmp_path / 'other'}", **folder).stderr
    assert len(list((tmp_path / "other").iterdir())) == 1


def test_a_folder_that_is_not_private_only_costs_time(project: Project, tmp_path: Path) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o755)
    for _ in range(2):
        done = touba(project.root, f"--cache-folder={folder}")
        assert b'"result":8' in done.stdout
        assert b"touba_cli.language" in done.stderr
    assert list(folder.iterdir()) == []


def test_places_of_failures_are_the_same_from_the_cache(project: Project, tmp_path: Path) -> None:
    project.write("parts/sums.tb", SUMS.replace("n * 2", "n div (n - n)"))
    answers = [touba(project.root, "--run-id=r", f"--cache-folder={tmp_path / 'own'}").stdout for _ in range(2)]
    assert b'"DivisionByZero"' in answers[0]
    assert b"parts/sums.tb:7:9" in answers[0]
    assert [answer.partition(b'"trace"')[0] for answer in answers[:1]] == [answers[1].partition(b'"trace"')[0]]
