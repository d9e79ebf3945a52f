"""Which runtime, which Python: pure rules over a world that the test makes up."""

from __future__ import annotations

import importlib.util
import os
import py_compile
import sys
from pathlib import Path
from typing import Any

import pytest

from touba_sdk.engine.core import cache_folder
from touba_sdk.engine.locate import PYTHON_FLAGS, World, bytecode_folder, find_runtime
from touba_sdk.errors import LaunchError, ToubaEngineError, UsageError

PACKAGE = "/site/touba_cli/__init__.py"
START = "/site/touba_cli/__start__.py"
PYTHON = "/usr/bin/python3.11"
VENV = "/venv/bin/python"


def world(*files: str, locked: tuple[str, ...] = (), **changes: Any) -> World:
    present = {START, PYTHON, VENV, *files}
    folders = {str(parent) for path in present for parent in Path(path).parents}
    values: dict[str, Any] = {
        "environ": {},
        "platform": "linux",
        "executable": VENV,
        "base_executable": PYTHON,
        "package": PACKAGE,
        "is_file": present.__contains__,
        "is_folder": folders.__contains__,
        "may_execute": lambda path: path not in locked,
        **changes,
    }
    return World(**values)


def find(where: World, **options: Any) -> tuple[tuple[str, ...], str | None]:
    runtime = find_runtime(where, project_root="/project", **options)
    return runtime.command, runtime.python


def refused(where: World, **options: Any) -> ToubaEngineError:
    with pytest.raises((LaunchError, UsageError)) as raised:
        find(where, **options)
    return raised.value


def test_the_bundled_runtime_starts_with_the_base_interpreter() -> None:
    assert find(world()) == ((PYTHON, *PYTHON_FLAGS, START), VENV)
    assert PYTHON_FLAGS == ("-I", "-S", "-X", "utf8")


def test_the_folder_for_compiled_modules_stands_before_the_start_file() -> None:
    asked: list[bool] = []

    def folder(start: str, own_python: bool) -> str:
        asked.append(own_python)
        return f"/cache{start}"

    assert find(world(), bytecode_folder=folder)[0] == (
        PYTHON, "-I", "-S", "-X", "utf8", "-X", f"pycache_prefix=/cache{START}", START,
    )  # fmt: skip
    find(world("/opt/other"), bytecode_folder=folder, python_executable="/opt/other")
    assert asked == [True, False]


def test_the_order_of_runtimes() -> None:
    where = world("/opt/touba", "/project/tools/touba", environ={"TOUBA_CLI": "/opt/touba"})
    assert find(where)[0] == ("/opt/touba",)
    assert find(where, cli_path="tools/touba")[0] == ("/project/tools/touba",)
    assert find(world(environ={"TOUBA_CLI": ""}))[0][-1] == START


def test_a_named_runtime_that_is_missing_is_never_replaced() -> None:
    error = refused(world(environ={"TOUBA_CLI": "/opt/touba"}))
    assert (error.code, error.message) == (
        "RuntimeNotFound", "TOUBA_CLI names `/opt/touba`: the folder `/opt` does not exist.",
    )  # fmt: skip
    error = refused(world("/opt/other"), cli_path="/opt/touba")
    assert error.message == "cli_path names `/opt/touba`: the folder is there, but has no file `touba`."
    error = refused(world("/opt/touba", locked=("/opt/touba",)), cli_path="/opt/touba")
    assert error.message == "cli_path names `/opt/touba`: it may not be executed."


def test_the_cache_folder_is_named_or_the_users() -> None:
    assert cache_folder(world(environ={"TOUBA_CACHE_DIR": "/var/cache/touba"})) == "/var/cache/touba"
    assert os.path.basename(cache_folder(world())) == "touba"
    with pytest.raises(UsageError, match="TOUBA_CACHE_DIR"):
        cache_folder(world(environ={"TOUBA_CACHE_DIR": "cache"}))


def test_variables_hold_absolute_paths() -> None:
    assert refused(world(environ={"TOUBA_CLI": "touba"})).code == "OptionInvalid"
    assert refused(world(environ={"TOUBA_PYTHON": "python3"})).code == "OptionInvalid"


@pytest.mark.parametrize("name", ["touba.cmd", "TOUBA.BAT"])
def test_scripts_of_the_windows_shell_are_refused_on_windows_only(name: str) -> None:
    error = refused(world(platform="win32"), cli_path=f"C:\\tools\\{name}")
    assert (error.code, name in error.message) == ("OptionInvalid", True)
    assert find(world(f"/project/{name}"), cli_path=name)[0] == (f"/project/{name}",)


def test_windows_paths() -> None:
    python, start = "C:\\Python\\python.exe", "C:\\site\\touba_cli\\__start__.py"
    where = world(
        platform="win32",
        executable="C:\\app\\Python.exe",
        base_executable=python,
        package="C:\\site\\touba_cli\\__init__.py",
        is_file=lambda path: path in (python, start),
    )
    assert find(where) == ((python, *PYTHON_FLAGS, start), "C:\\app\\Python.exe")


