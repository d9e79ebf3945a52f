"""Which runtime to start, and with which Python.

A runtime is named by `cli_path`, else by TOUBA_CLI, else it is the `touba_cli` that this SDK imports; nothing is ever
searched for on PATH. The rules are functions of a `World`, so that those of another platform can be tested here.
"""

from __future__ import annotations

import ntpath
import os
import posixpath
import stat
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import MAGIC_NUMBER, find_spec
from types import ModuleType
from typing import Literal

from ..errors import LaunchError, UsageError

#: the Python flags of the runtime: isolated, no site, UTF-8
PYTHON_FLAGS = ("-I", "-S", "-X", "utf8")
#: an executable whose name begins so is an interpreter; an application server or a frozen application is not
_PYTHON_NAMES = ("python", "pypy")


def _may_execute(path: str) -> bool:
    return os.access(path, os.X_OK)


@dataclass(frozen=True, slots=True)
class World:
    """What the rules look at.

    Attributes:
        environ: the application's environment.
        platform: as `sys.platform`.
        executable: as `sys.executable`; empty where it is unknown.
        base_executable: the interpreter that a virtual environment stands on.
        package: the file of `touba_cli/__init__.py`, or None where the package is not found.
        is_file, is_folder, may_execute: what the file system says about a path.
    """

    environ: Mapping[str, str]
    platform: str
    executable: str
    base_executable: str
    package: str | None
    is_file: Callable[[str], bool] = os.path.isfile
    is_folder: Callable[[str], bool] = os.path.isdir
    may_execute: Callable[[str], bool] = _may_execute

    @classmethod
    def here(cls) -> World:
        """The world of this process."""
        spec = find_spec("touba_cli")
        return cls(
            environ=os.environ,
            platform=sys.platform,
            executable=sys.executable or "",
            base_executable=str(getattr(sys, "_base_executable", None) or ""),
            package=spec.origin if spec is not None else None,
        )

    @property
    def paths(self) -> ModuleType:
        """The path rules of the platform."""
        return ntpath if self.platform == "win32" else posixpath


@dataclass(frozen=True, slots=True)
class Runtime:
    """A runtime that can be started.

    Attributes:
        command: what stands before `run`, `check` or `compile`.
        start: the start file of the bundled runtime, or the path of the named one: what error messages show.
        python: the interpreter for handlers, or None where the application runs under no Python that can be started.
        bundled: it is the one that comes with this SDK.
    """

    command: tuple[str, ...]
    start: str
    python: str | None
    bundled: bool


def find_runtime(
    world: World,
    *,
    project_root: str,
    cli_path: str | None = None,
    python_executable: str | None = None,
    bytecode_folder: Callable[[str, bool], str | None] = lambda start, own_python: None,
) -> Runtime:
    """Find the runtime.

    Parameters:
        world: where to look.
        project_root: the absolute folder from which relative options are taken.
        cli_path: the option.
        python_executable: the option.
        bytecode_folder: gives the folder for compiled modules, or None for the usual place; it is told the start file
            and whether the interpreter is that of this process.

    Raises:
        LaunchError: `RuntimeNotFound` or `InterpreterNotFound`, with every place tried.
        UsageError: for a script of the Windows command shell.
    """
    handler_python = _handler_python(world, project_root, python_executable)
    named, origin = _named(world, project_root, cli_path, "cli_path", "TOUBA_CLI")
    if named is not None:
        _refuse_shell_script(world, named, origin)
        _check_program(world, named, origin, "RuntimeNotFound")
        return Runtime((named,), named, handler_python, bundled=False)
    start = _bundled(world)
    python = _runtime_python(world, project_root, python_executable)
    folder = bytecode_folder(start, python in (world.base_executable, world.executable))
    prefix = ("-X", f"pycache_prefix={folder}") if folder is not None else ()
    return Runtime((python, *PYTHON_FLAGS, *prefix, start), start, handler_python or python, bundled=True)


def _named(
    world: World, project_root: str, option: str | None, option_name: str, variable: str
) -> tuple[str | None, str]:
    """The path that an option or else a variable names, made absolute, and which of the two it was."""
    if option is not None:
        return world.paths.normpath(world.paths.join(project_root, option)), option_name
    return named_path(world, variable), variable


def named_path(world: World, variable: str) -> str | None:
    """The path that a variable holds; None where it is not set.

    Raises:
        UsageError: for a relative path, whose meaning would depend on the working folder.
    """
    text = world.environ.get(variable)
    if not text:
        return None
    if not world.paths.isabs(text):
        raise UsageError("OptionInvalid", f"{variable} has to be an absolute path.", hint=f"Set {variable} anew.")
    return text


def _refuse_shell_script(world: World, path: str, origin: str) -> None:
    if world.platform == "win32" and path.lower().endswith((".cmd", ".bat")):
        raise UsageError(
            "OptionInvalid",
            f"{origin} names `{path}`, a script of the command shell, which would read its arguments as commands.",
            hint="Name an executable.",
        )


def _check_program(world: World, path: str, origin: str, code: str) -> None:
    fault = _fault(world, path)
    if fault is not None:
        raise LaunchError(code, f"{origin} names `{path}`: {fault}.")


def _fault(world: World, path: str) -> str | None:
    """Why a path is no program that can be started; a missing folder is told apart from a missing program."""
    if world.is_folder(path):
        return "it is a folder"
    if not world.is_file(path):
        folder = world.paths.dirname(path)
        if not world.is_folder(folder):
            return f"the folder `{folder}` does not exist"
        return f"the folder is there, but has no file `{world.paths.basename(path)}`"
    if not world.may_execute(path):
        return "it may not be executed"
    return None


