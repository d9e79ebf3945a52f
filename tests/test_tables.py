"""Every table against its pages and its tests: what is published is provoked by a test, and nothing else is used.

A code counts as provoked where a test or a conformance case names it as what came out. What these tests cannot see is
whether that test is a good one; they see that a row of a table was added without any.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from touba_cli.air.program import FEATURES
from touba_cli.commands.help import command_help
from touba_cli.errors import CODES, WARNINGS
from touba_cli.language.diagnostics import CODES as DIAGNOSTICS
from touba_cli.limits import LIMITS
from touba_cli.options import OPTIONS, SWITCHED_ON
from touba_cli.outcomes import OUTCOMES, PHASES
from touba_cli.runtime.admission import AVAILABLE_FEATURES
from touba_cli.runtime.events import EVENTS
from touba_cli.runtime.unavailable import WORDS as NOT_RUN

ROOT = Path(__file__).resolve().parent.parent
HERE = Path(__file__).resolve()


def texts(folder: str, *endings: str) -> dict[str, str]:
    return {
        str(path.relative_to(ROOT)): path.read_text("utf-8")
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in endings and path != HERE and "golden" not in path.parts
    }


TESTS = texts("tests", ".py", ".case", ".json")
CODE = {**texts("touba_cli", ".py"), **texts("touba_sdk", ".py")}
PAGES = texts("docs", ".md")


def naming(name: str, where: dict[str, str], *, quoted: bool = False) -> list[str]:
    """The files that name something; ``quoted``: as a text of its own, not inside another one or a name of Python."""
    pattern = re.compile(rf"""["'`!]{re.escape(name)}["'`]""" if quoted else rf"(?<![A-Za-z0-9_.]){re.escape(name)}\b")
    return [path for path, text in where.items() if pattern.search(text)]


# --- error codes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", CODES)
def test_every_error_code_is_raised_explained_and_provoked(code: str) -> None:
    raised = [path for path in naming(code, CODE, quoted=True) if path != "touba_cli/errors.py"]
    assert raised, f"nothing raises {code}"
    assert f"`{code}`" in PAGES["docs/errors.md"]
    provoked = [path for path in naming(code, TESTS) if path.endswith(".py") or f"failed {code}" in TESTS[path]]
    assert provoked, f"no test and no conformance case provokes {code}"


def test_every_code_that_is_raised_stands_in_the_table() -> None:
    raised = {
        code
        for path, text in CODE.items()
        for code in re.findall(r"ToubaFailure\(\s*\"([A-Za-z]+)\"", text)
        if path != "touba_cli/errors.py"
    }
    assert len(raised) > 40
    assert sorted(raised - CODES.keys()) == []


@pytest.mark.parametrize("code", CODES)
def test_an_error_code_is_one_word_one_sentence_and_what_to_do(code: str) -> None:
    row = CODES[code]
    assert re.fullmatch(r"([A-Z][a-z0-9]+)+", code)
    assert row.phase in {*PHASES, "transport"}  # what only the engine says has no exit code
    assert row.sentence.endswith(".")
    assert row.hint.endswith(".")
    assert "\n" not in row.sentence + row.hint


# --- features ---------------------------------------------------------------------------------------------------------


def test_every_feature_that_does_not_run_has_words_and_a_case() -> None:
    assert FEATURES.keys() - AVAILABLE_FEATURES == NOT_RUN.keys()
    for name, words in NOT_RUN.items():
        case = TESTS[f"tests/conformance/features/{name}.case"]
        assert f"this version does not run {words} (" in case


# --- warnings of a run ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", WARNINGS)
def test_every_warning_is_explained_and_provoked(code: str) -> None:
    meaning, what_to_do = WARNINGS[code]
    assert f"| `{code}` | {meaning} | {what_to_do} |" in PAGES["docs/errors.md"]
    provoked = [path for path in naming(code, TESTS) if path != "tests/language/test_explain.py"]
    assert provoked, f"no test and no conformance case provokes {code}"


def test_every_warning_that_is_given_stands_in_the_table() -> None:
    given = {
        code
        for path, text in CODE.items()
        if path.startswith(("touba_cli/runtime/", "touba_cli/commands/run"))
        for code in re.findall(r"\{\s*\"code\": \"([A-Za-z]+)\"", text)
    }
    assert given == set(WARNINGS)


# --- diagnostics ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", DIAGNOSTICS)
def test_every_diagnostic_is_reported_explained_and_provoked(code: str) -> None:
    reported = [path for path in naming(code, CODE, quoted=True) if path != "touba_cli/language/diagnostics.py"]
    assert reported, f"nothing reports {code}"
    assert f"`{code}`" in PAGES["docs/diagnostics.md"]
    assert naming(code, TESTS), f"no test and no conformance case provokes {code}"


def test_every_diagnostic_that_is_reported_stands_in_the_table() -> None:
    reported = {code for text in CODE.values() for code in re.findall(r"\"(TB\d{4})\"", text)}
    assert reported == set(DIAGNOSTICS)


# --- limits, options, events, outcomes --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LIMITS)
def test_every_limit_is_kept_and_published(name: str) -> None:
    constant = name.upper()
    kept = [
        path
        for path, text in CODE.items()
        if path != "touba_cli/limits.py" and re.search(rf"\b{constant}\b|LIMITS\[\"{name}\"\]|[\"']{name}[\"']", text)
    ]
    assert kept, f"nothing keeps the limit {name}"
    row = LIMITS[name]
    line = next(line for line in PAGES["docs/limits.md"].splitlines() if line.startswith(f"| `{name}` |"))
    assert row.sentence in line
    assert row.unit in line
    assert row.lowest <= row.highest
    assert name == "deadline_ms" or row.lowest <= row.default <= row.highest


def test_switches_that_are_on_are_shown_with_what_switches_them_off() -> None:
    page = PAGES["docs/engine.md"] + PAGES["docs/cli.md"]
    for name in SWITCHED_ON:
        assert OPTIONS[name].kind == "switch"
        assert "default: on" in OPTIONS[name].sentence
        for command in OPTIONS[name].commands:
            assert f"  --{name}, --no-{name}  " in command_help(command)
        assert f"`--{name}`, `--no-{name}`" in page


@pytest.mark.parametrize("name", OPTIONS)
def test_every_option_is_published_and_tested(name: str) -> None:
    row = OPTIONS[name]
    page = "".join(PAGES[f"docs/{each}.md"] for each in ("cli", "engine"))
    assert f"`{name}`" in page
    tested = [*naming(name, TESTS), *(naming(row.flag, TESTS) if row.flag else [])]
    assert tested, f"no test uses the option {name}"


@pytest.mark.parametrize("kind", EVENTS)
def test_every_kind_of_event_is_recorded_published_and_tested(kind: str) -> None:
    assert [path for path in naming(kind, CODE, quoted=True) if path != "touba_cli/runtime/events.py"]
    assert f"`{kind}`" in PAGES["docs/traces.md"]
    assert naming(kind, TESTS), f"no test sees the event {kind}"


@pytest.mark.parametrize("name", OUTCOMES)
def test_every_outcome_is_published_and_tested(name: str) -> None:
    status, reason, _ = OUTCOMES[name]
    assert f"`{status}` | `{reason}`" in "".join(PAGES.values())
    assert naming(reason, TESTS)
