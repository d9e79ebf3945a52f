"""With which Python the runtime and the handlers start, in every way in which Touba may be installed. Real processes.

The pure rules are in `test_locate.py`. Here a wheel is built and installed once; an application runs a program whose
handler tells how it and its runtime were started.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

if sys.platform != "linux":
    pytest.skip("looks at processes through /proc", allow_module_level=True)

FLAGS = ["-I", "-S", "-X", "utf8"]
BASE = str(getattr(sys, "_base_executable", sys.executable))

PROGRAM = """\
module app

tool Look
    gives Text

strategy Run
    gives Text
    do
        give call Look()
"""

HANDLER = """\
import json, os, sys
from touba_sdk import define_tool

def run(request, context):
    with open(f"/proc/{os.getppid()}/cmdline", "rb") as file:
        runtime = [word.decode() for word in file.read().split(b"\\0")[:-1]]
    handler = [sys.executable, sys.flags.no_user_site, sys.flags.utf8_mode]
    return json.dumps({"runtime": runtime, "handler": handler, "sdk": sys.modules["touba_sdk"].__file__})

define_tool(tool_ref="tool:app/Look", output_type="Text", run=run)
"""

APPLICATION = """\
import json, sys
from touba_sdk import ToubaEngine, ToubaEngineError

options = json.loads(sys.argv[1])
try:
    with ToubaEngine(project_root=sys.argv[2], **options) as engine:
        found = json.loads(engine.run("app.tb", manifest="manifest.json").result)
except ToubaEngineError as error:
    found = {"code": error.code, "message": error.message}