def _bundled(world: World) -> str:
    if world.package is None:
        raise LaunchError(
            "RuntimeNotFound",
            "`cli_path` is not given, TOUBA_CLI is not set, and the package `touba_cli` is not installed beside "
            "`touba_sdk`.",
        )
    start: str = world.paths.join(world.paths.dirname(world.package), "__start__.py")
    if not world.is_file(start):
        archive = _archive_of(world, start)
        reason = f"`{archive}` is an archive, from which no process can start" if archive else "the file is missing"
        raise LaunchError(
            "RuntimeNotFound", f"`cli_path` is not given, TOUBA_CLI is not set, and of `{start}` {reason}."
        )
    return start


def _archive_of(world: World, path: str) -> str | None:
    """The file among the folders of a path, which then is an archive."""
    while path != world.paths.dirname(path):
        path = world.paths.dirname(path)
        if world.is_file(path):
            return path
    return None


def _is_python(world: World, path: str) -> bool:
    return bool(path) and world.paths.basename(path).lower().startswith(_PYTHON_NAMES)


def _runtime_python(world: World, project_root: str, option: str | None) -> str:
    named, origin = _named(world, project_root, option, "python_executable", "TOUBA_PYTHON")
    if named is not None:
        _check_program(world, named, origin, "InterpreterNotFound")
        return named
    tried = ["`python_executable` is not given", "TOUBA_PYTHON is not set"]
    for name, path in (("sys._base_executable", world.base_executable), ("sys.executable", world.executable)):
        if not path:
            tried.append(f"{name} is empty")
        elif not _is_python(world, path):
            tried.append(f"{name} is `{path}`, which is no Python by its name")
        else:
            fault = _fault(world, path)
            if fault is None:
                return path
            tried.append(f"{name} is `{path}`: {fault}")
    raise LaunchError("InterpreterNotFound", "No Python was found to run Touba with: " + "; ".join(tried) + ".")


def _handler_python(world: World, project_root: str, option: str | None) -> str | None:
    """The application's own interpreter, so that handlers see its packages."""
    named, _ = _named(world, project_root, option, "python_executable", "TOUBA_PYTHON")
    if named is not None:
        return named
    return world.executable if _is_python(world, world.executable) else None


def bytecode_folder(start: str, cache_folder: Callable[[], str], *, own_python: bool = True) -> str | None:
    """The folder that Python keeps the runtime's compiled modules in, where the usual place cannot be used.

    Parameters: as of `bytecode_place`.
    """
    return bytecode_place(start, cache_folder, own_python=own_python)[1]


def bytecode_place(
    start: str, cache_folder: Callable[[], str], *, own_python: bool = True
) -> tuple[Literal["current", "beside", "cache", "nowhere"], str | None]:
    """Where the runtime's compiled modules are, and the folder where that is not the usual place.

    They are ``current`` beside the modules, are or will be written ``beside`` them or into the ``cache``, or find room
    ``nowhere``.

    Compiling the runtime anew costs four times its start. The folder has to be the user's own and closed to others,
    because what lies in it is executed; where it is not, there is none, and the runtime only starts slower.

    Parameters:
        start: the start file of the runtime.
        cache_folder: gives the user's cache folder of Touba; only called where it is needed.
        own_python: the runtime is started with the interpreter of this process, so what that one has compiled counts.
    """
    package = os.path.dirname(start)
    beside = os.path.join(package, "__pycache__")
    # The runtime is isolated: neither PYTHONPYCACHEPREFIX nor -O of the application changes where it looks.
    compiled = os.path.join(beside, f"codec.{sys.implementation.cache_tag}.pyc")
    if own_python and _is_current(os.path.join(package, "codec.py"), compiled):
        return "current", None
    if os.access(beside if os.path.isdir(beside) else package, os.W_OK | os.X_OK):
        return "beside", None
    folder = _private_folder(os.path.join(cache_folder(), "bytecode"))
    return ("nowhere" if folder is None else "cache"), folder


def _is_current(module: str, compiled: str) -> bool:
    """Whether a compiled module belongs to its source, as the import system decides it: by time and size."""
    try:
        with open(compiled, "rb") as file:
            header = file.read(16)
        source = os.stat(module)
    except OSError:
        return False
    if len(header) < 16 or header[:4] != MAGIC_NUMBER:
        return False
    if header[4:8] != b"\0\0\0\0":
        return True  # checked by hash, which the import system does itself
    return (
        int.from_bytes(header[8:12], "little") == int(source.st_mtime) & 0xFFFF_FFFF
        and int.from_bytes(header[12:16], "little") == source.st_size & 0xFFFF_FFFF
    )


def _private_folder(path: str) -> str | None:
    """A folder that is made where it is missing; None where it is not the user's own and closed to others."""
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
        found = os.lstat(path)
        around = os.stat(os.path.dirname(path))
    except OSError:
        return None
    if not stat.S_ISDIR(found.st_mode):
        return None
    if os.name == "posix":
        if found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077:
            return None
        # Who may write to the folder around it could put another one in its place.
        if around.st_uid not in (0, os.getuid()) or (around.st_mode & 0o022 and not around.st_mode & stat.S_ISVTX):
            return None
    return path
