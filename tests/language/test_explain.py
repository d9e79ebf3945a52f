"""`touba explain`: each code has a page whose wrong program has that one problem, and whose right program has none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.language.pages import BUILT, PAGES, wrong_problems
from tests.language.programs import Texts
from tests.shell_kit import Project
from touba_cli.air.program import read_program, write_program
from touba_cli.commands.findings import FINDINGS
from touba_cli.documents import check_document
from touba_cli.errors import CODES as RUNTIME_CODES
from touba_cli.errors import WARNINGS
from touba_cli.language import pages
from touba_cli.language.compiler import compile_program
from touba_cli.language.diagnostics import CODES
from touba_cli.language.render import render_all
from touba_cli.runtime.admission import AVAILABLE_FEATURES

FOLDER = Path(pages.__file__).parent / "explain"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    assert sorted(path.name for path in FOLDER.iterdir()) == [f"{code}.md" for code in sorted(CODES)]
    assert {code: page.title for code, page in PAGES.items()} == CODES


@pytest.mark.parametrize("code", CODES)
def test_the_wrong_program_has_this_one_problem(code: str) -> None:
    found = wrong_problems(code)
    assert [each.code for each in found] == [code], render_all(found)


@pytest.mark.parametrize("code", CODES)
def test_the_right_program_compiles_without_a_word(code: str) -> None:
    compiled = compile_program(Texts(PAGES[code].right), pages.ENTRY)
    assert compiled.diagnostics == [], render_all(compiled.diagnostics)
    assert compiled.air is not None
    assert read_program(write_program(compiled.air)).digest == compiled.air["digest"]


@pytest.mark.parametrize("code", CODES)
def test_a_page_says_why_and_shows_both_programs_or_says_why_not(code: str) -> None:
    page = PAGES[code]
    assert page.why.endswith(".")
    assert bool(page.wrong) != (code in BUILT)
    assert page.wrong or "cannot be shown" in page.why or re.search("is too (long|large) to be shown", page.why)
    text = (FOLDER / f"{code}.md").read_text("utf-8")
    assert text.count("```") == 2 * (len(page.wrong) + len(page.right)), "a block is not read"
    assert next(iter(page.right)) == pages.ENTRY
    assert page.wrong != page.right
    shown = page.as_text()
    assert "```" not in shown
    assert max(len(line) for line in shown.split("\n")) <= 100


@pytest.mark.parametrize("code", ["TB1004", "TB3003", "TB3006", "TB9005"])
def test_the_command_prints_the_page(project: Project, code: str) -> None:
    done = project.touba("explain", code)
    assert (done.code, done.stderr) == (0, "")
    assert done.stdout.decode() == PAGES[code].as_text() + "\n"
    document = project.touba("explain", "--json", code).document
    assert check_document("touba-explain-v1", document) is None
    assert (document["code"], document["kind"], document["title"]) == (code, "diagnostic", CODES[code])
    assert {each["file"]: each["text"] for each in document["wrong"]} == PAGES[code].wrong
    assert {each["file"]: each["text"] for each in document["right"]} == PAGES[code].right
    assert "\n" not in document["why"].replace("\n\n", "")
    assert document["error"] is None


def test_the_programs_about_failure_codes_run_in_this_version() -> None:
    for programs in (PAGES["TB8004"].wrong, PAGES["TB8004"].right):
        air = compile_program(Texts(programs), pages.ENTRY).air
        assert air is not None
        assert set(air["requires"]) <= AVAILABLE_FEATURES


@pytest.mark.parametrize(
    ("code", "kind", "title", "hint"),
    [
        ("ToolTimeout", "error", RUNTIME_CODES["ToolTimeout"].sentence, RUNTIME_CODES["ToolTimeout"].hint),
        ("UsageError", "error", RUNTIME_CODES["UsageError"].sentence, RUNTIME_CODES["UsageError"].hint),
        ("EffectUnknown", "warning", *WARNINGS["EffectUnknown"]),
        ("FewOpenFiles", "finding", *FINDINGS["FewOpenFiles"]),
    ],
)
def test_other_codes_are_explained_too(project: Project, code: str, kind: str, title: str, hint: str) -> None:
    document = project.touba("explain", code, "--json").document
    assert check_document("touba-explain-v1", document) is None
    assert (document["code"], document["kind"], document["title"], document["hint"]) == (code, kind, title, hint)
    assert (document["wrong"], document["right"]) == ([], [])
    text = project.touba("explain", code).stdout.decode()
    assert text.startswith(f"{code}: {title}\n\nWhat to do: {hint}\n")
    assert ("an `attempt` sees it" in text) is (code == "ToolTimeout")


def test_no_code_is_explained_in_two_ways() -> None:
    tables = (CODES, RUNTIME_CODES, WARNINGS, FINDINGS)
    assert len({code.lower() for table in tables for code in table}) == sum(len(table) for table in tables)


@pytest.mark.parametrize("code", ["TB3003", "ToolTimeout", "EffectUnknown", "FewOpenFiles"])
def test_small_letters_do_too(project: Project, code: str) -> None:
    assert project.touba("explain", code.lower()).stdout == project.touba("explain", code).stdout != b""


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["tb303"], "there is no code `tb303`", "Did you mean `TB3003`?"),
        (["ToolTimeuot"], "there is no code `ToolTimeuot`", "Did you mean `ToolTimeout`?"),
        (["nonsense"], "there is no code `nonsense`", "docs/diagnostics.md and docs/errors.md list the codes."),
        ([], "no code is given", "Write it like `touba explain TB3003`."),
        (["TB3003", "TB3004"], "`touba explain` takes one code, not several", "Write it like `touba explain TB3003`."),
    ],
)
def test_what_is_no_code_is_refused(project: Project, words: list[str], message: str, hint: str) -> None:
    done = project.touba("explain", *words, "--json")
    assert done.refused("UsageError", 2) == message
    assert done.error["hint"] == hint
    assert check_document("touba-explain-v1", done.document) is None
    plain = project.touba("explain", *words)
    assert (plain.code, plain.stdout) == (2, b"")
    assert message in plain.stderr


def test_an_option_that_does_not_exist_is_refused(project: Project) -> None:
    assert "--all" in project.touba("explain", "TB3003", "--all", "--json").refused("OptionUnknown", 2)
    assert "touba explain CODE" in project.touba("explain", "--help").stdout.decode()