found["application"] = [sys.executable, sys._base_executable]
print(json.dumps(found))
"""


class Installed:
    """Touba as a wheel: the file, its packages unpacked, and virtual environments around it."""

    def __init__(self, folder: Path, repository: Path):
        self.folder = folder
        self.repository = repository
        build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
        subprocess.run(build, cwd=repository, capture_output=True, check=True, timeout=120)
        (self.wheel,) = folder.glob("*.whl")

    def venv(self, name: str, *install: str) -> Path:
        """A virtual environment with Touba; it sees the libraries of this one. Gives its interpreter."""
        place = self.folder / name
        subprocess.run([BASE, "-I", "-m", "venv", "--without-pip", str(place)], check=True, timeout=60)
        python = place / "bin" / "python"
        (site,) = place.glob("lib/python*/site-packages")
        (site / "libraries.pth").write_text(f"{libraries()}\n", "utf-8")
        pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", "--quiet"]
        subprocess.run([*pip, "--disable-pip-version-check", *install], capture_output=True, check=True, timeout=120)
        return python

    def unpacked(self, place: Path, *, compiled: str = ".") -> Path:
        """The packages in a folder of their own; ``compiled`` is what has compiled modules beside it."""
        with zipfile.ZipFile(self.wheel) as archive:
            archive.extractall(place)
        subprocess.run([BASE, "-I", "-m", "compileall", "-q", str(place / compiled)], check=True, timeout=60)
        return place


def libraries() -> Path:
    """The folder of the libraries that Touba needs. A path file that names it does not run the path files inside."""
    return Path(sysconfig.get_path("purelib"))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Installed:
    for needed in ("hatchling", "editables", "pip"):
        if find_spec(needed) is None:
            pytest.skip(f"needs {needed}, which the extra `dev` brings")
    return Installed(tmp_path_factory.mktemp("installed"), repository)


@pytest.fixture(scope="module")
def wheel(installed: Installed) -> Path:
    return installed.venv("wheel", str(installed.wheel))


@pytest.fixture(scope="module")
def packages(installed: Installed) -> Path:
    """A folder with the packages, compiled; nothing may be written there."""
    return installed.unpacked(installed.folder / "packages")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "a project é"
    folder.mkdir()
    (folder / "app.tb").write_text(PROGRAM, "utf-8")
    (folder / "look.py").write_text(HANDLER, "utf-8")
    handler = {"handler": {"kind": "process", "command": ["python", "look.py"]}, "environment": ["HANDLER_PATH"]}
    manifest = {"protocol": "touba-manifest-v1", "tools": {"tool:app/Look": handler}}
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    return folder


def run(
    command: list[str], project: Path, *, path: list[Path] | None = None, env: dict[str, str] | None = None,
    **options: str,
) -> dict[str, Any]:  # fmt: skip
    """What an application finds that runs the program.

    Parameters:
        command: what runs the application, up to its code.
        path: its PYTHONPATH; its handlers find the SDK through the project's folder then.
        env: more of its environment.
        options: options of the engine.
    """
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("TOUBA_", "PYTHON"))}
    kept["XDG_CACHE_HOME"] = str(project.parent / "cache")
    if path is not None:
        kept["PYTHONPATH"] = os.pathsep.join(map(str, path))
        if not (project / "touba_sdk").exists():
            (project / "touba_sdk").symlink_to(Path(path[0]) / "touba_sdk")
    done = subprocess.run(
        [*command, APPLICATION, json.dumps(options), str(project)],
        cwd=project.parent, env={**kept, **(env or {})}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def start_of(package: Path | str) -> str:
    return str(Path(package) / "touba_cli" / "__start__.py")


# --- the ways to install it -------------------------------------------------------------------------------------------


def test_a_wheel_in_a_virtual_environment(wheel: Path, project: Path) -> None:
    found = run([str(wheel), "-c"], project)
    (site,) = wheel.parent.parent.glob("lib/python*/site-packages")
    assert found["runtime"][: len(FLAGS) + 3] == [BASE, *FLAGS, start_of(site), "run"]
    assert found["handler"] == [str(wheel), 1, 1]
    assert found["application"] == [str(wheel), BASE]
    assert found["sdk"] == str(site / "touba_sdk" / "__init__.py")


def test_an_editable_installation(installed: Installed, project: Path) -> None:
    python = installed.venv("editable", "--no-build-isolation", "--editable", str(installed.repository))
    found = run([str(python), "-c"], project)
    assert found["runtime"][: len(FLAGS) + 3] == [BASE, *FLAGS, start_of(installed.repository), "run"]
    assert found["handler"] == [str(python), 1, 1]


def test_the_command_of_a_wheel(wheel: Path, project: Path) -> None:
    words = [str(wheel.parent / "touba"), "run", "app.tb", "--manifest=manifest.json", "--no-cache"]
    done = subprocess.run(words, cwd=project, capture_output=True, text=True, timeout=60, check=True)
    found = json.loads(done.stdout)
    assert found["runtime"][1] == words[0]
    assert found["handler"] == [str(wheel), 1, 1]  # at a terminal: the interpreter that runs `touba`


def test_a_wheel_holds_what_it_needs_and_nothing_else(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        entries = next(name for name in archive.namelist() if name.endswith("entry_points.txt"))
        commands = archive.read(entries).decode()
    expected = {
        str(path.relative_to(installed.repository))
        for package in ("touba_cli", "touba_sdk")
        for path in (installed.repository / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert names == expected
    assert {"touba_sdk/py.typed", "touba_cli/schemas/touba-run-v1.json"} <= names
    assert "touba = touba_cli.__start__:main" in commands
    assert "touba = touba_sdk.testing.plugin" in commands


def test_the_base_interpreter(packages: Path, project: Path) -> None:
    found = run([BASE, "-S", "-c"], project, path=[packages, libraries()])
    assert found["runtime"][: len(FLAGS) + 3] == [BASE, *FLAGS, start_of(packages), "run"]
    assert found["handler"][0] == found["application"][0]


def test_a_python_of_another_name_is_none_unless_it_is_named(packages: Path, project: Path, tmp_path: Path) -> None:
    """As in an application server: `sys.executable` is a program that would start itself."""
    server = tmp_path / "server"
    server.symlink_to(BASE)
    command = [str(server), "-S", "-c"]
    path = [packages, libraries()]
    found = run(command, project, path=path)
    assert found["application"] == [str(server), str(server)]
    assert found["code"] == "InterpreterNotFound"
    for tried in ("python_executable", "TOUBA_PYTHON", f"sys._base_executable is `{server}`", "no Python by its name"):
        assert tried in found["message"]
    for found in (
        run(command, project, path=path, python_executable=BASE),
        run(command, project, path=path, env={"TOUBA_PYTHON": BASE}),
    ):
        assert found["runtime"][: len(FLAGS) + 2] == [BASE, *FLAGS, start_of(packages)]
        assert found["handler"][0] == BASE


def test_a_python_whose_name_goes_on_is_one(packages: Path, project: Path, tmp_path: Path) -> None:
    python = tmp_path / "python3-of-acme"
    python.symlink_to(BASE)
    found = run([str(python), "-S", "-c"], project, path=[packages, libraries()])
    assert found["runtime"][0] == str(python)
    assert found["handler"][0] == str(python)


EMBEDDING = """\
#include <Python.h>
int main(int argc, char **argv) {
    PyConfig config;
    PyConfig_InitPythonConfig(&config);
    config.parse_argv = 0;
    PyConfig_SetBytesString(&config, &config.home, HOME);
    PyConfig_SetBytesString(&config, &config.program_name, argv[0]);
    PyConfig_SetBytesArgv(&config, argc - 1, argv + 1);
    if (PyStatus_Exception(Py_InitializeFromConfig(&config))) return 3;
    int status = PyRun_SimpleString(argv[1]);
    return Py_FinalizeEx() < 0 ? 4 : status;
}
"""


def test_an_application_that_embeds_python(packages: Path, project: Path, tmp_path: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    headers = sysconfig.get_path("include")
    library = sysconfig.get_config_var("LDLIBRARY") or ""
    if compiler is None or not os.path.exists(f"{headers}/Python.h") or ".so" not in library:
        pytest.skip("needs a C compiler and Python as a shared library with its headers")
    folder = sysconfig.get_config_var("LIBDIR")
    source, program = tmp_path / "server.c", tmp_path / "server"
    source.write_text(EMBEDDING.replace("HOME", json.dumps(sys.base_prefix)))
    link = [f"-L{folder}", f"-Wl,-rpath,{folder}", f"-l{library.removeprefix('lib').partition('.so')[0]}"]
    subprocess.run([compiler, str(source), f"-I{headers}", *link, "-o", str(program)], check=True, timeout=60)
    path = [packages, libraries()]
    found = run([str(program)], project, path=path)
    assert found["application"][0] == str(program)
    assert found["code"] == "InterpreterNotFound"
    found = run([str(program)], project, path=path, python_executable=BASE)
    assert (found["runtime"][0], found["handler"][0]) == (BASE, BASE)


def test_an_archive_is_refused(installed: Installed, project: Path) -> None:
    found = run([BASE, "-S", "-c"], project, path=[installed.wheel, libraries()])
    assert found["code"] == "RuntimeNotFound"
    assert f"`{installed.wheel}` is an archive, from which no process can start" in found["message"]


def test_nothing_installed_takes_the_place_of_a_standard_module(
    installed: Installed, project: Path, tmp_path: Path
) -> None:
    place = installed.unpacked(tmp_path / "packages")
    for name in ("keyword", "numbers", "reprlib", "datetime", "_strptime", "operator", "ctypes"):
        (place / f"{name}.py").write_text("raise SystemExit('taken in')\n")
    # Neither path files nor variables: the application finds its libraries behind the standard library only.
    begin = f"import sys; sys.path += {[str(place), str(libraries())]!r}\n"
    words = [BASE, "-I", "-S", "-c", begin + APPLICATION, "{}", str(project)]
    (project / "touba_sdk").symlink_to(place / "touba_sdk")
    done = subprocess.run(words, cwd=project, capture_output=True, text=True, timeout=60, check=True)
    assert start_of(place) in json.loads(done.stdout)["runtime"]


# --- compiled modules -------------------------------------------------------------------------------------------------

MACHINE = "machine.*.pyc"  # a module that the runtime alone loads


def compiled(place: Path) -> dict[str, int]:
    return {str(path.relative_to(place)): path.stat().st_mtime_ns for path in place.rglob(MACHINE)}


def test_no_variable_keeps_the_runtime_from_compiling_once(installed: Installed, project: Path, tmp_path: Path) -> None:
    place = installed.unpacked(tmp_path / "packages", compiled="touba_sdk")
    path = [place, libraries()]
    env = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": str(tmp_path / "elsewhere")}
    found = run([BASE, "-S", "-c"], project, path=path, env=env)
    assert found["runtime"][: len(FLAGS) + 2] == [BASE, *FLAGS, start_of(place)]
    first = compiled(place)
    assert len(first) == 1
    run([BASE, "-S", "-c"], project, path=path, env=env)
    assert compiled(place) == first
    assert compiled(tmp_path) == {f"packages/{name}": when for name, when in first.items()}


#: takes from root the right to write where its own permissions do not allow it, then becomes the command
WITHOUT_OVERRIDE = """\
import ctypes, os, sys
for capability in (1, 2):
    if ctypes.CDLL(None).prctl(24, capability, 0, 0, 0):
        sys.exit("the capability cannot be dropped")
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.fixture
def bound_by_permissions(tmp_path: Path) -> list[str]:
    """What stands before a command so that permissions hold for it, too."""
    before = [BASE, "-IS", "-c", WITHOUT_OVERRIDE] if os.getuid() == 0 else []
    locked = tmp_path / "locked"
    locked.mkdir(0o555)
    probe = f"import os, sys; sys.exit(os.access({str(locked)!r}, os.W_OK))"
    done = subprocess.run([*before, BASE, "-IS", "-c", probe], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"not tested: root cannot be bound by permissions here ({done.stderr.strip() or 'no effect'})")
        pytest.skip("root cannot be bound by permissions here")
    return before


