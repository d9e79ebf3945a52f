"""The scenarios of the robustness study: all that concern one-shot runs are there, and their look for leftovers works."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import defusedxml.ElementTree
import pytest

from tests.engine.support import SCENARIOS, Snapshot, leftovers

#: 18 and 19 are about workers
NUMBERS = {*range(1, 18), *range(20, 27)}


def test_each_scenario_is_found_by_its_number(repository: Path) -> None:
    found = set()
    for path in (repository / "tests").rglob("test_*.py"):
        found |= set(re.findall(r"^ *(?:async )?def test_scenario_(\d\d)_", path.read_text("utf-8"), re.MULTILINE))
    assert {int(number) for number in found} == NUMBERS


def test_each_scenario_file_is_used(repository: Path) -> None:
    tests = "".join(path.read_text("utf-8") for path in (repository / "tests" / "engine").glob("test_*.py"))
    for path in SCENARIOS.glob("*.json"):
        assert f'"{path.stem}"' in tests


#: what a test may leave behind → what it does, and what is said of it
LEAKS = {
    "descriptor": ("os.open(os.devnull, os.O_RDONLY)", "descriptor"),
    "pipe": ("os.pipe()", "descriptor"),
    "process": ("subprocess.Popen(SLEEP)", "child process"),
    "zombie": ("dead := subprocess.Popen([*SLEEP[:-1], '0']), os.waitid(os.P_PID, dead.pid, ENDED)", "child process"),
    "grandchild": (
        "nothing_left.append(int(subprocess.run(['sh', '-c', 'sleep 5 >&- 2>&- & echo $!'], capture_output=True).stdout))",
        "process",
    ),
    "thread": ("threading.Thread(target=time.sleep, args=(5,), name='forgotten', daemon=True).start()", "thread forgotten"),
    "file": ("open(tempfile.gettempdir() + '/forgotten', 'x').close()", "file forgotten"),
}  # fmt: skip

HEAD = """\
import os, subprocess, sys, tempfile, threading, time
import pytest
import tests.engine.support as support
from tests.engine.conftest import nothing_left

support.SETTLE = 0.2
ENDED = os.WEXITED | os.WNOWAIT
SLEEP = [sys.executable, "-IS", "-c", "import sys, time; time.sleep(float(sys.argv[1]))", "5"]
kept = []

def test_clean(nothing_left):
    subprocess.run([*SLEEP[:-1], "0"])

"""


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> dict[str, str]:
    """Tests that break the fixture on purpose → what pytest says of them; empty where it has nothing to say."""
    folder = tmp_path_factory.mktemp("broken")
    body = "".join(f"def test_{name}(nothing_left):\n    kept.append(({do}))\n\n" for name, (do, _) in LEAKS.items())
    (folder / "test_broken.py").write_text(HEAD + body, "utf-8")
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:randomly"]
    report = folder / "report.xml"
    options = ["-c", str(repository / "pyproject.toml"), f"--basetemp={folder / 'temporary'}", f"--junitxml={report}"]
    done = subprocess.run(
        [*words, *options, str(folder)], cwd=repository, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr
    found: dict[str, str] = {}
    for case in defusedxml.ElementTree.parse(report).iter("testcase"):
        said = [str(problem.get("message")) for problem in case]
        found[case.get("name").removeprefix("test_")] = "".join([found.get(case.get("name"), ""), *said])
    return found


@pytest.mark.parametrize("leak", LEAKS)
def test_a_test_that_leaves_something_behind_fails(broken: dict[str, str], leak: str) -> None:
    assert f"left behind: ['{LEAKS[leak][1]}" in broken[leak]


def test_a_test_that_leaves_nothing_behind_passes(broken: dict[str, str]) -> None:
    assert broken["clean"] == ""
    assert set(broken) == {"clean", *LEAKS}


def test_what_was_there_before_is_not_counted() -> None:
    assert leftovers(Snapshot(), []) == []