@pytest.mark.parametrize("server", ["/usr/sbin/uwsgi", "/app/frozen", ""])
def test_an_application_server_is_no_interpreter(server: str) -> None:
    assert find(world(server, executable=server))[1] == PYTHON  # for handlers: that of the runtime
    assert find(world(server, base_executable=server))[0][0] == VENV
    error = refused(world(server, executable=server, base_executable=server))
    assert error.code == "InterpreterNotFound"
    for tried in ("python_executable", "TOUBA_PYTHON", "sys._base_executable", "sys.executable"):
        assert tried in error.message


def test_pypy_is_an_interpreter() -> None:
    assert find(world("/opt/pypy3", base_executable="/opt/pypy3"))[0][0] == "/opt/pypy3"


def test_the_order_of_interpreters() -> None:
    where = world("/opt/py", "/project/py", environ={"TOUBA_PYTHON": "/opt/py"})
    assert find(where) == (("/opt/py", *PYTHON_FLAGS, START), "/opt/py")
    assert find(where, python_executable="py") == (("/project/py", *PYTHON_FLAGS, START), "/project/py")
    assert refused(where, python_executable="/gone").code == "InterpreterNotFound"
    gone = world(base_executable="/gone/python3")
    assert find(gone)[0][0] == VENV


def test_a_named_runtime_still_gets_the_interpreter_for_handlers() -> None:
    assert find(world("/opt/touba"), cli_path="/opt/touba") == (("/opt/touba",), VENV)
    assert find(world("/opt/touba", executable="/usr/sbin/uwsgi"), cli_path="/opt/touba") == (("/opt/touba",), None)


def test_a_package_in_an_archive_is_refused() -> None:
    archive = world("/site/app.zip", package="/site/app.zip/touba_cli/__init__.py")
    error = refused(archive)
    assert (error.code, "`/site/app.zip` is an archive" in error.message) == ("RuntimeNotFound", True)
    assert "not installed" in refused(world(package=None)).message


def test_the_world_of_this_process() -> None:
    here = World.here()
    assert here.package is not None
    assert os.path.isfile(here.package)
    assert find_runtime(here, project_root="/").start.endswith("__start__.py")


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "touba_cli"
    folder.mkdir()
    (folder / "codec.py").write_text("x = 1\n")
    return folder


def cache(tmp_path: Path) -> str:
    return str(tmp_path / "cache" / "touba")


@pytest.mark.skipif(os.name != "posix", reason="folders are private by their mode on POSIX systems only")
class TestBytecode:
    def test_nothing_is_needed_where_the_usual_place_can_be_written(self, package: Path, tmp_path: Path) -> None:
        assert bytecode_folder(str(package / "__start__.py"), lambda: cache(tmp_path)) is None

    def test_nothing_is_needed_where_it_is_current(
        self, package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        compiled = py_compile.compile(str(package / "codec.py"))
        assert compiled == importlib.util.cache_from_source(str(package / "codec.py"))
        monkeypatch.setattr(os, "access", lambda path, mode: False)
        start = str(package / "__start__.py")
        assert bytecode_folder(start, lambda: cache(tmp_path)) is None
        (package / "codec.py").write_text("x = 12\n")
        assert bytecode_folder(start, lambda: cache(tmp_path)) is not None

    def test_what_another_interpreter_has_compiled_is_not_known(
        self, package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        py_compile.compile(str(package / "codec.py"))
        monkeypatch.setattr(os, "access", lambda path, mode: False)
        start = str(package / "__start__.py")
        assert bytecode_folder(start, lambda: cache(tmp_path), own_python=False) is not None

    def test_a_prefix_of_the_application_is_not_that_of_the_isolated_runtime(
        self, package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        py_compile.compile(str(package / "codec.py"))
        monkeypatch.setattr(os, "access", lambda path, mode: False)
        monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "elsewhere"))
        assert bytecode_folder(str(package / "__start__.py"), lambda: cache(tmp_path)) is None

    @pytest.mark.parametrize(("mode", "used"), [(0o777, False), (0o775, False), (0o1777, True), (0o755, True)])
    def test_the_folder_around_it_must_be_closed_too(
        self, package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int, used: bool
    ) -> None:
        monkeypatch.setattr(os, "access", lambda path, mode: False)
        around = Path(cache(tmp_path))
        around.mkdir(parents=True)
        around.chmod(mode)
        found = bytecode_folder(str(package / "__start__.py"), lambda: cache(tmp_path))
        assert found == (str(around / "bytecode") if used else None)

    def test_the_folder_is_private(self, package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "access", lambda path, mode: False)
        start = str(package / "__start__.py")
        found = bytecode_folder(start, lambda: cache(tmp_path))
        assert found == os.path.join(cache(tmp_path), "bytecode")
        assert os.stat(found).st_mode & 0o777 == 0o700
        os.chmod(found, 0o755)
        assert bytecode_folder(start, lambda: cache(tmp_path)) is None

    def test_a_link_or_file_in_its_place_is_not_used(
        self, package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(os, "access", lambda path, mode: False)
        private = tmp_path / "elsewhere"
        private.mkdir(mode=0o700)
        Path(cache(tmp_path)).mkdir(parents=True)
        link = Path(cache(tmp_path)) / "bytecode"
        link.symlink_to(private)
        assert bytecode_folder(str(package / "__start__.py"), lambda: cache(tmp_path)) is None
        link.unlink()
        link.write_text("a file")
        assert bytecode_folder(str(package / "__start__.py"), lambda: cache(tmp_path)) is None