def lock(place: Path) -> None:
    """Let nobody write there."""
    for folder, _, files in os.walk(place):
        for name in files:
            os.chmod(os.path.join(folder, name), 0o444)
        os.chmod(folder, 0o555)


@pytest.mark.parametrize("named", [False, True])
def test_a_read_only_installation_compiles_into_the_users_cache(
    installed: Installed, project: Path, tmp_path: Path, bound_by_permissions: list[str], named: bool
) -> None:
    place = installed.unpacked(tmp_path / "packages", compiled="touba_sdk")
    lock(place)
    cache = tmp_path / "cache"
    env = {"TOUBA_CACHE_DIR": str(cache / "touba")} if named else {}
    command = [*bound_by_permissions, BASE, "-S", "-c"]
    found = run(command, project, path=[place, libraries()], env=env)
    prefix = f"pycache_prefix={cache}/touba/bytecode"
    assert found["runtime"][: len(FLAGS) + 4] == [BASE, *FLAGS, "-X", prefix, start_of(place)]
    first = compiled(cache)
    assert len(first) == 1
    run(command, project, path=[place, libraries()], env=env)
    assert compiled(cache) == first
    assert compiled(place) == {}


def test_a_read_only_installation_that_is_compiled_needs_no_cache(
    installed: Installed, project: Path, tmp_path: Path, bound_by_permissions: list[str]
) -> None:
    place = installed.unpacked(tmp_path / "packages")
    lock(place)
    found = run([*bound_by_permissions, BASE, "-S", "-c"], project, path=[place, libraries()])
    assert found["runtime"][: len(FLAGS) + 2] == [BASE, *FLAGS, start_of(place)]
    assert compiled(tmp_path / "cache") == {}


def test_without_a_place_for_compiled_modules_it_runs_all_the_same(
    installed: Installed, project: Path, tmp_path: Path, bound_by_permissions: list[str]
) -> None:
    place = installed.unpacked(tmp_path / "packages", compiled="touba_sdk")
    lock(place)
    env = {"XDG_CACHE_HOME": str(tmp_path / "locked")}
    found = run([*bound_by_permissions, BASE, "-S", "-c"], project, path=[place, libraries()], env=env)
    assert found["runtime"][: len(FLAGS) + 2] == [BASE, *FLAGS, start_of(place)]
